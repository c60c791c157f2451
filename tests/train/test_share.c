/* test_share.c -- a model of one tape on others: the same bits, no memory, nothing written. */
#include <pthread.h>
#include <string.h>

#include "tensor/arena.h"
#include "tensors.h"
#include "train/little.h"

enum { VOCAB = 40 };

static const at_model_config kinds[] = {
    {.vocab = VOCAB, .context = 16, .layers = 2, .heads = 2, .dim = 32},
    {.vocab = VOCAB,
     .context = 16,
     .layers = 2,
     .heads = 2,
     .dim = 32,
     .act = ATTIC_GELU_TANH,
     .bias = ATTIC_BIAS_ALL,
     .positions = ATTIC_LEARNED_POSITIONS},
    {.vocab = VOCAB,
     .context = 16,
     .layers = 2,
     .heads = 4,
     .kv_heads = 2,
     .dim = 32,
     .norm = ATTIC_RMS,
     .act = ATTIC_SWIGLU,
     .bias = ATTIC_BIAS_NONE,
     .untied = true,
     .qk_norm = true,
     .gate = true,
     .sinks = true},
};

static at_tensor *logits_of(at_tape *t, const at_model *m)
{
    int32_t ids[16];
    for (int i = 0; i < 16; i++) ids[i] = (i * 7 + 3) % VOCAB;
    at_train(t, false);
    return at_model_logits(t, m, at_ints(t, at_shape_of(1, 16), ids), (at_model_args){0});
}

START_TEST(it_computes_the_same_bits_and_takes_no_memory)
{
    for (int k = 0; k < 3; k++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_model *m = at_model_make(t, kinds[k]);
            at_tape *u = at_open(at_real(t), 2), *v = at_open(at_real(t), 2);
            at_scope(u, "copy");
            at_model *shared = at_model_share(u, m);
            at_scope_end(u);
            ck_assert_msg(shared, "%s", at_error(u));
            const at_memory memory = at_memory_of(u);
            const size_t elements = (size_t)at_model_params(m) * at_dtype_size(at_real(t));
            ck_assert_uint_lt(memory.permanent + memory.step, elements / 2);
            ck_assert(at_model_params(shared) == at_model_params(m));
            ck_assert_ptr_eq(at_find_param(u, "copy.E"), shared->E);
            ck_assert(equal_bits(logits_of(u, shared), logits_of(t, m)));
            at_model_make(v, kinds[k]); /* what is drawn later is drawn as behind a model */
            ck_assert_uint_eq(at_draw(u).draw, at_draw(v).draw);
            ck_assert_str_eq(at_described(u, "model"), at_described(t, "model"));
            const at_tensor *later = at_param(u, "later", at_shape_of(2), at_fill(3));
            ck_assert(at_get(later, 1) == 3 && later->wants_grad);
            at_close(u), at_close(v);
        }
}
END_TEST

START_TEST(adapters_and_weights_of_16_bits_are_shared_as_they_are)
{
    at_tape *t = at_open(ATTIC_F32, 1), *u = at_open(ATTIC_F32, 2), *v = at_open(ATTIC_F32, 3);
    at_store_params(t, ATTIC_BF16);
    at_model *m = at_model_make(t, kinds[0]);
    at_model_lora(t, m, (at_lora_args){.rank = 2, .alpha = 3, .only = "*.q.W,*.v.W"});
    for (int i = 0; i < 2; i++) at_set(m->block[i].attention.v.lora_B, 0.5, 1, 3);
    at_model *shared = at_model_share(u, m);
    ck_assert_msg(shared, "%s", at_error(u));
    ck_assert(shared->E->dtype == ATTIC_BF16);
    ck_assert_str_eq(shared->block[1].attention.v.lora_B->name, "block1.attention.v.lora_B");
    ck_assert(equal_bits(logits_of(u, shared), logits_of(t, m)));
    at_model *again = at_model_share(v, shared); /* and from there to a third tape */
    ck_assert(equal_bits(logits_of(v, again), logits_of(t, m)));
    ck_assert_ptr_eq(again->E->data, m->E->data);
    at_close(v), at_close(u), at_close(t);
}
END_TEST

/* The call failed, said so, and E is what it was. */
static void assert_refused(at_tape *u, const at_model *m, double E, bool done, const char *begin)
{
    ck_assert_msg(!done, "%s: was done", begin);
    ck_assert_msg(strstr(at_error(u), begin) == at_error(u), "\"%s\" is not \"%s\"", at_error(u),
                  begin);
    at_clear_error(u);
    ck_assert(at_get(m->E, 0, 0) == E);
}

START_TEST(its_parameters_can_be_read_and_not_written)
{
    ck_assert_ptr_nonnull(little_folder());
    const char *path = little_path("m.safetensors");
    at_tape *t = at_open(ATTIC_F64, 1), *u = at_open(ATTIC_F64, 2);
    at_model *m = at_model_make(t, kinds[0]), *shared = at_model_share(u, m);
    const double E = at_get(m->E, 0, 0);
    const unsigned writes = m->E->version;
    at_set(shared->E, 5, 0, 0);
    assert_refused(u, m, E, false,
                   "set: \"E\" [40,32] is read-only: its elements are those of another tape");
    at_written(at_detach(u, shared->E));
    assert_refused(u, m, E, false, "set: \"E\" [40,32] is read-only");
    assert_refused(u, m, E, at_unfreeze(u, (at_names){.only = "E"}), "unfreeze: \"E\" [40,32] is");
    assert_refused(u, m, E, at_copy_params(u, t), "copy_params: \"E\" [40,32] is read-only");
    ck_assert(at_save(u, path, (at_part_args){0}));
    assert_refused(u, m, E, at_load(u, path, (at_part_args){0}), "set: \"E\" [40,32] is read-only");
    ck_assert_int_gt(at_model_lora(u, shared, (at_lora_args){.rank = 2}), 0);
    assert_refused(u, m, E, at_model_lora_merge(u, shared), "set: \"block0.attention.q.W\"");
    ck_assert(shared->block[0].attention.q.lora_A->wants_grad);
    ck_assert_int_eq(at_freeze(u, (at_names){.only = "E"}), 1); /* it is frozen already */
    at_mark step = at_mark_here(u);
    at_backward(u, at_sum(u, logits_of(u, shared))); /* adapters learn beside them */
    ck_assert(at_adamw(u, 0.1, (at_adamw_args){0}) && !shared->E->grad);
    at_rewind(u, step);
    ck_assert_msg(at_ok(u), "%s", at_error(u));
    ck_assert(at_get(m->E, 0, 0) == E && m->E->version == writes);
    little_remove();
    at_close(u), at_close(t);
}
END_TEST

START_TEST(what_the_owner_writes_is_seen_and_counts_as_written)
{
    at_tape *t = at_open(ATTIC_F64, 1), *u = at_open(ATTIC_F64, 2);
    at_model *m = at_model_make(t, kinds[0]), *shared = at_model_share(u, m);
    at_writer *w = at_writer_open(u, shared, (at_writer_args){0});
    ck_assert(at_writer_feed(w, (int32_t[]){1, 2, 3}, 3) && at_writer_next(w) >= 0);
    at_tensor *x = at_variable(u, at_shape_of(1, 32), NULL);
    at_tensor *y = at_sum(u, at_matmul(u, x, shared->block[0].ffn.up.W));
    at_set(m->block[0].ffn.up.W, 7, 0, 0);
    ck_assert(at_get(shared->block[0].ffn.up.W, 0, 0) == 7);
    ck_assert(!at_backward(u, y));
    ck_assert_ptr_nonnull(strstr(at_error(u), "was written after it was recorded"));
    at_clear_error(u);
    at_set(m->block[0].attention.k.W, 7, 0, 0);
    ck_assert_int_eq(at_writer_next(w), -1);
    ck_assert_ptr_nonnull(strstr(at_error(u), "was written after the cache was filled"));
    at_close(u), at_close(t);
}
END_TEST

START_TEST(what_cannot_be_shared_is_named)
{
    at_tape *t = at_open(ATTIC_F64, 1), *u = at_open(ATTIC_F64, 2), *single = at_open(ATTIC_F32, 2);
    at_model *m = at_model_make(t, kinds[0]);
    ck_assert_ptr_null(at_model_share(u, NULL));
    assert_error(u, "model_share: the model is NULL");
    at_clear_error(u);
    ck_assert_ptr_null(at_model_share(single, m));
    assert_error(single,
                 "model_share: \"E\" [40,32] is f64, but the real type of this tape is f32");
    ck_assert_int_eq(at_param_count(single), 0);
    at_linear up = m->block[0].ffn.up;
    m->block[0].ffn.up = m->block[1].ffn.up;
    ck_assert_ptr_null(at_model_share(u, m));
    assert_error(u,
                 "model_share: the model has \"block1.up.W\" [32,128] in place of \"block0.up.W\" "
                 "[32,128], with which it was made");
    at_close(u);
    u = at_open(ATTIC_F64, 2);
    m->block[0].ffn.up = up;
    m->config.hidden = 64;
    ck_assert_ptr_null(at_model_share(u, m));
    assert_error(u, "model_share: \"block0.up.W\" [32,64] is needed, but the model has "
                    "\"block0.up.W\" [32,128]: its config was changed");
    ck_assert_ptr_null(at_model_share(t, m));
    assert_error(t, "model_share: the model is on this tape already");
    at_clear_error(u);
    ck_assert_ptr_null(at_model_share(u, m));
    assert_error(u, "model_share: the tape of the model has an error: model_share: the model is on "
                    "this tape already");
    at_close(single), at_close(u), at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ threads -------------------- */

enum { READERS = 4, WRITTEN = 40 };
typedef struct {
    const at_model *m; /* of another tape */
    int number;
    int32_t said[WRITTEN];
} reader;

/* Different prompts, so that each text is another one. */
static void *read_model(void *ctx)
{
    reader *r = ctx;
    at_tape *t = at_open(ATTIC_F32, 3);
    at_writer *w = at_writer_open(t, at_model_share(t, r->m), (at_writer_args){.temperature = 1});
    at_writer_feed(w, (int32_t[]){r->number, 5}, 2);
    for (int i = 0; i < WRITTEN; i++) r->said[i] = at_writer_next(w);
    at_close(t);
    return NULL;
}

START_TEST(four_threads_write_what_each_writes_alone)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    const at_model *m = at_model_make(t, kinds[2]);
    reader alone[READERS], together[READERS];
    pthread_t thread[READERS];
    for (int i = 0; i < READERS; i++) {
        alone[i] = together[i] = (reader){.m = m, .number = i};
        read_model(&alone[i]);
        ck_assert_int_ge(alone[i].said[WRITTEN - 1], 0);
    }
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, read_model, &together[i]), 0);
    for (int i = 0; i < READERS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < READERS; i++)
        ck_assert_mem_eq(together[i].said, alone[i].said, sizeof alone[i].said);
    ck_assert_mem_ne(alone[0].said, alone[1].said, sizeof alone[0].said);
    at_close(t);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, kinds[0]), *shared = NULL;
    at_model_lora(t, m, (at_lora_args){.rank = 2, .only = "*.q.W"});
    ptrdiff_t n = 0;
    while (!shared) {
        at_tape *u = at_open(ATTIC_F32, 2);
        at_fail_allocation(++n);
        shared = at_model_share(u, m);
        at_fail_allocation(0);
        ck_assert(shared || at_error_kind_of(u) == ATTIC_MEMORY_ERROR);
        if (shared) ck_assert(equal_bits(logits_of(u, shared), logits_of(t, m)));
        at_clear_error(u);
        ck_assert(at_item(at_param(u, "later", at_shape_of(1), at_fill(3))) == 3);
        at_close(u);
    }
    ck_assert_int_gt(n, 50);
    at_close(t);
}
END_TEST

SUITE(train_share, it_computes_the_same_bits_and_takes_no_memory,
      adapters_and_weights_of_16_bits_are_shared_as_they_are,
      its_parameters_can_be_read_and_not_written,
      what_the_owner_writes_is_seen_and_counts_as_written, what_cannot_be_shared_is_named,
      four_threads_write_what_each_writes_alone, every_allocation_may_fail)
