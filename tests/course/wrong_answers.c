/* wrong_answers.c -- one backward of attention with every mistake in it; see wrong_answers.h. */
#include "course/wrong_answers.h"

#include <math.h>
#include <string.h>

enum { HEADS = 6, SIZE = 8 };
typedef double cells[HEADS][SIZE][SIZE];

static steps *x;   /* the problem, and where its gradients go */
static mistake is; /* what is done wrong */
static cells P, A, dA, dP, dS, dR;
static bool read[HEADS][SIZE][SIZE];
static double delta[HEADS][SIZE];

#define AT(name, h, i, j) (*steps_cell(x, STEPS_##name, h, i, j))

static int head_read(int h)
{
    return is == MISTAKE_GROUPS_IN_TURN ? h % x->p.G : h / (x->p.H / x->p.G);
}

/* Which keys the backward reads; the forward read those that keep says. */
static void choose_keys(int h, int i)
{
    int last = -1;
    for (int j = 0; j < x->p.N; j++)
        if (AT(KEEP, 0, i, j) != 0) last = j;
    for (int j = 0; j < x->p.N; j++) {
        bool r = AT(KEEP, 0, i, j) != 0;
        if (is == MISTAKE_MASK_FORGOTTEN) r = last >= 0;
        if (is == MISTAKE_KEY_FEWER && j == last) r = false;
        if (is == MISTAKE_KEY_MORE && last >= 0 && j == last + 1) r = true;
        if (is == MISTAKE_LAST_KEY && j == x->p.N - 1) r = false;
        if (is == MISTAKE_LAST_ROW && i == x->p.T - 1) r = false;
        read[h][i][j] = r;
    }
}

static double score(int h, int i, int j)
{
    double X = 0;
    for (int d = 0; d < x->p.D; d++)
        X += x->c * AT(Q, h, i, d) * AT(K, h / (x->p.H / x->p.G), j, d);
    if (x->p.softcap > 0) X = x->p.softcap * tanh(X / x->p.softcap);
    return X + (x->p.bias_H ? AT(BIAS, h, i, j) : 0);
}

/* P again, from the log-sum-exp of the forward */
static void weights_again(int h, int i)
{
    const bool all = is == MISTAKE_NOT_RENORMALISED;
    double sum = 0;
    for (int j = 0; j < x->p.N; j++)
        if (AT(KEEP, 0, i, j) != 0 || all) sum += exp(score(h, i, j));
    for (int j = 0; j < x->p.N; j++) {
        P[h][i][j] = read[h][i][j] ? exp(score(h, i, j) - log(sum)) : 0;
        A[h][i][j] = AT(Z, h, i, j) * P[h][i][j];
    }
}

static void gradient_of_weights(int h, int i)
{
    const double *flat = steps_cell(x, STEPS_DO, h, 0, 0);
    for (int j = 0; j < x->p.N; j++) {
        double z = AT(Z, h, i, j), sum = 0;
        for (int d = 0; d < x->p.Dv; d++)
            sum += (is == MISTAKE_DO_TRANSPOSED ? flat[d * x->p.T + i] : AT(DO, h, i, d)) *
                   AT(V, head_read(h), j, d);
        if (x->p.weights && is != MISTAKE_DW_LEFT_OUT) sum += AT(DW, h, i, j);
        if (is == MISTAKE_DROPOUT_FORGOTTEN) z = 1;
        if (is == MISTAKE_DROPOUT_UNSCALED) z *= 1 - x->p.dropout;
        if (is == MISTAKE_DROPOUT_TWICE) z *= z;
        dA[h][i][j] = read[h][i][j] ? sum : 0;
        dP[h][i][j] = z * dA[h][i][j];
    }
}

static double row_delta(int h, int i)
{
    double sum = 0, dO_O = 0, dO_V = 0, A_dW = 0, plain = 0, keys = 0;
    for (int j = 0; j < x->p.N; j++) {
        if (!read[h][i][j]) continue;
        double weight = is == MISTAKE_DELTA_FROM_A ? A[h][i][j] : P[h][i][j];
        double arrives = is == MISTAKE_DELTA_FROM_DA ? dA[h][i][j] : dP[h][i][j];
        sum += weight * (is == MISTAKE_DELTA_OF_ONES ? 1 : arrives);
        plain += arrives;
        keys++;
        if (x->p.weights) A_dW += A[h][i][j] * AT(DW, h, i, j);
        for (int d = 0; d < x->p.Dv; d++)
            dO_O += AT(DO, h, i, d) * A[h][i][j] * AT(V, head_read(h), j, d);
    }
    double of_dO = 0;
    for (int d = 0; d < x->p.Dv; d++) of_dO += AT(DO, h, i, d);
    for (int d = 0; d < x->p.Dv && i < x->p.N; d++)
        dO_V += AT(DO, h, i, d) * AT(V, head_read(h), i, d);
    switch ((int)is) {
    case MISTAKE_NO_DELTA: return 0;
    case MISTAKE_DELTA_UNWEIGHTED: return plain;
    case MISTAKE_DELTA_MEAN: return keys > 0 ? plain / keys : 0;
    case MISTAKE_DELTA_NO_DW: return dO_O;
    case MISTAKE_DELTA_NO_DO: return A_dW;
    case MISTAKE_DELTA_OF_DO: return of_dO;
    case MISTAKE_DELTA_OWN_VALUE: return (i < x->p.N ? dO_V : dO_O) + A_dW;
    default: return sum;
    }
}

static double column_delta(int h, int j)
{
    double sum = 0;
    for (int i = 0; i < x->p.T; i++) sum += P[h][i][j] * dP[h][i][j];
    return sum;
}

static double mean_dA(int h, int i)
{
    double sum = 0;
    for (int j = 0; j < x->p.N; j++) sum += P[h][i][j] * dA[h][i][j];
    return sum;
}

static double delta_so_far(int h, int i, int j)
{
    double sum = 0;
    for (int k = 0; k <= j; k++) sum += P[h][i][k] * dP[h][i][k];
    return sum;
}

/* A[i][j], or, without the transpose, what lies at [j][i] of [N,T] in the same memory */
static double taken(const cells m, bool transposed, int h, int i, int j)
{
    int flat = j * x->p.T + i;
    return transposed ? m[h][flat / x->p.N][flat % x->p.N] : m[h][i][j];
}

static double gradient_of_score(int h, int i, int j)
{
    const int T = x->p.T;
    double p = taken(P, is == MISTAKE_P_TRANSPOSED, h, i, j), u = dP[h][i][j], mean = delta[h][i];
    switch ((int)is) {
    case MISTAKE_DELTA_ROW_BEFORE: return p * (u - delta[h][(i + T - 1) % T]);
    case MISTAKE_DELTA_ROW_AFTER: return p * (u - delta[h][(i + 1) % T]);
    case MISTAKE_DELTA_FIRST_ROW: return p * (u - delta[h][0]);
    case MISTAKE_DELTA_NOT_COMPLETE: return p * (u - delta_so_far(h, i, j));
    case MISTAKE_DELTA_OF_COLUMN: return p * (u - column_delta(h, j));
    case MISTAKE_DIAGONAL: return p * (1 - p) * u;
    case MISTAKE_NO_P: return u - mean;
    case MISTAKE_SIGN: return -p * (u - mean);
    case MISTAKE_DELTA_ADDED: return p * (u + mean);
    case MISTAKE_DS_FROM_A: return A[h][i][j] * (u - mean);
    case MISTAKE_DROPPED_IS_MASKED: return AT(Z, h, i, j) > 0 ? p * (u - mean) : 0;
    case MISTAKE_DROPOUT_LAST: return A[h][i][j] * (dA[h][i][j] - mean_dA(h, i));
    case MISTAKE_DS_DROPPED: return A[h][i][j] * (dA[h][i][j] - mean);
    default: return p * (u - mean);
    }
}

static double slope(double U)
{
    const double cap = x->p.softcap, y = U / cap;
    if (!(cap > 0) || is == MISTAKE_NO_SLOPE) return 1;
    if (is == MISTAKE_SLOPE_UNSQUARED) return 1 - y;
    if (is == MISTAKE_SLOPE_UNCAPPED) return 1 - U * U;
    return 1 - y * y;
}

static double scale(void)
{
    if (is == MISTAKE_NO_SCALE) return 1;
    if (is == MISTAKE_SCALE_TWICE) return x->c * x->c;
    if (is == MISTAKE_NO_TEMPERATURE && x->p.temperature > 0) return x->c * x->p.temperature;
    return x->c;
}

/* to += term, or to = term */
static void add_or_set(bool set, double *to, double term)
{
    *to = set ? term : *to + term;
}

/* Is the last score, of those that are added up over this axis, the one at (h,i,j)? */
static bool later_is_read(int axis, int h, int i, int j)
{
    int to_h = axis == 0 ? x->p.H : h + 1, to_i = axis == 1 ? x->p.T : i + 1;
    int to_j = axis == 2 ? x->p.N : j + 1;
    for (int a = h; a < to_h; a++)
        for (int b = i; b < to_i; b++)
            for (int c = j; c < to_j; c++)
                if ((a > h || b > i || c > j) && read[a][b][c]) return true;
    return false;
}

static void gradient_of_bias(int h, int i, int j, double U)
{
    double term = dS[h][i][j];
    if (is == MISTAKE_BIAS_SCALED) term *= x->c;
    if (is == MISTAKE_BIAS_BELOW_SOFTCAP) term *= slope(U);
    if (is == MISTAKE_BIAS_HEADS && x->p.bias_H == 1 && later_is_read(0, h, i, j)) return;
    if (is == MISTAKE_BIAS_ROWS && x->p.bias_T == 1 && later_is_read(1, h, i, j)) return;
    if (is == MISTAKE_BIAS_KEYS && x->p.bias_N == 1 && later_is_read(2, h, i, j)) return;
    add_or_set(is == MISTAKE_BIAS_LAST, &AT(DBIAS, h, i, j), term);
}

static void add_products(int h, int i, int j)
{
    const int g = head_read(h), group = x->p.H / x->p.G;
    double back = is == MISTAKE_NO_SCALE_DQ ? 1 / x->c : is == MISTAKE_SCALE_TWICE_DQ ? x->c : 1;
    const bool dR_transposed = is == MISTAKE_DR_TRANSPOSED;
    double dRq = taken(dR, dR_transposed || is == MISTAKE_DQ_TRANSPOSED, h, i, j) * back;
    bool of_group = !(is == MISTAKE_GROUP_FIRST && h % group > 0) &&
                    !(is == MISTAKE_GROUP_LAST && h % group < group - 1);
    bool q = is != MISTAKE_DQ_OWN || i == j, k = is != MISTAKE_DK_OWN || i == j;
    for (int d = 0; d < x->p.D && q; d++)
        add_or_set(is == MISTAKE_DQ_LAST, &AT(DQ, h, i, d), dRq * AT(K, g, j, d));
    back = is == MISTAKE_NO_SCALE_DK ? 1 / x->c : is == MISTAKE_SCALE_TWICE_DK ? x->c : 1;
    double dRk = taken(dR, dR_transposed || is == MISTAKE_DK_NOT_TRANSPOSED, h, i, j) * back;
    for (int d = 0; d < x->p.D && k && of_group; d++)
        add_or_set(is == MISTAKE_DK_LAST, &AT(DK, g, j, d), dRk * AT(Q, h, i, d));
    bool A_transposed = is == MISTAKE_DV_NOT_TRANSPOSED || is == MISTAKE_P_TRANSPOSED;
    double a = taken(A, A_transposed, h, i, j);
    if (is == MISTAKE_DV_FROM_DR) a = dR[h][i][j];
    if (is == MISTAKE_DV_FROM_P) a = P[h][i][j];
    if (is == MISTAKE_DV_UNSCALED) a *= 1 - x->p.dropout;
    for (int d = 0; d < x->p.Dv && of_group && (is != MISTAKE_DV_OWN || i == j); d++)
        add_or_set(is == MISTAKE_DV_LAST, &AT(DV, g, j, d), a * AT(DO, h, i, d));
}

/* Calls f for every cell, in the order of the memory. */
static void every_row(void (*f)(int h, int i))
{
    for (int h = 0; h < x->p.H; h++)
        for (int i = 0; i < x->p.T; i++) f(h, i);
}

static void row_of_delta(int h, int i)
{
    delta[h][i] = row_delta(h, i);
}

static void row_of_scores(int h, int i)
{
    for (int j = 0; j < x->p.N; j++) {
        double U = score(h, i, j) - (x->p.bias_H ? AT(BIAS, h, i, j) : 0);
        dS[h][i][j] = read[h][i][j] ? gradient_of_score(h, i, j) : 0;
        dR[h][i][j] = scale() * slope(U) * dS[h][i][j];
        if (is == MISTAKE_SCALE_ON_DP)
            dR[h][i][j] = slope(U) * P[h][i][j] * (x->c * dP[h][i][j] - delta[h][i]);
        if (x->p.bias_H && read[h][i][j]) gradient_of_bias(h, i, j, U);
    }
}

static void row_of_products(int h, int i)
{
    for (int j = 0; j < x->p.N; j++)
        if (read[h][i][j]) add_products(h, i, j);
}

void wrong_answer(steps *to, mistake m)
{
    static const steps_name given[] = {STEPS_DQ, STEPS_DK, STEPS_DV, STEPS_DBIAS};
    x = to, is = m;
    for (int k = 0; k < 4; k++)
        if (steps_size(to, given[k]))
            memset(to->at[given[k]], 0, (size_t)steps_size(to, given[k]) * sizeof(double));
    every_row(choose_keys);
    every_row(weights_again);
    every_row(gradient_of_weights);
    every_row(row_of_delta);
    every_row(row_of_scores);
    every_row(row_of_products);
}
