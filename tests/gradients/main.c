/* main.c -- prints the table of all gradient cases and says how each went.
 *
 *     make gradcheck                    every op
 *     make gradcheck ARGS=softmax       the ops and cases whose name contains one of these words
 *     make gradcheck ARGS=--first       stop at the first that does not pass; large cases come last
 *     make gradcheck ARGS=--small       without large cases, which take nine tenths of the time
 *     make gradcheck ARGS=--identities  in place of differences, what attention says of itself (at_check_attention)
 *
 * checked    comparisons made: elements, or random directions for the large ones
 * exact      the largest |a - e| / max(|a|, |e|, max|n| / 1000), a from backward, e from dual numbers
 * differ     the largest |a - n| / max(|a|, |n|, max|n| / 1000), n from differences
 * second     the same for second derivatives: H w from dual numbers, n from differences of gradients
 * resolves   an error of a above this would have been seen in any of them
 * verdict    as in gradcheck/gradcheck.h; a case passes when its verdict is the one it expects, its second
 *            derivatives are not wrong, and the values, where it has a reference for them, are those
 *
 * Behind a case that is wrong stands which witness says so, if it is one alone; or that it is the second derivatives, or
 * the values, and not the gradient.
 *
 * Exit status: 0 all passed, 1 some did not, 2 nothing could be run. */
#include "gradients/cases.h"

#include <math.h>
#include <string.h>

#include "common/options.h"

#define NOT_EXPECTED "  <-- not as expected"

static bool is_chosen(const at_case *c, int n, char **words)
{
    for (int i = 0; i < n; i++)
        if (strstr(c->op, words[i]) || strstr(at_case_text(c), words[i])) return true;
    return n == 0;
}

static const char *alone(const at_gradcheck_report *r)
{
    if (r->verdict != ATTIC_WRONG) return "";
    bool exact = isnan(r->exact_error) || r->exact_error > 1e-9, differences = r->error > 1e-6;
    return exact == differences ? "" : exact ? ", says e alone" : ", say differences alone";
}

static bool check_and_print(const at_case *c)
{
    at_gradcheck_report r = at_case_check(c, 1), second = at_case_check(c, 2);
    double off = at_case_values(c);
    bool expected = r.verdict == at_case_expects(c), same = off <= 1e-12;
    bool twice = second.verdict == ATTIC_PASS || second.verdict == ATTIC_VACUOUS ||
                 second.verdict == at_case_expects(c);
    printf("%-20s %-44s %7td  %7.0e  %7.0e  %7.0e  %8.1e  %s%s%s\n", c->op, at_case_text(c),
           r.checked, r.exact_error, r.error, second.error, r.resolution,
           at_verdict_text(r.verdict), expected && same && twice ? "" : NOT_EXPECTED,
           !expected ? alone(&r)
           : !twice  ? ", second derivatives"
           : !same   ? ", values"
                     : "");
    if (!expected) {
        printf("    expected %s\n", at_verdict_text(at_case_expects(c)));
        at_gradcheck_print(&r, stdout);
    }
    if (!twice) at_gradcheck_print(&second, stdout);
    if (!same) printf("    the values are off by %.1e\n", off);
    if (c->drawn && !(expected && same && twice)) printf("    %s\n", sdpa_problem_text(c->drawn));
    return expected && same && twice;
}

static bool identities_hold(const at_case *c)
{
    const char *said = at_case_identities(c, ATTIC_F64);
    if (!*said) said = at_case_identities(c, ATTIC_F32);
    printf("%-20s %-44s %s%s\n", c->op, at_case_text(c), *said ? said : "as they should",
           *said ? NOT_EXPECTED : "");
    return !*said;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0, only_first = 0, only_small = 0, identities = 0;
    const option table[] = {
        {"first", &only_first, NULL, NULL, 0, 0, "stop at the first that does not pass"},
        {"small", &only_small, NULL, NULL, 0, 0, "without large cases"},
        {"identities", &identities, NULL, NULL, 0, 0,
         "what attention says of itself (at_check_attention)"},
        {0}};
    int first = parse_options(
        argc, argv, "usage: table [options] [part of an op's or case's name]...\n", table, argc);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* what crashes is the line after the last */
    if (identities)
        printf("%-20s %-44s %s\n", "op", "case", "identities");
    else
        printf(
            "Is every backward right?  Each is compared with the exact derivative of forward, by\n"
            "dual numbers, and with five-point differences.\n\n"
            "  checked   comparisons: elements, or random directions where there are many\n"
            "  exact     the largest relative difference of backward from the exact derivative\n"
            "  differ    the same from differences\n"
            "  second    of the second derivative from differences of gradients\n"
            "  resolves  a larger error would have been seen\n"
            "  VACUOUS   every derivative is 0, or there is none: nothing to see, as expected\n\n"
            "%-20s %-44s %7s  %7s  %7s  %7s  %8s  %s\n",
            "op", "case", "checked", "exact", "differ", "second", "resolves", "verdict");
    const at_case *c;
    for (int i = 0, large = 0; !(only_first && failed); i++) {
        if (!(c = at_case_at(i))) {
            if (large++ || !only_first || only_small) break;
            c = at_case_at(i = 0);
        }
        if ((only_first || only_small) && at_case_is_large(c) != large) continue;
        if (!is_chosen(c, argc - first, argv + first)) continue;
        if (identities && strcmp(c->op, "sdpa") != 0) continue;
        if (identities ? identities_hold(c) : check_and_print(c))
            passed++;
        else
            failed++;
    }
    if (passed + failed == 0) {
        fprintf(stderr, "gradcheck: no such op or case\n");
        return 2;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return finish(failed > 0);
}
