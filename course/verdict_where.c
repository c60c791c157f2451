/* verdict_where.c -- what wrong elements have in common; see verdict.h. */
#include "verdict.h"

#include <math.h>
#include <string.h>

typedef bool cell_rule(const question *q, int h, int i, int j);

static bool is_unwritten(const question *q, int h, int i, int j)
{
    return looked_at(q, h, i, j) && isnan(q->got[offset_of(q, h, i, j)]);
}

static bool is_wrong(const question *q, int h, int i, int j)
{
    return looked_at(q, h, i, j) && !(error_of(q, offset_of(q, h, i, j)) <= q->close);
}

static bool is_masked(const question *q, int h, int i, int j)
{
    return !q->matrix && is_cell_of_scores(q->what) && !steps_attends(q->a, h, i, j);
}

static bool is_in_empty_row(const question *q, int h, int i, int j)
{
    (void)j;
    if (q->matrix || q->what == STEPS_BIAS || q->what == STEPS_DBIAS) return false;
    if (cell_row_letter(q->what) != 'q') return false;
    for (int k = 0; k < q->a->p.N; k++)
        if (steps_attends(q->a, h, i, k)) return false;
    return true;
}

static bool is_square(const question *q)
{
    return q->matrix && q->matrix->letter[0] && q->dim[1] == q->dim[2] && q->dim[1] > 1;
}

static bool is_off_diagonal(const question *q, int h, int i, int j)
{
    return is_square(q) && h == 0 && i != j;
}

static bool is_on_diagonal(const question *q, int h, int i, int j)
{
    return is_square(q) && h == 0 && i == j;
}

/* Nothing was added: it holds what it held before, or 0. */
static bool is_untouched(const question *q, int h, int i, int j)
{
    ptrdiff_t e = offset_of(q, h, i, j);
    return fabs(q->got[e] - before_of(q, e)) <= q->close * terms_of(q, e);
}

static ptrdiff_t count_cells(const question *q, cell_rule *is)
{
    ptrdiff_t n = 0;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) n += is(q, cell[0], cell[1], cell[2]);
    return n;
}

/* Is every cell that satisfies one rule also one of the other? */
static bool all_are(const question *q, cell_rule *of, cell_rule *is)
{
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);)
        if (of(q, cell[0], cell[1], cell[2]) && !is(q, cell[0], cell[1], cell[2])) return false;
    return true;
}

/* Is there such a cell with this index along an axis? */
static bool some_along(const question *q, cell_rule *is, int axis, int index)
{
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);)
        if (cell[axis] == index && is(q, cell[0], cell[1], cell[2])) return true;
    return false;
}

/* The indices along one axis, or the heads that they belong to */
typedef struct {
    const char *word; /* "row" */
    char letter;      /* 'q': q3 */
    int axis, n;
    int width; /* of the columns, or rows, of a head: h1d0; 0: they belong to no heads */
    int each;  /* as many indices are one here: a head's */
} where_axis;

static where_axis axis_of(const question *q, int axis)
{
    static const char *const words[] = {"head", "row", "column"};
    const mistakes_matrix *m = axis > 0 ? q->matrix : NULL;
    const bool one = !q->matrix && is_one_query(q->a) && cell_row_letter(q->what) == 'q';
    where_axis x = {.axis = axis, .n = q->dim[axis], .each = 1};
    x.word = m ? m->word[axis - 1] : one ? "element" : words[axis];
    x.letter = m           ? m->letter[axis - 1]
               : one       ? 0
               : axis == 0 ? 'h'
               : axis == 1 ? cell_row_letter(q->what)
                           : cell_column_letter(q->what);
    x.width = m ? m->width[axis - 1] : 0;
    return x;
}

static bool some_in(const question *q, cell_rule *is, const where_axis *x, int k)
{
    bool some = false;
    for (int e = 0; e < x->each; e++) some |= some_along(q, is, x->axis, k * x->each + e);
    return some;
}

/* In every head, are there such cells in all of its columns or in none? */
static bool are_whole_heads(const question *q, cell_rule *is, const where_axis *x)
{
    bool whole = x->width > 0;
    for (int k = 0; k < x->n && whole; k++)
        whole = some_along(q, is, x->axis, k) == some_along(q, is, x->axis, k - k % x->width);
    return whole;
}

static void say_index(writer *w, const where_axis *x, int k)
{
    const char letter[2] = {x->letter, 0};
    if (x->width)
        say(w, "h%dd%d", k / x->width, k % x->width);
    else
        say(w, "%s%d", letter, k);
}

/* "head h1", "rows q3 to q5 (the last)", "columns d0, d2", "columns h1d0 to h2d4": the indices along one axis where
 * there are such cells; nothing if they are everywhere. */
static bool say_axis(writer *w, const question *q, cell_rule *is, int axis, const char *before)
{
    where_axis x = axis_of(q, axis);
    if (are_whole_heads(q, is, &x))
        x = (where_axis){"head", 'h', axis, x.n / x.width, .each = x.width};
    int first = -1, last = -1, n = 0;
    for (int k = 0; k < x.n; k++) {
        if (!some_in(q, is, &x, k)) continue;
        if (n++ == 0) first = k;
        last = k;
    }
    if (n == 0 || n == x.n) return false;
    const bool range = n > 1 && n == last - first + 1;
    const char *between = "";
    say(w, "%s%s%s ", before, x.word, n > 1 ? "s" : "");
    for (int k = first; k <= last; k += range ? n - 1 : 1) {
        if (!some_in(q, is, &x, k)) continue;
        say(w, "%s", between);
        say_index(w, &x, k);
        between = range ? " to " : ", ";
    }
    if (n == last - first + 1 && last == x.n - 1) say(w, " (the last)");
    return true;
}

/* Where the cells lie, or how many they are. */
static void say_where(writer *w, const question *q, cell_rule *is)
{
    ptrdiff_t n = count_cells(q, is);
    if (all_are(q, is, is_in_empty_row)) {
        say(w, "only in rows that attend to no key");
        return;
    }
    if (all_are(q, is, is_masked)) {
        say(w, "only where a row does not attend to a key");
        return;
    }
    const bool off = all_are(q, is, is_off_diagonal) && n == count_cells(q, is_off_diagonal);
    const bool on = all_are(q, is, is_on_diagonal) && n == count_cells(q, is_on_diagonal);
    if (q->matrix && (off || on)) {
        const char *letter = q->matrix->letter;
        say(w, "every element with %c %s %c", letter[1], off ? "!=" : "=", letter[0]);
        return;
    }
    const char *before = "only in ";
    for (int axis = 0; axis < 3; axis++)
        if (say_axis(w, q, is, axis, before)) before = ", ";
    if (*before == ',') return;
    int of = 0;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) of++;
    say(w, n == of ? "all %d elements" : "%d of %d elements", (int)n, of);
}

typedef mistakes_ratio ratio;

enum { MAX_RATIOS = 16 };

/* What an answer may be wrong by, and its inverse; what is 1 here is left out.  A c that follows from D
 * is a second name. */
static int ratios_of(const steps *a, bool second_names, ratio *r)
{
    const steps_problem *p = &a->p;
    const bool own_scale = second_names || p->scale != 0 || p->temperature > 0;
    const ratio all[] = {{2, "2"},
                         {sqrt(p->D), "sqrt(D)"},
                         {own_scale ? a->c : 1, "c"},
                         {own_scale ? a->c * a->c : 1, "c^2"},
                         {p->temperature > 0 ? p->temperature : 1, "temperature"},
                         {1 - p->dropout, "(1-p)"},
                         {(double)p->H / p->G, "(H/G)"},
                         {p->G > 1 ? p->H : 1, "H"},
                         {p->T, "T"},
                         {p->N, "N"},
                         {p->D, "D"}};
    int n = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (fabs(all[k].value - 1) > 1e-3 && all[k].value != 0) r[n++] = all[k];
    return n;
}

bool mistakes_ratios_differ(const steps *a)
{
    ratio r[MAX_RATIOS];
    int n = ratios_of(a, false, r);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            double x = fabs(r[i].value), y = fabs(r[k].value);
            if (fabs(x / y - 1) < 1e-3 || fabs(x * y - 1) < 1e-3) return false;
        }
    return true;
}

/* " = 1/sqrt(D)", and whatever else has this value on this input */
static bool say_ratio(writer *w, const question *q, double k, double unsure)
{
    ratio own[MAX_RATIOS];
    const ratio *r = q->matrix ? q->matrix->ratio : own;
    int n = q->matrix ? q->matrix->ratios : ratios_of(q->a, true, own);
    bool any = false;
    for (int i = 0; i < n; i++)
        for (int inverse = 0; inverse < 2; inverse++)
            for (int sign = 1; sign >= -1; sign -= 2) {
                double v = sign * (inverse ? 1 / r[i].value : r[i].value);
                if (fabs(k - v) > unsure * fmax(1, fabs(v))) continue;
                if (inverse || *r[i].name != '2') /* "2 = 2" says nothing */
                    say(w, " = %s%s%s", sign < 0 ? "-" : "", inverse ? "1/" : "", r[i].name);
                any = true;
            }
    return any;
}

/* Is every element k times the right one?  Then k is the mean, weighted by 1/terms^2. */
static bool describe_ratio(writer *w, const question *q)
{
    double xy = 0, xx = 0, largest = 0;
    int elements = 0;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) {
        ptrdiff_t e = offset_of_cell(q, cell);
        double t = terms_of(q, e), x = q->right[e] / t, y = (q->got[e] - before_of(q, e)) / t;
        xy += x * y;
        xx += x * x;
        largest = fmax(largest, fabs(x));
        elements += fabs(x) > 1e-3;
    }
    if (elements == 0 || !isfinite(xy)) return false;
    double k = xy / xx, unsure = 3 * q->close / largest;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) {
        ptrdiff_t e = offset_of_cell(q, cell);
        double off = fabs(q->got[e] - before_of(q, e) - k * q->right[e]);
        if (!(off <= q->close * fmax(1, fabs(k)) * terms_of(q, e))) return false;
    }
    if (fabs(k - 1) <= unsure) return false; /* too near to the right one to tell */
    if (fabs(k + 1) <= unsure) {
        say(w, "every element has the wrong sign");
        return true;
    }
    char name[80];
    writer of_name = {name, sizeof name};
    name[0] = 0;
    if (!say_ratio(&of_name, q, k, unsure) && elements < 3) return false;
    say(w, "every element is %.4g%s times the right one", k, name);
    return true;
}

/* Does every head hold the rows of its transpose, one after the other? */
static bool describe_transpose(writer *w, const question *q)
{
    if (q->dim[1] < 2 || q->dim[2] < 2) return false;
    for (int cell[3] = {0, 0, -1}; next_cell(q, cell);) {
        ptrdiff_t e = offset_of_cell(q, cell), first = offset_of(q, cell[0], 0, 0);
        ptrdiff_t from = first + (e - first) % q->dim[1] * q->dim[2] + (e - first) / q->dim[1];
        double off = fabs(q->got[e] - before_of(q, e) - q->right[from]);
        if (!(off <= q->close * (terms_of(q, e) + terms_of(q, from)))) return false;
    }
    say(w, "the transpose of the right matrix");
    return true;
}

static double error_at(const question *q, int h, int i, int j)
{
    ptrdiff_t e = offset_of(q, h, i, j);
    return q->got[e] - before_of(q, e) - q->right[e];
}

/* Is x_ij = u_i v_j in every head?  Then x_ij x_pq = x_iq x_pj with the largest as x_pq.  x is the
 * error. */
static bool has_rank_one(const question *q, int h)
{
    int p = 0, r = 0;
    double most = 0;
    for (int i = 0; i < q->dim[1]; i++)
        for (int j = 0; j < q->dim[2]; j++) {
            double size = fabs(error_at(q, h, i, j)) / terms_of(q, offset_of(q, h, i, j));
            if (size > most) most = size, p = i, r = j;
        }
    if (!(most > q->close)) return true;
    double pivot = error_at(q, h, p, r);
    for (int i = 0; i < q->dim[1]; i++)
        for (int j = 0; j < q->dim[2]; j++) {
            double u = error_at(q, h, i, r) / pivot, v = error_at(q, h, p, j) / pivot;
            double off = fabs(error_at(q, h, i, j) - u * v * pivot);
            double rounding = terms_of(q, offset_of(q, h, i, j)) +
                              fabs(v) * terms_of(q, offset_of(q, h, i, r)) +
                              fabs(u) * terms_of(q, offset_of(q, h, p, j)) +
                              fabs(u * v) * terms_of(q, offset_of(q, h, p, r));
            if (!(off <= q->close * rounding)) return false;
        }
    return true;
}

/* dK and dV of one query have rank one, whatever their error is. */
static bool shows_rank(const question *q)
{
    bool of_keys = q->what == STEPS_DK || q->what == STEPS_DV;
    int least = q->dim[1] < q->dim[2] ? q->dim[1] : q->dim[2];
    if (q->matrix || !of_keys) return least >= 3;
    return least >= 3 && q->a->p.T * q->a->p.H / q->a->p.G >= 3;
}

/* Is the error of every row of dS P_ij times one number? */
static bool is_error_of_delta(const question *q)
{
    for (int h = 0; h < q->dim[0]; h++)
        for (int i = 0; i < q->dim[1]; i++) {
            double by = 0, best = 0;
            for (int j = 0; j < q->dim[2]; j++) {
                double P = *steps_cell(q->a, STEPS_P, h, i, j);
                if (P > best) best = P, by = error_at(q, h, i, j) / P;
            }
            for (int j = 0; j < q->dim[2]; j++) {
                double should = by * *steps_cell(q->a, STEPS_P, h, i, j);
                double off = fabs(error_at(q, h, i, j) - should);
                double size = terms_of(q, offset_of(q, h, i, j)) + fabs(should);
                if (!(off <= 3 * q->close * size)) return false;
            }
        }
    return true;
}

void describe(const question *q, verdict *v)
{
    writer w = {v->where, sizeof v->where};
    v->where[0] = 0;
    if (v->kind == VERDICT_NOT_WRITTEN) {
        say_where(&w, q, is_unwritten);
        return;
    }
    if (all_are(q, looked_at, is_untouched)) {
        say(&w, q->before ? "nothing was added" : "every element is 0");
        return;
    }
    if (describe_ratio(&w, q) || describe_transpose(&w, q)) return;
    const char *i = !q->matrix && is_one_query(q->a) ? "" : "i";
    say_where(&w, q, is_wrong);
    if (all_are(q, is_wrong, is_untouched))
        say(&w, q->before ? ": nothing was added there" : ": they are 0");
    else if (q->what == STEPS_DS && q->dim[2] > 1 && is_error_of_delta(q))
        say(&w, "; the error of dS_%sj is P_%sj times one number%s: look at delta", i, i,
            *i ? " for each row" : "");
    else if (shows_rank(q) && *v->where == 'a') {
        bool rank_one = true;
        for (int h = 0; h < q->dim[0]; h++) rank_one = rank_one && has_rank_one(q, h);
        const bool of_keys = q->what == STEPS_DK || q->what == STEPS_DV;
        if (rank_one && of_keys)
            say(&w, "; the error has rank one, as has what a single query contributes");
        else if (rank_one)
            say(&w, "; the error has rank one: it is u_i v_j");
    }
}
