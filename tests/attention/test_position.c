/* test_position.c -- biases that depend on how far a key is from its query. */
#include "tensor/arena.h"
#include "tensors.h"

#include <limits.h>
#include <math.h>

#include "gradcheck/gradcheck.h"

#include "golden/position.inc"

/* ------------------------------------------------------------------ which bucket --------------- */

static void assert_buckets(const int *golden, int buckets, int farthest, bool causal)
{
    at_t5_args a = {.causal = causal, .max_distance = farthest};
    for (int d = -300; d <= 300; d++)
        ck_assert_msg(at_t5_bucket(d, buckets, a) == golden[d + 300],
                      "distance %d of %d buckets up to %d%s: %d, not %d", d, buckets, farthest,
                      causal ? ", causal" : "", at_t5_bucket(d, buckets, a), golden[d + 300]);
}

START_TEST(buckets_are_those_of_t5)
{
    assert_buckets(t5_32_128_both, 32, 128, false);
    assert_buckets(t5_32_128_both, 32, 0, false); /* 128 if not given */
    assert_buckets(t5_32_128_causal, 32, 128, true);
    assert_buckets(t5_16_20_both, 16, 20, false);
    assert_buckets(t5_16_20_causal, 16, 20, true);
    assert_buckets(t5_8_128_both, 8, 128, false);
    assert_buckets(t5_8_128_causal, 8, 128, true);
    assert_buckets(t5_6_1000_both, 6, 1000, false);
    assert_buckets(t5_6_1000_causal, 6, 1000, true);
    assert_buckets(t5_64_256_both, 64, 256, false);
    assert_buckets(t5_64_256_causal, 64, 256, true);
    assert_buckets(t5_4_2_both, 4, 2, false);
    assert_buckets(t5_10_160_both, 10, 160, false);
    assert_buckets(t5_10_160_causal, 10, 160, true);
    assert_buckets(t5_20_160_both, 20, 160, false);
    assert_buckets(t5_20_160_causal, 20, 160, true);
}
END_TEST

START_TEST(the_table_in_the_header_is_true)
{
    const int begins[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
    at_t5_args causal = {.causal = true}, both = {0};
    for (int b = 0; b < 16; b++) {
        ck_assert_int_eq(at_t5_bucket(-begins[b], 16, causal), b);
        if (b) ck_assert_int_eq(at_t5_bucket(1 - begins[b], 16, causal), b - 1);
        ck_assert_int_eq(at_t5_bucket(-begins[b], 32, both), b);
        if (b) ck_assert_int_eq(at_t5_bucket(begins[b], 32, both), 16 + b);
    }
    ck_assert_int_eq(at_t5_bucket(INT_MIN, 16, causal), 15);
    ck_assert_int_eq(at_t5_bucket(INT_MAX, 16, causal), 0);
    ck_assert_int_eq(at_t5_bucket(INT_MIN, 32, both), 15);
    ck_assert_int_eq(at_t5_bucket(INT_MAX, 32, both), 31);
}
END_TEST

START_TEST(impossible_buckets_are_minus_one)
{
    ck_assert_int_eq(at_t5_bucket(0, 1, (at_t5_args){.causal = true}), -1);
    ck_assert_int_eq(at_t5_bucket(0, 2, (at_t5_args){0}), -1);
    ck_assert_int_eq(at_t5_bucket(0, 5, (at_t5_args){0}), -1);
    ck_assert_int_eq(at_t5_bucket(0, 32, (at_t5_args){.max_distance = 8}), -1);
    ck_assert_int_eq(at_t5_bucket(0, 32, (at_t5_args){.max_distance = -1}), -1);
    ck_assert_int_eq(at_t5_bucket(0, -4, (at_t5_args){0}), -1);
    ck_assert_int_eq(at_t5_bucket(0, 5, (at_t5_args){.causal = true}), 0);
    ck_assert_int_eq(at_t5_bucket(0, 32, (at_t5_args){.max_distance = 9}), 0);
}
END_TEST

/* ------------------------------------------------------------------ slopes --------------------- */

START_TEST(slopes_are_those_of_alibi_for_any_number_of_heads)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        const double *golden = alibi_slopes;
        for (int H = 1; H <= 20; golden += H++) assert_values(at_alibi_slopes(t, H), golden, 1e-7);
    }
}
END_TEST

START_TEST(slopes_of_a_power_of_two_are_powers_of_two)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *eight = at_alibi_slopes(t, 8), *three = at_alibi_slopes(t, 3);
    for (int h = 0; h < 8; h++) ck_assert(at_get(eight, h) == ldexp(1, -1 - h));
    assert_values(three, ((double[]){1. / 16, 1. / 256, 1. / 4}), 0);
    ck_assert(!three->wants_grad && !three->node);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ biases, by hand ------------ */

START_TEST(a_learned_bias_clips_distances)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *table = at_const(t, at_shape_of(3, 2), (double[]){1, 10, 2, 20, 3, 30});
        at_tensor *bias = at_relative_bias(t, table, 2, 4, 0);
        ck_assert(at_same_shape(bias->shape, at_shape_of(1, 2, 2, 4)));
        assert_values(bias,
                      ((double[]){2, 3, 3, 3, 1, 2, 3, 3, /**/ 20, 30, 30, 30, 10, 20, 30, 30}), 0);
        bias = at_relative_bias(t, table, 1, 3, 2); /* query 2 of a cache */
        assert_values(bias, ((double[]){1, 1, 2, 10, 10, 20}), 0);
        at_tensor *one = at_const(t, at_shape_of(1, 1), (double[]){7}); /* n = 0 */
        assert_values(at_relative_bias(t, one, 2, 1, 0), ((double[]){7, 7}), 0);
    }
}
END_TEST

START_TEST(alibi_falls_with_the_distance)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *slope = at_const(t, at_shape_of(2), (double[]){0.5, 2});
        assert_values(at_alibi_bias(t, slope, 2, 3, 0),
                      ((double[]){0, -0.5, -1, -0.5, 0, -0.5, /**/ 0, -2, -4, -2, 0, -2}), 0);
        assert_values(at_alibi_bias(t, slope, 1, 3, 2), ((double[]){-1, -0.5, 0, -4, -2, 0}), 0);
    }
}
END_TEST

START_TEST(the_row_form_of_alibi_is_the_same_attention_under_a_causal_mask)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *Q = at_random(t, at_shape_of(2, 3, 5, 4), at_normal(1));
        at_tensor *K = at_random(t, at_shape_of(2, 3, 9, 4), at_normal(1));
        at_tensor *slope[2], *O[2], *dO = at_random(t, Q->shape, at_normal(1));
        for (int row = 0; row < 2; row++) {
            slope[row] = at_variable(t, at_shape_of(3), (double[]){0.5, 0.25, 2});
            at_tensor *bias =
                row ? at_alibi_row_bias(t, slope[row], 9) : at_alibi_bias(t, slope[row], 5, 9, 4);
            at_sdpa_args with = {.bias = bias, .causal = true, .align = ATTIC_ALIGN_BOTTOM_RIGHT};
            O[row] = at_sdpa(t, Q, K, K, with);
            ck_assert(row == 0 || strcmp(bias->node->op->name, "alibi_row_bias") == 0);
            ck_assert(at_backward_from(t, O[row], dO));
        }
        for (int i = 0; i < at_count(Q->shape); i++)
            assert_close(at_element(O[0], i), at_element(O[1], i), 100 * close_to(t));
        for (int h = 0; h < 3; h++)
            assert_close(at_grad_element(slope[0], h), at_grad_element(slope[1], h),
                         1000 * close_to(t));
    }
}
END_TEST

/* As the header says: a weight is wrong by about slope N eps of itself. */
START_TEST(the_row_form_of_alibi_loses_slope_n_eps)
{
    enum { N = 1024 };
    at_tensor *P[2];
    at_tape *tape[] = {at_open(ATTIC_F32, 1), at_open(ATTIC_F64, 1)};
    for (int k = 0; k < 2; k++) {
        at_tape *t = tape[k];
        at_tensor *x = at_const(t, at_shape_of(N, 1), NULL);
        at_tensor *bias = at_alibi_row_bias(t, at_const(t, at_shape_of(1), (double[]){0.3}), N);
        bias = at_reshape(t, bias, at_shape_of(1, N));
        at_sdpa(t, x, x, x, (at_sdpa_args){.bias = bias, .causal = true, .probs = &P[k]});
    }
    double worst = 0;
    for (int i = 0; i < N * N; i++)
        if (at_element(P[1], i) > 1e-30)
            worst = fmax(worst, fabs(at_element(P[0], i) / at_element(P[1], i) - 1));
    ck_assert(worst > 0.3 * N * 1e-8 && worst < 0.3 * N * 2.4e-7);
    at_close(tape[0]), at_close(tape[1]);
}
END_TEST

START_TEST(an_offset_continues_where_the_cache_ends)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *table = at_random(t, at_shape_of(9, 2), at_normal(1));
    at_tensor *even = at_random(t, at_shape_of(8, 2), at_normal(1));
    at_tensor *slope = at_alibi_slopes(t, 2);
    at_tensor *whole[] = {at_relative_bias(t, table, 7, 7, 0),
                          at_t5_bias(t, even, 7, 7, (at_t5_args){.max_distance = 6}),
                          at_alibi_bias(t, slope, 7, 7, 0)};
    for (int i = 0; i < 7; i++) {
        at_t5_args with = {.max_distance = 6, .offset = i};
        at_tensor *row[] = {at_relative_bias(t, table, 1, 7, i), at_t5_bias(t, even, 1, 7, with),
                            at_alibi_bias(t, slope, 1, 7, i)};
        for (int k = 0; k < 3; k++)
            for (int h = 0; h < 2; h++)
                for (int j = 0; j < 7; j++)
                    ck_assert(at_get(row[k], 0, h, 0, j) == at_get(whole[k], 0, h, i, j));
    }
    at_close(t);
}
END_TEST

START_TEST(sizes_of_0_and_far_offsets_are_legal)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *table = at_const(t, at_shape_of(5, 2), (double[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    const int size[][2] = {{0, 0}, {0, 3}, {3, 0}};
    for (int k = 0; k < 3; k++) {
        at_shape s = at_shape_of(1, 2, size[k][0], size[k][1]);
        at_tensor *x = at_relative_bias(t, table, s.dim[2], s.dim[3], 0);
        at_tensor *y = at_t5_bias(t, table, s.dim[2], s.dim[3], (at_t5_args){.causal = true});
        at_tensor *z = at_alibi_bias(t, at_alibi_slopes(t, 2), s.dim[2], s.dim[3], 0);
        ck_assert_msg(at_ok(t), "%s", at_error(t));
        ck_assert(at_same_shape(x->shape, s) && at_same_shape(y->shape, s) &&
                  at_same_shape(z->shape, s));
    }
    at_tensor *far = at_relative_bias(t, table, 2, 1, INT_MAX);
    assert_values(far, ((double[]){0, 0, 1, 1}), 0);
    far = at_relative_bias(t, table, 2, 1, INT_MIN);
    assert_values(far, ((double[]){8, 8, 9, 9}), 0);
    far = at_t5_bias(t, table, 1, 1, (at_t5_args){.causal = true, .offset = INT_MAX});
    assert_values(far, ((double[]){8, 9}), 0);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ through attention ---------- */

enum { RELATIVE, RELATIVE_OFFSET, T5_BOTH, T5_CAUSAL, ALIBI, KINDS };
static const at_t5_args near_by = {.max_distance = 5, .offset = 2};

/* The bias of a kind with T = 4, S = 6 and 3 heads, from its table or slopes. */
static at_tensor *bias_of_kind(at_tape *t, at_tensor *x, int kind)
{
    at_t5_args a = near_by;
    a.causal = kind == T5_CAUSAL;
    if (kind == RELATIVE) return at_relative_bias(t, x, 4, 6, 0);
    if (kind == RELATIVE_OFFSET) return at_relative_bias(t, x, 4, 6, 2);
    if (kind == ALIBI) return at_alibi_bias(t, x, 4, 6, 2);
    return at_t5_bias(t, x, 4, 6, a);
}

typedef struct {
    at_shape shape;
    const double *x, *bias, *O, *dx;
} golden_kind;

static const golden_kind golden[KINDS] = {
    {{2, {5, 3}}, relative_x, relative_bias, relative_O, relative_dx},
    {{2, {7, 3}}, relative_offset_x, relative_offset_bias, relative_offset_O, relative_offset_dx},
    {{2, {8, 3}}, t5_both_x, t5_both_bias, t5_both_O, t5_both_dx},
    {{2, {8, 3}}, t5_causal_x, t5_causal_bias, t5_causal_O, t5_causal_dx},
    {{1, {3}}, alibi_x, alibi_bias, alibi_O, alibi_dx},
};

static at_tensor *attend_to(at_tape *t, at_tensor *bias, at_sdpa_path path)
{
    at_tensor *Q = at_const(t, at_shape_of(2, 3, 4, 2), position_Q);
    at_tensor *K = at_const(t, at_shape_of(2, 3, 6, 2), position_K);
    at_tensor *V = at_const(t, at_shape_of(2, 3, 6, 2), position_V);
    return at_sdpa(t, Q, K, V, (at_sdpa_args){.bias = bias, .path = path});
}

START_TEST(biases_attention_and_gradients_equal_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int kind = 0; kind < KINDS; kind++)
            for (at_sdpa_path path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
                const golden_kind *g = &golden[kind];
                at_tensor *x = at_variable(t, g->shape, g->x);
                at_tensor *bias = bias_of_kind(t, x, kind), *O = attend_to(t, bias, path);
                assert_values(bias, g->bias, close_to(t));
                assert_values(O, g->O, close_to(t));
                ck_assert(pull(t, O, position_dO));
                assert_grads(x, g->dx, close_to(t));
            }
}
END_TEST

/* O from the table or slopes, Q, K and V */
static at_tensor *whole_chain(at_tape *t, at_tensor **in, void *kind)
{
    at_sdpa_args a = {.bias = bias_of_kind(t, in[0], *(int *)kind)};
    if (*(int *)kind == T5_CAUSAL) a.causal = true, a.align = ATTIC_ALIGN_BOTTOM_RIGHT;
    return at_sdpa(t, in[1], in[2], in[3], a);
}

START_TEST(gradients_of_the_whole_chain_agree_with_differences)
{
    for (int kind = 0; kind < KINDS; kind++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        at_tensor *in[] = {at_variable(t, golden[kind].shape, golden[kind].x),
                           at_variable(t, at_shape_of(2, 3, 4, 2), position_Q),
                           at_variable(t, at_shape_of(2, 3, 6, 2), position_K),
                           at_variable(t, at_shape_of(2, 3, 6, 2), position_V)};
        at_gradcheck_report r =
            at_gradcheck(t, whole_chain, in, 4, &kind, (at_gradcheck_options){0});
        ck_assert_msg(r.verdict == ATTIC_PASS, "kind %d: %s %s", kind, at_verdict_text(r.verdict),
                      r.reason);
        ck_assert_double_lt(r.error, 1e-8);
        at_close(t);
    }
}
END_TEST

START_TEST(packed_heads_and_a_single_head_take_the_same_bias)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *table = at_random(t, at_shape_of(5, 3), at_normal(1));
    at_tensor *x = at_random(t, at_shape_of(2, 4, 3 * 2), at_normal(1));
    at_tensor *bias = at_relative_bias(t, table, 4, 4, 0);
    at_tensor *packed = at_sdpa(t, x, x, x, (at_sdpa_args){.heads = 3, .bias = bias});
    at_tensor *y = at_reshape(t, x, at_shape_of(2, 4, 3, 2)); /* [B,T,H,D] -> [B,H,T,D] */
    y = at_permute(t, y, at_axes(0, 2, 1, 3));
    at_tensor *O =
        at_permute(t, at_sdpa(t, y, y, y, (at_sdpa_args){.bias = bias}), at_axes(0, 2, 1, 3));
    for (int i = 0; i < 2 * 4 * 6; i++)
        assert_close(at_element(packed, i), at_element(O, i), 1e-15);
    at_tensor *one = at_random(t, at_shape_of(4, 2), at_normal(1));
    bias = at_alibi_bias(t, at_alibi_slopes(t, 1), 4, 4, 0);
    ck_assert(at_sdpa(t, one, one, one, (at_sdpa_args){.bias = bias}));
    at_close(t);
}
END_TEST

START_TEST(a_sharp_alibi_is_local_attention)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *slope = at_const(t, at_shape_of(1), (double[]){1000}), *P = NULL;
    at_tensor *x = at_random(t, at_shape_of(6, 4), at_normal(1));
    at_sdpa(t, x, x, x, (at_sdpa_args){.bias = at_alibi_bias(t, slope, 6, 6, 0), .probs = &P});
    for (int i = 0; i < 6; i++) ck_assert_double_gt(at_get(P, i, i), 1 - 1e-12);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ what is refused ------------ */

#define assert_refused(call, text)                                                                 \
    do {                                                                                           \
        at_tape *t = at_open(ATTIC_F32, 1);                                                        \
        at_tensor *table = at_const(t, at_shape_of(6, 2), NULL);                                   \
        ck_assert((call) == NULL);                                                                 \
        assert_error(t, text);                                                                     \
        (void)table;                                                                               \
        at_close(t);                                                                               \
    } while (0)

START_TEST(tables_and_sizes_that_do_not_fit_are_refused)
{
    assert_refused(
        at_relative_bias(t, table, 2, 2, 0),
        "relative_bias: table is [6,2], but must be [2n+1,H], for the distances -n .. n");
    assert_refused(at_relative_bias(t, at_const(t, at_shape_of(3), NULL), 2, 2, 0),
                   "relative_bias: table is [3], but must be [2n+1,H], for the distances -n .. n");
    assert_refused(at_relative_bias(t, at_const(t, at_shape_of(3, 1), NULL), -1, 2, 0),
                   "relative_bias: -1 queries and 2 keys, but neither can be negative");
    assert_refused(at_relative_bias(t, NULL, 1, 2, 0), "relative_bias: table is NULL");
    assert_refused(at_t5_bias(t, at_const(t, at_shape_of(3), NULL), 2, 2, (at_t5_args){0}),
                   "t5_bias: table is [3], but must be [buckets,H]");
    assert_refused(at_t5_bias(t, at_const(t, at_shape_of(5, 1), NULL), 2, 2, (at_t5_args){0}),
                   "t5_bias: 5 buckets up to a distance of 128: there must be 4 or more, an even "
                   "number, and the distance more than 1");
    assert_refused(at_t5_bias(t, table, 2, 2, (at_t5_args){.causal = true, .max_distance = 3}),
                   "t5_bias: 6 buckets up to a distance of 3, causal: there must be 2 or more, and "
                   "the distance more than 3");
    assert_refused(at_t5_bias(t, table, 2, -2, (at_t5_args){0}),
                   "t5_bias: 2 queries and -2 keys, but neither can be negative");
    assert_refused(at_alibi_slopes(t, 0), "alibi_slopes: 0 heads, but there must be one at least");
    assert_refused(at_alibi_bias(t, table, 2, 2, 0), "alibi_bias: slope is [6,2], but must be [H]");
    assert_refused(at_alibi_row_bias(t, table, 2),
                   "alibi_row_bias: slope is [6,2], but must be [H]");
    assert_refused(at_alibi_row_bias(t, at_alibi_slopes(t, 2), -1),
                   "alibi_row_bias: -1 keys, but they cannot be negative");
    assert_refused(at_alibi_bias(t, at_alibi_slopes(t, 2), INT_MAX, INT_MAX, 0),
                   "alibi_bias: 2147483647 queries and 2147483647 keys are too many");
}
END_TEST

/* Every bias, through attention and back. */
static bool run_all_biases(void)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int kind = 0; kind < KINDS; kind++) {
        at_tensor *x = at_variable(t, golden[kind].shape, golden[kind].x);
        at_tensor *O = attend_to(t, bias_of_kind(t, x, kind), ATTIC_FUSED);
        if (O) at_backward_from(t, O, at_const(t, O->shape, position_dO));
    }
    at_alibi_row_bias(t, at_alibi_slopes(t, 3), 4);
    bool through = at_ok(t);
    ck_assert(through || at_error_kind_of(t) == ATTIC_MEMORY_ERROR);
    at_close(t);
    return through;
}

START_TEST(every_allocation_may_fail)
{
    ptrdiff_t n = 0;
    do {
        at_fail_allocation(++n);
    } while (!run_all_biases() && n < 100000);
    at_fail_allocation(0);
    ck_assert_int_gt(n, 100);
}
END_TEST

SUITE(attention_position, buckets_are_those_of_t5, the_table_in_the_header_is_true,
      impossible_buckets_are_minus_one, slopes_are_those_of_alibi_for_any_number_of_heads,
      slopes_of_a_power_of_two_are_powers_of_two, a_learned_bias_clips_distances,
      alibi_falls_with_the_distance,
      the_row_form_of_alibi_is_the_same_attention_under_a_causal_mask,
      the_row_form_of_alibi_loses_slope_n_eps, an_offset_continues_where_the_cache_ends,
      sizes_of_0_and_far_offsets_are_legal, biases_attention_and_gradients_equal_the_golden_numbers,
      gradients_of_the_whole_chain_agree_with_differences,
      packed_heads_and_a_single_head_take_the_same_bias, a_sharp_alibi_is_local_attention,
      tables_and_sizes_that_do_not_fit_are_refused, every_allocation_may_fail)
