/* import.c -- weights of GPT-2 and Llama, as their checkpoints name them; see import.h.
 *
 * Everything is visited twice: first names and shapes are checked, then elements are copied.  So a
 * file that does not fit changes nothing. */
#include "train/import.h"

#include <string.h>

#include "autograd/op.h"
#include "io/archive.h"
#include "train/published.h"

typedef struct {
    at_tape *t;
    const at_model *m;
    const at_tensors *f;
    bool *used; /* which tensors of the file the model takes */
} import_job;

static bool fits(const import_job *g, const at_published *p)
{
    const at_tensor *w = p->w;
    int i = at_tensors_find(g->f, p->name);
    if (!at_check_any(g->t, "import", p->name, w)) return false;
    AT_REQUIRE(g->t, i >= 0,
               "import: the file has no \"%s\", from which %s is made: do the model's biases, "
               "layers and norms fit?",
               p->name, at_text(w));
    at_shape is = at_tensors_shape(g->f, i), must = at_file_shape(&p->layout, w->shape);
    bool enough = p->layout.first_rows && is.ndim == 2 && is.dim[0] >= must.dim[0];
    if (enough) must.dim[0] = is.dim[0];
    AT_REQUIRE(g->t, at_same_shape(is, must), "import: \"%s\" is %s in the file, but %s needs %s",
               p->name, at_shape_text(is), at_text(w), at_shape_text(must));
    g->used[i] = true;
    return true;
}

static bool copy_elements(const import_job *g, const at_published *p)
{
    at_tensor *w = p->w;
    at_mark here = at_mark_here(g->t);
    const at_tensor *x = at_tensors_load(g->f, p->name);
    int n_out = at_last(w->shape), n_in = w->shape.ndim == 2 ? w->shape.dim[0] : 1;
    if (x) at_written(w);
    for (ptrdiff_t i = 0; at_ok(g->t) && i < n_in; i++)
        for (int j = 0; j < n_out; j++) {
            ptrdiff_t from = at_file_place(&p->layout, n_in, n_out, i, j);
            at_store(w->dtype, w->data, i * n_out + j, at_element(x, from));
        }
    at_rewind(g->t, here);
    return at_ok(g->t);
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

static bool import_all(at_tape *t, at_model *m, const at_tensors *f)
{
    AT_REQUIRE(t, m && f, "import: the %s is NULL", m ? "file" : "model");
    AT_REQUIRE(t, f->source.t == t, "import: the file was opened on another tape");
    const char *E = embedding_name(f);
    AT_REQUIRE(t, E,
               "import: the file has neither GPT-2's \"wte.weight\" nor Llama's "
               "\"model.embed_tokens.weight\"");
    AT_REQUIRE(t, !m->config.post_norm,
               "import: GPT-2 and Llama are pre-norm, but the model is post-norm");
    import_job g = {.t = t, .m = m, .f = f};
    size_t in_file = (size_t)at_tensors_count(f);
    int n;
    const at_published *list =
        at_published_list(t, m, *E == 'm' ? ATTIC_NAMES_LLAMA : ATTIC_NAMES_GPT2,
                          *E == 't' ? "transformer." : "", &n);
    if (!list || !(g.used = at_step_alloc(t, in_file * sizeof *g.used))) return false;
    memset(g.used, 0, in_file * sizeof *g.used);
    for (int i = 0; i < n; i++)
        if (!fits(&g, &list[i])) return false;
    if (!head_is_embedding(&g, E) || !nothing_is_left(&g)) return false;
    for (int i = 0; i < n; i++)
        if (!copy_elements(&g, &list[i])) return false;
    return true;
}

bool at_model_import(at_tape *t, at_model *m, const at_tensors *f)
{
    at_mark here = at_mark_here(t);
    bool good = import_all(t, m, f);
    at_rewind(t, here);
    return good;
}
