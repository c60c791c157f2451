/* bench_elementwise.c -- ops on every element: functions, rows, dropout, AdamW.
 *
 * Forward alone, and forward with backward, on activations of two sizes: 512 x 64, which stay in
 * the second-level cache, and 2048 x 256, which do not.  Such passes are bound by memory or by
 * arithmetic; so the floor is the larger of two times,
 *
 *     bytes   x is read and y written; backward reads x or y and dy, and writes dx
 *     flop    twice the vector instructions that the function takes at the least (two can start in
 *             one cycle, as two multiply-adds can): an exponential 11, a division that can be
 *             avoided none
 *
 * AdamW reads and writes w, m and v, and reads dw: 28 bytes. */
#include "attic.h"
#include "attic_op.h"
#include "common/bench.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    int instructions; /* per element, forward */
} function;

static const function functions[] = {
    {"add", 1},      {"exp", 11},           {"log", 15},         {"tanh", 18},
    {"sigmoid", 14}, {"silu", 15},          {"gelu", 20},        {"gelu_tanh", 22},
    {"dropout", 12}, {"softmax", 14},       {"log_softmax", 13}, {"layer_norm", 6},
    {"rms_norm", 4}, {"cross_entropy", 12}, {"adamw", 14},
};

typedef struct {
    at_tape *t;
    at_mark start;
    const char *name;
    bool backward;
    at_tensor *x, *y, *gamma, *beta, *target, *dz, *one;
    void *dx; /* of adamw, which clears it after each step */
} work;

static at_tensor *apply(const work *w)
{
    typedef at_tensor *(*unary)(at_tape *, at_tensor *);
    static const struct {
        const char *name;
        unary f;
    } table[] = {{"exp", at_exp},
                 {"log", at_log},
                 {"tanh", at_tanh},
                 {"sigmoid", at_sigmoid},
                 {"silu", at_silu},
                 {"gelu", at_gelu},
                 {"gelu_tanh", at_gelu_tanh},
                 {"softmax", at_softmax},
                 {"log_softmax", at_log_softmax}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(w->name, table[i].name) == 0) return table[i].f(w->t, w->x);
    if (strcmp(w->name, "add") == 0) return at_add(w->t, w->x, w->y);
    if (strcmp(w->name, "dropout") == 0) return at_dropout(w->t, w->x, 0.1);
    if (strcmp(w->name, "layer_norm") == 0)
        return at_layer_norm(w->t, w->x, w->gamma, w->beta, 1e-5);
    if (strcmp(w->name, "rms_norm") == 0) return at_rms_norm(w->t, w->x, w->gamma, 1e-5);
    return at_cross_entropy(w->t, w->x, w->target, (at_cross_entropy_args){0});
}

static void run(void *ctx)
{
    const work *w = ctx;
    at_no_grad(w->t, !w->backward);
    at_tensor *z = apply(w);
    if (w->backward) at_backward_from(w->t, z, z && z->shape.ndim ? w->dz : w->one);
    at_no_grad(w->t, false);
    at_zero_grads(w->t);
    at_rewind(w->t, w->start);
}

static void run_adamw(void *ctx)
{
    const work *w = ctx;
    w->x->grad = w->dx;
    at_adamw(w->t, 1e-6, (at_adamw_args){.weight_decay = 0.01});
}

static void prepare(work *w, int rows, int cols)
{
    at_tape *t = w->t = at_open(ATTIC_F32, 1);
    bool adamw = strcmp(w->name, "adamw") == 0;
    at_shape shape = at_shape_of(rows, cols);
    w->x = at_param(t, "x", shape, at_uniform(3));
    if (strcmp(w->name, "log") == 0) /* of positive values */
        for (int i = 0; at_ok(t) && i < rows * cols; i++)
            at_store(ATTIC_F32, w->x->data, i, 0.01 * i + 0.01);
    w->dz = at_random(t, shape, at_uniform(1));
    w->one = at_const(t, at_shape_of(), &(double){1});
    if (adamw) { /* a gradient to begin with */
        at_backward_from(t, w->x, w->dz);
        if (at_ok(t)) w->dx = w->x->grad;
        return;
    }
    w->y = at_param(t, "y", shape, at_uniform(1));
    w->gamma = at_param(t, "gamma", at_shape_of(cols), at_ones());
    w->beta = at_param(t, "beta", at_shape_of(cols), at_zeros());
    w->target = at_ints(t, at_shape_of(rows), NULL);
    for (int i = 0; at_ok(t) && i < rows; i++) at_set(w->target, i % cols, i);
    w->start = at_mark_here(t);
}

/* Reads and writes of arrays of x's size, at the least. */
static int arrays(const char *name, bool backward)
{
    if (strcmp(name, "adamw") == 0) return 7;
    if (strcmp(name, "add") == 0) return backward ? 3 + 3 : 3;
    if (strcmp(name, "cross_entropy") == 0) return backward ? 1 + 2 : 1;
    return backward ? 2 + 3 : 2;
}

static bool measure(bench *b, const function *f, int rows, int cols, bool backward)
{
    bool adamw = strcmp(f->name, "adamw") == 0;
    if (adamw && backward) return true;
    char group[32], peer[64];
    double n = (double)rows * cols;
    snprintf(group, sizeof group, "%d x %d %s", rows, cols,
             backward ? "forward+backward" : "forward");
    snprintf(peer, sizeof peer, "elementwise %s %d %d %d", f->name, rows, cols, backward);
    work w = {.name = f->name, .backward = backward};
    bench_case c = {.group = group,
                    .name = f->name,
                    .flop = backward ? 0 : 2 * n * f->instructions,
                    .bytes = 4 * n * arrays(f->name, backward),
                    .run = adamw ? run_adamw : run,
                    .ctx = &w,
                    .peer = peer};
    if (!bench_wants(b, &c)) return true;
    prepare(&w, rows, cols);
    bench_row(b, &c);
    bool ok = at_ok(w.t);
    if (!ok) fprintf(stderr, "attic: %s: %s\n", f->name, at_error(w.t));
    at_close(w.t);
    return ok;
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "elementwise", "what is done to every number\n",
                          "torch,torch-compile");
    bool ok = true;
    while (bench_next_threads(b))
        for (int backward = 0; backward < 2; backward++)
            for (int large = 0; large < 2; large++)
                for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
                    ok =
                        measure(b, &functions[i], large ? 2048 : 512, large ? 256 : 64, backward) &&
                        ok;
    return bench_close(b) || !ok;
}
