/* test_data_pack.c -- sequences packed into rows: no id is lost, none comes twice, and a batch
 * depends on nothing but its arguments. */
#include <string.h>

#include "autograd/op.h"
#include "tensor/arena.h"
#include "train/numbered.h"
#include "train/packing.h"

enum { MOST = 8192 };

/* Sequences whose ids are 0, 1, 2 ... in all. */
typedef struct {
    int n, total, length[MOST];
    int begin[MOST], end[MOST]; /* of the sequence that id i is in */
} documents;
static documents of;

static at_data *numbered(at_tape *t, int n, const int *length, at_data_args args)
{
    static int32_t ids[MOST];
    of = (documents){.n = n};
    for (int k = 0; k < n; k++) {
        of.length[k] = length[k];
        int begin = of.total;
        for (int i = 0; i < length[k]; i++, of.total++) {
            ids[of.total] = of.total;
            of.begin[of.total] = begin;
            of.end[of.total] = begin + length[k];
        }
    }
    args.vocab = of.total;
    return at_data_sequences(t, ids, length, n, args);
}

static int at(const at_tensor *x, int row, int i)
{
    return (int)at_get(x, row, i);
}

/* Is the row of a batch what data.h says?  Counts its ids in `seen`. */
static void check_row(at_batch b, int row, int T, int *seen)
{
    int n = (int)at_get(b.lengths, row), last = -1;
    ck_assert(n >= 1 && n <= T);
    for (int i = 0; i < n; i++) {
        int id = at(b.ids, row, i);
        bool follows = i > 0 && id == at(b.ids, row, i - 1) + 1 && of.begin[id] != id;
        seen[id]++;
        if (!follows) ck_assert_int_eq((id - of.begin[id]) % T, 0); /* a fragment begins */
        last += !follows;
        ck_assert_int_eq(at(b.segments, row, i), last);
        ck_assert_int_eq(at(b.positions, row, i), id - of.begin[id]);
        ck_assert_int_eq(at(b.target, row, i), id + 1 < of.end[id] ? id + 1 : -1);
    }
    for (int i = n; i < T; i++) {
        ck_assert(at(b.ids, row, i) == 0 && at(b.positions, row, i) == 0);
        ck_assert(at(b.target, row, i) == -1 && at(b.segments, row, i) == -1);
    }
}

/* How many ids of the split were in the rows of an epoch; none was there twice. */
static int epoch_of(at_tape *t, const at_data *d, at_split split, int epoch, int T)
{
    static int seen[MOST];
    memset(seen, 0, sizeof seen);
    const int W = (int)at_data_windows(d, split, T);
    at_mark mark = at_mark_here(t);
    for (int i = 0; i < W; i++, at_rewind(t, mark))
        check_row(at_data_batch(t, d, (at_batch_args){split, 1, .step = (int64_t)epoch * W + i}), 0,
                  T, seen);
    int ids = 0;
    for (int i = 0; i < of.total; i++) {
        ck_assert_int_le(seen[i], 1);
        ck_assert_int_eq(seen[i], seen[of.begin[i]]); /* a sequence is there as a whole */
        ids += seen[i];
    }
    return ids;
}

/* Lengths of a kind each: 1, T, T + 1, 3 T, and mixes. */
static int lengths_of_kind(int kind, int T, int *length)
{
    const int n = kind < 4 ? 40 : 300, least = kind == 5 ? T : 1, most = kind == 6 ? 5 * T : T;
    for (int k = 0; k < n; k++)
        length[k] =
            kind < 4 ? (const int[]){1, T, T + 1, 3 * T}[kind] : least + (7 * k * k + 3 * k) % most;
    return n;
}

START_TEST(an_epoch_has_each_id_once)
{
    at_tape *t = at_open(ATTIC_F32, 7);
    const at_data_args splits[] = {{0}, {.held = 0.25}, {.held = 0.25, .held_tail = true}};
    int length[MOST];
    for (int T = 1; T <= 8; T += T < 3 ? 1 : 5) {
        for (int kind = 0; kind < 7; kind++) {
            int n = lengths_of_kind(kind, T, length);
            for (int s = 0; s < 3; s++) {
                at_data_args args = splits[s];
                args.pack = T;
                at_data *d = numbered(t, n, length, args);
                for (int epoch = 0; epoch < 3; epoch++)
                    ck_assert_int_eq(epoch_of(t, d, ATTIC_TRAIN, epoch, T) +
                                         epoch_of(t, d, ATTIC_HELD, epoch, T),
                                     of.total);
            }
        }
    }
    ck_assert(at_ok(t));
    at_close(t);
}
END_TEST

START_TEST(each_goes_into_the_first_row_that_has_room)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const int order[] = {0, 1, 2, 3, 4};
    const ptrdiff_t start[] = {0, 5, 15, 18, 24, 26}, first[] = {0, 2, 3, 5, 6};
    const at_fragment fragment[] = {{0, 0}, {1, 8}, {1, 0}, {2, 0}, {4, 0}, {3, 0}};
    at_packing p;
    ck_assert(at_pack(t, &p, 8, 5, order, start, at_step_alloc));
    ck_assert_int_eq(p.n, 4);
    ck_assert_mem_eq(p.first, first, sizeof first);
    ck_assert_mem_eq(p.fragment, fragment, sizeof fragment);
    at_close(t);
}
END_TEST

START_TEST(a_window_of_1024_is_packed_for_itself)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    int length[1030];
    for (int k = 0; k < 1030; k++) length[k] = 1;
    at_data *d = numbered(t, 1030, length, (at_data_args){.pack = 2000});
    ck_assert_int_eq(at_data_windows(d, ATTIC_TRAIN, 0), 2);
    at_batch b = at_data_batch(t, d, (at_batch_args){.rows = 2, .spread = 2});
    assert_values(b.lengths, ((double[]){1024, 6}), 0);
    at_close(t);
}
END_TEST

/* All of a batch in one number, whatever order they are asked for in. */
static bool same_batch(at_batch a, at_batch b)
{
    return equal_bits(a.ids, b.ids) && equal_bits(a.target, b.target) &&
           equal_bits(a.segments, b.segments) && equal_bits(a.positions, b.positions) &&
           equal_bits(a.lengths, b.lengths);
}

START_TEST(a_packed_batch_depends_on_its_arguments_alone)
{
    at_tape *t = at_open(ATTIC_F32, 5), *u = at_open(ATTIC_F64, 9), *v = at_open(ATTIC_F32, 6);
    int length[MOST], n = lengths_of_kind(4, 8, length);
    const at_data_args args = {.held = 0.2, .pack = 8}, unpacked = {.held = 0.2};
    at_data *d = numbered(t, n, length, args), *same = numbered(t, n, length, args);
    at_data *e = numbered(v, n, length, args), *plain = numbered(t, n, length, unpacked);
    for (int step = 400; step >= 0; step -= 57) {
        at_batch_args which = {.split = step % 2, .rows = 3, .length = 8, .step = step};
        at_batch b = at_data_batch(t, d, which);
        ck_assert(same_batch(b, at_data_batch(u, d, which)));
        ck_assert(same_batch(b, at_data_batch(t, same, which)));
        ck_assert(!same_batch(b, at_data_batch(v, e, which))); /* the seed changes it */
        which.pack = true;
        ck_assert(same_batch(b, at_data_batch(t, d, which)));
        ck_assert(same_batch(b, at_data_batch(u, plain, which))); /* packed for this batch alone */
        which.step++;
        ck_assert(!same_batch(b, at_data_batch(t, d, which)));
    }
    at_close(t);
    at_close(u);
    at_close(v);
}
END_TEST

START_TEST(packed_micro_batches_are_the_rows_of_one_batch)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    int length[MOST], n = lengths_of_kind(6, 8, length);
    at_data *d = numbered(t, n, length, (at_data_args){.pack = 8});
    at_batch whole = at_data_batch(t, d, (at_batch_args){.rows = 6, .step = 5});
    for (int m = 0; m < 3; m++) {
        at_batch b =
            at_data_batch(t, d, (at_batch_args){.rows = 2, .step = 5, .micro = m, .micros = 3});
        ck_assert_mem_eq(b.ids->data, (int32_t *)whole.ids->data + 16 * m, 16 * sizeof(int32_t));
        ck_assert_mem_eq(b.segments->data, (int32_t *)whole.segments->data + 16 * m,
                         16 * sizeof(int32_t));
    }
    at_close(t);
}
END_TEST

START_TEST(every_epoch_has_the_same_rows_in_another_order)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    int length[MOST], n = lengths_of_kind(4, 8, length);
    at_data *d = numbered(t, n, length, (at_data_args){.pack = 8});
    const int W = (int)at_data_windows(d, ATTIC_TRAIN, 8);
    at_batch one = at_data_batch(t, d, (at_batch_args){.rows = W});
    at_batch two = at_data_batch(t, d, (at_batch_args){.rows = W, .step = 1});
    int same_place = 0, found = 0;
    for (int i = 0; i < W; i++)
        for (int k = 0; k < W; k++) {
            bool same = memcmp((int32_t *)one.ids->data + 8 * i, (int32_t *)two.ids->data + 8 * k,
                               8 * sizeof(int32_t)) == 0;
            found += same;
            same_place += same && i == k;
        }
    ck_assert_int_eq(found, W);
    ck_assert_int_lt(same_place, 10);
    at_close(t);
}
END_TEST

START_TEST(packed_rows_that_are_spread_do_not_depend_on_the_seed)
{
    at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 2);
    int length[MOST], n = lengths_of_kind(6, 8, length), seen[MOST] = {0}, ids = 0;
    const at_data_args args = {.held = 0.5, .pack = 8};
    at_data *d = numbered(t, n, length, args), *e = numbered(u, n, length, args);
    const int W = (int)at_data_windows(d, ATTIC_HELD, 8);
    const at_batch_args all = {ATTIC_HELD, W, .spread = W};
    at_batch b = at_data_batch(t, d, all);
    ck_assert(same_batch(b, at_data_batch(u, e, all)));
    for (int i = 0; i < W; i++) check_row(b, i, 8, seen);
    for (int i = 0; i < of.total; i++) {
        ck_assert_int_le(seen[i], 1);
        ids += seen[i];
    }
    ck_assert_int_eq(ids, epoch_of(t, d, ATTIC_HELD, 0, 8));
    at_close(t);
    at_close(u);
}
END_TEST

START_TEST(packing_follows_from_the_split_seed)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    int length[MOST], n = lengths_of_kind(4, 8, length);
    at_data *d = numbered(t, n, length, (at_data_args){.pack = 8});
    at_data *e = numbered(t, n, length, (at_data_args){.pack = 8, .split_seed = 1});
    const at_batch_args some = {.rows = 9, .spread = 9};
    ck_assert(!same_batch(at_data_batch(t, d, some), at_data_batch(t, e, some)));
    at_close(t);
}
END_TEST

START_TEST(short_texts_fill_nearly_all_of_the_rows)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    int length[1000];
    for (int k = 0; k < 1000; k++) length[k] = 3 + k % 10; /* a mean of 7.5 */
    at_data *d = numbered(t, 1000, length, (at_data_args){.pack = 64});
    ck_assert_int_le(at_data_windows(d, ATTIC_TRAIN, 64), 7500 / 64 + 2);
    at_close(t);
}
END_TEST

START_TEST(what_cannot_be_packed_is_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    char *paths[] = {text_file(2 * BLOCK)};
    const int32_t ids[] = {1, 2, 3, 4};
    const at_data_args pack = {.paths = paths, .n = 1, .vocab = 9, .id_bytes = 1, .pack = 4};
    at_tensor *x = at_const(t, at_shape_of(3, 2), NULL);
#define REFUSED(call, message)                                                                     \
    do {                                                                                           \
        ck_assert_ptr_null(call);                                                                  \
        assert_error(t, message);                                                                  \
        at_clear_error(t);                                                                         \
    } while (0)
    REFUSED(at_data_text(t, pack),
            "data: only sequences can be packed, but this data is of the kind text");
    REFUSED(at_data_ids(t, ids, 4, pack),
            "data: only sequences can be packed, but this data is of the kind ids");
    REFUSED(at_data_file(t, paths[0], pack),
            "data: only sequences can be packed, but this data is of the kind file");
    REFUSED(at_data_arrays(t, x, x, (at_data_args){.pack = 4}),
            "data: only sequences can be packed, but this data is of the kind arrays");
    const int length[] = {3, 1}, none[] = {3, 0};
    REFUSED(at_data_sequences(t, ids, length, 2, (at_data_args){.vocab = 9, .pack = -1}),
            "data: pack is -1, but must be >= 0");
    REFUSED(at_data_sequences(t, ids, none, 2, (at_data_args){.vocab = 9, .pack = 4}),
            "data: sequence 1 has the length 0");
    at_data *d = at_data_sequences(t, ids, length, 2, (at_data_args){.vocab = 9, .pack = 4});
    at_data *plain = at_data_sequences(t, ids, length, 2, (at_data_args){.vocab = 9});
    at_data *flat = at_data_ids(t, ids, 4, (at_data_args){.vocab = 9});
    REFUSED(at_data_batch(t, d, (at_batch_args){.rows = 1, .length = 5}).ids,
            "data: a length of 5, but the sequences are packed into rows of 4");
    ck_assert_int_eq(at_data_windows(d, ATTIC_TRAIN, 5), 0);
    REFUSED(at_data_batch(t, d, (at_batch_args){ATTIC_HELD, .rows = 1}).ids,
            "data: what is held out is empty (see held in at_data_args)");
    REFUSED(at_data_batch(t, plain, (at_batch_args){.rows = 1, .pack = true}).ids,
            "data: a length of 0, but at least 1 is needed");
    REFUSED(at_data_batch(t, flat, (at_batch_args){.rows = 1, .length = 2, .pack = true}).ids,
            "data: only sequences can be packed, but this data is of the kind ids");
    at_close(t);
    remove(test_path());
}
END_TEST

static bool pack_twice(at_tape *t)
{
    const int length[] = {2, 1, 7};
    const int32_t ids[10] = {0};
    at_data_args args = {.vocab = 9, .held = 0.4, .pack = 4};
    at_data *d = at_data_sequences(t, ids, length, 3, args);
    args.pack = 0;
    at_data *e = at_data_sequences(t, ids, length, 3, args);
    at_batch b = at_data_batch(t, d, (at_batch_args){.rows = 2});
    at_batch c = at_data_batch(t, e, (at_batch_args){.rows = 2, .length = 4, .pack = true});
    if (at_ok(t)) ck_assert(same_batch(b, c));
    return at_ok(t);
}

START_TEST(every_allocation_of_a_packing_may_fail)
{
    bool through = false;
    ptrdiff_t n = 0;
    while (!through && ++n < 1000) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_fail_allocation(n);
        through = pack_twice(t);
        at_fail_allocation(0);
        ck_assert(through || at_error_kind_of(t) == ATTIC_MEMORY_ERROR);
        at_close(t);
    }
    ck_assert(through && n > 20);
}
END_TEST

START_TEST(a_description_says_into_what_rows_sequences_are_packed)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const int length[] = {3, 1};
    at_data_args args = {.vocab = 9, .held = 0.5};
    at_data *plain = at_data_sequences(t, (int32_t[]){1, 2, 3, 4}, length, 2, args);
    args.pack = 64;
    at_data *d = at_data_sequences(t, (int32_t[]){1, 2, 3, 4}, length, 2, args);
    const char *text = at_data_description(d), *before = at_data_description(plain);
    ck_assert(memcmp(text, before, strlen(before)) == 0);
    ck_assert_str_eq(text + strlen(before), ", packed into rows of 64");
    ck_assert_uint_eq(at_data_fingerprint(d), at_data_fingerprint(plain));
    at_close(t);
}
END_TEST

SUITE(train_data_pack, an_epoch_has_each_id_once, each_goes_into_the_first_row_that_has_room,
      a_window_of_1024_is_packed_for_itself, a_packed_batch_depends_on_its_arguments_alone,
      packed_micro_batches_are_the_rows_of_one_batch,
      every_epoch_has_the_same_rows_in_another_order,
      packed_rows_that_are_spread_do_not_depend_on_the_seed, packing_follows_from_the_split_seed,
      short_texts_fill_nearly_all_of_the_rows, what_cannot_be_packed_is_named,
      every_allocation_of_a_packing_may_fail,
      a_description_says_into_what_rows_sequences_are_packed)
