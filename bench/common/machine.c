/* machine.c -- what this machine can do at best, at this moment.
 *
 * The peak is that of chains a <- a x + y.  A link of one chain depends on the link before, which
 * takes some four cycles; enough chains side by side keep every unit busy, and more than there are
 * registers would go to memory.  Every chain starts from another value and all are summed up in the
 * end, as a compiler leaves out what is computed twice or not used. */
#include "common/machine.h"

#include "system/system.h"
#include "kernels/parallel.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef BENCH_ARCH /* the Makefile says what it compiles with */
#define BENCH_ARCH ""
#define BENCH_FLAGS ""
#endif

#if defined(__AVX512F__)
enum { VECTOR = 64, CHAINS = 24 };
#elif defined(__AVX__)
enum { VECTOR = 32, CHAINS = 12 };
#elif defined(__x86_64__) || defined(__i386__)
enum { VECTOR = 16, CHAINS = 12 };
#else
enum { VECTOR = 16, CHAINS = 24 };
#endif
enum { LANES = VECTOR / 4 };

typedef float vector __attribute__((vector_size(VECTOR)));

/* a x + y.  Compilers may not make one instruction of two, as bits would depend on it
 * (docs/bits.md): where the processor has one, it is asked for by name. */
static inline __attribute__((always_inline)) vector multiply_add(vector a, vector x, vector y)
{
#if defined(__FMA__) || defined(__aarch64__)
#pragma GCC unroll 16
    for (int j = 0; j < LANES; j++) y[j] = __builtin_fmaf(a[j], x[j], y[j]);
    return y;
#else
    return a * x + y;
#endif
}

double machine_seconds(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ------------------------------------------------------------------ all threads at once -------- */

typedef struct {
    void (*body)(void *ctx, int task);
    void *ctx;
    int threads;
    atomic_int arrived;
    double seconds[AT_MAX_THREADS];
} race;

/* Waits for the others at the start, at most a millisecond: a thread may have failed to start. */
static void race_one(void *ctx, int task, int worker)
{
    (void)worker;
    race *r = ctx;
    atomic_fetch_add(&r->arrived, 1);
    double t0 = machine_seconds(2);
    while (atomic_load(&r->arrived) < r->threads && machine_seconds(2) < t0 + 1e-3) continue;
    t0 = machine_seconds(r->threads);
    r->body(r->ctx, task);
    r->seconds[task] = machine_seconds(r->threads) - t0;
}

/* The rates of all threads, each of which did `work`, added up. */
static double race_rate(int threads, double work, void (*body)(void *, int), void *ctx)
{
    race r = {.body = body, .ctx = ctx, .threads = threads};
    at_parallel(threads, race_one, &r);
    double rate = 0;
    for (int i = 0; i < threads; i++) rate += work / r.seconds[i];
    return rate;
}

/* ------------------------------------------------------------------ arithmetic ----------------- */

static volatile float almost_one = 0.9999999F, almost_nothing = 1e-9F, sink;

/* If `crowded`, there are half as many other instructions between the multiply-adds: without a busy
 * sibling the core has free slots for them. */
static inline __attribute__((always_inline)) void chains(long links, const bool crowded)
{
    vector a[CHAINS], x = almost_one - (vector){0}, y = almost_nothing - (vector){0};
    for (int i = 0; i < CHAINS; i++) a[i] = x + (float)i;
    for (long k = 0; k < links; k++) {
#pragma GCC unroll 32
        for (int i = 0; i < CHAINS; i++) a[i] = multiply_add(a[i], x, y);
        if (crowded) __asm__ volatile(".rept %c0\n nop\n .endr" ::"i"(CHAINS / 2));
    }
    for (int i = 1; i < CHAINS; i++) a[0] += a[i];
    float sum = 0;
    for (int j = 0; j < LANES; j++) sum += a[0][j];
    sink = sum;
}

static void fma_chains(void *ctx, int task)
{
    (void)task;
    chains(*(const long *)ctx, false);
}

static void crowded_chains(void *ctx, int task)
{
    (void)task;
    chains(*(const long *)ctx, true);
}

bool machine_is_shared(void)
{
    long links = 20000;
    double rate = race_rate(1, 1, fma_chains, &links);
    return race_rate(1, 1, crowded_chains, &links) < 0.9 * rate;
}

double machine_peak(int threads)
{
    static long links; /* that take a millisecond */
    if (!links) {
        links = 10000;
        double rate = race_rate(1, (double)links, fma_chains, &links);
        links = (long)(1e-3 * rate) + 1;
    }
    double flop = 2.0 * LANES * CHAINS * (double)links;
    return 1e-9 * race_rate(threads, flop, fma_chains, &links);
}

/* ------------------------------------------------------------------ memory --------------------- */

typedef struct {
    vector *a[AT_MAX_THREADS], *b[AT_MAX_THREADS], *c[AT_MAX_THREADS];
    long n, times; /* vectors in each; how often */
} triad;

static void triad_run(void *ctx, int task)
{
    const triad *r = ctx;
    vector *a = r->a[task], s = almost_one - (vector){0};
    const vector *b = r->b[task], *c = r->c[task];
    for (long k = 0; k < r->times; k++) {
        for (long i = 0; i < r->n; i++) a[i] = b[i] + s * c[i];
        __asm__ volatile("" ::: "memory");
    }
}

static double measure_bandwidth(int threads, double bytes)
{
    triad r = {.n = (long)(bytes / (3.0 * VECTOR * threads))};
    size_t each = (size_t)r.n * VECTOR, size = (size_t)threads * 3 * (each + 4096 + VECTOR);
    char *memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096), *next = memory;
    if (!memory) return 0;
    memset(memory, 0, size);
    for (int i = 0; i < threads;
         i++) { /* apart by more than a page: no store hits a load's alias */
        r.a[i] = (vector *)next;
        r.b[i] = (vector *)(next += (each + 1024 + 63) / 64 * 64);
        r.c[i] = (vector *)(next += (each + 1024 + 63) / 64 * 64);
        next += (each + 1024 + 63) / 64 * 64;
    }
    r.times = (long)(20e6 / bytes) + 1;
    double best = 0;
    for (int round = 0; round < 9; round++) {
        double rate = race_rate(threads, (double)each * 3.0 * (double)r.times, triad_run, &r);
        if (rate > best) best = rate;
    }
    free(memory);
    return 1e-9 * best;
}

/* The caches of one CPU, and a size that is larger than any cache. */
static void cache_sizes(double size[4])
{
    static const double usual[4] = {32 << 10, 1 << 20, 16 << 20, 1e12};
    for (int i = 0; i < 4; i++) size[i] = usual[i];
#ifdef _SC_LEVEL1_DCACHE_SIZE
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    for (int i = 0; i < 3; i++)
        if (sysconf(names[i]) > 0) size[i] = (double)sysconf(names[i]);
#endif
}

double machine_bandwidth(int threads, double bytes)
{
    static double known[AT_MAX_THREADS + 1][4], size[4];
    int i = 0;
    if (size[0] == 0) cache_sizes(size);
    while (i < 3 && bytes > 1.1 * size[i] * (i < 2 ? threads : 1)) i++;
    double *rate = &known[threads][i], most = i < 3 ? 32e6 : 192e6, test = size[i] / 2;
    if (i < 2) test *= threads; /* each has its own */
    if (*rate == 0) *rate = measure_bandwidth(threads, test < most ? test : most);
    return *rate;
}

/* ------------------------------------------------------------------ its name ------------------- */

/* The first line of a file, or of the line that begins with key what stands after the colon. */
static bool read_line(const char *path, const char *key, char *line, int size)
{
    FILE *f = fopen(path, "r");
    bool found = false;
    *line = 0;
    while (f && !found && fgets(line, size, f))
        found = !key || strncmp(line, key, strlen(key)) == 0;
    if (f) fclose(f);
    line[strcspn(line, "\n")] = 0;
    const char *colon = key ? strchr(line, ':') : NULL;
    if (found && colon) memmove(line, colon + 2, strlen(colon + 2) + 1);
    return found;
}

static void describe_caches(FILE *out)
{
    fprintf(out, "# caches:");
    for (int i = 0; i < 8; i++) {
        char path[96], level[32] = "", type[32] = "", size[32] = "";
        const char *name[] = {"level", "type", "size"};
        char *text[] = {level, type, size};
        bool all = true;
        for (int k = 0; k < 3; k++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i,
                     name[k]);
            all = read_line(path, NULL, text[k], sizeof level) && all;
        }
        if (all && strcmp(type, "Instruction") != 0) fprintf(out, " L%s %s", level, size);
    }
    fprintf(out, "\n");
}

void machine_describe(FILE *out)
{
    char line[256], day[32];
    time_t now = time(NULL);
    strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", gmtime(&now));
    fprintf(out, "# date: %s\n", day);
    if (read_line("/proc/cpuinfo", "model name", line, sizeof line))
        fprintf(out, "# processor: %s, %d usable\n", line, at_cpus());
    describe_caches(out);
    fprintf(out, "# compiler: %s %s\n",
#ifdef __clang__
            "clang", __clang_version__
#else
            "gcc", __VERSION__
#endif
    );
    fprintf(out, "# arch: %s\n# flags: %s\n", BENCH_ARCH, BENCH_FLAGS);
    if (read_line("/proc/loadavg", NULL, line, sizeof line)) fprintf(out, "# load: %s\n", line);
}
