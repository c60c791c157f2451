/* test_options.c -- which texts are numbers, for all programs alike, and what a command line that is
 * wrong is told. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attic.h"
#include "common/options.h"
#include "test.h"

static const struct {
    const char *text;
    bool whole, real;
    double value;
} numbers[] = {
    {"5", true, true, 5},
    {"+5", true, true, 5},
    {"-5", true, true, -5},
    {"007", true, true, 7},
    {"-0", true, true, 0},
    {"2147483647", true, true, 2147483647},
    {"-2147483648", true, true, -2147483648.0},
    {"2147483648", false, true, 2147483648.0},
    {"99999999999999999999", false, true, 1e20},
    {"1e3", false, true, 1000},
    {"1E-3", false, true, 1e-3},
    {"0.1", false, true, 0.1},
    {".5", false, true, 0.5},
    {"5.", false, true, 5},
    {"-2.5e+2", false, true, -250},
    {"1e-999", false, true, 0},
    {"", false, false, 0},
    {"-", false, false, 0},
    {"+", false, false, 0},
    {".", false, false, 0},
    {"e3", false, false, 0},
    {"--5", false, false, 0},
    {" 5", false, false, 0},
    {"5 ", false, false, 0},
    {"5\n", false, false, 0},
    {"0x10", false, false, 0},
    {"0X10", false, false, 0},
    {"0x", false, false, 0},
    {"0x1p4", false, false, 0},
    {"1e999", false, false, 0},
    {"-1e999", false, false, 0},
    {"nan", false, false, 0},
    {"inf", false, false, 0},
    {"-inf", false, false, 0},
    {"infinity", false, false, 0},
    {"1e", false, false, 0},
    {"1e+", false, false, 0},
    {"1,5", false, false, 0},
    {"5x", false, false, 0},
    {"1_000", false, false, 0},
    {"\xd9\xa5", false, false, 0}, /* a digit, but not a decimal one of C */
};

START_TEST(a_number_is_decimal_digits_and_for_a_real_a_point_and_an_exponent)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *text = numbers[i].text;
        int n = 77;
        double x = 77;
        ck_assert_msg(read_int(text, -2147483647 - 1, 2147483647, &n) == numbers[i].whole, "%s",
                      text);
        ck_assert_msg(read_real(text, -1e300, 1e300, &x) == numbers[i].real, "%s", text);
        ck_assert_msg(n == (numbers[i].whole ? numbers[i].value : 77), "%s: %d", text, n);
        ck_assert_msg(x == (numbers[i].real ? numbers[i].value : 77), "%s: %g", text, x);
    }
}
END_TEST

START_TEST(a_number_out_of_its_range_is_none)
{
    int n = 77;
    double x = 77;
    ck_assert(!read_int("0", 1, 9, &n) && !read_int("10", 1, 9, &n) && n == 77);
    ck_assert(read_int("1", 1, 9, &n) && n == 1 && read_int("9", 1, 9, &n) && n == 9);
    ck_assert(!read_real("0.5", 1, 2, &x) && !read_real("2.0001", 1, 2, &x) && x == 77);
    ck_assert(read_real("2", 1, 2, &x) && x == 2);
}
END_TEST

START_TEST(a_number_ends_where_its_text_goes_on)
{
    const char *list = "12,-3.5/7";
    double x;
    ck_assert(read_number(&list, false, &x) && x == 12 && strcmp(list, ",-3.5/7") == 0);
    list++;
    ck_assert(read_number(&list, true, &x) && x == -3.5 && strcmp(list, "/7") == 0);
    ck_assert(!read_number(&list, true, &x) && strcmp(list, "/7") == 0);
}
END_TEST

/* The exit status of a program with --steps, 1 .. 1e9, --rate, 0 .. 1, and this command line; -1: it
 * goes on.  Its stdout and stderr go to `said`. */
static char said[2048];
static int status_of_command(const char *word, const char *value)
{
    FILE *out = tmpfile();
    const int threads = at_thread_count();
    fflush(NULL);
    at_threads(1); /* as in train/running.h */
    pid_t child = fork();
    at_threads(threads);
    if (child == 0) {
        int steps = 20;
        double rate = 0.25;
        const option table[] = {{"steps", &steps, NULL, NULL, 1, 1e9, "how many"},
                                {"rate", NULL, &rate, NULL, 0, 1, "how fast"},
                                {0}};
        char *argv[] = {"a/prog", (char *)word, (char *)value, NULL};
        dup2(fileno(out), 1), dup2(fileno(out), 2);
        parse_options(value ? 3 : 2, argv, "usage: prog\nIt counts.\n", table, 0);
        printf("steps %d rate %g", steps, rate);
        fflush(NULL);
        _exit(99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    rewind(out);
    said[fread(said, 1, sizeof said - 1, out)] = 0;
    fclose(out);
    return WEXITSTATUS(status) == 99 ? -1 : WEXITSTATUS(status);
}

START_TEST(what_is_no_number_is_refused_with_the_range_and_the_text)
{
    static const char *const wrong[] = {"0x10",  "1e3", "-",   "",           " 5", "5 ",
                                        "1e999", "nan", "inf", "2000000000", "0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[120];
        snprintf(
            line, sizeof line,
            "prog: --steps must be a whole number from 1 to 1000000000, in digits, not \"%s\"\n",
            wrong[i]);
        ck_assert_int_eq(status_of_command("--steps", wrong[i]), 2);
        ck_assert_str_eq(said, line);
    }
    ck_assert_int_eq(status_of_command("--rate=0x1", NULL), 2);
    ck_assert_str_eq(
        said, "prog: --rate must be a number from 0 to 1, such as 0.5 or 1e-3, not \"0x1\"\n");
    ck_assert_int_eq(status_of_command("--rate=", NULL), 2);
    ck_assert_int_eq(status_of_command("--rate=1e999", NULL), 2);
}
END_TEST

START_TEST(what_is_a_number_is_taken)
{
    ck_assert_int_eq(status_of_command("--steps", "+5"), -1);
    ck_assert_str_eq(said, "steps 5 rate 0.25");
    ck_assert_int_eq(status_of_command("--steps=1000000000", NULL), -1);
    ck_assert_str_eq(said, "steps 1000000000 rate 0.25");
    ck_assert_int_eq(status_of_command("--rate", "1e-3"), -1);
    ck_assert_str_eq(said, "steps 20 rate 0.001");
}
END_TEST

START_TEST(the_help_says_what_a_number_is)
{
    ck_assert_int_eq(status_of_command("--help", NULL), 0);
    ck_assert(strstr(said, "In parentheses: the default.  N: decimal digits, 1000 and not 1e3; X: "
                           "0.001 or 1e-3.\n"));
    ck_assert(strstr(said, "--steps N          how many (20)\n"));
    ck_assert(strstr(said, "--rate X           how fast (0.25)\n"));
}
END_TEST

SUITE(examples_options, a_number_is_decimal_digits_and_for_a_real_a_point_and_an_exponent,
      a_number_out_of_its_range_is_none, a_number_ends_where_its_text_goes_on,
      what_is_no_number_is_refused_with_the_range_and_the_text, what_is_a_number_is_taken,
      the_help_says_what_a_number_is)
