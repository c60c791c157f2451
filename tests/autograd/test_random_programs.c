/* test_random_programs.c -- programs drawn at random: no correct backward is called wrong by either witness of a
 * gradient check, nor a second derivative.
 *
 *     ATTIC_PROGRAMS=10000 CK_DEFAULT_TIMEOUT=0 make test SUITE=autograd_random_programs
 *
 * draws so many, and says how they went. */
#include <stdio.h>
#include <stdlib.h>

#include "attic_op.h"
#include "common/options.h"
#include "test.h"

enum { MOST_OPS = 8, INPUTS = 3, FIRST = 1001 }; /* from there on a few are hard in 1000 */

typedef struct {
    uint64_t seed;
    char text[400]; /* what was drawn */
} program;

static int draw(const program *p, int step, int what, int n)
{
    at_stream s = {p->seed, 1000 + (uint64_t)step};
    return (int)(at_random_unit(s, (uint64_t)what) * n);
}

typedef at_tensor *an_op(at_tape *t, at_tensor *x, at_tensor *y, at_tensor *z);

/* Every op below takes [R,C] to [R,C], with values that stay within some 1e4. */
#define OP(name, formula)                                                                          \
    static at_tensor *name(at_tape *t, at_tensor *x, at_tensor *y, at_tensor *z)                   \
    {                                                                                              \
        (void)y, (void)z;                                                                          \
        return formula;                                                                            \
    }
OP(op_add, at_add(t, x, y))
OP(op_sub, at_sub(t, x, y))
OP(op_mul, at_mul(t, at_tanh(t, x), y))
OP(op_div, at_div(t, x, at_add_scalar(t, at_square(t, y), 0.5)))
OP(op_minimum, at_minimum(t, x, y))
OP(op_maximum, at_maximum(t, x, y))
OP(op_exp, at_exp(t, at_tanh(t, x)))
OP(op_log, at_log(t, at_add_scalar(t, at_square(t, x), 0.1)))
OP(op_sqrt, at_sqrt(t, at_add_scalar(t, at_square(t, x), 0.1)))
OP(op_pow, at_pow(t, at_add_scalar(t, at_sigmoid(t, x), 0.2), 1.7))
OP(op_sin, at_sin(t, x))
OP(op_cos, at_cos(t, x))
OP(op_tanh, at_tanh(t, x))
OP(op_sigmoid, at_sigmoid(t, x))
OP(op_relu, at_relu(t, x))
OP(op_abs, at_abs(t, x))
OP(op_leaky, at_leaky_relu(t, x, 0.1))
OP(op_softplus, at_softplus(t, x))
OP(op_silu, at_silu(t, x))
OP(op_gelu, at_gelu(t, x))
OP(op_gelu_tanh, at_gelu_tanh(t, x))
OP(op_clamp, at_clamp(t, x, -0.8, 1.3))
OP(op_scale, at_scale(t, x, -1.7))
OP(op_offset, at_add_scalar(t, x, 100))
OP(op_dropout, at_dropout(t, x, 0.3))
OP(op_sum, at_mul(t, x, at_sum_over(t, at_tanh(t, y), at_shape_of(-1), true)))
OP(op_var, at_div(t, x, at_add_scalar(t, at_var_over(t, y, at_shape_of(-1), true, 0), 1)))
OP(op_max, at_sub(t, x, at_max_over(t, x, at_shape_of(-1), true)))
OP(op_logsumexp, at_sub(t, x, at_logsumexp(t, y, -1, true)))
OP(op_cumsum, at_cumsum(t, x, 0))
OP(op_transpose, at_transpose(t, at_sin(t, at_transpose(t, x, 0, 1)), 0, 1))
OP(op_slice, at_slice(t, at_concat(t, (at_tensor *[]){x, y}, 2, 0), 0, 1, 1 + x->shape.dim[0]))
OP(op_matmul, at_matmul(t, at_matmul_t(t, at_tanh(t, x), false, at_tanh(t, y), true), z))
OP(op_softmax, at_softmax(t, x))
OP(op_softmax_over, at_mul(t, at_softmax_over(t, x, 0), y))
OP(op_log_softmax, at_log_softmax(t, x))
OP(op_layer_norm, at_layer_norm(t, x, NULL, NULL, 1e-2))
OP(op_rms_norm, at_rms_norm(t, x, NULL, 1e-2))
OP(op_rope, at_rope(t, x, (at_rope_args){0}))
OP(op_sdpa, at_sdpa(t, at_tanh(t, x), at_tanh(t, y), z, (at_sdpa_args){.causal = true}))
OP(op_sdpa_capped, at_sdpa(t, x, at_tanh(t, y), z, (at_sdpa_args){.softcap = 2, .dropout = 0.2}))
OP(op_linear, at_linear_attention_causal(t, at_elu_plus_1(t, x), at_elu_plus_1(t, y), z))
#undef OP

static const struct {
    const char *name;
    an_op *f;
} ops[] = {{"add", op_add},
           {"sub", op_sub},
           {"mul", op_mul},
           {"div", op_div},
           {"minimum", op_minimum},
           {"maximum", op_maximum},
           {"exp", op_exp},
           {"log", op_log},
           {"sqrt", op_sqrt},
           {"pow", op_pow},
           {"sin", op_sin},
           {"cos", op_cos},
           {"tanh", op_tanh},
           {"sigmoid", op_sigmoid},
           {"relu", op_relu},
           {"abs", op_abs},
           {"leaky_relu", op_leaky},
           {"softplus", op_softplus},
           {"silu", op_silu},
           {"gelu", op_gelu},
           {"gelu_tanh", op_gelu_tanh},
           {"clamp", op_clamp},
           {"scale", op_scale},
           {"offset", op_offset},
           {"dropout", op_dropout},
           {"sum", op_sum},
           {"var", op_var},
           {"max", op_max},
           {"logsumexp", op_logsumexp},
           {"cumsum", op_cumsum},
           {"transpose", op_transpose},
           {"slice", op_slice},
           {"matmul", op_matmul},
           {"softmax", op_softmax},
           {"softmax_over", op_softmax_over},
           {"log_softmax", op_log_softmax},
           {"layer_norm", op_layer_norm},
           {"rms_norm", op_rms_norm},
           {"rope", op_rope},
           {"sdpa", op_sdpa},
           {"sdpa_capped", op_sdpa_capped},
           {"linear", op_linear}};
enum { OPS = sizeof ops / sizeof *ops };

static at_tensor *run(at_tape *t, at_tensor **in, void *ctx)
{
    program *p = ctx;
    at_tensor *made[INPUTS + MOST_OPS];
    int n = INPUTS, length = 0;
    for (int i = 0; i < INPUTS; i++) made[i] = in[i];
    const int steps = 1 + draw(p, 0, 0, MOST_OPS);
    for (int i = 0; i < steps; i++) {
        const int op = draw(p, i, 1, OPS), x = i ? n - 1 : 0, y = draw(p, i, 2, n),
                  z = draw(p, i, 3, n);
        made[n] = ops[op].f(t, made[x], made[y], made[z]);
        if (!made[n++]) return NULL;
        length += snprintf(p->text + length, sizeof p->text - (size_t)length, " %s(%d,%d,%d)",
                           ops[op].name, x, y, z);
    }
    return made[n - 1];
}

static at_gradcheck_report check(program *p, int order)
{
    at_tape *t = at_open(ATTIC_F64, p->seed);
    const at_shape shape = at_shape_of(1 + draw(p, 0, 4, 3), 2 + 2 * draw(p, 0, 5, 2));
    at_tensor *in[INPUTS];
    for (int i = 0; i < INPUTS; i++) {
        in[i] = at_variable(t, shape, NULL);
        at_init_fill(in[i], at_normal(1), (at_stream){p->seed, (uint64_t)i});
    }
    at_gradcheck_report r = at_gradcheck(
        t, run, in, INPUTS, p,
        (at_gradcheck_options){.order = order, .seed = p->seed, .directions = order == 2 ? 2 : 0});
    at_close(t);
    return r;
}

START_TEST(no_correct_backward_is_called_wrong)
{
    const char *wanted = getenv("ATTIC_PROGRAMS");
    int programs = 1000;
    ck_assert_msg(!wanted || read_int(wanted, 1, 1000000, &programs),
                  "ATTIC_PROGRAMS is \"%s\", but must be a whole number from 1 to 1000000", wanted);
    int verdicts[3][ATTIC_VACUOUS + 1] = {{0}};
    for (int i = 0; i < programs; i++)
        for (int order = 1; order <= 2; order++) {
            program p = {(uint64_t)i + FIRST, ""};
            at_gradcheck_report r = check(&p, order);
            verdicts[order][r.verdict]++;
            const bool large = order == 2 && strstr(r.reason, "tangents are finite, up to 1e38");
            const bool good = r.verdict != ATTIC_WRONG && (large || r.verdict != ATTIC_NOT_RUN);
            if (!good) at_gradcheck_print(&r, stderr);
            ck_assert_msg(good, "program %d, order %d:%s", i + FIRST, order, p.text);
        }
    if (wanted)
        for (int order = 1; order <= 2; order++)
            printf("order %d: %d PASS, %d NOISE-LIMITED, %d NON-SMOOTH, %d VACUOUS, %d NOT-RUN\n",
                   order, verdicts[order][ATTIC_PASS], verdicts[order][ATTIC_NOISE_LIMITED],
                   verdicts[order][ATTIC_NON_SMOOTH], verdicts[order][ATTIC_VACUOUS],
                   verdicts[order][ATTIC_NOT_RUN]);
    ck_assert_int_le(1000 * verdicts[2][ATTIC_NOT_RUN], programs);
    ck_assert_int_ge(100 * verdicts[1][ATTIC_PASS], 95 * programs);
}
END_TEST

SUITE(autograd_random_programs, no_correct_backward_is_called_wrong)
