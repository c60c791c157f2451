/* test_profile.c -- what a profile says about time and memory, and that it changes nothing.
 *
 * The clock of these tests goes on by 1000 ns whenever it is read: so a forward takes 1 us, and so
 * do a backward, a region and what lies between two of them that are not of one sweep. */
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "autograd/state.h"
#include "kernels/parallel.h"
#include "system/system.h"
#include "tensors.h"

static int64_t reading;

static int64_t ticking(void)
{
    return reading += 1000;
}

static int64_t no_clock(void)
{
    return 0;
}

static at_tape *open_profiled(at_dtype real)
{
    at_tape *t = at_open(real, 1);
    at_profile(t, true);
    at_profile_clock(t, ticking);
    return t;
}

static const char *profile_of(at_tape *t)
{
    static char text[20000];
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text, "w");
    at_profile_print(t, f);
    fclose(f);
    return text;
}

typedef struct { /* a line of a table; NAN: "-" */
    double calls, ms, share, us, gflops, kib, mib;
} numbers;

static double next_number(const char **at)
{
    *at += strspn(*at, " ");
    bool none = (*at)[0] == '-' && ((*at)[1] == ' ' || (*at)[1] == '\n');
    char *end;
    double x = none ? (double)NAN : strtod(*at, &end);
    *at = none ? *at + 1 : end;
    *at += strspn(*at, " ");
    *at += **at == '%';
    return x;
}

/* The first line that begins with the name and, after spaces, the direction. */
static numbers line_of(at_tape *t, const char *name, const char *direction)
{
    for (const char *line = profile_of(t); line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + strlen(name);
        if (strncmp(line, name, strlen(name)) != 0 || *at != ' ') continue;
        at += strspn(at, " ");
        if (strncmp(at, direction, strlen(direction)) != 0) continue;
        at += strlen(direction);
        numbers x;
        x.calls = next_number(&at), x.ms = next_number(&at), x.share = next_number(&at);
        x.us = next_number(&at), x.gflops = next_number(&at), x.kib = next_number(&at);
        x.mib = next_number(&at);
        return x;
    }
    ck_abort_msg("no line of %s %s in\n%s", name, direction, profile_of(t));
    return (numbers){0};
}

START_TEST(a_profile_is_three_tables)
{
    at_tape *t = open_profiled(ATTIC_F32);
    at_scope(t, "layer");
    at_tensor *W = at_param(t, "W", at_shape_of(64, 64), at_ones());
    at_tensor *x = at_const(t, at_shape_of(64, 64), NULL);
    at_profile_reset(t);
    at_tensor *y = at_matmul(t, x, W);
    at_scope_end(t);
    ck_assert(at_backward(t, at_mean(t, y)));
    const char *const lines[] = {
        /* the beginnings: how large a node is is none of our business */
        " (f32, seed 1)\n\n"
        "op             direction    calls     time ms   share    us/call  GFLOP/s  KiB/call",
        "\nmean           forward          1       0.001  16.7 %       1.00        -  ",
        "\nmean           backward         1       0.001  16.7 %       1.00        -      16.0",
        "\nmatmul         forward          1       0.001  16.7 %       1.00    524.3  ",
        "\nmatmul         backward         1       0.001  16.7 %       1.00    524.3       0.0     "
        "0.000",
        "\nall else                        -       0.002  33.3 %          -        -         -     "
        "0.016",
        "\ntotal                           4       0.006 100.0 %          -    174.8         -  ",
        "\n\nscope          direction    calls     time ms   share    us/call  GFLOP/s  KiB/call",
        "\nlayer          forward          1       0.001  16.7 %       1.00    524.3  "};
    const char *text = profile_of(t), *memory = strstr(text, "\nmemory");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ck_assert_msg(strstr(text, lines[i]), "no %s in %s", lines[i], text);
        text = strstr(text, lines[i]);
    }
    const char *const holders[] = {"parameters                           0.016\n",
                                   "gradients of parameters              0.016\n",
                                   "states of parameters (optimizer)     0.000\n",
                                   "all else until at_close",
                                   "scratch memory of ops",
                                   "steps at their peak                  0.0",
                                   "total"};
    for (size_t i = 0; i < sizeof holders / sizeof *holders; i++) {
        ck_assert_msg(strstr(memory, holders[i]), "no %s in %s", holders[i], memory);
        memory = strstr(memory, holders[i]);
    }
    at_close(t);
}
END_TEST

START_TEST(all_times_add_up_from_the_first_op_to_the_last)
{
    at_tape *t = open_profiled(ATTIC_F64);
    at_tensor *x = at_variable(t, at_shape_of(3), NULL), *y = x;
    at_profile_reset(t);
    reading = 0;
    for (int i = 0; i < 4; i++) y = at_exp(t, y);
    ck_assert(at_backward(t, at_sum(t, y)));
    ck_assert_int_eq(reading, 16000); /* 5 forwards, each read twice, and the sweep of 5 */
    numbers exp = line_of(t, "exp", "forward"), back = line_of(t, "exp", "backward");
    numbers outside = line_of(t, "all else", ""), total = line_of(t, "total", "");
    ck_assert(exp.calls == 4 && exp.ms == 0.004 && exp.us == 1);
    ck_assert(back.calls == 4 && back.ms == 0.004);
    ck_assert(outside.ms == 0.005);
    ck_assert(total.calls == 10 && total.ms == 0.015 && total.share == 100);
    at_close(t);
}
END_TEST

START_TEST(what_is_not_profiled_is_no_time_at_all)
{
    at_tape *t = open_profiled(ATTIC_F64);
    at_tensor *x = at_variable(t, at_shape_of(3), NULL);
    at_profile_reset(t);
    at_tensor *y = at_exp(t, x);
    ck_assert(at_profile(t, false));
    reading += 1000000;
    y = at_exp(t, y);
    ck_assert(!at_profile(t, true));
    at_backward(t, at_sum(t, y)); /* through ops that were recorded without it as well */
    ck_assert(line_of(t, "exp", "forward").calls == 1);
    ck_assert(line_of(t, "exp", "backward").calls == 2);
    ck_assert(line_of(t, "all else", "").ms == 0.001);
    ck_assert(at_profile(t, true)); /* it is on already, so the time goes on */
    at_exp(t, x);
    ck_assert(line_of(t, "all else", "").ms == 0.002);
    at_close(t);
}
END_TEST

START_TEST(what_is_no_op_has_lines_of_its_own)
{
    at_tape *t = open_profiled(ATTIC_F32);
    at_tensor *W = at_param(t, "W", at_shape_of(3), at_ones());
    at_data *d = at_data_ids(t, (int32_t[]){0, 1, 0, 1, 1}, 5, (at_data_args){.vocab = 2});
    at_mark step = at_mark_here(t);
    at_profile_reset(t);
    at_data_batch(t, d, (at_batch_args){.rows = 2, .length = 2});
    at_backward(t, at_sum(t, W));
    at_clip_grad_norm(t, 1);
    at_adamw(t, 0.1, (at_adamw_args){0});
    at_ema(t, 0.9, (at_names){0});
    at_ema_swap(t);
    at_rewind(t, step);
    const char *const region[] = {"data_batch", "clip_grad_norm", "adamw",
                                  "ema",        "ema_swap",       "rewind"};
    for (int i = 0; i < 6; i++) {
        numbers w = line_of(t, region[i], "");
        ck_assert_msg(w.calls == 1 && w.ms == 0.001 && w.us == 1, "%s: %g", region[i], w.ms);
        ck_assert(isnan(w.gflops) && isnan(w.kib) && w.mib == 0);
    }
    ck_assert(line_of(t, "all else", "").ms == 0.007);
    ck_assert(line_of(t, "total", "").ms == 0.015 && line_of(t, "total", "").calls == 2);
    at_close(t);
}
END_TEST

static at_tensor *exp_of(at_tape *t, at_tensor **in, void *scope)
{
    at_scope(t, scope);
    at_tensor *y = at_exp(t, in[0]);
    at_scope_end(t);
    return y;
}

/* enter | jvp | exp | jvp | leave: the time of exp is not that of jvp. */
START_TEST(ops_within_a_work_have_their_own_time)
{
    at_tape *t = open_profiled(ATTIC_F64);
    at_tensor *x = at_variable(t, at_shape_of(3), NULL), *Jv;
    at_profile_reset(t);
    ck_assert_ptr_nonnull(at_jvp(t, exp_of, &x, &x, 1, "f", &Jv));
    ck_assert(line_of(t, "exp", "forward").ms == 0.001);
    ck_assert(line_of(t, "leaves", "").ms == 0.001); /* Jv */
    ck_assert(line_of(t, "jvp", "").calls == 1 && line_of(t, "jvp", "").ms == 0.003);
    ck_assert(line_of(t, "all else", "").ms == 0);
    const char *scopes = strstr(profile_of(t), "\nscope");
    ck_assert_ptr_null(strstr(scopes, "jvp"));
    ck_assert_ptr_nonnull(strstr(scopes, "all else                        -       0.004 "));
    at_close(t);
}
END_TEST

static at_tensor *switched_off(at_tape *t, at_tensor **in, void *on)
{
    at_profile(t, on != NULL);
    return at_exp(t, in[0]);
}

START_TEST(a_profile_may_be_switched_within_a_work)
{
    at_tape *t = open_profiled(ATTIC_F64);
    at_tensor *x = at_variable(t, at_shape_of(3), NULL), *Jv;
    at_profile_reset(t);
    ck_assert_ptr_nonnull(at_jvp(t, switched_off, &x, &x, 1, NULL, &Jv));
    at_exp(t, x);
    ck_assert(!at_profile(t, true));
    at_exp(t, x);
    ck_assert(line_of(t, "exp", "forward").calls == 1);
    ck_assert(line_of(t, "jvp", "").calls == 1 && line_of(t, "jvp", "").ms == 0);
    ck_assert(at_profile(t, false));
    ck_assert_ptr_nonnull(at_jvp(t, switched_off, &x, &x, 1, t, &Jv));
    ck_assert(line_of(t, "exp", "forward").calls == 2);
    ck_assert(line_of(t, "all else", "").ms ==
              0.002); /* of the second jvp, which began unmeasured */
    at_close(t);
}
END_TEST

static int64_t standing(void)
{
    return reading;
}

static void takes_7_us(at_node *n)
{
    (void)n;
    reading += 7000;
}

static const at_op slow = {.name = "slow", .forward = {takes_7_us, takes_7_us}};

/* A tape whose clock stands still but for its op `slow`. */
static at_tape *open_still(at_tensor **x)
{
    at_tape *t = open_profiled(ATTIC_F32);
    at_profile_clock(t, standing);
    *x = at_const(t, at_shape_of(2), NULL);
    at_profile_reset(t);
    return t;
}

START_TEST(the_time_of_another_tape_is_in_its_table_alone)
{
    at_tensor *x, *y;
    at_tape *t = open_still(&x), *u = open_still(&y);
    for (int i = 0; i < 3; i++) {
        at_record(t, &slow, AT_IN(x), x->shape, NULL, 0);
        at_record(u, &slow, AT_IN(y), y->shape, NULL, 0);
        reading += 1000; /* the program itself */
    }
    at_rewind(t, at_mark_here(t));
    ck_assert(line_of(t, "slow", "forward").ms == 0.021);
    ck_assert(line_of(u, "slow", "forward").ms == 0.021);
    ck_assert(line_of(t, "all else", "").ms == 0.003);
    ck_assert(line_of(u, "all else", "").ms == 0.002); /* before its last op */
    at_close(t);
    at_close(u);
}
END_TEST

static void *in_a_thread(void *x)
{
    return at_record(((at_tensor *)x)->tape, &slow, AT_IN(x), ((at_tensor *)x)->shape, NULL, 0);
}

START_TEST(a_tape_that_changes_its_thread_takes_nothing_off)
{
    at_tensor *x, *y;
    at_tape *t = open_still(&x), *u = open_still(&y);
    pthread_t thread;
    at_record(u, &slow, AT_IN(y), y->shape, NULL, 0);
    at_record(t, &slow, AT_IN(x), x->shape, NULL, 0);
    reading += 1000;
    ck_assert_int_eq(pthread_create(&thread, NULL, in_a_thread, x), 0);
    pthread_join(thread, NULL);
    ck_assert(line_of(t, "slow", "forward").ms == 0.014);
    ck_assert(line_of(t, "all else", "").ms == 0.001);
    at_close(t);
    at_close(u);
}
END_TEST

START_TEST(tapes_are_numbered_and_may_have_a_name)
{
    int first = 0, second = 0, n = 0;
    at_tape *t = open_profiled(ATTIC_F32), *u = open_profiled(ATTIC_F64);
    at_variable(u, at_shape_of(2), NULL); /* which makes it the first one that is measured */
    at_exp(t, at_variable(t, at_shape_of(2), NULL));
    at_exp(u, at_variable(u, at_shape_of(2), NULL));
    at_describe(u, "tape", "teacher\x1b");
    ck_assert_int_eq(sscanf(profile_of(t), "profile of tape %d (f32, seed 1)%n", &second, &n), 1);
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(sscanf(profile_of(u), "profile of tape %d, teacher\\x1B (f64%n", &first, &n),
                     1);
    ck_assert_int_eq(second, first + 1);
    at_close(t);
    at_close(u);
}
END_TEST

START_TEST(a_reset_forgets_what_was_measured)
{
    at_tape *t = open_profiled(ATTIC_F64);
    at_tensor *x = at_variable(t, at_shape_of(3), NULL);
    at_mark step = at_mark_here(t);
    at_exp(t, at_random(t, at_shape_of(100000), at_uniform(1)));
    at_rewind(t, step);
    at_profile_reset(t);
    reading += 1000000;
    at_tensor *y = at_log(t, x);
    at_exp(t, y);
    ck_assert_ptr_null(strstr(profile_of(t), "backward"));
    ck_assert(line_of(t, "exp", "forward").calls == 1);
    ck_assert(line_of(t, "total", "").ms == 0.003);
    ck_assert(line_of(t, "total", "").mib < 0.01);
    at_profile_reset(t);
    ck_assert_ptr_null(strstr(profile_of(t), "exp"));
    at_close(t);
}
END_TEST

/* 1 GFLOP/s is 1000 of them in the 1000 ns that each op takes. */
START_TEST(products_are_counted_where_they_are_made)
{
    at_tape *t = open_profiled(ATTIC_F64);
    at_tensor *x = at_variable(t, at_shape_of(4, 5, 10), NULL), *c = at_const(t, x->shape, NULL);
    at_tensor *W = at_variable(t, at_shape_of(10, 20), NULL);
    at_tensor *A = at_affine(t, x, W, NULL), *V = at_affine(t, c, W, NULL);
    ck_assert(line_of(t, "affine", "forward").gflops == 8); /* 2 x 20 x 10 x 20 */
    at_backward_from(t, A, A);
    ck_assert(line_of(t, "affine", "backward").gflops == 16); /* dX and dW */
    at_backward_from(t, V, V);
    ck_assert(line_of(t, "affine", "backward").gflops == 12); /* on average: here dW alone */

    at_tensor *M = at_matmul_t(t, x, false, x, true); /* four of [5,10] [10,5] */
    at_backward_from(t, M, M);
    ck_assert(line_of(t, "matmul", "forward").gflops == 2);
    ck_assert(line_of(t, "matmul", "backward").gflops == 4);

    at_tensor *O = at_sdpa(t, x, x, x, (at_sdpa_args){.causal = true});
    at_backward_from(t, O, O); /* 4 x 15 pairs of a row and a key, of 10 numbers each */
    ck_assert(line_of(t, "sdpa", "forward").gflops == 2.4);
    ck_assert(line_of(t, "sdpa", "backward").gflops == 6);
    at_tensor *Q = at_sdpa(t, x, c, c, (at_sdpa_args){.causal = true});
    at_backward_from(t, Q, Q); /* dQ, but not dK and dV: 3 of 5 products */
    assert_close(line_of(t, "sdpa", "backward").gflops, (6 + 3.6) / 2, 1e-9);

    at_tensor *L = at_linear_attention_causal(t, x, x, x);
    ck_assert(L && line_of(t, "linear_attention_causal", "forward").gflops == 8.8);
    at_exp(t, x);
    ck_assert(isnan(line_of(t, "exp", "forward").gflops));

    at_profile_reset(t);
    at_tensor *U = at_variable(t, at_shape_of(20, 10), NULL);
    at_tensor *Y = at_affine(t, at_affine(t, x, W, NULL), U, NULL);
    at_backward_from(t, Y, Y); /* one after the other: 16 and 16 */
    ck_assert(line_of(t, "affine", "backward").gflops == 16);
    at_close(t);
}
END_TEST

START_TEST(each_scope_has_its_own_time)
{
    at_tape *t = open_profiled(ATTIC_F64);
    at_tensor *x = at_variable(t, at_shape_of(3), NULL);
    at_scope(t, "block0");
    at_scope(t, "attention");
    x = at_exp(t, at_exp(t, x));
    at_scope_end(t);
    x = at_log(t, x);
    at_scope_end(t);
    at_backward(t, at_sum(t, x));
    ck_assert(line_of(t, "block0.attention", "forward").calls == 2);
    ck_assert(line_of(t, "block0.attention", "backward").ms == 0.002);
    ck_assert(line_of(t, "block0", "forward").calls == 1);
    ck_assert(line_of(t, "(no scope)", "backward").calls == 1);
    const char *scopes = strstr(profile_of(t), "\nscope");
    ck_assert_ptr_nonnull(strstr(scopes, "all else "));
    at_close(t);

    t = open_profiled(ATTIC_F64);
    at_exp(t, at_variable(t, at_shape_of(3), NULL));
    ck_assert_ptr_null(strstr(profile_of(t), "scope"));
    at_close(t);
}
END_TEST

static double mib(const char *text)
{
    return strtod(text + strcspn(text, "\n") - 9, NULL);
}

/* Steps of 1, 4 and 2 MiB of values, and as much of gradients: the largest one counts. */
START_TEST(memory_is_that_of_the_largest_step)
{
    at_tape *t = open_profiled(ATTIC_F64);
    const int size[] = {1 << 16, 1 << 18, 1 << 17};
    at_mark step = at_mark_here(t);
    for (int i = 0; i < 3; i++) {
        at_tensor *x = at_variable(t, at_shape_of(size[i]), NULL);
        at_tensor *y = i == 1 ? at_exp(t, at_exp(t, x)) : at_log(t, x);
        at_backward(t, at_sum(t, y));
        at_rewind(t, step);
    }
    numbers forward = line_of(t, "exp", "forward"), total = line_of(t, "total", "");
    ck_assert(forward.calls == 2 && forward.mib >= 4 && forward.mib < 4.01);
    ck_assert(forward.kib >= 2048 && forward.kib < 2053);
    ck_assert(line_of(t, "exp", "backward").mib == 2); /* that of x was there before */
    ck_assert(line_of(t, "sum", "backward").mib == 2);
    ck_assert(line_of(t, "log", "forward").mib == 0);
    ck_assert(line_of(t, "all else", "").mib >= 4); /* x */
    const double peak = (double)at_memory_of(t).step_peak / (1 << 20);
    assert_close(total.mib, peak, 0.0006);
    assert_close(mib(strstr(profile_of(t), "steps at their peak")), peak, 0.0006);
    at_close(t);
}
END_TEST

START_TEST(what_an_inner_rewind_takes_is_held_no_longer)
{
    at_tape *t = open_profiled(ATTIC_F64);
    at_tensor *x = at_variable(t, at_shape_of(1 << 14), NULL), *y = at_exp(t, at_exp(t, x));
    at_mark inner = at_mark_here(t);
    at_backward_from(t, y, y); /* its gradients go with the mark */
    at_profile_reset(t);
    at_rewind(t, inner);
    at_profile_reset(t);
    at_exp(t, x);
    ck_assert(line_of(t, "exp", "forward").mib >= 0.375);
    ck_assert(line_of(t, "all else", "").mib >= 0.25);
    ck_assert(line_of(t, "total", "").mib < 0.64);
    at_close(t);
}
END_TEST

START_TEST(the_memory_of_parameters_adds_up)
{
    at_tape *t = open_profiled(ATTIC_F32);
    at_tensor *W = at_param(t, "W", at_shape_of(512, 512), at_ones());
    at_backward(t, at_mean(t, W));
    at_adamw(t, 0.1, (at_adamw_args){0});
    const char *memory = strstr(profile_of(t), "\nmemory");
    ck_assert(mib(strstr(memory, "\nparameters") + 1) == 1);
    ck_assert(mib(strstr(memory, "\ngradients of parameters") + 1) == 1);
    ck_assert(mib(strstr(memory, "\nstates of parameters") + 1) == 2);
    const char *const rest[] = {"\nall else", "\nscratch", "\nsteps"};
    double sum = 4;
    for (int i = 0; i < 3; i++) sum += mib(strstr(memory, rest[i]) + 1);
    assert_close(mib(strstr(memory, "\ntotal") + 1), sum, 0.0021);
    at_close(t);
}
END_TEST

/* Some steps of a model with dropout; its parameters are copied to the result. */
static at_tensor *trained(at_tape *t, bool profiled)
{
    at_model *m = at_model_make(
        t, (at_model_config){
               .vocab = 5, .context = 4, .layers = 1, .heads = 2, .dim = 4, .dropout = 0.1});
    at_reuse_memory(t, true);
    at_mark step = at_mark_here(t);
    for (int i = 0; i < 3; i++) {
        at_profile(t, profiled && i != 1);
        at_tensor *ids = at_ints(t, at_shape_of(2, 4), (int32_t[]){0, 1, 2, 3, 4, 3, 2, 1});
        at_tensor *logits = at_model_logits(t, m, ids, (at_model_args){0});
        at_backward(t, at_cross_entropy(t, logits, ids, (at_cross_entropy_args){0}));
        at_adamw(t, 0.01, (at_adamw_args){0});
        at_rewind(t, step);
    }
    return at_param_at(t, 0);
}

START_TEST(a_profile_changes_no_bit)
{
    at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 1);
    ck_assert(equal_bits(trained(t, true), trained(u, false)));
    for (int i = 0; i < at_param_count(t); i++)
        ck_assert(equal_bits(at_param_at(t, i), at_param_at(u, i)));
    ck_assert(*at_draw_count(t) == *at_draw_count(u));
    ck_assert(at_ok(t) && at_ok(u));
    at_close(t);
    at_close(u);
}
END_TEST

START_TEST(every_allocation_may_fail_while_it_measures)
{
    bool through = false;
    for (ptrdiff_t n = 1; !through; n++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        at_fail_allocation(n);
        at_profile(t, true);
        trained(t, true);
        at_fail_allocation(0);
        through = at_ok(t);
        ck_assert(through || at_error_kind_of(t) == ATTIC_MEMORY_ERROR);
        ck_assert(strlen(profile_of(t)) > 0); /* on a failed tape, too */
        ck_assert_int_lt(n, 100000);
        at_close(t);
    }
}
END_TEST

START_TEST(a_replay_counts_as_forwards)
{
    at_tape *t = open_profiled(ATTIC_F64);
    at_exp(t, at_variable(t, at_shape_of(3), NULL));
    double held = line_of(t, "total", "").mib;
    ck_assert(at_replay(t));
    ck_assert(line_of(t, "exp", "forward").calls == 2);
    ck_assert(line_of(t, "total", "").mib == held);
    at_close(t);
}
END_TEST

START_TEST(its_milliseconds_are_those_of_the_clock)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_profile(t, true);
    at_tensor *x = at_variable(t, at_shape_of(4), NULL);
    const int64_t began = at_now_ns();
    at_exp(t, x);
    const int64_t outside_from = at_now_ns(); /* the first exp may take long, under QEMU say */
    while (at_now_ns() < outside_from + 20000000) {
    }
    at_exp(t, x);
    double all = line_of(t, "total", "").ms, outside = line_of(t, "all else", "").ms;
    double longest = (double)(at_now_ns() - began) * 1e-6;
    ck_assert_msg(outside > 10 && all >= outside && all < 1.02 * longest,
                  "%g ms, of them %g outside, in %g", all, outside, longest);
    at_close(t);
}
END_TEST

static void does_nothing(at_node *n)
{
    (void)n;
}

/* Lines of ops are found by the addresses of the names; these two have the same place. */
START_TEST(ops_of_other_names_have_other_lines_wherever_their_names_lie)
{
    static char name[2][512] = {"one", "two"};
    const at_op one = {.name = name[0], .forward = {does_nothing, does_nothing}};
    const at_op two = {.name = name[1], .forward = {does_nothing, does_nothing}};
    at_tape *t = open_profiled(ATTIC_F32);
    at_tensor *x = at_const(t, at_shape_of(2), NULL);
    for (int i = 0; i < 6; i++) at_record(t, i % 3 ? &one : &two, AT_IN(x), x->shape, NULL, 0);
    ck_assert_double_eq(line_of(t, "one", "forward").calls, 4);
    ck_assert_double_eq(line_of(t, "two", "forward").calls, 2);
    at_close(t);
}
END_TEST

START_TEST(without_a_clock_calls_and_memory_are_told)
{
    at_tape *t = open_profiled(ATTIC_F64);
    at_profile_clock(t, no_clock);
    at_tensor *x = at_variable(t, at_shape_of(8, 8), NULL);
    at_matmul(t, x, x);
    numbers matmul = line_of(t, "matmul", "forward");
    ck_assert(matmul.calls == 1 && matmul.ms == 0 && matmul.kib > 0.5);
    ck_assert(isnan(matmul.share) && isnan(matmul.gflops));
    at_close(t);
}
END_TEST

START_TEST(what_cannot_be_printed_is_an_error_or_a_line)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const char nothing[] =
        "profile: no op has run while it was on (at_profile, or ATTIC_PROFILE=1)\n";
    ck_assert_str_eq(profile_of(t), nothing);
    at_profile_reset(t);
    at_profile(t, true);
    ck_assert_str_eq(profile_of(t), nothing);
    at_profile_print(t, NULL);
    assert_error(t, "profile_print: there is no file to print to");
    at_close(t);
    ck_assert(!at_profile(NULL, true));
    at_profile_reset(NULL);
    at_profile_print(NULL, stderr);
    at_profile_print(NULL, NULL);
}
END_TEST

START_TEST(a_profile_is_the_same_in_every_locale)
{
    at_tape *t = open_profiled(ATTIC_F64);
    at_exp(t, at_const(t, at_shape_of(3), NULL));
    use_decimal_comma();
    ck_assert_ptr_nonnull(strstr(profile_of(t), " 100.0 % "));
    setlocale(LC_NUMERIC, "C");
    at_close(t);
}
END_TEST

/* What a tape writes to stderr when it is closed, after an op if it has one. */
static const char *said_at_close(const char *asked, bool op)
{
    static char text[5000];
    memset(text, 0, sizeof text);
    setenv("ATTIC_PROFILE", asked, 1);
    FILE *f = tmpfile();
    int before = dup(STDERR_FILENO);
    dup2(fileno(f), STDERR_FILENO);
    at_tape *t = at_open(ATTIC_F32, 7);
    at_tensor *x = at_variable(t, at_shape_of(3), NULL), *Hv;
    if (op) at_hvp(t, at_sum(t, at_exp(t, x)), &x, &x, 1, &x, 1, &Hv);
    at_close(t);
    unsetenv("ATTIC_PROFILE");
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

START_TEST(wake_ups_of_threads_are_counted)
{
    at_tape *t = open_profiled(ATTIC_F32);
    at_tensor *small = at_const(t, at_shape_of(64), NULL);
    at_tensor *large = at_const(t, at_shape_of(1 << 20), NULL);
    at_mark start = at_mark_here(t);
    char line[64];
    at_threads(2);
    at_exp(t, large); /* starts the helper */
    at_profile_reset(t);
    ck_assert_ptr_nonnull(strstr(profile_of(t), "\nwake-ups of threads: 0, - per rewind\n"));
    const int before = at_wake_ups();
    int steps = 0;
    for (; at_wake_ups() == before && steps < 100; steps++) {
        usleep(20000); /* long enough for the helper to fall asleep */
        at_exp(t, small);
        ck_assert_int_eq(at_wake_ups(), before);
        at_exp(t, large);
        at_rewind(t, start);
    }
    snprintf(line, sizeof line, "\nwake-ups of threads: 1, %.2f per rewind\n", 1.0 / steps);
    ck_assert_ptr_nonnull(strstr(profile_of(t), line));
    at_threads(1);
    at_close(t);
}
END_TEST

START_TEST(the_environment_asks_for_it)
{
    const char *said = said_at_close("1", true);
    ck_assert_ptr_eq(strstr(said, "profile of tape "), said);
    ck_assert_ptr_nonnull(strstr(said, " (f32, seed 7)\n\nop "));
    ck_assert_msg(!strstr(said + 1, "profile of tape"), "at_hvp's own tape says nothing");
    ck_assert_ptr_nonnull(strstr(said, "\nhvp "));
    ck_assert_str_eq(said_at_close("1", false), "");
    ck_assert_str_eq(said_at_close("0", true), "");
    ck_assert_str_eq(said_at_close("", true), "");
}
END_TEST

SUITE(autograd_profile, what_is_no_op_has_lines_of_its_own, ops_within_a_work_have_their_own_time,
      a_profile_may_be_switched_within_a_work, the_time_of_another_tape_is_in_its_table_alone,
      a_tape_that_changes_its_thread_takes_nothing_off, tapes_are_numbered_and_may_have_a_name,
      a_profile_is_three_tables, all_times_add_up_from_the_first_op_to_the_last,
      what_is_not_profiled_is_no_time_at_all, a_reset_forgets_what_was_measured,
      products_are_counted_where_they_are_made, each_scope_has_its_own_time,
      memory_is_that_of_the_largest_step, what_an_inner_rewind_takes_is_held_no_longer,
      the_memory_of_parameters_adds_up, a_profile_changes_no_bit,
      every_allocation_may_fail_while_it_measures, a_replay_counts_as_forwards,
      its_milliseconds_are_those_of_the_clock,
      ops_of_other_names_have_other_lines_wherever_their_names_lie,
      without_a_clock_calls_and_memory_are_told, what_cannot_be_printed_is_an_error_or_a_line,
      a_profile_is_the_same_in_every_locale, wake_ups_of_threads_are_counted,
      the_environment_asks_for_it)
