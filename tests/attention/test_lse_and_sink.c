/* test_lse_and_sink.c -- the log-sum-exp of attention as an output with a gradient, and the sink. */
#include "attic.h"
#include "tensors.h"

#include <math.h>

#include "attention/pairing.h"

enum { PATHS = 3, B = 2, H = 2, T = 5, N = 6, D = 3 };

static const double inf = (double)INFINITY;

typedef struct {
    at_tape *t;
    at_tensor *Q, *K, *V;
} qkv;

static qkv make_qkv(at_dtype real)
{
    qkv x = {.t = at_open(real, 3)};
    at_tensor **in[] = {&x.Q, &x.K, &x.V};
    for (int i = 0; i < 3; i++) {
        *in[i] = at_variable(x.t, at_shape_of(B, H, i ? N : T, D), NULL);
        at_init_fill(*in[i], at_normal(1), (at_stream){3, (uint64_t)i});
    }
    return x;
}

/* Constants that differ. */
static at_tensor *weights_like(at_tape *t, const at_tensor *y)
{
    at_tensor *c = at_const(t, y->shape, NULL);
    for (ptrdiff_t i = 0; i < at_count(c->shape); i++)
        at_store(c->dtype, c->data, i, sin(1.0 + 2.0 * (double)i));
    return c;
}

/* Backward from <c, O> + <e, lse>; lse may be NULL. */
static void pull_both(at_tape *t, at_tensor *O, at_tensor *lse)
{
    at_tensor *y[] = {O, lse}, *c[] = {weights_like(t, O), lse ? weights_like(t, lse) : NULL};
    ck_assert_msg(at_ok(t) && at_backward(t, pairing(t, lse ? 2 : 1, y, c)), "%s", at_error(t));
}

/* Is x close to y, and are its gradients? */
static void expect_alike(const at_tensor *x, const at_tensor *y, bool grad, double tol)
{
    ck_assert(at_same_shape(x->shape, y->shape));
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++) {
        double a = grad ? at_grad_element(x, i) : at_element(x, i);
        double b = grad ? at_grad_element(y, i) : at_element(y, i);
        ck_assert_msg(a == b || fabs(a - b) <= tol, "%td: %.17g, not %.17g", i, a, b);
    }
}

/* ------------------------------------------------------------------ lse ------------------------ */

/* q = k = 1, v = 2, s = 0: sigmoid(lse - s) O, as gpt-oss is often written with a kernel that knows no
 * sink.  By hand: lse = 1, y = 2 sigmoid(1), dq = dk = 2 sigmoid'(1) = 0.39322387. */
START_TEST(a_sink_made_of_lse_has_the_gradients_of_a_sink)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        at_tensor *x[4], *lse;
        for (int i = 0; i < 4; i++)
            x[i] = at_variable(t, i < 3 ? at_shape_of(1, 1) : at_shape_of(1),
                               (double[]){i < 2    ? 1
                                          : i == 2 ? 2
                                                   : 0});
        at_sdpa_args a = {.scale = 1, .lse = &lse, .path = path};
        at_tensor *O = at_sdpa(t, x[0], x[1], x[2], a);
        at_tensor *left = at_sigmoid(t, at_sub(t, lse, x[3]));
        ck_assert(at_backward(t, at_sum(t, at_mul(t, O, at_reshape(t, left, at_shape_of(1, 1))))));
        const double dq = 0.39322386648296376, grad[] = {dq, dq, 0.7310585786300049, -dq};
        for (int i = 0; i < 4; i++) assert_close(at_grad_element(x[i], 0), grad[i], 1e-15);

        at_tensor *y[3];
        for (int i = 0; i < 3; i++) y[i] = variable_like(t, x[i]);
        a = (at_sdpa_args){.scale = 1, .path = path, .sink = variable_like(t, x[3])};
        ck_assert(at_backward(t, at_sum(t, at_sdpa(t, y[0], y[1], y[2], a))));
        for (int i = 0; i < 3; i++) assert_close(at_grad_element(y[i], 0), grad[i], 1e-15);
        assert_close(at_grad_element(a.sink, 0), -dq, 1e-15);
        at_close(t);
    }
}
END_TEST

/* z-loss: the mean square of lse, beside a loss of O; by the scores, with single ops. */
START_TEST(the_gradient_of_a_z_loss_is_that_of_logsumexp)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_qkv(ATTIC_F64), y = make_qkv(ATTIC_F64);
        at_tensor *lse, *S = at_matmul_t(y.t, y.Q, false, y.K, true);
        ck_assert_ptr_nonnull(
            at_sdpa(x.t, x.Q, x.K, x.V, (at_sdpa_args){.lse = &lse, .path = path}));
        at_tensor *own = at_logsumexp(y.t, at_scale(y.t, S, 1 / sqrt(D)), -1, false);
        ck_assert(at_backward(x.t, at_mean(x.t, at_square(x.t, lse))));
        ck_assert(at_backward(y.t, at_mean(y.t, at_square(y.t, own))));
        expect_alike(x.Q, y.Q, true, 1e-15);
        expect_alike(x.K, y.K, true, 1e-15);
        ck_assert(path == ATTIC_COMPOSED || !x.V->grad || at_grad_element(x.V, 0) == 0);
        at_close(x.t), at_close(y.t);
    }
}
END_TEST

/* keep [T,N]: keys `from` to `to` alone; row 1 keeps keys of the first half only, row 2 of the second
 * half only, row 3 none. */
static at_tensor *keep_part(at_tape *t, int from, int to)
{
    at_tensor *keep = at_bools(t, at_shape_of(T, N), NULL);
    for (int i = 0; i < T; i++)
        for (int j = from; j < to; j++)
            at_store(ATTIC_BOOL, keep->data, i * N + j,
                     i != 3 && !(i == 1 && j >= N / 2) && !(i == 2 && j < N / 2));
    return keep;
}

/* Attention to two halves of the keys, joined by their lse: w = softmax(lse_1, lse_2), O = w_1 O_1 + w_2
 * O_2, and lse = logsumexp(lse_1, lse_2). */
static at_tensor *joined(const qkv *x, at_sdpa_args a, at_tensor **lse)
{
    at_tape *t = x->t;
    const at_shape column = at_shape_of(B, H, T, 1);
    at_tensor *O[2], *l[2], *part;
    for (int k = 0; k < 2; k++) {
        a.keep = keep_part(t, k * N / 2, (k + 1) * N / 2), a.lse = &part;
        O[k] = at_sdpa(t, x->Q, x->K, x->V, a);
        l[k] = at_reshape(t, part, column);
    }
    at_tensor *both = at_concat(t, l, 2, -1), *w = at_softmax(t, both);
    *lse = at_logsumexp(t, both, -1, false);
    at_tensor *first = at_mul(t, at_slice(t, w, 3, 0, 1), O[0]);
    at_tensor *second = at_mul(t, at_slice(t, w, 3, 1, 2), O[1]);
    return at_add(t, first, second);
}

START_TEST(two_calls_over_parts_of_the_keys_are_joined_by_their_lse)
{
    for (int run = 0; run < 2 * PATHS; run++) {
        const at_dtype real = run < PATHS ? ATTIC_F64 : ATTIC_F32;
        const double tol = run < PATHS ? 4e-15 : 2e-6;
        qkv x = make_qkv(real), y = make_qkv(real);
        at_tensor *lse, *other;
        at_sdpa_args a = {.path = (at_sdpa_path)(ATTIC_FUSED + run % PATHS)};
        at_tensor *P = joined(&y, a, &other);
        a.keep = keep_part(x.t, 0, N), a.lse = &lse;
        at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, a);
        pull_both(x.t, O, lse), pull_both(y.t, P, other);
        expect_alike(P, O, false, tol), expect_alike(other, lse, false, tol);
        expect_alike(y.Q, x.Q, true, tol), expect_alike(y.K, x.K, true, tol);
        expect_alike(y.V, x.V, true, tol);
        for (int k = 0; k < D; k++) { /* row 3 keeps nothing */
            ck_assert(at_element(P, 3 * D + k) == 0);
            ck_assert(at_grad_element(y.Q, 3 * D + k) == 0);
        }
        ck_assert(at_element(other, 3) == -inf);
        at_close(x.t), at_close(y.t);
    }
}
END_TEST

/* ------------------------------------------------------------------ sinks ---------------------- */

/* A key of zeros in front, whose value is 0 and whose bias is the sink; without a window that is the
 * same. */
static at_tensor *with_a_key_more(const qkv *x, at_tensor *sink, at_sdpa_args a)
{
    at_tape *t = x->t;
    at_tensor *zero = at_const(t, at_shape_of(B, H, 1, D), NULL);
    at_tensor *flat = at_const(t, at_shape_of(1, H, 1, N), NULL);
    at_tensor *K = at_concat(t, (at_tensor *[]){zero, x->K}, 2, 2);
    at_tensor *V = at_concat(t, (at_tensor *[]){zero, x->V}, 2, 2);
    sink = at_reshape(t, sink, at_shape_of(1, H, 1, 1));
    a.bias = at_concat(t, (at_tensor *[]){sink, flat}, 2, 3);
    return at_sdpa(t, x->Q, K, V, a);
}

START_TEST(a_sink_is_a_key_whose_value_is_0)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_qkv(ATTIC_F64), y = make_qkv(ATTIC_F64);
        at_tensor *s = at_variable(x.t, at_shape_of(H), (double[]){0.7, -1.2});
        at_tensor *other = variable_like(y.t, s), *lse, *key_lse;
        at_sdpa_args a = {.path = path, .sink = s, .lse = &lse};
        at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, a);
        a = (at_sdpa_args){.path = path, .lse = &key_lse};
        at_tensor *P = with_a_key_more(&y, other, a);
        pull_both(x.t, O, lse), pull_both(y.t, P, key_lse);
        expect_alike(O, P, false, 1e-15), expect_alike(lse, key_lse, false, 1e-15);
        expect_alike(x.Q, y.Q, true, 2e-15), expect_alike(x.K, y.K, true, 2e-15);
        expect_alike(x.V, y.V, true, 2e-15), expect_alike(s, other, true, 2e-15);
        at_close(x.t), at_close(y.t);
    }
}
END_TEST

/* By hand: scores 0, window of 1, so that row i keeps key i alone; P_ii = 1 / (1 + e^s). */
START_TEST(a_window_does_not_lose_the_sink)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        at_tensor *Q = at_const(t, at_shape_of(4, 1), NULL), *P, *lse;
        at_tensor *V = at_const(t, at_shape_of(4, 1), (double[]){1, 2, 3, 4});
        at_tensor *s = at_variable(t, at_shape_of(), (double[]){log(3)});
        at_sdpa_args a = {.path = path, .sink = s, .window_left = 1, .window_right = 1};
        a.probs = &P, a.lse = &lse;
        at_tensor *O = at_sdpa(t, Q, Q, V, a);
        assert_values(O, ((double[]){0.25, 0.5, 0.75, 1}), 1e-15);
        for (int i = 0; i < 4; i++) {
            assert_close(at_element(P, 5 * i), 0.25, 1e-15);
            assert_close(at_element(lse, i), log(4), 1e-15);
        }
        ck_assert(
            at_backward(t, at_sum(t, O))); /* ds = -sum_i p_i delta_i, p = 3/4, delta_i = O_i */
        assert_close(at_grad_element(s, 0), -0.75 * 2.5, 1e-15);
        at_close(t);
    }
}
END_TEST

/* exp(S_ij) / (1 + sum_k exp(S_ik)) */
START_TEST(the_off_by_one_softmax_is_a_sink_of_0)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        at_tensor *Q = at_const(t, at_shape_of(1, 1), (double[]){1}), *P;
        at_tensor *K = at_const(t, at_shape_of(2, 1), (double[]){log(2), log(5)});
        at_sdpa_args a = {.path = path, .probs = &P, .sink = at_const(t, at_shape_of(), NULL)};
        at_sdpa(t, Q, K, K, a);
        assert_values(P, ((double[]){0.25, 0.625}), 1e-15);
        at_close(t);
    }
}
END_TEST

/* Row 0 keeps no key: O = 0, P = 0, lse = s, and all of dlse goes to s. */
START_TEST(a_row_without_keys_gives_all_to_its_sink)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++)
        for (int none = 0; none < 2; none++) { /* no row keeps a key; there are no keys */
            at_tape *t = at_open(ATTIC_F32, 1);
            const int keys = none ? 0 : 2;
            at_tensor *Q = at_variable(t, at_shape_of(2, 1), (double[]){1, (double)NAN});
            at_tensor *K = at_variable(t, at_shape_of(keys, 1), NULL), *P, *lse;
            at_tensor *s = at_variable(t, at_shape_of(1), (double[]){0.25});
            at_sdpa_args a = {.path = path, .sink = s, .probs = &P, .lse = &lse};
            a.keep = at_bools(t, at_shape_of(1), (bool[]){false});
            at_tensor *O = at_sdpa(t, Q, K, K, a);
            if (path == ATTIC_COMPOSED) /* which multiplies by 0 */
                at_set(Q, 2, 1, 0), ck_assert(at_replay(t));
            assert_values(O, ((double[]){0, 0}), 0);
            assert_values(lse, ((double[]){0.25, 0.25}), 0);
            for (int k = 0; k < 2 * keys; k++) ck_assert(at_element(P, k) == 0);
            at_tensor *c = at_const(t, at_shape_of(2), (double[]){3, 4});
            ck_assert(at_backward(t, at_sum(t, at_mul(t, lse, c))));
            assert_grads(s, ((double[]){7}), 0);
            for (int k = 0; k < 2; k++) ck_assert(at_grad_element(Q, k) == 0);
            at_close(t);
        }
}
END_TEST

START_TEST(a_sink_of_minus_infinity_is_none)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        qkv x = make_qkv(ATTIC_F32), y = make_qkv(ATTIC_F32);
        at_tensor *s = at_variable(x.t, at_shape_of(H), (double[]){-inf, -inf}), *lse, *other;
        at_sdpa_args a = {.path = path, .sink = s, .lse = &lse, .causal = true};
        a.align = ATTIC_ALIGN_OFFSET, a.offset = -2; /* rows 0 and 1 keep nothing */
        at_tensor *O = at_sdpa(x.t, x.Q, x.K, x.V, a);
        a.sink = NULL, a.lse = &other;
        at_tensor *P = at_sdpa(y.t, y.Q, y.K, y.V, a);
        pull_both(x.t, O, lse), pull_both(y.t, P, other);
        const double tol = path == ATTIC_COMPOSED ? 1e-6 : 0; /* sums of another length */
        expect_alike(O, P, false, tol), expect_alike(lse, other, false, tol);
        expect_alike(x.Q, y.Q, true, tol), expect_alike(x.K, y.K, true, tol);
        expect_alike(x.V, y.V, true, tol);
        assert_grads(s, ((double[]){0, 0}), 0);
        at_close(x.t), at_close(y.t);
    }
}
END_TEST

/* Its gradient is the sum of those of two copies. */
START_TEST(a_sink_may_be_the_learned_scale_or_the_bias)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++)
        for (int bias = 0; bias < 2; bias++) {
            qkv x = make_qkv(ATTIC_F64), y = make_qkv(ATTIC_F64);
            at_tensor *s = at_variable(x.t, bias ? at_shape_of() : at_shape_of(H), NULL);
            at_init_fill(s, at_fill(0.8), (at_stream){0});
            at_tensor *one = variable_like(y.t, s), *two = variable_like(y.t, s);
            at_sdpa_args a = {.path = path, .sink = s};
            *(bias ? &a.bias : &a.head_scale) = s;
            pull_both(x.t, at_sdpa(x.t, x.Q, x.K, x.V, a), NULL);
            a.sink = one, *(bias ? &a.bias : &a.head_scale) = two;
            pull_both(y.t, at_sdpa(y.t, y.Q, y.K, y.V, a), NULL);
            for (ptrdiff_t i = 0; i < at_count(s->shape); i++)
                assert_close(at_grad_element(s, i),
                             at_grad_element(one, i) + at_grad_element(two, i), 1e-14);
            expect_alike(x.Q, y.Q, true, 0);
            at_close(x.t), at_close(y.t);
        }
}
END_TEST

/* Stored keys are widened, and all else is as with real ones. */
START_TEST(a_sink_stands_beside_keys_of_16_bits)
{
    const at_dtype stored[] = {ATTIC_F16, ATTIC_BF16};
    for (int i = 0; i < 2; i++) {
        qkv x = make_qkv(ATTIC_F32);
        at_tensor *K = at_cast(x.t, x.K, stored[i]), *V = at_cast(x.t, x.V, stored[i]), *lse, *same;
        at_tensor *Q = at_detach(x.t, x.Q);
        at_sdpa_args a = {.sink = at_const(x.t, at_shape_of(H), (double[]){0.5, 1}), .lse = &lse};
        at_tensor *O = at_sdpa(x.t, Q, K, V, a);
        K = at_cast(x.t, K, ATTIC_F32), V = at_cast(x.t, V, ATTIC_F32), a.lse = &same;
        at_tensor *P = at_sdpa(x.t, Q, K, V, a);
        ck_assert_msg(equal_bits(O, P) && equal_bits(lse, same), "%s", at_error(x.t));
        at_close(x.t);
    }
}
END_TEST

/* ------------------------------------------------------------------ errors --------------------- */

static void refuse(at_sdpa_args a, int shape, bool stored, const char *text)
{
    qkv x = make_qkv(ATTIC_F32);
    if (shape) a.sink = at_variable(x.t, shape > 9 ? at_shape_of(1, 1) : at_shape_of(shape), NULL);
    if (stored) {
        x.Q = at_detach(x.t, x.Q);
        x.K = at_cast(x.t, x.K, ATTIC_F16), x.V = at_cast(x.t, x.V, ATTIC_F16);
    }
    if (a.sink_tangent) a.sink_tangent = x.Q;
    ck_assert_ptr_null(at_sdpa(x.t, x.Q, x.K, x.V, a));
    assert_error(x.t, text);
    at_close(x.t);
}

START_TEST(bad_sinks_are_refused)
{
    at_tensor any = {0}, *none = NULL;
    refuse((at_sdpa_args){0}, 3, false,
           "sdpa: sink is [3], but must be [] or [2], a number for each query head");
    refuse((at_sdpa_args){0}, 10, false,
           "sdpa: sink is [1,1], but must be [] or [2], a number for each query head");
    refuse((at_sdpa_args){0}, 2, true,
           "sdpa: K and V are f16, which is for inference, but sink wants a gradient");
    refuse((at_sdpa_args){.sink_tangent = &any}, 2, false,
           "sdpa: sink_tangent is an option of at_sdpa_jvp, which computes tangents");
    refuse((at_sdpa_args){.lse_tangent = &none}, 2, false,
           "sdpa: lse_tangent is an option of at_sdpa_jvp, which computes tangents");

    qkv x = make_qkv(ATTIC_F32);
    at_tensor *Odot;
    at_sdpa_args a = {.sink_tangent = at_variable(x.t, at_shape_of(H), NULL)};
    ck_assert_ptr_null(at_sdpa_jvp(x.t, x.Q, x.K, x.V, NULL, NULL, NULL, a, &Odot));
    assert_error(x.t, "sdpa_jvp: sink_tangent is given without sink");
    at_close(x.t);
}
END_TEST

/* at_alibi_row_bias leaves out what is constant in a row, which changes no weight; but here it would. */
START_TEST(a_bias_that_leaves_out_constants_is_refused_beside_them)
{
    for (int lse = 0; lse < 2; lse++) {
        qkv x = make_qkv(ATTIC_F64);
        at_tensor *out, *slope = at_alibi_slopes(x.t, H);
        at_sdpa_args a = {.bias = at_alibi_row_bias(x.t, slope, N)};
        ck_assert_ptr_nonnull(at_sdpa(x.t, x.Q, x.K, x.V, a));
        if (lse)
            a.lse = &out;
        else
            a.sink = at_const(x.t, at_shape_of(H), NULL);
        ck_assert_ptr_null(at_sdpa(x.t, x.Q, x.K, x.V, a));
        assert_error(
            x.t, lse ? "sdpa: bias [1,2,1,6] is one of at_alibi_row_bias, which leaves out what is "
                       "constant in a row; lse needs at_alibi_bias"
                     : "sdpa: bias [1,2,1,6] is one of at_alibi_row_bias, which leaves out what is "
                       "constant in a row; a sink needs at_alibi_bias");
        at_close(x.t);
    }
}
END_TEST

SUITE(attention_lse_and_sink, a_bias_that_leaves_out_constants_is_refused_beside_them,
      a_sink_made_of_lse_has_the_gradients_of_a_sink, the_gradient_of_a_z_loss_is_that_of_logsumexp,
      two_calls_over_parts_of_the_keys_are_joined_by_their_lse, a_sink_is_a_key_whose_value_is_0,
      a_window_does_not_lose_the_sink, the_off_by_one_softmax_is_a_sink_of_0,
      a_row_without_keys_gives_all_to_its_sink, a_sink_of_minus_infinity_is_none,
      a_sink_may_be_the_learned_scale_or_the_bias, a_sink_stands_beside_keys_of_16_bits,
      bad_sinks_are_refused)
