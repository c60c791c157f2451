/* share.c -- a model of one tape on another; see model.h.
 *
 * The model is made once more, by the same config, and each new parameter is given the data of the
 * one of m that was made in its turn:
 *
 *     at_param_at(m->tape, first_param ...)     E  P  block0.norm1.g ...  head.W
 *     then of each layer with an adapter        lora_A  lora_B  lora_alpha
 *
 * So what at_model_make and at_linear_lora make is known to them alone. */
#include "autograd/op.h"
#include "train/lora.h"

typedef struct {
    const at_tensor **x; /* the parameters of m in that order */
    int n, next;
} shared_params;

static bool list_shared(at_tape *t, at_model *m, shared_params *of)
{
    const at_linear *layer;
    int adapters = 0;
    for (int i = 0; (layer = at_model_linear(m, i)); i++) adapters += layer->lora_A != NULL;
    *of = (shared_params){
        .x = at_step_alloc(t, ((size_t)m->n_params + 3 * (size_t)adapters) * sizeof *of->x)};
    if (!of->x) return false;
    while (of->n < m->n_params) {
        of->x[of->n] = at_param_at(m->tape, m->first_param + of->n);
        of->n++;
    }
    for (int i = 0; (layer = at_model_linear(m, i)); i++) {
        if (!layer->lora_A) continue;
        of->x[of->n++] = layer->lora_A;
        of->x[of->n++] = layer->lora_B;
        of->x[of->n++] = layer->lora_alpha;
    }
    return true;
}

static bool share_param(void *from, at_tensor *x)
{
    shared_params *of = from;
    const at_tensor *y = of->next < of->n ? of->x[of->next++] : NULL;
    AT_REQUIRE(x->tape, y && at_same_shape(y->shape, x->shape),
               "model_share: %s is needed, but the model has %s: its config was changed",
               at_text(x), at_text(y));
    AT_REQUIRE(x->tape, at_is_half(y->dtype) || y->dtype == at_real(x->tape),
               "model_share: %s is %s, but the real type of this tape is %s", at_text(y),
               at_dtype_text(y->dtype), at_dtype_text(at_real(x->tape)));
    x->dtype = y->dtype;
    at_share_data(x, y, y->data);
    return true;
}

/* The adapters of m's layers for those of `shared`, whose matrices must be theirs. */
static bool share_adapters(at_tape *t, at_model *shared, at_model *m)
{
    at_linear *to;
    for (int i = 0; (to = at_model_linear(shared, i)); i++) {
        const at_linear *layer = at_model_linear(m, i);
        AT_REQUIRE(t, layer && layer->W->data == to->W->data,
                   "model_share: the model has %s in place of %s, with which it was made",
                   at_text(layer ? layer->W : NULL), at_text(to->W));
        if (layer->lora_A &&
            !at_linear_lora(t, to, (at_lora_args){.rank = at_last(layer->lora_A->shape)}))
            return false;
    }
    return true;
}

at_model *at_model_share(at_tape *t, const at_model *model)
{
    at_model *m = (at_model *)model; /* (at_model_linear gives layers that can be written) */
    shared_params of;
    AT_REQUIRE(t, m, "model_share: the model is NULL");
    AT_REQUIRE(t, m->tape != t, "model_share: the model is on this tape already");
    AT_REQUIRE(t, at_ok(m->tape), "model_share: the tape of the model has an error: %s",
               at_error(m->tape));
    at_mark before = at_mark_here(t);
    at_model *shared = NULL;
    if (list_shared(t, m, &of)) {
        at_fill_params(t, share_param, &of);
        shared = at_model_make(t, m->config);
        if (shared && !share_adapters(t, shared, m)) shared = NULL;
        at_fill_params(t, NULL, NULL);
    }
    at_rewind(t, before);
    return shared;
}
