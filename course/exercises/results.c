/* results.c -- results.json, in Gradescope's format; see results.h. */
#include "common/options.h"
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
    for (int k = 0; r->file && k < quantities(x->which); k++) {
        const grade *q = x->compiled && k < x->g.grades ? &x->g.of[k] : NULL;
        char output[6000];
        if (q && q->kind != VERDICT_NOT_ASKED)
            snprintf(output, sizeof output, "%s%s%s%s%s", kind_names[q->kind],
                     q->text[0] ? ": " : "", q->text, q->arithmetic[0] ? "\n" : "", q->arithmetic);
        else
            snprintf(output, sizeof output, "not reached; the program: %s%s%s", x->g.failure,
                     k == 0 && x->said[0] ? "\n" : "", k == 0 ? x->said : "");
        write_result(r, x->which, k, q && is_right(q), output);
    }
}

void write_missing(results *r, int which, const char *why)
{
    for (int k = 0; r->file && k < quantities(which); k++) write_result(r, which, k, false, why);
}

bool close_results(results *r)
{
    if (!r->file) return true;
    const bool whole = fprintf(r->file, "\n]}\n") > 0 && !ferror(r->file);
    return written(r->file, r->path, whole);
}
