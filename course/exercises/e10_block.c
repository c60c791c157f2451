/* E10 -- a whole block, from tokens to tokens.  About 90 minutes, if E2 and E6 are behind you.
 *
 * T tokens of C elements, X [T,C], become T tokens again:
 *
 *     Q = X W_q,   K = X W_k,   V = X W_v         tokens_forward
 *     P_h, O_h from Q_h, K_h, V_h for each head   heads_forward
 *     Y = X + O W_o                               output_forward
 *
 *     W_q and W_k [C,H D]    W_v [C,H Dv]    W_o [H Dv,C]    P [H,T,T]    Y [T,C]
 *     Q and K [T,H D]        V and O [T,H Dv]
 *
 * Columns h D to (h+1) D - 1 of Q and K belong to head h, of V and O columns h Dv to (h+1) Dv - 1.
 * The head itself is given, forward and backward.  It is causal: token t reads tokens 0 to t.
 * Both write with =, not with +=:
 *
 *     head_forward(T, D, Dv, c, Q, K, V, P, O)
 *     head_backward(T, D, Dv, c, Q, K, V, P, dO, dQ, dK, dV)
 *
 * for one head, c being its scale: Q, K, dQ, dK [T,D]; V, O, dO, dV [T,Dv]; P [T,T].  So a head needs its rows one after the
 * other.  To split is to copy the columns of all heads into [H,T,D]; to merge is to copy them back.
 *
 * The backward goes the other way, one function for each:
 *
 *     dO and dW_o from dY                         output_backward
 *     dQ, dK, dV from dO, head by head            heads_backward
 *     dX, dW_q, dW_k, dW_v from dQ, dK, dV and dY tokens_backward
 *
 * Z = X W has dX = dZ W^T and dW = X^T dZ: that was E2.  X is read four times: by Q,
 * by K, by V, and it is added to Y.  How many terms has dX?
 *
 * dX and the dW hold what other uses of X and W contribute already: add to them, with +=.  All terms
 * of dX are yours to add, that of dY too.  The others, dO, dQ, dK and dV, hold nothing yet: write =.
 *
 * All loops are yours.  A local array may be as large as a variable says:
 *
 *     double heads[H * T * D];
 *     split_heads(H, T, D, Q, heads);             head h begins at heads + h * T * D
 *
 * Each function is called with what is right, whatever the others return.  But heads_forward and
 * heads_backward call your split_heads and merge_heads: write these first.  Each is called twice: first
 * with C = H Dv, so that W_v and W_o are square, then with no W square.  T, C, H, D and Dv always differ.
 * A verdict names elements: dO[t2,h1d0] is row 2 of dO, the column of element 0 of head 1.
 *
 * The same on paper, with numbers: docs/attention_block.md. */
#include "exercise.h"

/* heads [H,T,D] =          merged [T,H D] */
void split_heads(int H, int T, int D, const double *merged, double *heads)
{
    heads[0] = BLANK(1);
    (void)H, (void)T, (void)D, (void)merged;
}

/* merged [T,H D] =         heads [H,T,D] */
void merge_heads(int H, int T, int D, const double *heads, double *merged)
{
    merged[0] = BLANK(2);
    (void)H, (void)T, (void)D, (void)heads;
}

/* Q =, K =, V =            X, Wq, Wk, Wv */
void tokens_forward(int T, int C, int H, int D, int Dv, const double *X, const double *Wq,
                    const double *Wk, const double *Wv, double *Q, double *K, double *V)
{
    Q[0] = BLANK(3);
    K[0] = BLANK(4);
    V[0] = BLANK(5);
    (void)T, (void)C, (void)H, (void)D, (void)Dv, (void)X, (void)Wq, (void)Wk, (void)Wv;
}

/* P [H,T,T] =, O [T,H Dv] =        Q, K, V */
void heads_forward(int T, int H, int D, int Dv, double c, const double *Q, const double *K,
                   const double *V, double *P, double *O)
{
    P[0] = O[0] = BLANK(6);
    (void)T, (void)H, (void)D, (void)Dv, (void)c, (void)Q, (void)K, (void)V;
}

/* Y =                      X, O [T,n], Wo [n,C]; n is H Dv */
void output_forward(int T, int C, int n, const double *X, const double *O, const double *Wo,
                    double *Y)
{
    Y[0] = BLANK(7);
    (void)T, (void)C, (void)n, (void)X, (void)O, (void)Wo;
}

/* dO [T,n] =, dWo [n,C] +=         O, Wo, dY */
void output_backward(int T, int C, int n, const double *O, const double *Wo, const double *dY,
                     double *dO, double *dWo)
{
    dO[0] = BLANK(8);
    dWo[0] += BLANK(9);
    (void)T, (void)C, (void)n, (void)O, (void)Wo, (void)dY;
}

/* dQ =, dK =, dV =         Q, K, V, P, dO */
void heads_backward(int T, int H, int D, int Dv, double c, const double *Q, const double *K,
                    const double *V, const double *P, const double *dO, double *dQ, double *dK,
                    double *dV)
{
    dQ[0] = dK[0] = dV[0] = BLANK(10);
    (void)T, (void)H, (void)D, (void)Dv, (void)c, (void)Q, (void)K, (void)V, (void)P, (void)dO;
}

/* dX +=, dWq +=, dWk +=, dWv +=            X, Wq, Wk, Wv, dY, dQ, dK, dV */
void tokens_backward(int T, int C, int H, int D, int Dv, const double *X, const double *Wq,
                     const double *Wk, const double *Wv, const double *dY, const double *dQ,
                     const double *dK, const double *dV, double *dX, double *dWq, double *dWk,
                     double *dWv)
{
    dX[0] += BLANK(11);
    dWq[0] += BLANK(12);
    dWk[0] += BLANK(13);
    dWv[0] += BLANK(14);
    (void)T, (void)C, (void)H, (void)D, (void)Dv, (void)X, (void)Wq, (void)Wk, (void)Wv;
    (void)dY, (void)dQ, (void)dK, (void)dV;
}
