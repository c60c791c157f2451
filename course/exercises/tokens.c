/* tokens.c -- E10: a block from tokens to tokens.
 *
 * Every function is called with what is right, so each quantity is judged by itself.  Wrong answers are
 * those of course/block_mistakes.h, and those of the forward, which are computed here. */
#include "block_cell.h"
#include "grading.h"
#include "protocol.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ problems ------------------ */

/* In the first draw W_v and W_o are square, C = H Dv, and D < Dv: what can be taken for something else of its
 * shape only there has a name.  In the second no matrix is square, and D > Dv: a size that is right by chance in
 * the first is wrong there. */
static block_problem draw_sizes(grading *g, bool square)
{
    block_problem p = {.causal = true, .scale = 0.31 + 0.04 * draw_size(g, 0, 9)};
    bool again = true;
    while (again) {
        p.T = draw_size(g, 3, 6), p.H = draw_size(g, 2, 3);
        p.D = draw_size(g, 2, 5), p.Dv = draw_size(g, 2, 5);
        p.C = square ? p.H * p.Dv : draw_size(g, 4, 9);
        const int size[] = {p.T, p.C, p.H, p.D, p.Dv};
        again = square ? p.D > p.Dv : p.D < p.Dv || p.C == p.H * p.D || p.C == p.H * p.Dv;
        for (int k = 0; k < 5; k++)
            for (int i = 0; i < k; i++) again = again || size[i] == size[k];
    }
    p.G = p.H;
    return p;
}

static block *draw_block(grading *g, bool square)
{
    static const struct {
        block_name what;
        double size;
    } drawn[] = {{BLOCK_X, 0.5},   {BLOCK_WQ, 0.25}, {BLOCK_WK, 0.25},
                 {BLOCK_WV, 0.25}, {BLOCK_WO, 0.25}, {BLOCK_DY, 0.5}};
    const block_problem p = draw_sizes(g, square);
    block *b = need(block_open(&p));
    for (size_t k = 0; k < sizeof drawn / sizeof *drawn; k++)
        for (ptrdiff_t e = 0; e < block_size(b, drawn[k].what); e++)
            b->at[drawn[k].what][e] = drawn[k].size * draw_hundredths(g);
    block_forward(b, BLOCK_X_RES);
    block_backward(b);
    const size_t n = strlen(g->sizes);
    snprintf(g->sizes + n, sizeof g->sizes - n,
             "%sT = %d, C = %d, H = %d, D = %d, Dv = %d, c = %.4g", n ? "; then " : "", p.T, p.C,
             p.H, p.D, p.Dv, p.scale);
    return b;
}

/* The right block, its absolute terms, and one with each mistake. */
typedef struct {
    block *b, *terms, *wrong[BLOCK_MISTAKES];
} tokens;

static void open_tokens(grading *g, bool square, tokens *x)
{
    *x = (tokens){.b = draw_block(g, square)};
    x->terms = need(block_terms(x->b));
    for (block_mistake m = 1; m < BLOCK_MISTAKES; m++) {
        if (!block_can_be_made(&x->b->p, m)) continue;
        x->wrong[m] = need(block_copy(x->b));
        if (!block_backward_with(x->wrong[m], m)) need(NULL);
    }
}

static void close_tokens(const tokens *x)
{
    for (int m = 0; m < BLOCK_MISTAKES; m++) block_close(x->wrong[m]);
    block_close(x->terms);
    block_close(x->b);
}

/* ------------------------------------------------------------------ orders of heads ----------- */

/* The ways to split [T,n width] into [n,T,width]; to merge is the way back. */
typedef enum {
    ORDER_RIGHT,
    ORDER_MEMORY,
    ORDER_INTERLEAVED,
    ORDER_EXCHANGED,
    ORDER_SIZES,
    ORDER_COLUMNS,
    ORDERS
} head_order;

static const char *const order_names[ORDERS] = {"right",
                                                "in the wrong order",
                                                "interleaved",
                                                "with heads exchanged",
                                                "with H and T exchanged",
                                                "columns for rows"};
static const char side_by_side[] = "Element d of head h is taken to be column d H + h, but the "
                                   "elements of a head lie side by side.",
                  other_end[] = "The heads are counted from the other end.";
/* To merge, to split */
static const char *const order_sentences[ORDERS][2] = {
    [ORDER_MEMORY] = {"The heads were copied as they lie: [H,T,D] was taken to be [T,H D].",
                      "The merged matrix was copied as it lies: [T,H D] was taken to be [H,T,D]."},
    [ORDER_INTERLEAVED] = {side_by_side, side_by_side},
    [ORDER_EXCHANGED] = {other_end, other_end},
    [ORDER_SIZES] = {"H and T have changed places, as when merge_heads is called to split.",
                     "H and T have changed places, as when split_heads is called to merge."},
    [ORDER_COLUMNS] = {"Head h begins at column h D, but its rows lie H D apart there, and they "
                       "were written D apart: they are not merged.",
                       "Head h begins at Q + h D, but its rows lie H D apart there, and they were "
                       "read D apart: they are not split."}};

/* Where element (h, t, d) of the heads lies in the merged matrix, for those that believe so.  With columns
 * for rows, several elements lie in one place, and none in others. */
static int merged_at(head_order order, int n, int T, int width, int h, int t, int d)
{
    switch (order) {
    case ORDER_MEMORY: return (h * T + t) * width + d;
    case ORDER_INTERLEAVED: return t * n * width + d * n + h;
    case ORDER_EXCHANGED: return t * n * width + (n - 1 - h) * width + d;
    case ORDER_SIZES: {
        const int row = h * T + t; /* of the heads: token row % n of head row / n, for those */
        return (row % n * T + row / n) * width + d;
    }
    case ORDER_COLUMNS: return (h + t) * width + d;
    default: return t * n * width + h * width + d;
    }
}

static void reorder(head_order order, bool to_heads, int n, int T, int width, const double *from,
                    double *to)
{
    for (int e = 0; e < n * T * width; e++) to[e] = (double)NAN; /* not written */
    for (int h = 0; h < n; h++)
        for (int t = 0; t < T; t++)
            for (int d = 0; d < width; d++) {
                const int in_heads = (h * T + t) * width + d;
                const int merged = merged_at(order, n, T, width, h, t, d);
                to[to_heads ? in_heads : merged] = from[to_heads ? merged : in_heads];
            }
}

/* ------------------------------------------------------------------ one quantity -------------- */

static void add_values(matrix *x, const char *name, const char *sentence, bool overwrites,
                       const double *values)
{
    memcpy(add_candidate(x, name, sentence, overwrites), values,
           matrix_size(&x->m) * sizeof *values);
}

/* A matrix of the block, with its right values, and what it may be wrong by */
static void open_quantity(matrix *x, const tokens *of, block_name what, const double *before,
                          mistakes_ratio ratio[3])
{
    const block *b = of->b;
    const int *dim = b->dim[what];
    const size_t bytes = (size_t)block_size(b, what) * sizeof(double);
    const bool tokens_by_c = what == BLOCK_Y || what == BLOCK_DX;
    open_matrix(x, dim[0] * dim[1], dim[2], before, tokens_by_c ? "tc" : "");
    if (dim[0] > 1) x->m.heads = dim[0], x->m.rows = dim[1];
    x->m.word[0] = "row";
    for (int k = 0; k < 2; k++)
        if (block_cell_of_heads(b, what, k)) x->m.width[k] = dim[1 + k] / b->p.H;
    memcpy(x->right, b->at[what], bytes);
    memcpy(x->terms, of->terms->at[what], bytes);
    ratio[0] = (mistakes_ratio){2, "2"};
    ratio[1] = (mistakes_ratio){b->heads->c, "c"};
    ratio[2] = (mistakes_ratio){b->p.H, "H"};
    x->m.ratio = ratio, x->m.ratios = b->p.H == 2 ? 2 : 3;
}

static void close_quantity(grading *g, const script *s, int call, int buffer, const tokens *of,
                           block_name what, matrix *x)
{
    verdict v;
    grade *q = judge_matrix(g, s, call, buffer, x, &v);
    if (is_shown(q, &v)) {
        block_say_cell(of->b, what, x->m.before, &v, q->arithmetic, sizeof q->arithmetic);
    }
    close_matrix(x);
}

/* Those of the mistakes `first` to `last` that can be made */
static void add_mistakes(matrix *x, const tokens *of, block_name what, block_mistake first,
                         block_mistake last)
{
    for (block_mistake m = first; m <= last; m++)
        if (of->wrong[m])
            add_values(x, block_mistakes_texts[m].name, block_mistakes_texts[m].sentence, false,
                       of->wrong[m]->at[what]);
}

/* Q, K or V, split where it is computed */
static void add_split_already(matrix *x, const tokens *of, block_name what)
{
    const block_problem *p = &of->b->p;
    double *to = add_candidate(x, order_names[ORDER_MEMORY],
                               "The heads lie one after the other, [H,T,D], as after split_heads; "
                               "[T,H D] is right, with the heads side by side.",
                               false);
    reorder(ORDER_RIGHT, true, p->H, p->T, of->b->dim[what][2] / p->H, of->b->at[what], to);
}

/* ------------------------------------------------------------------ products ------------------ */

static const char last_term[] = "A sum holds its last term alone: = in place of +=.";
/* W_q, W_k, W_v and W_o */
static const char *const as_transpose[] = {
    "W_q was read as if its transpose were stored: Wq_kj lies at Wq[k * H * D + j].",
    "W_k was read as if its transpose were stored: Wk_kj lies at Wk[k * H * D + j].",
    "W_v was read as if its transpose were stored: Wv_kj lies at Wv[k * H * Dv + j].",
    "W_o was read as if its transpose were stored: Wo_jc lies at Wo[j * C + c]."};

/* Z += X W with W_kj at W[k * of_k + j * of_j], from the term `first` on; no program gets outside of W. */
static void add_product(const block *b, block_name X, block_name W, int of_k, int of_j, int first,
                        double *Z)
{
    const int T = b->p.T, n = b->dim[W][2], K = b->dim[W][1];
    for (int t = 0; t < T; t++)
        for (int j = 0; j < n; j++)
            for (int k = first; k < K; k++) {
                const int at = k * of_k + j * of_j;
                if (at < block_size(b, W)) Z[t * n + j] += b->at[X][t * K + k] * b->at[W][at];
            }
}

/* Q, K or V as [T,D] or [T,Dv]: what is left of [T,n] is not written, or 0. */
static void add_narrow(matrix *x, const block *b, block_name what, char sentence[2][120])
{
    const block_name W = BLOCK_WQ + (what - BLOCK_Q);
    const int T = b->p.T, C = b->p.C, n = b->dim[W][2], width = n / b->p.H;
    const char *D = what == BLOCK_V ? "Dv" : "D";
    for (int rest = 0; rest < 2; rest++) {
        snprintf(sentence[rest], sizeof sentence[0],
                 "%d of %d elements %s, as if %s were [T,%s]; it has H %s columns.", T * width,
                 T * n, rest ? "are not 0" : "were written", block_texts[what].name, D, D);
        double *to =
            add_candidate(x, what == BLOCK_V ? "Dv for H Dv" : "D for H D", sentence[rest], false);
        for (int e = T * width; e < T * n; e++) to[e] = rest ? 0 : (double)NAN;
        for (int t = 0; t < T; t++)
            for (int j = 0; j < width; j++)
                for (int k = 0; k < C; k++)
                    to[t * width + j] += b->at[BLOCK_X][t * C + k] * b->at[W][k * width + j];
    }
}

static const char by_columns[] = "X was read by columns: X_tk lies at X[t * C + k].";

/* The tokens with the memory of X [T,C] read as if it were that of [C,T] */
static block *with_X_by_columns(const block *b)
{
    const int T = b->p.T, C = b->p.C;
    block *other = need(block_copy(b));
    for (int t = 0; t < T; t++)
        for (int k = 0; k < C; k++) other->at[BLOCK_X][t * C + k] = b->at[BLOCK_X][k * T + t];
    return other;
}

/* Q, K and V, from their matrices */
static void grade_projection(grading *g, const script *s, int call, int buffer, const tokens *of,
                             block_name what)
{
    const block *b = of->b;
    const block_name W = BLOCK_WQ + (what - BLOCK_Q);
    const int n = b->dim[W][2], C = b->p.C;
    matrix x;
    mistakes_ratio ratio[3];
    open_quantity(&x, of, what, NULL, ratio);
    const char *transposed = as_transpose[W - BLOCK_WQ];
    add_product(b, BLOCK_X, W, 1, C, 0, add_candidate(&x, "W^T for W", transposed, false));
    add_product(b, BLOCK_X, W, 1, n, 0, add_candidate(&x, "W^T for W", transposed, false));
    add_product(b, BLOCK_X, W, n, 1, C - 1,
                add_candidate(&x, "the last term alone", last_term, false));
    for (block_name other = BLOCK_WQ; other <= BLOCK_WV; other++)
        if (other != W && b->dim[other][2] == n)
            add_product(
                b, BLOCK_X, other, n, 1, 0,
                add_candidate(&x, "another matrix", "Q has W_q, K has W_k and V has W_v.", false));
    block *other = with_X_by_columns(b);
    add_product(other, BLOCK_X, W, n, 1, 0, add_candidate(&x, "X by columns", by_columns, false));
    block_close(other);
    add_split_already(&x, of, what);
    char narrow[2][120];
    add_narrow(&x, b, what, narrow);
    close_quantity(g, s, call, buffer, of, what, &x);
}

static const char in_the_loop[] =
    "What is added once is added in the innermost loop: as often as the sum has terms.";

static void grade_Y(grading *g, const script *s, int call, int buffer, const tokens *of)
{
    const block *b = of->b;
    const int C = b->p.C, n = b->p.H * b->p.Dv;
    const ptrdiff_t size = block_size(b, BLOCK_Y);
    matrix x;
    mistakes_ratio ratio[3];
    open_quantity(&x, of, BLOCK_Y, NULL, ratio);
    add_values(&x, "without the residual", "Y is O W_o alone: X is not added.", false,
               b->at[BLOCK_OW]);
    add_values(&x, "X alone", "Y is X: what the heads have read is lost.", false, b->at[BLOCK_X]);
    double *as_of[] = {add_candidate(&x, "W_o^T for W_o", as_transpose[3], false),
                       add_candidate(&x, "W_o^T for W_o", as_transpose[3], false),
                       add_candidate(&x, "the last term alone", last_term, false),
                       add_candidate(&x, "residual doubled", "X is added to Y twice.", false),
                       add_candidate(&x, "residual in the loop", in_the_loop, false)};
    for (ptrdiff_t e = 0; e < size; e++)
        for (int k = 0; k < 5; k++) as_of[k][e] = b->at[BLOCK_X][e];
    add_product(b, BLOCK_O, BLOCK_WO, 1, n, 0, as_of[0]);
    add_product(b, BLOCK_O, BLOCK_WO, 1, C, 0, as_of[1]);
    add_product(b, BLOCK_O, BLOCK_WO, C, 1, n - 1, as_of[2]);
    for (ptrdiff_t e = 0; e < size; e++) {
        as_of[3][e] += b->at[BLOCK_Y][e];
        as_of[4][e] = n * b->at[BLOCK_X][e] + b->at[BLOCK_OW][e];
    }
    if (n == C) {
        double *plain =
            add_candidate(&x, "without W_o", "Y is X + O: the heads are not mixed.", false);
        for (ptrdiff_t e = 0; e < size; e++) plain[e] = b->at[BLOCK_X][e] + b->at[BLOCK_O][e];
    }
    close_quantity(g, s, call, buffer, of, BLOCK_Y, &x);
}

/* ------------------------------------------------------------------ split and merge ----------- */

/* A merged matrix [T,n width] where all heads are added, in the columns of the first one or of every one */
static void add_sums_of_heads(matrix *x, int n, int T, int width, const double *merged)
{
    double *every = add_candidate(
        x, "heads added",
        "The columns of every head hold the sum over all heads, not that head alone.", false);
    double *first = add_candidate(x, "heads added in head 0",
                                  "The columns of head 0 hold the sum over all heads.", false);
    for (int t = 0; t < T; t++)
        for (int j = 0; j < n * width; j++) {
            first[t * n * width + j % width] += merged[t * n * width + j];
            for (int h = 0; h < n; h++)
                every[t * n * width + h * width + j % width] += merged[t * n * width + j];
        }
}

/* "heads_h1[t0,d2]" or "merged[t0,h1d2]": element e of that memory */
static const char *say_place(const block_problem *p, bool in_heads, int e, char to[60])
{
    const int D = p->D, d = e % D, row = e / D;
    if (in_heads)
        snprintf(to, 60, "heads_h%d[t%d,d%d]", row / p->T, row % p->T, d);
    else
        snprintf(to, 60, "merged[t%d,h%dd%d]", row / p->H, row % p->H, d);
    return to;
}

/* "heads_h0[t1,d0] = merged[t1,h0d0] = 0.27, you have merged[t0,h1d0] = -1.3" */
static void say_moved(const block_problem *p, bool to_heads, const double *from, const verdict *v,
                      size_t size, char *to)
{
    const int T = p->T, D = p->D, n = p->H * T * D, j = v->cell[2];
    const int h = to_heads ? v->cell[0] : j / D, t = v->cell[1], d = j % D;
    const int in_heads = (h * T + t) * D + d, merged = merged_at(ORDER_RIGHT, p->H, T, D, h, t, d);
    char is[60], of[60], found[60] = "", got[40] = "nothing";
    int e = 0;
    while (e < n && from[e] != v->got) e++;
    if (e < n) say_place(p, !to_heads, e, found);
    if (!isnan(v->got)) snprintf(got, sizeof got, "%s%.4g", e < n ? " = " : "", v->got);
    snprintf(to, size, "%s = %s = %.4g, you have %s%s",
             say_place(p, to_heads, to_heads ? in_heads : merged, is),
             say_place(p, !to_heads, to_heads ? merged : in_heads, of), v->right, found, got);
}

static void grade_order(grading *g, const script *s, int call, int buffer, const block_problem *p,
                        bool to_heads, const double *from)
{
    const int n = p->H, T = p->T, D = p->D;
    matrix x;
    verdict v;
    open_matrix(&x, to_heads ? n * T : T, to_heads ? D : n * D, NULL, "");
    if (to_heads) x.m.heads = n, x.m.rows = T;
    if (!to_heads) x.m.width[1] = D;
    x.m.word[0] = "row";
    reorder(ORDER_RIGHT, to_heads, n, T, D, from, x.right);
    for (int e = 0; e < n * T * D; e++) x.terms[e] = fabs(x.right[e]);
    for (head_order k = ORDER_MEMORY; k < ORDERS; k++)
        reorder(k, to_heads, n, T, D, from,
                add_candidate(&x, order_names[k], order_sentences[k][to_heads], false));
    if (!to_heads) add_sums_of_heads(&x, n, T, D, x.right);
    grade *q = judge_matrix(g, s, call, buffer, &x, &v);
    if (is_shown(q, &v)) say_moved(p, to_heads, from, &v, sizeof q->arithmetic, q->arithmetic);
    close_matrix(&x);
}

/* ------------------------------------------------------------------ heads --------------------- */

/* What is split */
static const struct {
    block_name from;
    steps_name to;
} inputs[] = {{BLOCK_Q, STEPS_Q}, {BLOCK_K, STEPS_K}, {BLOCK_V, STEPS_V}, {BLOCK_DO, STEPS_DO}};
enum { INPUTS = 4, ALL_INPUTS = (1 << INPUTS) - 1 };

/* The heads of b, as they are where these of Q, K, V and dO (bit k: inputs[k]) are split in this order; head 0 for
 * all: every head gets what belongs to the first one. */
static steps *split_so(const block *b, head_order order, unsigned these, bool head_0_for_all)
{
    steps *a = need(steps_copy(b->heads));
    for (int k = 0; k < INPUTS; k++) {
        const int *dim = a->dim[inputs[k].to];
        double *to = a->at[inputs[k].to];
        const size_t head = (size_t)dim[1] * (size_t)dim[2];
        reorder(these >> k & 1 ? order : ORDER_RIGHT, true, dim[0], dim[1], dim[2],
                b->at[inputs[k].from], to);
        for (int h = 1; h < dim[0] && head_0_for_all; h++)
            memcpy(to + (size_t)h * head, to, head * sizeof *to);
    }
    return a;
}

/* What the heads give with one order to split, and `what` merged in another; P [H,T,T] is not merged. */
static void merged_so(const block *b, const steps *a, head_order order, block_name what, double *to)
{
    const steps_name in[] = {STEPS_O, STEPS_DQ, STEPS_DK, STEPS_DV};
    const block_name of[] = {BLOCK_O, BLOCK_DQ, BLOCK_DK, BLOCK_DV};
    if (what == BLOCK_P) memcpy(to, a->at[STEPS_P], (size_t)block_size(b, what) * sizeof *to);
    for (int k = 0; k < 4; k++)
        if (of[k] == what)
            reorder(order, false, b->p.H, b->p.T, b->dim[what][2] / b->p.H, a->at[in[k]], to);
}

/* Names such as "split in the wrong order" must live as long as the candidates. */
typedef struct {
    char name[3 * ORDERS + 2 * INPUTS][60];
    int n;
} order_texts;

/* One of the two is right, or both are the same. */
static void say_order(head_order split, head_order merge, size_t size, char *name,
                      const char **sentence)
{
    const head_order worse = split ? split : merge;
    *sentence = order_sentences[worse][split != ORDER_RIGHT];
    snprintf(name, size, "%s%s%s %s", split ? "split" : "", split && merge ? " and " : "",
             merge ? "merged" : "", order_names[worse]);
    if (worse != ORDER_COLUMNS) return; /* nothing was split or merged */
    snprintf(name, size, "%s", order_names[worse]);
}

/* What these heads give; they are closed. */
static void add_heads(matrix *x, const block *b, block_name what, steps *a, head_order merge,
                      const char *name, const char *sentence)
{
    if (what <= BLOCK_O) steps_forward(a, STEPS_R);
    if (what > BLOCK_O) steps_backward(a);
    merged_so(b, a, merge, what, add_candidate(x, name, sentence, false));
    steps_close(a);
}

static void add_order(matrix *x, const tokens *of, block_name what, order_texts *texts,
                      head_order split, head_order merge)
{
    const char *sentence;
    char *name = texts->name[texts->n++];
    say_order(split, merge, sizeof texts->name[0], name, &sentence);
    add_heads(x, of->b, what, split_so(of->b, split, ALL_INPUTS, false), merge, name, sentence);
}

/* One alone of what is split, which was copied as it lies, or read as columns */
static void add_order_of_one(matrix *x, const tokens *of, block_name what, order_texts *texts,
                             int input, head_order split)
{
    const char *of_one = block_texts[inputs[input].from].name;
    char *name = texts->name[texts->n++];
    snprintf(name, sizeof texts->name[0],
             split == ORDER_COLUMNS ? "columns for rows in %s" : "%s split in the wrong order",
             of_one);
    add_heads(x, of->b, what, split_so(of->b, split, 1u << input, false), ORDER_RIGHT, name,
              order_sentences[split][1]);
}

/* Every head is called with what belongs to the first one: all of it; or P alone, in the backward. */
static void add_head_0(matrix *x, const block *b, block_name what, bool all)
{
    steps *a = split_so(b, ORDER_RIGHT, 0, all);
    const size_t head = (size_t)b->p.T * (size_t)b->p.T;
    double *P = a->at[STEPS_P];
    for (int h = 1; h < b->p.H && !all; h++)
        for (int k = STEPS_P; k <= STEPS_A; k++)
            memcpy(a->at[k] + (size_t)h * head, P, head * sizeof *P);
    add_heads(x, b, what, a, ORDER_RIGHT, all ? "head 0 for all" : "P of head 0 for all",
              all ? "Every head gets what belongs to the first one: head h of Q and K begins at "
                    "h T D, of V at h T Dv."
                  : "Every head gets the P of the first one: head h begins at h T T.");
}

/* Q and K exchanged, or the scale left out, in the call of a head */
static void add_call(matrix *x, const block *b, block_name what, bool exchanged)
{
    steps *a = split_so(b, ORDER_RIGHT, 0, false), with = *a;
    if (exchanged) with.at[STEPS_Q] = a->at[STEPS_K], with.at[STEPS_K] = a->at[STEPS_Q];
    if (!exchanged) with.c = 1;
    if (what <= BLOCK_O) steps_forward(&with, STEPS_R);
    if (what > BLOCK_O) steps_backward(&with);
    merged_so(b, &with, ORDER_RIGHT, what,
              add_candidate(x, exchanged ? "Q and K exchanged" : "scale forgotten",
                            exchanged ? "A head is given K for Q, and Q for K."
                                      : "A head is called with 1 in place of c.",
                            false));
    steps_close(a);
}

/* P and O, or dQ, dK and dV */
static void grade_heads(grading *g, const script *s, int call, int buffer, const tokens *of,
                        block_name what)
{
    matrix x;
    mistakes_ratio ratio[3];
    order_texts texts = {.n = 0};
    open_quantity(&x, of, what, NULL, ratio);
    for (head_order k = ORDER_MEMORY; k < ORDERS; k++) {
        add_order(&x, of, what, &texts, k, ORDER_RIGHT);
        if (what == BLOCK_P) continue;
        add_order(&x, of, what, &texts, ORDER_RIGHT, k);
        add_order(&x, of, what, &texts, k, k);
    }
    for (int k = 0; k < INPUTS && what != BLOCK_DV; k++) {
        if (what <= BLOCK_O && inputs[k].from == BLOCK_DO) continue;
        add_order_of_one(&x, of, what, &texts, k, ORDER_COLUMNS);
        if (inputs[k].from != BLOCK_DO) add_order_of_one(&x, of, what, &texts, k, ORDER_MEMORY);
    }
    add_head_0(&x, of->b, what, true);
    if (what > BLOCK_O) add_head_0(&x, of->b, what, false);
    add_call(&x, of->b, what, true);
    add_call(&x, of->b, what, false);
    if (what != BLOCK_P) {
        const block *b = of->b;
        add_sums_of_heads(&x, b->p.H, b->p.T, b->dim[what][2] / b->p.H, b->at[what]);
    }
    if (what == BLOCK_DQ || what == BLOCK_DK)
        add_values(&x, "dQ and dK exchanged", "dQ holds what dK should, and dK what dQ should.",
                   false, of->b->at[what == BLOCK_DQ ? BLOCK_DK : BLOCK_DQ]);
    /* dV reads P and dO alone: that dO was split so is there what "split" says */
    static const block_mistake of_heads[] = {BLOCK_FIRST_HEAD, BLOCK_LAST_HEAD, BLOCK_DO_IN_MEMORY,
                                             BLOCK_DO_EXCHANGED, BLOCK_DO_INTERLEAVED};
    const int mistakes = what <= BLOCK_O ? 0 : what == BLOCK_DV ? 2 : 5;
    for (int k = 0; k < mistakes; k++)
        add_values(&x, block_mistakes_texts[of_heads[k]].name,
                   block_mistakes_texts[of_heads[k]].sentence, false,
                   of->wrong[of_heads[k]]->at[what]);
    close_quantity(g, s, call, buffer, of, what, &x);
}

/* ------------------------------------------------------------------ the backward -------------- */

/* dO [T,n] = dY W_o^T, and dX: products with a transpose, read with the strides of what it is not */
static void grade_dO(grading *g, const script *s, int call, int buffer, const tokens *of)
{
    const block *b = of->b;
    const int C = b->p.C, n = b->p.H * b->p.Dv;
    matrix x;
    mistakes_ratio ratio[3];
    open_quantity(&x, of, BLOCK_DO, NULL, ratio);
    add_mistakes(&x, of, BLOCK_DO, BLOCK_WO_PLAIN, BLOCK_WO_PLAIN);
    double *strided = add_candidate(&x, block_mistakes_texts[BLOCK_WO_PLAIN].name,
                                    block_mistakes_texts[BLOCK_WO_PLAIN].sentence, false);
    double *last = add_candidate(&x, "the last term alone", last_term, false);
    for (int t = 0; t < b->p.T; t++)
        for (int j = 0; j < n; j++) {
            for (int c = 0; c < C; c++)
                if (c * C + j < n * C)
                    strided[t * n + j] += b->at[BLOCK_DY][t * C + c] * b->at[BLOCK_WO][c * C + j];
            last[t * n + j] = b->at[BLOCK_DY][t * C + C - 1] * b->at[BLOCK_WO][j * C + C - 1];
        }
    if (n == C)
        add_values(&x, "without W_o^T", "dO is dY: the product with W_o^T is left out.", false,
                   b->at[BLOCK_DY]);
    close_quantity(g, s, call, buffer, of, BLOCK_DO, &x);
}

static const char *const D_for_Dv[] = {
    "D for Dv", "dV and W_v were read as if they had H D columns; they have H Dv."};
static const char *const D_for_HD[] = {
    "D for H D",
    "Rows were taken to have the columns of one head, D or Dv; they have H D or H Dv."};
static const char *const first_columns[] = {
    "first head only", "Only the columns of head 0 of dQ, dK and dV were read."};

/* dX with W_q[j * of_j + c] in place of W_q[c * H D + j], or of W_k or W_v, or of all three; no program gets
 * outside of them. */
static void add_plain(matrix *x, const block *b, block_mistake m, bool by_rows)
{
    static const char of_all[] = "dX holds dQ W_q, dK W_k and dV W_v: none is transposed.";
    const bool all = m == BLOCK_RIGHT;
    const int C = b->p.C;
    double *to = add_candidate(x, all ? "W for W^T" : block_mistakes_texts[m].name,
                               all ? of_all : block_mistakes_texts[m].sentence, false);
    memcpy(to, b->at[BLOCK_DX], (size_t)block_size(b, BLOCK_DX) * sizeof *to);
    for (int k = 0; k < 3; k++) {
        static const block_name dZ[] = {BLOCK_DQ, BLOCK_DK, BLOCK_DV};
        const block_name W = BLOCK_WQ + k, dX = BLOCK_DX_Q + k;
        const int n = b->dim[W][2], of_j = by_rows ? n : C;
        if (!all && m != BLOCK_WQ_PLAIN + (block_mistake)k) continue;
        for (int t = 0; t < b->p.T; t++)
            for (int c = 0; c < C; c++) {
                to[t * C + c] -= b->at[dX][t * C + c];
                for (int j = 0; j < n; j++)
                    if (j * of_j + c < C * n)
                        to[t * C + c] += b->at[dZ[k]][t * n + j] * b->at[W][j * of_j + c];
            }
    }
}

/* dX where the loops over the columns of all heads go to D and Dv; by_rows: the rows are so long, too. */
static void add_head_0_of_dX(matrix *x, const block *b, bool by_rows)
{
    static const block_name dZ[] = {BLOCK_DQ, BLOCK_DK, BLOCK_DV};
    const char *const *text = by_rows ? D_for_HD : first_columns;
    const int C = b->p.C;
    double *to = add_candidate(x, text[0], text[1], false);
    memcpy(to, b->at[BLOCK_DX_RES], (size_t)block_size(b, BLOCK_DX) * sizeof *to);
    for (int k = 0; k < 3; k++) {
        const double *W = b->at[BLOCK_WQ + k];
        const int n = b->dim[dZ[k]][2], width = n / b->p.H, row = by_rows ? width : n;
        for (int t = 0; t < b->p.T; t++)
            for (int c = 0; c < C; c++)
                for (int j = 0; j < width; j++)
                    to[t * C + c] += b->at[dZ[k]][t * row + j] * W[c * row + j];
    }
}

/* dX where one term is sum_j dZ[t * n + j] W[c * n + j], of the wrong dZ, W or n; no program gets outside of
 * either */
static void add_terms(matrix *x, const block *b)
{
    const int C = b->p.C, n = b->p.H * b->p.D, n_v = b->p.H * b->p.Dv;
    const struct {
        const char *name, *sentence;
        block_name term, dZ, W;
        int n;
    } terms[] = {
        {"W_q for W_k", "dX holds dK W_q^T in place of dK W_k^T.", BLOCK_DX_K, BLOCK_DK, BLOCK_WQ,
         n},
        {"dQ for dK", "dX holds dQ W_k^T in place of dK W_k^T.", BLOCK_DX_K, BLOCK_DQ, BLOCK_WK, n},
        {"W_k for W_v", "dX holds dV W_k^T in place of dV W_v^T.", BLOCK_DX_V, BLOCK_DV, BLOCK_WK,
         n_v},
        {D_for_Dv[0], D_for_Dv[1], BLOCK_DX_V, BLOCK_DV, BLOCK_WV, n}};
    for (size_t k = 0; k < sizeof terms / sizeof *terms; k++) {
        double *to = add_candidate(x, terms[k].name, terms[k].sentence, false);
        const double *dZ = b->at[terms[k].dZ], *W = b->at[terms[k].W];
        for (int t = 0; t < b->p.T; t++)
            for (int c = 0; c < C; c++) {
                const int e = t * C + c, row = t * terms[k].n, of_W = c * terms[k].n;
                to[e] = b->at[BLOCK_DX][e] - b->at[terms[k].term][e];
                for (int j = 0; j < terms[k].n; j++)
                    if (row + j < block_size(b, terms[k].dZ) &&
                        of_W + j < block_size(b, terms[k].W))
                        to[e] += dZ[row + j] * W[of_W + j];
            }
    }
}

/* Names and sentences of sets of terms must live as long as the candidates. */
typedef struct {
    char name[20][60], sentence[20][120];
    int n;
} set_texts;

/* "dY, Q and V" */
static const char *say_terms(unsigned set, size_t size, char *to)
{
    static const char *const terms[] = {"dY", "Q", "K", "V"};
    size_t n = 0;
    for (int k = 0; k < 4; k++) {
        if (!(set >> k & 1)) continue;
        const char *between = n == 0 ? "" : set >> k == 1 ? " and " : ", ";
        n += (size_t)snprintf(to + n, size - n, "%s%s", between, terms[k]);
    }
    return strchr(to, ' ') ? "s" : "";
}

/* dX where these of its four terms alone are there, with what it held before or without; a set that lacks one term,
 * or that has one alone and is overwritten, has a name of its own. */
static void add_set(matrix *x, const block *b, set_texts *texts, unsigned set, bool overwrites)
{
    const int terms = __builtin_popcount(set);
    if (terms == (overwrites ? 1 : 3)) return;
    char *name = texts->name[texts->n], *sentence = texts->sentence[texts->n], has[20], lacks[20];
    texts->n++;
    const char *of_has = say_terms(set, sizeof has, has),
               *of_lacks = say_terms(~set & 15, sizeof lacks, lacks);
    snprintf(name, sizeof texts->name[0], "%s the term%s of %s",
             overwrites ? "overwritten," : "only", of_has, has);
    snprintf(sentence, sizeof texts->sentence[0], "dX lacks the term%s of %s%s", of_lacks, lacks,
             overwrites ? ", and what it held before: = in place of +=." : ".");
    double *to = add_candidate(x, name, sentence, overwrites);
    for (int k = 0; k < 4; k++)
        for (ptrdiff_t e = 0; e < block_size(b, BLOCK_DX) && set >> k & 1; e++)
            to[e] += b->at[BLOCK_DX_RES + k][e];
}

static void grade_dX(grading *g, const script *s, int call, int buffer, const tokens *of,
                     const double *before)
{
    static const char alone[] = "dX is one of its four terms alone: = in place of +=.";
    matrix x;
    mistakes_ratio ratio[3];
    open_quantity(&x, of, BLOCK_DX, before, ratio);
    add_mistakes(&x, of, BLOCK_DX, BLOCK_RESIDUAL_LOST, BLOCK_PATH_V_LOST);
    add_mistakes(&x, of, BLOCK_DX, BLOCK_WQ_WK_EXCHANGED, BLOCK_WQ_WK_EXCHANGED);
    for (int by_rows = 0; by_rows < 2; by_rows++) {
        add_plain(&x, of->b, BLOCK_RIGHT, by_rows);
        for (block_mistake m = BLOCK_WQ_PLAIN; m <= BLOCK_WV_PLAIN; m++)
            add_plain(&x, of->b, m, by_rows);
    }
    add_terms(&x, of->b);
    add_head_0_of_dX(&x, of->b, false);
    add_head_0_of_dX(&x, of->b, true);
    set_texts texts = {.n = 0};
    for (unsigned set = 1; set < 15; set++)
        for (int overwrites = 0; overwrites < 2; overwrites++)
            add_set(&x, of->b, &texts, set, overwrites);
    double *often = add_candidate(&x, "residual in the loop", in_the_loop, false);
    for (ptrdiff_t e = 0; e < block_size(of->b, BLOCK_DX); e++)
        often[e] =
            of->b->at[BLOCK_DX][e] + (of->b->dim[BLOCK_WQ][2] - 1) * of->b->at[BLOCK_DX_RES][e];
    add_values(&x, "overwritten, V's term alone left", alone, true, of->b->at[BLOCK_DX_V]);
    add_values(&x, "overwritten, K's term alone left", alone, true, of->b->at[BLOCK_DX_K]);
    add_values(&x, "overwritten, Q's term alone left", alone, true, of->b->at[BLOCK_DX_Q]);
    add_values(&x, "overwritten, the residual alone left", alone, true, of->b->at[BLOCK_DX_RES]);
    add_overwritten(&x);
    close_quantity(g, s, call, buffer, of, BLOCK_DX, &x);
}

/* dW_q, dW_k or dW_v, where the rows of dZ and dW were taken to have so many columns, and so many of them were
 * read; no program gets outside of either. */
static void add_narrow_dW(matrix *x, const block *b, block_name what, int row, int columns,
                          const char *const text[2])
{
    static const block_name of[] = {BLOCK_DQ, BLOCK_DK, BLOCK_DV};
    const block_name dZ = of[what - BLOCK_DWQ];
    const int C = b->p.C;
    double *to = add_candidate(x, text[0], text[1], false);
    for (int t = 0; t < b->p.T; t++)
        for (int k = 0; k < C; k++)
            for (int j = 0; j < columns; j++)
                if (k * row + j < block_size(b, what) && t * row + j < block_size(b, dZ))
                    to[k * row + j] += b->at[BLOCK_X][t * C + k] * b->at[dZ][t * row + j];
}

/* dW of one token alone, the last excepted, or where X or dZ is that of token 0 for all of them.  The dQ of token 0
 * is 0, for it reads itself alone: what is made of that adds nothing, and has no name. */
static void add_tokens_of_dW(matrix *x, const block *b, block_name what)
{
    static const char *const alone[] = {"token 0 alone", "token 1 alone", "token 2 alone",
                                        "token 3 alone", "token 4 alone"},
                             *const no_t[] = {"dQ without t", "dK without t", "dV without t",
                                              "dY without t"};
    static const char sum[] = "dW is a sum over all tokens; it holds the product of one of them.",
                      first[] = "Every token was read as token 0.";
    static const block_name of[] = {BLOCK_DQ, BLOCK_DK, BLOCK_DV, BLOCK_DY};
    const block_name X = what == BLOCK_DWO ? BLOCK_O : BLOCK_X, dZ = of[what - BLOCK_DWQ];
    const int T = b->p.T, rows = b->dim[what][1], n = b->dim[what][2];
    const char *X_alone = what == BLOCK_DWO ? "O without t" : "X without t";
    const bool zero = what == BLOCK_DWQ;
    double *X_0 = add_candidate(x, X_alone, first, false),
           *dZ_0 = zero ? NULL : add_candidate(x, no_t[what - BLOCK_DWQ], first, false);
    for (int t = 0; t < T; t++) {
        const bool has_name = t < T - 1 && (t > 0 || !zero);
        double *one = has_name ? add_candidate(x, alone[t], sum, false) : NULL;
        for (int k = 0; k < rows; k++)
            for (int j = 0; j < n; j++) {
                const double *of_X = b->at[X] + k, *of_dZ = b->at[dZ] + j;
                if (one) one[k * n + j] = of_X[t * rows] * of_dZ[t * n];
                X_0[k * n + j] += of_X[0] * of_dZ[t * n];
                if (dZ_0) dZ_0[k * n + j] += of_X[t * rows] * of_dZ[0];
            }
    }
}

/* The loop over the columns of all heads goes to D, or to Dv. */
static void add_head_0_of_dW(matrix *x, const block *b, block_name what)
{
    const int n = b->dim[what][2], width = n / b->p.H;
    add_narrow_dW(x, b, what, n, width, first_columns);
    add_narrow_dW(x, b, what, width, width, D_for_HD);
}

static void grade_dW(grading *g, const script *s, int call, int buffer, const tokens *of,
                     block_name what, const double *before)
{
    static const block_mistake of_W[] = {BLOCK_DW_LAST_POSITION, BLOCK_DW_MEAN,
                                         BLOCK_DW_TRANSPOSED,    BLOCK_DWQ_FOR_DWK,
                                         BLOCK_DWO_FROM_DO,      BLOCK_DWO_FROM_X};
    matrix x;
    mistakes_ratio ratio[3];
    open_quantity(&x, of, what, before, ratio);
    for (size_t k = 0; k < sizeof of_W / sizeof *of_W; k++)
        if (of->wrong[of_W[k]])
            add_values(&x, block_mistakes_texts[of_W[k]].name,
                       block_mistakes_texts[of_W[k]].sentence, false, of->wrong[of_W[k]]->at[what]);
    block *other = with_X_by_columns(of->b);
    memcpy(other->at[BLOCK_O], other->at[BLOCK_DO],
           (size_t)block_size(other, BLOCK_O) * sizeof(double));
    block_gradient(other, what);
    if (what == BLOCK_DWO)
        add_values(&x, "dO for O", "dW_o is dO^T dY in place of O^T dY.", false, other->at[what]);
    else
        add_values(&x, "X by columns", by_columns, false, other->at[what]);
    block_close(other);
    if (what == BLOCK_DWQ)
        add_values(&x, "dW_k taken for dW_q", "dW_q is X^T dK in place of X^T dQ.", false,
                   of->b->at[BLOCK_DWK]);
    add_tokens_of_dW(&x, of->b, what);
    if (what != BLOCK_DWO) add_head_0_of_dW(&x, of->b, what);
    if (what == BLOCK_DWV)
        add_narrow_dW(&x, of->b, what, of->b->p.H * of->b->p.D, of->b->p.H * of->b->p.D, D_for_Dv);
    add_values(&x, "last token only, and overwritten",
               "dW itself is set, not added to, in the loop over the tokens.", true,
               of->wrong[BLOCK_DW_LAST_POSITION]->at[what]);
    add_overwritten(&x);
    close_quantity(g, s, call, buffer, of, what, &x);
}

/* ------------------------------------------------------------------ E10 ----------------------- */

static int send(script *s, const block *b, block_name what)
{
    return script_buffer(s, block_texts[what].name, block_size(b, what), b->at[what]);
}

static int unwritten(script *s, const block *b, block_name what)
{
    return script_unwritten(s, block_texts[what].name, block_size(b, what));
}

/* A gradient that is added to */
static int added_to(grading *g, script *s, const block *b, block_name what, double **before)
{
    *before = draw_array(g, block_size(b, what));
    return script_buffer(s, block_texts[what].name, block_size(b, what), *before);
}

/* What is right, and what is written: buffers */
typedef struct {
    int in[BLOCK_COUNT], out[BLOCK_COUNT], heads[2], merged[2];
    double *before[BLOCK_COUNT];
} token_buffers;

static void send_all(grading *g, script *s, const block *b, token_buffers *x)
{
    static const block_name added[] = {BLOCK_DX, BLOCK_DWQ, BLOCK_DWK, BLOCK_DWV, BLOCK_DWO};
    const ptrdiff_t size = block_size(b, BLOCK_Q);
    *x = (token_buffers){.in = {0}};
    for (block_name k = 0; k < BLOCK_COUNT; k++) x->in[k] = send(s, b, k);
    for (block_name k = 0; k < BLOCK_COUNT; k++) x->out[k] = unwritten(s, b, k);
    for (size_t k = 0; k < sizeof added / sizeof *added; k++)
        x->out[added[k]] = added_to(g, s, b, added[k], &x->before[added[k]]);
    x->merged[0] = x->in[BLOCK_Q], x->heads[0] = script_unwritten(s, "heads", size);
    x->heads[1] = script_buffer(s, "heads", size, b->heads->at[STEPS_Q]);
    x->merged[1] = script_unwritten(s, "merged", size);
}

static void call_all(script *s, const block_problem *p, const token_buffers *x)
{
    const int T = p->T, C = p->C, H = p->H, D = p->D, Dv = p->Dv, n = H * Dv;
#define IN(what) x->in[BLOCK_##what]
#define OUT(what) x->out[BLOCK_##what]
    script_call(s, CALL_SPLIT, 5, (double[]){H, T, D, x->merged[0], x->heads[0]}, 1, &x->heads[0]);
    script_call(s, CALL_MERGE, 5, (double[]){H, T, D, x->heads[1], x->merged[1]}, 1, &x->merged[1]);
    script_call(s, CALL_TOKENS, 12,
                (double[]){T, C, H, D, Dv, IN(X), IN(WQ), IN(WK), IN(WV), OUT(Q), OUT(K), OUT(V)},
                3, (int[]){OUT(Q), OUT(K), OUT(V)});
    script_call(s, CALL_HEADS, 10,
                (double[]){T, H, D, Dv, p->scale, IN(Q), IN(K), IN(V), OUT(P), OUT(O)}, 2,
                (int[]){OUT(P), OUT(O)});
    script_call(s, CALL_OUTPUT, 7, (double[]){T, C, n, IN(X), IN(O), IN(WO), OUT(Y)}, 1, &OUT(Y));
    script_call(s, CALL_OUTPUT_BACKWARD, 8,
                (double[]){T, C, n, IN(O), IN(WO), IN(DY), OUT(DO), OUT(DWO)}, 2,
                (int[]){OUT(DO), OUT(DWO)});
    script_call(s, CALL_HEADS_BACKWARD, 13,
                (double[]){T, H, D, Dv, p->scale, IN(Q), IN(K), IN(V), IN(P), IN(DO), OUT(DQ),
                           OUT(DK), OUT(DV)},
                3, (int[]){OUT(DQ), OUT(DK), OUT(DV)});
    script_call(s, CALL_TOKENS_BACKWARD, 17,
                (double[]){T, C, H, D, Dv, IN(X), IN(WQ), IN(WK), IN(WV), IN(DY), IN(DQ), IN(DK),
                           IN(DV), OUT(DX), OUT(DWQ), OUT(DWK), OUT(DWV)},
                4, (int[]){OUT(DX), OUT(DWQ), OUT(DWK), OUT(DWV)});
#undef IN
#undef OUT
}

typedef struct {
    tokens x;
    token_buffers of;
    int calls; /* of those before */
} token_draw;

static void open_draw(grading *g, script *s, bool square, token_draw *d)
{
    d->calls = s->calls;
    open_tokens(g, square, &d->x);
    send_all(g, s, d->x.b, &d->of);
    call_all(s, &d->x.b->p, &d->of);
}

static void grade_draw(grading *g, const script *s, const token_draw *d)
{
    const tokens *x = &d->x;
    const token_buffers *of = &d->of;
    const block_problem *p = &x->b->p;
    const int n = d->calls;
    grade_order(g, s, n, of->heads[0], p, true, x->b->at[BLOCK_Q]);
    grade_order(g, s, n + 1, of->merged[1], p, false, x->b->heads->at[STEPS_Q]);
    for (block_name k = BLOCK_Q; k <= BLOCK_V; k++) grade_projection(g, s, n + 2, of->out[k], x, k);
    grade_heads(g, s, n + 3, of->out[BLOCK_P], x, BLOCK_P);
    grade_heads(g, s, n + 3, of->out[BLOCK_O], x, BLOCK_O);
    grade_Y(g, s, n + 4, of->out[BLOCK_Y], x);
    grade_dO(g, s, n + 5, of->out[BLOCK_DO], x);
    grade_dW(g, s, n + 5, of->out[BLOCK_DWO], x, BLOCK_DWO, of->before[BLOCK_DWO]);
    grade_heads(g, s, n + 6, of->out[BLOCK_DQ], x, BLOCK_DQ);
    grade_heads(g, s, n + 6, of->out[BLOCK_DK], x, BLOCK_DK);
    grade_heads(g, s, n + 6, of->out[BLOCK_DV], x, BLOCK_DV);
    grade_dX(g, s, n + 7, of->out[BLOCK_DX], x, of->before[BLOCK_DX]);
    for (block_name k = BLOCK_DWQ; k <= BLOCK_DWV; k++)
        grade_dW(g, s, n + 7, of->out[k], x, k, of->before[k]);
}

static void close_draw(token_draw *d)
{
    for (block_name k = 0; k < BLOCK_COUNT; k++) free(d->of.before[k]);
    close_tokens(&d->x);
}

/* What is right in the first draw has the verdict of the second, if that was computed. */
static void add_second_draw(const grading *first, grading *g)
{
    static const char hidden[] = "  (In the first sizes, where C = H Dv, it is right.)";
    for (int k = 0; k < g->grades; k++) {
        grade *q = &g->of[k];
        const verdict_kind before = first->of[k].kind;
        if (before > VERDICT_CLOSE || q->kind <= before) {
            *q = first->of[k];
        } else if (before != VERDICT_NOT_ASKED) {
            const size_t n = strlen(q->text);
            snprintf(q->text + n, sizeof q->text - n, "%s", hidden);
        }
    }
}

void grade_tokens(grading *g)
{
    script s = {.calls = 0};
    token_draw first, second;
    open_draw(g, &s, true, &first);
    open_draw(g, &s, false, &second);
    run_calls(g, &s);
    grade_draw(g, &s, &first);
    grading *of_first = need(malloc(sizeof *of_first));
    *of_first = *g;
    g->grades = 0;
    grade_draw(g, &s, &second);
    add_second_draw(of_first, g);
    free(of_first);
    close_script(&s);
    close_draw(&second);
    close_draw(&first);
}
