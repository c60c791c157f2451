/* optim.c -- moving parameters downhill; see optim.h for the equations.
 *
 * An optimizer is a list of moves, one per parameter: where its elements are, and the few constants
 * of this step.  The list is made first, with all the memory that it needs; then nothing can fail,
 * and all parameters are moved in one go, each cut into blocks, small ones beside large ones:
 *
 *     task      0    1    2    3    4    5    6
 *     move     |W1, 3 blocks |b1  |W2, 2 blocks |b2  |
 *
 * Every element is read and written once, whatever the optimizer. */
#include "nn/optim.h"

#include <string.h>

#include "autograd/op.h"
#include "autograd/persist.h"
#include "kernels/parallel.h"
#include "kernels/real.h"
#include "nn/orthogonal.h"

enum { OPTIM_BLOCK = 8192 }; /* elements of a task */

typedef struct {
    enum { OPTIM_HAS_GRAD, OPTIM_IS_MATRIX, OPTIM_LEARNS, OPTIM_HAS_MEAN } group; /* who is moved */
    at_tensor *x;
    at_tensor *m, *v, *k; /* state, as far as this optimizer has any; m: the mean of at_ema */
    ptrdiff_t first;      /* its first task */

    double lr;
    double l2;           /* g = dw + l2 w */
    double keep;         /* w <- keep w - ... */
    double beta1, beta2; /* what stays of m and v; mu for descent */
    double unbias_m, unbias_root_v;
    double eps;
    bool nesterov;
} optim_move;

/* Elements from .. to-1 of a move.  sum and factor are for at_clip_grad_norm alone. */
typedef struct {
    const optim_move *move;
    ptrdiff_t from, to;
    double *sum, factor;
} optim_block;

typedef struct {
    optim_move *move;
    int n;
    ptrdiff_t tasks, elements;
    void (*run)(const optim_block *b);
    double *sum, factor; /* a sum for each task */
} optim_job;

AT_EACH_REAL(void, sgd_block, (const optim_block *b));
AT_EACH_REAL(void, adam_block, (const optim_block *b));
AT_EACH_REAL(void, look_ahead_block, (const optim_block *b));
AT_EACH_REAL(void, ema_block, (const optim_block *b));
AT_EACH_REAL(void, swap_block, (const optim_block *b));
AT_EACH_REAL(void, square_block, (const optim_block *b));
AT_EACH_REAL(void, shrink_block, (const optim_block *b));

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

#ifdef AT_ONCE

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

/* The moves of all parameters of the group. */
static bool gather(at_tape *t, const char *op, at_names which, const optim_move *like,
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

static void optim_run(optim_job *job)
{
    const ptrdiff_t tasks = job->tasks;
    if (tasks > 0) at_for(tasks, (job->elements - 1) / tasks + 1, 0, optim_tasks, job);
}

static void move_all(at_tape *t, optim_job *job)
{
    optim_run(job);
    at_note_spent(t);
    for (int i = 0; i < job->n; i++) {
        at_written(job->move[i].x);
        job->move[i].x->grad = NULL;
    }
}

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
    if (!gather(t, "sgd", (at_names){args.only, args.except}, &like, &job)) return false;
    for (int i = 0; i < job.n && args.momentum > 0; i++)
        job.move[i].m = at_param_state(t, job.move[i].x, "momentum");
    if (!at_ok(t)) return false;
    job.run = AT_OF_REAL(at_real(t), sgd_block);
    move_all(t, &job);
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
    if (!gather(t, op, (at_names){args.only, args.except}, &like, &job)) return false;
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
    move_all(t, &job);
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

/* Which are not between layers: see at_muon. */
#define MUON_EXCEPT "E,*.E,P,*.P,head.*,*.head.*"

static bool muon(at_tape *t, double lr, at_muon_args args)
{
    const double mu = args.momentum != 0 ? args.momentum : 0.95, lambda = args.weight_decay;
    const int steps = args.steps ? args.steps : 5;
    AT_REQUIRE(t, lr >= 0 && isfinite(lr), "muon: lr is %g but must be >= 0", lr);
    AT_REQUIRE(t, mu > 0 && mu < 1, "muon: momentum is %g but must be in 0 .. 1", mu);
    AT_REQUIRE(t, lambda >= 0 && isfinite(lambda), "muon: weight_decay is %g but must be >= 0",
               lambda);
    AT_REQUIRE(t, steps > 0 && steps <= 100, "muon: steps is %d but must be 1 to 100", steps);

    const at_names which = {args.only, args.except ? args.except : MUON_EXCEPT};
    int matrices = 0;
    for (int i = 0; i < at_param_count(t); i++) {
        const at_tensor *x = at_param_at(t, i);
        matrices += x->shape.ndim == 2 && at_names_mean(which, x->name);
    }
    optim_move like = {.group = OPTIM_IS_MATRIX, .lr = lr, .l2 = lambda, .beta1 = mu};
    optim_job job;
    if (!gather(t, "muon", which, &like, &job)) return false;
    AT_REQUIRE(t, matrices > 0,
               "muon: of the %d parameters of the tape none that is meant is a matrix: at_adamw "
               "moves the others",
               at_param_count(t));
    const size_t real = at_dtype_size(at_real(t));
    at_workspace w = {.slots = at_thread_count()};
    ptrdiff_t most = 0;
    for (int i = 0; i < job.n; i++) {
        optim_move *m = &job.move[i];
        const int R = m->x->shape.dim[0], C = m->x->shape.dim[1];
        const ptrdiff_t memory = at_orthogonal_memory(R, C);
        const size_t copies = at_gemm_workspace(R, C, R < C ? R : C, AT_GEMM_COLUMNS, real);
        m->m = at_param_state(t, m->x, "muon_m");
        if (memory > most) most = memory;
        if (copies > w.size) w.size = copies;
    }
    w.p = at_step_alloc(t, w.size * (size_t)w.slots);
    void *memory = at_step_alloc(t, (size_t)most * real);
    if (!at_ok(t)) return false;

    job.run = AT_OF_REAL(at_real(t), look_ahead_block);
    optim_run(&job);
    for (int i = 0; i < job.n; i++) {
        optim_move *m = &job.move[i];
        const int rows = m->x->shape.dim[0], cols = m->x->shape.dim[1];
        AT_OF_REAL(at_real(t), orthogonal)(rows, cols, steps, m->x->grad, memory, w);
        const double scale = cols > rows ? sqrt((double)cols / rows) : 1;
        m->lr = lr * scale, m->l2 = lambda / scale, m->m = NULL;
    }
    job.run = AT_OF_REAL(at_real(t), sgd_block); /* w <- w - lr (dw + l2 w) */
    move_all(t, &job);
    return true;
}

bool at_muon(at_tape *t, double lr, at_muon_args args)
{
    at_profile_line *outer = at_profile_enter(t, "muon");
    const bool good = muon(t, lr, args);
    at_profile_leave(t, outer);
    return good;
}

static bool ema(at_tape *t, double decay, at_names which)
{
    AT_REQUIRE(t, decay > 0 && decay < 1, "ema: decay is %g but must be in 0 .. 1", decay);
    optim_job job;
    if (!gather(t, "ema", which, &(optim_move){.group = OPTIM_LEARNS}, &job)) return false;
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
    optim_run(&job);
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
    if (!gather(t, "ema_swap", (at_names){0}, &(optim_move){.group = OPTIM_HAS_MEAN}, &job))
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
    if (!at_ok(t)) return false;
    job.run = AT_OF_REAL(at_real(t), swap_block);
    optim_run(&job);
    return true;
}

bool at_ema_swap(at_tape *t)
{
    at_profile_line *outer = at_profile_enter(t, "ema_swap");
    const bool good = ema_swap(t);
    at_profile_leave(t, outer);
    return good;
}

static double clip_grad_norm(at_tape *t, double max_norm)
{
    optim_job job;
    if (at_ok(t) && !(max_norm > 0))
        at_fail(t, ATTIC_USER_ERROR, "clip_grad_norm: max_norm is %g but must be > 0", max_norm);
    if (at_ok(t) && at_real(t) == ATTIC_DUAL)
        at_fail(t, ATTIC_USER_ERROR,
                "clip_grad_norm: the tape is dual, and the norm would have no tangent");
    if (!at_ok(t) || !gather(t, "clip_grad_norm", (at_names){0}, &(optim_move){0}, &job))
        return (double)NAN;
    job.sum = at_step_alloc(t, (size_t)job.tasks * sizeof *job.sum);
    if (!job.sum) return (double)NAN;

    job.run = AT_OF_REAL(at_real(t), square_block);
    optim_run(&job);
    double square = 0;
    for (ptrdiff_t i = 0; i < job.tasks; i++) square += job.sum[i];
    double norm = sqrt(square);
    if (!isfinite(norm) || norm <= max_norm) return norm;

    job.factor = max_norm / norm;
    job.run = AT_OF_REAL(at_real(t), shrink_block);
    optim_run(&job);
    return norm;
}

double at_clip_grad_norm(at_tape *t, double max_norm)
{
    at_profile_line *outer = at_profile_enter(t, "clip_grad_norm");
    const double norm = clip_grad_norm(t, max_norm);
    at_profile_leave(t, outer);
    return norm;
}

#endif
