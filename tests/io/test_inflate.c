/* test_inflate.c -- what zlib deflates is inflated, what zlib refuses is refused. */
#include "io/inflate.h"

#include <string.h>

#include "io/crc32.h"
#include "io/bytes.h"

typedef struct {
    const char *name;
    int packed;
    const char *bytes;
    int size; /* of the output */
    uint32_t crc;
    const char *why; /* NULL: it can be read */
} golden_stream;

static const golden_stream golden[] = {
#include "golden/inflate.inc"
};
enum { N_STREAMS = sizeof golden / sizeof *golden };

static at_inflate z;
static unsigned char output[1 << 17];

/* Inflates size bytes of the scratch file, of which n are compressed data, in reads of `step`. */
static bool inflate_scratch(int n, int size, int step)
{
    FILE *f = fopen(scratch_path(), "rb");
    ck_assert_ptr_nonnull(f);
    at_inflate_begin(&z, f, n);
    bool good = true;
    for (int at = 0; good && at < size; at += step)
        good = at_inflate_read(&z, output + at, step < size - at ? step : size - at);
    good = good && at_inflate_end(&z);
    fclose(f);
    ck_assert_int_eq(good, z.why == NULL);
    return good;
}

START_TEST(what_zlib_deflated_is_inflated)
{
    int n = 0;
    for (int i = 0; i < N_STREAMS; i++) {
        const golden_stream *g = &golden[i];
        if (g->why) continue;
        write_bytes(g->bytes, g->packed);
        for (int step = 1; step < 200000; step = 7 * step + 3) {
            ck_assert_msg(inflate_scratch(g->packed, g->size, step), "%s: %s", g->name, z.why);
            ck_assert_msg(at_crc32(0, output, (size_t)g->size) == g->crc, "%s", g->name);
        }
        n++;
    }
    ck_assert_int_ge(n, 16);
    remove(scratch_path());
}
END_TEST

START_TEST(what_zlib_refuses_is_refused_with_a_reason)
{
    int n = 0;
    for (int i = 0; i < N_STREAMS; i++) {
        const golden_stream *g = &golden[i];
        if (!g->why) continue;
        write_bytes(g->bytes, g->packed);
        ck_assert_msg(!inflate_scratch(g->packed, g->size, 100), "%s", g->name);
        ck_assert_msg(strcmp(z.why, g->why) == 0, "%s: %s", g->name, z.why);
        n++;
    }
    ck_assert_int_ge(n, 15);
    remove(scratch_path());
}
END_TEST

START_TEST(no_byte_of_output_is_missing_and_none_is_left)
{
    for (int i = 0; i < N_STREAMS; i++) {
        const golden_stream *g = &golden[i];
        if (g->why || g->size < 2) continue;
        write_bytes(g->bytes, g->packed);
        ck_assert(!inflate_scratch(g->packed, g->size - 1, 100));
        ck_assert_str_eq(z.why, "its compressed data is longer than it should be");
        ck_assert(!inflate_scratch(g->packed, g->size + 1, 100));
        ck_assert_str_eq(z.why, "its compressed data ends early");
        ck_assert(!inflate_scratch(g->packed - 1, g->size, 100));
        write_bytes(g->bytes, g->packed + 1); /* the 0 behind the string */
        ck_assert(!inflate_scratch(g->packed + 1, g->size, 100));
        ck_assert_str_eq(z.why, "bytes follow behind the end of its compressed data");
    }
    remove(scratch_path());
}
END_TEST

/* Only the bytes that belong to it are read. */
START_TEST(what_follows_the_compressed_data_is_not_read)
{
    write_bytes("\xcb\x48\xcd\xc9\xc9\x07\x00 and more", 16);
    ck_assert(inflate_scratch(7, 5, 5));
    ck_assert_mem_eq(output, "hello", 5);
    remove(scratch_path());
}
END_TEST

START_TEST(a_file_that_is_shorter_than_it_was_is_noticed)
{
    write_bytes("\xcb\x48\xcd", 3);
    ck_assert(!inflate_scratch(7, 5, 5));
    ck_assert_str_eq(z.why, "its compressed data ends early");
    remove(scratch_path());
}
END_TEST

START_TEST(no_damaged_byte_does_harm)
{
    for (int i = 0; i < N_STREAMS; i++) {
        const golden_stream *g = &golden[i];
        if (g->packed > 400) continue;
        int fd = open_scratch(g->bytes, g->packed);
        for (int at = 0; at < g->packed; at++) {
            for (int bit = 0; bit < 8; bit++) {
                overwrite(fd, at, (const char[]){(char)(g->bytes[at] ^ 1 << bit)}, 1);
                inflate_scratch(g->packed, g->size, 1000);
                ck_assert_uint_le(z.made, (size_t)g->size + 1);
            }
            overwrite(fd, at, g->bytes + at, 1);
        }
        close(fd);
    }
    remove(scratch_path());
}
END_TEST

SUITE(io_inflate, what_zlib_deflated_is_inflated, what_zlib_refuses_is_refused_with_a_reason,
      no_byte_of_output_is_missing_and_none_is_left, a_file_that_is_shorter_than_it_was_is_noticed,
      what_follows_the_compressed_data_is_not_read, no_damaged_byte_does_harm)
