/* npy.c -- tensors as .npy files; see npy.h.
 *
 *     \x93NUMPY  major minor  length  {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *                                          ... spaces ... \n                           the elements
 *
 * length, of all that is between itself and the elements, has 2 bytes in version 1 and 4 in
 * versions 2 and 3.  The header is a Python literal: a dictionary of exactly these keys, in any
 * order.
 *
 * Nothing that the file says is believed before it is compared with the size of the file: first the
 * header is read, into a buffer of fixed size, then its shape must account for every byte that
 * follows, and only then memory is asked for. */
#include "io/npy.h"

#include <limits.h>
#include <string.h>

#include "autograd/file.h"
#include "io/source.h"

enum { NPY_HEADER_LIMIT = 10000 /* bytes, as in NumPy; ours has 118 */ };

typedef struct {
    const at_source *source;
    const char *begin, *at, *end; /* the header, and what is left of it */
    at_stored *e;                 /* what it says */
} npy_reader;

static bool not_understood(npy_reader *r, const char *expected)
{
    return at_source_fail(r->source, "byte %td of its header should be %s", r->at - r->begin,
                          expected);
}

/* Skips spaces, then the text if it comes next. */
static bool took(npy_reader *r, const char *text)
{
    size_t n = strlen(text);
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at) r->at++;
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) return false;
    r->at += n;
    return true;
}

/* 'text' or "text", in `size` bytes */
static bool take_string(npy_reader *r, char *text, int size)
{
    const char *quote = took(r, "'") ? "'" : took(r, "\"") ? "\"" : NULL;
    if (!quote) return not_understood(r, "a string");
    for (; r->at < r->end && *r->at != *quote; r->at++) {
        if (--size == 0 || *r->at == '\\' || *r->at == 0) return not_understood(r, "a known word");
        *text++ = *r->at;
    }
    *text = 0;
    return took(r, quote) || not_understood(r, "the end of a string");
}

static bool take_dim(npy_reader *r, int *dim)
{
    ptrdiff_t n = 0;
    took(r, "");
    const char *first = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        n = 10 * n + (*r->at - '0');
        if (n > INT_MAX) return at_source_fail(r->source, "a dimension is larger than %d", INT_MAX);
    }
    if (r->at == first) return not_understood(r, "a dimension");
    if (r->at < r->end && *r->at == 'L') r->at++; /* written by Python 2 */
    *dim = (int)n;
    return true;
}

/* (), (3,), (2, 3) or (2, 3,) */
static bool take_shape(npy_reader *r)
{
    at_shape s = {0};
    if (!took(r, "(")) return not_understood(r, "a shape");
    bool comma = true;
    while (!took(r, ")")) {
        if (!comma) return not_understood(r, "a comma or the end of the shape");
        if (s.ndim == AT_MAX_DIMS)
            return at_source_fail(r->source, "it has more than %d dimensions", AT_MAX_DIMS);
        if (!take_dim(r, &s.dim[s.ndim++])) return false;
        comma = took(r, ",");
    }
    if (s.ndim == 1 && !comma) return not_understood(r, "a shape"); /* (3) is a number */
    if (!at_shape_valid(s))
        return at_source_fail(r->source, "its shape %s is impossible", at_shape_text(s));
    r->e->shape = s;
    return true;
}

/* '<f4': byte order, kind, bytes */
static bool take_dtype(npy_reader *r)
{
    char text[32] = "";
    if (took(r, "[")) return at_source_fail(r->source, "it holds records with fields, not numbers");
    if (!take_string(r, text, sizeof text)) return false;
    const char *code = text + (*text && strchr("<>|=", *text) ? 1 : 0);
    if (*code == 'O')
        return at_source_fail(r->source,
                              "it holds Python objects, and only Python can unpickle them");
    if (strlen(code) == 2 && strstr("f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1", code)) {
        r->e->kind = code[0];
        r->e->bytes = code[1] - '0';
        r->e->big_endian = *text == '>' || (*text != '<' && at_host_is_big_endian());
        return true;
    }
    return at_source_fail(r->source,
                          "its dtype \"%s\" is none of f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1",
                          at_shown(text, -1));
}

static bool take_entry(npy_reader *r, unsigned *seen)
{
    static const char *const key[] = {"descr", "fortran_order", "shape"};
    char text[32] = "";
    unsigned k = 0;
    if (!take_string(r, text, sizeof text)) return false;
    while (k < 3 && strcmp(text, key[k]) != 0) k++;
    if (k == 3)
        return at_source_fail(r->source, "its header has an unknown key \"%s\"",
                              at_shown(text, -1));
    if (*seen & 1u << k) return at_source_fail(r->source, "its header has two keys \"%s\"", text);
    *seen |= 1u << k;
    if (!took(r, ":")) return not_understood(r, "a colon");
    if (k == 0) return take_dtype(r);
    if (k == 2) return take_shape(r);
    r->e->fortran = took(r, "True");
    return r->e->fortran || took(r, "False") || not_understood(r, "True or False");
}

static bool take_header(npy_reader *r)
{
    unsigned seen = 0;
    bool comma = true;
    if (!took(r, "{")) return not_understood(r, "a dictionary");
    while (!took(r, "}")) {
        if (!comma) return not_understood(r, "a comma or the end of the dictionary");
        if (!take_entry(r, &seen)) return false;
        comma = took(r, ",");
    }
    if (seen != 7) return at_source_fail(r->source, "its header lacks a key");
    took(r, "");
    return r->at == r->end || not_understood(r, "its end");
}

bool at_npy_header(at_source *s, at_stored *e)
{
    unsigned char magic[8] = {0}, length[4] = {0};
    char header[NPY_HEADER_LIMIT] = "";
    if (!at_source_read(s, magic, sizeof magic)) return false;
    if (memcmp(magic, "\x93NUMPY", 6) != 0) return at_source_fail(s, "it is no .npy file");
    if (magic[6] < 1 || magic[6] > 3 || magic[7] != 0)
        return at_source_fail(s, "its version %d.%d is unknown", magic[6], magic[7]);
    if (!at_source_read(s, length, magic[6] == 1 ? 2 : 4)) return false;
    ptrdiff_t n = length[0] + 256 * length[1];
    if (length[2] || length[3] || n > NPY_HEADER_LIMIT)
        return at_source_fail(s, "its header is longer than %d bytes", NPY_HEADER_LIMIT);
    if (!at_source_read(s, header, n)) return false;
    npy_reader r = {.source = s, .begin = header, .at = header, .end = header + n, .e = e};
    if (!take_header(&r)) return false;
    return at_stored_bytes(e) == s->unread ||
           at_source_fail(s, "its shape %s needs %td bytes, but %td follow",
                          at_shape_text(e->shape), at_stored_bytes(e), s->unread);
}

/* Opens the file and reads all but the elements, of which it holds exactly as many as the shape
 * says: then the memory for them is in proportion to the file. */
static bool npy_open(at_source *s, at_stored *e, at_tape *t, const char *path)
{
    *s = (at_source){.t = t, .format = "npy", .path = path};
    *e = (at_stored){0};
    s->file = at_file_open(t, path, &s->unread);
    return s->file && at_npy_header(s, e);
}

at_tensor *at_npy_load(at_tape *t, const char *path)
{
    at_source s;
    at_stored e;
    at_tensor *x = npy_open(&s, &e, t, path) ? at_source_load(&s, &e) : NULL;
    if (s.file) fclose(s.file);
    return x;
}

bool at_npy_load_into(at_tensor *x, const char *path)
{
    if (!x || !at_check_any(x->tape, "npy", "x", x)) return false;
    at_source s;
    at_stored e;
    bool good = npy_open(&s, &e, x->tape, path) && at_source_load_into(&s, &e, x);
    if (s.file) fclose(s.file);
    return good;
}

/* All that comes before the elements, padded with spaces to a multiple of 64 bytes. */
static void put_header(FILE *f, const at_tensor *x)
{
    static const char *const code[] = {
        [ATTIC_F32] = "<f4",  [ATTIC_F64] = "<f8", [ATTIC_I32] = "<i4",
        [ATTIC_BOOL] = "|b1", [ATTIC_F16] = "<f2", [ATTIC_BF16] = NULL};
    char text[256];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                     code[x->dtype]);
    for (int i = 0; i < x->shape.ndim; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, i ? ", %d" : "%d", x->shape.dim[i]);
    n += snprintf(text + n, sizeof text - (size_t)n, x->shape.ndim == 1 ? ",), }" : "), }");
    int length = (10 + n + 1 + 63) / 64 * 64 - 10;
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    fputc(length & 255, f);
    fputc(length >> 8, f);
    fprintf(f, "%-*s\n", length - 1, text);
}

bool at_npy_save(const at_tensor *x, const char *path)
{
    if (!x || !at_check_any(x->tape, "npy", "x", x)) return false;
    AT_REQUIRE(x->tape, x->dtype != ATTIC_BF16,
               "npy: NumPy has no bf16, but %s is bf16 (at_cast makes it f16 or %s)", at_text(x),
               at_dtype_text(at_real(x->tape)));
    AT_REQUIRE(x->tape, x->dtype != ATTIC_DUAL,
               "npy: %s is dual, values and tangents: at_read_f64 and at_tangent give either",
               at_text(x));
    FILE *f = at_file_create(x->tape, path);
    if (!f) return false;
    put_header(f, x);
    at_elements_write(f, x);
    return at_file_close(x->tape, f, path);
}
