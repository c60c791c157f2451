/* test_data_batch.c -- an epoch visits everything once, and a batch depends on nothing but its
 * arguments. */
#include "train/numbered.h"

START_TEST(an_epoch_visits_every_window_once_and_the_next_one_in_another_order)
{
    at_tape *t = at_open(ATTIC_F32, 7);
    at_data *d = counting(t, 1003, 0); /* windows of 10: 100, and 3 ids are left over */
    ck_assert_int_eq(at_data_windows(d, ATTIC_TRAIN, 10), 100);
    int first[2][100];
    for (int epoch = 0; epoch < 2; epoch++) {
        int seen[1003] = {0}, together = 0;
        for (int step = 0; step < 25; step++) {
            at_batch b = at_data_batch(
                t, d, (at_batch_args){.rows = 4, .length = 10, .step = 25 * epoch + step});
            for (int r = 0; r < 4; r++) {
                first[epoch][4 * step + r] = (int)at_get(b.ids, r, 0);
                for (int i = 0; i < 10; i++) ck_assert_int_eq(seen[(int)at_get(b.ids, r, i)]++, 0);
            }
        }
        for (int i = 1; i < 100; i++)
            together += (first[epoch][i] + 1003 - first[epoch][i - 1]) % 1003 == 10;
        ck_assert_int_lt(together, 10); /* in order they would be 99 */
    }
    int same = 0;
    for (int i = 0; i < 100; i++) same += first[0][i] == first[1][i];
    ck_assert_int_lt(same, 10);
    ck_assert_int_ne(first[0][0] % 10, first[1][0] % 10); /* cut elsewhere */
    at_close(t);
}
END_TEST

START_TEST(an_order_is_a_permutation_for_every_number_of_rows)
{
    at_tape *t = at_open(ATTIC_F32, 3);
    const int ones[300] = {[0 ... 299] = 1};
    int32_t ids[300];
    for (int i = 0; i < 300; i++) ids[i] = i;
    for (int n = 1; n <= 300; n += n < 20 ? 1 : 31) {
        at_data *d = at_data_sequences(t, ids, ones, n, (at_data_args){.vocab = 300});
        for (int epoch = 0; epoch < 3; epoch++) {
            bool seen[300] = {false};
            at_batch b = at_data_batch(t, d, (at_batch_args){.rows = n, .step = epoch});
            for (int i = 0; i < n; i++) {
                int id = (int)at_get(b.ids, i, 0);
                ck_assert(id < n && !seen[id]);
                seen[id] = true;
            }
        }
    }
    at_close(t);
}
END_TEST

START_TEST(a_batch_depends_on_its_arguments_alone)
{
    at_tape *t = at_open(ATTIC_F32, 5), *u = at_open(ATTIC_F64, 9), *v = at_open(ATTIC_F32, 6);
    at_data *d = counting(t, 5000, 0), *e = counting(v, 5000, 0);
    at_batch_args at = {.rows = 3, .length = 20, .step = 4711};
    at_batch a = at_data_batch(t, d, at);
    at_draw(t); /* neither draws, nor other batches, nor another tape change it */
    at_data_batch(t, d, (at_batch_args){.rows = 3, .length = 20, .step = 4712});
    ck_assert(equal_bits(a.ids, at_data_batch(t, d, at).ids));
    ck_assert(equal_bits(a.ids, at_data_batch(u, d, at).ids));
    ck_assert(!equal_bits(a.ids, at_data_batch(v, e, at).ids)); /* the seed does */
    at.step++;
    ck_assert(!equal_bits(a.ids, at_data_batch(t, d, at).ids));
    at_close(t);
    at_close(u);
    at_close(v);
}
END_TEST

START_TEST(micro_batches_are_the_rows_of_one_batch)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_data *d = counting(t, 3000, 0);
    at_batch whole = at_data_batch(t, d, (at_batch_args){.rows = 6, .length = 8, .step = 5});
    for (int m = 0; m < 3; m++) {
        at_batch b = at_data_batch(
            t, d, (at_batch_args){.rows = 2, .length = 8, .step = 5, .micro = m, .micros = 3});
        ck_assert_mem_eq(b.ids->data, (int32_t *)whole.ids->data + 16 * m, 16 * sizeof(int32_t));
    }
    at_close(t);
}
END_TEST

/* Sequences of 2 to 13 ids as data. */
static at_data *uneven(at_tape *t, int pack)
{
    int32_t ids[400];
    int length[40], n = 0;
    for (int i = 0; i < 40; i++) {
        length[i] = 2 + i * 7 % 12;
        for (int k = 0; k < length[i]; k++) ids[n++] = (i * 5 + k * k) % 11;
    }
    return at_data_sequences(t, ids, length, 40, (at_data_args){.vocab = 11, .pack = pack});
}

/* Classes 0 to 10 for rows of two reals; of some rows the target is -1, which does not count. */
static at_data *partly_labelled(at_tape *t)
{
    at_tensor *x = at_random(t, at_shape_of(40, 2), at_normal(1));
    at_tensor *y = at_ints(t, at_shape_of(40), NULL);
    for (int i = 0; i < 40; i++) ((int32_t *)y->data)[i] = i % 3 ? i % 11 : -1;
    return at_data_arrays(t, x, y, (at_data_args){0});
}

/* The mean loss of a batch under a table of logits E [11,11], or of reals under one linear map. */
static at_tensor *loss_of(at_tape *t, at_batch b)
{
    at_tensor *E = at_find_param(t, "E"), *A = at_find_param(t, "A");
    at_tensor *logits = at_is_real(b.x->dtype) ? at_matmul(t, b.x, A) : at_embedding(t, E, b.ids);
    return at_cross_entropy(t, logits, b.target,
                            (at_cross_entropy_args){.ignore = true, .ignore_index = -1});
}

/* The gradients of all parameters, behind each other, of one step in so many micro-batches. */
static double step_gradients(at_tape *t, const at_data *d, at_batch_args args, double out[143])
{
    at_run_args run = {.steps = 1, .quiet = true, .micros = args.micros};
    at_run *r = at_run_open(t, NULL, run);
    double loss = 0, shares = 0;
    ck_assert(at_run_next(r));
    while (at_run_next_micro(r)) {
        args.micro = at_run_micro(r);
        at_batch b = at_data_batch(t, d, args);
        at_tensor *share = at_scale(t, loss_of(t, b), b.share);
        at_backward(t, share);
        loss += at_item(share);
        shares += b.share;
    }
    ck_assert_double_eq_tol(shares, 1, 1e-15);
    for (int i = 0; i < 121; i++) out[i] = at_grad_element(at_find_param(t, "E"), i);
    for (int i = 0; i < 22; i++) out[121 + i] = at_grad_element(at_find_param(t, "A"), i);
    at_zero_grads(t);
    ck_assert_int_eq(at_run_close(r), 0);
    return loss;
}

START_TEST(micro_batches_with_their_shares_are_one_batch_of_all_rows)
{
    for (int kind = 0; kind < 5; kind++) {
        at_tape *t = at_open(ATTIC_F64, 1);
        at_param(t, "E", at_shape_of(11, 11), at_normal(1));
        at_param(t, "A", at_shape_of(2, 11), at_normal(1));
        at_data *d = kind == 4 ? partly_labelled(t) : uneven(t, kind == 2 ? 16 : 0);
        at_batch_args one = {.rows = 12, .step = 3, .micros = 1};
        one.length = kind == 1 ? 6 : kind == 3 ? 16 : 0; /* cut to 6; packed when asked for */
        one.pack = kind == 3;
        double whole[143], parts[143], loss = step_gradients(t, d, one, whole);
        for (int micros = 2; micros <= 6; micros++) {
            at_batch_args some = one;
            if (12 % micros) continue;
            some.rows = 12 / micros;
            some.micros = micros;
            ck_assert_double_eq_tol(step_gradients(t, d, some, parts), loss, 1e-12);
            for (int i = 0; i < 143; i++) ck_assert_double_eq_tol(parts[i], whole[i], 1e-12);
        }
        at_close(t);
    }
}
END_TEST

START_TEST(a_share_is_one_by_the_micro_batches_where_all_have_as_many_targets)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_data *d = counting(t, 3000, 0);
    at_batch_args at = {.rows = 2, .length = 8, .step = 5};
    ck_assert(at_data_batch(t, d, at).share == 1);
    for (at.micros = 3; at.micro < 3; at.micro++)
        ck_assert(at_data_batch(t, d, at).share == 1.0 / 3);
    at.micros = 4097;
    ck_assert(!at_data_batch(t, d, at).ids);
    ck_assert_str_eq(at_error(t), "data: micros is 4097, but must be 0 (for 1) .. 4096");
    at_close(t);
}
END_TEST

START_TEST(targets_are_the_ids_that_follow)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_data *d = counting(t, 100, 0);
    for (int step = 0; step < 40; step++) {
        at_batch b = at_data_batch(t, d, (at_batch_args){.rows = 5, .length = 7, .step = step});
        for (int i = 0; i < 35; i++)
            ck_assert_int_eq(((int *)b.target->data)[i], (((int *)b.ids->data)[i] + 1) % 100);
    }
    at_close(t);
}
END_TEST

START_TEST(windows_that_are_spread_do_not_depend_on_the_seed)
{
    at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 2);
    at_data *d = counting(t, 101, 0), *e = counting(u, 101, 0);
    at_batch_args at = {.rows = 3, .length = 20, .spread = 3};
    at_batch b = at_data_batch(t, d, at);
    ck_assert(at_get(b.ids, 0, 0) == 0);
    ck_assert(at_get(b.ids, 1, 0) == 40);
    ck_assert(at_get(b.ids, 2, 0) == 80); /* its last target is the last id */
    ck_assert(at_get(b.target, 2, 19) == 100);
    ck_assert(equal_bits(b.ids, at_data_batch(u, e, at).ids));
    at_close(t);
    at_close(u);
}
END_TEST

START_TEST(sequences_are_padded_and_say_how_long_they_are)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const int32_t ids[] = {1, 2, 3, 4, 5, 6};
    const int length[] = {3, 1, 2};
    at_data *d = at_data_sequences(t, ids, length, 3, (at_data_args){.vocab = 7});
    at_batch b = at_data_batch(t, d, (at_batch_args){.rows = 3, .spread = 3});
    assert_values(b.ids, ((double[]){1, 2, 3, 4, 0, 0, 5, 6, 0}), 0);
    assert_values(b.target, ((double[]){2, 3, -1, -1, -1, -1, 6, -1, -1}), 0);
    assert_values(b.lengths, ((double[]){3, 1, 2}), 0);
    b = at_data_batch(t, d, (at_batch_args){.rows = 2, .length = 2, .spread = 3});
    assert_values(b.ids, ((double[]){1, 2, 4, 0}), 0);
    assert_values(b.target, ((double[]){2, 3, -1, -1}), 0); /* 3 follows, though it was cut off */
    assert_values(b.lengths, ((double[]){2, 1}), 0);
    at_close(t);
}
END_TEST

START_TEST(two_data_of_one_seed_are_drawn_side_by_side)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    int32_t ids[50], plus[50];
    const int ones[50] = {[0 ... 49] = 1};
    for (int i = 0; i < 50; i++) ids[i] = i, plus[i] = i + 50;
    at_data *d = at_data_sequences(t, ids, ones, 50, (at_data_args){.vocab = 50, .held = 0.1});
    at_data *e = at_data_sequences(t, plus, ones, 50, (at_data_args){.vocab = 100, .held = 0.1});
    for (int step = 0; step < 30; step++) {
        at_batch_args at = {.rows = 1, .step = step, .split = step % 2};
        ck_assert(at_item(at_data_batch(t, e, at).ids) ==
                  at_item(at_data_batch(t, d, at).ids) + 50);
    }
    at_close(t);
}
END_TEST

START_TEST(rows_meet_their_labels_on_any_tape)
{
    at_tape *t = at_open(ATTIC_F64, 1), *u = at_open(ATTIC_F32, 1);
    double rows[40];
    int32_t classes[20];
    for (int i = 0; i < 20; i++) rows[2 * i] = i, rows[2 * i + 1] = -i, classes[i] = i % 3;
    at_data *d = at_data_arrays(t, at_const(t, at_shape_of(20, 2), rows),
                                at_ints(t, at_shape_of(20), classes), (at_data_args){.vocab = 3});
    ck_assert_int_eq(at_vocab(d), 3);
    ck_assert_int_eq(at_data_windows(d, ATTIC_TRAIN, 0), 20);
    for (int step = 0; step < 9; step++) {
        at_batch b = at_data_batch(u, d, (at_batch_args){.rows = 4, .step = step});
        ck_assert_int_eq(b.x->dtype, ATTIC_F32);
        for (int r = 0; r < 4; r++) {
            ck_assert(at_get(b.x, r, 1) == -at_get(b.x, r, 0));
            ck_assert_int_eq((int)at_get(b.x, r, 0) % 3, (int)at_get(b.target, r));
        }
    }
    at_close(u);
    at_close(t);
}
END_TEST

SUITE(train_data_batch, an_epoch_visits_every_window_once_and_the_next_one_in_another_order,
      an_order_is_a_permutation_for_every_number_of_rows, a_batch_depends_on_its_arguments_alone,
      micro_batches_are_the_rows_of_one_batch,
      micro_batches_with_their_shares_are_one_batch_of_all_rows,
      a_share_is_one_by_the_micro_batches_where_all_have_as_many_targets,
      targets_are_the_ids_that_follow, windows_that_are_spread_do_not_depend_on_the_seed,
      sequences_are_padded_and_say_how_long_they_are, two_data_of_one_seed_are_drawn_side_by_side,
      rows_meet_their_labels_on_any_tape)
