/* test_tangent_tiles.c -- what at_sdpa_jvp promises beyond derivatives (test_tangent.c): what is not read, exact
 * zeros, bits, memory, messages. */
#include <math.h>

#include "attention/tangent_run.h"
#include "autograd/tangent.h"
#include "tensors.h"

static at_tensor *normal(at_tape *t, int rows, int width)
{
    return variable_like(t, at_random(t, at_shape_of(rows, width), at_normal(1)));
}

/* Six tensors of one attention and its outputs. */
typedef struct {
    at_tape *t;
    at_tensor *Q, *K, *V, *Qdot, *Kdot, *Vdot, *O, *Odot;
} jvp;

static jvp jvp_of(at_dtype real, int T, int N, int D)
{
    jvp x = {.t = at_open(real, 1)};
    x.Q = normal(x.t, T, D), x.K = normal(x.t, N, D), x.V = normal(x.t, N, D);
    x.Qdot = normal(x.t, T, D), x.Kdot = normal(x.t, N, D), x.Vdot = normal(x.t, N, D);
    return x;
}

static void jvp_run(jvp *x, at_sdpa_args a)
{
    x->O = at_sdpa_jvp(x->t, x->Q, x->K, x->V, x->Qdot, x->Kdot, x->Vdot, a, &x->Odot);
    ck_assert_msg(at_ok(x->t), "%s", at_error(x->t));
}

/* Backward from <dO, Odot> + <dOdot, O>. */
static void jvp_back(jvp *x, at_tensor *dO, at_tensor *dOdot)
{
    at_tensor *loss = at_sum(x->t, at_mul(x->t, x->Odot, dO));
    if (dOdot) loss = at_add(x->t, loss, at_sum(x->t, at_mul(x->t, x->O, dOdot)));
    ck_assert_msg(at_backward(x->t, loss), "%s", at_error(x->t));
}

/* ------------------------------------------------------------------ masked means not read ------ */

/* NaN in some elements of the inputs, the tangents and the upstream gradients. */
static void poison(const tangent_problem *p, tangent_run *r)
{
    enum { ALL = 2 * MOVERS + SEEN };
    at_tensor *in[] = TANGENT_INPUTS(*r), *x[ALL];
    memcpy(x, in, sizeof in);
    memcpy(x + MOVERS, r->dot, sizeof r->dot);
    memcpy(x + 2 * MOVERS, r->upstream, sizeof r->upstream);
    for (int i = 0; i < 2; i++) {
        at_tensor *y = x[(p->p.seed + 7 * i) % ALL];
        ptrdiff_t n = y ? at_count(y->shape) : 0;
        if (n) at_store(y->dtype, y->data, (p->p.seed * 7) % n, (double)NAN);
    }
}

/* By dual numbers a row is computed from the keys it keeps and from nothing else, so it can't read the others.  An
 * upstream gradient of O alone leaves out what dual numbers multiply by 0: so there is one of Odot, too. */
static void expect_the_same_NaN(int seed, sdpa_size size)
{
    tangent_problem p = tangent_draw(seed, size);
    p.seen[SEEN_ODOT] |= p.seen[SEEN_O];
    at_tape *t = at_open(ATTIC_F64, (uint64_t)seed), *duals = at_open(ATTIC_F64, (uint64_t)seed);
    tangent_run r = tangent_inputs(t, &p), twin = tangent_twin(duals, &p, poison);
    bool ran = tangent_forward(t, &p, &r);
    poison(&p, &r);
    ran = ran && at_replay(t) && tangent_backward(t, &r);
    ck_assert_msg(ran, "%s", at_error(t));
    const char *where;
    double off = tangent_difference(&r, &twin, &where);
    ck_assert_msg(off <= 1e-12, "problem %d, %s: %s is off by %g", seed, sdpa_problem_text(&p.p),
                  where, off);
    at_close(t), at_close(duals);
}

START_TEST(a_NaN_reaches_in_tiles_what_it_reaches_by_dual_numbers)
{
    for (int seed = 0; seed < sdpa_some(600); seed++) expect_the_same_NaN(seed, SDPA_SMALL);
    for (int seed = 0; seed < sdpa_some(60); seed++) expect_the_same_NaN(seed, SDPA_TILES);
}
END_TEST

START_TEST(the_tangent_of_an_infinite_bias_and_of_a_masked_key_is_not_read)
{
    const double nan = (double)NAN, inf = (double)INFINITY;
    for (int f64 = 0; f64 < 2; f64++) {
        jvp x = jvp_of(f64 ? ATTIC_F64 : ATTIC_F32, 3, 4, 2);
        at_sdpa_args a = {0};
        a.bias = at_variable(x.t, at_shape_of(4), (double[]){0, 1, -inf, 2});
        a.bias_tangent = at_variable(x.t, at_shape_of(4), (double[]){1, 2, nan, 3});
        a.keep = at_bools(x.t, at_shape_of(4), (bool[]){true, false, true, true});
        at_set(x.Kdot, nan, 1, 0);
        at_set(x.Vdot, nan, 1, 1);
        jvp_run(&x, a);
        jvp_back(&x, normal(x.t, 3, 2), normal(x.t, 3, 2));
        for (int i = 0; i < 6; i++)
            ck_assert(isfinite(at_element(x.Odot, i)) && isfinite(at_grad_element(x.Q, i)) &&
                      isfinite(at_grad_element(x.Qdot, i)));
        for (int j = 1; j < 3; j++) {
            ck_assert(at_grad_element(a.bias, j) == 0 && at_grad_element(a.bias_tangent, j) == 0);
            ck_assert(at_grad_element(x.K, 2 * j) == 0 && at_grad_element(x.Vdot, 2 * j) == 0);
        }
        at_close(x.t);
    }
}
END_TEST

START_TEST(a_row_that_keeps_nothing_has_no_tangent_and_gives_no_gradient)
{
    enum { T = 200, EMPTY = 90 };
    for (int f64 = 0; f64 < 2; f64++) {
        jvp x = jvp_of(f64 ? ATTIC_F64 : ATTIC_F32, T, T, 3);
        jvp_run(&x, (at_sdpa_args){.causal = true, .align = ATTIC_ALIGN_OFFSET, .offset = -EMPTY});
        jvp_back(&x, normal(x.t, T, 3), normal(x.t, T, 3));
        for (int i = 0; i < 3 * EMPTY; i++) {
            ck_assert(at_element(x.O, i) == 0 && at_element(x.Odot, i) == 0);
            ck_assert(at_grad_element(x.Q, i) == 0 && at_grad_element(x.Qdot, i) == 0);
        }
        ck_assert(at_element(x.Odot, 3 * EMPTY) == at_element(x.Vdot, 0)); /* one key, weight 1 */
        at_close(x.t);
    }
}
END_TEST

/* ------------------------------------------------------------------ exact zeros ---------------- */

START_TEST(a_tangent_of_1e8_that_is_constant_along_a_row_moves_nothing_at_all)
{
    enum { T = 70, N = 400 };
    for (int f64 = 0; f64 < 2; f64++) {
        jvp x = jvp_of(f64 ? ATTIC_F64 : ATTIC_F32, T, N, 3);
        at_sdpa_args a = {.dropout = 0.2, .softcap = 2};
        a.bias = at_random(x.t, at_shape_of(T, N), at_normal(1));
        x.Qdot = x.Kdot = NULL;
        const uint64_t draws = *at_draw_count(x.t);
        jvp_run(&x, a);
        at_tensor *still = x.Odot;
        a.bias_tangent = at_tensor_new(x.t, at_real(x.t), at_shape_of(T, N));
        for (int i = 0; i < T * N; i++) at_store(at_real(x.t), a.bias_tangent->data, i, 1e8);
        *at_draw_count(x.t) = draws; /* the same drops */
        jvp_run(&x, a);
        ck_assert(equal_bits(x.Odot, still));
        x.Vdot = NULL;
        jvp_run(&x, a);
        for (int i = 0; i < 3 * T; i++) ck_assert(at_element(x.Odot, i) == 0);
        at_close(x.t);
    }
}
END_TEST

static at_tensor *sdpa_with_bias(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    at_sdpa_args a = {.path = ATTIC_PLAIN, .scale = 1, .bias = in[3]};
    return at_sdpa(t, in[0], in[1], in[2], a);
}

/* Scores rise from key to key, so that every tile has a new maximum, and their tangents are far apart.  Dual numbers
 * get these without the 1e6 that all have in common, which moves nothing. */
START_TEST(a_maximum_that_moves_from_tile_to_tile_takes_its_reference_along)
{
    enum { T = 9, N = 700 };
    jvp x = jvp_of(ATTIC_F64, T, N, 1);
    at_sdpa_args a = {.scale = 1};
    a.bias = at_variable(x.t, at_shape_of(N), NULL);
    a.bias_tangent = at_variable(x.t, at_shape_of(N), NULL);
    at_tensor *apart = at_variable(x.t, at_shape_of(N), NULL), *Odot;
    for (int j = 0; j < N; j++) {
        at_set(a.bias, j / 70.0, j);
        at_set(a.bias_tangent, 1e6 - 100.0 * (j % 50), j);
        at_set(apart, -100.0 * (j % 50), j);
    }
    jvp_run(&x, a);
    at_tensor *in[] = {x.Q, x.K, x.V, a.bias}, *dot[] = {x.Qdot, x.Kdot, x.Vdot, apart};
    ck_assert_ptr_nonnull(at_jvp(x.t, sdpa_with_bias, in, dot, 4, NULL, &Odot));
    for (int i = 0; i < T; i++)
        assert_close(at_element(x.Odot, i), at_element(Odot, i), 1e-9); /* of 1e3 */
    at_close(x.t);
}
END_TEST

/* exp(m_old - m) is then 1, but the reference of the maximum is another. */
START_TEST(a_maximum_that_moves_by_one_rounding_takes_its_reference_along)
{
    enum { T = 3, N = 600 };
    jvp x = jvp_of(ATTIC_F64, T, N, 1);
    at_sdpa_args a = {0};
    a.bias = at_variable(x.t, at_shape_of(N), NULL);
    a.bias_tangent = at_variable(x.t, at_shape_of(N), NULL);
    double value = 0.1, mean = 0, expected = 0;
    for (int j = 0; j < N; j++) {
        if (j % 100 == 99) value = nextafter(value, 1);
        at_set(a.bias, value, j);
        at_set(a.bias_tangent, j, j);
        mean += (double)j / N;
    }
    for (int j = 0; j < N; j++) expected += (j - mean) * at_element(x.V, j) / N;
    x.Vdot = x.Qdot = x.Kdot = NULL;
    for (int i = 0; i < T; i++) at_set(x.Q, 0, i, 0);
    jvp_run(&x, a);
    for (int i = 0; i < T; i++) assert_close(at_element(x.Odot, i), expected, 1e-11);
    at_close(x.t);
}
END_TEST

/* Q_i K_j is 0 for all keys but one: there P is 1. */
START_TEST(no_derivative_reaches_the_scores_of_a_saturated_row)
{
    const int values[] = {1, 2, 5, 16, 17, 64, 100, 400, 800};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (int f64 = 0; f64 < 2; f64++) {
            jvp x = jvp_of(f64 ? ATTIC_F64 : ATTIC_F32, 3, 2, 1);
            for (int i = 0; i < 3; i++) at_set(x.Q, 1e4, i, 0);
            at_set(x.K, 1, 0, 0), at_set(x.K, 0, 1, 0);
            x.V = normal(x.t, 2, values[v]), x.Vdot = normal(x.t, 2, values[v]);
            jvp_run(&x, (at_sdpa_args){0});
            jvp_back(&x, normal(x.t, 3, values[v]), normal(x.t, 3, values[v]));
            for (int i = 0; i < values[v]; i++)
                ck_assert(at_element(x.Odot, i) == at_element(x.Vdot, i));
            for (int i = 0; i < 3; i++)
                ck_assert(at_grad_element(x.Q, i) == 0 && at_grad_element(x.Qdot, i) == 0);
            for (int j = 0; j < 2; j++)
                ck_assert(at_grad_element(x.K, j) == 0 && at_grad_element(x.Kdot, j) == 0);
            at_close(x.t);
        }
}
END_TEST

/* ------------------------------------------------------------------ bits, memory --------------- */

START_TEST(O_has_the_bits_that_sdpa_gives)
{
    for (int seed = 0; seed < sdpa_some(100); seed++)
        for (int f64 = 0; f64 < 2; f64++) {
            tangent_problem p = tangent_draw(seed, seed % 10 ? SDPA_SMALL : SDPA_TILES);
            at_tape *t = at_open(f64 ? ATTIC_F64 : ATTIC_F32, 1);
            tangent_run r = tangent_inputs(t, &p);
            ck_assert(tangent_forward(t, &p, &r));
            at_sdpa_args a = p.p.args;
            sdpa_give_masks(&a, &r.of);
            a.bias = r.of.bias, a.sink = r.of.sink;
            *at_draw_count(t) = 0; /* the same drops */
            at_tensor *O = at_sdpa(t, r.of.Q, r.of.K, r.of.V, a);
            ck_assert_msg(equal_bits(O, r.out[SEEN_O]), "problem %d, %s", seed,
                          sdpa_problem_text(&p.p));
            at_close(t);
        }
}
END_TEST

START_TEST(bits_are_equal_at_any_number_of_threads)
{
    for (int seed = 0; seed < sdpa_some(24); seed++) {
        tangent_problem p = tangent_draw(seed, seed % 8 ? SDPA_TILES : SDPA_LARGE);
        at_tape *t[4];
        tangent_run r[4];
        for (int n = 0; n < 4; n++) {
            const char *where = "";
            at_threads(n + 1);
            t[n] = at_open(ATTIC_F32, 1);
            r[n] = tangent_run_on(t[n], &p);
            double off = tangent_difference(&r[n], &r[0], &where);
            ck_assert_msg(off == 0, "problem %d, %d threads: %s differs by %g", seed, n + 1, where,
                          off);
        }
        for (int n = 0; n < 4; n++) at_close(t[n]);
    }
    at_threads(0);
}
END_TEST

/* The window leaves little to compute; nothing of the memory depends on it. */
START_TEST(memory_grows_with_the_rows_and_not_with_their_square)
{
    enum { T = 16384, D = 64 };
    const size_t O = T * D * sizeof(float), MiB = 1 << 20;
    for (int threads = 1; threads <= 64; threads *= 8) {
        at_threads(threads);
        jvp x = jvp_of(ATTIC_F32, T, T, D);
        at_tensor *dO = at_random(x.t, at_shape_of(T, D), at_normal(1));
        size_t before = handed_out(x.t);
        jvp_run(&x, (at_sdpa_args){.causal = true, .window_left = 9});
        ck_assert_uint_le(handed_out(x.t) - before, 2 * O + 2 * MiB); /* O, Odot; scratch */
        ck_assert(at_backward_from(x.t, x.Odot, dO));
        ck_assert_uint_le(handed_out(x.t) - before, 8 * O + 3 * MiB); /* six gradients */
        at_close(x.t);
    }
    at_threads(0);
}
END_TEST

/* ------------------------------------------------------------------ messages ------------------- */

static void refuse(jvp *x, at_sdpa_args a, const char *message)
{
    at_tensor *weights = x->Q;
    if (!a.weights_tangent) a.weights = &weights;
    x->Odot = x->Q;
    ck_assert_ptr_null(at_sdpa_jvp(x->t, x->Q, x->K, x->V, x->Qdot, x->Kdot, x->Vdot, a, &x->Odot));
    ck_assert_ptr_null(x->Odot);
    if (a.weights) ck_assert_ptr_null(weights);
    assert_error(x->t, message);
    at_clear_error(x->t);
}

START_TEST(what_makes_no_sense_is_refused_by_name)
{
    jvp x = jvp_of(ATTIC_F32, 2, 3, 4);
    at_tensor *y, *half = at_cast(x.t, x.K, ATTIC_F16), *three = normal(x.t, 3, 3);
    for (int path = ATTIC_PLAIN; path <= ATTIC_COMPOSED; path++)
        refuse(&x, (at_sdpa_args){.path = (at_sdpa_path)path},
               "sdpa_jvp: there is the fused path only; at_jvp differentiates the others");
    refuse(&x, (at_sdpa_args){.head_scale = x.Q},
           "sdpa_jvp: head_scale can't be given: multiply Q by it, and Qdot");
    refuse(&x, (at_sdpa_args){.scores = &y}, "sdpa_jvp: scores can't be asked for, weights can");
    refuse(&x, (at_sdpa_args){.probs = &y}, "sdpa_jvp: probs can't be asked for, weights can");
    refuse(&x, (at_sdpa_args){.bias_tangent = three},
           "sdpa_jvp: bias_tangent is given without bias");
    refuse(&x, (at_sdpa_args){.bias = three, .bias_tangent = three},
           "sdpa: bias is [3,3], which can't be broadcast to the scores [2,3]");
    at_tensor *row = normal(x.t, 1, 3);
    refuse(&x, (at_sdpa_args){.bias = row, .bias_tangent = normal(x.t, 2, 3)},
           "sdpa_jvp: bias_tangent is [2,3], but must have the shape of bias, [1,3]");
    ck_assert_ptr_null(at_sdpa_jvp(x.t, x.Q, x.K, x.V, NULL, NULL, NULL, (at_sdpa_args){0}, NULL));
    assert_error(x.t, "sdpa_jvp: Odot is NULL, but must point to where the tangent of O goes");
    at_clear_error(x.t);
    x.Qdot = three;
    refuse(&x, (at_sdpa_args){0}, "sdpa_jvp: Qdot is [3,3], but must have the shape of Q, [2,4]");
    x.Qdot = at_ints(x.t, at_shape_of(2, 4), NULL);
    refuse(&x, (at_sdpa_args){0}, "sdpa_jvp: Qdot [2,4] has dtype i32 but must be f32");
    x.Qdot = NULL, x.K = x.V = half;
    refuse(&x, (at_sdpa_args){0},
           "sdpa_jvp: K [3,4] has dtype f16 but must be f32 (at_cast converts it)");
    at_close(x.t);
}
END_TEST

START_TEST(sdpa_itself_refuses_what_only_tangents_need)
{
    jvp x = jvp_of(ATTIC_F32, 2, 3, 4);
    at_tensor *y = x.Q;
    ck_assert_ptr_null(at_sdpa(x.t, x.Q, x.K, x.V, (at_sdpa_args){.bias_tangent = x.Q}));
    assert_error(x.t, "sdpa: bias_tangent is an option of at_sdpa_jvp, which computes tangents");
    at_clear_error(x.t);
    ck_assert_ptr_null(at_sdpa(x.t, x.Q, x.K, x.V, (at_sdpa_args){.weights_tangent = &y}));
    assert_error(x.t, "sdpa: weights_tangent is an option of at_sdpa_jvp, which computes tangents");
    ck_assert_ptr_null(y);
    at_close(x.t);
}
END_TEST

SUITE(attention_tangent_tiles, a_NaN_reaches_in_tiles_what_it_reaches_by_dual_numbers,
      the_tangent_of_an_infinite_bias_and_of_a_masked_key_is_not_read,
      a_row_that_keeps_nothing_has_no_tangent_and_gives_no_gradient,
      a_tangent_of_1e8_that_is_constant_along_a_row_moves_nothing_at_all,
      a_maximum_that_moves_from_tile_to_tile_takes_its_reference_along,
      a_maximum_that_moves_by_one_rounding_takes_its_reference_along,
      no_derivative_reaches_the_scores_of_a_saturated_row, O_has_the_bits_that_sdpa_gives,
      bits_are_equal_at_any_number_of_threads, memory_grows_with_the_rows_and_not_with_their_square,
      what_makes_no_sense_is_refused_by_name, sdpa_itself_refuses_what_only_tangents_need)
