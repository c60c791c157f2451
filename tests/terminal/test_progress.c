/* test_progress.c -- the line that is drawn, with a clock that the test turns. */
#include "terminal/progress.h"

#include <locale.h>
#include <string.h>

#include "test.h"

static double now;
static char text[2000];

static double test_clock(void)
{
    return now;
}

/* Progress into `text`, on a terminal of so many columns (0: none). */
static at_progress start(int columns, ptrdiff_t total)
{
    memset(text, 0, sizeof text);
    now = 100;
    FILE *f = fmemopen(text, sizeof text, "w");
    at_progress p = at_progress_start(f, "training", total);
    p.clock = test_clock;
    p.started = now;
    p.drawn = now - 1;
    p.as = (at_terminal){.columns = columns, .is_terminal = columns > 0};
    return p;
}

START_TEST(a_terminal_shows_bar_rate_time_and_text)
{
    at_progress p = start(80, 100);
    now += 10;
    at_progress_step(&p, 40, "loss %.2f", 1.5);
    fclose(p.out);
    ck_assert_str_eq(text, "\rtraining  ###########................  "
                           "40/100  40%  4.0/s  0:15 left  loss 1.50\033[K");
}
END_TEST

static const char *drawn_in(int columns)
{
    at_progress p = start(columns, 100);
    now += 10;
    at_progress_step(&p, 40, "loss %.2f", 1.5);
    fclose(p.out);
    return text;
}

START_TEST(a_narrow_terminal_keeps_what_the_caller_says)
{
    ck_assert_str_eq(drawn_in(61), "\rtraining  ###.....  40/100  40%  4.0/s  0:15 left"
                                   "  loss 1.50\033[K");
    ck_assert_str_eq(drawn_in(51), "\rtraining  40/100  40%  4.0/s  0:15 left  loss 1.50\033[K");
    ck_assert_str_eq(drawn_in(46), "\rtraining  40/100  40%  0:15 left  loss 1.50\033[K");
    ck_assert_str_eq(drawn_in(38), "\rtraining  40%  0:15 left  loss 1.50\033[K");
    ck_assert_str_eq(drawn_in(26), "\rtraining  40%  loss 1.50\033[K");
    ck_assert_str_eq(drawn_in(20), "\rtraining  loss 1.50\033[K");
    ck_assert_str_eq(drawn_in(16), "\rtraini~  loss ~\033[K");
    ck_assert_str_eq(drawn_in(1), "\r\033[K");
}
END_TEST

START_TEST(a_line_break_in_a_text_does_not_break_the_line)
{
    at_progress p = start(80, 100);
    at_progress_step(&p, 40, "%s", "a\nb\x1b[2J");
    fclose(p.out);
    ck_assert_ptr_null(strchr(text, '\n'));
    ck_assert_ptr_nonnull(strstr(text, "  a\\nb\\x1B[2J\033[K"));
}
END_TEST

START_TEST(redraws_are_at_most_ten_a_second)
{
    at_progress p = start(80, 1000);
    for (int i = 1; i <= 500; i++) {
        now += 0.001;
        at_progress_step(&p, i, "x");
    }
    fclose(p.out);
    int redraws = 0;
    for (const char *c = text; *c; c++) redraws += *c == '\r';
    ck_assert(redraws >= 4 && redraws <= 6);
}
END_TEST

START_TEST(a_bar_that_was_cleared_is_drawn_at_the_next_step)
{
    at_progress p = start(26, 100);
    now += 10;
    at_progress_step(&p, 40, "a");
    at_progress_clear(&p);
    fputs("a line\n", p.out);
    at_progress_step(&p, 40, "b");
    fclose(p.out);
    ck_assert_str_eq(text, "\rtraining  ###....  40%  a\033[K\r\033[Ka line\n"
                           "\rtraining  ###....  40%  b\033[K");
    p = start(0, 100); /* a file has no bar */
    at_progress_clear(&p);
    fclose(p.out);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(a_file_gets_one_line_per_tenth)
{
    at_progress p = start(0, 50);
    for (int i = 1; i <= 50; i++) {
        now += 2;
        at_progress_step(&p, i, "loss %d", i);
    }
    at_progress_end(&p);
    fclose(p.out);
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    ck_assert_int_eq(lines, 10);
    ck_assert(strstr(text, "training  5/50  10%  2.0 s each  1:30 left  loss 5\n") == text);
    ck_assert_ptr_nonnull(strstr(text, "training  50/50 100%  2.0 s each  in 1:40  loss 50\n"));
    ck_assert_ptr_null(strchr(text, '\033'));
}
END_TEST

START_TEST(a_file_learns_how_it_ended)
{
    at_progress p = start(0, 1000);
    at_progress_step(&p, 123, NULL);
    at_progress_step(&p, 150, "stopped");
    at_progress_end(&p);
    fclose(p.out);
    ck_assert_str_eq(text, "training  123/1000  12%\ntraining  150/1000  15%  stopped\n");
}
END_TEST

START_TEST(a_percent_is_counted_where_it_is_reached)
{
    for (int i = 1; i <= 100; i++) {
        char percent[8];
        at_progress p = start(80, 100);
        at_progress_step(&p, i, NULL);
        fclose(p.out);
        snprintf(percent, sizeof percent, " %d%%", i);
        ck_assert_msg(strstr(text, percent), "%d of 100 is \"%s\"", i, text);
    }
}
END_TEST

START_TEST(the_end_is_always_drawn)
{
    at_progress p = start(80, 3);
    at_progress_step(&p, 1, "a");
    at_progress_step(&p, 3, "b"); /* too soon to be drawn */
    now += 4000;
    at_progress_end(&p);
    fclose(p.out);
    ck_assert_ptr_nonnull(strstr(text, "3/3 100%  1333.3 s each  in 1:06:40  b\033[K\n"));
}
END_TEST

START_TEST(no_work_writes_nothing)
{
    at_progress p = start(80, 0);
    at_progress_step(&p, 1, "x");
    at_progress_end(&p);
    fclose(p.out);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(a_decimal_comma_does_not_show)
{
    use_decimal_comma();
    ck_assert_str_eq(drawn_in(38), "\rtraining  40%  0:15 left  loss 1.50\033[K");
    setlocale(LC_NUMERIC, "C");
}
END_TEST

START_TEST(without_a_file_or_a_name_nothing_breaks)
{
    at_progress p = at_progress_start(NULL, NULL, 3);
    at_progress_step(&p, 1, "x");
    at_progress_end(&p);
    char line[80] = "";
    FILE *f = fmemopen(line, sizeof line, "w");
    p = at_progress_start(f, NULL, 1);
    at_progress_step(&p, 1, "x");
    fclose(f);
    ck_assert(strstr(line, "  1/1 100%") == line);
}
END_TEST

SUITE(terminal_progress, a_terminal_shows_bar_rate_time_and_text,
      a_narrow_terminal_keeps_what_the_caller_says, a_line_break_in_a_text_does_not_break_the_line,
      redraws_are_at_most_ten_a_second, a_bar_that_was_cleared_is_drawn_at_the_next_step,
      a_file_gets_one_line_per_tenth, a_file_learns_how_it_ended,
      a_percent_is_counted_where_it_is_reached, the_end_is_always_drawn, no_work_writes_nothing,
      without_a_file_or_a_name_nothing_breaks, a_decimal_comma_does_not_show)
