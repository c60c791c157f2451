/* npy.c -- tensors as .npy files; see npy.h.
 *
 *     \x93NUMPY  major minor  length  {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *                                          ... spaces ... \n                           the elements
 *
 * length, of all that lies between itself and the elements, has 2 bytes in version 1 and 4 in
 * versions 2 and 3.  The header is a Python literal: a dictionary of exactly these keys, in any
 * order.
 *
 * Nothing that the file says is believed before it is compared with the size of the file: first the
 * header is read, into a buffer of fixed size, then its shape must account for every byte that
 * follows, and only then memory is asked for. */
#include "io/npy.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "autograd/op.h"
#include "io/file.h"
#include "tensor/decimal.h"

enum {
    NPY_HEADER_LIMIT = 10000, /* bytes, as in NumPy; ours has 118 */
    NPY_BLOCK = 1 << 13       /* bytes read at once; a multiple of every element size */
};

typedef struct {
    at_tape *t;
    const char *path;
    FILE *file;
    ptrdiff_t unread;             /* bytes of the file */
    const char *begin, *at, *end; /* the header, and what is left of it */

    char kind; /* 'f', 'i', 'u' or 'b' */
    int bytes; /* of an element */
    bool big_endian, fortran;
    at_shape shape;
} npy_reader;

__attribute__((format(printf, 2, 3))) static bool npy_fail(npy_reader *r, const char *format, ...)
{
    char why[AT_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return at_fail(r->t, ATTIC_FILE_ERROR, "npy: %s: %s", r->path, why);
}

static bool npy_read(npy_reader *r, void *to, ptrdiff_t bytes)
{
    errno = 0;
    bool whole = r->unread >= bytes && fread(to, 1, (size_t)bytes, r->file) == (size_t)bytes;
    r->unread -= bytes;
    return whole || npy_fail(r, "%s", errno ? strerror(errno) : "it ends early");
}

static bool host_is_big_endian(void)
{
    const uint16_t one = 1;
    return !*(const unsigned char *)&one;
}

static bool not_understood(npy_reader *r, const char *expected)
{
    return npy_fail(r, "byte %td of its header should be %s", r->at - r->begin, expected);
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
        if (n > INT_MAX) return npy_fail(r, "a dimension is larger than %d", INT_MAX);
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
            return npy_fail(r, "it has more than %d dimensions", AT_MAX_DIMS);
        if (!take_dim(r, &s.dim[s.ndim++])) return false;
        comma = took(r, ",");
    }
    if (s.ndim == 1 && !comma) return not_understood(r, "a shape"); /* (3) is a number */
    if (!at_shape_valid(s)) return npy_fail(r, "its shape %s is impossible", at_shape_text(s));
    r->shape = s;
    return true;
}

/* '<f4': byte order, kind, bytes */
static bool take_dtype(npy_reader *r)
{
    char text[32] = "";
    if (took(r, "[")) return npy_fail(r, "it holds records with fields, not numbers");
    if (!take_string(r, text, sizeof text)) return false;
    const char *code = text + (*text && strchr("<>|=", *text) ? 1 : 0);
    if (*code == 'O')
        return npy_fail(r, "it holds Python objects, and only Python can unpickle them");
    if (strlen(code) == 2 && strstr("f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1", code)) {
        r->kind = code[0];
        r->bytes = code[1] - '0';
        r->big_endian = *text == '>' || (*text != '<' && host_is_big_endian());
        return true;
    }
    return npy_fail(r, "its dtype \"%s\" is none of f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1", text);
}

static bool take_entry(npy_reader *r, unsigned *seen)
{
    static const char *const key[] = {"descr", "fortran_order", "shape"};
    char text[32] = "";
    unsigned k = 0;
    if (!take_string(r, text, sizeof text)) return false;
    while (k < 3 && strcmp(text, key[k]) != 0) k++;
    if (k == 3) return npy_fail(r, "its header has an unknown key \"%s\"", text);
    if (*seen & 1u << k) return npy_fail(r, "its header has two keys \"%s\"", text);
    *seen |= 1u << k;
    if (!took(r, ":")) return not_understood(r, "a colon");
    if (k == 0) return take_dtype(r);
    if (k == 2) return take_shape(r);
    r->fortran = took(r, "True");
    return r->fortran || took(r, "False") || not_understood(r, "True or False");
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
    if (seen != 7) return npy_fail(r, "its header lacks a key");
    took(r, "");
    return r->at == r->end || not_understood(r, "its end");
}

static bool read_header(npy_reader *r)
{
    unsigned char magic[8] = {0}, length[4] = {0};
    char header[NPY_HEADER_LIMIT] = "";
    if (!npy_read(r, magic, sizeof magic)) return false;
    if (memcmp(magic, "\x93NUMPY", 6) != 0) return npy_fail(r, "it is no .npy file");
    if (magic[6] < 1 || magic[6] > 3 || magic[7] != 0)
        return npy_fail(r, "its version %d.%d is unknown", magic[6], magic[7]);
    if (!npy_read(r, length, magic[6] == 1 ? 2 : 4)) return false;
    ptrdiff_t n = length[0] + 256 * length[1];
    if (length[2] || length[3] || n > NPY_HEADER_LIMIT)
        return npy_fail(r, "its header is longer than %d bytes", NPY_HEADER_LIMIT);
    if (!npy_read(r, header, n)) return false;
    r->begin = r->at = header;
    r->end = header + n;
    bool good = take_header(r);
    r->begin = r->at = r->end = NULL;
    return good;
}

static double half_to_double(unsigned h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double x = ldexp(exponent ? 1024 + fraction : fraction, exponent ? exponent - 25 : -24);
    if (exponent == 31) x = fraction ? (double)NAN : (double)INFINITY;
    return h >> 15 ? -x : x;
}

static double npy_element(const npy_reader *r, const unsigned char *p)
{
    union {
        uint64_t bits;
        double number;
    } f8 = {0};
    for (int k = 0; k < r->bytes; k++)
        f8.bits = f8.bits << 8 | p[r->big_endian ? k : r->bytes - 1 - k];
    union {
        uint32_t bits;
        float number;
    } f4 = {(uint32_t)f8.bits};
    if (r->kind == 'b') return f8.bits != 0;
    if (r->kind == 'u') return (double)f8.bits;
    if (r->kind == 'i') { /* the highest bit counts negative */
        uint64_t sign = f8.bits & (uint64_t)1 << (8 * r->bytes - 1);
        return sign ? -(double)(sign - (f8.bits - sign)) : (double)f8.bits;
    }
    return r->bytes == 2 ? half_to_double(f4.bits) : r->bytes == 4 ? (double)f4.number : f8.number;
}

/* Where the next element belongs when the first index moves fastest. */
static ptrdiff_t next_in_fortran_order(at_shape s, int index[AT_MAX_DIMS])
{
    for (int axis = 0; axis < s.ndim && ++index[axis] == s.dim[axis]; axis++) index[axis] = 0;
    ptrdiff_t to = 0;
    for (int axis = 0; axis < s.ndim; axis++) to = to * s.dim[axis] + index[axis];
    return to;
}

static bool read_elements(npy_reader *r, at_tensor *x)
{
    unsigned char block[NPY_BLOCK] = {0};
    int index[AT_MAX_DIMS] = {0}, per_block = NPY_BLOCK / r->bytes;
    ptrdiff_t n = at_count(r->shape), to = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t k = i % per_block, here = n - i < per_block ? n - i : per_block;
        if (k == 0 && !npy_read(r, block, here * r->bytes)) return false;
        double value = npy_element(r, block + k * r->bytes);
        if (!at_can_hold(x->dtype, value))
            return npy_fail(r, "element %td is %s, which %s cannot hold", to,
                            at_short_text(value, 17), at_dtype_text(x->dtype));
        at_store(x->dtype, x->data, to, value);
        to = r->fortran ? next_in_fortran_order(r->shape, index) : i + 1;
    }
    return true;
}

static at_dtype npy_dtype(const npy_reader *r)
{
    return r->kind == 'f' ? at_real(r->t) : r->kind == 'b' ? ATTIC_BOOL : ATTIC_I32;
}

/* Opens the file and reads all but the elements, of which it holds exactly as many as the shape
 * says: then the memory for them is in proportion to the file. */
static bool npy_open(npy_reader *r, at_tape *t, const char *path)
{
    *r = (npy_reader){.t = t, .path = path};
    r->file = at_file_open(t, path, &r->unread);
    if (!r->file || !read_header(r)) return false;
    ptrdiff_t need = at_count(r->shape) * r->bytes;
    return need == r->unread || npy_fail(r, "its shape %s needs %td bytes, but %td follow",
                                         at_shape_text(r->shape), need, r->unread);
}

at_tensor *at_npy_load(at_tape *t, const char *path)
{
    npy_reader r;
    at_tensor *x = NULL;
    if (npy_open(&r, t, path)) x = at_blank(t, npy_dtype(&r), r.shape);
    bool good = x && read_elements(&r, x);
    if (r.file) fclose(r.file);
    return good ? x : NULL;
}

bool at_npy_load_into(at_tensor *x, const char *path)
{
    if (!x || !at_check_any(x->tape, "npy", "x", x)) return false;
    npy_reader r;
    bool good = npy_open(&r, x->tape, path);
    if (good && (!at_same_shape(x->shape, r.shape) || x->dtype != npy_dtype(&r)))
        good = npy_fail(&r, "it holds %s %s, but %s is %s", at_dtype_text(npy_dtype(&r)),
                        at_shape_text(r.shape), at_text(x), at_dtype_text(x->dtype));
    if (good) {
        at_written(x);
        good = at_ok(x->tape) && read_elements(&r, x);
    }
    if (r.file) fclose(r.file);
    return good;
}

/* All that comes before the elements, padded with spaces to a multiple of 64 bytes. */
static void put_header(FILE *f, const at_tensor *x)
{
    static const char *const code[] = {
        [ATTIC_F32] = "<f4", [ATTIC_F64] = "<f8", [ATTIC_I32] = "<i4", [ATTIC_BOOL] = "|b1"};
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
    FILE *f = at_file_create(x->tape, path);
    if (!f) return false;
    put_header(f, x);
    const size_t bytes = at_dtype_size(x->dtype);
    const bool reversed = host_is_big_endian();
    const unsigned char *p = x->data;
    for (ptrdiff_t n = at_count(x->shape); n-- > 0; p += bytes) /* the least byte first */
        for (size_t k = 0; k < bytes; k++) fputc(p[reversed ? bytes - 1 - k : k], f);
    return at_file_close(x->tape, f, path);
}
