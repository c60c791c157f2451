/* test_judged.c -- files of ten public bugs and of right answers are judged as
 * tests/course/judged.csv says.
 *
 *     set      what is tuned (tolerances, texts, names) was tuned on the seen half alone
 *     found    of a bug: the mistake that is named, behind @ where it is located, empty if neither
 *
 * A bug has no other name than that on any of its seeds, and a right answer none. */
#include "course/half_answers.h"
#include "course/public_bugs.h"
#include "course/right_answers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attic_op.h"
#include "test.h"

typedef struct {
    char set[8], what[8], name[64], found[64];
    int first, last;
} judged_row;

static judged_row rows[64];

static int read_rows(void)
{
    FILE *f = fopen("tests/course/judged.csv", "r");
    char line[256];
    int n = 0;
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
    while (n < 64 && fgets(line, sizeof line, f)) {
        judged_row *r = &rows[n++];
        *r = (judged_row){.last = -1};
        int fields = sscanf(line, "%7[^,],%7[^,],%63[^,],%d,%d,%63[^\n]", r->set, r->what, r->name,
                            &r->first, &r->last, r->found);
        ck_assert_msg(fields >= 5, "%s", line);
    }
    fclose(f);
    return n;
}

static gradients_report judged(const given *g)
{
    gradients_report r;
    const gradients_choice choice = {.layout = g->layout, .corner = CORNER_BOTTOM_RIGHT};
    ck_assert(gradients_judge(&g->file, &choice, &r));
    return r;
}

/* ------------------------------------------------------------------ bugs ----------------------- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void check_bug(const judged_row *row, const gradients_report *r)
{
    const bool located = *row->found == '@';
    bool found = located && (begins(r->look, row->found + 1) || begins(r->instead, row->found + 1));
    ck_assert_msg(r->kind == GRADIENTS_WRONG, "%s: %s", row->name, r->message);
    for (int k = 0; k < GRADIENTS_COUNT; k++) {
        const gradients_one *one = &r->of[k];
        if (located && begins(one->v.where, row->found + 1)) found = true;
        for (int m = 1; m < MISTAKES; m++) {
            if (!one->v.named.has[m]) continue;
            const bool right = strcmp(mistakes_texts[m].name, row->found) == 0;
            ck_assert_msg(right, "%s: %s is named \"%s\"", row->name,
                          steps_texts[gradients_names[k]].name, mistakes_texts[m].name);
            found = true;
        }
    }
    ck_assert_msg(found || !*row->found, "%s: \"%s\" is not found: %s / %s / %s / %s / %s",
                  row->name, row->found, r->of[1].v.where, r->of[2].v.where, r->of[3].v.where,
                  r->look, r->instead);
}

START_TEST(ten_public_bugs_are_named_or_located)
{
    int bugs = 0, found = 0;
    for (int n = read_rows(), k = 0; k < n; k++) {
        const judged_row *row = &rows[k];
        int bug = 0;
        if (strcmp(row->what, "bug") != 0) continue;
        while (bug < PUBLIC_BUGS && strcmp(public_bugs[bug], row->name) != 0) bug++;
        ck_assert_msg(bug < PUBLIC_BUGS, "there is no bug %s", row->name);
        for (int seed = row->first; seed <= row->last; seed++) {
            given *g = public_bug(bug, (uint64_t)seed);
            const gradients_report r = judged(g);
            check_bug(row, &r);
            given_close(g);
        }
        bugs++, found += *row->found != 0;
    }
    ck_assert_int_eq(bugs, 10);
    ck_assert_int_ge(found, 8);
}
END_TEST

/* ------------------------------------------------------------------ right answers -------------- */

static int drawn_size(at_stream dice, uint64_t k, int low, int high)
{
    return low + (int)(at_random_unit(dice, k) * (high - low + 1));
}

static void keep_some(given *g, at_stream dice)
{
    for (int b = 0; b < g->B; b++) {
        steps *a = g->a[b];
        for (ptrdiff_t e = 0; e < steps_size(a, STEPS_KEEP); e++)
            a->at[STEPS_KEEP][e] = at_random_unit(dice, (uint64_t)(1000 * b + e + 100)) < 0.7;
        steps_forward(a, STEPS_R);
    }
}

static void answer(const char *name, int seed, steps *a)
{
    if (strcmp(name, "composed f32") == 0) at_right_answer_f32(a, RIGHT_MATRICES);
    if (strcmp(name, "dO.O f32") == 0) at_right_answer_f32(a, RIGHT_COLUMNS);
    if (strcmp(name, "tiles f32") == 0) at_right_answer_f32(a, RIGHT_TILES);
    if (strcmp(name, "halves") == 0) half_answer(a, seed & 4 ? 8 : 11, seed & 8);
}

/* Causal, masked or neither, in either layout */
static given *right_file(const char *name, int seed)
{
    const at_stream dice = {(uint64_t)seed, 7};
    const bool halves = strcmp(name, "halves") == 0;
    const int most = halves ? 24 : 8, mask = drawn_size(dice, 0, 0, 2);
    const int G = drawn_size(dice, 1, 1, 2);
    const steps_problem p = {.H = G * drawn_size(dice, 2, 1, 3),
                             .G = G,
                             .T = drawn_size(dice, 3, 3, most),
                             .N = drawn_size(dice, 4, 3, most),
                             .D = drawn_size(dice, 5, 2, halves ? 16 : 8),
                             .Dv = drawn_size(dice, 6, 2, halves ? 16 : 8),
                             .softcap = !halves && seed % 8 == 1 ? 2 : 0};
    given *g = given_open((uint64_t)seed, drawn_size(dice, 8, 1, 2), &p);
    if (mask == 1) given_causal(g, p.N - p.T);
    if (mask == 2) keep_some(g, dice);
    for (int b = 0; b < g->B; b++) answer(name, seed, g->a[b]);
    g->layout = drawn_size(dice, 7, LAYOUT_BHTD, LAYOUT_BTHD);
    given_write(g);
    if (!halves) g->file.of[4] = g->file.of[--g->file.n]; /* without O, which only halves compute */
    if (mask == 1) given_number(g, "causal", 1);
    if (mask == 2) given_mask(g);
    if (p.softcap > 0) given_number(g, "softcap", p.softcap);
    return g;
}

/* 500 of 10,000, evenly from both halves; with ATTIC_ANSWERS in the environment all. */
static int answers_step(void)
{
    return getenv("ATTIC_ANSWERS") ? 1 : 20;
}

START_TEST(no_right_answer_is_called_wrong)
{
    double most[2] = {0, 0};
    int answers = 0, in_halves = 0;
    for (int n = read_rows(), k = 0; k < n; k++) {
        const judged_row *row = &rows[k];
        if (strcmp(row->what, "right") != 0) continue;
        for (int seed = row->first; seed <= row->last; seed += answers_step()) {
            given *g = right_file(row->name, seed);
            const gradients_report r = judged(g);
            const bool half = strcmp(r.dtype, "f16") == 0 || strcmp(r.dtype, "bf16") == 0;
            for (int j = 0; j < GRADIENTS_COUNT; j++) {
                ck_assert_msg(r.kind == GRADIENTS_RIGHT, "%s, seed %d, %s: %s %s", row->name, seed,
                              r.dtype, r.message, r.of[j].v.arithmetic);
                if (r.of[j].given)
                    most[half] = fmax(most[half], r.of[j].v.error / (half ? r.unit : 1));
            }
            ck_assert_int_eq(half, strcmp(row->name, "halves") == 0);
            in_halves += half;
            answers++;
            given_close(g);
        }
    }
    if (getenv("ATTIC_ANSWERS"))
        printf("%d answers, %d of them in halves: off by at most %.3g u of these, %.3g\n", answers,
               in_halves, most[1], most[0]);
    ck_assert_int_ge(answers, 10000 / answers_step());
    ck_assert_double_lt(most[0], 1e-6 / 2);
    ck_assert_double_lt(most[1], 8.0 / 2);
    ck_assert_double_gt(most[1], 0.5);
}
END_TEST

SUITE(course_judged, ten_public_bugs_are_named_or_located, no_right_answer_is_called_wrong)
