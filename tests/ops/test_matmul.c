/* test_matmul.c -- the matrix product, its gradients, and every way to repeat an operand. */
#include "tensors.h"

#include <math.h>

#include "golden/products.inc"

/* ------------------------------------------------------------------ numbers by hand ------------ */

START_TEST(rows_times_columns)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *A = at_variable(t, at_shape_of(2, 3), (double[]){1, 2, 3, 4, 5, 6});
        at_tensor *B = at_variable(t, at_shape_of(3, 2), (double[]){1, 0, 2, 1, 0, 3});
        at_tensor *C = at_matmul(t, A, B);
        assert_values(C, ((double[]){5, 11, 14, 23}), 0);
        ck_assert(pull(t, C, (double[]){1, 0, 0, 10}));
        assert_grads(A, ((double[]){1, 2, 0, 0, 10, 30}), 0);  /* dC B^T */
        assert_grads(B, ((double[]){1, 40, 2, 50, 3, 60}), 0); /* A^T dC */
    }
}
END_TEST

START_TEST(either_side_can_be_read_transposed)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *A = at_const(t, at_shape_of(2, 2), (double[]){1, 2, 3, 4});
    at_tensor *B = at_const(t, at_shape_of(2, 2), (double[]){5, 6, 7, 8});
    assert_values(at_matmul_t(t, A, false, B, false), ((double[]){19, 22, 43, 50}), 0);
    assert_values(at_matmul_t(t, A, true, B, false), ((double[]){26, 30, 38, 44}), 0);
    assert_values(at_matmul_t(t, A, false, B, true), ((double[]){17, 23, 39, 53}), 0);
    assert_values(at_matmul_t(t, A, true, B, true), ((double[]){23, 31, 34, 46}), 0);
    at_close(t);
}
END_TEST

START_TEST(the_square_of_a_tensor_gets_both_gradients)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 2), (double[]){1, 2, 3, 4});
        ck_assert(pull(t, at_matmul(t, x, x), (double[]){1, 0, 0, 0}));
        assert_grads(x, ((double[]){1 + 1, 3 + 0, 0 + 2, 0}), 0); /* dy x^T + x^T dy */
    }
}
END_TEST

START_TEST(a_gradient_is_added_to_what_was_there)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *A = at_variable(t, at_shape_of(1, 1), (double[]){3});
        at_tensor *B = at_variable(t, at_shape_of(1, 1), (double[]){5});
        at_tensor *C = at_matmul(t, A, B);
        for (int i = 0; i < 3; i++) ck_assert(at_backward(t, C));
        assert_grads(A, ((double[]){15}), 0);
        assert_grads(B, ((double[]){9}), 0);
    }
}
END_TEST

/* ------------------------------------------------------------------ golden numbers ------------- */

typedef struct {
    at_shape A, B;
    bool flip;
    const double *a, *b, *y, *dy, *da, *db;
} golden_product;

START_TEST(broadcast_batches_equal_the_golden_numbers)
{
    const golden_product cases[] = {{at_shape_of(2, 3, 4), at_shape_of(2, 4, 2), false, batch_A,
                                     batch_B, batch_y, batch_dy, batch_dA, batch_dB},
                                    {at_shape_of(2, 3, 4), at_shape_of(4, 2), false, weights_A,
                                     weights_B, weights_y, weights_dy, weights_dA, weights_dB},
                                    {at_shape_of(2, 1, 3, 2), at_shape_of(3, 2, 2), false, both_A,
                                     both_B, both_y, both_dy, both_dA, both_dB},
                                    {at_shape_of(2, 1, 4, 3), at_shape_of(2, 2, 4), true, flipped_A,
                                     flipped_B, flipped_y, flipped_dy, flipped_dA, flipped_dB}};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int i = 0; i < 4; i++) {
            golden_product g = cases[i];
            at_tensor *A = at_variable(t, g.A, g.a), *B = at_variable(t, g.B, g.b);
            at_tensor *C = at_matmul_t(t, A, g.flip, B, g.flip);
            assert_values(C, g.y, close_to(t));
            ck_assert(pull(t, C, g.dy));
            assert_grads(A, g.da, close_to(t));
            assert_grads(B, g.db, close_to(t));
        }
}
END_TEST

/* ------------------------------------------------------------------ properties ----------------- */

static void assert_same(const at_tensor *x, const at_tensor *y, double tol)
{
    ck_assert(x && y && at_same_shape(x->shape, y->shape));
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++)
        assert_close(at_element(x, i), at_element(y, i), tol);
}

START_TEST(reading_transposed_equals_transposing_first)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *A = at_random(t, at_shape_of(3, 4, 5), at_normal(1));
        at_tensor *B = at_random(t, at_shape_of(3, 6, 4), at_normal(1));
        at_tensor *A1 = variable_like(t, A), *B1 = variable_like(t, B);
        at_tensor *A2 = variable_like(t, A), *B2 = variable_like(t, B);
        at_tensor *C1 = at_matmul_t(t, A1, true, B1, true);
        at_tensor *C2 = at_matmul(t, at_transpose(t, A2, 1, 2), at_transpose(t, B2, 1, 2));
        at_tensor *dC = at_random(t, C1->shape, at_normal(1));
        ck_assert(at_backward_from(t, C1, dC) && at_backward_from(t, C2, dC));
        assert_same(C1, C2, 10 * close_to(t));
        assert_same(at_grad_copy(t, A1), at_grad_copy(t, A2), 10 * close_to(t));
        assert_same(at_grad_copy(t, B1), at_grad_copy(t, B2), 10 * close_to(t));
    }
}
END_TEST

/* B [K,N] against the same B written out once per batch, which takes another way through. */
START_TEST(a_repeated_operand_equals_its_copies)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int side = 0; side < 2; side++) {
            at_tensor *x = at_random(t, at_shape_of(2, 3, 5, 5), at_normal(1));
            at_tensor *v = at_random(t, at_shape_of(5, 5), at_normal(1)), *w = variable_like(t, v);
            at_tensor *all[6] = {w, w, w, w, w, w};
            at_tensor *copies = at_reshape(t, at_stack(t, all, 6, 0), at_shape_of(2, 3, 5, 5));
            at_tensor *C1 = side ? at_matmul(t, w, x) : at_matmul(t, x, w);
            at_tensor *dC = at_random(t, C1->shape, at_normal(1));
            ck_assert(at_backward_from(t, C1, dC));
            at_tensor *dw = at_grad_copy(t, w);
            at_zero_grads(t);
            at_tensor *C2 = side ? at_matmul(t, copies, x) : at_matmul(t, x, copies);
            ck_assert(at_backward_from(t, C2, dC));
            assert_same(C1, C2, 10 * close_to(t));
            assert_same(dw, at_grad_copy(t, w), 20 * close_to(t));
        }
}
END_TEST

START_TEST(a_replay_follows_the_inputs)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *A = at_variable(t, at_shape_of(1, 2), (double[]){1, 2});
    at_tensor *C = at_matmul_t(t, A, false, A, true);
    assert_values(C, ((double[]){5}), 0);
    at_set(A, 3, 0, 0);
    ck_assert(at_replay(t));
    assert_values(C, ((double[]){13}), 0);
    at_close(t);
}
END_TEST

START_TEST(only_what_wants_a_gradient_gets_one)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *A = at_const(t, at_shape_of(1, 1), (double[]){3});
    at_tensor *B = at_variable(t, at_shape_of(1, 1), (double[]){5});
    ck_assert(at_backward(t, at_matmul(t, A, B)));
    ck_assert_ptr_null(A->grad);
    assert_grads(B, ((double[]){3}), 0);
    ck_assert(!at_matmul(t, A, A)->wants_grad);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ sizes 0 and 1 -------------- */

START_TEST(a_sum_over_nothing_is_zero)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *A = at_variable(t, at_shape_of(2, 0), NULL);
        at_tensor *B = at_variable(t, at_shape_of(0, 3), NULL);
        at_tensor *C = at_matmul(t, A, B);
        assert_values(C, ((double[6]){0}), 0);
        ck_assert(pull(t, C, (double[6]){1, 1, 1, 1, 1, 1}));
    }
}
END_TEST

START_TEST(an_empty_product_gives_gradients_of_zero)
{
    const struct {
        at_shape A, B, C;
    } s[] = {{at_shape_of(2, 3), at_shape_of(3, 0), at_shape_of(2, 0)},
             {at_shape_of(0, 3), at_shape_of(3, 2), at_shape_of(0, 2)},
             {at_shape_of(2, 2), at_shape_of(0, 2, 2), at_shape_of(0, 2, 2)},
             {at_shape_of(2, 1, 1, 3), at_shape_of(0, 3, 2), at_shape_of(2, 0, 1, 2)},
             {at_shape_of(1, 2, 1, 3), at_shape_of(0, 1, 3, 2), at_shape_of(0, 2, 1, 2)}};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int i = 0; i < 5; i++) {
            at_tensor *A = at_variable(t, s[i].A, NULL), *B = at_variable(t, s[i].B, NULL);
            at_tensor *C = at_matmul(t, A, B);
            ck_assert(C && at_same_shape(C->shape, s[i].C));
            ck_assert(pull(t, C, NULL));
            assert_grads(A, ((double[12]){0}), 0);
            assert_grads(B, ((double[12]){0}), 0);
        }
}
END_TEST

START_TEST(an_empty_batch_may_have_huge_other_dims)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_shape huge = at_shape_of(0, 1 << 30, 1 << 30, 1 << 30, 2, 2);
    at_tensor *A = at_variable(t, huge, NULL), *C = at_matmul(t, A, A);
    ck_assert(C && at_same_shape(C->shape, huge));
    ck_assert(pull(t, C, NULL));
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ threads -------------------- */

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *A = at_random(t, at_shape_of(2, 1, 70, 90), at_normal(1));
        at_tensor *B = at_random(t, at_shape_of(3, 90, 80), at_normal(1)), *dC = NULL;
        at_tensor *C[2], *dA[2], *dB[2];
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            at_tensor *a = variable_like(t, A), *b = variable_like(t, B);
            C[k] = at_matmul(t, a, b);
            if (!dC) dC = at_random(t, C[k]->shape, at_normal(1));
            ck_assert(at_backward_from(t, C[k], dC));
            dA[k] = at_grad_copy(t, a), dB[k] = at_grad_copy(t, b);
        }
        ck_assert_mem_eq(C[0]->data, C[1]->data, at_bytes(C[0]));
        ck_assert_mem_eq(dA[0]->data, dA[1]->data, at_bytes(A));
        ck_assert_mem_eq(dB[0]->data, dB[1]->data, at_bytes(B));
    }
    at_threads(0);
}
END_TEST

/* ------------------------------------------------------------------ errors --------------------- */

static void assert_refused(at_shape a, bool ta, at_shape b, bool tb, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(
        at_matmul_t(t, at_name(at_const(t, a, NULL), "Q"), ta, at_const(t, b, NULL), tb));
    assert_error(t, text);
    at_close(t);
}

START_TEST(shapes_that_do_not_fit_are_named)
{
    assert_refused(at_shape_of(2, 3, 4), false, at_shape_of(2, 5, 6), false,
                   "matmul: A is \"Q\" [2,3,4] but B is [2,5,6]: inner dimensions 4 and 5 differ");
    assert_refused(at_shape_of(3, 4), true, at_shape_of(3, 4), true,
                   "matmul: A is \"Q\" [3,4] transposed but B is [3,4] transposed: inner "
                   "dimensions 3 and 4 differ");
    assert_refused(at_shape_of(2, 3, 4), false, at_shape_of(5, 4, 3), false,
                   "matmul: A is \"Q\" [2,3,4] but B is [5,4,3]: leading dims [2] and [5] do not "
                   "broadcast");
    assert_refused(at_shape_of(4), false, at_shape_of(4, 3), false,
                   "matmul: A is \"Q\" [4] but needs at least 2 dims; at_reshape makes a vector "
                   "[1,N] or [N,1]");
    assert_refused(at_shape_of(3, 4), false, at_shape_of(4), false,
                   "matmul: B is [4] but needs at least 2 dims; at_reshape makes a vector [1,N] or "
                   "[N,1]");
}
END_TEST

START_TEST(a_product_too_large_to_exist_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    int n = 1 << 30;
    at_tensor *A = at_const(t, at_shape_of(n, 1, n, 0), NULL);
    at_tensor *B = at_const(t, at_shape_of(1, n, 0, n), NULL);
    ck_assert_ptr_null(at_matmul(t, A, B));
    assert_error(t, "a tensor of shape [1073741824,1073741824,1073741824,1073741824] is not "
                    "possible: dims must be >= 0 and their product must fit into memory");
    at_close(t);
}
END_TEST

START_TEST(wrong_tensors_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 2), NULL);
    ck_assert_ptr_null(at_matmul(t, x, NULL));
    assert_error(t, "matmul: B is NULL");
    at_clear_error(t);
    ck_assert_ptr_null(at_matmul(t, at_ints(t, at_shape_of(2, 2), NULL), x));
    assert_error(t, "matmul: A [2,2] has dtype i32 but must be f32");
    at_close(t);
}
END_TEST

SUITE(ops_matmul, rows_times_columns, either_side_can_be_read_transposed,
      the_square_of_a_tensor_gets_both_gradients, a_gradient_is_added_to_what_was_there,
      broadcast_batches_equal_the_golden_numbers, reading_transposed_equals_transposing_first,
      a_repeated_operand_equals_its_copies, a_replay_follows_the_inputs,
      only_what_wants_a_gradient_gets_one, a_sum_over_nothing_is_zero,
      an_empty_product_gives_gradients_of_zero, an_empty_batch_may_have_huge_other_dims,
      the_bits_do_not_depend_on_the_number_of_threads, shapes_that_do_not_fit_are_named,
      a_product_too_large_to_exist_is_refused, wrong_tensors_are_named)
