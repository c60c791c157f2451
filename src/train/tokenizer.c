/* tokenizer.c -- the table of tokens, bytes and characters, the text form; see tokenizer.h.
 *
 * All kinds share one table.  The bytes of all tokens are in a row, token i from start[i] to
 * start[i + 1], and a hash table leads from bytes to the id:
 *
 *     bytes   a b c a b c a b         start 0 1 2 3 5 8         "ab" has the id 3
 *             0 1 2 3   4
 */
#include <stdio.h>
#include <string.h>

#include "autograd/op.h"
#include "system/hash.h"
#include "system/utf8.h"
#include "train/vocabulary.h"

static const char *const kind_name[AT_KINDS] = {"bytes", "chars", "gpt2", "llama2"};

/* ----------------------------------------------------------------- the table ------------------ */

static size_t token_length(const at_tokenizer *k, int32_t id)
{
    return k->start[id + 1] - k->start[id];
}

/* Where in the hash table the token of a's bytes and then b's is or would be. */
static int32_t *token_place(const at_tokenizer *k, const unsigned char *a, size_t a_n,
                            const unsigned char *b, size_t b_n)
{
    const uint64_t h = at_hash(at_hash(AT_HASH_BEGIN, a, a_n), b, b_n);
    for (uint32_t i = (uint32_t)(h ^ h >> 32);; i++) {
        int32_t *place = &k->table[i & (k->table_size - 1)];
        if (*place < 0) return place;
        const unsigned char *p = k->bytes + k->start[*place];
        if (token_length(k, *place) == a_n + b_n && memcmp(p, a, a_n) == 0 &&
            memcmp(p + a_n, b, b_n) == 0)
            return place;
    }
}

int32_t at_joined_token(const at_tokenizer *k, int32_t left, int32_t right)
{
    return *token_place(k, k->bytes + k->start[left], token_length(k, left),
                        k->bytes + k->start[right], token_length(k, right));
}

static uint32_t power_above(size_t n)
{
    uint32_t size = 16;
    while (size < n) size *= 2;
    return size;
}

at_tokenizer *at_vocabulary_make(at_tape *t, at_token_kind kind, int vocab, size_t bytes,
                                 int merges)
{
    at_tokenizer *k = at_permanent_alloc(t, sizeof *k);
    if (!k) return NULL;
    *k = (at_tokenizer){.kind = kind,
                        .table_size = power_above(2 * (size_t)vocab),
                        .merge_size = merges ? power_above(2 * (size_t)merges) : 0};
    k->bytes = at_permanent_alloc(t, bytes + 1);
    k->start = at_permanent_alloc(t, ((size_t)vocab + 1) * sizeof *k->start);
    k->table = at_permanent_alloc(t, k->table_size * sizeof *k->table);
    k->merge = at_permanent_alloc(t, k->merge_size * sizeof *k->merge);
    if (kind == AT_KIND_LLAMA2) k->score = at_permanent_alloc(t, (size_t)vocab * sizeof *k->score);
    if (kind == AT_KIND_GPT2) k->class_start = at_unicode_starts(t, at_permanent_alloc);
    if (!at_ok(t)) return NULL;
    memset(k->bytes, 0, bytes + 1);
    k->start[0] = 0;
    memset(k->of_byte, -1, sizeof k->of_byte);
    memset(k->table, -1, k->table_size * sizeof *k->table);
    memset(k->merge, -1, k->merge_size * sizeof *k->merge);
    return k;
}

void at_vocabulary_add(at_tokenizer *k, const void *bytes, size_t n, float score, bool is_byte)
{
    int32_t id = k->vocab++;
    unsigned char *to = k->bytes + k->start[id];
    memcpy(to, bytes, n);
    k->start[id + 1] = k->start[id] + (uint32_t)n;
    if (k->score) k->score[id] = score;
    if (is_byte) k->of_byte[to[0]] = id;
    if (is_byte && k->score) return; /* <0x41> is not what the text A is encoded as */
    int32_t *place = token_place(k, to, n, to, 0);
    if (*place < 0) *place = id;
}

const at_merge *at_merge_of(const at_tokenizer *k, int32_t left, int32_t right)
{
    for (uint32_t i = at_pair_hash(left, right); k->merge_size; i++) {
        const at_merge *m = &k->merge[i & (k->merge_size - 1)];
        if (m->joined < 0 || (m->left == left && m->right == right)) return m;
    }
    return NULL;
}

bool at_vocabulary_merge(at_tape *t, at_tokenizer *k, int32_t left, int32_t right)
{
    int32_t joined = at_joined_token(k, left, right);
    AT_REQUIRE(t, joined >= 0,
               "tokenizer: merge %d joins tokens %d and %d, but what they become is no token",
               k->n_merges, left, right);
    at_merge *place = k->merge + (at_merge_of(k, left, right) - k->merge);
    if (place->joined < 0) *place = (at_merge){left, right, joined, k->n_merges};
    k->n_merges++;
    return true;
}

const at_merge **at_merges_in_order(at_tape *t, const at_tokenizer *k, int *n)
{
    const at_merge **merge = at_step_alloc(t, ((size_t)k->n_merges + 1) * sizeof(at_merge *));
    if (!merge) return NULL;
    memset(merge, 0, ((size_t)k->n_merges + 1) * sizeof(at_merge *));
    for (uint32_t i = 0; i < k->merge_size; i++)
        if (k->merge[i].joined >= 0) merge[k->merge[i].rank] = &k->merge[i];
    *n = 0;
    for (int i = 0; i < k->n_merges; i++)
        if (merge[i]) merge[(*n)++] = merge[i];
    return merge;
}

int at_tokenizer_vocab(const at_tokenizer *k)
{
    return k ? k->vocab : 0;
}

const char *at_tokenizer_kind(const at_tokenizer *k)
{
    return k ? kind_name[k->kind] : "";
}

const char *at_token_bytes(const at_tokenizer *k, int id, int *n)
{
    bool is_id = k && id >= 0 && id < k->vocab;
    if (n) *n = is_id ? (int)token_length(k, id) : 0;
    return is_id ? (const char *)k->bytes + k->start[id] : NULL;
}

int at_tokenizer_find(const at_tokenizer *k, const char *bytes, ptrdiff_t n)
{
    const unsigned char *p = (const unsigned char *)bytes;
    return k && p && n >= 0 ? *token_place(k, p, (size_t)n, p, 0) : -1;
}

/* ----------------------------------------------------------------- bytes and characters ------- */

bool at_measure_text(at_tape *t, const char *op, const char *text, ptrdiff_t *n)
{
    AT_REQUIRE(t, !text || *n >= -1,
               "%s: the text has %td bytes, but must have >= 0, or -1 (up to its 0)", op, *n);
    if (text && *n < 0) *n = (ptrdiff_t)strlen(text);
    return true;
}

at_tokenizer *at_tokenizer_bytes(at_tape *t, const char *text, ptrdiff_t n)
{
    if (!at_measure_text(t, "tokenizer", text, &n)) return NULL;
    bool occurs[256];
    int vocab = 0;
    memset(occurs, !text, sizeof occurs);
    for (ptrdiff_t i = 0; text && i < n; i++) occurs[(unsigned char)text[i]] = true;
    for (int b = 0; b < 256; b++) vocab += occurs[b];
    AT_REQUIRE(t, vocab > 0, "tokenizer: the text is empty");
    at_tokenizer *k = at_vocabulary_make(t, AT_KIND_BYTES, vocab, (size_t)vocab, 0);
    for (int b = 0; k && b < 256; b++)
        if (occurs[b]) at_vocabulary_add(k, &(unsigned char){(unsigned char)b}, 1, 0, true);
    return k;
}

/* In the list of what occurs invalid bytes stand first, so that character c is number 256 + c. */
enum { N_CHARACTERS = 256 + 0x110000 };

at_tokenizer *at_tokenizer_chars(at_tape *t, const char *text, ptrdiff_t n)
{
    if (!at_measure_text(t, "tokenizer", text, &n)) return NULL;
    AT_REQUIRE(t, text && n > 0, "tokenizer: the text is empty");
    at_mark here = at_mark_here(t);
    bool *occurs = at_step_alloc(t, N_CHARACTERS * sizeof *occurs);
    if (!occurs) return NULL;
    memset(occurs, 0, N_CHARACTERS * sizeof *occurs);
    int vocab = 0;
    for (ptrdiff_t i = 0; i < n;) {
        int bytes;
        int32_t c = at_utf8(text + i, n - i, &bytes);
        bool *which = &occurs[c < 0 ? (unsigned char)text[i] : 256 + c];
        vocab += !*which;
        *which = true;
        i += bytes;
    }
    at_tokenizer *k = at_vocabulary_make(t, AT_KIND_CHARS, vocab, 4 * (size_t)vocab, 0);
    for (int32_t c = 0; k && c < N_CHARACTERS; c++) {
        unsigned char bytes[4] = {(unsigned char)c};
        int length = c < 256 ? 1 : at_utf8_put(bytes, c - 256);
        if (occurs[c]) at_vocabulary_add(k, bytes, (size_t)length, 0, length == 1);
    }
    at_rewind(t, here);
    return k;
}

/* ----------------------------------------------------------------- encode, decode ------------- */

void at_fail_no_token(at_tape *t, const unsigned char *text, ptrdiff_t n, ptrdiff_t i)
{
    int bytes;
    int32_t c = at_utf8(text + i, n - i, &bytes);
    at_fail(t, ATTIC_USER_ERROR, "encode: %s%0*X at byte %td has no token in this vocabulary",
            c < 0 ? "0x" : "U+", c < 0 ? 2 : 4, c < 0 ? text[i] : (unsigned)c, i);
}

/* -1 after a sticky error */
static ptrdiff_t encode_characters(at_tape *t, const at_tokenizer *k, const unsigned char *text,
                                   ptrdiff_t n, int32_t *ids)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < n;) {
        int bytes = 1;
        if (k->kind == AT_KIND_CHARS) at_utf8(text + i, n - i, &bytes);
        int32_t id =
            bytes == 1 ? k->of_byte[text[i]] : at_tokenizer_find(k, (const char *)text + i, bytes);
        if (id < 0) return at_fail_no_token(t, text, n, i), -1;
        ids[count++] = id;
        i += bytes;
    }
    return count;
}

int32_t *at_encode(at_tape *t, const at_tokenizer *k, const char *text, ptrdiff_t bytes,
                   ptrdiff_t *n)
{
    AT_REQUIRE(t, k && text && n, "encode: %s is NULL", !k ? "the tokenizer" : text ? "n" : "text");
    if (!at_measure_text(t, "encode", text, &bytes)) return NULL;
    AT_REQUIRE(t, bytes <= 1 << 30, "encode: the text has %td bytes, but at most %d are possible",
               bytes, 1 << 30);
    const unsigned char *p = (const unsigned char *)text;
    int32_t *ids = at_step_alloc(t, ((size_t)bytes + 1) * sizeof *ids);
    if (!ids) return NULL;
    at_mark here = at_mark_here(t);
    *n = k->kind <= AT_KIND_CHARS ? encode_characters(t, k, p, bytes, ids)
                                  : at_encode_pairs(t, k, p, bytes, ids);
    at_rewind(t, here);
    return at_ok(t) ? ids : NULL;
}

char *at_decode(at_tape *t, const at_tokenizer *k, const int32_t *ids, ptrdiff_t n,
                ptrdiff_t *bytes)
{
    AT_REQUIRE(t, n >= 0, "decode: n is %td, but must be >= 0", n);
    AT_REQUIRE(t, k && (ids || n == 0), "decode: %s NULL", k ? "ids are" : "the tokenizer is");
    size_t size = 1;
    for (ptrdiff_t i = 0; i < n; i++) {
        AT_REQUIRE(t, ids[i] >= 0 && ids[i] < k->vocab,
                   "decode: id %d at %td, but the vocabulary has the ids 0 to %d", ids[i], i,
                   k->vocab - 1);
        size += token_length(k, ids[i]);
    }
    char *text = at_step_alloc(t, size), *to = text;
    if (!text) return NULL;
    for (ptrdiff_t i = 0; i < n; i++) {
        size_t length = token_length(k, ids[i]);
        memcpy(to, k->bytes + k->start[ids[i]], length);
        to += length;
    }
    *to = 0;
    if (k->kind == AT_KIND_LLAMA2 && *text == ' ') text++; /* which encoding put there */
    if (bytes) *bytes = to - text;
    return text;
}

/* ----------------------------------------------------------------- the text form -------------- */

static char *put_hex(char *to, const unsigned char *p, size_t n)
{
    static const char digit[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *to++ = digit[p[i] >> 4];
        *to++ = digit[p[i] & 15];
    }
    return to;
}

static char *put_token(char *to, const at_tokenizer *k, int32_t id)
{
    uint32_t bits = 0;
    if (k->score && at_is_byte_token(k, id)) *to++ = '=';
    to = put_hex(to, k->bytes + k->start[id], token_length(k, id));
    if (k->score) memcpy(&bits, &k->score[id], sizeof bits);
    return to + (k->score ? snprintf(to, 16, " %08x\n", bits) : snprintf(to, 16, "\n"));
}

char *at_tokenizer_text(at_tape *t, const at_tokenizer *k)
{
    AT_REQUIRE(t, k, "tokenizer: the tokenizer is NULL");
    size_t n_merges = (size_t)k->n_merges, tokens = (size_t)k->vocab;
    int kept;
    char *text =
        at_step_alloc(t, 80 + 2 * (size_t)k->start[k->vocab] + 12 * tokens + 24 * n_merges);
    const at_merge **merge = at_merges_in_order(t, k, &kept);
    if (!text || !merge) return NULL;
    char *to = text + snprintf(text, 80, "attic tokenizer 1 %s %d %d\n", kind_name[k->kind],
                               k->vocab, kept);
    for (int32_t id = 0; id < k->vocab; id++) to = put_token(to, k, id);
    for (int i = 0; i < kept; i++)
        to += snprintf(to, 24, "%d %d\n", merge[i]->left, merge[i]->right);
    return text;
}

/* What of a text is still to be read: every function moves it on, and says whether it found what it
 * looked for. */
static bool read_word(const char **p, const char *word)
{
    size_t n = strlen(word);
    bool there = strncmp(*p, word, n) == 0;
    if (there) *p += n;
    return there;
}

/* A number from 0 to most, and the character after it. */
static bool read_count(const char **p, int64_t most, char end, int *value)
{
    int64_t x = 0;
    const char *from = *p;
    for (; **p >= '0' && **p <= '9' && x <= most; ++*p) x = 10 * x + (**p - '0');
    *value = (int)x;
    return x <= most && *p > from && *(*p)++ == end;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* As many bytes as there are pairs of digits. */
static size_t read_hex(const char **p, unsigned char *to)
{
    size_t n = 0;
    for (; hex_value((*p)[0]) >= 0 && hex_value((*p)[1]) >= 0; *p += 2)
        to[n++] = (unsigned char)(hex_value((*p)[0]) << 4 | hex_value((*p)[1]));
    return n;
}

/* bytes has a place for what the text can hold. */
static bool read_token(const char **p, at_tokenizer *k, unsigned char *bytes)
{
    bool byte_token = k->score && read_word(p, "=");
    size_t n = read_hex(p, bytes);
    float score = 0;
    if (k->score) {
        unsigned char b[8];
        if (!read_word(p, " ") || strspn(*p, "0123456789abcdef") != 8 || read_hex(p, b) != 4)
            return false;
        uint32_t bits = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        memcpy(&score, &bits, sizeof score);
        if (score != score) return false;
    }
    if (byte_token && n != 1) return false;
    at_vocabulary_add(k, bytes, n, score, k->score ? byte_token : n == 1);
    return read_word(p, "\n");
}

at_tokenizer *at_tokenizer_of_text(at_tape *t, const char *text)
{
    AT_REQUIRE(t, text && strncmp(text, "attic tokenizer 1 ", 18) == 0,
               "tokenizer: the text is no tokenizer that this version can read: it begins with "
               "\"%.24s\", not with \"attic tokenizer 1 \"",
               text ? text : "NULL");
    const char *p = text + 18;
    size_t length = strlen(text);
    AT_REQUIRE(t, length <= 1 << 29,
               "tokenizer: its text has %zu bytes, but at most %d are possible", length, 1 << 29);
    int kind = 0, vocab = 0, merges = 0;
    while (kind < AT_KINDS && !read_word(&p, kind_name[kind])) kind++;
    bool sound = kind < AT_KINDS && read_word(&p, " ") &&
                 read_count(&p, (int64_t)length, ' ', &vocab) && vocab > 0 &&
                 read_count(&p, kind == AT_KIND_GPT2 ? (int64_t)length : 0, '\n', &merges);
    unsigned char *bytes = at_step_alloc(t, length);
    at_tokenizer *k =
        sound ? at_vocabulary_make(t, (at_token_kind)kind, vocab, length, merges) : NULL;
    while (k && sound && k->vocab < vocab) sound = read_token(&p, k, bytes);
    for (int i = 0, left, right; k && sound && i < merges; i++)
        sound = read_count(&p, vocab - 1, ' ', &left) && read_count(&p, vocab - 1, '\n', &right) &&
                at_vocabulary_merge(t, k, left, right);
    AT_REQUIRE(t, sound && *p == 0, "tokenizer: its text is damaged at byte %td of %zu", p - text,
               length);
    return k;
}
