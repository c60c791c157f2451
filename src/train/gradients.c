/* gradients.c -- the gradients of micro-batches in a binary tree; see gradients.h.
 *
 *     micro-batch      0        1            2              3                  4
 *     receives         g0       g1           g2             g3                 g4
 *     then waits       0        01           01  2          01  23 -> 0123     0123  4
 *
 * Sums are a stack.  Micro-batch m is received on top of it, in the memory of the place where its
 * sum will wait, and behind it as many merges follow as m + 1 has zeros at its end. */
#include "train/gradients.h"

#include <string.h>

#include "autograd/op.h"

bool at_gradients_open(at_gradients *g, at_tape *t, at_arena *a, int micros)
{
    const int n = at_param_count(t);
    size_t sums =
        2; /* one more than ever are added: behind the last micro-batch nothing is received */
    while (micros >>= 1) sums++;
    const size_t places = sums * (size_t)n;
    *g = (at_gradients){.t = t,
                        .n = n,
                        .memory = at_arena_alloc(a, places * sizeof *g->memory),
                        .has = at_arena_alloc(a, places * sizeof *g->has)};
    if (!g->memory || !g->has)
        return at_fail(t, ATTIC_MEMORY_ERROR, "out of memory for %zu sums of gradients", sums);
    memset(g->memory, 0, places * sizeof *g->memory);
    for (int i = 0; i < n; i++) g->memory[i] = at_param_at(t, i)->grad_memory;
    return true;
}

/* What parameter i has now is sum s of it. */
static void put_sum(at_gradients *g, int s, int i)
{
    const at_tensor *x = at_param_at(g->t, i);
    g->memory[s * g->n + i] = x->grad_memory;
    g->has[s * g->n + i] = x->grad;
}

/* Sum s of parameter i is its gradient: if `empty`, its memory alone. */
static at_tensor *get_sum(const at_gradients *g, int s, int i, bool empty)
{
    at_tensor *x = at_param_at(g->t, i);
    x->grad_memory = g->memory[s * g->n + i];
    const bool has = !empty && g->has[s * g->n + i] && x->wants_grad; /* not frozen meanwhile */
    x->grad = has ? x->grad_memory : NULL;
    return x;
}

void at_gradients_begin(at_gradients *g)
{
    for (int i = 0; g->waiting > 0 && i < g->n; i++) get_sum(g, 0, i, true);
    g->received = g->waiting = 0;
}

/* The last two sums become one: the earlier + the later. */
static bool merge_two(at_gradients *g)
{
    const int later = --g->waiting, earlier = later - 1;
    for (int i = 0; i < g->n; i++) {
        if (!g->has[later * g->n + i]) continue;
        at_tensor *x = get_sum(g, earlier, i, false);
        if (!x->wants_grad) continue;
        if (!at_receive_grad(g->t, x, g->memory[later * g->n + i], false)) return false;
        put_sum(g, earlier, i);
    }
    return true;
}

bool at_gradients_take(at_gradients *g)
{
    if (!at_ok(g->t)) return false;
    for (int i = 0; i < g->n; i++) put_sum(g, g->waiting, i);
    g->waiting++;
    for (int m = ++g->received; m % 2 == 0; m /= 2)
        if (!merge_two(g)) return false;
    for (int i = 0; i < g->n; i++) get_sum(g, g->waiting, i, true);
    return true;
}

bool at_gradients_give(at_gradients *g)
{
    while (g->waiting > 1)
        if (!merge_two(g)) return false;
    for (int i = 0; i < g->n; i++) get_sum(g, 0, i, false);
    g->waiting = 0;
    return at_ok(g->t);
}
