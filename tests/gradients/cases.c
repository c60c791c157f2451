/* cases.c -- walks the table of gradient cases and makes their inputs; see cases.h. */
#include "gradients/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const at_case *const every_table[] = {
    at_cases_elementwise, at_cases_products,         at_cases_rows,    at_cases_sdpa,
    at_cases_tangent,     at_cases_linear_attention, at_cases_variants};

static const at_case *every_row[4096];

static void list_rows(void)
{
    const at_case *c;
    int n = 0;
    for (size_t g = 0; g < sizeof every_table / sizeof *every_table; g++)
        for (c = every_table[g]; c->op; c++) every_row[n++] = c;
    for (int i = 0; (c = at_case_drawn(i)); i++) every_row[n++] = c;
}

const at_case *at_case_at(int i)
{
    if (!every_row[0]) list_rows();
    return every_row[i];
}

bool at_case_is_large(const at_case *c)
{
    const char *s = at_case_text(c);
    while ((s = strpbrk(s, "[,")))
        if (strtol(++s, NULL, 10) > 100) return true;
    return false;
}

at_verdict at_case_expects(const at_case *c)
{
    return c->expect ? c->expect : ATTIC_PASS;
}

const char *at_case_text(const at_case *c)
{
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE, "%s%s%s", c->in, *c->in && c->note ? ", " : "",
             c->note ? c->note : "");
    return text;
}

/* Reads "[2,3]" from *text and moves behind it. */
static bool read_shape(const char **text, at_shape *s)
{
    const char *p = *text;
    *s = (at_shape){0};
    if (*p++ != '[') return false;
    while (*p != ']') {
        char *end;
        long dim = strtol(p, &end, 10);
        if (end == p || s->ndim == AT_MAX_DIMS || dim < 0 || dim > 1000000) return false;
        s->dim[s->ndim++] = (int)dim;
        p = *end == ',' ? end + 1 : end;
    }
    *text = p + 1;
    return at_shape_valid(*s);
}

/* Evenly spaced in 0..1, in random order (Fisher, Yates). */
static void spread_evenly(at_tensor *x, at_stream s)
{
    ptrdiff_t n = at_count(x->shape);
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t j = (ptrdiff_t)(at_random_unit(s, (uint64_t)i) * (double)(i + 1));
        at_store(x->dtype, x->data, i, at_element(x, j));
        at_store(x->dtype, x->data, j, ((double)i + 0.5) / (double)n);
    }
}

static void fill_input(const at_case *c, int k, at_tensor *x)
{
    bool usual = c->low == 0 && c->high == 0;
    double low = usual ? -1 : c->low, high = usual ? 1 : c->high;
    at_stream s = {(uint64_t)c->seed, (uint64_t)k};
    if (c->apart) spread_evenly(x, s);
    for (ptrdiff_t n = at_count(x->shape), i = 0; i < n; i++) {
        double unit = c->apart ? at_element(x, i) : at_random_unit(s, (uint64_t)i);
        double v = low + (high - low) * unit;
        if (fabs(v) < c->gap) v += v < 0 ? -c->gap : c->gap;
        at_store(x->dtype, x->data, i, v);
    }
}

int at_case_inputs(at_tape *t, const at_case *c, at_tensor *in[AT_MAX_CASE_INPUTS])
{
    const char *text = c->in;
    const double *values = c->values;
    int n = 0;
    for (; *text; n++) {
        at_shape shape;
        if (n == AT_MAX_CASE_INPUTS || !read_shape(&text, &shape)) return -1;
        in[n] = at_variable(t, shape, values);
        if (!in[n]) return -1;
        if (values)
            values += at_count(shape);
        else
            fill_input(c, n, in[n]);
        while (*text == ' ') text++;
    }
    return n;
}

at_gradcheck_report at_case_check(const at_case *c, int order)
{
    at_gradcheck_report r = {.reason = "the shapes of the inputs can't be read"};
    at_tensor *in[AT_MAX_CASE_INPUTS];
    at_tape *t = at_open(ATTIC_F64, (uint64_t)c->seed + 1);
    int n = at_case_inputs(t, c, in);
    if (n >= 0)
        r = at_gradcheck(
            t, c->f, in, n, c->ctx,
            (at_gradcheck_options){.directions = c->directions, .order = order, .runs = 1});
    at_close(t);
    return r;
}

static double largest_difference(const at_tensor *y, const double *z)
{
    double off = 0, scale = 1;
    for (ptrdiff_t n = at_count(y->shape), i = 0; i < n; i++) {
        off = fmax(off, fabs(at_element(y, i) - z[i]));
        if (isnan(at_element(y, i))) return (double)INFINITY;
        scale = fmax(scale, fabs(z[i]));
    }
    return off / scale;
}

double at_case_values(const at_case *c)
{
    double off = (double)INFINITY;
    at_tensor *in[AT_MAX_CASE_INPUTS];
    if (!c->reference) return 0;
    at_tape *t = at_open(ATTIC_F64, (uint64_t)c->seed + 1);
    at_tensor *y = at_case_inputs(t, c, in) < 0 ? NULL : c->f(t, in, c->ctx);
    double *z = y ? malloc(((size_t)at_count(y->shape) + 1) * sizeof *z) : NULL;
    if (z) {
        c->reference(t, in, c->ctx, z);
        off = largest_difference(y, z);
    }
    free(z);
    at_close(t);
    return off;
}

const char *at_case_identities(const at_case *c, at_dtype real)
{
    static char said[512];
    at_tensor *in[AT_MAX_CASE_INPUTS];
    at_tape *t = at_open(real, (uint64_t)c->seed + 1);
    at_check_attention(t, true);
    at_tensor *y = at_case_inputs(t, c, in) < 0 ? NULL : c->f(t, in, c->ctx);
    if (y && y->wants_grad) at_backward_from(t, y, at_random(t, y->shape, at_normal(1)));
    snprintf(said, sizeof said, "%s", at_error(t));
    at_close(t);
    return said;
}
