/* test_cache.c -- decoding step by step gives what reading everything at once gives. */
#include "tensor/arena.h"
#include "tensors.h"

#include "kernels/parallel.h"

#include <math.h>

enum { B = 2, ROWS = 7, C = 8 };

/* Rows come in pieces: a prompt, then one by one, or as it happens; 0 ends the list. */
static const int pieces[][ROWS + 1] = {
    {7}, {1, 1, 1, 1, 1, 1, 1}, {3, 1, 1, 1, 1}, {5, 2}, {1, 4, 2}, {6, 1}};
enum { CUTS = sizeof pieces / sizeof *pieces };

static const struct {
    const char *what;
    at_attention_config config;
} kind[] = {
    {"plain", {.dim = C, .heads = 2}},
    {"rope", {.dim = C, .heads = 2, .rope = true}},
    {"biases", {.dim = C, .heads = 1, .bias = true, .rope = true}},
    {"grouped", {.dim = C, .heads = 4, .kv_heads = 2, .rope = true}},
    {"one for all", {.dim = C, .heads = 4, .kv_heads = 1, .bias = true}},
};
enum { KINDS = sizeof kind / sizeof *kind };

static at_tensor *draw_text(at_tape *t, int batch, int rows)
{
    return at_random(t, at_shape_of(batch, rows, C), at_normal(1));
}

/* A layer whose biases are not 0, on a tape set to inference. */
static at_attention layer_of(at_tape *t, at_attention_config config)
{
    char name[16];
    snprintf(name, sizeof name, "layer%d", at_param_count(t)); /* new on this tape */
    at_train(t, false);
    at_no_grad(t, true);
    at_scope(t, name);
    at_attention a = at_attention_make(t, config, 1);
    at_scope_end(t);
    at_linear all[] = {a.q, a.k, a.v, a.o};
    for (int i = 0; i < 4 && config.bias; i++) at_init_fill(all[i].b, at_normal(1), at_draw(t));
    return a;
}

/* Rows first .. first+n-1 of x. */
static at_tensor *rows_of(at_tape *t, at_tensor *x, int first, int n)
{
    return at_slice(t, x, 1, first, first + n);
}

/* x [B,ROWS,C] through the cache in pieces, put together again. */
static at_tensor *decode_in(at_tape *t, at_cache *cache, at_tensor *x, const int *piece,
                            at_sdpa_args with)
{
    at_tensor *y[ROWS];
    int n = 0;
    for (int first = 0; first < ROWS; first += piece[n++])
        y[n] = at_attention_decode(t, cache, rows_of(t, x, first, piece[n]), with);
    return at_concat(t, y, n, 1);
}

/* As cache.h says. */
static void assert_agree(const at_tensor *y, const at_tensor *whole, const char *what)
{
    ck_assert_msg(y && whole && at_same_shape(y->shape, whole->shape), "%s: %s", what,
                  at_error(whole ? whole->tape : NULL));
    double tol = y->dtype == ATTIC_F32 ? 1e-6 : 1e-14;
    for (ptrdiff_t i = 0; i < at_count(y->shape); i++) {
        double a = at_element(y, i), b = at_element(whole, i);
        ck_assert_msg(fabs(a - b) <= tol * fmax(1, fabs(b)), "%s: element %td is %.9g, not %.9g",
                      what, i, a, b);
    }
}

/* ------------------------------------------------------------------ one layer ------------------ */

START_TEST(rows_in_pieces_are_the_rows_of_the_whole)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < KINDS; k++)
            for (int cut = 0; cut < CUTS; cut++) {
                at_attention a = layer_of(t, kind[k].config);
                at_tensor *x = draw_text(t, B, ROWS);
                at_sdpa_args causal = {.causal = true};
                at_cache cache = at_cache_make(t, &a, B, ROWS);
                assert_agree(decode_in(t, &cache, x, pieces[cut], causal),
                             at_attention_apply(t, &a, x, NULL, causal), kind[k].what);
                ck_assert_int_eq(cache.position, ROWS);
            }
}
END_TEST

START_TEST(every_path_and_every_option_sees_rows_at_their_positions)
{
    const at_sdpa_args with[] = {
        {.causal = true, .path = ATTIC_PLAIN},
        {.causal = true, .path = ATTIC_COMPOSED},
        {.causal = true, .window_left = 3},
        {.causal = true, .window_left = 1, .softcap = 2},
        {.causal = true, .temperature = 3, .scale = 0.5},
    };
    for (at_tape *t = NULL; next_tape(&t);)
        for (int i = 0; i < 5; i++) {
            at_attention a = layer_of(t, kind[3].config);
            at_tensor *x = draw_text(t, B, ROWS);
            at_cache cache = at_cache_make(t, &a, B, ROWS + 2);
            assert_agree(decode_in(t, &cache, x, pieces[4], with[i]),
                         at_attention_apply(t, &a, x, NULL, with[i]), "option");
        }
}
END_TEST

START_TEST(without_causal_new_rows_see_each_other_and_all_before)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_attention a = layer_of(t, kind[1].config);
        at_tensor *x = draw_text(t, B, ROWS);
        at_cache cache = at_cache_make(t, &a, B, ROWS);
        at_attention_decode(t, &cache, rows_of(t, x, 0, 4), (at_sdpa_args){0});
        at_tensor *y = at_attention_decode(t, &cache, rows_of(t, x, 4, 3), (at_sdpa_args){0});
        at_tensor *whole = at_attention_apply(t, &a, x, NULL, (at_sdpa_args){0});
        assert_agree(y, rows_of(t, whole, 4, 3), "the last three");
    }
}
END_TEST

START_TEST(cross_attention_computes_its_keys_once)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int k = 0; k < KINDS; k++) {
            at_attention a = layer_of(t, kind[k].config);
            at_tensor *x = draw_text(t, B, ROWS), *m = draw_text(t, B, 5);
            at_tensor *key_len = at_ints(t, at_shape_of(B), (int32_t[]){3, 5});
            at_sdpa_args with = {.key_len = key_len};
            at_cache cache = at_cache_of(t, &a, m);
            const at_tensor *K = cache.K;
            assert_agree(decode_in(t, &cache, x, pieces[2], with),
                         at_attention_apply(t, &a, x, m, with), kind[k].what);
            ck_assert(cache.K == K && cache.position == ROWS);
        }
}
END_TEST

/* Row i of the whole sees keys 0 .. i of m. */
START_TEST(cross_attention_may_be_causal)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_attention a = layer_of(t, kind[1].config);
        at_tensor *x = draw_text(t, B, ROWS), *m = draw_text(t, B, 5);
        at_cache cache = at_cache_of(t, &a, m);
        at_sdpa_args with = {.causal = true, .align = ATTIC_ALIGN_TOP_LEFT};
        at_tensor *whole = at_attention_apply(t, &a, x, m, with);
        with.align = ATTIC_ALIGN_EQUAL;
        assert_agree(decode_in(t, &cache, x, pieces[3], with), whole, "causal");
    }
}
END_TEST

START_TEST(gradients_flow_through_cross_attention)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_attention a = layer_of(t, kind[3].config);
        at_no_grad(t, false);
        at_tensor *x = draw_text(t, B, ROWS), *m = variable_like(t, draw_text(t, B, 5)), *grad[2];
        for (int cached = 0; cached < 2; cached++) {
            at_cache cache = at_cache_of(t, &a, m);
            at_tensor *y = cached ? decode_in(t, &cache, x, pieces[3], (at_sdpa_args){0})
                                  : at_attention_apply(t, &a, x, m, (at_sdpa_args){0});
            ck_assert(at_backward(t, at_sum(t, at_square(t, y))));
            grad[cached] = at_grad_copy(t, m);
            at_zero_grads(t);
        }
        for (ptrdiff_t i = 0; i < at_count(m->shape); i++)
            assert_close(at_element(grad[0], i), at_element(grad[1], i), 20 * close_to(t));
    }
}
END_TEST

/* ------------------------------------------------------------------ capacity ------------------- */

static void poison_unused(const at_tensor *K, int taken)
{
    int context = K->shape.dim[1], width = at_last(K->shape);
    for (ptrdiff_t i = 0; i < at_count(K->shape); i++)
        if (i / width % context >= taken) at_store(K->dtype, K->data, i, (double)NAN);
}

START_TEST(what_is_not_filled_is_not_read)
{
    for (at_tape *t = NULL; next_tape(&t);)
        for (int path = ATTIC_FUSED; path <= ATTIC_PLAIN; path++)
            for (int causal = 0; causal < 2; causal++) {
                at_attention a = layer_of(t, kind[3].config);
                at_tensor *x = draw_text(t, B, 4);
                at_cache cache = at_cache_make(t, &a, B, 300); /* more than one tile of keys */
                poison_unused(cache.K, 0), poison_unused(cache.V, 0);
                at_sdpa_args with = {.causal = causal, .path = (at_sdpa_path)path};
                at_tensor *y = at_attention_decode(t, &cache, x, with);
                assert_agree(y, at_attention_apply(t, &a, x, NULL, with), "poisoned");
            }
}
END_TEST

START_TEST(the_room_is_as_large_as_was_asked_for)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention a = layer_of(t, kind[3].config);
    at_cache cache = at_cache_make(t, &a, 3, 10);
    ck_assert(at_same_shape(cache.K->shape, at_shape_of(3, 10, 4))); /* 2 heads of 2 */
    ck_assert(at_same_shape(cache.V->shape, at_shape_of(3, 10, 4)));
    at_close(t);
}
END_TEST

/* Two texts that begin at other positions than 0, and grow by one id. */
START_TEST(given_positions_are_those_of_the_new_rows)
{
    int32_t p[B * 6];
    for (int i = 0; i < B * 6; i++) p[i] = i % 6 + (i < 6 ? -3 : 50) + (i % 6 > 3);
    for (at_tape *t = NULL; next_tape(&t);) {
        at_attention a = layer_of(t, kind[3].config);
        at_tensor *x = draw_text(t, B, 6), *P = at_ints(t, at_shape_of(B, 6), p);
        at_sdpa_args with = {.causal = true, .positions = P};
        at_tensor *whole = at_attention_apply(t, &a, x, NULL, with);
        at_cache cache = at_cache_make(t, &a, B, 6);
        for (int i = 0; i < 6; i++) {
            with.positions = rows_of(t, P, i, 1);
            at_tensor *y = at_attention_decode(t, &cache, rows_of(t, x, i, 1), with);
            assert_agree(y, rows_of(t, whole, i, 1), "placed");
        }
        at_cache again = at_cache_make(t, &a, B, 6);
        with.positions = NULL, with.key_positions = P;
        ck_assert_ptr_null(at_attention_decode(t, &again, x, with));
        assert_error(t,
                     "attention: the keys of the cache are rotated: key_positions can't be given");
    }
}
END_TEST

static size_t bytes_of_a_step(int context)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention a = layer_of(t, kind[1].config);
    at_cache cache = at_cache_make(t, &a, B, context);
    at_tensor *x = draw_text(t, B, 1);
    size_t before = at_memory_of(t).step;
    at_attention_decode(t, &cache, x, (at_sdpa_args){.causal = true});
    size_t after = at_memory_of(t).step;
    at_close(t);
    return after - before;
}

START_TEST(a_step_takes_the_same_memory_however_large_the_room)
{
    ck_assert_uint_eq(bytes_of_a_step(4), bytes_of_a_step(4000));
}
END_TEST

START_TEST(steps_in_the_steady_state_ask_for_no_memory)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention a = layer_of(t, kind[3].config);
    at_cache cache = at_cache_make(t, &a, B, 40);
    at_tensor *x = draw_text(t, B, 1);
    at_mark step = at_mark_here(t);
    ptrdiff_t mallocs = 0;
    for (int i = 0; i < 40; i++) {
        at_attention_decode(t, &cache, x, (at_sdpa_args){.causal = true});
        at_rewind(t, step);
        if (i == 0) mallocs = at_mallocs();
    }
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert_int_eq(at_mallocs(), mallocs);
    at_close(t);
}
END_TEST

START_TEST(a_cache_set_back_forgets_what_came_after)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_attention a = layer_of(t, kind[1].config);
        at_tensor *x = draw_text(t, B, ROWS), *other = draw_text(t, B, ROWS);
        at_sdpa_args causal = {.causal = true};
        at_cache cache = at_cache_make(t, &a, B, ROWS);
        at_tensor *y = decode_in(t, &cache, x, pieces[0], causal);
        cache.position = 0;
        decode_in(t, &cache, other, pieces[1], causal);
        cache.position = 0;
        ck_assert(equal_bits(decode_in(t, &cache, x, pieces[0], causal), y));
        cache.position = 3;
        at_attention_decode(t, &cache, rows_of(t, other, 3, 4), causal);
        cache.position = 3;
        y = rows_of(t, y, 3, 4);
        assert_agree(at_attention_decode(t, &cache, rows_of(t, x, 3, 4), causal), y, "again");
    }
}
END_TEST

START_TEST(no_rows_and_no_batch_change_nothing)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_attention a = layer_of(t, kind[1].config);
    at_sdpa_args causal = {.causal = true};
    at_cache cache = at_cache_make(t, &a, B, 3), none = at_cache_make(t, &a, 0, 3);
    at_tensor *y = at_attention_decode(t, &cache, draw_text(t, B, 0), causal);
    ck_assert(at_same_shape(y->shape, at_shape_of(B, 0, C)) && cache.position == 0);
    y = at_attention_decode(t, &none, draw_text(t, 0, 2), causal);
    ck_assert(at_same_shape(y->shape, at_shape_of(0, 2, C)) && none.position == 2);
    at_cache full = at_cache_make(t, &a, B, 0);
    ck_assert_ptr_nonnull(at_attention_decode(t, &full, draw_text(t, B, 0), causal));
    at_close(t);
}
END_TEST

/* [.., .., a, b, c] with the first two masked is [a, b, c], though at other positions. */
START_TEST(texts_that_are_shorter_are_filled_up_on_the_left)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_attention a = layer_of(t, kind[1].config);
        at_tensor *x = draw_text(t, B, ROWS), *keep = at_bools(t, at_shape_of(B, 1, 1, 9), NULL);
        for (int i = 0; i < B * 9; i++) at_set(keep, i >= 2, i / 9, 0, 0, i % 9);
        at_cache cache = at_cache_make(t, &a, B, 9);
        at_sdpa_args with = {.causal = true, .keep = keep};
        at_tensor *y = decode_in(t, &cache, x, pieces[2], with);
        at_tensor *short_x = at_slice(t, rows_of(t, x, 2, ROWS - 2), 0, 0, 1);
        at_tensor *alone = at_attention_apply(t, &a, short_x, NULL, (at_sdpa_args){.causal = true});
        y = at_slice(t, rows_of(t, y, 2, ROWS - 2), 0, 0, 1);
        ck_assert_int_ne(at_compare(y, alone).similarity, ATTIC_DIFFERENT);
    }
}
END_TEST

/* ------------------------------------------------------------------ a transformer -------------- */

static at_tensor *some_ids(at_tape *t, int batch, int n)
{
    at_tensor *ids = at_ints(t, at_shape_of(batch, n), NULL);
    for (int i = 0; i < batch * n; i++) at_set(ids, (i * i + 3 * i) % 11, i / n, i % n);
    return ids;
}

static const at_model_config models[] = {
    {.vocab = 11, .context = 9, .layers = 2, .heads = 4, .dim = 16, .dropout = 0.1},
    {.vocab = 11,
     .context = 9,
     .layers = 2,
     .heads = 4,
     .dim = 16,
     .positions = ATTIC_LEARNED_POSITIONS},
    {.vocab = 11, .context = 9, .layers = 1, .heads = 1, .dim = 6},
    {.vocab = 11, .context = 9, .layers = 3, .heads = 4, .kv_heads = 2, .dim = 16},
    {.vocab = 11,
     .context = 9,
     .layers = 2,
     .heads = 4,
     .kv_heads = 2,
     .dim = 16,
     .norm = ATTIC_RMS,
     .act = ATTIC_SWIGLU,
     .rope_halves = true,
     .qk_norm = true,
     .gate = true,
     .untied = true},
    {.vocab = 11, .context = 9, .layers = 2, .heads = 2, .dim = 8, .post_norm = true},
    {.vocab = 11,
     .context = 9,
     .layers = 2,
     .heads = 2,
     .dim = 8,
     .no_ffn = true,
     .positions = ATTIC_NO_POSITIONS},
};
enum { MODELS = sizeof models / sizeof *models };

static at_model *model_of(at_tape *t, at_model_config c)
{
    at_train(t, false);
    at_no_grad(t, true);
    return at_model_make(t, c);
}

/* So many ids at once, then one by one, up to the context: each row as in `whole`. */
static void assert_decodes(at_tape *t, const at_model *m, at_tensor *ids, int prompt,
                           at_tensor *whole)
{
    at_mark here = at_mark_here(t);
    at_model_cache cache = at_model_cache_make(t, m, B);
    at_mark step = at_mark_here(t);
    for (int first = 0, T = prompt; first < m->config.context; first += T, T = 1) {
        at_tensor *y = at_model_decode(t, &cache, rows_of(t, ids, first, T));
        assert_agree(y, rows_of(t, whole, first, T), "logits");
        ck_assert_int_eq(cache.position, first + T);
        at_rewind(t, step);
    }
    at_rewind(t, here);
}

START_TEST(decoding_id_by_id_gives_the_logits_of_the_whole_text)
{
    for (int i = 0; i < MODELS; i++)
        for (at_tape *t = NULL; next_tape(&t);) {
            at_model *m = model_of(t, models[i]);
            at_tensor *ids = some_ids(t, B, models[i].context);
            at_tensor *whole = at_model_logits(t, m, ids, (at_model_args){0});
            for (int prompt = 0; prompt <= 9; prompt += prompt < 1 ? 1 : 4)
                assert_decodes(t, m, ids, prompt, whole);
        }
}
END_TEST

/* The fused path takes 128 keys at a time. */
START_TEST(decoding_goes_on_from_one_tile_of_keys_to_the_next)
{
    for (at_tape *t = NULL; next_tape(&t);) {
        at_model_config c = {.vocab = 11, .context = 258, .layers = 2, .heads = 2, .dim = 8};
        at_model *m = model_of(t, c);
        at_tensor *ids = some_ids(t, B, c.context);
        assert_decodes(t, m, ids, 253, at_model_logits(t, m, ids, (at_model_args){0}));
    }
}
END_TEST

START_TEST(decoding_is_the_same_to_the_bit_on_any_number_of_threads)
{
    at_tensor *y[3];
    at_tape *t[3];
    for (int n = 0; n < 3; n++) {
        at_threads(n + 1);
        t[n] = at_open(ATTIC_F32, 1);
        at_model *m = model_of(
            t[n],
            (at_model_config){.vocab = 11, .context = 300, .layers = 1, .heads = 4, .dim = 128});
        at_model_cache cache = at_model_cache_make(t[n], m, 4);
        at_model_decode(t[n], &cache, some_ids(t[n], 4, 290));
        y[n] = at_model_decode(t[n], &cache, some_ids(t[n], 4, 10));
    }
    at_threads(0);
    ck_assert(equal_bits(y[0], y[1]) && equal_bits(y[0], y[2]));
    for (int n = 0; n < 3; n++) at_close(t[n]);
}
END_TEST

START_TEST(grouped_heads_make_the_model_and_its_cache_smaller)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = model_of(t, models[3]);
    ck_assert(at_same_shape(m->block[2].attention.k.W->shape, at_shape_of(16, 8)));
    at_model_cache cache = at_model_cache_make(t, m, 2);
    ck_assert(at_same_shape(cache.layer[2].V->shape, at_shape_of(2, 9, 8)));
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ errors --------------------- */

/* Decoding x fails with this text, and the cache goes on as if it had not been asked. */
static void assert_no_step(at_tape *t, at_cache *cache, at_tensor *x, at_sdpa_args with,
                           const char *text)
{
    int position = cache->position;
    ck_assert_ptr_null(at_attention_decode(t, cache, x, with));
    assert_error(t, text);
    at_clear_error(t);
    ck_assert_int_eq(cache->position, position);
}

START_TEST(steps_that_do_not_fit_are_refused_and_the_cache_goes_on)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention a = layer_of(t, (at_attention_config){.dim = C, .heads = 2, .dropout = 0.5});
    at_cache cache = at_cache_make(t, &a, B, 5);
    at_tensor *x = draw_text(t, B, 5), *key_len = at_ints(t, at_shape_of(B), NULL);
    at_tensor *rest = rows_of(t, x, 3, 2);
    at_sdpa_args with = {.causal = true}, lengths = {.key_len = key_len};
    at_sdpa_args right = {.causal = true, .align = ATTIC_ALIGN_BOTTOM_RIGHT};
    at_attention_decode(t, &cache, rows_of(t, x, 0, 3), with);

    assert_no_step(
        t, &cache, rows_of(t, x, 0, 3), with,
        "attention: the cache has a capacity of 5 rows, and 3 are taken: 3 more don't fit");
    assert_no_step(t, &cache, draw_text(t, 3, 1), with,
                   "attention: x is [3,1,8], but the cache is for a batch of 2: [2,T,8]");
    assert_no_step(t, &cache, at_const(t, at_shape_of(1, C), NULL), with,
                   "attention: x is [1,8], but the cache is for a batch of 2: [2,T,8]");
    assert_no_step(t, &cache, at_const(t, at_shape_of(B, 1, 5), NULL), with,
                   "affine: X is [2,1,5] but W is \"layer0.q.W\" [8,8]: X must end in 8");
    assert_no_step(t, &cache, NULL, with, "attention: x is NULL");
    assert_no_step(t, &cache, rest, right,
                   "attention: where the diagonal lies follows from the cache: align and offset "
                   "must not be given");
    assert_no_step(t, &cache, rest, lengths,
                   "attention: key_len is that of the cache; keep can mask more");
    assert_agree(at_attention_decode(t, &cache, rest, with),
                 rows_of(t, at_attention_apply(t, &a, x, NULL, with), 3, 2), "after all that");
    at_close(t);
}
END_TEST

START_TEST(a_cache_that_grows_is_for_inference)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention a = layer_of(t, kind[0].config);
    at_cache cache = at_cache_make(t, &a, B, 5);
    at_tensor *x = draw_text(t, B, 2);
    at_train(t, true);
    assert_no_step(t, &cache, x, (at_sdpa_args){0},
                   "attention: a cache is for inference, but the tape is in train mode (see "
                   "at_train)");
    at_train(t, false), at_no_grad(t, false);
    assert_no_step(t, &cache, x, (at_sdpa_args){0},
                   "attention: a cache is for inference, but gradients are wanted (see "
                   "at_no_grad)");
    at_no_grad(t, true);
    ck_assert_ptr_nonnull(at_attention_decode(t, &cache, x, (at_sdpa_args){0}));
    at_close(t);
}
END_TEST

START_TEST(weights_written_since_are_noticed)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_train(t, false), at_no_grad(t, true);
    at_attention a = at_attention_make(t, kind[2].config, 1);
    at_cache self = at_cache_make(t, &a, B, 5), cross = at_cache_of(t, &a, draw_text(t, B, 3));
    at_tensor *x = draw_text(t, B, 2);
    at_attention_decode(t, &self, x, (at_sdpa_args){0});
    at_set(a.v.b, 1, 2);
    const char *text = "attention: \"k.W\" [8,8] or its like was written after the cache was "
                       "filled: start again";
    assert_no_step(t, &self, x, (at_sdpa_args){0}, text);
    assert_no_step(t, &cross, x, (at_sdpa_args){0}, text);
    self.position = 0;
    assert_agree(at_attention_decode(t, &self, x, (at_sdpa_args){0}),
                 at_attention_apply(t, &a, x, NULL, (at_sdpa_args){0}), "from the start");
    at_scope(t, "normed");
    at_attention_config normed = kind[2].config;
    normed.qk_norm = true;
    a = at_attention_make(t, normed, 1);
    cross = at_cache_of(t, &a, draw_text(t, B, 3));
    at_set(a.k_norm.g, 2, 0);
    assert_no_step(t, &cross, x, (at_sdpa_args){0},
                   "attention: \"normed.k.W\" [8,8] or its like was written after the cache was "
                   "filled: start again");
    at_close(t);
}
END_TEST

START_TEST(what_is_no_cache_is_refused)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_attention a = layer_of(t, kind[0].config), none = {0};
    at_tensor *x = draw_text(t, B, 2);
    at_cache empty = {0};
    ck_assert_ptr_null(at_attention_decode(t, NULL, x, (at_sdpa_args){0}));
    assert_error(t, "attention: the cache is NULL");
    at_clear_error(t);
    assert_no_step(t, &empty, x, (at_sdpa_args){0}, "attention: the cache is NULL");
    ck_assert_ptr_null(at_cache_make(t, &a, -1, 4).K);
    assert_error(t, "cache: a batch of -1 and a capacity of 4 rows: neither can be negative");
    at_clear_error(t);
    ck_assert_ptr_null(at_cache_make(t, NULL, 1, 4).K);
    assert_error(t, "cache: the layer is NULL");
    at_clear_error(t);
    ck_assert_ptr_null(at_cache_of(t, &none, x).K);
    assert_error(t, "cache: the layer's k.W is NULL");
    at_close(t);
}
END_TEST

/* Decoding ids fails with this text; the position stays. */
static void assert_no_ids(at_tape *t, at_model_cache *cache, at_tensor *ids, const char *text)
{
    int position = cache ? cache->position : 0;
    ck_assert_ptr_null(at_model_decode(t, cache, ids));
    assert_error(t, text);
    at_clear_error(t);
    ck_assert(!cache || cache->position == position);
}

START_TEST(ids_that_can_not_be_decoded_are_refused_and_the_text_goes_on)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = model_of(t, models[0]);
    at_model_cache cache = at_model_cache_make(t, m, B), empty = {0};
    at_tensor *ids = some_ids(t, B, 9);
    at_model_decode(t, &cache, rows_of(t, ids, 0, 7));
    assert_no_ids(t, &cache, rows_of(t, ids, 0, 3),
                  "model: ids are [2,3], but must be [B,T] with T <= 2, for 7 of 9 positions "
                  "are taken");
    assert_no_ids(t, &cache, some_ids(t, 3, 1),
                  "attention: x is \"norm\" [3,1,16], but the cache is for a batch of 2: [2,T,16]");
    assert_no_ids(t, &cache, at_ints(t, at_shape_of(2, 1), (int32_t[]){3, 11}),
                  "embedding: id is 11 at [1,0] but table is \"E\" [11,16]: ids must be in 0..10");
    assert_no_ids(t, &cache, NULL, "model: ids is NULL");
    assert_no_ids(t, NULL, ids, "model: the cache is NULL or empty");
    assert_no_ids(t, &empty, ids, "model: the cache is NULL or empty");
    at_model_cache_make(t, NULL, B);
    assert_error(t, "model: the model is NULL");
    at_clear_error(t);
    assert_agree(at_model_decode(t, &cache, rows_of(t, ids, 7, 2)),
                 rows_of(t, at_model_logits(t, m, ids, (at_model_args){0}), 7, 2),
                 "after all that");
    at_close(t);
}
END_TEST

/* Memory runs out in the middle of a step, at every place: some layers have written, others not. */
START_TEST(a_step_that_runs_out_of_memory_can_be_made_again)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model *m = model_of(t, models[0]);
    at_tensor *ids = some_ids(t, B, 9), *whole = at_model_logits(t, m, ids, (at_model_args){0}), *y;
    at_model_cache cache = at_model_cache_make(t, m, B);
    at_model_decode(t, &cache, rows_of(t, ids, 0, 4));
    at_tensor *next = rows_of(t, ids, 4, 2);
    at_mark step = at_mark_here(t);
    int failures = 0;
    for (;; failures++) {
        at_fail_allocation(failures + 1);
        y = at_model_decode(t, &cache, next);
        at_fail_allocation(0);
        if (y) break;
        ck_assert(at_error_kind_of(t) == ATTIC_MEMORY_ERROR && cache.position == 4);
        at_clear_error(t);
        at_rewind(t, step);
    }
    ck_assert_int_gt(failures, 20);
    assert_agree(y, rows_of(t, whole, 4, 2), "in the end");
    at_close(t);
}
END_TEST

SUITE(nn_cache, rows_in_pieces_are_the_rows_of_the_whole,
      every_path_and_every_option_sees_rows_at_their_positions,
      without_causal_new_rows_see_each_other_and_all_before, cross_attention_computes_its_keys_once,
      cross_attention_may_be_causal, gradients_flow_through_cross_attention,
      what_is_not_filled_is_not_read, given_positions_are_those_of_the_new_rows,
      the_room_is_as_large_as_was_asked_for, a_step_takes_the_same_memory_however_large_the_room,
      steps_in_the_steady_state_ask_for_no_memory, a_cache_set_back_forgets_what_came_after,
      no_rows_and_no_batch_change_nothing, texts_that_are_shorter_are_filled_up_on_the_left,
      decoding_id_by_id_gives_the_logits_of_the_whole_text,
      decoding_goes_on_from_one_tile_of_keys_to_the_next,
      decoding_is_the_same_to_the_bit_on_any_number_of_threads,
      grouped_heads_make_the_model_and_its_cache_smaller,
      steps_that_do_not_fit_are_refused_and_the_cache_goes_on, a_cache_that_grows_is_for_inference,
      weights_written_since_are_noticed, what_is_no_cache_is_refused,
      ids_that_can_not_be_decoded_are_refused_and_the_text_goes_on,
      a_step_that_runs_out_of_memory_can_be_made_again)
