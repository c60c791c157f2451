/* gpt.c -- train a language model on text files, keep it, sample it.
 *
 *     gpt train --out out/gpt --steps 2000 book.txt        ^C stops it; the same command goes on
 *     gpt sample --out out/gpt --prompt "The "             continues the prompt
 *     gpt info --out out/gpt                               parameters, memory, FLOP per token
 *     gpt train --init-from model.safetensors --tokenizer gpt2/ --heads 12 book.txt
 *                                                          begins with published weights
 *
 * This is the file to copy for a training of your own: besides attic's public headers it needs
 * examples/common/options.c alone, which reads the command line.  It has four parts: the options,
 * the model, the training loop, and what can be done with a trained model.  docs/training.md
 * explains the loop line by line.
 *
 * All files lie in the folder --out.  Results go to stdout, progress and errors to stderr; the
 * status is 0, 1 after an error, 2 after a wrong option, 130 after ^C, 143 after SIGTERM. */
#include "attic.h"
#include "attic_op.h"

#include <limits.h>
#include <string.h>

#include "common/options.h"

/* ------------------------------------------------------------------ options -------------------- */

static int steps = 1000, rows = 16, micros = 1, context = 128, layers = 4, heads = 4, kv_heads,
           dim = 128, eval_every = 200, eval_batches = 20, save_every = 100, fresh, seed = 1337,
           threads, n_tokens = 500, top_k = 40;
static double peak_lr = 3e-3, dropout, held = 0.1, norm_eps, rope_base, temperature = 0.8, top_p;
static const char *out = "out/gpt", *arch = "llama", *tokenizer = "bytes", *weights = "",
                  *prompt = "\n";

static const option model_options[] = {
    {"out", NULL, NULL, &out, 0, 0, "folder of the model"},
    {"steps", &steps, NULL, NULL, 1, 1e9, "training steps in all"},
    {"rows", &rows, NULL, NULL, 1, 65536, "windows of text in a micro-batch"},
    {"micros", &micros, NULL, NULL, 1, 4096, "micro-batches in a step"},
    {"lr", NULL, &peak_lr, NULL, 0, 10, "peak learning rate"},
    {"dropout", NULL, &dropout, NULL, 0, 0.99, "probability, on weights and branches"},
    {"held", NULL, &held, NULL, 0.001, 0.9, "share of the text that is held out"},
    {"eval-every", &eval_every, NULL, NULL, 1, 1e9, "steps between evaluations"},
    {"eval-batches", &eval_batches, NULL, NULL, 0, 1e6, "size of an evaluation; 0: all held out"},
    {"save-every", &save_every, NULL, NULL, 1, 1e9, "steps between checkpoints"},
    {"fresh", &fresh, NULL, NULL, 0, 0, "begin anew: removes the run that is in the folder"},
    {"tokenizer", NULL, NULL, &tokenizer, 0, 0,
     "bytes, chars, llama2.c's tokenizer.bin,\n"
     "                     or a folder with GPT-2's vocab.json and merges.txt"},
    {"arch", NULL, NULL, &arch, 0, 0, "arrangement of the blocks: llama or gpt2"},
    {"init-from", NULL, NULL, &weights, 0, 0,
     "safetensors file of GPT-2 or Llama to begin with;\n"
     "                     it decides on arch, layers, dim and key/value heads"},
    {"layers", &layers, NULL, NULL, 1, AT_MAX_LAYERS, "transformer blocks"},
    {"heads", &heads, NULL, NULL, 1, 1024, "attention heads"},
    {"kv-heads", &kv_heads, NULL, NULL, 0, 1024, "key/value heads; 0: as many as heads"},
    {"dim", &dim, NULL, NULL, 1, 65536, "width of the model"},
    {"context", &context, NULL, NULL, 2, 65536, "how many tokens it can attend to"},
    {"norm-eps", NULL, &norm_eps, NULL, 0, 1, "of every norm; 0: 1e-5"},
    {"rope-base", NULL, &rope_base, NULL, 0, 1e9, "of the rotary positions; 0: 10000"},
    {"seed", &seed, NULL, NULL, 0, 2147483647, "of everything random"},
    {"threads", &threads, NULL, NULL, 0, AT_MAX_THREADS, "0: all CPUs"},
    {0}};

static const option sample_options[] = {
    {"out", NULL, NULL, &out, 0, 0, "folder of the model"},
    {"prompt", NULL, NULL, &prompt, 0, 0, "text to continue"},
    {"n", &n_tokens, NULL, NULL, 0, 1e6, "tokens to generate"},
    {"temperature", NULL, &temperature, NULL, 0, 100, "0: always the most likely token"},
    {"top-k", &top_k, NULL, NULL, 0, 1e6, "only the k most likely tokens; 0: off"},
    {"top-p", NULL, &top_p, NULL, 0, 1, "only the most likely ones that reach p; 0: off"},
    {"seed", &seed, NULL, NULL, 0, 2147483647, "of what is drawn"},
    {"threads", &threads, NULL, NULL, 0, AT_MAX_THREADS, "0: all CPUs"},
    {0}};

/* ------------------------------------------------------------------ text and model ------------- */

static at_data *open_text(at_tape *t, char *const *files, int n_files)
{
    at_data_args args = {.paths = files, .n = n_files, .held = held};
    size_t length = strlen(tokenizer);
    char vocab[4096], merges[4096];
    if (strcmp(tokenizer, "chars") == 0) {
        args.chars = true;
    } else if (length > 4 && strcmp(tokenizer + length - 4, ".bin") == 0) {
        args.tokenizer = at_tokenizer_llama2(t, tokenizer);
    } else if (strcmp(tokenizer, "bytes") != 0) {
        snprintf(vocab, sizeof vocab, "%s/vocab.json", tokenizer);
        snprintf(merges, sizeof merges, "%s/merges.txt", tokenizer);
        args.tokenizer = at_tokenizer_gpt2(t, vocab, merges);
    }
    return at_data_text(t, args);
}

/* A dimension of the tensor "<before><layer><after>" of the file; 0 if there is no such tensor. */
static int size_in(const at_tensors *f, const char *before, int layer, const char *after, int axis)
{
    char name[256];
    snprintf(name, sizeof name, "%s%d%s", before, layer, after);
    int at = at_tensors_find(f, name);
    return at < 0 ? 0 : at_tensors_shape(f, at).dim[axis];
}

/* Sizes follow from the shapes of published weights.  What leaves no trace in the file stays an
 * option: heads, context, norm_eps, rope_base.  A file of another kind is refused later, when its
 * weights are asked for. */
static void read_sizes(const at_tensors *f, at_model_config *c)
{
    const char *llama = "model.layers.", *gpt2 = "h.";
    if (at_tensors_find(f, "transformer.wte.weight") >= 0) gpt2 = "transformer.h.";
    int C = size_in(f, llama, 0, ".input_layernorm.weight", 0);
    arch = C ? "llama" : "gpt2";
    c->layers = 0;
    if (C) {
        c->hidden = size_in(f, llama, 0, ".mlp.gate_proj.weight", 0);
        c->kv_heads = size_in(f, llama, 0, ".self_attn.k_proj.weight", 0) * heads / C;
        c->qk_norm = size_in(f, llama, 0, ".self_attn.q_norm.weight", 0) > 0;
        c->untied = at_tensors_find(f, "lm_head.weight") >= 0;
        while (size_in(f, llama, c->layers, ".input_layernorm.weight", 0)) c->layers++;
    } else {
        C = size_in(f, gpt2, 0, ".ln_1.weight", 0);
        c->hidden = size_in(f, gpt2, 0, ".mlp.c_fc.weight", 1);
        while (size_in(f, gpt2, c->layers, ".ln_1.weight", 0)) c->layers++;
    }
    if (C)
        c->dim = C;
    else
        c->layers = layers;
}

static at_model *make_model(at_tape *t, const at_data *d)
{
    at_model_config c = {.vocab = at_vocab(d), .context = context, .layers = layers};
    c.heads = heads, c.kv_heads = kv_heads, c.dim = dim, c.dropout = dropout;
    c.norm_eps = norm_eps, c.rope_base = rope_base;
    at_tensors *f = *weights ? at_tensors_open(t, weights) : NULL;
    if (f) read_sizes(f, &c);
    if (strcmp(arch, "llama") == 0)
        c.norm = ATTIC_RMS, c.act = ATTIC_SWIGLU, c.bias = ATTIC_BIAS_NONE, c.rope_halves = true;
    else if (strcmp(arch, "gpt2") == 0)
        c.act = ATTIC_GELU_TANH, c.bias = ATTIC_BIAS_ALL, c.positions = ATTIC_LEARNED_POSITIONS;
    else
        at_fail(t, ATTIC_USER_ERROR, "--arch must be llama or gpt2, not \"%s\"", arch);
    at_model *m = at_model_make(t, c);
    if (f) at_model_import(t, m, f);
    return m;
}

/* ------------------------------------------------------------------ training ------------------- */

/* The micro-batches of a step add up their gradients, and then the parameters move.  A batch is
 * known by its step and its number: nothing else has to be kept to go on after a stop. */
static void train_step(at_tape *t, at_run *r, const at_model *m, const at_data *d)
{
    at_mark first = {0};
    while (at_run_next_micro(r)) {
        at_batch_args which = {.split = ATTIC_TRAIN, .rows = rows, .length = context};
        which.step = at_run_step(r), which.micro = at_run_micro(r), which.micros = micros;
        at_batch b = at_data_batch(t, d, which);
        at_tensor *logits = at_model_logits(t, m, b.ids, (at_model_taps){0});
        at_tensor *loss = at_cross_entropy(t, logits, b.target, (at_cross_entropy_args){0});
        at_backward(t, at_scale(t, loss, 1.0 / micros));
        at_run_log(r, "loss", at_item(loss));
        if (which.micro == 0)
            first = at_mark_here(t); /* the gradients lie before this mark, and stay */
        else
            at_rewind(t, first); /* so a step needs the memory of two micro-batches, not of all */
    }
    at_run_log(r, "norm", at_clip_grad_norm(t, 1));
    int warmup = steps < 1000 ? steps / 10 : 100;
    at_adamw(t, at_warmup_cosine(at_run_step(r), warmup, steps, peak_lr, peak_lr / 10),
             (at_adamw_args){.beta2 = 0.99, .weight_decay = 0.1, .decay_matrices = true});
}

/* Mean loss on held-out text, in nats per token. */
static double held_out_loss(at_tape *t, const at_model *m, const at_data *d, int batches)
{
    return at_model_loss(t, m, d, (at_eval_args){ATTIC_HELD, batches, rows, context});
}

static int train(at_tape *t, char *const *files, int n_files)
{
    at_data *d = open_text(t, files, n_files);
    at_model *m = make_model(t, d);
    char how[128]; /* a run goes on only with the same description: at_model_make has added its */
    snprintf(how, sizeof how, "rows %d, context %d, lr %g", rows, context, peak_lr);
    at_describe(t, "training", how);
    at_run *r = at_run_open(
        t, out,
        (at_run_args){.steps = steps, .save_every = save_every, .micros = micros, .fresh = fresh});
    if (at_ok(t))
        printf("text      %s\nmodel     %s\n          %td parameters\n", at_data_description(d),
               at_model_text(t, m->config), at_model_params(m));
    fflush(stdout);

    at_mark mark = at_mark_here(t);
    while (at_run_next(r)) {
        train_step(t, r, m, d);
        if (at_run_every(r, eval_every)) at_run_best(r, held_out_loss(t, m, d, eval_batches));
        at_rewind(t, mark);
    }
    if (at_run_finished(r))
        printf("held out  %.3f nats per token after %d steps, on all that is held out\n",
               held_out_loss(t, m, d, 0), steps);
    return at_run_close(r);
}

/* ------------------------------------------------------------------ a trained model ------------ */

/* The parameters with the lowest loss on held-out text; before the first evaluation, the last. */
static const char *model_file(void)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/best.safetensors", out);
    FILE *f = fopen(path, "rb");
    if (f)
        fclose(f);
    else
        snprintf(path, sizeof path, "%s/checkpoint.safetensors", out);
    return path;
}

static void sample(at_tape *t)
{
    at_tokenizer *k = at_tokenizer_open(t, model_file());
    at_model *m = at_model_open(t, model_file());
    at_generate_args args = {.prompt = prompt, .n = n_tokens, .top_k = top_k, .top_p = top_p};
    args.temperature = temperature, args.tokenizer = k;
    at_generate(t, m, NULL, args, stdout);
    printf("\n");
}

/* The model of the folder or, if files are given, the one that would be trained on them. */
static void info(at_tape *t, char *const *files, int n_files)
{
    at_model *m =
        n_files ? make_model(t, open_text(t, files, n_files)) : at_model_open(t, model_file());
    if (!m) return;
    int T = m->config.context;
    at_tensor *ids = at_ints(t, at_shape_of(rows, T), NULL);
    at_tensor *logits = at_model_logits(t, m, ids, (at_model_taps){0});
    at_backward(t, at_cross_entropy(t, logits, ids, (at_cross_entropy_args){0}));
    if (!at_ok(t)) return;
    double mib = 1 << 20, forward = at_model_flop(m, T) / 1e6;
    double params = (double)at_model_params(m) * sizeof(float) / mib;
    printf("model       %s\n", at_model_text(t, m->config));
    printf("parameters  %td: %.2f MiB\n", at_model_params(m), params);
    printf(
        "memory      %.1f MiB to train with %d x %d tokens: %.1f MiB of values and gradients of\n"
        "            one micro-batch, %.1f MiB of parameters and two moments of each\n",
        (double)at_memory_of(t).step_peak / mib + 3 * params, rows, T,
        (double)at_memory_of(t).step_peak / mib, 3 * params);
    printf("FLOP        per token, in a text of %d: %.2f million forward, %.2f million with "
           "backward\n",
           T, forward, 3 * forward);
}

int main(int argc, char **argv)
{
    static const char usage[] =
        "usage: gpt train [options] files...   learn from text; the same command goes on after ^C\n"
        "       gpt sample [options]           continue a prompt\n"
        "       gpt info [options] [files...]  parameters, memory, FLOP per token: of the model "
        "in\n"
        "                                      --out, or of the one to be trained on the files\n"
        "gpt train --help lists the options of train and info, gpt sample --help those of "
        "sample.\n";
    const char *command = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
    bool trains = strcmp(command, "train") == 0, samples = strcmp(command, "sample") == 0;
    if (*command) argv[1] = argv[0], argc--, argv++; /* the options follow the command */
    int first = parse_options(argc, argv, usage,
                              samples    ? sample_options
                              : *command ? model_options
                                         : NULL,
                              samples ? 0 : INT_MAX);
    const char *wrong = trains && first == argc ? "there are no files to learn from"
                        : trains || samples || strcmp(command, "info") == 0
                            ? NULL
                            : "the command is train, sample or info";
    if (wrong) {
        fprintf(stderr, "gpt: %s; try --help\n", wrong);
        return 2;
    }
    at_threads(threads);
    at_tape *t = at_open(ATTIC_F32, (uint64_t)seed);
    int status = 0;
    if (trains)
        status = train(t, argv + first, argc - first);
    else if (samples)
        sample(t);
    else
        info(t, argv + first, argc - first);
    if (!trains && !at_ok(t)) {
        fprintf(stderr, "gpt: %s\n", at_error(t));
        status = at_error_kind_of(t) == ATTIC_USER_ERROR ? 2 : 1;
    }
    at_close(t);
    return finish(status);
}
