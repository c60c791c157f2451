/* mirror.c -- the f64 kernels of some ops, done by their kernels for numbers of two parts.
 *
 * The ops named at the end are compiled with double _Complex as their real type (kernels/real.h).  Linked before
 * the library, this file stands in for their f64 kernels: it gives each number a second part, its value times
 * 2^-600 of a random tangent v, runs the kernel on these, and hands back the first parts.  So the f64 tests of
 * these ops are tests of the first parts.  Of the second parts backward makes sure, whenever it runs, that
 *
 *     <dy, J v> = <J^T dy, v>       J v from the second parts of y, J^T dy from backward
 *
 * holds, to 1e-12 of the sum of the absolute terms.  The first node for which it does not ends the program. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/state.h"
#include "kernels/random.h"

typedef double _Complex pair;
typedef void kernel(at_node *n);

#define SMALL 0x1p-600

static long compared;

/* A node of pairs, made of one of doubles. */
typedef struct {
    at_tape tape;
    at_node node;
    at_tensor x[4], y[AT_MAX_OUT], *in[4];
    void *scratch, *saved;
} mirror;

static void *memory(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!p) abort();
    return memset(p, 0, (bytes + 64) / 64 * 64);
}

static double tangent_of(const at_node *n, int input, ptrdiff_t i)
{
    at_stream stream = {(uint64_t)n->index, (uint64_t)input};
    return n->in[input]->wants_grad ? 2 * at_random_unit(stream, (uint64_t)i) - 1 : 0;
}

static void mirror_open(mirror *m, const at_node *n)
{
    const size_t most = (size_t)at_count(n->in[0]->shape) + 512;
    m->tape = *n->tape;
    m->node = *n;
    m->node.tape = &m->tape;
    m->node.in = m->in;
    m->node.saved = m->saved = memory(8 * most * sizeof(pair));
    m->node.scratch = 2 * n->scratch;
    m->tape.scratch_memory = m->scratch = memory((size_t)n->slots * m->node.scratch);
    for (int k = 0; k < n->n_in; k++) {
        m->in[k] = n->in[k] ? &m->x[k] : NULL;
        if (!n->in[k]) continue;
        m->x[k] = *n->in[k];
        m->x[k].grad = m->x[k].grad_memory = NULL;
        if (n->in[k]->dtype != ATTIC_F64) continue;
        const ptrdiff_t count = at_count(n->in[k]->shape);
        pair *x = m->x[k].data = memory((size_t)count * sizeof *x);
        for (ptrdiff_t i = 0; i < count; i++)
            x[i] = __builtin_complex(((double *)n->in[k]->data)[i], SMALL * tangent_of(n, k, i));
        m->x[k].grad = m->x[k].grad_memory = memory((size_t)count * sizeof *x);
    }
    for (int k = 0; k < n->n_out; k++) {
        m->node.out[k] = &m->y[k];
        m->y[k] = *n->out[k];
        m->y[k].data = memory((size_t)at_count(n->out[k]->shape) * sizeof(pair));
    }
}

static void mirror_close(mirror *m)
{
    for (int k = 0; k < m->node.n_in; k++)
        if (m->in[k] && m->x[k].grad) free(m->x[k].data), free(m->x[k].grad);
    for (int k = 0; k < m->node.n_out; k++) free(m->y[k].data);
    free(m->scratch);
    free(m->saved);
}

static void forward_in_pairs(at_node *n, kernel *forward)
{
    mirror m;
    mirror_open(&m, n);
    forward(&m.node);
    for (int k = 0; k < n->n_out; k++)
        for (ptrdiff_t i = 0; i < at_count(n->out[k]->shape); i++)
            ((double *)n->out[k]->data)[i] = creal(((pair *)m.y[k].data)[i]);
    mirror_close(&m);
}

/* <dy, J v> = <J^T dy, v>? */
static void compare(const at_node *n, const mirror *m)
{
    const double *dy = n->out[0]->grad;
    double forward = 0, backward = 0, terms = 0;
    for (ptrdiff_t i = 0; i < at_count(n->out[0]->shape); i++) {
        double term = dy[i] * (cimag(((pair *)m->y[0].data)[i]) / SMALL);
        forward += term, terms += fabs(term);
    }
    for (int k = 0; k < n->n_in; k++)
        for (ptrdiff_t i = 0; m->in[k] && m->x[k].grad && i < at_count(m->x[k].shape); i++) {
            double term = creal(((pair *)m->x[k].grad)[i]) * tangent_of(n, k, i);
            backward += term, terms += fabs(term);
        }
    if (!isfinite(terms)) return;
    compared++;
    if (fabs(forward - backward) <= 1e-12 * terms) return;
    fprintf(stderr, "%s: <dy, J v> = %.17g, but <J^T dy, v> = %.17g\n", n->op->name, forward,
            backward);
    abort();
}

static void backward_in_pairs(at_node *n, kernel *forward, kernel *backward)
{
    mirror m;
    mirror_open(&m, n);
    forward(&m.node);
    const ptrdiff_t count = at_count(n->out[0]->shape);
    pair *dy = m.y[0].grad = memory((size_t)count * sizeof *dy);
    for (ptrdiff_t i = 0; i < count; i++) dy[i] = ((double *)n->out[0]->grad)[i];
    backward(&m.node);
    for (int k = 0; k < n->n_in; k++) {
        double *dx = n->in[k] && n->in[k]->wants_grad ? at_grad(n, k) : NULL;
        for (ptrdiff_t i = 0; dx && i < at_count(n->in[k]->shape); i++)
            dx[i] += creal(((pair *)m.x[k].grad)[i]);
    }
    compare(n, &m);
    free(dy);
    mirror_close(&m);
}

#define IN_PAIRS(op)                                                                               \
    kernel at_##op##_forward_complex, at_##op##_backward_complex;                                  \
    kernel at_##op##_forward_f64, at_##op##_backward_f64;                                          \
    void at_##op##_forward_f64(at_node *n)                                                         \
    {                                                                                              \
        forward_in_pairs(n, at_##op##_forward_complex);                                            \
    }                                                                                              \
    void at_##op##_backward_f64(at_node *n)                                                        \
    {                                                                                              \
        backward_in_pairs(n, at_##op##_forward_complex, at_##op##_backward_complex);               \
    }
IN_PAIRS(softmax)
IN_PAIRS(log_softmax)
IN_PAIRS(cross_entropy)

__attribute__((destructor)) static void report(void)
{
    printf("<dy, J v> = <J^T dy, v> for %ld nodes\n", compared);
}
