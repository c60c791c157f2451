/* test_unary.c -- functions of one number: values and slopes, and the edges of their domains. */
#include "tensors.h"

#include <math.h>
#include <stdlib.h>

#include "golden/unary.inc"

/* The function of a golden row: "pow 0.5", "clamp -1 1.7", "exp". */
static at_tensor *by_name(at_tape *t, const char *name, at_tensor *x)
{
    static const struct {
        const char *name;
        at_tensor *(*f)(at_tape *, at_tensor *);
    } plain[] = {
        {"neg", at_neg},         {"exp", at_exp},   {"log", at_log},   {"sqrt", at_sqrt},
        {"square", at_square},   {"tanh", at_tanh}, {"relu", at_relu}, {"relu2", at_relu2},
        {"sigmoid", at_sigmoid}, {"silu", at_silu}, {"gelu", at_gelu}, {"gelu_tanh", at_gelu_tanh},
        {"abs", at_abs},         {"sin", at_sin},   {"cos", at_cos},   {"softplus", at_softplus}};
    double a = 0, b = 0;
    if (sscanf(name, "pow %lf", &a) == 1) return at_pow(t, x, a);
    if (sscanf(name, "leaky_relu %lf", &a) == 1) return at_leaky_relu(t, x, a);
    if (sscanf(name, "clamp %lf %lf", &a, &b) == 2) return at_clamp(t, x, a, b);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].name, name) == 0) return plain[i].f(t, x);
    ck_abort_msg("there is no function %s", name);
    return NULL;
}

static const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* y = f(x), with slopes in x->grad */
static at_tensor *with_slopes(at_tape *t, const char *name, at_tensor *x)
{
    at_tensor *y = by_name(t, name, x);
    ck_assert_msg(pull(t, y, ones), "%s: %s", name, at_error(t));
    return y;
}

static void assert_relative(const char *name, double a, double b, double tol)
{
    ck_assert_msg(a == b || fabs(a - b) <= tol * fmax(1, fabs(b)), "%s: %.17g is not %.17g", name,
                  a, b);
}

START_TEST(values_and_slopes_equal_the_golden_numbers)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (size_t k = 0; k < sizeof golden_unary / sizeof *golden_unary; k++) {
            const char *name = golden_unary[k].name;
            at_tensor *x = at_variable(t, at_shape_of(GOLDEN_POINTS), golden_unary[k].x);
            at_tensor *y = with_slopes(t, name, x);
            double tol = at_real(t) == ATTIC_F32 ? 2e-6 : 2e-15;
            for (int i = 0; i < GOLDEN_POINTS; i++) {
                assert_relative(name, at_element(y, i), golden_unary[k].y[i], tol);
                assert_relative(name, at_grad_element(x, i), golden_unary[k].slope[i], tol);
            }
        }
}
END_TEST

/* f and f' at n points */
static void assert_edges(const char *name, int n, const double *x_, const double *y_,
                         const double *slope)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_variable(t, at_shape_of(n), x_), *y = with_slopes(t, name, x);
        assert_values(y, y_, 1e-6);
        assert_grads(x, slope, 1e-6);
    }
}

#define D(...) ((double[]){__VA_ARGS__})
static const double inf = (double)INFINITY, nan_ = (double)NAN;

START_TEST(log_and_sqrt_are_infinitely_steep_at_0_and_nan_below)
{
    assert_edges("log", 3, D(0, -1, inf), D(-inf, nan_, inf), D(inf, -1, 0));
    assert_edges("sqrt", 3, D(0, -1, inf), D(0, nan_, inf), D(inf, nan_, 0));
}
END_TEST

START_TEST(relu_is_flat_up_to_0_and_hides_no_nan)
{
    assert_edges("relu", 5, D(-1, -0.0, 0, 1e-30, nan_), D(0, 0, 0, 1e-30, nan_), D(0, 0, 0, 1, 1));
}
END_TEST

START_TEST(relu2_is_the_square_of_relu)
{
    assert_edges("relu2", 6, D(-2, -0.0, 0, 0.5, 3, -inf), D(0, 0, 0, 0.25, 9, 0),
                 D(0, 0, 0, 1, 6, 0));
    assert_edges("relu2", 2, D(nan_, inf), D(nan_, inf), D(nan_, inf));
}
END_TEST

START_TEST(clamp_has_slope_1_at_both_ends)
{
    assert_edges("clamp -1 2", 6, D(-1.5, -1, 0, 2, 2.5, nan_), D(-1, -1, 0, 2, 2, nan_),
                 D(0, 1, 1, 1, 0, 1));
    assert_edges("clamp 0.1 0.1", 2, D(0.1, 3), D(0.1, 0.1), D(1, 0));
    assert_edges("clamp -inf inf", 3, D(-inf, 5, inf), D(-inf, 5, inf), D(1, 1, 1));
}
END_TEST

START_TEST(abs_and_leaky_relu_take_a_side_at_0_and_hide_no_nan)
{
    assert_edges("abs", 6, D(-2, -0.0, 0, 3, -inf, nan_), D(2, 0, 0, 3, inf, nan_),
                 D(-1, 0, 0, 1, -1, 0));
    assert_edges("leaky_relu 0.25", 5, D(-2, 0, 3, -inf, nan_), D(-0.5, 0, 3, -inf, nan_),
                 D(0.25, 0.25, 1, 0.25, 0.25));
    assert_edges("leaky_relu 0", 2, D(-2, 3), D(0, 3), D(0, 1));
}
END_TEST

START_TEST(sin_and_cos_are_each_others_slopes)
{
    const double pi = acos(-1);
    assert_edges("sin", 4, D(0, pi / 2, pi, inf), D(0, 1, 0, nan_), D(1, 0, -1, nan_));
    assert_edges("cos", 4, D(0, pi / 2, pi, -inf), D(1, 0, -1, nan_), D(0, -1, 0, nan_));
}
END_TEST

START_TEST(softplus_is_a_relu_with_a_round_corner)
{
    assert_edges("softplus", 6, D(0, 1000, -1000, inf, -inf, nan_),
                 D(log(2), 1000, 0, inf, 0, nan_), D(0.5, 1, 0, 1, 0, nan_));
    for (at_tape *t = NULL; next_tape(&t);) { /* a small one keeps its digits */
        at_tensor *y = at_softplus(t, at_const(t, at_shape_of(), D(-30)));
        ck_assert(fabs(at_item(y) / exp(-30) - 1) < 1e-6);
    }
}
END_TEST

START_TEST(anything_to_the_0_is_1_with_gradient_0)
{
    assert_edges("pow 0", 4, D(0, -2, inf, nan_), D(1, 1, 1, 1), D(0, 0, 0, 0));
}
END_TEST

START_TEST(powers_at_0_follow_p_x_to_the_p_minus_1)
{
    assert_edges("pow 1", 2, D(0, -3), D(0, -3), D(1, 1));
    assert_edges("pow 2", 2, D(0, -3), D(0, 9), D(0, -6));
    assert_edges("pow 3", 2, D(0, -3), D(0, -27), D(0, 27));
    assert_edges("pow 0.5", 2, D(0, -3), D(0, nan_), D(inf, nan_));
    assert_edges("pow 1.5", 2, D(0, -3), D(0, nan_), D(0, nan_));
    assert_edges("pow -1", 2, D(0, -2), D(inf, -0.5), D(-inf, -0.25));
    assert_edges("pow 9", 2, D(0, -1), D(0, -1), D(0, 9));
}
END_TEST

START_TEST(saturated_functions_stay_finite)
{
    assert_edges("sigmoid", 4, D(-1000, 1000, -inf, inf), D(0, 1, 0, 1), D(0, 0, 0, 0));
    assert_edges("tanh", 4, D(-1000, 1000, -inf, inf), D(-1, 1, -1, 1), D(0, 0, 0, 0));
    assert_edges("silu", 2, D(-1000, 1000), D(0, 1000), D(0, 1));
    assert_edges("gelu", 2, D(-1000, 1000), D(0, 1000), D(0, 1));
    assert_edges("gelu_tanh", 2, D(-1000, 1000), D(0, 1000), D(0, 1));
    assert_edges("exp", 2, D(-1000, -inf), D(0, 0), D(0, 0));
}
END_TEST

/* Each form of gelu has its own derivative: exchanged, they would differ in the fourth digit. */
START_TEST(the_two_gelus_are_near_but_not_the_same)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), D(-2, 2)), *x2 = variable_like(t, x);
    at_tensor *exact = with_slopes(t, "gelu", x), *near = with_slopes(t, "gelu_tanh", x2);
    for (int i = 0; i < 2; i++) {
        double apart = fabs(at_element(exact, i) - at_element(near, i));
        double slopes_apart = fabs(at_grad_element(x, i) - at_grad_element(x2, i));
        ck_assert(apart > 1e-5 && apart < 1e-3);
        ck_assert(slopes_apart > 1e-5 && slopes_apart < 1e-2);
    }
    at_close(t);
}
END_TEST

START_TEST(sigmoid_is_half_a_tanh_of_half_and_silu_gates_by_it)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_random(t, at_shape_of(50), at_normal(3));
    at_tensor *half = at_add_scalar(t, at_scale(t, at_tanh(t, at_scale(t, x, 0.5)), 0.5), 0.5);
    at_tensor *s = at_sigmoid(t, x);
    assert_all_close(50, (double *)s->data, (double *)half->data, 1e-15);
    at_tensor *gated = at_mul(t, x, s), *y = at_silu(t, x);
    assert_all_close(50, (double *)y->data, (double *)gated->data, 1e-15);
    at_close(t);
}
END_TEST

/* 3 threads or 1, long array or short: element i is the same */
START_TEST(a_long_array_gives_the_bits_of_a_short_one_at_any_number_of_threads)
{
    enum { N = 70001, PART = 37 };
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_random(t, at_shape_of(N), at_normal(2)), *y[2], *grad[2];
        for (int k = 0; k < 2; k++) {
            at_threads(k ? 3 : 1);
            at_tensor *xk = variable_like(t, x);
            y[k] = at_gelu(t, xk);
            ck_assert(at_backward_from(t, y[k], x));
            grad[k] = at_grad_copy(t, xk);
        }
        ck_assert_mem_eq(y[0]->data, y[1]->data, at_bytes(x));
        ck_assert_mem_eq(grad[0]->data, grad[1]->data, at_bytes(x));

        at_tensor *part = at_const(t, at_shape_of(PART), NULL);
        size_t bytes = at_bytes(part);
        memcpy(part->data, (char *)x->data + at_bytes(x) - bytes, bytes);
        at_tensor *yp = at_gelu(t, part);
        char *end = (char *)y[0]->data + at_bytes(x) - bytes;
        for (int i = 0; i < PART; i++)
            assert_close(at_element(yp, i), at_fetch(yp->dtype, end, i), close_to(t));
    }
    at_threads(0);
}
END_TEST

START_TEST(a_result_used_twice_receives_both_gradients)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(), D(2)), *y = at_square(t, x);
    at_backward(t, at_mul(t, y, y)); /* x^4 */
    assert_grads(x, D(32), 0);
    at_close(t);
}
END_TEST

START_TEST(scalars_and_empty_tensors_are_fine)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *one = at_exp(t, at_const(t, at_shape_of(), NULL));
        ck_assert(one->shape.ndim == 0);
        assert_values(one, D(1), 0);
        at_tensor *none = at_variable(t, at_shape_of(3, 0), NULL);
        ck_assert(pull(t, at_gelu(t, none), NULL));
    }
}
END_TEST

START_TEST(anomaly_mode_blames_the_log_of_0)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_anomaly(t, true);
    ck_assert_ptr_null(at_log(t, at_const(t, at_shape_of(2), D(1, 0))));
    assert_error(t, "anomaly: forward of log (op 0) made -inf at [1] of its output [2] from finite "
                    "inputs");
    at_close(t);
}
END_TEST

START_TEST(mistakes_are_named)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(2), NULL), "x0");
    at_gelu_tanh(t, NULL);
    assert_error(t, "gelu_tanh: x is NULL");
    at_clear_error(t);
    at_exp(t, at_bools(t, at_shape_of(2, 3), NULL));
    assert_error(t, "exp: x [2,3] has dtype bool but must be f64");
    at_clear_error(t);
    at_pow(t, x, inf);
    assert_error(t, "pow: the exponent is inf, but must be a finite f64");
    at_clear_error(t);
    at_leaky_relu(t, x, nan_);
    assert_error(t, "leaky_relu: slope is nan, but must be a finite f64");
    at_clear_error(t);
    at_clamp(t, x, 2, 1);
    assert_error(t, "clamp: low is 2 and high is 1, but low <= high must hold");
    at_clear_error(t);
    ck_assert_ptr_null(at_clamp(t, x, 0, nan_));
    ck_assert(!at_ok(t));
    ck_assert_ptr_null(at_neg(t, x)); /* and from then on nothing happens */
    ck_assert_ptr_null(at_pow(NULL, x, 2));
    at_close(t);
}
END_TEST

START_TEST(a_number_that_f32_cannot_hold_is_refused_where_it_matters)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(), (double[]){2});
    at_pow(t, x, 1e300);
    assert_error(t, "pow: the exponent is 1e+300, but must be a finite f32");
    at_clear_error(t);
    at_clamp(t, x, 1e300, inf);
    assert_error(t, "clamp: between 1e+300 and inf there is no finite f32");
    at_clear_error(t);
    at_clamp(t, x, -inf, -1e39);
    assert_error(t, "clamp: between -inf and -1e+39 there is no finite f32");
    at_clear_error(t);
    ck_assert(at_item(at_clamp(t, x, -1e300, 1e300)) == 2); /* no bounds at all, in f32 as in f64 */
    at_close(t);
}
END_TEST

SUITE(ops_unary, values_and_slopes_equal_the_golden_numbers,
      log_and_sqrt_are_infinitely_steep_at_0_and_nan_below, relu_is_flat_up_to_0_and_hides_no_nan,
      relu2_is_the_square_of_relu, clamp_has_slope_1_at_both_ends,
      abs_and_leaky_relu_take_a_side_at_0_and_hide_no_nan, sin_and_cos_are_each_others_slopes,
      softplus_is_a_relu_with_a_round_corner, anything_to_the_0_is_1_with_gradient_0,
      powers_at_0_follow_p_x_to_the_p_minus_1, saturated_functions_stay_finite,
      the_two_gelus_are_near_but_not_the_same, sigmoid_is_half_a_tanh_of_half_and_silu_gates_by_it,
      a_long_array_gives_the_bits_of_a_short_one_at_any_number_of_threads,
      a_result_used_twice_receives_both_gradients, scalars_and_empty_tensors_are_fine,
      anomaly_mode_blames_the_log_of_0, mistakes_are_named,
      a_number_that_f32_cannot_hold_is_refused_where_it_matters)
