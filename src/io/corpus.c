/* corpus.c -- text files as bytes to learn from and bytes to be judged by; see corpus.h. */
#include "io/corpus.h"

#include <errno.h>
#include <string.h>

#include "autograd/op.h"

/* Appends the file to text[at .. room-1], or only measures it when text is NULL.  Returns its size,
 * or -1 after a sticky error. */
static ptrdiff_t read_text(at_tape *t, const char *path, unsigned char *text, ptrdiff_t room)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        at_fail(t, ATTIC_FILE_ERROR, "corpus: cannot open %s: %s", path, strerror(errno));
        return -1;
    }
    unsigned char block[1 << 14];
    ptrdiff_t size = 0;
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0; size += (ptrdiff_t)n) {
        if (!text) continue;
        if ((ptrdiff_t)n > room - size)
            n = (size_t)(room - size); /* it grew since it was measured */
        memcpy(text + size, block, n);
        if (size + (ptrdiff_t)n == room) {
            size = room;
            break;
        }
    }
    if (ferror(f)) {
        at_fail(t, ATTIC_FILE_ERROR, "corpus: cannot read %s: %s", path, strerror(errno));
        size = -1;
    }
    fclose(f);
    return size;
}

static bool is_held_out(ptrdiff_t i)
{
    return i / AT_CORPUS_BLOCK % 10 == 9;
}

static void number_bytes(at_corpus *c, const unsigned char *text, ptrdiff_t n)
{
    bool occurs[256] = {false};
    for (ptrdiff_t i = 0; i < n; i++) occurs[text[i]] = true;
    for (int byte = 0; byte < 256; byte++) {
        c->id_of[byte] = occurs[byte] ? c->vocab : -1;
        if (occurs[byte]) c->byte_of[c->vocab++] = (unsigned char)byte;
    }
}

static void split_text(at_corpus *c, const unsigned char *text, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        unsigned char id = (unsigned char)c->id_of[text[i]];
        if (is_held_out(i))
            c->held[c->n_held++] = id;
        else
            c->train[c->n_train++] = id;
    }
}

at_corpus *at_corpus_read(at_tape *t, const char *const *path, int n_paths)
{
    ptrdiff_t size = 0;
    for (int i = 0; i < n_paths; i++) AT_REQUIRE(t, path && path[i], "corpus: path %d is NULL", i);
    for (int i = 0; at_ok(t) && i < n_paths; i++) {
        ptrdiff_t n = read_text(t, path[i], NULL, 0);
        size += n > 0 ? n : 0;
    }
    AT_REQUIRE(t, size >= 10 * AT_CORPUS_BLOCK,
               "corpus: %d files hold %td bytes, but the tenth KiB is held out, so %d are needed",
               n_paths, size, 10 * AT_CORPUS_BLOCK);
    unsigned char *text = at_step_alloc(t, (size_t)size);
    at_corpus *c = at_step_alloc(t, sizeof *c);
    unsigned char *ids = at_step_alloc(t, (size_t)size);
    if (!ids) return NULL;

    ptrdiff_t n = 0;
    for (int i = 0; at_ok(t) && i < n_paths && n < size; i++)
        n += read_text(t, path[i], text + n, size - n);
    if (!at_ok(t)) return NULL;
    ptrdiff_t n_train = 0;
    for (ptrdiff_t i = 0; i < n; i++) n_train += !is_held_out(i);
    *c = (at_corpus){.train = ids, .held = ids + n_train};
    number_bytes(c, text, n);
    split_text(c, text, n);
    return c;
}

bool at_corpus_batch(at_tape *t, const at_corpus *c, int B, int T, at_stream stream,
                     at_tensor **ids, at_tensor **target)
{
    AT_REQUIRE(t, c && ids && target, "corpus: the corpus, ids or target is NULL");
    AT_REQUIRE(t, T < c->n_train,
               "corpus: windows of %d bytes and the one that follows, but the "
               "training text has only %td",
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
