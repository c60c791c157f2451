/* arrays.c -- named arrays from .npz, .npy, .safetensors and JSON; see arrays.h. */
#include "arrays.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "attic_op.h"
#include "autograd/file.h"
#include "io/json.h"

/* ------------------------------------------------------------------ all files ------------------ */

const array *arrays_find(const arrays *all, const char *name)
{
    for (int k = 0; k < all->n; k++)
        if (strcasecmp(all->of[k].name, name) == 0) return &all->of[k];
    return NULL;
}

/* What 16 bits are the upper half of: a float */
static double of_bf16(int bits)
{
    union {
        uint32_t bits;
        float number;
    } f4 = {(uint32_t)(bits & 0xffff) << 16};
    return (double)f4.number;
}

static at_tensor *from_bf16(at_tape *t, const at_tensor *bits)
{
    at_tensor *x = at_blank(t, ATTIC_F64, bits->shape);
    double *to = x ? x->data : NULL;
    for (ptrdiff_t e = 0; to && e < at_count(x->shape); e++)
        to[e] = of_bf16((int)at_element(bits, e));
    return x;
}

static bool add(at_tape *t, const char *path, arrays *all, array a)
{
    if (!a.x) return false;
    if (arrays_find(all, a.name))
        return at_fail(t, ATTIC_FILE_ERROR, "%s: there is a second array \"%s\"", path,
                       at_shown(a.name, -1));
    if (all->n == ARRAYS_MAX)
        return at_fail(t, ATTIC_FILE_ERROR, "%s: there are more than %d arrays", path, ARRAYS_MAX);
    if (strcmp(a.dtype, "u16") == 0 || strcmp(a.dtype, "i16") == 0) {
        a.x = from_bf16(t, a.x);
        a.dtype = "bf16";
    }
    if (a.x) all->of[all->n++] = a;
    return a.x != NULL;
}

/* Is there room for so many bytes more?  Asked before they are read. */
static bool have_room(at_tape *t, const char *path, arrays *all, ptrdiff_t bytes)
{
    if (bytes > ARRAYS_BYTES - all->bytes)
        return at_fail(t, ATTIC_FILE_ERROR, "%s: its arrays have more than %d MB", path, ARRAYS_MB);
    all->bytes += bytes;
    return true;
}

/* ------------------------------------------------------------------ NumPy, safetensors --------- */

/* "i32" has 4 bytes, "bool" one */
static int bytes_of(const char *dtype)
{
    const char *digits = dtype + strcspn(dtype, "0123456789");
    return strcmp(digits, "64") == 0   ? 8
           : strcmp(digits, "32") == 0 ? 4
           : strcmp(digits, "16") == 0 ? 2
                                       : 1;
}

static bool read_tensors(at_tape *t, const char *path, arrays *all)
{
    const at_tensors *f = at_tensors_open(t, path);
    for (int i = 0; i < at_tensors_count(f); i++) {
        const char *dtype = at_tensors_dtype(f, i), *name = at_tensors_name(f, i);
        const ptrdiff_t n = at_count(at_tensors_shape(f, i));
        if (!have_room(t, path, all, n * bytes_of(dtype)) ||
            !add(t, path, all, (array){name, dtype, at_tensors_load(f, name)}))
            return false;
    }
    return f != NULL;
}

/* Of "out/dQ.npy": "dQ" */
static const char *name_of_file(at_tape *t, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const size_t n = strcspn(base, ".");
    char *name = at_step_alloc(t, n + 1);
    if (name) memcpy(name, base, n), name[n] = 0;
    return name;
}

static bool read_npy(at_tape *t, at_source *s, arrays *all, ptrdiff_t bytes)
{
    at_stored e = {.bytes = 0};
    const char *name = name_of_file(t, s->path);
    s->format = "npy";
    if (!name || !have_room(t, s->path, all, bytes) || !at_source_seek(s, 0, bytes) ||
        !at_npy_header(s, &e))
        return false;
    return add(t, s->path, all, (array){name, at_stored_text(&e), at_source_load(s, &e)});
}

/* ------------------------------------------------------------------ JSON ----------------------- */

/* A list of lists of numbers, as it is read: the shape is known when each depth was closed once. */
typedef struct {
    at_json r;
    int depth, deepest;     /* open brackets; of the first number, -1: there was none */
    int count[AT_MAX_DIMS]; /* members so far of each open list */
    int dim[AT_MAX_DIMS];   /* -1: no list of this depth was closed */
    double *to;
    ptrdiff_t n;
} list_reader;

/* What Python writes where JSON has no word, and true and false */
static bool took_word(at_json *r, double *x)
{
    static const struct {
        const char *word;
        double x;
    } known[] = {{"true", 1},
                 {"false", 0},
                 {"NaN", (double)NAN},
                 {"Infinity", (double)INFINITY},
                 {"-Infinity", -(double)INFINITY}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const size_t n = strlen(known[k].word);
        if ((size_t)(r->end - r->at) < n || memcmp(r->at, known[k].word, n) != 0) continue;
        r->at += n;
        *x = known[k].x;
        return true;
    }
    return false;
}

static bool take_number(list_reader *l)
{
    double x;
    at_json_took(&l->r, 0); /* spaces */
    if (!took_word(&l->r, &x) && !at_json_number(&l->r, &x)) return false;
    if (l->deepest < 0) l->deepest = l->depth;
    if (l->deepest != l->depth)
        return at_source_fail(l->r.source,
                              "a number before byte %td is in %d brackets, the first in %d",
                              l->r.at - l->r.begin, l->depth, l->deepest);
    l->to[l->n++] = x;
    return true;
}

/* Behind the bracket of a list that is complete */
static bool close_list(list_reader *l)
{
    const int d = --l->depth;
    if (l->dim[d] >= 0 && l->dim[d] != l->count[d])
        return at_source_fail(
            l->r.source, "the list that ends before byte %td has %d members, one before has %d",
            l->r.at - l->r.begin, l->count[d], l->dim[d]);
    l->dim[d] = l->count[d];
    return true;
}

/* One value: a number or word, or a list of lists of them.  No list is empty. */
static bool read_value(list_reader *l)
{
    bool value_next = true;
    do {
        if (value_next && at_json_took(&l->r, '[')) {
            if (l->depth == AT_MAX_DIMS)
                return at_source_fail(l->r.source, "it has more than %d dimensions", AT_MAX_DIMS);
            l->count[l->depth++] = 0;
            continue;
        }
        if (value_next && !take_number(l)) return false;
        if (l->depth == 0) break;
        l->count[l->depth - 1]++;
        const int more = at_json_more(&l->r, 1, ']');
        if (more < 0 || (more == 0 && !close_list(l))) return false;
        value_next = more;
    } while (l->depth > 0);
    return true;
}

/* At most so many numbers are in a text: one more than it has commas. */
static ptrdiff_t most_numbers(const char *at, const char *end)
{
    ptrdiff_t n = 1;
    for (; at < end; at++) n += *at == ',';
    return n;
}

/* A value behind its key, which ends where at_json_skip says. */
static bool read_member(at_tape *t, at_json *r, arrays *all, const char *key)
{
    list_reader l = {.r = *r, .deepest = -1, .dim = {-1, -1, -1, -1, -1, -1, -1, -1}};
    if (!at_json_skip(r)) return false;
    const ptrdiff_t most = most_numbers(l.r.at, r->at);
    l.to = at_step_alloc(t, (size_t)most * sizeof *l.to);
    if (!l.to || !read_value(&l)) return false;
    r->at = l.r.at;
    at_shape shape = {.ndim = l.deepest};
    memcpy(shape.dim, l.dim, sizeof shape.dim);
    at_tensor *x = at_const(t, shape, l.to);
    return add(t, r->source->path, all, (array){key, "json", x});
}

static bool read_members(at_tape *t, at_json *r, arrays *all)
{
    int more;
    if (!at_json_took(r, '{')) return at_json_expects(r, "an object");
    for (int n = 0; (more = at_json_more(r, n, '}')) > 0; n++) {
        r->source->tensor = NULL;
        const char *key = at_json_key(r);
        if (!key) return false;
        r->source->tensor = key;
        if (!read_member(t, r, all, key)) return false;
    }
    r->source->tensor = NULL;
    at_json_took(r, 0);
    return more == 0 && (r->at == r->end || at_json_expects(r, "the end"));
}

static bool read_json(at_tape *t, at_source *s, arrays *all, ptrdiff_t bytes)
{
    s->format = "json";
    char *text = at_step_alloc(t, (size_t)bytes + 1);
    if (!text || !have_room(t, s->path, all, bytes) || !at_source_seek(s, 0, bytes) ||
        !at_source_read(s, text, bytes))
        return false;
    text[bytes] = 0;
    at_json r = {s, "the file", text, text, text + bytes};
    return read_members(t, &r, all);
}

/* ------------------------------------------------------------------ which is it? --------------- */

/* A .safetensors file begins with the size of its header in 8 bytes, the last of which is 0. */
static bool is_json(const unsigned char start[8], ptrdiff_t bytes)
{
    return start[0] && strchr("{[ \t\r\n", start[0]) && (bytes < 8 || start[7] != 0);
}

bool arrays_read(at_tape *t, const char *path, arrays *all)
{
    ptrdiff_t bytes = 0;
    unsigned char start[8] = {0};
    at_source s = {.t = t, .format = "arrays", .path = path};
    s.file = at_file_open(t, path, &s.unread);
    bytes = s.unread;
    bool good = s.file != NULL;
    if (bytes > ARRAYS_BYTES) good = at_source_fail(&s, "it has more than %d MB", ARRAYS_MB);
    good = good && at_source_read(&s, start, bytes < 8 ? bytes : 8);
    const bool json = good && is_json(start, bytes), npy = memcmp(start, "\x93NUMPY", 6) == 0;
    if (json) good = read_json(t, &s, all, bytes);
    if (npy) good = good && read_npy(t, &s, all, bytes);
    if (s.file) fclose(s.file);
    return good && (json || npy || read_tensors(t, path, all));
}
