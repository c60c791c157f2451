/* test_data_split.c -- splits hold everything once, whatever the share, the number of rows, the seed. */
#include <math.h>
#include <stdlib.h>

#include "train/numbered.h"

/* The sequences 0, 1, 2 ... n-1, of one id each, to which `plus` is added. */
static at_data *numbered(at_tape *t, int n, int plus, at_data_args args)
{
    int32_t *ids = malloc((size_t)n * sizeof *ids);
    int *ones = malloc((size_t)n * sizeof *ones);
    for (int i = 0; i < n; i++) ids[i] = i + plus, ones[i] = 1;
    args.vocab = n + plus;
    at_data *d = at_data_sequences(t, ids, ones, n, args);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    free(ids);
    free(ones);
    return d;
}

/* Adds 1 to each of `times` whose number is in the split; returns how many those are. */
static int count_split(at_tape *t, const at_data *d, at_split split, int *times)
{
    int n = (int)at_data_count(d, split);
    at_batch b = at_data_batch(t, d, (at_batch_args){.split = split, .rows = n, .spread = n});
    for (int i = 0; i < n; i++) times[((int32_t *)b.ids->data)[i]]++;
    return n;
}

START_TEST(every_tenth_block_is_held_out)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    char *path = text_file(20 * BLOCK + 5);
    at_data *d = at_data_text(t, (at_data_args){.paths = &path, .n = 1, .held = 0.1});
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert_int_eq(at_data_count(d, ATTIC_TRAIN), 18 * BLOCK + 5);
    ck_assert_int_eq(at_data_count(d, ATTIC_HELD), 2 * BLOCK);
    ck_assert_int_eq(id_of(d, ATTIC_HELD, 0), 9);
    ck_assert_int_eq(id_of(d, ATTIC_HELD, BLOCK), 19);
    ck_assert_int_eq(id_of(d, ATTIC_TRAIN, 9 * BLOCK - 1), 8);
    ck_assert_int_eq(id_of(d, ATTIC_TRAIN, 9 * BLOCK), 10);
    ck_assert_int_eq(id_of(d, ATTIC_TRAIN, 18 * BLOCK + 4), 20);
    ck_assert_int_eq(at_vocab(d), 21);
    at_close(t);
    remove(path);
}
END_TEST

START_TEST(the_splits_of_any_share_hold_everything_once_and_in_order)
{
    const double share[] = {0, 0.001, 0.1, 0.25, 0.3, 0.5, 0.77, 0.999};
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int s = 0; s < 8; s++) {
        const int n = 2000 * BLOCK + 17;
        at_data *d = counting(t, n, share[s]);
        int held = (int)at_data_count(d, ATTIC_HELD), train = (int)at_data_count(d, ATTIC_TRAIN);
        ck_assert_int_eq(train + held, n);
        assert_close(held, share[s] * n, BLOCK);
        int32_t *ids = malloc((size_t)n * sizeof *ids);
        ck_assert(at_data_read(t, d, ATTIC_TRAIN, 0, train, ids));
        ck_assert(at_data_read(t, d, ATTIC_HELD, 0, held, ids + train));
        char *seen = calloc((size_t)n, 1);
        int disorder = 0, again = 0;
        for (int i = 0; i < n; i++) {
            disorder += i != 0 && i != train && ids[i] <= ids[i - 1];
            again += seen[ids[i]]++;
        }
        ck_assert_int_eq(disorder, 0);
        ck_assert_int_eq(again, 0);
        free(seen);
        free(ids);
    }
    at_close(t);
}
END_TEST

START_TEST(files_are_joined_before_they_are_cut)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    char *one = text_file(5 * BLOCK), *both[] = {one, one};
    at_data *d = at_data_text(t, (at_data_args){.paths = both, .n = 2, .held = 0.1});
    ck_assert_int_eq(at_data_count(d, ATTIC_HELD), BLOCK);
    ck_assert_int_eq(id_of(d, ATTIC_HELD, 0), 4);
    at_close(t);
    remove(one);
}
END_TEST

START_TEST(rows_are_in_one_split_each_for_every_number_of_rows)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const double share[] = {0, 0.1, 0.5, 0.8};
    for (int n = 10; n <= 300; n += n < 20 ? 1 : 31)
        for (int s = 0; s < 8; s++) {
            int times[300] = {0};
            at_data *d =
                numbered(t, n, 0, (at_data_args){.held = share[s / 2], .held_tail = s % 2});
            int held = share[s / 2] > 0 ? count_split(t, d, ATTIC_HELD, times) : 0;
            ck_assert_int_eq(held, (int)floor(n * share[s / 2]));
            ck_assert_int_eq(count_split(t, d, ATTIC_TRAIN, times), n - held);
            for (int i = 0; i < n; i++) ck_assert_int_eq(times[i], 1);
        }
    at_close(t);
}
END_TEST

START_TEST(labels_with_a_period_are_in_both_splits)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int period = 2; period <= 10; period++) {
        int times[1000] = {0}, of_class[10] = {0};
        count_split(t, numbered(t, 1000, 0, (at_data_args){.held = 0.2}), ATTIC_HELD, times);
        for (int i = 0; i < 1000; i++) of_class[i % period] += times[i];
        for (int c = 0; c < period; c++) { /* 200 / period are expected */
            ck_assert_int_gt(of_class[c], 100 / period);
            ck_assert_int_lt(of_class[c], 300 / period);
        }
    }
    at_close(t);
}
END_TEST

START_TEST(split_seed_holds_out_any_row_and_any_two_rows_alike)
{
    enum { SEEDS = 2000 };
    at_tape *t = at_open(ATTIC_F32, 1);
    int each[10] = {0}, both[10] = {0}; /* row i is held out; i and 9 - i are */
    for (int seed = 0; seed < SEEDS; seed++) {
        int times[10] = {0};
        at_data_args args = {.held = 0.3, .split_seed = (uint64_t)seed};
        ck_assert_int_eq(count_split(t, numbered(t, 10, 0, args), ATTIC_HELD, times), 3);
        for (int i = 0; i < 10; i++) each[i] += times[i], both[i] += times[i] && times[9 - i];
    }
    for (int i = 0; i < 10; i++) { /* 5 standard deviations of 3 / 10 and of 3 2 / 10 9 */
        assert_close(each[i], SEEDS * 0.3, 5 * sqrt(SEEDS * 0.3 * 0.7));
        assert_close(both[i], SEEDS / 15.0, 5 * sqrt(SEEDS / 15.0));
    }
    at_close(t);
}
END_TEST

START_TEST(neither_the_seed_of_the_tape_nor_the_content_changes_the_split)
{
    at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F64, 2);
    at_data_args args = {.held = 0.25};
    int one[200] = {0}, two[400] = {0}, other[200] = {0}, differ = 0;
    count_split(t, numbered(t, 200, 0, args), ATTIC_HELD, one);
    count_split(u, numbered(u, 200, 200, args), ATTIC_HELD, two);
    ck_assert_mem_eq(one, two + 200, sizeof one);
    args.split_seed = 1;
    count_split(t, numbered(t, 200, 0, args), ATTIC_HELD, other);
    for (int i = 0; i < 200; i++) differ += one[i] != other[i];
    ck_assert_int_gt(differ, 40); /* of 50 about 37 are others: 75 places */
    double numbers[200];
    for (int i = 0; i < 200; i++) numbers[i] = i;
    at_tensor *x = at_const(u, at_shape_of(200), numbers);
    at_data *d = at_data_arrays(u, x, x, (at_data_args){.held = 0.25});
    at_batch b = at_data_batch(t, d, (at_batch_args){ATTIC_HELD, .rows = 50, .spread = 50});
    for (int i = 0; i < 50; i++) ck_assert_int_eq(one[(int)at_get(b.target, i)], 1);
    at_close(u);
    at_close(t);
}
END_TEST

START_TEST(an_epoch_of_a_split_visits_its_rows_once)
{
    at_tape *t = at_open(ATTIC_F32, 3);
    at_data *d = numbered(t, 40, 0, (at_data_args){.held = 0.3});
    for (int split = 0; split < 2; split++) {
        const int n = (int)at_data_count(d, (at_split)split);
        int in_split[40] = {0}, drawn[40] = {0};
        count_split(t, d, (at_split)split, in_split);
        for (int step = 0; step < 3 * n; step++)
            drawn[(int)at_item(
                at_data_batch(t, d, (at_batch_args){(at_split)split, .rows = 1, .step = step})
                    .ids)]++;
        for (int i = 0; i < 40; i++) ck_assert_int_eq(drawn[i], 3 * in_split[i]);
    }
    at_close(t);
}
END_TEST

START_TEST(held_tail_holds_out_the_last_share)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_data_args args = {.vocab = 3000, .held = 0.2, .held_tail = true, .split_seed = 5};
    at_batch_args both = {.split = ATTIC_HELD, .rows = 2, .spread = 2};
    at_data *d = numbered(t, 10, 0, args);
    assert_values(at_data_batch(t, d, both).ids, ((double[]){8, 9}), 0);
    int32_t ids[3000], out[3000];
    for (int i = 0; i < 3000; i++) ids[i] = i;
    d = at_data_ids(t, ids, 3000, args);
    ck_assert_int_eq(at_data_count(d, ATTIC_HELD), 600);
    ck_assert(at_data_read(t, d, ATTIC_TRAIN, 0, 2400, out));
    ck_assert(at_data_read(t, d, ATTIC_HELD, 0, 600, out + 2400));
    ck_assert_mem_eq(ids, out, sizeof ids);
    ck_assert_ptr_nonnull(strstr(at_data_description(d), ", 0.2 held out at the end, "));
    args.held = 0;
    d = at_data_ids(t, ids, 3000, args);
    ck_assert_int_eq(at_data_count(d, ATTIC_TRAIN), 3000);
    ck_assert_ptr_nonnull(strstr(at_data_description(d), ", 0 held out, "));
    at_close(t);
}
END_TEST

/* What is behind the fingerprint in the description of 20 rows with these classes below 30. */
static const char *warnings_of(at_tape *t, const int32_t *classes, at_data_args args)
{
    args.vocab = 30;
    at_tensor *y = at_ints(t, at_shape_of(20), classes), *x = at_const(t, y->shape, NULL);
    const at_data *d = at_data_arrays(t, x, y, args);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert_str_eq(strrchr(at_described(t, "data"), ':'), strrchr(at_data_description(d), ':'));
    const char *line = strchr(at_data_description(d), '\n');
    return line ? line : "";
}

START_TEST(classes_in_one_split_only_are_lines_of_the_description)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    int32_t classes[20], mixed[20];
    for (int i = 0; i < 20; i++) classes[i] = i, mixed[i] = i % 2;
    at_data_args tail = {.held = 0.1, .held_tail = true};
    ck_assert_str_eq(
        warnings_of(t, classes, tail),
        "\nwarning: classes that are never trained on: 18, 19"
        "\nwarning: classes that are never held out: 0, 1, 2, 3, 4, 5, 6, 7 and 10 more");
    ck_assert_str_eq(warnings_of(t, mixed, tail), "");
    mixed[19] = 29;
    ck_assert_str_eq(warnings_of(t, mixed, tail), "\nwarning: classes that are never trained on: 29"
                                                  "\nwarning: classes that are never held out: 1");
    ck_assert_str_eq(warnings_of(t, classes, (at_data_args){0}), "");
    ck_assert_ptr_nonnull(
        strstr(warnings_of(t, classes, (at_data_args){.held = 0.5}), "never held out"));
    at_close(t);
}
END_TEST

START_TEST(a_share_that_the_blocks_cannot_give_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(counting(t, 2976, 0.999)); /* 1024 to train on, not 3 */
    assert_error(t, "data: held is 0.999, but of 2976 ids or rows in blocks of 1024 only 0.655914 "
                    "can be held out");
    at_clear_error(t);
    at_tensor *x = at_const(t, at_shape_of(5), (double[5]){0});
    ck_assert_ptr_null(at_data_arrays(t, x, x, (at_data_args){.held = 0.1, .held_tail = true}));
    assert_error(t, "data: 5 ids or rows are too few to hold out 0.1 of them in blocks of 1");
    at_clear_error(t);
    ck_assert_ptr_null(at_data_arrays(t, x, x, (at_data_args){.held = 0.999}));
    assert_error(t, "data: held is 0.999, but of 5 ids or rows in blocks of 1 only 0.8 can be held "
                    "out");
    at_clear_error(t);
    ck_assert_ptr_nonnull(at_data_arrays(t, x, x, (at_data_args){.held = 0.8}));
    at_data *d = counting(t, 9 * BLOCK + 7, 0.1); /* a small share is cut as it always was */
    ck_assert_int_eq(at_data_count(d, ATTIC_HELD), 7);
    at_close(t);
}
END_TEST

SUITE(train_data_split, every_tenth_block_is_held_out,
      the_splits_of_any_share_hold_everything_once_and_in_order,
      files_are_joined_before_they_are_cut, rows_are_in_one_split_each_for_every_number_of_rows,
      labels_with_a_period_are_in_both_splits, split_seed_holds_out_any_row_and_any_two_rows_alike,
      neither_the_seed_of_the_tape_nor_the_content_changes_the_split,
      an_epoch_of_a_split_visits_its_rows_once, held_tail_holds_out_the_last_share,
      classes_in_one_split_only_are_lines_of_the_description,
      a_share_that_the_blocks_cannot_give_is_refused)
