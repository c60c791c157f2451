/* optim.c -- the list of moves that every optimizer is: see optim_moves.h. */
#include "nn/optim_moves.h"

#include "autograd/persist.h"
#include "kernels/parallel.h"

enum { OPTIM_BLOCK = 8192 }; /* elements of a task */

/* What is finite in double must be so in the parameters' type; and eps > 0 must not become 0. */
static bool numbers_fit(at_tape *t, const char *op, const optim_move *like)
{
    return at_check_number(t, op, "lr", like->lr) &&
           at_check_number(t, op, "weight_decay", like->l2) &&
           at_check_number(t, op, "lr * weight_decay", like->lr * like->l2) &&
           at_check_number(t, op, "momentum", like->beta1) &&
           at_check_number(t, op, "eps", like->eps) &&
           (like->eps == 0 || at_check_number(t, op, "1 / eps", 1 / like->eps));
}

static bool is_moved(const optim_move *like, const at_tensor *x)
{
    switch (like->group) {
    case OPTIM_IS_MATRIX: return x->grad && x->shape.ndim == 2;
    case OPTIM_LEARNS: return x->wants_grad;
    case OPTIM_HAS_MEAN: return at_find_state(x->tape, x, "ema");
    default: return x->grad;
    }
}

bool at_optim_gather(at_tape *t, const char *op, at_names which, const optim_move *like,
                     optim_job *job)
{
    if (!numbers_fit(t, op, like)) return false;
    int n = at_param_count(t), named = 0;
    *job = (optim_job){.move = at_step_alloc(t, (size_t)n * sizeof *job->move)};
    if (!at_ok(t)) return false;
    for (int i = 0; i < n; i++) {
        at_tensor *x = at_param_at(t, i);
        named += at_names_mean((at_names){.only = which.only}, x->name);
        if (!at_names_mean(which, x->name) || !is_moved(like, x)) continue;
        optim_move *m = &job->move[job->n++];
        *m = *like;
        m->x = x;
        m->first = job->tasks;
        job->tasks += (at_count(x->shape) + OPTIM_BLOCK - 1) / OPTIM_BLOCK;
        job->elements += at_count(x->shape);
    }
    AT_REQUIRE(t, named > 0 || !which.only, "%s: no parameter is named like \"%s\"", op,
               which.only);
    AT_REQUIRE(t, like->group > OPTIM_IS_MATRIX || at_may_step(t),
               "%s: none of the %d parameters of the tape has a gradient: call it after "
               "at_backward from a loss that depends on one that is not frozen",
               op, n);
    return true;
}

static void optim_tasks(void *ctx, ptrdiff_t task, ptrdiff_t to, int slot)
{
    (void)slot;
    const optim_job *job = ctx;
    for (; task < to; task++) {
        int low = 0, high = job->n - 1; /* the last move with first <= task */
        while (low < high) {
            int middle = (low + high + 1) / 2;
            if (job->move[middle].first <= task)
                low = middle;
            else
                high = middle - 1;
        }
        const optim_move *move = &job->move[low];
        const ptrdiff_t from = (task - move->first) * OPTIM_BLOCK, count = at_count(move->x->shape);
        const ptrdiff_t end = from + OPTIM_BLOCK < count ? from + OPTIM_BLOCK : count;
        job->run(&(optim_block){move, from, end, job->sum ? job->sum + task : NULL, job->factor});
    }
}

void at_optim_run(optim_job *job)
{
    const ptrdiff_t tasks = job->tasks;
    if (tasks > 0) at_for(tasks, (job->elements - 1) / tasks + 1, 0, optim_tasks, job);
}

void at_optim_move(at_tape *t, optim_job *job)
{
    at_optim_run(job);
    at_note_spent(t);
    for (int i = 0; i < job->n; i++) {
        at_written(job->move[i].x);
        job->move[i].x->grad = NULL;
    }
}
