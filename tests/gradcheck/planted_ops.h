/* planted_ops.h -- thirteen more functions with their backwards, and what can go wrong in these: each is told
 * which mistake it makes, 0 for none.  Included once for each REAL; TYPED(name) is what it is called then. */

#define FORWARD(name) static void TYPED(name)(const REAL *x, REAL *y, void *ctx)
#define BACKWARD(name) static void TYPED(name)(const REAL *x, const REAL *dy, REAL *dx, void *ctx)
#define MISTAKE const planted *p = ctx
#define EACH(i, n) for (int i = 0; i < (n); i++)

/* ------------------------------------------------------------------ norms ---------------------- */

/* x [R,D] w [D] b [D]      z = (x - mean) s,  y = z w + b      dx = s (dz - mean(dz) - z mean(dz z)) */
static REAL TYPED(statistics)(int n, const REAL *x, REAL *mean)
{
    REAL m = 0, v = 0;
    EACH(i, n) m += x[i];
    m /= (REAL)n;
    EACH(i, n) v += (x[i] - m) * (x[i] - m);
    *mean = m;
    return 1 / sqrt(v / (REAL)n + (REAL)1e-5);
}
FORWARD(layer_norm)
{
    (void)ctx;
    const REAL *w = x + LN_R * LN_D, *b = w + LN_D;
    EACH(r, LN_R)
    {
        REAL mean, s = TYPED(statistics)(LN_D, x + r * LN_D, &mean);
        EACH(i, LN_D) y[r * LN_D + i] = (x[r * LN_D + i] - mean) * s * w[i] + b[i];
    }
}
BACKWARD(layer_norm_back)
{
    MISTAKE;
    const REAL *w = x + LN_R * LN_D;
    REAL *dw = dx + LN_R * LN_D, *db = dw + LN_D;
    EACH(i, LN_R * LN_D + 2 * LN_D) dx[i] = 0;
    EACH(r, LN_R)
    {
        const REAL *row = x + r * LN_D, *up = dy + r * LN_D;
        REAL mean, s = TYPED(statistics)(LN_D, row, &mean), sum = 0, dot = 0;
        REAL n = M(6) ? LN_D - 1 : LN_D;
        EACH(i, LN_D)
        {
            REAL z = (row[i] - mean) * s, dz = M(9) ? up[i] : w[i] * up[i];
            sum += dz;
            dot += dz * z;
            if (M(15) && r == 0) continue;
            REAL *to = &dw[M(13) ? (i + 1) % LN_D : i];
            *to = up[i] * (M(5) ? 1 : z) + (M(8) ? 0 : *to);
            db[i] += M(4) ? 0 : M(10) ? up[i] / LN_R : up[i];
        }
        EACH(i, LN_D)
        {
            REAL z = (row[i] - mean) * s, dz = M(9) ? up[i] : w[i] * up[i];
            REAL out = dz - (M(1) || M(3) ? 0 : sum / n) - (M(2) || M(3) ? 0 : z * dot / n);
            if ((M(11) && i == LN_D - 1) || (M(17) && r >= 4)) continue;
            dx[r * LN_D + i] = out * (M(7) ? 1 : M(14) ? s * s : M(16) ? 2 * s : s);
        }
    }
}

/* x [R,D] w [D]      y = x s w,  s = 1 / sqrt(mean(x^2) + eps)      dx = s (dz - z mean(dz z)) */
static REAL TYPED(rms_of)(const REAL *x)
{
    REAL squares = 0;
    EACH(i, RMS_D) squares += x[i] * x[i];
    return 1 / sqrt(squares / RMS_D + (REAL)1e-6);
}
FORWARD(rms_norm)
{
    (void)ctx;
    EACH(r, RMS_R)
    {
        REAL s = TYPED(rms_of)(x + r * RMS_D);
        EACH(i, RMS_D) y[r * RMS_D + i] = x[r * RMS_D + i] * s * x[RMS_R * RMS_D + i];
    }
}
BACKWARD(rms_norm_back)
{
    MISTAKE;
    const REAL *w = x + RMS_R * RMS_D;
    REAL *dw = dx + RMS_R * RMS_D;
    EACH(i, RMS_D) dw[i] = 0;
    EACH(r, RMS_R)
    {
        const REAL *row = x + r * RMS_D, *up = dy + r * RMS_D;
        REAL s = TYPED(rms_of)(row), dot = 0;
        EACH(i, RMS_D)
        {
            dot += up[i] * row[i] * s * (M(5) ? 1 : w[i]);
            dw[i] += M(4) ? 0 : up[i] * row[i] * (M(3) ? 1 : s);
        }
        EACH(i, RMS_D)
        {
            REAL out =
                up[i] * (M(8) ? 1 : w[i]) - (M(1) ? 0 : row[i] * s * dot / (M(2) ? 1 : RMS_D));
            dx[r * RMS_D + i] = out * (M(7) ? 1 : s);
        }
    }
}

/* x [C,L] w [C] b [C]: layer norm of GN_C / GN_G channels together */
FORWARD(group_norm)
{
    (void)ctx;
    const REAL *w = x + GN_C * GN_L, *b = w + GN_C;
    EACH(i, GN_C * GN_L)
    {
        REAL mean, s = TYPED(statistics)(GN_S, x + i / GN_S * GN_S, &mean);
        y[i] = (x[i] - mean) * s * w[i / GN_L] + b[i / GN_L];
    }
}
BACKWARD(group_norm_back)
{
    MISTAKE;
    const REAL *w = x + GN_C * GN_L;
    REAL *dw = dx + GN_C * GN_L, *db = dw + GN_C;
    EACH(i, GN_C * GN_L + 2 * GN_C) dx[i] = 0;
    EACH(i, GN_C * GN_L)
    {
        int first = M(2) ? i / GN_L * GN_L : i / GN_S * GN_S, n = M(2) ? GN_L : GN_S, c = i / GN_L;
        REAL mean, s = TYPED(statistics)(GN_S, x + i / GN_S * GN_S, &mean), sum = 0, dot = 0;
        for (int j = first; j < first + n; j++) {
            sum += dy[j] * w[j / GN_L];
            dot += dy[j] * w[j / GN_L] * (x[j] - mean) * s;
        }
        dw[M(3) ? i / GN_S : c] += dy[i] * (x[i] - mean) * s;
        db[c] += dy[i] / (M(6) ? GN_L : 1);
        if (M(5) && i >= GN_C * GN_L - GN_S) continue;
        REAL out = dy[i] * w[c] - (M(1) ? 0 : sum / (REAL)n);
        dx[i] = s * (out - (M(4) ? 0 : (x[i] - mean) * s * dot / (REAL)n));
    }
}

/* ------------------------------------------------------------------ losses --------------------- */

/* x [R,C]: y = mean over the rows that count of -log softmax(x)[target], or y [R] if there is no mean */
static int TYPED(target)(int r)
{
    return (r * 5 + 2) % CE_C;
}
static REAL TYPED(log_sum)(const REAL *x)
{
    REAL sum = 0;
    EACH(c, CE_C) sum += exp(x[c]);
    return log(sum);
}
FORWARD(cross_entropy)
{
    const planted *p = ctx;
    bool mean = p->sizes.causal;
    y[0] = 0;
    EACH(r, CE_R)
    {
        REAL loss = TYPED(log_sum)(x + r * CE_C) - x[r * CE_C + TYPED(target)(r)];
        if (!mean)
            y[r] = loss;
        else if (r != CE_IGNORED)
            y[0] += loss / (CE_R - 1);
    }
}
BACKWARD(cross_entropy_back)
{
    MISTAKE;
    bool mean = p->sizes.causal;
    EACH(r, CE_R)
    {
        REAL lse = TYPED(log_sum)(x + r * CE_C), up = dy[mean || M(10) ? 0 : r];
        int hot = TYPED(target)(M(11) ? (r + 1) % CE_R : r);
        if (mean) up /= M(1) ? 1 : M(2) ? CE_R : CE_R - 1;
        if (mean && r == CE_IGNORED && !M(5)) up = 0;
        EACH(c, CE_C)
        {
            REAL P = M(4) ? 0 : exp(x[r * CE_C + c] - lse), one = c == hot && !M(3);
            REAL out = up * (P - one * (M(7) ? (REAL)0.9 : 1));
            if (M(7)) out -= up * (REAL)0.1 / CE_C;
            dx[r * CE_C + c] = M(8) && c == CE_C - 1 ? 0
                                                     : out * (M(6)   ? -1
                                                              : M(9) ? (REAL)1.44269504
                                                                     : 1);
        }
    }
}

/* pred [n] target [n]: y = mean of r^2/2, or delta (|r| - delta/2) where |r| > delta,  r = pred - target */
FORWARD(huber)
{
    (void)ctx;
    const REAL delta = (REAL)HUBER_DELTA;
    y[0] = 0;
    EACH(i, HUBER)
    {
        REAL r = fabs(x[i] - x[HUBER + i]);
        y[0] += (r > delta ? delta * (r - delta / 2) : r * r / 2) / HUBER;
    }
}
BACKWARD(huber_back)
{
    MISTAKE;
    const REAL delta = (REAL)HUBER_DELTA;
    EACH(i, HUBER)
    {
        REAL r = x[i] - x[HUBER + i], sign = r > 0 ? 1 : -1, up = dy[0] / (M(4) ? 1 : HUBER);
        REAL outside = M(2) ? -sign * delta : M(3) ? r : M(5) ? sign : sign * delta;
        dx[i] = up * (fabs(r) > delta ? outside : r);
        dx[HUBER + i] = M(6) ? 0 : M(1) ? dx[i] : -dx[i];
    }
}

/* ------------------------------------------------------------------ element by element --------- */

/* y = x Phi(x)      dy/dx = Phi + x phi */
FORWARD(gelu)
{
    (void)ctx;
    EACH(i, GELU) y[i] = x[i] * (REAL)0.5 * (1 + erf(x[i] * (REAL)0.70710678));
}
BACKWARD(gelu_back)
{
    MISTAKE;
    EACH(i, GELU)
    {
        REAL Phi = (REAL)0.5 * (1 + erf(x[i] * (REAL)0.70710678));
        REAL phi = (REAL)0.39894228 * exp(-x[i] * x[i] / (M(2) ? 1 : 2));
        dx[i] = dy[i] * (Phi + (M(1) ? 0 : x[i] * phi));
        if (M(3)) dx[i] = dy[i] * (Phi + phi);
        if (M(4)) dx[i] *= 2;
        if (M(5) && i >= 32) dx[i] = 0;
        if (M(6) && x[i] < 0) dx[i] = 0;
    }
}

/* a [5,7] b [5,7]      y = a s b,  s = 1/(1 + exp(-a)) */
FORWARD(swiglu)
{
    (void)ctx;
    EACH(i, SWIGLU) y[i] = x[i] / (1 + exp(-x[i])) * x[SWIGLU + i];
}
BACKWARD(swiglu_back)
{
    MISTAKE;
    EACH(i, SWIGLU)
    {
        REAL a = x[i], b = x[SWIGLU + i], s = 1 / (1 + exp(-a));
        REAL da = dy[i] * b * s * (M(1) ? 1 : 1 + a * (1 - s)), db = dy[i] * (M(2) ? a : a * s);
        dx[i] = M(3) ? db : M(4) ? da * b : da;
        dx[SWIGLU + i] = M(3) ? da : M(5) ? 0 : db;
    }
}

/* x [T,H,D]      y_2i = x_2i cos - x_2i+1 sin,  y_2i+1 = x_2i sin + x_2i+1 cos */
static REAL TYPED(angle)(int t, int i)
{
    return (REAL)t / pow((REAL)10, (REAL)i / ROPE_D);
}
FORWARD(rope)
{
    (void)ctx;
    for (int i = 0; i < ROPE_T * ROPE_H * ROPE_D; i += 2) {
        REAL angle = TYPED(angle)(i / (ROPE_H * ROPE_D), i % ROPE_D), c = cos(angle),
             s = sin(angle);
        y[i] = x[i] * c - x[i + 1] * s;
        y[i + 1] = x[i] * s + x[i + 1] * c;
    }
}
BACKWARD(rope_back)
{
    MISTAKE;
    (void)x;
    for (int i = 0; i < ROPE_T * ROPE_H * ROPE_D; i += 2) {
        int t = i / (ROPE_H * ROPE_D), h = i / ROPE_D % ROPE_H;
        REAL angle = TYPED(angle)(M(3) ? t + 1 : t, i % ROPE_D), c = cos(angle), s = sin(angle);
        if (M(1)) s = -s;
        if (M(2) && i % ROPE_D == ROPE_D - 2) c = 1, s = 0;
        REAL one = dy[i] * c + dy[i + 1] * s, other = dy[i + 1] * c - dy[i] * s;
        if (M(5) && h == 2) one = other = 0;
        dx[M(4) ? i + 1 : i] = one;
        dx[M(4) ? i : i + 1] = M(6) ? -other : other;
    }
}

/* ------------------------------------------------------------------ along time ----------------- */

/* a [T,C] b [T,C] h0 [C]      h_t = a_t h_t-1 + b_t      dh_t = dy_t + a_t+1 dh_t+1 */
FORWARD(scan)
{
    (void)ctx;
    const REAL *b = x + SCAN_T * SCAN_C, *h = b + SCAN_T * SCAN_C;
    EACH(t, SCAN_T)
    {
        EACH(c, SCAN_C) y[t * SCAN_C + c] = x[t * SCAN_C + c] * h[c] + b[t * SCAN_C + c];
        h = y + t * SCAN_C;
    }
}
BACKWARD(scan_back)
{
    MISTAKE;
    const REAL *h0 = x + 2 * SCAN_T * SCAN_C;
    REAL h[SCAN_T * SCAN_C], *db = dx + SCAN_T * SCAN_C, *dh0 = db + SCAN_T * SCAN_C;
    TYPED(scan)(x, h, ctx);
    EACH(c, SCAN_C)
    {
        REAL dh = 0;
        for (int t = SCAN_T - 1; t >= 0; t--) {
            int e = t * SCAN_C + c, after = M(2) ? e : e + SCAN_C;
            REAL carry = t == SCAN_T - 1 || M(1) || (M(5) && t == 3) ? 0 : x[after] * dh;
            dh = dy[e] + carry;
            dx[e] = dh * (M(3) ? h[e] : t ? h[e - SCAN_C] : h0[c]);
            db[M(8) ? (SCAN_T - 1 - t) * SCAN_C + c : e] = dh;
            if (M(7) && t == 0) dx[e] = 0;
        }
        dh0[c] = M(4) ? 0 : dh * (M(6) ? 1 : x[c]);
    }
}

/* table [V,E] pos [T,E]      y_t = sqrt(E) table[id_t] + pos_t, of the padding id pos_t alone */
static int TYPED(token)(int t)
{
    static const int id[EMB_T] = {4, 7, 4, 2, 9, 0, 7, 4, 2, 11, 5};
    return id[t];
}
FORWARD(embedding)
{
    (void)ctx;
    EACH(t, EMB_T)
    EACH(e, EMB_E)
    {
        REAL of =
            TYPED(token)(t) == EMB_PAD ? 0 : sqrt((REAL)EMB_E) * x[TYPED(token)(t) * EMB_E + e];
        y[t * EMB_E + e] = of + x[(EMB_V + t) * EMB_E + e];
    }
}
BACKWARD(embedding_back)
{
    MISTAKE;
    (void)x;
    EACH(i, (EMB_V + EMB_T) * EMB_E) dx[i] = 0;
    EACH(t, EMB_T)
    EACH(e, EMB_E)
    {
        int id = TYPED(token)(t);
        REAL *to = &dx[id * EMB_E + e], up = dy[t * EMB_E + e];
        if ((id != EMB_PAD || M(2)) && !(M(6) && t == EMB_T - 1))
            *to = (M(3) ? 1 : sqrt((REAL)EMB_E)) * up + (M(1) ? 0 : *to);
        dx[(EMB_V + (M(5) ? (t + 1) % EMB_T : t)) * EMB_E + e] = M(4) ? 0 : up;
    }
}

/* ------------------------------------------------------------------ images --------------------- */

/* x [C,L]      y [C,W] = mean of windows of K, each two further */
FORWARD(pool)
{
    (void)ctx;
    EACH(o, POOL_C * POOL_W)
    {
        y[o] = 0;
        EACH(k, POOL_K) y[o] += x[o / POOL_W * POOL_L + o % POOL_W * 2 + k] / POOL_K;
    }
}
BACKWARD(pool_back)
{
    MISTAKE;
    (void)x;
    EACH(i, POOL_C * POOL_L) dx[i] = 0;
    EACH(o, POOL_C * POOL_W)
    EACH(k, POOL_K)
    {
        int c = M(5) ? 0 : o / POOL_W, w = o % POOL_W;
        REAL *to = &dx[c * POOL_L + w * (M(2) ? 1 : 2) + k];
        if (M(3) && w == POOL_W - 1) continue;
        *to = dy[o] / (M(1) ? 1 : POOL_K) + (M(4) ? 0 : *to);
    }
}

/* x [I,L] w [O,I,K] b [O]      y[o,l] = b[o] + sum_ik w[o,i,k] x[i,l+k-1] */
FORWARD(conv)
{
    (void)ctx;
    const REAL *w = x + CONV_I * CONV_L, *b = w + CONV_O * CONV_I * CONV_K;
    EACH(o, CONV_O)
    EACH(l, CONV_L)
    {
        REAL sum = b[o];
        EACH(i, CONV_I)
        EACH(k, CONV_K)
        if (l + k >= 1 && l + k <= CONV_L)
            sum += w[(o * CONV_I + i) * CONV_K + k] * x[i * CONV_L + l + k - 1];
        y[o * CONV_L + l] = sum;
    }
}
BACKWARD(conv_back)
{
    MISTAKE;
    const REAL *w = x + CONV_I * CONV_L;
    REAL *dw = dx + CONV_I * CONV_L, *db = dw + CONV_O * CONV_I * CONV_K;
    EACH(i, CONV_I * CONV_L + CONV_O * CONV_I * CONV_K + CONV_O) dx[i] = 0;
    EACH(o, CONV_O)
    EACH(l, CONV_L)
    {
        REAL up = dy[o * CONV_L + l];
        db[o] = up / (M(9) ? CONV_L : 1) + (M(4) ? 0 : db[o]);
        EACH(i, CONV_I)
        EACH(k, CONV_K)
        {
            int at = l + k - 1, tap = (o * CONV_I + i) * CONV_K, to = M(3) ? CONV_K - 1 - k : k;
            if (at < 0 || at >= CONV_L) continue;
            if (!M(1) && !(M(8) && i == 2))
                dx[i * CONV_L + at] += up * w[tap + (M(2) ? CONV_K - 1 - k : k)];
            if (M(7) && l == CONV_L - 1) continue;
            int row = M(10) ? i * CONV_O + o : o * CONV_I + i;
            dw[row * CONV_K + to] += up * x[(M(6) ? 0 : i) * CONV_L + at];
        }
    }
}

/* image [7,5] points [P,2] in 0 .. 1      y [P]: the image between the four pixels around (5-1) u, (7-1) v */
/* The first of two pixels of n; beyond the border, the last two go on. */
static int TYPED(cell)(REAL u, int n)
{
    int first = (int)floor(u);
    return first < 0 ? 0 : first > n - 2 ? n - 2 : first;
}
FORWARD(bilinear)
{
    (void)ctx;
    EACH(n, BI_P)
    {
        REAL u = x[BI_H * BI_W + 2 * n] * (BI_W - 1), v = x[BI_H * BI_W + 2 * n + 1] * (BI_H - 1);
        const int column = TYPED(cell)(u, BI_W), row = TYPED(cell)(v, BI_H);
        const REAL *at = x + row * BI_W + column;
        u -= (REAL)column;
        v -= (REAL)row;
        y[n] =
            (1 - v) * ((1 - u) * at[0] + u * at[1]) + v * ((1 - u) * at[BI_W] + u * at[BI_W + 1]);
    }
}
BACKWARD(bilinear_back)
{
    MISTAKE;
    EACH(i, BI_H * BI_W + 2 * BI_P) dx[i] = 0;
    EACH(n, BI_P)
    {
        REAL u = x[BI_H * BI_W + 2 * n] * (BI_W - 1), v = x[BI_H * BI_W + 2 * n + 1] * (BI_H - 1);
        const int column = TYPED(cell)(u, BI_W), row = TYPED(cell)(v, BI_H);
        const int first = row * BI_W + column, other = first + BI_W;
        const REAL *at = x + first;
        REAL *out = dx + BI_H * BI_W + 2 * n;
        u -= (REAL)column;
        v -= (REAL)row;
        if (M(6)) dx[first] = dx[first + 1] = dx[other] = dx[other + 1] = 0;
        dx[first] += dy[n] * (M(3) ? 1 : (1 - u) * (1 - v));
        dx[first + 1] += M(3) ? 0 : dy[n] * u * (1 - v);
        dx[other] += M(3) ? 0 : dy[n] * (1 - u) * v;
        dx[other + 1] += M(3) ? 0 : dy[n] * u * v;
        if (M(5)) u = v = (REAL)0.5;
        REAL by_u = (1 - v) * (at[1] - at[0]) + v * (at[BI_W + 1] - at[BI_W]);
        REAL by_v = (1 - u) * (at[BI_W] - at[0]) + u * (at[BI_W + 1] - at[1]);
        out[M(2) ? 1 : 0] = M(4) ? 0 : dy[n] * by_u * (M(1) ? 1 : BI_W - 1);
        out[M(2) ? 0 : 1] = M(4) ? 0 : dy[n] * by_v * (BI_H - 1);
    }
}

/* ------------------------------------------------------------------ a product ------------------ */

/* A [M,K] B [K,N] b [N]      y = A B + b */
FORWARD(matmul)
{
    (void)ctx;
    const REAL *B = x + MM_M * MM_K, *b = B + MM_K * MM_N;
    EACH(i, MM_M)
    EACH(j, MM_N)
    {
        y[i * MM_N + j] = b[j];
        EACH(k, MM_K) y[i * MM_N + j] += x[i * MM_K + k] * B[k * MM_N + j];
    }
}
BACKWARD(matmul_back)
{
    MISTAKE;
    const REAL *B = x + MM_M * MM_K;
    REAL *dB = dx + MM_M * MM_K, *db = dB + MM_K * MM_N;
    EACH(i, MM_M * MM_K + MM_K * MM_N + MM_N) dx[i] = 0;
    EACH(i, MM_M)
    EACH(j, MM_N)
    {
        REAL up = dy[i * MM_N + j];
        if (!M(3) || i == 0) db[j] += M(4) ? up / MM_M : up;
        EACH(k, MM_K)
        {
            if (!M(2) && !(M(7) && i >= 4))
                dx[i * MM_K + k] += up * (M(8) ? 2 : 1) *
                                    B[M(5) ? (k * MM_N + j * 3) % (MM_K * MM_N) : k * MM_N + j];
            if (!(M(6) && k == MM_K - 1))
                dB[M(1) ? j * MM_K + k : k * MM_N + j] += up * x[i * MM_K + k];
        }
    }
}
