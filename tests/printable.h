/* printable.h -- may a text be written to a terminal?  For tests and for the fuzzer. */
#ifndef ATTIC_TESTS_PRINTABLE_H
#define ATTIC_TESTS_PRINTABLE_H
#include <stdbool.h>
#include <string.h>

#include "system/utf8.h"

/* Valid UTF-8 without control characters, line separators, overrides of direction or characters that
 * take no place. */
static inline bool is_printable(const char *text)
{
    const ptrdiff_t n = (ptrdiff_t)strlen(text);
    for (ptrdiff_t i = 0; i < n;) {
        int bytes;
        const int32_t c = at_utf8(text + i, n - i, &bytes);
        const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
        const bool hidden = (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
                            (c >= 0x2060 && c <= 0x206f) || c == 0x61c || c == 0xfeff;
        if (control || hidden) return false; /* -1: no UTF-8 */
        i += bytes;
    }
    return true;
}

/* What a name in a file may be, and how it is shown: in part, where it is long. */
typedef struct {
    const char *name, *shown;
} hostile_name;
static const hostile_name hostile_names[] = {
    {"\x1b]0;title\x07", "\\x1B]0;title\\x07"},
    {"\x1b[2J\x1b[1;1H", "\\x1B[2J\\x1B[1;1H"},
    {"W\rattic: all is well\n", "W\\x0Dattic: all is well\\n"},
    {"\x7f\x08\x08x", "\\x7F\\x08\\x08x"},
    {"\xc2\x9b"
     "31m",
     "\\u009B31m"},
    {"\xe2\x80\xae"
     "gnp.W",
     "\\u202Egnp.W"},
    {"a\xe2\x81\xa6"
     "b\xe2\x80\x8b"
     "c",
     "a\\u2066b\\u200Bc"},
    {"\xef\xbb\xbfW", "\\uFEFFW"},
    {"\xc0\xaf\xff", "\\xC0\\xAF\\xFF"},
    {"\xed\xa0\x80", "\\xED\\xA0\\x80"},
    {"half \xe2\x82", "half \\xE2\\x82"},
};
enum { N_HOSTILE = sizeof hostile_names / sizeof *hostile_names };

#endif
