/* tangent.h -- exact derivatives along a direction, and second derivatives.
 *
 * Let every leaf x move along a direction v, its tangent.  Then all that is computed from it moves,
 * too, and dual numbers (kernels/dual.h) say how, without a step and to all digits:
 *
 *     forward      the tangent of y              J v    J = dy/dx: Jacobian-vector product (JVP)
 *     backward     the tangent of x's gradient   H v    H = d2(loss)/dx dx: Hessian-vector product
 *
 * For two of these a tape of f32 or f64 is enough, at_jvp and at_hvp: what they need is recorded on
 * it as always, and run again with dual numbers.  A tape of dual numbers,
 *
 *     at_tape *t = at_open(ATTIC_DUAL, seed);
 *
 * takes ops as any other.  Its values are an f64 tape's up to rounding; at_get, at_item,
 * at_read_f64, at_print and comparisons see values, and what writes a leaf (at_set, at_write_f64)
 * makes its tangent 0.  Dropout drops the same elements, argmax and attention choose the same ones.
 * Files are refused.  It is 5 to 20 times slower than an f64 tape.  An op of your own that has no
 * kernels for dual numbers is refused by name.
 *
 * A library compiled with ATTIC_WITHOUT_DUAL (MODE=size), a fifth smaller, or ATTIC_ONLY_F32 has
 * none of this: a tape of dual numbers has an error from the beginning, at_jvp and at_hvp are
 * errors.
 *
 * RANGE.  Tangents are held from 1e-127 to 1e38: smaller ones lose digits, those below 1e-143 are
 * 0, and one above, or infinite where its value is finite, is a sticky error that names the op.
 * So scale directions to a largest element of about 1, as at_jvp and at_hvp do by themselves: an
 * element below 1e-127 of the largest is an error there, and so is a result that is not finite
 * where y, or the loss, is.  Where a value is infinite its tangent may be NaN.
 *
 * at_detach and at_cast stop tangents, too: they make constants.  at_no_grad does not: what is
 * computed under it moves, as values do, but has no gradient. */
#ifndef AT_AUTOGRAD_TANGENT_H
#define AT_AUTOGRAD_TANGENT_H
#include "autograd/tape.h"
AT_BEGIN_C

/* ------------------------------------------------------------------ on a tape of dual numbers -- */

/* v, as many numbers as the leaf has, is its tangent from now on; NULL: 0.  Before ops read the
 * leaf, or before at_replay.  An error if an element is not finite, or out of range. */
AT_API bool at_set_tangent(at_tensor *leaf, const double *v);
/* The tangent of x, and the tangent of its gradient (0 where none has arrived), as values of a new
 * constant: its own tangent is 0. */
AT_API at_tensor *at_tangent(at_tape *t, at_tensor *x);
AT_API at_tensor *at_grad_tangent(at_tape *t, at_tensor *x);

/* ------------------------------------------------------------------ on a tape of f32 or f64 ---- */

/* y = f(in...), recorded as if f had been called, and *Jv = sum_i dy/d(in[i]) v[i], a new constant
 * of y's shape.  in[i] are leaves (or what was computed before f: it counts as a leaf); v[i] has
 * the shape of in[i], or is NULL for 0.  After an error *Jv, too, is NULL.
 *
 *     at_tensor *f(at_tape *t, at_tensor **in, void *ctx) { return at_mul(t, in[0], in[1]); }
 *     ...
 *     at_tensor *Jv, *y = at_jvp(t, f, (at_tensor *[]){a, b}, (at_tensor *[]){v, NULL}, 2, NULL,
 *                                &Jv);          y = a b, Jv = v b: b does not move
 *
 * (For attention alone at_sdpa_jvp of attention/tangent.h is faster, and can be differentiated.) */
AT_API at_tensor *at_jvp(at_tape *t, at_function *f, at_tensor **in, at_tensor **v, int n,
                         void *ctx, at_tensor **Jv);

/* Hv[j] = sum_i d2(loss) / d(wrt[j]) d(x[i]) v[i], new constants: how the gradient by wrt[j]
 * changes while x[i] moves along v[i].  x and wrt are leaves, often the same, and each wrt[j]
 * wants a gradient.  Gradients that are there, and gradients of a later at_backward, are untouched.
 * Hv may be the list v, as in a power iteration; after an error all of it is NULL.
 *
 * An optimizer reads gradients: to hand it Hv, take the gradient of a sum,
 *
 *     at_backward(t, at_sum(t, at_mul(t, W, Hv)))         adds Hv to W's gradient
 *
 * So a loss on a gradient is trained: with g = dE/dx, loss = |g - g0|^2 has the gradient
 * d2E/dW dx 2 (g - g0), at_hvp by wrt = W along v = 2 (g - g0). */
AT_API bool at_hvp(at_tape *t, at_tensor *loss, at_tensor **x, at_tensor **v, int n,
                   at_tensor **wrt, int m, at_tensor **Hv);

AT_END_C
#endif
