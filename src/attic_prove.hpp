// attic_prove.hpp -- is a gradient that was written by hand the derivative of its function?  The compiled kernel
// itself is asked, in a finite field: no step, no tolerance, no rounding.  docs/proof.md explains it from the start.
//
// This file needs nothing else of attic: C++17 and its standard library, g++ or clang++ for 64 bits.
//
//     #include <attic_prove.hpp>
//     #include <iostream>
//
//     template <class real> void scale(int n, const real *x, real s, real *y)
//     {
//         for (int i = 0; i < n; i++) y[i] = s * x[i];
//     }
//     template <class real> void scale_back(int n, const real *x, real s, const real *dy, real *dx, real *ds)
//     {
//         for (int i = 0; i < n; i++) dx[i] += s * dy[i], *ds += x[i] * dy[i];
//     }
//
//     int main()
//     {
//         const attic_prove::report r = attic_prove::prove([](attic_prove::point &p) {
//             const auto x = p.input(5), s = p.input(1);
//             std::vector<attic_prove::number> y(5), dx(5), ds(1);
//             scale(5, x.data(), s[0], y.data());
//             const auto dy = p.upstream(y);
//             scale_back(5, x.data(), s[0], dy.data(), dx.data(), ds.data());
//             p.gradient(x, dx);
//             p.gradient(s, ds);
//         });
//         std::cout << "scale: " << r.text() << '\n';
//     }
//
// A kernel in C is compiled as C++, with its types renamed behind all headers that it includes:
//
//     #include <math.h>
//     #define float attic_prove::number
//     #define double attic_prove::number
//     #include "my_kernel.c"
//     #undef float
//     #undef double
//
// (C++ wants a cast of what malloc returns, has no `restrict`, and this class wants no threads: no -fopenmp.)
// exp(x) and expf(x) are found without a namespace.  If a kernel says std::exp(x), compile with -DATTIC_PROVE_IN_STD:
// this file then adds its functions to std, which compilers accept and the standard of C++ does not.
//
// What is computed.  A number has a value and a tangent, both elements of the field of the p = 2^61 - 1 whole numbers
// mod p.  + - * / are those of the field, exact; the tangent follows the rules of a derivative.  The inputs x, their
// tangents xdot and the upstream gradient dy are random.  The function gives y with its tangent ydot, the derivative
// along xdot; the backward gives dx.  Then
//
//     <dy, ydot> = <dx, xdot>
//
// is one equation between two elements.  It holds at every point if dx is the gradient.  If dx is not, both sides
// differ by a quotient of polynomials that is not zero.  One of degree d is zero at a share of d / p of all points, at
// most (Schwartz 1980, Zippel 1979).  With which probability a mistake is missed at all three points is computed
// (report::bound).
//
// Three verdicts, of which none says more than this:
//
//     holds       no difference was found at these sizes and branches, at three points, one modulo another prime
//     refused     the two sides differ: dx is not the gradient, or a relation was needed that is not known here
//     undefined   x / 0, inf - inf or 0 inf reached an output or a gradient; or nothing was compared
//
// Known of functions: exp(a + b) = exp(a) exp(b), also through sums of many parts, exp(-a), exp(log(a)) = a;
// sin^2 + cos^2 = 1, cosh^2 - sinh^2 = 1, tanh = sinh / cosh; odd and even functions; pow(x, n) for whole n,
// pow(x, c - 1) = pow(x, c) / x; the constants sqrt(2), pi, 2/sqrt(pi), log(2), e and what is made of them by a
// quotient, rounded to float or to double.
//
// Not known, so a right gradient that needs it is refused: sqrt(x)^2 = x; pow(x, a) pow(x, b) = pow(x, a + b) unless
// a - b is whole; exp(2 x) = exp(x)^2 where 2 x was a product; log(a b) = log(a) + log(b), log(exp(a)) = a; sin(a + b);
// tanh(x) by exp(2 x); erf by a series; exp of a sum of more than 4000 parts; and all relations of constants that are
// rounded: 0.1 is the double 0.1, and 0.1 + 0.2 is not 0.3.
//
// What a compiler computes never comes here: the product of the literals 3.0f * 0.1f, 1.0f / n and sqrtf(n) of an int n
// are rounded constants.  The report of a refused kernel lists such constants, and what they seem to be.  Cast one
// operand, (float)3 * 0.1f, 1.0f / (float)n: in C that changes nothing, and here it is exact.
//
// Not seen: rounding, overflow; a NaN or a tie of the real type; whether the function means what it should (its
// backward is compared with it alone); code that is not run.  So run each branch.  Comparisons read a value as a
// double: constants as they are, any other by a hash that is odd, within -4 to 4 at the first point, -2^60 to 2^60 at
// the second, and one or the other at the third.  That order knows nothing of sums: write a > b, not a - b > 0.  There
// is no conversion to another type.
//
// A number belongs to its point: no static or global variable may keep one for the next point.  The state of a point is
// one for the process, so there is one thread.
#ifndef ATTIC_PROVE_HPP
#define ATTIC_PROVE_HPP
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace attic_prove {

// ---------------------------------------------------------------------- the field

using element = std::uint64_t; // 0 .. p - 1; or one of the three at the end
constexpr element minus_infinity = ~element(0), plus_infinity = ~element(0) - 1, not_a_number = ~element(0) - 2;

namespace detail {

__extension__ typedef unsigned __int128 wide;
constexpr int bits = 61;
constexpr element mask = (element(1) << bits) - 1;

inline element mix(element x)
{
    x ^= x >> 30, x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27, x *= 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

// Values by element: open addressing, the size a power of two.  A key is never 0.
template <class value> class table
{
    struct slot {
        element key;
        value what;
    };
    std::vector<slot> slots;
    std::size_t used = 0;

    std::size_t place(element key) const
    {
        std::size_t i = mix(key) & (slots.size() - 1);
        while (slots[i].key && slots[i].key != key) i = (i + 1) & (slots.size() - 1);
        return i;
    }

  public:
    table() : slots(1024) {}
    std::size_t size() const { return used; }
    void clear()
    {
        if (used) slots.assign(used < slots.size() / 8 ? 1024 : slots.size(), slot());
        used = 0;
    }
    const value *find(element key) const
    {
        const slot &s = slots[place(key)];
        return s.key ? &s.what : nullptr;
    }
    value *find(element key) { return const_cast<value *>(const_cast<const table *>(this)->find(key)); }
    // The first that is given stays.
    void add(element key, const value &what)
    {
        slot &s = slots[place(key)];
        if (s.key) return;
        s = slot{key, what};
        if (++used * 2 < slots.size()) return;
        std::vector<slot> old(slots.size() * 2);
        old.swap(slots);
        for (const slot &o : old)
            if (o.key) slots[place(o.key)] = o;
    }
};

// ---------------------------------------------------------------------- degrees

// A quotient of polynomials: the degree of the numerator, and which product of factors is below.
struct degree {
    float above;
    std::uint32_t below;
};

// Products of factors, each with how often it occurs.  Product 0 is 1.  A factor is what something was divided by: so
// the sum of quotients with the same denominator has this denominator, too.  A product of more than 16 factors becomes
// a factor of its own: what it shares with others counts twice from then on.
class products
{
    struct factor {
        std::uint32_t id, times;
    };
    using product = std::vector<factor>; // by id
    std::vector<float> factors{};        // their degrees
    std::vector<product> all{product()};
    std::vector<float> degrees{0};
    table<std::uint32_t> known_factors, known, joined, multiplied; // the first two by a hash of what they are

    static float up(float x) { return x < 0x1p24f ? x : std::nextafter(x, std::numeric_limits<float>::infinity()); }

    std::uint32_t factor_of(element what, float its_degree)
    {
        if (auto found = known_factors.find(what)) return *found;
        factors.push_back(its_degree);
        known_factors.add(what, std::uint32_t(factors.size() - 1));
        return std::uint32_t(factors.size() - 1);
    }
    std::uint32_t number_of(product x)
    {
        element key = 1;
        float sum = 0;
        for (auto &f : x) sum = up(sum + factors[f.id] * float(f.times)), key = mix(key + f.id) + f.times;
        if (auto found = known.find(key)) return *found;
        if (x.size() > 16) x = {{factor_of(mix(key), sum), 1}};
        all.push_back(x), degrees.push_back(sum);
        known.add(key, std::uint32_t(all.size() - 1));
        return std::uint32_t(all.size() - 1);
    }
    std::uint32_t combined(std::uint32_t a, std::uint32_t b, bool product_of, table<std::uint32_t> &before)
    {
        if (!a || !b || (a == b && !product_of)) return a ? a : b;
        const element key = element(a < b ? a : b) << 32 | (a < b ? b : a);
        if (auto found = before.find(key)) return *found;
        product z;
        const product &x = all[a], &y = all[b];
        for (std::size_t i = 0, j = 0; i < x.size() || j < y.size();) {
            const bool left = j == y.size() || (i < x.size() && x[i].id <= y[j].id);
            const bool right = i == x.size() || (j < y.size() && y[j].id <= x[i].id);
            const std::uint32_t m = left ? x[i].times : 0, n = right ? y[j].times : 0;
            z.push_back({left ? x[i].id : y[j].id, product_of ? m + n : m > n ? m : n});
            i += left, j += right;
        }
        const std::uint32_t c = number_of(z);
        before.add(key, c);
        return c;
    }

  public:
    float of(std::uint32_t id) const { return degrees[id]; }
    float size(degree x) const { return x.above > of(x.below) ? x.above : of(x.below); }
    degree sum(degree x, degree y)
    {
        const std::uint32_t below = combined(x.below, y.below, false, joined);
        const float a = up(x.above + (of(below) - of(x.below))), b = up(y.above + (of(below) - of(y.below)));
        return {a > b ? a : b, below};
    }
    degree times(degree x, degree y)
    {
        return {up(x.above + y.above), combined(x.below, y.below, true, multiplied)};
    }
    // x / y, y being this element
    degree over(degree x, degree y, element value)
    {
        x.above = up(x.above + of(y.below));
        if (y.above == 0) return x;
        return times(x, {0, number_of({{factor_of(mix(value + y.below), y.above), 1}})});
    }
};

// ---------------------------------------------------------------------- the state

// v = a + b or v = a - b, kept for v: a follows from it.
struct sum {
    element b : bits, minus : 1, known : 1;
};

struct literal {
    element v;
    bool rounded, listed; // it looks rounded; it is to be listed
};

struct state {
    bool running = false;        // at a point: its modulus is known
    element offset = 1;          // p = 2^61 - offset
    element salt = 0;            // of the hashes
    element divisor = 0, inverse = 0; // what was divided by last, and 1 / divisor
    double largest[2] = {4, 4};  // of what a comparison reads: of half of the values, of the others
    bool degrees = false;        // tangents hold degrees in place of values
    table<sum> sums;             // how a value was made, which exp asks for
    table<element> exps;         // of a value
    table<double> doubles;       // which double a value was, if it was one
    table<literal> values;       // of a double, by its bits
    table<degree> value_degrees;
    products below;
    std::size_t asked = 0;                       // how many values a function was asked for
    double sums_degree = 0, asked_degree = 0;    // of all noted sums together, of all that functions were asked for
    double pairs = 0; // the degrees of what a function was asked for, less each sum and each question before it
    std::vector<double> rounded; // doubles that look rounded, in the order of their first use
    double outside = 0;          // a double that was made a number where no modulus is known
};
inline state the_state;
inline state &now() { return the_state; }

inline element prime() { return (element(1) << bits) - now().offset; }
inline element add(element a, element b)
{
    const element c = a + b;
    return c >= prime() ? c - prime() : c;
}
inline element minus(element a) { return a ? prime() - a : 0; }
inline element times(element a, element b)
{
    const element k = now().offset;
    wide c = wide(a) * b; // 2^61 = k mod p, twice
    c = (c & mask) + (c >> bits) * k;
    element r = element(c & mask) + element(c >> bits) * k;
    r = (r & mask) + (r >> bits) * k;
    return r >= prime() ? r - prime() : r;
}
inline element power(element a, element e)
{
    element r = 1;
    for (; e; e >>= 1, a = times(a, a))
        if (e & 1) r = times(r, a);
    return r;
}
// a / b, b being the same many times in a row, such as what a softmax divides by
inline element over(element a, element b)
{
    state &s = now();
    if (b != s.divisor) s.divisor = b, s.inverse = power(b, prime() - 2);
    return times(a, s.inverse);
}

// A random element but 0, of x and of what it is for.
inline element hash(element x, element purpose)
{
    x = mix(mix(mix(x ^ now().salt) + purpose * 0x9E3779B97F4A7C15u)) & mask;
    return x == 0 || x >= prime() ? 1 + (x & 0xFFFF) : x;
}
enum purpose : element {
    of_input = 1, of_order, of_exp, of_log, of_sqrt, of_sine, of_tanh, of_erf, of_constant, of_power
};

inline bool is_odd(element v) { return v >= not_a_number; }
inline bool is_infinite(element v) { return v >= plus_infinity; }
inline bool is_positive(element v) { return v == plus_infinity || v <= prime() / 2; } // of an element: half of all

constexpr element small = element(1) << 20;

inline degree degree_of(element v)
{
    const degree *d = now().degrees && !is_odd(v) ? now().value_degrees.find(v) : nullptr;
    return d ? *d : degree{0, 0};
}
inline void note_degree(element v, degree d)
{
    if (now().degrees && v && (d.above > 0 || d.below)) now().value_degrees.add(v, d);
}
inline degree unpack(element t)
{
    degree d;
    std::memcpy(&d, &t, sizeof d);
    return d;
}
inline element pack(degree d)
{
    element t;
    std::memcpy(&t, &d, sizeof t);
    return t;
}
// Sums and products of tangents, in the two ways to run.  0 is a tangent that is 0.
inline element tangent_sum(element t, element u)
{
    if (!now().degrees) return t == not_a_number || u == not_a_number ? not_a_number : add(t, u);
    return !t || !u ? t | u : pack(now().below.sum(unpack(t), unpack(u)));
}
inline element tangent_times(element v, element t)
{
    if (!t) return 0;
    if (!now().degrees) return t == not_a_number ? t : times(v, t);
    return v ? pack(now().below.times(degree_of(v), unpack(t))) : 0;
}
inline element tangent_over(element t, element v)
{
    if (!t) return 0;
    if (!now().degrees) return t == not_a_number ? t : over(t, v);
    return pack(now().below.over(unpack(t), degree_of(v), v));
}
inline element tangent_minus(element t) { return now().degrees || t == not_a_number ? t : minus(t); }

// A function is asked for v, and takes it for a value that it was asked for before, or that was noted, if both are the
// same element.
inline void note_question(element v)
{
    state &s = now();
    if (!s.degrees) return;
    const double d = s.below.size(degree_of(v));
    s.asked++, s.asked_degree += d;
    s.pairs += s.sums_degree + s.asked_degree + d * double(s.sums.size() + s.asked);
}

// exp is a homomorphism: exp(a + b) = exp(a) exp(b), down to what is no noted sum.  Elements are asked by value: a sum
// that was made in two ways has one exp, and an unknown relation is only a relation less.
inline element exp_of(element v, int depth = 0)
{
    state &s = now();
    if (v == 0) return 1;
    if (auto found = s.exps.find(v)) return *found;
    note_question(v);
    sum *made = s.sums.find(v);
    const sum *opposite = s.sums.find(minus(v));
    const bool deep = depth == 4000; // a sum of more parts would need more stack than there may be
    element y;
    if (made && made->known && !deep) {
        const bool difference = made->minus;
        const element part = made->b;
        made->known = false; // in case that a part is made of v
        const element a = exp_of(add(v, difference ? part : minus(part)), depth + 1), b = exp_of(part, depth + 1);
        y = difference ? over(a, b) : times(a, b);
        if (s.degrees)
            note_degree(y, difference ? s.below.over(degree_of(a), degree_of(b), b)
                                      : s.below.times(degree_of(a), degree_of(b)));
    } else if (s.exps.find(minus(v)) || (opposite && opposite->known && !deep) || v > prime() / 2) {
        const element z = exp_of(minus(v), depth);
        y = over(1, z);
        if (s.degrees) note_degree(y, s.below.over({0, 0}, degree_of(z), z));
    } else {
        y = hash(v, of_exp);
        note_degree(y, {1, 0});
    }
    s.exps.add(v, y);
    return y;
}

inline element bits_of(double x)
{
    element e;
    std::memcpy(&e, &x, sizeof e);
    return e;
}

inline element value_of_double(double d)
{
    state &s = now();
    const double size = std::fabs(d);
    if (size < double(small) && size == std::floor(size) && (d >= 0 || s.running))
        return d < 0 ? minus(element(size)) : element(size);
    if (std::isnan(d)) return not_a_number;
    if (std::isinf(d)) return d > 0 ? plus_infinity : minus_infinity;
    if (!s.running) return s.outside = d, not_a_number;
    literal *known = s.values.find(bits_of(size));
    element v;
    if (known)
        v = known->v, known->listed = known->rounded;
    else { // m 2^e
        int e;
        const element m = element(std::ldexp(std::frexp(size, &e), 53));
        e -= 53;
        v = times(m % prime(), power(e < 0 ? over(1, 2) : 2, element(e < 0 ? -e : e)));
        const bool rounded = (m & ((element(1) << 37) - 1)) != 0; // it has more than 16 bits
        s.values.add(bits_of(size), {v, rounded, rounded});
        if (rounded) s.rounded.push_back(size);
    }
    if (v) s.doubles.add(v, size);
    return d < 0 ? minus(v) : v;
}

// What a comparison reads: whole numbers below 2^20 and constants as they are; odd.
inline double order_of(element v)
{
    const state &s = now();
    if (v == not_a_number) return std::numeric_limits<double>::quiet_NaN();
    if (is_infinite(v)) return v == plus_infinity ? HUGE_VAL : -HUGE_VAL;
    if (v < small) return double(v);
    const element opposite = prime() - v;
    if (opposite < small) return -double(opposite);
    if (auto found = s.doubles.find(v)) return *found;
    if (auto found = s.doubles.find(opposite)) return -*found;
    const bool plus = is_positive(v);
    const element h = hash(plus ? v : opposite, of_order);
    const double size = s.largest[h & 1] * std::ldexp(double(h), -bits);
    return plus ? size : -size;
}

// A constant and both its roundings
inline void name_constant(double d, element v)
{
    const double both[] = {d, double(float(d))};
    for (double x : both) now().values.add(bits_of(x), {v, false, false});
}

// The double that v is no longer listed.
inline void unlist(element v)
{
    state &s = now();
    const double *d = s.doubles.find(v);
    if (!d && !is_odd(v)) d = s.doubles.find(minus(v));
    if (d) s.values.find(bits_of(*d))->listed = false;
}
inline std::vector<double> listed()
{
    std::vector<double> all;
    for (double x : now().rounded)
        if (now().values.find(bits_of(x))->listed) all.push_back(x);
    return all;
}

constexpr double two_over_root_pi = 1.12837916709551257390;

struct modulus {
    element offset, root; // p = 2^61 - offset, root^2 = 1/2
};
constexpr modulus moduli[] = {{1, element(1) << 30}, {31, 0x300b3e1a7bd40d9}};

inline void begin(const modulus &p, const double largest[2], element seed, bool degrees)
{
    state &s = now();
    s.running = true;
    s.divisor = s.inverse = 0;
    s.offset = p.offset, s.largest[0] = largest[0], s.largest[1] = largest[1], s.degrees = degrees;
    s.salt = mix(seed * 0x9E3779B97F4A7C15u + p.offset);
    s.sums.clear(), s.exps.clear(), s.doubles.clear(), s.values.clear(), s.value_degrees.clear();
    s.below = products();
    s.rounded.clear();
    // t = 2/sqrt(pi), of which pi is made: 4 / t^2
    const element t = hash(1, of_constant), ln2 = hash(2, of_constant), e = exp_of(1), pi = over(4, times(t, t));
    s.exps.add(ln2, 2);
    name_constant(0.70710678118654752440, p.root), name_constant(1.41421356237309504880, times(2, p.root)); // sqrt(2)
    name_constant(two_over_root_pi, t), name_constant(two_over_root_pi / 2, over(t, 2));
    name_constant(0.79788456080286535588, times(t, p.root));          // sqrt(2/pi)
    name_constant(0.39894228040143267794, over(times(t, p.root), 2)); // 1/sqrt(2 pi)
    name_constant(1.77245385090551602730, over(2, t)), name_constant(2.50662827463100050242, over(2, times(t, p.root)));
    const double a = 3.14159265358979323846, b = 0.31830988618379067154; // pi, 1/pi
    name_constant(a, pi), name_constant(2 * a, times(2, pi)), name_constant(a / 2, over(pi, 2));
    name_constant(a / 4, over(pi, 4)), name_constant(b, over(1, pi)), name_constant(2 * b, over(2, pi));
    name_constant(0.69314718055994530942, ln2), name_constant(1.44269504088896340736, over(1, ln2)); // log(2), log2(e)
    name_constant(2.71828182845904523536, e);
    s.asked = 0, s.sums_degree = s.asked_degree = s.pairs = 0;
}

} // namespace detail

// ---------------------------------------------------------------------- the number

// What a comparison reads.  It can be compared, and no more.
class order
{
    double at;

  public:
    order(double x) : at(x) {}
    explicit operator double() const { return at; }
    explicit operator int() const { return int(at); }
    friend bool operator<(order x, order y) { return x.at < y.at; }
    friend bool operator>(order x, order y) { return x.at > y.at; }
    friend bool operator<=(order x, order y) { return x.at <= y.at; }
    friend bool operator>=(order x, order y) { return x.at >= y.at; }
    friend bool operator==(order x, order y) { return x.at == y.at; }
    friend bool operator!=(order x, order y) { return x.at != y.at; }
    friend order operator-(order x) { return -x.at; }
    friend order fabs(order x) { return std::fabs(x.at); }
    friend bool isnan(order x) { return std::isnan(x.at); }
    friend bool isinf(order x) { return std::isinf(x.at); }
    friend bool isfinite(order x) { return std::isfinite(x.at); }
};

// 16 bytes, of which all 0 are 0.
class number
{
  public:
    element value, tangent;

    number() = default;
    number(double x) : value(detail::value_of_double(x)), tangent(0) {}
    static number of(element value, element tangent = 0)
    {
        number x;
        x.value = value, x.tangent = detail::is_odd(value) ? 0 : tangent;
        return x;
    }

    bool is_nan() const { return value == not_a_number; }
    bool is_infinite() const { return detail::is_infinite(value); }

    friend number operator+(number x) { return x; }
    friend number operator-(number x)
    {
        if (x.is_nan()) return x;
        if (x.is_infinite()) return of(x.value == plus_infinity ? minus_infinity : plus_infinity);
        const element v = detail::minus(x.value);
        detail::note_degree(v, detail::degree_of(x.value));
        return of(v, detail::tangent_minus(x.tangent));
    }
    friend number operator+(number x, number y) { return sum(x, y, false); }
    friend number operator-(number x, number y) { return sum(x, y, true); }
    friend number operator*(number x, number y)
    {
        using namespace detail;
        if (is_odd(x.value) || is_odd(y.value)) {
            if (x.is_nan() || y.is_nan() || !x.value || !y.value) return of(not_a_number);
            return of(is_positive(x) == is_positive(y) ? plus_infinity : minus_infinity);
        }
        const element v = times(x.value, y.value);
        if (now().degrees) note_degree(v, now().below.times(degree_of(x.value), degree_of(y.value)));
        return of(v, tangent_sum(tangent_times(x.value, y.tangent), tangent_times(y.value, x.tangent)));
    }
    friend number operator/(number x, number y)
    {
        using namespace detail;
        if (x.is_nan() || y.is_nan() || !y.value || (x.is_infinite() && y.is_infinite())) return of(not_a_number);
        if (y.is_infinite()) return of(0);
        if (x.is_infinite()) return of(is_positive(x) == is_positive(y) ? plus_infinity : minus_infinity);
        const element q = over(x.value, y.value);
        if (now().degrees) note_degree(q, now().below.over(degree_of(x.value), degree_of(y.value), y.value));
        return of(q, tangent_over(tangent_sum(x.tangent, tangent_minus(tangent_times(q, y.tangent))), y.value));
    }
    number &operator+=(number y) { return *this = *this + y; }
    number &operator-=(number y) { return *this = *this - y; }
    number &operator*=(number y) { return *this = *this * y; }
    number &operator/=(number y) { return *this = *this / y; }
    number &operator++() { return *this += 1; }
    number &operator--() { return *this -= 1; }

    friend order order_of(number x) { return detail::order_of(x.value); }
    friend bool operator<(number x, number y) { return order_of(x) < order_of(y); }
    friend bool operator>(number x, number y) { return order_of(x) > order_of(y); }
    friend bool operator<=(number x, number y) { return order_of(x) <= order_of(y); }
    friend bool operator>=(number x, number y) { return order_of(x) >= order_of(y); }
    friend bool operator==(number x, number y) { return order_of(x) == order_of(y); }
    friend bool operator!=(number x, number y) { return order_of(x) != order_of(y); }

  private:
    static bool is_positive(number x) { return detail::is_positive(x.value); }
    static number sum(number x, number y, bool minus)
    {
        using namespace detail;
        if (is_odd(x.value) || is_odd(y.value)) {
            if (minus) y = -y;
            if (x.is_nan() || y.is_nan() || (x.is_infinite() && y.is_infinite() && x.value != y.value))
                return of(not_a_number);
            return of(x.is_infinite() ? x.value : y.value);
        }
        const element b = minus ? detail::minus(y.value) : y.value, v = add(x.value, b);
        if (v && x.value && b && now().sums.size() < most_sums) now().sums.add(v, {y.value & mask, minus, true});
        if (now().degrees && x.value && b) {
            const degree d = now().below.sum(degree_of(x.value), degree_of(y.value));
            now().sums_degree += now().below.size(d);
            note_degree(v, d);
        }
        return of(v, tangent_sum(x.tangent, minus ? tangent_minus(y.tangent) : y.tangent));
    }
    static constexpr std::size_t most_sums = std::size_t(1) << 24; // what is not noted is only a relation less
};
static_assert(sizeof(number) == 16, "a number has the size of two doubles");

// A number of the data, such as a target or a mask: no constant of the kernel, so report::constants does not list it.
inline number data(double x)
{
    const number y = x;
    detail::unlist(y.value);
    return y;
}

// ---------------------------------------------------------------------- functions

namespace detail {

// f(x), a free symbol or what is known of it, and f'(x) times the tangent
inline number chain(number x, number f, number slope)
{
    return number::of(f.value, tangent_times(slope.value, x.tangent));
}
inline number symbol(element v, element purpose)
{
    const element y = hash(v, purpose);
    if (now().degrees && !now().value_degrees.find(y)) note_question(v);
    note_degree(y, {1, 0});
    return number::of(y);
}
// The symbol of |x|, with the sign of x
inline number odd_symbol(number x, element purpose)
{
    return is_positive(x.value) ? symbol(x.value, purpose) : -symbol(minus(x.value), purpose);
}
// A point of the circle s^2 + c^2 = 1 that is of x: s is odd, c is even
inline void circle(number x, element purpose, number *s, number *c)
{
    const number u = x.value ? odd_symbol(x, purpose) : number(0), below = 1 + u * u;
    *s = 2 * u / below, *c = (1 - u * u) / below;
}
inline number constant(number x) { return number::of(x.value); } // without its tangent
inline number whole_power(number x, double n)
{
    number y = 1;
    for (double k = std::fabs(n); k > 0; k = std::floor(k / 2), x *= x)
        if (std::fmod(k, 2) == 1) y *= x;
    return n < 0 ? 1 / y : y;
}
inline bool is_constant(number x)
{
    const element v = x.value, opposite = minus(v);
    if (x.tangent || is_odd(v)) return false;
    return v < small || opposite < small || now().doubles.find(v) || now().doubles.find(opposite);
}

} // namespace detail

inline number exp(number x)
{
    if (x.is_nan() || x.value == plus_infinity) return x;
    if (x.value == minus_infinity) return 0;
    const number y = number::of(detail::exp_of(x.value));
    return detail::chain(x, y, y);
}
inline number log(number x)
{
    if (x.is_nan() || x.value == plus_infinity) return x;
    if (x.is_infinite()) return number::of(not_a_number);
    if (!x.value) return number::of(minus_infinity);
    if (x.value == 1) return number::of(0, x.tangent);
    const number y = detail::symbol(x.value, detail::of_log);
    detail::now().exps.add(y.value, x.value);
    return detail::chain(x, y, 1 / detail::constant(x));
}
inline number sqrt(number x)
{
    if (detail::is_odd(x.value)) return x.value == plus_infinity ? x : number::of(not_a_number);
    if (!x.value) return number::of(0, x.tangent ? not_a_number : 0);
    const double root = std::sqrt(double(x.value));
    const number y = x.value < detail::small && root == std::floor(root) ? number(root)
                                                                         : detail::symbol(x.value, detail::of_sqrt);
    return detail::chain(x, y, 1 / (2 * y));
}
inline number sin(number x)
{
    number s, c;
    if (detail::is_odd(x.value)) return number::of(not_a_number);
    detail::circle(x, detail::of_sine, &s, &c);
    return detail::chain(x, s, c);
}
inline number cos(number x)
{
    number s, c;
    if (detail::is_odd(x.value)) return number::of(not_a_number);
    detail::circle(x, detail::of_sine, &s, &c);
    return detail::chain(x, c, -s);
}
// tanh(x) and 1 / cosh(x) are a point of the circle, too.
inline number tanh(number x)
{
    number y, c;
    if (x.is_nan()) return x;
    if (x.is_infinite()) return x.value == plus_infinity ? 1 : -1;
    detail::circle(x, detail::of_tanh, &y, &c);
    return detail::chain(x, y, 1 - y * y);
}
inline number cosh(number x)
{
    number y, c;
    if (detail::is_odd(x.value)) return x.is_nan() ? x : number::of(plus_infinity);
    detail::circle(x, detail::of_tanh, &y, &c);
    return detail::chain(x, 1 / c, y / c);
}
inline number sinh(number x)
{
    number y, c;
    if (detail::is_odd(x.value)) return x;
    detail::circle(x, detail::of_tanh, &y, &c);
    return detail::chain(x, y / c, 1 / c);
}
inline number erf(number x)
{
    if (x.is_nan()) return x;
    if (x.is_infinite()) return x.value == plus_infinity ? 1 : -1;
    const number y = x.value ? detail::odd_symbol(x, detail::of_erf) : number(0), v = detail::constant(x);
    return detail::chain(x, y, number(detail::two_over_root_pi) * exp(-(v * v)));
}
// For a constant c = n + f, n whole, it is a symbol of x and f, times x^n.
inline number pow(number x, number c)
{
    using namespace detail;
    if (is_odd(x.value) || is_odd(c.value)) return number::of(not_a_number);
    if (!is_constant(c)) return exp(c * log(x));
    const double at = double(order_of(c)), whole = std::floor(at), rest = at - whole;
    const number v = constant(x);
    if (!x.value) {
        if (at < 0 || (at != 0 && at < 1 && x.tangent)) return number::of(not_a_number);
        return at == 0 ? number(1) : number::of(0, at == 1 ? x.tangent : 0);
    }
    number y = whole_power(v, whole);
    if (rest != 0) y *= rest == 0.5 ? sqrt(v) : symbol(x.value, of_power + value_of_double(rest));
    return chain(x, y, c * y / v);
}
inline number fabs(number x) { return x > 0 ? x : -x; }
inline number abs(number x) { return fabs(x); }
inline number fmax(number x, number y) { return x > y || y.is_nan() ? x : y; }
inline number fmin(number x, number y) { return x < y || y.is_nan() ? x : y; }
inline number erfc(number x) { return 1 - erf(x); }
inline number log1p(number x) { return log(1 + x); }
inline number expm1(number x) { return exp(x) - 1; }
inline number fma(number x, number y, number z) { return x * y + z; }
inline bool isnan(number x) { return x.is_nan(); }
inline bool isinf(number x) { return x.is_infinite(); }
inline bool isfinite(number x) { return !detail::is_odd(x.value); }

inline number expf(number x) { return exp(x); }
inline number logf(number x) { return log(x); }
inline number sqrtf(number x) { return sqrt(x); }
inline number sinf(number x) { return sin(x); }
inline number cosf(number x) { return cos(x); }
inline number tanhf(number x) { return tanh(x); }
inline number coshf(number x) { return cosh(x); }
inline number sinhf(number x) { return sinh(x); }
inline number erff(number x) { return erf(x); }
inline number erfcf(number x) { return erfc(x); }
inline number powf(number x, number c) { return pow(x, c); }
inline number fabsf(number x) { return fabs(x); }
inline number fmaxf(number x, number y) { return fmax(x, y); }
inline number fminf(number x, number y) { return fmin(x, y); }
inline number log1pf(number x) { return log1p(x); }
inline number expm1f(number x) { return expm1(x); }
inline number fmaf(number x, number y, number z) { return fma(x, y, z); }

// ---------------------------------------------------------------------- the question

enum class verdict { holds, refused, undefined };

namespace detail {

inline bool is_float(double x) { return double(float(x)) == x; }

// The shortest decimal that is read as x: 0.1f, 0.1
inline std::string name_of(double x)
{
    char s[40];
    for (int digits = 1; digits <= 17; digits++) {
        std::snprintf(s, sizeof s, "%.*g", digits, x);
        if ((is_float(x) ? double(std::strtof(s, nullptr)) : std::strtod(s, nullptr)) == x) break;
    }
    return is_float(x) ? s + std::string("f") : s;
}

// What the i-th constant was before it was rounded, if that is easily said: compilers fold what is made of literals.
inline std::string relation_of(const std::vector<double> &c, std::size_t i)
{
    const double x = c[i], square = x * x;
    const auto is = [&](double y, double left, double of) { // x is y, rounded: left is what remains in exact arithmetic
        return left != 0 && std::fabs(x - y) <= x * (is_float(x) || is_float(of) ? 0x1p-22 : 0x1p-50);
    };
    for (std::size_t j = 0; j < i; j++) {
        const double z = c[j];
        const std::string name = name_of(z);
        if (is(z, 1, z)) return name;
        if (is(1 - z, 1 - x - z, z)) return "1 - " + name;
        if (is(1 / z, std::fma(x, z, -1), z)) return "1 / " + name;
        for (int n = 1; n <= 16; n++) {
            if (is(n * z, std::fma(n, z, -x), z)) return std::to_string(n) + " * " + name;
            if (is(z / n, std::fma(n, x, -z), z)) return name + " / " + std::to_string(n);
        }
        for (std::size_t k = 0; k <= j; k++)
            if (is(z * c[k], std::fma(z, c[k], -x), c[k])) return name_of(c[k]) + " * " + name;
    }
    const double n = std::round(1 / x), m = std::round(square), l = std::round(1 / square);
    if (name_of(x).size() <= 6) return ""; // 0.001f is a literal, and no 1 / 1000
    if (n >= 1 && n <= 65536 && is(1 / n, std::fma(x, n, -1), x)) return "1 / " + std::to_string(int(n));
    if (m > 1 && m <= 4096 && is(std::sqrt(m), square - m, x)) return "sqrt(" + std::to_string(int(m)) + ")";
    if (l <= 1 || l > 4096 || !is(1 / std::sqrt(l), square * l - 1, x)) return "";
    return "1 / sqrt(" + std::to_string(int(l)) + ")";
}

} // namespace detail

struct report {
    verdict what = verdict::holds;
    std::string where;     // the first that does not hold: "input 1, element 4", in the order of point::input
    bool vacuous = false;  // every derivative and every gradient is 0
    int points = 0;        // at which it held
    double degree = 0;     // of the difference of both sides, as a quotient of polynomials; 0: all is 0
    double pairs = 0;      // the same of all pairs of values that a function could take for each other, together
    double bound = 1;      // of the probability that all points miss a difference (that is 0 modulo neither prime)
    std::vector<double> constants; // of the kernel, that look rounded and are taken as the doubles they are

    std::string text() const
    {
        char s[200];
        if (what == verdict::undefined) return "undefined: " + where;
        if (what == verdict::holds) {
            const char *how = degree > 0 ? "(%d points, degree %.0f, missed with probability %.0e)" : "(%d points)";
            std::snprintf(s, sizeof s, how, points, degree, bound);
            return std::string("no difference found at these sizes and branches ") + s +
                   (vacuous ? "; every derivative is 0" : "");
        }
        std::string t = "refused: the gradient of " + where + ", is not the derivative", alone, related;
        t += points ? ", and was at the point before: another branch is taken, or a static variable keeps a number"
                    : ", by the relations that are known";
        for (std::size_t i = 0; i < constants.size() && i < 16; i++) {
            const std::string name = detail::name_of(constants[i]), relation = detail::relation_of(constants, i);
            if (relation.empty())
                alone += (alone.empty() ? "" : ", ") + name;
            else
                related += (related.empty() ? "" : ", ") + name + " = " + relation;
        }
        if (!related.empty())
            t += "; rounded, it seems, by the compiler: " + related + " (cast one operand, and it is exact)";
        if (!alone.empty()) t += "; constants as they are: " + alone + (constants.size() > 16 ? ", ..." : "");
        return t;
    }
};

// One point: draws the inputs, and sums both sides.  Its functions are called in the order input, upstream, gradient.
class point
{
    element left = 0, right = 0, seed;
    detail::degree degree = {0, 0}; // of <dy, ydot>
    std::vector<detail::degree> compared; // with it, of each element of a gradient
    bool seen = false, moves = false; // something was compared; something is not 0
    std::size_t from, to, drawn = 0, still = 0, outputs = 0, upstreams = 0;
    std::vector<std::size_t> sizes; // of the inputs
    std::string undefined;
    friend report prove(const std::function<void(point &)> &f, bool with_degree);

    point(element seed_, std::size_t from_, std::size_t to_) : seed(seed_), from(from_), to(to_) {}

    element draw(element i) { return detail::hash(i, detail::of_input + (seed << 8)); }
    // One product more on a side: v, of a value, times t, a value or a tangent
    void add(element *side, const char *what, std::size_t number_of, std::size_t i, element v, element t)
    {
        char s[100];
        seen = true;
        if (t && t != not_a_number) moves = true;
        if (v != not_a_number && t != not_a_number) {
            *side = detail::add(*side, detail::times(v, t));
            return;
        }
        if (!undefined.empty()) return;
        std::snprintf(s, sizeof s, "%s %zu, element %zu, is no number", what, number_of, i);
        undefined = s;
    }
    // Both sides are linear in xdot, which no gradient reads: they are the same if each dx_j is d <dy, y> / d x_j.
    void add_degree(element t)
    {
        detail::products &p = detail::now().below;
        if (t) degree = p.sum(degree, p.times({1, 0}, detail::unpack(t)));
    }
    float largest_degree() const
    {
        detail::products &p = detail::now().below;
        float largest = 0;
        for (detail::degree d : compared) largest = std::fmax(largest, p.size(p.sum(degree, d)));
        return largest;
    }

  public:
    // n random numbers with random tangents; positive: each compares with 0 as a positive one
    std::vector<number> input(std::size_t n, bool positive = false)
    {
        std::vector<number> x(n, positive ? number(1) : number(0));
        input(x.data(), n);
        return x;
    }
    // The same in place: each compares with 0 as it did, what was 0 at random; an infinite one stays.
    void input(number *x, std::size_t n)
    {
        for (std::size_t i = 0; i < n; i++, drawn++) {
            const order before = order_of(x[i]);
            detail::unlist(x[i].value);
            const bool chosen = from <= drawn && drawn < to;
            element v = draw(2 * drawn), t = chosen ? draw(2 * drawn + 1) : 0;
            if (detail::is_odd(x[i].value)) continue;
            if (before != 0 && (before > 0) != detail::is_positive(v)) v = detail::minus(v);
            detail::note_degree(v, {1, 0});
            x[i] = number::of(v, detail::now().degrees && chosen ? detail::pack({1, 0}) : t);
        }
        sizes.push_back(n);
    }

    // n random numbers that do not move: what has no gradient, such as a target; what a backward adds its gradient to
    std::vector<number> fixed(std::size_t n)
    {
        std::vector<number> x(n);
        for (number &at : x) {
            at = number::of(draw((element(3) << 61) + still++));
            detail::note_degree(at.value, {1, 0});
        }
        return x;
    }

    // What was drawn as the tangents of x, as numbers: xdot.  NULL: the tangents become 0; x itself: they become x.
    void tangent(number *x, number *xdot, std::size_t n)
    {
        for (std::size_t i = 0; i < n; i++) {
            const bool degrees = detail::now().degrees;
            const element v = degrees ? draw((element(1) << 61) + x[i].value % (element(1) << 60)) : x[i].tangent;
            if (!xdot)
                x[i].tangent = 0;
            else if (xdot == x)
                x[i].tangent = degrees ? detail::pack({1, 0}) : x[i].value;
            else {
                xdot[i] = number::of(v);
                detail::note_degree(v, {1, 0});
            }
        }
    }

    // dy, random, for an output y: left += <dy, ydot>
    std::vector<number> upstream(const std::vector<number> &y)
    {
        std::vector<number> dy(y.size());
        upstream(y.data(), dy.data(), y.size());
        return dy;
    }
    void upstream(const number *y, number *dy, std::size_t n)
    {
        for (std::size_t i = 0; i < n; i++) {
            const element v = draw((element(1) << 62) + upstreams++);
            dy[i] = number::of(v);
            detail::note_degree(v, {1, 0});
            if (detail::now().degrees) {
                add_degree(y[i].tangent);
            } else
                add(&left, "output", outputs, i, y[i].is_nan() ? not_a_number : v, y[i].tangent);
        }
        outputs++;
    }
    // right += <dx, xdot>, dx being what backward gave for x, which is as it was drawn
    void gradient(const std::vector<number> &x, const std::vector<number> &dx)
    {
        gradient(x.data(), dx.data(), x.size());
    }
    void gradient(const number *x, const number *dx, std::size_t n)
    {
        for (std::size_t i = 0; i < n; i++) {
            if (detail::now().degrees) {
                compared.push_back(detail::degree_of(dx[i].value));
            } else
                add(&right, "gradient", gradients, i, detail::is_odd(dx[i].value) ? not_a_number : dx[i].value,
                    x[i].tangent);
        }
        gradients++;
    }
    // ydot, a tangent that was computed by hand, beside the one that y has: r times either, r random
    void derivative(const number *y, const number *ydot, std::size_t n)
    {
        for (std::size_t i = 0; i < n; i++) {
            const element r = draw((element(1) << 62) + upstreams++);
            if (detail::now().degrees) {
                add_degree(y[i].tangent);
                compared.push_back(detail::degree_of(ydot[i].value));
            } else {
                add(&left, "output", outputs, i, y[i].is_nan() ? not_a_number : r, y[i].tangent);
                add(&right, "tangent", outputs, i, r, detail::is_infinite(ydot[i].value) ? 0 : ydot[i].value);
            }
        }
        outputs++;
    }

  private:
    std::size_t gradients = 0;

    verdict what() const
    {
        return !undefined.empty() || !seen ? verdict::undefined : left == right ? verdict::holds : verdict::refused;
    }
};

// Asks at three points.  f does the same each time: it is called once more for the degree, and some 20 times more where
// something is refused, to find the element.  What f needs, arrays of numbers and constants of them, it makes itself.
// Without the degree there is no bound: it is 1.
inline report prove(const std::function<void(point &)> &f, bool with_degree = true)
{
    static const struct {
        int modulus;
        double largest[2];
    } points[] = {{0, {4, 4}}, {0, {0x1p60, 0x1p60}}, {1, {4, 0x1p60}}};
    report r;
    r.vacuous = true;
    const auto run = [&](std::size_t k, std::size_t from, std::size_t to, bool degrees) {
        point p(k + 1, from, to);
        detail::begin(detail::moduli[points[k].modulus], points[k].largest, k + 1, degrees);
        f(p);
        detail::now().running = false;
        return p;
    };
    for (std::size_t k = 0; k < 3 && r.what == verdict::holds; k++) {
        const point p = run(k, 0, std::size_t(-1), false);
        r.what = p.what();
        if (p.moves) r.vacuous = false;
        r.where = p.seen ? p.undefined : "nothing was compared";
        r.constants = detail::listed();
        if (r.what == verdict::undefined && detail::now().outside != 0)
            r.where += "; the constant " + detail::name_of(std::fabs(detail::now().outside)) +
                       " was made outside of the function that is asked, where no modulus is known";
        if (r.what == verdict::holds) r.points++;
        if (r.what != verdict::refused) continue;
        std::size_t low = 0, high = p.drawn, input = 0;
        while (high - low > 1) {
            const std::size_t middle = low + (high - low) / 2;
            (run(k, low, middle, false).what() == verdict::refused ? high : low) = middle;
        }
        while (input + 1 < p.sizes.size() && low >= p.sizes[input]) low -= p.sizes[input++];
        r.where = "input " + std::to_string(input) + ", element " + std::to_string(low);
    }
    if (r.what != verdict::holds || !with_degree) return r;
    const point p = run(0, 0, std::size_t(-1), true);
    r.degree = double(p.largest_degree()), r.pairs = detail::now().pairs;
    r.bound = std::pow(std::fmin(1, (r.degree + r.pairs) / 0x1p60), r.points); // both primes are above 2^60
    return r;
}

} // namespace attic_prove

namespace std {

template <> class numeric_limits<attic_prove::number> : public numeric_limits<float>
{
    using number = attic_prove::number;

  public:
    static number min() { return double(numeric_limits<float>::min()); }
    static number max() { return double(numeric_limits<float>::max()); }
    static number lowest() { return -max(); }
    static number epsilon() { return double(numeric_limits<float>::epsilon()); }
    static number infinity() { return numeric_limits<double>::infinity(); }
    static number quiet_NaN() { return numeric_limits<double>::quiet_NaN(); }
};

#ifdef ATTIC_PROVE_IN_STD
using attic_prove::abs, attic_prove::fabs, attic_prove::fmax, attic_prove::fmin, attic_prove::fma, attic_prove::pow;
using attic_prove::exp, attic_prove::expm1, attic_prove::log, attic_prove::log1p, attic_prove::sqrt;
using attic_prove::sin, attic_prove::cos, attic_prove::tanh, attic_prove::cosh, attic_prove::sinh;
using attic_prove::erf, attic_prove::erfc, attic_prove::isnan, attic_prove::isinf, attic_prove::isfinite;
#endif

} // namespace std
#endif
