/* test_attention_layer.c -- the attention layer against the same made of single ops, one head at a time. */
#include "tensors.h"

#include "gradcheck/gradcheck.h"

#include <math.h>

enum { B = 2, T = 3, S = 5, C = 8 };

/* What the tests are repeated for. */
static const struct {
    const char *what;
    at_attention_config config;
    bool cross, causal;
} kind[] = {
    {"self", {.dim = C, .heads = 2}, false, false},
    {"causal, rope", {.dim = C, .heads = 2, .rope = true}, false, true},
    {"one head, biases", {.dim = C, .heads = 1, .bias = true}, false, true},
    {"cross", {.dim = C, .heads = 2, .bias = true}, true, false},
    {"cross, rope", {.dim = C, .heads = 2, .rope = true}, true, false},
    {"grouped", {.dim = C, .heads = 4, .kv_heads = 2, .rope = true}, false, true},
    {"one for all, cross", {.dim = C, .heads = 4, .kv_heads = 1, .bias = true}, true, false},
    {"halves, base",
     {.dim = C, .heads = 2, .rope = true, .rope_halves = true, .rope_base = 7},
     false,
     true},
    {"norm of q and k",
     {.dim = C, .heads = 4, .kv_heads = 2, .rope = true, .qk_norm = true, .norm_eps = 0.1},
     true,
     false},
    {"gate", {.dim = C, .heads = 4, .kv_heads = 2, .rope = true, .gate = true}, false, true},
    {"gate, biases, cross", {.dim = C, .heads = 2, .bias = true, .gate = true}, true, false},
};
enum { KINDS = sizeof kind / sizeof *kind };

static at_tensor *draw_rows(at_tape *t, int rows)
{
    at_tensor *x = at_variable(t, at_shape_of(B, rows, C), NULL);
    at_init_fill(x, at_normal(1), at_draw(t));
    return x;
}

/* A layer whose biases are not 0 and whose gains are not 1. */
static at_attention make(at_tape *t, at_attention_config config)
{
    at_attention a = at_attention_make(t, config, 1);
    at_tensor *all[] = {a.q.b, a.k.b, a.v.b, a.o.b, a.q_norm.g, a.k_norm.g, a.gate.b};
    for (int i = 0; i < 7; i++)
        if (all[i]) at_init_fill(all[i], at_normal(1), at_draw(t));
    return a;
}

/* Head h of n in x W + b, as a matrix of its own: [B,rows,D] */
static at_tensor *one_head(at_tape *t, at_linear layer, at_tensor *x, int h, int n)
{
    at_tensor *y = at_linear_apply(t, layer, x);
    int D = at_last(y->shape) / n;
    return at_slice(t, y, -1, h * D, (h + 1) * D);
}

/* The same for queries and keys: normalised, then rotated. */
static at_tensor *score_head(at_tape *t, at_attention_config c, at_linear layer, at_norm norm,
                             at_tensor *x, int h, int n)
{
    at_tensor *y = one_head(t, layer, x, h, n);
    if (c.qk_norm) y = at_rms_norm(t, y, norm.g, c.norm_eps);
    at_rope_args args = {.base = c.rope_base, .half_split = c.rope_halves};
    return c.rope ? at_rope(t, y, args) : y;
}

/* softmax(q k^T / sqrt(D)) v for every head, side by side, times Wo */
static at_tensor *by_hand(at_tape *t, const at_attention *a, at_tensor *x, at_tensor *m,
                          bool causal)
{
    int H = a->config.heads, G = a->config.kv_heads ? a->config.kv_heads : H;
    bool future[T * T];
    for (int i = 0; i < T * T; i++) future[i] = i % T > i / T;
    at_tensor *head[4];
    for (int h = 0; h < H; h++) {
        at_tensor *q = score_head(t, a->config, a->q, a->q_norm, x, h, H);
        at_tensor *k = score_head(t, a->config, a->k, a->k_norm, m, h * G / H, G);
        at_tensor *v = one_head(t, a->v, m, h * G / H, G);
        at_tensor *s = at_scale(t, at_matmul_t(t, q, false, k, true), 1 / sqrt((double)C / H));
        if (causal)
            s = at_masked_fill(t, s, at_bools(t, at_shape_of(T, T), future), (double)-INFINITY);
        head[h] = at_matmul(t, at_softmax(t, s), v);
    }
    at_tensor *O = at_concat(t, head, H, -1);
    if (a->config.gate) O = at_mul(t, O, at_sigmoid(t, at_linear_apply(t, a->gate, x)));
    return at_linear_apply(t, a->o, O);
}

static void assert_same(const at_tensor *a, const at_tensor *b, double tol, const char *what)
{
    ck_assert_msg(a && b && at_same_shape(a->shape, b->shape), "%s: shapes differ", what);
    for (ptrdiff_t i = 0; i < at_count(a->shape); i++)
        ck_assert_msg(fabs(at_element(a, i) - at_element(b, i)) <= tol, "%s: element %td: %g or %g",
                      what, i, at_element(a, i), at_element(b, i));
}

static double rounding(const at_tape *t)
{
    return at_real(t) == ATTIC_F32 ? 1e-4 : 1e-12;
}

/* ------------------------------------------------------------------ parameters ----------------- */

static void assert_params(const at_tape *t, const char *const *expected, int n)
{
    ck_assert_int_eq(at_param_count(t), n);
    for (int i = 0; i < n; i++) ck_assert_str_eq(at_text(at_param_at(t, i)), expected[i]);
}

START_TEST(parameters_are_four_matrices_in_the_open_scope)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_scope(t, "look");
    at_attention_make(t, (at_attention_config){.dim = 8, .heads = 2}, 1);
    assert_params(t,
                  (const char *[]){"\"look.q.W\" [8,8]", "\"look.k.W\" [8,8]", "\"look.v.W\" [8,8]",
                                   "\"look.o.W\" [8,8]"},
                  4);
    at_close(t);
}
END_TEST

START_TEST(grouped_heads_have_narrower_keys_and_values)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention_make(t, (at_attention_config){.dim = 12, .heads = 6, .kv_heads = 2, .bias = true},
                      1);
    assert_params(t,
                  (const char *[]){"\"q.W\" [12,12]", "\"q.b\" [12]", "\"k.W\" [12,4]",
                                   "\"k.b\" [4]", "\"v.W\" [12,4]", "\"v.b\" [4]",
                                   "\"o.W\" [12,12]", "\"o.b\" [12]"},
                  8);
    at_close(t);
}
END_TEST

START_TEST(a_gate_is_one_matrix_more_behind_all_others)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention_config config = {.dim = 4, .heads = 2, .qk_norm = true, .gate = true};
    at_attention_make(t, config, 1);
    assert_params(t,
                  (const char *[]){"\"q.W\" [4,4]", "\"k.W\" [4,4]", "\"v.W\" [4,4]",
                                   "\"o.W\" [4,4]", "\"q_norm.g\" [2]", "\"k_norm.g\" [2]",
                                   "\"gate.W\" [4,4]"},
                  7);
    at_scope(t, "other");
    config.qk_norm = false;
    at_attention a = at_attention_make(t, config, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3, 4), NULL);
    ck_assert_ptr_null(at_attention_combine(t, &a, NULL, x, x, x, (at_sdpa_args){0}));
    assert_error(t, "affine: X is NULL");
    at_clear_error(t);
    at_tensor *one = at_const(t, at_shape_of(1, 4), NULL);
    ck_assert_ptr_null(at_attention_combine(t, &a, one, x, x, x, (at_sdpa_args){0}));
    assert_error(t, "attention: x is [1,4], so its gate is \"gate\" [1,4], but the heads are "
                    "\"heads\" [2,3,4]");
    at_close(t);
}
END_TEST

START_TEST(out_gain_scales_the_last_matrix_alone)
{
    at_tape *t = at_open(ATTIC_F64, 3), *u = at_open(ATTIC_F64, 3);
    at_attention_config config = {.dim = 64, .heads = 2};
    at_attention a = at_attention_make(t, config, 1), half = at_attention_make(u, config, 0.5);
    ck_assert(equal_bits(a.q.W, half.q.W) && equal_bits(a.k.W, half.k.W) &&
              equal_bits(a.v.W, half.v.W));
    double square = 0;
    for (ptrdiff_t i = 0; i < 64 * 64; i++) {
        square += pow(at_element(a.o.W, i), 2);
        ck_assert(at_element(half.o.W, i) == 0.5 * at_element(a.o.W, i));
    }
    assert_close(square / (64 * 64), 2.0 / (64 + 64), 0.001); /* Xavier; 3 sigma = 0.001 */
    at_close(t), at_close(u);
}
END_TEST

/* ------------------------------------------------------------------ what it computes ----------- */

START_TEST(the_layer_is_attention_head_by_head)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int i = 0; i < KINDS; i++) {
            at_scope(t, kind[i].what);
            at_attention a = make(t, kind[i].config);
            at_tensor *x = draw_rows(t, T), *m = kind[i].cross ? draw_rows(t, S) : NULL;
            at_tensor *y =
                at_attention_apply(t, &a, x, m, (at_sdpa_args){.causal = kind[i].causal});
            at_tensor *z = by_hand(t, &a, x, m ? m : x, kind[i].causal);
            ck_assert_msg(at_ok(t), "%s: %s", kind[i].what, at_error(t));
            assert_same(y, z, rounding(t), kind[i].what);
            at_scope_end(t);
        }
}
END_TEST

/* The gradients of x, m and all parameters after a backward from y, one after the other. */
static int collect(at_tape *t, at_tensor *y, at_tensor *dy, at_tensor **leaf, int n,
                   at_tensor **grad)
{
    for (int i = 0; i < n; i++) leaf[i]->grad = NULL;
    at_zero_grads(t);
    ck_assert_msg(at_backward_from(t, y, dy), "%s", at_error(t));
    for (int i = 0; i < n; i++) grad[i] = at_grad_copy(t, leaf[i]);
    return n;
}

START_TEST(its_gradients_are_those_of_attention_head_by_head)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    for (int i = 0; i < KINDS; i++) {
        at_scope(t, kind[i].what);
        int before = at_param_count(t), n = 0;
        at_attention a = make(t, kind[i].config);
        at_tensor *leaf[12], *dy = at_random(t, at_shape_of(B, T, C), at_normal(1));
        at_tensor *x = leaf[n++] = draw_rows(t, T),
                  *m = kind[i].cross ? leaf[n++] = draw_rows(t, S) : NULL;
        for (int k = before; k < at_param_count(t); k++) leaf[n++] = at_param_at(t, k);
        at_tensor *ours[12], *hand[12];
        at_sdpa_args with = {.causal = kind[i].causal};
        collect(t, at_attention_apply(t, &a, x, m, with), dy, leaf, n, ours);
        collect(t, by_hand(t, &a, x, m ? m : x, with.causal), dy, leaf, n, hand);
        for (int k = 0; k < n; k++) assert_same(ours[k], hand[k], 1e-10, at_text(leaf[k]));
        at_scope_end(t);
    }
    at_close(t);
}
END_TEST

static at_attention checked;

static at_tensor *apply_checked(at_tape *t, at_tensor **in, void *causal)
{
    return at_attention_apply(t, &checked, in[0], in[1], (at_sdpa_args){.causal = *(bool *)causal});
}

START_TEST(its_gradients_are_those_of_differences_with_dropout_too)
{
    for (int i = 0; i < KINDS; i++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        at_attention_config config = kind[i].config;
        config.dropout = 0.3;
        checked = make(t, config);
        at_tensor *in[] = {draw_rows(t, T), kind[i].cross ? draw_rows(t, S) : NULL};
        bool causal = kind[i].causal;
        at_gradcheck_report r = at_gradcheck(t, apply_checked, in, kind[i].cross ? 2 : 1, &causal,
                                             (at_gradcheck_options){0});
        ck_assert_msg(r.verdict == ATTIC_PASS, "%s: %s at %s", kind[i].what, r.reason, r.where);
        ck_assert_int_gt(r.checked, 3 * C * C);
        at_close(t);
    }
}
END_TEST

/* q (k + b) = q k + q b, and a softmax does not see what all scores of a row share.  Rope rotates b by
 * another angle at every key, so there it counts. */
START_TEST(a_bias_of_the_keys_has_no_effect_without_rope)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_attention a = make(t, (at_attention_config){.dim = C, .heads = 2, .bias = true}),
                 rotating = a;
    rotating.config.rope = true;
    at_tensor *x = draw_rows(t, T);
    at_tensor *y = at_attention_apply(t, &a, x, NULL, (at_sdpa_args){0});
    at_tensor *z = at_attention_apply(t, &rotating, x, NULL, (at_sdpa_args){0});
    a.k.b = rotating.k.b = NULL;
    assert_same(at_attention_apply(t, &a, x, NULL, (at_sdpa_args){0}), y, 1e-13, "without rope");
    ck_assert(
        at_compare(at_attention_apply(t, &rotating, x, NULL, (at_sdpa_args){0}), z).similarity ==
        ATTIC_DIFFERENT);
    at_close(t);
}
END_TEST

START_TEST(no_m_means_x)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_attention a = make(t, kind[1].config);
        at_tensor *x = draw_rows(t, T);
        ck_assert(equal_bits(at_attention_apply(t, &a, x, NULL, (at_sdpa_args){0}),
                             at_attention_apply(t, &a, x, x, (at_sdpa_args){0})));
    }
}
END_TEST

static const int32_t some_positions[B * T] = {7, 0, -3, 5, 5, 40};
static const int32_t far_positions[B * S] = {9, 1, 2, 0, 4, -8, 7, 6, 5, 100};

/* The layer from its parts, with at_rope given the positions: those of Q, those of K. */
static at_tensor *apply_by_parts(at_tape *t, at_attention a, at_tensor *x, at_tensor *m,
                                 at_tensor *P, at_tensor *key_P)
{
    at_rope_args args = {.heads = 2, .base = 7, .half_split = true};
    args.scaling = a.config.rope_scaling;
    a.config.rope = false;
    args.positions = P;
    at_tensor *Q = at_rope(t, at_attention_queries(t, &a, x, 0, NULL), args);
    args.positions = key_P;
    at_tensor *K = at_rope(t, at_attention_keys(t, &a, m, 0, NULL), args);
    at_tensor *V = at_attention_values(t, &a, m);
    return at_attention_combine(t, &a, x, Q, K, V, (at_sdpa_args){0});
}

START_TEST(positions_and_scalings_are_those_of_rope)
{
    const at_rope_scaling linear = {.type = ATTIC_ROPE_LINEAR, .factor = 3};
    for (at_tape *t = NULL; next_tape(&t);) {
        at_attention a = make(t, (at_attention_config){.dim = C,
                                                       .heads = 2,
                                                       .rope = true,
                                                       .rope_base = 7,
                                                       .rope_halves = true,
                                                       .rope_scaling = linear});
        at_tensor *x = draw_rows(t, T), *m = draw_rows(t, S);
        at_tensor *P = at_ints(t, at_shape_of(B, T), some_positions);
        at_tensor *far = at_ints(t, at_shape_of(B, S), far_positions);
        at_tensor *other = at_ints(t, at_shape_of(T), some_positions);
        const struct {
            at_tensor *m, *P, *key_P, *of_keys;
        } how[] = {{NULL, P, NULL, P},      {NULL, P, other, other}, {m, P, far, far},
                   {m, NULL, far, far},     {m, P, NULL, NULL},      {NULL, NULL, P, P},
                   {NULL, NULL, NULL, NULL}};
        for (int i = 0; i < 7; i++) {
            at_sdpa_args with = {.positions = how[i].P, .key_positions = how[i].key_P};
            at_tensor *y = at_attention_apply(t, &a, x, how[i].m, with);
            at_tensor *keys = how[i].m ? how[i].m : x;
            ck_assert_msg(y, "%s", at_error(t));
            ck_assert(equal_bits(y, apply_by_parts(t, a, x, keys, how[i].P, how[i].of_keys)));
        }
    }
}
END_TEST

START_TEST(positions_that_nobody_reads_are_an_error)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention a = make(t, (at_attention_config){.dim = C, .heads = 2});
    at_tensor *x = draw_rows(t, T), *P = at_ints(t, at_shape_of(T), some_positions);
    ck_assert_ptr_null(at_attention_apply(t, &a, x, NULL, (at_sdpa_args){.positions = P}));
    assert_error(t, "attention: positions are given, but the layer has no rope");
    at_clear_error(t);
    ck_assert_ptr_null(at_sdpa(t, x, x, x, (at_sdpa_args){.positions = P}));
    assert_error(t,
                 "sdpa: positions is an option of the attention layer; here at_rope rotates Q and "
                 "K before");
    at_clear_error(t);
    ck_assert_ptr_null(at_sdpa(t, x, x, x, (at_sdpa_args){.key_positions = P}));
    assert_error(t, "sdpa: key_positions is an option of the attention layer; here at_rope rotates "
                    "Q and K before");
    at_close(t);
}
END_TEST

START_TEST(a_batch_is_not_needed)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_attention a = make(t, kind[5].config);
        at_tensor *x = draw_rows(t, T);
        at_tensor *first = at_reshape(t, at_slice(t, x, 0, 0, 1), at_shape_of(T, C));
        at_tensor *y = at_attention_apply(t, &a, first, NULL, (at_sdpa_args){.causal = true});
        at_tensor *of_batch = at_attention_apply(t, &a, x, NULL, (at_sdpa_args){.causal = true});
        ck_assert(at_same_shape(y->shape, at_shape_of(T, C)));
        of_batch = at_reshape(t, at_slice(t, of_batch, 0, 0, 1), at_shape_of(T, C));
        assert_same(y, of_batch, rounding(t), "first of the batch");
    }
}
END_TEST

START_TEST(no_queries_no_keys_and_no_batch_are_fine)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_attention a =
        make(t, (at_attention_config){.dim = C, .heads = 2, .bias = true, .rope = true});
    at_tensor *x = draw_rows(t, T), *none = draw_rows(t, 0);
    at_tensor *y = at_attention_apply(t, &a, x, none, (at_sdpa_args){0});
    for (int i = 0; i < B * T * C; i++) /* nothing to look at: 0 Wo + bo */
        ck_assert(at_element(y, i) == at_element(a.o.b, i % C));
    y = at_attention_apply(t, &a, none, x, (at_sdpa_args){0});
    ck_assert(at_same_shape(y->shape, at_shape_of(B, 0, C)));
    x = at_const(t, at_shape_of(0, T, C), NULL);
    y = at_attention_apply(t, &a, x, NULL, (at_sdpa_args){0});
    ck_assert(at_same_shape(y->shape, at_shape_of(0, T, C)));
    at_close(t);
}
END_TEST

START_TEST(masks_paths_and_taps_are_passed_on)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_attention a = make(t, kind[3].config);
        at_tensor *x = draw_rows(t, T), *m = draw_rows(t, S), *A, *y[1 + ATTIC_COMPOSED];
        at_tensor *keep = at_bools(t, at_shape_of(S), (bool[]){true, false, true, true, false});
        for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
            at_sdpa_args with = {.keep = keep, .weights = &A, .path = (at_sdpa_path)path};
            y[path] = at_attention_apply(t, &a, x, m, with);
            ck_assert(at_same_shape(A->shape, at_shape_of(B, 2, T, S)));
            ck_assert(at_get(A, 1, 1, 2, 1) == 0 && at_get(A, 1, 1, 2, 2) > 0);
            assert_same(y[path], y[ATTIC_FUSED], rounding(t), "paths");
        }
        at_tensor *all = at_attention_apply(t, &a, x, m, (at_sdpa_args){0});
        ck_assert(at_compare(all, y[ATTIC_FUSED]).similarity == ATTIC_DIFFERENT);
    }
}
END_TEST

/* kind[5] has 4 heads, 2 of keys, and no dropout */
START_TEST(heads_and_dropout_are_those_of_the_layer)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention a = make(t, kind[5].config);
    at_tensor *x = draw_rows(t, T);
    at_sdpa_args with = {.heads = 8, .kv_heads = 1, .dropout = 0.5};
    ck_assert(equal_bits(at_attention_apply(t, &a, x, NULL, with),
                         at_attention_apply(t, &a, x, NULL, (at_sdpa_args){0})));
    at_close(t);
}
END_TEST

START_TEST(dropout_is_for_training_only)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_attention a = make(t, (at_attention_config){.dim = C, .heads = 2, .dropout = 0.5});
        at_attention never = a;
        never.config.dropout = 0;
        at_tensor *x = draw_rows(t, 7);
        at_tensor *plain = at_attention_apply(t, &never, x, NULL, (at_sdpa_args){0});
        at_tensor *first = at_attention_apply(t, &a, x, NULL, (at_sdpa_args){0});
        at_tensor *second = at_attention_apply(t, &a, x, NULL, (at_sdpa_args){0});
        ck_assert(!equal_bits(first, plain) && !equal_bits(first, second));
        at_train(t, false);
        ck_assert(equal_bits(at_attention_apply(t, &a, x, NULL, (at_sdpa_args){0}), plain));
    }
}
END_TEST

/* ------------------------------------------------------------------ errors --------------------- */

static void assert_refused(at_attention_config config, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention a = at_attention_make(t, config, 1);
    assert_error(t, text);
    ck_assert(!a.q.W && !a.k.W && !a.v.W && !a.o.W);
    ck_assert_ptr_null(at_attention_apply(t, &a, NULL, NULL, (at_sdpa_args){0}));
    ck_assert_int_eq(at_param_count(t), 0);
    at_close(t);
}

START_TEST(impossible_layers_are_refused_before_anything_is_made)
{
    assert_refused((at_attention_config){.dim = 10, .heads = 4},
                   "attention: dim 10 can't be cut into 4 heads");
    assert_refused((at_attention_config){.dim = 8, .heads = 4, .kv_heads = 3},
                   "attention: 4 heads can't share 3 key/value heads evenly");
    assert_refused((at_attention_config){.dim = 8, .heads = 2, .kv_heads = 4},
                   "attention: 2 heads can't share 4 key/value heads evenly");
    assert_refused((at_attention_config){.dim = 8},
                   "attention: dim 8, heads 0 and kv_heads 0 must be positive");
    assert_refused((at_attention_config){.dim = 8, .heads = 2, .kv_heads = -1},
                   "attention: dim 8, heads 2 and kv_heads -1 must be positive");
    assert_refused((at_attention_config){.heads = 2},
                   "attention: dim 0, heads 2 and kv_heads 2 must be positive");
    assert_refused((at_attention_config){.dim = 6, .heads = 2, .rope = true},
                   "attention: rope rotates pairs of features, but a head has dim 6 / heads 2 = 3");
    assert_refused((at_attention_config){.dim = 8, .heads = 2, .rope_scaling = {.factor = 2}},
                   "attention: a scaling is given (factor 2), but its type is not");
    assert_refused((at_attention_config){.dim = 6, .heads = 2, .dropout = 1},
                   "attention: dropout is 1 but must be at least 0 and less than 1");
}
END_TEST

START_TEST(what_can_not_be_attended_to_is_an_error_of_the_op_inside)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention a = make(t, kind[0].config);
    at_tensor *x = draw_rows(t, T), *m = draw_rows(t, S);
    ck_assert_ptr_null(at_attention_apply(t, &a, x, m, (at_sdpa_args){.causal = true}));
    assert_error(t, "sdpa: 3 queries and 5 keys: say where the diagonal of causal or a window "
                    "lies, align = "
                    "ATTIC_ALIGN_TOP_LEFT, ATTIC_ALIGN_BOTTOM_RIGHT or ATTIC_ALIGN_OFFSET");
    at_clear_error(t);
    at_tensor *narrow = at_const(t, at_shape_of(B, T, 3), NULL);
    ck_assert_ptr_null(at_attention_apply(t, &a, narrow, NULL, (at_sdpa_args){0}));
    assert_error(t, "affine: X is [2,3,3] but W is \"q.W\" [8,8]: X must end in 8");
    at_clear_error(t);
    ck_assert_ptr_null(at_attention_apply(t, &a, NULL, NULL, (at_sdpa_args){0}));
    assert_error(t, "affine: X is NULL");
    at_close(t);
}
END_TEST

START_TEST(a_layer_that_is_null_is_an_error)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3, 4), NULL);
    ck_assert_ptr_null(at_attention_apply(t, NULL, x, NULL, (at_sdpa_args){0}));
    assert_error(t, "attention: the layer is NULL");
    at_clear_error(t);
    ck_assert_ptr_null(at_attention_combine(t, NULL, x, x, x, x, (at_sdpa_args){0}));
    assert_error(t, "attention: the layer is NULL");
    at_close(t);
}
END_TEST

SUITE(nn_attention_layer, parameters_are_four_matrices_in_the_open_scope,
      grouped_heads_have_narrower_keys_and_values, a_gate_is_one_matrix_more_behind_all_others,
      out_gain_scales_the_last_matrix_alone, the_layer_is_attention_head_by_head,
      its_gradients_are_those_of_attention_head_by_head,
      its_gradients_are_those_of_differences_with_dropout_too,
      a_bias_of_the_keys_has_no_effect_without_rope, no_m_means_x,
      positions_and_scalings_are_those_of_rope, positions_that_nobody_reads_are_an_error,
      a_batch_is_not_needed, no_queries_no_keys_and_no_batch_are_fine,
      masks_paths_and_taps_are_passed_on, heads_and_dropout_are_those_of_the_layer,
      dropout_is_for_training_only, impossible_layers_are_refused_before_anything_is_made,
      what_can_not_be_attended_to_is_an_error_of_the_op_inside, a_layer_that_is_null_is_an_error)
