/* results.h -- what was measured, as lines of a text file.
 *
 * One line for each row and each library, attic or a peer, fields separated by tabs; before them
 * lines "# key: value" about machine, compiler, date and command. */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H
#include <stdbool.h>
#include <stdio.h>

typedef struct {
    double q1, median, q3;
} quartiles;

/* Of n > 0 values, which it sorts.  Between two of them it interpolates. */
quartiles quartiles_of(double *v, int n);

typedef struct {
    char bench[16], group[32], name[48], who[16],
        unit[32]; /* "sdpa", "causal forward", "8x4x64x16", "attic", "ns" */
    int threads, rounds;
    double x;           /* where it stands in a plot */
    double flop, bytes; /* of one run: arithmetic, and memory that must be touched */
    double floor, peak; /* the best conceivable time in ns; GFLOP/s */
    quartiles value;    /* time in ns (or bytes, ...) */
    quartiles percent;  /* flop / time, of the peak in the same round; 0 if there is no flop */
    quartiles ratio;    /* value / attic's value, round by round; 1 for attic itself */
} result;

typedef struct {
    result *row;
    int n;
} results;

void results_add(results *r, result row);
void results_free(results *r);

void results_print(FILE *out, const result *row); /* as one line */
/* Adds the rows of a file; false if there is no such file or a line of it has another format. */
bool results_read(results *r, const char *path);

/* Geometric means over the rows of a group with this who and so many threads: of the percentages'
 * quartiles, and of the ratios'.  Returns the number of rows; if it is 0, the two stay as they
 * are. */
int results_mean(const results *r, const char *group, const char *who, int threads,
                 quartiles *percent, quartiles *ratio);
/* Is name one of a list "a,b,c"? */
bool is_listed(const char *name, const char *list);

#endif
