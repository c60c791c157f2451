/* kernels.c -- layers of a language model as C programs for training write them: float and indices, no library.
 *
 *     x, y [T,C]     w [O,C]     logits [T,V]     qkv [T,3,C]
 *
 * Each backward adds to its gradients, and has one mistake for each value of `mistake` above 0.
 */
#include <math.h>

static int mistake;

/* y = (x - mean) / sqrt(variance + 1e-5) w + b, in each row */
static void layernorm_forward(float *y, float *mean, float *rstd, const float *x, const float *w,
                              const float *b, int T, int C)
{
    for (int t = 0; t < T; t++, x += C, y += C) {
        float m = 0.0f, v = 0.0f;
        for (int i = 0; i < C; i++) m += x[i];
        m /= C;
        for (int i = 0; i < C; i++) v += (x[i] - m) * (x[i] - m);
        float s = 1.0f / sqrtf(v / C + 1e-5f);
        for (int i = 0; i < C; i++) y[i] = s * (x[i] - m) * w[i] + b[i];
        mean[t] = m, rstd[t] = s;
    }
}
static void layernorm_backward(float *dx, float *dw, float *db, const float *dy, const float *x,
                               const float *w, const float *mean, const float *rstd, int T, int C)
{
    for (int t = 0; t < T; t++, x += C, dx += C, dy += C) {
        float sum = 0.0f, dot = 0.0f;
        for (int i = 0; i < C; i++) {
            float n = (x[i] - mean[t]) * rstd[t];
            sum += dy[i] * w[i];
            dot += dy[i] * w[i] * n;
            dw[i] += dy[i] * n;
            if (mistake != 1 || t > 0) db[i] += dy[i];
        }
        for (int i = 0; i < C; i++) {
            float n = (x[i] - mean[t]) * rstd[t], centre = mistake == 2 ? 0.0f : sum / C;
            float d = (dy[i] * w[i] - centre - n * dot / (mistake == 3 ? C - 1 : C)) * rstd[t];
            dx[i] = mistake == 4 ? d : dx[i] + d;
        }
    }
}

/* y = x w^T + b */
static void matmul_forward(float *y, const float *x, const float *w, const float *b, int T, int C,
                           int O)
{
    for (int t = 0; t < T; t++)
        for (int o = 0; o < O; o++) {
            float sum = b ? b[o] : 0.0f;
            for (int i = 0; i < C; i++) sum += x[t * C + i] * w[o * C + i];
            y[t * O + o] = sum;
        }
}
static void matmul_backward(float *dx, float *dw, float *db, const float *dy, const float *x,
                            const float *w, int T, int C, int O)
{
    for (int t = 0; t < T; t++)
        for (int o = 0; o < (mistake == 1 ? O - 1 : O); o++)
            for (int i = 0; i < C; i++) dx[t * C + i] += dy[t * O + o] * w[o * C + i];
    for (int o = 0; o < O; o++)
        for (int t = 0; t < T; t++) {
            if (mistake != 2) db[o] += dy[t * O + o];
            for (int i = 0; i < C; i++)
                dw[o * C + i] += dy[t * O + o] * x[t * C + (mistake == 3 ? 0 : i)];
        }
}

/* y_t = sum_j p_tj v_j, p_t = softmax of q_t . k_j / sqrt(size) over j <= t, in each head */
static void attention_forward(float *y, float *p, const float *qkv, int T, int C, int heads)
{
    const int size = C / heads;
    const float scale = 1.0 / sqrtf((float)size);
    for (int h = 0; h < heads; h++)
        for (int t = 0; t < T; t++, p += T) {
            const float *q = qkv + t * 3 * C + h * size;
            float largest = -10000.0f, sum = 0.0f;
            for (int j = 0; j <= t; j++) {
                const float *k = qkv + (j * 3 + 1) * C + h * size;
                p[j] = 0.0f;
                for (int i = 0; i < size; i++) p[j] += q[i] * k[i];
                p[j] *= scale;
                if (p[j] > largest) largest = p[j];
            }
            for (int j = 0; j <= t; j++) sum += p[j] = expf(p[j] - largest);
            const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
            for (int j = 0; j < T; j++) p[j] = j <= t ? p[j] * inverse : 0.0f;
            for (int i = 0; i < size; i++) {
                float o = 0.0f;
                for (int j = 0; j <= t; j++) o += p[j] * qkv[(j * 3 + 2) * C + h * size + i];
                y[t * C + h * size + i] = o;
            }
        }
}
static void attention_backward(float *dqkv, float *dp, const float *dy, const float *p,
                               const float *qkv, int T, int C, int heads)
{
    const int size = C / heads;
    const float scale = 1.0f / sqrtf((float)size);
    for (int h = 0; h < heads; h++)
        for (int t = 0; t < T; t++, p += T) {
            const float *dout = dy + t * C + h * size;
            float delta = 0.0f;
            for (int j = 0; j <= t; j++) {
                const int v = (j * 3 + 2) * C + h * size;
                dp[j] = 0.0f;
                for (int i = 0; i < size; i++) {
                    dp[j] += dout[i] * qkv[v + i];
                    dqkv[v + i] += p[j] * dout[i];
                }
                if (mistake != 1 || j < t) delta += p[j] * dp[j];
            }
            for (int j = 0; j <= t; j++) {
                const int q = t * 3 * C + h * size, k = (j * 3 + 1) * C + h * size;
                const float ds = p[j] * (dp[j] - delta);
                for (int i = 0; i < size; i++) {
                    dqkv[q + i] += ds * scale * qkv[k + i];
                    dqkv[k + i] += ds * (mistake == 2 ? 1.0f : scale) * qkv[q + i];
                }
            }
        }
}

/* y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
#define GELU_SCALE sqrtf(2.0f / 3.14159265358979323846f)

static void gelu_forward(float *y, const float *x, int n)
{
    for (int i = 0; i < n; i++) {
        float cube = 0.044715f * x[i] * x[i] * x[i];
        y[i] = 0.5f * x[i] * (1.0f + tanhf(GELU_SCALE * (x[i] + cube)));
    }
}
static void gelu_backward(float *dx, const float *dy, const float *x, int n)
{
    for (int i = 0; i < n; i++) {
        float u = GELU_SCALE * (x[i] + 0.044715f * x[i] * x[i] * x[i]), c = coshf(u);
        float slope = 1.0f + 0.044715f * x[i] * x[i] * (mistake == 1 ? 2.0f : 3.0f);
        if (mistake == 2)
            slope = 1.0f + 3.0f * 0.044715f * x[i] * x[i]; /* right; folded by compilers */
        float by_tanh = 0.5f * x[i] / (mistake == 3 ? c : c * c) * GELU_SCALE * slope;
        dx[i] += (0.5f * (1.0f + tanhf(u)) + by_tanh) * dy[i];
    }
}

/* the mean of -log softmax(logits)_target over the rows, summed as double */
static double loss_forward(float *p, const float *logits, const int *target, int T, int V)
{
    double sum = 0;
    for (int t = 0; t < T; t++, logits += V, p += V) {
        float largest = logits[0], total = 0.0f;
        for (int i = 1; i < V; i++)
            if (logits[i] > largest) largest = logits[i];
        for (int i = 0; i < V; i++) total += p[i] = expf(logits[i] - largest);
        for (int i = 0; i < V; i++) p[i] /= total;
        sum -= logf(p[target[t]]);
    }
    return sum / T;
}
static void loss_backward(float *dlogits, float dloss, const float *p, const int *target, int T,
                          int V)
{
    for (int t = 0; t < T; t++)
        for (int i = 0; i < V; i++) {
            float d =
                (p[t * V + i] - (i == target[t] ? 1.0f : 0.0f)) * (mistake == 1 ? 1.0f : dloss);
            if (mistake == 2)
                d *= 1.0f / T; /* right; rounded */
            else
                d /= T;
            if (mistake != 3 || t < T - 1) dlogits[t * V + i] += d;
        }
}
