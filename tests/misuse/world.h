/* world.h -- what a call gets that is as it should be: a tape, tensors, a model, data, files. */
#ifndef ATTIC_TESTS_WORLD_H
#define ATTIC_TESTS_WORLD_H
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attic_train.h"
#include "attic_op.h"
#include "attic_plot.h"
#include "scratch.h"

/* New for each call, but for the files. */
static struct {
    at_tape *t, *other, *f64, *dual;
    const at_tape *failing; /* fails before the call */
    FILE *sink, *full;
    at_run *run;
    char folder[SCRATCH_PATH], root[256];
} world;

static union {
    double d[512];
    float f[512];
    int i[512];
    int32_t i32[512];
    int64_t i64[512];
    uint32_t u32[512];
    uint64_t u64[512];
    bool b[512];
    unsigned char c[512];
} numbers;

/* watched: profiled, in anomaly mode, and attention checks itself. */
static void open_world(bool watched)
{
    memset(&numbers, 0, sizeof numbers);
    world.t = at_open(ATTIC_F32, 1);
    world.other = at_open(ATTIC_F32, 2);
    world.f64 = at_open(ATTIC_F64, 3);
    world.dual = at_open(ATTIC_DUAL, 4);
    world.failing = NULL;
    if (!watched) return;
    at_profile(world.t, true);
    at_anomaly(world.t, true);
    at_check_attention(world.t, true);
}

static void close_world(void)
{
    if (world.run) at_run_close(world.run);
    world.run = NULL;
    at_close(world.t);
    at_close(world.other);
    at_close(world.f64);
    at_close(world.dual);
}

/* ------------------------------------------------------------------ tapes and tensors ---------- */

static at_tape *tape(void)
{
    return world.t;
}

static at_tensor *real_on(at_tape *t, at_shape s)
{
    at_tensor *x = at_variable(t, s, NULL);
    if (!x) return NULL;
    for (ptrdiff_t i = 0; i < at_count(s); i++)
        at_store(x->dtype, x->data, i, 0.1 * (double)(i % 7 + 1));
    return x;
}
#define R(...) real_on(world.t, at_shape_of(__VA_ARGS__))
#define R64(...) real_on(world.f64, at_shape_of(__VA_ARGS__))

static at_tensor *filled(at_dtype dtype, at_shape s, int below)
{
    at_tensor *x = at_blank(world.t, dtype, s);
    if (!x) return NULL;
    for (ptrdiff_t i = 0; i < at_count(s); i++) at_store(x->dtype, x->data, i, (double)(i % below));
    return x;
}
#define I(...) filled(ATTIC_I32, at_shape_of(__VA_ARGS__), 2)
#define M(...) filled(ATTIC_BOOL, at_shape_of(__VA_ARGS__), 2)

static at_tensor *param(void)
{
    at_tensor *W = at_find_param(world.t, "W");
    return W ? W : at_param(world.t, "W", at_shape_of(2, 3), at_normal(1));
}

/* A parameter that has a gradient. */
static at_tensor *learned(void)
{
    at_backward(world.t, at_sum(world.t, at_square(world.t, param())));
    return param();
}

static at_tape *tape_with_gradient(void)
{
    learned();
    return world.t;
}

static at_tape *tape_with(const char *what)
{
    learned();
    if (strcmp(what, "averages") == 0) at_ema(world.t, 0.5, (at_names){0});
    if (strcmp(what, "scope") == 0) at_scope(world.t, "inner");
    if (strcmp(what, "profile") == 0) at_profile(world.t, true), learned();
    return world.t;
}

static at_progress *progress_line(void)
{
    static at_progress line;
    line = at_progress_start(world.sink, "training", 10);
    return &line;
}

static at_tensor *strange_tensor(const char *what)
{
    at_tape *t = world.t;
    const at_shape huge = at_shape_of(0, INT_MAX, INT_MAX - 1);
    at_tensor *x = NULL;
    bool trouble = !at_ok(t);
    if (trouble) return NULL;
    if (strcmp(what, "[0,2^31-1,2^31-2]") == 0) x = at_variable(t, huge, NULL);
    if (strcmp(what, "[2^31-1,2^31-2,0]") == 0) x = R(INT_MAX, INT_MAX - 1, 0);
    if (strcmp(what, "[2^31-1,0,2^31-2]") == 0) x = R(INT_MAX, 0, INT_MAX - 1);
    if (strcmp(what, "i32 [0,2^31-1,2^31-2]") == 0) x = at_ints(t, huge, NULL);
    if (strcmp(what, "bool [0,2^31-1,2^31-2]") == 0) x = at_bools(t, huge, NULL);
    if (strcmp(what, "of another tape") == 0) x = real_on(world.other, at_shape_of(2, 3));
    if (strcmp(what, "forgotten by a rewind") == 0) {
        at_mark before = at_mark_here(t);
        at_step_alloc(t, 1 << 20); /* far from what is made next: the tensor stays as it was */
        x = R(2, 3);
        at_rewind(t, before);
    }
    if (strcmp(what, "reused by a backward") == 0) {
        bool reuses = at_reuse_memory(t, true), no_grad = at_no_grad(t, false);
        x = at_exp(t, R(2, 3));
        at_backward(t, at_sum(t, at_square(t, x)));
        at_reuse_memory(t, reuses);
        at_no_grad(t, no_grad);
    }
    if (strcmp(what, "i32 [2,3]") == 0) x = I(2, 3);
    if (strcmp(what, "bool [2,3]") == 0) x = M(2, 3);
    if (strcmp(what, "f16 [2,3]") == 0) x = filled(ATTIC_F16, at_shape_of(2, 3), 3);
    if (strcmp(what, "i32 of extremes") == 0)
        x = at_ints(t, at_shape_of(2, 3), (int32_t[]){INT_MIN, INT_MAX, -1, 0, INT_MIN + 1, 7});
    if (strcmp(what, "NaN and infinities") == 0)
        x = at_variable(
            t, at_shape_of(2, 3),
            (double[]){(double)NAN, (double)INFINITY, -(double)INFINITY, 3e38, -3e38, 1e-45});
    if (strcmp(what, "[]") == 0) x = R();
    if (strcmp(what, "[1,1,1,1,1,1,1,1]") == 0) x = R(1, 1, 1, 1, 1, 1, 1, 1);
    if (strcmp(what, "[0]") == 0) x = R(0);
    if (!x) abort();
    return x;
}

/* ------------------------------------------------------------------ plain C -------------------- */

static at_tensor **list_of(at_tensor *a, at_tensor *b)
{
    static at_tensor *list[4][4];
    static int next;
    at_tensor **l = list[next++ % 4];
    l[0] = l[2] = a;
    l[1] = l[3] = b;
    return l;
}

static const char *long_text(void)
{
    static char text[100001];
    memset(text, 'a', sizeof text - 1);
    return text;
}

static const char *const *texts(void)
{
    static const char *const text[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    return text;
}

static at_tensor *product_fn(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return in ? at_mul(t, in[0], in[1]) : NULL;
}

static at_tensor *exp_of_two(at_tape *t, at_tensor *x)
{
    return at_softmax(t, x);
}

static void count_task(void *ctx, int task, int worker)
{
    (void)ctx, (void)task, (void)worker;
}

static void count_range(void *ctx, ptrdiff_t from, ptrdiff_t to, int slot)
{
    (void)ctx, (void)from, (void)to, (void)slot;
}

static void free_nothing(void *p)
{
    (void)p;
}

static void square_fn(const double *x, double *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 3; i++) y[i] = x[i] * x[i];
}

static void square_vjp(const double *x, const double *dy, double *dx, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 3; i++) dx[i] = 2 * x[i] * dy[i];
}

static void square_fn_f32(const float *x, float *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 3; i++) y[i] = x[i] * x[i];
}

static void square_vjp_f32(const float *x, const float *dy, float *dx, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 3; i++) dx[i] = 2 * x[i] * dy[i];
}

/* ------------------------------------------------------------------ an op ---------------------- */

static bool is_same(const at_node *n)
{
    const at_tensor *x = n->n_in ? n->in[0] : NULL;
    return x && at_same_shape(x->shape, n->out[0]->shape) && x->dtype == n->out[0]->dtype;
}

static void same_forward(at_node *n)
{
    if (is_same(n) && at_bytes(n->in[0]))
        memcpy(n->out[0]->data, n->in[0]->data, at_bytes(n->in[0]));
}

static void same_backward(at_node *n)
{
    if (is_same(n)) at_grad_pass(n, 0);
}

static const at_op same_op = {"same", AT_EVERY_REAL(same_forward), AT_EVERY_REAL(same_backward),
                              false};

static void copy_formula(const at_chunk *k, void *values)
{
    memcpy(values, k->in[0], (size_t)k->n * sizeof(float));
}

/* What at_scale recorded; its gradient has arrived. */
static at_node *node(void)
{
    at_tensor *y = at_exp(world.t, at_square(world.t, R(2, 3)));
    at_backward(world.t, at_sum(world.t, y));
    return y->node;
}

/* ------------------------------------------------------------------ layers --------------------- */

static const at_model_config small_config = {
    .vocab = 8, .context = 8, .layers = 1, .heads = 2, .dim = 8};

static at_model *model(void)
{
    return at_model_make(world.t, small_config);
}

static at_model *model_to_decode(void)
{
    at_train(world.t, false);
    at_no_grad(world.t, true);
    return model();
}

static at_model *model_elsewhere(void)
{
    return at_model_make(world.other, small_config);
}

static at_model *model_with_adapters(void)
{
    at_model *m = model();
    at_model_lora(world.t, m, (at_lora_args){.rank = 2});
    return m;
}

static at_model *model_of_gpt2(void)
{
    return at_model_make(world.t, (at_model_config){.vocab = 19,
                                                    .context = 68,
                                                    .layers = 2,
                                                    .heads = 2,
                                                    .dim = 8,
                                                    .hidden = 20,
                                                    .act = ATTIC_GELU_TANH,
                                                    .bias = ATTIC_BIAS_ALL,
                                                    .positions = ATTIC_LEARNED_POSITIONS});
}

static at_model *gpt2_with_adapters(void)
{
    at_model *m = model_of_gpt2();
    at_model_lora(world.t, m, (at_lora_args){.rank = 2, .only = "*.q.W,*.up.W"});
    return m;
}

static at_model_cache *decoding(void)
{
    static at_model_cache cache;
    cache = at_model_cache_make(world.t, model_to_decode(), 1);
    return &cache;
}

static at_linear *linear(bool adapter)
{
    static at_linear layer;
    layer = at_linear_make(world.t, "linear", 3, 4, true, at_normal(1));
    if (adapter) at_linear_lora(world.t, &layer, (at_lora_args){.rank = 2});
    return &layer;
}

static at_attention *attention(void)
{
    static at_attention layer;
    layer =
        at_attention_make(world.t, (at_attention_config){.dim = 8, .heads = 2, .rope = true}, 1);
    return &layer;
}

static at_cache *cache(void)
{
    static at_cache made;
    at_train(world.t, false);
    at_no_grad(world.t, true);
    made = at_cache_make(world.t, attention(), 1, 8);
    return &made;
}

static at_block *block(void)
{
    static at_block made;
    made = at_block_make(world.t, (at_block_config){.dim = 8, .heads = 2}, 1);
    return &made;
}

static at_blocks *blocks(void)
{
    static at_blocks made;
    made = at_blocks_make(world.t, (at_block_config){.dim = 8, .heads = 2}, 1);
    return &made;
}

static at_mlp *mlp(void)
{
    static at_mlp made;
    made = at_mlp_make(world.t, (int[]){3, 4, 2}, 3, ATTIC_TANH);
    return &made;
}

static at_ffn *ffn(void)
{
    static at_ffn made;
    made = at_ffn_make(world.t, (at_ffn_config){.dim = 8}, 1);
    return &made;
}

static at_additive *additive(void)
{
    static at_additive made;
    made = at_additive_make(world.t, 4, 4, 5);
    return &made;
}

static at_monitor *monitor(void)
{
    return at_monitor_make(world.t, 2, 2, (at_monitor_args){0});
}

/* ------------------------------------------------------------------ data and files ------------- */

static const char *path(const char *name)
{
    static char full[4][SCRATCH_PATH + 40];
    static int next;
    return snprintf(full[++next % 4], sizeof *full, "%s/%s", world.folder, name), full[next % 4];
}

static at_tokenizer *tokenizer(void)
{
    return at_tokenizer_bytes(world.t, "abcdefgh", 8);
}

static at_data *data_of_ids(void)
{
    static int32_t ids[64];
    for (int i = 0; i < 64; i++) ids[i] = i % 8;
    return at_data_ids(world.t, ids, 64, (at_data_args){.vocab = 8, .tokenizer = tokenizer()});
}

/* It has a text to go on with. */
static at_writer *writer(void)
{
    at_writer *w = at_writer_open(world.t, model(), (at_writer_args){.tokenizer = tokenizer()});
    at_writer_feed_text(w, "abc");
    return w;
}

static at_tensors *tensors(void)
{
    return at_tensors_open(world.t, path("model.safetensors"));
}

/* A run in its first step. */
static at_run *run(void)
{
    learned();
    world.run =
        at_run_open(world.t, path("run"),
                    (at_run_args){.steps = 3, .fresh = true, .quiet = true, .out = world.sink});
    at_run_next(world.run);
    return world.run;
}

static const char *golden(const char *name)
{
    static char full[4][256];
    static int next;
    return snprintf(full[++next % 4], sizeof *full, "%.200s/tests/golden/%s", world.root, name),
           full[next % 4];
}

static at_sdpa_args every_option(void)
{
    static at_tensor *out[4];
    return (at_sdpa_args){.head_scale = R(2),
                          .bias = R(3, 3),
                          .keep = M(3, 3),
                          .causal = true,
                          .window_left = 2,
                          .softcap = 5,
                          .key_len = at_ints(world.t, at_shape_of(1), (int32_t[]){2}),
                          .dropout = 0.1,
                          .weights = &out[0],
                          .probs = &out[1],
                          .scores = &out[2],
                          .lse = &out[3]};
}

static const at_heatmap *heatmap(void)
{
    static at_subplot plot;
    static at_heatmap h;
    plot = (at_subplot){.title = "W",
                        .data = numbers.d,
                        .rows = 2,
                        .cols = 3,
                        .keep = numbers.c,
                        .keep_rows = 2,
                        .keep_cols = 3};
    h = (at_heatmap){.title = "heat",
                     .subplots = &plot,
                     .n_subplots = 1,
                     .row_names = texts(),
                     .col_names = texts()};
    return &h;
}

static const at_chart *chart(void)
{
    static at_series line;
    static const at_level level = {"level", 0.5};
    static at_chart c;
    line = (at_series){.name = "line", .x = numbers.d, .y = numbers.d + 8, .n = 8};
    c = (at_chart){
        .title = "chart", .series = &line, .n_series = 1, .levels = &level, .n_levels = 1};
    return &c;
}

static void make_files(void)
{
    at_tape *t = world.t = at_open(ATTIC_F32, 1);
    if (!getcwd(world.root, sizeof world.root) || !scratch_folder(world.folder)) abort();
    mkdir(path("inner"), 0700);
    mkdir(path("inner/here"), 0700);
    world.sink = fopen("/dev/null", "w");
    world.full = fopen("/dev/full", "w");
    at_npy_save(R(2, 3), path("x.npy"));
    at_npy_save(R(2, 3), path("scratch.npy"));
    at_data_ids(t, numbers.i32, 64, (at_data_args){.vocab = 8, .tokenizer = tokenizer()});
    model();
    at_save(t, path("model.safetensors"), (at_part_args){0});
    at_scope(t, "gpt2");
    at_model_lora_export(t, gpt2_with_adapters(), path("adapters"), (at_export_args){0});
    FILE *f = fopen(path("text.txt"), "w");
    for (int i = 0; i < 300; i++) fputs("abcdefgh", f);
    fclose(f);
    if (!at_ok(t)) abort();
    at_close(t);
}

static void remove_files(void)
{
    scratch_remove(world.folder);
    fclose(world.sink);
    if (world.full) fclose(world.full);
}

#endif
