/* tangent_run.c -- runs random problems of at_sdpa_jvp; see tangent_run.h. */
#include "attention/tangent_run.h"

#include <math.h>
#include <stdio.h>

#include "attention/pairing.h"
#include "test.h"

static bool tangent_coin(int seed, int which, int sides)
{
    return at_random_u32((at_stream){(uint64_t)seed, 7000}, (uint64_t)which) % (uint32_t)sides == 0;
}

tangent_problem tangent_draw(int seed, sdpa_size size)
{
    tangent_problem x = {.p = sdpa_draw(seed, size)};
    const sdpa_problem *p = &x.p;
    sdpa_for_tangents(&x.p);
    x.wants_W = p->weights != SDPA_NO_WEIGHTS, x.wants_Wdot = p->probs != SDPA_NO_WEIGHTS;
    x.seen[SEEN_W] = p->weights >= SDPA_BESIDE_O, x.seen[SEEN_WDOT] = p->probs >= SDPA_BESIDE_O;
    x.wants_L = p->lse != SDPA_NO_WEIGHTS, x.seen[SEEN_L] = p->lse >= SDPA_BESIDE_O;
    x.wants_Ldot = tangent_coin(seed, 11, 2);
    x.seen[SEEN_LDOT] = x.wants_Ldot && tangent_coin(seed, 12, 2);
    x.p.weights = x.p.probs = x.p.lse = SDPA_NO_WEIGHTS;
    x.seen[SEEN_O] = !tangent_coin(seed, 0, 4);
    x.seen[SEEN_ODOT] = !x.seen[SEEN_O] || !tangent_coin(seed, 1, 4);
    for (int i = 0; i < MOVERS; i++) {
        const bool has = i < MOVES_BIAS || (i == MOVES_BIAS ? p->has_bias : p->has_sink);
        x.moves[i] = !tangent_coin(seed, 20 + i, 4) && has;
        x.still[i] = tangent_coin(seed, 30 + i, 5);
    }
    x.shares = tangent_coin(seed, 10, 4);
    return x;
}

static void tangent_fill(at_tensor *x, const tangent_problem *p, int which)
{
    at_stream s = {(uint64_t)p->p.seed, 8000 + (uint64_t)which};
    for (ptrdiff_t n = x ? at_count(x->shape) : 0, i = 0; i < n; i++)
        at_store(x->dtype, x->data, i, (double)(float)at_random_normal(s, (uint64_t)i));
}

tangent_run tangent_inputs(at_tape *t, const tangent_problem *p)
{
    tangent_run r = {.of = sdpa_inputs(t, &p->p)};
    const at_tensor *in[] = TANGENT_INPUTS(r);
    for (int i = 0; i < MOVERS && at_ok(t); i++) {
        if (!p->moves[i]) continue;
        r.dot[i] =
            p->still[i] ? at_const(t, in[i]->shape, NULL) : at_variable(t, in[i]->shape, NULL);
        tangent_fill(r.dot[i], p, i);
    }
    if (!p->shares || !at_ok(t)) return r;
    if (p->moves[MOVES_Q]) r.dot[MOVES_Q] = r.of.Q;
    if (p->moves[MOVES_V] && r.dot[MOVES_K] && at_same_shape(in[1]->shape, in[2]->shape))
        r.dot[MOVES_V] = r.dot[MOVES_K];
    return r;
}

bool tangent_forward(at_tape *t, const tangent_problem *p, tangent_run *r)
{
    at_sdpa_args a = p->p.args;
    sdpa_give_masks(&a, &r->of);
    a.bias = r->of.bias;
    a.bias_tangent = r->dot[MOVES_BIAS];
    a.sink = r->of.sink, a.sink_tangent = r->dot[MOVES_SINK];
    if (p->wants_W) a.weights = &r->out[SEEN_W];
    if (p->wants_Wdot) a.weights_tangent = &r->out[SEEN_WDOT];
    if (p->wants_L) a.lse = &r->out[SEEN_L];
    if (p->wants_Ldot) a.lse_tangent = &r->out[SEEN_LDOT];
    r->out[SEEN_O] = at_sdpa_jvp(t, r->of.Q, r->of.K, r->of.V, r->dot[MOVES_Q], r->dot[MOVES_K],
                                 r->dot[MOVES_V], a, &r->out[SEEN_ODOT]);
    for (int i = 0; i < SEEN && at_ok(t); i++) {
        if (!p->seen[i]) continue;
        r->upstream[i] = at_const(t, r->out[i]->shape, NULL);
        tangent_fill(r->upstream[i], p, MOVERS + i);
    }
    return at_ok(t);
}

bool tangent_backward(at_tape *t, const tangent_run *r)
{
    at_tensor *x[SEEN], *c[SEEN];
    int n = 0;
    for (int i = 0; i < SEEN; i++)
        if (r->upstream[i]) x[n] = r->out[i], c[n++] = r->upstream[i];
    at_tensor *loss = pairing(t, n, x, c);
    return at_ok(t) && (!loss->wants_grad || at_backward(t, loss));
}

tangent_run tangent_run_on(at_tape *t, const tangent_problem *p)
{
    tangent_run r = tangent_inputs(t, p);
    bool ran = tangent_forward(t, p, &r) && tangent_backward(t, &r);
    ck_assert_msg(ran, "%s: %s", sdpa_problem_text(&p->p), at_error(t));
    return r;
}

/* What sdpa_difference can compare: the values; the tangents; the outputs, Odot as weights, the
 * weights as scores and their tangent as probs; lse, and its tangent as O. */
static void tangent_parts(const tangent_run *x, sdpa_run part[4])
{
    part[0] = x->of;
    part[1] = (sdpa_run){.Q = x->dot[MOVES_Q],
                         .K = x->dot[MOVES_K],
                         .V = x->dot[MOVES_V],
                         .bias = x->dot[MOVES_BIAS],
                         .sink = x->dot[MOVES_SINK],
                         .cells = x->of.cells};
    part[2] = (sdpa_run){.O = x->out[SEEN_O],
                         .weights = x->out[SEEN_ODOT],
                         .scores = x->out[SEEN_W],
                         .probs = x->out[SEEN_WDOT]};
    part[3] = (sdpa_run){.lse = x->out[SEEN_L], .O = x->out[SEEN_LDOT]};
}

double tangent_difference(const tangent_run *x, const tangent_run *y, const char **where)
{
    static const char *const name[] = {"the values' ", "the tangents' ", "the outputs' ", "lse's "};
    static char text[64];
    sdpa_run a[4], b[4];
    double worst = 0;
    tangent_parts(x, a), tangent_parts(y, b);
    *where = "nothing";
    for (int i = 0; i < 4; i++) {
        const char *of;
        double off = sdpa_difference(&a[i], &b[i], &of);
        if (off <= worst) continue;
        worst = off;
        snprintf(text, sizeof text, "%s%s", name[i], of);
        *where = text;
    }
    return worst;
}
