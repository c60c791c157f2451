/* test_tangent.c -- dual numbers: forward gives J v, backward H v, to all digits; and what is out of range says so.
 *
 * Whether H v is the derivative of the gradient, and not just symmetric, is checked by `make gradcheck`: order 2. */
#include "autograd/tangent.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "attic_op.h"
#include "gradients/cases.h"
#include "kernels/gemm.h"
#include "tensor/arena.h"
#include "tensors.h"

/* ------------------------------------------------------------------ a tape of dual numbers ----- */

START_TEST(a_tangent_goes_forward_and_back)
{
    at_tape *t = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, 2, -3});
    ck_assert(at_set_tangent(x, (double[]){1, 0.5, -2}));
    at_tensor *y = at_mul(t, x, at_square(t, x)); /* x^3 */
    ck_assert(at_backward(t, at_sum(t, y)));
    assert_values(y, ((double[]){1, 8, -27}), 0);
    assert_values(at_tangent(t, y), ((double[]){3, 6, -54}), 1e-15); /* 3 x^2 v */
    assert_grads(x, ((double[]){3, 12, 27}), 1e-15);
    assert_values(at_grad_tangent(t, x), ((double[]){6, 6, 36}), 1e-15); /* 6 x v */
    assert_values(at_tangent(t, at_tangent(t, y)), ((double[]){0, 0, 0}), 0);
    at_close(t);
}
END_TEST

START_TEST(a_tangent_is_0_until_it_is_set_and_when_values_are_written)
{
    at_tape *t = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){1, 2}), *y = at_exp(t, x);
    assert_values(at_tangent(t, y), ((double[]){0, 0}), 0);
    assert_values(at_grad_tangent(t, x), ((double[]){0, 0}), 0);
    at_set_tangent(x, (double[]){1, 1});
    at_set(x, 0, 0); /* element 0 = 0 */
    ck_assert(at_replay(t));
    assert_values(at_tangent(t, y), ((double[]){0, exp(2)}), 1e-15);
    ck_assert(at_set_tangent(x, NULL) && at_replay(t));
    assert_values(at_tangent(t, y), ((double[]){0, 0}), 0);
    at_close(t);
}
END_TEST

START_TEST(values_are_what_is_read_printed_and_compared)
{
    char text[100] = "";
    double values[2] = {0};
    at_tape *t = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){0.1, -2});
    at_set_tangent(x, (double[]){5, 7});
    FILE *out = fmemopen(text, sizeof text, "w");
    at_print(x, out);
    fclose(out);
    ck_assert_str_eq(text, "[ 0.1 -2. ]\n");
    ck_assert(at_read_f64(x, values, 2) && values[0] == 0.1 && values[1] == -2);
    ck_assert(at_get(x, 1) == -2 && at_item(at_slice(t, x, 0, 0, 1)) == 0.1);
    ck_assert(at_write_f64(x, (double[]){3, 4}, 2));
    assert_values(x, ((double[]){3, 4}), 0);
    assert_values(at_tangent(t, x), ((double[]){0, 0}), 0);
    at_close(t);
}
END_TEST

START_TEST(optimizers_move_tangents_too)
{
    at_tape *t = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_param(t, "x", at_shape_of(1), at_values((double[]){2}));
    at_set_tangent(x, (double[]){1});
    at_backward(t, at_sum(t, at_square(t, x)));
    at_sgd(t, 0.25); /* x - 2 x / 4: half of x */
    ck_assert(at_get(x, 0) == 1);
    assert_values(at_tangent(t, x), ((double[]){0.5}), 0);
    ck_assert(isnan(at_clip_grad_norm(t, 1)));
    assert_error(t, "clip_grad_norm: the tape is dual, and the norm would have no tangent");
    at_close(t);
}
END_TEST

START_TEST(a_tape_of_another_type_has_no_tangents)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), NULL);
    ck_assert(!at_set_tangent(x, NULL));
    assert_error(t, "set_tangent: the tape is f64, but must be dual");
    at_clear_error(t);
    ck_assert(!at_tangent(t, x));
    assert_error(t, "tangent: the tape is f64, but must be dual");
    at_clear_error(t);
    ck_assert(!at_grad_tangent(t, x));
    assert_error(t, "grad_tangent: the tape is f64, but must be dual");
    ck_assert(!at_set_tangent(NULL, NULL) && !at_tangent(NULL, x) && !at_grad_tangent(NULL, x));
    at_close(t);
}
END_TEST

START_TEST(files_are_refused)
{
    at_tape *t = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_name(at_variable(t, at_shape_of(2), NULL), "x");
    ck_assert(!at_npy_save(x, "out/none.npy"));
    assert_error(
        t, "npy: \"x\" [2] is dual, values and tangents: at_read_f64 and at_tangent give either");
    at_clear_error(t);
    ck_assert(!at_tensors_save(t, "out/none.safetensors", &x, 1, (at_tensors_save_args){0}));
    assert_error(
        t,
        "tensors: \"x\" [2] is dual, values and tangents: at_read_f64 and at_tangent give either");
    at_close(t);
}
END_TEST

static void square_f32(at_node *n)
{
    float *y = n->out[0]->data, *x = n->in[0]->data;
    for (ptrdiff_t i = 0; i < at_count(n->out[0]->shape); i++) y[i] = x[i] * x[i];
}

static void square_f64(at_node *n)
{
    double *y = n->out[0]->data, *x = n->in[0]->data;
    for (ptrdiff_t i = 0; i < at_count(n->out[0]->shape); i++) y[i] = x[i] * x[i];
}

static void square_back(at_node *n)
{
    double *dx = at_grad(n, 0), *x = n->in[0]->data, *dy = n->out[0]->grad;
    for (ptrdiff_t i = 0; i < at_count(n->out[0]->shape); i++) dx[i] += 2 * x[i] * dy[i];
}

static const at_op own_op = {"own", {square_f32, square_f64}, {square_back, square_back}, false};

static at_tensor *own(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_record(t, &own_op, AT_IN(in[0]), in[0]->shape, NULL, 0);
}

START_TEST(an_op_without_kernels_for_dual_numbers_is_refused_by_name)
{
    at_tape *t = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), NULL), *dy;
    ck_assert(!own(t, &x, NULL));
    assert_error(t, "own: the op has no forward for dual");
    at_close(t);

    t = at_open(ATTIC_F64, 1);
    x = at_variable(t, at_shape_of(2), (double[]){1, 2});
    ck_assert(!at_jvp(t, own, &x, &x, 1, NULL, &dy) && !dy);
    assert_error(t, "jvp: own: the op has no forward for dual");
    at_clear_error(t);
    at_gradcheck_report r = at_gradcheck(t, own, &x, 1, NULL, (at_gradcheck_options){0});
    ck_assert(r.verdict == ATTIC_PASS && isnan(r.exact_error));
    ck_assert_str_eq(
        r.reason,
        "backward is the derivative of forward (differences alone: own: the op has no forward "
        "for dual)");
    r = at_gradcheck(t, own, &x, 1, NULL, (at_gradcheck_options){.order = 2});
    ck_assert(r.verdict == ATTIC_NOT_RUN);
    ck_assert_str_eq(r.reason, "order 2 needs dual numbers: own: the op has no forward for dual");
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ range ---------------------- */

START_TEST(tangents_are_held_from_1e_127_to_1e38)
{
    const double held[] = {1e-126, -1e-126, 1, 1e38, -1e38, 0};
    const double not_held[] = {1e-128, 1e-143, 1.1e38, -1e39, (double)INFINITY, (double)NAN};
    at_tape *t = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_variable(t, at_shape_of(1), (double[]){3});
    for (int i = 0; i < 6; i++) {
        ck_assert(at_set_tangent(x, &held[i]));
        at_tensor *y = at_square(t, at_scale(t, x, 1.0 / 3));
        assert_close(at_get(y, 0), 1, 1e-15);
        assert_close(at_get(at_tangent(t, y), 0), 2 * held[i] / 3, 1e-15 * fabs(held[i]));
    }
    for (int i = 0; i < 6; i++) {
        ck_assert(!at_set_tangent(x, &not_held[i]));
        ck_assert_ptr_nonnull(strstr(at_error(t), "but must be 0 or 1e-127 to 1e38"));
        at_clear_error(t);
    }
    at_close(t);
}
END_TEST

START_TEST(a_tangent_that_leaves_the_range_is_an_error_with_the_op)
{
    at_tape *t = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){0, 1e20});
    at_set_tangent(x, (double[]){1, 1e20});
    ck_assert(!at_square(t, x));
    assert_error(t, "forward of square: at [1] of its output [2] the value is 1e+40, but its "
                    "tangent 2e+40: tangents "
                    "are finite, up to 1e38");
    at_clear_error(t);
    ck_assert(!at_sqrt(t, x));
    assert_error(t, "forward of sqrt: at [0] of its output [2] the value is 0, but its tangent "
                    "inf: tangents are "
                    "finite, up to 1e38");
    at_clear_error(t);
    at_set_tangent(x, (double[]){1e25, 0}); /* x^2 at 1e-25: 2 dx is 2e25 */
    at_tensor *y = at_scale(t, at_square(t, x), 1e15);
    ck_assert(y && !at_backward(t, at_sum(t, y)));
    assert_error(t, "backward of square: at [0] of the gradient of its input [2] the value is 0, "
                    "but its tangent "
                    "2e+40: tangents are finite, up to 1e38");
    at_close(t);
}
END_TEST

START_TEST(where_a_derivative_is_infinite_a_tangent_of_0_stays_0)
{
    at_tape *t = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){0, 4});
    at_set_tangent(x, (double[]){0, 1});
    assert_values(at_tangent(t, at_sqrt(t, x)), ((double[]){0, 0.25}), 0);
    assert_values(at_tangent(t, at_pow(t, x, 0.5)), ((double[]){0, 0.25}), 1e-16);
    at_close(t);
}
END_TEST

START_TEST(directions_of_any_size_are_scaled)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){1, 2}), *Hv;
    at_tensor *loss = at_sum(t, at_mul(t, x, at_square(t, x)));
    for (int i = -290; i <= 290; i += 29) {
        at_tensor *v = at_const(t, at_shape_of(2), (double[]){pow(10, i), 0});
        ck_assert_msg(at_hvp(t, loss, &x, &v, 1, &x, 1, &Hv), "%s", at_error(t));
        ck_assert(fabs(at_get(Hv, 0) - 6 * pow(10, i)) <= 1e-15 * 6 * pow(10, i) &&
                  at_get(Hv, 1) == 0);
    }
    at_tensor *v = at_const(t, at_shape_of(2), (double[]){1e-310, 0});
    ck_assert(at_hvp(t, loss, &x, &v, 1, &x, 1, &Hv) && at_get(Hv, 0) == 6e-310);
    v = at_const(t, at_shape_of(2), (double[]){5e-324, 0}); /* the least number */
    ck_assert(at_hvp(t, loss, &x, &v, 1, &x, 1, &Hv) && at_get(Hv, 0) == 6 * 5e-324);
    v = at_const(t, at_shape_of(2), (double[]){1, 1e-130});
    ck_assert(!at_hvp(t, loss, &x, &v, 1, &x, 1, &Hv) && !Hv);
    assert_error(t, "hvp: element 1 of direction 0 is 1e-130, less than 1e-127 of the largest");
    at_clear_error(t);
    v = at_const(t, at_shape_of(2), (double[]){(double)INFINITY, 0});
    ck_assert(!at_hvp(t, loss, &x, &v, 1, &x, 1, &Hv));
    assert_error(t, "hvp: element 0 of direction 0 is inf");
    at_close(t);

    t = at_open(ATTIC_F32, 1);
    x = at_variable(t, at_shape_of(1), (double[]){1e20});
    v = at_const(t, at_shape_of(1), (double[]){1e38});
    ck_assert(!at_hvp(t, at_sum(t, at_mul(t, x, at_square(t, at_scale(t, x, 1e-10)))), &x, &v, 1,
                      &x, 1, &Hv));
    assert_error(t, "hvp: element 0 of the result, for [1], is 6e+38");
    at_close(t);
}
END_TEST

static at_tensor *square_of_first(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_square(t, in[0]);
}

START_TEST(a_direction_of_many_elements_is_read_to_its_end)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(3, 300), NULL), *v = at_const(t, x->shape, NULL), *Jv;
    for (int i = 0; i < 900; i++)
        at_set(x, i, i / 300, i % 300), at_set(v, 1 + i % 7, i / 300, i % 300);
    ck_assert(at_jvp(t, square_of_first, &x, &v, 1, NULL, &Jv));
    for (int i = 0; i < 900; i++) ck_assert(at_get(Jv, i / 300, i % 300) == 2 * i * (1 + i % 7));
    at_set(v, (double)NAN, 2, 299);
    ck_assert(!at_jvp(t, square_of_first, &x, &v, 1, NULL, &Jv));
    assert_error(t, "jvp: element 899 of direction 0 is nan");
    at_close(t);
}
END_TEST

START_TEST(a_result_is_finite_where_the_loss_is)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){0, 1}), *Hv;
    at_tensor *v = at_const(t, at_shape_of(2), (double[]){1, 1});
    at_tensor *y = at_pow(t, x, 1.5); /* of the second derivative 0.75 / sqrt(x) */
    ck_assert(!at_hvp(t, at_sum(t, y), &x, &v, 1, &x, 1, &Hv) && !Hv);
    /* "element 0 of the result, for [2], is inf", or where numbers are of another kind: */
    ck_assert(!strncmp(at_error(t), "hvp: element 0 of the result", 28) ||
              !strncmp(at_error(t), "hvp: backward of pow: at [0]", 28));
    at_clear_error(t);
    ck_assert(!at_hvp(t, at_sum(t, at_square(t, y)), &x, &v, 1, &x, 1, &Hv)); /* backward: inf 0 */
    ck_assert(!strncmp(at_error(t), "hvp: ", 5) && !Hv);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ jvp and hvp ---------------- */

static at_tensor *product(at_tape *t, at_tensor **in, void *ctx)
{
    at_tensor *W = *(at_tensor **)ctx; /* a tensor of the tape that no list names */
    return at_matmul(t, at_tanh(t, at_matmul(t, in[0], W)), in[1]);
}

START_TEST(a_jvp_gives_y_and_its_tangent)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x[] = {at_random(t, at_shape_of(2, 3), at_normal(1)),
                          at_random(t, at_shape_of(3, 2), at_normal(1))};
        at_tensor *v[] = {at_random(t, at_shape_of(2, 3), at_normal(1)), NULL};
        at_tensor *W = at_param(t, "W", at_shape_of(3, 3), at_normal(1)), *dy;
        at_tensor *y = at_jvp(t, product, x, v, 2, &W, &dy);
        ck_assert_msg(y && dy, "%s", at_error(t));
        ck_assert(y->node && y->wants_grad && !dy->node && !dy->wants_grad);
        at_tensor *z = at_tanh(t, at_matmul(t, x[0], W)); /* dy = ((1 - z^2) v W) x1 */
        at_tensor *slope = at_add_scalar(t, at_neg(t, at_square(t, z)), 1);
        at_tensor *same = at_matmul(t, at_mul(t, slope, at_matmul(t, v[0], W)), x[1]);
        for (int i = 0; i < 4; i++)
            assert_close(at_element(dy, i), at_element(same, i),
                         at_real(t) == ATTIC_F32 ? 3e-6 : 1e-14);
    }
}
END_TEST

static at_tensor *quartic(at_tape *t, at_tensor *x, at_tensor *y)
{
    return at_sum(t, at_mul(t, at_square(t, x), at_mul(t, y, at_square(t, y)))); /* x^2 y^3 */
}

static at_tensor *squared(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_square(t, in[0]);
}

START_TEST(what_was_computed_before_counts_as_a_leaf_and_a_constant_may_move)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(1), (double[]){2}), *z = at_scale(t, x, 2), *dy;
    at_tensor *c = at_const(t, at_shape_of(1), (double[]){3});
    ck_assert(at_jvp(t, squared, &z, &c, 1, NULL, &dy) && at_get(dy, 0) == 2 * 4 * 3);
    ck_assert(at_jvp(t, squared, &c, &c, 1, NULL, &dy) && at_get(dy, 0) == 2 * 3 * 3);
    ck_assert(at_jvp(t, squared, &x, &z, 1, NULL, &dy) && at_get(dy, 0) == 2 * 2 * 4);
    at_close(t);
}
END_TEST

START_TEST(an_hvp_moves_some_leaves_and_reads_others)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(1), (double[]){2}),
              *y = at_variable(t, at_shape_of(1), (double[]){3});
    at_tensor *v = at_const(t, at_shape_of(1), (double[]){5}), *Hv[2];
    at_tensor *loss = quartic(t, x, y), *away = at_square(t, x);
    ck_assert(at_backward(t, loss));
    ck_assert(at_hvp(t, loss, &x, &v, 1, (at_tensor *[]){x, y}, 2, Hv));
    ck_assert(at_get(Hv[0], 0) == 2 * 27 * 5 && at_get(Hv[1], 0) == 6 * 2 * 9 * 5);
    ck_assert(!Hv[0]->wants_grad);
    ck_assert_msg(at_grad_element(x, 0) == 4 * 27, "existing gradients are untouched");
    ck_assert(at_hvp(t, loss, &y, &v, 1, &x, 1, Hv));
    ck_assert(at_get(Hv[0], 0) == 6 * 2 * 9 * 5);
    ck_assert(at_hvp(t, at_sum(t, away), &y, &v, 1, &x, 1, Hv)); /* y does not enter */
    ck_assert(at_get(Hv[0], 0) == 0);
    ck_assert(at_hvp(t, loss, (at_tensor *[]){x, x}, (at_tensor *[]){v, v}, 2, &x, 1, Hv));
    ck_assert_msg(at_get(Hv[0], 0) == 2 * 2 * 27 * 5, "directions of one leaf add up");

    at_zero_grads(t); /* Hv as a gradient */
    ck_assert(at_backward(t, at_sum(t, at_mul(t, x, Hv[0]))) &&
              at_grad_element(x, 0) == 2 * 2 * 27 * 5);
    at_close(t);
}
END_TEST

static at_tensor *cube(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_mul(t, in[0], at_square(t, in[0]));
}

START_TEST(the_list_of_results_may_be_that_of_the_directions)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){1, -2});
    at_tensor *v = at_const(t, at_shape_of(2), (double[]){1, 0.5}), *list[] = {v};
    at_tensor *loss = at_sum(t, cube(t, &x, NULL));
    ck_assert(at_hvp(t, loss, &x, list, 1, &x, 1, list));
    assert_values(list[0], ((double[]){6, -6}), 1e-15);
    list[0] = x;
    ck_assert(at_hvp(t, loss, list, &v, 1, list, 1, list));
    assert_values(list[0], ((double[]){6, -6}), 1e-15);
    list[0] = v;
    ck_assert(at_jvp(t, cube, &x, list, 1, NULL, list) != NULL);
    assert_values(list[0], ((double[]){3, 6}), 1e-15);
    list[0] = v;
    ck_assert(!at_hvp(t, v, &x, list, 1, &x, 1, list) && !list[0]); /* v is no loss */
    at_close(t);
}
END_TEST

START_TEST(what_an_hvp_can_not_do_it_says)
{
    at_tape *t = at_open(ATTIC_F64, 1), *other = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), NULL), *v = at_const(t, at_shape_of(2), NULL),
              *Hv;
    at_tensor *w = at_const(t, at_shape_of(3), NULL), *y = at_square(t, x), *loss = at_sum(t, y);
    const struct {
        at_tensor *loss, *x, *v, *wrt;
        const char *says;
    } bad[] = {
        {y, x, v, x, "hvp: the loss is [2], but must have one element"},
        {at_sum(t, v), x, v, x, "hvp: the loss depends on nothing that wants a gradient"},
        {loss, x, w, x, "hvp: direction 0 is [3], but moves [2]"},
        {loss, x, v, v, "hvp: wrt[0], [2], must be a leaf that wants a gradient"},
        {loss, x, v, y, "hvp: wrt[0], [2], must be a leaf that wants a gradient"},
        {loss, y, v, x, "hvp: x[0], [2], was computed by square, but must be a leaf"},
        {loss, NULL, v, x, "hvp: x is NULL"},
        {NULL, x, v, x, "hvp: loss is NULL"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        at_tensor *X = bad[i].x, *V = bad[i].v, *W = bad[i].wrt;
        ck_assert(!at_hvp(t, bad[i].loss, &X, &V, 1, &W, 1, &Hv) && !Hv);
        assert_error(t, bad[i].says);
        at_clear_error(t);
    }
    ck_assert(!at_hvp(t, loss, NULL, NULL, 1, &x, 1, &Hv));
    assert_error(t, "hvp: the list of tensors is NULL");
    at_clear_error(t);
    ck_assert(!at_hvp(t, loss, &x, &v, 1, NULL, 1, &Hv));
    assert_error(t, "hvp: wrt is NULL");
    at_clear_error(t);
    at_set(x, 1, 0);
    ck_assert(!at_hvp(t, loss, &x, &v, 1, &x, 1, &Hv));
    assert_error(
        t,
        "backward: input 0 of square [2] was written after it was recorded; run the forward again "
        "(at_replay)");
    at_clear_error(t);
    ck_assert(!at_jvp(t, NULL, &x, &v, 1, NULL, &Hv));
    assert_error(t, "jvp: the function is NULL");
    at_close(t);

    x = at_variable(other, at_shape_of(1), NULL);
    ck_assert(!at_hvp(other, at_sum(other, x), &x, &x, 1, &x, 1, &Hv));
    assert_error(other,
                 "hvp: the tape is dual: its tangents are set and read one by one (tangent.h)");
    at_close(other);
}
END_TEST

START_TEST(wherever_memory_runs_out_a_derivative_says_so)
{
    bool done = false;
    for (int n = 1; !done; n++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, 2, 3}), *Hv = NULL;
        at_tensor *loss = at_sum(t, at_exp(t, x));
        at_fail_allocation(n);
        done = at_hvp(t, loss, &x, &x, 1, &x, 1, &Hv);
        at_fail_allocation(0);
        if (!done) ck_assert_msg(strstr(at_error(t), "out of memory"), "%s", at_error(t));
        if (done) assert_close(at_get(Hv, 2), 3 * exp(3), 1e-13);
        at_close(t);
        ck_assert_int_lt(n, 100);
    }
}
END_TEST

/* ------------------------------------------------------------------ products ------------------- */

typedef double _Complex dual;
typedef void product_of_duals(int batch, int M, int N, int K, dual alpha, const dual *A,
                              at_strides a, const dual *B, at_strides b, dual beta, dual *C,
                              at_strides c, at_workspace w);
product_of_duals at_gemm_dual, at_gemm_plain_dual;
void at_gemm_bias_dual(int M, int N, int K, const dual *A, at_strides a, const dual *B,
                       at_strides b, const dual *z, dual *C, at_workspace w);
void at_gemm_f64(int batch, int M, int N, int K, double alpha, const double *A, at_strides a,
                 const double *B, at_strides b, double beta, double *C, at_strides c,
                 at_workspace w);

enum { MOST = 2 * 70 * 70 };

static void fill_duals(dual *x, double *values, uint64_t which)
{
    at_stream s = {7, which};
    for (int i = 0; i < MOST; i++) {
        values[i] = at_random_normal(s, (uint64_t)i);
        x[i] = __builtin_complex(values[i], 0x1p-600 * at_random_normal(s, (uint64_t)(MOST + i)));
    }
}

START_TEST(a_product_is_that_of_three_loops_and_its_values_are_those_of_f64)
{
    static dual A[MOST], B[MOST], C[MOST], D[MOST];
    static double a[MOST], b[MOST], c[MOST];
    static char space[AT_GEMM_WORKSPACE] __attribute__((aligned(64)));
    const int sizes[][3] = {{1, 1, 1},    {1, 70, 3}, {8, 64, 16}, {9, 65, 17},
                            {70, 70, 70}, {3, 5, 0},  {2, 0, 4}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int how = 0; how < 12; how++) {
            const int M = sizes[i][0], N = sizes[i][1], K = sizes[i][2];
            const at_strides of_A = how & 1 ? (at_strides){1, M, M * K} : (at_strides){K, 1, M * K};
            const at_strides of_B = how & 2 ? (at_strides){1, K, N * K} : (at_strides){N, 1, N * K};
            const at_strides of_C = {N, 1, how & 4 ? 0 : M * N}; /* summed over the batch */
            const at_workspace w = {space, sizeof space, 1};
            const dual alpha = how & 4 ? -0.5 : __builtin_complex(1., how & 2 ? 0 : 1e-181);
            const dual beta = how & 8 ? 1 : how & 1 ? 2 : 0;
            fill_duals(A, a, 1), fill_duals(B, b, 2), fill_duals(C, c, 3);
            memcpy(D, C, sizeof D);
            at_gemm_dual(2, M, N, K, alpha, A, of_A, B, of_B, beta, C, of_C, w);
            at_gemm_plain_dual(2, M, N, K, alpha, A, of_A, B, of_B, beta, D, of_C, w);
            at_gemm_f64(2, M, N, K, __real__ alpha, a, of_A, b, of_B, __real__ beta, c, of_C, w);
            for (int k = 0; k < MOST; k++) {
                assert_close(__real__ C[k], __real__ D[k], 1e-13);
                assert_close(__imag__ C[k] * 0x1p600, __imag__ D[k] * 0x1p600, 1e-13);
                ck_assert_double_eq(__real__ C[k], c[k]);
            }
        }
}
END_TEST

static void assert_same_number(double x, double y)
{
    ck_assert_msg(x == y || (isnan(x) && isnan(y)), "%g is not %g", x, y);
}

START_TEST(infinity_and_nan_spread_as_in_products_of_doubles)
{
    static char space[AT_GEMM_WORKSPACE] __attribute__((aligned(64)));
    const at_workspace workspace = {space, sizeof space, 1};
    const at_strides column = {1, 1, 2}, row = {2, 1, 2}, square = {2, 1, 4};
    const double e = 0x1p-600,
                 special[] = {0, 1, -2, (double)INFINITY, -(double)INFINITY, (double)NAN};
    for (int how = 0; how < 6 * 6 * 6 * 6; how++) {
        const double v[] = {special[how % 6], 1}, t[] = {special[how / 6 % 6] * e, e};
        const double w[] = {special[how / 36 % 6], 1}, u[] = {special[how / 216] * e, e};
        const dual A[] = {__builtin_complex(v[0], t[0]), __builtin_complex(v[1], t[1])};
        const dual B[] = {__builtin_complex(w[0], u[0]), __builtin_complex(w[1], u[1])};
        dual C[4] = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
        at_gemm_dual(1, 2, 2, 1, 1, A, column, B, row, 0, C, square, workspace);
        for (int k = 0; k < 4; k++) {
            const int i = k / 2, j = k % 2;
            assert_same_number(__real__ C[k], v[i] * w[j]);
            assert_same_number(__imag__ C[k], v[i] * u[j] + t[i] * w[j]);
        }
    }
}
END_TEST

START_TEST(a_product_begins_with_what_it_is_added_to)
{
    static char space[AT_GEMM_WORKSPACE] __attribute__((aligned(64)));
    const at_workspace w = {space, sizeof space, 1};
    const at_strides row = {2, 1, 2}, column = {1, 1, 2};
    const dual large = __builtin_complex(0x1p53, 0x1p-547); /* the tangent is 2^53, as it is kept */
    const dual A[] = {1, 1};
    const dual B[] = {__builtin_complex(1., 0x1p-600), __builtin_complex(1., 0x1p-600)};
    dual C = large, D = large, Y;
    at_gemm_dual(1, 1, 1, 2, 1, A, row, B, column, 1, &C, column, w);
    at_gemm_plain_dual(1, 1, 1, 2, 1, A, row, B, column, 1, &D, column, w);
    at_gemm_bias_dual(1, 1, 2, A, row, B, column, &large, &Y, w);
    ck_assert(C == large && D == large && Y == large); /* not 2^53 + 2 */
}
END_TEST

/* ------------------------------------------------------------------ two witnesses -------------- */

/* y = x^2, whose backward is wrong by a factor, and so may be the tangent. */
static double back_factor, tangent_factor;

static void square_dual(at_node *n)
{
    double *y = n->out[0]->data, *x = n->in[0]->data;
    for (ptrdiff_t i = 0; i < at_count(n->out[0]->shape); i++) {
        y[2 * i] = x[2 * i] * x[2 * i];
        y[2 * i + 1] = 2 * x[2 * i] * x[2 * i + 1] * tangent_factor;
    }
}

static void square_back_wrong(at_node *n)
{
    double *dx = at_grad(n, 0), *x = n->in[0]->data, *dy = n->out[0]->grad;
    for (ptrdiff_t i = 0; i < at_count(n->out[0]->shape); i++)
        dx[i] += 2 * x[i] * dy[i] * back_factor;
}

static void square_back_dual(at_node *n)
{
    double *dx = at_grad(n, 0), *x = n->in[0]->data, *dy = n->out[0]->grad;
    for (ptrdiff_t i = 0; i < at_count(n->out[0]->shape); i++) {
        dx[2 * i] += 2 * x[2 * i] * dy[2 * i];
        dx[2 * i + 1] += 2 * (x[2 * i + 1] * dy[2 * i] + x[2 * i] * dy[2 * i + 1]) * tangent_factor;
    }
}

static const at_op wrong_op = {"wrong",
                               {square_f32, square_f64, square_dual},
                               {square_back, square_back_wrong, square_back_dual},
                               false};

static at_tensor *wrong(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_record(t, &wrong_op, AT_IN(in[0]), in[0]->shape, NULL, 0);
}

static at_gradcheck_report check_wrong(double back, double tangent, int order)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, -2, 0.3});
    back_factor = back, tangent_factor = tangent;
    at_gradcheck_report r =
        at_gradcheck(t, wrong, &x, 1, NULL, (at_gradcheck_options){.order = order});
    at_close(t);
    return r;
}

START_TEST(either_witness_finds_a_wrong_backward)
{
    at_gradcheck_report r = check_wrong(1, 1, 1);
    ck_assert(r.verdict == ATTIC_PASS && r.exact_error < 1e-15 && r.error < 1e-11 &&
              r.resolution < 2e-10);
    r = check_wrong(1 + 1e-9, 1, 1); /* differences see 1e-7 */
    ck_assert(r.verdict == ATTIC_WRONG && r.exact_error > 9e-10);
    assert_close(r.exact, r.analytic, 1e-8 * fabs(r.analytic));
    r = check_wrong(0.5, 0.5, 1); /* the dual kernel makes the same mistake as backward */
    ck_assert(r.verdict == ATTIC_WRONG && r.exact_error == 0 && r.error > 0.4);
    r = check_wrong(1, 0.5, 1);
    ck_assert(r.verdict == ATTIC_WRONG && r.error < 1e-9);
}
END_TEST

static void one(at_node *n)
{
    double *y = n->out[0]->data;
    for (ptrdiff_t i = 0; i < at_count(n->out[0]->shape); i++) y[i] = 1;
}

static void no_gradient(at_node *n)
{
    (void)n;
}

static at_tensor *constant(at_tape *t, at_tensor **in, void *ctx)
{
    static const at_op op = {
        "constant", {0, one, square_dual}, {0, no_gradient, no_gradient}, false};
    (void)ctx;
    return at_record(t, &op, AT_IN(in[0]), in[0]->shape, NULL, 0);
}

START_TEST(where_backward_and_differences_are_0_the_exact_derivative_counts)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, -2, 0.3});
    for (int k = 0; k < 2; k++) {
        tangent_factor = k;
        at_gradcheck_report r = at_gradcheck(t, constant, &x, 1, NULL, (at_gradcheck_options){0});
        ck_assert_int_eq(r.verdict, k ? ATTIC_WRONG : ATTIC_VACUOUS);
        ck_assert_msg(r.exact_error == k && r.error == 0, "%g %g", r.exact_error, r.error);
    }
    at_close(t);
}
END_TEST

START_TEST(order_2_checks_the_second_derivative)
{
    ck_assert_int_eq(check_wrong(1, 1, 2).verdict, ATTIC_PASS);
    at_gradcheck_report r = check_wrong(1, 1.5, 2); /* symmetric, but not the derivative */
    ck_assert(r.verdict == ATTIC_WRONG && r.exact_error < 1e-15 && r.order == 2);
    ck_assert_str_eq(r.reason,
                     "H w is not the derivative of backward, but 1.5 times it everywhere");
}
END_TEST

static at_tensor *far_from_0(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_add_scalar(t, at_add_scalar(t, at_exp(t, in[0]), 1e12), -1e12);
}

START_TEST(where_rounding_drowns_differences_the_exact_derivative_decides)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){1, -2, 0.3});
    at_gradcheck_report r = at_gradcheck(t, far_from_0, &x, 1, NULL, (at_gradcheck_options){0});
    ck_assert_msg(r.verdict == ATTIC_PASS && r.real == ATTIC_F32 && r.exact_error < 1e-14, "%s",
                  at_verdict_text(r.verdict));
    at_close(t);
}
END_TEST

static at_tensor *powered(at_tape *t, at_tensor **in, void *ctx)
{
    return at_pow(t, in[0], *(double *)ctx);
}

static at_tensor *exponential(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_exp(t, in[0]);
}

START_TEST(beyond_the_range_of_tangents_differences_are_alone_and_order_2_is_not_run)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){100, 1}); /* e^100 = 2.7e43 */
    at_gradcheck_report r = at_gradcheck(t, exponential, &x, 1, NULL, (at_gradcheck_options){0});
    ck_assert(r.verdict == ATTIC_PASS && isnan(r.exact_error));
    ck_assert_msg(strstr(r.reason, "(differences alone: forward of exp") != NULL, "%s", r.reason);
    r = at_gradcheck(t, exponential, &x, 1, NULL, (at_gradcheck_options){.order = 2});
    ck_assert(r.verdict == ATTIC_NOT_RUN && r.checked == 0 && at_ok(t));
    ck_assert_msg(strstr(r.reason, "order 2 needs dual numbers: forward of exp") != NULL, "%s",
                  r.reason);
    at_close(t);
}
END_TEST

START_TEST(near_a_pole_small_steps_count)
{
    double minus = -1;
    for (double near = 1e-3; near > 1e-9; near /= 10)
        for (int order = 1; order <= 2; order++) {
            at_tape *t = at_open(ATTIC_F64, 1);
            at_tensor *x = at_variable(t, at_shape_of(1), &near);
            at_gradcheck_report r =
                at_gradcheck(t, powered, &x, 1, &minus, (at_gradcheck_options){.order = order});
            ck_assert_msg(r.verdict == ATTIC_PASS, "%g, order %d: %s", near, order, r.reason);
            at_close(t);
        }
}
END_TEST

static at_tensor *sum_of_layer_norm(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    return at_sum(t, at_add_scalar(t, at_layer_norm(t, in[0], NULL, NULL, 1e-5), 1));
}

/* y stands still in every bit, backward and the exact derivative are rounding. */
START_TEST(rounding_of_backward_that_forward_does_not_show_is_measured)
{
    for (int seed = 1; seed <= 2000; seed++) {
        at_tape *t = at_open(ATTIC_F64, (uint64_t)seed);
        at_tensor *x = at_variable(t, at_shape_of(1, 2), NULL);
        at_init_fill(x, at_normal(1), (at_stream){(uint64_t)seed, 1});
        at_gradcheck_report r =
            at_gradcheck(t, sum_of_layer_norm, &x, 1, NULL, (at_gradcheck_options){0});
        ck_assert_msg(r.verdict != ATTIC_WRONG && r.verdict != ATTIC_NON_SMOOTH, "%d: %s", seed,
                      r.reason);
        at_close(t);
    }
}
END_TEST

/* ------------------------------------------------------------------ every op ------------------- */

typedef struct {
    const at_case *c;
    at_tape *t;
    at_tensor *in[AT_MAX_CASE_INPUTS], *v[AT_MAX_CASE_INPUTS], *w[AT_MAX_CASE_INPUTS];
    int n;
} problem;

static at_tensor *case_y(at_tape *t, at_tensor **in, void *ctx)
{
    const at_case *c = ctx;
    return c->f(t, in, c->ctx);
}

static problem open_case(const at_case *c, at_dtype real)
{
    problem p = {.c = c, .t = at_open(real, (uint64_t)c->seed + 1)};
    p.n = at_case_inputs(p.t, c, p.in);
    for (int k = 0; k < p.n; k++) {
        p.v[k] = at_random(p.t, p.in[k]->shape, at_normal(1));
        p.w[k] = at_random(p.t, p.in[k]->shape, at_normal(1));
    }
    return p;
}

/* sum_i a_i b_i, and what |terms| there are */
static double dot(const at_tensor *a, bool grad, const at_tensor *b, double *terms)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < at_count(a->shape); i++) {
        double term = (grad ? at_grad_element(a, i) : at_element(a, i)) * at_element(b, i);
        sum += term;
        *terms += fabs(term);
    }
    return sum;
}

/* Of the sum of absolute terms; a var of 5 numbers around 1000 cancels three digits of them. */
static double adjoint_tolerance(const at_case *c)
{
    return c->note && strstr(c->note, "far from 0") ? 1e-12 : 1e-14;
}

/* <u, J v> = <J' u, v>: the left side is computed forward, the right one backward. */
static void assert_adjoint(problem *p)
{
    const at_case *c = p->c;
    at_tensor *dy, *y = at_jvp(p->t, case_y, p->in, p->v, p->n, (void *)c, &dy);
    ck_assert_msg(y || strstr(at_error(p->t), "has dtype") || strstr(at_error(p->t), "is i32"),
                  "%s %s: %s", c->op, at_case_text(c), at_error(p->t));
    if (!y || !y->wants_grad) return;
    at_tensor *u = at_random(p->t, y->shape, at_uniform(1));
    at_backward_from(p->t, y, u);
    double terms = 0, forward = dot(u, false, dy, &terms), back = 0;
    dot(u, false, y, &terms); /* where all terms of the derivative cancel */
    for (int k = 0; k < p->n; k++) back += dot(p->in[k], true, p->v[k], &terms);
    ck_assert_msg(fabs(forward - back) <= adjoint_tolerance(c) * terms, "%s %s: %.17g, but %.17g",
                  c->op, at_case_text(c), forward, back);
}

/* w' H v = v' H w, with H of the loss u . f(y).  Terms are those of the gradient, too, of which H may be a difference. */
static void assert_symmetric(problem *p, at_tensor *(*f)(at_tape *, at_tensor *))
{
    const at_case *c = p->c;
    at_tensor *y = case_y(p->t, p->in, (void *)c), *Hv[AT_MAX_CASE_INPUTS], *Hw[AT_MAX_CASE_INPUTS];
    if (!y || !y->wants_grad) return;
    if (f) y = f(p->t, y);
    at_tensor *loss = at_sum(p->t, at_mul(p->t, y, at_random(p->t, y->shape, at_uniform(1))));
    ck_assert_msg(at_backward(p->t, loss) &&
                      at_hvp(p->t, loss, p->in, p->v, p->n, p->in, p->n, Hv) &&
                      at_hvp(p->t, loss, p->in, p->w, p->n, p->in, p->n, Hw),
                  "%s %s: %s", c->op, at_case_text(c), at_error(p->t));
    double terms = 0, a = 0, b = 0, size = 0;
    for (int k = 0; k < p->n; k++) {
        a += dot(Hv[k], false, p->w[k], &terms), b += dot(Hw[k], false, p->v[k], &terms);
        for (ptrdiff_t j = 0; j < at_count(p->in[k]->shape); j++)
            size += fabs(at_grad_element(p->in[k], j));
    }
    ck_assert_msg(fabs(a - b) <= 1e-13 * (terms + size), "%s %s: %.17g, but %.17g", c->op,
                  at_case_text(c), a, b);
}

START_TEST(forward_and_backward_of_every_op_are_adjoint)
{
    const at_case *c;
    for (int i = 0; (c = at_case_at(i)); i++) {
        problem p = open_case(c, ATTIC_F64);
        assert_adjoint(&p);
        at_close(p.t);
    }
}
END_TEST

START_TEST(second_derivatives_of_every_op_are_symmetric)
{
    const at_case *c;
    for (int i = 0; (c = at_case_at(i)); i++) {
        problem p = open_case(c, ATTIC_F64);
        assert_symmetric(&p, NULL);
        at_close(p.t);
    }
}
END_TEST

/* Its inputs are rounded to five values, evenly spaced from low to high: many elements are equal, and -1..1 has 0. */
static problem open_tied(const at_case *c)
{
    problem p = open_case(c, ATTIC_F64);
    const bool usual = c->low == 0 && c->high == 0;
    const double low = usual ? -1 : c->low, step = ((usual ? 1 : c->high) - low) / 4;
    for (int k = 0; k < p.n && !c->values; k++)
        for (ptrdiff_t i = 0; i < at_count(p.in[k]->shape); i++)
            at_store(ATTIC_F64, p.in[k]->data, i,
                     low + step * rint((at_element(p.in[k], i) - low) / step));
    return p;
}

START_TEST(where_many_values_are_equal_every_op_shares_tangents_as_its_gradient)
{
    const at_case *c;
    for (int i = 0; (c = at_case_at(i)); i++) {
        if (c->drawn) continue; /* attention, on which a tie has no influence */
        problem p = open_tied(c), q = open_tied(c);
        assert_adjoint(&p);
        assert_symmetric(&q, at_square);
        at_close(p.t), at_close(q.t);
    }
}
END_TEST

START_TEST(equal_maxima_move_by_the_mean_of_their_tangents)
{
    const double inf = (double)INFINITY;
    at_tape *t = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), (double[]){2, 2, 1});
    at_tensor *z = at_const(t, at_shape_of(3), (double[]){inf, inf, 1});
    at_tensor *low = at_const(t, at_shape_of(3), (double[]){2, 3, -inf});
    at_set_tangent(x, (double[]){1, 3, 5}), at_set_tangent(z, (double[]){1, 3, 5});
    assert_values(at_tangent(t, at_max(t, x)), ((double[]){2}), 0);
    assert_values(at_tangent(t, at_min(t, at_neg(t, x))), ((double[]){-2}), 0);
    assert_values(at_tangent(t, at_maximum(t, x, low)), ((double[]){0.5, 0, 5}), 0);
    assert_values(at_tangent(t, at_minimum(t, low, x)), ((double[]){0.5, 3, 0}), 0);
    assert_values(at_max(t, z), ((double[]){inf}), 0);
    assert_values(at_tangent(t, at_max(t, z)), ((double[]){2}), 0);
    assert_values(at_tangent(t, at_maximum(t, z, z)), ((double[]){1, 3, 5}), 0);
    ck_assert(at_backward(t, at_square(t, at_max(t, x)))); /* 2 y (1/2, 1/2, 0), with y = 2 */
    assert_grads(x, ((double[]){2, 2, 0}), 0);
    assert_values(at_grad_tangent(t, x), ((double[]){2, 2, 0}), 0); /* y' = 2 */
    at_close(t);
}
END_TEST

static at_tensor *greatest_and_least(at_tape *t, at_tensor **in, void *ctx)
{
    (void)ctx;
    const at_shape axis = {1, {1}};
    return at_sub(t, at_max_over(t, in[0], axis, false), at_min_over(t, in[0], axis, false));
}

/* Too many for what the same op takes of a tape that has no tangents. */
START_TEST(tangents_of_many_maxima_have_the_memory_they_need)
{
    enum { ROWS = 200000 };
    for (int real = 0; real < 2; real++) {
        at_tape *t = at_open(real ? ATTIC_F64 : ATTIC_F32, 1);
        at_tensor *row = at_const(t, at_shape_of(1, 3), (double[]){2, 1, 3});
        at_tensor *x = at_expand(t, row, at_shape_of(ROWS, 3)), *Jv;
        at_tensor *v = at_mul(t, x, x);
        ck_assert_msg(at_jvp(t, greatest_and_least, &x, &v, 1, NULL, &Jv), "%s", at_error(t));
        for (ptrdiff_t i = 0; i < ROWS; i++) ck_assert(at_get(Jv, i) == 9 - 1);
        at_close(t);
    }
}
END_TEST

START_TEST(values_on_a_dual_tape_are_those_of_f64)
{
    const at_case *c;
    for (int i = 0; (c = at_case_at(i)); i++) {
        problem p = open_case(c, ATTIC_F64), q = open_case(c, ATTIC_DUAL);
        at_tensor *y = case_y(p.t, p.in, (void *)c), *z = case_y(q.t, q.in, (void *)c);
        ck_assert_msg(!y == !z, "%s %s: %s", c->op, at_case_text(c), at_error(q.t));
        double most = 0;
        for (ptrdiff_t k = 0; y && k < at_count(y->shape); k++)
            if (isfinite(at_element(y, k))) most = fmax(most, fabs(at_element(y, k)));
        for (ptrdiff_t k = 0; y && k < at_count(y->shape); k++) {
            double a = at_element(y, k), b = at_element(z, k);
            bool same = a == b || (isnan(a) && isnan(b));
            ck_assert_msg(same || (fabs(a - b) <= 8 * DBL_EPSILON * most && (a == 0) == (b == 0)),
                          "%s %s: element %td is %.17g, but %.17g", c->op, at_case_text(c), k, a,
                          b);
        }
        at_close(p.t), at_close(q.t);
    }
}
END_TEST

/* ------------------------------------------------------------------ attention ------------------ */

START_TEST(masked_keys_are_not_read_for_tangents_either)
{
    const double nan = (double)NAN;
    for (at_sdpa_path path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++) {
        at_tape *t = at_open(ATTIC_DUAL, 1);
        at_tensor *Q = at_variable(t, at_shape_of(2, 2), (double[]){1, 2, 3, 4});
        at_tensor *K = at_variable(t, at_shape_of(3, 2), (double[]){1, -1, 0, 1, nan, nan});
        at_tensor *V = at_variable(t, at_shape_of(3, 1), (double[]){5, 6, nan});
        at_set_tangent(Q, (double[]){1, 1, 1, 1});
        at_set_tangent(K, (double[]){1, 0, 0, 1, 1, 1});
        at_set_tangent(V, (double[]){1, 1, 1});
        at_tensor *n = at_ints(t, at_shape_of(1), (int32_t[]){2});
        at_tensor *O = at_sdpa(
            t, at_reshape(t, Q, at_shape_of(1, 2, 2)), at_reshape(t, K, at_shape_of(1, 3, 2)),
            at_reshape(t, V, at_shape_of(1, 3, 1)), (at_sdpa_args){.key_len = n, .path = path});
        ck_assert_msg(O && at_backward(t, at_sum(t, at_square(t, O))), "%s", at_error(t));
        for (int i = 0; i < 2; i++)
            ck_assert(isfinite(at_element(O, i)) && isfinite(at_element(at_tangent(t, O), i)));
        at_tensor *dK = at_grad_tangent(t, K), *dV = at_grad_tangent(t, V);
        for (int i = 0; i < 4; i++) ck_assert(isfinite(at_element(dK, i)));
        ck_assert(at_get(dK, 2, 0) == 0 && at_get(dV, 2, 0) == 0 && at_grad_element(V, 2) == 0);
        at_close(t);
    }
}
END_TEST

static size_t memory_of_hvp(int T)
{
    at_tape *t = at_open(ATTIC_DUAL, 1);
    at_tensor *x = at_variable(t, at_shape_of(T, 8), NULL);
    at_init_fill(x, at_normal(1), (at_stream){1, 1});
    ck_assert(at_backward(t, at_sum(t, at_square(t, at_sdpa(t, x, x, x, (at_sdpa_args){0})))));
    size_t bytes = at_memory_of(t).step_peak;
    at_close(t);
    return bytes;
}

START_TEST(memory_of_a_second_derivative_of_attention_is_linear)
{
    const double once = (double)memory_of_hvp(512), twice = (double)memory_of_hvp(1024);
    ck_assert_msg(twice < 2.1 * once, "%g bytes for 512 rows, %g for 1024", once, twice);
}
END_TEST

SUITE(autograd_tangent, tangents_of_many_maxima_have_the_memory_they_need,
      a_tangent_goes_forward_and_back, a_tangent_is_0_until_it_is_set_and_when_values_are_written,
      values_are_what_is_read_printed_and_compared, optimizers_move_tangents_too,
      a_tape_of_another_type_has_no_tangents, files_are_refused,
      an_op_without_kernels_for_dual_numbers_is_refused_by_name,
      tangents_are_held_from_1e_127_to_1e38,
      a_tangent_that_leaves_the_range_is_an_error_with_the_op,
      where_a_derivative_is_infinite_a_tangent_of_0_stays_0, directions_of_any_size_are_scaled,
      a_jvp_gives_y_and_its_tangent,
      what_was_computed_before_counts_as_a_leaf_and_a_constant_may_move,
      an_hvp_moves_some_leaves_and_reads_others, what_an_hvp_can_not_do_it_says,
      wherever_memory_runs_out_a_derivative_says_so,
      a_product_is_that_of_three_loops_and_its_values_are_those_of_f64,
      infinity_and_nan_spread_as_in_products_of_doubles, a_product_begins_with_what_it_is_added_to,
      either_witness_finds_a_wrong_backward,
      where_backward_and_differences_are_0_the_exact_derivative_counts,
      order_2_checks_the_second_derivative,
      where_rounding_drowns_differences_the_exact_derivative_decides,
      beyond_the_range_of_tangents_differences_are_alone_and_order_2_is_not_run,
      near_a_pole_small_steps_count, rounding_of_backward_that_forward_does_not_show_is_measured,
      the_list_of_results_may_be_that_of_the_directions,
      a_direction_of_many_elements_is_read_to_its_end, a_result_is_finite_where_the_loss_is,
      forward_and_backward_of_every_op_are_adjoint,
      where_many_values_are_equal_every_op_shares_tangents_as_its_gradient,
      equal_maxima_move_by_the_mean_of_their_tangents, second_derivatives_of_every_op_are_symmetric,
      values_on_a_dual_tape_are_those_of_f64, masked_keys_are_not_read_for_tangents_either,
      memory_of_a_second_derivative_of_attention_is_linear)
