/* test_writer.c -- ids that are pulled one by one: which, from what, and at what cost. */
#include "train/writer.h"

#include <string.h>

#include "tensor/arena.h"
#include "tensors.h"
#include "train/sample.h"

enum { CONTEXT = 8, VOCAB = 12 };

/* (A model that is tied says again what it read.) */
static at_model *small_model(at_tape *t)
{
    return at_model_make(t, (at_model_config){.vocab = VOCAB,
                                              .context = CONTEXT,
                                              .layers = 2,
                                              .heads = 2,
                                              .dim = 16,
                                              .untied = true,
                                              .dropout = 0.3});
}

/* New weights are so small that the last id decides almost alone on the next one. */
static void heed_all_that_is_read(at_tape *t)
{
    for (int i = 0; i < at_param_count(t); i++) {
        at_tensor *W = at_param_at(t, i);
        for (ptrdiff_t k = 0; k < at_count(W->shape) && W->shape.ndim == 2; k++)
            ((double *)W->data)[k] *= 6;
        at_written(W);
    }
}

/* A tape of doubles with a model, and a writer on it that takes the likeliest id. */
static at_writer *begin(at_tape **t, at_model **m)
{
    *t = at_open(ATTIC_F64, 3);
    *m = small_model(*t);
    heed_all_that_is_read(*t);
    return at_writer_open(*t, *m, (at_writer_args){0});
}

/* The next n ids, each as a letter, in a text that the fourth call from here overwrites. */
static const char *pulled(at_writer *w, int n)
{
    static char text[4][200];
    static int next;
    char *to = text[++next % 4];
    for (int i = 0; i < n; i++) to[i] = (char)('A' + at_writer_next(w));
    return to[n] = 0, to;
}

static void feed(at_writer *w, const char *letters)
{
    int32_t ids[200];
    const int n = (int)strlen(letters);
    for (int i = 0; i < n; i++) ids[i] = letters[i] - 'A';
    ck_assert(at_writer_feed(w, ids, n));
}

/* The likeliest id behind these, as a letter, by the model without a cache. */
static char likeliest(at_tape *t, const at_model *m, const char *letters)
{
    int32_t ids[CONTEXT], said[CONTEXT];
    const int n = (int)strlen(letters);
    for (int i = 0; i < n; i++) ids[i] = letters[i] - 'A';
    const bool training = at_train(t, false);
    at_tensor *x = at_ints(t, at_shape_of(1, n), ids);
    at_read_i32(at_argmax(t, at_model_logits(t, m, x, (at_model_args){0}), -1, false), said, n);
    at_train(t, training);
    return (char)('A' + said[n - 1]);
}

/* ------------------------------------------------------------------ which ids ------------------ */

static bool keep_id(void *ctx, int id, const char *bytes, int n)
{
    char **to = ctx;
    (void)bytes, (void)n;
    *(*to)++ = (char)('A' + id);
    return true;
}

START_TEST(they_are_those_of_at_generate)
{
    static const at_generate_args kind[] = {{.temperature = 0},
                                            {.temperature = 1},
                                            {.temperature = 2, .top_k = 4, .stream = 7},
                                            {.temperature = 1.5, .top_p = 0.8},
                                            {.temperature = 1, .cache = ATTIC_BF16}};
    const int32_t prompt[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    for (int k = 0; k < 5; k++)
        for (int n = 1; n <= 11; n += 5) {
            at_tape *t = at_open(ATTIC_F32, 3);
            at_model *m = small_model(t);
            at_generate_args a = kind[k];
            char said[41] = "", *to = said;
            a.ids = prompt, a.n_ids = n, a.n = 40, a.token = keep_id, a.ctx = &to;
            ck_assert_int_eq(at_generate(t, m, NULL, a, NULL), 40);
            at_writer *w = at_writer_open(t, m,
                                          (at_writer_args){.temperature = a.temperature,
                                                           .top_k = a.top_k,
                                                           .top_p = a.top_p,
                                                           .stream = a.stream,
                                                           .cache = a.cache});
            for (int i = 0; i < n; i++) ck_assert(at_writer_feed(w, &prompt[i], 1));
            ck_assert_str_eq(pulled(w, 40), said);
            at_close(t);
        }
}
END_TEST

/* By the model without a cache: id i with number i of the text's stream. */
START_TEST(each_id_is_drawn_with_a_number_of_its_own)
{
    at_tape *t = at_open(ATTIC_F64, 3);
    at_model *m = small_model(t);
    const at_sample_args how = {.temperature = 3, .top_k = 9};
    const at_stream stream = {at_seed(t), (uint64_t)3 << 62 | 5};
    at_writer *w =
        at_writer_open(t, m, (at_writer_args){.temperature = 3, .top_k = 9, .stream = 5});
    int32_t ids[CONTEXT] = {4};
    feed(w, "E");
    for (int n = 1; n < CONTEXT; n++) {
        ids[n] = at_writer_next(w);
        const at_eval e = at_eval_begin(t);
        at_tensor *x = at_ints(t, at_shape_of(1, n), ids);
        const at_tensor *logits = at_model_logits(t, m, x, (at_model_args){0});
        ck_assert_int_eq(at_sample_row(logits, -1, how, stream, (uint64_t)n - 1), ids[n]);
        at_eval_end(t, e);
    }
    at_close(t);
}
END_TEST

START_TEST(text_that_is_fed_later_goes_on_in_the_same_cache)
{
    at_tape *t;
    at_model *m;
    at_writer *w = begin(&t, &m);
    char text[CONTEXT + 1] = "BC";
    feed(w, "BC");
    strcat(text, pulled(w, 2));
    feed(w, "LJ"); /* behind an id that the cache has not seen yet */
    strcat(text, "LJ");
    const char expected = likeliest(t, m, text);
    ck_assert_str_eq(pulled(w, 1), ((char[]){expected, 0}));
    at_close(t);
}
END_TEST

START_TEST(a_full_context_begins_anew_with_its_last_half_or_with_all_that_is_new)
{
    at_tape *t;
    at_model *m;
    at_writer *w = begin(&t, &m);
    feed(w, "BCDEFGH"); /* 7 of 8 */
    char last[2 * CONTEXT];
    snprintf(last, sizeof last, "FGH%s", pulled(w, 1));
    feed(w, "A"); /* 9: the last 4 are read again */
    strcat(last, "A");
    ck_assert_int_ne(likeliest(t, m, last), likeliest(t, m, last + 1)); /* it can be told */
    ck_assert_int_eq(*pulled(w, 1), likeliest(t, m, last + 1));
    feed(w, "ABCDEF"); /* 5 and 6, of which 7 are new: more than half */
    snprintf(last, sizeof last, "%c%s", likeliest(t, m, last + 1), "ABCDEF");
    ck_assert_int_ne(likeliest(t, m, last), likeliest(t, m, last + 3));
    ck_assert_int_eq(*pulled(w, 1), likeliest(t, m, last));
    feed(w, "LKJIHGFEDCBA"); /* more than there is place for */
    ck_assert_int_eq(*pulled(w, 1), likeliest(t, m, "HGFEDCBA"));
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    at_close(t);
}
END_TEST

START_TEST(a_stop_id_ends_the_text_until_more_is_fed)
{
    at_tape *t;
    at_model *m;
    begin(&t, &m);
    char text[CONTEXT + 1] = "AC",
                        behind = 0; /* two ids, three more, and what comes behind these */
    do {
        for (int n = 2; n < 6; n++) {
            text[n] = 0;
            behind = likeliest(t, m, text);
            if (n < 5) text[n] = behind;
        }
    } while ((strchr(text, text[4]) < text + 4 || behind == text[4]) && text[0]++ < 'L');
    ck_assert_int_le(text[0], 'L');
    int32_t stop[2] = {-1, text[4] - 'A'};
    at_writer *w = at_writer_open(t, m, (at_writer_args){.stop = stop, .n_stop = 2});
    stop[1] = -1; /* (they were copied) */
    feed(w, ((char[]){text[0], text[1], 0}));
    ck_assert_int_eq(strncmp(pulled(w, 2), text + 2, 2), 0);
    for (int i = 0; i < 3; i++) ck_assert_int_eq(at_writer_next(w), -1);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    char stops = text[4], expected = stops;
    for (char next = 'A'; expected == stops; next++) { /* in the place of the one that stops */
        text[4] = next;
        expected = likeliest(t, m, text);
    }
    feed(w, text + 4);
    ck_assert_str_eq(pulled(w, 1), ((char[]){expected, 0}));
    at_close(t);
}
END_TEST

START_TEST(a_text_is_encoded_and_ids_without_a_token_are_never_drawn)
{
    at_tape *t = at_open(ATTIC_F32, 3);
    const at_tokenizer *k = at_tokenizer_bytes(t, "ABC", -1);
    at_model *m = small_model(t);
    at_writer *w = at_writer_open(t, m, (at_writer_args){.tokenizer = k, .temperature = 3}), *v;
    v = at_writer_open(t, m, (at_writer_args){.tokenizer = k, .temperature = 3});
    const at_memory before = at_memory_of(t);
    ck_assert(at_writer_feed_text(w, "CAB"));
    ck_assert_uint_eq(at_memory_of(t).step, before.step);
    feed(v, "CAB");
    for (int i = 0; i < 200; i++) {
        const int id = at_writer_next(w);
        ck_assert(id >= 0 && id < 3);
        ck_assert_int_eq(at_writer_next(v), id); /* and two on a tape are in nobody's way */
    }
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ no trace ------------------- */

START_TEST(between_two_ids_the_tape_is_as_if_there_were_no_writer)
{
    double sum[2] = {0};
    for (int look = 0; look < 2; look++) {
        at_tape *t = at_open(ATTIC_F32, 3);
        at_model *m = small_model(t);
        at_mark start = at_mark_here(t);
        for (int step = 0; step < 4; step++, at_rewind(t, start)) {
            at_writer *w = look ? at_writer_open(t, m, (at_writer_args){.temperature = 1}) : NULL;
            if (look) feed(w, "ABC");
            at_tensor *x = at_random(t, at_shape_of(2, 4), at_normal(1));
            at_tensor *ids = at_argmax(t, x, -1, false), *y;
            ids = at_reshape(t, ids, at_shape_of(1, 2));
            const at_memory before = at_memory_of(t);
            for (int i = 0; look && i < 6; i++) ck_assert_int_ge(at_writer_next(w), 0);
            ck_assert_uint_eq(at_memory_of(t).step, before.step);
            ck_assert_int_eq(at_memory_of(t).nodes, before.nodes);
            ck_assert(at_is_training(t) && !at_no_grad(t, false));
            y = at_mean(t, at_square(t, at_model_logits(t, m, ids, (at_model_args){0})));
            for (int i = 0; look && i < 6; i++) ck_assert_int_ge(at_writer_next(w), 0);
            at_backward(t, y);
            for (int i = 0; look && i < 6; i++) ck_assert_int_ge(at_writer_next(w), 0);
            at_adamw(t, 0.01, (at_adamw_args){0});
            sum[look] += at_item(y) + at_element(m->E, step);
        }
        ck_assert_msg(at_ok(t), "%s", at_error(t));
        at_close(t);
    }
    ck_assert(sum[0] == sum[1]);
}
END_TEST

START_TEST(no_id_asks_for_memory_once_the_context_was_full)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_writer *w = at_writer_open(t, small_model(t), (at_writer_args){.temperature = 1});
    const at_memory opened = at_memory_of(t);
    feed(w, "ABC");
    ck_assert_int_ge(at_writer_next(w), 0);
    ptrdiff_t mallocs = at_mallocs();
    at_memory used = at_memory_of(t);
    ck_assert_uint_eq(used.step, opened.step);
    for (int i = 0; i < 10 * CONTEXT; i++) {
        ck_assert_int_ge(at_writer_next(w), 0);
        if (i % 7 == 0) feed(w, "LK");
        if (i == CONTEXT) mallocs = at_mallocs(), used = at_memory_of(t);
        if (i > CONTEXT || i < 2) ck_assert_int_eq(at_mallocs(), mallocs);
    }
    const at_memory now = at_memory_of(t);
    ck_assert_uint_eq(now.step, used.step);
    ck_assert_uint_eq(now.step_peak, used.step_peak);
    ck_assert_uint_eq(now.permanent, used.permanent);
    ck_assert_uint_eq(now.reserved, used.reserved);
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ errors --------------------- */

START_TEST(what_cannot_be_written_is_named_and_changes_nothing)
{
    at_tape *t;
    at_model *m;
    at_writer *w = begin(&t, &m);
    ck_assert_int_eq(at_writer_next(w), -1);
    assert_error(t, "writer: nothing was fed: there is no text yet");
    ck_assert_int_eq(at_writer_next(w), -1); /* on a failed tape, too */
    ck_assert(!at_writer_feed(w, (int32_t[]){1}, 1));
    at_clear_error(t);
    feed(w, "ABC");
    ck_assert(!at_writer_feed(w, (int32_t[]){1, VOCAB}, 2));
    assert_error(t, "writer: id 1 is 12, but must be in 0..11");
    at_clear_error(t);
    ck_assert(!at_writer_feed(w, NULL, 2));
    assert_error(t, "writer: 2 ids at NULL");
    at_clear_error(t);
    ck_assert(!at_writer_feed(w, (int32_t[]){1}, -1));
    at_clear_error(t);
    ck_assert(!at_writer_feed_text(w, "A"));
    ck_assert(!at_ok(t));
    at_clear_error(t);
    const double kept = at_get(m->head.W, 0, 0);
    at_set(m->head.W, (double)NAN, 0, 0); /* found when all is read and an id is to be drawn */
    ck_assert_int_eq(at_writer_next(w), -1);
    ck_assert(!at_ok(t));
    at_clear_error(t);
    at_set(m->head.W, kept, 0, 0);
    ck_assert_int_eq(*pulled(w, 1), likeliest(t, m, "ABC"));
    ck_assert_ptr_null(at_writer_open(t, NULL, (at_writer_args){0}));
    assert_error(t, "writer: the model is NULL");
    at_clear_error(t);
    ck_assert_ptr_null(at_writer_open(t, m, (at_writer_args){.n_stop = 2}));
    assert_error(t, "writer: stop is NULL, but n_stop is 2");
    at_clear_error(t);
    at_set(m->block[0].attention.k.W, 1, 0, 0);
    ck_assert_int_eq(at_writer_next(w), -1);
    ck_assert_ptr_nonnull(strstr(at_error(t), "was written after the cache was filled"));
    ck_assert(!at_writer_feed(NULL, NULL, 0) && !at_writer_feed_text(NULL, ""));
    ck_assert_int_eq(at_writer_next(NULL), -1);
    at_close(t);
}
END_TEST

/* 12 ids, where allocation n fails, and the call that needed it is made again. */
static const char *interrupted(ptrdiff_t n, bool *failed)
{
    static char said[2][13];
    char *to = said[n > 0];
    at_tape *t = at_open(ATTIC_F32, 3);
    at_model *m = small_model(t);
    at_writer *w = NULL;
    *failed = false;
    at_fail_allocation(n);
    for (int i = 0; i < 12;) {
        if (!w && (w = at_writer_open(t, m, (at_writer_args){.temperature = 1}))) feed(w, "BC");
        const int id = at_writer_next(w);
        if (id >= 0) to[i++] = (char)('A' + id);
        ck_assert(id >= 0 || at_error_kind_of(t) == ATTIC_MEMORY_ERROR);
        *failed |= id < 0;
        at_clear_error(t);
    }
    at_fail_allocation(0);
    at_close(t);
    return to;
}

START_TEST(a_call_that_found_no_memory_can_be_made_again)
{
    bool failed;
    const char *undisturbed = interrupted(0, &failed);
    ptrdiff_t n = 0;
    ck_assert(!failed);
    do ck_assert_str_eq(interrupted(++n, &failed), undisturbed);
    while (failed);
    ck_assert_int_gt(n, 300);
}
END_TEST

SUITE(train_writer, they_are_those_of_at_generate, each_id_is_drawn_with_a_number_of_its_own,
      text_that_is_fed_later_goes_on_in_the_same_cache,
      a_full_context_begins_anew_with_its_last_half_or_with_all_that_is_new,
      a_stop_id_ends_the_text_until_more_is_fed,
      a_text_is_encoded_and_ids_without_a_token_are_never_drawn,
      between_two_ids_the_tape_is_as_if_there_were_no_writer,
      no_id_asks_for_memory_once_the_context_was_full,
      what_cannot_be_written_is_named_and_changes_nothing,
      a_call_that_found_no_memory_can_be_made_again)
