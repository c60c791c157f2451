/* test_ngram.c -- counting models, on texts short enough to count by hand. */
#include "attic_op.h"
#include "common/ngram.h"

#include <math.h>
#include <string.h>

#include "test.h"

static const unsigned char abab[] = {0, 1, 0, 1, 0, 1, 0, 1};

static double nats(int order, double k)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    double x = ngram_nats(t, order, k, 2, abab, 8, abab, 8);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    at_close(t);
    return x;
}

START_TEST(unigram_of_a_fair_coin_is_log_2)
{
    assert_close(nats(1, 1), log(2), 1e-15);
}
END_TEST

START_TEST(bigram_counts_pairs_and_smooths_them)
{
    /* 01 occurs 4 times of 4 after 0, 10 3 times of 3 after 1; positions 2 .. 7: three of each */
    double after_0 = (4 + 0.1) / (4 + 0.2), after_1 = (3 + 0.1) / (3 + 0.2);
    assert_close(nats(2, 0.1), -(log(after_0) + log(after_1)) / 2, 1e-15);
}
END_TEST

START_TEST(trigram_of_a_strict_alternation_is_nearly_certain)
{
    /* 010 and 101 occur 3 times each, and nothing else */
    assert_close(nats(3, 0.01), -log(3.01 / 3.02), 1e-15);
}
END_TEST

START_TEST(a_symbol_never_seen_keeps_a_finite_price)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    unsigned char train[] = {0, 0, 0}, held[] = {0, 0, 1};
    assert_close(ngram_nats(t, 1, 0.5, 2, train, 3, held, 3), -log(0.5 / 4), 1e-15);
    at_close(t);
}
END_TEST

START_TEST(the_tables_are_given_back)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    size_t before = at_memory_of(t).step;
    ngram_nats(t, 3, 1, 2, abab, 8, abab, 8);
    ck_assert_uint_eq(at_memory_of(t).step, before);
    at_close(t);
}
END_TEST

START_TEST(bad_orders_and_sizes_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert(isnan(ngram_nats(t, 4, 1, 2, abab, 8, abab, 8)));
    ck_assert_str_eq(at_error(t), "ngram: order is 4, but must be 1, 2 or 3");
    at_clear_error(t);
    ck_assert(isnan(ngram_nats(t, 1, 1, 2, abab, 8, abab, 2)));
    ck_assert_str_eq(at_error(t), "ngram: 2 held-out symbols, but at least 3 are needed");
    at_close(t);
}
END_TEST

START_TEST(symbols_outside_of_the_vocabulary_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const unsigned char text[] = {0, 1, 200, 1};
    ck_assert(isnan(ngram_nats(t, 3, 1, 2, text, 4, abab, 8)));
    ck_assert_str_eq(at_error(t), "ngram: symbol 2 of the training text is 200, but vocab is 2");
    at_clear_error(t);
    ck_assert(isnan(ngram_nats(t, 3, 1, 2, abab, 8, NULL, 8)));
    ck_assert_str_eq(at_error(t), "ngram: the held-out text is NULL");
    at_close(t);
}
END_TEST

SUITE(examples_ngram, unigram_of_a_fair_coin_is_log_2, bigram_counts_pairs_and_smooths_them,
      trigram_of_a_strict_alternation_is_nearly_certain, a_symbol_never_seen_keeps_a_finite_price,
      the_tables_are_given_back, bad_orders_and_sizes_are_named,
      symbols_outside_of_the_vocabulary_are_named)
