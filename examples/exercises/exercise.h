/* exercise.h -- what the files of the exercises have in common.
 *
 * Each exercise is one file with blanks:
 *
 *     double dS = BLANK(1);
 *
 * Put your own lines there, then ask for a verdict: make exercise-3.  Nothing of attic is linked
 * to your file; all arrays are plain C arrays of double, row after row: X of [rows, columns] has
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
#endif
