/* shape.c -- the extents of a tensor; see shape.h. */
#include "tensor/layout.h"

#include <stdio.h>
#include <string.h>

bool at_shape_valid(at_shape s)
{
    if (s.ndim < 0 || s.ndim > AT_MAX_DIMS) return false;
    ptrdiff_t limit = PTRDIFF_MAX / 32; /* of 16 bytes each, with a margin for rounding up */
    ptrdiff_t n = 1;
    bool empty = false;
    for (int i = 0; i < s.ndim; i++) {
        if (s.dim[i] < 0) return false;
        if (s.dim[i] == 0)
            empty = true; /* and may have huge other dims */
        else if (__builtin_mul_overflow(n, (ptrdiff_t)s.dim[i], &n) || n > limit)
            n = limit + 1;
    }
    return empty || n <= limit;
}

ptrdiff_t at_count_between(at_shape s, int from, int to)
{
    size_t n = 1; /* as in at_count */
    for (int i = from < 0 ? 0 : from; i < to && i < AT_MAX_DIMS; i++) n *= (size_t)s.dim[i];
    return (ptrdiff_t)n;
}

int at_last(at_shape s)
{
    return s.ndim > 0 && s.ndim <= AT_MAX_DIMS ? s.dim[s.ndim - 1] : 1;
}

ptrdiff_t at_rows(at_shape s)
{
    return s.ndim > 0 ? at_count_between(s, 0, s.ndim - 1) : 1;
}

int at_axis_of(at_shape s, int axis)
{
    if (axis < 0 && s.ndim > 0) axis += s.ndim;
    return axis >= 0 && axis < s.ndim ? axis : -1;
}

at_shape at_index_of(at_shape s, ptrdiff_t i)
{
    at_shape index = {s.ndim, {0}};
    if (i < 0 || i >= at_count(s) || !at_shape_valid(s)) return index;
    for (int d = s.ndim - 1; d >= 0; i /= s.dim[d--]) index.dim[d] = (int)(i % s.dim[d]);
    return index;
}

bool at_broadcast(at_shape a, at_shape b, at_shape *out)
{
    if (!out || (unsigned)a.ndim > AT_MAX_DIMS || (unsigned)b.ndim > AT_MAX_DIMS) return false;
    if (at_same_shape(a, b)) return *out = a, true;
    at_shape r = {a.ndim > b.ndim ? a.ndim : b.ndim, {0}};
    for (int i = 1; i <= r.ndim; i++) {
        int m = i <= a.ndim ? a.dim[a.ndim - i] : 1;
        int n = i <= b.ndim ? b.dim[b.ndim - i] : 1;
        if (m != n && m != 1 && n != 1) return false;
        r.dim[r.ndim - i] = m == 1 ? n : m;
    }
    *out = r;
    return true;
}

bool at_broadcasts_to(at_shape x, at_shape out)
{
    at_shape both;
    return at_broadcast(x, out, &both) && at_same_shape(both, out);
}

void at_broadcast_strides(at_shape s, at_shape out, ptrdiff_t stride[AT_MAX_DIMS])
{
    size_t step = 1; /* as in at_count */
    if (!stride || !at_broadcasts_to(s, out)) return;
    for (int i = 1; i <= out.ndim; i++) {
        int n = i <= s.ndim ? s.dim[s.ndim - i] : 1;
        stride[out.ndim - i] = n == 1 ? 0 : (ptrdiff_t)step;
        step *= (size_t)n;
    }
}

/* Not inlined: where gcc sees the ring, it warns that a text may be made of itself. */
__attribute__((noinline)) char *at_text_buffer(void)
{
    static _Thread_local char ring[16][AT_TEXT_SIZE];
    static _Thread_local unsigned next;
    return ring[next++ % 16];
}

const char *at_shape_text(at_shape s)
{
    char *text = at_text_buffer();
    size_t at = 0;
    text[at++] = '[';
    for (int i = 0; i < s.ndim && i < AT_MAX_DIMS; i++)
        at += (size_t)snprintf(text + at, AT_TEXT_SIZE - at, i ? ",%d" : "%d", s.dim[i]);
    text[at++] = ']';
    text[at] = 0;
    return text;
}
