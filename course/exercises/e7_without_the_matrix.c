/* E7 -- attention without its matrix: softmax in one pass, and a backward that computes P again.
 *
 * All loops are yours.
 *
 * a) One row of scores S [N] with its values V [N,Dv], read in tiles of `tile` keys, each once. Of
 * all that was read so far, three things are kept:
 *
 *     m   the largest score
 *     l   sum_j exp(S_j - m)
 *     O   sum_j exp(S_j - m) V_j               [Dv], divided by l at the very end
 *
 * A new tile may have a larger score, m'.  Then l and O, which were made with m, are multiplied by
 * a factor: exp(S_j - m') = exp(S_j - m) times what?  (m begins at -INFINITY.  Scores are -INFINITY
 * where a mask is, of a whole tile perhaps.  -INFINITY - -INFINITY is NaN: it
 * can happen in two places, m - m' and S_j - m'.)
 *
 * At the end lse = m + log(l), the log-sum-exp of the row.  A row that is -INFINITY everywhere has
 * O = 0 and lse = -INFINITY.
 *
 * Scores may be 1000: exp(1000) is infinite, exp(1000 - m) is not.
 *
 * b) The backward of E6 without P: S_ij = c Q_i . K_j and P_ij = exp(S_ij - lse_i) are computed
 * again, one element at a time.  lse is one number per row, P would have been N.  (Every row attends
 * to something here.) */
#include "exercise.h"

/* O [Dv] = ..., *lse = ...      S [N], V [N,Dv]; a tile has `tile` keys, the last one maybe fewer */
void online_softmax(int N, int Dv, int tile, const double *S, const double *V, double *O,
                    double *lse)
{
    O[0] = BLANK(1);
    *lse = BLANK(2);
    (void)N, (void)Dv, (void)tile, (void)S, (void)V;
}

/* dQ [T,D] +=, dK [N,D] +=, dV [N,Dv] += ...      lse, delta [T] */
void attention_backward_recomputed(int T, int N, int D, int Dv, double c, const double *Q,
                                   const double *K, const double *V, const double *lse,
                                   const double *dO, const double *delta, double *dQ, double *dK,
                                   double *dV)
{
    dQ[0] += BLANK(3);
    dK[0] += BLANK(4);
    dV[0] += BLANK(5);
    (void)T, (void)N, (void)D, (void)Dv, (void)c;
    (void)Q, (void)K, (void)V, (void)lse, (void)dO, (void)delta;
}
