/* tensors.c -- files of named tensors: open, list, load, verify; see tensors.h.
 *
 * A tape has nothing to close a file with, so none stays open: every load opens it again, and
 * compares it with what at_tensors_open saw.  How a file is read its format knows: npz.c and
 * safetensors.c. */
#include <errno.h>
#include <string.h>

#include "io/archive.h"
#include "autograd/file.h"

/* ------------------------------------------------------------------ open ----------------------- */

/* Opens the file of s. */
static bool open_source(at_source *s, struct stat *about, ptrdiff_t *size)
{
    s->file = at_file_open(s->t, s->path, size);
    s->unread = *size;
    return s->file &&
           (fstat(fileno(s->file), about) == 0 || at_source_fail(s, "%s", strerror(errno)));
}

/* The last one takes what none before it recognises.  (A .npy file is none of them: it holds one
 * tensor, without a name.) */
static const at_format *const formats[] = {&at_npz_format, &at_safetensors_format};

/* Its first bytes say what it is. */
static bool read_file(at_tensors *f)
{
    unsigned char start[8] = {0};
    at_source *s = &f->source;
    if (!at_source_read(s, start, f->size < 8 ? f->size : 8)) return false;
    if (memcmp(start, "\x93NUMPY", 6) == 0)
        return at_source_fail(s, "it is a .npy file: at_npy_load reads it");
    int i = 0, last = (int)(sizeof formats / sizeof *formats) - 1;
    while (i < last && !formats[i]->recognises(start)) i++;
    f->format = formats[i];
    s->format = f->format->name;
    return at_source_seek(s, 0, f->size) && f->format->read(f);
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
    bool good = open_again(f, &s) && f->format->begin(f, &s, e, &stored);
    if (good && *x)
        good = at_source_load_into(&s, &stored, *x);
    else if (good)
        good = (*x = at_source_load(&s, &stored));
    good = good && at_sum_is_right(&s, e);
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

/* The whole file as a tensor that no tape has; NULL after a sticky error. */
static at_tensor *map_whole(const at_tensors *f)
{
    at_source s = {.file = NULL};
    at_tensor *whole = at_permanent_alloc(f->source.t, sizeof *whole);
    void *p = whole && open_again(f, &s) ? at_file_map(s.t, s.file, f->size, s.path) : NULL;
    if (s.file) fclose(s.file);
    if (!p) return NULL;
    *whole = (at_tensor){.dtype = ATTIC_BOOL, .data = p};
    return whole;
}

bool at_tensors_share(at_tensors *f, const char *name, at_tensor *x)
{
    const at_entry *e = (at_entry *)at_keys_find(&f->entries, name);
    if (!e || f->format != &at_safetensors_format || !at_same_shape(e->stored.shape, x->shape) ||
        !at_is_stored_alike(&e->stored, x->dtype) || e->begin % e->stored.bytes)
        return false;
    if (!f->mapped && !(f->mapped = map_whole(f))) return false;
    at_share_data(x, f->mapped, (char *)f->mapped->data + e->begin);
    return true;
}

/* ------------------------------------------------------------------ verify --------------------- */

bool at_tensors_verify(const at_tensors *f)
{
    if (!f || !at_ok(f->source.t)) return false;
    at_source s;
    bool good = open_again(f, &s) && f->format->verify(f, &s);
    if (s.file) fclose(s.file);
    return good;
}
