/* graph.c -- the tape as a picture, for Graphviz; see graph.h.
 *
 * Names in the dot file: n17 is op 17 of the tape, n17_1 its second output, t5 the 5th leaf met. */
#include "io/graph.h"

#include <string.h>

#include "autograd/op.h"

typedef struct {
    FILE *out;
    at_graph_options options;
    const at_tensor *root;
    unsigned char *used; /* per op: is it drawn? */
    const at_tensor **leaf;
    int n_leaves, max_leaves;
} drawing;

/* ------------------------------------------------------------------ labels --------------------- */

/* Text between double quotes, where dot gives a meaning to \ and ". */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        if (*text == '\n')
            fputs("\\n", out);
        else
            fputc(*text, out);
    }
}

static void put_numbers(const drawing *g, const char *what, const at_tensor *x, const void *numbers)
{
    if (!numbers || at_count(x->shape) > g->options.max_values) return;
    fprintf(g->out, "\\n%s", what);
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++)
        fprintf(g->out, "%s%.4g", i ? ", " : "", at_fetch(x->dtype, numbers, i));
}

/* "name\n[2,3]\nvalues ..." */
static void put_tensor(const drawing *g, const at_tensor *x, const char *unnamed)
{
    put_text(g->out, x->name ? x->name : unnamed);
    fprintf(g->out, "\\n%s", at_shape_text(x->shape));
    if (x->dtype == ATTIC_I32 || x->dtype == ATTIC_BOOL)
        fprintf(g->out, " %s", at_dtype_text(x->dtype));
    if (g->options.values) put_numbers(g, "= ", x, x->data);
    if (g->options.gradients) put_numbers(g, "grad ", x, x->grad);
}

/* ------------------------------------------------------------------ leaves --------------------- */

static int leaf_number(drawing *g, const at_tensor *x)
{
    for (int i = 0; i < g->n_leaves; i++)
        if (g->leaf[i] == x) return i;
    if (g->n_leaves == g->max_leaves) return -1; /* can't happen: there is room for every input */
    g->leaf[g->n_leaves] = x;
    return g->n_leaves++;
}

static bool is_param(const at_tensor *x)
{
    for (int i = 0; i < at_param_count(x->tape); i++)
        if (at_param_at(x->tape, i) == x) return true;
    return false;
}

static void draw_leaf(drawing *g, int i)
{
    const at_tensor *x = g->leaf[i];
    fprintf(g->out, "  t%d [label=\"", i);
    put_tensor(g, x, x->wants_grad ? "variable" : "constant");
    if (is_param(x))
        fputs("\", shape=ellipse, style=filled, fillcolor=\"#cfe8cf\", color=\"#3a7d3a\", "
              "penwidth=2];\n",
              g->out);
    else if (x->wants_grad)
        fputs("\", shape=ellipse, style=filled, fillcolor=\"#e9f5e9\", color=\"#3a7d3a\"];\n",
              g->out);
    else
        fputs("\", shape=ellipse, style=filled, fillcolor=\"#eeeeee\", color=\"#888888\"];\n",
              g->out);
}

/* ------------------------------------------------------------------ ops ------------------------ */

static void draw_op(const drawing *g, const at_node *n, int indent)
{
    bool is_root = g->root && g->root->node == n;
    fprintf(g->out, "%*sn%d [label=\"", indent, "", n->index);
    put_text(g->out, n->op->name);
    for (int k = 0; k < n->n_out; k++) {
        const at_tensor *y = n->out[k];
        if (!is_root && !y->name && !g->options.values && !g->options.gradients) continue;
        fputs("\\n", g->out);
        put_tensor(g, y, k ? "" : is_root ? "loss" : "");
    }
    fprintf(g->out, "\", shape=box, style=\"filled,rounded%s\", fillcolor=\"%s\", color=\"%s\"];\n",
            n->wants_grad ? "" : ",dashed",
            is_root         ? "#f4b6a8"
            : n->wants_grad ? "#dbe7f6"
                            : "#ffffff",
            is_root         ? "#b03a20"
            : n->wants_grad ? "#35618f"
                            : "#888888");
}

static bool scope_holds(const at_name_scope *outer, const at_name_scope *s)
{
    while (s && s != outer) s = s->outer;
    return s == outer;
}

/* The ops of this scope, and a frame for each scope within it, in the order of the tape.  `frames`
 * numbers the frames of the file: a scope that was opened twice gets two. */
static const at_node *draw_scope(const drawing *g, const at_name_scope *scope, const at_node *n,
                                 int indent, int *frames)
{
    while (n && scope_holds(scope, n->scope)) {
        if (!g->used[n->index]) {
            n = n->next;
        } else if (n->scope == scope) {
            draw_op(g, n, indent);
            n = n->next;
        } else {
            const at_name_scope *inner = n->scope;
            while (inner->outer != scope) inner = inner->outer;
            fprintf(g->out, "%*ssubgraph cluster_%d {\n%*slabel=\"", indent, "", (*frames)++,
                    indent + 2, "");
            put_text(g->out, inner->name);
            fputs("\"; color=\"#bbbbbb\"; fontcolor=\"#666666\";\n", g->out);
            n = draw_scope(g, inner, n, indent + 2, frames);
            fprintf(g->out, "%*s}\n", indent, "");
        }
    }
    return n;
}

static void draw_edges(drawing *g, const at_node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        const at_tensor *x = n->in[i];
        if (!x) continue;
        if (!x->node)
            fprintf(g->out, "  t%d -> n%d;\n", leaf_number(g, x), n->index);
        else if (!g->used[x->node->index])
            fprintf(g->out, "  older -> n%d [label=\"%s\", style=dotted];\n", n->index,
                    at_shape_text(x->shape));
        else
            fprintf(g->out, "  n%d -> n%d [label=\" %s\"];\n", x->node->index, n->index,
                    at_shape_text(x->shape));
    }
}

/* ------------------------------------------------------------------ the picture ---------------- */

/* Marks what the root depends on, from the newest op back; counts it and the inputs it has. */
static int choose_ops(drawing *g, const at_node *last, ptrdiff_t *inputs)
{
    int chosen = 0, left_out = 0;
    if (g->root && g->root->node) g->used[g->root->node->index] = 1;
    for (const at_node *n = last; n; n = n->prev) {
        if (!g->root) g->used[n->index] = 1;
        if (!g->used[n->index]) continue;
        if (chosen == g->options.max_nodes) {
            g->used[n->index] = 0;
            left_out++;
        } else {
            chosen++;
            *inputs += n->n_in;
        }
        for (int i = 0; i < n->n_in; i++) /* also of what is left out, so that it is counted */
            if (n->in[i] && n->in[i]->node) g->used[n->in[i]->node->index] = 1;
    }
    return left_out;
}

static void draw(drawing *g, at_tape *t, int left_out)
{
    fputs("digraph attic {\n  rankdir=TB;\n"
          "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11];\n"
          "  edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=9, color=\"#555555\"];\n"
          "  graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11];\n",
          g->out);
    if (left_out)
        fprintf(g->out, "  older [label=\"... and %d earlier ops\", shape=plaintext];\n", left_out);
    int frames = 0;
    draw_scope(g, NULL, at_first_node(t), 2, &frames);
    for (const at_node *n = at_first_node(t); n; n = n->next)
        if (g->used[n->index]) draw_edges(g, n);
    if (g->root && !g->root->node) leaf_number(g, g->root);
    for (int i = 0; i < g->n_leaves; i++) draw_leaf(g, i);
    fputs("}\n", g->out);
}

bool at_graph_dot(at_tape *t, const at_tensor *root, FILE *out, at_graph_options options)
{
    if (root && !at_check_any(t, "graph_dot", "root", root)) return false;
    AT_REQUIRE(t, out, "graph_dot: there is no file to write to");
    if (options.max_nodes <= 0) options.max_nodes = 500;
    if (options.max_values <= 0) options.max_values = 6;

    at_mark here = at_mark_here(t);
    const at_node *last = NULL;
    for (const at_node *n = at_first_node(t); n; n = n->next) last = n;
    size_t n_ops = last ? (size_t)last->index + 1 : 1;
    drawing g = {.out = out, .options = options, .root = root, .used = at_step_alloc(t, n_ops)};
    if (!g.used) return false;
    memset(g.used, 0, n_ops);
    ptrdiff_t inputs = 1;
    int left_out = choose_ops(&g, last, &inputs);
    g.leaf = at_step_alloc(t, (size_t)inputs * sizeof *g.leaf);
    if (!g.leaf) return false;
    g.max_leaves = (int)inputs;

    draw(&g, t, left_out);
    at_rewind(t, here);
    if (fflush(out) == 0 && !ferror(out)) return true;
    return at_fail(t, ATTIC_FILE_ERROR, "graph_dot: the file could not be written");
}
