/* test_ffn.c -- the feed-forward net against its formula, number by number. */
#include "tensors.h"

#include "gradcheck/gradcheck.h"

#include <math.h>

enum { ACTS = ATTIC_TANH + 1 };

static double silu(double x)
{
    return x / (1 + exp(-x));
}

/* f(x), with the function of libm */
static double activation(at_activation act, double x)
{
    switch (act) {
    case ATTIC_GELU: return x * (1 + erf(x / sqrt(2))) / 2;
    case ATTIC_GELU_TANH:
        return x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x))) / 2;
    case ATTIC_RELU: return x > 0 ? x : 0;
    case ATTIC_RELU2: return x > 0 ? x * x : 0;
    case ATTIC_TANH: return tanh(x);
    default: return silu(x);
    }
}

/* x W + b in column j */
static double product(at_linear layer, const double *x, int j)
{
    double y = layer.b ? at_get(layer.b, j) : 0;
    for (int i = 0; i < layer.W->shape.dim[0]; i++) y += x[i] * at_get(layer.W, i, j);
    return y;
}

static at_ffn make_ffn(at_tape *t, at_ffn_config c)
{
    at_ffn f = at_ffn_make(t, c, 1);
    at_linear all[] = {f.up, f.gate, f.down};
    for (int i = 0; i < 3; i++)
        if (all[i].b) at_init_fill(all[i].b, at_normal(1), at_draw(t));
    return f;
}

START_TEST(each_activation_gives_the_numbers_of_its_formula)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 2 * ACTS; k++) {
            at_activation act = (at_activation)(k % ACTS);
            at_scopef(t, "%d", k);
            at_ffn f =
                make_ffn(t, (at_ffn_config){.dim = 3, .hidden = 5, .act = act, .bias = k >= ACTS});
            double x[] = {1, -0.5, 2}, h[5], y[3];
            for (int j = 0; j < 5; j++)
                h[j] = act == ATTIC_SWIGLU ? silu(product(f.gate, x, j)) * product(f.up, x, j)
                                           : activation(act, product(f.up, x, j));
            for (int j = 0; j < 3; j++) y[j] = product(f.down, h, j);
            assert_values(at_ffn_apply(t, &f, at_const(t, at_shape_of(1, 3), x)), y,
                          10 * close_to(t));
            at_scope_end(t);
        }
}
END_TEST

static at_tensor *apply_ffn(at_tape *t, at_tensor **in, void *f)
{
    return at_ffn_apply(t, f, in[0]);
}

START_TEST(its_gradients_are_those_of_differences)
{
    for (int act = 0; act < ACTS; act++) {
        at_tape *t = at_open(ATTIC_F64, 2);
        at_ffn f = make_ffn(
            t, (at_ffn_config){.dim = 3, .hidden = 4, .act = (at_activation)act, .bias = true});
        at_tensor *x = at_variable(t, at_shape_of(2, 3), (double[]){1, -0.5, 2, 0.3, 1.2, -1});
        at_gradcheck_report r = at_gradcheck(t, apply_ffn, &x, 1, &f, (at_gradcheck_options){0});
        ck_assert_msg(r.verdict == ATTIC_PASS, "%d: %s at %s", act, r.reason, r.where);
        ck_assert_int_eq(r.checked, 6 + 12 + 4 + 12 + 3 + (act == ATTIC_SWIGLU ? 16 : 0));
        at_close(t);
    }
}
END_TEST

START_TEST(hidden_is_4_dim_or_for_three_matrices_as_many_numbers)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_int_eq(at_ffn_make(t, (at_ffn_config){.dim = 6}, 1).config.hidden, 24);
    at_scope(t, "gated");
    at_ffn f = at_ffn_make(t, (at_ffn_config){.dim = 128, .act = ATTIC_SWIGLU}, 1);
    ck_assert_int_eq(f.config.hidden, 344); /* 341.3, rounded up */
    const char *text[] = {"\"gated.gate.W\" [128,344]", "\"gated.up.W\" [128,344]",
                          "\"gated.down.W\" [344,128]"};
    ck_assert_int_eq(at_param_count(t), 2 + 3);
    for (int i = 0; i < 3; i++) ck_assert_str_eq(at_text(at_param_at(t, 2 + i)), text[i]);
    at_close(t);
}
END_TEST

START_TEST(nets_that_are_not_possible_are_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const struct {
        at_ffn_config config;
        const char *text;
    } bad[] = {{{.dim = 4, .act = (at_activation)ACTS},
                "feed-forward: there is no activation 7, only 0 to 6 (at_activation)"},
               {{.dim = 0}, "feed-forward: dim is 0 but must be 1 to 536870911"},
               {{.dim = 4, .hidden = -1},
                "feed-forward: hidden is -1 but must be positive, or 0 for 4 dim"},
               {{.dim = 4, .hidden = -1, .act = ATTIC_SWIGLU},
                "feed-forward: hidden is -1 but must be positive, or 0 for 8/3 dim"}};
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_null(at_ffn_make(t, bad[i].config, 1).up.W);
        assert_error(t, bad[i].text);
        at_clear_error(t);
    }
    ck_assert_int_eq(at_param_count(t), 0);
    ck_assert_ptr_null(at_ffn_apply(t, NULL, NULL));
    assert_error(t, "feed-forward: the net is NULL");
    at_close(t);
}
END_TEST

SUITE(nn_ffn, each_activation_gives_the_numbers_of_its_formula,
      its_gradients_are_those_of_differences, hidden_is_4_dim_or_for_three_matrices_as_many_numbers,
      nets_that_are_not_possible_are_refused)
