/* test_ops.c -- every op that ops.h and sdpa.h declare has rows in the table of gradient cases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradcheck/cases.h"
#include "test.h"

/* ------------------------------------------------------------------ what is declared ------------ */

static bool has_row(const char *op)
{
    const at_case *c;
    for (int i = 0; (c = at_case_at(i)); i++)
        if (strcmp(c->op, op) == 0) return true;
    return false;
}

/* The whole file, or NULL; the caller frees it. */
static char *text_of_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 18);
    if (file && text) ck_assert_uint_lt(fread(text, 1, (1 << 18) - 1, file), (1 << 18) - 1);
    if (file) fclose(file);
    if (file) return text;
    free(text);
    return NULL;
}

/* Takes every `at_tensor *at_NAME(` in turn; returns how many there are. */
static int for_each_op(const char *header, void (*found)(const char *op))
{
    static const char declares[] = "at_tensor *at_";
    char *text = text_of_file(header);
    ck_assert_msg(text != NULL, "%s can't be read: run the tests at the root of the repository",
                  header);
    int n = 0;
    for (char *at = text; (at = strstr(at, declares));) {
        at += sizeof declares - 1;
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
        if (at[length] != '(') continue;
        char op[64] = "";
        memcpy(op, at, length < sizeof op ? length : sizeof op - 1);
        found(op);
        n++;
    }
    free(text);
    return n;
}

static void must_have_row(const char *op)
{
    ck_assert_msg(has_row(op), "at_%s has no row in tests/gradcheck/cases_*.c", op);
}

START_TEST(every_op_has_a_gradient_case)
{
    ck_assert_int_gt(for_each_op("src/ops/ops.h", must_have_row), 40);
    ck_assert_int_eq(for_each_op("src/ops/sdpa.h", must_have_row), 1);
}
END_TEST

static const char *wanted;
static bool was_found;
static void look_for_wanted(const char *op)
{
    if (strcmp(op, wanted) == 0) was_found = true;
}

START_TEST(every_gradient_case_belongs_to_an_op)
{
    const at_case *c;
    for (int i = 0; (c = at_case_at(i)); i++) {
        wanted = c->op;
        was_found = false;
        for_each_op("src/ops/ops.h", look_for_wanted);
        for_each_op("src/ops/sdpa.h", look_for_wanted);
        ck_assert_msg(was_found, "case %d is about at_%s, which is not declared", i, c->op);
    }
}
END_TEST

START_TEST(no_gradient_case_is_there_twice)
{
    const at_case *a, *b;
    for (int i = 0; (a = at_case_at(i)); i++)
        for (int j = 0; j < i && (b = at_case_at(j)); j++)
            ck_assert_msg(strcmp(a->op, b->op) || a->f != b->f || a->seed != b->seed ||
                              strcmp(at_case_text(a), at_case_text(b)),
                          "%s %s is there twice", a->op, at_case_text(a));
}
END_TEST

/* ------------------------------------------------------------------ what is run ---------------- */

/* The function of c, forward and backward.  True if it ran. */
static bool case_runs(at_tape *t, const at_case *c)
{
    at_tensor *in[AT_MAX_CASE_INPUTS];
    if (at_case_inputs(t, c, in) < 0) return false;
    at_tensor *y = c->f(t, in, c->ctx);
    at_tensor *dy = y && y->wants_grad ? at_const(t, y->shape, NULL) : NULL;
    return dy ? at_backward_from(t, y, dy) : y != NULL;
}

START_TEST(every_case_runs_in_f32_too)
{
    const at_case *c;
    for (int i = 0; (c = at_case_at(i)); i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        ck_assert_msg(case_runs(t, c), "%s %s: %s", c->op, at_case_text(c), at_error(t));
        at_close(t);
    }
}
END_TEST

SUITE(ops_ops, every_op_has_a_gradient_case, every_gradient_case_belongs_to_an_op,
      no_gradient_case_is_there_twice, every_case_runs_in_f32_too)
