/* test_tangent.c -- at_sdpa_jvp: value, tangent, and the derivatives of both. */
#include "attention/tangent_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/gradcheck.h"
#include "tensors.h"

static const char *const tangent_path[] = {"tiles", "rows"};

/* ------------------------------------------------------------------ against differences -------- */

/* x moves by h along its tangent, if it has one. */
static void move(at_tensor *x, const at_tensor *from, const at_tensor *dot, double h)
{
    for (ptrdiff_t i = 0; dot && i < at_count(x->shape); i++)
        at_store(x->dtype, x->data, i, at_element(from, i) + h * at_element(dot, i));
}

/* at_sdpa on inputs of its own, at h along the tangents of r: O, or the weights. */
static at_tensor *moved(at_tape *t, const tangent_problem *p, const tangent_run *r, double h,
                        at_tensor **weights)
{
    const at_tensor *in[] = {r->of.Q, r->of.K, r->of.V, r->of.bias};
    at_tensor *x[MOVERS] = {NULL};
    for (int i = 0; i < MOVERS; i++) {
        if (!in[i]) continue;
        x[i] = variable_like(t, in[i]);
        move(x[i], in[i], r->dot[i], h);
    }
    at_sdpa_args a = p->p.args;
    a.bias = x[3], a.keep = r->of.keep, a.key_len = r->of.key_len, a.weights = weights;
    a.path = ATTIC_PLAIN;
    *at_draw_count(t) = 0; /* the same drops every time */
    return at_sdpa(t, x[0], x[1], x[2], a);
}

/* Both tangents are within 1e-8 of five-point differences of at_sdpa. */
static void expect_tangents(const tangent_problem *p, at_sdpa_path path)
{
    const double h = 1e-3, weight[] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
    const double at[] = {-2, -1, 1, 2};
    at_tape *t = at_open(ATTIC_F64, (uint64_t)p->p.seed);
    tangent_problem all = *p;
    all.wants_W = all.wants_Wdot = true;
    tangent_run r = tangent_inputs(t, &all);
    ck_assert_msg(tangent_forward(t, &all, &r, path), "%s", at_error(t));
    at_tensor *y[4], *w[4], *w0, *y0 = moved(t, p, &r, 0, &w0);
    for (int k = 0; k < 4; k++) y[k] = moved(t, p, &r, at[k] * h, &w[k]);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    for (int part = 0; part < 2; part++) {
        at_tensor **f = part ? w : y, *f0 = part ? w0 : y0;
        const at_tensor *value = r.out[part ? SEEN_W : SEEN_O];
        const at_tensor *dot = r.out[part ? SEEN_WDOT : SEEN_ODOT];
        for (ptrdiff_t i = 0; i < at_count(f0->shape); i++) {
            double numeric = 0, a = at_element(dot, i);
            for (int k = 0; k < 4; k++) numeric += weight[k] / h * at_element(f[k], i);
            assert_close(at_element(value, i), at_element(f0, i), 1e-14);
            ck_assert_msg(fabs(a - numeric) <= 2e-8 * fmax(1, fabs(numeric)),
                          "%s, %s: %s[%td] is %.12g, by differences %.12g", tangent_path[path],
                          sdpa_problem_text(&p->p), part ? "weightsdot" : "Odot", i, a, numeric);
        }
    }
    at_close(t);
}

START_TEST(tangents_are_what_differences_of_sdpa_say)
{
    for (int seed = 0; seed < sdpa_some(300); seed++) {
        tangent_problem p = tangent_draw(seed, SDPA_SMALL);
        for (int path = 0; path < 2; path++) expect_tangents(&p, (at_sdpa_path)path);
    }
}
END_TEST

/* ------------------------------------------------------------------ gradients ------------------ */

typedef struct {
    const tangent_problem *p;
    const tangent_run *r;
    at_sdpa_path path;
} tangent_function;

/* All outputs that are looked at, side by side. */
static at_tensor *tangent_outputs(at_tape *t, at_tensor **in, void *ctx)
{
    const tangent_function *f = ctx;
    tangent_run r = *f->r;
    at_tensor *y[SEEN];
    int n = 0;
    (void)in;
    if (!tangent_forward(t, f->p, &r, f->path)) return NULL;
    for (int i = 0; i < SEEN; i++)
        if (f->p->seen[i]) y[n++] = at_reshape(t, r.out[i], at_shape_of(-1));
    return at_concat(t, y, n, 0);
}

/* Derivatives that are 0 but for rounding, where one key is kept, are no failure. */
static at_verdict gradients_of(int seed, at_sdpa_path path)
{
    tangent_problem p = tangent_draw(seed, SDPA_TINY);
    at_tape *t = at_open(ATTIC_F64, (uint64_t)seed);
    tangent_run r = tangent_inputs(t, &p);
    tangent_function f = {&p, &r, path};
    at_tensor *in[2 * MOVERS] = {r.of.Q, r.of.K, r.of.V, r.of.bias}, *x[2 * MOVERS];
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
    ck_assert_msg(g.verdict != ATTIC_WRONG || rounding,
                  "%s, %s: %s: %.12g, by differences %.12g; %s", tangent_path[path],
                  sdpa_problem_text(&p.p), g.where, g.analytic, g.numeric, g.reason);
    at_close(t);
    return g.verdict;
}

START_TEST(gradients_are_what_differences_of_value_and_tangent_say)
{
    const int problems = sdpa_some(300);
    int passed = 0;
    for (int seed = 0; seed < problems; seed++)
        for (int path = 0; path < 2; path++)
            passed += gradients_of(seed, (at_sdpa_path)path) == ATTIC_PASS;
    ck_assert_int_gt(passed, problems); /* of two each; the rest has nothing to check */
}
END_TEST

/* ------------------------------------------------------------------ tiles against rows --------- */

static void expect_tiles_as_rows(int seed, sdpa_size size)
{
    tangent_problem p = tangent_draw(seed, size);
    at_tape *t[2][2];
    tangent_run r[2][2];
    for (int f64 = 0; f64 < 2; f64++)
        for (int path = 0; path < 2; path++) {
            t[f64][path] = at_open(f64 ? ATTIC_F64 : ATTIC_F32, (uint64_t)seed);
            r[f64][path] = tangent_run_on(t[f64][path], &p, (at_sdpa_path)path);
        }
    for (int f64 = 0; f64 < 2; f64++) {
        const char *where;
        double off = tangent_difference(&r[f64][0], &r[1][1], &where), tol = f64 ? 1e-12 : 5e-5;
        ck_assert_msg(off <= tol, "%s, problem %d, %s: %s is off by %.2g", f64 ? "f64" : "f32",
                      seed, sdpa_problem_text(&p.p), where, off);
    }
    for (int f64 = 0; f64 < 2; f64++)
        for (int path = 0; path < 2; path++) at_close(t[f64][path]);
}

START_TEST(tiles_give_what_rows_give)
{
    for (int seed = 0; seed < sdpa_some(600); seed++) expect_tiles_as_rows(seed, SDPA_SMALL);
    for (int seed = 0; seed < sdpa_some(96); seed++) expect_tiles_as_rows(seed, SDPA_TILES);
    for (int seed = 0; seed < sdpa_some(3); seed++) expect_tiles_as_rows(seed, SDPA_LARGE);
}
END_TEST

SUITE(attention_tangent, tiles_give_what_rows_give, tangents_are_what_differences_of_sdpa_say,
      gradients_are_what_differences_of_value_and_tangent_say)
