/* compare.h -- are two tensors the same, and if not, by how much?
 *
 * For exercises ("write this backward yourself"), and wherever two implementations should agree:
 *
 *     at_comparison c = at_compare(mine, at_grad_copy(t, x));
 *     puts(c.text);      wrong: 0.5 instead of 0.25 at [0,2]; 12 of 12 differ, by a factor 2 */
#ifndef AT_TENSOR_COMPARE_H
#define AT_TENSOR_COMPARE_H
#include "tensor/tensor.h"
AT_BEGIN_C

typedef enum {
    ATTIC_DIFFERENT, /* more than rounding explains, or not comparable at all */
    ATTIC_CLOSE,     /* the same up to rounding: half of the digits at least */
    ATTIC_EXACT      /* the same values, bit for bit but for the sign of 0 */
} at_similarity;

/* Two elements are close when |a - b| <= sqrt(eps) max(|a|, |b|, max|b| / 1000), with eps of the
 * coarser dtype: 3.5e-4 for f32, 1.5e-8 for f64, 0.031 for f16, 0.088 for bf16, 0 for integers.
 * NaN equals NaN. */
typedef struct {
    at_similarity similarity;
    ptrdiff_t differing; /* elements that are not close */
    double error;        /* the largest |a - b| / max(|a|, |b|, max|b| / 1000) */
    double a, b;         /* where that is */
    at_shape index;
    char text[160]; /* in words; a is what is judged, b what it should be */
} at_comparison;

/* The dtypes may differ, the shapes may not.  NULL is different from everything, and so is a tensor
 * whose memory was reused by a backward. */
AT_API at_comparison at_compare(const at_tensor *a, const at_tensor *b);

AT_END_C
#endif
