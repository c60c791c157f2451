/* test_term.c -- pictures as text, compared as a whole. */
#include "plot/term.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static const at_terminal ascii = {.columns = 80}, unicode = {.columns = 80, .unicode = true},
                         coloured = {.columns = 80, .unicode = true, .colours = 1 << 24};

static char text[20000];

static void term_heatmap(at_terminal as, const at_heatmap *h)
{
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text, "w");
    ck_assert(at_term_heatmap(f, as, h));
    fclose(f);
}

static void term_chart(at_terminal as, const at_chart *c)
{
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text, "w");
    ck_assert(at_term_chart(f, as, c));
    fclose(f);
}

static double weights[] = {1, 0, 0, 0.25, 0.75, 0, 0.1, 0.2, 0.7};
static unsigned char causal[] = {1, 0, 0, 1, 1, 0, 1, 1, 1};
static const char *const words[] = {"the", "cat", "\n"};

static at_heatmap attention(const at_subplot *p)
{
    return (at_heatmap){.title = "Head 0",
                        .subplots = p,
                        .n_subplots = 1,
                        .row_label = "Query",
                        .col_label = "Key",
                        .row_names = words,
                        .col_names = words};
}

static at_subplot causal_panel(void)
{
    return (at_subplot){.data = weights, .rows = 3, .cols = 3, .keep = causal};
}

START_TEST(numbers_are_written_where_they_fit)
{
    at_subplot p = causal_panel();
    at_heatmap h = attention(&p);
    term_heatmap(ascii, &h);
    ck_assert_str_eq(text, "Head 0\n"
                           "Query (down)  Key (across)\n"
                           "      the   cat    \\n \n"
                           "the  1.00    //    // \n"
                           "cat  0.25  0.75    // \n"
                           " \\n  0.10  0.20  0.70 \n"
                           "    0  .:-=+*#%@ 1   // masked\n");
    term_heatmap(unicode, &h);
    ck_assert_str_eq(text, "Head 0\n"
                           "Query ↓  Key →\n"
                           "      the   cat     ↵ \n"
                           "the █1.00    ╱╱    ╱╱ \n"
                           "cat ░0.25 ▓0.75    ╱╱ \n"
                           "  ↵  0.10 ░0.20 ▓0.70 \n"
                           "    0  ░▒▓█ 1   ╱╱ masked\n");
}
END_TEST

START_TEST(shades_stand_for_numbers_and_names_stand_upright)
{
    at_subplot p = causal_panel();
    at_heatmap h = attention(&p);
    h.no_values = true;
    h.title = NULL;
    term_heatmap(ascii, &h);
    ck_assert_str_eq(text, "Query (down)  Key (across)\n"
                           "    t c   \n"
                           "    h a \\ \n"
                           "    e t n \n"
                           "the @@////\n"
                           "cat ::##//\n"
                           " \\n ..::**\n"
                           "    0  .:-=+*#%@ 1   // masked\n");
}
END_TEST

START_TEST(shades_use_all_of_their_range)
{
    double small[] = {0, 0.01, 0.02, 0.03};
    at_subplot p = {.data = small, .rows = 1, .cols = 4};
    term_heatmap(ascii, &(at_heatmap){.subplots = &p, .n_subplots = 1, .no_values = true});
    ck_assert_str_eq(text, "   0 1 2 3\n"
                           "0   --**@@\n"
                           "  0  .:-=+*#%@ 0.03\n");
}
END_TEST

START_TEST(signs_can_be_told_without_colours)
{
    double v[] = {-2, -1, 0, 1, 2, (double)NAN};
    at_subplot p = {.data = v, .rows = 1, .cols = 6};
    term_heatmap(ascii, &(at_heatmap){.subplots = &p, .n_subplots = 1, .no_values = true});
    ck_assert_ptr_nonnull(strstr(text, "\n0 ==--  ++##!!\n"));
    ck_assert_ptr_nonnull(strstr(text, "  -2 =- +# 2\n"));
}
END_TEST

START_TEST(colours_are_those_of_the_svg)
{
    double v[] = {0, 1};
    at_subplot p = {.data = v, .rows = 1, .cols = 2};
    at_heatmap h = {.subplots = &p, .n_subplots = 1, .no_values = true};
    term_heatmap(coloured, &h);
    ck_assert_ptr_nonnull(strstr(text, "0 \033[48;2;68;1;84m\033[38;2;255;255;255m  \033[0m"
                                       "\033[48;2;253;231;37m\033[38;2;0;0;0m  \033[0m\n"));
    at_terminal few = coloured;
    few.colours = 256;
    term_heatmap(few, &h);
    ck_assert_ptr_nonnull(strstr(text, "\033[48;5;53m")); /* 95, 0, 95 */
    few.colours = 8;                                      /* too few: shades */
    term_heatmap(few, &h);
    ck_assert_ptr_null(strchr(text, '\033'));
}
END_TEST

static int longest_line(void)
{
    int longest = 0;
    for (const char *line = text; *line; line++) {
        int n = (int)strcspn(line, "\n");
        longest = n > longest ? n : longest;
        line += n;
    }
    return longest;
}

START_TEST(a_narrow_terminal_gets_narrow_cells_and_then_blocks)
{
    static double v[60 * 60];
    at_subplot p = {.data = v, .rows = 60, .cols = 60};
    for (int columns = 20; columns <= 200; columns += 7) {
        term_heatmap((at_terminal){.columns = columns},
                     &(at_heatmap){.subplots = &p, .n_subplots = 1});
        ck_assert_ptr_nonnull(strstr(text, columns < 62 ? "each the largest of" : "0 "));
        ck_assert_msg(longest_line() <= (columns < 45 ? 45 : columns), "%d columns", columns);
    }
}
END_TEST

START_TEST(subplots_stand_below_each_other)
{
    at_subplot p[] = {causal_panel(), {.title = "none"}, causal_panel()};
    p[0].title = "first";
    p[2].title = "third";
    term_heatmap(ascii, &(at_heatmap){.subplots = p, .n_subplots = 3});
    char *first = strstr(text, "first\n"), *none = strstr(text, "none\n(empty)\n"),
         *third = strstr(text, "third\n");
    ck_assert(first && none && third && first < none && none < third);
    ck_assert(!at_term_heatmap(NULL, ascii, &(at_heatmap){0}));
    ck_assert(!at_term_heatmap(stderr, ascii, NULL));
}
END_TEST

/* ------------------------------------------------------------------ charts --------------------- */

static double falling[] = {4, 3, 2, 1};

static at_chart loss_chart(const at_series *s, const at_level *level)
{
    return (at_chart){.title = "Loss",
                      .x_label = "step",
                      .y_label = "nats",
                      .series = s,
                      .n_series = 1,
                      .levels = level,
                      .n_levels = 1};
}

START_TEST(a_chart_in_ascii)
{
    at_series s = {.name = "training", .y = falling, .n = 4};
    at_level level = {"bigram", 2};
    at_chart c = loss_chart(&s, &level);
    term_chart((at_terminal){.columns = 40}, &c);
    ck_assert_str_eq(text, "Loss\n"
                           "* training\n"
                           "nats\n"
                           "4 |*                            \n"
                           "  | **                          \n"
                           "  |   ***                       \n"
                           "  |      **                     \n"
                           "3 |        ***                  \n"
                           "  |           **                \n"
                           "  |             ***             \n"
                           "  |                ***          \n"
                           "2 |-------------------***------- bigram\n"
                           "  |                     **      \n"
                           "  |                       ***   \n"
                           "1 |                          ***\n"
                           "  |                             \n"
                           "  |                             \n"
                           "  |                             \n"
                           "0 |                             \n"
                           "  +-----------------------------\n"
                           "   0        1        2         3  step\n");
}
END_TEST

START_TEST(a_chart_in_braille)
{
    at_series s = {.y = falling, .n = 4};
    at_level level = {"bigram", 2};
    at_chart c = loss_chart(&s, &level);
    term_chart((at_terminal){.columns = 40, .unicode = true}, &c);
    ck_assert_ptr_nonnull(strstr(text, "4 ┤"));
    ck_assert_ptr_nonnull(strstr(text, "⠢")); /* a slope */
    ck_assert_ptr_nonnull(strstr(text, "┄ bigram\n"));
    ck_assert_ptr_null(strchr(text, '\033'));
    term_chart(coloured, &c);
    ck_assert_ptr_nonnull(strstr(text, "\033[38;2;0;114;178m"));
}
END_TEST

START_TEST(dots_stay_apart_on_a_terminal)
{
    double x[] = {0, 1, 1, 2}, y[] = {0, 0, 1, 1};
    at_series s = {.name = "shapes", .x = x, .y = y, .n = 4, .dots = true};
    at_chart c = {.series = &s, .n_series = 1};
    int stars = 0;
    term_chart((at_terminal){.columns = 40}, &c);
    for (const char *p = text; *p; p++) stars += *p == '*';
    ck_assert_int_eq(stars, 4 + 1); /* and the legend's */
    term_chart((at_terminal){.columns = 40, .unicode = true}, &c);
    ck_assert_ptr_nonnull(strstr(text, "•• shapes"));
}
END_TEST

START_TEST(charts_of_anything_fit_and_do_not_crash)
{
    double y[] = {1, (double)NAN, 1e300, -1e300, (double)INFINITY, 0, 5};
    at_series s[] = {
        {.name = "odd", .y = y, .n = 7}, {.y = y, .n = 0}, {.name = "", .y = y, .n = 1}};
    at_level level[] = {{NULL, 1}, {"not shown", (double)NAN}, {"far", 1e300}};
    for (int columns = 1; columns < 300; columns += 13)
        for (int log = 0; log < 4; log++)
            term_chart((at_terminal){.columns = columns}, &(at_chart){.series = s,
                                                                      .n_series = 3,
                                                                      .levels = level,
                                                                      .n_levels = 3,
                                                                      .log_x = log & 1,
                                                                      .log_y = log & 2});
    term_chart(ascii, &(at_chart){0});
    ck_assert(!at_term_chart(NULL, ascii, &(at_chart){0}));
    ck_assert(!at_term_chart(stderr, ascii, NULL));
}
END_TEST

/* ------------------------------------------------------------------ terminals ------------------ */

START_TEST(a_file_is_no_terminal)
{
    FILE *f = fopen("/dev/null", "w");
    at_terminal as = at_terminal_of(f);
    ck_assert(!as.is_terminal && as.colours == 0 && as.columns == 80);
    fclose(f);
    as = at_terminal_of(NULL);
    ck_assert(!as.is_terminal);
}
END_TEST

START_TEST(the_locale_decides_about_unicode)
{
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
    setenv("LANG", "de_DE.utf8", 1);
    ck_assert(at_terminal_of(NULL).unicode);
    setenv("LC_CTYPE", "C", 1); /* overrides LANG */
    ck_assert(!at_terminal_of(NULL).unicode);
    setenv("LC_ALL", "en_US.UTF-8", 1); /* overrides both */
    ck_assert(at_terminal_of(NULL).unicode);
    setenv("LC_ALL", "", 1);
    setenv("LC_CTYPE", "", 1);
    setenv("LANG", "", 1);
    ck_assert(!at_terminal_of(NULL).unicode);
}
END_TEST

SUITE(plot_term, numbers_are_written_where_they_fit,
      shades_stand_for_numbers_and_names_stand_upright, shades_use_all_of_their_range,
      signs_can_be_told_without_colours, colours_are_those_of_the_svg,
      a_narrow_terminal_gets_narrow_cells_and_then_blocks, subplots_stand_below_each_other,
      a_chart_in_ascii, a_chart_in_braille, dots_stay_apart_on_a_terminal,
      charts_of_anything_fit_and_do_not_crash, a_file_is_no_terminal,
      the_locale_decides_about_unicode)
