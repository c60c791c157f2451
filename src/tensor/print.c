/* print.c -- a tensor as text, in NumPy's layout; see print.h.
 *
 *     [[ 1.    -0.5    nan]         brackets nested by dimension
 *      [10.     0.125  inf]]        one common format: here 2 columns before the point, 3 after it
 *
 * Every element that will be seen is measured first, then all are written in the common format:
 *
 *   positional     digits down to 10^-8, as many as each element needs, the points aligned
 *   exponential    when the largest is >= 1e8, or the smallest (zeros apart) is < 1e-4, or they are
 *                  more than a factor of 1000 apart: equally many digits for all, at most 9
 *
 * "As many as it needs" are the fewest that read back as the same number; see decimal.h. */
#include "tensor/print.h"

#include <math.h>
#include <string.h>

#include "tensor/decimal.h"

enum {
    PRINT_COLUMNS = 75,
    PRINT_WHOLE = 1000, /* elements; a larger tensor is summarised */
    PRINT_EDGE = 3,     /* what is then seen at either end of an axis */
    PRINT_DECIMALS = 8,
    PRINT_WORD = 64 /* bytes of the longest element */
};

typedef struct {
    FILE *out;
    at_dtype dtype;
    at_shape shape;
    const void *data;
    bool cut; /* summarised */

    /* the common format */
    double smallest, largest; /* of the finite, but for 0 */
    bool exponential;
    int digits, exponent;   /* if so: digits of an element and of its exponent */
    int left, right, other; /* columns up to the point, from there on; of nan and inf */

    int used, due; /* columns of the line so far; spaces before its next word */
} at_printer;

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* ------------------------------------------------------------------ what will be seen ---------- */

/* The index shown after i: i + 1, or beyond the gap. */
static int next_shown(const at_printer *p, int axis, int i)
{
    int n = p->shape.dim[axis];
    return p->cut && n > 2 * PRINT_EDGE && i == PRINT_EDGE - 1 ? n - PRINT_EDGE : i + 1;
}

static void each_shown(at_printer *p, int axis, ptrdiff_t offset,
                       void (*visit)(at_printer *, double))
{
    if (axis == p->shape.ndim) {
        visit(p, at_fetch(p->dtype, p->data, offset));
        return;
    }
    int n = p->shape.dim[axis];
    for (int i = 0; i < n; i = next_shown(p, axis, i))
        each_shown(p, axis + 1, offset * n + i, visit);
}

/* ------------------------------------------------------------------ one element ---------------- */

static at_decimal without_zeros(at_decimal d)
{
    while (d.n > 1 && d.digit[d.n - 1] == '0') d.n--;
    return d;
}

/* x as it is written in positional form: all digits before the point, and so many after it that it
 * reads back, but not beyond 10^-decimals. */
static at_decimal positional_digits(at_dtype real, double x, int decimals)
{
    at_decimal d = at_decimal_of(real, x, 1, 17);
    int most = d.exponent + 1 + decimals;
    if (d.n < d.exponent + 1 || d.n > most) d = at_decimal_of(real, x, d.exponent + 1, most);
    return without_zeros(d);
}

static int exponent_length(int exponent)
{
    return exponent > 99 || exponent < -99 ? 3 : 2;
}

/* "-12.5" */
static void write_positional(char *to, at_decimal d)
{
    if (d.negative) *to++ = '-';
    for (int i = 0; i <= larger(d.exponent, 0); i++)
        *to++ = d.exponent < 0 || i >= d.n ? '0' : d.digit[i];
    *to++ = '.';
    for (int i = d.exponent + 1; i < 0; i++) *to++ = '0';
    for (int i = larger(d.exponent + 1, 0); i < d.n; i++) *to++ = d.digit[i];
    *to = 0;
}

/* "-1.250e-07" */
static void write_exponential(char *to, at_decimal d, int digits, int exponent_digits)
{
    if (d.negative) *to++ = '-';
    *to++ = d.digit[0];
    *to++ = '.';
    for (int i = 1; i < digits; i++) *to++ = i < d.n ? d.digit[i] : '0';
    snprintf(to, PRINT_WORD / 2, "e%c%0*d", d.exponent < 0 ? '-' : '+', exponent_digits,
             d.exponent < 0 ? -d.exponent : d.exponent);
}

/* x in the common format, but for padding. */
static void write_element(const at_printer *p, char word[PRINT_WORD], double x)
{
    if (p->dtype == ATTIC_BOOL)
        strcpy(word, x != 0 ? "True" : "False");
    else if (p->dtype == ATTIC_I32)
        snprintf(word, PRINT_WORD, "%.0f", x);
    else if (!isfinite(x))
        strcpy(word, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
    else if (p->exponential)
        write_exponential(word, at_decimal_of(p->dtype, x, p->digits, p->digits), p->digits,
                          p->exponent);
    else
        write_positional(word, positional_digits(p->dtype, x, PRINT_DECIMALS));
}

/* ------------------------------------------------------------------ the common format ---------- */

static void measure_magnitude(at_printer *p, double x)
{
    double size = fabs(x);
    if (!isfinite(x) || size == 0) return;
    if (p->largest == 0 || size < p->smallest) p->smallest = size;
    if (size > p->largest) p->largest = size;
}

static void measure_digits(at_printer *p, double x)
{
    if (!isfinite(x)) return;
    at_decimal d = without_zeros(at_decimal_of(p->dtype, x, 1, PRINT_DECIMALS + 1));
    p->digits = larger(p->digits, d.n);
    p->exponent = larger(p->exponent, exponent_length(d.exponent));
}

static void measure_columns(at_printer *p, double x)
{
    char word[PRINT_WORD];
    write_element(p, word, x);
    int length = (int)strlen(word), left = (int)strcspn(word, ".");
    if (isfinite(x)) {
        p->left = larger(p->left, left);
        p->right = larger(p->right, length - left);
    } else {
        p->other = larger(p->other, length);
    }
}

static void measure(at_printer *p)
{
    bool real = at_is_real(p->dtype);
    if (real) each_shown(p, 0, 0, measure_magnitude);
    if (p->largest != 0) {
        double apart[2]; /* of any dtype: in this itself, as NumPy divides */
        at_store(p->dtype, apart, 0, p->largest / p->smallest);
        p->exponential =
            p->largest >= 1e8 || p->smallest < 1e-4 || at_fetch(p->dtype, apart, 0) > 1000;
    }
    if (p->exponential) each_shown(p, 0, 0, measure_digits);
    each_shown(p, 0, 0, measure_columns);
    if (p->dtype == ATTIC_BOOL) p->left = 5; /* " True" even where nothing is False */
    p->right = larger(p->right, real);       /* the point, even where all is nan */
    p->left = larger(p->left, p->other - p->right);
}

/* ------------------------------------------------------------------ writing -------------------- */

/* x in the common format, padded on both sides: the points are below each other. */
static void pad_element(const at_printer *p, char word[PRINT_WORD], double x)
{
    char text[PRINT_WORD];
    write_element(p, text, x);
    int width = p->left + p->right;
    int before = isfinite(x) ? p->left - (int)strcspn(text, ".") : width - (int)strlen(text);
    memset(word, ' ', (size_t)width);
    memcpy(word + before, text, strlen(text));
    word[width] = 0;
}

static void put_spaces(FILE *out, int n)
{
    fprintf(out, "%*s", n, "");
}

/* Adds a word to a row, on a new line if this one is full. */
static void put_word(at_printer *p, const char *word)
{
    int indent = p->shape.ndim, length = (int)strlen(word), bare = length;
    while (bare > 0 && word[bare - 1] == ' ') bare--;
    if (p->used + p->due + length > PRINT_COLUMNS - indent && p->used + p->due > indent) {
        fputc('\n', p->out);
        put_spaces(p->out, indent);
        p->used = indent;
        p->due = 0; /* no spaces at the end of a line */
    }
    put_spaces(p->out, p->due);
    fprintf(p->out, "%.*s", bare, word);
    p->used += p->due + bare;
    p->due = length - bare;
}

static void put_row(at_printer *p, ptrdiff_t offset)
{
    char word[PRINT_WORD];
    int axis = p->shape.ndim - 1, n = p->shape.dim[axis];
    p->used = p->shape.ndim; /* the brackets, or as many spaces */
    p->due = 0;
    for (int i = 0, next; i < n; i = next) {
        pad_element(p, word, at_fetch(p->dtype, p->data, offset * n + i));
        put_word(p, word);
        next = next_shown(p, axis, i);
        if (next < n) p->due++;
        if (next > i + 1) {
            put_word(p, "...");
            p->due++;
        }
    }
    put_spaces(p->out, p->due);
}

static void put_block(at_printer *p, int axis, ptrdiff_t offset)
{
    int n = p->shape.dim[axis], inner = p->shape.ndim - 1 - axis;
    fputc('[', p->out);
    if (inner == 0) put_row(p, offset);
    for (int i = 0, next; inner > 0 && i < n; i = next) {
        put_block(p, axis + 1, offset * n + i);
        next = next_shown(p, axis, i);
        for (int gap = 0; gap < (next > i + 1) + (next < n); gap++) {
            for (int k = 0; k < inner; k++) fputc('\n', p->out);
            put_spaces(p->out, axis + 1);
            if (next > i + 1 && gap == 0) fputs("...", p->out);
        }
    }
    fputc(']', p->out);
}

/* A scalar is written with all digits it needs to read back. */
static void put_scalar(const at_printer *p)
{
    char word[PRINT_WORD];
    double x = at_fetch(p->dtype, p->data, 0);
    if (!at_is_real(p->dtype) || !isfinite(x)) {
        write_element(p, word, x);
    } else {
        at_decimal d = at_decimal_of(p->dtype, x, 1, 17);
        bool exponential = x != 0 && (fabs(x) >= 1e16 || fabs(x) < 1e-4);
        if (exponential)
            write_exponential(word, d, d.n, exponent_length(d.exponent));
        else
            write_positional(word, d);
        char *point = strchr(word, '.');
        if (exponential && d.n == 1) memmove(point, point + 1, strlen(point)); /* 1e-05 */
        if (!exponential && !point[1]) strcpy(point, ".0");                    /* 5.0 */
    }
    fputs(word, p->out);
}

void at_print_values(FILE *out, const at_tensor *x, const void *data)
{
    if (!out || !x || !data) return;
    at_printer p = {.out = out, .dtype = x->dtype, .shape = x->shape, .data = data};
    ptrdiff_t n = at_count(x->shape);
    p.cut = n > PRINT_WHOLE;
    if (x->shape.ndim == 0) {
        put_scalar(&p);
    } else if (n == 0) {
        fputs("[]", out);
    } else {
        measure(&p);
        put_block(&p, 0, 0);
    }
    fputc('\n', out);
}
