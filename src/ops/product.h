/* product.h -- products A B, where B may be stored as f16 or bf16: what affine, matmul and
 * linear_cross_entropy share.  Private to the library. */
#ifndef AT_OPS_PRODUCT_H
#define AT_OPS_PRODUCT_H
#include "kernels/half.h"
#include "ops/op.h"

/* The bytes of a slot for such a product, in any order of the sizes. */
static inline size_t product_workspace(int M, int N, int K, at_dtype dtype, size_t real)
{
    return at_is_half(dtype) ? at_gemm_half_workspace(M, N, K, real)
                             : at_gemm_workspace(M, N, K, AT_GEMM_COLUMNS, real);
}

#ifdef REAL
/* C_b = A_b B_b, or with `add` C_b += A_b B_b.  B begins `first` elements behind p. */
static inline void stored_product(int batch, int M, int N, int K, const REAL *A, at_strides a,
                                  const void *p, at_dtype dtype, ptrdiff_t first, at_strides b,
                                  bool add, REAL *C, at_strides c, at_workspace w)
{
    if (at_is_half(dtype))
        gemm_half(batch, M, N, K, A, a, dtype == ATTIC_BF16, (const uint16_t *)p + first, b, add, C,
                  c, w);
    else
        gemm(batch, M, N, K, 1, A, a, (const REAL *)p + first, b, (REAL)add, C, c, w);
}

/* C_ij = z_j + sum_k A_ik B_kj.  B begins at W's element `first`; C has contiguous rows; z = NULL
 * is 0. */
static inline void product_bias(int M, int N, int K, const REAL *A, at_strides a,
                                const at_tensor *W, ptrdiff_t first, at_strides b, const REAL *z,
                                REAL *C, at_workspace w)
{
    if (!at_is_half(W->dtype)) {
        gemm_bias(M, N, K, A, a, (const REAL *)W->data + first, b, z, C, w);
        return;
    }
    for (ptrdiff_t i = 0; z && i < M; i++) memcpy(C + i * N, z, (size_t)N * sizeof *z);
    stored_product(1, M, N, K, A, a, W->data, W->dtype, first, b, z, C, (at_strides){N, 1, 0}, w);
}
#endif

#endif
