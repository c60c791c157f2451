/* test_crc32.c -- the checksum of ZIP. */
#include "io/crc32.h"

#include "test.h"

START_TEST(known_texts_have_their_known_checksums)
{
    ck_assert_uint_eq(at_crc32(0, "", 0), 0);
    ck_assert_uint_eq(at_crc32(0, "123456789", 9),
                      0xcbf43926); /* the check value of the standard */
    ck_assert_uint_eq(at_crc32(0, "\0\0\0\0", 4), 0x2144df1c);
    ck_assert_uint_eq(at_crc32(0, "The quick brown fox jumps over the lazy dog", 43), 0x414fa339);
}
END_TEST

START_TEST(bytes_in_two_parts_have_the_checksum_of_all)
{
    const char text[] = "The quick brown fox jumps over the lazy dog";
    for (size_t n = 0; n <= 43; n++)
        ck_assert_uint_eq(at_crc32(at_crc32(0, text, n), text + n, 43 - n), 0x414fa339);
}
END_TEST

SUITE(io_crc32, known_texts_have_their_known_checksums, bytes_in_two_parts_have_the_checksum_of_all)
