/* test_generate.c -- evaluation and sampling: what they give, and that they leave no trace. */
#define _GNU_SOURCE
#include "train/generate.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tensors.h"

enum { CONTEXT = 8 };

static const char song[] = "one two three four five six seven eight nine ten one two three four";

static at_model *small_model(at_tape *t, int vocab)
{
    return at_model_make(t, (at_model_config){.vocab = vocab,
                                              .context = CONTEXT,
                                              .layers = 2,
                                              .heads = 2,
                                              .dim = 16,
                                              .dropout = 0.3});
}

static at_data *song_data(at_tape *t)
{
    const at_tokenizer *k = at_tokenizer_bytes(t, song, sizeof song - 1);
    ptrdiff_t n;
    const int32_t *ids = at_encode(t, k, song, -1, &n);
    return at_data_ids(t, ids, n, (at_data_args){.tokenizer = k});
}

static at_generate_args greedily(const char *prompt, int n)
{
    return (at_generate_args){.prompt = prompt, .n = n};
}

/* What is printed, in a text that the next call overwrites. */
static const char *generated(at_tape *t, const at_model *m, const at_data *d, at_generate_args a)
{
    static char text[400];
    FILE *f = tmpfile();
    ck_assert_int_ge(at_generate(t, m, d, a, f), 0);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

/* ------------------------------------------------------------------ no trace ------------------- */

/* Some steps of training with dropout; with a look in between, if asked for, also between forward
 * and backward.  The last loss and all parameters are added up. */
static double trained(bool look)
{
    at_tape *t = at_open(ATTIC_F32, 3);
    at_data *d = song_data(t);
    at_model *m = small_model(t, at_vocab(d));
    at_mark mark = at_mark_here(t);
    double sum = 0;
    for (int step = 0; step < 6; step++) {
        at_batch b = at_data_batch(t, d, (at_batch_args){.rows = 2, .length = 8, .step = step});
        at_tensor *loss = at_cross_entropy(t, at_model_logits(t, m, b.ids, (at_model_args){0}),
                                           b.target, (at_cross_entropy_args){0});
        if (look) {
            at_eval_args how = {.batches = 2, .rows = 2};
            at_memory before = at_memory_of(t);
            ck_assert(isfinite(at_model_loss(t, m, d, how)));
            at_generate_args say = {.prompt = "one", .n = 20, .temperature = 1};
            ck_assert_int_eq(at_generate(t, m, d, say, NULL), 20);
            ck_assert_uint_eq(at_memory_of(t).step, before.step);
            ck_assert_int_eq(at_memory_of(t).nodes, before.nodes);
            ck_assert(at_is_training(t));
            ck_assert(!at_no_grad(t, false));
        }
        at_backward(t, loss);
        at_adamw(t, 0.01, (at_adamw_args){0});
        sum += at_item(loss);
        at_rewind(t, mark);
    }
    for (int i = 0; i < at_param_count(t); i++)
        for (ptrdiff_t j = 0; j < at_count(at_param_at(t, i)->shape); j++)
            sum += at_element(at_param_at(t, i), j);
    ck_assert_msg(at_ok(t), "%s", at_error(t));
    ck_assert_uint_gt(at_draw(t).draw, 0);
    at_close(t);
    return sum;
}

START_TEST(a_training_that_is_looked_at_goes_on_with_the_same_bits)
{
    double alone = trained(false);
    ck_assert(trained(true) == alone);
}
END_TEST

START_TEST(the_modes_of_the_tape_are_restored_whatever_they_were)
{
    at_tape *t = at_open(ATTIC_F32, 3);
    at_data *d = song_data(t);
    at_model *m = small_model(t, at_vocab(d));
    at_train(t, false);
    at_no_grad(t, true);
    at_model_loss(t, m, d, (at_eval_args){.batches = 1, .rows = 1});
    at_generate(t, m, d, greedily("one", 3), NULL);
    ck_assert(!at_is_training(t) && at_no_grad(t, true));
    at_generate(t, m, d, greedily("", 3), NULL); /* after an error, too */
    ck_assert(!at_ok(t));
    ck_assert(!at_is_training(t) && at_no_grad(t, true));
    at_close(t);
}
END_TEST

static bool draw_a_stream(void *tape, int id, const char *bytes, int n)
{
    (void)id, (void)bytes, (void)n;
    at_draw(tape);
    return true;
}

START_TEST(draws_made_while_a_text_is_generated_are_taken_back)
{
    at_tape *t = at_open(ATTIC_F32, 3), *calm = at_open(ATTIC_F32, 3);
    at_data *d = song_data(t);
    at_model *m = small_model(t, at_vocab(d));
    small_model(calm, at_vocab(d));
    at_generate_args a = {.prompt = "one", .n = 5, .token = draw_a_stream, .ctx = t};
    ck_assert_int_eq(at_generate(t, m, d, a, NULL), 5);
    ck_assert_uint_eq(at_draw(t).draw, at_draw(calm).draw);
    at_close(t);
    at_close(calm);
}
END_TEST

/* ------------------------------------------------------------------ evaluation ----------------- */

START_TEST(the_loss_is_the_mean_over_the_windows_in_their_order)
{
    at_tape *t = at_open(ATTIC_F64, 3);
    at_data *d = song_data(t);
    at_model *m = small_model(t, at_vocab(d));
    ptrdiff_t n = at_data_count(d, ATTIC_TRAIN);
    int windows = (int)(n / CONTEXT);
    double nats = 0;
    at_train(t, false);
    for (int w = 0; w < windows; w++) { /* spread evenly: by hand */
        int32_t ids[CONTEXT + 1];
        at_data_read(t, d, ATTIC_TRAIN, w * (n - 1 - CONTEXT) / (windows - 1), CONTEXT + 1, ids);
        at_tensor *logits =
            at_model_logits(t, m, at_ints(t, at_shape_of(1, CONTEXT), ids), (at_model_args){0});
        nats += at_item(at_cross_entropy(t, logits, at_ints(t, at_shape_of(1, CONTEXT), ids + 1),
                                         (at_cross_entropy_args){0}));
    }
    for (int rows = 1; rows <= 5; rows++) /* the last batch may be filled up, and does not count */
        assert_close(at_model_loss(t, m, d, (at_eval_args){.rows = rows}), nats / windows, 1e-12);
    at_close(t);
}
END_TEST

START_TEST(the_loss_is_the_same_each_time_and_for_each_seed_of_the_data)
{
    at_tape *t = at_open(ATTIC_F32, 3), *other = at_open(ATTIC_F32, 4);
    at_data *d = song_data(t), *e = song_data(other);
    at_model *m = small_model(t, at_vocab(d));
    at_eval_args how = {.batches = 2, .rows = 3, .length = 5};
    double loss = at_model_loss(t, m, d, how);
    at_draw(t);
    ck_assert(at_model_loss(t, m, d, how) == loss);
    ck_assert(at_model_loss(t, m, e, how) == loss);
    at_close(t);
    at_close(other);
}
END_TEST

START_TEST(padding_does_not_count)
{
    at_tape *t = at_open(ATTIC_F64, 3);
    at_model *m = small_model(t, 10);
    const int32_t ids[] = {1, 2, 3, 4, 5, 6, 7};
    const int length[] = {5, 2};
    at_data *d = at_data_sequences(t, ids, length, 2, (at_data_args){.vocab = 10});
    at_data *first = at_data_sequences(t, ids, length, 1, (at_data_args){.vocab = 10});
    at_data *second = at_data_sequences(t, ids + 5, length + 1, 1, (at_data_args){.vocab = 10});
    at_eval_args how = {.rows = 2};
    double a = at_model_loss(t, m, first, how), b = at_model_loss(t, m, second, how);
    assert_close(at_model_loss(t, m, d, how), (4 * a + b) / 5, 1e-12); /* 4 targets and 1 */
    at_close(t);
}
END_TEST

/* ------------------------------------------------------------------ generation ----------------- */

START_TEST(what_is_generated_is_what_the_whole_text_would_give)
{
    at_tape *t = at_open(ATTIC_F64, 3);
    at_data *d = song_data(t);
    at_model *m = small_model(t, at_vocab(d));
    const at_tokenizer *k = at_data_tokenizer(d);
    char text[CONTEXT + 2] =
        "on"; /* by hand: the likeliest id, again and again, up to the context */
    at_train(t, false);
    for (int n = 2; n <= CONTEXT; n++) {
        ptrdiff_t count;
        const int32_t *ids = at_encode(t, k, text, -1, &count);
        at_tensor *logits =
            at_model_logits(t, m, at_ints(t, at_shape_of(1, n), ids), (at_model_args){0});
        int length, id = at_sample_row(logits, -1, (at_sample_args){0}, (at_stream){0, 0}, 0);
        text[n] = *at_token_bytes(k, id, &length);
    }
    ck_assert_str_eq(generated(t, m, d, greedily("on", CONTEXT - 1)), text);
    at_close(t);
}
END_TEST

START_TEST(a_text_goes_on_beyond_the_context_with_its_last_half)
{
    at_tape *t = at_open(ATTIC_F64, 3);
    at_data *d = song_data(t);
    at_model *m = small_model(t, at_vocab(d));
    char text[200], prompt[10] = "";
    snprintf(text, sizeof text, "%s", generated(t, m, d, greedily("one", 60)));
    ck_assert_int_eq((int)strlen(text), 63);
    /* With 8 ids read the context is full: then ids 5 to 8 are read again, later 10 to 13 ... */
    for (int at = 5; at + 9 < 63; at += 5) {
        memcpy(prompt, text + at, 4);
        ck_assert_mem_eq(generated(t, m, d, greedily(prompt, 5)), text + at, 9);
    }
    at_close(t);
}
END_TEST

START_TEST(a_prompt_longer_than_the_context_counts_with_its_end)
{
    at_tape *t = at_open(ATTIC_F64, 3);
    at_data *d = song_data(t);
    at_model *m = small_model(t, at_vocab(d));
    char text[100];
    snprintf(text, sizeof text, "%s", generated(t, m, d, greedily("one two three", 1)));
    ck_assert_int_eq(text[13], generated(t, m, d, greedily("wo three", 1))[8]);
    at_close(t);
}
END_TEST

START_TEST(the_text_follows_from_seed_and_stream)
{
    at_tape *t = at_open(ATTIC_F32, 3);
    at_data *d = song_data(t);
    at_model *m = small_model(t, at_vocab(d));
    at_generate_args a = {.prompt = "one", .n = 40, .temperature = 1};
    char text[100], other[100];
    snprintf(text, sizeof text, "%s", generated(t, m, d, a));
    at_draw(t);
    ck_assert_str_eq(generated(t, m, d, a), text);
    a.stream = 1;
    snprintf(other, sizeof other, "%s", generated(t, m, d, a));
    ck_assert_str_ne(other, text);
    at_close(t);
}
END_TEST

static bool count_tokens(void *ctx, int id, const char *bytes, int n)
{
    int *left = ctx;
    ck_assert_int_ge(id, 0);
    ck_assert(n == 1 && bytes);
    return --*left > 0;
}

START_TEST(a_callback_sees_each_id_and_may_end_the_text)
{
    at_tape *t = at_open(ATTIC_F32, 3);
    at_data *d = song_data(t);
    at_model *m = small_model(t, at_vocab(d));
    int left = 100;
    at_generate_args a = {.prompt = "one", .n = 9, .token = count_tokens, .ctx = &left};
    ck_assert_int_eq(at_generate(t, m, d, a, NULL), 9);
    ck_assert_int_eq(left, 91);
    left = 4;
    ck_assert_int_eq((int)strlen(generated(t, m, d, a)), 3 + 4);
    at_close(t);
}
END_TEST

START_TEST(a_stop_id_ends_the_text_and_is_not_printed)
{
    at_tape *t = at_open(ATTIC_F32, 3);
    at_data *d = song_data(t);
    at_model *m = small_model(t, at_vocab(d));
    at_generate_args a = {.prompt = "one", .n = 50, .temperature = 2};
    char text[100];
    snprintf(text, sizeof text, "%s", generated(t, m, d, a));
    int id = at_tokenizer_find(at_data_tokenizer(d), text + 20, 1);
    a.stop = &id;
    a.n_stop = 1;
    int n = (int)(strchr(text + 3, text[20]) - text); /* where it first came up */
    ck_assert_int_eq(at_generate(t, m, d, a, NULL), n - 3);
    text[n] = 0;
    ck_assert_str_eq(generated(t, m, d, a), text);
    at_close(t);
}
END_TEST

START_TEST(ids_can_be_continued_without_a_tokenizer)
{
    at_tape *t = at_open(ATTIC_F32, 3);
    at_model *m = small_model(t, 10);
    const int32_t ids[] = {1, 2, 3};
    at_generate_args a = {.ids = ids, .n_ids = 3, .n = 20};
    ck_assert_int_eq(at_generate(t, m, NULL, a, NULL), 20);
    ck_assert_str_eq(generated(t, m, NULL, a), "");
    at_close(t);
}
END_TEST

START_TEST(ids_without_a_text_are_never_drawn)
{
    at_tape *t = at_open(ATTIC_F32, 3);
    const at_tokenizer *k = at_tokenizer_bytes(t, "abc", -1);
    at_generate_args a = {.prompt = "abc", .n = 200, .temperature = 1, .tokenizer = k};
    /* a vocabulary of 64, of which 61 ids only fill it up */
    ck_assert_int_eq((int)strlen(generated(t, small_model(t, 64), NULL, a)), 203);
    at_close(t);
}
END_TEST

START_TEST(what_cannot_be_generated_is_named)
{
    at_tape *t = at_open(ATTIC_F32, 3);
    at_data *d = song_data(t);
    at_model *m = small_model(t, at_vocab(d));
    const struct {
        at_generate_args args;
        const char *message;
    } refused[] = {
        {{.prompt = "", .n = 3}, "generate: the prompt is empty: there is nothing to continue"},
        {{.prompt = "ONE", .n = 3}, "encode: U+004F at byte 0 has no token in this vocabulary"},
        {{.prompt = "one", .n = -1}, "generate: -1 ids behind a prompt of 3"},
        {{.prompt = "one", .n = 3, .temperature = -1},
         "sample: temperature is -1, but must be finite and >= 0"},
        {{.prompt = "one", .n = 3, .n_stop = 2}, "writer: stop is NULL, but n_stop is 2"},
    };
    for (int i = 0; i < (int)(sizeof refused / sizeof *refused); i++) {
        ck_assert_int_eq(at_generate(t, m, d, refused[i].args, NULL), -1);
        assert_error(t, refused[i].message);
        at_clear_error(t);
    }
    ck_assert_int_eq(at_generate(t, m, NULL, greedily("one", 3), NULL), -1);
    assert_error(t, "generate: there is no tokenizer for the prompt");
    at_clear_error(t);
    ck_assert_int_eq(at_generate(t, NULL, d, greedily("one", 3), NULL), -1);
    assert_error(t, "generate: the model is NULL");
    at_clear_error(t);
    ck_assert(isnan(at_model_loss(t, m, NULL, (at_eval_args){.rows = 1})));
    assert_error(t, "model_loss: the data is NULL");
    at_clear_error(t);
    ck_assert(isnan(at_model_loss(t, m, d, (at_eval_args){.rows = 0})));
    assert_error(t, "model_loss: 0 batches of 0 rows are not possible");
    at_clear_error(t);
    ck_assert(isnan(at_model_loss(t, m, d, (at_eval_args){.rows = 1, .split = ATTIC_HELD})));
    assert_error(t, "data: what is held out is empty (see held in at_data_args)");
    at_close(t);
}
END_TEST

/* What a terminal is sent for this prompt, in which each byte is a token. */
static const char *sent_to_terminal(const char *prompt)
{
    static char text[400];
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    ck_assert_int_eq(ioctl(terminal, TIOCSWINSZ, &(struct winsize){.ws_row = 24, .ws_col = 80}), 0);
    FILE *f = fopen(ptsname(terminal), "w");
    at_tape *t = at_open(ATTIC_F32, 3);
    at_tokenizer *k = at_tokenizer_bytes(t, prompt, (ptrdiff_t)strlen(prompt));
    const at_model *m = small_model(t, at_tokenizer_vocab(k));
    at_generate_args a = {.prompt = prompt, .tokenizer = k};
    ck_assert_msg(at_generate(t, m, NULL, a, f) == 0, "%s", at_error(t));
    fflush(f);
    text[read(terminal, text, sizeof text - 1)] = 0;
    fclose(f);
    close(terminal);
    at_close(t);
    return text;
}

START_TEST(a_terminal_gets_whole_characters_and_no_controls)
{
    ck_assert_str_eq(sent_to_terminal("a ä漢😀\tb"), "a ä漢😀\tb");
    ck_assert_str_eq(sent_to_terminal("\x1b[2J\x7f\xc2\x9b"
                                      "1m"),
                     "?[2J??1m");
    ck_assert_str_eq(sent_to_terminal("a\xe2\x80\xae"
                                      "b"),
                     "a?b");
    ck_assert_str_eq(sent_to_terminal("\xff\xc0\xafz"), "???z");
    ck_assert_str_eq(sent_to_terminal("\xe2\x82z\xc3"), "??z?");
}
END_TEST

SUITE(train_generate, a_terminal_gets_whole_characters_and_no_controls,
      a_training_that_is_looked_at_goes_on_with_the_same_bits,
      the_modes_of_the_tape_are_restored_whatever_they_were,
      draws_made_while_a_text_is_generated_are_taken_back,
      the_loss_is_the_mean_over_the_windows_in_their_order,
      the_loss_is_the_same_each_time_and_for_each_seed_of_the_data, padding_does_not_count,
      what_is_generated_is_what_the_whole_text_would_give,
      a_text_goes_on_beyond_the_context_with_its_last_half,
      a_prompt_longer_than_the_context_counts_with_its_end, the_text_follows_from_seed_and_stream,
      a_callback_sees_each_id_and_may_end_the_text, a_stop_id_ends_the_text_and_is_not_printed,
      ids_can_be_continued_without_a_tokenizer, ids_without_a_text_are_never_drawn,
      what_cannot_be_generated_is_named)
