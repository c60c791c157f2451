/* import.h -- weights of GPT-2 and Llama, as their checkpoints name them, into a model.
 *
 *     at_model_config config;
 *     at_model_config_json(t, "config.json", &config);
 *     at_model *m = at_model_make(t, config);
 *     at_model_import(t, m, at_tensors_open(t, "model.safetensors"));
 *
 *     GPT-2                                          here
 *     wte.weight [V,C]  wpe.weight [context,C]       E  P                 P takes the first rows
 *     h.0.ln_1.weight  .bias                         block0.norm1.g  .b
 *     h.0.attn.c_attn.weight [C,3C]  .bias           block0.attention.q.W, k.W, v.W  .b
 *     h.0.attn.c_proj.weight [C,C]  .bias            block0.attention.o.W  .b
 *     h.0.ln_2.weight  .bias                         block0.norm2.g  .b
 *     h.0.mlp.c_fc.weight  h.0.mlp.c_proj.weight     block0.up.W  block0.down.W    [in,out], and .b
 *     ln_f.weight  .bias                             norm.g  norm.b
 *
 *     Llama                                          here
 *     model.embed_tokens.weight [V,C]                E
 *     model.layers.0.input_layernorm.weight          block0.norm1.g
 *     model.layers.0.self_attn.q_proj.weight         block0.attention.q.W     k, v, o likewise
 *     model.layers.0.self_attn.q_norm.weight         block0.attention.q_norm.g     k likewise
 *     model.layers.0.self_attn.sinks                 block0.attention.sink
 *     model.layers.0.post_attention_layernorm.weight block0.norm2.g
 *     model.layers.0.mlp.gate_proj.weight            block0.gate.W     up, down likewise
 *     model.norm.weight  lm_head.weight              norm.g  head.W
 *
 * Matrices of the second table are stored [out,in] and are transposed.  Their q and k rotate the
 * features i and i + D/2 of a head (rope_halves); a model that rotates the pairs 2i and 2i + 1 gets
 * their columns in the order that gives the same scores.
 *
 * What leaves no trace in a file of weights must be right in the config: heads, activation,
 * norm_eps, rope_base, rope_scaling.  It stands in the config.json beside it. */
#ifndef AT_TRAIN_IMPORT_H
#define AT_TRAIN_IMPORT_H
#include "io/tensors.h"
#include "train/model.h"
AT_BEGIN_C

/* The two tables, for export.h; which of them a file has, at_model_import sees. */
typedef enum { ATTIC_NAMES_GPT2, ATTIC_NAMES_LLAMA } at_published_names;

/* The config of a published model, from its config.json: model_type gpt2, llama, qwen3 or mistral.
 * The context is n_positions or max_position_embeddings; make it smaller for shorter texts.  Both
 * forms of scaled positions are read, rope_theta beside rope_scaling and rope_parameters, and in
 * them rope_type or, older, type.  What has no value has the one that published code gives it, but
 * for sizes, which must be there.
 *
 * Every setting counts.  What at_model can't represent is an error that names the setting and its
 * value: another model_type (qwen2 has biases in q, k and v alone), hidden_act, attention_bias,
 * mlp_bias, head_dim, layer_types that are not full_attention in every n-th layer and
 * sliding_attention in the others, partial_rotary_factor, a rope_type such as dynamic or longrope,
 * and whatever this version does not know.  Left aside are rates of dropout, the ids of special
 * tokens, dtypes, and what else changes nothing in a trained model.  Whether the numbers fit each
 * other is for at_model_make to say.  After an error, of kind ATTIC_FILE_ERROR if it is about the
 * file, config is all zero.  No bytes in the file do more harm than that. */
AT_API bool at_model_config_json(at_tape *t, const char *path, at_model_config *config);

/* Fills every parameter of m from f.  A "transformer." before GPT-2's names is allowed.  Causal
 * masks and tables of angles, which some files hold as well, are skipped, and so is the
 * lm_head.weight of a tied model if it equals E.
 *
 * A sticky error, and m stays as it was, if f is of neither kind, if a tensor is missing or has
 * another shape, or if one is left over: the message names the first.  After an error while
 * elements are read m may be partly written. */
AT_API bool at_model_import(at_tape *t, at_model *m, const at_tensors *f);

AT_END_C
#endif
