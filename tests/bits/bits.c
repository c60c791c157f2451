/* bits.c -- hashes of all bits that the library computes: by them two builds can be compared.
 *
 *     bits                the name of the arithmetic and one hash: make bits
 *     bits --lines        a hash for each step of the trainings and for each row of the gradient table
 *     bits --step 17      a hash for each op in step 17 of each training, forward and backward
 *     bits --case 17      the values and gradients of row 17 of the table
 *
 * --threads N computes with so many, --out FOLDER is where the training is kept (out/bits).
 *
 * The training is one of a language model: rotary positions, grouped heads, dropout, clipping, a cosine
 * schedule, AdamW; it is stopped half way and goes on from its checkpoint.  Shorter ones are of a wider model,
 * by Muon, of examples/microgpt.c, and on tapes of f64 and of dual numbers.  Rows of the table are computed on tapes of all three types.  And the C
 * library prints and reads decimals.  A NaN counts as one
 * number, whatever its sign and payload: they are no part of the promise (docs/bits.md). */
#include "attic_train.h"
#include "attic_op.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gradients/cases.h"

#define main microgpt_main
int microgpt_main(int argc, char **argv);
#include "microgpt.c" /* NOLINT(bugprone-suspicious-include) */
#undef main

enum { STEPS = 200, SHORT = 20, ROWS = 4, LENGTH = 24, NARROW = 32, WIDE = 256, DECIMALS = 10000 };

static const uint64_t hash_start = 14695981039346656037u;

static uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
    const unsigned char *c = p;
    for (size_t i = 0; i < n; i++) h = (h ^ c[i]) * 1099511628211u;
    return h;
}

static uint64_t hash_double(uint64_t h, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    h = (h ^ bits) * 1099511628211u;
    return h ^ h >> 29;
}

/* Elements of this dtype.  Every NaN is the same one. */
static uint64_t hash_values(uint64_t h, at_dtype dtype, const void *p, ptrdiff_t n)
{
    for (ptrdiff_t i = 0, parts = dtype == ATTIC_DUAL ? 2 : 1; i < parts * n; i++) {
        const double wide = dtype == ATTIC_F32 ? (double)((const float *)p)[i]
                            : dtype == ATTIC_F64 || dtype == ATTIC_DUAL ? ((const double *)p)[i]
                                                                        : at_fetch(dtype, p, i);
        h = hash_double(h, isnan(wide) ? 0x1.8p1000 : wide);
    }
    return h;
}

static uint64_t hash_tensor(uint64_t h, const at_tensor *x)
{
    const ptrdiff_t n = at_count(x->shape);
    if (x->data) h = hash_values(h, x->dtype, x->data, n);
    if (x->grad) h = hash_values(h, x->dtype, x->grad, n);
    return h;
}

static uint64_t hash_params(const at_tape *t, uint64_t h)
{
    for (int i = 0; i < at_param_count(t); i++) h = hash_tensor(h, at_param_at(t, i));
    for (int i = 0; i < at_state_count(t); i++) h = hash_tensor(h, at_state_at(t, i));
    return h;
}

static void fail(const at_tape *t)
{
    if (at_ok(t)) return;
    fprintf(stderr, "bits: %s\n", at_error(t));
    exit(1);
}

/* ------------------------------------------------------------------ trainings ------------------ */

static at_model *model_of(at_tape *t, int dim)
{
    return at_model_make(t, (at_model_config){.vocab = 50,
                                              .context = LENGTH,
                                              .layers = 2,
                                              .heads = 4,
                                              .kv_heads = 2,
                                              .dim = dim,
                                              .dropout = 0.1});
}

static at_tensor *loss_of_step(at_tape *t, const at_model *m, int step)
{
    int32_t ids[ROWS * LENGTH], next[ROWS * LENGTH];
    for (int i = 0; i < ROWS * LENGTH; i++) {
        ids[i] = (step * 7 + i * i * 3 + i) % 50;
        next[i] = (ids[i] * 3 + 1) % 50;
    }
    const at_shape s = at_shape_of(ROWS, LENGTH);
    at_tensor *x = at_blank(t, ATTIC_I32, s), *y = at_blank(t, ATTIC_I32, s);
    at_write_i32(x, ids, ROWS * LENGTH);
    at_write_i32(y, next, ROWS * LENGTH);
    at_tensor *logits = at_model_logits(t, m, x, (at_model_args){0});
    return at_cross_entropy(t, logits, y, (at_cross_entropy_args){0});
}

static void move(at_tape *t, int step)
{
    at_clip_grad_norm(t, 0.5);
    at_adamw(t, at_warmup_cosine(step, 10, STEPS, 3e-3, 1e-4),
             (at_adamw_args){.weight_decay = 0.1});
}

static void print_ops(const char *what, const at_tape *t)
{
    for (const at_node *n = at_first_node(t); n; n = n->next) {
        uint64_t forward = hash_start, backward = hash_start;
        for (int k = 0; k < n->n_out; k++) {
            const ptrdiff_t count = at_count(n->out[k]->shape);
            if (n->out[k]->data)
                forward = hash_values(forward, n->out[k]->dtype, n->out[k]->data, count);
            if (n->out[k]->grad)
                backward = hash_values(backward, n->out[k]->dtype, n->out[k]->grad, count);
        }
        printf("%s op %d %s %016" PRIx64 " gradient %016" PRIx64 "\n", what, n->index, n->op->name,
               forward, backward);
    }
}

/* What bits were asked for. */
typedef struct {
    bool lines;
    int step, row; /* -1: none */
    const char *folder;
} request;

/* The training up to `stop` of STEPS steps, in a folder. */
static uint64_t run_until(const char *folder, bool fresh, int stop, uint64_t h, request r)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = model_of(t, NARROW);
    at_run *run =
        at_run_open(t, folder, (at_run_args){.steps = stop, .fresh = fresh, .quiet = true});
    const at_mark mark = at_mark_here(t);
    while (at_run_next(run)) {
        const int step = at_run_step(run);
        at_tensor *loss = loss_of_step(t, m, step);
        at_backward(t, loss);
        at_run_log(run, "loss", at_item(loss));
        if (step == r.step) print_ops("gpt", t);
        move(t, step);
        h = hash_params(t, h);
        if (r.lines) printf("gpt step %d %016" PRIx64 "\n", step, h);
        at_rewind(t, mark);
    }
    fail(t);
    at_run_close(run);
    at_close(t);
    return h;
}

static uint64_t train_gpt(uint64_t h, request r)
{
    h = run_until(r.folder, true, STEPS / 2, h, r);
    return run_until(r.folder, false, STEPS, h, r);
}

/* Some steps of a model of this width, which all its threads compute if it is wide. */
static uint64_t train_short(const char *name, at_dtype real, int dim, int steps, request r)
{
    uint64_t h = hash_start;
    at_tape *t = at_open(real, 2);
    at_model *m = model_of(t, dim);
    const at_mark mark = at_mark_here(t);
    for (int step = 0; step < steps && at_ok(t); step++) {
        at_backward(t, loss_of_step(t, m, step));
        if (step == r.step) print_ops(name, t);
        move(t, step);
        h = hash_params(t, h);
        if (r.lines) printf("%s step %d %016" PRIx64 "\n", name, step, h);
        at_rewind(t, mark);
    }
    fail(t);
    at_close(t);
    return h;
}

/* examples/microgpt.c: parameters after each of its steps. */
static uint64_t train_microgpt(at_dtype real, request r)
{
    uint64_t h = hash_start;
    at_tensor *W[WEIGHTS];
    at_tape *t = at_open(real, 1);
    microgpt_make(t, W);
    for (int step = 0; step < STEPS && at_ok(t); step++) {
        h = hash_double(h, microgpt_step(t, W, step, STEPS));
        h = hash_params(t, h);
        if (r.lines) printf("microgpt step %d %016" PRIx64 "\n", step, h);
    }
    fail(t);
    at_close(t);
    return h;
}

/* Steps of Muon, then of AdamW, which has nothing but the rest. */
static uint64_t train_muon(request r)
{
    uint64_t h = hash_start;
    at_tape *t = at_open(ATTIC_F32, 4);
    at_model *m = model_of(t, WIDE / 2);
    const at_mark mark = at_mark_here(t);
    for (int step = 0; step < SHORT / 4 && at_ok(t); step++) {
        at_backward(t, loss_of_step(t, m, step));
        at_muon(t, 0.02, (at_muon_args){.weight_decay = 0.1});
        at_adamw(t, 1e-3, (at_adamw_args){0});
        h = hash_params(t, h);
        if (r.lines) printf("muon step %d %016" PRIx64 "\n", step, h);
        at_rewind(t, mark);
    }
    fail(t);
    at_close(t);
    return h;
}

static double direction[1 << 16];

static uint64_t train_dual(uint64_t h, request r)
{
    at_tape *t = at_open(ATTIC_DUAL, 3);
    at_model *m = model_of(t, NARROW);
    for (int i = 0; i < (int)(sizeof direction / sizeof *direction); i++)
        direction[i] = at_random_normal((at_stream){.seed = 3}, (uint64_t)i);
    for (int i = 0; i < at_param_count(t); i++) at_set_tangent(at_param_at(t, i), direction);
    const at_mark mark = at_mark_here(t);
    for (int step = 0; step < SHORT / 4 && at_ok(t); step++) {
        at_backward(t, loss_of_step(t, m, step));
        if (step == r.step) print_ops("dual", t);
        h = hash_params(t, h);
        if (r.lines) printf("dual step %d %016" PRIx64 "\n", step, h);
        at_zero_grads(t);
        at_rewind(t, mark);
    }
    fail(t);
    at_close(t);
    return h;
}

/* ------------------------------------------------------------------ the table ------------------ */

/* Forward and backward of a row on a tape of this type; what the type has no kernels for leaves h. */
static uint64_t hash_row(uint64_t h, const at_case *c, at_dtype real, bool print)
{
    at_tensor *in[AT_MAX_CASE_INPUTS];
    at_tape *t = at_open(real, (uint64_t)c->seed + 1);
    const int n = at_case_inputs(t, c, in);
    for (int i = 0; i < n && real == ATTIC_DUAL; i++) at_set_tangent(in[i], direction);
    at_tensor *y = n < 0 ? NULL : c->f(t, in, c->ctx);
    at_tensor *dy = y ? at_blank(t, real, y->shape) : NULL;
    for (ptrdiff_t i = 0; dy && i < at_count(y->shape); i++)
        at_store(real, dy->data, i, at_random_unit((at_stream){.seed = 4}, (uint64_t)i) - 0.5);
    if (dy && y->wants_grad) at_backward_from(t, y, dy);
    if (at_ok(t) && y) h = hash_tensor(h, y);
    for (int i = 0; i < n && at_ok(t); i++) h = hash_tensor(h, in[i]);
    if (print && at_ok(t)) print_ops("row", t);
    for (int i = 0; i < n && print && at_ok(t); i++)
        printf("input %d, with its gradient %016" PRIx64 "\n", i, hash_tensor(hash_start, in[i]));
    at_close(t);
    return h;
}

static uint64_t hash_table(request r)
{
    uint64_t all = hash_start;
    const at_case *c;
    for (int i = 0; (c = at_case_at(i)); i++) {
        uint64_t h = hash_start;
        for (int real = ATTIC_F32; real <= ATTIC_DUAL; real++)
            if (real == ATTIC_F32 || real == ATTIC_F64 || real == ATTIC_DUAL)
                h = hash_row(h, c, (at_dtype)real, i == r.row);
        if (r.lines) printf("row %d %s %s %016" PRIx64 "\n", i, c->op, at_case_text(c), h);
        all = hash_bytes(all, &h, sizeof h);
    }
    return all;
}

/* ------------------------------------------------------------------ decimals ------------------- */

/* Numbers of every exponent as the C library prints and reads them: texts of models and reports. */
static uint64_t hash_decimals(void)
{
    uint64_t h = hash_start;
    for (int i = 0; i < DECIMALS; i++) {
        char text[64];
        const at_stream s = {.seed = 5};
        const double u = at_random_normal(s, (uint64_t)i), x = ldexp(u, i % 2000 - 1000);
        const double read[] = {x, (double)(float)u};
        for (int k = 0; k < 2; k++) {
            for (int digits = 1; digits <= 17; digits += 8) {
                h = hash_bytes(h, text,
                               (size_t)snprintf(text, sizeof text, "%.*g", digits, read[k]));
                const double back = strtod(text, NULL);
                const float narrow = strtof(text, NULL);
                h = hash_bytes(h, &back, sizeof back);
                h = hash_bytes(h, &narrow, sizeof narrow);
            }
        }
    }
    return h;
}

static int number(const char *text)
{
    return text ? (int)strtol(text, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
    request r = {.step = -1, .row = -1, .folder = "out/bits"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--lines") == 0) r.lines = true;
        if (strcmp(argv[i], "--step") == 0) r.step = number(argv[i + 1]);
        if (strcmp(argv[i], "--case") == 0) r.row = number(argv[i + 1]);
        if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) r.folder = argv[i + 1];
        if (strcmp(argv[i], "--threads") == 0) at_threads(number(argv[i + 1]));
    }
    const uint64_t part[] = {train_gpt(hash_start, r),
                             train_short("wide", ATTIC_F32, WIDE, SHORT / 10, r),
                             train_short("f64", ATTIC_F64, NARROW, SHORT, r),
                             train_dual(hash_start, r),
                             train_microgpt(ATTIC_F32, r),
                             train_microgpt(ATTIC_F64, r),
                             train_muon(r),
                             hash_table(r),
                             hash_decimals()};
    if (r.lines) printf("decimals %016" PRIx64 "\n", part[8]);
    const uint64_t h = hash_bytes(hash_start, part, sizeof part);
    printf("attic %s, %s arithmetic: %016" PRIx64 "\n", at_version(), at_arithmetic(), h);
    return 0;
}
