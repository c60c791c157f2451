/* bench_memory.c -- the memory of attention beside its inputs and their gradients, as T grows.
 *
 * One head, D = 64, float.  Two values for each: what the tape allocates (results, saved values,
 * scratch memory), and by how much the process grows: its resident pages, without the gradients.
 * Each is measured in a process of its own, which has never had other memory.
 *
 *     forward             at most O + 1 MiB, whatever T and the number of threads are: T x N scores
 *                         are 1 GiB
 *     forward+backward    at most 3 times O + 1 MiB, which is 13 MiB at T = 16384
 *     resident            4 MiB more, for the pages that a process takes in advance */
#include "attic.h"
#include "attic_op.h"
#include "common/bench.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { D = 64, PAGES_AHEAD = 4 << 20 };

typedef struct {
    double arena, resident;
} growth;

/* Bytes of this process that are in memory, or 0 where it is not known. */
static double resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long size = 0, pages = 0;
    if (f && fscanf(f, "%ld %ld", &size, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double allocated(const at_tape *t)
{
    return (double)at_memory_of(t).step + (double)at_memory_of(t).permanent;
}

static growth measure_here(int T, bool backward)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_shape shape = at_shape_of(1, 1, T, D);
    at_tensor *Q = at_param(t, "Q", shape, at_normal(1)),
              *K = at_param(t, "K", shape, at_normal(1));
    at_tensor *V = at_param(t, "V", shape, at_normal(1)), *dO = at_random(t, shape, at_normal(1));
    double arena = allocated(t), pages = resident();
    at_tensor *O = at_sdpa(t, Q, K, V, (at_sdpa_args){.causal = true});
    if (backward) at_backward_from(t, O, dO);
    double gradients = backward ? 3.0 * T * D * sizeof(float) : 0;
    growth g = {allocated(t) - arena, resident() - pages - gradients};
    if (!at_ok(t)) g.arena = -1;
    at_close(t);
    return g;
}

/* The same in a child; arena < 0 if that failed. */
static growth measure(int T, bool backward)
{
    growth g = {-1, 0};
    int ends[2];
    fflush(NULL);
    if (pipe(ends)) return g;
    pid_t child = fork();
    if (child == 0) {
        g = measure_here(T, backward);
        _exit(write(ends[1], &g, sizeof g) != sizeof g);
    }
    close(ends[1]);
    if (child > 0 && read(ends[0], &g, sizeof g) != sizeof g) g.arena = -1;
    close(ends[0]);
    if (child > 0) waitpid(child, NULL, 0);
    return g;
}

static const int lengths[] = {1024, 4096, 16384};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* One row, of g or yet to be measured. */
static bool row(bench *b, int T, bool backward, bool pages, growth *g)
{
    double O = (double)T * D * sizeof(float), most = (backward ? 3 : 1) * O + (1 << 20);
    char name[48], group[48];
    snprintf(name, sizeof name, "T = %d", T);
    snprintf(group, sizeof group, "%s, %s", backward ? "forward+backward" : "forward",
             pages ? "resident" : "handed out");
    bench_case c = {
        .group = group, .name = name, .x = T, .flop = (backward ? 7.0 : 2.0) * T * T * D};
    if (!bench_wants(b, &c)) return true;
    if (g->arena == 0) *g = measure(T, backward);
    if (g->arena < 0) return false;
    bench_value(b, &c, "bytes", pages ? g->resident : g->arena, most + (pages ? PAGES_AHEAD : 0));
    return true;
}

static bool measure_all(bench *b, bool backward)
{
    growth g[LENGTHS] = {{0}};
    bool ok = true;
    for (int pages = 0; pages < 2; pages++)
        for (int i = 0; i < LENGTHS; i++) ok = row(b, lengths[i], backward, pages, &g[i]) && ok;
    return ok;
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "memory",
                          "what attention needs beside inputs and gradients\n", NULL);
    bool ok = true;
    while (bench_next_threads(b))
        for (int backward = 0; backward < 2; backward++) ok = measure_all(b, backward) && ok;
    return bench_close(b) || !ok;
}
