/* decimal.c -- a number as decimal digits; see decimal.h.
 *
 * printf rounds correctly and strtod reads correctly, so the shortest decimal that reads back is
 * found by trying: one digit, two digits, ...  If any decimal of p digits reads back as x, then one
 * of the two that enclose x does, mostly the nearer.  Only at a power of two, where the numbers
 * below are twice as close as those above, may the nearer one fail (it is below) and the other not.
 *
 * A locale may write the decimal point as some other text.  printf and strtod agree about it here,
 * and nothing that leaves this file contains it. */
#include "tensor/decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "-1.25e-07" in whatever locale: digits 125, exponent -7 */
static at_decimal parse_exponential(const char *text)
{
    at_decimal d = {.negative = *text == '-'};
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9') d.digit[d.n++] = *text;
    d.exponent = *text ? (int)strtol(text + 1, NULL, 10) : 0;
    return d;
}

/* "-1.29e-07" becomes "-1.30e-07", one unit of the last digit away from zero.  False for all 9s. */
static bool step_outwards(char *text)
{
    for (char *p = strchr(text, 'e'); p-- > text;) {
        if (*p < '0' || *p > '9') continue;
        if (*p < '9') {
            ++*p;
            return true;
        }
        *p = '0';
    }
    return false;
}

static bool reads_back(at_dtype real, const char *text, double x)
{
    double read = strtod(text, NULL);
    if (real == ATTIC_F32) read = (double)strtof(text, NULL);
    if (at_is_half(real)) at_store(real, &read, 0, read), read = at_fetch(real, &read, 0);
    return read == x;
}

at_decimal at_decimal_of(at_dtype real, double x, int min_digits, int max_digits)
{
    char text[64];
    if (x == 0) return (at_decimal){.negative = signbit(x), .n = 1, .digit = "0"};
    for (int p = min_digits < 1 ? 1 : min_digits; p < max_digits; p++) {
        snprintf(text, sizeof text, "%.*e", p - 1, x);
        if (reads_back(real, text, x)) return parse_exponential(text);
        if (step_outwards(text) && reads_back(real, text, x)) return parse_exponential(text);
    }
    snprintf(text, sizeof text, "%.*e", max_digits - 1, x);
    return parse_exponential(text);
}

/* Whatever stands for the decimal point becomes one. */
static const char *with_plain_point(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (strchr("0123456789+-einfa", *from))
            *to++ = *from;
        else if (to == text || to[-1] != '.')
            *to++ = '.';
    }
    *to = 0;
    return text;
}

const char *at_fixed_text(double x, int decimals)
{
    if (!(fabs(x) < 1e15)) return at_short_text(x, 17);
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE, "%.*f", decimals, x);
    if (*text == '-' && !strpbrk(text, "123456789")) return with_plain_point(text + 1);
    return with_plain_point(text);
}

const char *at_short_text(double x, int significant)
{
    char *text = at_text_buffer();
    if (isnan(x)) x = (double)NAN; /* printf would show its sign */
    snprintf(text, AT_TEXT_SIZE, "%.*g", significant, x);
    return with_plain_point(text);
}

bool at_same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}
