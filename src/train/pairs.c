/* pairs.c -- byte pair encoding: symbols that stand side by side are joined, the best pair first.
 *
 * A text begins as a row of symbols, one for each byte (gpt2) or character (llama2).  As long as
 * two that stand side by side make a token, the best such pair becomes one symbol:
 *
 *     l o w e r   ->   lo w e r   ->   low e r   ->   low er
 *
 * Best is, for gpt2, the pair that comes first in the list of merges; for llama2 the pair whose
 * token has the highest score.  Of equals it is the leftmost.  The pairs are in a heap, so that n
 * symbols need O(n log n) steps.  Pairs of a symbol that has become part of another one are still
 * in there: they are dropped when they come up. */
#include <string.h>

#include "autograd/op.h"
#include "system/utf8.h"
#include "train/vocabulary.h"

typedef struct {
    int32_t id;            /* -1: part of the one before */
    int32_t before, after; /* indices, -1 at the ends */
} symbol;

typedef struct {
    const at_tokenizer *k;
    symbol *row;
    at_candidate *heap;
    ptrdiff_t n_heap, capacity; /* of row; of the heap twice as many */
} joiner;

static bool joins_first(const at_candidate *a, const at_candidate *b)
{
    if (a->order != b->order) return a->order < b->order;
    if (a->at != b->at) return a->at < b->at;
    return a->left != b->left ? a->left < b->left : a->right < b->right;
}

/* heap[i] is no worse than heap[2 i + 1] and heap[2 i + 2] */
void at_push_candidate(at_candidate *heap, ptrdiff_t *n, at_candidate c)
{
    ptrdiff_t i = (*n)++;
    for (; i > 0 && joins_first(&c, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = c;
}

at_candidate at_pop_candidate(at_candidate *heap, ptrdiff_t *n)
{
    at_candidate best = heap[0], last = heap[--*n];
    ptrdiff_t i = 0;
    for (ptrdiff_t child; (child = 2 * i + 1) < *n; i = child) {
        if (child + 1 < *n && joins_first(&heap[child + 1], &heap[child])) child++;
        if (!joins_first(&heap[child], &last)) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return best;
}

/* Symbol `at` and the one after it become a candidate, if they make a token. */
static void consider_pair(joiner *j, int32_t at)
{
    const at_tokenizer *k = j->k;
    if (at < 0 || j->row[at].after < 0) return;
    at_candidate c = {.at = at, .left = j->row[at].id, .right = j->row[j->row[at].after].id};
    if (k->kind == AT_KIND_GPT2) {
        const at_merge *m = at_merge_of(k, c.left, c.right);
        if (!m || m->joined < 0) return;
        c.joined = m->joined;
        c.order = m->rank;
    } else {
        if (at_is_byte_token(k, c.left) || at_is_byte_token(k, c.right)) return;
        c.joined = at_joined_token(k, c.left, c.right);
        if (c.joined < 0) return;
        c.order = -(double)k->score[c.joined];
    }
    at_push_candidate(j->heap, &j->n_heap, c);
}

/* Joins the n symbols of the row as far as possible and writes what is left to ids; how many. */
static ptrdiff_t join_pairs(joiner *j, ptrdiff_t n, int32_t *ids)
{
    symbol *row = j->row;
    for (int32_t i = 0; i < n; i++) {
        row[i].before = i - 1;
        row[i].after = i + 1 < n ? i + 1 : -1;
    }
    j->n_heap = 0;
    for (int32_t i = 0; i < n; i++) consider_pair(j, i);
    while (j->n_heap) {
        at_candidate c = at_pop_candidate(j->heap, &j->n_heap);
        symbol *left = &row[c.at];
        if (left->id != c.left || left->after < 0 || row[left->after].id != c.right) continue;
        symbol *right = &row[left->after];
        left->id = c.joined;
        left->after = right->after;
        if (right->after >= 0) row[right->after].before = c.at;
        right->id = -1;
        consider_pair(j, left->before);
        consider_pair(j, c.at);
    }
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        if (row[i].id >= 0) ids[count++] = row[i].id;
    return count;
}

/* A place for n symbols: every join takes a candidate from the heap and adds at most two, so there
 * are never more than twice as many.  False after a sticky error. */
static bool reserve_symbols(at_tape *t, joiner *j, ptrdiff_t n)
{
    if (j->row && n <= j->capacity) return true;
    j->capacity = n < 256 ? 256 : n + n / 2;
    j->row = at_step_alloc(t, (size_t)j->capacity * sizeof *j->row);
    j->heap = at_step_alloc(t, 2 * (size_t)j->capacity * sizeof *j->heap);
    return j->row && j->heap;
}

/* ----------------------------------------------------------------- GPT-2's pieces ------------- */

static at_char_class class_at(const uint32_t *starts, const unsigned char *text, ptrdiff_t n,
                              ptrdiff_t i, int *bytes)
{
    return at_unicode_class(starts, at_utf8(text + i, n - i, bytes));
}

/* The end of the run of one class that begins at i; *last is where its last character begins. */
static ptrdiff_t class_run(const uint32_t *starts, const unsigned char *text, ptrdiff_t n,
                           ptrdiff_t i, ptrdiff_t *last)
{
    int bytes;
    at_char_class class = class_at(starts, text, n, i, &bytes);
    do {
        *last = i;
        i += bytes;
    } while (i < n && class_at(starts, text, n, i, &bytes) == class);
    return i;
}

/* GPT-2's pattern is the first of these that fits:
 *
 *     's 't 're 've 'm 'll 'd             the ends of I've, we'll ...
 *     letters, numbers, or others         with one space in front, if there is one
 *     white space                         but without its last character, if something follows */
ptrdiff_t at_gpt2_piece(const uint32_t *starts, const unsigned char *text, ptrdiff_t n, ptrdiff_t i)
{
    static const char *const ending[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (int e = 0; text[i] == '\'' && e < 7; e++) {
        ptrdiff_t length = (ptrdiff_t)strlen(ending[e]);
        if (length <= n - i && memcmp(text + i, ending[e], (size_t)length) == 0) return i + length;
    }
    ptrdiff_t begin = i + (text[i] == ' ' && i + 1 < n), last;
    int bytes;
    if (class_at(starts, text, n, begin, &bytes) != AT_CLASS_SPACE)
        return class_run(starts, text, n, begin, &last);
    ptrdiff_t end = class_run(starts, text, n, i, &last);
    return end < n && last > i ? last : end;
}

static ptrdiff_t encode_gpt2(at_tape *t, const at_tokenizer *k, const unsigned char *text,
                             ptrdiff_t n, int32_t *ids)
{
    joiner j = {.k = k};
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0, end; i < n; i = end) {
        end = at_gpt2_piece(k->class_start, text, n, i);
        if (!reserve_symbols(t, &j, end - i)) return -1;
        for (ptrdiff_t b = i; b < end; b++) {
            j.row[b - i].id = k->of_byte[text[b]];
            if (k->of_byte[text[b]] < 0) return at_fail_no_token(t, text, n, b), -1;
        }
        count += join_pairs(&j, end - i, ids + count);
    }
    return count;
}

/* ----------------------------------------------------------------- llama2 --------------------- */

static ptrdiff_t encode_llama2(at_tape *t, const at_tokenizer *k, const unsigned char *text,
                               ptrdiff_t n, int32_t *ids)
{
    joiner j = {.k = k};
    if (!reserve_symbols(t, &j, n + 1)) return -1;
    ptrdiff_t count = 0;
    int space = at_tokenizer_find(k, " ", 1);
    if (n > 0 && space >= 0) j.row[count++].id = space;
    for (ptrdiff_t i = 0; i < n;) {
        int bytes;
        at_utf8(text + i, n - i, &bytes);
        int32_t id = at_tokenizer_find(k, (const char *)text + i, bytes);
        if (id >= 0) j.row[count++].id = id;
        for (int b = 0; id < 0 && b < bytes; b++) {
            j.row[count++].id = k->of_byte[text[i + b]];
            if (k->of_byte[text[i + b]] < 0) return at_fail_no_token(t, text, n, i), -1;
        }
        i += bytes;
    }
    return join_pairs(&j, count, ids);
}

ptrdiff_t at_encode_pairs(at_tape *t, const at_tokenizer *k, const unsigned char *text, ptrdiff_t n,
                          int32_t *ids)
{
    if (!at_ok(t)) return -1;
    return (k->kind == AT_KIND_GPT2 ? encode_gpt2 : encode_llama2)(t, k, text, n, ids);
}
