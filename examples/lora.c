/* lora.c -- low-rank adapters: a trained model learns another text through a few parameters.
 *
 * A base, trained on the text FIRST or read from x.safetensors, is fine-tuned on the text OTHER,
 * twice, in as many steps on the same batches.  "full": all parameters learn.  "adapters": the base
 * stays as it is, and beside each matrix W two narrow ones learn (train/lora.h):
 *
 *     y = x W + (alpha/r) (x A) B        W [n,m]   A [n,r]   B [r,m]      r: the rank
 *
 * A and B are kept in a small file, are loaded again and merged with the base: W + (alpha/r) A B
 * takes the place of W, and the logits must stay the same.  Losses are means of -ln P(right token)
 * over a tenth of the text, which is held out.  Each training is a run (train/run.h). */
#include "attic_train.h"

#include <string.h>

#include "common/options.h"

enum { ROWS = 16 }; /* windows of text in a batch */
static int base_steps = 600, steps = 300, rank = 4, seed = 1, fresh, check;
static const char *out = "out/lora", *only = "*.W";
static const option options[] = {
    {"out", NULL, NULL, &out, 0, 0, "folder of the runs, the adapters and the merged model"},
    {"rank", &rank, NULL, NULL, 1, 1024, "r"},
    {"only", NULL, NULL, &only, 0, 0, "matrices with an adapter; not all: \"*.q.W,*.v.W\""},
    {"base-steps", &base_steps, NULL, NULL, 1, 1e6, "training steps of the base"},
    {"steps", &steps, NULL, NULL, 1, 1e6, "steps of each fine-tuning"},
    {"seed", &seed, NULL, NULL, 0, 2147483647, "of everything random"},
    {"fresh", &fresh, NULL, NULL, 0, 0, "begin anew: removes the runs that are in the folder"},
    {"check", &check, NULL, NULL, 0, 0, "status 1 unless adapters gain 60 % of what full does"},
    {0}};

static const char *in_folder(const char *name)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/%s", out, name);
    return path;
}

typedef struct {
    at_tape *t;
    at_data *d;
    at_model *m;
    double learn, before, after; /* how many parameters learn; the loss, before and after that */
} work;

/* A text, and the model of the file `base`, with adapters or without; NULL: a new model. */
static work begin(const char *base, char *const *texts, int n, bool adapted)
{
    const at_model_config small = {.vocab = 256, .context = 64, .layers = 2, .heads = 4, .dim = 96};
    work w = {.t = at_open(ATTIC_F32, (uint64_t)seed)};
    at_data_args args = {.paths = texts, .n = n, .held = 0.1};
    args.tokenizer = base ? at_tokenizer_open(w.t, base) : at_tokenizer_bytes(w.t, NULL, 0);
    w.d = at_data_text(w.t, args);
    w.m = base ? at_model_open(w.t, base) : at_model_make(w.t, small);
    if (adapted)
        at_model_lora(w.t, w.m, (at_lora_args){.rank = rank, .alpha = 2 * rank, .only = only});
    for (int i = 0; i < at_param_count(w.t); i++)
        if (at_param_at(w.t, i)->wants_grad)
            w.learn += (double)at_count(at_param_at(w.t, i)->shape);
    w.before = at_model_loss(w.t, w.m, w.d, (at_eval_args){.split = ATTIC_HELD, .rows = ROWS});
    return w;
}

/* Trains in the folder --out/name, and closes the tape.  The status. */
static int train(work *w, const char *name, int n_steps, double peak_lr)
{
    at_tape *t = w->t;
    char how[128]; /* the loss stands for the base: a run goes on only from the one it began with */
    snprintf(how, sizeof how, "loss before %.5g", w->before);
    at_describe(t, "training", how);
    at_run *r = at_run_open(t, in_folder(name), (at_run_args){.steps = n_steps, .fresh = fresh});
    at_reuse_memory(t, true);
    at_mark mark = at_mark_here(t);
    while (at_run_next(r)) {
        at_batch_args which = {.split = ATTIC_TRAIN, .rows = ROWS, .step = at_run_step(r)};
        which.length = w->m->config.context;
        at_batch b = at_data_batch(t, w->d, which);
        at_tensor *logits = at_model_logits(t, w->m, b.ids, (at_model_args){0});
        at_tensor *loss = at_cross_entropy(t, logits, b.target, (at_cross_entropy_args){0});
        at_backward(t, loss);
        at_run_log(r, "loss", at_item(loss));
        at_run_log(r, "norm", at_clip_grad_norm(t, 1));
        at_adamw(t, at_warmup_cosine(at_run_step(r), n_steps / 20, n_steps, peak_lr, peak_lr / 10),
                 (at_adamw_args){.beta2 = 0.99});
        at_rewind(t, mark);
    }
    if (at_run_finished(r)) {
        w->after = at_model_loss(t, w->m, w->d, (at_eval_args){.split = ATTIC_HELD, .rows = ROWS});
        printf("    %-10s %9.0f %8.3f %8.3f\n", name, w->learn, w->before, w->after);
        if (strcmp(name, "adapters") == 0)
            at_save(t, in_folder("adapters.safetensors"), (at_part_args){.only = "*.lora_*"});
    }
    int status = at_run_close(r);
    at_close(t);
    return status;
}

/* Adapters from their file, merged with the base.  By how much that changes the logits, as a share
 * of the largest; w->after: the loss. */
static double merge(work *w)
{
    at_tape *t = w->t;
    int T = w->m ? w->m->config.context : 1;
    at_load(t, in_folder("adapters.safetensors"), (at_part_args){.only = "*.lora_*"});
    at_train(t, false), at_no_grad(t, true);
    at_batch b = at_data_batch(t, w->d, (at_batch_args){.rows = 1, .length = T});
    at_tensor *beside = at_blank(t, ATTIC_F32, at_shape_of(1, T, at_vocab(w->d)));
    at_mark mark = at_mark_here(t);
    at_tensor *y = at_model_logits(t, w->m, b.ids, (at_model_args){0});
    if (at_ok(t)) at_read_f32(y, beside->data, at_count(y->shape));
    at_rewind(t, mark);
    at_model_lora_merge(t, w->m);
    at_save(t, in_folder("merged.safetensors"), (at_part_args){.except = "*.lora_*"});
    w->after = at_model_loss(t, w->m, w->d, (at_eval_args){.split = ATTIC_HELD, .rows = ROWS});
    y = at_sub(t, at_model_logits(t, w->m, b.ids, (at_model_args){0}), beside);
    return at_item(at_max(t, at_abs(t, y))) / at_item(at_max(t, at_abs(t, beside)));
}

int main(int argc, char **argv)
{
    const char *usage =
        "usage: lora [options] FIRST OTHER...\n"
        "Fine-tunes a model, x.safetensors or trained on the text FIRST, on the text OTHER.\n";
    int first = parse_options(argc, argv, usage, options, 1 << 20);
    int n = argc - first - 1, status = 0;
    if (n < 1) {
        fprintf(stderr, "lora: say a first text, or a model, and another text; try --help\n");
        return 2;
    }
    printf("Can a model learn another text through a few parameters?  Look at how many learn, and\n"
           "at how far the loss on held-out text falls, in nats per token.\n\n"
           "                   learn   before    after\n");
    char *base = argv[first], *const *other = argv + first + 1, trained[4200];
    work all = {0}, few = {0};
    if (strlen(base) < 12 || strcmp(base + strlen(base) - 12, ".safetensors") != 0) {
        all = begin(NULL, &base, 1, false);
        status = train(&all, "base", base_steps, 3e-3);
        base = strcpy(trained, in_folder("base/checkpoint.safetensors"));
    }
    if (!status) few = begin(base, other, n, true), status = train(&few, "adapters", steps, 1e-2);
    if (!status) all = begin(base, other, n, false), status = train(&all, "full", steps, 3e-3);
    if (status) return finish(status);
    work again = begin(base, other, n, true);
    double apart = merge(&again), share = few.learn / all.learn;
    double gain = (few.before - few.after) / (all.before - all.after);
    if (at_ok(again.t))
        printf("\nMerged: loss %.3f; the logits change by %.6f of the largest.\n\nSeen: adapters, "
               "%.1f %% as many parameters, gain %.0f %% of what \"full\" gains.\n",
               again.after, apart, 100 * share, 100 * gain);
    else
        fprintf(stderr, "lora: %s\n", at_error(again.t));
    bool as_claimed = gain > 0.6 && apart < 1e-4 && again.after < few.after + 1e-3;
    status = !at_ok(again.t) || (check && !as_claimed);
    at_close(again.t);
    return finish(status);
}
