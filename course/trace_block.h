/* trace_block.h -- the parts of trace --block: a whole block, from tokens to tokens.
 *
 *     trace_block.c         what it is given, every gradient beside its numerical value, at_sdpa
 *                           between at_linear beside all of it
 *     trace_block_print.c   printed, and asked for with --quiz
 *     trace_block_json.c    the same as JSON, see course/trace.schema.json */
#ifndef EXAMPLES_TRACE_BLOCK_H
#define EXAMPLES_TRACE_BLOCK_H
#include "block_cell.h"
#include "trace.h"

typedef struct {
    const trace_options *o;
    const char *command; /* how it was called */
    block *b, *terms;
    block_mistake mistake; /* that the backward makes; BLOCK_RIGHT */
    block_style style;
    int token, key, c, column; /* of every matrix the cell that is worked out: a row of tokens, the
                                * token that it reads, an element of a token, a column of heads */
    trace_values *numerical[BLOCK_COUNT]; /* of what is a gradient, one for each head */
    trace_count count;
    trace_op op[6];
    int n_op;
} block_trace;

/* The cell of `what` that is worked out: head, row, column */
void block_trace_cell(const block_trace *t, block_name what, int cell[3]);
const char *block_trace_worked(const block_trace *t, block_name what); /* until the next call */
/* Which mistakes give this number in the cell of `what` that is worked out: "path K lost"; "" */
const char *block_trace_named(const block_trace *t, block_name what, double x);

void block_trace_print(const block_trace *t);
void block_trace_json(const block_trace *t);
#endif
