/* cases_sdpa.c -- gradient cases of attention: every option, and pairs of options, on all three paths.
 *
 * The inputs are Q, K, V and, where a case has them, the bias, the learned scale and the sink.  With weights,
 * probs or lse, the function is O and these side by side, so that a random cotangent reaches all. */
#include "gradients/cases.h"

#include <limits.h>
#include <math.h>
#include <string.h>

typedef struct {
    at_sdpa_args a;
    bool bias;                    /* the next input */
    bool scale, sink;             /* head_scale and sink: the last inputs */
    int infinite;                 /* every so many-th element of the bias is -inf */
    bool infinite_Q, infinite_KV; /* row 1 of Q, or of K and V, is infinite, which nothing keeps */
    bool infinite_sink;           /* the first one is -inf */
    bool same;                    /* Q = K = V: one input */
    bool same_kv;                 /* K = V: two inputs */
    const char *keep;             /* "101 011", with keep_shape */
    at_shape keep_shape;
    bool key_lens;
    int key_len[3];
    bool documents; /* of ids that return */
    bool weights;   /* look at O and the weights */
    bool only_weights;
    bool probs, only_probs; /* the same for the weights before dropout */
    bool lse,
        only_lse; /* and for the log-sum-exp of the rows, which all keep something or have a sink */
} sdpa_case;

static at_tensor *keep_of_text(at_tape *t, const char *text, at_shape shape)
{
    bool keep[64] = {0};
    int n = 0;
    for (; *text; text++)
        if (*text != ' ') keep[n++] = *text == '1';
    return at_bools(t, shape, keep);
}

/* The bias as given, with some cells replaced by -inf: those are constants. */
static at_tensor *with_infinities(at_tape *t, at_tensor *bias, int every)
{
    at_tensor *where = at_bools(t, bias->shape, NULL);
    for (ptrdiff_t i = 0; where && i < at_count(bias->shape); i += every)
        at_store(ATTIC_BOOL, where->data, i, 1);
    return at_masked_fill(t, bias, where, -(double)INFINITY);
}

/* Row 1 of x [T,D], or element 0 of x [H], becomes a constant. */
static at_tensor *with_infinite(at_tape *t, at_tensor *x, int row, double infinity)
{
    at_shape rows = x->shape;
    if (rows.ndim == 2) rows.dim[1] = 1;
    at_tensor *where = at_bools(t, rows, NULL);
    if (where) at_store(ATTIC_BOOL, where->data, row, 1);
    return at_masked_fill(t, x, where, infinity);
}

static at_tensor *side_by_side(at_tape *t, at_tensor *x, at_tensor *y)
{
    x = at_reshape(t, x, at_shape_of(-1));
    y = at_reshape(t, y, at_shape_of(-1));
    return at_concat(t, (at_tensor *[]){x, y}, 2, 0);
}

static at_tensor *case_sdpa(at_tape *t, at_tensor **in, void *ctx)
{
    const sdpa_case *c = ctx;
    at_sdpa_args a = c->a;
    at_tensor *Q = in[0], *K = c->same ? Q : in[1], *V = c->same ? Q : c->same_kv ? K : in[2];
    int B = Q->shape.ndim > 2 ? Q->shape.dim[0] : 1, inputs = c->same ? 1 : c->same_kv ? 2 : 3;
    at_tensor *weights = NULL, *probs = NULL, *lse = NULL;

    if (c->bias) a.bias = in[inputs];
    if (c->scale) a.head_scale = in[inputs + c->bias];
    if (c->sink) a.sink = in[inputs + c->bias + c->scale];
    if (c->infinite) a.bias = with_infinities(t, a.bias, c->infinite);
    if (c->infinite_Q) Q = with_infinite(t, Q, 1, (double)INFINITY);
    if (c->infinite_KV) K = with_infinite(t, K, 1, (double)INFINITY);
    if (c->infinite_KV) V = with_infinite(t, V, 1, (double)INFINITY);
    if (c->infinite_sink) a.sink = with_infinite(t, a.sink, 0, -(double)INFINITY);
    if (c->keep) a.keep = keep_of_text(t, c->keep, c->keep_shape);
    if (c->key_lens) a.key_len = at_ints(t, at_shape_of(B), (const int32_t *)c->key_len);
    if (c->documents) a.segments = at_ints(t, at_shape_of(3), (int32_t[]){0, 1, 0});
    if (c->weights || c->only_weights) a.weights = &weights;
    if (c->probs || c->only_probs) a.probs = &probs;
    if (c->lse || c->only_lse) a.lse = &lse;
    at_tensor *O = at_sdpa(t, Q, K, V, a);
    if (!O || c->only_weights) return O ? weights : NULL;
    if (c->only_probs) return probs;
    if (c->only_lse) return lse;
    if (c->weights) O = side_by_side(t, O, weights);
    if (c->lse) O = side_by_side(t, O, lse);
    return c->probs ? side_by_side(t, O, probs) : O;
}

/* Constants that attend to 4 keys and values of 16 bits, in two documents, times x [3,2]. */
static at_tensor *case_sdpa_half(at_tape *t, at_tensor **in, void *stored)
{
    at_tensor *KV[2];
    for (int i = 0; i < 2; i++)
        KV[i] = at_cast(t, at_random(t, at_shape_of(4, 2), at_normal(1)), *(at_dtype *)stored);
    at_tensor *Q = at_random(t, in[0]->shape, at_normal(1));
    at_tensor *O = at_sdpa(t, Q, KV[0], KV[1], (at_sdpa_args){0});
    at_sdpa_args a = {.segments = at_ints(t, at_shape_of(3), (int32_t[]){0, 0, 1}),
                      .key_segments = at_ints(t, at_shape_of(4), (int32_t[]){0, 1, 1, 1})};
    return at_mul(t, in[0], at_add(t, O, at_sdpa(t, Q, KV[0], KV[1], a)));
}

/* One case on one path, and one case on each. */
#define ON(path_, name, in_, note_, ...)                                                           \
    ROW("sdpa", in_, case_sdpa, .ctx = (&(sdpa_case){.a.path = path_, __VA_ARGS__}),               \
        .note = note_ ", " name)
#define PATHS(in_, note_, ...)                                                                     \
    ON(ATTIC_FUSED, "fused", in_, note_, __VA_ARGS__),                                             \
        ON(ATTIC_PLAIN, "plain", in_, note_, __VA_ARGS__),                                         \
        ON(ATTIC_COMPOSED, "composed", in_, note_, __VA_ARGS__)
/* The composed path multiplies by 0 what is masked. */
#define NOT_READ(in_, note_, ...)                                                                  \
    ON(ATTIC_FUSED, "fused", in_, note_, __VA_ARGS__),                                             \
        ON(ATTIC_PLAIN, "plain", in_, note_, __VA_ARGS__)
/* The learned scale is 0: its gradient is not. */
#define ZERO(path_, name)                                                                          \
    ROW("sdpa", "[2,2] [3,2] [3,1] []", case_sdpa,                                                 \
        .ctx = (&(sdpa_case){.a.path = path_, .scale = true}),                                     \
        .values = (double[]){1, 2, -1, 0.5, 0.3, -1, 2, 1, -0.7, 0.2, 1, -2, 0.5, 0},              \
        .note = "learned scale of 0, " name)
/* Beyond one tile of the fused path: along random directions. */
#define LARGE(in_, note_, ...)                                                                     \
    ROW("sdpa", in_, case_sdpa, .ctx = (&(sdpa_case){.a.path = ATTIC_FUSED, __VA_ARGS__}),         \
        .note = note_, .directions = 4)

const at_case at_cases_sdpa[] = {
    /* ---- layouts and sizes */
    PATHS("[3,2] [4,2] [4,3]", "Dv > D", .bias = false),
    PATHS("[2,3,2] [2,4,2] [2,4,2]", "batches", .bias = false),
    PATHS("[2,2,2,3] [2,2,3,3] [2,2,3,2]", "heads", .bias = false),
    PATHS("[2,3,4] [2,4,4] [2,4,6]", "packed", .a.heads = 2),
    PATHS("[3,4] [3,4] [3,2]", "packed without batches", .a.heads = 2),
    PATHS("[1,1] [1,1] [1,1]", "one key", .weights = true, .bias = false),
    PATHS("[1,3] [4,3] [4,2]", "one query", .bias = false),
    PATHS("[3,1] [2,1] [2,1]", "D = 1", .bias = false),
    PATHS("[2,0] [3,0] [3,2]", "D = 0: all keys alike", .bias = false),

    /* ---- one tensor in several places */
    PATHS("[3,2]", "sdpa(x,x,x)", .same = true),
    PATHS("[2,3,4]", "sdpa(x,x,x) packed, causal", .same = true, .a.heads = 2, .a.causal = true),
    PATHS("[2,2,3,2]", "sdpa(x,x,x), weights", .same = true, .weights = true),
    PATHS("[3,2] [4,2]", "K = V", .same_kv = true),

    /* ---- scale, temperature, softcap */
    PATHS("[3,2] [4,2] [4,2]", "scale", .a.scale = 0.3),
    PATHS("[3,2] [4,2] [4,2]", "scale < 0", .a.scale = -1.1),
    PATHS("[3,2] [4,2] [4,2]", "temperature", .a.temperature = 0.4),
    PATHS("[3,2] [4,2] [4,2]", "softcap", .a.softcap = 0.5),
    PATHS("[2,3,4] [2,3,2] [2,3,2]", "scale, temperature, softcap, groups", .a.scale = 2,
          .a.temperature = 1.5, .a.softcap = 0.7, .a.heads = 2, .a.kv_heads = 1),

    PATHS("[3,2] [4,2] [4,2] []", "learned scale", .scale = true),
    ZERO(ATTIC_FUSED, "fused"),
    ZERO(ATTIC_PLAIN, "plain"),
    ZERO(ATTIC_COMPOSED, "composed"),
    PATHS("[3,2] [4,2] [4,2] [1]", "learned scale, softcap, temperature", .scale = true,
          .a.softcap = 0.5, .a.temperature = 0.4),
    PATHS("[2,3,4] [2,3,2] [2,3,2] [2]", "learned scale, groups, causal, dropout", .scale = true,
          .a.heads = 2, .a.kv_heads = 1, .a.causal = true, .a.dropout = 0.3),
    PATHS("[2,2,2,2] [2,2,3,2] [2,2,3,2] [2,3] [2]", "learned scale, bias, keep, weights",
          .scale = true, .bias = true, .weights = true, .keep = "110 000",
          .keep_shape = {2, {2, 3}}),

    /* ---- masks */
    PATHS("[3,2] [3,2] [3,2]", "causal", .a.causal = true),
    PATHS("[2,2] [4,2] [4,2]", "causal, bottom right", .a.causal = true,
          .a.align = ATTIC_ALIGN_BOTTOM_RIGHT),
    PATHS("[4,2] [2,2] [2,2]", "causal, bottom right, empty rows", .a.causal = true,
          .a.align = ATTIC_ALIGN_BOTTOM_RIGHT, .weights = true),
    PATHS("[3,2] [4,2] [4,2]", "causal, top left", .a.causal = true,
          .a.align = ATTIC_ALIGN_TOP_LEFT),
    PATHS("[3,2] [4,2] [4,2]", "causal, offset -1", .a.causal = true, .a.align = ATTIC_ALIGN_OFFSET,
          .a.offset = -1),
    PATHS("[5,2] [5,2] [5,2]", "window", .a.window_left = 2, .a.window_right = 3),
    PATHS("[3,2] [6,2] [6,2]", "window, causal, offset 2", .a.window_left = 3, .a.causal = true,
          .a.align = ATTIC_ALIGN_OFFSET, .a.offset = 2),
    PATHS("[3,2] [4,2] [4,3]", "keep, an empty row", .keep = "1011 0000 0110",
          .keep_shape = {2, {3, 4}}),
    PATHS("[3,2] [4,2] [4,2]", "keep [S]", .keep = "1101", .keep_shape = {1, {4}}),
    PATHS("[2,2,2,2] [2,2,3,2] [2,2,3,2]", "keep [B,1,1,N]", .keep = "110 011",
          .keep_shape = {4, {2, 1, 1, 3}}),
    PATHS("[2,2,2] [2,3,2] [2,3,2]", "keep [B,T,N]", .keep = "110 011 101 000",
          .keep_shape = {3, {2, 2, 3}}),
    PATHS("[3,2,2] [3,3,2] [3,3,2]", "key lengths 0, 3, 2", .key_lens = true, .key_len = {0, 3, 2}),
    PATHS("[2,2,2,2] [2,2,3,2] [2,2,3,2]", "key lengths, causal", .a.causal = true,
          .a.align = ATTIC_ALIGN_BOTTOM_RIGHT, .key_lens = true, .key_len = {3, 2}),

    PATHS("[3,2] [3,2] [3,2]", "documents, keep", .documents = true, .keep = "101 011 111",
          .keep_shape = {2, {3, 3}}),
    PATHS("[3,2] [4,2] [4,2]", "wide windows", .a.window_left = INT_MAX, .a.window_right = INT_MAX,
          .a.align = ATTIC_ALIGN_TOP_LEFT, .keep = "1011", .keep_shape = {1, {4}}),

    /* ---- what is masked is not read */
    NOT_READ("[3,2] [4,2] [4,2]", "keep, infinite Q, K and V", .infinite_Q = true,
             .infinite_KV = true, .keep = "1011 0000 1011", .keep_shape = {2, {3, 4}}),
    NOT_READ("[4,2] [4,2] [4,9]", "keep, causal, window, infinite K and V", .infinite_KV = true,
             .keep = "1011", .keep_shape = {1, {4}}, .a.causal = true, .a.window_left = 2),

    /* ---- bias, and how it is broadcast */
    PATHS("[3,2] [4,2] [4,2] [3,4]", "bias [T,N]", .bias = true),
    PATHS("[2,2,2,2] [2,2,3,2] [2,2,3,2] [2,2,2,3]", "bias [B,H,T,N]", .bias = true),
    PATHS("[2,2,2,2] [2,2,3,2] [2,2,3,2] [1,2,2,3]", "bias [1,H,T,N]", .bias = true),
    PATHS("[2,2,2,2] [2,2,3,2] [2,2,3,2] [2,1,2,3]", "bias [B,1,T,N]", .bias = true),
    PATHS("[2,2,2,2] [2,2,3,2] [2,2,3,2] [2,3]", "bias [T,N] beside heads", .bias = true),
    PATHS("[2,2,2,2] [2,2,3,2] [2,2,3,2] [2,2,1,3]", "bias [B,H,1,N]", .bias = true),
    PATHS("[2,2,2,2] [2,2,3,2] [2,2,3,2] [3]", "bias [S]", .bias = true),
    PATHS("[2,2,2,2] [2,2,3,2] [2,2,3,2] [1,2,1,1]", "bias [1,H,1,1], softcap", .bias = true,
          .a.softcap = 0.9, .keep = "1", .keep_shape = {1, {1}}, .weights = true),
    PATHS("[2,2,2] [2,3,2] [2,3,2] [2,2,3]", "bias [B,T,N]", .bias = true),
    PATHS("[2,4] [3,4] [3,4] [2,2,3]", "bias [H,T,N], packed", .a.heads = 2, .bias = true),
    PATHS("[3,2] [4,2] [4,2] [3,4]", "bias, some -inf", .bias = true, .infinite = 3),
    PATHS("[3,2] [4,2] [4,2] [3,4]", "bias and softcap", .bias = true, .a.softcap = 0.6),
    PATHS("[3,3] [3,3] [3,3] [3,3]", "bias, causal, -inf, weights", .bias = true, .infinite = 4,
          .a.causal = true, .weights = true),

    /* ---- groups */
    PATHS("[1,4,2,2] [1,2,3,2] [1,2,3,2]", "4 heads on 2", .bias = false),
    PATHS("[2,3,2,2] [2,1,3,2] [2,1,3,2]", "multi-query", .bias = false),
    PATHS("[2,2,8] [2,3,4] [2,3,6]", "packed, 4 heads on 2", .a.heads = 4, .a.kv_heads = 2),
    PATHS("[2,4,2,2] [2,2,3,2] [2,2,3,2] [1,4,1,3]", "groups, bias, weights", .bias = true,
          .weights = true),

    /* ---- dropout */
    PATHS("[3,2] [4,2] [4,3]", "dropout", .a.dropout = 0.3),
    PATHS("[2,2,3,2] [2,2,3,2] [2,2,3,2]", "dropout, causal", .a.dropout = 0.4, .a.causal = true),
    PATHS("[2,3,4] [2,3,4] [2,3,4]", "dropout, packed, weights", .a.dropout = 0.4, .a.heads = 2,
          .weights = true),
    PATHS("[2,4,2,2] [2,2,3,2] [2,2,3,2]", "dropout, groups", .a.dropout = 0.4),
    PATHS("[3,2] [4,2] [4,2] [3,4]", "dropout, bias, softcap", .a.dropout = 0.25, .bias = true,
          .a.softcap = 0.8),
    PATHS("[3,2] [4,2] [4,2]", "dropout, keep, temperature", .a.dropout = 0.5, .a.temperature = 0.7,
          .keep = "1011 0000 0111", .keep_shape = {2, {3, 4}}),
    PATHS("[3,2]", "dropout, sdpa(x,x,x)", .a.dropout = 0.3, .same = true),

    /* ---- the weights as an output */
    PATHS("[3,2] [4,2] [4,3]", "weights", .weights = true),
    PATHS("[3,2] [4,2] [4,3]", "only weights", .only_weights = true),
    PATHS("[3,2] [4,2] [4,3]", "only weights, dropout", .only_weights = true, .a.dropout = 0.4),
    PATHS("[2,4,2,2] [2,2,3,2] [2,2,3,2]", "weights, groups, dropout, softcap", .weights = true,
          .a.dropout = 0.4, .a.softcap = 0.8),
    PATHS("[3,2] [4,2] [4,2]", "weights, keep, window", .weights = true, .a.window_right = 2,
          .a.align = ATTIC_ALIGN_TOP_LEFT, .keep = "1011 0000 0110", .keep_shape = {2, {3, 4}}),

    /* ---- the weights before dropout as an output */
    PATHS("[3,2] [4,2] [4,3]", "probs", .probs = true),
    PATHS("[3,2] [4,2] [4,3]", "only probs, dropout", .only_probs = true, .a.dropout = 0.4),
    PATHS("[2,4,2,2] [2,2,3,2] [2,2,3,2]", "weights, probs, groups, dropout, softcap",
          .weights = true, .probs = true, .a.dropout = 0.4, .a.softcap = 0.8),
    PATHS("[3,2] [4,2] [4,2] [3,4]", "probs, bias, keep, dropout", .probs = true, .bias = true,
          .a.dropout = 0.4, .keep = "1011 0000 0110", .keep_shape = {2, {3, 4}}),

    /* ---- the log-sum-exp as an output */
    PATHS("[3,2] [4,2] [4,3]", "lse", .lse = true),
    PATHS("[3,2] [4,2] [4,3]", "only lse", .only_lse = true),
    PATHS("[2,4,2,2] [2,2,3,2] [2,2,3,2] [2,3]", "lse, probs, groups, dropout, softcap, bias",
          .bias = true, .lse = true, .probs = true, .a.dropout = 0.4, .a.softcap = 0.8),
    PATHS("[3,2] [3,2] [3,2] []", "only lse, learned scale, causal", .only_lse = true,
          .scale = true, .a.causal = true),

    /* ---- a sink */
    PATHS("[3,2] [4,2] [4,3] []", "sink", .sink = true),
    PATHS("[2,2,3,2] [2,2,4,2] [2,2,4,2] [2]", "sink of each head, lse, window", .sink = true,
          .lse = true, .a.window_left = 2, .a.align = ATTIC_ALIGN_TOP_LEFT),
    PATHS("[2,3,8] [2,4,4] [2,4,2] [4]", "sink, groups, weights, dropout", .sink = true,
          .weights = true, .a.heads = 4, .a.kv_heads = 2, .a.dropout = 0.4),
    PATHS("[3,2] [4,2] [4,2] []", "sink, an empty row, lse, probs", .sink = true, .lse = true,
          .probs = true, .keep = "1011 0000 0110", .keep_shape = {2, {3, 4}}),
    PATHS("[2,2,3,2] [2,2,4,2] [2,2,4,2] [2]", "sink of one head alone", .sink = true,
          .infinite_sink = true),
    PATHS("[2,2] [0,2] [0,2] []", "sink, no keys, lse", .sink = true, .lse = true),
    PATHS("[2,2,3,2] [2,2,3,2] [2,2,3,2] [3] [2] [2]", "sink, learned scale, bias, softcap",
          .bias = true, .scale = true, .sink = true, .a.softcap = 0.7),

    /* ---- keys and values of 16 bits, which only the fused path reads */
    ROW("sdpa", "[3,2]", case_sdpa_half, .ctx = &(at_dtype){ATTIC_F16},
        .note = "K and V f16, times x"),
    ROW("sdpa", "[3,2]", case_sdpa_half, .ctx = &(at_dtype){ATTIC_BF16},
        .note = "K and V bf16, times x"),

    /* ---- everything at once */
    PATHS("[2,3,8] [2,4,4] [2,4,2] [1,4,1,4] [4] [4]", "everything", .scale = true, .sink = true,
          .lse = true, .probs = true, .a.heads = 4, .a.kv_heads = 2, .a.causal = true,
          .a.align = ATTIC_ALIGN_BOTTOM_RIGHT, .a.window_left = 3, .a.softcap = 1.5, .a.scale = 0.9,
          .a.temperature = 0.8, .a.dropout = 0.3, .bias = true, .infinite = 5,
          .keep = "1110 0111 1111", .keep_shape = {2, {3, 4}}, .key_lens = true, .key_len = {4, 3},
          .weights = true),

    /* ---- nothing that could have a gradient */
    ROW("sdpa", "[3,2] [0,2] [0,2]", case_sdpa, .ctx = (&(sdpa_case){.bias = false}),
        .note = "no keys", .expect = ATTIC_VACUOUS),
    ROW("sdpa", "[0,2] [3,2] [3,2]", case_sdpa, .ctx = (&(sdpa_case){.bias = false}),
        .note = "no queries", .expect = ATTIC_VACUOUS),
    ROW("sdpa", "[2,2] [3,2] [3,0]", case_sdpa, .ctx = (&(sdpa_case){.bias = false}),
        .note = "Dv = 0", .expect = ATTIC_VACUOUS),
    ROW("sdpa", "[2,2] [3,2] [3,2]", case_sdpa,
        .ctx = (&(sdpa_case){.keep = "0", .keep_shape = {1, {1}}}), .note = "nothing kept",
        .expect = ATTIC_VACUOUS),

    /* ---- several tiles of the fused path */
    LARGE("[140,2] [270,2] [270,3]", "tiles", .bias = false),
    LARGE("[10,2] [140,2] [140,2]", "tiles of keys", .bias = false),
    LARGE("[260,2] [260,2] [260,2]", "tiles, causal, dropout", .a.causal = true, .a.dropout = 0.2),
    LARGE("[260,4] [260,2] [260,2]", "tiles, groups, window, weights", .a.heads = 2,
          .a.kv_heads = 1, .a.window_left = 140, .a.window_right = 7, .weights = true),
    LARGE("[140,2] [270,2] [270,2] [140,270]", "tiles, bias, softcap", .bias = true,
          .a.softcap = 1.2, .infinite = 7),
    LARGE("[2,1,140,2] [2,1,270,2] [2,1,270,2] [270]", "tiles, bias [S]", .bias = true),
    LARGE("[140,2] [270,2] [270,2] [140,1]", "tiles, bias [T,1], weights", .bias = true,
          .weights = true, .a.dropout = 0.3),
    LARGE("[1,2,140,2] [1,2,270,2] [1,2,270,2] [2]", "tiles, learned scale, probs, dropout",
          .scale = true, .probs = true, .a.dropout = 0.3),
    LARGE("[260,2]", "tiles, sdpa(x,x,x)", .same = true, .a.causal = true),
    LARGE("[1,2,140,2] [1,2,270,2] [1,2,270,2] [2]", "tiles, sink, lse, dropout", .sink = true,
          .lse = true, .a.dropout = 0.3),
    LARGE("[1,9,40,2] [1,9,140,2] [1,9,140,2] [9]", "tiles, many heads, sink, lse, window",
          .sink = true, .lse = true, .a.window_left = 50, .a.align = ATTIC_ALIGN_BOTTOM_RIGHT),

    {0}};
