/* import.c -- weights of GPT-2 and Llama, as their checkpoints name them; see import.h.
 *
 * Everything is visited twice, by one function per format: first names and shapes are checked, then
 * elements are copied.  So a file that does not fit changes nothing. */
#include "train/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "autograd/op.h"

typedef struct {
    at_tape *t;
    const at_model *m;
    const at_tensors *f;
    const char *prefix; /* "transformer.", or "" */
    bool *used;         /* which tensors of the file the model takes */
    bool copy;          /* second visit */
} import_job;

/* How a tensor of the file becomes a parameter w [n_in,n_out], or [n_out] with n_in = 1:
 *
 *     w[i][j] = file[i][part n_out + j]          one of `parts` that stand side by side
 *     w[i][j] = file[row(j)][i]                  transposed */
typedef struct {
    bool transposed;
    int part, parts;
    int pairs; /* D > 0: columns 2i, 2i+1 of each head come from rows i, i + D/2 */
    bool first_rows;
} import_layout;

static const import_layout as_it_is = {.parts = 1};

static ptrdiff_t source_row(const import_layout *a, int j)
{
    int D = a->pairs, d = D ? j % D : 0;
    return D ? j - d + d / 2 + (d % 2 ? D / 2 : 0) : j;
}

static void copy_elements(at_tensor *w, const at_tensor *x, import_layout a)
{
    int n_out = at_last(w->shape), n_in = w->shape.ndim == 2 ? w->shape.dim[0] : 1;
    at_written(w);
    for (ptrdiff_t i = 0; at_ok(w->tape) && i < n_in; i++)
        for (int j = 0; j < n_out; j++) {
            ptrdiff_t from = a.transposed ? source_row(&a, j) * n_in + i
                                          : (i * a.parts + a.part) * n_out + source_row(&a, j);
            at_store(w->dtype, w->data, i * n_out + j, at_element(x, from));
        }
}

/* The shape that the file must have, for a parameter of this one. */
static at_shape shape_in_file(at_shape s, import_layout a)
{
    if (s.ndim > 0) s.dim[s.ndim - 1] *= a.parts;
    return a.transposed && s.ndim == 2 ? at_shape_of(s.dim[1], s.dim[0]) : s;
}

static bool fits(const import_job *g, const at_tensor *w, const char *name, import_layout a)
{
    int i = at_tensors_find(g->f, name);
    if (!at_check_any(g->t, "import", name, w)) return false;
    AT_REQUIRE(g->t, i >= 0,
               "import: the file has no \"%s\", from which %s is made: do the model's biases, "
               "layers and norms fit?",
               at_shown(name, -1), at_text(w));
    at_shape is = at_tensors_shape(g->f, i), must = shape_in_file(w->shape, a);
    bool enough = a.first_rows && is.ndim == 2 && is.dim[0] >= must.dim[0];
    if (enough) must.dim[0] = is.dim[0];
    AT_REQUIRE(g->t, at_same_shape(is, must), "import: \"%s\" is %s in the file, but %s needs %s",
               at_shown(name, -1), at_shape_text(is), at_text(w), at_shape_text(must));
    g->used[i] = true;
    return true;
}

/* Fills w, unless the model lacks it (NULL), from the tensor with this name. */
static void take_one(const import_job *g, at_tensor *w, const char *name, import_layout a)
{
    if (!w || !at_ok(g->t)) return;
    if (!g->copy) {
        fits(g, w, name, a);
        return;
    }
    at_mark here = at_mark_here(g->t);
    const at_tensor *x = at_tensors_load(g->f, name);
    if (x) copy_elements(w, x, a);
    at_rewind(g->t, here);
}

/* Fills w from "stem.weight" and b from "stem.bias"; either may be NULL. */
AT_PRINTF(5, 6)
static void take(const import_job *g, at_tensor *w, at_tensor *b, import_layout a, const char *stem,
                 ...)
{
    char name[160];
    size_t n = (size_t)snprintf(name, sizeof name, "%s", g->prefix);
    va_list args;
    va_start(args, stem);
    n += (size_t)vsnprintf(name + n, sizeof name - n, stem, args);
    va_end(args);
    snprintf(name + n, sizeof name - n, ".weight");
    take_one(g, w, name, a);
    snprintf(name + n, sizeof name - n, ".bias");
    a.transposed = false;
    take_one(g, b, name, a);
}

/* A parameter of attention whose name has no ".weight". */
AT_PRINTF(3, 0)
static void take_sinks(const import_job *g, const at_attention *a, const char *stem, int layer)
{
    char name[160], whole[200];
    snprintf(name, sizeof name, stem, layer);
    snprintf(whole, sizeof whole, "%s%s", g->prefix, name);
    take_one(g, a->sink, whole, as_it_is);
}

/* ------------------------------------------------------------------ GPT-2 ---------------------- */

static void take_gpt2_block(const import_job *g, const at_block *b, int l)
{
    const at_attention *a = &b->attention;
    const at_linear qkv[] = {a->q, a->k, a->v};
    take(g, b->norm1.g, b->norm1.b, as_it_is, "h.%d.ln_1", l);
    for (int i = 0; i < 3; i++) {
        import_layout third = {.part = i, .parts = 3};
        take(g, qkv[i].W, qkv[i].b, third, "h.%d.attn.c_attn", l);
    }
    take(g, a->q_norm.g, NULL, as_it_is, "h.%d.attn.q_norm", l); /* GPT-2 has no norm of q and k */
    take(g, a->k_norm.g, NULL, as_it_is, "h.%d.attn.k_norm", l);
    take_sinks(g, a, "h.%d.attn.sinks", l); /* nor sinks, nor a gate of attention */
    take(g, a->gate.W, a->gate.b, as_it_is, "h.%d.attn.gate", l);
    take(g, a->o.W, a->o.b, as_it_is, "h.%d.attn.c_proj", l);
    take(g, b->norm2.g, b->norm2.b, as_it_is, "h.%d.ln_2", l);
    take(g, b->ffn.gate.W, b->ffn.gate.b, as_it_is, "h.%d.mlp.gate", l); /* nor a gate */
    take(g, b->ffn.up.W, b->ffn.up.b, as_it_is, "h.%d.mlp.c_fc", l);
    take(g, b->ffn.down.W, b->ffn.down.b, as_it_is, "h.%d.mlp.c_proj", l);
}

static void take_gpt2(const import_job *g)
{
    const at_model *m = g->m;
    take(g, m->E, NULL, as_it_is, "wte");
    take(g, m->P, NULL, (import_layout){.parts = 1, .first_rows = true}, "wpe");
    for (int l = 0; l < m->config.layers; l++) take_gpt2_block(g, &m->block[l], l);
    take(g, m->norm.g, m->norm.b, as_it_is, "ln_f");
}

/* ------------------------------------------------------------------ Llama ---------------------- */

static void take_llama_block(const import_job *g, const at_block *b, int l)
{
    const at_attention *a = &b->attention;
    const at_ffn *f = &b->ffn;
    bool in_pairs = a->config.rope && !a->config.rope_halves;
    import_layout plain = {.transposed = true, .parts = 1}, heads = plain;
    heads.pairs = in_pairs ? a->config.dim / a->config.heads : 0;
    import_layout gain = {.parts = 1, .pairs = heads.pairs};
    take(g, b->norm1.g, b->norm1.b, as_it_is, "model.layers.%d.input_layernorm", l);
    take(g, a->q.W, a->q.b, heads, "model.layers.%d.self_attn.q_proj", l);
    take(g, a->k.W, a->k.b, heads, "model.layers.%d.self_attn.k_proj", l);
    take(g, a->v.W, a->v.b, plain, "model.layers.%d.self_attn.v_proj", l);
    take(g, a->o.W, a->o.b, plain, "model.layers.%d.self_attn.o_proj", l);
    take(g, a->q_norm.g, NULL, gain, "model.layers.%d.self_attn.q_norm", l);
    take(g, a->k_norm.g, NULL, gain, "model.layers.%d.self_attn.k_norm", l);
    take_sinks(g, a, "model.layers.%d.self_attn.sinks", l);
    take(g, a->gate.W, a->gate.b, plain, "model.layers.%d.self_attn.gate_proj", l); /* or missing */
    take(g, b->norm2.g, b->norm2.b, as_it_is, "model.layers.%d.post_attention_layernorm", l);
    take(g, f->gate.W, f->gate.b, plain, "model.layers.%d.mlp.gate_proj", l);
    take(g, f->up.W, f->up.b, plain, "model.layers.%d.mlp.up_proj", l);
    take(g, f->down.W, f->down.b, plain, "model.layers.%d.mlp.down_proj", l);
}

static void take_llama(const import_job *g)
{
    const at_model *m = g->m;
    take(g, m->E, NULL, as_it_is, "model.embed_tokens");
    take(g, m->P, NULL, as_it_is, "model.embed_positions"); /* Llama has none */
    for (int l = 0; l < m->config.layers; l++) take_llama_block(g, &m->block[l], l);
    take(g, m->norm.g, m->norm.b, as_it_is, "model.norm");
}

/* ------------------------------------------------------------------ either --------------------- */

/* lm_head.weight is under no prefix, and [out,in] in both formats. */
static void take_head(const import_job *g)
{
    import_job top = *g;
    top.prefix = "";
    take(&top, g->m->head.W, NULL, (import_layout){.transposed = true, .parts = 1}, "lm_head");
}

/* A tied model has no place for lm_head.weight, but may find it in the file if it equals E. */
static bool head_is_embedding(const import_job *g, const char *E_name)
{
    int i = at_tensors_find(g->f, "lm_head.weight");
    if (g->m->head.W || i < 0) return true;
    at_mark here = at_mark_here(g->t);
    const at_tensor *head = at_tensors_load(g->f, "lm_head.weight");
    const at_tensor *E = at_tensors_load(g->f, E_name);
    bool same =
        head && E && at_bytes(head) == at_bytes(E) && memcmp(head->data, E->data, at_bytes(E)) == 0;
    at_rewind(g->t, here);
    AT_REQUIRE(g->t, same,
               "import: \"lm_head.weight\" differs from \"%s\", but the model is tied: make it "
               "with .untied = true",
               E_name);
    g->used[i] = true;
    return true;
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* The file holds nothing for which the model has no place. */
static bool nothing_is_left(const import_job *g)
{
    for (int i = 0; i < at_tensors_count(g->f); i++) {
        const char *name = at_tensors_name(g->f, i);
        bool constant = ends_in(name, ".attn.bias") || ends_in(name, ".attn.masked_bias") ||
                        ends_in(name, ".rotary_emb.inv_freq");
        AT_REQUIRE(g->t, g->used[i] || constant,
                   "import: the file has \"%s\" %s, for which the model has no place: do its "
                   "biases, layers and norms fit?",
                   at_shown(name, -1), at_shape_text(at_tensors_shape(g->f, i)));
    }
    return true;
}

/* "wte.weight" or the like, by which the format is recognised; NULL: none of them. */
static const char *embedding_name(const at_tensors *f)
{
    static const char *const name[] = {"wte.weight", "transformer.wte.weight",
                                       "model.embed_tokens.weight"};
    for (int i = 0; i < 3; i++)
        if (at_tensors_find(f, name[i]) >= 0) return name[i];
    return NULL;
}

bool at_model_import(at_tape *t, at_model *m, const at_tensors *f)
{
    AT_REQUIRE(t, m && f, "import: the %s is NULL", m ? "file" : "model");
    const char *E = embedding_name(f);
    AT_REQUIRE(t, E,
               "import: the file has neither GPT-2's \"wte.weight\" nor Llama's "
               "\"model.embed_tokens.weight\"");
    AT_REQUIRE(t, !m->config.post_norm,
               "import: GPT-2 and Llama are pre-norm, but the model is post-norm");
    size_t n = (size_t)at_tensors_count(f);
    import_job g = {.t = t, .m = m, .f = f, .prefix = *E == 't' ? "transformer." : ""};
    if (!(g.used = at_step_alloc(t, n * sizeof *g.used))) return false;
    memset(g.used, 0, n * sizeof *g.used);
    for (int copy = 0; copy < 2; copy++) {
        g.copy = copy;
        if (*E == 'm')
            take_llama(&g);
        else
            take_gpt2(&g);
        take_head(&g);
        if (!at_ok(t)) return false;
        if (!copy && !(head_is_embedding(&g, E) && nothing_is_left(&g))) return false;
    }
    return true;
}
