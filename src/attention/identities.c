/* identities.c -- does the backward of attention agree with itself?
 *
 * Whatever the numbers are, three sums of a backward must come out equal.  Letters as in reference.c; <X,Y> is
 * the sum of x y over all elements of one head; dQ, dK, dV are what this call contributes.
 *
 *     1   <Q,dQ> = <K,dK>      dQ_i = c sum_j dx_ij K_j  and  dK_j = c sum_i dx_ij Q_i,
 *                              so both are  sum_ij dx_ij c Q_i.K_j
 *
 *     2   <V,dV> = <O,dO>      dV_j = sum_i A_ij dO_i  and  O_i = sum_j A_ij V_j,
 *                              so both are  sum_ij A_ij dO_i.V_j
 *
 *     3   sum_j dS_ij = 0      for every row i: adding one number to all its scores changes no weight.
 *                              In symbols:  sum_j P_ij (dP_ij - delta_i) = delta_i - delta_i sum_j P_ij
 *
 * WITH THE OPTIONS they read so:
 *
 *     scale, temperature       are in c, once on either side
 *     softcap                  1 is about dx, below the cap; 3 about dS, above it.  sum_j dx_ij need not be 0
 *     bias                     1 is about the scores without it: <Q,dQ> is not sum_ij dS_ij s_ij
 *     masks                    what is masked is in no sum, not even as 0 times something
 *     dropout                  2 holds for A, the weights that made O; 3 for P, which dropout left alone
 *     a cotangent dW           reaches neither V nor O: 2 holds for dO alone, <O,dO> is not sum_i delta_i
 *     groups                   dK and dV of a key/value head are sums over its query heads: 1 and 2 hold for
 *                              all of these together, 3 for each row of each
 *     one tensor as Q, K, V    its gradient is dQ + dK + dV, of which 1 and 2 say nothing
 *
 * So the gradients of a tensor in several roles are collected apart and added up at the end, checked or not.
 * What a gradient held before is copied for the check and taken off each side again; each of the n sums that
 * were rounded beside it may have lost eps times |before|, so that n |x| |before| is one more term.  A check
 * only looks: the bits are those of a backward without it.
 *
 * WHAT THEY SEE.  1: a factor, an index or a sum that is wrong in one of dQ and dK.  2: that backward's
 * weights are not those of forward (other drops, a mask off by one, another log-sum-exp), or that dV was
 * not summed up.  3: a wrong delta, a dS that is not the softmax's.  They are blind to what is wrong on both
 * sides alike, such as a forgotten slope of the softcap, and to dbias: for that there is gradient
 * checking.  `make mutation` shows mistake by mistake who sees what.
 *
 * TOLERANCE.  A sum of products, in whatever order, is off by a few eps times the sum of their absolute
 * values.  64 eps times that sum may the sides differ, with |Q_i| |K_j| for the products in Q_i.K_j (Cauchy,
 * Schwarz), and so on: not what is left after terms have cancelled, but what there was to cancel.
 *
 *     1   sum_ij |c dx_ij| |Q_i| |K_j|          2   sum_ij A_ij |dO_i| |V_j|
 *     3   sum_j A_ij (|dO_i| |V_j| + |dW_ij|), once for sum_j P_ij dP_ij and once for delta_i
 *
 * To this comes what is lost where numbers are denormal.  There rounding is off by up to half of the smallest
 * number, eps times the smallest normal one, whatever the terms are: so the smallest normal number is one more
 * term for every rounding, times what the result is multiplied with afterwards.
 *
 *     A_ij = z_ij P_ij                                    z
 *     dQ_i, dK_j, dV_j, O_i: a sum of n products, times c (dQ, dK)       1 + c n, each of N elements,
 *                                                         with sqrt(N) |x| for the sum of |x_n|
 *     dP_ij: Dv products, times z;  delta_i: Dv products; dS_ij          S + (1 + z) Dv
 *     O_i in delta_i                                      (1 + S) sqrt(Dv) |dO_i|
 *
 * Sides and terms are added up in double.  A head or row in which one of them is NaN or infinite is not
 * judged: that shows by itself, and at_anomaly tells where it began.
 *
 * COST.  Four lengths for each row and key, three sums over each row of cells, and another look at Q, K, V
 * and their gradients.  `make bench BENCH=check` measures what that adds: 20 to 40 percent to attention
 * alone, forward and backward, and 5 to 15 to a whole step of training a small transformer. */
#include "ops/op.h"

#include <stdint.h>

#include "attention/identities.h"
#include "kernels/real.h"

enum {
    CHECK_EPS = 64,
    CHECK_LINE = 64, /* bytes */
    CHECK_LANES = AT_SDPA_CHECK_STEP
};

#define CHECK_INLINE static inline __attribute__((always_inline))

/* Sums run in as many lanes side by side; the compiler cuts the vector down to what the machine has. */
typedef double check_doubles __attribute__((vector_size(CHECK_LANES * sizeof(double))));

typedef int64_t check_bits __attribute__((vector_size(CHECK_LANES * sizeof(double))));

CHECK_INLINE double check_lanes(const check_doubles *sum)
{
    double x[CHECK_LANES];
    memcpy(x, sum, sizeof x);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/* In n->saved: where each array begins, in bytes. */
typedef struct {
    size_t checks, rows, length[4], heads, own[3],
        total; /* own: a gradient apart, or one as it was before */
} check_space;

/* The sides of an identity, and how much they may differ by. */
typedef struct {
    double left, right, tolerance;
} check_sides;

/* Of one key/value head. */
typedef struct {
    check_sides Q, V; /* 1 and 2 */
    check_sides dS;   /* 3, of row i of head h: the first that breaks, if one does */
    int h, i;
} check_head;

static size_t check_take(size_t *total, size_t bytes)
{
    size_t at = *total;
    *total += (bytes + CHECK_LINE - 1) / CHECK_LINE * CHECK_LINE;
    return at;
}

/* How many lengths there are of Q, K, V or dO. */
static size_t check_numbers(const at_sdpa_plan *p, int i)
{
    bool of_rows = i == AT_SDPA_Q || i == AT_SDPA_DO;
    return (size_t)p->B * (size_t)(of_rows ? p->H : p->G) * (size_t)(of_rows ? p->T : p->S);
}

static check_space check_space_of(const at_sdpa_plan *p, at_tensor *const in[3])
{
    check_space r = {0};
    size_t heads = (size_t)p->B * (size_t)p->G, rows = (size_t)at_count(p->rows);
    size_t real = at_dtype_size(in[0]->dtype);
    check_take(&r.total, rows * AT_SDPA_SAVED * real);
    for (int i = 0; i < 3; i++)
        if (p->checked || p->own & 1u << i) r.own[i] = check_take(&r.total, at_bytes(in[i]));
    if (!p->checked) return r;
    r.checks = check_take(&r.total, sizeof(at_sdpa_checks));
    r.rows = check_take(&r.total, rows * sizeof(at_sdpa_sums));
    r.heads = check_take(&r.total, heads * sizeof(check_head));
    for (int i = 0; i < 4; i++) r.length[i] = check_take(&r.total, check_numbers(p, i) * real);
    return r;
}

static at_sdpa_checks *check_state(const at_node *n)
{
    return at_sdpa_after(n->saved, check_space_of(n->args, n->in).checks);
}

/* An infinity or NaN breaks nothing. */
static bool check_breaks(check_sides x)
{
    return isfinite(x.left) && isfinite(x.right) && fabs(x.left - x.right) > x.tolerance;
}

static void check_report(const at_node *n, const char *identity, const char *place, check_sides x)
{
    at_fail(n->tape, ATTIC_USER_ERROR,
            "sdpa (op %d): backward is wrong: %s does not hold in %s: the sides are %.9g and %.9g, "
            "and may differ by %.1e",
            n->index, identity, place, x.left, x.right, x.tolerance);
}

static void check_judge(const at_node *n, int b, int g, const check_head *head)
{
    const at_sdpa_plan *p = n->args;
    char *heads = at_text_buffer(), *row = at_text_buffer();
    int first = g * p->group, last = first + p->group - 1;
    bool Q = check_breaks(head->Q), V = check_breaks(head->V), dS = check_breaks(head->dS);
    if (!Q && !V && !dS) return;

    if (first < last)
        snprintf(heads, AT_TEXT_SIZE, "heads %d to %d of batch %d", first, last, b);
    else
        snprintf(heads, AT_TEXT_SIZE, "head %d of batch %d", first, b);
    snprintf(row, AT_TEXT_SIZE, "row %d of head %d of batch %d", head->i, head->h, b);
    if (Q) check_report(n, "<Q,dQ> = <K,dK>", heads, head->Q);
    if (V) check_report(n, "<V,dV> = <O,dO>", heads, head->V);
    if (dS) check_report(n, "sum_j dS_ij = 0", row, head->dS);
}

/* ------------------------------------------------------------------ sums in double ------------- */

typedef REAL check_reals __attribute__((vector_size(CHECK_LANES * sizeof(REAL))));

CHECK_INLINE void check_load(check_doubles *to, const REAL *x)
{
    check_reals v;
    memcpy(&v, x, sizeof v);
    *to = __builtin_convertvector(v, check_doubles);
}

/* sum_j x_j y_j, most of it in *sum; returns the rest */
CHECK_INLINE double check_dot(int n, const REAL *x, const REAL *y, check_doubles *sum)
{
    check_doubles a, b;
    double rest = 0;
    int j = 0;
    for (; j + CHECK_LANES <= n; j += CHECK_LANES) {
        check_load(&a, x + j);
        check_load(&b, y + j);
        *sum += a * b;
    }
    for (; j < n; j++) rest += (double)x[j] * (double)y[j];
    return rest;
}

/* Some rows side by side, from `A` on. */
CHECK_INLINE void check_cells(int keys, ptrdiff_t ld, const REAL *A, const REAL *V, const REAL *dS,
                              const REAL *slope, const REAL *K, check_doubles sums[3])
{
    check_doubles a, b, u;
    for (int k = 0; k < keys; k++) {
        check_load(&a, A + k * ld);
        check_load(&b, dS + k * ld);
        sums[0] += b;
        sums[1] += a * (double)V[k];
        if (slope) {
            check_load(&u, slope + k * ld);
            b *= u;
        }
        sums[2] += (check_doubles)((check_bits)b & INT64_MAX) * (double)K[k];
    }
}

void AT_REAL(sdpa_sum_cells)(int rows, int keys, ptrdiff_t ld, const REAL *A, const REAL *V,
                             const REAL *dS, const REAL *slope, const REAL *K,
                             at_sdpa_cell_sums *sums)
{
    for (int r = 0; r < rows; r += CHECK_LANES) {
        check_doubles s[3] = {{0}};
        check_cells(keys, ld, A + r, V, dS + r, slope ? slope + r : NULL, K, s);
        for (int i = 0; i < CHECK_LANES && r + i < rows; i++)
            sums[r + i] = (at_sdpa_cell_sums){s[0][i], s[1][i], s[2][i]};
    }
}

/* ------------------------------------------------------------------ one head ------------------- */

#define CHECK_IS_FLOAT (sizeof(REAL) == sizeof(float))
#define CHECK_SMALLEST (CHECK_IS_FLOAT ? (double)FLT_MIN : DBL_MIN)

/* Rows of N numbers: x is Q, K, V or dO, and y what it is multiplied with: dQ, dK, dV or O. */
typedef struct {
    at_sdpa_layout at;
    int heads, rows, N;
    const REAL *x, *y, *before; /* before: what y held, or NULL */
    REAL *length;               /* |x| of each row */
} check_operand;

typedef struct {
    const at_sdpa_plan *p;
    check_operand operand[4]; /* Q, K, V, O */
    at_sdpa_sums *rows;
    check_head *heads;
} check_job;

/* The number of the first row of head h in batch b: there its lengths are. */
static ptrdiff_t check_first(const check_operand *a, int b, int h)
{
    return ((ptrdiff_t)b * a->heads + h) * a->rows;
}

/* |x| is at most this, infinite if an x is not finite.  For numbers whose squares are too small or too large. */
static double check_bound(int n, const REAL *x)
{
    double most = 0;
    for (int j = 0; j < n; j++) {
        if (!isfinite(x[j])) return (double)INFINITY;
        most = fmax(most, fabs((double)x[j]));
    }
    return most * sqrt((double)n);
}

static void check_measure(const check_operand *a, int b, int h)
{
    const double largest = CHECK_IS_FLOAT ? (double)FLT_MAX : DBL_MAX;
    REAL *to = a->length + check_first(a, b, h);
    for (int i = 0; i < a->rows; i++) {
        const REAL *x = a->x ? a->x + at_sdpa_row(a->at, b, h, i) : NULL;
        check_doubles sum = {0};
        double rest = x ? check_dot(a->N, x, x, &sum) : 0;
        double square = check_lanes(&sum) + rest, length = sqrt(square);
        if (x && !(square > DBL_MIN / DBL_EPSILON && square < DBL_MAX))
            length = check_bound(a->N, x);
        to[i] = !isfinite(length) ? 0 : length < largest ? (REAL)length : (REAL)largest;
    }
}

static bool check_is_untouched(int n, const REAL *y, const REAL *before)
{
    for (int j = 0; j < n; j++)
        if (y[j] != (before ? before[j] : 0)) return false;
    return true;
}

/* <x, y - before> of a head.  Adds to *terms, relative to eps, what is lost where y is denormal, `factor` times
 * a sum of n products, or rounded beside what it held before. */
static double check_product(const check_operand *a, int b, int h, double factor, double n,
                            double *terms)
{
    const double lost = CHECK_SMALLEST * (1 + factor * n) * sqrt((double)a->N);
    const REAL *length = a->length + check_first(a, b, h);
    check_doubles sum = {0}, off = {0};
    double rest = 0;
    for (int i = 0; i < a->rows; i++) {
        ptrdiff_t row = at_sdpa_row(a->at, b, h, i);
        const REAL *x = a->x + row, *y = a->y + row, *before = a->before ? a->before + row : NULL;
        if (length[i] == 0 && check_is_untouched(a->N, y, before))
            continue; /* x may be a masked NaN */
        rest += check_dot(a->N, x, y, &sum);
        *terms += lost * (double)length[i] + DBL_MIN * a->N; /* and of x y itself, in double */
        if (!before) continue;
        check_doubles square = {0};
        double squares = check_dot(a->N, before, before, &square);
        rest -= check_dot(a->N, x, before, &off);
        *terms += n * (double)length[i] * sqrt(check_lanes(&square) + squares);
    }
    return check_lanes(&sum) - check_lanes(&off) + rest;
}

/* Both sides of 1 and 2, for a key/value head and the query heads that read it. */
static void check_products(const check_job *job, int b, int g, check_head *head)
{
    const check_operand *Q = job->operand, *K = Q + 1, *V = Q + 2, *O = Q + 3;
    const int group = job->p->group, S = job->p->S;
    const double c = fabs(job->p->c), rows = (double)job->p->T * group;
    bool has_Q = Q->y && K->y, has_V = V->y && O->x;
    for (int h = g * group; h < (g + 1) * group; h++) {
        if (has_Q) head->Q.left += check_product(Q, b, h, c, S, &head->Q.tolerance);
        if (has_V) head->V.right += check_product(O, b, h, 1, S, &head->V.tolerance);
    }
    if (has_Q) head->Q.right += check_product(K, b, g, c, rows, &head->Q.tolerance);
    if (has_V) head->V.left += check_product(V, b, g, 1, rows, &head->V.tolerance);
}

/* 3, and the terms of 1 and 2 */
static void check_rows(const check_job *job, int b, int h, check_head *head)
{
    const at_sdpa_plan *p = job->p;
    const REAL *dO_length = job->operand[AT_SDPA_DO].length;
    const double z = 1 / (1 - p->dropout), lost = p->S + (1 + z) * p->Dv;
    const double lost_of_O = (1.0 + p->S) * sqrt((double)p->Dv);
    for (int i = 0; i < p->T; i++) {
        const ptrdiff_t at = at_sdpa_row_number(p, b, h, i);
        const at_sdpa_sums *row = job->rows + at;
        double terms = row->S_terms + CHECK_SMALLEST * (lost + lost_of_O * (double)dO_length[at]);
        check_sides dS = {row->dS, 0, CHECK_EPS * (double)REAL_EPS * terms};
        if (check_breaks(dS) && !check_breaks(head->dS)) head->dS = dS, head->h = h, head->i = i;
        head->Q.tolerance += row->Q_terms;
        head->V.tolerance += row->V_terms;
    }
}

/* Before: key/value head g of batch b and the query heads that read it. */
static void check_before_head(const check_job *job, ptrdiff_t task)
{
    int group = job->p->group, b = (int)task / job->p->G, g = (int)task % job->p->G;
    for (int h = g * group; h < (g + 1) * group; h++) {
        check_measure(job->operand + AT_SDPA_Q, b, h);
        check_measure(job->operand + AT_SDPA_DO, b, h);
    }
    check_measure(job->operand + AT_SDPA_K, b, g);
    check_measure(job->operand + AT_SDPA_V, b, g);
}

static void check_before(void *job, ptrdiff_t task, ptrdiff_t to, int slot)
{
    (void)slot;
    for (; task < to; task++) check_before_head(job, task);
}

/* After: the same heads.  No other task adds to their gradients. */
static void check_after_head(const check_job *job, ptrdiff_t task)
{
    int group = job->p->group, b = (int)task / job->p->G, g = (int)task % job->p->G;
    check_head *head = job->heads + task;
    *head = (check_head){0};
    check_products(job, b, g, head);
    for (int h = g * group; h < (g + 1) * group; h++) check_rows(job, b, h, head);
    head->Q.tolerance *= CHECK_EPS * (double)REAL_EPS;
    head->V.tolerance *= CHECK_EPS * (double)REAL_EPS;
}

static void check_after(void *job, ptrdiff_t task, ptrdiff_t to, int slot)
{
    (void)slot;
    for (; task < to; task++) check_after_head(job, task);
}

/* ------------------------------------------------------------------ all heads ------------------ */

static check_job check_job_of(at_node *n)
{
    const at_sdpa_plan *p = n->args;
    const at_sdpa_checks *checks = check_state(n);
    check_job job = {
        .p = p,
        .operand = {{.at = p->q, .heads = p->H, .rows = p->T, .N = p->D},
                    {.at = p->k, .heads = p->G, .rows = p->S, .N = p->D},
                    {.at = p->v, .heads = p->G, .rows = p->S, .N = p->Dv},
                    {.at = p->o, .heads = p->H, .rows = p->T, .N = p->Dv}},
        .rows = checks->rows,
        .heads = at_sdpa_after(n->saved, check_space_of(p, n->in).heads),
    };
    for (int i = 0; i < 4; i++) {
        check_operand *a = job.operand + i;
        bool is_O = i == AT_SDPA_DO;
        a->x = is_O ? n->out[0]->grad : n->in[i]->data;
        a->y = is_O ? n->out[0]->data : checks->grad[i];
        a->before = is_O ? NULL : checks->before[i];
        a->length = checks->length[i];
    }
    return job;
}

static void check_all(check_job *job, at_range_body *heads)
{
    const at_sdpa_plan *p = job->p;
    ptrdiff_t numbers = (p->S + (ptrdiff_t)p->group * p->T) * (p->D + p->Dv);
    at_for((ptrdiff_t)p->B * p->G, numbers / 4, 0, heads, job);
}

at_sdpa_checks *AT_REAL(sdpa_checks_begin)(at_node *n)
{
    const at_sdpa_plan *p = n->args;
    if (!p->checked) return NULL;
    check_space space = check_space_of(p, n->in);
    at_sdpa_checks *checks = check_state(n);
    checks->rows = at_sdpa_after(n->saved, space.rows);
    checks->tiny = CHECK_SMALLEST / (1 - p->dropout);
    for (int i = 0; i < 4; i++) checks->length[i] = at_sdpa_after(n->saved, space.length[i]);
    memset(checks->rows, 0, (size_t)at_count(p->rows) * sizeof *checks->rows);
    check_job job = check_job_of(n);
    check_all(&job, check_before);
    return checks;
}

static void check_identities(at_node *n)
{
    const at_sdpa_plan *p = n->args;
    check_job job = check_job_of(n);
    check_all(&job, check_after);
    for (int task = 0; task < p->B * p->G; task++)
        check_judge(n, task / p->G, task % p->G, job.heads + task);
}

void AT_REAL(sdpa_checks_end)(at_node *n)
{
    const at_sdpa_plan *p = n->args;
    if (p->checked) check_identities(n);
    for (int i = 0; p->own && i < 3; i++) {
        void *dx = p->own & 1u << i ? at_grad(n, i) : NULL;
        const void *own = at_sdpa_after(n->saved, check_space_of(p, n->in).own[i]);
        if (dx) AT_REAL(add_rows)(1, at_count(n->in[i]->shape), own, 0, dx, 0);
    }
}

#ifdef AT_ONCE /* ---------------------------- where things lie ---------------------------- */

size_t at_sdpa_saved(const at_sdpa_plan *p, at_tensor *const in[3])
{
    if (p->checked || p->own) return check_space_of(p, in).total;
    return (size_t)at_count(p->rows) * AT_SDPA_SAVED * at_dtype_size(in[0]->dtype);
}

void *at_sdpa_grad(at_node *n, int i)
{
    const at_sdpa_plan *p = n->args;
    if (!p->checked && !(p->own & 1u << i)) return at_grad(n, i);
    void *own = at_sdpa_after(n->saved, check_space_of(p, n->in).own[i]), *dx = NULL;
    const void *before = NULL;
    if (p->own & 1u << i) {
        dx = own;
        if (dx) memset(dx, 0, at_bytes(n->in[i])); /* NULL: nothing is saved of an empty call */
    } else {
        at_fresh grad = at_grad_fresh(n, i);
        dx = grad.p;
        if (dx && grad.beta) before = memcpy(own, dx, at_bytes(n->in[i]));
        if (dx && !grad.beta) memset(dx, 0, at_bytes(n->in[i]));
    }
    if (p->checked) check_state(n)->grad[i] = dx, check_state(n)->before[i] = before;
    return dx;
}

#endif
