/* export.c -- a model as a folder of published form; see export.h. */
#include "train/export.h"

#include <errno.h>
#include <string.h>

#include "autograd/file.h"
#include "autograd/op.h"
#include "io/tensors.h"
#include "ops/rope.h"
#include "system/system.h"
#include "train/folder.h"
#include "train/published.h"
#include "train/settings.h"
#include "train/vocabulary.h"

static const char *const names_text[] = {"GPT-2", "Llama"};
static const char *const class_text[] = {"GPT2LMHeadModel", "LlamaForCausalLM"};
static const char end_of_text[] = "<|endoftext|>";
/* GPT-2's activation_function */
static const char *const act_text[] = {[ATTIC_GELU] = "gelu",
                                       [ATTIC_GELU_TANH] = "gelu_new",
                                       [ATTIC_RELU] = "relu",
                                       [ATTIC_SILU] = "silu",
                                       [ATTIC_TANH] = "tanh"};

/* ------------------------------------------------------------------ what can be written -------- */

/* Has the config what the names have a place for, field by field? */
static bool config_fits(at_tape *t, const char *op, const at_model_config *c,
                        at_published_names names)
{
    const bool gpt2 = names == ATTIC_NAMES_GPT2;
    const bool act = c->act >= ATTIC_GELU && c->act <= ATTIC_TANH && act_text[c->act];
    const struct {
        const char *name, *needed;
        int is;
        bool fits;
    } wanted[] = {
        {"norm", gpt2 ? "ATTIC_LAYER_NORM" : "ATTIC_RMS", (int)c->norm,
         c->norm == (gpt2 ? ATTIC_LAYER_NORM : ATTIC_RMS)},
        {"act",
         gpt2 ? "ATTIC_GELU_TANH, ATTIC_GELU, ATTIC_RELU, ATTIC_SILU or ATTIC_TANH"
              : "ATTIC_SWIGLU",
         (int)c->act, gpt2 ? act : c->act == ATTIC_SWIGLU},
        {"bias", gpt2 ? "ATTIC_BIAS_ALL" : "ATTIC_BIAS_NONE", (int)c->bias,
         c->bias == (gpt2 ? ATTIC_BIAS_ALL : ATTIC_BIAS_NONE)},
        {"positions", gpt2 ? "ATTIC_LEARNED_POSITIONS" : "ATTIC_ROPE", (int)c->positions,
         c->positions == (gpt2 ? ATTIC_LEARNED_POSITIONS : ATTIC_ROPE)},
        {"kv_heads", "0", c->kv_heads, !gpt2 || !c->kv_heads || c->kv_heads == c->heads},
        {"qk_norm", "false", c->qk_norm, !c->qk_norm},
        {"gate", "false", c->gate, !c->gate},
        {"sinks", "false", c->sinks, !c->sinks},
        {"window", "0", c->window, !c->window},
        {"post_norm", "false", c->post_norm, !c->post_norm},
        {"no_ffn", "false", c->no_ffn, !c->no_ffn},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        AT_REQUIRE(t, wanted[i].fits, "%s: %s has no .%s = %d, it needs %s", op, names_text[names],
                   wanted[i].name, wanted[i].is, wanted[i].needed);
    return at_check_rope_scaling(t, op, c->rope_base, &c->rope_scaling);
}

bool at_export_begin(at_tape *t, const char *op, const at_model *m, const char *folder,
                     at_export_args *args)
{
    AT_REQUIRE(t, m && folder && *folder, "%s: the %s", op,
               !m       ? "model is NULL"
               : folder ? "folder's name is empty"
                        : "folder is NULL");
    AT_REQUIRE(t, args->names == ATTIC_NAMES_GPT2 || args->names == ATTIC_NAMES_LLAMA,
               "%s: there are no names %d, only %d and %d (at_published_names)", op,
               (int)args->names, (int)ATTIC_NAMES_GPT2, (int)ATTIC_NAMES_LLAMA);
    if (args->dtype == ATTIC_REAL) args->dtype = ATTIC_F32;
    AT_REQUIRE(t, args->dtype == ATTIC_F32 || at_is_half(args->dtype),
               "%s: the dtype is %s, but must be f32, f16 or bf16", op, at_dtype_text(args->dtype));
    return config_fits(t, op, &m->config, args->names);
}

/* ------------------------------------------------------------------ files of a folder ---------- */

const char *at_folder_file(at_tape *t, const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = at_step_alloc(t, size);
    if (path) snprintf(path, size, "%s/%s", folder, name);
    return path;
}

bool at_export_element(at_tape *t, const char *op, at_tensor *to, ptrdiff_t at, const at_tensor *w,
                       ptrdiff_t i)
{
    const double x = at_element(w, i);
    AT_REQUIRE(t, at_can_hold(to->dtype, x), "%s: element %td of %s is %g, which %s cannot hold",
               op, i, at_text(w), x, at_dtype_text(to->dtype));
    at_store(to->dtype, to->data, at, x);
    return true;
}

bool at_export_tensors(at_tape *t, const char *folder, const char *name, at_tensor *const *x, int n,
                       const char *const *names)
{
    if (at_make_folder(folder) != 0 && errno != EEXIST)
        return at_fail(t, ATTIC_FILE_ERROR, "export: cannot make the folder %s: %s", folder,
                       strerror(errno));
    /* without it transformers does not read a file */
    const at_metadata format = {"format", "pt"};
    const at_tensors_save_args args = {
        .names = names, .metadata = &format, .n_metadata = 1, .checksum = true};
    const char *path = at_folder_file(t, folder, name);
    return path && at_tensors_save(t, path, x, n, args);
}

/* ------------------------------------------------------------------ weights -------------------- */

/* Copies p's parameter to its place in the file's tensor. */
static bool fill_tensor(at_tape *t, at_tensor *to, const at_published *p)
{
    const at_tensor *w = p->w;
    int n_out = at_last(w->shape), n_in = w->shape.ndim == 2 ? w->shape.dim[0] : 1;
    for (ptrdiff_t i = 0; i < n_in; i++)
        for (int j = 0; j < n_out; j++)
            if (!at_export_element(t, "export", to, at_file_place(&p->layout, n_in, n_out, i, j), w,
                                   i * n_out + j))
                return false;
    return true;
}

/* Is p's parameter as at_model_make made it, without an adapter? */
static bool can_be_written(at_tape *t, const at_published *p)
{
    if (!at_check_stored(t, "export", p->name, p->w)) return false;
    AT_REQUIRE(t, p->w->shape.ndim == 1 || p->w->shape.ndim == 2,
               "export: %s has %d dimensions, but \"%s\" must have 1 or 2", at_text(p->w),
               p->w->shape.ndim, p->name);
    AT_REQUIRE(t, !p->layer || !p->layer->lora_A,
               "export: %s has an adapter: merge it (at_model_lora_merge), or write it beside its "
               "base (at_model_lora_export)",
               at_text(p->w));
    return true;
}

static bool write_weights(at_tape *t, const at_model *m, const char *folder, at_export_args args)
{
    int n, made = 0;
    const char *prefix = args.names == ATTIC_NAMES_GPT2 ? "transformer." : "";
    const at_published *list = at_published_list(t, m, args.names, prefix, &n);
    if (!list) return false;
    at_tensor **x = at_step_alloc(t, (size_t)n * sizeof *x);
    const char **names = at_step_alloc(t, (size_t)n * sizeof *names);
    if (!at_ok(t)) return false;
    for (int i = 0; i < n; i++)
        if (!can_be_written(t, &list[i])) return false;
    for (int i = 0, k; i < n; i++) {
        for (k = made - 1; k >= 0 && strcmp(names[k], list[i].name) != 0; k--) continue;
        if (k < 0) {
            k = made++;
            names[k] = list[i].name;
            x[k] = at_tensor_new(t, args.dtype, at_file_shape(&list[i].layout, list[i].w->shape));
        }
        const at_shape must = at_file_shape(&list[i].layout, list[i].w->shape);
        AT_REQUIRE(t, !x[k] || at_same_shape(x[k]->shape, must),
                   "export: %s needs \"%s\" %s, but another part of it %s", at_text(list[i].w),
                   names[k], at_shape_text(must), at_text(x[k]));
        if (!x[k] || !fill_tensor(t, x[k], &list[i])) return false;
    }
    return at_export_tensors(t, folder, "model.safetensors", x, made, names);
}

/* ------------------------------------------------------------------ config.json ---------------- */

static void put_numbers(at_settings_out *w, const at_published_number *row, int type,
                        const void *config)
{
    for (; row->key; row++) {
        const void *from = (const char *)config + row->at;
        if (row->types && !(row->types >> type & 1)) continue;
        if (!row->real)
            at_put_whole(w, row->key, *(const int *)from);
        else if (*(const double *)from > 0)
            at_put_real(w, row->key, *(const double *)from);
    }
}

static void put_scaling(at_settings_out *w, const at_rope_scaling *s)
{
    static const char *const type[] = {
        [ATTIC_ROPE_LINEAR] = "linear", [ATTIC_ROPE_LLAMA3] = "llama3", [ATTIC_ROPE_YARN] = "yarn"};
    if (s->type == ATTIC_ROPE_DEFAULT) return;
    at_put_open(w, "rope_scaling", '{');
    at_put_text(w, "rope_type", type[s->type]);
    put_numbers(w, at_scaling_numbers, (int)s->type, s);
    if (s->type >= ATTIC_ROPE_LLAMA3)
        at_put_whole(w, "original_max_position_embeddings", s->original_max_position_embeddings);
    if (s->no_truncate) at_put_raw(w, "truncate", "false");
    at_put_close(w, '}');
}

/* The token where texts end, -1 if the tokenizer has none. */
static int end_of(const at_tokenizer *k)
{
    return at_tokenizer_find(k, end_of_text, sizeof end_of_text - 1);
}

static void put_ends(at_settings_out *w, const at_tokenizer *k)
{
    char id[16] = "null";
    if (end_of(k) >= 0) snprintf(id, sizeof id, "%d", end_of(k));
    at_put_raw(w, "bos_token_id", id);
    at_put_raw(w, "eos_token_id", id);
}

static void put_gpt2(at_settings_out *w, const at_model_config *c)
{
    at_put_text(w, "activation_function", act_text[c->act]);
    at_put_real(w, "attn_pdrop", c->dropout);
    at_put_real(w, "embd_pdrop", c->dropout);
    at_put_real(w, "resid_pdrop", c->dropout);
    put_numbers(w, at_gpt2_numbers, 0, c);
}

static void put_llama(at_settings_out *w, const at_model_config *c)
{
    at_put_raw(w, "attention_bias", "false");
    at_put_raw(w, "mlp_bias", "false");
    at_put_real(w, "attention_dropout", c->dropout);
    at_put_text(w, "hidden_act", "silu");
    put_numbers(w, at_llama_numbers, 0, c);
    put_scaling(w, &c->rope_scaling);
}

static bool write_config(at_tape *t, at_model_config c, const char *folder, at_export_args args)
{
    static const char *const type[] = {"gpt2", "llama"};
    static const char *const dtype[] = {
        [ATTIC_F32] = "float32", [ATTIC_F16] = "float16", [ATTIC_BF16] = "bfloat16"};
    if (!c.kv_heads) c.kv_heads = c.heads;
    if (c.norm_eps == 0) c.norm_eps = 1e-5;
    if (c.rope_base == 0) c.rope_base = 10000;
    const char *path = at_folder_file(t, folder, "config.json");
    at_settings_out w = {.f = at_file_create(t, path)};
    at_put_open(&w, NULL, '{');
    at_put_open(&w, "architectures", '[');
    at_put_text(&w, NULL, class_text[args.names]);
    at_put_close(&w, ']');
    at_put_text(&w, "model_type", type[args.names]);
    (args.names == ATTIC_NAMES_GPT2 ? put_gpt2 : put_llama)(&w, &c);
    at_put_raw(&w, "tie_word_embeddings", c.untied ? "false" : "true");
    put_ends(&w, args.tokenizer);
    at_put_text(&w, "torch_dtype", dtype[args.dtype]);
    at_put_close(&w, '}');
    return at_file_close(t, w.f, path);
}

/* ------------------------------------------------------------------ tokenizer ------------------ */

static bool tokenizer_fits(at_tape *t, const at_tokenizer *k, int vocab)
{
    const char *kind = at_tokenizer_kind(k);
    AT_REQUIRE(t, !k || strcmp(kind, "gpt2") == 0 || strcmp(kind, "bytes") == 0,
               "export: a tokenizer of the kind %s has no vocab.json and merges.txt: leave it out",
               kind);
    AT_REQUIRE(t, at_tokenizer_vocab(k) <= vocab,
               "export: the tokenizer has %d tokens, but the model's vocab is %d",
               at_tokenizer_vocab(k), vocab);
    return !k || at_vocabulary_check(t, "export", k);
}

static bool write_tokenizer(at_tape *t, const at_tokenizer *k, const char *folder, int context)
{
    static const char *const role[] = {"bos_token", "eos_token", "unk_token"};
    if (!at_tokenizer_save(t, k, folder)) return false;
    const char *path = at_folder_file(t, folder, "tokenizer_config.json");
    at_settings_out w = {.f = at_file_create(t, path)};
    at_put_open(&w, NULL, '{');
    at_put_text(&w, "tokenizer_class", "GPT2Tokenizer");
    at_put_whole(&w, "model_max_length", context);
    at_put_raw(&w, "add_prefix_space", "false");
    at_put_raw(&w, "clean_up_tokenization_spaces", "false");
    for (int i = 0; i < 3; i++)
        if (end_of(k) < 0)
            at_put_raw(&w, role[i], "null");
        else
            at_put_text(&w, role[i], end_of_text);
    at_put_close(&w, '}');
    return at_file_close(t, w.f, path);
}

/* The largest file first, as it is the one that finds a disk full. */
bool at_model_export(at_tape *t, const at_model *m, const char *folder, at_export_args args)
{
    at_mark here = at_mark_here(t);
    bool good = at_export_begin(t, "export", m, folder, &args) &&
                tokenizer_fits(t, args.tokenizer, m->config.vocab) &&
                write_weights(t, m, folder, args) && write_config(t, m->config, folder, args) &&
                (!args.tokenizer || write_tokenizer(t, args.tokenizer, folder, m->config.context));
    at_rewind(t, here);
    return good;
}
