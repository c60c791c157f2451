/* packing.c -- documents side by side in rows of one length: first fit.
 *
 * A document of L ids is cut into fragments of T ids (the length of a row), and one of L mod T if
 * that is not 0.  A fragment of T ids is a row.  A shorter one goes into the first row that has
 * enough room, or begins a row:
 *
 *     T = 8, documents a, b, c, d, e of 5, 10, 3, 6 and 2 ids
 *
 *     row 0    a a a a a b b .      the last 2 of the 10
 *     row 1    b b b b b b b b      the first 8 of the 10
 *     row 2    c c c e e . . .      e did not fit into row 0
 *     row 3    d d d d d d . .
 *
 * Documents are packed in windows of 1024, each without regard to the others.  A window has less
 * than 1024 rows with room, so the work grows as the number of documents, not as its square. */
#include "train/packing.h"

#include <string.h>

#include "autograd/op.h"

/* The rows of the window that have room, in their order. */
typedef struct {
    ptrdiff_t row[AT_PACK_WINDOW];
    int room[AT_PACK_WINDOW], n;
} open_rows;

/* The row for a fragment of so many ids, less than T; *rows is how many there are. */
static ptrdiff_t first_fit(open_rows *open, int ids, int T, ptrdiff_t *rows)
{
    int i = 0;
    while (i < open->n && open->room[i] < ids) i++;
    if (i == open->n) {
        open->row[i] = (*rows)++;
        open->room[i] = T;
        open->n++;
    }
    const ptrdiff_t row = open->row[i];
    open->room[i] -= ids;
    if (open->room[i] > 0) return row;
    const size_t behind = (size_t)(--open->n - i);
    memmove(open->row + i, open->row + i + 1, behind * sizeof *open->row);
    memmove(open->room + i, open->room + i + 1, behind * sizeof *open->room);
    return row;
}

static ptrdiff_t count_fragments(int T, ptrdiff_t n, const int *order, const ptrdiff_t *start)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < n; k++) count += (start[order[k] + 1] - start[order[k]] - 1) / T + 1;
    return count;
}

/* What each fragment is, and its row, in their order.  Returns how many rows there are. */
static ptrdiff_t choose_rows(at_fragment *fragment, ptrdiff_t *row, int T, ptrdiff_t n,
                             const int *order, const ptrdiff_t *start)
{
    open_rows open;
    ptrdiff_t rows = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        const int document = order[k];
        const ptrdiff_t L = start[document + 1] - start[document];
        if (k % AT_PACK_WINDOW == 0) open.n = 0;
        for (ptrdiff_t begin = 0; begin < L; begin += T) {
            *fragment++ = (at_fragment){document, (int)begin};
            *row++ = L - begin >= T ? rows++ : first_fit(&open, (int)(L - begin), T, &rows);
        }
    }
    return rows;
}

bool at_pack(at_tape *t, at_packing *p, int length, ptrdiff_t n, const int *order,
             const ptrdiff_t *start, void *(*alloc)(at_tape *t, size_t bytes))
{
    const ptrdiff_t fragments = count_fragments(length, n, order, start);
    at_fragment *fragment = at_step_alloc(t, (size_t)fragments * sizeof *fragment);
    ptrdiff_t *row = at_step_alloc(t, (size_t)fragments * sizeof *row);
    if (!fragment || !row) return false;
    *p = (at_packing){.length = length, .n = choose_rows(fragment, row, length, n, order, start)};
    p->first = alloc(t, (size_t)(p->n + 1) * sizeof *p->first);
    p->fragment = alloc(t, (size_t)fragments * sizeof *p->fragment);
    if (!p->first || !p->fragment) return false;
    /* Sorted by row.  Until the loop, first[r + 1] is where row r begins; in it, where the next
     * fragment of r goes; behind it, where r ends and r + 1 begins. */
    memset(p->first, 0, (size_t)(p->n + 1) * sizeof *p->first);
    for (ptrdiff_t k = 0; k < fragments; k++)
        if (row[k] + 2 <= p->n) p->first[row[k] + 2]++;
    for (ptrdiff_t r = 2; r <= p->n; r++) p->first[r] += p->first[r - 1];
    for (ptrdiff_t k = 0; k < fragments; k++) p->fragment[p->first[row[k] + 1]++] = fragment[k];
    return true;
}
