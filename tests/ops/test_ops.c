/* test_ops.c -- every op that ops.h, attention.h and tangent.h declare has rows in the table of gradient cases. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gradients/cases.h"
#include "tensor/arena.h"
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

/* Takes every `at_tensor *at_NAME(` in turn, or what else declares an op; returns how many there are. */
static int for_each(const char *declares, const char *header, void (*found)(const char *op))
{
    char *text = text_of_file(header);
    ck_assert_msg(text != NULL, "%s can't be read: run the tests at the root of the repository",
                  header);
    int n = 0;
    for (char *at = text; (at = strstr(at, declares));) {
        at += strlen(declares);
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

static int for_each_op(const char *header, void (*found)(const char *op))
{
    return for_each("at_tensor *at_", header, found);
}

/* An op with several results returns whether it succeeded. */
static int for_each_with_several(void (*found)(const char *op))
{
    return for_each("AT_API bool at_", "src/ops/ops.h", found);
}

static void must_have_row(const char *op)
{
    ck_assert_msg(has_row(op), "at_%s has no row in tests/gradients/cases_*.c", op);
}

START_TEST(every_op_has_a_gradient_case)
{
    ck_assert_int_gt(for_each_op("src/ops/ops.h", must_have_row), 40);
    ck_assert_int_eq(for_each_with_several(must_have_row), 1);
    ck_assert_int_eq(for_each_op("src/attention/attention.h", must_have_row), 1);
    ck_assert_int_eq(for_each_op("src/attention/tangent.h", must_have_row), 1);
    must_have_row("linear_attention_causal"); /* variants.h declares compositions as well */
    must_have_row("alibi_row_bias");          /* so does position.h */
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
        for_each_with_several(look_for_wanted);
        for_each_op("src/attention/attention.h", look_for_wanted);
        for_each_op("src/attention/tangent.h", look_for_wanted);
        for_each_op("src/attention/variants.h", look_for_wanted);
        for_each_op("src/attention/position.h", look_for_wanted);
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

/* ------------------------------------------------------------------ out of memory -------------- */

/* The n-th request for memory fails, for n = 1, 2, ... until a small case gets through.  (AddressSanitizer and valgrind watch
 * what becomes of the rest.) */
START_TEST(every_allocation_of_every_op_may_fail)
{
    const at_case *c;
    for (int i = 0; (c = at_case_at(i)); i++) {
        bool through = c->directions || c->drawn;
        for (int n = 1; !through; n++) {
            at_fail_allocation(n);
            at_tape *t = at_open(ATTIC_F32, 1);
            through = case_runs(t, c);
            ck_assert_msg(through || at_error_kind_of(t) == ATTIC_MEMORY_ERROR, "%s %s: %s", c->op,
                          at_case_text(c), at_error(t));
            at_close(t);
            ck_assert_int_lt(n, 1000);
        }
        at_fail_allocation(0);
    }
}
END_TEST

/* ------------------------------------------------------------------ threads -------------------- */

/* The ops whose kernels keep something in scratch memory, forward and backward: the sum of what comes
 * out and of all gradients of x. */
static double ops_with_scratch(at_tape *t)
{
    const at_shape shape = {4, {4, 8, 64, 32}}, row = {1, {32}};
    at_tensor *x = at_variable(t, shape, NULL), *gain = at_variable(t, row, NULL);
    for (int i = 0; i < at_count(shape); i++) at_store(x->dtype, x->data, i, 1 + i % 37 / 37.0);
    for (int i = 0; i < 32; i++) at_store(gain->dtype, gain->data, i, 1 + i / 50.0);
    at_tensor *y = at_rms_norm(t, at_layer_norm(t, x, gain, NULL, 1e-5), gain, 1e-5);
    y = at_linear_attention_causal(t, at_sigmoid(t, y), at_sigmoid(t, x), y);
    y = at_add(t, at_rope(t, y, (at_rope_args){0}), at_sdpa(t, x, y, y, (at_sdpa_args){0}));
    at_backward(t, at_sum(t, at_square(t, y)));
    double sum = 0;
    for (int i = 0; i < at_count(shape); i++) sum += at_element(y, i) + at_grad_element(x, i);
    return sum;
}

static void *change_the_count(void *stop)
{
    for (unsigned i = 1; !*(atomic_bool *)stop; i = i * 5 + 1) at_threads(1 + (int)(i / 8 % 8));
    return NULL;
}

/* AddressSanitizer sees what is written past the end, and so, sooner or later, does the sum. */
START_TEST(a_thread_that_changes_the_count_harms_no_op_that_runs_beside_it)
{
    at_threads(1);
    at_tape *t = at_open(ATTIC_F32, 1);
    const double expected = ops_with_scratch(t);
    at_close(t);
    atomic_bool stop = false;
    pthread_t other;
    ck_assert_int_eq(pthread_create(&other, NULL, change_the_count, &stop), 0);
    for (int i = 0; i < 60; i++) {
        t = at_open(ATTIC_F32, 1);
        ck_assert(ops_with_scratch(t) == expected);
        at_close(t);
    }
    stop = true;
    pthread_join(other, NULL);
    at_threads(0);
}
END_TEST

/* ------------------------------------------------------------------ the stack ------------------ */

#ifdef ATTIC_SLOW_MODE
enum { SMALL_STACK = 1 << 20 }; /* frames of those builds are larger */
#else
enum { SMALL_STACK = 64 << 10 };
#endif

static void *run_every_case(void *failed)
{
    const at_dtype real[ATTIC_NREALS] = {ATTIC_F32, ATTIC_F64, ATTIC_DUAL};
    const at_case *c;
    for (int i = 0; (c = at_case_at(i)) && !*(const char **)failed; i++)
        for (int r = 0; r < ATTIC_NREALS; r++)
            if (at_case_expects(c) != ATTIC_NOT_RUN && *at_case_identities(c, real[r]))
                *(const char **)failed = c->op;
    return NULL;
}

/* Whoever calls an op works on it too, on whatever stack it has. */
START_TEST(every_op_gets_by_on_64_KiB_of_stack)
{
    const char *failed = NULL;
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    size_t size = (size_t)sysconf(_SC_THREAD_STACK_MIN) + SMALL_STACK;
    ck_assert_int_eq(pthread_attr_setstacksize(&attr, size), 0);
    ck_assert_int_eq(pthread_create(&thread, &attr, run_every_case, &failed), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    ck_assert_msg(!failed, "%s", failed);
}
END_TEST

SUITE(ops_ops, every_op_has_a_gradient_case, every_gradient_case_belongs_to_an_op,
      no_gradient_case_is_there_twice, every_case_runs_in_f32_too,
      every_allocation_of_every_op_may_fail,
      a_thread_that_changes_the_count_harms_no_op_that_runs_beside_it,
      every_op_gets_by_on_64_KiB_of_stack)
