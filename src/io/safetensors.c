/* safetensors.c -- the header of a .safetensors file; see tensors.h.
 *
 *     length (8 bytes, least first)    {"__metadata__":{"step":"100"},              the elements
 *                                       "W":{"dtype":"F32","shape":[2,3],
 *                                            "data_offsets":[0,24]}}   spaces
 *
 * The header is JSON of exactly this form, so that its depth is known and nothing recurses.
 * data_offsets are counted from the end of the header.  Sorted by them, each tensor begins where
 * the one before ends, and the last one ends with the file: then no byte is read as two tensors,
 * and none is hidden.
 *
 * Whatever the reference implementation refuses is refused here, and besides: what it ignores
 * silently (a name that occurs twice, an unknown key of a tensor), and dtypes that no tensor has
 * here. */
#include <limits.h>
#include <string.h>

#include "io/archive.h"
#include "system/utf8.h"

enum { SAFETENSORS_HEADER_LIMIT = 100000000 }; /* bytes, as in the reference implementation */

static bool json_metadata(at_json *r, at_tensors *f)
{
    int more, n = 0;
    if (!at_json_took(r, '{')) return at_json_expects(r, "an object of strings");
    for (; (more = at_json_more(r, n, '}')) > 0; n++) {
        const char *key = at_json_key(r), *value = key ? at_json_string(r) : NULL;
        if (!value) return false;
        at_pair *p = at_keys_add(&f->pairs, r->source->t, sizeof *p, key);
        if (!p) return false;
        p->value = value;
    }
    return more == 0;
}

static bool json_dtype(at_json *r, at_stored *stored)
{
    static const struct {
        const char *name;
        char kind;
        int bytes;
    } known[] = {{"F64", 'f', 8}, {"F32", 'f', 4}, {"F16", 'f', 2}, {"BF16", 'g', 2},
                 {"I64", 'i', 8}, {"I32", 'i', 4}, {"I16", 'i', 2}, {"I8", 'i', 1},
                 {"U64", 'u', 8}, {"U32", 'u', 4}, {"U16", 'u', 2}, {"U8", 'u', 1},
                 {"BOOL", 'b', 1}};
    const char *name = at_json_string(r);
    if (!name) return false;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(name, known[k].name) == 0) {
            stored->kind = known[k].kind;
            stored->bytes = known[k].bytes;
            return true;
        }
    return at_source_fail(r->source,
                          "its dtype %s is none of F64 F32 F16 BF16, I64 I32 I16 I8, U64 U32 U16 "
                          "U8, BOOL",
                          at_shown(name, -1));
}

static bool json_shape(at_json *r, at_shape *s)
{
    int more;
    *s = (at_shape){0};
    if (!at_json_took(r, '[')) return at_json_expects(r, "a list of dimensions");
    while ((more = at_json_more(r, s->ndim, ']')) > 0) {
        ptrdiff_t dim = 0;
        if (s->ndim == AT_MAX_DIMS)
            return at_source_fail(r->source, "it has more than %d dimensions", AT_MAX_DIMS);
        if (!at_json_integer(r, INT_MAX, &dim)) return false;
        s->dim[s->ndim++] = (int)dim;
    }
    return more == 0 &&
           (at_shape_valid(*s) ||
            at_source_fail(r->source, "its shape %s is impossible", at_shape_text(*s)));
}

static bool json_offsets(at_json *r, at_entry *e)
{
    return (at_json_took(r, '[') || at_json_expects(r, "a list of two offsets")) &&
           at_json_integer(r, PTRDIFF_MAX / 16, &e->begin) &&
           (at_json_took(r, ',') || at_json_expects(r, "a comma and the second offset")) &&
           at_json_integer(r, PTRDIFF_MAX / 16, &e->end) &&
           (at_json_took(r, ']') || at_json_expects(r, "the end of a list of two offsets"));
}

static bool json_tensor(at_json *r, at_tensors *f, const char *name)
{
    static const char *const key[] = {"dtype", "shape", "data_offsets"};
    at_source *s = r->source;
    at_entry *e = at_keys_add(&f->entries, s->t, sizeof *e, name);
    if (!e) return false;
    s->tensor = name;
    int more, n = 0;
    unsigned seen = 0;
    if (!at_json_took(r, '{'))
        return at_json_expects(r, "an object with dtype, shape, data_offsets");
    for (; (more = at_json_more(r, n, '}')) > 0; n++) {
        unsigned k = 0;
        const char *text = at_json_key(r);
        if (!text) return false;
        while (k < 3 && strcmp(text, key[k]) != 0) k++;
        if (k == 3) return at_source_fail(s, "it has an unknown key \"%s\"", at_shown(text, -1));
        if (seen & 1u << k) return at_source_fail(s, "it has two keys \"%s\"", text);
        seen |= 1u << k;
        if (!(k == 0   ? json_dtype(r, &e->stored)
              : k == 1 ? json_shape(r, &e->stored.shape)
                       : json_offsets(r, e)))
            return false;
    }
    if (more < 0) return false;
    for (unsigned k = 0; k < 3; k++)
        if (!(seen & 1u << k)) return at_source_fail(s, "it lacks the key \"%s\"", key[k]);
    if (e->end < e->begin)
        return at_source_fail(s, "it ends at byte %td, before it begins at byte %td", e->end,
                              e->begin);
    if (e->end - e->begin != at_stored_bytes(&e->stored))
        return at_source_fail(s, "%s %s is %td bytes, but data_offsets hold %td",
                              at_stored_text(&e->stored), at_shape_text(e->stored.shape),
                              at_stored_bytes(&e->stored), e->end - e->begin);
    s->tensor = NULL;
    return true;
}

static bool json_header(at_json *r, at_tensors *f)
{
    int more, n = 0;
    bool metadata = false;
    if (r->begin == r->end || *r->begin != '{') return at_json_expects(r, "{");
    r->at++;
    for (; (more = at_json_more(r, n, '}')) > 0; n++) {
        const char *name = at_json_key(r);
        if (!name) return false;
        bool is_metadata = strcmp(name, "__metadata__") == 0;
        if (is_metadata && metadata)
            return at_source_fail(r->source, "its header has two __metadata__");
        metadata |= is_metadata;
        if (!(is_metadata ? json_metadata(r, f) : json_tensor(r, f, name))) return false;
    }
    at_json_took(r, 0);
    return more == 0 && (r->at == r->end || at_json_expects(r, "the end, but for spaces"));
}

/* Are the tensors side by side, from the first byte behind the header to the last? */
static bool offsets_cover(at_tensors *f, ptrdiff_t data)
{
    at_source *s = &f->source;
    at_keyed **x = at_entries_by_begin(f);
    if (!x) return false;
    ptrdiff_t end = 0, size = f->size - data;
    for (int i = 0; i < f->entries.n; i++) {
        at_entry *e = (at_entry *)x[i];
        s->tensor = e->keyed.key;
        if (e->begin != end)
            return at_source_fail(s, "it begins at byte %td of the data, but %s byte %td", e->begin,
                                  i ? "the one before ends at" : "the first one should at", end);
        end = e->end;
        e->begin += data;
        e->end += data;
        e->unpacked = e->end - e->begin;
    }
    s->tensor = NULL;
    return end == size ||
           at_source_fail(s, "its tensors have %td bytes, but %td follow its header", end, size);
}

static bool safetensors_read(at_tensors *f)
{
    at_source *s = &f->source;
    unsigned char bytes[8];
    uint64_t length = 0;
    if (!at_source_read(s, bytes, sizeof bytes)) return false;
    for (int k = 7; k >= 0; k--) length = length << 8 | bytes[k];
    if (length > SAFETENSORS_HEADER_LIMIT)
        return at_source_fail(s,
                              "it is neither .safetensors nor .npz: a header of %llu bytes is "
                              "longer than %d",
                              (unsigned long long)length, SAFETENSORS_HEADER_LIMIT);
    if ((ptrdiff_t)length > s->unread)
        return at_source_fail(s, "its header has %td bytes, but %td follow", (ptrdiff_t)length,
                              s->unread);
    char *header = at_step_alloc(s->t, (size_t)length);
    if (!header || !at_source_read(s, header, (ptrdiff_t)length)) return false;
    f->header = header;
    ptrdiff_t good = at_utf8_bytes(header, (ptrdiff_t)length);
    if (good < (ptrdiff_t)length)
        return at_source_fail(s, "byte %td of its header is not UTF-8", good);
    at_json r = {s, "its header", header, header, header + length};
    return json_header(&r, f) && offsets_cover(f, 8 + (ptrdiff_t)length);
}

static bool safetensors_begin(const at_tensors *f, at_source *s, const at_entry *e,
                              at_stored *stored)
{
    (void)f, (void)stored;
    return at_entry_begin(s, e);
}

static bool safetensors_verify(const at_tensors *f, at_source *s)
{
    const at_pair *sum = (at_pair *)at_keys_find(&f->pairs, "crc32");
    char found[9];
    if (!sum) return at_source_fail(s, "it has no checksum, the metadata \"crc32\"");
    const char *expected = sum->value;
    if (!at_source_seek(s, 0, f->size) || !at_source_sum_rest(s, 8 + (expected - f->header)))
        return false;
    snprintf(found, sizeof found, "%08x", (unsigned)s->crc);
    return strcmp(found, expected) == 0 ||
           at_source_fail(s, "its checksum is %s, but its bytes have %s", at_shown(expected, -1),
                          found);
}

/* (It begins with a length: there is no mark to recognise.) */
const at_format at_safetensors_format = {"safetensors", NULL, safetensors_read, safetensors_begin,
                                         safetensors_verify};
