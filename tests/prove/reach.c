/* reach.c -- cases that no row of the gradient table can be: they set on the tape what forbids a replay, or move
 * parameters. */
#include "gradients/cases.h"

#include <math.h>
#include <string.h>

extern const at_case at_cases_reach[], at_cases_zero[];

/* ------------------------------------------------------------------ memory that is used again -- */

/* Each gradient is written over the upstream gradient that it is made of. */
static at_tensor *case_in_place(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    at_reuse_memory(t, true);
    return at_square(t, at_tanh(t, at_exp(t, at_sin(t, in[0]))));
}

/* The same beside gradients that others still need: x is used four times. */
static at_tensor *case_layer_in_place(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *x = case_in_place(t, in, ctx), *W = in[1], *b = in[2];
    at_tensor *y = at_softmax(t, at_affine(t, at_rms_norm(t, x, NULL, 1e-5), W, b));
    at_tensor *O = at_sdpa(t, y, y, x, (at_sdpa_args){.causal = true});
    return at_silu(t, at_add(t, at_mul(t, O, x), x));
}

/* ------------------------------------------------------------------ steps of optimizers -------- */

/* An optimizer has no backward.  What is asked is x times the difference of a parameter that it has moved and of the
 * equation of its header, by ops: it must be 0, for all x, W and dW.
 *
 *     in      x, W, dW        two steps, each with the gradient dW */
enum { STEPS = 2 };
static const double lr = 0.3, lambda = 0.2;

static at_tensor *copy_of(at_tape *t, at_tensor *x)
{
    return at_scale(t, at_detach(t, x), 1);
}

/* The parameter W, with these values. */
static at_tensor *to_move(at_tape *t, const at_tensor *values)
{
    at_tensor *W = at_param(t, "W", values->shape, at_zeros());
    if (W) memcpy(W->data, values->data, at_bytes(W)), at_written(W);
    return W;
}

static void give_gradient(at_tape *t, at_tensor *W, at_tensor *dW)
{
    at_backward(t, at_sum(t, at_mul(t, W, at_detach(t, dW))));
}

static at_tensor *times_difference(at_tape *t, at_tensor *x, at_tensor *W, at_tensor *w)
{
    return at_mul(t, x, at_sub(t, at_detach(t, W), w));
}

static at_tensor *case_sgd(at_tape *t, at_tensor **in, void *args)
{
    at_sgd_args a = *(at_sgd_args *)args;
    at_tensor *W = to_move(t, in[1]), *w = copy_of(t, W), *dw = copy_of(t, in[2]);
    at_tensor *m = at_const(t, w->shape, NULL);
    for (int k = 0; k < STEPS; k++) {
        give_gradient(t, W, in[2]);
        at_sgd_with(t, lr, a);
        at_tensor *g = at_add(t, dw, at_scale(t, w, a.weight_decay));
        m = at_add(t, at_scale(t, m, a.momentum), g);
        at_tensor *step = a.nesterov ? at_add(t, g, at_scale(t, m, a.momentum)) : m;
        w = at_sub(t, w, at_scale(t, step, lr));
    }
    return times_difference(t, in[0], W, w);
}

static at_tensor *case_adam(at_tape *t, at_tensor **in, void *decoupled)
{
    const bool apart = *(bool *)decoupled;
    at_adamw_args a = {.beta1 = 0.5, .beta2 = 0.75, .eps = 0.01, .weight_decay = lambda};
    at_tensor *W = to_move(t, in[1]), *w = copy_of(t, W), *dw = copy_of(t, in[2]);
    at_tensor *m = at_const(t, w->shape, NULL), *v = at_const(t, w->shape, NULL);
    for (int k = 1; k <= STEPS; k++) {
        give_gradient(t, W, in[2]);
        apart ? at_adamw(t, lr, a) : at_adam(t, lr, a);
        at_tensor *g = apart ? dw : at_add(t, dw, at_scale(t, w, lambda));
        m = at_add(t, at_scale(t, m, a.beta1), at_scale(t, g, 1 - a.beta1));
        v = at_add(t, at_scale(t, v, a.beta2), at_scale(t, at_mul(t, g, g), 1 - a.beta2));
        at_tensor *root = at_scale(t, at_sqrt(t, v), 1 / sqrt(1 - pow(a.beta2, k)));
        at_tensor *step = at_div(t, at_scale(t, m, lr * (1 / (1 - pow(a.beta1, k)))),
                                 at_add_scalar(t, root, a.eps));
        w = at_sub(t, at_scale(t, w, apart ? 1 - lr * lambda : 1), step);
    }
    return times_difference(t, in[0], W, w);
}

static at_tensor *case_rmsprop(at_tape *t, at_tensor **in, void *args)
{
    at_rmsprop_args a = *(at_rmsprop_args *)args;
    at_tensor *W = to_move(t, in[1]), *w = copy_of(t, W), *dw = copy_of(t, in[2]);
    at_tensor *m = at_const(t, w->shape, NULL), *v = at_const(t, w->shape, NULL);
    for (int k = 0; k < STEPS; k++) {
        give_gradient(t, W, in[2]);
        at_rmsprop(t, lr, a);
        at_tensor *g = at_add(t, dw, at_scale(t, w, a.weight_decay));
        v = at_add(t, at_scale(t, v, a.alpha), at_scale(t, at_mul(t, g, g), 1 - a.alpha));
        at_tensor *step = at_div(t, g, at_add_scalar(t, at_sqrt(t, v), a.eps));
        m = at_add(t, at_scale(t, m, a.momentum), step);
        w = at_sub(t, w, at_scale(t, m, lr));
    }
    return times_difference(t, in[0], W, w);
}

/* The sign of u is u / |u|, or 0 if there are no gradients but 0. */
static at_tensor *case_lion(at_tape *t, at_tensor **in, void *zero)
{
    const at_lion_args a = {.beta1 = 0.5, .beta2 = 0.75, .weight_decay = lambda};
    at_tensor *W = to_move(t, in[1]), *w = copy_of(t, W), *m = at_const(t, w->shape, NULL);
    at_tensor *dw = *(bool *)zero ? m : copy_of(t, in[2]);
    for (int k = 0; k < STEPS; k++) {
        give_gradient(t, W, dw);
        at_lion(t, lr, a);
        at_tensor *u = at_add(t, at_scale(t, m, a.beta1), at_scale(t, dw, 1 - a.beta1));
        at_tensor *sign = *(bool *)zero ? u : at_div(t, u, at_abs(t, u));
        w = at_sub(t, at_scale(t, w, 1 - lr * lambda), at_scale(t, sign, lr));
        m = at_add(t, at_scale(t, m, a.beta2), at_scale(t, dw, 1 - a.beta2));
    }
    return times_difference(t, in[0], W, w);
}

/* A step along a gradient whose elements are cut to 0.5 */
static at_tensor *case_clip_value(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    at_tensor *W = to_move(t, in[1]), *w = copy_of(t, W);
    give_gradient(t, W, in[2]);
    at_clip_grad_value(t, 0.5);
    at_sgd(t, lr);
    at_tensor *step = at_clamp(t, at_detach(t, in[2]), -0.5, 0.5);
    return times_difference(t, in[0], W, at_sub(t, w, at_scale(t, step, lr)));
}

/* |U|, and the polynomial of Newton and Schulz, by ops. */
static at_tensor *nearly_orthogonal(at_tape *t, at_tensor *U, int steps)
{
    at_tensor *norm = at_add_scalar(t, at_sqrt(t, at_sum(t, at_mul(t, U, U))), 1e-7);
    at_tensor *X = at_mul(t, U, at_div(t, at_const(t, at_shape_of(), (double[]){1}), norm));
    for (int k = 0; k < steps; k++) {
        at_tensor *A = at_matmul_t(t, X, false, X, true);
        at_tensor *P = at_add(t, at_scale(t, A, -4.7750), at_scale(t, at_matmul(t, A, A), 2.0315));
        X = at_add(t, at_scale(t, X, 3.4445), at_matmul(t, P, X));
    }
    return X;
}

static at_tensor *case_muon(at_tape *t, at_tensor **in, void *args)
{
    const at_muon_args a = *(at_muon_args *)args;
    at_tensor *W = to_move(t, in[1]), *w = copy_of(t, W), *dw = copy_of(t, in[2]);
    at_tensor *m = at_const(t, w->shape, NULL);
    const double scale = sqrt(fmax(1, (double)w->shape.dim[1] / w->shape.dim[0]));
    for (int k = 0; k < STEPS; k++) {
        give_gradient(t, W, in[2]);
        at_muon(t, lr, a);
        m = at_add(t, at_scale(t, m, a.momentum), dw);
        at_tensor *step = at_add(t, dw, at_scale(t, m, a.momentum));
        step = at_scale(t, nearly_orthogonal(t, step, a.steps), scale);
        step = at_add(t, step, at_scale(t, w, a.weight_decay));
        w = at_sub(t, w, at_scale(t, step, lr));
    }
    return times_difference(t, in[0], W, w);
}

/* The average of W before and after a step takes the place of W, and W its place again. */
static at_tensor *case_ema(at_tape *t, at_tensor **in, void *ctx)
{
    const double decay = 0.5, c = (1 - decay) / (1 - pow(decay, 2));
    (void)ctx;
    at_tensor *W = to_move(t, in[1]), *first = copy_of(t, W);
    at_ema(t, decay, (at_names){0});
    give_gradient(t, W, in[2]);
    at_sgd(t, lr);
    at_tensor *second = copy_of(t, W);
    at_ema(t, decay, (at_names){0});
    at_ema_swap(t);
    at_tensor *w = at_add(t, first, at_scale(t, at_sub(t, second, first), c));
    at_tensor *y = times_difference(t, in[0], copy_of(t, W), w);
    at_ema_swap(t);
    return at_add(t, y, times_difference(t, in[0], W, second));
}

/* ------------------------------------------------------------------ the table ------------------ */

#define STEP(name, f_, ctx_, note_) ROW(name, "[5] [5] [5]", f_, .ctx = ctx_, .note = note_)

const at_case at_cases_reach[] = {
    ROW("reuse_memory", "[2,3]", case_in_place, .note = "in place"),
    ROW("reuse_memory", "[2,600]", case_in_place, .note = "in place, several chunks"),
    ROW("reuse_memory", "[3,4] [4,4] [4]", case_layer_in_place, .note = "a layer"),
    {0}};

const at_case at_cases_zero[] = {
    STEP("sgd", case_sgd, &(at_sgd_args){0}, "two steps"),
    STEP("sgd", case_sgd, (&(at_sgd_args){.momentum = 0.9, .weight_decay = 0.2}), "momentum"),
    STEP("sgd", case_sgd, (&(at_sgd_args){.momentum = 0.9, .nesterov = true}), "nesterov"),
    STEP("adamw", case_adam, &(bool){true}, "two steps"),
    STEP("adam", case_adam, &(bool){false}, "two steps"),
    STEP("rmsprop", case_rmsprop, (&(at_rmsprop_args){.alpha = 0.75, .eps = 0.01}), "two steps"),
    STEP("rmsprop", case_rmsprop,
         (&(at_rmsprop_args){.alpha = 0.75, .eps = 0.01, .momentum = 0.5, .weight_decay = 0.2}),
         "momentum"),
    STEP("lion", case_lion, &(bool){false}, "two steps"),
    STEP("lion", case_lion, &(bool){true}, "a gradient of 0"),
    ROW("clip_grad_value", "[16] [16] [16]", case_clip_value, .note = "and a step"),
    ROW("muon", "[3,2] [3,2] [3,2]", case_muon,
        .ctx = (&(at_muon_args){.momentum = 0.5, .steps = 1}), .note = "tall"),
    ROW("muon", "[2,2] [2,2] [2,2]", case_muon,
        .ctx = (&(at_muon_args){.momentum = 0.9, .weight_decay = 0.2, .steps = 2}),
        .note = "weight decay"),
    ROW("muon", "[1,4] [1,4] [1,4]", case_muon,
        .ctx = (&(at_muon_args){.momentum = 0.5, .weight_decay = 0.25, .steps = 1}),
        .note = "wide, weight decay"),
    ROW("muon", "[2,8] [2,8] [2,8]", case_muon,
        .ctx = (&(at_muon_args){.momentum = 0.5, .steps = 1}), .note = "a norm in lanes"),
    STEP("ema", case_ema, NULL, "of two, exchanged"),
    {0}};
