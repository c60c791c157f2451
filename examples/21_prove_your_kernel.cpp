// 21_prove_your_kernel.cpp -- can a mistake be so small that no check of a gradient sees it?
//
// RMS norm with a gain, of one row x and y [N]:
//
//     forward     y_i  = g_i x_i r,    r = 1 / sqrt(mean(x^2) + 1e-6)
//
//     backward    dg_i = dy_i x_i r
//                 dx_i = r (g_i dy_i - x_i r^2 mean(g dy x))
//
// The same once more with a mistake that is easily made: 1 / mean(x^2) in place of r^2.  With elements of about 1 that is
// off by a millionth, in one term.  Two witnesses are asked about both:
//
//     differences       (f(x + h) - f(x - h)) / 2 h, in float, as the kernel computes
//     a finite field    the same kernel, compiled for elements of it: an identity holds there or does not
//
// The second needs the header attic_prove.hpp, and nothing else; docs/proof.md says how it works and what it means.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "attic_prove.hpp"

// ---- the kernel: of any real type

using std::sqrt;

template <class real> void rms_norm(int N, const real *x, const real *g, real *y)
{
    real sum = 0;
    for (int i = 0; i < N; i++) sum += x[i] * x[i];
    const real r = 1 / sqrt(sum / N + 1e-6f);
    for (int i = 0; i < N; i++) y[i] = g[i] * x[i] * r;
}

template <class real>
void rms_norm_back(int N, const real *x, const real *g, const real *dy, real *dx, real *dg, bool mistake)
{
    real sum = 0, dot = 0;
    for (int i = 0; i < N; i++) sum += x[i] * x[i], dot += g[i] * dy[i] * x[i];
    const real r = 1 / sqrt(sum / N + 1e-6f), r2 = mistake ? 1 / (sum / N) : r * r;
    for (int i = 0; i < N; i++) {
        dg[i] += dy[i] * x[i] * r;
        dx[i] += r * (g[i] * dy[i] - x[i] * r2 * dot / N);
    }
}

// ---- the first witness

using floats = std::vector<float>;
enum { N = 8 };
static const floats x0 = {0.75f, -1.25f, 0.5f, 1.5f, -0.25f, 1, -0.875f, 0.625f};
static const floats g0 = {1, 0.75f, 1.25f, -0.5f, 0.875f, 1.5f, -1, 1.125f};
static const floats dy0 = {-0.5f, 1, 0.75f, -1.25f, 0.5f, 0.25f, 1.5f, -1};

static floats dx_of(bool mistake)
{
    floats dx(N), dg(N);
    rms_norm_back(N, x0.data(), g0.data(), dy0.data(), dx.data(), dg.data(), mistake);
    return dx;
}

// <dy, y> where x_i is moved by h
static float moved(int i, float h)
{
    floats x = x0, y(N);
    x[i] += h;
    rms_norm(N, x.data(), g0.data(), y.data());
    float sum = 0;
    for (int j = 0; j < N; j++) sum += dy0[j] * y[j];
    return sum;
}

// The largest error that differences find in dx
static double by_differences(const floats &dx, float h)
{
    double worst = 0;
    for (int i = 0; i < N; i++)
        worst = std::max(worst, std::fabs(double(dx[i]) - double(moved(i, h) - moved(i, -h)) / (2 * double(h))));
    return worst;
}

// ---- the second witness

static attic_prove::report in_a_field(bool mistake)
{
    using numbers = std::vector<attic_prove::number>;
    return attic_prove::prove([=](attic_prove::point &p) {
        const numbers x = p.input(N), g = p.input(N);
        numbers y(N), dx(N), dg(N);
        rms_norm(N, x.data(), g.data(), y.data());
        const numbers dy = p.upstream(y);
        rms_norm_back(N, x.data(), g.data(), dy.data(), dx.data(), dg.data(), mistake);
        p.gradient(x, dx);
        p.gradient(g, dg);
    });
}

// The report, and beneath it what else it says
static void say(const char *which, const attic_prove::report &r)
{
    std::string text = r.text();
    for (std::size_t at = 0; (at = text.find("; ", at)) != std::string::npos;) text.replace(at, 2, ";\n                    ");
    std::printf("     %-15s%s\n", which, text.c_str());
}

int main()
{
    const floats right = dx_of(false), wrong = dx_of(true);
    double apart = 0, best_right = 1, best_wrong = 1;
    for (int i = 0; i < N; i++) apart = std::max(apart, std::fabs(double(right[i]) - double(wrong[i])));

    std::printf("The gradient of RMS norm, as derived, and with 1e-6 left out of one term.  In float these two\n"
                "gradients are at most %.1e apart.  Which one is right?\n\n"
                "1  Differences, in float: the largest error of dx, for each step\n\n"
                "        step   as derived   1e-6 left out\n",
                apart);
    for (float h = 0.25f; h > 1e-5f; h /= 4) {
        const double a = by_differences(right, h), b = by_differences(wrong, h);
        std::printf("     %7.1e      %7.1e         %7.1e\n", double(h), a, b);
        best_right = std::min(best_right, a), best_wrong = std::min(best_wrong, b);
    }
    std::printf("\nAt the best step the error is %.1e for one gradient and %.1e for the other.  That is %.0f times\n"
                "the mistake, which is lost in the rounding of the check.\n\n",
                best_right, best_wrong, best_right / apart);

    const attic_prove::report derived = in_a_field(false), left_out = in_a_field(true);
    std::printf("2  A finite field, where there is no step and nothing is rounded\n\n");
    say("as derived", derived);
    say("1e-6 left out", left_out);
    const bool told = std::fflush(stdout) == 0;
    return !told || derived.what != attic_prove::verdict::holds || left_out.what != attic_prove::verdict::refused;
}
