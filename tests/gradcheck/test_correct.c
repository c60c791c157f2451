/* test_correct.c -- the correct functions are drawn by number, and right.
 *
 *     ATTIC_CORRECT_FUNCTIONS=10000 CK_DEFAULT_TIMEOUT=0 make test SUITE=gradcheck_correct
 *
 * judges so many, in place of 300, and prints how they went.  One of them: make gradcheck-corpus. */
#include "gradcheck/correct_tally.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "gradcheck/correct_kernels.h"
#include "test.h"

START_TEST(the_same_number_is_the_same_function)
{
    for (uint64_t number = 0; number < 300; number++) {
        correct_function p = at_draw_correct(number), q = at_draw_correct(number);
        ck_assert(p.n > 0 && p.n == q.n && p.real == q.real && p.drawn == q.drawn);
        ck_assert(memcmp(p.x, q.x, (size_t)p.n * sizeof *p.x) == 0);
        at_forget_correct(&p);
        at_forget_correct(&q);
    }
}
END_TEST

/* With one of its first ten draws: a wrong backward has none. */
START_TEST(every_family_passes_somewhere)
{
    for (int f = 0; f < at_correct_families(); f++) {
        bool passes = false;
        for (int draw = 0; draw < 10 && !passes; draw++) {
            correct_function p = at_draw_correct((uint64_t)(f + draw * at_correct_families()));
            passes = at_check_correct(&p).verdict == ATTIC_PASS;
            at_forget_correct(&p);
        }
        ck_assert_msg(passes, "%s", at_correct_family(f));
    }
}
END_TEST

/* The largest difference of the two backwards, divided by the element or by a hundredth of the
 * largest element; 0 if all are too small for float. */
static double difference_of_backwards(correct_function *p)
{
    ptrdiff_t n = p->n, m = p->m;
    double *dy = malloc((size_t)(m + n) * sizeof *dy), *dx = dy + m, largest = 0, worst = 0;
    float *x_f32 = malloc((size_t)(2 * n + m) * sizeof *x_f32), *dy_f32 = x_f32 + n,
          *dx_f32 = dy_f32 + m;
    ck_assert(dy && x_f32);
    for (ptrdiff_t i = 0; i < n; i++) x_f32[i] = (float)p->x[i];
    for (ptrdiff_t k = 0; k < m; k++) {
        dy_f32[k] = (float)at_correct_normal(p);
        dy[k] = (double)dy_f32[k];
    }
    at_correct_vjp_f32(x_f32, dy_f32, dx_f32, p);
    at_correct_vjp_f64(p->x, dy, dx, p);
    for (ptrdiff_t i = 0; i < n; i++) largest = fmax(largest, fabs(dx[i]));
    for (ptrdiff_t i = 0; i < n && largest > 1e-30; i++) {
        double error = fabs((double)dx_f32[i] - dx[i]) / fmax(fabs(dx[i]), largest / 100);
        if (error > worst) worst = error; /* (gcc 12 for Arm does not compile fmax here) */
    }
    free(dy);
    free(x_f32);
    return worst;
}

START_TEST(backward_in_float_is_the_one_in_double)
{
    for (uint64_t number = 0; number < 1000; number++) {
        correct_function p = at_draw_correct(number);
        if (p.on_tape < 0 && p.real == ATTIC_F32)
            ck_assert_msg(difference_of_backwards(&p) < 1e-2, "number %d", (int)number);
        at_forget_correct(&p);
    }
}
END_TEST

START_TEST(one_wrong_verdict_or_too_few_that_pass_are_not_right)
{
    correct_tally right = {.drawn = 10, .verdicts[ATTIC_PASS] = 9, .verdicts[ATTIC_VACUOUS] = 1};
    correct_tally wrong = {.drawn = 100, .verdicts[ATTIC_PASS] = 99, .verdicts[ATTIC_WRONG] = 1};
    correct_tally race = {.drawn = 100, .verdicts[ATTIC_PASS] = 99, .verdicts[ATTIC_RACE] = 1};
    correct_tally few = {.drawn = 100, .verdicts[ATTIC_PASS] = 89, .verdicts[ATTIC_VACUOUS] = 11};
    ck_assert(at_tally_is_right(&right));
    ck_assert(!at_tally_is_right(&wrong) && !at_tally_is_right(&race) && !at_tally_is_right(&few));
    ck_assert(!at_tally_is_right(&(correct_tally){0}));
}
END_TEST

START_TEST(no_correct_function_is_wrong_and_nine_of_ten_pass)
{
    const char *wanted = getenv("ATTIC_CORRECT_FUNCTIONS");
    correct_choice c = {.count = 300, .every = true};
    ck_assert_msg(!wanted || read_int(wanted, 1, 1000000, &c.count),
                  "ATTIC_CORRECT_FUNCTIONS is \"%s\", but must be a whole number from 1 to 1000000",
                  wanted);
    correct_tally t = at_tally_correct(c, wanted ? stdout : NULL);
    ck_assert_msg(at_tally_is_right(&t), "of %d, %d are WRONG, %d RACE, %d PASS", t.drawn,
                  t.verdicts[ATTIC_WRONG], t.verdicts[ATTIC_RACE], t.verdicts[ATTIC_PASS]);
    c.wrong_by = 0.05;
    t = at_tally_correct(c, wanted ? stdout : NULL);
    ck_assert_msg(at_tally_is_found(&t), "of %d mistakes, %d are WRONG, %d passed off", t.drawn,
                  t.verdicts[ATTIC_WRONG], t.passed_off);
}
END_TEST

/* Is a mistake of 1.2 times the resolution of the right function passed, in an element? */
static bool passes_above_resolution(uint64_t number, int *tried)
{
    correct_function p = at_draw_correct(number), wrong = at_draw_correct(number);
    bool passes = false;
    if (p.on_tape < 0 && !p.options.directions) {
        at_gradcheck_report r = at_check_correct(&p);
        wrong.wrong_by = 1.2 * r.resolution;
        if (r.verdict == ATTIC_PASS && r.resolution < 0.1) {
            passes = at_check_correct(&wrong).verdict == ATTIC_PASS && wrong.is_planted;
            *tried += wrong.is_planted;
        }
    }
    at_forget_correct(&p);
    at_forget_correct(&wrong);
    return passes;
}

START_TEST(a_mistake_a_little_above_the_resolution_never_passes)
{
    int tried = 0;
    for (uint64_t number = 0; number < 200; number++)
        ck_assert_msg(!passes_above_resolution(number, &tried), "number %d", (int)number);
    ck_assert_int_ge(tried, 60);
}
END_TEST

START_TEST(planted_mistakes_are_found_or_passed_off)
{
    correct_choice wrong = {.count = 3 * at_correct_families(), .family = "x b", .wrong_by = 0.05};
    correct_tally t = at_tally_correct(wrong, NULL);
    ck_assert(t.drawn > 0 && t.verdicts[ATTIC_WRONG] == t.drawn && at_tally_is_found(&t));
    wrong.wrong_by = 1e-9; /* nobody sees that, and no resolution is below it */
    t = at_tally_correct(wrong, NULL);
    ck_assert(t.verdicts[ATTIC_PASS] == t.drawn && t.passed_off == 0 && !at_tally_is_found(&t));
    t = (correct_tally){.drawn = 100, .verdicts[ATTIC_WRONG] = 99, .passed_off = 1};
    ck_assert(!at_tally_is_found(&t));
}
END_TEST

START_TEST(a_family_can_be_chosen_and_is_printed)
{
    char text[2000] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    correct_tally t = at_tally_correct(
        (correct_choice){.count = 3 * at_correct_families(), .family = "c x"}, out);
    fclose(out);
    ck_assert_int_eq(t.drawn, 3);
    ck_assert_int_eq(t.verdicts[ATTIC_PASS], 3);
    ck_assert_ptr_nonnull(strstr(text, "PASS               3 of 3: 100.00 %\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "  c x                         3             3   100.0 %\n"));
}
END_TEST

SUITE(gradcheck_correct, no_correct_function_is_wrong_and_nine_of_ten_pass,
      the_same_number_is_the_same_function, every_family_passes_somewhere,
      backward_in_float_is_the_one_in_double, one_wrong_verdict_or_too_few_that_pass_are_not_right,
      a_mistake_a_little_above_the_resolution_never_passes,
      planted_mistakes_are_found_or_passed_off, a_family_can_be_chosen_and_is_printed)
