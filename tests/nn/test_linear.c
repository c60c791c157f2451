/* test_linear.c -- y = x W + b, its parameters and its gradients. */
#include "tensors.h"

static const double three_by_two[] = {1, 2, 3, 4, 5, 6};

/* A layer [3] -> [2] with W = 1 .. 6 and b = (10, 20). */
static at_linear make_small(at_tape *t)
{
    at_linear layer = at_linear_make(t, "up", 3, 2, true, at_values(three_by_two));
    at_set(layer.b, 10, 0);
    at_set(layer.b, 20, 1);
    return layer;
}

START_TEST(parameters_are_named_in_their_scope_and_start_as_asked)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_scope(t, "block0");
        at_linear layer = at_linear_make(t, "up", 3, 2, true, at_values(three_by_two));
        at_scope_end(t);
        ck_assert_str_eq(at_text(layer.W), "\"block0.up.W\" [3,2]");
        ck_assert_str_eq(at_text(layer.b), "\"block0.up.b\" [2]");
        assert_values(layer.W, three_by_two, 0);
        assert_values(layer.b, ((double[]){0, 0}), 0);
        ck_assert_int_eq(at_param_count(t), 2);
    }
}
END_TEST

START_TEST(without_a_bias_there_is_only_W)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_linear layer = at_linear_make(t, "up", 3, 2, false, at_values(three_by_two));
        ck_assert_ptr_null(layer.b);
        ck_assert_int_eq(at_param_count(t), 1);
        at_tensor *y = at_linear_apply(t, layer, at_const(t, at_shape_of(1, 3), three_by_two));
        assert_values(y, ((double[]){1 + 6 + 15, 2 + 8 + 18}), 0);
    }
}
END_TEST

START_TEST(every_row_is_multiplied_and_shifted)
{
    const double x[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, y[] = {11, 22, 13, 24, 15, 26, 19, 32};
    for (at_tape *t = NULL; next_tape(&t);) {
        at_linear layer = make_small(t);
        at_tensor *out = at_linear_apply(t, layer, at_const(t, at_shape_of(2, 2, 3), x));
        ck_assert(at_same_shape(out->shape, at_shape_of(2, 2, 2)));
        assert_values(out, y, 0);
        out = at_linear_apply(t, layer, at_const(t, at_shape_of(0, 3), NULL));
        ck_assert(at_same_shape(out->shape, at_shape_of(0, 2)));
    }
}
END_TEST

START_TEST(gradients_are_those_of_a_product_and_a_sum)
{
    const double x[] = {1, 2, 3, -1, 0, 1}, dy[] = {1, 10, 2, 20};
    const double dx[] = {21, 43, 65, 42, 86, 130};          /* dy W^T */
    const double dW[] = {1 - 2, 10 - 20, 2, 20, 3 + 2, 50}; /* x^T dy */
    const double db[] = {3, 30};                            /* the rows of dy */
    for (at_tape *t = NULL; next_tape(&t);) {
        at_linear layer = make_small(t);
        at_tensor *in = at_variable(t, at_shape_of(2, 3), x);
        ck_assert(pull(t, at_linear_apply(t, layer, in), dy));
        assert_grads(in, dx, 0);
        assert_grads(layer.W, dW, 0);
        assert_grads(layer.b, db, 0);
    }
}
END_TEST

START_TEST(a_layer_applied_twice_gets_the_sum_of_both_gradients)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_linear layer = at_linear_make(t, "square", 1, 1, true, at_fill(3));
        at_tensor *x = at_variable(t, at_shape_of(1, 1), (double[]){2});
        at_tensor *y = at_linear_apply(t, layer, at_linear_apply(t, layer, x)); /* W (W x) */
        ck_assert(pull(t, y, (double[]){1}));
        assert_values(y, ((double[]){18}), 0);
        assert_grads(layer.W, ((double[]){2 * 3 * 2}), 0);
        assert_grads(layer.b, ((double[]){3 + 1}), 0);
        assert_grads(x, ((double[]){9}), 0);
    }
}
END_TEST

START_TEST(the_message_about_a_wrong_width_names_the_parameter)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_linear layer = make_small(t);
        ck_assert_ptr_null(at_linear_apply(t, layer, at_const(t, at_shape_of(2, 4), NULL)));
        assert_error(t, "affine: X is [2,4] but W is \"up.W\" [3,2]: X must end in 3");
    }
}
END_TEST

START_TEST(a_layer_that_could_not_be_made_gives_NULL_and_leaves_no_scope_open)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_linear layer = at_linear_make(t, "up", -1, 2, true, at_zeros());
        ck_assert(!layer.W && !layer.b);
        assert_error(t, "a tensor of shape [-1,2] is not possible: dims must be >= 0 and their "
                        "product must fit into memory");
        ck_assert_ptr_null(at_linear_apply(t, layer, NULL));
        at_clear_error(t);
        ck_assert_str_eq(at_param(t, "w", at_shape_of(), at_zeros())->name, "w");
    }
}
END_TEST

SUITE(nn_linear, parameters_are_named_in_their_scope_and_start_as_asked,
      without_a_bias_there_is_only_W, every_row_is_multiplied_and_shifted,
      gradients_are_those_of_a_product_and_a_sum,
      a_layer_applied_twice_gets_the_sum_of_both_gradients,
      the_message_about_a_wrong_width_names_the_parameter,
      a_layer_that_could_not_be_made_gives_NULL_and_leaves_no_scope_open)
