/* test_arrays.c -- named arrays are read from every kind of file, and what is malformed is refused
 * with a message that names it. */
#include "arrays.h"

#include <math.h>
#include <string.h>

#include "io/bytes.h"
#include "io/golden_files.h"
#include "test.h"

static at_tape *t;
static arrays all;

static void open_anew(void)
{
    if (t) at_close(t);
    t = at_open(ATTIC_F64, 1);
    all = (arrays){.n = 0};
}

static void close_last(void)
{
    at_close(t);
    t = NULL;
}

static bool read_text(const char *text)
{
    open_anew();
    return arrays_read(t, write_bytes(text, (int)strlen(text)), &all);
}

static void assert_array(const char *name, const char *shape, int n, const double *values)
{
    const array *a = arrays_find(&all, name);
    ck_assert_msg(a, "there is no \"%s\": %s", name, at_error(t));
    ck_assert_str_eq(at_shape_text(a->x->shape), shape);
    for (int e = 0; e < n; e++) assert_close(at_element(a->x, e), values[e], 0);
}

static void assert_refused(const char *text, const char *why)
{
    ck_assert_msg(!read_text(text), "\"%.80s\" is read", text);
    ck_assert_msg(strstr(at_error(t), why), "\"%.80s\": %s", text, at_error(t));
    ck_assert_msg(strstr(at_error(t), scratch_path()), "no file is named: %s", at_error(t));
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
}

START_TEST(json_holds_lists_of_lists_of_numbers)
{
    ck_assert(read_text(" {\"Q\": [[1, 2.5e1], [-3, 0],\n[4, 5]], \"scale\": 0.5 }\n"));
    ck_assert_int_eq(all.n, 2);
    assert_array("Q", "[3,2]", 6, (double[]){1, 25, -3, 0, 4, 5});
    assert_array("scale", "[]", 1, (double[]){0.5});
    ck_assert(read_text("{\"m\": [[[true]], [[false]]]}"));
    assert_array("m", "[2,1,1]", 2, (double[]){1, 0});
    close_last();
}
END_TEST

START_TEST(json_holds_what_python_writes_for_infinity_and_nan)
{
    ck_assert(read_text("{\"mask\": [NaN, Infinity, -Infinity, -1]}"));
    const double right[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -1};
    assert_array("mask", "[4]", 4, right);
    close_last();
}
END_TEST

START_TEST(malformed_json_is_refused_with_its_byte)
{
    assert_refused("{\"Q\": [[1, 2], [3]]}", "ends before byte 18 has 1 members, one before has 2");
    assert_refused("{\"Q\": [1, [2]]}", "is in 2 brackets, the first in 1");
    assert_refused("{\"Q\": [[1], 2]}", "is in 1 brackets, the first in 2");
    assert_refused("{\"Q\": []}", "tensor \"Q\": byte 7 of the file should be a number");
    assert_refused("{\"Q\": [1,]}", "byte 9 of the file should be a number");
    assert_refused("{\"Q\": [1 2]}", "byte 9 of the file should be a comma or ]");
    assert_refused("{\"Q\": \"1\"}", "should be a number");
    assert_refused("{\"Q\": null}", "should be a number");
    assert_refused("{\"Q\": [1]", "should be a comma or }");
    assert_refused("{\"Q\": [1]} 2", "should be the end");
    assert_refused("[1]", "should be an object");
    assert_refused("{\"Q\": [[[[[[[[[1]]]]]]]]]}", "more than 8 dimensions");
    assert_refused("{\"Q\": 1, \"q\": 2}", "second array \"q\"");
    assert_refused("{", "should be a string");
    assert_refused("", "it ends early");
    close_last();
}
END_TEST

/* A .npy file of two elements of 2 bytes: 0x3fc0 and 0xc000 */
static const char *npy_of(const char *dtype)
{
    char bytes[256];
    int n = snprintf(bytes + 10, sizeof bytes - 10,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }", dtype);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (char)n, bytes[9] = 0;
    memcpy(bytes + 10 + n, dtype[0] == '>' ? "\x3f\xc0\xc0\x00" : "\xc0\x3f\x00\xc0", 4);
    open_anew();
    return write_bytes(bytes, 10 + n + 4);
}

START_TEST(an_npy_file_is_named_as_it_is_and_u16_are_bits_of_bf16)
{
    static const char *const dtype[] = {"<u2", ">u2", "<i2"};
    for (int k = 0; k < 3; k++) {
        const char *path = npy_of(dtype[k]);
        ck_assert_msg(arrays_read(t, path, &all), "%s", at_error(t));
        ck_assert_msg(strstr(path, all.of[0].name), "%s is called %s", path, all.of[0].name);
        ck_assert_str_eq(all.of[0].dtype, "bf16");
        assert_array(all.of[0].name, "[2]", 2, (double[]){1.5, -2});
    }
    const char *half = npy_of("<f2"); /* opens t anew: before t is read */
    ck_assert(arrays_read(t, half, &all));
    ck_assert_str_eq(all.of[0].dtype, "f16");
    assert_array(all.of[0].name, "[2]", 2, (double[]){1.9375, -2});
    close_last();
}
END_TEST

START_TEST(pickled_objects_are_refused)
{
    const char *path = npy_of("|O");
    ck_assert(!arrays_read(t, path, &all));
    ck_assert_msg(strstr(at_error(t), "only Python can unpickle"), "%s", at_error(t));
    close_last();
}
END_TEST

/* Stored and deflated .npz files and .safetensors, and all that is wrong with such files */
START_TEST(every_golden_file_is_read_or_refused)
{
    int read = 0, npz = 0;
    for (int i = 0; i < N_GOLDEN_FILES; i++) {
        const golden_file *g = &golden_files[i];
        at_tape *own = at_open(ATTIC_F64, 1);
        arrays in = {.n = 0};
        const bool good = arrays_read(own, write_bytes(g->bytes, g->size), &in);
        const bool is_npy = g->bytes[0] == '\x93'; /* which is no refusal here */
        ck_assert_msg(is_npy || good == (g->n >= 0), "%s: %s", g->name, at_error(own));
        for (int k = 0; good && k < g->n; k++) {
            const array *a = arrays_find(&in, g->tensor[k].name);
            ck_assert_msg(a && at_same_shape(a->x->shape, g->tensor[k].shape), "%s", g->name);
            if (!strstr(g->tensor[k].stored, "16") && at_count(a->x->shape))
                assert_close(at_element(a->x, 0), g->tensor[k].values[0], 0);
        }
        read += good, npz += good && memcmp(g->bytes, "PK", 2) == 0;
        at_close(own);
    }
    ck_assert_int_ge(read, 16);
    ck_assert_int_ge(npz, 8);
}
END_TEST

START_TEST(more_than_64_megabytes_are_refused_before_they_are_read)
{
    const char *path = write_bytes("{", 1);
    ck_assert_int_eq(truncate(path, ((off_t)64 << 20) + 1), 0);
    open_anew();
    ck_assert(!arrays_read(t, path, &all));
    ck_assert_msg(strstr(at_error(t), "more than 64 MB"), "%s", at_error(t));
    all.bytes = ARRAYS_BYTES - 3;
    at_clear_error(t);
    ck_assert(!arrays_read(t, write_bytes("{\"Q\": 1}", 8), &all));
    ck_assert_msg(strstr(at_error(t), "its arrays have more than 64 MB"), "%s", at_error(t));
    close_last();
}
END_TEST

SUITE(course_arrays, json_holds_lists_of_lists_of_numbers,
      json_holds_what_python_writes_for_infinity_and_nan, malformed_json_is_refused_with_its_byte,
      an_npy_file_is_named_as_it_is_and_u16_are_bits_of_bf16, pickled_objects_are_refused,
      every_golden_file_is_read_or_refused, more_than_64_megabytes_are_refused_before_they_are_read)
