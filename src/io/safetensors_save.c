/* safetensors_save.c -- writes a .safetensors file; see tensors.h.
 *
 * The header is put together twice by the same function: first its bytes are only counted, then
 * they are written to memory of that size.  Its JSON has no spaces, and spaces behind it, so that
 * the elements begin at a multiple of 8 bytes.  With the largest dtype first, every tensor begins
 * at a multiple of its element size: a reader may map the file. */
#include <stdlib.h>
#include <string.h>

#include "io/archive.h"
#include "io/crc32.h"
#include "autograd/file.h"
#include "system/utf8.h"

typedef struct {
    at_keyed keyed; /* its name in the file */
    const at_tensor *x;
} saved_tensor;

typedef struct {
    const at_tensors_save_args *args;
    at_keys tensors;
    char *header; /* NULL: count its bytes */
    size_t length;
    size_t crc_at; /* where in the header the digits of the checksum are */
} saved_file;

static void put_bytes(saved_file *w, const char *p, size_t n)
{
    if (w->header) memcpy(w->header + w->length, p, n);
    w->length += n;
}

static void put_raw(saved_file *w, const char *text)
{
    put_bytes(w, text, strlen(text));
}

/* In quotes, with an escape for what JSON does not allow as it is. */
static void put_json_string(saved_file *w, const char *text)
{
    static const char letter[] = "\"\\bfnrt", meaning[] = "\"\\\b\f\n\r\t";
    put_raw(w, "\"");
    for (; *text; text++) {
        const char *known = strchr(meaning, *text);
        char escape[8] = "\\";
        if (known)
            escape[1] = letter[known - meaning];
        else if ((unsigned char)*text < 32)
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*text);
        else
            escape[0] = *text;
        put_raw(w, escape);
    }
    put_raw(w, "\"");
}

static void put_pair(saved_file *w, const char *key, const char *value)
{
    put_json_string(w, key);
    put_raw(w, ":");
    put_json_string(w, value);
}

static void put_metadata(saved_file *w)
{
    const at_tensors_save_args *a = w->args;
    if (a->n_metadata == 0 && !a->checksum) return;
    put_raw(w, "\"__metadata__\":{");
    for (int i = 0; i < a->n_metadata; i++) {
        if (i > 0) put_raw(w, ",");
        put_pair(w, a->metadata[i].key, a->metadata[i].value);
    }
    if (a->checksum) {
        if (a->n_metadata > 0) put_raw(w, ",");
        put_pair(w, "crc32", "00000000");
        w->crc_at = w->length - 9;
    }
    put_raw(w, w->tensors.n > 0 ? "}," : "}");
}

static void put_entry(saved_file *w, const saved_tensor *s, ptrdiff_t begin)
{
    static const char *const dtype[] = {
        [ATTIC_F32] = "F32",   [ATTIC_F64] = "F64", [ATTIC_I32] = "I32",
        [ATTIC_BOOL] = "BOOL", [ATTIC_F16] = "F16", [ATTIC_BF16] = "BF16"};
    char text[64];
    put_json_string(w, s->keyed.key);
    put_raw(w, ":{\"dtype\":\"");
    put_raw(w, dtype[s->x->dtype]);
    put_raw(w, "\",\"shape\":[");
    for (int i = 0; i < s->x->shape.ndim; i++) {
        snprintf(text, sizeof text, i ? ",%d" : "%d", s->x->shape.dim[i]);
        put_raw(w, text);
    }
    snprintf(text, sizeof text, "],\"data_offsets\":[%td,%td]}", begin,
             begin + (ptrdiff_t)at_bytes(s->x));
    put_raw(w, text);
}

static void put_saved_header(saved_file *w)
{
    ptrdiff_t begin = 0;
    w->length = 0;
    put_bytes(w, "\0\0\0\0\0\0\0", 8); /* its length, see below */
    put_raw(w, "{");
    put_metadata(w);
    for (int i = 0; i < w->tensors.n; i++) {
        const saved_tensor *s = (saved_tensor *)w->tensors.in_order[i];
        if (i > 0) put_raw(w, ",");
        put_entry(w, s, begin);
        begin += (ptrdiff_t)at_bytes(s->x);
    }
    put_raw(w, "}");
    while (w->length % 8) put_raw(w, " ");
    for (int k = 0; w->header && k < 8; k++)
        w->header[k] = (char)((uint64_t)(w->length - 8) >> 8 * k & 255);
}

/* The largest dtype first, reals before integers; then by name. */
static int compare_saved(const void *a, const void *b)
{
    static const int order[] = {[ATTIC_F64] = 0,  [ATTIC_F32] = 1, [ATTIC_I32] = 2,
                                [ATTIC_BF16] = 3, [ATTIC_F16] = 4, [ATTIC_BOOL] = 5};
    const saved_tensor *s = *(saved_tensor *const *)a, *r = *(saved_tensor *const *)b;
    int x = order[s->x->dtype], y = order[r->x->dtype];
    return x != y ? x - y : strcmp(s->keyed.key, r->keyed.key);
}

static bool list_tensors(at_tape *t, saved_file *w, at_tensor *const *x, int n)
{
    const char *twice;
    for (int i = 0; i < n; i++) {
        AT_REQUIRE(t, x && x[i], "tensors: x[%d] is NULL", i);
        if (!at_check_any(t, "tensors", "x", x[i])) return false;
        AT_REQUIRE(t, x[i]->dtype != ATTIC_DUAL,
                   "tensors: %s is dual, values and tangents: at_read_f64 and at_tangent give "
                   "either",
                   at_text(x[i]));
        const char *name = w->args->names && w->args->names[i] ? w->args->names[i] : x[i]->name;
        AT_REQUIRE(t, name, "tensors: x[%d], %s, has no name", i, at_text(x[i]));
        AT_REQUIRE(t, strcmp(name, "__metadata__") != 0,
                   "tensors: no tensor can be named \"__metadata__\"");
        AT_REQUIRE(t, at_is_utf8(name), "tensors: the name of x[%d], \"%s\", is not UTF-8", i,
                   at_shown(name, -1));
        saved_tensor *s = at_keys_add(&w->tensors, t, sizeof *s, name);
        if (!s) return false;
        s->x = x[i];
    }
    if (!at_keys_list(&w->tensors, t, &twice)) return false;
    AT_REQUIRE(t, !twice, "tensors: two tensors have the name \"%s\"", at_shown(twice, -1));
    at_keyed **order = w->tensors.in_order;
    qsort(order, (size_t)n, sizeof *order, compare_saved);
    return true;
}

static bool check_metadata(at_tape *t, const at_tensors_save_args *a)
{
    const char *twice;
    at_keys keys = {0};
    AT_REQUIRE(t, a->n_metadata >= 0 && (a->n_metadata == 0 || a->metadata),
               "tensors: there are %d metadata at NULL", a->n_metadata);
    for (int i = 0; i < a->n_metadata; i++) {
        const char *key = a->metadata[i].key, *value = a->metadata[i].value;
        AT_REQUIRE(t, key && value, "tensors: metadata[%d] has no %s", i, key ? "value" : "key");
        AT_REQUIRE(t, at_is_utf8(key) && at_is_utf8(value),
                   "tensors: metadata[%d], \"%s\", is not UTF-8", i, at_shown(key, -1));
        if (!at_keys_add(&keys, t, sizeof(at_keyed), key)) return false;
    }
    if (a->checksum && !at_keys_add(&keys, t, sizeof(at_keyed), "crc32")) return false;
    if (!at_keys_list(&keys, t, &twice)) return false;
    AT_REQUIRE(t, !twice, "tensors: two metadata have the key \"%s\"", at_shown(twice, -1));
    return true;
}

/* The digits of the checksum take the place of the zeros that it was computed with. */
static void put_checksum(saved_file *w)
{
    unsigned char block[AT_SOURCE_BLOCK];
    char digits[9];
    uint32_t crc = at_crc32(0, w->header, w->length);
    for (int i = 0; i < w->tensors.n; i++) {
        const at_tensor *x = ((saved_tensor *)w->tensors.in_order[i])->x;
        for (ptrdiff_t at = 0, n; (n = at_elements_block(x, at, block)) > 0; at += n)
            crc = at_crc32(crc, block, (size_t)n);
    }
    snprintf(digits, sizeof digits, "%08x", (unsigned)crc);
    memcpy(w->header + w->crc_at, digits, 8);
}

static bool make_header(at_tape *t, saved_file *w, at_tensor *const *x, int n)
{
    if (!list_tensors(t, w, x, n) || !check_metadata(t, w->args)) return false;
    put_saved_header(w);
    w->header = at_step_alloc(t, w->length);
    if (!w->header) return false;
    put_saved_header(w);
    if (w->args->checksum) put_checksum(w);
    return true;
}

bool at_tensors_save(at_tape *t, const char *path, at_tensor *const *x, int n,
                     at_tensors_save_args args)
{
    AT_REQUIRE(t, path, "tensors: the path is NULL");
    AT_REQUIRE(t, n >= 0, "tensors: %d tensors cannot be saved", n);
    at_profile_line *outer = at_profile_enter(t, "tensors_save");
    at_mark before = at_mark_here(t);
    saved_file w = {.args = &args};
    FILE *f = make_header(t, &w, x, n) ? at_file_create(t, path) : NULL;
    if (f) fwrite(w.header, 1, w.length, f);
    for (int i = 0; f && i < n; i++)
        at_elements_write(f, ((saved_tensor *)w.tensors.in_order[i])->x);
    bool good = at_file_close(t, f, path);
    at_rewind(t, before);
    at_profile_leave(t, outer);
    return good;
}
