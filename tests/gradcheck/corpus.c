/* corpus.c -- what does the gradient checker say of functions whose backward is right?
 *
 *     make gradcheck-corpus                              300 of them
 *     make gradcheck-corpus ARGS="--count 10000 --every" a line for each family
 *     make gradcheck-corpus ARGS="--family relu"
 *     make gradcheck-corpus ARGS="--only 4711"           the report on one of them
 *     make gradcheck-corpus ARGS="--wrong-by 0.05"       one element of each gradient is 5 % off
 *     make gradcheck-corpus ARGS=--bugs                  published mistakes (real_bugs.h)
 *
 * The exit status is 0 if
 *     of correct functions, none is WRONG or a RACE, and 90 % PASS;
 *     of planted mistakes, 90 % are WRONG, and none is PASS with a resolution below the mistake;
 *     of published mistakes, all are found, and for 6 of 10 the first line names what is wrong. */
#include <stdio.h>

#include "common/options.h"
#include "gradcheck/correct_tally.h"
#include "gradcheck/real_bugs.h"

static int report_on(int number, correct_choice c)
{
    correct_function p = at_draw_correct((uint64_t)number);
    p.wrong_by = c.wrong_by;
    p.bits = c.bits;
    p.with_twin = c.with_twin;
    at_gradcheck_report r = at_check_correct(&p);
    at_print_correct(&p, stdout);
    at_gradcheck_print(&r, stdout);
    at_forget_correct(&p);
    return r.verdict == ATTIC_WRONG || r.verdict == ATTIC_RACE;
}

static int report_on_bugs(void)
{
    int found = 0, named = 0;
    for (int i = 0; i < at_real_bugs(); i++) {
        real_bug_verdict v = at_check_real_bug(i, false);
        found += v.found;
        named += v.named;
        printf("%s (%s): %s\n    ", v.name, v.thread,
               v.named   ? "named"
               : v.found ? "found"
                         : "missed");
        at_gradcheck_print(&v.report, stdout);
    }
    printf("%d of %d found, %d named in the first line\n", found, at_real_bugs(), named);
    return found < at_real_bugs() || 10 * named < 6 * at_real_bugs();
}

int main(int argc, char **argv)
{
    int count = 300, first = 0, only = -1, every = 0, bugs = 0, bits = 0, twin = 0;
    const char *family = NULL;
    double wrong_by = 0;
    const option table[] = {
        {"count", &count, NULL, NULL, 1, 1e6, "functions"},
        {"first", &first, NULL, NULL, 0, 1e9, "the number of the first"},
        {"only", &only, NULL, NULL, -1, 1e9, "print the report on this number alone"},
        {"family", NULL, NULL, &family, 0, 0, "those of this family alone"},
        {"every", &every, NULL, NULL, 0, 0, "a line for each family, not for the worst alone"},
        {"wrong-by", NULL, &wrong_by, NULL, -10, 10,
         "plant a mistake: one element of dx is 1 + this times what it should be"},
        {"bits", &bits, NULL, NULL, 0, 11,
         "8: computed in bf16, 11: in f16, 0: in float or double"},
        {"twin", &twin, NULL, NULL, 0, 0, "with a twin in double"},
        {"bugs", &bugs, NULL, NULL, 0, 0, "published mistakes, in place of correct functions"},
        {0}};
    parse_options(argc, argv, "usage: corpus [options]\n", table, 0);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (bugs) return finish(report_on_bugs());
    const correct_choice choice = {(uint64_t)first, count, family, wrong_by, bits, twin, every};
    if (only >= 0) return finish(report_on(only, choice));
    correct_tally all = at_tally_correct(choice, stdout);
    if (!all.drawn) fprintf(stderr, "none of these %d is chosen\n", count);
    return finish(!(wrong_by != 0 ? at_tally_is_found(&all) : at_tally_is_right(&all)));
}
