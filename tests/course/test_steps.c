/* test_steps.c -- the attention by its eight steps agrees with at_sdpa and with differences. */
#include "attic.h"
#include "attic_op.h"
#include "mistakes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* A random problem with some of the features; every third one has a bias of -INFINITY somewhere. */
static steps *some_problem(int seed)
{
    const mistakes_features with = {.groups = seed & 1,
                                    .softcap = seed >> 1 & 1,
                                    .bias = seed >> 2 & 1,
                                    .mask = seed >> 3 & 1,
                                    .dropout = seed >> 4 & 1,
                                    .weights = seed >> 5 & 1,
                                    .temperature = seed >> 6 & 1,
                                    .most = 8};
    steps *a = mistakes_draw((uint64_t)seed, &with, mistakes_only(MISTAKE_NONE), 0);
    ck_assert_ptr_nonnull(a);
    if (a->p.bias_H > 0 && seed % 3 == 0) a->at[STEPS_BIAS][0] = -(double)INFINITY;
    return a;
}

static at_tensor *variable_of(at_tape *t, const steps *a, steps_name what)
{
    int dim[3];
    steps_dims(a, what, dim);
    return at_variable(t, at_shape_of(1, dim[0], dim[1], dim[2]), a->at[what]);
}

static at_tensor *const_of(at_tape *t, const steps *a, steps_name what)
{
    int dim[3];
    steps_dims(a, what, dim);
    return at_const(t, at_shape_of(1, dim[0], dim[1], dim[2]), a->at[what]);
}

/* z as at_sdpa draws it on a tape with this seed: with scores of 0 its weights are z / N. */
static void use_factors_of_sdpa(steps *a, uint64_t seed)
{
    at_tape *t = at_open(ATTIC_F64, seed);
    at_tensor *A = NULL, *Q = variable_of(t, a, STEPS_Q), *K = variable_of(t, a, STEPS_K);
    memset(Q->data, 0, at_bytes(Q));
    at_sdpa(t, Q, K, variable_of(t, a, STEPS_V),
            (at_sdpa_args){.dropout = a->p.dropout, .weights = &A});
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    for (ptrdiff_t e = 0; e < steps_size(a, STEPS_Z); e++)
        a->at[STEPS_Z][e] = at_element(A, e) > 0 ? 1 / (1 - a->p.dropout) : 0;
    at_close(t);
}

/* What at_sdpa gives, in double, as an answer to judge. */
typedef struct {
    mistakes_answer answer;
    double *memory[STEPS_COUNT];
} sdpa_answer;

static void take(sdpa_answer *s, steps_name what, const at_tensor *x, bool gradient)
{
    ptrdiff_t n = at_count(x->shape);
    double *to = s->memory[what] = malloc((size_t)n * sizeof *to);
    ck_assert_ptr_nonnull(to);
    for (ptrdiff_t e = 0; e < n; e++) to[e] = gradient ? at_grad_element(x, e) : at_element(x, e);
    s->answer.got[what] = to;
}

/* Each element is right to 1e-12 of its terms; if not, the message says which mistakes give this:
 * tests/mutation/run.sh looks for them. */
static void assert_exact(const steps *a, const sdpa_answer *s, at_sdpa_path path)
{
    static const char *const path_name[] = {"fused", "plain", "composed"};
    char names[600] = "";
    mistakes_report r;
    ck_assert(mistakes_judge(a, &s->answer, &r));
    for (int k = 0; k < STEPS_COUNT; k++)
        for (int m = 1; m < MISTAKES; m++)
            if (r.of[k].named.has[m] && strlen(names) < 500)
                snprintf(names + strlen(names), sizeof names - strlen(names), " %s: \"%s\";",
                         steps_texts[k].name, mistakes_texts[m].name);
    for (int k = 0; k < STEPS_COUNT; k++)
        ck_assert_msg(r.of[k].kind <= VERDICT_EXACT, "at_sdpa, %s path, is off by %.2g: %s.%s",
                      path_name[path], r.of[k].error, r.of[k].arithmetic, names);
}

/* Is the mask that of causal, with the last query on the last key? */
static bool is_causal(const steps *a)
{
    for (int i = 0; i < a->p.T; i++)
        for (int j = 0; j < a->p.N; j++)
            if ((*steps_cell(a, STEPS_KEEP, 0, i, j) != 0) != (j <= i + a->p.N - a->p.T))
                return false;
    return true;
}

static at_tensor *keep_of(at_tape *t, const steps *a)
{
    at_tensor *keep = at_bools(t, at_shape_of(a->p.T, a->p.N), NULL);
    for (int i = 0; i < a->p.T; i++)
        for (int j = 0; j < a->p.N; j++) at_set(keep, *steps_cell(a, STEPS_KEEP, 0, i, j), i, j);
    return keep;
}

static void compare_with_sdpa(const steps *a, uint64_t seed, at_sdpa_path path)
{
    at_tape *t = at_open(ATTIC_F64, seed);
    const steps_problem *p = &a->p;
    at_tensor *Q = variable_of(t, a, STEPS_Q), *K = variable_of(t, a, STEPS_K);
    at_tensor *V = variable_of(t, a, STEPS_V), *A = NULL, *P = NULL;
    at_tensor *bias = p->bias_H ? variable_of(t, a, STEPS_BIAS) : NULL;
    at_sdpa_args args = {.scale = p->scale,
                         .temperature = p->temperature,
                         .softcap = p->softcap,
                         .bias = bias,
                         .causal = is_causal(a),
                         .align = ATTIC_ALIGN_BOTTOM_RIGHT,
                         .dropout = p->dropout,
                         .path = path,
                         .probs = &P,
                         .weights = p->weights ? &A : NULL};
    if (!args.causal) args.keep = keep_of(t, a);
    at_tensor *O = at_sdpa(t, Q, K, V, args);
    at_tensor *loss = at_sum(t, at_mul(t, O, const_of(t, a, STEPS_DO)));
    if (A) loss = at_add(t, loss, at_sum(t, at_mul(t, A, const_of(t, a, STEPS_DW))));
    at_backward(t, loss);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    assert_close(at_element(loss, 0), steps_loss(a), 1e-11 * (1 + fabs(steps_loss(a))));

    sdpa_answer s = {.memory = {NULL}};
    take(&s, STEPS_P, P, false);
    take(&s, STEPS_O, O, false);
    take(&s, STEPS_DQ, Q, true);
    take(&s, STEPS_DK, K, true);
    take(&s, STEPS_DV, V, true);
    if (bias) take(&s, STEPS_DBIAS, bias, true);
    assert_exact(a, &s, path);
    for (int k = 0; k < STEPS_COUNT; k++) free(s.memory[k]);
    at_close(t);
}

START_TEST(steps_agree_with_every_path_of_sdpa)
{
    for (int k = 0; k < 384; k++) {
        const int seed = k ^ 32; /* with dW first: without it, some mistakes cannot be told apart */
        steps *a = some_problem(seed);
        if (a->p.dropout > 0) use_factors_of_sdpa(a, (uint64_t)seed);
        steps_forward(a, STEPS_R);
        steps_backward(a);
        compare_with_sdpa(a, (uint64_t)seed, ATTIC_PLAIN);
        compare_with_sdpa(a, (uint64_t)seed, ATTIC_FUSED);
        compare_with_sdpa(a, (uint64_t)seed, ATTIC_COMPOSED);
        steps_close(a);
    }
}
END_TEST

START_TEST(every_gradient_agrees_with_differences)
{
    for (int seed = 0; seed < 128; seed += 15) {
        steps *a = some_problem(seed);
        steps_forward(a, STEPS_R);
        steps_backward(a);
        for (steps_name what = STEPS_DO; what < STEPS_COUNT; what++)
            for (ptrdiff_t e = 0; e < steps_size(a, what); e += 2 + e % 7) {
                double unsure, analytic = a->at[what][e];
                if (steps_texts[what].gradient_of == STEPS_COUNT) continue;
                double n = steps_difference(a, steps_texts[what].gradient_of, e, &unsure);
                ck_assert_double_lt(unsure, 1e-5 * (1 + fabs(n)));
                ck_assert_msg(fabs(n - analytic) <= 1e-8 + unsure,
                              "%s, element %td: %.10g, not %.10g", steps_texts[what].name, e,
                              analytic, n);
            }
        steps_close(a);
    }
}
END_TEST

START_TEST(delta_is_dO_dot_O_plus_A_dot_dW)
{
    steps *a = some_problem(127);
    steps_forward(a, STEPS_R);
    steps_backward(a);
    for (int h = 0; h < a->p.H; h++)
        for (int i = 0; i < a->p.T; i++) {
            double sum = 0;
            for (int d = 0; d < a->p.Dv; d++)
                sum += *steps_cell(a, STEPS_DO, h, i, d) * *steps_cell(a, STEPS_O, h, i, d);
            for (int j = 0; j < a->p.N; j++)
                sum += *steps_cell(a, STEPS_DW, h, i, j) * *steps_cell(a, STEPS_A, h, i, j);
            assert_close(*steps_cell(a, STEPS_DELTA, h, i, 0), sum, 1e-13);
        }
    steps_close(a);
}
END_TEST

START_TEST(what_is_masked_is_not_read)
{
    steps *a = steps_open(&(steps_problem){.H = 1, .G = 1, .T = 2, .N = 2, .D = 1, .Dv = 1});
    for (int i = 0; i < 2; i++)
        *steps_cell(a, STEPS_KEEP, 0, i, 1) = 0; /* nobody attends to key 1 */
    *steps_cell(a, STEPS_KEEP, 0, 1, 0) = 0;     /* row 1 attends to none */
    a->at[STEPS_K][1] = a->at[STEPS_V][1] = a->at[STEPS_Q][1] = (double)NAN;
    a->at[STEPS_V][0] = 3, a->at[STEPS_DO][0] = 2, a->at[STEPS_DO][1] = 5;
    steps_forward(a, STEPS_R);
    steps_backward(a);
    assert_all_close(2, a->at[STEPS_O], ((double[]){3, 0}), 0);
    assert_all_close(2, a->at[STEPS_DV], ((double[]){2, 0}), 0);
    assert_all_close(2, a->at[STEPS_DQ], ((double[]){0, 0}), 0);
    assert_all_close(4, a->at[STEPS_DA], ((double[]){6, 0, 0, 0}), 0);
    assert_close(steps_loss(a), 6, 0);
    steps_close(a);
}
END_TEST

START_TEST(every_quantity_has_a_text)
{
    for (int k = 0; k < STEPS_COUNT; k++) {
        ck_assert_ptr_nonnull(steps_texts[k].name);
        ck_assert_ptr_nonnull(steps_texts[k].formula);
        ck_assert_msg(steps_texts[k].sentence[strlen(steps_texts[k].sentence) - 1] == '.',
                      "%s: no sentence", steps_texts[k].name);
        for (int other = 0; other < k; other++)
            ck_assert_str_ne(steps_texts[k].name, steps_texts[other].name);
    }
}
END_TEST

SUITE(course_steps, steps_agree_with_every_path_of_sdpa, every_gradient_agrees_with_differences,
      delta_is_dO_dot_O_plus_A_dot_dW, what_is_masked_is_not_read, every_quantity_has_a_text)
