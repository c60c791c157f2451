/* utf8.c -- how a text from outside is shown; see utf8.h. */
#include "system/utf8.h"

#include <stdio.h>

bool at_is_invisible(int32_t c)
{
    static const struct {
        int32_t first, last;
    } range[] = {{0, 0x1f},        {0x7f, 0xa0},       {0xad, 0xad},     {0x61c, 0x61c},
                 {0x2000, 0x200f}, {0x2028, 0x202f},   {0x205f, 0x206f}, {0x3000, 0x3000},
                 {0xe000, 0xf8ff}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff}, {0xfff0, 0xfffb},
                 {0xfffe, 0xffff}, {0xe0000, 0x10ffff}};
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (c >= range[i].first && c <= range[i].last) return true;
    return false;
}

int at_show_one(char to[AT_SHOWN_ONE], const char *text, ptrdiff_t n, int *bytes)
{
    const int32_t c = at_utf8(text, n, bytes);
    if (c == '\n' || c == '\t') return snprintf(to, AT_SHOWN_ONE, c == '\n' ? "\\n" : "\\t");
    if (c < ' ' || c == 0x7f)
        return snprintf(to, AT_SHOWN_ONE, "\\x%02X", (unsigned)(unsigned char)*text);
    if (at_is_invisible(c)) return snprintf(to, AT_SHOWN_ONE, "\\u%04X", (unsigned)c);
    return snprintf(to, AT_SHOWN_ONE, "%.*s", *bytes, text);
}

/* The first half of what there is a place for, dots, the last half: both of whole characters. */
void at_show(char *to, size_t size, const char *text, ptrdiff_t n)
{
    char one[AT_SHOWN_ONE];
    const size_t half = (size - sizeof "...") / 2;
    size_t all = 0, at = 0, used = 0;
    int bytes, length;
    for (ptrdiff_t i = 0; i < n; i += bytes)
        all += (size_t)at_show_one(one, text + i, n - i, &bytes);
    bool dots = all < size; /* they are there, or not needed */
    for (ptrdiff_t i = 0; i < n; i += bytes, at += (size_t)length) {
        length = at_show_one(one, text + i, n - i, &bytes);
        if (all >= size && at + (size_t)length > half && at < all - half) {
            if (!dots) used += (size_t)snprintf(to + used, size - used, "...");
            dots = true;
            continue;
        }
        memcpy(to + used, one, (size_t)length);
        used += (size_t)length;
    }
    to[used] = 0;
}
