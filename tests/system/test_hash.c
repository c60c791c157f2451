/* test_hash.c -- the hash of some bytes: its values are in files. */
#include "system/hash.h"

#include <string.h>

#include "test.h"

static uint64_t hash_of(const char *text)
{
    return at_hash(AT_HASH_BEGIN, text, strlen(text));
}

START_TEST(a_hash_is_that_which_its_authors_give)
{
    ck_assert_uint_eq(hash_of(""), 0xcbf29ce484222325u);
    ck_assert_uint_eq(hash_of("a"), 0xaf63dc4c8601ec8cu);
    ck_assert_uint_eq(hash_of("foobar"), 0x85944171f73967e8u);
    ck_assert_uint_eq(at_hash(AT_HASH_BEGIN, "\xff", 1), 0xaf64724c8602eb6eu);
}
END_TEST

START_TEST(a_hash_goes_on_with_more_bytes)
{
    ck_assert_uint_eq(at_hash(hash_of("foo"), "bar", 3), hash_of("foobar"));
    ck_assert_uint_eq(at_hash(hash_of("foo"), NULL, 0), hash_of("foo"));
}
END_TEST

SUITE(system_hash, a_hash_is_that_which_its_authors_give, a_hash_goes_on_with_more_bytes)
