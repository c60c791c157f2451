/* gpt.c -- train a language model on text files, keep it, sample it.
 *
 *     gpt train --out out/gpt --steps 2000 book.txt        ^C stops it; the same command goes on
 *     gpt sample --out out/gpt --prompt "The "             continues the prompt
 *     gpt info --out out/gpt                               parameters, memory, FLOP per token
 *     gpt train --vocab 2048 book.txt                      tokens are learned from the text first
 *     gpt export --out out/gpt hf                          a folder of Hugging Face's form
 *     gpt train --init-from gpt2/model.safetensors --tokenizer gpt2 --heads 12 book.txt
 *
 * This is the file to copy for a training of your own: besides attic's public headers it needs
 * examples/common/options.c alone, which reads the command line.  docs/training.md explains it.
 *
 * All files lie in the folder --out.  Results go to stdout, progress and errors to stderr; the
 * status is 0, 1 after an error, 2 after a wrong option, 130 after ^C, 143 after SIGTERM. */
#include "attic_train.h"
#include "attic_op.h"

#include <string.h>

#include "common/options.h"

/* The processes that share the training: this one.  (gpt_mpi.c includes this file.) */
#ifndef GPT_PEERS
#define GPT_PEERS NULL
#endif

/* ------------------------------------------------------------------ options -------------------- */

static int steps = 2000, rows = 8, micros = 1, context = 128, layers = 4, heads = 4, dim = 128,
           eval_every = 200, save_every = 100, patience, gpt2, fresh, json_log, other_arithmetic,
           seed = 1337, vocab, n_tokens = 500, top_k = 40;
static double peak_lr = 3e-3, muon, dropout, norm_eps, rope_base, temperature = 0.8, top_p;
static const char *out = "out/gpt", *tokenizer = "bytes", *weights = "", *prompt = "The ";
static const char *stored = "f32", *names = "";

static const option model_options[] = {
    {"out", NULL, NULL, &out, 0, 0, "folder of the model"},
    {"steps", &steps, NULL, NULL, 1, 1e9, "training steps in all"},
    {"rows", &rows, NULL, NULL, 1, 65536, "windows of text in a micro-batch"},
    {"micros", &micros, NULL, NULL, 1, 4096, "micro-batches in a step"},
    {"lr", NULL, &peak_lr, NULL, 0, 10, "peak learning rate"},
    {"muon", NULL, &muon, NULL, 0, 10, "peak rate of Muon for matrices, say 0.02; 0: AdamW"},
    {"dropout", NULL, &dropout, NULL, 0, 0.99, "probability, on weights and branches"},
    {"eval-every", &eval_every, NULL, NULL, 1, 1e9, "steps between evaluations"},
    {"save-every", &save_every, NULL, NULL, 1, 1e9, "steps between checkpoints"},
    {"patience", &patience, NULL, NULL, 0, 1e6, "evaluations without a lower loss; 0: any number"},
    {"json-log", &json_log, NULL, NULL, 0, 0, "log.jsonl beside log.csv"},
    {"fresh", &fresh, NULL, NULL, 0, 0, "begin anew: removes the run that is in the folder"},
    {"other-arithmetic", &other_arithmetic, NULL, NULL, 0, 0,
     "go on with the run of a build of the other arithmetic (docs/bits.md)"},
    {"tokenizer", NULL, NULL, &tokenizer, 0, 0, "bytes, chars, x.bin of llama2.c, folder of GPT-2"},
    {"vocab", &vocab, NULL, NULL, 0, 1e6, "tokens learned from the text, kept in --out; 0: none"},
    {"gpt2", &gpt2, NULL, NULL, 0, 0, "blocks as GPT-2 has them, not as Llama"},
    {"init-from", NULL, NULL, &weights, 0, 0, "safetensors of GPT-2 or Llama: its weights, sizes"},
    {"layers", &layers, NULL, NULL, 1, AT_MAX_LAYERS, "transformer blocks"},
    {"heads", &heads, NULL, NULL, 1, 1024, "attention heads"},
    {"dim", &dim, NULL, NULL, 1, 65536, "width of the model"},
    {"context", &context, NULL, NULL, 2, 65536, "how many tokens it can attend to"},
    {"norm-eps", NULL, &norm_eps, NULL, 0, 1, "of every norm; 0: 1e-5"},
    {"rope-base", NULL, &rope_base, NULL, 0, 1e9, "of the rotary positions; 0: 10000"},
    {"seed", &seed, NULL, NULL, 0, 2147483647, "of everything random"},
    {0}};

static const option sample_options[] = {
    {"out", NULL, NULL, &out, 0, 0, "folder of the model"},
    {"prompt", NULL, NULL, &prompt, 0, 0, "text to continue"},
    {"n", &n_tokens, NULL, NULL, 0, 1e6, "tokens to generate"},
    {"temperature", NULL, &temperature, NULL, 0, 100, "0: always the most likely token"},
    {"top-k", &top_k, NULL, NULL, 0, 1e6, "only the k most likely tokens; 0: off"},
    {"top-p", NULL, &top_p, NULL, 0, 1, "only the most likely ones that reach p; 0: off"},
    {"dtype", NULL, NULL, &stored, 0, 0, "of stored weights, keys, values: f32, f16 or bf16"},
    {"seed", &seed, NULL, NULL, 0, 2147483647, "of what is drawn"},
    {0}};

static const option export_options[] = {
    {"out", NULL, NULL, &out, 0, 0, "folder of the model"},
    {"names", NULL, NULL, &names, 0, 0, "gpt2 or llama; empty: those that the model fits"},
    {"dtype", NULL, NULL, &stored, 0, 0, "of the weights that are written: f32, f16 or bf16"},
    {0}};

/* ------------------------------------------------------------------ text and model ------------- */

static at_data *open_text(at_tape *t, char *const *files, int n_files)
{
    at_data_args args = {.paths = files, .n = n_files, .held = 0.1, .bpe = vocab};
    char tokens[4096], merges[4096];
    snprintf(tokens, sizeof tokens, "%s/vocab.json", tokenizer);
    snprintf(merges, sizeof merges, "%s/merges.txt", tokenizer);
    args.chars = strcmp(tokenizer, "chars") == 0;
    const char *dot = strrchr(tokenizer, '.');
    if (vocab && strcmp(tokenizer, "bytes") != 0)
        at_fail(t, ATTIC_USER_ERROR, "--vocab learns tokens, and --tokenizer %s has others",
                tokenizer);
    else if (dot && strcmp(dot, ".bin") == 0)
        args.tokenizer = at_tokenizer_llama2(t, tokenizer);
    else if (!args.chars && strcmp(tokenizer, "bytes") != 0)
        args.tokenizer = at_tokenizer_gpt2(t, tokens, merges);
    at_data *d = at_data_text(t, args);
    if (d && at_data_windows(d, ATTIC_HELD, context) == 0)
        at_fail(t, ATTIC_USER_ERROR, "%td held-out tokens are too few for a context of %d",
                at_data_count(d, ATTIC_HELD), context);
    return d;
}

/* A dimension of the tensor "<before><layer><after>" of the file; 0 if there is no such tensor. */
static int size_in(const at_tensors *f, const char *before, int layer, const char *after, int axis)
{
    char name[256];
    snprintf(name, sizeof name, "%s%d%s", before, layer, after);
    int i = at_tensors_find(f, name);
    return i < 0 ? 0 : at_tensors_shape(f, i).dim[axis];
}

/* Sizes follow from the shapes of published weights; what leaves no trace in the file stays an
 * option: heads, context, norm_eps, rope_base.  at_model_import refuses a file that is neither. */
static void read_sizes(const at_tensors *f, at_model_config *c)
{
    const char *block = at_tensors_find(f, "wte.weight") >= 0               ? "h."
                        : at_tensors_find(f, "transformer.wte.weight") >= 0 ? "transformer.h."
                                                                            : "model.layers.";
    bool llama = *block == 'm';
    const char *norm = llama ? ".input_layernorm.weight" : ".ln_1.weight";
    int C = size_in(f, block, 0, norm, 0);
    if (C == 0) return;
    gpt2 = !llama, c->dim = C;
    for (c->layers = 0; size_in(f, block, c->layers, norm, 0);) c->layers++;
    c->hidden = size_in(f, block, 0, llama ? ".mlp.gate_proj.weight" : ".mlp.c_fc.weight", !llama);
    c->kv_heads = llama ? size_in(f, block, 0, ".self_attn.k_proj.weight", 0) * heads / C : 0;
    c->qk_norm = size_in(f, block, 0, ".self_attn.q_norm.weight", 0) > 0;
    c->untied = llama && at_tensors_find(f, "lm_head.weight") >= 0;
}

/* To draw a large model takes a while: says before what it will be.  Its matrices are nearly all. */
static void say_size(at_model_config c)
{
    double C = c.dim, kv = c.kv_heads ? C * c.kv_heads / c.heads : C, gated = c.act == ATTIC_SWIGLU;
    double hidden = c.hidden ? c.hidden : (gated ? 8.0 / 3 : 4) * C;
    double params = (c.untied ? 2 : 1) * C * c.vocab +
                    c.layers * (2 * C * C + 2 * C * kv + (2 + gated) * C * hidden);
    if (params > 5e7)
        fprintf(stderr,
                "gpt: a model of about %.0f million parameters, %.0f MiB with their gradients and "
                "AdamW's moments\n",
                params / 1e6, 4 * sizeof(float) * params / (1 << 20));
}

static at_model *make_model(at_tape *t, const at_data *d)
{
    at_model_config c = {.vocab = at_vocab(d), .context = context, .layers = layers};
    c.heads = heads, c.dim = dim, c.dropout = dropout, c.norm_eps = norm_eps,
    c.rope_base = rope_base;
    at_tensors *f = *weights ? at_tensors_open(t, weights) : NULL;
    if (f) read_sizes(f, &c);
    if (gpt2)
        c.act = ATTIC_GELU_TANH, c.bias = ATTIC_BIAS_ALL, c.positions = ATTIC_LEARNED_POSITIONS;
    else
        c.norm = ATTIC_RMS, c.act = ATTIC_SWIGLU, c.bias = ATTIC_BIAS_NONE, c.rope_halves = true;
    if (at_ok(t)) say_size(c);
    at_model *m = at_model_make(t, c);
    if (f) at_model_import(t, m, f);
    return m;
}

/* ------------------------------------------------------------------ training ------------------- */

/* With many tokens the logits are most of the memory of a step: they are computed in tiles then, which
 * takes a little longer. */
static at_tensor *loss_of(at_tape *t, const at_model *m, at_tensor *ids, at_tensor *target)
{
    enum { MANY_TOKENS = 16384 };
    const at_cross_entropy_args mean = {0};
    if (m->config.vocab >= MANY_TOKENS)
        return at_model_cross_entropy(t, m, ids, target, (at_model_args){0}, mean);
    return at_cross_entropy(t, at_model_logits(t, m, ids, (at_model_args){0}), target, mean);
}

/* Up in a tenth of the steps, and down to a tenth. */
static double rate(const at_run *r, double peak)
{
    return at_warmup_cosine(at_run_step(r), steps / 10, steps, peak, peak / 10);
}

/* The micro-batches of a step add up their gradients, then the parameters move.  A batch is known by
 * its step and its number, so that nothing else has to be kept to go on after a stop. */
static void train_step(at_tape *t, at_run *r, const at_model *m, const at_data *d)
{
    at_batch_args which = {ATTIC_TRAIN, rows, context, at_run_step(r), .micros = micros};
    at_mark mark = at_mark_here(t);
    while (at_run_next_micro(r)) {
        which.micro = at_run_micro(r);
        at_batch b = at_data_batch(t, d, which);
        at_tensor *share = at_scale(t, loss_of(t, m, b.ids, b.target), b.share);
        at_backward(t, share);
        at_run_log(r, "loss", micros * at_item(share));
        at_rewind(t, mark); /* gradients of parameters stay: a step needs memory for one of these */
    }
    at_run_log(r, "norm", at_clip_grad_norm(t, 1));
    if (muon > 0) at_muon(t, rate(r, muon), (at_muon_args){0}); /* AdamW moves the rest */
    at_adamw(t, rate(r, peak_lr),
             (at_adamw_args){.beta2 = 0.99, .weight_decay = 0.1, .decay_matrices = true});
}

/* A loss in nats per byte, and per token, of which each has so many bytes. */
static const char *loss_text(double nats, double bytes)
{
    static char text[80];
    if (bytes == 1)
        snprintf(text, sizeof text, "%.3f nats per byte", nats);
    else
        snprintf(text, sizeof text, "%.3f nats per token, %.3f per byte,", nats, nats / bytes);
    return text;
}

/* The loss on held-out text.  That per byte is logged, too, where it is another. */
static void evaluate(at_tape *t, at_run *r, const at_model *m, const at_data *d, double bytes)
{
    double nats = at_model_loss(t, m, d, (at_eval_args){ATTIC_HELD, 20, rows, context});
    if (bytes != 1) at_run_log(r, "held_per_byte", nats / bytes);
    at_run_best(r, nats);
}

static int train(at_tape *t, char *const *files, int n_files)
{
    at_data *d = open_text(t, files, n_files);
    at_model *m = make_model(t, d);
    char how[128]; /* a run goes on only with what the tape was described by: model, data, this */
    int n = snprintf(how, sizeof how, "rows %d, context %d, lr %g", rows, context, peak_lr);
    if (muon > 0) snprintf(how + n, sizeof how - (size_t)n, ", muon %g", muon);
    at_describe(t, "training", how);
    at_run_args args = {.steps = steps, .save_every = save_every, .micros = micros, .fresh = fresh};
    args.other_arithmetic = other_arithmetic, args.peers = GPT_PEERS, args.json_log = json_log;
    args.patience = patience, args.per_step = (double)rows * micros * context; /* tokens */
    at_run *r = at_run_open(t, out, args);
    if (at_ok(t))
        printf("data      %s\nmodel     %s\n          %td parameters\n", at_data_description(d),
               at_model_text(t, m->config), at_model_params(m));
    if (vocab && at_ok(t) && (!args.peers || args.peers->rank == 0))
        at_tokenizer_save(t, at_data_tokenizer(d), out);
    const double bytes = at_data_bytes_per_id(t, d, ATTIC_HELD);
    at_reuse_memory(t, true); /* backward gives back what it has read */
    at_mark mark = at_mark_here(t);
    while (at_run_next(r)) {
        train_step(t, r, m, d);
        if (at_run_every(r, eval_every)) evaluate(t, r, m, d, bytes);
        at_rewind(t, mark);
    }
    if (at_run_finished(r)) {
        double nats = at_model_loss(t, m, d, (at_eval_args){ATTIC_HELD, 0, rows, context});
        printf("held out  %s after %d steps, on all that is held out\n", loss_text(nats, bytes),
               at_run_step(r));
    }
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

/* What --dtype says. */
static at_dtype stored_dtype(at_tape *t)
{
    at_dtype dtype = ATTIC_F32;
    while (dtype <= ATTIC_BF16 && strcmp(at_dtype_text(dtype), stored) != 0) dtype++;
    if (dtype > ATTIC_BF16) at_fail(t, ATTIC_USER_ERROR, "--dtype: there is no \"%s\"", stored);
    return dtype;
}

static void sample(at_tape *t)
{
    at_dtype dtype = stored_dtype(t);
    at_store_params(t, dtype); /* matrices in 16 bits take half of the memory */
    at_tokenizer *k = at_tokenizer_open(t, model_file());
    at_model *m = at_model_open(t, model_file());
    at_generate_args args = {.prompt = prompt, .n = n_tokens, .top_k = top_k, .top_p = top_p};
    args.temperature = temperature, args.tokenizer = k, args.cache = dtype;
    if (at_generate(t, m, NULL, args, stdout) >= 0) printf("\n");
}

/* The model as a folder of published form, with its tokenizer if that has one. */
static void export_model(at_tape *t, const char *folder)
{
    static const char *const known[] = {[ATTIC_NAMES_GPT2] = "gpt2", [ATTIC_NAMES_LLAMA] = "llama"};
    at_export_args args = {.dtype = stored_dtype(t)};
    at_tokenizer *k = at_tokenizer_open(t, model_file());
    at_model *m = at_model_open(t, model_file());
    const char *kind = at_tokenizer_kind(k);
    if (strcmp(kind, "gpt2") == 0 || strcmp(kind, "bytes") == 0) args.tokenizer = k;
    if (m && m->config.norm == ATTIC_RMS) args.names = ATTIC_NAMES_LLAMA;
    if (*names) args.names = strcmp(names, known[1]) == 0 ? ATTIC_NAMES_LLAMA : ATTIC_NAMES_GPT2;
    if (*names && strcmp(names, known[args.names]) != 0)
        at_fail(t, ATTIC_USER_ERROR, "--names: there is no \"%s\"", names);
    if (!at_model_export(t, m, folder, args)) return;
    printf("exported  %s in the names of %s, %s\ntokenizer %s\n", folder, known[args.names],
           at_dtype_text(args.dtype),
           args.tokenizer ? "vocab.json, merges.txt, tokenizer_config.json"
                          : "left out: it is not one of GPT-2's form");
}

/* The model of the folder or, if files are given, the one that would be trained on them. */
static void info(at_tape *t, char *const *files, int n_files)
{
    at_model *m =
        n_files ? make_model(t, open_text(t, files, n_files)) : at_model_open(t, model_file());
    if (!at_ok(t)) return;
    int T = m->config.context;
    at_reuse_memory(t, true);
    at_tensor *ids = at_ints(t, at_shape_of(rows, T), NULL);
    at_backward(t, loss_of(t, m, ids, ids));
    double mib = 1 << 20, params = (double)at_model_params(m) * sizeof(float) / mib;
    printf("model       %s\nparameters  %td, %.1f MiB\n", at_model_text(t, m->config),
           at_model_params(m), params);
    int sums = 1; /* of the gradients of micro-batches that are held at once: train/run.h */
    for (int M = micros; M > 1; M /= 2) sums++;
    printf("memory      %.1f MiB: parameters, their gradients%s and AdamW's two moments of each\n",
           (3 + sums) * params, sums > 1 ? " in several sums" : "");
    if (sums > 1)
        printf("            %.1f MiB of these: %d sums of gradients, as %d micro-batches need\n",
               sums * params, sums, micros);
    printf("            %.1f MiB: all else in a micro-batch of %d x %d tokens\n",
           (double)at_memory_of(t).step_peak / mib, rows, T);
    printf("FLOP        %.2f million per token forward, %.2f million with backward\n",
           at_model_flop(m, T) / 1e6, 3 * at_model_flop(m, T) / 1e6);
}

int main(int argc, char **argv)
{
    static const char usage[] =
        "usage: gpt train [options] files...   learn from text; after ^C the same command goes on\n"
        "       gpt sample [options]           continue a prompt\n"
        "       gpt info [options] [files...]  size and cost of the model in --out, or a new one\n"
        "       gpt export [options] folder    the model as a folder of Hugging Face's form\n"
        "Options: gpt train --help (and for info), gpt sample --help, gpt export --help.\n";
    const char *command = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
    bool trains = strcmp(command, "train") == 0, samples = strcmp(command, "sample") == 0;
    bool exports = strcmp(command, "export") == 0;
    if (*command) argv[1] = argv[0], argc--, argv++; /* the options follow the command */
    const option *table = samples    ? sample_options
                          : exports  ? export_options
                          : *command ? model_options
                                     : NULL;
    int first = parse_options(argc, argv, usage, table, samples ? 0 : exports ? 1 : 1 << 20);
    const char *missing = trains    ? "there are no files to learn from"
                          : exports ? "say the folder to write"
                                    : "say train, sample, info or export first";
    if (trains || exports ? first == argc : !samples && strcmp(command, "info") != 0) {
        fprintf(stderr, "gpt: %s; try --help\n", missing);
        return 2;
    }
    at_tape *t = at_open(ATTIC_F32, (uint64_t)seed);
    int status = trains ? train(t, argv + first, argc - first) : 0;
    if (samples) sample(t);
    if (exports) export_model(t, argv[first]);
    if (!trains && !samples && !exports) info(t, argv + first, argc - first);
    if (!trains && !at_ok(t)) {
        fprintf(stderr, "gpt: %s\n", at_error(t));
        status = at_error_kind_of(t) == ATTIC_USER_ERROR ? 2 : 1;
    }
    at_close(t);
    return finish(status);
}
