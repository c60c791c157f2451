/* tangent.c -- attention along a direction: value and tangent in one op, whose backward is the
 * Hessian-vector product as well.
 *
 * A dot is the derivative along the direction in which the inputs move: Qdot of Q, Odot of O.  All
 * else is called as in reference.c.  Products of matrices of cells are cell by cell.
 *
 * FORWARD.  Each step is differentiated by itself:
 *
 *     1, 2   Xdot = c (Qdot K^T + Q Kdot^T)
 *     3      Udot = slope Xdot                     slope = 1 - tanh^2(X/cap) = 1 - (U/cap)^2
 *     4      Sdot = Udot + biasdot
 *     5      what is masked is not read: neither its score nor its tangent
 *     6      Pdot = P w                            w_ij = Sdot_ij - sum_k P_ik Sdot_ik
 *     7      Adot = z P w
 *     8      Odot = Adot V + A Vdot
 *     6      lsedot_i = sum_k P_ik Sdot_ik
 *
 * A sink is one more key in all of this, whose value and tangent of value are 0: Sdot is the
 * tangent of the sink, and in the two sums over k it counts with p_i = exp(s_h - lse_i).
 *
 * Step 6 is the Jacobian of the softmax, P_ij (1[j=k] - P_ik), times Sdot_i: only how far Sdot is
 * from its mean under P counts, as a constant added to a row changes no weight.  The mean is taken
 * in two parts, with e = exp(S - m) and l = sum_j e_ij,
 *
 *     w_ij = Sdot_ij - ref_i - mu_i        mu_i = r_i / l_i,  r_i = sum_j e_ij (Sdot_ij - ref_i)
 *     Odot_i = E_i / l_i - mu_i O_i        E_i = sum_j e_ij z_ij ((Sdot_ij - ref_i) V_j + Vdot_j)
 *     lsedot_i = ref_i + mu_i
 *
 * which is the same for any ref.  Taken is Sdot at the row's maximum, where S = m.  With ref = 0
 * Odot would be the difference of two numbers as large as Sdot: of a bias whose tangent is 1e8
 * along a whole row, which moves nothing, only rounding errors would be left.  With it, Sdot - ref
 * is exactly 0 there; and where one key takes all, so are r, mu and its w.
 *
 * BACKWARD.  The loss depends on O and on Odot, and their gradients are given the names
 *
 *     dO = d(loss)/dOdot        dOdot = d(loss)/dO
 *
 * crosswise, and so are the inputs' gradients: dQ is d(loss)/dQdot, dQdot is d(loss)/dQ.  Why these
 * are good names: let x be an input and J the Jacobian of O by it.  Odot = J xdot is linear in
 * xdot, so
 *
 *     d(loss)/dxdot = J^T dO                             the backward of reference.c, which is dx
 *
 * Through O the loss depends on x by J^T dOdot; through Odot = d/dh O(x + h xdot) by
 *
 *     d/dx <dO, d/dh O(x + h xdot)> = d/dh d/dx <dO, O(x + h xdot)> = d/dh J(x + h xdot)^T dO
 *
 * at h = 0, as the order of two derivatives may be changed.  The sum of both,
 *
 *     d(loss)/dx = d/dh J(x + h xdot)^T (dO + h dOdot)   at h = 0
 *
 * is the tangent of that backward, as x moves along xdot and dO along dOdot: dxdot.  So every line
 * of reference.c is differentiated once more, and nothing else is to be derived.  And where dO is
 * the gradient of a loss of O, and dOdot its tangent, dxdot is the Hessian of that loss times xdot.
 * (Pearlmutter, "Fast exact multiplication by the Hessian", 1994.)
 *
 *     8      dV = A^T dO                     dVdot = Adot^T dO + A^T dOdot
 *            dA = dO V^T + dW                dAdot = dOdot V^T + dO Vdot^T + dWdot
 *     7, 6   t = z dA - delta                tdot = z dAdot - deltadot
 *            delta_i = dO_i.O_i + sum_j A_ij dW_ij - dlse_i
 *            deltadot_i = dOdot_i.O_i + dO_i.Odot_i + sum_j (Adot_ij dW_ij + A_ij dWdot_ij)
 *                         - dlsedot_i
 *            dS = P t                        dSdot = P (w t + tdot)           as Pdot = P w
 *            ds_h = -sum_i p_i delta_i       dsdot_h = -sum_i p_i (w_i delta_i + deltadot_i)
 *                                            w_i = sdot_h - ref_i - mu_i, of the sink
 *     4      dbias = dS                      dbiasdot = dSdot
 *     3      dX = dS slope                   dXdot = dSdot slope + dS bend
 *            bend = d/dh slope = -2 (U/cap) (slope Xdot) / cap
 *     2, 1   dQ = c dX K                     dQdot = c (dXdot K + dX Kdot)
 *            dK = c dX^T Q                   dKdot = c (dXdot^T Q + dX^T Qdot)
 *
 * dW is the upstream gradient of weights_tangent, dWdot the one of weights; dlse of lse_tangent,
 * dlsedot of lse.  Products of matrices:
 * X again, Xdot 2, dA, dAdot 2, dV, dVdot 2, dQ, dQdot 2, dK, dKdot 2, which are 15, where backward
 * of at_sdpa has 5.  Where a tangent or a gradient is NULL, its products are not computed.
 *
 * delta and dA are sums in one order of terms, deltadot and dAdot too, so that the differences are
 * exactly 0 where a weight is 1.
 *
 * SAVED: m, 1/l and a place for delta of each row, as by at_sdpa; then, for each row again, mu, ref
 * and a place for deltadot.  P, w and all cells are computed again.  A row that keeps nothing has
 * O = Odot = 0 and mu = 0, and gives no gradient but to a sink; ref is then the sink's tangent.
 *
 * tangent_tiles.c computes it; its twin in the tests is the plain path on dual numbers. */
#include "attention/tangent.h"

#include "attention/operands.h"
#include "ops/op.h"

/* makes_infinity: the log-sum-exp of a row that keeps nothing is -inf */
static const at_op tangent_op = {
    .name = "sdpa_jvp", AT_BOTH_KERNELS(tangent_tiles), .makes_infinity = true};

/* `x` is the tangent of `of`, or NULL. */
static bool tangent_check(at_tape *t, const char *name, const at_tensor *x, const char *of_name,
                          const at_tensor *of)
{
    if (!x) return true;
    if (!at_check_input(t, "sdpa_jvp", name, x, ATTIC_REAL)) return false;
    AT_REQUIRE(t, of, "sdpa_jvp: %s is given without %s", name, of_name);
    AT_REQUIRE(t, at_same_shape(x->shape, of->shape),
               "sdpa_jvp: %s is %s, but must have the shape of %s, %s", name, at_text(x), of_name,
               at_text(of));
    return true;
}

at_tensor *at_sdpa_jvp(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V, at_tensor *Qdot,
                       at_tensor *Kdot, at_tensor *Vdot, at_sdpa_args a, at_tensor **Odot)
{
    at_tensor **asked_for[] = {Odot,  a.weights,         a.scores,     a.probs,
                               a.lse, a.weights_tangent, a.lse_tangent};
    for (int i = 0; i < 7; i++)
        if (asked_for[i]) *asked_for[i] = NULL; /* nothing stale after an error */

    at_sdpa_plan p;
    AT_REQUIRE(t, Odot, "sdpa_jvp: Odot is NULL, but must point to where the tangent of O goes");
    if (!at_check_input(t, "sdpa_jvp", "K", K, ATTIC_REAL) ||
        !at_check_input(t, "sdpa_jvp", "V", V, ATTIC_REAL) ||
        !at_sdpa_plan_of(t, Q, K, V, &a, true, &p) || !tangent_check(t, "Qdot", Qdot, "Q", Q) ||
        !tangent_check(t, "Kdot", Kdot, "K", K) || !tangent_check(t, "Vdot", Vdot, "V", V) ||
        !tangent_check(t, "bias_tangent", a.bias_tangent, "bias", a.bias) ||
        !tangent_check(t, "sink_tangent", a.sink_tangent, "sink", a.sink))
        return NULL;
    at_tensor *in[AT_SDPA_INPUTS];
    const at_inputs inputs = at_sdpa_inputs(in, Q, K, V, &a, &p);
    in[AT_SDPA_Q_DOT] = Qdot, in[AT_SDPA_K_DOT] = Kdot, in[AT_SDPA_V_DOT] = Vdot;
    return at_sdpa_record(t, &tangent_op, inputs, &a, &p, Odot);
}
