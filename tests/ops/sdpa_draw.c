/* sdpa_draw.c -- random attention problems; see sdpa_draw.h. */
#include "ops/sdpa_draw.h"

#include <math.h>

#include "ops/pairing.h"
#include "test.h"

/* ------------------------------------------------------------------ drawing -------------------- */

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

static void draw_sizes(sdpa_dice *d, sdpa_problem *p, bool large)
{
    p->B = 1 + throw_dice(d, large ? 2 : 3);
    p->G = 1 + throw_dice(d, large ? 2 : 3);
    p->H = p->G * (throw_coin(d, 2) ? 1 + throw_dice(d, 3) : 1);
    p->T = large ? 100 + throw_dice(d, 300) : throw_coin(d, 12) ? 0 : 1 + throw_dice(d, 6);
    p->S = large ? 200 + throw_dice(d, 400) : throw_coin(d, 12) ? 0 : 1 + throw_dice(d, 6);
    if (throw_coin(d, 3)) p->S = p->T;
    p->D = throw_coin(d, 15) ? 0 : 1 + throw_dice(d, 5);
    p->Dv = throw_coin(d, 15) ? 0 : 1 + throw_dice(d, 4);
}

static void draw_layout(sdpa_dice *d, sdpa_problem *p)
{
    int B = p->B, H = p->H, G = p->G, T = p->T, S = p->S, D = p->D, Dv = p->Dv;
    switch (throw_dice(d, 6)) {
    case 0:
        p->B = p->H = p->G = 1;
        p->Q = at_shape_of(T, D), p->K = at_shape_of(S, D), p->V = at_shape_of(S, Dv);
        break;
    case 1:
        p->H = p->G = 1;
        p->Q = at_shape_of(B, T, D), p->K = at_shape_of(B, S, D), p->V = at_shape_of(B, S, Dv);
        break;
    case 2:
        p->B = 1;
        p->Q = at_shape_of(T, H * D), p->K = at_shape_of(S, G * D), p->V = at_shape_of(S, G * Dv);
        p->uses |= USES_PACKED;
        break;
    case 3:
        p->Q = at_shape_of(B, T, H * D), p->K = at_shape_of(B, S, G * D);
        p->V = at_shape_of(B, S, G * Dv);
        p->uses |= USES_PACKED;
        break;
    default:
        p->Q = at_shape_of(B, H, T, D), p->K = at_shape_of(B, G, S, D);
        p->V = at_shape_of(B, G, S, Dv);
    }
    if (p->H != p->G) p->uses |= USES_GROUPS;
    if (p->uses & USES_PACKED) {
        p->args.heads = p->H;
        if (p->H != p->G) p->args.kv_heads = p->G;
    }
}

/* Some suffix of the scores' shape, some axes of it 1. */
static at_shape draw_broadcast(sdpa_dice *d, const sdpa_problem *p)
{
    bool heads = p->Q.ndim == 4 || (p->args.heads && p->Q.ndim == 3);
    at_shape full = heads                         ? at_shape_of(p->B, p->H, p->T, p->S)
                    : p->Q.ndim == 3              ? at_shape_of(p->B, p->T, p->S)
                    : (p->uses & USES_PACKED) > 0 ? at_shape_of(p->H, p->T, p->S)
                                                  : at_shape_of(p->T, p->S);
    int drop = throw_coin(d, 2) ? throw_dice(d, full.ndim + 1) : 0;
    if (heads && drop == 1) drop = 0; /* three dimensions beside heads are ambiguous */
    at_shape s = {full.ndim - drop, {0}};
    for (int i = 0; i < s.ndim; i++) s.dim[i] = throw_coin(d, 3) ? 1 : full.dim[i + drop];
    return s;
}

static void draw_diagonal(sdpa_dice *d, sdpa_problem *p)
{
    at_sdpa_args *a = &p->args;
    if (throw_coin(d, 2)) a->causal = true, p->uses |= USES_CAUSAL;
    if (throw_coin(d, 5)) a->window_left = 1 + throw_dice(d, p->S + 2), p->uses |= USES_WINDOW;
    if (throw_coin(d, 5)) a->window_right = 1 + throw_dice(d, p->S + 2), p->uses |= USES_WINDOW;
    a->align = (at_align)throw_dice(d, 4);
    if (a->align == ATTIC_ALIGN_EQUAL && p->T != p->S) a->align = ATTIC_ALIGN_BOTTOM_RIGHT;
    if (a->align == ATTIC_ALIGN_OFFSET) a->offset = throw_dice(d, 2 * p->S + 5) - p->S - 2;
}

static void draw_options(sdpa_dice *d, sdpa_problem *p)
{
    at_sdpa_args *a = &p->args;
    if (throw_coin(d, 4)) a->scale = throw_between(d, -2, 2), p->uses |= USES_SCALE;
    if (throw_coin(d, 4)) a->temperature = throw_between(d, 0.3, 3), p->uses |= USES_TEMPERATURE;
    if (throw_coin(d, 4)) a->softcap = throw_between(d, 0.5, 3), p->uses |= USES_SOFTCAP;
    if (throw_coin(d, 3)) p->bias = draw_broadcast(d, p), p->uses |= USES_BIAS;
    if (p->uses & USES_BIAS && throw_coin(d, 3)) p->uses |= USES_INFINITE_BIAS;
    if (throw_coin(d, 3)) p->keep = draw_broadcast(d, p), p->uses |= USES_KEEP;
    if (throw_coin(d, 4)) p->uses |= USES_KEY_LEN;
    if (throw_coin(d, 3)) a->dropout = throw_between(d, 0.1, 0.7), p->uses |= USES_DROPOUT;
    if (throw_coin(d, 3)) p->uses |= USES_WEIGHTS;
    p->O_unused = p->uses & USES_WEIGHTS && throw_coin(d, 8);
    p->same = throw_coin(d, 4) && at_same_shape(p->Q, p->K) && at_same_shape(p->Q, p->V);
}

sdpa_problem sdpa_draw(int seed, bool large)
{
    sdpa_dice d = {{(uint64_t)seed, 1000 + large}, 0};
    sdpa_problem p = {.seed = seed};
    draw_sizes(&d, &p, large);
    draw_layout(&d, &p);
    draw_diagonal(&d, &p);
    draw_options(&d, &p);
    return p;
}

const char *sdpa_problem_text(const sdpa_problem *p)
{
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE, "problem %d (uses %d): Q %s K %s V %s bias %s keep %s", p->seed,
             p->uses, at_shape_text(p->Q), at_shape_text(p->K), at_shape_text(p->V),
             p->uses & USES_BIAS ? at_shape_text(p->bias) : "-",
             p->uses & USES_KEEP ? at_shape_text(p->keep) : "-");
    return text;
}

/* ------------------------------------------------------------------ running -------------------- */

static at_tensor *draw_numbers(at_tape *t, at_shape shape, uint64_t seed, uint64_t which)
{
    at_tensor *x = at_variable(t, shape, NULL);
    if (x) at_init_fill(x, at_normal(1), (at_stream){seed, 2000 + which});
    return x;
}

static at_tensor *draw_keep(at_tape *t, const sdpa_problem *p)
{
    at_tensor *keep = at_bools(t, p->keep, NULL);
    for (ptrdiff_t i = 0; keep && i < at_count(p->keep); i++)
        at_store(ATTIC_BOOL, keep->data, i,
                 at_random_u32((at_stream){(uint64_t)p->seed, 3000}, (uint64_t)i) % 4 != 0);
    return keep;
}

static at_tensor *draw_key_len(at_tape *t, const sdpa_problem *p)
{
    at_tensor *n = at_ints(t, at_shape_of(p->B), NULL);
    sdpa_dice d = {{(uint64_t)p->seed, 3001}, 0};
    for (int b = 0; n && b < p->B; b++) at_store(ATTIC_I32, n->data, b, throw_dice(&d, p->S + 1));
    return n;
}

static void draw_infinities(const sdpa_problem *p, at_tensor *bias)
{
    sdpa_dice d = {{(uint64_t)p->seed, 3002}, 0};
    for (ptrdiff_t i = 0; bias && i < at_count(p->bias); i++)
        if (throw_coin(&d, 4)) at_store(bias->dtype, bias->data, i, -(double)INFINITY);
}

sdpa_run sdpa_inputs(at_tape *t, const sdpa_problem *p)
{
    uint64_t seed = (uint64_t)p->seed;
    sdpa_run r = {.Q = draw_numbers(t, p->Q, seed, 0)};
    r.K = p->same ? r.Q : draw_numbers(t, p->K, seed, 1);
    r.V = p->same ? r.Q : draw_numbers(t, p->V, seed, 2);
    if (p->uses & USES_BIAS) r.bias = draw_numbers(t, p->bias, seed, 3);
    if (p->uses & USES_INFINITE_BIAS) draw_infinities(p, r.bias);
    if (p->uses & USES_KEEP) r.keep = draw_keep(t, p);
    if (p->uses & USES_KEY_LEN) r.key_len = draw_key_len(t, p);
    return r;
}

bool sdpa_forward(at_tape *t, const sdpa_problem *p, sdpa_run *r, at_sdpa_path path)
{
    at_sdpa_args a = p->args;
    a.bias = r->bias, a.keep = r->keep, a.key_len = r->key_len, a.path = path;
    a.scores = &r->scores, a.probs = &r->probs, a.lse = &r->lse;
    if (p->uses & USES_WEIGHTS) a.weights = &r->weights;
    r->O = at_sdpa(t, r->Q, r->K, r->V, a);
    uint64_t seed = (uint64_t)p->seed;
    if (r->O && !p->O_unused) r->dO = draw_numbers(t, r->O->shape, seed, 4);
    if (r->weights) r->dW = draw_numbers(t, r->weights->shape, seed, 5);
    return at_ok(t);
}

bool sdpa_backward(at_tape *t, const sdpa_run *r)
{
    at_tensor *x[2], *c[2];
    int n = 0;
    if (r->dO) x[n] = r->O, c[n++] = r->dO;
    if (r->dW) x[n] = r->weights, c[n++] = r->dW;
    return at_backward(t, pairing(t, n, x, c));
}

/* ------------------------------------------------------------------ reading the contract ------- */

ptrdiff_t sdpa_row(const sdpa_problem *p, const at_tensor *x, int heads, int b, int h, int i)
{
    int rows = x->shape.dim[x->shape.ndim - 2];
    ptrdiff_t last = at_last(x->shape);
    if (p->args.heads) return ((ptrdiff_t)b * rows + i) * last + h * (last / heads);
    return (((ptrdiff_t)b * heads + h) * rows + i) * last;
}

ptrdiff_t sdpa_cell(const sdpa_problem *p, const at_tensor *x, int b, int h, int i, int j)
{
    bool no_heads = p->Q.ndim == 3 && !p->args.heads; /* three axes are then [B,T,S] */
    int index[] = {b, h, i, j}, n = x->shape.ndim;
    ptrdiff_t at = 0;
    for (int d = 0; d < n; d++) {
        int axis = 4 - n + d, size = x->shape.dim[d];
        if (n == 3 && d == 0 && no_heads) axis = 0;
        at = at * size + (size == 1 ? 0 : index[axis]);
    }
    return at;
}

bool sdpa_keeps(const sdpa_problem *p, const sdpa_run *r, int b, int h, int i, int j)
{
    const at_sdpa_args *a = &p->args;
    int offset = a->align == ATTIC_ALIGN_BOTTOM_RIGHT ? p->S - p->T
                 : a->align == ATTIC_ALIGN_OFFSET     ? a->offset
                                                      : 0;
    if (a->causal && !(j <= i + offset)) return false;
    if (a->window_left && !(i + offset - a->window_left < j)) return false;
    if (a->window_right && !(j < i + offset + a->window_right)) return false;
    if (r->key_len && !(j < at_element(r->key_len, b))) return false;
    if (r->keep && at_element(r->keep, sdpa_cell(p, r->keep, b, h, i, j)) == 0) return false;
    return !r->bias || at_element(r->bias, sdpa_cell(p, r->bias, b, h, i, j)) != -(double)INFINITY;
}

/* ------------------------------------------------------------------ comparing ------------------ */

static double tensor_difference(const at_tensor *x, const at_tensor *y,
                                double (*element)(const at_tensor *, ptrdiff_t))
{
    if (!x || !y) return x == y ? 0 : (double)INFINITY;
    if (!at_same_shape(x->shape, y->shape)) return (double)INFINITY;
    double scale = 1, worst = 0;
    for (ptrdiff_t n = at_count(y->shape), i = 0; i < n; i++)
        if (fabs(element(y, i)) > scale && isfinite(element(y, i))) scale = fabs(element(y, i));
    for (ptrdiff_t n = at_count(y->shape), i = 0; i < n; i++) {
        double a = element(x, i), b = element(y, i);
        if (a == b || (isnan(a) && isnan(b))) continue;
        double off = fabs(a - b) / scale;
        if (!(off <= worst)) worst = isfinite(off) ? off : (double)INFINITY;
    }
    return worst;
}

double sdpa_difference(const sdpa_run *x, const sdpa_run *y, const char **where)
{
    const struct {
        const char *name;
        const at_tensor *x, *y;
        double (*element)(const at_tensor *, ptrdiff_t);
    } part[] = {{"O", x->O, y->O, at_element},
                {"weights", x->weights, y->weights, at_element},
                {"scores", x->scores, y->scores, at_element},
                {"probs", x->probs, y->probs, at_element},
                {"lse", x->lse, y->lse, at_element},
                {"dQ", x->Q, y->Q, at_grad_element},
                {"dK", x->K, y->K, at_grad_element},
                {"dV", x->V, y->V, at_grad_element},
                {"dbias", x->bias, y->bias, at_grad_element}};
    double worst = 0;
    *where = "nothing";
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        double off = tensor_difference(part[i].x, part[i].y, part[i].element);
        if (off > worst) worst = off, *where = part[i].name;
    }
    return worst;
}

void sdpa_expect_plain(int seed, bool large, at_dtype real, at_sdpa_path path)
{
    sdpa_problem p = sdpa_draw(seed, large);
    at_tape *t = at_open(real, (uint64_t)seed), *u = at_open(real, (uint64_t)seed);
    sdpa_run x = sdpa_inputs(t, &p), y = sdpa_inputs(u, &p);
    const char *where;
    bool ran = sdpa_forward(t, &p, &x, path) && sdpa_backward(t, &x);
    ck_assert_msg(ran, "%s: %s", sdpa_problem_text(&p), at_error(t));
    ran = sdpa_forward(u, &p, &y, ATTIC_PLAIN) && sdpa_backward(u, &y);
    ck_assert_msg(ran, "%s: %s", sdpa_problem_text(&p), at_error(u));
    double off = sdpa_difference(&x, &y, &where), tol = real == ATTIC_F64 ? 1e-11 : 2e-5;
    ck_assert_msg(off <= tol, "%s: %s is off by %.2g", sdpa_problem_text(&p), where, off);
    at_close(t);
    at_close(u);
}
