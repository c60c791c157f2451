/* test_scaled.c -- models with scaled frequencies and positions that are given: logits and gradients against
 * NumPy, from the config.json of each.  The numbers are those of tests/golden/scaled.py. */
#include "scratch.h"
#include "tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "golden/scaled.inc"

enum { B = 2, T = 7, VOCAB = 11, N = B * T * VOCAB };

static const struct {
    const char *name, *config;
    const double *logits, *placed; /* at positions 0 .. T-1; at scaled_positions */
} kinds[] = {
    {"plain", scaled_plain_config, scaled_plain_logits, scaled_plain_placed},
    {"linear", scaled_linear_config, scaled_linear_logits, scaled_linear_placed},
    {"llama3", scaled_llama3_config, scaled_llama3_logits, scaled_llama3_placed},
    {"yarn", scaled_yarn_config, scaled_yarn_logits, scaled_yarn_placed},
    {"mscale", scaled_mscale_config, scaled_mscale_logits, scaled_mscale_placed},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static at_model_config config_of(at_tape *t, const char *json)
{
    at_model_config c;
    char *path = scratch_file("config.json");
    FILE *f = fopen(path, "wb");
    fputs(json, f);
    fclose(f);
    ck_assert_msg(at_model_config_json(t, path, &c), "%s", at_error(t));
    remove(path);
    return c;
}

/* `file` is "", or "_yarn_grads". */
static at_model *model_of(at_tape *t, int k, bool halves, const char *file)
{
    at_model_config c = config_of(t, kinds[k].config);
    ck_assert(c.rope_halves);
    c.rope_halves = halves;
    char path[100];
    snprintf(path, sizeof path, "tests/golden/scaled%s.safetensors", file);
    at_model *m = at_model_make(t, c);
    ck_assert_msg(at_model_import(t, m, at_tensors_open(t, path)), "%s", at_error(t));
    return m;
}

static at_tensor *golden_ints(at_tape *t, const int32_t *rows)
{
    return at_ints(t, at_shape_of(B, T), rows);
}

/* Relative to the largest of what is expected. */
static double error_of(ptrdiff_t n, const double *x, const double *expected)
{
    double error = 0, largest = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        error = isnan(x[i]) ? (double)INFINITY : fmax(error, fabs(x[i] - expected[i]));
        largest = fmax(largest, fabs(expected[i]));
    }
    return error / largest;
}

static double tolerance(const at_tape *t)
{
    return at_real(t) == ATTIC_F32 ? 2e-5 : 1e-12;
}

static void assert_logits(at_tape *t, const at_tensor *y, const double *expected, const char *what)
{
    double x[N];
    ck_assert_msg(y && at_count(y->shape) == N, "%s", at_error(t));
    for (int i = 0; i < N; i++) x[i] = at_element(y, i);
    ck_assert_msg(error_of(N, x, expected) < tolerance(t), "%s: %g", what,
                  error_of(N, x, expected));
}

START_TEST(logits_are_those_of_numpy_at_any_positions)
{
    for (int k = 0; k < 2 * KINDS; k++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_tensor *ids = golden_ints(t, scaled_ids), *P = golden_ints(t, scaled_positions);
            const at_model *m = model_of(t, k / 2, k % 2, "");
            at_tensor *y = at_model_logits(t, m, ids, (at_model_args){0});
            assert_logits(t, y, kinds[k / 2].logits, kinds[k / 2].name);
            y = at_model_logits(t, m, ids, (at_model_args){.positions = P});
            assert_logits(t, y, kinds[k / 2].placed, kinds[k / 2].name);
        }
}
END_TEST

START_TEST(gradients_are_those_of_complex_steps)
{
    for (int k = 0; k < KINDS; k++)
        for (at_tape *t = NULL; next_tape(&t);) {
            char grads[40];
            snprintf(grads, sizeof grads, "_%s_grads", kinds[k].name);
            at_model *m = model_of(t, k, true, "");
            at_tape *u = at_open(ATTIC_F64, 1);
            model_of(u, k, true, grads);
            at_tensor *y = at_model_logits(t, m, golden_ints(t, scaled_ids), (at_model_args){0});
            at_tensor *target = golden_ints(t, scaled_targets);
            ck_assert(at_backward(t, at_cross_entropy(t, y, target, (at_cross_entropy_args){0})));
            for (int i = 0; i < at_param_count(t); i++) {
                const at_tensor *w = at_param_at(t, i);
                const ptrdiff_t n = at_count(w->shape);
                double *grad = at_step_alloc(t, (size_t)n * sizeof *grad);
                for (ptrdiff_t j = 0; j < n; j++) grad[j] = at_grad_element(w, j);
                double error = error_of(n, grad, at_param_at(u, i)->data);
                ck_assert_msg(error < tolerance(t), "%s, %s: %g", kinds[k].name, w->name, error);
            }
            at_close(u);
        }
}
END_TEST

START_TEST(a_cache_decodes_what_the_whole_text_gives)
{
    for (int k = 0; k < KINDS; k++)
        for (at_tape *t = NULL; next_tape(&t);) {
            const at_model *m = model_of(t, k, true, "");
            at_tensor *ids = golden_ints(t, scaled_ids);
            at_no_grad(t, true), at_train(t, false);
            at_model_cache cache = at_model_cache_make(t, m, B);
            for (int p = 0; p < T; p++) {
                at_tensor *y = at_model_decode(t, &cache, at_slice(t, ids, 1, p, p + 1));
                for (int i = 0; i < B * VOCAB; i++) {
                    double x = kinds[k].logits[(i / VOCAB * T + p) * VOCAB + i % VOCAB];
                    assert_close(at_element(y, i), x, 10 * tolerance(t));
                }
            }
        }
}
END_TEST

START_TEST(a_config_goes_through_text_and_back)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int k = 0; k < KINDS; k++) {
        at_model_config c = config_of(t, kinds[k].config), back;
        const char *text = at_model_text(t, c);
        ck_assert(at_model_config_of(t, text, &back));
        ck_assert_str_eq(at_model_text(t, back), text);
        ck_assert_mem_eq(&back.rope_scaling.factor, &c.rope_scaling.factor, sizeof(double));
        ck_assert_int_eq(strstr(text, "rope_type") != NULL, k > 0);
    }
    ck_assert_str_eq(
        at_model_text(t, config_of(t, scaled_mscale_config)),
        "vocab=11 context=64 layers=2 heads=2 kv_heads=1 dim=16 hidden=12 norm=rms "
        "norm_eps=1e-06 act=swiglu bias=none rope_base=500 rope_halves=1 rope_type=yarn "
        "rope_factor=4 rope_original_max_position_embeddings=16 rope_beta_fast=2 "
        "rope_beta_slow=0.1 rope_mscale=1 rope_mscale_all_dim=0.5 rope_no_truncate=1 "
        "untied=1");
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ positions ------------------ */

static at_model *small_model(at_tape *t, at_positions positions)
{
    return at_model_make(t, (at_model_config){.vocab = VOCAB,
                                              .context = 9,
                                              .layers = 2,
                                              .heads = 2,
                                              .dim = 8,
                                              .positions = positions});
}

START_TEST(positions_that_count_from_0_change_no_bit)
{
    int32_t counted[B * T];
    for (int i = 0; i < B * T; i++) counted[i] = i % T;
    for (int learned = 0; learned < 2; learned++)
        for (at_tape *t = NULL; next_tape(&t);) {
            const at_model *m = small_model(t, learned ? ATTIC_LEARNED_POSITIONS : ATTIC_ROPE);
            at_tensor *ids = golden_ints(t, scaled_ids);
            at_tensor *y = at_model_logits(t, m, ids, (at_model_args){0});
            at_tensor *z = at_ints(t, at_shape_of(T), counted), *zz = golden_ints(t, counted);
            ck_assert(equal_bits(y, at_model_logits(t, m, ids, (at_model_args){.positions = z})));
            ck_assert(equal_bits(y, at_model_logits(t, m, ids, (at_model_args){.positions = zz})));
        }
}
END_TEST

START_TEST(learned_positions_are_the_rows_that_are_named)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_model *m = small_model(t, ATTIC_LEARNED_POSITIONS);
        at_tensor *ids = golden_ints(t, scaled_ids);
        at_tensor *P = at_ints(t, at_shape_of(T), (int32_t[]){8, 1, 1, 0, 5, 6, 7});
        at_tensor *x[3];
        ck_assert(at_model_logits(t, m, ids, (at_model_args){.positions = P, .hidden = x}));
        for (int b = 0; b < B; b++)
            for (int p = 0; p < T; p++)
                for (int j = 0; j < 8; j++)
                    assert_close(at_get(x[0], b, p, j),
                                 at_get(m->E, scaled_ids[b * T + p], j) +
                                     at_get(m->P, ((int32_t *)P->data)[p], j),
                                 close_to(t));
        ck_assert(at_backward(t, at_sum(t, at_square(t, x[0]))));
        for (int j = 0; j < 8; j++) ck_assert(at_grad_element(m->P, 2 * 8 + j) == 0);
        ck_assert(at_grad_element(m->P, 8) != 0);
    }
}
END_TEST

START_TEST(rotary_positions_may_be_anywhere_and_only_their_distance_counts)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    const at_model *m = small_model(t, ATTIC_ROPE);
    at_tensor *ids = golden_ints(t, scaled_ids), *y[3];
    for (int k = 0; k < 3; k++) {
        int32_t p[T];
        for (int i = 0; i < T; i++) p[i] = i + (k == 1 ? -5000 : k == 2 ? 100000 : 0);
        y[k] =
            at_model_logits(t, m, ids, (at_model_args){.positions = at_ints(t, at_shape_of(T), p)});
    }
    for (int i = 0; i < N; i++) {
        assert_close(at_element(y[1], i), at_element(y[0], i), 1e-12);
        assert_close(at_element(y[2], i), at_element(y[0], i), 1e-11);
    }
    at_close(t);
}
END_TEST

/* What a graph of a step shows on a replay: positions written in between. */
START_TEST(a_replay_reads_positions_anew)
{
    for (int learned = 0; learned < 2; learned++)
        for (at_tape *t = NULL; next_tape(&t);) {
            const at_model *m = small_model(t, learned ? ATTIC_LEARNED_POSITIONS : ATTIC_ROPE);
            at_tensor *ids = golden_ints(t, scaled_ids);
            at_tensor *P = at_ints(t, at_shape_of(T), (int32_t[]){0, 1, 2, 3, 4, 5, 6});
            at_tensor *y = at_model_logits(t, m, ids, (at_model_args){.positions = P});
            ck_assert(at_write_i32(P, (int32_t[]){0, 1, 2, 0, 1, 2, 3}, T));
            at_tensor *z = at_model_logits(t, m, ids, (at_model_args){.positions = P});
            ck_assert(!equal_bits(y, z));
            ck_assert(at_replay(t));
            ck_assert(equal_bits(y, z));
        }
}
END_TEST

static void assert_refused(at_positions kind, at_shape shape, const int32_t *p, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const at_model *m = small_model(t, kind);
    at_tensor *P = p ? at_ints(t, shape, p) : at_const(t, shape, NULL);
    ck_assert_ptr_null(
        at_model_logits(t, m, golden_ints(t, scaled_ids), (at_model_args){.positions = P}));
    assert_error(t, text);
    at_close(t);
}

START_TEST(positions_that_do_not_fit_are_named)
{
    const int32_t p[B * T] = {0, 1, 2, 9, 0, 0, -1};
    const at_shape rows = at_shape_of(B, T), one = at_shape_of(T);
    assert_refused(ATTIC_LEARNED_POSITIONS, rows, p,
                   "model: the position is 9 at [0,3], but learned positions are 0..8");
    assert_refused(ATTIC_LEARNED_POSITIONS, at_shape_of(T), (int32_t[T]){0, -1},
                   "model: the position is -1 at [1], but learned positions are 0..8");
    assert_refused(ATTIC_NO_POSITIONS, one, p,
                   "model: positions [7] are given, but the model has none");
    assert_refused(ATTIC_ROPE, at_shape_of(T, B), p,
                   "model: ids are [2,7] but positions are [7,2]: they must be [2,7] or [7]");
    assert_refused(ATTIC_ROPE, rows, NULL, "model: positions [2,7] has dtype f32 but must be i32");
}
END_TEST

SUITE(train_scaled, logits_are_those_of_numpy_at_any_positions,
      gradients_are_those_of_complex_steps, a_cache_decodes_what_the_whole_text_gives,
      a_config_goes_through_text_and_back, positions_that_count_from_0_change_no_bit,
      learned_positions_are_the_rows_that_are_named,
      rotary_positions_may_be_anywhere_and_only_their_distance_counts,
      a_replay_reads_positions_anew, positions_that_do_not_fit_are_named)
