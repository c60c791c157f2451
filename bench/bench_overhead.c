/* bench_overhead.c -- what an op costs when there is little to compute.
 *
 *     one node of a chain      x <- x + y (64 x 64), or x <- x y (scalars), a hundred times,
 *                              then backward through all of it; divided by 100
 *     one op                   one op on 64 x 64 elements, forward and backward, with everything
 *                              that belongs to a step: recording, the sweep, clearing the gradients
 *
 * A framework whose ops cost microseconds cannot train tiny models fast, however fast its products
 * are. */
#include "attic.h"
#include "common/bench.h"

#include <stdio.h>

enum { CHAIN = 100 };

typedef struct {
    at_tape *t;
    at_mark start;
    at_tensor *x, *y, *dz; /* dz: the upstream gradient (cotangent) */
    at_tensor *(*op)(at_tape *t, at_tensor *x, at_tensor *y);
    int chain;
} node;

static void run(void *ctx)
{
    const node *n = ctx;
    at_tensor *z = n->x;
    for (int i = 0; i < n->chain; i++) z = n->op(n->t, z, n->y);
    at_backward_from(n->t, z, n->dz);
    at_zero_grads(n->t);
    at_rewind(n->t, n->start);
}

static void run_forward(void *ctx)
{
    const node *n = ctx;
    at_no_grad(n->t, true);
    n->op(n->t, n->x, n->y);
    at_no_grad(n->t, false);
    at_rewind(n->t, n->start);
}

static at_tensor *softmax(at_tape *t, at_tensor *x, at_tensor *y)
{
    (void)y;
    return at_softmax(t, x);
}

static at_tensor *layer_norm(at_tape *t, at_tensor *x, at_tensor *y)
{
    (void)y;
    return at_layer_norm(t, x, NULL, NULL, 1e-5);
}

static at_tensor *gelu(at_tape *t, at_tensor *x, at_tensor *y)
{
    (void)y;
    return at_gelu(t, x);
}

typedef struct {
    const char *group, *name, *peer;
    at_tensor *(*op)(at_tape *t, at_tensor *x, at_tensor *y);
    int chain, size; /* 0: a scalar, else size x size; chain 0: forward alone */
} op_case;

static const op_case cases[] = {
    {"one node of a chain", "add 64 x 64", "overhead add 100 64", at_add, CHAIN, 64},
    {"one node of a chain", "mul of scalars", "overhead mul 100 0", at_mul, CHAIN, 0},
    {"one op, forward", "add 64 x 64", "overhead add 0 64", at_add, 0, 64},
    {"one op, forward", "matmul 64 x 64 x 64", "overhead matmul 0 64", at_matmul, 0, 64},
    {"one op, forward+backward", "add 64 x 64", "overhead add 1 64", at_add, 1, 64},
    {"one op, forward+backward", "matmul 64 x 64 x 64", "overhead matmul 1 64", at_matmul, 1, 64},
    {"one op, forward+backward", "softmax 64 x 64", "overhead softmax 1 64", softmax, 1, 64},
    {"one op, forward+backward", "layer_norm 64 x 64", "overhead layer_norm 1 64", layer_norm, 1,
     64},
    {"one op, forward+backward", "gelu 64 x 64", "overhead gelu 1 64", gelu, 1, 64},
};

static bool measure(bench *b, const op_case *o)
{
    node n = {.t = at_open(ATTIC_F32, 1), .op = o->op, .chain = o->chain};
    at_shape shape = o->size ? at_shape_of(o->size, o->size) : at_shape_of();
    n.x = at_param(n.t, "x", shape, at_uniform(1));
    n.y = at_param(n.t, "y", shape, at_uniform(1));
    n.dz = at_random(n.t, shape, at_uniform(1));
    n.start = at_mark_here(n.t);
    bench_case c = {.group = o->group,
                    .name = o->name,
                    .each = o->chain,
                    .peer = o->peer,
                    .ctx = &n,
                    .run = o->chain ? run : run_forward};
    bench_row(b, &c);
    bool ok = at_ok(n.t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(n.t));
    at_close(n.t);
    return ok;
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "overhead",
                          "what an op costs when there is little to compute\n", "torch");
    bool ok = true;
    while (bench_next_threads(b))
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) ok = measure(b, &cases[i]) && ok;
    return bench_close(b) || !ok;
}
