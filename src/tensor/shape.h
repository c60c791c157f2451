/* shape.h -- the extents of a tensor: a value to pass, compare and return. */
#ifndef AT_TENSOR_SHAPE_H
#define AT_TENSOR_SHAPE_H
#include <stdbool.h>
#include <stddef.h>

#include "system/linkage.h"
AT_BEGIN_C

#define AT_MAX_DIMS 8

/* dim[0] varies slowest, dim[ndim-1] fastest.  ndim = 0 is a scalar with one element; a dim of 0
 * makes a tensor without elements, which is legal everywhere. */
typedef struct {
    int ndim, dim[AT_MAX_DIMS];
} at_shape;

/* at_shape_of(2, 3, 4) is [2,3,4]; at_shape_of() is [], a scalar.  Also used for lists of axes and
 * for an index, which are tuples of ints just the same.  (ISO C knows no empty braces.) */
#ifdef __cplusplus
extern "C++" template <typename... Int> inline at_shape at_shape_of(Int... dim)
{
    return at_shape{(int)sizeof...(dim), {(int)dim...}};
}
#else
#define at_shape_of(...)                                                                           \
    (__extension__(at_shape){(int)(sizeof((int[]){0, __VA_ARGS__}) / sizeof(int)) - 1,             \
                             {__VA_ARGS__}})
#endif

/* The number of elements. */
static inline ptrdiff_t at_count(at_shape s)
{
    size_t n = 1; /* of an empty tensor with huge other dims it may wrap, and ends at 0 */
    for (int i = 0; i < s.ndim && i < AT_MAX_DIMS; i++) n *= (size_t)s.dim[i];
    return (ptrdiff_t)n;
}

static inline bool at_same_shape(at_shape a, at_shape b)
{
    bool same = a.ndim == b.ndim;
    for (int i = 0; same && i < a.ndim && i < AT_MAX_DIMS; i++) same = a.dim[i] == b.dim[i];
    return same;
}

AT_API int at_last(at_shape s);       /* the last dim, 1 for a scalar */
AT_API ptrdiff_t at_rows(at_shape s); /* the product of all dims but the last */
/* The product of the dims in from .. to-1. */
AT_API ptrdiff_t at_count_between(at_shape s, int from, int to);

/* "[2,3,4]", in a buffer of this thread that lives for some 16 further calls. */
AT_API const char *at_shape_text(at_shape s);

AT_END_C
#endif
