/* rope_scaling.c -- frequencies of rotary positions for texts longer than those of training.
 *
 *   theta_i = base^(-2i/R)      turns by theta_i per position: its wavelength is 2 pi / theta_i
 *
 * A model that saw L positions has seen all angles of a pair whose wavelength is well below L, and
 * only some of one whose wavelength is above: farther positions bring angles that it never saw.
 * So low frequencies are divided by `factor`, and high ones, which tell near positions apart, are
 * kept.  With a share s_i that is 1 for what is kept and 0 for what is divided,
 *
 *   theta'_i = s_i theta_i + (1 - s_i) theta_i / factor
 *
 *   linear     s_i = 0                                     (Chen, Wong, Chen, Tian 2023, section 3)
 *
 *   llama3     s_i = (L theta_i / (2 pi) - low) / (high - low), clamped to 0..1
 *              low, high = low_freq_factor, high_freq_factor: how often the pair turns within L
 *              (Llama 3.1's published code; Grattafiori et al. 2024, section 3.4, tells of it)
 *
 *   yarn       s_i = 1 - (i - first) / (last - first), clamped to 0..1
 *              first, last: the i, as real numbers, of the pairs that turn beta_fast and beta_slow
 *              times within L.  L theta_i / (2 pi) = n is solved by
 *
 *              i(n) = R ln(L / (2 pi n)) / (2 ln base)
 *
 *              first = max(floor(i(beta_fast)), 0), last = min(ceil(i(beta_slow)), R - 1): rounded
 *              unless `no_truncate`; if both are the same, last grows by 0.001.
 *              And the scores are sharpened, since a softmax over more keys is flatter: cosines
 *              and sines are multiplied by
 *
 *              m = attention_factor, or g(mscale) / g(mscale_all_dim) if both are given, or g(1)
 *              g(c) = 0.1 c ln(factor) + 1
 *              (Peng, Quesnelle, Fan, Shippole 2023, sections 3.2 to 3.4; the limits 0 and R - 1,
 *              0.001, and mscale, DeepSeek's, are those of the published code)
 */
#include "ops/rope.h"

#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "kernels/elementary.h"

#define TWO_PI 6.283185307179586

enum { SCALING_NUMBERS = 8 };

static void numbers_of(const at_rope_scaling *s, double x[SCALING_NUMBERS])
{
    const double all[SCALING_NUMBERS] = {s->factor,    s->low_freq_factor, s->high_freq_factor,
                                         s->beta_fast, s->beta_slow,       s->attention_factor,
                                         s->mscale,    s->mscale_all_dim};
    memcpy(x, all, sizeof all);
}

bool at_same_rope_scaling(const at_rope_scaling *a, const at_rope_scaling *b)
{
    double x[SCALING_NUMBERS], y[SCALING_NUMBERS];
    numbers_of(a, x), numbers_of(b, y);
    return a->type == b->type && a->no_truncate == b->no_truncate &&
           a->original_max_position_embeddings == b->original_max_position_embeddings &&
           memcmp(x, y, sizeof x) == 0;
}

static double fast_of(const at_rope_scaling *s)
{
    return s->beta_fast > 0 ? s->beta_fast : 32;
}

static double slow_of(const at_rope_scaling *s)
{
    return s->beta_slow > 0 ? s->beta_slow : 1;
}

bool at_check_rope_scaling(at_tape *t, const char *op, double base, const at_rope_scaling *s)
{
    const bool yarn = s->type == ATTIC_ROPE_YARN;
    double x[SCALING_NUMBERS];
    numbers_of(s, x);
    AT_REQUIRE(t, base >= 0 && isfinite(base), "%s: base is %g but must be > 0", op, base);
    AT_REQUIRE(t, base == 0 || isfinite(0x1p33 / base),
               "%s: base is %g, so small that angles would be infinite", op, base);
    AT_REQUIRE(t, s->type >= ATTIC_ROPE_DEFAULT && s->type <= ATTIC_ROPE_YARN,
               "%s: there is no scaling of type %d, only %d to %d (at_rope_type)", op, (int)s->type,
               (int)ATTIC_ROPE_DEFAULT, (int)ATTIC_ROPE_YARN);
    AT_REQUIRE(t, s->type || at_same_rope_scaling(s, &(at_rope_scaling){0}),
               "%s: a scaling is given (factor %g), but its type is not", op, s->factor);
    for (int i = 0; i < SCALING_NUMBERS; i++)
        AT_REQUIRE(t, x[i] >= 0 && isfinite(x[i]),
                   "%s: a number of the scaling is %g, but must be 0 or more", op, x[i]);
    AT_REQUIRE(t, !s->type || s->factor >= 1,
               "%s: the factor of the scaling is %g, but must be 1 or more", op, s->factor);
    if (s->type <= ATTIC_ROPE_LINEAR) return true;
    AT_REQUIRE(t, s->original_max_position_embeddings > 0,
               "%s: original_max_position_embeddings of the scaling is %d, but must be positive",
               op, s->original_max_position_embeddings);
    AT_REQUIRE(t, !yarn || base == 0 || base > 1, "%s: base is %g, but yarn needs one above 1", op,
               base);
    const double low = yarn ? slow_of(s) : s->low_freq_factor,
                 high = yarn ? fast_of(s) : s->high_freq_factor;
    AT_REQUIRE(t, low > 0 && high > low,
               "%s: %s of the scaling are %g and %g: the second must be larger, both > 0", op,
               yarn ? "beta_slow and beta_fast" : "low_freq_factor and high_freq_factor", low,
               high);
    return true;
}

/* i(n), not rounded */
static double pair_that_turns(double n, const at_rope_scaling *s, double base, int R)
{
    const double L = s->original_max_position_embeddings;
    return R * at_f64_log(L / (TWO_PI * n)) / (2 * at_f64_log(base));
}

static double yarn_share(const at_rope_scaling *s, double base, int R, int i)
{
    double first = pair_that_turns(fast_of(s), s, base, R);
    double last = pair_that_turns(slow_of(s), s, base, R);
    if (!s->no_truncate) first = floor(first), last = ceil(last);
    first = fmax(first, 0);
    last = fmin(last, R - 1);
    if (first == last) last += 0.001;
    return 1 - (i - first) / (last - first);
}

double at_rope_frequency(const at_rope_scaling *s, double base, int R, int i)
{
    const double theta = at_f64_pow(base, -2.0 * i / R);
    double share = 0;
    if (s->type == ATTIC_ROPE_DEFAULT) return theta;
    if (s->type == ATTIC_ROPE_YARN) share = yarn_share(s, base, R, i);
    if (s->type == ATTIC_ROPE_LLAMA3)
        share = (s->original_max_position_embeddings * theta / TWO_PI - s->low_freq_factor) /
                (s->high_freq_factor - s->low_freq_factor);
    share = fmin(fmax(share, 0), 1);
    return share * theta + (1 - share) * theta / s->factor;
}

double at_rope_factor(const at_rope_scaling *s)
{
    if (s->type != ATTIC_ROPE_YARN) return 1;
    if (s->attention_factor > 0) return s->attention_factor;
    const double g = 0.1 * at_f64_log(s->factor);
    return s->mscale > 0 && s->mscale_all_dim > 0
               ? (s->mscale * g + 1) / (s->mscale_all_dim * g + 1)
               : g + 1;
}
