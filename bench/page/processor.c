/* processor.c -- what each processor reached: one file for each, which the page of that processor writes and
 * the pages of all others read.
 *
 *     # name: AMD EPYC, L2 1024K, L3 32768K
 *     # date: 2026-11-22
 *     attention forward, full, T >= 1024 <tab> 1.34 <tab> -         gcc, clang; - for not measured */
#include "page/page.h"

#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Takes out of `text` what says nothing: each occurrence of a word. */
static void leave_out(char *text, const char *word)
{
    for (char *at; (at = strstr(text, word));)
        memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
}

/* "Intel(R) Xeon(R) Processor @ 2.50GHz, 2 usable" and "L1 32K L2 1024K L3 36608K" */
void name_processor(processor *p, const char *model, const char *caches)
{
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(model, ",@"), model);
    leave_out(text, "(R)");
    leave_out(text, "(TM)");
    leave_out(text, " Processor");
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--) text[n - 1] = 0;
    const char *l2 = strstr(caches, "L2"), *l3 = l2 ? strstr(l2, " L3") : NULL;
    snprintf(p->name, sizeof p->name, "%.48s%s%.*s%s%.24s", text, l2 ? ", " : "",
             l3 ? (int)(l3 - l2) : 16, l2 ? l2 : "", l3 ? "," : "", l3 ? l3 : "");
}

/* FOLDER/amd-epyc-l2-1024k-l3-32768k.tsv */
static void path_of(const processor *p, const char *folder, char *path, size_t size)
{
    size_t n = (size_t)snprintf(path, size, "%s/", folder);
    for (const char *c = p->name; *c && n + 8 < size; c++)
        if (isalnum((unsigned char)*c))
            path[n++] = (char)tolower((unsigned char)*c);
        else if (path[n - 1] != '-' && path[n - 1] != '/')
            path[n++] = '-';
    snprintf(path + n, size - n, ".tsv");
}

static void write_number(FILE *out, double v)
{
    if (isnan(v))
        fprintf(out, "\t-");
    else
        fprintf(out, "\t%.4g", v);
}

bool write_processor(const processor *p, const char *folder)
{
    char path[512];
    path_of(p, folder, path, sizeof path);
    FILE *out = fopen(path, "w");
    if (!out) return false;
    fprintf(out, "# name: %s\n# date: %s\n", p->name, p->date);
    for (int i = 0; i < p->n; i++) {
        fputs(p->row[i].what, out);
        for (int c = 0; c < COMPILERS; c++) write_number(out, p->row[i].value[c]);
        fputc('\n', out);
    }
    return fclose(out) == 0;
}

static bool read_processor(processor *p, const char *path)
{
    char line[512];
    FILE *f = fopen(path, "r");
    *p = (processor){.n = 0};
    while (f && fgets(line, sizeof line, f)) {
        reach *r = &p->row[p->n];
        char number[COMPILERS][32];
        if (sscanf(line, "# name: %95[^\n]", p->name) == 1 ||
            sscanf(line, "# date: %15[^\n]", p->date) == 1)
            continue;
        if (p->n == TARGETS ||
            sscanf(line, "%111[^\t]\t%31[^\t]\t%31s", r->what, number[0], number[1]) != 3)
            return fclose(f), false;
        for (int c = 0; c < COMPILERS; c++)
            r->value[c] = strcmp(number[c], "-") == 0 ? (double)NAN : strtod(number[c], NULL);
        p->n++;
    }
    if (f) fclose(f);
    return f && *p->name;
}

int read_other_processors(const char *folder, const char *but, processor *p, int most)
{
    char pattern[512];
    int n = 0;
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.tsv", folder);
    if (glob(pattern, 0, NULL, &found) != 0) return 0;
    for (size_t i = 0; i < found.gl_pathc && n < most; i++) {
        if (!read_processor(&p[n], found.gl_pathv[i]))
            fprintf(stderr, "page: can't read %s\n", found.gl_pathv[i]);
        else if (strcmp(p[n].name, but) != 0)
            n++;
    }
    globfree(&found);
    return n;
}

const reach *reached_of(const processor *p, const char *what)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->row[i].what, what) == 0) return &p->row[i];
    return NULL;
}
