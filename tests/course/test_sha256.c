/* test_sha256.c -- HMAC-SHA256 by the vectors of RFC 4231. */
#include "sha256.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

/* HMAC of n times this byte, or of a text, in hexadecimal digits */
static const char *hmac(const void *key, size_t key_bytes, const void *text, size_t bytes)
{
    static char digits[2 * SHA256_BYTES + 1];
    uint8_t hash[SHA256_BYTES];
    sha256_hmac(key, key_bytes, text, bytes, hash);
    for (int k = 0; k < SHA256_BYTES; k++) snprintf(digits + 2 * k, 3, "%02x", hash[k]);
    return digits;
}

static const char *times(int byte, size_t n)
{
    static char text[2][200];
    static int next;
    char *here = text[next++ % 2];
    return memset(here, byte, n);
}

static const char *of_text(const char *key, size_t key_bytes, const char *text)
{
    return hmac(key, key_bytes, text, strlen(text));
}

START_TEST(short_keys_and_texts_are_those_of_rfc_4231)
{
    char counting[25];
    for (int k = 0; k < 25; k++) counting[k] = (char)(k + 1);
    ck_assert_str_eq(of_text(times(0x0b, 20), 20, "Hi There"),
                     "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    ck_assert_str_eq(of_text("Jefe", 4, "what do ya want for nothing?"),
                     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    ck_assert_str_eq(hmac(times(0xaa, 20), 20, times(0xdd, 50), 50),
                     "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    ck_assert_str_eq(hmac(counting, 25, times(0xcd, 50), 50),
                     "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
}
END_TEST

START_TEST(keys_longer_than_a_block_are_those_of_rfc_4231)
{
    ck_assert_str_eq(
        of_text(times(0xaa, 131), 131, "Test Using Larger Than Block-Size Key - Hash Key First"),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    ck_assert_str_eq(of_text(times(0xaa, 131), 131,
                             "This is a test using a larger than block-size key and a larger than "
                             "block-size data. The key needs to be hashed before being used by the "
                             "HMAC algorithm."),
                     "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}
END_TEST

START_TEST(a_number_changes_with_key_purpose_and_id)
{
    const uint64_t x = sha256_number("key", 3, "E8", "ada");
    ck_assert(x == sha256_number("key", 3, "E8", "ada") && x != 0);
    ck_assert(x != sha256_number("kez", 3, "E8", "ada"));
    ck_assert(x != sha256_number("key", 3, "E9", "ada"));
    ck_assert(x != sha256_number("key", 3, "E8", "adb"));
    ck_assert(sha256_number("key", 3, "E", "8ada") != sha256_number("key", 3, "E8", "ada"));
}
END_TEST

SUITE(course_sha256, short_keys_and_texts_are_those_of_rfc_4231,
      keys_longer_than_a_block_are_those_of_rfc_4231, a_number_changes_with_key_purpose_and_id)
