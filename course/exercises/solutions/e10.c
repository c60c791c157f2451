/* Three functions for the products of E2, used ten times. */
#include "exercise.h"

/* Z [T,n] += X [T,C] W [C,n] */
static void add_product(int T, int C, int n, const double *X, const double *W, double *Z)
{
    for (int t = 0; t < T; t++)
        for (int k = 0; k < C; k++)
            for (int j = 0; j < n; j++) Z[t * n + j] += X[t * C + k] * W[k * n + j];
}

/* dX [T,C] += dZ [T,n] W^T */
static void add_to_input(int T, int C, int n, const double *dZ, const double *W, double *dX)
{
    for (int t = 0; t < T; t++)
        for (int k = 0; k < C; k++)
            for (int j = 0; j < n; j++) dX[t * C + k] += dZ[t * n + j] * W[k * n + j];
}

/* dW [C,n] += X^T dZ */
static void add_to_matrix(int T, int C, int n, const double *X, const double *dZ, double *dW)
{
    for (int t = 0; t < T; t++)
        for (int k = 0; k < C; k++)
            for (int j = 0; j < n; j++) dW[k * n + j] += X[t * C + k] * dZ[t * n + j];
}

static void set_to_0(int n, double *x)
{
    for (int e = 0; e < n; e++) x[e] = 0;
}

void split_heads(int H, int T, int D, const double *merged, double *heads)
{
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++)
            for (int d = 0; d < D; d++) heads[(h * T + t) * D + d] = merged[t * H * D + h * D + d];
}

void merge_heads(int H, int T, int D, const double *heads, double *merged)
{
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++)
            for (int d = 0; d < D; d++) merged[t * H * D + h * D + d] = heads[(h * T + t) * D + d];
}

void tokens_forward(int T, int C, int H, int D, int Dv, const double *X, const double *Wq,
                    const double *Wk, const double *Wv, double *Q, double *K, double *V)
{
    set_to_0(T * H * D, Q);
    set_to_0(T * H * D, K);
    set_to_0(T * H * Dv, V);
    add_product(T, C, H * D, X, Wq, Q);
    add_product(T, C, H * D, X, Wk, K);
    add_product(T, C, H * Dv, X, Wv, V);
}

void heads_forward(int T, int H, int D, int Dv, double c, const double *Q, const double *K,
                   const double *V, double *P, double *O)
{
    double q[H * T * D], k[H * T * D], v[H * T * Dv], o[H * T * Dv];
    split_heads(H, T, D, Q, q);
    split_heads(H, T, D, K, k);
    split_heads(H, T, Dv, V, v);
    for (int h = 0; h < H; h++) {
        const int at = h * T * D, at_v = h * T * Dv;
        head_forward(T, D, Dv, c, q + at, k + at, v + at_v, P + h * T * T, o + at_v);
    }
    merge_heads(H, T, Dv, o, O);
}

void output_forward(int T, int C, int n, const double *X, const double *O, const double *Wo,
                    double *Y)
{
    for (int e = 0; e < T * C; e++) Y[e] = X[e];
    add_product(T, n, C, O, Wo, Y);
}

void output_backward(int T, int C, int n, const double *O, const double *Wo, const double *dY,
                     double *dO, double *dWo)
{
    set_to_0(T * n, dO);
    add_to_input(T, n, C, dY, Wo, dO);
    add_to_matrix(T, n, C, O, dY, dWo);
}

void heads_backward(int T, int H, int D, int Dv, double c, const double *Q, const double *K,
                    const double *V, const double *P, const double *dO, double *dQ, double *dK,
                    double *dV)
{
    double q[H * T * D], k[H * T * D], v[H * T * Dv], o[H * T * Dv];
    double dq[H * T * D], dk[H * T * D], dv[H * T * Dv];
    split_heads(H, T, D, Q, q);
    split_heads(H, T, D, K, k);
    split_heads(H, T, Dv, V, v);
    split_heads(H, T, Dv, dO, o);
    for (int h = 0; h < H; h++) {
        const int at = h * T * D, at_v = h * T * Dv;
        head_backward(T, D, Dv, c, q + at, k + at, v + at_v, P + h * T * T, o + at_v, dq + at,
                      dk + at, dv + at_v);
    }
    merge_heads(H, T, D, dq, dQ);
    merge_heads(H, T, D, dk, dK);
    merge_heads(H, T, Dv, dv, dV);
}

void tokens_backward(int T, int C, int H, int D, int Dv, const double *X, const double *Wq,
                     const double *Wk, const double *Wv, const double *dY, const double *dQ,
                     const double *dK, const double *dV, double *dX, double *dWq, double *dWk,
                     double *dWv)
{
    for (int e = 0; e < T * C; e++) dX[e] += dY[e];
    add_to_input(T, C, H * D, dQ, Wq, dX);
    add_to_input(T, C, H * D, dK, Wk, dX);
    add_to_input(T, C, H * Dv, dV, Wv, dX);
    add_to_matrix(T, C, H * D, X, dQ, dWq);
    add_to_matrix(T, C, H * D, X, dK, dWk);
    add_to_matrix(T, C, H * Dv, X, dV, dWv);
}
