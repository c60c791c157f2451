/* test_rope.c -- pairs of features rotate with the position. */
#include "tensors.h"

#include <math.h>
#include <string.h>

#include "golden/frequencies.inc"
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

/* ------------------------------------------------------------------ positions ------------------ */

enum { PB = 3, PT = 20, PH = 2, PD = 6 };

/* Rows of texts that were packed, and far and negative ones. */
static int32_t placed(int b, int p)
{
    static const int32_t far[] = {0, -1, 16, 15, 17, -16, -17, 100000, 15, INT32_MIN, INT32_MAX};
    return b == 0 ? p % 7 : b == 1 ? p + 40 : far[p % 11];
}

static at_tensor *placed_rows(at_tape *t, int first, int batch)
{
    int32_t p[PB * PT];
    for (int i = 0; i < batch * PT; i++) p[i] = placed(first + i / PT, i % PT);
    return at_ints(t, batch > 1 ? at_shape_of(batch, PT) : at_shape_of(PT), p);
}

/* Element i of x [B,T,H*D] or [B,H,T,D] is in this row of texts. */
static int text_of(int i)
{
    return i / (PT * PH * PD);
}

static int row_of(int i, bool packed)
{
    return packed ? i / (PH * PD) % PT : i / PD % PT;
}

START_TEST(a_row_at_a_position_gets_the_same_bits_however_it_is_said)
{
    const at_rope_args how[] = {{0}, {.half_split = true, .base = 500}, {.rotate = 4}};
    for (int k = 0; k < 6; k++)
        for (at_tape *t = NULL; next_tape(&t);) {
            const bool packed = k % 2;
            at_rope_args args = how[k / 2];
            args.heads = packed ? PH : 0;
            at_tensor *x =
                at_random(t, packed ? at_shape_of(PB, PT, PH * PD) : at_shape_of(PB, PH, PT, PD),
                          at_normal(1));
            args.positions = placed_rows(t, 0, PB);
            at_tensor *y = at_rope(t, x, args);
            args.positions = NULL;
            for (int b = 0; b < PB; b++)
                for (int p = 0; p < PT; p++) {
                    /* shifted by p rows, so that row p is at the offset */
                    const int64_t first = (int64_t)placed(b, p) - p;
                    if (first < INT32_MIN) continue;
                    args.offset = (int)first;
                    at_mark here = at_mark_here(t);
                    at_tensor *z = at_rope(t, x, args);
                    for (int i = 0; i < PB * PT * PH * PD; i++)
                        if (text_of(i) == b && row_of(i, packed) == p)
                            ck_assert(at_element(y, i) == at_element(z, i));
                    at_rewind(t, here);
                }
        }
}
END_TEST

START_TEST(one_row_of_positions_is_for_all)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int axes = 2; axes < 5; axes++) {
            const at_shape shapes[] = {at_shape_of(PT, PD), at_shape_of(2, PT, PD),
                                       at_shape_of(2, PH, PT, PD)};
            at_tensor *x = at_random(t, shapes[axes - 2], at_normal(1));
            at_tensor *y = at_rope(t, x, (at_rope_args){.positions = placed_rows(t, 2, 1)});
            int32_t twice[2 * PT];
            for (int i = 0; i < 2 * PT; i++) twice[i] = placed(2, i % PT);
            at_tensor *P = at_ints(t, at_shape_of(2, PT), twice);
            if (axes > 2) ck_assert(equal_bits(y, at_rope(t, x, (at_rope_args){.positions = P})));
            ck_assert(y);
        }
}
END_TEST

START_TEST(negative_positions_turn_backwards)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_const(t, at_shape_of(2, 2), (double[]){1, 0, 1, 0});
        at_tensor *P = at_ints(t, at_shape_of(2), (int32_t[]){-3, 3});
        assert_values(at_rope(t, x, (at_rope_args){.positions = P}),
                      ((double[]){cos(3), -sin(3), cos(3), sin(3)}), close_to(t));
    }
}
END_TEST

START_TEST(a_replay_reads_positions_and_frequencies_anew)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(2, 2), (double[]){1, 0, 1, 0});
        at_tensor *P = at_ints(t, at_shape_of(2), (int32_t[]){1, 2});
        at_tensor *f = at_const(t, at_shape_of(1), (double[]){0.5});
        at_tensor *y = at_rope(t, x, (at_rope_args){.positions = P, .frequencies = f});
        at_tensor *z = at_rope(t, x, (at_rope_args){.frequencies = f, .offset = 3});
        assert_values(y, ((double[]){cos(0.5), sin(0.5), cos(1), sin(1)}), close_to(t));
        assert_values(z, ((double[]){cos(1.5), sin(1.5), cos(2), sin(2)}), close_to(t));
        at_write_i32(P, (int32_t[]){5, -1}, 2);
        at_set(f, 0.25, 0);
        ck_assert(at_replay(t));
        assert_values(y, ((double[]){cos(1.25), sin(1.25), cos(0.25), -sin(0.25)}), close_to(t));
        assert_values(z, ((double[]){cos(0.75), sin(0.75), cos(1), sin(1)}), close_to(t));
        ck_assert(pull(t, y, (double[]){1, 0, 0, 0}));
        assert_grads(x, ((double[]){cos(1.25), -sin(1.25), 0, 0}), close_to(t));
    }
}
END_TEST

START_TEST(positions_written_between_two_uses_are_read_by_each)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(1, 2), (double[]){1, 0});
        at_tensor *P = at_ints(t, at_shape_of(1), (int32_t[]){1});
        at_tensor *alike = at_ints(t, at_shape_of(1), (int32_t[]){4});
        at_tensor *y = at_rope(t, x, (at_rope_args){.positions = P});
        at_write_i32(P, (int32_t[]){2}, 1);
        at_tensor *z = at_rope(t, x, (at_rope_args){.positions = P});
        at_tensor *w = at_rope(t, x, (at_rope_args){.positions = alike});
        const at_tensor *turned[] = {y, z, w};
        for (int k = 0; k < 3; k++) {
            assert_close(at_element(turned[k], 0), cos(1 << k), close_to(t));
            assert_close(at_element(turned[k], 1), sin(1 << k), close_to(t));
        }
        ck_assert(pull(t, y, (double[]){1, 0})); /* with the angles of its forward */
        assert_close(at_grad_element(x, 0), cos(1), close_to(t));
        assert_close(at_grad_element(x, 1), -sin(1), close_to(t));
    }
}
END_TEST

START_TEST(queries_and_keys_share_one_table_of_positions)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *q = at_variable(t, at_shape_of(2, 50, 8), NULL),
              *P = at_ints(t, at_shape_of(2, 50), NULL);
    size_t bytes[3];
    for (int k = 0; k < 3; k++) { /* the second finds the first's; the third needs its own */
        at_rope_args args = {.positions = P, .base = k == 2 ? 50 : 0, .half_split = k == 1};
        size_t before = at_memory_of(t).step;
        at_rope(t, q, args);
        bytes[k] = at_memory_of(t).step - before;
    }
    ck_assert_uint_ge(bytes[0], bytes[1] + 100 * 8 * sizeof(float));
    ck_assert_uint_ge(bytes[2], bytes[1] + 100 * 8 * sizeof(float));
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ frequencies ---------------- */

/* Each published model's frequencies, seen at position 1; its m from cos^2 + sin^2 = 1. */
static void check_published(at_rope_args args, int R, const double *m_and_theta)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_blank(t, ATTIC_REAL, at_shape_of(1, R));
    for (int i = 0; i < R; i++) at_set(x, i % 2 == 0, 0, i);
    args.offset = 1;
    at_tensor *y = at_rope(t, x, args);
    ck_assert_msg(y, "%s", at_error(t));
    for (int i = 0; i < R / 2; i++) {
        double c = at_get(y, 0, 2 * i), s = at_get(y, 0, 2 * i + 1);
        assert_close(hypot(c, s) / m_and_theta[0], 1, 1e-14);
        assert_close(atan2(s, c) / m_and_theta[1 + i], 1, 1e-13);
    }
    at_close(t);
}

START_TEST(frequencies_of_published_models_are_those_of_numpy)
{
    at_rope_scaling llama = {.type = ATTIC_ROPE_LLAMA3,
                             .factor = 8,
                             .low_freq_factor = 1,
                             .high_freq_factor = 4,
                             .original_max_position_embeddings = 8192};
    at_rope_scaling qwen = {
        .type = ATTIC_ROPE_YARN, .factor = 4, .original_max_position_embeddings = 32768};
    at_rope_scaling oss = {.type = ATTIC_ROPE_YARN,
                           .factor = 32,
                           .beta_fast = 32,
                           .beta_slow = 1,
                           .no_truncate = true,
                           .original_max_position_embeddings = 4096};
    at_rope_scaling deepseek = {.type = ATTIC_ROPE_YARN,
                                .factor = 40,
                                .mscale = 0.707,
                                .mscale_all_dim = 0.707,
                                .original_max_position_embeddings = 4096};
    check_published((at_rope_args){.base = 500000, .scaling = llama}, 128, published_0);
    check_published((at_rope_args){.base = 1000000, .scaling = qwen}, 128, published_1);
    check_published((at_rope_args){.base = 150000, .scaling = oss}, 64, published_2);
    check_published((at_rope_args){.scaling = deepseek}, 64, published_3);
}
END_TEST

START_TEST(a_linear_scaling_is_a_slower_walk)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_random(t, at_shape_of(1, 6), at_normal(1));
        at_rope_scaling half = {.type = ATTIC_ROPE_LINEAR, .factor = 2};
        at_tensor *y = at_rope(t, x, (at_rope_args){.scaling = half, .offset = 14});
        at_tensor *z = at_rope(t, x, (at_rope_args){.offset = 7});
        for (int i = 0; i < 6; i++) assert_close(at_element(y, i), at_element(z, i), close_to(t));
        half.factor = 7; /* the table of another factor is of no use */
        y = at_rope(t, x, (at_rope_args){.scaling = half, .offset = 14});
        z = at_rope(t, x, (at_rope_args){.offset = 2});
        for (int i = 0; i < 6; i++) assert_close(at_element(y, i), at_element(z, i), close_to(t));
    }
}
END_TEST

START_TEST(an_attention_factor_stretches_what_is_rotated)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_rope_scaling s = {.type = ATTIC_ROPE_YARN,
                             .factor = 1,
                             .attention_factor = 3,
                             .original_max_position_embeddings = 9};
        at_rope_args args = {.scaling = s, .offset = 5, .rotate = 4},
                     plain = {.offset = 5, .rotate = 4};
        at_tensor *x = at_variable(t, at_shape_of(2, 3, 6), golden_q);
        at_tensor *y = at_rope(t, x, args), *z = at_rope(t, x, plain);
        for (int i = 0; i < 36; i++)
            assert_close(at_element(y, i), (i % 6 < 4 ? 3 : 1) * at_element(z, i), 4 * close_to(t));
        ck_assert(at_backward_from(t, y, at_detach(t, y))); /* m^2 R^T R x = m^2 x */
        for (int i = 0; i < 36; i++)
            assert_close(at_grad_element(x, i), (i % 6 < 4 ? 9 : 1) * golden_q[i],
                         10 * close_to(t));
    }
}
END_TEST

START_TEST(given_frequencies_take_the_place_of_the_formula)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_random(t, at_shape_of(5, 4), at_normal(1));
        at_tensor *f = at_const(t, at_shape_of(2), (double[]){1, 1 / 10.0});
        at_rope_args given = {.frequencies = f, .half_split = true};
        at_tensor *y = at_rope(t, x, given);
        at_tensor *z = at_rope(t, x, (at_rope_args){.base = 100, .half_split = true});
        for (int i = 0; i < 20; i++) assert_close(at_element(y, i), at_element(z, i), close_to(t));
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

static void check_tensor_refused(at_shape x, at_shape shape, bool ints, bool wants,
                                 at_rope_args args, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *given = ints    ? at_ints(t, shape, NULL)
                       : wants ? at_variable(t, shape, NULL)
                               : at_const(t, shape, NULL);
    if (args.heads < 0)
        args.positions = given, args.heads = 0;
    else
        args.frequencies = given;
    ck_assert_ptr_null(at_rope(t, at_const(t, x, NULL), args));
    assert_error(t, text);
    at_close(t);
}

START_TEST(wrong_tensors_are_named)
{
    const at_rope_args as_positions = {.heads = -1}, from_3 = {.heads = -1, .offset = 3};
    const at_shape x = at_shape_of(2, 5, 4), pairs = at_shape_of(2);
    check_tensor_refused(x, at_shape_of(5, 2), true, false, as_positions,
                         "rope: x is [2,5,4] but positions is [5,2]: it must be [5] or [2,5]");
    check_tensor_refused(at_shape_of(5, 4), at_shape_of(5, 5), true, false, as_positions,
                         "rope: x is [5,4] but positions is [5,5]: it must be [5]");
    check_tensor_refused(x, at_shape_of(5), false, false, as_positions,
                         "rope: positions [5] has dtype f32 but must be i32");
    check_tensor_refused(x, at_shape_of(5), true, false, from_3,
                         "rope: offset is 3, but positions are given, which take its place");
    check_tensor_refused(x, at_shape_of(4), false, false, (at_rope_args){0},
                         "rope: frequencies is [4], but 4 rotated features are [2] pairs");
    check_tensor_refused(x, pairs, true, false, (at_rope_args){0},
                         "rope: frequencies [2] has dtype i32 but must be f32");
    check_tensor_refused(x, pairs, false, true, (at_rope_args){0},
                         "rope: frequencies [2] wants a gradient, but is a constant here (see "
                         "at_detach)");
    check_tensor_refused(x, pairs, false, false, (at_rope_args){.base = 9},
                         "rope: frequencies are given, which take the place of base and scaling");
    const at_rope_scaling linear = {.type = ATTIC_ROPE_LINEAR, .factor = 2};
    check_tensor_refused(x, pairs, false, false, (at_rope_args){.scaling = linear},
                         "rope: frequencies are given, which take the place of base and scaling");
}
END_TEST

static void check_scaling(at_rope_scaling s, const char *text)
{
    check_refused(at_shape_of(2, 4), (at_rope_args){.scaling = s}, text);
}

START_TEST(impossible_scalings_are_named)
{
    check_scaling((at_rope_scaling){.factor = 2},
                  "rope: a scaling is given (factor 2), but its type is not");
    check_scaling((at_rope_scaling){.type = (at_rope_type)4},
                  "rope: there is no scaling of type 4, only 0 to 3 (at_rope_type)");
    check_scaling((at_rope_scaling){.type = ATTIC_ROPE_LINEAR},
                  "rope: the factor of the scaling is 0, but must be 1 or more");
    at_rope_scaling s = {.type = ATTIC_ROPE_LLAMA3, .factor = 8};
    check_scaling(s, "rope: original_max_position_embeddings of the scaling is 0, but must be "
                     "positive");
    s.original_max_position_embeddings = 9, s.low_freq_factor = 4, s.high_freq_factor = 4;
    check_scaling(s, "rope: low_freq_factor and high_freq_factor of the scaling are 4 and 4: the "
                     "second must be larger, both > 0");
    s.type = ATTIC_ROPE_YARN, s.beta_slow = 40;
    check_scaling(s, "rope: beta_slow and beta_fast of the scaling are 40 and 32: the second must "
                     "be larger, both > 0");
    s.beta_slow = 0, s.attention_factor = -1;
    check_scaling(s, "rope: a number of the scaling is -1, but must be 0 or more");
    s.attention_factor = 0, s.mscale = (double)NAN;
    check_scaling(s, "rope: a number of the scaling is nan, but must be 0 or more");
    s.mscale = 0;
    check_refused(at_shape_of(2, 4), (at_rope_args){.scaling = s, .base = 1},
                  "rope: base is 1, but yarn needs one above 1");
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
      a_row_at_a_position_gets_the_same_bits_however_it_is_said, one_row_of_positions_is_for_all,
      negative_positions_turn_backwards, a_replay_reads_positions_and_frequencies_anew,
      positions_written_between_two_uses_are_read_by_each,
      queries_and_keys_share_one_table_of_positions,
      frequencies_of_published_models_are_those_of_numpy, a_linear_scaling_is_a_slower_walk,
      an_attention_factor_stretches_what_is_rotated,
      given_frequencies_take_the_place_of_the_formula, wrong_arguments_are_named,
      wrong_tensors_are_named, impossible_scalings_are_named)
