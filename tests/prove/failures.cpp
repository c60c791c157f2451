// failures.cpp -- backwards that are wrong, each beside the right one: what must be refused is refused, and what is
// undefined is said to be.  Each function has one mistake for each number above 0.
#include <limits>
#include <type_traits>

#include "prove/prove.hpp"

using attic_prove::number;
using attic_prove::order;
using attic_prove::point;
using attic_prove::verdict;
using numbers = std::vector<number>;

// What a comparison reads enters no arithmetic, and a number becomes nothing else: y = x VALUE(x), whose derivative
// would be half of the true one, does not compile.
template <class x, class y, class = void> struct multiplies : std::false_type {};
template <class x, class y>
struct multiplies<x, y, std::void_t<decltype(std::declval<x>() * std::declval<y>())>> : std::true_type {};
static_assert(multiplies<number, number>::value && multiplies<number, double>::value);
static_assert(!multiplies<number, order>::value && !multiplies<order, order>::value && !multiplies<order, double>::value);
static_assert(!std::is_convertible_v<order, double> && !std::is_convertible_v<order, number>);
static_assert(!std::is_convertible_v<number, double> && !std::is_constructible_v<double, number>);
static_assert(!std::is_constructible_v<int, number> && !std::is_constructible_v<bool, number>);

// y_i = f(x_i), dx_i = dy_i slope(x_i, y_i)
static void each(point &p, numbers x, const std::function<number(number)> &f,
                 const std::function<number(number, number)> &slope)
{
    p.input(x.data(), x.size());
    numbers y, dx;
    for (number v : x) y.push_back(f(v));
    const numbers dy = p.upstream(y);
    for (std::size_t i = 0; i < x.size(); i++) dx.push_back(dy[i] * slope(x[i], y[i]));
    p.gradient(x, dx);
}
static void each(point &p, const std::function<number(number)> &f, const std::function<number(number, number)> &slope)
{
    each(p, numbers(40, 0), f, slope);
}

// x^2 / 2 for |x| <= 1, |x| - 1/2 beyond
static void huber(point &p, int wrong)
{
    each(
        p, [](number x) { return fabs(x) <= 1 ? x * x / 2 : fabs(x) - 0.5; },
        [=](number x, number) { return fabs(x) <= 1 ? (wrong ? 3 : 1) * x : number(x > 0 ? 1 : -1); });
}

// x within -1 .. 1
static void clamp(point &p, int wrong)
{
    each(
        p, [](number x) { return x < -1 ? number(-1) : x > 1 ? number(1) : x; },
        [=](number x, number) { return number(x >= -1 && x <= 1 ? (wrong ? 7 : 1) : 0); });
}

static number factor;
static void scaled(point &p, int wrong)
{
    each(
        p, [](number x) { return 3 * x * x; }, [=](number x, number) { return 6 * x * (wrong ? factor : number(1)); });
}
static void factors(point &p, int wrong)
{
    factor = wrong == 1 ? 0x1p61 : wrong == 2 ? 0x1p-122 : wrong == 3 ? 1 + 0x1p-30 : 1;
    scaled(p, wrong);
}

// the largest of three, in 20 rows
static void largest(point &p, int wrong)
{
    const numbers x = p.input(60);
    numbers y, dx(60, 0);
    const auto argmax = [&](std::size_t row, std::size_t n) {
        std::size_t at = 3 * row;
        for (std::size_t j = 1; j < n; j++)
            if (x[3 * row + j] > x[at]) at = 3 * row + j;
        return at;
    };
    for (std::size_t i = 0; i < 20; i++) y.push_back(x[argmax(i, 3)]);
    const numbers dy = p.upstream(y);
    for (std::size_t i = 0; i < 20; i++) dx[argmax(i, wrong ? 2 : 3)] += dy[i];
    p.gradient(x, dx);
}

// The first keys masked out.  1: no guard where all are; 2: delta forgotten; 3: in the last element; 4: right where dy is
// 1 everywhere; 5: right where dy is the same everywhere
static void softmax(point &p, std::size_t masked, int wrong)
{
    const std::size_t n = 6;
    numbers x(n, 0), y(n, 0), dx(n, 0);
    for (std::size_t j = 0; j < masked; j++) x[j] = -std::numeric_limits<double>::infinity();
    p.input(x.data(), n);
    number m = x[0], sum = 0, delta = 0;
    for (number v : x) m = v > m ? v : m;
    const bool none = m == -std::numeric_limits<double>::infinity() && wrong != 1;
    for (std::size_t j = 0; j < n && !none; j++) sum += y[j] = exp(x[j] - m);
    for (std::size_t j = 0; j < n && !none; j++) y[j] /= sum;
    const numbers dy = p.upstream(y);
    for (std::size_t j = 0; j < n; j++) delta += y[j] * dy[j];
    for (std::size_t j = 0; j < n; j++)
        dx[j] = y[j] * (dy[j] - (wrong == 2 || (wrong == 3 && j == n - 1) ? number(0)
                                 : wrong == 4                             ? number(1)
                                 : wrong == 5                             ? dy[0]
                                                                          : delta));
    p.gradient(x, dx);
}

// x / y where y is 0, x + y where they are infinite
static void undefined_division(point &p, int)
{
    each(
        p, [](number x) { return x / (x - x); }, [](number, number) { return number(0); });
}
static void undefined_difference(point &p, int)
{
    const double infinity = std::numeric_limits<double>::infinity();
    each(
        p, [=](number x) { return x * (infinity - number(infinity)); }, [](number, number) { return number(0); });
}
static void undefined_product(point &p, int)
{
    each(
        p, [](number x) { return x + 0 * number(std::numeric_limits<double>::infinity()); },
        [](number, number) { return number(1); });
}

static void undefined_quotient(point &p, int)
{
    const double infinity = std::numeric_limits<double>::infinity();
    each(
        p, [=](number x) { return x + number(infinity) / infinity; }, [](number, number) { return number(1); });
}
// Only the gradient is undefined: NaN, or infinite
static void undefined_gradient(point &p, int wrong)
{
    const double infinity = std::numeric_limits<double>::infinity();
    each(
        p, [](number) { return number(1); },
        [=](number x, number) { return wrong == 1 ? x / (x - x) : wrong == 2 ? number(infinity) : number(0); });
}
// Only the derivative is: sqrt, where x is 0 and moves
static void undefined_derivative(point &p, int)
{
    const numbers x = p.input(1);
    numbers z = x;
    p.tangent(z.data(), nullptr, 1);
    p.upstream({sqrt(x[0] - z[0])});
    p.gradient(x, {0});
}

// x, 2 x below 0, 4 x above 1000; 1, 2: wrong there
static void far(point &p, int wrong)
{
    each(
        p, [](number x) { return x > 1000 ? 4 * x : x < 0 ? 2 * x : x; },
        [=](number x, number) { return number(x > 1000 ? (wrong == 2 ? 5 : 4) : x < 0 ? (wrong == 1 ? 3 : 2) : 1); });
}

// x^2 / 2 within -1 .. 1, which forward and backward ask for in two ways
static void even(point &p, int)
{
    each(
        p, [](number x) { return fabs(x) <= 1 ? x * x / 2 : x; },
        [](number x, number) { return x <= 1 && x >= -1 ? x : number(1); });
}

// x0 x1; 1: right along x, along no other direction
static void along(point &p, int wrong)
{
    const numbers x = p.input(2), dy = p.upstream({x[0] * x[1]});
    p.gradient(x, {(wrong ? 2 : 1) * dy[0] * x[1], wrong ? number(0) : dy[0] * x[0]});
}

// The derivative of x^2 by hand, beside that of the numbers
static void tangent(point &p, int wrong)
{
    numbers x = p.input(3), xdot(3), y, ydot;
    p.tangent(x.data(), xdot.data(), 3);
    for (std::size_t i = 0; i < 3; i++) y.push_back(x[i] * x[i]), ydot.push_back((wrong ? 3 : 2) * x[i] * xdot[i]);
    p.derivative(y.data(), ydot.data(), 3);
}

// x^e with e = 2, which moves; 1: as if it did not
static void moving_power(point &p, int wrong)
{
    const numbers x = p.input(1), e = p.input(1);
    numbers rest = e;
    p.tangent(rest.data(), nullptr, 1);
    const number two = 2 + (e[0] - rest[0]), y = pow(x[0], two);
    const numbers dy = p.upstream({y});
    p.gradient(x, {dy[0] * 2 * y / x[0]});
    p.gradient(e, {wrong ? number(0) : dy[0] * y * log(x[0])});
}

// x^e, both variables
static void power(point &p, int wrong)
{
    const numbers x = p.input(1), e = p.input(1), y = {pow(x[0], e[0])}, dy = p.upstream(y);
    p.gradient(x, {dy[0] * e[0] * y[0] / x[0]});
    p.gradient(e, {wrong ? number(0) : dy[0] * y[0] * log(x[0])});
}

// each element kept or not, and scaled; 1: the mask of backward is that of the element before
static void dropout(point &p, int wrong)
{
    const bool keep[] = {true, false, true, true, false, true};
    const numbers x = p.input(6);
    numbers y, dx;
    for (std::size_t i = 0; i < 6; i++) y.push_back(keep[i] ? 1.5 * x[i] : number(0));
    const numbers dy = p.upstream(y);
    for (std::size_t i = 0; i < 6; i++) dx.push_back(keep[wrong ? (i + 5) % 6 : i] ? 1.5 * dy[i] : number(0));
    p.gradient(x, dx);
}

// a dot product in tiles of 4; 1: the last tile, which is not full, is left out of backward
static void tiles(point &p, int wrong)
{
    const std::size_t n = 10;
    const numbers x = p.input(n), w = p.input(n);
    numbers y(1, 0), dx(n, 0), dw(n, 0);
    for (std::size_t i = 0; i < n; i++) y[0] += x[i] * w[i];
    const numbers dy = p.upstream(y);
    for (std::size_t from = 0; from + (wrong ? 4 : 1) <= n; from += 4)
        for (std::size_t i = from; i < n && i < from + 4; i++) dx[i] = dy[0] * w[i], dw[i] = dy[0] * x[i];
    p.gradient(x, dx);
    p.gradient(w, dw);
}

// exp of a sum of more parts than a stack has frames
static void many_parts(point &p, int)
{
    const auto f = [](number x) {
        for (int i = 0; i < 100000; i++) x += i;
        return exp(x);
    };
    each(p, numbers(1, 0), f, [](number, number y) { return y; });
}

// The derivative of each function, and relations between them that are known
static void functions(point &p, int which)
{
    const number infinity = std::numeric_limits<double>::infinity();
    const number half_root = M_SQRT1_2, over_root_pi = M_2_SQRTPI; // within f: a constant is of its point
    const struct {
        std::function<number(number)> f;
        std::function<number(number, number)> slope;
    } all[] = {
        {[](number x) { return exp(x); }, [](number, number y) { return y; }},
        {[](number x) { return exp(-x) / exp(x + 1); }, [](number x, number) { return -2 * exp(-x - x - 1); }},
        {[](number x) { return exp(log(x)); }, [](number, number) { return number(1); }},
        {[](number x) { return log(x); }, [](number x, number) { return 1 / x; }},
        {[](number x) { return sqrt(x); }, [](number, number y) { return 0.5 / y; }},
        {[](number x) { return sin(x); }, [](number x, number) { return cos(x); }},
        {[](number x) { return cos(x); }, [](number x, number) { return -sin(x); }},
        {[](number x) { return x * (cos(x) * cos(-x) - sin(x) * sin(-x)); }, [](number, number) { return number(1); }},
        {[](number x) { return tanh(x); }, [](number, number y) { return 1 - y * y; }},
        {[](number x) { return x * (tanh(x) + tanh(-x)); }, [](number, number) { return number(0); }},
        {[](number x) { return tanh(x); }, [](number x, number) { return 1 / (cosh(x) * cosh(-x)); }},
        {[](number x) { return cosh(x); }, [](number x, number y) { return y * tanh(x); }},
        {[](number x) { return sinh(x) * cosh(x); }, [](number x, number) { return 2 * cosh(x) * cosh(x) - 1; }},
        {[](number x) { return erf(x); }, [=](number x, number) { return over_root_pi * exp(-(x * x)); }},
        {[](number x) { return erfc(-x); }, [=](number x, number) { return over_root_pi * exp(-(x * x)); }},
        {[=](number x) { return erf(x * half_root); },
         [](number x, number) { return 0.79788456080286535588 * exp(-(x * x / 2)); }}, // sqrt(2/pi)
        {[](number x) { return pow(x, 2.25); }, [](number x, number) { return 2.25 * pow(x, 1.25); }},
        {[](number x) { return pow(x, -3); }, [](number x, number y) { return -3 * y / x; }},
        {[](number x) { return pow(x, 1.5); }, [](number x, number) { return 1.5 * sqrt(x); }},
        {[](number x) { return log1p(x); }, [](number x, number) { return 1 / (1 + x); }},
        {[](number x) { return expm1(x); }, [](number, number y) { return y + 1; }},
        {[](number x) { return fabs(x); }, [](number x, number) { return number(x > 0 ? 1 : -1); }},
        {[](number x) { return fmax(x, 0.5) + fmin(x, 0.25); },
         [](number x, number) { return number((x > 0.5 ? 1 : 0) + (x < 0.25 ? 1 : 0)); }},
        {[](number x) { return fma(x, x, x) / (x - 2); },
         [](number x, number y) { return (2 * x + 1 - y) / (x - 2); }},
        {[](number x) { return exp(number(M_LN2)) * x; }, [](number, number) { return number(2); }},
        {[](number x) { return exp((x - 1) + 1); }, [](number x, number) { return exp(1) * exp(x - 1); }},
        {[](number x) { // x is the sum of two parts, of which one is made of x; exp(s) is asked for within exp(x)
             const number s = tanh(x) + 1, y = exp((x - s) + s);
             return y * exp(s);
         },
         [](number x, number) {
             const number t = tanh(x);
             return exp(x) * exp(t) * exp(1) * (2 - t * t);
         }},
        {[](number x) { return pow(x, -3) * x * x * x * x; }, [](number, number) { return number(1); }},
        {[=](number x) {
             const bool known = number(0.25) < 0.5 && number(-0.5) < -0.25 && number(-3) < -2 && -infinity < x && x < infinity;
             return known ? (number(-0.25) + 1.25) * x : x * x;
         },
         [](number, number) { return number(1); }},
        {[](number x) { return M_PI * x; },
         [=](number, number) { return number(4) / (over_root_pi * over_root_pi); }},
    };
    each(p, all[which].f, all[which].slope);
}
static const char *const function_names[] = {
    "exp", "exp of sums", "exp(log(x))", "log", "sqrt", "sin", "cos", "sin^2 + cos^2", "tanh", "tanh is odd",
    "tanh and cosh", "cosh", "sinh", "erf", "erfc", "erf(x / sqrt(2))", "pow", "pow, whole", "pow and sqrt", "log1p",
    "expm1", "fabs", "fmax, fmin", "a quotient", "ln(2)", "exp((x - 1) + 1)", "exp((x - s) + s)", "pow(x, -3) x^4",
    "constants", "pi"};

// Derivatives that are wrong: a symbol is not its argument, nor that of another function.
static void no_relations(point &p, int which)
{
    const struct {
        std::function<number(number)> f;
        std::function<number(number, number)> slope;
    } all[] = {
        {[](number x) { return exp(fabs(x)); }, [](number x, number) { return x; }},
        {[](number x) { return sqrt(x); }, [](number x, number) { return 0.5 / log(x); }},
        {[](number x) { return x * exp(x); }, [](number x, number) { return exp(x) + x * exp(-x); }},
    };
    each(p, all[which].f, all[which].slope);
}
static const char *const no_relation_names[] = {"exp(|x|) is not |x|", "sqrt(x) is not log(x)", "exp(x) is not exp(-x)"};

// Relations that are true and not known: a right backward that needs one is refused.
static void unknown(point &p, int which)
{
    const struct {
        std::function<number(number)> f;
        std::function<number(number, number)> slope;
    } all[] = {
        {[](number x) { return x * sqrt(x); }, [](number x, number) { return 1.5 * sqrt(x); }},
        {[](number x) { return tanh(x); },
         [](number x, number) {
             const number e = exp(x + x);
             return 4 * e / ((e + 1) * (e + 1));
         }},
        {[](number x) { return exp(2 * x); }, [](number x, number) { return 2 * exp(x) * exp(x); }},
        {[](number x) { return x * log(exp(x)); }, [](number x, number) { return 2 * x; }},
        {[](number x) { return x * log(x * x); }, [](number x, number) { return 2 * log(x) + 2; }},
        {[](number x) { return pow(x, 0.25) * pow(x, 0.75); }, [](number, number) { return number(1); }},
        {[](number x) { return 0.1 * x + 0.2 * x; }, [](number, number) { return number(0.3); }},
    };
    each(p, all[which].f, all[which].slope);
}
static const char *const unknown_names[] = {"sqrt(x)^2 = x", "tanh by exp(2 x)", "exp(2 x) = exp(x)^2", "log(exp(x)) = x",
                                            "log(x x) = log(x) + log(x)", "pow(x, 1/4) pow(x, 3/4) = x", "0.1 + 0.2 = 0.3"};

void ask_failures(std::vector<question> &questions)
{
    const auto ask = [&](const char *of, const char *what, void (*f)(point &, int), int wrong, verdict expected,
                         const char *where = nullptr) {
        questions.push_back({of, what, [=](point &p) { f(p, wrong); }, expected, "", where});
    };
    const verdict holds = verdict::holds, refused = verdict::refused, undefined = verdict::undefined;
    const auto of_x = [](point &p, int wrong) { softmax(p, 0, wrong); };
    const auto of_some = [](point &p, int wrong) { softmax(p, 2, wrong); };
    const auto of_nothing = [](point &p, int wrong) { softmax(p, 6, wrong); };
    ask("huber", "right", huber, 0, holds);
    ask("huber", "its interior times 3", huber, 1, refused);
    ask("clamp", "right", clamp, 0, holds);
    ask("clamp", "its interior times 7", clamp, 1, refused);
    ask("square", "right", factors, 0, holds);
    ask("square", "a factor of 2^61", factors, 1, refused);
    ask("square", "a factor of 2^-122", factors, 2, refused);
    ask("square", "a factor of 1 + 2^-30", factors, 3, refused);
    ask("max", "right", largest, 0, holds);
    ask("max", "never looks at the last key", largest, 1, refused);
    ask("softmax", "right", of_x, 0, holds);
    ask("softmax", "two keys masked out", of_some, 0, holds);
    ask("softmax", "an empty row", of_nothing, 0, holds);
    ask("softmax", "an empty row without its guard", of_nothing, 1, undefined);
    ask("softmax", "delta forgotten", of_x, 2, refused);
    ask("softmax", "delta forgotten in the last element", of_x, 3, refused, "input 0, element 5");
    ask("softmax", "right where dy is 1 everywhere", of_x, 4, refused);
    ask("softmax", "right where dy is the same everywhere", of_x, 5, refused);
    ask("division", "x / 0", undefined_division, 0, undefined);
    ask("difference", "inf - inf", undefined_difference, 0, undefined);
    ask("product", "0 inf", undefined_product, 0, undefined);
    ask("quotient", "inf / inf", undefined_quotient, 0, undefined);
    ask("gradient", "0, of a constant", undefined_gradient, 0, holds);
    ask("gradient", "x / 0, of a constant", undefined_gradient, 1, undefined);
    ask("gradient", "infinite, of a constant", undefined_gradient, 2, undefined);
    ask("derivative", "of sqrt at 0", undefined_derivative, 0, undefined);
    ask("far", "right", far, 0, holds);
    ask("far", "wrong below 0", far, 1, refused);
    ask("far", "wrong above 1000", far, 2, refused);
    ask("even", "|x| <= 1, and x within -1 .. 1", even, 0, holds);
    ask("product", "right", along, 0, holds);
    ask("product", "right along x alone", along, 1, refused);
    ask("tangent", "right", tangent, 0, holds);
    ask("tangent", "with a factor of 3", tangent, 1, refused);
    ask("power", "2, which moves", moving_power, 0, holds);
    ask("power", "2, which moves, taken for a constant", moving_power, 1, refused, "input 1, element 0");
    ask("power", "right", power, 0, holds);
    ask("power", "no gradient of a variable exponent", power, 1, refused, "input 1, element 0");
    ask("dropout", "right", dropout, 0, holds);
    ask("dropout", "off by one", dropout, 1, refused);
    ask("dot", "right, in tiles", tiles, 0, holds);
    ask("dot", "without the last tile", tiles, 1, refused, "input 0, element 8");
    ask("exp", "of many parts", many_parts, 0, holds);
    for (int i = 0; i < int(sizeof function_names / sizeof *function_names); i++)
        ask("function", function_names[i], functions, i, holds);
    for (int i = 0; i < int(sizeof no_relation_names / sizeof *no_relation_names); i++)
        ask("not so", no_relation_names[i], no_relations, i, refused);
    for (int i = 0; i < int(sizeof unknown_names / sizeof *unknown_names); i++) {
        ask("not known", unknown_names[i], unknown, i, refused);
        questions.back().reason = "true, and refused";
    }
    ask("nothing", "nothing is compared", [](point &, int) {}, 0, undefined);
}
