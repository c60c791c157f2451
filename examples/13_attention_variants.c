/* 13_attention_variants.c -- attention variants: their cost and their recall.
 *
 *     softmax      weight exp(Q_i . K_j / sqrt(D))          all pairs: time T^2
 *     additive     weight exp(v . tanh(W q_i + U k_j))      all pairs, a small network for each
 *     window       softmax over the last 128 keys           time 128 T
 *     linear       weight phi(Q_i) . phi(K_j)               time D^2 T: the past is one matrix [D,D]
 *     multi-query  softmax, all heads read one K and V      time T^2, 1/heads of the cache
 *
 * Four parts:
 *
 *     1  checks: gradients against numerical ones, linear attention against the matrix of weights
 *        that it never forms, multi-query against copies of its one head
 *     2  memory on the tape for a forward and a backward, as T grows
 *     3  the size of the cache that is kept to generate one token more
 *     4  recall.  The input is N keys with a random value each; for each key, the output should be
 *        its value.  The embeddings of 256 keys are trained with N = 32 and tested with N from 4 to
 *        256.  Softmax can give one key among 256 nearly all weight.  Linear attention adds all N
 *        pairs up in one matrix with D rows, and recall falls as N passes D.  A larger D helps, up
 *        to a larger N
 *
 * Time is printed to stderr, as it varies: a forward and a backward of one head, causal, D = 64,
 * CPU time of one thread, the best of 15.  Two pictures, if two paths are given: recall and time.
 * docs/variants.md says when to use which. */
#include "attic.h"
#include "attic_op.h"
#include "attic_plot.h"

#include <math.h>
#include <time.h>

#include "common/options.h"

typedef enum { SOFTMAX, COMPOSED, WINDOW, LINEAR, ADDITIVE } variant;

enum { LAST = 128, HIDDEN = 32 };

/* Q, K, V [1,T,D] */
static at_tensor *attend(at_tape *t, variant which, bool causal, at_tensor *Q, at_tensor *K,
                         at_tensor *V, const at_additive *layer)
{
    at_sdpa_args args = {.causal = causal,
                         .path = which == COMPOSED ? ATTIC_COMPOSED : ATTIC_FUSED};
    if (which == WINDOW) args.window_left = LAST;
    if (which == LINEAR) return at_linear_attention(t, Q, K, V, causal);
    if (which != ADDITIVE) return at_sdpa(t, Q, K, V, args);
    int T = Q->shape.dim[1];
    at_tensor *keep = causal ? at_keep_causal(t, T, T, ATTIC_ALIGN_EQUAL, 0) : NULL;
    return at_additive_apply(t, layer, Q, K, V, keep, NULL);
}

/* ---- 1: checks -------------------------------------------------------------- */

static at_tensor *additive(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_additive_apply(t, &(at_additive){in[3], in[4], in[5]}, in[0], in[1], in[2], NULL,
                             NULL);
}

static at_tensor *linear_full(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_linear_attention(t, in[0], in[1], in[2], false);
}

static at_tensor *linear_causal(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_linear_attention(t, in[0], in[1], in[2], true);
}

/* The same by the matrix of weights. */
static at_tensor *quadratic(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V)
{
    int T = Q->shape.dim[1];
    at_tensor *future = at_not(t, at_keep_causal(t, T, T, ATTIC_ALIGN_EQUAL, 0));
    at_tensor *w = at_matmul_t(t, at_elu_plus_1(t, Q), false, at_elu_plus_1(t, K), true);
    w = at_masked_fill(t, w, future, 0);
    return at_matmul(t, at_div(t, w, at_sum_over(t, w, at_axes(-1), true)), V);
}

static bool print_gradient(at_tape *t, const char *name, at_function *f, at_tensor **in, int n)
{
    at_gradcheck_report r = at_gradcheck(t, f, in, n, NULL, (at_gradcheck_options){0});
    printf("%-26s gradient %s, %td of %td elements\n", name, at_verdict_text(r.verdict),
           r.checked - r.failed, r.checked);
    return r.verdict == ATTIC_PASS;
}

static bool print_equal(const char *what, const at_tensor *a, const at_tensor *b)
{
    at_comparison c = at_compare(a, b);
    printf("%-54s %s\n", what, c.similarity == ATTIC_DIFFERENT ? c.text : "equal");
    return c.similarity != ATTIC_DIFFERENT;
}

static bool check_all(void)
{
    enum { H = 4, T = 7, D = 3 };
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *Q = at_param(t, "Q", at_shape_of(2, T, D), at_normal(1));
    at_tensor *K = at_param(t, "K", at_shape_of(2, T, D), at_normal(1));
    at_tensor *V = at_param(t, "V", at_shape_of(2, T, D), at_normal(1));
    at_additive a = at_additive_make(t, D, D, 5);
    at_tensor *in[] = {Q, K, V, a.W, a.U, a.v};
    bool ok = print_gradient(t, "additive", additive, in, 6);
    ok = print_gradient(t, "linear", linear_full, in, 3) && ok;
    ok = print_gradient(t, "linear, causal", linear_causal, in, 3) && ok;
    ok = print_equal("linear, causal = its matrix of weights, masked",
                     at_linear_attention(t, Q, K, V, true), quadratic(t, Q, K, V)) &&
         ok;

    at_tensor *heads = at_concat(t, (at_tensor *[]){Q, K, V, Q}, H, -1); /* [2,T,H*D] */
    at_tensor *K4 = at_concat(t, (at_tensor *[]){K, K, K, K}, H, -1);
    at_tensor *V4 = at_concat(t, (at_tensor *[]){V, V, V, V}, H, -1);
    at_tensor *one = at_sdpa(t, heads, K, V, (at_sdpa_args){.heads = H, .kv_heads = 1});
    ok = print_equal("multi-query = every head its own copy of K and V", one,
                     at_sdpa(t, heads, K4, V4, (at_sdpa_args){.heads = H})) &&
         ok;
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    ok = ok && at_ok(t);
    at_close(t);
    return ok;
}

/* ---- 2: time and memory ----------------------------------------------------------------------- */

typedef struct {
    const char *name;
    variant which;
    int longest;
} contender;

static const contender race[] = {{"softmax, fused", SOFTMAX, 2048},
                                 {"softmax, composed", COMPOSED, 2048},
                                 {"window of 128", WINDOW, 2048},
                                 {"linear", LINEAR, 2048},
                                 {"additive", ADDITIVE, 512}};
enum { RACERS = sizeof race / sizeof *race, LENGTHS = 5, ROUNDS = 15 };
static const double lengths[LENGTHS] = {128, 256, 512, 1024, 2048};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct {
    double ms, MiB;
} cost;

static cost measure(variant which, int T)
{
    enum { D = 64 };
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *Q = at_param(t, "Q", at_shape_of(1, T, D), at_normal(1));
    at_tensor *K = at_param(t, "K", at_shape_of(1, T, D), at_normal(1));
    at_tensor *V = at_param(t, "V", at_shape_of(1, T, D), at_normal(1));
    at_tensor *dO = at_random(t, at_shape_of(1, T, D), at_normal(1));
    at_additive layer = at_additive_make(t, D, D, HIDDEN);
    at_mark step = at_mark_here(t);
    cost c = {.ms = (double)INFINITY};
    for (int i = 0; i < ROUNDS && at_ok(t); i++) {
        size_t before = at_memory_of(t).step;
        double start = seconds();
        at_backward_from(t, attend(t, which, true, Q, K, V, &layer), dO);
        c.ms = fmin(c.ms, 1e3 * (seconds() - start));
        c.MiB = (double)(at_memory_of(t).step - before) / (1 << 20);
        at_rewind(t, step);
    }
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    at_close(t);
    return c;
}

static void print_costs(FILE *out, const char *title, cost c[RACERS][LENGTHS], bool time)
{
    fprintf(out, "%-20s", title);
    for (int k = 0; k < LENGTHS; k++) fprintf(out, "   T = %-4.0f", lengths[k]);
    for (int i = 0; i < RACERS; i++) {
        fprintf(out, "\n%-20s", race[i].name);
        for (int k = 0; k < LENGTHS; k++)
            if (lengths[k] > race[i].longest)
                fprintf(out, "%11s", "-");
            else
                fprintf(out, "%11.2f", time ? c[i][k].ms : c[i][k].MiB);
    }
    fprintf(out, "\n\n");
}

static bool run_race(cost c[RACERS][LENGTHS])
{
    bool ok = true;
    for (int i = 0; i < RACERS; i++)
        for (int k = 0; k < LENGTHS && lengths[k] <= race[i].longest; k++)
            c[i][k] = measure(race[i].which, (int)lengths[k]);
    print_costs(stderr, "time, ms", c, true);
    printf("Memory of a forward and a backward, one head of 64, causal; - was not tried\n\n");
    print_costs(stdout, "memory, MiB", c, false);
    /* 16 times the length: 16 times the memory, or 256 times */
    for (int i = 0; i < RACERS; i++) {
        double grows = c[i][LENGTHS - 1].MiB / c[i][0].MiB;
        if (race[i].which == COMPOSED)
            ok = ok && grows > 128;
        else if (race[i].longest == 2048)
            ok = ok && grows < 17;
    }
    return ok;
}

/* ---- 3: the cache ------------------------------------------------------------- */

static void print_state(void)
{
    enum { H = 8, D = 64 };
    printf("Cache of T tokens to generate one more: 8 heads of 64, in KiB\n\n"
           "%-20s   T = 128   T = 2048  T = 32768\n",
           "");
    const char *const name[] = {"softmax", "multi-query", "window of 128", "linear"};
    for (int i = 0; i < 4; i++) {
        printf("%-20s", name[i]);
        for (int T = 128; T <= 32768; T *= 16) {
            int kept = i == 2 ? LAST : T; /* rows of K and V */
            double floats = i == 3 ? H * D * (D + 1.0) : 2.0 * kept * D * (i == 1 ? 1 : H);
            printf("%10.1f", floats * 4 / 1024);
        }
        printf("\n");
    }
    printf("\n");
}

/* ---- 4: recall --------------------------------------------------------------------------------- */

enum { KEYS = 256, VALUES = 16, TRAINED = 32, BATCH = 16, STEPS = 400, SIZES = 7, TESTS = 4096 };

typedef struct {
    const char *name;
    variant which;
    int D;
} learner;

static const learner learners[] = {{"softmax, D = 16", SOFTMAX, 16},
                                   {"additive, D = 16", ADDITIVE, 16},
                                   {"linear, D = 16", LINEAR, 16},
                                   {"linear, D = 32", LINEAR, 32},
                                   {"linear, D = 64", LINEAR, 64}};
enum { LEARNERS = sizeof learners / sizeof *learners };

typedef struct {
    at_tensor *Eq, *Ek, *Ev, *Wo;
    at_additive layer;
} memory;

/* n different keys and n values, any; [batch,n] each */
static void draw_pairs(at_tape *t, int batch, int n, at_tensor **key, at_tensor **value)
{
    at_stream dice = at_draw(t);
    uint64_t throws = 0;
    *key = at_ints(t, at_shape_of(batch, n), NULL);
    *value = at_ints(t, at_shape_of(batch, n), NULL);
    for (int b = 0; at_ok(t) && b < batch; b++) {
        int deck[KEYS];
        for (int i = 0; i < KEYS; i++) deck[i] = i;
        for (int i = 0; i < n; i++) {
            int j = i + (int)(at_random_unit(dice, throws++) * (KEYS - i));
            int drawn = deck[j];
            deck[j] = deck[i];
            at_set(*key, drawn, b, i);
            at_set(*value, (int)(at_random_unit(dice, throws++) * VALUES), b, i);
        }
    }
}

/* The values of all keys at once; there are no positions.  -> [batch,n,VALUES] */
static at_tensor *recall(at_tape *t, const memory *m, variant which, at_tensor *key,
                         at_tensor *value)
{
    at_tensor *Q = at_embedding(t, m->Eq, key), *K = at_embedding(t, m->Ek, key);
    at_tensor *V = at_embedding(t, m->Ev, value);
    return at_matmul(t, attend(t, which, false, Q, K, V, &m->layer), m->Wo);
}

static double share_right(at_tape *t, const memory *m, variant which, int n)
{
    at_tensor *key, *value;
    draw_pairs(t, TESTS / n, n, &key, &value);
    at_tensor *guess = at_argmax(t, recall(t, m, which, key, value), -1, false);
    return at_keep_count(at_equal(t, guess, value)).fraction;
}

static bool train(const learner *p, double right[SIZES])
{
    at_tape *t = at_open(ATTIC_F32, 1);
    int D = p->D;
    memory m = {.Eq = at_param(t, "Eq", at_shape_of(KEYS, D), at_normal(1)),
                .Ek = at_param(t, "Ek", at_shape_of(KEYS, D), at_normal(1)),
                .Ev = at_param(t, "Ev", at_shape_of(VALUES, D), at_normal(1)),
                .Wo = at_param(t, "Wo", at_shape_of(D, VALUES), at_xavier_normal(1)),
                .layer = at_additive_make(t, D, D, D)};
    at_mark step = at_mark_here(t);
    for (int i = 0; i < STEPS && at_ok(t); i++) {
        at_tensor *key, *value;
        draw_pairs(t, BATCH, TRAINED, &key, &value);
        at_tensor *logits = recall(t, &m, p->which, key, value);
        at_backward(t, at_cross_entropy(t, logits, value, (at_cross_entropy_args){0}));
        at_adamw(t, at_warmup_cosine(i, 10, STEPS, 0.05, 0.002), (at_adamw_args){0});
        at_rewind(t, step);
    }
    printf("%-20s", p->name);
    for (int k = 0; k < SIZES; k++) {
        right[k] = share_right(t, &m, p->which, 4 << k);
        printf("%7.2f", right[k]);
        at_rewind(t, step);
    }
    printf("\n");
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    bool ok = at_ok(t);
    at_close(t);
    return ok;
}

/* ---- pictures ---------------------------------------------------------------------------------- */

static bool draw(const char *path, const at_chart *chart)
{
    FILE *f = fopen(path, "w");
    bool drawn = at_svg_chart(f, chart);
    return written(f, path, drawn);
}

static bool draw_recall(const char *path, double right[LEARNERS][SIZES])
{
    at_series line[LEARNERS];
    double n[SIZES];
    for (int k = 0; k < SIZES; k++) n[k] = 4 << k;
    for (int i = 0; i < LEARNERS; i++)
        line[i] = (at_series){.name = learners[i].name, .x = n, .y = right[i], .n = SIZES};
    const at_level chance = {"chance", 1.0 / VALUES};
    const at_chart chart = {.title = "Recall of one value out of N",
                            .x_label = "pairs of key and value, N",
                            .y_label = "share recalled",
                            .series = line,
                            .n_series = LEARNERS,
                            .levels = &chance,
                            .n_levels = 1,
                            .log_x = true};
    return draw(path, &chart);
}

static bool draw_time(const char *path, cost c[RACERS][LENGTHS])
{
    at_series line[RACERS];
    static double ms[RACERS][LENGTHS];
    for (int i = 0; i < RACERS; i++) {
        line[i] = (at_series){.name = race[i].name, .x = lengths, .y = ms[i]};
        while (line[i].n < LENGTHS && lengths[line[i].n] <= race[i].longest) {
            ms[i][line[i].n] = c[i][line[i].n].ms;
            line[i].n++;
        }
    }
    const at_chart chart = {.title = "Forward and backward of one head, causal, D = 64",
                            .x_label = "T",
                            .y_label = "milliseconds",
                            .series = line,
                            .n_series = RACERS,
                            .log_x = true,
                            .log_y = true};
    return draw(path, &chart);
}

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv,
                              "usage: 13_attention_variants [recall.svg [time.svg]]\n"
                              "Attention variants: their cost and their recall.\n",
                              NULL, 2);
    static cost costs[RACERS][LENGTHS];
    double right[LEARNERS][SIZES];
    at_threads(1);
    printf("What do variants of attention cost, and what do they lose?  Look at how memory\n"
           "grows when T doubles, and at the recall of linear attention when there are more\n"
           "pairs than D.\n\n"
           "Checks: gradients against differences; two ways to compute the same\n\n");
    bool ok = check_all();
    printf("\n");
    ok = run_race(costs) && ok;
    print_state();

    printf("N keys with a value each, one of 16: the share of values that is recalled, after\n"
           "training with N = 32; D: size of a key\n\n");
    printf("recall of N pairs    N = 4      8     16     32     64    128    256\n");
    for (int i = 0; i < LEARNERS; i++) ok = train(&learners[i], right[i]) && ok;
    printf("%-20s%7.2f\n", "chance", 1.0 / VALUES);
    printf(
        "\nSeen: from T = 128 to 2048 the memory goes from %.2f to %.2f MiB fused, from %.2f to\n"
        "%.2f composed.  Of 256 pairs softmax recalls a share of %.2f, linear attention %.2f with\n"
        "D = 16, %.2f with D = 64.\n",
        costs[0][0].MiB, costs[0][LENGTHS - 1].MiB, costs[1][0].MiB, costs[1][LENGTHS - 1].MiB,
        right[0][SIZES - 1], right[2][SIZES - 1], right[4][SIZES - 1]);
    ok = ok && right[0][SIZES - 1] > 0.95 && right[2][SIZES - 1] < 0.5;
    ok = ok && right[2][0] > 0.9 && right[4][4] > right[2][4] + 0.1;

    if (argc > first) ok = draw_recall(argv[first], right) && ok;
    if (argc > first + 1) ok = draw_time(argv[first + 1], costs) && ok;
    return finish(!ok);
}
