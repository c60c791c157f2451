/* corpus.c -- text files as bytes to learn from and bytes to be judged by; see corpus.h. */
#include "io/corpus.h"

#include <errno.h>
#include <string.h>

#include "autograd/op.h"

enum { PART_SIZE = 1 << 16 };

/* What was read, in parts: a pipe can't be measured before, nor read twice. */
typedef struct text_part text_part;
struct text_part {
    text_part *next;
    int n;
    unsigned char byte[PART_SIZE];
};
typedef struct {
    text_part *first, *last; /* all but the last are full */
    ptrdiff_t n;
} corpus_text;

static text_part *part_with_space(at_tape *t, corpus_text *text)
{
    if (text->last && text->last->n < PART_SIZE) return text->last;
    text_part *p = at_step_alloc(t, sizeof *p), **link = &text->first;
    if (!p) return NULL;
    p->next = NULL;
    p->n = 0;
    if (text->last) link = &text->last->next;
    return text->last = *link = p;
}

static bool read_text(at_tape *t, const char *path, corpus_text *text)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return at_fail(t, ATTIC_FILE_ERROR, "corpus: cannot open %s: %s", path, strerror(errno));
    int n = 1;
    for (text_part *p; n > 0 && text->n <= AT_CORPUS_LIMIT && (p = part_with_space(t, text));) {
        n = (int)fread(p->byte + p->n, 1, (size_t)(PART_SIZE - p->n), f);
        p->n += n;
        text->n += n;
    }
    if (ferror(f))
        at_fail(t, ATTIC_FILE_ERROR, "corpus: cannot read %s: %s", path, strerror(errno));
    if (text->n > AT_CORPUS_LIMIT)
        at_fail(t, ATTIC_FILE_ERROR,
                "corpus: %s goes on where the text has %d bytes, the most there may be", path,
                AT_CORPUS_LIMIT);
    fclose(f);
    return at_ok(t);
}

static bool is_held_out(ptrdiff_t i)
{
    return i / AT_CORPUS_BLOCK % 10 == 9;
}

static void number_bytes(at_corpus *c, const corpus_text *text)
{
    bool occurs[256] = {false};
    for (const text_part *p = text->first; p; p = p->next)
        for (int i = 0; i < p->n; i++) occurs[p->byte[i]] = true;
    for (int byte = 0; byte < 256; byte++) {
        c->id_of[byte] = occurs[byte] ? c->vocab : -1;
        if (occurs[byte]) c->byte_of[c->vocab++] = (unsigned char)byte;
    }
}

static void split_text(at_corpus *c, const corpus_text *text)
{
    ptrdiff_t at = 0;
    for (const text_part *p = text->first; p; p = p->next)
        for (int i = 0; i < p->n; i++, at++) {
            unsigned char *to = is_held_out(at) ? &c->held[c->n_held++] : &c->train[c->n_train++];
            *to = (unsigned char)c->id_of[p->byte[i]];
        }
}

at_corpus *at_corpus_read(at_tape *t, const char *const *path, int n_paths)
{
    for (int i = 0; i < n_paths; i++) AT_REQUIRE(t, path && path[i], "corpus: path %d is NULL", i);
    corpus_text text = {0};
    for (int i = 0; i < n_paths; i++)
        if (!read_text(t, path[i], &text)) return NULL;
    AT_REQUIRE(t, text.n >= 10 * AT_CORPUS_BLOCK,
               "corpus: %d files hold %td bytes, but the tenth KiB is held out, so %d are needed",
               n_paths, text.n, 10 * AT_CORPUS_BLOCK);
    at_corpus *c = at_step_alloc(t, sizeof *c);
    unsigned char *ids = at_step_alloc(t, (size_t)text.n);
    if (!ids) return NULL;
    ptrdiff_t n_train = 0;
    for (ptrdiff_t i = 0; i < text.n; i++) n_train += !is_held_out(i);
    *c = (at_corpus){.train = ids, .held = ids + n_train};
    number_bytes(c, &text);
    split_text(c, &text);
    return c;
}

bool at_corpus_batch(at_tape *t, const at_corpus *c, int B, int T, at_stream stream,
                     at_tensor **ids, at_tensor **target)
{
    AT_REQUIRE(t, c && ids && target, "corpus: the corpus, ids or target is NULL");
    AT_REQUIRE(t, T < c->n_train,
               "corpus: windows of %d bytes and the one that follows, but the training text has "
               "only %td",
               T, c->n_train);
    *ids = at_ints(t, at_shape_of(B, T), NULL);
    *target = at_ints(t, at_shape_of(B, T), NULL);
    if (!at_ok(t)) return false;
    int32_t *x = (*ids)->data, *y = (*target)->data;
    for (int b = 0; b < B; b++, x += T, y += T) {
        double u = at_random_unit(stream, (uint64_t)b);
        const unsigned char *from = c->train + (ptrdiff_t)(u * (double)(c->n_train - T));
        for (int i = 0; i < T; i++) {
            x[i] = from[i];
            y[i] = from[i + 1];
        }
    }
    return true;
}
