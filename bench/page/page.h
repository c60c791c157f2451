/* page.h -- docs/performance.md, from the results of the benchmarks.
 *
 * page.md is the page but for its numbers.  A line of it that begins with % is replaced:
 *
 *     %machine                              processor, compiler, commands, dates
 *     %targets FILE FOLDER                  what was to be reached, and what was (target.c), here and on
 *                                           the processors of the folder (processor.c)
 *     %tables BENCH                         every group of a benchmark, as a table (table.c)
 *     %complexity BENCH                     measured exponents, operation by operation
 *     %lines FILE | TITLE | ...             a picture into docs/images/FILE (plot.c)
 *     %dots FILE | TITLE | ...              the same, its points not joined
 *
 * What has not been measured is left out of the page, which then says so. */
#ifndef BENCH_PAGE_H
#define BENCH_PAGE_H
#include "common/results.h"

typedef struct {
    char key[16], value[256];
} fact; /* a line "# key: value" of a file */

typedef struct { /* one folder of results: what one compiler made for one processor */
    char compiler[16], arch[32];
    results all;
    fact fact[128];
    int n_facts;
} build;

typedef struct {
    build build[8];
    int n; /* the first is the one that the page is about */
} builds;

enum { TARGETS = 64, COMPILERS = 2 }; /* gcc, clang */

typedef struct {
    char what[112]; /* a target, in the words of its line */
    double value[COMPILERS];
} reach;

typedef struct {
    char name[96], date[16];
    reach row[TARGETS];
    int n;
} processor;

/* Called after its model and its caches, as the results have them. */
void name_processor(processor *p, const char *model, const char *caches);
bool write_processor(const processor *p, const char *folder);
/* All that the folder has, but one; how many there are. */
int read_other_processors(const char *folder, const char *but, processor *p, int most);
/* NULL if it was not measured there. */
const reach *reached_of(const processor *p, const char *what);

/* The value of a line "# key: value", or "". */
const char *fact_of(const build *b, const char *key);
/* "1.23 ms" */
const char *time_text(double ns);
/* Cuts a line at each " | " into at most n fields, the last being all that is left; how many there are. */
int cut_fields(char *line, char **field, int n);

void write_machine(FILE *out, const builds *all);
bool write_targets(FILE *out, const builds *all, const char *path, const char *folder);
void write_tables(FILE *out, const results *r, const char *bench);
void write_complexity(FILE *out, const results *r, const char *bench);
bool write_plot(FILE *out, const results *r, char *description, bool dots);

#endif
