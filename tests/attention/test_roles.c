/* test_roles.c -- one tensor in two roles of attention at once: its gradient is the sum of those of
 * two copies of it. */
#include "attic.h"
#include "tensors.h"

#include <math.h>

enum { ROLE_Q, ROLE_K, ROLE_V, ROLE_BIAS, ROLE_SCALE };
enum { ROLE_Q_DOT = ROLE_SCALE + 1, ROLE_K_DOT, ROLE_V_DOT, ROLE_BIAS_DOT, ROLES };
static const char *const role_name[ROLES] = {"Q",    "K",    "V",    "bias",    "head_scale",
                                             "Qdot", "Kdot", "Vdot", "bias_dot"};

typedef struct {
    at_sdpa_path path;
    bool tangents; /* at_sdpa_jvp */
    int checked;   /* backward checks itself */
    at_shape shape[ROLES];
} roles_call;

/* <c, y>, with constants c that differ */
static at_tensor *weighed(at_tape *t, at_tensor *y)
{
    at_tensor *c = at_const(t, y->shape, NULL);
    for (ptrdiff_t i = 0; i < at_count(c->shape); i++)
        at_store(c->dtype, c->data, i, sin(1.0 + (double)i));
    return at_sum(t, at_mul(t, c, y));
}

/* Gradients of all that depends on them. */
static void pull_roles(at_tape *t, const roles_call *c, at_tensor *const *in)
{
    at_tensor *A = NULL, *Odot = NULL, *O;
    at_sdpa_args args = {.path = c->path, .bias = in[ROLE_BIAS], .weights = &A};
    at_check_attention(t, c->checked);
    if (c->tangents) {
        args.bias_tangent = in[ROLE_BIAS_DOT];
        O = at_sdpa_jvp(t, in[ROLE_Q], in[ROLE_K], in[ROLE_V], in[ROLE_Q_DOT], in[ROLE_K_DOT],
                        in[ROLE_V_DOT], args, &Odot);
    } else {
        args.head_scale = in[ROLE_SCALE];
        O = at_sdpa(t, in[ROLE_Q], in[ROLE_K], in[ROLE_V], args);
    }
    ck_assert_msg(O && A, "%s", at_error(t));
    at_tensor *loss = at_add(t, weighed(t, O), weighed(t, A));
    if (Odot) loss = at_add(t, loss, weighed(t, Odot));
    ck_assert_msg(at_backward(t, loss), "%s", at_error(t));
}

/* The gradients of the inputs where those of roles a and b are one tensor, or two that are equal. */
static void grads_of_roles(at_tape *t, const roles_call *c, int a, int b, bool one, at_tensor **dx)
{
    at_tensor *in[ROLES];
    for (int r = 0; r < ROLES; r++) {
        in[r] = at_variable(t, c->shape[r], NULL);
        at_init_fill(in[r], at_normal(0.7), (at_stream){3, (uint64_t)(r == b ? a : r)});
    }
    if (one) in[b] = in[a];
    pull_roles(t, c, in);
    for (int r = 0; r < ROLES; r++) dx[r] = at_grad_copy(t, in[r]);
    if (!one) dx[a] = dx[b] = at_add(t, dx[a], dx[b]);
}

static void check_roles(at_dtype real, const roles_call *c, int a, int b)
{
    at_tape *t = at_open(real, 1);
    at_tensor *one[ROLES], *two[ROLES];
    grads_of_roles(t, c, a, b, false, two);
    at_mark here = at_mark_here(t);
    memset(at_step_alloc(t, 1 << 20), 'A', 1 << 20); /* what is read before it is written shows */
    at_rewind(t, here);
    grads_of_roles(t, c, a, b, true, one);
    for (int r = 0; r < ROLES; r++) {
        at_comparison same = at_compare(one[r], two[r]);
        ck_assert_msg(same.similarity != ATTIC_DIFFERENT,
                      "%s = %s, path %d, tangents %d: the gradient of %s is %s", role_name[a],
                      role_name[b], (int)c->path, c->tangents, role_name[r], same.text);
    }
    at_close(t);
}

/* Every pair of roles whose tensors have one shape, on a path. */
static int check_pairs(roles_call c)
{
    int pairs = 0;
    for (int b = 0; b < ROLES; b++)
        for (int a = 0; a < b; a++) {
            const bool has_both = c.tangents ? a != ROLE_SCALE && b != ROLE_SCALE : b <= ROLE_SCALE;
            if (!has_both || !at_same_shape(c.shape[a], c.shape[b])) continue;
            check_roles(ATTIC_F32, &c, a, b);
            if (at_last(c.shape[ROLE_Q]) < 10) check_roles(ATTIC_F64, &c, a, b);
            pairs++;
        }
    return pairs;
}

static roles_call call_of(at_shape Q, at_shape bias, at_shape scale)
{
    roles_call c = {0};
    for (int r = 0; r < ROLES; r++) c.shape[r] = Q;
    c.shape[ROLE_BIAS] = c.shape[ROLE_BIAS_DOT] = bias;
    c.shape[ROLE_SCALE] = scale;
    return c;
}

START_TEST(a_tensor_in_two_roles_has_the_gradients_of_both)
{
    at_threads(3);
    for (int large = 0; large < 2; large++) {
        at_shape s = large ? at_shape_of(2, 2, 70, 70) : at_shape_of(3, 3);
        roles_call c = call_of(s, s, at_shape_of());
        for (c.path = ATTIC_FUSED; c.path <= ATTIC_COMPOSED; c.path++)
            for (c.checked = 0; c.checked < 2; c.checked++) ck_assert_int_eq(check_pairs(c), 6);
    }
}
END_TEST

START_TEST(so_it_has_among_inputs_and_their_tangents)
{
    at_threads(3);
    for (int large = 0; large < 2; large++) {
        at_shape s = large ? at_shape_of(2, 2, 70, 70) : at_shape_of(3, 3);
        roles_call c = call_of(s, s, at_shape_of());
        c.tangents = true;
        ck_assert_int_eq(check_pairs(c), 28);
    }
}
END_TEST

START_TEST(so_it_has_as_a_bias_and_a_learned_scale)
{
    for (int dims = 0; dims < 2; dims++) {
        at_shape s = {dims, {3}};
        roles_call c = call_of(at_shape_of(2, 3, 3, 4), s, s);
        for (c.path = ATTIC_FUSED; c.path <= ATTIC_COMPOSED; c.path++)
            for (c.checked = 0; c.checked < 2; c.checked++)
                ck_assert_int_eq(check_pairs(c), 4); /* and Q, K, V */
    }
}
END_TEST

SUITE(attention_roles, a_tensor_in_two_roles_has_the_gradients_of_both,
      so_it_has_among_inputs_and_their_tangents, so_it_has_as_a_bias_and_a_learned_scale)
