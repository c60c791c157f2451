/* source.c -- bytes of a file, and the numbers that they are; see source.h. */
#include "io/source.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "io/crc32.h"
#include "kernels/half.h"
#include "tensor/decimal.h"

bool at_source_fail(const at_source *s, const char *format, ...)
{
    char why[AT_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (!s->tensor) return at_fail(s->t, ATTIC_FILE_ERROR, "%s: %s: %s", s->format, s->path, why);
    return at_fail(s->t, ATTIC_FILE_ERROR, "%s: %s: tensor \"%s\": %s", s->format, s->path,
                   at_shown(s->tensor, -1), why);
}

bool at_source_read(at_source *s, void *to, ptrdiff_t bytes)
{
    errno = 0;
    bool whole = s->unread >= bytes;
    if (whole && s->z)
        whole = at_inflate_read(s->z, to, bytes);
    else if (whole)
        whole = fread(to, 1, (size_t)bytes, s->file) == (size_t)bytes;
    const char *why = errno ? strerror(errno) : s->z && s->z->why ? s->z->why : "it ends early";
    if (!whole) return at_source_fail(s, "%s", why);
    if (s->sums) s->crc = at_crc32(s->crc, to, (size_t)bytes);
    s->unread -= bytes;
    return true;
}

bool at_source_seek(at_source *s, ptrdiff_t to, ptrdiff_t bytes)
{
    s->unread = bytes;
    return fseeko(s->file, (off_t)to, SEEK_SET) == 0 || at_source_fail(s, "%s", strerror(errno));
}

bool at_host_is_big_endian(void)
{
    const uint16_t one = 1;
    return !*(const unsigned char *)&one;
}

const char *at_stored_text(const at_stored *e)
{
    static const char *const real[] = {"f8", "f16", "f32", "f64"},
                             *const integer[] = {"i8", "i16", "i32", "i64"},
                             *const natural[] = {"u8", "u16", "u32", "u64"};
    int k = e->bytes == 8 ? 3 : e->bytes / 2;
    if (e->kind == 'b') return "bool";
    if (e->kind == 'g') return "bf16";
    return e->kind == 'f' ? real[k] : e->kind == 'i' ? integer[k] : natural[k];
}

at_dtype at_stored_as(at_tape *t, const at_stored *e)
{
    return e->kind == 'b' ? ATTIC_BOOL : e->kind == 'i' || e->kind == 'u' ? ATTIC_I32 : at_real(t);
}

static double stored_element(const at_stored *e, const unsigned char *p)
{
    union {
        uint64_t bits;
        double number;
    } f8 = {0};
    for (int k = 0; k < e->bytes; k++)
        f8.bits = f8.bits << 8 | p[e->big_endian ? k : e->bytes - 1 - k];
    union {
        uint32_t bits;
        float number;
    } f4 = {(uint32_t)f8.bits << (e->kind == 'g' ? 16 : 0)};
    if (e->kind == 'b') return f8.bits != 0;
    if (e->kind == 'u') return (double)f8.bits;
    if (e->kind == 'i') { /* the highest bit counts negative */
        uint64_t sign = f8.bits & (uint64_t)1 << (8 * e->bytes - 1);
        return sign ? -(double)(sign - (f8.bits - sign)) : (double)f8.bits;
    }
    if (e->kind == 'f' && e->bytes == 2) return at_half_widen(false, (uint16_t)f8.bits);
    return e->bytes == 8 ? f8.number : (double)f4.number;
}

/* Where the next element belongs when the first index moves fastest. */
static ptrdiff_t next_in_fortran_order(at_shape s, int index[AT_MAX_DIMS])
{
    for (int axis = 0; axis < s.ndim && ++index[axis] == s.dim[axis]; axis++) index[axis] = 0;
    ptrdiff_t to = 0;
    for (int axis = 0; axis < s.ndim; axis++) to = to * s.dim[axis] + index[axis];
    return to;
}

bool at_is_stored_alike(const at_stored *e, at_dtype d)
{
    const char kind = d == ATTIC_I32 ? 'i' : d == ATTIC_BF16 ? 'g' : 'f';
    return d != ATTIC_BOOL && !e->fortran && e->big_endian == at_host_is_big_endian() &&
           e->kind == kind && (size_t)e->bytes == at_dtype_size(d);
}

static bool read_elements(at_source *s, const at_stored *e, at_tensor *x)
{
    if (at_is_stored_alike(e, x->dtype)) return at_source_read(s, x->data, at_stored_bytes(e));
    unsigned char block[AT_SOURCE_BLOCK] = {0};
    int index[AT_MAX_DIMS] = {0}, per_block = AT_SOURCE_BLOCK / e->bytes;
    ptrdiff_t n = at_count(e->shape), to = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t k = i % per_block, here = n - i < per_block ? n - i : per_block;
        if (k == 0 && !at_source_read(s, block, here * e->bytes)) return false;
        double value = stored_element(e, block + k * e->bytes);
        if (!at_can_hold(x->dtype, value))
            return at_source_fail(s, "element %td is %s, which %s cannot hold", to,
                                  at_short_text(value, 17), at_dtype_text(x->dtype));
        at_store(x->dtype, x->data, to, value);
        to = e->fortran ? next_in_fortran_order(e->shape, index) : i + 1;
    }
    return true;
}

/* Nothing may be left, and decompressed bytes must end where they should. */
static bool read_end(at_source *s)
{
    return !s->z || at_inflate_end(s->z) || at_source_fail(s, "%s", s->z->why);
}

at_tensor *at_source_load(at_source *s, const at_stored *e)
{
    at_tensor *x = at_blank(s->t, at_stored_as(s->t, e), e->shape);
    return x && read_elements(s, e, x) && read_end(s) ? x : NULL;
}

bool at_source_load_into(at_source *s, const at_stored *e, at_tensor *x)
{
    at_dtype d = at_stored_as(s->t, e);
    if (!at_same_shape(x->shape, e->shape) ||
        (x->dtype != d && !(at_is_real(d) && at_is_half(x->dtype))))
        return at_source_fail(s, "it holds %s %s, which %s %s cannot take", at_dtype_text(d),
                              at_shape_text(e->shape), at_dtype_text(x->dtype), at_text(x));
    at_written(x);
    return at_ok(s->t) && read_elements(s, e, x) && read_end(s);
}

ptrdiff_t at_elements_block(const at_tensor *x, ptrdiff_t from, unsigned char *block)
{
    const ptrdiff_t bytes = (ptrdiff_t)at_dtype_size(x->dtype),
                    left = (ptrdiff_t)at_bytes(x) - from;
    const ptrdiff_t n = left < AT_SOURCE_BLOCK ? left : AT_SOURCE_BLOCK;
    const unsigned char *p = (const unsigned char *)x->data + from;
    if (!at_host_is_big_endian()) memcpy(block, p, (size_t)n);
    for (ptrdiff_t i = 0; at_host_is_big_endian() && i < n; i++)
        block[i] = p[i / bytes * bytes + (bytes - 1 - i % bytes)];
    return n;
}

void at_elements_write(FILE *f, const at_tensor *x)
{
    unsigned char block[AT_SOURCE_BLOCK];
    for (ptrdiff_t at = 0, n; (n = at_elements_block(x, at, block)) > 0; at += n)
        fwrite(block, 1, (size_t)n, f);
}
