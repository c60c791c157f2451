/* test_half.c -- tensors of f16 and bf16: conversions, which ops read them, what they cost. */
#include "tensor/layout.h"
#include "tensors.h"

#include <math.h>

static const at_dtype stored[] = {ATTIC_F16, ATTIC_BF16};

static const char *printed(const at_tensor *x)
{
    static char text[512];
    FILE *f = tmpfile();
    at_print(x, f);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

/* ------------------------------------------------------------------ the tensor ----------------- */

START_TEST(a_cast_rounds_and_the_way_back_is_exact)
{
    const double x[] = {1, 1.0 / 3, -65504, 1e5, 1e-6, 0};
    const double f16[] = {1, 0.333251953125, -65504, (double)INFINITY, 17 * 0x1p-24, 0};
    const double bf16[] = {1, 0.333984375, -65536, 99840, 0x1.0cp-20, 0};
    for (at_tape *t = NULL; next_tape(&t);) {
        at_tensor *X = at_name(at_variable(t, at_shape_of(6), x), "X");
        at_tensor *h = at_cast(t, X, ATTIC_F16), *b = at_cast(t, X, ATTIC_BF16);
        ck_assert(h->dtype == ATTIC_F16 && b->dtype == ATTIC_BF16);
        ck_assert_uint_eq(at_bytes(h), 12);
        ck_assert_str_eq(at_text(b), "\"X\" [6]");
        ck_assert(!h->wants_grad);
        assert_values(h, f16, 0);
        assert_values(at_cast(t, h, ATTIC_REAL), f16, 0);
        assert_values(b, bf16, 0);
        assert_values(at_cast(t, b, at_real(t)), bf16, 0);
        ck_assert(equal_bits(at_cast(t, h, ATTIC_F16), h));
        at_tensor *small = at_const(t, at_shape_of(2), (double[]){0x1.01p-130, 1.5});
        assert_values(at_cast(t, at_cast(t, small, ATTIC_BF16), ATTIC_F16), ((double[]){0, 1.5}),
                      0);
    }
}
END_TEST

START_TEST(a_cast_is_between_reals_that_the_tape_knows)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_cast(t, at_ints(t, at_shape_of(2), NULL), ATTIC_F16));
    assert_error(t, "cast: x is i32 [2], but must be f16, bf16 or f32");
    at_clear_error(t);
    ck_assert_ptr_null(at_cast(t, at_const(t, at_shape_of(2), NULL), ATTIC_F64));
    assert_error(t, "cast: x can become f16, bf16 or f32, the real type of this tape, but not f64");
    at_close(t);
}
END_TEST

START_TEST(elements_are_set_got_compared_and_printed)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *h =
        at_cast(t, at_const(t, at_shape_of(3), (double[]){1.0 / 3, -0.5, (double)NAN}), ATTIC_F16);
    ck_assert_str_eq(printed(h), "[ 0.3333 -0.5        nan]\n"); /* as NumPy 1.24 */
    at_set(h, 0.1, 2);
    ck_assert(at_get(h, 2) == 0x1.998p-4);
    at_set(h, 65504, 0), at_set(h, 6e-8, 1), at_set(h, 1, 2);
    ck_assert_str_eq(printed(h), "[6.55e+04 5.96e-08 1.00e+00]\n");
    at_set(h, 60000, 0), at_set(h, 59.97, 1);
    ck_assert_str_eq(printed(h), "[6.000e+04 5.997e+01 1.000e+00]\n");
    at_tensor *b = at_cast(t, at_const(t, at_shape_of(), (double[]){3.14159}), ATTIC_BF16);
    ck_assert_str_eq(printed(b), "3.14\n");
    at_set(h, 65520, 0);
    assert_error(t, "set: f16 [3] cannot hold 65520");
    at_clear_error(t);

    at_tensor *x = at_random(t, at_shape_of(100), at_normal(1));
    ck_assert_int_eq(at_compare(at_cast(t, x, ATTIC_F16), x).similarity, ATTIC_CLOSE);
    ck_assert_int_eq(at_compare(at_cast(t, x, ATTIC_BF16), x).similarity, ATTIC_CLOSE);
    at_close(t);
}
END_TEST

START_TEST(ops_of_shapes_move_them)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 2; k++) {
            at_tensor *x = at_random(t, at_shape_of(3, 20, 5), at_normal(1));
            at_tensor *h = at_cast(t, x, stored[k]), *w = at_cast(t, h, ATTIC_REAL);
            at_tensor *moved[] = {at_transpose(t, h, 0, 1), at_slice(t, h, 1, 3, 9),
                                  at_concat(t, (at_tensor *[]){h, h}, 2, 1),
                                  at_reshape(t, h, at_shape_of(60, 5))};
            at_tensor *wide[] = {at_transpose(t, w, 0, 1), at_slice(t, w, 1, 3, 9),
                                 at_concat(t, (at_tensor *[]){w, w}, 2, 1),
                                 at_reshape(t, w, at_shape_of(60, 5))};
            for (int i = 0; i < 4; i++)
                ck_assert(equal_bits(at_cast(t, moved[i], ATTIC_REAL), wide[i]));
        }
}
END_TEST

START_TEST(every_other_op_refuses_them_and_says_what_to_do)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 2), NULL), *id = at_ints(t, at_shape_of(2), NULL);
    at_tensor *h = at_cast(t, x, ATTIC_BF16);
    for (int i = 0; i < 12; i++) {
        const at_tensor *y = i == 0   ? at_add(t, x, h)
                             : i == 1 ? at_exp(t, h)
                             : i == 2 ? at_sum(t, h)
                             : i == 3 ? at_softmax(t, h)
                             : i == 4
                                 ? at_layer_norm(t, x, at_reshape(t, h, at_shape_of(4)), NULL, 1)
                             : i == 5  ? at_rms_norm(t, h, NULL, 1)
                             : i == 6  ? at_cross_entropy(t, h, id, (at_cross_entropy_args){0})
                             : i == 7  ? at_matmul(t, h, x)
                             : i == 8  ? at_affine(t, h, x, NULL)
                             : i == 9  ? at_sdpa(t, h, x, x, (at_sdpa_args){0})
                             : i == 10 ? at_rope(t, h, (at_rope_args){0})
                                       : at_dropout(t, h, 0.5);
        ck_assert_msg(!y && strstr(at_error(t), "has dtype bf16 but must be f32 (at_cast converts"),
                      "%d: %s", i, at_error(t));
        at_clear_error(t);
    }
    ck_assert_ptr_null(
        at_affine(t, x, x, at_cast(t, at_const(t, at_shape_of(2), NULL), ATTIC_F16)));
    assert_error(t, "affine: b [2] has dtype f16 but must be f32 (at_cast converts it)");
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ products ------------------- */

/* y of x and frozen weights, and its gradient dx: for W as it is stored, and widened. */
typedef at_tensor *product(at_tape *t, at_tensor *x, at_tensor *W);

static at_tensor *matmul(at_tape *t, at_tensor *x, at_tensor *W)
{
    return at_matmul(t, x, W);
}
static at_tensor *matmul_transposed(at_tape *t, at_tensor *x, at_tensor *W)
{
    return at_matmul_t(t, x, false, at_transpose(t, W, -1, -2), true);
}
static at_tensor *affine(at_tape *t, at_tensor *x, at_tensor *W)
{
    at_tensor *b = at_const(t, at_shape_of(at_last(W->shape)), NULL);
    at_init_fill(b, at_normal(1), (at_stream){9, 9});
    return at_affine(t, x, W, b);
}

static void assert_same_product(at_tape *t, product *f, at_shape x, at_shape w)
{
    for (int k = 0; k < 2; k++) {
        at_tensor *X[] = {at_variable(t, x, NULL), at_variable(t, x, NULL)};
        for (int i = 0; i < 2; i++) at_init_fill(X[i], at_normal(1), (at_stream){4, 4});
        at_tensor *W = at_cast(t, at_random(t, w, at_normal(1)), stored[k]);
        at_tensor *y = f(t, X[0], W), *z = f(t, X[1], at_cast(t, W, ATTIC_REAL));
        ck_assert_msg(y && z, "%s", at_error(t));
        const at_tensor *dy = at_random(t, y->shape, at_normal(1));
        ck_assert(at_backward_from(t, y, dy) && at_backward_from(t, z, dy));
        at_tensor *dx = at_grad_copy(t, X[0]), *dz = at_grad_copy(t, X[1]);
#ifdef ATTIC_PLAIN_KERNELS
        ck_assert_int_ge(at_compare(y, z).similarity, ATTIC_CLOSE);
        ck_assert_int_ge(at_compare(dx, dz).similarity, ATTIC_CLOSE);
#else
        ck_assert(equal_bits(y, z));
        ck_assert(equal_bits(dx, dz));
#endif
    }
}

START_TEST(products_with_frozen_weights_have_the_bits_of_widened_ones)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        assert_same_product(t, matmul, at_shape_of(2, 3), at_shape_of(3, 4));
        assert_same_product(t, matmul, at_shape_of(5, 7, 300), at_shape_of(300, 140));
        assert_same_product(t, matmul, at_shape_of(2, 1, 4, 5), at_shape_of(3, 5, 6));
        assert_same_product(t, matmul, at_shape_of(4, 5), at_shape_of(3, 5, 6)); /* dX is a sum */
        assert_same_product(t, matmul_transposed, at_shape_of(1, 300), at_shape_of(300, 140));
        assert_same_product(t, matmul_transposed, at_shape_of(2, 4, 5), at_shape_of(2, 5, 6));
        assert_same_product(t, affine, at_shape_of(2, 3, 5), at_shape_of(5, 4));
        assert_same_product(t, affine, at_shape_of(1, 300), at_shape_of(300, 40));
        assert_same_product(t, affine, at_shape_of(2, 0), at_shape_of(0, 3));
    }
}
END_TEST

START_TEST(rows_of_a_stored_table_are_widened)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 2; k++) {
            at_tensor *table =
                at_cast(t, at_random(t, at_shape_of(9, 21), at_normal(1)), stored[k]);
            at_tensor *id = at_ints(t, at_shape_of(2, 2), (int32_t[]){8, 0, 3, 8});
            at_tensor *y = at_embedding(t, table, id);
            ck_assert(equal_bits(y, at_embedding(t, at_cast(t, table, ATTIC_REAL), id)));
            ck_assert(!y->wants_grad);
            at_set(id, 77, 0, 0);
            ck_assert(at_replay(t) && isnan(at_get(y, 0, 0, 0)));
        }
}
END_TEST

START_TEST(no_product_makes_a_whole_copy)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    enum { N = 2048 };
    at_tensor *x = at_variable(t, at_shape_of(3, N), NULL);
    at_tensor *W = at_blank(t, ATTIC_BF16, at_shape_of(N, N));
    memset(W->data, 0, at_bytes(W));
    const at_memory before = at_memory_of(t);
    at_tensor *y = at_affine(t, at_matmul_t(t, x, false, W, true), W, NULL);
    ck_assert(at_backward(t, at_sum(t, y)));
    const at_memory after = at_memory_of(t);
    const size_t whole = (size_t)N * N * sizeof(float);
    ck_assert_uint_lt(after.step + after.permanent - before.step - before.permanent, whole / 4);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ attention ------------------ */

START_TEST(attention_reads_stored_keys_and_values_as_if_they_were_widened)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 2; k++) {
            at_tensor *Q = at_random(t, at_shape_of(2, 4, 10, 8), at_normal(1));
            at_tensor *K = at_random(t, at_shape_of(2, 2, 300, 8), at_normal(1));
            at_tensor *V = at_random(t, at_shape_of(2, 2, 300, 19), at_normal(1));
            at_set(V, (double)INFINITY, 1, 1, 299, 3); /* behind the diagonal of the first rows */
            K = at_cast(t, K, stored[k]), V = at_cast(t, V, stored[k]);
            at_tensor *weights = NULL, *wide = NULL;
            at_sdpa_args with = {.causal = true, .align = ATTIC_ALIGN_BOTTOM_RIGHT, .softcap = 5};
            with.weights = &weights;
            at_tensor *O = at_sdpa(t, Q, K, V, with);
            with.weights = &wide;
            K = at_cast(t, K, ATTIC_REAL), V = at_cast(t, V, ATTIC_REAL);
            ck_assert(equal_bits(O, at_sdpa(t, Q, K, V, with)));
            ck_assert(equal_bits(weights, wide));
        }
}
END_TEST

START_TEST(attention_refuses_what_stored_keys_cannot_give)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(3, 2), NULL), *raw = NULL;
    at_tensor *h = at_cast(t, x, ATTIC_F16), *b = at_cast(t, x, ATTIC_BF16);
    at_tensor *q = at_variable(t, at_shape_of(3, 2), NULL);
    ck_assert_ptr_null(at_sdpa(t, x, h, b, (at_sdpa_args){0}));
    assert_error(t, "sdpa: K is f16 but V is bf16: they must be stored alike");
    at_clear_error(t);
    ck_assert_ptr_null(at_sdpa(t, q, h, h, (at_sdpa_args){0}));
    assert_error(t, "sdpa: K and V are f16, which is for inference, but Q wants a gradient");
    at_clear_error(t);
    at_tensor *bias = at_variable(t, at_shape_of(3, 3), NULL);
    ck_assert_ptr_null(at_sdpa(t, x, h, h, (at_sdpa_args){.bias = bias}));
    assert_error(t, "sdpa: K and V are f16, which is for inference, but bias wants a gradient");
    at_clear_error(t);
    ck_assert_ptr_null(at_sdpa(t, x, b, b, (at_sdpa_args){.path = ATTIC_PLAIN}));
    assert_error(t, "sdpa: K and V are bf16, which only the fused path reads, without raw scores");
    at_clear_error(t);
    ck_assert_ptr_null(at_sdpa(t, x, b, b, (at_sdpa_args){.scores = &raw}));
    assert_error(t, "sdpa: K and V are bf16, which only the fused path reads, without raw scores");
    at_close(t);
}
END_TEST

SUITE(ops_half, a_cast_rounds_and_the_way_back_is_exact,
      a_cast_is_between_reals_that_the_tape_knows, elements_are_set_got_compared_and_printed,
      ops_of_shapes_move_them, every_other_op_refuses_them_and_says_what_to_do,
      products_with_frozen_weights_have_the_bits_of_widened_ones,
      rows_of_a_stored_table_are_widened, no_product_makes_a_whole_copy,
      attention_reads_stored_keys_and_values_as_if_they_were_widened,
      attention_refuses_what_stored_keys_cannot_give)
