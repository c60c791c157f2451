/* utf8.h -- characters of a text in UTF-8: read, written, shown.  Private to the library.
 *
 * A text from outside (a name in a file, a path, a token) may hold anything.  On a terminal a
 * control character moves the cursor or renames the window, and an override of direction makes one
 * name look like another.  So messages, tables and pictures show such a text by at_show. */
#ifndef AT_SYSTEM_UTF8_H
#define AT_SYSTEM_UTF8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The character that the n >= 1 bytes at `text` begin with, and in *bytes how many of them it is;
 * -1 and one byte where they begin no valid character (RFC 3629: no overlong form, no surrogate,
 * nothing above U+10FFFF). */
static inline int32_t at_utf8(const void *text, ptrdiff_t n, int *bytes)
{
    const unsigned char *p = text;
    int more = p[0] < 0x80 ? 0 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
    *bytes = 1;
    if ((p[0] >= 0x80 && p[0] < 0xc2) || p[0] >= 0xf5 || more >= n) return -1;
    int32_t c = more ? p[0] & (0x3f >> more) : p[0];
    for (int k = 1; k <= more; k++) {
        if ((p[k] & 0xc0) != 0x80) return -1;
        c = c << 6 | (p[k] & 0x3f);
    }
    if ((more == 2 && c < 0x800) || (more == 3 && c < 0x10000)) return -1;
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return -1;
    *bytes = more + 1;
    return c;
}

/* How many of these bytes are UTF-8, from the first on: n if all are. */
static inline ptrdiff_t at_utf8_bytes(const char *text, ptrdiff_t n)
{
    ptrdiff_t i = 0;
    for (int bytes; i < n && at_utf8(text + i, n - i, &bytes) >= 0;) i += bytes;
    return i;
}

static inline bool at_is_utf8(const char *text)
{
    return !text[at_utf8_bytes(text, (ptrdiff_t)strlen(text))];
}

/* Does c have no ink of its own?  Control characters, spaces other than ' ', marks and overrides of
 * direction, characters of private use, what XML forbids. */
bool at_is_invisible(int32_t c);

/* Writes what is shown of the character that the n >= 1 bytes at `text` begin with, and to *bytes
 * how many of them it is.  What can be seen stays; else \n, \t, \x1B, \u202E; a byte that begins no
 * character is \xC3.  Returns the length of what was written. */
enum { AT_SHOWN_ONE = 12 };
int at_show_one(char to[AT_SHOWN_ONE], const char *text, ptrdiff_t n, int *bytes);
/* The same for all n bytes, in `size` >= 8 with the 0 at the end: what is too long lacks its
 * middle, where "..." stands instead. */
void at_show(char *to, size_t size, const char *text, ptrdiff_t n);

/* Writes character c to `to`, which has a place for 4 bytes; how many it needs. */
static inline int at_utf8_put(void *to, int32_t c)
{
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned char *p = to;
    *p++ = (unsigned char)(lead[more] | c >> 6 * more);
    for (int k = more - 1; k >= 0; k--) *p++ = (unsigned char)(0x80 | (c >> 6 * k & 0x3f));
    return more + 1;
}

#endif
