/* 07_never_minus_1e9.c -- why a mask is not a large negative number.
 *
 * Many programs mask a key by adding -1e9 (or -10000) to its score, or by replacing the score by
 * that number, and rely on exp() of it being 0.  Mostly it is.  Here one query attends to four
 * keys, whose values are 1, 10, 100 and 1000 so that the output shows which of them were read, in
 * four cases:
 *
 *     1  some keys masked        every method is right: this case hides the others
 *     2  all keys masked         (the query is padding): the weights become 1/4 each, or those
 *                                without a mask, or NaN; and gradients flow from a row that should
 *                                have none into keys and values that are masked
 *     3  kept scores of -12000   (as after a steep distance bias): -10000 is not the smallest score
 *                                any more, and masked keys get all weight
 *     4  two masks added         -3.4e38 twice is -inf, and a row of -inf is NaN
 *
 * at_sdpa writes no such number: it leaves masked keys out of its sums.  In a composition of single
 * ops, at_masked_fill with -INFINITY and at_softmax, which defines empty rows as 0, give the same
 * weights.  One difference is left, and the last table shows it: 0 times NaN is NaN.  Padding may
 * contain anything; only what is never read has no effect.
 *
 * Read on: 08_look_at_attention.c draws the weights. */
#include "attic.h"
#include "attic_plot.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "common/options.h"

enum { N = 4 };

/* ---- ways to mask --------------------------------------------------------------------------- */

typedef enum { SKIP, FILL, ADD, TEXTBOOK } way;
typedef struct {
    const char *name;
    way way;
    double number;
    at_dtype real;
} method;

static const method table[] = {
    {"left out: at_sdpa, keep", SKIP, 0, ATTIC_F32},
    {"filled with -inf", FILL, -(double)INFINITY, ATTIC_F32},
    {"filled with -inf, textbook", TEXTBOOK, -(double)INFINITY, ATTIC_F32},
    {"filled with -1e9", FILL, -1e9, ATTIC_F32},
    {"-1e9 added, float", ADD, -1e9, ATTIC_F32},
    {"-1e9 added, double", ADD, -1e9, ATTIC_F64},
    {"filled with -10000", FILL, -10000, ATTIC_F32},
};
enum { METHODS = sizeof table / sizeof *table };

/* exp(S - max S) / sum exp(S - max S), which is NaN for a row of -inf */
static at_tensor *textbook_softmax(at_tape *t, at_tensor *s)
{
    at_tensor *e = at_exp(t, at_sub(t, s, at_max_over(t, s, at_axes(-1), true)));
    return at_div(t, e, at_sum_over(t, e, at_axes(-1), true));
}

static at_tensor *weights_of(at_tape *t, const method *m, at_tensor *s, at_tensor *drop)
{
    at_tensor *zero = at_const(t, at_shape_of(), NULL);
    at_tensor *number = at_const(t, at_shape_of(), &m->number);
    if (m->way == ADD) return at_softmax(t, at_add(t, s, at_where(t, drop, number, zero)));
    s = at_masked_fill(t, s, drop, m->number);
    return m->way == FILL ? at_softmax(t, s) : textbook_softmax(t, s);
}

/* ---- one query ------------------------------------------------------------------------------ */

typedef struct {
    double P[N], O, dQ, dK, dV; /* weights, output; lengths of gradients, for dO = 1 */
} result;

static double length_of_grad(const at_tensor *x)
{
    double sum = 0;
    for (ptrdiff_t i = 0; x && i < at_count(x->shape); i++) sum += pow(at_grad_element(x, i), 2);
    return sqrt(sum);
}

/* The keys are the unit vectors, so with c = 1 the scores are the query. */
static result attend(const method *m, const double *scores, const bool *keep)
{
    const double unit[N][N] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    const bool drop[N] = {!keep[0], !keep[1], !keep[2], !keep[3]};
    result r = {0};
    at_tape *t = at_open(m->real, 1);
    at_tensor *Q = at_variable(t, at_shape_of(1, N), scores), *P = NULL, *O;
    at_tensor *K = at_variable(t, at_shape_of(N, N), &unit[0][0]);
    at_tensor *V = at_variable(t, at_shape_of(N, 1), (const double[]){1, 10, 100, 1000});
    if (m->way == SKIP) {
        at_tensor *kept = at_bools(t, at_shape_of(1, N), keep);
        O = at_sdpa(t, Q, K, V, (at_sdpa_args){.scale = 1, .keep = kept, .weights = &P});
    } else {
        at_tensor *s = at_matmul_t(t, Q, false, K, true);
        P = weights_of(t, m, s, at_bools(t, at_shape_of(1, N), drop));
        O = at_matmul(t, P, V);
    }
    at_backward(t, O);
    for (int j = 0; j < N; j++) r.P[j] = at_get(P, 0, j);
    r.O = at_item(O);
    r.dQ = length_of_grad(Q), r.dK = length_of_grad(K), r.dV = length_of_grad(V);
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    at_close(t);
    return r;
}

/* ---- are the comments true? ------------------------------------------------------------------- */

static bool weights_are(const result *r, double a, double b, double c, double d)
{
    const double P[N] = {a, b, c, d};
    for (int j = 0; j < N; j++)
        if (!(fabs(r->P[j] - P[j]) < 1e-3)) return false;
    return true;
}

enum { SKIPPED, INF, INF_TEXTBOOK, FILL_1E9, ADD_FLOAT, ADD_DOUBLE, FILL_1E4 }; /* in the table */

static bool all_are_right(const result *r)
{
    bool ok = true;
    for (int m = 0; m < METHODS; m++) ok = ok && weights_are(&r[m], 0.269, 0.731, 0, 0);
    return ok;
}

static bool only_two_are_empty(const result *r)
{
    bool ok = isnan(r[INF_TEXTBOOK].P[0]) && isnan(r[INF_TEXTBOOK].dV);
    for (int m = SKIPPED; m <= INF; m++)
        ok = ok && weights_are(&r[m], 0, 0, 0, 0) && r[m].O == 0 && r[m].dQ == 0 && r[m].dK == 0 &&
             r[m].dV == 0;
    ok = ok && weights_are(&r[FILL_1E9], 0.25, 0.25, 0.25, 0.25) && r[FILL_1E9].dV > 0;
    ok = ok && weights_are(&r[ADD_FLOAT], 0.25, 0.25, 0.25, 0.25) && r[ADD_FLOAT].dK > 0;
    return ok && weights_are(&r[ADD_DOUBLE], 0.032, 0.087, 0.237, 0.644);
}

static bool masked_keys_have_all(const result *r)
{
    bool ok = weights_are(&r[FILL_1E4], 0, 0, 0.5, 0.5);
    for (int m = SKIPPED; m <= INF; m++) ok = ok && weights_are(&r[m], 0.731, 0.269, 0, 0);
    return ok;
}

/* ---- situations 1 to 3 ---------------------------------------------------------------------- */

typedef struct {
    const char *name;
    double score[N];
    bool keep[N];
    bool (*is_true)(const result *by_method);
    const char *comment;
} situation;

static const situation ask[] = {
    {"some masked",
     {1, 2, 3, 4},
     {1, 1, 0, 0},
     all_are_right,
     "All the same: this is the case that is usually tested."},
    {"all masked",
     {1, 2, 3, 4},
     {0, 0, 0, 0},
     only_two_are_empty,
     "The query is padding, and nothing should come of it.  The textbook softmax divides 0 by 0.\n"
     "Filled, the output is the mean of masked values, and V gets a gradient.  Added, Q and K do\n"
     "as well; in double the sum keeps seven digits of the scores, and nothing is masked."},
    {"kept, far below",
     {-12000, -12001, 3, 4},
     {1, 1, 0, 0},
     masked_keys_have_all,
     "-10000 is above every kept score: all weight goes to masked keys."},
};
enum { SITUATIONS = sizeof ask / sizeof *ask };

/* C may print a NaN as nan or -nan. */
static double some_nan(double x)
{
    return isnan(x) ? (double)NAN : x;
}

static bool show(int k, result *got)
{
    printf("%d  %s: scores", k + 1, ask[k].name);
    for (int j = 0; j < N; j++)
        printf(ask[k].keep[j] ? "%s %g" : "%s (%g)", j ? "," : "", ask[k].score[j]);
    printf("     in brackets: masked\n\n"
           "%28s    weights                           O    |dQ|      |dK|    |dV|\n",
           "");
    for (int m = 0; m < METHODS; m++) {
        got[m] = attend(&table[m], ask[k].score, ask[k].keep);
        printf("%-28s", table[m].name);
        for (int j = 0; j < N; j++) printf("%7.3f", some_nan(got[m].P[j]));
        printf("  %8.3f%8.2f%10.2f%8.3f\n", some_nan(got[m].O), got[m].dQ, got[m].dK,
               some_nan(got[m].dV));
    }
    bool ok = ask[k].is_true(got);
    printf("\n%s\n\n", ok ? ask[k].comment : "This is NOT what was expected here.");
    return ok;
}

/* Near 1e9 the floats are 64 apart: what is left of a score that was added? */
static void show_digits(void)
{
    const float scores[] = {0, 1, 10, 31, 33, 100};
    printf("What is left of a score s in the float s + -1e9, where floats are 64 apart:\n\n");
    printf("s                 ");
    for (int i = 0; i < 6; i++) printf("%6g", (double)scores[i]);
    printf("\n(s + -1e9) - -1e9 ");
    for (int i = 0; i < 6; i++) {
        volatile float sum = scores[i] + -1e9f; /* to memory: no extra digits on any machine */
        printf("%6g", (double)(sum - -1e9f));
    }
    printf("\n\n");
}

/* ---- situation 4 ---------------------------------------------------------------------------- */

/* Every key is masked, some by one mask and some by two. */
static bool show_two_masks(const char *name, double number, const double twice[N], double *P)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *once = at_add_scalar(t, at_const(t, at_shape_of(N), NULL), number);
    at_tensor *both = at_add(t, once, at_scale(t, at_const(t, at_shape_of(N), twice), number));
    at_tensor *y = textbook_softmax(t, both);
    printf("%-28s", name);
    for (int j = 0; j < N; j++) printf("%7.3f", some_nan(P[j] = at_get(y, j)));
    printf("\n");
    bool ok = at_ok(t);
    at_close(t);
    return ok;
}

/* ---- what padding contains ------------------------------------------------------------------- */

typedef struct {
    int O, dQ, dK, dV; /* NaNs */
} nans;

static int count_nans(const at_tensor *x, bool of_gradient)
{
    int n = 0;
    for (ptrdiff_t i = 0; x && i < at_count(x->shape); i++)
        n += isnan(of_gradient ? at_grad_element(x, i) : at_element(x, i)) ? 1 : 0;
    return n;
}

/* The last key is padding, and its row of K or V contains a NaN. */
static nans attend_beside_nan(at_sdpa_path path, bool in_K, bool in_V)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *Q = at_param(t, "Q", at_shape_of(N, 2), at_normal(1));
    at_tensor *K = at_param(t, "K", at_shape_of(N, 2), at_normal(1));
    at_tensor *V = at_param(t, "V", at_shape_of(N, 2), at_normal(1));
    if (in_K) at_set(K, (double)NAN, N - 1, 0);
    if (in_V) at_set(V, (double)NAN, N - 1, 0);
    at_tensor *len = at_ints(t, at_shape_of(1), (const int32_t[]){N - 1});
    at_tensor *O = at_sdpa(t, Q, K, V, (at_sdpa_args){.key_len = len, .path = path});
    at_backward(t, at_sum(t, O));
    nans n = {count_nans(O, false), count_nans(Q, true), count_nans(K, true), count_nans(V, true)};
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    at_close(t);
    return n;
}

static bool show_nan(void)
{
    static const char *const name[] = {"", "fused", "plain", "composed"};
    bool as_said = true;
    printf("5  A NaN in the K or V of a key that is masked for all: NaNs among 8 elements each\n\n"
           "            in K:  O    dQ    dK    dV        in V:  O    dQ    dK    dV\n");
    for (int path = ATTIC_FUSED; path <= ATTIC_COMPOSED; path++) {
        nans k = attend_beside_nan(path, true, false), v = attend_beside_nan(path, false, true);
        printf("%-12s%8d%6d%6d%6d%16d%6d%6d%6d\n", name[path], k.O, k.dQ, k.dK, k.dV, v.O, v.dQ,
               v.dK, v.dV);
        int in_k = k.O + k.dQ + k.dK + k.dV, in_v = v.O + v.dQ + v.dK + v.dV;
        as_said = as_said && (path == ATTIC_COMPOSED ? in_k > 0 && in_v > 0 : in_k + in_v == 0);
    }
    printf("\n%s\n", as_said ? "Composed, the weight 0 is multiplied with NaN, and 0 NaN = NaN."
                             : "This is NOT what was expected here.");
    return as_said;
}

/* ---- the picture ---------------------------------------------------------------------------- */

static bool draw(const char *path, result got[SITUATIONS][METHODS])
{
    static const char *const key[] = {"1", "2", "3", "4"};
    static double P[METHODS][SITUATIONS][N];
    unsigned char keep[SITUATIONS][N];
    const char *row[SITUATIONS];
    at_subplot subplots[METHODS];
    for (int k = 0; k < SITUATIONS; k++) {
        row[k] = ask[k].name;
        for (int j = 0; j < N; j++) keep[k][j] = ask[k].keep[j];
        for (int m = 0; m < METHODS; m++) memcpy(P[m][k], got[k][m].P, sizeof P[m][k]);
    }
    for (int m = 0; m < METHODS; m++)
        subplots[m] =
            (at_subplot){.title = table[m].name, .data = P[m], .rows = SITUATIONS, .cols = N};
    subplots[0].keep = &keep[0][0];
    at_heatmap map = {.title = "Seven ways to mask keys 3 and 4, or all",
                      .subplots = subplots,
                      .n_subplots = METHODS,
                      .col_label = "Key",
                      .row_names = row,
                      .col_names = key,
                      .value_label = "weight",
                      .colours = ATTIC_COLOURS_UNIT};
    FILE *f = fopen(path, "w");
    bool drawn = at_svg_heatmap(f, &map);
    return written(f, path, drawn);
}

/* Methods whose weights are those of at_sdpa. */
static int count_right(const result *r)
{
    int n = 0;
    for (int m = 0; m < METHODS; m++)
        n += weights_are(&r[m], r[SKIPPED].P[0], r[SKIPPED].P[1], r[SKIPPED].P[2], r[SKIPPED].P[3]);
    return n;
}

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv,
                              "usage: 07_never_minus_1e9 [picture.svg]\n"
                              "Why a mask is not a large negative number.\n",
                              NULL, 1);
    result got[SITUATIONS][METHODS];
    double once[N], lowest[N], nothing[N];
    printf(
        "Is a large negative score as good as a mask?  One query, four keys of value 1, 10, 100,\n"
        "1000; the loss is the output O.  Look for weights of keys that are masked, in brackets.\n"
        "|dQ|, |dK|, |dV|: lengths of the gradients.  textbook: exp(S - max) / sum, without the\n"
        "rule that the softmax of a row of -inf is 0.\n\n");
    int as_expected = 0;
    for (int k = 0; k < SITUATIONS; k++) {
        as_expected += show(k, got[k]);
        if (k == 1) show_digits();
    }
    printf("4  Two masks added, which together mask all keys: the weights of the keys\n\n");
    bool ok = show_two_masks("-1e9; keys 3, 4 twice", -1e9, (const double[N]){0, 0, 1, 1}, once);
    ok = show_two_masks("-FLT_MAX; keys 3, 4 twice", -(double)FLT_MAX,
                        (const double[N]){0, 0, 1, 1}, lowest) &&
         ok;
    ok = show_two_masks("-FLT_MAX; all twice", -(double)FLT_MAX, (const double[N]){1, 1, 1, 1},
                        nothing) &&
         ok;
    ok = ok && once[0] == 0.5 && lowest[0] == 0.5 && isnan(nothing[0]);
    printf("\n%s\n\n",
           ok ? "A key that is masked once gets weight before one that is masked twice.  And\n"
                "twice the lowest float is -inf, of which the textbook softmax makes NaN."
              : "This is NOT what was expected here.");
    as_expected += ok;
    as_expected += show_nan();
    printf(
        "\nSeen: of %d methods, the weights of %d are right in table 1, of %d in 2, of %d in 3.\n",
        METHODS, count_right(got[0]), count_right(got[1]), count_right(got[2]));
    ok = as_expected == 5;
    if (argc > first) ok = draw(argv[first], got) && ok;
    return finish(!ok);
}
