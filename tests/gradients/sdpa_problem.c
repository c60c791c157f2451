/* sdpa_problem.c -- random attention problems; see sdpa_problem.h. */
#include "gradients/sdpa_problem.h"

#include <math.h>

/* ------------------------------------------------------------------ dice ----------------------- */

typedef struct {
    at_stream stream;
    uint64_t next;
} sdpa_dice;

static int throw_dice(sdpa_dice *d, int sides) /* 0 .. sides-1 */
{
    return (int)(at_random_u32(d->stream, d->next++) % (uint32_t)sides);
}

static double throw_between(sdpa_dice *d, double low, double high)
{
    return low + (high - low) * throw_dice(d, 1 << 20) / (1 << 20);
}

static bool throw_coin(sdpa_dice *d, int sides)
{
    return throw_dice(d, sides) == 0;
}

/* ------------------------------------------------------------------ sizes ---------------------- */

/* Rows or keys, about as many as fill a few tiles. */
static int throw_length(sdpa_dice *d, sdpa_size size)
{
    if (size == SDPA_LARGE) return 100 + throw_dice(d, 500);
    if (size == SDPA_TINY) return 1 + throw_dice(d, 4);
    if (size == SDPA_SMALL) return 1 + throw_dice(d, 6);
    return throw_coin(d, 2) ? 65 + throw_dice(d, 236)
                            : 64 * (1 + throw_dice(d, 5)) - 1 + throw_dice(d, 3);
}

/* Where one size is 0, others are too in a third of the problems: so that these meet as well. */
static void draw_zeros(sdpa_dice *d, sdpa_problem *p)
{
    int *size[] = {&p->B, &p->T, &p->S, &p->D, &p->Dv};
    for (int i = 0; i < 5; i++)
        if (throw_coin(d, 3)) *size[i] = 0;
}

static void draw_sizes(sdpa_dice *d, sdpa_problem *p)
{
    bool tiles = p->size >= SDPA_TILES, tiny = p->size == SDPA_TINY;
    int many = tiles ? throw_coin(d, 3) ? 2 : 1 : tiny ? 2 : 3;
    p->B = 1 + throw_dice(d, many);
    p->G = 1 + throw_dice(d, many);
    p->H = p->G * (throw_coin(d, 2) ? 1 + throw_dice(d, tiles || tiny ? 2 : 3) : 1);
    p->T = throw_length(d, p->size), p->S = throw_length(d, p->size);
    if (throw_coin(d, 3)) p->S = p->T;
    p->D = 1 + throw_dice(d, tiny ? 3 : 5), p->Dv = 1 + throw_dice(d, tiny ? 3 : 4);
    if (!tiles && throw_coin(d, 8)) draw_zeros(d, p);

    p->same = throw_coin(d, 2) ? (sdpa_same)(1 + throw_dice(d, 3)) : SDPA_ALL_DIFFER;
    if (p->same >= SDPA_Q_IS_K) p->S = p->T, p->H = p->G;
    if (p->same == SDPA_K_IS_V || p->same == SDPA_ALL_SAME) p->Dv = p->D;
}

static void draw_layout(sdpa_dice *d, sdpa_problem *p)
{
    int layout = throw_dice(d, 6);
    if (layout == 0 || layout == 2) p->B = 1;
    if (layout < 2) p->H = p->G = 1;
    int B = p->B, H = p->H, G = p->G, T = p->T, S = p->S, D = p->D, Dv = p->Dv;
    switch (layout) {
    case 0: p->Q = at_shape_of(T, D), p->K = at_shape_of(S, D), p->V = at_shape_of(S, Dv); break;
    case 1:
        p->Q = at_shape_of(B, T, D), p->K = at_shape_of(B, S, D), p->V = at_shape_of(B, S, Dv);
        break;
    case 2:
        p->Q = at_shape_of(T, H * D), p->K = at_shape_of(S, G * D), p->V = at_shape_of(S, G * Dv);
        break;
    case 3:
        p->Q = at_shape_of(B, T, H * D), p->K = at_shape_of(B, S, G * D);
        p->V = at_shape_of(B, S, G * Dv);
        break;
    default:
        p->Q = at_shape_of(B, H, T, D), p->K = at_shape_of(B, G, S, D);
        p->V = at_shape_of(B, G, S, Dv);
    }
    if (layout == 2 || layout == 3) p->args.heads = H;
    if (throw_coin(d, 2) || (p->args.heads && H != G)) p->args.kv_heads = G;
}

/* ------------------------------------------------------------------ options -------------------- */

/* The shape of the scores. */
static at_shape cells_of(const sdpa_problem *p)
{
    if (p->Q.ndim == 4 || (p->args.heads && p->Q.ndim == 3))
        return at_shape_of(p->B, p->H, p->T, p->S);
    if (p->Q.ndim == 3) return at_shape_of(p->B, p->T, p->S);
    return p->args.heads ? at_shape_of(p->H, p->T, p->S) : at_shape_of(p->T, p->S);
}

/* That shape or, every other time, a part of it: axes left out in front, axes of 1. */
static at_shape draw_broadcast(sdpa_dice *d, const sdpa_problem *p)
{
    at_shape full = cells_of(p);
    if (throw_coin(d, 2)) return full;
    int drop = throw_coin(d, 2) ? throw_dice(d, full.ndim + 1) : 0;
    if (full.ndim == 4 && drop == 1) drop = 0; /* three axes beside heads are ambiguous */
    at_shape s = {full.ndim - drop, {0}};
    for (int i = 0; i < s.ndim; i++) s.dim[i] = throw_coin(d, 3) ? 1 : full.dim[i + drop];
    return s;
}

/* 0: off, else 1 to S + 1 keys, often 1 */
static int draw_window(sdpa_dice *d, const sdpa_problem *p)
{
    if (!throw_coin(d, 3)) return 0;
    return throw_coin(d, 2) ? 1 : 1 + throw_dice(d, p->S + 2);
}

static void draw_diagonal(sdpa_dice *d, sdpa_problem *p)
{
    at_sdpa_args *a = &p->args;
    a->causal = throw_coin(d, 2);
    a->window_left = draw_window(d, p);
    a->window_right = draw_window(d, p);
    a->align = (at_align)throw_dice(d, 4);
    bool diagonal = a->causal || a->window_left || a->window_right;
    if (a->align == ATTIC_ALIGN_EQUAL && p->T != p->S && diagonal)
        a->align = ATTIC_ALIGN_BOTTOM_RIGHT;
    bool shifts = a->align == ATTIC_ALIGN_OFFSET && !throw_coin(d, 4);
    if (shifts) a->offset = throw_dice(d, 2 * p->S + 5) - p->S - 2;
}

static void draw_masks(sdpa_dice *d, sdpa_problem *p)
{
    p->has_bias = throw_coin(d, 2);
    if (p->has_bias) p->bias = draw_broadcast(d, p);
    p->infinities = p->has_bias && throw_coin(d, 3);
    p->has_keep = throw_coin(d, 3);
    if (p->has_keep) p->keep = draw_broadcast(d, p);
    p->has_key_len = throw_coin(d, 4);
    p->segments = throw_coin(d, 2) ? (sdpa_segments)(1 + throw_dice(d, 3)) : SDPA_NO_IDS;
    p->key_segments = p->segments && (p->T != p->S || throw_coin(d, 3))
                          ? (sdpa_segments)(1 + throw_dice(d, 3))
                          : SDPA_NO_IDS;
    p->block = p->size >= SDPA_TILES && throw_coin(d, 2) ? 16 + throw_dice(d, 100) : 0;
}

static void draw_per_head(sdpa_dice *d, sdpa_problem *p)
{
    p->has_scale = throw_coin(d, 2);
    p->head_scale = throw_coin(d, 2) ? at_shape_of(p->H) : at_shape_of();
    p->has_sink = throw_coin(d, 3);
    p->sink = throw_coin(d, 2) ? at_shape_of(p->H) : at_shape_of();
}

static void draw_numbers_of(sdpa_dice *d, at_sdpa_args *a)
{
    if (throw_coin(d, 3)) a->scale = throw_between(d, -2, 2);
    if (throw_coin(d, 4)) a->temperature = throw_between(d, 0.3, 3);
    if (throw_coin(d, 3)) a->softcap = throw_between(d, 0.5, 3);
    if (throw_coin(d, 3)) a->dropout = throw_between(d, 0.1, 0.7);
}

/* Somebody wants the gradient of something. */
static void draw_constants(sdpa_dice *d, sdpa_problem *p)
{
    bool *constant = p->constant;
    for (int i = 0; i < SDPA_REALS; i++) constant[i] = throw_coin(d, 5);
    if (p->same == SDPA_K_IS_V) constant[2] = constant[1];
    if (p->same == SDPA_Q_IS_K) constant[1] = constant[0];
    if (p->same == SDPA_ALL_SAME) constant[1] = constant[2] = constant[0];
    bool V_too = sdpa_sees_O(p) && !constant[2]; /* nothing else depends on V */
    bool wanted = !constant[0] || !constant[1] || V_too;
    for (int i = SDPA_BIAS; i < SDPA_REALS; i++) wanted |= sdpa_has_input(p, i) && !constant[i];
    for (int i = 0; i < 3 && !wanted; i++) constant[i] = false;
}

static sdpa_weights draw_weights(sdpa_dice *d)
{
    return throw_coin(d, 2) ? (sdpa_weights)(1 + throw_dice(d, 3)) : SDPA_NO_WEIGHTS;
}

bool sdpa_sees_O(const sdpa_problem *p)
{
    return p->weights != SDPA_ALONE && p->probs != SDPA_ALONE && p->lse != SDPA_ALONE;
}

sdpa_problem sdpa_draw(int seed, sdpa_size size)
{
    sdpa_dice d = {{(uint64_t)seed, 1000 + (uint64_t)size}, 0};
    sdpa_problem p = {.seed = seed, .size = size};
    draw_sizes(&d, &p);
    draw_layout(&d, &p);
    draw_diagonal(&d, &p);
    draw_masks(&d, &p);
    draw_numbers_of(&d, &p.args);
    draw_per_head(&d, &p);
    p.weights = draw_weights(&d), p.probs = draw_weights(&d), p.lse = draw_weights(&d);
    p.scores = throw_coin(&d, 4);
    draw_constants(&d, &p);
    return p;
}

/* ------------------------------------------------------------------ inputs --------------------- */

const char *sdpa_input_name(int i)
{
    static const char *const name[SDPA_REALS] = {"Q", "K", "V", "bias", "head_scale", "sink"};
    return name[i];
}

at_shape sdpa_input_shape(const sdpa_problem *p, int i)
{
    const at_shape shape[SDPA_REALS] = {p->Q, p->K, p->V, p->bias, p->head_scale, p->sink};
    return shape[i];
}

bool sdpa_has_input(const sdpa_problem *p, int i)
{
    const bool K = p->same < SDPA_Q_IS_K, V = p->same == SDPA_ALL_DIFFER || p->same == SDPA_Q_IS_K;
    const bool has[SDPA_REALS] = {true, K, V, p->has_bias, p->has_scale, p->has_sink};
    return has[i];
}

void sdpa_share_inputs(const sdpa_problem *p, at_tensor **in)
{
    if (p->same >= SDPA_Q_IS_K) in[SDPA_K] = in[SDPA_Q];
    if (p->same == SDPA_K_IS_V || p->same == SDPA_ALL_SAME) in[SDPA_V] = in[SDPA_K];
}

void sdpa_give_inputs(at_sdpa_args *a, at_tensor *const *in)
{
    a->bias = in[SDPA_BIAS], a->head_scale = in[SDPA_SCALE], a->sink = in[SDPA_SINK];
}

void sdpa_for_tangents(sdpa_problem *p)
{
    p->has_scale = p->scores = false;
}

/* ------------------------------------------------------------------ masks ---------------------- */

/* A random number for element i of a tensor of this shape; one for each block if there are blocks. */
static uint32_t mask_dice(const sdpa_problem *p, at_shape s, ptrdiff_t i, uint64_t which)
{
    at_stream dice = {(uint64_t)p->seed, which};
    if (!p->block || s.ndim < 2) return at_random_u32(dice, (uint64_t)i);
    int keys = s.dim[s.ndim - 1], rows = s.dim[s.ndim - 2];
    ptrdiff_t j = i % keys / p->block, row = i / keys % rows / p->block, head = i / keys / rows;
    return at_random_u32(dice, (uint64_t)((head * 1000 + row) * 1000 + j));
}

bool sdpa_keep_at(const sdpa_problem *p, ptrdiff_t i)
{
    uint32_t dice = mask_dice(p, p->keep, i, 3000);
    return p->block ? dice % 2 : dice % 4 != 0;
}

bool sdpa_infinite_at(const sdpa_problem *p, ptrdiff_t i)
{
    return p->infinities && mask_dice(p, p->bias, i, 3002) % 4 == 0;
}

int sdpa_key_len_at(const sdpa_problem *p, int b)
{
    uint32_t dice = at_random_u32((at_stream){(uint64_t)p->seed, 3001}, (uint64_t)b);
    return (int)(dice % (uint32_t)(p->S + 1));
}

/* Documents of some rows each, every third of which is padding; where ids return, they do in each fourth. */
int sdpa_id_at(const sdpa_problem *p, bool key, int b, int i)
{
    const sdpa_segments how = key && p->key_segments ? p->key_segments : p->segments;
    const int length = p->size >= SDPA_TILES ? 70 : how == SDPA_RETURNS ? 1 : 2;
    const int run = (i + p->seed % length + b) / length;
    if (how == SDPA_ONE_ID) return 3;
    if (how == SDPA_RETURNS && run % 4 == 3) return 3 * (run - 2);
    return run % 3 == 2 ? -1 : 3 * run;
}

at_tensor *sdpa_ids(at_tape *t, const sdpa_problem *p, bool keys)
{
    const int n = keys ? p->S : p->T;
    if (!p->segments || (keys && !p->key_segments)) return NULL;
    const bool one = p->Q.ndim == 2 && p->seed % 2;
    at_tensor *ids = at_ints(t, one ? at_shape_of(n) : at_shape_of(p->B, n), NULL);
    for (int k = 0; ids && k < p->B * n; k++)
        at_store(ATTIC_I32, ids->data, k, sdpa_id_at(p, keys, k / n, k % n));
    return ids;
}

ptrdiff_t sdpa_cell(const sdpa_problem *p, at_shape s, int b, int h, int i, int j)
{
    bool no_heads = p->Q.ndim == 3 && !p->args.heads; /* three axes are then [B,T,N] */
    int index[] = {b, h, i, j};
    ptrdiff_t at = 0;
    for (int d = 0; d < s.ndim; d++) {
        int axis = s.ndim == 3 && d == 0 && no_heads ? 0 : 4 - s.ndim + d;
        at = at * s.dim[d] + (s.dim[d] == 1 ? 0 : index[axis]);
    }
    return at;
}

bool sdpa_keeps(const sdpa_problem *p, int b, int h, int i, int j)
{
    const at_sdpa_args *a = &p->args;
    int offset = a->align == ATTIC_ALIGN_BOTTOM_RIGHT ? p->S - p->T
                 : a->align == ATTIC_ALIGN_OFFSET     ? a->offset
                                                      : 0;
    if (a->causal && !(j <= i + offset)) return false;
    if (a->window_left && !(i + offset - a->window_left < j)) return false;
    if (a->window_right && !(j < i + offset + a->window_right)) return false;
    if (p->has_key_len && !(j < sdpa_key_len_at(p, b))) return false;
    if (p->segments && sdpa_id_at(p, false, b, i) < 0) return false;
    if (p->segments && sdpa_id_at(p, false, b, i) != sdpa_id_at(p, true, b, j)) return false;
    if (p->has_keep && !sdpa_keep_at(p, sdpa_cell(p, p->keep, b, h, i, j))) return false;
    return !p->infinities || !sdpa_infinite_at(p, sdpa_cell(p, p->bias, b, h, i, j));
}

ptrdiff_t sdpa_row(const sdpa_problem *p, at_shape s, int heads, int b, int h, int i)
{
    ptrdiff_t rows = s.dim[s.ndim - 2], last = at_last(s);
    if (p->args.heads) return (b * rows + i) * last + h * (last / heads);
    return (((ptrdiff_t)b * heads + h) * rows + i) * last;
}

/* Of a row with `kept` keys, of which `live` were not dropped.  One weight alone stays what it is, and what
 * is added to all scores alike changes none, unless there is a sink; but both change lse. */
static sdpa_effect row_effect(const sdpa_problem *p, int kept, int live)
{
    bool O = live && sdpa_sees_O(p) && p->Dv > 0, A = live && p->weights >= SDPA_BESIDE_O;
    bool P = kept && p->probs >= SDPA_BESIDE_O, scale = p->has_scale && !p->constant[SDPA_SCALE];
    bool L = p->lse >= SDPA_BESIDE_O, scores = p->D > 0 && (!p->constant[0] || !p->constant[1]);
    bool sink = p->has_sink && !p->constant[SDPA_SINK];
    bool bias = p->has_bias && !p->constant[SDPA_BIAS];
    scores |= p->D > 0 && scale;
    if (!(p->has_sink || L)) bias = bias && p->bias.ndim && at_last(p->bias) > 1;
    if (!O && live == 0 && !P && !(L && (kept || sink))) return SDPA_ZERO;
    bool moves = (O && !p->constant[2]) || (L && (sink || (kept && (scores || bias))));
    if (kept && (O || A || P)) moves |= sink || ((kept > 1 || p->has_sink) && (scores || bias));
    return moves ? SDPA_MOVES : SDPA_ROUNDING;
}

sdpa_effect sdpa_effect_of(const sdpa_problem *p, at_stream drops)
{
    const double below = p->args.dropout * 0x1p32;
    sdpa_effect most = SDPA_ZERO;
    uint64_t cell = 0;
    for (int b = 0; b < p->B; b++)
        for (int h = 0; h < p->H; h++)
            for (int i = 0; i < p->T; i++) {
                int kept = 0, live = 0;
                for (int j = 0; j < p->S; j++, cell++)
                    if (sdpa_keeps(p, b, h, i, j))
                        kept++, live += at_random_u32(drops, cell) >= below;
                sdpa_effect effect = row_effect(p, kept, live);
                if (effect > most) most = effect;
            }
    return most;
}

/* ------------------------------------------------------------------ aspects -------------------- */

typedef enum {
    BATCHES,
    HEADS,
    GROUP,
    ROWS,
    KEYS,
    ROWS_TO_KEYS,
    SIZE_D,
    SIZE_DV,
    D_TO_DV,
    LAYOUT = SDPA_OPTIONS,
    KV_HEADS,
    SAME,
    SCALE,
    HEAD_SCALE,
    SINK,
    TEMPERATURE,
    SOFTCAP,
    BIAS,
    INFINITIES,
    KEEP,
    CAUSAL,
    ALIGN,
    OFFSET,
    WINDOW_LEFT,
    WINDOW_RIGHT,
    KEY_LEN,
    SEGMENTS,
    KEY_SEGMENTS,
    DROPOUT,
    WEIGHTS,
    TAP_SCORES,
    TAP_PROBS,
    TAP_LSE,
    GRADIENTS,
    DBIAS,
    DSCALE,
    DSINK
} sdpa_aspect_number;

static const struct {
    const char *name, *value[SDPA_VALUES];
} aspect[SDPA_ASPECTS] = {
    [BATCHES] = {"B", {"0", "1", "2 or more"}},
    [HEADS] = {"H", {"1", "2 or more"}},
    [GROUP] = {"H / G", {"1", "2 or more"}},
    [ROWS] = {"T", {"0", "1", "2 or more"}},
    [KEYS] = {"S", {"0", "1", "2 or more"}},
    [ROWS_TO_KEYS] = {"T and S", {"T < S", "T = S", "T > S"}},
    [SIZE_D] = {"D", {"0", "1", "2 or more"}},
    [SIZE_DV] = {"Dv", {"0", "1", "2 or more"}},
    [D_TO_DV] = {"D and Dv", {"D < Dv", "D = Dv", "D > Dv"}},
    [LAYOUT] = {"Q", {"[T,D]", "[B,T,D]", "[B,H,T,D]", "[T,H*D]", "[B,T,H*D]"}},
    [KV_HEADS] = {"kv_heads", {"0", "given"}},
    [SAME] = {"tensors", {"all differ", "K = V", "Q = K", "Q = K = V"}},
    [SCALE] = {"scale", {"0", "positive", "negative"}},
    [HEAD_SCALE] = {"head_scale", {"none", "[]", "[H]"}},
    [SINK] = {"sink", {"none", "[]", "[H]"}},
    [TEMPERATURE] = {"temperature", {"0", "given"}},
    [SOFTCAP] = {"softcap", {"0", "given"}},
    [BIAS] = {"bias", {"none", "of each cell", "broadcast"}},
    [INFINITIES] = {"-INFINITY in bias", {"no", "yes"}},
    [KEEP] = {"keep", {"none", "of each cell", "broadcast"}},
    [CAUSAL] = {"causal", {"false", "true"}},
    [ALIGN] = {"align", {"EQUAL", "TOP_LEFT", "BOTTOM_RIGHT", "OFFSET"}},
    [OFFSET] = {"offset", {"negative", "0", "positive"}},
    [WINDOW_LEFT] = {"window_left", {"0", "1", "2 or more"}},
    [WINDOW_RIGHT] = {"window_right", {"0", "1", "2 or more"}},
    [KEY_LEN] = {"key_len", {"none", "given"}},
    [SEGMENTS] = {"segments", {"none", "one id", "runs", "ids that return"}},
    [KEY_SEGMENTS] = {"key_segments", {"none", "one id", "runs", "ids that return"}},
    [DROPOUT] = {"dropout", {"0", "given"}},
    [WEIGHTS] = {"weights", {"no", "unused", "used beside O", "used alone"}},
    [TAP_SCORES] = {"scores", {"no", "asked for"}},
    [TAP_PROBS] = {"probs", {"no", "unused", "used beside O", "used alone"}},
    [TAP_LSE] = {"lse", {"no", "unused", "used beside O", "used alone"}},
    [GRADIENTS] = {"gradients",
                   {"of Q, K, V", "not of Q", "not of K", "not of V", "of one or none"}},
    [DBIAS] = {"gradient of bias", {"unwanted", "wanted"}},
    [DSCALE] = {"gradient of head_scale", {"unwanted", "wanted"}},
    [DSINK] = {"gradient of sink", {"unwanted", "wanted"}},
};

static int size_value(int n)
{
    return n < 2 ? n : 2;
}

static int order_value(double x, double y)
{
    return x < y ? 0 : x > y ? 2 : 1;
}

static int layout_value(const sdpa_problem *p)
{
    return p->args.heads ? p->Q.ndim + 1 : p->Q.ndim - 2;
}

static int mask_value(const sdpa_problem *p, bool has, at_shape s)
{
    return !has ? 0 : at_same_shape(s, cells_of(p)) ? 1 : 2;
}

static int gradients_value(const bool *constant)
{
    int n = constant[0] + constant[1] + constant[2];
    if (n > 1) return 4;
    return constant[0] ? 1 : constant[1] ? 2 : constant[2] ? 3 : 0;
}

void sdpa_aspects(const sdpa_problem *p, int value[SDPA_ASPECTS])
{
    const at_sdpa_args *a = &p->args;
    value[BATCHES] = size_value(p->B);
    value[HEADS] = p->H > 1;
    value[GROUP] = p->H > p->G;
    value[ROWS] = size_value(p->T);
    value[KEYS] = size_value(p->S);
    value[ROWS_TO_KEYS] = order_value(p->T, p->S);
    value[SIZE_D] = size_value(p->D);
    value[SIZE_DV] = size_value(p->Dv);
    value[D_TO_DV] = order_value(p->D, p->Dv);
    value[LAYOUT] = layout_value(p);
    value[KV_HEADS] = a->kv_heads > 0;
    value[SAME] = p->same;
    value[SCALE] = a->scale == 0 ? 0 : a->scale > 0 ? 1 : 2;
    value[HEAD_SCALE] = !p->has_scale ? 0 : 1 + p->head_scale.ndim;
    value[SINK] = !p->has_sink ? 0 : 1 + p->sink.ndim;
    value[TEMPERATURE] = a->temperature > 0;
    value[SOFTCAP] = a->softcap > 0;
    value[BIAS] = mask_value(p, p->has_bias, p->bias);
    value[INFINITIES] = p->infinities;
    value[KEEP] = mask_value(p, p->has_keep, p->keep);
    value[CAUSAL] = a->causal;
    value[ALIGN] = (int)a->align;
    value[OFFSET] = order_value(a->offset, 0);
    value[WINDOW_LEFT] = size_value(a->window_left);
    value[WINDOW_RIGHT] = size_value(a->window_right);
    value[KEY_LEN] = p->has_key_len;
    value[SEGMENTS] = (int)p->segments;
    value[KEY_SEGMENTS] = (int)p->key_segments;
    value[DROPOUT] = a->dropout > 0;
    value[WEIGHTS] = (int)p->weights;
    value[TAP_SCORES] = p->scores;
    value[TAP_PROBS] = (int)p->probs;
    value[TAP_LSE] = (int)p->lse;
    value[GRADIENTS] = gradients_value(p->constant);
    value[DBIAS] = p->has_bias && !p->constant[SDPA_BIAS];
    value[DSCALE] = p->has_scale && !p->constant[SDPA_SCALE];
    value[DSINK] = p->has_sink && !p->constant[SDPA_SINK];
}

int sdpa_aspect_values(int a)
{
    int n = 0;
    while (n < SDPA_VALUES && aspect[a].value[n]) n++;
    return n;
}

/* What can't be: value v of a with any of the values w of b, given as bits. */
static const struct {
    sdpa_aspect_number a;
    int v;
    sdpa_aspect_number b;
    unsigned w;
} never[] = {
    /* without an axis for them there is one batch, one head */
    {LAYOUT, 0, BATCHES, 5},
    {LAYOUT, 3, BATCHES, 5},
    {LAYOUT, 0, HEADS, 2},
    {LAYOUT, 1, HEADS, 2},
    {LAYOUT, 0, GROUP, 2},
    {LAYOUT, 1, GROUP, 2},
    {HEADS, 0, GROUP, 2},
    /* nothing is less than 0 */
    {ROWS, 0, ROWS_TO_KEYS, 4},
    {KEYS, 0, ROWS_TO_KEYS, 1},
    {SIZE_D, 0, D_TO_DV, 4},
    {SIZE_DV, 0, D_TO_DV, 1},
    /* one and the same tensor has one shape, and one gradient or none */
    {SAME, 1, D_TO_DV, 5},
    {SAME, 2, ROWS_TO_KEYS, 5},
    {SAME, 3, ROWS_TO_KEYS, 5},
    {SAME, 3, D_TO_DV, 5},
    {SAME, 2, GROUP, 2},
    {SAME, 3, GROUP, 2},
    {SAME, 1, GRADIENTS, 12},
    {SAME, 2, GRADIENTS, 6},
    {SAME, 3, GRADIENTS, 14},
    /* without a bias there is nothing in it */
    {BIAS, 0, INFINITIES, 2},
    {BIAS, 0, DBIAS, 2},
    {HEAD_SCALE, 0, DSCALE, 2},
    {SINK, 0, DSINK, 2},
    /* without segments there are none of keys; and each of as many as there are queries has one */
    {SEGMENTS, 0, KEY_SEGMENTS, 14},
    /* an offset is said with that alignment alone */
    {ALIGN, 0, OFFSET, 5},
    {ALIGN, 1, OFFSET, 5},
    {ALIGN, 2, OFFSET, 5},
};

bool sdpa_can_meet(int a, int v, int b, int w)
{
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        int x = (int)never[i].a, y = (int)never[i].b;
        if (x == a && never[i].v == v && y == b && never[i].w >> w & 1) return false;
        if (x == b && never[i].v == w && y == a && never[i].w >> v & 1) return false;
    }
    return true;
}

const char *sdpa_value_text(int a, int value)
{
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE, "%s: %s", aspect[a].name, aspect[a].value[value]);
    return text;
}

int sdpa_pairs_new(const sdpa_pairs *pairs, const sdpa_problem *p)
{
    int value[SDPA_ASPECTS], n = 0;
    sdpa_aspects(p, value);
    for (int a = 0; a < SDPA_ASPECTS; a++)
        for (int b = a + 1; b < SDPA_ASPECTS; b++) n += pairs->met[a][value[a]][b][value[b]] == 0;
    return n;
}

void sdpa_pairs_count(sdpa_pairs *pairs, const sdpa_problem *p)
{
    int value[SDPA_ASPECTS];
    sdpa_aspects(p, value);
    for (int a = 0; a < SDPA_ASPECTS; a++)
        for (int b = a + 1; b < SDPA_ASPECTS; b++) pairs->met[a][value[a]][b][value[b]]++;
}

sdpa_problem sdpa_draw_new(int *seed, sdpa_size size, sdpa_pairs *pairs)
{
    enum { CANDIDATES = 48 };
    sdpa_problem best = {0};
    for (int c = 0, most = -1; c < CANDIDATES; c++) {
        sdpa_problem p = sdpa_draw((*seed)++, size);
        int adds = sdpa_pairs_new(pairs, &p);
        if (adds > most) most = adds, best = p;
    }
    sdpa_pairs_count(pairs, &best);
    return best;
}

bool sdpa_same_options(const sdpa_problem *p, const sdpa_problem *q)
{
    int x[SDPA_ASPECTS], y[SDPA_ASPECTS];
    sdpa_aspects(p, x), sdpa_aspects(q, y);
    for (int a = SDPA_OPTIONS; a < SDPA_ASPECTS; a++)
        if (x[a] != y[a]) return false;
    return true;
}

/* Every option that is not at its first value, which is what {0} means. */
static void write_options(const sdpa_problem *p, char *text, size_t size)
{
    int value[SDPA_ASPECTS];
    size_t n = 0;
    sdpa_aspects(p, value);
    for (int a = SDPA_OPTIONS; a < SDPA_ASPECTS; a++)
        if (value[a] != (a == OFFSET) && n < size)
            n += (size_t)snprintf(text + n, size - n, ", %s", sdpa_value_text(a, value[a]));
}

const char *sdpa_problem_text(const sdpa_problem *p)
{
    static char text[2][1000]; /* longer than a text buffer */
    static int turn;
    char *to = text[turn = !turn];
    int n = snprintf(to, sizeof *text, "problem %d of size %d: Q %s K %s V %s", p->seed,
                     (int)p->size, at_shape_text(p->Q), at_shape_text(p->K), at_shape_text(p->V));
    if (p->has_bias)
        n += snprintf(to + n, sizeof *text - (size_t)n, " bias %s", at_shape_text(p->bias));
    if (p->has_keep)
        n += snprintf(to + n, sizeof *text - (size_t)n, " keep %s", at_shape_text(p->keep));
    write_options(p, to + n, sizeof *text - (size_t)n);
    return to;
}
