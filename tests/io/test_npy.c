/* test_npy.c -- files of NumPy are read, ours are those of NumPy, and no damage gets through. */
#include "io/npy.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/op.h"
#include "autograd/file.h"
#include "io/bytes.h"
#include "tensor/arena.h"

typedef struct {
    const char *name;
    int size;
    const char *bytes;
    at_dtype dtype; /* as loaded on an f64 tape; 0 if it must be refused */
    at_shape shape;
    const double *values;
} golden_file;

static const golden_file golden[] = {
#include "golden/npy.inc"
};
enum { N_FILES = sizeof golden / sizeof *golden };

static const golden_file *file_named(const char *name)
{
    for (int i = 0; i < N_FILES; i++)
        if (strcmp(golden[i].name, name) == 0) return &golden[i];
    ck_abort_msg("there is no file \"%s\"", name);
    return NULL;
}

static at_tensor *load_golden(at_tape *t, const golden_file *g)
{
    return at_npy_load(t, write_bytes(g->bytes, g->size));
}

START_TEST(what_numpy_wrote_is_read)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    int n = 0;
    for (int i = 0; i < N_FILES; i++) {
        const golden_file *g = &golden[i];
        if (!g->values) continue;
        at_tensor *x = load_golden(t, g);
        ck_assert_msg(x, "%s: %s", g->name, at_error(t));
        ck_assert_msg(x->dtype == g->dtype, "%s: %s", g->name, at_dtype_text(x->dtype));
        ck_assert_msg(at_same_shape(x->shape, g->shape), "%s: %s", g->name, at_text(x));
        for (ptrdiff_t k = 0; k < at_count(x->shape); k++)
            ck_assert_msg(at_element(x, k) == g->values[k] ||
                              (isnan(at_element(x, k)) && isnan(g->values[k])),
                          "%s: element %td is %g, not %g", g->name, k, at_element(x, k),
                          g->values[k]);
        n++;
    }
    ck_assert_int_ge(n, 35);
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* Which is another one on a big-endian machine: no file of golden/npy.inc can say so. */
START_TEST(an_equals_sign_means_the_byte_order_of_this_machine)
{
    static const char header[] =
        "\x93NUMPY\1\0\63\0{'descr':'=f8','fortran_order':False,'shape':(3,)}\n";
    const double values[] = {1, -2, 3e100};
    char bytes[sizeof header - 1 + sizeof values];
    memcpy(bytes, header, sizeof header - 1);
    memcpy(bytes + sizeof header - 1, values, sizeof values);
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_npy_load(t, write_bytes(bytes, sizeof bytes));
    ck_assert_msg(x, "%s", at_error(t));
    assert_all_close(3, (const double *)x->data, values, 0);
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(what_is_no_array_of_numbers_is_refused_with_a_reason)
{
    static const struct {
        const char *name, *reason;
    } expected[] = {
        {"objects", "it holds Python objects, and only Python can unpickle them"},
        {"records", "it holds records with fields, not numbers"},
        {"complex", "its dtype \"<c16\" is none of f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1"},
        {"text", "its dtype \"<U3\" is none of f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1"},
        {"dates", "its dtype \"<M8[D]\" is none of f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1"},
        {"nine dims", "it has more than 8 dimensions"},
        {"too large for i32", "element 1 is 3000000000, which i32 cannot hold"},
        {"too large for i32, unsigned",
         "element 0 is 9.2233720368547758e+18, which i32 cannot hold"},
        {"nothing", "it ends early"},
        {"text file", "it is no .npy file"},
        {"magic only", "it ends early"},
        {"version 4", "its version 4.0 is unknown"},
        {"no keys", "its header lacks a key"},
        {"two keys", "its header lacks a key"},
        {"a key twice", "its header has two keys \"descr\""},
        {"an unknown key", "its header has an unknown key \"x\""},
        {"a number as shape", "byte 53 of its header should be a shape"},
        {"a negative dim", "byte 51 of its header should be a dimension"},
        {"a dim beyond int", "a dimension is larger than 2147483647"},
        {"a dim of 400 digits", "a dimension is larger than 2147483647"},
        {"a product of 2^64", "its shape [65536,65536,65536,65536] is impossible"},
        {"a product of 2^61", "its shape [2147483647,1073741824] is impossible"},
        {"more than there is", "its shape [1000000] needs 8000000 bytes, but 8 follow"},
        {"less than there is", "its shape [1] needs 8 bytes, but 16 follow"},
        {"no end", "byte 14 of its header should be the end of a string"},
        {"no comma", "byte 16 of its header should be a comma or the end of the dictionary"},
        {"no commas in shape", "byte 53 of its header should be a comma or the end of the shape"},
        {"text after the end", "byte 56 of its header should be its end"},
        {"zeros", "byte 0 of its header should be a dictionary"},
        {"deep brackets", "byte 1 of its header should be a string"},
        {"a long header", "its header is longer than 10000 bytes"},
        {"a header of 64 KiB more", "its header is longer than 10000 bytes"},
        {"a header of 4 GiB", "its header is longer than 10000 bytes"},
        {"not a bool", "byte 34 of its header should be True or False"},
        {"an escape", "byte 3 of its header should be a known word"},
    };
    at_tape *t = at_open(ATTIC_F64, 1);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char message[256];
        snprintf(message, sizeof message, "npy: %s: %s", scratch_path(), expected[i].reason);
        ck_assert_ptr_null(load_golden(t, file_named(expected[i].name)));
        ck_assert_str_eq(at_error(t), message);
        ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
        at_clear_error(t);
    }
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(reals_become_those_of_the_tape)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = load_golden(t, file_named("<f8"));
    ck_assert_int_eq(x->dtype, ATTIC_F32);
    ck_assert(at_get(x, 0, 1) == -2);
    ck_assert_ptr_null(load_golden(t, file_named("too large for f32")));
    ck_assert_ptr_nonnull(strstr(at_error(t), "element 1 is 1.0000000000000001e+300, which f32"));
    at_clear_error(t);
    x = load_golden(t, file_named("not finite")); /* which f32 can hold */
    ck_assert(isnan(at_get(x, 0)) && at_get(x, 1) == (double)INFINITY);
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* Saves x and compares with what NumPy wrote. */
static void check_saved(const at_tensor *x, const char *name)
{
    const golden_file *g = file_named(name);
    char bytes[4096];
    ck_assert(at_npy_save(x, scratch_path()));
    int n = read_bytes(bytes, sizeof bytes);
    ck_assert_int_eq(n, g->size);
    ck_assert_mem_eq(bytes, g->bytes, n);
}

START_TEST(what_is_saved_is_what_numpy_would_save)
{
    at_tape *t = at_open(ATTIC_F64, 1), *t32 = at_open(ATTIC_F32, 1);
    static const char *const same[] = {"<f8",        "<i4",    "b1",
                                       "eight dims", "scalar", "empty with dims"};
    for (int i = 0; i < 6; i++) check_saved(load_golden(t, file_named(same[i])), same[i]);
    check_saved(load_golden(t32, file_named("<f4")), "<f4");
    check_saved(load_golden(t32, file_named(">f4")), "<f4");
    at_close(t);
    at_close(t32);
    remove(scratch_path());
}
END_TEST

START_TEST(a_parameter_comes_back_bit_for_bit)
{
    at_tape *t = at_open(ATTIC_F32, 7);
    at_tensor *w = at_param(t, "w", at_shape_of(70, 50), at_normal(1)); /* more than one block */
    at_tensor *copy = at_param(t, "copy", at_shape_of(70, 50), at_zeros());
    ck_assert(at_npy_save(w, scratch_path()));
    ck_assert(at_npy_load_into(copy, scratch_path()));
    ck_assert_mem_eq(copy->data, w->data, at_bytes(w));
    ck_assert_int_eq(copy->version, 1);
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(another_shape_or_type_does_not_go_into_a_tensor)
{
    at_tape *t = at_open(ATTIC_F32, 7);
    at_tensor *w = at_param(t, "w", at_shape_of(2, 2), at_zeros());
    char message[256];
    load_golden(t, file_named("<f4"));
    ck_assert(!at_npy_load_into(w, scratch_path()));
    snprintf(message, sizeof message,
             "npy: %s: it holds f32 [2,3], which f32 \"w\" [2,2] cannot take", scratch_path());
    ck_assert_str_eq(at_error(t), message);
    at_clear_error(t);

    at_tensor *ids = at_ints(t, at_shape_of(2, 3), NULL);
    ck_assert(!at_npy_load_into(ids, scratch_path()));
    snprintf(message, sizeof message, "npy: %s: it holds f32 [2,3], which i32 [2,3] cannot take",
             scratch_path());
    ck_assert_str_eq(at_error(t), message);
    ck_assert(!at_npy_load_into(NULL, scratch_path()));
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* Loads the scratch file; it is loaded or refused, but nothing else happens. */
static void try_damaged(at_tape *t, int size)
{
    at_mark m = at_mark_here(t);
    size_t before = at_memory_of(t).step;
    at_tensor *x = at_npy_load(t, scratch_path());
    ck_assert((x != NULL) == at_ok(t));
    if (!x) ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
    ck_assert_uint_lt(at_memory_of(t).step - before, 8 * (size_t)size + 1024);
    at_clear_error(t);
    at_rewind(t, m);
}

START_TEST(a_file_cut_anywhere_is_refused)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    for (int i = 0; i < N_FILES; i++) {
        if (!golden[i].values) continue;
        int fd = open_scratch(golden[i].bytes, golden[i].size);
        for (int size = golden[i].size - 1; size >= 0; size--) {
            ck_assert_int_eq(ftruncate(fd, size), 0);
            ck_assert_ptr_null(at_npy_load(t, scratch_path()));
            ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
            at_clear_error(t);
        }
        close(fd);
    }
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(no_damaged_byte_does_harm)
{
    static const unsigned char flip[] = {0x01, 0x02, 0x08, 0x10, 0x20, 0x80, 0xff};
    static const char *const name[] = {"<f8", "fortran 3", "version 2", "other spellings"};
    at_tape *t = at_open(ATTIC_F64, 1);
    for (int i = 0; i < 4; i++) {
        const golden_file *g = file_named(name[i]);
        int fd = open_scratch(g->bytes, g->size);
        for (int at = 0; at < g->size; at++) {
            for (int k = 0; k < 7; k++) {
                overwrite(fd, at, (const char[]){(char)(g->bytes[at] ^ flip[k])}, 1);
                try_damaged(t, g->size);
            }
            overwrite(fd, at, g->bytes + at, 1);
        }
        close(fd);
    }
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* A header whose words are mostly the right ones reaches deeper than single bytes do. */
static int scrambled_header(char bytes[512], at_stream s)
{
    static const char *const right[] = {"{", "'descr'", ":", "'<f8'",   ",", "'fortran_order'",
                                        ":", "False",   ",", "'shape'", ":", "(",
                                        "1", ",",       ")", "}"};
    static const char *const wrong[] = {
        "{", "}",       "(",     ")",    ":",    ",",          " ",          "\"",
        "0", "'descr'", "'|b1'", "'|O'", "True", "4294967296", "2147483647", "'shape'"};
    int n = 10;
    memcpy(bytes, "\x93NUMPY\x01", 8);
    for (uint64_t k = 0; k < 16; k++) {
        bool keep = at_random_unit(s, 2 * k) < 0.9;
        int other = (int)(16 * at_random_unit(s, 2 * k + 1));
        n += snprintf(bytes + n, (size_t)(512 - n), "%s", keep ? right[k] : wrong[other]);
    }
    bytes[8] = (char)(n - 10);
    bytes[9] = 0;
    memset(bytes + n, 0, 8);
    return n + 8;
}

START_TEST(no_scrambled_header_does_harm)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    int fd = open_scratch("", 0);
    for (uint64_t round = 0; round < 3000; round++) {
        char bytes[512];
        int n = scrambled_header(bytes, (at_stream){99, round});
        overwrite(fd, 0, bytes, n);
        ck_assert_int_eq(ftruncate(fd, n), 0);
        try_damaged(t, n);
    }
    close(fd);
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(what_cannot_be_opened_is_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert_ptr_null(at_npy_load(t, "/nonexistent/x.npy"));
    ck_assert_str_eq(at_error(t), "cannot open /nonexistent/x.npy: No such file or directory");
    at_clear_error(t);
    ck_assert_ptr_null(at_npy_load(t, "/"));
    ck_assert_str_eq(at_error(t), "cannot open /: it is not a regular file");
    at_clear_error(t);
    ck_assert_ptr_null(at_npy_load(t, "/dev/zero"));
    ck_assert_str_eq(at_error(t), "cannot open /dev/zero: it is not a regular file");
    at_clear_error(t);
    ck_assert_ptr_null(at_npy_load(t, NULL));
    ck_assert_str_eq(at_error(t), "file: the path is NULL");
    ck_assert_ptr_null(at_npy_load(t, "/")); /* the first error stays */
    ck_assert_str_eq(at_error(t), "file: the path is NULL");
    ck_assert_ptr_null(at_npy_load(NULL, "/"));
    at_close(t);
}
END_TEST

START_TEST(a_disk_that_is_full_is_noticed)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *small = at_const(t, at_shape_of(2), NULL);
    at_tensor *large = at_const(t, at_shape_of(100000), NULL);
    ck_assert(!at_npy_save(small, "/nonexistent/x.npy"));
    ck_assert_str_eq(at_error(t), "cannot create /nonexistent/x.npy: No such file or directory");
    at_clear_error(t);
    if (access("/dev/full", W_OK) == 0) {
        ck_assert(!at_npy_save(small, "/dev/full")); /* found by the close */
        ck_assert_str_eq(at_error(t), "cannot write /dev/full: No space left on device");
        at_clear_error(t);
        ck_assert(!at_npy_save(large, "/dev/full")); /* found on the way */
        ck_assert_str_eq(at_error(t), "cannot write /dev/full: a write failed; is the disk full?");
    }
    ck_assert(!at_npy_save(NULL, "/no/x.npy"));
    at_close(t);
}
END_TEST

START_TEST(a_pipe_without_a_writer_is_refused_at_once)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(2), at_zeros());
    char message[256];
    snprintf(message, sizeof message, "cannot open %s: it is not a regular file", scratch_path());
    remove(scratch_path());
    ck_assert_int_eq(mkfifo(scratch_path(), 0600), 0);
    ck_assert_ptr_null(at_npy_load(t, scratch_path()));
    ck_assert_str_eq(at_error(t), message);
    at_clear_error(t);
    ck_assert(!at_npy_load_into(w, scratch_path()));
    ck_assert_str_eq(at_error(t), message);
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* A folder with nothing in it */
static const char *empty_folder(void)
{
    static char path[SCRATCH_PATH];
    ck_assert_ptr_nonnull(scratch_folder(path));
    return path;
}

static int files_in(const char *folder)
{
    int n = -2; /* . and .. */
    DIR *d = opendir(folder);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

START_TEST(a_file_that_cannot_be_written_keeps_what_it_held)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *old = at_param(t, "old", at_shape_of(3), at_normal(1));
    at_tensor *large = at_const(t, at_shape_of(100000), NULL);
    const char *folder = empty_folder();
    char path[SCRATCH_PATH + 8];
    snprintf(path, sizeof path, "%s/x.npy", folder);
    ck_assert(at_npy_save(old, path));
    struct rlimit before, small = {1 << 16, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails */
    setrlimit(RLIMIT_FSIZE, &small);
    ck_assert(!at_npy_save(large, path));
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_ptr_nonnull(strstr(at_error(t), "cannot write "));
    at_clear_error(t);
    at_tensor *x = at_npy_load(t, path);
    ck_assert_mem_eq(x->data, old->data, at_bytes(old));
    ck_assert_int_eq(files_in(folder), 1);
    at_close(t);
    remove(path);
    remove(folder);
}
END_TEST

START_TEST(a_file_of_a_failed_tape_does_not_replace_the_old_one)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const char *path = write_bytes("old", 3);
    FILE *f = at_file_create(t, path);
    fputs("half", f);
    at_fail(t, ATTIC_USER_ERROR, "on the way");
    ck_assert(!at_file_close(t, f, path));
    f = fopen(path, "rb");
    char text[8] = "";
    ck_assert_int_eq((int)fread(text, 1, sizeof text, f), 3);
    ck_assert_str_eq(text, "old");
    fclose(f);
    at_close(t);
    remove(path);
}
END_TEST

static int mode_of(const char *path)
{
    struct stat about;
    ck_assert_int_eq(stat(path, &about), 0);
    return about.st_mode & 0777;
}

START_TEST(permissions_are_those_that_fopen_would_give)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(3), NULL);
    remove(scratch_path());
    mode_t before = umask(027);
    ck_assert(at_npy_save(x, scratch_path()));
    ck_assert_int_eq(mode_of(scratch_path()), 0640);
    for (int i = 0; i < 2; i++) { /* those that an older file has stay */
        chmod(scratch_path(), i ? 0666 : 0600);
        ck_assert(at_npy_save(x, scratch_path()));
        ck_assert_int_eq(mode_of(scratch_path()), i ? 0666 : 0600);
    }
    umask(before);
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(links_stay_links)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(3), NULL);
    const char *folder = empty_folder();
    char file[SCRATCH_PATH + 80], name[SCRATCH_PATH + 80];
    snprintf(file, sizeof file, "%s/file", folder);
    snprintf(name, sizeof name, "%s/name", folder);
    for (int hard = 0; hard < 2; hard++) {
        remove(file);
        ck_assert(at_npy_save(at_const(t, at_shape_of(2), NULL), file));
        ck_assert_int_eq(hard ? link(file, name) : symlink(file, name), 0);
        ck_assert(at_npy_save(x, name));
        ck_assert_int_eq(at_npy_load(t, file)->shape.dim[0], 3);
        ck_assert_int_eq(files_in(folder), 2);
        remove(name);
    }
    at_close(t);
    remove(file);
    remove(folder);
}
END_TEST

START_TEST(a_file_closed_under_another_name_is_an_error)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    FILE *f = at_file_create(t, scratch_path());
    ck_assert(!at_file_close(t, f, "/no/other.npy"));
    ck_assert_str_eq(at_error(t), "file: what is closed as /no/other.npy was not created as that");
    at_clear_error(t);
    f = at_file_create(t, scratch_path()); /* what was left behind is not in the way */
    ck_assert(at_file_close(t, f, scratch_path()));
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(running_out_of_memory_is_no_file_error)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    for (int n = 1; n <= 2; n++) { /* the tensor, its data */
        at_fail_allocation(n);
        ck_assert_ptr_null(load_golden(t, file_named("<f8")));
        at_fail_allocation(0);
        ck_assert_int_eq(at_error_kind_of(t), ATTIC_MEMORY_ERROR);
        at_clear_error(t);
    }
    at_close(t);
    remove(scratch_path());
}
END_TEST

SUITE(io_npy, what_numpy_wrote_is_read, an_equals_sign_means_the_byte_order_of_this_machine,
      what_is_no_array_of_numbers_is_refused_with_a_reason, reals_become_those_of_the_tape,
      what_is_saved_is_what_numpy_would_save, a_parameter_comes_back_bit_for_bit,
      another_shape_or_type_does_not_go_into_a_tensor, a_file_cut_anywhere_is_refused,
      no_damaged_byte_does_harm, no_scrambled_header_does_harm, what_cannot_be_opened_is_named,
      a_disk_that_is_full_is_noticed, running_out_of_memory_is_no_file_error,
      a_pipe_without_a_writer_is_refused_at_once, a_file_that_cannot_be_written_keeps_what_it_held,
      a_file_of_a_failed_tape_does_not_replace_the_old_one,
      permissions_are_those_that_fopen_would_give, links_stay_links,
      a_file_closed_under_another_name_is_an_error)
