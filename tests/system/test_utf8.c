/* test_utf8.c -- a text from outside is shown so that it cannot do more than appear. */
#include "system/utf8.h"

#include <stdlib.h>

#include "printable.h"
#include "test.h"

static const char *shown_in(size_t size, const char *text, ptrdiff_t n)
{
    static char to[512];
    memset(to, 'x', sizeof to);
    at_show(to, size, text, n);
    ck_assert_uint_lt(strlen(to), size);
    ck_assert_int_eq(to[size], 'x');
    return to;
}

static const char *shown(const char *text)
{
    return shown_in(200, text, (ptrdiff_t)strlen(text));
}

START_TEST(what_can_be_seen_stays)
{
    static const char *const good[] = {
        "",         "block0.attention.q.W",  "C:\\data \"x\"", "Größe",
        "漢字 √ 😀", "re\xcc\x81sume\xcc\x81"};
    for (int i = 0; i < 6; i++) ck_assert_str_eq(shown(good[i]), good[i]);
}
END_TEST

START_TEST(what_cannot_be_seen_is_an_escape)
{
    for (int i = 0; i < N_HOSTILE; i++) {
        ck_assert(!is_printable(hostile_names[i].name));
        ck_assert_str_eq(shown(hostile_names[i].name), hostile_names[i].shown);
    }
    ck_assert_str_eq(shown_in(20, "a\0b\tc", 5), "a\\x00b\\tc");
}
END_TEST

START_TEST(what_was_shown_once_is_shown_again_as_it_is)
{
    for (int i = 0; i < N_HOSTILE; i++)
        ck_assert_str_eq(shown(hostile_names[i].shown), hostile_names[i].shown);
}
END_TEST

START_TEST(what_is_too_long_lacks_its_middle)
{
    ck_assert_str_eq(shown_in(12, "12345678901", 11), "12345678901");
    ck_assert_str_eq(shown_in(12, "123456789012", 12), "1234...9012");
    ck_assert_str_eq(shown_in(12, "ääääää", 12), "ää...ää");
    ck_assert_str_eq(shown_in(8, "\x1b\x1b", 2), "..."); /* no escape is cut */
}
END_TEST

/* Random bytes, half of them of UTF-8 that is whole, in every size. */
START_TEST(whatever_the_bytes_are_what_is_shown_is_printable)
{
    srandom(7);
    for (int i = 0; i < 20000; i++) {
        char text[60];
        int n = 0;
        while (n < 50) {
            bool whole = random() % 2;
            if (whole) n += at_utf8_put(text + n, (int32_t)(random() % 0xd800));
            if (!whole) text[n++] = (char)(random() % 256);
        }
        const char *s = shown_in(8 + (size_t)(random() % 200), text, n);
        ck_assert_msg(is_printable(s), "%s", s);
    }
}
END_TEST

SUITE(system_utf8, what_can_be_seen_stays, what_cannot_be_seen_is_an_escape,
      what_was_shown_once_is_shown_again_as_it_is, what_is_too_long_lacks_its_middle,
      whatever_the_bytes_are_what_is_shown_is_printable)
