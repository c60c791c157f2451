/* optim_muon.c -- Muon, for matrices; see optim.h for the equations. */
#include "nn/optim.h"

#include "kernels/parallel.h"
#include "kernels/real.h"
#include "nn/optim_moves.h"
#include "nn/orthogonal.h"

AT_EACH_REAL(void, look_ahead_block, (const optim_block *b));

/* In the place of dw: where Muon is to step.  A gradient that is used has no other reader. */
void AT_REAL(look_ahead_block)(const optim_block *b)
{
    const optim_move *o = b->move;
    REAL *restrict dw = o->x->grad, *restrict m = o->m->data, mu = (REAL)o->beta1;
    for (ptrdiff_t i = b->from; i < b->to; i++) {
        m[i] = mul_add(mu, m[i], dw[i]);
        dw[i] = mul_add(mu, m[i], dw[i]);
    }
}

#ifdef AT_ONCE

/* Which are not between layers: see at_muon. */
#define MUON_EXCEPT "E,*.E,P,*.P,head.*,*.head.*"

static bool muon(at_tape *t, optim_job *job)
{
    int matrices = 0;
    for (int i = 0; i < at_param_count(t); i++) {
        const at_tensor *x = at_param_at(t, i);
        matrices += x->shape.ndim == 2 && at_names_mean(job->which, x->name);
    }
    if (!at_optim_gather(t, job)) return false;
    AT_REQUIRE(t, matrices > 0,
               "muon: of the %d parameters of the tape none that is meant is a matrix: at_adamw "
               "moves the others",
               at_param_count(t));
    const size_t real = at_dtype_size(at_real(t));
    at_workspace w = {.slots = at_thread_count()};
    ptrdiff_t most = 0;
    for (int i = 0; i < job->n; i++) {
        const at_shape s = job->move[i].x->shape;
        const int R = s.dim[0], C = s.dim[1];
        const ptrdiff_t memory = at_orthogonal_memory(R, C);
        const size_t copies = at_gemm_workspace(R, C, R < C ? R : C, AT_GEMM_COLUMNS, real);
        if (memory > most) most = memory;
        if (copies > w.size) w.size = copies;
    }
    w.p = at_step_alloc(t, w.size * (size_t)w.slots);
    void *memory = at_step_alloc(t, (size_t)most * real);
    if (!at_ok(t)) return false;

    job->run = AT_OF_REAL(at_real(t), look_ahead_block);
    at_optim_run(job);
    for (int i = 0; i < job->n; i++) {
        optim_move *m = &job->move[i];
        const int rows = m->x->shape.dim[0], cols = m->x->shape.dim[1];
        AT_OF_REAL(at_real(t), orthogonal)(rows, cols, job->steps, m->x->grad, memory, w);
        const double scale = cols > rows ? sqrt((double)cols / rows) : 1;
        m->lr *= scale, m->l2 /= scale, m->m = NULL;
    }
    job->run = AT_OF_REAL(at_real(t), sgd_block); /* w <- w - lr (dw + l2 w) */
    at_optim_move(t, job);
    return true;
}

bool at_muon(at_tape *t, double lr, at_muon_args args)
{
    optim_job job = {.op = "muon",
                     .which = {args.only, args.except ? args.except : MUON_EXCEPT},
                     .like = {.group = OPTIM_IS_MATRIX,
                              .lr = lr,
                              .l2 = args.weight_decay,
                              .beta1 = args.momentum != 0 ? args.momentum : 0.95},
                     .m = "muon_m",
                     .steps = args.steps ? args.steps : 5};
    if (!at_optim_share(t, job.op, "momentum", job.like.beta1)) return false;
    AT_REQUIRE(t, job.steps > 0 && job.steps <= 100, "muon: steps is %d but must be 1 to 100",
               job.steps);
    return at_optim_measured(t, &job, muon);
}

#endif
