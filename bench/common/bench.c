/* bench.c -- measure, compare, print, keep. */
#define _GNU_SOURCE /* sched_getcpu */
#include "common/bench.h"

#include "common/machine.h"
#include "common/options.h"
#include "common/peer.h"
#include "common/results.h"
#include "kernels/parallel.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROUNDS = 99, MAX_PEERS = PEERS + 1 };

static const double round_seconds = 2e-3; /* of attic, or of a peer, in one round */
static const double smoke_flop = 3e8; /* more than this takes too long to see whether it works */

struct bench {
    const char *name, *peers;
    int rounds, smoke, turn, threads; /* turn: which of the thread counts */
    int serve;                        /* 1: answer a program that compares itself with this one, */
    FILE *answers;                    /* here */
    char line[256];                   /* its line that is still to be answered, or "" */
    double budget, no_sibling;
    int shared; /* rows for which the sibling hardware thread was never idle */
    const char *thread_list, *peer_list, *before, *only, *out, *known;
    peer peer[MAX_PEERS];
    int n_peers;
    bool failed;
    char command[256], versions[512];
    results rows;
};

/* ------------------------------------------------------------------ beginning ------------------ */

/* Is it "1,2,8"? */
static bool is_thread_list(const char *text)
{
    for (double n;; text++) {
        if (!read_number(&text, false, &n) || n < 1 || n > AT_MAX_THREADS) return false;
        if (*text != ',') return !*text;
    }
}

/* malloc with pages of 2 MiB, as peers have them (peer.c) and attic's tapes: glibc reads what it is
 * told when a program starts, so the program starts anew. */
static void take_large_pages(char **argv)
{
    if (getenv("GLIBC_TUNABLES")) return;
    setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
    execv("/proc/self/exe", argv); /* where there is no such file, pages stay as they are */
}

bench *bench_open(int argc, char **argv, const char *name, const char *about, const char *peers)
{
    static bench b = {.rounds = 31,
                      .budget = 3,
                      .thread_list = "1,2",
                      .peer_list = "",
                      .before = "",
                      .only = "",
                      .out = ""};
    const option table[] = {
        {"rounds", &b.rounds, NULL, NULL, 1, MAX_ROUNDS, "rounds per row; at least 9 of them"},
        {"budget", NULL, &b.budget, NULL, 0, 1e6,
         "seconds per row; what lasts longer gets 9 rounds"},
        {"no-sibling", NULL, &b.no_sibling, NULL, 0, 1e6,
         "wait so many seconds per row until the sibling hardware thread is idle"},
        {"threads", NULL, NULL, &b.thread_list, 0, 0, "how many, one run for each"},
        {"peer", NULL, NULL, &b.peer_list, 0, 0,
         "torch, torch-compile, openblas, blis, onednn, several, or all"},
        {"before", NULL, NULL, &b.before, 0, 0, "this program of another build, run in turn"},
        {"serve", &b.serve, NULL, NULL, 0, 0, "be that other build"},
        {"only", NULL, NULL, &b.only, 0, 0, "rows whose group and name contain this"},
        {"out", NULL, NULL, &b.out, 0, 0, "file for the results, in place of results/NAME.tsv"},
        {"smoke", &b.smoke, NULL, NULL, 0, 0, "run every small row once: does it work?"},
        {0}};
    take_large_pages(argv);
    char usage[512];
    snprintf(usage, sizeof usage, "bench_%s -- %s", name, about);
    parse_options(argc, argv, usage, table, 0);
    if (!is_thread_list(b.thread_list)) {
        fprintf(stderr,
                "bench_%s: --threads must be whole numbers from 1 to %d with commas between, not "
                "\"%s\"\n",
                name, AT_MAX_THREADS, b.thread_list);
        exit(2);
    }
    signal(SIGPIPE, SIG_IGN); /* a missing answer shows that a peer has ended */
    b.name = name;
    b.known = peers;
    if (b.serve) { /* stdout is for answers alone */
        b.answers = fdopen(dup(1), "w");
        if (!b.answers || !freopen("/dev/null", "w", stdout)) exit(1);
    }
    for (int i = 0; i < argc; i++) {
        size_t n = strlen(b.command);
        const char *word = i || !strrchr(argv[0], '/') ? argv[i] : strrchr(argv[0], '/') + 1;
        snprintf(b.command + n, sizeof b.command - n, "%s%s", i ? " " : "", word);
    }
    return &b;
}

/* Starts those of the requested peers that can do what this benchmark does. */
static void start_peers(bench *b)
{
    bool all = strcmp(b->peer_list, "all") == 0;
    b->n_peers = 0;
    if (*b->before && peer_start_before(&b->peer[0], b->before, b->threads, b->only))
        b->n_peers++;
    else if (*b->before)
        b->failed = true;
    for (int i = 0; i < PEERS && b->known && !b->smoke; i++) {
        const char *name = peer_name(i);
        if (!is_listed(name, b->known) || !(all || is_listed(name, b->peer_list))) continue;
        peer *p = &b->peer[b->n_peers];
        if (peer_start(p, name, b->threads)) {
            b->n_peers++;
            size_t n = strlen(b->versions);
            if (b->turn == 1)
                snprintf(b->versions + n, sizeof b->versions - n, "# peer: %s\n", p->version);
        } else if (!all) {
            b->failed = true; /* requested by name, and not there */
        }
    }
}

static void stop_peers(bench *b)
{
    for (int i = 0; i < b->n_peers; i++) peer_stop(&b->peer[i]);
    b->n_peers = 0;
}

static void serve_line(const bench *b, const char *text)
{
    fprintf(b->answers, "%s\n", text);
    fflush(b->answers);
}

bool bench_next_threads(bench *b)
{
    const char *list = b->thread_list;
    double threads = 0;
    for (int i = 0; i < b->turn && list; i++)
        list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
    stop_peers(b);
    if (list && !b->failed) read_number(&list, false, &threads);
    b->threads = (int)threads;
    b->turn++;
    if (b->threads < 1) return false;
    start_peers(b);
    at_threads(b->threads);
    if (b->serve && b->turn == 1) serve_line(b, "ready attic");
    return !b->failed;
}

bool bench_is_smoke(const bench *b)
{
    return b->smoke;
}

int bench_threads(const bench *b)
{
    return b->threads;
}

/* ------------------------------------------------------------------ a row in rounds ------------ */

static double seconds_of(const bench *b, const bench_case *c, long times)
{
    double t0 = machine_seconds(b->threads);
    for (long i = 0; i < times; i++) c->run(c->ctx);
    return machine_seconds(b->threads) - t0;
}

/* How many runs fill a round.  p NULL: of attic. */
static long runs_per_round(const bench *b, const bench_case *c, peer *p)
{
    double t = 0;
    long n = 1;
    if (b->smoke) return 1;
    if (p) /* the first run of all touches memory, wakes threads, and may compile */
        peer_run(p, 1, 0, -1);
    else
        c->run(c->ctx);
    for (;; n *= 4) {
        t = p ? (double)n * peer_run(p, n, 0, -1) : seconds_of(b, c, n);
        if (t > round_seconds / 4) break;
    }
    n = (long)((double)n * round_seconds / t);
    return n > 1 ? n : 1;
}

static void settle(const bench *b)
{
    if (b->threads > 1 && b->n_peers > 0) nanosleep(&(struct timespec){0, 10 * 1000 * 1000}, NULL);
}

/* One round of attic or of a peer: seconds for one run. */
static double one_round(const bench *b, const bench_case *c, peer *p, long times)
{
    long warm = times > 1 ? times / 8 + 1 : 0;
    if (p) return peer_run(p, times, warm, b->threads == 1 ? sched_getcpu() : -1);
    seconds_of(b, c, warm);
    return seconds_of(b, c, times) / (double)times;
}

typedef struct {
    int rounds;
    double peak[MAX_ROUNDS];
    double seconds[1 + MAX_PEERS][MAX_ROUNDS]; /* attic, then the peers */
} samples;

/* A round; false if it does not count, because the sibling hardware thread was busy. */
static bool take_round(const bench *b, const bench_case *c, peer **who, int n, const long *times,
                       bool no_sibling, samples *s)
{
    settle(b);
    if (no_sibling && machine_is_shared()) {
        nanosleep(&(struct timespec){0, 2 * 1000 * 1000}, NULL);
        return false;
    }
    s->peak[s->rounds] = machine_peak(b->threads) * (c->f64 ? 0.5 : 1);
    for (int i = 0; i <= n; i++) {
        if (i) settle(b);
        s->seconds[i][s->rounds] = one_round(b, c, i ? who[i - 1] : NULL, times[i]);
    }
    return !no_sibling || !machine_is_shared();
}

static void take_samples(bench *b, const bench_case *c, peer **who, int n, samples *s)
{
    long times[1 + MAX_PEERS];
    for (int i = 0; i <= n; i++) times[i] = runs_per_round(b, c, i ? who[i - 1] : NULL);
    int most = b->smoke ? 1 : b->rounds, least = most < 9 ? most : 9;
    double patience = machine_seconds(2) + b->no_sibling, spent = 0;
    bool no_sibling = b->no_sibling > 0;
    for (s->rounds = 0; s->rounds < most && (s->rounds < least || spent < b->budget);) {
        double t0 = machine_seconds(2);
        if (no_sibling && t0 > patience + spent) no_sibling = false, b->shared++;
        if (!take_round(b, c, who, n, times, no_sibling, s)) continue;
        spent += machine_seconds(2) - t0;
        s->rounds++;
    }
}

/* The best conceivable time: at the peak throughout, or at the bandwidth of the memory it is in. */
static double floor_ns(const bench *b, const bench_case *c, double peak)
{
    if (b->smoke) return 0; /* bandwidths take a while */
    double arithmetic = c->flop / peak;
    double memory = c->bytes > 0 ? c->bytes / machine_bandwidth(b->threads, c->bytes) : 0;
    return arithmetic > memory ? arithmetic : memory;
}

static result summarise(const bench *b, const bench_case *c, const char *who, const samples *s,
                        int which)
{
    double each = c->each ? c->each : 1, v[3][MAX_ROUNDS], peak[MAX_ROUNDS];
    for (int r = 0; r < s->rounds; r++) {
        double seconds = s->seconds[which][r];
        v[0][r] = 1e9 * seconds / each;
        v[1][r] = 100 * 1e-9 * c->flop / seconds / s->peak[r];
        v[2][r] = seconds / s->seconds[0][r];
        peak[r] = s->peak[r];
    }
    result w = {.unit = "ns",
                .threads = b->threads,
                .rounds = s->rounds,
                .x = c->x,
                .flop = c->flop / each,
                .bytes = c->bytes / each,
                .peak = quartiles_of(peak, s->rounds).median,
                .value = quartiles_of(v[0], s->rounds),
                .percent = quartiles_of(v[1], s->rounds),
                .ratio = quartiles_of(v[2], s->rounds)};
    w.floor = floor_ns(b, c, w.peak) / each;
    snprintf(w.bench, sizeof w.bench, "%s", b->name);
    snprintf(w.group, sizeof w.group, "%s", c->group);
    snprintf(w.name, sizeof w.name, "%s", c->name);
    snprintf(w.who, sizeof w.who, "%s", who);
    return w;
}

/* ------------------------------------------------------------------ the table ------------------ */

/* 1234567 ns as "1.235 ms" */
static const char *time_text(double ns)
{
    static char text[24];
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    int u = 0;
    for (; ns >= 999.5 && u < 3; u++) ns /= 1000;
    snprintf(text, sizeof text,
             ns < 9.995   ? "%.2f %s"
             : ns < 99.95 ? "%.1f %s"
                          : "%.0f %s",
             ns, unit[u]);
    return text;
}

static void print_heading(const bench *b, const bench_case *c)
{
    const result *last = b->rows.n ? &b->rows.row[b->rows.n - 1] : NULL;
    if (last && strcmp(last->group, c->group) == 0 && last->threads == b->threads) return;
    char title[80];
    snprintf(title, sizeof title, "%s: %s, %d thread%s", b->name, c->group, b->threads,
             b->threads > 1 ? "s" : "");
    printf("\n%-48s %9s %9s  %% of peak   %9s", title, "time", "GFLOP/s", "/ floor");
    for (int i = 0; i < b->n_peers; i++) printf(" %9s", b->peer[i].name);
    printf("\n");
}

static void print_row(const result *w)
{
    printf("%-48s %9s", w->name, time_text(w->value.median));
    if (w->flop > 0)
        printf(" %9.1f  %3.0f %3.0f %3.0f ", w->flop / w->value.median, w->percent.q1,
               w->percent.median, w->percent.q3);
    else
        printf(" %9s  %12s", "", "");
    if (w->floor > 0)
        printf(" %8.1fx", w->value.median / w->floor);
    else
        printf(" %9s", "");
}

bool bench_wants(const bench *b, const bench_case *c)
{
    char text[128];
    snprintf(text, sizeof text, "%s %s", c->group, c->name);
    return strstr(text, b->only) && !(b->smoke && c->flop > smoke_flop);
}

/* The next line of the program that compares itself with this one; the end if there is none. */
static void serve_next(bench *b)
{
    if (!*b->line && !fgets(b->line, sizeof b->line, stdin)) exit(0);
    b->line[strcspn(b->line, "\n")] = 0;
}

/* Answers until another row is asked for: see peer.h. */
static void serve_row(bench *b, const bench_case *c)
{
    char mine[128], answer[32];
    long times, warm;
    int cpu;
    cpu_set_t one;
    snprintf(mine, sizeof mine, "case %s %s", c->group, c->name);
    for (bool asked = false;; *b->line = 0) {
        serve_next(b);
        if (!asked && strcmp(b->line, mine) == 0) {
            asked = true;
            serve_line(b, "ok");
        } else if (asked && sscanf(b->line, "run %ld %ld %d", &times, &warm, &cpu) == 3) {
            CPU_ZERO(&one);
            if (cpu >= 0) CPU_SET(cpu, &one);
            if (cpu >= 0) sched_setaffinity(0, sizeof one, &one);
            seconds_of(b, c, warm);
            snprintf(answer, sizeof answer, "%.0f", 1e9 * seconds_of(b, c, times));
            serve_line(b, answer);
        } else {
            return;
        }
    }
}

static bool has_case(peer *p, const bench_case *c)
{
    char row[128];
    snprintf(row, sizeof row, "%s %s", c->group, c->name);
    const char *text = strcmp(p->name, "before") == 0 ? row : c->peer;
    return text && peer_case(p, text);
}

void bench_row(bench *b, const bench_case *c)
{
    peer *who[MAX_PEERS];
    int n = 0;
    if (!bench_wants(b, c)) return;
    if (b->serve) {
        serve_row(b, c);
        return;
    }
    print_heading(b, c);
    for (int i = 0; i < b->n_peers; i++)
        if (has_case(&b->peer[i], c)) who[n++] = &b->peer[i];
    samples s;
    take_samples(b, c, who, n, &s);
    result w = summarise(b, c, "attic", &s, 0);
    print_row(&w);
    results_add(&b->rows, w);
    for (int i = 0, k = 0; i < b->n_peers; i++) {
        if (k == n || who[k] != &b->peer[i]) {
            printf(" %9s", "-");
            continue;
        }
        w = summarise(b, c, b->peer[i].name, &s, ++k);
        printf(" %8.2fx", w.ratio.median);
        results_add(&b->rows, w);
    }
    printf("\n");
    fflush(stdout);
}

void bench_value(bench *b, const bench_case *c, const char *unit, double value, double most)
{
    if (!bench_wants(b, c)) return;
    const result *last = b->rows.n ? &b->rows.row[b->rows.n - 1] : NULL;
    if (!last || strcmp(last->group, c->group) != 0 || last->threads != b->threads)
        printf("\n%s: %s, %d thread%s\n", b->name, c->group, b->threads, b->threads > 1 ? "s" : "");
    result w = {.threads = b->threads,
                .rounds = 1,
                .x = c->x,
                .flop = c->flop,
                .bytes = c->bytes,
                .floor = most,
                .value = {value, value, value},
                .ratio = {1, 1, 1}};
    snprintf(w.bench, sizeof w.bench, "%s", b->name);
    snprintf(w.group, sizeof w.group, "%s", c->group);
    snprintf(w.name, sizeof w.name, "%s", c->name);
    snprintf(w.who, sizeof w.who, "attic");
    snprintf(w.unit, sizeof w.unit, "%s", unit);
    results_add(&b->rows, w);
    printf("%-48s %14.0f %s", c->name, value, unit);
    if (most > 0) printf("   at most %.0f: %s", most, value <= most ? "yes" : "NO");
    printf("\n");
    fflush(stdout);
}

/* ------------------------------------------------------------------ the end -------------------- */

/* Is row i the first of its bench, group, threads and who? */
static bool is_first(const results *r, int i)
{
    const result *w = &r->row[i];
    for (int k = 0; k < i; k++) {
        const result *v = &r->row[k];
        if (v->threads == w->threads && strcmp(v->group, w->group) == 0 &&
            strcmp(v->who, w->who) == 0)
            return false;
    }
    return true;
}

static void print_means(const bench *b)
{
    quartiles p, r;
    bool any = false;
    for (int i = 0; i < b->rows.n; i++) {
        const result *w = &b->rows.row[i];
        if (strcmp(w->unit, "ns") != 0 || !is_first(&b->rows, i)) continue;
        if (!any) printf("\n%-48s %9s   %% of peak     time / attic's\n", "geometric means", "");
        any = true;
        int n = results_mean(&b->rows, w->group, w->who, w->threads, &p, &r);
        char title[80];
        snprintf(title, sizeof title, "%s, %d thread%s (%d)", w->group, w->threads,
                 w->threads > 1 ? "s" : "", n);
        printf("%-48s %9s ", title, w->who);
        if (p.median > 0)
            printf("  %3.0f %3.0f %3.0f", p.q1, p.median, p.q3);
        else
            printf("  %11s", "");
        if (strcmp(w->who, "attic") != 0) printf("   %6.2fx", r.median);
        printf("\n");
    }
}

/* results/NAME.tsv beside the folder of this program */
static const char *usual_file(const bench *b, char *path, int size)
{
    ssize_t n = readlink("/proc/self/exe", path, (size_t)size - 64);
    path[n > 0 ? n : 0] = 0;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (slash) *slash = 0;
    }
    strcat(path, "/results");
    mkdir(path, 0777);
    n = (ssize_t)strlen(path);
    snprintf(path + n, (size_t)(size - n), "/%s.tsv", b->name);
    return path;
}

int bench_close(bench *b)
{
    char path[4096];
    bool good = !b->failed;
    for (; b->serve; *b->line = 0) {
        serve_next(b);
        serve_line(b, "no: there is no such row, or it was before");
    }
    stop_peers(b);
    if (good && !b->smoke && b->rows.n) print_means(b);
    if (good && !b->smoke && (!*b->only || *b->out)) { /* a part does not replace the whole */
        const char *file = *b->out ? b->out : usual_file(b, path, sizeof path);
        FILE *f = fopen(file, "w");
        if (f) {
            char shared[64] = "";
            if (b->shared)
                snprintf(shared, sizeof shared, " (%d rows on a shared core)", b->shared);
            fprintf(f, "# command: %s%s\n%s", b->command, shared, b->versions);
            machine_describe(f);
            for (int i = 0; i < b->rows.n; i++) results_print(f, &b->rows.row[i]);
        }
        good = f && fclose(f) == 0;
        printf("%s%s\n", good ? "\nwritten to " : "\nbench: can't write ", file);
    }
    results_free(&b->rows);
    return finish(!good);
}

float *bench_floats(long n)
{
    float *x = aligned_alloc(64, ((size_t)(n > 0 ? n : 1) * sizeof *x + 63) / 64 * 64);
    if (!x) {
        fprintf(stderr, "bench: no memory for %ld floats\n", n);
        exit(1);
    }
    unsigned state = 1;
    for (long i = 0; i < n; i++) {
        state = state * 1664525U + 1013904223U;
        x[i] = (float)(state >> 8) * (2.0F / (1 << 24)) - 1;
    }
    return x;
}
