/* test_embedding.c -- rows of a table, chosen by ids. */
#include "tensors.h"

#include <math.h>

#include "golden/products.inc"

static at_tensor *ids(at_tape *t, at_shape s, const int32_t *id)
{
    return at_ints(t, s, id);
}

START_TEST(an_id_fetches_its_row_and_returns_its_gradient)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *table = at_variable(t, at_shape_of(3, 2), (double[]){1, 2, 3, 4, 5, 6});
        at_tensor *y = at_embedding(t, table, ids(t, at_shape_of(3), (int32_t[]){2, 0, 2}));
        assert_values(y, ((double[]){5, 6, 1, 2, 5, 6}), 0);
        ck_assert(pull(t, y, (double[]){1, 2, 3, 4, 50, 60}));
        assert_grads(table, ((double[]){3, 4, 0, 0, 51, 62}), 0);
        ck_assert(pull(t, y, (double[]){1, 1, 1, 1, 1, 1}));
        assert_grads(table, ((double[]){4, 5, 0, 0, 53, 64}), 0); /* added to what was there */
    }
}
END_TEST

START_TEST(it_equals_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *table = at_variable(t, at_shape_of(5, 3), embedding_x);
        int32_t id[] = {2, 0, 2, 4, 2, 1};
        at_tensor *y = at_embedding(t, table, ids(t, at_shape_of(2, 3), id));
        ck_assert_str_eq(at_text(y), "[2,3,3]");
        assert_values(y, embedding_y, close_to(t));
        ck_assert(pull(t, y, embedding_dy));
        assert_grads(table, embedding_dx, close_to(t));
    }
}
END_TEST

START_TEST(it_is_the_product_with_one_hot_rows)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v = at_random(t, at_shape_of(4, 3), at_normal(1));
        at_tensor *a = variable_like(t, v), *b = variable_like(t, v);
        double hot[] = {0, 0, 0, 1, 0, 1, 0, 0};
        at_tensor *y = at_embedding(t, a, ids(t, at_shape_of(2), (int32_t[]){3, 1}));
        at_tensor *z = at_matmul(t, at_const(t, at_shape_of(2, 4), hot), b);
        at_tensor *dy = at_random(t, y->shape, at_normal(1));
        ck_assert(at_backward_from(t, y, dy) && at_backward_from(t, z, dy));
        ck_assert_mem_eq(y->data, z->data, at_bytes(y));
        ck_assert_mem_eq(a->grad, b->grad, at_bytes(a));
    }
}
END_TEST

START_TEST(one_id_alone_gives_a_vector)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *table = at_const(t, at_shape_of(2, 2), (double[]){1, 2, 3, 4});
    at_tensor *y = at_embedding(t, table, ids(t, at_shape_of(), (int32_t[]){1}));
    ck_assert_str_eq(at_text(y), "[2]");
    assert_values(y, ((double[]){3, 4}), 0);
    at_close(t);
}
END_TEST

START_TEST(sizes_of_0_are_legal)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *table = at_variable(t, at_shape_of(2, 2), NULL);
    ck_assert(pull(t, at_embedding(t, table, ids(t, at_shape_of(0, 3), NULL)), NULL));
    assert_grads(table, ((double[4]){0}), 0);
    at_tensor *narrow = at_variable(t, at_shape_of(2, 0), NULL);
    ck_assert(pull(t, at_embedding(t, narrow, ids(t, at_shape_of(3), NULL)), NULL));
    at_tensor *none = at_variable(t, at_shape_of(0, 2), NULL);
    ck_assert(pull(t, at_embedding(t, none, ids(t, at_shape_of(0), NULL)), NULL));
    at_close(t);
}
END_TEST

/* No error can be raised within a replay, so a wrong id shows as NaN, and touches no memory. */
START_TEST(ids_written_later_are_not_believed)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *table = at_variable(t, at_shape_of(2, 2), (double[]){1, 2, 3, 4});
        at_tensor *id = ids(t, at_shape_of(3), (int32_t[]){0, 1, 0});
        at_tensor *y = at_embedding(t, table, id);
        at_set(id, 2, 0);
        at_set(id, -1, 1);
        at_set(id, 1, 2);
        ck_assert(at_replay(t));
        assert_values(y, ((double[]){(double)NAN, (double)NAN, (double)NAN, (double)NAN, 3, 4}), 0);
        ck_assert(pull(t, y, (double[]){1, 2, 3, 4, 5, 6}));
        assert_grads(table, ((double[]){0, 0, 5, 6}), 0);
    }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    enum { COUNT = 3000, V = 7, D = 200 };
    int32_t id[COUNT];
    for (int i = 0; i < COUNT; i++) id[i] = (i * 5 + i / 11) % V;
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v = at_random(t, at_shape_of(V, D), at_normal(1)), *dy = NULL, *y[2], *x[2];
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            x[k] = variable_like(t, v);
            y[k] = at_embedding(t, x[k], ids(t, at_shape_of(COUNT), id));
            if (!dy) dy = at_random(t, y[k]->shape, at_normal(1));
            ck_assert(at_backward_from(t, y[k], dy));
        }
        ck_assert_mem_eq(y[0]->data, y[1]->data, at_bytes(y[0]));
        ck_assert_mem_eq(x[0]->grad, x[1]->grad, at_bytes(v));
        double sum[V] = {0};
        for (int i = 0; i < COUNT; i++) { /* and they are right, in the last column */
            assert_close(at_get(y[1], i, D - 1), at_get(v, id[i], D - 1), 0);
            sum[id[i]] += at_get(dy, i, D - 1);
        }
        for (int k = 0; k < V; k++)
            assert_close(at_grad_element(x[1], k * D + D - 1), sum[k], 100 * close_to(t));
    }
    at_threads(0);
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *table = at_name(at_const(t, at_shape_of(5, 2), NULL), "wte");
    int32_t id[] = {0, 1, 2, 3, 4, 5, -1};
    at_embedding(t, table, ids(t, at_shape_of(2, 3), id));
    assert_error(t, "embedding: id is 5 at [1,2] but table is \"wte\" [5,2]: ids must be in 0..4");
    at_clear_error(t);
    at_embedding(t, table, ids(t, at_shape_of(1), id + 6));
    assert_error(t, "embedding: id is -1 at [0] but table is \"wte\" [5,2]: ids must be in 0..4");
    at_clear_error(t);
    at_embedding(t, at_const(t, at_shape_of(0, 2), NULL), ids(t, at_shape_of(), id));
    assert_error(t, "embedding: id is [] but table is [0,2] and has no rows");
    at_clear_error(t);
    at_embedding(t, at_const(t, at_shape_of(5), NULL), ids(t, at_shape_of(1), id));
    assert_error(t, "embedding: table is [5] but must be [V,D]");
    at_clear_error(t);
    at_embedding(t, table, table);
    assert_error(t, "embedding: id \"wte\" [5,2] has dtype f32 but must be i32");
    at_clear_error(t);
    at_embedding(t, table, ids(t, at_shape_of(1, 1, 1, 1, 1, 1, 1, 1), id));
    assert_error(t, "embedding: id is [1,1,1,1,1,1,1,1] and there can be no dim more");
    at_close(t);
}
END_TEST

START_TEST(one_hot_rows_have_a_single_1)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *id = ids(t, at_shape_of(2), (int32_t[]){2, 0}), *y = at_one_hot(t, id, 3);
        ck_assert(y->dtype == at_real(t) && !y->wants_grad);
        assert_values(y, ((double[]){0, 0, 1, 1, 0, 0}), 0);
        at_set(id, 3, 1);
        ck_assert(at_replay(t)); /* where an id is none, its row is NaN */
        assert_values(y, ((double[]){0, 0, 1, (double)NAN, (double)NAN, (double)NAN}), 0);
        at_set(id, 0, 1);
        ck_assert_str_eq(at_text(at_one_hot(t, ids(t, at_shape_of(0), NULL), 0)), "[0,0]");
        ck_assert_str_eq(at_text(at_one_hot(t, ids(t, at_shape_of(), (int32_t[]){0}), 4)), "[4]");
    }
}
END_TEST

START_TEST(ids_that_are_no_class_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_one_hot(t, ids(t, at_shape_of(1, 2), (int32_t[]){0, 5}), 5);
    assert_error(t, "one_hot: id is 5 at [0,1] but N is 5: ids must be in 0..N-1");
    at_clear_error(t);
    at_one_hot(t, ids(t, at_shape_of(1), (int32_t[]){0}), -1);
    assert_error(t, "one_hot: N is -1, but must be >= 0");
    at_clear_error(t);
    at_one_hot(t, at_const(t, at_shape_of(2), NULL), 3);
    assert_error(t, "one_hot: id [2] has dtype f32 but must be i32");
    at_close(t);
}
END_TEST

SUITE(ops_embedding, an_id_fetches_its_row_and_returns_its_gradient, it_equals_the_golden_numbers,
      it_is_the_product_with_one_hot_rows, one_id_alone_gives_a_vector, sizes_of_0_are_legal,
      ids_written_later_are_not_believed, the_bits_do_not_depend_on_the_number_of_threads,
      wrong_arguments_are_named, one_hot_rows_have_a_single_1, ids_that_are_no_class_are_named)
