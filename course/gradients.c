/* gradients.c -- gradients of an attention from arrays, judged; see gradients.h. */
#include "gradients.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "attic_op.h"

const steps_name gradients_names[GRADIENTS_COUNT] = {STEPS_O, STEPS_DQ, STEPS_DK, STEPS_DV};

/* The problem of a file, and how it is laid out */
typedef struct {
    const array *at[STEPS_COUNT]; /* Q, K, V, O, dO, dQ, dK, dV; NULL: not given */
    const array *mask;
    bool keeps;          /* 1 in the mask is what is attended to; else it is added */
    gradients_report *r; /* sizes and settings */
} problem;

AT_PRINTF(3, 4)
static bool refuse(gradients_report *r, gradients_kind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->message, sizeof r->message, format, args);
    va_end(args);
    r->kind = kind;
    return false;
}

/* Before a refusal of kind GRADIENTS_ASKED: what is asked */
static gradients_kind asks(gradients_report *r, const char *what)
{
    r->ask = what;
    return GRADIENTS_ASKED;
}

/* ------------------------------------------------------------------ which arrays --------------- */

static const steps_name known[] = {STEPS_Q,  STEPS_K,  STEPS_V,  STEPS_DO,
                                   STEPS_DQ, STEPS_DK, STEPS_DV, STEPS_O};
enum { KNOWN = sizeof known / sizeof *known, REQUIRED = 4 };

static const char *const settings[] = {"mask", "causal", "scale", "softcap", "kv_heads"};

static bool is_known(const char *name)
{
    for (int k = 0; k < KNOWN; k++)
        if (strcasecmp(name, steps_texts[known[k]].name) == 0) return true;
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
        if (strcasecmp(name, settings[k]) == 0) return true;
    return false;
}

static bool is_whole(const array *a)
{
    return a->x->dtype == ATTIC_I32 || a->x->dtype == ATTIC_BOOL;
}

/* What is not finite in the inputs makes every gradient so. */
static bool check_inputs(const problem *p)
{
    for (int k = 0; k < REQUIRED; k++) {
        const array *a = p->at[known[k]];
        for (ptrdiff_t e = 0; e < at_count(a->x->shape); e++)
            if (!isfinite(at_element(a->x, e)))
                return refuse(p->r, GRADIENTS_REFUSED, "%s: element %td is %g", a->name, e,
                              at_element(a->x, e));
    }
    return true;
}

static bool find_arrays(const arrays *all, problem *p)
{
    for (int k = 0; k < all->n; k++)
        if (!is_known(all->of[k].name))
            return refuse(p->r, GRADIENTS_REFUSED,
                          "\"%s\" is none of Q K V O dO dQ dK dV, mask, causal, scale, softcap, "
                          "kv_heads",
                          at_shown(all->of[k].name, -1));
    for (int k = 0; k < KNOWN; k++) {
        const char *name = steps_texts[known[k]].name;
        const array *a = p->at[known[k]] = arrays_find(all, name);
        if (!a && k < REQUIRED) return refuse(p->r, GRADIENTS_REFUSED, "there is no %s", name);
        if (a && is_whole(a))
            return refuse(p->r, GRADIENTS_REFUSED, "%s holds %s, not reals", name, a->dtype);
    }
    p->mask = arrays_find(all, "mask");
    if (!p->at[STEPS_DQ] && !p->at[STEPS_DK] && !p->at[STEPS_DV])
        return refuse(p->r, GRADIENTS_REFUSED, "there is none of dQ, dK and dV to judge");
    return check_inputs(p);
}

/* One number, or `absent` */
static bool find_number(const arrays *all, gradients_report *r, const char *name, double absent,
                        double *x)
{
    const array *a = arrays_find(all, name);
    *x = absent;
    if (!a) return true;
    if (at_count(a->x->shape) != 1)
        return refuse(r, GRADIENTS_REFUSED, "%s is %s, but must be one number", name,
                      at_shape_text(a->x->shape));
    *x = at_element(a->x, 0);
    return isfinite(*x) || refuse(r, GRADIENTS_REFUSED, "%s is %g", name, *x);
}

static bool find_settings(const arrays *all, gradients_report *r)
{
    double causal, heads;
    if (!find_number(all, r, "scale", 1 / sqrt(r->D), &r->scale) ||
        !find_number(all, r, "softcap", 0, &r->softcap) ||
        !find_number(all, r, "causal", 0, &causal) ||
        !find_number(all, r, "kv_heads", r->G, &heads))
        return false;
    r->own_scale = arrays_find(all, "scale") != NULL;
    r->causal = causal != 0;
    if (r->scale == 0 || r->softcap < 0)
        return refuse(r, GRADIENTS_REFUSED, "%s",
                      r->scale == 0 ? "scale is 0" : "softcap is negative");
    return heads == r->G ||
           refuse(r, GRADIENTS_REFUSED, "kv_heads is %g, but K has %d heads", heads, r->G);
}

/* ------------------------------------------------------------------ shapes --------------------- */

/* The extents of x as [B,H,T,D] */
static void axes_of(const array *a, gradients_layout layout, int dim[4])
{
    const at_shape s = a->x->shape;
    for (int k = 0; k < 4; k++) dim[k] = k < 4 - s.ndim ? 1 : s.dim[k - (4 - s.ndim)];
    if (s.ndim != 4 || layout != LAYOUT_BTHD) return;
    dim[1] = s.dim[2], dim[2] = s.dim[1];
}

static void set_sizes(const problem *p, gradients_layout layout)
{
    int Q[4], K[4], V[4];
    axes_of(p->at[STEPS_Q], layout, Q);
    axes_of(p->at[STEPS_K], layout, K);
    axes_of(p->at[STEPS_V], layout, V);
    p->r->B = Q[0], p->r->H = Q[1], p->r->T = Q[2], p->r->D = Q[3];
    p->r->G = K[1], p->r->N = K[2], p->r->Dv = V[3];
    p->r->axes = p->at[STEPS_Q]->x->shape.ndim;
    p->r->layout = layout;
}

static bool is_of_keys(steps_name what)
{
    return what == STEPS_K || what == STEPS_V || what == STEPS_DK || what == STEPS_DV;
}

static bool is_of_values(steps_name what)
{
    return what == STEPS_V || what == STEPS_DV || what == STEPS_O || what == STEPS_DO;
}

/* Has the array the extents that follow from the sizes? */
static bool has_shape(const problem *p, steps_name what)
{
    const gradients_report *r = p->r;
    const int right[4] = {r->B, is_of_keys(what) ? r->G : r->H, is_of_keys(what) ? r->N : r->T,
                          is_of_values(what) ? r->Dv : r->D};
    int dim[4];
    axes_of(p->at[what], r->layout, dim);
    return p->at[what]->x->shape.ndim == r->axes && memcmp(dim, right, sizeof dim) == 0;
}

/* A mask is [B,H,T,N] in either layout, with axes that are absent or 1. */
static bool mask_fits(const problem *p)
{
    const int right[4] = {p->r->B, p->r->H, p->r->T, p->r->N};
    int dim[4];
    if (!p->mask) return true;
    if (p->mask->x->shape.ndim > 4) return false;
    axes_of(p->mask, LAYOUT_BHTD, dim);
    for (int k = 0; k < 4; k++)
        if (dim[k] != right[k] && dim[k] != 1) return false;
    return true;
}

/* Sets the sizes; false if they do not fit together, and *odd is the first array that does not. */
static bool layout_fits(const problem *p, gradients_layout layout, steps_name *odd)
{
    set_sizes(p, layout);
    for (int k = 0; k < KNOWN; k++) {
        *odd = known[k];
        if (p->at[*odd] && !has_shape(p, *odd)) return false;
    }
    *odd = STEPS_K;
    if (p->r->G == 0 || p->r->H % p->r->G != 0) return false;
    *odd = STEPS_KEEP;
    return mask_fits(p);
}

static const char *shape_text(const problem *p, steps_name what)
{
    const array *a = what == STEPS_KEEP ? p->mask : p->at[what];
    return a ? at_shape_text(a->x->shape) : "absent";
}

static bool refuse_shapes(const problem *p, steps_name odd)
{
    const gradients_report *r = p->r;
    return refuse(
        p->r, GRADIENTS_REFUSED,
        "%s is %s, which does not fit Q %s, K %s and V %s: B %d, H %d, G %d, T %d, N %d, D "
        "%d, Dv %d%s",
        odd == STEPS_KEEP ? "mask" : steps_texts[odd].name, shape_text(p, odd),
        shape_text(p, STEPS_Q), shape_text(p, STEPS_K), shape_text(p, STEPS_V), r->B, r->H, r->G,
        r->T, r->N, r->D, r->Dv, r->G && r->H % r->G ? "; G must divide H" : "");
}

/* The layout that fits, or the one that was chosen */
static bool find_layout(const arrays *all, const problem *p, gradients_layout chosen)
{
    steps_name odd[2];
    const array *Q = p->at[STEPS_Q], *heads = arrays_find(all, "kv_heads");
    const int axes = Q ? Q->x->shape.ndim : 0;
    if (axes < 2 || axes > 4)
        return refuse(p->r, GRADIENTS_REFUSED, "Q is %s, but must have 2, 3 or 4 axes",
                      shape_text(p, STEPS_Q));
    if (axes < 4) chosen = LAYOUT_BHTD;
    if (chosen != LAYOUT_ASK) return layout_fits(p, chosen, odd) || refuse_shapes(p, *odd);
    bool fits[2];
    for (int k = 1; k >= 0; k--) {
        fits[k] = layout_fits(p, k ? LAYOUT_BTHD : LAYOUT_BHTD, &odd[k]);
        if (heads && at_element(heads->x, 0) != p->r->G) fits[k] = false;
    }
    if (fits[0] && fits[1])
        return refuse(p->r, asks(p->r, "layout"),
                      "Q %s and K %s fit two layouts: [B,H,T,D] with %d heads and %d queries "
                      "(--layout=bhtd), [B,T,H,D] with %d heads and %d queries (--layout=bthd)",
                      shape_text(p, STEPS_Q), shape_text(p, STEPS_K), p->r->H, p->r->T, p->r->T,
                      p->r->H);
    if (fits[1]) set_sizes(p, LAYOUT_BTHD);
    return fits[0] || fits[1] || refuse_shapes(p, odd[0]);
}

static bool check_sizes(gradients_report *r, gradients_corner chosen)
{
    const ptrdiff_t scores = (ptrdiff_t)r->T * r->N, group = scores * (r->H / r->G);
    if (r->B == 0 || scores == 0 || r->H == 0 || r->D == 0 || r->Dv == 0)
        return refuse(r, GRADIENTS_REFUSED, "an axis has no elements");
    if (group > GRADIENTS_MOST)
        return refuse(r, GRADIENTS_REFUSED,
                      "%d x %d scores of %d heads that share keys are %td, more than %d: fewer "
                      "queries or keys show the same mistake",
                      r->T, r->N, r->H / r->G, group, GRADIENTS_MOST);
    r->heads = scores * r->H <= r->most ? r->H : r->H / r->G;
    r->parts = r->B * (r->H / r->heads);
    r->corner = chosen;
    if (!r->causal || r->T == r->N) r->corner = CORNER_TOP_LEFT;
    return r->corner != CORNER_ASK ||
           refuse(
               r, asks(r, "corner"),
               "a causal mask of %d queries and %d keys has two places: row i attends to keys up "
               "to i (--corner=top-left, as is_causal of PyTorch), or up to i %+d "
               "(--corner=bottom-right, as FlashAttention from 2.1 on)",
               r->T, r->N, r->N - r->T);
}

/* ------------------------------------------------------------------ the mask ------------------- */

static double mask_element(const problem *p, int b, int h, int i, int j)
{
    int dim[4];
    axes_of(p->mask, LAYOUT_BHTD, dim);
    const int index[4] = {b, h, i, j};
    ptrdiff_t e = 0;
    for (int k = 0; k < 4; k++) e = e * dim[k] + (dim[k] == 1 ? 0 : index[k]);
    return at_element(p->mask->x, e);
}

static bool check_mask(problem *p)
{
    bool ones = false, others = false;
    p->r->masked = p->mask != NULL;
    if (!p->mask) return true;
    for (ptrdiff_t e = 0; e < at_count(p->mask->x->shape); e++) {
        const double x = at_element(p->mask->x, e);
        if (isnan(x) || x == (double)INFINITY)
            return refuse(p->r, GRADIENTS_REFUSED, "mask: element %td is %g", e, x);
        ones = ones || x == 1;
        others = others || (x != 0 && x != 1);
    }
    const bool is_json = strcmp(p->mask->dtype, "json") == 0; /* where true is 1 */
    p->keeps = is_whole(p->mask) || (is_json && !others);
    if (is_whole(p->mask) && others)
        return refuse(p->r, GRADIENTS_REFUSED, "the integers of mask must be 0 and 1");
    return p->keeps || !ones || others ||
           refuse(p->r, asks(p->r, "mask"),
                  "mask holds reals that are all 0 or 1: save it as bool if 1 is what is attended "
                  "to; reals are added to the scores");
}

/* What is added to a score: -infinity where it is masked */
static double bias_of(const problem *p, int b, int h, int i, int j)
{
    const gradients_report *r = p->r;
    const int shift = r->corner == CORNER_BOTTOM_RIGHT ? r->N - r->T : 0;
    if (r->causal && j > i + shift) return -(double)INFINITY;
    if (!p->mask) return 0;
    const double x = mask_element(p, b, h, i, j);
    return !p->keeps ? x : x != 0 ? 0 : -(double)INFINITY;
}

/* ------------------------------------------------------------------ the unit ------------------- */

/* Are all elements of at most so many binary digits, and as many as random ones use all of them? */
typedef struct {
    bool fits;
    ptrdiff_t full, some; /* elements whose last digit is 1; that are not 0 */
} digits_seen;

static void look_at_digits(const array *a, int digits, digits_seen *seen)
{
    for (ptrdiff_t e = 0; e < at_count(a->x->shape) && seen->fits; e++) {
        int exponent;
        const double x = at_element(a->x, e), m = ldexp(frexp(x, &exponent), digits);
        if (!isfinite(x) || x == 0) continue;
        seen->fits = m == rint(m);
        seen->full += fmod(m, 2) != 0;
        seen->some++;
    }
}

/* What the gradients were computed in: the narrowest dtype that holds all of their elements.  Small
 * integers and the like would fit, too: of numbers of k digits half have a last digit of 1. */
static void find_unit(const problem *p)
{
    static const struct {
        const char *dtype;
        int digits;
    } real[] = {{"bf16", 8}, {"f16", 11}, {"f32", 24}};
    p->r->dtype = "f64", p->r->unit = exp2(-53);
    for (size_t k = 0; k < sizeof real / sizeof *real; k++) {
        digits_seen seen = {.fits = true};
        bool stored = true;
        for (int g = GRADIENTS_DQ; g <= GRADIENTS_DV; g++) {
            const array *a = p->at[gradients_names[g]];
            if (!a) continue;
            look_at_digits(a, real[k].digits, &seen);
            stored = stored && strcmp(a->dtype, real[k].dtype) == 0;
        }
        if (!stored && !(seen.fits && seen.some >= 16 && 4 * seen.full >= seen.some)) continue;
        p->r->dtype = real[k].dtype, p->r->unit = exp2(-real[k].digits);
        return;
    }
}

/* ------------------------------------------------------------------ a part --------------------- */

static double element(const problem *p, steps_name what, int b, int h, int i, int d)
{
    const array *a = p->at[what];
    int dim[4];
    axes_of(a, p->r->layout, dim);
    const bool rows_first = a->x->shape.ndim == 4 && p->r->layout == LAYOUT_BTHD;
    const ptrdiff_t row = rows_first ? ((ptrdiff_t)b * dim[2] + i) * dim[1] + h
                                     : ((ptrdiff_t)b * dim[1] + h) * dim[2] + i;
    return at_element(a->x, row * dim[3] + d);
}

/* The heads of a bias: none, 1, or all of the part, if they differ. */
static int heads_of_bias(const problem *p, int b, int first)
{
    bool added = false, by_head = false;
    for (int i = 0; i < p->r->T; i++)
        for (int j = 0; j < p->r->N; j++) {
            const double x = bias_of(p, b, first, i, j);
            for (int h = 0; h < p->r->heads; h++) {
                const double y = bias_of(p, b, first + h, i, j);
                added = added || (y != 0 && isfinite(y));
                by_head = by_head || x != y;
            }
        }
    return by_head ? p->r->heads : added;
}

/* What no head attends to is masked; the rest of the mask is a bias. */
static void set_mask(const problem *p, int b, int first, steps *a)
{
    for (int i = 0; i < p->r->T; i++)
        for (int j = 0; j < p->r->N; j++) {
            bool any = false;
            for (int h = 0; h < p->r->heads; h++)
                any = any || isfinite(bias_of(p, b, first + h, i, j));
            *steps_cell(a, STEPS_KEEP, 0, i, j) = any;
            for (int h = 0; h < a->p.bias_H; h++)
                *steps_cell(a, STEPS_BIAS, h, i, j) = any ? bias_of(p, b, first + h, i, j) : 0;
        }
}

static void set_elements(const problem *p, int b, int first, steps_name what, steps *a)
{
    const int shared = p->r->H / p->r->G, head = is_of_keys(what) ? first / shared : first;
    for (int h = 0; h < a->dim[what][0]; h++)
        for (int i = 0; i < a->dim[what][1]; i++)
            for (int d = 0; d < a->dim[what][2]; d++)
                *steps_cell(a, what, h, i, d) = element(p, what, b, head + h, i, d);
}

/* The attention of some heads, forward, and in *got what the file says of it.  NULL: no memory. */
static steps *open_part(const problem *p, int part, steps **got)
{
    const gradients_report *r = p->r;
    const int in_batch = r->H / r->heads, b = part / in_batch, first = part % in_batch * r->heads;
    const int bias = heads_of_bias(p, b, first);
    const steps_problem s = {.H = r->heads,
                             .G = r->heads == r->H ? r->G : 1,
                             .T = r->T,
                             .N = r->N,
                             .D = r->D,
                             .Dv = r->Dv,
                             .scale = r->own_scale ? r->scale : 0,
                             .softcap = r->softcap,
                             .bias_H = bias,
                             .bias_T = bias ? r->T : 0,
                             .bias_N = bias ? r->N : 0};
    steps *a = steps_open(&s);
    *got = steps_open(&s);
    if (!a || !*got) {
        steps_close(a), steps_close(*got);
        return NULL;
    }
    set_mask(p, b, first, a);
    for (int k = 0; k < KNOWN; k++)
        if (p->at[known[k]]) set_elements(p, b, first, known[k], k < REQUIRED ? a : *got);
    steps_forward(a, STEPS_R);
    return a;
}

static bool is_wrong(const verdict *v)
{
    return v->kind >= VERDICT_WRONG;
}

/* Judges a part; its verdicts become those of the report where they are worse, or named. */
static bool judge_part(const problem *p, int part, bool named)
{
    steps *got, *a = open_part(p, part, &got);
    mistakes_answer answer = {.unit = p->r->unit, .unnamed = !named};
    mistakes_report of;
    bool good = a != NULL;
    for (int k = 0; good && k < GRADIENTS_COUNT; k++)
        if (p->r->of[k].given) answer.got[gradients_names[k]] = got->at[gradients_names[k]];
    good = good && mistakes_judge(a, &answer, &of);
    for (int k = 0; good && k < GRADIENTS_COUNT; k++) {
        gradients_one *one = &p->r->of[k];
        const verdict *v = &of.of[gradients_names[k]];
        if (!one->given) continue;
        one->wrong += !named && is_wrong(v);
        if (named ? !is_wrong(v) : v->error <= one->v.error) continue;
        one->v = *v;
        one->batch = part / (p->r->H / p->r->heads);
        one->head = part % (p->r->H / p->r->heads) * p->r->heads;
    }
    if (good && named) p->r->all = of.all, p->r->named = true;
    if (a) steps_close(a), steps_close(got);
    return good;
}

/* *worst is the part with the largest error. */
static bool judge_parts(const problem *p, int *worst)
{
    gradients_report *r = p->r;
    double most = -1;
    r->kind = GRADIENTS_RIGHT;
    for (int k = 0; k < GRADIENTS_COUNT; k++)
        r->of[k] = (gradients_one){.given = p->at[gradients_names[k]], .v = {.error = -1}};
    for (int part = 0; part < r->parts; part++)
        if (!judge_part(p, part, false)) return false;
    for (int k = 0; k < GRADIENTS_COUNT; k++) {
        const gradients_one *one = &r->of[k];
        if (one->wrong) r->kind = GRADIENTS_WRONG;
        if (!one->wrong || one->v.error <= most) continue;
        most = one->v.error;
        *worst = one->batch * (r->H / r->heads) + one->head / r->heads;
    }
    return true;
}

/* ------------------------------------------------------------------ what it tells -------------- */

/* dV needs P, dK and dQ need dR: what is right rules out what comes before it. */
static const char *where_to_look(const gradients_report *r)
{
    const gradients_one *dQ = &r->of[GRADIENTS_DQ], *dK = &r->of[GRADIENTS_DK],
                        *dV = &r->of[GRADIENTS_DV];
    if (r->of[GRADIENTS_O].wrong)
        return "O is wrong, too: the setting is another one (mask, causal, scale, layout), or the "
               "forward is wrong.";
    if (!dQ->given || !dK->given || !dV->given) return "";
    if (dQ->wrong && dK->wrong && dV->wrong)
        return "All three are wrong: look at what they share, P (mask, scale, log-sum-exp) and dO.";
    if (dQ->wrong && dK->wrong)
        return "dV is right, so P and dO are: look between dA = dO V^T and dR (steps 7 to 2).";
    if (dQ->wrong)
        return "dK is right, so dR is: look at dQ = dR K (step 1), and at what its kernel computes "
               "again.";
    if (dK->wrong && !dV->wrong) return "dQ is right, so dR is: look at dK = dR^T Q (step 1).";
    if (dV->wrong && !dK->wrong)
        return "dQ and dK are right, so P is: look at dV = P^T dO (step 8).";
    return "dQ is right, so P and dR are: look at how dK and dV are summed and stored.";
}

/* What is wrong by little everywhere, and has no name, may be right in coarser products. */
static const char *how_precise(const gradients_report *r)
{
    double most = 0;
    for (int k = 0; k < GRADIENTS_COUNT; k++) {
        if (mistakes_any(r->of[k].v.named)) return r->look;
        if (r->of[k].given) most = fmax(most, r->of[k].v.error);
    }
    if (r->unit >= exp2(-11)) return r->look;
    if (most <= 8 * exp2(-11))
        return "Every element is right to the digits of TF32 and f16: were products computed in "
               "these?";
    if (most <= 8 * exp2(-8))
        return "Every element is right to the digits of bf16: were products computed in it?";
    return r->look;
}

/* The same file with another mask, another scale or both; r->instead says so if the gradients are
 * right then.
 * A right answer to another question is no mistake in the backward. */
static bool try_setting(const problem *p, bool mask, bool scale)
{
    gradients_report other = *p->r;
    problem q = *p;
    int worst;
    q.r = &other;
    if (mask && p->mask) q.mask = NULL, other.masked = false;
    if (mask && !p->mask) other.causal = !other.causal, other.corner = CORNER_TOP_LEFT;
    if (scale) {
        other.own_scale = !other.own_scale;
        other.scale = other.own_scale ? 1 : 1 / sqrt(other.D);
    }
    if (!judge_parts(&q, &worst)) return false;
    if (!other.of[GRADIENTS_DQ].wrong && !other.of[GRADIENTS_DK].wrong &&
        !other.of[GRADIENTS_DV].wrong)
        snprintf(p->r->instead, sizeof p->r->instead, "%s%s%s",
                 !mask          ? ""
                 : p->mask      ? "without the mask"
                 : other.causal ? "with a causal mask"
                                : "without a causal mask",
                 mask && scale ? " and " : "",
                 !scale            ? ""
                 : other.own_scale ? "with a scale of 1"
                                   : "with a scale of 1/sqrt(D)");
    return true;
}

static bool try_settings(const problem *p)
{
    for (int k = 1; k < 4 && !*p->r->instead; k++)
        if (!try_setting(p, k & 1, k & 2)) return false;
    return true;
}

bool gradients_judge(const arrays *all, const gradients_choice *choice, gradients_report *r)
{
    problem p = {.r = r};
    int worst = 0;
    *r = (gradients_report){.look = "", .dtype = "", .ask = ""};
    r->most = choice->named ? choice->named : GRADIENTS_NAMED;
    if (!find_arrays(all, &p) || !find_layout(all, &p, choice->layout) || !find_settings(all, r) ||
        !check_sizes(r, choice->corner) || !check_mask(&p))
        return true;
    find_unit(&p);
    if (!judge_parts(&p, &worst)) return false;
    if (r->kind == GRADIENTS_RIGHT) return true;
    r->look = where_to_look(r);
    if (!try_settings(&p)) return false;
    const ptrdiff_t scores = (ptrdiff_t)r->heads * r->T * r->N;
    if (*r->instead) return true;
    if (scores <= r->most && !judge_part(&p, worst, true)) return false;
    r->look = how_precise(r);
    return true;
}
