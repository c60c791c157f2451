/* block_mistakes.c -- the table of a block's mistakes, and the backward with one of them in it; see
 * block_mistakes.h.
 *
 * As in mistakes.c, a mistake is a few changes: in the step that computes `in`, every element of
 * `of` becomes rule(element).  If `of` is what the step reads, it is changed for that step alone; if
 * it is `in` itself, the result is changed, and the steps after it read that.
 *
 *     W_o for W_o^T       in dO, of W_o:        element (i,j) is where the transpose has it
 *     path K lost        in dX_K, of dX_K:     0
 *
 * Every rule is a sum of products without a difference: so the same table computes the sums of
 * absolute terms of a wrong answer. */
#include "block_mistakes.h"

#include <math.h>
#include <string.h>

typedef struct {
    const block *b;
    block_name of;
    int i, j; /* row and column */
} element;

typedef double element_rule(element e);

static double value(element e, block_name what)
{
    return *block_cell(e.b, what, 0, e.i, e.j);
}

static double rule_zero(element e)
{
    (void)e;
    return 0;
}

static double rule_twice(element e)
{
    return 2 * value(e, e.of);
}

/* ------------------------------------------------------------------ heads ---------------------- */

/* How many heads stand side by side in a matrix [T,n width] */
static int heads_in(element e)
{
    switch (e.of) {
    case BLOCK_K:
    case BLOCK_DK:
    case BLOCK_V:
    case BLOCK_DV: return e.b->p.G;
    default: return e.b->p.H;
    }
}

static int width_in(element e)
{
    return e.b->dim[e.of][2] / heads_in(e);
}

/* Element (h, i, d) of the heads, which hold it as [n,T,width] */
static steps_name in_heads(block_name of)
{
    return of == BLOCK_DQ   ? STEPS_DQ
           : of == BLOCK_DK ? STEPS_DK
           : of == BLOCK_DV ? STEPS_DV
                            : STEPS_O;
}

/* The memory of [n,T,width] is read as if it were that of [T,n width]. */
static double rule_merged_in_memory(element e)
{
    return e.b->heads->at[in_heads(e.of)][e.i * e.b->dim[e.of][2] + e.j];
}

/* The memory of [T,n width] is read as if it were that of [n,T,width]. */
static double rule_split_in_memory(element e)
{
    const int width = width_in(e), h = e.j / width, d = e.j % width;
    return e.b->at[e.of][(h * e.b->p.T + e.i) * width + d];
}

/* Head h has what belongs to the head counted from the other end. */
static double rule_exchanged(element e)
{
    const int width = width_in(e), h = e.j / width, d = e.j % width;
    e.j = (heads_in(e) - 1 - h) * width + d;
    return value(e, e.of);
}

/* Element d of head h is written at column d n + h. */
static double rule_merged_interleaved(element e)
{
    const int n = heads_in(e), h = e.j % n, d = e.j / n;
    e.j = h * width_in(e) + d;
    return value(e, e.of);
}

/* Element d of head h is read at column d n + h. */
static double rule_split_interleaved(element e)
{
    const int width = width_in(e), h = e.j / width, d = e.j % width;
    e.j = d * heads_in(e) + h;
    return value(e, e.of);
}

/* What query head h contributes to dQ, dK or dV */
static double of_head(element e, int h)
{
    const steps *a = e.b->heads;
    const int g = e.j / width_in(e), d = e.j % width_in(e);
    if (e.of == BLOCK_DQ) return g == h ? value(e, e.of) : 0;
    if (a->reads[h] != g) return 0;
    double sum = 0;
    for (int i = 0; i < a->p.T; i++)
        sum += e.of == BLOCK_DK
                   ? *steps_cell(a, STEPS_DR, h, i, e.i) * *steps_cell(a, STEPS_Q, h, i, d)
                   : *steps_cell(a, STEPS_A, h, i, e.i) * *steps_cell(a, STEPS_DO, h, i, d);
    return sum;
}

static double rule_first_head(element e)
{
    return of_head(e, 0);
}

static double rule_last_head(element e)
{
    return of_head(e, e.b->p.H - 1);
}

static double rule_shared_first(element e)
{
    return of_head(e, e.j / width_in(e) * (e.b->p.H / e.b->p.G));
}

static double rule_shared_last(element e)
{
    return of_head(e, (e.j / width_in(e) + 1) * (e.b->p.H / e.b->p.G) - 1);
}

static double rule_shared_mean(element e)
{
    return value(e, e.of) * e.b->p.G / e.b->p.H;
}

/* ------------------------------------------------------------------ matrices ------------------- */

/* The memory of [m,n] is read as if it were that of [n,m]: of a square matrix the transpose. */
static double rule_plain(element e)
{
    return e.b->at[e.of][e.j * e.b->dim[e.of][1] + e.i];
}

/* The transpose is written: [n,m] into the memory of [m,n]. */
static double rule_transposed(element e)
{
    const int at = e.i * e.b->dim[e.of][2] + e.j, m = e.b->dim[e.of][1];
    e.i = at % m, e.j = at / m;
    return value(e, e.of);
}

static double rule_WQ(element e)
{
    return value(e, BLOCK_WQ);
}

static double rule_WK(element e)
{
    return value(e, BLOCK_WK);
}

static double rule_dWQ(element e)
{
    return value(e, BLOCK_DWQ);
}

static double rule_dO(element e)
{
    return value(e, BLOCK_DO);
}

static double rule_X(element e)
{
    return value(e, BLOCK_X);
}

static double rule_last_position(element e)
{
    return e.i == e.b->p.T - 1 ? value(e, e.of) : 0;
}

static double rule_mean(element e)
{
    return value(e, e.of) / e.b->p.T;
}

/* ------------------------------------------------------------------ the table ------------------ */

enum { MOST_CHANGES = 4 };

typedef struct {
    block_name in, of;
    element_rule *rule; /* NULL: no change */
} block_change;

#define EACH(name, rule)                                                                           \
    {                                                                                              \
        BLOCK_##name, BLOCK_##name, rule                                                           \
    }
#define OF_HEADS(rule)                                                                             \
    {                                                                                              \
        EACH(DQ, rule), EACH(DK, rule), EACH(DV, rule)                                             \
    }
#define OF_SHARED(rule)                                                                            \
    {                                                                                              \
        EACH(DK, rule), EACH(DV, rule)                                                             \
    }
#define OF_WEIGHTS(rule)                                                                           \
    {                                                                                              \
        EACH(DWQ, rule), EACH(DWK, rule), EACH(DWV, rule), EACH(DWO, rule)                         \
    }
#define READ(in, of, rule)                                                                         \
    {                                                                                              \
        {                                                                                          \
            BLOCK_##in, BLOCK_##of, rule                                                           \
        }                                                                                          \
    }

/* "scale forgotten" and "sign" are no rules: dR is computed with c = 1, or with -c. */
static const block_change changes[BLOCK_MISTAKES][MOST_CHANGES] = {
    [BLOCK_MERGED_IN_MEMORY] = OF_HEADS(rule_merged_in_memory),
    [BLOCK_MERGED_EXCHANGED] = OF_HEADS(rule_exchanged),
    [BLOCK_MERGED_INTERLEAVED] = OF_HEADS(rule_merged_interleaved),
    [BLOCK_DO_IN_MEMORY] = READ(DV, DO, rule_split_in_memory),
    [BLOCK_DO_EXCHANGED] = READ(DV, DO, rule_exchanged),
    [BLOCK_DO_INTERLEAVED] = READ(DV, DO, rule_split_interleaved),
    [BLOCK_FIRST_HEAD] = OF_HEADS(rule_first_head),
    [BLOCK_LAST_HEAD] = OF_HEADS(rule_last_head),
    [BLOCK_SHARED_FIRST] = OF_SHARED(rule_shared_first),
    [BLOCK_SHARED_LAST] = OF_SHARED(rule_shared_last),
    [BLOCK_SHARED_MEAN] = OF_SHARED(rule_shared_mean),
    [BLOCK_RESIDUAL_LOST] = {EACH(DX_RES, rule_zero)},
    [BLOCK_RESIDUAL_DOUBLED] = {EACH(DX_RES, rule_twice)},
    [BLOCK_RESIDUAL_THROUGH_WO] = {EACH(DX_RES, rule_dO)},
    [BLOCK_PATH_Q_LOST] = {EACH(DX_Q, rule_zero)},
    [BLOCK_PATH_K_LOST] = {EACH(DX_K, rule_zero)},
    [BLOCK_PATH_V_LOST] = {EACH(DX_V, rule_zero)},
    [BLOCK_PATH_V_ALONE] = {EACH(DX_RES, rule_zero), EACH(DX_Q, rule_zero), EACH(DX_K, rule_zero)},
    [BLOCK_WQ_PLAIN] = READ(DX_Q, WQ, rule_plain),
    [BLOCK_WK_PLAIN] = READ(DX_K, WK, rule_plain),
    [BLOCK_WV_PLAIN] = READ(DX_V, WV, rule_plain),
    [BLOCK_WO_PLAIN] = READ(DO, WO, rule_plain),
    [BLOCK_WQ_WK_EXCHANGED] = {{BLOCK_DX_Q, BLOCK_WQ, rule_WK}, {BLOCK_DX_K, BLOCK_WK, rule_WQ}},
    [BLOCK_DW_LAST_POSITION] = {{BLOCK_DWQ, BLOCK_X, rule_last_position},
                                {BLOCK_DWK, BLOCK_X, rule_last_position},
                                {BLOCK_DWV, BLOCK_X, rule_last_position},
                                {BLOCK_DWO, BLOCK_O, rule_last_position}},
    [BLOCK_DW_MEAN] = OF_WEIGHTS(rule_mean),
    [BLOCK_DW_TRANSPOSED] = OF_WEIGHTS(rule_transposed),
    [BLOCK_DWQ_FOR_DWK] = {EACH(DWK, rule_dWQ)},
    [BLOCK_O_IN_MEMORY] = READ(DWO, O, rule_merged_in_memory),
    [BLOCK_O_EXCHANGED] = READ(DWO, O, rule_exchanged),
    [BLOCK_O_INTERLEAVED] = READ(DWO, O, rule_merged_interleaved),
    [BLOCK_DWO_FROM_DO] = READ(DWO, DY, rule_dO),
    [BLOCK_DWO_FROM_X] = READ(DWO, O, rule_X),
};

static const char of_heads[] = "Column h D + d of row t belongs to head h: where does that lie in "
                               "[H,T,D], where in [T,H D]?",
                  of_terms[] = "X is read four times: by the residual, by Q, by K and by V.",
                  of_transposes[] = "If Z = X W, then dX = dZ W^T.",
                  of_sums[] = "If Z = X W, then dW = X^T dZ: a sum over all tokens.";

const mistake_text block_mistakes_texts[BLOCK_MISTAKES] = {
    [BLOCK_RIGHT] = {"right", "Nothing is wrong.", ""},
    [BLOCK_MERGED_IN_MEMORY] = {"dQ, dK, dV merged in the wrong order",
                                "The memory of dQ, dK and dV by heads, [H,T,D], is read as if it "
                                "were [T,H D] already.",
                                of_heads},
    [BLOCK_MERGED_EXCHANGED] = {"heads of dQ, dK, dV exchanged",
                                "In dQ, dK and dV the columns of one head are those of another: "
                                "the heads are counted from the other end.",
                                of_heads},
    [BLOCK_MERGED_INTERLEAVED] = {"heads of dQ, dK, dV interleaved",
                                  "Element d of head h is merged into column d H + h, but the "
                                  "elements of a head lie side by side.",
                                  of_heads},
    [BLOCK_DO_IN_MEMORY] = {"dO split in the wrong order",
                            "The memory of dO, [T,H Dv], is read as if it were [H,T,Dv] already.",
                            of_heads},
    [BLOCK_DO_EXCHANGED] = {"heads of dO exchanged",
                            "A head gets the columns of dO that belong to another one: the heads "
                            "are counted from the other end.",
                            of_heads},
    [BLOCK_DO_INTERLEAVED] = {"heads of dO interleaved",
                              "Element d of head h is split from column d H + h in place of "
                              "h Dv + d.",
                              of_heads},
    [BLOCK_FIRST_HEAD] = {"first head only",
                          "dQ, dK and dV hold what the first head contributes, and no more.",
                          "Every head has a backward of its own."},
    [BLOCK_LAST_HEAD] = {"last head only",
                         "dQ, dK and dV hold what the last head contributes, and no more.",
                         "Every head has a backward of its own: is it written over?"},
    [BLOCK_SHARED_FIRST] = {"first head of a shared key only",
                            "Of the heads that share a key and a value, the first alone "
                            "contributes to dK and dV.",
                            "Heads that share a key and a value: their gradients meet there."},
    [BLOCK_SHARED_LAST] = {"last head of a shared key only",
                           "Of the heads that share a key and a value, the last alone "
                           "contributes to dK and dV: = in place of +=.",
                           "Heads that share a key and a value: their gradients meet there."},
    [BLOCK_SHARED_MEAN] = {"mean over a shared key's heads",
                           "dK and dV are the mean over the heads that share them, not the sum.",
                           "One key that is used twice has the sum of two gradients."},
    [BLOCK_RESIDUAL_LOST] = {"residual's gradient lost", "dX lacks dY, the residual's gradient.",
                             of_terms},
    [BLOCK_RESIDUAL_DOUBLED] = {"residual doubled", "dX holds dY, the residual's gradient, twice.",
                                of_terms},
    [BLOCK_RESIDUAL_THROUGH_WO] = {"residual through W_o",
                                   "The residual's gradient is dO in place of dY.",
                                   "Is the residual added before W_o or after it?"},
    [BLOCK_PATH_Q_LOST] = {"path Q lost", "dX lacks dQ W_q^T.", of_terms},
    [BLOCK_PATH_K_LOST] = {"path K lost", "dX lacks dK W_k^T.", of_terms},
    [BLOCK_PATH_V_LOST] = {"path V lost", "dX lacks dV W_v^T.", of_terms},
    [BLOCK_PATH_V_ALONE] = {"overwritten, V's term alone left",
                            "dX is dV W_v^T alone: = in place of +=, three times.", of_terms},
    [BLOCK_WQ_PLAIN] = {"W_q for W_q^T", "dX holds dQ W_q in place of dQ W_q^T.", of_transposes},
    [BLOCK_WK_PLAIN] = {"W_k for W_k^T", "dX holds dK W_k in place of dK W_k^T.", of_transposes},
    [BLOCK_WV_PLAIN] = {"W_v for W_v^T", "dX holds dV W_v in place of dV W_v^T.", of_transposes},
    [BLOCK_WO_PLAIN] = {"W_o for W_o^T", "dO is dY W_o in place of dY W_o^T.", of_transposes},
    [BLOCK_WQ_WK_EXCHANGED] = {"W_q and W_k exchanged",
                               "dX is made of dQ W_k^T and dK W_q^T: the matrices are exchanged.",
                               "Which matrix made Q, and which one K?"},
    [BLOCK_SCALE_FORGOTTEN] = {"scale forgotten", "dQ and dK lack the scale c.",
                               "Inside a head: S = c R; what is dR?"},
    [BLOCK_SIGN] = {"sign", "dQ and dK have the wrong sign, as if dS were P (delta - dP).",
                    "Inside a head: does P_ij rise or fall with its own score?"},
    [BLOCK_DW_LAST_POSITION] = {"last token only",
                                "dW holds the product of the last token alone: = in place of +=.",
                                of_sums},
    [BLOCK_DW_MEAN] = {"mean over tokens", "dW is the mean over the tokens, not the sum.", of_sums},
    [BLOCK_DW_TRANSPOSED] = {"dW transposed", "dW holds dZ^T X in place of X^T dZ.",
                             "dW has the shape of W: which index is the row?"},
    [BLOCK_DWQ_FOR_DWK] = {"dW_q taken for dW_k", "dW_k is X^T dQ in place of X^T dK.",
                           "Which gradient arrives at K?"},
    [BLOCK_O_IN_MEMORY] = {"O merged in the wrong order",
                           "In dW_o the memory of O by heads, [H,T,Dv], is read as if it were "
                           "[T,H Dv] already.",
                           of_heads},
    [BLOCK_O_EXCHANGED] = {"heads of O exchanged",
                           "In dW_o the columns of O of one head are those of another.", of_heads},
    [BLOCK_O_INTERLEAVED] = {"heads of O interleaved",
                             "In dW_o element d of head h stands in column d H + h of O.",
                             of_heads},
    [BLOCK_DWO_FROM_DO] = {"dO for dY in dW_o", "dW_o is O^T dO in place of O^T dY.",
                           "Which gradient arrives at O W_o?"},
    [BLOCK_DWO_FROM_X] = {"X for O in dW_o", "dW_o is X^T dY in place of O^T dY.",
                          "What does W_o read?"},
};

block_mistake block_mistakes_find(const char *name)
{
    block_mistake m = BLOCK_RIGHT;
    while (m < BLOCK_MISTAKES && strcmp(name, block_mistakes_texts[m].name) != 0) m++;
    return m;
}

bool block_can_be_made(const block_problem *p, block_mistake m)
{
    switch (m) {
    case BLOCK_SHARED_FIRST:
    case BLOCK_SHARED_LAST:
    case BLOCK_SHARED_MEAN: return p->G < p->H;
    case BLOCK_RESIDUAL_THROUGH_WO:
    case BLOCK_DWO_FROM_DO:
    case BLOCK_DWO_FROM_X: return p->H * p->Dv == p->C;
    case BLOCK_WQ_WK_EXCHANGED:
    case BLOCK_DWQ_FOR_DWK: return p->G == p->H;
    default: return true;
    }
}

/* ------------------------------------------------------------------ the backward --------------- */

/* to[e] = rule(element e of b->at[of]) */
static void apply_rule(const block *b, block_name of, element_rule *rule, double *to)
{
    element e = {.b = b, .of = of};
    for (e.i = 0; e.i < b->dim[of][1]; e.i++)
        for (e.j = 0; e.j < b->dim[of][2]; e.j++) *to++ = rule(e);
}

/* One step, with the changes that are made in it. */
static void mistaken_step(block *b, block_name what, block_mistake m, const block *work)
{
    block reader = *b; /* writes where b does, but may read something else */
    const double c = b->heads->c;
    for (int k = 0; k < MOST_CHANGES; k++) {
        const block_change *x = &changes[m][k];
        if (!x->rule || x->in != what || x->of == what) continue;
        apply_rule(b, x->of, x->rule, work->at[x->of]);
        reader.at[x->of] = work->at[x->of];
    }
    if (m == BLOCK_SCALE_FORGOTTEN) b->heads->c = 1;
    if (m == BLOCK_SIGN) b->heads->c = steps_minus(b->heads, 0, c);
    block_gradient(&reader, what);
    b->heads->c = c;
    for (int k = 0; k < MOST_CHANGES; k++) {
        const block_change *x = &changes[m][k];
        if (!x->rule || x->in != what || x->of != what) continue;
        apply_rule(b, what, x->rule, work->at[what]);
        memcpy(b->at[what], work->at[what], (size_t)block_size(b, what) * sizeof(double));
    }
}

bool block_backward_with(block *b, block_mistake m)
{
    block *work = block_open(&b->p);
    for (block_name what = BLOCK_DO; work && what < BLOCK_COUNT; what++)
        mistaken_step(b, what, m, work);
    block_close(work);
    return work != NULL;
}

bool block_mistakes_giving(const block *b, block_name what, const int cell[3], double x,
                           double within, uint64_t *mistakes)
{
    block *wrong = block_copy(b);
    bool ok = wrong != NULL;
    *mistakes = 0;
    for (block_mistake m = BLOCK_RIGHT; ok && m < BLOCK_MISTAKES; m++) {
        if (!block_can_be_made(&b->p, m)) continue;
        ok = block_backward_with(wrong, m);
        if (!ok || fabs(*block_cell(wrong, what, cell[0], cell[1], cell[2]) - x) > within) continue;
        if (m == BLOCK_RIGHT) break;
        *mistakes |= (uint64_t)1 << m;
    }
    block_close(wrong);
    return ok;
}
