/* 00_attention_in_100_lines.c -- attention, its gradient, and a check of that gradient.
 *     cc 00_attention_in_100_lines.c -lm && ./a.out
 *
 * T queries read N values, each value as far as its key fits the query:
 *
 *     1 scores   R = Q K^T                    5 mask      query i reads the first keys only
 *     2 scale    S = c R,  c = 1/sqrt(D)      6 softmax   P = exp(S), divided by its row's sum
 *                                             8 values    O = P V
 *
 * (The optional steps 3, 4, 7 are left out.)  dX means ∂L/∂X.  Whatever the loss L is, the layers
 * after attention pass dO back, and only dO matters here: so dO is given, and L = sum of dO O has
 * it.  backward() applies the chain rule, from 8 to 1; check() compares with differences. */
#include <math.h>
#include <stdio.h>

enum { T = 2, N = 3, D = 2, Dv = 2 }; /* queries, keys, size of a query or key, size of a value */
static double Q[T][D] = {{1, 2}, {-1, 1}}, K[N][D] = {{1, 0}, {2, -1}, {1, 2}};
static double V[N][Dv] = {{1, 4}, {5, 1}, {0, 2}}, dO[T][Dv] = {{1, -1}, {2, 1}};
static double P[T][N], O[T][Dv], dQ[T][D], dK[N][D], dV[N][Dv], c;
static int causal = 1; /* 0: every query reads every key */

static double forward(void)
{
    double L = 0;
    c = 1 / sqrt((double)D);
    for (int i = 0; i < T; i++) {
        int n = causal ? N - T + i + 1 : N; /* 5: keys 0 to n-1; the last query reads all keys */
        double S[N] = {0}, m = -HUGE_VAL, l = 0;
        for (int j = 0; j < n; j++) {
            for (int d = 0; d < D; d++) S[j] += c * Q[i][d] * K[j][d]; /* 1, 2: S_ij = c Q_i.K_j */
            m = fmax(m, S[j]); /* the row's maximum: exp(S - m) cannot overflow, and m cancels */
        }
        for (int j = 0; j < n; j++) l += P[i][j] = exp(S[j] - m);
        for (int j = 0; j < n; j++) P[i][j] /= l; /* 6: now the row sums to 1 */
        for (int d = 0; d < Dv; d++) {
            O[i][d] = 0;
            for (int j = 0; j < n; j++) O[i][d] += P[i][j] * V[j][d]; /* 8: a mixture */
            L += dO[i][d] * O[i][d];
        }
    }
    return L;
}

/* After forward().  Adds to dQ, dK, dV: what is read several times has a gradient from each. */
static void backward(void)
{
    for (int i = 0; i < T; i++) {
        int n = causal ? N - T + i + 1 : N;
        double dP[N] = {0}, delta = 0;
        for (int j = 0; j < n; j++) {
            for (int d = 0; d < Dv; d++) {   /* 8: O_id = sum_j P_ij V_jd */
                dP[j] += dO[i][d] * V[j][d]; /* ∂O_id/∂P_ij = V_jd: dP_ij = sum_d dO_id V_jd */
                dV[j][d] += P[i][j] * dO[i][d]; /* ∂O_id/∂V_jd = P_ij: dV_jd = sum_i P_ij dO_id */
            }
            delta += P[i][j] * dP[j]; /* delta_i = sum_k P_ik dP_ik, for the next loop */
        }
        for (int j = 0; j < n; j++) {
            /* 6: P_ik = exp(S_ik) / l_i.  S_ij is in l_i, and in the numerator if k = j, so
             *    ∂P_ik/∂S_ij = P_ik ([k=j] - P_ij)      where [k=j] is 1 if k = j, else 0, and
             *    dS_ij = sum_k dP_ik P_ik ([k=j] - P_ij) = P_ij (dP_ij - sum_k P_ik dP_ik) */
            double dS = P[i][j] * (dP[j] - delta);
            double dR = c * dS;           /* 2: S = c R */
            for (int d = 0; d < D; d++) { /* 1: R_ij = sum_d Q_id K_jd */
                dQ[i][d] += dR * K[j][d]; /* ∂R_ij/∂Q_id = K_jd: dQ_id = sum_j dR_ij K_jd */
                dK[j][d] += dR * Q[i][d]; /* ∂R_ij/∂K_jd = Q_id: dK_jd = sum_i dR_ij Q_id */
            }
        }
    }
}

/* What a derivative is: move one element by h, up and down; how much does the loss change? */
static int check(const char *name, double *x, const double *dx, int elements, int columns)
{
    int right = 0;
    for (int k = 0; k < elements; k++) {
        double before = x[k], h = 1e-5, up, down;
        x[k] = before + h, up = forward();
        x[k] = before - h, down = forward();
        double slope = (up - down) / (2 * h);
        x[k] = before;
        int same = fabs(dx[k] - slope) < 1e-8;
        printf("%s[%d][%d] %10.6f  %10.6f   %s\n", name, k / columns, k % columns, dx[k], slope,
               same ? "right" : "WRONG");
        right += same;
    }
    return right;
}

int main(void)
{
    forward();
    backward();
    printf("Is this backward of attention right?  difference: (L(x + h) - L(x - h)) / 2h\n\n"
           "element    backward  difference\n");
    int all = T * D + N * D + N * Dv, right = check("dQ", (double *)Q, (double *)dQ, T * D, D);
    right += check("dK", (double *)K, (double *)dK, N * D, D);
    right += check("dV", (double *)V, (double *)dV, N * Dv, Dv);
    printf("\n%d of %d elements are right\n", right, all);
    return right < all;
}
