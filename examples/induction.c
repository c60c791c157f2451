/* induction.c -- why attention needs two layers to copy: induction heads.
 *
 *     a sequence of period 8:  f q b x m b k d  f q b x m b k d  f q b x ...
 *
 * A random block of 8 to 24 letters is repeated.  Where it is repeated, the next letter is certain:
 * it stands where the same letters came last time.  How far back that is differs from sequence to
 * sequence, as the period is drawn anew for each; so no fixed distance helps, and a letter alone
 * says little, as it may stand in the block more than once.
 *
 * Two layers of attention can do it (Elhage et al. 2021, Olsson et al. 2022).  Heads of the first
 * attend to the letters just before: now every position knows which letters it follows.  Heads of
 * the second look for earlier positions that followed the same letters as the next one will, and
 * copy what they find there.  One layer compares letters, not what they follow: it can tell which
 * letters there are, and guess among them.  Both models are trained alike, without feed-forward
 * nets, on the mean of -ln P(right letter) over all positions.  They are compared on the second
 * half of new sequences, where every block is a repetition.
 *
 * Each head gets two scores, means over the second half of new sequences:
 *
 *     before      the weights of the three positions before, i - 3 .. i - 1
 *     induction   the weights of all positions that follow an earlier copy: j = i + 1 - k period
 *
 * Both trainings are runs (train/run.h) in the folder --out; ^C stops, the same command goes on. */
#include "attic_train.h"
#include "attic_plot.h"

#include <math.h>

#include "common/options.h"

enum { LETTERS = 52, T = 64, DIM = 64, HEADS = 2, SHORTEST = 8, LONGEST = 24 };
enum { NEW = 500, ROWS = NEW * T / 2 }; /* new sequences; rows in their second halves */

static int steps = 1200, rows = 32, seed = 1, fresh, check;
static double peak_lr = 3e-3;
static const char *out = "out/induction";
static const option options[] = {
    {"out", NULL, NULL, &out, 0, 0, "folder of the two runs and of the picture"},
    {"steps", &steps, NULL, NULL, 1, 1e6, "training steps of each model"},
    {"rows", &rows, NULL, NULL, 1, 4096, "sequences in a batch"},
    {"lr", NULL, &peak_lr, NULL, 0, 1, "peak learning rate"},
    {"seed", &seed, NULL, NULL, 0, 2147483647, "of everything random"},
    {"fresh", &fresh, NULL, NULL, 0, 0, "begin anew: removes the runs that are in the folder"},
    {"check", &check, NULL, NULL, 0, 0,
     "status 1 unless one layer stays above 2 nats and two fall below 0.2"},
    {0}};

typedef struct {
    at_tensor *ids, *target; /* [B,T]; target: the next letter, -1 in the first half if asked for */
    at_tensor *period;       /* [B] */
} batch;

static batch draw_batch(at_tape *t, int B, bool second_half)
{
    batch b = {at_blank(t, ATTIC_I32, at_shape_of(B, T)), at_blank(t, ATTIC_I32, at_shape_of(B, T)),
               at_blank(t, ATTIC_I32, at_shape_of(B))};
    at_stream dice = at_draw(t);
    for (int r = 0; at_ok(t) && r < B; r++) {
        uint64_t at = (uint64_t)r * (LONGEST + 1);
        int period = SHORTEST + (int)(at_random_unit(dice, at) * (LONGEST - SHORTEST + 1));
        int32_t *id = (int32_t *)b.ids->data + r * T, *next = (int32_t *)b.target->data + r * T;
        ((int32_t *)b.period->data)[r] = period;
        for (int i = 0; i <= T; i++) {
            uint64_t place = at + 1 + (uint64_t)(i % period);
            int letter = (int)(at_random_unit(dice, place) * LETTERS);
            if (i < T) id[i] = letter;
            if (i > 0) next[i - 1] = second_half && i - 1 < T / 2 ? -1 : letter;
        }
    }
    return b;
}

static at_tensor *loss_of(at_tape *t, const at_model *m, batch b, at_tensor **weights)
{
    at_tensor *logits = at_model_logits(t, m, b.ids, (at_model_args){.weights = weights});
    return at_cross_entropy(t, logits, b.target,
                            (at_cross_entropy_args){.ignore = true, .ignore_index = -1});
}

typedef struct {
    double before, induction;
} score;

static score score_head(const at_tensor *weights, const at_tensor *period, int head)
{
    score s = {0};
    for (int r = 0; r < NEW; r++)
        for (int i = T / 2; i < T; i++) {
            int p = (int)at_get(period, r);
            for (int j = i - 3; j < i; j++) s.before += at_get(weights, r, head, i, j) / ROWS;
            for (int j = i + 1 - p; j >= 0; j -= p)
                s.induction += at_get(weights, r, head, i, j) / ROWS;
        }
    return s;
}

/* The weights of two heads in the first three blocks of a sequence whose period is the shortest:
 * on stdout, and as a picture. */
static void draw_heads(at_tape *t, batch b, at_tensor **weights, int before, int induction)
{
    static const char letter[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[3 * SHORTEST][2] = {{0}}, path[4200];
    const char *names[3 * SHORTEST];
    int r = 0, n = 3 * SHORTEST;
    while (at_ok(t) && r + 1 < NEW && at_get(b.period, r) > SHORTEST) r++;
    for (int i = 0; at_ok(t) && i < n; i++)
        names[i] = name[i], name[i][0] = letter[(int)at_get(b.ids, r, i)];
    at_subplot head[2];
    for (int l = 0; l < 2; l++) {
        at_tensor *cells = at_slice(t, at_slice(t, weights[l], 2, 0, n), 3, 0, n);
        head[l] = at_subplot_of(cells, at_keep_causal(t, n, n, ATTIC_ALIGN_EQUAL, 0),
                                at_shape_of(r, l ? induction : before));
        head[l].title = l ? "block 1: after an earlier copy" : "block 0: the letters before";
    }
    at_heatmap map = {.title = "The two heads of an induction circuit",
                      .subplots = head,
                      .n_subplots = 2,
                      .row_label = "Query",
                      .col_label = "Key",
                      .row_names = names,
                      .col_names = names,
                      .colours = ATTIC_COLOURS_UNIT,
                      .no_values = true};
    if (!at_ok(t)) return;
    printf("\n");
    at_term_heatmap(stdout, at_terminal_of(stdout), &map);
    snprintf(path, sizeof path, "%s/heads.svg", out);
    FILE *f = at_file_create(t, path);
    at_svg_heatmap(f, &map);
    at_file_close(t, f, path);
}

/* The loss on the second half of new sequences; prints it and the scores of all heads. */
static double show(at_tape *t, const at_model *m)
{
    at_tensor *weights[2] = {0};
    at_train(t, false), at_no_grad(t, true), at_draws_set(t, steps, 1);
    batch b = draw_batch(t, NEW, true);
    double loss = at_item(loss_of(t, m, b, weights));
    int layers = m ? m->config.layers : 0, best[2] = {0};
    double highest[2] = {-1, -1};
    printf("%s   %.3f nats\n", layers == 1 ? "one layer " : "two layers", loss);
    for (int l = 0; l < layers && at_ok(t); l++)
        for (int h = 0; h < HEADS; h++) {
            score s = score_head(weights[l], b.period, h);
            double fits = l ? s.induction : s.before;
            printf("    block %d, head %d %12.3f %11.3f\n", l, h, s.before, s.induction);
            if (fits > highest[l]) highest[l] = fits, best[l] = h;
        }
    if (layers == 2) draw_heads(t, b, weights, best[0], best[1]);
    return loss;
}

/* Trains a model of so many layers.  *loss stays NAN unless the training ends.  The status. */
static int train(int layers, double *loss)
{
    at_tape *t = at_open(ATTIC_F32, (uint64_t)seed);
    at_model *m = at_model_make(t, (at_model_config){.vocab = LETTERS,
                                                     .context = T,
                                                     .layers = layers,
                                                     .heads = HEADS,
                                                     .dim = DIM,
                                                     .no_ffn = true,
                                                     .untied = true});
    char how[128], folder[4200];
    snprintf(how, sizeof how, "rows %d, lr %g", rows, peak_lr);
    at_describe(t, "training", how);
    snprintf(folder, sizeof folder, "%s/layers-%d", out, layers);
    at_run *r = at_run_open(t, folder, (at_run_args){.steps = steps, .fresh = fresh});
    at_reuse_memory(t, true);
    at_mark mark = at_mark_here(t);
    while (at_run_next(r)) {
        at_tensor *mean = loss_of(t, m, draw_batch(t, rows, false), NULL);
        at_backward(t, mean);
        at_run_log(r, "loss", at_item(mean));
        at_run_log(r, "norm", at_clip_grad_norm(t, 1));
        at_adamw(t, at_warmup_cosine(at_run_step(r), steps / 20, steps, peak_lr, peak_lr / 20),
                 (at_adamw_args){.beta2 = 0.99});
        at_rewind(t, mark);
    }
    if (at_run_finished(r)) *loss = show(t, m);
    int status = at_run_close(r);
    at_close(t);
    return status;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv,
                  "usage: induction [options]\n"
                  "One and two layers of attention learn to continue repeated sequences.\n",
                  options, 0);
    printf(
        "Can attention copy what came after the same letters?  Sequences repeat a random block of\n"
        "%d to %d letters.  Look at the loss on their second half, where every letter is certain:\n"
        "guessing among %d letters gives %.2f nats, knowing the letter 0.\n\n"
        "    before       a head's weight on the three letters before\n"
        "    induction    on the letters that came after earlier copies of this one\n"
        "                 (equal weights on all keys would give either about 0.06)\n\n"
        "                second half      before   induction\n",
        SHORTEST, LONGEST, LETTERS, log(LETTERS));
    double one = (double)NAN, two = (double)NAN;
    int status = train(1, &one);
    if (status == 0) status = train(2, &two);
    bool as_claimed = one > 2 && two < 0.2;
    if (status == 0)
        printf("\nSeen: one layer ends at %.2f nats, two layers at %.3f.  %s\n", one, two,
               as_claimed ? "One guesses, two copy." : "Claimed: above 2, and below 0.2.");
    return finish(status == 0 && check && !as_claimed ? 1 : status);
}
