/* train.c -- example 05 for the page: its model, trained a step at a time, and one word looked at.
 *
 * The gradient of the loss with respect to the scores, dS, is that of a bias of zeros: it is added
 * to the scores, so both have the same gradient.  The batch of a training step needs none.  A word
 * looked at is a batch of one, with a loss of its own; the gradients that its backward leaves at the
 * parameters are cleared, so that looking changes nothing in the training.
 *
 * What a step draws, its words, follows from the seed and the number of the step, as in a run
 * (train/run.h): so a run goes on with what was saved here, and the other way round, with the bits
 * of a training that was never saved.  (The example draws all words in a row, hence other ones.)
 *
 * The example is compiled into this file, with its main under another name.  All of it is static, for
 * it is one program to be read from its top; the page must train that one, and not a copy.  Its ops
 * that have a parameter also note what they read and gave. */
#include <math.h>
#include <stdlib.h>

#include "attic_train.h"
#include "page/train.h"
#include "train/position.h"

/* y = x W, or another function of x with the parameter W, in the order of logits. */
static struct {
    at_tensor *x, *W, *y;
} seen[TRAIN_MAPS];

static at_tensor *note(train_map k, at_tensor *x, at_tensor *W, at_tensor *y)
{
    seen[k].x = x, seen[k].W = W, seen[k].y = y;
    return y;
}

static int next_map; /* after the one that was seen last */

static at_tensor *seen_embedding(at_tape *t, at_tensor *E, at_tensor *ids)
{
    next_map = TRAIN_E_READ + 1;
    return note(TRAIN_E_READ, ids, E, at_embedding(t, E, ids));
}

static at_tensor *seen_norm(at_tape *t, at_tensor *x, at_tensor *g, double eps)
{
    return note((train_map)next_map++, x, g, at_rms_norm(t, x, g, eps));
}

static at_tensor *seen_product(at_tape *t, at_tensor *x, at_tensor *W)
{
    return note((train_map)next_map++, x, W, at_matmul(t, x, W));
}

static at_tensor *seen_logits(at_tape *t, at_tensor *x, bool tx, at_tensor *E, bool tE)
{
    return note(TRAIN_E_PREDICTED, x, E, at_matmul_t(t, x, tx, E, tE));
}

int toy_transformer(int argc, char **argv);
#define main toy_transformer
#define at_embedding seen_embedding
#define at_rms_norm seen_norm
#define at_matmul seen_product
#define at_matmul_t seen_logits
#include "../../examples/05_toy_transformer.c" /* NOLINT(bugprone-suspicious-include) */
#undef main
#undef at_embedding
#undef at_rms_norm
#undef at_matmul
#undef at_matmul_t

_Static_assert((int)TRAIN_LETTERS == (int)WORD, "a word of the page is one of the example");
_Static_assert((int)TRAIN_WIDEST == 4 * (int)C, "and so is the feed-forward net");

static struct training {
    at_tape *t;
    model m;
    at_mark step;
    at_position at; /* as a run would stand there */
    int seed;
    double right;
    int text[T + 1]; /* "word|drow", as fill_batch writes it */
    double P[T * T], dS[T * T];
    float x[TRAIN_MAPS][T * TRAIN_WIDEST], dy[TRAIN_MAPS][T * TRAIN_WIDEST]; /* see train_vote */
} training;

static char error[1000];

int train_open(int seed)
{
    if (training.t) at_close(training.t);
    training.t = at_open(ATTIC_F32, (uint64_t)seed);
    training.m = make_model(training.t);
    training.step = at_mark_here(training.t);
    training.at = (at_position){.micros = 1, .best = (double)INFINITY};
    training.seed = seed;
    training.right = 0;
    return at_ok(training.t);
}

static at_tensor *loss_of(at_tape *t, at_tensor *y, at_tensor *target)
{
    return at_cross_entropy(t, y, target,
                            (at_cross_entropy_args){.ignore = true, .ignore_index = -1});
}

double train_gradients(void)
{
    at_tape *t = training.t;
    at_tensor *ids, *target;
    fill_batch(t, &ids, &target);
    at_tensor *y = logits(t, training.m, ids, (at_sdpa_args){.causal = true, .heads = 1});
    at_tensor *loss = loss_of(t, y, target);
    double nats = at_item(loss);
    training.right = accuracy(t, y, target);
    at_backward(t, loss);
    return nats;
}

bool train_update(void)
{
    at_tape *t = training.t;
    at_clip_grad_norm(t, 1);
    at_adamw(t, 0.003, (at_adamw_args){0});
    bool ok = at_ok(t);
    at_rewind(t, training.step);
    return ok;
}

double train_step(void)
{
    at_draws_set(training.t, training.at.step, 0);
    double nats = train_gradients();
    training.at.step++;
    return train_update() ? nats : (double)NAN;
}

double train_right(void)
{
    return training.right;
}

int *train_text(void)
{
    return training.text;
}

/* ------------------------------------------------------------------ votes ---------------------- */

int train_rows(int map)
{
    return (int)(at_count(seen[map].W->shape) / train_columns(map));
}

int train_columns(int map)
{
    return at_last(seen[map].W->shape);
}

float *train_x(int map)
{
    return training.x[map];
}

float *train_dy(int map)
{
    return training.dy[map];
}

/* x / sqrt(mean(x^2) + eps), as at_rms_norm computes it, in double */
static double normalised(const float *x, int c)
{
    double squares = 0;
    for (int k = 0; k < C; k++) squares += (double)x[k] * (double)x[k];
    return (double)x[c] / sqrt(squares / C + 1e-6);
}

double train_vote(int map, int t, int c, int e)
{
    const float *x = training.x[map], *dy = training.dy[map];
    switch (map) {
    case TRAIN_E_READ: return x[t] == (float)c ? (double)dy[t * C + e] : 0;
    case TRAIN_E_PREDICTED: return (double)x[t * C + e] * (double)dy[t * VOCAB + c];
    case TRAIN_G1:
    case TRAIN_G2:
    case TRAIN_G3: return normalised(x + (ptrdiff_t)t * C, e) * (double)dy[t * C + e];
    default: return (double)x[t * train_rows(map) + c] * (double)dy[t * train_columns(map) + e];
    }
}

/* Of one weight: the sum of its votes and of their sizes, of all the maps that have it */
static double sum_of_votes(const at_tensor *W, int c, int e, double *sizes)
{
    double sum = *sizes = 0;
    for (int map = 0; map < TRAIN_MAPS; map++)
        for (int t = 0; seen[map].W == W && t < T; t++) {
            const double vote = train_vote(map, t, c, e);
            sum += vote;
            *sizes += fabs(vote);
        }
    return sum;
}

/* By how much the sums differ from the gradients of the library, in units of 2^-24 of their sizes,
 * at most */
static double votes_off(void)
{
    double most = 0;
    for (int map = 0; map < TRAIN_MAPS; map++)
        for (int c = 0; c < train_rows(map); c++)
            for (int e = 0; e < train_columns(map); e++) {
                double sizes;
                const double sum = sum_of_votes(seen[map].W, c, e, &sizes);
                const double dW = at_grad_element(seen[map].W, c * train_columns(map) + e);
                if (fabs(sum - dW) > most * 0x1p-24 * sizes)
                    most = fabs(sum - dW) / (0x1p-24 * sizes);
            }
    return most;
}

/* What each map read, and the gradient of what it gave */
static void keep_votes(void)
{
    for (int map = 0; map < TRAIN_MAPS; map++) {
        const at_tensor *x = seen[map].x, *y = seen[map].y;
        for (ptrdiff_t k = 0; k < at_count(x->shape); k++)
            training.x[map][k] = (float)at_element(x, k);
        for (ptrdiff_t k = 0; k < at_count(y->shape); k++)
            training.dy[map][k] = (float)at_grad_element(y, k);
    }
}

/* ------------------------------------------------------------------ one word ------------------- */

/* Reads the word; off: NULL, or where votes_off is written to. */
static double look(double *off)
{
    at_tape *t = training.t;
    int *text = training.text;
    at_tensor *ids = at_ints(t, at_shape_of(1, T), NULL);
    at_tensor *target = at_ints(t, at_shape_of(1, T), NULL);
    double zeros[T * T] = {0};
    at_tensor *bias = at_variable(t, at_shape_of(T, T), zeros), *P = NULL;
    text[WORD] = BAR;
    for (int i = 0; i < WORD; i++) text[T - i] = text[i];
    for (int i = 0; at_ok(t) && i < T; i++) {
        at_set(ids, text[i], 0, i);
        at_set(target, i < WORD ? -1 : text[i + 1], 0, i);
    }
    at_sdpa_args args = {.causal = true, .heads = 1, .bias = bias, .weights = &P};
    at_tensor *loss = loss_of(t, logits(t, training.m, ids, args), target);
    double nats = at_item(loss);
    at_backward(t, loss);
    bool ok = at_ok(t);
    for (int e = 0; ok && e < T * T; e++) {
        training.P[e] = at_element(P, e);
        training.dS[e] = at_grad_element(bias, e);
    }
    if (ok) keep_votes();
    if (ok && off) *off = votes_off();
    at_zero_grads(t);
    at_rewind(t, training.step);
    return ok ? nats : (double)NAN;
}

double train_look(void)
{
    return look(NULL);
}

double train_votes_off(void)
{
    double off = (double)INFINITY;
    look(&off);
    return off;
}

double *train_P(void)
{
    return training.P;
}

double *train_dS(void)
{
    return training.dS;
}

/* A letter written is read with the next one. */
int train_write(void)
{
    at_tape *t = training.t;
    int *text = training.text;
    bool ok = true;
    text[WORD] = BAR;
    for (int i = WORD + 1; i <= T; i++) text[i] = 0; /* causal: not read before it is written */
    for (int i = WORD; ok && i < T; i++) {
        at_tensor *ids = at_ints(t, at_shape_of(1, T), NULL);
        for (int j = 0; at_ok(t) && j < T; j++) at_set(ids, text[j], 0, j);
        at_tensor *y = logits(t, training.m, ids, (at_sdpa_args){.causal = true, .heads = 1});
        at_tensor *guess = at_argmax(t, y, -1, false);
        ok = at_ok(t);
        if (ok) text[i + 1] = (int)at_get(guess, 0, i);
        at_rewind(t, training.step);
    }
    return ok;
}

/* ------------------------------------------------------------------ the file ------------------ */

static const char path[] = "checkpoint.safetensors";

int train_save(void)
{
    at_tape *t = training.t;
    if (at_checkpoint_save(t, path, &training.at)) return 1;
    snprintf(error, sizeof error, "%s", at_error(t));
    if (at_error_kind_of(t) == ATTIC_FILE_ERROR) at_clear_error(t);
    return 0;
}

/* -1 if the file says none, or cannot be read. */
static double seed_of_file(void)
{
    at_tape *t = at_open(ATTIC_F32, 0);
    const at_tensors *file = at_tensors_open(t, path);
    const char *text = file ? at_tensors_metadata(file, "seed") : NULL;
    double seed = text ? strtod(text, NULL) : -1;
    at_close(t);
    return seed;
}

/* The model is made with the seed of the file.  What is wrong with a file that says none,
 * at_checkpoint_load finds and names. */
static bool load(void)
{
    double seed = seed_of_file();
    if (seed > TRAIN_SEED) {
        snprintf(error, sizeof error, "%s: the seed is %.0f, but must be at most %d here", path,
                 seed, TRAIN_SEED);
        return false;
    }
    bool good =
        train_open(seed >= 0 ? (int)seed : 1) && at_checkpoint_load(training.t, path, &training.at);
    snprintf(error, sizeof error, "%s", at_error(training.t));
    if (!good || training.at.step <= TRAIN_STEPS) return good;
    snprintf(error, sizeof error, "%s: %d steps are done, but a training here has %d", path,
             training.at.step, TRAIN_STEPS);
    return false;
}

int train_load(void)
{
    struct training before = training;
    training.t = NULL;
    bool good = load();
    at_close(good ? before.t : training.t);
    if (!good) training = before;
    return good;
}

const char *train_error(void)
{
    return error;
}

int train_done(void)
{
    return training.at.step;
}

int train_seed(void)
{
    return training.seed;
}

at_tape *train_tape(void)
{
    return training.t;
}
