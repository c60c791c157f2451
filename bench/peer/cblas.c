/* cblas.c -- a peer (bench/common/peer.h) that multiplies matrices with another library.
 *
 *     cblas NAME        openblas, blis, onednn; the library of PEER_LIB, or where it usually is
 *
 * The library is opened while this runs, so nothing of it is needed to build this. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <dlfcn.h>
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

typedef void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *,
                         int, float, float *, int);
typedef void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *,
                         int, double, double *, int);
typedef int dnnl_sgemm(char, char, long, long, long, float, const float *, long, const float *,
                       long, float, float *, long);

typedef struct {
    cblas_sgemm *s;
    cblas_dgemm *d;
    dnnl_sgemm *dnnl;
} library;

typedef struct {
    int M, N, K, batch, f64;
    char a, b; /* N or T */
    void *A, *B, *C;
} product;

/* ------------------------------------------------------------------ the library ---------------- */

static void *open_library(const char *name)
{
    static const char *const files[][4] = {
        {"openblas", "/usr/lib/*/openblas-openmp/libopenblas.so.0", "libopenblas.so.0",
         "libopenblas.so"},
        {"blis", "/usr/lib/*/blis-openmp/libblis.so.4", "libblis.so.4", "libblis.so"},
        {"onednn", "libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"},
    };
    const char *own = getenv("PEER_LIB");
    void *h = own ? dlopen(own, RTLD_NOW) : NULL;
    for (int i = 0; i < 3 && !own; i++) {
        if (strcmp(name, files[i][0]) != 0) continue;
        for (int k = 1; k < 4 && !h; k++) {
            glob_t g;
            const char *file = glob(files[i][k], 0, NULL, &g) == 0 ? g.gl_pathv[0] : files[i][k];
            h = dlopen(file, RTLD_NOW);
            globfree(&g);
        }
    }
    if (!h) fprintf(stderr, "cblas: %s\n", dlerror());
    return h;
}

static void print_ready(const char *name, void *h)
{
    char *(*openblas)(void) = (char *(*)(void))dlsym(h, "openblas_get_config");
    char *(*core)(void) = (char *(*)(void))dlsym(h, "openblas_get_corename");
    char *(*blis)(void) = (char *(*)(void))dlsym(h, "bli_info_get_version_str");
    const int *(*dnnl)(void) = (const int *(*)(void))dlsym(h, "dnnl_version");
    if (openblas && core)
        printf("ready %s %s, kernels for %s\n", name, openblas(), core());
    else if (blis)
        printf("ready %s BLIS %s\n", name, blis());
    else if (dnnl)
        printf("ready %s oneDNN %d.%d.%d\n", name, dnnl()[0], dnnl()[1], dnnl()[2]);
    else
        printf("ready %s\n", name);
    fflush(stdout);
}

/* ------------------------------------------------------------------ the product ---------------- */

static void run(const library *l, const product *p)
{
    size_t bytes = p->f64 ? 8 : 4, a = (size_t)p->M * p->K * bytes, b = (size_t)p->K * p->N * bytes,
           c = (size_t)p->M * p->N * bytes;
    int ta = p->a == 'T' ? TRANS : NO_TRANS, tb = p->b == 'T' ? TRANS : NO_TRANS;
    int lda = p->a == 'T' ? p->M : p->K, ldb = p->b == 'T' ? p->K : p->N;
    char *A = p->A, *B = p->B, *C = p->C;
    for (int i = 0; i < p->batch; i++, A += a, B += b, C += c) {
        if (p->f64)
            l->d(ROW_MAJOR, ta, tb, p->M, p->N, p->K, 1, (double *)A, lda, (double *)B, ldb, 0,
                 (double *)C, p->N);
        else if (l->s)
            l->s(ROW_MAJOR, ta, tb, p->M, p->N, p->K, 1, (float *)A, lda, (float *)B, ldb, 0,
                 (float *)C, p->N);
        else
            l->dnnl(p->a, p->b, p->M, p->N, p->K, 1, (float *)A, lda, (float *)B, ldb, 0,
                    (float *)C, p->N);
    }
}

static void *operand(size_t n, int f64)
{
    size_t bytes = n * (f64 ? sizeof(double) : sizeof(float));
    void *x = aligned_alloc(64, (bytes + 63) / 64 * 64);
    for (size_t i = 0; x && i < n; i++) {
        double v = (double)(i * 2654435761U % 1024) / 512 - 1;
        if (f64)
            ((double *)x)[i] = v;
        else
            ((float *)x)[i] = (float)v;
    }
    return x;
}

static int prepare(product *p, const library *l, const char *line)
{
    char type[8];
    product q = {0};
    if (sscanf(line, "case gemm %d %d %d %c %c %d %7s", &q.M, &q.N, &q.K, &q.a, &q.b, &q.batch,
               type) != 7)
        return 0;
    q.f64 = strcmp(type, "f64") == 0;
    if (q.f64 ? !l->d : !l->s && !l->dnnl) return 0;
    free(p->A);
    free(p->B);
    free(p->C);
    q.A = operand((size_t)q.M * q.K * q.batch, q.f64);
    q.B = operand((size_t)q.K * q.N * q.batch, q.f64);
    q.C = operand((size_t)q.M * q.N * q.batch, q.f64);
    *p = q;
    return q.A && q.B && q.C;
}

static double nanoseconds(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void stay_on(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
    char line[256];
    product p = {0};
    void *h = argc > 1 ? open_library(argv[1]) : NULL;
    if (!h) return 1;
    library l = {(cblas_sgemm *)dlsym(h, "cblas_sgemm"), (cblas_dgemm *)dlsym(h, "cblas_dgemm"),
                 (dnnl_sgemm *)dlsym(h, "dnnl_sgemm")};
    if (!l.s && !l.dnnl) return fprintf(stderr, "cblas: %s has no sgemm\n", argv[1]), 1;
    const char *count = getenv("PEER_THREADS");
    int threads = count ? (int)strtol(count, NULL, 10) : 1;
    print_ready(argv[1], h);
    while (fgets(line, sizeof line, stdin)) {
        long times, warm;
        int cpu;
        if (sscanf(line, "run %ld %ld %d", &times, &warm, &cpu) != 3) {
            printf("%s\n", prepare(&p, &l, line) ? "ok" : "no");
        } else {
            if (cpu >= 0) stay_on(cpu);
            for (long i = 0; i < warm; i++) run(&l, &p);
            double t0 = nanoseconds(threads);
            for (long i = 0; i < times; i++) run(&l, &p);
            printf("%.0f\n", nanoseconds(threads) - t0);
        }
        fflush(stdout);
    }
    free(p.A);
    free(p.B);
    free(p.C);
    return 0;
}
