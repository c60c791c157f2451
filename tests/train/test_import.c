/* test_import.c -- a GPT-2 and a Llama against PyTorch: logits, gradients, sampled ids; files that do not
 * fit.  The numbers are those of tests/golden/models.py. */
#include "scratch.h"
#include "tensor/arena.h"
#include "tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "golden/models.inc"

enum { B = 2, T = 9, VOCAB = 19, PROMPT = 4, STEPS = 64 };

typedef struct {
    const char *file;
    at_model_config config;
    const double *logits;
    const int32_t *greedy;
} architecture;

#define GPT2                                                                                       \
    .vocab = VOCAB, .context = PROMPT + STEPS, .layers = 2, .heads = 2, .dim = 8, .hidden = 20,    \
    .act = ATTIC_GELU_TANH, .bias = ATTIC_BIAS_ALL, .positions = ATTIC_LEARNED_POSITIONS
#define LLAMA                                                                                      \
    .vocab = VOCAB, .context = PROMPT + STEPS, .layers = 2, .heads = 4, .kv_heads = 2, .dim = 16,  \
    .hidden = 12, .norm = ATTIC_RMS, .norm_eps = 1e-6, .act = ATTIC_SWIGLU,                        \
    .bias = ATTIC_BIAS_NONE, .rope_base = 500, .untied = true

/* Llama as its files have it, and with the rotated features side by side. */
static const architecture models[] = {
    {"gpt2", {GPT2}, gpt2_logits, gpt2_greedy},
    {"llama", {LLAMA, .rope_halves = true}, llama_logits, llama_greedy},
    {"llama", {LLAMA}, llama_logits, llama_greedy}};
enum { MODELS = sizeof models / sizeof *models };

static const char *golden_path(const char *file, const char *what)
{
    static char path[200];
    snprintf(path, sizeof path, "tests/golden/%s%s.safetensors", file, what);
    return path;
}

static at_model *load_model(at_tape *t, const architecture *a, const char *what)
{
    at_model *m = at_model_make(t, a->config);
    bool ok = at_model_import(t, m, at_tensors_open(t, golden_path(a->file, what)));
    ck_assert_msg(ok && at_ok(t), "%s: %s", a->file, at_error(t));
    return m;
}

static at_tensor *golden_run(at_tape *t, const at_model *m)
{
    return at_model_logits(t, m, at_ints(t, at_shape_of(B, T), model_ids), (at_model_args){0});
}

static double largest_of(ptrdiff_t n, const double *x)
{
    double largest = 0;
    for (ptrdiff_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
    return largest;
}

/* The largest |x - expected|; a NaN is infinitely far. */
static double largest_error(ptrdiff_t n, const double *x, const double *expected)
{
    double error = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        error = isnan(x[i]) ? (double)INFINITY : fmax(error, fabs(x[i] - expected[i]));
    return error;
}

/* Relative to the largest of what is expected. */
static double logits_error(const at_tensor *y, const double *expected)
{
    double x[B * T * VOCAB];
    ck_assert(y && at_count(y->shape) == B * T * VOCAB);
    for (int i = 0; i < B * T * VOCAB; i++) x[i] = at_element(y, i);
    return largest_error(B * T * VOCAB, x, expected) / largest_of(B * T * VOCAB, expected);
}

START_TEST(logits_are_those_of_pytorch)
{
    for (int i = 0; i < MODELS; i++)
        for (at_tape *t = NULL; next_tape(&t);) {
            double error =
                logits_error(golden_run(t, load_model(t, &models[i], "")), models[i].logits);
            ck_assert_double_lt(error, at_real(t) == ATTIC_F32 ? 1e-4 : 1e-10);
        }
}
END_TEST

/* What is imported are gradients, under the names of the weights: so they come to lie as those here.  Errors
 * are relative to the largest element of each, or to 1% of the largest of all where that is more: the
 * gradient of GPT-2's k.b is 0 but for rounding. */
START_TEST(gradients_are_those_of_pytorch)
{
    for (int i = 0; i < MODELS; i++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_model *m = load_model(t, &models[i], "");
            at_tape *u = at_open(ATTIC_F64, 1);
            load_model(u, &models[i], "_grads");
            double most = 0;
            for (int k = 0; k < at_param_count(u); k++)
                most = fmax(
                    most, largest_of(at_count(at_param_at(u, k)->shape), at_param_at(u, k)->data));
            at_tensor *target = at_ints(t, at_shape_of(B, T), model_targets);
            at_cross_entropy_args args = {0};
            ck_assert(at_backward(t, at_cross_entropy(t, golden_run(t, m), target, args)));
            for (int k = 0; k < at_param_count(t); k++) {
                const at_tensor *w = at_param_at(t, k), *expected = at_param_at(u, k);
                ptrdiff_t n = at_count(w->shape);
                double *grad = at_step_alloc(t, (size_t)n * sizeof *grad);
                for (ptrdiff_t j = 0; j < n; j++) grad[j] = at_grad_element(w, j);
                double error = largest_error(n, grad, expected->data) /
                               fmax(largest_of(n, expected->data), 0.01 * most);
                ck_assert_msg(error < (at_real(t) == ATTIC_F32 ? 1e-4 : 1e-9), "%s: %g", w->name,
                              error);
            }
            at_close(u);
        }
}
END_TEST

/* The runner-up is at least 1e-3 behind in every step. */
START_TEST(the_most_probable_ids_are_those_of_pytorch)
{
    for (int i = 0; i < MODELS; i++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_model *m = load_model(t, &models[i], "");
            at_train(t, false), at_no_grad(t, true);
            at_model_cache cache = at_model_cache_make(t, m, 1);
            at_tensor *next = at_ints(t, at_shape_of(1, PROMPT), model_prompt);
            for (int k = 0; k < STEPS; k++) {
                at_tensor *best = at_argmax(t, at_model_decode(t, &cache, next), -1, false);
                next = at_slice(t, best, 1, -1 + at_last(best->shape), at_last(best->shape));
                ck_assert_int_eq((int)at_item(next), models[i].greedy[k]);
            }
        }
}
END_TEST

/* ------------------------------------------------------------------ mistakes ------------------- */

static void spoil_eps(at_model *m)
{
    for (int l = 0; l < 2; l++) m->block[l].norm1.eps *= 10;
}

static void spoil_last_eps(at_model *m)
{
    m->norm.eps *= 10;
}

static void spoil_pairs(at_model *m)
{
    for (int l = 0; l < 2; l++) m->block[l].attention.config.rope_halves ^= true;
}

static void spoil_base(at_model *m)
{
    for (int l = 0; l < 2; l++) m->block[l].attention.config.rope_base = 10000;
}

static void spoil_gelu(at_model *m)
{
    for (int l = 0; l < 2; l++) m->block[l].ffn.config.act = ATTIC_GELU;
}

static void spoil_silu(at_model *m)
{
    for (int l = 0; l < 2; l++) {
        at_ffn *f = &m->block[l].ffn;
        at_linear gate = f->gate;
        f->gate = f->up, f->up = gate;
    }
}

/* Reads o.W, which is square, as [out,in]. */
static void spoil_transposition(at_model *m)
{
    at_tensor *W = m->block[1].attention.o.W;
    for (int i = 0; i < W->shape.dim[0]; i++)
        for (int j = 0; j < i; j++) {
            double w = at_get(W, i, j);
            at_set(W, at_get(W, j, i), i, j);
            at_set(W, w, j, i);
        }
}

/* Query head h reads key/value head h % G, as if groups stood in turn: heads 1 and 2 change places. */
static void spoil_groups(at_model *m)
{
    at_tensor *q = m->block[0].attention.q.W, *o = m->block[0].attention.o.W;
    for (int i = 0; i < 16; i++)
        for (int d = 4; d < 8; d++) {
            double w = at_get(q, i, d), v = at_get(o, d, i);
            at_set(q, at_get(q, i, d + 4), i, d), at_set(q, w, i, d + 4);
            at_set(o, at_get(o, d + 4, i), d, i), at_set(o, v, d + 4, i);
        }
}

static void spoil_positions(at_model *m)
{
    m->P = NULL;
}

START_TEST(each_mistake_shows_in_the_logits)
{
    const struct {
        const char *what;
        void (*spoil)(at_model *);
        int model;
        double error; /* at least */
    } mistake[] = {
        {"eps", spoil_eps, 0, 1e-6},
        {"eps", spoil_eps, 1, 1e-7},
        {"eps of the last norm", spoil_last_eps, 0, 1e-6},
        {"eps of the last norm", spoil_last_eps, 1, 1e-8},
        {"rope pairs", spoil_pairs, 1, 0.1},
        {"rope pairs", spoil_pairs, 2, 0.1},
        {"rope base", spoil_base, 1, 0.1},
        {"gelu kind", spoil_gelu, 0, 1e-4},
        {"gate and up", spoil_silu, 1, 0.1},
        {"[out,in]", spoil_transposition, 0, 0.1},
        {"[out,in]", spoil_transposition, 1, 0.1},
        {"order of groups", spoil_groups, 1, 0.1},
        {"no positions", spoil_positions, 0, 0.1},
    };
    for (size_t i = 0; i < sizeof mistake / sizeof *mistake; i++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        const architecture *a = &models[mistake[i].model];
        at_model *m = load_model(t, a, "");
        mistake[i].spoil(m);
        double error = logits_error(golden_run(t, m), a->logits);
        ck_assert_msg(error > mistake[i].error, "%s, %s: %g", mistake[i].what, a->file, error);
        at_close(t);
    }
}
END_TEST

/* ------------------------------------------------------------------ other files ---------------- */

static const char *made_path(void)
{
    return scratch_file("import.safetensors");
}

enum { MOST = 40 };

/* The tensors of a golden file, each name behind a prefix; returns how many. */
static int golden_tensors(at_tape *t, const char *file, const char *prefix, at_tensor **x)
{
    const at_tensors *f = at_tensors_open(t, golden_path(file, ""));
    int n = at_tensors_count(f);
    ck_assert_int_lt(n, MOST - 8);
    for (int i = 0; i < n; i++) {
        char *name = at_step_alloc(t, 200);
        snprintf(name, 200, "%s%s", prefix, at_tensors_name(f, i));
        x[i] = at_name(at_tensors_load(f, at_tensors_name(f, i)), name);
    }
    return n;
}

/* What the import of these tensors says. */
static const char *import_of(at_tape *t, at_model_config c, at_tensor **x, int n, at_model **m)
{
    ck_assert_msg(at_tensors_save(t, made_path(), x, n, (at_tensors_save_args){0}), "%s",
                  at_error(t));
    *m = at_model_make(t, c);
    at_model_import(t, *m, at_tensors_open(t, made_path()));
    remove(made_path());
    return at_error(t);
}

START_TEST(long_names_masks_and_a_head_that_is_the_embedding_are_understood)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x[MOST];
    int n = golden_tensors(t, "gpt2", "transformer.", x);
    x[n++] = at_name(at_const(t, at_shape_of(1, 1, 4, 4), NULL), "transformer.h.0.attn.bias");
    x[n++] = at_name(at_const(t, at_shape_of(), NULL), "transformer.h.1.attn.masked_bias");
    at_tensor *E = NULL;
    for (int i = 0; i < n; i++)
        if (strcmp(x[i]->name, "transformer.wte.weight") == 0) E = x[i];
    x[n++] = at_name(at_detach(t, E), "lm_head.weight");
    at_model *m;
    ck_assert_str_eq(import_of(t, models[0].config, x, n, &m), "");
    ck_assert_double_lt(logits_error(golden_run(t, m), gpt2_logits), 1e-10);

    at_set(x[n - 1] = at_name(at_const(t, E->shape, NULL), "lm_head.weight"), 1, 0, 0);
    at_scope(t, "other");
    ck_assert_str_eq(import_of(t, models[0].config, x, n, &m),
                     "import: \"lm_head.weight\" differs from \"transformer.wte.weight\", but the "
                     "model is tied: make it with .untied = true");
    at_clear_error(t);
    at_scope(t, "untied");
    at_model_config untied = models[0].config;
    untied.untied = true;
    ck_assert_str_eq(import_of(t, untied, x, n, &m), "");
    ck_assert(at_get(m->head.W, 0, 0) == 1 && at_get(golden_run(t, m), 0, 0, 1) == 0);
    at_close(t);
}
END_TEST

START_TEST(sinks_are_read_and_what_a_file_lacks_is_missing)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x[MOST];
    int n = golden_tensors(t, "llama", "", x);
    at_model_config c = models[1].config;
    c.sinks = true;
    at_model *m;
    ck_assert_str_eq(import_of(t, c, x, n, &m),
                     "import: the file has no \"model.layers.0.self_attn.sinks\", from which "
                     "\"block0.attention.sink\" "
                     "[4] is made: do the model's biases, layers and norms fit?");
    at_clear_error(t);
    for (int l = 0; l < 2; l++) {
        char *name = at_step_alloc(t, 200);
        snprintf(name, 200, "model.layers.%d.self_attn.sinks", l);
        x[n++] = at_name(at_random(t, at_shape_of(4), at_normal(1)), name);
    }
    at_scope(t, "sinks");
    ck_assert_str_eq(import_of(t, c, x, n, &m), "");
    for (int l = 0; l < 2; l++)
        for (int h = 0; h < 4; h++)
            ck_assert(at_get(m->block[l].attention.sink, h) == at_get(x[n - 2 + l], h));
    c.gate = true;
    at_scope(t, "gate");
    ck_assert_str_eq(import_of(t, c, x, n, &m),
                     "import: the file has no \"model.layers.0.self_attn.gate_proj.weight\", from "
                     "which \"sinks.gate.block0.attention.gate.W\" "
                     "[16,16] is made: do the model's biases, layers and norms fit?");
    at_clear_error(t);
    n = golden_tensors(t, "gpt2", "", x);
    c = models[0].config, c.sinks = true;
    at_scope(t, "gpt2");
    ck_assert_str_eq(import_of(t, c, x, n, &m),
                     "import: the file has no \"h.0.attn.sinks\", from which "
                     "\"sinks.gate.gpt2.block0.attention.sink\" "
                     "[2] is made: do the model's biases, layers and norms fit?");
    at_close(t);
}
END_TEST

START_TEST(a_shorter_context_takes_the_first_positions)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    architecture a = models[0];
    a.config.context = T;
    at_model *m = load_model(t, &a, "");
    ck_assert_int_eq(m->P->shape.dim[0], T);
    ck_assert_double_lt(logits_error(golden_run(t, m), a.logits), 1e-10);
    at_close(t);
}
END_TEST

/* Biases and gains of queries and keys are rotated in pairs, too: the order of their features must be that
 * of the columns. */
START_TEST(both_orders_of_rotated_features_give_the_same_logits)
{
    at_tape *t = at_open(ATTIC_F64, 5);
    at_tensor *x[MOST + 40], *y[2];
    int n = golden_tensors(t, "llama", "", x);
    static const struct {
        const char *stem;
        int size;
    } more[] = {{"self_attn.q_norm.weight", 4}, {"self_attn.k_norm.weight", 4},
                {"self_attn.q_proj.bias", 16},  {"self_attn.k_proj.bias", 8},
                {"self_attn.v_proj.bias", 8},   {"self_attn.o_proj.bias", 16},
                {"mlp.gate_proj.bias", 12},     {"mlp.up_proj.bias", 12},
                {"mlp.down_proj.bias", 16}};
    for (int i = 0; i < 18; i++) {
        char *name = at_step_alloc(t, 200);
        snprintf(name, 200, "model.layers.%d.%s", i / 9, more[i % 9].stem);
        x[n++] = at_name(at_random(t, at_shape_of(more[i % 9].size), at_normal(1)), name);
    }
    x[n++] =
        at_name(at_const(t, at_shape_of(2), NULL), "model.layers.0.self_attn.rotary_emb.inv_freq");
    for (int halves = 0; halves < 2; halves++) {
        at_model_config c = models[1].config;
        c.qk_norm = true, c.bias = ATTIC_BIAS_ALL, c.rope_halves = halves;
        at_scope(t, halves ? "halves" : "pairs");
        at_model *m;
        ck_assert_str_eq(import_of(t, c, x, n, &m), "");
        y[halves] = golden_run(t, m);
        at_scope_end(t);
    }
    for (int i = 0; i < B * T * VOCAB; i++)
        assert_close(at_element(y[0], i), at_element(y[1], i), 1e-11);
    ck_assert_double_gt(logits_error(y[0], llama_logits), 0.1);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ files that do not fit ------ */

START_TEST(a_file_that_does_not_fit_changes_nothing_and_is_named)
{
    at_model_config gpt2 = {GPT2}, llama = {LLAMA}, c[11];
    for (int i = 0; i < 11; i++) c[i] = i < 6 ? gpt2 : llama;
    c[0].layers = 3, c[1].layers = 1, c[2].vocab = 20, c[3].bias = ATTIC_BIAS_NONE;
    c[4].qk_norm = true, c[5].post_norm = true;
    c[6].hidden = 13, c[7].untied = false, c[8].norm = ATTIC_LAYER_NORM, c[8].bias = ATTIC_BIAS_FFN;
    c[9].kv_heads = 4, c[10].positions = ATTIC_LEARNED_POSITIONS;
#define FIT ": do the model's biases, layers and norms fit?"
    const char *text[] = {
        "import: the file has no \"h.2.ln_1.weight\", from which \"block2.norm1.g\" [8] is "
        "made" FIT,
        "import: the file has \"h.1.ln_1.weight\" [8], for which the model has no place: do its "
        "biases, layers and norms fit?",
        "import: \"wte.weight\" is [19,8] in the file, but \"E\" [20,8] needs [20,8]",
        "import: the file has \"h.0.ln_1.bias\" [8], for which the model has no place: do its "
        "biases, layers and norms fit?",
        "import: the file has no \"h.0.attn.q_norm.weight\", from which "
        "\"block0.attention.q_norm.g\" [4] is made" FIT,
        "import: GPT-2 and Llama are pre-norm, but the model is post-norm",
        "import: \"model.layers.0.mlp.gate_proj.weight\" is [12,16] in the file, but "
        "\"block0.gate.W\" [16,13] needs [13,16]",
        "import: \"lm_head.weight\" differs from \"model.embed_tokens.weight\", but the model is "
        "tied: make it with .untied = true",
        "import: the file has no \"model.layers.0.input_layernorm.bias\", from which "
        "\"block0.norm1.b\" [16] is made" FIT,
        "import: \"model.layers.0.self_attn.k_proj.weight\" is [8,16] in the file, but "
        "\"block0.attention.k.W\" [16,16] needs [16,16]",
        "import: the file has no \"model.embed_positions.weight\", from which \"P\" [68,16] is "
        "made" FIT};
    for (int i = 0; i < 11; i++) {
        at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 1);
        at_model *m = at_model_make(t, c[i]);
        at_model_make(u, c[i]);
        const char *file = i < 6 ? "gpt2" : "llama";
        ck_assert(!at_model_import(t, m, at_tensors_open(t, golden_path(file, ""))));
        assert_error(t, text[i]);
        for (int k = 0; k < at_param_count(t); k++)
            ck_assert(equal_bits(at_param_at(t, k), at_param_at(u, k)));
        at_close(t), at_close(u);
    }
}
END_TEST

START_TEST(no_model_no_file_and_other_files_are_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(2), NULL), "weight");
    at_model *m;
    ck_assert_str_eq(import_of(t, models[0].config, &x, 1, &m),
                     "import: the file has neither GPT-2's \"wte.weight\" nor Llama's "
                     "\"model.embed_tokens.weight\"");
    at_clear_error(t);
    ck_assert(!at_model_import(t, m, NULL));
    assert_error(t, "import: the file is NULL");
    at_clear_error(t);
    ck_assert(!at_model_import(t, NULL, NULL));
    assert_error(t, "import: the model is NULL");
    at_clear_error(t);
    at_tape *other = at_open(ATTIC_F32, 1);
    at_tensors *f = at_tensors_open(other, golden_path("gpt2", ""));
    ck_assert(f && !at_model_import(t, m, f));
    assert_error(t, "import: the file was opened on another tape");
    at_close(t), at_close(other);
}
END_TEST

START_TEST(every_allocation_of_an_import_may_fail)
{
    bool through = false;
    for (int n = 1; !through && n < 10000; n++) {
        at_fail_allocation(n);
        at_tape *t = at_open(ATTIC_F32, 1);
        at_model *m = at_model_make(t, models[0].config);
        through = m && at_model_import(t, m, at_tensors_open(t, golden_path("gpt2", "")));
        ck_assert(through || at_error_kind_of(t) == ATTIC_MEMORY_ERROR);
        at_close(t);
    }
    at_fail_allocation(0);
    ck_assert(through);
}
END_TEST

SUITE(train_import, logits_are_those_of_pytorch, gradients_are_those_of_pytorch,
      the_most_probable_ids_are_those_of_pytorch, each_mistake_shows_in_the_logits,
      long_names_masks_and_a_head_that_is_the_embedding_are_understood,
      sinks_are_read_and_what_a_file_lacks_is_missing, a_shorter_context_takes_the_first_positions,
      both_orders_of_rotated_features_give_the_same_logits,
      a_file_that_does_not_fit_changes_nothing_and_is_named,
      no_model_no_file_and_other_files_are_refused, every_allocation_of_an_import_may_fail)
