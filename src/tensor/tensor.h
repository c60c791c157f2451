/* tensor.h -- what a tensor is: a contiguous, row-major block of elements with a shape.
 *
 * The last index moves fastest: element (i, j) of a [M,N] tensor is data[i*N + j].  There are no
 * views with strides; reshape, detach and a dropout that is off share data, all else has its
 * own. */
#ifndef AT_TENSOR_TENSOR_H
#define AT_TENSOR_TENSOR_H
#include <stdint.h>

#include "tensor/shape.h"
AT_BEGIN_C

typedef enum {
    ATTIC_REAL, /* "the real type of the tape": in requests only, no tensor has it */
    ATTIC_F32,
    ATTIC_F64,
    ATTIC_I32,  /* ids, lengths */
    ATTIC_BOOL, /* masks; one byte, 0 or 1 */
    ATTIC_F16,  /* 16 bits, to store weights and caches: see at_cast */
    ATTIC_BF16, /* the upper 16 bits of an f32: fewer digits, and its range */
    ATTIC_DUAL  /* an f64 and its tangent: see autograd/tangent.h */
} at_dtype;
#define ATTIC_NREALS 3 /* types of a tape: f32, f64, dual */

typedef struct at_tape at_tape; /* autograd/tape.h */
typedef struct at_node at_node; /* autograd/op.h */

typedef struct at_tensor at_tensor;
struct at_tensor {
    at_dtype dtype;
    at_shape shape;
    void *data; /* float, double, int32_t, unsigned char, uint16_t (f16, bf16) or two doubles */
    void *grad; /* d(loss)/d(data), same type and shape; NULL until a backward reached it */
    bool wants_grad;  /* a parameter or variable, or computed from one */
    const char *name; /* "wq", or NULL */

    /* The rest is bookkeeping. */
    at_tape *tape;     /* the owner */
    at_node *node;     /* what made it; NULL for a leaf */
    at_tensor *base;   /* whose data this shares, or NULL */
    at_tensor *next;   /* in the tape's list of variables */
    at_tensor *twin;   /* on a mirror of the tape, while there is one (mirror.h) */
    void *grad_memory; /* where grad points once it is needed */
    unsigned version;  /* how often the data was written after it was made */
};

AT_API const char *at_dtype_text(at_dtype d); /* "f32"; "?" for none of them */

/* False once a backward has reused the memory of x, or of what x shares it with
 * (at_reuse_memory); and for NULL. */
static inline bool at_has_data(const at_tensor *x)
{
    return x && x->data && (!x->base || x->base->data);
}

/* Element i in memory order as a double; of a dual number its value.  NAN if x is NULL, has no
 * element i or no data. */
AT_API double at_element(const at_tensor *x, ptrdiff_t i);
/* The same for the gradient; 0 where none has arrived. */
AT_API double at_grad_element(const at_tensor *x, ptrdiff_t i);
/* `"wq" [2,3,4]`, or `[2,3,4]` without a name: for messages; lives as long as at_shape_text's. */
AT_API const char *at_text(const at_tensor *x);

AT_END_C
#endif
