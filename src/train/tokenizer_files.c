/* tokenizer_files.c -- vocabularies in files: llama2.c's tokenizer.bin, GPT-2's vocab.json and
 * merges.txt.  A file that is read is taken for what it may be, damaged or hostile: memory is asked
 * for in proportion to its size, and what it says is compared with its size before it is
 * believed. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/file.h"
#include "io/json.h"
#include "system/system.h"
#include "system/utf8.h"
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

/* ----------------------------------------------------------------- llama2.c ------------------- */

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
        if (n > longest || (int64_t)n > size - at - 8 || isnan(score))
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

/* ----------------------------------------------------------------- GPT-2 ---------------------- */

/* Bytes that Latin-1 shows are themselves; the other 68 are U+0100 and so on, in their order. */
int at_byte_of_character(int32_t c)
{
    if (c < 256) return (c > 32 && c < 127) || (c > 160 && c != 173) ? c : -1;
    c -= 256;
    return c <= 32 ? c : c == 33 ? 127 : c <= 66 ? 128 + (c - 34) : c == 67 ? 173 : -1;
}

/* Such a text becomes bytes, where it stands; how many, -1 if a character stands for none. */
static int unwrap_bytes(char *text, ptrdiff_t n)
{
    int count = 0;
    for (ptrdiff_t i = 0; i < n;) {
        int bytes, byte = at_byte_of_character(at_utf8(text + i, n - i, &bytes));
        if (byte < 0) return -1;
        text[count++] = (char)byte;
        i += bytes;
    }
    return count;
}

/* {"token": id, ...}: the tokens by their ids, *n of them.  NULL after a sticky error. */
static char **read_vocab_json(at_source *s, char *text, ptrdiff_t size, int *n)
{
    at_json r = {s, "it", text, text, text + size};
    const ptrdiff_t most = size / 4; /* "":0 */
    char **token = at_step_alloc(s->t, (size_t)(most + 1) * sizeof *token);
    if (!token) return NULL;
    memset(token, 0, (size_t)(most + 1) * sizeof *token);
    ptrdiff_t good = at_utf8_bytes(text, size), id;
    if (good < size) return at_source_fail(s, "byte %td of it is not UTF-8", good), NULL;
    if (!at_json_took(&r, '{')) return at_json_expects(&r, "{"), NULL;
    int more;
    for (*n = 0; (more = at_json_more(&r, *n, '}')) > 0; ++*n) {
        char *key = at_json_key(&r);
        if (!key || !at_json_integer(&r, most, &id)) return NULL;
        if (token[id]) return at_source_fail(s, "two tokens have the id %td", id), NULL;
        token[id] = key;
    }
    at_json_took(&r, 0);
    if (more == 0 && r.at < r.end) at_json_expects(&r, "the end, but for spaces");
    for (id = 0; at_ok(s->t) && id < *n; id++)
        if (!token[id]) at_source_fail(s, "%d tokens, but none has the id %td", *n, id);
    if (*n == 0) at_source_fail(s, "it has no tokens");
    return at_ok(s->t) ? token : NULL;
}

/* The line that begins at *p, which is moved behind it: a merge of two tokens of k. */
static bool read_merge(at_source *s, at_tokenizer *k, char **p, int line)
{
    char *left = *p, *end = left + strcspn(left, "\n");
    char *space = memchr(left, ' ', (size_t)(end - left));
    *p = end;
    if (end > left && end[-1] == '\r') end--;
    if (!space) return at_source_fail(s, "line %d has no two tokens with a space between", line);
    int a = unwrap_bytes(left, space - left), b = unwrap_bytes(space + 1, end - space - 1);
    int left_id = a < 0 ? -1 : at_tokenizer_find(k, left, a);
    int right_id = b < 0 ? -1 : at_tokenizer_find(k, space + 1, b);
    if (left_id < 0 || right_id < 0 || at_joined_token(k, left_id, right_id) < 0)
        return at_source_fail(s,
                              "line %d joins two tokens, but not both, or not what they become, "
                              "are in the vocabulary",
                              line);
    return at_vocabulary_merge(s->t, k, left_id, right_id);
}

/* Lines with more than an end. */
static int count_lines(const char *p)
{
    int n = 0;
    for (; *p; p += *p != 0) {
        size_t length = strcspn(p, "\n");
        n += length > 0;
        p += length;
    }
    return n;
}

static at_tokenizer *gpt2_of_files(at_tape *t, const char *vocab_json, const char *merges_txt)
{
    ptrdiff_t size, merges_size;
    int n;
    at_source s = {.t = t, .format = "tokenizer", .path = vocab_json};
    char *text = (char *)vocabulary_file(t, vocab_json, &size);
    char *p = (char *)vocabulary_file(t, merges_txt, &merges_size);
    char **token = text && p ? read_vocab_json(&s, text, size, &n) : NULL;
    if (!token) return NULL;
    at_tokenizer *k = at_vocabulary_make(t, AT_KIND_GPT2, n, (size_t)size, count_lines(p));
    for (int id = 0; k && id < n; id++) {
        int bytes = unwrap_bytes(token[id], (ptrdiff_t)strlen(token[id]));
        if (bytes < 0)
            return at_source_fail(&s, "token %d has a character that stands for no byte", id), NULL;
        if (at_tokenizer_find(k, token[id], bytes) >= 0)
            return at_source_fail(&s, "token %d is there twice", id), NULL;
        at_vocabulary_add(k, token[id], (size_t)bytes, 0, bytes == 1);
    }
    s.path = merges_txt;
    const char *end = p + merges_size;
    int line = 1;
    if (strncmp(p, "#version", 8) == 0) p += strcspn(p, "\n");
    while (k && at_ok(t) && *p) {
        if (*p == '\n') line++;
        if (*p == '\n' || *p == '\r')
            p++;
        else
            read_merge(&s, k, &p, line);
    }
    if (p < end) at_source_fail(&s, "line %d has a byte that is 0", line);
    return at_ok(t) ? k : NULL;
}

at_tokenizer *at_tokenizer_gpt2(at_tape *t, const char *vocab_json, const char *merges_txt)
{
    AT_REQUIRE(t, vocab_json && merges_txt, "tokenizer: a path is NULL");
    at_mark here = at_mark_here(t);
    at_tokenizer *k = gpt2_of_files(t, vocab_json, merges_txt);
    at_rewind(t, here);
    return k;
}

/* The token as these files have it; in JSON behind backslashes where it must be. */
static void print_token(FILE *f, const at_tokenizer *k, int32_t id, const int32_t character[256],
                        bool json)
{
    for (uint32_t i = k->start[id]; i < k->start[id + 1]; i++) {
        const int32_t c = character[k->bytes[i]];
        char utf8[4];
        if (json && (c == '"' || c == '\\')) fputc('\\', f);
        const int n = at_utf8_put(utf8, c);
        fwrite(utf8, 1, (size_t)n, f);
    }
}

/* {"token": id, ...}, a token a line; false after a sticky error, here and below. */
static bool save_vocab(at_tape *t, const at_tokenizer *k, const char *path,
                       const int32_t *character)
{
    FILE *f = at_file_create(t, path);
    for (int32_t id = 0; f && id < k->vocab; id++) {
        fputs(id ? ",\n\"" : "{\"", f);
        print_token(f, k, id, character, true);
        fprintf(f, "\": %d", id);
    }
    if (f) fputs("}\n", f);
    return at_file_close(t, f, path);
}

static bool save_merges(at_tape *t, const at_tokenizer *k, const char *path,
                        const int32_t *character)
{
    int n = 0;
    const at_merge **merge = at_merges_in_order(t, k, &n);
    FILE *f = merge ? at_file_create(t, path) : NULL;
    if (f) fputs("#version: 0.2\n", f);
    for (int i = 0; f && i < n; i++) {
        print_token(f, k, merge[i]->left, character, false);
        fputc(' ', f);
        print_token(f, k, merge[i]->right, character, false);
        fputc('\n', f);
    }
    return at_file_close(t, f, path);
}

bool at_vocabulary_check(at_tape *t, const char *op, const at_tokenizer *k)
{
    for (int id = 0, n; id < at_tokenizer_vocab(k); id++) {
        const char *bytes = at_token_bytes(k, id, &n);
        const int first = at_tokenizer_find(k, bytes, n);
        AT_REQUIRE(t, first == id,
                   "%s: tokens %d and %d have the same bytes, for which vocab.json has one place",
                   op, first, id);
    }
    return true;
}

bool at_tokenizer_save(at_tape *t, const at_tokenizer *k, const char *folder)
{
    AT_REQUIRE(t, k && folder && *folder, "tokenizer: %s",
               !k       ? "the tokenizer is NULL"
               : folder ? "the name of the folder is empty"
                        : "the folder is NULL");
    AT_REQUIRE(
        t, k->kind == AT_KIND_GPT2 || k->kind == AT_KIND_BYTES,
        "tokenizer: vocab.json and merges.txt hold the kind gpt2, but this is of the kind %s",
        at_tokenizer_kind(k));
    if (!at_vocabulary_check(t, "tokenizer", k)) return false;
    if (at_make_folder(folder) != 0 && errno != EEXIST)
        return at_fail(t, ATTIC_FILE_ERROR, "tokenizer: cannot make the folder %s: %s", folder,
                       strerror(errno));
    int32_t character[256];
    for (int32_t c = 0; c < AT_BYTE_CHARACTERS; c++)
        if (at_byte_of_character(c) >= 0) character[at_byte_of_character(c)] = c;
    at_mark here = at_mark_here(t);
    const size_t size = strlen(folder) + sizeof "/merges.txt";
    char *path = at_step_alloc(t, size);
    if (path) snprintf(path, size, "%s/vocab.json", folder);
    bool good = path && save_vocab(t, k, path, character);
    if (good) snprintf(path, size, "%s/merges.txt", folder);
    good = good && save_merges(t, k, path, character);
    at_rewind(t, here);
    return good;
}
