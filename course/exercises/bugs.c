/* bugs.c -- E8: which mistake is in which backward, and does the check that is named show it?
 *
 * The runner calls every check of the submission on the right backward and on all that are planted, see
 * runner.c.  A check is green if it returns at most 1e-6. */
#include "bugs.h"
#include "verdict.h"
#include "exercise.h"
#include "grading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double green = 1e-6;

static const mistake of_bug[BUGS] = {
    [DV_FROM_P] = MISTAKE_DV_FROM_P,
    [DV_LAST] = MISTAKE_DV_LAST,
    [DV_NOT_TRANSPOSED] = MISTAKE_DV_NOT_TRANSPOSED,
    [DROPOUT_FORGOTTEN] = MISTAKE_DROPOUT_FORGOTTEN,
    [DROPOUT_UNSCALED] = MISTAKE_DROPOUT_UNSCALED,
    [DROPOUT_TWICE] = MISTAKE_DROPOUT_TWICE,
    [NO_DELTA] = MISTAKE_NO_DELTA,
    [DELTA_OF_ONES] = MISTAKE_DELTA_OF_ONES,
    [DELTA_MEAN] = MISTAKE_DELTA_MEAN,
    [DELTA_FROM_A] = MISTAKE_DELTA_FROM_A,
    [DELTA_ROW_BEFORE] = MISTAKE_DELTA_ROW_BEFORE,
    [DELTA_NOT_COMPLETE] = MISTAKE_DELTA_NOT_COMPLETE,
    [DELTA_ADDED] = MISTAKE_DELTA_ADDED,
    [DIAGONAL] = MISTAKE_DIAGONAL,
    [NO_P] = MISTAKE_NO_P,
    [SIGN] = MISTAKE_SIGN,
    [DS_FROM_A] = MISTAKE_DS_FROM_A,
    [KEY_FEWER] = MISTAKE_KEY_FEWER,
    [NO_SCALE] = MISTAKE_NO_SCALE,
    [NO_SCALE_IN_DK] = MISTAKE_NO_SCALE_DK,
    [SCALE_TWICE] = MISTAKE_SCALE_TWICE,
    [DQ_LAST] = MISTAKE_DQ_LAST,
    [DQ_TRANSPOSED] = MISTAKE_DQ_TRANSPOSED,
    [DK_LAST] = MISTAKE_DK_LAST,
    [DK_NOT_TRANSPOSED] = MISTAKE_DK_NOT_TRANSPOSED,
};

/* Their names in exercise.h, which are what goes into found[] */
#define NAME(b) [b] = #b
static const char *const bug_names[BUGS] = {NAME(DV_FROM_P),
                                            NAME(DV_LAST),
                                            NAME(DV_NOT_TRANSPOSED),
                                            NAME(DROPOUT_FORGOTTEN),
                                            NAME(DROPOUT_UNSCALED),
                                            NAME(DROPOUT_TWICE),
                                            NAME(NO_DELTA),
                                            NAME(DELTA_OF_ONES),
                                            NAME(DELTA_MEAN),
                                            NAME(DELTA_FROM_A),
                                            NAME(DELTA_ROW_BEFORE),
                                            NAME(DELTA_NOT_COMPLETE),
                                            NAME(DELTA_ADDED),
                                            NAME(DIAGONAL),
                                            NAME(NO_P),
                                            NAME(SIGN),
                                            NAME(DS_FROM_A),
                                            NAME(KEY_FEWER),
                                            NAME(NO_SCALE),
                                            NAME(NO_SCALE_IN_DK),
                                            NAME(SCALE_TWICE),
                                            NAME(DQ_LAST),
                                            NAME(DQ_TRANSPOSED),
                                            NAME(DK_LAST),
                                            NAME(DK_NOT_TRANSPOSED)};
#undef NAME

/* Ten groups of mistakes, as they follow each other in exercise.h; the number in each, and the one of it that is planted
 * in what is published. */
static const struct {
    int size;
    bug published;
} groups[PLANTED] = {{3, DV_FROM_P},        {3, DROPOUT_UNSCALED}, {3, DELTA_OF_ONES},
                     {3, DELTA_ROW_BEFORE}, {2, DIAGONAL},         {2, SIGN},
                     {2, KEY_FEWER},        {3, NO_SCALE_IN_DK},   {2, DQ_LAST},
                     {2, DK_NOT_TRANSPOSED}};

/* One of each group, in an order that is drawn: from the ticket; without one, always the same ten and the same order.
 * Who reads this does not know which is which. */
static void plant(uint64_t ticket, bug planted[PLANTED])
{
    grading drawn = {.state = ticket ? ticket : 8};
    for (int b = 0, first = 1; b < PLANTED; first += groups[b++].size) {
        const bug one = ticket ? (bug)draw_size(&drawn, first, first + groups[b].size - 1)
                               : groups[b].published;
        const int other = draw_size(&drawn, 0, b);
        if (other < b) planted[b] = planted[other];
        planted[other] = one;
    }
}

void print_planted(uint64_t ticket)
{
    bug planted[PLANTED];
    plant(ticket, planted);
    for (int b = 0; b < PLANTED; b++)
        printf("%d %s: %s\n", b, bug_names[planted[b]], mistakes_texts[of_bug[planted[b]]].name);
}

/* What a check is run on: the right backward, those with a mistake, and the right one once more, of the
 * problem without a mask, and without dropout */
enum { RUNS = 1 + PLANTED + 2, NO_MASK = 1 + PLANTED, NO_DROPOUT };

/* What the runner answered */
typedef struct {
    const steps *a;
    int checks;
    char name[MAX_CHECKS][CHECK_NAME];
    bool blank[MAX_CHECKS]; /* it is not written yet */
    double value[MAX_CHECKS][RUNS];
    mistake planted[PLANTED];
    char hint[PLANTED][HINTS][300];
    const char *hints[PLANTED][HINTS];
} bugs;

static bool is_green(double value)
{
    return fabs(value) <= green; /* NaN is not */
}

/* "a" (0.3), "b" (4): the checks that are red for planted backward b and green for the right one */
static void say_red(writer *w, const bugs *x, int b)
{
    int n = 0, written = 0;
    for (int k = 0; k < x->checks; k++) {
        written += !x->blank[k];
        if (!is_green(x->value[k][0]) || is_green(x->value[k][1 + b]) || x->blank[k]) continue;
        say(w, "%s\"%s\" (%.2g)", n++ ? ", " : "; red for it: ", x->name[k], x->value[k][1 + b]);
    }
    if (n == 0 && written > 0) say(w, "; none of your checks is red for it");
}

/* "a" (0.3), "b" (0.2): the checks that are red for the right backward, and of the first what it may be */
static int say_red_for_right(writer *w, const bugs *x)
{
    int n = 0, first = 0;
    for (int k = 0; k < x->checks; k++) {
        const double right = x->value[k][0];
        if (x->blank[k] || is_green(right)) continue;
        if (n++ == 0) first = k;
        say(w, "%s\"%s\" (%.3g)", n > 1 ? ", " : "", x->name[k],
            isnan(right) ? fabs(right) : right);
    }
    if (n == 0) return 0;
    say(w, " %s red for the right backward, and left out below", n > 1 ? "are" : "is");
    const bool mask = is_green(x->value[first][NO_MASK]),
               dropout = is_green(x->value[first][NO_DROPOUT]);
    if (mask || dropout)
        say(w, ".  Without %s \"%s\" is green: %s",
            mask && dropout ? "a mask, or without dropout,"
            : mask          ? "a mask"
                            : "dropout",
            x->name[first],
            mask ? "what does it read where keep is 0?" : "where does z belong in its formula?");
    return n;
}

static void grade_checks(grading *g, const script *s, const bugs *x)
{
    grade *q = add_grade(g, s, s->calls - 1);
    if (!q) return;
    writer w = {q->text, sizeof q->text};
    q->kind = VERDICT_NOT_WRITTEN;
    if (x->checks == 0) say(&w, "there is no check");
    for (int k = 0; k < x->checks && !q->text[0]; k++) {
        double right;
        if (!x->blank[k]) continue;
        set_bits(&right, nan_unwritten);
        grade_nan(g, q, 1, &right, s->call[1 + k].blanks, x->name[k]);
        const size_t n = strlen(q->text);
        snprintf(q->text + n, sizeof q->text - n, ", in \"%s\"", x->name[k]);
    }
    if (q->text[0]) {
        char red[500];
        writer w_red = {red, sizeof red};
        const size_t n = strlen(q->text);
        if (say_red_for_right(&w_red, x)) snprintf(q->text + n, sizeof q->text - n, "; %s", red);
        return;
    }
    q->kind = say_red_for_right(&w, x) ? VERDICT_WRONG : VERDICT_EXACT;
    if (q->text[0]) return;
    say(&w,
        x->checks == 1 ? "it is green for the right backward"
                       : "all %d are green for the right backward",
        x->checks);
}

/* The cell in which two backwards differ most, of the first quantity in which they differ */
static void say_difference(grade *q, const steps *mine, const steps *planted, int is)
{
    writer w = {q->text, sizeof q->text};
    for (steps_name what = STEPS_DV; what <= STEPS_DK; what++) {
        ptrdiff_t most = 0;
        const double *x = mine->at[what], *y = planted->at[what];
        for (ptrdiff_t e = 1; e < steps_size(mine, what); e++)
            if (fabs(x[e] - y[e]) > fabs(x[most] - y[most])) most = e;
        if (what == STEPS_DA || !(fabs(x[most] - y[most]) > green)) continue;
        const int columns = mine->dim[what][2],
                  cell[3] = {0, (int)most / columns, (int)most % columns};
        say(&w, "it is not \"%s\" (%s): with that ", mistakes_texts[of_bug[is]].name,
            bug_names[is]);
        cell_name(&w, mine, what, cell);
        say(&w, " would be %.4g, but this backward gives %.4g", x[most] == 0 ? 0 : x[most],
            y[most] == 0 ? 0 : y[most]);
        return;
    }
}

static void set_hints(grade *q, bugs *x, int b)
{
    const mistake m = x->planted[b];
    const steps_name first = mistakes_first(mistakes_only(m));
    char(*hint)[300] = x->hint[b];
    snprintf(hint[0], 300, "Step %d, %s: the first quantity that is wrong is %s.",
             steps_texts[first].step, steps_names[steps_texts[first].step],
             steps_texts[first].name);
    snprintf(hint[1], 300, "Compare it with its formula, %s, from what this backward gives.  %s",
             steps_texts[first].formula, mistakes_texts[m].hint);
    snprintf(hint[2], 300, "%s   {____, \"a check of %s\"}", mistakes_texts[m].sentence,
             steps_texts[first].name);
    for (int level = 0; level < HINTS; level++) x->hints[b][level] = hint[level];
    q->hint = x->hints[b];
}

/* is: the mistake that was named; by: the check */
static void grade_finding(grading *g, const script *s, bugs *x, int b, int is, int by)
{
    grade *q = add_grade(g, s, s->calls - 1);
    if (!q) return;
    writer w = {q->text, sizeof q->text};
    set_hints(q, x, b);
    q->kind = VERDICT_WRONG;
    if (is <= NOT_FOUND || is >= BUGS) {
        q->kind = VERDICT_NOT_WRITTEN;
        say(&w, "found[%d] names no mistake", b);
        say_red(&w, x, b);
    } else if (by < 0) {
        say(&w, "found[%d] names no check that is in checks", b);
        say_red(&w, x, b);
    } else if (x->blank[by]) {
        q->kind = VERDICT_NOT_WRITTEN;
        say(&w, "\"%s\" is not written yet", x->name[by]);
    } else if (!is_green(x->value[by][0])) {
        say(&w, "\"%s\" is red for the right backward as well: it shows nothing", x->name[by]);
    } else if (is_green(x->value[by][1 + b])) {
        say(&w, "\"%s\" is green for this backward (%.1g), and cannot have shown a mistake",
            x->name[by], fabs(x->value[by][1 + b]));
        say_red(&w, x, b);
    } else if (of_bug[is] != x->planted[b]) {
        steps *mine = need(steps_copy(x->a)), *planted = need(steps_copy(x->a));
        need(mistakes_backward(mine, of_bug[is]) && mistakes_backward(planted, x->planted[b])
                 ? q
                 : NULL);
        say_difference(q, mine, planted, is);
        steps_close(mine);
        steps_close(planted);
    } else {
        q->kind = VERDICT_EXACT;
        say(&w, "\"%s\" (%s), shown by \"%s\" (%.2g)", mistakes_texts[of_bug[is]].name,
            bug_names[is], x->name[by], x->value[by][1 + b]);
    }
}

/* Does this mistake change this quantity so much that nobody can overlook it? */
static bool is_changed(const steps *a, mistake m, steps_name what)
{
    double most = 0;
    steps *b = need(steps_copy(a));
    need(mistakes_backward(b, m) ? b : NULL);
    for (ptrdiff_t e = 0; e < steps_size(a, what); e++)
        most = fmax(most, fabs(a->at[what][e] - b->at[what][e]));
    steps_close(b);
    return most > 0.001;
}

/* Is each mistake seen in the step where it is made?  A key left out, that dropout left out, is not. */
static bool all_are_changed(const steps *a, const mistake planted[PLANTED])
{
    for (int b = 0; b < PLANTED; b++)
        if (!is_changed(a, planted[b], mistakes_first(mistakes_only(planted[b])))) return false;
    return is_changed(a, MISTAKE_KEY_FEWER, STEPS_DP) && is_changed(a, MISTAKE_KEY_FEWER, STEPS_DS);
}

/* Is a key masked and not dropped?  Else nobody sees that it is read. */
static bool has_masked_key(const steps *a)
{
    for (ptrdiff_t e = 0; e < steps_size(a, STEPS_KEEP); e++)
        if (a->at[STEPS_KEEP][e] == 0 && a->at[STEPS_Z][e] > 0) return true;
    return false;
}

static steps *draw_problem_of_bugs(grading *g, const mistake planted[PLANTED])
{
    mistake_set asked = mistakes_only(MISTAKE_NONE);
    uint64_t in = 0;
    for (int k = 1; k < BUGS; k++) asked.has[of_bug[k]] = true;
    for (steps_name k = STEPS_DV; k <= STEPS_DK; k++) in |= (uint64_t)1 << k;
    for (int n = 0; n < 100; n++) {
        steps *a = need(mistakes_draw(
            next_number(g), &(mistakes_features){.mask = true, .dropout = true, .most = 6}, asked,
            in));
        if (a->p.H == 1 && a->p.T >= 3 && a->p.T != a->p.N && has_masked_key(a) &&
            all_are_changed(a, planted))
            return a;
        steps_close(a);
    }
    fprintf(stderr, "grade: no problem was found for SEED=%llu\n", (unsigned long long)g->seed);
    exit(1);
}

/* The backwards in an order that no check can know: place k holds number order[k], 0 is the right one. */
static void draw_order(grading *g, int order[RUNS])
{
    for (int k = 0; k < RUNS; k++) {
        const int other = draw_size(g, 0, k);
        order[k] = k;
        order[k] = order[other];
        order[other] = k;
    }
}

static int run_of(const bugs *x, int k)
{
    return k == 0            ? (int)MISTAKE_NONE
           : k == NO_MASK    ? WITHOUT_MASK
           : k == NO_DROPOUT ? WITHOUT_DROPOUT
                             : (int)x->planted[k - 1];
}

void grade_bugs(grading *g)
{
    script s = {.calls = 0};
    static bugs x; /* its hints are printed later */
    enum { ARGUMENTS = 7 + BUG_ARRAYS };
    bug planted_bugs[PLANTED];
    x = (bugs){.checks = 0};
    plant(g->ticket, planted_bugs);
    for (int b = 0; b < PLANTED; b++) x.planted[b] = of_bug[planted_bugs[b]];
    steps *a = draw_problem_of_bugs(g, x.planted);
    x.a = a;
    double arguments[ARGUMENTS] = {a->p.T, a->p.N, a->p.D, a->p.Dv, a->p.scale, a->p.dropout};
    double nothing[1 + MAX_CHECKS * CHECK_NAME + 2 * PLANTED] = {0}, mistakes[RUNS] = {0};
    int order[MAX_CHECKS][RUNS], values[MAX_CHECKS];
    for (int k = 0; k < BUG_ARRAYS; k++)
        arguments[6 + k] = script_buffer(&s, steps_texts[bug_arrays[k]].name,
                                         steps_size(a, bug_arrays[k]), a->at[bug_arrays[k]]);
    const int findings = script_buffer(&s, "found", sizeof nothing / sizeof *nothing, nothing);
    arguments[6 + BUG_ARRAYS] = findings;
    script_call(&s, CALL_FINDINGS, ARGUMENTS, arguments, 1, &findings);
    for (int k = 0; k < MAX_CHECKS; k++) {
        draw_order(g, order[k]);
        for (int b = 0; b < RUNS; b++) mistakes[b] = run_of(&x, order[k][b]);
        const int planted = script_buffer(&s, "planted", RUNS, mistakes);
        values[k] = script_buffer(&s, "values", RUNS, nothing);
        script_call(&s, CALL_CHECK, 3, (double[]){k, planted, values[k]}, 1, &values[k]);
    }
    for (int b = 0; b <= PLANTED; b++) mistakes[b] = run_of(&x, b);
    const int planted = script_buffer(&s, "planted", 1 + PLANTED, mistakes);
    script_call(&s, CALL_CHECK, 3, (double[]){-1, planted, values[0]}, 0, NULL);
    snprintf(g->sizes, sizeof g->sizes, "T = %d, N = %d, D = %d, Dv = %d, c = %.4g, p = %.4g",
             a->p.T, a->p.N, a->p.D, a->p.Dv, a->c, a->p.dropout);
    run_calls(g, &s);
    const double *told = s.buffer[findings].data;
    x.checks = s.answered > 0 ? (int)*told++ : 0;
    for (int k = 0; k < MAX_CHECKS; k++) {
        x.blank[k] = s.call[1 + k].blanks != 0;
        for (int b = 0; b < RUNS; b++) x.value[k][order[k][b]] = s.buffer[values[k]].data[b];
        for (int c = 0; c < CHECK_NAME; c++) x.name[k][c] = (char)*told++;
    }
    grade_checks(g, &s, &x);
    for (int b = 0; b < PLANTED; b++, told += 2)
        grade_finding(g, &s, &x, b, (int)told[0], (int)told[1]);
    x.a = NULL;
    close_script(&s);
    steps_close(a);
}
