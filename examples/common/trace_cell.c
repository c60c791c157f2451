/* trace_cell.c -- one cell of each matrix worked out with its numbers; see trace.h. */
#include "common/trace.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static char worked[4000];

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    size_t length = strlen(worked);
    va_list args;
    va_start(args, format);
    vsnprintf(worked + length, sizeof worked - length, format, args);
    va_end(args);
}

static bool has_rows_of_keys(steps_name what)
{
    return what == STEPS_K || what == STEPS_V || what == STEPS_DK || what == STEPS_DV;
}

static bool has_columns_of_keys(steps_name what)
{
    return (what >= STEPS_BIAS && what <= STEPS_A) || what == STEPS_DW ||
           (what >= STEPS_DA && what <= STEPS_DP) || (what >= STEPS_DS && what <= STEPS_DR);
}

static int at_most(int i, int n)
{
    return i < n ? i : n - 1;
}

int trace_row_of(const trace *t, steps_name what)
{
    int dim[3];
    steps_dims(t->a, what, dim);
    return at_most(has_rows_of_keys(what) ? t->j : t->i, dim[1]);
}

int trace_column_of(const trace *t, steps_name what)
{
    int dim[3];
    steps_dims(t->a, what, dim);
    return has_columns_of_keys(what) ? at_most(t->j, dim[2]) : 0;
}

const char *trace_name_of(const trace *t, steps_name what)
{
    static char name[40];
    const char *X = steps_texts[what].name;
    char row[16], column[16];
    trace_label(t, what, false, trace_row_of(t, what), row);
    trace_label(t, what, true, trace_column_of(t, what), column);
    if (what == STEPS_DELTA)
        snprintf(name, sizeof name, "%s[%s]", X, row);
    else
        snprintf(name, sizeof name, "%s[%s,%s]", X, row, column);
    return name;
}

static double value(const trace *t, steps_name what, int i, int j)
{
    return *steps_cell(t->a, what, 0, i, j);
}

/* "0.5", or "ln 7" where that was given */
static void add_element(const trace *t, steps_name what, int i, int j)
{
    int dim[3];
    steps_dims(t->a, what, dim);
    double log_of = t->log_of[what][i * dim[2] + j];
    if (log_of != 0)
        add("ln %.4g", log_of);
    else
        add("%.4g", value(t, what, i, j) + 0.0); /* -0 + 0 is 0 */
}

/* A walk through a matrix: its cells (i, j), (i + down, j + right), ... */
typedef struct {
    steps_name what;
    int i, j, down, right;
} walk;

/* "a0*b0 + a1*b1 + ... = sum" */
static void add_dot(const trace *t, int n, walk a, walk b)
{
    double sum = 0;
    for (int k = 0; k < n; k++) {
        if (k) add(" + ");
        add_element(t, a.what, a.i + k * a.down, a.j + k * a.right);
        add("*");
        add_element(t, b.what, b.i + k * b.down, b.j + k * b.right);
        sum += value(t, a.what, a.i + k * a.down, a.j + k * a.right) *
               value(t, b.what, b.i + k * b.down, b.j + k * b.right);
    }
    add(" = %.4f", trace_shown(sum));
}

static void add_softmax(const trace *t)
{
    const double *S = steps_cell(t->a, STEPS_S, 0, t->i, 0);
    double max = -(double)INFINITY, sum = 0;
    const char *plus = "";
    for (int j = 0; j < t->a->p.N; j++)
        if (!trace_hidden(t, t->i, j)) max = fmax(max, S[j]);
    add("exp(%.4f - %.4f) / (", trace_shown(S[t->j]), trace_shown(max));
    for (int j = 0; j < t->a->p.N; j++) {
        if (trace_hidden(t, t->i, j)) continue;
        add("%s%.4f", plus, exp(S[j] - max));
        sum += exp(S[j] - max);
        plus = " + ";
    }
    add(") = %.4f / %.4f = %.4f", exp(S[t->j] - max), sum, value(t, STEPS_P, t->i, t->j));
}

/* dbias: dS of every cell to which the one element of bias was added. */
static void add_dbias(const trace *t)
{
    const steps_problem *p = &t->a->p;
    const char *plus = "";
    for (int i = 0; i < p->T; i++)
        for (int j = 0; j < p->N; j++) {
            if ((p->bias_T == p->T && i != t->i) || (p->bias_N == p->N && j != t->j)) continue;
            add("%s%.4f", plus, trace_shown(value(t, STEPS_DS, i, j)));
            plus = " + ";
        }
    if (p->bias_T < p->T || p->bias_N < p->N)
        add(" = %.4f", trace_shown(value(t, STEPS_DBIAS, trace_row_of(t, STEPS_DBIAS),
                                         trace_column_of(t, STEPS_DBIAS))));
    else
        add(", as dS[q%d,k%d]", t->i, t->j);
}

static void add_dS(const trace *t, bool dropped)
{
    double P = value(t, STEPS_P, t->i, t->j), dP = value(t, STEPS_DP, t->i, t->j);
    double delta = value(t, STEPS_DELTA, t->i, 0), dS = value(t, STEPS_DS, t->i, t->j);
    add("%.4f * (%.4f - %.4f) = %.4f", P, trace_shown(dP), trace_shown(delta), trace_shown(dS));
    if (dropped)
        add(".  This weight is dropped, so dP = 0, and yet dS = -P delta is%s 0.  That surprises "
            "many: dropout comes after the softmax, so a higher score still takes probability from "
            "the other keys of the row",
            dS == 0 ? " here 0 only because delta or P is" : " not");
}

/* U + bias */
static void add_S(const trace *t)
{
    double U = trace_shown(value(t, STEPS_U, t->i, t->j));
    if (t->a->p.bias_N) {
        double bias = trace_shown(value(t, STEPS_BIAS, t->i, t->j));
        add("%.4f + %.4f = %.4f", U, bias, trace_shown(U + bias));
    } else {
        add("%.4f", U);
    }
}

static void add_forward(const trace *t, steps_name what)
{
    const steps *a = t->a;
    const int i = t->i, j = t->j;
    double x = what == STEPS_O ? 0 : trace_shown(value(t, what, i, j));
    switch (what) {
    case STEPS_R:
        add_dot(t, a->p.D, (walk){STEPS_Q, i, 0, 0, 1}, (walk){STEPS_K, j, 0, 0, 1});
        break;
    case STEPS_X: add("%.4g * %.4f = %.4f", a->c, trace_shown(value(t, STEPS_R, i, j)), x); break;
    case STEPS_U:
        add("%.4g * tanh(%.4f / %.4g) = %.4f", a->p.softcap, trace_shown(value(t, STEPS_X, i, j)),
            a->p.softcap, x);
        break;
    case STEPS_S: add_S(t); break;
    case STEPS_P: add_softmax(t); break;
    case STEPS_A:
        add("%.4f * %.4f = %.4f", value(t, STEPS_Z, i, j), value(t, STEPS_P, i, j), x);
        break;
    default: add_dot(t, a->p.N, (walk){STEPS_A, i, 0, 0, 1}, (walk){STEPS_V, 0, 0, 1, 0});
    }
}

static void add_backward(const trace *t, steps_name what)
{
    const steps *a = t->a;
    const int i = t->i, j = t->j, T = a->p.T, N = a->p.N;
    bool dropped = value(t, STEPS_Z, i, j) == 0;
    switch (what) {
    case STEPS_DV: add_dot(t, T, (walk){STEPS_A, 0, j, 1, 0}, (walk){STEPS_DO, 0, 0, 1, 0}); break;
    case STEPS_DA:
        add_dot(t, a->p.Dv, (walk){STEPS_DO, i, 0, 0, 1}, (walk){STEPS_V, j, 0, 0, 1});
        break;
    case STEPS_DP:
        add("%.4f * %.4f = %.4f", value(t, STEPS_Z, i, j), trace_shown(value(t, STEPS_DA, i, j)),
            trace_shown(value(t, STEPS_DP, i, j)));
        if (dropped) add(".  This weight is dropped: it reaches no output");
        break;
    case STEPS_DELTA:
        add_dot(t, N, (walk){STEPS_P, i, 0, 0, 1}, (walk){STEPS_DP, i, 0, 0, 1});
        break;
    case STEPS_DS: add_dS(t, dropped); break;
    case STEPS_DBIAS: add_dbias(t); break;
    case STEPS_DX:
        add("%.4f * (1 - (%.4f / %.4g)^2) = %.4f", trace_shown(value(t, STEPS_DU, i, j)),
            trace_shown(value(t, STEPS_U, i, j)), a->p.softcap,
            trace_shown(value(t, STEPS_DX, i, j)));
        break;
    case STEPS_DR:
        add("%.4g * %.4f = %.4f", a->c, trace_shown(value(t, STEPS_DX, i, j)),
            trace_shown(value(t, STEPS_DR, i, j)));
        break;
    case STEPS_DQ: add_dot(t, N, (walk){STEPS_DR, i, 0, 0, 1}, (walk){STEPS_K, 0, 0, 1, 0}); break;
    default: add_dot(t, T, (walk){STEPS_DR, 0, j, 1, 0}, (walk){STEPS_Q, 0, 0, 1, 0});
    }
}

/* Is it a cell of the scores or of their gradients, which a mask hides? */
static bool may_be_hidden(steps_name what)
{
    return what >= STEPS_S && what != STEPS_O && what != STEPS_DBIAS && has_columns_of_keys(what);
}

const char *trace_worked(const trace *t, steps_name what)
{
    worked[0] = 0;
    const char *hidden = trace_hidden(t, t->i, t->j);
    if (steps_texts[what].step == 0 || what == STEPS_DU) return worked;
    if ((what == STEPS_U || what == STEPS_DX) && !trace_step_is_on(t, 3)) return worked;
    if (what == STEPS_DBIAS && !trace_step_is_on(t, 4)) return worked;
    add("%s = ", trace_name_of(t, what));
    if (hidden && may_be_hidden(what))
        add("%s: this cell is not read (%s)", what == STEPS_S ? "-inf" : "0", hidden);
    else if (what <= STEPS_O)
        add_forward(t, what);
    else
        add_backward(t, what);
    return worked;
}
