/* archive.h -- what an opened file of named tensors is made of, and what a format is.  Private to
 * src/io.
 *
 *     tensors.c                    opens, lists, loads, verifies: by the format
 *     npz.c    safetensors.c       the formats
 *     archive.c                    what they have in common
 *     source.c    npy.c json.c     bytes, numbers, headers */
#ifndef AT_IO_ARCHIVE_H
#define AT_IO_ARCHIVE_H
#include <sys/stat.h>

#include "io/json.h"
#include "io/source.h"
#include "io/tensors.h"

/* Things with a name, in step memory: added one by one, then listed and sorted. */
typedef struct at_keyed at_keyed;
struct at_keyed { /* the first member of what is listed */
    const char *key;
    at_keyed *next;
};
typedef struct {
    at_keyed *first, *last;
    int n;
    at_keyed **in_order, **sorted; /* by key */
} at_keys;

/* A zeroed thing of this size with this key, behind the others; NULL after a sticky error. */
void *at_keys_add(at_keys *k, at_tape *t, size_t size, const char *key);
/* Makes in_order and sorted.  A key that occurs twice is returned in *twice, else NULL is. */
bool at_keys_list(at_keys *k, at_tape *t, const char **twice);
/* NULL if there is none. */
at_keyed *at_keys_find(const at_keys *k, const char *key);

typedef struct { /* a tensor */
    at_keyed keyed;
    at_stored stored;
    ptrdiff_t begin, end; /* where the file holds it: elements; in an .npz a .npy file */
    ptrdiff_t unpacked;   /* bytes of that .npy file */
    bool deflated;
    uint32_t crc;
    int index;
} at_entry;

typedef struct { /* a text of the metadata */
    at_keyed keyed;
    const char *value;
} at_pair;

/* A format of files, a row of the list in tensors.c.  Its functions return false after a sticky
 * error. */
typedef struct {
    const char *name; /* "npz": messages begin with it */
    /* Has a file that begins with these bytes (zeros behind its end) this format?  NULL: it is the
     * last of the list, and needs no mark. */
    bool (*recognises)(const unsigned char start[8]);
    /* Reads all but the elements, from the beginning of f's source. */
    bool (*read)(at_tensors *f);
    /* Afterwards s, an open source, reads the elements of e.  *stored is a copy of e's, for a
     * format that reads there once more how they are stored. */
    bool (*begin)(const at_tensors *f, at_source *s, const at_entry *e, at_stored *stored);
    /* Compares the file of s with its checksums. */
    bool (*verify)(const at_tensors *f, at_source *s);
} at_format;
extern const at_format at_npz_format, at_safetensors_format;

struct at_tensors {
    const at_format *format;
    at_source source; /* its file is open while at_tensors_open runs, no longer */
    ptrdiff_t size;
    struct stat about;      /* of the file that was opened */
    at_keys entries, pairs; /* of at_entry and at_pair */
    const char *header;     /* of a .safetensors file, with texts decoded where they stood */
    at_inflate *z;          /* of an .npz, once a member is compressed */
    at_tensor *mapped;      /* all bytes of the file, once at_tensors_share has mapped it */
};

/* The entries so far, sorted by begin, then by end.  NULL after a sticky error. */
at_keyed **at_entries_by_begin(const at_tensors *f);
/* s goes to where its file holds e; what it reads there is summed from 0. */
bool at_entry_begin(at_source *s, const at_entry *e);
/* s->crc becomes the checksum of all bytes that s has left, where the 8 from `zeros` on count as
 * zeros ('0'). */
bool at_source_sum_rest(at_source *s, ptrdiff_t zeros);
/* Is the checksum of what s has read that of e, if s sums? */
bool at_sum_is_right(const at_source *s, const at_entry *e);

#endif
