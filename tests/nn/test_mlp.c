/* test_mlp.c -- linear layers with a function between, number by number. */
#include "tensors.h"

#include "gradcheck/gradcheck.h"
#include "tensor/arena.h"

#include <math.h>

static at_tensor *apply_mlp(at_tape *t, at_tensor **in, void *m)
{
    return at_mlp_apply(t, m, in[0]);
}

START_TEST(it_is_its_layers_with_the_function_between_and_not_behind)
{
    static at_tensor *(*const f[])(at_tape *, at_tensor *) = {
        [ATTIC_GELU] = at_gelu, [ATTIC_GELU_TANH] = at_gelu_tanh, [ATTIC_RELU] = at_relu,
        [ATTIC_SILU] = at_silu, [ATTIC_RELU2] = at_relu2,         [ATTIC_TANH] = at_tanh};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int act = 0; act <= ATTIC_TANH; act++) {
            if (act == ATTIC_SWIGLU) continue;
            at_scopef(t, "net%d", act);
            at_mlp m = at_mlp_make(t, (int[]){3, 5, 4, 2}, 4, (at_activation)act);
            at_tensor *x = at_const(t, at_shape_of(1, 3), (double[]){1, -0.5, 2});
            at_tensor *y = at_mlp_apply(t, &m, x);
            at_tensor *h = f[act](t, at_linear_apply(t, m.layer[0], x));
            h = f[act](t, at_linear_apply(t, m.layer[1], h));
            ck_assert(equal_bits(y, at_linear_apply(t, m.layer[2], h)));
            ck_assert(at_same_shape(y->shape, at_shape_of(1, 2)));
            at_scope_end(t);
        }
}
END_TEST

START_TEST(two_widths_are_one_linear_layer)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_mlp m = at_mlp_make(t, (int[]){2, 1}, 2, ATTIC_TANH);
    at_set(m.layer[0].W, 3, 0, 0), at_set(m.layer[0].W, 4, 1, 0), at_set(m.layer[0].b, 5, 0);
    at_tensor *y = at_mlp_apply(t, &m, at_const(t, at_shape_of(2), (double[]){10, 100}));
    ck_assert(at_item(y) == 435);
    at_close(t);
}
END_TEST

START_TEST(its_parameters_are_numbered_and_drawn_as_the_header_says)
{
    static const char *const text[] = {"\"net.0.W\" [300,400]", "\"net.0.b\" [400]",
                                       "\"net.1.W\" [400,200]", "\"net.1.b\" [200]"};
    for (int relu = 0; relu < 2; relu++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_scope(t, "net");
        at_mlp_make(t, (int[]){300, 400, 200}, 3, relu ? ATTIC_RELU : ATTIC_TANH);
        ck_assert_int_eq(at_param_count(t), 4);
        for (int i = 0; i < 4; i++) ck_assert_str_eq(at_text(at_param_at(t, i)), text[i]);
        const double variance[] = {relu ? 2.0 / 300 : 2.0 / 700, 2.0 / 600};
        for (int i = 0; i < 2; i++) {
            const double found = at_item(at_mean(t, at_square(t, at_param_at(t, 2 * i))));
            assert_close(found / variance[i], 1, 0.03);
            ck_assert(at_item(at_max(t, at_abs(t, at_param_at(t, 2 * i + 1)))) == 0);
        }
        at_close(t);
    }
}
END_TEST

START_TEST(its_gradients_are_those_of_differences)
{
    for (int k = 0; k < 2; k++) {
        at_tape *t = at_open(ATTIC_F64, 2);
        at_mlp m = at_mlp_make(t, (int[]){3, 4, 2}, 3, k ? ATTIC_GELU : ATTIC_TANH);
        at_tensor *x = at_variable(t, at_shape_of(2, 3), (double[]){1, -0.5, 2, 0.3, 1.2, -1});
        at_gradcheck_report r = at_gradcheck(t, apply_mlp, &x, 1, &m, (at_gradcheck_options){0});
        ck_assert_msg(r.verdict == ATTIC_PASS, "%s at %s", r.reason, r.where);
        ck_assert_int_eq(r.checked, 6 + 12 + 4 + 8 + 2);
        at_close(t);
    }
}
END_TEST

START_TEST(nets_that_are_not_possible_are_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const struct {
        const int *width;
        int n;
        at_activation act;
        const char *text;
    } bad[] = {
        {NULL, 2, ATTIC_TANH, "mlp: 2 widths at NULL, but at least 2 are needed"},
        {(int[]){3}, 1, ATTIC_TANH, "mlp: 1 widths, but at least 2 are needed"},
        {(int[]){3, 0, 1}, 3, ATTIC_TANH, "mlp: width 1 is 0, but must be positive"},
        {(int[]){3, 1}, 2, ATTIC_SWIGLU, "mlp: SwiGLU takes two products of x: see at_ffn_make"},
        {(int[]){3, 1}, 2, (at_activation)7,
         "mlp: there is no activation 7, only 0 to 6 (at_activation)"}};
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_null(at_mlp_make(t, bad[i].width, bad[i].n, bad[i].act).layer);
        assert_error(t, bad[i].text);
        at_clear_error(t);
    }
    ck_assert_int_eq(at_param_count(t), 0);
    ck_assert_ptr_null(at_mlp_apply(t, NULL, NULL));
    assert_error(t, "mlp: the net is NULL");
    at_clear_error(t);
    at_mlp m = at_mlp_make(t, (int[]){3, 1}, 2, ATTIC_TANH);
    ck_assert_ptr_null(at_mlp_apply(t, &m, at_const(t, at_shape_of(2), NULL)));
    assert_error(t, "affine: X is [2] but W is \"0.W\" [3,1]: X must end in 3");
    at_close(t);
}
END_TEST

START_TEST(when_memory_runs_out_it_says_so)
{
    for (int n = 1;; n++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_fail_allocation(n);
        at_mlp m = at_mlp_make(t, (int[]){3, 4, 1}, 3, ATTIC_TANH);
        at_tensor *y = at_mlp_apply(t, &m, at_const(t, at_shape_of(3), NULL));
        at_fail_allocation(0);
        ck_assert(at_ok(t) == (y != NULL));
        at_close(t);
        if (y) break;
        ck_assert_int_lt(n, 100);
    }
}
END_TEST

SUITE(nn_mlp, it_is_its_layers_with_the_function_between_and_not_behind,
      two_widths_are_one_linear_layer, its_parameters_are_numbered_and_drawn_as_the_header_says,
      its_gradients_are_those_of_differences, nets_that_are_not_possible_are_refused,
      when_memory_runs_out_it_says_so)
