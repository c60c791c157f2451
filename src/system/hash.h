/* hash.h -- the hash of some bytes.  Private to the library.
 *
 * FNV-1a of Fowler, Noll and Vo, 64 bits.  Its values are written into files (the fingerprint of a
 * run's data), so they must stay what they are. */
#ifndef AT_SYSTEM_HASH_H
#define AT_SYSTEM_HASH_H
#include <stddef.h>
#include <stdint.h>

#define AT_HASH_BEGIN 14695981039346656037u /* the hash of no bytes */

/* The hash of the bytes that h is of, with n more: at_hash(at_hash(AT_HASH_BEGIN, p, 3), p + 3, 4)
 * is at_hash(AT_HASH_BEGIN, p, 7). */
static inline uint64_t at_hash(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

#endif
