/* small.c -- E0 to E3: a derivative, two small ops, a matrix product, one row of softmax.
 *
 * The wrong answers that have a name are computed beside the right one. */
#include "grading.h"
#include "protocol.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ E0 ------------------------ */

enum { CASES = 3 * F_COUNT };

typedef struct {
    int kind, call, points;
    double scale, x, right, got, error; /* the error is relative */
    const double *point;
    double h;       /* the distance of the farthest point where f was called */
    bool one_sided; /* no point beyond x on one side */
} difference;

static const char *const f_name[] = {"sin(x / s)", "exp(x / s)", "s / x"};

/* Functions that are as smooth as sin, exp and 1/x near 1, at any x: s is about as large as x. */
static void draw_difference(grading *g, difference *c, int kind, double size)
{
    *c = (difference){.kind = kind};
    c->x = size * draw_size(g, 200, 900) / 500.0 * (next_number(g) & 1 ? 1 : -1);
    c->scale = fabs(c->x) * draw_size(g, 100, 200) / 100.0;
    const double y = c->x / c->scale;
    c->right = kind == F_SIN   ? cos(y) / c->scale
               : kind == F_EXP ? exp(y) / c->scale
                               : -c->scale / (c->x * c->x);
}

static void look_at_points(difference *c)
{
    bool above = false, below = false;
    c->h = 0;
    for (int k = 0; k < c->points; k++) {
        double off = c->point[k] - c->x;
        above |= off > 0;
        below |= off < 0;
        c->h = fmax(c->h, fabs(off));
    }
    c->one_sided = above != below;
}

/* Is every answer k h^power times the right one?  Then it is no error of differences. */
static bool all_times(const difference *c, double k, int power)
{
    for (int i = 0; i < CASES; i++)
        if (!(fabs(c[i].got / (c[i].right * pow(c[i].h, power)) / k - 1) < 1e-6)) return false;
    return true;
}

static void say_difference(grade *q, const difference *c, const difference *worst)
{
    static const struct {
        double k;
        int power; /* of h */
        const char *text;
    } ratios[] = {
        {-1, 0,
         "the sign: every answer is -1 times f'(x).  Which of the two points lies to the right?"},
        {2, 0,
         "every answer is 2 times f'(x).  How far apart are the two points where f was called?"},
        {0.5, 0, "every answer is 0.5 times f'(x).  How far apart are the two points?"},
        {-2, 0, "every answer is -2 times f'(x): the sign, and the distance of the two points"},
        {1, 2,
         "every answer is h^2 times f'(x): / 2 * h divides by 2 and multiplies by h; / (2 * h) is "
         "meant"},
        {4, 2, "every answer is 4 h^2 times f'(x): it is multiplied by the distance, not divided"},
        {2, 1, "every answer is 2 h times f'(x): the difference is not divided by the distance"},
        {1, 1, "every answer is h times f'(x): the difference is divided by 2, but not by h"},
        {1, -1, "every answer is 1/h times f'(x): the difference is divided by h twice"},
    };
    for (size_t k = 0; k < sizeof ratios / sizeof *ratios; k++)
        if (all_times(c, ratios[k].k, ratios[k].power)) {
            snprintf(q->text, sizeof q->text, "%s", ratios[k].text);
            return;
        }
    bool one_sided = true, same = true;
    for (int i = 0; i < CASES; i++) {
        one_sided = one_sided && c[i].one_sided;
        same = same && fabs(c[i].h - c[0].h) < 0.01 * c[0].h;
    }
    const char *too = worst->h > 1e-5 * fabs(worst->x) ? "large" : "small";
    if (worst->points == 0)
        snprintf(q->text, sizeof q->text, "f was never called");
    else if (one_sided)
        snprintf(
            q->text, sizeof q->text,
            "a one-sided difference, f(x + h) - f(x), is wrong by about h f''(x) / 2; whatever "
            "h is, half of the digits are lost");
    else if (worst->one_sided)
        snprintf(q->text, sizeof q->text, "f was called on one side of x only");
    else
        snprintf(q->text, sizeof q->text, "h is too %s at x = %.4g%s", too, worst->x,
                 same ? ", and it is the same h for every x: should it be?" : "");
}

void grade_derivative(grading *g)
{
    script s = {.calls = 0};
    difference c[CASES], *worst = c;
    static const double size[] = {0.005, 1, 1000};
    for (int k = 0; k < CASES; k++) {
        double nothing[MAX_POINTS + 1] = {0};
        draw_difference(g, &c[k], k % F_COUNT, size[k / F_COUNT]);
        int b = script_buffer(&s, "points", MAX_POINTS + 1, nothing);
        c[k].call = script_call(&s, CALL_DERIVATIVE, 4,
                                (double[]){c[k].kind, c[k].scale, c[k].x, b}, 1, &b);
    }
    snprintf(g->sizes, sizeof g->sizes, "%d functions, x from %.2g to %.4g", CASES, fabs(c[0].x),
             fabs(c[CASES - 1].x));
    run_calls(g, &s);
    grade *q = add_grade(g, &s, CASES - 1);
    unsigned blanks = 0;
    for (int k = 0; q && k < CASES; k++) {
        const double *points = s.buffer[k].data;
        c[k].got = s.call[k].value;
        c[k].points = (int)fmin(points[0], MAX_POINTS);
        c[k].point = points + 1;
        look_at_points(&c[k]);
        c[k].error = isnan(c[k].got) ? (double)INFINITY : fabs(c[k].got / c[k].right - 1);
        if (c[k].error > worst->error) worst = &c[k];
        blanks |= s.call[k].blanks;
    }
    if (q && !grade_nan(g, q, 1, &worst->got, blanks, "the answer")) {
        q->kind = worst->error < 1e-8 ? VERDICT_EXACT : VERDICT_WRONG;
        if (q->kind == VERDICT_WRONG)
            say_difference(q, c, worst);
        else
            snprintf(q->text, sizeof q->text, "the largest relative error is %.1g", worst->error);
    }
    if (q && q->kind == VERDICT_WRONG)
        snprintf(q->arithmetic, sizeof q->arithmetic,
                 "f(x) = %s with s = %.4g at x = %.4g: f'(x) = %.10g, you have %.10g, a relative "
                 "error of %.1g; h was %.2g",
                 f_name[worst->kind], worst->scale, worst->x, worst->right, worst->got,
                 worst->error, worst->h);
    close_script(&s);
}

/* ------------------------------------------------------------------ E1 ------------------------ */

enum { MOST_WRONG = 8, MOST_ELEMENTS = 7 };

/* The right contribution is k dy; a wrong one is (k + product * before) dy + held * before + constant,
 * where before is what was there before, and is added to that or replaces it. */
typedef struct {
    const char *formula;
    double k;
    struct {
        const char *name, *sentence;
        double k;
        bool overwrites;
        double held, constant, product;
    } wrong[MOST_WRONG];
} multiple;

static grade *grade_multiple(grading *g, const script *s, int last, int b, int n, const double *dy,
                             const double *before, const multiple *of)
{
    matrix x;
    verdict v;
    open_matrix(&x, n, 1, before, "i ");
    for (int i = 0; i < n; i++) {
        x.right[i] = of->k * dy[i];
        x.terms[i] = fabs(x.right[i]) + fabs(dy[i]);
    }
    for (int k = 0; k < MOST_WRONG && of->wrong[k].name; k++) {
        double *values =
            add_candidate(&x, of->wrong[k].name, of->wrong[k].sentence, of->wrong[k].overwrites);
        for (int i = 0; i < n; i++)
            values[i] = (of->wrong[k].k + of->wrong[k].product * before[i]) * dy[i] +
                        of->wrong[k].held * before[i] + of->wrong[k].constant;
    }
    x.m.ratio = (const mistakes_ratio[]){{2, "2"}};
    x.m.ratios = 1;
    grade *q = judge_matrix(g, s, last, b, &x, &v);
    if (is_shown(q, &v))
        snprintf(
            q->arithmetic, sizeof q->arithmetic,
            "element %d: the %.4g that it held before + %s = %.4g + %.4g = %.4g, you have %.4g",
            v.cell[1], before[v.cell[1]], of->formula, before[v.cell[1]], x.right[v.cell[1]],
            v.right, v.got);
    close_matrix(&x);
    return q;
}

/* What da and db were given in two arrays, x + x was given in one: does it follow from what is wrong
 * there? */
static void grade_same(const script *s, int n, const double *before, const int *buffer,
                       grade *const *q)
{
    enum { DA, DB, SAME };
    double both[MOST_ELEMENTS];
    const double *da = s->buffer[buffer[DA]].data, *db = s->buffer[buffer[DB]].data;
    if (!q[SAME] || (q[DA]->kind != VERDICT_WRONG && q[DB]->kind != VERDICT_WRONG)) return;
    for (int i = 0; i < n; i++) both[i] = da[i] - before[i] + db[i] - before[i];
    if (!same_numbers(n, s->buffer[buffer[SAME]].data, before, both)) return;
    q[SAME]->text[0] = 0; /* "added once" would be another reason */
    grade_follows(q[SAME], true, q[DA]->kind == VERDICT_WRONG ? "add da" : "add db");
}

static const char c_forgotten[] = "dx holds dy, and not c dy: what is the derivative of c x?",
                  dy_forgotten[] =
                      "The derivative of y alone was added: the chain rule multiplies it by dy.";

static void grade_scale(grading *g, const script *s, int b, int n, double c, const double *dy,
                        const double *before)
{
    grade_multiple(
        g, s, 0, b, n, dy, before,
        &(multiple){"c dy",
                    c,
                    {{"overwritten", overwritten, .k = c, .overwrites = true},
                     {"c forgotten", c_forgotten, .k = 1},
                     {"divided by c", "dx holds dy / c.", .k = 1 / c},
                     {"c forgotten, and overwritten", c_forgotten, .k = 1, .overwrites = true},
                     {"dy forgotten", dy_forgotten, .constant = c},
                     {"c added", "dx holds dy + c: the derivative is a factor of dy.", .k = 1,
                      .constant = c},
                     {"dx multiplied by c",
                      "What dx held before was multiplied by c, and dy has no part in it.",
                      .held = c, .overwrites = true}}});
}

static const multiple of_add = {
    "dy",
    1,
    {{"overwritten", overwritten, .k = 1, .overwrites = true},
     {"dy forgotten", dy_forgotten, .constant = 1},
     {"half of dy", "Each input was given half of dy; y rises by 1 if one of them does.", .k = 0.5},
     {"product rule",
      "dy was multiplied by what the other one holds: that is for a b, not for a + b.",
      .product = 1},
     {"da added", "What da holds was added, and that is more than dy.", .k = 1, .held = 1}}};

static void grade_both(grading *g, const script *s, int sum, int same, int n, double c,
                       const double *dy, const double *before, grade **q)
{
    grade_multiple(g, s, 3, sum, n, dy, before,
                   &(multiple){"c dz + dz",
                               c + 1,
                               {{"overwritten", overwritten, .k = c, .overwrites = true},
                                {"overwritten", overwritten, .k = 1, .overwrites = true},
                                {"overwritten", overwritten, .k = c + 1, .overwrites = true},
                                {"c forgotten", c_forgotten, .k = 2},
                                {"add forgotten", "dx lacks what add contributes.", .k = c}}});
    *q = grade_multiple(
        g, s, 4, same, n, dy, before,
        &(multiple){
            "dz + dz",
            2,
            {{"overwritten", overwritten, .k = 1, .overwrites = true},
             {"overwritten", overwritten, .k = 2, .overwrites = true},
             {"added once", "One of the two contributions is lost: da and db are one array here.",
              .k = 1}}});
}

void grade_used_twice(grading *g)
{
    script s = {.calls = 0};
    const int n = draw_size(g, 3, MOST_ELEMENTS);
    double *dy = draw_array(g, n), *before = draw_array(g, n), *zero = need(calloc((size_t)n, 8));
    const double c = fabs(draw_hundredths(g)) + 2.6; /* c, c + 1, 1, 2 and their ratios differ */
    const int y = script_buffer(&s, "dy", n, dy), x = script_buffer(&s, "dx", n, before);
    const int a = script_buffer(&s, "da", n, before), b = script_buffer(&s, "db", n, before);
    const int inner = script_buffer(&s, "dy", n, zero), sum = script_buffer(&s, "dx", n, before);
    const int same = script_buffer(&s, "dx", n, before);
    script_call(&s, CALL_SCALE, 4, (double[]){n, c, y, x}, 1, (int[]){x});
    script_call(&s, CALL_ADD, 4, (double[]){n, y, a, b}, 2, (int[]){a, b});
    script_call(&s, CALL_ADD, 4, (double[]){n, y, inner, sum}, 2, (int[]){inner, sum});
    script_call(&s, CALL_SCALE, 4, (double[]){n, c, inner, sum}, 1, (int[]){sum});
    script_call(&s, CALL_ADD, 4, (double[]){n, y, same, same}, 1, (int[]){same});
    snprintf(g->sizes, sizeof g->sizes, "n = %d, c = %.4g", n, c);
    run_calls(g, &s);
    if (s.answered > 3) s.call[3].blanks |= s.call[2].blanks;

    grade *q[3];
    grade_scale(g, &s, x, n, c, dy, before);
    q[0] = grade_multiple(g, &s, 1, a, n, dy, before, &of_add);
    q[1] = grade_multiple(g, &s, 1, b, n, dy, before, &of_add);
    grade_both(g, &s, sum, same, n, c, dy, before, &q[2]);
    grade_same(&s, n, before, (int[]){a, b, same}, q);
    close_script(&s);
    free(dy), free(before), free(zero);
}

/* ------------------------------------------------------------------ E2 ------------------------ */

/* x [I,J] = sum over k of left_ik right_kj, where each factor is read with two strides.  In a wrong product
 * a factor may depend on the third index, too. */
typedef struct {
    int I, J, n;
    const double *left, *right;
    int left_i, left_k, right_k, right_j, left_j, right_i;
} product;

static void multiply(const product *p, int from, bool absolute, double *x)
{
    for (int i = 0; i < p->I; i++)
        for (int j = 0; j < p->J; j++) {
            double sum = 0;
            for (int k = from; k < p->n; k++) {
                double term = p->left[i * p->left_i + k * p->left_k + j * p->left_j] *
                              p->right[k * p->right_k + j * p->right_j + i * p->right_i];
                sum += absolute ? fabs(term) : term;
            }
            x[i * p->J + j] = sum;
        }
}

/* The ways in which the gradient of one factor is wrong: each is a product with other factors. */
typedef struct {
    const char *name, *sentence;
    product p;
} wrong_product;

enum { WRONG_PRODUCTS = 7 };

static void grade_product(grading *g, const char *name, const script *s, int b,
                          const double *before, const product *p, const wrong_product *wrong)
{
    matrix x;
    verdict v;
    open_matrix(&x, p->I, p->J, before, name[1] == 'A' ? "ik" : "kj");
    multiply(p, 0, false, x.right);
    multiply(p, 0, true, x.terms);
    for (const wrong_product *w = wrong; w < wrong + WRONG_PRODUCTS; w++)
        multiply(&w->p, 0, false, add_candidate(&x, w->name, w->sentence, false));
    double *first =
        add_candidate(&x, "the first term alone",
                      "A sum holds its first term alone: where is the third loop?", false);
    double *so_far = add_candidate(&x, "not set back to 0",
                                   "Each element holds those before it as well.", false);
    double *so_far_in_row = add_candidate(
        &x, "not set back to 0", "Each element holds those before it in its row as well.", false);
    for (int e = 0; e < p->I * p->J; e++) {
        so_far[e] = x.right[e] + (e ? so_far[e - 1] : 0);
        so_far_in_row[e] = x.right[e] + (e % p->J ? so_far_in_row[e - 1] : 0);
    }
    product one_term = *p;
    one_term.n = 1;
    multiply(&one_term, 0, false, first);
    multiply(p, p->n - 1, false,
             add_candidate(&x, "the last term alone",
                           "A sum holds its last term alone: = in place of +=.", false));
    multiply(p, p->n - 1, false,
             add_candidate(&x, "the last term alone, and overwritten",
                           "The gradient itself is set, not added to, in the innermost loop.",
                           true));
    add_overwritten(&x);
    x.m.ratio = (const mistakes_ratio[]){{2, "2"}, {p->n, "the number of terms"}};
    x.m.ratios = p->n == 2 ? 1 : 2;
    grade *q = judge_matrix(g, s, 0, b, &x, &v);
    if (is_shown(q, &v)) {
        const int i = v.cell[1], j = v.cell[2];
        int n = snprintf(q->arithmetic, sizeof q->arithmetic,
                         "%s[%c%d,%c%d] = the %.4g that it held before", name, x.m.letter[0], i,
                         x.m.letter[1], j, before[i * p->J + j]);
        for (int k = 0; k < p->n; k++)
            n += snprintf(q->arithmetic + n, sizeof q->arithmetic - (size_t)n, " + %.4g*%.4g",
                          p->left[i * p->left_i + k * p->left_k],
                          p->right[k * p->right_k + j * p->right_j]);
        int digits = v.kind == VERDICT_CLOSE ? 10 : 4;
        snprintf(q->arithmetic + n, sizeof q->arithmetic - (size_t)n, " = %.*g, you have %.*g",
                 digits, v.right, digits, v.got);
    }
    close_matrix(&x);
}

void grade_matmul(grading *g)
{
    script s = {.calls = 0};
    const int M = draw_size(g, 2, 5), K = M + draw_size(g, 1, 2), N = K + draw_size(g, 1, 2);
    double *A = draw_array(g, M * K), *B = draw_array(g, K * N), *dC = draw_array(g, M * N);
    double *dA = draw_array(g, M * K), *dB = draw_array(g, K * N);
    const int a = script_buffer(&s, "A", M * K, A), b = script_buffer(&s, "B", K * N, B);
    const int c = script_buffer(&s, "dC", M * N, dC), da = script_buffer(&s, "dA", M * K, dA);
    const int db = script_buffer(&s, "dB", K * N, dB);
    script_call(&s, CALL_MATMUL, 8, (double[]){M, K, N, a, b, c, da, db}, 2, (int[]){da, db});
    snprintf(g->sizes, sizeof g->sizes, "M = %d, K = %d, N = %d", M, K, N);
    run_calls(g, &s);
    static const double one = 1;
    static const char
        dC_lies[] = "dC was read as if it were [N,M]: dC_ij lies at dC[i * N + j].",
        no_dC[] = "The derivative of C alone was summed: the chain rule multiplies it by dC.",
        no_factor[] = "dC alone was summed: which factor does the element have in C?",
        own_factor[] = "The element was multiplied by itself: its other factor is meant.";
    static const char no_index[] =
        "One factor was read at its first place in every term of the sum.";
    const wrong_product of_A[WRONG_PRODUCTS] = {
        {"no transpose",
         "B was read as if it were [N,K]: B_kj lies at B[k * N + j].",
         {M, K, N, dC, B, N, 1, K, 1, 0, 0}},
        {"dC transposed", dC_lies, {M, K, N, dC, B, 1, M, 1, N, 0, 0}},
        {"dC forgotten", no_dC, {M, K, N, &one, B, 0, 0, 1, N, 0, 0}},
        {"B forgotten", no_factor, {M, K, N, dC, &one, N, 1, 0, 0, 0, 0}},
        {"A in place of B", own_factor, {M, K, N, dC, A, N, 1, 0, 1, 0, K}},
        {"B without j", no_index, {M, K, N, dC, B, N, 1, 0, N, 0, 0}},
        {"dC without j", no_index, {M, K, N, dC, B, N, 0, 1, N, 0, 0}}};
    const wrong_product of_B[WRONG_PRODUCTS] = {
        {"no transpose",
         "A was read as if it were [K,M]: A_ik lies at A[i * K + k].",
         {K, N, M, A, dC, M, 1, N, 1, 0, 0}},
        {"dC transposed", dC_lies, {K, N, M, A, dC, 1, K, 1, M, 0, 0}},
        {"dC forgotten", no_dC, {K, N, M, A, &one, 1, K, 0, 0, 0, 0}},
        {"A forgotten", no_factor, {K, N, M, &one, dC, 0, 0, N, 1, 0, 0}},
        {"B in place of A", own_factor, {K, N, M, B, dC, N, 0, N, 1, 1, 0}},
        {"A without i", no_index, {K, N, M, A, dC, 1, 0, N, 1, 0, 0}},
        {"dC without i", no_index, {K, N, M, A, dC, 1, K, 0, 1, 0, 0}}};
    grade_product(g, "dA", &s, da, dA, &(product){M, K, N, dC, B, N, 1, 1, N, 0, 0}, of_A);
    grade_product(g, "dB", &s, db, dB, &(product){K, N, M, A, dC, 1, K, N, 1, 0, 0}, of_B);
    close_script(&s);
    free(A), free(B), free(dC), free(dA), free(dB);
}

/* ------------------------------------------------------------------ E3 ------------------------ */

enum { MOST_SCORES = 7 };

static const struct {
    mistake m;
    const char *dS; /* dS_k */
} of_softmax[] = {
    {MISTAKE_NO_DELTA, "P_k dP_k"},
    {MISTAKE_DELTA_OF_ONES, "P_k (dP_k - 1)"},
    {MISTAKE_DELTA_MEAN, "P_k (dP_k - (sum_j dP_j) / N)"},
    {MISTAKE_DELTA_UNWEIGHTED, "P_k (dP_k - sum_j dP_j)"},
    {MISTAKE_DIAGONAL, "P_k (1 - P_k) dP_k"},
    {MISTAKE_NO_P, "dP_k - delta"},
    {MISTAKE_SIGN, "P_k (delta - dP_k)"},
    {MISTAKE_DELTA_ADDED, "P_k (dP_k + delta)"},
    {MISTAKE_DELTA_NOT_COMPLETE, "P_k (dP_k - sum of P_j dP_j for j <= k)"},
};
enum { OF_SOFTMAX = sizeof of_softmax / sizeof *of_softmax };

/* Attention with one query and V = 1: then dP = dO, which is drawn. */
static steps *draw_row_of_numbers(grading *g, int N)
{
    steps *a = need(steps_open(&(steps_problem){.H = 1, .G = 1, .T = 1, .N = N, .D = 2, .Dv = N}));
    for (int d = 0; d < 2; d++) a->at[STEPS_Q][d] = draw_hundredths(g);
    for (int e = 0; e < 2 * N; e++) a->at[STEPS_K][e] = draw_hundredths(g);
    for (int j = 0; j < N; j++) {
        a->at[STEPS_V][j * N + j] = 1;
        a->at[STEPS_DO][j] = draw_hundredths(g);
    }
    steps_forward(a, STEPS_R);
    steps_backward(a);
    return a;
}

/* ... until the mistakes of the softmax differ */
static steps *draw_row(grading *g, int N)
{
    mistake_set asked = mistakes_only(MISTAKE_NONE);
    for (int k = 0; k < OF_SOFTMAX; k++) asked.has[of_softmax[k].m] = true;
    for (;;) {
        steps *a = draw_row_of_numbers(g, N);
        const int differ = mistakes_tell_apart(a, asked, (uint64_t)1 << STEPS_DS);
        if (differ == 1) return a;
        need(differ == 0 ? a : NULL);
        steps_close(a);
    }
}

/* Which wrong backwards does a check with this dP let pass? */
static void grade_upstream(grading *g, const script *s, int b, const steps *a)
{
    grade *q = add_grade(g, s, 0);
    const int N = a->p.N;
    const double *dP = s->buffer[b].data;
    if (!q || grade_nan(g, q, N, dP, s->call[0].blanks, "dP")) return;
    q->kind = VERDICT_WRONG;
    for (int j = 0; j < N; j++)
        if (!isfinite(dP[j])) {
            bool nothing = isnan(dP[j]);
            if (nothing) q->kind = VERDICT_NOT_WRITTEN;
            snprintf(q->text, sizeof q->text,
                     nothing ? "dP[%d] was not written" : "dP[%d] is infinite", j);
            return;
        }
    steps *x = need(steps_copy(a));
    mistake_set hidden;
    memcpy(x->at[STEPS_DO], dP, (size_t)N * sizeof *dP);
    steps_backward(x);
    if (!mistakes_hidden(x, STEPS_DS, NULL, &hidden)) need(NULL);
    int n = 0, count = 0;
    char formulas[400] = "";
    for (int k = 0; k < OF_SOFTMAX; k++) {
        if (!hidden.has[of_softmax[k].m]) continue;
        n += snprintf(formulas + n, sizeof formulas - (size_t)n, "%s%s", count++ ? ", " : "",
                      of_softmax[k].dS);
    }
    /* The formulas tell much of the right one. */
    const bool own_is_written = s->answered > 3 && s->call[3].blanks == 0;
    q->kind = count ? VERDICT_WRONG : VERDICT_EXACT;
    if (count == 0)
        snprintf(q->text, sizeof q->text, "all %d mistakes that were tried are seen", OF_SOFTMAX);
    else
        snprintf(
            q->text, sizeof q->text,
            "it hides %d of %d mistakes: with this dP, %d wrong formulas for dS_k give the right "
            "dS, and a check that uses it cannot see them.  %s%s",
            count, OF_SOFTMAX, count,
            own_is_written ? "They are " : "Once softmax_backward is written, they are named here",
            own_is_written ? formulas : "");
    if (count) {
        n = snprintf(q->arithmetic, sizeof q->arithmetic, "with dP =");
        for (int j = 0; j < N && j < 5; j++)
            n += snprintf(q->arithmetic + n, sizeof q->arithmetic - (size_t)n, "%s %.3g",
                          j ? "," : "", dP[j]);
        n += snprintf(q->arithmetic + n, sizeof q->arithmetic - (size_t)n, "%s the right dS is",
                      N > 5 ? ", ..." : "");
        for (int j = 0; j < N && j < 5; j++)
            n += snprintf(q->arithmetic + n, sizeof q->arithmetic - (size_t)n, "%s %.3g",
                          j ? "," : "", fabs(x->at[STEPS_DS][j]) < 1e-12 ? 0 : x->at[STEPS_DS][j]);
        if (N > 5) snprintf(q->arithmetic + n, sizeof q->arithmetic - (size_t)n, ", ...");
    }
    steps_close(x);
}

/* The right J and the wrong ones */
static void fill_jacobian(matrix *x, int N, const double *P)
{
    enum { DIAGONAL, SIGN_OFF, NO_ONE, NO_P, SIGN, ONE, SQUARED, NUMERATOR, NO_P_OF_ONE, WRONG };
    static const struct {
        const char *name, *sentence;
    } texts[WRONG] = {
        [DIAGONAL] = {"the diagonal alone",
                      "P_j depends on the other scores, too: J_jk is not 0 for k != j."},
        [SIGN_OFF] = {"sign off the diagonal", "For k != j, does P_j rise or fall when S_k rises?"},
        [NO_ONE] = {"no term for j = k",
                    "J_jk = -P_j P_k everywhere: on the diagonal, S_k is in the "
                    "numerator as well."},
        [NO_P] = {"no P in front", "J_jk lacks the factor P_j."},
        [SIGN] = {"sign", "J_jk has the wrong sign everywhere."},
        [ONE] = {"1 everywhere",
                 "J_jk is P_j (1 - P_k) for k != j as well: S_k is in the numerator "
                 "of P_k alone."},
        [SQUARED] = {"P_j in place of P_k",
                     "J_jk is P_j ([j = k] - P_j): which score is S_k about?"},
        [NUMERATOR] = {"the numerator alone", "J_jk is P_j for k = j and 0 else: S_k is in the "
                                              "denominator of every P_j as well."},
        [NO_P_OF_ONE] = {"no P in front of 1", "J_jj is 1 - P_j P_j: P_j multiplies both terms."},
    };
    double *wrong[WRONG];
    for (int k = 0; k < WRONG; k++)
        wrong[k] = add_candidate(x, texts[k].name, texts[k].sentence, false);
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++) {
            const int e = j * N + k, one = j == k;
            x->right[e] = P[j] * (one - P[k]);
            x->terms[e] = 10 * P[j] * (one + P[k]);
            wrong[DIAGONAL][e] = one ? x->right[e] : 0;
            wrong[SIGN_OFF][e] = one ? x->right[e] : P[j] * P[k];
            wrong[NO_ONE][e] = -P[j] * P[k];
            wrong[NO_P][e] = one - P[k];
            wrong[SIGN][e] = -x->right[e];
            wrong[ONE][e] = P[j] * (1 - P[k]);
            wrong[SQUARED][e] = P[j] * (one - P[j]);
            wrong[NUMERATOR][e] = one ? P[j] : 0;
            wrong[NO_P_OF_ONE][e] = one - P[j] * P[k];
        }
}

static void grade_jacobian(grading *g, const script *s, int b, const steps *a)
{
    matrix x;
    verdict v;
    const int N = a->p.N;
    const double *P = a->at[STEPS_P];
    open_matrix(&x, N, N, NULL, "jk");
    fill_jacobian(&x, N, P);
    x.m.ratio = (const mistakes_ratio[]){{2, "2"}, {N, "N"}};
    x.m.ratios = 2;
    grade *q = judge_matrix(g, s, 1, b, &x, &v);
    if (is_shown(q, &v)) {
        const int j = v.cell[1], k = v.cell[2];
        const char *formula = j == k ? "J[j%d,k%d] = P[%d] * (1 - P[%d]) = %.4g * (1 - %.4g)"
                                     : "J[j%d,k%d] = -P[%d] * P[%d] = -%.4g * %.4g";
        int n = snprintf(q->arithmetic, sizeof q->arithmetic, formula, j, k, j, k, P[j], P[k]);
        snprintf(q->arithmetic + n, sizeof q->arithmetic - (size_t)n, " = %.4g, you have %.4g",
                 v.right, v.got);
    }
    close_matrix(&x);
}

/* dS_k = sum_j dP_j J_jk; with the J of the submission, which may be wrong */
static void grade_with_jacobian(grading *g, const script *s, int b, const steps *a, const double *J)
{
    const int N = a->p.N;
    const double *dP = a->at[STEPS_DP], *right = a->at[STEPS_DS];
    grade_steps(g, s, 2, a, 1, &(step_answer){STEPS_DS, b, NULL});
    grade *q = &g->of[g->grades - 1];
    if (s->answered <= 2 || q->kind == VERDICT_EXACT) return;
    double sum[MOST_SCORES] = {0}, sum_of_last[MOST_SCORES];
    bool without_J = false;
    for (int e = 0; e < N * N; e++) {
        without_J |= isnan(J[e]);
        sum[e % N] += dP[e / N] * J[e];
    }
    if (without_J && s->call[2].blanks == 0) {
        q->kind = VERDICT_NOT_WRITTEN;
        q->arithmetic[0] = 0;
        snprintf(q->text, sizeof q->text, "it needs J, which is not written yet");
        return;
    }
    const double *got = s->buffer[b].data;
    if (!q->arithmetic[0]) return;
    int k = 0;
    for (int e = 0; e < N; e++)
        if (fabs(got[e] - right[e]) > fabs(got[k] - right[k])) k = e;
    int n = snprintf(q->arithmetic, sizeof q->arithmetic, "dS[%d] = sum_j dP[j] J[j,k%d] =", k, k);
    for (int j = 0; j < N; j++)
        n += snprintf(q->arithmetic + n, sizeof q->arithmetic - (size_t)n, "%s %.4g*%.4g",
                      j ? " +" : "", dP[j], a->at[STEPS_P][j] * ((j == k) - a->at[STEPS_P][k]));
    snprintf(q->arithmetic + n, sizeof q->arithmetic - (size_t)n, " = %.4g, you have %.4g",
             right[k], got[k]);
    if (same_numbers(N, got, NULL, sum)) q->text[0] = 0;
    for (int e = 0; e < N; e++) sum_of_last[e] = dP[N - 1] * J[(N - 1) * N + e];
    double largest = 0;
    for (int e = 0; e < N; e++) largest = fmax(largest, fabs(got[e]));
    if (q->kind == VERDICT_WRONG && largest < 1e-9)
        snprintf(q->text, sizeof q->text,
                 "every element is 0: the columns of J sum to 0; is dP_k in place of dP_j?");
    else if (q->kind == VERDICT_WRONG && same_numbers(N, got, NULL, sum_of_last))
        snprintf(q->text, sizeof q->text,
                 "\"the last term alone\".  A sum holds its last term alone: = in place of +=.");
    grade_follows(q, same_numbers(N, got, NULL, sum), "J");
}

void grade_softmax(grading *g)
{
    script s = {.calls = 0};
    const int N = draw_size(g, 4, MOST_SCORES);
    steps *a = draw_row(g, N);
    const double *dP = a->at[STEPS_DO];
    const int u = script_unwritten(&s, "dP", N), p = script_buffer(&s, "P", N, a->at[STEPS_P]);
    const int J = script_unwritten(&s, "J", N * N), dp = script_buffer(&s, "dP", N, dP);
    const int slow = script_unwritten(&s, "dS", N), fast = script_unwritten(&s, "dS", N);
    script_call(&s, CALL_UPSTREAM, 2, (double[]){N, u}, 1, &u);
    script_call(&s, CALL_JACOBIAN, 3, (double[]){N, p, J}, 1, &J);
    script_call(&s, CALL_SOFTMAX_SLOW, 4, (double[]){N, J, dp, slow}, 1, &slow);
    script_call(&s, CALL_SOFTMAX, 4, (double[]){N, p, dp, fast}, 1, &fast);
    snprintf(g->sizes, sizeof g->sizes, "N = %d", N);
    run_calls(g, &s);
    grade_upstream(g, &s, u, a);
    grade_jacobian(g, &s, J, a);
    grade_with_jacobian(g, &s, slow, a, s.buffer[J].data);
    grade_steps(g, &s, 3, a, 1, &(step_answer){STEPS_DS, fast, NULL});
    close_script(&s);
    steps_close(a);
}
