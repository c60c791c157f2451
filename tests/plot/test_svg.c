/* test_svg.c -- the pictures are well-formed XML and show what they should. */
#include "plot/svg.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* ------------------------------------------------------------------ a small checker of XML ----- */

/* The parts of XML that we write: elements, quoted attributes, text, five entities. */
typedef struct {
    const char *at;
    const char *open[32]; /* names of the open elements */
    int depth;
} xml;

static bool is_name_letter(char c)
{
    return strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:_", c) && c;
}

static bool take_entity(xml *x)
{
    static const char *const known[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    for (int i = 0; i < 5; i++)
        if (strncmp(x->at, known[i], strlen(known[i])) == 0) {
            x->at += strlen(known[i]);
            return true;
        }
    return false;
}

static bool take_attributes(xml *x)
{
    const char *seen[32];
    for (int n = 0;; n++) {
        while (*x->at == ' ') x->at++;
        if (!is_name_letter(*x->at)) return true;
        seen[n] = x->at;
        while (is_name_letter(*x->at)) x->at++;
        for (int i = 0; i < n; i++)
            if (strncmp(seen[i], seen[n], (size_t)(x->at - seen[n]) + 1) == 0)
                return false; /* twice */
        if (strncmp(x->at, "=\"", 2) != 0) return false;
        for (x->at += 2; *x->at != '"';)
            if (*x->at == '&' ? !take_entity(x) : *x->at == '<' || (unsigned char)*x->at++ < ' ')
                return false;
        x->at++;
    }
}

static bool take_tag(xml *x)
{
    bool closes = *++x->at == '/';
    x->at += closes;
    const char *name = x->at;
    while (is_name_letter(*x->at)) x->at++;
    size_t length = (size_t)(x->at - name);
    if (length == 0) return false;
    if (closes) {
        if (x->depth-- == 0 || strncmp(x->open[x->depth], name, length) != 0) return false;
        return *x->at++ == '>';
    }
    if (!take_attributes(x)) return false;
    if (strncmp(x->at, "/>", 2) == 0) {
        x->at += 2;
        return true;
    }
    if (x->depth == 32) return false;
    x->open[x->depth++] = name;
    return *x->at++ == '>';
}

static bool take_letter(xml *x)
{
    return x->depth > 0 && ((unsigned char)*x->at >= ' ' || *x->at == '\n') && x->at++;
}

/* NULL, or where it stops being well-formed: one element and a newline. */
static const char *xml_error(const char *text)
{
    xml x = {.at = text};
    if (*text != '<') return text;
    do {
        if (!(*x.at == '<' ? take_tag(&x) : *x.at == '&' ? take_entity(&x) : take_letter(&x)))
            return x.at;
    } while (x.depth > 0 && *x.at);
    return x.depth == 0 && strcmp(x.at, "\n") == 0 ? NULL : x.at;
}

START_TEST(the_checker_itself_tells_good_from_bad)
{
    ck_assert_ptr_null(xml_error("<a b=\"1\" c=\"&lt;\"><d/>x &amp; y</a>\n"));
    static const char *const bad[] = {"<a>",
                                      "<a></b>\n",
                                      "<a b=1/>\n",
                                      "<a b=\"1\" b=\"2\"/>\n",
                                      "<a>&</a>\n",
                                      "<a b=\"<\"/>\n",
                                      "<a>\x01</a>\n",
                                      "</a>",
                                      ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(xml_error(bad[i]), "not seen: %s", bad[i]);
}
END_TEST

/* ------------------------------------------------------------------ helpers -------------------- */

static char *svg; /* the last picture; freed by the next one */

static void expect_well_formed(void)
{
    const char *error = xml_error(svg);
    ck_assert_msg(!error, "not well-formed at: %.60s", error ? error : "");
    ck_assert(strncmp(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\"", 39) == 0);
    ck_assert_msg(!strstr(svg, "nan\"") && !strstr(svg, "inf\""), "a coordinate is not finite");
    ck_assert_msg(!strstr(svg, "width=\"-") && !strstr(svg, "height=\"-"), "a negative size");
}

static void draw_heatmap(const at_heatmap *h)
{
    size_t size;
    free(svg);
    svg = NULL;
    FILE *f = open_memstream(&svg, &size);
    ck_assert(at_svg_heatmap(f, h));
    fclose(f);
    expect_well_formed();
}

static void draw_chart(const at_chart *c)
{
    size_t size;
    free(svg);
    svg = NULL;
    FILE *f = open_memstream(&svg, &size);
    ck_assert(at_svg_chart(f, c));
    fclose(f);
    expect_well_formed();
}

static int occurrences(const char *part)
{
    int n = 0;
    for (const char *p = svg; (p = strstr(p, part)); p++) n++;
    return n;
}

static void expect(const char *part)
{
    ck_assert_msg(strstr(svg, part) != NULL, "the picture lacks %s", part);
}

/* ------------------------------------------------------------------ heat maps ------------------ */

static double weights[] = {1, 0, 0, 0.25, 0.75, 0, 0.1, 0.2, 0.7};
static const char *const words[] = {"the", " cat", "<&\"'>"};

static at_subplot weights_panel(void)
{
    return (at_subplot){.data = weights, .rows = 3, .cols = 3};
}

START_TEST(a_heat_map_shows_values_names_labels_and_colour_bar)
{
    at_subplot p = weights_panel();
    draw_heatmap(&(at_heatmap){.title = "Weights",
                               .subplots = &p,
                               .n_subplots = 1,
                               .row_label = "Query",
                               .col_label = "Key",
                               .row_names = words,
                               .col_names = words,
                               .value_label = "weight"});
    ck_assert_int_eq(occurrences("<rect"), 1 + 2 + 9 + 1); /* paper, pattern, cells, bar */
    expect(">0.75</text>");
    expect(">Query</text>");
    expect(">Key</text>");
    expect(">␣cat</text>");
    expect(">&lt;&amp;&quot;&#39;&gt;</text>");
    expect("<title>␣cat, the: 0.25</title>");
    expect("<title>Weights</title>");
    expect(">weight</text>");
    expect(">1.0</text>");
    expect("fill=\"#fde725\""); /* weight 1: the end of viridis */
    expect("fill=\"#440154\""); /* weight 0: its beginning */
    ck_assert_int_eq(occurrences(">masked</text>"), 0);
}
END_TEST

START_TEST(masked_cells_are_hatched_and_nan_is_magenta)
{
    double v[] = {0.5, (double)NAN, -(double)INFINITY, 0.25};
    unsigned char keep[] = {0, 1, 1, 1};
    at_subplot p = {.data = v, .rows = 2, .cols = 2, .keep = keep};
    draw_heatmap(&(at_heatmap){.subplots = &p, .n_subplots = 1});
    ck_assert_int_eq(occurrences("fill=\"url(#attic-hatch)\""), 2 + 1); /* and in the legend */
    ck_assert_int_eq(occurrences("fill=\"#ff00ff\""), 1 + 1);
    expect("<title>0, 0: masked</title>");
    expect(">nan</text>");
    expect(">not finite</text>");
    ck_assert_int_eq(occurrences(">0.50</text>"), 0); /* masked: not read */
}
END_TEST

START_TEST(light_cells_have_dark_numbers)
{
    at_subplot p = weights_panel();
    draw_heatmap(&(at_heatmap){.subplots = &p, .n_subplots = 1});
    expect("fill=\"#1a1a1a\">1.00</text>");
    expect("fill=\"#ffffff\">0.00</text>");
}
END_TEST

START_TEST(signed_values_diverge_from_white)
{
    double v[] = {-2, 0, 2, 1};
    at_subplot p = {.data = v, .rows = 1, .cols = 4};
    draw_heatmap(&(at_heatmap){.subplots = &p, .n_subplots = 1});
    expect("fill=\"#143c82\""); /* -2 */
    expect("fill=\"#f8f7f5\""); /* 0 */
    expect("fill=\"#8c0e26\""); /* 2 */
    expect("attic-diverging");
}
END_TEST

START_TEST(subplots_lie_side_by_side)
{
    at_subplot p[3] = {weights_panel(), weights_panel(), weights_panel()};
    char title[3][24];
    for (int k = 0; k < 3; k++) {
        snprintf(title[k], sizeof title[k], "head %d", k);
        p[k].title = title[k];
    }
    at_heatmap h = {.subplots = p, .n_subplots = 3, .row_label = "Query", .col_label = "Key"};
    draw_heatmap(&h);
    expect(">head 2</text>");
    ck_assert_int_eq(occurrences(">Query</text>"), 1);
    ck_assert_int_eq(occurrences(">Key</text>"), 3);
    h.columns = 2; /* the third goes below the first */
    draw_heatmap(&h);
    ck_assert_int_eq(occurrences(">Query</text>"), 2);
    ck_assert_int_eq(occurrences(">Key</text>"), 2);
}
END_TEST

START_TEST(numbers_that_do_not_fit_are_left_out)
{
    static double v[40 * 40];
    at_subplot p = {.data = v, .rows = 40, .cols = 40};
    at_heatmap h = {.subplots = &p, .n_subplots = 1};
    draw_heatmap(&h);
    ck_assert_int_eq(occurrences("text-anchor=\"middle\" pointer-events"), 0);
    p.rows = p.cols = 10;
    draw_heatmap(&h);
    ck_assert_int_eq(occurrences("text-anchor=\"middle\" pointer-events"), 1);
    h.no_values = true;
    draw_heatmap(&h);
    ck_assert_int_eq(occurrences("text-anchor=\"middle\" pointer-events"), 0);
}
END_TEST

START_TEST(a_huge_matrix_is_drawn_in_blocks)
{
    int n = 1000;
    float *v = calloc((size_t)n * (size_t)n, sizeof *v);
    v[777 * n + 123] = 1;
    at_subplot p = {.dtype = ATTIC_F32, .data = v, .rows = n, .cols = n};
    draw_heatmap(&(at_heatmap){.subplots = &p, .n_subplots = 1});
    expect("Each cell shows the largest magnitude of 5 × 5.");
    ck_assert_int_eq(occurrences("fill=\"#fde725\""), 1); /* the one is not lost */
    ck_assert_int_lt((int)strlen(svg), 100000);           /* equal cells are joined */
    free(v);
}
END_TEST

START_TEST(sizes_of_zero_and_one_are_drawn)
{
    double one = 0.5;
    at_subplot p[2] = {{.data = &one, .rows = 1, .cols = 1}, {.title = "none"}};
    draw_heatmap(&(at_heatmap){.subplots = p, .n_subplots = 1});
    expect(">0.50</text>");
    draw_heatmap(&(at_heatmap){.subplots = p, .n_subplots = 2});
    expect(">(empty)</text>");
    draw_heatmap(&(at_heatmap){.title = "nothing at all"});
    ck_assert(!at_svg_heatmap(NULL, &(at_heatmap){0}));
    ck_assert(!at_svg_heatmap(stderr, NULL) &&
              !at_svg_heatmap(stderr, &(at_heatmap){.n_subplots = 1}));
}
END_TEST

START_TEST(any_bytes_may_be_names)
{
    char name[256][3];
    const char *names[256];
    for (int i = 0; i < 256; i++) {
        name[i][0] = (char)i;
        name[i][1] = (char)(i * 7);
        name[i][2] = 0;
        names[i] = name[i];
    }
    static double v[256];
    at_subplot p = {.data = v, .rows = 16, .cols = 16};
    for (int i = 0; i < 256; i += 16)
        draw_heatmap(&(at_heatmap){.title = names[i + 1],
                                   .subplots = &p,
                                   .n_subplots = 1,
                                   .row_names = names + i,
                                   .col_names = names + i,
                                   .row_label = names[i + 2]});
}
END_TEST

/* ------------------------------------------------------------------ line charts ---------------- */

START_TEST(a_chart_shows_lines_levels_legend_and_axes)
{
    double a[] = {3, 2, 1.5, 1.2}, b[] = {3.2, 2.5, 2.2, 2.1};
    at_series s[] = {{.name = "training", .y = a, .n = 4}, {.name = "validation", .y = b, .n = 4}};
    at_level level[] = {{"bigram <2.48>", 2.48}};
    draw_chart(&(at_chart){.title = "Loss",
                           .x_label = "step",
                           .y_label = "nats",
                           .series = s,
                           .n_series = 2,
                           .levels = level,
                           .n_levels = 1});
    expect(">training</text>");
    expect(">validation</text>");
    expect(">bigram &lt;2.48&gt;</text>");
    expect(">step</text>");
    expect(">nats</text>");
    ck_assert_int_eq(occurrences("stroke-dasharray"), 1);
    ck_assert_int_eq(occurrences("<circle"), 8); /* few points: each gets a dot */
    ck_assert_int_eq(occurrences("stroke=\"#0072b2\""), 2);
    s[1].faint = true;
    draw_chart(&(at_chart){.series = s, .n_series = 2});
    ck_assert_int_eq(occurrences("<circle"), 4);
}
END_TEST

/* The d of the first series' path. */
static const char *first_line(void)
{
    static char d[4000];
    const char *from = strstr(svg, "fill=\"none\" stroke-width=\"2\"");
    ck_assert_ptr_nonnull(from);
    from = strstr(from, " d=\"") + 4;
    snprintf(d, sizeof d, "%.*s", (int)strcspn(from, "\""), from);
    return d;
}

static int letters_in(const char *text, char letter)
{
    int n = 0;
    for (; *text; text++) n += *text == letter;
    return n;
}

START_TEST(what_is_not_finite_breaks_the_line)
{
    double y[] = {1, 2, (double)NAN, 3, (double)INFINITY, 4, 5};
    at_series s = {.y = y, .n = 7};
    draw_chart(&(at_chart){.series = &s, .n_series = 1});
    ck_assert_int_eq(letters_in(first_line(), 'M'), 3);
    ck_assert_int_eq(letters_in(first_line(), 'L'), 2);
    ck_assert_int_eq(occurrences("<circle"), 5);
}
END_TEST

START_TEST(a_logarithmic_axis_breaks_at_zero)
{
    double y[] = {1, 0.1, 0, 0.001};
    at_series s = {.y = y, .n = 4};
    draw_chart(&(at_chart){.series = &s, .n_series = 1, .log_y = true});
    ck_assert_int_eq(letters_in(first_line(), 'M'), 2);
    expect(">0.01</text>");
}
END_TEST

START_TEST(points_without_order_are_not_joined)
{
    double x[40], y[40];
    for (int i = 0; i < 40; i++) x[i] = i / 2, y[i] = i % 3;
    at_series s = {.name = "shapes", .x = x, .y = y, .n = 40, .dots = true};
    draw_chart(&(at_chart){.series = &s, .n_series = 1});
    ck_assert_int_eq(occurrences("<circle"), 40); /* many, and yet each is seen */
    ck_assert_int_eq(occurrences("fill=\"none\" stroke-width=\"2\""), 0);
    ck_assert_int_eq(occurrences("h0\" stroke-width=\"7\""), 1); /* the legend has a dot, too */
}
END_TEST

START_TEST(points_lie_where_they_should)
{
    double x[] = {0, 5, 10}, y[] = {0, 50, 100};
    at_series s = {.x = x, .y = y, .n = 3};
    draw_chart(&(at_chart){.series = &s, .n_series = 1});
    double px[3], py[3];
    ck_assert_int_eq(
        sscanf(first_line(), "M%lf %lfL%lf %lfL%lf %lf", px, py, px + 1, py + 1, px + 2, py + 2),
        6);
    assert_close(px[1], (px[0] + px[2]) / 2, 0.11);
    assert_close(py[1], (py[0] + py[2]) / 2, 0.11);
    ck_assert(px[0] < px[2] && py[0] > py[2]); /* y grows downwards */
}
END_TEST

START_TEST(of_a_million_points_the_peaks_stay)
{
    ptrdiff_t n = 1000000;
    double *y = calloc((size_t)n, sizeof *y);
    y[654321] = 100;
    at_series s = {.y = y, .n = n};
    draw_chart(&(at_chart){.series = &s, .n_series = 1, .y_label = "y"});
    ck_assert_int_lt((int)strlen(svg), 60000);
    double top = 1e9, u, v;
    for (const char *p = strstr(strstr(svg, "fill=\"none\""), " d=\"") + 4; *p != '"'; p++)
        if (strchr("ML", *p) && sscanf(p + 1, "%lf %lf", &u, &v) == 2 && v < top) top = v;
    ck_assert(strstr(svg, ">100</text>"));
    free(y);
    ck_assert(top < 80); /* near the upper edge of the plot */
}
END_TEST

START_TEST(charts_of_nothing_are_drawn)
{
    draw_chart(&(at_chart){0});
    expect(">(nothing to show)</text>");
    double y[] = {(double)NAN};
    at_series s = {.name = "", .y = y, .n = 1};
    draw_chart(&(at_chart){.series = &s, .n_series = 1, .log_y = true, .log_x = true});
    expect(">(nothing to show)</text>");
    ck_assert(!at_svg_chart(NULL, &(at_chart){0}));
    ck_assert(!at_svg_chart(stderr, NULL) && !at_svg_chart(stderr, &(at_chart){.n_series = 1}));
    ck_assert(!at_svg_chart(stderr, &(at_chart){.n_levels = 1}));
    ck_assert(!at_svg_chart(stderr, &(at_chart){.series = &(at_series){.n = 1}, .n_series = 1}));
}
END_TEST

START_TEST(levels_that_are_close_do_not_overlap)
{
    at_level level[] = {{"a", 1}, {"b", 1.001}, {"c", 1.002}, {"zero", 0}};
    draw_chart(&(at_chart){.levels = level, .n_levels = 4});
    double y[3];
    const char *const name[] = {">c</text>", ">b</text>", ">a</text>"};
    for (int k = 0; k < 3; k++) {
        const char *p = strstr(svg, name[k]);
        while (strncmp(p, " y=\"", 4) != 0) p--;
        y[k] = strtod(p + 4, NULL);
    }
    ck_assert(y[1] - y[0] >= 13 && y[2] - y[1] >= 13);
}
END_TEST

START_TEST(a_disk_that_is_full_makes_a_picture_false)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full) return; /* only Linux has one */
    setvbuf(full, NULL, _IONBF, 0);
    at_subplot p = weights_panel();
    ck_assert(!at_svg_heatmap(full, &(at_heatmap){.subplots = &p, .n_subplots = 1}));
    ck_assert(!at_svg_chart(full, &(at_chart){0}));
    fclose(full);
}
END_TEST

START_TEST(a_decimal_comma_does_not_show)
{
    at_subplot p = weights_panel();
    draw_heatmap(&(at_heatmap){.subplots = &p, .n_subplots = 1});
    char *with_point = strdup(svg);
    use_decimal_comma();
    draw_heatmap(&(at_heatmap){.subplots = &p, .n_subplots = 1});
    setlocale(LC_NUMERIC, "C");
    ck_assert_str_eq(svg, with_point);
    free(with_point);
}
END_TEST

SUITE(plot_svg, the_checker_itself_tells_good_from_bad,
      a_heat_map_shows_values_names_labels_and_colour_bar,
      masked_cells_are_hatched_and_nan_is_magenta, light_cells_have_dark_numbers,
      signed_values_diverge_from_white, subplots_lie_side_by_side,
      numbers_that_do_not_fit_are_left_out, a_huge_matrix_is_drawn_in_blocks,
      sizes_of_zero_and_one_are_drawn, any_bytes_may_be_names,
      a_chart_shows_lines_levels_legend_and_axes, what_is_not_finite_breaks_the_line,
      a_logarithmic_axis_breaks_at_zero, points_without_order_are_not_joined,
      points_lie_where_they_should, of_a_million_points_the_peaks_stay, charts_of_nothing_are_drawn,
      levels_that_are_close_do_not_overlap, a_disk_that_is_full_makes_a_picture_false,
      a_decimal_comma_does_not_show)
