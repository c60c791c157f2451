/* numbered.h -- data for the tests of data: ids, rows and files that a test can count. */
#ifndef ATTIC_TESTS_TRAIN_NUMBERED_H
#define ATTIC_TESTS_TRAIN_NUMBERED_H
#include "train/data.h"

#include <stdlib.h>

#include "scratch.h"
#include "tensors.h"

enum { BLOCK = 1024 };

/* The ids 0, 1, 2 ... n-1 as data. */
static inline at_data *counting(at_tape *t, int n, double held)
{
    int32_t *ids = malloc((size_t)n * sizeof *ids);
    for (int i = 0; i < n; i++) ids[i] = i;
    at_data *d = at_data_ids(t, ids, n, (at_data_args){.vocab = n, .held = held});
    free(ids);
    return d;
}

static inline char *test_path(void)
{
    return scratch_file("data");
}

/* A file of n bytes; block b is all 'a' + b. */
static inline char *text_file(int n)
{
    FILE *f = fopen(test_path(), "wb");
    for (int i = 0; i < n; i++) fputc('a' + i / BLOCK, f);
    fclose(f);
    return test_path();
}

/* A file of the n ids, w bytes each. */
static inline char *id_file(const int32_t *ids, int n, int w)
{
    FILE *f = fopen(test_path(), "wb");
    for (int i = 0; i < n; i++)
        for (int k = 0; k < w; k++) fputc(ids[i] >> 8 * k & 255, f);
    fclose(f);
    return test_path();
}

static inline int32_t id_of(const at_data *d, at_split split, ptrdiff_t i)
{
    int32_t id = -1;
    at_tape *t = at_open(ATTIC_F32, 1); /* any tape may read */
    at_data_read(t, d, split, i, 1, &id);
    at_close(t);
    return id;
}

#endif
