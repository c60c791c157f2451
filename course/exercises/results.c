/* results.c -- results.json, in Gradescope's format; see results.h. */
#include "common/options.h"
#include "columns.h"
#include "results.h"
#include "system/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a submission printed may hold any bytes, and JSON is UTF-8. */
static void write_string(FILE *f, const char *s)
{
    ptrdiff_t left = (ptrdiff_t)strlen(s);
    fputc('"', f);
    for (int bytes; left > 0; s += bytes, left -= bytes) {
        char seen[AT_SHOWN_ONE];
        const int n = at_show_one(seen, s, left, &bytes);
        if (*s == '\n')
            fprintf(f, "\\n");
        else
            for (int k = 0; k < n; k++)
                fprintf(f, seen[k] == '"' || seen[k] == '\\' ? "\\%c" : "%c", seen[k]);
    }
    fputc('"', f);
}

/* A test of Gradescope's: one quantity, or what is missing. */
static void write_result(results *r, int which, int quantity, bool right, const char *output)
{
    const double points = points_of(&r->of, which, quantity);
    char name[300];
    snprintf(name, sizeof name, "%s: %s", exercises[which].file,
             exercises[which].of[quantity].name);
    fprintf(r->file, "%s\n    {\"name\": ", r->any ? "," : "");
    write_string(r->file, name);
    fprintf(r->file, ", \"score\": %.10g, \"max_score\": %.10g, \"output\": ", right ? points : 0,
            points);
    write_string(r->file, output);
    fprintf(r->file, "}");
    r->any = true;
}

/* Each line of what may hold any bytes begins in this column, and so do the lines that it takes. */
static void write_lines(FILE *f, const char *text, int column)
{
    for (bool first = true; first || *text; first = false) {
        char line[2000];
        const size_t n = strcspn(text, "\n");
        at_show(line, sizeof line, text, (ptrdiff_t)n);
        if (!first) fprintf(f, "%*s", column, "");
        print_wrapped(f, line, column, column);
        text += n + (text[n] == '\n');
    }
}

/* "  dS           1.25 of 1.25    exact" */
static void write_text(results *r, int which, int quantity, bool right, const char *output)
{
    char worth[60];
    const double points = points_of(&r->of, which, quantity);
    snprintf(worth, sizeof worth, "%.10g of %.10g", right ? points : 0, points);
    const int column =
        fprintf(r->text, "  %-12s %-14s ", exercises[which].of[quantity].name, worth);
    write_lines(r->text, output, column);
}

void open_text(results *r, const char *path, const char *whose, const char *about)
{
    r->text = fopen(path, "w"), r->text_path = path;
    if (!r->text) {
        fprintf(stderr, "grade: cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
    fprintf(r->text, "%s\n", whose);
    print_wrapped(r->text, about, 0, 0);
}

void write_title(results *r, int which, double points, const char *state)
{
    if (!r->text) return;
    const int column = fprintf(r->text, "\nE%d %s: %.10g of %.10g points; ", which,
                               exercises[which].title, points, r->of.points[which]) -
                       1;
    print_wrapped(r->text, state, column, 4);
}

void open_results(results *r, const char *path, const assignment *of, const char *output)
{
    *r = (results){.file = path ? fopen(path, "w") : NULL, .path = path, .of = *of};
    if (path && !r->file) {
        fprintf(stderr, "grade: cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
    if (!r->file) return;
    fprintf(r->file, "{\"output\": ");
    write_string(r->file, output);
    fprintf(r->file, ", \"tests\": [");
}

void write_submission(results *r, const submission *x)
{
    for (int k = 0; (r->file || r->text) && k < quantities(x->which); k++) {
        const grade *q = x->compiled && k < x->g.grades ? &x->g.of[k] : NULL;
        char output[6000];
        if (q && q->kind != VERDICT_NOT_ASKED)
            snprintf(output, sizeof output, "%s%s%s%s%s", kind_names[q->kind],
                     q->text[0] ? ": " : "", q->text, q->arithmetic[0] ? "\n" : "", q->arithmetic);
        else
            snprintf(output, sizeof output, "not reached; the program: %s%s%s", x->g.failure,
                     k == 0 && x->said[0] ? "\n" : "", k == 0 ? x->said : "");
        if (r->file) write_result(r, x->which, k, q && is_right(q), output);
        if (r->text) write_text(r, x->which, k, q && is_right(q), output);
    }
}

void write_missing(results *r, int which, const char *why)
{
    for (int k = 0; r->file && k < quantities(which); k++) write_result(r, which, k, false, why);
}

bool close_results(results *r, double points)
{
    bool good = true;
    if (r->file) {
        const bool whole = fprintf(r->file, "\n]}\n") > 0 && !ferror(r->file);
        good = written(r->file, r->path, whole);
    }
    if (!r->text) return good;
    fprintf(r->text, "\nAll together: %.10g of %.10g points\n", points, all_points(&r->of));
    return written(r->text, r->text_path, !ferror(r->text)) && good;
}
