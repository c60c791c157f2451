/* test_tokenizer.c -- ids are those of independent implementations, and any text comes back. */
#include "train/tokenizer.h"

#include <stdlib.h>
#include <unistd.h>

#include "golden/tokenizers.inc"
#include "printable.h"
#include "scratch.h"
#include "tensors.h"
#include "tensor/arena.h"

enum { TEXTS = sizeof golden_texts / sizeof *golden_texts };

#define VOCAB "tests/golden/tokenizers/vocab.json"
#define MERGES "tests/golden/tokenizers/merges.txt"
#define LLAMA "tests/golden/tokenizers/tokenizer.bin"

static at_tokenizer *gpt2(at_tape *t)
{
    return at_tokenizer_gpt2(t, VOCAB, MERGES);
}

static at_tokenizer *llama2(at_tape *t)
{
    return at_tokenizer_llama2(t, LLAMA);
}

/* All kinds, those of bytes and characters with what occurs in the golden texts. */
enum { KINDS = 4 };
static at_tokenizer *tokenizer_of_kind(at_tape *t, int kind)
{
    char all[1 << 14];
    ptrdiff_t n = 0;
    for (int i = 0; i < TEXTS; n += golden_texts[i++].bytes)
        memcpy(all + n, golden_texts[i].text, (size_t)golden_texts[i].bytes);
    ck_assert_int_le(n, (int)sizeof all);
    at_tokenizer *k = kind == 0   ? at_tokenizer_bytes(t, NULL, 0)
                      : kind == 1 ? at_tokenizer_chars(t, all, n)
                      : kind == 2 ? gpt2(t)
                                  : llama2(t);
    ck_assert_msg(k, "%s", at_error(t));
    return k;
}

/* ------------------------------------------------------------------ golden --------------------- */

static void compare_golden(at_tokenizer *(*make)(at_tape *t), const short *expected)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tokenizer *k = make(t);
    ck_assert_msg(k, "%s", at_error(t));
    for (int i = 0; i < TEXTS; i++) {
        ptrdiff_t n;
        int32_t *ids = at_encode(t, k, golden_texts[i].text, golden_texts[i].bytes, &n);
        ck_assert_msg(ids, "%s", at_error(t));
        for (ptrdiff_t j = 0; j < n; j++)
            ck_assert_msg(ids[j] == expected[j], "text %d \"%s\", id %td: %d is not %d", i,
                          golden_texts[i].text, j, ids[j], expected[j]);
        ck_assert_int_eq(expected[n], -1);
        expected += n + 1;
    }
    at_close(t);
}

START_TEST(gpt2_gives_the_ids_that_independent_packages_give)
{
    compare_golden(gpt2, golden_gpt2);
}
END_TEST

START_TEST(llama2_gives_the_ids_that_independent_packages_give)
{
    compare_golden(llama2, golden_llama2);
}
END_TEST

/* ------------------------------------------------------------------ round trips ---------------- */

static void comes_back(at_tape *t, const at_tokenizer *k, const char *text, ptrdiff_t bytes)
{
    ptrdiff_t n, back;
    at_mark here = at_mark_here(t);
    int32_t *ids = at_encode(t, k, text, bytes, &n);
    ck_assert_msg(ids, "%s", at_error(t));
    char *again = at_decode(t, k, ids, n, &back);
    ck_assert_int_eq(back, bytes);
    ck_assert_mem_eq(again, text, (size_t)bytes);
    ck_assert_int_eq(again[back], 0);
    at_rewind(t, here);
}

START_TEST(every_golden_text_comes_back_from_every_kind)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int kind = 0; kind < KINDS; kind++) {
        at_tokenizer *k = tokenizer_of_kind(t, kind);
        for (int i = 0; i < TEXTS; i++)
            comes_back(t, k, golden_texts[i].text, golden_texts[i].bytes);
        comes_back(t, k, "", 0);
    }
    at_close(t);
}
END_TEST

START_TEST(any_bytes_come_back)
{
    static const char *const invalid[] = {"\xff",
                                          "\x80",
                                          "\xc3",
                                          "\xc3(",
                                          "\xe2\x82",
                                          "\xe2\x82x",
                                          "\xf0\x9f\x99",
                                          "\xf0\x9f\x99 x",
                                          "\xc0\x80",
                                          "\xed\xa0\x80",
                                          "\xf4\x90\x80\x80",
                                          "\xf8\x88\x80\x80\x80",
                                          "a\xff\xfe b",
                                          " \xff",
                                          "  \xff",
                                          "\xe4\xbd\xa0\xe5\xa5",
                                          "\x80\x80\x80\x80\x80\x80",
                                          "x\xcc",
                                          "\xfe\xff",
                                          "caf\xe9 na\xefve"};
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == 1) continue; /* of characters: those that occur, see below */
        at_tokenizer *k = tokenizer_of_kind(t, kind);
        for (int i = 0; i < 20; i++) comes_back(t, k, invalid[i], (ptrdiff_t)strlen(invalid[i]));
        for (int i = 0; i < 500; i++) {
            char text[40];
            for (int b = 0; b < 40; b++)
                text[b] =
                    (char)(int)(at_random_unit((at_stream){5, 0}, (uint64_t)(40 * i + b)) * 256);
            comes_back(t, k, text, i % 41);
        }
    }
    at_tokenizer *k = at_tokenizer_chars(t, "a\xff\xc3\xa9\xc3", 5);
    comes_back(t, k,
               "\xc3\xa9\xc3"
               "a\xff",
               5);
    at_close(t);
}
END_TEST

START_TEST(a_text_form_is_the_same_tokenizer)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int kind = 0; kind < KINDS; kind++) {
        at_tokenizer *k = tokenizer_of_kind(t, kind);
        char *text = at_tokenizer_text(t, k);
        at_tokenizer *again = at_tokenizer_of_text(t, text);
        ck_assert_msg(again, "%s", at_error(t));
        ck_assert_str_eq(at_tokenizer_text(t, again), text);
        ck_assert_str_eq(at_tokenizer_kind(again), at_tokenizer_kind(k));
        for (int i = 0; i < TEXTS; i++) {
            ptrdiff_t n, m;
            const int32_t *a = at_encode(t, k, golden_texts[i].text, golden_texts[i].bytes, &n);
            const int32_t *b = at_encode(t, again, golden_texts[i].text, golden_texts[i].bytes, &m);
            ck_assert_int_eq(n, m);
            ck_assert_mem_eq(a, b, (size_t)n * sizeof *a);
        }
    }
    at_close(t);
}
END_TEST

START_TEST(a_long_text_is_encoded_in_time)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    enum { LONG = 1 << 20 };
    char *text = malloc(LONG);
    for (int kind = 2; kind < KINDS; kind++) {
        at_tokenizer *k = tokenizer_of_kind(t, kind);
        for (int i = 0; i < LONG; i++) text[i] = i % 3 ? 'a' : 't'; /* no space: one piece */
        comes_back(t, k, text, LONG);
        memset(text, ' ', LONG);
        comes_back(t, k, text, LONG);
    }
    free(text);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ bytes, characters ---------- */

START_TEST(bytes_and_characters_that_occur_have_the_ids_in_order)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const char text[] = "b\xc3\xa9"
                        "a\xff";
    ptrdiff_t n;
    int length;
    at_tokenizer *k = at_tokenizer_bytes(t, text, 5);
    ck_assert_int_eq(at_tokenizer_vocab(k), 5);
    ck_assert_int_eq(at_encode(t, k, "b", -1, &n)[0], 1);
    ck_assert_str_eq(at_tokenizer_text(t, k), "attic tokenizer 1 bytes 5 0\n61\n62\na9\nc3\nff\n");
    k = at_tokenizer_chars(t, text, 5);
    ck_assert_str_eq(at_tokenizer_text(t, k), "attic tokenizer 1 chars 4 0\nff\n61\n62\nc3a9\n");
    ck_assert_int_eq(at_tokenizer_find(k, "\xc3\xa9", 2), 3);
    ck_assert_mem_eq(at_token_bytes(k, 3, &length), "\xc3\xa9", 2);
    ck_assert_int_eq(length, 2);
    ck_assert_ptr_null(at_token_bytes(k, 4, &length));
    ck_assert_int_eq(length, 0);
    ck_assert_mem_eq(at_token_bytes(k, 3, NULL), "\xc3\xa9", 2);
    ck_assert_ptr_null(at_token_bytes(k, 4, NULL));
    at_close(t);
}
END_TEST

START_TEST(a_length_of_minus_one_is_up_to_the_0_and_no_other_may_be_negative)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ptrdiff_t n;
    const at_tokenizer *k = at_tokenizer_bytes(t, "aba", -1);
    ck_assert_int_eq(at_tokenizer_vocab(k), 2);
    ck_assert_int_eq(at_tokenizer_vocab(at_tokenizer_chars(t, "\xc3\xa9ta", -1)), 3);
    ck_assert_int_eq(at_tokenizer_vocab(at_tokenizer_bytes(t, NULL, -1)), 256);
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_null(i == 0   ? (const void *)at_tokenizer_bytes(t, "a", -2)
                           : i == 1 ? (const void *)at_tokenizer_chars(t, "a", -2)
                           : i == 2 ? (const void *)at_encode(t, k, "a", -2, &n)
                                    : (const void *)at_decode(t, k, (int32_t[]){0}, -2, NULL));
        char expected[80];
        snprintf(expected, sizeof expected,
                 "%s: the text has -2 bytes, but must have >= 0, or -1 (up to its 0)",
                 i < 2 ? "tokenizer" : "encode");
        assert_error(t, i < 3 ? expected : "decode: n is -2, but must be >= 0");
        at_clear_error(t);
    }
    ck_assert_str_eq(at_decode(t, k, NULL, 0, NULL), "");
    at_close(t);
}
END_TEST

START_TEST(a_character_without_a_token_is_an_error_that_names_the_place)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ptrdiff_t n;
    at_tokenizer *k = at_tokenizer_chars(t, "ab", 2);
    ck_assert_ptr_null(at_encode(t, k, "ab\xc3\xa9", -1, &n));
    assert_error(t, "encode: U+00E9 at byte 2 has no token in this vocabulary");
    at_clear_error(t);
    ck_assert_ptr_null(at_encode(t, k, "\x80", -1, &n));
    assert_error(t, "encode: 0x80 at byte 0 has no token in this vocabulary");
    at_clear_error(t);
    ck_assert_ptr_null(at_decode(t, k, (int32_t[]){1, 2}, 2, NULL));
    assert_error(t, "decode: id 2 at 1, but the vocabulary has the ids 0 to 1");
    at_clear_error(t);
    ck_assert_ptr_null(at_encode(t, NULL, "a", 1, &n));
    assert_error(t, "encode: the tokenizer is NULL");
    at_close(t);
}
END_TEST

START_TEST(special_tokens_come_from_no_text_and_are_found_by_name)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tokenizer *g = gpt2(t), *l = llama2(t);
    ptrdiff_t n;
    ck_assert_int_eq(at_tokenizer_find(g, "<|endoftext|>", 13), at_tokenizer_vocab(g) - 1);
    at_encode(t, g, "<|endoftext|>", -1, &n);
    ck_assert_int_gt(n, 1);
    ck_assert_int_eq(at_tokenizer_find(l, "<s>", 3), 1);
    ck_assert_int_eq(at_encode(t, l, "\n", -1, &n)[1], 3 + '\n'); /* <0x0A> */
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ hostile files -------------- */

static const char *test_file(const char *name, const char *bytes, ptrdiff_t n)
{
    char *p = scratch_file(name);
    FILE *f = fopen(p, "wb");
    fwrite(bytes, 1, (size_t)n, f);
    fclose(f);
    return p;
}

static const char small_json[] =
    "{\"a\": 0, \"b\":1,\"\\u0120\":3, \"ab\" : 2,\"\\u0120ab\":4, \"c\":5}";
static const char small_merges[] = "#version: 0.2\na b\n\xc4\xa0 ab\n";
static const char small_bin[] = "\3\0\0\0"
                                "\0\0\0\0"
                                "\1\0\0\0"
                                "a"
                                "\0\0\0\0"
                                "\1\0\0\0"
                                "b"
                                "\0\0\x80\x3f"
                                "\2\0\0\0"
                                "ab"
                                "\0\0\0\0"
                                "\1\0\0\0"
                                " ";

typedef struct {
    const char *bytes;
    ptrdiff_t n;
} content;

/* The tokenizer of files that may be damaged: if there is one, it can be used. */
static void try_tokenizer(at_tape *t, at_tokenizer *k)
{
    ck_assert(k ? at_ok(t) : at_error_kind_of(t) == ATTIC_FILE_ERROR);
    ck_assert_uint_lt(at_memory_of(t).reserved, 1 << 20);
    ptrdiff_t n;
    char *text = k ? at_tokenizer_text(t, k) : NULL;
    if (k) at_encode(t, k, "ab ab c\xff", -1, &n);
    at_clear_error(t);
    if (k) ck_assert_ptr_nonnull(at_tokenizer_of_text(t, text));
    at_close(t);
}

static void try_gpt2(content json, content merges)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    try_tokenizer(t, at_tokenizer_gpt2(t, test_file("json", json.bytes, json.n),
                                       test_file("merges", merges.bytes, merges.n)));
}

static void try_llama2(content bin)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    try_tokenizer(t, at_tokenizer_llama2(t, test_file("bin", bin.bytes, bin.n)));
}

START_TEST(small_files_are_read)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tokenizer *g = at_tokenizer_gpt2(t, test_file("json", small_json, sizeof small_json - 1),
                                        test_file("merges", small_merges, sizeof small_merges - 1));
    ck_assert_msg(g, "%s", at_error(t));
    ptrdiff_t n;
    const int32_t *ids = at_encode(t, g, "ab abc", -1, &n);
    ck_assert_int_eq(n, 3);
    ck_assert_mem_eq(ids, ((int32_t[]){2, 4, 5}), sizeof(int32_t[3]));
    at_tokenizer *l = at_tokenizer_llama2(t, test_file("bin", small_bin, sizeof small_bin - 1));
    ck_assert_msg(l, "%s", at_error(t));
    ids = at_encode(t, l, "abb", -1, &n);
    ck_assert_int_eq(n, 3);
    ck_assert_mem_eq(ids, ((int32_t[]){3, 2, 1}), sizeof(int32_t[3]));
    at_close(t);
}
END_TEST

START_TEST(a_llama2_file_ends_with_a_token)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int n = 0; n < (int)sizeof small_bin; n++) {
        bool whole = n == 13 || n == 22 || n == 32 || n == 41;
        ck_assert((at_tokenizer_llama2(t, test_file("bin", small_bin, n)) != NULL) == whole);
        at_clear_error(t);
    }
    char bin[sizeof small_bin];
    memcpy(bin, small_bin, sizeof bin);
    bin[0] = 1; /* the longest has one byte, it says: but the third has two */
    const char *path = test_file("bin", bin, sizeof bin - 1);
    ck_assert_ptr_null(at_tokenizer_llama2(t, path));
    char expected[200];
    snprintf(expected, sizeof expected,
             "tokenizer: %s: token 2 at byte 22 has no score, or a length that does not fit (the "
             "longest is said to have 1 bytes)",
             path);
    assert_error(t, expected);
    at_close(t);
}
END_TEST

START_TEST(no_truncation_and_no_changed_byte_of_a_vocabulary_crashes)
{
    const content json = {small_json, sizeof small_json - 1};
    const content merges = {small_merges, sizeof small_merges - 1};
    const content bin = {small_bin, sizeof small_bin - 1};
    for (ptrdiff_t n = 0; n < json.n; n++) try_gpt2((content){json.bytes, n}, merges);
    for (ptrdiff_t n = 0; n < merges.n; n++) try_gpt2(json, (content){merges.bytes, n});
    for (ptrdiff_t n = 0; n < bin.n; n++) try_llama2((content){bin.bytes, n});
    static const unsigned char change[] = {0,   1,   ' ',  '"',  '\\', '0',
                                           '9', '}', 0x7f, 0x80, 0xc3, 0xff};
    for (int c = 0; c < (int)sizeof change; c++)
        for (ptrdiff_t i = 0; i < json.n; i++) {
            char j[sizeof small_json], m[sizeof small_merges], b[sizeof small_bin];
            memcpy(j, small_json, sizeof j);
            memcpy(m, small_merges, sizeof m);
            memcpy(b, small_bin, sizeof b);
            j[i] = (char)change[c];
            try_gpt2((content){j, json.n}, merges);
            if (i < merges.n) m[i] = (char)change[c];
            if (i < merges.n) try_gpt2(json, (content){m, merges.n});
            if (i < bin.n) b[i] = (char)change[c];
            if (i < bin.n) try_llama2((content){b, bin.n});
        }
}
END_TEST

START_TEST(no_truncation_and_no_changed_byte_of_a_text_form_crashes)
{
    static const char *const form[] = {
        "attic tokenizer 1 bytes 3 0\n61\n62\nff\n", "attic tokenizer 1 chars 2 0\n61\nc3a9\n",
        "attic tokenizer 1 gpt2 4 1\n61\n62\n6162\n20\n0 1\n",
        "attic tokenizer 1 llama2 4 0\n61 00000000\n62 00000000\n6162 3f800000\n=0a 00000000\n"};
    int refused = 0;
    for (int f = 0; f < 4; f++)
        for (ptrdiff_t n = (ptrdiff_t)strlen(form[f]), i = 0; i < n; i++)
            for (int change = -1; change < 256; change++) {
                char text[120];
                strcpy(text, form[f]);
                text[i] = (char)(change < 0 ? 0 : change);
                at_tape *t = at_open(ATTIC_F32, 1);
                at_tokenizer *k = at_tokenizer_of_text(t, text);
                ck_assert(k ? at_ok(t) : at_error_kind_of(t) == ATTIC_USER_ERROR);
                refused += !k;
                ptrdiff_t count;
                if (k) at_encode(t, k, "ab a\n", -1, &count);
                at_close(t);
            }
    ck_assert_int_gt(refused, 10000);
}
END_TEST

START_TEST(what_is_wrong_with_a_file_is_said)
{
    const struct {
        const char *json, *merges, *message;
    } wrong[] = {
        {"[]", "", "byte 0 of it should be {"},
        {"{}", "", "it has no tokens"},
        {"{\"a\":0,\"b\":2}", "", "2 tokens, but none has the id 1"},
        {"{\"a\":0,\"b\":0}", "", "two tokens have the id 0"},
        {"{\"a\":0,\"a\":1}", "", "token 1 is there twice"},
        {"{\"a\":9}", "", "a number at byte 5 of it is above 1"},
        {"{\"a\":0} x", "", "byte 8 of it should be the end, but for spaces"},
        {"{\"a b\":0}", "", "token 0 has a character that stands for no byte"},
        {"{\"\xff\":0}", "", "byte 2 of it is not UTF-8"},
        {"{\"a\":0}", "#version\n\naa\n", "line 3 has no two tokens with a space between"},
        {"{\"a\":0}", "a a\n",
         "line 1 joins two tokens, but not both, or not what they become, are in the vocabulary"},
    };
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        const char *json = test_file("json", wrong[i].json, (ptrdiff_t)strlen(wrong[i].json));
        const char *merges =
            test_file("merges", wrong[i].merges, (ptrdiff_t)strlen(wrong[i].merges));
        ck_assert_ptr_null(at_tokenizer_gpt2(t, json, merges));
        char expected[200];
        snprintf(expected, sizeof expected, "tokenizer: %s: %s", *wrong[i].merges ? merges : json,
                 wrong[i].message);
        assert_error(t, expected);
        at_close(t);
    }
}
END_TEST

/* (In a text form all tokens are digits, and messages on other vocabularies give their ids.) */
START_TEST(what_is_no_text_form_is_quoted_in_printable_characters)
{
    for (int i = 0; i < N_HOSTILE; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        ck_assert_ptr_null(at_tokenizer_of_text(t, hostile_names[i].name));
        ck_assert(is_printable(at_error(t)));
        ck_assert_ptr_nonnull(strstr(at_error(t), hostile_names[i].shown));
        at_close(t);
    }
}
END_TEST

START_TEST(every_allocation_of_a_tokenizer_may_fail)
{
    ptrdiff_t n = 0, k = 0;
    bool through = false;
    while (!through && ++n < 1000) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_fail_allocation(n);
        const at_tokenizer *g = gpt2(t), *l = llama2(t);
        char *text = at_tokenizer_text(t, g);
        through = text && at_tokenizer_of_text(t, text) && at_encode(t, l, "a b c", -1, &k) &&
                  at_tokenizer_chars(t, text, (ptrdiff_t)strlen(text));
        at_fail_allocation(0);
        ck_assert(through || at_error_kind_of(t) == ATTIC_MEMORY_ERROR);
        at_close(t);
    }
    ck_assert(through && n > 20);
}
END_TEST

SUITE(train_tokenizer, gpt2_gives_the_ids_that_independent_packages_give,
      llama2_gives_the_ids_that_independent_packages_give,
      every_golden_text_comes_back_from_every_kind, any_bytes_come_back,
      a_text_form_is_the_same_tokenizer, a_long_text_is_encoded_in_time,
      bytes_and_characters_that_occur_have_the_ids_in_order,
      a_length_of_minus_one_is_up_to_the_0_and_no_other_may_be_negative,
      a_character_without_a_token_is_an_error_that_names_the_place,
      special_tokens_come_from_no_text_and_are_found_by_name, small_files_are_read,
      a_llama2_file_ends_with_a_token, no_truncation_and_no_changed_byte_of_a_vocabulary_crashes,
      no_truncation_and_no_changed_byte_of_a_text_form_crashes, what_is_wrong_with_a_file_is_said,
      what_is_no_text_form_is_quoted_in_printable_characters,
      every_allocation_of_a_tokenizer_may_fail)
