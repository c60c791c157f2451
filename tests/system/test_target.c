/* test_target.c -- what a build needs, what a processor has, and what is said when they differ.
 *
 * That an unsupported processor gets this message is checked by `make check-unsupported`. */
#include "test.h"
#include "attic_op.h"
#include "system/target.h"

#include <pthread.h>
#include <string.h>

static at_presence has_short_names(const char *name)
{
    return strlen(name) < 4 ? AT_PRESENT : AT_ABSENT;
}

static const char *const four[] = {"avx", "avx2", "fma", "bmi2", NULL};

START_TEST(what_is_missing_is_named)
{
    char names[64];
    ck_assert(at_target_missing(four, has_short_names, names, sizeof names));
    ck_assert_str_eq(names, "avx2, bmi2");
}
END_TEST

START_TEST(nothing_is_missing_where_nothing_is_needed)
{
    const char *const none[] = {NULL};
    char names[64] = "left over";
    ck_assert(!at_target_missing(none, has_short_names, names, sizeof names));
    ck_assert_str_eq(names, "");
}
END_TEST

START_TEST(names_that_do_not_fit_are_left_out_whole)
{
    char names[8] = "";
    ck_assert(at_target_missing(four, has_short_names, names, sizeof names));
    ck_assert_str_eq(names, "avx2");
    ck_assert(at_target_missing(four, has_short_names, names, 1));
    ck_assert_str_eq(names, "");
}
END_TEST

START_TEST(a_name_nobody_knows_is_taken_to_be_there)
{
    const char *const none_known[] = {"no-such-thing", NULL};
    char names[64];
    ck_assert_int_eq(at_target_has("no-such-thing"), AT_NOT_KNOWN);
    ck_assert(!at_target_missing(none_known, at_target_has, names, sizeof names));
}
END_TEST

START_TEST(every_need_can_be_asked_for)
{
#if defined __x86_64__ || defined __i386__ || defined __aarch64__ && defined __linux__
    for (const char *const *need = at_target_needs; *need; need++)
        ck_assert_msg(!**need || at_target_has(*need) != AT_NOT_KNOWN, "nobody knows %s", *need);
#endif
}
END_TEST

START_TEST(this_processor_has_what_this_build_needs)
{
    char message[512] = "";
    ck_assert_msg(!at_target_is_unsupported(message, sizeof message), "%s", message);
}
END_TEST

static void *open_tapes(void *opened)
{
    for (int i = 0; i < 100; i++) {
        at_target_has("avx2"); /* a build that needs nothing of its processor has nothing to ask */
        at_tape *t = at_open(ATTIC_F32, 1);
        *(int *)opened += at_ok(t);
        at_close(t);
    }
    return NULL;
}

START_TEST(the_processor_is_asked_once_however_many_tapes_are_opened)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    int opened[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        ck_assert(!pthread_create(&thread[i], NULL, open_tapes, &opened[i]));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        ck_assert_int_eq(opened[i], 100);
    }
    ck_assert_int_eq(at_target_asked(), 1);
}
END_TEST

SUITE(system_target, what_is_missing_is_named, nothing_is_missing_where_nothing_is_needed,
      names_that_do_not_fit_are_left_out_whole, a_name_nobody_knows_is_taken_to_be_there,
      every_need_can_be_asked_for, this_processor_has_what_this_build_needs,
      the_processor_is_asked_once_however_many_tapes_are_opened)
