/* given.c -- attentions and their gradients as arrays; see given.h. */
#include "course/given.h"

#include <math.h>
#include <stdlib.h>

#include "attic_op.h"
#include "test.h"

given *given_open(uint64_t seed, int B, const steps_problem *p)
{
    static const steps_name drawn[] = {STEPS_Q, STEPS_K, STEPS_V, STEPS_DO};
    const at_stream dice = {seed, 1};
    uint64_t next = 0;
    given *g = calloc(1, sizeof *g);
    ck_assert_ptr_nonnull(g);
    *g = (given){.t = at_open(ATTIC_F64, 1), .B = B, .axes = 4, .layout = LAYOUT_BHTD};
    for (int b = 0; b < B; b++) {
        steps *a = g->a[b] = steps_open(p);
        for (int k = 0; k < 4; k++)
            for (ptrdiff_t e = 0; e < steps_size(a, drawn[k]); e++)
                a->at[drawn[k]][e] = floor(at_random_unit(dice, next++) * 65) / 16 - 2;
        steps_forward(a, STEPS_R);
        steps_backward(a);
    }
    return g;
}

void given_close(given *g)
{
    for (int b = 0; b < g->B; b++) steps_close(g->a[b]);
    at_close(g->t);
    free(g);
}

void given_causal(given *g, int shift)
{
    for (int b = 0; b < g->B; b++) {
        steps *a = g->a[b];
        for (int i = 0; i < a->p.T; i++)
            for (int j = 0; j < a->p.N; j++) *steps_cell(a, STEPS_KEEP, 0, i, j) = j <= i + shift;
        steps_forward(a, STEPS_R);
        steps_backward(a);
    }
}

void given_round(given *g, int digits)
{
    for (int b = 0; b < g->B; b++)
        for (int k = GRADIENTS_O; k < GRADIENTS_COUNT; k++)
            for (ptrdiff_t e = 0; e < steps_size(g->a[b], gradients_names[k]); e++) {
                double *x = &g->a[b]->at[gradients_names[k]][e];
                int exponent = 0;
                const double m = frexp(*x, &exponent);
                *x = ldexp(rint(ldexp(m, digits)), exponent - digits);
            }
}

void given_add(given *g, const char *name, at_shape shape, const double *values)
{
    at_tensor *x = at_const(g->t, shape, values);
    ck_assert_msg(x && g->file.n < ARRAYS_MAX, "%s", at_error(g->t));
    g->file.of[g->file.n++] = (array){name, "f64", x};
}

void given_number(given *g, const char *name, double x)
{
    given_add(g, name, at_shape_of(), &x);
}

static void write_one(given *g, steps_name what)
{
    const int *dim = g->a[0]->dim[what], heads = dim[0], rows = dim[1], columns = dim[2];
    double *to = calloc((size_t)g->B * (size_t)steps_size(g->a[0], what), sizeof *to);
    ck_assert_ptr_nonnull(to);
    const bool rows_first = g->layout == LAYOUT_BTHD;
    for (int b = 0; b < g->B; b++)
        for (int h = 0; h < heads; h++)
            for (int i = 0; i < rows; i++)
                for (int d = 0; d < columns; d++) {
                    int row = rows_first ? (b * rows + i) * heads + h : (b * heads + h) * rows + i;
                    to[row * columns + d] = *steps_cell(g->a[b], what, h, i, d);
                }
    const at_shape shape = g->axes == 2   ? at_shape_of(rows, columns)
                           : g->axes == 3 ? at_shape_of(heads, rows, columns)
                           : rows_first   ? at_shape_of(g->B, rows, heads, columns)
                                          : at_shape_of(g->B, heads, rows, columns);
    given_add(g, steps_texts[what].name, shape, to);
    free(to);
}

void given_write(given *g)
{
    static const steps_name written[] = {STEPS_Q, STEPS_K,  STEPS_V,  STEPS_DO,
                                         STEPS_O, STEPS_DQ, STEPS_DK, STEPS_DV};
    g->file.n = 0;
    for (int k = 0; k < 8; k++) write_one(g, written[k]);
}

void given_mask(given *g)
{
    const int T = g->a[0]->p.T, N = g->a[0]->p.N;
    at_tensor *x = at_blank(g->t, ATTIC_BOOL, at_shape_of(g->B, 1, T, N));
    ck_assert_ptr_nonnull(x);
    for (int e = 0; e < g->B * T * N; e++)
        ((bool *)x->data)[e] = g->a[e / (T * N)]->at[STEPS_KEEP][e % (T * N)] != 0;
    g->file.of[g->file.n++] = (array){"mask", "bool", x};
}
