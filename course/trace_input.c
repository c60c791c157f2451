/* trace_input.c -- what course/trace.c is given: matrices, masks, the cell to work out; see
 * trace.h.
 *
 * A matrix is written row by row, 1,0/0,1, and an element may be a logarithm, ln 7; or it is a .npy
 * file of two dimensions.  What is not given is drawn: small numbers, multiples of 1/2. */
#include "attic_train.h"
#include "common/options.h"
#include "trace.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Beyond it, numerical values say little: a score that is a product of two such elements. */
static const double largest_element = 1e6;

void trace_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "trace: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(2);
}

/* ------------------------------------------------------------------ one matrix ----------------- */

typedef struct {
    const char *name; /* "Q" */
    bool minus_infinity;
    int rows, columns;
    double value[TRACE_CELLS], log_of[TRACE_CELLS]; /* rows * columns of them */
} given;

static void check_element(const given *m, int i, int j, double x)
{
    if (m->minus_infinity && x == -(double)INFINITY) return;
    if (isfinite(x) && fabs(x) <= largest_element) return;
    trace_fail("--%s: the element in row %d, column %d is %g, but must lie between %g and %g",
               m->name, i, j, x, -largest_element, largest_element);
}

/* One element, "-2.5" or "ln 7", at *p, which is moved behind it. */
static bool read_element(const char **p, double *x, double *log_of)
{
    while (isspace((unsigned char)**p)) ++*p;
    bool logarithm = strncmp(*p, "ln", 2) == 0, masked = strncmp(*p, "-inf", 4) == 0;
    *p += logarithm ? 2 : masked ? 4 : 0;
    while (logarithm && isspace((unsigned char)**p)) ++*p;
    *x = -(double)INFINITY;
    if (!masked && !read_number(p, true, x)) return false;
    *log_of = logarithm ? *x : 0;
    if (logarithm) *x = log(*x);
    while (isspace((unsigned char)**p)) ++*p;
    return true;
}

/* "1,0/0,1" */
static void read_text(given *m, const char *p)
{
    int j = 0;
    for (m->rows = 0, m->columns = 0;; p++) {
        double x, log_of;
        if (!read_element(&p, &x, &log_of) || (*p && *p != ',' && *p != '/'))
            trace_fail("--%s must be numbers, with commas between them and / between rows, such as "
                       "1,0/0,ln 7, or a file.npy; row %d, column %d is not a number",
                       m->name, m->rows, j);
        if (m->rows == TRACE_MAX || j == TRACE_MAX)
            trace_fail("--%s has more than %d %s", m->name, TRACE_MAX,
                       j == TRACE_MAX ? "columns" : "rows");
        check_element(m, m->rows, j, x);
        m->value[m->rows * TRACE_MAX + j] = x;
        m->log_of[m->rows * TRACE_MAX + j] = log_of;
        j++;
        if (*p == ',') continue;
        if (m->rows > 0 && j != m->columns)
            trace_fail("--%s: row %d has %d elements, row 0 has %d", m->name, m->rows, j,
                       m->columns);
        m->columns = j;
        m->rows++;
        j = 0;
        if (!*p) break;
    }
}

static void read_npy(given *m, const char *path)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    const at_tensor *x = at_npy_load(t, path);
    if (!x) trace_fail("--%s: %s", m->name, at_error(t));
    if (x->shape.ndim != 2 || x->shape.dim[0] < 1 || x->shape.dim[0] > TRACE_MAX ||
        x->shape.dim[1] < 1 || x->shape.dim[1] > TRACE_MAX)
        trace_fail("--%s: %s is of shape %s, but must have two dimensions of 1 to %d", m->name,
                   path, at_shape_text(x->shape), TRACE_MAX);
    m->rows = x->shape.dim[0], m->columns = x->shape.dim[1];
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->columns; j++) {
            double v = at_element(x, i * m->columns + j);
            check_element(m, i, j, v);
            m->value[i * TRACE_MAX + j] = v;
            m->log_of[i * TRACE_MAX + j] = 0;
        }
    at_close(t);
}

/* `rows` is 0 if there is no text. */
static given read_matrix(const char *name, const char *text, bool minus_infinity)
{
    given m = {.name = name, .minus_infinity = minus_infinity};
    size_t length = strlen(text);
    if (length > 4 && strcmp(text + length - 4, ".npy") == 0)
        read_npy(&m, text);
    else if (length)
        read_text(&m, text);
    return m;
}

/* Small numbers, multiples of 1/2 from -2 to 2. */
static void draw_matrix(given *m, at_stream dice, int *next)
{
    for (int k = 0; k < TRACE_CELLS; k++)
        m->value[k] = floor(at_random_unit(dice, (uint64_t)(*next)++) * 9) / 2 - 2;
}

/* ------------------------------------------------------------------ sizes ---------------------- */

/* A size that options and matrices must agree on, and who said it first. */
typedef struct {
    const char *letter, *of;
    int n;
    const char *said_by;
} size;

static void agree(size *s, int n, const char *said_by)
{
    if (n == 0) return;
    if (s->n && s->n != n)
        trace_fail("%s says %d %s, but %s says %d: %s must be one number", said_by, n, s->of,
                   s->said_by, s->n, s->letter);
    if (!s->n) s->said_by = said_by;
    s->n = n;
}

typedef struct {
    given Q, K, V, dO, bias;
    size T, N, D, Dv;
} inputs;

static void find_sizes(const trace_options *o, inputs *in)
{
    in->T = (size){"T", "queries", 0, ""}, in->N = (size){"N", "keys", 0, ""};
    in->D = (size){"D", "elements of a query", 0, ""};
    in->Dv = (size){"Dv", "elements of a value", 0, ""};
    agree(&in->T, o->T, "--queries"), agree(&in->T, in->Q.rows, "--Q");
    agree(&in->T, in->dO.rows, "--dO");
    agree(&in->N, o->N, "--keys"), agree(&in->N, in->K.rows, "--K");
    agree(&in->N, in->V.rows, "--V");
    agree(&in->D, o->D, "--dim"), agree(&in->D, in->Q.columns, "--Q");
    agree(&in->D, in->K.columns, "--K");
    agree(&in->Dv, o->Dv, "--value-dim"), agree(&in->Dv, in->V.columns, "--V");
    agree(&in->Dv, in->dO.columns, "--dO");
    if (!in->D.n) in->D.n = o->self && in->Dv.n ? in->Dv.n : 2;
    if (o->self) agree(&in->Dv, in->D.n, "--self, whose values are its queries,");
    if (o->self && in->N.n) agree(&in->T, in->N.n, "--self, whose keys are its queries,");
    if (!in->T.n) in->T.n = 3;
    if (!in->N.n) in->N.n = o->self ? in->T.n : 4;
    if (o->self) agree(&in->N, in->T.n, "--self, whose keys are its queries,");
    if (!in->Dv.n) in->Dv.n = in->D.n;
}

static void take(trace *t, steps_name what, const given *m)
{
    int dim[3];
    steps_dims(t->a, what, dim);
    for (int i = 0; i < dim[1]; i++)
        for (int j = 0; j < dim[2]; j++) {
            *steps_cell(t->a, what, 0, i, j) = m->value[i * TRACE_MAX + j];
            t->log_of[what][i * dim[2] + j] = m->log_of[i * TRACE_MAX + j];
        }
}

/* ------------------------------------------------------------------ masks and dropout ---------- */

/* "110/011": a row of keys per query; one row alone holds for every query. */
static bool read_mask(steps *a, const char *text)
{
    bool one_row = !strchr(text, '/');
    const char *p = text;
    for (int i = 0; i < a->p.T; i++) {
        if (one_row)
            p = text;
        else if (i > 0 && *p++ != '/')
            return false;
        for (int j = 0; j < a->p.N; j++, p++) {
            if (*p != '0' && *p != '1') return false;
            *steps_cell(a, STEPS_KEEP, 0, i, j) = *p == '1';
        }
    }
    return !*p;
}

/* "2" or "2,1" */
static bool read_window(const char *text, int *left, int *right)
{
    double n;
    for (int side = 0; side < 2; side++) {
        if (!read_number(&text, false, &n) || n < 0 || n > TRACE_MAX) return false;
        *(side ? right : left) = (int)n;
        if (side == 1 || *text != ',') break;
        text++;
    }
    return !*text;
}

const char *trace_hidden(const trace *t, int i, int j)
{
    static char why[120];
    char at[60] = "";
    const steps_problem *p = &t->a->p;
    int diagonal = i + p->N - p->T;
    if (diagonal >= 0 && diagonal != i)
        snprintf(at, sizeof at, ", which stands at key %d", diagonal);
    if (diagonal < 0) snprintf(at, sizeof at, ", which stands before all keys");
    if (t->o.causal && j > diagonal)
        snprintf(why, sizeof why, "causal: key %d is later than query %d%s", j, i, at);
    else if (t->left && j <= diagonal - t->left)
        snprintf(why, sizeof why, "the window: key %d is too far left of query %d%s", j, i, at);
    else if (t->right && j >= diagonal + t->right)
        snprintf(why, sizeof why, "the window: key %d is too far right of query %d%s", j, i, at);
    else if (p->bias_N && *steps_cell(t->a, STEPS_BIAS, 0, p->bias_T > 1 ? i : 0,
                                      p->bias_N > 1 ? j : 0) == -(double)INFINITY)
        snprintf(why, sizeof why, "its bias is -inf");
    else if (!*steps_cell(t->a, STEPS_KEEP, 0, i, j))
        snprintf(why, sizeof why, "the mask has a 0 there");
    else
        return NULL;
    return why;
}

static void set_masks(trace *t)
{
    steps *a = t->a;
    const int T = a->p.T, N = a->p.N;
    if (*t->o.mask && !read_mask(a, t->o.mask))
        trace_fail(
            "--mask must have %d digits 0 or 1, one for each key, for all queries, or %d such rows "
            "with / between them, not \"%s\"",
            N, T, t->o.mask);
    if (*t->o.window && !read_window(t->o.window, &t->left, &t->right))
        trace_fail(
            "--window must be one or two whole numbers from 0 to %d, such as 2 or 2,1, not \"%s\"",
            TRACE_MAX, t->o.window);
    for (int e = 0; e < T * N; e++) t->mask[e] = a->at[STEPS_KEEP][e] != 0;
    t->masked = *t->o.mask || t->o.causal || t->left || t->right;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < N; j++) {
            bool hidden = trace_hidden(t, i, j);
            if (hidden) t->masked = true, *steps_cell(a, STEPS_KEEP, 0, i, j) = 0;
        }
}

/* The dropout factors that at_sdpa will draw on a tape with this seed, read off its weights. */
static void draw_dropout(trace *t)
{
    const steps_problem *p = &t->a->p;
    at_tape *tape = at_open(ATTIC_F64, (uint64_t)t->o.seed);
    at_tensor *A = NULL, *x = at_variable(tape, at_shape_of(p->T, 1), NULL);
    at_tensor *y = at_variable(tape, at_shape_of(p->N, 1), NULL);
    at_sdpa(tape, x, y, y, (at_sdpa_args){.dropout = p->dropout, .weights = &A}); /* A = z / N */
    if (!A) trace_fail("%s", at_error(tape));
    for (int i = 0; i < p->T; i++)
        for (int j = 0; j < p->N; j++)
            *steps_cell(t->a, STEPS_Z, 0, i, j) = at_get(A, i, j) > 0 ? 1 / (1 - p->dropout) : 0;
    at_close(tape);
}

/* "q2" from 0 to n - 1, a query, or "k2", a key; "t2" is either. */
static bool read_index(const char **text, char letter, int n, int *i)
{
    double x;
    if (**text != letter && **text != 't') return false;
    ++*text;
    if (!read_number(text, false, &x) || x < 0 || x >= n) return false;
    *i = (int)x;
    return true;
}

/* "q0,k2"; else the last cell that is kept, or the last of all. */
static void choose_cell(trace *t)
{
    const int T = t->a->p.T, N = t->a->p.N;
    const char *text = t->o.cell;
    if (*text) {
        if (!read_index(&text, 'q', T, &t->i) || *text++ != ',' ||
            !read_index(&text, 'k', N, &t->j) || *text)
            trace_fail("--cell must be a query and a key, from q0,k0 to q%d,k%d, not \"%s\"", T - 1,
                       N - 1, t->o.cell);
        return;
    }
    t->i = T - 1, t->j = N - 1;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < N; j++)
            if (*steps_cell(t->a, STEPS_KEEP, 0, i, j) != 0) t->i = i, t->j = j;
}

/* ------------------------------------------------------------------ the mistake ---------------- */

static int least(int x, int y)
{
    return x < y ? x : y;
}

/* How many letters must be put in, left out or replaced to make one name the other. */
static int edits(const char *x, const char *y)
{
    enum { LONGEST = 80 };
    int n = least((int)strlen(y), LONGEST - 1), row[LONGEST];
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 0; x[i]; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 1; j <= n; j++) {
            int replaced = diagonal + (x[i] != y[j - 1]);
            diagonal = row[j];
            row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

/* "overwritten-Vs-term" is "overwritten, V's term": what a shell would read otherwise may be left out. */
static bool is_called(const char *text, const char *name)
{
    static const char left_out[] = "',";
    for (;; text++, name++) {
        text += strspn(text, left_out), name += strspn(name, left_out);
        if (!*text || (*text != *name && (*text != '-' || *name != ' '))) return *text == *name;
    }
}

/* The beginning of a name is near to it. */
static int distance(const char *text, const char *name)
{
    return strncmp(text, name, strlen(text)) == 0 ? 1 : edits(text, name);
}

int trace_find_mistake(const char *text, int n, const char *(*name_of)(int m), const char *file)
{
    char near[120] = "";
    int nearest = 1;
    if (!*text) return 0;
    for (int m = 1; m < n; m++) {
        if (is_called(text, name_of(m))) return m;
        if (distance(text, name_of(m)) < distance(text, name_of(nearest))) nearest = m;
    }
    const char *name = name_of(nearest);
    if (2 * distance(text, name) <= (int)strlen(name)) /* "foo" is near to nothing */
        snprintf(near, sizeof near, "; the nearest is \"%s\"", name);
    trace_fail(
        "there is no mistake \"%.60s\"%s; %s has them all: type - for a space, and leave out ' "
        "and ,",
        text, near, file);
}

static const char *name_of_mistake(int m)
{
    return mistakes_texts[m].name;
}

/* ------------------------------------------------------------------ all of it ------------------ */

/* Scores that are logarithms of small integers: P, O, dP, dS are decimals of two digits. */
static void put_on_paper(trace_options *o)
{
    static const struct {
        size_t at;
        const char *text;
    } paper[] = {{offsetof(trace_options, Q), "1,0/0,1"},
                 {offsetof(trace_options, K), "ln 7,0/ln 2,ln 3/0,ln 6"},
                 {offsetof(trace_options, V), "1,4/5,1/0,2"},
                 {offsetof(trace_options, dO), "1,1/0,1"}};
    if (o->self) trace_fail("--paper has a K and a V of its own: leave out --self");
    for (size_t k = 0; k < sizeof paper / sizeof paper[0]; k++) {
        const char **text = (const char **)((char *)o + paper[k].at);
        if (!**text) *text = paper[k].text;
    }
    if (o->scale == 0) o->scale = 1;
    if (!*o->cell) o->cell = "q0,k1";
}

static inputs read_inputs(const trace_options *o)
{
    inputs in;
    bool draw_bias = strcmp(o->bias, "random") == 0;
    if (o->self && (*o->K || *o->V)) trace_fail("--self means K = V = Q: leave out --K and --V");
    in.Q = read_matrix("Q", o->Q, false), in.K = read_matrix("K", o->K, false);
    in.V = read_matrix("V", o->V, false), in.dO = read_matrix("dO", o->dO, false);
    in.bias = read_matrix("bias", draw_bias ? "" : o->bias, true);
    find_sizes(o, &in);
    at_stream dice = {(uint64_t)o->seed, 1000};
    int next = 0;
    given drawn = {.name = "drawn"}, *all[] = {&in.Q, &in.K, &in.V, &in.dO, &in.bias};
    for (int k = 0; k < 5; k++) {
        draw_matrix(&drawn, dice, &next);
        if (!all[k]->rows) memcpy(all[k]->value, drawn.value, sizeof drawn.value);
    }
    if (draw_bias) in.bias.rows = in.T.n, in.bias.columns = in.N.n;
    if (o->self) in.K = in.V = in.Q;
    if (in.bias.rows && ((in.bias.rows != 1 && in.bias.rows != in.T.n) ||
                         (in.bias.columns != 1 && in.bias.columns != in.N.n)))
        trace_fail("--bias is [%d,%d], but must be [%d,%d], [1,%d] (one row for every query) "
                   "or [%d,1]",
                   in.bias.rows, in.bias.columns, in.T.n, in.N.n, in.N.n, in.T.n);
    return in;
}

void trace_set_up(trace *t)
{
    trace_options *o = &t->o;
    if (o->paper) put_on_paper(o);
    if (o->softcap > 0 && o->softcap < 0.001)
        trace_fail("--softcap must be 0, which is off, or from 0.001 to %g, not %g",
                   largest_element, o->softcap);
    t->mistake =
        (mistake)trace_find_mistake(o->mistake, MISTAKES, name_of_mistake, "course/mistakes.h");
    inputs in = read_inputs(o);
    t->a = steps_open(&(steps_problem){.H = 1,
                                       .G = 1,
                                       .T = in.T.n,
                                       .N = in.N.n,
                                       .D = in.D.n,
                                       .Dv = in.Dv.n,
                                       .scale = o->scale,
                                       .temperature = o->temperature,
                                       .softcap = o->softcap,
                                       .dropout = o->dropout,
                                       .bias_H = in.bias.rows > 0,
                                       .bias_T = in.bias.rows,
                                       .bias_N = in.bias.columns});
    if (!t->a) trace_fail("no memory");
    take(t, STEPS_Q, &in.Q), take(t, STEPS_K, &in.K), take(t, STEPS_V, &in.V);
    take(t, STEPS_DO, &in.dO), take(t, STEPS_BIAS, &in.bias);
    set_masks(t);
    draw_dropout(t);
    choose_cell(t);
}

bool trace_step_is_on(const trace *t, int step)
{
    const steps_problem *p = &t->a->p;
    switch (step) {
    case 3: return p->softcap > 0;
    case 4: return p->bias_N > 0;
    case 5: return t->masked;
    case 7: return p->dropout > 0;
    default: return true;
    }
}
