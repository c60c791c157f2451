/* test_corpus.c -- texts are split where they should be, and read whole. */
#include "io/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

/* A file of n bytes; block b is all 'a' + b. */
static const char *blocks_file(int n)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/attic_corpus_%d", (int)getpid());
    FILE *f = fopen(path, "wb");
    for (int i = 0; i < n; i++) fputc('a' + i / AT_CORPUS_BLOCK, f);
    fclose(f);
    return path;
}

START_TEST(every_tenth_block_is_held_out)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const char *path = blocks_file(20 * AT_CORPUS_BLOCK + 5);
    at_corpus *c = at_corpus_read(t, &path, 1);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert_int_eq(c->n_train, 18 * AT_CORPUS_BLOCK + 5);
    ck_assert_int_eq(c->n_held, 2 * AT_CORPUS_BLOCK);
    ck_assert_int_eq(c->byte_of[c->held[0]], 'a' + 9);
    ck_assert_int_eq(c->byte_of[c->held[AT_CORPUS_BLOCK]], 'a' + 19);
    ck_assert_int_eq(c->byte_of[c->train[9 * AT_CORPUS_BLOCK]], 'a' + 10);
    ck_assert_int_eq(c->vocab, 21);
    ck_assert_int_eq(c->id_of['a'], 0);
    ck_assert_int_eq(c->id_of['Z'], -1);
    at_close(t);
    remove(path);
}
END_TEST

START_TEST(files_are_joined_before_they_are_cut)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const char *one = blocks_file(5 * AT_CORPUS_BLOCK), *both[] = {one, one};
    at_corpus *c = at_corpus_read(t, both, 2);
    ck_assert_int_eq(c->n_held, AT_CORPUS_BLOCK);
    ck_assert_int_eq(c->byte_of[c->held[0]], 'a' + 4);
    at_close(t);
    remove(one);
}
END_TEST

START_TEST(targets_are_the_bytes_that_follow)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const char *path = blocks_file(12 * AT_CORPUS_BLOCK);
    at_corpus *c = at_corpus_read(t, &path, 1);
    at_tensor *x, *y;
    ck_assert(at_corpus_batch(t, c, 3, 2000, (at_stream){1, 2}, &x, &y));
    for (int b = 0; b < 3; b++)
        for (int i = 0; i + 1 < 2000; i++) ck_assert(at_get(y, b, i) == at_get(x, b, i + 1));
    at_close(t);
    remove(path);
}
END_TEST

START_TEST(what_cannot_be_read_is_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const char *path = "/nonexistent/text";
    ck_assert_ptr_null(at_corpus_read(t, &path, 1));
    ck_assert_str_eq(at_error(t),
                     "corpus: cannot open /nonexistent/text: No such file or directory");
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
    at_clear_error(t);

    path = blocks_file(100);
    ck_assert_ptr_null(at_corpus_read(t, &path, 1));
    ck_assert_str_eq(at_error(t),
                     "corpus: 1 files hold 100 bytes, but the tenth KiB is held out, so "
                     "10240 are needed");
    at_clear_error(t);
    remove(path);

    path = "/"; /* a directory opens, but does not read */
    ck_assert_ptr_null(at_corpus_read(t, &path, 1));
    ck_assert_str_eq(at_error(t), "corpus: cannot read /: Is a directory");
    at_clear_error(t);

    ck_assert_ptr_null(at_corpus_read(t, (const char *[]){"Makefile", NULL}, 2));
    ck_assert_str_eq(at_error(t), "corpus: path 1 is NULL");
    at_clear_error(t);
    ck_assert_ptr_null(at_corpus_read(t, NULL, 1));
    ck_assert_str_eq(at_error(t), "corpus: path 0 is NULL");
    at_clear_error(t);
    ck_assert(!at_corpus_batch(t, NULL, 1, 1, (at_stream){0}, NULL, NULL));
    ck_assert_str_eq(at_error(t), "corpus: the corpus, ids or target is NULL");
    at_close(t);
}
END_TEST

START_TEST(a_pipe_is_read_once)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const char *whole = blocks_file(12 * AT_CORPUS_BLOCK);
    at_corpus *expected = at_corpus_read(t, &whole, 1);
    int end[2];
    char name[32];
    const char *path = name;
    ck_assert_int_eq(pipe(end), 0);
    for (int i = 0; i < 12; i++) { /* a pipe holds 64 KiB */
        char block[AT_CORPUS_BLOCK];
        memset(block, 'a' + i, sizeof block);
        ck_assert_int_eq((int)write(end[1], block, sizeof block), (int)sizeof block);
    }
    close(end[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", end[0]);
    at_corpus *c = at_corpus_read(t, &path, 1);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert_int_eq(c->n_train, expected->n_train);
    ck_assert_mem_eq(c->train, expected->train, 12 * AT_CORPUS_BLOCK); /* held follows train */
    close(end[0]);
    at_close(t);
    remove(whole);
}
END_TEST

START_TEST(a_text_longer_than_what_is_read_at_once_is_whole)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const char *path = blocks_file(200 * AT_CORPUS_BLOCK + 5);
    at_corpus *c = at_corpus_read(t, &path, 1);
    ck_assert_int_eq(c->n_train, 180 * AT_CORPUS_BLOCK + 5);
    for (int i = 0; i < c->n_held; i++)
        ck_assert_int_eq(c->byte_of[c->held[i]],
                         (unsigned char)('a' + 9 + i / AT_CORPUS_BLOCK * 10));
    at_close(t);
    remove(path);
}
END_TEST

START_TEST(an_endless_text_is_refused)
{
#ifndef ATTIC_SLOW_MODE /* 1 GiB is read */
    at_tape *t = at_open(ATTIC_F32, 1);
    const char *path = "/dev/zero";
    ck_assert_ptr_null(at_corpus_read(t, &path, 1));
    ck_assert_str_eq(at_error(t), "corpus: /dev/zero goes on where the text has 1073741824 bytes, "
                                  "the most there may be");
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
    at_close(t);
#endif
}
END_TEST

SUITE(io_corpus, every_tenth_block_is_held_out, files_are_joined_before_they_are_cut,
      targets_are_the_bytes_that_follow, what_cannot_be_read_is_named, a_pipe_is_read_once,
      a_text_longer_than_what_is_read_at_once_is_whole, an_endless_text_is_refused)
