/* sha256.c -- SHA-256 and HMAC; see sha256.h. */
#include "sha256.h"

#include <string.h>

enum { BLOCK = 64 };

/* The first 32 bits behind the point of the cube roots of the first 64 primes */
static const uint32_t sha256_K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

typedef struct {
    uint32_t h[8];
    uint8_t block[BLOCK];
    uint64_t bytes; /* so far; the last bytes % 64 of them wait in block */
} sha256;

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void sha256_block(sha256 *s)
{
    uint32_t w[64], x[8];
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)s->block[4 * t] << 24 | (uint32_t)s->block[4 * t + 1] << 16 |
               (uint32_t)s->block[4 * t + 2] << 8 | s->block[4 * t + 3];
    for (int t = 16; t < 64; t++)
        w[t] = w[t - 16] + (rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3) +
               w[t - 7] + (rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10);
    memcpy(x, s->h, sizeof x);
    for (int t = 0; t < 64; t++) { /* x: a b c d e f g h */
        const uint32_t choice = (x[4] & x[5]) ^ (~x[4] & x[6]),
                       majority = (x[0] & x[1]) ^ (x[0] & x[2]) ^ (x[1] & x[2]),
                       T1 = x[7] + (rotate(x[4], 6) ^ rotate(x[4], 11) ^ rotate(x[4], 25)) +
                            choice + sha256_K[t] + w[t],
                       T2 = (rotate(x[0], 2) ^ rotate(x[0], 13) ^ rotate(x[0], 22)) + majority;
        memmove(x + 1, x, 7 * sizeof *x);
        x[4] += T1;
        x[0] = T1 + T2;
    }
    for (int k = 0; k < 8; k++) s->h[k] += x[k];
}

static sha256 sha256_open(void)
{
    return (sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                          0x1f83d9ab, 0x5be0cd19}};
}

static void sha256_add(sha256 *s, const void *text, size_t n)
{
    for (const uint8_t *from = text; n > 0; n--) {
        s->block[s->bytes++ % BLOCK] = *from++;
        if (s->bytes % BLOCK == 0) sha256_block(s);
    }
}

static void sha256_close(sha256 *s, uint8_t to[SHA256_BYTES])
{
    uint8_t bits[8];
    for (int k = 0; k < 8; k++) bits[k] = (uint8_t)(8 * s->bytes >> (56 - 8 * k));
    sha256_add(s, "\x80", 1);
    while (s->bytes % BLOCK != BLOCK - sizeof bits) sha256_add(s, "", 1);
    sha256_add(s, bits, sizeof bits);
    for (int k = 0; k < SHA256_BYTES; k++) to[k] = (uint8_t)(s->h[k / 4] >> (24 - 8 * (k % 4)));
}

/* SHA-256((key ^ pad) text) */
static void sha256_keyed(const uint8_t key[BLOCK], uint8_t pad, const void *text, size_t n,
                         uint8_t to[SHA256_BYTES])
{
    sha256 s = sha256_open();
    uint8_t padded[BLOCK];
    for (int k = 0; k < BLOCK; k++) padded[k] = key[k] ^ pad;
    sha256_add(&s, padded, BLOCK);
    sha256_add(&s, text, n);
    sha256_close(&s, to);
}

void sha256_hmac(const void *key, size_t key_bytes, const void *text, size_t bytes,
                 uint8_t to[SHA256_BYTES])
{
    uint8_t block[BLOCK] = {0}, inner[SHA256_BYTES];
    if (key_bytes > BLOCK) {
        sha256 s = sha256_open();
        sha256_add(&s, key, key_bytes);
        sha256_close(&s, block);
    } else
        memcpy(block, key, key_bytes);
    sha256_keyed(block, 0x36, text, bytes, inner);
    sha256_keyed(block, 0x5c, inner, sizeof inner, to);
}

uint64_t sha256_number(const void *key, size_t key_bytes, const char *what, const char *id)
{
    char text[1024] = "";
    uint8_t hash[SHA256_BYTES];
    const size_t n = strlen(what) + 1, left = sizeof text - n, length = strlen(id);
    memcpy(text, what, n);
    memcpy(text + n, id, length < left ? length : left);
    sha256_hmac(key, key_bytes, text, n + (length < left ? length : left), hash);
    uint64_t number = 0;
    for (int k = 0; k < 8; k++) number = number << 8 | hash[k];
    return number ? number : 1;
}
