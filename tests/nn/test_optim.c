/* test_optim.c -- parameters move as the equations say, and only those that should. */
#include "nn/optim.h"
#include "kernels/parallel.h"
#include "tensor/arena.h"
#include "tensors.h"

#include <math.h>
#include <unistd.h>

#include "golden/optim.inc"

static at_tensor *W, *b;

static void make_parameters(at_tape *t)
{
    W = at_param(t, "W", at_shape_of(2, 3), at_values(start_W));
    b = at_param(t, "b", at_shape_of(3), at_values(start_b));
}

/* As in golden/optim.py: at step 2 none arrives at b. */
static void arrive(at_tape *t, at_tensor *x, int step)
{
    double g[6];
    if (x == b && step == 2) return;
    for (int i = 0; i < at_count(x->shape); i++)
        g[i] = exp2(step % 3) * sin((x == W ? 5 : 9) + 1.3 * step + 0.7 * i);
    ck_assert(at_backward_from(t, x, at_const(t, x->shape, g)));
}

/* What all optimizers look like to these tests. */
typedef bool stepper(at_tape *t);

static void check_seven_steps(stepper *step, const double *golden)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        for (int i = 0; i < 7; i++) {
            arrive(t, W, i), arrive(t, b, i);
            ck_assert(step(t));
            ck_assert(!W->grad && !b->grad);
        }
        assert_values(W, golden, 10 * close_to(t));
        assert_values(b, golden + 6, 10 * close_to(t));
    }
}

static bool sgd(at_tape *t)
{
    return at_sgd(t, 0.1);
}

static bool sgd_decay(at_tape *t)
{
    return at_sgd_with(t, 0.1, (at_sgd_args){.weight_decay = 0.3});
}

static bool momentum(at_tape *t)
{
    return at_sgd_with(t, 0.1, (at_sgd_args){.momentum = 0.9});
}

static bool nesterov(at_tape *t)
{
    at_sgd_args args = {.momentum = 0.9, .nesterov = true, .weight_decay = 0.3};
    return at_sgd_with(t, 0.1, args);
}

static bool adam(at_tape *t)
{
    return at_adam(t, 0.1, (at_adamw_args){0});
}

static bool adam_decay(at_tape *t)
{
    return at_adam(t, 0.1, (at_adamw_args){.weight_decay = 0.3});
}

static bool adamw(at_tape *t)
{
    return at_adamw(t, 0.1, (at_adamw_args){.weight_decay = 0.3});
}

static bool adamw_betas(at_tape *t)
{
    at_adamw_args args = {.beta1 = 0.8, .beta2 = 0.95, .eps = 0.01, .weight_decay = 0.3};
    return at_adamw(t, 0.1, args);
}

static bool rmsprop(at_tape *t)
{
    return at_rmsprop(t, 0.1, (at_rmsprop_args){0});
}

static bool rmsprop_momentum(at_tape *t)
{
    at_rmsprop_args args = {.alpha = 0.9, .eps = 0.01, .momentum = 0.8, .weight_decay = 0.3};
    return at_rmsprop(t, 0.1, args);
}

static bool lion(at_tape *t)
{
    return at_lion(t, 0.1, (at_lion_args){0});
}

static bool lion_decay(at_tape *t)
{
    at_lion_args args = {.beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.3};
    return at_lion(t, 0.1, args);
}

START_TEST(seven_steps_of_descent_equal_the_golden_numbers)
{
    check_seven_steps(sgd, golden_sgd);
    check_seven_steps(sgd_decay, golden_sgd_decay);
    check_seven_steps(momentum, golden_momentum);
    check_seven_steps(nesterov, golden_nesterov);
}
END_TEST

START_TEST(seven_steps_of_adam_equal_the_golden_numbers)
{
    check_seven_steps(adam, golden_adam);
    check_seven_steps(adam_decay, golden_adam_decay);
    check_seven_steps(adamw, golden_adamw);
    check_seven_steps(adamw_betas, golden_adamw_betas);
}
END_TEST

START_TEST(seven_steps_of_rmsprop_and_of_lion_equal_the_golden_numbers)
{
    check_seven_steps(rmsprop, golden_rmsprop);
    check_seven_steps(rmsprop_momentum, golden_rmsprop_momentum);
    check_seven_steps(lion, golden_lion);
    check_seven_steps(lion_decay, golden_lion_decay);
}
END_TEST

/* The sign of 0 is 0, and a gradient that is no number does not hide in a step of lr. */
START_TEST(a_step_of_lion_is_lr_0_or_NaN)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        ck_assert(pull(t, W, (double[]){1000, -0.001, 0, (double)NAN, (double)INFINITY, -0.0}));
        ck_assert(at_lion(t, 0.5, (at_lion_args){0}));
        const double moved[] = {start_W[0] - 0.5, start_W[1] + 0.5, start_W[2],
                                (double)NAN,      start_W[4] - 0.5, start_W[5]};
        assert_values(W, moved, close_to(t));
        ck_assert_str_eq(at_find_state(t, W, "lion_m")->name, "W:lion_m");
    }
}
END_TEST

START_TEST(the_first_step_of_rmsprop_is_10_lr)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        ck_assert(pull(t, b, (double[]){1000, -1, 0}) && rmsprop(t));
        const double moved[] = {start_b[0] - 1, start_b[1] + 1, start_b[2]};
        assert_values(b, moved, 1e-6);
        ck_assert(at_find_state(t, b, "rmsprop_v") && !at_find_state(t, b, "rmsprop_m"));
    }
}
END_TEST

START_TEST(the_first_step_of_adam_is_lr_whatever_the_gradient)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        ck_assert(pull(t, b, (double[]){1000, -0.001, 0}));
        ck_assert(at_adamw(t, 0.5, (at_adamw_args){0}));
        const double moved[] = {start_b[0] - 0.5, start_b[1] + 0.5, start_b[2]};
        assert_values(b, moved, 1e-5); /* eps / 0.001 */
    }
}
END_TEST

START_TEST(a_learning_rate_of_0_moves_no_parameter_but_is_a_step)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        arrive(t, W, 0), arrive(t, b, 0);
        ck_assert(at_adamw(t, 0, (at_adamw_args){.weight_decay = 0.3}));
        arrive(t, W, 0), arrive(t, b, 0);
        ck_assert(at_sgd_with(t, 0, (at_sgd_args){.momentum = 0.9}));
        ck_assert(equal_bits(W, at_const(t, W->shape, start_W)));
        ck_assert(at_item(at_param_state_of(t, W, "adam_k", at_shape_of())) == 1);
        ck_assert(at_get(at_param_state(t, W, "momentum"), 0, 0) != 0 && !W->grad);
    }
}
END_TEST

START_TEST(a_parameter_without_gradient_stays_as_it_is)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        for (int i = 0; i < 3; i++) {
            arrive(t, W, i);
            ck_assert(nesterov(t) && adamw(t));
        }
        assert_values(b, start_b, at_real(t) == ATTIC_F32 ? 1e-7 : 0);
        ck_assert(at_get(W, 0, 0) != start_W[0]);
    }
}
END_TEST

START_TEST(weight_decay_can_spare_what_is_no_matrix)
{
    const double none[6] = {0};
    double shorter[6];
    for (int i = 0; i < 6; i++) shorter[i] = start_W[i] * (1 - 0.1 * 0.5);
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        ck_assert(pull(t, W, none) && pull(t, b, none));
        ck_assert(at_adamw(t, 0.1, (at_adamw_args){.weight_decay = 0.5, .decay_matrices = true}));
        assert_values(W, shorter, close_to(t));
        assert_values(b, start_b, close_to(t));
        ck_assert(pull(t, W, none) && pull(t, b, none));
        ck_assert(at_lion(t, 0.1, (at_lion_args){.weight_decay = 0.5, .decay_matrices = true}));
        assert_close(at_get(W, 0, 0), shorter[0] * (1 - 0.1 * 0.5), close_to(t));
        assert_values(b, start_b, close_to(t));
    }
}
END_TEST

/* Which of these parameters does a step with such patterns move?  One letter for each that it does. */
static const char *moved_by(const char *only, const char *except)
{
    static const char *const name[] = {"in.W", "in.b", "block0.W", "block0.b", "block1.W", "W"};
    static char letters[7];
    at_tape *t = at_open(ATTIC_F64, 1);
    int n = 0;
    for (int i = 0; i < 6; i++) {
        at_tensor *x = at_param(t, name[i], at_shape_of(1), at_zeros());
        ck_assert(pull(t, x, (double[]){1}));
    }
    ck_assert(at_sgd_with(t, 1, (at_sgd_args){.only = only, .except = except}));
    for (int i = 0; i < 6; i++) {
        at_tensor *x = at_param_at(t, i);
        ck_assert((at_item(x) == -1) == (x->grad == NULL)); /* cleared if and only if moved */
        if (at_item(x) == -1) letters[n++] = (char)('a' + i);
    }
    letters[n] = 0;
    at_close(t);
    return letters;
}

START_TEST(patterns_choose_the_parameters_of_a_group)
{
    ck_assert_str_eq(moved_by(NULL, NULL), "abcdef");
    ck_assert_str_eq(moved_by("W", NULL), "f");
    ck_assert_str_eq(moved_by("*W", NULL), "acef");
    ck_assert_str_eq(moved_by("*.W", NULL), "ace");
    ck_assert_str_eq(moved_by("block*", NULL), "cde");
    ck_assert_str_eq(moved_by("block*.W", NULL), "ce");
    ck_assert_str_eq(moved_by("*o*0*b", NULL), "d");
    ck_assert_str_eq(moved_by("in.*,*.b", NULL), "abd");
    ck_assert_str_eq(moved_by(NULL, "*.b"), "acef");
    ck_assert_str_eq(moved_by("block*", "*1*"), "cd");
    ck_assert_str_eq(moved_by("*", "*"), "");
}
END_TEST

START_TEST(two_groups_step_as_if_they_were_one)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        for (int i = 0; i < 7; i++) {
            arrive(t, W, i), arrive(t, b, i);
            ck_assert(at_adamw(t, 0.1, (at_adamw_args){.weight_decay = 0.3, .only = "W"}));
            ck_assert(!W->grad);
            ck_assert(at_adamw(t, 0.1, (at_adamw_args){.weight_decay = 0.3, .except = "W"}));
        }
        assert_values(W, golden_adamw, 10 * close_to(t));
        assert_values(b, golden_adamw + 6, 10 * close_to(t));
    }
}
END_TEST

START_TEST(the_state_is_named_and_counts_the_steps_of_each_parameter)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        for (int i = 0; i < 4; i++) {
            arrive(t, W, i), arrive(t, b, i);
            ck_assert(adamw(t));
        }
        ck_assert(at_item(at_param_state_of(t, W, "adam_k", at_shape_of())) == 4);
        ck_assert(at_item(at_param_state_of(t, b, "adam_k", at_shape_of())) == 3);
        ck_assert_str_eq(at_param_state(t, W, "adam_m")->name, "W:adam_m");
        ck_assert(at_get(at_param_state(t, b, "adam_v"), 0) > 0);
        ck_assert_ptr_null(at_param_state(t, b, "adam_k"));
        assert_error(t, "param_state: \"b:adam_k\" [] is there already, and is not [3]");
    }
}
END_TEST

START_TEST(copied_parameters_and_state_go_on_bit_for_bit)
{
    at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 2);
    static const char *const what[] = {"adam_m", "adam_v", "adam_k"};
    at_tensor *x = at_param(t, "x", at_shape_of(3), at_values(start_b));
    at_tensor *y = at_param(u, "x", at_shape_of(3), at_zeros());
    for (int i = 0; i < 6; i++) {
        if (i == 3) {
            at_copy_params(u, t);
            for (int k = 0; k < 3; k++) {
                at_shape s = k < 2 ? x->shape : at_shape_of();
                at_tensor *from = at_param_state_of(t, x, what[k], s);
                memcpy(at_param_state_of(u, y, what[k], s)->data, from->data, at_bytes(from));
            }
        }
        ck_assert(pull(t, x, start_W + i % 3) && adamw(t));
        if (i >= 3) ck_assert(pull(u, y, start_W + i % 3) && adamw(u));
    }
    ck_assert_mem_eq(x->data, y->data, at_bytes(x));
    at_close(t), at_close(u);
}
END_TEST

START_TEST(what_was_recorded_before_a_step_cannot_run_backward_after_it)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    make_parameters(t);
    at_tensor *y = at_mul(t, b, b);
    ck_assert(pull(t, y, start_b) && sgd(t));
    ck_assert(!pull(t, y, start_b));
    assert_error(t, "backward: input 0 of mul \"b\" [3] was written after it was recorded; run the "
                    "forward again (at_replay)");
    at_close(t);
}
END_TEST

static bool slow_rmsprop(at_tape *t)
{
    return at_rmsprop(t, 0.05, (at_rmsprop_args){.eps = 1});
}

START_TEST(they_all_find_the_minimum_of_a_bowl)
{
    stepper *all[] = {sgd, momentum, adam, slow_rmsprop};
    static const char *const name[] = {"sgd", "mom", "adam", "rmsprop"};
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 4; k++) {
            at_tensor *x = at_param(t, name[k], at_shape_of(3), at_values(start_b));
            at_tensor *bottom = at_const(t, at_shape_of(3), (double[]){1, 2, 3});
            at_mark step = at_mark_here(t);
            for (int i = 0; i < 400; i++) {
                at_tensor *d = at_sub(t, x, bottom);
                ck_assert(at_backward(t, at_sum(t, at_mul(t, d, d))) && all[k](t));
                at_rewind(t, step);
            }
            assert_values(x, ((double[]){1, 2, 3}), 1e-3);
        }
}
END_TEST

START_TEST(in_the_steady_state_a_step_calls_malloc_zero_times)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    make_parameters(t);
    at_mark step = at_mark_here(t);
    ptrdiff_t before = 0;
    for (int i = 0; i < 5; i++) {
        if (i == 2) before = at_mallocs();
        arrive(t, W, i), arrive(t, b, i);
        ck_assert(at_clip_grad_norm(t, 1) > 0 && adamw(t));
        at_rewind(t, step);
    }
    ck_assert_int_eq(at_mallocs(), before);
    at_close(t);
}
END_TEST

START_TEST(when_memory_runs_out_nothing_has_moved)
{
    for (int n = 1;; n++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        make_parameters(t);
        arrive(t, W, 0), arrive(t, b, 0);
        at_fail_allocation(n);
        bool done = adamw(t);
        at_fail_allocation(0);
        if (!done) {
            ck_assert_int_eq(at_error_kind_of(t), ATTIC_MEMORY_ERROR);
            assert_values(W, start_W, 0);
            assert_values(b, start_b, 0);
            ck_assert(W->grad && b->grad);
        }
        at_close(t);
        if (done) break;
        ck_assert_int_lt(n, 100);
    }
}
END_TEST

static void make_layers(at_tape *t, int n)
{
    char name[24];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "layer%d", i);
        at_scope(t, name);
        at_name(at_param(t, "v", at_shape_of(1), at_ones()), strcat(name, ".b"));
        at_param(t, "W", at_shape_of(1), at_ones());
        at_scope_end(t);
    }
}

/* Were any of this quadratic, it would take minutes: what fails then is the time limit of a test. */
START_TEST(a_parameter_costs_the_same_among_many)
{
#ifdef ATTIC_SLOW_MODE
    enum { LAYERS = 10000 };
#else
    enum { LAYERS = 100000 };
#endif
    at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F64, 1);
    make_layers(t, LAYERS), make_layers(u, LAYERS);
    at_tensor *dy = at_const(t, at_shape_of(1), (double[]){1});
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < at_param_count(t); i++) at_backward_from(t, at_param_at(t, i), dy);
        assert_close(at_clip_grad_norm(t, (double)INFINITY), sqrt(2 * LAYERS), 1e-9);
        ck_assert_int_eq(at_grad_report(t, NULL), 0);
        ck_assert(at_adamw(t, 0.25, (at_adamw_args){.only = "*.b"}));
        ck_assert(at_sgd_with(t, 0.25, (at_sgd_args){.momentum = 0.9, .except = "*.b"}));
    }
    ck_assert_msg(at_copy_params(u, t), "%s", at_error(u));
    assert_close(at_item(at_find_param(u, "layer9999.b")), 1 - 0.25 - 0.25, 1e-6);
    assert_close(at_item(at_param_at(u, 2 * LAYERS - 1)), 1 - 0.25 - 0.25 * 1.9, 1e-6);
    at_close(t), at_close(u);
}
END_TEST

/* One large parameter among many small ones, one of them empty. */
static void make_many(at_tape *t, at_tape *like)
{
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        at_shape s = at_shape_of(i == 20 ? 50000 : i == 30 ? 0 : i + 1);
        at_tensor *x = at_param(t, name, s, at_normal(1));
        at_tensor *g = at_random(t, s, at_normal(1));
        if (like) memcpy(x->data, at_param_at(like, i)->data, at_bytes(x));
        if (like) memcpy(g->data, at_param_at(like, i)->grad, at_bytes(g));
        ck_assert(at_backward_from(t, x, g));
    }
}

static void check_bits_with_threads(stepper *move)
{
    at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 1);
    make_many(t, NULL), make_many(u, t);
    at_threads(1);
    double norm = at_clip_grad_norm(t, 0.5);
    ck_assert(at_clip_grad_value(t, 1e-3) && move(t));
    at_threads(3);
    ck_assert(norm == at_clip_grad_norm(u, 0.5) && at_clip_grad_value(u, 1e-3) && move(u));
    at_threads(0);
    for (int i = 0; i < 50; i++) {
        at_tensor *x = at_param_at(t, i), *y = at_param_at(u, i);
        if (i != 30) ck_assert_mem_eq(x->data, y->data, at_bytes(x));
        ck_assert_ptr_null(x->grad);
    }
    at_close(t), at_close(u);
}

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    check_bits_with_threads(adamw);
    check_bits_with_threads(rmsprop_momentum);
    check_bits_with_threads(lion_decay);
}
END_TEST

/* ------------------------------------------------------------------ muon ----------------------- */

/* Seven steps of one matrix with W's numbers in this shape. */
static void check_muon(int rows, int cols, at_muon_args args, const double *golden)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_param(t, "x", at_shape_of(rows, cols), at_values(start_W));
        for (int i = 0; i < 7; i++) {
            double g[6];
            for (int k = 0; k < 6; k++) g[k] = exp2(i % 3) * sin(5 + 1.3 * i + 0.7 * k);
            ck_assert(pull(t, x, g) && at_muon(t, 0.1, args) && !x->grad);
        }
        assert_values(x, golden, 100 * close_to(t));
    }
}

START_TEST(seven_steps_of_muon_equal_the_golden_numbers)
{
    check_muon(2, 3, (at_muon_args){.weight_decay = 0.2}, golden_muon);
    check_muon(3, 2, (at_muon_args){.momentum = 0.8, .weight_decay = 0.3}, golden_muon_tall);
    check_muon(3, 2, (at_muon_args){.steps = 2}, golden_muon_steps);
}
END_TEST

/* Which of these are moved by this?  One letter for each. */
static const char *moved_by_muon(at_muon_args args)
{
    static const char *const name[] = {"E", "P", "block0.q.W", "block0.norm1.g", "head.W", "m.E"};
    static char letters[7];
    at_tape *t = at_open(ATTIC_F64, 1);
    int n = 0;
    for (int i = 0; i < 6; i++) {
        at_tensor *x = at_param(t, name[i], i == 3 ? at_shape_of(2) : at_shape_of(2, 2), at_ones());
        ck_assert(pull(t, x, (double[]){1, 2, 3, 5}));
    }
    ck_assert(at_muon(t, 1, args));
    for (int i = 0; i < 6; i++) {
        at_tensor *x = at_param_at(t, i);
        const bool moved = at_element(x, 0) != 1;
        ck_assert(moved == (x->grad == NULL) && moved == (at_find_state(t, x, "muon_m") != NULL));
        if (moved) letters[n++] = (char)('a' + i);
    }
    letters[n] = 0;
    ck_assert(at_adamw(t, 1, (at_adamw_args){0})); /* those that are left, or none */
    for (int i = 0; i < 6; i++) ck_assert(!at_param_at(t, i)->grad);
    at_close(t);
    return letters;
}

START_TEST(muon_takes_the_matrices_between_layers_and_leaves_the_rest)
{
    ck_assert_str_eq(moved_by_muon((at_muon_args){0}), "c");
    ck_assert_str_eq(moved_by_muon((at_muon_args){.except = ""}), "abcef");
    ck_assert_str_eq(moved_by_muon((at_muon_args){.only = "E,*.W", .except = "head.W"}), "ac");
}
END_TEST

/* A step of length lr, whatever the gradient's: singular values of O(U) are near 1. */
START_TEST(a_step_of_muon_has_the_length_lr_in_every_direction)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *x = at_param(t, "x", at_shape_of(2, 2), at_zeros());
        ck_assert(pull(t, x, (double[]){1000, 0, 0, -50}) && at_muon(t, 0.5, (at_muon_args){0}));
        ck_assert(-at_get(x, 0, 0) > 0.5 * 0.68 && -at_get(x, 0, 0) < 0.5 * 1.15);
        ck_assert(at_get(x, 1, 1) > 0.5 * 0.68 && at_get(x, 1, 1) < 0.5 * 1.15);
        ck_assert(at_get(x, 0, 1) == 0 && at_get(x, 1, 0) == 0);
        at_tensor *y = at_param(t, "y", at_shape_of(2, 2), at_ones());
        ck_assert(pull(t, y, (double[4]){0}) && at_muon(t, 0.5, (at_muon_args){0}));
        assert_values(y, ((double[]){1, 1, 1, 1}), 0); /* no gradient, no step */
        at_tensor *none = at_param(t, "none", at_shape_of(0, 3), at_zeros());
        ck_assert(at_backward_from(t, none, at_const(t, none->shape, NULL)));
        ck_assert(at_muon(t, 0.5, (at_muon_args){0}) && !none->grad);
    }
}
END_TEST

START_TEST(muon_has_the_same_bits_on_any_number_of_threads)
{
    at_tensor *x[2];
    for (int k = 0; k < 2; k++) {
        at_threads(k ? 3 : 1);
        at_tape *t = at_open(ATTIC_F32, 1);
        x[k] = at_param(t, "x", at_shape_of(300, 500), at_normal(1));
        for (int i = 0; i < 3; i++) {
            at_tensor *g = at_random(t, x[k]->shape, at_normal(1));
            ck_assert(at_backward_from(t, x[k], g) && at_muon(t, 0.1, (at_muon_args){0}));
        }
    }
    at_threads(0);
    ck_assert(equal_bits(x[0], x[1]));
    at_close(x[0]->tape), at_close(x[1]->tape);
}
END_TEST

START_TEST(when_memory_for_muon_runs_out_nothing_has_moved)
{
    for (int n = 1;; n++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        make_parameters(t);
        arrive(t, W, 0);
        const double dw = at_grad_element(W, 0);
        at_fail_allocation(n);
        const bool done = at_muon(t, 0.1, (at_muon_args){0});
        at_fail_allocation(0);
        if (!done) {
            ck_assert_int_eq(at_error_kind_of(t), ATTIC_MEMORY_ERROR);
            assert_values(W, start_W, 0);
            ck_assert(at_grad_element(W, 0) == dw);
        }
        at_close(t);
        if (done) break;
        ck_assert_int_lt(n, 100);
    }
}
END_TEST

static void refuses_muon(double lr, at_muon_args args, const char *message)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    make_parameters(t);
    arrive(t, W, 0), arrive(t, b, 0);
    ck_assert(!at_muon(t, lr, args));
    assert_error(t, message);
    assert_values(W, start_W, 1e-7);
    at_close(t);
}

START_TEST(wrong_arguments_of_muon_are_named)
{
    refuses_muon(-1, (at_muon_args){0}, "muon: lr is -1 but must be finite and >= 0");
    refuses_muon(0.1, (at_muon_args){.momentum = 1},
                 "muon: momentum is 1 but must be above 0 and below 1");
    refuses_muon(0.1, (at_muon_args){.weight_decay = -1},
                 "muon: weight_decay is -1 but must be finite and >= 0");
    refuses_muon(0.1, (at_muon_args){.steps = -1}, "muon: steps is -1 but must be 1 to 100");
    refuses_muon(1e300, (at_muon_args){0}, "muon: lr is 1e+300, but must be a finite f32");
    refuses_muon(0.1, (at_muon_args){.only = "w"}, "muon: no parameter is named like \"w\"");
    refuses_muon(0.1, (at_muon_args){.only = "b"},
                 "muon: of the 2 parameters of the tape none that is meant is a matrix: at_adamw "
                 "moves the others");
}
END_TEST

/* ------------------------------------------------------------------ clipping ------------------- */

START_TEST(the_norm_is_that_of_all_gradients_together)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        arrive(t, W, 1), arrive(t, b, 1);
        assert_close(at_clip_grad_norm(t, (double)INFINITY), golden_norm[0], 10 * close_to(t));
        assert_close(at_clip_grad_norm(t, 1), golden_norm[0], 10 * close_to(t));
        assert_close(at_clip_grad_norm(t, 5), 1, 10 * close_to(t)); /* as it is now */
    }
}
END_TEST

START_TEST(long_gradients_are_shortened_and_short_ones_left_alone)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        const double w[] = {3, 0, 0, 0, 0, 0}, v[] = {0, 4, 0}; /* norm 5 */
        ck_assert(pull(t, W, w) && pull(t, b, v));
        ck_assert(at_clip_grad_norm(t, 5) == 5);
        assert_grads(W, w, 0);
        ck_assert(at_clip_grad_norm(t, 0.5) == 5);
        assert_grads(W, ((double[]){0.3, 0, 0, 0, 0, 0}), close_to(t));
        assert_grads(b, ((double[]){0, 0.4, 0}), close_to(t));
    }
}
END_TEST

START_TEST(every_element_counts_wherever_it_lies)
{
    enum { N = 16417 }; /* two blocks and a tail */
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_param(t, "x", at_shape_of(N), at_zeros());
    at_tensor *g = at_const(t, at_shape_of(N), NULL);
    for (int i = 0; i < N; i++) at_set(g, i % 5 - 2, i); /* 4 + 1 + 0 + 1 + 4 per five */
    ck_assert(at_backward_from(t, x, g));
    double squares = 10 * (N / 5) + 4 + 1; /* N % 5 = 2 */
    assert_close(at_clip_grad_norm(t, 1e9), sqrt(squares), 1e-12);
    at_close(t);
}
END_TEST

START_TEST(squares_that_f32_cannot_hold_do_not_overflow)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_param(t, "x", at_shape_of(2), at_zeros());
    ck_assert(pull(t, x, (double[]){3e30, 4e30}));
    assert_close(at_clip_grad_norm(t, 1) / 5e30, 1, 1e-6);
    assert_grads(x, ((double[]){0.6, 0.8}), 1e-6);
    at_close(t);
}
END_TEST

START_TEST(a_norm_that_is_not_finite_is_returned_and_nothing_is_scaled)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        ck_assert(pull(t, b, (double[]){1, (double)NAN, 2}));
        ck_assert(isnan(at_clip_grad_norm(t, 0.1)) && at_ok(t));
        assert_grads(b, ((double[]){1, (double)NAN, 2}), 0);
        at_zero_grads(t);
        ck_assert(pull(t, b, (double[]){1, (double)INFINITY, 2}));
        ck_assert(isinf(at_clip_grad_norm(t, 0.1)) && at_grad_element(b, 0) == 1);
    }
}
END_TEST

START_TEST(elements_beyond_max_are_brought_to_it_and_the_others_left_alone)
{
    const double inf = (double)INFINITY, nan_ = (double)NAN;
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        ck_assert(pull(t, W, (double[]){0.75, -0.25, inf, -inf, nan_, 0.5}));
        ck_assert(pull(t, b, (double[]){4, -0.75, 0.125}));
        ck_assert(at_clip_grad_value(t, inf));
        assert_grads(W, ((double[]){0.75, -0.25, inf, -inf, nan_, 0.5}), 0);
        ck_assert(at_clip_grad_value(t, 0.5));
        assert_grads(W, ((double[]){0.5, -0.25, 0.5, -0.5, nan_, 0.5}), 0);
        assert_grads(b, ((double[]){0.5, -0.5, 0.125}), 0);
        ck_assert(!at_clip_grad_value(t, 0));
        assert_error(t, "clip_grad_value: max is 0 but must be > 0");
        at_clear_error(t);
        ck_assert(!at_clip_grad_value(t, nan_));
        assert_error(t, "clip_grad_value: max is nan but must be > 0");
        at_clear_error(t);
        ck_assert(at_clip_grad_value(t, 1e-60) == (at_real(t) == ATTIC_F64));
        if (at_real(t) == ATTIC_F32)
            assert_error(t, "clip_grad_value: 1 / max is 1e+60, but must be a finite f32");
    }
}
END_TEST

enum { STEPPERS = 8 };

static bool steps(at_tape *t, int how)
{
    switch (how) {
    case 0: return at_sgd(t, 1);
    case 1: return at_sgd_with(t, 1, (at_sgd_args){.momentum = 0.9, .only = "W"});
    case 2: return at_adam(t, 1, (at_adamw_args){0});
    case 3: return at_adamw(t, 1, (at_adamw_args){.except = "W"});
    case 4: return at_rmsprop(t, 1, (at_rmsprop_args){0});
    case 5: return at_lion(t, 1, (at_lion_args){0});
    case 6: return at_clip_grad_value(t, 1);
    default: return !isnan(at_clip_grad_norm(t, 1));
    }
}

START_TEST(a_step_or_a_norm_without_any_gradient_is_an_error)
{
    static const char *const op[] = {
        "sgd", "sgd", "adam", "adamw", "rmsprop", "lion", "clip_grad_value", "clip_grad_norm"};
    for (int how = 0; how < STEPPERS; how++) {
        char text[160];
        at_tape *t = at_open(ATTIC_F32, 1);
        make_parameters(t);
        at_zero_grads(t); /* drops nothing */
        snprintf(text, sizeof text,
                 "%s: none of the 2 parameters of the tape has a gradient: call it after "
                 "at_backward from a loss that depends on one that is not frozen",
                 op[how]);
        ck_assert(!steps(t, how));
        assert_error(t, text);
        at_close(t);
    }
}
END_TEST

START_TEST(gradients_that_were_used_or_dropped_since_the_rewind_make_a_step_legal)
{
    for (int how = 0; how < STEPPERS; how++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        make_parameters(t);
        at_mark mark = at_mark_here(t);
        ck_assert(pull(t, b, (double[]){1, 2, 3}));
        ck_assert(at_sgd_with(t, 1, (at_sgd_args){.only = "W"}) && b->grad); /* has none; b has */
        how % 2 ? at_zero_grads(t) : (void)at_sgd(t, 1);
        ck_assert(!b->grad && steps(t, how) && steps(t, how));
        at_rewind(t, at_mark_here(t)); /* as an evaluation does */
        ck_assert(steps(t, how));
        ck_assert(pull(t, b, (double[]){1, 2, 3}));
        at_rewind(t, mark); /* gradients of parameters stay */
        ck_assert(steps(t, how) && steps(t, how));
        at_zero_grads(t);
        at_rewind(t, mark);
        ck_assert(!steps(t, how));
        at_close(t);
    }
}
END_TEST

/* ------------------------------------------------------------------ errors --------------------- */

static void refuses_sgd(double lr, at_sgd_args args, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    make_parameters(t);
    ck_assert(!at_sgd_with(t, lr, args));
    assert_error(t, text);
    at_close(t);
}

static void refuses_adam(double lr, at_adamw_args args, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    make_parameters(t);
    ck_assert(!at_adamw(t, lr, args));
    assert_error(t, text);
    at_close(t);
}

static void refuses_rmsprop(double lr, at_rmsprop_args args, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    make_parameters(t);
    ck_assert(!at_rmsprop(t, lr, args));
    assert_error(t, text);
    at_close(t);
}

static void refuses_lion(double lr, at_lion_args args, const char *text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    make_parameters(t);
    ck_assert(!at_lion(t, lr, args));
    assert_error(t, text);
    at_close(t);
}

START_TEST(wrong_arguments_of_rmsprop_and_of_lion_are_named)
{
    refuses_rmsprop(-1, (at_rmsprop_args){0}, "rmsprop: lr is -1 but must be finite and >= 0");
    refuses_rmsprop(1, (at_rmsprop_args){.alpha = 1},
                    "rmsprop: alpha is 1 but must be above 0 and below 1");
    refuses_rmsprop(1, (at_rmsprop_args){.momentum = -1},
                    "rmsprop: momentum is -1 but must be finite and >= 0");
    refuses_rmsprop(1, (at_rmsprop_args){.eps = -1},
                    "rmsprop: eps is -1 but must be finite and >= 0");
    refuses_rmsprop(1, (at_rmsprop_args){.weight_decay = -1},
                    "rmsprop: weight_decay is -1 but must be finite and >= 0");
    refuses_rmsprop(1, (at_rmsprop_args){.only = "w"}, "rmsprop: no parameter is named like \"w\"");
    refuses_lion((double)NAN, (at_lion_args){0}, "lion: lr is nan but must be finite and >= 0");
    refuses_lion(1, (at_lion_args){.beta1 = 1}, "lion: beta1 is 1 but must be above 0 and below 1");
    refuses_lion(1, (at_lion_args){.beta2 = -1},
                 "lion: beta2 is -1 but must be above 0 and below 1");
    refuses_lion(1, (at_lion_args){.weight_decay = -1},
                 "lion: weight_decay is -1 but must be finite and >= 0");
    refuses_lion(1, (at_lion_args){.only = "w"}, "lion: no parameter is named like \"w\"");
}
END_TEST

/* ------------------------------------------------------------------ averages ------------------- */

START_TEST(an_average_weighs_the_past_by_powers_of_decay)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        double sum[6] = {0}, weights = 0;
        for (int k = 1; k <= 5; k++) {
            for (int i = 0; i < 6; i++) {
                at_set(W, sin(k + i), i / 3, i % 3);
                sum[i] = 0.9 * sum[i] + sin(k + i);
            }
            weights = 0.9 * weights + 1;
            ck_assert(at_ema(t, 0.9, (at_names){.only = "W"}));
            double mean[6];
            for (int i = 0; i < 6; i++) mean[i] = sum[i] / weights;
            at_tensor *ema = at_find_state(t, W, "ema");
            ck_assert_str_eq(ema->name, "W:ema");
            assert_values(ema, mean, k == 1 ? 0.1 * close_to(t) : 2 * close_to(t));
            if (k == 1) ck_assert(equal_bits(ema, W)); /* the average of one is that one */
        }
        ck_assert(at_item(at_find_state(t, W, "ema_k")) == 5 && !at_find_state(t, b, "ema"));
    }
}
END_TEST

START_TEST(averages_take_the_place_of_the_parameters_and_give_it_back_bit_for_bit)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        make_parameters(t);
        at_freeze(t, (at_names){.only = "b"});
        at_ema(t, 0.5, (at_names){0});
        ck_assert(!at_find_state(t, b, "ema")); /* it is frozen */
        at_set(W, 7, 1, 2);
        at_ema(t, 0.5, (at_names){0});
        at_tensor *before = at_const(t, W->shape, NULL), *ema = at_find_state(t, W, "ema");
        at_tensor *mean = at_const(t, W->shape, NULL);
        memcpy(before->data, W->data, at_bytes(W));
        memcpy(mean->data, ema->data, at_bytes(W));
        at_tensor *y = at_sum(t, at_square(t, W));
        ck_assert(at_ema_swap(t) && equal_bits(W, mean) && equal_bits(ema, before));
        ck_assert(!at_ema(t, 0.5, (at_names){0}));
        assert_error(t, "ema: \"W\" [2,3] holds its average: at_ema_swap first");
        at_clear_error(t);
        ck_assert(at_ema_swap(t) && equal_bits(W, before) && equal_bits(ema, mean));
        ck_assert(!at_backward(t, y)); /* W was written */
        at_clear_error(t);
        ck_assert(at_ema(t, 0.5, (at_names){0}));
    }
}
END_TEST

START_TEST(averages_are_the_same_bits_on_any_number_of_threads)
{
    at_tensor *x[2];
    for (int k = 0; k < 2; k++) {
        at_threads(k ? 3 : 1);
        at_tape *t = at_open(ATTIC_F32, 1);
        x[k] = at_param(t, "x", at_shape_of(100000), at_normal(1));
        for (int step = 0; step < 4; step++) {
            for (int i = 0; i < 100000; i++) ((float *)x[k]->data)[i] *= 1.0f + (float)step / 3;
            at_ema(t, 0.99, (at_names){0});
        }
        at_ema_swap(t);
    }
    at_threads(0);
    ck_assert(equal_bits(x[0], x[1]));
    at_close(x[0]->tape), at_close(x[1]->tape);
}
END_TEST

START_TEST(wrong_averages_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    make_parameters(t);
    ck_assert(!at_ema(t, 1, (at_names){0}));
    assert_error(t, "ema: decay is 1 but must be above 0 and below 1");
    at_clear_error(t);
    ck_assert(!at_ema(t, 0, (at_names){0}));
    assert_error(t, "ema: decay is 0 but must be above 0 and below 1");
    at_clear_error(t);
    ck_assert(!at_ema(t, 0.9, (at_names){.only = "w"}));
    assert_error(t, "ema: no parameter is named like \"w\"");
    at_clear_error(t);
    ck_assert(!at_ema_swap(t));
    assert_error(t, "ema_swap: no parameter has an average (see at_ema)");
    ck_assert(at_state_count(t) == 0 && !at_ema(t, 0.9, (at_names){0}));
    at_close(t);
}
END_TEST

START_TEST(frozen_parameters_are_left_out_of_steps_and_of_the_norm)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    make_parameters(t);
    at_freeze(t, (at_names){.only = "W"});
    for (int i = 0; i < 2; i++) {
        at_backward(t, at_sum(t, at_mul(t, W, at_mul(t, b, b))));
        double db = fabs(at_grad_element(b, 0)), norm = at_clip_grad_norm(t, (double)INFINITY);
        ck_assert(norm >= db && norm < 100);
        at_adamw(t, 0.1, (at_adamw_args){.weight_decay = 0.3});
    }
    assert_values(W, start_W, 0);
    ck_assert(at_get(b, 0) != start_b[0] && !at_find_state(t, W, "adam_m"));
    at_close(t);
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    refuses_sgd(-1, (at_sgd_args){0}, "sgd: lr is -1 but must be finite and >= 0");
    refuses_sgd((double)NAN, (at_sgd_args){0}, "sgd: lr is nan but must be finite and >= 0");
    refuses_sgd(0.1, (at_sgd_args){.momentum = -0.5},
                "sgd: momentum is -0.5 but must be finite and >= 0");
    refuses_sgd(0.1, (at_sgd_args){.weight_decay = -1},
                "sgd: weight_decay is -1 but must be finite and >= 0");
    refuses_sgd(0.1, (at_sgd_args){.nesterov = true},
                "sgd: nesterov looks ahead along a momentum, but momentum is 0");
    refuses_sgd(0.1, (at_sgd_args){.only = "*.Q"}, "sgd: no parameter is named like \"*.Q\"");
    refuses_adam(0.1, (at_adamw_args){.beta1 = 1},
                 "adamw: beta1 is 1 but must be above 0 and below 1");
    refuses_adam(0.1, (at_adamw_args){.beta2 = -0.1},
                 "adamw: beta2 is -0.1 but must be above 0 and below 1");
    refuses_adam(0.1, (at_adamw_args){.eps = -1}, "adamw: eps is -1 but must be finite and >= 0");
    refuses_adam((double)INFINITY, (at_adamw_args){0},
                 "adamw: lr is inf but must be finite and >= 0");
    refuses_adam(-0.1, (at_adamw_args){0}, "adamw: lr is -0.1 but must be finite and >= 0");
    refuses_adam((double)NAN, (at_adamw_args){0}, "adamw: lr is nan but must be finite and >= 0");
    refuses_adam(0.1, (at_adamw_args){.weight_decay = -1},
                 "adamw: weight_decay is -1 but must be finite and >= 0");
    refuses_adam(0.1, (at_adamw_args){.only = "w"}, "adamw: no parameter is named like \"w\"");
    refuses_sgd(1e300, (at_sgd_args){0}, "sgd: lr is 1e+300, but must be a finite f32");
    refuses_adam(1, (at_adamw_args){.weight_decay = 1e300},
                 "adamw: weight_decay is 1e+300, but must be a finite f32");
    refuses_adam(1e30, (at_adamw_args){.weight_decay = 1e30},
                 "adamw: lr * weight_decay is 1e+60, but must be a finite f32");
    refuses_adam(0.1, (at_adamw_args){.eps = 1e-50},
                 "adamw: 1 / eps is 1e+50, but must be a finite f32");
}
END_TEST

START_TEST(a_failed_tape_is_not_touched)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    make_parameters(t);
    arrive(t, W, 0);
    ck_assert(isnan(at_clip_grad_norm(t, 0)));
    assert_error(t, "clip_grad_norm: max_norm is 0 but must be > 0");
    ck_assert(!sgd(t) && !adamw(t) && isnan(at_clip_grad_norm(t, 1)) && W->grad);
    ck_assert(!at_sgd(NULL, 1) && isnan(at_clip_grad_norm(NULL, 1)));
    at_close(t);
}
END_TEST

START_TEST(many_small_parameters_wake_no_thread)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x[40], *large = at_const(t, at_shape_of(1 << 20), NULL);
    char name[8];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "W%d", i);
        x[i] = at_param(t, name, at_shape_of(9), at_ones());
    }
    at_threads(2);
    for (int step = 0; step < 3; step++) {
        at_exp(t, large); /* starts the helper */
        usleep(20000);    /* it falls asleep */
        for (int i = 0; i < 40; i++) ck_assert(at_backward(t, at_sum(t, x[i])));
        const int before = at_wake_ups();
        ck_assert(adamw(t));
        ck_assert_int_eq(at_wake_ups(), before);
    }
    at_threads(0);
    at_close(t);
}
END_TEST

SUITE(nn_optim, seven_steps_of_descent_equal_the_golden_numbers,
      seven_steps_of_adam_equal_the_golden_numbers,
      seven_steps_of_rmsprop_and_of_lion_equal_the_golden_numbers, a_step_of_lion_is_lr_0_or_NaN,
      the_first_step_of_rmsprop_is_10_lr, wrong_arguments_of_rmsprop_and_of_lion_are_named,
      elements_beyond_max_are_brought_to_it_and_the_others_left_alone,
      the_first_step_of_adam_is_lr_whatever_the_gradient,
      a_learning_rate_of_0_moves_no_parameter_but_is_a_step,
      a_parameter_without_gradient_stays_as_it_is, weight_decay_can_spare_what_is_no_matrix,
      patterns_choose_the_parameters_of_a_group, two_groups_step_as_if_they_were_one,
      the_state_is_named_and_counts_the_steps_of_each_parameter,
      copied_parameters_and_state_go_on_bit_for_bit,
      what_was_recorded_before_a_step_cannot_run_backward_after_it,
      they_all_find_the_minimum_of_a_bowl, in_the_steady_state_a_step_calls_malloc_zero_times,
      when_memory_runs_out_nothing_has_moved, a_parameter_costs_the_same_among_many,
      the_bits_do_not_depend_on_the_number_of_threads, seven_steps_of_muon_equal_the_golden_numbers,
      muon_takes_the_matrices_between_layers_and_leaves_the_rest,
      a_step_of_muon_has_the_length_lr_in_every_direction,
      muon_has_the_same_bits_on_any_number_of_threads,
      when_memory_for_muon_runs_out_nothing_has_moved, wrong_arguments_of_muon_are_named,
      the_norm_is_that_of_all_gradients_together,
      long_gradients_are_shortened_and_short_ones_left_alone, every_element_counts_wherever_it_lies,
      squares_that_f32_cannot_hold_do_not_overflow,
      a_norm_that_is_not_finite_is_returned_and_nothing_is_scaled,
      a_step_or_a_norm_without_any_gradient_is_an_error,
      gradients_that_were_used_or_dropped_since_the_rewind_make_a_step_legal,
      an_average_weighs_the_past_by_powers_of_decay,
      averages_take_the_place_of_the_parameters_and_give_it_back_bit_for_bit,
      averages_are_the_same_bits_on_any_number_of_threads, wrong_averages_are_named,
      frozen_parameters_are_left_out_of_steps_and_of_the_norm, wrong_arguments_are_named,
      many_small_parameters_wake_no_thread, a_failed_tape_is_not_touched)
