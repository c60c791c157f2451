/* test_prose.c -- the text of the board is always the same one, and English-like. */
#include "common/prose.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { LENGTH = 200000 };

static int32_t *text_of(uint64_t seed, ptrdiff_t n)
{
    int32_t *ids = malloc((size_t)n * sizeof *ids);
    prose_ids(seed, n, ids);
    return ids;
}

START_TEST(the_text_begins_as_it_always_did)
{
    static const char begin[] =
        "The Judge and Xavier\n\nRose stood! \"Have you seen Samuel?\" asked";
    int32_t *ids = text_of(1, LENGTH), *shorter = text_of(1, 1000), *other = text_of(2, 1000);
    for (size_t i = 0; i + 1 < sizeof begin; i++) ck_assert(prose_alphabet[ids[i]] == begin[i]);
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < LENGTH; i++) hash = (hash ^ (uint64_t)ids[i]) * 1099511628211u;
    ck_assert(hash == 0x5468a8df45792848);
    ck_assert(memcmp(ids, shorter, 1000 * sizeof *ids) == 0);
    ck_assert(memcmp(ids, other, 1000 * sizeof *ids) != 0);
    free(ids), free(shorter), free(other);
}
END_TEST

START_TEST(all_65_characters_occur_and_each_is_one)
{
    int seen[PROSE_ALPHABET] = {0};
    int32_t *ids = text_of(1, LENGTH);
    for (int i = 0; i < LENGTH; i++) {
        ck_assert(ids[i] >= 0 && ids[i] < PROSE_ALPHABET);
        seen[ids[i]]++;
    }
    for (int i = 0; i < PROSE_ALPHABET; i++) {
        ck_assert_int_gt(seen[i], 0);
        ck_assert(strchr(prose_alphabet, prose_alphabet[i]) == prose_alphabet + i);
    }
    ck_assert_uint_eq(strlen(prose_alphabet), PROSE_ALPHABET);
    free(ids);
}
END_TEST

START_TEST(sentences_begin_with_a_capital_and_quotation_marks_close)
{
    int32_t *ids = text_of(3, LENGTH);
    bool open = false;
    for (int i = 0; i + 2 < LENGTH; i++) {
        const char c = prose_alphabet[ids[i]], next = prose_alphabet[ids[i + 1]];
        if (c == '"') open = !open;
        if (c == '\n') ck_assert(!open);
        if (c != '.' || next != ' ') continue;
        const char first = prose_alphabet[ids[i + 2]];
        ck_assert(first == '"' || (first >= 'A' && first <= 'Z'));
    }
    free(ids);
}
END_TEST

SUITE(bench_prose, the_text_begins_as_it_always_did, all_65_characters_occur_and_each_is_one,
      sentences_begin_with_a_capital_and_quotation_marks_close)
