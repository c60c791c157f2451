/* mistakes.h -- wrong backwards of attention that know their name.
 *
 * A mistake changes one thing in the backward of steps.h: what a step reads, or what it returns.
 * So there is one backward, and mistake 0 is the right one:
 *
 *     mistakes_backward(a, MISTAKE_NO_DELTA);                  (forward of a first)
 *     puts(mistakes_texts[MISTAKE_NO_DELTA].sentence);
 *
 * And the other way round: which mistake makes somebody's gradient wrong?
 *
 *     mistakes_answer answer = {.got = {[STEPS_DQ] = dQ, [STEPS_DK] = dK}};
 *     mistakes_report report;
 *     if (mistakes_judge(a, &answer, &report)) ... report.of[STEPS_DQ].kind ...
 *
 * Errors are relative to the sum of the absolute terms that an element is a sum of (steps_terms):
 * exact is 1e-12 of it, close is 1e-6.  float has a unit roundoff u = 6e-8, and what is computed in
 * it is wrong by a few u of these terms, however the sums are ordered.  Of f16 and bf16, whose u is
 * given, close is 8 u.
 *
 * Nothing here prints, ends the program or keeps a state. */
#ifndef EXAMPLES_MISTAKES_H
#define EXAMPLES_MISTAKES_H
#include "steps.h"

#include <stdint.h>

typedef enum {
    MISTAKE_NONE,
    /* 8 values */
    MISTAKE_DV_FROM_P,
    MISTAKE_DV_UNSCALED,
    MISTAKE_DV_LAST,
    MISTAKE_DV_OWN,
    MISTAKE_DV_NOT_TRANSPOSED,
    MISTAKE_DV_FROM_DR,
    MISTAKE_DO_TRANSPOSED,
    MISTAKE_DW_LEFT_OUT,
    /* heads that share keys and values */
    MISTAKE_GROUP_FIRST,
    MISTAKE_GROUP_LAST,
    MISTAKE_GROUPS_IN_TURN,
    /* 7 dropout */
    MISTAKE_DROPOUT_FORGOTTEN,
    MISTAKE_DROPOUT_UNSCALED,
    MISTAKE_DROPOUT_TWICE,
    MISTAKE_DROPOUT_LAST,
    /* 6 softmax: delta */
    MISTAKE_NO_DELTA,
    MISTAKE_DELTA_OF_ONES,
    MISTAKE_DELTA_UNWEIGHTED,
    MISTAKE_DELTA_MEAN,
    MISTAKE_DELTA_ROW_BEFORE,
    MISTAKE_DELTA_ROW_AFTER,
    MISTAKE_DELTA_FIRST_ROW,
    MISTAKE_DELTA_FROM_A,
    MISTAKE_DELTA_FROM_DA,
    MISTAKE_DELTA_NO_DW,
    MISTAKE_DELTA_NO_DO,
    MISTAKE_DELTA_OWN_VALUE,
    MISTAKE_DELTA_OF_DO,
    MISTAKE_DELTA_NOT_COMPLETE,
    /* 6 softmax: dS */
    MISTAKE_DIAGONAL,
    MISTAKE_NO_P,
    MISTAKE_SIGN,
    MISTAKE_DELTA_ADDED,
    MISTAKE_DELTA_OF_COLUMN,
    MISTAKE_DS_FROM_A,
    MISTAKE_DS_DROPPED,
    MISTAKE_DROPPED_IS_MASKED,
    MISTAKE_P_TRANSPOSED,
    /* 5 mask */
    MISTAKE_MASK_FORGOTTEN,
    MISTAKE_KEY_FEWER,
    MISTAKE_KEY_MORE,
    MISTAKE_LAST_KEY,
    MISTAKE_LAST_ROW,
    MISTAKE_NOT_RENORMALISED,
    /* 4 bias */
    MISTAKE_BIAS_HEADS,
    MISTAKE_BIAS_ROWS,
    MISTAKE_BIAS_KEYS,
    MISTAKE_BIAS_LAST,
    MISTAKE_BIAS_SCALED,
    MISTAKE_BIAS_BELOW_SOFTCAP,
    /* 3 softcap */
    MISTAKE_NO_SLOPE,
    MISTAKE_SLOPE_UNSQUARED,
    MISTAKE_SLOPE_UNCAPPED,
    /* 2 scale */
    MISTAKE_NO_SCALE,
    MISTAKE_NO_SCALE_DQ,
    MISTAKE_NO_SCALE_DK,
    MISTAKE_SCALE_TWICE,
    MISTAKE_SCALE_TWICE_DQ,
    MISTAKE_SCALE_TWICE_DK,
    MISTAKE_NO_TEMPERATURE,
    MISTAKE_SCALE_ON_DP,
    /* 1 scores */
    MISTAKE_DQ_LAST,
    MISTAKE_DQ_OWN,
    MISTAKE_DQ_TRANSPOSED,
    MISTAKE_DK_LAST,
    MISTAKE_DK_OWN,
    MISTAKE_DK_NOT_TRANSPOSED,
    MISTAKE_DR_TRANSPOSED,
    /* all gradients */
    MISTAKE_OVERWRITTEN,
    MISTAKES
} mistake;

typedef struct {
    const char *name;     /* "no delta" */
    const char *sentence; /* what was done instead */
    const char *hint;     /* where to look */
} mistake_text;
extern const mistake_text mistakes_texts[MISTAKES];

mistake mistakes_find(const char *name); /* MISTAKES if there is none of this name */

typedef struct {
    bool has[MISTAKES];     /* has[m]: mistake m is in the set */
    bool delta_from_output; /* no mistake: delta is computed as dO_i . O_i (+ sum_j A_ij dW_ij),
                             * which is another number where dP is wrong */
} mistake_set;

mistake_set mistakes_only(mistake m); /* of MISTAKE_NONE: the empty set */
mistake_set mistakes_join(mistake_set x, mistake_set y);
mistake_set mistakes_common(mistake_set x, mistake_set y);
mistake_set mistakes_without(mistake_set x, mistake_set y); /* what is in x, and not in y */
bool mistakes_any(mistake_set x);

/* The backward with this mistake in it; with all of a set.  MISTAKE_OVERWRITTEN changes nothing
 * here, only where a gradient holds something before.  False: no memory. */
bool mistakes_backward(steps *a, mistake m);
bool mistakes_backward_set(steps *a, mistake_set set);

/* The first quantity that they change; STEPS_COUNT: none. */
steps_name mistakes_first(mistake_set set);

/* The same for many backwards of one problem, in a workspace that mistakes_open_work opens (false:
 * no memory).  What comes before the first change is copied from the right backward, if that is
 * not NULL. */
bool mistakes_open_work(const steps *a, steps *work[3]);
void mistakes_run(const steps *a, mistake_set set, const steps *right, steps *const work[3]);
void mistakes_close_work(steps *const work[3]);

/* ------------------------------------------------------------------ naming --------------------- */

typedef struct {
    const double *got[STEPS_COUNT];    /* laid out as in steps; NULL: not asked.  NaN where nothing
                                        * was written.  R, X, U, S, dA and dP are not looked at
                                        * where a row does not attend to a key. */
    const double *before[STEPS_COUNT]; /* what a gradient held, to which it was added; NULL: 0 */
    double unit; /* what it was computed in: 2^-11 f16, 2^-8 bf16, else float or double */
    bool
        unnamed; /* only right or wrong is asked: no mistake is tried, which takes most of the time */
} mistakes_answer;

typedef enum {
    VERDICT_NOT_ASKED,
    VERDICT_EXACT,
    VERDICT_CLOSE,
    VERDICT_WRONG,
    VERDICT_NOT_WRITTEN
} verdict_kind;

typedef struct {
    verdict_kind kind;
    mistake_set named; /* wrong: the mistakes that give just this, all of them */
    mistake_set
        replaced;        /* none does: those that do if what the gradient held before is replaced */
    uint64_t candidates; /* of any matrix, in place of both: bit k is candidate k */
    double error;        /* of the worst cell, relative to the sum of its absolute terms */
    int cell[3];         /* the worst cell: head, row, column */
    double got, right;   /* there */
    ptrdiff_t wrong;     /* how many elements are wrong or not written */
    char where[200];     /* wrong or not written: what they have in common, or how many they are */
    char arithmetic[500]; /* "dS[q0,k1] = P[q0,k1] * (dP[q0,k1] - delta[q0]) = 0.2 * (6 - 4.9) =
                           * 0.22, you have 1.2" */
} verdict;

typedef struct {
    verdict of[STEPS_COUNT];
    mistake_set all; /* the mistakes that explain every answer; empty if none is wrong */
} mistakes_report;

/* After the forward of a; its gradients are not read but computed again.  A mistake is named where
 * the answer lies within 1e-6 of its wrong answer and is at least 100 times farther from the right
 * one; mistakes that give the same on this input are named together, but none of dW where there is
 * no dW.  False: no memory. */
bool mistakes_judge(const steps *a, const mistakes_answer *answer, mistakes_report *report);

/* The mistakes that give the right `what` on this input, where nobody can see them.  False: no
 * memory. */
bool mistakes_hidden(const steps *a, steps_name what, const double *before, mistake_set *hidden);

/* ------------------------------------------------------------------ any matrix ----------------- */

/* The same verdicts on a matrix that is no part of attention.  Its wrong answers are given. */
typedef struct {
    double value;
    const char *name;
} mistakes_ratio;

typedef struct {
    const char *name, *sentence;
    const double *values; /* [rows, columns], what is added to before; NaN: nothing is written */
    bool overwrites;      /* the values replace what was there before */
} mistakes_candidate;

typedef struct {
    int heads; /* 0: one; else so many of them, [heads,rows,columns] */
    int rows, columns;
    const char *word[2]; /* "row", "column" */
    char letter[2];      /* 'i', 'j': row i2; 0: row 2 */
    int width
        [2]; /* rows or columns that belong to heads, h0d0 h0d1 ... h1d0: so many to each; else 0 */
    const double *got, *before, *right, *terms; /* before: NULL is 0 */
    const mistakes_ratio *ratio; /* what an answer may be wrong by, but for the sign */
    int ratios;
    const mistakes_candidate *candidate;
    int candidates; /* at most 64 */
} mistakes_matrix;

/* v->arithmetic is left empty. */
void mistakes_judge_matrix(const mistakes_matrix *m, verdict *v);

/* ------------------------------------------------------------------ drawing -------------------- */

typedef struct {
    bool groups, softcap, bias, mask, dropout, weights, temperature;
    int most; /* the largest size: at least 5 */
} mistakes_features;

/* Can the ratios be told apart that an answer may be wrong by: sqrt(D), N, H/G, 1/(1-p), 2 ... and
 * their inverses?  (Not with D = 4, for example: sqrt(D) = 2.) */
bool mistakes_ratios_differ(const steps *a);

/* Can the mistakes asked (but for MISTAKE_OVERWRITTEN) be told from the right backward and from each other
 * by the quantities in `in`, which has bit k for steps_name k?  1: yes; 0: no; -1: no memory. */
int mistakes_tell_apart(const steps *a, mistake_set asked, uint64_t in);

/* A random problem with these features, forward and backward computed.  Every element is a multiple
 * of 1/8, so that float holds it, and not 0.  It is drawn until the mistakes asked can be told apart
 * by the quantities in `in`, and until the ratios can be told apart, too.  NULL: no memory, or not
 * found in 2000 drawings, because these features cannot show these mistakes. */
steps *mistakes_draw(uint64_t seed, const mistakes_features *with, mistake_set asked, uint64_t in);
#endif
