/* test_lora.c -- low-rank adapters: what they compute, what learns, and how they are folded in. */
#include "gradcheck/gradcheck.h"
#include "train/lora.h"
#include "tensors.h"

#include <math.h>

static const at_model_config small = {
    .vocab = 11, .context = 8, .layers = 2, .heads = 2, .dim = 12, .act = ATTIC_SWIGLU};

static at_tensor *ids_of(at_tape *t)
{
    return at_ints(t, at_shape_of(2, 4), (int32_t[]){1, 2, 3, 4, 10, 0, 9, 5});
}

static at_tensor *logits_of(at_tape *t, const at_model *m)
{
    return at_model_logits(t, m, ids_of(t), (at_model_args){0});
}

/* Every B of the tape filled with numbers around 1/2. */
static void fill_B(at_tape *t)
{
    for (int k = 0; k < at_param_count(t); k++) {
        at_tensor *x = at_param_at(t, k);
        const char *dot = strrchr(x->name, '.');
        if (!dot || strcmp(dot, ".lora_B") != 0) continue;
        for (ptrdiff_t i = 0; i < at_count(x->shape); i++)
            at_store(x->dtype, x->data, i, 0.5 * sin(3.0 * (double)i + k));
        at_written(x);
    }
}

START_TEST(an_adapter_adds_a_product_of_two_narrow_matrices)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_linear layer =
            at_linear_make(t, "up", 3, 2, true, at_values((double[]){1, 2, 3, 4, 5, 6}));
        at_tensor *x = at_variable(t, at_shape_of(2, 3), (double[]){1, 0, 2, 0, 1, -1});
        ck_assert(at_linear_lora(t, &layer, (at_lora_args){.rank = 1, .alpha = 3}));
        ck_assert_str_eq(at_text(layer.lora_A), "\"up.lora_A\" [3,1]");
        ck_assert_str_eq(at_text(layer.lora_B), "\"up.lora_B\" [1,2]");
        ck_assert_str_eq(at_text(layer.lora_alpha), "\"up.lora_alpha\" []");
        at_write_f64(layer.lora_A, (double[]){1, 10, 100}, 3);
        at_write_f64(layer.lora_B, (double[]){2, -1}, 2);
        /* x W = [11 14; -2 -2], x A = [201; -90], and alpha/r = 3 */
        const double y[] = {11 + 3 * 402, 14 - 3 * 201, -2 - 3 * 180, -2 + 3 * 90};
        at_tensor *out = at_linear_apply(t, layer, x);
        assert_values(out, y, 0);
        ck_assert(pull(t, out, (double[]){1, 0, 0, 1}));
        ck_assert(!layer.W->grad && !layer.b->grad && !layer.lora_alpha->grad);
        assert_grads(layer.lora_B, ((double[]){3 * 201, 3 * -90}), 0);     /* s (x A)^T dy */
        assert_grads(layer.lora_A, ((double[]){3 * 2, -3, 3 * 4 + 3}), 0); /* s x^T (dy B^T) */
        assert_grads(x, ((double[]){7, 63, 605, -1, -26, -294}), 0);       /* and through W */
        out = at_linear_apply(t, layer, at_const(t, at_shape_of(3), (double[]){1, 0, 2}));
        assert_values(out, y, 0);
    }
}
END_TEST

START_TEST(a_model_starts_as_what_it_was_and_only_its_adapters_learn)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_model *m = at_model_make(t, small);
        at_mark here = at_mark_here(t);
        at_tensor *before = logits_of(t, m);
        at_tensor *kept = at_const(at_open(at_real(t), 1), before->shape, NULL);
        memcpy(kept->data, before->data, at_bytes(before));
        at_rewind(t, here);
        int params = at_param_count(t);
        ck_assert_int_eq(at_model_lora(t, m, (at_lora_args){.rank = 2, .only = "*.q.W,*.v.W"}), 4);
        ck_assert_int_eq(at_param_count(t), params + 3 * 4);
        ck_assert_str_eq(at_described(t, "lora"), "matrices=4 rank=2 alpha=0");
        at_tensor *after = logits_of(t, m);
        ck_assert(equal_bits(after, kept));
        ck_assert(at_backward(t, at_mean(t, at_square(t, after))));
        for (int k = 0; k < at_param_count(t); k++) {
            const at_tensor *x = at_param_at(t, k);
            bool learns = strstr(x->name, ".lora_A") || strstr(x->name, ".lora_B");
            ck_assert_msg(learns == x->wants_grad && learns == (x->grad != NULL), "%s", x->name);
            ck_assert(!learns || strstr(x->name, ".q.") || strstr(x->name, ".v."));
        }
        at_close(kept->tape);
    }
}
END_TEST

static at_tensor *lora_loss(at_tape *t, at_tensor **in, void *m)
{
    (void)in;
    return at_square(t, logits_of(t, m));
}

START_TEST(the_gradients_of_all_adapters_are_those_of_differences)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_model_config c = small;
    c.layers = 1, c.untied = true;
    at_model *m = at_model_make(t, c);
    ck_assert_int_eq(at_model_lora(t, m, (at_lora_args){.rank = 2, .alpha = 3}), 8);
    fill_B(t);
    at_gradcheck_report r = at_gradcheck(t, lora_loss, NULL, 0, m, (at_gradcheck_options){0});
    ck_assert_msg(r.verdict == ATTIC_PASS, "%s %s", r.reason, at_error(t));
    at_close(t);
}
END_TEST

START_TEST(folding_in_changes_W_and_the_result_only_by_rounding)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_model *m = at_model_make(t, small);
        ck_assert_int_eq(at_model_lora(t, m, (at_lora_args){.rank = 3, .alpha = 1.5}), 14);
        fill_B(t);
        at_mark here = at_mark_here(t);
        at_tensor *y = logits_of(t, m);
        double with[88];
        ck_assert(at_read_f64(y, with, 88));
        at_rewind(t, here);
        at_tensor *B = m->block[1].ffn.down.lora_B, *W = m->block[1].ffn.down.W;
        unsigned written = W->version;
        ck_assert_int_eq(at_model_lora_merge(t, m), 14);
        ck_assert(W->version > written && !W->wants_grad && !B->wants_grad);
        ck_assert(!m->block[0].attention.q.lora_A && at_get(B, 2, 5) == 0);
        at_tensor *folded = logits_of(t, m);
        assert_values(folded, with, 20 * close_to(t));
        ck_assert_int_eq(at_model_lora_merge(t, m), 0);
        assert_error(t, "lora: the model has no adapters");
        at_clear_error(t);
        const int params = at_param_count(t);
        at_rewind(t, here);
        at_unfreeze(t, (at_names){.only = "E"});
        ck_assert_int_eq(at_model_lora(t, m, (at_lora_args){.rank = 3, .only = "*.q.W"}), 0);
        assert_error(t, "lora: there is a parameter \"block0.attention.q.lora_A\", so "
                        "\"block0.attention.q.W\" [12,12] can have no adapter: one that was "
                        "merged leaves its own on the tape");
        ck_assert(at_param_count(t) == params && m->E->wants_grad);
    }
}
END_TEST

START_TEST(two_groups_may_differ_in_rank)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_scope(t, "student");
    at_model *m = at_model_make(t, small);
    at_lora_args q = {.rank = 2, .only = "*.q.W"}, rest = {.rank = 4, .except = "*.q.*"};
    ck_assert_int_eq(at_model_lora(t, m, q), 2);
    ck_assert_int_eq(at_model_lora(t, m, rest), 12);
    at_scope_end(t);
    ck_assert_str_eq(at_text(m->block[1].attention.q.lora_A),
                     "\"student.block1.attention.q.lora_A\" [12,2]");
    ck_assert_str_eq(at_text(m->block[1].ffn.gate.lora_B), "\"student.block1.gate.lora_B\" [4,32]");
    ck_assert(m->block[0].attention.q.lora_A->wants_grad); /* the second group left it alone */
    ck_assert_str_eq(at_described(t, "lora"),
                     "matrices=2 rank=2 alpha=0\nmatrices=12 rank=4 alpha=0");
    at_close(t);
}
END_TEST

START_TEST(a_cache_made_before_the_adapters_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, small);
    at_train(t, false);
    at_no_grad(t, true);
    at_model_cache cache = at_model_cache_make(t, m, 2);
    at_model_lora(t, m, (at_lora_args){.rank = 2, .only = "*.v.W"});
    ck_assert_ptr_null(at_model_decode(t, &cache, ids_of(t)));
    assert_error(t, "block: the cache was made before the layer's adapters were: make it again");
    at_clear_error(t);
    cache = at_model_cache_make(t, m, 2);
    at_tensor *y = logits_of(t, m), *z = at_model_decode(t, &cache, ids_of(t));
    ck_assert(z && at_compare(y, z).similarity != ATTIC_DIFFERENT);
    at_written(m->block[0].attention.v.lora_B);
    cache.position = 4;
    ck_assert_ptr_null(at_model_decode(t, &cache, ids_of(t)));
    ck_assert_ptr_nonnull(strstr(at_error(t), "was written after the cache was filled"));
    at_close(t);
}
END_TEST

START_TEST(impossible_adapters_are_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, small);
    const struct {
        at_lora_args args;
        const char *message;
    } wrong[] = {
        {{.rank = 0}, "lora: rank is 0 but must be at least 1"},
        {{.rank = 1, .alpha = (double)NAN}, "lora: alpha is nan, but must be a finite f32"},
        {{.rank = 1, .only = "*.wq"}, "lora: no parameter is named like \"*.wq\""},
        {{.rank = 1, .only = "E,*.g"},
         "lora: \"E,*.g\" means parameters, but no matrix of the model's layers"},
    };
    int params = at_param_count(t);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(at_model_lora(t, m, wrong[i].args), 0);
        assert_error(t, wrong[i].message);
        at_clear_error(t);
    }
    ck_assert(!at_model_lora(t, NULL, (at_lora_args){.rank = 1}));
    assert_error(t, "lora: the model is NULL");
    at_clear_error(t);
    ck_assert_int_eq(at_param_count(t), params);
    for (int k = 0; k < params; k++) ck_assert(at_param_at(t, k)->wants_grad);
    at_linear *q = &m->block[0].attention.q;
    logits_of(t, m);
    ck_assert(!at_linear_lora(t, q, (at_lora_args){.rank = 1}));
    ck_assert_ptr_nonnull(strstr(at_error(t), "was read by affine (op"));
    at_close(t);
    t = at_open(ATTIC_F32, 1);
    at_linear layer = at_linear_make(t, "l", 2, 2, false, at_ones());
    ck_assert(!at_linear_merge(t, &layer));
    assert_error(t, "lora: the layer \"l.W\" [2,2] has no adapter");
    at_clear_error(t);
    ck_assert(at_linear_lora(t, &layer, (at_lora_args){.rank = 1}) &&
              at_item(layer.lora_alpha) == 1);
    ck_assert(!at_linear_lora(t, &layer, (at_lora_args){.rank = 1}));
    assert_error(t, "lora: \"l.W\" [2,2] has an adapter already");
    at_clear_error(t);
    layer = (at_linear){.W = at_const(t, at_shape_of(2, 2), NULL)};
    at_name(layer.W, "c");
    ck_assert(!at_linear_lora(t, &layer, (at_lora_args){.rank = 1}));
    assert_error(t, "lora: \"c\" [2,2] is no parameter");
    at_close(t);
}
END_TEST

SUITE(train_lora, an_adapter_adds_a_product_of_two_narrow_matrices,
      a_model_starts_as_what_it_was_and_only_its_adapters_learn,
      the_gradients_of_all_adapters_are_those_of_differences,
      folding_in_changes_W_and_the_result_only_by_rounding, two_groups_may_differ_in_rank,
      a_cache_made_before_the_adapters_is_refused, impossible_adapters_are_refused)
