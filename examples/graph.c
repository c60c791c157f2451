/* graph.c -- draws a tape: one attention layer with a residual, and its loss.
 *
 *     make graph        writes out/graph.dot, and out/graph.svg where Graphviz is installed */
#include "attic.h"
#include "attic_plot.h"

#include "common/options.h"

int main(int argc, char **argv)
{
    const char *path = "out/graph.dot";
    int values = 0;
    const option table[] = {
        {"out", NULL, NULL, &path, 0, 0, "the file to write"},
        {"values", &values, NULL, NULL, 0, 0, "with values and gradients of small tensors"},
        {0}};
    parse_options(
        argc, argv,
        "usage: graph [options]\nWrites the tape of a small attention layer for Graphviz.\n", table,
        0);

    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_name(at_random(t, at_shape_of(1, 5, 8), at_normal(1)), "x");
    at_tensor *target = at_name(at_random(t, at_shape_of(1, 5, 8), at_normal(1)), "target");
    at_scope(t, "attention");
    at_attention layer =
        at_attention_make(t, (at_attention_config){.dim = 8, .heads = 2, .rope = true}, 1);
    at_tensor *y = at_attention_apply(t, &layer, x, NULL, (at_sdpa_args){.causal = true});
    at_scope_end(t);
    at_scope(t, "loss");
    at_tensor *error = at_sub(t, at_add(t, x, y), target);
    at_tensor *loss = at_name(at_mean(t, at_square(t, error)), "loss");
    at_scope_end(t);
    at_backward(t, loss);

    make_folders_for(path);
    FILE *f = at_file_create(t, path);
    if (f) at_graph_dot(t, loss, f, (at_graph_options){.values = values, .gradients = values});
    at_file_close(t, f, path);
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    int failed = !at_ok(t);
    at_close(t);
    return finish(failed);
}
