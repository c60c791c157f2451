/* optim_clip.c -- gradients that are too long; see optim.h. */
#include "nn/optim.h"

#include "kernels/real.h"
#include "nn/optim_moves.h"

AT_EACH_REAL(void, square_block, (const optim_block *b));
AT_EACH_REAL(void, shrink_block, (const optim_block *b));
AT_EACH_REAL(void, clamp_block, (const optim_block *b));

/* sum of dw^2 in double: 16 sums side by side, which then come together */
void AT_REAL(square_block)(const optim_block *b)
{
    enum { LANES = 16 };
    const REAL *dw = b->move->x->grad;
    ptrdiff_t i = b->from, to = b->to;
    double sum[LANES] = {0};
    for (; i + LANES <= to; i += LANES)
        for (int k = 0; k < LANES; k++)
            sum[k] = mul_add((double)VALUE(dw[i + k]), (double)VALUE(dw[i + k]), sum[k]);
    for (int k = 0; i + k < to; k++)
        sum[k] = mul_add((double)VALUE(dw[i + k]), (double)VALUE(dw[i + k]), sum[k]);
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        for (int k = 0; k < apart; k++) sum[k] += sum[k + apart];
    *b->sum = sum[0];
}

void AT_REAL(shrink_block)(const optim_block *b)
{
    REAL *dw = b->move->x->grad;
    for (ptrdiff_t i = b->from; i < b->to; i++) dw[i] *= (REAL)b->factor;
}

void AT_REAL(clamp_block)(const optim_block *b)
{
    REAL *dw = b->move->x->grad;
    const REAL high = (REAL)b->factor, low = -high;
    for (ptrdiff_t i = b->from; i < b->to; i++)
        dw[i] = VALUE(dw[i]) > VALUE(high) ? high : VALUE(dw[i]) < VALUE(low) ? low : dw[i];
}

#ifdef AT_ONCE

/* factor: what the norm may be */
static bool clip_grad_norm(at_tape *t, optim_job *job)
{
    const double max_norm = job->factor;
    AT_REQUIRE(t, max_norm > 0, "clip_grad_norm: max_norm is %g but must be > 0", max_norm);
    AT_REQUIRE(t, at_real(t) != ATTIC_DUAL,
               "clip_grad_norm: the tape is dual, and the norm would have no tangent");
    if (!at_optim_gather(t, job)) return false;
    job->sum = at_step_alloc(t, (size_t)job->tasks * sizeof *job->sum);
    if (!job->sum) return false;

    job->run = AT_OF_REAL(at_real(t), square_block);
    at_optim_run(job);
    double square = 0;
    for (ptrdiff_t i = 0; i < job->tasks; i++) square += job->sum[i];
    job->norm = sqrt(square);
    if (!isfinite(job->norm) || job->norm <= max_norm) return true;

    job->factor = max_norm / job->norm;
    job->run = AT_OF_REAL(at_real(t), shrink_block);
    at_optim_run(job);
    return true;
}

double at_clip_grad_norm(at_tape *t, double max_norm)
{
    optim_job job = {.op = "clip_grad_norm", .factor = max_norm, .norm = (double)NAN};
    at_optim_measured(t, &job, clip_grad_norm);
    return job.norm;
}

/* factor: what an element may be */
static bool clip_grad_value(at_tape *t, optim_job *job)
{
    AT_REQUIRE(t, job->factor > 0, "clip_grad_value: max is %g but must be > 0", job->factor);
    if (!at_check_number(t, "clip_grad_value", "1 / max", 1 / job->factor)) return false;
    if (!at_optim_gather(t, job)) return false;
    at_optim_run(job);
    return true;
}

bool at_clip_grad_value(at_tape *t, double max)
{
    optim_job job = {
        .op = "clip_grad_value", .factor = max, .run = AT_OF_REAL(at_real(t), clamp_block)};
    return at_optim_measured(t, &job, clip_grad_value);
}

#endif
