/* block_mistakes.h -- wrong backwards of a block that know their name; see block.h, and mistakes.h
 * for those inside a head.
 *
 * A mistake changes one thing between tokens and heads: what a step reads, or what it returns.
 *
 *     block_backward_with(b, BLOCK_PATH_K_LOST);                     (forward of b first)
 *     puts(block_mistakes_texts[BLOCK_PATH_K_LOST].sentence);
 *
 * And the other way round: which mistake makes somebody's gradients wrong?
 *
 *     block_answer answer = {.got = {[BLOCK_DX] = dX, [BLOCK_DWK] = dW_k}};
 *     block_report report;
 *     if (block_judge(b, &answer, &report)) ... report.of[BLOCK_DX].named ...
 *
 * The rules are those of mistakes.h: right comes first; a mistake is named where the answer lies
 * within 1e-6 of its wrong answer and is at least 100 times farther from the right one; mistakes
 * that give the same are named together. */
#ifndef EXAMPLES_BLOCK_MISTAKES_H
#define EXAMPLES_BLOCK_MISTAKES_H
#include "block.h"
#include "mistakes.h"

typedef enum {
    BLOCK_RIGHT,
    /* merged and split */
    BLOCK_MERGED_IN_MEMORY,
    BLOCK_MERGED_EXCHANGED,
    BLOCK_MERGED_INTERLEAVED,
    BLOCK_DO_IN_MEMORY,
    BLOCK_DO_EXCHANGED,
    BLOCK_DO_INTERLEAVED,
    BLOCK_FIRST_HEAD,
    BLOCK_LAST_HEAD,
    /* heads that share keys and values */
    BLOCK_SHARED_FIRST,
    BLOCK_SHARED_LAST,
    BLOCK_SHARED_MEAN,
    /* the four terms of dX */
    BLOCK_RESIDUAL_LOST,
    BLOCK_RESIDUAL_DOUBLED,
    BLOCK_RESIDUAL_THROUGH_WO,
    BLOCK_PATH_Q_LOST,
    BLOCK_PATH_K_LOST,
    BLOCK_PATH_V_LOST,
    BLOCK_PATH_V_ALONE,
    /* matrices */
    BLOCK_WQ_PLAIN,
    BLOCK_WK_PLAIN,
    BLOCK_WV_PLAIN,
    BLOCK_WO_PLAIN,
    BLOCK_WQ_WK_EXCHANGED,
    BLOCK_SCALE_FORGOTTEN,
    BLOCK_SIGN,
    /* dW */
    BLOCK_DW_LAST_POSITION,
    BLOCK_DW_MEAN,
    BLOCK_DW_TRANSPOSED,
    BLOCK_DWQ_FOR_DWK,
    BLOCK_O_IN_MEMORY,
    BLOCK_O_EXCHANGED,
    BLOCK_O_INTERLEAVED,
    BLOCK_DWO_FROM_DO,
    BLOCK_DWO_FROM_X,
    BLOCK_MISTAKES
} block_mistake;

extern const mistake_text block_mistakes_texts[BLOCK_MISTAKES];
block_mistake block_mistakes_find(const char *name); /* BLOCK_MISTAKES: there is none */

/* Can this mistake be made in a block of these sizes?  W_o can only be read as dY's way back into
 * the residual, for example, if H Dv = C. */
bool block_can_be_made(const block_problem *p, block_mistake m);

/* The backward with this mistake in it, which can be made.  False: no memory. */
bool block_backward_with(block *b, block_mistake m);

/* The mistakes that give x, within so much, in one element of `what`: bit m for mistake m; none if x is
 * right.  For a number that a learner found by hand, where there is no matrix to judge.  False: no
 * memory. */
bool block_mistakes_giving(const block *b, block_name what, const int cell[3], double x,
                           double within, uint64_t *mistakes);

/* ------------------------------------------------------------------ naming --------------------- */

typedef struct {
    const double *got[BLOCK_COUNT];    /* dX, dW_q ...; NULL: not asked.  NaN: not written */
    const double *before[BLOCK_COUNT]; /* what a gradient held, to which it was added; NULL: 0 */
} block_answer;

typedef struct {
    verdict v; /* exact, close, wrong, not written; where, and the arithmetic of the worst cell;
                     * the sets in it are not used */
    uint64_t named; /* wrong: bit m for each mistake m that gives just this; 0: none does */
    bool replaced;  /* right, but for what it held before, which is lost */
} block_verdict;

typedef struct {
    block_verdict of[BLOCK_COUNT];
    uint64_t all; /* the mistakes that explain every answer; 0 if none is wrong */
} block_report;

/* After the forward of b; its gradients are not read but computed again.  Asked are what the block
 * holds itself, not the scores inside the heads.  False: no memory. */
bool block_judge(const block *b, const block_answer *answer, block_report *report);

/* The worst cell of such a verdict, worked out: "dX[t1,c1] = 1 - 1.582 + 3.669 + 3.3 = 6.3874 (the
 * terms of dY, Q, K and V), you have 1".  before: what a gradient held; NULL: nothing */
void block_say_cell(const block *b, block_name what, const double *before, const verdict *v,
                    char *to, size_t size);
#endif
