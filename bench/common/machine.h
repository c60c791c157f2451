/* machine.h -- what this machine could do at best, at this very moment.
 *
 * A machine that is shared changes its speed from one second to the next, and twofold.  So a time
 * means little by itself; what means something is its ratio to a ceiling measured a millisecond
 * before. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H
#include <stdbool.h>
#include <stdio.h>

/* Seconds since some moment.  With one thread: its own CPU time, for which others that use the
 * machine do not count; with more: the clock on the wall. */
double machine_seconds(int threads);

/* The most fused multiply-adds per second, in GFLOP/s (two per multiply-add), of f32 in registers and
 * the widest vectors that this was compiled for.  Runs for about a millisecond.  f64: half of it. */
double machine_peak(int threads);

/* Does a neighbour run on the other hardware thread of this core?  Then half of the instruction slots are
 * gone: multiply-adds alone are as fast as ever, but not with other instructions between them. */
bool machine_is_shared(void);

/* GB/s that a = b + s c reads and writes when a, b and c together take so many bytes: of the cache
 * level (or the memory) in which they lie.  Measured at the first call for each level. */
double machine_bandwidth(int threads, double bytes);

/* Lines of "# key: value" about processor, caches, compiler, date, load. */
void machine_describe(FILE *out);

#endif
