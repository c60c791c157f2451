/* test_inspect.c -- the first NaN is traced to its op, missing gradients to their parameter. */
#include <math.h>
#include <string.h>

#include "autograd/tape.h"
#include "ops/ops.h"
#include "test.h"

static at_tape *t;

START_TEST(the_op_that_made_the_first_infinity_is_named)
{
    t = at_open(ATTIC_F64, 1);
    at_anomaly(t, true);
    at_tensor *x = at_variable(t, at_shape_of(2, 2), (double[]){1, 2, 0, 4});
    ck_assert_ptr_null(at_exp(t, at_log(t, at_scale(t, x, 2))));
    ck_assert_str_eq(at_error(t), "anomaly: forward of log (op 1) made -inf at [1,0] of its output "
                                  "[2,2] from finite inputs");
    at_close(t);
}
END_TEST

START_TEST(a_fill_with_minus_infinity_is_no_anomaly)
{
    t = at_open(ATTIC_F64, 1);
    at_anomaly(t, true);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){1, 2});
    at_tensor *mask = at_bools(t, at_shape_of(2), (bool[]){true, false});
    at_tensor *y = at_softmax(t, at_masked_fill(t, x, mask, -(double)INFINITY));
    ck_assert_ptr_nonnull(y);
    ck_assert(at_backward_from(t, y, x));
    at_close(t);
}
END_TEST

START_TEST(an_infinite_gradient_is_traced_to_its_op)
{
    t = at_open(ATTIC_F64, 1);
    at_anomaly(t, true);
    at_tensor *x = at_name(at_variable(t, at_shape_of(2), (double[]){4, 0}), "x");
    ck_assert(!at_backward(t, at_sum(t, at_sqrt(t, x))));
    ck_assert_str_eq(at_error(t),
                     "anomaly: backward of sqrt (op 0) made inf at [1] of the gradient of "
                     "its input 0 \"x\" [2] from finite upstream gradients");
    at_close(t);
}
END_TEST

START_TEST(parameters_without_a_useful_gradient_are_reported)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *good = at_param(t, "good", at_shape_of(2), at_ones());
    at_tensor *zero = at_param(t, "zero", at_shape_of(2), at_ones());
    at_tensor *root = at_param(t, "root", at_shape_of(2), at_values((double[]){1, 0}));
    at_param(t, "unused", at_shape_of(2), at_ones());
    at_tensor *y = at_add(t, at_add(t, good, at_scale(t, zero, 0)), at_sqrt(t, root));
    at_backward(t, at_sum(t, y));

    char text[400] = "";
    FILE *f = fmemopen(text, sizeof text, "w");
    ck_assert_int_eq(at_grad_report(t, f), 3);
    fclose(f);
    ck_assert_str_eq(text, "\"zero\" [2]: the gradient is all zero\n"
                           "\"root\" [2]: the gradient is inf at [1]\n"
                           "\"unused\" [2]: no gradient has arrived\n");
    ck_assert_int_eq(at_grad_report(t, NULL), 3);
    at_close(t);
}
END_TEST

/* What at_print writes about x. */
static const char *printed(const at_tensor *x)
{
    static char text[200];
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text, "w");
    at_print(x, f);
    fclose(f);
    return text;
}

START_TEST(what_cannot_be_printed_is_told)
{
    t = at_open(ATTIC_F64, 1);
    at_reuse_memory(t, true);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){1, 2}), *y = at_exp(t, x);
    at_tensor *loss = at_sum(t, y);
    ck_assert(at_backward(t, loss));
    ck_assert_str_eq(printed(NULL), "NULL\n");
    ck_assert_str_eq(printed(y), "(its memory was reused by a backward)\n");
    at_print_grad(y, NULL);
    ck_assert_str_eq(at_error(t), "print: there is no file to print [2] to");
    ck_assert_str_eq(printed(x), "[1. 2.]\n"); /* on a failed tape too */
    at_print(NULL, NULL);
    at_clear_error(t);
    at_print(x, NULL);
    ck_assert_str_eq(at_error(t), "print: there is no file to print [2] to");
    at_close(t);
}
END_TEST

SUITE(autograd_inspect, the_op_that_made_the_first_infinity_is_named,
      a_fill_with_minus_infinity_is_no_anomaly, an_infinite_gradient_is_traced_to_its_op,
      parameters_without_a_useful_gradient_are_reported, what_cannot_be_printed_is_told)
