/* tensor.c -- elements of any dtype, read and written as doubles; see tensor.h. */
#include "tensor/layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/half.h"
#include "system/utf8.h"

size_t at_dtype_size(at_dtype d)
{
    static const size_t size[] = {0, sizeof(float), sizeof(double), sizeof(int32_t), 1, 2, 2, 16};
    return (size_t)d < sizeof size / sizeof *size ? size[d] : 0;
}

const char *at_dtype_text(at_dtype d)
{
    static const char *const text[] = {"real", "f32", "f64", "i32", "bool", "f16", "bf16", "dual"};
    return (size_t)d < sizeof text / sizeof *text ? text[d] : "?";
}

size_t at_bytes(const at_tensor *x)
{
    return x ? (size_t)at_count(x->shape) * at_dtype_size(x->dtype) : 0;
}

static inline __attribute__((always_inline)) double fetch_element(at_dtype d, const void *data,
                                                                  ptrdiff_t i)
{
    if (!data) return (double)NAN;
    switch (d) {
    case ATTIC_F64: return ((const double *)data)[i];
    case ATTIC_DUAL: return ((const double *)data)[2 * i];
    case ATTIC_F32: return (double)((const float *)data)[i];
    case ATTIC_I32: return ((const int32_t *)data)[i];
    case ATTIC_BOOL: return ((const unsigned char *)data)[i];
    case ATTIC_F16:
    case ATTIC_BF16: return at_half_widen(d == ATTIC_BF16, ((const uint16_t *)data)[i]);
    case ATTIC_REAL: break;
    }
    return 0;
}

static inline int32_t i32_of(double value)
{
    return value >= INT32_MAX ? INT32_MAX : value > INT32_MIN ? (int32_t)value : INT32_MIN;
}

static inline __attribute__((always_inline)) void store_element(at_dtype d, void *data, ptrdiff_t i,
                                                                double value)
{
    if (!data) return;
    switch (d) {
    case ATTIC_F64: ((double *)data)[i] = value; break;
    case ATTIC_DUAL: ((double *)data)[2 * i] = value, ((double *)data)[2 * i + 1] = 0; break;
    case ATTIC_F32: ((float *)data)[i] = (float)value; break;
    case ATTIC_I32: ((int32_t *)data)[i] = i32_of(value); break;
    case ATTIC_BOOL: ((unsigned char *)data)[i] = value != 0; break;
    case ATTIC_F16:
    case ATTIC_BF16: ((uint16_t *)data)[i] = at_half_narrow(d == ATTIC_BF16, value); break;
    case ATTIC_REAL: break;
    }
}

double at_fetch(at_dtype d, const void *data, ptrdiff_t i)
{
    return fetch_element(d, data, i);
}

void at_store(at_dtype d, void *data, ptrdiff_t i, double value)
{
    store_element(d, data, i, value);
}

/* Where a dtype is a constant its switch vanishes, and where both are the loop becomes vectors. */
static inline __attribute__((always_inline)) void convert_to(at_dtype to, void *y, at_dtype from,
                                                             const void *x, ptrdiff_t n)
{
    if (from == ATTIC_F32)
        for (ptrdiff_t i = 0; i < n; i++) store_element(to, y, i, fetch_element(ATTIC_F32, x, i));
    else if (from == ATTIC_F64)
        for (ptrdiff_t i = 0; i < n; i++) store_element(to, y, i, fetch_element(ATTIC_F64, x, i));
    else
        for (ptrdiff_t i = 0; i < n; i++) store_element(to, y, i, fetch_element(from, x, i));
}

void at_convert(at_dtype to, void *y, at_dtype from, const void *x, ptrdiff_t n)
{
    switch (to) {
    case ATTIC_F32: convert_to(ATTIC_F32, y, from, x, n); break;
    case ATTIC_F64: convert_to(ATTIC_F64, y, from, x, n); break;
    case ATTIC_DUAL: convert_to(ATTIC_DUAL, y, from, x, n); break;
    default: convert_to(to, y, from, x, n); break;
    }
}

bool at_can_hold(at_dtype d, double value)
{
    if (d == ATTIC_I32) return value >= INT32_MIN && value <= INT32_MAX;
    if (d == ATTIC_BOOL) return !isnan(value);
    const double limit = d == ATTIC_F32    ? 0x1.ffffffp127 /* half a step above the largest */
                         : d == ATTIC_BF16 ? 0x1.ffp127
                         : d == ATTIC_F16  ? 0x1.ffep15
                                           : (double)INFINITY;
    return !isfinite(value) || fabs(value) < limit;
}

static bool has_element(const at_tensor *x, ptrdiff_t i)
{
    return x && i >= 0 && i < at_count(x->shape);
}

double at_element(const at_tensor *x, ptrdiff_t i)
{
    return has_element(x, i) && at_has_data(x) ? at_fetch(x->dtype, x->data, i) : (double)NAN;
}

double at_grad_element(const at_tensor *x, ptrdiff_t i)
{
    if (!has_element(x, i)) return (double)NAN;
    return x->grad ? at_fetch(x->dtype, x->grad, i) : 0;
}

enum { SHOWN_NAME = 64 }; /* bytes: with a shape it fits into a buffer */

const char *at_shown(const char *name, ptrdiff_t n)
{
    if (!name) return "NULL";
    char *text = at_text_buffer();
    at_show(text, SHOWN_NAME, name, n < 0 ? (ptrdiff_t)strlen(name) : n);
    return text;
}

const char *at_text(const at_tensor *x)
{
    if (!x) return "NULL";
    if (!x->name) return at_shape_text(x->shape);
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE, "\"%s\" %s", at_shown(x->name, -1), at_shape_text(x->shape));
    return text;
}
