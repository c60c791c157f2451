/* test_dual.c -- attention in dual numbers: derivatives without backward and without differences.
 *
 * A dual number x + x' e, e^2 = 0, carries a value and its derivative along one direction; arithmetic on
 * both is exact, there is no step size:
 *
 *     (x + x'e)(y + y'e) = xy + (x'y + xy')e         f(x + x'e) = f(x) + f'(x) x' e
 *
 * The attention below is the definition, cell by cell, with nothing of the derivation in reference.c.  For random
 * directions x' of one input and random cotangents, backward must give
 *
 *     <dO, O'> + <dW, A'> + <dY, P'> + <dL, lse'> = <dx, x'>      dY: of P, the weights before dropout */
#include "attention/sdpa_run.h"

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

typedef struct {
    const sdpa_problem *p;
    const sdpa_run *r;
    const at_tensor *moves; /* the input that does */
    at_stream drops;
} dual_call;

/* Element `at` of x' */
static double dual_direction(ptrdiff_t at)
{
    return at_random_normal((at_stream){77, 0}, (uint64_t)at);
}

static dual dual_read(const dual_call *c, const at_tensor *x, ptrdiff_t at)
{
    return (dual){at_element(x, at), x == c->moves ? dual_direction(at) : 0};
}

static dual dual_score(const dual_call *c, int b, int h, int i, int j)
{
    const sdpa_problem *p = c->p;
    const sdpa_run *r = c->r;
    ptrdiff_t Q = sdpa_row(p, r->Q->shape, p->H, b, h, i);
    ptrdiff_t K = sdpa_row(p, r->K->shape, p->G, b, h / (p->H / p->G), j);
    dual s = {0, 0};
    for (int d = 0; d < p->D; d++)
        s = dual_add(s, dual_mul(dual_read(c, r->Q, Q + d), dual_read(c, r->K, K + d)));
    double scale = p->args.scale != 0 ? p->args.scale : p->D ? 1 / sqrt(p->D) : 1;
    double temperature = p->args.temperature > 0 ? p->args.temperature : 1;
    s = dual_mul(s, dual_of(scale / temperature));
    if (r->head_scale)
        s = dual_mul(s, dual_read(c, r->head_scale, r->head_scale->shape.ndim ? h : 0));
    if (p->args.softcap > 0)
        s = dual_mul(dual_of(p->args.softcap), dual_tanh(dual_div(s, dual_of(p->args.softcap))));
    if (r->bias) s = dual_add(s, dual_read(c, r->bias, sdpa_cell(p, p->bias, b, h, i, j)));
    return s;
}

/* P_i [S] and A_i [S], the weights of row (b,h,i) before and after dropout; its log-sum-exp */
static dual dual_weights(const dual_call *c, int b, int h, int i, dual *P, dual *A)
{
    const sdpa_problem *p = c->p;
    const double kept = 1 - p->args.dropout;
    uint64_t cell = (((uint64_t)b * (uint64_t)p->H + (uint64_t)h) * (uint64_t)p->T + (uint64_t)i) *
                    (uint64_t)p->S;
    const at_tensor *s = c->r->sink;
    const dual sink = s ? dual_read(c, s, s->shape.ndim ? h : 0) : dual_of(-(double)INFINITY);
    double top = sink.v;
    for (int j = 0; j < p->S; j++) {
        A[j] = sdpa_keeps(p, b, h, i, j) ? dual_score(c, b, h, i, j) : dual_of(-(double)INFINITY);
        top = fmax(top, A[j].v);
    }
    dual sum = s ? dual_exp(dual_add(sink, dual_of(-top))) : dual_of(0);
    for (int j = 0; j < p->S; j++) {
        A[j] = A[j].v > -(double)INFINITY ? dual_exp(dual_add(A[j], dual_of(-top))) : dual_of(0);
        sum = dual_add(sum, A[j]);
    }
    for (int j = 0; j < p->S; j++) {
        bool dropped = at_random_u32(c->drops, cell + (uint64_t)j) < p->args.dropout * 0x1p32;
        P[j] = A[j].v != 0 ? dual_div(A[j], sum) : dual_of(0);
        A[j] = dropped ? dual_of(0) : dual_mul(P[j], dual_of(1 / kept));
    }
    return (dual){top + log(sum.v), sum.v > 0 ? sum.d / sum.v : 0};
}

/* Compares row (b,h,i) with O, both weights and lse; returns its <dO, O'> + <dW, A'> + <dY, P'> +
 * <dL, lse'>. */
static double dual_row(const dual_call *c, int b, int h, int i, dual *P, dual *A)
{
    const sdpa_problem *p = c->p;
    const sdpa_run *r = c->r;
    double change = 0;
    const dual lse = dual_weights(c, b, h, i, P, A);
    const ptrdiff_t number = ((ptrdiff_t)b * p->H + h) * p->T + i, row = number * p->S;
    const ptrdiff_t O = sdpa_row(p, r->O->shape, p->H, b, h, i);
    if (r->lse && isfinite(lse.v)) assert_close(at_element(r->lse, number), lse.v, 1e-12);
    if (r->lse && !isfinite(lse.v)) ck_assert(at_element(r->lse, number) == lse.v);
    if (r->dL) change += at_element(r->dL, number) * lse.d;
    for (int j = 0; r->weights && j < p->S; j++) {
        assert_close(at_element(r->weights, row + j), A[j].v, 1e-12);
        if (r->dW) change += at_element(r->dW, row + j) * A[j].d;
    }
    for (int j = 0; r->probs && j < p->S; j++) {
        assert_close(at_element(r->probs, row + j), P[j].v, 1e-12);
        if (r->dY) change += at_element(r->dY, row + j) * P[j].d;
    }
    for (int d = 0; d < p->Dv; d++) {
        dual sum = {0, 0};
        for (int j = 0; j < p->S; j++) {
            ptrdiff_t V = sdpa_row(p, r->V->shape, p->G, b, h / (p->H / p->G), j);
            if (A[j].v != 0) sum = dual_add(sum, dual_mul(A[j], dual_read(c, r->V, V + d)));
        }
        assert_close(at_element(r->O, O + d), sum.v, 1e-12);
        if (r->dO) change += at_element(r->dO, O + d) * sum.d;
    }
    return change;
}

/* <dx, x'> by backward against the same by dual numbers, for the x that moves */
static void check_input(const dual_call *c, const char *name, const char *path)
{
    const sdpa_problem *p = c->p;
    const at_tensor *x = c->moves;
    double forward = 0, backward = 0, size = 1;
    dual *P = malloc(2 * ((size_t)p->S + 1) * sizeof *P);
    for (int b = 0; b < p->B; b++)
        for (int h = 0; h < p->H; h++)
            for (int i = 0; i < p->T; i++) forward += dual_row(c, b, h, i, P, P + p->S);
    for (ptrdiff_t n = at_count(x->shape), i = 0; i < n; i++) {
        double term = at_grad_element(x, i) * dual_direction(i);
        backward += term;
        size += fabs(term);
    }
    ck_assert_msg(
        fabs(forward - backward) <= 1e-12 * size,
        "%s path, %s: the derivative along %s is %.15g by dual numbers, %.15g by backward", path,
        sdpa_problem_text(p), name, forward, backward);
    free(P);
}

static void check_problem(int seed, sdpa_size size, at_sdpa_path path)
{
    static const char *const path_name[] = {"", "fused", "plain", "composed"};
    sdpa_problem p = sdpa_draw(seed, size);
    at_tape *t = at_open(ATTIC_F64, (uint64_t)seed);
    sdpa_run r = sdpa_run_on(t, &p, path);
    for (int k = 0; k < SDPA_REALS; k++) {
        dual_call c = {&p, &r, r.in[k], {(uint64_t)seed, 0}};
        if (sdpa_has_input(&p, k) && r.in[k]->wants_grad)
            check_input(&c, sdpa_input_name(k), path_name[path]);
    }
    at_close(t);
}

START_TEST(backward_agrees_with_dual_numbers_on_every_path)
{
    for (int seed = 5000; seed < 5000 + sdpa_some(294); seed++)
        for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++)
            check_problem(seed, SDPA_SMALL, path);
}
END_TEST

START_TEST(backward_agrees_with_dual_numbers_across_the_borders_of_tiles)
{
    for (int seed = 5000; seed < 5000 + sdpa_some(6); seed++)
        for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++)
            check_problem(seed, SDPA_TILES, path);
}
END_TEST

SUITE(attention_dual, backward_agrees_with_dual_numbers_on_every_path,
      backward_agrees_with_dual_numbers_across_the_borders_of_tiles)
