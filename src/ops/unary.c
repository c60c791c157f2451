/* unary.c -- functions of one argument, element by element: a table.
 *
 *   x, y  any shape, every element on its own
 *
 *   forward    y_i = f(x_i)
 *   backward   dx_i = dy_i f'(x_i)        written with y where that saves work
 *
 *   name        y = f(x)                           f'(x)
 *   neg         -x                                 -1
 *   exp         e^x                                y
 *   log         ln x                               1 / x
 *   sqrt        x^(1/2)                            1 / (2 y)
 *   square      x^2                                2 x
 *   tanh        (e^x - e^-x) / (e^x + e^-x)        1 - y^2
 *   sigmoid     1 / (1 + e^-x)                     y (1 - y)
 *   relu        max(x, 0)                          1 if x > 0, else 0
 *   relu2       max(x, 0)^2                        2 max(x, 0)
 *   silu        x s,  s = sigmoid(x)               s + x s (1 - s)
 *   gelu        x s,  s = Phi(x)                   s + x phi(x)
 *   gelu_tanh   x s,  s = sigmoid(2 u(x))          s + x s (1 - s) 2 u'(x)
 *   pow         x^p                                p x^(p-1)
 *   clamp       min(max(x, low), high)             1 if low <= x <= high, else 0
 *   abs         |x|                                1 if x > 0, -1 if x < 0, 0 at 0
 *   sin         sin x                              cos x
 *   cos         cos x                              -sin x
 *   softplus    ln(1 + e^x)                        sigmoid(x)
 *   leaky_relu  x if x > 0, else slope x           1 if x > 0, else slope
 *
 * Three of them gate x with a factor s in 0..1 that x itself decides, so
 *
 *   (x s)' = s + x s'      with      sigmoid' = sigmoid (1 - sigmoid),      Phi' = phi
 *
 *   Phi(x) = (1 + erf(x / sqrt 2)) / 2             the normal distribution function,
 *   phi(x) = exp(-x^2 / 2) / sqrt(2 pi)            and its density
 *   u(x)   = sqrt(2/pi) (x + 0.044715 x^3)         u'(x) = sqrt(2/pi) (1 + 3 0.044715 x^2)
 *
 * gelu: Hendrycks, Gimpel 2016, both forms.  They write the second as x (1 + tanh u) / 2, which is
 * the same, because tanh u = 2 sigmoid(2 u) - 1.  silu: the same paper, and Elfwing et al. 2017.
 *
 * softplus is computed as max(x, 0) + ln(1 + e^-|x|): no exponent is above 0, and ln(1 + e) comes
 * from log1p, which keeps the digits of a small e.
 *
 * Nothing is saved: backward computes s again from x, a vector at a time, and s' with it.
 *
 * Edges, all as IEEE arithmetic has them:
 *   log        log 0 = -inf, of less NaN; log'(0) = inf
 *   sqrt       of less than 0 NaN; sqrt'(0) = inf
 *   relu       relu'(0) = 0; relu(NaN) = NaN
 *   relu2      relu2'(0) = 0, from both sides; relu2(NaN) = NaN
 *   clamp      clamp(NaN) = NaN; the derivative is 1 at both ends
 *   abs        |NaN| = NaN, with derivative 0
 *   leaky_relu the derivative at 0 is the slope
 *   pow        x^0 = 1, 0^0 and NaN^0 among them, and its gradient is 0, at x = 0 too;
 *              0^p = inf for p < 0; x^p = NaN for x < 0 unless p is whole
 * A derivative of inf times dy = 0 is NaN: choose what is safe before such a function, and not only
 * after it (see where.c).
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "kernels/simd_math.h"
#include "ops/map_op.h"

typedef enum {
    UNARY_NEG,
    UNARY_EXP,
    UNARY_LOG,
    UNARY_SQRT,
    UNARY_SQUARE,
    UNARY_TANH,
    UNARY_SIGMOID,
    UNARY_RELU,
    UNARY_RELU2,
    UNARY_SILU,
    UNARY_GELU,
    UNARY_GELU_TANH,
    UNARY_POW,
    UNARY_CLAMP,
    UNARY_ABS,
    UNARY_SIN,
    UNARY_COS,
    UNARY_SOFTPLUS,
    UNARY_LEAKY_RELU
} unary_name;

typedef struct {
    unary_name name;
    double p, low, high; /* of pow and clamp; p is the slope of leaky_relu */
} unary_args;

AT_FORMULA(unary_y);
AT_FORMULA(unary_dx);

typedef struct {
    vec s, ds; /* s(x) and s'(x) */
} unary_gate;

VEC_INLINE unary_gate unary_silu(vec x)
{
    unary_gate g;
    g.s = vec_gate(x, &g.ds);
    return g;
}

/* Forward has no use for phi: the compiler sees it and leaves it out. */
VEC_INLINE unary_gate unary_gelu(vec x)
{
    const REAL b = (REAL)0.3989422804014327; /* 1/sqrt(2pi) */
    return (unary_gate){vec_normal(x), b * vec_exp_weight((REAL)-0.5 * x * x)};
}

VEC_INLINE unary_gate unary_gelu_tanh(vec x)
{
    const REAL b = (REAL)1.5957691216057308; /* 2 sqrt(2/pi) */
    unary_gate g;
    const vec a = (REAL)0.044715 * x * x;
    g.s = vec_gate(b * vec_mul_add(a, x, x), &g.ds);
    g.ds *= b * vec_mul_add(vec_of(3), a, vec_of(1));
    return g;
}

/* y = x s.  What comes 2 KiB later is prefetched: memory then keeps pace with the arithmetic. */
VEC_INLINE void unary_gated(int n, const REAL *x, REAL *y, unary_gate (*gate)(vec))
{
    for (; n > 0; n -= VEC_LANES, x += VEC_LANES, y += VEC_LANES) {
        __builtin_prefetch(x + 2048 / sizeof(REAL));
        __builtin_prefetch(y + 2048 / sizeof(REAL), 1);
        vec v = vec_load_upto(n, x);
        vec_store_upto(n, y, v * gate(v).s);
    }
}

/* dx = dy (s + x s') */
VEC_INLINE void unary_gated_back(int n, const REAL *x, const REAL *dy, REAL *dx,
                                 unary_gate (*gate)(vec))
{
    for (; n > 0; n -= VEC_LANES, x += VEC_LANES, dy += VEC_LANES, dx += VEC_LANES) {
        vec v = vec_load_upto(n, x);
        unary_gate g = gate(v);
        vec_store_upto(n, dx, vec_load_upto(n, dy) * vec_mul_add(v, g.ds, g.s));
    }
}

/* y = x^p.  Small whole p go by multiplication, which vectorises. */
static void unary_power(int n, const REAL *x, double p, REAL *y)
{
    if (p != rint(p) || fabs(p) > 8) {
        for (int i = 0; i < n; i++) y[i] = pow(x[i], (REAL)p);
        return;
    }
    for (int i = 0; i < n; i++) y[i] = 1;
    for (int k = 0; k < fabs(p); k++)
        for (int i = 0; i < n; i++) y[i] *= x[i];
    if (p < 0)
        for (int i = 0; i < n; i++) y[i] = OVER((REAL)1, y[i]);
}

/* One loop per row of the table, so that each vectorises. */
#define EACH(formula)                                                                              \
    for (int i = 0; i < n; i++) formula

void AT_REAL(unary_y)(const at_chunk *k, void *values)
{
    const unary_args *args = k->args;
    const int n = k->n;
    const REAL *x = k->in[0], low = (REAL)args->low, high = (REAL)args->high, p = (REAL)args->p;
    REAL *y = values;

    switch (args->name) {
    case UNARY_NEG: EACH(y[i] = -x[i]); break;
    case UNARY_EXP: vexp(n, x, y); break;
    case UNARY_LOG: vlog(n, x, y); break;
    case UNARY_SQRT: EACH(y[i] = sqrt(x[i])); break;
    case UNARY_SQUARE: EACH(y[i] = x[i] * x[i]); break;
    case UNARY_TANH: vtanh(n, x, y); break;
    case UNARY_SIGMOID: vsigmoid(n, x, y); break;
    case UNARY_RELU: EACH(y[i] = VALUE(x[i]) <= 0 ? 0 : x[i]); break;
    case UNARY_RELU2: EACH(y[i] = VALUE(x[i]) <= 0 ? 0 : x[i] * x[i]); break;
    case UNARY_SILU: unary_gated(n, x, y, unary_silu); break;
    case UNARY_GELU: unary_gated(n, x, y, unary_gelu); break;
    case UNARY_GELU_TANH: unary_gated(n, x, y, unary_gelu_tanh); break;
    case UNARY_POW: unary_power(n, x, args->p, y); break;
    case UNARY_CLAMP:
        EACH(y[i] = VALUE(x[i]) < VALUE(low) ? low : VALUE(x[i]) > VALUE(high) ? high : x[i]);
        break;
    case UNARY_ABS: EACH(y[i] = VALUE(x[i]) == 0 ? 0 : fabs(x[i])); break;
    case UNARY_SIN: EACH(y[i] = sin(x[i])); break;
    case UNARY_COS: EACH(y[i] = cos(x[i])); break;
    case UNARY_SOFTPLUS:
        EACH(y[i] = -fabs(x[i]));
        vexp(n, y, y);
        EACH(y[i] = (VALUE(x[i]) > 0 ? x[i] : 0) + log1p(y[i]));
        break;
    case UNARY_LEAKY_RELU: EACH(y[i] = VALUE(x[i]) > 0 ? x[i] : p * x[i]); break;
    }
}

void AT_REAL(unary_dx)(const at_chunk *k, void *values)
{
    const unary_args *args = k->args;
    const int n = k->n;
    const REAL *x = k->in[0], *y = k->y, *dy = k->dy;
    const REAL p = (REAL)args->p, low = (REAL)args->low, high = (REAL)args->high;
    REAL *dx = values, s[AT_CHUNK];

    switch (args->name) {
    case UNARY_NEG: EACH(dx[i] = -dy[i]); break;
    case UNARY_EXP: EACH(dx[i] = dy[i] * y[i]); break;
    case UNARY_LOG: EACH(dx[i] = OVER(dy[i], x[i])); break;
    case UNARY_SQRT: EACH(dx[i] = OVER(dy[i], 2 * y[i])); break;
    case UNARY_SQUARE: EACH(dx[i] = dy[i] * 2 * x[i]); break;
    case UNARY_TANH: EACH(dx[i] = dy[i] * mul_add(-y[i], y[i], (REAL)1)); break;
    case UNARY_SIGMOID: EACH(dx[i] = dy[i] * y[i] * (1 - y[i])); break;
    case UNARY_RELU: EACH(dx[i] = VALUE(x[i]) <= 0 ? 0 : dy[i]); break;
    case UNARY_RELU2: EACH(dx[i] = VALUE(x[i]) <= 0 ? 0 : dy[i] * 2 * x[i]); break;
    case UNARY_SILU: unary_gated_back(n, x, dy, dx, unary_silu); break;
    case UNARY_GELU: unary_gated_back(n, x, dy, dx, unary_gelu); break;
    case UNARY_GELU_TANH: unary_gated_back(n, x, dy, dx, unary_gelu_tanh); break;
    case UNARY_POW:
        unary_power(n, x, args->p - 1, s);
        EACH(dx[i] = args->p == 0 ? 0 : dy[i] * p * s[i]);
        break;
    case UNARY_CLAMP:
        EACH(dx[i] = VALUE(x[i]) < VALUE(low) || VALUE(x[i]) > VALUE(high) ? 0 : dy[i]);
        break;
    case UNARY_ABS: EACH(dx[i] = VALUE(x[i]) > 0 ? dy[i] : VALUE(x[i]) < 0 ? -dy[i] : 0); break;
    case UNARY_SIN: EACH(dx[i] = dy[i] * cos(x[i])); break;
    case UNARY_COS: EACH(dx[i] = -dy[i] * sin(x[i])); break;
    case UNARY_SOFTPLUS:
        vsigmoid(n, x, s);
        EACH(dx[i] = dy[i] * s[i]);
        break;
    case UNARY_LEAKY_RELU: EACH(dx[i] = VALUE(x[i]) > 0 ? dy[i] : p * dy[i]); break;
    }
}

#ifdef AT_ONCE /* ---------------------------- the ops ---------------------------- */

#define UNARY(text) AT_MAP_OP(text), .f = AT_KERNELS(unary_y), .g = {AT_KERNELS(unary_dx)}
static const at_map_op unary_op[] = {
    [UNARY_NEG] = {UNARY("neg")},           [UNARY_EXP] = {UNARY("exp")},
    [UNARY_LOG] = {UNARY("log")},           [UNARY_SQRT] = {UNARY("sqrt")},
    [UNARY_SQUARE] = {UNARY("square")},     [UNARY_TANH] = {UNARY("tanh")},
    [UNARY_SIGMOID] = {UNARY("sigmoid")},   [UNARY_RELU] = {UNARY("relu")},
    [UNARY_SILU] = {UNARY("silu")},         [UNARY_GELU] = {UNARY("gelu")},
    [UNARY_POW] = {UNARY("pow")},           [UNARY_GELU_TANH] = {UNARY("gelu_tanh")},
    [UNARY_CLAMP] = {UNARY("clamp")},       [UNARY_ABS] = {UNARY("abs")},
    [UNARY_SIN] = {UNARY("sin")},           [UNARY_COS] = {UNARY("cos")},
    [UNARY_SOFTPLUS] = {UNARY("softplus")}, [UNARY_LEAKY_RELU] = {UNARY("leaky_relu")},
    [UNARY_RELU2] = {UNARY("relu2")},
};

static at_tensor *unary(at_tape *t, at_tensor *x, unary_args args)
{
    const at_op *op = &unary_op[args.name].op;
    AT_INPUT(t, op->name, x, ATTIC_REAL);
    return at_record(t, op, AT_IN(x), x->shape, &args, sizeof args);
}

at_tensor *at_neg(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_NEG});
}

at_tensor *at_exp(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_EXP});
}

at_tensor *at_log(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_LOG});
}

at_tensor *at_sqrt(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_SQRT});
}

at_tensor *at_square(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_SQUARE});
}

at_tensor *at_tanh(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_TANH});
}

at_tensor *at_sigmoid(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_SIGMOID});
}

at_tensor *at_relu(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_RELU});
}

at_tensor *at_relu2(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_RELU2});
}

at_tensor *at_silu(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_SILU});
}

at_tensor *at_gelu(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_GELU});
}

at_tensor *at_gelu_tanh(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_GELU_TANH});
}

at_tensor *at_pow(at_tape *t, at_tensor *x, double p)
{
    if (!at_check_number(t, "pow", "the exponent", p)) return NULL;
    return unary(t, x, (unary_args){.name = UNARY_POW, .p = p});
}

at_tensor *at_clamp(at_tape *t, at_tensor *x, double low, double high)
{
    AT_REQUIRE(t, low <= high, "clamp: low is %g and high is %g, but low <= high must hold", low,
               high);
    AT_REQUIRE(t, at_can_hold(at_real(t), fmax(low, 0)) && at_can_hold(at_real(t), fmin(high, 0)),
               "clamp: between %g and %g there is no finite %s", low, high,
               at_dtype_text(at_real(t)));
    return unary(t, x, (unary_args){.name = UNARY_CLAMP, .low = low, .high = high});
}

at_tensor *at_abs(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_ABS});
}

at_tensor *at_sin(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_SIN});
}

at_tensor *at_cos(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_COS});
}

at_tensor *at_softplus(at_tape *t, at_tensor *x)
{
    return unary(t, x, (unary_args){.name = UNARY_SOFTPLUS});
}

at_tensor *at_leaky_relu(at_tape *t, at_tensor *x, double slope)
{
    if (!at_check_number(t, "leaky_relu", "slope", slope)) return NULL;
    return unary(t, x, (unary_args){.name = UNARY_LEAKY_RELU, .p = slope});
}

#endif
