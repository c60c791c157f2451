/* cases.h -- the table of gradient cases: every op, many shapes, one line each.
 *
 *     static at_tensor *case_softmax_over(at_tape *t, at_tensor **in, void *axis)
 *     {
 *         return at_softmax_over(t, in[0], *(int *)axis);
 *     }
 *
 *     const at_case at_cases_rows[] = {
 *         ROW("softmax_over", "[2,3,4]", case_softmax_over, .ctx = &(int){1}, .note = "axis 1"),
 *         ROW("log", "[5]", case_log, .low = 0.1, .high = 3),
 *         ROW("relu", "[3]", case_relu, .values = (double[]){-1, 0, 2}, .note = "x = 0",
 *             .expect = ATTIC_NON_SMOOTH),
 *         {0}};
 *
 * The op is named as in ops.h, without at_.  The text of shapes makes the inputs, each a variable
 * of its own: "[2,3] [3]" gives in[0] and in[1], "[]" a scalar.  Masks, ids and other constants are
 * made within the function, which is called once per case; an aliased input is in[0] given twice.
 * Functions that differ in an option read it from .ctx.
 *
 * `make gradcheck` runs the table; the test runner walks it too. */
#ifndef ATTIC_TESTS_CASES_H
#define ATTIC_TESTS_CASES_H
#include "attic_op.h"
#include "gradcheck/gradcheck.h"
#include "gradients/sdpa_problem.h"

/* y by other means: as many numbers as y has. */
typedef void at_reference(at_tape *t, at_tensor **in, void *ctx, double *y);

typedef struct {
    const char *op; /* "matmul"; NULL ends a table */
    const char *in; /* "[2,3,4] [4,5]" */
    at_function *f; /* one function on a tape, called with .ctx */
    void *ctx;
    const char *note; /* what is special: "B transposed" */

    /* The inputs: uniform in low..high (-1..1 when both are 0), ... */
    double low, high;
    double gap;           /* ... but no closer to 0 than this: away from a kink */
    bool apart;           /* ... or shuffled and evenly spaced: away from ties */
    const double *values; /* ... or these, for all inputs one after the other */
    at_verdict expect;    /* 0 means PASS */
    int directions;       /* as in at_gradcheck_options, for large inputs */
    int seed;
    at_reference *reference;   /* y must be this, to 1e-12; NULL: anything goes */
    const sdpa_problem *drawn; /* what is special, if that is a lot */
} at_case;

#define ROW(op_, in_, f_, ...)                                                                     \
    {                                                                                              \
        .op = op_, .in = in_, .f = f_, __VA_ARGS__                                                 \
    }

/* One table per file cases_<group>.c, each ended by {0}. */
extern const at_case at_cases_elementwise[];
extern const at_case at_cases_products[]; /* matmul, reductions, shapes, embedding */
extern const at_case at_cases_rows[];     /* softmax, cross_entropy, norms, rope */
extern const at_case at_cases_sdpa[];
extern const at_case at_cases_tangent[]; /* sdpa_jvp */
extern const at_case at_cases_linear_attention[];
extern const at_case at_cases_variants[]; /* recipes of docs/variants.md */

/* Attention drawn at random: row i, NULL behind the last.  Three for each problem, one for each path; and
 * one for each problem of several tiles. */
enum { AT_DRAWN_PROBLEMS = 320, AT_DRAWN_TILES = 16 };
const at_case *at_case_drawn(int i);
const sdpa_problem *at_drawn_problem(int i);

enum { AT_MAX_CASE_INPUTS = 8 };

/* Of a row of sdpa_jvp: O and Odot, then weights and lse with their tangents, where it asks for them.  Returns how many
 * tensors, 0 if it failed. */
int at_case_tangents(at_tape *t, at_tensor **in, void *ctx, at_tensor *y[6]);
/* Of a row of sdpa_jvp: returns how many inputs are no tangents; dot_of[i] is the number of the input that is the tangent
 * of input i, which may be i itself, or -1. */
int at_case_moved(const at_case *c, int dot_of[AT_MAX_CASE_INPUTS]);

/* Every case of every table, one after the other; NULL behind the last. */
const at_case *at_case_at(int i);
/* Makes the inputs of c on t, and returns how many; -1 if c->in can't be read. */
int at_case_inputs(at_tape *t, const at_case *c, at_tensor *in[AT_MAX_CASE_INPUTS]);
/* "[2,3,4] [4,5], B transposed", in a buffer like at_shape_text's */
const char *at_case_text(const at_case *c);
at_verdict at_case_expects(const at_case *c);
/* Has a dimension above 100: what searches for the first mistake comes to these last. */
bool at_case_is_large(const at_case *c);
/* On a new tape; order 2: of second derivatives. */
at_gradcheck_report at_case_check(const at_case *c, int order);
/* The largest |y - reference| / max(1, max|reference|), infinite if y is no number; 0 without a reference. */
double at_case_values(const at_case *c);
/* Forward and backward once, with the checks that ops make of themselves (at_check_attention): what the tape says, ""
 * if all is well. */
const char *at_case_identities(const at_case *c, at_dtype real);

#endif
