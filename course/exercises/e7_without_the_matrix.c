/* E7 -- attention without its matrix: softmax in one pass, and a backward that computes P again.
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
    double m = -INFINITY, l = 0;
    for (int d = 0; d < Dv; d++) O[d] = 0;

    for (int from = 0; from < N; from += tile) {
        int to = from + tile < N ? from + tile : N;
        double larger = BLANK(1); /* the maximum of m and of this tile's scores */
        double factor = BLANK(2); /* on l and O */
        l *= factor;
        for (int d = 0; d < Dv; d++) O[d] *= factor;
        for (int j = from; j < to; j++) {
            double e = BLANK(3);
            l += e;
            for (int d = 0; d < Dv; d++) O[d] += BLANK(4);
            (void)e;
        }
        m = larger;
    }
    for (int d = 0; d < Dv; d++) O[d] = BLANK(5);
    *lse = BLANK(6);
    (void)S, (void)V, (void)m, (void)l;
}

/* dQ [T,D] +=, dK [N,D] +=, dV [N,Dv] += ...      lse, delta [T] */
void attention_backward_recomputed(int T, int N, int D, int Dv, double c, const double *Q,
                                   const double *K, const double *V, const double *lse,
                                   const double *dO, const double *delta, double *dQ, double *dK,
                                   double *dV)
{
    for (int i = 0; i < T; i++)
        for (int j = 0; j < N; j++) {
            double S = BLANK(7); /* a sum over d < D */
            double P = BLANK(8);
            double dP = BLANK(9); /* a sum over d < Dv */
            double dR = BLANK(10);
            for (int d = 0; d < Dv; d++) dV[j * Dv + d] += BLANK(11);
            for (int d = 0; d < D; d++) {
                dQ[i * D + d] += BLANK(12);
                dK[j * D + d] += BLANK(13);
            }
            (void)S, (void)P, (void)dP, (void)dR;
        }
    (void)c, (void)Q, (void)K, (void)V, (void)lse, (void)dO, (void)delta;
}
