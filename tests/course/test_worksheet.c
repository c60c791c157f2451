/* test_worksheet.c -- sheets with attention on paper: drawn so that each cell tells what was done, and graded. */
#include "worksheet.h"

#include <math.h>
#include <string.h>

#include "test.h"

enum { CELLS = 30, SHEETS = 60 };

/* The right answers of a sheet, rounded to two digits behind the point as somebody may write them */
static worksheet *answered(uint64_t number, double answers[CELLS])
{
    worksheet *w = worksheet_draw(number);
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(worksheet_cells(), CELLS);
    for (int k = 0; k < CELLS; k++) {
        int asked, e;
        worksheet_cell(k, &asked, &e);
        answers[k] = round(100 * w->right->at[worksheet_asked[asked]][e]) / 100;
    }
    return w;
}

static void put(double *answers, const char *cell, double x)
{
    ck_assert_int_ge(worksheet_find(cell), 0);
    answers[worksheet_find(cell)] = x;
}

/* The verdict on one cell */
static sheet_verdict judged(const worksheet *w, const double *answers, const char *cell)
{
    sheet_verdict v[CELLS];
    ck_assert(worksheet_grade(w, answers, v));
    return v[worksheet_find(cell)];
}

START_TEST(right_answers_are_right_with_two_digits)
{
    double answers[CELLS];
    sheet_verdict v[CELLS];
    for (uint64_t n = 1; n <= SHEETS; n++) {
        worksheet *w = answered(n, answers);
        ck_assert(worksheet_grade(w, answers, v));
        for (int k = 0; k < CELLS; k++) ck_assert_int_eq(v[k].state, SHEET_RIGHT);
        worksheet_close(w);
    }
}
END_TEST

/* Rows of integers with sum 5, 10 or 20, P are their parts. */
START_TEST(probabilities_are_decimals_of_at_most_two_digits)
{
    for (uint64_t n = 1; n <= SHEETS; n++) {
        worksheet *w = worksheet_draw(n);
        for (int i = 0; i < SHEET_T; i++) {
            const int *x = w->integer + i * SHEET_N, sum = x[0] + x[1] + x[2];
            ck_assert(sum == 5 || sum == 10 || sum == 20);
            for (int j = 0; j < SHEET_N; j++)
                assert_close(w->right->at[STEPS_P][i * SHEET_N + j], (double)x[j] / sum, 1e-15);
        }
        worksheet_close(w);
    }
}
END_TEST

/* Each mistake, made in one cell of what is asked and rounded, is named there, and only it. */
START_TEST(a_mistake_is_named_from_any_cell)
{
    double answers[CELLS];
    for (uint64_t n = 1; n <= SHEETS / 4; n++) {
        worksheet *w = answered(n, answers);
        steps *b = steps_copy(w->right);
        for (int k = 0; k < CELLS; k++) {
            int asked, e;
            worksheet_cell(k, &asked, &e);
            const double right = answers[k];
            for (const mistake *m = worksheet_mistakes[asked]; *m != MISTAKE_NONE; m++) {
                ck_assert(mistakes_backward(b, *m));
                answers[k] = round(100 * b->at[worksheet_asked[asked]][e]) / 100;
                const sheet_verdict v = judged(w, answers, worksheet_name(k));
                ck_assert_int_eq(v.state, SHEET_NAMED);
                ck_assert_int_eq(v.is, *m);
            }
            answers[k] = right;
        }
        steps_close(b);
        worksheet_close(w);
    }
}
END_TEST

START_TEST(what_follows_from_a_wrong_answer_counts)
{
    double answers[CELLS];
    worksheet *w = answered(7, answers);
    const double *P = w->right->at[STEPS_P], *dP = w->right->at[STEPS_DP];
    const double delta = w->right->at[STEPS_DELTA][0] + 0.5;
    put(answers, "delta q0", delta);
    for (int j = 0; j < SHEET_N; j++)
        answers[worksheet_find("dS q0 k0") + j] = P[j] * (dP[j] - delta);
    ck_assert_int_eq(judged(w, answers, "delta q0").state, SHEET_WRONG);
    ck_assert_int_eq(judged(w, answers, "dS q0 k2").state, SHEET_FOLLOWS);
    ck_assert_int_eq(judged(w, answers, "dS q1 k2").state, SHEET_RIGHT);
    put(answers, "dS q0 k2", 77);
    ck_assert_int_eq(judged(w, answers, "dS q0 k2").state, SHEET_WRONG);
    worksheet_close(w);
}
END_TEST

/* The answers of somebody who has this in P q0 k0 and computes everything else from it */
static void follow(const worksheet *w, double wrong, double answers[CELLS])
{
    steps *a = steps_copy(w->right);
    ck_assert_ptr_nonnull(a);
    a->at[STEPS_P][0] = a->at[STEPS_A][0] = wrong;
    steps_forward(a, STEPS_A);
    steps_backward(a);
    for (int k = 0; k < CELLS; k++) {
        int asked, e;
        worksheet_cell(k, &asked, &e);
        answers[k] = a->at[worksheet_asked[asked]][e];
    }
    steps_close(a);
}

static int cells_that(sheet_state are, const worksheet *w, const double *answers)
{
    sheet_verdict v[CELLS];
    int n = 0;
    ck_assert(worksheet_grade(w, answers, v));
    for (int k = 0; k < CELLS; k++) n += v[k].state == are;
    return n;
}

START_TEST(one_wrong_P_costs_one_cell)
{
    double answers[CELLS];
    worksheet *w = worksheet_draw(7);
    follow(w, w->right->at[STEPS_P][0] + 0.5, answers);
    ck_assert_int_eq(judged(w, answers, "P q0 k0").state, SHEET_WRONG);
    ck_assert_int_eq(judged(w, answers, "dS q0 k2").state, SHEET_FOLLOWS);
    ck_assert_int_eq(cells_that(SHEET_RIGHT, w, answers) + cells_that(SHEET_FOLLOWS, w, answers),
                     CELLS - 1);
    worksheet_close(w);
}
END_TEST

START_TEST(nothing_follows_from_one_number_in_all_cells)
{
    static const double same[] = {0, 1, (double)NAN};
    double answers[CELLS];
    for (uint64_t n = 1; n <= SHEETS; n++)
        for (int i = 0; i < 3; i++) {
            worksheet *w = worksheet_draw(n);
            for (int k = 0; k < CELLS; k++) answers[k] = same[i];
            ck_assert_int_eq(cells_that(SHEET_FOLLOWS, w, answers), 0);
            ck_assert_int_eq(cells_that(SHEET_MISSING, w, answers), i == 2 ? CELLS : 0);
            worksheet_close(w);
        }
}
END_TEST

/* A 0 that is right in dP does not make delta = 0 and dS = 0 follow from the zeros beside it. */
START_TEST(zeros_from_dP_on_do_not_follow_from_each_other)
{
    double answers[CELLS];
    for (uint64_t n = 1; n <= SHEETS; n++) {
        worksheet *w = answered(n, answers);
        for (int k = worksheet_find("dP q0 k0"); k < CELLS; k++) answers[k] = 0;
        ck_assert_int_eq(cells_that(SHEET_FOLLOWS, w, answers), 0);
        worksheet_close(w);
    }
}
END_TEST

START_TEST(an_empty_cell_is_missing_and_stops_nothing)
{
    double answers[CELLS];
    worksheet *w = answered(8, answers);
    put(answers, "delta q1", (double)NAN);
    ck_assert_int_eq(judged(w, answers, "delta q1").state, SHEET_MISSING);
    ck_assert_int_eq(judged(w, answers, "dS q1 k0").state, SHEET_RIGHT);
    worksheet_close(w);
}
END_TEST

START_TEST(the_same_number_draws_the_same_sheet_and_another_one_another)
{
    worksheet *x = worksheet_draw(3), *y = worksheet_draw(3), *z = worksheet_draw(4);
    const size_t n = SHEET_T * SHEET_N * sizeof(double);
    ck_assert_mem_eq(x->right->at[STEPS_DS], y->right->at[STEPS_DS], n);
    ck_assert(memcmp(x->right->at[STEPS_DS], z->right->at[STEPS_DS], n) != 0);
    worksheet_close(x), worksheet_close(y), worksheet_close(z);
}
END_TEST

START_TEST(cells_have_names_and_numbers_may_be_fractions)
{
    double x;
    ck_assert_str_eq(worksheet_name(0), "P q0 k0");
    ck_assert_str_eq(worksheet_name(CELLS - 1), "dS q1 k2");
    ck_assert_int_eq(worksheet_find(" ds  Q1k2"), CELLS - 1);
    ck_assert_int_eq(worksheet_find("dS q1"), -1);
    ck_assert(worksheet_number("-3/20", &x) && x == -0.15);
    ck_assert(worksheet_number(" .5 ", &x) && x == 0.5);
    ck_assert(worksheet_number("1,5", &x) && x == 1.5);
    ck_assert(worksheet_number("\342\210\2223 / 20", &x) && x == -0.15); /* U+2212 */
    ck_assert(!worksheet_number("1/0", &x) && !worksheet_number("", &x) &&
              !worksheet_number("1,5,0", &x));
    ck_assert(!worksheet_number("nan", &x) && !worksheet_number("1/", &x) &&
              !worksheet_number("1 2", &x));
}
END_TEST

SUITE(course_worksheet, right_answers_are_right_with_two_digits,
      probabilities_are_decimals_of_at_most_two_digits, a_mistake_is_named_from_any_cell,
      what_follows_from_a_wrong_answer_counts, one_wrong_P_costs_one_cell,
      nothing_follows_from_one_number_in_all_cells, zeros_from_dP_on_do_not_follow_from_each_other,
      an_empty_cell_is_missing_and_stops_nothing,
      the_same_number_draws_the_same_sheet_and_another_one_another,
      cells_have_names_and_numbers_may_be_fractions)
