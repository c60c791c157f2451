/* test_sdpa.c -- attention against numbers from NumPy, against its contract, and against NaNs. */
#include "attic.h"

#include <math.h>
#include <string.h>

#include "ops/pairing.h"
#include "test.h"

/* ------------------------------------------------------------------ golden numbers ------------- */

typedef struct {
    const char *name;
    at_sdpa_args args;
    int seed;
    at_shape Q_shape, K_shape, V_shape, bias_shape, keep_shape, key_len_shape;
    const double *Q, *K, *V, *bias, *O, *A, *lse, *dO, *dW, *dQ, *dK, *dV, *dbias;
    const bool *keep;
    const int32_t *key_len;
} sdpa_golden;

#include "golden/sdpa.inc"

enum { GOLDENS = sizeof sdpa_goldens / sizeof *sdpa_goldens, PATHS = 3 };

static const char *const path_name[PATHS] = {"fused", "plain", "composed"};

/* Fails unless x equals expected, and says in which of the many runs. */
static void expect_numbers(const char *what, const char *run, const double *expected, ptrdiff_t n,
                           double (*element)(const at_tensor *, ptrdiff_t), const at_tensor *x,
                           double tol)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double is = element(x, i), off = fabs(is - expected[i]);
        if (is != expected[i] && !(off <= tol))
            ck_abort_msg("%s: %s[%td] is %.17g, not %.17g (off by %.2g)", run, what, i, is,
                         expected[i], off);
    }
}

static void run_golden(const sdpa_golden *g, at_dtype real, at_sdpa_path path)
{
    double tol = real == ATTIC_F64 ? 1e-12 : 2e-6;
    char run[200];
    snprintf(run, sizeof run, "%s (%s, %s)", g->name, path_name[path], at_dtype_text(real));
    at_tape *t = at_open(real, (uint64_t)g->seed);
    at_tensor *Q = at_variable(t, g->Q_shape, g->Q), *K = at_variable(t, g->K_shape, g->K);
    at_tensor *V = at_variable(t, g->V_shape, g->V), *A, *lse;
    at_sdpa_args a = g->args;
    if (g->bias) a.bias = at_variable(t, g->bias_shape, g->bias);
    if (g->keep) a.keep = at_bools(t, g->keep_shape, g->keep);
    if (g->key_len) a.key_len = at_ints(t, g->key_len_shape, g->key_len);
    a.path = path, a.weights = &A, a.lse = &lse;

    at_tensor *O = at_sdpa(t, Q, K, V, a);
    ck_assert_msg(O, "%s: %s", run, at_error(t));
    expect_numbers("O", run, g->O, at_count(O->shape), at_element, O, tol);
    expect_numbers("weights", run, g->A, at_count(A->shape), at_element, A, tol);
    expect_numbers("lse", run, g->lse, at_count(lse->shape), at_element, lse, tol);

    at_tensor *dO = at_const(t, O->shape, g->dO), *dW = at_const(t, A->shape, g->dW);
    at_backward(t, pairing(t, 2, (at_tensor *[]){O, A}, (at_tensor *[]){dO, dW}));
    ck_assert_msg(at_ok(t), "%s: %s", run, at_error(t));
    expect_numbers("dQ", run, g->dQ, at_count(Q->shape), at_grad_element, Q, 3 * tol);
    expect_numbers("dK", run, g->dK, at_count(K->shape), at_grad_element, K, 3 * tol);
    expect_numbers("dV", run, g->dV, at_count(V->shape), at_grad_element, V, 3 * tol);
    if (a.bias)
        expect_numbers("dbias", run, g->dbias, at_count(a.bias->shape), at_grad_element, a.bias,
                       3 * tol);
    at_close(t);
}

START_TEST(every_path_gives_the_numbers_of_numpy_and_their_gradients)
{
    for (int i = 0; i < GOLDENS; i++)
        for (int path = 0; path < PATHS; path++) {
            run_golden(&sdpa_goldens[i], ATTIC_F64, path);
            run_golden(&sdpa_goldens[i], ATTIC_F32, path);
        }
}
END_TEST

SUITE(ops_sdpa, every_path_gives_the_numbers_of_numpy_and_their_gradients)
