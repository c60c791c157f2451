/* graph.h -- the tape as a picture, for Graphviz.
 *
 *     at_graph_dot(t, loss, f, (at_graph_options){0});      then: dot -Tsvg graph.dot -o graph.svg
 *
 * Boxes are ops, edges are tensors with their shapes.  Parameters are green ellipses, variables
 * (leaves that want a gradient) green with a thin line, constants grey, the root (the loss) is
 * filled red.  Ops through which no gradient flows are dashed.  Each scope (at_scope) is a frame. */
#ifndef AT_IO_GRAPH_H
#define AT_IO_GRAPH_H
#include <stdio.h>

#include "autograd/tape.h"

typedef struct {
    int max_nodes;  /* the newest so many ops, 0: 500; what is left out is said in the picture */
    bool values;    /* write the values of tensors of up to max_values elements */
    bool gradients; /* and their gradients, if any have arrived */
    int max_values; /* 0: 6 */
} at_graph_options;

/* Writes what `root` was computed from, or the whole tape if root is NULL.  False after a sticky
 * error: `out` could not be written. */
bool at_graph_dot(at_tape *t, const at_tensor *root, FILE *out, at_graph_options options);

#endif
