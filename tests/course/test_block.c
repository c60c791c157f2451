/* test_block.c -- a block gives the numbers that were computed on paper, agrees with at_sdpa between
 * at_linear, and with differences. */
#include "attic.h"
#include "block.h"

#include <math.h>
#include <stdio.h>

#include "test.h"

/* ln 3 is the scale of the example on paper: its gradients are a + b ln 3. */
static const double ln_3 = 1.0986122886681098;

/* values: a, or with b given a + b ln 3, element by element */
static void assert_matrix(const block *b, block_name what, const double *a, const double *factor)
{
    for (ptrdiff_t e = 0; e < block_size(b, what); e++) {
        double should = (a ? a[e] : 0) + (factor ? factor[e] * ln_3 : 0);
        ck_assert_msg(fabs(b->at[what][e] - should) < 1e-13, "%s, element %td: %.15g, not %.15g",
                      block_texts[what].name, e, b->at[what][e], should);
    }
}
#define IS(what, ...) assert_matrix(b, BLOCK_##what, (const double[]){__VA_ARGS__}, NULL)
#define IS_LN_3(what, ...) assert_matrix(b, BLOCK_##what, NULL, (const double[]){__VA_ARGS__})

START_TEST(the_forward_is_that_on_paper)
{
    block *b = block_paper(2);
    IS(Q, 0, 1, 2, 2, 1, 1);
    IS(K, 1, 1, 2, 0, 1, 0);
    IS(V, 1, 0, 0, 4, 0, 2);
    IS(R, 0, 0, 0, 2, 4, 2, 1, 2, 1, /* h1 */ 1, 0, 0, 2, 0, 0, 1, 0, 0);
    IS(P, 1, 0, 0, .1, .9, 0, .2, .6, .2, /* h1 */ 1, 0, 0, .9, .1, 0, .6, .2, .2);
    IS(O, 1, 0, .1, .4, .2, 1.2);
    IS(OW, 1, 1, .9, .1, 2.6, .2);
    IS(Y, 1, 2, 2.9, .1, 3.6, .2);
    assert_close(block_loss(b), 11.5, 1e-13);
    block_close(b);
}
END_TEST

START_TEST(exp_of_a_score_is_a_power_of_three)
{
    const double power[] = {1, 0, 0, 9, 81, 0, 3, 9, 3, /* h1 */ 3, 0, 0, 9, 1, 0, 3, 1, 1};
    block *b = block_paper(2);
    for (int e = 0; e < 18; e++) assert_close(exp(b->at[BLOCK_S][e]), power[e], 1e-12);
    block_close(b);
}
END_TEST

START_TEST(the_backward_inside_the_heads_is_that_on_paper)
{
    block *b = block_paper(2);
    IS(DO, 1, 0, 3, 4, 1, 2);
    IS(DP, 1, 0, 0, 3, 0, 0, 1, 0, 0, /* h1 */ 0, 0, 0, 0, 16, 0, 0, 8, 4);
    IS(DELTA, 1, .3, .2, /* h1 */ 0, 1.6, 2.4);
    IS(DS, 0, 0, 0, .27, -.27, 0, .16, -.12, -.04, /* h1 */ 0, 0, 0, -1.44, 1.44, 0, -1.44, 1.12,
       .32);
    IS_LN_3(DQ, 0, 0, -.27, -1.44, -.12, -1.44);
    IS_LN_3(DK, .70, -4.32, -.66, 4.00, -.04, .32);
    IS(DV, 1.5, 4.8, 3.3, .8, .2, .4);
    block_close(b);
}
END_TEST

START_TEST(dX_is_the_sum_of_its_four_terms_on_paper)
{
    block *b = block_paper(2);
    IS(DX_RES, 0, 1, 2, 1, 1, 0);
    IS_LN_3(DX_Q, 0, 0, -1.71, -1.44, -1.56, -1.44);
    IS_LN_3(DX_K, .70, -3.62, -.66, 3.34, -.04, .28);
    IS(DX_V, 9.6, 1.5, 1.6, 3.3, .8, .2);
    assert_matrix(b, BLOCK_DX, (const double[]){9.6, 2.5, 3.6, 4.3, 1.8, .2},
                  (const double[]){.70, -3.62, -2.37, 1.90, -1.60, -1.16});
    const double decimal[] = {10.3690, -1.4770, .9963, 6.3874, .0422, -1.0744};
    for (int e = 0; e < 6; e++) assert_close(b->at[BLOCK_DX][e], decimal[e], 5e-5);
    block_close(b);
}
END_TEST

START_TEST(the_gradients_of_the_weights_are_those_on_paper)
{
    block *b = block_paper(2);
    IS_LN_3(DWQ, -.66, -4.32, 0, 0);
    IS_LN_3(DWK, -1.36, 8.32, .70, -4.32);
    IS(DWV, 6.8, 2, 1.5, 4.8);
    IS(DWO, .4, 1.1, 2, .4);
    block_close(b);
}
END_TEST

START_TEST(heads_that_share_a_key_add_up_on_paper)
{
    block *b = block_paper(1);
    IS(K, 1, 2, 1);
    IS(V, 0, 4, 2);
    IS(P, 1, 0, 0, .1, .9, 0, .2, .6, .2, /* h1 */ 1, 0, 0, .1, .9, 0, .2, .6, .2);
    IS(O, 0, 0, 3.6, 3.6, 2.8, 2.8);
    IS(Y, 0, 1, 12.8, 3.6, 9.4, 2.8);
    IS(DP, 0, 0, 0, 0, 12, 0, 0, 4, 2, /* h1 */ 0, 0, 0, 0, 16, 0, 0, 8, 4);
    IS(DELTA, 0, 10.8, 2.8, /* h1 */ 0, 14.4, 5.6);
    IS(DS, 0, 0, 0, -1.08, 1.08, 0, -.56, .72, -.16, /* h1 */ 0, 0, 0, -1.44, 1.44, 0, -1.12, 1.44,
       -.32);
    IS_LN_3(DQ, 0, 0, 1.08, 1.44, .72, 1.44);
    IS_LN_3(DK, -6.72, 7.20, -.48);
    IS(DV, 2.3, 8.1, .6);
    IS_LN_3(DWQ, 2.88, 4.32, 0, 0);
    IS_LN_3(DWK, 13.92, -6.72);
    IS(DWV, 16.8, 2.3);
    IS(DWO, 10, 3.6, 10, 3.6);
    assert_matrix(b, BLOCK_DX, (const double[]){4.6, 1, 18.2, 1, 2.2, 0},
                  (const double[]){-6.72, -6.72, 9.72, 8.64, 1.68, .96});
    assert_close(*block_cell(b, BLOCK_DX, 0, 2, 0), 4.0457, 5e-5);
    block_close(b);
}
END_TEST

/* Blocks of all kinds: square or not, with heads that share keys or not, causal or not */
static block *some_block(int seed)
{
    static const block_problem p[] = {
        {.T = 3, .C = 4, .H = 2, .G = 2, .D = 2, .Dv = 2, .causal = true},
        {.T = 4, .C = 5, .H = 3, .G = 3, .D = 2, .Dv = 3},
        {.T = 5, .C = 3, .H = 4, .G = 2, .D = 2, .Dv = 1, .scale = 0.3, .causal = true},
        {.T = 2, .C = 7, .H = 3, .G = 1, .D = 4, .Dv = 2, .scale = -0.4},
        {.T = 1, .C = 2, .H = 1, .G = 1, .D = 3, .Dv = 3, .scale_log = 2}};
    block *b = block_draw((uint64_t)seed, &p[seed % 5]);
    ck_assert_ptr_nonnull(b);
    return b;
}

static at_tensor *variable_of(at_tape *t, const block *b, block_name what)
{
    return at_variable(t, at_shape_of(1, b->dim[what][1], b->dim[what][2]), b->at[what]);
}

static at_linear linear_of(at_tape *t, const block *b, block_name W)
{
    return (at_linear){.W = at_variable(t, at_shape_of(b->dim[W][1], b->dim[W][2]), b->at[W])};
}

static void assert_gradient(const block *b, const block *terms, block_name what, const at_tensor *x)
{
    for (ptrdiff_t e = 0; e < block_size(b, what); e++)
        ck_assert_msg(fabs(at_grad_element(x, e) - b->at[what][e]) <= 1e-13 * terms->at[what][e],
                      "%s, element %td: %.15g, not %.15g", block_texts[what].name, e,
                      b->at[what][e], at_grad_element(x, e));
}

START_TEST(a_block_agrees_with_at_sdpa_between_at_linear)
{
    for (int seed = 0; seed < 100; seed++) {
        block *b = some_block(seed), *terms = block_terms(b);
        at_tape *t = at_open(ATTIC_F64, 1);
        at_tensor *X = variable_of(t, b, BLOCK_X);
        at_linear W_q = linear_of(t, b, BLOCK_WQ), W_k = linear_of(t, b, BLOCK_WK);
        at_linear W_v = linear_of(t, b, BLOCK_WV), W_o = linear_of(t, b, BLOCK_WO);
        at_tensor *O = at_sdpa(
            t, at_linear_apply(t, W_q, X), at_linear_apply(t, W_k, X), at_linear_apply(t, W_v, X),
            (at_sdpa_args){.heads = b->p.H,
                           .kv_heads = b->p.G,
                           .causal = b->p.causal,
                           .scale = b->p.scale_log > 0 ? log(b->p.scale_log) : b->p.scale});
        at_tensor *Y = at_add(t, X, at_linear_apply(t, W_o, O));
        at_backward(t, at_sum(t, at_mul(t, Y, variable_of(t, b, BLOCK_DY))));
        ck_assert_msg(at_ok(t), "%s", at_error(t));
        for (ptrdiff_t e = 0; e < block_size(b, BLOCK_Y); e++)
            assert_close(at_element(Y, e), b->at[BLOCK_Y][e], 1e-13 * terms->at[BLOCK_Y][e]);
        assert_gradient(b, terms, BLOCK_DX, X);
        assert_gradient(b, terms, BLOCK_DWQ, W_q.W);
        assert_gradient(b, terms, BLOCK_DWK, W_k.W);
        assert_gradient(b, terms, BLOCK_DWV, W_v.W);
        assert_gradient(b, terms, BLOCK_DWO, W_o.W);
        at_close(t);
        block_close(terms);
        block_close(b);
    }
}
END_TEST

static void compare_with_differences(const block *b, ptrdiff_t stride)
{
    for (block_name what = BLOCK_DY; what < BLOCK_COUNT; what++)
        for (ptrdiff_t e = 0; e < block_size(b, what); e += stride) {
            double unsure, n = block_difference(b, what, e, &unsure);
            ck_assert_double_lt(unsure, 1e-5 * (1 + fabs(n)));
            ck_assert_msg(fabs(n - b->at[what][e]) <= 1e-8 + unsure,
                          "%s, element %td: %.10g, not %.10g", block_texts[what].name, e,
                          b->at[what][e], n);
        }
}

START_TEST(every_gradient_agrees_with_its_numerical_twin)
{
    block *paper[] = {block_paper(2), block_paper(1)};
    for (int k = 0; k < 2; k++) {
        compare_with_differences(paper[k], 1);
        block_close(paper[k]);
    }
    for (int seed = 0; seed < 10; seed++) {
        block *b = some_block(seed);
        compare_with_differences(b, 3);
        block_close(b);
    }
}
END_TEST

START_TEST(a_split_is_undone_by_a_merge)
{
    const double merged[] = {0, 1, 2, 3, 4, 5, 6, 7}; /* 2 tokens, 2 heads, 2 elements */
    double heads[8], again[8];
    block_split(2, 2, 2, merged, heads);
    block_merge(2, 2, 2, heads, again);
    assert_all_close(8, heads, ((const double[]){0, 1, 4, 5, 2, 3, 6, 7}), 0);
    assert_all_close(8, again, merged, 0);
}
END_TEST

SUITE(course_block, the_forward_is_that_on_paper, exp_of_a_score_is_a_power_of_three,
      the_backward_inside_the_heads_is_that_on_paper, dX_is_the_sum_of_its_four_terms_on_paper,
      the_gradients_of_the_weights_are_those_on_paper, heads_that_share_a_key_add_up_on_paper,
      a_block_agrees_with_at_sdpa_between_at_linear, every_gradient_agrees_with_its_numerical_twin,
      a_split_is_undone_by_a_merge)
