// cells.cpp -- what the library reads and writes of dual numbers without their type: here elements of a field.
//
// The linker puts these in place of the functions of the library (--wrap).  As a double, an element is what comparisons
// read.
#include "attic_prove.hpp"

extern "C" {
#include "attic_op.h"

double __real_at_fetch(at_dtype d, const void *data, ptrdiff_t i);
void __real_at_store(at_dtype d, void *data, ptrdiff_t i, double value);
void __real_at_convert(at_dtype to, void *y, at_dtype from, const void *x, ptrdiff_t n);

double __wrap_at_fetch(at_dtype d, const void *data, ptrdiff_t i)
{
    if (d != ATTIC_DUAL || !data) return __real_at_fetch(d, data, i);
    return double(order_of(static_cast<const attic_prove::number *>(data)[i]));
}

void __wrap_at_store(at_dtype d, void *data, ptrdiff_t i, double value)
{
    if (d == ATTIC_DUAL && data)
        static_cast<attic_prove::number *>(data)[i] = attic_prove::data(value);
    else
        __real_at_store(d, data, i, value);
}

void __wrap_at_convert(at_dtype to, void *y, at_dtype from, const void *x, ptrdiff_t n)
{
    if (to != ATTIC_DUAL && from != ATTIC_DUAL) return __real_at_convert(to, y, from, x, n);
    for (ptrdiff_t i = 0; i < n; i++) __wrap_at_store(to, y, i, __wrap_at_fetch(from, x, i));
}

double __wrap_at_element(const at_tensor *x, ptrdiff_t i)
{
    if (!x || i < 0 || i >= at_count(x->shape) || !x->data) return NAN;
    return __wrap_at_fetch(x->dtype, x->data, i);
}

double __wrap_at_grad_element(const at_tensor *x, ptrdiff_t i)
{
    if (!x || i < 0 || i >= at_count(x->shape)) return NAN;
    return x->grad ? __wrap_at_fetch(x->dtype, x->grad, i) : 0;
}

// A tangent of an element is always held.
bool __wrap_at_tangents_hold(at_node *, int) { return true; }
}
