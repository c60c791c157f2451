/* test_attention.c -- attention against numbers from NumPy, against its contract, and against NaNs. */
#include "attic_op.h"

#include <math.h>
#include <string.h>

#include "attention/pairing.h"
#include "test.h"

/* ------------------------------------------------------------------ golden numbers ------------- */

typedef struct {
    const char *name;
    at_sdpa_args args;
    int seed;
    at_shape Q_shape, K_shape, V_shape, bias_shape, keep_shape, key_len_shape;
    const double *Q, *K, *V, *bias, *O, *A, *lse, *dO, *dW, *dQ, *dK, *dV, *dbias;
    const bool *keep;
    const int32_t *key_len;
} sdpa_golden;

#include "golden/sdpa.inc"

enum { GOLDENS = sizeof sdpa_goldens / sizeof *sdpa_goldens };

static const char *const path_name[] = {"", "fused", "plain", "composed"};

/* Fails unless x equals expected, and says in which of the many runs. */
static void expect_numbers(const char *what, const char *run, const double *expected, ptrdiff_t n,
                           double (*element)(const at_tensor *, ptrdiff_t), const at_tensor *x,
                           double tol)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double is = element(x, i), off = fabs(is - expected[i]);
        if (is != expected[i] && !(off <= tol))
            ck_abort_msg("%s: %s[%td] is %.17g, not %.17g (off by %.2g)", run, what, i, is,
                         expected[i], off);
    }
}

static void run_golden(const sdpa_golden *g, at_dtype real, at_sdpa_path path)
{
    double tol = real == ATTIC_F64 ? 1e-12 : 2e-6;
    char run[200];
    snprintf(run, sizeof run, "%s (%s, %s)", g->name, path_name[path], at_dtype_text(real));
    at_tape *t = at_open(real, (uint64_t)g->seed);
    at_tensor *Q = at_variable(t, g->Q_shape, g->Q), *K = at_variable(t, g->K_shape, g->K);
    at_tensor *V = at_variable(t, g->V_shape, g->V), *A, *lse;
    at_sdpa_args a = g->args;
    if (g->bias) a.bias = at_variable(t, g->bias_shape, g->bias);
    if (g->keep) a.keep = at_bools(t, g->keep_shape, g->keep);
    if (g->key_len) a.key_len = at_ints(t, g->key_len_shape, g->key_len);
    a.path = path, a.weights = &A, a.lse = &lse;

    at_tensor *O = at_sdpa(t, Q, K, V, a);
    ck_assert_msg(O, "%s: %s", run, at_error(t));
    expect_numbers("O", run, g->O, at_count(O->shape), at_element, O, tol);
    expect_numbers("weights", run, g->A, at_count(A->shape), at_element, A, tol);
    expect_numbers("lse", run, g->lse, at_count(lse->shape), at_element, lse, tol);

    at_tensor *dO = at_const(t, O->shape, g->dO), *dW = at_const(t, A->shape, g->dW);
    at_backward(t, pairing(t, 2, (at_tensor *[]){O, A}, (at_tensor *[]){dO, dW}));
    ck_assert_msg(at_ok(t), "%s: %s", run, at_error(t));
    expect_numbers("dQ", run, g->dQ, at_count(Q->shape), at_grad_element, Q, 3 * tol);
    expect_numbers("dK", run, g->dK, at_count(K->shape), at_grad_element, K, 3 * tol);
    expect_numbers("dV", run, g->dV, at_count(V->shape), at_grad_element, V, 3 * tol);
    if (a.bias)
        expect_numbers("dbias", run, g->dbias, at_count(a.bias->shape), at_grad_element, a.bias,
                       3 * tol);
    at_close(t);
}

START_TEST(every_path_gives_the_numbers_of_numpy_and_their_gradients)
{
    for (int i = 0; i < GOLDENS; i++)
        for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
            run_golden(&sdpa_goldens[i], ATTIC_F64, path);
            run_golden(&sdpa_goldens[i], ATTIC_F32, path);
        }
}
END_TEST

/* ------------------------------------------------------------------ small, by hand ------------- */

/* Q, K, V of these shapes on a tape, filled with N(0,1). */
typedef struct {
    at_tape *t;
    at_tensor *Q, *K, *V;
} qkv;

static qkv make_qkv(at_dtype real, at_shape Q, at_shape K, at_shape V)
{
    qkv x = {.t = at_open(real, 3)};
    at_shape shape[] = {Q, K, V};
    at_tensor **to[] = {&x.Q, &x.K, &x.V};
    for (int i = 0; i < 3; i++) {
        *to[i] = at_variable(x.t, shape[i], NULL);
        at_init_fill(*to[i], at_normal(1), (at_stream){11, (uint64_t)i});
    }
    return x;
}

/* The same with one shape for all three. */
static qkv make_same(at_dtype real, at_shape s)
{
    return make_qkv(real, s, s, s);
}

/* Of the rows of these shapes, [T,D], [N,D] and [N,Dv]. */
static qkv make_one(at_dtype real, int T, int S, int D, int Dv)
{
    return make_qkv(real, at_shape_of(T, D), at_shape_of(S, D), at_shape_of(S, Dv));
}

static bool same_bits(const at_tensor *x, const at_tensor *y, int elements)
{
    return memcmp(x->data, y->data, (size_t)elements * at_dtype_size(x->dtype)) == 0;
}

START_TEST(one_query_two_keys_by_hand)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *Q = at_const(t, at_shape_of(1, 1), (double[]){1});
    at_tensor *K = at_const(t, at_shape_of(2, 1), (double[]){0, log(3)});
    at_tensor *V = at_const(t, at_shape_of(2, 2), (double[]){4, 0, 8, 1}), *A, *lse;
    at_tensor *O = at_sdpa(t, Q, K, V, (at_sdpa_args){.weights = &A, .lse = &lse});
    assert_all_close(2, (double *)A->data, ((double[]){0.25, 0.75}), 1e-15);
    assert_all_close(2, (double *)O->data, ((double[]){7, 0.75}), 1e-14);
    assert_close(at_item(lse), log(4), 1e-15);
    at_close(t);
}
END_TEST

START_TEST(rows_of_the_weights_sum_to_one)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_same(ATTIC_F32, at_shape_of(2, 2, 8, 4));
        at_tensor *A;
        at_sdpa(x.t, x.Q, x.K, x.V, (at_sdpa_args){.path = path, .causal = true, .weights = &A});
        at_tensor *sums = at_sum_over(x.t, A, at_axes(-1), false);
        for (int i = 0; i < 2 * 2 * 8; i++) assert_close(at_element(sums, i), 1, 1e-6);
        for (int i = 0; i < 2 * 2 * 8 * 8; i++) ck_assert_double_ge(at_element(A, i), 0);
        at_close(x.t);
    }
}
END_TEST

START_TEST(the_future_does_not_change_the_past)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_same(ATTIC_F32, at_shape_of(5, 4));
        at_sdpa_args a = {.path = path, .causal = true};
        at_tensor *before = at_sdpa(x.t, x.Q, x.K, x.V, a);
        for (int d = 0; d < 4; d++) at_set(x.K, 7, 3, d), at_set(x.V, -7, 3, d);
        at_tensor *after = at_sdpa(x.t, x.Q, x.K, x.V, a);
        ck_assert(same_bits(before, after, 3 * 4) && !same_bits(before, after, 4 * 4));
        at_close(x.t);
    }
}
END_TEST

START_TEST(rows_with_nothing_kept_give_exact_zeros)
{
    const bool keep[] = {1, 0, 0, 1}; /* [T,1]: rows 1 and 2 keep nothing */
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_one(ATTIC_F32, 4, 3, 2, 2);
        at_tensor *A, *P, *lse;
        at_sdpa_args a = {.path = path, .keep = at_bools(x.t, at_shape_of(4, 1), keep)};
        a.weights = &A, a.probs = &P, a.lse = &lse;
        at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, a);
        at_backward(x.t, at_sum(x.t, at_square(x.t, O)));
        for (int i = 1; i < 3; i++) {
            for (int d = 0; d < 2; d++) ck_assert(at_get(O, i, d) == 0);
            for (int j = 0; j < 3; j++) ck_assert(at_get(A, i, j) == 0 && at_get(P, i, j) == 0);
            for (int d = 0; d < 2; d++) ck_assert(at_grad_element(x.Q, 2 * i + d) == 0);
            ck_assert(at_get(lse, i) == -(double)INFINITY);
        }
        ck_assert(at_get(O, 0, 0) != 0 && at_grad_element(x.Q, 0) != 0);
        at_close(x.t);
    }
}
END_TEST

START_TEST(scores_of_minus_infinity_are_kept_and_surface)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN;
         path++) { /* no mask: Q K^T overflows to -inf */
        at_tape *t = at_open(ATTIC_F32, 1);
        at_tensor *Q = at_const(t, at_shape_of(1, 1), (double[]){1e30});
        at_tensor *V = at_const(t, at_shape_of(2, 1), (double[]){1, 2});
        at_tensor *K = at_const(t, at_shape_of(2, 1), (double[]){-1e30, -1e30});
        at_tensor *lse;
        ck_assert(isnan(at_item(at_sdpa(t, Q, K, V, (at_sdpa_args){.path = path, .lse = &lse}))));
        ck_assert(isnan(at_item(lse)));
        K = at_const(t, at_shape_of(2, 1),
                     (double[]){-1e30, 0}); /* beside a finite one: weight 0 */
        assert_close(at_item(at_sdpa(t, Q, K, V, (at_sdpa_args){.path = path})), 2, 0);
        at_close(t);
    }
}
END_TEST

/* Q and K of small integers whose products go to +-10,000: the scores are exact in f32 too.  V and dO are
 * what f32 can hold. */
static void set_large_integers(qkv *x, at_tensor *dO)
{
    at_tensor *fine[] = {x->V, dO};
    for (ptrdiff_t i = 0; i < at_count(x->Q->shape); i++)
        at_store(x->Q->dtype, x->Q->data, i, (double)(100 - 200 * (i % 3 == 0) + i % 2));
    for (ptrdiff_t i = 0; i < at_count(x->K->shape); i++)
        at_store(x->K->dtype, x->K->data, i, (double)(i * 7 % 101 - 50));
    for (int k = 0; k < 2; k++)
        for (ptrdiff_t i = 0; i < at_count(fine[k]->shape); i++)
            at_store(fine[k]->dtype, fine[k]->data, i, (double)(float)at_element(fine[k], i));
}

/* Attention with such scores.  V and dO, and what comes of them, are around 1. */
static qkv run_large_scores(at_dtype real, at_sdpa_path path, bool causal, at_tensor **O)
{
    enum { T = 150, S = 300 }; /* several tiles */
    qkv x = make_one(real, T, S, 2, 3);
    at_tensor *dO = at_random(x.t, at_shape_of(T, 3), at_normal(1));
    set_large_integers(&x, dO);
    at_sdpa_args a = {.path = path, .scale = 1, .causal = causal, .align = ATTIC_ALIGN_TOP_LEFT};
    *O = at_sdpa(x.t, x.Q, x.K, x.V, a);
    at_backward_from(x.t, *O, dO);
    ck_assert_msg(at_ok(x.t), "%s", at_error(x.t));
    return x;
}

/* The largest difference of two gradients, beside the largest of their numbers and of their terms. */
static double gradients_apart(const at_tensor *x, const at_tensor *y, double terms)
{
    double off = 0, size = terms;
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++) {
        off = fmax(off, fabs(at_grad_element(x, i) - at_grad_element(y, i)));
        size = fmax(size, fabs(at_grad_element(y, i)));
    }
    return off / size;
}

START_TEST(scores_of_ten_thousand_lose_nothing)
{
    at_tensor *O, *exact;
    for (int causal = 0; causal < 2; causal++) {
        qkv y = run_large_scores(ATTIC_F64, ATTIC_PLAIN, causal, &exact);
        for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
            qkv x = run_large_scores(ATTIC_F32, path, causal, &O);
            for (ptrdiff_t i = 0; i < at_count(O->shape); i++)
                assert_close(at_element(O, i), at_element(exact, i), 2e-6);
            ck_assert_double_le(gradients_apart(x.V, y.V, 1), 2e-6);
            ck_assert_double_le(gradients_apart(x.Q, y.Q, 50), 2e-6);
            ck_assert_double_le(gradients_apart(x.K, y.K, 100), 2e-6);
            at_close(x.t);
        }
        at_close(y.t);
    }
}
END_TEST

static void run_sizes(const int n[6], at_sdpa_path path) /* B H T S D Dv */
{
    qkv x = make_qkv(ATTIC_F32, at_shape_of(n[0], n[1], n[2], n[4]),
                     at_shape_of(n[0], n[1], n[3], n[4]), at_shape_of(n[0], n[1], n[3], n[5]));
    at_tensor *A, *P, *s, *lse;
    at_sdpa_args a = {.path = path, .weights = &A, .probs = &P, .scores = &s, .lse = &lse};
    at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, a);
    ck_assert_msg(O && at_backward(x.t, at_sum(x.t, O)), "%s", at_error(x.t));
    ck_assert(at_same_shape(O->shape, at_shape_of(n[0], n[1], n[2], n[5])));
    for (ptrdiff_t m = at_count(O->shape), e = 0; n[3] == 0 && e < m; e++)
        ck_assert(at_element(O, e) == 0);
    at_close(x.t);
}

START_TEST(sizes_of_zero_are_legal)
{
    static const int sizes[][6] = {{0, 2, 3, 4, 2, 2}, {2, 0, 3, 4, 2, 2}, {2, 2, 0, 4, 2, 2},
                                   {2, 2, 3, 0, 2, 2}, {2, 2, 3, 4, 0, 2}, {2, 2, 3, 4, 2, 0},
                                   {1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0}};
    for (int i = 0; i < 8; i++)
        for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) run_sizes(sizes[i], path);
}
END_TEST

START_TEST(without_D_all_keys_weigh_the_same)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_one(ATTIC_F64, 1, 4, 0, 1);
        at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, (at_sdpa_args){.path = path});
        assert_close(at_item(O), at_item(at_mean(x.t, x.V)), 1e-15);
        at_close(x.t);
    }
}
END_TEST

/* ------------------------------------------------------------------ one thing, two ways -------- */

START_TEST(packed_heads_give_the_bits_of_separate_heads)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        at_shape s = at_shape_of(2, 5, 6), order = at_shape_of(0, 2, 1, 3);
        qkv x = make_same(ATTIC_F32, s), y = make_same(ATTIC_F32, s);
        at_tensor *in[] = {x.Q, x.K, x.V}, *head[3];
        for (int i = 0; i < 3; i++)
            head[i] = at_permute(x.t, at_reshape(x.t, in[i], at_shape_of(2, 5, 2, 3)), order);
        at_sdpa_args a = {.path = path, .dropout = 0.3, .causal = true};
        at_tensor *O = at_sdpa(x.t, head[0], head[1], head[2], a);
        O = at_permute(x.t, O, order);
        a.heads = 2;
        ck_assert(same_bits(O, at_sdpa(y.t, y.Q, y.K, y.V, a), 2 * 5 * 6));
        at_close(x.t);
        at_close(y.t);
    }
}
END_TEST

START_TEST(one_tensor_in_three_places_gets_the_sum_of_three_gradients)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_same(ATTIC_F64, at_shape_of(4, 3));
        memcpy(x.K->data, x.Q->data, at_bytes(x.Q));
        memcpy(x.V->data, x.Q->data, at_bytes(x.Q));
        at_sdpa_args a = {.path = path, .causal = true};
        at_backward(x.t, at_sum(x.t, at_square(x.t, at_sdpa(x.t, x.Q, x.K, x.V, a))));
        double sum[12];
        for (int i = 0; i < 12; i++)
            sum[i] = at_grad_element(x.Q, i) + at_grad_element(x.K, i) + at_grad_element(x.V, i);
        at_zero_grads(x.t);
        at_backward(x.t, at_sum(x.t, at_square(x.t, at_sdpa(x.t, x.Q, x.Q, x.Q, a))));
        assert_all_close(12, (double *)x.Q->grad, sum, 1e-13);
        at_close(x.t);
    }
}
END_TEST

/* The gradient of one x [130,130], which is more than a tile, as Q, K, V and bias. */
static at_tensor *gradient_of_all_four(at_tape *t, at_sdpa_path path)
{
    at_tensor *x = at_variable(t, at_shape_of(130, 130), NULL);
    at_init_fill(x, at_normal(0.2), (at_stream){13, 0});
    at_tensor *y = at_sdpa(t, x, x, x, (at_sdpa_args){.path = path, .bias = x, .dropout = 0.1});
    at_backward(t, at_sum(t, at_square(t, y)));
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    return x;
}

START_TEST(one_tensor_may_be_the_bias_too)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *plain = gradient_of_all_four(t, ATTIC_PLAIN);
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        at_tape *u = at_open(ATTIC_F64, 1);
        ck_assert_double_le(gradients_apart(gradient_of_all_four(u, path), plain, 1), 1e-13);
        at_close(u);
    }
    at_close(t);
}
END_TEST

/* By how much (Q K^T + M) / sqrt(D), as some texts write it, differs from ours. */
static double mask_in_the_division(at_sdpa_path path, double masked)
{
    qkv x = make_one(ATTIC_F64, 2, 2, 4, 3);
    at_tensor *M = at_const(x.t, at_shape_of(2, 2), (double[]){0, masked, 0, 0});
    at_tensor *ours = at_sdpa(x.t, x.Q, x.K, x.V, (at_sdpa_args){.path = path, .bias = M});
    at_tensor *s = at_add(x.t, at_matmul_t(x.t, x.Q, false, x.K, true), M);
    at_tensor *theirs = at_matmul(x.t, at_softmax(x.t, at_scale(x.t, s, 0.5)), x.V);
    double off = fabs(at_get(ours, 0, 0) - at_get(theirs, 0, 0));
    at_close(x.t);
    return off;
}

START_TEST(a_mask_inside_the_division_is_our_bias_only_where_it_is_infinite)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        assert_close(mask_in_the_division(path, -(double)INFINITY), 0, 1e-14);
        ck_assert_double_gt(mask_in_the_division(path, -3), 1e-3);
    }
}
END_TEST

/* Keys 3 and 4 of batch 1 are padding, said in one of several ways. */
static at_tensor *without_padding(qkv *x, at_sdpa_path path, int how)
{
    const double off = -(double)INFINITY;
    at_tape *t = x->t;
    at_sdpa_args a = {.path = path};
    bool drop[10] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
    double M[10] = {0, 0, 0, 0, 0, 0, 0, 0, off, off};
    at_tensor *dropped = at_bools(t, at_shape_of(2, 1, 1, 5), drop);
    if (how == 0) a.key_len = at_ints(t, at_shape_of(2), (int32_t[]){5, 3});
    if (how == 1) a.keep = at_keep_from_drop(t, dropped);
    if (how == 2) a.keep = at_keep_lengths(t, at_ints(t, at_shape_of(2), (int32_t[]){5, 3}), 5);
    if (how == 3) a.bias = at_const(t, at_shape_of(2, 1, 1, 5), M);
    if (how == 4)
        a.scale = 1, a.temperature = 2, a.key_len = at_ints(t, at_shape_of(2), (int32_t[]){5, 3});
    return at_sdpa(t, x->Q, x->K, x->V, a);
}

START_TEST(texts_that_mean_the_same_get_the_same)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_qkv(ATTIC_F64, at_shape_of(2, 3, 3, 4), at_shape_of(2, 3, 5, 4),
                         at_shape_of(2, 3, 5, 4));
        at_tensor *first = without_padding(&x, path, 0);
        for (int how = 1; how < 5; how++) {
            at_tensor *O = without_padding(&x, path, how);
            ck_assert_msg(O, "%s", at_error(x.t));
            assert_all_close(72, (double *)O->data, (double *)first->data, 1e-14);
        }
        at_close(x.t);
    }
}
END_TEST

START_TEST(a_replay_reads_keep_and_lengths_anew)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_one(ATTIC_F64, 1, 3, 2, 1);
        at_sdpa_args a = {.path = path};
        a.keep = at_bools(x.t, at_shape_of(3), (bool[]){1, 1, 1});
        a.key_len = at_ints(x.t, at_shape_of(1), (int32_t[]){3});
        at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, a);
        at_set(a.keep, 0, 0);
        at_set(a.key_len, 2, 0);
        at_replay(x.t); /* only key 1 is left */
        assert_close(at_item(O), at_get(x.V, 1, 0), 0);
        at_close(x.t);
    }
}
END_TEST

/* ------------------------------------------------------------------ dropout -------------------- */

START_TEST(dropout_is_off_outside_of_training_and_draws_nothing)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_same(ATTIC_F32, at_shape_of(4, 2));
        at_train(x.t, false);
        at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, (at_sdpa_args){.path = path, .dropout = 0.5});
        at_tensor *without = at_sdpa(x.t, x.Q, x.K, x.V, (at_sdpa_args){.path = path});
        ck_assert(same_bits(O, without, 8));
        ck_assert_uint_eq(at_draw(x.t).draw, 0);
        at_close(x.t);
    }
}
END_TEST

START_TEST(dropout_drops_its_share_and_keeps_the_mean)
{
    enum { N = 200 };
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_one(ATTIC_F64, N, N, 2, 1);
        at_tensor *A, *P;
        at_sdpa_args a = {.path = path, .dropout = 0.3, .weights = &A, .probs = &P};
        at_sdpa(x.t, x.Q, x.K, x.V, a);
        double dropped = 0, sum = 0;
        for (int i = 0; i < N * N; i++) {
            double w = at_element(A, i);
            dropped += w == 0;
            sum += w;
            if (w != 0) assert_close(w, at_element(P, i) / 0.7, 1e-15);
        }
        assert_close(dropped / (N * N), 0.3, 0.01); /* 40,000 draws: standard deviation 0.0023 */
        assert_close(sum / N, 1, 0.03);
        at_close(x.t);
    }
}
END_TEST

/* ------------------------------------------------------------------ outputs -------------------- */

START_TEST(weights_probs_and_lse_have_a_gradient_and_the_scores_have_none)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x =
            make_qkv(ATTIC_F32, at_shape_of(2, 3, 8), at_shape_of(2, 5, 4), at_shape_of(2, 5, 6));
        at_tensor *A, *s, *P, *lse;
        at_sdpa_args a = {.path = path, .heads = 4, .kv_heads = 2, .softcap = 2};
        a.weights = &A, a.scores = &s, a.probs = &P, a.lse = &lse;
        at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, a);
        ck_assert_str_eq(at_shape_text(O->shape), "[2,3,12]");
        ck_assert_str_eq(at_shape_text(A->shape), "[2,4,3,5]");
        ck_assert_str_eq(at_shape_text(s->shape), "[2,4,3,5]");
        ck_assert_str_eq(at_shape_text(P->shape), "[2,4,3,5]");
        ck_assert_str_eq(at_shape_text(lse->shape), "[2,4,3]");
        ck_assert(O->wants_grad && A->wants_grad && P->wants_grad && lse->wants_grad);
        ck_assert(!s->wants_grad);
        at_close(x.t);
    }
}
END_TEST

/* Three heads, a scale for each: what scales Q by it does. */
START_TEST(a_learned_scale_does_what_scaling_the_queries_does)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_same(ATTIC_F64, at_shape_of(2, 3, 4, 2));
        at_tensor *s = at_variable(x.t, at_shape_of(3), (double[]){2, -0.5, 1.5}), *grad[2][2];
        at_sdpa_args a = {.path = path, .causal = true, .dropout = 0.3};
        for (int mine = 0; mine < 2; mine++) {
            at_tensor *Q = mine ? x.Q : at_mul(x.t, x.Q, at_reshape(x.t, s, at_shape_of(3, 1, 1)));
            a.head_scale = mine ? s : NULL;
            at_draws_set(x.t, 1, 0); /* the same drops both times */
            at_backward(x.t, at_sum(x.t, at_square(x.t, at_sdpa(x.t, Q, x.K, x.V, a))));
            grad[mine][0] = at_grad_copy(x.t, x.Q), grad[mine][1] = at_grad_copy(x.t, s);
            at_zero_grads(x.t);
            ck_assert_msg(at_ok(x.t), "%s", at_error(x.t));
        }
        assert_all_close(48, (double *)grad[1][0]->data, (double *)grad[0][0]->data, 1e-14);
        assert_all_close(3, (double *)grad[1][1]->data, (double *)grad[0][1]->data, 1e-14);
        at_close(x.t);
    }
}
END_TEST

START_TEST(the_scores_tapped_are_all_of_them_before_softcap_and_mask)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_one(ATTIC_F64, 3, 3, 2, 2);
        at_tensor *s;
        at_sdpa_args a = {.path = path, .causal = true, .softcap = 0.1, .scores = &s};
        at_sdpa(x.t, x.Q, x.K, x.V, a);
        double dot = at_get(x.Q, 0, 0) * at_get(x.K, 2, 0) + at_get(x.Q, 0, 1) * at_get(x.K, 2, 1);
        assert_close(at_get(s, 0, 2), dot / sqrt(2), 1e-15);
        at_close(x.t);
    }
}
END_TEST

START_TEST(an_empty_row_is_no_anomaly)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_one(ATTIC_F32, 2, 1, 2, 2);
        at_anomaly(x.t, true);
        at_tensor *lse;
        at_sdpa_args a = {.path = path, .lse = &lse, .causal = true};
        a.align = ATTIC_ALIGN_BOTTOM_RIGHT; /* row 0 comes before the first key */
        at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, a);
        ck_assert_msg(O && at_backward(x.t, at_sum(x.t, O)), "%s", at_error(x.t));
        at_close(x.t);
    }
}
END_TEST

START_TEST(after_an_error_nothing_is_handed_out)
{
    qkv x = make_one(ATTIC_F32, 3, 3, 2, 2);
    at_tensor *A = x.Q, *s = x.Q, *P = x.Q, *lse = x.Q;
    at_sdpa_args a = {.dropout = 1, .weights = &A, .scores = &s, .probs = &P, .lse = &lse};
    ck_assert_ptr_null(at_sdpa(x.t, x.Q, x.K, x.V, a));
    ck_assert(!A && !s && !P && !lse);
    at_close(x.t);
}
END_TEST

/* ------------------------------------------------------------------ errors --------------------- */

static void expect_refusal(qkv x, at_sdpa_args a, const char *message)
{
    ck_assert_ptr_null(at_sdpa(x.t, x.Q, x.K, x.V, a));
    ck_assert_str_eq(at_error(x.t), message);
    at_clear_error(x.t);
    ck_assert_int_eq(at_memory_of(x.t).nodes, 0);
}

static void refuse_shapes(at_shape Q, at_shape K, at_shape V, at_sdpa_args a, const char *message)
{
    qkv x = make_qkv(ATTIC_F32, Q, K, V);
    expect_refusal(x, a, message);
    at_close(x.t);
}

START_TEST(shapes_that_disagree_are_named)
{
    const at_sdpa_args none = {0};
    refuse_shapes(at_shape_of(5), at_shape_of(5), at_shape_of(5), none,
                  "sdpa: Q is [5], but must be [rows,D], [B,rows,D] or [B,heads,rows,D]");
    refuse_shapes(at_shape_of(2, 3, 4), at_shape_of(3, 4), at_shape_of(3, 4), none,
                  "sdpa: Q is [2,3,4] but K is [3,4]: they need the same number of dimensions");
    refuse_shapes(at_shape_of(2, 3, 4), at_shape_of(1, 3, 4), at_shape_of(1, 3, 4), none,
                  "sdpa: Q is [2,3,4] but K is [1,3,4]: the batches, 2 and 1, differ");
    refuse_shapes(at_shape_of(2, 3, 4), at_shape_of(2, 3, 4), at_shape_of(3, 3, 4), none,
                  "sdpa: K is [2,3,4] but V is [3,3,4]: the batches, 2 and 3, differ");
    refuse_shapes(
        at_shape_of(3, 4), at_shape_of(3, 5), at_shape_of(3, 4), none,
        "sdpa: Q is [3,4] but K is [3,5]: the sizes of a query and a key, 4 and 5, differ");
    refuse_shapes(
        at_shape_of(3, 4), at_shape_of(6, 4), at_shape_of(7, 4), none,
        "sdpa: K is [6,4] but V is [7,4]: the numbers of keys and values, 6 and 7, differ");
    refuse_shapes(at_shape_of(1, 4, 2, 2), at_shape_of(1, 2, 2, 2), at_shape_of(1, 4, 2, 2), none,
                  "sdpa: K is [1,2,2,2] but V is [1,4,2,2]: the numbers of heads, 2 and 4, differ");
}
END_TEST

START_TEST(heads_that_do_not_fit_are_named)
{
    at_shape q = at_shape_of(1, 6, 2, 2), k = at_shape_of(1, 4, 2, 2), p = at_shape_of(2, 3, 10);
    refuse_shapes(q, k, k, (at_sdpa_args){0},
                  "sdpa: 6 query heads can't share 4 key/value heads evenly (Q is [1,6,2,2], K is "
                  "[1,4,2,2])");
    refuse_shapes(p, p, p, (at_sdpa_args){.heads = 4},
                  "sdpa: Q is [2,3,10], but its last dimension can't be cut into 4 heads");
    refuse_shapes(p, p, p, (at_sdpa_args){.heads = 2, .kv_heads = 3},
                  "sdpa: K is [2,3,10], but its last dimension can't be cut into 3 heads");
    refuse_shapes(q, q, q, (at_sdpa_args){.heads = 6},
                  "sdpa: Q is [1,6,2,2], but with heads = 6 it must be packed: [rows,6*D] or "
                  "[B,rows,6*D]");
    refuse_shapes(q, q, q, (at_sdpa_args){.kv_heads = 2},
                  "sdpa: kv_heads = 2, but K is [1,6,2,2]: without heads it is read from K");
    refuse_shapes(p, p, p, (at_sdpa_args){.heads = -1},
                  "sdpa: heads = -1 and kv_heads = 0, but neither can be negative");
}
END_TEST

START_TEST(options_out_of_range_are_named)
{
    qkv x = make_one(ATTIC_F32, 2, 3, 4, 4);
    expect_refusal(x, (at_sdpa_args){.scale = (double)NAN},
                   "sdpa: scale is nan, but must be finite (0 means 1/sqrt(D))");
    expect_refusal(x, (at_sdpa_args){.temperature = -1},
                   "sdpa: temperature is -1, but must be positive (0 means 1)");
    expect_refusal(x, (at_sdpa_args){.scale = 1e300, .temperature = 1e-300},
                   "sdpa: scale / temperature = 1e+300 / 1e-300 is not finite in f32");
    expect_refusal(x, (at_sdpa_args){.softcap = -2},
                   "sdpa: softcap is -2, but must be positive (0 means none)");
    expect_refusal(x, (at_sdpa_args){.dropout = 1},
                   "sdpa: dropout is 1, but must be in 0 <= p < 1");
    expect_refusal(x, (at_sdpa_args){.dropout = (double)NAN},
                   "sdpa: dropout is nan, but must be in 0 <= p < 1");
    expect_refusal(x, (at_sdpa_args){.path = (at_sdpa_path)7}, "sdpa: there is no path 7");
    expect_refusal(x, (at_sdpa_args){.align = (at_align)9}, "sdpa: there is no alignment 9");
    expect_refusal(x, (at_sdpa_args){.window_left = -1},
                   "sdpa: the window is -1 keys to the left and 0 to the right, but neither can be "
                   "negative (0 means no limit, 1 the diagonal alone)");
    expect_refusal(x, (at_sdpa_args){.causal = true},
                   "sdpa: 2 queries and 3 keys: say where the diagonal of causal or a window "
                   "lies, align = "
                   "ATTIC_ALIGN_TOP_LEFT, ATTIC_ALIGN_BOTTOM_RIGHT or ATTIC_ALIGN_OFFSET");
    expect_refusal(x, (at_sdpa_args){.window_left = 2},
                   "sdpa: 2 queries and 3 keys: say where the diagonal of causal or a window "
                   "lies, align = "
                   "ATTIC_ALIGN_TOP_LEFT, ATTIC_ALIGN_BOTTOM_RIGHT or ATTIC_ALIGN_OFFSET");
    expect_refusal(x, (at_sdpa_args){.causal = true, .align = ATTIC_ALIGN_TOP_LEFT, .offset = 1},
                   "sdpa: offset = 1 counts only with align = ATTIC_ALIGN_OFFSET");
    at_close(x.t);
}
END_TEST

START_TEST(masks_that_do_not_fit_are_named)
{
    qkv x = make_qkv(ATTIC_F32, at_shape_of(2, 3, 4, 2), at_shape_of(2, 3, 5, 2),
                     at_shape_of(2, 3, 5, 2));
    at_tape *t = x.t;
    expect_refusal(x, (at_sdpa_args){.keep = at_bools(t, at_shape_of(2, 4, 5), NULL)},
                   "sdpa: keep is [2,4,5] beside 3 heads, which is ambiguous: make it [B,1,T,N] or "
                   "[1,H,T,N]");
    expect_refusal(x, (at_sdpa_args){.bias = at_const(t, at_shape_of(4, 4), NULL)},
                   "sdpa: bias is [4,4], which can't be broadcast to the scores [2,3,4,5]");
    expect_refusal(x, (at_sdpa_args){.bias = at_bools(t, at_shape_of(4, 5), NULL)},
                   "sdpa: bias [4,5] has dtype bool but must be f32");
    expect_refusal(x, (at_sdpa_args){.head_scale = at_const(t, at_shape_of(2), NULL)},
                   "sdpa: head_scale is [2], but must be [] or [3], a number for each query head");
    expect_refusal(x, (at_sdpa_args){.head_scale = at_bools(t, at_shape_of(3), NULL)},
                   "sdpa: head_scale [3] has dtype bool but must be f32");
    expect_refusal(x, (at_sdpa_args){.keep = at_const(t, at_shape_of(4, 5), NULL)},
                   "sdpa: keep [4,5] has dtype f32 but must be bool");
    expect_refusal(x, (at_sdpa_args){.key_len = at_ints(t, at_shape_of(3), NULL)},
                   "sdpa: key_len is [3], but must be [2], one length for each batch");
    expect_refusal(x, (at_sdpa_args){.key_len = at_ints(t, at_shape_of(2), (int32_t[]){5, 6})},
                   "sdpa: key_len[1] is 6, but there are 5 keys");
    expect_refusal(x, (at_sdpa_args){.key_len = at_ints(t, at_shape_of(2), (int32_t[]){-1, 2})},
                   "sdpa: key_len[0] is -1, but there are 5 keys");
    at_close(t);
}
END_TEST

START_TEST(a_mask_of_three_axes_needs_no_more_where_there_are_no_heads)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_same(ATTIC_F32, at_shape_of(2, 3, 4));
        bool first[18] = {0};
        for (int i = 0; i < 18; i++) first[i] = i % 3 == 0;
        at_sdpa_args a = {.path = path, .keep = at_bools(x.t, at_shape_of(2, 3, 3), first)};
        at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, a);
        for (int b = 0; b < 2; b++) assert_close(at_get(O, b, 2, 1), at_get(x.V, b, 0, 1), 0);
        at_close(x.t);
    }
}
END_TEST

START_TEST(numbers_that_f32_cannot_hold_are_refused_there_alone)
{
    qkv x = make_one(ATTIC_F32, 2, 2, 4, 4), y = make_one(ATTIC_F64, 2, 2, 4, 4);
    expect_refusal(x, (at_sdpa_args){.scale = 1e300},
                   "sdpa: scale / temperature = 1e+300 / 1 is not finite in f32");
    expect_refusal(x, (at_sdpa_args){.scale = 1, .temperature = 1e-300},
                   "sdpa: scale / temperature = 1 / 1e-300 is not finite in f32");
    expect_refusal(x, (at_sdpa_args){.softcap = 1e-50},
                   "sdpa: 1 / softcap is 1e+50, but must be a finite f32");
    expect_refusal(x, (at_sdpa_args){.softcap = 1e50},
                   "sdpa: softcap is 1e+50, but must be a finite f32");
    ck_assert_ptr_nonnull(at_sdpa(y.t, y.Q, y.K, y.V, (at_sdpa_args){.scale = 1e300}));
    at_sdpa_args one = {.scale = 1e300, .temperature = 1e300}; /* a quotient of 1 */
    ck_assert_ptr_nonnull(at_sdpa(x.t, x.Q, x.K, x.V, one));
    at_close(x.t);
    at_close(y.t);
}
END_TEST

SUITE(attention_attention, every_path_gives_the_numbers_of_numpy_and_their_gradients,
      one_query_two_keys_by_hand, rows_of_the_weights_sum_to_one,
      the_future_does_not_change_the_past, rows_with_nothing_kept_give_exact_zeros,
      scores_of_minus_infinity_are_kept_and_surface, scores_of_ten_thousand_lose_nothing,
      sizes_of_zero_are_legal, without_D_all_keys_weigh_the_same,
      packed_heads_give_the_bits_of_separate_heads,
      one_tensor_in_three_places_gets_the_sum_of_three_gradients, one_tensor_may_be_the_bias_too,
      a_mask_inside_the_division_is_our_bias_only_where_it_is_infinite,
      texts_that_mean_the_same_get_the_same, a_replay_reads_keep_and_lengths_anew,
      dropout_is_off_outside_of_training_and_draws_nothing,
      dropout_drops_its_share_and_keeps_the_mean,
      weights_probs_and_lse_have_a_gradient_and_the_scores_have_none,
      a_learned_scale_does_what_scaling_the_queries_does,
      the_scores_tapped_are_all_of_them_before_softcap_and_mask, an_empty_row_is_no_anomaly,
      after_an_error_nothing_is_handed_out, shapes_that_disagree_are_named,
      heads_that_do_not_fit_are_named, options_out_of_range_are_named,
      masks_that_do_not_fit_are_named, a_mask_of_three_axes_needs_no_more_where_there_are_no_heads,
      numbers_that_f32_cannot_hold_are_refused_there_alone)
