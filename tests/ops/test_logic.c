/* test_logic.c -- masks by comparing numbers, and what is made of two masks. */
#include "tensors.h"

#include <math.h>

#define D(...) ((double[]){__VA_ARGS__})
#define I(...) ((int32_t[]){__VA_ARGS__})
#define B(...) ((bool[]){__VA_ARGS__})
static const double inf = (double)INFINITY, nan_ = (double)NAN;

/* ------------------------------------------------------------------ values --------------------- */

START_TEST(reals_are_compared_and_nan_is_neither_less_nor_equal)
{
    const at_dtype real[] = {ATTIC_F32, ATTIC_F64, ATTIC_DUAL};
    for (int k = 0; k < 3; k++) {
        at_tape *t = at_open(real[k], 1);
        at_tensor *a = at_variable(t, at_shape_of(7), D(1, 2, 3, nan_, nan_, -inf, -0.0));
        at_tensor *b = at_variable(t, at_shape_of(7), D(2, 2, 2, nan_, 1, inf, 0));
        assert_values(at_less(t, a, b), D(1, 0, 0, 0, 0, 1, 0), 0);
        assert_values(at_less_equal(t, a, b), D(1, 1, 0, 0, 0, 1, 1), 0);
        assert_values(at_equal(t, a, b), D(0, 1, 0, 0, 0, 0, 1), 0);
        assert_values(at_not(t, at_equal(t, a, a)), D(0, 0, 0, 1, 1, 0, 0), 0); /* is a NaN? */
        at_tensor *y = at_less(t, a, b);
        ck_assert(y->dtype == ATTIC_BOOL && !y->wants_grad && !y->node->wants_grad);
        at_close(t);
    }
}
END_TEST

/* As reals of f32, 2^24 and 2^24 + 1 would be equal. */
START_TEST(ints_are_compared_as_ints)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *a = at_ints(t, at_shape_of(4), I(1 << 24, 3, INT32_MIN, -1));
        at_tensor *b = at_ints(t, at_shape_of(4), I((1 << 24) + 1, 3, INT32_MAX, -2));
        assert_values(at_less(t, a, b), D(1, 0, 1, 0), 0);
        assert_values(at_less_equal(t, a, b), D(1, 1, 1, 0), 0);
        assert_values(at_equal(t, a, b), D(0, 1, 0, 0), 0);
    }
}
END_TEST

START_TEST(any_byte_that_is_not_0_is_a_1_and_1_comes_out)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *a = at_bools(t, at_shape_of(4), B(0, 0, 1, 1));
        at_tensor *b = at_bools(t, at_shape_of(4), B(0, 1, 0, 1));
        ((unsigned char *)a->data)[3] = 2;
        ((unsigned char *)b->data)[3] = 4;
        assert_values(at_and(t, a, b), D(0, 0, 0, 1), 0);
        assert_values(at_or(t, a, b), D(0, 1, 1, 1), 0);
        assert_values(at_not(t, a), D(1, 1, 0, 0), 0);
        ck_assert_int_eq(((unsigned char *)at_and(t, a, b)->data)[3], 1);
        ck_assert_int_eq(((unsigned char *)at_or(t, a, b)->data)[3], 1);
    }
}
END_TEST

/* ------------------------------------------------------------------ broadcasting --------------- */

/* Where x of this shape is read for element i of y. */
static ptrdiff_t read_at(at_shape x, at_shape y, ptrdiff_t i)
{
    ptrdiff_t step[AT_MAX_DIMS], at = 0;
    at_broadcast_strides(x, y, step);
    const at_shape index = at_index_of(y, i);
    for (int d = 0; d < y.ndim; d++) at += index.dim[d] * step[d];
    return at;
}

/* Whole numbers -2 .. 2 at random: many are equal. */
static at_tensor *whole_numbers(at_tape *t, at_shape s, bool ints)
{
    at_tensor *x = ints ? at_ints(t, s, NULL) : at_const(t, s, NULL);
    const at_stream stream = at_draw(t);
    for (ptrdiff_t i = 0; i < at_count(s); i++)
        at_store(x->dtype, x->data, i, floor(5 * at_random_unit(stream, (uint64_t)i)) - 2);
    return x;
}

static const struct {
    at_shape a, b;
} shapes_of_two[] = {
    {{0, {0}}, {0, {0}}},
    {{1, {5}}, {1, {1}}},
    {{2, {5, 1}}, {2, {1, 7}}},
    {{4, {2, 3, 4, 5}}, {4, {2, 1, 4, 5}}},
    {{5, {2, 1, 3, 1, 2}}, {5, {1, 4, 1, 5, 1}}},
    {{1, {1100}}, {1, {1100}}},     /* several chunks */
    {{2, {3, 1100}}, {2, {3, 1}}},  /* several chunks of a row */
    {{2, {1, 1100}}, {2, {70, 1}}}, /* several tasks */
    {{2, {9000, 3}}, {1, {3}}},     /* many short rows */
    {{2, {9000, 3}}, {2, {9000, 1}}},
    {{1, {40000}}, {0, {0}}},
};

START_TEST(every_pattern_of_repeating_equals_counting_by_hand)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (size_t p = 0; p < 2 * sizeof shapes_of_two / sizeof *shapes_of_two; p++) {
            at_tensor *a = whole_numbers(t, shapes_of_two[p / 2].a, p % 2);
            at_tensor *b = whole_numbers(t, shapes_of_two[p / 2].b, p % 2);
            at_tensor *less = at_less(t, a, b), *equal = at_equal(t, a, b);
            at_tensor *either = at_or(t, less, at_equal(t, b, a)); /* a in the place of b, too */
            const at_shape y = less->shape;
            for (ptrdiff_t i = 0; i < at_count(y); i++) {
                const double u = at_element(a, read_at(a->shape, y, i));
                const double v = at_element(b, read_at(b->shape, y, i));
                ck_assert_int_eq((int)at_element(less, i), u < v);
                ck_assert_int_eq((int)at_element(equal, i), u == v);
            }
            ck_assert(equal_bits(either, at_less_equal(t, a, b)));
        }
}
END_TEST

START_TEST(masks_of_several_shapes_are_combined)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *column = at_bools(t, at_shape_of(2, 1), B(1, 0));
        at_tensor *row = at_bools(t, at_shape_of(3), B(0, 1, 1));
        assert_values(at_and(t, column, row), D(0, 1, 1, 0, 0, 0), 0);
        assert_values(at_or(t, row, column), D(1, 1, 1, 0, 1, 1), 0);
        at_tensor *many = at_less(t, whole_numbers(t, at_shape_of(700, 1), false),
                                  whole_numbers(t, at_shape_of(90), false));
        at_tensor *few = at_bools(t, at_shape_of(700, 1), NULL);
        assert_values(
            at_max(t, at_masked_fill(t, at_const(t, many->shape, NULL), at_and(t, many, few), 1)),
            D(0), 0);
        ck_assert(equal_bits(at_or(t, many, few), many));
        ck_assert(equal_bits(at_not(t, at_not(t, many)), many));
    }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *a = at_random(t, at_shape_of(300, 1, 40), at_normal(1)), *y[2];
    at_tensor *b = at_random(t, at_shape_of(50, 1), at_normal(1));
    for (int k = 0; k < 2; k++) {
        at_threads(k ? 3 : 1);
        y[k] = at_not(t, at_less(t, a, b));
    }
    ck_assert(equal_bits(y[0], y[1]));
    at_threads(0);
    at_close(t);
}
END_TEST

START_TEST(sizes_of_0_are_legal)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(0, 3), NULL), *row = at_const(t, at_shape_of(3), NULL);
    at_tensor *y = at_less(t, x, row);
    ck_assert_str_eq(at_text(at_and(t, y, at_not(t, y))), "[0,3]");
    at_tensor *id = at_ints(t, at_shape_of(1 << 30, 1 << 30, 0), NULL);
    ck_assert_str_eq(at_text(at_equal(t, id, id)), "[1073741824,1073741824,0]");
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ what masks are for --------- */

START_TEST(a_replay_compares_anew)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(3), D(-1, 0, 2)),
                  *zero = at_const(t, at_shape_of(), NULL);
        at_tensor *positive = at_less(t, zero, x);
        at_tensor *y = at_where(t, positive, at_square(t, x), at_neg(t, x));
        assert_values(y, D(1, 0, 4), 0);
        at_set(x, 3, 0);
        at_set(x, -4, 2);
        ck_assert(at_replay(t));
        assert_values(positive, D(1, 0, 0), 0);
        assert_values(y, D(9, 0, 4), 0);
        ck_assert(pull(t, y, D(1, 10, 100)));
        assert_grads(x, D(6, -10, -100), 0);
    }
}
END_TEST

START_TEST(a_mask_of_compared_positions_is_a_causal_one)
{
    enum { T = 5 };
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *j = at_arange(t, 0, T, 1), *i = at_reshape(t, j, at_shape_of(T, 1));
    at_tensor *keep = at_less_equal(t, j, i);
    ck_assert(equal_bits(keep, at_keep_causal(t, T, T, ATTIC_ALIGN_EQUAL, 0)));
    at_tensor *x = at_random(t, at_shape_of(T, 4), at_normal(1));
    at_tensor *O = at_sdpa(t, x, x, x, (at_sdpa_args){.keep = keep, .path = ATTIC_PLAIN});
    ck_assert(
        equal_bits(O, at_sdpa(t, x, x, x, (at_sdpa_args){.causal = true, .path = ATTIC_PLAIN})));
    at_tensor *future = at_masked_fill(t, at_const(t, keep->shape, NULL), at_not(t, keep), 1);
    assert_values(at_sum(t, future), D(10), 0);
    at_close(t);
}
END_TEST

START_TEST(ids_equal_to_one_are_found)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *id = at_ints(t, at_shape_of(2, 3), I(7, 0, 0, 0, 7, 8));
    at_tensor *padding = at_equal(t, id, at_ints(t, at_shape_of(), I(0)));
    assert_values(padding, D(0, 1, 1, 1, 0, 0), 0);
    ck_assert_mem_eq(at_not(t, padding)->data, at_keep_unpadded(t, id, 0)->data, 6);
    at_close(t);
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL), *id = at_ints(t, at_shape_of(3), NULL);
    at_tensor *m = at_bools(t, at_shape_of(3), NULL);
    at_less(t, x, id);
    assert_error(t, "less: b [3] has dtype i32 but must be f32");
    at_clear_error(t);
    at_less_equal(t, id, x);
    assert_error(t, "less_equal: b [2,3] has dtype f32 but must be i32");
    at_clear_error(t);
    at_equal(t, m, m);
    assert_error(t, "equal: a [3] has dtype bool but must be f32");
    at_clear_error(t);
    at_equal(t, x, at_const(t, at_shape_of(2), NULL));
    assert_error(t, "equal: a is [2,3] but b is [2]: dims 3 and 2 differ and neither is 1");
    at_clear_error(t);
    at_and(t, m, at_bools(t, at_shape_of(2), NULL));
    assert_error(t, "and: a is [3] but b is [2]: dims 3 and 2 differ and neither is 1");
    at_clear_error(t);
    at_or(t, id, m);
    assert_error(t, "or: a [3] has dtype i32 but must be bool");
    at_clear_error(t);
    at_not(t, x);
    assert_error(t, "not: a [2,3] has dtype f32 but must be bool");
    at_clear_error(t);
    at_less(t, NULL, x);
    assert_error(t, "less: a is NULL");
    at_close(t);
}
END_TEST

SUITE(ops_logic, reals_are_compared_and_nan_is_neither_less_nor_equal, ints_are_compared_as_ints,
      any_byte_that_is_not_0_is_a_1_and_1_comes_out,
      every_pattern_of_repeating_equals_counting_by_hand, masks_of_several_shapes_are_combined,
      the_bits_do_not_depend_on_the_number_of_threads, sizes_of_0_are_legal, a_replay_compares_anew,
      a_mask_of_compared_positions_is_a_causal_one, ids_equal_to_one_are_found,
      wrong_arguments_are_named)
