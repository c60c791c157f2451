/* trace_numbers.c -- every gradient beside its numerical value, and at_sdpa beside all of them; see
 * trace.h. */
#include "attic.h"
#include "trace.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ agreement ------------------ */

/* 7 digits must be the same, of tiny elements relative to the largest; or as many as the numerical
 * value has, and the formula. */
bool trace_agrees(double x, const trace_values *v, int e, double most)
{
    double size = fmax(fmax(fabs(x), fabs(v->n[e])), most / 1000);
    return fabs(x - v->n[e]) <= 1e-7 * size + v->unsure[e] + v->rounding[e];
}

double trace_largest(const trace *t, steps_name what)
{
    double most = 0;
    for (ptrdiff_t e = 0; e < steps_size(t->a, what); e++)
        if (isfinite(t->a->at[what][e])) most = fmax(most, fabs(t->a->at[what][e]));
    return most;
}

/* A P below 1e-308 has fewer digits than others, or is 0, as it is in at_sdpa.  Up to dK it is
 * multiplied with other elements: none below this size is compared. */
static const double tiny = 1e-260;

double trace_rounding(double terms)
{
    return 16 * DBL_EPSILON * (terms + tiny);
}

void trace_compare(int count, const double *by_formula, const double *terms, trace_values *v,
                   trace_count *n)
{
    for (int e = 0; e < count; e++) v->rounding[e] = trace_rounding(terms[e]);
    double most = 0;
    for (int e = 0; e < count; e++) most = fmax(most, fabs(by_formula[e]));
    for (int e = 0; e < count; e++) {
        n->compared++;
        n->differ += !trace_agrees(by_formula[e], v, e, most);
        if (most > 0) n->worst = fmax(n->worst, fabs(by_formula[e] - v->n[e]) / most);
    }
}

bool trace_same(const trace *t, steps_name what, int i, int j, double other)
{
    double x = *steps_cell(t->a, what, 0, i, j), terms = *steps_cell(t->terms, what, 0, i, j);
    return fabs(x - other) <= trace_rounding(terms);
}

/* ------------------------------------------------------------------ numerical values ----------- */

/* A function of h: something in `moved` is moved by h from where it is in `a`, and all that follows
 * is computed again. */
typedef struct {
    const steps *a;
    steps *moved;
    int i, j, k;
} motion;

static void no_memory(void)
{
    fprintf(stderr, "trace: no memory\n");
    exit(1);
}

static motion motion_of(const steps *a, int i, int j, int k)
{
    motion m = {a, steps_copy(a), i, j, k};
    if (!m.moved) no_memory();
    return m;
}

/* L with row i of P multiplied by 1 + h: its derivative is sum_j P_ij dP_ij = delta_i */
static double loss_of_scaled_row(void *ctx, double h)
{
    const motion *m = ctx;
    const double *P = steps_cell(m->a, STEPS_P, 0, m->i, 0);
    double *to = steps_cell(m->moved, STEPS_P, 0, m->i, 0);
    for (int j = 0; j < m->a->p.N; j++) to[j] = P[j] * (1 + h);
    steps_forward(m->moved, STEPS_A);
    return steps_loss(m->moved);
}

/* P_ij with S_ik + h */
static double probability_of_moved_score(void *ctx, double h)
{
    const motion *m = ctx;
    *steps_cell(m->moved, STEPS_S, 0, m->i, m->k) = *steps_cell(m->a, STEPS_S, 0, m->i, m->k) + h;
    steps_forward(m->moved, STEPS_P);
    return *steps_cell(m->moved, STEPS_P, 0, m->i, m->j);
}

/* L with S_ij + h */
static double loss_of_moved_score(void *ctx, double h)
{
    const motion *m = ctx;
    *steps_cell(m->moved, STEPS_S, 0, m->i, m->j) = *steps_cell(m->a, STEPS_S, 0, m->i, m->j) + h;
    steps_forward(m->moved, STEPS_P);
    return steps_loss(m->moved);
}

/* L with row i, element j of the one matrix that is Q, K and V moved by h */
static double loss_of_moved_token(void *ctx, double h)
{
    const motion *m = ctx;
    const double x = *steps_cell(m->a, STEPS_Q, 0, m->i, m->j) + h;
    *steps_cell(m->moved, STEPS_Q, 0, m->i, m->j) = x;
    *steps_cell(m->moved, STEPS_K, 0, m->i, m->j) = x;
    *steps_cell(m->moved, STEPS_V, 0, m->i, m->j) = x;
    steps_forward(m->moved, STEPS_R);
    return steps_loss(m->moved);
}

static void differentiate(double (*f)(void *, double), motion m, double h, double rounding,
                          trace_values *v, int e)
{
    v->n[e] = steps_derivative(f, &m, h, rounding, &v->unsure[e]);
    steps_close(m.moved);
}

static void compare_gradients(trace *t)
{
    for (steps_name what = STEPS_DV; what <= STEPS_DK; what++) {
        const steps_name of = steps_texts[what].gradient_of;
        trace_values *v = &t->numerical[what];
        if (of == STEPS_COUNT) continue;
        for (ptrdiff_t e = 0; e < steps_size(t->a, what); e++)
            v->n[e] = steps_difference(t->a, of, e, &v->unsure[e]);
        trace_compare((int)steps_size(t->a, what), t->a->at[what], t->terms->at[what], v,
                      &t->count);
    }
}

static void compare_delta(trace *t)
{
    const steps *a = t->a;
    for (int i = 0; i < a->p.T; i++)
        differentiate(loss_of_scaled_row, motion_of(a, i, 0, 0), ldexp(1, -5), steps_rounding(a),
                      &t->delta, i);
    trace_compare(a->p.T, a->at[STEPS_DELTA], t->terms->at[STEPS_DELTA], &t->delta, &t->count);
}

/* J_jk = P_ij (1[j=k] - P_ik) of the row that is worked out, and J dP */
static void set_jacobian(trace *t)
{
    const steps *a = t->a;
    const int N = a->p.N;
    const double *P = steps_cell(a, STEPS_P, 0, t->i, 0), *dP = steps_cell(a, STEPS_DP, 0, t->i, 0);
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++) {
            t->J[j * N + k] = P[j] * ((j == k) - P[k]);
            t->product[j] += t->J[j * N + k] * dP[k];
        }
}

static void compare_jacobian(trace *t)
{
    const steps *a = t->a;
    const int N = a->p.N;
    double terms[TRACE_CELLS] = {0};
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++) {
            int e = j * N + k;
            terms[e] = *steps_cell(t->terms, STEPS_P, 0, t->i, j);
            if (steps_attends(a, 0, t->i, k))
                differentiate(probability_of_moved_score, motion_of(a, t->i, j, k),
                              steps_first_step(a, STEPS_S, t->i * N + k), DBL_EPSILON * terms[e],
                              &t->jacobian, e);
        }
    trace_compare(N * N, t->J, terms, &t->jacobian, &t->count);
}

/* The gradient of the one matrix is the sum over its three uses. */
static void set_sum(trace *t)
{
    double *const *at = t->a->at;
    for (ptrdiff_t e = 0; e < steps_size(t->a, STEPS_Q); e++)
        t->sum[e] = at[STEPS_DQ][e] + at[STEPS_DK][e] + at[STEPS_DV][e];
}

static void compare_sum(trace *t)
{
    const steps *a = t->a;
    double *const *of = t->terms->at, terms[TRACE_CELLS];
    for (int i = 0; i < a->p.T; i++)
        for (int d = 0; d < a->p.D; d++) {
            int e = i * a->p.D + d;
            terms[e] = of[STEPS_DQ][e] + of[STEPS_DK][e] + of[STEPS_DV][e];
            differentiate(loss_of_moved_token, motion_of(a, i, d, 0),
                          steps_first_step(a, STEPS_Q, e), steps_rounding(a), &t->all, e);
        }
    trace_compare(a->p.T * a->p.D, t->sum, terms, &t->all, &t->count);
}

void trace_compute(trace *t)
{
    steps_forward(t->a, STEPS_R);
    if (!mistakes_backward(t->a, t->mistake)) no_memory();
    t->terms = steps_terms(t->a);
    if (!t->terms) no_memory();
    set_jacobian(t);
    if (t->o.self) set_sum(t);
    if (!t->o.quick) {
        compare_gradients(t);
        compare_delta(t);
        compare_jacobian(t);
        if (t->o.self) compare_sum(t);
    }
    trace_identities(t);
}

/* ------------------------------------------------------------------ one of them, shown --------- */

bool trace_example(const trace *t, int *i, int *j)
{
    *i = t->i, *j = t->j;
    if (steps_attends(t->a, 0, *i, *j)) return true;
    for (*i = 0; *i < t->a->p.T; ++*i)
        for (*j = 0; *j < t->a->p.N; ++*j)
            if (steps_attends(t->a, 0, *i, *j)) return true;
    return false;
}

double trace_loss_at(const trace *t, int i, int j, double h)
{
    motion m = motion_of(t->a, i, j, 0);
    double loss = loss_of_moved_score(&m, h);
    steps_close(m.moved);
    return loss;
}

double trace_two_points(const trace *t, int i, int j, double h)
{
    return (trace_loss_at(t, i, j, h) - trace_loss_at(t, i, j, -h)) / (2 * h);
}

double trace_five_points(const trace *t, int i, int j, double h)
{
    double inner = trace_loss_at(t, i, j, h) - trace_loss_at(t, i, j, -h);
    double outer = trace_loss_at(t, i, j, 2 * h) - trace_loss_at(t, i, j, -2 * h);
    return (8 * inner - outer) / (12 * h);
}

double trace_step_of(double x)
{
    return exp2(ceil(log2(fmax(1, fabs(x)))) - 10);
}

/* ------------------------------------------------------------------ the same in one op --------- */

static at_tensor *as_variable(at_tape *tape, const trace *t, steps_name what)
{
    int dim[3];
    steps_dims(t->a, what, dim);
    return at_variable(tape, at_shape_of(dim[1], dim[2]), t->a->at[what]);
}

trace_op trace_compare_tensor(const char *name, const at_tensor *x, bool gradient,
                              const double *values, const double *terms)
{
    double worst = 0;
    for (int e = 0; e < at_count(x->shape); e++) {
        double off = fabs((gradient ? at_grad_element(x, e) : at_element(x, e)) - values[e]);
        if (off != 0) off /= terms[e] + tiny;
        worst = isnan(off) ? (double)INFINITY : fmax(worst, off);
    }
    return (trace_op){name, worst, worst <= 1e-14};
}

static void compare_tensor(trace *t, const char *name, const at_tensor *x, bool gradient,
                           const double *values, const double *terms)
{
    const trace_op op = trace_compare_tensor(name, x, gradient, values, terms);
    t->count.differ += !op.agrees;
    t->op[t->n_op++] = op;
}

typedef struct {
    at_tensor *Q, *K, *V, *bias, *O, *P, *A;
} op_tensors;

static void compare_tensors(trace *t, const op_tensors *x)
{
    double *const *at = t->a->at, *const *of = t->terms->at, sum[TRACE_CELLS];
    compare_tensor(t, "P", x->P, false, at[STEPS_P], of[STEPS_P]);
    compare_tensor(t, "A", x->A, false, at[STEPS_A], of[STEPS_A]);
    compare_tensor(t, "O", x->O, false, at[STEPS_O], of[STEPS_O]);
    for (int e = 0; t->o.self && e < at_count(x->Q->shape); e++)
        sum[e] = of[STEPS_DQ][e] + of[STEPS_DK][e] + of[STEPS_DV][e];
    if (t->o.self) {
        compare_tensor(t, "dQ + dK + dV", x->Q, true, t->sum, sum);
    } else {
        compare_tensor(t, "dQ", x->Q, true, at[STEPS_DQ], of[STEPS_DQ]);
        compare_tensor(t, "dK", x->K, true, at[STEPS_DK], of[STEPS_DK]);
        compare_tensor(t, "dV", x->V, true, at[STEPS_DV], of[STEPS_DV]);
    }
    if (x->bias) compare_tensor(t, "dbias", x->bias, true, at[STEPS_DBIAS], of[STEPS_DBIAS]);
}

bool trace_compare_op(trace *t)
{
    const steps_problem *p = &t->a->p;
    at_tape *tape = at_open(ATTIC_F64, (uint64_t)t->o.seed);
    op_tensors x = {.Q = as_variable(tape, t, STEPS_Q)};
    x.K = t->o.self ? x.Q : as_variable(tape, t, STEPS_K);
    x.V = t->o.self ? x.Q : as_variable(tape, t, STEPS_V);
    if (p->bias_N) x.bias = as_variable(tape, t, STEPS_BIAS);
    at_tensor *given = as_variable(tape, t, STEPS_DO), *keep = NULL;
    if (*t->o.mask) keep = at_bools(tape, at_shape_of(p->T, p->N), t->mask);
    at_sdpa_args args = {.scale = p->scale,
                         .temperature = p->temperature,
                         .softcap = p->softcap,
                         .bias = x.bias,
                         .keep = keep,
                         .causal = t->o.causal,
                         .align = ATTIC_ALIGN_BOTTOM_RIGHT,
                         .window_left = t->left,
                         .window_right = t->right,
                         .dropout = p->dropout,
                         .weights = &x.A,
                         .probs = &x.P};
    x.O = at_sdpa(tape, x.Q, x.K, x.V, args);
    bool ok = at_backward_from(tape, x.O, given);
    if (ok)
        compare_tensors(t, &x);
    else
        fprintf(stderr, "trace: %s\n", at_error(tape));
    at_close(tape);
    return ok;
}
