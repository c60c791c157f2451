/* test_sdpa_nan.c -- masked means not read: where a NaN gets to, and where it does not.
 *
 * A random problem runs twice, once clean and once with NaNs (or infinities) in one row of Q, K, V or dO, or one element of
 * the bias or of dW.  Which rows may notice follows from what they keep, and nothing else:
 *
 *     forward    a row notices a NaN that it keeps
 *     backward   a key notices the rows that keep it, and these notice what forward or dO gave them
 *
 * What may not notice must have the very bits of the clean run; what notices must show it. */
#include "ops/sdpa_draw.h"

#include <math.h>
#include <stdlib.h>

#include "test.h"

enum { POISON_Q, POISON_K, POISON_V, POISON_BIAS, POISON_DO, POISON_DW, POISONS };
static const char *const poison_name[POISONS] = {"Q", "K", "V", "bias", "dO", "dW"};

typedef struct {
    sdpa_problem p;
    int kind, b, h, i; /* row i of head h; for K and V, key i of key/value head h */
    ptrdiff_t at;      /* the element, for bias and dW */
    bool infinite;     /* +inf instead of NaN; need not show: exp(-inf) is 0 */
    sdpa_run clean, bad;
    bool *hit; /* [B,H,T] rows that may notice */
} poisoning;

static bool keeps(const poisoning *x, int b, int h, int i, int j)
{
    return sdpa_keeps(&x->p, &x->clean, b, h, i, j);
}

static bool row_is_hit(const poisoning *x, int b, int h, int i)
{
    const sdpa_problem *p = &x->p;
    int g = h / (p->H / p->G);
    for (int j = 0; j < p->S; j++) {
        if (!keeps(x, b, h, i, j)) continue;
        ptrdiff_t cell = (((ptrdiff_t)b * p->H + h) * p->T + i) * p->S + j;
        bool mine = b == x->b && h == x->h && i == x->i;
        if ((x->kind == POISON_Q || x->kind == POISON_DO) && mine) return true;
        if (x->kind == POISON_DW && cell == x->at) return true;
        if (x->kind == POISON_BIAS && sdpa_cell(p, x->clean.bias, b, h, i, j) == x->at) return true;
        if ((x->kind == POISON_K || x->kind == POISON_V) && b == x->b && g == x->h && j == x->i)
            return true;
    }
    return false;
}

static void find_hits(poisoning *x)
{
    const sdpa_problem *p = &x->p;
    bool *hit = x->hit = malloc((size_t)p->B * (size_t)p->H * (size_t)p->T + 1);
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

/* n numbers from `at` on must be the same as in the clean run or, if hit and `shows`, NaN. */
static void check_numbers(const poisoning *x, const char *what, const at_tensor *clean,
                          const at_tensor *bad, ptrdiff_t at, ptrdiff_t n, bool hit, bool shows,
                          double (*element)(const at_tensor *, ptrdiff_t))
{
    for (ptrdiff_t k = at; k < at + n; k++) {
        double a = element(clean, k), b = element(bad, k);
        if (!hit && a != b)
            ck_abort_msg("%s, NaN in %s at (%d,%d,%d) or element %td: %s[%td] is %g instead of %g",
                         sdpa_problem_text(&x->p), poison_name[x->kind], x->b, x->h, x->i, x->at,
                         what, k, b, a);
        if (hit && shows && !x->infinite && !isnan(b))
            ck_abort_msg("%s, NaN in %s at (%d,%d,%d) or element %td: %s[%td] hides it as %g",
                         sdpa_problem_text(&x->p), poison_name[x->kind], x->b, x->h, x->i, x->at,
                         what, k, b);
    }
}

static void check_queries(const poisoning *x)
{
    const sdpa_problem *p = &x->p;
    const sdpa_run *c = &x->clean, *r = &x->bad;
    bool forward = x->kind <= POISON_BIAS;
    bool shows = !p->O_unused || x->kind != POISON_V; /* V is read for dO alone */
    for (int b = 0; b < p->B; b++)
        for (int h = 0; h < p->H; h++)
            for (int i = 0; i < p->T; i++) {
                bool hit = hit_at(x, b, h, i);
                ptrdiff_t O = sdpa_row(p, c->O, p->H, b, h, i),
                          Q = sdpa_row(p, c->Q, p->H, b, h, i);
                check_numbers(x, "O", c->O, r->O, O, p->Dv, hit && forward, true, at_element);
                check_numbers(x, "dQ", c->Q, r->Q, Q, p->D, hit, shows, at_grad_element);
            }
}

static void check_keys(const poisoning *x)
{
    const sdpa_problem *p = &x->p;
    const sdpa_run *c = &x->clean, *r = &x->bad;
    for (int b = 0; b < p->B; b++)
        for (int g = 0; g < p->G; g++)
            for (int j = 0; j < p->S; j++) {
                bool hit = key_is_hit(x, b, g, j);
                ptrdiff_t K = sdpa_row(p, c->K, p->G, b, g, j),
                          V = sdpa_row(p, c->V, p->G, b, g, j);
                bool shows = !p->O_unused || x->kind != POISON_V;
                check_numbers(x, "dK", c->K, r->K, K, p->D, hit, shows, at_grad_element);
                check_numbers(x, "dV", c->V, r->V, V, p->Dv, hit, false, at_grad_element);
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
                for (int j = 0; j < p->S; j++)
                    if (hit_at(x, b, h, i) && keeps(x, b, h, i, j))
                        hit[sdpa_cell(p, bias, b, h, i, j)] = true;
    for (ptrdiff_t k = 0; k < at_count(bias->shape); k++)
        check_numbers(x, "dbias", bias, x->bad.bias, k, 1, hit[k], false, at_grad_element);
    free(hit);
}

static void put_poison(const poisoning *x, at_tensor *to, ptrdiff_t at, ptrdiff_t n)
{
    double value = x->infinite ? (double)INFINITY : (double)NAN;
    for (ptrdiff_t k = at; k < at + n; k++) at_store(to->dtype, to->data, k, value);
}

/* Puts the NaNs in: those of the inputs before forward, those of the cotangents after it. */
static void poison(const poisoning *x, sdpa_run *r, bool after_forward)
{
    const sdpa_problem *p = &x->p;
    if (after_forward != (x->kind == POISON_DO || x->kind == POISON_DW)) return;
    switch (x->kind) {
    case POISON_Q: put_poison(x, r->Q, sdpa_row(p, r->Q, p->H, x->b, x->h, x->i), p->D); break;
    case POISON_K: put_poison(x, r->K, sdpa_row(p, r->K, p->G, x->b, x->h, x->i), p->D); break;
    case POISON_V: put_poison(x, r->V, sdpa_row(p, r->V, p->G, x->b, x->h, x->i), p->Dv); break;
    case POISON_BIAS: put_poison(x, r->bias, x->at, 1); break;
    case POISON_DO: put_poison(x, r->dO, sdpa_row(p, r->O, p->H, x->b, x->h, x->i), p->Dv); break;
    case POISON_DW: put_poison(x, r->dW, x->at, 1); break;
    }
}

/* Chooses a place of that kind; false if the problem has none. */
static bool choose_place(poisoning *x, uint64_t n)
{
    const sdpa_problem *p = &x->p;
    at_stream dice = {(uint64_t)p->seed, 4000 + n};
    int heads = x->kind == POISON_K || x->kind == POISON_V ? p->G : p->H;
    int rows = heads == p->H && (x->kind == POISON_Q || x->kind == POISON_DO) ? p->T : p->S;
    ptrdiff_t elements = x->kind == POISON_BIAS ? p->uses & USES_BIAS ? at_count(p->bias) : 0
                         : x->kind == POISON_DW
                             ? p->uses & USES_WEIGHTS ? (ptrdiff_t)p->B * p->H * p->T * p->S : 0
                             : (ptrdiff_t)rows * p->D * p->Dv;
    if (elements == 0 || p->T == 0 || (x->kind == POISON_DO && p->O_unused)) return false;
    x->b = (int)(at_random_u32(dice, 0) % (uint32_t)p->B);
    x->h = (int)(at_random_u32(dice, 1) % (uint32_t)heads);
    x->i = rows ? (int)(at_random_u32(dice, 2) % (uint32_t)rows) : 0;
    x->at = at_random_u32(dice, 3) % elements;
    return true;
}

static void run(const poisoning *x, at_tape *t, sdpa_run *r, at_sdpa_path path, bool poisoned)
{
    *r = sdpa_inputs(t, &x->p);
    if (poisoned) poison(x, r, false);
    bool ran = sdpa_forward(t, &x->p, r, path);
    if (ran && poisoned) poison(x, r, true);
    ran = ran && sdpa_backward(t, r);
    ck_assert_msg(ran, "%s: %s", sdpa_problem_text(&x->p), at_error(t));
}

static void check_poisoning(sdpa_problem p, int kind, uint64_t n, at_sdpa_path path)
{
    poisoning x = {.p = p, .kind = kind, .infinite = p.seed % 4 == 3};
    if (x.p.same || !choose_place(&x, n)) return;
    at_tape *t = at_open(ATTIC_F32, 5), *u = at_open(ATTIC_F32, 5);
    run(&x, t, &x.clean, path, false);
    if (kind == POISON_BIAS && isinf(at_element(x.clean.bias, x.at))) {
        at_close(t); /* masks, which a NaN there would not */
        at_close(u);
        return;
    }
    run(&x, u, &x.bad, path, true);
    find_hits(&x);
    check_queries(&x);
    check_keys(&x);
    check_bias(&x);
    free(x.hit);
    at_close(t);
    at_close(u);
}

static void check_many(int first, int last, bool large, at_sdpa_path path)
{
    for (int seed = first; seed < last; seed++)
        for (int kind = 0; kind < POISONS; kind++)
            check_poisoning(sdpa_draw(seed, large), kind, (uint64_t)kind, path);
}

START_TEST(plain_rows_do_not_read_what_is_masked)
{
    check_many(7000, 7300, false, ATTIC_PLAIN);
}
END_TEST

START_TEST(tiles_do_not_read_what_is_masked)
{
    check_many(7000, 7400, false, ATTIC_FUSED);
}
END_TEST

START_TEST(many_tiles_do_not_read_what_is_masked)
{
    check_many(7000, 7003, true, ATTIC_FUSED);
}
END_TEST

SUITE(ops_sdpa_nan, plain_rows_do_not_read_what_is_masked, tiles_do_not_read_what_is_masked,
      many_tiles_do_not_read_what_is_masked)
