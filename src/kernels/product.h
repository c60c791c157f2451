/* product.h -- products of small matrices that lie in cache already: nothing is packed or copied.
 *
 * A matrix product of any size is at_gemm.  This is for who cuts the work into tiles himself, and can
 * choose how they lie. */
#ifndef AT_KERNELS_PRODUCT_H
#define AT_KERNELS_PRODUCT_H
#include <stddef.h>

/* C = alpha A B + beta C      A [M,K]  B [K,N]  C [M,N]      K = 0 leaves beta C
 *
 * A_ik lies at A[i*a_row + k*a_col], and one of these strides is 1; rows of B and C lie together, row k
 * of B at B[k*b_row].  beta = 0: C is not read.  C must not overlap A or B.
 *
 * Element C_ij is alpha (A_i0 B_0j + A_i1 B_1j + ...), added up in this order, whatever M and N: a row or
 * column more changes no bit of the others, nor does a product of 0 in between.  Runs on the calling
 * thread. */
void at_product_f32(int M, int N, int K, float alpha, const float *A, ptrdiff_t a_row,
                    ptrdiff_t a_col, const float *B, ptrdiff_t b_row, float beta, float *C,
                    ptrdiff_t c_row);
void at_product_f64(int M, int N, int K, double alpha, const double *A, ptrdiff_t a_row,
                    ptrdiff_t a_col, const double *B, ptrdiff_t b_row, double beta, double *C,
                    ptrdiff_t c_row);

#endif
