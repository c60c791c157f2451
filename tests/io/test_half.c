/* test_half.c -- f16 and bf16 in files: kept bit by bit, or rounded where that is asked for. */
#include <math.h>

#include "io/bytes.h"
#include "tensors.h"

/* All patterns of 16 bits but NaNs, as a leaf. */
static at_tensor *all_values(at_tape *t, at_dtype dtype)
{
    at_tensor *x = at_blank(t, dtype, at_shape_of(256, 256));
    for (int i = 0; i < 1 << 16; i++) {
        ((uint16_t *)x->data)[i] = (uint16_t)i;
        if (isnan(at_element(x, i))) ((uint16_t *)x->data)[i] = 0;
    }
    return at_name(x, dtype == ATTIC_F16 ? "h" : "b");
}

START_TEST(safetensors_keep_all_values_of_both)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x[] = {at_name(at_bools(t, at_shape_of(3), NULL), "mask"), all_values(t, ATTIC_F16),
                      all_values(t, ATTIC_BF16), at_name(at_const(t, at_shape_of(2), NULL), "x")};
    ck_assert(at_tensors_save(t, scratch_path(), x, 4, (at_tensors_save_args){.checksum = true}));
    at_tensors *f = at_tensors_open(t, scratch_path());
    ck_assert_msg(at_tensors_verify(f), "%s", at_error(t));
    const char *order[] = {"x", "b", "h", "mask"}, *dtype[] = {"f32", "bf16", "f16", "bool"};
    for (int i = 0; i < 4; i++) { /* as the reference writes them: every tensor is aligned */
        ck_assert_str_eq(at_tensors_name(f, i), order[i]);
        ck_assert_str_eq(at_tensors_dtype(f, i), dtype[i]);
    }
    for (int i = 1; i < 3; i++) {
        at_tensor *same = at_blank(t, x[i]->dtype, x[i]->shape);
        ck_assert(at_tensors_load_into(f, x[i]->name, same));
        ck_assert(equal_bits(same, x[i]));
        ck_assert(equal_bits(at_tensors_load(f, x[i]->name), at_cast(t, x[i], ATTIC_REAL)));
    }
    at_tensor *b = at_blank(t, ATTIC_BF16, x[1]->shape);
    ck_assert(at_tensors_load_into(f, "h", b)); /* as many bytes, but other values */
    ck_assert(equal_bits(b, at_cast(t, x[1], ATTIC_BF16)));
    unlink(scratch_path());
    at_close(t);
}
END_TEST

START_TEST(reals_of_other_sizes_are_rounded_into_a_leaf_of_16_bits)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(2), (double[]){1.0 / 3, 70000}), "x");
    ck_assert(at_tensors_save(t, scratch_path(), &x, 1, (at_tensors_save_args){0}));
    at_tensors *f = at_tensors_open(t, scratch_path());
    at_tensor *b = at_blank(t, ATTIC_BF16, at_shape_of(2)), *h = at_blank(t, ATTIC_F16, b->shape);
    ck_assert(at_tensors_load_into(f, "x", b));
    ck_assert(equal_bits(b, at_cast(t, x, ATTIC_BF16)));
    ck_assert(!at_tensors_load_into(f, "x", h));
    ck_assert_ptr_nonnull(strstr(at_error(t), "element 1 is 70000, which f16 cannot hold"));
    at_clear_error(t);
    at_tensor *ids = at_name(at_ints(t, at_shape_of(2), NULL), "ids");
    ck_assert(at_tensors_save(t, scratch_path(), &ids, 1, (at_tensors_save_args){0}));
    ck_assert(!at_tensors_load_into(at_tensors_open(t, scratch_path()), "ids", h));
    ck_assert_ptr_nonnull(strstr(at_error(t), "it holds i32 [2], which f16 [2] cannot take"));
    unlink(scratch_path());
    at_close(t);
}
END_TEST

START_TEST(npy_keeps_f16_and_has_no_bf16)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *h = all_values(t, ATTIC_F16), *same = at_blank(t, ATTIC_F16, h->shape);
    char header[128] = "";
    ck_assert(at_npy_save(h, scratch_path()));
    ck_assert_int_eq(read_bytes(header, 127), 127);
    ck_assert_ptr_nonnull(strstr(header + 10, "'descr': '<f2', 'fortran_order': False"));
    ck_assert(at_npy_load_into(same, scratch_path()));
    ck_assert(equal_bits(same, h));
    ck_assert(equal_bits(at_npy_load(t, scratch_path()), at_cast(t, h, ATTIC_REAL)));
    ck_assert(!at_npy_save(all_values(t, ATTIC_BF16), scratch_path()));
    assert_error(t, "npy: NumPy has no bf16, but \"b\" [256,256] is bf16 (at_cast makes it f16 or "
                    "f32)");
    unlink(scratch_path());
    at_close(t);
}
END_TEST

SUITE(io_half, safetensors_keep_all_values_of_both,
      reals_of_other_sizes_are_rounded_into_a_leaf_of_16_bits, npy_keeps_f16_and_has_no_bf16)
