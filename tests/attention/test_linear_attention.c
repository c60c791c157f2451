/* test_linear_attention.c -- attention whose past is one matrix. */
#include "tensors.h"

#include <math.h>

START_TEST(three_rows_by_hand)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *Q = at_variable(t, at_shape_of(3, 2), (double[]){1, 0, 1, 1, 0, 2});
        at_tensor *K = at_variable(t, at_shape_of(3, 2), (double[]){1, 2, 3, 0, 1, 1});
        at_tensor *V = at_variable(t, at_shape_of(3, 1), (double[]){4, 8, 16});
        at_tensor *O = at_linear_attention_causal(t, Q, K, V);
        /* weights 1;  3 3;  4 0 2 */
        assert_values(O, ((double[]){4, (3 * 4 + 3 * 8) / 6.0, (4 * 4 + 2 * 16) / 6.0}),
                      close_to(t));

        ck_assert(pull(t, O, (double[]){1, 0, 6}));
        assert_grads(V, ((double[]){1 + 4, 0, 2}), close_to(t)); /* dV_j = sum_i A_ij dO_i */
        /* row 2: dw_j = V_j - O = -4 0 8 for the products w_j = Q.K_j, and dO / sum w = 1 */
        assert_grads(Q, ((double[]){0, 0, 0, 0, -4 * 1 + 0 * 3 + 8 * 1, -4 * 2 + 0 * 0 + 8 * 1}),
                     close_to(t));
        assert_grads(K, ((double[]){0, -4 * 2, 0, 0 * 2, 0, 8 * 2}), close_to(t));
    }
}
END_TEST

/* O_i = sum_{j<=i} (Q_i.K_j) V_j / sum_{j<=i} Q_i.K_j, from ops that hold the whole matrix */
static at_tensor *quadratic(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V)
{
    int T = Q->shape.dim[Q->shape.ndim - 2];
    at_tensor *future = at_blank(t, ATTIC_BOOL, at_shape_of(T, T));
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) at_set(future, j > i, i, j);
    at_tensor *w = at_masked_fill(t, at_matmul_t(t, Q, false, K, true), future, 0);
    return at_matmul(t, at_div(t, w, at_sum_over(t, w, at_axes(-1), true)), V);
}

/* of numbers around 1, after sums of some 50 products */
static double rounding(const at_tape *t)
{
    return at_real(t) == ATTIC_F32 ? 1e-5 : 1e-13;
}

START_TEST(forward_and_gradients_equal_the_masked_matrix)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *a[3], *b[3];
        for (int k = 0; k < 3; k++) {
            at_tensor *x = at_random(t, at_shape_of(2, 3, 37, k < 2 ? 5 : 7), at_uniform(1));
            if (k < 2) x = at_square(t, x);
            a[k] = variable_like(t, x), b[k] = variable_like(t, x);
        }
        at_tensor *O = at_linear_attention_causal(t, a[0], a[1], a[2]);
        at_tensor *P = quadratic(t, b[0], b[1], b[2]);
        at_tensor *dO = at_random(t, O->shape, at_normal(1));
        at_backward_from(t, O, dO);
        at_backward_from(t, P, dO);
        for (ptrdiff_t i = 0; i < at_count(O->shape); i++)
            assert_close(at_element(O, i), at_element(P, i), rounding(t));
        for (int k = 0; k < 3; k++)
            for (ptrdiff_t i = 0; i < at_count(a[k]->shape); i++) {
                double want = at_grad_element(b[k], i);
                assert_close(at_grad_element(a[k], i), want, rounding(t) * (1 + fabs(want)));
            }
    }
}
END_TEST

START_TEST(future_keys_and_values_do_not_change_the_past)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *Q = at_square(t, at_random(t, at_shape_of(6, 4), at_normal(1)));
    at_tensor *K = at_random(t, at_shape_of(6, 4), at_fill(0.5));
    at_tensor *V = at_random(t, at_shape_of(6, 3), at_normal(1));
    for (int j = 0; j < 6; j++) at_set(K, j, j, j % 4);
    at_tensor *before = at_linear_attention_causal(t, Q, K, V);
    at_set(K, (double)NAN, 4, 1);
    at_set(V, (double)INFINITY, 5, 2);
    at_tensor *after = at_linear_attention_causal(t, Q, K, V);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    for (int i = 0; i < 6; i++)
        for (int e = 0; e < 3; e++)
            ck_assert(i < 4 ? at_get(after, i, e) == at_get(before, i, e)
                            : isnan(at_get(after, i, e)));
    at_close(t);
}
END_TEST

START_TEST(what_is_not_asked_for_reaches_no_gradient_of_the_future)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(5, 2), (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 1});
    at_tensor *O = at_linear_attention_causal(t, x, x, x);
    ck_assert(pull(t, O, (double[]){1, 2, 3, 4, 5, 6, 0, 0, 0, 0}));
    for (int i = 0; i < 6; i++) ck_assert(at_grad_element(x, i) != 0);
    for (int i = 6; i < 10; i++) ck_assert(at_grad_element(x, i) == 0);
    at_close(t);
}
END_TEST

START_TEST(features_of_0_have_no_weights_and_get_no_gradient)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *Q = at_variable(t, at_shape_of(3, 1), (double[]){1, 0, 1});
        at_tensor *K = at_variable(t, at_shape_of(3, 1), (double[]){0, 1, 1});
        at_tensor *V = at_variable(t, at_shape_of(3, 1), (double[]){4, 8, 16});
        at_tensor *O = at_linear_attention_causal(t, Q, K, V);
        assert_values(O, ((double[]){0, 0, 12}), 0); /* row 0: no key; row 1: no query */
        ck_assert(pull(t, O, (double[]){5, 5, 0}));
        assert_grads(Q, ((double[]){0, 0, 0}), 0);
        assert_grads(K, ((double[]){0, 0, 0}), 0);
        assert_grads(V, ((double[]){0, 0, 0}), 0);
    }
}
END_TEST

START_TEST(only_wanted_gradients_are_made)
{
    for (int wanted = 0; wanted < 3; wanted++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        at_tensor *x[3];
        for (int k = 0; k < 3; k++)
            x[k] = (k == wanted ? at_variable : at_const)(t, at_shape_of(2, 2),
                                                          (double[]){1, 2, 3, 5});
        at_tensor *O = at_linear_attention_causal(t, x[0], x[1], x[2]);
        ck_assert(pull(t, O, (double[]){1, 0, 1, 2}));
        for (int k = 0; k < 3; k++) ck_assert_int_eq(x[k]->grad != NULL, k == wanted);
        ck_assert(at_grad_element(x[wanted], 3) != 0);
        at_close(t);
    }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    enum { N = 6 * 40 * 8 };
    static float first[N], again[N];
    for (int threads = 1; threads <= 3; threads += 2) {
        at_threads(threads);
        at_tape *t = at_open(ATTIC_F32, 1);
        at_tensor *x = at_param(t, "x", at_shape_of(6, 40, 8), at_uniform(1));
        at_tensor *y = at_square(t, x);
        at_backward(t, at_sum(t, at_square(t, at_linear_attention_causal(t, y, y, x))));
        ck_assert(at_ok(t));
        memcpy(threads == 1 ? first : again, x->grad, sizeof first);
        at_close(t);
    }
    at_threads(0);
    ck_assert(memcmp(first, again, sizeof first) == 0);
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_refused)
{
    const struct {
        at_shape Q, K, V;
        const char *text;
    } wrong[] = {
        {{1, {3}}, {1, {3}}, {1, {3}}, "linear_attention_causal: Q is [3] but must be [...,T,D]"},
        {{2, {4, 3}},
         {2, {5, 3}},
         {2, {5, 2}},
         "linear_attention_causal: Q is [4,3] but K is [5,3]: they must be alike"},
        {{2, {4, 3}},
         {2, {4, 3}},
         {2, {5, 2}},
         "linear_attention_causal: K is [4,3] but V is [5,2]: all dims but the last must be alike"},
        {{3, {2, 4, 3}},
         {3, {2, 4, 3}},
         {2, {4, 2}},
         "linear_attention_causal: K is [2,4,3] but V is [4,2]: all dims but the last must be "
         "alike"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_tensor *Q = at_const(t, wrong[i].Q, NULL), *K = at_const(t, wrong[i].K, NULL);
        ck_assert_ptr_null(at_linear_attention_causal(t, Q, K, at_const(t, wrong[i].V, NULL)));
        assert_error(t, wrong[i].text);
        at_close(t);
    }
}
END_TEST

START_TEST(a_state_that_no_memory_could_hold_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_shape wide = at_shape_of(0, 2147483647);
    at_tensor *Q = at_const(t, wide, NULL);
    ck_assert_ptr_null(at_linear_attention_causal(t, Q, Q, Q));
    assert_error(t, "linear_attention_causal: Q is [0,2147483647] and V is [0,2147483647]: too "
                    "large");
    at_close(t);
}
END_TEST

SUITE(attention_linear_attention, three_rows_by_hand, forward_and_gradients_equal_the_masked_matrix,
      future_keys_and_values_do_not_change_the_past,
      what_is_not_asked_for_reaches_no_gradient_of_the_future,
      features_of_0_have_no_weights_and_get_no_gradient, only_wanted_gradients_are_made,
      the_bits_do_not_depend_on_the_number_of_threads, shapes_that_do_not_fit_are_refused,
      a_state_that_no_memory_could_hold_is_refused)
