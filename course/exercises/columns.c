/* columns.c -- text in columns; see columns.h. */
#include "columns.h"

#include <stdbool.h>
#include <string.h>

enum { COLUMNS = 100, NAMED = 5 };

/* Is this the first byte of a character? */
static bool begins_one(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

static int columns_within(const char *text, size_t bytes)
{
    int n = 0;
    for (size_t k = 0; k < bytes; k++) n += begins_one(text[k]);
    return n;
}

int columns_of(const char *text)
{
    return columns_within(text, strlen(text));
}

void print_name(FILE *f, const char *text, int width)
{
    const int n = columns_of(text), cut = n > width ? n - width + 3 : 0, from = (n - cut + 1) / 2;
    int k = -1; /* the character that this byte belongs to */
    for (; *text; text++) {
        k += begins_one(*text);
        if (cut && k == from && begins_one(*text)) fputs("...", f);
        if (k < from || k >= from + cut) fputc(*text, f);
    }
    fprintf(f, "%*s", n < width ? width - n : 0, "");
}

void print_wrapped(FILE *f, const char *text, int column, int indent)
{
    int blanks = 0;
    while (*text) {
        const size_t word = strcspn(text, " ");
        const int width = columns_within(text, word);
        if (column > indent && column + blanks + width > COLUMNS) {
            fprintf(f, "\n%*s", indent, "");
            column = indent;
        } else {
            fprintf(f, "%*s", blanks, "");
            column += blanks;
        }
        for (size_t k = 0; k < word; k++) {
            if (begins_one(text[k]) && column++ >= COLUMNS) { /* a word wider than a line */
                fprintf(f, "\n%*s", indent, "");
                column = indent + 1;
            }
            fputc(text[k], f);
        }
        text += word;
        blanks = (int)strspn(text, " ");
        text += blanks;
    }
    fprintf(f, "\n");
}

void print_names(FILE *f, const roster *names)
{
    for (int k = 0; k < names->n && k < NAMED; k++)
        fprintf(f, "%s%s", k ? ", " : "", roster_shown(names->line[k]));
    if (names->n > NAMED) fprintf(f, " and %d more", names->n - NAMED);
}
