/* bytes.h -- one file that a test writes, overwrites, cuts and removes. */
#ifndef ATTIC_TESTS_BYTES_H
#define ATTIC_TESTS_BYTES_H
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "scratch.h"
#include "test.h"

static inline const char *scratch_path(void)
{
    return scratch_file("bytes");
}

static inline const char *write_bytes(const char *bytes, int size)
{
    FILE *f = fopen(scratch_path(), "wb");
    ck_assert_ptr_nonnull(f);
    fwrite(bytes, 1, (size_t)size, f);
    fclose(f);
    return scratch_path();
}

/* Of the scratch file, at most n; how many there are. */
static inline int read_bytes(char *bytes, int n)
{
    FILE *f = fopen(scratch_path(), "rb");
    ck_assert_ptr_nonnull(f);
    int size = (int)fread(bytes, 1, (size_t)n, f);
    fclose(f);
    return size;
}

/* A file that stays open while parts of it are overwritten or cut off. */
static inline int open_scratch(const char *bytes, int size)
{
    int fd = open(write_bytes(bytes, size), O_RDWR);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static inline void overwrite(int fd, int at, const char *bytes, int n)
{
    ck_assert_int_eq((int)pwrite(fd, bytes, (size_t)n, at), n);
}

#endif
