/* real_bugs.c -- kernels, each with a published mistake; see real_bugs.h.  Where `bug->repaired` is
 * true the kernel is right, else wrong as published. */
#include "gradcheck/real_bugs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/rng.h"

enum { PARTS = 4, MOST_INPUTS = 512 };

typedef struct real_bug real_bug;
struct real_bug {
    const char *name, *thread;
    const char *expects[2]; /* in the first line; NULL: nothing */
    at_forward_fn_f32 *forward;
    at_vjp_fn_f32 *vjp;
    at_gradcheck_part part[PARTS];
    ptrdiff_t m;
    bool positive; /* inputs between 0.5 and 1.5, not normals */
    bool repaired;
    uint64_t runs;
};

#define FORWARD_WITH_BUG(name) static void name(const float *x, float *y, void *ctx)
#define VJP_WITH_BUG(name) static void name(const float *x, const float *dy, float *dx, void *ctx)

static void set_to_0(ptrdiff_t n, float *to)
{
    memset(to, 0, (size_t)n * sizeof *to);
}

/* ------------------------------------------------------------------ attention ------------------- */

/* O = softmax(Q K^T / sqrt(D)) V, of which the last key is padding and masked out; Q [H,T,D],
 * K [G,N,D], V [G,N,Dv]; Q head h reads K head h G / H. */
enum { H = 6, G = 2, T = 3, N = 11, D = 5, Dv = 7, KEPT = N - 1 };
enum { Q_SIZE = H * T * D, K_SIZE = G * N * D, V_SIZE = G * N * Dv, O_SIZE = H * T * Dv };

static void weights(const float *q, const float *K, float *P)
{
    float most = -INFINITY, total = 0;
    for (int j = 0; j < KEPT; j++) {
        P[j] = 0;
        for (int d = 0; d < D; d++) P[j] += q[d] * K[j * D + d] / sqrtf(D);
        most = fmaxf(most, P[j]);
    }
    for (int j = 0; j < KEPT; j++) total += P[j] = expf(P[j] - most);
    for (int j = 0; j < KEPT; j++) P[j] /= total;
}
FORWARD_WITH_BUG(attend)
{
    const float *K = x + Q_SIZE, *V = K + K_SIZE;
    (void)ctx;
    set_to_0(O_SIZE, y);
    for (int r = 0; r < H * T; r++, y += Dv) {
        const int g = r / T * G / H;
        float P[N];
        weights(x + r * D, K + g * N * D, P);
        for (int i = 0; i < KEPT * Dv; i++) y[i % Dv] += P[i / Dv] * V[g * N * Dv + i];
    }
}
/* keys: how many are not masked out; to: the head to which dK and dV are added; columns of dV */
typedef struct {
    int keys, to, columns;
} as_written;

static void attend_row_back(const float *x, const float *dO, int r, as_written w, float *dx)
{
    const int g = r / T * G / H;
    const float *q = x + r * D, *K = x + Q_SIZE + g * N * D, *V = x + Q_SIZE + K_SIZE + g * N * Dv;
    float *dK = dx + Q_SIZE + w.to * N * D, *dV = dx + Q_SIZE + K_SIZE + w.to * N * Dv;
    float P[N], dP[N] = {0}, delta = 0;
    weights(q, K, P);
    for (int j = 0; j < KEPT; j++) {
        for (int d = 0; d < Dv; d++) dP[j] += dO[d] * V[j * Dv + d];
        delta += P[j] * dP[j];
    }
    for (int j = 0; j < w.keys; j++) {
        float dS = P[j] * (dP[j] - delta) / sqrtf(D);
        for (int d = 0; d < w.columns; d++) dV[j * Dv + d] += P[j] * dO[d];
        for (int d = 0; d < D; d++) dx[r * D + d] += dS * K[j * D + d];
        for (int d = 0; d < D; d++) dK[j * D + d] += dS * q[d];
    }
}
VJP_WITH_BUG(attend_back_with_another_mask)
{
    const real_bug *bug = ctx;
    set_to_0(Q_SIZE + K_SIZE + V_SIZE, dx);
    for (int r = 0; r < H * T; r++)
        attend_row_back(x, dy + r * Dv, r,
                        (as_written){bug->repaired ? KEPT : KEPT - 1, r / T * G / H, Dv}, dx);
}
VJP_WITH_BUG(attend_back_to_another_head)
{
    const real_bug *bug = ctx;
    set_to_0(Q_SIZE + K_SIZE + V_SIZE, dx);
    for (int r = 0; r < H * T; r++)
        attend_row_back(x, dy + r * Dv, r,
                        (as_written){KEPT, bug->repaired ? r / T * G / H : r / T % G, Dv}, dx);
}
VJP_WITH_BUG(attend_back_by_whole_blocks)
{
    const real_bug *bug = ctx;
    set_to_0(Q_SIZE + K_SIZE + V_SIZE, dx);
    for (int r = 0; r < H * T; r++)
        attend_row_back(x, dy + r * Dv, r,
                        (as_written){KEPT, r / T * G / H, bug->repaired ? Dv : Dv / 4 * 4}, dx);
}

/* ------------------------------------------------------------------ norms ----------------------- */

/* Rows [ROWS,WIDTH], then gamma [WIDTH], beta [WIDTH] */
enum { ROWS = 6, WIDTH = 11, ALL = ROWS * WIDTH };

static float deviation(const float *x, float *mean)
{
    float mu = 0, v = 0;
    for (int i = 0; i < WIDTH; i++) mu += x[i] / WIDTH;
    for (int i = 0; i < WIDTH; i++) v += (x[i] - mu) * (x[i] - mu) / WIDTH;
    *mean = mu;
    return sqrtf(v + 1e-5f);
}
FORWARD_WITH_BUG(normalise)
{
    const float *gamma = x + ALL, *beta = gamma + WIDTH;
    (void)ctx;
    for (int r = 0; r < ALL; r += WIDTH) {
        float mu, s = deviation(x + r, &mu);
        for (int i = 0; i < WIDTH; i++) y[r + i] = (x[r + i] - mu) / s * gamma[i] + beta[i];
    }
}
static void normalise_row_back(const float *x, const float *gamma, const float *dy, float *dx)
{
    float mu, s = deviation(x, &mu), mean = 0, along = 0;
    for (int i = 0; i < WIDTH; i++) {
        mean += gamma[i] * dy[i] / WIDTH;
        along += gamma[i] * dy[i] * (x[i] - mu) / s / WIDTH;
    }
    for (int i = 0; i < WIDTH; i++) dx[i] = (gamma[i] * dy[i] - mean - (x[i] - mu) / s * along) / s;
}
static void gamma_back(const float *x, const float *dy, float *dgamma)
{
    set_to_0(WIDTH, dgamma);
    for (int r = 0; r < ALL; r += WIDTH) {
        float mu, s = deviation(x + r, &mu);
        for (int i = 0; i < WIDTH; i++) dgamma[i] += dy[r + i] * (x[r + i] - mu) / s;
    }
}
static void beta_back(const float *dy, int rows, float *dbeta)
{
    set_to_0(WIDTH, dbeta);
    for (int i = 0; i < rows * WIDTH; i++) dbeta[i % WIDTH] += dy[i];
}
VJP_WITH_BUG(normalise_back_without_gamma)
{
    const real_bug *bug = ctx;
    for (int r = 0; r < ALL; r += WIDTH) normalise_row_back(x + r, x + ALL, dy + r, dx + r);
    if (bug->repaired) gamma_back(x, dy, dx + ALL);
    beta_back(dy, ROWS, dx + ALL + WIDTH);
}
/* In a tenth of the runs, the sum is read before its last row has arrived. */
VJP_WITH_BUG(normalise_back_in_a_race)
{
    real_bug *bug = ctx;
    bool late = !bug->repaired && at_random_unit((at_stream){1, 0}, bug->runs++) < 0.1;
    for (int r = 0; r < ALL; r += WIDTH) normalise_row_back(x + r, x + ALL, dy + r, dx + r);
    gamma_back(x, dy, dx + ALL);
    beta_back(dy, late ? ROWS - 1 : ROWS, dx + ALL + WIDTH);
}

/* y = x / rms(x) w */
static float rms_of(const float *x)
{
    float squares = 0;
    for (int i = 0; i < WIDTH; i++) squares += x[i] * x[i];
    return sqrtf(squares / WIDTH + 1e-6f);
}
FORWARD_WITH_BUG(scale_by_rms)
{
    (void)ctx;
    for (int i = 0; i < ALL; i++) y[i] = x[i] / rms_of(x + i / WIDTH * WIDTH) * x[ALL + i % WIDTH];
}
VJP_WITH_BUG(scale_by_rms_back_without_weight)
{
    const real_bug *bug = ctx;
    float *dw = dx + ALL;
    set_to_0(WIDTH, dw);
    for (int r = 0; r < ALL; r += WIDTH) {
        float s = rms_of(x + r), along = 0, dz[WIDTH];
        for (int i = 0; i < WIDTH; i++) {
            dz[i] = dy[r + i] * (bug->repaired ? x[ALL + i] : 1);
            along += dz[i] * x[r + i] / s / WIDTH;
            dw[i] += dy[r + i] * x[r + i] / s;
        }
        for (int i = 0; i < WIDTH; i++) dx[r + i] = (dz[i] - x[r + i] / s * along) / s;
    }
}

/* ------------------------------------------------------------------ losses ---------------------- */

static void probabilities(const float *x, float *P)
{
    float most = x[0], total = 0;
    for (int i = 1; i < WIDTH; i++) most = fmaxf(most, x[i]);
    for (int i = 0; i < WIDTH; i++) total += P[i] = expf(x[i] - most);
    for (int i = 0; i < WIDTH; i++) P[i] /= total;
}
/* y_r = - log softmax(x_r)[class of r] */
FORWARD_WITH_BUG(loss_of_each_row)
{
    (void)ctx;
    for (int r = 0; r < ROWS; r++) {
        float P[WIDTH];
        probabilities(x + r * WIDTH, P);
        y[r] = -logf(P[3 * r % WIDTH]);
    }
}
VJP_WITH_BUG(loss_back_of_the_first_row)
{
    const real_bug *bug = ctx;
    for (int r = 0; r < ROWS; r++) {
        float *d = dx + r * WIDTH, upstream = dy[bug->repaired ? r : 0];
        probabilities(x + r * WIDTH, d);
        d[3 * r % WIDTH] -= 1;
        for (int i = 0; i < WIDTH; i++) d[i] *= upstream;
    }
}
/* y_r = - sum_i t_i log softmax(x_r)_i; the targets t [ROWS,WIDTH] come after x. */
FORWARD_WITH_BUG(loss_of_soft_targets)
{
    (void)ctx;
    for (int r = 0; r < ROWS; r++) {
        float P[WIDTH];
        probabilities(x + r * WIDTH, P);
        y[r] = 0;
        for (int i = 0; i < WIDTH; i++) y[r] -= x[ALL + r * WIDTH + i] * logf(P[i]);
    }
}
VJP_WITH_BUG(loss_back_if_targets_sum_to_1)
{
    const real_bug *bug = ctx;
    for (int r = 0; r < ROWS; r++) {
        const float *t = x + ALL + r * WIDTH;
        float P[WIDTH], sum = 0;
        probabilities(x + r * WIDTH, P);
        for (int i = 0; i < WIDTH; i++) sum += t[i];
        for (int i = 0; i < WIDTH; i++) {
            dx[r * WIDTH + i] = dy[r] * ((bug->repaired ? sum : 1) * P[i] - t[i]);
            dx[ALL + r * WIDTH + i] = -dy[r] * logf(P[i]);
        }
    }
}
/* e = target - x;  y = e^2 / 2 up to |e| = 1, then |e| - 1/2 */
FORWARD_WITH_BUG(smooth_l1)
{
    (void)ctx;
    for (int i = 0; i < ALL; i++) {
        float e = fabsf(x[ALL + i] - x[i]);
        y[i] = e < 1 ? e * e / 2 : e - 0.5f;
    }
}
VJP_WITH_BUG(smooth_l1_back_with_another_sign)
{
    const real_bug *bug = ctx;
    for (int i = 0; i < ALL; i++) {
        float e = x[ALL + i] - x[i], outside = bug->repaired ? 1 : -1;
        float slope = fabsf(e) < 1 ? e : e > 0 ? outside : -outside;
        dx[i] = -slope * dy[i];
        dx[ALL + i] = slope * dy[i];
    }
}

/* ------------------------------------------------------------------ splats ---------------------- */

/* y = exp(-(a u u + c v v) / 2 - b u v): u, v, a, b, c [SPLATS] each */
enum { SPLATS = 13, RAYS = 3 };

FORWARD_WITH_BUG(splat)
{
    const float *u = x, *v = u + SPLATS, *a = v + SPLATS, *b = a + SPLATS, *c = b + SPLATS;
    (void)ctx;
    for (int i = 0; i < SPLATS; i++)
        y[i] = expf(-(a[i] * u[i] * u[i] + c[i] * v[i] * v[i]) / 2 - b[i] * u[i] * v[i]);
}
VJP_WITH_BUG(splat_back_with_half_of_b)
{
    const real_bug *bug = ctx;
    const float *u = x, *v = u + SPLATS, *a = v + SPLATS, *b = a + SPLATS, *c = b + SPLATS;
    float y[SPLATS];
    splat(x, y, ctx);
    for (int i = 0; i < SPLATS; i++) {
        float d = dy[i] * y[i];
        dx[i] = -d * (a[i] * u[i] + b[i] * v[i]);
        dx[SPLATS + i] = -d * (c[i] * v[i] + b[i] * u[i]);
        dx[2 * SPLATS + i] = -d * u[i] * u[i] / 2;
        dx[3 * SPLATS + i] = -d * u[i] * v[i] * (bug->repaired ? 1 : 0.5f);
        dx[4 * SPLATS + i] = -d * v[i] * v[i] / 2;
    }
}

/* The colour of a ray, y = sum_i c_i a_i T_i with T_i = prod_(j<i) (1 - a_j): colours and alphas
 * are [RAYS,SPLATS].  Every fourth splat is not on the ray, and left out. */
static bool is_skipped(int i)
{
    return i % 4 == 0;
}
static float opacity(float a)
{
    return a / 4; /* alphas are drawn between 0.5 and 1.5: the last splat is still seen */
}
FORWARD_WITH_BUG(blend)
{
    (void)ctx;
    for (int r = 0; r < RAYS; r++) {
        const float *c = x + r * SPLATS, *a = c + RAYS * SPLATS;
        float through = 1;
        y[r] = 0;
        for (int i = 0; i < SPLATS; i++) {
            if (is_skipped(i)) continue;
            y[r] += c[i] * opacity(a[i]) * through;
            through *= 1 - opacity(a[i]);
        }
    }
}
/* From the last to the first.  The weight of a splat that was skipped must not be divided out. */
VJP_WITH_BUG(blend_back_from_a_skipped_splat)
{
    const real_bug *bug = ctx;
    set_to_0((ptrdiff_t)2 * RAYS * SPLATS, dx);
    for (int r = 0; r < RAYS; r++) {
        const float *c = x + r * SPLATS, *a = c + RAYS * SPLATS;
        float *dc = dx + r * SPLATS, *da = dc + RAYS * SPLATS, through = 1, behind = 0;
        for (int i = 0; i < SPLATS; i++)
            if (!is_skipped(i)) through *= 1 - opacity(a[i]);
        for (int i = SPLATS - 1; i >= 0; i--) {
            if (is_skipped(i) && bug->repaired) continue;
            through /= 1 - opacity(a[i]);
            if (is_skipped(i)) continue;
            dc[i] = dy[r] * opacity(a[i]) * through;
            da[i] = dy[r] * through * (c[i] - behind) / 4;
            behind = c[i] * opacity(a[i]) + (1 - opacity(a[i])) * behind;
        }
    }
}
/* A camera: (u, v) = (across, down) / depth */
FORWARD_WITH_BUG(project)
{
    (void)ctx;
    for (int i = 0; i < SPLATS; i++) {
        y[i] = x[i] / x[2 * SPLATS + i];
        y[SPLATS + i] = x[SPLATS + i] / x[2 * SPLATS + i];
    }
}
VJP_WITH_BUG(project_back_with_a_short_row)
{
    const real_bug *bug = ctx;
    for (int i = 0; i < SPLATS; i++) {
        const float u = x[i], v = x[SPLATS + i], z = x[2 * SPLATS + i];
        dx[i] = dy[i] / z;
        dx[SPLATS + i] = dy[SPLATS + i] / z;
        dx[2 * SPLATS + i] = -(u * dy[i] + (bug->repaired ? v * dy[SPLATS + i] : 0)) / (z * z);
    }
}

/* ------------------------------------------------------------------ others ---------------------- */

/* y = silu(gate) up, in one kernel for which nobody wrote a backward */
FORWARD_WITH_BUG(fused_gate)
{
    (void)ctx;
    for (int i = 0; i < ALL; i++) y[i] = x[i] / (1 + expf(-x[i])) * x[ALL + i];
}
VJP_WITH_BUG(fused_gate_back_that_is_missing)
{
    const real_bug *bug = ctx;
    for (int i = 0; i < ALL; i++) {
        float s = 1 / (1 + expf(-x[i])), d = bug->repaired ? dy[i] : 0;
        dx[i] = d * x[ALL + i] * s * (1 + x[i] * (1 - s));
        dx[ALL + i] = d * x[i] * s;
    }
}
/* y_t = table[id_t] + position_t: table [N,WIDTH], position [ROWS,WIDTH], some id twice */
static int row_of(int t)
{
    static const int row[ROWS] = {2, 0, 2, 4, 1, 2};
    return row[t];
}
FORWARD_WITH_BUG(embed)
{
    (void)ctx;
    for (int i = 0; i < ALL; i++)
        y[i] = x[row_of(i / WIDTH) * WIDTH + i % WIDTH] + x[N * WIDTH + i];
}
VJP_WITH_BUG(embed_back_that_overwrites)
{
    const real_bug *bug = ctx;
    (void)x;
    set_to_0((ptrdiff_t)N * WIDTH, dx);
    for (int i = 0; i < ALL; i++) {
        float *to = &dx[row_of(i / WIDTH) * WIDTH + i % WIDTH];
        *to = (bug->repaired ? *to : 0) + dy[i];
        dx[N * WIDTH + i] = dy[i];
    }
}
/* y_t = sum_k w_k x_(t + k - 1): signal [WIDTH], filter [3], with a zero on either side.  The
 * gradient of the signal is summed in a padded copy, which must be copied back. */
FORWARD_WITH_BUG(padded_convolution)
{
    const float *w = x + WIDTH;
    (void)ctx;
    for (int t = 0; t < WIDTH; t++) {
        y[t] = w[1] * x[t];
        if (t > 0) y[t] += w[0] * x[t - 1];
        if (t + 1 < WIDTH) y[t] += w[2] * x[t + 1];
    }
}
VJP_WITH_BUG(padded_convolution_back_into_the_copy)
{
    const real_bug *bug = ctx;
    float padded[WIDTH + 2] = {0};
    set_to_0(WIDTH + 3, dx);
    for (int t = 0; t < WIDTH; t++)
        for (int k = 0; k < 3; k++) {
            padded[t + k] += dy[t] * x[WIDTH + k];
            if (t + k - 1 >= 0 && t + k - 1 < WIDTH) dx[WIDTH + k] += dy[t] * x[t + k - 1];
        }
    if (bug->repaired) memcpy(dx, padded + 1, WIDTH * sizeof *dx);
}

/* ------------------------------------------------------------------ the list -------------------- */

#define PART(text, elements)                                                                       \
    {                                                                                              \
        .name = text, .count = elements                                                            \
    }
#define ATTENTION                                                                                  \
    .part = {PART("queries", Q_SIZE), PART("keys", K_SIZE), PART("values", V_SIZE)}, .m = O_SIZE
#define NORM .part = {PART("hidden", ALL), PART("gamma", WIDTH), PART("beta", WIDTH)}, .m = ALL

static const real_bug bugs[] = {
    {.name = "backward masks one key more",
     .thread = "triton#5660, #7216",
     .expects = {"values"},
     .forward = attend,
     .vjp = attend_back_with_another_mask,
     ATTENTION},
    {.name = "dK and dV go to another head",
     .thread = "native-sparse-attention#27",
     .expects = {"keys"},
     .forward = attend,
     .vjp = attend_back_to_another_head,
     ATTENTION},
    {.name = "dV has whole blocks of columns alone",
     .thread = "flash-attention#2552",
     .expects = {"values"},
     .forward = attend,
     .vjp = attend_back_by_whole_blocks,
     ATTENTION},
    {.name = "the gradient of gamma is not written",
     .thread = "trueno PR#178",
     .expects = {"gamma", "not written"},
     .forward = normalise,
     .vjp = normalise_back_without_gamma,
     NORM},
    {.name = "a race in the gradient of beta",
     .thread = "jax-mps PR#168",
     .expects = {"race"},
     .forward = normalise,
     .vjp = normalise_back_in_a_race,
     NORM},
    {.name = "the weight of an RMS norm is forgotten",
     .thread = "llm.c PR#763",
     .expects = {"hidden"},
     .forward = scale_by_rms,
     .vjp = scale_by_rms_back_without_weight,
     .part = {PART("hidden", ALL), PART("weight", WIDTH)},
     .m = ALL},
    {.name = "all rows get the upstream gradient of the first",
     .thread = "Liger-Kernel#968, PR#1298",
     .expects = {"dy[0]"},
     .forward = loss_of_each_row,
     .vjp = loss_back_of_the_first_row,
     .part = {PART("logits", ALL)},
     .m = ROWS},
    {.name = "targets are assumed to sum to 1",
     .thread = "NeMo Automodel PR#2428",
     .expects = {"logits"},
     .forward = loss_of_soft_targets,
     .vjp = loss_back_if_targets_sum_to_1,
     .part = {PART("logits", ALL), PART("targets", ALL)},
     .m = ROWS,
     .positive = true},
    {.name = "the sign is reversed where |e| > 1",
     .thread = "darknet, smooth_l1_cpu",
     .expects = {"-1"},
     .forward = smooth_l1,
     .vjp = smooth_l1_back_with_another_sign,
     .part = {PART("predictions", ALL), PART("targets", ALL)},
     .m = ALL},
    {.name = "a factor of 0.5 where it is 1",
     .thread = "gaussian-splatting#551",
     .expects = {"conic_b", "0.5"},
     .forward = splat,
     .vjp = splat_back_with_half_of_b,
     .part = {PART("offsets", 2 * SPLATS), PART("conic_a", SPLATS), PART("conic_b", SPLATS),
              PART("conic_c", SPLATS)},
     .m = SPLATS},
    {.name = "the weight starts at a skipped splat",
     .thread = "joeyan/gaussian_splatting#35",
     .expects = {"alphas"},
     .forward = blend,
     .vjp = blend_back_from_a_skipped_splat,
     .part = {PART("colours", RAYS *SPLATS), PART("alphas", RAYS *SPLATS)},
     .m = RAYS,
     .positive = true},
    {.name = "a row of a Jacobian lacks a term",
     .thread = "gsplat#634",
     .expects = {"depth"},
     .forward = project,
     .vjp = project_back_with_a_short_row,
     .part = {PART("across", SPLATS), PART("down", SPLATS), PART("depth", SPLATS)},
     .m = 2 * SPLATS,
     .positive = true},
    {.name = "a fused op has no backward",
     .thread = "candle PR#3823",
     .expects = {"0"},
     .forward = fused_gate,
     .vjp = fused_gate_back_that_is_missing,
     .part = {PART("gate", ALL), PART("up", ALL)},
     .m = ALL},
    {.name = "of several additions to a row, the last remains",
     .thread = "burn#5296",
     .expects = {"table"},
     .forward = embed,
     .vjp = embed_back_that_overwrites,
     .part = {PART("table", N *WIDTH), PART("position", ALL)},
     .m = ALL},
    {.name = "the gradient stays in a padded copy",
     .thread = "kann, kad_op_conv1d",
     .expects = {"signal"},
     .forward = padded_convolution,
     .vjp = padded_convolution_back_into_the_copy,
     .part = {PART("signal", WIDTH), PART("filter", 3)},
     .m = WIDTH},
};

int at_real_bugs(void)
{
    return (int)(sizeof bugs / sizeof *bugs);
}

/* In the reason, or in the first line of what the wrong elements say together. */
static bool is_named(const real_bug *bug, const at_gradcheck_report *r)
{
    char line[sizeof r->reason + sizeof r->diagnosis + 2];
    snprintf(line, sizeof line, "%s %.*s", r->reason, (int)strcspn(r->diagnosis, "\n"),
             r->diagnosis);
    for (int i = 0; i < 2 && bug->expects[i]; i++)
        if (!strstr(line, bug->expects[i])) return false;
    return true;
}

real_bug_verdict at_check_real_bug(int which, bool repaired)
{
    real_bug bug = bugs[which];
    at_gradcheck_part parts[PARTS + 1] = {0};
    float x[MOST_INPUTS];
    ptrdiff_t n = 0;
    bug.repaired = repaired;
    for (int i = 0; i < PARTS; i++) n += (parts[i] = bug.part[i]).count;
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = (float)(bug.positive ? 0.5 + at_random_unit((at_stream){7, 0}, (uint64_t)i)
                                    : at_random_normal((at_stream){7, 1}, (uint64_t)i));
    at_gradcheck_report r = at_gradcheck_fn_f32(bug.forward, bug.vjp, n, bug.m, x, &bug,
                                                (at_gradcheck_options){.parts = parts});
    bool found = r.verdict == ATTIC_WRONG || r.verdict == ATTIC_RACE;
    return (real_bug_verdict){bug.name, bug.thread, found, found && is_named(&bug, &r), r};
}
