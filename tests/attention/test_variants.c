/* test_variants.c -- additive and linear attention, and multi-query attention as a setting. */
#include "tensors.h"

#include <math.h>

/* of numbers around 1, after a few products */
static double rounding(const at_tape *t)
{
    return at_real(t) == ATTIC_F32 ? 1e-5 : 1e-13;
}

static void assert_same(const at_tensor *a, const at_tensor *b, double tol)
{
    ck_assert(a && b && at_same_shape(a->shape, b->shape));
    for (ptrdiff_t i = 0; i < at_count(a->shape); i++)
        assert_close(at_element(a, i), at_element(b, i), tol);
}

static void assert_gradient_passes(at_function *f, at_tape *t, at_tensor **in, int n, void *ctx)
{
    at_gradcheck_report r = at_gradcheck(t, f, in, n, ctx, (at_gradcheck_options){0});
    ck_assert_msg(r.verdict == ATTIC_PASS, "%s: %s, %s: %g or %g; %s", at_verdict_text(r.verdict),
                  r.reason, r.where, r.analytic, r.numeric, at_error(t));
    ck_assert_double_lt(r.resolution, 1e-5);
}

/* ------------------------------------------------------------------ additive ------------------- */

enum { B = 2, T = 3, S = 4, CQ = 5, CK = 2, N = 6, DV = 3 };

typedef struct {
    at_additive layer;
    at_tensor *q, *k, *V;
} additive_case;

static additive_case draw_additive(at_tape *t)
{
    additive_case c = {.layer = at_additive_make(t, CQ, CK, N)};
    c.q = at_param(t, "q", at_shape_of(B, T, CQ), at_normal(1));
    c.k = at_param(t, "k", at_shape_of(B, S, CK), at_normal(1));
    c.V = at_param(t, "V", at_shape_of(B, S, DV), at_normal(1));
    return c;
}

/* v . tanh(W q_i + U k_j), in loops */
static double energy(const additive_case *c, int b, int i, int j)
{
    double e = 0;
    for (int n = 0; n < N; n++) {
        double h = 0;
        for (int d = 0; d < CQ; d++) h += at_get(c->q, b, i, d) * at_get(c->layer.W, d, n);
        for (int d = 0; d < CK; d++) h += at_get(c->k, b, j, d) * at_get(c->layer.U, d, n);
        e += at_get(c->layer.v, n, 0) * tanh(h);
    }
    return e;
}

START_TEST(additive_weights_and_output_are_those_of_the_loops)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        additive_case c = draw_additive(t);
        at_tensor *A = NULL, *O = at_additive_apply(t, &c.layer, c.q, c.k, c.V, NULL, &A);
        for (int b = 0; b < B; b++)
            for (int i = 0; i < T; i++) {
                double sum = 0, o = 0;
                for (int j = 0; j < S; j++) sum += exp(energy(&c, b, i, j));
                for (int j = 0; j < S; j++) {
                    double a = exp(energy(&c, b, i, j)) / sum;
                    assert_close(at_get(A, b, i, j), a, rounding(t));
                    o += a * at_get(c.V, b, j, 1);
                }
                assert_close(at_get(O, b, i, 1), o, rounding(t));
            }
    }
}
END_TEST

START_TEST(additive_masks_keys_and_gives_0_where_none_is_left)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    additive_case c = draw_additive(t);
    const bool kept[T * S] = {1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    at_tensor *keep = at_bools(t, at_shape_of(T, S), kept), *A = NULL;
    at_tensor *O = at_additive_apply(t, &c.layer, c.q, c.k, c.V, keep, &A);
    at_backward(t, at_sum(t, O));
    for (int b = 0; b < B; b++) {
        for (int i = 0; i < T * S; i++) ck_assert(kept[i] == (at_element(A, b * T * S + i) > 0));
        for (int e = 0; e < DV; e++) {
            ck_assert(at_get(O, b, 1, e) == 0);
            assert_close(at_get(O, b, 2, e), at_get(c.V, b, 3, e), 1e-15);
            ck_assert(at_grad_element(c.V, (b * S + 1) * DV + e) == 0); /* key 1: kept by nobody */
        }
    }
    at_close(t);
}
END_TEST

static at_tensor *additive_of(at_tape *t, at_tensor **in, void *keep)
{
    at_additive layer = {in[3], in[4], in[5]};
    return at_additive_apply(t, &layer, in[0], in[1], in[2], keep, NULL);
}

/* A loss on the weights flows back too. */
static at_tensor *additive_weights_of(at_tape *t, at_tensor **in, void *keep)
{
    at_additive layer = {in[3], in[4], in[5]};
    at_tensor *A = NULL;
    at_additive_apply(t, &layer, in[0], in[1], in[2], keep, &A);
    return A;
}

START_TEST(additive_gradients_are_right)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    additive_case c = draw_additive(t);
    at_tensor *in[] = {c.q, c.k, c.V, c.layer.W, c.layer.U, c.layer.v};
    const bool kept[S] = {1, 0, 1, 1};
    assert_gradient_passes(additive_of, t, in, 6, NULL);
    assert_gradient_passes(additive_of, t, in, 6, at_bools(t, at_shape_of(S), kept));
    assert_gradient_passes(additive_weights_of, t, in, 6, NULL);
    at_close(t);
}
END_TEST

START_TEST(additive_refuses_shapes_that_do_not_fit)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    additive_case c = draw_additive(t);
    at_tensor *flat = at_const(t, at_shape_of(T, CQ), NULL);
    ck_assert_ptr_null(at_additive_apply(t, &c.layer, flat, c.k, c.V, NULL, NULL));
    assert_error(t, "additive: q is [3,5] and k is \"k\" [2,4,2], but must be [B,T,Cq] and "
                    "[B,N,Ck]");
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ linear --------------------- */

START_TEST(elu_plus_1_is_positive_and_smooth_at_0)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(5), (double[]){-100, -1, 0, 1, 100});
        at_tensor *y = at_elu_plus_1(t, x);
        assert_values(y, ((double[]){exp(-100), exp(-1), 1, 2, 101}), close_to(t));
        ck_assert(at_element(y, 0) > 0);
        ck_assert(pull(t, y, (double[]){1, 1, 1, 1, 1}));
        assert_grads(x, ((double[]){exp(-100), exp(-1), 1, 1, 1}), close_to(t));
    }
}
END_TEST

/* sum_j (phi(Q_i).phi(K_j)) V_j / sum_j phi(Q_i).phi(K_j), holding the whole matrix */
static at_tensor *quadratic(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V, bool causal)
{
    int rows = Q->shape.dim[Q->shape.ndim - 2], cols = K->shape.dim[K->shape.ndim - 2];
    at_tensor *drop = at_blank(t, ATTIC_BOOL, at_shape_of(rows, cols));
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) at_set(drop, causal && j > i, i, j);
    at_tensor *w = at_matmul_t(t, at_elu_plus_1(t, Q), false, at_elu_plus_1(t, K), true);
    w = at_masked_fill(t, w, drop, 0);
    return at_matmul(t, at_div(t, w, at_sum_over(t, w, at_axes(-1), true)), V);
}

START_TEST(linear_attention_equals_its_quadratic_form)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int causal = 0; causal < 2; causal++) {
            int rows = causal ? 9 : 4;
            at_tensor *Q = at_random(t, at_shape_of(2, 3, rows, 5), at_normal(1));
            at_tensor *K = at_random(t, at_shape_of(2, 3, 9, 5), at_normal(1));
            at_tensor *V = at_random(t, at_shape_of(2, 3, 9, 7), at_normal(1));
            assert_same(at_linear_attention(t, Q, K, V, causal), quadratic(t, Q, K, V, causal),
                        rounding(t));
        }
}
END_TEST

START_TEST(the_last_causal_row_is_the_full_one)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_random(t, at_shape_of(6, 4), at_normal(1));
    at_tensor *causal = at_linear_attention(t, x, x, x, true);
    at_tensor *full = at_linear_attention(t, x, x, x, false);
    for (int e = 0; e < 4; e++) {
        assert_close(at_get(causal, 5, e), at_get(full, 5, e), 1e-14);
        assert_close(at_get(causal, 0, e), at_get(x, 0, e), 1e-14); /* the first sees itself */
    }
    at_close(t);
}
END_TEST

static at_tensor *linear_of(at_tape *t, at_tensor **in, void *causal)
{
    return at_linear_attention(t, in[0], in[1], in[2], causal != NULL);
}

static at_tensor *linear_self_of(at_tape *t, at_tensor **in, void *causal)
{
    return at_linear_attention(t, in[0], in[0], in[0], causal != NULL);
}

START_TEST(linear_gradients_are_right)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *Q = at_param(t, "Q", at_shape_of(2, 4, 3), at_normal(1));
    at_tensor *K = at_param(t, "K", at_shape_of(2, 4, 3), at_normal(1));
    at_tensor *V = at_param(t, "V", at_shape_of(2, 4, 2), at_normal(1));
    at_tensor *longer = at_param(t, "longer", at_shape_of(2, 6, 3), at_normal(1));
    for (int causal = 0; causal < 2; causal++) {
        assert_gradient_passes(linear_of, t, (at_tensor *[]){Q, K, V}, 3, causal ? t : NULL);
        assert_gradient_passes(linear_self_of, t, &longer, 1, causal ? t : NULL);
    }
    assert_gradient_passes(linear_of, t, (at_tensor *[]){longer, K, V}, 3, NULL); /* T != S */
    at_close(t);
}
END_TEST

START_TEST(linear_attention_without_keys_is_refused_unless_there_is_nothing_to_do)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *none = at_const(t, at_shape_of(0, 3), NULL),
              *Q = at_const(t, at_shape_of(2, 3), NULL);
    ck_assert_int_eq(at_linear_attention(t, none, none, none, true)->shape.dim[0], 0);
    ck_assert_ptr_null(at_linear_attention(t, Q, none, none, false));
    assert_error(t, "linear_attention: K is [0,3], but must be [...,N,D] with at least one key");
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ multi-query ---------------- */

START_TEST(multi_query_attention_is_one_key_head_read_by_all)
{
    enum { H = 4, D = 3 };
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *Q = at_random(t, at_shape_of(B, T, H * D), at_normal(1));
    at_tensor *K = at_random(t, at_shape_of(B, T, D), at_normal(1));
    at_tensor *V = at_random(t, at_shape_of(B, T, D), at_normal(1));
    at_tensor *one = at_sdpa(t, Q, K, V, (at_sdpa_args){.causal = true, .heads = H, .kv_heads = 1});
    at_tensor *Ks = at_concat(t, (at_tensor *[]){K, K, K, K}, H, -1);
    at_tensor *Vs = at_concat(t, (at_tensor *[]){V, V, V, V}, H, -1);
    assert_same(one, at_sdpa(t, Q, Ks, Vs, (at_sdpa_args){.causal = true, .heads = H}), 1e-15);
    at_close(t);
}
END_TEST

START_TEST(an_additive_layer_that_was_not_made_is_an_error)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3, 4), NULL);
    ck_assert_ptr_null(at_additive_apply(t, NULL, x, x, x, NULL, NULL));
    assert_error(t, "additive: the layer is NULL");
    at_clear_error(t);
    ck_assert_ptr_null(at_additive_apply(t, &(at_additive){0}, x, x, x, NULL, NULL));
    assert_error(t, "additive: the layer's W is NULL");
    at_close(t);
}
END_TEST

SUITE(attention_variants, additive_weights_and_output_are_those_of_the_loops,
      additive_masks_keys_and_gives_0_where_none_is_left, additive_gradients_are_right,
      additive_refuses_shapes_that_do_not_fit, elu_plus_1_is_positive_and_smooth_at_0,
      linear_attention_equals_its_quadratic_form, the_last_causal_row_is_the_full_one,
      linear_gradients_are_right,
      linear_attention_without_keys_is_refused_unless_there_is_nothing_to_do,
      multi_query_attention_is_one_key_head_read_by_all,
      an_additive_layer_that_was_not_made_is_an_error)
