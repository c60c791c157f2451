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
 * crc_after[k][b] is the remainder of byte b with k bytes of zeros behind it.  Remainders of a sum
 * are sums (exclusive or) of remainders: so 16 bytes are done at once (Kounavis, Berry 2005). */
#include "io/crc32.h"

enum { CRC_STEP = 16 };
static _Thread_local uint32_t crc_after[CRC_STEP][256]; /* made by the first sum of a thread */

static void make_remainders(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        crc_after[0][b] = b;
        for (int bit = 0; bit < 8; bit++)
            crc_after[0][b] = crc_after[0][b] >> 1 ^ (crc_after[0][b] & 1 ? 0xedb88320u : 0);
    }
    for (int k = 1; k < CRC_STEP; k++)
        for (uint32_t b = 0; b < 256; b++)
            crc_after[k][b] = crc_after[k - 1][b] >> 8 ^ crc_after[0][crc_after[k - 1][b] & 255];
}

uint32_t at_crc32(uint32_t crc, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    if (!crc_after[0][1]) make_remainders();
    crc = ~crc;
    for (; n >= CRC_STEP; n -= CRC_STEP, p += CRC_STEP) {
        uint32_t sum = 0;
        for (int k = 0; k < CRC_STEP; k++)
            sum ^= crc_after[CRC_STEP - 1 - k][p[k] ^ (k < 4 ? crc >> 8 * k & 255 : 0)];
        crc = sum;
    }
    for (; n > 0; n--) crc = crc >> 8 ^ crc_after[0][(crc ^ *p++) & 255];
    return ~crc;
}
