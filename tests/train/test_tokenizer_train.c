/* test_tokenizer_train.c -- what a text makes tokens of, ties and all; files that others read. */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "golden/bpe.inc"
#include "golden/tokenizers.inc"
#include "kernels/rng.h"
#include "scratch.h"
#include "tensor/arena.h"
#include "tensors.h"
#include "train/vocabulary.h"

enum { TEXTS = sizeof golden_texts / sizeof *golden_texts };

static at_tokenizer *learned(at_tape *t, const char *text, ptrdiff_t n, int size)
{
    at_tokenizer *k = at_tokenizer_train(t, text, n, size);
    ck_assert_msg(k, "%s", at_error(t));
    return k;
}

/* The tokens above the bytes, "aa ab aaab". */
static const char *new_tokens(const at_tokenizer *k)
{
    static char text[1 << 12];
    int n = 0;
    text[0] = 0;
    for (int id = 256, length; id < at_tokenizer_vocab(k); id++) {
        const char *bytes = at_token_bytes(k, id, &length);
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%.*s", n ? " " : "", length, bytes);
    }
    return text;
}

/* The golden texts, one behind the other. */
static ptrdiff_t all_texts(char all[1 << 14])
{
    ptrdiff_t n = 0;
    for (int i = 0; i < TEXTS; n += golden_texts[i++].bytes) {
        ck_assert_int_le(n + golden_texts[i].bytes, 1 << 14);
        memcpy(all + n, golden_texts[i].text, (size_t)golden_texts[i].bytes);
    }
    return n;
}

/* ------------------------------------------------------------------ which pair ---------------- */

START_TEST(the_pair_that_stands_most_often_becomes_a_token_again_and_again)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    /* a a four times; then aa a b d aa a b a c, where (a b) comes before (aa a) */
    ck_assert_str_eq(new_tokens(learned(t, "aaabdaaabac", -1, 1000)), "aa ab aaab");
    ck_assert_str_eq(new_tokens(learned(t, "aaabdaaabac", 11, 258)), "aa ab");
    ck_assert_int_eq(at_tokenizer_vocab(learned(t, "aaabdaaabac", -1, 256)), 256);
    at_close(t);
}
END_TEST

START_TEST(of_equal_pairs_the_smallest_left_id_is_first_then_the_smallest_right_one)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_str_eq(new_tokens(learned(t, "ba\nba\nab\nab", -1, 300)), "ab ba");
    ck_assert_str_eq(new_tokens(learned(t, "ac\nac\nab\nab", -1, 300)), "ab ac");
    ck_assert_str_eq(new_tokens(learned(t, "ab\nab\nac\nac\nac", -1, 300)), "ac ab");
    /* ids, not bytes: a tab is byte 9, but its id is above that of a letter */
    ck_assert_str_eq(new_tokens(learned(t, "ab\nab\n1\t\t\t", -1, 300)), "ab \t\t");
    /* a new token is above all before it: of a b, c d and then ab x, cd x the first is ab x */
    ck_assert_str_eq(new_tokens(learned(t, "abx\nabx\ncdx\ncdx", -1, 300)), "ab cd abx cdx");
    at_close(t);
}
END_TEST

START_TEST(a_word_counts_as_often_as_it_occurs)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    /* x y stands in three different words, a b in one that occurs four times */
    ck_assert_str_eq(new_tokens(learned(t, "xy1xyp1xyq1ab1ab1ab1ab", -1, 300)), "ab xy");
    at_close(t);
}
END_TEST

START_TEST(places_that_overlap_are_joined_from_the_left)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    /* a a a b: aa a b, never a aa b */
    ck_assert_str_eq(new_tokens(learned(t, "aaab\naaab", -1, 300)), "aa ab aaab");
    ck_assert_str_eq(new_tokens(learned(t, "aaaaa\naaaaa", -1, 300)), "aa aaa aaaaa");
    at_close(t);
}
END_TEST

START_TEST(no_pair_crosses_the_end_of_a_piece)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_str_eq(new_tokens(learned(t, "a1a1a1a1", -1, 300)), "");
    ck_assert_str_eq(new_tokens(learned(t, "a b a b a b", -1, 300)), " b  a"); /* three, two */
    ck_assert_str_eq(new_tokens(learned(t, "it's it's", -1, 300)), "'s it");   /* it, 's,  it, 's */
    at_close(t);
}
END_TEST

START_TEST(it_ends_where_no_pair_stands_twice)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tokenizer *k = learned(t, "abcdefg", -1, INT_MAX);
    ck_assert_int_eq(at_tokenizer_vocab(k), 256);
    ptrdiff_t n;
    ck_assert_ptr_nonnull(at_encode(t, k, "abc", -1, &n));
    ck_assert_int_eq(n, 3);
    ck_assert_int_eq(at_tokenizer_vocab(learned(t, "z", 1, INT_MAX)), 256);
    ck_assert_str_eq(new_tokens(learned(t, "attention\nattention", -1, INT_MAX)),
                     "at en io ten tio atten tion attention");
    at_close(t);
}
END_TEST

START_TEST(the_bytes_have_the_ids_of_gpt2)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tokenizer *k = learned(t, "a", -1, 256);
    at_tokenizer *g = at_tokenizer_gpt2(t, "tests/golden/tokenizers/vocab.json",
                                        "tests/golden/tokenizers/merges.txt");
    for (int id = 0; id < 256; id++)
        ck_assert_int_eq(*at_token_bytes(k, id, NULL), *at_token_bytes(g, id, NULL));
    ck_assert_int_eq(at_tokenizer_find(k, "!", 1), 0);
    ck_assert_int_eq(at_tokenizer_find(k, "\n", 1), 198);
    ck_assert_int_eq(at_tokenizer_find(k, " ", 1), 220);
    ck_assert_str_eq(at_tokenizer_kind(k), "gpt2");
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ twins ---------------------- */

static void assert_merges(at_tape *t, const at_tokenizer *k, const short (*merge)[2], int n)
{
    int made;
    const at_merge **of_k = at_merges_in_order(t, k, &made);
    ck_assert_int_eq(made, n);
    for (int i = 0; i < n; i++)
        ck_assert_msg(of_k[i]->left == merge[i][0] && of_k[i]->right == merge[i][1] &&
                          of_k[i]->joined == 256 + i,
                      "merge %d is %d %d, not %d %d", i, of_k[i]->left, of_k[i]->right, merge[i][0],
                      merge[i][1]);
}

START_TEST(merges_are_those_of_another_program)
{
    enum { MERGES = sizeof golden_merges / sizeof *golden_merges };
    static char all[1 << 14];
    at_tape *t = at_open(ATTIC_F32, 1);
    const ptrdiff_t n = all_texts(all);
    assert_merges(t, learned(t, all, n, 700), golden_merges, MERGES); /* then no pair is left */
    assert_merges(t, learned(t, all, n, 300), golden_merges, 44);
    at_close(t);
}
END_TEST

/* The plain twin: a row of ids, -1 behind each piece, in which all is counted anew each time. */
typedef struct {
    int id[512], n, merges;
    short merge[256][2];
} plain_row;

static void plain_begin(plain_row *r, const at_tokenizer *k, const unsigned char *text, int n)
{
    *r = (plain_row){.n = 0};
    for (int i = 0, end; i < n; i = end) {
        end = (int)at_gpt2_piece(k->class_start, text, n, i);
        for (int b = i; b < end; b++) r->id[r->n++] = k->of_byte[text[b]];
        r->id[r->n++] = -1;
    }
}

static int plain_count(const plain_row *r, int left, int right)
{
    int count = 0;
    for (int i = 0; i + 1 < r->n; i++) count += r->id[i] == left && r->id[i + 1] == right;
    return count;
}

static bool plain_merge(plain_row *r)
{
    int best = 1, left = 0, right = 0;
    for (int i = 0; i + 1 < r->n; i++) {
        const int a = r->id[i], b = r->id[i + 1], count = a < 0 || b < 0 ? 0 : plain_count(r, a, b);
        if (count < best || count < 2) continue;
        if (count == best && (a > left || (a == left && b > right))) continue;
        best = count, left = a, right = b;
    }
    if (best < 2) return false;
    int n = 0;
    for (int i = 0; i < r->n; n++) {
        const bool here = r->id[i] == left && i + 1 < r->n && r->id[i + 1] == right;
        r->id[n] = here ? 256 + r->merges : r->id[i];
        i += here ? 2 : 1;
    }
    r->n = n;
    r->merge[r->merges][0] = (short)left;
    r->merge[r->merges++][1] = (short)right;
    return true;
}

/* A text of these letters, each any byte if there are none. */
static int random_text(unsigned char *text, int most, const char *letters, uint64_t seed)
{
    const int n = 1 + (int)(at_random_u32((at_stream){seed, 0}, 0) % (unsigned)most);
    for (int i = 0; i < n; i++) {
        const uint32_t x = at_random_u32((at_stream){seed, 1}, (uint64_t)i);
        text[i] = *letters ? (unsigned char)letters[x % strlen(letters)] : (unsigned char)(x >> 8);
    }
    return n;
}

START_TEST(merges_and_ids_are_those_of_the_plain_twin)
{
    static const char *const letters[] = {"a", "ab", "aab ", "abc", "ab'st ", "x \n\t", "a1-", ""};
    static plain_row row;
    unsigned char text[200];
    at_tape *t = at_open(ATTIC_F32, 1);
    const at_tokenizer *bytes = learned(t, "a", -1, 256);
    at_mark here = at_mark_here(t);
    for (int i = 0; i < 240; i++, at_rewind(t, here)) {
        const int n = random_text(text, 200, letters[i % 8], (uint64_t)i);
        const int size = 256 + (i % 3 ? 256 : i % 20);
        plain_begin(&row, bytes, text, n);
        while (256 + row.merges < size && plain_merge(&row)) continue;
        const at_tokenizer *k = learned(t, (const char *)text, n, size);
        assert_merges(t, k, row.merge, row.merges);
        ptrdiff_t ids;
        const int32_t *id = at_encode(t, k, (const char *)text, n, &ids);
        int at = 0;
        for (int j = 0; j < row.n; j++)
            if (row.id[j] >= 0) ck_assert_int_eq(id[at++], row.id[j]);
        ck_assert_int_eq(at, ids);
    }
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ round trips, sizes --------- */

static void comes_back(at_tape *t, const at_tokenizer *k, const void *text, ptrdiff_t bytes)
{
    ptrdiff_t n, back;
    at_mark here = at_mark_here(t);
    const int32_t *ids = at_encode(t, k, text, bytes, &n);
    const char *again = ids ? at_decode(t, k, ids, n, &back) : NULL;
    ck_assert_msg(again, "%s", at_error(t));
    ck_assert_int_eq(back, bytes);
    ck_assert_mem_eq(again, text, (size_t)bytes);
    at_rewind(t, here);
}

START_TEST(any_text_comes_back)
{
    static char all[1 << 14];
    unsigned char text[300];
    at_tape *t = at_open(ATTIC_F32, 1);
    const at_tokenizer *k = learned(t, all, all_texts(all), 600);
    for (int i = 0; i < TEXTS; i++) comes_back(t, k, golden_texts[i].text, golden_texts[i].bytes);
    for (int i = 0; i < 300; i++) comes_back(t, k, text, random_text(text, 300, "", (uint64_t)i));
    comes_back(t, k, "", 0);
    at_close(t);
}
END_TEST

/* Letters whose pairs are rare enough for thousands of tokens. */
static char *many_letters(ptrdiff_t n)
{
    char *text = malloc((size_t)n);
    for (ptrdiff_t i = 0; text && i < n; i++)
        text[i] = (char)('a' + at_random_u32((at_stream){3, 0}, (uint64_t)i) % 26);
    return text;
}

START_TEST(a_large_text_is_learned_in_time_and_read_again)
{
    enum { LONG = 1 << 20 };
    at_tape *t = at_open(ATTIC_F32, 1);
    char *text = many_letters(LONG);
    for (int i = 0; i < LONG; i += 3 + i % 7) text[i] = ' ';
    const at_tokenizer *k = learned(t, text, LONG, 4096);
    ck_assert_int_eq(at_tokenizer_vocab(k), 4096);
    comes_back(t, k, text, LONG);
    memset(text, 'a', LONG); /* one piece, of one letter */
    k = learned(t, text, LONG, INT_MAX);
    ck_assert_int_eq(at_tokenizer_vocab(k), 256 + 19); /* of 2, 4 ... 2^19 letters */
    comes_back(t, k, text, LONG);
    free(text);
    at_close(t);
}
END_TEST

START_TEST(what_cannot_be_learned_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const struct {
        const char *text;
        ptrdiff_t n;
        int size;
        const char *error;
    } wrong[] = {
        {"", -1, 300, "tokenizer: the text is empty"},
        {"abc", 0, 300, "tokenizer: the text is empty"},
        {NULL, 3, 300, "tokenizer: the text is empty"},
        {"abc", -2, 300,
         "tokenizer: the text has -2 bytes, but must have >= 0, or -1 (up to its 0)"},
        {"abc", ((ptrdiff_t)1 << 30) + 1, 300,
         "tokenizer: the text has 1073741825 bytes, but at most 1073741824 are possible"},
        {"abc", -1, 255, "tokenizer: size is 255, but must be >= 256: every byte is a token"},
        {"abc", -1, INT_MIN,
         "tokenizer: size is -2147483648, but must be >= 256: every byte is a token"},
    };
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        ck_assert_ptr_null(at_tokenizer_train(t, wrong[i].text, wrong[i].n, wrong[i].size));
        assert_error(t, wrong[i].error);
        ck_assert_int_eq(at_error_kind_of(t), ATTIC_USER_ERROR);
        at_clear_error(t);
    }
    at_close(t);
}
END_TEST

/* One word that occurs twice: its halves, quarters and so on are tokens, all of them. */
START_TEST(tokens_of_too_many_bytes_are_refused)
{
    enum { WORD = 1 << 18 };
    at_tape *t = at_open(ATTIC_F32, 1);
    char *text = many_letters(2 * WORD + 1);
    text[WORD] = '\n';
    memcpy(text + WORD + 1, text, WORD);
    ck_assert_ptr_null(at_tokenizer_train(t, text, 2 * WORD + 1, INT_MAX));
    ck_assert_ptr_nonnull(strstr(at_error(t), "but at most 4194304 are possible: ask for fewer"));
    at_clear_error(t);
    ck_assert_int_eq(at_tokenizer_vocab(learned(t, text, 2 * WORD + 1, 5000)), 5000);
    free(text);
    at_close(t);
}
END_TEST

START_TEST(every_allocation_of_learning_and_saving_may_fail)
{
    static char all[1 << 14];
    char folder[SCRATCH_PATH];
    const ptrdiff_t length = all_texts(all);
    ptrdiff_t n = 0;
    bool through = false;
    ck_assert_ptr_nonnull(scratch_folder(folder));
    while (!through && ++n < 1000) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_fail_allocation(n);
        through = at_tokenizer_save(t, at_tokenizer_train(t, all, length, 400), folder);
        at_fail_allocation(0);
        ck_assert(through || at_error_kind_of(t) == ATTIC_MEMORY_ERROR);
        at_close(t);
    }
    ck_assert(through && n > 10);
    scratch_remove(folder);
}
END_TEST

/* ------------------------------------------------------------------ threads -------------------- */

static char of_all_threads[1 << 14];
static ptrdiff_t n_of_all_threads;

static void *learn_alone(void *text_form)
{
    at_tape *t = at_open(ATTIC_F32, (uint64_t)(uintptr_t)text_form);
    const at_tokenizer *k = at_tokenizer_train(t, of_all_threads, n_of_all_threads, 500);
    const char *form = at_tokenizer_text(t, k);
    char *copy = form ? malloc(strlen(form) + 1) : NULL;
    if (copy) strcpy(copy, form);
    *(char **)text_form = copy;
    at_close(t);
    return NULL;
}

START_TEST(the_same_text_gives_the_same_tokenizer_in_every_thread)
{
    enum { LEARNERS = 4 };
    pthread_t other[LEARNERS];
    char *form[LEARNERS + 1];
    n_of_all_threads = all_texts(of_all_threads);
    at_threads(3);
    for (int i = 0; i < LEARNERS; i++)
        ck_assert_int_eq(pthread_create(&other[i], NULL, learn_alone, &form[i]), 0);
    for (int i = 0; i < LEARNERS; i++) pthread_join(other[i], NULL);
    at_threads(1);
    learn_alone(&form[LEARNERS]);
    at_threads(0);
    for (int i = 0; i < LEARNERS; i++) {
        ck_assert_str_eq(form[i], form[LEARNERS]);
        free(form[i]);
    }
    free(form[LEARNERS]);
}
END_TEST

/* ------------------------------------------------------------------ files ---------------------- */

static char *text_of(const char *folder, const char *name)
{
    static char text[2][1 << 16];
    static int next;
    char path[SCRATCH_PATH + 20];
    next = !next;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    text[next][fread(text[next], 1, sizeof text[next] - 1, f)] = 0;
    fclose(f);
    return text[next];
}

static at_tokenizer *read_again(at_tape *t, const char *folder)
{
    char vocab[2 * SCRATCH_PATH], merges[2 * SCRATCH_PATH];
    snprintf(vocab, sizeof vocab, "%s/vocab.json", folder);
    snprintf(merges, sizeof merges, "%s/merges.txt", folder);
    at_tokenizer *k = at_tokenizer_gpt2(t, vocab, merges);
    ck_assert_msg(k, "%s", at_error(t));
    return k;
}

START_TEST(what_is_saved_is_read_again_with_the_same_ids)
{
    static char all[1 << 14];
    char root[SCRATCH_PATH], folder[SCRATCH_PATH + 20];
    ck_assert_ptr_nonnull(scratch_folder(root));
    snprintf(folder, sizeof folder, "%s/new", root);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tokenizer *k[] = {learned(t, all, all_texts(all), 600), learned(t, "ab", -1, 256),
                         at_tokenizer_gpt2(t, "tests/golden/tokenizers/vocab.json",
                                           "tests/golden/tokenizers/merges.txt")};
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(at_tokenizer_save(t, k[i], folder), "%s", at_error(t));
        ck_assert_str_eq(at_tokenizer_text(t, read_again(t, folder)), at_tokenizer_text(t, k[i]));
    }
    scratch_remove(root);
    at_close(t);
}
END_TEST

START_TEST(the_files_have_the_form_of_gpt2)
{
    char folder[SCRATCH_PATH];
    ck_assert_ptr_nonnull(scratch_folder(folder));
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tokenizer *k = learned(t, " \"a\\\n \"a\\\n \"a\\", -1, 300); /* \" stands as _" a \ */
    ck_assert_str_eq(new_tokens(k), " \"");
    at_tokenizer_save(t, k, folder);
    ck_assert_str_eq(text_of(folder, "merges.txt"), "#version: 0.2\n\xc4\xa0 \"\n");
    const char *json = text_of(folder, "vocab.json");
    ck_assert(strncmp(json, "{\"!\": 0,\n\"\\\"\": 1,\n\"#\": 2,\n", 26) == 0);
    ck_assert_ptr_nonnull(strstr(json, "\n\"\\\\\": 59,\n"));
    ck_assert_ptr_nonnull(strstr(json, "\n\"\xc4\xa0\": 220,\n"));      /* the space, U+0120 */
    ck_assert_ptr_nonnull(strstr(json, "\n\"\xc5\x83\": 255,\n"));      /* the last byte, 0xad */
    ck_assert_ptr_nonnull(strstr(json, ",\n\"\xc4\xa0\\\"\": 256}\n")); /* the merge */
    scratch_remove(folder);
    at_close(t);
}
END_TEST

START_TEST(a_special_token_can_be_added_to_the_file)
{
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 20];
    ck_assert_ptr_nonnull(scratch_folder(folder));
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tokenizer_save(t, learned(t, "end end", -1, 258), folder);
    char *json = text_of(folder, "vocab.json");
    strcpy(strrchr(json, '}'), ",\n\"<|endoftext|>\": 258}\n");
    snprintf(path, sizeof path, "%s/vocab.json", folder);
    FILE *f = fopen(path, "wb");
    fputs(json, f);
    fclose(f);
    at_tokenizer *k = read_again(t, folder);
    ck_assert_int_eq(at_tokenizer_vocab(k), 259);
    ck_assert_int_eq(at_tokenizer_find(k, "<|endoftext|>", 13), 258);
    scratch_remove(folder);
    at_close(t);
}
END_TEST

START_TEST(what_cannot_be_saved_is_refused)
{
    char root[SCRATCH_PATH], folder[SCRATCH_PATH + 20], message[2 * SCRATCH_PATH];
    ck_assert_ptr_nonnull(scratch_folder(root));
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tokenizer *k = learned(t, "abab", -1, 300);
    ck_assert(!at_tokenizer_save(t, NULL, root));
    assert_error(t, "tokenizer: the tokenizer is NULL");
    at_clear_error(t);
    ck_assert(!at_tokenizer_save(t, k, NULL));
    assert_error(t, "tokenizer: the folder is NULL");
    at_clear_error(t);
    ck_assert(!at_tokenizer_save(t, k, ""));
    assert_error(t, "tokenizer: the name of the folder is empty");
    at_clear_error(t);
    ck_assert(!at_tokenizer_save(t, at_tokenizer_chars(t, "ab", -1), root));
    assert_error(t, "tokenizer: vocab.json and merges.txt hold the kind gpt2, but this is of the "
                    "kind chars");
    at_clear_error(t);
    snprintf(folder, sizeof folder, "%s/no/where", root);
    ck_assert(!at_tokenizer_save(t, k, folder));
    snprintf(message, sizeof message,
             "tokenizer: cannot make the folder %s: No such file or directory", folder);
    assert_error(t, message);
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
    scratch_remove(root);
    at_close(t);
}
END_TEST

SUITE(train_tokenizer_train, the_pair_that_stands_most_often_becomes_a_token_again_and_again,
      of_equal_pairs_the_smallest_left_id_is_first_then_the_smallest_right_one,
      a_word_counts_as_often_as_it_occurs, places_that_overlap_are_joined_from_the_left,
      no_pair_crosses_the_end_of_a_piece, it_ends_where_no_pair_stands_twice,
      the_bytes_have_the_ids_of_gpt2, merges_are_those_of_another_program,
      merges_and_ids_are_those_of_the_plain_twin, any_text_comes_back,
      a_large_text_is_learned_in_time_and_read_again, what_cannot_be_learned_is_refused,
      tokens_of_too_many_bytes_are_refused, every_allocation_of_learning_and_saving_may_fail,
      the_same_text_gives_the_same_tokenizer_in_every_thread,
      what_is_saved_is_read_again_with_the_same_ids, the_files_have_the_form_of_gpt2,
      a_special_token_can_be_added_to_the_file, what_cannot_be_saved_is_refused)
