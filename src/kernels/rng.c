/* rng.c -- counter-based random numbers: Philox4x32-10, a pure function of counter and key.
 *
 *   (c0, c1, c2, c3)  the counter, four words of 32 bits        (k0, k1)  the key, two words
 *
 * One round multiplies two of the words to 64 bits, keeps both halves, and crosses them over:
 *
 *   c0' = hi(M1 c2) ^ c1 ^ k0         c1' = lo(M1 c2)
 *   c2' = hi(M0 c0) ^ c3 ^ k1         c3' = lo(M0 c0)
 *
 * and between rounds the key takes one step, k0 += W0, k1 += W1.  M0 and M1 are the paper's odd
 * multipliers, W0 the golden ratio and W1 sqrt(3) - 1, both as fractions of 2^32.  Every round is
 * invertible (the M are odd), so for one key different counters give different outputs; ten rounds
 * pass every test of BigCrush (Salmon et al. 2011, section 5).
 *
 * What the library makes of it:
 *
 *   key        k0 = low half of seed,   k1 = high half of seed
 *   counter    c0, c1 = low and high half of block      c2, c3 = low and high half of draw
 *
 *   word i     of a stream is word i mod 4 of block floor(i / 4)             at_random_u32
 *   unit i     is made of words 2i and 2i + 1                                at_random_unit
 *   normal i   is made of units i and i ^ 1, that is of all of block i / 2   at_random_normal
 *
 *   unit       u = (2 h + 1) / 2^53,  h = the first 52 of the 64 bits: exact, never 0, never 1,
 *              and as likely to be 1 - u as u
 *   normal     with u, v the even and the odd unit (Box and Muller 1958):
 *              r = sqrt(-2 log u),  the even normal is r cos(2 pi v), the odd one r sin(2 pi v);
 *              |normal| <= sqrt(-2 log 2^-53) = 8.57 */
#include "kernels/rng.h"
#include "kernels/elementary.h"

#include <math.h>

#define PHILOX_ROUNDS 10

static const uint32_t philox_M0 = 0xD2511F53, philox_M1 = 0xCD9E8D57;
static const uint32_t philox_W0 = 0x9E3779B9, philox_W1 = 0xBB67AE85;

void at_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    if (!counter || !key || !out) return;
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < PHILOX_ROUNDS; round++, k0 += philox_W0, k1 += philox_W1) {
        uint64_t p0 = (uint64_t)philox_M0 * c0, p1 = (uint64_t)philox_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1, c3 = (uint32_t)p0;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

static void random_block(at_stream s, uint64_t block, uint32_t word[4])
{
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)s.draw,
                                 (uint32_t)(s.draw >> 32)};
    const uint32_t key[2] = {(uint32_t)s.seed, (uint32_t)(s.seed >> 32)};
    at_philox4x32(counter, key, word);
}

/* RANDOM_BLOCKS blocks side by side, every word in a lane of 64 bits, as a product needs; the upper
 * half of a word is not read.  (gcc has vectors of such products with AVX-512DQ alone; elsewhere it
 * is faster block by block.) */
#if !defined(ATTIC_PLAIN_KERNELS) && (defined(__clang__) || defined(__AVX512DQ__))
enum { RANDOM_BLOCKS = 32 };

static void random_blocks(at_stream s, uint64_t block, uint32_t *word)
{
    const uint64_t low = 0xFFFFFFFF, M0 = philox_M0, M1 = philox_M1;
    uint64_t c0[RANDOM_BLOCKS], c1[RANDOM_BLOCKS], c2[RANDOM_BLOCKS], c3[RANDOM_BLOCKS];
    uint32_t k0 = (uint32_t)s.seed, k1 = (uint32_t)(s.seed >> 32);

    for (int l = 0; l < RANDOM_BLOCKS; l++) {
        c0[l] = block + (uint64_t)l, c1[l] = c0[l] >> 32;
        c2[l] = s.draw, c3[l] = s.draw >> 32;
    }
    for (int round = 0; round < PHILOX_ROUNDS; round++, k0 += philox_W0, k1 += philox_W1)
        for (int l = 0; l < RANDOM_BLOCKS; l++) {
            uint64_t p0 = M0 * (c0[l] & low), p1 = M1 * (c2[l] & low);
            c0[l] = p1 >> 32 ^ c1[l] ^ k0, c1[l] = p1;
            c2[l] = p0 >> 32 ^ c3[l] ^ k1, c3[l] = p0;
        }
    for (int l = 0; l < RANDOM_BLOCKS; l++, word += 4) {
        word[0] = (uint32_t)c0[l], word[1] = (uint32_t)c1[l];
        word[2] = (uint32_t)c2[l], word[3] = (uint32_t)c3[l];
    }
}
#else
enum { RANDOM_BLOCKS = 1 };
#define random_blocks random_block
#endif

static double unit_of_words(const uint32_t word[2])
{
    uint64_t h = ((uint64_t)word[1] << 32 | word[0]) >> 12;
    return (double)(2 * h + 1) * 0x1p-53;
}

uint32_t at_random_u32(at_stream s, uint64_t index)
{
    uint32_t word[4];
    random_block(s, index / 4, word);
    return word[index % 4];
}

void at_random_u32s(at_stream s, uint64_t first, ptrdiff_t n, uint32_t *out)
{
    ptrdiff_t i = out ? 0 : n;
    while (i < n && (first + (uint64_t)i) % 4) out[i] = at_random_u32(s, first + (uint64_t)i), i++;
    for (; n - i >= 4 * RANDOM_BLOCKS; i += 4 * RANDOM_BLOCKS)
        random_blocks(s, (first + (uint64_t)i) / 4, out + i);
    for (; n - i >= 4; i += 4) random_block(s, (first + (uint64_t)i) / 4, out + i);
    for (; i < n; i++) out[i] = at_random_u32(s, first + (uint64_t)i);
}

double at_random_unit(at_stream s, uint64_t index)
{
    uint32_t word[4];
    random_block(s, index / 2, word);
    return unit_of_words(word + 2 * (index % 2));
}

double at_random_normal(at_stream s, uint64_t index)
{
    const double pi = 3.14159265358979323846;
    uint32_t word[4];
    random_block(s, index / 2, word);
    double u = unit_of_words(word), v = unit_of_words(word + 2);
    double r = sqrt(-2 * at_f64_log(u)), angle = 2 * pi * v;
    return index % 2 ? r * at_f64_sin(angle) : r * at_f64_cos(angle);
}
