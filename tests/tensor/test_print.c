/* test_print.c -- at_print writes what NumPy's print() writes, to the byte. */
#include "tensor/layout.h"
#include "tensor/print.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/tape.h"
#include "test.h"

typedef struct {
    at_dtype dtype;
    at_shape shape;
    bool affine; /* element i is values[0] + i values[1] */
    const double *values;
    const char *text;
} golden_print;

static const golden_print golden[] = {
#include "golden/print.inc"
};
enum { N_GOLDEN = sizeof golden / sizeof *golden };

static char *printed(const at_tensor *x, void (*print)(const at_tensor *, FILE *))
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    print(x, f);
    fclose(f);
    return text;
}

/* A tensor without a tape; its data must be freed. */
static at_tensor tensor_of(const golden_print *g)
{
    at_tensor x = {.dtype = g->dtype, .shape = g->shape};
    x.data = malloc(at_bytes(&x) + 1);
    for (ptrdiff_t i = 0; i < at_count(x.shape); i++) {
        volatile double product =
            g->affine ? (double)i * g->values[1] : 0; /* no fused multiply-add */
        at_store(x.dtype, x.data, i, g->affine ? g->values[0] + product : g->values[i]);
    }
    return x;
}

static void check_golden(bool (*choose)(const golden_print *))
{
    int n = 0;
    for (int i = 0; i < N_GOLDEN; i++) {
        if (!choose(&golden[i])) continue;
        at_tensor x = tensor_of(&golden[i]);
        char *text = printed(&x, at_print);
        ck_assert_msg(strcmp(text, golden[i].text) == 0, "case %d, %s %s:\n%sbut NumPy has\n%s", i,
                      at_dtype_text(x.dtype), at_shape_text(x.shape), text, golden[i].text);
        free(text);
        free(x.data);
        n++;
    }
    ck_assert_int_gt(n, 0);
}

static bool is_scalar(const golden_print *g)
{
    return g->shape.ndim == 0;
}

static bool is_whole(const golden_print *g)
{
    return g->shape.ndim > 0 && at_count(g->shape) <= 1000;
}

static bool is_summarised(const golden_print *g)
{
    return at_count(g->shape) > 1000;
}

START_TEST(scalars_print_as_in_numpy)
{
    check_golden(is_scalar);
}
END_TEST

START_TEST(tensors_print_as_in_numpy)
{
    check_golden(is_whole);
}
END_TEST

START_TEST(large_tensors_are_summarised_as_in_numpy)
{
    check_golden(is_summarised);
}
END_TEST

START_TEST(what_is_not_there_is_said_to_be_missing)
{
    at_tensor x = {.dtype = ATTIC_F32, .shape = at_shape_of(2), .data = (float[]){1, 2}};
    at_tensor gone = {.dtype = ATTIC_F32, .shape = at_shape_of(2)};
    char *text[] = {printed(NULL, at_print), printed(NULL, at_print_grad),
                    printed(&x, at_print_grad), printed(&gone, at_print)};
    ck_assert_str_eq(text[0], "NULL\n");
    ck_assert_str_eq(text[1], "NULL\n");
    ck_assert_str_eq(text[2], "(no gradient)\n");
    ck_assert_str_eq(text[3], "(its memory was reused by a backward)\n");
    for (int i = 0; i < 4; i++) free(text[i]);
}
END_TEST

START_TEST(a_gradient_prints_like_a_tensor)
{
    at_tensor x = {.dtype = ATTIC_F64,
                   .shape = at_shape_of(2),
                   .data = (double[]){1, 2},
                   .grad = (double[]){0.5, -0.25}};
    char *text = printed(&x, at_print_grad);
    ck_assert_str_eq(text, "[ 0.5  -0.25]\n");
    free(text);
}
END_TEST

START_TEST(a_comma_in_the_locale_does_not_print)
{
    use_decimal_comma();
    at_tensor x = {.dtype = ATTIC_F64, .shape = at_shape_of(2), .data = (double[]){1.5, -0.25}};
    char *text = printed(&x, at_print);
    ck_assert_str_eq(text, "[ 1.5  -0.25]\n");
    free(text);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

SUITE(tensor_print, scalars_print_as_in_numpy, tensors_print_as_in_numpy,
      large_tensors_are_summarised_as_in_numpy, what_is_not_there_is_said_to_be_missing,
      a_gradient_prints_like_a_tensor, a_comma_in_the_locale_does_not_print)
