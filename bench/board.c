/* board.c -- one run of the board (docs/board.md): a recipe, a seed, and what they come to.
 *
 *     board --steps 1000 --lr 2e-3 --seed 3
 *
 * A recipe is a file of options.  `make speedrun` runs all of them, ten seeds each, and
 * scripts/board.sh makes the tables of docs/board.md from the lines that are printed here:
 *
 *     seed  steps  loss on all that is held out  CPU seconds of training  parameters  threads
 *
 * Track 0 learns made-up names, one a step, with a model of the size of microgpt; track 1 learns
 * prose (common/prose.h) with the sizes of nanoGPT's preset for CPUs.  The data of a track is the
 * same for all recipes and seeds; the seed decides on the first weights and on the order of the
 * batches. */
#include "attic_train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/names.h"
#include "common/options.h"
#include "common/prose.h"

/* The last tenth of each is held out. */
enum { TEXT = 1000000, NAMES = 3000 /* of which those that are alike count once */ };
enum { NAME_ROWS = 1, ROWS = 12, HELD_ROWS = 32, CONTEXT = 64 };

static int track = 1, seed = 1, threads = 2, steps = 2000, warmup = 100, every;
static int rope, qk_norm, zero_outputs;
static double lr = 1e-3, low = 0.1, cooldown, beta1 = 0.9, beta2 = 0.99, decay = 0.1, clip = 1,
              softcap, muon, muon_momentum = 0.95, muon_decay;
static const char *act = "gelu", *schedule = "cosine";

static const option table[] = {
    {"track", &track, NULL, NULL, 0, 1, "0: names, 1: prose"},
    {"seed", &seed, NULL, NULL, 0, 2147483647, "of weights and batches"},
    {"threads", &threads, NULL, NULL, 1, AT_MAX_THREADS, "they change no bit of a loss"},
    {"steps", &steps, NULL, NULL, 1, 1e9, "of training"},
    {"warmup", &warmup, NULL, NULL, 0, 1e9, "steps until the learning rate is at its peak"},
    {"schedule", NULL, NULL, &schedule, 0, 0, "cosine or linear, down to --low"},
    {"cooldown", NULL, &cooldown, NULL, 0, 1, "the share of steps that goes down; 0: all"},
    {"lr", NULL, &lr, NULL, 0, 10, "peak learning rate of AdamW"},
    {"low", NULL, &low, NULL, 0, 1, "last learning rate, as a share of the peak"},
    {"beta1", NULL, &beta1, NULL, 0, 1, "of AdamW"},
    {"beta2", NULL, &beta2, NULL, 0, 1, "of AdamW"},
    {"decay", NULL, &decay, NULL, 0, 10, "weight decay of matrices"},
    {"muon", NULL, &muon, NULL, 0, 10, "peak learning rate of Muon for the matrices; 0: AdamW"},
    {"momentum", NULL, &muon_momentum, NULL, 0, 1, "of Muon"},
    {"muon-decay", NULL, &muon_decay, NULL, 0, 10, "weight decay of Muon"},
    {"clip", NULL, &clip, NULL, 0, 1e9, "the norm that gradients may have; 0: any"},
    {"rope", &rope, NULL, NULL, 0, 0, "rotary positions"},
    {"qk-norm", &qk_norm, NULL, NULL, 0, 0, "rms norm of queries and keys"},
    {"zero-outputs", &zero_outputs, NULL, NULL, 0, 0, "matrices that end a branch begin as 0"},
    {"act", NULL, NULL, &act, 0, 0, "gelu, gelu_tanh, relu, relu2, silu, swiglu or tanh"},
    {"softcap", NULL, &softcap, NULL, 0, 1e9,
     "c: logits become c tanh(logits / c); 0: as they are"},
    {"every", &every, NULL, NULL, 0, 1e9, "prints the held-out loss after so many steps; 0: never"},
    {0}};

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static at_data *prose(at_tape *t)
{
    int32_t *ids = malloc(TEXT * sizeof *ids);
    if (!ids) return NULL;
    prose_ids(1, TEXT, ids);
    at_data *d = at_data_ids(
        t, ids, TEXT, (at_data_args){.vocab = PROSE_ALPHABET, .held = 0.1, .held_tail = true});
    free(ids);
    return d;
}

/* Letters 1 .. 26, with 0 in front of each name and behind. */
static at_data *names(at_tape *t)
{
    static char name[NAMES][NAME_SIZE];
    static int32_t ids[NAMES * (NAME_SIZE + 1)];
    static int length[NAMES];
    int n = 0;
    ptrdiff_t at = 0;
    for (unsigned k = 0; k < NAMES; k++) {
        const int letters = made_up_name(k, name[n]);
        bool again = false;
        for (int i = 0; i < n && !again; i++) again = strcmp(name[i], name[n]) == 0;
        if (again) continue;
        ids[at++] = 0;
        for (int i = 0; i < letters; i++) ids[at++] = name[n][i] - 'a' + 1;
        ids[at++] = 0;
        length[n++] = letters + 2;
    }
    return at_data_sequences(t, ids, length, n,
                             (at_data_args){.vocab = 27, .held = 0.1, .held_tail = true});
}

static at_model *make_model(at_tape *t)
{
    char text[256];
    at_model_config c;
    snprintf(text, sizeof text, "%s act=%s positions=%s%s%s",
             track ? "vocab=65 context=64 layers=4 heads=4 dim=128"
                   : "vocab=27 context=16 layers=1 heads=4 dim=16 norm=rms bias=none untied=1",
             act, rope ? "rope" : "learned", qk_norm ? " qk_norm=1" : "",
             zero_outputs ? " zero_outputs=1" : "");
    return at_model_config_of(t, text, &c) ? at_model_make(t, c) : NULL;
}

/* What share of its peak a learning rate is in this step. */
static double share_of_peak(int step)
{
    const int begin = cooldown > 0 ? (int)((1 - cooldown) * steps) : 0;
    if (step < begin) return at_warmup_constant(step, warmup, 1);
    const int gone = step - begin, left = steps - begin, up = begin ? 0 : warmup;
    return strcmp(schedule, "linear") == 0 ? at_warmup_linear(gone, up, left, 1, low)
                                           : at_warmup_cosine(gone, up, left, 1, low);
}

/* Over the ids that have a next one. */
static at_tensor *loss_of(at_tape *t, const at_model *m, at_batch b, at_reduction reduction)
{
    at_tensor *logits = at_model_logits(t, m, b.ids, (at_model_args){0});
    if (softcap > 0) logits = at_scale(t, at_tanh(t, at_scale(t, logits, 1 / softcap)), softcap);
    return at_cross_entropy(
        t, logits, b.target,
        (at_cross_entropy_args){.reduction = reduction, .ignore = true, .ignore_index = -1});
}

static void move(at_tape *t, int step)
{
    const double share = share_of_peak(step);
    if (clip > 0) at_clip_grad_norm(t, clip);
    if (muon > 0)
        at_muon(t, muon * share,
                (at_muon_args){.momentum = muon_momentum, .weight_decay = muon_decay});
    at_adamw(t, lr * share,
             (at_adamw_args){
                 .beta1 = beta1, .beta2 = beta2, .weight_decay = decay, .decay_matrices = true});
}

static at_batch batch(at_tape *t, const at_data *d, at_split split, int rows, int step)
{
    const int length = track ? CONTEXT : 0, all = (int)at_data_windows(d, split, length);
    return at_data_batch(t, d,
                         (at_batch_args){.split = split,
                                         .rows = rows,
                                         .length = length,
                                         .step = step,
                                         .spread = split == ATTIC_HELD ? all : 0});
}

/* The mean over what is held out, in batches of HELD_ROWS windows or names; the few that fill none
 * are left out. */
static double held_out(at_tape *t, const at_model *m, const at_data *d)
{
    const bool gradients = at_no_grad(t, true);
    const int windows = (int)at_data_windows(d, ATTIC_HELD, track ? CONTEXT : 0);
    double sum = 0;
    ptrdiff_t count = 0;
    for (int i = 0; i < windows / HELD_ROWS && at_ok(t); i++) {
        const at_mark mark = at_mark_here(t);
        at_batch b = batch(t, d, ATTIC_HELD, HELD_ROWS, i);
        sum += at_item(loss_of(t, m, b, ATTIC_SUM));
        for (ptrdiff_t k = 0; at_ok(t) && k < at_count(b.target->shape); k++)
            count += at_element(b.target, k) >= 0;
        at_rewind(t, mark);
    }
    at_no_grad(t, gradients);
    return sum / (double)count;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv, "usage: board [options]\n", table, 0);
    at_threads(threads);
    at_tape *t = at_open(ATTIC_F32, (uint64_t)seed);
    at_data *d = track ? prose(t) : names(t);
    at_model *m = make_model(t);
    at_reuse_memory(t, true);
    const at_mark mark = at_mark_here(t);
    double spent = 0;
    for (int step = 0; step < steps && at_ok(t); step++) {
        const double began = cpu_seconds();
        at_batch b = batch(t, d, ATTIC_TRAIN, track ? ROWS : NAME_ROWS, step);
        at_backward(t, loss_of(t, m, b, ATTIC_MEAN));
        move(t, step);
        at_rewind(t, mark);
        spent += cpu_seconds() - began;
        if (every && (step + 1) % every == 0 && step + 1 < steps)
            fprintf(stderr, "step %d   %.4f\n", step + 1, held_out(t, m, d));
    }
    const double loss = held_out(t, m, d);
    if (at_ok(t))
        printf("%d\t%d\t%.5f\t%.3f\t%td\t%d\n", seed, steps, loss, spent, at_model_params(m),
               threads);
    else
        fprintf(stderr, "board: %s\n", at_error(t));
    const int status = !at_ok(t);
    at_close(t);
    return finish(status);
}
