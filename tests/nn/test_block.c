/* test_block.c -- a block against the same made of single ops; encoder, decoder and gradients. */
#include "tensors.h"

#include "gradcheck/gradcheck.h"

#include <math.h>

enum { B = 2, T = 3, N = 4, C = 4 };

/* Every option at least once. */
static const struct {
    const char *what;
    at_block_config config;
} kind[] = {
    {"default", {.dim = C, .heads = 2}},
    {"GPT-2", {.dim = C, .heads = 2, .act = ATTIC_GELU_TANH, .bias = ATTIC_BIAS_ALL}},
    {"Llama",
     {.dim = C,
      .heads = 2,
      .kv_heads = 1,
      .rope = true,
      .rope_base = 100,
      .rope_halves = true,
      .rope_scaling = {ATTIC_ROPE_LINEAR, .factor = 2},
      .hidden = 5,
      .act = ATTIC_SWIGLU,
      .norm = ATTIC_RMS,
      .norm_eps = 1e-3,
      .bias = ATTIC_BIAS_NONE}},
    {"post-norm", {.dim = C, .heads = 1, .act = ATTIC_SILU, .post_norm = true, .cross = true}},
    {"cross", {.dim = C, .heads = 2, .cross = true, .bias = ATTIC_BIAS_ALL, .rope = true}},
    {"norm of Q and K",
     {.dim = C, .heads = 2, .kv_heads = 1, .qk_norm = true, .rope = true, .norm_eps = 0.1}},
    {"attention alone", {.dim = C, .heads = 2, .no_ffn = true, .bias = ATTIC_BIAS_NONE}},
    {"dropout", {.dim = C, .heads = 2, .cross = true, .dropout = 0.3}},
    {"gate", {.dim = C, .heads = 2, .cross = true, .gate = true, .bias = ATTIC_BIAS_ALL}},
};
enum { KINDS = sizeof kind / sizeof *kind };

static at_tensor *draw_x(at_tape *t, int rows)
{
    at_tensor *x = at_variable(t, at_shape_of(B, rows, C), NULL);
    at_init_fill(x, at_normal(1), at_draw(t));
    return x;
}

/* A block whose gains are not 1 and whose biases are not 0. */
static at_block make_block(at_tape *t, at_block_config config)
{
    int first = at_param_count(t);
    at_block b = at_block_make(t, config, 1);
    for (int i = first; i < at_param_count(t); i++) {
        at_tensor *w = at_param_at(t, i);
        if (w->shape.ndim == 1) at_init_fill(w, at_uniform(1), at_draw(t));
    }
    return b;
}

static double agree(const at_tape *t)
{
    return at_real(t) == ATTIC_F32 ? 2e-5 : 1e-12;
}

/* ------------------------------------------------------------------ what it computes ----------- */

static at_tensor *normed(at_tape *t, const at_block *b, at_norm n, at_tensor *x)
{
    double eps = b->config.norm_eps > 0 ? b->config.norm_eps : 1e-5;
    return b->config.norm == ATTIC_RMS ? at_rms_norm(t, x, n.g, eps)
                                       : at_layer_norm(t, x, n.g, n.b, eps);
}

static at_tensor *branch(at_tape *t, const at_block *b, int which, at_tensor *x, at_tensor *m)
{
    at_sdpa_args causal = {.causal = true};
    if (which == 0) return at_attention_apply(t, &b->attention, x, NULL, causal);
    if (which == 1) return at_attention_apply(t, &b->cross, x, m, (at_sdpa_args){0});
    return at_ffn_apply(t, &b->ffn, x);
}

/* The equations of block.h, one after the other. */
static at_tensor *block_by_hand(at_tape *t, const at_block *b, at_tensor *x, at_tensor *m)
{
    at_norm norm[] = {b->norm1, b->cross_norm, b->norm2};
    for (int i = 0; i < 3; i++) {
        if ((i == 1 && !b->config.cross) || (i == 2 && b->config.no_ffn)) continue;
        if (b->config.post_norm)
            x = normed(t, b, norm[i], at_add(t, x, branch(t, b, i, x, m)));
        else
            x = at_add(t, x, branch(t, b, i, normed(t, b, norm[i], x), m));
    }
    return x;
}

static at_tensor *apply_causal(at_tape *t, const at_block *b, at_tensor *x, at_tensor *m)
{
    return at_block_apply(t, b, x, m, (at_block_args){.attention.causal = true});
}

START_TEST(a_block_is_its_equations_one_after_the_other)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int i = 0; i < KINDS; i++) {
            at_train(t, false);
            at_scope(t, kind[i].what);
            at_block b = make_block(t, kind[i].config);
            at_tensor *x = draw_x(t, T), *m = kind[i].config.cross ? draw_x(t, N) : NULL;
            at_tensor *y = apply_causal(t, &b, x, m), *hand = block_by_hand(t, &b, x, m);
            ck_assert_msg(at_ok(t), "%s: %s", kind[i].what, at_error(t));
            for (ptrdiff_t j = 0; j < at_count(y->shape); j++)
                assert_close(at_element(y, j), at_element(hand, j), agree(t));
            at_scope_end(t);
        }
}
END_TEST

START_TEST(the_options_reach_attention)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_block b = at_block_make(t, kind[2].config, 1);
    at_attention_config a = b.attention.config;
    ck_assert(a.rope && a.rope_halves && a.rope_base == 100 && a.kv_heads == 1 && !a.bias);
    ck_assert(a.rope_scaling.type == ATTIC_ROPE_LINEAR && a.rope_scaling.factor == 2);
    at_scope(t, "cross");
    b = at_block_make(t, kind[4].config, 1);
    ck_assert(b.attention.config.rope && !b.cross.config.rope && b.cross.config.bias);
    at_scope(t, "dropout");
    b = at_block_make(t, kind[7].config, 1);
    ck_assert(b.attention.config.dropout == 0.3 && b.cross.config.dropout == 0.3);
    at_scope(t, "gate");
    b = at_block_make(t, kind[8].config, 1);
    ck_assert(b.attention.gate.W && b.attention.gate.b && b.cross.gate.W && !b.attention.q_norm.g);
    at_close(t);
}
END_TEST

static void assert_block_params(at_block_config c, const char *const *name)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_block_make(t, c, 1);
    for (int i = 0; i < at_param_count(t); i++) {
        ck_assert_msg(name[i], "one more: %s", at_param_at(t, i)->name);
        ck_assert_str_eq(at_param_at(t, i)->name, name[i]);
    }
    ck_assert_ptr_null(name[at_param_count(t)]);
    at_close(t);
}

START_TEST(parameters_are_named_as_the_header_says)
{
    assert_block_params(kind[0].config,
                        (const char *[]){"norm1.g", "norm1.b", "attention.q.W", "attention.k.W",
                                         "attention.v.W", "attention.o.W", "norm2.g", "norm2.b",
                                         "up.W", "up.b", "down.W", "down.b", NULL});
    assert_block_params(kind[6].config,
                        (const char *[]){"norm1.g", "attention.q.W", "attention.k.W",
                                         "attention.v.W", "attention.o.W", NULL});
    at_block_config c = kind[2].config;
    c.qk_norm = c.cross = true;
    assert_block_params(c, (const char *[]){"norm1.g", "attention.q.W", "attention.k.W",
                                            "attention.v.W", "attention.o.W", "attention.q_norm.g",
                                            "attention.k_norm.g", "cross_norm.g", "cross.q.W",
                                            "cross.k.W", "cross.v.W", "cross.o.W", "cross.q_norm.g",
                                            "cross.k_norm.g", "norm2.g", "gate.W", "up.W", "down.W",
                                            NULL});
}
END_TEST

/* Scaling what makes the queries and keys changes nothing. */
START_TEST(normed_queries_and_keys_forget_how_long_they_were)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_block_config c = kind[5].config;
    c.norm_eps = 1e-300;
    at_block b = make_block(t, c);
    at_tensor *x = draw_x(t, T), *y = apply_causal(t, &b, x, NULL);
    double *Wq = b.attention.q.W->data, *Wk = b.attention.k.W->data; /* [C,C] and [C,C/2] */
    for (int i = 0; i < C * C; i++) Wq[i] *= 16;
    for (int i = 0; i < C * C / 2; i++) Wk[i] *= 4;
    at_tensor *z = apply_causal(t, &b, x, NULL);
    for (int i = 0; i < B * T * C; i++) assert_close(at_element(z, i), at_element(y, i), 1e-12);
    at_init_fill(b.attention.q_norm.g, at_fill(3), at_draw(t));
    ck_assert(at_compare(apply_causal(t, &b, x, NULL), y).similarity == ATTIC_DIFFERENT);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ gradients ------------------ */

static at_tensor *apply_block(at_tape *t, at_tensor **in, void *b)
{
    return apply_causal(t, b, in[0], ((at_block *)b)->config.cross ? in[1] : NULL);
}

START_TEST(gradients_of_every_option_are_those_of_differences)
{
    for (int i = 0; i < KINDS; i++) {
        at_tape *t = at_open(ATTIC_F64, 3);
        at_block b = make_block(t, kind[i].config);
        at_tensor *in[] = {draw_x(t, T), draw_x(t, N)};
        at_gradcheck_report r = at_gradcheck(t, apply_block, in, kind[i].config.cross ? 2 : 1, &b,
                                             (at_gradcheck_options){0});
        ck_assert_msg(r.verdict == ATTIC_PASS, "%s: %s at %s: %g, %g", kind[i].what, r.reason,
                      r.where, r.analytic, r.numeric);
        ck_assert_double_lt(r.resolution, 1e-6);
        at_close(t);
    }
}
END_TEST

/* Two encoder blocks read a padded source, two decoder blocks a target. */
typedef struct {
    at_block encoder[2], decoder[2];
    at_tensor *key_len; /* NULL: nothing is padding */
} translator;

static translator make_translator(at_tape *t)
{
    translator m = {.key_len = at_ints(t, at_shape_of(B), (int32_t[]){2, N})};
    for (int i = 0; i < 2; i++) {
        at_scope(t, i ? "1" : "0");
        at_block_config c = {.dim = C, .heads = 2, .hidden = 6, .rope = true};
        m.encoder[i] = make_block(t, c);
        c.cross = true;
        at_scope(t, "decoder");
        m.decoder[i] = make_block(t, c);
        at_scope_end(t), at_scope_end(t);
    }
    return m;
}

static at_tensor *translate(at_tape *t, at_tensor **in, void *ctx)
{
    translator *m = ctx;
    at_tensor *x = in[0], *y = in[1];
    at_sdpa_args padded = {.key_len = m->key_len};
    for (int i = 0; i < 2; i++)
        x = at_block_apply(t, &m->encoder[i], x, NULL, (at_block_args){.attention = padded});
    for (int i = 0; i < 2; i++)
        y = at_block_apply(t, &m->decoder[i], y, x,
                           (at_block_args){.attention.causal = true, .cross = padded});
    return y;
}

START_TEST(an_encoder_and_a_decoder_of_two_blocks_get_their_gradients)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    translator m = make_translator(t);
    at_tensor *in[] = {draw_x(t, N), draw_x(t, T)};
    at_gradcheck_report r =
        at_gradcheck(t, translate, in, 2, &m, (at_gradcheck_options){.directions = 6});
    ck_assert_msg(r.verdict == ATTIC_PASS, "%s at %s: %g, %g", r.reason, r.where, r.analytic,
                  r.numeric);
    at_backward(t, at_sum(t, at_square(t, translate(t, in, &m))));
    ck_assert_int_eq(at_grad_report(t, NULL), 0);
    at_close(t);
}
END_TEST

START_TEST(padding_and_the_future_are_not_read)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    translator m = make_translator(t);
    at_tensor *in[] = {draw_x(t, N), draw_x(t, T)}, *y = translate(t, in, &m);
    at_set(in[0], (double)NAN, 0, 3, 1); /* of a row that has 2 keys */
    at_set(in[1], 7, 1, 2, 0);           /* the last row of the target */
    at_tensor *z = translate(t, in, &m);
    for (int i = 0; i < T * C; i++) ck_assert(at_element(z, i) == at_element(y, i));
    for (int i = T * C; i < (2 * T - 1) * C; i++) ck_assert(at_element(z, i) == at_element(y, i));
    ck_assert(at_get(z, 1, 2, 0) != at_get(y, 1, 2, 0));
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ caches --------------------- */

START_TEST(a_block_decodes_row_by_row_beside_a_memory)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int i = 3; i < 6; i++) {
            at_scope(t, kind[i].what);
            at_train(t, false), at_no_grad(t, true);
            at_block b = make_block(t, kind[i].config);
            at_tensor *x = draw_x(t, T), *m = b.config.cross ? draw_x(t, N) : NULL;
            at_tensor *whole = apply_causal(t, &b, x, m);
            at_cache cache = at_cache_make(t, &b.attention, B, T), cross = {0};
            if (m) cross = at_cache_of(t, &b.cross, m);
            for (int j = 0; j < T; j++) {
                at_block_args args = {.attention.causal = true, .cache = &cache};
                if (m) args.cross_cache = &cross;
                at_tensor *row = at_slice(t, x, 1, j, j + 1);
                at_tensor *y = at_block_apply(t, &b, row, NULL, args);
                ck_assert_msg(at_ok(t), "%s: %s", kind[i].what, at_error(t));
                for (int k = 0; k < B * C; k++)
                    assert_close(at_element(y, k), at_get(whole, k / C, j, k % C), agree(t));
            }
            at_scope_end(t);
        }
}
END_TEST

/* ------------------------------------------------------------------ errors --------------------- */

START_TEST(blocks_that_are_not_possible_are_refused_before_anything_is_made)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_block_config c[6];
    for (int i = 0; i < 6; i++) c[i] = kind[2].config;
    c[0].bias = (at_bias)3, c[1].heads = 3, c[2].norm = (at_norm_kind)-1, c[3].hidden = -4;
    c[4].rope_base = -1, c[5].norm_eps = (double)INFINITY;
    const char *text[] = {"block: there is no bias 3, only 0 to 2 (at_bias)",
                          "attention: dim 4 can't be cut into 3 heads",
                          "norm: kind -1 is neither ATTIC_LAYER_NORM nor ATTIC_RMS",
                          "feed-forward: hidden is -4 but must be positive, or 0 for 8/3 dim",
                          "attention: rope_base is -1 but must be positive, or 0 for 10000",
                          "norm: eps is inf but must be finite and >= 0"};
    for (int i = 0; i < 6; i++) {
        ck_assert_ptr_null(at_block_make(t, c[i], 1).norm1.g);
        assert_error(t, text[i]);
        at_clear_error(t);
    }
    ck_assert_int_eq(at_param_count(t), 0);
    at_close(t);
}
END_TEST

START_TEST(a_memory_and_caches_that_do_not_belong_to_it_are_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_block plain = at_block_make(t, kind[0].config, 1);
    at_scope(t, "cross");
    at_block cross = at_block_make(t, kind[4].config, 1);
    at_scope_end(t);
    at_tensor *x = draw_x(t, T);
    at_cache other = at_cache_make(t, &cross.cross, B, T);
    at_block_apply(t, NULL, x, NULL, (at_block_args){0});
    assert_error(t, "block: the block is NULL");
    at_clear_error(t);
    at_block_apply(t, &plain, x, x, (at_block_args){0});
    assert_error(t, "block: a memory is given, but the block has no cross attention");
    at_clear_error(t);
    at_block_apply(t, &cross, x, NULL, (at_block_args){0});
    assert_error(t, "block: cross attention needs a memory, or cross_cache");
    at_clear_error(t);
    at_block_apply(t, &cross, x, x, (at_block_args){.cross_cache = &other});
    assert_error(t, "block: a memory and cross_cache are given, but one of them is read");
    at_clear_error(t);
    at_block_apply(t, &plain, x, NULL, (at_block_args){.cache = &other});
    assert_error(t, "block: the cache is that of another layer");
    at_clear_error(t);
    ck_assert_str_eq(at_param(t, "w", at_shape_of(), at_zeros())->name, "w"); /* no scope is open */
    at_close(t);
}
END_TEST

SUITE(nn_block, a_block_is_its_equations_one_after_the_other, the_options_reach_attention,
      parameters_are_named_as_the_header_says, normed_queries_and_keys_forget_how_long_they_were,
      gradients_of_every_option_are_those_of_differences,
      an_encoder_and_a_decoder_of_two_blocks_get_their_gradients,
      padding_and_the_future_are_not_read, a_block_decodes_row_by_row_beside_a_memory,
      blocks_that_are_not_possible_are_refused_before_anything_is_made,
      a_memory_and_caches_that_do_not_belong_to_it_are_refused)
