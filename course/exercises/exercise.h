/* exercise.h -- what the files of the exercises have in common.
 *
 * Each exercise is one file with blanks:
 *
 *     double dS = BLANK(1);
 *
 * Put your own lines there, then ask for a verdict: make exercise-3.  Nothing of attic is linked
 * to your file (but for E8 and E9, which say so); all arrays are plain C arrays of double, row after row: X of [rows, columns] has
 * X_ij at X[i * columns + j].
 *
 * Notation, as everywhere in attic: the loss is L, and dX is ∂L/∂X, given for what was computed and
 * asked for what it was computed from.  T queries, N keys; a query or key has D elements, a value
 * has Dv.
 *
 *   - "dX +=": dX already holds something, namely what other uses of X contribute: add to it.
 *   - "dX =":  dX holds nothing yet: write each element. */
#ifndef EXERCISE_H
#define EXERCISE_H
#include <math.h>
#include <stdio.h>

/* A line that is not written yet: remembers that it was reached, and returns NaN. */
double exercise_blank(int n);
#define BLANK(n) exercise_blank(n)

#ifndef INFINITY
#define INFINITY HUGE_VAL
#endif

/* E0 */
double derivative(double (*f)(double x), double x);
/* E1 */
void scale_backward(int n, double c, const double *dy, double *dx);
void add_backward(int n, const double *dy, double *da, double *db);
/* E2 */
void matmul_backward(int M, int K, int N, const double *A, const double *B, const double *dC,
                     double *dA, double *dB);
/* E3 */
void upstream(int N, double *dP);
void softmax_jacobian(int N, const double *P, double *J);
void softmax_backward_slow(int N, const double *J, const double *dP, double *dS);
void softmax_backward(int N, const double *P, const double *dP, double *dS);
/* E4 */
void masked_dropout_backward(int T, int N, const double *keep, const double *P, const double *z,
                             const double *dA, double *dS);
/* E5 */
void attention_row_backward(int N, int D, int Dv, double c, const double *Q, const double *K,
                            const double *V, const double *P, const double *dO, double *dP,
                            double *dS, double *dQ, double *dK, double *dV);
/* E6 */
void attention_deltas(int T, int Dv, const double *O, const double *dO, double *delta);
void attention_backward(int T, int N, int D, int Dv, double c, const double *Q, const double *K,
                        const double *V, const double *P, const double *dO, const double *delta,
                        double *dQ, double *dK, double *dV);
/* E7 */
void online_softmax(int N, int Dv, int tile, const double *S, const double *V, double *O,
                    double *lse);
void attention_backward_recomputed(int T, int N, int D, int Dv, double c, const double *Q,
                                   const double *K, const double *V, const double *lse,
                                   const double *dO, const double *delta, double *dQ, double *dK,
                                   double *dV);
/* E8 */
typedef struct {
    int T, N, D, Dv;
    double c;               /* the scale */
    double *Q, *K, *V, *dO; /* [T,D] [N,D] [N,Dv] [T,Dv] */
    double *keep, *z;       /* [T,N]: the mask, 0 or 1; dropout, 0 or 1/(1-p) */
    double *S, *P, *A, *O;  /* the forward: [T,N], and O [T,Dv] */
    double *dV, *dP, *delta, *dS, *dR, *dQ, *dK; /* the backward; delta [T] */
} attention;

/* S ... dK once more, after you have changed Q, K, V or dO: forward, and the backward under test */
void run_again(attention *x);
double loss_of(const attention *x); /* sum_id dO_id O_id */

/* run returns 0, but for rounding, if what it checks holds, else how far it is off. */
typedef struct {
    const char *name; /* at most 39 letters */
    double (*run)(attention *x);
} check;

typedef enum {
    NOT_FOUND,
    DV_FROM_P,          /* dV = P^T dO in place of A^T dO */
    DV_LAST,            /* dV_j is the term of the last query alone */
    DV_NOT_TRANSPOSED,  /* dV = A dO in place of A^T dO */
    DROPOUT_FORGOTTEN,  /* dP = dA, without z */
    DROPOUT_UNSCALED,   /* dP leaves out what was dropped, but not the factor 1/(1-p) */
    DROPOUT_TWICE,      /* dP = z z dA */
    NO_DELTA,           /* delta = 0 */
    DELTA_OF_ONES,      /* delta_i = sum_j P_ij, without dP */
    DELTA_MEAN,         /* delta_i is the plain mean of row i of dP */
    DELTA_FROM_A,       /* delta_i = sum_j A_ij dP_ij */
    DELTA_ROW_BEFORE,   /* dS_i uses the delta of row i - 1, and row 0 that of the last row */
    DELTA_NOT_COMPLETE, /* dS_ij uses the part of delta_i that belongs to the keys up to j */
    DELTA_ADDED,        /* dS = P (dP + delta) */
    DIAGONAL,           /* dS = P (1 - P) dP */
    NO_P,               /* dS = dP - delta */
    SIGN,               /* dS = P (delta - dP) */
    DS_FROM_A,          /* dS = A (dP - delta) */
    KEY_FEWER,          /* the backward leaves out the last key that each row attends to */
    NO_SCALE,           /* dR = dS, without c */
    NO_SCALE_IN_DK,     /* dK lacks c; dQ has it */
    SCALE_TWICE,        /* dR = c c dS */
    DQ_LAST,            /* dQ_i is the term of the last key alone */
    DQ_TRANSPOSED,      /* dQ = dR^T K in place of dR K */
    DK_LAST,            /* dK_j is the term of the last query alone */
    DK_NOT_TRANSPOSED,  /* dK = dR Q in place of dR^T Q */
    BUGS
} bug;

typedef struct {
    bug is;         /* which mistake it is */
    const char *by; /* the name of a check that shows it */
} finding;

enum { PLANTED = 10 };
void look(int number, const attention *x); /* of -1, the right backward, and of 0 to 9 */
extern const check checks[];               /* at most 12, and {NULL, NULL} at the end */
extern const finding found[PLANTED];

/* E9 */
typedef struct {
    void (*forward)(int n, const float *x, float *y);                    /* y = softmax(x) */
    void (*backward)(int n, const float *y, const float *dy, float *dx); /* dx = ... */
} softmax_kernel;

enum { MOST_SIZES = 6 };
extern const int sizes[MOST_SIZES]; /* from 1 to 64 */
double check_kernel(softmax_kernel k, int n);
void softmax_backward_f32(int n, const float *y, const float *dy, float *dx);
/* E10; one head is given */
void head_forward(int T, int D, int Dv, double c, const double *Q, const double *K, const double *V,
                  double *P, double *O);
void head_backward(int T, int D, int Dv, double c, const double *Q, const double *K,
                   const double *V, const double *P, const double *dO, double *dQ, double *dK,
                   double *dV);
void split_heads(int H, int T, int D, const double *merged, double *heads);
void merge_heads(int H, int T, int D, const double *heads, double *merged);
void tokens_forward(int T, int C, int H, int D, int Dv, const double *X, const double *Wq,
                    const double *Wk, const double *Wv, double *Q, double *K, double *V);
void heads_forward(int T, int H, int D, int Dv, double c, const double *Q, const double *K,
                   const double *V, double *P, double *O);
void output_forward(int T, int C, int n, const double *X, const double *O, const double *Wo,
                    double *Y);
void output_backward(int T, int C, int n, const double *O, const double *Wo, const double *dY,
                     double *dO, double *dWo);
void heads_backward(int T, int H, int D, int Dv, double c, const double *Q, const double *K,
                    const double *V, const double *P, const double *dO, double *dQ, double *dK,
                    double *dV);
void tokens_backward(int T, int C, int H, int D, int Dv, const double *X, const double *Wq,
                     const double *Wk, const double *Wv, const double *dY, const double *dQ,
                     const double *dK, const double *dV, double *dX, double *dWq, double *dWk,
                     double *dWv);
#endif
