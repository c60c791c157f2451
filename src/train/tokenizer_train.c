/* tokenizer_train.c -- byte pair encoding, learned from a text; see tokenizer.h.
 *
 * The text is cut into pieces by GPT-2's pattern.  Pieces of the same bytes are one word, whose
 * weight is how often it occurs.  All words stand in one row of symbols, first a byte each:
 *
 *     a cat, a cat     ->     a | _ c a t | , | _ a     with the weights 1, 2, 1, 1
 *
 * A pair of symbols has a place wherever both stand side by side in a word; its count is the sum of
 * the weights of its places.  One merge after the other, all places of the best pair are joined.
 * Only what changes is counted again: around a join of x and y
 *
 *     symbols   w   x   y   z               w   xy  z
 *     pairs     (w x) (x y) (y z)     ->    (w xy) (xy z)
 *
 * three pairs lose a place, and two get one.
 *
 * ORDER.  Places that overlap, as both of a a in aaa, are joined from the left, as in encoding.  So
 * the list of the places of a pair must be in the order of the row.  It is, without being sorted: a
 * pair gets places only while one of its two tokens is made, by a merge that goes through the row
 * from left to right and adds each place at the end.
 *
 * THE BEST PAIR is on top of a heap, where each pair has the count that it had when it was pushed.
 * Since then the count can only have fallen, as the pair gets no more places.  A pair that comes up
 * with more than its count is pushed again.
 *
 * EVERY MERGE MAKES NEW BYTES.  Where no join has crossed the two ends of a part of a word, its
 * inside was joined as it would be alone.  So at any time the same bytes between such ends are the
 * same symbols, and no two pairs can become one token. */
#include <limits.h>
#include <string.h>

#include "autograd/op.h"
#include "system/hash.h"
#include "train/vocabulary.h"

enum { BYTE_IDS = 256, TEXT_LIMIT = 1 << 30, ROW_LIMIT = 1 << 29, TOKENS_LIMIT = 1 << 22 };

/* ----------------------------------------------------------------- words ---------------------- */

typedef struct {
    int32_t begin, bytes; /* where it occurs first */
    int32_t weight;
} counted_word;

typedef struct {
    at_tape *t;
    const unsigned char *text;
    counted_word *word;
    int32_t *table; /* hash table of the words by their bytes; -1: a free place */
    int32_t n;
    uint32_t size; /* of the table, a power of two; of word half as many */
} word_counts;

/* Where in the hash table this part of the text is or would be. */
static int32_t *place_of_word(const word_counts *c, int32_t begin, int32_t bytes)
{
    const unsigned char *p = c->text + begin;
    const uint64_t h = at_hash(AT_HASH_BEGIN, p, (size_t)bytes);
    for (uint32_t i = (uint32_t)(h ^ h >> 32);; i++) {
        int32_t *place = &c->table[i & (c->size - 1)];
        if (*place < 0) return place;
        const counted_word w = c->word[*place];
        if (w.bytes == bytes && memcmp(c->text + w.begin, p, (size_t)bytes) == 0) return place;
    }
}

/* Room for twice as many words.  False after a sticky error, here and below. */
static bool widen_words(word_counts *c)
{
    const counted_word *before = c->word;
    c->size = c->size ? 2 * c->size : 1 << 12;
    c->word = at_step_alloc(c->t, c->size / 2 * sizeof *c->word);
    c->table = at_step_alloc(c->t, c->size * sizeof *c->table);
    if (!c->word || !c->table) return false;
    if (c->n) memcpy(c->word, before, (size_t)c->n * sizeof *c->word);
    memset(c->table, -1, c->size * sizeof *c->table);
    for (int32_t i = 0; i < c->n; i++) *place_of_word(c, c->word[i].begin, c->word[i].bytes) = i;
    return true;
}

static bool count_words(word_counts *c, ptrdiff_t n)
{
    const uint32_t *starts = at_unicode_starts(c->t, at_step_alloc);
    for (ptrdiff_t i = 0, end; starts && i < n; i = end) {
        end = at_gpt2_piece(starts, c->text, n, i);
        if ((uint32_t)c->n == c->size / 2 && !widen_words(c)) return false;
        int32_t *place = place_of_word(c, (int32_t)i, (int32_t)(end - i));
        if (*place < 0) {
            *place = c->n;
            c->word[c->n++] = (counted_word){(int32_t)i, (int32_t)(end - i), 0};
        }
        c->word[*place].weight++;
    }
    return starts;
}

/* ----------------------------------------------------------------- pairs ---------------------- */

typedef struct {
    int32_t id;
    int32_t before, after;  /* the symbols beside it, -1 at the ends of its word */
    int32_t weight;         /* of its word */
    int32_t previous, next; /* places of the pair that it begins, -1 at the ends of the list */
} row_symbol;

typedef struct {
    int32_t left, right;
    int32_t count;       /* at most the bytes of the text */
    int32_t first, last; /* of the list of its places, each that of its left symbol */
} counted_pair;

typedef struct {
    at_tape *t;
    row_symbol *row;
    ptrdiff_t symbols;
    counted_pair *pair;
    int32_t *table; /* hash table of the pairs by their ids; -1: a free place */
    at_candidate *heap;
    ptrdiff_t n, room, n_heap; /* of pairs; each is in the heap once at most */
    size_t size;               /* of the table, a power of two above 2 room */
} pair_counts;

/* Where in the hash table this pair is or would be. */
static int32_t *place_of_pair(const pair_counts *c, int32_t left, int32_t right)
{
    for (size_t i = at_pair_hash(left, right);; i++) {
        int32_t *place = &c->table[i & (c->size - 1)];
        if (*place < 0) return place;
        const counted_pair *p = &c->pair[*place];
        if (p->left == left && p->right == right) return place;
    }
}

/* Room for so many more pairs. */
static bool reserve_pairs(pair_counts *c, ptrdiff_t more)
{
    if (c->n + more <= c->room) return true;
    const counted_pair *pair = c->pair;
    const at_candidate *heap = c->heap;
    c->room = 2 * (c->n + more);
    for (c->size = 16; c->size < 2 * (size_t)c->room;) c->size *= 2;
    c->pair = at_step_alloc(c->t, (size_t)c->room * sizeof *c->pair);
    c->heap = at_step_alloc(c->t, (size_t)c->room * sizeof *c->heap);
    c->table = at_step_alloc(c->t, c->size * sizeof *c->table);
    if (!at_ok(c->t)) return false;
    if (c->n) memcpy(c->pair, pair, (size_t)c->n * sizeof *c->pair);
    if (c->n_heap) memcpy(c->heap, heap, (size_t)c->n_heap * sizeof *c->heap);
    memset(c->table, -1, c->size * sizeof *c->table);
    for (int32_t i = 0; i < c->n; i++) *place_of_pair(c, c->pair[i].left, c->pair[i].right) = i;
    return true;
}

/* The pair that begins at this symbol; NULL if none does.  There is room for a new one. */
static counted_pair *pair_at(pair_counts *c, int32_t at)
{
    if (at < 0 || c->row[at].after < 0) return NULL;
    const int32_t left = c->row[at].id, right = c->row[c->row[at].after].id;
    int32_t *place = place_of_pair(c, left, right);
    if (*place < 0) {
        *place = (int32_t)c->n;
        c->pair[c->n++] = (counted_pair){left, right, 0, -1, -1};
    }
    return &c->pair[*place];
}

static void add_place(pair_counts *c, int32_t at)
{
    counted_pair *p = pair_at(c, at);
    if (!p) return;
    row_symbol *s = &c->row[at];
    s->previous = p->last;
    s->next = -1;
    *(p->last < 0 ? &p->first : &c->row[p->last].next) = at;
    p->last = at;
    p->count += s->weight;
}

static void remove_place(pair_counts *c, int32_t at)
{
    counted_pair *p = pair_at(c, at);
    if (!p) return;
    const row_symbol *s = &c->row[at];
    *(s->previous < 0 ? &p->first : &c->row[s->previous].next) = s->next;
    *(s->next < 0 ? &p->last : &c->row[s->next].previous) = s->previous;
    p->count -= s->weight;
}

/* The pair at this place becomes one symbol. */
static void join_place(pair_counts *c, int32_t at, int32_t id)
{
    row_symbol *left = &c->row[at];
    const row_symbol *right = &c->row[left->after];
    remove_place(c, left->before);
    remove_place(c, at);
    remove_place(c, left->after);
    left->id = id;
    left->after = right->after;
    if (right->after >= 0) c->row[right->after].before = at;
    add_place(c, left->before);
    add_place(c, at);
}

/* A pair with a count of 1 is never joined: it stays outside of the heap. */
static void push_pair(pair_counts *c, int32_t i)
{
    const counted_pair *p = &c->pair[i];
    const at_candidate in_heap = {-(double)p->count, 0, p->left, p->right, i};
    if (p->count > 1) at_push_candidate(c->heap, &c->n_heap, in_heap);
}

/* The row of all words, a symbol for each byte, and their pairs. */
static bool make_row(pair_counts *c, const word_counts *words, const int32_t id_of_byte[BYTE_IDS])
{
    c->row = at_step_alloc(c->t, (size_t)c->symbols * sizeof *c->row);
    const ptrdiff_t most = (ptrdiff_t)BYTE_IDS * BYTE_IDS;
    if (!c->row || !reserve_pairs(c, c->symbols < most ? c->symbols : most)) return false;
    int32_t at = 0;
    for (int32_t w = 0; w < words->n; w++) {
        const counted_word word = words->word[w];
        for (int32_t b = 0; b < word.bytes; b++, at++) {
            const int32_t id = id_of_byte[words->text[word.begin + b]];
            c->row[at] = (row_symbol){
                id, b ? at - 1 : -1, b + 1 < word.bytes ? at + 1 : -1, word.weight, -1, -1};
            if (b) add_place(c, at - 1);
        }
    }
    for (int32_t i = 0; i < c->n; i++) push_pair(c, i);
    return true;
}

/* ----------------------------------------------------------------- tokens --------------------- */

typedef struct {
    int32_t left, right; /* ids; -1: it is a byte */
    int32_t bytes;
} made_token;

/* Tokens up to `most` of them; *n is how many there are, *bytes all that they have. */
static bool make_tokens(pair_counts *c, made_token *token, int32_t most, int32_t *n,
                        ptrdiff_t *bytes)
{
    while (*n < most && c->n_heap > 0) {
        const at_candidate best = at_pop_candidate(c->heap, &c->n_heap);
        const int32_t count = c->pair[best.joined].count, id = *n;
        if (-best.order > count) {
            push_pair(c, best.joined);
            continue;
        }
        /* each new pair has the new token on one side, and at least one of the places beside it */
        if (!reserve_pairs(c, 2 * (ptrdiff_t)(count <= id ? count : id + 1))) return false;
        token[(*n)++] =
            (made_token){best.left, best.right, token[best.left].bytes + token[best.right].bytes};
        *bytes += token[id].bytes;
        AT_REQUIRE(c->t, *bytes <= TOKENS_LIMIT,
                   "tokenizer: %d tokens of this text have %td bytes, but at most %d are possible: "
                   "ask for fewer",
                   *n, *bytes, TOKENS_LIMIT);
        const int32_t old = (int32_t)c->n;
        for (int32_t at; (at = c->pair[best.joined].first) >= 0;) join_place(c, at, id);
        for (int32_t i = old; i < c->n; i++) push_pair(c, i);
    }
    return true;
}

/* The tokenizer of these tokens. */
static at_tokenizer *tokenizer_of(at_tape *t, const made_token *token, int32_t n, size_t bytes)
{
    at_tokenizer *k = at_vocabulary_make(t, AT_KIND_GPT2, n, bytes, n - BYTE_IDS);
    unsigned char *joined = at_step_alloc(t, bytes);
    if (!k || !joined) return NULL;
    for (int32_t c = 0; c < AT_BYTE_CHARACTERS; c++) {
        *joined = (unsigned char)at_byte_of_character(c);
        if (at_byte_of_character(c) >= 0) at_vocabulary_add(k, joined, 1, 0, true);
    }
    for (int32_t id = BYTE_IDS; id < n; id++) {
        const size_t left = (size_t)token[token[id].left].bytes, all = (size_t)token[id].bytes;
        memcpy(joined, k->bytes + k->start[token[id].left], left);
        memcpy(joined + left, k->bytes + k->start[token[id].right], all - left);
        at_vocabulary_add(k, joined, all, 0, false);
        if (!at_vocabulary_merge(t, k, token[id].left, token[id].right)) return NULL;
    }
    return k;
}

static at_tokenizer *train_tokenizer(at_tape *t, const char *text, ptrdiff_t n, int size)
{
    word_counts words = {.t = t, .text = (const unsigned char *)text};
    pair_counts pairs = {.t = t};
    if (!count_words(&words, n)) return NULL;
    for (int32_t w = 0; w < words.n; w++) pairs.symbols += words.word[w].bytes;
    AT_REQUIRE(t, pairs.symbols <= ROW_LIMIT,
               "tokenizer: the different pieces of the text have %td bytes, but at most %d are "
               "possible",
               pairs.symbols, ROW_LIMIT);
    /* every merge makes the row shorter */
    const int32_t more = size - BYTE_IDS < pairs.symbols ? size - BYTE_IDS : (int32_t)pairs.symbols;
    made_token *token = at_step_alloc(t, (size_t)(BYTE_IDS + more) * sizeof *token);
    int32_t id_of_byte[BYTE_IDS], made = 0;
    ptrdiff_t bytes = BYTE_IDS;
    for (int32_t c = 0; token && c < AT_BYTE_CHARACTERS; c++) {
        if (at_byte_of_character(c) < 0) continue;
        id_of_byte[at_byte_of_character(c)] = made;
        token[made++] = (made_token){-1, -1, 1};
    }
    if (!token || !make_row(&pairs, &words, id_of_byte) ||
        !make_tokens(&pairs, token, BYTE_IDS + more, &made, &bytes))
        return NULL;
    return tokenizer_of(t, token, made, (size_t)bytes);
}

at_tokenizer *at_tokenizer_train(at_tape *t, const char *text, ptrdiff_t n, int size)
{
    if (!at_measure_text(t, "tokenizer", text, &n)) return NULL;
    AT_REQUIRE(t, text && n > 0, "tokenizer: the text is empty");
    AT_REQUIRE(t, n <= TEXT_LIMIT, "tokenizer: the text has %td bytes, but at most %d are possible",
               n, TEXT_LIMIT);
    AT_REQUIRE(t, size >= BYTE_IDS,
               "tokenizer: size is %d, but must be >= %d: every byte is a token", size, BYTE_IDS);
    at_mark here = at_mark_here(t);
    at_tokenizer *k = train_tokenizer(t, text, n, size);
    at_rewind(t, here);
    return k;
}
