/* bench.h -- measure, compare, print, keep.
 *
 *     int main(int argc, char **argv)
 *     {
 *         bench *b = bench_open(argc, argv, "exp", "the exponential function\n", "torch");
 *         while (bench_next_threads(b))
 *             bench_row(b, &(bench_case){.group = "exp", .name = "1000", .run = run, .ctx = x, ...});
 *         return bench_close(b);
 *     }
 *
 * A row is measured in rounds.  Each round measures, one right after the other: the FMA peak of
 * this moment (a millisecond), attic (two milliseconds, or once), each peer (the same).  The
 * results are the quartiles over the rounds, of the time and of the ratios: time to peak, peer to
 * attic.  The speed of a shared machine may change between rounds, but hardly within one.
 *
 * Idle threads of a peer (OpenMP) spin for milliseconds, and would take half of the machine from
 * the next program: with more than one thread, each program waits 10 ms for that to end, then warms
 * up.  With one thread, the CPU time of that thread counts, and a peer runs on the same CPU.
 *
 * All this is for Linux: the number of the current CPU and the roots for peers have no portable
 * interface. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H
#include <stdbool.h>

typedef struct bench bench;

typedef struct {
    const char *group, *name; /* "square", "64 x 64 x 64 NN": rows of a group stand in one table */
    double x;                 /* where the row stands in a plot of its group, e.g. T */
    double flop;  /* floating-point operations of one run (a multiply-add is two), or 0 */
    double bytes; /* that one run must at least read and write, or 0 */
    bool f64;     /* in double, whose peak is half */
    int each;     /* one run does so many of what the row is about; 0: 1 */
    void (*run)(void *ctx);
    void *ctx;
    const char *peer; /* the same work in the words of peer.h, or NULL */
} bench_case;

/* peers: those that this bench can be compared with, "torch,blis", or NULL. */
bench *bench_open(int argc, char **argv, const char *name, const char *about, const char *peers);
/* Sets at_threads to the next requested number of threads, first one, then two; false after the
 * last. */
bool bench_next_threads(bench *b);
int bench_threads(const bench *b);
bool bench_is_smoke(const bench *b); /* once is enough */

void bench_row(bench *b, const bench_case *c);
/* A row that is not a time but another measured value: c->run is not called.  most: its required
 * upper bound, or 0. */
void bench_value(bench *b, const bench_case *c, const char *unit, double value, double most);

/* Is this row requested?  To be asked before a long preparation. */
bool bench_wants(const bench *b, const bench_case *c);
/* Geometric means, and the rows into a file.  Returns what main should. */
int bench_close(bench *b);

/* n floats in -1 .. 1, for operands.  Ends the program if there is no memory. */
float *bench_floats(long n);

#endif
