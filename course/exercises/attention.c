/* attention.c -- E4 to E7: mask and dropout, one query, all queries, and softmax in one pass. */
#include "verdict.h"
#include "grading.h"
#include "protocol.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ problems ------------------ */

#define HAS(m) [MISTAKE_##m] = true
static const mistake_set of_delta = {
    .has = {HAS(NO_DELTA), HAS(DELTA_OF_ONES), HAS(DELTA_UNWEIGHTED), HAS(DELTA_MEAN),
            HAS(DELTA_ROW_BEFORE), HAS(DIAGONAL), HAS(NO_P), HAS(SIGN), HAS(DELTA_ADDED),
            HAS(DELTA_ROW_AFTER), HAS(DELTA_FIRST_ROW), HAS(DELTA_NOT_COMPLETE),
            HAS(DELTA_OF_COLUMN)}};
static const mistake_set of_dO = {
    .has = {HAS(DELTA_OF_DO), HAS(DELTA_OWN_VALUE)}}; /* which E4 is not given */
static const mistake_set of_dropout = {
    .has = {HAS(DROPOUT_FORGOTTEN), HAS(DROPOUT_UNSCALED), HAS(DROPOUT_TWICE), HAS(DELTA_FROM_A),
            HAS(DELTA_FROM_DA), HAS(DS_FROM_A), HAS(DS_DROPPED), HAS(DROPOUT_LAST),
            HAS(DROPPED_IS_MASKED), HAS(LAST_KEY), HAS(LAST_ROW), HAS(KEY_FEWER)}};
static const mistake_set of_products = {.has = {HAS(DV_LAST),        HAS(DV_NOT_TRANSPOSED),
                                                HAS(NO_SCALE),       HAS(NO_SCALE_DQ),
                                                HAS(NO_SCALE_DK),    HAS(SCALE_TWICE),
                                                HAS(DQ_LAST),        HAS(DQ_TRANSPOSED),
                                                HAS(DK_LAST),        HAS(DK_NOT_TRANSPOSED),
                                                HAS(P_TRANSPOSED),   HAS(DR_TRANSPOSED),
                                                HAS(DV_FROM_DR),     HAS(SCALE_ON_DP),
                                                HAS(SCALE_TWICE_DQ), HAS(SCALE_TWICE_DK),
                                                HAS(DV_OWN),         HAS(DK_OWN),
                                                HAS(DQ_OWN),         HAS(LAST_KEY),
                                                HAS(LAST_ROW)}};
/* What is right for one query */
static const mistake_set of_queries = {
    .has = {HAS(DELTA_ROW_BEFORE), HAS(DELTA_ROW_AFTER), HAS(DELTA_FIRST_ROW), HAS(DELTA_OF_COLUMN),
            HAS(LAST_ROW), HAS(DV_LAST), HAS(DV_NOT_TRANSPOSED), HAS(DQ_TRANSPOSED), HAS(DK_LAST),
            HAS(DK_NOT_TRANSPOSED), HAS(P_TRANSPOSED), HAS(DR_TRANSPOSED)}};

/* The mistakes of E5 to E7 */
static mistake_set of_attention(void)
{
    return mistakes_join(mistakes_join(of_delta, of_dO), of_products);
}

#define IN(what) ((uint64_t)1 << STEPS_##what)

/* A problem with one head and at least three queries in which these mistakes differ. */
static steps *draw_attention(grading *g, const mistakes_features *with, mistake_set asked,
                             uint64_t in)
{
    for (int n = 0; n < 100; n++) {
        steps *a = need(mistakes_draw(next_number(g), with, asked, in));
        if (a->p.H == 1 && a->p.T >= 3 && a->p.T != a->p.N) return a;
        steps_close(a);
    }
    fprintf(stderr, "grade: no problem was found for SEED=%llu\n", (unsigned long long)g->seed);
    exit(1);
}

static int send_step(script *s, const steps *a, steps_name what)
{
    return script_buffer(s, steps_texts[what].name, steps_size(a, what), a->at[what]);
}

/* The gradients that are added to */
typedef struct {
    double *before[3];
    int buffer[3];
} gradients;

static const steps_name of_inputs[] = {STEPS_DQ, STEPS_DK, STEPS_DV};

static void send_gradients(grading *g, script *s, const steps *a, gradients *x)
{
    for (int k = 0; k < 3; k++) {
        ptrdiff_t n = steps_size(a, of_inputs[k]);
        x->before[k] = draw_array(g, n);
        x->buffer[k] = script_buffer(s, steps_texts[of_inputs[k]].name, n, x->before[k]);
    }
}

static void grade_gradients(grading *g, const script *s, int last, const steps *a, gradients *x)
{
    step_answer answer[3];
    for (int k = 0; k < 3; k++) answer[k] = (step_answer){of_inputs[k], x->buffer[k], x->before[k]};
    grade_steps(g, s, last, a, 3, answer);
}

static void free_gradients(gradients *x)
{
    for (int k = 0; k < 3; k++) free(x->before[k]);
}

/* The backward from `what` on, which is given */
static steps *backward_from(const steps *a, steps_name what, const double *values)
{
    steps *b = need(steps_copy(a));
    memcpy(b->at[what], values, (size_t)steps_size(b, what) * sizeof *values);
    for (steps_name k = what + 1; k <= STEPS_DK; k++) steps_gradient(b, k);
    return b;
}

/* ------------------------------------------------------------------ E4, E5, E6 ---------------- */

void grade_dropout(grading *g)
{
    script s = {.calls = 0};
    steps *a = draw_attention(g, &(mistakes_features){.mask = true, .dropout = true, .most = 6},
                              mistakes_join(of_delta, of_dropout), IN(DS));
    const int T = a->p.T, N = a->p.N;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < N; j++)
            if (!steps_attends(a, 0, i, j)) set_bits(steps_cell(a, STEPS_DA, 0, i, j), nan_masked);
    const int keep = send_step(&s, a, STEPS_KEEP), P = send_step(&s, a, STEPS_P),
              z = send_step(&s, a, STEPS_Z);
    const int dA = send_step(&s, a, STEPS_DA), dS = script_unwritten(&s, "dS", T * N);
    script_call(&s, CALL_DROPOUT, 7, (double[]){T, N, keep, P, z, dA, dS}, 1, &dS);
    snprintf(g->sizes, sizeof g->sizes, "T = %d, N = %d, dropout with p = %.4g", T, N,
             a->p.dropout);
    run_calls(g, &s);
    grade_steps(g, &s, 0, a, 1, &(step_answer){STEPS_DS, dS, NULL});
    close_script(&s);
    steps_close(a);
}

/* The first query of a, alone */
static steps *first_query(const steps *a)
{
    static const steps_name inputs[] = {STEPS_Q, STEPS_K, STEPS_V, STEPS_DO};
    steps_problem p = a->p;
    p.T = 1;
    steps *b = need(steps_open(&p));
    for (int k = 0; k < 4; k++)
        memcpy(b->at[inputs[k]], a->at[inputs[k]],
               (size_t)steps_size(b, inputs[k]) * sizeof(double));
    steps_forward(b, STEPS_R);
    steps_backward(b);
    return b;
}

/* A problem with one query, in which these mistakes differ */
static steps *draw_query(grading *g)
{
    const uint64_t in = IN(DS) | IN(DQ) | IN(DK) | IN(DV);
    const mistake_set asked = mistakes_without(of_attention(), of_queries);
    for (;;) {
        steps *all = draw_attention(g, &(mistakes_features){.most = 6}, of_attention(), in);
        steps *a = first_query(all);
        steps_close(all);
        const int differ = mistakes_tell_apart(a, asked, in);
        if (differ == 1) return a;
        need(differ == 0 ? a : NULL);
        steps_close(a);
    }
}

/* dP_j = dO . V_j */
static void grade_dP(grading *g, const script *s, int b, const steps *a)
{
    matrix x;
    verdict v;
    const int N = a->p.N, Dv = a->p.Dv, D = a->p.D;
    const double *V = a->at[STEPS_V], *dO = a->at[STEPS_DO];
    open_matrix(&x, N, 1, NULL, "");
    double *stride =
        D < Dv
            ? add_candidate(&x, "V with the stride of K",
                            "V_jd was read at V[j * D + d], but it lies at V[j * Dv + d].", false)
            : NULL;
    double *transposed = add_candidate(
        &x, "V transposed", "V_jd was read at V[d * N + j], but it lies at V[j * Dv + d].", false);
    double *term = add_candidate(&x, "the last term alone",
                                 "A sum holds its last term alone: = in place of +=.", false);
    double *so_far = add_candidate(&x, "not set back to 0",
                                   "Each dP_j holds those of the keys before it as well.", false);
    for (int j = 0; j < N; j++) {
        for (int d = 0; d < Dv; d++) {
            x.right[j] += dO[d] * V[j * Dv + d];
            x.terms[j] += fabs(dO[d] * V[j * Dv + d]);
            if (stride) stride[j] += dO[d] * V[j * D + d];
            transposed[j] += dO[d] * V[d * N + j];
        }
        term[j] = dO[Dv - 1] * V[j * Dv + Dv - 1];
        so_far[j] = x.right[j] + (j ? so_far[j - 1] : 0);
    }
    x.m.ratio = (const mistakes_ratio[]){{2, "2"}, {a->c, "c"}};
    x.m.ratios = 2;
    grade *q = judge_matrix(g, s, 0, b, &x, &v);
    if (is_shown(q, &v)) {
        writer w = {q->arithmetic, sizeof q->arithmetic};
        const int cell[] = {0, 0, v.cell[1]}, digits = v.kind == VERDICT_CLOSE ? 10 : 4;
        cell_name(&w, a, STEPS_DP, cell);
        say(&w, " = ");
        cell_formula(&w, a, STEPS_DA, cell);
        say(&w, " = %.*g, you have %.*g", digits, v.right, digits, v.got);
    }
    close_matrix(&x);
}

/* dS is wrong, and so is this, which does not follow from it; b goes on from that dS. */
static void grade_own_mistake(grading *g, const script *s, const steps *b, const step_answer *x,
                              grade *q)
{
    const double *got = s->buffer[x->b].data;
    ptrdiff_t worst = 0;
    if (q->kind != VERDICT_WRONG || has_reason(q)) return;
    name_way(g, s, b, x, q);
    char *name_ends = q->text[0] == '"' ? strstr(q->text, "\".  ") : NULL;
    if (name_ends)
        snprintf(name_ends, sizeof q->text - (size_t)(name_ends - q->text),
                 "\", with your dS, which is wrong as well");
    else
        snprintf(q->text, sizeof q->text,
                 "dS is wrong, and %s has a mistake of its own as well: it is not that of your dS",
                 q->of->name);
    for (ptrdiff_t e = 0; e < steps_size(b, x->what); e++)
        if (fabs(got[e] - x->before[e] - b->at[x->what][e]) >
            fabs(got[worst] - x->before[worst] - b->at[x->what][worst]))
            worst = e;
    const int columns = b->dim[x->what][2], at[3] = {0, (int)worst / columns, (int)worst % columns};
    writer w = {q->arithmetic, sizeof q->arithmetic};
    cell_name(&w, b, x->what, at);
    say(&w, ", with your dS, = ");
    cell_formula(&w, b, x->what, at);
    say(&w, " = %.4g; with the %.4g that %s held before the call it is %.4g, you have %.4g",
        b->at[x->what][worst], x->before[worst], q->of->name,
        x->before[worst] + b->at[x->what][worst], got[worst]);
}

/* What follows from a wrong dP, or from a wrong dS; each quantity by itself.  A dQ or dK that does not
 * is judged by what it would be with this dS. */
static void grade_consequences(grading *g, const script *s, const steps *a, int dP, int dS,
                               const gradients *x)
{
    const steps_name from[] = {STEPS_DP, STEPS_DS};
    const step_answer own[] = {{STEPS_DS, dS, NULL},
                               {STEPS_DQ, x->buffer[0], x->before[0]},
                               {STEPS_DK, x->buffer[1], x->before[1]}};
    const int buffer[] = {dP, dS};
    for (int k = 0; k < 2; k++) {
        if (g->of[k].kind != VERDICT_WRONG) continue;
        steps *b = backward_from(a, from[k], s->buffer[buffer[k]].data);
        for (int i = k; i < 3; i++)
            grade_follows(&g->of[1 + i],
                          same_numbers(steps_size(b, own[i].what), s->buffer[own[i].b].data,
                                       own[i].before, b->at[own[i].what]),
                          g->of[k].of->name);
        for (int i = 1; i < 3 && k == 1; i++) grade_own_mistake(g, s, b, &own[i], &g->of[1 + i]);
        steps_close(b);
    }
}

void grade_row(grading *g)
{
    script s = {.calls = 0};
    gradients x;
    steps *a = draw_query(g);
    const int N = a->p.N, D = a->p.D, Dv = a->p.Dv;
    const int Q = send_step(&s, a, STEPS_Q), K = send_step(&s, a, STEPS_K),
              V = send_step(&s, a, STEPS_V);
    const int P = send_step(&s, a, STEPS_P), dO = send_step(&s, a, STEPS_DO);
    const int dP = script_unwritten(&s, "dP", N), dS = script_unwritten(&s, "dS", N);
    send_gradients(g, &s, a, &x);
    script_call(
        &s, CALL_ROW, 14,
        (double[]){N, D, Dv, a->c, Q, K, V, P, dO, dP, dS, x.buffer[0], x.buffer[1], x.buffer[2]},
        5, (int[]){dP, dS, x.buffer[0], x.buffer[1], x.buffer[2]});
    snprintf(g->sizes, sizeof g->sizes, "N = %d, D = %d, Dv = %d, c = %.4g", N, D, Dv, a->c);
    run_calls(g, &s);
    grade_dP(g, &s, dP, a);
    grade_steps(g, &s, 0, a, 1, &(step_answer){STEPS_DS, dS, NULL});
    grade_gradients(g, &s, 0, a, &x);
    if (s.answered > 0) grade_consequences(g, &s, a, dP, dS, &x);
    free_gradients(&x);
    close_script(&s);
    steps_close(a);
}

static steps *draw_all_queries(grading *g)
{
    steps *a = draw_attention(g, &(mistakes_features){.most = 6}, of_attention(),
                              IN(DQ) | IN(DK) | IN(DV));
    snprintf(g->sizes, sizeof g->sizes, "T = %d, N = %d, D = %d, Dv = %d, c = %.4g", a->p.T, a->p.N,
             a->p.D, a->p.Dv, a->c);
    return a;
}

static double row_dot(const steps *a, steps_name x, steps_name y, int i)
{
    double sum = 0;
    for (int d = 0; d < a->p.Dv; d++)
        sum += *steps_cell(a, x, 0, i, d) * *steps_cell(a, y, 0, i, d);
    return sum;
}

/* delta_i = dO_i . O_i */
static void grade_own_delta(grading *g, const script *s, int b, const steps *a)
{
    matrix x;
    verdict v;
    const int T = a->p.T, last = a->p.Dv - 1;
    open_matrix(&x, T, 1, NULL, "q ");
    double *dO_dO = add_candidate(&x, "dO . dO", "delta_i is dO_i . O_i.", false);
    double *O_O = add_candidate(&x, "O . O", "delta_i is dO_i . O_i.", false);
    double *no_O = add_candidate(&x, "O forgotten", "delta_i is the sum of dO_i alone.", false);
    double *no_dO = add_candidate(&x, "dO forgotten", "delta_i is the sum of O_i alone.", false);
    double *term = add_candidate(&x, "the last term alone",
                                 "A sum holds its last term alone: = in place of +=.", false);
    double *before = add_candidate(&x, "not set back to 0",
                                   "Each delta holds those of the rows before it as well.", false);
    for (int i = 0; i < T; i++) {
        x.right[i] = row_dot(a, STEPS_DO, STEPS_O, i);
        dO_dO[i] = row_dot(a, STEPS_DO, STEPS_DO, i);
        O_O[i] = row_dot(a, STEPS_O, STEPS_O, i);
        term[i] = *steps_cell(a, STEPS_DO, 0, i, last) * *steps_cell(a, STEPS_O, 0, i, last);
        before[i] = x.right[i] + (i ? before[i - 1] : 0);
        for (int d = 0; d < a->p.Dv; d++) {
            const double dO = *steps_cell(a, STEPS_DO, 0, i, d),
                         O = *steps_cell(a, STEPS_O, 0, i, d);
            x.terms[i] += fabs(dO * O);
            no_O[i] += dO;
            no_dO[i] += O;
        }
    }
    x.m.ratio = (const mistakes_ratio[]){{2, "2"}, {a->c, "c"}};
    x.m.ratios = 2;
    grade *q = judge_matrix(g, s, 0, b, &x, &v);
    if (is_shown(q, &v)) {
        const int i = v.cell[1];
        int n = snprintf(q->arithmetic, sizeof q->arithmetic, "delta[q%d] =", i);
        for (int d = 0; d < a->p.Dv; d++)
            n += snprintf(q->arithmetic + n, sizeof q->arithmetic - (size_t)n, "%s %.4g*%.4g",
                          d ? " +" : "", *steps_cell(a, STEPS_DO, 0, i, d),
                          *steps_cell(a, STEPS_O, 0, i, d));
        int digits = v.kind == VERDICT_CLOSE ? 10 : 4;
        snprintf(q->arithmetic + n, sizeof q->arithmetic - (size_t)n, " = %.*g, you have %.*g",
                 digits, v.right, digits, v.got);
    }
    close_matrix(&x);
}

void grade_delta(grading *g)
{
    script s = {.calls = 0};
    gradients x;
    steps *a = draw_all_queries(g);
    const int T = a->p.T, Dv = a->p.Dv, O = send_step(&s, a, STEPS_O),
              dO = send_step(&s, a, STEPS_DO);
    const int mine = script_unwritten(&s, "delta", T), delta = send_step(&s, a, STEPS_DELTA);
    const int Q = send_step(&s, a, STEPS_Q), K = send_step(&s, a, STEPS_K),
              V = send_step(&s, a, STEPS_V);
    const int P = send_step(&s, a, STEPS_P);
    send_gradients(g, &s, a, &x);
    script_call(&s, CALL_DELTAS, 5, (double[]){T, Dv, O, dO, mine}, 1, &mine);
    script_call(&s, CALL_BACKWARD, 14,
                (double[]){T, a->p.N, a->p.D, Dv, a->c, Q, K, V, P, dO, delta, x.buffer[0],
                           x.buffer[1], x.buffer[2]},
                3, x.buffer);
    run_calls(g, &s);
    grade_own_delta(g, &s, mine, a);
    grade_gradients(g, &s, 1, a, &x);
    free_gradients(&x);
    close_script(&s);
    steps_close(a);
}

/* ------------------------------------------------------------------ E7 ------------------------ */

enum { ROWS = 10, MOST_KEYS = 9, MOST_DV = 4 };

/* One row of scores */
typedef struct {
    int N, tile, call, O, lse; /* O and lse: buffers */
    const char *kind;
    double S[MOST_KEYS], V[MOST_KEYS * MOST_DV];
} score_row;

typedef enum {
    ONLINE_RIGHT,
    ONLINE_O_KEPT,
    ONLINE_L_KEPT,
    ONLINE_BOTH_KEPT,
    ONLINE_INVERSE,
    ONLINE_LAST_TILE,
    ONLINE_NOT_DIVIDED,
    ONLINE_NO_M,
    ONLINE_NO_LOG,
    ONLINE_ONLY_M,
    ONLINE_LOG_OF_SUM,
    ONLINE_V_OF_KEY_0,
    ONLINE_V_OF_TILE,
    ONLINE_M_STAYS,
    ONLINE_WITHOUT_M,
    ONLINE_OLD_M,
    ONLINE_INVERSE_FIRST,
    ONLINE_TERMS,
    ONLINE_WAYS
} online_way;

static const struct {
    const char *name, *sentence;
} online_texts[ONLINE_WAYS] = {
    [ONLINE_O_KEPT] =
        {"O is not rescaled",
         "When the maximum rises, O was made with the old one: it needs the factor, too."},
    [ONLINE_L_KEPT] =
        {"l is not rescaled",
         "When the maximum rises, l was made with the old one: it needs the factor, too."},
    [ONLINE_BOTH_KEPT] = {"nothing is rescaled",
                          "When the maximum rises, l and O were made with the old one: they need "
                          "the factor exp(m - m')."},
    [ONLINE_INVERSE] = {"factor upside down",
                        "l and O are multiplied by exp(m' - m), where m' is the new maximum."},
    [ONLINE_LAST_TILE] = {"the last tile alone", "What the tiles before contributed is lost."},
    [ONLINE_NOT_DIVIDED] = {"O is not divided by l", "O holds sum_j exp(S_j - m) V_j."},
    [ONLINE_NO_M] = {"lse without m", "lse is log(l) alone."},
    [ONLINE_NO_LOG] = {"lse without the logarithm", "lse is m + l."},
    [ONLINE_ONLY_M] = {"lse is the maximum", "lse is m alone, without log(l)."},
    [ONLINE_LOG_OF_SUM] = {"lse as log(m + l)", "lse is log(m + l); it is log(exp(m) l)."},
    [ONLINE_V_OF_TILE] = {"V counted from the tile",
                          "V was read at j - from, as if every tile were the first one."},
    [ONLINE_M_STAYS] =
        {"m is never set",
         "m stays -INFINITY: the factor is 0 for every tile, and so is lse -INFINITY."},
    [ONLINE_V_OF_KEY_0] = {"V without j",
                           "Every key was given the first row of V: does V lack its j?"},
    [ONLINE_WITHOUT_M] = {"e without m", "e is exp(S_j), and exp(1000) is infinite; it is "
                                         "exp(S_j - m'), where m' is the new maximum."},
    [ONLINE_OLD_M] = {"e with the old m", "e is exp(S_j - m); l and O have just been multiplied by "
                                          "exp(m - m'), and belong to the new maximum m'."},
    [ONLINE_INVERSE_FIRST] =
        {"factor upside down",
         "exp(m' - m) of the first tile is infinite, for m begins at -INFINITY, and infinity times "
         "0 is NaN: the factor is exp(m - m')."},
};

/* Online softmax as in the text of the exercise, right or with one mistake in it.  ONLINE_TERMS:
 * the sums of the absolute terms, where a score S is known to 1e-16 |S|. */
static void online(const score_row *r, int Dv, online_way way, double *O, double *lse)
{
    double m = -(double)INFINITY, l = 0, largest = 0;
    for (int d = 0; d < Dv; d++) O[d] = 0;
    for (int from = 0; from < r->N; from += r->tile) {
        const int to = from + r->tile < r->N ? from + r->tile : r->N;
        double larger = m;
        for (int j = from; j < to; j++) larger = fmax(larger, r->S[j]);
        if (larger == -(double)INFINITY) continue;
        double factor = exp(m - larger);
        if (way == ONLINE_INVERSE && m != -(double)INFINITY) factor = 1 / factor;
        if (way == ONLINE_INVERSE_FIRST) factor = exp(larger - m);
        if (way == ONLINE_LAST_TILE) factor = 0;
        const double with = way == ONLINE_WITHOUT_M ? 0 : way == ONLINE_OLD_M ? m : larger;
        const bool l_kept = way == ONLINE_L_KEPT || way == ONLINE_BOTH_KEPT;
        const bool O_kept = way == ONLINE_O_KEPT || way == ONLINE_BOTH_KEPT;
        if (!l_kept) l *= factor;
        for (int d = 0; d < Dv && !O_kept; d++) O[d] *= factor;
        for (int j = from; j < to; j++) {
            const double e = exp(r->S[j] - with);
            l += e;
            for (int d = 0; d < Dv; d++) {
                const int of_key = way == ONLINE_V_OF_KEY_0  ? 0
                                   : way == ONLINE_V_OF_TILE ? j - from
                                                             : j;
                double V = r->V[of_key * Dv + d];
                O[d] += e * (way == ONLINE_TERMS ? fabs(V) : V);
            }
            if (isfinite(r->S[j])) largest = fmax(largest, fabs(r->S[j]));
        }
        if (way != ONLINE_M_STAYS) m = larger;
    }
    for (int d = 0; d < Dv && way != ONLINE_NOT_DIVIDED; d++) O[d] = l == 0 ? 0 : O[d] / l;
    for (int d = 0; d < Dv && way == ONLINE_TERMS; d++) O[d] *= 1 + 2 * largest;
    *lse = way == ONLINE_NO_M         ? log(l)
           : way == ONLINE_NO_LOG     ? m + l
           : way == ONLINE_LOG_OF_SUM ? log(m + l)
           : way == ONLINE_ONLY_M     ? m
           : way == ONLINE_TERMS      ? 1 + largest + (l > 0 ? fabs(log(l)) : 0)
                                      : m + log(l);
}

static void draw_scores(grading *g, score_row *r, int number, int Dv)
{
    static const char *const kind[ROWS] = {"scores near 0",
                                           "scores that rise",
                                           "scores near 0, all in one tile",
                                           "scores near 1000",
                                           "the first tile is -INFINITY everywhere",
                                           "the last tile is -INFINITY everywhere",
                                           "every score is -INFINITY",
                                           "scores near -1000",
                                           "the first and the last score are -INFINITY",
                                           "the first tile is near 1000, the rest near 0"};
    static const int tile[ROWS] = {1, 3, 0, 3, 3, 3, 2, 2, 3, 2};
    const double none = -(double)INFINITY;
    *r = (score_row){.N = draw_size(g, 7, MOST_KEYS), .kind = kind[number]};
    r->tile = tile[number] ? tile[number] : r->N;
    if (number == 1 && r->N % r->tile == 0) r->N--; /* one last tile has fewer keys */
    for (int e = 0; e < r->N * Dv; e++) r->V[e] = draw_hundredths(g);
    const int last = (r->N - 1) / r->tile * r->tile; /* where the last tile begins */
    for (int j = 0; j < r->N; j++) {
        double S = draw_size(g, -16, 16) / 8.0;
        if (number == 1) S = 0.75 * j + S / 8;
        if (number == 3 || (number == 9 && j < r->tile)) S += 1000;
        if (number == 7) S -= 1000;
        bool masked = (number == 4 && j < r->tile) || (number == 5 && j >= last) || number == 6 ||
                      (number == 8 && (j == 0 || j == r->N - 1));
        r->S[j] = masked ? none : S;
    }
}

/* What the rows that are wrong have in common, where no mistake gives all of them: bit k is row k. */
static const struct {
    unsigned rows, but; /* these are wrong; of those in `but` it does not matter */
    bool of_O, of_lse;
    const char *text, *hint[HINTS];
} of_rows[] = {
    {1 << 6,
     0,
     true,
     false,
     "the row is -INFINITY everywhere, so that l is 0 at the end: what is O / l?",
     {"The division at the end.",
      "A row that is -INFINITY everywhere has l = 0 and O = 0, and 0 / 0 is NaN.",
      "for (int d = 0; d < Dv; d++) O[d] = l > 0 ? ____ : 0;"}},
    {1 << 6,
     0,
     false,
     true,
     "the row is -INFINITY everywhere: m and log(l) are both -INFINITY, and so is lse",
     {"lse at the end.",
      "log(0) is -INFINITY, and so is m: their sum is -INFINITY, their difference NaN.",
      "*lse = ____;"}},
    {1 << 4 | 1 << 6,
     1 << 6 | 1 << 8,
     true,
     true,
     "the first tile is -INFINITY everywhere, so that m and m' are both -INFINITY: what is m - m', "
     "or "
     "S_j - m'?",
     {"The factor while nothing but -INFINITY was read.",
      "-INFINITY - -INFINITY is NaN, and so is its exp.  It happens in the factor, exp(m - m'), "
      "and "
      "in e, exp(S_j - m'): there is nothing to rescale and nothing to add yet.",
      "if (larger == -INFINITY) ____;"}},
    {1 << 3 | 1 << 9,
     1 << 6 | 1 << 7 | 1 << 4 | 1 << 5 | 1 << 8,
     true,
     true,
     "in these rows there are scores near 1000 or -1000: exp(1000) is infinite, and exp(-1000) is "
     "0",
     {"The maximum.", "exp(S_j - m) is at most 1 when m is the largest score so far, of all tiles.",
      "double e = exp(S[j] - ____);"}},
    {1 << 9,
     1 << 1 | 1 << 6,
     true,
     true,
     "the largest score lies in the first tile: is m' the maximum of m and of the tile's scores?",
     {"The maximum.", "m never falls: a tile of small scores leaves it as it is.",
      "double larger = m;   for (int j = from; j < to; j++) larger = fmax(larger, S[j]);"}},
    {1 << 7,
     1 << 6 | 1 << 4,
     true,
     true,
     "every score is near -1000: with which m does the row begin?",
     {"The maximum.", "m must begin below every score.", "double m = ____, l = 0;"}},
};

static bool is_wrong_number(double got, double right)
{
    return !(got == right || fabs(got - right) <= 1e-6 * (1 + fabs(right)));
}

static void describe_rows(grade *q, const double *got, const double *right, int columns,
                          bool of_lse)
{
    unsigned wrong = 0;
    for (int e = 0; e < ROWS * columns; e++)
        if (is_wrong_number(got[e], right[e])) wrong |= 1u << e / columns;
    if ((wrong | 1 << 6) == (1 << ROWS) - 1 && strncmp(q->text, "only in rows", 12) == 0)
        snprintf(q->text, sizeof q->text, "in every row%s",
                 wrong >> 6 & 1 ? "" : " but row 6, where every score is -INFINITY");
    for (size_t k = 0; k < sizeof of_rows / sizeof *of_rows; k++) {
        if (!(of_lse ? of_rows[k].of_lse : of_rows[k].of_O)) continue;
        if ((wrong & ~of_rows[k].but) != (of_rows[k].rows & ~of_rows[k].but)) continue;
        if ((wrong & of_rows[k].rows) == 0) continue;
        const size_t n = strlen(q->text);
        snprintf(q->text + n, sizeof q->text - n, ".  %c%s", toupper(of_rows[k].text[0]),
                 of_rows[k].text + 1);
        q->hint = of_rows[k].hint;
        return;
    }
}

/* Are they equal, or both NaN?  Where O / l is guarded by l > 0, NaN is 0. */
static bool is_same_outcome(double x, double y)
{
    const bool no_x = isnan(x) || x == 0, no_y = isnan(y) || y == 0;
    return no_x || no_y ? no_x == no_y : !is_wrong_number(x, y);
}

/* The mistake that gives O and lse of all rows, infinities and NaN as well, else ONLINE_RIGHT.  In the rows
 * whose first tile is -INFINITY everywhere, it depends on what is guarded. */
static online_way find_way(const script *s, const score_row *r, int Dv)
{
    for (online_way way = ONLINE_RIGHT + 1; way < ONLINE_TERMS; way++) {
        bool same = true;
        for (int i = 0; i < ROWS && same; i++) {
            double O[MOST_DV], lse;
            if (i == 4 || i == 6) continue;
            online(&r[i], Dv, way, O, &lse);
            for (int d = 0; d < Dv; d++)
                same = same && is_same_outcome(s->buffer[r[i].O].data[d], O[d]);
            same = same && is_same_outcome(s->buffer[r[i].lse].data[0], lse);
        }
        if (same) return way;
    }
    return ONLINE_RIGHT;
}

/* Is O that of l and O without the factor?  Of lse it is the same as that of l alone: known from O. */
static bool judge_rows(grading *g, const script *s, const score_row *r, int Dv, bool of_lse,
                       bool both_kept)
{
    const int columns = of_lse ? 1 : Dv;
    double got[ROWS * MOST_DV], values[ONLINE_WAYS][ROWS * MOST_DV];
    mistakes_candidate candidate[ONLINE_WAYS];
    mistakes_matrix m = {.rows = ROWS,
                         .columns = columns,
                         .word = {"row", "column"},
                         .letter = {0, 'd'},
                         .right = values[ONLINE_RIGHT],
                         .terms = values[ONLINE_TERMS],
                         .candidate = candidate};
    unsigned blanks = 0;
    for (int i = 0; i < ROWS; i++) {
        const double *from = s->buffer[of_lse ? r[i].lse : r[i].O].data;
        memcpy(got + i * columns, from, (size_t)columns * sizeof *got);
        blanks |= s->call[r[i].call].blanks;
        for (int way = 0; way < ONLINE_WAYS; way++) {
            double O[MOST_DV], lse;
            online(&r[i], Dv, (online_way)way, O, &lse);
            memcpy(&values[way][i * columns], of_lse ? &lse : O, (size_t)columns * sizeof lse);
        }
    }
    for (int way = 1; way < ONLINE_TERMS; way++) {
        if (of_lse && way == (both_kept ? ONLINE_L_KEPT : ONLINE_BOTH_KEPT)) continue;
        candidate[m.candidates++] = (mistakes_candidate){.name = online_texts[way].name,
                                                         .sentence = online_texts[way].sentence,
                                                         .values = values[way]};
    }
    script all = {.answered = 1}; /* the rows as one array */
    verdict v;
    all.buffer[0].data = got;
    all.buffer[0].name = of_lse ? "lse" : "O";
    all.call[0].blanks = blanks;
    grade *q = grade_matrix(g, &all, 0, 0, m, &v);
    if (q->kind == VERDICT_EXACT || q->kind == VERDICT_NOT_WRITTEN) return false;
    const online_way way = find_way(s, r, Dv);
    if (q->text[0] != '"' && way)
        snprintf(q->text, sizeof q->text, "\"%s\".  %s", online_texts[way].name,
                 online_texts[way].sentence);
    else if (q->text[0] != '"')
        describe_rows(q, got, m.right, columns, of_lse);
    int e = v.cell[1] * columns + v.cell[2];
    for (int k = ROWS * columns - 1; k >= 0; k--)
        if (isnan(got[k])) e = k;
    const score_row *worst = &r[e / columns];
    writer w = {q->arithmetic, sizeof q->arithmetic};
    say(&w, "row %d, %s: N = %d, tile = %d; %s", e / columns, worst->kind, worst->N, worst->tile,
        all.buffer[0].name);
    if (!of_lse) say(&w, "[%d]", e % columns);
    say(&w, " = %.6g, you have %.6g", m.right[e], isnan(got[e]) ? fabs(got[e]) : got[e]);
    return v.candidates >> (ONLINE_BOTH_KEPT - 1) & 1;
}

void grade_online(grading *g)
{
    script s = {.calls = 0};
    gradients x;
    score_row row[ROWS];
    const int rows_Dv = draw_size(g, 2, MOST_DV);
    for (int i = 0; i < ROWS; i++) {
        score_row *r = &row[i];
        draw_scores(g, r, i, rows_Dv);
        const int S = script_buffer(&s, "S", r->N, r->S);
        const int V = script_buffer(&s, "V", r->N * rows_Dv, r->V);
        r->O = script_unwritten(&s, "O", rows_Dv);
        r->lse = script_unwritten(&s, "lse", 1);
        r->call =
            script_call(&s, CALL_ONLINE, 7, (double[]){r->N, rows_Dv, r->tile, S, V, r->O, r->lse},
                        2, (int[]){r->O, r->lse});
    }
    steps *a = draw_all_queries(g);
    const int T = a->p.T, N = a->p.N;
    double *lse = need(calloc((size_t)T, sizeof *lse));
    for (int i = 0; i < T; i++) /* P = exp(S - lse) */
        lse[i] = *steps_cell(a, STEPS_S, 0, i, 0) - log(*steps_cell(a, STEPS_P, 0, i, 0));
    const int Q = send_step(&s, a, STEPS_Q), K = send_step(&s, a, STEPS_K),
              V = send_step(&s, a, STEPS_V);
    const int L = script_buffer(&s, "lse", T, lse), dO = send_step(&s, a, STEPS_DO);
    const int delta = send_step(&s, a, STEPS_DELTA);
    send_gradients(g, &s, a, &x);
    const int last = script_call(&s, CALL_RECOMPUTED, 14,
                                 (double[]){T, N, a->p.D, a->p.Dv, a->c, Q, K, V, L, dO, delta,
                                            x.buffer[0], x.buffer[1], x.buffer[2]},
                                 3, x.buffer);
    run_calls(g, &s);
    if (s.answered >= ROWS) {
        const bool both_kept = judge_rows(g, &s, row, rows_Dv, false, false);
        judge_rows(g, &s, row, rows_Dv, true, both_kept);
    } else {
        add_grade(g, &s, ROWS);
        add_grade(g, &s, ROWS);
    }
    grade_gradients(g, &s, last, a, &x);
    free_gradients(&x);
    free(lse);
    close_script(&s);
    steps_close(a);
}
