/* bench_sdpa.c -- attention, forward and backward, at every length.
 *
 *     O = softmax(Q K^T / sqrt(D)) V        Q, K, V, O [B,H,T,D]
 *
 * Four groups: full or causal, forward alone (nothing saved for backward) or forward and backward
 * (dQ, dK, dV from a given dO).  Shapes in which only T grows, for the plots, and the shapes of
 * small models, where the cost of the call and of incomplete tiles counts.
 *
 * Forward is two products of 2 T T D flop for each head, backward five more: Q K^T once again (P is
 * not stored), dO V^T, A^T dO, dR K, dR^T Q.  Causal halves that: T (T+1) / 2 pairs instead of T
 * T.  The exponentials are not counted. */
#include "attic.h"
#include "common/bench.h"

#include <stdio.h>

typedef struct {
    int B, H, T, D;
} shape;

static const shape shapes[] = {
    {1, 4, 64, 64},   {1, 4, 128, 64},  {1, 4, 256, 64}, {1, 4, 512, 64},
    {1, 4, 1024, 64}, /* T grows */
    {1, 4, 2048, 64}, {1, 4, 4096, 64}, {1, 1, 8, 64},   {1, 4, 64, 16},
    {8, 4, 64, 16},   {1, 8, 128, 64},  {4, 8, 256, 64}, /* small models */
};

typedef struct {
    at_tape *t;
    at_mark start;
    at_tensor *Q, *K, *V, *dO;
    bool causal;
} attention;

static void forward(void *ctx)
{
    attention *a = ctx;
    at_no_grad(a->t, true);
    at_sdpa(a->t, a->Q, a->K, a->V, (at_sdpa_args){.causal = a->causal});
    at_no_grad(a->t, false);
    at_rewind(a->t, a->start);
}

static void forward_backward(void *ctx)
{
    attention *a = ctx;
    at_tensor *O = at_sdpa(a->t, a->Q, a->K, a->V, (at_sdpa_args){.causal = a->causal});
    at_backward_from(a->t, O, a->dO);
    at_zero_grads(a->t);
    at_rewind(a->t, a->start);
}

static bool measure(bench *b, shape s, bool causal, bool backward)
{
    double T = s.T, heads = (double)s.B * s.H, pairs = causal ? T * (T + 1) / 2 : T * T;
    char name[48], peer[64], group[32];
    snprintf(group, sizeof group, "%s %s", causal ? "causal" : "full",
             backward ? "forward+backward" : "forward");
    snprintf(name, sizeof name, "(%d, %d, %d, %d)", s.B, s.H, s.T, s.D);
    snprintf(peer, sizeof peer, "sdpa %d %d %d %d %d %d", s.B, s.H, s.T, s.D, causal, backward);
    bench_case c = {.group = group,
                    .name = name,
                    .x = T,
                    .flop = (backward ? 7 : 2) * 2 * heads * pairs * s.D,
                    .bytes = (backward ? 8 : 4) * heads * T * s.D * 4,
                    .peer = peer};
    if (!bench_wants(b, &c)) return true;
    attention a = {.t = at_open(ATTIC_F32, 1), .causal = causal};
    at_shape all = at_shape_of(s.B, s.H, s.T, s.D);
    a.Q = at_param(a.t, "Q", all, at_normal(1));
    a.K = at_param(a.t, "K", all, at_normal(1));
    a.V = at_param(a.t, "V", all, at_normal(1));
    a.dO = at_random(a.t, all, at_normal(1));
    a.start = at_mark_here(a.t);
    c.run = backward ? forward_backward : forward;
    c.ctx = &a;
    bench_row(b, &c);
    bool ok = at_ok(a.t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(a.t));
    at_close(a.t);
    return ok;
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "sdpa", "attention, forward and backward, at every length\n",
                          "torch");
    bool ok = true;
    while (bench_next_threads(b))
        for (int backward = 0; backward < 2; backward++)
            for (int causal = 0; causal < 2; causal++)
                for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                    ok = measure(b, shapes[i], causal, backward) && ok;
    return bench_close(b) || !ok;
}
