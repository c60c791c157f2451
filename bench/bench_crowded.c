/* bench_crowded.c -- two threads beside one: quiet, and beside programs that want every core.
 *
 * Each row is a ratio: the time of a training step on all requested threads, in percent of its time
 * on one.  In each of 31 rounds both are measured, one right after the other, each for at least 50
 * milliseconds of real time; the median of the rounds' ratios counts.
 *
 *     quiet              nothing else runs, as far as this program knows
 *     beside burners     so do programs that do nothing but compute, one for each core, with the
 *                        priority of this one, and each kept on its core
 *     single steps       the median and the 95th percentile of single steps beside burners, in
 *                        microseconds: nothing is required of them
 *     a region           of 8 equal tasks, before which all threads but one sleep: where this is
 *                        well below 100 %, also beside burners, it pays to wake them (FOR_WAKE in
 *                        src/kernels/parallel.c)
 *
 * The tiny model is the smallest that people train for its own sake: one layer, 4 heads, 16 wide, a
 * context of 8 of 27 letters, one sequence in a step.  The toys are those of bench_train.c. */
#define _GNU_SOURCE /* affinity */
#include "attic_train.h"
#include "attic_op.h"
#include "common/bench.h"
#include "common/results.h"
#include "system/system.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 31, STEPS = 500, SAMPLE_NS = 50000000 };

typedef struct {
    const char *name;
    int dim, vocab, context, batch;
    double quiet, crowded; /* the most that the ratio may be, in percent; 0: anything */
} model;

static const model models[] = {{"microgpt", 16, 27, 8, 1, 103, 103},
                               {"toy B = 8", 64, 65, 64, 8, 70, 75},
                               {"toy B = 32", 64, 65, 64, 32, 70, 75}};

typedef struct {
    at_tape *t;
    at_model *m;
    at_mark start;
    at_tensor *ids, *target;
} training;

static void step(void *ctx)
{
    const training *r = ctx;
    at_tensor *logits = at_model_logits(r->t, r->m, r->ids, (at_model_args){0});
    at_tensor *loss = at_cross_entropy(r->t, logits, r->target, (at_cross_entropy_args){0});
    at_backward(r->t, loss);
    at_adam(r->t, 1e-4, (at_adamw_args){0});
    at_item(loss);
    at_rewind(r->t, r->start);
}

static at_tensor *random_ids(at_tape *t, const model *m, unsigned seed)
{
    at_tensor *ids = at_ints(t, at_shape_of(m->batch, m->context), NULL);
    for (int i = 0; ids && i < m->batch * m->context; i++) {
        seed = seed * 1664525U + 1013904223U;
        ((int32_t *)ids->data)[i] = (int32_t)((seed >> 8) % (unsigned)m->vocab);
    }
    return ids;
}

static training training_of(const model *m)
{
    training r = {.t = at_open(ATTIC_F32, 1)};
    r.m = at_model_make(r.t, (at_model_config){.vocab = m->vocab,
                                               .context = m->context,
                                               .layers = 1,
                                               .heads = 4,
                                               .dim = m->dim,
                                               .positions = ATTIC_LEARNED_POSITIONS});
    r.ids = random_ids(r.t, m, 1);
    r.target = random_ids(r.t, m, 2);
    at_reuse_memory(r.t, true); /* intermediate gradients are not read */
    r.start = at_mark_here(r.t);
    return r;
}

/* ------------------------------------------------------------------ burners -------------------- */

static pid_t burner[AT_MAX_THREADS];

static pid_t start_burner(int cpu)
{
    pid_t child = fork();
    if (child) return child;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned i = 0;; i++) continue;
}

/* One on each CPU that this process may use. */
static void start_burners(void)
{
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) return;
    for (int cpu = 0, n = 0; cpu < CPU_SETSIZE && n < AT_MAX_THREADS; cpu++)
        if (CPU_ISSET(cpu, &mine)) burner[n++] = start_burner(cpu);
}

static void stop_burners(void)
{
    for (int i = 0; i < AT_MAX_THREADS && burner[i] > 0; i++) {
        kill(burner[i], SIGKILL);
        waitpid(burner[i], NULL, 0);
        burner[i] = 0;
    }
}

/* ------------------------------------------------------------------ measuring ------------------ */

/* Nanoseconds of one run on these threads, mean over `least` nanoseconds; the first run is not
 * counted: threads start, or end, in it. */
static double sample(void (*run)(void *), void *ctx, int threads, int64_t least)
{
    int64_t runs = 0, passed;
    at_threads(threads);
    run(ctx);
    for (int64_t start = at_now_ns(); runs++, run(ctx), (passed = at_now_ns() - start) < least;)
        continue;
    return (double)passed / (double)runs;
}

static double percent_of(const bench *b, void (*run)(void *), void *ctx)
{
    double percent[ROUNDS], time[2];
    const int rounds = bench_is_smoke(b) ? 1 : ROUNDS;
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 2; k++) {
            const int many = (i + k) % 2; /* which is first changes from round to round */
            time[many] =
                sample(run, ctx, many ? bench_threads(b) : 1, bench_is_smoke(b) ? 0 : SAMPLE_NS);
        }
        percent[i] = 100 * time[1] / time[0];
    }
    return quartiles_of(percent, rounds).median;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure_single(bench *b, const model *m, training *r)
{
    static double us[STEPS];
    const int steps = bench_is_smoke(b) ? 1 : STEPS, counts[] = {1, bench_threads(b)};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < steps; k++) us[k] = 1e-3 * sample(step, r, counts[i], 0);
        qsort(us, (size_t)steps, sizeof *us, by_size);
        for (int worst = 0; worst < 2; worst++) {
            char name[48];
            snprintf(name, sizeof name, "%s, %d thread%s, %s", m->name, counts[i],
                     counts[i] > 1 ? "s" : "", worst ? "95th percentile" : "median");
            bench_case c = {.group = "single steps", .name = name};
            bench_value(b, &c, "us", us[worst ? steps * 95 / 100 : steps / 2], 0);
        }
    }
}

/* ------------------------------------------------------------------ a region ------------------- */

enum { TASKS = 8, REGIONS = 200 };

static void spin_task(void *ctx, int task, int worker)
{
    (void)task, (void)worker;
    volatile unsigned links = *(const unsigned *)ctx;
    while (links) links--;
}

/* Nanoseconds of a region of this work on so many threads, a mean. */
static double region_ns(unsigned links, int threads, int regions)
{
    int64_t sum = 0;
    at_threads(threads);
    for (int i = -1; i < regions; i++) {
        nanosleep(&(struct timespec){0, 100000}, NULL); /* helpers fall asleep */
        const int64_t start = at_now_ns();
        at_parallel(TASKS, spin_task, &links);
        if (i >= 0) sum += at_now_ns() - start;
    }
    return (double)sum / regions;
}

static void measure_region(bench *b, int us, bool crowded)
{
    char name[48];
    double percent[ROUNDS];
    const int rounds = bench_is_smoke(b) ? 1 : ROUNDS, regions = bench_is_smoke(b) ? 1 : REGIONS;
    snprintf(name, sizeof name, "%d us, %s", us, crowded ? "beside burners" : "quiet");
    bench_case c = {.group = "a region", .name = name};
    if (!bench_wants(b, &c)) return;
    static double links_per_us;
    if (!links_per_us) links_per_us = 1e6 / (1e-3 * region_ns(1000000 / TASKS, 1, 3));
    const unsigned links = (unsigned)(us * links_per_us / TASKS);
    for (int i = 0; i < rounds; i++)
        percent[i] =
            100 * region_ns(links, bench_threads(b), regions) / region_ns(links, 1, regions);
    bench_value(b, &c, "% of one thread's time", quartiles_of(percent, rounds).median, 0);
}

static bool measure(bench *b, const model *m, bool crowded)
{
    bench_case c = {.group = crowded ? "beside burners" : "quiet", .name = m->name};
    training r = training_of(m);
    if (bench_wants(b, &c))
        bench_value(b, &c, "% of one thread's time", percent_of(b, step, &r),
                    crowded ? m->crowded : m->quiet);
    c.group = "single steps";
    if (crowded && m->batch > 1 && bench_wants(b, &c)) measure_single(b, m, &r);
    bool ok = at_ok(r.t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(r.t));
    at_close(r.t);
    return ok;
}

int main(int argc, char **argv)
{
    bench *b =
        bench_open(argc, argv, "crowded", "two threads beside one, also among burners\n", NULL);
    bool ok = true;
    while (bench_next_threads(b)) {
        if (bench_threads(b) < 2) continue; /* the measure of the others */
        for (int crowded = 0; crowded < 2; crowded++) {
            if (crowded) start_burners();
            for (size_t i = 0; i < sizeof models / sizeof *models; i++)
                ok = measure(b, &models[i], crowded) && ok;
            for (int us = 10; us <= 640; us *= 2) measure_region(b, us, crowded);
            if (crowded) stop_burners();
        }
    }
    return bench_close(b) || !ok;
}
