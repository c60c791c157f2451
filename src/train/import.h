/* import.h -- weights of GPT-2 and Llama, as their checkpoints name them, into a model.
 *
 *     at_tensors *f = at_tensors_open(t, "model.safetensors");
 *     at_model *m = at_model_make(t, (at_model_config){.vocab = 50257, .context = 1024,
 *         .layers = 12, .heads = 12, .dim = 768, .act = ATTIC_GELU_TANH, .bias = ATTIC_BIAS_ALL,
 *         .positions = ATTIC_LEARNED_POSITIONS});
 *     at_model_import(t, m, f);
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
 *     model.layers.0.post_attention_layernorm.weight block0.norm2.g
 *     model.layers.0.mlp.gate_proj.weight            block0.gate.W     up, down likewise
 *     model.norm.weight  lm_head.weight              norm.g  head.W
 *
 * Matrices of the second table are stored [out,in] and are transposed.  Their q and k rotate the
 * features i and i + D/2 of a head (rope_halves); a model that rotates the pairs 2i and 2i + 1 gets
 * their columns in the order that gives the same scores.
 *
 * What leaves no trace in a file must be right in the config: heads, activation, norm_eps,
 * rope_base. */
#ifndef AT_TRAIN_IMPORT_H
#define AT_TRAIN_IMPORT_H
#include "io/tensors.h"
#include "train/model.h"
AT_BEGIN_C

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
