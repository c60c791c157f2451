/* test_map.c -- the shared loops, against indices counted one by one. */
#include "ops/map.h"

#include "tensors.h"

#include <math.h>
#include <stdlib.h>

/* Where x of shape s is read for element i of y. */
static ptrdiff_t source(at_shape s, at_shape y, ptrdiff_t i)
{
    ptrdiff_t at = 0, step = 1;
    for (int d = 1; d <= y.ndim; d++) {
        int dim = y.dim[y.ndim - d], mine = d <= s.ndim ? s.dim[s.ndim - d] : 1;
        if (mine > 1) at += i % dim * step;
        step *= mine;
        i /= dim;
    }
    return at;
}

static void assert_numbers(const at_tensor *x, const void *data, const double *expected, double tol)
{
    ptrdiff_t n = at_count(x->shape);
    double *numbers = calloc((size_t)n + 1, sizeof *numbers);
    for (ptrdiff_t i = 0; i < n; i++) numbers[i] = at_fetch(x->dtype, data, i);
    assert_all_close(n, numbers, expected, tol);
    free(numbers);
}

/* y = a b, da and db as sums over every place, element by element in double */
static void check_product(at_tape *t, at_shape sa, at_shape sb)
{
    at_tensor *a = variable_like(t, at_random(t, sa, at_uniform(1)));
    at_tensor *b = variable_like(t, at_random(t, sb, at_uniform(1)));
    at_tensor *y = at_mul(t, a, b), *dy = at_random(t, y->shape, at_uniform(1));
    ptrdiff_t n = at_count(y->shape);
    ck_assert(at_backward_from(t, y, dy));

    double *product = calloc(3 * (size_t)n, sizeof *product), *da = product + n, *db = da + n;
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t p = source(sa, y->shape, i), q = source(sb, y->shape, i);
        product[i] = at_element(a, p) * at_element(b, q);
        da[p] += at_element(dy, i) * at_element(b, q);
        db[q] += at_element(dy, i) * at_element(a, p);
    }
    double terms = sqrt((double)n); /* what random errors of n terms add up to */
    assert_numbers(y, y->data, product, close_to(t));
    assert_numbers(a, a->grad, da, terms * close_to(t));
    assert_numbers(b, b->grad, db, terms * close_to(t));
    free(product);
}

static const struct {
    at_shape a, b;
} pairs[] = {
    {{0, {0}}, {0, {0}}},
    {{1, {5}}, {1, {5}}},
    {{2, {3, 4}}, {1, {4}}},
    {{1, {4}}, {2, {3, 4}}},
    {{2, {3, 4}}, {2, {3, 1}}},
    {{2, {5, 1}}, {2, {1, 7}}},
    {{0, {0}}, {2, {3, 4}}},
    {{3, {1, 1, 1}}, {1, {3}}},
    {{4, {2, 3, 4, 5}}, {4, {2, 1, 4, 5}}}, /* a mask beside heads */
    {{4, {2, 3, 4, 5}}, {4, {1, 3, 1, 5}}}, /* a bias per head and key */
    {{4, {2, 3, 4, 5}}, {4, {2, 1, 1, 5}}}, /* a padding mask */
    {{5, {2, 1, 3, 1, 2}}, {5, {1, 4, 1, 5, 1}}},
    {{8, {2, 1, 2, 1, 2, 1, 2, 1}}, {8, {1, 2, 1, 2, 1, 2, 1, 2}}},
    {{3, {1, 6, 1}}, {3, {5, 1, 1}}},
    {{2, {3, 1200}}, {1, {1200}}}, /* rows longer than a piece */
    {{2, {3, 1200}}, {2, {3, 1}}},
    {{2, {3, 1200}}, {0, {0}}},
    {{2, {70, 513}}, {1, {513}}}, /* more than one task */
    {{2, {70, 513}}, {2, {70, 1}}},
    {{3, {2, 70, 300}}, {3, {1, 70, 1}}},
    {{3, {3, 1, 3000}}, {3, {1, 4, 3000}}},
    {{2, {12000, 3}}, {1, {3}}}, /* many short rows */
    {{2, {12000, 3}}, {2, {12000, 1}}},
    {{1, {40000}}, {1, {1}}},
    {{2, {700, 150}}, {1, {150}}}, /* a sum in shares */
    {{1, {100000}}, {0, {0}}},
    {{3, {2, 90, 600}}, {3, {2, 1, 600}}},
    {{2, {3, 40000}}, {2, {3, 1}}},
};

START_TEST(every_pattern_of_repeating_equals_counting_by_hand)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            check_product(t, pairs[i].a, pairs[i].b);
}
END_TEST

START_TEST(three_operands_broadcast_too)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *cond = at_bools(t, at_shape_of(2, 1, 3), (bool[]){1, 0, 1, 0, 0, 1});
    at_tensor *a = at_random(t, at_shape_of(4, 1), at_uniform(1));
    at_tensor *b = at_random(t, at_shape_of(2, 4, 3), at_uniform(1)), *y = at_where(t, cond, a, b);
    for (ptrdiff_t i = 0; i < 24; i++) {
        bool take_a = at_element(cond, source(cond->shape, y->shape, i)) != 0;
        ck_assert(at_element(y, i) ==
                  (take_a ? at_element(a, source(a->shape, y->shape, i)) : at_element(b, i)));
    }
    at_close(t);
}
END_TEST

/* y = i + x, of ids i, on a tape of f64 */
static void ids_plus_x(const at_chunk *k, void *values)
{
    const int32_t *id = k->in[0];
    const double *x = k->in[1];
    for (int i = 0; i < k->n; i++) ((double *)values)[i] = id[i] + x[i];
}

static void ids_plus_forward(at_node *n)
{
    at_map(n, ids_plus_x);
}

START_TEST(ints_are_read_wherever_they_are)
{
    enum {
        ROWS = 40,
        N = 3
    }; /* short rows, so that columns are read: ids N apart, or one of them */
    static const at_op op = {.name = "ids_plus", .forward = {NULL, ids_plus_forward, NULL}};
    at_tape *t = at_open(ATTIC_F64, 1);
    int32_t id[ROWS * N];
    for (int i = 0; i < ROWS * N; i++) id[i] = 7 * i;
    at_tensor *x = at_random(t, at_shape_of(ROWS, 1), at_uniform(1));
    for (int rows = 1; rows <= ROWS; rows += ROWS - 1) {
        at_tensor *ids = at_ints(t, at_shape_of(rows, N), id);
        at_tensor *y = at_record(t, &op, AT_IN(ids, x), at_shape_of(ROWS, N), NULL, 0);
        for (int i = 0; i < ROWS * N; i++)
            ck_assert(at_element(y, i) == id[i % (rows * N)] + at_element(x, i / N));
    }
    at_close(t);
}
END_TEST

/* The sum of nothing is 0, and it is written. */
START_TEST(an_operand_repeated_no_times_gets_gradients_of_0)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *a = at_variable(t, at_shape_of(1, 3), NULL);
    at_tensor *y = at_add(t, a, at_variable(t, at_shape_of(0, 3), NULL));
    ck_assert(at_same_shape(y->shape, at_shape_of(0, 3)));
    ck_assert(pull(t, y, NULL));
    assert_grads(a, ((double[]){0, 0, 0}), 0);
    at_close(t);
}
END_TEST

START_TEST(every_use_of_a_repeated_operand_adds_its_sum)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL);
    at_tensor *row = at_variable(t, at_shape_of(3), NULL),
              *one = at_variable(t, at_shape_of(), NULL);
    at_tensor *y = at_add(t, at_sub(t, at_add(t, at_add(t, x, row), one), row), one);
    y = at_add(t, y, at_scale(t, row, 5));
    ck_assert(pull(t, y, (double[]){1, 2, 3, 10, 20, 30}));
    assert_grads(row, ((double[]){55, 110, 165}), 0);
    assert_grads(one, ((double[]){132}), 0);
    at_close(t);
}
END_TEST

START_TEST(a_sum_over_many_rows_loses_no_digits_in_f32)
{
    enum { ROWS = 200000 };
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *bias = at_variable(t, at_shape_of(2), NULL),
              *one = at_variable(t, at_shape_of(), NULL);
    at_tensor *x = at_const(t, at_shape_of(ROWS, 2), NULL);
    at_tensor *y = at_add(t, at_add(t, x, bias), one), *dy = at_random(t, y->shape, at_fill(0.1));
    ck_assert(at_backward_from(t, y, dy));
    double sum = ROWS * (double)0.1f; /* adding one by one in f32 gives 19959.5 */
    assert_grads(bias, ((double[]){sum, sum}), 1e-6 * sum);
    assert_grads(one, &(double){2 * sum}, 1e-6 * sum);
    at_close(t);
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
            at_tensor *a = at_random(t, pairs[i].a, at_normal(1)), *grad[2][2], *y[2];
            at_tensor *b = at_random(t, pairs[i].b, at_normal(1));
            for (int k = 0; k < 2; k++) {
                at_threads(k ? 3 : 1);
                at_tensor *ak = variable_like(t, a), *bk = variable_like(t, b);
                y[k] = at_mul(t, ak, bk);
                ck_assert(at_backward_from(t, y[k], y[k]));
                grad[k][0] = at_grad_copy(t, ak), grad[k][1] = at_grad_copy(t, bk);
            }
            ck_assert_mem_eq(y[0]->data, y[1]->data, at_bytes(y[0]));
            ck_assert_mem_eq(grad[0][0]->data, grad[1][0]->data, at_bytes(a));
            ck_assert_mem_eq(grad[0][1]->data, grad[1][1]->data, at_bytes(b));
        }
    at_threads(0);
}
END_TEST

START_TEST(recycled_gradients_are_overwritten_not_added_to)
{
    double grad[2];
    for (int k = 0; k < 2; k++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        at_reuse_memory(t, k != 0);
        at_tensor *x = at_variable(t, at_shape_of(40, 8), NULL);
        at_tensor *row = at_variable(t, at_shape_of(8), (double[]){1, 2, 3, 4, 5, 6, 7, 8}), *y = x;
        for (int i = 0; i < 6; i++)
            y = at_mul(t, at_add(t, y, row), at_sub(t, row, at_scale(t, y, .1)));
        ck_assert(pull(t, y, NULL));
        ck_assert(at_backward_from(t, at_exp(t, at_scale(t, x, 2)), at_exp(t, x)));
        grad[k] = at_grad_element(x, 17);
        at_close(t);
    }
    ck_assert(grad[0] == grad[1]);
}
END_TEST

START_TEST(the_clash_of_two_shapes_is_the_last_pair_that_differs)
{
    ck_assert_str_eq(at_clash_text(at_shape_of(2, 3), at_shape_of(4, 5)),
                     "dims 3 and 5 differ and neither is 1");
    ck_assert_str_eq(at_clash_text(at_shape_of(2, 1), at_shape_of(4, 5)),
                     "dims 2 and 4 differ and neither is 1");
}
END_TEST

SUITE(ops_map, every_pattern_of_repeating_equals_counting_by_hand, three_operands_broadcast_too,
      ints_are_read_wherever_they_are, an_operand_repeated_no_times_gets_gradients_of_0,
      every_use_of_a_repeated_operand_adds_its_sum, a_sum_over_many_rows_loses_no_digits_in_f32,
      the_bits_do_not_depend_on_the_number_of_threads,
      recycled_gradients_are_overwritten_not_added_to,
      the_clash_of_two_shapes_is_the_last_pair_that_differs)
