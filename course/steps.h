/* steps.h -- one small attention by its eight steps, forward and backward, every intermediate kept.
 *
 * The arithmetic is written out in loops that read like the formulas of attention/attention.h, in
 * double, for one batch.  Programs print it, compare with it, and break it: see mistakes.h.
 *
 *     steps *a = steps_open(&(steps_problem){.H = 1, .G = 1, .T = 3, .N = 4, .D = 2, .Dv = 2});
 *     ... fill a->at[STEPS_Q] and the other inputs ...
 *     steps_forward(a, STEPS_R);
 *     steps_backward(a);
 *     double x = *steps_cell(a, STEPS_DS, 0, i, j);
 *     steps_close(a);
 *
 * The loss is L = sum dO O (+ sum dW A if the weights are an output), with dO and dW given.
 *
 * Row i attends to key j where keep is 1 and the bias is not -INFINITY.  Elsewhere S = -INFINITY,
 * P = A = 0, and nothing is read: every gradient of such a cell is 0, those of A and P too.  A row
 * that attends to no key has P = O = dS = 0.  R, X and U are computed for every cell. */
#ifndef EXAMPLES_STEPS_H
#define EXAMPLES_STEPS_H
#include <stdbool.h>
#include <stddef.h>

/* What there is, in the order in which it is computed. */
typedef enum {
    STEPS_Q,
    STEPS_K,
    STEPS_V,
    STEPS_BIAS,
    STEPS_KEEP,
    STEPS_Z, /* up to here given */
    STEPS_R,
    STEPS_X,
    STEPS_U,
    STEPS_S,
    STEPS_P,
    STEPS_A,
    STEPS_O,
    STEPS_DO,
    STEPS_DW, /* dO and dW are given */
    STEPS_DV,
    STEPS_DA,
    STEPS_DP,
    STEPS_DELTA,
    STEPS_DS,
    STEPS_DBIAS,
    STEPS_DU,
    STEPS_DX,
    STEPS_DR,
    STEPS_DQ,
    STEPS_DK,
    STEPS_COUNT
} steps_name;

typedef struct {
    int H, G, T, N, D, Dv;                       /* each at least 1; G divides H */
    double scale, temperature, softcap, dropout; /* as in at_sdpa_args: 0 is 1/sqrt(D), 1, off, off;
                                                  * dropout is told, the factors z are given */
    int bias_H, bias_T, bias_N;                  /* each 1 or H, T, N; 0: no bias */
    bool weights;                                /* A is an output, too: dW is given */
} steps_problem;

typedef struct steps steps;
struct steps {
    steps_problem p;
    double c;                /* the scale in use */
    double *at[STEPS_COUNT]; /* row-major; [H,T,N] but for Q dQ [H,T,D], K dK [G,N,D],
                              * V dV [G,N,Dv], O dO [H,T,Dv], bias dbias [bias_H,bias_T,bias_N],
                              * keep [T,N] (1 = attend), z (0 or 1/(1-p)) [H,T,N], delta [H,T] */
    int dim[STEPS_COUNT][3]; /* heads, rows, columns; 1 if there is no such axis */
    int *reads;              /* query head h reads key/value head reads[h] = h / (H/G) */
    const steps *terms_of;   /* NULL, but in what steps_terms returns */
};

/* What is known of each: its name as it is written, its step, the formula, one sentence; and what a
 * quiz asks, sign first: the question, and why the answer is what it is.  See steps_text.c. */
typedef struct {
    const char *name;       /* "dS" */
    int step;               /* 1 .. 8; 0: given */
    const char *formula;    /* "dS_ij = P_ij (dP_ij - delta_i)" */
    const char *sentence;   /* what it says, for a learner */
    steps_name gradient_of; /* of dS: STEPS_S; STEPS_COUNT for what is no gradient */
    const char *question;   /* about the sign of an element; NULL for what is given */
    const char *answer;     /* what decides the sign */
} steps_text;
extern const steps_text steps_texts[STEPS_COUNT];
extern const char *const steps_names[9]; /* of the steps 1 to 8: "scores"; 0: "given" */

steps *steps_open(const steps_problem *p); /* all zero, keep all 1, z all 1; NULL: no memory */
steps *steps_copy(const steps *a);         /* NULL: no memory */
void steps_close(steps *a);                /* NULL: does nothing */

ptrdiff_t steps_size(const steps *a, steps_name what); /* heads x rows x columns; 0: no bias */
void steps_dims(const steps *a, steps_name what, int dim[3]); /* the same as a->dim[what] */
/* An axis of size 1 is broadcast: any index will do.  K, V and their gradients: a key/value head. */
double *steps_cell(const steps *a, steps_name what, int head, int row, int column);
bool steps_attends(const steps *a, int h, int i, int j);

void steps_forward(steps *a, steps_name first); /* what comes before `first` stands */
void steps_backward(steps *a);
/* One step of the backward: STEPS_DV .. STEPS_DK, from what it reads.  The backward is all of them,
 * in this order. */
void steps_gradient(steps *a, steps_name what);
/* 1 - (U/cap)^2, the derivative of the softcap; 1 without */
double steps_slope(const steps *a, double U);
double steps_loss(const steps *a);

/* d(loss)/d(element) by five-point differences, the step chosen as in gradcheck/gradcheck.c; the
 * true value lies within *unsure of it.  NaN: no memory. */
double steps_difference(const steps *a, steps_name what, ptrdiff_t element, double *unsure);
/* The same of any function of one number, at 0; h: the largest step, rounding: the error of f. */
double steps_derivative(double (*f)(void *ctx, double h), void *ctx, double h, double rounding,
                        double *unsure);
double steps_first_step(const steps *a, steps_name what, ptrdiff_t element); /* that h */
double steps_rounding(const steps *a); /* by how much the loss may be rounded */

/* How large an error of rounding may be.  Wherever a holds a sum, the copy returned holds the sum
 * of the absolute terms, from Q, K, V, dO ... up to dQ, dK: of x - y the copy holds |x| + |y|, of a
 * product of sums the product of both; P counts the errors of its scores as well.  An element that
 * is computed with a relative error of u in each operation is wrong by about a few u times this.
 * After the forward of a.  NULL: no memory. */
steps *steps_terms(const steps *a);
/* x - y; in what steps_terms returns, x + y */
static inline double steps_minus(const steps *a, double x, double y)
{
    return a->terms_of ? x + y : x - y;
}
#endif
