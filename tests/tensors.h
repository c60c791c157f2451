/* tensors.h -- comparing tensors with numbers, whatever their dtype.
 *
 *     assert_values(y, golden_y, close_to(t));
 *     assert_grads(x, golden_dx, close_to(t));
 *     assert_error(t, "softmax: there is no axis 2 in x [2,3]"); */
#ifndef ATTIC_TESTS_TENSORS_H
#define ATTIC_TESTS_TENSORS_H
#include "attic.h"
#include "attic_op.h"
#include "attic_plot.h"
#include "attic_train.h"
#include "test.h"

#include <string.h>

#define assert_values(x, expected, tol)                                                            \
    assert_tensor(__FILE__, __LINE__, #x, #expected, x, false, expected, tol)
#define assert_grads(x, expected, tol)                                                             \
    assert_tensor(__FILE__, __LINE__, "the gradient of " #x, #expected, x, true, expected, tol)
#define assert_error(t, text) ck_assert_str_eq(at_error(t), text)

/* What a few operations on numbers around 1 may differ by. */
static inline double close_to(const at_tape *t)
{
    return at_real(t) == ATTIC_F32 ? 2e-6 : 1e-14;
}

/* x->data (or x->grad) agrees with the numbers; x = NULL is a failure too. */
static inline void assert_tensor(const char *file, int line, const char *what, const char *name,
                                 const at_tensor *x, bool grad, const double *expected, double tol)
{
    ck_assert_msg(x, "%s:%d: %s is NULL", file, line, what);
    ck_assert_msg(!grad || x->grad, "%s:%d: %s is missing", file, line, what);
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++) {
        char element[80];
        snprintf(element, sizeof element, "element %td of %.40s", i, what);
        assert_close_at(file, line, element, name, grad ? at_grad_element(x, i) : at_element(x, i),
                        expected[i], tol);
    }
}

/* Backward from y with the cotangent dy, numbers of y's shape. */
static inline bool pull(at_tape *t, at_tensor *y, const double *dy)
{
    return at_ok(t) && at_backward_from(t, y, at_const(t, y->shape, dy));
}

/* x = v, as a variable */
static inline at_tensor *variable_like(at_tape *t, const at_tensor *v)
{
    at_tensor *x = at_variable(t, v->shape, NULL);
    memcpy(x->data, v->data, at_bytes(v));
    return x;
}

/* The same dtype and the same bits; NULL equals nothing. */
static inline bool equal_bits(const at_tensor *a, const at_tensor *b)
{
    return a && b && a->dtype == b->dtype && at_bytes(a) == at_bytes(b) &&
           memcmp(a->data, b->data, at_bytes(a)) == 0;
}

/* A new tape per real type:  for (at_tape *t = NULL; next_tape(&t);) { ... } */
static inline bool next_tape(at_tape **t)
{
    at_dtype before = at_real(*t);
    at_close(*t);
    *t = before == ATTIC_F64 ? NULL : at_open(before == ATTIC_F32 ? ATTIC_F64 : ATTIC_F32, 1);
    return *t;
}

#endif
