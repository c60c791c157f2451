/* machine.h -- what this machine can do at best, at this moment.
 *
 * The speed of a shared machine changes within seconds, up to twofold.  So a time means little by
 * itself; its ratio to a peak that was measured a millisecond before means more. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H
#include <stdbool.h>
#include <stdio.h>

/* Seconds since some moment.  With one thread: its CPU time, which other programs hardly change;
 * with more: the wall clock. */
double machine_seconds(int threads);

/* The most fused multiply-adds per second, in GFLOP/s (two per multiply-add), of f32 in registers
 * and the widest vectors that this was compiled for.  Runs for about a millisecond.  f64: half of
 * it. */
double machine_peak(int threads);

/* Is the sibling hardware thread of this core busy?  It takes half of the instruction slots:
 * multiply-adds are as fast as without it, but not with other instructions between them. */
bool machine_is_shared(void);

/* GB/s that a = b + s c reads and writes when a, b and c together take so many bytes: of the cache
 * level (or the memory) in which they lie.  Measured at the first call for each level. */
double machine_bandwidth(int threads, double bytes);

/* Lines of "# key: value" about processor, caches, compiler, date, load. */
void machine_describe(FILE *out);

#endif
