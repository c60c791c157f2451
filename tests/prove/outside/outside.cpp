// outside.cpp -- attic_prove.hpp as those use it who have nothing else of attic: layers in C, float read as the class,
// right ones and mistakes.  What is printed is what was asked; the exit status is 1 if one answer is not as expected.
#include <attic_prove.hpp>

#include <math.h>
#include <stdio.h>
#ifdef __clang__
#pragma clang diagnostic ignored "-Wkeyword-macro"
#endif
#define float attic_prove::number
#define double attic_prove::number
#include "kernels.c"
#undef float
#undef double

using attic_prove::number;
using attic_prove::point;
using attic_prove::verdict;
using numbers = std::vector<number>;

enum : int { T = 6, C = 6, O = 5, V = 7, heads = 2 };
static const int target[T] = {0, V - 1, 3, 3, 1, 5};

// A gradient, which begins with what is there: a backward adds to it
struct gradient {
    numbers before, g;
    gradient(point &p, std::size_t n) : before(p.fixed(n)), g(before) {}
    number *data() { return g.data(); }
    void of(point &p, const numbers &x)
    {
        for (std::size_t i = 0; i < g.size(); i++) g[i] -= before[i];
        p.gradient(x, g);
    }
};

static void layernorm(point &p)
{
    const numbers x = p.input(T * C), w = p.input(C), b = p.input(C);
    numbers y(T * C), mean(T), rstd(T);
    gradient dx(p, T * C), dw(p, C), db(p, C);
    layernorm_forward(y.data(), mean.data(), rstd.data(), x.data(), w.data(), b.data(), T, C);
    const numbers dy = p.upstream(y);
    layernorm_backward(dx.data(), dw.data(), db.data(), dy.data(), x.data(), w.data(), mean.data(), rstd.data(), T, C);
    dx.of(p, x), dw.of(p, w), db.of(p, b);
}

static void matmul(point &p)
{
    const numbers x = p.input(T * C), w = p.input(O * C), b = p.input(O);
    numbers y(T * O);
    gradient dx(p, T * C), dw(p, O * C), db(p, O);
    matmul_forward(y.data(), x.data(), w.data(), b.data(), T, C, O);
    const numbers dy = p.upstream(y);
    matmul_backward(dx.data(), dw.data(), db.data(), dy.data(), x.data(), w.data(), T, C, O);
    dx.of(p, x), dw.of(p, w), db.of(p, b);
}

static void attention(point &p)
{
    const numbers qkv = p.input(T * 3 * C);
    numbers y(T * C), weights(heads * T * T), dp = weights;
    gradient dqkv(p, T * 3 * C);
    attention_forward(y.data(), weights.data(), qkv.data(), T, C, heads);
    const numbers dy = p.upstream(y);
    attention_backward(dqkv.data(), dp.data(), dy.data(), weights.data(), qkv.data(), T, C, heads);
    dqkv.of(p, qkv);
}

static void gelu(point &p)
{
    const numbers x = p.input(C);
    numbers y(C);
    gradient dx(p, C);
    gelu_forward(y.data(), x.data(), C);
    const numbers dy = p.upstream(y);
    gelu_backward(dx.data(), dy.data(), x.data(), C);
    dx.of(p, x);
}

static void loss(point &p)
{
    const numbers x = p.input(T * V);
    numbers weights(T * V);
    gradient dx(p, T * V);
    const numbers y = {loss_forward(weights.data(), x.data(), target, T, V)}, dy = p.upstream(y);
    loss_backward(dx.data(), dy[0], weights.data(), target, T, V);
    dx.of(p, x);
}

// A template whose functions have the namespace std, and the limits of its type
template <class real> static void log_sum_exp(std::size_t n, const real *x, real *y)
{
    real largest = -std::numeric_limits<real>::infinity(), sum = 0;
    for (std::size_t i = 0; i < n; i++) largest = x[i] > largest ? x[i] : largest;
    for (std::size_t i = 0; i < n; i++) sum += std::exp(x[i] - largest);
    *y = largest + std::log(sum);
}
static int failed;
static void of_template(point &p)
{
    const number infinity = std::numeric_limits<number>::infinity(), least = std::numeric_limits<number>::lowest();
    failed += !(infinity > -least && -infinity < least) || !isinf(infinity);
    const numbers x = p.input(C);
    numbers y(1), dx;
    log_sum_exp(x.size(), x.data(), y.data());
    const numbers dy = p.upstream(y);
    for (number v : x) dx.push_back(dy[0] * exp(mistake ? v : v - y[0]));
    p.gradient(x, dx);
}

// y = c x, dx = c dy: constants that were known too early or too long, and what no kernel has as a constant
static const number outside = 0.3f;
static void constants(point &p)
{
    static const number first = 0.7f;
    numbers x(1, mistake == 3 ? 0.1f : mistake == 4 ? 0.8f : 0);
    p.input(x.data(), 1);
    const number c = mistake == 1 ? outside : mistake == 2 ? first : attic_prove::data(0.9f);
    const numbers y = {c * x[0]}, dy = p.upstream(y);
    p.gradient(x, {(mistake >= 3 ? 0.8f : mistake ? number(0.7f) : c) * dy[0]});
}

static void ask(const char *name, const std::function<void(point &)> &f, int which, verdict expected,
                const char *says, const char *says_not = "nothing like this")
{
    mistake = which;
    const attic_prove::report r = attic_prove::prove(f);
    const std::string text = r.text();
    const bool right = r.what == expected && text.find(says) != std::string::npos &&
                       text.find(says_not) == std::string::npos;
    std::printf("%-10s %d  %s%s\n", name, which, text.c_str(), right ? "" : "  <-- not as expected");
    failed += !right;
}

int main()
{
    const verdict holds = verdict::holds, refused = verdict::refused, undefined = verdict::undefined;
    const char *no_difference = "no difference found at these sizes and branches";
    ask("layernorm", layernorm, 0, holds, no_difference);
    ask("layernorm", layernorm, 1, refused, "input 2, element 0");
    ask("layernorm", layernorm, 2, refused, "input 0, element 0", "rounded");
    ask("layernorm", layernorm, 3, refused, "input 0, element 0");
    ask("layernorm", layernorm, 4, refused, "constants as they are: 1e-05f");
    ask("matmul", matmul, 0, holds, no_difference);
    ask("matmul", matmul, 1, refused, "input 0, element 0", "constants");
    ask("matmul", matmul, 2, refused, "input 2, element 0");
    ask("matmul", matmul, 3, refused, "input 1, element 1");
    ask("attention", attention, 0, holds, no_difference);
    ask("attention", attention, 1, refused, "input 0, element 0");
    ask("attention", attention, 2, refused, "input 0, element 6");
    ask("gelu", gelu, 0, holds, no_difference);
    ask("gelu", gelu, 1, refused, "constants as they are: 0.044715f", "rounded");
    ask("gelu", gelu, 2, refused, ": 0.13414499f = 3 * 0.044715f");
    ask("gelu", gelu, 3, refused, "input 0, element 0");
    ask("loss", loss, 0, holds, no_difference);
    ask("loss", loss, 1, refused, "input 0, element 0");
    ask("loss", loss, 2, refused, ": 0.16666667f = 1 / 6");
    ask("loss", loss, 3, refused, "input 0, element 35", "constants");
    ask("template", of_template, 0, holds, no_difference);
    ask("template", of_template, 1, refused, "input 0, element 0");
    ask("constants", constants, 0, holds, no_difference);
    ask("constants", constants, 1, undefined, "the constant 0.3f was made outside");
    ask("constants", constants, 2, refused, "a static variable keeps a number");
    ask("constants", constants, 3, refused, "constants as they are: 0.8f", "0.9f");
    ask("constants", constants, 3, refused, "constants as they are: 0.8f", "0.1f");
    ask("constants", constants, 4, refused, "constants as they are: 0.8f");
    return failed > 0;
}
