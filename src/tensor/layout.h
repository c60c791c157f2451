/* layout.h -- shapes and elements as ops see them: axes, broadcasting, values of any dtype. */
#ifndef AT_TENSOR_LAYOUT_H
#define AT_TENSOR_LAYOUT_H
#include "tensor/tensor.h"
AT_BEGIN_C

/* Can a tensor have this shape?  False if a dim is negative, ndim is not in 0 .. AT_MAX_DIMS, or
 * the bytes of its elements, 16 each, could not be addressed: every size that comes from outside
 * passes through here once, afterwards at_count is safe. */
AT_API bool at_shape_valid(at_shape s);

/* -1 is the last axis, -2 the one before.  Returns -1 when there is no such axis. */
AT_API int at_axis_of(at_shape s, int axis);

/* The index of element i, in memory order, of a tensor of shape s; zeros if there is no such
 * element. */
AT_API at_shape at_index_of(at_shape s, ptrdiff_t i);

/* NumPy's rule: align at the right; dims must be equal, or one of them 1 or absent.  False if the
 * shapes do not fit together, or out is NULL. */
AT_API bool at_broadcast(at_shape a, at_shape b, at_shape *out);
/* Can x be read as if it were of shape `out`? */
AT_API bool at_broadcasts_to(at_shape x, at_shape out);
/* Element strides with which a contiguous x of shape s is read as shape `out`: 0 where repeated.
 * stride[] has out.ndim entries.  Writes nothing unless at_broadcasts_to(s, out). */
AT_API void at_broadcast_strides(at_shape s, at_shape out, ptrdiff_t stride[AT_MAX_DIMS]);

AT_API size_t at_dtype_size(at_dtype d);
AT_API size_t at_bytes(const at_tensor *x); /* of its data; 0 for NULL */

/* f32, f64, dual, f16 or bf16?  f16 or bf16? */
static inline bool at_is_real(at_dtype d)
{
    return d == ATTIC_F32 || d == ATTIC_F64 || (d >= ATTIC_F16 && d <= ATTIC_DUAL);
}
static inline bool at_is_half(at_dtype d)
{
    return d == ATTIC_F16 || d == ATTIC_BF16;
}

/* Writes element i of an array of this dtype: rounded to the nearest real; cut to i32, beyond its
 * range the end of it, for NaN the least; != 0 for bool.  Nothing is written to data = NULL; NAN is
 * read from it. */
AT_API void at_store(at_dtype d, void *data, ptrdiff_t i, double value);
AT_API double at_fetch(at_dtype d, const void *data, ptrdiff_t i);
/* y_i = x_i for n elements: as at_store(to, y, i, at_fetch(from, x, i)), several times faster.  The
 * two arrays must not overlap.  Private to the library. */
void at_convert(at_dtype to, void *y, at_dtype from, const void *x, ptrdiff_t n);
/* Does at_store keep the value, but for rounding and cutting?  Not 1e300 in f32 or 65520 in f16,
 * where it would be infinite; not NaN or 3e9 in i32. */
AT_API bool at_can_hold(at_dtype d, double value);

/* The next of the buffers of at_shape_text, AT_TEXT_SIZE bytes: for texts made of such texts. */
#define AT_TEXT_SIZE 160
AT_API char *at_text_buffer(void);
/* A name from outside, a file say, as messages show it: n bytes, or n = -1 up to the 0 at its end.
 * Control characters, invisible ones and bytes that are no UTF-8 appear as \n, \x1B, \u202E, \xC3;
 * a name of more than 63 bytes lacks its middle, where "..." stands.  In such a buffer; "NULL" for
 * NULL. */
AT_API const char *at_shown(const char *name, ptrdiff_t n);

AT_END_C
#endif
