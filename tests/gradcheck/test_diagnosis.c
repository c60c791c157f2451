/* test_diagnosis.c -- what the wrong elements of a gradient say together. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gradcheck/checker.h"
#include "kernels/random.h"
#include "test.h"

#define PART_OF(its_name, ...)                                                                     \
    {                                                                                              \
        .name = (its_name), .count = at_count(at_shape_of(__VA_ARGS__)),                           \
        .shape = at_shape_of(__VA_ARGS__)                                                          \
    }

enum { E = 24 };
static const double some_n[E] = {0.3, -1.2, 0.8,  2.1, -0.4, 1.7,  -2.3, 0.9, 1.1, -0.6, 0.5, 1.9,
                                 1.4, -0.7, -1.6, 0.2, 2.6,  -1.9, 1.3,  0.4, 0.7, -2.2, 1.8, -1.1};

typedef struct {
    double a[E], n[E], bound[E], x[E];
    bool wrong[E], known[E];
    at_elements all;
    char text[ATTIC_DIAGNOSIS];
} by_hand;

/* n as above, a = n */
static by_hand all_right(void)
{
    by_hand h = {0};
    for (int e = 0; e < E; e++) {
        h.a[e] = h.n[e] = some_n[e];
        h.x[e] = some_n[(5 * e + 1) % E] + 0.1 * e;
        h.bound[e] = 1e-9;
        h.known[e] = true;
    }
    return h;
}

/* of x [4,6] */
static int row_of(int e)
{
    return e / 6;
}

static const char *said_of(by_hand *h, const at_gradcheck_part *parts,
                           const at_gradcheck_size *sizes)
{
    for (int e = 0; e < E; e++) h->wrong[e] = h->known[e] && !(fabs(h->a[e] - h->n[e]) < 1e-6);
    h->all.count = E;
    h->all.x = h->x;
    h->all.a = h->a;
    h->all.n = h->n;
    h->all.bound = h->bound;
    h->all.wrong = h->wrong;
    h->all.known = h->known;
    h->all.parts = parts;
    h->all.sizes = sizes;
    at_diagnose(&h->all, h->text);
    return h->text;
}

START_TEST(the_first_line_says_which_inputs_are_right)
{
    const at_gradcheck_part parts[] = {
        PART_OF("q", 2, 4), PART_OF("k", 2, 4), PART_OF("v", 2, 4), {0}};
    by_hand h = all_right();
    ck_assert_str_eq(said_of(&h, parts, NULL), "");
    for (int e = 8; e < 16; e++) h.a[e] += 0.1 * e * e;
    ck_assert_str_eq(said_of(&h, parts, NULL), "k is wrong, q, v are right");
    for (int e = 16; e < 24; e++) h.known[e] = false;
    ck_assert_str_eq(said_of(&h, parts, NULL), "k is wrong, q is right, v is not known");
    for (int e = 0; e < 8; e++) h.a[e] = (double)NAN;
    ck_assert_str_eq(said_of(&h, parts, NULL), "q, k are wrong, v is not known\n"
                                               "q: not written, or not a number");
}
END_TEST

START_TEST(each_wrong_input_has_its_own_line)
{
    const at_gradcheck_part parts[] = {
        PART_OF("q", 2, 4), PART_OF("k", 2, 4), PART_OF("v", 2, 4), {0}};
    by_hand h = all_right();
    for (int e = 0; e < 16; e++) h.a[e] = 2 * h.n[e];
    for (int e = 16; e < 24; e++) h.a[e] = 0;
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "q, k, v are wrong\nq, k: 2 times the derivative\nv: all 0");
}
END_TEST

static const char *said_of_factor(double f, const at_gradcheck_size *sizes)
{
    static by_hand h;
    h = all_right();
    for (int e = 0; e < E; e++) h.a[e] = f * h.n[e];
    return said_of(&h, NULL, sizes);
}

START_TEST(a_factor_has_its_name)
{
    const at_gradcheck_size sizes[] = {{"D", 5}, {"Dv", 7}, {"R", 3}, {"p", 0.1}, {NULL, 0}};
    const struct {
        double f;
        const char *name;
    } some[] = {{1 / sqrt(5), "1/sqrt(D) = 0.4472"},
                {1. / 3, "1/R = 0.3333"},
                {log(2), "ln 2 = 0.6931"},
                {1 / log(2), "log2 e = 1.443"},
                {sqrt(5. / 7), "sqrt(D/Dv) = 0.8452"},
                {0.9, "(1 - p) = 0.9"},
                {1 / 0.9, "1/(1 - p) = 1.111"},
                {35, "D Dv = 35"},
                {0.5, "1/2 = 0.5"},
                {-1, "-1"},
                {-sqrt(5), "-sqrt(D) = -2.236"},
                {1 / log(2) / sqrt(5), "log2 e/sqrt(D) = 0.6452"},
                {1.0123, "1.012"}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        char wanted[200];
        snprintf(wanted, sizeof wanted, "x is wrong: %s times the derivative", some[i].name);
        ck_assert_str_eq(said_of_factor(some[i].f, sizes), wanted);
    }
}
END_TEST

START_TEST(sizes_that_cannot_be_told_apart_are_all_named)
{
    const at_gradcheck_size sizes[] = {{"D", 4}, {"N", 13}, {NULL, 0}};
    ck_assert_str_eq(said_of_factor(2, sizes),
                     "x is wrong: 2 or sqrt(D) = 2 times the derivative\n"
                     "D = 5, Dv = 7, T = 11, N = 13, H = 6, G = 2 would tell these apart");
    const at_gradcheck_size good[] = {{"D", 5}, {"G", 2}, {"eps", 1e-5}, {NULL, 0}};
    ck_assert_str_eq(said_of_factor(2, good), "x is wrong: 2 or G = 2 times the derivative");
    ck_assert_str_eq(said_of_factor(-1, good), "x is wrong: -1 times the derivative");
}
END_TEST

/* n is known to 1e-3, or to 0.05, and off by that. */
static const char *said_of_noisy_factor(double f, double noise)
{
    const at_gradcheck_size sizes[] = {{"D", 5}, {"N", 13}, {NULL, 0}};
    static by_hand h;
    h = all_right();
    for (int e = 0; e < E; e++) {
        h.a[e] = f * h.n[e];
        h.bound[e] = noise;
        h.n[e] += noise * (2 * at_random_unit((at_stream){5, 1}, (uint64_t)e) - 1);
    }
    return said_of(&h, NULL, sizes);
}

START_TEST(a_factor_is_named_if_it_is_known_well)
{
    ck_assert_ptr_nonnull(strstr(said_of_noisy_factor(1 / sqrt(5), 1e-3), ": 1/sqrt(D) = 0.44"));
    ck_assert_ptr_nonnull(strstr(said_of_noisy_factor(13, 1e-3), ": N = 1"));
    ck_assert_ptr_nonnull(strstr(said_of_noisy_factor(0.46, 0.05), "x is wrong: 0.4"));
    ck_assert_ptr_nonnull(strstr(said_of_noisy_factor(0.46, 0.05), " times the derivative"));
}
END_TEST

START_TEST(the_factor_of_one_element_needs_a_name)
{
    const at_gradcheck_size sizes[] = {{"D", 5}, {NULL, 0}};
    const at_gradcheck_part parts[] = {PART_OF("scale", 1), PART_OF("rest", 23), {0}};
    by_hand h = all_right();
    h.a[0] *= sqrt(5);
    ck_assert_str_eq(said_of(&h, parts, sizes),
                     "scale is wrong, rest is right: sqrt(D) = 2.236 times the derivative");
    h.a[0] *= 1.234;
    ck_assert_str_eq(said_of(&h, parts, sizes), "scale is wrong, rest is right");
}
END_TEST

START_TEST(the_length_of_an_axis_names_a_factor)
{
    const at_gradcheck_part parts[] = {PART_OF("w", 3, 8), {0}};
    by_hand h = all_right();
    for (int e = 0; e < E; e++) h.a[e] = h.n[e] / 8;
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "w is wrong: 1/(axis 1 of w) = 0.125 times the derivative");
}
END_TEST

/* What is said of x [4,6] if a is 0 in those rows and columns whose bit is set */
static const char *said_of_zeros(unsigned rows, unsigned columns)
{
    const at_gradcheck_part parts[] = {PART_OF("x", 4, 6), {0}};
    static by_hand h;
    h = all_right();
    for (int e = 0; e < E; e++) h.a[e] = rows >> e / 6 & columns >> e % 6 & 1 ? 0 : h.a[e];
    said_of(&h, parts, NULL);
    ck_assert_int_eq(strncmp(h.text, "x is wrong: ", 12), 0);
    return h.text + 12;
}

START_TEST(it_says_where_the_wrong_ones_are)
{
    ck_assert_str_eq(said_of_zeros(15, 63), "all 0");
    ck_assert_str_eq(said_of_zeros(15, 4), "only where axis 1 is 2: all 0");
    ck_assert_str_eq(said_of_zeros(15, 32), "only where axis 1 is 5, the last: all 0");
    ck_assert_str_eq(said_of_zeros(12, 63), "only where axis 0 is 2 or more: all 0");
    ck_assert_str_eq(said_of_zeros(3, 63), "only where axis 0 is 1 or less: all 0");
    ck_assert_str_eq(said_of_zeros(15, 28), "only where axis 1 is 2 to 4: all 0");
    ck_assert_str_eq(said_of_zeros(15, 21), "only where axis 1 is 0, 2, 4 ...: all 0");
    ck_assert_str_eq(said_of_zeros(15, 18), "only where axis 1 is 1 or 4: all 0");
    ck_assert_str_eq(said_of_zeros(4, 48), "only where axis 0 is 2 and axis 1 is 4 or more: all 0");
    ck_assert_str_eq(said_of_zeros(1, 32),
                     "only where axis 0 is 0 and axis 1 is 5, the last: all 0");
}
END_TEST

START_TEST(an_index_without_a_derivative_is_not_called_right)
{
    const at_gradcheck_part parts[] = {PART_OF("x", 4, 6), {0}};
    by_hand h = all_right();
    for (int e = 0; e < E; e++) h.a[e] = e < 6 ? h.n[e] = 0 : 0;
    ck_assert_str_eq(said_of(&h, parts, NULL), "x is wrong: all 0");
    for (int e = 0; e < 6; e++) h.a[e] = h.n[e] = 1e-6;
    ck_assert_str_eq(said_of(&h, parts, NULL), "x is wrong: all 0");
    h = all_right();
    for (int e = 12; e < 18; e++) h.a[e] = e >= 15 ? h.n[e] = 0 : 0;
    ck_assert_str_eq(said_of(&h, parts, NULL), "x is wrong: only where axis 0 is 2: all 0");
}
END_TEST

START_TEST(a_shape_of_other_elements_is_one_axis)
{
    const at_shape bad[] = {{2, {-4, -6}}, {9, {4, 6, 1, 1, 1, 1, 1, 1}}, {2, {5, 6}}, {-1, {24}}};
    by_hand h = all_right();
    for (int e = 12; e < E; e++) h.a[e] = 0;
    for (int i = 0; i < 4; i++) {
        const at_gradcheck_part parts[] = {{.name = "x", .count = E, .shape = bad[i]}, {0}};
        ck_assert_str_eq(said_of(&h, parts, NULL),
                         "x is wrong: only where axis 0 is 12 or more: all 0");
    }
}
END_TEST

START_TEST(a_diagonal_is_seen)
{
    const at_gradcheck_part parts[] = {PART_OF("S", 4, 6), {0}};
    by_hand h = all_right();
    for (int e = 0; e < E; e++)
        if (e % 6 == e / 6 + 1) h.n[e] = 0;
    ck_assert_str_eq(
        said_of(&h, parts, NULL),
        "S is wrong: only where axis 1 - axis 0 is 1: should be 0: is a mask missing?");
    h = all_right();
    h.n[1] = h.n[8] = 0;
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "S is wrong: only where axis 0 is 1 or less and axis 1 is 1 to 2: "
                     "should be 0: is a mask missing?");
}
END_TEST

START_TEST(the_derivative_of_another_index_is_recognised)
{
    const at_gradcheck_part parts[] = {PART_OF("x", 4, 6), {0}};
    by_hand h = all_right(), right = h;
    for (int e = 0; e < E; e++) h.a[e] = right.n[e / 6 * 6 + 5 - e % 6];
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "x is wrong: the derivative, but axis 1 is reversed");
    for (int e = 0; e < E; e++) h.a[e] = right.n[(e + 18) % E];
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "x is wrong: the derivative, but axis 0 is shifted by 1");
    for (int e = 0; e < 6; e++) h.a[e] = 0;
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "x is wrong: the derivative, but axis 0 is shifted by 1");
    for (int e = 0; e < E; e++) h.a[e] = right.n[(e + 6) % E];
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "x is wrong: the derivative, but axis 0 is shifted by -1");
    for (int e = 0; e < E; e++) h.a[e] = right.n[e ^ 1];
    ck_assert_str_eq(said_of(&h, NULL, NULL),
                     "x is wrong: the derivative, but axis 0 is interchanged in pairs");
    for (int e = 0; e < E; e++) h.a[e % 6 * 4 + e / 6] = right.n[e];
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "x is wrong: the derivative, but axis 0 and axis 1 are transposed");
}
END_TEST

START_TEST(a_missing_mean_is_recognised)
{
    const at_gradcheck_part parts[] = {PART_OF("x", 4, 6), {0}};
    by_hand h = all_right();
    for (int e = 0; e < E; e++) h.a[e] = h.n[e] + 0.3 + 0.2 * row_of(e);
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "x is wrong: a - n is the same along axis 1: a mean is missing, or a sum");
    for (int e = 0; e < E; e++) h.a[e] = h.n[e] + (0.3 + 0.2 * row_of(e)) * h.x[e];
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "x is wrong: a - n is a multiple of x along axis 1: the term of a square");
    for (int e = 0; e < E; e++) h.a[e] = h.n[e] + (0.3 + 0.2 * row_of(e)) * (h.x[e] - 0.5);
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "x is wrong: a - n is b x + c along axis 1: the terms of mean and variance");
    for (int e = 0; e < E; e++) h.a[e] = h.n[e] * (0.3 + 0.2 * row_of(e));
    ck_assert_str_eq(said_of(&h, parts, NULL),
                     "x is wrong: a / n is the same along axis 1: a factor of each row is missing");
}
END_TEST

START_TEST(an_element_without_n_does_not_matter)
{
    const at_gradcheck_part parts[] = {PART_OF("x", 4, 6), {0}};
    by_hand h = all_right();
    for (int e = 0; e < E; e++) h.a[e] = h.n[e] + 0.3 + 0.2 * row_of(e);
    h.n[8] = (double)NAN;
    h.known[8] = false;
    ck_assert_ptr_nonnull(strstr(said_of(&h, parts, NULL), ": a - n is the same along axis 1"));
}
END_TEST

START_TEST(two_elements_make_no_mean)
{
    const at_gradcheck_part parts[] = {PART_OF("x", 12, 2), {0}};
    by_hand h = all_right();
    h.a[6] += 0.5;
    h.a[7] += 0.5;
    ck_assert_str_eq(said_of(&h, parts, NULL), "x is wrong: only where axis 0 is 3");
}
END_TEST

START_TEST(a_long_axis_has_no_indices)
{
    enum { LONG = 600 };
    static double a[LONG], n[LONG], bound[LONG];
    static bool wrong[LONG], known[LONG];
    for (int e = 0; e < LONG; e++) {
        n[e] = 1 + at_random_unit((at_stream){2, 1}, (uint64_t)e);
        known[e] = true;
        wrong[e] = e >= 300;
        a[e] = wrong[e] ? 0 : n[e];
    }
    const at_elements all = {
        .count = LONG, .a = a, .n = n, .bound = bound, .wrong = wrong, .known = known};
    char text[ATTIC_DIAGNOSIS];
    at_diagnose(&all, text);
    ck_assert_str_eq(text, "x is wrong: 300 of 600 elements: all 0");
}
END_TEST

START_TEST(dy_0_for_all_of_dy_is_recognised)
{
    by_hand h = all_right();
    double of_first[E];
    for (int e = 0; e < E; e++) of_first[e] = h.a[e] = some_n[E - 1 - e] * h.x[e];
    h.all.a_of_first = of_first;
    ck_assert_str_eq(said_of(&h, NULL, NULL), "x is wrong: as if every dy were dy[0]");
    of_first[7] *= 1.01;
    ck_assert_str_eq(said_of(&h, NULL, NULL), "x is wrong");
}
END_TEST

START_TEST(a_few_wrong_elements_are_counted)
{
    by_hand h = all_right();
    for (int e = 1; e < E; e += 4) h.a[e] += 0.01 * e * e;
    ck_assert_str_eq(said_of(&h, NULL, NULL), "x is wrong: 6 of 24 elements");
}
END_TEST

START_TEST(what_is_wrong_by_chance_is_given_no_name)
{
    const at_gradcheck_part parts[] = {PART_OF("x", 4, 6), {0}};
    const at_gradcheck_size sizes[] = {{"D", 5}, {"Dv", 7}, {"T", 11}, {"N", 13},
                                       {"H", 6}, {"G", 2},  {NULL, 0}};
    int named = 0;
    for (uint64_t draw = 0; draw < 1000; draw++) {
        by_hand h = all_right();
        for (int e = 0; e < E; e++)
            h.a[e] = at_random_unit((at_stream){draw, 1}, (uint64_t)e) - 0.5;
        ck_assert_str_eq(said_of(&h, parts, sizes), "x is wrong");
        double f = exp(8 * at_random_unit((at_stream){draw, 2}, 0) - 4);
        named += strstr(said_of_factor(f, sizes), " = ") != NULL;
    }
    ck_assert_msg(named <= 30, "%d factors of 1000 have a name", named);
}
END_TEST

START_TEST(what_is_hardly_known_is_given_no_name)
{
    const at_gradcheck_part parts[] = {PART_OF("x", 4, 6), {0}};
    for (uint64_t draw = 0; draw < 1000; draw++) {
        by_hand h = all_right();
        for (int e = 0; e < E; e++) {
            h.a[e] = h.n[e] + 2 + 2 * at_random_unit((at_stream){draw, 1}, (uint64_t)e);
            h.bound[e] = draw % 2 ? 1 : 10;
        }
        ck_assert_str_eq(said_of(&h, parts, NULL), "x is wrong");
    }
}
END_TEST

START_TEST(a_long_story_is_cut)
{
    char name[E][60];
    at_gradcheck_part parts[E + 1] = {{0}};
    at_gradcheck_size sizes[2 * E + 1] = {{0}};
    by_hand h = all_right();
    for (int e = 0; e < E; e++) {
        snprintf(name[e], sizeof name[e], "the parameter of the layer with the number %d", e);
        parts[e] = (at_gradcheck_part){.name = name[e], .count = 1};
        h.a[e] += 0.123 + 0.01 * e * e;
    }
    for (int i = 0; i < 2 * E; i++) sizes[i] = (at_gradcheck_size){name[i % E], 30 + i};
    said_of(&h, parts, sizes);
    ck_assert_uint_lt(strlen(h.text), ATTIC_DIAGNOSIS);
    ck_assert_ptr_nonnull(strstr(h.text, " and 8 more are wrong; these are the first 16 inputs"));
}
END_TEST

SUITE(gradcheck_diagnosis, the_first_line_says_which_inputs_are_right,
      each_wrong_input_has_its_own_line, a_factor_has_its_name,
      sizes_that_cannot_be_told_apart_are_all_named, a_factor_is_named_if_it_is_known_well,
      the_factor_of_one_element_needs_a_name, the_length_of_an_axis_names_a_factor,
      it_says_where_the_wrong_ones_are, an_index_without_a_derivative_is_not_called_right,
      a_shape_of_other_elements_is_one_axis, a_diagonal_is_seen,
      the_derivative_of_another_index_is_recognised, a_missing_mean_is_recognised,
      an_element_without_n_does_not_matter, two_elements_make_no_mean, a_long_axis_has_no_indices,
      what_is_hardly_known_is_given_no_name, dy_0_for_all_of_dy_is_recognised,
      a_few_wrong_elements_are_counted, what_is_wrong_by_chance_is_given_no_name,
      a_long_story_is_cut)
