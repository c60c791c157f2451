/* test_label.c -- whatever bytes a token has, it can be seen, measured and put into XML. */
#include "terminal/label.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

static const char *made(const char *from, int columns, bool unicode)
{
    static char label[AT_LABEL_SIZE];
    at_label_make(label, from, columns, unicode);
    return label;
}

START_TEST(what_can_be_seen_stays)
{
    ck_assert_str_eq(made("attention", 20, true), "attention");
    ck_assert_str_eq(made("the cat", 20, true), "the cat");
    ck_assert_str_eq(made("é√漢😀", 20, true), "é√漢😀");
    ck_assert_str_eq(made("", 20, true), "");
    ck_assert_str_eq(made(NULL, 20, true), "");
}
END_TEST

START_TEST(what_cannot_be_seen_is_made_visible)
{
    ck_assert_str_eq(made(" cat ", 20, true), "␣cat␣");
    ck_assert_str_eq(made(" ", 20, true), "␣");
    ck_assert_str_eq(made("a\nb\tc", 20, true), "a↵b⇥c");
    ck_assert_str_eq(made("\x07\x1b[0m\x7f", 20, true), "\\x07\\x1B[0m\\x7F");
    ck_assert_str_eq(made("\xe2\x80\x8b\xef\xbb\xbf", 20, true), "\\u200B\\uFEFF");
    ck_assert_str_eq(made("\xc2\x85", 20, true), "\\u0085");
}
END_TEST

START_TEST(broken_utf8_is_shown_byte_by_byte)
{
    ck_assert_str_eq(made("\xc3", 20, true), "\\xC3");          /* cut off */
    ck_assert_str_eq(made("\xe2\x82", 20, true), "\\xE2\\x82"); /* cut off */
    ck_assert_str_eq(made("\xa9z", 20, true), "\\xA9z");        /* no beginning */
    ck_assert_str_eq(made("\xc0\xaf", 20, true), "\\xC0\\xAF");
    ck_assert_str_eq(made("\xe0\x80\xaf", 20, true), "\\xE0\\x80\\xAF"); /* an overlong / */
    ck_assert_str_eq(made("\xed\xa0\x80", 30, true), "\\xED\\xA0\\x80"); /* half a surrogate pair */
    ck_assert_str_eq(made("\xf4\x90\x80\x80", 30, true),
                     "\\xF4\\x90\\x80\\x80"); /* beyond Unicode */
}
END_TEST

START_TEST(ascii_is_enough_if_it_must_be)
{
    ck_assert_str_eq(made(" é\n\t漢\x01", 20, false), "_?\\n\\t?\\x01");
    ck_assert_str_eq(made("attention", 5, false), "atte~");
}
END_TEST

START_TEST(what_is_too_long_ends_in_an_ellipsis)
{
    ck_assert_str_eq(made("attention", 9, true), "attention");
    ck_assert_str_eq(made("attention", 8, true), "attenti…");
    ck_assert_str_eq(made("attention", 1, true), "…");
    ck_assert_str_eq(made("attention", 0, true), "");
    ck_assert_str_eq(made("漢字漢字", 5, true), "漢字…"); /* two columns each */
    char long_name[1000];
    memset(long_name, 'x', 999);
    long_name[999] = 0;
    ck_assert_int_lt((int)strlen(made(long_name, 10000, true)), AT_LABEL_SIZE);
    for (int i = 0; i < 999; i += 2) long_name[i] = '\xff';
    ck_assert_int_lt((int)strlen(made(long_name, 10000, true)), AT_LABEL_SIZE);
}
END_TEST

START_TEST(labels_are_measured_in_columns_letters_and_em)
{
    ck_assert_int_eq(at_label_columns("cat"), 3);
    ck_assert_int_eq(at_label_columns("漢é"), 3);
    ck_assert_int_eq(at_label_letters("漢é"), 2);
    ck_assert(at_label_em("iii") < at_label_em("xxx") && at_label_em("xxx") < at_label_em("MMM"));
}
END_TEST

static void check_output(const char *expected, const char *label, int letter, int columns)
{
    char text[200] = "";
    FILE *f = fmemopen(text, sizeof text, "w");
    if (letter < -1)
        at_label_put_xml(f, label);
    else
        at_label_put_letter(f, label, letter, columns);
    fclose(f);
    ck_assert_str_eq(text, expected);
}

START_TEST(single_letters_are_written_over_their_column)
{
    check_output("b ", "ab", 1, 2);
    check_output("  ", "ab", 2, 2);
    check_output("  ", "ab", -1, 2);
    check_output("漢 ", "a漢", 1, 3);
    check_output(" ", "漢", 0, 1); /* too wide */
}
END_TEST

START_TEST(xml_is_escaped)
{
    check_output("&lt;a b=&quot;c&quot;&gt; &amp;amp; &#39;é&#39;", "<a b=\"c\"> &amp; 'é'", -2, 0);
}
END_TEST

SUITE(terminal_label, what_can_be_seen_stays, what_cannot_be_seen_is_made_visible,
      broken_utf8_is_shown_byte_by_byte, ascii_is_enough_if_it_must_be,
      what_is_too_long_ends_in_an_ellipsis, labels_are_measured_in_columns_letters_and_em,
      single_letters_are_written_over_their_column, xml_is_escaped)
