/* planted_attention.h -- attention with all that can go wrong in its backward: mistake 1, 2, ...
 *
 *   q [H,T,D]  k [G,N,D]  v [G,N,Dv]  and, if rich, bias [T,N]  scale [H]      R = H/G heads share k, v
 *
 *   s_j = scale q k_j        scale = 1/sqrt(D) if not rich
 *   c_j = cap tanh(s_j / cap) + bias_j   if rich; -inf if causal and j > i + N - T
 *   P = softmax(c)           o = sum_j P_j keep_j v_j / (1 - p)       keep, p: of dropout, if rich
 *
 *   dv_j = P_j keep_j dy / (1 - p)    dP_j = keep_j <dy, v_j> / (1 - p)    delta = sum_j P_j dP_j
 *   dc_j = P_j (dP_j - delta)         dbias = dc    ds = dc (1 - tanh^2)
 *   dq = scale ds_j k_j       dk_j = scale ds_j q       dscale = ds_j <q, k_j>
 *
 * Included once for each REAL; TYPED(name) is what it is called then. */

static REAL TYPED(scale_of)(const planted *p, const REAL *x, int h)
{
    const attention_sizes z = p->sizes;
    if (!z.rich) return 1 / sqrt((REAL)z.D);
    return x[z.H * z.T * z.D + z.G * z.N * (z.D + z.Dv) + z.T * z.N + h];
}

/* c without its maximum, as P, and the slope of softcap, for row i of head h. */
static void TYPED(scores)(const planted *p, const REAL *x, int h, int g, int i, REAL *P,
                          REAL *slope)
{
    const attention_sizes z = p->sizes;
    const REAL *q = x + (h * z.T + i) * z.D, *k = x + z.H * z.T * z.D + g * z.N * z.D;
    const REAL *bias = x + z.H * z.T * z.D + z.G * z.N * (z.D + z.Dv) + i * z.N;
    const REAL scale = TYPED(scale_of)(p, x, h);
    for (int j = 0; j < z.N; j++) {
        REAL s = 0;
        for (int d = 0; d < z.D; d++) s += q[d] * k[j * z.D + d];
        s *= scale;
        REAL t = z.rich ? tanh(s / (REAL)CAP) : 0;
        P[j] = z.rich ? (REAL)CAP * t + bias[j] : s;
        slope[j] = M(46) ? 1 : M(47) ? 1 - t : 1 - t * t;
        if (M(61)) slope[j] *= (REAL)CAP;
    }
}

/* P = exp(c - lse).  Backward has the lse of forward, and may have another mask. */
static void TYPED(softmax)(const planted *p, int i, REAL *P)
{
    const attention_sizes z = p->sizes;
    int last = z.causal ? i + z.N - z.T : z.N - 1, seen = last;
    REAL sum = 0;
    for (int j = 0; j <= last; j++) sum += exp(P[j]);
    if (z.causal) seen += M(9) ? 1 : M(10) ? -1 : M(11) ? z.N : 0;
    sum = log(sum);
    for (int j = 0; j < z.N; j++) P[j] = j > seen ? 0 : M(28) ? exp2(P[j] - sum) : exp(P[j] - sum);
}

static REAL TYPED(keep)(const planted *p, int h, int i, int j)
{
    return !p->sizes.rich ? 1 : (h * 7 + i * 5 + j * 3) % 4 == 0 ? 0 : (REAL)(1 / (1 - DROP));
}

static void TYPED(attention)(const REAL *x, REAL *y, void *ctx)
{
    const planted right = {.sizes = ((const planted *)ctx)->sizes}, *p = &right;
    const attention_sizes z = p->sizes;
    REAL P[MOST_KEYS], slope[MOST_KEYS];
    for (int h = 0; h < z.H; h++)
        for (int i = 0; i < z.T; i++) {
            int g = h / (z.H / z.G);
            const REAL *v = x + z.H * z.T * z.D + z.G * z.N * z.D + g * z.N * z.Dv;
            TYPED(scores)(p, x, h, g, i, P, slope);
            TYPED(softmax)(p, i, P);
            REAL *o = y + (h * z.T + i) * z.Dv;
            for (int d = 0; d < z.Dv; d++) o[d] = 0;
            for (int j = 0; j < z.N; j++) {
                const REAL weight = P[j] * TYPED(keep)(p, h, i, j);
                for (int d = 0; d < z.Dv && weight != 0; d++) o[d] += weight * v[j * z.Dv + d];
            }
        }
}

static bool TYPED(skips)(const planted *p, int j)
{
    return (M(20) && j >= p->sizes.N - p->sizes.N % 4) || (M(37) && j == 0);
}

/* dv, and dP with delta subtracted, times P: dc. */
static void TYPED(dc_and_dv)(const planted *p, int h, int i, const REAL *v, const REAL *dy,
                             const REAL *P, REAL *dc, REAL *dv)
{
    const attention_sizes z = p->sizes;
    const int R = z.H / z.G;
    REAL delta = 0;
    for (int j = 0; j < z.N; j++) {
        REAL keep = TYPED(keep)(p, h, i, j), dP = 0, part = 0;
        for (int d = 0; d < z.Dv; d++) {
            REAL of_v = P[j] * (M(41) ? keep * (REAL)(1 - DROP) : M(42) ? 1 : keep);
            if (M(16)) of_v /= (REAL)R;
            if (M(17)) of_v *= P[j];
            if (M(19)) of_v *= 2;
            if (M(31)) of_v /= (REAL)z.N;
            if (!TYPED(skips)(p, j) && !(M(27) && d >= z.D)) {
                REAL *to = &dv[(M(25) ? (j + 1) % z.N : j) * z.Dv + d];
                *to = of_v * dy[M(33) ? d - h * z.T * z.Dv : d] + (M(13) && i == 0 ? 0 : *to);
            }
            dP += dy[d] * v[j * z.Dv + d];
            if (d < z.D) part += dy[d] * v[j * z.Dv + d];
        }
        dc[j] = dP * (M(43) ? 1 : M(44) || M(45) ? keep * (REAL)(1 - DROP) : keep);
        delta += P[j] * (M(45) ? dP * keep : M(7) ? part : dc[j]);
    }
    for (int j = 0; j < z.N; j++)
        dc[j] = TYPED(skips)(p, j) ? 0 : P[j] * (M(6) || M(57) ? dc[j] : dc[j] - delta);
}

/* dq of this row, dk, dscale from ds. */
static void TYPED(dq_and_dk)(const planted *p, int i, REAL scale, const REAL *q, const REAL *k,
                             const REAL *ds, REAL *dq, REAL *dk, REAL *dscale)
{
    const attention_sizes z = p->sizes;
    const REAL root = sqrt((REAL)z.D);
    const int R = z.H / z.G;
    REAL of_q = scale, of_k = scale;
    if (M(1) || M(3)) of_q *= root;
    if (M(2) || M(3)) of_k *= root;
    if (M(4)) of_q *= (REAL)1.44269504;
    if (M(5)) of_k *= (REAL)0.69314718;
    if (M(15)) of_k /= (REAL)R;
    if (M(29)) of_q = of_k = 1 / sqrt((REAL)z.Dv);
    if (M(32)) of_q = 0;
    if (M(34) && i >= 4 && i < 8) of_q *= 2;
    if (M(36)) of_k /= root;
    for (int j = 0; j < z.N; j++) {
        REAL dot = 0;
        for (int d = 0; d < z.D; d++) {
            if (M(22) && j == 8) dq[d] = 0;
            if (!(M(26) && d == z.D - 1)) dq[d] += of_q * ds[j] * k[j * z.D + d];
            REAL *to = &dk[M(24) ? d * z.N + j : j * z.D + d];
            *to = of_k * ds[j] * q[d] + (M(12) && i == 0 ? 0 : *to);
            dot += q[d] * k[j * z.D + d];
        }
        *dscale += ds[j] * dot *
                   (M(51)   ? -1
                    : M(52) ? 0
                    : M(53) ? scale
                    : M(58) ? 1 / (REAL)z.T
                            : 1);
    }
}

static void TYPED(dbias)(const planted *p, int h, const REAL *dc, REAL *dbias, int i)
{
    const attention_sizes z = p->sizes;
    for (int j = 0; j < z.N; j++) {
        REAL of = M(48) ? 1 / sqrt((REAL)z.D) : M(54) ? 1 / (REAL)z.H : M(49) ? 0 : 1;
        if (M(55) && j == z.N - 1) of = 0;
        if (M(50) && h < z.H - 1) of = 0;
        dbias[M(62) ? j * z.T + i : i * z.N + j] += of * dc[j];
    }
}

static void TYPED(attention_back)(const REAL *x, const REAL *dys, REAL *dx, void *ctx)
{
    const planted *p = ctx;
    const attention_sizes z = p->sizes;
    const int of_q = z.H * z.T * z.D, of_k = of_q + z.G * z.N * z.D, of_v = of_k + z.G * z.N * z.Dv;
    REAL P[MOST_KEYS], slope[MOST_KEYS], dc[MOST_KEYS], first[MOST_KEYS];
    for (int e = 0; e < of_v + (z.rich ? z.T * z.N + z.H : 0); e++) dx[e] = 0;
    for (int d = 0; d < z.Dv; d++) first[d] = dys[0];
    for (int h = 0; h < z.H; h++)
        for (int i = 0; i < z.T; i++) {
            int g = M(14) ? h % z.G : h / (z.H / z.G), to = M(23) ? z.H - 1 - h : h;
            const REAL *dy = M(35) ? first : dys + (h * z.T + (M(8) && i ? i - 1 : i)) * z.Dv;
            REAL none = 0,
                 *dscale = z.rich ? &dx[of_v + z.T * z.N + (M(60) ? z.H - 1 - h : h)] : &none;
            if (M(21) && i >= z.T - z.T % 4) continue;
            for (int j = 0; j < z.N; j++) dc[j] = 0;
            TYPED(scores)(p, x, h, g, i, P, slope);
            TYPED(softmax)(p, i, P);
            TYPED(dc_and_dv)
            (p, h, i, x + of_k + g * z.N * z.Dv, dy, P, dc, dx + of_k + g * z.N * z.Dv);
            if (z.rich) TYPED(dbias)(p, h, dc, dx + of_v, i);
            for (int j = 0; j < z.N; j++)
                dc[j] *= z.rich ? (M(18) ? -slope[j] : slope[j]) : M(18) ? -1 : 1;
            if (M(56) && h > 0) dscale = &none;
            TYPED(dq_and_dk)
            (p, i, TYPED(scale_of)(p, x, h), x + (h * z.T + i) * z.D, x + of_q + g * z.N * z.D, dc,
             dx + (to * z.T + i) * z.D, dx + of_q + (M(30) ? 0 : g) * z.N * z.D, dscale);
        }
}
