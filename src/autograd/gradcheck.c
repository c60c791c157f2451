/* gradcheck.c -- is this gradient right?  See gradcheck.h. */
#include "autograd/gradcheck.h"
#include "autograd/state.h"

const char *at_verdict_text(at_verdict v)
{
    static const char *const text[] = {"NOT-RUN",       "PASS",       "WRONG",
                                       "NOISE-LIMITED", "NON-SMOOTH", "VACUOUS"};
    return text[v];
}

at_gradcheck_report at_gradcheck(at_tape *t, at_function *f, at_tensor **in, int n, void *ctx,
                                 at_gradcheck_options options)
{
    (void)t, (void)f, (void)in, (void)n, (void)ctx, (void)options;
    return (at_gradcheck_report){.reason = "not built yet"};
}

void at_gradcheck_print(const at_gradcheck_report *r, FILE *out)
{
    fprintf(out, "%s: %s\n", at_verdict_text(r->verdict), r->reason);
}
