/* test_tangent.c -- at_sdpa_jvp: value, tangent, and the derivatives of both. */
#include "attention/tangent_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/pairing.h"
#include "gradcheck/gradcheck.h"
#include "autograd/tangent.h"
#include "tensors.h"

/* ------------------------------------------------------------------ against differences -------- */

/* x moves by h along its tangent, if it has one. */
static void move(at_tensor *x, const at_tensor *from, const at_tensor *dot, double h)
{
    for (ptrdiff_t i = 0; dot && i < at_count(x->shape); i++)
        at_store(x->dtype, x->data, i, at_element(from, i) + h * at_element(dot, i));
}

/* at_sdpa on inputs x of its own, at h along the tangents of r. */
static at_tensor *moved(at_tape *t, const tangent_problem *p, const tangent_run *r, double h,
                        at_tensor *x[MOVERS], at_tensor **weights, at_tensor **lse)
{
    const at_tensor *in[] = TANGENT_INPUTS(*r);
    for (int i = 0; i < MOVERS; i++) {
        x[i] = in[i] ? variable_like(t, in[i]) : NULL;
        if (in[i]) move(x[i], in[i], r->dot[i], h);
    }
    at_sdpa_args a = p->p.args;
    sdpa_give_masks(&a, &r->of);
    a.bias = x[MOVES_BIAS], a.weights = weights;
    a.sink = x[MOVES_SINK], a.lse = lse;
    a.path = ATTIC_PLAIN;
    *at_draw_count(t) = 0; /* the same drops every time */
    return at_sdpa(t, x[0], x[1], x[2], a);
}

/* Five-point differences: sum_k weight[k] f(at[k] h) / h */
static const double at_h[] = {-2, -1, 1, 2};
static const double weight_of[] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
static const double step = 2e-4;

/* The tangents are within 1e-8 of five-point differences of at_sdpa. */
static void expect_tangents(const tangent_problem *p)
{
    static const char *const name[] = {"Odot", "weightsdot", "lsedot"};
    at_tape *t = at_open(ATTIC_F64, (uint64_t)p->p.seed);
    tangent_problem all = *p;
    all.wants_W = all.wants_Wdot = all.wants_L = all.wants_Ldot = true;
    tangent_run r = tangent_inputs(t, &all);
    ck_assert_msg(tangent_forward(t, &all, &r), "%s", at_error(t));
    at_tensor *x[MOVERS], *f[3][4], *f0[3];
    f0[0] = moved(t, p, &r, 0, x, &f0[1], &f0[2]);
    for (int k = 0; k < 4; k++) f[0][k] = moved(t, p, &r, at_h[k] * step, x, &f[1][k], &f[2][k]);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    for (int part = 0; part < 3; part++) {
        const at_tensor *value = r.out[2 * part], *dot = r.out[2 * part + 1]; /* as in SEEN */
        for (ptrdiff_t i = 0; i < at_count(value->shape); i++) {
            double numeric = 0, a = at_element(dot, i);
            for (int k = 0; k < 4; k++) numeric += weight_of[k] / step * at_element(f[part][k], i);
            if (at_element(value, i) == -(double)INFINITY) numeric = 0; /* lse stays there */
            if (numeric != 0 || a != 0)
                assert_close(at_element(value, i), at_element(f0[part], i), 1e-14);
            ck_assert_msg(fabs(a - numeric) <= 2e-8 * fmax(1, fabs(numeric)),
                          "%s: %s[%td] is %.12g, by differences %.12g", sdpa_problem_text(&p->p),
                          name[part], i, a, numeric);
        }
    }
    at_close(t);
}

START_TEST(tangents_are_what_differences_of_sdpa_say)
{
    for (int seed = 0; seed < sdpa_some(300); seed++) {
        tangent_problem p = tangent_draw(seed, SDPA_SMALL);
        expect_tangents(&p);
    }
}
END_TEST

/* ------------------------------------------------------------------ against dual numbers ------- */

typedef struct {
    const tangent_problem *p;
    const tangent_run *r;
} sdpa_of_run;

static at_tensor *sdpa_of(at_tape *t, at_tensor **in, void *ctx)
{
    const sdpa_of_run *c = ctx;
    at_sdpa_args a = c->p->p.args;
    sdpa_give_masks(&a, &c->r->of);
    at_tensor **more = in + MOVES_BIAS;
    if (c->r->of.bias) a.bias = *more++;
    if (c->r->of.sink) a.sink = *more;
    a.path = ATTIC_PLAIN;
    *at_draw_count(t) = 0; /* the drops of at_sdpa_jvp */
    return at_sdpa(t, in[0], in[1], in[2], a);
}

static void expect_close(const at_tensor *x, bool grad, const at_tensor *y, double tol,
                         const char *what, const tangent_problem *p)
{
    double most = 1;
    for (ptrdiff_t i = 0; i < at_count(y->shape); i++) most = fmax(most, fabs(at_element(y, i)));
    for (ptrdiff_t i = 0; i < at_count(y->shape); i++) {
        const double a = grad ? at_grad_element(x, i) : at_element(x, i), b = at_element(y, i);
        ck_assert_msg(fabs(a - b) <= tol * most, "%s: %s[%td] is %.12g, with dual numbers %.12g",
                      sdpa_problem_text(&p->p), what, i, a, b);
    }
}

/* Odot is at_jvp of at_sdpa, and the gradients of <g, Odot> are at_hvp of <g, O>. */
static void expect_dual(const tangent_problem *p, at_dtype real)
{
    static const char *const names[] = {"dQ", "dK", "dV", "dbias", "dsink"};
    const double tol = real == ATTIC_F32 ? 5e-5 : 1e-12;
    at_tape *t = at_open(real, (uint64_t)p->p.seed);
    tangent_run r = tangent_inputs(t, p);
    *at_draw_count(t) = 0;
    ck_assert_msg(tangent_forward(t, p, &r), "%s", at_error(t));
    at_tensor *all[] = TANGENT_INPUTS(r), *in[MOVERS], *dot[MOVERS], *Odot, *wrt[MOVERS];
    at_tensor *Hv[MOVERS];
    int n = 0, m = 0, number[MOVERS], which[MOVERS];
    for (int i = 0; i < MOVERS; i++)
        if (all[i]) number[n] = i, in[n] = all[i], dot[n++] = r.dot[i];
    sdpa_of_run c = {p, &r};
    at_tensor *O = at_jvp(t, sdpa_of, in, dot, n, &c, &Odot);
    ck_assert_msg(O, "%s", at_error(t));
    expect_close(r.out[SEEN_ODOT], false, Odot, tol, "Odot", p);

    at_tensor *g = at_random(t, O->shape, at_normal(1));
    for (int i = 0; i < n; i++)
        if (in[i]->wants_grad) which[m] = number[i], wrt[m++] = in[i];
    if (m > 0 && O->wants_grad && r.out[SEEN_ODOT]->wants_grad) {
        ck_assert_msg(at_hvp(t, at_sum(t, at_mul(t, O, g)), in, dot, n, wrt, m, Hv), "%s",
                      at_error(t));
        ck_assert_msg(at_backward_from(t, r.out[SEEN_ODOT], g), "%s", at_error(t));
        for (int i = 0; i < m; i++) expect_close(wrt[i], true, Hv[i], 10 * tol, names[which[i]], p);
    }
    at_close(t);
}

START_TEST(it_agrees_with_dual_numbers)
{
    for (int seed = 0; seed < sdpa_some(150); seed++) {
        tangent_problem p = tangent_draw(seed, SDPA_SMALL);
        p.shares = false, p.p.same = SDPA_ALL_DIFFER; /* else tensors move for two reasons */
        expect_dual(&p, ATTIC_F64);
        expect_dual(&p, ATTIC_F32);
    }
}
END_TEST

/* ------------------------------------------------------------------ gradients ------------------ */

typedef struct {
    const tangent_problem *p;
    const tangent_run *r;
} tangent_function;

/* All outputs that are looked at, side by side. */
static at_tensor *tangent_outputs(at_tape *t, at_tensor **in, void *ctx)
{
    const tangent_function *f = ctx;
    tangent_run r = *f->r;
    at_tensor *y[SEEN];
    int n = 0;
    (void)in;
    if (!tangent_forward(t, f->p, &r)) return NULL;
    for (int i = 0; i < SEEN; i++)
        if (f->p->seen[i]) y[n++] = at_reshape(t, r.out[i], at_shape_of(-1));
    return at_concat(t, y, n, 0);
}

/* Derivatives that are 0 but for rounding, where one key is kept, are no failure. */
static at_verdict gradients_of(int seed)
{
    tangent_problem p = tangent_draw(seed, SDPA_TINY);
    at_tape *t = at_open(ATTIC_F64, (uint64_t)seed);
    tangent_run r = tangent_inputs(t, &p);
    tangent_function f = {&p, &r};
    at_tensor *in[2 * MOVERS] = TANGENT_INPUTS(r), *x[2 * MOVERS];
    int n = 0;
    memcpy(in + MOVERS, r.dot, sizeof r.dot);
    for (int i = 0; i < 2 * MOVERS; i++) {
        bool left_out = !in[i] || !in[i]->wants_grad || (i == MOVES_BIAS && p.p.infinities);
        for (int k = 0; k < n; k++) left_out |= x[k] == in[i];
        if (!left_out) x[n++] = in[i];
    }
    at_gradcheck_report g =
        at_gradcheck(t, tangent_outputs, x, n, &f, (at_gradcheck_options){.tolerance = 1e-6});
    const bool rounding = g.numeric == 0 && fabs(g.analytic) < 1e-14;
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert_msg(g.verdict != ATTIC_WRONG || rounding, "%s: %s: %.12g, by differences %.12g; %s",
                  sdpa_problem_text(&p.p), g.where, g.analytic, g.numeric, g.reason);
    at_close(t);
    return g.verdict;
}

START_TEST(gradients_are_what_differences_of_value_and_tangent_say)
{
    const int problems = sdpa_some(300);
    int passed = 0;
    for (int seed = 0; seed < problems; seed++) passed += gradients_of(seed) == ATTIC_PASS;
    ck_assert_int_gt(passed, problems / 2); /* the rest has nothing to check */
}
END_TEST

/* ------------------------------------------------------------------ Hessians ------------------- */

/* A problem for a loss <g, O> + <gW, weights> + <gL, lse> with constants g, gW, gL: its Hessian, times the
 * tangents, is in the gradients of Q, K, V, bias and sink.  Each has one role, a tangent and a gradient. */
static tangent_problem hessian_problem(int seed, sdpa_size size)
{
    tangent_problem p = tangent_draw(seed, size);
    p.p.same = SDPA_ALL_DIFFER;
    p.shares = false;
    p.wants_Wdot = p.seen[SEEN_WDOT] |= p.seen[SEEN_W];
    p.seen[SEEN_ODOT] = p.seen[SEEN_ODOT] || !p.seen[SEEN_WDOT];
    p.seen[SEEN_O] = p.seen[SEEN_W] = p.seen[SEEN_L] = false;
    memset(p.p.constant, 0, sizeof p.p.constant);
    for (int i = 0; i < MOVERS; i++) {
        p.still[i] = false;
        p.moves[i] = i < MOVES_BIAS || (i == MOVES_BIAS ? p.p.has_bias : p.p.has_sink);
    }
    return p;
}

/* sum += x_i y_i, terms += |x_i y_i|; y: the gradient of a tensor */
static void pair(const at_tensor *x, const at_tensor *y, double *sum, double *terms)
{
    for (ptrdiff_t i = 0; y && y->grad && i < at_count(y->shape); i++) {
        const double term = at_element(x, i) * at_grad_element(y, i);
        *sum += term;
        *terms += fabs(term);
    }
}

START_TEST(backward_is_the_transpose_of_forward)
{
    for (int seed = 0; seed < sdpa_some(300); seed++) {
        tangent_problem p = hessian_problem(seed, seed % 10 ? SDPA_SMALL : SDPA_TILES);
        at_tape *t = at_open(ATTIC_F64, 1);
        tangent_run r = tangent_run_on(t, &p);
        double forward = 0, backward = 0, terms = 1;
        for (int i = 0; i < SEEN; i++)
            for (ptrdiff_t k = 0; r.upstream[i] && k < at_count(r.out[i]->shape); k++)
                forward += at_element(r.upstream[i], k) * at_element(r.out[i], k);
        for (int i = 0; i < MOVERS; i++) pair(r.dot[i], r.dot[i], &backward, &terms);
        ck_assert_msg(fabs(forward - backward) <= 1e-13 * terms,
                      "%s: <dy, J v> = %.17g, <J' dy, v> = %.17g", sdpa_problem_text(&p.p), forward,
                      backward);
        at_close(t);
    }
}
END_TEST

/* Of u' H v the second direction is that of another seed. */
static void expect_symmetry(int seed, sdpa_size size)
{
    tangent_problem p = hessian_problem(seed, size);
    at_tape *t[2];
    tangent_run r[2];
    for (int k = 0; k < 2; k++) {
        t[k] = at_open(ATTIC_F64, 1);
        r[k] = tangent_inputs(t[k], &p);
        for (int i = 0; i < MOVERS; i++)
            if (k && r[k].dot[i])
                at_init_fill(r[k].dot[i], at_normal(1), (at_stream){9, (uint64_t)i});
        bool ran = tangent_forward(t[k], &p, &r[k]) && tangent_backward(t[k], &r[k]);
        ck_assert_msg(ran, "%s", at_error(t[k]));
    }
    double side[2] = {0, 0}, terms = 0, count = 0;
    for (int k = 0; k < 2; k++) {
        const sdpa_run *of = &r[1 - k].of;
        const at_tensor *x[] = {of->Q, of->K, of->V, of->bias, of->sink};
        for (int i = 0; i < 3; i++) count += (double)at_count(x[i]->shape);
        for (int i = 0; i < MOVERS; i++) pair(r[k].dot[i], x[i], &side[k], &terms);
    }
    terms += sqrt(count); /* Hv is itself a sum of numbers around 1, and may cancel */
    ck_assert_msg(fabs(side[0] - side[1]) <= 1e-13 * terms,
                  "%s: u'Hv = %.17g, v'Hu = %.17g, terms %g", sdpa_problem_text(&p.p), side[0],
                  side[1], terms);
    at_close(t[0]), at_close(t[1]);
}

START_TEST(Hessians_are_symmetric)
{
    for (int seed = 0; seed < sdpa_some(300); seed++)
        expect_symmetry(seed, seed % 10 ? SDPA_SMALL : SDPA_TILES);
}
END_TEST

/* The gradients of <g, O> + <gW, weights> + <gL, lse> by at_sdpa, at h along the tangents of r. */
static bool moved_gradients(at_tape *t, const tangent_problem *p, const tangent_run *r, double h,
                            at_tensor *x[MOVERS])
{
    at_tensor *y[3], *weights, *lse, *O = moved(t, p, r, h, x, &weights, &lse), *g[3];
    int n = 0;
    if (r->upstream[SEEN_ODOT]) y[n] = O, g[n++] = r->upstream[SEEN_ODOT];
    if (r->upstream[SEEN_WDOT]) y[n] = weights, g[n++] = r->upstream[SEEN_WDOT];
    if (r->upstream[SEEN_LDOT]) y[n] = lse, g[n++] = r->upstream[SEEN_LDOT];
    return at_backward(t, pairing(t, n, y, g));
}

static void expect_Hessian(int seed)
{
    tangent_problem p = hessian_problem(seed, SDPA_SMALL);
    at_tape *t = at_open(ATTIC_F64, (uint64_t)seed);
    tangent_run r = tangent_run_on(t, &p);
    const at_tensor *Hv[] = TANGENT_INPUTS(r);
    at_tensor *x[4][MOVERS];
    for (int k = 0; k < 4; k++)
        ck_assert_msg(moved_gradients(t, &p, &r, at_h[k] * step, x[k]), "%s", at_error(t));
    for (int i = 0; i < MOVERS; i++)
        for (ptrdiff_t n = 0; Hv[i] && Hv[i]->grad && n < at_count(Hv[i]->shape); n++) {
            double numeric = 0, a = at_grad_element(Hv[i], n);
            for (int k = 0; k < 4; k++)
                numeric += weight_of[k] / step * at_grad_element(x[k][i], n);
            ck_assert_msg(fabs(a - numeric) <= 1e-7 * fmax(1, fabs(numeric)),
                          "%s: Hv of input %d at %td is %.12g, by differences %.12g",
                          sdpa_problem_text(&p.p), i, n, a, numeric);
        }
    at_close(t);
}

START_TEST(Hessians_are_what_differences_of_the_gradients_of_sdpa_say)
{
    for (int seed = 0; seed < sdpa_some(300); seed++) expect_Hessian(seed);
}
END_TEST

/* ------------------------------------------------------------------ tiles against dual numbers - */

static void expect_tiles_as_duals(int seed, sdpa_size size)
{
    tangent_problem p = tangent_draw(seed, size);
    at_tape *duals = at_open(ATTIC_F64, (uint64_t)seed);
    tangent_run twin = tangent_twin(duals, &p, NULL);
    for (int f64 = 0; f64 < 2; f64++) {
        at_tape *t = at_open(f64 ? ATTIC_F64 : ATTIC_F32, (uint64_t)seed);
        tangent_run r = tangent_run_on(t, &p);
        const char *where;
        double off = tangent_difference(&r, &twin, &where), tol = f64 ? 1e-12 : 5e-5;
        ck_assert_msg(off <= tol, "%s, problem %d, %s: %s is off by %.2g", f64 ? "f64" : "f32",
                      seed, sdpa_problem_text(&p.p), where, off);
        at_close(t);
    }
    at_close(duals);
}

/* Outputs and gradients of all problems, tensors in several roles included. */
START_TEST(tiles_give_what_dual_numbers_give)
{
    for (int seed = 0; seed < sdpa_some(600); seed++) expect_tiles_as_duals(seed, SDPA_SMALL);
    for (int seed = 0; seed < sdpa_some(SDPA_TILED_ONES); seed++)
        expect_tiles_as_duals(seed, SDPA_TILES);
    for (int seed = 0; seed < sdpa_some(3); seed++) expect_tiles_as_duals(seed, SDPA_LARGE);
}
END_TEST

SUITE(attention_tangent, it_agrees_with_dual_numbers, tangents_are_what_differences_of_sdpa_say,
      gradients_are_what_differences_of_value_and_tangent_say, backward_is_the_transpose_of_forward,
      Hessians_are_symmetric, Hessians_are_what_differences_of_the_gradients_of_sdpa_say,
      tiles_give_what_dual_numbers_give)
