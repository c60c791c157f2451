/* correct_elements.c -- correct functions of one element, and of two.  See correct_kernels.h. */
#include "kernels/real.h"
#include "gradcheck/correct_kernels.h"

#define ONE(name) static REAL name(REAL x, REAL c, REAL *slope)
#define TWO(name) static REAL name(REAL x, REAL b, REAL slope[2])

/* ------------------------------------------------------------------ with kinks ------------------ */

ONE(relu)
{
    (void)c;
    *slope = x > 0;
    return x > 0 ? x : 0;
}
ONE(leaky_relu)
{
    (void)c;
    *slope = x > 0 ? 1 : (REAL)0.01;
    return x * *slope;
}
ONE(absolute)
{
    (void)c;
    *slope = (REAL)((x > 0) - (x < 0));
    return fabs(x);
}
ONE(clamp)
{
    *slope = x > -c && x < c;
    return x < -c ? -c : x > c ? c : x;
}
ONE(huber)
{
    bool inside = fabs(x) <= c;
    *slope = inside ? x : x > 0 ? c : -c;
    return inside ? x * x / 2 : c * (fabs(x) - c / 2);
}
ONE(hinge)
{
    *slope = x < c ? -1 : 0;
    return x < c ? c - x : 0;
}
ONE(at_least)
{
    *slope = x > c;
    return x > c ? x : c;
}
/* x min(max(x + 3c, 0), 6c) / 6c */
ONE(hard_swish)
{
    REAL inner = x + 3 * c;
    bool linear = inner > 0 && inner < 6 * c;
    *slope = linear ? (2 * x + 3 * c) / (6 * c) : inner > 0 ? 1 : 0;
    return linear ? x * inner / (6 * c) : inner > 0 ? x : 0;
}
ONE(soft_shrink)
{
    *slope = fabs(x) > c;
    return x > c ? x - c : x < -c ? x + c : 0;
}
ONE(elu)
{
    (void)c;
    *slope = x > 0 ? 1 : exp(x);
    return x > 0 ? x : exp(x) - 1;
}
ONE(relu_squared)
{
    (void)c;
    *slope = x > 0 ? 2 * x : 0;
    return x > 0 ? x * x : 0;
}

/* ------------------------------------------------------------------ smooth ---------------------- */

ONE(identity)
{
    *slope = c;
    return c * x;
}
ONE(square)
{
    (void)c;
    *slope = 2 * x;
    return x * x;
}
ONE(cube)
{
    (void)c;
    *slope = 3 * x * x;
    return x * x * x;
}
ONE(exponential)
{
    (void)c;
    return *slope = exp(x);
}
ONE(logarithm)
{
    (void)c;
    *slope = 1 / x;
    return log(x);
}
ONE(root)
{
    (void)c;
    REAL y = sqrt(x);
    *slope = (REAL)0.5 / y;
    return y;
}
ONE(inverse_root)
{
    (void)c;
    REAL y = 1 / sqrt(x);
    *slope = (REAL)-0.5 * y / x;
    return y;
}
ONE(inverse)
{
    (void)c;
    REAL y = 1 / x;
    *slope = -y * y;
    return y;
}
ONE(power)
{
    *slope = c * pow(x, c - 1);
    return pow(x, c);
}
ONE(entropy)
{
    (void)c;
    *slope = -log(x) - 1;
    return -x * log(x);
}
ONE(hyperbolic_tangent)
{
    (void)c;
    REAL y = tanh(x);
    *slope = 1 - y * y;
    return y;
}
ONE(tanh_shrink)
{
    (void)c;
    REAL y = tanh(x);
    *slope = y * y;
    return x - y;
}
static REAL logistic(REAL x)
{
    return 1 / (1 + exp(-x));
}
ONE(sigmoid)
{
    (void)c;
    REAL y = logistic(x);
    *slope = y * (1 - y);
    return y;
}
ONE(softplus)
{
    (void)c;
    *slope = logistic(x);
    return log1p(exp(-fabs(x))) + (x > 0 ? x : 0);
}
ONE(log_sigmoid)
{
    (void)c;
    *slope = logistic(-x);
    return (x < 0 ? x : 0) - log1p(exp(-fabs(x)));
}
ONE(silu)
{
    (void)c;
    REAL s = logistic(x);
    *slope = s * (1 + x * (1 - s));
    return x * s;
}
ONE(mish)
{
    REAL s, t = tanh(softplus(x, c, &s));
    *slope = t + x * s * (1 - t * t);
    return x * t;
}
ONE(gelu)
{
    (void)c;
    REAL phi = erfc(-x * (REAL)0.70710678118654752) / 2;
    *slope = phi + x * (REAL)0.39894228040143268 * exp(-x * x / 2);
    return x * phi;
}
ONE(gelu_by_tanh)
{
    (void)c;
    const REAL a = (REAL)0.79788456080286536, b = (REAL)0.044715;
    REAL t = tanh(a * (x + b * x * x * x));
    *slope = (1 + t) / 2 + x * (1 - t * t) / 2 * a * (1 + 3 * b * x * x);
    return x * (1 + t) / 2;
}
ONE(log_of_square)
{
    (void)c;
    *slope = 2 * x / (1 + x * x);
    return log(1 + x * x);
}
ONE(inverse_sinh)
{
    (void)c;
    REAL w = sqrt(x * x + 1), y = log(fabs(x) + w);
    *slope = 1 / w;
    return x < 0 ? -y : y;
}
ONE(sine)
{
    (void)c;
    *slope = cos(x);
    return sin(x);
}
ONE(softsign)
{
    (void)c;
    REAL d = 1 + fabs(x);
    *slope = 1 / (d * d);
    return x / d;
}
ONE(bell)
{
    (void)c;
    REAL y = exp(-x * x);
    *slope = -2 * x * y;
    return y;
}
ONE(cauchy)
{
    (void)c;
    REAL y = 1 / (1 + x * x);
    *slope = -2 * x * y * y;
    return y;
}

/* ------------------------------------------------------------------ of two ---------------------- */

TWO(relu_of_sum)
{
    slope[0] = slope[1] = x + b > 0;
    return x + b > 0 ? x + b : 0;
}
TWO(larger)
{
    slope[0] = x > b;
    slope[1] = x <= b;
    return x > b ? x : b;
}
TWO(distance)
{
    slope[0] = (REAL)((x > b) - (x < b));
    slope[1] = -slope[0];
    return fabs(x - b);
}
TWO(product)
{
    slope[0] = b;
    slope[1] = x;
    return x * b;
}
TWO(quotient)
{
    slope[0] = 1 / b;
    slope[1] = -x / (b * b);
    return x / b;
}
TWO(swiglu)
{
    REAL s = logistic(x);
    slope[0] = b * s * (1 + x * (1 - s));
    slope[1] = x * s;
    return x * s * b;
}
TWO(hypotenuse)
{
    REAL y = sqrt(x * x + b * b);
    slope[0] = x / y;
    slope[1] = b / y;
    return y;
}

/* ------------------------------------------------------------------ element by element ---------- */

static const correct_kernels *kernels_of(const correct_function *p)
{
    return &AT_REAL(correct_elements)[p->family];
}
FORWARD(each)
{
    REAL slope, c = (REAL)p->constant[0];
    for (ptrdiff_t i = 0; i < p->n; i++) y[i] = kernels_of(p)->of_one(x[i], c, &slope);
}
BACKWARD(each_back)
{
    REAL slope, c = (REAL)p->constant[0];
    for (ptrdiff_t i = 0; i < p->n; i++) {
        kernels_of(p)->of_one(x[i], c, &slope);
        dx[i] = dy[i] * slope;
    }
}
FORWARD(each_pair)
{
    REAL slope[2];
    for (ptrdiff_t i = 0; i < p->m; i++) y[i] = kernels_of(p)->of_two(x[i], x[p->m + i], slope);
}
BACKWARD(each_pair_back)
{
    REAL slope[2];
    for (ptrdiff_t i = 0; i < p->m; i++) {
        kernels_of(p)->of_two(x[i], x[p->m + i], slope);
        dx[i] = dy[i] * slope[0];
        dx[p->m + i] = dy[i] * slope[1];
    }
}

/* ------------------------------------------------------------------ drawing --------------------- */

/* How far the elements are from the kink, or from 0: of one size, or each of its own */
typedef struct {
    double low, high, size;
    bool own;
} spread;

static spread draw_spread(correct_function *p, const correct_kernels *k)
{
    spread s = {k->low, k->high, 0, at_correct_chance(p, 0.5)};
    if (at_correct_chance(p, 0.1)) {
        bool wide = p->real == ATTIC_F64 && k->most > 1000;
        s.low = wide ? pow(k->least, 1.5) : k->least;
        s.high = wide ? k->most * k->most : k->most;
        s.own = false;
    }
    s.size = at_correct_log(p, s.low, s.high);
    return s;
}

static double draw_distance(correct_function *p, spread s)
{
    double size = s.own ? at_correct_log(p, s.low, s.high) : s.size;
    double sign = at_correct_chance(p, 0.5) ? 1 : -1;
    return s.own ? sign * size : size * at_correct_normal(p);
}

static double within(double most, double x)
{
    return fmax(-most, fmin(most, x));
}

DRAW(draw_each)
{
    const double most = p->real == ATTIC_F64 && k->most > 1000 ? k->most * k->most : k->most;
    int n = at_correct_size(p, 1, 300);
    at_correct_sizes(p, n, n);
    p->constant[0] = (double)(float)at_correct_log(p, 0.25, 4);
    spread s = draw_spread(p, k);
    bool far = k->saturates && at_correct_chance(p, 0.25);
    for (int i = 0; i < n; i++) {
        double place = k->kink[at_correct_int(p, 0, 1)] * p->constant[0];
        double x = place + draw_distance(p, s);
        if (far && at_correct_chance(p, 0.1))
            x = (5 + 15 * at_correct_unit(p)) * (at_correct_chance(p, 0.5) ? 1 : -1);
        p->x[i] = within(most, k->positive ? fabs(x) : x);
    }
}

/* x is at some distance from kink[0] b. */
DRAW(draw_pairs)
{
    int m = at_correct_size(p, 1, 150);
    at_correct_sizes(p, 2 * m, m);
    spread s = draw_spread(p, k);
    for (int i = 0; i < m; i++) {
        double b = at_correct_log(p, 0.25, 4) * (at_correct_chance(p, 0.5) ? 1 : -1);
        p->x[m + i] = (double)(float)b;
        p->x[i] = within(k->most, k->kink[0] * p->x[m + i] + draw_distance(p, s));
    }
}

#define EACH(text, function)                                                                       \
    .name = text, .of_one = function, .draw = draw_each, .forward = each, .vjp = each_back
#define PAIRS(text, function)                                                                      \
    .name = text, .of_two = function, .draw = draw_pairs, .forward = each_pair,                    \
    .vjp = each_pair_back
#define AT_EVERY_DISTANCE .low = 1e-7, .high = 1e3, .least = 1e-20, .most = 1e15
/* In float, half of what is nearer to c than 1e-7 is c itself, and has no derivative. */
#define BESIDE_C .low = 1e-6, .high = 1e3, .least = 1e-6, .most = 1e15
#define USUAL .low = 1e-3, .high = 30, .least = 1e-20
#define SATURATING USUAL, .most = 1e3, .saturates = true

const correct_kernels AT_REAL(correct_elements)[] = {
    {EACH("relu", relu), AT_EVERY_DISTANCE},
    {EACH("leaky relu", leaky_relu), AT_EVERY_DISTANCE},
    {EACH("|x|", absolute), AT_EVERY_DISTANCE},
    {EACH("clamp", clamp), .kink = {-1, 1}, BESIDE_C},
    {EACH("huber", huber), .kink = {-1, 1}, BESIDE_C},
    {EACH("hinge", hinge), .kink = {1, 1}, BESIDE_C},
    {EACH("max(x, c)", at_least), .kink = {1, 1}, BESIDE_C},
    {EACH("hard swish", hard_swish), .kink = {-3, 3}, BESIDE_C},
    {EACH("soft shrink", soft_shrink), .kink = {-1, 1}, BESIDE_C},
    {EACH("elu", elu), AT_EVERY_DISTANCE},
    {EACH("relu squared", relu_squared), .low = 1e-7, .high = 1e3, .least = 1e-15, .most = 1e15},
    {EACH("c x", identity), AT_EVERY_DISTANCE},
    {EACH("x^2", square), .low = 1e-3, .high = 1e3, .least = 1e-15, .most = 1e15},
    {EACH("x^3", cube), .low = 1e-3, .high = 1e3, .least = 1e-10, .most = 1e10},
    {EACH("exp", exponential), USUAL, .most = 80},
    {EACH("log", logarithm), .low = 1e-5, .high = 1e5, .least = 1e-20, .most = 1e15,
     .positive = true},
    {EACH("sqrt", root), .low = 1e-5, .high = 1e5, .least = 1e-20, .most = 1e15, .positive = true},
    {EACH("1 / sqrt(x)", inverse_root), .low = 1e-3, .high = 1e3, .least = 1e-12, .most = 1e12,
     .positive = true},
    {EACH("1 / x", inverse), .low = 1e-3, .high = 1e3, .least = 1e-12, .most = 1e12},
    {EACH("x^c", power), .low = 1e-2, .high = 1e2, .least = 1e-4, .most = 1e4, .positive = true},
    {EACH("-x log x", entropy), .low = 1e-5, .high = 10, .least = 1e-20, .most = 1e12,
     .positive = true},
    {EACH("tanh", hyperbolic_tangent), SATURATING},
    {EACH("x - tanh(x)", tanh_shrink), USUAL, .most = 1e3},
    {EACH("sigmoid", sigmoid), SATURATING},
    {EACH("softplus", softplus), SATURATING},
    {EACH("log sigmoid", log_sigmoid), SATURATING},
    {EACH("silu", silu), SATURATING},
    {EACH("mish", mish), SATURATING},
    {EACH("gelu", gelu), SATURATING},
    {EACH("gelu by tanh", gelu_by_tanh), SATURATING},
    {EACH("log(1 + x^2)", log_of_square), .low = 1e-3, .high = 1e2, .least = 1e-15, .most = 1e10},
    {EACH("asinh", inverse_sinh), .low = 1e-3, .high = 1e2, .least = 1e-15, .most = 1e10},
    {EACH("sin", sine), .low = 1e-2, .high = 1e4, .least = 1e-15, .most = 1e5},
    {EACH("softsign", softsign), USUAL, .most = 1e6},
    {EACH("exp(-x^2)", bell), .low = 1e-3, .high = 3, .least = 1e-15, .most = 20},
    {EACH("1 / (1 + x^2)", cauchy), .low = 1e-3, .high = 30, .least = 1e-15, .most = 1e8},
    {PAIRS("relu(x + b)", relu_of_sum), .kink = {-1}, BESIDE_C},
    {PAIRS("max(x, b)", larger), .kink = {1}, BESIDE_C},
    {PAIRS("|x - b|", distance), .kink = {1}, BESIDE_C},
    {PAIRS("x b", product), .low = 1e-3, .high = 1e3, .least = 1e-15, .most = 1e15},
    {PAIRS("x / b", quotient), .low = 1e-3, .high = 1e3, .least = 1e-15, .most = 1e15},
    {PAIRS("silu(x) b", swiglu), SATURATING},
    {PAIRS("sqrt(x^2 + b^2)", hypotenuse), .low = 1e-3, .high = 1e3, .least = 1e-12, .most = 1e12},
    {.name = NULL}};
