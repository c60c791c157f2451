/* json.h -- JSON whose form is known beforehand, so that its depth is, and nothing recurses.
 *
 *     at_json r = {&source, "its header", text, text, text + n};
 *     if (!at_json_took(&r, '{')) at_json_expects(&r, "an object");
 *     for (n = 0; (more = at_json_more(&r, n, '}')) > 0; n++)
 *         if (!(key = at_json_key(&r)) || !at_json_integer(&r, 99, &value)) ...
 *
 * Each function moves on, and says whether it found what it looked for.  What is wrong is a sticky
 * error of the source's tape that names the byte.  Private to the library. */
#ifndef AT_IO_JSON_H
#define AT_IO_JSON_H
#include "io/source.h"

typedef struct {
    at_source *source; /* for messages */
    const char *what;  /* "its header": what of the file is JSON */
    char *begin, *at, *end;
} at_json;

/* False, and the error: byte 17 of its header should be `expected`. */
bool at_json_expects(const at_json *r, const char *expected);
/* Skips spaces, then the character if it comes next. */
bool at_json_took(at_json *r, char c);
/* After n members of a list or object: does another one follow?  -1 after a sticky error. */
int at_json_more(at_json *r, int n, char close);
/* A string, decoded where it stands: no escape is shorter than what it stands for.  NULL after a
 * sticky error. */
char *at_json_string(at_json *r);
/* A key and its colon; then comes the value. */
char *at_json_key(at_json *r);
/* An integer of 0 .. limit, without a sign, a leading zero, a fraction or an exponent. */
bool at_json_integer(at_json *r, ptrdiff_t limit, ptrdiff_t *value);
/* Any number; one beyond the range of double is infinite. */
bool at_json_number(at_json *r, double *value);
/* Passes over a value of any form, whose lists and objects are at most 64 deep: it is well-formed
 * as far as brackets, strings and words go.  Nothing is decoded, and so it can be read later. */
bool at_json_skip(at_json *r);

#endif
