/* test_planted.c -- what is said of 168 mistakes that are planted in backwards of float (planted.c).
 *
 *     ATTIC_PLANTED=all CK_DEFAULT_TIMEOUT=0 make test SUITE=gradcheck_planted
 *
 * checks all of them in float, in two minutes; with ATTIC_PLANTED=text it prints what is said.
 *
 * The diagnosis was written with the labels of even number in view.  Those of odd number were read when
 * it was done: 70 of 83 had a right input or the words in the first line, 54 of 56 were named as their
 * labels say, 2 otherwise (2 as "2 or G", where G is 2; rows/R as (R - 1)/R, where that is the same). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradcheck/checker.h"
#include "gradcheck/planted.h"
#include "kernels/random.h"
#include "test.h"

enum { MOST = 1024 };

typedef struct { /* one op at one x */
    const planted_op *op;
    float x[MOST], dy[MOST];
    double wide[MOST]; /* x */
    double n[MOST], bound[MOST];
} evidence;

static void keep_n(const at_gradcheck_element *e, void *ctx)
{
    evidence *v = ctx;
    v->n[e->i] = e->n;
    v->bound[e->i] = e->bound;
}

/* The check of this mistake in float; or, of what is right, by the twins in double, which keeps n. */
static at_gradcheck_report check_planted(evidence *v, const planted_op *op, int mistake)
{
    planted with = {mistake, op->sizes};
    const ptrdiff_t n = at_planted_elements(op);
    const at_gradcheck_options options = {
        .parts = op->part, .sizes = op->size, .each = mistake ? NULL : keep_n, .each_ctx = v};
    v->op = op;
    at_draw_planted(op, 1, v->x);
    for (ptrdiff_t i = 0; i < n; i++) v->wide[i] = (double)v->x[i];
    for (ptrdiff_t k = 0; k < op->m; k++) { /* as the check draws it */
        double unit = 2 * at_random_unit((at_stream){0, 0}, (uint64_t)k) - 1;
        v->dy[k] = (float)(unit < 0 ? unit - 0.5 : unit + 0.5);
    }
    return mistake
               ? at_gradcheck_fn_f32(op->forward, op->back, n, op->m, v->x, &with, options)
               : at_gradcheck_fn(op->forward_f64, op->back_f64, n, op->m, v->wide, &with, options);
}

/* What the check would say, by this n: a check in float of all elements of attention takes seconds. */
static void diagnose(const evidence *v, int mistake, char *text)
{
    static float first[MOST], dx[MOST];
    static double a[MOST], of_first[MOST];
    static bool wrong[MOST], known[MOST];
    planted with = {mistake, v->op->sizes};
    const ptrdiff_t count = at_planted_elements(v->op);
    double largest = 0;
    for (ptrdiff_t k = 0; k < v->op->m; k++) first[k] = v->dy[0];
    v->op->back(v->x, first, dx, &with);
    for (ptrdiff_t i = 0; i < count; i++) of_first[i] = (double)dx[i];
    v->op->back(v->x, v->dy, dx, &with);
    for (ptrdiff_t i = 0; i < count; i++) largest = fmax(largest, fabs(v->n[i]));
    for (ptrdiff_t i = 0; i < count; i++) {
        a[i] = (double)dx[i];
        known[i] = true;
        wrong[i] = fabs(a[i] - v->n[i]) > 1e-4 * fmax(fabs(a[i]), largest / 100) + v->bound[i];
    }
    const at_elements all = {.count = count,
                             .x = v->wide,
                             .a = a,
                             .n = v->n,
                             .bound = v->bound,
                             .a_of_first = v->op->m > 1 ? of_first : NULL,
                             .wrong = wrong,
                             .known = known,
                             .parts = v->op->part,
                             .sizes = v->op->size};
    at_diagnose(&all, text);
}

/* "q, k are wrong" for "q k" */
static bool says_inputs(const char *text, const char *wrong)
{
    char start[80] = "";
    int names = 0;
    for (const char *s = wrong; *s; s++) {
        size_t used = strlen(start);
        names += *s == ' ';
        snprintf(start + used, sizeof start - used, *s == ' ' ? ", " : "%c", *s);
    }
    snprintf(start + strlen(start), sizeof start - strlen(start),
             names ? " are wrong" : " is wrong");
    return strncmp(text, start, strlen(start)) == 0;
}

/* Is something named, on some line, that is not what the label says?  The number of a factor alone is true. */
static bool misnames(const char *text, const char *words)
{
    static const char *const terms[] = {"all 0",
                                        "should be 0",
                                        "dy[0]",
                                        "transposed",
                                        "reversed",
                                        "shifted",
                                        "in pairs",
                                        "same along",
                                        "multiple of x",
                                        "b x + c",
                                        " times the derivative"};
    const int count = sizeof terms / sizeof *terms;
    for (const char *end; *text; text = end + (*end != 0)) {
        char line[ATTIC_DIAGNOSIS];
        end = text + strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
        if (*words && strstr(line, words)) continue;
        for (int i = 0; i < count; i++) {
            bool number = i == count - 1 && *words && !strstr(line, " = ");
            if (strstr(line, terms[i]) && !strstr(words, terms[i]) && !number) return true;
        }
    }
    return false;
}

typedef struct {
    int cases;
    int inputs;       /* the right ones are called wrong */
    int pinned;       /* the first line says a right input, or the words */
    int words, named; /* labels that have words; the words are said */
    int misnamed;
} planted_tally;

static void judge(const planted_op *op, const planted_label *label, const char *text,
                  planted_tally *t)
{
    char line[ATTIC_DIAGNOSIS];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    const bool words = *label->words != 0, named = words && strstr(text, label->words);
    const bool inputs = says_inputs(text, label->wrong), missed = misnames(text, label->words);
    const bool pinned = inputs && (strstr(line, "right") || (words && strstr(line, label->words)));
    t->cases++;
    t->inputs += inputs;
    t->pinned += pinned;
    t->words += words;
    t->named += named;
    t->misnamed += missed;
    const char *wanted = getenv("ATTIC_PLANTED");
    if (wanted && strcmp(wanted, "text") == 0)
        printf("\n%s %d: %s%s%s%s%s\n%s\n", op->name, label->mistake, label->what,
               inputs ? "" : " (OTHER INPUTS)", pinned ? "" : " (not in the first line)",
               missed ? " (MISNAMED)" : "", words && !named ? " (not named)" : "", text);
}

/* checks: the whole check in float, of ops that are small enough. */
static void judge_half(int half, bool checks, ptrdiff_t most)
{
    static evidence v;
    planted_tally t = {0};
    for (int i = half; i < planted_count; i += 2) {
        const planted_label *label = &planted_labels[i];
        const planted_op *op = at_planted_op(label->op);
        char text[ATTIC_DIAGNOSIS];
        if (at_planted_elements(op) > most) continue;
        if (checks) {
            at_gradcheck_report r = check_planted(&v, op, label->mistake);
            ck_assert_msg(r.verdict == ATTIC_WRONG, "%s %d: %s", op->name, label->mistake,
                          r.reason);
            memcpy(text, r.diagnosis, sizeof text);
        } else {
            if (v.op != op) check_planted(&v, op, 0);
            diagnose(&v, label->mistake, text);
        }
        judge(op, label, text, &t);
    }
    if (getenv("ATTIC_PLANTED"))
        printf(
            "\nhalf %d%s: %d cases, the wrong inputs in %d, in the first line %d, named %d of %d, "
            "misnamed %d\n",
            half, checks ? ", checked in float" : "", t.cases, t.inputs, t.pinned, t.named, t.words,
            t.misnamed);
    ck_assert_int_ge(100 * t.pinned, 60 * t.cases);
    ck_assert_int_le(100 * t.misnamed, 3 * t.cases);
    ck_assert_int_ge(100 * t.named, 80 * t.words);
}

START_TEST(mistakes_of_even_number_are_named)
{
    judge_half(0, false, MOST);
}
END_TEST

START_TEST(mistakes_of_odd_number_are_named)
{
    judge_half(1, false, MOST);
}
END_TEST

START_TEST(a_check_in_float_names_them)
{
#ifdef ATTIC_SLOW_MODE
    const ptrdiff_t small = 50;
#else
    const ptrdiff_t small = 200;
#endif
    for (int half = 0; half < 2; half++)
        judge_half(half, true, getenv("ATTIC_PLANTED") ? MOST : small);
}
END_TEST

START_TEST(without_a_mistake_they_are_right)
{
    static evidence v;
    char text[ATTIC_DIAGNOSIS];
    for (int i = 0; i < planted_op_count; i++) {
        at_gradcheck_report r = check_planted(&v, &planted_ops[i], 0);
        ck_assert_msg(r.verdict == ATTIC_PASS, "%s: %s", planted_ops[i].name, r.reason);
        diagnose(&v, 0, text);
        ck_assert_msg(!*text, "%s: %s", planted_ops[i].name, text);
    }
}
END_TEST

SUITE(gradcheck_planted, mistakes_of_even_number_are_named, mistakes_of_odd_number_are_named,
      a_check_in_float_names_them, without_a_mistake_they_are_right)
