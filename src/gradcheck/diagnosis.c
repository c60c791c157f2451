/* diagnosis.c -- what the wrong elements of a gradient say together.
 *
 * One wrong element says where to look; all of them say what for.  Inputs come first: which are
 * right narrows the search most, as each term of a backward reaches some inputs and not others
 * (of attention v right, q and k wrong: not P, but dP, delta or dS).  Then, for each wrong input,
 * with the derivative n, what backward says a, and d = a - n:
 *
 *     a = 0           nothing is written there, or a term is left out
 *     n = 0           something should be 0 and is not: a mask
 *     a = f n         one factor f for all: ln 2, 1/sqrt(D), 1 - p ...
 *     a = a_of_first  backward takes dy[0] for each dy
 *     a_i = n_j       the derivative at another index of an axis; or a is n transposed
 *     d = c           the same c along an axis: the mean that a norm subtracts, or a sum
 *     d = b x + c     the same b and c along an axis: the term of a square, of a variance
 *     a = f n         the same f along an axis: a factor of each row
 *
 * The first that holds for all wrong elements is said, and before it on which indices of which
 * axis they are.  If none holds, only where they are.
 *
 * a = f n and d = b x + c are fits.  On a line of elements e, with a basis b_e (n, x, or
 * none) and perhaps a constant c, least squares give
 *
 *     slope = sum_e (b_e - mean b) (d_e - mean d) / sum_e (b_e - mean b)^2
 *     c = mean d - slope mean b
 *
 * (without the constant the means are 0).  What is left of each d_e must be below t_e, what the
 * bound of n and the rounding of a explain.  A fit that could hardly fail says nothing: so the sum
 * of t_e^2 must be below 1 % of that of d_e^2, and there must be some elements more than slopes
 * and constants.
 *
 * A factor f, known to delta f, is named if a size or a constant, its inverse, root or inverse
 * root is that; else if the length of an axis is; else, where f is known to 4 digits, if a
 * product of two is.  Where several are, all are said: with D = 4 nothing can tell sqrt(D) from
 * 2.  By chance some m names between 1/100 and 100 include any given f with probability m 2 delta
 * / ln(100^2): 0.1 % of the 50 names of one size each for delta = 1e-4, and 2 % of the 1,000
 * products of two. */
#include "gradcheck/checker.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "tensor/decimal.h"

enum { MOST_INPUTS = 16, MOST_INDICES = 512, MOST_NUMBERS = 32 };

typedef struct { /* one part of x, and what is said of it */
    const char *name;
    at_shape shape;
    ptrdiff_t count, wrongs, unknown;
    const double *x, *a, *n, *bound, *of_first;
    const bool *wrong, *known;
    double largest; /* |a| or |n| */
    double error;   /* of the wrong ones, by the larger of a and n */
    char finding[ATTIC_DIAGNOSIS];
} input_view;

AT_PRINTF(2, 3) static void add_text(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, ATTIC_DIAGNOSIS - used, format, args);
    va_end(args);
}

/* ------------------------------------------------------------------ inputs --------------------- */

/* What rounding of a may be. */
static double rounding_of(const input_view *p, ptrdiff_t e)
{
    return 1e-4 * fabs(p->a[e]) + 1e-5 * p->largest;
}

/* Would an error like that of the wrong ones have been seen here?  Where the derivative is 0, or
 * badly known, it would not, and that nothing is wrong there says nothing. */
static bool is_right(const input_view *p, ptrdiff_t e)
{
    const double would_be = fmin(p->error, 1) * fabs(p->n[e]);
    return !p->wrong[e] && would_be > 3 * (p->bound[e] + rounding_of(p, e));
}

/* A shape that is none, or not of so many elements: one axis. */
static at_shape shape_of(const at_gradcheck_part *part)
{
    at_shape s = part->shape;
    bool good = s.ndim >= 1 && s.ndim <= AT_MAX_DIMS && at_count(s) == part->count;
    for (int axis = 0; good && axis < s.ndim; axis++) good = s.dim[axis] > 0;
    return good ? s : at_shape_of((int)part->count);
}

static input_view view_of(const at_elements *all, const at_gradcheck_part *part, ptrdiff_t start)
{
    input_view p = {.name = part->name,
                    .shape = shape_of(part),
                    .count = part->count,
                    .x = all->x ? all->x + start : NULL,
                    .a = all->a + start,
                    .n = all->n + start,
                    .bound = all->bound + start,
                    .of_first = all->a_of_first ? all->a_of_first + start : NULL,
                    .wrong = all->wrong + start,
                    .known = all->known + start};
    double d = 0, size = 0;
    for (ptrdiff_t e = 0; e < p.count; e++) {
        const bool finite = isfinite(p.a[e]) && isfinite(p.n[e]);
        p.largest = fmax(p.largest, finite ? fmax(fabs(p.a[e]), fabs(p.n[e])) : 0);
        p.wrongs += p.wrong[e];
        p.unknown += !p.known[e] && !p.wrong[e];
        d += p.wrong[e] && finite ? fabs(p.a[e] - p.n[e]) : 0;
        size += p.wrong[e] && finite ? fmax(fabs(p.a[e]), fabs(p.n[e])) : 0;
    }
    p.error = size > 0 ? d / size : 1;
    return p;
}

/* ------------------------------------------------------------------ where ---------------------- */

/* Axis ndim is "the last axis - the one before": diagonals. */
static int index_on(const input_view *p, int axis, ptrdiff_t e)
{
    const int *dim = p->shape.dim, last = p->shape.ndim - 1;
    if (axis > last) return index_on(p, last, e) - index_on(p, last - 1, e) + dim[last - 1] - 1;
    return (int)(e / at_count_between(p->shape, axis + 1, last + 1) % dim[axis]);
}

enum { NOTHING_THERE, RIGHT_THERE, WRONG_THERE };

/* " is 8, the last", " is 4 to 6", " is 8 or more", " is 1, 3, 5 ..."; false if no few words say
 * it.  Indices without any derivative are whatever makes the words simple. */
static bool write_indices(const unsigned char *state, int length, int origin, char *text)
{
    int first = length, last = -1, wrongs = 0, right[3] = {0}; /* before, after and between */
    bool each_second = true;
    for (int i = 0; i < length; i++) {
        if (state[i] != WRONG_THERE) continue;
        first = i < first ? i : first;
        last = i;
        wrongs++;
    }
    for (int i = 0; i < length; i++) {
        right[i < first ? 0 : i > last ? 1 : 2] += state[i] == RIGHT_THERE;
        each_second = each_second && state[i] != ((i - first) % 2 ? WRONG_THERE : RIGHT_THERE);
    }
    if (right[0] + right[1] + right[2] == 0) return false;
    const int low = first - origin, high = last - origin;
    if (!right[2] && wrongs == 1)
        add_text(text, " is %d%s", low, last == length - 1 ? ", the last" : "");
    else if (!right[2] && right[0] && right[1])
        add_text(text, " is %d to %d", low, high);
    else if (!right[2])
        add_text(text, " is %d or %s", right[0] ? low : high, right[0] ? "more" : "less");
    else if (wrongs > 2 && each_second)
        add_text(text, " is %d, %d, %d ...", low, low + 2, low + 4);
    else
        for (int i = first; i <= last && wrongs <= 4; i++)
            if (state[i] == WRONG_THERE)
                add_text(text, "%s%d", i == first ? " is " : i < last ? ", " : " or ", i - origin);
    return !right[2] || wrongs <= 4 || each_second;
}

typedef struct { /* is there a wrong element at this index of this axis? */
    bool wrong[AT_MAX_DIMS][MOST_INDICES];
} index_sets;

/* Is e at such an index on all other axes?  Elsewhere a right element says nothing of this axis. */
static bool is_beside(const input_view *p, const index_sets *at, int axis, ptrdiff_t e)
{
    bool beside = true;
    for (int other = 0; other < p->shape.ndim; other++)
        beside = beside && (other == axis || at->wrong[other][index_on(p, other, e)]);
    return beside;
}

static bool write_axis(input_view *p, const index_sets *at, int axis, const char *before)
{
    unsigned char state[2 * MOST_INDICES] = {0};
    const int *dim = p->shape.dim, last = p->shape.ndim - 1;
    const int origin = axis > last ? dim[last - 1] - 1 : 0;
    char text[ATTIC_DIAGNOSIS] = "";
    for (ptrdiff_t e = 0; e < p->count; e++) {
        unsigned char *s = &state[index_on(p, axis, e)];
        if (p->wrong[e])
            *s = WRONG_THERE;
        else if (*s == NOTHING_THERE && is_beside(p, at, axis, e))
            *s = is_right(p, e);
    }
    for (ptrdiff_t e = 0; axis > last && e < p->count; e++) /* a diagonal is wrong as a whole */
        if (state[index_on(p, axis, e)] == WRONG_THERE && is_right(p, e)) return false;
    if (!write_indices(state, dim[axis > last ? last : axis] + origin, origin, text)) return false;
    add_text(p->finding, "%saxis %d", before, axis > last ? last : axis);
    if (axis > last) add_text(p->finding, " - axis %d", last - 1);
    add_text(p->finding, "%s", text);
    return true;
}

static void write_where(input_view *p)
{
    index_sets at = {0};
    bool any = false, is_long = false;
    ptrdiff_t rights = 0;
    for (int axis = 0; axis < p->shape.ndim; axis++)
        is_long = is_long || p->shape.dim[axis] > MOST_INDICES;
    for (ptrdiff_t e = 0; e < p->count; e++) {
        rights += is_right(p, e);
        for (int axis = 0; p->wrong[e] && !is_long && axis < p->shape.ndim; axis++)
            at.wrong[axis][index_on(p, axis, e)] = true;
    }
    if (!is_long && p->shape.ndim > 1 && write_axis(p, &at, p->shape.ndim, "only where ")) return;
    for (int axis = 0; axis < p->shape.ndim && !is_long; axis++)
        any = write_axis(p, &at, axis, any ? " and " : "only where ") || any;
    if (!any && 3 * rights > p->wrongs)
        add_text(p->finding, "%td of %td elements", p->wrongs, p->count);
}

/* ------------------------------------------------------------------ fits ----------------------- */

typedef enum { CONSTANT, TIMES_X, TIMES_X_AND_CONSTANT, FACTOR } fit_kind;

typedef struct {
    ptrdiff_t freedom; /* elements beyond those that the parameters take */
    double d, t;       /* sums of squares */
    double slope, error;
} fit;

typedef struct {
    ptrdiff_t start, step, end;
    bool all; /* of its elements, not the wrong ones alone */
} line_of;

static bool is_on(const input_view *p, line_of line, ptrdiff_t e)
{
    return p->wrong[e] || (line.all && isfinite(p->n[e]) && isfinite(p->bound[e]));
}

/* Adds a line to the fit; false if it does not fit.  One without wrong elements is left out. */
static bool line_fits(const input_view *p, fit_kind kind, line_of line, fit *f)
{
    const double *basis = kind == FACTOR ? p->n : kind == CONSTANT ? NULL : p->x;
    const bool centred = kind == CONSTANT || kind == TIMES_X_AND_CONSTANT;
    double count = 0, d = 0, b = 0, bb = 0, bd = 0, weight = 0, wrongs = 0;
    for (ptrdiff_t e = line.start; e < line.end; e += line.step) {
        const double there = basis ? basis[e] : 0, is = p->a[e] - p->n[e];
        if (!is_on(p, line, e)) continue;
        wrongs += p->wrong[e];
        count++;
        d += is;
        b += there;
        bb += there * there;
        bd += there * is;
    }
    if (wrongs == 0) return true;
    if (!centred) b = d = 0;
    f->slope = basis ? (bd - b * d / count) / (bb - b * b / count) : 0;
    for (ptrdiff_t e = line.start; e < line.end; e += line.step) {
        const double there = basis ? basis[e] - b / count : 0, is = p->a[e] - p->n[e];
        const double gain = kind == FACTOR ? fabs(1 + f->slope) : 1;
        const double t = rounding_of(p, e) + 2 * p->bound[e] * gain;
        if (!is_on(p, line, e)) continue;
        if (!(fabs(is - d / count - f->slope * there) <= t)) return false;
        f->d += is * is;
        f->t += t * t;
        weight += there * there / (t * t);
    }
    f->freedom += (ptrdiff_t)count - centred - (basis != NULL);
    f->error = 1 / sqrt(weight);
    return true;
}

/* Does it fit on each line along this axis, and could it have failed? */
static bool write_fit(input_view *p, fit_kind kind, int axis)
{
    static const char *const text[] = {
        [FACTOR] = "a / n is the same along axis %d: a factor of each row is missing",
        [CONSTANT] = "a - n is the same along axis %d: a mean is missing, or a sum",
        [TIMES_X] = "a - n is a multiple of x along axis %d: the term of a square",
        [TIMES_X_AND_CONSTANT] = "a - n is b x + c along axis %d: the terms of mean and variance"};
    const ptrdiff_t step = at_count_between(p->shape, axis + 1, p->shape.ndim);
    const ptrdiff_t length = p->shape.dim[axis] * step;
    fit f = {0};
    if ((kind == TIMES_X || kind == TIMES_X_AND_CONSTANT) && !p->x) return false;
    for (ptrdiff_t e = 0; e < p->count; e += e % step == step - 1 ? length - step + 1 : 1)
        if (!line_fits(p, kind, (line_of){e, step, e + length, true}, &f)) return false;
    if (f.freedom < 4 || f.t > 0.01 * f.d) return false;
    add_text(p->finding, text[kind], axis);
    return true;
}

/* ------------------------------------------------------------------ the name of a factor ------- */

typedef enum { CONSTANT_NUMBER, OF_A_SIZE, OF_AN_AXIS } number_kind;

typedef struct {
    char name[44];
    double value;
    number_kind kind;
} named_number;

typedef struct {
    int count;
    named_number number[MOST_NUMBERS];
} number_list;

AT_PRINTF(4, 5)
static void add_number(number_list *to, number_kind kind, double value, const char *format, ...)
{
    if (to->count == MOST_NUMBERS) return;
    named_number *number = &to->number[to->count++];
    number->value = value;
    number->kind = kind;
    va_list args;
    va_start(args, format);
    vsnprintf(number->name, sizeof number->name, format, args);
    va_end(args);
}

static void collect_numbers(const at_elements *all, const at_gradcheck_part *part, number_list *to)
{
    add_number(to, CONSTANT_NUMBER, 1, "1");
    add_number(to, CONSTANT_NUMBER, 2, "2");
    add_number(to, CONSTANT_NUMBER, 0.5, "1/2");
    add_number(to, CONSTANT_NUMBER, 0.69314718055994531, "ln 2");
    add_number(to, CONSTANT_NUMBER, 1.4426950408889634, "log2 e");
    for (const at_gradcheck_size *s = all->sizes; s && s->name; s++) {
        if (s->value > 0) add_number(to, OF_A_SIZE, s->value, "%.16s", s->name);
        if (s->value > 1e-3 && s->value < 1)
            add_number(to, OF_A_SIZE, 1 - s->value, "(1 - %.16s)", s->name);
    }
    for (; part->name; part++)
        for (int axis = 0; axis < shape_of(part).ndim; axis++) {
            int length = shape_of(part).dim[axis], i = 0;
            while (i < to->count && to->number[i].value != length) i++;
            if (i == to->count)
                add_number(to, OF_AN_AXIS, length, "(axis %d of %.20s)", axis, part->name);
        }
}

typedef struct {
    const char *format;
    double p, q; /* a^p b^q; q = 0: there is no b */
} factor_form;

static double power_of(double x, double p)
{
    double root = p == 0 ? 1 : fabs(p) < 1 ? sqrt(x) : x;
    return p < 0 ? 1 / root : root;
}

/* Adds the names that f has in this form; returns how many there are now. */
static int try_form(char *text, double f, double error, const number_list *numbers,
                    const factor_form *form, bool lengths, int found)
{
    const bool alone = form->q == 0, like = fabs(form->p) == fabs(form->q),
               same = form->p == form->q;
    for (int i = 0; i < numbers->count; i++)
        for (int j = alone ? i : 1; j < (alone ? i + 1 : numbers->count); j++) {
            const named_number *a = &numbers->number[i], *b = &numbers->number[j];
            const double value = power_of(a->value, form->p) * power_of(b->value, form->q);
            if ((a->kind == OF_AN_AXIS) != lengths || fabs(fabs(f) - value) > error * value)
                continue;
            if (a->kind == CONSTANT_NUMBER ? form->p != 1 : !alone && !like) continue;
            if (!alone && (b->kind != OF_A_SIZE || i == j)) continue;
            if (found == 6 || (same && a->kind == OF_A_SIZE && j < i)) continue;
            add_text(text, "%s%s", found++ ? " or " : "", f < 0 ? "-" : "");
            add_text(text, form->format, a->name, b->name);
        }
    return found;
}

/* Writes the names of f: of one number, else of the length of an axis, else of two numbers. */
static int name_factor(char *text, double f, double error, const number_list *numbers)
{
    static const factor_form one[] = {
        {"%s", 1, 0}, {"1/%s", -1, 0}, {"sqrt(%s)", 0.5, 0}, {"1/sqrt(%s)", -0.5, 0}, {0}};
    static const factor_form two[] = {
        {"%s/%s", 1, -1},          {"%s %s", 1, 1},           {"1/(%s %s)", -1, -1},
        {"sqrt(%s/%s)", 0.5, -.5}, {"sqrt(%s %s)", 0.5, 0.5}, {"1/sqrt(%s %s)", -0.5, -0.5},
        {"%s sqrt(%s)", 1, 0.5},   {"%s/sqrt(%s)", 1, -0.5},  {0}};
    const factor_form *const forms[] = {one, one, two};
    int found = 0;
    for (int level = 0; level < (error > 2e-4 ? 2 : 3) && !found; level++)
        for (const factor_form *form = forms[level]; form->format; form++)
            found = try_form(text, f, error, numbers, form, level == 1, found);
    return found;
}

/* One f for all that is wrong. */
static bool write_factor(input_view *p, const number_list *numbers, bool *ambiguous)
{
    fit f = {0};
    if (!line_fits(p, FACTOR, (line_of){0, 1, p->count, false}, &f) || f.t > 0.01 * f.d)
        return false;
    const double factor = 1 + f.slope, error = fmax(2e-5, 2 * f.error / fabs(factor));
    const char *value = at_short_text(factor, 4);
    char name[ATTIC_DIAGNOSIS] = "";
    int names =
        error < (f.freedom < 3 ? 1e-3 : 1e-2) ? name_factor(name, factor, error, numbers) : 0;
    if (f.freedom < 3 && !names) return false;
    if (strcmp(name, value) != 0) add_text(p->finding, "%s%s", name, names ? " = " : "");
    add_text(p->finding, "%s times the derivative", value);
    *ambiguous = *ambiguous || names > 1;
    return true;
}

/* ------------------------------------------------------------------ another index -------------- */

enum { TRANSPOSED = -3, REVERSED, IN_PAIRS }; /* or by how much it is shifted */

/* The element whose derivative stands at e if backward has moved them so along this axis. */
static ptrdiff_t moved_from(const input_view *p, int axis, int move, ptrdiff_t e)
{
    const ptrdiff_t step = at_count_between(p->shape, axis + 1, p->shape.ndim);
    const int length = p->shape.dim[axis], i = index_on(p, axis, e);
    int j = move == REVERSED ? length - 1 - i : (i + length - move) % length;
    if (move == IN_PAIRS) j = (i ^ 1) < length ? i ^ 1 : i;
    if (move != TRANSPOSED) return e + (j - i) * step;
    const ptrdiff_t next = p->shape.dim[axis + 1], inner = step / next,
                    of_both = e % (length * step);
    return e - of_both + (of_both / inner % length * next + of_both / inner / length) * inner +
           of_both % inner;
}

/* Of a shift, the elements that left the axis are anything. */
static bool write_move(input_view *p, int axis, int move)
{
    const int length = p->shape.dim[axis];
    ptrdiff_t spare = move > 0 ? p->count / length : 0;
    double nn = 0, dd = 0, tt = 0;
    for (ptrdiff_t e = 0; e < p->count && spare >= 0; e++) {
        const double d = p->a[e] - p->n[e];
        const ptrdiff_t from = moved_from(p, axis, move, e);
        const double t = rounding_of(p, e) + p->bound[from];
        spare -= !(fabs(p->a[e] - p->n[from]) <= t);
        nn += p->n[from] * p->n[from];
        dd += d * d;
        tt += t * t;
    }
    if (spare < 0 || tt > 1e-3 * nn || tt > 0.01 * dd) return false;
    add_text(p->finding, "the derivative, but axis %d ", axis);
    if (move == TRANSPOSED)
        add_text(p->finding, "and axis %d are transposed", axis + 1);
    else if (move < 0)
        add_text(p->finding, "is %s", move == REVERSED ? "reversed" : "interchanged in pairs");
    else
        add_text(p->finding, "is shifted by %d", move > length / 2 ? move - length : move);
    return true;
}

static bool write_moves(input_view *p, int axis)
{
    for (int move = axis + 1 < p->shape.ndim ? TRANSPOSED : REVERSED; move < p->shape.dim[axis];
         move++)
        if (write_move(p, axis, move)) return true;
    return false;
}

/* ------------------------------------------------------------------ what ----------------------- */

typedef enum { IS_NAN, IS_ZERO, SHOULD_BE_ZERO, IS_OF_FIRST } condition;

static bool holds(const input_view *p, condition it, ptrdiff_t e)
{
    if (it == IS_NAN) return isnan(p->a[e]);
    if (it == IS_ZERO) return p->a[e] == 0;
    if (it == SHOULD_BE_ZERO) return fabs(p->n[e]) <= fmin(p->bound[e], 0.05 * fabs(p->a[e]));
    return p->of_first && fabs(p->a[e] - p->of_first[e]) <= 1e-3 * fabs(p->a[e]);
}

static bool write_if_all(input_view *p, condition it, const char *what)
{
    for (ptrdiff_t e = 0; e < p->count; e++)
        if (p->wrong[e] && !holds(p, it, e)) return false;
    add_text(p->finding, "%s", what);
    return true;
}

static void write_finding(input_view *p, const number_list *numbers, bool *ambiguous)
{
    write_where(p);
    const size_t used = strlen(p->finding);
    if (used) add_text(p->finding, ": ");
    if (write_if_all(p, IS_NAN, "not written, or not a number") ||
        write_if_all(p, IS_ZERO, "all 0") ||
        write_if_all(p, SHOULD_BE_ZERO, "should be 0: is a mask missing?") ||
        write_factor(p, numbers, ambiguous) ||
        write_if_all(p, IS_OF_FIRST, "as if every dy were dy[0]"))
        return;
    for (int axis = p->shape.ndim - 1; axis >= 0; axis--)
        if (write_moves(p, axis)) return;
    for (fit_kind kind = CONSTANT; kind <= FACTOR; kind++)
        for (int axis = p->shape.ndim - 1; axis >= 0; axis--)
            if (write_fit(p, kind, axis)) return;
    p->finding[used] = 0;
}

/* ------------------------------------------------------------------ all together --------------- */

typedef enum { RIGHT, WRONG, UNKNOWN } input_state;

static input_state state_of(const input_view *p)
{
    return p->wrongs ? WRONG : 2 * p->unknown > p->count ? UNKNOWN : RIGHT;
}

/* "q, k are wrong": the names of those in this state, or, of the wrong ones, with this finding. */
static void write_names(char *text, int inputs, const input_view *p, input_state state,
                        const char *finding)
{
    static const char *const words[] = {"right", "wrong", "not known"};
    int found = 0;
    for (int i = 0; i < inputs; i++) {
        if (state_of(&p[i]) != state || (finding && strcmp(p[i].finding, finding) != 0)) continue;
        const char *before = finding ? "\n" : *text ? ", " : "";
        if (++found <= 8) add_text(text, "%s%.30s", found > 1 ? ", " : before, p[i].name);
    }
    if (found > 8) add_text(text, " and %d more", found - 8);
    if (found && !finding) add_text(text, " %s %s", found > 1 ? "are" : "is", words[state]);
}

/* Are some of these the sizes that can be told apart? */
static bool sizes_are_good(const at_gradcheck_size *s)
{
    bool good = false;
    for (; s && s->name; s++) good = good || (strcmp(s->name, "D") == 0 && s->value == 5);
    return good;
}

void at_diagnose(const at_elements *all, char text[ATTIC_DIAGNOSIS])
{
    const at_gradcheck_part whole[] = {{.name = "x", .count = all->count}, {0}};
    const at_gradcheck_part *parts = all->parts ? all->parts : whole;
    number_list numbers = {0};
    input_view p[MOST_INPUTS];
    int inputs = 0, first = -1;
    bool ambiguous = false, alike = true;
    ptrdiff_t start = 0;
    collect_numbers(all, parts, &numbers);
    for (; parts->name && inputs < MOST_INPUTS; start += parts++->count)
        if (parts->count > 0) p[inputs++] = view_of(all, parts, start);
    for (int i = 0; i < inputs; i++) {
        if (state_of(&p[i]) != WRONG) continue;
        write_finding(&p[i], &numbers, &ambiguous);
        if (first < 0) first = i;
        alike = alike && strcmp(p[i].finding, p[first].finding) == 0;
    }
    *text = 0;
    if (first < 0) return;
    for (int state = 0; state < 3; state++)
        write_names(text, inputs, p, (input_state[]){WRONG, RIGHT, UNKNOWN}[state], NULL);
    if (parts->name) add_text(text, "; these are the first %d inputs", inputs);
    for (int i = first; i < inputs; i++) {
        int same = 0; /* the first with this finding */
        while (strcmp(p[same].finding, p[i].finding) != 0) same++;
        if (same < i || !*p[i].finding) continue;
        if (!alike) write_names(text, inputs, p, WRONG, p[i].finding);
        add_text(text, ": %s", p[i].finding);
    }
    if (ambiguous && !sizes_are_good(all->sizes))
        add_text(text, "\nD = 5, Dv = 7, T = 11, N = 13, H = 6, G = 2 would tell these apart");
}
