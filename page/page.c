/* page.c -- examples/trace.c as a library: what the page calls in WebAssembly; see page/engine.js.
 *
 * Each function prints its answer, as the program does, to the standard output, and what is wrong to
 * the standard error.  A wrong input ends the program, and with it this instance: the page makes a
 * new one. */
#define main trace_main /* here it is not where a program begins */
int trace_main(int argc, char **argv);
#include "../examples/trace.c"
#include "export.h"

/* Runs trace; the words of the command line end in 0 and must stay where they are. */
PAGE_EXPORT(page_trace) int page_trace(int count, char *words);
int page_trace(int count, char *words)
{
    static trace fresh;
    static bool again;
    char *argv[100] = {(char[]){"trace"}};
    if (!again) fresh = t;
    again = true;
    steps_close(t.terms);
    steps_close(t.a);
    t = fresh;
    for (int k = 1; k <= count && k < 99; k++, words += strlen(words) + 1) argv[k] = words;
    int status = run(count + 1, argv);
    fflush(stdout);
    return status;
}

/* Element (row, column) of the tensor called so, of the last trace: as JSON, how it comes about, and
 * the elements that it is computed from. */
PAGE_EXPORT(page_cell) void page_cell(const char *name, int row, int column);
void page_cell(const char *name, int row, int column)
{
    static arithmetic w;
    arithmetic_style style = trace_style(&t);
    style.plain = true;
    int what = 0;
    while (what < STEPS_COUNT && strcmp(name, steps_texts[what].name) != 0) what++;
    if (what == STEPS_COUNT || !t.a || row < 0 || row >= t.a->dim[what][1] || column < 0 ||
        column >= t.a->dim[what][2]) {
        fprintf(stderr, "there is no %s[%d,%d]\n", name, row, column);
        return;
    }
    arithmetic_of(&style, (steps_name)what, 0, row, column, &w);
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
        trace_json_mistake((mistake)m);
    }
    printf("]\n");
    fflush(stdout);
}
