/* test_nan.c -- masked means not read: where a NaN gets to, and where it does not.
 *
 * A random problem runs clean, and then again and again with NaNs (or infinities) in one row of Q, K, V or dO, or
 * one element of the bias, of head_scale, of dW or of dY.  Which rows may notice follows from what they keep, and nothing else:
 *
 *     forward    a row notices a NaN that it keeps
 *     backward   a key notices the rows that keep it, and these notice what forward or dO gave them
 *
 * What may not notice must have the very bits of the clean run; what notices must show it.  Of the composed
 * path, which multiplies by 0 what is masked and does not read what it dropped, the latter is expected
 * alone, of outputs without dropout. */
#include "attention/sdpa_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensors.h"

/* ------------------------------------------------------------------ who may notice ------------- */

enum {
    POISON_Q,
    POISON_K,
    POISON_V,
    POISON_BIAS,
    POISON_SCALE,
    POISON_SINK,
    POISON_DO,
    POISON_DL,
    POISON_DW,
    POISON_DY,
    POISONS
};
static const char *const poison_name[POISONS] = {"Q",    "K",  "V",  "bias", "head_scale",
                                                 "sink", "dO", "dL", "dW",   "dY"};

typedef struct {
    sdpa_problem p;
    at_sdpa_path path;
    bool *kept;        /* [B,H,T,N] */
    bool *hit;         /* [B,H,T] rows that may notice */
    int kind, b, h, i; /* row i of head h; for K and V, key i of key/value head h */
    ptrdiff_t at;      /* the element, for bias, head_scale, dW and dY */
    sdpa_run clean, bad;
} poisoning;

static ptrdiff_t cell_of(const sdpa_problem *p, int b, int h, int i, int j)
{
    return (((ptrdiff_t)b * p->H + h) * p->T + i) * p->S + j;
}

static bool keeps(const poisoning *x, int b, int h, int i, int j)
{
    return x->kept[cell_of(&x->p, b, h, i, j)];
}

static void find_kept(poisoning *x)
{
    const sdpa_problem *p = &x->p;
    bool *kept = x->kept = malloc((size_t)p->B * (size_t)p->H * (size_t)p->T * (size_t)p->S + 1);
    x->hit = malloc((size_t)p->B * (size_t)p->H * (size_t)p->T + 1);
    for (int b = 0; b < p->B; b++)
        for (int h = 0; h < p->H; h++)
            for (int i = 0; i < p->T; i++)
                for (int j = 0; j < p->S; j++) *kept++ = sdpa_keeps(p, b, h, i, j);
}

/* Is the sink of this head poisoned? */
static bool is_of_sink(const poisoning *x, int h)
{
    return x->kind == POISON_SINK && (x->p.sink.ndim == 0 || h == x->at);
}

static bool row_is_hit(const poisoning *x, int b, int h, int i)
{
    const sdpa_problem *p = &x->p;
    int g = h / (p->H / p->G);
    bool mine = b == x->b && h == x->h && i == x->i;
    for (int j = 0; j < p->S; j++) {
        if (!keeps(x, b, h, i, j)) continue;
        const bool of_row = x->kind == POISON_Q || x->kind == POISON_DO || x->kind == POISON_DL;
        if (of_row && mine) return true;
        if (x->kind >= POISON_DW && cell_of(p, b, h, i, j) == x->at) return true;
        if (x->kind == POISON_SCALE && (p->head_scale.ndim == 0 || h == x->at)) return true;
        if (is_of_sink(x, h)) return true;
        if (x->kind == POISON_BIAS && sdpa_cell(p, p->bias, b, h, i, j) == x->at) return true;
        if ((x->kind == POISON_K || x->kind == POISON_V) && b == x->b && g == x->h && j == x->i)
            return true;
    }
    return false;
}

static void find_hits(poisoning *x)
{
    const sdpa_problem *p = &x->p;
    bool *hit = x->hit;
    for (int b = 0; b < p->B; b++)
        for (int h = 0; h < p->H; h++)
            for (int i = 0; i < p->T; i++) *hit++ = row_is_hit(x, b, h, i);
}

static bool hit_at(const poisoning *x, int b, int h, int i)
{
    return x->hit[((ptrdiff_t)b * x->p.H + h) * x->p.T + i];
}

/* Does any row that may notice keep this key? */
static bool key_is_hit(const poisoning *x, int b, int g, int j)
{
    int group = x->p.H / x->p.G;
    for (int h = g * group; h < (g + 1) * group; h++)
        for (int i = 0; i < x->p.T; i++)
            if (hit_at(x, b, h, i) && keeps(x, b, h, i, j)) return true;
    return false;
}

/* ------------------------------------------------------------------ who did notice ------------- */

static void complain(const poisoning *x, const char *what, ptrdiff_t k, double a, double b)
{
    ck_abort_msg("%s, NaN in %s at (%d,%d,%d) or element %td: %s[%td] was %g and is %g",
                 sdpa_problem_text(&x->p), poison_name[x->kind], x->b, x->h, x->i, x->at, what, k,
                 a, b);
}

/* n numbers, or gradients, from `at` on must be the same as in the clean run or, if hit and `shows`, NaN. */
static void check_numbers(const poisoning *x, const char *what, const at_tensor *clean,
                          const at_tensor *bad, ptrdiff_t at, ptrdiff_t n, bool hit, bool shows)
{
    bool grad = *what == 'd', infinite = x->p.seed % 4 == 3; /* exp(-inf) is 0 */
    if (!clean || (grad && !clean->wants_grad)) return;
    if (hit ? !shows || infinite : x->path == ATTIC_COMPOSED) return;
    if (x->path == ATTIC_COMPOSED && (grad || x->p.args.dropout > 0)) return;
    for (ptrdiff_t k = at; k < at + n; k++) {
        double a = grad ? at_grad_element(clean, k) : at_element(clean, k);
        double b = grad ? at_grad_element(bad, k) : at_element(bad, k);
        if (hit ? !isnan(b) : a != b || signbit(a) != signbit(b)) complain(x, what, k, a, b);
    }
}

/* Row i of head h: outputs forward, dQ backward. */
static void check_row(const poisoning *x, int b, int h, int i)
{
    const sdpa_problem *p = &x->p;
    const sdpa_run *c = &x->clean, *r = &x->bad;
    bool hit = hit_at(x, b, h, i), forward = hit && x->kind <= POISON_SINK;
    bool scores = forward && x->kind != POISON_V;          /* V does not reach the weights */
    bool dQ_shows = sdpa_sees_O(p) || x->kind != POISON_V; /* V is read for dO alone */
    ptrdiff_t O = sdpa_row(p, c->O->shape, p->H, b, h, i),
              Q = sdpa_row(p, c->Q->shape, p->H, b, h, i);
    ptrdiff_t cells = cell_of(p, b, h, i, 0), row = p->S ? cells / p->S : 0;
    check_numbers(x, "O", c->O, r->O, O, p->Dv, forward, true);
    check_numbers(x, "weights", c->weights, r->weights, cells, p->S, scores, false);
    check_numbers(x, "probs", c->probs, r->probs, cells, p->S, scores, false);
    if (!is_of_sink(x, h) || hit) /* a sink is in the lse of a row that keeps nothing, too */
        check_numbers(x, "lse", c->lse, r->lse, row, p->S ? 1 : 0, scores, true);
    check_numbers(x, "dQ", c->Q, r->Q, Q, p->D, hit, dQ_shows);
}

static void check_queries(const poisoning *x)
{
    for (int b = 0; b < x->p.B; b++)
        for (int h = 0; h < x->p.H; h++)
            for (int i = 0; i < x->p.T; i++) check_row(x, b, h, i);
}

static void check_keys(const poisoning *x)
{
    const sdpa_problem *p = &x->p;
    const sdpa_run *c = &x->clean, *r = &x->bad;
    bool dK_shows = sdpa_sees_O(p) || x->kind != POISON_V;
    for (int b = 0; b < p->B; b++)
        for (int g = 0; g < p->G; g++)
            for (int j = 0; j < p->S; j++) {
                bool hit = key_is_hit(x, b, g, j);
                ptrdiff_t K = sdpa_row(p, c->K->shape, p->G, b, g, j),
                          V = sdpa_row(p, c->V->shape, p->G, b, g, j);
                check_numbers(x, "dK", c->K, r->K, K, p->D, hit, dK_shows);
                check_numbers(x, "dV", c->V, r->V, V, p->Dv, hit, false);
            }
}

static void check_bias(const poisoning *x)
{
    const sdpa_problem *p = &x->p;
    const at_tensor *bias = x->clean.bias;
    if (!bias) return;
    bool *hit = calloc((size_t)at_count(bias->shape) + 1, 1);
    for (int b = 0; b < p->B; b++)
        for (int h = 0; h < p->H; h++)
            for (int i = 0; i < p->T; i++)
                for (int j = 0; j < p->S && hit_at(x, b, h, i); j++)
                    if (keeps(x, b, h, i, j)) hit[sdpa_cell(p, p->bias, b, h, i, j)] = true;
    for (ptrdiff_t k = 0; k < at_count(bias->shape); k++)
        check_numbers(x, "dbias", bias, x->bad.bias, k, 1, hit[k], false);
    free(hit);
}

/* The learned scale and the sink notice every row of their head, in all batches; the sink of rows that keep
 * nothing the lse. */
static void check_per_head(const poisoning *x, const char *name, const at_tensor *s,
                           const at_tensor *bad, bool shows)
{
    const sdpa_problem *p = &x->p;
    for (int k = 0; s && k < at_count(s->shape); k++) {
        bool hit = false;
        for (int b = 0; b < p->B; b++)
            for (int h = 0; h < p->H; h++)
                for (int i = 0; i < p->T && (s->shape.ndim == 0 || h == k); i++) {
                    hit |= hit_at(x, b, h, i);
                    if (s != x->clean.sink) continue;
                    hit |= x->kind == POISON_DL && b == x->b && h == x->h && i == x->i;
                }
        check_numbers(x, name, s, bad, k, 1, hit, shows && (sdpa_sees_O(p) || x->kind != POISON_V));
    }
}

/* ------------------------------------------------------------------ poisoning ------------------ */

static void put_poison(const poisoning *x, at_tensor *to, ptrdiff_t at, ptrdiff_t n)
{
    double value = x->p.seed % 4 == 3 ? (double)INFINITY : (double)NAN;
    for (ptrdiff_t k = at; k < at + n; k++) at_store(to->dtype, to->data, k, value);
}

/* Puts the NaNs in: those of the inputs before forward, those of the cotangents after it. */
static void poison(const poisoning *x, sdpa_run *r, bool after_forward)
{
    const sdpa_problem *p = &x->p;
    if (after_forward != (x->kind >= POISON_DO)) return;
    switch (x->kind) {
    case POISON_Q:
        put_poison(x, r->Q, sdpa_row(p, r->Q->shape, p->H, x->b, x->h, x->i), p->D);
        break;
    case POISON_K:
        put_poison(x, r->K, sdpa_row(p, r->K->shape, p->G, x->b, x->h, x->i), p->D);
        break;
    case POISON_V:
        put_poison(x, r->V, sdpa_row(p, r->V->shape, p->G, x->b, x->h, x->i), p->Dv);
        break;
    case POISON_BIAS: put_poison(x, r->bias, x->at, 1); break;
    case POISON_SCALE: put_poison(x, r->head_scale, x->at, 1); break;
    case POISON_SINK: put_poison(x, r->sink, x->at, 1); break;
    case POISON_DL: put_poison(x, r->dL, ((ptrdiff_t)x->b * p->H + x->h) * p->T + x->i, 1); break;
    case POISON_DO:
        put_poison(x, r->dO, sdpa_row(p, r->O->shape, p->H, x->b, x->h, x->i), p->Dv);
        break;
    case POISON_DW: put_poison(x, r->dW, x->at, 1); break;
    case POISON_DY: put_poison(x, r->dY, x->at, 1); break;
    }
}

/* Are there elements of that kind, with something to poison and something to notice? */
static ptrdiff_t elements_of_kind(const poisoning *x)
{
    const sdpa_problem *p = &x->p;
    if (x->kind == POISON_BIAS) return p->has_bias ? at_count(p->bias) : 0;
    if (x->kind == POISON_SCALE) return p->has_scale ? at_count(p->head_scale) : 0;
    if (x->kind == POISON_SINK) return p->has_sink ? at_count(p->sink) : 0;
    if (x->kind == POISON_DL) return p->lse >= SDPA_BESIDE_O ? 1 : 0;
    if (x->kind == POISON_DW && p->weights < SDPA_BESIDE_O) return 0;
    if (x->kind == POISON_DY && p->probs < SDPA_BESIDE_O) return 0;
    if (x->kind == POISON_DO && !sdpa_sees_O(p)) return 0;
    if (x->kind >= POISON_DW) return (ptrdiff_t)p->B * p->H * p->T * p->S;
    return (ptrdiff_t)p->B * p->S * p->D * p->Dv;
}

/* Chooses a place of that kind; false if the problem has none. */
static bool choose_place(poisoning *x)
{
    const sdpa_problem *p = &x->p;
    at_stream dice = {(uint64_t)p->seed, 4000 + (uint64_t)x->kind};
    bool of_keys = x->kind == POISON_K || x->kind == POISON_V;
    ptrdiff_t elements = elements_of_kind(x);
    if (elements == 0 || p->B == 0 || p->T == 0 || p->S == 0) return false;
    x->b = (int)(at_random_u32(dice, 0) % (uint32_t)p->B);
    x->h = (int)(at_random_u32(dice, 1) % (uint32_t)(of_keys ? p->G : p->H));
    x->i = (int)(at_random_u32(dice, 2) % (uint32_t)(of_keys ? p->S : p->T));
    x->at = at_random_u32(dice, 3) % elements;
    return x->kind != POISON_BIAS || !sdpa_infinite_at(p, x->at); /* it masks; a NaN would not */
}

static void run_poisoned(poisoning *x, at_tape *t)
{
    const sdpa_problem *p = &x->p;
    x->bad = sdpa_inputs(t, p);
    poison(x, &x->bad, false);
    bool ran = sdpa_forward(t, p, &x->bad, x->path);
    if (ran) poison(x, &x->bad, true);
    ran = ran && sdpa_backward(t, &x->bad);
    ck_assert_msg(ran, "%s: %s", sdpa_problem_text(p), at_error(t));
}

static void check_problem(int seed, sdpa_size size, at_sdpa_path path)
{
    poisoning x = {.p = sdpa_draw(seed, size), .path = path};
    if (x.p.same) return;
    at_dtype real = seed % 3 ? ATTIC_F32 : ATTIC_F64;
    at_tape *t = at_open(real, 5);
    x.clean = sdpa_run_on(t, &x.p, path);
    find_kept(&x);
    for (x.kind = 0; x.kind < POISONS; x.kind++) {
        if (!choose_place(&x)) continue;
        at_tape *u = at_open(real, 5);
        run_poisoned(&x, u);
        find_hits(&x);
        check_queries(&x);
        check_keys(&x);
        check_bias(&x);
        check_per_head(&x, "dhead_scale", x.clean.head_scale, x.bad.head_scale, x.p.D > 0);
        check_per_head(&x, "dsink", x.clean.sink, x.bad.sink, true);
        at_close(u);
    }
    free(x.kept);
    free(x.hit);
    at_close(t);
}

static void check_problems(int small, int tiles, at_sdpa_path path)
{
    for (int i = 0; i < sdpa_some(small); i++) check_problem(7000 + i, SDPA_SMALL, path);
    for (int i = 0; i < sdpa_some(tiles); i++) check_problem(7000 + i, SDPA_TILES, path);
}

START_TEST(plain_rows_do_not_read_what_is_masked)
{
    check_problems(90, 4, ATTIC_PLAIN);
}
END_TEST

START_TEST(tiles_do_not_read_what_is_masked)
{
    check_problems(100, 8, ATTIC_FUSED);
}
END_TEST

START_TEST(what_is_kept_surfaces_on_the_composed_path_too)
{
    check_problems(90, 2, ATTIC_COMPOSED);
}
END_TEST

/* ------------------------------------------------------------------ sentence by sentence ------- */

enum { N = 330, D = 3 }; /* rows, and keys, of several tiles */

/* Self-attention of N rows and its gradients, with NaNs where `poison` puts them.  */
typedef struct {
    at_tape *t;
    at_tensor *Q, *K, *V, *bias, *O, *dO, *weights, *lse;
} attention;

static attention make_attention(at_dtype real)
{
    attention x = {.t = at_open(real, 7)};
    at_tensor **in[] = {&x.Q, &x.K, &x.V, &x.dO, &x.bias};
    for (int k = 0; k < 5; k++) {
        *in[k] = at_variable(x.t, k < 4 ? at_shape_of(N, D) : at_shape_of(N, N), NULL);
        at_init_fill(*in[k], at_normal(1), (at_stream){21, (uint64_t)k});
    }
    return x;
}

static void run_attention(attention *x, at_sdpa_args a)
{
    if (a.bias) a.bias = x->bias; /* any: this one */
    a.weights = &x->weights, a.lse = &x->lse;
    x->O = at_sdpa(x->t, x->Q, x->K, x->V, a);
    at_backward_from(x->t, x->O, x->dO);
    ck_assert_msg(at_ok(x->t), "%s", at_error(x->t));
}

static void fill_row(at_tensor *x, int i, double value)
{
    for (int d = 0; d < D; d++) at_set(x, value, i, d);
}

/* Are rows first .. last-1 of x, or of its gradient, the same bits in y? */
static bool same_rows(const at_tensor *x, const at_tensor *y, bool grad, int first, int last)
{
    size_t row = at_bytes(x) / (size_t)x->shape.dim[0], at = (size_t)first * row;
    const char *a = grad ? x->grad : x->data, *b = grad ? y->grad : y->data;
    return memcmp(a + at, b + at, (size_t)(last - first) * row) == 0;
}

static void poison_position(at_dtype real, at_sdpa_args a, int j)
{
    attention clean = make_attention(real), bad = make_attention(real);
    run_attention(&clean, a);
    for (int i = j; i < N && a.bias; i++) at_set(bad.bias, (double)NAN, i, j);
    fill_row(bad.Q, j, (double)NAN), fill_row(bad.K, j, (double)NAN);
    fill_row(bad.V, j, (double)NAN), fill_row(bad.dO, j, (double)NAN);
    run_attention(&bad, a);
    bool same = same_rows(clean.O, bad.O, false, 0, j) && same_rows(clean.Q, bad.Q, true, 0, j) &&
                (!a.bias || same_rows(clean.bias, bad.bias, true, 0, j));
    ck_assert_msg(same, "position %d reaches rows before it", j);
    for (int i = j; i < N && !a.window_left; i++)
        ck_assert_msg(isnan(at_get(bad.O, i, 0)), "row %d hides position %d", i, j);
    at_close(clean.t);
    at_close(bad.t);
}

START_TEST(under_causal_a_position_does_not_reach_the_rows_before_it)
{
    static const int at[] = {0, 1, 63, 64, 65, 127, 128, 129, 191, 255, 256, 257, 320, N - 1};
    at_tensor any;
    for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++)
        for (int k = 0; k < 14; k++) {
            at_dtype real = k % 2 ? ATTIC_F32 : ATTIC_F64;
            poison_position(real, (at_sdpa_args){.path = path, .causal = true}, at[k]);
            poison_position(real, (at_sdpa_args){.path = path, .window_right = 1}, at[k]);
            poison_position(real,
                            (at_sdpa_args){.path = path,
                                           .causal = true,
                                           .bias = &any,
                                           .dropout = 0.3,
                                           .softcap = 2,
                                           .window_left = 100},
                            at[k]);
        }
}
END_TEST

/* Keys that nobody keeps, three ways to say so. */
static const int unkept[] = {0, 62, 63, 64, 128, 200, 255, 256, 329};
enum { UNKEPT = sizeof unkept / sizeof *unkept };

static at_sdpa_args keep_nobody(attention *x, at_sdpa_path path, int how)
{
    at_sdpa_args a = {.path = path, .bias = how == 1 ? x->bias : NULL};
    at_tensor *keep = at_bools(x->t, at_shape_of(N), NULL);
    for (int j = 0; j < N; j++) at_set(keep, 1, j);
    for (int k = 0; k < UNKEPT; k++) {
        at_set(keep, 0, unkept[k]);
        for (int i = 0; i < N && how == 1; i++) at_set(x->bias, -(double)INFINITY, i, unkept[k]);
    }
    if (how == 0) a.keep = keep;
    if (how == 2) a.key_len = at_ints(x->t, at_shape_of(), (int32_t[]){N - 1});
    return a;
}

static void poison_unkept(at_dtype real, at_sdpa_path path, int how)
{
    attention clean = make_attention(real), bad = make_attention(real);
    run_attention(&clean, keep_nobody(&clean, path, how));
    for (int k = how == 2 ? UNKEPT - 1 : 0; k < UNKEPT; k++) {
        fill_row(bad.K, unkept[k], (double)NAN);
        fill_row(bad.V, unkept[k], (double)NAN);
    }
    run_attention(&bad, keep_nobody(&bad, path, how));
    ck_assert(same_rows(clean.O, bad.O, false, 0, N) && same_rows(clean.Q, bad.Q, true, 0, N));
    ck_assert(same_rows(clean.K, bad.K, true, 0, N) && same_rows(clean.V, bad.V, true, 0, N));
    ck_assert(how != 1 || same_rows(clean.bias, bad.bias, true, 0, N));
    for (int d = 0; d < D; d++) {
        ptrdiff_t last = unkept[UNKEPT - 1] * D + d;
        ck_assert(at_grad_element(bad.K, last) == 0 && at_grad_element(bad.V, last) == 0);
    }
    at_close(clean.t);
    at_close(bad.t);
}

START_TEST(a_key_that_nobody_keeps_reaches_nothing)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++)
        for (int how = 0; how < 3; how++) {
            poison_unkept(ATTIC_F32, path, how);
            poison_unkept(ATTIC_F64, path, how);
        }
}
END_TEST

/* Rows with nothing kept: alone, in a row, a whole tile of them. */
static bool is_empty_row(int i)
{
    return i < 70 || i == 100 || (i >= 128 && i < 320 && i != 200);
}

/* Attention in which they have `value` as Q and dO. */
static attention with_empty_rows(at_dtype real, at_sdpa_path path, double value)
{
    attention x = make_attention(real);
    at_tensor *keep = at_bools(x.t, at_shape_of(N, 1), NULL);
    for (int i = 0; i < N; i++) {
        at_set(keep, !is_empty_row(i), i, 0);
        if (is_empty_row(i)) fill_row(x.Q, i, value), fill_row(x.dO, i, value);
    }
    at_sdpa_args a = {.path = path, .keep = keep, .bias = x.bias, .softcap = 3, .dropout = 0.2};
    run_attention(&x, a);
    return x;
}

static void expect_zeros(const attention *x, int i)
{
    for (int d = 0; d < D; d++)
        ck_assert(at_get(x->O, i, d) == 0 && at_grad_element(x->Q, (ptrdiff_t)i * D + d) == 0);
    for (int j = 0; j < N; j++)
        ck_assert(at_get(x->weights, i, j) == 0 &&
                  at_grad_element(x->bias, (ptrdiff_t)i * N + j) == 0);
    ck_assert(at_get(x->lse, i) == -(double)INFINITY);
}

START_TEST(rows_with_nothing_kept_give_exact_zeros_everywhere)
{
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++)
        for (int real = 0; real < 2; real++) {
            double other = path == ATTIC_COMPOSED ? -3 : (double)NAN;
            at_dtype dtype = real ? ATTIC_F64 : ATTIC_F32;
            attention x = with_empty_rows(dtype, path, 1), y = with_empty_rows(dtype, path, other);
            for (int i = 0; i < N; i++)
                if (is_empty_row(i)) expect_zeros(&x, i), expect_zeros(&y, i);
            ck_assert(same_rows(x.K, y.K, true, 0, N)); /* nothing comes from them */
            ck_assert(same_rows(x.V, y.V, true, 0, N));
            ck_assert(same_rows(x.bias, y.bias, true, 0, N));
            at_close(x.t);
            at_close(y.t);
        }
}
END_TEST

SUITE(attention_nan, plain_rows_do_not_read_what_is_masked, tiles_do_not_read_what_is_masked,
      what_is_kept_surfaces_on_the_composed_path_too,
      under_causal_a_position_does_not_reach_the_rows_before_it,
      a_key_that_nobody_keeps_reaches_nothing, rows_with_nothing_kept_give_exact_zeros_everywhere)
