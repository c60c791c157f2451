/* test_data.c -- data that cannot be made or asked for: each refusal names what is wrong. */
#include "tensor/arena.h"
#include "train/numbered.h"

static bool make_all(at_tape *t, char *text, const char *ids)
{
    const int length[] = {2, 1};
    at_data *d[] = {
        at_data_text(t, (at_data_args){.paths = &text, .n = 1, .held = 0.5}),
        at_data_text(t, (at_data_args){.paths = &text, .n = 1, .chars = true}),
        at_data_text(t, (at_data_args){.paths = &text, .n = 1, .bpe = 260}),
        at_data_file(t, ids, (at_data_args){.vocab = 256, .id_bytes = 1}),
        at_data_sequences(t, (int32_t[]){1, 2, 3}, length, 2, (at_data_args){.vocab = 9}),
        at_data_arrays(t, at_const(t, at_shape_of(3, 2), NULL), at_const(t, at_shape_of(3), NULL),
                       (at_data_args){0}),
        at_data_arrays(t, at_const(t, at_shape_of(3, 2), NULL), at_ints(t, at_shape_of(3), NULL),
                       (at_data_args){.vocab = 2, .held = 0.4})};
    for (int i = 0; i < 7; i++) {
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

SUITE(train_data, every_allocation_of_data_may_fail, what_is_no_data_is_named,
      what_is_no_batch_is_named)
