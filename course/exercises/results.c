/* results.c -- results.json, in Gradescope's format; see results.h. */
#include "common/options.h"
#include "results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void write_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c == '\n')
            fprintf(f, "\\n");
        else if (c < 32 || c == 127)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

/* A test of Gradescope's: one quantity of one file, or what is missing. */
static void write_result(results *r, const char *file, const char *quantity, bool right,
                         const char *output)
{
    char name[300];
    snprintf(name, sizeof name, "%s: %s", file, quantity);
    fprintf(r->file, "%s\n    {\"name\": ", r->any ? "," : "");
    write_string(r->file, name);
    fprintf(r->file, ", \"score\": %d, \"max_score\": 1, \"output\": ", right);
    write_string(r->file, output);
    fprintf(r->file, "}");
    r->any = true;
}

void open_results(results *r, const char *path, const char *output)
{
    *r = (results){.file = path ? fopen(path, "w") : NULL, .path = path};
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
        char output[2200];
        if (q && q->kind != VERDICT_NOT_ASKED)
            snprintf(output, sizeof output, "%s%s%s%s%s", kind_names[q->kind],
                     q->text[0] ? ": " : "", q->text, q->arithmetic[0] ? "\n" : "", q->arithmetic);
        else
            snprintf(output, sizeof output, "not reached; the program: %s", x->g.failure);
        write_result(r, x->name, exercises[x->which].of[k].name, q && is_right(q), output);
    }
}

void write_missing(results *r, int which, const char *why)
{
    for (int k = 0; r->file && k < quantities(which); k++)
        write_result(r, exercises[which].file, exercises[which].of[k].name, false, why);
}

bool close_results(results *r)
{
    if (!r->file) return true;
    const bool whole = fprintf(r->file, "\n]}\n") > 0 && !ferror(r->file);
    return written(r->file, r->path, whole);
}
