/* pairing.c -- an op of the tests' own: loss = sum_k <x_k, c_k>.
 *
 * Inputs are x_0, c_0, x_1, c_1, ...; the sum is taken in double. */
#include "attention/pairing.h"

static void pairing_forward(at_node *n)
{
    double sum = 0;
    for (int k = 0; k < n->n_in; k += 2)
        for (ptrdiff_t i = 0, size = at_count(n->in[k]->shape); i < size; i++)
            sum += at_element(n->in[k], i) * at_element(n->in[k + 1], i);
    at_store(n->out[0]->dtype, n->out[0]->data, 0, sum);
}

static void pairing_backward(at_node *n)
{
    double dy = at_grad_element(n->out[0], 0);
    for (int k = 0; k < n->n_in; k += 2) {
        void *dx = at_grad(n, k);
        for (ptrdiff_t i = 0, size = at_count(n->in[k]->shape); dx && i < size; i++)
            at_store(n->in[k]->dtype, dx, i,
                     at_fetch(n->in[k]->dtype, dx, i) + dy * at_element(n->in[k + 1], i));
    }
}

static const at_op pairing_op = {
    "pairing", {pairing_forward, pairing_forward}, {pairing_backward, pairing_backward}, false};

at_tensor *pairing(at_tape *t, int n, at_tensor *const *x, at_tensor *const *c)
{
    at_tensor *in[12];
    for (int k = 0; k < n; k++) {
        AT_REQUIRE(t, at_same_shape(x[k]->shape, c[k]->shape), "pairing: %s but %s", at_text(x[k]),
                   at_text(c[k]));
        in[2 * k] = x[k], in[2 * k + 1] = c[k];
    }
    return at_record(t, &pairing_op, (at_inputs){2 * n, in}, at_shape_of(), NULL, 0);
}
