/* test_statistics.c -- statistics of heads by hand, their verdicts, and the hook. */
#include "tensors.h"

#include <math.h>

static const double nan_ = (double)NAN;

/* What `limits` are by default. */
static const at_monitor_args usual = {0};

static at_tensor *weights(at_tape *t, int T, int S, const double *P)
{
    return at_const(t, at_shape_of(T, S), P);
}

/* ------------------------------------------------------------------ statistics ------------------- */

START_TEST(a_row_of_a_half_and_two_quarters_has_an_entropy_of_three_halves_ln_2)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *P = weights(t, 2, 3, (double[]){.5, .25, .25, .25, .25, .5});
        at_head_statistics l = at_head_statistics_of(t, P, NULL, 1, 0);
        assert_close(l.entropy, 1.5 * log(2), 1e-14);
        assert_close(l.most, log(3), 1e-14);
        assert_close(l.largest, 0.5, 0);
        assert_close(l.similarity, 0.875,
                     0); /* the average row is 3/8 1/4 3/8; of both rows 7/8 lie in it */
        ck_assert(l.kept == 1 && l.rows == 2);
    }
}
END_TEST

START_TEST(rows_that_look_at_one_key_each_have_no_entropy)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_head_statistics own =
        at_head_statistics_of(t, weights(t, 2, 2, (double[]){1, 0, 0, 1}), NULL, 1, 0);
    at_head_statistics same =
        at_head_statistics_of(t, weights(t, 2, 2, (double[]){0, 1, 0, 1}), NULL, 1, 0);
    ck_assert(own.entropy == 0 && own.largest == 1 && own.similarity == 0.5);
    ck_assert(same.entropy == 0 && same.largest == 1 && same.similarity == 1);
    ck_assert_int_eq(at_head_verdict(own, usual), ATTIC_HEAD_LOW_ENTROPY);
    ck_assert_int_eq(at_head_verdict(same, usual), ATTIC_HEAD_ONE_KEY);
    at_close(t);
}
END_TEST

/* Causal rows keep 1, 2, 3 keys; the first has no choice. */
START_TEST(equal_weights_have_the_entropy_of_what_is_kept)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *P =
        weights(t, 3, 3, (double[]){1, nan_, nan_, .5, .5, nan_, 1 / 3., 1 / 3., 1 / 3.});
    at_tensor *past = at_keep_causal(t, 3, 3, ATTIC_ALIGN_EQUAL, 0);
    at_head_statistics l = at_head_statistics_of(t, P, past, 1, 0);
    assert_close(l.entropy, (log(2) + log(3)) / 2, 1e-15);
    assert_close(l.most, l.entropy, 1e-15);
    assert_close(l.kept, 6 / 9., 1e-15);
    assert_close(l.similarity, 5 / 6., 1e-15); /* rows 1 and 2: their average is 5/12 5/12 1/6 */
    ck_assert_int_eq(l.rows, 2);
    ck_assert_int_eq(at_head_verdict(l, usual), ATTIC_HEAD_UNIFORM);
    at_close(t);
}
END_TEST

/* In f32, exp(-200) is 0: by its weights above 0, such a row would keep one key and be as even as it can. */
START_TEST(weights_that_underflow_do_not_hide_a_collapse)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *K = at_const(t, at_shape_of(4, 1), (double[]){200, 0, -200, -400});
    at_tensor *Q = at_const(t, at_shape_of(2, 1), (double[]){1, 1}), *P;
    at_sdpa(t, Q, K, K, (at_sdpa_args){.probs = &P});
    ck_assert(at_get(P, 0, 0) == 1 && at_get(P, 0, 1) == 0);
    at_head_statistics l = at_head_statistics_of(t, P, NULL, 1, 0);
    assert_close(l.most, log(4), 1e-15);
    ck_assert_int_eq(at_head_verdict(l, usual), ATTIC_HEAD_ONE_KEY);
    at_close(t);
}
END_TEST

START_TEST(what_is_masked_is_not_read_and_what_is_kept_surfaces)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *P = weights(t, 2, 3, (double[]){.5, .5, nan_, .5, .5, nan_});
    at_head_statistics l =
        at_head_statistics_of(t, P, at_bools(t, at_shape_of(3), (bool[]){true, true, false}), 1, 0);
    assert_close(l.entropy, log(2), 1e-15);
    ck_assert(l.similarity == 1);
    l = at_head_statistics_of(t, P, NULL, 1, 0);
    ck_assert_int_eq(at_head_verdict(l, usual), ATTIC_HEAD_NAN);
    at_close(t);
}
END_TEST

START_TEST(where_nothing_can_be_chosen_nothing_is_wrong)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *one = at_keep_window(t, 2, 2, 1, 1, ATTIC_ALIGN_EQUAL, 0);
    at_head_statistics l =
        at_head_statistics_of(t, weights(t, 2, 2, (double[]){1, 0, 0, 1}), one, 1, 0);
    ck_assert(l.rows == 0 && l.entropy == 0 && l.most == 0 && l.similarity == 0 && l.kept == 0.5);
    ck_assert_int_eq(at_head_verdict(l, usual), ATTIC_HEAD_FINE);
    l = at_head_statistics_of(t, at_const(t, at_shape_of(0, 2, 0, 3), NULL), NULL, 2, 1);
    ck_assert(l.rows == 0 && l.kept == 0 && at_ok(t));
    l = at_head_statistics_of(t, at_const(t, at_shape_of(3, 0), NULL), NULL, 1, 0);
    ck_assert(l.rows == 0 && l.kept == 0 && at_ok(t));
    at_close(t);
}
END_TEST

START_TEST(a_single_row_is_not_similar)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *P = at_const(t, at_shape_of(2, 1, 2), (double[]){1, 0, 1, 0});
    ck_assert(at_head_statistics_of(t, P, NULL, 1, 0).similarity ==
              0); /* two sequences of a row each */
    P = at_reshape(t, P, at_shape_of(2, 2));
    ck_assert(at_head_statistics_of(t, P, NULL, 1, 0).similarity == 1);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ layouts -------------------- */

enum { B = 2, H = 3, T = 4, S = 5 };

/* The definitions, for head h of P [B,H,T,N] and a mask of that shape. */
static at_head_statistics by_definition(const at_tensor *P, const at_tensor *keep, int h)
{
    at_head_statistics l = {0};
    for (int b = 0; b < B; b++)
        for (int i = 0; i < T; i++) {
            double n = 0, entropy = 0, largest = 0, overlap = 0;
            for (int j = 0; j < S; j++) n += at_get(keep, b, h, i, j);
            l.kept += n / (B * T * S);
            for (int j = 0; j < S; j++) {
                double p = at_get(P, b, h, i, j), mean = 0;
                for (int k = 0; k < T; k++) mean += at_get(P, b, h, k, j) / T;
                entropy -= p > 0 ? p * log(p) : 0;
                largest = p > largest ? p : largest;
                overlap += p < mean ? p : mean;
            }
            l.entropy += entropy / (B * T), l.most += log(n) / (B * T);
            l.largest += largest / (B * T), l.similarity += overlap / (B * T);
        }
    l.rows = B * T;
    return l;
}

static void assert_looks(at_head_statistics a, at_head_statistics b)
{
    assert_close(a.entropy, b.entropy, 1e-12);
    assert_close(a.most, b.most, 1e-12);
    assert_close(a.largest, b.largest, 1e-12);
    assert_close(a.similarity, b.similarity, 1e-12);
    assert_close(a.kept, b.kept, 1e-12);
    ck_assert_int_eq(a.rows, b.rows);
}

/* A mask that differs by batch, head and row; each row keeps two keys at least. */
static at_tensor *speckled(at_tape *t)
{
    at_tensor *keep = at_bools(t, at_shape_of(B, H, T, S), NULL);
    for (int n = 0; n < B * H * T * S; n++)
        at_set_at(at_reshape(t, keep, at_shape_of(B * H * T * S)), n % S < 2 || n % 7 < 3,
                  at_shape_of(n));
    return keep;
}

START_TEST(looks_at_every_head_are_those_of_the_definition)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *Q = at_random(t, at_shape_of(B, H, T, 2), at_normal(2)), *P;
    at_tensor *K = at_random(t, at_shape_of(B, H, S, 2), at_normal(2)), *keep = speckled(t);
    at_sdpa(t, Q, K, K, (at_sdpa_args){.keep = keep, .probs = &P});
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    for (int h = 0; h < H; h++)
        assert_looks(at_head_statistics_of(t, P, keep, H, h), by_definition(P, keep, h));
    at_close(t);
}
END_TEST

START_TEST(every_layout_of_weights_and_mask_is_read)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *P = at_softmax(t, at_random(t, at_shape_of(B, H, T, S), at_normal(1)));
    at_tensor *lengths = at_keep_lengths(t, at_ints(t, at_shape_of(B), (int32_t[]){3, 5}), S);
    at_tensor *all = at_not(t, at_bools(t, at_shape_of(B, H, T, S), NULL));
    at_tensor *full = at_and(t, all, lengths);
    for (int h = 0; h < H; h++)
        assert_looks(at_head_statistics_of(t, P, lengths, H, h),
                     at_head_statistics_of(t, P, full, H, h));

    at_tensor *heads = at_reshape(t, at_slice(t, P, 0, 1, 2), at_shape_of(H, T, S));   /* batch 1 */
    at_tensor *batches = at_reshape(t, at_slice(t, P, 1, 2, 3), at_shape_of(B, T, S)); /* head 2 */
    at_tensor *keep3 = at_reshape(t, lengths, at_shape_of(B, 1, S));
    assert_looks(at_head_statistics_of(t, batches, keep3, 1, 0),
                 at_head_statistics_of(t, P, full, H, 2));
    assert_looks(at_head_statistics_of(t, batches, lengths, 1, 0),
                 at_head_statistics_of(t, P, full, H, 2));

    at_tensor *of_head = at_bools(t, at_shape_of(H, 1, S), NULL); /* head h keeps h + 2 keys */
    for (int h = 0; h < H; h++)
        for (int j = 0; j < h + 2; j++) at_set(of_head, 1, h, 0, j);
    at_tensor *first = at_reshape(t, at_slice(t, heads, 0, 1, 2), at_shape_of(T, S)); /* head 1 */
    at_tensor *three = at_bools(t, at_shape_of(S), (bool[]){true, true, true, false, false});
    assert_looks(at_head_statistics_of(t, heads, of_head, H, 1),
                 at_head_statistics_of(t, first, three, 1, 0));
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ verdicts ------------------- */

static at_head_state judge(double entropy, double similarity, at_monitor_args limits)
{
    return at_head_verdict(
        (at_head_statistics){.entropy = entropy, .most = 2, .similarity = similarity, .rows = 9},
        limits);
}

START_TEST(verdicts_begin_at_the_limits)
{
    ck_assert_int_eq(judge(0.039, 0.5, usual), ATTIC_HEAD_LOW_ENTROPY);
    ck_assert_int_eq(judge(0.039, 0.96, usual), ATTIC_HEAD_ONE_KEY);
    ck_assert_int_eq(judge(0.041, 0.5, usual), ATTIC_HEAD_FINE);
    ck_assert_int_eq(judge(1.00, 0.94, usual), ATTIC_HEAD_FINE);
    ck_assert_int_eq(judge(1.00, 0.96, usual), ATTIC_HEAD_SIMILAR);
    ck_assert_int_eq(judge(1.97, 0.5, usual), ATTIC_HEAD_FINE);
    ck_assert_int_eq(judge(1.99, 0.96, usual), ATTIC_HEAD_UNIFORM);
    ck_assert_int_eq(judge(nan_, 0.5, usual), ATTIC_HEAD_NAN);
}
END_TEST

START_TEST(limits_can_be_set_and_switched_off)
{
    ck_assert_int_eq(judge(0.3, 0.5, (at_monitor_args){.low_entropy = 0.2}),
                     ATTIC_HEAD_LOW_ENTROPY);
    ck_assert_int_eq(judge(1.5, 0.5, (at_monitor_args){.uniform = 0.7}), ATTIC_HEAD_UNIFORM);
    ck_assert_int_eq(judge(1.0, 0.8, (at_monitor_args){.similarity = 0.7}), ATTIC_HEAD_SIMILAR);
    ck_assert_int_eq(judge(0, 0.5, (at_monitor_args){.low_entropy = -1}), ATTIC_HEAD_FINE);
    ck_assert_int_eq(judge(2, 1, (at_monitor_args){.uniform = 2}), ATTIC_HEAD_SIMILAR);
    ck_assert_int_eq(judge(0, 1, (at_monitor_args){.similarity = 2}), ATTIC_HEAD_LOW_ENTROPY);
}
END_TEST

/* ------------------------------------------------------------------ over time ------------------ */

typedef struct {
    int calls, layer, head;
    at_head_state state;
} call;

static void note(void *ctx, int layer, int head, const at_monitored *h)
{
    call *c = ctx;
    *c = (call){c->calls + 1, layer, head, h->state};
}

/* Statistics of two heads: head 0 is fine, head 1 is fine, or all on one key, or NaN. */
static void update(at_tape *t, at_monitor *w, at_head_state second)
{
    double a = second == ATTIC_HEAD_NAN ? nan_ : second == ATTIC_HEAD_FINE ? 0.25 : 1;
    at_tensor *P =
        at_const(t, at_shape_of(2, 2, 2),
                 (double[]){.25, .75, .75, .25, a, 1 - a, second ? a : .75, second ? 1 - a : .25});
    ck_assert_msg(at_monitor_update(t, w, 1, P, NULL), "%s", at_error(t));
}

START_TEST(one_odd_look_is_no_change_but_three_in_a_row_are)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    call c = {0};
    at_monitor *w = at_monitor_make(t, 2, 2, (at_monitor_args){.hook = note, .ctx = &c});
    const at_head_state bad = ATTIC_HEAD_ONE_KEY, fine = ATTIC_HEAD_FINE;
    const at_head_state seen[] = {fine, bad, bad, fine, bad, bad};
    for (int i = 0; i < 6; i++) update(t, w, seen[i]);
    ck_assert_int_eq(c.calls, 0);
    ck_assert(w->head[3].verdict == bad && w->head[3].state == fine && w->head[3].in_a_row == 2);
    update(t, w, bad);
    ck_assert(c.calls == 1 && c.layer == 1 && c.head == 1 && c.state == bad);
    update(t, w, bad);
    ck_assert_int_eq(c.calls, 1); /* it is known by now */
    for (int i = 0; i < 3; i++) update(t, w, fine);
    ck_assert(c.calls == 2 && c.state == fine);
    ck_assert(w->head[2].in_a_row == 11 &&
              w->head[0].in_a_row == 0); /* layer 0 was not looked at */
    at_close(t);
}
END_TEST

START_TEST(patience_can_be_set)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    call c = {0};
    at_monitor *w =
        at_monitor_make(t, 2, 2, (at_monitor_args){.patience = 1, .hook = note, .ctx = &c});
    update(t, w, ATTIC_HEAD_ONE_KEY);
    ck_assert_int_eq(c.calls, 1);
    at_close(t);
}
END_TEST

START_TEST(nans_are_told_at_once)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    call c = {0};
    at_monitor *w = at_monitor_make(t, 2, 2, (at_monitor_args){.hook = note, .ctx = &c});
    update(t, w, ATTIC_HEAD_NAN);
    ck_assert(c.calls == 1 && c.head == 1 && c.state == ATTIC_HEAD_NAN);
    at_close(t);
}
END_TEST

/* In evaluation mode the weights of a transformer are P. */
START_TEST(a_transformer_is_watched_layer_by_layer)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model_config config = {
        .vocab = 7, .context = 6, .layers = 2, .heads = 2, .dim = 8, .dropout = 0.5};
    at_model *m = at_model_make(t, config);
    at_monitor *w = at_monitor_make(t, 2, 2, usual);
    at_train(t, false);
    at_tensor *ids = at_ints(t, at_shape_of(1, 6), (int32_t[]){1, 2, 3, 4, 5, 6}), *A[2];
    at_tensor *past = at_keep_causal(t, 6, 6, ATTIC_ALIGN_EQUAL, 0);
    at_model_logits(t, m, ids, (at_model_args){.weights = A});
    for (int l = 0; l < 2; l++) ck_assert(at_monitor_update(t, w, l, A[l], past));
    for (int h = 0; h < 4; h++) {
        at_head_statistics l = w->head[h].statistics;
        ck_assert(l.entropy > 0 && l.entropy < l.most && l.largest > 0 && l.largest < 1);
        assert_close(l.kept, 21 / 36., 1e-15);
        assert_close(l.most, log(720) / 5, 1e-14);
    }
    at_close(t);
}
END_TEST

START_TEST(looking_takes_no_memory_of_the_step_and_leaves_the_tape_as_it_was)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *W = at_param(t, "W", at_shape_of(3, 4), at_normal(1)), *P = at_softmax(t, W);
    size_t before = at_memory_of(t).step;
    at_head_statistics_of(t, P, NULL, 1, 0);
    ck_assert_uint_eq(at_memory_of(t).step, before);
    ck_assert(at_backward(t, at_sum(t, at_square(t, P))) && W->grad);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ text ----------------------- */

START_TEST(a_layer_is_a_line_and_a_change_is_in_words)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_monitor *w = at_monitor_make(t, 2, 2, usual);
    for (int i = 0; i < 3; i++) update(t, w, ATTIC_HEAD_ONE_KEY);
    char line[200] = "";
    FILE *f = fmemopen(line, sizeof line, "w");
    at_monitor_print(w, 1, f);
    at_monitor_print(w, 2, f); /* there is none */
    at_monitor_print(NULL, 0, f);
    fclose(f);
    ck_assert_str_eq(line, "entropy 0.56 0.00 of 0.69   largest 0.75 1.00   kept 1.00");
    ck_assert_str_eq(at_monitor_text(1, 1, &w->head[3]),
                     "block 1 head 1 is on one key for all (3 in a row): entropy 0.00 of "
                     "0.69, largest 1.00, similarity 1.00");
    ck_assert_str_eq(at_monitor_text(1, 1, NULL), "NULL");
    ck_assert_str_eq(at_head_text((at_head_state)99), "?");
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ errors --------------------- */

static void assert_refused(at_tape *t, const at_tensor *P, const at_tensor *keep, int heads, int h,
                           const char *text)
{
    at_head_statistics l = at_head_statistics_of(t, P, keep, heads, h);
    ck_assert(l.rows == 0 && l.kept == 0);
    assert_error(t, text);
    at_clear_error(t);
}

START_TEST(what_are_no_weights_or_no_mask_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *P = at_const(t, at_shape_of(B, H, T, S), NULL),
              *x = at_const(t, at_shape_of(3), NULL);
    at_tensor *three = at_bools(t, at_shape_of(H, T, S), NULL),
              *T_T = at_bools(t, at_shape_of(T, T), NULL);
    assert_refused(t, P, NULL, 2, 0, "statistics: P is [2,3,4,5], which are no weights of 2 heads");
    assert_refused(t, P, NULL, 3, 3, "statistics: there is no head 3 of 3");
    assert_refused(t, x, NULL, 1, 0, "statistics: P is [3], which are no weights of 1 heads");
    assert_refused(
        t, P, three, 3, 0,
        "statistics: keep is [3,4,5] beside P [2,3,4,5]: is that [B,T,N] or [H,T,N]?  Write "
        "[B,1,T,N] or [1,H,T,N]");
    assert_refused(t, P, T_T, 3, 0, "statistics: keep is [4,4], which is no mask for P [2,3,4,5]");
    assert_refused(t, P, x, 3, 0, "statistics: keep [3] has dtype f32 but must be bool");
    assert_refused(t, NULL, NULL, 3, 0, "statistics: P is NULL");
    at_close(t);
}
END_TEST

START_TEST(a_monitor_that_can_not_be_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_monitor_make(t, 0, 4, usual));
    assert_error(t, "monitor: 0 layers of 4 heads: both must be in 1..32768");
    at_clear_error(t);
    ck_assert_ptr_null(at_monitor_make(t, 1, 4, (at_monitor_args){.patience = -1}));
    assert_error(t, "monitor: patience is -1 but can't be negative");
    at_clear_error(t);
    at_monitor *w = at_monitor_make(t, 2, 1, usual);
    at_tensor *P = at_const(t, at_shape_of(2, 2), NULL);
    ck_assert(!at_monitor_update(t, w, 2, P, NULL));
    assert_error(t, "monitor: there is no layer 2 of 2");
    at_clear_error(t);
    ck_assert(!at_monitor_update(t, NULL, 0, P, NULL));
    assert_error(t, "monitor: w is NULL");
    at_clear_error(t);
    ck_assert(!at_monitor_update(t, w, 0, NULL, NULL) && w->head[0].in_a_row == 0);
    at_close(t);
}
END_TEST

SUITE(nn_statistics, a_row_of_a_half_and_two_quarters_has_an_entropy_of_three_halves_ln_2,
      rows_that_look_at_one_key_each_have_no_entropy,
      equal_weights_have_the_entropy_of_what_is_kept, weights_that_underflow_do_not_hide_a_collapse,
      what_is_masked_is_not_read_and_what_is_kept_surfaces,
      where_nothing_can_be_chosen_nothing_is_wrong, a_single_row_is_not_similar,
      looks_at_every_head_are_those_of_the_definition, every_layout_of_weights_and_mask_is_read,
      verdicts_begin_at_the_limits, limits_can_be_set_and_switched_off,
      one_odd_look_is_no_change_but_three_in_a_row_are, patience_can_be_set, nans_are_told_at_once,
      a_transformer_is_watched_layer_by_layer,
      looking_takes_no_memory_of_the_step_and_leaves_the_tape_as_it_was,
      a_layer_is_a_line_and_a_change_is_in_words, what_are_no_weights_or_no_mask_is_refused,
      a_monitor_that_can_not_be_is_refused)
