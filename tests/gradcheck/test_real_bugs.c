/* test_real_bugs.c -- mistakes of published backwards are found, and the same kernels without them
 * pass. */
#include "gradcheck/real_bugs.h"

#include "test.h"

START_TEST(published_bugs_are_found)
{
    for (int i = 0; i < at_real_bugs(); i++) {
        real_bug_verdict v = at_check_real_bug(i, false);
        ck_assert_msg(v.found, "%s (%s): %s: %s", v.name, v.thread,
                      at_verdict_text(v.report.verdict), v.report.reason);
        ck_assert(v.named || v.report.verdict != ATTIC_RACE);
    }
}
END_TEST

START_TEST(the_same_kernels_repaired_are_right)
{
    for (int i = 0; i < at_real_bugs(); i++) {
        real_bug_verdict v = at_check_real_bug(i, true);
        ck_assert_msg(v.report.verdict == ATTIC_PASS, "%s (%s): %s: %s", v.name, v.thread,
                      at_verdict_text(v.report.verdict), v.report.reason);
        ck_assert(!v.named);
    }
}
END_TEST

START_TEST(six_of_ten_published_bugs_are_named_in_the_first_line)
{
    int named = 0;
    for (int i = 0; i < at_real_bugs(); i++) named += at_check_real_bug(i, false).named;
    ck_assert_int_ge(10 * named, 6 * at_real_bugs());
}
END_TEST

SUITE(gradcheck_real_bugs, published_bugs_are_found, the_same_kernels_repaired_are_right,
      six_of_ten_published_bugs_are_named_in_the_first_line)
