/* page.c -- course/trace.c as a library: what the page calls in WebAssembly; see course/page/engine.js.
 *
 * Each function prints its answer, as the program does, to the standard output, and what is wrong to
 * the standard error.  A wrong input ends the program, and with it this instance: the page makes a
 * new one. */
#include <stdlib.h>
#include <string.h>

#include "block_cell.h"
#include "gradients.h"
#include "page/export.h"
#include "trace.h"

static trace t; /* the last one */

/* Runs trace; the words of the command line end in 0 and must stay where they are. */
PAGE_EXPORT(page_trace) int page_trace(int count, char *words);
int page_trace(int count, char *words)
{
    static bool again;
    char *argv[100] = {(char[]){"trace"}};
    static char printed[1 << 16]; /* fewer calls of JavaScript than by a line */
    if (!again) setvbuf(stdout, printed, _IOFBF, sizeof printed);
    again = true;
    trace_close(&t);
    for (int k = 1; k <= count && k < 99; k++, words += strlen(words) + 1) argv[k] = words;
    int status = trace_run(&t, count + 1, argv);
    fflush(stdout);
    return status;
}

static bool is_element(const int dim[3], int row, int column)
{
    return row >= 0 && row < dim[1] && column >= 0 && column < dim[2];
}

/* Is this one of the words of a text, between spaces? */
static bool is_word_of(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

/* How an element of the last trace comes about, of the matrices that are shown, "P dP delta"; ""
 * is all.  J is the Jacobian of the row that is looked at. */
static bool work_out(const char *name, int row, int column, const char *shown, arithmetic *w)
{
    bool is_shown[STEPS_COUNT];
    arithmetic_style style = trace_style(&t);
    style.plain = true;
    for (int what = 0; what < STEPS_COUNT; what++)
        is_shown[what] = is_word_of(shown, steps_texts[what].name);
    if (*shown) style.shown = is_shown;
    if (!t.a) return false;
    if (strcmp(name, "J") == 0) {
        if (!is_element((int[]){1, t.a->p.N, t.a->p.N}, row, column)) return false;
        arithmetic_of_jacobian(&style, 0, t.i, row, column, w);
        return true;
    }
    for (int what = 0; what < STEPS_COUNT; what++) {
        if (strcmp(name, steps_texts[what].name) != 0) continue;
        if (!is_element(t.a->dim[what], row, column)) return false;
        arithmetic_of(&style, (steps_name)what, 0, row, column, w);
        return true;
    }
    return false;
}

/* An element of J dP: column 0 of row j. */
static void print_product(int j)
{
    char text[1000];
    trace_product(&t, j, text, sizeof text);
    printf("{\"text\": \"%s = %.4g\", \"note\": \"\", \"from\": [", text, t.product[j] + 0.0);
    for (int k = 0; k < t.a->p.N; k++)
        printf("%s{\"name\": \"J\", \"row\": %d, \"column\": %d},\n"
               "{\"name\": \"dP\", \"row\": %d, \"column\": %d}",
               k ? ",\n" : "", j, k, t.i, k);
    printf("]}\n");
    fflush(stdout);
}

/* ------------------------------------------------------------------ a block -------------------- */

/* The block on paper, which the last trace was about */
static const block_style *block_of_trace(void)
{
    static block_style style;
    static block *b;
    const int G = t.o.G ? t.o.G : 2;
    if (b && b->p.G == G) return &style;
    if (b) block_close_style(&style);
    block_close(b);
    b = block_paper(G);
    if (b && block_open_style(b, BLOCK_RIGHT, &style)) return &style;
    fprintf(stderr, "no memory\n");
    exit(1);
}

/* "dX"; of what each head has, "P_h1" */
static void name_in_block(const block *b, block_element x, char name[BLOCK_CELL_NAME])
{
    const int n = snprintf(name, BLOCK_CELL_NAME, "%s", block_texts[x.what].name);
    if (b->dim[x.what][0] > 1) snprintf(name + n, BLOCK_CELL_NAME - (size_t)n, "_h%d", x.h);
}

static bool find_in_block(const block *b, const char *name, block_element *x)
{
    char other[BLOCK_CELL_NAME];
    for (x->what = 0; x->what < BLOCK_COUNT; x->what++)
        for (x->h = 0; x->h < b->dim[x->what][0]; x->h++) {
            name_in_block(b, *x, other);
            if (strcmp(name, other) == 0) return is_element(b->dim[x->what], x->i, x->j);
        }
    return false;
}

static void print_source(const block *b, block_element x, const char **between)
{
    char name[BLOCK_CELL_NAME];
    name_in_block(b, x, name);
    printf("%s{\"name\": \"%s\", \"row\": %d, \"column\": %d}", *between, name, x.i, x.j);
    *between = ",\n";
}

/* S, dR and O W_o stand between two matrices, and are mostly not shown: then what they come from
 * is a source. */
static bool is_passed_by(const block *b, block_element x, const char *shown)
{
    char name[BLOCK_CELL_NAME];
    name_in_block(b, x, name);
    return x.what == BLOCK_OW ||
           ((x.what == BLOCK_S || x.what == BLOCK_DR) && !is_word_of(shown, name));
}

static bool print_block_cell(const char *name, int row, int column, const char *shown)
{
    static char text[BLOCK_CELL_TEXT];
    const block_style *style = block_of_trace();
    block_element x = {.i = row, .j = column}, from[BLOCK_CELL_FROM], more[BLOCK_CELL_FROM];
    if (!find_in_block(style->b, name, &x)) return false;
    block_cell_text(style, x.what, x.h, row, column, text);
    printf("{\"text\": ");
    trace_json_string(text);
    printf(", \"note\": \"\", \"from\": [");
    const char *between = "";
    for (int k = 0, n = block_cell_from(style->b, x, from); k < n; k++) {
        const bool passed = *shown && is_passed_by(style->b, from[k], shown);
        if (!passed) print_source(style->b, from[k], &between);
        for (int e = 0, m = passed ? block_cell_from(style->b, from[k], more) : 0; e < m; e++)
            print_source(style->b, more[e], &between);
    }
    printf("]}\n");
    return true;
}

/* The mistakes that give x in this element of the block, as JSON; none if x is right */
PAGE_EXPORT(page_named) void page_named(const char *name, int row, int column, double x);
void page_named(const char *name, int row, int column, double x)
{
    const block *b = block_of_trace()->b;
    block_element e = {.i = row, .j = column};
    uint64_t mistakes = 0;
    if (!find_in_block(b, name, &e) ||
        !block_mistakes_giving(b, e.what, (int[]){e.h, row, column}, x, 0.005, &mistakes))
        fprintf(stderr, "there is no %s[%d,%d]\n", name, row, column);
    const char *between = "[";
    for (int m = 1; m < BLOCK_MISTAKES; m++) {
        if (!(mistakes >> m & 1)) continue;
        printf("%s", between);
        trace_json_mistake(&block_mistakes_texts[m]);
        between = ",\n";
    }
    printf("%s]\n", mistakes ? "" : "[");
    fflush(stdout);
}

/* ------------------------------------------------------------------ an element ----------------- */

/* The same as JSON: its text, what surprises in it, and the elements that it is computed from. */
PAGE_EXPORT(page_cell)
void page_cell(const char *name, int row, int column, const char *shown);
void page_cell(const char *name, int row, int column, const char *shown)
{
    static arithmetic w;
    if (t.o.block && print_block_cell(name, row, column, shown)) {
        fflush(stdout);
        return;
    }
    if (t.a && strcmp(name, "J dP") == 0 && is_element((int[]){1, t.a->p.N, 1}, row, column)) {
        print_product(row);
        return;
    }
    if (!work_out(name, row, column, shown, &w)) {
        fprintf(stderr, "there is no %s[%d,%d]\n", name, row, column);
        return;
    }
    printf("{\"text\": ");
    trace_json_string(w.text);
    printf(", \"note\": ");
    trace_json_string(w.note);
    printf(", \"from\": [");
    for (int k = 0; k < w.n; k++)
        printf("%s{\"name\": \"%s\", \"row\": %d, \"column\": %d}", k ? ",\n" : "",
               steps_texts[w.from[k].what].name, w.from[k].row, w.from[k].column);
    printf("]}\n");
    fflush(stdout);
}

/* All mistakes that --mistake takes, as JSON. */
PAGE_EXPORT(page_mistakes) void page_mistakes(void);
void page_mistakes(void)
{
    for (int m = MISTAKE_NONE + 1; m < MISTAKES; m++) {
        printf("%s", m > 1 ? ",\n" : "[");
        trace_json_mistake(&mistakes_texts[m]);
    }
    printf("]\n");
    fflush(stdout);
}

/* ------------------------------------------------------------------ gradients of files --------- */

/* Judges the gradients in files, whose names end in 0, and prints the verdict as JSON.  A page waits
 * meanwhile: mistakes are tried with fewer scores than the program verdict_of_file does. */
PAGE_EXPORT(page_gradients)
void page_gradients(int count, const char *names, int layout, int corner);
void page_gradients(int count, const char *names, int layout, int corner)
{
    static gradients_report report;
    const gradients_choice choice = {.layout = (gradients_layout)layout,
                                     .corner = (gradients_corner)corner,
                                     .named = GRADIENTS_NAMED / 4};
    arrays all = {.n = 0};
    at_tape *tape = at_open(ATTIC_F64, 1);
    for (int k = 0; k < count; k++, names += strlen(names) + 1) arrays_read(tape, names, &all);
    bool done = at_ok(tape);
    if (!done)
        snprintf(report.message, sizeof report.message, "%s", at_error(tape));
    else if (!(done = gradients_judge(&all, &choice, &report)))
        snprintf(report.message, sizeof report.message, "there is not enough memory");
    at_close(tape);
    if (!done) report.kind = GRADIENTS_REFUSED, report.ask = report.look = report.dtype = "";
    gradients_json(&report);
    fflush(stdout);
}
