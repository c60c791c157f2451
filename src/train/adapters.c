/* adapters.c -- adapters written as a folder of Hugging Face's PEFT; see export.h. */
#include <math.h>
#include <string.h>

#include "autograd/file.h"
#include "autograd/op.h"
#include "train/adapters.h"
#include "train/folder.h"
#include "train/settings.h"

bool at_adapter_modules(at_adapter_set *s, const at_model *m)
{
    int n;
    const char *prefix = s->names == ATTIC_NAMES_GPT2 ? "transformer." : "";
    const at_published *p = at_published_list(s->t, m, s->names, prefix, &n);
    if (!p) return false;
    s->layers = m->config.layers;
    s->module = at_step_alloc(s->t, (size_t)n * sizeof *s->module);
    for (int i = 0; s->module && i < n; i++) {
        if (!p[i].layer) continue;
        at_adapted_module *d = s->n ? &s->module[s->n - 1] : NULL;
        if (!d || strcmp(d->part[0]->name, p[i].name) != 0)
            d = &s->module[s->n++], *d = (at_adapted_module){.parts = 0};
        d->part[d->parts++] = &p[i];
    }
    return s->module;
}

const char *at_module_name(const at_adapted_module *d, char name[AT_MODULE_NAME])
{
    const char *whole = d->part[0]->name;
    snprintf(name, AT_MODULE_NAME, "%.*s", (int)(strrchr(whole, '.') - whole), whole);
    return name;
}

const char *at_adapter_name(const at_adapted_module *d, char which, char name[AT_MODULE_NAME])
{
    char module[AT_MODULE_NAME];
    snprintf(name, AT_MODULE_NAME, "base_model.model.%.80s.lora_%c.weight",
             at_module_name(d, module), which);
    return name;
}

/* ------------------------------------------------------------------ export --------------------- */

/* Are W of this part, and its adapter if it has one, as at_linear_lora leaves them? */
static bool part_is_sound(at_tape *t, const at_adapted_module *d, int part)
{
    const at_linear *l = d->part[part]->layer;
    if (!at_check_stored(t, "lora_export", "W", l->W)) return false;
    const at_shape W = l->W->shape;
    AT_REQUIRE(t, W.ndim == 2 && at_same_shape(W, d->part[0]->w->shape),
               "lora_export: %s is no matrix, or not like %s", at_text(l->W),
               at_text(d->part[0]->w));
    return !l->lora_A || at_is_adapter(t, "lora_export", l);
}

/* Its rank and alpha, from the adapters of its parts; rank 0 if there are none. */
static bool sum_ranks(at_tape *t, at_adapted_module *d)
{
    double scale = 0, first = 1;
    bool any = false;
    for (int k = 0; k < d->parts; k++) any |= d->part[k]->layer->lora_A != NULL;
    for (int k = 0; any && k < d->parts; k++) {
        const at_linear *layer = d->part[k]->layer;
        if (!part_is_sound(t, d, k)) return false;
        if (!layer->lora_A) continue;
        const double alpha = at_item(layer->lora_alpha), r = at_last(layer->lora_A->shape);
        AT_REQUIRE(t, alpha > 0 && isfinite(alpha),
                   "lora_export: %s is %g, but PEFT has positive and finite ones alone",
                   at_text(layer->lora_alpha), alpha);
        /* alpha was rounded to float, each on its own */
        AT_REQUIRE(t, d->rank == 0 || fabs(alpha / r - scale) <= 1e-6 * scale,
                   "lora_export: %s has alpha/r = %.9g, but beside it in GPT-2's c_attn are others "
                   "with %.9g: they have one alpha",
                   at_text(layer->W), alpha / r, scale);
        if (d->rank == 0) d->alpha = alpha, scale = alpha / r, first = r;
        d->rank += (int)r;
    }
    d->alpha *= d->rank / first;
    return true;
}

/* A and B of the file, blocks of those of the parts. */
static bool join_parts(at_tape *t, const at_adapted_module *d, at_tensor *A, at_tensor *B)
{
    if (!A || !B) return false;
    memset(B->data, 0, at_bytes(B));
    int o = 0; /* where the block of this part begins */
    for (int k = 0; k < d->parts; k++) {
        const at_published *p = d->part[k];
        if (!p->layer->lora_A) continue;
        const at_tensor *a = p->layer->lora_A, *b = p->layer->lora_B;
        const int r = at_last(a->shape), n_in = a->shape.dim[0], n_out = at_last(b->shape);
        bool good = true;
        for (ptrdiff_t i = 0; i < r; i++) {
            for (int c = 0; good && c < n_in; c++)
                good = at_export_element(t, "lora_export", A, (o + i) * n_in + c, a, c * r + i);
            for (int j = 0; good && j < n_out; j++)
                good = at_export_element(t, "lora_export", B,
                                         at_file_row(&p->layout, n_out, j) * d->rank + o + i, b,
                                         i * n_out + j);
        }
        if (!good) return false;
        o += r;
    }
    return true;
}

static bool write_adapters(const at_adapter_set *s, const char *folder, at_dtype dtype)
{
    at_tape *t = s->t;
    size_t most = 2 * (size_t)s->n;
    at_tensor **x = at_step_alloc(t, most * sizeof *x);
    const char **names = at_step_alloc(t, most * sizeof *names);
    char(*text)[AT_MODULE_NAME] = at_step_alloc(t, most * sizeof *text);
    int made = 0;
    if (!at_ok(t)) return false;
    for (int i = 0; i < s->n; i++) {
        const at_adapted_module *d = &s->module[i];
        if (d->rank == 0) continue;
        const at_shape w = d->part[0]->w->shape;
        at_tensor *A = at_tensor_new(t, dtype, at_shape_of(d->rank, w.dim[0]));
        at_tensor *B =
            at_tensor_new(t, dtype, at_shape_of(d->part[0]->layout.parts * w.dim[1], d->rank));
        if (!join_parts(t, d, A, B)) return false;
        for (int k = 0; k < 2; k++, made++) {
            x[made] = k ? B : A;
            names[made] = at_adapter_name(d, k ? 'B' : 'A', text[made]);
        }
    }
    return at_export_tensors(t, folder, "adapter_model.safetensors", x, made, names);
}

/* Have all layers the adapter of this module, with one rank and one alpha? */
static bool is_in_all_layers(const at_adapter_set *s, const at_adapted_module *d)
{
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += s->module[i].part[0]->stem == d->part[0]->stem && s->module[i].rank == d->rank &&
             s->module[i].alpha == d->alpha;
    return n == s->layers;
}

/* What adapter_config.json calls the module: "q_proj", or "attn.c_proj", as GPT-2 has two of these,
 * if it is in all layers; else "layers.0.self_attn.q_proj", "lm_head".  Both are ends of its
 * name.  NULL: an earlier key stands for it. */
static const char *module_key(const at_adapter_set *s, const at_adapted_module *d,
                              char key[AT_MODULE_NAME])
{
    const at_published *p = d->part[0];
    const char *name = at_module_name(d, key);
    if (p->block < 0) return p->stem;
    if (!is_in_all_layers(s, d)) return strchr(name, '.') + 1;
    if (p->block > 0) return NULL;
    return s->names == ATTIC_NAMES_LLAMA ? strchr(p->stem, '.') + 1 : p->stem;
}

typedef enum { KEYS_ALL, KEYS_OTHER_RANK, KEYS_OTHER_ALPHA } which_keys;

static void put_keys(at_settings_out *w, const at_adapter_set *s, which_keys which)
{
    char text[AT_MODULE_NAME];
    for (int i = 0; i < s->n; i++) {
        const at_adapted_module *d = &s->module[i];
        const char *key = d->rank ? module_key(s, d, text) : NULL;
        if (!key) continue;
        if (which == KEYS_ALL) at_put_text(w, NULL, key);
        if (which == KEYS_OTHER_RANK && d->rank != s->r) at_put_whole(w, key, d->rank);
        if (which == KEYS_OTHER_ALPHA && d->alpha != s->alpha) at_put_real(w, key, d->alpha);
    }
}

static bool write_adapter_config(const at_adapter_set *s, const char *folder)
{
    const char *path = at_folder_file(s->t, folder, "adapter_config.json");
    at_settings_out w = {.f = at_file_create(s->t, path)};
    at_put_open(&w, NULL, '{');
    at_put_text(&w, "peft_type", "LORA");
    at_put_text(&w, "task_type", "CAUSAL_LM");
    at_put_raw(&w, "base_model_name_or_path", "null");
    at_put_raw(&w, "inference_mode", "true");
    at_put_whole(&w, "r", s->r);
    at_put_real(&w, "lora_alpha", s->alpha);
    at_put_real(&w, "lora_dropout", 0);
    at_put_text(&w, "bias", "none");
    at_put_raw(&w, "fan_in_fan_out", s->names == ATTIC_NAMES_GPT2 ? "true" : "false");
    at_put_open(&w, "target_modules", '[');
    put_keys(&w, s, KEYS_ALL);
    at_put_close(&w, ']');
    at_put_open(&w, "rank_pattern", '{');
    put_keys(&w, s, KEYS_OTHER_RANK);
    at_put_close(&w, '}');
    at_put_open(&w, "alpha_pattern", '{');
    put_keys(&w, s, KEYS_OTHER_ALPHA);
    at_put_close(&w, '}');
    at_put_close(&w, '}');
    return at_file_close(s->t, w.f, path);
}

static bool export_adapters(at_tape *t, const at_model *m, const char *folder, at_export_args args)
{
    at_adapter_set s = {.t = t, .names = args.names};
    if (!at_adapter_modules(&s, m)) return false;
    for (int i = 0; i < s.n; i++) {
        if (!sum_ranks(t, &s.module[i])) return false;
        if (s.r == 0) s.r = s.module[i].rank, s.alpha = s.module[i].alpha;
    }
    AT_REQUIRE(t, s.r > 0, "lora_export: the model has no adapters");
    return write_adapters(&s, folder, args.dtype) && write_adapter_config(&s, folder);
}

bool at_model_lora_export(at_tape *t, const at_model *m, const char *folder, at_export_args args)
{
    at_mark here = at_mark_here(t);
    bool good =
        at_export_begin(t, "lora_export", m, folder, &args) && export_adapters(t, m, folder, args);
    at_rewind(t, here);
    return good;
}
