/* test_tape.c -- errors stick, modes switch, steps are forgotten. */
#include "autograd/tape.h"

#include <locale.h>
#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "system/utf8.h"
#include "ops/ops.h"
#include "tensor/arena.h"
#include "tensors.h"
#include "version.h"

START_TEST(a_tape_is_real)
{
    ck_assert_ptr_null(at_open(ATTIC_I32, 1));
    ck_assert_ptr_null(at_open(ATTIC_REAL, 1));
    at_tape *t = at_open(ATTIC_F64, 3);
    ck_assert_int_eq(at_real(t), ATTIC_F64);
    ck_assert_uint_eq(at_seed(t), 3);
    ck_assert_str_eq(at_error(t), "");
    at_close(t);
}
END_TEST

START_TEST(no_tape_means_out_of_memory)
{
    ck_assert(!at_ok(NULL));
    ck_assert_int_eq(at_error_kind_of(NULL), ATTIC_MEMORY_ERROR);
    ck_assert_str_eq(at_error(NULL), "out of memory: there is no tape");
    at_tensor *x = at_const(NULL, at_shape_of(2), NULL);
    ck_assert_ptr_null(at_exp(NULL, at_add(NULL, x, x)));
    ck_assert(!at_backward(NULL, x));
    at_rewind(NULL, at_mark_here(NULL));
    at_close(NULL);
}
END_TEST

START_TEST(the_first_error_wins_and_silences_the_rest)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2, 3), NULL), *y = at_const(t, at_shape_of(4, 5), NULL);
    at_tensor *z = at_softmax(t, at_scale(t, at_add(t, x, y), 2));
    ck_assert_ptr_null(z);
    ck_assert_ptr_null(at_add(t, x, x)); /* sound in itself, but the tape has failed */
    ck_assert(strstr(at_error(t), "add") == at_error(t));
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_USER_ERROR);
    at_clear_error(t);
    ck_assert_ptr_nonnull(at_add(t, x, x));
    at_close(t);
}
END_TEST

/* What at_close called, in this order. */
static char closed[8];

static void close_letter(void *letter)
{
    strncat(closed, letter, 1);
}

START_TEST(what_a_tape_must_free_is_freed_at_its_close_last_in_first_out)
{
    closed[0] = 0;
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert(at_on_close(t, close_letter, "a"));
    at_fail(t, ATTIC_USER_ERROR, "something else");
    ck_assert(at_on_close(t, close_letter, "b")); /* what was opened must be closed, error or not */
    ck_assert_str_eq(closed, "");
    at_close(t);
    ck_assert_str_eq(closed, "ba");
}
END_TEST

START_TEST(what_cannot_be_remembered_is_freed_at_once)
{
    closed[0] = 0;
    at_tape *t = at_open(ATTIC_F32, 1);
    at_fail_allocation(1);
    ck_assert(!at_on_close(t, close_letter, "c"));
    at_fail_allocation(0);
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_MEMORY_ERROR);
    at_close(t);
    ck_assert(!at_on_close(NULL, close_letter, "d"));
    ck_assert_str_eq(closed, "cd");
}
END_TEST

START_TEST(bad_inputs_are_named)
{
    at_tape *t = at_open(ATTIC_F32, 1), *other = at_open(ATTIC_F32, 1);
    at_tensor *x = at_name(at_const(t, at_shape_of(2, 3), NULL), "x0");
    ck_assert_ptr_null(at_scale(t, NULL, 2));
    ck_assert_str_eq(at_error(t), "scale: x is NULL");
    at_clear_error(t);
    ck_assert_ptr_null(at_scale(t, at_const(other, at_shape_of(2), NULL), 2));
    ck_assert_str_eq(at_error(t), "scale: x belongs to another tape");
    at_clear_error(t);
    ck_assert_ptr_null(at_scale(t, at_ints(t, at_shape_of(2), NULL), 2));
    ck_assert_str_eq(at_error(t), "scale: x [2] has dtype i32 but must be f32");
    at_clear_error(t);
    ck_assert_ptr_null(at_embedding(t, x, x));
    ck_assert_str_eq(at_error(t), "embedding: id \"x0\" [2,3] has dtype f32 but must be i32");
    at_close(t);
    at_close(other);
}
END_TEST

START_TEST(a_rewound_tensor_is_refused_until_its_memory_is_handed_out_again)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_mark step = at_mark_here(t);
    at_tensor *x = at_const(t, at_shape_of(2), NULL), *distant = NULL;
    for (int i = 0; i < 100; i++)
        distant = at_const(t, at_shape_of(1000), NULL); /* in a later chunk */
    at_rewind(t, step);
    ck_assert_ptr_null(at_scale(t, x, 2));
    assert_error(t, "scale: x was made in a step that has been rewound");
    at_clear_error(t);
    ck_assert_ptr_null(at_add(t, at_const(t, at_shape_of(2), NULL), distant));
    assert_error(t, "add: b was made in a step that has been rewound");
    at_close(t);
}
END_TEST

/* Debug builds poison what was rewound: there a function without a tape cannot look for one in it. */
#ifndef ATTIC_DEBUG
START_TEST(functions_without_a_tape_refuse_a_rewound_tensor_too)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_mark step = at_mark_here(t);
    at_tensor *x = at_const(t, at_shape_of(), NULL);
    at_rewind(t, step);
    ck_assert(isnan(at_item(x)));
    assert_error(t, "item: x was made in a step that has been rewound");
    at_clear_error(t);
    at_written(x);
    assert_error(t, "written: x was made in a step that has been rewound");
    at_clear_error(t);
    at_name(x, "x");
    assert_error(t, "name: x was made in a step that has been rewound");
    at_close(t);
}
END_TEST
#define RELEASE_TESTS , functions_without_a_tape_refuse_a_rewound_tensor_too
#else
#define RELEASE_TESTS
#endif

/* Rewinding to m is refused, and forgets nothing. */
static void refuse_mark(at_tape *t, at_mark m, const char *message)
{
    int nodes = at_memory_of(t).nodes;
    size_t step = at_memory_of(t).step;
    at_rewind(t, m);
    assert_error(t, message);
    at_clear_error(t);
    ck_assert_int_eq(at_memory_of(t).nodes, nodes);
    ck_assert_uint_eq(at_memory_of(t).step, step);
}

START_TEST(only_a_mark_of_this_tape_can_be_rewound_to)
{
    at_tape *t = at_open(ATTIC_F32, 1), *other = at_open(ATTIC_F32, 1);
    at_tensor *x = at_exp(t, at_const(t, at_shape_of(2), NULL));
    refuse_mark(t, at_mark_here(other), "rewind: the mark is another tape's");
    refuse_mark(t, (at_mark){0}, "rewind: the mark is empty (see at_mark_here)");
    ck_assert(at_get(x, 1) == 1);
    at_close(t);
    at_close(other);
}
END_TEST

START_TEST(a_mark_above_one_rewound_to_is_forgotten_even_where_memory_has_grown_again)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_mark low = at_mark_here(t);
    at_const(t, at_shape_of(10), NULL);
    at_mark high = at_mark_here(t);
    at_rewind(t, low);
    refuse_mark(t, high, "rewind: the mark was taken in a step that has been rewound");
    at_tensor *x = at_random(t, at_shape_of(1000), at_uniform(1)); /* lies across `high` */
    at_mark higher = at_mark_here(t);
    refuse_mark(t, high, "rewind: the mark was taken in a step that has been rewound");
    at_rewind(t, higher);
    at_rewind(t, higher);
    ck_assert(at_get(x, 999) != 0);
    at_rewind(t, low);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    at_close(t);
}
END_TEST

START_TEST(marks_need_no_more_memory_in_a_loop_than_in_its_first_round)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_memory first = {0};
    for (int i = 0; i < 10; i++) {
        at_mark outer = at_mark_here(t);
        at_const(t, at_shape_of(3), NULL);
        at_mark inner = at_mark_here(t);
        at_const(t, at_shape_of(3), NULL);
        at_rewind(t, inner);
        at_rewind(t, outer);
        if (i == 0) first = at_memory_of(t);
    }
    ck_assert_uint_eq(at_memory_of(t).permanent, first.permanent);
    ck_assert_uint_eq(at_memory_of(t).step, 0);
    at_close(t);
}
END_TEST

START_TEST(a_failed_tape_can_be_rewound_but_its_first_error_stays)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_mark start = at_mark_here(t);
    at_exp(t, at_const(t, at_shape_of(2), NULL));
    at_fail(t, ATTIC_USER_ERROR, "on purpose");
    at_rewind(t, (at_mark){0});
    ck_assert_int_eq(at_memory_of(t).nodes, 1);
    at_rewind(t, start);
    ck_assert_int_eq(at_memory_of(t).nodes, 0);
    assert_error(t, "on purpose");
    at_close(t);
}
END_TEST

START_TEST(where_there_is_no_memory_for_a_mark_it_says_so)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_fail_allocation(1);
    at_mark m = at_mark_here(t);
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_MEMORY_ERROR);
    at_clear_error(t);
    refuse_mark(t, m, "rewind: the mark is empty (see at_mark_here)");
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ ops of others -------------- */

static void fill_with_7(at_node *n)
{
    for (ptrdiff_t i = at_count(n->out[0]->shape); i-- > 0;)
        at_store(n->out[0]->dtype, n->out[0]->data, i, 7);
}

static void refuse_op(at_dtype real, at_op op, at_recipe r, const char *message)
{
    at_tape *t = at_open(real, 1);
    at_tensor *x = at_variable(t, at_shape_of(), NULL);
    ck_assert_ptr_null(at_record_node(t, &op, AT_IN(x), r));
    assert_error(t, message);
    ck_assert_int_eq(at_memory_of(t).nodes, 0);
    at_close(t);
}

START_TEST(an_op_that_lacks_a_kernel_for_this_tape_is_refused_by_name)
{
    const at_op f64 = {"mine", {NULL, fill_with_7}, {NULL, NULL}, false};
    const at_op forward = {"mine", {fill_with_7, fill_with_7}, {NULL, fill_with_7}, false};
    const at_op backward = {"mine", {fill_with_7, fill_with_7}, {fill_with_7, NULL}, false};
    refuse_op(ATTIC_F32, f64, (at_recipe){0}, "mine: the op has no forward for f32");
    refuse_op(ATTIC_F32, f64, (at_recipe){.shares = true}, "mine: the op has no forward for f32");
    refuse_op(ATTIC_F32, forward, (at_recipe){0},
              "mine: the op has a backward for f64, but none for f32");
    refuse_op(ATTIC_F64, backward, (at_recipe){0},
              "mine: the op has a backward for f32, but none for f64");
    refuse_op(ATTIC_F64, (at_op){.name = "mine"}, (at_recipe){0},
              "mine: the op has no forward for f64");
    refuse_op(ATTIC_F64, f64, (at_recipe){.n_out = AT_MAX_OUT + 1},
              "mine: 7 outputs, but 6 are possible");
    refuse_op(ATTIC_F64, (at_op){0}, (at_recipe){0}, "record: the op is NULL, or its name is");
}
END_TEST

START_TEST(an_op_for_f64_alone_runs_on_an_f64_tape_and_one_without_backward_stops_the_gradient)
{
    static const at_op mine = {.name = "mine", .forward = {NULL, fill_with_7}};
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(), NULL);
    at_tensor *y = at_record(t, &mine, AT_IN(x), at_shape_of(), NULL, 0);
    ck_assert(at_item(y) == 7 && !y->wants_grad);
    ck_assert(at_replay(t));
    at_close(t);
}
END_TEST

START_TEST(long_messages_are_cut_not_overrun)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    char name[2000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    at_fail(t, ATTIC_USER_ERROR, "%s", name);
    ck_assert_uint_lt(strlen(at_error(t)), 1000);
    at_close(t);
}
END_TEST

START_TEST(a_long_message_lacks_its_middle_not_its_end)
{
    char path[1000];
    for (int length = 500; length < 900; length++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        memcpy(path, "/first/", 7);
        for (int i = 7; i < length; i += 2) memcpy(path + i, "\xc3\xa4", 3); /* an umlaut */
        strcat(path, "/last.txt");
        at_fail(t, ATTIC_USER_ERROR, "load: %s: row %d is bad", path, 3);
        const char *said = at_error(t);
        ck_assert_uint_le(strlen(said), 511);
        ck_assert_uint_ge(strlen(said), 505);
        ck_assert_ptr_nonnull(strstr(said, "/last.txt: row 3 is bad"));
        ck_assert_int_eq(strncmp(said, "load: /first/\xc3\xa4", 15), 0);
        ck_assert_int_eq(at_utf8_bytes(said, (ptrdiff_t)strlen(said)), (ptrdiff_t)strlen(said));
        ck_assert_ptr_nonnull(strstr(said, "\xa4...\xc3"));
        at_close(t);
    }
}
END_TEST

START_TEST(modes_return_what_was_before)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert(at_is_training(t));
    ck_assert(at_train(t, false));
    ck_assert(!at_train(t, true));
    ck_assert(!at_no_grad(t, true));
    ck_assert(at_no_grad(t, false));
    ck_assert(!at_reuse_memory(t, true));
    ck_assert(at_reuse_memory(t, false));
    ck_assert(!at_anomaly(t, true));
    ck_assert(at_anomaly(t, false));
    at_close(t);
}
END_TEST

START_TEST(an_evaluation_leaves_no_trace)
{
    at_tape *t = at_open(ATTIC_F32, 1), *calm = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(3), NULL);
    for (int i = 0; i < 4; i++) {
        at_train(t, i % 2), at_no_grad(t, i / 2);
        const at_memory before = at_memory_of(t);
        at_eval outer = at_eval_begin(t);
        at_train(t, true);
        at_eval inner = at_eval_begin(t);
        ck_assert(!at_is_training(t) && !at_exp(t, x)->wants_grad);
        at_draw(t);
        at_eval_end(t, inner);
        ck_assert(at_is_training(t) && at_no_grad(t, true));
        at_random(t, at_shape_of(100), at_normal(1));
        at_eval_end(t, outer);
        ck_assert(at_is_training(t) == (i % 2 == 1) && at_no_grad(t, false) == (i / 2 == 1));
        ck_assert_int_eq(at_memory_of(t).nodes, before.nodes);
        ck_assert_uint_eq(at_memory_of(t).step, before.step);
        ck_assert_uint_eq(at_draw(t).draw, at_draw(calm).draw);
    }
    at_close(t), at_close(calm);
}
END_TEST

START_TEST(an_evaluation_ends_on_a_failed_tape_too)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int i = 0; i < 2; i++) {
        if (i) at_fail(t, ATTIC_USER_ERROR, "before");
        at_eval e = at_eval_begin(t);
        ck_assert(!at_is_training(t));
        at_exp(t, at_const(t, at_shape_of(2), NULL));
        at_fail(t, ATTIC_USER_ERROR, "in between");
        at_eval_end(t, e);
        assert_error(t, i ? "before" : "in between");
        ck_assert(at_is_training(t) && !at_no_grad(t, false));
        ck_assert_int_eq(at_memory_of(t).nodes, 0);
        at_clear_error(t);
    }
    at_eval_end(NULL, at_eval_begin(NULL));
    at_close(t);
}
END_TEST

START_TEST(the_end_of_an_evaluation_that_is_none_changes_nothing)
{
    at_tape *t = at_open(ATTIC_F32, 1), *other = at_open(ATTIC_F32, 1);
    at_mark low = at_mark_here(t);
    at_const(t, at_shape_of(10), NULL);
    at_eval e[] = {{.draws = 7}, at_eval_begin(other), at_eval_begin(t)};
    at_rewind(t, low);
    static const char *const message[] = {
        "eval_end: the mark is empty (see at_mark_here)", "eval_end: the mark is another tape's",
        "eval_end: the mark was taken in a step that has been rewound"};
    for (int i = 0; i < 3; i++) {
        at_eval_end(t, e[i]);
        assert_error(t, message[i]);
        at_clear_error(t);
        ck_assert(!at_is_training(t) && at_no_grad(t, true) && at_draw(t).draw == (uint64_t)i);
    }
    at_close(t), at_close(other);
    t = at_open(ATTIC_F32, 1);
    for (int i = 0; i < 2; i++) {
        at_eval outer = at_eval_begin(t), inner = at_eval_begin(t), *first = i ? &outer : &inner;
        at_eval_end(t, *first);
        at_draw(t);
        at_const(t, at_shape_of(10), NULL);
        const at_stream next = at_draw(t);
        at_eval_end(t, inner); /* once more, or in the wrong order */
        assert_error(t, message[2]);
        at_clear_error(t);
        ck_assert(at_is_training(t) == (i == 1) && at_draw(t).draw == next.draw + 1);
        if (!i) at_eval_end(t, outer);
        ck_assert(at_ok(t) && at_is_training(t) && !at_no_grad(t, false));
    }
    at_close(t);
    t = at_open(ATTIC_F32, 1);
    at_fail_allocation(1);
    at_eval lost = at_eval_begin(t); /* without memory for its mark */
    at_fail_allocation(0);
    ck_assert_int_eq(at_error_kind_of(t), ATTIC_MEMORY_ERROR);
    ck_assert(at_is_training(t));
    at_eval_end(t, lost);
    ck_assert(at_is_training(t));
    at_close(t);
}
END_TEST

START_TEST(scopes_prefix_parameters_and_mark_ops)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_scope(t, "block0");
    at_scope(t, "attention");
    at_tensor *w = at_param(t, "wq", at_shape_of(2), at_zeros());
    at_tensor *y = at_scale(t, w, 2);
    ck_assert_str_eq(w->name, "block0.attention.wq");
    ck_assert_str_eq(y->node->scope->name, "attention");
    ck_assert_str_eq(y->node->scope->outer->name, "block0");
    at_scope_end(t);
    at_scope_end(t);
    ck_assert_ptr_eq(at_find_param(t, "block0.attention.wq"), w);
    at_scope_end(t);
    ck_assert_str_eq(at_error(t), "scope_end: no scope is open");
    at_close(t);
}
END_TEST

/* The name that a parameter gets now. */
static const char *name_here(at_tape *t, const char *name)
{
    return at_param(t, name, at_shape_of(), at_zeros())->name;
}

START_TEST(scopes_are_opened_and_closed_on_a_failed_tape_too)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_scope(t, "a");
    at_fail(t, ATTIC_USER_ERROR, "on purpose");
    at_scope(t, "not opened");
    at_clear_error(t);
    at_scope(t, "nor this, inside of it");
    ck_assert_str_eq(name_here(t, "w"), "a.w");
    at_scope_end(t);
    ck_assert_str_eq(name_here(t, "v"), "a.v");
    at_fail(t, ATTIC_USER_ERROR, "on purpose");
    at_scope_end(t);
    at_scope_end(t);
    at_clear_error(t);
    ck_assert_str_eq(name_here(t, "w"), "w");
    at_scope(t, NULL);
    ck_assert_str_eq(at_error(t), "scope: the name is NULL");
    at_scope_end(t);
    ck_assert_str_eq(at_error(t), "scope: the name is NULL");
    at_close(t);
}
END_TEST

START_TEST(a_scope_can_have_a_number_in_its_name)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const char *none = NULL;
    for (int i = 0; i < 2; i++) {
        at_scopef(t, "block%d", i);
        at_scopef(t, "%s.%g", "heads", 0.5);
        ck_assert_str_eq(name_here(t, "w"), i ? "block1.heads.0.5.w" : "block0.heads.0.5.w");
        at_scope_end(t), at_scope_end(t);
    }
    at_scopef(t, "%159d", 7);
    ck_assert_uint_eq(strlen(name_here(t, "w")), 161);
    at_scope_end(t);
    const wchar_t no_character[] = {0xD800, 0};
    at_scopef(t, "%ls", no_character);
    assert_error(t, "scope: vsnprintf makes no name by \"%ls\"");
    at_clear_error(t), at_scope_end(t);
    at_scopef(t, "%160d", 7);
    assert_error(t, "scope: the name by \"%160d\" has more than 159 bytes");
    at_clear_error(t);
    ck_assert_str_eq(name_here(t, "v"), "v"); /* nothing was opened, */
    at_scope_end(t);                          /* but something ends */
    ck_assert(at_ok(t));
    at_scopef(t, none, 0);
    assert_error(t, "scope: the name is NULL");
    at_scope_end(t);
    at_scopef(NULL, "block%d", 1);
    at_close(t);
}
END_TEST

static void training_step(at_tape *t, at_tensor *W)
{
    at_mark step = at_mark_here(t);
    at_scope(t, "step");
    at_tensor *P = at_name(at_softmax(t, W), "P");
    at_backward(t, at_mean(t, at_matmul(t, P, W)));
    at_scope_end(t);
    at_zero_grads(t);
    at_rewind(t, step);
}

START_TEST(a_steady_loop_does_not_call_malloc)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *W = at_param(t, "W", at_shape_of(40, 40), at_uniform(1));
    training_step(t, W);
    ptrdiff_t before = at_mallocs();
    at_memory used = at_memory_of(t);
    for (int i = 0; i < 10; i++) training_step(t, W);
    ck_assert_int_eq(at_mallocs(), before);
    ck_assert_uint_eq(at_memory_of(t).permanent, used.permanent);
    ck_assert_uint_eq(at_memory_of(t).step_peak, used.step_peak);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    at_close(t);
}
END_TEST

START_TEST(parameters_outlive_the_step_that_made_them)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_mark step = at_mark_here(t);
    at_tensor *w = at_param(t, "w", at_shape_of(2), at_ones());
    at_backward(t, at_sum(t, at_scale(t, w, 3)));
    at_rewind(t, step);
    ck_assert(at_get(w, 1) == 1);
    ck_assert(at_grad_element(w, 1) == 3);
    ck_assert_int_eq(at_memory_of(t).nodes, 0);
    at_close(t);
}
END_TEST

START_TEST(gradients_above_a_mark_are_forgotten_with_it)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){1, 2});
    at_tensor *y = at_square(t, x); /* below the mark, its gradient above */
    for (int i = 0; i < 3; i++) {
        at_mark step = at_mark_here(t);
        at_backward(t, at_sum(t, at_scale(t, y, 1)));
        ck_assert(at_grad_element(y, 0) == 1);
        at_rewind(t, step);
        ck_assert_ptr_null(y->grad);
    }
    ck_assert(at_grad_element(x, 1) == 3 * 2 * 2); /* that of the leaf adds up */
    at_close(t);
}
END_TEST

START_TEST(a_gradient_below_one_mark_and_above_another_goes_with_the_other)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), (double[]){1, 2}), *y = at_square(t, x);
    at_mark outer = at_mark_here(t);
    at_backward(t, at_sum(t, y)); /* y's gradient lies between the marks */
    at_mark inner = at_mark_here(t);
    for (int i = 0; i < 3; i++) {
        at_backward(t, at_sum(t, at_scale(t, y, 3)));
        at_rewind(t, inner);
        ck_assert(at_grad_element(y, 0) == 3);
        ck_assert_ptr_nonnull(y->grad);
    }
    at_rewind(t, outer);
    ck_assert_ptr_null(y->grad);
    at_backward(t, at_sum(t, y));
    ck_assert(at_grad_element(y, 0) == 1 && at_grad_element(x, 1) == 2 * 2 * (1 + 3 * 3 + 1));
    at_close(t);
}
END_TEST

START_TEST(what_a_failed_backward_has_reached_is_forgotten_too)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(2), NULL), *y = at_square(t, x);
    at_set(x, 1, 0); /* y is out of date */
    for (int keep = 0; keep < 2; keep++) {
        at_reuse_memory(t, !keep);
        at_mark step = at_mark_here(t);
        ck_assert(!at_backward(t, at_sum(t, at_scale(t, y, 3))));
        ck_assert(at_grad_element(y, 0) == 3);
        at_rewind(t, step);
        ck_assert(!y->grad && !y->grad_memory);
        at_clear_error(t);
    }
    at_close(t);
}
END_TEST

/* A tape of vectors and marks that grows and shrinks at random. */
typedef struct {
    at_tape *t;
    at_tensor *x[200];
    at_mark mark[6];
    int n, n_at[6], depth;
    uint64_t drawn;
} random_tape;

static int drawn(random_tape *r, int below)
{
    return (int)(at_random_unit((at_stream){7, 0}, r->drawn++) * below);
}

static void grow(random_tape *r)
{
    at_tensor *a = r->x[drawn(r, r->n)], *b = r->x[drawn(r, r->n)];
    int op = drawn(r, 3);
    r->x[r->n++] = op == 0   ? at_scale(r->t, a, 0.5)
                   : op == 1 ? at_add(r->t, a, b) /* passes its gradient on */
                             : at_reshape(r->t, a, a->shape);
}

static void shrink(random_tape *r)
{
    int up = drawn(r, 3), level = up < r->depth ? r->depth - 1 - up : 0;
    r->depth = level + (level == 0 || drawn(r, 2)); /* keep the mark, or drop it */
    r->n = r->n_at[level];
    at_rewind(r->t, r->mark[level]);
    at_mark here = at_mark_here(r->t); /* what was forgotten holds NaN from now on */
    for (int i = 0; i < 300; i++) memset(at_blank(r->t, ATTIC_F64, r->x[0]->shape)->data, 0xFF, 72);
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < 9; k++) ck_assert(isfinite(at_grad_element(r->x[i], k)));
    at_rewind(r->t, here);
}

START_TEST(no_gradient_that_can_be_read_lies_in_memory_that_was_rewound)
{
    random_tape r = {.t = at_open(ATTIC_F64, 1), .n = 1};
    r.x[0] = at_variable(r.t, at_shape_of(9), NULL);
    while (r.n < 20) grow(&r);
    for (int i = 0; i < 10000; i++) {
        int what = drawn(&r, 8);
        if (what == 0 && r.depth > 0) {
            shrink(&r);
        } else if (what == 1 && r.depth < 6) { /* and the first one stays */
            r.n_at[r.depth] = r.n;
            r.mark[r.depth++] = at_mark_here(r.t);
        } else if (what < 4) {
            at_tensor *y = r.x[drawn(&r, r.n)];
            at_backward_from(r.t, y, at_const(r.t, y->shape, NULL));
        } else if (r.n < 200) {
            grow(&r);
        }
    }
    ck_assert_msg(at_ok(r.t), "%s", at_error(r.t));
    at_close(r.t);
}
END_TEST

/* Were a rewind to look at all that stays, this would take minutes: the time limit of a test fails. */
START_TEST(a_rewind_costs_what_was_done_since_the_mark)
{
#ifdef ATTIC_SLOW_MODE
    enum { BELOW = 10000, STEPS = 20000 };
#else
    enum { BELOW = 100000, STEPS = 500000 };
#endif
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_variable(t, at_shape_of(), (double[]){1});
    for (int i = 0; i < BELOW; i++) x = at_scale(t, x, 1);
    at_backward(t, x);
    for (int i = 0; i < STEPS; i++) {
        at_mark step = at_mark_here(t);
        at_scale(t, x, 1);
        at_rewind(t, step);
    }
    ck_assert_int_eq(at_memory_of(t).nodes, BELOW);
    ck_assert(at_grad_element(x, 0) == 1);
    at_close(t);
}
END_TEST

START_TEST(draws_never_repeat_after_a_rewind)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_mark step = at_mark_here(t);
    double first = at_item(at_random(t, at_shape_of(), at_normal(1)));
    at_rewind(t, step);
    ck_assert(at_item(at_random(t, at_shape_of(), at_normal(1))) != first);
    at_close(t);
}
END_TEST

START_TEST(the_version_is_told_at_run_time)
{
    ck_assert_str_eq(at_version(), ATTIC_VERSION);
}
END_TEST

START_TEST(a_decimal_comma_does_not_show_in_messages)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2), NULL);
    use_decimal_comma();
    at_dropout(t, x, 1.5);
    ck_assert_str_eq(at_error(t), "dropout: p is 1.5 but must be at least 0 and less than 1");
    char host[8];
    snprintf(host, sizeof host, "%.1f", 0.5); /* the program has its own locale back */
    ck_assert_str_eq(host + 1 + strlen(localeconv()->decimal_point), "5");
    setlocale(LC_NUMERIC, "C");
    at_close(t);
}
END_TEST

START_TEST(draws_follow_from_step_and_micro_batch_alone)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert(at_draw(t).draw == 0 && at_draw(t).draw == 1);
    ck_assert(at_draws_set(t, 3, 2));
    uint64_t first = at_draw(t).draw;
    ck_assert(at_draw(t).draw == first + 1);
    at_draws_set(t, 3, 3);
    ck_assert(at_draw(t).draw == first + (1 << 20));
    at_draws_set(t, 4, 2);
    ck_assert(at_draw(t).draw == first + ((uint64_t)1 << 32));
    at_draws_set(t, 3, 2);
    ck_assert(at_draw(t).draw == first && first > (uint64_t)1 << 62);
    ck_assert(at_draws_set(t, INT32_MAX, 4095) && at_draw(t).draw > first);
    at_close(t);
}
END_TEST

/* Fills with 7, 8, ...; fails for a parameter "W". */
static bool fill_from(void *from, at_tensor *x)
{
    if (at_own_data(x)) at_store(x->dtype, x->data, 0, (*(int *)from)++);
    return strcmp(x->name, "in.W") != 0 || at_fail(x->tape, ATTIC_USER_ERROR, "there is no W");
}

START_TEST(parameters_that_somebody_else_fills_count_as_drawn)
{
    at_tape *t = at_open(ATTIC_F64, 1), *u = at_open(ATTIC_F64, 1);
    int next = 7;
    for (int i = 0; i < 2; i++) at_param(u, i ? "b" : "a", at_shape_of(1), at_normal(1));
    at_fill_params(t, fill_from, &next);
    for (int i = 0; i < 2; i++) at_param(t, i ? "b" : "a", at_shape_of(1), at_normal(1));
    ck_assert(at_item(at_find_param(t, "a")) == 7 && at_item(at_find_param(t, "b")) == 8);
    at_scope(t, "in");
    ck_assert_ptr_null(at_param(t, "W", at_shape_of(1), at_normal(1)));
    at_scope_end(t);
    assert_error(t, "there is no W");
    at_clear_error(t);
    ck_assert(at_param_count(t) == 2 && !at_find_param(t, "in.W"));
    at_fill_params(t, NULL, NULL);
    at_draw(u);
    ck_assert(equal_bits(at_param(t, "c", at_shape_of(3), at_normal(1)),
                         at_param(u, "c", at_shape_of(3), at_normal(1))));
    at_close(u);
    at_close(t);
}
END_TEST

START_TEST(a_step_or_micro_batch_beyond_the_draws_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert(!at_draws_set(t, -1, 0));
    ck_assert_str_eq(at_error(t), "draws_set: step is -1, but must be 0 .. 2147483647");
    at_clear_error(t);
    ck_assert(!at_draws_set(t, (int64_t)INT32_MAX + 1, 0));
    at_clear_error(t);
    ck_assert(!at_draws_set(t, 0, 4096));
    ck_assert_str_eq(at_error(t), "draws_set: micro is 4096, but must be 0 .. 4095");
    ck_assert(!at_draws_set(NULL, 0, 0));
    at_clear_error(t);
    ck_assert(at_draw(t).draw == 0);
    at_close(t);
}
END_TEST

START_TEST(descriptions_are_kept_by_key_and_grow_by_lines)
{
    char text[] = "ids 5";
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert(at_describe(t, "model", "layers 1") && at_describe(t, "data", text));
    text[0] = 'x';
    ck_assert(at_describe(t, "model", "layers 2"));
    ck_assert_int_eq(at_described_count(t), 2);
    ck_assert_str_eq(at_described_key(t, 0), "model");
    ck_assert_str_eq(at_described(t, "model"), "layers 1\nlayers 2");
    ck_assert_str_eq(at_described(t, at_described_key(t, 1)), "ids 5");
    ck_assert(!at_described(t, "other") && !at_described(t, NULL) && !at_described_key(t, 2));
    ck_assert(!at_described(NULL, "model") && !at_described_key(NULL, 0));
    ck_assert(!at_describe(t, "", "x") && !at_ok(t));
    at_clear_error(t);
    ck_assert(!at_describe(t, "data", NULL));
    ck_assert_str_eq(at_error(t), "describe: text is NULL");
    at_close(t);
}
END_TEST

START_TEST(a_pattern_tells_what_its_star_stood_for)
{
    int from, to;
    const char *p = "h.*.w";
    ck_assert(at_pattern_matches(p, p + 5, "h.12.w", &from, &to) && from == 2 && to == 4);
    ck_assert(at_pattern_matches(p, p + 5, "h.w.w.w", &from, &to) && from == 2 && to == 5);
    ck_assert(at_pattern_matches(p, p + 3, "h.abc", &from, &to) && from == 2 && to == 5);
    ck_assert(at_pattern_matches(p, p + 5, "h..w", &from, &to) && from == 2 && to == 2);
    ck_assert(!at_pattern_matches(p, p + 5, "h.12.x", &from, &to));
    ck_assert(at_names_mean((at_names){.only = "a,b*"}, "bc"));
    ck_assert(!at_names_mean((at_names){.only = "a,b"}, "bc"));
}
END_TEST

START_TEST(tensors_are_found_by_their_scopes_and_their_name)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *w = at_param(t, "w", at_shape_of(2), at_ones());
    at_mark here = at_mark_here(t);
    at_tensor *y[2];
    for (int i = 0; i < 2; i++) {
        at_scope(t, i ? "block1" : "block0");
        at_scope(t, "ffn");
        y[i] = at_name(at_relu(t, w), "hidden");
        at_scope_end(t);
        at_scope_end(t);
    }
    at_tensor *top = at_name(at_relu(t, w), "hidden");
    ck_assert(at_find(t, "block0.ffn.hidden") == y[0] && at_find(t, "block1.ffn.hidden") == y[1]);
    ck_assert(at_find(t, "hidden") == top && at_find(t, "w") == w);
    ck_assert(!at_find(t, "ffn.hidden") && !at_find(t, "block0.ffn") && !at_find(t, "block0."));
    ck_assert(!at_find(t, NULL) && !at_find(NULL, "w") && at_ok(t));
    at_tensor *again = at_name(at_square(t, w), "hidden");
    ck_assert(at_find(t, "hidden") == again); /* the last of two */
    ck_assert(at_name(at_square(t, w), "w") == at_find(t, "w"));
    at_rewind(t, here);
    ck_assert(!at_find(t, "hidden") && at_find(t, "w") == w);
    at_close(t);
}
END_TEST

START_TEST(a_description_is_text)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert(at_describe(t, "key", "caf\xc3\xa9"));
    for (int k = 0; k < 2; k++) {
        ck_assert(!at_describe(t, k ? "caf\xe9" : "key", k ? "text" : "caf\xe9"));
        ck_assert_str_eq(at_error(t),
                         k ? "describe: the key is not UTF-8" : "describe: the text is not UTF-8");
        at_clear_error(t);
    }
    ck_assert_str_eq(at_described(t, "key"), "caf\xc3\xa9");
    at_close(t);
}
END_TEST

START_TEST(ops_check_themselves_while_it_is_asked_for_after_an_error_too)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    ck_assert(!at_is_self_checking(t));
    ck_assert(!at_self_check(t, true));
    ck_assert(at_is_self_checking(t));
    at_fail(t, ATTIC_MEMORY_ERROR, "an error");
    ck_assert(at_self_check(t, false));
    ck_assert(!at_is_self_checking(t));
    ck_assert(!at_is_self_checking(NULL) && !at_self_check(NULL, true));
    at_close(t);
}
END_TEST

SUITE(autograd_tape, ops_check_themselves_while_it_is_asked_for_after_an_error_too,
      tensors_are_found_by_their_scopes_and_their_name, a_description_is_text, a_tape_is_real,
      no_tape_means_out_of_memory, the_first_error_wins_and_silences_the_rest,
      what_a_tape_must_free_is_freed_at_its_close_last_in_first_out,
      what_cannot_be_remembered_is_freed_at_once, bad_inputs_are_named,
      a_rewound_tensor_is_refused_until_its_memory_is_handed_out_again,
      only_a_mark_of_this_tape_can_be_rewound_to,
      a_mark_above_one_rewound_to_is_forgotten_even_where_memory_has_grown_again,
      marks_need_no_more_memory_in_a_loop_than_in_its_first_round,
      a_failed_tape_can_be_rewound_but_its_first_error_stays,
      where_there_is_no_memory_for_a_mark_it_says_so,
      an_op_that_lacks_a_kernel_for_this_tape_is_refused_by_name,
      an_op_for_f64_alone_runs_on_an_f64_tape_and_one_without_backward_stops_the_gradient,
      long_messages_are_cut_not_overrun, a_long_message_lacks_its_middle_not_its_end,
      modes_return_what_was_before, an_evaluation_leaves_no_trace,
      an_evaluation_ends_on_a_failed_tape_too,
      the_end_of_an_evaluation_that_is_none_changes_nothing, a_scope_can_have_a_number_in_its_name,
      scopes_prefix_parameters_and_mark_ops, scopes_are_opened_and_closed_on_a_failed_tape_too,
      a_steady_loop_does_not_call_malloc, parameters_outlive_the_step_that_made_them,
      gradients_above_a_mark_are_forgotten_with_it,
      a_gradient_below_one_mark_and_above_another_goes_with_the_other,
      what_a_failed_backward_has_reached_is_forgotten_too,
      no_gradient_that_can_be_read_lies_in_memory_that_was_rewound,
      a_rewind_costs_what_was_done_since_the_mark, draws_never_repeat_after_a_rewind,
      a_decimal_comma_does_not_show_in_messages, the_version_is_told_at_run_time RELEASE_TESTS,
      draws_follow_from_step_and_micro_batch_alone,
      parameters_that_somebody_else_fills_count_as_drawn,
      a_step_or_micro_batch_beyond_the_draws_is_refused,
      descriptions_are_kept_by_key_and_grow_by_lines, a_pattern_tells_what_its_star_stood_for)
