/* draw.c -- random problems on which mistakes can be told apart; see mistakes_draw. */
#include "mistakes.h"

#include <math.h>
#include <string.h>

enum { DRAWINGS = 2000 };

/* An answer in float lies within 1e-6 of its mistake, and must be 100 times farther from others. */
static const double told_apart = 2e-4;

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int draw_integer(uint64_t *state, int low, int high)
{
    return low + (int)(next_random(state) % (uint64_t)(high - low + 1));
}

/* one of n numbers */
static double draw_one(uint64_t *state, int n, const double *of)
{
    return of[draw_integer(state, 0, n - 1)];
}

static steps_problem draw_problem(uint64_t *state, const mistakes_features *with)
{
    static const double p[] = {0.2, 0.25, 0.3, 0.4}, tau[] = {0.6, 1.5, 1.75, 2.5};
    static const double scale[] = {0, 0, 0.375, -0.625};
    steps_problem s = {.weights = with->weights};
    s.T = draw_integer(state, 2, with->most);
    s.N = draw_integer(state, 2, with->most);
    s.D = draw_integer(state, 2, with->most);
    s.Dv = draw_integer(state, 2, with->most);
    s.scale = draw_one(state, 4, scale);
    s.G = with->groups ? draw_integer(state, 1, 2) : draw_integer(state, 0, 1) ? 3 : 1;
    s.H = with->groups ? 3 * s.G : s.G;
    if (with->temperature) s.temperature = draw_one(state, 4, tau);
    if (with->softcap) s.softcap = 0.25 * draw_integer(state, 5, 12);
    if (with->dropout) s.dropout = draw_one(state, 4, p);
    if (with->bias) {
        s.bias_H = draw_integer(state, 0, 1) ? s.H : 1;
        s.bias_T = draw_integer(state, 0, 1) ? s.T : 1;
        s.bias_N = draw_integer(state, 0, 1) ? s.N : 1;
    }
    return s;
}

/* Not 0: a product with 0 hides its other factor. */
static double draw_eighths(uint64_t *state)
{
    const int n = draw_integer(state, -16, 15);
    return (n < 0 ? n : n + 1) / 8.0;
}

static void draw_elements(uint64_t *state, steps *a, bool mask)
{
    static const steps_name drawn[] = {STEPS_Q, STEPS_K, STEPS_V, STEPS_BIAS, STEPS_DO, STEPS_DW};
    for (size_t k = 0; k < sizeof drawn / sizeof *drawn; k++)
        for (ptrdiff_t e = 0; e < steps_size(a, drawn[k]); e++)
            a->at[drawn[k]][e] = draw_eighths(state);
    for (ptrdiff_t e = 0; a->p.dropout > 0 && e < steps_size(a, STEPS_Z); e++) {
        bool dropped = draw_integer(state, 0, 9999) < 10000 * a->p.dropout;
        a->at[STEPS_Z][e] = dropped ? 0 : 1 / (1 - a->p.dropout);
    }
    if (!mask) return;
    bool causal = draw_integer(state, 0, 1), empty = draw_integer(state, 0, 3) == 0;
    for (int i = 0; i < a->p.T; i++)
        for (int j = 0; j < a->p.N; j++) {
            bool keep = causal ? j <= i + a->p.N - a->p.T : draw_integer(state, 0, 9) < 7;
            *steps_cell(a, STEPS_KEEP, 0, i, j) = keep && !(empty && i == 0);
        }
}

/* Is there a quantity in which the answers of two backwards differ? */
static bool answers_differ(const steps *x, const steps *x_terms, const steps *y,
                           const steps *y_terms, uint64_t in)
{
    for (int what = 0; what < STEPS_COUNT; what++)
        for (ptrdiff_t e = 0; in >> what & 1 && e < steps_size(x, (steps_name)what); e++) {
            double terms = fmax(x_terms->at[what][e], y_terms->at[what][e]);
            if (fabs(x->at[what][e] - y->at[what][e]) > told_apart * terms) return true;
        }
    return false;
}

/* The backwards that must differ: the right one, and one for each mistake asked. */
typedef struct {
    steps *values[MISTAKES], *terms[MISTAKES], *work[3];
    int n;
} backwards;

static void close_backwards(const backwards *b)
{
    for (int k = 0; k < b->n; k++) {
        steps_close(b->values[k]);
        steps_close(b->terms[k]);
    }
    mistakes_close_work(b->work);
}

int mistakes_tell_apart(const steps *a, mistake_set asked, uint64_t in)
{
    backwards b = {.n = 0};
    int differ = mistakes_open_work(a, b.work) ? 1 : -1;
    asked.has[MISTAKE_OVERWRITTEN] = false;
    for (int m = 0; m < MISTAKES && differ == 1; m++) {
        if (m > 0 && !asked.has[m]) continue;
        int last = b.n++;
        b.values[last] = steps_copy(a);
        b.terms[last] = steps_terms(a);
        if (!b.values[last] || !b.terms[last]) {
            differ = -1;
            break;
        }
        mistake_set set = mistakes_only((mistake)m);
        mistakes_run(b.values[last], set, last ? b.values[0] : NULL, b.work);
        mistakes_run(b.terms[last], set, last ? b.terms[0] : NULL, b.work);
        for (int k = 0; k < last && differ == 1; k++)
            differ = answers_differ(b.values[k], b.terms[k], b.values[last], b.terms[last], in);
    }
    close_backwards(&b);
    return differ;
}

steps *mistakes_draw(uint64_t seed, const mistakes_features *with, mistake_set asked, uint64_t in)
{
    uint64_t state = seed;
    for (int n = 0; n < DRAWINGS; n++) {
        steps_problem p = draw_problem(&state, with);
        steps *a = steps_open(&p);
        if (!a) return NULL;
        if (!mistakes_ratios_differ(a)) {
            steps_close(a);
            continue;
        }
        draw_elements(&state, a, with->mask);
        steps_forward(a, STEPS_R);
        steps_backward(a);
        int differ = mistakes_tell_apart(a, asked, in);
        if (differ == 1) return a;
        steps_close(a);
        if (differ < 0) return NULL;
    }
    return NULL;
}
