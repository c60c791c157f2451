/* test_data_file.c -- ids and text from files and pipes, and the fingerprint that tells data apart. */
#include <unistd.h>

#include "train/numbered.h"

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

SUITE(train_data_file, files_of_ids_are_what_memory_is,
      an_id_in_a_file_that_is_not_below_vocab_is_found_when_it_is_read, a_pipe_is_read_once,
      a_text_longer_than_what_is_read_at_once_is_whole, an_endless_text_is_refused,
      the_fingerprint_tells_any_other_data_apart, a_large_file_is_told_apart_by_samples)
