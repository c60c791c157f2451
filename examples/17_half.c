/* 17_half.c -- sixteen bits: what they can store, and what must not be computed in them.
 *
 *              sign  exponent  fraction    digits   least > 0   largest
 *     f16      1     5         10          3.3      6.0e-8      65504
 *     bf16     1     8         7           2.4      9.2e-41     3.4e38
 *
 * Weights, keys and values may be stored so: half of the memory, and half of the time that reading
 * them takes.  Four calculations show why the arithmetic itself stays in f32.
 *
 * 1 OVERFLOW.  e^12 = 162755 is more than f16 holds; so is q.k = 65536 for vectors of 256 elements
 *   of size 16, before it is divided by sqrt(256).
 * 2 SOFTMAX.  exp(x - m) with m = max x is at most 1: it cannot overflow, and what underflows is
 *   small beside the 1 in the sum.  Without m an infinity divides an infinity.
 * 3 SUMS.  A sum of ones stops where the next value is 2 away: 2048 + 1 lies half way between
 *   2048 and 2050 and goes to the even one, 2048.  In bf16 that is 256.
 * 4 STEPS.  A weight of 1 does not notice a step of 0.001 in bf16, nor one of 0.0004 in f16: so
 *   what learns is f32.  And a gradient of 1e-8 is 0 in f16.
 *
 * At the end, a product: weights rounded once, sums in f32.  That is what attic does with f16 and
 * bf16 weights (at_cast, at_store_params), and docs/precision.md has its errors. */
#include "attic.h"
#include "attic_op.h"

#include <math.h>

#include "common/options.h"

static const at_dtype F = ATTIC_F16, B = ATTIC_BF16;
static const double logit[3] = {0, 8, 12};

/* x as it is after it was stored: the nearest value that this dtype has. */
static double in_bits(at_dtype d, double x)
{
    double bits = 0;
    at_store(d, &bits, 0, x);
    return at_fetch(d, &bits, 0);
}

/* 1 + 1 + ... n times, every sum stored. */
static double count_ones(at_dtype d, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum = in_bits(d, sum + 1);
    return sum;
}

static void print_formats(const char *what, double a, double b, double c)
{
    printf("%-36s %12.6g %12.6g %12.6g\n", what, a, b, c);
}

static void print_weights(const char *what, at_dtype d, double m)
{
    double P[3], sum = 0;
    for (int j = 0; j < 3; j++)
        sum = in_bits(d, sum + (P[j] = in_bits(d, exp(in_bits(d, logit[j] - m)))));
    print_formats(what, in_bits(d, P[0] / sum), in_bits(d, P[1] / sum),
                  fabs(in_bits(d, P[2] / sum)));
}

/* x W with W stored in d: the largest error of 512 sums of 512, as a share of the largest sum. */
static double product_error(at_tape *t, at_dtype d)
{
    at_tensor *x = at_random(t, at_shape_of(1, 512), at_normal(1));
    at_tensor *W = at_random(t, at_shape_of(512, 512), at_normal(1 / sqrt(512)));
    at_tensor *y = at_matmul(t, x, W), *z = at_matmul(t, x, at_cast(t, W, d));
    double worst = 0, largest = 0;
    for (int i = 0; at_ok(t) && i < 512; i++) {
        worst = fmax(worst, fabs(at_element(z, i) - at_element(y, i)));
        largest = fmax(largest, fabs(at_element(y, i)));
    }
    return worst / largest;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv,
                  "usage: 17_half\n"
                  "What can 16 bits store, and what must not be computed in them?\n",
                  NULL, 0);
    printf(
        "Is it enough to keep numbers in 16 bits, in half of the memory?  Each row is a number as\n"
        "f16 and bf16 keep it.  Look for inf, nan and 0 where the exact number is none of these,\n"
        "and for sums that stop growing.\n\n"
        "%-36s %12s %12s %12s\n",
        "", "exact", "f16", "bf16");
    print_formats("1/3", 1.0 / 3, in_bits(F, 1.0 / 3), in_bits(B, 1.0 / 3));
    print_formats("exp(12)", exp(12), in_bits(F, exp(12)), in_bits(B, exp(12)));
    print_formats("q.k, 256 times 16 x 16", 65536, in_bits(F, 65536), in_bits(B, 65536));
    print_formats("the same divided by sqrt(256)", 4096, in_bits(F, in_bits(F, 65536) / 16),
                  in_bits(B, 4096));
    print_formats("65536 ones, each sum stored", 65536, count_ones(F, 65536), count_ones(B, 65536));
    print_formats("65536 ones, the sum stored once", 65536, in_bits(F, 65536), in_bits(B, 65536));
    print_formats("a weight of 1 after a step of 0.001", 1.001, in_bits(F, 1.001),
                  in_bits(B, 1.001));
    print_formats("a weight of 1 after one of 0.0004", 1.0004, in_bits(F, 1.0004),
                  in_bits(B, 1.0004));
    print_formats("a gradient of 1e-8", 1e-8, in_bits(F, 1e-8), in_bits(B, 1e-8));

    printf("\nSoftmax of the scores 0, 8 and 12, every number stored in 16 bits:\n\n"
           "%-36s %12s %12s %12s\n",
           "", "key 0", "key 1", "key 2");
    print_weights("exact", ATTIC_F64, 12);
    print_weights("f16: exp(x)", F, 0);
    print_weights("f16: exp(x - max)", F, 12);
    print_weights("bf16: exp(x)", B, 0);
    print_weights("bf16: exp(x - max)", B, 12);

    at_tape *t = at_open(ATTIC_F32, 1);
    const double f16 = product_error(t, ATTIC_F16), bf16 = product_error(t, ATTIC_BF16);
    printf(
        "\nA product [1,512] [512,512] with stored weights and sums in f32 differs from the one\n"
        "with f32 weights by at most %.1e (f16) and %.1e (bf16) of the largest sum.\n",
        f16, bf16);
    printf(
        "\nSeen: numbers that are only stored lose digits, and a product of them loses no more.\n"
        "Computed in 16 bits, sums stop at %g (f16) and %g (bf16), exp overflows, and small\n"
        "steps and gradients vanish: store in 16 bits, compute in 32.\n",
        count_ones(F, 65536), count_ones(B, 65536));
    const bool good = at_ok(t) && f16 < 1e-3 && bf16 < 1e-2 && count_ones(ATTIC_F16, 5000) == 2048;
    at_close(t);
    return finish(!good);
}
