/* test_options.c -- do the random problems of attention try everything, and everything together? */
#include <stdlib.h>

#include "gradients/cases.h"
#include "attention/sdpa_run.h"
#include "test.h"

/* Fails unless all values of aspects first .. of these problems that can meet have met.  Of sizes that reach
 * over tiles there is but one value, "2 or more", so these are asked for options alone. */
static void expect_every_pair(const sdpa_pairs *pairs, int first, const char *among)
{
    for (int a = first; a < SDPA_ASPECTS; a++)
        for (int b = a + 1; b < SDPA_ASPECTS; b++)
            for (int v = 0; v < sdpa_aspect_values(a); v++)
                for (int w = 0; w < sdpa_aspect_values(b); w++) {
                    bool can = sdpa_can_meet(a, v, b, w), met = pairs->met[a][v][b][w] > 0;
                    ck_assert_msg(can == met, "%s never meets %s among the %s",
                                  sdpa_value_text(a, v), sdpa_value_text(b, w), among);
                }
}

static void expect_every_pair_of(int problems, sdpa_size size, int first, const char *among)
{
    sdpa_pairs *pairs = calloc(1, sizeof *pairs);
    for (int i = 0, seed = 0; i < problems; i++) sdpa_draw_new(&seed, size, pairs);
    expect_every_pair(pairs, first, among);
    free(pairs);
}

START_TEST(paths_are_compared_on_every_pair_of_options_and_sizes)
{
    expect_every_pair_of(SDPA_SMALL_ONES, SDPA_SMALL, 0, "small problems");
    expect_every_pair_of(SDPA_TILED_ONES, SDPA_TILES, SDPA_OPTIONS, "problems of several tiles");
}
END_TEST

START_TEST(gradients_are_checked_on_every_pair_of_options_and_sizes)
{
    sdpa_pairs *pairs = calloc(1, sizeof *pairs);
    for (int i = 0; i < AT_DRAWN_PROBLEMS; i++) sdpa_pairs_count(pairs, at_drawn_problem(i));
    expect_every_pair(pairs, 0, "gradient cases");
    free(pairs);
}
END_TEST

START_TEST(gradients_are_checked_on_three_hundred_combinations_of_options)
{
    int distinct = 0;
    for (int i = 0; i < AT_DRAWN_PROBLEMS; i++) {
        bool is_new = true;
        for (int j = 0; j < i && is_new; j++)
            is_new = !sdpa_same_options(at_drawn_problem(i), at_drawn_problem(j));
        distinct += is_new;
    }
    ck_assert_int_ge(distinct, 300);
}
END_TEST

START_TEST(every_drawn_problem_is_a_row)
{
    const at_case *c;
    int rows = 0;
    for (int i = 0; (c = at_case_at(i)); i++) rows += c->drawn != NULL;
    ck_assert_int_eq(rows, 3 * AT_DRAWN_PROBLEMS + AT_DRAWN_TILES);
}
END_TEST

SUITE(attention_options, paths_are_compared_on_every_pair_of_options_and_sizes,
      gradients_are_checked_on_every_pair_of_options_and_sizes,
      gradients_are_checked_on_three_hundred_combinations_of_options, every_drawn_problem_is_a_row)
