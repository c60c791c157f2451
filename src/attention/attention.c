/* attention.c -- scaled dot-product attention as an op: checks what it is given, chooses a path,
 * hands out its outputs.
 *
 * plan.c checks and brings every call to one form; reference.c derives what is computed; fused.c
 * says how to do it without the T x N matrix, and composed.c does it in other ops. */
#include "ops/op.h"

#include "attention/operands.h"
#include "kernels/real.h"

AT_BOTH(sdpa);

/* X = Q K^T, O = A V */
void AT_REAL(sdpa_forward)(at_node *n)
{
    const at_sdpa_plan *p = n->args;
    at_sdpa_count(n, 1.0 * p->D + p->Dv);
    p->path == ATTIC_FUSED ? AT_REAL(sdpa_fused_forward)(n) : AT_REAL(sdpa_plain_forward)(n);
}

/* X again, dA = dO V^T; dQ, dK, dV */
void AT_REAL(sdpa_backward)(at_node *n)
{
    const at_sdpa_plan *p = n->args;
    const bool dQ = n->in[0]->wants_grad, dK = n->in[1]->wants_grad, dV = n->in[2]->wants_grad;
    at_sdpa_count(n, (1.0 + dQ + dK) * p->D + (1.0 + dV) * p->Dv);
    void (*path)(at_node *) =
        p->path == ATTIC_FUSED ? AT_REAL(sdpa_fused_backward) : AT_REAL(sdpa_plain_backward);
    p->checked ? AT_REAL(sdpa_checked)(n, path) : path(n);
    AT_REAL(sdpa_add_up)(n);
}

#ifdef AT_ONCE

void at_sdpa_count(const at_node *n, double products)
{
    const at_sdpa_plan *p = n->args;
    double pairs = 0;
    const int32_t *in[3];
    for (int i = 0; i < 3; i++) {
        static const int which[] = {AT_SDPA_LEN, AT_SDPA_SEGMENTS, AT_SDPA_KEY_SEGMENTS};
        in[i] = n->in[which[i]] ? n->in[which[i]]->data : NULL;
    }
    const int32_t *key_len = in[0], *ids = in[1], *key_ids = in[2];
    const bool counts = at_is_profiled(n->tape) && at_count(p->scores) > 0;
    for (int b = 0; counts && b < p->B; b++)
        for (int i = 0; i < p->T; i++) {
            at_sdpa_range keys = at_sdpa_range_of(p, key_len, b, i);
            pairs += keys.hi - keys.lo;
            for (int j = keys.lo; ids && key_ids && j < keys.hi; j++)
                pairs -= !at_sdpa_together(ids + (ptrdiff_t)b * p->T, key_ids + (ptrdiff_t)b * p->N,
                                           i, j);
        }
    at_count_flops(n, 2 * pairs * p->H * products);
}

/* makes_infinity: the log-sum-exp of a row that keeps nothing is -inf */
static const at_op sdpa_op = {.name = "sdpa", AT_BOTH_KERNELS(sdpa), .makes_infinity = true};

/* The outputs: O and, with tangents, Odot; then what is asked for, numbered.  Of the weights and
 * their tangent there are both, if one of them is asked for; of lse, too. */
static void sdpa_outputs(const at_sdpa_args *a, at_sdpa_plan *p, at_recipe *r)
{
    const int each = p->tangents ? 2 : 1;
    for (int i = 0; i < each; i++) r->shape[r->n_out++] = p->O;
    if (a->weights || a->weights_tangent) p->weights = r->n_out;
    for (int i = 0; p->weights && i < each; i++) r->shape[r->n_out++] = p->scores;
    if (a->scores) r->shape[p->raw = r->n_out++] = p->scores;
    if (a->probs) r->shape[p->probs = r->n_out++] = p->scores;
    if (a->lse || a->lse_tangent) p->lse = r->n_out;
    for (int i = 0; p->lse && i < each; i++) r->shape[r->n_out++] = p->rows;
}

static void sdpa_hand_out(const at_node *n, at_tensor **where, int output, bool detached)
{
    if (!where) return;
    *where = n->out[output];
    if (detached) n->out[output]->wants_grad = false;
}

at_tensor *at_sdpa_record(at_tape *t, const at_op *op, at_inputs in, const at_sdpa_args *a,
                          at_sdpa_plan *p, at_tensor **Odot)
{
    at_recipe r = {.args = p, .args_size = sizeof *p};
    sdpa_outputs(a, p, &r);
    p->own = at_sdpa_several_roles(in);
    r.saved = at_sdpa_space_of(p, in.in).total;
    r.scratch = at_sdpa_scratch(p, at_real(t));
    r.slots = p->slots;
    if (p->dropout > 0) p->drops = at_draw(t);

    at_node *n = at_record_node(t, op, in, r);
    if (!n) return NULL;
    sdpa_hand_out(n, Odot, 1, false);
    sdpa_hand_out(n, a->weights, p->weights, false);
    sdpa_hand_out(n, a->weights_tangent, p->weights + 1, false);
    sdpa_hand_out(n, a->scores, p->raw, true);
    sdpa_hand_out(n, a->probs, p->probs, false);
    sdpa_hand_out(n, a->lse, p->lse, false);
    sdpa_hand_out(n, a->lse_tangent, p->lse + 1, false);
    return n->out[0];
}

bool at_check_attention(at_tape *t, bool on)
{
    return at_self_check(t, on);
}

at_sdpa_path at_attention_path(at_tape *t, at_sdpa_path path)
{
    const at_sdpa_path before = (at_sdpa_path)at_preferred_path(t);
    if (t && at_sdpa_is_path(t, path)) at_prefer_path(t, (int)path);
    return before;
}

at_tensor *at_sdpa(at_tape *t, at_tensor *Q, at_tensor *K, at_tensor *V, at_sdpa_args a)
{
    at_tensor **asked_for[] = {a.weights, a.scores,          a.probs,
                               a.lse,     a.weights_tangent, a.lse_tangent};
    for (int i = 0; i < 6; i++)
        if (asked_for[i]) *asked_for[i] = NULL; /* nothing stale after an error */

    at_sdpa_plan p;
    if (!at_sdpa_plan_of(t, Q, K, V, &a, false, &p)) return NULL;
    if (p.path == ATTIC_COMPOSED) return at_sdpa_composed(t, Q, K, V, &a, &p);
    p.checked = at_is_self_checking(t) && at_count(p.scores) > 0; /* without them all is 0 */
    at_tensor *in[AT_SDPA_INPUTS];
    return at_sdpa_record(t, &sdpa_op, at_sdpa_inputs(in, Q, K, V, &a, &p), &a, &p, NULL);
}

#endif
