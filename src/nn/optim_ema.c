/* optim_ema.c -- averages of parameters, and how they take their place; see optim.h. */
#include "nn/optim.h"

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

/* While a parameter holds its average, the sign of k is negative. */
static bool ema(at_tape *t, optim_job *job)
{
    const double decay = job->like.beta1;
    if (!at_optim_gather(t, job)) return false;
    for (int i = 0; i < job->n; i++)
        AT_REQUIRE(t, at_item(job->move[i].k) >= 0, "ema: %s holds its average: at_ema_swap first",
                   at_text(job->move[i].x));
    for (int i = 0; i < job->n; i++) {
        optim_move *m = &job->move[i];
        m->lr = (1 - decay) / (1 - pow(decay, at_optim_count(m)));
        at_written(m->m);
    }
    at_optim_run(job);
    return true;
}

bool at_ema(at_tape *t, double decay, at_names which)
{
    optim_job job = {.op = "ema",
                     .which = which,
                     .like = {.group = OPTIM_LEARNS, .beta1 = decay},
                     .m = "ema",
                     .k = "ema_k",
                     .run = AT_OF_REAL(at_real(t), ema_block)};
    return at_optim_share(t, "ema", "decay", decay) && at_optim_measured(t, &job, ema);
}

static bool ema_swap(at_tape *t, optim_job *job)
{
    if (!at_optim_gather(t, job)) return false;
    AT_REQUIRE(t, job->n > 0, "ema_swap: no parameter has an average (see at_ema)");
    for (int i = 0; i < job->n; i++) {
        optim_move *m = &job->move[i];
        at_store(m->k->dtype, m->k->data, 0, -at_item(m->k));
        at_written(m->x);
        at_written(m->m);
    }
    if (!at_ok(t)) return false;
    at_optim_run(job);
    return true;
}

bool at_ema_swap(at_tape *t)
{
    optim_job job = {.op = "ema_swap",
                     .like = {.group = OPTIM_HAS_MEAN},
                     .m = "ema",
                     .k = "ema_k",
                     .run = AT_OF_REAL(at_real(t), swap_block)};
    return at_optim_measured(t, &job, ema_swap);
}

#endif
