/* adapters_import.c -- adapters from a folder of Hugging Face's PEFT; see export.h.
 *
 * Everything is visited twice: first the config, names, shapes and elements are checked, then
 * adapters are made.  So a folder that does not fit changes nothing. */
#include <string.h>

#include "autograd/op.h"
#include "autograd/persist.h"
#include "io/tensors.h"
#include "train/adapters.h"
#include "train/folder.h"
#include "train/settings.h"

typedef struct {
    at_adapter_set set;
    at_model *m;
    const at_tensors *f;
    bool *used;                  /* which tensors of the file the model takes */
    at_settings *config;         /* adapter_config.json */
    at_settings *ranks, *alphas; /* its patterns; NULL: none */
} adapter_job;

/* What changes nothing in adapters that are read: to which modules they belong, their tensors'
 * names say. */
static const char adapter_idle[] =
    " auto_mapping base_model_name_or_path corda_config eva_config exclude_modules fan_in_fan_out "
    "inference_mode init_lora_weights layers_pattern layers_to_transform loftq_config lora_dropout "
    "megatron_config megatron_core peft_version qalora_group_size revision runtime_config "
    "target_modules task_type ";

/* The patterns of config.json under this key; *o stays NULL if there are none. */
static bool take_patterns(adapter_job *g, const char *key, const char *in, at_settings **o)
{
    const at_setting *v = at_setting_given(g->config, key);
    if (!v) return true;
    *o = at_settings_within(g->config, v, in);
    for (int i = 0; *o && i < (*o)->n; i++) {
        const at_setting *s = &(*o)->list[i];
        const char *known = "of regular expressions at_model has names alone";
        if (strspn(s->key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") !=
            strlen(s->key))
            return at_setting_refuse(*o, s, known);
    }
    return *o;
}

static bool take_adapter_config(adapter_job *g)
{
    at_settings *c = g->config;
    static const char *const needed[] = {"peft_type", "r", "lora_alpha"};
    for (int i = 0; i < 3; i++)
        if (!at_setting_given(c, needed[i])) return at_setting_missing(c, needed[i]);
    return at_take_word(c, "peft_type", "LORA ") == 0 && at_take_word(c, "bias", "none ") == 0 &&
           at_take_size(c, "r", true, &g->set.r) &&
           at_take_real(c, "lora_alpha", AT_TINY, &g->set.alpha) &&
           at_take_only(c, "use_dora", "false") && at_take_only(c, "use_rslora", "false") &&
           at_take_only(c, "use_qalora", "false") && at_take_only(c, "lora_bias", "false") &&
           at_take_only(c, "ensure_weight_tying", "false") &&
           at_take_only(c, "modules_to_save", "[]") &&
           take_patterns(g, "rank_pattern", "rank_pattern.", &g->ranks) &&
           take_patterns(g, "alpha_pattern", "alpha_pattern.", &g->alphas) &&
           at_settings_all_read(c);
}

/* The key of the first pattern that is the end of this name; NULL: none. */
static const char *pattern_of(const at_settings *o, const char *name)
{
    for (int i = 0; o && i < o->n; i++) {
        const char *key = o->list[i].key;
        const size_t n = strlen(name), k = strlen(key);
        if (n >= k && strcmp(name + n - k, key) == 0 && (n == k || name[n - k - 1] == '.'))
            return key;
    }
    return NULL;
}

/* Whose names has the file? */
static bool recognise_names(adapter_job *g)
{
    static const char *const begin[] = {[ATTIC_NAMES_GPT2] = "base_model.model.transformer.",
                                        [ATTIC_NAMES_LLAMA] = "base_model.model.model."};
    for (int i = 0; i < at_tensors_count(g->f); i++)
        for (int k = 0; k < 2; k++)
            if (strncmp(at_tensors_name(g->f, i), begin[k], strlen(begin[k])) == 0) {
                g->set.names = (at_published_names)k;
                return true;
            }
    return at_fail(g->set.t, ATTIC_FILE_ERROR,
                   "lora_import: adapter_model.safetensors has no tensor \"%s...\" of GPT-2 and "
                   "none \"%s...\" of Llama",
                   begin[0], begin[1]);
}

/* Its rank and alpha, by the config.  False after a sticky error, also if the file's shapes are
 * others. */
static bool fit_module(adapter_job *g, at_adapted_module *d)
{
    at_tape *t = g->set.t;
    char name[2][AT_MODULE_NAME], module[AT_MODULE_NAME];
    int at[2];
    for (int k = 0; k < 2; k++)
        at[k] = at_tensors_find(g->f, at_adapter_name(d, k ? 'B' : 'A', name[k]));
    if (at[0] < 0 && at[1] < 0) return true;
    AT_REQUIRE(t, at[0] >= 0 && at[1] >= 0, "lora_import: the file has \"%s\", but no \"%s\"",
               name[at[0] < 0], name[at[0] >= 0]);
    const char *rank = pattern_of(g->ranks, at_module_name(d, module));
    const char *alpha = pattern_of(g->alphas, module);
    d->rank = g->set.r, d->alpha = g->set.alpha;
    if ((rank && !at_take_size(g->ranks, rank, true, &d->rank)) ||
        (alpha && !at_take_real(g->alphas, alpha, AT_TINY, &d->alpha)))
        return false;
    for (int k = 0; k < d->parts; k++) {
        const at_linear *layer = d->part[k]->layer;
        if (!at_lora_fits(t, "lora_import", layer, d->alpha)) return false;
        AT_REQUIRE(t, at_same_shape(layer->W->shape, d->part[0]->w->shape),
                   "lora_import: %s is another shape than %s, so \"%s\" has no place for both",
                   at_text(layer->W), at_text(d->part[0]->w), name[0]);
    }
    const at_shape w = d->part[0]->w->shape;
    const at_shape must[] = {at_shape_of(d->rank, w.dim[0]),
                             at_shape_of(d->part[0]->layout.parts * w.dim[1], d->rank)};
    for (int k = 0; k < 2; k++) {
        const at_shape is = at_tensors_shape(g->f, at[k]);
        AT_REQUIRE(t, at_same_shape(is, must[k]),
                   "lora_import: \"%s\" is %s in the file, but %s with rank %d needs %s", name[k],
                   at_shape_text(is), at_text(d->part[0]->w), d->rank, at_shape_text(must[k]));
        g->used[at[k]] = true;
    }
    return true;
}

/* Which rows of B, columns in the file, are not all 0 for this part of a module: into `kept`. */
static int rows_of_part(const at_adapted_module *d, int part, const at_tensor *B, int *kept)
{
    const at_published *p = d->part[part];
    const int n_out = at_last(p->w->shape);
    int n = 0;
    for (int i = 0; i < d->rank; i++) {
        bool any = p->layout.parts == 1;
        for (int j = 0; j < n_out && !any; j++)
            any = at_element(B, at_file_row(&p->layout, n_out, j) * d->rank + i) != 0;
        kept[n] = i;
        n += any;
    }
    return n;
}

static at_linear *own_layer(at_model *m, const at_linear *layer)
{
    int i = 0;
    while (at_model_linear(m, i) != layer) i++;
    return at_model_linear(m, i);
}

/* An adapter for this part of a module: these n rows of A and B, rows and columns in the file. */
static bool adapt_part(adapter_job *g, const at_adapted_module *d, int part, const at_tensor *A,
                       const at_tensor *B, const int *kept, int n)
{
    const at_published *p = d->part[part];
    at_linear *layer = own_layer(g->m, p->layer);
    at_lora_args args = {.rank = n, .alpha = d->alpha * n / d->rank};
    if (!at_linear_lora(g->set.t, layer, args)) return false;
    at_tensor *a = layer->lora_A, *b = layer->lora_B;
    const int n_in = a->shape.dim[0], n_out = at_last(b->shape);
    for (ptrdiff_t i = 0; i < n; i++) {
        for (int c = 0; c < n_in; c++)
            at_store(a->dtype, a->data, c * (ptrdiff_t)n + i,
                     at_element(A, (ptrdiff_t)kept[i] * n_in + c));
        for (int j = 0; j < n_out; j++)
            at_store(b->dtype, b->data, i * n_out + j,
                     at_element(B, at_file_row(&p->layout, n_out, j) * d->rank + kept[i]));
    }
    at_written(a);
    at_written(b);
    return true;
}

/* How many of our matrices have got an adapter; -1 after a sticky error. */
static int adapt_module(adapter_job *g, const at_adapted_module *d)
{
    at_tape *t = g->set.t;
    char name[AT_MODULE_NAME];
    int *kept[AT_MODULE_PARTS], n[AT_MODULE_PARTS], all = 0, adapted = 0;
    const at_tensor *A = at_tensors_load(g->f, at_adapter_name(d, 'A', name));
    const at_tensor *B = at_tensors_load(g->f, at_adapter_name(d, 'B', name));
    for (int k = 0; k < d->parts; k++)
        kept[k] = at_step_alloc(t, ((size_t)d->rank + 1) * sizeof **kept);
    if (!at_ok(t)) return -1;
    for (int k = 0; k < d->parts; k++) all += n[k] = rows_of_part(d, k, B, kept[k]);
    for (int k = 0; k < d->parts; k++) {
        for (int i = 0; all == 0 && i < d->rank; i++) kept[k][i] = i; /* has not learned yet */
        if (all == 0) n[k] = d->rank;
        if (n[k] > 0 && !adapt_part(g, d, k, A, B, kept[k], n[k])) return -1;
        adapted += n[k] > 0;
    }
    return adapted;
}

static bool find_adapters(adapter_job *g)
{
    at_tape *t = g->set.t;
    size_t size = (size_t)at_tensors_count(g->f) * sizeof *g->used;
    if (!recognise_names(g) || !at_adapter_modules(&g->set, g->m)) return false;
    if (!(g->used = at_step_alloc(t, size))) return false;
    memset(g->used, 0, size);
    for (int i = 0; i < g->set.n; i++)
        if (!fit_module(g, &g->set.module[i])) return false;
    for (int i = 0; i < at_tensors_count(g->f); i++)
        AT_REQUIRE(
            t, g->used[i], "lora_import: the file has \"%s\" %s, for which the model has no place",
            at_shown(at_tensors_name(g->f, i), -1), at_shape_text(at_tensors_shape(g->f, i)));
    bool good = true; /* can the tape hold all elements? */
    for (int i = 0; good && i < at_tensors_count(g->f); i++) {
        at_mark here = at_mark_here(t);
        good = at_tensors_load(g->f, at_tensors_name(g->f, i));
        at_rewind(t, here);
    }
    return good;
}

static int import_adapters(adapter_job *g, const char *folder)
{
    at_tape *t = g->set.t;
    int n = 0, more = 0;
    at_source s = {.t = t, .format = "lora_import"};
    s.path = at_folder_file(t, folder, "adapter_config.json");
    g->config = s.path ? at_settings_read(&s, adapter_idle) : NULL;
    if (!g->config || !take_adapter_config(g)) return 0;
    const char *path = at_folder_file(t, folder, "adapter_model.safetensors");
    g->f = path ? at_tensors_open(t, path) : NULL;
    if (!g->f || !find_adapters(g) || !at_model_freeze(t, g->m)) return 0;
    for (int i = 0; more >= 0 && i < g->set.n; i++, n += more) {
        at_mark here = at_mark_here(t);
        more = g->set.module[i].rank ? adapt_module(g, &g->set.module[i]) : 0;
        at_rewind(t, here);
    }
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE, "matrices=%d rank=%d alpha=%g", n, g->set.r, g->set.alpha);
    return more >= 0 && at_describe(t, "lora", text) ? n : 0;
}

int at_model_lora_import(at_tape *t, at_model *m, const char *folder)
{
    if (!m || !folder)
        return at_fail(t, ATTIC_USER_ERROR, "lora_import: the %s is NULL", m ? "folder" : "model"),
               0;
    at_mark here = at_mark_here(t);
    adapter_job g = {.set.t = t, .m = m};
    int n = import_adapters(&g, folder);
    at_rewind(t, here);
    return n;
}
