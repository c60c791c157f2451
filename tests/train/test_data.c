/* test_data.c -- splits hold what they should, an epoch visits everything once, and a batch depends on
 * nothing but its arguments. */
#include "train/data.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "scratch.h"
#include "tensor/arena.h"
#include "tensors.h"

enum { BLOCK = 1024 };

/* The ids 0, 1, 2 ... n-1 as data. */
static at_data *counting(at_tape *t, int n, double held)
{
    int32_t *ids = malloc((size_t)n * sizeof *ids);
    for (int i = 0; i < n; i++) ids[i] = i;
    at_data *d = at_data_ids(t, ids, n, (at_data_args){.vocab = n, .held = held});
    free(ids);
    return d;
}

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

static char *test_path(void)
{
    return scratch_file("data");
}

/* A file of n bytes; block b is all 'a' + b. */
static char *text_file(int n)
{
    FILE *f = fopen(test_path(), "wb");
    for (int i = 0; i < n; i++) fputc('a' + i / BLOCK, f);
    fclose(f);
    return test_path();
}

/* A file of the n ids, w bytes each. */
static char *id_file(const int32_t *ids, int n, int w)
{
    FILE *f = fopen(test_path(), "wb");
    for (int i = 0; i < n; i++)
        for (int k = 0; k < w; k++) fputc(ids[i] >> 8 * k & 255, f);
    fclose(f);
    return test_path();
}

static int32_t id_of(const at_data *d, at_split split, ptrdiff_t i)
{
    int32_t id = -1;
    at_tape *t = at_open(ATTIC_F32, 1); /* any tape may read */
    at_data_read(t, d, split, i, 1, &id);
    at_close(t);
    return id;
}

/* ------------------------------------------------------------------ splits --------------------- */

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

/* ------------------------------------------------------------------ batches -------------------- */

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

/* ------------------------------------------------------------------ text, files ---------------- */

START_TEST(files_of_ids_are_what_memory_is)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    int32_t ids[3000];
    for (int i = 0; i < 3000; i++) ids[i] = i * 7919 % 200;
    at_data_args args = {.vocab = 200, .held = 0.4};
    at_batch_args at = {.rows = 4, .length = 50, .step = 3};
    at_batch memory = at_data_batch(t, at_data_ids(t, ids, 3000, args), at);
    for (args.id_bytes = 1; args.id_bytes <= 4; args.id_bytes *= 2) {
        at_data *d = at_data_file(t, id_file(ids, 3000, args.id_bytes), args);
        ck_assert_msg(at_ok(t), "%s", at_error(t));
        at_batch b = at_data_batch(t, d, at);
        ck_assert(equal_bits(b.ids, memory.ids));
        ck_assert(equal_bits(b.target, memory.target));
    }
    at_close(t);
    remove(test_path());
}
END_TEST

START_TEST(an_id_in_a_file_that_is_not_below_vocab_is_found_when_it_is_read)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const int32_t ids[] = {1, 2, 300, 4};
    at_data_args args = {.vocab = 10, .id_bytes = 2};
    at_data *d = at_data_file(t, id_file(ids, 4, 2), args);
    int32_t out[4];
    ck_assert(at_data_read(t, d, ATTIC_TRAIN, 0, 2, out));
    ck_assert_ptr_null(at_data_batch(t, d, (at_batch_args){.rows = 9, .length = 3}).ids);
    assert_error(t, "data: id 2 is 300, but must be in 0..9 (vocab - 1)");
    at_clear_error(t);
    args.id_bytes = 4;
    d = at_data_file(t, id_file((const int32_t[]){-5, 1}, 2, 4), args);
    ck_assert(!at_data_read(t, d, ATTIC_TRAIN, 0, 1, out));
    assert_error(t, "data: id 0 is -5, but must be in 0..9 (vocab - 1)");
    at_close(t);
    remove(test_path());
}
END_TEST

START_TEST(a_pipe_is_read_once)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    char *whole = text_file(12 * BLOCK), name[32], *path = name;
    at_data *expected = at_data_text(t, (at_data_args){.paths = &whole, .n = 1});
    int end[2];
    ck_assert_int_eq(pipe(end), 0);
    for (int i = 0; i < 12; i++) { /* a pipe holds 64 KiB */
        char block[BLOCK];
        memset(block, 'a' + i, sizeof block);
        ck_assert_int_eq((int)write(end[1], block, sizeof block), (int)sizeof block);
    }
    close(end[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", end[0]);
    at_data *d = at_data_text(t, (at_data_args){.paths = &path, .n = 1});
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert_uint_eq(at_data_fingerprint(d), at_data_fingerprint(expected));
    close(end[0]);
    at_close(t);
    remove(whole);
}
END_TEST

START_TEST(a_text_longer_than_what_is_read_at_once_is_whole)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    char *path = text_file(150 * BLOCK + 5);
    at_mark before = at_mark_here(t);
    size_t step_bytes = at_memory_of(t).step;
    at_data *d = at_data_text(t, (at_data_args){.paths = &path, .n = 1});
    ck_assert_int_eq(at_memory_of(t).step, step_bytes); /* the text itself is not kept */
    at_rewind(t, before);
    ck_assert_int_eq(at_data_count(d, ATTIC_TRAIN), 150 * BLOCK + 5);
    for (int i = 0; i < 150 * BLOCK + 5; i += 511) ck_assert_int_eq(id_of(d, 0, i), i / BLOCK);
    at_close(t);
    remove(path);
}
END_TEST

START_TEST(an_endless_text_is_refused)
{
#ifndef ATTIC_SLOW_MODE /* 1 GiB is read */
    at_tape *t = at_open(ATTIC_F32, 1);
    char *path = "/dev/zero";
    ck_assert_ptr_null(at_data_text(t, (at_data_args){.paths = &path, .n = 1}));
    assert_error(t, "data: /dev/zero goes on where the text has 1073741824 bytes, the most there "
                    "may be");
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
    at_close(t);
#endif
}
END_TEST

START_TEST(the_fingerprint_tells_any_other_data_apart)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    int32_t ids[] = {1, 2, 3, 4};
    at_data_args args = {.vocab = 9};
    at_data *d = at_data_ids(t, ids, 4, args);
    uint64_t h = at_data_fingerprint(d), k = at_data_fingerprint(at_data_ids(t, ids, 4, args));
    ck_assert_uint_eq(h, k);
    ck_assert_uint_ne(h, at_data_fingerprint(at_data_ids(t, ids, 3, args)));
    const int length[] = {1, 3, 2, 2};
    uint64_t a = at_data_fingerprint(at_data_sequences(t, ids, length, 2, args));
    uint64_t b = at_data_fingerprint(at_data_sequences(t, ids, length + 2, 2, args));
    ck_assert(h != a && h != b && a != b);
    ids[3] = 5;
    ck_assert_uint_ne(h, at_data_fingerprint(at_data_ids(t, ids, 4, args)));
    char expected[120];
    snprintf(expected, sizeof expected, "ids: 4 ids below 9, 0 held out, fingerprint %016llx",
             (unsigned long long)h);
    ck_assert_str_eq(at_data_description(d), expected);
    args.held = 0.5;
    args.split_seed = 3;
    const char *of_rows = at_data_description(at_data_sequences(t, ids, length, 2, args));
    const char *split = "sequences: 2 sequences of ids below 9, 0.5 held out by split_seed 3, ";
    ck_assert_msg(strstr(of_rows, split) == of_rows, "%s", of_rows);
    at_close(t);
}
END_TEST

START_TEST(a_large_file_is_told_apart_by_samples)
{
#ifndef ATTIC_SLOW_MODE
    uint64_t h[2];
    for (int i = 0; i < 2; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        FILE *f = fopen(test_path(), i ? "rb+" : "wb");
        fseek(f, (200 << 20) - 1, SEEK_SET); /* a hole, and the last byte */
        fputc(i, f);
        fclose(f);
        at_data *d = at_data_file(t, test_path(), (at_data_args){.vocab = 2, .id_bytes = 1});
        ck_assert_int_eq(at_data_count(d, ATTIC_TRAIN), 200 << 20);
        ck_assert_uint_lt(at_memory_of(t).reserved, 1 << 20); /* mapped */
        h[i] = at_data_fingerprint(d);
        at_close(t);
    }
    ck_assert_uint_ne(h[0], h[1]);
    remove(test_path());
#endif
}
END_TEST

/* ------------------------------------------------------------------ errors --------------------- */

static bool make_all(at_tape *t, char *text, const char *ids)
{
    const int length[] = {2, 1};
    at_data *d[] = {
        at_data_text(t, (at_data_args){.paths = &text, .n = 1, .held = 0.5}),
        at_data_text(t, (at_data_args){.paths = &text, .n = 1, .chars = true}),
        at_data_file(t, ids, (at_data_args){.vocab = 256, .id_bytes = 1}),
        at_data_sequences(t, (int32_t[]){1, 2, 3}, length, 2, (at_data_args){.vocab = 9}),
        at_data_arrays(t, at_const(t, at_shape_of(3, 2), NULL), at_const(t, at_shape_of(3), NULL),
                       (at_data_args){0}),
        at_data_arrays(t, at_const(t, at_shape_of(3, 2), NULL), at_ints(t, at_shape_of(3), NULL),
                       (at_data_args){.vocab = 2, .held = 0.4})};
    for (int i = 0; i < 6; i++) {
        at_batch b = at_data_batch(t, d[i], (at_batch_args){.rows = 2, .length = 2});
        if (at_ok(t)) ck_assert(b.ids && b.target);
    }
    return at_ok(t);
}

START_TEST(every_allocation_of_data_may_fail)
{
    char *path = text_file(2 * BLOCK);
    bool through = false;
    ptrdiff_t n = 0;
    while (!through && ++n < 1000) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_fail_allocation(n);
        through = make_all(t, path, path);
        at_fail_allocation(0);
        ck_assert(through || at_error_kind_of(t) == ATTIC_MEMORY_ERROR);
        at_close(t);
    }
    ck_assert(through && n > 30);
    remove(path);
}
END_TEST

START_TEST(what_is_no_data_is_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const int32_t ids[] = {1, 2, 9};
#define REFUSED(call, message)                                                                     \
    do {                                                                                           \
        ck_assert_ptr_null(call);                                                                  \
        assert_error(t, message);                                                                  \
        at_clear_error(t);                                                                         \
    } while (0)
    REFUSED(at_data_ids(t, ids, 3, (at_data_args){.vocab = 9}),
            "data: id 2 is 9, but must be in 0..8 (vocab - 1)");
    REFUSED(at_data_ids(t, ids, 3, (at_data_args){0}),
            "data: vocab is 0, but must say that ids are 0 .. vocab-1");
    REFUSED(at_data_ids(t, ids, 3, (at_data_args){.vocab = 10, .held = 1}),
            "data: held is 1, but must be in 0..1, and less than 1");
    REFUSED(at_data_ids(t, ids, 3, (at_data_args){.vocab = 10, .held = 0.1}),
            "data: 3 ids or rows are too few to hold out 0.1 of them in blocks of 1024");
    REFUSED(at_data_ids(t, ids, 0, (at_data_args){.vocab = 10}),
            "data: the ids: there is nothing in it");
    REFUSED(at_data_file(t, "/nonexistent/ids", (at_data_args){.vocab = 9, .id_bytes = 2}),
            "cannot open /nonexistent/ids: No such file or directory");
    ck_assert_ptr_null(
        at_data_file(t, id_file(ids, 3, 1), (at_data_args){.vocab = 9, .id_bytes = 2}));
    ck_assert_ptr_nonnull(strstr(at_error(t), " has 3 bytes, which are no ids of 2 bytes each"));
    at_clear_error(t);
    REFUSED(at_data_file(t, "x", (at_data_args){.vocab = 9, .id_bytes = 3}),
            "data: id_bytes is 3, but must be 1 (u8), 2 (u16) or 4 (i32)");
    REFUSED(at_data_sequences(t, ids, (const int[]){1, 0}, 2, (at_data_args){.vocab = 10}),
            "data: sequence 1 has the length 0");
    at_tensor *x = at_const(t, at_shape_of(3, 2), NULL), *y = at_ints(t, at_shape_of(3), ids);
    REFUSED(at_data_arrays(t, x, at_const(t, at_shape_of(2), NULL), (at_data_args){0}),
            "data: x is [3,2] and y is [2], but there must be a row of y for each of x");
    REFUSED(at_data_arrays(t, x, y, (at_data_args){.vocab = 9}),
            "data: class 2 is 9, but must be in 0..8");
    REFUSED(at_data_arrays(t, x, x, (at_data_args){.vocab = 9}),
            "data: y [3,2] has dtype f32, but classes below vocab 9 are i32");
    char *paths[] = {"/nonexistent/text", "/", NULL};
    REFUSED(at_data_text(t, (at_data_args){.paths = paths, .n = 1}),
            "data: cannot open /nonexistent/text: No such file or directory");
    REFUSED(at_data_text(t, (at_data_args){.paths = paths + 1, .n = 1}),
            "data: cannot read /: Is a directory");
    REFUSED(at_data_text(t, (at_data_args){.paths = paths + 2, .n = 1}), "data: a path is NULL");
    REFUSED(at_data_text(t, (at_data_args){.paths = paths, .n = 0}),
            "data: there are no files to read");
    at_close(t);
    remove(test_path());
}
END_TEST

START_TEST(what_is_no_batch_is_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_data *d = counting(t, 20, 0);
    const struct {
        at_batch_args args;
        const char *message;
    } refused[] = {
        {{.rows = 0, .length = 4}, "data: a batch of 0 rows, but at least 1 is needed"},
        {{.rows = 1}, "data: a length of 0, but at least 1 is needed"},
        {{.rows = 1, .length = 20},
         "data: windows of 20 ids and the one that follows, but the training split has only 20"},
        {{.rows = 1, .length = 4, .split = ATTIC_HELD},
         "data: what is held out is empty (see held in at_data_args)"},
        {{.rows = 1, .length = 4, .split = (at_split)2}, "data: there is no split 2"},
        {{.rows = 1, .length = 4, .step = -1}, "data: step -1 is negative or too large"},
        {{.rows = 1, .length = 4, .step = INT64_MAX},
         "data: step 9223372036854775807 is negative or too large"},
        {{.rows = 1, .length = 4, .micro = 2, .micros = 2},
         "data: micro-batch 2 of 2, but they are counted from 0"},
        {{.rows = 1, .length = 4, .spread = -1}, "data: spread is -1, but must be >= 0"},
    };
    for (int i = 0; i < (int)(sizeof refused / sizeof *refused); i++) {
        at_batch b = at_data_batch(t, d, refused[i].args);
        ck_assert(!b.ids && !b.target && !b.lengths);
        assert_error(t, refused[i].message);
        at_clear_error(t);
    }
    ck_assert_ptr_null(at_data_batch(t, NULL, refused[0].args).ids);
    assert_error(t, "data: the data is NULL");
    at_clear_error(t);
    int32_t out[4];
    ck_assert(!at_data_read(t, d, ATTIC_TRAIN, 18, 4, out));
    assert_error(t, "data: 4 ids from 18 on, but the split has only 20");
    at_clear_error(t);
    ck_assert(!at_data_read(t, d, ATTIC_TRAIN, 0, 4, NULL));
    assert_error(t, "data: out is NULL");
    at_clear_error(t);
    ck_assert(!at_data_read(t, NULL, ATTIC_TRAIN, 0, 4, out));
    assert_error(t, "data: the data is NULL");
    at_clear_error(t);
    d = at_data_sequences(t, (int32_t[]){1, 2}, (int[]){2}, 1, (at_data_args){.vocab = 9});
    ck_assert(!at_data_read(t, d, ATTIC_TRAIN, 0, 1, out));
    assert_error(t, "data: only text, ids and files can be read by position, but these are "
                    "sequences");
    at_close(t);
}
END_TEST

SUITE(train_data, every_tenth_block_is_held_out,
      the_splits_of_any_share_hold_everything_once_and_in_order,
      files_are_joined_before_they_are_cut, rows_are_in_one_split_each_for_every_number_of_rows,
      labels_with_a_period_are_in_both_splits, split_seed_holds_out_any_row_and_any_two_rows_alike,
      neither_the_seed_of_the_tape_nor_the_content_changes_the_split,
      an_epoch_of_a_split_visits_its_rows_once, held_tail_holds_out_the_last_share,
      classes_in_one_split_only_are_lines_of_the_description,

      a_share_that_the_blocks_cannot_give_is_refused,
      an_epoch_visits_every_window_once_and_the_next_one_in_another_order,
      an_order_is_a_permutation_for_every_number_of_rows, a_batch_depends_on_its_arguments_alone,
      micro_batches_are_the_rows_of_one_batch, targets_are_the_ids_that_follow,
      windows_that_are_spread_do_not_depend_on_the_seed,
      sequences_are_padded_and_say_how_long_they_are, two_data_of_one_seed_are_drawn_side_by_side,
      rows_meet_their_labels_on_any_tape, files_of_ids_are_what_memory_is,
      an_id_in_a_file_that_is_not_below_vocab_is_found_when_it_is_read, a_pipe_is_read_once,
      a_text_longer_than_what_is_read_at_once_is_whole, an_endless_text_is_refused,
      the_fingerprint_tells_any_other_data_apart, a_large_file_is_told_apart_by_samples,
      every_allocation_of_data_may_fail, what_is_no_data_is_named, what_is_no_batch_is_named)
