/* graph.h -- the tape as a picture, for Graphviz.
 *
 *     FILE *f = at_file_create(t, "graph.dot");
 *     at_graph_dot(t, loss, f, (at_graph_options){0});      then: dot -Tsvg graph.dot -o graph.svg
 *     at_file_close(t, f, "graph.dot");
 *
 *     blue boxes       ops; white and dashed where no gradient flows
 *     green ellipses   parameters; pale: other leaves that want a gradient
 *     grey             constants; a dotted line leads from what one shares its data with (detach)
 *     red              the root, e.g. the loss
 *     edges            tensors, with their shapes (and dtype, if it is not real)
 *     frames           scopes (at_scope), with the parameters that were made in them */
#ifndef AT_PLOT_GRAPH_H
#define AT_PLOT_GRAPH_H
#include <stdio.h>

#include "autograd/tape.h"
AT_BEGIN_C

typedef struct {
    int max_nodes;  /* how many ops, the newest, 0: 500; the picture says how many are left out */
    bool values;    /* write the values of tensors of up to max_values elements, one row a line */
    bool gradients; /* and their gradients, where any have arrived */
    int max_values; /* 0: 12 */
} at_graph_options;

/* Writes what `root` was computed from, or the whole tape if root is NULL.  The tape stays as it
 * is.  False after a sticky error: `out` could not be written. */
AT_API bool at_graph_dot(at_tape *t, const at_tensor *root, FILE *out, at_graph_options options);

AT_END_C
#endif
