/* roster.c -- who takes part in a course, and its key; see roster.h. */
#include "roster.h"
#include "sha256.h"
#include "system/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 400, LONGEST_ID = 120 };

static void roster_fail(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    exit(2);
}

const char *roster_shown(const char *text)
{
    static char to[4][SHOWN];
    static int next;
    char *here = to[next++ % 4];
    at_show(here, SHOWN, text, (ptrdiff_t)strlen(text));
    return here;
}

const char *roster_cell(const char *text)
{
    static char to[4][2 * SHOWN + 4];
    static int next;
    char *here = to[next++ % 4], *end = here;
    *end++ = '"';
    for (const char *from = roster_shown(text); *from; *end++ = *from++)
        if (*from == '"') *end++ = '"';
    memcpy(end, "\"", 2);
    return here;
}

/* The cell from begin to end, without its quotes */
static char *unquote(char *begin, char *end)
{
    *end = 0;
    begin += strspn(begin, " ");
    char *to = begin;
    const bool quoted = *begin == '"';
    for (char *from = begin + quoted; *from; from++) {
        if (quoted && *from == '"' && *++from != '"') break;
        *to++ = *from;
    }
    *to = 0;
    return begin;
}

/* The last separators of a line, at most so many, that are not in quotes */
static int find_separators(char *line, char separator, int most, char **at)
{
    bool begins = true, opened = false; /* a cell begins; it began with a quote */
    bool quoted = false;                /* p is within quotes */
    int n = 0;
    for (char *p = line; *p; p++)
        if (*p == separator && !quoted) {
            if (n == most)
                memmove(at, at + 1, (size_t)(n - 1) * sizeof *at);
            else
                n++;
            at[n - 1] = p;
            begins = true, opened = false;
        } else {
            if (*p == '"' && (begins || opened)) opened = true, quoted = !quoted;
            begins = begins && *p == ' ';
        }
    return n;
}

int roster_cells(char *line, char separator, int least, int most, char **cell)
{
    const int n = find_separators(line, separator, most - 1, cell) + 1;
    char *end = line + strlen(line);
    if (n < least) return 0;
    for (int k = n - 1; k > 0; k--) {
        char *before = cell[k - 1];
        cell[k] = unquote(before + 1, end);
        end = before;
    }
    cell[0] = unquote(line, end);
    return n;
}

bool roster_readable(const char *id)
{
    const unsigned char c = (unsigned char)id[0];
    const bool begins = c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    return begins && strlen(id) <= LONGEST_ID && !strchr(id, '/') && !strchr(id, '\\') &&
           strcmp(roster_shown(id), id) == 0;
}

/* ------------------------------------------------------------------ lists --------------------- */

void roster_add(roster *r, const char *line)
{
    char **more = realloc(r->line, (size_t)(r->n + 1) * sizeof *more), *copy = strdup(line);
    if (!more || !copy) roster_fail("a list", "no memory");
    r->line = more;
    r->line[r->n++] = copy;
}

roster roster_read(const char *path)
{
    roster r = {.n = 0};
    char line[4096];
    FILE *f = fopen(path, "r");
    if (!f) roster_fail(path, strerror(errno));
    while (fgets(line, sizeof line, f)) {
        static const char mark[] =
            "\xef\xbb\xbf"; /* with which some editors begin a text in UTF-8 */
        char *begin = line;
        if (r.n == 0 && strncmp(begin, mark, 3) == 0) begin += 3;
        begin += strspn(begin, " \t\r\n");
        size_t n = strlen(begin);
        while (n > 0 && strchr(" \t\r\n", begin[n - 1])) begin[--n] = 0;
        if (n > 0 && *begin != '#') roster_add(&r, begin);
    }
    if (ferror(f)) roster_fail(path, strerror(errno));
    fclose(f);
    return r;
}

roster roster_read_ids(const char *path)
{
    roster all = roster_read(path), ids = {.n = 0};
    for (int k = 0; k < all.n; k++)
        if (k > 0 || strcasecmp(all.line[0], "id") != 0) roster_add(&ids, all.line[k]);
    roster_close(&all);
    return ids;
}

int roster_find(const roster *r, const char *line)
{
    for (int k = 0; k < r->n; k++)
        if (strcmp(r->line[k], line) == 0) return k;
    return -1;
}

static int compare_lines(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

void roster_sort(roster *r)
{
    int n = 0;
    if (r->n > 0) qsort(r->line, (size_t)r->n, sizeof *r->line, compare_lines);
    for (int k = 0; k < r->n; k++)
        if (n > 0 && strcmp(r->line[n - 1], r->line[k]) == 0)
            free(r->line[k]);
        else
            r->line[n++] = r->line[k];
    r->n = n;
}

void roster_close(roster *r)
{
    for (int k = 0; k < r->n; k++) free(r->line[k]);
    free(r->line);
    *r = (roster){.n = 0};
}

/* ------------------------------------------------------------------ the key ------------------- */

course_key course_key_read(const char *path)
{
    course_key key = {.n = 0};
    FILE *f = fopen(path, "rb");
    if (!f) roster_fail(path, strerror(errno));
    key.n = fread(key.bytes, 1, sizeof key.bytes, f);
    fclose(f);
    if (key.n == sizeof key.bytes) roster_fail(path, "a key has less than a kilobyte");
    while (key.n > 0 && strchr(" \t\r\n", key.bytes[key.n - 1])) key.n--;
    if (key.n < 16) roster_fail(path, "a key has at least 16 bytes");
    return key;
}

uint64_t course_key_number(const course_key *key, const char *what, const char *id)
{
    return sha256_number(key->bytes, key->n, what, id);
}
