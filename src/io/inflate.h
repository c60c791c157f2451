/* inflate.h -- what deflate compressed (RFC 1951: ZIP, gzip, PNG), byte after byte.
 * Private to the library. */
#ifndef AT_IO_INFLATE_H
#define AT_IO_INFLATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    AT_INFLATE_RATIO = 1032, /* output bytes per input byte, at most: 258 from 2 bits */
    AT_INFLATE_WINDOW = 1 << 15,
    AT_INFLATE_FAST = 10 /* bits of a code that is found by one look into a table */
};

/* A prefix code.  count[l] codes have l bits; symbol: those that have a code, by length and value.
 * fast[the next 10 bits] = symbol << 4 | length, 0 if the code is longer or there is none. */
typedef struct {
    uint16_t count[16], symbol[288], fast[1 << AT_INFLATE_FAST];
} at_prefix_code;

typedef struct {
    FILE *file;
    ptrdiff_t unread; /* bytes of it that belong to the compressed data */
    uint64_t bits;    /* read and not used yet, the next one lowest */
    int n_bits;
    bool last, in_codes;          /* the block is the last; is compressed, and not at its end */
    int stored;                   /* bytes left of a block that is not compressed */
    int match, distance;          /* bytes left to copy, from how far back */
    size_t made;                  /* bytes of output */
    const char *why;              /* the first error, or NULL */
    at_prefix_code literal, away; /* bytes and lengths; distances */
    unsigned char window[AT_INFLATE_WINDOW];
} at_inflate;

/* From where file stands; n bytes of compressed data. */
void at_inflate_begin(at_inflate *z, FILE *file, ptrdiff_t n);
/* Exactly n bytes of output; false, with z->why, if there are fewer or the data is damaged. */
bool at_inflate_read(at_inflate *z, unsigned char *to, ptrdiff_t n);
/* Does the output end here, and with it the compressed data?  If not, z->why. */
bool at_inflate_end(at_inflate *z);

#endif
