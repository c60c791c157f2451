/* test_half.c -- models whose weights, and caches whose keys and values, are f16 or bf16. */
#include "tensor/arena.h"
#include "tensors.h"

#include <math.h>

static const at_dtype stored[] = {ATTIC_F16, ATTIC_BF16};
enum { VOCAB = 40, CONTEXT = 24, ROWS = 10 };

static at_model_config small_config(bool tied)
{
    at_model_config c = {.vocab = VOCAB, .context = CONTEXT, .layers = 2, .heads = 4, .dim = 32};
    c.untied = !tied;
    if (!tied) c.norm = ATTIC_RMS, c.act = ATTIC_SWIGLU, c.bias = ATTIC_BIAS_NONE, c.kv_heads = 2;
    if (tied) c.positions = ATTIC_LEARNED_POSITIONS, c.bias = ATTIC_BIAS_ALL;
    return c;
}

static at_tensor *some_ids(at_tape *t, int n)
{
    at_tensor *ids = at_ints(t, at_shape_of(1, n), NULL);
    for (int i = 0; i < n; i++) ((int32_t *)ids->data)[i] = (i * 17 + 5) % VOCAB;
    return ids;
}

START_TEST(a_stored_model_is_the_model_of_its_rounded_weights)
{
    for (int k = 0; k < 4; k++) {
        at_tape *t = at_open(ATTIC_F32, 5), *u = at_open(ATTIC_F32, 6);
        at_store_params(t, stored[k % 2]);
        at_model *m = at_model_make(t, small_config(k / 2)),
                 *w = at_model_make(u, small_config(k / 2));
        ck_assert_uint_gt(at_memory_of(u).permanent,
                          at_memory_of(t).permanent + 19 * (size_t)at_model_params(m) / 10);
        ck_assert(at_copy_params(u, t));
        ck_assert(m->E->dtype == stored[k % 2] && !m->E->wants_grad && !m->E->grad_memory);
        ck_assert(m->norm.g->dtype == ATTIC_F32 && m->norm.g->wants_grad);
        ck_assert_int_eq((int)at_model_params(m), (int)at_model_params(w));
        at_tensor *y = at_model_logits(t, m, some_ids(t, ROWS), (at_model_args){0});
        at_tensor *z = at_model_logits(u, w, some_ids(u, ROWS), (at_model_args){0});
        ck_assert_msg(at_ok(t), "%s", at_error(t));
        ck_assert(equal_bits(y, z));
        at_close(t), at_close(u);
    }
}
END_TEST

START_TEST(what_is_stored_does_not_learn_and_the_rest_does)
{
    at_tape *t = at_open(ATTIC_F32, 5);
    ck_assert_int_eq(at_store_params(t, ATTIC_BF16), ATTIC_REAL);
    at_model *m = at_model_make(t, small_config(true));
    ck_assert_int_eq(at_store_params(t, ATTIC_REAL), ATTIC_BF16);
    at_tensor *head = at_param(t, "probe", at_shape_of(VOCAB, 3), at_normal(1));
    ck_assert(head->dtype == ATTIC_F32 && head->wants_grad);
    at_tensor *y = at_model_logits(t, m, some_ids(t, ROWS), (at_model_args){0});
    at_tensor *before = at_cast(t, m->E, ATTIC_BF16), *g = at_detach(t, at_scale(t, m->norm.g, 1));
    ck_assert(at_backward(t, at_mean(t, at_square(t, at_matmul(t, y, head)))));
    ck_assert_int_eq(at_grad_report(t, NULL), 0);
    at_adamw(t, 0.1, (at_adamw_args){0});
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert(equal_bits(m->E, before));
    ck_assert(!equal_bits(m->norm.g, g));
    at_close(t);
}
END_TEST

START_TEST(adapters_learn_beside_a_stored_matrix)
{
    at_tape *t = at_open(ATTIC_F32, 5);
    at_store_params(t, ATTIC_BF16);
    at_model *m = at_model_make(t, small_config(false));
    ck_assert_int_gt(at_model_lora(t, m, (at_lora_args){.rank = 2, .only = "*.q.W,*.v.W"}), 0);
    const at_linear *q = &m->block[0].attention.q;
    ck_assert(q->W->dtype == ATTIC_BF16 && q->lora_A->dtype == ATTIC_F32);
    at_tensor *y = at_model_logits(t, m, some_ids(t, ROWS), (at_model_args){0});
    ck_assert_msg(at_backward(t, at_mean(t, at_square(t, y))), "%s", at_error(t));
    ck_assert(q->lora_B->grad && !q->W->grad);
    ck_assert_int_eq(at_unfreeze(t, (at_names){.only = "E"}), 0);
    ck_assert_str_eq(at_error(t), "unfreeze: \"E\" [40,32] is stored as bf16, and cannot learn");
    at_close(t);
}
END_TEST

START_TEST(a_stored_cache_decodes_as_rounded_keys_and_values_do)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < 4; k++) {
            at_train(t, false), at_no_grad(t, true);
            at_scope(t, k == 0 ? "a" : k == 1 ? "b" : k == 2 ? "c" : "d");
            at_model *m = at_model_make(t, small_config(k / 2));
            at_scope_end(t);
            at_model_cache whole = at_model_cache_make_as(t, m, 1, stored[k % 2]);
            at_model_cache cache = at_model_cache_make_as(t, m, 1, stored[k % 2]);
            at_tensor *ids = some_ids(t, ROWS),
                      *exact = at_model_logits(t, m, ids, (at_model_args){0});
            at_tensor *y = at_model_decode(t, &whole, ids), *z = NULL;
            for (int i = 0; i < ROWS; i++)
                z = at_model_decode(t, &cache, at_slice(t, ids, 1, i, i + 1));
            ck_assert_msg(at_ok(t), "%s", at_error(t));
            const double tol = k % 2 ? 0.02 : 0.002;
            for (int i = 0; i < VOCAB; i++) {
                const double at = at_get(y, 0, ROWS - 1, i);
                assert_close(at_get(z, 0, 0, i), at, tol / 50); /* a rounding may turn */
                assert_close(at, at_get(exact, 0, ROWS - 1, i), tol);
            }
            ck_assert_int_lt(at_compare(y, exact).similarity, ATTIC_EXACT); /* it was rounded */
        }
}
END_TEST

START_TEST(a_stored_cache_takes_half_of_the_memory)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model_config c = small_config(true);
    c.context = 4096;
    at_model *m = at_model_make(t, c);
    size_t bytes[2];
    for (int k = 0; k < 2; k++) {
        const size_t before = at_memory_of(t).step;
        at_model_cache_make_as(t, m, 1, k ? ATTIC_F16 : ATTIC_F32);
        bytes[k] = at_memory_of(t).step - before;
    }
    ck_assert_uint_lt(bytes[1], bytes[0] / 2 + 4096);

    /* and a step does not widen all of it */
    at_train(t, false), at_no_grad(t, true);
    at_model_cache cache = at_model_cache_make_as(t, m, 1, ATTIC_F16);
    at_mark step = at_mark_here(t);
    at_tensor *ids = at_ints(t, at_shape_of(1, 4000), NULL);
    ck_assert(at_model_decode(t, &cache, ids));
    at_rewind(t, step);
    const at_memory before = at_memory_of(t);
    ck_assert(at_model_decode(t, &cache, some_ids(t, 1)));
    const at_memory after = at_memory_of(t);
    ck_assert_uint_lt(after.step + after.permanent - before.step - before.permanent, bytes[1] / 4);
    at_close(t);
}
END_TEST

START_TEST(other_dtypes_are_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_store_params(t, ATTIC_F64);
    assert_error(t, "store_params: dtype is f64, but must be f16, bf16 or f32");
    at_clear_error(t);
    at_model *m = at_model_make(t, small_config(true));
    at_model_cache_make_as(t, m, 1, ATTIC_I32);
    assert_error(t, "cache: dtype is i32, but must be f16, bf16 or f32");
    at_close(t);
    ck_assert_int_eq(at_store_params(NULL, ATTIC_F16), ATTIC_REAL);
}
END_TEST

START_TEST(a_parameter_that_f16_cannot_hold_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_store_params(t, ATTIC_F16);
    ck_assert_ptr_null(at_param(t, "W", at_shape_of(1, 2), at_values((double[]){1, 70000})));
    assert_error(t, "param: value 1 is 70000, which f16 cannot hold");
    at_close(t);
}
END_TEST

/* A stored model, adapters, a stored cache and a token, all of it with so many allocations. */
static bool stored_run(double *logit)
{
    at_tape *t = at_open(ATTIC_F32, 5);
    at_store_params(t, ATTIC_BF16);
    at_model *m = at_model_make(t, small_config(true));
    if (m) at_model_lora(t, m, (at_lora_args){.rank = 1, .only = "*.q.W"});
    at_train(t, false), at_no_grad(t, true);
    at_model_cache cache = at_model_cache_make_as(t, m, 1, ATTIC_F16);
    at_tensor *ids = at_ints(t, at_shape_of(1, 2), (int32_t[]){3, 7});
    const at_tensor *y = m ? at_model_decode(t, &cache, ids) : NULL;
    const bool through = at_ok(t);
    if (through) *logit = at_get(y, 0, 1, 0);
    ck_assert(through || at_error_kind_of(t) == ATTIC_MEMORY_ERROR);
    at_close(t);
    return through;
}

START_TEST(every_allocation_of_a_stored_model_may_fail)
{
    double undisturbed = 0, logit = 0;
    ck_assert(stored_run(&undisturbed));
    ptrdiff_t n = 0;
    do {
        at_fail_allocation(++n);
    } while (!stored_run(&logit) && n < 100000);
    at_fail_allocation(0);
    ck_assert_int_gt(n, 10);
    ck_assert(logit == undisturbed);
}
END_TEST

SUITE(nn_half, a_stored_model_is_the_model_of_its_rounded_weights,
      what_is_stored_does_not_learn_and_the_rest_does, adapters_learn_beside_a_stored_matrix,
      a_stored_cache_decodes_as_rounded_keys_and_values_do, a_stored_cache_takes_half_of_the_memory,
      other_dtypes_are_refused, a_parameter_that_f16_cannot_hold_is_refused,
      every_allocation_of_a_stored_model_may_fail)
