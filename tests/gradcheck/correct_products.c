/* correct_products.c -- correct functions with products and places: matmul, attention, rotations,
 * convolutions, pools, recurrences, tables, images.  See correct_kernels.h. */
#include "kernels/real.h"
#include "gradcheck/correct_kernels.h"

static void clear(ptrdiff_t n, REAL *to)
{
    for (ptrdiff_t i = 0; i < n; i++) to[i] = 0;
}

/* ------------------------------------------------------------------ products -------------------- */

/* Y [T,N] = A [T,D] C [D,N] */
static void multiply(int T, int D, int N, const REAL *A, const REAL *C, REAL *Y)
{
    clear((ptrdiff_t)T * N, Y);
    for (int t = 0; t < T; t++)
        for (int d = 0; d < D; d++)
            for (int n = 0; n < N; n++) Y[t * N + n] += A[t * D + d] * C[d * N + n];
}
/* Adds to dA and dC. */
static void multiply_back(int T, int D, int N, const REAL *A, const REAL *C, const REAL *dY,
                          REAL *dA, REAL *dC)
{
    for (int t = 0; t < T; t++)
        for (int d = 0; d < D; d++)
            for (int n = 0; n < N; n++) {
                dA[t * D + d] += dY[t * N + n] * C[d * N + n];
                dC[d * N + n] += dY[t * N + n] * A[t * D + d];
            }
}
FORWARD(matmul)
{
    multiply(p->T, p->D, p->N, x, x + p->T * p->D, y);
}
BACKWARD(matmul_back)
{
    const ptrdiff_t A = (ptrdiff_t)p->T * p->D;
    clear(p->n, dx);
    multiply_back(p->T, p->D, p->N, x, x + A, dy, dx, dx + A);
}

/* Y [T,Dv] = relu(X [T,D] W [D,N] + b [N]) V [N,Dv]; rows of at most MOST hidden units */
enum { MOST = 64 };
static void hidden_row(const correct_function *p, const REAL *x, int t, REAL *h)
{
    const REAL *W = x + p->T * p->D, *b = W + p->D * p->N;
    multiply(1, p->D, p->N, x + t * p->D, W, h);
    for (int n = 0; n < p->N; n++) h[n] = h[n] + b[n] > 0 ? h[n] + b[n] : 0;
}
FORWARD(perceptron)
{
    const REAL *V = x + p->T * p->D + p->D * p->N + p->N;
    REAL h[MOST];
    for (int t = 0; t < p->T; t++) {
        hidden_row(p, x, t, h);
        multiply(1, p->N, p->Dv, h, V, y + t * p->Dv);
    }
}
BACKWARD(perceptron_back)
{
    const ptrdiff_t W = (ptrdiff_t)p->T * p->D, b = W + (ptrdiff_t)p->D * p->N, V = b + p->N;
    clear(p->n, dx);
    for (int t = 0; t < p->T; t++) {
        REAL h[MOST], dh[MOST];
        hidden_row(p, x, t, h);
        clear(p->N, dh);
        multiply_back(1, p->N, p->Dv, h, x + V, dy + t * p->Dv, dh, dx + V);
        for (int n = 0; n < p->N; n++) dh[n] = h[n] > 0 ? dh[n] : 0;
        for (int n = 0; n < p->N; n++) dx[b + n] += dh[n];
        multiply_back(1, p->D, p->N, x + t * p->D, x + W, dh, dx + t * p->D, dx + W);
    }
}

/* ------------------------------------------------------------------ attention ------------------- */

/* O [H,T,Dv] = P V, P = softmax(cap tanh(scale Q K^T / cap) + bias): Q [H,T,D], K [G,N,D],
 * V [G,N,Dv], bias [H,T,N] if there is one; cap = 0 is none.  Head h reads head h G / H of K. */
typedef struct {
    ptrdiff_t K, V, bias;
} offsets;

static offsets offsets_of(const correct_function *p)
{
    offsets o = {.K = (ptrdiff_t)p->H * p->T * p->D};
    o.V = o.K + (ptrdiff_t)p->G * p->N * p->D;
    o.bias = o.V + (ptrdiff_t)p->G * p->N * p->Dv;
    return o;
}
static bool keeps(const correct_function *p, int t, int j)
{
    return !p->causal || j <= t + p->N - p->T;
}
/* Of row t of head h: P, and the slope of each score to scale Q K^T */
static void weights_of_row(const correct_function *p, const REAL *x, int h, int t, REAL *P,
                           REAL *slope)
{
    const offsets o = offsets_of(p);
    const REAL *q = x + (h * p->T + t) * p->D, scale = (REAL)p->constant[0],
               cap = (REAL)p->constant[1];
    REAL most = (REAL)-INFINITY, total = 0;
    for (int j = 0; j < p->N; j++) {
        const REAL *key = x + o.K + (h * p->G / p->H * p->N + j) * p->D;
        REAL s = 0;
        for (int d = 0; d < p->D; d++) s += q[d] * key[d];
        s *= scale;
        REAL bent = cap > 0 ? tanh(s / cap) : 0;
        slope[j] = 1 - bent * bent;
        if (cap > 0) s = cap * bent;
        if (p->with_bias) s += x[o.bias + (h * p->T + t) * p->N + j];
        P[j] = keeps(p, t, j) ? s : (REAL)-INFINITY;
        most = P[j] > most ? P[j] : most;
    }
    for (int j = 0; j < p->N; j++) total += P[j] = exp(P[j] - most);
    for (int j = 0; j < p->N; j++) P[j] /= total;
}
FORWARD(attention)
{
    const offsets o = offsets_of(p);
    for (int h = 0; h < p->H; h++)
        for (int t = 0; t < p->T; t++, y += p->Dv) {
            REAL P[MOST], slope[MOST];
            weights_of_row(p, x, h, t, P, slope);
            multiply(1, p->N, p->Dv, P, x + o.V + h * p->G / p->H * p->N * p->Dv, y);
        }
}
static void attention_row_back(const correct_function *p, const REAL *x, int h, int t,
                               const REAL *dO, REAL *dx)
{
    const offsets o = offsets_of(p);
    const ptrdiff_t q = (ptrdiff_t)(h * p->T + t) * p->D, V = o.V + h * p->G / p->H * p->N * p->Dv;
    REAL P[MOST], slope[MOST], dP[MOST], delta = 0;
    weights_of_row(p, x, h, t, P, slope);
    clear(p->N, dP);
    multiply_back(1, p->N, p->Dv, P, x + V, dO, dP, dx + V);
    for (int j = 0; j < p->N; j++) delta += P[j] * dP[j];
    for (int j = 0; j < p->N; j++) {
        const ptrdiff_t k = o.K + (h * p->G / p->H * p->N + j) * p->D;
        REAL dS = P[j] * (dP[j] - delta);
        if (p->with_bias) dx[o.bias + (h * p->T + t) * p->N + j] = dS;
        dS *= slope[j] * (REAL)p->constant[0];
        for (int d = 0; d < p->D; d++) {
            dx[q + d] += dS * x[k + d];
            dx[k + d] += dS * x[q + d];
        }
    }
}
BACKWARD(attention_back)
{
    clear(p->n, dx);
    for (int h = 0; h < p->H; h++)
        for (int t = 0; t < p->T; t++, dy += p->Dv) attention_row_back(p, x, h, t, dy, dx);
}

/* x [T,D], of which row t is turned by the angles (t + N) 1000^(-d/D), d = 0, 2 ... */
static void turn(const correct_function *p, REAL sign, const REAL *x, REAL *y)
{
    for (int i = 0; i < p->T * p->D; i += 2) {
        REAL at = (REAL)(i / p->D + p->N),
             angle = at * pow((REAL)1000, -(REAL)(i % p->D) / (REAL)p->D);
        REAL c = cos(angle), s = sign * sin(angle);
        y[i] = c * x[i] - s * x[i + 1];
        y[i + 1] = s * x[i] + c * x[i + 1];
    }
}
FORWARD(rope)
{
    turn(p, 1, x, y);
}
BACKWARD(rope_back)
{
    (void)x;
    turn(p, -1, dy, dx);
}

/* ------------------------------------------------------------------ windows --------------------- */

/* y [Dv,T] = w [Dv,D,N] over x [D,B] with stride H and G zeros on both sides; x, then w */
static int place_of(const correct_function *p, int t, int tap)
{
    int at = t * p->H + tap - p->G;
    return at >= 0 && at < p->B ? at : -1;
}
FORWARD(convolution)
{
    const REAL *w = x + p->D * p->B;
    clear(p->m, y);
    for (int i = 0; i < p->Dv * p->D * p->T * p->N; i++) {
        int tap = i % p->N, t = i / p->N % p->T, d = i / p->N / p->T % p->D;
        int v = i / p->N / p->T / p->D, at = place_of(p, t, tap);
        if (at >= 0) y[v * p->T + t] += w[(v * p->D + d) * p->N + tap] * x[d * p->B + at];
    }
}
BACKWARD(convolution_back)
{
    const REAL *w = x + p->D * p->B;
    REAL *dw = dx + p->D * p->B;
    clear(p->n, dx);
    for (int i = 0; i < p->Dv * p->D * p->T * p->N; i++) {
        int tap = i % p->N, t = i / p->N % p->T, d = i / p->N / p->T % p->D;
        int v = i / p->N / p->T / p->D, at = place_of(p, t, tap);
        if (at < 0) continue;
        dw[(v * p->D + d) * p->N + tap] += dy[v * p->T + t] * x[d * p->B + at];
        dx[d * p->B + at] += dy[v * p->T + t] * w[(v * p->D + d) * p->N + tap];
    }
}
/* y [T]: the largest, or the mean, of N elements of x [n] from t H on */
static int largest_in_window(const correct_function *p, const REAL *x, int t)
{
    int most = t * p->H;
    for (int i = most + 1; i < t * p->H + p->N; i++)
        if (x[i] > x[most]) most = i;
    return most;
}
FORWARD(max_pool)
{
    for (int t = 0; t < p->T; t++) y[t] = x[largest_in_window(p, x, t)];
}
BACKWARD(max_pool_back)
{
    clear(p->n, dx);
    for (int t = 0; t < p->T; t++) dx[largest_in_window(p, x, t)] += dy[t];
}
FORWARD(mean_pool)
{
    clear(p->T, y);
    for (int i = 0; i < p->T * p->N; i++) y[i / p->N] += x[i / p->N * p->H + i % p->N] / (REAL)p->N;
}
BACKWARD(mean_pool_back)
{
    (void)x;
    clear(p->n, dx);
    for (int i = 0; i < p->T * p->N; i++)
        dx[i / p->N * p->H + i % p->N] += dy[i / p->N] / (REAL)p->N;
}

/* ------------------------------------------------------------------ places ---------------------- */

/* y [T,D]: rows of x [N,D], some of them several times, some never */
FORWARD(embedding)
{
    for (int i = 0; i < p->T * p->D; i++)
        y[i] = x[at_correct_id(p, i / p->D, p->N) * p->D + i % p->D];
}
BACKWARD(embedding_back)
{
    (void)x;
    clear(p->n, dx);
    for (int i = 0; i < p->T * p->D; i++)
        dx[at_correct_id(p, i / p->D, p->N) * p->D + i % p->D] += dy[i];
}
/* y [T]: the image x [H,D] between its cells, at the T places (row, column) that follow it */
typedef struct {
    ptrdiff_t cell; /* upper left of four */
    REAL r, c;      /* how far from there */
} sample;

static sample sample_of(const correct_function *p, const REAL *place)
{
    int row = (int)place[0], column = (int)place[1];
    row = row < 0 ? 0 : row > p->H - 2 ? p->H - 2 : row;
    column = column < 0 ? 0 : column > p->D - 2 ? p->D - 2 : column;
    return (sample){(ptrdiff_t)row * p->D + column, place[0] - (REAL)row, place[1] - (REAL)column};
}
FORWARD(bilinear)
{
    for (int t = 0; t < p->T; t++) {
        sample s = sample_of(p, x + p->H * p->D + 2 * t);
        const REAL *a = x + s.cell, *b = a + p->D;
        REAL above = (1 - s.c) * a[0] + s.c * a[1], below = (1 - s.c) * b[0] + s.c * b[1];
        y[t] = (1 - s.r) * above + s.r * below;
    }
}
BACKWARD(bilinear_back)
{
    clear(p->n, dx);
    for (int t = 0; t < p->T; t++) {
        const ptrdiff_t place = (ptrdiff_t)p->H * p->D + 2 * (ptrdiff_t)t;
        sample s = sample_of(p, x + place);
        const REAL *a = x + s.cell, *b = a + p->D;
        REAL *da = dx + s.cell, *db = da + p->D;
        da[0] += dy[t] * (1 - s.r) * (1 - s.c), da[1] += dy[t] * (1 - s.r) * s.c;
        db[0] += dy[t] * s.r * (1 - s.c), db[1] += dy[t] * s.r * s.c;
        dx[place] = dy[t] * ((1 - s.c) * (b[0] - a[0]) + s.c * (b[1] - a[1]));
        dx[place + 1] = dy[t] * ((1 - s.r) * (a[1] - a[0]) + s.r * (b[1] - b[0]));
    }
}

/* ------------------------------------------------------------------ recurrences ----------------- */

/* h_t = a_t h_(t-1) + b_t for each of D channels: x = a [T,D], b [T,D], y = h [T,D] */
FORWARD(scan)
{
    for (int i = 0; i < p->T * p->D; i++)
        y[i] = (i < p->D ? 0 : x[i] * y[i - p->D]) + x[p->T * p->D + i];
}
BACKWARD(scan_back)
{
    const int all = p->T * p->D;
    for (int d = 0; d < p->D; d++) {
        REAL h[MOST], dh = 0;
        for (int t = 0; t < p->T; t++)
            h[t] = (t ? x[t * p->D + d] * h[t - 1] : 0) + x[all + t * p->D + d];
        for (int t = p->T - 1; t >= 0; t--) {
            int i = t * p->D + d;
            dh = dy[i] + (t + 1 < p->T ? dh * x[i + p->D] : 0);
            dx[i] = t ? dh * h[t - 1] : 0;
            dx[all + i] = dh;
        }
    }
}
/* h_t = tanh(w h_(t-1) + x_t), all of one channel: x = w, x_0, x_1 ..., y = h [T] */
FORWARD(recurrent)
{
    for (int t = 0; t < p->T; t++) y[t] = tanh((t ? x[0] * y[t - 1] : 0) + x[1 + t]);
}
BACKWARD(recurrent_back)
{
    REAL h[MOST], dh = 0;
    recurrent(p, x, h);
    dx[0] = 0;
    for (int t = p->T - 1; t >= 0; t--) {
        dx[1 + t] = (dy[t] + dh) * (1 - h[t] * h[t]);
        if (t) dx[0] += dx[1 + t] * h[t - 1];
        dh = dx[1 + t] * x[0];
    }
}

/* ------------------------------------------------------------------ drawing --------------------- */

static double draw_size(correct_function *p, const correct_kernels *k)
{
    if (at_correct_chance(p, 0.1)) return at_correct_log(p, k->least, k->most);
    return at_correct_log(p, k->low, k->high);
}
DRAW(draw_matmul)
{
    p->T = at_correct_size(p, 1, 12), p->D = at_correct_size(p, 1, 12);
    p->N = at_correct_size(p, 1, 12);
    ptrdiff_t A = (ptrdiff_t)p->T * p->D, C = (ptrdiff_t)p->D * p->N;
    at_correct_sizes(p, A + C, (ptrdiff_t)p->T * p->N);
    double size = draw_size(p, k);
    at_correct_normals(p, 0, A, size);
    at_correct_normals(p, A, C, at_correct_chance(p, 0.5) ? size : 1);
}
DRAW(draw_perceptron)
{
    p->T = at_correct_size(p, 1, 6), p->D = at_correct_size(p, 1, 8);
    p->N = at_correct_size(p, 2, 16), p->Dv = at_correct_size(p, 1, 4);
    ptrdiff_t X = (ptrdiff_t)p->T * p->D, rest = (ptrdiff_t)(p->D + 1 + p->Dv) * p->N;
    at_correct_sizes(p, X + rest, (ptrdiff_t)p->T * p->Dv);
    at_correct_normals(p, 0, X, draw_size(p, k));
    at_correct_normals(p, X, rest, at_correct_log(p, 0.1, 1));
}
DRAW(draw_attention)
{
    p->G = at_correct_int(p, 1, 2), p->H = p->G * at_correct_int(p, 1, 3);
    p->T = at_correct_size(p, 1, 5), p->N = p->T + at_correct_int(p, 0, 4);
    p->D = at_correct_size(p, 1, 6), p->Dv = at_correct_size(p, 1, 6);
    p->causal = at_correct_chance(p, 0.5), p->with_bias = at_correct_chance(p, 0.3);
    double size = draw_size(p, k), score = at_correct_log(p, 1e-2, 10);
    bool fits = at_correct_chance(p, 0.8);
    p->constant[0] = (double)(float)((fits ? score / (size * size) : 1) / sqrt((double)p->D));
    p->constant[1] = at_correct_chance(p, 0.3) ? (double)(float)at_correct_log(p, 0.5, 30) : 0;
    offsets o = offsets_of(p);
    ptrdiff_t bias = p->with_bias ? (ptrdiff_t)p->H * p->T * p->N : 0;
    at_correct_sizes(p, o.bias + bias, (ptrdiff_t)p->H * p->T * p->Dv);
    at_correct_normals(p, 0, o.V, size);
    at_correct_normals(p, o.V, o.bias - o.V, draw_size(p, k));
    at_correct_normals(p, o.bias, bias, 1);
}
DRAW(draw_rope)
{
    p->T = at_correct_size(p, 1, 12), p->D = 2 * at_correct_size(p, 1, 8);
    p->N = at_correct_int(p, 0, 1000);
    ptrdiff_t n = (ptrdiff_t)p->T * p->D;
    at_correct_sizes(p, n, n);
    at_correct_normals(p, 0, n, draw_size(p, k));
}
DRAW(draw_convolution)
{
    p->D = at_correct_int(p, 1, 3), p->Dv = at_correct_int(p, 1, 3);
    p->N = at_correct_int(p, 1, 5), p->B = p->N + at_correct_size(p, 1, 20);
    p->H = at_correct_int(p, 1, 3), p->G = at_correct_int(p, 0, 2);
    p->T = (p->B + 2 * p->G - p->N) / p->H + 1;
    ptrdiff_t X = (ptrdiff_t)p->D * p->B, w = (ptrdiff_t)p->Dv * p->D * p->N;
    at_correct_sizes(p, X + w, (ptrdiff_t)p->Dv * p->T);
    at_correct_normals(p, 0, X, draw_size(p, k));
    at_correct_normals(p, X, w, draw_size(p, k));
}
DRAW(draw_pool)
{
    p->N = at_correct_int(p, 1, 5), p->H = at_correct_int(p, 1, p->N);
    p->T = at_correct_size(p, 1, 60);
    at_correct_sizes(p, (ptrdiff_t)(p->T - 1) * p->H + p->N, p->T);
    at_correct_normals(p, 0, p->n, draw_size(p, k));
}
DRAW(draw_embedding)
{
    p->T = at_correct_size(p, 1, 12), p->N = at_correct_size(p, 1, 12);
    p->D = at_correct_size(p, 1, 12);
    at_correct_sizes(p, (ptrdiff_t)p->N * p->D, (ptrdiff_t)p->T * p->D);
    at_correct_normals(p, 0, p->n, draw_size(p, k));
}
DRAW(draw_bilinear)
{
    p->H = at_correct_int(p, 2, 6), p->D = at_correct_int(p, 2, 6);
    p->T = at_correct_size(p, 1, 30);
    ptrdiff_t image = (ptrdiff_t)p->H * p->D;
    at_correct_sizes(p, image + 2 * (ptrdiff_t)p->T, p->T);
    at_correct_normals(p, 0, image, draw_size(p, k));
    for (int t = 0; t < p->T; t++) {
        p->x[image + 2 * t] = (p->H - 1) * at_correct_unit(p);
        p->x[image + 2 * t + 1] = (p->D - 1) * at_correct_unit(p);
    }
}
DRAW(draw_scan)
{
    p->T = at_correct_size(p, 1, 30), p->D = at_correct_size(p, 1, 5);
    ptrdiff_t h = (ptrdiff_t)p->T * p->D;
    at_correct_sizes(p, 2 * h, h);
    for (ptrdiff_t i = 0; i < h; i++) p->x[i] = at_correct_unit(p);
    at_correct_normals(p, h, h, draw_size(p, k));
}
DRAW(draw_recurrent)
{
    p->T = at_correct_size(p, 1, 40);
    at_correct_sizes(p, p->T + 1, p->T);
    at_correct_normals(p, 1, p->T, at_correct_log(p, k->low, k->high));
    p->x[0] = 2 * at_correct_unit(p) - 1;
}

#define SIZES .low = 1e-3, .high = 1e3, .least = 1e-12, .most = 1e12

const correct_kernels AT_REAL(correct_products)[] = {
    {"matmul", draw_matmul, matmul, matmul_back, SIZES},
    {"perceptron with relu", draw_perceptron, perceptron, perceptron_back, .low = 1e-2, .high = 1e2,
     .least = 1e-4, .most = 1e4},
    {"attention", draw_attention, attention, attention_back, .low = 0.1, .high = 3, .least = 1e-3,
     .most = 30},
    {"rope", draw_rope, rope, rope_back, SIZES},
    {"convolution", draw_convolution, convolution, convolution_back, SIZES},
    {"max pool", draw_pool, max_pool, max_pool_back, SIZES},
    {"mean pool", draw_pool, mean_pool, mean_pool_back, SIZES},
    {"embedding", draw_embedding, embedding, embedding_back, SIZES},
    {"bilinear sampling", draw_bilinear, bilinear, bilinear_back, SIZES},
    {"scan", draw_scan, scan, scan_back, SIZES},
    {"recurrent tanh", draw_recurrent, recurrent, recurrent_back, .low = 1e-2, .high = 3},
    {.name = NULL}};
