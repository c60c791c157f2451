/* test_backward.c -- the chain rule, once back over the tape. */
#include "autograd/tape.h"

#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "ops/ops.h"
#include "test.h"

static at_tape *t;
static at_tensor *x;

/* x = (1, 2, 3), a variable */
static void open_with_x(void)
{
    t = at_open(ATTIC_F64, 1);
    x = at_name(at_variable(t, at_shape_of(3), (double[]){1, 2, 3}), "x");
}

static void assert_error(const char *text)
{
    ck_assert_str_eq(at_error(t), text);
    at_clear_error(t);
}

static void assert_dx(double a, double b, double c)
{
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    assert_close(at_grad_element(x, 0), a, 1e-14);
    assert_close(at_grad_element(x, 1), b, 1e-14);
    assert_close(at_grad_element(x, 2), c, 1e-14);
}

START_TEST(a_chain_multiplies_its_derivatives)
{
    open_with_x();
    at_tensor *y = at_square(t, at_scale(t, x, 3)); /* 9 x^2 */
    at_backward(t, at_sum(t, y));
    assert_dx(18, 36, 54);
    at_close(t);
}
END_TEST

START_TEST(several_uses_add_up)
{
    open_with_x();
    at_tensor *y = at_add(t, at_mul(t, x, x), at_scale(t, x, 5)); /* x^2 + 5 x */
    at_backward(t, at_sum(t, y));
    assert_dx(7, 9, 11);
    at_close(t);
}
END_TEST

START_TEST(a_cotangent_weighs_the_outputs)
{
    open_with_x();
    at_tensor *y = at_square(t, x);
    at_backward_from(t, y, at_const(t, at_shape_of(3), (double[]){1, 0, -1}));
    assert_dx(2, 0, -6);
    at_close(t);
}
END_TEST

START_TEST(leaves_accumulate_and_intermediates_start_fresh)
{
    open_with_x();
    at_tensor *y = at_square(t, x), *loss = at_sum(t, y);
    at_backward(t, loss);
    at_backward(t, loss);
    assert_dx(4, 8, 12);
    ck_assert(at_grad_element(y, 0) == 1);
    at_zero_grads(t);
    ck_assert_ptr_null(x->grad);
    at_backward(t, loss);
    assert_dx(2, 4, 6);
    at_close(t);
}
END_TEST

START_TEST(intermediates_that_outlive_a_rewind_start_fresh_too)
{
    open_with_x();
    at_tensor *y = at_scale(t, x, 2);
    at_backward(t, at_sum(t, y)); /* dy has a place of its own now, which stays */
    at_mark after_y = at_mark_here(t);
    for (int i = 0; i < 2; i++) {
        at_backward(t, at_sum(t, y));
        at_rewind(t, after_y);
    }
    assert_dx(3 * 2, 3 * 2, 3 * 2);
    at_close(t);
}
END_TEST

START_TEST(two_losses_accumulate)
{
    open_with_x();
    at_backward(t, at_sum(t, x));
    at_backward(t, at_sum(t, at_square(t, x)));
    assert_dx(3, 5, 7);
    at_close(t);
}
END_TEST

START_TEST(only_what_the_loss_depends_on_gets_a_gradient)
{
    open_with_x();
    at_tensor *unused = at_exp(t, x), *used = at_scale(t, x, 2);
    at_backward(t, at_sum(t, used));
    ck_assert_ptr_null(unused->grad);
    ck_assert_ptr_nonnull(used->grad);
    assert_dx(2, 2, 2);
    at_close(t);
}
END_TEST

START_TEST(no_grad_records_constants)
{
    open_with_x();
    at_no_grad(t, true);
    at_tensor *y = at_square(t, x);
    at_no_grad(t, false);
    at_backward(t, at_sum(t, at_mul(t, x, y))); /* x * c, c = x^2 */
    assert_dx(1, 4, 9);
    ck_assert(!y->wants_grad && !y->grad);
    at_close(t);
}
END_TEST

START_TEST(a_leaf_can_be_the_loss)
{
    open_with_x();
    at_backward_from(t, x, at_const(t, at_shape_of(3), (double[]){4, 5, 6}));
    assert_dx(4, 5, 6);
    at_close(t);
}
END_TEST

START_TEST(the_loss_must_be_one_number_and_depend_on_something)
{
    open_with_x();
    ck_assert(!at_backward(t, at_square(t, x)));
    assert_error("backward: the loss is [3]; it must have one element, or use at_backward_from");
    at_backward_from(t, at_square(t, x), at_const(t, at_shape_of(2), NULL));
    assert_error("backward: the upstream gradient is [2] but the output is [3]");
    at_backward(t, at_name(at_const(t, at_shape_of(), NULL), "loss"));
    assert_error("backward: \"loss\" [] does not depend on any tensor that wants a gradient (a "
                 "constant, a detached copy, a frozen parameter, or recorded under at_no_grad)");
    at_backward(t, NULL);
    assert_error("backward: y is NULL");
    at_close(t);
}
END_TEST

START_TEST(an_input_written_after_it_was_recorded_is_an_error)
{
    open_with_x();
    at_tensor *loss = at_sum(t, at_square(t, x));
    at_set(x, 10, 0);
    ck_assert(!at_backward(t, loss));
    assert_error("backward: input 0 of square \"x\" [3] was written after it was recorded; run the "
                 "forward again (at_replay)");
    at_zero_grads(t);
    ck_assert(at_replay(t) && at_backward(t, loss));
    ck_assert(at_item(loss) == 100 + 4 + 9);
    assert_dx(20, 4, 6);
    at_close(t);
}
END_TEST

START_TEST(debug_builds_notice_data_written_behind_the_tapes_back)
{
#ifdef ATTIC_DEBUG
    open_with_x();
    at_tensor *loss = at_sum(t, at_square(t, x));
    ((double *)x->data)[0] = 10;
    ck_assert(!at_backward(t, loss));
    assert_error("backward: input 0 of square \"x\" [3] was written after it was recorded; run the "
                 "forward again (at_replay)");
    at_close(t);
#endif
}
END_TEST

START_TEST(a_replay_gives_the_same_bits)
{
    t = at_open(ATTIC_F32, 1);
    at_tensor *W = at_param(t, "W", at_shape_of(8, 8), at_normal(1));
    at_tensor *y = at_dropout(t, at_softmax(t, at_matmul(t, W, W)), 0.5);
    float before[64];
    memcpy(before, y->data, sizeof before);
    memset(y->data, 0, sizeof before);
    ck_assert(at_replay(t));
    ck_assert_mem_eq(before, y->data, sizeof before);
    at_close(t);
}
END_TEST

START_TEST(a_gradient_is_passed_on_without_a_copy)
{
    open_with_x();
    at_tensor *y = at_scale(t, x, 2), *z = at_reshape(t, y, at_shape_of(3, 1));
    at_backward(t, at_sum(t, at_square(t, z)));
    ck_assert_ptr_nonnull(z->grad);
    ck_assert_ptr_eq(y->grad, z->grad);
    assert_dx(8, 16, 24);
    at_close(t);
}
END_TEST

START_TEST(what_is_added_to_a_gradient_that_was_lent_reaches_nobody_else)
{
    open_with_x();
    at_tensor *y = at_scale(t, x, 2), *s = at_square(t, y), *z = at_add(t, s, y); /* y^2 + y */
    for (int again = 0; again < 2; again++) {
        at_zero_grads(t);
        at_backward(t, at_sum(t, z));
        for (int i = 0; i < 3; i++) {
            ck_assert(at_grad_element(z, i) == 1);
            ck_assert(at_grad_element(s, i) == 1);
            ck_assert(at_grad_element(y, i) == 1 + 2 * at_element(y, i));
        }
        assert_dx(10, 18, 26);
    }
    at_close(t);
}
END_TEST

START_TEST(a_gradient_is_passed_on_twice_to_one_tensor)
{
    for (int keep = 0; keep < 2; keep++) {
        open_with_x();
        at_reuse_memory(t, !keep);
        at_tensor *y = at_scale(t, x, 5);
        at_backward(t, at_sum(t, at_add(t, y, y)));
        assert_dx(10, 10, 10);
        at_close(t);
    }
}
END_TEST

START_TEST(a_cotangent_is_lent_and_comes_back_unchanged)
{
    open_with_x();
    at_tensor *y = at_scale(t, x, 2), *dy = at_const(t, at_shape_of(3), (double[]){4, 5, 6});
    at_backward_from(t, at_add(t, y, at_square(t, y)), dy); /* dy (1 + 2 y) */
    assert_dx(4 * 10, 5 * 18, 6 * 26);
    for (int i = 0; i < 3; i++) ck_assert(at_element(dy, i) == 4 + i);
    at_close(t);
}
END_TEST

START_TEST(a_rewind_forgets_gradients_lent_from_memory_that_goes)
{
    open_with_x();
    at_tensor *y = at_scale(t, x, 2);
    at_mark m = at_mark_here(t);
    at_backward(t, at_sum(t, at_reshape(t, y, at_shape_of(3, 1))));
    ck_assert_ptr_nonnull(y->grad);
    at_rewind(t, m);
    ck_assert_ptr_null(y->grad);
    at_close(t);
}
END_TEST

/* a residual chain of softmax(y) W; returns dW */
static void gradient_of_W(bool keep, float dW[32 * 32], size_t *peak)
{
    t = at_open(ATTIC_F32, 3);
    at_reuse_memory(t, !keep);
    at_tensor *W = at_param(t, "W", at_shape_of(32, 32), at_normal(1)), *y = W;
    for (int i = 0; i < 10; i++) {
        at_tensor *s = at_softmax(t, at_mul(t, at_exp(t, at_scale(t, y, 0.1)), at_tanh(t, y)));
        y = at_add(t, at_scale(t, y, 0.5), at_reshape(t, at_matmul(t, s, W), at_shape_of(32, 32)));
    }
    ck_assert(at_backward(t, at_mean(t, y)));
    memcpy(dW, W->grad, 32 * 32 * sizeof *dW);
    *peak = at_memory_of(t).step_peak;
    at_close(t);
}

START_TEST(reuse_saves_memory_and_changes_no_bit)
{
    float kept[32 * 32], reused[32 * 32];
    size_t kept_peak, reused_peak;
    gradient_of_W(true, kept, &kept_peak);
    gradient_of_W(false, reused, &reused_peak);
    ck_assert_mem_eq(kept, reused, sizeof kept);
    ck_assert_uint_lt(reused_peak, kept_peak * 3 / 4);
}
END_TEST

START_TEST(anomaly_mode_sees_a_cotangent_whose_memory_is_reused)
{
    open_with_x();
    at_reuse_memory(t, true);
    at_anomaly(t, true);
    at_tensor *zero = at_sub(t, x, x);
    ck_assert(!at_backward(t, at_sum(t, at_sqrt(t, at_scale(t, zero, 1)))));
    assert_error("anomaly: backward of sqrt (op 2) made inf at [0] of the gradient of its input 0 "
                 "[3] from finite upstream gradients");
    at_close(t);
}
END_TEST

START_TEST(what_was_reused_is_refused_by_name)
{
    open_with_x();
    at_reuse_memory(t, true);
    at_tensor *y = at_name(at_scale(t, x, 2), "y"), *loss = at_sum(t, at_square(t, y));
    ck_assert(at_backward(t, loss));
    assert_dx(8, 16, 24);
    ck_assert(at_item(loss) == 56); /* the loss stays readable */
    at_get(y, 0);
    assert_error("get: the memory of x \"y\" [3] was reused by a backward (at_reuse_memory is on)");
    at_exp(t, y);
    assert_error("exp: the memory of x \"y\" [3] was reused by a backward (at_reuse_memory is on)");
    ck_assert(!at_backward(t, loss));
    assert_error("backward: input 0 of sum [3] was reused by an earlier backward; run the forward "
                 "again, or switch at_reuse_memory off");
    ck_assert(!at_replay(t));
    assert_error(
        "replay: the output of scale [3] was reused by a backward (at_reuse_memory is on)");
    at_close(t);
}
END_TEST

SUITE(autograd_backward, a_chain_multiplies_its_derivatives, several_uses_add_up,
      a_cotangent_weighs_the_outputs, leaves_accumulate_and_intermediates_start_fresh,
      intermediates_that_outlive_a_rewind_start_fresh_too, two_losses_accumulate,
      only_what_the_loss_depends_on_gets_a_gradient, no_grad_records_constants,
      a_leaf_can_be_the_loss, the_loss_must_be_one_number_and_depend_on_something,
      an_input_written_after_it_was_recorded_is_an_error,
      debug_builds_notice_data_written_behind_the_tapes_back, a_replay_gives_the_same_bits,
      a_gradient_is_passed_on_without_a_copy,
      what_is_added_to_a_gradient_that_was_lent_reaches_nobody_else,
      a_gradient_is_passed_on_twice_to_one_tensor, a_cotangent_is_lent_and_comes_back_unchanged,
      a_rewind_forgets_gradients_lent_from_memory_that_goes, reuse_saves_memory_and_changes_no_bit,
      anomaly_mode_sees_a_cotangent_whose_memory_is_reused, what_was_reused_is_refused_by_name)
