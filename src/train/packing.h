/* packing.h -- documents side by side in rows of one length.  Private to src/train. */
#ifndef AT_TRAIN_PACKING_H
#define AT_TRAIN_PACKING_H
#include "autograd/tape.h"

enum { AT_PACK_WINDOW = 1024 };

/* The ids begin .. begin + length - 1 of a document, or as many of them as there are. */
typedef struct {
    int document, begin;
} at_fragment;

typedef struct {
    int length; /* of each row, in ids */
    ptrdiff_t n;
    ptrdiff_t *first; /* [n + 1]: row r has fragment[first[r]] .. fragment[first[r + 1] - 1] */
    at_fragment *fragment;
} at_packing;

/* The n documents of `order`, in this order; document i has start[i + 1] - start[i] ids, at least
 * one, and a row `length` >= 1.  Memory of the result comes from alloc, at_step_alloc or
 * at_permanent_alloc.  False after a sticky error. */
bool at_pack(at_tape *t, at_packing *p, int length, ptrdiff_t n, const int *order,
             const ptrdiff_t *start, void *(*alloc)(at_tape *t, size_t bytes));

#endif
