/* crc32.c -- the checksum of ZIP; see crc32.h.
 *
 * The bytes, as one long polynomial over the two numbers 0 and 1 with the lowest bit of the first
 * byte as its highest coefficient, times x^32, modulo
 *
 *     x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1
 *
 * which is 0xedb88320 when the coefficient of x^31 is bit 0.  The first 32 bits and the remainder
 * are inverted, so that zeros in front or behind show.
 *
 * after[k][b] is the remainder of byte b with k bytes of zeros behind it.  Remainders of a sum are
 * sums (exclusive or) of remainders: so four bytes are done at once (Kounavis, Berry 2005). */
#include "io/crc32.h"

uint32_t at_crc32(uint32_t crc, const void *bytes, size_t n)
{
    uint32_t after[4][256];
    for (uint32_t b = 0; b < 256; b++) {
        after[0][b] = b;
        for (int bit = 0; bit < 8; bit++)
            after[0][b] = after[0][b] >> 1 ^ (after[0][b] & 1 ? 0xedb88320u : 0);
    }
    for (int k = 1; k < 4; k++)
        for (uint32_t b = 0; b < 256; b++)
            after[k][b] = after[k - 1][b] >> 8 ^ after[0][after[k - 1][b] & 255];

    const unsigned char *p = bytes;
    crc = ~crc;
    for (; n >= 4; n -= 4, p += 4) {
        crc ^= p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = after[3][crc & 255] ^ after[2][crc >> 8 & 255] ^ after[1][crc >> 16 & 255] ^
              after[0][crc >> 24];
    }
    for (; n > 0; n--) crc = crc >> 8 ^ after[0][(crc ^ *p++) & 255];
    return ~crc;
}
