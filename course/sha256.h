/* sha256.h -- numbers that only who has the key can know: HMAC-SHA256.
 *
 *     SHA-256(text)          32 bytes, FIPS 180-4
 *     HMAC(key, text) = SHA-256((key ^ 5c5c...) SHA-256((key ^ 3636...) text)),  RFC 2104
 *
 * A course has a key; what a student is given is drawn from HMAC(key, id). */
#ifndef COURSE_SHA256_H
#define COURSE_SHA256_H
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

void sha256_hmac(const void *key, size_t key_bytes, const void *text, size_t bytes,
                 uint8_t to[SHA256_BYTES]);

/* The first 8 bytes of HMAC(key, what, a 0, id), as a number that is not 0; what: "worksheet". */
uint64_t sha256_number(const void *key, size_t key_bytes, const char *what, const char *id);
#endif
