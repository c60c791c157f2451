/* models.c -- models and adapters as folders, and what attic computes with them, for read.py: `models FOLDER`.
 *
 * FOLDER/NAME is what at_model_export wrote, FOLDER/NAME/adapter what at_model_lora_export wrote, and
 * FOLDER/NAME/attic.safetensors has
 *
 *     ids [B,T]  logits [B,T,V]      of the model
 *     prompt [1,P]  greedy [1,P+N]   and N ids that it goes on with, always the most likely one
 *     adapted [B,T,V]                the logits with the adapters */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attic_op.h"
#include "attic_train.h"

enum { VOCAB = 23, CONTEXT = 24, B = 2, T = 9, PROMPT = 4, GOES_ON = 16 };

#define SMALL .vocab = VOCAB, .context = CONTEXT, .layers = 2, .heads = 4, .dim = 16
#define AS_GPT2 SMALL, .hidden = 40, .bias = ATTIC_BIAS_ALL, .positions = ATTIC_LEARNED_POSITIONS
#define AS_LLAMA                                                                                   \
    SMALL, .kv_heads = 2, .norm = ATTIC_RMS, .act = ATTIC_SWIGLU, .bias = ATTIC_BIAS_NONE

static const struct {
    const char *name;
    at_published_names names;
    at_model_config config;
    at_lora_args lora, more; /* more.rank 0: there is one group */
} exported_models[] = {
    {"gpt2", ATTIC_NAMES_GPT2, {AS_GPT2, .act = ATTIC_GELU_TANH}, {2, 3, "*.q.W,*.v.W", NULL}, {0}},
    {"gpt2-untied",
     ATTIC_NAMES_GPT2,
     {AS_GPT2, .act = ATTIC_SILU, .untied = true, .norm_eps = 0.01},
     {2, 4, "*.k.W,*.up.W,block1.down.W,head.W", NULL},
     {3, 6, "block0.*.q.W,*.o.W", NULL}},
    {"llama",
     ATTIC_NAMES_LLAMA,
     {AS_LLAMA, .untied = true, .rope_halves = true},
     {2, 3, "*.q.W,*.v.W", NULL},
     {0}},
    {"llama-scaled",
     ATTIC_NAMES_LLAMA,
     {AS_LLAMA, .rope_base = 500,
      .rope_scaling = {.type = ATTIC_ROPE_LLAMA3,
                       .factor = 8,
                       .low_freq_factor = 0.3,
                       .high_freq_factor = 1,
                       .original_max_position_embeddings = 16}},
     {3, 4, "*.k.W,*.gate.W,*.o.W", NULL},
     {1, 2, "block1.*.q.W", NULL}},
};

/* Every parameter from this one on, also biases and B, becomes numbers that matter. */
static void scatter_from(at_tape *t, int first)
{
    for (int k = first; k < at_param_count(t); k++) {
        at_tensor *x = at_param_at(t, k);
        const double size = x->shape.ndim ? 0.2 : 0;
        for (ptrdiff_t i = 0; i < at_count(x->shape); i++)
            at_store(x->dtype, x->data, i, at_element(x, i) + size * sin(1.3 * (double)i + 17 * k));
        at_written(x);
    }
}

/* A copy of x on another tape, u, so that t can rewind; NULL for NULL. */
static at_tensor *kept(at_tape *u, const at_tensor *x, const char *name)
{
    at_tensor *y = x ? at_blank(u, x->dtype, x->shape) : NULL;
    for (ptrdiff_t i = 0; y && i < at_count(x->shape); i++)
        at_store(y->dtype, y->data, i, at_element(x, i));
    return at_name(y, name);
}

static at_tensor *kept_logits(at_tape *t, at_tape *u, const at_model *m, const at_tensor *ids,
                              const char *name)
{
    at_mark here = at_mark_here(t);
    at_tensor *x = at_ints(t, ids->shape, ids->data);
    at_tensor *y = kept(u, at_model_logits(t, m, x, (at_model_args){0}), name);
    at_rewind(t, here);
    return y;
}

/* The prompt and what the model makes of it. */
static at_tensor *greedy_ids(at_tape *t, at_tape *u, const at_model *m, const int32_t *prompt)
{
    int32_t ids[PROMPT + GOES_ON];
    memcpy(ids, prompt, PROMPT * sizeof *ids);
    for (int n = PROMPT; n < PROMPT + GOES_ON; n++) {
        at_mark here = at_mark_here(t);
        at_tensor *x = at_ints(t, at_shape_of(1, n), ids);
        at_tensor *best = at_argmax(t, at_model_logits(t, m, x, (at_model_args){0}), -1, false);
        ids[n] = best ? (int32_t)at_element(best, n - 1) : 0;
        at_rewind(t, here);
    }
    return at_name(at_ints(u, at_shape_of(1, PROMPT + GOES_ON), ids), "greedy");
}

static bool export_model(at_tape *t, int i, const char *folder)
{
    char path[3][4200];
    snprintf(path[0], sizeof *path, "%s/%s", folder, exported_models[i].name);
    snprintf(path[1], sizeof *path, "%s/%s/adapter", folder, exported_models[i].name);
    snprintf(path[2], sizeof *path, "%s/%s/attic.safetensors", folder, exported_models[i].name);
    int32_t some[B * T], begin[PROMPT] = {3, 1, 4, 1};
    for (int k = 0; k < B * T; k++) some[k] = (7 * k * k + 3) % VOCAB;
    at_tape *u = at_open(ATTIC_F32, 1);
    at_model *m = at_model_make(t, exported_models[i].config);
    scatter_from(t, 0);
    at_train(t, false), at_no_grad(t, true);
    at_tensor *ids = at_name(at_ints(u, at_shape_of(B, T), some), "ids");
    at_tensor *prompt = at_name(at_ints(u, at_shape_of(1, PROMPT), begin), "prompt");
    at_tensor *x[] = {ids, kept_logits(t, u, m, ids, "logits"), prompt, greedy_ids(t, u, m, begin),
                      NULL};
    at_export_args args = {.names = exported_models[i].names};
    at_model_export(t, m, path[0], args);
    at_model_lora(t, m, exported_models[i].lora);
    if (exported_models[i].more.rank) at_model_lora(t, m, exported_models[i].more);
    scatter_from(t, m ? m->n_params : 0);
    at_model_lora_export(t, m, path[1], args);
    x[4] = kept_logits(t, u, m, ids, "adapted");
    bool good = at_ok(t) && at_tensors_save(u, path[2], x, 5, (at_tensors_save_args){0});
    if (!good) fprintf(stderr, "models: %s%s\n", at_error(t), at_error(u));
    at_close(u);
    return good;
}

int main(int argc, char **argv)
{
    if (argc != 2) return fprintf(stderr, "usage: models FOLDER\n"), 2;
    for (size_t i = 0; i < sizeof exported_models / sizeof *exported_models; i++) {
        at_tape *t = at_open(ATTIC_F32, 1);
        bool good = export_model(t, (int)i, argv[1]);
        at_close(t);
        if (!good) return 1;
    }
    return 0;
}
