/* models.c -- cases whose parameters are made within: layers, blocks, and models with their loss.
 *
 *     x [B,T,C]    what a layer reads        m [B,N,C]    a memory, for cross attention
 *
 * A model reads ids, so its row has no input but its parameters. */
#include "attic_train.h"
#include "gradients/cases.h"

#define main microgpt_main
int microgpt_main(int argc, char **argv);
#include "microgpt.c" /* NOLINT(bugprone-suspicious-include) */
#undef main

extern const at_case at_cases_models[];

/* ------------------------------------------------------------------ layers --------------------- */

typedef struct {
    int n_out;
    bool bias;
    int rank; /* of an adapter, 0: none */
} linear_case;

static at_tensor *case_linear(at_tape *t, at_tensor **in, void *ctx)
{
    const linear_case *c = ctx;
    const int n_in = at_last(in[0]->shape);
    at_linear layer = at_linear_make(t, "linear", n_in, c->n_out, c->bias, at_normal(1));
    if (c->rank) at_linear_lora(t, &layer, (at_lora_args){.rank = c->rank, .alpha = 3});
    return at_linear_apply(t, layer, in[0]);
}

typedef struct {
    at_norm_kind kind;
    bool bias;
    double eps;
} norm_case;

static at_tensor *case_norm(at_tape *t, at_tensor **in, void *ctx)
{
    const norm_case *c = ctx;
    const int n = at_last(in[0]->shape);
    return at_norm_apply(t, at_norm_make(t, "norm", n, c->kind, c->bias, c->eps), in[0]);
}

static at_tensor *case_ffn(at_tape *t, at_tensor **in, void *ctx)
{
    at_ffn f = at_ffn_make(t, *(const at_ffn_config *)ctx, 1);
    return at_ffn_apply(t, &f, in[0]);
}

static at_tensor *case_mlp(at_tape *t, at_tensor **in, void *ctx)
{
    at_mlp m = at_mlp_make(t, (int[]){3, 4, 5, 2}, 4, *(const at_activation *)ctx);
    return at_mlp_apply(t, &m, in[0]);
}

/* ------------------------------------------------------------------ attention ------------------ */

/* The numbers 0 .. below - 1 in some order, again and again */
static at_tensor *some_ids(at_tape *t, at_shape s, int step, int below)
{
    at_tensor *id = at_ints(t, s, NULL);
    for (ptrdiff_t i = 0; id && i < at_count(s); i++)
        ((int32_t *)id->data)[i] = (int32_t)((step * i + 1) % below);
    return id;
}

/* [B,T] of x [B,T,C] */
static at_shape rows_of(const at_tensor *x)
{
    return at_shape_of(x->shape.dim[0], x->shape.dim[1]);
}

/* Documents of two rows, and of what is left */
static at_tensor *documents(at_tape *t, at_shape s)
{
    at_tensor *id = at_ints(t, s, NULL);
    for (ptrdiff_t i = 0; id && i < at_count(s); i++)
        ((int32_t *)id->data)[i] = (int32_t)(i % s.dim[1] / 2);
    return id;
}

typedef struct {
    at_attention_config layer;
    at_sdpa_args with;
    bool memory, cached; /* cached: keys and values of m are read twice */
    bool positions, documents, key_len;
} attention_case;

static at_tensor *case_attention(at_tape *t, at_tensor **in, void *ctx)
{
    const attention_case *c = ctx;
    at_tensor *x = in[0], *m = c->memory ? in[1] : NULL;
    at_attention a = at_attention_make(t, c->layer, 1);
    at_sdpa_args with = c->with;
    if (c->positions) with.positions = some_ids(t, rows_of(x), 5, 17);
    if (c->positions && m) with.key_positions = some_ids(t, rows_of(m), 3, 19);
    if (c->documents) with.segments = documents(t, rows_of(x));
    if (c->key_len) with.key_len = at_ints(t, at_shape_of(2), (const int32_t[]){3, 4});
    if (!c->cached) return at_attention_apply(t, &a, x, m, with);
    at_cache kept = at_cache_of(t, &a, m);
    return at_attention_decode(t, &kept, at_attention_decode(t, &kept, x, with), with);
}

/* ------------------------------------------------------------------ blocks --------------------- */

typedef struct {
    at_block_config block;
    bool causal, cached; /* cached: the memory is given as its keys and values */
} block_case;

static at_tensor *case_block(at_tape *t, at_tensor **in, void *ctx)
{
    const block_case *c = ctx;
    at_tensor *m = c->block.cross ? in[1] : NULL;
    at_block b = at_block_make(t, c->block, 1);
    at_block_args args = {.attention = {.causal = c->causal}};
    if (!c->cached) return at_block_apply(t, &b, in[0], m, args);
    at_cache kept = at_cache_of(t, &b.cross, m);
    args.cross_cache = &kept;
    return at_block_apply(t, &b, in[0], NULL, args);
}

static at_tensor *case_blocks(at_tape *t, at_tensor **in, void *ctx)
{
    at_blocks b = at_blocks_make(t, *(const at_block_config *)ctx, 2);
    return at_blocks_apply(t, &b, in[0], in[1], (at_block_args){.attention.causal = true});
}

/* The encoder reads m, and the decoder what the encoder made of it. */
static at_tensor *case_encoder_decoder(at_tape *t, at_tensor **in, void *ctx)
{
    at_block_config config = *(const at_block_config *)ctx;
    at_scope(t, "encoder");
    at_block encoder = at_block_make(t, config, 1);
    at_scope_end(t);
    config.cross = true;
    at_scope(t, "decoder");
    at_block decoder = at_block_make(t, config, 1);
    at_scope_end(t);
    at_scope(t, "reads");
    at_tensor *memory = at_block_apply(t, &encoder, in[1], NULL, (at_block_args){0});
    at_scope_end(t);
    return at_block_apply(t, &decoder, in[0], memory,
                          (at_block_args){.attention = {.causal = true}});
}

/* ------------------------------------------------------------------ models --------------------- */

enum { BATCH = 2, TEXT = 5, VOCAB = 11 };

typedef struct {
    at_model_config model;
    at_cross_entropy_args loss;
    bool class_weights, positions, documents;
    bool unheld;         /* its logits are never held */
    const char *adapted; /* the matrices that get an adapter; beside these, the norms learn */
} model_case;

static at_tensor *class_weights(at_tape *t)
{
    at_tensor *w = at_const(t, at_shape_of(VOCAB), NULL);
    for (int j = 0; w && j < VOCAB; j++) at_store(w->dtype, w->data, j, 3 * j % 4);
    return w;
}

/* The loss of a text that the model reads */
static at_tensor *case_model(at_tape *t, at_tensor **in, void *ctx)
{
    (void)in;
    const model_case *c = ctx;
    const at_shape rows = at_shape_of(BATCH, TEXT);
    at_model_config config = c->model;
    config.vocab = VOCAB, config.context = 7, config.dim = 12, config.heads = 3;
    config.hidden = 10, config.layers = config.layers ? config.layers : 1;
    at_model *m = at_model_make(t, config);
    if (c->adapted) {
        at_model_lora(t, m, (at_lora_args){.rank = 2, .alpha = 3, .only = c->adapted});
        at_unfreeze(t, (at_names){.only = "*norm*"});
    }
    at_model_args args = {0};
    if (c->positions) args.positions = some_ids(t, rows, 3, 7);
    if (c->documents) args.segments = documents(t, rows);
    at_cross_entropy_args loss = c->loss;
    if (c->class_weights) loss.weights = class_weights(t);
    at_tensor *ids = some_ids(t, rows, 3, VOCAB), *target = some_ids(t, rows, 7, VOCAB);
    if (c->unheld) return at_model_cross_entropy(t, m, ids, target, args, loss);
    return at_cross_entropy(t, at_model_logits(t, m, ids, args), target, loss);
}

/* The loss of the first step of examples/microgpt.c, by all of its weights */
static at_tensor *case_microgpt(at_tape *t, at_tensor **in, void *ctx)
{
    (void)in, (void)ctx;
    at_tensor *W[WEIGHTS];
    microgpt_text first = text_of(0);
    microgpt_make(t, W);
    return microgpt_loss(t, W, &first);
}

/* ------------------------------------------------------------------ the table ------------------ */

#define LINEAR(note_, ...)                                                                         \
    ROW("linear", "[2,3,4]", case_linear, .ctx = &(linear_case){.n_out = 5, __VA_ARGS__},          \
        .note = note_)
#define NORM(note_, ...)                                                                           \
    ROW("norm", "[2,3,4]", case_norm, .ctx = &(norm_case){__VA_ARGS__}, .note = note_)
#define FFN(note_, ...)                                                                            \
    ROW("ffn", "[2,3,4]", case_ffn, .ctx = &(at_ffn_config){.dim = 4, __VA_ARGS__}, .note = note_)
/* Three heads of four features */
#define ATTENTION(note_, ...)                                                                      \
    ROW("attention", "[2,5,12]", case_attention,                                                   \
        .ctx = &(attention_case){.layer.dim = 12, .layer.heads = 3, __VA_ARGS__}, .note = note_)
#define CROSS_ATTENTION(note_, ...)                                                                \
    ROW("attention", "[2,5,12] [2,7,12]", case_attention, .note = note_,                           \
        .ctx = &(attention_case){.layer.dim = 12, .layer.heads = 3, .memory = true, __VA_ARGS__})
#define BLOCK(note_, ...)                                                                          \
    ROW("block", "[2,5,12]", case_block, .note = note_,                                            \
        .ctx = &(block_case){.block.dim = 12, .block.heads = 3, .block.hidden = 10, __VA_ARGS__})
#define CROSS_BLOCK(note_, ...)                                                                    \
    ROW("block", "[2,5,12] [2,7,12]", case_block, .note = note_,                                   \
        .ctx = &(block_case){.block.dim = 12,                                                      \
                             .block.heads = 3,                                                     \
                             .block.hidden = 10,                                                   \
                             .block.cross = true,                                                  \
                             __VA_ARGS__})
#define MODEL(note_, ...)                                                                          \
    ROW("model", "", case_model, .ctx = &(model_case){__VA_ARGS__}, .note = note_)

const at_case at_cases_models[] = {
    LINEAR("bias", .bias = true),
    LINEAR("no bias", .bias = false),
    LINEAR("bias, an adapter", .bias = true, .rank = 2),
    LINEAR("an adapter", .rank = 2),

    NORM("layer norm", .bias = true),
    NORM("layer norm without b, eps", .eps = 0.03),
    NORM("rms norm", .kind = ATTIC_RMS, .bias = true),
    NORM("rms norm, eps", .kind = ATTIC_RMS, .eps = 0.03),

    FFN("gelu", .hidden = 5, .bias = true),
    FFN("gelu, no bias, hidden as usual", .act = ATTIC_GELU),
    FFN("gelu_tanh", .act = ATTIC_GELU_TANH, .hidden = 5, .bias = true),
    FFN("relu", .act = ATTIC_RELU, .hidden = 5, .bias = true),
    FFN("relu2", .act = ATTIC_RELU2, .hidden = 5, .bias = true),
    FFN("silu", .act = ATTIC_SILU, .hidden = 5, .bias = true),
    FFN("tanh", .act = ATTIC_TANH, .hidden = 5, .bias = true),
    FFN("SwiGLU", .act = ATTIC_SWIGLU, .hidden = 5, .bias = true),
    FFN("SwiGLU, no bias, hidden as usual", .act = ATTIC_SWIGLU),
    ROW("mlp", "[2,3]", case_mlp, .ctx = &(at_activation){ATTIC_TANH}, .note = "tanh"),
    ROW("mlp", "[2,3]", case_mlp, .ctx = &(at_activation){ATTIC_RELU}, .note = "relu"),

    ATTENTION("no bias", .layer.bias = false),
    ATTENTION("bias", .layer.bias = true),
    ATTENTION("plain", .layer.bias = true, .with.path = ATTIC_PLAIN),
    ATTENTION("composed", .layer.bias = true, .with.path = ATTIC_COMPOSED),
    ATTENTION("one group", .layer.kv_heads = 1, .layer.bias = true),
    ROW("attention", "[2,5,12]", case_attention, .note = "six heads in three groups, rope",
        .ctx =
            &(attention_case){
                .layer = {.dim = 12, .heads = 6, .kv_heads = 3, .rope = true, .bias = true}}),
    ATTENTION("rope", .layer.rope = true, .layer.bias = true),
    ATTENTION("rope by halves, base", .layer.rope = true, .layer.rope_halves = true,
              .layer.rope_base = 500),
    ATTENTION("rope, linear", .layer.rope = true,
              .layer.rope_scaling = {.type = ATTIC_ROPE_LINEAR, .factor = 3}),
    ATTENTION("rope, llama3", .layer.rope = true,
              .layer.rope_scaling = {.type = ATTIC_ROPE_LLAMA3,
                                     .original_max_position_embeddings = 16,
                                     .factor = 3,
                                     .low_freq_factor = 1,
                                     .high_freq_factor = 4}),
    ATTENTION("rope, yarn", .layer.rope = true,
              .layer.rope_scaling = {.type = ATTIC_ROPE_YARN,
                                     .original_max_position_embeddings = 16,
                                     .factor = 3}),
    ATTENTION("rope, positions", .layer.rope = true, .positions = true),
    ATTENTION("causal", .with.causal = true),
    ATTENTION("window, causal", .layer.window = 2, .with.causal = true),
    ATTENTION("sinks", .layer.sinks = true, .with.causal = true),
    ATTENTION("qk_norm", .layer.qk_norm = true, .layer.norm_eps = 0.03),
    ATTENTION("qk_norm, rope, one group", .layer.qk_norm = true, .layer.rope = true,
              .layer.kv_heads = 1),
    ATTENTION("gate", .layer.gate = true),
    ATTENTION("gate, bias", .layer.gate = true, .layer.bias = true),
    ATTENTION("softcap", .with.softcap = 2),
    ATTENTION("dropout", .layer.dropout = 0.3),
    ATTENTION("documents", .with.causal = true, .documents = true),
    ATTENTION("all", .layer.kv_heads = 1, .layer.bias = true, .layer.rope = true,
              .layer.qk_norm = true, .layer.gate = true, .layer.sinks = true, .layer.window = 3,
              .layer.dropout = 0.3, .with.causal = true, .with.softcap = 2, .positions = true,
              .documents = true),
    CROSS_ATTENTION("memory", .layer.bias = true),
    CROSS_ATTENTION("memory, key_len", .key_len = true),
    CROSS_ATTENTION("memory, rope, positions", .layer.rope = true, .positions = true),
    CROSS_ATTENTION("memory, all", .layer.kv_heads = 1, .layer.bias = true, .layer.rope = true,
                    .layer.qk_norm = true, .layer.gate = true, .layer.sinks = true,
                    .layer.dropout = 0.3, .with.softcap = 2, .key_len = true),
    CROSS_ATTENTION("memory, read twice from a cache", .layer.qk_norm = true, .layer.bias = true,
                    .layer.gate = true, .cached = true),

    BLOCK("pre-norm", .causal = true),
    BLOCK("post-norm", .block.post_norm = true, .causal = true),
    BLOCK("GPT-2", .block.act = ATTIC_GELU_TANH, .block.bias = ATTIC_BIAS_ALL, .causal = true),
    BLOCK("Llama", .block.norm = ATTIC_RMS, .block.act = ATTIC_SWIGLU,
          .block.bias = ATTIC_BIAS_NONE, .block.rope = true, .block.kv_heads = 1, .causal = true),
    BLOCK("no bias, post-norm, eps", .block.bias = ATTIC_BIAS_NONE, .block.post_norm = true,
          .block.norm_eps = 0.03),
    BLOCK("no feed-forward net", .block.no_ffn = true, .causal = true),
    BLOCK("dropout", .block.dropout = 0.3, .causal = true),
    CROSS_BLOCK("pre-norm, memory", .causal = true),
    CROSS_BLOCK("post-norm, memory", .block.post_norm = true, .causal = true),
    CROSS_BLOCK("memory, all", .block.bias = ATTIC_BIAS_ALL, .block.rope = true,
                .block.qk_norm = true, .block.gate = true, .block.sinks = true, .block.window = 2,
                .block.dropout = 0.3, .causal = true),
    CROSS_BLOCK("memory in a cache", .cached = true, .causal = true),
    ROW("blocks", "[1,3,4] [1,2,4]", case_blocks, .note = "two, memory",
        .ctx = &(at_block_config){.dim = 4, .heads = 2, .hidden = 5, .cross = true}),
    ROW("encoder_decoder", "[2,5,12] [2,7,12]", case_encoder_decoder,
        .ctx = &(at_block_config){.dim = 12, .heads = 3, .hidden = 10}),

    MODEL("tied", .model.untied = false),
    MODEL("untied", .model.untied = true),
    MODEL("post-norm", .model.post_norm = true),
    MODEL("GPT-2", .model.act = ATTIC_GELU_TANH, .model.bias = ATTIC_BIAS_ALL,
          .model.positions = ATTIC_LEARNED_POSITIONS),
    MODEL("learned positions that are given", .model.positions = ATTIC_LEARNED_POSITIONS,
          .positions = true),
    MODEL("no positions", .model.positions = ATTIC_NO_POSITIONS, .loss.reduction = ATTIC_SUM),
    MODEL("Llama, two layers", .model.layers = 2, .model.norm = ATTIC_RMS,
          .model.act = ATTIC_SWIGLU, .model.bias = ATTIC_BIAS_NONE, .model.untied = true,
          .model.kv_heads = 1),
    MODEL("two layers, one with a window", .model.layers = 2, .model.window = 2,
          .model.full_every = 2, .model.no_ffn = true),
    MODEL("all", .model.kv_heads = 1, .model.qk_norm = true, .model.gate = true,
          .model.sinks = true, .model.window = 3, .model.dropout = 0.3, .positions = true,
          .documents = true),
    MODEL("tied, logits never held", .unheld = true),
    MODEL("untied, logits never held", .model.untied = true, .unheld = true),
    MODEL("no feed-forward nets", .model.no_ffn = true, .loss.reduction = ATTIC_NONE),
    MODEL("label smoothing", .loss.label_smoothing = 0.1),
    MODEL("label smoothing, class weights, ignored targets", .class_weights = true,
          .loss = {.label_smoothing = 0.1, .ignore = true, .ignore_index = 8}),
    MODEL("adapters of q and v", .adapted = "*.q.W,*.v.W"),
    MODEL("adapters of all, GPT-2", .model.act = ATTIC_GELU_TANH, .model.bias = ATTIC_BIAS_ALL,
          .model.positions = ATTIC_LEARNED_POSITIONS, .adapted = "*.W"),
    MODEL("adapters of all, Llama", .model.norm = ATTIC_RMS, .model.act = ATTIC_SWIGLU,
          .model.bias = ATTIC_BIAS_NONE, .model.untied = true, .model.gate = true,
          .adapted = "*.W"),
    ROW("microgpt", "", case_microgpt, .note = "a name of four letters"),
    {0}};
