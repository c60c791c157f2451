/* test_mapped.c -- a model whose weights stay in the file: the same bits, and when they are copied. */
#include <stdio.h>
#include <string.h>

#include "tensor/arena.h"
#include "tensors.h"
#include "train/little.h"

static const at_model_config config = {.vocab = 60,
                                       .context = 16,
                                       .layers = 2,
                                       .heads = 2,
                                       .dim = 32,
                                       .norm = ATTIC_RMS,
                                       .act = ATTIC_SWIGLU,
                                       .bias = ATTIC_BIAS_NONE};

static const char *file(void)
{
    return little_path("m.safetensors");
}

/* Writes the file of a model that is drawn from this seed. */
static void save_model(at_dtype real, uint64_t seed, at_dtype dtype)
{
    at_tape *t = at_open(real, seed);
    at_model_make(t, config);
    ck_assert_msg(at_save(t, file(), (at_part_args){.dtype = dtype}), "%s", at_error(t));
    at_close(t);
}

static void begin_test(at_dtype real, at_dtype dtype)
{
    ck_assert_ptr_nonnull(little_folder());
    save_model(real, 1, dtype);
}

static at_tensor *logits_of(at_tape *t, const at_model *m)
{
    int32_t ids[16];
    for (int i = 0; i < 16; i++) ids[i] = (i * 7 + 3) % config.vocab;
    return at_model_logits(t, m, at_ints(t, at_shape_of(1, 16), ids), (at_model_args){0});
}

/* A tape with the model of the file, mapped or not; stored: what at_store_params is asked for. */
static at_model *opened(at_tape **t, bool mapped, at_dtype real, at_dtype stored)
{
    *t = at_open(real, 2);
    at_store_params(*t, stored);
    at_model *m = mapped ? at_model_open_mapped(*t, file()) : at_model_open(*t, file());
    ck_assert_msg(m, "%s", at_error(*t));
    return m;
}

static bool is_read_only(at_tensor *x)
{
    at_written(x);
    const bool refused = strstr(at_error(x->tape), "its elements are those of a mapped file");
    at_clear_error(x->tape);
    return refused;
}

/* Is the model the same, mapped and loaded?  And how many of its parameters are in the file? */
static int mapped_params(at_dtype real, at_dtype stored)
{
    at_tape *t, *u;
    at_model *m = opened(&t, true, real, stored), *n = opened(&u, false, real, stored);
    ck_assert(equal_bits(logits_of(t, m), logits_of(u, n)));
    ck_assert_uint_eq(at_draw(t).draw, at_draw(u).draw);
    int mapped = 0;
    size_t bytes = 0;
    for (int i = 0; i < at_param_count(t); i++) {
        at_tensor *x = at_param_at(t, i);
        const bool in_file = is_read_only(x);
        ck_assert_str_eq(x->name, at_param_at(u, i)->name);
        ck_assert(x->dtype == at_param_at(u, i)->dtype);
        ck_assert(x->wants_grad == (!in_file && !at_is_half(x->dtype)));
        ck_assert(!is_read_only(at_param_at(u, i)));
        mapped += in_file;
        bytes += in_file ? at_bytes(x) : 0;
    }
    const at_memory with = at_memory_of(t), without = at_memory_of(u);
    ck_assert_uint_ge(without.permanent, with.permanent + bytes - 4096);
    at_close(t), at_close(u);
    return mapped;
}

START_TEST(weights_of_the_tapes_dtype_stay_in_the_file_and_others_are_copied)
{
    const int matrices = 1 + 2 * 7, gains = 2 * 2 + 1; /* of two layers */
    begin_test(ATTIC_F32, ATTIC_REAL);
    ck_assert_int_eq(mapped_params(ATTIC_F32, ATTIC_REAL), matrices + gains);
    ck_assert_int_eq(mapped_params(ATTIC_F64, ATTIC_REAL), 0);
    ck_assert_int_eq(mapped_params(ATTIC_F32, ATTIC_BF16), gains);
    save_model(ATTIC_F64, 1, ATTIC_BF16);
    ck_assert_int_eq(mapped_params(ATTIC_F32, ATTIC_REAL), 0);
    ck_assert_int_eq(mapped_params(ATTIC_F32, ATTIC_BF16), matrices);
    ck_assert_int_eq(mapped_params(ATTIC_F64, ATTIC_BF16), matrices);
    little_remove();
}
END_TEST

/* Puts a space behind the header of a .safetensors file: each tensor moves by one byte. */
static void move_by_a_byte(void)
{
    static char bytes[1 << 20];
    FILE *f = fopen(file(), "rb");
    const size_t n = fread(bytes, 1, sizeof bytes, f),
                 header = 8 + (unsigned char)bytes[0] + 256u * (unsigned char)bytes[1];
    fclose(f);
    ck_assert(n < sizeof bytes && !bytes[2]);
    f = fopen(file(), "wb");
    unsigned length = (unsigned)header - 8 + 1;
    char *sum = strstr(bytes + 8, "crc32"); /* it is no longer right: under another key */
    memcpy(sum, "was32", 5);
    fputc((int)(length & 255), f), fputc((int)(length >> 8), f);
    fwrite(bytes + 2, 1, header - 2, f);
    fputc(' ', f);
    fwrite(bytes + header, 1, n - header, f);
    fclose(f);
}

START_TEST(weights_that_are_not_aligned_are_copied)
{
    begin_test(ATTIC_F32, ATTIC_REAL);
    move_by_a_byte();
    ck_assert_int_eq(mapped_params(ATTIC_F32, ATTIC_REAL), 0);
    little_remove();
}
END_TEST

START_TEST(a_file_that_takes_the_name_changes_nothing)
{
    at_tape *t, *u;
    begin_test(ATTIC_F32, ATTIC_REAL);
    at_model *m = opened(&t, true, ATTIC_F32, ATTIC_REAL);
    at_model *n = opened(&u, false, ATTIC_F32, ATTIC_REAL);
    save_model(ATTIC_F32, 9, ATTIC_REAL);
    ck_assert(equal_bits(logits_of(t, m), logits_of(u, n)));
    remove(file());
    ck_assert(equal_bits(logits_of(t, m), logits_of(u, n)));
    little_remove();
    at_close(t), at_close(u);
}
END_TEST

START_TEST(a_mapped_model_is_shared_and_adapted_and_checked)
{
    at_tape *t, *u = at_open(ATTIC_F32, 3);
    begin_test(ATTIC_F32, ATTIC_REAL);
    at_model *m = opened(&t, true, ATTIC_F32, ATTIC_REAL), *shared = at_model_share(u, m);
    ck_assert_msg(shared, "%s", at_error(u));
    ck_assert(equal_bits(logits_of(u, shared), logits_of(t, m)));
    ck_assert(is_read_only(shared->E));
    at_close(u);
    at_model_lora(t, m, (at_lora_args){.rank = 2});
    at_mark step = at_mark_here(t);
    double loss[2];
    for (int i = 0; i < 2; i++, at_rewind(t, step)) {
        at_tensor *y = at_mean(t, at_square(t, logits_of(t, m)));
        loss[i] = at_item(y);
        ck_assert(at_backward(t, y) && at_adamw(t, 0.01, (at_adamw_args){0}));
    }
    ck_assert(loss[1] < loss[0]);
    ck_assert(is_read_only(m->block[0].attention.q.W));
    little_remove();
    at_close(t);
}
END_TEST

static at_tensor *times_W(at_tape *t, at_tensor **in, void *ctx)
{
    return at_matmul(t, in[0], ctx);
}

START_TEST(a_gradient_check_does_not_write_to_the_file)
{
    at_tape *t;
    begin_test(ATTIC_F64, ATTIC_REAL);
    at_model *m = opened(&t, true, ATTIC_F64, ATTIC_REAL);
    at_tensor *W = m->block[0].attention.q.W;
    at_tensor *in[] = {at_random(t, at_shape_of(2, 32), at_normal(1)), W};
    in[0] = variable_like(t, in[0]);
    const at_gradcheck_report r = at_gradcheck(t, times_W, in, 2, W, (at_gradcheck_options){0});
    ck_assert_msg(r.verdict == ATTIC_PASS, "%s: %s", at_verdict_text(r.verdict), at_error(t));
    little_remove();
    at_close(t);
}
END_TEST

START_TEST(a_damaged_file_is_refused)
{
    begin_test(ATTIC_F32, ATTIC_REAL);
    FILE *f = fopen(file(), "r+b");
    fseek(f, -3, SEEK_END);
    fputc(1, f);
    fclose(f);
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_model_open_mapped(t, file()));
    ck_assert_ptr_nonnull(strstr(at_error(t), "its checksum is"));
    at_clear_error(t);
    ck_assert_ptr_null(at_model_open_mapped(t, little_path("none")));
    ck_assert_ptr_nonnull(strstr(at_error(t), "No such file"));
    little_remove();
    at_close(t);
}
END_TEST

START_TEST(a_file_that_cannot_be_mapped_is_read)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    FILE *f = fopen("/proc/self/status", "r"); /* a file of the kernel, without memory */
    const char *p = f ? at_file_map(t, f, 5, "status") : NULL;
    if (f) ck_assert_mem_eq(p, "Name:", 5);
    if (f) fclose(f);
    if ((f = fopen("/proc/self/comm", "r"))) {
        ck_assert_ptr_null(at_file_map(t, f, 1000, "comm"));
        assert_error(t, "cannot read comm: it ends early");
        fclose(f);
    }
    at_close(t);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    begin_test(ATTIC_F32, ATTIC_REAL);
    const at_model *m = NULL;
    ptrdiff_t n = 0;
    while (!m) {
        at_tape *t = at_open(ATTIC_F32, 2);
        at_fail_allocation(++n);
        m = at_model_open_mapped(t, file());
        at_fail_allocation(0);
        ck_assert(m || at_error_kind_of(t) == ATTIC_MEMORY_ERROR);
        if (m) ck_assert_ptr_nonnull(logits_of(t, m));
        at_close(t);
    }
    ck_assert_int_gt(n, 50);
    little_remove();
}
END_TEST

SUITE(train_mapped, weights_of_the_tapes_dtype_stay_in_the_file_and_others_are_copied,
      weights_that_are_not_aligned_are_copied, a_file_that_takes_the_name_changes_nothing,
      a_mapped_model_is_shared_and_adapted_and_checked, a_gradient_check_does_not_write_to_the_file,
      a_damaged_file_is_refused, a_file_that_cannot_be_mapped_is_read, every_allocation_may_fail)
