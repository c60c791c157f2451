/* graph.c -- the tape as a picture, for Graphviz; see graph.h.
 *
 * Names in the dot file: n17 is op 17 of the tape, t5 the 5th leaf that was met.  Everything is
 * written in the order of the tape, so the same tape gives the same text. */
#include "plot/graph.h"

#include <string.h>

#include "autograd/op.h"
#include "terminal/label.h"
#include "tensor/decimal.h"

typedef struct {
    at_tape *tape;
    FILE *out;
    at_graph_options options;
    const at_tensor *root;
    unsigned char *used; /* per op: is it drawn? */
    const at_tensor **leaf;
    int n_leaves, n_drawn; /* those met; as many of them, the first, are drawn */
    int frames;
} drawing;

/* Between double quotes, where dot gives a meaning to \ and " and &. */
static void dot_text(FILE *out, const char *text)
{
    char label[AT_LABEL_SIZE];
    at_label_make(label, text, 60, true);
    for (const char *p = label; *p; p++) {
        if (*p == '"' || *p == '\\') fputc('\\', out);
        fputs(*p == '&' ? "&amp;" : (char[]){*p, 0}, out);
    }
}

/* "what 1, 2, 3" for one row.  Several rows stand below the word, a line each, ended by \l, which
 * aligns it to the left. */
static void put_values_of(const drawing *g, const char *what, const at_tensor *x, const void *data)
{
    int columns = at_last(x->shape);
    bool rows = at_count(x->shape) > columns;
    if (*what) fprintf(g->out, rows ? "%s\\l" : "%s ", what);
    for (ptrdiff_t i = 0; i < at_count(x->shape); i++) {
        const char *after = i % columns < columns - 1 ? ", " : rows ? "\\l" : "";
        fprintf(g->out, "%s%s", at_short_text(at_fetch(x->dtype, data, i), 4), after);
    }
}

static void put_shape(const drawing *g, const at_tensor *x)
{
    bool real = at_is_real(x->dtype) && !at_is_half(x->dtype);
    fprintf(g->out, real ? "%s" : "%s %s", at_shape_text(x->shape), at_dtype_text(x->dtype));
}

/* "name\n[2,3]\n= 1, 2, 3\ngrad 0, 0, 1" */
static void put_tensor(const drawing *g, const at_tensor *x, const char *name)
{
    ptrdiff_t n = at_count(x->shape);
    bool small = n > 0 && n <= g->options.max_values, rows = n > at_last(x->shape);
    bool values = g->options.values && small && at_has_data(x);
    dot_text(g->out, name);
    if (*name) fputs("\\n", g->out);
    put_shape(g, x);
    if (values) {
        fputs("\\n", g->out);
        put_values_of(g, rows ? "" : "=", x, x->data);
    }
    if (g->options.gradients && small && x->grad) {
        if (!values || !rows) fputs("\\n", g->out);
        put_values_of(g, "grad", x, x->grad);
    }
}

static int leaf_number(drawing *g, const at_tensor *x)
{
    for (int i = 0; i < g->n_leaves; i++)
        if (g->leaf[i] == x) return i;
    g->leaf[g->n_leaves] = x; /* there is space for every input */
    return g->n_leaves++;
}

static bool is_param(const at_tensor *x)
{
    return !x->node && x->name && at_find_param(x->tape, x->name) == x;
}

/* The name without the scopes in which it is drawn: "block0.wq" is "wq" in block0; NULL if it was
 * made elsewhere. */
static const char *name_within(const at_name_scope *s, const char *name)
{
    if (!s) return name;
    name = name_within(s->outer, name);
    size_t length = strlen(s->name);
    return name && strncmp(name, s->name, length) == 0 && name[length] == '.' ? name + length + 1
                                                                              : NULL;
}

static void draw_leaf(drawing *g, int i, const char *name, int indent)
{
    const at_tensor *x = g->leaf[i];
    fprintf(g->out, "%*st%d [label=\"", indent, "", i);
    put_tensor(g, x, name ? name : x->wants_grad ? "variable" : "constant");
    const char *fill = is_param(x) ? "#b7dfb9" : x->wants_grad ? "#e6f4e6" : "#eeeeee";
    fprintf(g->out, "\", shape=ellipse, style=filled, fillcolor=\"%s\", color=\"%s\"];\n", fill,
            x->wants_grad ? "#2f7d32" : "#8a8a8a");
    g->n_drawn = i + 1;
}

/* The parameters that n is the first to read and that were made in its scope. */
static void draw_own_params(drawing *g, const at_node *n, int indent)
{
    for (int i = 0; i < n->n_in; i++) {
        const at_tensor *x = n->in[i];
        const char *name = x && is_param(x) ? name_within(n->scope, x->name) : NULL;
        int met = g->n_leaves;
        if (name && leaf_number(g, x) == met) draw_leaf(g, met, name, indent);
    }
}

static void draw_op(drawing *g, const at_node *n, int indent)
{
    bool is_root = g->root && g->root->node == n;
    draw_own_params(g, n, indent);
    fprintf(g->out, "%*sn%d [label=\"", indent, "", n->index);
    dot_text(g->out, n->op->name);
    for (int k = 0; k < n->n_out; k++) {
        const at_tensor *y = n->out[k];
        if (!is_root && !y->name && !g->options.values && !g->options.gradients) continue;
        fputs("\\n", g->out);
        const char *unnamed = y != g->root ? "" : at_count(y->shape) == 1 ? "loss" : "output";
        put_tensor(g, y, y->name ? y->name : unnamed);
    }
    const char *fill = is_root ? "#f6c1b5" : n->wants_grad ? "#dbe7f6" : "#ffffff";
    const char *line = is_root ? "#b03a20" : n->wants_grad ? "#35618f" : "#8a8a8a";
    fprintf(g->out, "\", shape=box, style=\"filled,rounded%s\", fillcolor=\"%s\", color=\"%s\"];\n",
            n->wants_grad ? "" : ",dashed", fill, line);
}

static bool scope_holds(const at_name_scope *outer, const at_name_scope *s)
{
    while (s && s != outer) s = s->outer;
    return s == outer;
}

/* The ops of this scope, and a frame for each scope within it, in the order of the tape.  A scope
 * that was left and opened again gets a second frame. */
static const at_node *draw_scope(drawing *g, const at_name_scope *scope, const at_node *n,
                                 int indent)
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
            fprintf(g->out, "%*ssubgraph cluster_%d {\n%*slabel=\"", indent, "", g->frames++,
                    indent + 2, "");
            dot_text(g->out, inner->name);
            fputs("\";\n", g->out);
            n = draw_scope(g, inner, n, indent + 2);
            fprintf(g->out, "%*s}\n", indent, "");
        }
    }
    return n;
}

static void draw_edge(drawing *g, const at_tensor *x, int to)
{
    if (!x->node) {
        fprintf(g->out, "  t%d -> n%d;\n", leaf_number(g, x), to);
        return;
    }
    if (g->used[x->node->index])
        fprintf(g->out, "  n%d -> n%d [label=\" ", x->node->index, to);
    else
        fprintf(g->out, "  older -> n%d [style=dotted, label=\" ", to);
    put_shape(g, x);
    int output = 0; /* which of its op's outputs x is */
    while (output < x->node->n_out && x->node->out[output] != x) output++;
    if (output > 0) fprintf(g->out, " (output %d)", output);
    fprintf(g->out, "\"%s];\n", x->wants_grad ? "" : ", style=dashed");
}

/* A constant that shares its data with the output of an op that is drawn, or with a leaf.  What is
 * another tape's or a file's is not drawn. */
static void draw_origin(drawing *g, int i)
{
    const at_tensor *base = g->leaf[i]->base;
    if (!base || base->tape != g->tape) return;
    if (base->node && g->used[base->node->index])
        fprintf(g->out, "  n%d -> t%d [style=dotted, label=\" detach\"];\n", base->node->index, i);
    else if (!base->node)
        fprintf(g->out, "  t%d -> t%d [style=dotted, label=\" detach\"];\n", leaf_number(g, base),
                i);
}

static void draw_edges(drawing *g)
{
    for (const at_node *n = at_first_node(g->tape); n; n = n->next)
        for (int i = 0; g->used[n->index] && i < n->n_in; i++)
            if (n->in[i]) draw_edge(g, n->in[i], n->index);
    if (g->root && !g->root->node) leaf_number(g, g->root);
    for (int i = 0; i < g->n_leaves; i++) draw_origin(g, i); /* which may meet further leaves */
}

/* Marks what the root depends on, from the newest op back.  Returns how many were left out, and in
 * *inputs how many inputs the others have. */
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

static void draw(drawing *g, int left_out)
{
    fputs("digraph attic {\n  rankdir=TB; nodesep=0.3; ranksep=0.35;\n"
          "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11, color=\"#57606a\"];\n"
          "  edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=9, color=\"#57606a\"];\n"
          "  graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11, color=\"#c0c6cc\", "
          "fontcolor=\"#57606a\", labeljust=l, style=rounded];\n",
          g->out);
    if (left_out)
        fprintf(g->out, "  older [label=\"... and %d earlier ops\", shape=plaintext];\n", left_out);
    draw_scope(g, NULL, at_first_node(g->tape), 2);
    draw_edges(g);
    for (int i = g->n_drawn; i < g->n_leaves; i++) draw_leaf(g, i, g->leaf[i]->name, 2);
    fputs("}\n", g->out);
}

bool at_graph_dot(at_tape *t, const at_tensor *root, FILE *out, at_graph_options options)
{
    if (root && !at_check_any(t, "graph_dot", "root", root)) return false;
    AT_REQUIRE(t, out, "graph_dot: there is no file to write to");
    if (options.max_nodes <= 0) options.max_nodes = 500;
    if (options.max_values <= 0) options.max_values = 12;

    at_mark here = at_mark_here(t);
    const at_node *last = NULL;
    for (const at_node *n = at_first_node(t); n; n = n->next) last = n;
    size_t n_ops = last ? (size_t)last->index + 1 : 1;
    drawing g = {.tape = t, .out = out, .options = options, .root = root};
    g.used = at_step_alloc(t, n_ops);
    if (!g.used) return false;
    memset(g.used, 0, n_ops);
    ptrdiff_t inputs = 1;
    int left_out = choose_ops(&g, last, &inputs);
    g.leaf = at_step_alloc(t, 2 * (size_t)inputs * sizeof *g.leaf); /* and their bases */
    if (!g.leaf) return false;

    draw(&g, left_out);
    at_rewind(t, here);
    if (fflush(out) == 0 && !ferror(out)) return true;
    return at_fail(t, ATTIC_FILE_ERROR, "graph_dot: the file could not be written");
}
