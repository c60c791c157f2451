/* plan.c -- reads the shapes and options of one attention, and refuses what makes no sense.
 *
 * Everything a caller can get wrong is found here, before anything is recorded: the paths after it
 * check nothing. */
#include "attention/plan.h"

#include <math.h>
#include <string.h>

/* One of Q, K, V taken apart. */
typedef struct {
    int B, heads, rows, D;
    at_sdpa_layout at;
} sdpa_operand;

/* heads: packed in its last axis; 0: not packed. */
static sdpa_operand sdpa_taken_apart(at_shape s, int heads)
{
    const int *dim = s.dim + s.ndim, row = dim[-1];
    sdpa_operand x = {.B = s.ndim > 2 ? s.dim[0] : 1, .rows = dim[-2], .D = row};
    x.heads = heads ? heads : s.ndim > 3 ? s.dim[1] : 1;
    if (heads) x.D /= heads;
    const ptrdiff_t head = (ptrdiff_t)x.rows * row;
    x.at = heads ? (at_sdpa_layout){head, x.D, row} : (at_sdpa_layout){x.heads * head, head, row};
    return x;
}

/* x must be 2-D to 4-D, or 2-D or 3-D when packed, like Q. */
static bool sdpa_operand_of(at_tape *t, const char *name, const at_tensor *x, const at_tensor *Q,
                            int heads, sdpa_operand *out)
{
    const int n = x->shape.ndim;
    AT_REQUIRE(t, !heads || n == 2 || n == 3,
               "sdpa: %s is %s, but with heads = %d it must be packed: [rows,%d*D] or "
               "[B,rows,%d*D]",
               name, at_text(x), heads, heads, heads);
    AT_REQUIRE(t, n >= 2 && n <= 4,
               "sdpa: %s is %s, but must be [rows,D], [B,rows,D] or [B,heads,rows,D]", name,
               at_text(x));
    AT_REQUIRE(t, n == Q->shape.ndim,
               "sdpa: Q is %s but %s is %s: they need the same number of dimensions", at_text(Q),
               name, at_text(x));
    AT_REQUIRE(t, !heads || at_last(x->shape) % heads == 0,
               "sdpa: %s is %s, but its last dimension can't be cut into %d heads", name,
               at_text(x), heads);
    *out = sdpa_taken_apart(x->shape, heads);
    return true;
}

/* The same thing, seen in two operands. */
static bool sdpa_agree(at_tape *t, const char *names[2], const at_tensor *x, const at_tensor *y,
                       const char *what, int m, int n)
{
    AT_REQUIRE(t, m == n, "sdpa: %s is %s but %s is %s: %s, %d and %d, differ", names[0],
               at_text(x), names[1], at_text(y), what, m, n);
    return true;
}

static bool sdpa_shapes(at_tape *t, const at_tensor *Q, const at_tensor *K, const at_tensor *V,
                        const at_sdpa_args *a, at_sdpa_plan *p)
{
    const char *QK[] = {"Q", "K"}, *KV[] = {"K", "V"};
    int kv_heads = a->kv_heads ? a->kv_heads : a->heads;
    sdpa_operand q, k, v;
    if (!sdpa_operand_of(t, "Q", Q, Q, a->heads, &q) ||
        !sdpa_operand_of(t, "K", K, Q, a->heads ? kv_heads : 0, &k) ||
        !sdpa_operand_of(t, "V", V, Q, a->heads ? kv_heads : 0, &v))
        return false;
    if (!sdpa_agree(t, QK, Q, K, "the batches", q.B, k.B) ||
        !sdpa_agree(t, KV, K, V, "the batches", k.B, v.B) ||
        !sdpa_agree(t, KV, K, V, "the numbers of heads", k.heads, v.heads) ||
        !sdpa_agree(t, QK, Q, K, "the sizes of a query and a key", q.D, k.D) ||
        !sdpa_agree(t, KV, K, V, "the numbers of keys and values", k.rows, v.rows))
        return false;
    bool divides = k.heads ? q.heads % k.heads == 0 : q.heads == 0;
    AT_REQUIRE(t, divides,
               "sdpa: %d query heads can't share %d key/value heads evenly (Q is %s, K is %s)",
               q.heads, k.heads, at_text(Q), at_text(K));
    AT_REQUIRE(t, a->heads || !a->kv_heads || a->kv_heads == k.heads,
               "sdpa: kv_heads = %d, but K is %s: without heads it is read from K", a->kv_heads,
               at_text(K));

    p->B = q.B, p->H = q.heads, p->G = k.heads;
    p->T = p->all_T = q.rows, p->N = p->all_N = k.rows, p->D = q.D, p->Dv = v.D;
    p->group = p->G ? p->H / p->G : 1;
    p->q = q.at, p->k = k.at, p->v = v.at;
    return true;
}

/* Of O, of the scores, and of one number per row. */
static bool sdpa_results(at_tape *t, const at_tensor *Q, const at_tensor *K, const at_sdpa_args *a,
                         at_sdpa_plan *p)
{
    int n = Q->shape.ndim;
    int64_t packed = (int64_t)p->H * p->Dv;
    AT_REQUIRE(t, !a->heads || packed <= INT32_MAX,
               "sdpa: %d heads of %d values make rows that are too long", p->H, p->Dv);

    p->O = Q->shape;
    p->O.dim[n - 1] = a->heads ? (int)packed : p->Dv;
    p->o = sdpa_taken_apart(p->O, a->heads).at;

    p->rows = (at_shape){0};
    if (n > 2) p->rows.dim[p->rows.ndim++] = p->B;
    if (n > 3 || a->heads) p->rows.dim[p->rows.ndim++] = p->H;
    p->rows.dim[p->rows.ndim++] = p->T;
    p->scores = p->rows;
    p->scores.dim[p->scores.ndim++] = p->N;

    /* space for what is saved of each row, and an int for the number of tiles along the longer
     * side */
    int longest = p->T > p->N ? p->T : p->N;
    bool countable = (int64_t)p->B * p->H <= INT32_MAX / (1 + longest / 64);
    AT_REQUIRE(t, countable && at_shape_valid(at_shape_of(p->B, p->H, p->T, AT_SDPA_SAVED)),
               "sdpa: Q is %s and K is %s: too many rows", at_text(Q), at_text(K));
    return true;
}

static bool sdpa_numbers(at_tape *t, const at_sdpa_args *a, at_sdpa_plan *p)
{
    AT_REQUIRE(t, isfinite(a->scale), "sdpa: scale is %g, but must be finite (0 means 1/sqrt(D))",
               a->scale);
    AT_REQUIRE(t, isfinite(a->temperature) && a->temperature >= 0,
               "sdpa: temperature is %g, but must be positive (0 means 1)", a->temperature);
    AT_REQUIRE(t, isfinite(a->softcap) && a->softcap >= 0,
               "sdpa: softcap is %g, but must be positive (0 means none)", a->softcap);
    AT_REQUIRE(t, a->dropout >= 0 && a->dropout < 1,
               "sdpa: dropout is %g, but must be in 0 <= p < 1", a->dropout);
    double scale = a->scale != 0 ? a->scale : p->D ? 1 / sqrt(p->D) : 1;
    p->c = a->temperature != 0 ? scale / a->temperature : scale;
    AT_REQUIRE(t, isfinite(p->c) && at_can_hold(at_real(t), p->c),
               "sdpa: scale / temperature = %g / %g is not finite in %s", scale,
               a->temperature != 0 ? a->temperature : 1, at_dtype_text(at_real(t)));
    if (a->softcap > 0 && (!at_check_number(t, "sdpa", "softcap", a->softcap) ||
                           !at_check_number(t, "sdpa", "1 / softcap", 1 / a->softcap)))
        return false;
    p->cap = a->softcap;
    p->sums = p->cap == 0;
    p->dropout = at_is_training(t) ? a->dropout : 0;
    return true;
}

/* s, NULL or a number for each query head: number h *next. */
static bool sdpa_per_head(at_tape *t, const char *name, const at_tensor *s, const at_sdpa_plan *p,
                          bool *given, int *next)
{
    if (!s) return true;
    if (!at_check_input(t, "sdpa", name, s, ATTIC_REAL)) return false;
    AT_REQUIRE(t, s->shape.ndim == 0 || (s->shape.ndim == 1 && s->shape.dim[0] == p->H),
               "sdpa: %s is %s, but must be [] or [%d], a number for each query head", name,
               at_text(s), p->H);
    *given = true, *next = s->shape.ndim;
    return true;
}

bool at_sdpa_diagonal(at_tape *t, const char *name, bool needed, at_align align, int offset, int T,
                      int N, int64_t *diagonal)
{
    AT_REQUIRE(t, align <= ATTIC_ALIGN_OFFSET, "%s: there is no alignment %d", name, (int)align);
    AT_REQUIRE(t, align == ATTIC_ALIGN_OFFSET || offset == 0,
               "%s: offset = %d counts only with align = ATTIC_ALIGN_OFFSET", name, offset);
    AT_REQUIRE(t, !needed || align != ATTIC_ALIGN_EQUAL || T == N,
               "%s: %d queries and %d keys: say where the diagonal of causal or a window lies, "
               "align = ATTIC_ALIGN_TOP_LEFT, ATTIC_ALIGN_BOTTOM_RIGHT or ATTIC_ALIGN_OFFSET",
               name, T, N);
    *diagonal = align == ATTIC_ALIGN_BOTTOM_RIGHT ? (int64_t)N - T : offset;
    return true;
}

static bool sdpa_band(at_tape *t, const at_sdpa_args *a, at_sdpa_plan *p)
{
    AT_REQUIRE(t, a->window_left >= 0 && a->window_right >= 0,
               "sdpa: the window is %d keys to the left and %d to the right, but neither can be "
               "negative (0 means no limit, 1 the diagonal alone)",
               a->window_left, a->window_right);
    p->causal = a->causal;
    p->window_left = a->window_left, p->window_right = a->window_right;
    return at_sdpa_diagonal(t, "sdpa", a->causal || a->window_left || a->window_right, a->align,
                            a->offset, p->T, p->N, &p->offset);
}

static bool sdpa_heads(at_tape *t, const at_sdpa_args *a)
{
    AT_REQUIRE(t, a->heads >= 0 && a->kv_heads >= 0,
               "sdpa: heads = %d and kv_heads = %d, but neither can be negative", a->heads,
               a->kv_heads);
    return true;
}

bool at_sdpa_is_path(at_tape *t, at_sdpa_path path)
{
    AT_REQUIRE(t, path <= ATTIC_COMPOSED, "sdpa: there is no path %d", (int)path);
    return true;
}

/* What the call says, or else the tape, or else the fused one. */
static at_sdpa_path sdpa_path(const at_tape *t, const at_sdpa_args *a, bool tangents)
{
    const at_sdpa_path of_tape = tangents ? ATTIC_FUSED : (at_sdpa_path)at_preferred_path(t);
    return a->path ? a->path : of_tape ? of_tape : ATTIC_FUSED;
}

/* How x, broadcast, is read as if it were [B,H,T,N].  Beside heads three dimensions could mean two
 * things, and right-aligned broadcasting would silently take the first for heads: refused. */
static bool sdpa_broadcast(at_tape *t, const char *name, const at_tensor *x, const at_sdpa_plan *p,
                           at_sdpa_cells *out)
{
    at_shape full = at_shape_of(p->B, p->H, p->T, p->N);
    const at_shape s = x->shape;
    AT_REQUIRE(t, s.ndim != 3 || p->scores.ndim != 4,
               "sdpa: %s is %s beside %d heads, which is ambiguous: make it [B,1,T,N] or [1,H,T,N]",
               name, at_text(x), p->H);
    bool three = s.ndim == 3 && p->scores.ndim == 3;
    AT_REQUIRE(t, at_broadcasts_to(s, three ? p->scores : full),
               "sdpa: %s is %s, which can't be broadcast to the scores %s", name, at_text(x),
               at_shape_text(p->scores));

    ptrdiff_t stride[AT_MAX_DIMS];
    at_broadcast_strides(s, three ? p->scores : full, stride);
    /* [B,T,N] has one head, [H,T,N] one batch: the index that is always 0 may have any stride */
    *out = three ? (at_sdpa_cells){stride[0], stride[0], stride[1], stride[2]}
                 : (at_sdpa_cells){stride[0], stride[1], stride[2], stride[3]};
    return true;
}

static bool sdpa_key_len(at_tape *t, const at_tensor *key_len, const at_sdpa_plan *p)
{
    AT_REQUIRE(t, at_count(key_len->shape) == p->B && key_len->shape.ndim <= 1,
               "sdpa: key_len is %s, but must be [%d], one length for each batch", at_text(key_len),
               p->B);
    for (int b = 0; b < p->B; b++) {
        int n = ((const int32_t *)key_len->data)[b];
        AT_REQUIRE(t, n >= 0 && n <= p->N, "sdpa: key_len[%d] is %d, but there are %d keys", b, n,
                   p->N);
    }
    return true;
}

static bool sdpa_segments_of(at_tape *t, const char *name, const at_tensor *x,
                             const at_sdpa_plan *p, int rows, const char *which)
{
    if (!at_check_input(t, "sdpa", name, x, ATTIC_I32)) return false;
    const int n = x->shape.ndim, batches = n == 1 ? 1 : x->shape.dim[0];
    const bool fits = (n == 1 || n == 2) && batches == p->B && x->shape.dim[n - 1] == rows;
    AT_REQUIRE(t, fits, "sdpa: %s is %s, but must be [%d,%d], an id for each %s of each batch",
               name, at_text(x), p->B, rows, which);
    return true;
}

/* Rows attend to keys of their own document. */
static bool sdpa_segments(at_tape *t, const at_sdpa_args *a, const at_sdpa_plan *p)
{
    AT_REQUIRE(t, a->segments || !a->key_segments, "sdpa: key_segments are given without segments");
    if (!a->segments) return true;
    AT_REQUIRE(t, a->key_segments || p->T == p->N,
               "sdpa: segments are given for %d queries, but there are %d keys: give key_segments, "
               "too",
               p->T, p->N);
    return sdpa_segments_of(t, "segments", a->segments, p, p->T, "query") &&
           (!a->key_segments ||
            sdpa_segments_of(t, "key_segments", a->key_segments, p, p->N, "key"));
}

/* What is constant in a row of scores changes no weight, but a sink and lse see it: so a bias that
 * leaves it out can't stand beside them. */
static bool sdpa_bias(at_tape *t, const at_sdpa_args *a, at_sdpa_plan *p)
{
    if (!a->bias) return true;
    if (!at_check_input(t, "sdpa", "bias", a->bias, ATTIC_REAL) ||
        !sdpa_broadcast(t, "bias", a->bias, p, &p->bias))
        return false;
    const at_node *made = a->bias->node;
    const bool of_row = made && strcmp(made->op->name, "alibi_row_bias") == 0;
    AT_REQUIRE(t, !of_row || !(a->sink || a->lse || a->lse_tangent),
               "sdpa: bias %s is one of at_alibi_row_bias, which leaves out what is constant in a "
               "row; %s needs at_alibi_bias",
               at_text(a->bias), a->sink ? "a sink" : "lse");
    return true;
}

static bool sdpa_masks(at_tape *t, const at_sdpa_args *a, at_sdpa_plan *p)
{
    if (!sdpa_segments(t, a, p)) return false;
    if (!sdpa_bias(t, a, p)) return false;
    if (a->keep && !(at_check_input(t, "sdpa", "keep", a->keep, ATTIC_BOOL) &&
                     sdpa_broadcast(t, "keep", a->keep, p, &p->keep)))
        return false;
    return !a->key_len || (at_check_input(t, "sdpa", "key_len", a->key_len, ATTIC_I32) &&
                           sdpa_key_len(t, a->key_len, p));
}

/* Of two inputs that are one tensor one is collected apart, if that is Q, K, V or a tangent of
 * these.  Never a bias or its tangent, as each cell of both is of one task; nor a learned scale or
 * a sink, which get their gradients at the end, when all others are there. */
unsigned at_sdpa_several_roles(at_inputs in)
{
    unsigned own = 0;
    for (int i = 0; i < in.n; i++) {
        const at_tensor *x = in.in[i];
        const bool apart = i <= AT_SDPA_V || (i >= AT_SDPA_Q_DOT && i <= AT_SDPA_V_DOT);
        if (!x || !x->wants_grad || !apart) continue;
        bool again = x == in.in[AT_SDPA_BIAS];
        again |= in.n > AT_SDPA_BIAS_DOT && x == in.in[AT_SDPA_BIAS_DOT];
        for (int k = 0; k < i; k++) again |= x == in.in[k];
        if (again) own |= 1u << i;
    }
    return own;
}

/* Does x want a gradient that will be asked for? */
static bool sdpa_wants(at_tape *t, const at_tensor *x)
{
    const bool no_grad = at_no_grad(t, true);
    at_no_grad(t, no_grad);
    return x && x->wants_grad && !no_grad;
}

/* K and V are both real, or both stored in 16 bits: read by the fused path, for inference. */
static bool sdpa_stored(at_tape *t, const at_tensor *Q, const at_tensor *K, const at_tensor *V,
                        const at_sdpa_args *a, at_sdpa_plan *p)
{
    if (!at_check_stored(t, "sdpa", "K", K) || !at_check_stored(t, "sdpa", "V", V)) return false;
    p->stored = K->dtype;
    AT_REQUIRE(t, K->dtype == V->dtype, "sdpa: K is %s but V is %s: they must be stored alike",
               at_dtype_text(K->dtype), at_dtype_text(V->dtype));
    if (!at_is_half(K->dtype)) return true;
    const char *stored = at_dtype_text(K->dtype);
    const at_tensor *wants = sdpa_wants(t, Q)         ? Q
                             : sdpa_wants(t, a->bias) ? a->bias
                             : sdpa_wants(t, a->sink) ? a->sink
                                                      : NULL;
    AT_REQUIRE(t, !wants, "sdpa: K and V are %s, which is for inference, but %s wants a gradient",
               stored,
               wants == Q         ? "Q"
               : wants == a->bias ? "bias"
                                  : "sink");
    AT_REQUIRE(t, p->path == ATTIC_FUSED && !a->scores,
               "sdpa: K and V are %s, which only the fused path reads, without raw scores", stored);
    return true;
}

/* What only one of at_sdpa and at_sdpa_jvp has, or neither. */
static bool sdpa_tangents(at_tape *t, const at_sdpa_args *a, const at_sdpa_plan *p)
{
    AT_REQUIRE(t, !a->positions && !a->key_positions,
               "sdpa: %s is an option of the attention layer; here at_rope rotates Q and K before",
               a->positions ? "positions" : "key_positions");
    const char *tangent = a->bias_tangent      ? "bias_tangent"
                          : a->sink_tangent    ? "sink_tangent"
                          : a->weights_tangent ? "weights_tangent"
                          : a->lse_tangent     ? "lse_tangent"
                                               : NULL;
    AT_REQUIRE(t, p->tangents || !tangent,
               "sdpa: %s is an option of at_sdpa_jvp, which computes tangents", tangent);
    if (!p->tangents) return true;
    AT_REQUIRE(t, p->path == ATTIC_FUSED,
               "sdpa_jvp: there is the fused path only; at_jvp differentiates the others");
    AT_REQUIRE(t, !a->head_scale,
               "sdpa_jvp: head_scale can't be given: multiply Q by it, and Qdot");
    AT_REQUIRE(t, !a->scores && !a->probs, "sdpa_jvp: %s can't be asked for, weights can",
               a->scores ? "scores" : "probs");
    return true;
}

at_inputs at_sdpa_inputs(at_tensor *in[AT_SDPA_INPUTS], at_tensor *Q, at_tensor *K, at_tensor *V,
                         const at_sdpa_args *a, const at_sdpa_plan *p)
{
    at_tensor *const from[AT_SDPA_INPUTS] = {[AT_SDPA_Q] = Q,
                                             [AT_SDPA_K] = K,
                                             [AT_SDPA_V] = V,
                                             [AT_SDPA_BIAS] = a->bias,
                                             [AT_SDPA_KEEP] = a->keep,
                                             [AT_SDPA_LEN] = a->key_len,
                                             [AT_SDPA_SCALE] = a->head_scale,
                                             [AT_SDPA_SINK] = a->sink,
                                             [AT_SDPA_SEGMENTS] = a->segments,
                                             [AT_SDPA_KEY_SEGMENTS] =
                                                 a->key_segments ? a->key_segments : a->segments,
                                             [AT_SDPA_BIAS_DOT] = a->bias_tangent,
                                             [AT_SDPA_SINK_DOT] = a->sink_tangent};
    memcpy(in, from, sizeof from);
    return (at_inputs){p->tangents ? AT_SDPA_INPUTS : AT_SDPA_Q_DOT, in};
}

bool at_sdpa_plan_of(at_tape *t, const at_tensor *Q, const at_tensor *K, const at_tensor *V,
                     const at_sdpa_args *a, bool tangents, at_sdpa_plan *p)
{
    *p = (at_sdpa_plan){.tangents = tangents, .path = sdpa_path(t, a, tangents)};
    return at_sdpa_is_path(t, p->path) && sdpa_tangents(t, a, p) &&
           at_check_input(t, "sdpa", "Q", Q, ATTIC_REAL) && sdpa_stored(t, Q, K, V, a, p) &&
           sdpa_heads(t, a) && sdpa_shapes(t, Q, K, V, a, p) && sdpa_results(t, Q, K, a, p) &&
           sdpa_numbers(t, a, p) &&
           sdpa_per_head(t, "head_scale", a->head_scale, p, &p->scaled, &p->next_head) &&
           sdpa_per_head(t, "sink", a->sink, p, &p->sinks, &p->next_sink) && sdpa_band(t, a, p) &&
           sdpa_masks(t, a, p);
}
