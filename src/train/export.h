/* export.h -- a model as a folder in the form of Hugging Face's, which import.h reads, too.
 *
 *     at_model *m = at_model_open(t, "out/gpt/best.safetensors");
 *     at_model_export(t, m, "out/llama", (at_export_args){.names = ATTIC_NAMES_LLAMA});
 *
 *     model.safetensors        every parameter, named and stored as in import.h
 *     config.json              the keys of GPT2Config or LlamaConfig, as at_model_config_json reads
 *     vocab.json  merges.txt   the tokenizer, if one is given
 *     tokenizer_config.json
 *
 * And adapters (lora.h) as a folder of Hugging Face's PEFT, beside their base, in both directions:
 *
 *     adapter_model.safetensors   base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight
 *                                 [r,in], and ... lora_B.weight [out,r]
 *     adapter_config.json         r, lora_alpha, target_modules; rank_pattern and alpha_pattern for
 *                                 those that have others
 *
 * GPT-2 has one matrix c_attn in place of q, k and v.  Their adapters are blocks of one for it:
 *
 *     x [Aq Ak Av] [Bq  .  . ]
 *                  [ .  Bk . ]  =  [x Aq Bq, x Ak Bk, x Av Bv]      rank: the sum of their ranks
 *                  [ .  .  Bv]
 *
 * which holds where alpha/r is the same for them, to a millionth, as the matrix has one alpha.  In
 * the other direction each of q, k, v gets all of A and its columns of B, but for rows that are all
 * 0 there: so what has learned is read as it was written, and of what has not (B = 0) all three get
 * all of A, or, where one of the others has learned, nothing.
 *
 * A file is written beside its place and renamed (file.h): readers find the old or the new one. */
#ifndef AT_TRAIN_EXPORT_H
#define AT_TRAIN_EXPORT_H
#include "train/import.h"
#include "train/lora.h"
#include "train/tokenizer.h"
AT_BEGIN_C

typedef struct {
    at_published_names names;
    at_dtype dtype; /* of what is written: ATTIC_F32, F16 or BF16, rounded as by at_cast; 0: F32 */
    /* "gpt2" or "bytes" (bytes are a GPT-2 tokenizer without merges), of at most the model's vocab;
     * NULL: none is written.  Files of others have another form: an error.  Adapters have none */
    const at_tokenizer *tokenizer;
} at_export_args;

/* Writes the model into the folder, which is made if there is none in a folder that exists.  What
 * at_model_import reads of it is m in every bit, or m rounded to the dtype; a model of an f64 tape
 * is rounded to f32 at least.  at_model_config_json gives m's config, but for what changes nothing
 * in a trained model (dropout, zero_outputs), with defaults filled in, and rope_halves true: the
 * columns of a model that rotates pairs are put in that order.
 *
 * What the names have no place for is an error that names the field:
 *
 *     GPT-2   norm layer; act gelu_tanh, gelu, relu, silu or tanh; bias all; positions learned;
 *             kv_heads 0 or as heads
 *     Llama   norm rms; act swiglu; bias none; positions rope
 *     both    no qk_norm, gate, sinks, window, post_norm, no_ffn; no adapters: at_model_lora_merge
 *
 * So is a value that the dtype can't hold.  False after a sticky error. */
AT_API bool at_model_export(at_tape *t, const at_model *m, const char *folder, at_export_args args);

/* Writes the adapters of the model as a folder of PEFT, for a base that at_model_export wrote with
 * the same names or that was imported.  False after a sticky error: no adapters, and what
 * at_model_export refuses besides. */
AT_API bool at_model_lora_export(at_tape *t, const at_model *m, const char *folder,
                                 at_export_args args);
/* Gives m, which has none in these places, the adapters of such a folder, and freezes all else, as
 * at_model_lora does, its description of the tape included; returns how many.  0 after a sticky
 * error: a setting of adapter_config.json that changes what is computed (use_dora, use_rslora, a
 * bias that learns ...), a tensor for which m has no place, a shape that does not fit, ranks that
 * differ from the config's.  Then m is as before, unless memory ran out or a file changed. */
AT_API int at_model_lora_import(at_tape *t, at_model *m, const char *folder);

AT_END_C
#endif
