/* test_safetensors.c -- what is saved is what the independent writer of golden/safetensors.py saves. */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "attic_op.h"
#include "io/bytes.h"
#include "io/tensors.h"
#include "tensor/arena.h"

/* The tensors of "as attic writes it" in golden/tensors.py, on an f32 tape */
static int make_tensors(at_tape *t, at_tensor *x[5])
{
    const double w[] = {0, 0.25, 0.5, 0.75, 1, 1.25};
    x[0] = at_name(at_bools(t, at_shape_of(3), (bool[]){true, false, true}), "keep");
    x[1] = at_name(at_const(t, at_shape_of(2, 3), w), "w");
    x[2] = at_name(at_const(t, at_shape_of(), (double[]){7}), "s");
    x[3] = at_name(at_ints(t, at_shape_of(2), (int32_t[]){3, -4}), "ids");
    x[4] = at_name(at_const(t, at_shape_of(1), (double[]){-1.5}), "b");
    return 5;
}
static const at_metadata note[] = {{"step", "100"}, {"note", "a \"b\"\n\x1f \xc3\xa9"}};

START_TEST(the_bytes_are_those_of_the_format)
{
    static const char golden_header[] =
        "{\"__metadata__\":{\"step\":\"100\",\"note\":\"a \\\"b\\\"\\n\\u001f \xc3\xa9\"},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
        "\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8]},"
        "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]},"
        "\"ids\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[32,40]},"
        "\"keep\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[40,43]}}";
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x[5];
    char bytes[1024];
    ck_assert(at_tensors_save(t, scratch_path(), x, make_tensors(t, x),
                              (at_tensors_save_args){.metadata = note, .n_metadata = 2}));
    int n = read_bytes(bytes, sizeof bytes), header = (int)sizeof golden_header - 1;
    ck_assert_int_eq((unsigned char)bytes[0] + 256 * bytes[1], (header + 7) / 8 * 8);
    ck_assert_mem_eq(bytes + 8, golden_header, header);
    ck_assert_int_eq(n, 8 + (header + 7) / 8 * 8 + 43);
    ck_assert_mem_eq(bytes + n - 35, x[1]->data, 24);
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* The example of the reference implementation's own tests */
START_TEST(the_header_is_padded_to_eight_bytes)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const double v[] = {0, 1, 2, 3, 4, 5};
    at_tensor *x = at_const(t, at_shape_of(1, 1, 2, 3), v);
    char bytes[128];
    ck_assert(at_tensors_save(t, scratch_path(), &x, 1,
                              (at_tensors_save_args){.names = (const char *[]){"attn0"}}));
    ck_assert_int_eq(read_bytes(bytes, sizeof bytes), 8 + 72 + 24);
    ck_assert_mem_eq(bytes,
                     "H\0\0\0\0\0\0\0{\"attn0\":{\"dtype\":\"F32\",\"shape\":[1,1,2,3],"
                     "\"data_offsets\":[0,24]}}       \0\0\0\0\0\0\x80\x3f",
                     88);
    ck_assert(at_tensors_save(t, scratch_path(), NULL, 0, (at_tensors_save_args){0}));
    ck_assert_int_eq(read_bytes(bytes, sizeof bytes), 16);
    ck_assert_mem_eq(bytes, "\10\0\0\0\0\0\0\0{}      ", 16);
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(what_was_saved_comes_back_bit_for_bit)
{
    for (int checksum = 0; checksum < 2; checksum++) {
        at_tape *t = at_open(checksum ? ATTIC_F32 : ATTIC_F64, 1);
        at_tensor *x[3];
        static const char *const names[] = {"a \"quoted\" \\ name\n", NULL,
                                            "gr\xc3\xb6\xc3\x9f"
                                            "e"};
        x[0] = at_random(t, at_shape_of(70, 90), at_normal(1)); /* more than one block */
        x[1] = at_param(t, "w", at_shape_of(3), at_uniform(1));
        x[2] = at_const(t, at_shape_of(2, 0, 3), NULL);
        at_tensors_save_args args = {.names = names, .checksum = checksum};
        ck_assert_msg(at_tensors_save(t, scratch_path(), x, 3, args), "%s", at_error(t));
        at_tensors *f = at_tensors_open(t, scratch_path());
        for (int i = 0; i < 3; i++) {
            const char *name = names[i] ? names[i] : "w";
            at_tensor *y = at_tensors_load(f, name);
            ck_assert_msg(y, "%s", at_error(t));
            ck_assert_str_eq(y->name, name);
            ck_assert(at_same_shape(x[i]->shape, y->shape));
            ck_assert_mem_eq(x[i]->data, y->data, at_bytes(x[i]));
        }
        ck_assert_int_eq(at_tensors_verify(f), checksum);
        at_close(t);
    }
    remove(scratch_path());
}
END_TEST

START_TEST(a_file_without_a_checksum_cannot_be_verified)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x[5];
    char message[256];
    at_tensors_save(t, scratch_path(), x, make_tensors(t, x), (at_tensors_save_args){0});
    ck_assert(!at_tensors_verify(at_tensors_open(t, scratch_path())));
    snprintf(message, sizeof message, "safetensors: %s: it has no checksum, the metadata \"crc32\"",
             scratch_path());
    ck_assert_str_eq(at_error(t), message);
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(what_cannot_be_saved_is_refused_and_leaves_no_file)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(2), at_zeros());
    at_tensor *nameless = at_const(t, at_shape_of(2, 3), NULL);
    const struct {
        at_tensor *x[2];
        at_tensors_save_args args;
        const char *message;
    } wrong[] = {
        {{w, nameless}, {0}, "tensors: x[1], [2,3], has no name"},
        {{w, w}, {0}, "tensors: two tensors have the name \"w\""},
        {{w, NULL}, {0}, "tensors: x[1] is NULL"},
        {{w, nameless},
         {.names = (const char *[]){NULL, "__metadata__"}},
         "tensors: no tensor can be named \"__metadata__\""},
        {{w, nameless},
         {.names = (const char *[]){NULL, "\xff"}},
         "tensors: the name of x[1], \"\\xFF\", is not UTF-8"},
        {{w, nameless},
         {.names = (const char *[]){"a", "b"}, .n_metadata = 1},
         "tensors: there are 1 metadata at NULL"},
        {{w, nameless},
         {.names = (const char *[]){"a", "b"},
          .metadata = &(at_metadata){"k", NULL},
          .n_metadata = 1},
         "tensors: metadata[0] has no value"},
        {{w, nameless},
         {.names = (const char *[]){"a", "b"},
          .metadata = &(at_metadata){"k", "\xc0\xaf"},
          .n_metadata = 1},
         "tensors: metadata[0], \"k\", is not UTF-8"},
        {{w, nameless},
         {.names = (const char *[]){"a", "b"},
          .metadata = (at_metadata[]){{"k", "1"}, {"k", "2"}},
          .n_metadata = 2},
         "tensors: two metadata have the key \"k\""},
        {{w, nameless},
         {.names = (const char *[]){"a", "b"},
          .metadata = &(at_metadata){"crc32", ""},
          .n_metadata = 1,
          .checksum = true},
         "tensors: two metadata have the key \"crc32\""},
    };
    remove(scratch_path());
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert(!at_tensors_save(t, scratch_path(), wrong[i].x, 2, wrong[i].args));
        ck_assert_str_eq(at_error(t), wrong[i].message);
        ck_assert_int_eq(at_error_kind_of(t), ATTIC_USER_ERROR);
        ck_assert_int_ne(access(scratch_path(), F_OK), 0);
        at_clear_error(t);
    }
    ck_assert(!at_tensors_save(t, scratch_path(), &w, -1, (at_tensors_save_args){0}));
    ck_assert_str_eq(at_error(t), "tensors: -1 tensors cannot be saved");
    at_clear_error(t);
    ck_assert(!at_tensors_save(t, "/nonexistent/x", &w, 1, (at_tensors_save_args){0}));
    ck_assert_str_eq(at_error(t), "cannot create /nonexistent/x: No such file or directory");
    at_close(t);
}
END_TEST

START_TEST(a_disk_that_is_full_leaves_the_old_file)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *large = at_name(at_const(t, at_shape_of(100000), NULL), "large");
    const char *path = write_bytes("old", 3);
    struct rlimit before, small = {1 << 16, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails */
    setrlimit(RLIMIT_FSIZE, &small);
    ck_assert(!at_tensors_save(t, path, &large, 1, (at_tensors_save_args){0}));
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
    char bytes[8];
    ck_assert_int_eq(read_bytes(bytes, sizeof bytes), 3);
    at_close(t);
    remove(path);
}
END_TEST

static bool run_saving(void)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x[5] = {0};
    int n = make_tensors(t, x);
    at_tensors_save_args args = {.metadata = note, .n_metadata = 2, .checksum = true};
    bool through = at_tensors_save(t, scratch_path(), x, n, args);
    ck_assert_int_eq(through, t && at_ok(t));
    if (t && !through) ck_assert_int_eq(at_error_kind_of(t), ATTIC_MEMORY_ERROR);
    at_close(t);
    return through;
}

START_TEST(every_allocation_of_saving_may_fail)
{
    ptrdiff_t n = 0;
    remove(scratch_path());
    do {
        ck_assert_int_ne(access(scratch_path(), F_OK), 0);
        at_fail_allocation(++n);
    } while (!run_saving() && n < 1000);
    at_fail_allocation(0);
    ck_assert_int_gt(n, 10);
    ck_assert_int_eq(access(scratch_path(), F_OK), 0);
    remove(scratch_path());
}
END_TEST

SUITE(io_safetensors, the_bytes_are_those_of_the_format, the_header_is_padded_to_eight_bytes,
      what_was_saved_comes_back_bit_for_bit, a_file_without_a_checksum_cannot_be_verified,
      what_cannot_be_saved_is_refused_and_leaves_no_file, a_disk_that_is_full_leaves_the_old_file,
      every_allocation_of_saving_may_fail)
