/* test_tensors.c -- what the reference implementation of safetensors and NumPy's .npz would read is read,
 * and no damage gets through. */
#include "io/tensors.h"

#include <math.h>
#include <string.h>

#include "attic_op.h"
#include "io/inflate.h"
#include "io/bytes.h"
#include "io/golden_files.h"
#include "tensor/arena.h"

static const golden_file *file_named(const char *name)
{
    for (int i = 0; i < N_GOLDEN_FILES; i++)
        if (strcmp(golden_files[i].name, name) == 0) return &golden_files[i];
    ck_abort_msg("there is no file \"%s\"", name);
    return NULL;
}

static at_tensors *open_golden(at_tape *t, const char *name)
{
    const golden_file *g = file_named(name);
    return at_tensors_open(t, write_bytes(g->bytes, g->size));
}

/* f holds this tensor, and its elements are those. */
static void check_tensor(at_tape *t, const at_tensors *f, const char *file, const golden_tensor *g)
{
    int i = at_tensors_find(f, g->name);
    ck_assert_msg(i >= 0, "%s: there is no \"%s\"", file, g->name);
    ck_assert_str_eq(at_tensors_name(f, i), g->name);
    ck_assert_str_eq(at_tensors_dtype(f, i), g->stored);
    ck_assert(at_same_shape(at_tensors_shape(f, i), g->shape));
    at_tensor *x = at_tensors_load(f, g->name);
    ck_assert_msg(x, "%s: %s", file, at_error(t));
    ck_assert_str_eq(x->name, g->name);
    ck_assert_int_eq(x->dtype, g->dtype);
    ck_assert(at_same_shape(x->shape, g->shape));
    for (ptrdiff_t k = 0; k < at_count(x->shape); k += g->step) {
        double expected = g->values[k / g->step];
        ck_assert_msg(at_element(x, k) == expected || (isnan(at_element(x, k)) && isnan(expected)),
                      "%s: element %td of \"%s\" is %g, not %g", file, k, g->name, at_element(x, k),
                      expected);
    }
}

START_TEST(every_tensor_of_a_good_file_is_read)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    int n = 0;
    for (int i = 0; i < N_GOLDEN_FILES; i++) {
        const golden_file *g = &golden_files[i];
        if (g->n < 0) continue;
        at_tensors *f = open_golden(t, g->name);
        ck_assert_msg(f, "%s: %s", g->name, at_error(t));
        ck_assert_int_eq(at_tensors_count(f), g->n);
        for (int k = 0; k < g->n; k++) check_tensor(t, f, g->name, &g->tensor[k]);
        ck_assert_int_eq(at_tensors_metadata_count(f), g->n_metadata);
        for (int k = 0; k < g->n_metadata; k++)
            ck_assert_str_eq(at_tensors_metadata(f, g->metadata[k].key), g->metadata[k].value);
        n++;
    }
    ck_assert_int_ge(n, 18);
    at_close(t);
    remove(scratch_path());
}
END_TEST

static const struct {
    const char *name, *format, *reason;
} refused[] = {
    {"nothing", "safetensors", "it ends early"},
    {"7 bytes", "safetensors", "it ends early"},
    {"header of 0 bytes", "safetensors", "byte 0 of its header should be {"},
    {"header of 2^63 bytes", "safetensors",
     "it is neither .safetensors nor .npz: a header of 9223372036854775808 bytes is longer than "
     "100000000"},
    {"header of 2^64 - 1 bytes", "safetensors",
     "it is neither .safetensors nor .npz: a header of 18446744073709551615 bytes is longer than "
     "100000000"},
    {"header of 100 MB and a byte", "safetensors",
     "it is neither .safetensors nor .npz: a header of 100000001 bytes is longer than 100000000"},
    {"header longer than the file", "safetensors", "its header has 100000000 bytes, but 58 follow"},
    {"header and the elements", "safetensors", "its header has 59 bytes, but 58 follow"},
    {"space first", "safetensors", "byte 0 of its header should be {"},
    {"a list", "safetensors", "byte 0 of its header should be {"},
    {"not closed", "safetensors", "byte 53 of its header should be a comma or }"},
    {"a tensor not closed", "safetensors",
     "tensor \"w\": byte 52 of its header should be a comma or }"},
    {"text behind", "safetensors", "byte 54 of its header should be the end, but for spaces"},
    {"zeros behind", "safetensors", "byte 55 of its header should be the end, but for spaces"},
    {"two objects", "safetensors", "byte 54 of its header should be the end, but for spaces"},
    {"a comma too much", "safetensors", "byte 54 of its header should be a string"},
    {"no colon", "safetensors", "byte 5 of its header should be a colon"},
    {"no quotes", "safetensors", "byte 1 of its header should be a string"},
    {"not UTF-8", "safetensors", "byte 2 of its header is not UTF-8"},
    {"UTF-8 longer than needed", "safetensors", "byte 2 of its header is not UTF-8"},
    {"UTF-8 of half a pair", "safetensors", "byte 2 of its header is not UTF-8"},
    {"UTF-8 cut", "safetensors", "byte 3 of its header is not UTF-8"},
    {"UTF-8 beyond", "safetensors", "byte 2 of its header is not UTF-8"},
    {"control character", "safetensors", "byte 3 of its header should be no control character"},
    {"unknown escape", "safetensors", "byte 3 of its header should be an escape that JSON has"},
    {"escape cut", "safetensors", "byte 3 of its header should be an escape that JSON has"},
    {"escape of no digits", "safetensors", "byte 6 of its header should be a hexadecimal digit"},
    {"half a pair", "safetensors",
     "the escape before byte 9 of its header stands for no character"},
    {"second half of a pair", "safetensors",
     "the escape before byte 8 of its header stands for no character"},
    {"half a pair and no other half", "safetensors",
     "the escape before byte 14 of its header stands for no character"},
    {"zero byte in a name", "safetensors",
     "the escape before byte 9 of its header stands for no character"},
    {"string not closed", "safetensors", "byte 3 of its header should be the end of a string"},
    {"string ends in a backslash", "safetensors",
     "byte 4 of its header should be an escape that JSON has"},
    {"deep lists", "safetensors",
     "tensor \"w\": byte 5 of its header should be an object with dtype, shape, data_offsets"},
    {"deep objects", "safetensors", "tensor \"w\": it has an unknown key \"w\""},
    {"deep metadata", "safetensors", "byte 21 of its header should be a string"},
    {"metadata of numbers", "safetensors", "byte 24 of its header should be a string"},
    {"metadata of null", "safetensors", "byte 24 of its header should be a string"},
    {"metadata is null", "safetensors", "byte 16 of its header should be an object of strings"},
    {"metadata is a text", "safetensors", "byte 16 of its header should be an object of strings"},
    {"a tensor named __metadata__", "safetensors", "byte 39 of its header should be a string"},
    {"two __metadata__", "safetensors", "its header has two __metadata__"},
    {"a key of the metadata twice", "safetensors", "two of its metadata have the key \"a\""},
    {"a tensor twice", "safetensors", "two of its tensors are named \"w\""},
    {"a tensor is null", "safetensors",
     "tensor \"w\": byte 5 of its header should be an object with dtype, shape, data_offsets"},
    {"a tensor as a list", "safetensors",
     "tensor \"w\": byte 5 of its header should be an object with dtype, shape, data_offsets"},
    {"no dtype", "safetensors", "tensor \"w\": it lacks the key \"dtype\""},
    {"no shape", "safetensors", "tensor \"w\": it lacks the key \"shape\""},
    {"no data_offsets", "safetensors", "tensor \"w\": it lacks the key \"data_offsets\""},
    {"nothing about a tensor", "safetensors", "tensor \"w\": it lacks the key \"dtype\""},
    {"dtype twice", "safetensors", "tensor \"w\": it has two keys \"dtype\""},
    {"unknown key", "safetensors", "tensor \"w\": it has an unknown key \"x\""},
    {"dtype F8_E4M3", "safetensors",
     "tensor \"w\": its dtype F8_E4M3 is none of F64 F32 F16 BF16, I64 I32 I16 I8, U64 U32 U16 U8, "
     "BOOL"},
    {"dtype F8_E5M2", "safetensors",
     "tensor \"w\": its dtype F8_E5M2 is none of F64 F32 F16 BF16, I64 I32 I16 I8, U64 U32 U16 U8, "
     "BOOL"},
    {"dtype F8_E8M0", "safetensors",
     "tensor \"w\": its dtype F8_E8M0 is none of F64 F32 F16 BF16, I64 I32 I16 I8, U64 U32 U16 U8, "
     "BOOL"},
    {"dtype C64", "safetensors",
     "tensor \"w\": its dtype C64 is none of F64 F32 F16 BF16, I64 I32 I16 I8, U64 U32 U16 U8, "
     "BOOL"},
    {"dtype f32", "safetensors",
     "tensor \"w\": its dtype f32 is none of F64 F32 F16 BF16, I64 I32 I16 I8, U64 U32 U16 U8, "
     "BOOL"},
    {"dtype is a number", "safetensors", "tensor \"w\": byte 14 of its header should be a string"},
    {"nine dims", "safetensors", "tensor \"w\": it has more than 8 dimensions"},
    {"shape is a number", "safetensors",
     "tensor \"w\": byte 28 of its header should be a list of dimensions"},
    {"negative dim", "safetensors",
     "tensor \"w\": byte 29 of its header should be an integer, 0 or more"},
    {"float dim", "safetensors", "tensor \"w\": byte 30 of its header should be a comma or ]"},
    {"dim with an exponent", "safetensors",
     "tensor \"w\": byte 30 of its header should be a comma or ]"},
    {"dim with a leading zero", "safetensors",
     "tensor \"w\": byte 30 of its header should be no digit behind a zero"},
    {"dim as a text", "safetensors",
     "tensor \"w\": byte 29 of its header should be an integer, 0 or more"},
    {"dim of 2^31", "safetensors",
     "tensor \"w\": a number at byte 29 of its header is above 2147483647"},
    {"dim of 400 digits", "safetensors",
     "tensor \"w\": a number at byte 29 of its header is above 2147483647"},
    {"shape of 2^64", "safetensors",
     "tensor \"w\": its shape [65536,65536,65536,65536] is impossible"},
    {"shape of 2^62 and 4 bytes", "safetensors",
     "tensor \"w\": its shape [2147483647,1073741825] is impossible"},
    {"comma in a shape", "safetensors",
     "tensor \"w\": byte 31 of its header should be an integer, 0 or more"},
    {"one offset", "safetensors",
     "tensor \"w\": byte 49 of its header should be a comma and the second offset"},
    {"three offsets", "safetensors",
     "tensor \"w\": byte 51 of its header should be the end of a list of two offsets"},
    {"negative offset", "safetensors",
     "tensor \"w\": byte 48 of its header should be an integer, 0 or more"},
    {"offset of 2^64 + 4", "safetensors",
     "tensor \"w\": a number at byte 50 of its header is above 576460752303423487"},
    {"end before begin", "safetensors",
     "tensor \"w\": it ends at byte 0, before it begins at byte 4"},
    {"more than the shape", "safetensors",
     "tensor \"w\": f32 [1] is 4 bytes, but data_offsets hold 8"},
    {"less than the shape", "safetensors",
     "tensor \"w\": f32 [2] is 8 bytes, but data_offsets hold 4"},
    {"beyond the file", "safetensors", "its tensors have 4000 bytes, but 4 follow its header"},
    {"bytes behind", "safetensors", "its tensors have 4 bytes, but 5 follow its header"},
    {"no elements", "safetensors", "its tensors have 4 bytes, but 0 follow its header"},
    {"begins late", "safetensors",
     "tensor \"w\": it begins at byte 4 of the data, but the first one should at byte 0"},
    {"a gap", "safetensors",
     "tensor \"v\": it begins at byte 8 of the data, but the one before ends at byte 4"},
    {"overlap", "safetensors",
     "tensor \"v\": it begins at byte 4 of the data, but the one before ends at byte 8"},
    {"the same bytes twice", "safetensors",
     "tensor \"v\": it begins at byte 0 of the data, but the one before ends at byte 4"},
    {"a gap, in another order", "safetensors",
     "tensor \"v\": it begins at byte 8 of the data, but the one before ends at byte 4"},
    {"npz encrypted", "npz", "tensor \"w\": it is encrypted"},
    {"npz encrypted strongly", "npz", "tensor \"w\": it is encrypted"},
    {"npz of method 12", "npz",
     "tensor \"w\": its compression is method 12, neither stored (0) nor deflated (8)"},
    {"npz of method 9", "npz",
     "tensor \"w\": its compression is method 9, neither stored (0) nor deflated (8)"},
    {"npz of several disks", "npz", "it is one of several disks"},
    {"npz with a comment", "npz", "it is cut, or something follows its directory"},
    {"npz with bytes behind", "npz", "it is cut, or something follows its directory"},
    {"npz with bytes behind its directory", "npz",
     "its directory should end at byte 219, where its end begins"},
    {"npz with bytes in front", "npz",
     "its directory should end at byte 223, where its end begins"},
    {"npz whose directory begins later", "npz",
     "its directory should end at byte 218, where its end begins"},
    {"npz with too many members", "npz", "its directory is too short for its members"},
    {"npz with too few members", "npz", "its directory has more than its members"},
    {"npz with a readme", "npz", "its member \"readme.txt\" is no .npy file"},
    {"npz with a folder", "npz", "its member \"x/\" is no .npy file"},
    {"npz with a name not UTF-8", "npz", "the name of its member \"\\xFF.npy\" is not UTF-8 text"},
    {"npz with a zero in a name", "npz", "the name of its member \"w\\x00.npy\" is not UTF-8 text"},
    {"npz with a name twice", "npz", "two of its tensors are named \"w\""},
    {"npz with one member twice", "npz", "tensor \"a2\": it begins within the member before"},
    {"npz with a member in another", "npz", "tensor \"v\": it begins within the member before"},
    {"npz with another local name", "npz",
     "tensor \"w\": its local header is not what the directory says"},
    {"npz with another local method", "npz",
     "tensor \"w\": its local header is not what the directory says"},
    {"npz with no local header", "npz",
     "tensor \"w\": its local header is not what the directory says"},
    {"npz with a member behind the end", "npz", "tensor \"v\": it lies outside of the file"},
    {"npz with a member too long", "npz", "tensor \"w\": it lies outside of the file"},
    {"npz with a stored member of two sizes", "npz",
     "tensor \"w\": it cannot unpack from 132 to 5 bytes"},
    {"npz that unpacks too far", "npz",
     "tensor \"w\": it cannot unpack from 70 to 1073741824 bytes"},
    {"npz with no zip64 field", "npz",
     "tensor \"w\": it cannot unpack from 132 to 4294967295 bytes"},
    {"npz with a short zip64 field", "npz", "its zip64 field is too short"},
    {"npz with a huge zip64 field", "npz", "tensor \"w\": it lies outside of the file"},
    {"npz with a wrong checksum", "npz",
     "tensor \"w\": its checksum is 00000001, but its bytes have 5de61325"},
    {"npz with a wrong checksum, deflated", "npz",
     "tensor \"w\": its checksum is 00000001, but its bytes have 5de61325"},
    {"npz that unpacks to less", "npz", "tensor \"w\": its compressed data ends early"},
    {"npz that unpacks to more", "npz",
     "tensor \"w\": its compressed data is longer than it should be"},
    {"npz with bytes behind its deflate", "npz",
     "tensor \"w\": bytes follow behind the end of its compressed data"},
    {"npz with bad deflate", "npz",
     "tensor \"w\": its compressed data has a block of an unknown kind"},
    {"npz of objects", "npz",
     "tensor \"o\": it holds Python objects, and only Python can unpickle them"},
    {"npz of complex numbers", "npz",
     "tensor \"z\": its dtype \"<c16\" is none of f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1"},
    {"npz with a text in it", "npz", "tensor \"w\": it ends early"},
    {"npz with a number too large", "npz",
     "tensor \"i\": element 0 is 3000000000, which i32 cannot hold"},
    {"npz with its shape too long", "npz",
     "tensor \"w\": its shape [3] needs 24 bytes, but 16 follow"},
    {"an .npy file", "tensors", "it is a .npy file: at_npy_load reads it"},
};
enum { N_REFUSED = sizeof refused / sizeof *refused };

START_TEST(what_is_no_file_of_tensors_is_refused_with_a_reason)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    int n = 0;
    for (int i = 0; i < N_REFUSED; i++) {
        char message[512];
        snprintf(message, sizeof message, "%s: %s: %s", refused[i].format, scratch_path(),
                 refused[i].reason);
        at_tensors *f = open_golden(t, refused[i].name);
        for (int k = 0; k < at_tensors_count(f) && at_ok(t); k++)
            at_tensors_load(f, at_tensors_name(f, k));
        ck_assert_str_eq(at_error(t), message);
        ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
        at_clear_error(t);
    }
    for (int i = 0; i < N_GOLDEN_FILES; i++) n += golden_files[i].n < 0;
    ck_assert_int_eq(n, N_REFUSED); /* none is left out */
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(tensors_are_listed_in_the_order_of_the_header)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensors *f = open_golden(t, "escapes, spaces, another order");
    ck_assert_str_eq(at_tensors_name(f, 0), "x"); /* whose elements are the last ones */
    ck_assert_str_eq(at_tensors_name(f, 1), "y");
    ck_assert_ptr_null(at_tensors_name(f, 2));
    ck_assert_ptr_null(at_tensors_name(f, -1));
    ck_assert_ptr_null(at_tensors_dtype(f, 2));
    ck_assert_int_eq(at_tensors_shape(f, 2).ndim, 0);
    ck_assert_int_eq(at_tensors_find(f, "z"), -1);
    ck_assert_int_eq(at_tensors_find(f, NULL), -1);
    f = open_golden(t, "names and metadata");
    ck_assert_str_eq(at_tensors_metadata_key(f, 0), ""); /* the keys are sorted */
    ck_assert_str_eq(at_tensors_metadata_key(f, 3), "step");
    ck_assert_ptr_null(at_tensors_metadata_key(f, 4));
    ck_assert_ptr_null(at_tensors_metadata_key(f, -1));
    ck_assert_ptr_null(at_tensors_metadata(f, "steps"));
    ck_assert_ptr_null(at_tensors_metadata(f, NULL));
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(without_a_file_nothing_is_there)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(2), at_zeros());
    ck_assert_ptr_null(at_tensors_open(t, "/nonexistent/x"));
    ck_assert_str_eq(at_error(t), "cannot open /nonexistent/x: No such file or directory");
    at_clear_error(t);
    ck_assert_ptr_null(at_tensors_open(t, "/"));
    ck_assert_str_eq(at_error(t), "cannot open /: it is not a regular file");
    at_clear_error(t);
    ck_assert_ptr_null(at_tensors_open(t, NULL));
    ck_assert_str_eq(at_error(t), "tensors: the path is NULL");
    ck_assert_ptr_null(at_tensors_open(NULL, "x"));
    ck_assert_int_eq(at_tensors_count(NULL), 0);
    ck_assert_ptr_null(at_tensors_name(NULL, 0));
    ck_assert_int_eq(at_tensors_find(NULL, "w"), -1);
    ck_assert_int_eq(at_tensors_metadata_count(NULL), 0);
    ck_assert_ptr_null(at_tensors_metadata(NULL, "k"));
    ck_assert_ptr_null(at_tensors_load(NULL, "w"));
    ck_assert(!at_tensors_load_into(NULL, "w", w));
    ck_assert(!at_tensors_verify(NULL));
    at_close(t);
}
END_TEST

START_TEST(a_wrong_request_is_named)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(2, 2), at_zeros());
    char message[256];
    at_tensors *f = open_golden(t, "npz small, deflated");
    snprintf(message, sizeof message, "npz: %s: it has no tensor \"v\\n\"", scratch_path());
    ck_assert_ptr_null(at_tensors_load(f, "v\n"));
    ck_assert_str_eq(at_error(t), message);
    at_clear_error(t);
    snprintf(message, sizeof message,
             "npz: %s: tensor \"w\": it holds f32 [2,3], which f32 \"w\" [2,2] cannot take",
             scratch_path());
    ck_assert(!at_tensors_load_into(f, "w", w));
    ck_assert_str_eq(at_error(t), message);
    at_clear_error(t);
    ck_assert(!at_tensors_load_into(f, "mask", at_ints(t, at_shape_of(2), NULL)));
    ck_assert_ptr_nonnull(strstr(at_error(t), "it holds bool [2], which i32 [2] cannot take"));
    at_clear_error(t);
    ck_assert(!at_tensors_load_into(f, "w", NULL));
    ck_assert_str_eq(at_error(t), "tensors: the tensor to load into is NULL");
    at_clear_error(t);
    ck_assert_ptr_null(at_tensors_load(f, NULL));
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(a_parameter_takes_the_values_of_either_real_type)
{
    for (int i = 0; i < 2; i++) {
        at_tape *t = at_open(i ? ATTIC_F64 : ATTIC_F32, 1);
        at_tensor *w = at_param(t, "w", at_shape_of(2, 3), at_zeros());
        at_tensors *f = open_golden(t, i ? "as attic writes it" : "npz stored"); /* f32; f64 */
        ck_assert_str_eq(at_tensors_dtype(f, at_tensors_find(f, "w")), i ? "f32" : "f64");
        ck_assert_msg(at_tensors_load_into(f, "w", w), "%s", at_error(t));
        ck_assert(at_get(w, 1, 2) == (i ? 1.25 : 5));
        ck_assert_int_eq(w->version, 1);
        at_close(t);
    }
    remove(scratch_path());
}
END_TEST

START_TEST(a_value_that_f32_cannot_hold_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensors *f = open_golden(t, "every dtype");
    ck_assert_ptr_null(at_tensors_load(f, "f64"));
    ck_assert_ptr_nonnull(
        strstr(at_error(t), "tensor \"f64\": element 2 is 1.0000000000000001e+300, which f32"));
    at_close(t);
    remove(scratch_path());
}
END_TEST

START_TEST(a_file_that_was_replaced_is_noticed)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    const golden_file *g = file_named("npz stored");
    at_tensors *f = open_golden(t, "npz stored");
    char message[256], other[80];
    snprintf(message, sizeof message, "npz: %s: it was replaced or written since it was opened",
             scratch_path());
    snprintf(other, sizeof other, "%s.old", scratch_path());
    ck_assert_int_eq(rename(scratch_path(), other), 0); /* so that its number is not used again */
    write_bytes(g->bytes, g->size);
    ck_assert_ptr_null(at_tensors_load(f, "w"));
    ck_assert_str_eq(at_error(t), message);
    at_clear_error(t);
    ck_assert_int_eq(rename(other, scratch_path()), 0);
    ck_assert_ptr_nonnull(at_tensors_load(f, "w"));
    ck_assert_int_eq(truncate(scratch_path(), g->size - 1), 0);
    ck_assert(!at_tensors_verify(f));
    ck_assert_str_eq(at_error(t), message);
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* Loads all of a file, saves it, and compares the bytes with those of the independent writer. */
static void check_saved_again(at_dtype real, const char *name)
{
    const golden_file *g = file_named(name);
    at_tape *t = at_open(real, 1);
    at_tensors *f = open_golden(t, name);
    at_tensor *x[8];
    static char bytes[4096];
    for (int i = 0; i < g->n; i++) x[i] = at_tensors_load(f, at_tensors_name(f, g->n - 1 - i));
    at_tensors_save_args args = {.metadata = g->metadata, .n_metadata = g->n_metadata};
    ck_assert_msg(at_tensors_save(t, scratch_path(), x, g->n, args), "%s", at_error(t));
    ck_assert_int_eq(read_bytes(bytes, sizeof bytes), g->size);
    ck_assert_mem_eq(bytes, g->bytes, g->size);
    at_close(t);
}

START_TEST(what_is_read_is_saved_with_the_same_bytes)
{
    check_saved_again(ATTIC_F32, "as attic writes it");
    check_saved_again(ATTIC_F64, "as attic writes it in f64");
    check_saved_again(ATTIC_F32, "names and metadata");
    check_saved_again(ATTIC_F32, "no tensors");
    remove(scratch_path());
}
END_TEST

/* Opens the scratch file and loads all of it: it is loaded or refused, but nothing else happens. */
static bool try_damaged(at_tape *t, int size, bool verify)
{
    at_mark m = at_mark_here(t);
    size_t before = at_memory_of(t).step;
    at_tensors *f = at_tensors_open(t, scratch_path());
    ck_assert((f != NULL) == at_ok(t));
    for (int i = 0; i < at_tensors_count(f) && at_ok(t); i++)
        at_tensors_load(f, at_tensors_name(f, i));
    if (verify) at_tensors_verify(f);
    bool good = at_ok(t);
    if (!good) ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
    ck_assert_uint_lt(at_memory_of(t).step - before, 32 * (size_t)size + sizeof(at_inflate) + 4096);
    at_clear_error(t);
    at_rewind(t, m);
    return good;
}

static const char *const small_files[] = {"every dtype",          "rank 0 and size 0",
                                          "names and metadata",   "escapes, spaces, another order",
                                          "npz small, stored",    "npz small, deflated",
                                          "npz of stored blocks", "npz of fixed codes",
                                          "npz with zip64"};
enum { N_SMALL = sizeof small_files / sizeof *small_files };

START_TEST(a_file_cut_anywhere_is_refused)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    for (int i = 0; i < N_GOLDEN_FILES; i++) {
        if (golden_files[i].n < 0 || golden_files[i].size > 5000) continue;
        int fd = open_scratch(golden_files[i].bytes, golden_files[i].size);
        for (int size = golden_files[i].size - 1; size >= 0; size--) {
            ck_assert_int_eq(ftruncate(fd, size), 0);
            ck_assert_msg(!try_damaged(t, size, false), "%s: %d bytes of it are read",
                          golden_files[i].name, size);
        }
        close(fd);
    }
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* In an .npz a byte matters, or lies in a field that no reader needs: names are there twice, and
 * checksums, sizes, versions and times in the local headers. */
START_TEST(no_damaged_byte_does_harm)
{
    static const unsigned char flip[] = {0x01, 0x02, 0x08, 0x10, 0x20, 0x80, 0xff};
    at_tape *t = at_open(ATTIC_F64, 1);
    for (int i = 0; i < N_SMALL; i++) {
        const golden_file *g = file_named(small_files[i]);
        int fd = open_scratch(g->bytes, g->size);
        for (int at = 0; at < g->size; at++) {
            for (int k = 0; k < 7; k++) {
                overwrite(fd, at, (const char[]){(char)(g->bytes[at] ^ flip[k])}, 1);
                try_damaged(t, g->size, k == 0);
            }
            overwrite(fd, at, g->bytes + at, 1);
        }
        ck_assert_msg(try_damaged(t, g->size, false), "%s", g->name);
        close(fd);
    }
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* Single elements of a .safetensors file can be damaged unseen; with a checksum no byte can. */
START_TEST(the_checksum_of_a_file_finds_every_damaged_byte)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *w = at_name(at_random(t, at_shape_of(3, 4), at_normal(1)), "w");
    ck_assert(at_tensors_save(t, scratch_path(), &w, 1, (at_tensors_save_args){.checksum = true}));
    char bytes[1024];
    int n = read_bytes(bytes, sizeof bytes), fd = open_scratch(bytes, n);
    ck_assert(try_damaged(t, n, true));
    for (int at = 0; at < n; at++) {
        for (int bit = 0; bit < 8; bit++) {
            overwrite(fd, at, (const char[]){(char)(bytes[at] ^ 1 << bit)}, 1);
            ck_assert_msg(!try_damaged(t, n, true), "bit %d of byte %d may be wrong", bit, at);
        }
        overwrite(fd, at, bytes + at, 1);
    }
    close(fd);
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* Opens, loads and verifies; true if it got through. */
static bool run_reading(const char *path)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensors *f = at_tensors_open(t, path);
    int n = at_tensors_count(f);
    for (int i = 0; i < n; i++) at_tensors_load(f, at_tensors_name(f, i));
    at_tensors_metadata(f, "step");
    bool through = at_ok(t);
    if (!through)
        ck_assert_int_eq(at_error_kind_of(t), t ? ATTIC_MEMORY_ERROR : at_error_kind_of(t));
    at_close(t);
    return through;
}

START_TEST(every_allocation_of_reading_may_fail)
{
    for (int i = 0; i < N_SMALL; i++) {
        const golden_file *g = file_named(small_files[i]);
        ptrdiff_t n = 0;
        write_bytes(g->bytes, g->size);
        do {
            at_fail_allocation(++n);
        } while (!run_reading(scratch_path()) && n < 1000);
        at_fail_allocation(0);
        ck_assert_int_gt(n, 4);
        ck_assert_int_lt(n, 1000);
    }
    remove(scratch_path());
}
END_TEST

SUITE(io_tensors, every_tensor_of_a_good_file_is_read,
      what_is_no_file_of_tensors_is_refused_with_a_reason,
      tensors_are_listed_in_the_order_of_the_header, without_a_file_nothing_is_there,
      a_wrong_request_is_named, a_parameter_takes_the_values_of_either_real_type,
      a_value_that_f32_cannot_hold_is_refused, a_file_that_was_replaced_is_noticed,
      what_is_read_is_saved_with_the_same_bytes, a_file_cut_anywhere_is_refused,
      no_damaged_byte_does_harm, the_checksum_of_a_file_finds_every_damaged_byte,
      every_allocation_of_reading_may_fail)
