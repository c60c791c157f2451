/* test_arena.c -- memory goes forwards, comes back all at once, and never moves. */
#include "tensor/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

START_TEST(pieces_are_aligned_and_do_not_overlap)
{
    at_arena a = {0};
    char *small = at_arena_alloc(&a, 5), *large = at_arena_alloc(&a, 100),
         *next = at_arena_alloc(&a, 64);
    ck_assert_uint_eq((uintptr_t)small % 16, 0);
    ck_assert_uint_eq((uintptr_t)large % 64, 0);
    ck_assert_uint_eq((uintptr_t)next % 64, 0);
    ck_assert(small + 5 <= large && large + 100 <= next);
    memset(small, 1, 5);
    memset(large, 2, 100);
    memset(next, 3, 64);
    ck_assert_int_eq(large[0] + large[99], 4);
    at_arena_free(&a);
}
END_TEST

START_TEST(nothing_moves_when_the_arena_grows)
{
    at_arena a = {0};
    int *first = at_arena_alloc(&a, sizeof *first);
    *first = 42;
    for (int i = 0; i < 1000; i++) memset(at_arena_alloc(&a, 1000), 7, 1000);
    ck_assert_int_eq(*first, 42);
    at_arena_free(&a);
}
END_TEST

START_TEST(a_steady_loop_asks_malloc_only_once)
{
    at_arena a = {0};
    ptrdiff_t after_first = 0;
    for (int round = 0; round < 5; round++) {
        at_arena_mark m = at_arena_here(&a);
        for (int i = 0; i < 100; i++) at_arena_alloc(&a, (size_t)(i * 997));
        at_arena_rewind(&a, m);
        if (round == 0) after_first = at_mallocs();
    }
    ck_assert_int_eq(at_mallocs(), after_first);
    at_arena_free(&a);
}
END_TEST

START_TEST(a_rewind_hands_the_same_memory_out_again)
{
    at_arena a = {0};
    at_arena_alloc(&a, 10);
    at_arena_mark m = at_arena_here(&a);
    void *p = at_arena_alloc(&a, 1000);
    for (int i = 0; i < 300; i++) at_arena_alloc(&a, 1000);
    at_arena_rewind(&a, m);
    ck_assert_ptr_eq(at_arena_alloc(&a, 1000), p);
    at_arena_free(&a);
}
END_TEST

START_TEST(marks_nest)
{
    at_arena a = {0};
    at_arena_mark outer = at_arena_here(&a);
    at_arena_alloc(&a, 100);
    size_t in_use = a.in_use;
    at_arena_mark inner = at_arena_here(&a);
    at_arena_alloc(&a, 1 << 20);
    at_arena_rewind(&a, inner);
    ck_assert_uint_eq(a.in_use, in_use);
    at_arena_rewind(&a, outer);
    ck_assert_uint_eq(a.in_use, 0);
    ck_assert_uint_gt(a.peak, 1 << 20);
    at_arena_free(&a);
}
END_TEST

START_TEST(addresses_are_live_dead_or_outside)
{
    at_arena a = {0};
    int elsewhere;
    char *kept = at_arena_alloc(&a, 10);
    at_arena_mark m = at_arena_here(&a);
    char *gone = at_arena_alloc(&a, 10), *far_gone = NULL;
    for (int i = 0; i < 200; i++) far_gone = at_arena_alloc(&a, 1000); /* in a later chunk */
    ck_assert_int_eq(at_arena_find(&a, far_gone), ATTIC_LIVE);
    at_arena_rewind(&a, m);
    ck_assert_int_eq(at_arena_find(&a, kept), ATTIC_LIVE);
    ck_assert_int_eq(at_arena_find(&a, gone), ATTIC_DEAD);
    ck_assert_int_eq(at_arena_find(&a, far_gone), ATTIC_DEAD);
    ck_assert_int_eq(at_arena_find(&a, &elsewhere), ATTIC_OUTSIDE);
    at_arena_free(&a);
}
END_TEST

#ifdef ATTIC_DEBUG
START_TEST(debug_builds_hand_out_nans)
{
    at_arena a = {0};
    float *x = at_arena_alloc(&a, sizeof *x);
    ck_assert(*x != *x);
    at_arena_free(&a);
}
END_TEST
#define DEBUG_TESTS , debug_builds_hand_out_nans
#else
#define DEBUG_TESTS
#endif

START_TEST(requests_beyond_all_memory_give_null)
{
    at_arena a = {0};
    ck_assert_ptr_null(at_arena_alloc(&a, SIZE_MAX));
    ck_assert_ptr_null(at_arena_alloc(&a, SIZE_MAX / 2));
    ck_assert_ptr_null(at_arena_alloc(&a, SIZE_MAX / 2 - 127));
    ck_assert_ptr_nonnull(at_arena_alloc(&a, 0));
    at_arena_free(&a);
}
END_TEST

#ifndef ATTIC_SLOW_MODE /* sanitizers and Valgrind take more address space than any limit */
enum { MIB = 1 << 20 };

/* What f says in a process of its own that may have 1 GiB of address space. */
static int within_a_gibibyte(int (*f)(at_arena *a))
{
    pid_t child = fork(); /* the limit is for good */
    if (child == 0) {
        setrlimit(RLIMIT_AS, &(struct rlimit){1024 * MIB, 1024 * MIB});
        _exit(f(&(at_arena){0}));
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int large_then_small(at_arena *a)
{
    const ptrdiff_t before = at_mallocs();
    bool both = at_arena_alloc(a, 400 * MIB) && at_arena_alloc(a, 16);
    return both && at_mallocs() == before + 2; /* those that were refused do not count */
}

START_TEST(sixteen_bytes_are_found_where_twice_the_last_chunk_is_not)
{
    if (!getenv("EMULATED")) ck_assert_int_eq(within_a_gibibyte(large_then_small), 1);
}
END_TEST

static int all_mebibytes(at_arena *a)
{
    at_arena_alloc(a, 100 * MIB);
    while (at_arena_alloc(a, MIB)) continue;
    void *volatile more = malloc(MIB + 8192); /* else clang leaves the call out */
    return a->in_use > 600 * (size_t)MIB && !more;
}

START_TEST(out_of_memory_is_reported_when_malloc_has_no_more_for_the_request)
{
    if (!getenv("EMULATED")) ck_assert_int_eq(within_a_gibibyte(all_mebibytes), 1);
}
END_TEST
#define LIMIT_TESTS                                                                                \
    , sixteen_bytes_are_found_where_twice_the_last_chunk_is_not,                                   \
        out_of_memory_is_reported_when_malloc_has_no_more_for_the_request
#else
#define LIMIT_TESTS
#endif

START_TEST(the_nth_request_fails_when_told_to)
{
    at_arena a = {0};
    at_fail_allocation(3);
    ck_assert_ptr_nonnull(at_arena_alloc(&a, 8));
    ck_assert_ptr_nonnull(at_arena_alloc(&a, 8));
    ck_assert_ptr_null(at_arena_alloc(&a, 8));
    ck_assert_ptr_nonnull(at_arena_alloc(&a, 8));
    at_arena_free(&a);
}
END_TEST

SUITE(tensor_arena, pieces_are_aligned_and_do_not_overlap, nothing_moves_when_the_arena_grows,
      a_steady_loop_asks_malloc_only_once, a_rewind_hands_the_same_memory_out_again, marks_nest,
      addresses_are_live_dead_or_outside, requests_beyond_all_memory_give_null,
      the_nth_request_fails_when_told_to DEBUG_TESTS LIMIT_TESTS)
