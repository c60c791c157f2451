/* test_blocks.c -- a stack is its blocks one after the other; names, gains, what it hands on. */
#include "tensors.h"

#include "gradcheck/gradcheck.h"
#include "tensor/arena.h"

#include <math.h>

enum { B = 2, T = 3, N = 4, C = 4, LAYERS = 2 };

static const struct {
    const char *what;
    at_block_config config;
    int branches; /* of a block */
} kind[] = {
    {"default", {.dim = C, .heads = 2}, 2},
    {"post-norm", {.dim = C, .heads = 2, .post_norm = true}, 2},
    {"cross", {.dim = C, .heads = 2, .cross = true}, 3},
    {"attention alone", {.dim = C, .heads = 2, .no_ffn = true, .bias = ATTIC_BIAS_NONE}, 1},
    {"Llama", {.dim = C, .heads = 2, .norm = ATTIC_RMS, .act = ATTIC_SWIGLU, .window = 2}, 2},
};
enum { KINDS = sizeof kind / sizeof *kind };

static at_tensor *draw_x(at_tape *t, int rows)
{
    at_tensor *x = at_variable(t, at_shape_of(B, rows, C), NULL);
    at_init_fill(x, at_normal(1), at_draw(t));
    return x;
}

START_TEST(a_stack_is_its_blocks_and_a_norm_one_after_the_other)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int i = 0; i < KINDS; i++) {
            at_scope(t, kind[i].what);
            at_blocks b = at_blocks_make(t, kind[i].config, LAYERS);
            at_tensor *x = draw_x(t, T), *m = kind[i].config.cross ? draw_x(t, N) : NULL;
            const at_block_args args = {.attention.causal = true};
            at_tensor *y = at_blocks_apply(t, &b, x, m, args), *z = x;
            for (int l = 0; l < LAYERS; l++) z = at_block_apply(t, &b.block[l], z, m, args);
            if (!kind[i].config.post_norm) z = at_norm_apply(t, b.norm, z);
            ck_assert_msg(at_ok(t), "%s: %s", kind[i].what, at_error(t));
            ck_assert(equal_bits(y, z) && b.layers == LAYERS);
            at_scope_end(t);
        }
}
END_TEST

/* Both tapes draw the same numbers, so what a gain has scaled is all that can differ. */
START_TEST(parameters_are_those_of_the_blocks_with_the_gain_of_all_branches)
{
    for (int i = 0; i < KINDS; i++) {
        const at_block_config c = kind[i].config;
        at_tape *t = at_open(ATTIC_F64, 1), *u = at_open(ATTIC_F64, 1);
        at_blocks_make(t, c, LAYERS);
        for (int l = 0; l < LAYERS; l++) {
            at_scopef(u, "block%d", l);
            at_block_make(u, c, 1 / sqrt(LAYERS * kind[i].branches));
            at_scope_end(u);
        }
        if (!c.post_norm) at_norm_make(u, "norm", C, c.norm, c.bias != ATTIC_BIAS_NONE, 0);
        ck_assert_int_eq(at_param_count(t), at_param_count(u));
        for (int k = 0; k < at_param_count(t); k++) {
            ck_assert_str_eq(at_param_at(t, k)->name, at_param_at(u, k)->name);
            ck_assert(equal_bits(at_param_at(t, k), at_param_at(u, k)));
        }
        at_close(t), at_close(u);
    }
}
END_TEST

START_TEST(what_it_computes_has_a_name)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_blocks b = at_blocks_make(t, kind[0].config, LAYERS);
    at_scope(t, "encoder");
    at_tensor *y = at_blocks_apply(t, &b, draw_x(t, T), NULL, (at_block_args){0});
    at_scope_end(t);
    ck_assert(at_find(t, "encoder.norm") == y && at_find(t, "encoder.block1.output"));
    ck_assert(at_find(t, "encoder.block0.feed_forward.hidden") && !at_find(t, "block0.output"));
    at_close(t);
}
END_TEST

START_TEST(each_block_gives_its_own_weights)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_blocks b = at_blocks_make(t, kind[2].config, LAYERS);
    at_tensor *x = draw_x(t, T), *m = draw_x(t, N), *own[LAYERS], *cross[LAYERS], *lse[LAYERS];
    at_blocks_apply(
        t, &b, x, m,
        (at_block_args){.attention = {.weights = own, .lse = lse}, .cross.probs = cross});
    for (int l = 0; l < LAYERS; l++) {
        at_tensor *alone, *beside;
        at_block_args args = {.attention.weights = &alone, .cross.probs = &beside};
        x = at_block_apply(t, &b.block[l], x, m, args);
        ck_assert(equal_bits(own[l], alone) && equal_bits(cross[l], beside));
        ck_assert(at_same_shape(lse[l]->shape, at_shape_of(B, 2, T)));
    }
    ck_assert(!equal_bits(own[0], own[1]));
    at_fail(t, ATTIC_USER_ERROR, "on purpose");
    at_blocks_apply(t, &b, x, m, (at_block_args){.attention.weights = own});
    ck_assert(!own[0] && !own[1]); /* no tensor of another call is left there */
    at_close(t);
}
END_TEST

START_TEST(a_stack_decodes_row_by_row_with_a_cache_for_each_block)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_train(t, false), at_no_grad(t, true);
        at_blocks b = at_blocks_make(t, kind[2].config, LAYERS);
        at_tensor *x = draw_x(t, T), *m = draw_x(t, N);
        at_tensor *whole = at_blocks_apply(t, &b, x, m, (at_block_args){.attention.causal = true});
        at_cache cache[LAYERS], cross[LAYERS];
        for (int l = 0; l < LAYERS; l++) {
            cache[l] = at_cache_make(t, &b.block[l].attention, B, T);
            cross[l] = at_cache_of(t, &b.block[l].cross, m);
        }
        for (int j = 0; j < T; j++) {
            at_tensor *y = at_blocks_apply(
                t, &b, at_slice(t, x, 1, j, j + 1), NULL,
                (at_block_args){.attention.causal = true, .cache = cache, .cross_cache = cross});
            ck_assert_msg(at_ok(t), "%s", at_error(t));
            for (int k = 0; k < B * C; k++)
                assert_close(at_element(y, k), at_get(whole, k / C, j, k % C),
                             at_real(t) == ATTIC_F32 ? 2e-5 : 1e-12);
        }
    }
}
END_TEST

static at_tensor *apply_blocks(at_tape *t, at_tensor **in, void *b)
{
    return at_blocks_apply(t, b, in[0], in[1], (at_block_args){.attention.causal = true});
}

START_TEST(every_parameter_gets_its_gradient)
{
    at_tape *t = at_open(ATTIC_F64, 3);
    at_blocks b = at_blocks_make(t, kind[2].config, LAYERS);
    at_tensor *in[] = {draw_x(t, T), draw_x(t, N)};
    at_gradcheck_report r =
        at_gradcheck(t, apply_blocks, in, 2, &b, (at_gradcheck_options){.directions = 6});
    ck_assert_msg(r.verdict == ATTIC_PASS, "%s at %s: %g, %g", r.reason, r.where, r.analytic,
                  r.numeric);
    at_backward(t, at_sum(t, at_square(t, apply_blocks(t, in, &b))));
    ck_assert_int_eq(at_grad_report(t, NULL), 0);
    at_close(t);
}
END_TEST

START_TEST(stacks_that_are_not_possible_are_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const at_block_config good = kind[0].config, bad = {.dim = C, .heads = 3};
    ck_assert_ptr_null(at_blocks_make(t, good, 0).block);
    assert_error(t, "blocks: 0 layers, but 1 to 48 are possible");
    at_clear_error(t);
    ck_assert_ptr_null(at_blocks_make(t, good, AT_MAX_LAYERS + 1).block);
    assert_error(t, "blocks: 49 layers, but 1 to 48 are possible");
    at_clear_error(t);
    ck_assert_ptr_null(at_blocks_make(t, bad, 1).block);
    assert_error(t, "attention: dim 4 can't be cut into 3 heads");
    at_clear_error(t);
    ck_assert_int_eq(at_param_count(t), 0);
    ck_assert_ptr_null(at_blocks_apply(t, &(at_blocks){0}, NULL, NULL, (at_block_args){0}));
    assert_error(t, "blocks: the blocks are NULL");
    at_clear_error(t);
    ck_assert_ptr_null(at_blocks_apply(t, NULL, NULL, NULL, (at_block_args){0}));
    assert_error(t, "blocks: the blocks are NULL");
    at_close(t);
}
END_TEST

START_TEST(when_memory_runs_out_it_says_so)
{
    for (int n = 1;; n++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_fail_allocation(n);
        at_blocks b = at_blocks_make(t, kind[0].config, LAYERS);
        at_tensor *y = at_blocks_apply(t, &b, draw_x(t, T), NULL, (at_block_args){0});
        at_fail_allocation(0);
        ck_assert(at_ok(t) == (y != NULL));
        if (!y) ck_assert_int_eq(at_error_kind_of(t), ATTIC_MEMORY_ERROR);
        at_close(t);
        if (y) break;
        ck_assert_int_lt(n, 2000);
    }
}
END_TEST

START_TEST(a_layer_whose_last_parameter_could_not_be_made_is_none)
{
    static const char *const taken[] = {"1.b", "l.b", "n.b", "norm.b", "gate.b", "sink"};
    for (int i = 0; i < 6; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_tensor *x = at_const(t, at_shape_of(1, 2, 4), NULL), *y = x;
        at_param(t, taken[i], at_shape_of(1), at_zeros());
        at_mlp m = {0};
        at_blocks b = {0};
        at_attention a = {0};
        at_linear l = {0};
        at_norm n = {0};
        const at_attention_config c = {
            .dim = 4, .heads = 2, .bias = i == 4, .gate = i == 4, .sinks = i == 5};
        if (i == 0) m = at_mlp_make(t, (int[]){4, 3, 2}, 3, ATTIC_TANH);
        if (i == 1) l = at_linear_make(t, "l", 4, 2, true, at_zeros());
        if (i == 2) n = at_norm_make(t, "n", 4, ATTIC_LAYER_NORM, true, 0);
        if (i == 3) b = at_blocks_make(t, (at_block_config){.dim = 4, .heads = 2}, 1);
        if (i >= 4) a = at_attention_make(t, c, 1);
        ck_assert_msg(strstr(at_error(t), taken[i]), "%s: %s", taken[i], at_error(t));
        at_clear_error(t);
        if (i == 0) y = at_mlp_apply(t, &m, x);
        if (i == 1) y = at_linear_apply(t, l, x);
        if (i == 2) y = at_norm_apply(t, n, x);
        if (i == 3) y = at_blocks_apply(t, &b, x, NULL, (at_block_args){0});
        if (i >= 4) y = at_attention_apply(t, &a, x, NULL, (at_sdpa_args){0});
        ck_assert_msg(!y && !at_ok(t), "%s", taken[i]);
        at_close(t);
    }
}
END_TEST

SUITE(nn_blocks, a_stack_is_its_blocks_and_a_norm_one_after_the_other,
      parameters_are_those_of_the_blocks_with_the_gain_of_all_branches, what_it_computes_has_a_name,
      each_block_gives_its_own_weights, a_stack_decodes_row_by_row_with_a_cache_for_each_block,
      every_parameter_gets_its_gradient, stacks_that_are_not_possible_are_refused,
      a_layer_whose_last_parameter_could_not_be_made_is_none, when_memory_runs_out_it_says_so)
