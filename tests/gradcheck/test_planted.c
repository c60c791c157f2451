/* test_planted.c -- what is said of 167 mistakes that are planted in backwards of float (planted.c).
 *
 *     ATTIC_PLANTED=1 make test SUITE=gradcheck_planted
 *
 * prints all that is said.  The diagnosis was written with the labels of even number in view.  Those of odd
 * number were read when it was done: 70 of 83 had a right input or the words in the first line, 54 of 56 were
 * named as their labels say, 2 otherwise (2 as "2 or G", where G is 2; rows/R as (R - 1)/R, where that is the
 * same). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradcheck/checker.h"
#include "gradcheck/planted.h"
#include "kernels/random.h"
#include "test.h"

enum { MOST = 1024 };

typedef struct { /* all that is known of one op at one x */
    float x[MOST], dy[MOST], first[MOST], a[MOST];
    double n[MOST], largest;
} evidence;

/* n by differences of the twin in double. */
static void measure(const planted_op *op, uint64_t seed, evidence *v)
{
    planted right = {0, op->sizes};
    double x[MOST], low[MOST], high[MOST];
    const double h = 1e-5;
    ptrdiff_t n = at_planted_elements(op);
    at_draw_planted(op, seed, v->x);
    for (ptrdiff_t k = 0; k < op->m; k++) {
        double unit = 2 * at_random_unit((at_stream){seed, 8}, (uint64_t)k) - 1;
        v->dy[k] = (float)(unit < 0 ? unit - 0.5 : unit + 0.5);
        v->first[k] = v->dy[0];
    }
    v->largest = 0;
    for (ptrdiff_t i = 0; i < n; i++) x[i] = (double)v->x[i];
    for (ptrdiff_t i = 0; i < n; i++) {
        x[i] += h;
        op->forward_f64(x, high, &right);
        x[i] -= 2 * h;
        op->forward_f64(x, low, &right);
        x[i] = (double)v->x[i];
        v->n[i] = 0;
        for (ptrdiff_t k = 0; k < op->m; k++) v->n[i] += (double)v->dy[k] * (high[k] - low[k]);
        v->n[i] /= 2 * h;
        v->largest = fmax(v->largest, fabs(v->n[i]));
    }
}

/* noise: of n, by the largest */
static void diagnose(const planted_op *op, int mistake, evidence *v, double noise, char *text)
{
    static double x[MOST], a[MOST], of_first[MOST], n[MOST], bound[MOST];
    static bool wrong[MOST], known[MOST];
    planted with = {mistake, op->sizes};
    ptrdiff_t count = at_planted_elements(op);
    op->back(v->x, v->first, v->a, &with);
    for (ptrdiff_t i = 0; i < count; i++) of_first[i] = (double)v->a[i];
    op->back(v->x, v->dy, v->a, &with);
    for (ptrdiff_t i = 0; i < count; i++) {
        double draw = at_random_unit((at_stream){3, 9}, (uint64_t)i) - 0.5;
        bound[i] = (noise + 1e-7) * v->largest;
        x[i] = (double)v->x[i];
        a[i] = (double)v->a[i];
        n[i] = v->n[i] + draw * noise * v->largest;
        double scale = fmax(fmax(fabs(a[i]), fabs(n[i])), v->largest / 100);
        wrong[i] = fabs(a[i] - n[i]) > 1e-4 * scale + bound[i];
        known[i] = bound[i] <= 0.01 * scale;
    }
    at_elements all = {count, x,     a,        n,       bound, op->m > 1 ? of_first : NULL,
                       wrong, known, op->part, op->size};
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
    if (getenv("ATTIC_PLANTED"))
        printf("\n%s %d: %s%s%s%s%s\n%s\n", op->name, label->mistake, label->what,
               inputs ? "" : " (OTHER INPUTS)", pinned ? "" : " (not in the first line)",
               missed ? " (MISNAMED)" : "", words && !named ? " (not named)" : "", text);
}

/* noise: of n, by the largest n */
static void judge_half(int half, uint64_t seed, double noise)
{
    static evidence v;
    const char *last = "";
    char text[ATTIC_DIAGNOSIS];
    planted_tally t = {0};
    for (int i = half; i < planted_count; i += 2) {
        const planted_label *label = &planted_labels[i];
        const planted_op *op = at_planted_op(label->op);
        if (strcmp(last, label->op) != 0) measure(op, seed, &v);
        last = label->op;
        diagnose(op, label->mistake, &v, noise, text);
        judge(op, label, text, &t);
    }
    if (getenv("ATTIC_PLANTED"))
        printf("\nhalf %d, noise %g: %d cases, the wrong inputs in %d, in the first line %d, named "
               "%d of %d, "
               "misnamed %d\n",
               half, noise, t.cases, t.inputs, t.pinned, t.named, t.words, t.misnamed);
    ck_assert_int_ge(t.cases, 80);
    ck_assert_int_ge(100 * t.pinned, 60 * t.cases);
    ck_assert_int_le(100 * t.misnamed, 3 * t.cases);
    ck_assert_int_ge(100 * t.named, 80 * t.words);
}

START_TEST(even_mistakes_are_named)
{
    judge_half(0, 1, 0);
    judge_half(0, 2, 1e-3);
}
END_TEST

START_TEST(odd_mistakes_are_named)
{
    judge_half(1, 1, 0);
    judge_half(1, 2, 1e-3);
}
END_TEST

START_TEST(without_a_mistake_the_backwards_are_right)
{
    static evidence v;
    static double x[MOST], dy[MOST], dx[MOST];
    char text[ATTIC_DIAGNOSIS];
    for (int i = 0; i < planted_op_count; i++) {
        const planted_op *op = &planted_ops[i];
        planted right = {0, op->sizes};
        ptrdiff_t n = at_planted_elements(op);
        measure(op, 1, &v);
        for (ptrdiff_t e = 0; e < n; e++) x[e] = (double)v.x[e];
        for (ptrdiff_t k = 0; k < op->m; k++) dy[k] = (double)v.dy[k];
        op->back_f64(x, dy, dx, &right);
        for (ptrdiff_t e = 0; e < n; e++)
            ck_assert_msg(fabs(dx[e] - v.n[e]) <= 1e-7 * v.largest, "%s [%td]: %g, not %g",
                          op->name, e, dx[e], v.n[e]);
        diagnose(op, 0, &v, 0, text);
        ck_assert_msg(!*text, "%s: %s", op->name, text);
    }
}
END_TEST

SUITE(gradcheck_planted, even_mistakes_are_named, odd_mistakes_are_named,
      without_a_mistake_the_backwards_are_right)
