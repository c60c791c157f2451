/* archive.h -- what an opened file of named tensors is made of.  Private to src/io. */
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

struct at_tensors {
    at_source source; /* its file is open while at_tensors_open runs, no longer */
    ptrdiff_t size;
    struct stat about;       /* of the file that was opened */
    at_keys entries, pairs;  /* of at_entry and at_pair */
    const char *header;      /* of a .safetensors file, with texts decoded where they stood */
    ptrdiff_t header_length; /* 0: it is an .npz */
    at_inflate *z;           /* of an .npz, once a member is compressed */
};

/* The entries so far, sorted by begin, then by end.  NULL after a sticky error. */
at_keyed **at_entries_by_begin(const at_tensors *f);
/* Read all but the elements.  False after a sticky error. */
bool at_safetensors_read(at_tensors *f);
bool at_npz_read(at_tensors *f);
/* s begins to read this tensor from its open file. */
bool at_entry_begin(const at_tensors *f, at_source *s, const at_entry *e);
bool at_source_seek(at_source *s, ptrdiff_t to, ptrdiff_t bytes);

#endif
