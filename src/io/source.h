/* source.h -- where the bytes of a tensor come from, and how numbers are made of them.
 *
 * A source is an open file of which some bytes may be read, as they stand or decompressed.  What
 * goes wrong is an error of its tape that names format, file and tensor.  Private to src/io. */
#ifndef AT_IO_SOURCE_H
#define AT_IO_SOURCE_H
#include <stdio.h>

#include "autograd/op.h"
#include "io/inflate.h"

enum { AT_SOURCE_BLOCK = 1 << 13 }; /* a multiple of every element size */

typedef struct {
    at_tape *t;
    const char *format, *path; /* "npy", and the file: for messages */
    const char *tensor;        /* its name, or NULL where the file is one tensor */
    FILE *file;
    ptrdiff_t unread; /* bytes of output that may still be read */
    at_inflate *z;    /* what decompresses them; NULL: they stand in the file */
    uint32_t crc;     /* of what was read, if sums */
    bool sums;
} at_source;

/* How a tensor is stored. */
typedef struct {
    at_shape shape;
    char kind; /* 'f' float, 'g' the upper half of a 4-byte float, 'i' 'u' integer, 'b' bool */
    int bytes; /* of an element */
    bool big_endian, fortran;
} at_stored;

/* "npz: PATH: tensor "W": " and what happened, as a sticky error of kind ATTIC_FILE_ERROR. */
AT_PRINTF(2, 3) bool at_source_fail(const at_source *s, const char *format, ...);
bool at_source_read(at_source *s, void *to, ptrdiff_t bytes);
/* Goes to this byte of the file; so many from there on may be read. */
bool at_source_seek(at_source *s, ptrdiff_t to, ptrdiff_t bytes);

bool at_host_is_big_endian(void);
const char *at_stored_text(const at_stored *e); /* "bf16" */
at_dtype at_stored_as(at_tape *t, const at_stored *e);
/* Are the bytes of a tensor of dtype d those of the file? */
bool at_is_stored_alike(const at_stored *e, at_dtype d);
static inline ptrdiff_t at_stored_bytes(const at_stored *e)
{
    return at_count(e->shape) * e->bytes; /* at_shape_valid keeps room for 8 of them */
}

/* Reads all elements: into a new constant; into x, whose shape and kind of dtype must be those (an
 * f16 or bf16 is a real as well). */
at_tensor *at_source_load(at_source *s, const at_stored *e);
bool at_source_load_into(at_source *s, const at_stored *e, at_tensor *x);
/* Reads the header of a .npy file, as far as the elements, for which exactly the rest is left. */
bool at_npy_header(at_source *s, at_stored *e);
/* The bytes of x's elements from this byte on, least byte first: at most AT_SOURCE_BLOCK, 0 at the
 * end.  And all of them, to a file. */
ptrdiff_t at_elements_block(const at_tensor *x, ptrdiff_t from, unsigned char *block);
void at_elements_write(FILE *f, const at_tensor *x);

#endif
