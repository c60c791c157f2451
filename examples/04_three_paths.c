/* 04_three_paths.c -- three implementations, the same results: fused = plain = composed.
 *
 *   plain      row by row, as the equations are written
 *   composed   recorded from six single ops, whose backwards the tape chains
 *   fused      tile by tile, never holding the T x N weights; its backward is derived by hand
 *
 * They share how the options are read (which keys a row keeps, c, the dropout factors) and no other
 * code of attention, so where all three agree, forward and in every gradient, a mistake in the rest
 * would have to have been made three times.  Each line is one kind of attention and shows the
 * largest difference from `composed`, relative to the largest element of that tensor.  In double
 * precision the differences are about 1e-15: rounding, and nothing else.
 *
 * Read on: 05_toy_transformer.c trains with attention. */
#include "attic.h"

#include <math.h>
#include <string.h>

#include "common/options.h"

enum { B = 2, H = 4, G = 2, T = 37, N = 37, D = 16 };

typedef struct {
    const char *name;
    at_sdpa_args args;
    bool masked, biased, grouped;
} variant;

static const variant table[] = {
    {.name = "full"},
    {.name = "causal", .args = {.causal = true}},
    {.name = "causal, dropout 0.3", .args = {.causal = true, .dropout = 0.3}},
    {.name = "temperature 0.5", .args = {.temperature = 0.5}},
    {.name = "random mask", .masked = true},
    {.name = "bias, with gradient", .biased = true},
    {.name = "grouped heads, 4 on 2", .args = {.causal = true}, .grouped = true},
};

typedef struct {
    double O[B * H * T * D], dQ[B * H * T * D], dK[B * H * N * D], dV[B * H * N * D],
        dbias[H * T * N];
} results;

static void keep(double *to, const at_tensor *x, bool gradient)
{
    for (ptrdiff_t i = 0; x && i < at_count(x->shape); i++)
        to[i] = gradient ? at_grad_element(x, i) : at_element(x, i);
}

/* One attention and its gradients, on a tape of its own; the same seed makes the same inputs. */
static bool attend(const variant *v, at_sdpa_path path, results *r)
{
    memset(r, 0, sizeof *r);
    at_tape *t = at_open(ATTIC_F64, 7);
    int heads = v->grouped ? G : H;
    at_tensor *Q = at_param(t, "Q", at_shape_of(B, H, T, D), at_normal(1));
    at_tensor *K = at_param(t, "K", at_shape_of(B, heads, N, D), at_normal(1));
    at_tensor *V = at_param(t, "V", at_shape_of(B, heads, N, D), at_normal(1));
    at_tensor *bias = at_param(t, "bias", at_shape_of(1, H, T, N), at_normal(1));
    at_tensor *dO =
        at_random(t, at_shape_of(B, H, T, D), at_normal(1)); /* the upstream gradient (cotangent) */
    at_tensor *coin = at_random(t, at_shape_of(B, 1, T, N), at_uniform(1));
    at_sdpa_args args = v->args;
    args.path = path;
    if (v->biased) args.bias = bias;
    if (v->masked) args.keep = at_less(t, at_const(t, at_shape_of(), NULL), coin); /* 0 < coin */
    at_tensor *O = at_sdpa(t, Q, K, V, args);
    at_backward_from(t, O, dO);
    keep(r->O, O, false);
    keep(r->dQ, Q, true);
    keep(r->dK, K, true);
    keep(r->dV, V, true);
    keep(r->dbias, bias, true);
    bool fine = at_ok(t);
    if (!fine) fprintf(stderr, "attic: %s\n", at_error(t));
    at_close(t);
    return fine;
}

/* max |a - b| / max |b| */
static double difference(const double *a, const double *b, int n)
{
    double worst = 0, largest = 0;
    for (int i = 0; i < n; i++) {
        double off = fabs(a[i] - b[i]);
        if (off > worst || isnan(off)) worst = off;
        largest = fmax(largest, fabs(b[i]));
    }
    return largest > 0 ? worst / largest : worst;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv,
                  "usage: 04_three_paths\n"
                  "Three implementations, the same results: fused = plain = composed.\n",
                  NULL, 0);
    static results want, got;
    double worst = 0;
    printf("Do three implementations of attention agree?  Fused and plain are compared with\n"
           "composed: the largest difference of the output O and of each gradient, relative to\n"
           "the largest element; -: no bias.  In doubles, Q [%d,%d,%d,%d].  Look for more than\n"
           "rounding, some 1e-16.\n\n",
           B, H, T, D);
    printf("%-24s%-8s%10s%10s%10s%10s%10s\n", "attention", "path", "O", "dQ", "dK", "dV", "dbias");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!attend(&table[i], ATTIC_COMPOSED, &want)) return 1;
        for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++) {
            if (!attend(&table[i], path, &got)) return 1;
            double d[] = {difference(got.O, want.O, B * H * T * D),
                          difference(got.dQ, want.dQ, B * H * T * D),
                          difference(got.dK, want.dK, B * H * N * D),
                          difference(got.dV, want.dV, B * H * N * D),
                          difference(got.dbias, want.dbias, H * T * N)};
            printf("%-24s%-8s", path == ATTIC_FUSED ? table[i].name : "",
                   path == ATTIC_FUSED ? "fused" : "plain");
            for (int j = 0; j < 5; j++)
                if (d[j] > worst || isnan(d[j])) worst = d[j];
            for (int j = 0; j < 4; j++) printf("%10.1e", d[j]);
            if (table[i].biased)
                printf("%10.1e\n", d[4]);
            else
                printf("%10s\n", "-");
        }
    }
    printf("\nSeen: the largest of all is %.1e, %s.\n", worst,
           worst < 1e-12 ? "rounding and nothing else" : "MORE than rounding");
    return finish(!(worst < 1e-12));
}
