/* lora.h -- low-rank adapters: fine-tuning with a thousandth of the parameters (Hu et al. 2021).
 *
 *     y = x W + b + (alpha/r) (x A) B         W [n_in,n_out]   A [n_in,r]   B [r,n_out]   r small
 *
 * W stays as it is; A and B learn.  A matrix of 768 x 768 has 589,824 elements, its A and B with
 * r = 8 have 12,288.  W may be stored in 16 bits (at_store_params).  A is drawn N(0, 1/n_in), B is
 * zero: so the model starts as what it was.  alpha/r lets r change without another learning rate.
 *
 *     at_model *m = at_model_open(t, "base.safetensors");
 *     at_model_lora(t, m, (at_lora_args){.rank = 8, .alpha = 16, .only = "*.q.W,*.v.W"});
 *     ...                                                    train as always
 *     at_save(t, "adapters.safetensors", (at_part_args){.only = "*.lora_*"});
 *
 * and later, either the adapters beside their base, or folded into it:
 *
 *     at_model *m = at_model_open(t, "base.safetensors");
 *     at_model_lora(t, m, (at_lora_args){.rank = 8, .only = "*.q.W,*.v.W"});
 *     at_load(t, "adapters.safetensors", (at_part_args){.only = "*.lora_*"});
 *     at_model_lora_merge(t, m);
 *     at_save(t, "merged.safetensors", (at_part_args){.except = "*.lora_*"});
 *
 * The parameters are named beside W: for "block0.attention.q.W" they are
 *
 *     block0.attention.q.lora_A      Hugging Face's PEFT names them so, too, and stores both
 *     block0.attention.q.lora_B      transposed: export.h writes and reads its folders
 *     block0.attention.q.lora_alpha  a number that is read and not learned: so a file of adapters
 *                                    says all that is needed */
#ifndef AT_TRAIN_LORA_H
#define AT_TRAIN_LORA_H
#include "train/model.h"
AT_BEGIN_C

typedef struct {
    int rank;                  /* r, at least 1 */
    double alpha;              /* 0 stands for r: a factor of 1 */
    const char *only, *except; /* at_model_lora: the matrices meant, by name (see at_names) */
} at_lora_args;

/* Gives a layer made by at_linear_make an adapter, and freezes W and b (at_freeze).  False after a
 * sticky error: one is that it has an adapter. */
AT_API bool at_linear_lora(at_tape *t, at_linear *layer, at_lora_args args);
/* W <- W + (alpha/r) A B, and the layer is without adapter again, as fast as it was; y differs by
 * rounding alone, that to 16 bits if W is stored so.  W stays frozen.  A and B stay on the tape:
 * frozen, unused, and B zero, so that what is saved says the same with them as without.  They have
 * the names that a new adapter would have, so there can be none. */
AT_API bool at_linear_merge(at_tape *t, at_linear *layer);

/* Freezes every parameter of the model and gives an adapter to the matrices of it
 * (at_model_linear) that are meant; returns how many.  at_unfreeze afterwards lets more learn, say
 * the gains of norms.  A second call serves a second group.  The tape is described by the args
 * (at_describe), under "lora".  0 after a sticky error: a pattern that matches no parameter is one,
 * and so is a group without a matrix; E, from which a tied model makes its logits, is none. */
AT_API int at_model_lora(at_tape *t, at_model *m, at_lora_args args);
/* at_linear_merge for every adapter of the model; how many.  0 after a sticky error; that there are
 * none is one. */
AT_API int at_model_lora_merge(at_tape *t, at_model *m);

/* Private to src/train: freezes every parameter of the model; can the layer, which has none, get an
 * adapter with this alpha; is the one that it has as at_linear_lora leaves it?  The last two are
 * sticky errors of `op` if not. */
bool at_model_freeze(at_tape *t, const at_model *m);
bool at_lora_fits(at_tape *t, const char *op, const at_linear *layer, double alpha);
bool at_is_adapter(at_tape *t, const char *op, const at_linear *layer);

AT_END_C
#endif
