/* correct_tapes.c -- correct functions made of ops: of rows X [B,D], or of X and weights w [D],
 * or of X, w and a matrix C [D,N]. */
#include "gradcheck/correct_tapes.h"

#include <math.h>

#include "attention/attention.h"
#include "gradcheck/correct_kernels.h"
#include "ops/ops.h"

typedef struct {
    const char *name;
    at_tensor *(*op)(at_tape *t, at_tensor *x); /* of X alone; or else */
    at_function *f;
    int inputs;
    double low, high, least, most; /* sizes of X, usual and rare */
    bool positive, twice;          /* twice: second derivatives, of which most are not 0, as well */
} tape;

static const tape *tape_of(const correct_function *p);

#define ON_TAPE(name) static at_tensor *name(at_tape *t, at_tensor **in, void *ctx)

ON_TAPE(op_of_x)
{
    return tape_of(ctx)->op(t, in[0]);
}
ON_TAPE(clamp_x)
{
    const correct_function *p = ctx;
    return at_clamp(t, in[0], -p->constant[0], p->constant[0]);
}
ON_TAPE(x_or_its_square)
{
    (void)ctx;
    return at_maximum(t, in[0], at_square(t, in[0]));
}
ON_TAPE(mean_of_squares)
{
    (void)ctx;
    return at_mean(t, at_square(t, in[0]));
}
ON_TAPE(log_sum_exp_of_x)
{
    (void)ctx;
    return at_logsumexp(t, in[0], -1, false);
}
ON_TAPE(self_attention)
{
    (void)ctx;
    return at_sdpa(t, in[0], in[0], in[0], (at_sdpa_args){.causal = true});
}
ON_TAPE(quotient_by_w)
{
    (void)ctx;
    return at_div(t, in[0], in[1]);
}
ON_TAPE(layer_norm_by_w)
{
    (void)ctx;
    return at_layer_norm(t, in[0], in[1], in[1], 1e-5);
}
ON_TAPE(rms_norm_by_w)
{
    (void)ctx;
    return at_rms_norm(t, in[0], in[1], 1e-6);
}
ON_TAPE(matmul_of_sum)
{
    (void)ctx;
    return at_matmul(t, at_add(t, in[0], in[1]), in[2]);
}
ON_TAPE(two_layers_with_relu)
{
    (void)ctx;
    return at_matmul(t, at_relu(t, at_add(t, in[0], in[1])), in[2]);
}

#define KINKED .inputs = 1, .low = 1e-7, .high = 1e3, .least = 1e-30, .most = 1e30
#define SMOOTH(function) .op = function, .inputs = 1, .low = 1e-3, .twice = true

static const tape tapes[] = {
    {"at_relu", .op = at_relu, KINKED},
    {"at_abs", .op = at_abs, KINKED},
    {"at_max", .op = at_max, KINKED},
    {"at_clamp", .f = clamp_x, KINKED},
    {"at_maximum(x, x^2)", .f = x_or_its_square, .inputs = 1, .low = 1e-7, .high = 1e3,
     .least = 1e-20, .most = 1e20},
    {"at_exp", SMOOTH(at_exp), .high = 30, .least = 1e-30, .most = 600},
    {"at_log", SMOOTH(at_log), .high = 1e3, .least = 1e-30, .most = 1e300, .positive = true},
    {"at_sqrt", SMOOTH(at_sqrt), .high = 1e3, .least = 1e-30, .most = 1e300, .positive = true},
    {"at_square", SMOOTH(at_square), .high = 1e3, .least = 1e-30, .most = 1e30},
    {"at_tanh", SMOOTH(at_tanh), .high = 20, .least = 1e-30, .most = 100},
    {"at_sigmoid", SMOOTH(at_sigmoid), .high = 20, .least = 1e-30, .most = 100},
    {"at_softplus", SMOOTH(at_softplus), .high = 20, .least = 1e-30, .most = 100},
    {"at_silu", SMOOTH(at_silu), .high = 20, .least = 1e-30, .most = 100},
    {"at_gelu", SMOOTH(at_gelu), .high = 20, .least = 1e-30, .most = 100},
    {"at_gelu_tanh", SMOOTH(at_gelu_tanh), .high = 20, .least = 1e-30, .most = 100},
    {"at_sin", SMOOTH(at_sin), .high = 1e4, .least = 1e-30, .most = 1e6},
    {"at_softmax", SMOOTH(at_softmax), .high = 10, .least = 1e-20, .most = 100},
    {"at_log_softmax", SMOOTH(at_log_softmax), .high = 10, .least = 1e-20, .most = 100},
    {"at_logsumexp", .f = log_sum_exp_of_x, .inputs = 1, .low = 1e-3, .high = 10, .least = 1e-20,
     .most = 100, .twice = true},
    {"at_mean(at_square)", .f = mean_of_squares, .inputs = 1, .low = 1e-3, .high = 1e3,
     .least = 1e-30, .most = 1e30, .twice = true},
    {"at_sdpa", .f = self_attention, .inputs = 1, .low = 0.1, .high = 3, .least = 1e-2, .most = 30,
     .twice = true},
    {"at_div", .f = quotient_by_w, .inputs = 2, .low = 1e-3, .high = 1e3, .least = 1e-20,
     .most = 1e20, .twice = true},
    {"at_layer_norm", .f = layer_norm_by_w, .inputs = 2, .low = 1e-2, .high = 1e2, .least = 1e-3,
     .most = 1e6, .twice = true},
    {"at_rms_norm", .f = rms_norm_by_w, .inputs = 2, .low = 1e-2, .high = 1e2, .least = 1e-4,
     .most = 1e6, .twice = true},
    {"at_matmul", .f = matmul_of_sum, .inputs = 3, .low = 1e-3, .high = 1e3, .least = 1e-20,
     .most = 1e20, .twice = true},
    {"at_matmul(at_relu)", .f = two_layers_with_relu, .inputs = 3, .low = 1e-3, .high = 1e3,
     .least = 1e-3, .most = 1e3},
};

static const tape *tape_of(const correct_function *p)
{
    return &tapes[p->on_tape];
}

int at_correct_tapes(void)
{
    return (int)(sizeof tapes / sizeof *tapes);
}

const char *at_correct_tape(int which)
{
    return tapes[which].name;
}

void at_draw_correct_tape(correct_function *p)
{
    const tape *f = tape_of(p);
    p->real = ATTIC_F64;
    p->B = at_correct_size(p, 1, 8), p->D = at_correct_size(p, 2, 12);
    p->N = at_correct_size(p, 1, 8);
    ptrdiff_t X = (ptrdiff_t)p->B * p->D, w = f->inputs > 1 ? p->D : 0,
              C = f->inputs > 2 ? (ptrdiff_t)p->D * p->N : 0;
    at_correct_sizes(p, X + w + C, 0);
    bool rare = at_correct_chance(p, 0.1), own = at_correct_chance(p, 0.3);
    double low = rare ? f->least : f->low, high = rare ? f->most : f->high;
    at_correct_normals(p, 0, X, at_correct_log(p, low, high));
    at_correct_normals(p, X, w + C, 1);
    for (ptrdiff_t i = 0; i < X; i++) {
        if (own) p->x[i] = at_correct_log(p, low, high) * (at_correct_chance(p, 0.5) ? 1 : -1);
        if (f->positive) p->x[i] = fabs(p->x[i]);
        p->x[i] = fmax(-f->most, fmin(f->most, p->x[i]));
    }
    p->constant[0] = at_correct_log(p, 0.25, 4);
    p->options.order = f->twice && at_correct_chance(p, 0.3) ? 2 : 1;
}

at_gradcheck_report at_check_correct_tape(correct_function *p)
{
    const tape *f = tape_of(p);
    const double *x = p->x, *w = x + (ptrdiff_t)p->B * p->D, *C = w + p->D;
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *in[3] = {at_variable(t, at_shape_of(p->B, p->D), x)};
    if (f->inputs > 1) in[1] = at_variable(t, at_shape_of(p->D), w);
    if (f->inputs > 2) in[2] = at_variable(t, at_shape_of(p->D, p->N), C);
    at_gradcheck_report r = at_gradcheck(t, f->op ? op_of_x : f->f, in, f->inputs, p, p->options);
    at_close(t);
    return r;
}
