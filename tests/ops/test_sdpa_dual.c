/* test_sdpa_dual.c -- attention in dual numbers: derivatives without backward and without differences.
 *
 * A dual number x + x' e, e^2 = 0, carries a value and its derivative along one direction; arithmetic on
 * both is exact, there is no step size:
 *
 *     (x + x'e)(y + y'e) = xy + (x'y + xy')e         f(x + x'e) = f(x) + f'(x) x' e
 *
 * The attention below is the definition, cell by cell, with nothing of the derivation in sdpa.c.  For random
 * directions x' of one input and random cotangents, backward must give
 *
 *     <dO, O'> + <dW, A'> = <dx, x'> */
#include "ops/sdpa_draw.h"

#include <math.h>
#include <stdlib.h>

#include "test.h"

typedef struct {
    double v, d;
} dual;

static dual dual_add(dual x, dual y)
{
    return (dual){x.v + y.v, x.d + y.d};
}
static dual dual_mul(dual x, dual y)
{
    return (dual){x.v * y.v, x.d * y.v + x.v * y.d};
}
static dual dual_div(dual x, dual y)
{
    return (dual){x.v / y.v, (x.d * y.v - x.v * y.d) / (y.v * y.v)};
}
static dual dual_exp(dual x)
{
    return (dual){exp(x.v), exp(x.v) * x.d};
}
static dual dual_tanh(dual x)
{
    return (dual){tanh(x.v), x.d / (cosh(x.v) * cosh(x.v))};
}
static dual dual_of(double v)
{
    return (dual){v, 0};
}

/* Which input moves. */
enum { MOVE_Q, MOVE_K, MOVE_V, MOVE_BIAS, MOVES };

typedef struct {
    const sdpa_problem *p;
    const sdpa_run *r;
    int moves;
    at_stream draws; /* of the dropout */
} dual_call;

static double dual_direction(int which, ptrdiff_t at)
{
    return at_random_normal((at_stream){77, (uint64_t)which}, (uint64_t)at);
}

static dual dual_read(const dual_call *c, int which, const at_tensor *x, ptrdiff_t at)
{
    bool is_moved = which == c->moves || (c->p->same && which != MOVE_BIAS && c->moves == MOVE_Q);
    int source = c->p->same && which != MOVE_BIAS ? MOVE_Q : which;
    return (dual){at_element(x, at), is_moved ? dual_direction(source, at) : 0};
}

static dual dual_score(const dual_call *c, int b, int h, int i, int j)
{
    const sdpa_problem *p = c->p;
    const sdpa_run *r = c->r;
    ptrdiff_t Q = sdpa_row(p, r->Q, p->H, b, h, i);
    ptrdiff_t K = sdpa_row(p, r->K, p->G, b, h / (p->H / p->G), j);
    dual s = {0, 0};
    for (int d = 0; d < p->D; d++)
        s = dual_add(
            s, dual_mul(dual_read(c, MOVE_Q, r->Q, Q + d), dual_read(c, MOVE_K, r->K, K + d)));
    double scale = p->args.scale != 0 ? p->args.scale : p->D ? 1 / sqrt(p->D) : 1;
    double temperature = p->args.temperature > 0 ? p->args.temperature : 1;
    s = dual_mul(s, dual_of(scale / temperature));
    if (p->args.softcap > 0)
        s = dual_mul(dual_of(p->args.softcap), dual_tanh(dual_div(s, dual_of(p->args.softcap))));
    if (r->bias)
        s = dual_add(s, dual_read(c, MOVE_BIAS, r->bias, sdpa_cell(p, r->bias, b, h, i, j)));
    return s;
}

/* A_i [S], the weights of row (b,h,i) */
static void dual_weights(const dual_call *c, int b, int h, int i, dual *A)
{
    const sdpa_problem *p = c->p;
    dual sum = {0, 0};
    double top = -(double)INFINITY;
    for (int j = 0; j < p->S; j++)
        if (sdpa_keeps(p, c->r, b, h, i, j)) top = fmax(top, dual_score(c, b, h, i, j).v);
    for (int j = 0; j < p->S; j++) {
        A[j] = dual_of(0);
        if (!sdpa_keeps(p, c->r, b, h, i, j)) continue;
        A[j] = dual_exp(dual_add(dual_score(c, b, h, i, j), dual_of(-top)));
        sum = dual_add(sum, A[j]);
    }
    for (int j = 0; j < p->S; j++) {
        uint64_t cell = (((uint64_t)b * p->H + h) * p->T + i) * p->S + j;
        bool dropped =
            p->args.dropout > 0 && at_random_u32(c->draws, cell) < p->args.dropout * 0x1p32;
        if (A[j].v == 0) continue;
        A[j] = dropped ? dual_of(0)
                       : dual_mul(dual_div(A[j], sum), dual_of(1 / (1 - p->args.dropout)));
    }
}

/* Compares row (b,h,i) with O and the weights; returns its <dO, O'> + <dW, A'>. */
static double dual_row(const dual_call *c, int b, int h, int i, dual *A)
{
    const sdpa_problem *p = c->p;
    const sdpa_run *r = c->r;
    double change = 0;
    dual_weights(c, b, h, i, A);
    ptrdiff_t row = (((ptrdiff_t)b * p->H + h) * p->T + i) * p->S,
              O = sdpa_row(p, r->O, p->H, b, h, i);
    for (int j = 0; r->weights && j < p->S; j++) {
        assert_close(at_element(r->weights, row + j), A[j].v, 1e-12);
        change += at_element(r->dW, row + j) * A[j].d;
    }
    for (int d = 0; d < p->Dv; d++) {
        dual sum = {0, 0};
        for (int j = 0; j < p->S; j++) {
            ptrdiff_t V = sdpa_row(p, r->V, p->G, b, h / (p->H / p->G), j);
            if (A[j].v != 0) sum = dual_add(sum, dual_mul(A[j], dual_read(c, MOVE_V, r->V, V + d)));
        }
        assert_close(at_element(r->O, O + d), sum.v, 1e-12);
        if (r->dO) change += at_element(r->dO, O + d) * sum.d;
    }
    return change;
}

/* <dx, x'> by backward against <dO, O'> + <dW, A'> by dual numbers */
static void check_input(const dual_call *c, const at_tensor *x, const char *name, const char *path)
{
    const sdpa_problem *p = c->p;
    double forward = 0, backward = 0, size = 1;
    dual *A = malloc(((size_t)p->S + 1) * sizeof *A);
    for (int b = 0; b < p->B; b++)
        for (int h = 0; h < p->H; h++)
            for (int i = 0; i < p->T; i++) forward += dual_row(c, b, h, i, A);
    for (ptrdiff_t n = at_count(x->shape), i = 0; i < n; i++) {
        double term = at_grad_element(x, i) * dual_direction(c->moves, i);
        backward += term;
        size += fabs(term);
    }
    ck_assert_msg(fabs(forward - backward) <= 1e-12 * size,
                  "%s, %s: the derivative along %s is %.15g by dual numbers, %.15g by backward",
                  sdpa_problem_text(p), path, name, forward, backward);
    free(A);
}

static void check_problem(int seed, at_sdpa_path path, const char *name)
{
    sdpa_problem p = sdpa_draw(seed, false);
    at_tape *t = at_open(ATTIC_F64, (uint64_t)seed);
    sdpa_run r = sdpa_inputs(t, &p);
    bool ran = sdpa_forward(t, &p, &r, path) && sdpa_backward(t, &r);
    ck_assert_msg(ran, "%s: %s", sdpa_problem_text(&p), at_error(t));

    dual_call c = {&p, &r, MOVE_Q, {(uint64_t)seed, 0}};
    check_input(&c, r.Q, "Q", name);
    c.moves = MOVE_K;
    if (!p.same) check_input(&c, r.K, "K", name);
    c.moves = MOVE_V;
    if (!p.same) check_input(&c, r.V, "V", name);
    c.moves = MOVE_BIAS;
    if (r.bias) check_input(&c, r.bias, "bias", name);
    at_close(t);
}

START_TEST(backward_agrees_with_dual_numbers_on_every_path)
{
    for (int seed = 5000; seed < 5400; seed++) {
        check_problem(seed, ATTIC_FUSED, "fused");
        check_problem(seed, ATTIC_PLAIN, "plain");
        check_problem(seed, ATTIC_COMPOSED, "composed");
    }
}
END_TEST

SUITE(ops_sdpa_dual, backward_agrees_with_dual_numbers_on_every_path)
