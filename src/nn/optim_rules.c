/* optim_rules.c -- descent and Adam; see optim.h for the equations. */
#include "nn/optim.h"

#include "autograd/persist.h"
#include "kernels/real.h"
#include "nn/optim_moves.h"

AT_EACH_REAL(void, adam_block, (const optim_block *b));

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

#ifdef AT_ONCE

static bool sgd(at_tape *t, double lr, at_sgd_args args)
{
    AT_REQUIRE(t, lr >= 0 && isfinite(lr), "sgd: lr is %g but must be >= 0", lr);
    AT_REQUIRE(t, args.momentum >= 0 && isfinite(args.momentum),
               "sgd: momentum is %g but must be >= 0", args.momentum);
    AT_REQUIRE(t, args.weight_decay >= 0 && isfinite(args.weight_decay),
               "sgd: weight_decay is %g but must be >= 0", args.weight_decay);
    AT_REQUIRE(t, !args.nesterov || args.momentum > 0,
               "sgd: nesterov looks ahead along a momentum, but momentum is 0");

    optim_move like = {
        .lr = lr, .l2 = args.weight_decay, .beta1 = args.momentum, .nesterov = args.nesterov};
    optim_job job;
    if (!at_optim_gather(t, "sgd", (at_names){args.only, args.except}, &like, &job)) return false;
    for (int i = 0; i < job.n && args.momentum > 0; i++)
        job.move[i].m = at_param_state(t, job.move[i].x, "momentum");
    if (!at_ok(t)) return false;
    job.run = AT_OF_REAL(at_real(t), sgd_block);
    at_optim_move(t, &job);
    return true;
}

bool at_sgd_with(at_tape *t, double lr, at_sgd_args args)
{
    at_profile_line *outer = at_profile_enter(t, "sgd");
    const bool good = sgd(t, lr, args);
    at_profile_leave(t, outer);
    return good;
}

bool at_sgd(at_tape *t, double lr)
{
    return at_sgd_with(t, lr, (at_sgd_args){0});
}

static bool adam(at_tape *t, const char *op, double lr, at_adamw_args args, bool decoupled)
{
    double beta1 = args.beta1 != 0 ? args.beta1 : 0.9, beta2 = args.beta2 != 0 ? args.beta2 : 0.999;
    double eps = args.eps != 0 ? args.eps : 1e-8, lambda = args.weight_decay;
    AT_REQUIRE(t, lr >= 0 && isfinite(lr), "%s: lr is %g but must be >= 0", op, lr);
    AT_REQUIRE(t, beta1 > 0 && beta1 < 1, "%s: beta1 is %g but must be in 0 .. 1", op, beta1);
    AT_REQUIRE(t, beta2 > 0 && beta2 < 1, "%s: beta2 is %g but must be in 0 .. 1", op, beta2);
    AT_REQUIRE(t, eps > 0 && isfinite(eps), "%s: eps is %g but must be > 0", op, eps);
    AT_REQUIRE(t, lambda >= 0 && isfinite(lambda), "%s: weight_decay is %g but must be >= 0", op,
               lambda);

    optim_move like = {.lr = lr, .l2 = lambda, .beta1 = beta1, .beta2 = beta2, .eps = eps};
    optim_job job;
    if (!at_optim_gather(t, op, (at_names){args.only, args.except}, &like, &job)) return false;
    for (int i = 0; i < job.n; i++) {
        optim_move *m = &job.move[i];
        m->m = at_param_state(t, m->x, "adam_m");
        m->v = at_param_state(t, m->x, "adam_v");
        m->k = at_param_state_of(t, m->x, "adam_k", at_shape_of());
    }
    if (!at_ok(t)) return false;
    for (int i = 0; i < job.n; i++) {
        optim_move *m = &job.move[i];
        bool decays = !args.decay_matrices || m->x->shape.ndim >= 2;
        double k = at_item(m->k) + 1; /* in f32 it stops at 2^24, when beta^k has long been 0 */
        at_store(m->k->dtype, m->k->data, 0, k);
        m->l2 = decays && !decoupled ? lambda : 0;
        m->keep = decays && decoupled ? 1 - lr * lambda : 1;
        m->unbias_m = 1 / (1 - pow(beta1, k));
        m->unbias_root_v = 1 / sqrt(1 - pow(beta2, k));
    }
    job.run = AT_OF_REAL(at_real(t), adam_block);
    at_optim_move(t, &job);
    return true;
}

bool at_adamw(at_tape *t, double lr, at_adamw_args args)
{
    at_profile_line *outer = at_profile_enter(t, "adamw");
    const bool good = adam(t, "adamw", lr, args, true);
    at_profile_leave(t, outer);
    return good;
}

bool at_adam(at_tape *t, double lr, at_adamw_args args)
{
    at_profile_line *outer = at_profile_enter(t, "adam");
    const bool good = adam(t, "adam", lr, args, false);
    at_profile_leave(t, outer);
    return good;
}

#endif
