/* cases_tangent.c -- gradient cases of at_sdpa_jvp: every option.
 *
 * The inputs are Q, K, V and, where a case has them, the bias and the sink, then the tangents of those that move;
 * O, Odot and, where asked for, the weights and lse with their tangents stand side by side, so that a random
 * cotangent reaches all. */
#include "gradients/cases.h"

#include <math.h>
#include <string.h>

enum { STILL_Q = 1, STILL_K = 2, STILL_V = 4, STILL_BIAS = 8, STILL_SINK = 16 };

typedef struct {
    at_sdpa_args a;
    bool bias, sink, keep, weights, lse, documents, infinite_sink;
    unsigned still;  /* what has no tangent */
    bool same;       /* Q = K = V, and their tangents */
    bool tangent_is; /* the tangents are the inputs themselves */
    bool only_Odot, only_O;
} tangent_case;

static at_tensor *flat(at_tape *t, at_tensor *x)
{
    return at_reshape(t, x, at_shape_of(-1));
}

int at_case_tangents(at_tape *t, at_tensor **in, void *ctx, at_tensor *y[6])
{
    const tangent_case *c = ctx;
    at_sdpa_args a = c->a;
    at_tensor *x[5] = {NULL}, *dot[5] = {NULL};
    int n = 2;
    for (int i = 0; i < 3; i++) x[i] = c->same ? in[0] : *in++;
    if (c->same) in++;
    if (c->bias) x[3] = *in++;
    if (c->sink) x[4] = *in++;
    for (int i = 0; i < 5; i++)
        if (x[i] && !(c->still & 1u << i))
            dot[i] = c->tangent_is ? x[i] : c->same && i < 3 ? *in : *in++;
    if (c->keep) { /* row 1 keeps nothing */
        at_shape cells = at_shape_of(x[0]->shape.dim[x[0]->shape.ndim - 2], 1);
        a.keep = at_bools(t, cells, NULL);
        for (int i = 0; a.keep && i < cells.dim[0]; i++)
            at_store(ATTIC_BOOL, a.keep->data, i, i != 1);
    }
    if (c->documents) { /* of 2 and 1 rows, of 1 and 3 keys */
        a.segments = at_ints(t, at_shape_of(3), (int32_t[]){0, 0, 1});
        a.key_segments = at_ints(t, at_shape_of(4), (int32_t[]){0, 1, 1, 1});
    }
    a.bias = x[3], a.bias_tangent = dot[3];
    a.sink = x[4], a.sink_tangent = dot[4];
    if (c->infinite_sink) a.sink = at_const(t, a.sink->shape, (double[]){-(double)INFINITY});
    if (c->weights) a.weights = &y[n], a.weights_tangent = &y[n + 1], n += 2;
    if (c->lse) a.lse = &y[n], a.lse_tangent = &y[n + 1], n += 2;
    y[0] = at_sdpa_jvp(t, x[0], x[1], x[2], dot[0], dot[1], dot[2], a, &y[1]);
    return y[0] ? n : 0;
}

int at_case_moved(const at_case *c, int dot_of[AT_MAX_CASE_INPUTS])
{
    const tangent_case *k = c->ctx;
    int tensors = k->same ? 1 : 3 + k->bias + k->sink, n = tensors;
    for (int i = 0; i < tensors; i++)
        dot_of[i] = k->tangent_is                                            ? i
                    : k->still & (i == 3 && !k->bias ? STILL_SINK : 1u << i) ? -1
                                                                             : n++;
    return tensors;
}

static at_tensor *case_tangent(at_tape *t, at_tensor **in, void *ctx)
{
    const tangent_case *c = ctx;
    at_tensor *y[6];
    const int n = at_case_tangents(t, in, ctx, y);
    if (n == 0 || c->only_O) return n ? y[0] : NULL;
    if (c->only_Odot) return y[1];
    for (int i = 0; i < n; i++) y[i] = flat(t, y[i]);
    return at_concat(t, y, n, 0);
}

#define SMALL(in_, note_, ...)                                                                     \
    ROW("sdpa_jvp", in_, case_tangent, .ctx = (&(tangent_case){__VA_ARGS__}),                      \
        .note = note_ ", tiles")
/* Several tiles, along random directions. */
#define LARGE(in_, note_, ...)                                                                     \
    ROW("sdpa_jvp", in_, case_tangent, .ctx = (&(tangent_case){__VA_ARGS__}), .note = note_,       \
        .directions = 4)

const at_case at_cases_tangent[] = {
    SMALL("[3,2] [4,2] [4,3] [3,2] [4,2] [4,3]", "Dv > D", .bias = false),
    SMALL("[2,2,2,3] [2,2,3,3] [2,2,3,2] [2,2,2,3] [2,2,3,3] [2,2,3,2]", "heads", .bias = false),
    SMALL("[2,4,2,2] [2,2,3,2] [2,2,3,2] [2,4,2,2] [2,2,3,2] [2,2,3,2]", "groups", .weights = true),
    SMALL("[2,3,4] [2,4,4] [2,4,6] [2,3,4] [2,4,4] [2,4,6]", "packed", .a.heads = 2),
    SMALL("[3,2] [4,2] [4,2] [4,2] [4,2]", "Q without a tangent", .still = STILL_Q),
    SMALL("[3,2] [4,2] [4,2] [3,2] [4,2]", "K without a tangent", .still = STILL_K),
    SMALL("[3,2] [4,2] [4,2] [3,2] [4,2]", "V without a tangent", .still = STILL_V),
    SMALL("[3,2] [4,2] [4,2]", "no tangent at all", .still = STILL_Q | STILL_K | STILL_V),
    SMALL("[3,2] [4,2] [4,3] [3,2] [4,2] [4,3]", "only Odot", .only_Odot = true),
    SMALL("[3,2] [4,2] [4,3] [3,2] [4,2] [4,3]", "only O", .only_O = true),
    SMALL("[3,2] [4,2] [4,2] [3,4] [3,2] [4,2] [4,2] [3,4]", "bias", .bias = true),
    SMALL("[3,2] [4,2] [4,2] [4] [3,2] [4,2] [4,2] [4]", "bias of each key", .bias = true,
          .weights = true),
    SMALL("[3,2] [4,2] [4,2] [3,1] [3,2] [4,2] [4,2] [3,1]", "bias of each row", .bias = true,
          .a.dropout = 0.4),
    SMALL("[2,2,3,2] [2,1,4,2] [2,1,4,2] [1,2,1,4] [2,2,3,2] [2,1,4,2] [2,1,4,2] [1,2,1,4]",
          "bias, groups", .bias = true),
    SMALL("[3,2] [4,2] [4,2] [3,4] [3,2] [4,2] [4,2]", "bias without a tangent", .bias = true,
          .still = STILL_BIAS),
    SMALL("[3,2] [4,2] [4,2] [3,2] [4,2] [4,2]", "softcap", .a.softcap = 0.8),
    SMALL("[3,2] [4,2] [4,2] [3,4] [3,2] [4,2] [4,2] [3,4]", "softcap, bias, weights",
          .a.softcap = 0.8, .bias = true, .weights = true),
    SMALL("[3,2] [4,2] [4,2] [3,2] [4,2] [4,2]", "scale, temperature", .a.scale = 0.9,
          .a.temperature = 0.6),
    SMALL("[3,2] [4,2] [4,2] [3,2] [4,2] [4,2]", "dropout, weights", .a.dropout = 0.4,
          .weights = true),
    SMALL("[4,2] [4,2] [4,2] [4,2] [4,2] [4,2]", "causal, window", .a.causal = true,
          .a.window_left = 3),
    SMALL("[3,2] [4,2] [4,2] [3,2] [4,2] [4,2]", "a row that keeps nothing", .keep = true,
          .weights = true),
    SMALL("[3,2] [3,2]", "sdpa(x,x,x)", .same = true),
    SMALL("[3,2] [3,2] [3,2]", "the tangents are the inputs", .tangent_is = true),
    SMALL("[3,2] [4,2] [4,2] [3,2] [4,2] [4,2]", "documents", .documents = true),
    SMALL("[3,2] [4,2] [4,2] [3,4] [] [3,2] [4,2] []", "documents, bias, sink, K without a tangent",
          .documents = true, .bias = true, .sink = true, .still = STILL_K | STILL_BIAS,
          .weights = true, .lse = true, .a.dropout = 0.4),
    SMALL("[3,2] [4,2] [4,2] [3,2] [4,2] [4,2]", "lse", .lse = true),
    SMALL("[3,2] [4,2] [4,2] [] [3,2] [4,2] [4,2] []", "sink, lse, a row that keeps nothing",
          .sink = true, .lse = true, .keep = true, .a.dropout = 0.4),
    SMALL("[2,2,2,2] [2,2,3,2] [2,2,3,2] [2] [2,2,2,2] [2,2,3,2] [2,2,3,2]",
          "sink without a tangent", .sink = true, .still = STILL_SINK, .a.softcap = 0.8),
    SMALL("[3,2] [4,2] [4,2] [] [3,2] [4,2] [4,2] []", "sink of -inf", .sink = true,
          .infinite_sink = true),
    SMALL("[2,3,8] [2,4,4] [2,4,2] [1,4,1,4] [2,3,8] [2,4,4] [2,4,2] [1,4,1,4]", "everything",
          .lse = true, .a.heads = 4, .a.kv_heads = 2, .a.causal = true,
          .a.align = ATTIC_ALIGN_BOTTOM_RIGHT, .a.window_left = 3, .a.softcap = 1.5, .a.scale = 0.9,
          .a.temperature = 0.8, .a.dropout = 0.3, .bias = true, .weights = true, .keep = true),

    LARGE("[140,2] [270,2] [270,3] [140,2] [270,2] [270,3]", "tiles", .bias = false),
    LARGE("[10,2] [140,2] [140,2] [140,2]", "tiles, only V has a tangent",
          .still = STILL_Q | STILL_K),
    LARGE("[140,2] [270,2] [270,2] [] [140,2] [270,2] [270,2] []", "tiles, sink, lse", .sink = true,
          .lse = true),
    LARGE("[260,2] [260,2] [260,2] [260,2] [260,2] [260,2]", "tiles, causal, dropout, softcap",
          .a.causal = true, .a.dropout = 0.2, .a.softcap = 1.2),
    LARGE("[260,4] [260,2] [260,2] [260,4] [260,2] [260,2]", "tiles, groups, window, weights",
          .a.heads = 2, .a.kv_heads = 1, .a.window_left = 140, .a.window_right = 7,
          .weights = true),
    LARGE("[140,2] [270,2] [270,2] [140,1] [140,2] [270,2] [270,2] [140,1]",
          "tiles, bias of each row", .bias = true, .a.dropout = 0.3),

    {0}};
