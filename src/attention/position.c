/* position.c -- relative position biases; see position.h.
 *
 * T queries and N keys have T + N - 1 distances only.  So each bias is made in two steps: one
 * number per head and distance, then at_toeplitz, which spreads them over the scores.
 *
 *     k = 0 .. T+N-2      d = k - (T-1) - offset       x [H,T+N-1]  ->  [H,T,N]  ->  [1,H,T,N] */
#include "attention/position.h"

#include <math.h>

#include "autograd/op.h"
#include "kernels/elementary.h"
#include "ops/op.h"

/* T + N - 1 numbers d, one for each diagonal. */
typedef struct {
    int n;
    int64_t first; /* d of the last query and the first key */
} distances;

static bool distances_of(at_tape *t, const char *name, int T, int N, int offset, distances *d)
{
    AT_REQUIRE(t, T >= 0 && N >= 0, "%s: %d queries and %d keys, but neither can be negative", name,
               T, N);
    int64_t n = T || N ? (int64_t)T + N - 1 : 0;
    AT_REQUIRE(t, n <= INT32_MAX, "%s: %d queries and %d keys are too many", name, T, N);
    *d = (distances){(int)n, 1 - (int64_t)T - offset};
    return true;
}

/* x [H,T+N-1] -> [1,H,T,N] */
static at_tensor *spread_over_scores(at_tape *t, at_tensor *x, int T, int N)
{
    at_tensor *y = at_toeplitz(t, x, T, N);
    return y ? at_reshape(t, y, at_shape_of(1, y->shape.dim[0], T, N)) : NULL;
}

/* Row id_k of the table for distance k. */
static at_tensor *bias_from_table(at_tape *t, at_tensor *table, at_tensor *id, int T, int N)
{
    at_tensor *x = at_embedding(t, table, id); /* [2n+1,H] -> [T+N-1,H] */
    return spread_over_scores(t, at_transpose(t, x, 0, 1), T, N);
}

at_tensor *at_relative_bias(at_tape *t, at_tensor *table, int T, int N, int offset)
{
    distances d;
    AT_INPUT(t, "relative_bias", table, ATTIC_REAL);
    AT_REQUIRE(t, table->shape.ndim == 2 && table->shape.dim[0] % 2 == 1,
               "relative_bias: table is %s, but must be [2n+1,H], for the distances -n .. n",
               at_text(table));
    if (!distances_of(t, "relative_bias", T, N, offset, &d)) return NULL;
    at_tensor *id = at_blank(t, ATTIC_I32, at_shape_of(d.n));
    const int n = table->shape.dim[0] / 2;
    for (int k = 0; id && k < d.n; k++) {
        const int64_t distance = d.first + k;
        ((int32_t *)id->data)[k] = distance < -n ? 0 : distance > n ? 2 * n : (int)distance + n;
    }
    return bias_from_table(t, table, id, T, N);
}

/* Of one direction. */
static int t5_half(int64_t n, int M, int max_distance)
{
    const int m = M / 2;
    if (n < m) return (int)n;
    if (n >= max_distance) return M - 1;
    double steps = at_f64_log((double)n / m) / at_f64_log((double)max_distance / m) * (M - m);
    /* n = m (max_distance/m)^(1/2), say, is where a bucket begins; rounding must not put it one
     * below */
    int bucket = m + (int)floor(steps + 1e-9);
    return bucket < M ? bucket : M - 1;
}

static bool t5_fits(int buckets, at_t5_args a)
{
    int M = a.causal ? buckets : buckets / 2;
    return M >= 2 && (a.causal || buckets % 2 == 0) && a.max_distance > M / 2;
}

static int t5_bucket_of(int64_t d, int buckets, at_t5_args a)
{
    if (a.causal) return d > 0 ? 0 : t5_half(-d, buckets, a.max_distance);
    int M = buckets / 2;
    return d > 0 ? M + t5_half(d, M, a.max_distance) : t5_half(-d, M, a.max_distance);
}

static at_t5_args t5_with_defaults(at_t5_args a)
{
    if (a.max_distance == 0) a.max_distance = 128;
    return a;
}

int at_t5_bucket(int d, int buckets, at_t5_args args)
{
    args = t5_with_defaults(args);
    return t5_fits(buckets, args) ? t5_bucket_of(d, buckets, args) : -1;
}

at_tensor *at_t5_bias(at_tape *t, at_tensor *table, int T, int N, at_t5_args args)
{
    distances d;
    AT_INPUT(t, "t5_bias", table, ATTIC_REAL);
    AT_REQUIRE(t, table->shape.ndim == 2, "t5_bias: table is %s, but must be [buckets,H]",
               at_text(table));
    const int buckets = table->shape.dim[0];
    args = t5_with_defaults(args);
    AT_REQUIRE(t, t5_fits(buckets, args),
               "t5_bias: %d buckets up to a distance of %d%s: there must be %s, and the distance "
               "more than %d",
               buckets, args.max_distance, args.causal ? ", causal" : "",
               args.causal ? "2 or more" : "4 or more, an even number",
               args.causal ? buckets / 2 : buckets / 4);
    if (!distances_of(t, "t5_bias", T, N, args.offset, &d)) return NULL;
    at_tensor *id = at_blank(t, ATTIC_I32, at_shape_of(d.n));
    for (int k = 0; id && k < d.n; k++)
        ((int32_t *)id->data)[k] = t5_bucket_of(d.first + k, buckets, args);
    return bias_from_table(t, table, id, T, N);
}

at_tensor *at_alibi_slopes(at_tape *t, int H)
{
    AT_REQUIRE(t, H >= 1, "alibi_slopes: %d heads, but there must be one at least", H);
    at_tensor *slope = at_blank(t, ATTIC_REAL, at_shape_of(H));
    int P = 1;
    while (P <= H / 2) P *= 2;
    for (int h = 0; slope && h < H; h++) {
        double power = h < P ? 8.0 * (h + 1) / P : 4.0 * (2.0 * (h - P) + 1) / P;
        at_store(slope->dtype, slope->data, h, at_f64_exp2(-power));
    }
    return slope;
}

/* By this name at_sdpa knows the bias: scores with it differ from those of ALiBi row by row. */
static const at_op alibi_row_op = {.name = "alibi_row_bias",
                                   .backward = AT_EVERY_REAL(at_pass_back)};

at_tensor *at_alibi_row_bias(at_tape *t, at_tensor *slope, int N)
{
    AT_INPUT(t, "alibi_row_bias", slope, ATTIC_REAL);
    AT_REQUIRE(t, slope->shape.ndim == 1, "alibi_row_bias: slope is %s, but must be [H]",
               at_text(slope));
    AT_REQUIRE(t, N >= 0, "alibi_row_bias: %d keys, but they cannot be negative", N);
    const int H = slope->shape.dim[0];
    at_tensor *j = at_blank(t, ATTIC_REAL, at_shape_of(1, N));
    for (int k = 0; j && k < N; k++) at_store(j->dtype, j->data, k, k);
    at_tensor *y = at_mul(t, at_reshape(t, slope, at_shape_of(H, 1)), j); /* [H,1] [1,N] -> [H,N] */
    const at_recipe row = {.shape = {at_shape_of(1, H, 1, N)}, .shares = true};
    return y ? at_output(at_record_node(t, &alibi_row_op, AT_IN(y), row)) : NULL;
}

at_tensor *at_alibi_bias(at_tape *t, at_tensor *slope, int T, int N, int offset)
{
    distances d;
    AT_INPUT(t, "alibi_bias", slope, ATTIC_REAL);
    AT_REQUIRE(t, slope->shape.ndim == 1, "alibi_bias: slope is %s, but must be [H]",
               at_text(slope));
    if (!distances_of(t, "alibi_bias", T, N, offset, &d)) return NULL;
    at_tensor *gap = at_blank(t, ATTIC_REAL, at_shape_of(1, d.n));
    for (int k = 0; gap && k < d.n; k++)
        at_store(gap->dtype, gap->data, k, 0 - fabs((double)(d.first + k)));
    at_tensor *column = at_reshape(t, slope, at_shape_of(slope->shape.dim[0], 1));
    return spread_over_scores(t, at_mul(t, column, gap), T, N); /* [H,1] [1,T+N-1] -> [H,T+N-1] */
}
