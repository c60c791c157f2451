/* tokenizer_files.c -- vocabularies of others: llama2.c's tokenizer.bin, GPT-2's vocab.json and
 * merges.txt.  A file is taken for what it may be, damaged or hostile: memory is asked for in
 * proportion to its size, and what it says is compared with its size before it is believed. */
#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "io/file.h"
#include "train/vocabulary.h"

enum { VOCABULARY_LIMIT = 1 << 28 }; /* bytes of a file */

/* All bytes of a file and a 0 behind them, in step memory; NULL after a sticky error. */
static unsigned char *vocabulary_file(at_tape *t, const char *path, ptrdiff_t *size)
{
    FILE *f = at_file_open(t, path, size);
    if (f && *size > VOCABULARY_LIMIT)
        at_fail(t, ATTIC_FILE_ERROR, "tokenizer: %s has %td bytes, but at most %d are possible",
                path, *size, VOCABULARY_LIMIT);
    unsigned char *p = at_step_alloc(t, (size_t)*size + 1);
    if (p && fread(p, 1, (size_t)*size, f) != (size_t)*size)
        at_fail(t, ATTIC_FILE_ERROR, "tokenizer: cannot read %s", path);
    if (p) p[*size] = 0;
    if (f) fclose(f);
    return at_ok(t) ? p : NULL;
}

/* ------------------------------------------------------------------ llama2.c ------------------- */

static uint32_t u32_at(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* "<0x0A>": the byte; -1: no such token */
static int byte_named(const unsigned char *p, uint32_t n)
{
    static const char digit[] = "0123456789ABCDEF";
    if (n != 6 || memcmp(p, "<0x", 3) != 0 || p[5] != '>' || !p[3] || !p[4]) return -1;
    const char *high = strchr(digit, p[3]), *low = strchr(digit, p[4]);
    return high && low ? (int)(high - digit) * 16 + (int)(low - digit) : -1;
}

/* Token after token; the first walk, with k NULL, looks whether all is as it should be. */
static bool walk_llama2(at_tape *t, at_tokenizer *k, const unsigned char *p, ptrdiff_t size,
                        const char *path, int *vocab)
{
    const uint32_t longest = u32_at(p);
    for (ptrdiff_t at = 4; at < size; ++*vocab) {
        uint32_t bits = size - at < 8 ? 0 : u32_at(p + at);
        uint32_t n = size - at < 8 ? UINT32_MAX : u32_at(p + at + 4);
        float score;
        memcpy(&score, &bits, sizeof score);
        if (n > longest || n > size - at - 8 || isnan(score))
            return at_fail(t, ATTIC_FILE_ERROR,
                           "tokenizer: %s: token %d at byte %td has no score, or a length that "
                           "does not fit (the longest is said to have %u bytes)",
                           path, *vocab, at, longest);
        const unsigned char *token = p + at + 8;
        int byte = byte_named(token, n);
        if (k && byte >= 0)
            at_vocabulary_add(k, &(unsigned char){(unsigned char)byte}, 1, score, true);
        else if (k)
            at_vocabulary_add(k, token, n, score, false);
        at += 8 + (ptrdiff_t)n;
    }
    return true;
}

at_tokenizer *at_tokenizer_llama2(at_tape *t, const char *tokenizer_bin)
{
    AT_REQUIRE(t, tokenizer_bin, "tokenizer: the path is NULL");
    at_mark here = at_mark_here(t);
    ptrdiff_t size;
    int vocab = 0, again = 0;
    const unsigned char *p = vocabulary_file(t, tokenizer_bin, &size);
    if (p && size < 12)
        at_fail(t, ATTIC_FILE_ERROR, "tokenizer: %s has %td bytes, too few for one token",
                tokenizer_bin, size);
    at_tokenizer *k = NULL;
    if (at_ok(t) && walk_llama2(t, NULL, p, size, tokenizer_bin, &vocab))
        k = at_vocabulary_make(t, AT_KIND_LLAMA2, vocab, (size_t)size, 0);
    if (k) walk_llama2(t, k, p, size, tokenizer_bin, &again);
    at_rewind(t, here);
    return k;
}
