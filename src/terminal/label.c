/* label.c -- text from outside made fit to be drawn; see label.h. */
#include "terminal/label.h"

#include <string.h>

#include "system/utf8.h"

/* The character at *text, which is moved behind it; -1 for a byte that begins no valid UTF-8. */
static int32_t next_character(const char **text)
{
    int bytes;
    int32_t c = at_utf8(*text, (ptrdiff_t)strnlen(*text, 3) + 1, &bytes); /* and the 0 at the end */
    *text += bytes;
    return c;
}

typedef struct {
    int32_t first, last;
} character_range;

static bool is_within(int32_t c, const character_range *range, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= range[i].first && c <= range[i].last) return true;
    return false;
}

/* East Asian and pictures: two columns of a terminal. */
static bool is_wide(int32_t c)
{
    static const character_range range[] = {
        {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
        {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};
    return is_within(c, range, sizeof range / sizeof *range);
}

/* The text for one character, the n bytes at raw; ends says that it is the first or last one. */
static void show_character(char to[AT_SHOWN_ONE], int32_t c, const char *raw, ptrdiff_t n,
                           bool ends, bool unicode)
{
    int bytes;
    if (c == ' ' && ends)
        strcpy(to, unicode ? "␣" : "_");
    else if ((c == '\n' || c == '\t') && unicode)
        strcpy(to, c == '\n' ? "↵" : "⇥");
    else if (c >= 0x300 && c <= 0x36f) /* it would change the character before it */
        snprintf(to, AT_SHOWN_ONE, "\\u%04X", (unsigned)c);
    else if (c >= 0x80 && !unicode && !at_is_invisible(c))
        strcpy(to, "?");
    else
        at_show_one(to, raw, n, &bytes);
}

void at_label_make(char to[AT_LABEL_SIZE], const char *from, int columns, bool unicode)
{
    const char *p = from ? from : "";
    size_t used = 0, fits = 0; /* fits: where an ellipsis could still go */
    int column = 0;
    to[0] = 0;
    while (*p) {
        const char *raw = p;
        char one[AT_SHOWN_ONE];
        int32_t c = next_character(&p);
        show_character(one, c, raw, p - raw, raw == from || !*p, unicode);
        column += at_label_columns(one);
        if (column > columns || used + strlen(one) + 4 > AT_LABEL_SIZE) {
            strcpy(to + fits, columns < 1 ? "" : unicode ? "…" : "~");
            return;
        }
        strcpy(to + used, one);
        used += strlen(one);
        if (column < columns) fits = used;
    }
}

int at_label_columns(const char *label)
{
    int columns = 0;
    while (*label) columns += is_wide(next_character(&label)) ? 2 : 1;
    return columns;
}

double at_label_em(const char *label)
{
    double em = 0;
    while (*label) {
        int32_t c = next_character(&label);
        bool ascii = c < 0x80, narrow = ascii && strchr("iljtfrI.,:;'|!() ", c);
        em += is_wide(c) ? 1 : narrow ? 0.32 : ascii && strchr("mwMW%@", c) ? 0.9 : 0.58;
    }
    return em;
}

int at_label_letters(const char *label)
{
    int n = 0;
    for (; *label; n++) next_character(&label);
    return n;
}

void at_label_put_letter(FILE *out, const char *label, int k, int columns)
{
    int used = 0;
    for (int i = 0; *label && i <= k; i++) {
        const char *raw = label;
        int width = is_wide(next_character(&label)) ? 2 : 1;
        if (i < k || width > columns) continue;
        fwrite(raw, 1, (size_t)(label - raw), out);
        used = width;
    }
    fprintf(out, "%*s", columns - used, "");
}

void at_label_put_xml(FILE *out, const char *label)
{
    for (; *label; label++) {
        switch (*label) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default: fputc(*label, out);
        }
    }
}
