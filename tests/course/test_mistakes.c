/* test_mistakes.c -- every mistake is named, no right answer is called wrong, and what is no single
 * mistake is described. */
#include "attention/sdpa_run.h"
#include "mistakes.h"
#include "course/right_answers.h"
#include "course/wrong_answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static const mistakes_features everything = {true, true, true, true, true, true, true, 8};

#define IN(what) ((uint64_t)1 << STEPS_##what)
static const uint64_t of_inputs = IN(DQ) | IN(DK) | IN(DV) | IN(DBIAS);

static const mistake_set none;

static mistake_set just(mistake m, mistake other)
{
    return mistakes_join(mistakes_only(m), mistakes_only(other));
}

static void assert_set(mistake_set got, mistake_set right)
{
    for (int m = 0; m < MISTAKES; m++)
        ck_assert_msg(got.has[m] == right.has[m], "\"%s\" is%s in the set", mistakes_texts[m].name,
                      got.has[m] ? "" : " not");
}

static steps *drawn(int seed, mistake_set asked)
{
    steps *a = mistakes_draw((uint64_t)seed, &everything, asked, of_inputs);
    ck_assert_msg(a != NULL, "no problem was found for seed %d", seed);
    return a;
}

/* a with this set of mistakes in its backward */
static steps *broken(const steps *a, mistake_set set)
{
    steps *b = steps_copy(a);
    ck_assert(b && mistakes_backward_set(b, set));
    return b;
}

static mistakes_answer answer_of(const steps *b, uint64_t in)
{
    mistakes_answer answer = {.got = {NULL}};
    for (int k = 0; k < STEPS_COUNT; k++)
        if (in >> k & 1) answer.got[k] = b->at[k];
    return answer;
}

static mistakes_report judged(const steps *a, const steps *b, uint64_t in)
{
    mistakes_report report;
    mistakes_answer answer = answer_of(b, in);
    ck_assert(mistakes_judge(a, &answer, &report));
    return report;
}

static bool nearly_equal(const steps *x, const steps *y, steps_name what)
{
    for (ptrdiff_t e = 0; e < steps_size(x, what); e++) {
        double size = 1 + fabs(x->at[what][e]) + fabs(y->at[what][e]);
        if (!(fabs(x->at[what][e] - y->at[what][e]) <= 1e-10 * size)) return false;
    }
    return true;
}

/* ------------------------------------------------------------------ right answers -------------- */

static double largest_error_seen(const mistakes_report *r)
{
    double most = 0;
    for (int k = 0; k < STEPS_COUNT; k++) most = fmax(most, r->of[k].error);
    return most;
}

static void check_right_answer(const steps *a, steps *b, bool is_float, int by, double *most)
{
    (is_float ? at_right_answer_f32 : at_right_answer_f64)(b, (right_algorithm)by);
    mistakes_report r = judged(a, b, of_inputs | IN(DELTA) | IN(DS));
    for (int k = 0; k < STEPS_COUNT; k++)
        ck_assert_msg(r.of[k].kind <= (is_float ? VERDICT_CLOSE : VERDICT_EXACT),
                      "algorithm %d, %s: %s is called wrong by %g: %s", by,
                      is_float ? "float" : "double", steps_texts[k].name, r.of[k].error,
                      r.of[k].arithmetic);
    *most = fmax(*most, largest_error_seen(&r));
}

/* Four algorithms, in float and in double, of 1250 problems: 10,000 answers.  The limit of 1e-6 in
 * float and of 1e-12 in double must be no close call: the largest error is at most a third of it. */
START_TEST(no_right_answer_is_called_wrong)
{
    double most[2] = {0, 0};
    for (int seed = 0; seed < sdpa_some(1250); seed++) {
        const mistakes_features with = {seed & 1,      seed >> 1 & 1, seed >> 2 & 1, seed >> 3 & 1,
                                        seed >> 4 & 1, seed >> 5 & 1, seed >> 6 & 1, 5 + seed % 4};
        steps *a = mistakes_draw((uint64_t)seed, &with, none, 0);
        ck_assert_ptr_nonnull(a);
        steps *b = steps_copy(a);
        for (int by = 0; by < RIGHT_ALGORITHMS; by++)
            for (int is_float = 0; is_float < 2; is_float++)
                check_right_answer(a, b, is_float, by, &most[is_float]);
        steps_close(b);
        steps_close(a);
    }
    ck_assert_double_lt(most[0], 1e-12 / 3);
    ck_assert_double_lt(most[1], 1e-6 / 3);
    ck_assert_double_gt(most[1], 1e-9);
}
END_TEST

/* ------------------------------------------------------------------ one mistake ---------------- */

static void round_to_float(steps *b)
{
    for (int k = STEPS_DV; k < STEPS_COUNT; k++)
        for (ptrdiff_t e = 0; e < steps_size(b, (steps_name)k); e++)
            b->at[k][e] = (double)(float)b->at[k][e];
}

/* Every name that is given belongs to a mistake that, with one of both ways to compute delta, gives
 * just this answer. */
static void assert_names_are_true(const steps *a, const steps *b, const mistakes_report *r)
{
    for (int m = 1; m < MISTAKES; m++) {
        bool named = false;
        for (int k = 0; k < STEPS_COUNT; k++) named = named || r->of[k].named.has[m];
        if (!named) continue;
        mistake_set set = mistakes_only((mistake)m);
        steps *alone = broken(a, set);
        set.delta_from_output = true;
        steps *other = broken(a, set);
        for (steps_name k = 0; k < STEPS_COUNT; k++)
            if (r->of[k].named.has[m])
                ck_assert_msg(nearly_equal(alone, b, k) || nearly_equal(other, b, k),
                              "%s is not \"%s\"", steps_texts[k].name, mistakes_texts[m].name);
        steps_close(alone);
        steps_close(other);
    }
}

/* The table's rules, and the loops of somebody who makes the mistake, give the same. */
START_TEST(every_mistake_is_what_its_sentence_says)
{
    for (int seed = 0; seed < sdpa_some(20); seed++) {
        steps *a = drawn(seed, none), *written = steps_copy(a);
        for (int m = 0; m < MISTAKES; m++) {
            steps *b = broken(a, mistakes_only((mistake)m));
            wrong_answer(written, (mistake)m);
            for (int k = 0; k < STEPS_COUNT; k++)
                if (of_inputs >> k & 1)
                    ck_assert_msg(nearly_equal(written, b, (steps_name)k), "%s of \"%s\", seed %d",
                                  steps_texts[k].name, mistakes_texts[m].name, seed);
            steps_close(b);
        }
        steps_close(written);
        steps_close(a);
    }
}
END_TEST

/* Most of them without groups: it is faster. */
static void check_mistake(int m, int seed)
{
    mistakes_features with = everything;
    bool of_groups = m >= MISTAKE_GROUP_FIRST && m <= MISTAKE_GROUPS_IN_TURN;
    with.groups = of_groups || seed % 5 == 0;
    mistake_set set = mistakes_only((mistake)m);
    steps *a = mistakes_draw((uint64_t)(100 * m + seed), &with, set, of_inputs);
    ck_assert_msg(a != NULL, "no problem shows \"%s\", seed %d", mistakes_texts[m].name, seed);
    set.delta_from_output = seed & 1;
    steps *b = broken(a, set);
    mistakes_report r = judged(a, b, of_inputs);
    ck_assert_msg(r.all.has[m], "\"%s\" is not named, seed %d", mistakes_texts[m].name, seed);
    if (seed < 2) assert_names_are_true(a, b, &r);
    round_to_float(b);
    r = judged(a, b, of_inputs);
    ck_assert_msg(r.all.has[m], "\"%s\" in float is not named, seed %d", mistakes_texts[m].name,
                  seed);
    steps_close(b);
    steps_close(a);
}

START_TEST(every_mistake_is_named)
{
    for (int m = 1; m < MISTAKES; m++)
        for (int seed = 0; seed < sdpa_some(20) && m != MISTAKE_OVERWRITTEN; seed++)
            check_mistake(m, seed);
}
END_TEST

START_TEST(overwritten_is_seen_where_a_gradient_holds_something_before)
{
    for (int seed = 0; seed < 20; seed++) {
        steps *a = drawn(seed, none), *before = drawn(seed, none);
        mistakes_report r;
        mistakes_answer answer = answer_of(a, IN(DK));
        answer.before[STEPS_DK] = before->at[STEPS_K];
        ck_assert(mistakes_judge(a, &answer, &r));
        assert_set(r.all, mistakes_only(MISTAKE_OVERWRITTEN));
        for (ptrdiff_t e = 0; e < steps_size(a, STEPS_DK); e++)
            a->at[STEPS_DK][e] += before->at[STEPS_K][e];
        ck_assert(mistakes_judge(a, &answer, &r));
        ck_assert_int_eq(r.of[STEPS_DK].kind, VERDICT_EXACT);
        steps_close(before);
        steps_close(a);
    }
}
END_TEST

START_TEST(a_mistake_together_with_overwritten_has_both_names)
{
    steps *a = drawn(2, mistakes_only(MISTAKE_DK_LAST)), *before = drawn(2, none);
    steps *b = broken(a, mistakes_only(MISTAKE_DK_LAST));
    mistakes_report r;
    mistakes_answer answer = answer_of(b, IN(DK));
    answer.before[STEPS_DK] = before->at[STEPS_K];
    ck_assert(mistakes_judge(a, &answer, &r));
    assert_set(r.of[STEPS_DK].named, none);
    assert_set(r.of[STEPS_DK].replaced, mistakes_only(MISTAKE_DK_LAST));
    for (ptrdiff_t e = 0; e < steps_size(a, STEPS_DK); e++)
        b->at[STEPS_DK][e] += before->at[STEPS_K][e];
    ck_assert(mistakes_judge(a, &answer, &r));
    assert_set(r.of[STEPS_DK].named, mistakes_only(MISTAKE_DK_LAST));
    assert_set(r.of[STEPS_DK].replaced, none);
    steps_close(before);
    steps_close(b);
    steps_close(a);
}
END_TEST

START_TEST(a_single_query_has_no_index)
{
    steps *a = steps_open(&(steps_problem){.H = 1, .G = 1, .T = 1, .N = 3, .D = 2, .Dv = 2});
    const double K[] = {log(7), 0, log(2), log(3), 0, log(6)}, V[] = {1, 4, 5, 1, 0, 2};
    memcpy(a->at[STEPS_K], K, sizeof K);
    memcpy(a->at[STEPS_V], V, sizeof V);
    for (int d = 0; d < 2; d++) a->at[STEPS_Q][d] = sqrt(2) * !d, a->at[STEPS_DO][d] = 1;
    steps_forward(a, STEPS_R);
    steps_backward(a);
    steps *b = steps_copy(a);
    b->at[STEPS_DS][1] = 1.2;
    b->at[STEPS_DK][1] = 7;
    mistakes_report r = judged(a, b, IN(DS) | IN(DK));
    ck_assert_str_eq(r.of[STEPS_DS].arithmetic,
                     "dS[1] = P[1] * (dP[1] - delta) = 0.2 * (6 - 4.9) = 0.22, you have 1.2");
    ck_assert_str_eq(r.of[STEPS_DS].where, "only in element 1");
    ck_assert_str_eq(r.of[STEPS_DK].arithmetic,
                     "dK[k0,d1] = dR[0] * Q[1] = 0.0495*0 = 0, you have 7");
    steps_close(b);
    steps_close(a);
}
END_TEST

START_TEST(mistakes_that_give_the_same_are_named_together)
{
    /* without dropout A is P, and without a softcap it has no slope */
    const mistakes_features plain = {.most = 8};
    steps *a = mistakes_draw(1, &plain, mistakes_only(MISTAKE_NO_DELTA), of_inputs);
    mistake_set hidden;
    ck_assert(mistakes_hidden(a, STEPS_DQ, NULL, &hidden));
    ck_assert(hidden.has[MISTAKE_DELTA_FROM_A] && hidden.has[MISTAKE_NO_SLOPE]);
    ck_assert(!hidden.has[MISTAKE_NO_DELTA] && !hidden.has[MISTAKE_SIGN]);
    /* without a mask, the last key of each row is the last key of all */
    steps *b = broken(a, mistakes_only(MISTAKE_LAST_KEY));
    mistakes_report r = judged(a, b, of_inputs);
    assert_set(r.all, just(MISTAKE_LAST_KEY, MISTAKE_KEY_FEWER));
    steps_close(b);
    /* without dW nobody leaves it out: a delta of dW alone is no delta */
    b = broken(a, mistakes_only(MISTAKE_NO_DELTA));
    assert_set(judged(a, b, of_inputs).all, mistakes_only(MISTAKE_NO_DELTA));
    steps_close(b);
    steps_close(a);
}
END_TEST

/* ------------------------------------------------------------------ on paper ------------------- */

static steps *on_paper(void)
{
    const double Q[] = {1, 0, 0, 1}, K[] = {log(7), 0, log(2), log(3), 0, log(6)};
    const double V[] = {1, 4, 5, 1, 0, 2}, dO[] = {1, 1, 0, 1};
    steps *a =
        steps_open(&(steps_problem){.H = 1, .G = 1, .T = 2, .N = 3, .D = 2, .Dv = 2, .scale = 1});
    memcpy(a->at[STEPS_Q], Q, sizeof Q);
    memcpy(a->at[STEPS_K], K, sizeof K);
    memcpy(a->at[STEPS_V], V, sizeof V);
    memcpy(a->at[STEPS_DO], dO, sizeof dO);
    steps_forward(a, STEPS_R);
    steps_backward(a);
    return a;
}

static const struct {
    mistake m;
    double dS; /* of query 0, key 1 */
} eight[] = {{MISTAKE_NONE, .22},
             {MISTAKE_NO_DELTA, 1.20},
             {MISTAKE_DIAGONAL, .96},
             {MISTAKE_NO_P, 1.10},
             {MISTAKE_DELTA_ROW_AFTER, .82},
             {MISTAKE_DELTA_OF_ONES, 1.00},
             {MISTAKE_DO_TRANSPOSED, .66},
             {MISTAKE_SIGN, -.22}};

START_TEST(the_mistakes_on_paper)
{
    steps *a = on_paper(), *b[8];
    for (int k = 0; k < 8; k++) {
        b[k] = broken(a, mistakes_only(eight[k].m));
        assert_close(*steps_cell(b[k], STEPS_DS, 0, 0, 1), eight[k].dS, 1e-14);
        mistakes_report r = judged(a, b[k], IN(DS));
        mistake_set name = mistakes_only(eight[k].m);
        /* with two rows, the row before is the row after */
        if (eight[k].m == MISTAKE_DELTA_ROW_AFTER) name.has[MISTAKE_DELTA_ROW_BEFORE] = true;
        assert_set(r.all, name);
    }
    for (int k = 0; k < 8; k++)
        for (int other = 0; other < k; other++)
            for (int e = 0; e < 6; e++)
                ck_assert_double_gt(fabs(b[k]->at[STEPS_DS][e] - b[other]->at[STEPS_DS][e]), .0149);
    for (int k = 0; k < 8; k++) steps_close(b[k]);
    steps_close(a);
}
END_TEST

START_TEST(a_verdict_shows_its_arithmetic)
{
    steps *a = on_paper(), *b = steps_copy(a);
    *steps_cell(b, STEPS_DS, 0, 0, 1) = 1.2;
    *steps_cell(b, STEPS_DK, 0, 2, 1) = 7;
    *steps_cell(b, STEPS_DELTA, 0, 0, 0) = 4.90001;
    mistakes_report r = judged(a, b, IN(DS) | IN(DK) | IN(DELTA));
    ck_assert_str_eq(
        r.of[STEPS_DS].arithmetic,
        "dS[q0,k1] = P[q0,k1] * (dP[q0,k1] - delta[q0]) = 0.2 * (6 - 4.9) = 0.22, you have 1.2");
    ck_assert_str_eq(r.of[STEPS_DK].arithmetic,
                     "dK[k2,d1] = sum_i dR[i,k2] Q[i,d1] = -0.29*0 + 0.06*1 = 0.06, you have 7");
    ck_assert_str_eq(
        r.of[STEPS_DELTA].arithmetic,
        "delta[q0] = sum_j P[q0,j] dP[q0,j] = 0.7*5 + 0.2*6 + 0.1*2 = 4.9, you have 4.90001");
    assert_set(r.of[STEPS_DS].named, none);
    ck_assert_str_eq(r.of[STEPS_DK].where, "only in row k2 (the last), column d1 (the last)");
    steps_close(b);
    steps_close(a);
}
END_TEST

/* ------------------------------------------------------------------ two mistakes --------------- */

/* A name is right where that mistake alone gives the same numbers, of this gradient, as the two do
 * together: one of them may have no effect on it, or hide the other, or the two may cancel. */
static int check_pair(const steps *a, int m, int other)
{
    steps *b = broken(a, just((mistake)m, (mistake)other));
    mistakes_report r = judged(a, b, of_inputs);
    assert_names_are_true(a, b, &r);
    int described = 0;
    for (int k = 0; k < STEPS_COUNT; k++) {
        const verdict *v = &r.of[k];
        if (v->kind != VERDICT_WRONG) continue;
        ck_assert(*v->where && *v->arithmetic);
        assert_set(mistakes_without(r.all, v->named), none);
        described += !mistakes_any(v->named);
    }
    steps_close(b);
    return described;
}

START_TEST(two_mistakes_are_never_given_a_wrong_name)
{
    const mistake_set shown = mistakes_join(just(MISTAKE_GROUPS_IN_TURN, MISTAKE_KEY_MORE),
                                            just(MISTAKE_BIAS_ROWS, MISTAKE_BIAS_HEADS));
    steps *a = drawn(3, shown);
    int pairs = MISTAKES * (MISTAKES - 1) / 2, every = pairs / sdpa_some(pairs), pair = 0;
    int checked = 0, described = 0;
    for (int m = 1; m < MISTAKES; m++)
        for (int other = 1; other < m; other++) {
            if (every > 1 && pair++ % every) continue; /* all of them, but for slow builds */
            checked++;
            described += check_pair(a, m, other);
        }
    ck_assert_int_gt(described, checked); /* of 4 gradients each */
    steps_close(a);
}
END_TEST

/* ------------------------------------------------------------------ describing ----------------- */

static void assert_where(const steps *a, const steps *b, steps_name what, const char *text)
{
    mistakes_report r = judged(a, b, (uint64_t)1 << what);
    ck_assert_int_eq(r.of[what].kind, VERDICT_WRONG);
    ck_assert_str_eq(r.of[what].where, text);
}

/* Two heads, T = 3, N = 5, D = 7, Dv = 3; row 0 attends to key 0 alone. */
static steps *small(void)
{
    steps *a = steps_open(&(steps_problem){
        .H = 2, .G = 2, .T = 3, .N = 5, .D = 7, .Dv = 3, .dropout = 0.25, .temperature = 1.7});
    for (int k = 0; k < STEPS_COUNT; k++)
        for (ptrdiff_t e = 0; e < steps_size(a, (steps_name)k); e++)
            if (k <= STEPS_V || k == STEPS_DO) a->at[k][e] = sin((double)(17 * k + 3 * e) + 0.3);
    for (ptrdiff_t e = 0; e < steps_size(a, STEPS_Z); e++) a->at[STEPS_Z][e] = e % 4 ? 4. / 3 : 0;
    for (int j = 1; j < 5; j++) *steps_cell(a, STEPS_KEEP, 0, 0, j) = 0;
    steps_forward(a, STEPS_R);
    steps_backward(a);
    return a;
}

START_TEST(a_constant_ratio_is_described_with_its_name)
{
    const struct {
        double ratio;
        const char *text;
    } of[] = {{sqrt(7), "every element is 2.646 = sqrt(D) times the right one"},
              {1 / sqrt(7), "every element is 0.378 = 1/sqrt(D) times the right one"},
              {0.75, "every element is 0.75 = (1-p) times the right one"},
              {1 / 3., "every element is 0.3333 = 1/T times the right one"},
              {5, "every element is 5 = N times the right one"},
              {-2, "every element is -2 = -H times the right one"},
              {1.234, "every element is 1.234 times the right one"}};
    steps *a = small(), *b = steps_copy(a);
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        for (ptrdiff_t e = 0; e < steps_size(a, STEPS_DV); e++)
            b->at[STEPS_DV][e] = of[k].ratio * a->at[STEPS_DV][e];
        assert_where(a, b, STEPS_DV, of[k].text);
        round_to_float(b);
        assert_where(a, b, STEPS_DV, of[k].text);
    }
    for (ptrdiff_t e = 0; e < steps_size(a, STEPS_DV); e++)
        b->at[STEPS_DV][e] = -a->at[STEPS_DV][e];
    assert_where(a, b, STEPS_DV, "every element has the wrong sign");
    memset(b->at[STEPS_DV], 0, (size_t)steps_size(a, STEPS_DV) * sizeof(double));
    assert_where(a, b, STEPS_DV, "every element is 0");
    steps_close(b);
    steps_close(a);
}
END_TEST

START_TEST(where_the_wrong_elements_lie_is_described)
{
    steps *a = small(), *b = steps_copy(a);
    *steps_cell(b, STEPS_DV, 1, 4, 0) += 1;
    *steps_cell(b, STEPS_DV, 1, 3, 2) += 1;
    assert_where(a, b, STEPS_DV,
                 "only in head h1 (the last), rows k3 to k4 (the last), columns d0, d2");
    *steps_cell(b, STEPS_DS, 0, 0, 2) = 0.1;
    *steps_cell(b, STEPS_DS, 1, 0, 4) = 0.1;
    assert_where(a, b, STEPS_DS, "only where a row does not attend to a key");
    for (int h = 0; h < 2; h++)
        for (int d = 0; d < 7; d++) *steps_cell(b, STEPS_DQ, h, 2, d) = 0;
    assert_where(a, b, STEPS_DQ, "only in row q2 (the last): they are 0");
    steps_close(b);
    steps_close(a);
}
END_TEST

START_TEST(a_transpose_and_an_error_of_rank_one_are_described)
{
    steps *a = small(), *b = steps_copy(a);
    for (int h = 0; h < 2; h++)
        for (int e = 0; e < 15; e++)
            steps_cell(b, STEPS_DV, h, 0, 0)[e] = *steps_cell(a, STEPS_DV, h, e % 5, e / 5);
    assert_where(a, b, STEPS_DV, "the transpose of the right matrix");
    for (int h = 0; h < 2; h++)
        for (int j = 0; j < 5; j++)
            for (int d = 0; d < 3; d++)
                *steps_cell(b, STEPS_DV, h, j, d) =
                    *steps_cell(a, STEPS_DV, h, j, d) + (j + 1) * (d - 5);
    assert_where(a, b, STEPS_DV,
                 "all 30 elements; the error has rank one, as has what a single query contributes");
    *steps_cell(b, STEPS_DV, 1, 4, 2) += 1;
    assert_where(a, b, STEPS_DV, "all 30 elements");
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 5; j++)
                *steps_cell(b, STEPS_DS, h, i, j) += (i + 1) * *steps_cell(a, STEPS_P, h, i, j);
    assert_where(a, b, STEPS_DS,
                 "22 of 30 elements; the error of dS_ij is P_ij times one number for each row: "
                 "look at delta");
    steps_close(b);
    steps_close(a);
}
END_TEST

START_TEST(what_was_not_written_is_described)
{
    steps *a = small(), *b = steps_copy(a);
    for (int h = 0; h < 2; h++)
        for (int d = 0; d < 7; d++) *steps_cell(b, STEPS_DQ, h, 1, d) = (double)NAN;
    mistakes_report r = judged(a, b, IN(DQ) | IN(DK));
    ck_assert_int_eq(r.of[STEPS_DQ].kind, VERDICT_NOT_WRITTEN);
    ck_assert_str_eq(r.of[STEPS_DQ].where, "only in row q1");
    ck_assert_int_eq(r.of[STEPS_DK].kind, VERDICT_EXACT);
    for (ptrdiff_t e = 0; e < steps_size(a, STEPS_DK); e++) b->at[STEPS_DK][e] = (double)NAN;
    r = judged(a, b, IN(DK));
    ck_assert_str_eq(r.of[STEPS_DK].where, "all 70 elements");
    ck_assert_int_eq(r.of[STEPS_DK].wrong, 70);
    /* and no mistake explains both that and a wrong dQ */
    steps *c = broken(a, mistakes_only(MISTAKE_NO_DELTA));
    memcpy(b->at[STEPS_DQ], c->at[STEPS_DQ], (size_t)steps_size(a, STEPS_DQ) * sizeof(double));
    r = judged(a, b, IN(DQ) | IN(DK));
    ck_assert(r.of[STEPS_DQ].named.has[MISTAKE_NO_DELTA]);
    assert_set(r.all, none);
    steps_close(c);
    /* dP of a masked cell is of no use to anybody */
    *steps_cell(b, STEPS_DP, 0, 0, 3) = (double)NAN;
    ck_assert_int_eq(judged(a, b, IN(DP)).of[STEPS_DP].kind, VERDICT_EXACT);
    steps_close(b);
    steps_close(a);
}
END_TEST

START_TEST(an_infinite_or_huge_answer_is_wrong)
{
    steps *a = small(), *b = steps_copy(a);
    *steps_cell(b, STEPS_DK, 0, 0, 0) = (double)INFINITY;
    ck_assert_int_eq(judged(a, b, IN(DK)).of[STEPS_DK].kind, VERDICT_WRONG);
    *steps_cell(b, STEPS_DK, 0, 0, 0) = -1e300;
    ck_assert_int_eq(judged(a, b, IN(DK)).of[STEPS_DK].kind, VERDICT_WRONG);
    steps_close(b);
    steps_close(a);
}
END_TEST

/* ------------------------------------------------------------------ any matrix ----------------- */

/* A 3 x 3 matrix that is no part of attention: right, and added to `before` */
static const double nine[9] = {1, -2, 3, 0.5, 4, -1, 2, -3, 0.25};
static const double held[9] = {5, 5, 5, -5, -5, -5, 1, 1, 1};
static const double other[9] = {3, 1, 4, 1, 5, 9, 2, 6, 5};

static verdict judged_matrix(const double *got, const double *before, int columns)
{
    const mistakes_ratio ratio[] = {{7, "seven"}};
    const mistakes_candidate candidate[] = {{"other", "It is the other one.", other, false},
                                            {"other alone", "And set.", other, true}};
    const double terms[9] = {6, 6, 6, 6, 6, 6, 6, 6, 6};
    const mistakes_matrix m = {.rows = 9 / columns,
                               .columns = columns,
                               .word = {"row", "column"},
                               .letter = {'j', 'k'},
                               .got = got,
                               .before = before,
                               .right = nine,
                               .terms = terms,
                               .ratio = ratio,
                               .ratios = 1,
                               .candidate = candidate,
                               .candidates = 2};
    verdict v;
    mistakes_judge_matrix(&m, &v);
    return v;
}

/* got = a nine + b other + before */
static verdict judged_sum(double a, double b, const double *before)
{
    double got[9];
    for (int e = 0; e < 9; e++) got[e] = a * nine[e] + b * other[e] + (before ? before[e] : 0);
    return judged_matrix(got, before, 3);
}

START_TEST(any_matrix_is_exact_close_wrong_or_not_written)
{
    ck_assert_int_eq(judged_sum(1, 0, held).kind, VERDICT_EXACT);
    ck_assert_int_eq(judged_sum(1 + 1e-9, 0, NULL).kind, VERDICT_CLOSE);
    ck_assert_int_eq(judged_sum(1 + 1e-4, 0, NULL).kind, VERDICT_WRONG);
    double got[9];
    memcpy(got, nine, sizeof got);
    got[7] = (double)NAN;
    verdict v = judged_matrix(got, NULL, 3);
    ck_assert_int_eq(v.kind, VERDICT_NOT_WRITTEN);
    ck_assert_str_eq(v.where, "only in row j2 (the last), column k1");
}
END_TEST

START_TEST(a_candidate_is_named_if_it_is_added_or_set_as_it_says)
{
    ck_assert_uint_eq(judged_sum(0, 1, held).candidates, 1);
    ck_assert_uint_eq(judged_sum(0, 1, NULL).candidates, 3); /* nothing was held before: both */
    ck_assert_uint_eq(judged_matrix(other, held, 3).candidates, 2);
    ck_assert_uint_eq(judged_sum(0.5, 0.5, held).candidates, 0);
    ck_assert_uint_eq(judged_sum(1, 0, held).candidates, 0); /* right first */
}
END_TEST

START_TEST(what_a_wrong_matrix_has_in_common_is_described)
{
    ck_assert_str_eq(judged_sum(7, 0, held).where,
                     "every element is 7 = seven times the right one");
    ck_assert_str_eq(judged_sum(-1, 0, held).where, "every element has the wrong sign");
    ck_assert_str_eq(judged_sum(0, 0, held).where, "nothing was added");
    double off[9], on[9];
    for (int e = 0; e < 9; e++) {
        off[e] = nine[e] + (e % 4 != 0) * other[e];
        on[e] = nine[e] + (e % 4 == 0) * other[e];
    }
    ck_assert_str_eq(judged_matrix(off, NULL, 3).where, "every element with k != j");
    ck_assert_str_eq(judged_matrix(on, NULL, 3).where, "every element with k = j");
    on[8] = nine[8];
    ck_assert_str_eq(judged_matrix(on, NULL, 3).where, "only in rows j0 to j1, columns k0 to k1");
    verdict v = judged_matrix(on, NULL, 1);
    ck_assert_str_eq(v.where, "only in rows j0, j4");
    ck_assert_int_eq(v.cell[1], 4);
    assert_close(v.right, 4, 0);
    assert_close(v.got, 9, 0);
}
END_TEST

/* ------------------------------------------------------------------ table and drawing ---------- */

START_TEST(every_mistake_has_a_name_a_sentence_and_a_hint)
{
    for (int m = 0; m < MISTAKES; m++) {
        const mistake_text *text = &mistakes_texts[m];
        ck_assert_msg(text->name && text->sentence && text->hint, "mistake %d", m);
        ck_assert_msg(m == 0 || strlen(text->hint) > 20, "\"%s\"", text->name);
        ck_assert_msg(text->sentence[strlen(text->sentence) - 1] == '.', "\"%s\"", text->name);
        ck_assert_int_eq(mistakes_find(text->name), m);
    }
    ck_assert_int_eq(mistakes_find("no such mistake"), MISTAKES);
}
END_TEST

static bool ratios_differ_for(int D, int N, double dropout)
{
    steps *a = steps_open(
        &(steps_problem){.H = 3, .G = 1, .T = 7, .N = N, .D = D, .Dv = 2, .dropout = dropout});
    bool differ = mistakes_ratios_differ(a);
    steps_close(a);
    return differ;
}

START_TEST(ratios_that_are_equal_are_noticed)
{
    ck_assert(ratios_differ_for(5, 8, 0.25));
    ck_assert(!ratios_differ_for(4, 8, 0.25));  /* sqrt(D) = 2 */
    ck_assert(!ratios_differ_for(5, 7, 0.25));  /* N = T */
    ck_assert(!ratios_differ_for(5, 3, 0.25));  /* N = H/G */
    ck_assert(!ratios_differ_for(5, 8, 0.5));   /* 1/(1-p) = 2 */
    ck_assert(!ratios_differ_for(5, 8, 0.875)); /* 1/(1-p) = N */
}
END_TEST

START_TEST(drawn_problems_tell_apart_what_is_asked)
{
    const mistake_set asked =
        mistakes_join(just(MISTAKE_DROPOUT_FORGOTTEN, MISTAKE_NO_SCALE),
                      mistakes_join(just(MISTAKE_NO_DELTA, MISTAKE_LAST_KEY),
                                    just(MISTAKE_KEY_FEWER, MISTAKE_GROUP_LAST)));
    for (int seed = 0; seed < sdpa_some(20); seed++) {
        steps *a = drawn(seed, asked);
        ck_assert(mistakes_ratios_differ(a));
        for (int m = 1; m < MISTAKES; m++) {
            if (!asked.has[m]) continue;
            steps *b = broken(a, mistakes_only((mistake)m));
            assert_set(mistakes_common(judged(a, b, of_inputs).all, asked),
                       mistakes_only((mistake)m));
            steps_close(b);
        }
        steps_close(a);
    }
    /* what has no dropout cannot show a mistake of dropout */
    const mistakes_features plain = {.most = 8};
    ck_assert_ptr_null(
        mistakes_draw(1, &plain, mistakes_only(MISTAKE_DROPOUT_FORGOTTEN), of_inputs));
}
END_TEST

START_TEST(the_same_seed_draws_the_same_problem)
{
    steps *a = drawn(5, none), *b = drawn(5, none), *c = drawn(6, none);
    ck_assert_int_eq(a->p.T, b->p.T);
    assert_all_close(steps_size(a, STEPS_DQ), a->at[STEPS_DQ], b->at[STEPS_DQ], 0);
    ck_assert(a->at[STEPS_Q][0] != c->at[STEPS_Q][0] || a->at[STEPS_Q][1] != c->at[STEPS_Q][1]);
    steps_close(a);
    steps_close(b);
    steps_close(c);
}
END_TEST

/* A product with 0 hides its other factor. */
START_TEST(no_input_drawn_is_0)
{
    static const steps_name inputs[] = {STEPS_Q, STEPS_K, STEPS_V, STEPS_DO};
    for (int seed = 0; seed < 20; seed++) {
        steps *a = drawn(seed, none);
        for (int k = 0; k < 4; k++)
            for (ptrdiff_t e = 0; e < steps_size(a, inputs[k]); e++)
                ck_assert_double_gt(fabs(a->at[inputs[k]][e]), 0);
        steps_close(a);
    }
}
END_TEST

SUITE(course_mistakes, no_right_answer_is_called_wrong, every_mistake_is_what_its_sentence_says,
      every_mistake_is_named, overwritten_is_seen_where_a_gradient_holds_something_before,
      a_mistake_together_with_overwritten_has_both_names, a_single_query_has_no_index,
      mistakes_that_give_the_same_are_named_together, the_mistakes_on_paper,
      a_verdict_shows_its_arithmetic, two_mistakes_are_never_given_a_wrong_name,
      a_constant_ratio_is_described_with_its_name, where_the_wrong_elements_lie_is_described,
      a_transpose_and_an_error_of_rank_one_are_described, what_was_not_written_is_described,
      an_infinite_or_huge_answer_is_wrong, any_matrix_is_exact_close_wrong_or_not_written,
      a_candidate_is_named_if_it_is_added_or_set_as_it_says,
      what_a_wrong_matrix_has_in_common_is_described,
      every_mistake_has_a_name_a_sentence_and_a_hint, ratios_that_are_equal_are_noticed,
      drawn_problems_tell_apart_what_is_asked, the_same_seed_draws_the_same_problem,
      no_input_drawn_is_0)
