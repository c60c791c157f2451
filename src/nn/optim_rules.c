/* optim_rules.c -- descent, Adam, RMSprop, Lion; see optim.h for the equations.
 *
 * A rule moves each element by itself: its formula is a block, and the rest is a list of moves. */
#include "nn/optim.h"

#include "kernels/real.h"
#include "nn/optim_moves.h"

AT_EACH_REAL(void, adam_block, (const optim_block *b));
AT_EACH_REAL(void, rmsprop_block, (const optim_block *b));
AT_EACH_REAL(void, lion_block, (const optim_block *b));

void AT_REAL(sgd_block)(const optim_block *b)
{
    const optim_move *o = b->move;
    REAL *restrict w = o->x->data, *restrict m = o->m ? o->m->data : NULL;
    const REAL *restrict dw = o->x->grad;
    const REAL lr = (REAL)o->lr, l2 = (REAL)o->l2, mu = (REAL)o->beta1;

    if (!m) {
        for (ptrdiff_t i = b->from; i < b->to; i++)
            w[i] = mul_add(-lr, mul_add(l2, w[i], dw[i]), w[i]);
        return;
    }
    for (ptrdiff_t i = b->from; i < b->to; i++) {
        REAL g = mul_add(l2, w[i], dw[i]);
        m[i] = mul_add(mu, m[i], g);
        w[i] = mul_add(-lr, o->nesterov ? mul_add(mu, m[i], g) : m[i], w[i]);
    }
}

void AT_REAL(adam_block)(const optim_block *b)
{
    const optim_move *o = b->move;
    REAL *restrict w = o->x->data, *restrict m = o->m->data, *restrict v = o->v->data;
    const REAL *restrict dw = o->x->grad;
    const REAL beta1 = (REAL)o->beta1, rest1 = (REAL)(1 - o->beta1);
    const REAL beta2 = (REAL)o->beta2, rest2 = (REAL)(1 - o->beta2);
    const REAL l2 = (REAL)o->l2, keep = (REAL)o->keep, eps = (REAL)o->eps;
    const REAL lr = (REAL)(o->lr * o->unbias_m), unbias = (REAL)o->unbias_root_v;

    for (ptrdiff_t i = b->from; i < b->to; i++) {
        REAL g = mul_add(l2, w[i], dw[i]);
        m[i] = mul_add(beta1, m[i], rest1 * g);
        v[i] = mul_add(beta2, v[i], rest2 * (g * g));
        w[i] = keep * w[i] - OVER(lr * m[i], mul_add(sqrt(v[i]), unbias, eps));
    }
}

void AT_REAL(rmsprop_block)(const optim_block *b)
{
    const optim_move *o = b->move;
    REAL *restrict w = o->x->data, *restrict m = o->m ? o->m->data : NULL;
    REAL *restrict v = o->v->data;
    const REAL *restrict dw = o->x->grad;
    const REAL alpha = (REAL)o->beta2, rest = (REAL)(1 - o->beta2), mu = (REAL)o->beta1;
    const REAL lr = (REAL)o->lr, l2 = (REAL)o->l2, eps = (REAL)o->eps;

    for (ptrdiff_t i = b->from; i < b->to; i++) {
        REAL g = mul_add(l2, w[i], dw[i]);
        v[i] = mul_add(alpha, v[i], rest * (g * g));
        REAL step = OVER(g, sqrt(v[i]) + eps);
        if (m) step = m[i] = mul_add(mu, m[i], step);
        w[i] = mul_add(-lr, step, w[i]);
    }
}

void AT_REAL(lion_block)(const optim_block *b)
{
    const optim_move *o = b->move;
    REAL *restrict w = o->x->data, *restrict m = o->m->data;
    const REAL *restrict dw = o->x->grad;
    const REAL beta1 = (REAL)o->beta1, rest1 = (REAL)(1 - o->beta1);
    const REAL beta2 = (REAL)o->beta2, rest2 = (REAL)(1 - o->beta2);
    const REAL lr = (REAL)o->lr, keep = (REAL)o->keep;

    for (ptrdiff_t i = b->from; i < b->to; i++) {
        const REAL u = mul_add(beta1, m[i], rest1 * dw[i]);
        const REAL step = VALUE(u) > 0 ? lr : VALUE(u) < 0 ? -lr : lr * u; /* 0 or NaN */
        w[i] = keep * w[i] - step;
        m[i] = mul_add(beta2, m[i], rest2 * dw[i]);
    }
}

#ifdef AT_ONCE

/* What differs from parameter to parameter, and from step to step. */
static void set_constants(const optim_job *job, optim_move *m)
{
    const bool decays = !job->decay_matrices || m->x->shape.ndim >= 2;
    const double lambda = decays ? job->like.l2 : 0;
    m->l2 = job->decoupled ? 0 : lambda;
    m->keep = job->decoupled ? 1 - m->lr * lambda : 1;
    if (!m->k) return;
    const double k = at_optim_count(m);
    m->unbias_m = 1 / (1 - pow(m->beta1, k));
    m->unbias_root_v = 1 / sqrt(1 - pow(m->beta2, k));
}

/* A rule that moves each element by itself. */
static bool move_elements(at_tape *t, optim_job *job)
{
    if (!at_optim_gather(t, job)) return false;
    for (int i = 0; i < job->n; i++) set_constants(job, &job->move[i]);
    at_optim_move(t, job);
    return true;
}

bool at_sgd_with(at_tape *t, double lr, at_sgd_args args)
{
    AT_REQUIRE(t, !args.nesterov || args.momentum > 0,
               "sgd: nesterov looks ahead along a momentum, but momentum is %g", args.momentum);
    optim_job job = {.op = "sgd",
                     .which = {args.only, args.except},
                     .like = {.lr = lr,
                              .l2 = args.weight_decay,
                              .beta1 = args.momentum,
                              .nesterov = args.nesterov},
                     .m = args.momentum > 0 ? "momentum" : NULL,
                     .run = AT_OF_REAL(at_real(t), sgd_block)};
    return at_optim_measured(t, &job, move_elements);
}

bool at_sgd(at_tape *t, double lr)
{
    return at_sgd_with(t, lr, (at_sgd_args){0});
}

static bool adam(at_tape *t, const char *op, double lr, at_adamw_args args, bool decoupled)
{
    optim_job job = {.op = op,
                     .which = {args.only, args.except},
                     .like = {.lr = lr,
                              .l2 = args.weight_decay,
                              .beta1 = args.beta1 != 0 ? args.beta1 : 0.9,
                              .beta2 = args.beta2 != 0 ? args.beta2 : 0.999,
                              .eps = args.eps != 0 ? args.eps : 1e-8},
                     .decoupled = decoupled,
                     .decay_matrices = args.decay_matrices,
                     .m = "adam_m",
                     .v = "adam_v",
                     .k = "adam_k",
                     .run = AT_OF_REAL(at_real(t), adam_block)};
    return at_optim_share(t, op, "beta1", job.like.beta1) &&
           at_optim_share(t, op, "beta2", job.like.beta2) &&
           at_optim_measured(t, &job, move_elements);
}

bool at_adamw(at_tape *t, double lr, at_adamw_args args)
{
    return adam(t, "adamw", lr, args, true);
}

bool at_adam(at_tape *t, double lr, at_adamw_args args)
{
    return adam(t, "adam", lr, args, false);
}

bool at_rmsprop(at_tape *t, double lr, at_rmsprop_args args)
{
    optim_job job = {.op = "rmsprop",
                     .which = {args.only, args.except},
                     .like = {.lr = lr,
                              .l2 = args.weight_decay,
                              .beta1 = args.momentum,
                              .beta2 = args.alpha != 0 ? args.alpha : 0.99,
                              .eps = args.eps != 0 ? args.eps : 1e-8},
                     .m = args.momentum > 0 ? "rmsprop_m" : NULL,
                     .v = "rmsprop_v",
                     .run = AT_OF_REAL(at_real(t), rmsprop_block)};
    return at_optim_share(t, job.op, "alpha", job.like.beta2) &&
           at_optim_measured(t, &job, move_elements);
}

bool at_lion(at_tape *t, double lr, at_lion_args args)
{
    optim_job job = {.op = "lion",
                     .which = {args.only, args.except},
                     .like = {.lr = lr,
                              .l2 = args.weight_decay,
                              .beta1 = args.beta1 != 0 ? args.beta1 : 0.9,
                              .beta2 = args.beta2 != 0 ? args.beta2 : 0.99},
                     .decoupled = true,
                     .decay_matrices = args.decay_matrices,
                     .m = "lion_m",
                     .run = AT_OF_REAL(at_real(t), lion_block)};
    return at_optim_share(t, job.op, "beta1", job.like.beta1) &&
           at_optim_share(t, job.op, "beta2", job.like.beta2) &&
           at_optim_measured(t, &job, move_elements);
}

#endif
