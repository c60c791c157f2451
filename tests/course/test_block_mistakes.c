/* test_block_mistakes.c -- wrong backwards of a block give what was computed on paper, and are named
 * by it. */
#include "block_cell.h"
#include "block_mistakes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

typedef struct {
    const char *mistake;
    double value; /* as it was computed on paper, with four decimals */
} paper_value;

/* A mistake gives this value in one element of the example. */
static void assert_values(int G, block_name what, int i, int j, int n, const paper_value *x)
{
    for (int k = 0; k < n; k++) {
        block *b = block_paper(G);
        const block_mistake m = block_mistakes_find(x[k].mistake);
        ck_assert_msg(m < BLOCK_MISTAKES, "there is no mistake \"%s\"", x[k].mistake);
        ck_assert(block_can_be_made(&b->p, m));
        ck_assert(block_backward_with(b, m));
        double got = *block_cell(b, what, 0, i, j);
        ck_assert_msg(fabs(got - x[k].value) < 5.1e-5, "%s: %.6f, not %.4f", x[k].mistake, got,
                      x[k].value);
        block_close(b);
    }
}
#define ASSERT_VALUES(G, what, i, j, x)                                                            \
    assert_values(G, BLOCK_##what, i, j, (int)(sizeof(x) / sizeof *(x)), x)

static const paper_value of_dX[] = {{"right", 6.3874},
                                    {"dQ, dK, dV merged in the wrong order", -3.5899},
                                    {"path K lost", 2.7180},
                                    {"path V lost", 3.0874},
                                    {"overwritten, V's term alone left", 3.3000},
                                    {"first head only", 3.5749},
                                    {"last head only", 3.8124},
                                    {"dO split in the wrong order", 4.0304},
                                    {"heads of dQ, dK, dV exchanged", 5.1727},
                                    {"residual's gradient lost", 5.3874},
                                    {"W_o for W_o^T", 5.6834},
                                    {"W_q for W_q^T", 6.0907},
                                    {"scale forgotten", 6.2000},
                                    {"heads of dO exchanged", 6.5471},
                                    {"W_q and W_k exchanged", 6.8158},
                                    {"W_k for W_k^T", 7.1124},
                                    {"residual doubled", 7.3874},
                                    {"path Q lost", 7.9694},
                                    {"residual through W_o", 9.3874},
                                    {"W_v for W_v^T", 9.6874}};

START_TEST(nineteen_mistakes_give_nineteen_values_of_dX_on_paper)
{
    ASSERT_VALUES(2, DX, 1, 1, of_dX);
    for (int k = 0; k < 20; k++)
        for (int other = 0; other < k; other++)
            ck_assert_double_gt(fabs(of_dX[k].value - of_dX[other].value), .108);
}
END_TEST

START_TEST(mistakes_give_the_values_of_dW_k_on_paper)
{
    static const paper_value x[] = {{"right", 9.1405},
                                    {"dQ, dK, dV merged in the wrong order", -9.1405},
                                    {"sign", -9.1405},
                                    {"dW_q taken for dW_k", -4.7460},
                                    {"heads of dQ, dK, dV exchanged", -1.4941},
                                    {"first head only", 0},
                                    {"last token only", .3516},
                                    {"dW transposed", .7690},
                                    {"mean over tokens", 3.0468},
                                    {"dO split in the wrong order", 4.3944},
                                    {"W_o for W_o^T", 4.5702},
                                    {"heads of dO exchanged", 6.1522},
                                    {"scale forgotten", 8.3200}};
    ASSERT_VALUES(2, DWK, 0, 1, x);
}
END_TEST

START_TEST(mistakes_give_the_values_of_dW_o_on_paper)
{
    static const paper_value x01[] = {
        {"right", 1.1},
        {"last token only", 0},
        {"mean over tokens", .3667},
        {"dW transposed", 2},
        {"O merged in the wrong order", 1.2},
        {"heads of O exchanged", .4},
        {"dO for dY in dW_o", .8},
        {"X for O in dW_o", 2},
    };
    static const paper_value x10[] = {{"right", 2},
                                      {"last token only", 1.2},
                                      {"mean over tokens", .6667},
                                      {"dW transposed", 1.1},
                                      {"O merged in the wrong order", 1.2},
                                      {"heads of O exchanged", .4},
                                      {"dO for dY in dW_o", 2.4},
                                      {"X for O in dW_o", 0}};
    ASSERT_VALUES(2, DWO, 0, 1, x01);
    ASSERT_VALUES(2, DWO, 1, 0, x10);
}
END_TEST

START_TEST(mistakes_of_a_shared_key_give_the_values_on_paper)
{
    static const paper_value dK[] = {{"right", 7.9100},
                                     {"first head of a shared key only", 3.1640},
                                     {"last head of a shared key only", 4.7460},
                                     {"mean over a shared key's heads", 3.9550}};
    static const paper_value dX[] = {{"right", 4.0457},
                                     {"first head of a shared key only", 3.5972},
                                     {"last head of a shared key only", 3.8214},
                                     {"mean over a shared key's heads", 3.7093}};
    ASSERT_VALUES(1, DK, 1, 0, dK);
    ASSERT_VALUES(1, DX, 2, 0, dX);
}
END_TEST

static void assert_giving(block_name what, int i, int j, double x, uint64_t should)
{
    block *b = block_paper(2);
    uint64_t mistakes;
    ck_assert(block_mistakes_giving(b, what, (int[]){0, i, j}, x, 0.005, &mistakes));
    ck_assert_uint_eq(mistakes, should);
    block_close(b);
}

START_TEST(a_number_in_one_cell_has_all_the_names_that_give_it)
{
    const uint64_t one = 1;
    assert_giving(BLOCK_DX, 1, 1, 2.718, one << BLOCK_PATH_K_LOST);
    assert_giving(BLOCK_DX, 1, 1, 6.39, 0); /* right, or nearly */
    assert_giving(BLOCK_DWK, 0, 1, -9.14, one << BLOCK_MERGED_IN_MEMORY | one << BLOCK_SIGN);
}
END_TEST

/* ------------------------------------------------------------------ naming --------------------- */

static const block_name asked[] = {BLOCK_DX, BLOCK_DWQ, BLOCK_DWK, BLOCK_DWV, BLOCK_DWO};

static block_problem some_problem(int seed)
{
    static const block_problem p[] = {
        {.T = 5, .C = 6, .H = 3, .G = 3, .D = 2, .Dv = 2, .causal = true},
        {.T = 4, .C = 5, .H = 3, .G = 3, .D = 2, .Dv = 3},
        {.T = 3, .C = 4, .H = 2, .G = 2, .D = 2, .Dv = 2},
        {.T = 5, .C = 6, .H = 4, .G = 2, .D = 3, .Dv = 2, .scale = 0.3, .causal = true},
        {.T = 4, .C = 7, .H = 3, .G = 1, .D = 4, .Dv = 2, .scale = 0.4}};
    return p[seed % 5];
}

static block_report judge(const block *b, const block *wrong)
{
    block_answer answer = {.got = {NULL}};
    block_report report;
    for (int k = 0; k < 5; k++) answer.got[asked[k]] = wrong->at[asked[k]];
    ck_assert(block_judge(b, &answer, &report));
    return report;
}

START_TEST(every_mistake_is_named_by_all_its_gradients_and_no_other_is)
{
    for (int seed = 0; seed < 100; seed++) {
        const block_problem p = some_problem(seed);
        block *b = block_draw((uint64_t)seed, &p), *wrong = block_copy(b);
        for (block_mistake m = 1; m < BLOCK_MISTAKES; m++) {
            if (!block_can_be_made(&p, m)) continue;
            ck_assert(block_backward_with(wrong, m));
            block_report report = judge(b, wrong);
            ck_assert_msg(report.all == (uint64_t)1 << m, "\"%s\", seed %d: named are %llx",
                          block_mistakes_texts[m].name, seed, (unsigned long long)report.all);
        }
        block_close(wrong);
        block_close(b);
    }
}
END_TEST

START_TEST(the_right_backward_is_exact)
{
    for (int seed = 0; seed < 50; seed++) {
        const block_problem p = some_problem(seed);
        block *b = block_draw((uint64_t)seed, &p);
        block_report report = judge(b, b);
        for (int k = 0; k < 5; k++) ck_assert_int_eq(report.of[asked[k]].v.kind, VERDICT_EXACT);
        ck_assert_uint_eq(report.all, 0);
        block_close(b);
    }
}
END_TEST

START_TEST(two_mistakes_at_once_are_described_and_not_named)
{
    block *b = block_paper(2), *wrong = block_copy(b);
    for (ptrdiff_t e = 0; e < block_size(b, BLOCK_DWK); e++) wrong->at[BLOCK_DWK][e] *= 5;
    wrong->at[BLOCK_DX][3] = 1;
    block_report report = judge(b, wrong);
    ck_assert_uint_eq(report.of[BLOCK_DX].named, 0);
    ck_assert_str_eq(report.of[BLOCK_DX].v.where, "only in row t1, column c1 (the last)");
    ck_assert_str_eq(report.of[BLOCK_DWK].v.where, "every element is 5 times the right one");
    ck_assert_str_eq(report.of[BLOCK_DX].v.arithmetic,
                     "dX[t1,c1] = 1 - 1.582 + 3.669 + 3.3 = 6.3874 (the terms of dY, Q, K and V), "
                     "you have 1");
    block_close(wrong);
    block_close(b);
}
END_TEST

START_TEST(what_a_gradient_held_before_is_added_to)
{
    block *b = block_paper(2), *sum = block_copy(b), *replaced = block_copy(b);
    double before[6] = {1, 2, 3, 4, 5, 6};
    for (int e = 0; e < 6; e++) sum->at[BLOCK_DX][e] += before[e];
    block_answer answer = {.got = {NULL}, .before = {NULL}};
    block_report report;
    answer.got[BLOCK_DX] = sum->at[BLOCK_DX], answer.before[BLOCK_DX] = before;
    ck_assert(block_judge(b, &answer, &report));
    ck_assert_int_eq(report.of[BLOCK_DX].v.kind, VERDICT_EXACT);
    answer.got[BLOCK_DX] = replaced->at[BLOCK_DX];
    ck_assert(block_judge(b, &answer, &report));
    ck_assert(report.of[BLOCK_DX].replaced);
    block_close(replaced);
    block_close(sum);
    block_close(b);
}
END_TEST

/* ------------------------------------------------------------------ cells ---------------------- */

static void assert_worked(const block *b, block_mistake m, block_name what, int h, int i, int j,
                          const char *should)
{
    block_style style;
    char text[BLOCK_CELL_TEXT];
    ck_assert(block_open_style(b, m, &style));
    block_cell_text(&style, what, h, i, j, text);
    ck_assert_str_eq(text, should);
    block_close_style(&style);
}

START_TEST(a_cell_is_worked_out_with_its_logarithms)
{
    block *b = block_paper(2);
    static const struct {
        block_name what;
        int h, i, j;
        const char *text;
    } cells[] = {
        {BLOCK_X, 0, 1, 0, "X[t1,c0] = 2.0000"},
        {BLOCK_Q, 0, 1, 1, "Q[t1,h1] = 2*1 + 0*1 = 2.0000"},
        {BLOCK_R, 1, 1, 0, "R_h1[t1,t0] = 2*1 = 2.0000"},
        {BLOCK_S, 0, 1, 1, "S_h0[t1,t1] = ln 3 * 4 = 4.3944"},
        {BLOCK_S, 0, 1, 2, "S_h0[t1,t2] = -inf: the token does not attend to it"},
        {BLOCK_P, 0, 2, 1, "P_h0[t2,t1] = 9 / (3 + 9 + 3) = 0.6000"},
        {BLOCK_O, 0, 2, 1, "O[t2,h1] = 0.6*0 + 0.2*4 + 0.2*2 = 1.2000"},
        {BLOCK_OW, 0, 1, 0, "(O W_o)[t1,c0] = 0.1*1 + 0.4*2 = 0.9000"},
        {BLOCK_Y, 0, 1, 0, "Y[t1,c0] = 2 + 0.9 = 2.9000"},
        {BLOCK_DO, 0, 1, 1, "dO[t1,h1] = 2*2 + 1*0 = 4.0000"},
        {BLOCK_DELTA, 0, 2, 0, "delta_h0[t2] = 0.2*1 + 0.6*0 + 0.2*0 = 0.2000"},
        {BLOCK_DS, 1, 2, 0, "dS_h1[t2,t0] = 0.6 * (0 - 2.4) = -1.4400"},
        {BLOCK_DS, 1, 1, 2, "dS_h1[t1,t2] = 0, for the token does not attend to it"},
        {BLOCK_DR, 1, 2, 0, "dR_h1[t2,t0] = ln 3 * -1.44 = -1.5820"},
        {BLOCK_DV, 0, 1, 1, "dV[t1,h1] = 0.1*4 + 0.2*2 = 0.8000"},
        {BLOCK_DX_K, 0, 1, 1, "dX_K[t1,c1] = 1*-0.66 ln 3 + 1*4 ln 3 = 3.34 ln 3 = 3.6694"},
        {BLOCK_DX, 0, 1, 1,
         "dX[t1,c1] = 1 - 1.44 ln 3 + 3.34 ln 3 + 3.3 = 4.3 + 1.9 ln 3 = 6.3874"},
        {BLOCK_DWK, 0, 0, 1,
         "dW_k[c0,h1] = 0*-4.32 ln 3 + 2*4 ln 3 + 1*0.32 ln 3 = 8.32 ln 3 = 9.1405"}};
    for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
        assert_worked(b, BLOCK_RIGHT, cells[k].what, cells[k].h, cells[k].i, cells[k].j,
                      cells[k].text);
    block_close(b);
}
END_TEST

START_TEST(a_mistake_stands_beside_what_the_formula_gives)
{
    block *b = block_paper(2);
    ck_assert(block_backward_with(b, BLOCK_PATH_K_LOST));
    assert_worked(b, BLOCK_PATH_K_LOST, BLOCK_DX_K, 0, 1, 1,
                  "dX_K[t1,c1] = 0.0000; the formula gives 1*-0.66 ln 3 + 1*4 ln 3 = 3.34 ln 3 = "
                  "3.6694");
    block_close(b);
}
END_TEST

START_TEST(heads_with_several_elements_and_shared_keys_are_written_so)
{
    const block_problem p = {.T = 2, .C = 3, .H = 2, .G = 1, .D = 2, .Dv = 1};
    block *b = block_draw(1, &p);
    char name[BLOCK_CELL_NAME];
    block_cell_name(b, BLOCK_DQ, 0, 1, 3, name);
    ck_assert_str_eq(name, "dQ[t1,h1d1]");
    block_cell_name(b, BLOCK_WK, 0, 2, 1, name);
    ck_assert_str_eq(name, "W_k[c2,g0d1]");
    block_cell_name(b, BLOCK_WO, 0, 1, 2, name);
    ck_assert_str_eq(name, "W_o[h1,c2]");
    block_close(b);
}
END_TEST

/* The arithmetic, evaluated, gives the element: no pair is missing. */
START_TEST(every_cell_of_a_drawn_block_agrees_with_its_formula)
{
    for (int seed = 0; seed < 20; seed++) {
        const block_problem p = some_problem(seed);
        block *b = block_draw((uint64_t)seed, &p);
        const block_style style = {.b = b};
        char text[BLOCK_CELL_TEXT];
        for (block_name what = BLOCK_Q; what < BLOCK_COUNT; what++)
            for (int h = 0; h < b->dim[what][0]; h++)
                for (int i = 0; i < b->dim[what][1]; i++)
                    for (int j = 0; j < b->dim[what][2]; j++) {
                        block_cell_text(&style, what, h, i, j, text);
                        ck_assert_msg(!strstr(text, "the formula gives"), "%s", text);
                    }
        block_close(b);
    }
}
END_TEST

SUITE(course_block_mistakes, nineteen_mistakes_give_nineteen_values_of_dX_on_paper,
      mistakes_give_the_values_of_dW_k_on_paper, mistakes_give_the_values_of_dW_o_on_paper,
      mistakes_of_a_shared_key_give_the_values_on_paper,
      a_number_in_one_cell_has_all_the_names_that_give_it,
      every_mistake_is_named_by_all_its_gradients_and_no_other_is, the_right_backward_is_exact,
      two_mistakes_at_once_are_described_and_not_named, what_a_gradient_held_before_is_added_to,
      a_cell_is_worked_out_with_its_logarithms, a_mistake_stands_beside_what_the_formula_gives,
      heads_with_several_elements_and_shared_keys_are_written_so,
      every_cell_of_a_drawn_block_agrees_with_its_formula)
