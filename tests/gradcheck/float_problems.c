/* float_problems.c -- see float_problems.h.  Every formula is the plain one, all of it in float. */
#include "gradcheck/float_problems.h"

#include <math.h>
#include <string.h>

#include "kernels/rng.h"

#define FLOAT_FORWARD(name) static void name(const float_problem *p, const float *x, float *y)
#define FLOAT_VJP(name)                                                                            \
    static void name(const float_problem *p, const float *x, const float *dy, float *dx)

/* ------------------------------------------------------------------ element by element ---------- */

FLOAT_FORWARD(f_tanh)
{
    for (ptrdiff_t i = 0; i < p->n; i++) y[i] = tanhf(x[i]);
}
FLOAT_VJP(f_tanh_back)
{
    for (ptrdiff_t i = 0; i < p->n; i++) dx[i] = dy[i] * (1 - tanhf(x[i]) * tanhf(x[i]));
}
FLOAT_FORWARD(f_exp)
{
    for (ptrdiff_t i = 0; i < p->n; i++) y[i] = expf(x[i]);
}
FLOAT_VJP(f_exp_back)
{
    for (ptrdiff_t i = 0; i < p->n; i++) dx[i] = dy[i] * expf(x[i]);
}
/* y = x / (1 + exp(-x)) */
FLOAT_FORWARD(f_silu)
{
    for (ptrdiff_t i = 0; i < p->n; i++) y[i] = x[i] / (1 + expf(-x[i]));
}
FLOAT_VJP(f_silu_back)
{
    for (ptrdiff_t i = 0; i < p->n; i++) {
        float s = 1 / (1 + expf(-x[i]));
        dx[i] = dy[i] * s * (1 + x[i] * (1 - s));
    }
}
/* As in llm.c (train_gpt2.c, gelu_forward and gelu_backward) */
static const float root = 0.7978845608f; /* sqrt(2 / pi) */
FLOAT_FORWARD(f_gelu)
{
    for (ptrdiff_t i = 0; i < p->n; i++) {
        float cube = 0.044715f * x[i] * x[i] * x[i];
        y[i] = 0.5f * x[i] * (1.0f + tanhf(root * (x[i] + cube)));
    }
}
FLOAT_VJP(f_gelu_back)
{
    for (ptrdiff_t i = 0; i < p->n; i++) {
        float cube = 0.044715f * x[i] * x[i] * x[i];
        float arg = root * (x[i] + cube), t = tanhf(arg), c = coshf(arg);
        float sech = 1.0f / (c * c);
        float slope =
            0.5f * (1.0f + t) + x[i] * 0.5f * sech * root * (1.0f + 3.0f * 0.044715f * x[i] * x[i]);
        dx[i] = slope * dy[i];
    }
}

/* ------------------------------------------------------------------ rows: [B,D] ----------------- */

/* x = rows [B,D], w [D], b [D] */
static const float layer_eps = 1e-5f;
static float layer_stats(int D, const float *x, float *mean)
{
    float m = 0, v = 0;
    for (int i = 0; i < D; i++) m += x[i];
    m /= (float)D;
    for (int i = 0; i < D; i++) v += (x[i] - m) * (x[i] - m);
    *mean = m;
    return 1 / sqrtf(v / (float)D + layer_eps);
}
FLOAT_FORWARD(f_layer_norm)
{
    const float *w = x + p->B * p->D, *b = w + p->D;
    for (int r = 0; r < p->B; r++, x += p->D, y += p->D) {
        float mean, s = layer_stats(p->D, x, &mean);
        for (int i = 0; i < p->D; i++) y[i] = (x[i] - mean) * s * w[i] + b[i];
    }
}
FLOAT_VJP(f_layer_norm_back)
{
    const float *w = x + p->B * p->D;
    float *dw = dx + p->B * p->D, *db = dw + p->D;
    for (int i = 0; i < p->D; i++) dw[i] = db[i] = 0;
    for (int r = 0; r < p->B; r++, x += p->D, dy += p->D, dx += p->D) {
        float mean, s = layer_stats(p->D, x, &mean), sum = 0, dot = 0;
        for (int i = 0; i < p->D; i++) {
            float z = (x[i] - mean) * s, dz = w[i] * dy[i];
            sum += dz;
            dot += dz * z;
            dw[i] += z * dy[i];
            db[i] += dy[i];
        }
        for (int i = 0; i < p->D; i++)
            dx[i] = s * (w[i] * dy[i] - sum / (float)p->D - (x[i] - mean) * s * dot / (float)p->D);
    }
}
/* x = rows [B,D], w [D] */
static float rms_scale(int D, const float *x)
{
    float squares = 0;
    for (int i = 0; i < D; i++) squares += x[i] * x[i];
    return 1 / sqrtf(squares / (float)D + 1e-6f);
}
FLOAT_FORWARD(f_rms_norm)
{
    const float *w = x + p->B * p->D;
    for (int r = 0; r < p->B; r++, x += p->D, y += p->D) {
        float s = rms_scale(p->D, x);
        for (int i = 0; i < p->D; i++) y[i] = x[i] * s * w[i];
    }
}
FLOAT_VJP(f_rms_norm_back)
{
    const float *w = x + p->B * p->D;
    float *dw = dx + p->B * p->D;
    for (int i = 0; i < p->D; i++) dw[i] = 0;
    for (int r = 0; r < p->B; r++, x += p->D, dy += p->D, dx += p->D) {
        float s = rms_scale(p->D, x), dot = 0;
        for (int i = 0; i < p->D; i++) {
            dot += w[i] * dy[i] * x[i] * s;
            dw[i] += x[i] * s * dy[i];
        }
        for (int i = 0; i < p->D; i++) dx[i] = s * (w[i] * dy[i] - x[i] * s * dot / (float)p->D);
    }
}

static void softmax_row(int D, float scale, const float *x, float *y)
{
    float most = -INFINITY, sum = 0;
    for (int i = 0; i < D; i++) most = fmaxf(most, scale * x[i]);
    for (int i = 0; i < D; i++) sum += y[i] = expf(scale * x[i] - most);
    for (int i = 0; i < D; i++) y[i] /= sum;
}
static void softmax_row_back(int D, float scale, const float *y, const float *dy, float *dx)
{
    float dot = 0;
    for (int i = 0; i < D; i++) dot += dy[i] * y[i];
    for (int i = 0; i < D; i++) dx[i] = scale * y[i] * (dy[i] - dot);
}
FLOAT_FORWARD(f_softmax)
{
    for (int r = 0; r < p->B; r++) softmax_row(p->D, p->temperature, x + r * p->D, y + r * p->D);
}
FLOAT_VJP(f_softmax_back)
{
    float y[PROBLEM_MOST];
    f_softmax(p, x, y);
    for (int r = 0; r < p->B * p->D; r += p->D)
        softmax_row_back(p->D, p->temperature, y + r, dy + r, dx + r);
}

/* ------------------------------------------------------------------ products -------------------- */

/* y [B,N] = A [B,D] C [D,N], x = A and C */
FLOAT_FORWARD(f_matmul)
{
    const float *C = x + p->B * p->D;
    for (int i = 0; i < p->B * p->N; i++) {
        y[i] = 0;
        for (int d = 0; d < p->D; d++) y[i] += x[i / p->N * p->D + d] * C[d * p->N + i % p->N];
    }
}
FLOAT_VJP(f_matmul_back)
{
    const float *A = x, *C = x + p->B * p->D;
    float *dA = dx, *dC = dx + p->B * p->D;
    for (ptrdiff_t i = 0; i < p->n; i++) dx[i] = 0;
    for (int b = 0; b < p->B; b++)
        for (int j = 0; j < p->N; j++)
            for (int d = 0; d < p->D; d++) {
                dA[b * p->D + d] += dy[b * p->N + j] * C[d * p->N + j];
                dC[d * p->N + j] += dy[b * p->N + j] * A[b * p->D + d];
            }
}
/* y [B,D] = softmax(temperature Q K^T) V    Q [B,D], K, V [N,D] */
static void attention_probs(const float_problem *p, const float *x, float *P)
{
    const float *K = x + p->B * p->D;
    for (int t = 0; t < p->B; t++) {
        float S[PROBLEM_MOST];
        for (int j = 0; j < p->N; j++) {
            S[j] = 0;
            for (int d = 0; d < p->D; d++) S[j] += x[t * p->D + d] * K[j * p->D + d];
        }
        softmax_row(p->N, p->temperature, S, P + t * p->N);
    }
}
FLOAT_FORWARD(f_attention)
{
    float P[PROBLEM_MOST];
    const float *V = x + (p->B + p->N) * p->D;
    attention_probs(p, x, P);
    for (int i = 0; i < p->B * p->D; i++) {
        y[i] = 0;
        for (int j = 0; j < p->N; j++) y[i] += P[i / p->D * p->N + j] * V[j * p->D + i % p->D];
    }
}
FLOAT_VJP(f_attention_back)
{
    float P[PROBLEM_MOST], dP[PROBLEM_MOST], dS[PROBLEM_MOST];
    const int D = p->D, N = p->N;
    const float *Q = x, *K = x + p->B * D, *V = K + N * D;
    float *dQ = dx, *dK = dx + p->B * D, *dV = dK + N * D;
    attention_probs(p, x, P);
    for (ptrdiff_t i = 0; i < p->n; i++) dx[i] = 0;
    for (int t = 0; t < p->B; t++, Q += D, dQ += D, dy += D) {
        for (int j = 0; j < N; j++) {
            dP[j] = 0;
            for (int d = 0; d < D; d++) dP[j] += dy[d] * V[j * D + d];
            for (int d = 0; d < D; d++) dV[j * D + d] += P[t * N + j] * dy[d];
        }
        softmax_row_back(N, p->temperature, P + t * N, dP, dS);
        for (int j = 0; j < N; j++)
            for (int d = 0; d < D; d++) {
                dQ[d] += dS[j] * K[j * D + d];
                dK[j * D + d] += dS[j] * Q[d];
            }
    }
}

/* ------------------------------------------------------------------ drawn at random ------------- */

static const struct {
    const char *name;
    void (*forward)(const float_problem *p, const float *x, float *y);
    void (*vjp)(const float_problem *p, const float *x, const float *dy, float *dx);
} families[FAMILIES] = {
    {"tanhf", f_tanh, f_tanh_back},
    {"expf", f_exp, f_exp_back},
    {"silu", f_silu, f_silu_back},
    {"gelu", f_gelu, f_gelu_back},
    {"layer norm", f_layer_norm, f_layer_norm_back},
    {"RMS norm", f_rms_norm, f_rms_norm_back},
    {"softmax", f_softmax, f_softmax_back},
    {"attention", f_attention, f_attention_back},
    {"product", f_matmul, f_matmul_back},
};

const char *at_float_family(int family)
{
    return families[family].name;
}

static int draw_int(at_stream s, uint64_t i, int low, int high)
{
    return low + (int)(at_random_u32(s, i) % (uint32_t)(high - low + 1));
}

/* Large scores saturate a softmax: of half of the problems, the temperature is drawn to fit. */
float_problem at_draw_float_problem(uint64_t number)
{
    at_stream s = {number, 0}, normal = {number, 1};
    float_problem p = {.family = (int)(number % FAMILIES), .seed = number, .temperature = 1};
    p.in_double = at_random_u32(s, 0) % 2;
    p.B = draw_int(s, 1, 1, 5), p.N = draw_int(s, 2, 1, 8), p.D = draw_int(s, 3, 1, 8);
    double scale = pow(10, 6 * at_random_unit(s, 4) - 3);
    const ptrdiff_t B = p.B, N = p.N, D = p.D;
    const char *name = families[p.family].name;
    p.n = p.m = draw_int(s, 5, 1, 40);
    if (strcmp(name, "layer norm") == 0) p.D += 2, p.m = B * p.D, p.n = p.m + 2 * p.D;
    if (strcmp(name, "RMS norm") == 0) p.D += 1, p.m = B * p.D, p.n = p.m + p.D;
    if (strcmp(name, "softmax") == 0) p.D += 1, p.n = p.m = B * p.D;
    if (strcmp(name, "product") == 0) p.m = B * N, p.n = B * D + D * N;
    if (strcmp(name, "attention") == 0) p.m = B * D, p.n = (B + 2 * N) * D;
    for (ptrdiff_t i = 0; i < p.n; i++)
        p.x[i] = (float)(scale * at_random_normal(normal, (uint64_t)i));
    double score = pow(10, 3 * at_random_unit(s, 6) - 2);
    bool fitted = at_random_u32(s, 7) % 2;
    if (strcmp(name, "softmax") == 0 && fitted) p.temperature = (float)(score / scale);
    if (strcmp(name, "attention") == 0)
        p.temperature = (float)((fitted ? score / (scale * scale) : 1) / sqrt((double)D));
    for (ptrdiff_t i = 0; i < p.n; i++)
        if (strcmp(name, "expf") == 0) p.x[i] = fminf(p.x[i], 80 - 0.1f * (float)i);
    return p;
}

static void problem_forward(const float *x, float *y, void *ctx)
{
    const float_problem *p = ctx;
    families[p->family].forward(p, x, y);
}

static void problem_vjp(const float *x, const float *dy, float *dx, void *ctx)
{
    float_problem *p = ctx;
    families[p->family].vjp(p, x, dy, dx);
    if (!p->asked) memcpy(p->dx, dx, (size_t)p->n * sizeof *dx);
    p->asked = true;
    for (ptrdiff_t i = 0; i < p->n; i++)
        if (p->mistake == ALL_WRONG || (p->mistake == ONE_WRONG && i == p->wrong)) dx[i] *= 1.01f;
}

static void problem_forward_in_double(const double *x, double *y, void *ctx)
{
    const float_problem *p = ctx;
    float fx[PROBLEM_MOST], fy[PROBLEM_MOST];
    for (ptrdiff_t i = 0; i < p->n; i++) fx[i] = (float)x[i];
    problem_forward(fx, fy, ctx);
    for (ptrdiff_t k = 0; k < p->m; k++) y[k] = (double)fy[k];
}

static void problem_vjp_in_double(const double *x, const double *dy, double *dx, void *ctx)
{
    const float_problem *p = ctx;
    float fx[PROBLEM_MOST], fdy[PROBLEM_MOST], fdx[PROBLEM_MOST];
    for (ptrdiff_t i = 0; i < p->n; i++) fx[i] = (float)x[i];
    for (ptrdiff_t k = 0; k < p->m; k++) fdy[k] = (float)dy[k];
    problem_vjp(fx, fdy, fdx, ctx);
    for (ptrdiff_t i = 0; i < p->n; i++) dx[i] = (double)fdx[i];
}

at_gradcheck_report at_check_float_problem(float_problem *p)
{
    at_gradcheck_options options = {.seed = p->seed};
    double x[PROBLEM_MOST];
    for (ptrdiff_t i = 0; i < p->n; i++) x[i] = (double)p->x[i];
    if (!p->in_double)
        return at_gradcheck_fn_f32(problem_forward, problem_vjp, p->n, p->m, p->x, p, options);
    return at_gradcheck_fn(problem_forward_in_double, problem_vjp_in_double, p->n, p->m, x, p,
                           options);
}

ptrdiff_t at_element_to_spoil(const float_problem *p)
{
    float most = 0;
    for (ptrdiff_t i = 0; i < p->n; i++) most = fmaxf(most, fabsf(p->dx[i]));
    for (ptrdiff_t tried = 0, i; tried < 100 * p->n && most > 0; tried++) {
        i = (ptrdiff_t)(at_random_u32((at_stream){p->seed, 2}, (uint64_t)tried) % (uint64_t)p->n);
        if (fabsf(p->dx[i]) >= 0.01f * most) return i;
    }
    return -1;
}
