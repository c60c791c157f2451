/* test_gradients.c -- the gradients of micro-batches add up in one tree, whose bits follow from
 * their number alone. */
#include <math.h>
#include <string.h>

#include "kernels/rng.h"
#include "train/running.h"

enum { MOST = 17 };

/* A gradient of micro-batch m, with all digits. */
static float piece(int m)
{
    return (float)(0.1 + 0.9 * at_random_unit((at_stream){7, 1}, (uint64_t)m)) * (m % 3 ? 1 : -3);
}

/* The definition, from the top: the largest power of two below n splits them. */
static float tree_of(int first, int n)
{
    int half = 1;
    while (2 * half < n) half *= 2;
    return n == 1 ? piece(first) : tree_of(first, half) + tree_of(first + half, n - half);
}

/* The gradient of p [] in micro-batch m is piece(m), but in micro-batches of `without` there is
 * none. */
static void receive_piece(at_tape *t, at_tensor *p, at_tensor *q, int m, unsigned without)
{
    at_tensor *loss = at_scale(t, without >> m & 1 ? q : p, (double)piece(m));
    at_backward(t, loss);
}

/* A step of so many micro-batches: the gradient of p, NAN if it has none. */
static float summed(at_run_args args, int micros, unsigned without)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *p = at_param(t, "p", at_shape_of(), at_zeros());
    at_tensor *q = at_param(t, "q", at_shape_of(), at_zeros());
    args.micros = micros;
    at_run *r = at_run_open(t, NULL, args);
    float sum = (float)NAN;
    ck_assert(at_run_next(r));
    while (at_run_next_micro(r)) receive_piece(t, p, q, at_run_micro(r), without);
    ck_assert(!at_run_next_micro(r));
    ck_assert_ptr_nonnull(q->grad || !without ? p : NULL);
    if (p->grad) sum = (float)at_grad_element(p, 0);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    return sum;
}

START_TEST(gradients_of_micro_batches_are_added_in_a_tree_over_their_numbers)
{
    begin_test();
    bool differs = false;
    for (int M = 1; M <= MOST; M++) {
        float row = 0;
        for (int m = 0; m < M; m++) row += piece(m);
        ck_assert(summed(quick(0), M, 0) == tree_of(0, M));
        differs |= row != tree_of(0, M);
    }
    ck_assert(differs); /* from the sum in a row: the pieces do tell them apart */
    end_test();
}
END_TEST

START_TEST(a_micro_batch_without_a_gradient_adds_nothing)
{
    begin_test();
    for (unsigned without = 0; without < 15; without++) {
        float part[4];
        for (int m = 0; m < 4; m++) part[m] = without >> m & 1 ? -0.0F : piece(m); /* x + -0 = x */
        ck_assert(summed(quick(0), 4, without) == (part[0] + part[1]) + (part[2] + part[3]));
    }
    ck_assert(isnan(summed(quick(0), 4, 15))); /* with none at all, there is no sum */
    end_test();
}
END_TEST

START_TEST(sums_take_as_many_buffers_as_the_logarithm_says)
{
    begin_test();
    enum { ELEMENTS = 1 << 16 };
    for (int M = 2; M <= MOST; M++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_tensor *p = at_param(t, "p", at_shape_of(ELEMENTS), at_zeros());
        at_run_args args = quick(0);
        args.micros = M;
        at_run *r = at_run_open(t, NULL, args);
        const size_t before = at_memory_of(t).permanent;
        for (int step = 0; step < 2 && at_run_next(r); step++) {
            while (at_run_next_micro(r)) at_backward(t, at_sum(t, p));
            at_zero_grads(t);
        }
        const size_t buffers = (at_memory_of(t).permanent - before) / (ELEMENTS * sizeof(float));
        ck_assert_int_eq((int)buffers, 1 + (int)log2(M));
        ck_assert_int_eq(at_run_close(r), 0);
        at_close(t);
    }
    end_test();
}
END_TEST

START_TEST(a_bad_micro_batch_leaves_nothing_to_the_next_step)
{
    begin_test();
    for (int bad = 0; bad < 4; bad++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_tensor *p = at_param(t, "p", at_shape_of(), at_zeros());
        at_run_args args = quick(0);
        args.micros = 4;
        at_run *r = at_run_open(t, NULL, args);
        for (int step = 0; step < 2; step++) {
            ck_assert(at_run_next(r) && !p->grad);
            while (at_run_next_micro(r)) {
                const int m = at_run_micro(r);
                receive_piece(t, p, p, m, 0);
                at_run_log(r, "loss", step == 0 && m == bad ? (double)NAN : 1);
            }
            ck_assert_ptr_eq(p->grad, step == 0 ? NULL : p->grad_memory);
        }
        ck_assert((float)at_grad_element(p, 0) == tree_of(0, 4));
        ck_assert(at_run_next(r));
        ck_assert_int_eq(at_run_close(r), 0);
        at_close(t);
    }
    end_test();
}
END_TEST

START_TEST(a_parameter_that_is_frozen_between_two_micro_batches_has_no_sum)
{
    begin_test();
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *p = at_param(t, "p", at_shape_of(), at_zeros());
    at_tensor *q = at_param(t, "q", at_shape_of(), at_zeros());
    at_run_args args = quick(0);
    args.micros = 4;
    at_run *r = at_run_open(t, NULL, args);
    at_mark mark = at_mark_here(t);
    ck_assert(at_run_next(r));
    while (at_run_next_micro(r)) {
        if (at_run_micro(r) == 2) ck_assert_int_eq(at_freeze(t, (at_names){.only = "q"}), 1);
        at_backward(t, at_add(t, at_scale(t, p, (double)piece(at_run_micro(r))), q));
        at_rewind(t, mark);
    }
    ck_assert((float)at_grad_element(p, 0) == tree_of(0, 4) && !q->grad);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    end_test();
}
END_TEST

START_TEST(a_step_that_is_left_between_its_micro_batches_is_refused)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run_args args = quick(0);
    args.micros = 4;
    at_run *r = at_run_open(t, NULL, args);
    ck_assert(at_run_next(r) && at_run_next_micro(r) && at_run_next_micro(r));
    little_loss(t, 1);
    ck_assert(!at_run_next(r));
    ck_assert_str_eq(at_error(t), "run: step 0 was left at micro-batch 1 of 4; their gradients are "
                                  "a sum when at_run_next_micro has returned false");
    ck_assert_int_eq(at_run_close(r), 2);
    at_close(t);
    end_test();
}
END_TEST

/* The little training with micro-batches, up to `most` steps of it; the hash at its end. */
static uint64_t run_micros(int micros, int most)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run_args args = quick(3);
    args.micros = micros;
    at_run *r = at_run_open(t, little_path(""), args);
    at_mark mark = at_mark_here(t);
    for (int n = 0; n < most && at_run_next(r); n++) {
        while (at_run_next_micro(r)) {
            at_run_log(r, "loss", at_item(little_loss(t, 1.0 / micros)));
            at_rewind(t, mark);
        }
        at_adamw(t, 0.1, (at_adamw_args){0});
        at_rewind(t, mark);
    }
    uint64_t hash = little_hash(t);
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    return hash;
}

START_TEST(a_run_of_several_micro_batches_goes_on_with_the_same_bits)
{
    for (int micros = 2; micros <= 6; micros += 2) {
        begin_test();
        const uint64_t whole = run_micros(micros, STEPS + 1);
        little_remove();
        ck_assert_ptr_nonnull(little_folder());
        run_micros(micros, 7);
        ck_assert(run_micros(micros, STEPS + 1) == whole);
        end_test();
    }
}
END_TEST

/* An older checkpoint does not say how the gradients of its micro-batches were added. */
START_TEST(a_checkpoint_of_gradients_that_were_added_otherwise_is_refused)
{
    begin_test();
    run_micros(4, 7);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensors *f = at_tensors_open(t, little_path("checkpoint.safetensors"));
    at_metadata metadata[32];
    at_tensor *x[32];
    const char *names[32];
    int n = 0;
    for (int i = 0; i < at_tensors_metadata_count(f); i++) {
        const char *key = at_tensors_metadata_key(f, i);
        if (strcmp(key, "gradients") != 0 && strcmp(key, "crc32") != 0)
            metadata[n++] = (at_metadata){key, at_tensors_metadata(f, key)};
    }
    ck_assert_int_eq(n, at_tensors_metadata_count(f) - 2);
    for (int i = 0; i < at_tensors_count(f); i++)
        x[i] = at_tensors_load(f, names[i] = at_tensors_name(f, i));
    ck_assert(at_tensors_save(
        t, little_path("checkpoint.safetensors"), x, at_tensors_count(f),
        (at_tensors_save_args){
            .names = names, .metadata = metadata, .n_metadata = n, .checksum = true}));
    at_close(t);
    at_run_args args = quick(3);
    args.micros = 4;
    assert_refused(little_tape(ATTIC_F32, 7), args,
                   "the sum of the micro-batches' gradients is absent there, but a tree here");
    end_test();
}
END_TEST

SUITE(train_gradients, gradients_of_micro_batches_are_added_in_a_tree_over_their_numbers,
      a_micro_batch_without_a_gradient_adds_nothing,
      sums_take_as_many_buffers_as_the_logarithm_says,
      a_bad_micro_batch_leaves_nothing_to_the_next_step,
      a_parameter_that_is_frozen_between_two_micro_batches_has_no_sum,
      a_step_that_is_left_between_its_micro_batches_is_refused,
      a_run_of_several_micro_batches_goes_on_with_the_same_bits,
      a_checkpoint_of_gradients_that_were_added_otherwise_is_refused)
