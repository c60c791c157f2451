/* decimal.h -- a number as digits, as text that is the same in every locale, as bits.  Internal. */
#ifndef AT_TENSOR_DECIMAL_H
#define AT_TENSOR_DECIMAL_H
#include "tensor/layout.h"

/* d.ddd x 10^exponent; zero is the one digit 0 with exponent 0 */
typedef struct {
    bool negative; /* -0 too */
    int n, exponent;
    char digit[24]; /* '0' .. '9', n of them, then a 0 */
} at_decimal;

/* The decimal with the fewest digits, but at least min_digits, that reads back as x, a value of
 * dtype f32, f64, f16 or bf16; of several such the one nearest to x.  Where max_digits (1 .. 20) do
 * not suffice: x rounded to max_digits, halves to even.  x must be finite. */
at_decimal at_decimal_of(at_dtype real, double x, int min_digits, int max_digits);

/* "-0.25": this many digits after the point.  Never "-0.00"; from 1e15 on as at_short_text. */
const char *at_fixed_text(double x, int decimals);
/* "0.25", "1.5e-07", "nan": as %g prints it, in at most this many significant digits.
 * Both texts live as long as at_shape_text's. */
const char *at_short_text(double x, int significant);

/* Bit for bit: 0 is not -0, and a NaN is the same as itself. */
bool at_same_bits(double a, double b);

#endif
