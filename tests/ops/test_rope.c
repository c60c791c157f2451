/* test_rope.c -- pairs of features rotate with the position. */
#include "tensors.h"

#include <math.h>
#include <string.h>

#include "golden/rows.inc"

static void check_golden(at_rope_args args, const double *y, const double *dx)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *q = at_variable(t, at_shape_of(2, 3, 6), golden_q);
        at_tensor *r = at_rope(t, q, args);
        assert_values(r, y, close_to(t));
        ck_assert(pull(t, r, golden_dq));
        assert_grads(q, dx, close_to(t));
    }
}

START_TEST(both_pairings_offset_base_and_partial_rotation_equal_the_golden_numbers)
{
    check_golden((at_rope_args){0}, rope_pairs_y, rope_pairs_dq);
    check_golden((at_rope_args){.half_split = true}, rope_halves_y, rope_halves_dq);
    at_rope_args partial = {.base = 100, .offset = 37, .rotate = 4};
    check_golden(partial, rope_partial_y, rope_partial_dq);
    partial.half_split = true;
    check_golden(partial, rope_partial_halves_y, rope_partial_halves_dq);
}
END_TEST

START_TEST(position_0_is_not_turned_and_position_1_by_one_radian)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_const(t, at_shape_of(2, 2), (double[]){3, 4, 1, 0});
        assert_values(at_rope(t, x, (at_rope_args){0}), ((double[]){3, 4, cos(1), sin(1)}),
                      close_to(t));
    }
}
END_TEST

START_TEST(features_beyond_rotate_are_copied_bit_for_bit)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_random(t, at_shape_of(9, 5), at_normal(1));
    at_tensor *y = at_rope(t, x, (at_rope_args){.rotate = 2, .offset = 1});
    for (int p = 0; p < 9; p++) {
        ck_assert(at_get(x, p, 0) != at_get(y, p, 0));
        for (int j = 2; j < 5; j++) ck_assert(at_get(x, p, j) == at_get(y, p, j));
    }
    at_close(t);
}
END_TEST

/* q at position i, k at position j */
static double turned_score(at_tape *t, at_tensor *q, at_tensor *k, int i, int j, bool half_split)
{
    at_tensor *a = at_rope(t, q, (at_rope_args){.offset = i, .half_split = half_split});
    at_tensor *b = at_rope(t, k, (at_rope_args){.offset = j, .half_split = half_split});
    double score = 0;
    for (int d = 0; d < 8; d++) score += at_get(a, 0, d) * at_get(b, 0, d);
    return score;
}

START_TEST(a_score_depends_only_on_how_far_apart_query_and_key_are)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *q = at_random(t, at_shape_of(1, 8), at_normal(1));
    at_tensor *k = at_random(t, at_shape_of(1, 8), at_normal(1));
    for (int half = 0; half < 2; half++) {
        double apart7 = turned_score(t, q, k, 2, 9, half);
        assert_close(turned_score(t, q, k, 0, 7, half), apart7, 1e-12);
        assert_close(turned_score(t, q, k, 1000, 1007, half), apart7, 1e-11);
        assert_close(turned_score(t, q, k, -7, 0, half), apart7, 1e-12);
        ck_assert(fabs(turned_score(t, q, k, 2, 10, half) - apart7) > 1e-3);
        ck_assert(fabs(turned_score(t, q, k, 9, 2, half) - apart7) > 1e-3);
    }
    at_close(t);
}
END_TEST

START_TEST(lengths_are_kept)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_random(t, at_shape_of(50, 8), at_normal(1));
        at_tensor *y = at_rope(t, x, (at_rope_args){.offset = 12345});
        for (int p = 0; p < 50; p++) {
            double before = 0, after = 0;
            for (int j = 0; j < 8; j++) before += at_get(x, p, j) * at_get(x, p, j);
            for (int j = 0; j < 8; j++) after += at_get(y, p, j) * at_get(y, p, j);
            assert_close(before, after, 10 * close_to(t));
        }
    }
}
END_TEST

START_TEST(angles_are_right_at_far_positions)
{
    const int positions[] = {15, 16, 17, 4095, 100000, -1, -16, -17};
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_const(t, at_shape_of(1, 4), (double[]){1, 0, 1, 0});
    for (int k = 0; k < 8; k++) {
        double a = positions[k], b = positions[k] / sqrt(500);
        at_tensor *y = at_rope(t, x, (at_rope_args){.base = 500, .offset = positions[k]});
        assert_values(y, ((double[]){cos(a), sin(a), cos(b), sin(b)}), 1e-11);
    }
    at_close(t);
}
END_TEST

START_TEST(one_position_at_a_time_gives_the_same_bits_as_all_at_once)
{
    enum { T = 40, D = 6 };
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_random(t, at_shape_of(T, D), at_normal(1));
        at_tensor *all = at_rope(t, x, (at_rope_args){.offset = 3});
        size_t row = at_bytes(x) / T;
        for (int p = 0; p < T; p++) {
            at_tensor *one = at_blank(t, ATTIC_REAL, at_shape_of(1, D));
            memcpy(one->data, (char *)x->data + (size_t)p * row, row);
            at_tensor *y = at_rope(t, one, (at_rope_args){.offset = 3 + p});
            ck_assert_mem_eq(y->data, (char *)all->data + (size_t)p * row, row);
        }
    }
}
END_TEST

START_TEST(packed_heads_turn_like_separate_ones)
{
    enum { B = 2, H = 3, T = 300, D = 16 }; /* several blocks */
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *packed = at_random(t, at_shape_of(B, T, H * D), at_normal(1));
        at_tensor *apart = at_blank(t, ATTIC_REAL, at_shape_of(B, H, T, D));
        for (int i = 0; i < B * T * H * D; i++)
            at_set(apart, at_element(packed, i), i / (T * H * D), i / D % H, i / (H * D) % T,
                   i % D);
        at_tensor *y = at_rope(t, packed, (at_rope_args){.heads = H, .offset = 2});
        at_tensor *z = at_rope(t, apart, (at_rope_args){.offset = 2});
        for (int i = 0; i < B * T * H * D; i++)
            ck_assert(at_element(y, i) ==
                      at_get(z, i / (T * H * D), i / D % H, i / (H * D) % T, i % D));
    }
}
END_TEST

START_TEST(queries_keys_and_layers_share_one_table)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *q = at_variable(t, at_shape_of(100, 8), NULL), *y[4];
    size_t bytes[4];
    for (int k = 0; k < 4; k++) { /* the second finds the first's; the others need their own */
        at_rope_args args = {.base = k == 2 ? 50 : 0, .offset = k == 3, .half_split = k == 1};
        size_t before = at_memory_of(t).step;
        y[k] = at_rope(t, q, args);
        bytes[k] = at_memory_of(t).step - before;
    }
    ck_assert_uint_ge(bytes[0], bytes[1] + 100 * 8 * sizeof(float));
    ck_assert_uint_eq(bytes[0], bytes[2]);
    ck_assert_uint_eq(bytes[0], bytes[3]);
    at_set(q, 1, 99, 0);
    ck_assert(at_replay(t));
    assert_close(at_get(y[1], 99, 0), cos(99), 1e-6);
    assert_close(at_get(y[3], 99, 0), cos(100), 1e-6);
    at_close(t);
}
END_TEST

START_TEST(a_table_with_fewer_positions_is_not_enough)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_const(t, at_shape_of(5, 2), (double[]){0, 0, 0, 0, 0, 0, 0, 0, 1, 0});
        ck_assert(at_rope(t, at_const(t, at_shape_of(2, 2), NULL), (at_rope_args){0}));
        assert_close(at_get(at_rope(t, x, (at_rope_args){0}), 4, 0), cos(4), close_to(t));
        ck_assert(at_rope(t, at_const(t, at_shape_of(9, 4), NULL), (at_rope_args){0}));
        assert_close(at_get(at_rope(t, x, (at_rope_args){0}), 4, 0), cos(4), close_to(t));
    }
}
END_TEST

START_TEST(backward_turns_back)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int heads = 1; heads < 3; heads++) {
            at_rope_args args = {.offset = 5, .heads = heads, .rotate = 2};
            at_tensor *x = at_variable(t, at_shape_of(2, 3, 6), golden_q);
            at_tensor *y = at_rope(t, x, args);
            ck_assert(at_backward_from(t, y, at_detach(t, y))); /* R^T R x = x */
            assert_grads(x, golden_q, close_to(t));
        }
}
END_TEST

START_TEST(gradients_of_two_uses_add_up)
{
    double twice[36];
    for (int i = 0; i < 36; i++) twice[i] = rope_pairs_dq[i] + rope_halves_dq[i];
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *q = at_variable(t, at_shape_of(2, 3, 6), golden_q);
        ck_assert(pull(t, at_rope(t, q, (at_rope_args){0}), golden_dq));
        ck_assert(pull(t, at_rope(t, q, (at_rope_args){.half_split = true}), golden_dq));
        assert_grads(q, twice, 2 * close_to(t));
    }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *v = at_random(t, at_shape_of(7, 50, 96), at_normal(1)), *y[2], *dx[2];
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            at_tensor *x = variable_like(t, v);
            y[k] = at_rope(t, x, (at_rope_args){.heads = 3});
            ck_assert(at_backward_from(t, y[k], v));
            dx[k] = at_grad_copy(t, x);
        }
        ck_assert_mem_eq(y[0]->data, y[1]->data, at_bytes(v));
        ck_assert_mem_eq(dx[0]->data, dx[1]->data, at_bytes(v));
    }
    at_threads(0);
}
END_TEST

START_TEST(sizes_of_0_are_legal)
{
    const at_shape shapes[] = {at_shape_of(0, 4), at_shape_of(3, 0), at_shape_of(0, 3, 4),
                               at_shape_of(2, 0, 4)};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int s = 0; s < 4; s++) {
            at_tensor *y = at_rope(t, at_variable(t, shapes[s], NULL), (at_rope_args){0});
            ck_assert(y && pull(t, y, NULL));
        }
}
END_TEST

static void check_refused(at_shape x, at_rope_args args, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_rope(t, at_const(t, x, NULL), args));
    assert_error(t, text);
    at_close(t);
}

START_TEST(wrong_arguments_are_named)
{
    check_refused(at_shape_of(4), (at_rope_args){0}, "rope: x is [4] but must be [...,T,D]");
    check_refused(at_shape_of(2, 3), (at_rope_args){0},
                  "rope: x is [2,3]: of its 3 features per row 3 can't be rotated, which must be "
                  "an even number up to 3");
    check_refused(at_shape_of(2, 8), (at_rope_args){.heads = 2, .rotate = 6},
                  "rope: x is [2,8]: of its 4 features per row 6 can't be rotated, which must be "
                  "an even number up to 4");
    check_refused(at_shape_of(2, 8), (at_rope_args){.heads = 3},
                  "rope: x is [2,8]: its last axis can't be cut into 3 heads");
    check_refused(at_shape_of(2, 8), (at_rope_args){.heads = -1},
                  "rope: x is [2,8]: its last axis can't be cut into -1 heads");
    check_refused(at_shape_of(2, 8), (at_rope_args){.base = -1},
                  "rope: base is -1 but must be > 0");
    check_refused(at_shape_of(2, 8), (at_rope_args){.base = 1e-300},
                  "rope: base is 1e-300, so small that angles would be infinite");
}
END_TEST

SUITE(ops_rope, both_pairings_offset_base_and_partial_rotation_equal_the_golden_numbers,
      position_0_is_not_turned_and_position_1_by_one_radian,
      features_beyond_rotate_are_copied_bit_for_bit,
      a_score_depends_only_on_how_far_apart_query_and_key_are, lengths_are_kept,
      angles_are_right_at_far_positions, one_position_at_a_time_gives_the_same_bits_as_all_at_once,
      packed_heads_turn_like_separate_ones, queries_keys_and_layers_share_one_table,
      a_table_with_fewer_positions_is_not_enough, backward_turns_back, gradients_of_two_uses_add_up,
      the_bits_do_not_depend_on_the_number_of_threads, sizes_of_0_are_legal,
      wrong_arguments_are_named)
