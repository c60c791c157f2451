/* half.c -- what storing in 16 bits costs in accuracy and saves in time: the tables of
 * docs/precision.md.
 *
 *     half                                                       errors of ops, speed
 *     half --model out/gpt/best.safetensors held-out.txt         the same, and of a model
 *
 * Errors are those of an f32 tape against an f64 tape with the same numbers, of which only what is
 * stored is rounded: the root of the mean of the squares, as a share of that of the exact values.
 * Of a model: the memory of its parameters (and, of those that learn, their gradients) and of its
 * cache, the loss on held-out text, and how many tokens are those of f32 until the first that is
 * not, greedily and drawn by the same random numbers.  Times are medians over rounds in which f32,
 * f16 and bf16 take turns. */
#include "attic_train.h"
#include "attic_op.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/options.h"

enum { DTYPES = 3, ROUNDS = 31, MOST = 4096 };
static const at_dtype dtypes[DTYPES] = {ATTIC_F32, ATTIC_F16, ATTIC_BF16};
static int n_tokens = 500, speed = 1;
static const char *path = "", *prompt = "The ";

static void fail(const at_tape *t)
{
    if (at_ok(t)) return;
    fprintf(stderr, "half: %s\n", at_error(t));
    exit(at_error_kind_of(t) == ATTIC_USER_ERROR ? 2 : 1);
}

/* ------------------------------------------------------------------ errors of ops -------------- */

static at_tensor *draw(at_tape *t, uint64_t number, double sd, at_shape shape)
{
    at_tensor *x = at_const(t, shape, NULL);
    if (x) at_init_fill(x, at_normal(sd), (at_stream){1, number});
    return x;
}

enum { MATMUL, AFFINE, EMBEDDING, ATTENTION, OPS };
static const char *const op_names[OPS] = {"matmul [64,1024] [1024,1024]",
                                          "affine [64,1024] [1024,1024]", "embedding [256,1024]",
                                          "attention, 1024 keys of 64, K and V"};

/* The op, of numbers that do not depend on the tape; what may be stored is stored as `d`. */
static at_tensor *apply(at_tape *t, int op, at_dtype d)
{
    if (at_real(t) == ATTIC_F64) d = ATTIC_F64;
    at_tensor *x = draw(t, 1, 1, at_shape_of(64, 1024)), *b = draw(t, 2, 1, at_shape_of(1024));
    at_tensor *W = at_cast(t, draw(t, 3, 1 / sqrt(1024), at_shape_of(1024, 1024)), d);
    at_tensor *Q = draw(t, 4, 1, at_shape_of(8, 16, 64));
    at_tensor *K = at_cast(t, draw(t, 5, 1, at_shape_of(8, 1024, 64)), d);
    at_tensor *V = at_cast(t, draw(t, 6, 1, at_shape_of(8, 1024, 64)), d);
    at_tensor *id = at_ints(t, at_shape_of(256), NULL);
    for (int i = 0; at_ok(t) && i < 256; i++) ((int32_t *)id->data)[i] = i;
    return op == MATMUL      ? at_matmul(t, x, W)
           : op == AFFINE    ? at_affine(t, x, W, b)
           : op == EMBEDDING ? at_embedding(t, W, id)
                             : at_sdpa(t, Q, K, V, (at_sdpa_args){0});
}

static double error_of(int op, at_dtype d)
{
    at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F64, 1);
    const at_tensor *y = apply(t, op, d), *z = apply(u, op, d);
    double wrong = 0, all = 0;
    fail(t), fail(u);
    for (ptrdiff_t i = 0; i < at_count(z->shape); i++) {
        wrong += pow(at_element(y, i) - at_element(z, i), 2);
        all += pow(at_element(z, i), 2);
    }
    at_close(t), at_close(u);
    return sqrt(wrong / all);
}

static void print_errors(void)
{
    printf("Error against f64            %24s %9s %9s\n", "f32", "f16", "bf16");
    for (int op = 0; op < OPS; op++) {
        printf("%-44s", op_names[op]);
        for (int k = 0; k < DTYPES; k++) printf(" %9.1e", error_of(op, dtypes[k]));
        printf("\n");
    }
}

/* ------------------------------------------------------------------ speed ---------------------- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Medians of the time with each dtype, and of its ratio to that with f32 in the same round. */
static void print_times(const char *what, void (*run)(void *ctx), void *const ctx[DTYPES])
{
    double time[DTYPES][ROUNDS], ratio[DTYPES][ROUNDS];
    for (int r = -2; r < ROUNDS; r++) /* two to warm up */
        for (int k = 0; k < DTYPES; k++) {
            const double start = seconds();
            run(ctx[k]);
            if (r >= 0) time[k][r] = seconds() - start, ratio[k][r] = time[k][r] / time[0][r];
        }
    printf("%-34s", what);
    for (int k = 0; k < DTYPES; k++) {
        qsort(time[k], ROUNDS, sizeof time[k][0], compare);
        qsort(ratio[k], ROUNDS, sizeof ratio[k][0], compare);
        printf(" %9.3f", 1e3 * time[k][ROUNDS / 2]);
    }
    printf(" %7.2f %5.2f\n", ratio[1][ROUNDS / 2], ratio[2][ROUNDS / 2]);
}

typedef struct {
    at_tape *t;
    at_mark step;
    at_tensor *x, *W;
    bool transposed;
    at_model *m;
    at_model_cache cache;
    int position;
} timed;

static void run_product(void *ctx)
{
    const timed *c = ctx;
    at_matmul_t(c->t, c->x, false, c->W, c->transposed);
    at_rewind(c->t, c->step);
}

static void run_token(void *ctx)
{
    timed *c = ctx;
    c->cache.position = c->position;
    at_model_decode(c->t, &c->cache, at_ints(c->t, at_shape_of(1, 1), (int32_t[]){7}));
    at_rewind(c->t, c->step);
}

static void time_product(int rows, int n, bool transposed)
{
    timed c[DTYPES];
    char what[64];
    for (int k = 0; k < DTYPES; k++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        c[k] = (timed){.t = t, .x = draw(t, 1, 1, at_shape_of(rows, n)), .transposed = transposed};
        c[k].W = at_cast(t, draw(t, 2, 1, at_shape_of(n, n)), dtypes[k]);
        c[k].step = at_mark_here(t);
        run_product(&c[k]);
        fail(t);
    }
    snprintf(what, sizeof what, "[%d,%d] [%d,%d]%s", rows, n, n, n, transposed ? "^T" : "");
    print_times(what, run_product, (void *[]){&c[0], &c[1], &c[2]});
    for (int k = 0; k < DTYPES; k++) at_close(c[k].t);
}

/* A token of a model drawn at random, behind so many others. */
static void time_token(int dim, int layers, int position)
{
    timed c[DTYPES];
    char what[64];
    for (int k = 0; k < DTYPES; k++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_store_params(t, dtypes[k]);
        at_train(t, false), at_no_grad(t, true);
        at_model_config config = {.vocab = 1024, .context = position + 1, .heads = dim / 64};
        config.dim = dim, config.layers = layers;
        c[k] = (timed){.t = t, .position = position, .m = at_model_make(t, config)};
        c[k].cache = at_model_cache_make_as(t, c[k].m, 1, dtypes[k]);
        c[k].step = at_mark_here(t);
        at_model_decode(t, &c[k].cache, at_ints(t, at_shape_of(1, position), NULL));
        at_rewind(t, c[k].step);
        fail(t);
    }
    snprintf(what, sizeof what, "token, dim %d, %d layers, T = %d", dim, layers, position);
    print_times(what, run_token, (void *[]){&c[0], &c[1], &c[2]});
    for (int k = 0; k < DTYPES; k++) at_close(c[k].t);
}

static void print_speed(void)
{
    printf("\nMilliseconds, on %d threads       %10s %9s %9s %7s %5s\n", at_thread_count(), "f32",
           "f16", "bf16", "f16/f32", "bf16/f32");
    const int rows[] = {1, 16, 256};
    for (int i = 0; i < 3; i++)
        time_product(rows[i], 1024, false), time_product(rows[i], 1024, true);
    time_product(1, 4096, false);
    time_token(128, 4, 100);
    time_token(768, 4, 100);
    time_token(768, 4, 2000);
}

/* ------------------------------------------------------------------ a model -------------------- */

typedef struct {
    int32_t id[2][MOST]; /* the most likely ones; drawn with temperature 0.8 */
    int n[2], drawn;
    double loss, mib, cache;
} result;

static bool keep(void *ctx, int id, const char *bytes, int n)
{
    (void)bytes, (void)n;
    result *r = ctx;
    r->id[r->drawn][r->n[r->drawn]++] = id;
    return true;
}

static result use_model(at_dtype weights, at_dtype cache, char *const *files, int n_files)
{
    static const at_eval_args all = {ATTIC_TRAIN, 0, 8, 0};
    at_tape *t = at_open(ATTIC_F32, 1);
    result r = {0};
    const size_t before = at_memory_of(t).permanent;
    at_store_params(t, weights);
    at_model *m = at_model_open(t, path);
    r.mib = (double)(at_memory_of(t).permanent - before) / (1 << 20);
    at_tokenizer *k = at_tokenizer_open(t, path);
    const size_t step = at_memory_of(t).step;
    at_mark mark = at_mark_here(t);
    at_model_cache_make_as(t, m, 1, cache);
    r.cache = (double)(at_memory_of(t).step - step) / (1 << 20);
    at_rewind(t, mark);
    for (r.drawn = 0; r.drawn < 2; r.drawn++) {
        at_generate_args args = {.prompt = prompt, .n = n_tokens, .tokenizer = k, .cache = cache};
        args.token = keep, args.ctx = &r, args.temperature = 0.8 * r.drawn;
        at_generate(t, m, NULL, args, NULL);
    }
    at_data *d = n_files
                     ? at_data_text(t, (at_data_args){.paths = files, .n = n_files, .tokenizer = k})
                     : NULL;
    fail(t);
    at_eval_args eval = all;
    eval.length = m->config.context;
    r.loss = d ? at_model_loss(t, m, d, eval) : (double)NAN;
    fail(t);
    at_close(t);
    return r;
}

static void print_model(char *const *files, int n_files)
{
    static const struct {
        const char *what;
        at_dtype weights, cache;
    } row[] = {{"f32", ATTIC_F32, ATTIC_F32},
               {"f16 weights", ATTIC_F16, ATTIC_F32},
               {"f16 weights and cache", ATTIC_F16, ATTIC_F16},
               {"bf16 weights", ATTIC_BF16, ATTIC_F32},
               {"bf16 weights and cache", ATTIC_BF16, ATTIC_BF16}};
    static result first;
    printf("\n%d tokens                 %10s %10s %12s %10s %8s %6s\n", n_tokens, "model MiB",
           "cache MiB", "nats/token", "change", "greedy", "drawn");
    for (int i = 0; i < 5; i++) {
        const result r = use_model(row[i].weights, row[i].cache, files, n_files);
        if (i == 0) first = r;
        int same[2] = {0};
        for (int k = 0; k < 2; k++)
            while (same[k] < r.n[k] && r.id[k][same[k]] == first.id[k][same[k]]) same[k]++;
        printf("%-24s %10.2f %10.2f %12.5f %+10.5f %8d %6d\n", row[i].what, r.mib, r.cache, r.loss,
               r.loss - first.loss, same[0], same[1]);
    }
}

int main(int argc, char **argv)
{
    static const option table[] = {
        {"model", NULL, NULL, &path, 0, 0, "safetensors file of a model that at_save wrote"},
        {"prompt", NULL, NULL, &prompt, 0, 0, "text to continue"},
        {"n", &n_tokens, NULL, NULL, 1, MOST, "greedy tokens to compare"},
        {"speed", &speed, NULL, NULL, 0, 1, "0: no times"},
        {0}};
    const int first =
        parse_options(argc, argv, "usage: half [options] [held-out files...]\n", table, 1 << 20);
    print_errors();
    if (speed) print_speed();
    if (*path) print_model(argv + first, argc - first);
    return finish(0);
}
