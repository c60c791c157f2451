/* test_data_bytes.c -- a tokenizer that is learned from the text at hand, and how many bytes an id
 * stands for. */
#include <math.h>

#include "train/numbered.h"

/* A file of n bytes, "one two three ... " again and again with a number between, and its tokens. */
static at_data *data_of_words(at_tape *t, at_data_args args, int n)
{
    static const char *const word[] = {"attention ", "is ", "a softmax ", "over keys, "};
    char *path = test_path();
    FILE *f = fopen(path, "wb");
    for (int i = 0, written = 0; written < n; i++) {
        char next[40];
        int length = snprintf(next, sizeof next, "%s%d\n", word[i * 7 / 3 % 4], i % 90);
        length = length < n - written ? length : n - written;
        fwrite(next, 1, (size_t)length, f);
        written += length;
    }
    fclose(f);
    args.paths = &path, args.n = 1;
    at_data *d = at_data_text(t, args);
    ck_assert_msg(d, "%s", at_error(t));
    remove(path);
    return d;
}

START_TEST(a_text_is_data_of_the_tokens_that_are_learned_from_it)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_data *d = data_of_words(t, (at_data_args){.bpe = 300}, 5000);
    ck_assert_int_eq(at_vocab(d), 300);
    ck_assert_str_eq(at_tokenizer_kind(at_data_tokenizer(d)), "gpt2");
    ck_assert(strncmp(at_data_description(d), "text: ", 6) == 0);
    ck_assert(strncmp(at_described(t, "tokenizer"), "attic tokenizer 1 gpt2 300 44\n", 30) == 0);
    at_batch b = at_data_batch(t, d, (at_batch_args){.rows = 1, .length = 40});
    const char *text = at_decode(t, at_data_tokenizer(d), b.ids->data, 40, NULL);
    ck_assert_ptr_nonnull(strstr(text, " softmax "));
    ck_assert_int_gt((int)strlen(text), 80);
    at_data *again =
        data_of_words(t, (at_data_args){.tokenizer = at_data_tokenizer(d), .bpe = 999}, 5000);
    ck_assert(at_data_fingerprint(again) == at_data_fingerprint(d)); /* a tokenizer comes first */
    at_close(t);
}
END_TEST

START_TEST(a_size_below_256_is_an_error_of_the_tokenizer)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    char *path = text_file(BLOCK);
    for (int size = -1; size < 256; size += 256) {
        ck_assert_ptr_null(at_data_text(t, (at_data_args){.paths = &path, .n = 1, .bpe = size}));
        char message[100];
        snprintf(message, sizeof message,
                 "tokenizer: size is %d, but must be >= 256: every byte is a token", size);
        assert_error(t, message);
        at_clear_error(t);
    }
    at_close(t);
    remove(path);
}
END_TEST

START_TEST(the_bytes_of_both_splits_are_those_of_the_text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int tail = 0; tail < 2; tail++) {
        at_data_args args = {.bpe = 290, .held = 0.3, .held_tail = tail};
        const at_data *d = data_of_words(t, args, 30000);
        double bytes = 0;
        for (at_split split = ATTIC_TRAIN; split <= ATTIC_HELD; split++) {
            const double each = at_data_bytes_per_id(t, d, split);
            ck_assert_double_gt(each, 1.5);
            bytes += each * (double)at_data_count(d, split);
        }
        assert_close(bytes, 30000, 1e-8);
    }
    at_close(t);
}
END_TEST

START_TEST(a_byte_is_one_byte_and_a_character_those_that_it_has)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const at_data *d = data_of_words(t, (at_data_args){.held = 0.1}, 20000);
    ck_assert(at_data_bytes_per_id(t, d, ATTIC_TRAIN) == 1);
    ck_assert(at_data_bytes_per_id(t, d, ATTIC_HELD) == 1);
    at_data_args args = {.vocab = 9,
                         .tokenizer = at_tokenizer_chars(t, "a\xc3\xa9\xe2\x88\x82", 6)};
    d = at_data_ids(t, (int32_t[]){0, 1, 2, 2, 5}, 5, args); /* 1, 2, 3, 3 bytes; 5 is no token */
    ck_assert(at_data_bytes_per_id(t, d, ATTIC_TRAIN) == 9.0 / 5);
    at_close(t);
}
END_TEST

START_TEST(sequences_have_the_bytes_of_all_their_ids)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_data_args args = {.vocab = 3, .held = 0.5, .held_tail = true};
    args.tokenizer = at_tokenizer_chars(t, "a\xc3\xa9\xe2\x88\x82", 6);
    for (args.pack = 0; args.pack < 5; args.pack += 4) {
        const at_data *d =
            at_data_sequences(t, (int32_t[]){0, 1, 2, 0, 1, 1}, (int[]){1, 2, 1, 2}, 4, args);
        ck_assert(at_data_bytes_per_id(t, d, ATTIC_TRAIN) == 6.0 / 3);
        ck_assert(at_data_bytes_per_id(t, d, ATTIC_HELD) == 5.0 / 3);
    }
    at_close(t);
}
END_TEST

START_TEST(what_has_no_bytes_is_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(3, 2), NULL);
    at_data_args plain = {.vocab = 9}, small = {.vocab = 4, .id_bytes = 1};
    small.tokenizer = at_tokenizer_bytes(t, "abcd", -1);
    const struct {
        const at_data *d;
        at_split split;
        const char *message;
    } wrong[] = {
        {NULL, ATTIC_TRAIN, "data: the data is NULL"},
        {at_data_arrays(t, x, x, (at_data_args){0}), ATTIC_TRAIN,
         "data: arrays have no ids, of which each has bytes"},
        {at_data_ids(t, (int32_t[]){1, 2}, 2, plain), ATTIC_TRAIN,
         "data: without a tokenizer it is not known which bytes an id is"},
        {at_data_ids(t, (int32_t[]){1, 2}, 2, small), ATTIC_HELD,
         "data: the split is empty (see held in at_data_args)"},
        {at_data_file(t, id_file((int32_t[]){1, 7}, 2, 1), small), ATTIC_TRAIN,
         "data: id 1 is 7, but must be in 0..3 (vocab - 1)"},
    };
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        ck_assert_msg(at_ok(t), "%s", at_error(t));
        ck_assert(isnan(at_data_bytes_per_id(t, wrong[i].d, wrong[i].split)));
        assert_error(t, wrong[i].message);
        at_clear_error(t);
    }
    at_close(t);
    remove(test_path());
}
END_TEST

SUITE(train_data_bytes, a_text_is_data_of_the_tokens_that_are_learned_from_it,
      a_size_below_256_is_an_error_of_the_tokenizer, the_bytes_of_both_splits_are_those_of_the_text,
      a_byte_is_one_byte_and_a_character_those_that_it_has,
      sequences_have_the_bytes_of_all_their_ids, what_has_no_bytes_is_named)
