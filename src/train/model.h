/* model.h -- a decoder-only transformer: a language model.
 *
 *     x = dropout(E[ids] (+ P[0..T-1] if positions are learned))               [B,T,C]
 *     x = block(x)                     for every block, causal: see block.h    [B,T,C]
 *     logits = norm(x) E^T             post-norm: x E^T                        [B,T,vocab]
 *
 * E is used twice, to read ids and to name them (Press, Wolf 2017), and its gradient is the sum of
 * both; an untied model has a matrix of its own at the end: norm(x) head.W.
 *
 * The config decides on the arrangement.  Some have names:
 *
 *     default    that of GPT-2 with rotary positions, no biases in attention, and the exact gelu
 *     GPT-2      .act = ATTIC_GELU_TANH, .bias = ATTIC_BIAS_ALL,
 *                .positions = ATTIC_LEARNED_POSITIONS (Radford et al. 2019)
 *     Llama      .norm = ATTIC_RMS, .act = ATTIC_SWIGLU, .bias = ATTIC_BIAS_NONE, .untied = true
 *                (Touvron et al. 2023); train/import.h reads published weights */
#ifndef AT_TRAIN_MODEL_H
#define AT_TRAIN_MODEL_H
#include "nn/blocks.h"
#include "ops/ops.h"
AT_BEGIN_C

typedef enum { ATTIC_ROPE, ATTIC_LEARNED_POSITIONS, ATTIC_NO_POSITIONS } at_positions;

typedef struct {
    int vocab, context;     /* ids are 0 .. vocab-1; context is the longest T */
    int layers, heads, dim; /* layers: 1 to AT_MAX_LAYERS */
    int kv_heads;           /* key/value heads, 0: as heads */
    int hidden; /* of the feed-forward net; 0: 4 dim, or 8/3 dim for SwiGLU, see ffn.h */
    at_norm_kind norm;
    double norm_eps; /* of every norm, 1e-5 if 0 */
    at_activation act;
    at_bias bias;
    at_positions positions;       /* learned ones are added to the embedding */
    double rope_base;             /* 10000 if 0 */
    bool rope_halves;             /* which features make a pair: see at_attention_config */
    at_rope_scaling rope_scaling; /* for longer texts: see at_rope */
    bool qk_norm;                 /* rms norm of queries and keys */
    bool gate;                    /* of attention's output: see at_attention_config */
    bool sinks;                   /* a learned sink for each head of each layer: see at_sdpa */
    int window;        /* > 0: a query attends to its own key and the window - 1 before it alone */
    int full_every;    /* > 0: every full_every-th layer has no window; 2: layers 1, 3, 5 ... */
    bool post_norm;    /* a block normalises what it gives, not what it reads */
    bool no_ffn;       /* blocks of attention alone */
    bool untied;       /* head.W in place of E^T */
    bool zero_outputs; /* the matrices that end a branch begin as 0: then each block begins as x */
    double dropout;    /* of the embedding, of each branch, of the attention weights; 0 <= p < 1 */
} at_model_config;

typedef struct {
    at_model_config config;    /* with hidden filled in */
    at_tensor *E, *P;          /* [vocab,C]; [context,C] or NULL */
    at_norm norm;              /* zero in a post-norm model */
    at_linear head;            /* W [C,vocab], or NULL if tied */
    at_block *block;           /* config.layers of them */
    at_tape *tape;             /* of its parameters */
    ptrdiff_t params;          /* see at_model_params */
    int first_param, n_params; /* its parameters: at_param_at(t, first_param + i) */
} at_model;

/* The config as a line of text, "vocab=97 context=128 layers=4 ...", without what is zero, in step
 * memory (a scaling is rope_type=linear, llama3 or yarn, rope_factor=8 and the like); and the
 * config of such a text.  NULL and false after a sticky error. */
AT_API const char *at_model_text(at_tape *t, at_model_config config);
AT_API bool at_model_config_of(at_tape *t, const char *text, at_model_config *config);

/* Makes the parameters in the open scope, in this order (block.h lists the ones of a block):
 *
 *     E  P
 *     block0.norm1.g  block0.norm1.b  block0.attention.{q,k,v,o}.W
 *     block0.norm2.g  block0.norm2.b  block0.up.W  block0.up.b  block0.down.W  block0.down.b
 *     block1. ...
 *     norm.g  norm.b  head.W
 *
 * Matrices are Xavier-normal, those that end a branch (o.W, down.W) smaller by
 * 1/sqrt(branches of all layers), or 0 with zero_outputs; E, P and head.W are
 * N(0, 0.02^2).  The model lives as long as its parameters, until at_close.  The tape is described
 * by the config's text (at_describe), under "model".  NULL after a sticky error; a config that is
 * not possible makes no parameter at all. */
AT_API at_model *at_model_make(at_tape *t, at_model_config config);

/* The model m of another tape on t, for a thread of its own, say: its parameters, adapters (lora.h)
 * included, are leaves in the open scope that have their elements where those of m are, and take no
 * memory for them.  They are read-only: they want no gradient, and to write one is a sticky error.
 * Nothing on the tape of m is written, so that many threads may share and read m at once, each on
 * its own tape; meanwhile nobody may write the parameters of m.  What m's tape writes at another
 * time is seen here, and counts as written: a cache that was filled before is refused.
 *
 * The tape of m must stay open for as long as t reads the model: what at_close has freed must not
 * be read, and nothing notices that it is.  The real types of the two tapes are the same.  NULL
 * after a sticky error of t: that m's tape has one is an error, too, and that m is on t. */
AT_API at_model *at_model_share(at_tape *t, const at_model *m);

/* What else at_model_logits reads and gives; all NULL: nothing.  A tensor that it gives is NULL
 * where an error came first. */
typedef struct {
    /* i32 [T] or [B,T]: where each id is, in place of 0 .. T-1.  Learned positions must be in
     * 0 .. context-1, rotary ones may be any; a model without positions refuses them */
    at_tensor *positions;
    at_tensor *segments; /* i32 [B,T]: the document of each id, see at_sdpa; NULL: one each row */
    at_tensor **weights; /* an array of a tensor per layer: its attention weights [B,heads,T,T] */
    at_tensor **hidden;  /* an array of layers + 1: x before the first block and behind each */
} at_model_args;

/* ids i32 [B,T] -> logits [B,T,vocab].  For at_find, behind the names of the open scopes:
 *
 *     embedding        what the first block reads
 *     block0.output    x behind block 0; what is in a block: block.h
 *     norm             norm(x), what the last product reads
 *     logits */
AT_API at_tensor *at_model_logits(at_tape *t, const at_model *m, at_tensor *ids,
                                  at_model_args args);

/* at_cross_entropy(t, at_model_logits(t, m, ids, args), target, loss) without the memory of the
 * logits: see at_linear_cross_entropy.  target is i32 [B,T].  Values and gradients are those of the
 * two functions up to rounding, and in every bit if the vocabulary has at most 384 ids.  at_find
 * finds no "logits".  A head with an adapter (lora.h) is computed by the two functions. */
AT_API at_tensor *at_model_cross_entropy(at_tape *t, const at_model *m, at_tensor *ids,
                                         at_tensor *target, at_model_args args,
                                         at_cross_entropy_args loss);

/* The linear layers of a model, i = 0, 1 ...: attention.q, k, v, o, gate, up, down of each block,
 * as far as there are such, then head; NULL behind the last. */
AT_API at_linear *at_model_linear(at_model *m, int i);

/* How many numbers are learned; 0 for NULL.  E counts once, tied or not; adapters (lora.h) do not
 * count. */
AT_API ptrdiff_t at_model_params(const at_model *m);

/* Floating-point operations of the products per token in a text of T, forward; backward takes twice
 * as many.  2 for each element of a matrix that multiplies, and 2 C (T + 1) for the scores and
 * values of each layer, as a row attends to (T + 1) / 2 keys on average. */
AT_API double at_model_flop(const at_model *m, int T);

/* The state of decoding: a cache (cache.h) for each layer. */
typedef struct {
    const at_model *model;
    int position;    /* of the next id, <= context.  A lower one forgets what came after */
    at_cache *layer; /* config.layers of them, in step memory */
} at_model_cache;

/* Capacity for B texts of at most context ids, in step memory: take the mark to which each step
 * rewinds after this. */
AT_API at_model_cache at_model_cache_make(at_tape *t, const at_model *m, int B);
/* The same, with keys and values stored as f16 or bf16: see at_cache_make_as. */
AT_API at_model_cache at_model_cache_make_as(at_tape *t, const at_model *m, int B, at_dtype dtype);

/* The logits of the next T ids of each text: ids [B,T] -> [B,T,vocab].  What at_model_logits
 * gives for them at the end of all that was read, up to the order of sums (see cache.h), in
 * evaluation mode and without gradients; in train mode, or where gradients are wanted, it is an
 * error.  After an error the cache is as before.
 *
 *     at_model_cache cache = at_model_cache_make(t, m, 1);
 *     at_mark step = at_mark_here(t);
 *     logits = at_model_decode(t, &cache, prompt);    [1,T] all of it at once
 *     ...                                             sample the next id, at_rewind(t, step)
 *     logits = at_model_decode(t, &cache, next);      [1,1] then one at a time */
AT_API at_tensor *at_model_decode(at_tape *t, at_model_cache *cache, at_tensor *ids);

AT_END_C
#endif
