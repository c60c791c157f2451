/* archive.c -- what the formats of files of tensors have in common; see archive.h. */
#include "io/archive.h"

#include <stdlib.h>
#include <string.h>

#include "io/crc32.h"

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

bool at_entry_begin(at_source *s, const at_entry *e)
{
    s->tensor = e->keyed.key;
    s->crc = 0;
    return at_source_seek(s, e->begin, e->unpacked);
}

bool at_source_sum_rest(at_source *s, ptrdiff_t zeros)
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

bool at_sum_is_right(const at_source *s, const at_entry *e)
{
    return !s->sums || s->crc == e->crc ||
           at_source_fail(s, "its checksum is %08x, but its bytes have %08x", (unsigned)e->crc,
                          (unsigned)s->crc);
}
