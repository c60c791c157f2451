/* test_names.c -- names in a hostile file: whatever they hold, what is said of them is printable. */
#include <stdlib.h>

#include "io/bytes.h"
#include "terminal/progress.h"
#include "printable.h"
#include "tensors.h"

static at_tape *t;

/* The tape has an error of a file in which the name is shown like this; it is cleared. */
static void assert_shown(const char *shown)
{
    const char *said = at_error(t);
    ck_assert_msg(is_printable(said), "%s", said);
    ck_assert_msg(strstr(said, shown), "\"%s\" is not in \"%s\"", shown, said);
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
    at_clear_error(t);
}

/* A .npy file with this header, and one f32. */
static const char *npy_of(const char *before, const char *name, const char *after)
{
    static char bytes[1000];
    const int n = snprintf(bytes, sizeof bytes, "%s%s%s", before, name, after);
    char file[1024] = "\x93NUMPY\1";
    file[8] = (char)(n & 255), file[9] = (char)(n >> 8);
    memcpy(file + 10, bytes, (size_t)n);
    return write_bytes(file, 10 + n + 4);
}

START_TEST(a_dtype_or_key_of_an_npy_file)
{
    t = at_open(ATTIC_F32, 1);
    for (int i = 0; i < N_HOSTILE; i++) {
        const hostile_name *h = &hostile_names[i];
        at_npy_load(t, npy_of("{'descr': '", h->name, "', 'shape': (1,)}"));
        assert_shown(h->shown);
        at_npy_load(t, npy_of("{'", h->name, "': '<f4', 'shape': (1,)}"));
        assert_shown(h->shown);
    }
    at_close(t);
    remove(scratch_path());
}
END_TEST

static void put_le(char *to, int bytes, unsigned x)
{
    for (int i = 0; i < bytes; i++) to[i] = (char)(x >> 8 * i & 255);
}

/* An .npz file whose only member has this name and is encrypted. */
static const char *npz_of(const char *name, int n)
{
    char file[2000] = "PK\3\4\x14";
    char *entry = file + 30 + n, *end = entry + 46 + n;
    put_le(entry, 4, 0x02014b50);
    put_le(entry + 8, 2, 1);
    put_le(entry + 28, 2, (unsigned)n);
    memcpy(entry + 46, name, (size_t)n);
    put_le(end, 4, 0x06054b50);
    put_le(end + 10, 2, 1);
    put_le(end + 12, 4, (unsigned)(46 + n));
    put_le(end + 16, 4, (unsigned)(30 + n));
    return write_bytes(file, (int)(end + 22 - file));
}

START_TEST(a_member_of_an_npz_file)
{
    t = at_open(ATTIC_F32, 1);
    for (int i = 0; i < N_HOSTILE; i++) {
        const hostile_name *h = &hostile_names[i];
        char member[80];
        snprintf(member, sizeof member, "%s.npy", h->name);
        at_tensors_open(t, npz_of(h->name, (int)strlen(h->name)));
        assert_shown(h->shown);
        at_tensors_open(t, npz_of(member, (int)strlen(member)));
        assert_shown(h->shown);
    }
    at_tensors_open(t, npz_of("a\0\x1b.npy", 7));
    assert_shown("its member \"a\\x00\\x1B.npy\" is not UTF-8 text");
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* A .safetensors file with this header, in which # is the name with escapes of JSON; of 8 bytes. */
static const char *safetensors_of(const char *header, const char *name)
{
    char file[4000] = "";
    int n = 8;
    for (; *header; header++) {
        if (*header != '#') file[n++] = *header;
        for (const char *c = name; *header == '#' && *c; c++)
            n += snprintf(file + n, 8, (unsigned char)*c < 32 ? "\\u%04x" : "%c", *c);
    }
    put_le(file, 4, (unsigned)(n - 8));
    return write_bytes(file, n + 8);
}

START_TEST(a_name_dtype_or_key_of_a_safetensors_file)
{
    static const char *const header[] = {
        "{\"#\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}",
        "{\"W\":{\"dtype\":\"#\",\"shape\":[1],\"data_offsets\":[0,8]}}",
        "{\"W\":{\"#\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}",
        ("{\"__metadata__\":{\"#\":\"x\",\"#\":\"y\"},"
         "\"W\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}"),
    };
    t = at_open(ATTIC_F32, 1);
    for (int i = 0; i < N_HOSTILE; i++)
        for (int k = 0; k < 4; k++) {
            const char *name = hostile_names[i].name;
            at_tensors_open(t, safetensors_of(header[k], name));
            assert_shown(at_is_utf8(name) ? hostile_names[i].shown : "is not UTF-8");
        }
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* A tensor of this name, loaded from a file. */
static at_tensor *load_named(const char *name)
{
    at_tensors *f = at_tensors_open(
        t,
        safetensors_of("{\"#\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", name));
    return at_tensors_load(f, name);
}

START_TEST(a_long_name_is_cut_with_an_ellipsis)
{
    char name[601] = "";
    for (int i = 0; i < 300; i++) strcat(name, "ä");
    t = at_open(ATTIC_F32, 1);
    at_tensor *x = load_named(name);
    ck_assert_str_eq(x->name, name);
    const char *text = at_text(x);
    ck_assert(is_printable(text) && strstr(text, "ä...ä") && strlen(text) < 80);
    ck_assert_ptr_null(at_tensors_load(at_tensors_open(t, scratch_path()), "W\x1b"));
    assert_shown("it has no tensor \"W\\x1B\"");
    at_close(t);
    remove(scratch_path());
}
END_TEST

/* All that the library writes about a tensor of this name to files and terminals. */
static const char *all_that_is_written(at_tensor *W, const char *name)
{
    static char text[1 << 16];
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text, "w");
    at_scope(t, name);
    at_profile(t, true);
    at_tensor *y = at_name(at_sum(t, W), name);
    at_scope_end(t);
    at_grad_report(t, f);
    at_print(y, f);
    at_graph_dot(t, y, f, (at_graph_options){0});
    at_profile_print(t, f);
    at_progress p = at_progress_start(f, name, 1);
    at_progress_step(&p, 1, "%s", name);
    at_progress_end(&p);
    const char *const names[] = {name, name};
    const at_heatmap h = {
        .title = name,
        .row_names = names,
        .col_names = names,
        .col_label = name,
        .subplots =
            &(at_subplot){.title = name, .data = W->data, .dtype = W->dtype, .rows = 1, .cols = 2},
        .n_subplots = 1};
    at_svg_heatmap(f, &h);
    at_term_heatmap(f, at_terminal_of(f), &h);
    fclose(f);
    return text;
}

START_TEST(a_name_from_a_file_is_harmless_wherever_it_is_shown)
{
    for (int i = 0; i < N_HOSTILE; i++) {
        const char *name = hostile_names[i].name;
        t = at_open(ATTIC_F32, 1);
        at_tensor *W = at_param(t, name, at_shape_of(2), at_ones());
        char *text = (char *)all_that_is_written(W, name);
        ck_assert_msg(at_ok(t), "%s", at_error(t));
        for (char *c = text; (c = strchr(c, '\n')); c++) *c = ' ';
        ck_assert_msg(is_printable(text), "%.3000s", text);
        at_add(t, W, at_const(t, at_shape_of(3), NULL));
        ck_assert(is_printable(at_error(t)) && strstr(at_error(t), hostile_names[i].shown));
        at_close(t);
    }
}
END_TEST

START_TEST(the_path_of_a_file)
{
    t = at_open(ATTIC_F32, 1);
    at_npy_load(t, "/no/\x1b[2J\xff.npy");
    assert_shown("cannot open /no/\\x1B[2J\\xFF.npy: ");
    at_npy_save(at_const(t, at_shape_of(2), NULL), "/no/such\nfolder/x.npy");
    assert_shown("cannot create /no/such\\nfolder/x.npy: ");
    at_tensors_open(t, "/no/\xe2\x80\xaetxt");
    assert_shown("cannot open /no/\\u202Etxt: ");
    at_close(t);
}
END_TEST

SUITE(io_names, a_dtype_or_key_of_an_npy_file, a_member_of_an_npz_file,
      a_name_dtype_or_key_of_a_safetensors_file, a_long_name_is_cut_with_an_ellipsis,
      a_name_from_a_file_is_harmless_wherever_it_is_shown, the_path_of_a_file)
