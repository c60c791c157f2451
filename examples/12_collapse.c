/* 12_collapse.c -- entropy collapse of a head: provoked, detected, cured or not.
 *
 *     32 tokens, each of one of 4 kinds and with a value of 8 random elements.  The output of
 *     every token should be the mean value of its kind.
 *
 * About 8 keys are right, all equally: the right entropy is ln 8 = 2.1, of at most ln 32 = 3.5.  A
 * head with all weight on one key has failed here, as one value says little about a mean; an output
 * of 0 is as good, with a loss near 1/8, the variance of a mean of 8.
 *
 * Two causes:
 *
 *     learning rate     0.1, ten times too large.  Adam moves every parameter by about that much,
 *                       whatever the size of its gradient, and the elements of Wq and Wk are about
 *                       0.2.  A score is a product of two of them, and the softmax takes its
 *                       exponential
 *     init              Wq and Wk drawn 4 times too large, so that scores are 16 times too large
 *
 * In both cases the scores of a row differ by tens, one weight is 1, and such a softmax passes
 * hardly any gradient (see 06_why_scale.c).  The layers after the head learn to ignore it, and the
 * output becomes 0.  The loss alone looks like one that has converged; the entropy shows the
 * collapse.
 *
 * A monitor (nn/statistics.h) computes statistics every 10 steps.  Its limit is set by the task: an
 * entropy below 0.2 ln 32 = ln 2, two keys where eight are right.  After three such results in a
 * row it warns.
 *
 * Then the same two causes with one remedy each.  A remedy "cures" if the loss falls below a tenth
 * of that of an output of 0, and "helps" below a half.
 *
 *     norm of q, k    cures both.  Layer norm makes |q| = |k| = sqrt(C), so that no score is above
 *                     sqrt(C) = 5.7 until its gains grow, and a low entropy can rise again
 *     layer norm      of the tokens helps both: one of the two factors cannot grow
 *     warm-up         cures the learning rate, not the init
 *     smaller init    cures the init, not the learning rate
 *     softcap         keeps the entropy up, and yet the head learns slowly or not at all: its
 *                     scores end at the cap, where a tanh passes a hundredth of the gradient.
 *                     Entropy alone does not show that
 *     weight decay    shrinks the scores again; with the large learning rate, until all weights are
 *                     equal
 *     clipping        does not help: Adam divides by the size of gradients, whatever it is
 *     dropout         does not help: it drops weights of a softmax whose scores are as far apart as
 *                     before
 *
 * So a remedy has to fit the cause, and only a bound of the scores fits both.  This is one task and
 * one seed; with --seed 2 or 3 layer norm, softcap and weight decay have better results in some
 * cases and worse ones in others, and the rest is the same. */
#include "attic.h"
#include "attic_plot.h"

#include <math.h>
#include <string.h>

#include "common/options.h"

enum { B = 8, T = 32, KINDS = 4, VALUE = 8, C = 32, STEPS = 300, EVERY = 10 };

static int seed = 1;

typedef struct {
    const char *name;
    double lr, gain; /* of Adam; of the initial Wq and Wk */
} cause;

static const cause causes[] = {{"too large a learning rate", 0.1, 1},
                               {"too large an init", 0.03, 4}};

typedef struct {
    const char *name;
    double gain, softcap, dropout, decay, clip;
    int warmup;
    bool norm, norm_qk;
} remedy;

static const remedy remedies[] = {{.name = "nothing"},
                                  {.name = "norm of q, k", .norm_qk = true},
                                  {.name = "layer norm", .norm = true},
                                  {.name = "warm-up", .warmup = 100},
                                  {.name = "smaller init", .gain = 0.25},
                                  {.name = "softcap", .softcap = 5},
                                  {.name = "dropout", .dropout = 0.2},
                                  {.name = "weight decay", .decay = 0.1},
                                  {.name = "clipping", .clip = 1}};
enum {
    REMEDIES = sizeof remedies / sizeof *remedies,
    DRAWN = 7 /* as many as there are colours */
};

/* ---- the task ------------------------------------------------------------------------------- */

typedef struct {
    at_tensor *kind, *value, *mean; /* [B,T] [B,T,VALUE] [B,T,VALUE] */
    double entropy;                 /* of the right weights */
} batch;

static batch draw_batch(at_tape *t)
{
    batch d = {.kind = at_ints(t, at_shape_of(B, T), NULL),
               .value = at_random(t, at_shape_of(B, T, VALUE), at_normal(1)),
               .mean = at_const(t, at_shape_of(B, T, VALUE), NULL)};
    at_stream dice = at_draw(t);
    for (int b = 0; at_ok(t) && b < B; b++) {
        int kind[T], n[KINDS] = {0};
        double sum[KINDS][VALUE] = {{0}};
        for (int i = 0; i < T; i++) {
            kind[i] = (int)(at_random_unit(dice, (uint64_t)b * T + (uint64_t)i) * KINDS);
            at_set(d.kind, kind[i], b, i);
            n[kind[i]]++;
            for (int c = 0; c < VALUE; c++) sum[kind[i]][c] += at_get(d.value, b, i, c);
        }
        for (int i = 0; i < T; i++) {
            d.entropy += log(n[kind[i]]) / (B * T);
            for (int c = 0; c < VALUE; c++) at_set(d.mean, sum[kind[i]][c] / n[kind[i]], b, i, c);
        }
    }
    return d;
}

/* ---- the model ------------------------------------------------------------------------------ */

typedef struct {
    at_tensor *E, *g, *gq, *gk; /* a row per kind; the gains of the layer norms */
    at_linear in, q, k, v, out;
} model;

static model make_model(at_tape *t, const cause *a, const remedy *r)
{
    double gain = r->gain ? r->gain : a->gain;
    return (model){.E = at_param(t, "E", at_shape_of(KINDS, C), at_normal(1)),
                   .g = at_param(t, "g", at_shape_of(C), at_ones()),
                   .gq = at_param(t, "gq", at_shape_of(C), at_ones()),
                   .gk = at_param(t, "gk", at_shape_of(C), at_ones()),
                   .in = at_linear_make(t, "in", VALUE, C, false, at_xavier_normal(1)),
                   .q = at_linear_make(t, "q", C, C, false, at_xavier_normal(gain)),
                   .k = at_linear_make(t, "k", C, C, false, at_xavier_normal(gain)),
                   .v = at_linear_make(t, "v", C, C, false, at_xavier_normal(1)),
                   .out = at_linear_make(t, "out", C, VALUE, false, at_xavier_normal(1))};
}

/* The mean squared error.  *P [B,T,T]: the probabilities of the head. */
static at_tensor *answer(at_tape *t, const model *m, const remedy *r, const batch *d, at_tensor **P)
{
    at_tensor *x = at_add(t, at_embedding(t, m->E, d->kind), at_linear_apply(t, m->in, d->value));
    if (r->norm) x = at_layer_norm(t, x, m->g, NULL, 1e-5);
    at_tensor *Q = at_linear_apply(t, m->q, x), *K = at_linear_apply(t, m->k, x);
    if (r->norm_qk) Q = at_layer_norm(t, Q, m->gq, NULL, 1e-5);
    if (r->norm_qk) K = at_layer_norm(t, K, m->gk, NULL, 1e-5);
    at_sdpa_args args = {.softcap = r->softcap, .dropout = r->dropout, .probs = P};
    at_tensor *O = at_sdpa(t, Q, K, at_linear_apply(t, m->v, x), args);
    return at_mean(t, at_square(t, at_sub(t, at_linear_apply(t, m->out, O), d->mean)));
}

/* ---- one run -------------------------------------------------------------------------------- */

typedef struct {
    double step[STEPS / EVERY + 1], entropy[STEPS / EVERY + 1]; /* at every measurement */
    int n, now, warned;       /* measurements; this step; where the monitor warned, or -1 */
    bool verbose;             /* print during the run */
    double loss, zero, right; /* at the end; of an output of 0; the right entropy */
    at_head_statistics last;
    at_head_state state;
} run;

/* The hook. */
static void warn(void *ctx, int layer, int head, const at_monitored *h)
{
    run *r = ctx;
    if (r->warned < 0 && h->state != ATTIC_HEAD_FINE) r->warned = r->now;
    if (r->verbose) printf("          %s\n", at_monitor_text(layer, head, h));
}

/* Three batches that were not trained on, in evaluation mode: the loss goes to r->loss. */
static void measure(at_tape *t, at_monitor *monitor, const model *m, const remedy *how, run *r)
{
    enum { N = 3 };
    bool training = at_train(t, false);
    at_mark here = at_mark_here(t);
    at_tensor *P[N], *all;
    r->loss = r->zero = r->right = 0;
    for (int n = 0; n < N; n++) {
        batch d = draw_batch(t);
        r->loss += at_item(answer(t, m, how, &d, &P[n])) / N;
        r->zero += at_item(at_mean(t, at_square(t, d.mean))) / N;
        r->right += d.entropy / N;
    }
    all = at_concat(t, P, N, 0); /* [3B,T,T] */
    at_monitor_update(t, monitor, 0, all, NULL);
    if (at_ok(t)) {
        r->last = monitor->head->statistics, r->state = monitor->head->state;
        r->step[r->n] = r->now, r->entropy[r->n++] = r->last.entropy;
        if (r->verbose && r->now % 50 == 0)
            printf("%8d%12.2f%11.1f%11.2f\n", r->now, r->loss, r->last.entropy, r->last.largest);
    }
    at_rewind(t, here);
    at_train(t, training);
}

static run train(const cause *a, const remedy *how, bool verbose)
{
    at_tape *t = at_open(ATTIC_F64, (uint64_t)seed);
    run r = {.warned = -1, .verbose = verbose};
    model m = make_model(t, a, how);
    at_monitor *monitor = at_monitor_make(
        t, 1, 1, (at_monitor_args){.low_entropy = 0.2, .similarity = 2, .hook = warn, .ctx = &r});
    at_mark step = at_mark_here(t);
    for (r.now = 0; r.now <= STEPS && at_ok(t); r.now++) {
        if (r.now % EVERY == 0) measure(t, monitor, &m, how, &r);
        batch d = draw_batch(t);
        at_tensor *P;
        at_backward(t, answer(t, &m, how, &d, &P));
        if (how->clip) at_clip_grad_norm(t, how->clip);
        double lr = at_warmup_constant(r.now, how->warmup, a->lr);
        at_adamw(t, lr, (at_adamw_args){.weight_decay = how->decay});
        at_rewind(t, step);
    }
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    at_close(t);
    return r;
}

/* ---- what came of it ------------------------------------------------------------------------- */

static const char *judge(const run *r)
{
    return r->loss < 0.1 * r->zero ? "cures" : r->loss < 0.5 * r->zero ? "helps" : "does not";
}

static void print_run(const remedy *how, const run *r)
{
    char warned[16] = "never";
    if (r->warned >= 0) snprintf(warned, sizeof warned, "step %d", r->warned);
    printf("%-16s%8.2f%11.1f%11.2f   %-11s%-13s%s\n", how->name, r->loss, r->last.entropy,
           r->last.largest, warned, at_head_text(r->state), judge(r));
}

static bool draw(const char *path, const cause *a, const run *r)
{
    at_series line[DRAWN];
    for (int i = 0; i < DRAWN; i++)
        line[i] =
            (at_series){.name = remedies[i].name, .x = r[i].step, .y = r[i].entropy, .n = r[i].n};
    const at_level right = {"right", r->right};
    char title[80];
    snprintf(title, sizeof title, "A head with %s, and with one remedy each", a->name);
    const at_chart chart = {.title = title,
                            .x_label = "step",
                            .y_label = "entropy, nats",
                            .series = line,
                            .n_series = DRAWN,
                            .levels = &right,
                            .n_levels = 1};
    FILE *f = fopen(path, "w");
    bool drawn = at_svg_chart(f, &chart);
    return written(f, path, drawn);
}

/* "cured by: a; b" */
static void print_seen(const cause *a, const run *r)
{
    int cured = 0;
    printf("Seen: with %s the entropy ends at %.1f where %.1f is\n"
           "right; cured by:",
           a->name, r[0].last.entropy, r[0].right);
    for (int i = 0; i < REMEDIES; i++)
        if (strcmp(judge(&r[i]), "cures") == 0)
            printf("%s %s", cured++ ? ";" : "", remedies[i].name);
    printf("%s\n\n", cured ? "" : " nothing");
}

static bool provoke(const cause *a, const char *path)
{
    static run r[REMEDIES];
    printf("A head with %s, without a remedy\n\n    step        loss    entropy    largest\n",
           a->name);
    for (int i = 0; i < REMEDIES; i++) {
        r[i] = train(a, &remedies[i], i == 0);
        if (i == 0)
            printf("   right        0.00%11.1f\n"
                   "output 0%12.2f\n\n"
                   "With one remedy or none; values at the end, after %d steps\n\n"
                   "%-16s    loss    entropy    largest   warned     is now       cures?\n",
                   r->right, r->zero, STEPS, "remedy");
        print_run(&remedies[i], &r[i]);
    }
    printf("\n");
    print_seen(a, r);
    bool as_said = r[0].warned >= 0 && r[0].loss > 0.5 * r[0].zero && r[1].loss < 0.1 * r[1].zero;
    return (!path || draw(path, a, r)) && as_said;
}

int main(int argc, char **argv)
{
    const option table[] = {{"seed", &seed, NULL, NULL, 0, 2147483647, "of everything random"},
                            {0}};
    int first = parse_options(argc, argv,
                              "usage: 12_collapse [options] [picture.svg [second_picture.svg]]\n"
                              "Entropy collapse of a head: provoked, detected, cured or not.\n",
                              table, 2);
    bool ok = true;
    at_threads(1);
    printf(
        "How does a head collapse, and what cures it?  It should give about 8 of 32 keys the same\n"
        "weight.  Two causes, eight remedies.  Look at the entropy, and at what the loss hides.\n\n"
        "    loss       mean squared error on examples it was not trained on; right: of the right\n"
        "               weights; output 0: of a model that returns 0\n"
        "    entropy    of a row of weights, in nats, mean over rows; at most ln 32 = %.1f\n"
        "    largest    the largest weight of a row, mean over rows\n"
        "    warned     when the monitor warned first; is now: its verdict at the end:\n"
        "               low-entropy: nearly one key in each row; uniform: nearly equal weights;\n"
        "               similarity: how equal the rows are, 1 if they are the same\n"
        "    norm of q, k: a layer norm of queries and keys before their product\n"
        "    cures?     yes below 1/10 of the loss of output 0; it helps below 1/2\n\n",
        log(T));
    for (int i = 0; i < 2; i++)
        ok = provoke(&causes[i], argc > first + i ? argv[first + i] : NULL) && ok;
    return finish(!ok);
}
