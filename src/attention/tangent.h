/* tangent.h -- attention along a direction: its value and its tangent, and second derivatives.
 *
 * Let the inputs of at_sdpa move,
 *
 *     Q + h Qdot        K + h Kdot        V + h Vdot        bias + h bias_tangent
 *     sink + h sink_tangent
 *
 * Then O moves to O + h Odot + terms of h^2, and lse to lse + h lse_tangent.  Odot is the tangent
 * of O, a Jacobian-vector product: one pass forward, without a step h to choose.
 *
 *     at_tensor *Odot, *O = at_sdpa_jvp(t, Q, K, V, Qdot, Kdot, Vdot, (at_sdpa_args){0}, &Odot);
 *
 * SECOND DERIVATIVES.  Both outputs are differentiable.  For a loss of O whose gradient is
 * g = d(loss)/dO, with the tangent gdot (loss = |O|^2/2: g = O, gdot = Odot), backward from
 *
 *     <g, Odot> + <gdot, O>        g and gdot as constants (at_detach); <a, b>: at_sum of at_mul
 *
 * adds the gradient of the loss by Q, K, V to the gradients of Qdot, Kdot, Vdot.  To the gradients
 * of Q, K, V it adds the tangent of that: the Hessian of the loss times (Qdot, Kdot, Vdot), a
 * Hessian-vector product.
 *
 * tangent.c derives all this; so does docs/derivatives.md.  at_jvp and at_hvp (autograd/tangent.h)
 * do it for whatever is on a tape, more slowly. */
#ifndef AT_ATTENTION_TANGENT_H
#define AT_ATTENTION_TANGENT_H
#include "attention/attention.h"
AT_BEGIN_C

/* O, with the bits that at_sdpa gives, and *Odot, its tangent, of the same shape.  Each tangent has
 * the shape of what it is the tangent of; NULL is 0, and its products are skipped.  Any of the six
 * tensors may be one and the same.
 *
 * All options of at_sdpa count, but: path is ATTIC_FUSED or not given (at_jvp and at_hvp
 * differentiate the other paths); weights, lse and their tangents can be asked for, scores and
 * probs can't; head_scale can't be given (multiply Q by it, and Qdot); K and V are real, not f16
 * or bf16.  The tangent of a bias of -INFINITY is not read, nor is one of a masked key.  A row
 * that keeps nothing has Odot = 0 and gradients of exactly 0, but of lse to the sink.
 *
 * Forward takes 6 matrix products where at_sdpa takes 2, backward 15 where it takes 5.  After an
 * error *Odot and all outputs asked for are NULL. */
AT_API at_tensor *at_sdpa_jvp(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V, at_tensor *Qdot,
                              at_tensor *Kdot, at_tensor *Vdot, at_sdpa_args args,
                              at_tensor **Odot);

AT_END_C
#endif
