/* sdpa_run.c -- runs random attention problems; see sdpa_run.h. */
#include "attention/sdpa_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attention/pairing.h"
#include "common/options.h"
#include "test.h"

int sdpa_some(int n)
{
    const char *problems = getenv("ATTIC_PROBLEMS");
    int all = 300;
    ck_assert_msg(!problems || read_int(problems, 1, 1000000, &all),
                  "ATTIC_PROBLEMS is \"%s\", but must be a whole number from 1 to 1000000",
                  problems);
    return (int)(((long)n * all + 299) / 300);
}

/* ------------------------------------------------------------------ running -------------------- */

/* Of variance 1, rounded to float, so that both types compute with the same numbers. */
static void fill(at_tensor *x, const sdpa_problem *p, uint64_t which)
{
    at_stream stream = {(uint64_t)p->seed, 2000 + which};
    for (ptrdiff_t n = x ? at_count(x->shape) : 0, i = 0; i < n; i++)
        at_store(x->dtype, x->data, i,
                 (double)(float)(sqrt(12) * (at_random_unit(stream, (uint64_t)i) - 0.5)));
}

/* Q, K, V and bias are filled from the streams 0 to 3; then come these, and further inputs. */
enum { FILLS_O = 4, FILLS_WEIGHTS = 5, FILLS_SCALE = 6, FILLS_PROBS = 7, FILLS_LSE = 8 };

static at_tensor *input(at_tape *t, const sdpa_problem *p, int i)
{
    const at_shape shape = sdpa_input_shape(p, i);
    at_tensor *x = p->constant[i] ? at_const(t, shape, NULL) : at_variable(t, shape, NULL);
    fill(x, p, (uint64_t)(i < SDPA_SCALE ? i : FILLS_SCALE + 10 * (i - SDPA_SCALE)));
    return x;
}

static at_tensor *cotangent(at_tape *t, const sdpa_problem *p, const at_tensor *y, int which)
{
    at_tensor *dy = at_const(t, y->shape, NULL);
    fill(dy, p, (uint64_t)which);
    return dy;
}

sdpa_run sdpa_inputs(at_tape *t, const sdpa_problem *p)
{
    sdpa_run r = {0};
    for (int i = 0; i < SDPA_REALS; i++)
        if (sdpa_has_input(p, i)) r.in[i] = input(t, p, i);
    sdpa_share_inputs(p, r.in);
    if (p->has_keep) r.keep = at_bools(t, p->keep, NULL);
    if (p->has_key_len) r.key_len = at_ints(t, at_shape_of(p->B), NULL);
    r.segments = sdpa_ids(t, p, false), r.key_segments = sdpa_ids(t, p, true);
    if (!at_ok(t)) return r;
    r.cells = (double)p->B * p->H * p->T * p->S;
    for (ptrdiff_t n = r.bias ? at_count(p->bias) : 0, i = 0; i < n; i++)
        if (sdpa_infinite_at(p, i)) at_store(r.bias->dtype, r.bias->data, i, -(double)INFINITY);
    for (ptrdiff_t n = r.keep ? at_count(p->keep) : 0, i = 0; i < n; i++)
        at_store(ATTIC_BOOL, r.keep->data, i, sdpa_keep_at(p, i));
    for (int b = 0; r.key_len && b < p->B; b++)
        at_store(ATTIC_I32, r.key_len->data, b, sdpa_key_len_at(p, b));
    return r;
}

void sdpa_give_masks(at_sdpa_args *a, const sdpa_run *r)
{
    a->keep = r->keep, a->key_len = r->key_len;
    a->segments = r->segments, a->key_segments = r->key_segments;
}

bool sdpa_forward(at_tape *t, const sdpa_problem *p, sdpa_run *r, at_sdpa_path path)
{
    at_sdpa_args a = p->args;
    sdpa_give_inputs(&a, r->in);
    sdpa_give_masks(&a, r);
    a.path = path;
    if (p->weights != SDPA_NO_WEIGHTS) a.weights = &r->weights;
    if (p->scores) a.scores = &r->scores;
    if (p->probs != SDPA_NO_WEIGHTS) a.probs = &r->probs;
    if (p->lse != SDPA_NO_WEIGHTS) a.lse = &r->lse;
    r->O = at_sdpa(t, r->Q, r->K, r->V, a);
    if (r->O && sdpa_sees_O(p)) r->dO = cotangent(t, p, r->O, FILLS_O);
    if (r->O && p->weights >= SDPA_BESIDE_O) r->dW = cotangent(t, p, r->weights, FILLS_WEIGHTS);
    if (r->O && p->probs >= SDPA_BESIDE_O) r->dY = cotangent(t, p, r->probs, FILLS_PROBS);
    if (r->O && p->lse >= SDPA_BESIDE_O) r->dL = cotangent(t, p, r->lse, FILLS_LSE);
    return at_ok(t);
}

bool sdpa_backward(at_tape *t, const sdpa_run *r)
{
    at_tensor *x[4], *c[4];
    int n = 0;
    if (r->dO) x[n] = r->O, c[n++] = r->dO;
    if (r->dW) x[n] = r->weights, c[n++] = r->dW;
    if (r->dY) x[n] = r->probs, c[n++] = r->dY;
    if (r->dL) x[n] = r->lse, c[n++] = r->dL;
    return at_backward(t, pairing(t, n, x, c));
}

sdpa_run sdpa_run_on(at_tape *t, const sdpa_problem *p, at_sdpa_path path)
{
    sdpa_run r = sdpa_inputs(t, p);
    bool ran = sdpa_forward(t, p, &r, path) && sdpa_backward(t, &r);
    ck_assert_msg(ran, "%s: %s", sdpa_problem_text(p), at_error(t));
    return r;
}

/* ------------------------------------------------------------------ comparing ------------------ */

static inline double number(at_dtype real, const void *x, ptrdiff_t i)
{
    if (!x) return 0; /* a gradient that nobody wanted */
    return real == ATTIC_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static double tensor_difference(const at_tensor *x, const at_tensor *y, bool grad, double least)
{
    if (!x || !y) return x == y ? 0 : (double)INFINITY;
    if (!at_same_shape(x->shape, y->shape)) return (double)INFINITY;
    const void *xs = grad ? x->grad : x->data, *ys = grad ? y->grad : y->data;
    double scale = least, worst = 0;
    for (ptrdiff_t n = at_count(y->shape), i = 0; i < n; i++) {
        double b = number(y->dtype, ys, i);
        if (fabs(b) > scale && isfinite(b)) scale = fabs(b);
    }
    for (ptrdiff_t n = at_count(y->shape), i = 0; i < n; i++) {
        double a = number(x->dtype, xs, i), b = number(y->dtype, ys, i);
        if (a == b || (isnan(a) && isnan(b))) continue;
        double off = fabs(a - b) / scale;
        if (!(off <= worst)) worst = isfinite(off) ? off : (double)INFINITY;
    }
    return worst;
}

double sdpa_difference(const sdpa_run *x, const sdpa_run *y, const char **where)
{
    static char grad[SDPA_REALS][32];
    const struct {
        const char *name;
        const at_tensor *x, *y;
    } part[] = {{"O", x->O, y->O},
                {"weights", x->weights, y->weights},
                {"scores", x->scores, y->scores},
                {"probs", x->probs, y->probs},
                {"lse", x->lse, y->lse}};
    double worst = 0;
    *where = "nothing";
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        double off = tensor_difference(part[i].x, part[i].y, false, 1);
        if (off > worst) worst = off, *where = part[i].name;
    }
    for (int i = 0; i < SDPA_REALS; i++) {
        const at_tensor *sum = i >= SDPA_BIAS ? y->in[i] : NULL; /* sums over many cells */
        double least = sum ? fmax(1, sqrt(y->cells / (double)at_count(sum->shape)) / 16) : 1;
        if (i == SDPA_SCALE) least *= 2; /* each cell has its score as a factor */
        double off = tensor_difference(x->in[i], y->in[i], true, least);
        if (!(off > worst)) continue;
        snprintf(grad[i], sizeof grad[i], "d%s", sdpa_input_name(i));
        worst = off, *where = grad[i];
    }
    return worst;
}
