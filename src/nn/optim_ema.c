/* optim_ema.c -- averages of parameters, and how they take their place; see optim.h. */
#include "nn/optim.h"

#include "autograd/persist.h"
#include "kernels/real.h"
#include "nn/optim_moves.h"

AT_EACH_REAL(void, ema_block, (const optim_block *b));
AT_EACH_REAL(void, swap_block, (const optim_block *b));

void AT_REAL(ema_block)(const optim_block *b)
{
    const optim_move *o = b->move;
    REAL *restrict mean = o->m->data, c = (REAL)o->lr;
    const REAL *restrict w = o->x->data;
    for (ptrdiff_t i = b->from; i < b->to; i++) mean[i] = mul_add(c, w[i] - mean[i], mean[i]);
}

void AT_REAL(swap_block)(const optim_block *b)
{
    REAL *restrict w = b->move->x->data, *restrict mean = b->move->m->data;
    for (ptrdiff_t i = b->from; i < b->to; i++) {
        REAL kept = w[i];
        w[i] = mean[i];
        mean[i] = kept;
    }
}

#ifdef AT_ONCE

static bool ema(at_tape *t, double decay, at_names which)
{
    AT_REQUIRE(t, decay > 0 && decay < 1, "ema: decay is %g but must be in 0 .. 1", decay);
    optim_job job;
    if (!at_optim_gather(t, "ema", which, &(optim_move){.group = OPTIM_LEARNS}, &job)) return false;
    for (int i = 0; i < job.n; i++) {
        optim_move *m = &job.move[i];
        m->k = at_param_state_of(t, m->x, "ema_k", at_shape_of());
        m->m = at_param_state(t, m->x, "ema");
        AT_REQUIRE(t, at_item(m->k) >= 0, "ema: %s holds its average: at_ema_swap first",
                   at_text(m->x));
    }
    if (!at_ok(t)) return false;
    for (int i = 0; i < job.n; i++) {
        optim_move *m = &job.move[i];
        double k = at_item(m->k) + 1;
        at_store(m->k->dtype, m->k->data, 0, k);
        m->lr = (1 - decay) / (1 - pow(decay, k));
        at_written(m->m);
    }
    job.run = AT_OF_REAL(at_real(t), ema_block);
    at_optim_run(&job);
    return true;
}

bool at_ema(at_tape *t, double decay, at_names which)
{
    at_profile_line *outer = at_profile_enter(t, "ema");
    const bool good = ema(t, decay, which);
    at_profile_leave(t, outer);
    return good;
}

/* While a parameter holds its average, the sign of k is negative. */
static bool ema_swap(at_tape *t)
{
    optim_job job;
    if (!at_optim_gather(t, "ema_swap", (at_names){0}, &(optim_move){.group = OPTIM_HAS_MEAN},
                         &job))
        return false;
    AT_REQUIRE(t, job.n > 0, "ema_swap: no parameter has an average (see at_ema)");
    for (int i = 0; i < job.n; i++) {
        optim_move *m = &job.move[i];
        m->m = at_find_state(t, m->x, "ema");
        m->k = at_find_state(t, m->x, "ema_k");
        at_store(m->k->dtype, m->k->data, 0, -at_item(m->k));
        at_written(m->x);
        at_written(m->m);
    }
    job.run = AT_OF_REAL(at_real(t), swap_block);
    at_optim_run(&job);
    return true;
}

bool at_ema_swap(at_tape *t)
{
    at_profile_line *outer = at_profile_enter(t, "ema_swap");
    const bool good = ema_swap(t);
    at_profile_leave(t, outer);
    return good;
}

#endif
