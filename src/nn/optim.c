/* optim.c -- the list of moves that every optimizer is: see optim_moves.h. */
#include "nn/optim_moves.h"

#include "autograd/persist.h"
#include "kernels/parallel.h"

enum { OPTIM_BLOCK = 8192 }; /* elements of a task */

bool at_optim_share(at_tape *t, const char *op, const char *name, double share)
{
    AT_REQUIRE(t, share > 0 && share < 1, "%s: %s is %g but must be above 0 and below 1", op, name,
               share);
    return true;
}

/* What is finite in double must be so in the parameters' type; and eps > 0 must not become 0. */
static bool numbers_fit(at_tape *t, const char *op, const optim_move *like)
{
    const double least[] = {like->lr, like->beta1, like->l2};
    static const char *const name[] = {"lr", "momentum", "weight_decay"};
    for (int i = 0; i < 3; i++) {
        AT_REQUIRE(t, least[i] >= 0 && isfinite(least[i]),
                   "%s: %s is %g but must be finite and >= 0", op, name[i], least[i]);
        if (!at_check_number(t, op, name[i], least[i])) return false;
    }
    return at_check_number(t, op, "lr * weight_decay", like->lr * like->l2) &&
           at_check_eps(t, op, like->eps);
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

static bool add_states(at_tape *t, const optim_job *job)
{
    for (int i = 0; i < job->n && at_ok(t); i++) {
        optim_move *m = &job->move[i];
        if (job->m) m->m = at_param_state(t, m->x, job->m);
        if (job->v) m->v = at_param_state(t, m->x, job->v);
        if (job->k) m->k = at_param_state_of(t, m->x, job->k, at_shape_of());
    }
    return at_ok(t);
}

bool at_optim_gather(at_tape *t, optim_job *job)
{
    const optim_move *like = &job->like;
    if (!numbers_fit(t, job->op, like)) return false;
    int n = at_param_count(t), named = 0;
    job->move = at_step_alloc(t, (size_t)n * sizeof *job->move);
    if (!at_ok(t)) return false;
    for (int i = 0; i < n; i++) {
        at_tensor *x = at_param_at(t, i);
        named += at_names_mean((at_names){.only = job->which.only}, x->name);
        if (!at_names_mean(job->which, x->name) || !is_moved(like, x)) continue;
        optim_move *m = &job->move[job->n++];
        *m = *like;
        m->x = x;
        m->first = job->tasks;
        job->tasks += (at_count(x->shape) + OPTIM_BLOCK - 1) / OPTIM_BLOCK;
        job->elements += at_count(x->shape);
    }
    AT_REQUIRE(t, named > 0 || !job->which.only, "%s: no parameter is named like \"%s\"", job->op,
               job->which.only);
    AT_REQUIRE(t, like->group > OPTIM_IS_MATRIX || at_may_step(t),
               "%s: none of the %d parameters of the tape has a gradient: call it after "
               "at_backward from a loss that depends on one that is not frozen",
               job->op, n);
    return add_states(t, job);
}

/* In f32 the count stops at 2^24, when beta^k has long been 0. */
double at_optim_count(const optim_move *m)
{
    const double k = at_item(m->k) + 1;
    at_store(m->k->dtype, m->k->data, 0, k);
    return k;
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

bool at_optim_measured(at_tape *t, optim_job *job, bool (*call)(at_tape *t, optim_job *job))
{
    at_profile_line *outer = at_profile_enter(t, job->op);
    const bool good = call(t, job);
    at_profile_leave(t, outer);
    return good;
}
