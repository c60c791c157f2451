/* test_sinks.c -- models with sinks, with windows in some layers, and of documents side by side.  The numbers are
 * those of tests/golden/sinks.py, where the gradients are complex-step derivatives. */
#include "tensors.h"

#include <math.h>

#include "golden/sinks.inc"

enum { B = 2, T = 8, VOCAB = 7, PARAMS = sizeof sinks_params / sizeof *sinks_params };

static const at_model_config sinks_config = {.vocab = VOCAB,
                                             .context = T,
                                             .layers = 3,
                                             .heads = 4,
                                             .kv_heads = 2,
                                             .dim = 8,
                                             .norm = ATTIC_RMS,
                                             .bias = ATTIC_BIAS_ALL,
                                             .rope_base = 150,
                                             .rope_halves = true,
                                             .sinks = true,
                                             .window = 3,
                                             .full_every = 2,
                                             .no_ffn = true,
                                             .untied = true};

static at_model *golden_model(at_tape *t)
{
    at_model *m = at_model_make(t, sinks_config);
    ck_assert_msg(m, "%s", at_error(t));
    ck_assert_int_eq(at_param_count(t), PARAMS);
    for (int i = 0; i < PARAMS; i++) {
        at_tensor *p = at_find(t, sinks_params[i].name);
        ck_assert_msg(p, "there is no %s", sinks_params[i].name);
        for (ptrdiff_t k = 0; k < at_count(p->shape); k++)
            at_store(p->dtype, p->data, k, sinks_params[i].w[k]);
    }
    return m;
}

static double error_of(const at_tensor *x, bool grad, const double *expected)
{
    double error = 0, largest = 0;
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++) {
        double y = grad ? at_grad_element(x, i) : at_element(x, i);
        error = fmax(error, fabs(y - expected[i])), largest = fmax(largest, fabs(expected[i]));
    }
    return error / largest;
}

START_TEST(logits_and_gradients_are_those_of_numpy)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_model *m = golden_model(t);
    at_tensor *ids = at_ints(t, at_shape_of(B, T), sinks_ids);
    at_tensor *y = at_model_logits(t, m, ids, (at_model_args){0});
    ck_assert(error_of(y, false, sinks_logits) < 1e-12);
    ck_assert(at_backward_from(t, y, at_const(t, y->shape, sinks_dlogits)));
    for (int i = 0; i < PARAMS; i++) {
        double error = error_of(at_find(t, sinks_params[i].name), true, sinks_params[i].d);
        /* b of k moves all scores of a row, but for the sink: small, yet not 0 as without one */
        ck_assert_msg(error < 1e-12, "d%s is off by %.1e", sinks_params[i].name, error);
    }
    at_close(t);
}
END_TEST

START_TEST(a_cache_gives_the_logits_of_the_whole_text)
{
    for (int half = 0; half < 2; half++) {
        at_tape *t = at_open(half ? ATTIC_F32 : ATTIC_F64, 1);
        at_model *m = golden_model(t);
        at_train(t, false), at_no_grad(t, true);
        at_model_cache c = at_model_cache_make_as(t, m, B, half ? ATTIC_BF16 : ATTIC_REAL);
        for (int i = 0; i < T; i += i ? 1 : 3) { /* three ids, then one by one */
            const int n = i ? 1 : 3;
            at_tensor *ids = at_ints(t, at_shape_of(B, n), NULL);
            for (int k = 0; k < B * n; k++)
                at_store(ATTIC_I32, ids->data, k, sinks_ids[k / n * T + i + k % n]);
            at_tensor *y = at_model_decode(t, &c, ids);
            ck_assert_msg(y, "%s", at_error(t));
            for (int k = 0; k < B * n * VOCAB; k++)
                assert_close(at_element(y, k),
                             sinks_logits[(k / (n * VOCAB) * T + i) * VOCAB + k % (n * VOCAB)],
                             half ? 0.2 : 1e-12);
        }
        at_close(t);
    }
}
END_TEST

/* A row of documents, its positions beginning anew in each, gives to each what it gets alone, in every bit. */
START_TEST(documents_in_one_row_know_nothing_of_each_other)
{
    static const int begin[] = {0, 3, 4, 8};
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = golden_model(t);
    at_tensor *segments = at_ints(t, at_shape_of(1, T), (int32_t[]){0, 0, 0, 1, 2, 2, 2, 2});
    at_tensor *positions = at_ints(t, at_shape_of(1, T), (int32_t[]){0, 1, 2, 0, 0, 1, 2, 3});
    at_model_args args = {.segments = segments, .positions = positions};
    at_tensor *all = at_model_logits(t, m, at_ints(t, at_shape_of(1, T), sinks_ids), args);
    for (int d = 0; d < 3; d++) {
        const int n = begin[d + 1] - begin[d];
        at_tensor *ids = at_ints(t, at_shape_of(1, n), sinks_ids + begin[d]);
        at_tensor *one = at_model_logits(t, m, ids, (at_model_args){0});
        ck_assert_msg(at_ok(t), "%s", at_error(t));
        for (int k = 0; k < n * VOCAB; k++)
            ck_assert(at_element(one, k) == at_element(all, begin[d] * VOCAB + k));
    }
    at_close(t);
}
END_TEST

START_TEST(windows_are_in_the_layers_that_the_config_says)
{
    static const struct {
        int full_every, window[3];
    } cases[] = {{0, {3, 3, 3}}, {2, {3, 0, 3}}, {3, {3, 3, 0}}, {1, {0, 0, 0}}};
    for (int i = 0; i < 4; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_model_config c = sinks_config;
        c.full_every = cases[i].full_every;
        at_model *m = at_model_make(t, c);
        for (int l = 0; l < 3; l++)
            ck_assert_int_eq(m->block[l].attention.config.window, cases[i].window[l]);
        at_close(t);
    }
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model_config c = sinks_config, same;
    const char *text = at_model_text(t, c);
    ck_assert_ptr_nonnull(strstr(text, " sinks=1 window=3 full_every=2"));
    ck_assert(at_model_config_of(t, text, &same));
    ck_assert_str_eq(at_model_text(t, same), text);
    /* rows of windows have 1, 2, 3, 3 ... keys: 21 of T = 8, and the full ones 36 */
    at_model *m = at_model_make(t, c);
    c.full_every = 1;
    at_scope(t, "full");
    at_model *full = at_model_make(t, c);
    at_scope_end(t);
    assert_close(at_model_flop(full, T) - at_model_flop(m, T), 2 * 2 * 8 * 2 * (36 - 21) / 8.0,
                 1e-9);
    c.window = 0;
    ck_assert_ptr_null(at_model_make(t, c));
    assert_error(t, "model: full_every is 1, but window is 0: every so many layers have none");
    at_close(t);
}
END_TEST

SUITE(train_sinks, logits_and_gradients_are_those_of_numpy,
      a_cache_gives_the_logits_of_the_whole_text, documents_in_one_row_know_nothing_of_each_other,
      windows_are_in_the_layers_that_the_config_says)
