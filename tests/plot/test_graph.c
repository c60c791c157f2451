/* test_graph.c -- the drawing of a tape says what is on it, and no more. */
#include "attention/attention.h"
#include "plot/graph.h"

#include <stdlib.h>
#include <string.h>

#include "autograd/op.h"
#include "ops/ops.h"
#include "test.h"

static at_tape *t;
static char dot[20000];

static void draw(const at_tensor *root, at_graph_options options)
{
    memset(dot, 0, sizeof dot);
    FILE *f = fmemopen(dot, sizeof dot, "w");
    ck_assert_msg(at_graph_dot(t, root, f, options), "%s", at_error(t));
    fclose(f);
}

static bool shows(const char *text)
{
    return strstr(dot, text) != NULL;
}

static int count(const char *text)
{
    int n = 0;
    for (const char *p = dot; (p = strstr(p, text)); p++) n++;
    return n;
}

/* loss = sum(scale(W) + W), and an op that the loss does not need */
static at_tensor *record(void)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *W = at_param(t, "W", at_shape_of(2, 3), at_ones());
    at_scope(t, "layer");
    at_tensor *y = at_scale(t, W, 2);
    at_scope_end(t);
    at_tensor *loss = at_softmax(t, at_softmax(t, y));
    at_rms_norm(t, W, NULL, 1e-5);
    return loss;
}

START_TEST(ops_leaves_and_shapes_are_drawn)
{
    at_tensor *loss = record();
    draw(loss, (at_graph_options){0});
    ck_assert(strstr(dot, "digraph attic {") == dot);
    ck_assert(shows("t0 [label=\"W\\n[2,3]\", shape=ellipse"));
    ck_assert(shows("t0 -> n0;"));
    ck_assert(shows("n0 -> n1 [label=\" [2,3]\"];"));
    ck_assert(shows("n2 [label=\"softmax\\noutput\\n[2,3]\""));
    ck_assert(!shows("rms_norm"));
    ck_assert_int_eq(count("{"), count("}"));
    at_close(t);
}
END_TEST

START_TEST(without_a_root_the_whole_tape_is_drawn)
{
    record();
    draw(NULL, (at_graph_options){0});
    ck_assert(shows("rms_norm"));
    at_close(t);
}
END_TEST

START_TEST(scopes_are_frames)
{
    at_tensor *loss = record();
    draw(loss, (at_graph_options){0});
    char *frame = strstr(dot, "subgraph cluster_0 {"), *inside = strstr(dot, "n0 [");
    ck_assert(frame && shows("label=\"layer\""));
    ck_assert(frame < inside && inside < strchr(frame, '}'));
    ck_assert(strstr(dot, "n1 [") > strchr(frame, '}'));
    at_close(t);
}
END_TEST

START_TEST(a_long_tape_is_cut_and_says_so)
{
    at_tensor *loss = record();
    draw(loss, (at_graph_options){.max_nodes = 1});
    ck_assert(shows("n2 ["));
    ck_assert(!shows("n1 ["));
    ck_assert(shows("... and 2 earlier ops"));
    ck_assert(shows("older -> n2"));
    at_close(t);
}
END_TEST

START_TEST(values_and_gradients_are_written_when_asked_for)
{
    at_tensor *loss = record();
    at_backward_from(t, loss, at_const(t, at_shape_of(2, 3), (double[]){1, 0, 0, 0, 0, 0}));
    draw(loss, (at_graph_options){.values = true, .gradients = true});
    ck_assert(shows("W\\n[2,3]\\n1, 1, 1\\l1, 1, 1\\l"));
    ck_assert(shows("grad\\l1, 0, 0\\l0, 0, 0\\l"));
    draw(loss, (at_graph_options){.values = true, .max_values = 5});
    ck_assert(!shows("1, 1, 1"));
    at_close(t);
}
END_TEST

START_TEST(names_are_escaped)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(2), NULL), "a\"b\\c\nd&lt;\x01\xff");
    draw(at_scale(t, x, 1), (at_graph_options){0});
    ck_assert(shows("label=\"a\\\"b\\\\c↵d&amp;lt;\\\\x01\\\\xFF\\n[2]\""));
    at_close(t);
}
END_TEST

START_TEST(parameters_stand_in_the_frame_where_they_were_made)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(2, 2), NULL), "x");
    at_scope(t, "block0");
    at_scope(t, "mlp");
    at_tensor *w = at_param(t, "w1", at_shape_of(2, 2), at_ones()), *y = at_matmul(t, x, w);
    at_scope_end(t);
    at_scope_end(t);
    at_tensor *loss = at_sum(t, at_matmul(t, y, w));
    draw(loss, (at_graph_options){0});
    char *inner = strstr(dot, "label=\"mlp\""), *own = strstr(dot, "t0 [label=\"w1\\n[2,2]\"");
    ck_assert(inner && own && inner < own && own < strchr(inner, '}'));
    ck_assert_int_eq(count("[label=\"w1"), 1); /* once, although two ops read it */
    ck_assert(shows("t0 -> n0;") && shows("t0 -> n1;"));
    ck_assert(strstr(dot, "[label=\"x\\n[2,2]\"") > strstr(dot, "  }\n"));
    ck_assert(shows("[label=\"sum\\nloss\\n[]\""));
    at_close(t);
}
END_TEST

START_TEST(masks_and_ids_show_their_type_and_options_left_out_are_no_edges)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2, 3), NULL);
    at_tensor *where = at_bools(t, at_shape_of(2, 3), NULL);
    at_tensor *loss = at_sum(t, at_rms_norm(t, at_masked_fill(t, x, where, 0), NULL, 1e-5));
    draw(loss, (at_graph_options){0});
    ck_assert(shows("constant\\n[2,3] bool"));
    ck_assert(shows("variable\\n[2,3]\""));
    ck_assert_int_eq(count(" -> "), 4);
    at_close(t);
}
END_TEST

START_TEST(a_detached_tensor_shows_where_its_data_are)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), NULL), *y = at_exp(t, x);
    at_tensor *loss = at_sum(t, at_add(t, at_add(t, y, at_detach(t, y)), at_detach(t, x)));
    draw(loss, (at_graph_options){0});
    ck_assert(shows("n0 -> t1 [style=dotted, label=\" detach\"];"));
    ck_assert(shows("t0 -> t2 [style=dotted, label=\" detach\"];"));
    draw(at_exp(t, at_detach(t, x)), (at_graph_options){0}); /* x itself is nowhere else */
    ck_assert(shows("t1 -> t0 [style=dotted") && shows("t1 [label=\"variable"));
    at_close(t);
}
END_TEST

START_TEST(later_outputs_are_told_apart)
{
    t = at_open(ATTIC_F64, 1);
    at_tensor *q = at_variable(t, at_shape_of(2, 3), NULL), *weights = NULL;
    at_tensor *o = at_sdpa(t, q, q, q, (at_sdpa_args){.weights = &weights});
    at_tensor *a = at_sum(t, o), *b = at_sum(t, weights);
    draw(at_add(t, a, b), (at_graph_options){0});
    ck_assert(shows("n0 -> n1 [label=\" [2,3]\"];"));
    ck_assert(shows("n0 -> n2 [label=\" [2,2] (output 1)\"];"));
    ck_assert_int_eq(count("t0 -> n0;"), 3); /* q is read three times */
    at_close(t);
}
END_TEST

START_TEST(a_root_without_ops_is_drawn)
{
    t = at_open(ATTIC_F64, 1);
    draw(at_const(t, at_shape_of(2), NULL), (at_graph_options){0});
    ck_assert(shows("t0 [label=\"constant"));
    draw(NULL, (at_graph_options){0});
    ck_assert(!shows("t0"));
    at_close(t);
}
END_TEST

START_TEST(what_a_backward_recycled_has_no_values)
{
    t = at_open(ATTIC_F64, 1);
    at_reuse_memory(t, true);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){1, 2});
    at_tensor *loss = at_sum(t, at_exp(t, at_exp(t, x)));
    at_backward(t, loss);
    draw(loss, (at_graph_options){.values = true, .gradients = true});
    ck_assert(shows("variable\\n[2]\\n= 1, 2\\ngrad "));
    ck_assert(shows("n0 [label=\"exp\\n[2]\", "));
    at_close(t);
}
END_TEST

START_TEST(drawing_leaves_the_tape_as_it_was)
{
    at_tensor *loss = record();
    at_memory before = at_memory_of(t);
    draw(loss, (at_graph_options){0});
    ck_assert_uint_eq(at_memory_of(t).step, before.step);
    ck_assert_int_eq(at_memory_of(t).nodes, before.nodes);
    at_close(t);
}
END_TEST

START_TEST(a_full_disk_is_reported)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full) return; /* only Linux has one */
    at_tensor *loss = record();
    ck_assert(!at_graph_dot(t, loss, full, (at_graph_options){0}));
    ck_assert_str_eq(at_error(t), "graph_dot: the file could not be written");
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_FILE_ERROR);
    fclose(full);
    at_close(t);
}
END_TEST

SUITE(plot_graph, ops_leaves_and_shapes_are_drawn, without_a_root_the_whole_tape_is_drawn,
      scopes_are_frames, a_long_tape_is_cut_and_says_so,
      values_and_gradients_are_written_when_asked_for, names_are_escaped,
      parameters_stand_in_the_frame_where_they_were_made,
      masks_and_ids_show_their_type_and_options_left_out_are_no_edges,
      a_detached_tensor_shows_where_its_data_are, later_outputs_are_told_apart,
      a_root_without_ops_is_drawn, what_a_backward_recycled_has_no_values,
      drawing_leaves_the_tape_as_it_was, a_full_disk_is_reported)
