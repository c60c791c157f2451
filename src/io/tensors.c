/* tensors.c -- files of named tensors: open, list, load, verify; see tensors.h.
 *
 * A tape has nothing to close a file with, so none stays open: every load opens it again, and
 * compares it with what at_tensors_open saw.  What reads a header is safetensors.c and npz.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/archive.h"
#include "io/crc32.h"
#include "autograd/file.h"

/* ------------------------------------------------------------------ keys ----------------------- */

void *at_keys_add(at_keys *k, at_tape *t, size_t size, const char *key)
{
    at_keyed *x = k->n < INT32_MAX ? at_step_alloc(t, size) : NULL;
    if (!x) return at_fail(t, ATTIC_MEMORY_ERROR, "out of memory for %d names", k->n);
    memset(x, 0, size);
    x->key = key;
    if (k->last) k->last->next = x;
    if (!k->first) k->first = x;
    k->last = x;
    k->n++;
    return x;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp((*(at_keyed *const *)a)->key, (*(at_keyed *const *)b)->key);
}

bool at_keys_list(at_keys *k, at_tape *t, const char **twice)
{
    size_t bytes = (size_t)k->n * sizeof(at_keyed *);
    *twice = NULL;
    k->in_order = at_step_alloc(t, bytes);
    k->sorted = at_step_alloc(t, bytes);
    if (!k->in_order || !k->sorted) return false;
    int i = 0;
    for (at_keyed *x = k->first; x; x = x->next) k->in_order[i++] = x;
    if (bytes) memcpy(k->sorted, k->in_order, bytes);
    qsort(k->sorted, (size_t)k->n, sizeof *k->sorted, compare_keys);
    for (i = 1; i < k->n; i++)
        if (compare_keys(&k->sorted[i - 1], &k->sorted[i]) == 0) *twice = k->sorted[i]->key;
    return true;
}

at_keyed *at_keys_find(const at_keys *k, const char *key)
{
    at_keyed wanted = {.key = key}, *p = &wanted;
    at_keyed **found = bsearch(&p, k->sorted, (size_t)k->n, sizeof p, compare_keys);
    return found ? *found : NULL;
}

static int compare_offsets(const void *a, const void *b)
{
    const at_entry *x = *(at_entry *const *)a, *y = *(at_entry *const *)b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

at_keyed **at_entries_by_begin(const at_tensors *f)
{
    at_keyed **x = at_step_alloc(f->source.t, (size_t)f->entries.n * sizeof *x);
    int n = 0;
    for (at_keyed *k = f->entries.first; x && k; k = k->next) x[n++] = k;
    if (x) qsort(x, (size_t)n, sizeof *x, compare_offsets);
    return x;
}

/* ------------------------------------------------------------------ open ----------------------- */

bool at_source_seek(at_source *s, ptrdiff_t to, ptrdiff_t bytes)
{
    s->unread = bytes;
    return fseeko(s->file, (off_t)to, SEEK_SET) == 0 || at_source_fail(s, "%s", strerror(errno));
}

/* Opens the file of s. */
static bool open_source(at_source *s, struct stat *about, ptrdiff_t *size)
{
    s->file = at_file_open(s->t, s->path, size);
    s->unread = *size;
    return s->file &&
           (fstat(fileno(s->file), about) == 0 || at_source_fail(s, "%s", strerror(errno)));
}

/* Its first bytes say what it is.  "PK\3\4" could also begin the length of a safetensors header, of
 * 67 MB: its fifth byte is 0 then, and in ZIP it is a version, at least 10. */
static bool read_file(at_tensors *f)
{
    unsigned char start[8] = {0};
    at_source *s = &f->source;
    if (!at_source_read(s, start, f->size < 8 ? f->size : 8)) return false;
    bool zip = memcmp(start, "PK\3\4", 4) == 0 && start[4] != 0;
    if (zip || memcmp(start, "PK\5\6", 4) == 0) {
        s->format = "npz";
        return at_npz_read(f);
    }
    if (memcmp(start, "\x93NUMPY", 6) == 0)
        return at_source_fail(s, "it is a .npy file: at_npy_load reads it");
    s->format = "safetensors";
    return at_source_seek(s, 0, f->size) && at_safetensors_read(f);
}

static bool list_file(at_tensors *f)
{
    const char *twice;
    if (!at_keys_list(&f->pairs, f->source.t, &twice)) return false;
    if (twice)
        return at_source_fail(&f->source, "two of its metadata have the key \"%s\"",
                              at_shown(twice, -1));
    if (!at_keys_list(&f->entries, f->source.t, &twice)) return false;
    if (twice)
        return at_source_fail(&f->source, "two of its tensors are named \"%s\"",
                              at_shown(twice, -1));
    for (int i = 0; i < f->entries.n; i++) ((at_entry *)f->entries.in_order[i])->index = i;
    return true;
}

at_tensors *at_tensors_open(at_tape *t, const char *path)
{
    AT_REQUIRE(t, path, "tensors: the path is NULL");
    at_tensors *f = at_step_alloc(t, sizeof *f);
    char *copy = f ? at_step_alloc(t, strlen(path) + 1) : NULL;
    if (!copy) return NULL;
    memset(f, 0, sizeof *f);
    f->source = (at_source){.t = t, .format = "tensors", .path = strcpy(copy, path)};
    bool good = open_source(&f->source, &f->about, &f->size) && read_file(f) && list_file(f);
    if (f->source.file) fclose(f->source.file);
    f->source.file = NULL;
    return good ? f : NULL;
}

/* ------------------------------------------------------------------ list ----------------------- */

int at_tensors_count(const at_tensors *f)
{
    return f ? f->entries.n : 0;
}

static const at_entry *entry_at(const at_tensors *f, int i)
{
    return i >= 0 && i < at_tensors_count(f) ? (const at_entry *)f->entries.in_order[i] : NULL;
}

const char *at_tensors_name(const at_tensors *f, int i)
{
    const at_entry *e = entry_at(f, i);
    return e ? e->keyed.key : NULL;
}

at_shape at_tensors_shape(const at_tensors *f, int i)
{
    const at_entry *e = entry_at(f, i);
    return e ? e->stored.shape : (at_shape){0};
}

const char *at_tensors_dtype(const at_tensors *f, int i)
{
    const at_entry *e = entry_at(f, i);
    return e ? at_stored_text(&e->stored) : NULL;
}

int at_tensors_find(const at_tensors *f, const char *name)
{
    const at_entry *e = f && name ? (at_entry *)at_keys_find(&f->entries, name) : NULL;
    return e ? e->index : -1;
}

const char *at_tensors_metadata(const at_tensors *f, const char *key)
{
    const at_pair *p = f && key ? (at_pair *)at_keys_find(&f->pairs, key) : NULL;
    return p ? p->value : NULL;
}

int at_tensors_metadata_count(const at_tensors *f)
{
    return f ? f->pairs.n : 0;
}

const char *at_tensors_metadata_key(const at_tensors *f, int i)
{
    return i >= 0 && i < at_tensors_metadata_count(f) ? f->pairs.sorted[i]->key : NULL;
}

/* ------------------------------------------------------------------ load ----------------------- */

bool at_entry_begin(const at_tensors *f, at_source *s, const at_entry *e)
{
    s->tensor = e->keyed.key;
    s->z = e->deflated ? f->z : NULL;
    s->sums = f->header_length == 0;
    s->crc = 0;
    if (!at_source_seek(s, e->begin, e->unpacked)) return false;
    if (s->z) at_inflate_begin(s->z, s->file, e->end - e->begin);
    return true;
}

/* Opens the file of f again, as s. */
static bool open_again(const at_tensors *f, at_source *s)
{
    struct stat about = {0};
    ptrdiff_t size;
    *s = f->source;
    if (!open_source(s, &about, &size)) return false;
    return (about.st_dev == f->about.st_dev && about.st_ino == f->about.st_ino &&
            about.st_mtime == f->about.st_mtime && size == f->size) ||
           at_source_fail(s, "it was replaced or written since it was opened");
}

static bool sum_is_right(const at_source *s, const at_entry *e)
{
    return !s->sums || s->crc == e->crc ||
           at_source_fail(s, "its checksum is %08x, but its bytes have %08x", (unsigned)e->crc,
                          (unsigned)s->crc);
}

/* Loads the tensor of this name into *x, which is made if it is NULL. */
static bool load_entry(const at_tensors *f, const char *name, at_tensor **x)
{
    at_tape *t = f->source.t;
    AT_REQUIRE(t, name, "tensors: the name of a tensor of %s is NULL", f->source.path);
    const at_entry *e = (at_entry *)at_keys_find(&f->entries, name);
    if (!e) return at_source_fail(&f->source, "it has no tensor \"%s\"", at_shown(name, -1));
    at_source s;
    at_stored stored = e->stored;
    at_profile_line *outer = at_profile_enter(t, "tensors_load");
    bool good = open_again(f, &s) && at_entry_begin(f, &s, e);
    if (good && s.sums) good = at_npy_header(&s, &stored);
    if (good && *x)
        good = at_source_load_into(&s, &stored, *x);
    else if (good)
        good = (*x = at_source_load(&s, &stored));
    good = good && sum_is_right(&s, e);
    if (s.file) fclose(s.file);
    at_profile_leave(t, outer);
    return good;
}

at_tensor *at_tensors_load(const at_tensors *f, const char *name)
{
    at_tensor *x = NULL;
    if (!f || !load_entry(f, name, &x) || !x) return NULL;
    x->name = at_keys_find(&f->entries, name)->key;
    return x;
}

bool at_tensors_load_into(const at_tensors *f, const char *name, at_tensor *x)
{
    if (!f) return false;
    AT_REQUIRE(f->source.t, x, "tensors: the tensor to load into is NULL");
    return at_check_any(f->source.t, "tensors", "x", x) && load_entry(f, name, &x);
}

/* ------------------------------------------------------------------ verify --------------------- */

/* All bytes that s has left.  Of them those from `zeros` on, 8 of them, count as zeros ('0'). */
static bool sum_rest(at_source *s, ptrdiff_t zeros)
{
    unsigned char block[1 << 13];
    s->sums = false;
    s->crc = 0;
    for (ptrdiff_t at = 0, n; s->unread > 0; at += n) {
        n = s->unread < (ptrdiff_t)sizeof block ? s->unread : (ptrdiff_t)sizeof block;
        if (!at_source_read(s, block, n)) return false;
        for (ptrdiff_t i = zeros; i < zeros + 8; i++)
            if (i >= at && i < at + n) block[i - at] = '0';
        s->crc = at_crc32(s->crc, block, (size_t)n);
    }
    return true;
}

static bool verify_safetensors(const at_tensors *f, at_source *s)
{
    const char *expected = at_tensors_metadata(f, "crc32");
    char found[9];
    if (!expected) return at_source_fail(s, "it has no checksum, the metadata \"crc32\"");
    if (!at_source_seek(s, 0, f->size) || !sum_rest(s, 8 + (expected - f->header))) return false;
    snprintf(found, sizeof found, "%08x", (unsigned)s->crc);
    return strcmp(found, expected) == 0 ||
           at_source_fail(s, "its checksum is %s, but its bytes have %s", at_shown(expected, -1),
                          found);
}

static bool verify_npz(const at_tensors *f, at_source *s)
{
    for (int i = 0; i < f->entries.n; i++) {
        const at_entry *e = entry_at(f, i);
        if (!at_entry_begin(f, s, e) || !sum_rest(s, -8)) return false;
        s->sums = true;
        if (s->z && !at_inflate_end(s->z)) return at_source_fail(s, "%s", s->z->why);
        if (!sum_is_right(s, e)) return false;
    }
    return true;
}

bool at_tensors_verify(const at_tensors *f)
{
    if (!f || !at_ok(f->source.t)) return false;
    at_source s;
    bool good = open_again(f, &s);
    if (good) good = f->header_length > 0 ? verify_safetensors(f, &s) : verify_npz(f, &s);
    if (s.file) fclose(s.file);
    return good;
}
