/* npz.c -- the directory of an .npz file, as np.savez and np.savez_compressed write it; see
 * tensors.h.
 *
 * A ZIP file of .npy files (APPNOTE.TXT of PKWARE).  It is read from its end:
 *
 *     local header, W.npy, local header, b.npy, ...   directory   [zip64 end, its locator]   end
 *
 * The end says where the directory is, and an entry of that where a local header is, how the
 * bytes behind it are compressed, how many there are, their checksum.  Numbers are little-endian;
 * one that is too large for its 2 or 4 bytes has all bits set there and stands in a zip64 field.
 * NumPy writes those fields into each local header, and in the directory where it must.
 *
 * The parts must be side by side or, of members, at least not within each other: a file whose
 * members share their bytes can unpack to far more than deflate allows (Fifield 2019). */
#include <limits.h>
#include <string.h>

#include "io/archive.h"
#include "system/utf8.h"

enum { ZIP_END = 22, ZIP_LOCATOR = 20, ZIP_END_64 = 56, ZIP_ENTRY = 46, ZIP_LOCAL = 30 };

static uint64_t zip_number(const unsigned char *p, int bytes)
{
    uint64_t n = 0;
    while (bytes-- > 0) n = n << 8 | p[bytes];
    return n;
}

static bool zip_read(at_source *s, ptrdiff_t from, void *to, ptrdiff_t bytes)
{
    return at_source_seek(s, from, bytes) && at_source_read(s, to, bytes);
}

typedef struct {
    uint64_t count, size, offset; /* of the directory */
    ptrdiff_t end;                /* where it must end */
} zip_directory;

/* A ZIP file with a zip64 end has its locator in front of the other one. */
static bool read_zip_end_64(at_tensors *f, zip_directory *d)
{
    at_source *s = &f->source;
    unsigned char locator[ZIP_LOCATOR] = {0}, end[ZIP_END_64] = {0};
    ptrdiff_t at = d->end - ZIP_LOCATOR, record = at - ZIP_END_64;
    if (record < 0 || !zip_read(s, at, locator, sizeof locator)) return at_ok(s->t);
    if (zip_number(locator, 4) != 0x07064b50) return true;
    if (!zip_read(s, record, end, sizeof end)) return false;
    if (zip_number(locator + 8, 8) != (uint64_t)record || zip_number(end, 4) != 0x06064b50)
        return at_source_fail(s, "its zip64 end is not where it should be, at byte %td", record);
    if (zip_number(locator + 4, 4) || zip_number(end + 16, 4) || zip_number(end + 20, 4))
        return at_source_fail(s, "it is one of several disks");
    d->count = zip_number(end + 32, 8);
    d->size = zip_number(end + 40, 8);
    d->offset = zip_number(end + 48, 8);
    d->end = record;
    return true;
}

static bool read_zip_end(at_tensors *f, zip_directory *d)
{
    at_source *s = &f->source;
    unsigned char end[ZIP_END] = {0};
    if (f->size < ZIP_END) return at_source_fail(s, "it ends early");
    if (!zip_read(s, f->size - ZIP_END, end, sizeof end)) return false;
    if (zip_number(end, 4) != 0x06054b50 || zip_number(end + 20, 2) != 0)
        return at_source_fail(s, "it is cut, or something follows its directory");
    d->count = zip_number(end + 10, 2);
    d->size = zip_number(end + 12, 4);
    d->offset = zip_number(end + 16, 4);
    d->end = f->size - ZIP_END;
    if (!read_zip_end_64(f, d)) return false;
    if (d->end == f->size - ZIP_END && zip_number(end + 4, 4) != 0)
        return at_source_fail(s, "it is one of several disks");
    if (d->size > (uint64_t)d->end || d->offset != (uint64_t)d->end - d->size)
        return at_source_fail(s, "its directory should end at byte %td, where its end begins",
                              d->end);
    return d->count <= d->size / ZIP_ENTRY ||
           at_source_fail(s, "its directory is too short for its members");
}

/* Numbers that have all bits set come from the zip64 field, in this order. */
static bool take_zip_64(const at_source *s, const unsigned char *extra, size_t left,
                        uint64_t *const number[3])
{
    while (left >= 4) {
        size_t id = zip_number(extra, 2), size = zip_number(extra + 2, 2);
        extra += 4;
        left -= 4;
        if (size > left) break;
        for (int i = 0, at = 0; id == 1 && i < 3; i++) {
            if (*number[i] != 0xffffffff) continue;
            if (at + 8 > (int)size) return at_source_fail(s, "its zip64 field is too short");
            *number[i] = zip_number(extra + at, 8);
            at += 8;
        }
        extra += size;
        left -= size;
    }
    return true;
}

/* Of "W.npy", which is not terminated, "W": its dot becomes the end. */
static char *member_name(at_source *s, char *name, size_t n)
{
    static const char suffix[4] = ".npy";
    const char *shown = at_shown(name, (ptrdiff_t)n);
    if (memchr(name, 0, n) || at_utf8_bytes(name, (ptrdiff_t)n) < (ptrdiff_t)n)
        at_source_fail(s, "the name of its member \"%s\" is not UTF-8 text", shown);
    else if (n < 4 || memcmp(name + n - 4, suffix, 4) != 0)
        at_source_fail(s, "its member \"%s\" is no .npy file", shown);
    else
        return name[n - 4] = 0, name;
    return NULL;
}

/* An entry of the directory, at p. */
static bool take_member(at_tensors *f, unsigned char *p, const zip_directory *d)
{
    at_source *s = &f->source;
    unsigned flags = (unsigned)zip_number(p + 8, 2), method = (unsigned)zip_number(p + 10, 2);
    size_t name_size = zip_number(p + 28, 2);
    uint64_t packed = zip_number(p + 20, 4), unpacked = zip_number(p + 24, 4),
             local = zip_number(p + 42, 4);
    unsigned char *extra = p + ZIP_ENTRY + name_size;
    uint64_t *const number[] = {&unpacked, &packed, &local};
    if (!take_zip_64(s, extra, zip_number(p + 30, 2), number)) return false;
    char *name = member_name(s, (char *)p + ZIP_ENTRY, name_size);
    at_entry *e = name ? at_keys_add(&f->entries, s->t, sizeof *e, name) : NULL;
    if (!e) return false;
    s->tensor = name;
    if (flags & (1 | 1 << 6 | 1 << 13)) return at_source_fail(s, "it is encrypted");
    if (method != 0 && method != 8)
        return at_source_fail(
            s, "its compression is method %u, neither stored (0) nor deflated (8)", method);
    if (local > (uint64_t)d->end || packed > d->offset || local + ZIP_LOCAL + packed > d->offset)
        return at_source_fail(s, "it lies outside of the file");
    if (unpacked > PTRDIFF_MAX / 16 ||
        (method ? unpacked / AT_INFLATE_RATIO > packed : unpacked != packed))
        return at_source_fail(s, "it cannot unpack from %llu to %llu bytes",
                              (unsigned long long)packed, (unsigned long long)unpacked);
    e->begin = (ptrdiff_t)local;
    e->end = (ptrdiff_t)packed; /* until its local header is read */
    e->unpacked = (ptrdiff_t)unpacked;
    e->deflated = method == 8;
    e->crc = (uint32_t)zip_number(p + 16, 4);
    s->tensor = NULL;
    return true;
}

static bool read_directory(at_tensors *f, const zip_directory *d)
{
    at_source *s = &f->source;
    unsigned char *p = at_step_alloc(s->t, (size_t)d->size);
    if (!p || !zip_read(s, (ptrdiff_t)d->offset, p, (ptrdiff_t)d->size)) return false;
    size_t left = (size_t)d->size;
    for (uint64_t i = 0; i < d->count; i++) {
        size_t size = left < ZIP_ENTRY ? SIZE_MAX
                                       : ZIP_ENTRY + zip_number(p + 28, 2) + zip_number(p + 30, 2) +
                                             zip_number(p + 32, 2);
        if (size > left || zip_number(p, 4) != 0x02014b50)
            return at_source_fail(s, "its directory is damaged at member %llu",
                                  (unsigned long long)i);
        if (!take_member(f, p, d)) return false;
        p += size;
        left -= size;
    }
    return left == 0 || at_source_fail(s, "its directory has more than its members");
}

/* The local header of e must say what the directory says, and begin behind the member before: at
 * byte `least` or later. */
static bool read_local(at_tensors *f, at_entry *e, ptrdiff_t least, ptrdiff_t directory)
{
    at_source *s = &f->source;
    unsigned char local[ZIP_LOCAL] = {0}, block[64];
    const char *name = e->keyed.key;
    const size_t length = strlen(name);
    if (e->begin < least) return at_source_fail(s, "it begins within the member before");
    if (!zip_read(s, e->begin, local, sizeof local)) return false;
    size_t name_size = zip_number(local + 26, 2), extra = zip_number(local + 28, 2);
    bool same = zip_number(local, 4) == 0x04034b50 && name_size == length + 4 &&
                zip_number(local + 8, 2) == (e->deflated ? 8u : 0u);
    for (size_t i = 0, n; same && i < length; i += n) {
        n = length - i < sizeof block ? length - i : sizeof block;
        if (!zip_read(s, e->begin + ZIP_LOCAL + (ptrdiff_t)i, block, (ptrdiff_t)n)) return false;
        same = memcmp(block, name + i, n) == 0;
    }
    if (!same) return at_source_fail(s, "its local header is not what the directory says");
    e->begin += ZIP_LOCAL + (ptrdiff_t)(name_size + extra);
    e->end += e->begin;
    return e->end <= directory || at_source_fail(s, "it lies outside of the file");
}

/* s begins to read the .npy file that is e. */
static bool begin_member(const at_tensors *f, at_source *s, const at_entry *e)
{
    s->z = e->deflated ? f->z : NULL;
    s->sums = true;
    if (!at_entry_begin(s, e)) return false;
    if (s->z) at_inflate_begin(s->z, s->file, e->end - e->begin);
    return true;
}

/* Dtype and shape stand in the .npy file itself, and the order of the elements. */
static bool npz_begin(const at_tensors *f, at_source *s, const at_entry *e, at_stored *stored)
{
    return begin_member(f, s, e) && at_npy_header(s, stored);
}

static bool read_member(at_tensors *f, at_entry *e)
{
    at_source *s = &f->source;
    if (e->deflated && !f->z && !(f->z = at_step_alloc(s->t, sizeof *f->z))) return false;
    bool good = npz_begin(f, s, e, &e->stored);
    s->z = NULL;
    s->sums = false;
    return good;
}

static bool npz_read(at_tensors *f)
{
    zip_directory d = {0};
    if (!read_zip_end(f, &d) || !read_directory(f, &d)) return false;
    at_keyed **x = at_entries_by_begin(f);
    if (!x) return false;
    ptrdiff_t least = 0;
    for (int i = 0; i < f->entries.n; i++) {
        at_entry *e = (at_entry *)x[i];
        f->source.tensor = e->keyed.key;
        if (!read_local(f, e, least, (ptrdiff_t)d.offset) || !read_member(f, e)) return false;
        least = e->end;
    }
    f->source.tensor = NULL;
    return true;
}

static bool npz_verify(const at_tensors *f, at_source *s)
{
    for (int i = 0; i < f->entries.n; i++) {
        const at_entry *e = (at_entry *)f->entries.in_order[i];
        if (!begin_member(f, s, e) || !at_source_sum_rest(s, -8)) return false;
        s->sums = true;
        if (s->z && !at_inflate_end(s->z)) return at_source_fail(s, "%s", s->z->why);
        if (!at_sum_is_right(s, e)) return false;
    }
    return true;
}

/* "PK\3\4" could also begin the length of a safetensors header, of 67 MB: its fifth byte is 0 then,
 * and in ZIP it is a version, at least 10. */
static bool npz_recognises(const unsigned char start[8])
{
    return (memcmp(start, "PK\3\4", 4) == 0 && start[4] != 0) || memcmp(start, "PK\5\6", 4) == 0;
}

const at_format at_npz_format = {"npz", npz_recognises, npz_read, npz_begin, npz_verify};
