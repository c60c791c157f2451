/* json.c -- JSON of a known form; see json.h. */
#include "io/json.h"

#include <stdlib.h>
#include <string.h>

#include "system/system.h"
#include "system/utf8.h"

bool at_json_expects(const at_json *r, const char *expected)
{
    return at_source_fail(r->source, "byte %td of %s should be %s", r->at - r->begin, r->what,
                          expected);
}

bool at_json_took(at_json *r, char c)
{
    while (r->at < r->end && *r->at && strchr(" \t\r\n", *r->at)) r->at++;
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

int at_json_more(at_json *r, int n, char close)
{
    if (at_json_took(r, close)) return 0;
    if (n == 0 || at_json_took(r, ',')) return 1;
    at_json_expects(r, close == '}' ? "a comma or }" : "a comma or ]");
    return -1;
}

/* u and four hexadecimal digits */
static bool json_unit(at_json *r, unsigned *unit)
{
    *unit = 0;
    if (r->end - r->at < 5 || *r->at != 'u') return at_json_expects(r, "an escape that JSON has");
    r->at++;
    for (const char *end = r->at + 4; r->at < end; r->at++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = *r->at ? strchr(digits, *r->at) : NULL;
        if (!digit) return at_json_expects(r, "a hexadecimal digit");
        *unit = 16 * *unit + (unsigned)(digit - digits < 16 ? digit - digits : digit - digits - 6);
    }
    return true;
}

/* What follows a backslash, as UTF-8.  Beyond 16 bits a character is two units, 0xd800 + its upper
 * and 0xdc00 + its lower 10 bits.  A zero byte would end the text. */
static bool json_escape(at_json *r, char **to)
{
    static const char letter[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    const char *known = r->at < r->end && *r->at ? strchr(letter, *r->at) : NULL;
    unsigned c, low = 0;
    if (known) {
        *(*to)++ = meaning[known - letter];
        r->at++;
        return true;
    }
    if (!json_unit(r, &c)) return false;
    if (c >= 0xd800 && c < 0xdc00) {
        if (r->at == r->end || *r->at++ != '\\' || !json_unit(r, &low)) low = 0;
        c = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : 0;
    }
    if (c == 0 || (c >= 0xd800 && c < 0xe000))
        return at_source_fail(r->source, "the escape before byte %td of %s stands for no character",
                              r->at - r->begin, r->what);
    *to += at_utf8_put(*to, (int32_t)c);
    return true;
}

char *at_json_string(at_json *r)
{
    if (!at_json_took(r, '"')) return at_json_expects(r, "a string"), NULL;
    char *const text = r->at, *to = text;
    while (r->at < r->end && *r->at != '"') {
        const char c = *r->at;
        if ((unsigned char)c < 32) return at_json_expects(r, "no control character"), NULL;
        r->at++;
        if (c != '\\')
            *to++ = c;
        else if (!json_escape(r, &to))
            return NULL;
    }
    if (r->at == r->end) return at_json_expects(r, "the end of a string"), NULL;
    r->at++;
    *to = 0;
    return text;
}

char *at_json_key(at_json *r)
{
    char *key = at_json_string(r);
    return key && (at_json_took(r, ':') || at_json_expects(r, "a colon")) ? key : NULL;
}

bool at_json_integer(at_json *r, ptrdiff_t limit, ptrdiff_t *value)
{
    *value = 0;
    at_json_took(r, 0);
    const char *first = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        const int digit = *r->at - '0';
        if (digit > limit || *value > (limit - digit) / 10)
            return at_source_fail(r->source, "a number at byte %td of %s is above %td",
                                  first - r->begin, r->what, limit);
        if (r->at > first && *first == '0') return at_json_expects(r, "no digit behind a zero");
        *value = 10 * *value + digit;
    }
    return r->at > first || at_json_expects(r, "an integer, 0 or more");
}

static ptrdiff_t json_digits(at_json *r)
{
    const char *first = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    return r->at - first;
}

/* strtod reads more than JSON has, so what JSON has is cut out first; the byte behind it, which is
 * a 0 meanwhile, is there even at the end of the text. */
bool at_json_number(at_json *r, double *value)
{
    *value = 0;
    at_json_took(r, 0);
    char *first = r->at;
    if (r->at < r->end && *r->at == '-') r->at++;
    const bool zero = r->at < r->end && *r->at == '0';
    const ptrdiff_t digits = json_digits(r);
    if (digits == 0) return at_json_expects(r, "a number");
    if (zero && digits > 1) return at_json_expects(r, "no digit behind a zero");
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        if (json_digits(r) == 0) return at_json_expects(r, "a digit");
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
        if (json_digits(r) == 0) return at_json_expects(r, "a digit");
    }
    const char behind = *r->at;
    *r->at = 0;
    void *locale = at_point_begin();
    *value = strtod(first, NULL);
    at_point_end(locale);
    *r->at = behind;
    return true;
}

/* Behind the opening quote: passes over the rest of a string. */
static bool json_skip_string(at_json *r)
{
    while (r->at < r->end && *r->at != '"') r->at += *r->at == '\\' && r->end - r->at > 1 ? 2 : 1;
    if (r->at == r->end) return at_json_expects(r, "the end of a string");
    r->at++;
    return true;
}

bool at_json_skip(at_json *r)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    uint64_t objects = 0; /* bit 0: is the innermost open bracket that of an object? */
    int depth = 0;
    do {
        bool list = at_json_took(r, '['), object = !list && at_json_took(r, '{');
        if (list || object) {
            if (++depth > 64) return at_json_expects(r, "less deep");
            objects = objects << 1 | object;
        } else if (at_json_took(r, ']') || at_json_took(r, '}')) {
            if (depth-- == 0 || (r->at[-1] == '}') != (objects & 1))
                return r->at--, at_json_expects(r, "a value");
            objects >>= 1;
        } else if (at_json_took(r, '"')) {
            if (!json_skip_string(r)) return false;
        } else if (depth && (at_json_took(r, ',') || at_json_took(r, ':'))) {
            continue;
        } else {
            const char *first = r->at;
            while (r->at < r->end && *r->at && strchr(word, *r->at)) r->at++;
            if (r->at == first) return at_json_expects(r, "a value");
        }
    } while (depth > 0);
    return true;
}
