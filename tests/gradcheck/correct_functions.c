/* correct_functions.c -- draws correct functions and has them judged; see correct_functions.h. */
#include "kernels/real.h"
#include "gradcheck/correct_kernels.h"

/* Family f of all files; NULL from the first on that is on a tape */
static const correct_kernels *kernels_at(int f)
{
    static const correct_kernels *const file[] = {AT_REAL(correct_elements), AT_REAL(correct_rows),
                                                  AT_REAL(correct_products)};
    for (int i = 0; i < 3; i++)
        for (int j = 0; file[i][j].name; j++)
            if (f-- == 0) return &file[i][j];
    return NULL;
}

void AT_REAL(correct_forward)(const REAL *x, REAL *y, void *ctx)
{
    const correct_function *p = ctx;
    kernels_at(p->family)->forward(p, x, y);
}

static void plant(correct_function *p, REAL *dx)
{
    REAL most = 0;
    for (ptrdiff_t i = 0; i < p->n; i++) most = fabs(dx[i]) > most ? fabs(dx[i]) : most;
    if (p->wrong_at < 0 && most > 0) {
        p->wrong_at = at_correct_int(p, 0, (int)p->n - 1);
        while (fabs(dx[p->wrong_at]) < most / 10) p->wrong_at = (p->wrong_at + 1) % p->n;
    }
    p->is_planted = p->wrong_at >= 0 && dx[p->wrong_at] != 0;
    if (p->is_planted) dx[p->wrong_at] *= 1 + (REAL)p->wrong_by;
}

void AT_REAL(correct_vjp)(const REAL *x, const REAL *dy, REAL *dx, void *ctx)
{
    correct_function *p = ctx;
    kernels_at(p->family)->vjp(p, x, dy, dx);
    if (p->wrong_by != 0) plant(p, dx);
}

#ifdef AT_ONCE
#include <stdio.h>
#include <stdlib.h>

#include "gradcheck/correct_tapes.h"
#include "kernels/rng.h"

/* ------------------------------------------------------------------ random numbers -------------- */

double at_correct_unit(correct_function *p)
{
    return at_random_unit((at_stream){p->number, 0}, p->drawn++);
}

double at_correct_normal(correct_function *p)
{
    return at_random_normal((at_stream){p->number, 1}, p->drawn++);
}

double at_correct_log(correct_function *p, double low, double high)
{
    return low * pow(high / low, at_correct_unit(p));
}

int at_correct_int(correct_function *p, int low, int high)
{
    return low + (int)((high - low + 1) * at_correct_unit(p));
}

int at_correct_size(correct_function *p, int low, int high)
{
    return (int)at_correct_log(p, low, high + 1);
}

bool at_correct_chance(correct_function *p, double share)
{
    return at_correct_unit(p) < share;
}

int at_correct_id(const correct_function *p, int i, int range)
{
    return (int)(at_random_u32((at_stream){p->number, 2}, (uint64_t)i) % (uint32_t)range);
}

/* ------------------------------------------------------------------ x --------------------------- */

void at_correct_sizes(correct_function *p, ptrdiff_t n, ptrdiff_t m)
{
    p->n = n;
    p->m = m;
    p->x = malloc((size_t)n * sizeof *p->x);
    if (p->x) return;
    perror("correct functions");
    exit(2);
}

void at_correct_normals(correct_function *p, ptrdiff_t from, ptrdiff_t count, double size)
{
    for (ptrdiff_t i = from; i < from + count; i++) p->x[i] = size * at_correct_normal(p);
}

void at_forget_correct(correct_function *p)
{
    free(p->x);
    p->x = NULL;
}

/* ------------------------------------------------------------------ one function ---------------- */

static int families_off_tape(void)
{
    int f = 0;
    while (kernels_at(f)) f++;
    return f;
}

int at_correct_families(void)
{
    return families_off_tape() + at_correct_tapes();
}

const char *at_correct_family(int family)
{
    const correct_kernels *k = kernels_at(family);
    return k ? k->name : at_correct_tape(family - families_off_tape());
}

correct_function at_draw_correct(uint64_t number)
{
    correct_function p = {.number = number, .options = {.seed = number}, .wrong_at = -1};
    p.family = (int)(number % (uint64_t)at_correct_families());
    const correct_kernels *k = kernels_at(p.family);
    p.on_tape = k ? -1 : p.family - families_off_tape();
    p.real = at_correct_chance(&p, 0.5) ? ATTIC_F32 : ATTIC_F64;
    if (at_correct_chance(&p, 0.1)) p.options.directions = at_correct_int(&p, 1, 8);
    if (k)
        k->draw(&p, k);
    else
        at_draw_correct_tape(&p);
    for (ptrdiff_t i = 0; i < p.n && p.real == ATTIC_F32; i++) p.x[i] = (double)(float)p.x[i];
    p.unseen = p.real == ATTIC_F32 && at_correct_id(&p, -1, 4) == 0;
    return p;
}

/* Floats for x, dx, y, dy of p */
typedef struct {
    correct_function *p;
    float *x, *dx, *y, *dy;
} in_float;

static void to_floats(ptrdiff_t n, const double *from, float *to)
{
    for (ptrdiff_t i = 0; i < n; i++) to[i] = (float)from[i];
}

float at_correct_rounded(float x, int bits)
{
    int exponent;
    const float share = frexpf(x, &exponent);
    return isfinite(x) ? ldexpf(rintf(ldexpf(share, bits)), exponent - bits) : x;
}

static void round_floats(int bits, ptrdiff_t n, const float *x, float *rounded)
{
    for (ptrdiff_t i = 0; i < n; i++) rounded[i] = at_correct_rounded(x[i], bits);
}

static void forward_in_half(const float *x, float *y, void *ctx)
{
    in_float *f = ctx;
    round_floats(f->p->bits, f->p->n, x, f->x);
    at_correct_forward_f32(f->x, y, f->p);
    round_floats(f->p->bits, f->p->m, y, y);
}

static void vjp_in_half(const float *x, const float *dy, float *dx, void *ctx)
{
    in_float *f = ctx;
    round_floats(f->p->bits, f->p->n, x, f->x);
    round_floats(f->p->bits, f->p->m, dy, f->dy);
    at_correct_vjp_f32(f->x, f->dy, dx, f->p);
    round_floats(f->p->bits, f->p->n, dx, dx);
}

static void twin_of_half(const double *x, double *y, void *ctx)
{
    in_float *f = ctx;
    at_correct_forward_f64(x, y, f->p);
}

static void to_doubles(ptrdiff_t n, const float *from, double *to)
{
    for (ptrdiff_t i = 0; i < n; i++) to[i] = (double)from[i];
}

static void forward_unseen(const double *x, double *y, void *ctx)
{
    in_float *f = ctx;
    to_floats(f->p->n, x, f->x);
    at_correct_forward_f32(f->x, f->y, f->p);
    to_doubles(f->p->m, f->y, y);
}

static void vjp_unseen(const double *x, const double *dy, double *dx, void *ctx)
{
    in_float *f = ctx;
    to_floats(f->p->n, x, f->x);
    to_floats(f->p->m, dy, f->dy);
    at_correct_vjp_f32(f->x, f->dy, f->dx, f->p);
    to_doubles(f->p->n, f->dx, dx);
}

static at_gradcheck_report check_in_float(correct_function *p)
{
    float *x = malloc((size_t)(2 * p->n + 2 * p->m) * sizeof *x);
    if (!x) return (at_gradcheck_report){.reason = "out of memory"};
    in_float f = {p, x, x + p->n, x + 2 * p->n, x + 2 * p->n + p->m};
    at_gradcheck_options options = p->options;
    to_floats(p->n, p->x, x);
    if (p->with_twin) options.twin = p->bits || p->unseen ? twin_of_half : at_correct_forward_f64;
    at_gradcheck_report r =
        p->bits     ? at_gradcheck_fn_f32(forward_in_half, vjp_in_half, p->n, p->m, x, &f, options)
        : p->unseen ? at_gradcheck_fn(forward_unseen, vjp_unseen, p->n, p->m, p->x, &f, options)
                    : at_gradcheck_fn_f32(at_correct_forward_f32, at_correct_vjp_f32, p->n, p->m, x,
                                          p, options);
    free(x);
    return r;
}

at_gradcheck_report at_check_correct(correct_function *p)
{
    if (p->on_tape >= 0) return at_check_correct_tape(p);
    if (p->real == ATTIC_F32) return check_in_float(p);
    return at_gradcheck_fn(at_correct_forward_f64, at_correct_vjp_f64, p->n, p->m, p->x, p,
                           p->options);
}

const char *at_correct_type(const correct_function *p)
{
    if (p->bits) return p->bits == 8 ? "bf16" : "f16";
    return p->real == ATTIC_F64 ? "double" : p->unseen ? "float behind double" : "float";
}

void at_print_correct(const correct_function *p, FILE *out)
{
    double least = (double)INFINITY, most = 0;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        least = fmin(least, fabs(p->x[i]));
        most = fmax(most, fabs(p->x[i]));
    }
    fprintf(out, "%s in %s, n = %td, |x| from %.3g to %.3g, ", at_correct_family(p->family),
            at_correct_type(p), p->n, least, most);
    if (p->options.directions) fprintf(out, "%d directions, ", p->options.directions);
    if (p->options.order == 2) fprintf(out, "order 2, ");
    fprintf(out, "c = %.6g\n", p->constant[0]);
}
#endif
