/* lora.c -- low-rank adapters; see lora.h. */
#include "train/lora.h"

#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/persist.h"
#include "ops/ops.h"

bool at_lora_fits(at_tape *t, const char *op, const at_linear *layer, double alpha)
{
    static const char *const own[] = {"lora_A", "lora_B", "lora_alpha"};
    const at_tensor *W = layer->W;
    if (!at_check_stored(t, op, "the layer's W", W)) return false;
    AT_REQUIRE(t, at_find_param(t, W->name) == W, "%s: %s is no parameter", op, at_text(W));
    AT_REQUIRE(t, W->shape.ndim == 2, "%s: %s is no matrix", op, at_text(W));
    AT_REQUIRE(t, !layer->lora_A, "%s: %s has an adapter already", op, at_text(W));
    const char *dot = strrchr(W->name, '.');
    for (int i = 0; i < 3; i++) {
        char *name = at_text_buffer();
        snprintf(name, AT_TEXT_SIZE, "%.*s%s", dot ? (int)(dot + 1 - W->name) : 0, W->name, own[i]);
        AT_REQUIRE(
            t, !at_find_param(t, name),
            "%s: there is a parameter \"%s\", so %s can have no adapter: one that was merged "
            "leaves its own on the tape",
            op, name, at_text(W));
    }
    return at_check_number(t, op, "alpha", alpha);
}

static bool can_be_adapted(at_tape *t, const at_linear *layer, at_lora_args args)
{
    AT_REQUIRE(t, layer, "lora: the layer is NULL");
    AT_REQUIRE(t, args.rank >= 1, "lora: rank is %d but must be at least 1", args.rank);
    return at_lora_fits(t, "lora", layer, args.alpha);
}

bool at_linear_lora(at_tape *t, at_linear *layer, at_lora_args args)
{
    if (!can_be_adapted(t, layer, args)) return false;
    at_tensor *W = layer->W, *own[] = {W, layer->b};
    if (!at_set_frozen(t, "lora", own, 2, true)) return false;
    double alpha = args.alpha != 0 ? args.alpha : args.rank;
    at_shape a = at_shape_of(W->shape.dim[0], args.rank),
             b = at_shape_of(args.rank, W->shape.dim[1]);
    at_linear with = *layer;
    with.lora_A = at_param_beside(t, W, "lora_A", a, at_he_normal(1));
    with.lora_B = at_param_beside(t, W, "lora_B", b, at_zeros());
    with.lora_alpha = at_param_beside(t, W, "lora_alpha", at_shape_of(), at_fill(alpha));
    if (!at_ok(t) || !at_set_frozen(t, "lora", &with.lora_alpha, 1, true)) return false;
    *layer = with;
    return true;
}

bool at_is_adapter(at_tape *t, const char *op, const at_linear *layer)
{
    const at_tensor *W = layer->W, *A = layer->lora_A, *B = layer->lora_B;
    if (!at_check_stored(t, op, "the layer's W", W) ||
        !at_check_any(t, op, "the layer's lora_A", A) ||
        !at_check_any(t, op, "the layer's lora_B", B) ||
        !at_check_any(t, op, "the layer's lora_alpha", layer->lora_alpha))
        return false;
    const int r = at_last(A->shape);
    AT_REQUIRE(t,
               W->shape.ndim == 2 && at_same_shape(A->shape, at_shape_of(W->shape.dim[0], r)) &&
                   at_same_shape(B->shape, at_shape_of(r, W->shape.dim[1])),
               "%s: %s and %s are no adapter of %s", op, at_text(A), at_text(B), at_text(W));
    return true;
}

/* W <- W + (alpha/r) A B;  B <- 0 */
static bool fold(at_tape *t, const at_linear *layer)
{
    at_tensor *W = layer->W, *A = layer->lora_A, *B = layer->lora_B;
    double scale = at_item(layer->lora_alpha) / at_last(A->shape);
    at_tensor *AB = at_scale(t, at_matmul(t, A, B), scale);
    if (!AB) return false;
    for (ptrdiff_t n = at_count(W->shape), i = 0; i < n; i++)
        at_store(W->dtype, W->data, i, at_element(W, i) + at_element(AB, i));
    memset(B->data, 0, at_bytes(B));
    return true;
}

bool at_linear_merge(at_tape *t, at_linear *layer)
{
    AT_REQUIRE(t, layer && layer->lora_A, "lora: the layer %s has no adapter",
               at_text(layer ? layer->W : NULL));
    at_tensor *AB[] = {layer->lora_A, layer->lora_B};
    if (!at_is_adapter(t, "lora", layer)) return false;
    at_written(layer->W); /* an error if it is read-only, before anything else is changed */
    at_written(layer->lora_B);
    if (!at_ok(t) || !at_set_frozen(t, "lora", AB, 2, true)) return false;
    at_mark here = at_mark_here(t);
    bool good = fold(t, layer);
    at_rewind(t, here);
    if (good) layer->lora_A = layer->lora_B = layer->lora_alpha = NULL;
    return good;
}

/* ------------------------------------------------------------------ models --------------------- */

/* How many matrices of the model are meant. */
static int count_meant(at_tape *t, at_model *m, at_names which)
{
    int n = 0;
    const at_linear *layer;
    for (int i = 0; (layer = at_model_linear(m, i)); i++)
        n += at_check_any(t, "lora", "a matrix of the model", layer->W) &&
             at_names_mean(which, layer->W->name);
    return n;
}

bool at_model_freeze(at_tape *t, const at_model *m)
{
    at_tensor **x = at_step_alloc(t, (size_t)m->n_params * sizeof *x);
    for (int i = 0; x && i < m->n_params; i++) x[i] = at_param_at(t, m->first_param + i);
    return x && at_set_frozen(t, "lora", x, m->n_params, true);
}

static bool adapt_model(at_tape *t, at_model *m, at_names which, at_lora_args args, int n)
{
    at_linear *layer;
    AT_REQUIRE(t, n > 0, "lora: \"%s\" means parameters, but no matrix of the model's layers",
               which.only ? which.only : "*");
    for (int i = 0; (layer = at_model_linear(m, i)); i++)
        if (at_names_mean(which, layer->W->name) && !can_be_adapted(t, layer, args)) return false;
    if (!at_model_freeze(t, m)) return false;
    for (int i = 0; (layer = at_model_linear(m, i)); i++)
        if (at_names_mean(which, layer->W->name) && !at_linear_lora(t, layer, args)) return false;
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE, "matrices=%d rank=%d alpha=%g", n, args.rank, args.alpha);
    return at_describe(t, "lora", text);
}

int at_model_lora(at_tape *t, at_model *m, at_lora_args args)
{
    at_names which = {args.only, args.except};
    if (!m) return at_fail(t, ATTIC_USER_ERROR, "lora: the model is NULL"), 0;
    if (!at_names_are_known(t, "lora", which)) return 0;
    int n = count_meant(t, m, which);
    return adapt_model(t, m, which, args, n) ? n : 0;
}

int at_model_lora_merge(at_tape *t, at_model *m)
{
    int n = 0;
    at_linear *layer;
    for (int i = 0; (layer = at_model_linear(m, i)); i++) {
        if (!layer->lora_A) continue;
        if (!at_linear_merge(t, layer)) return 0;
        n++;
    }
    if (n == 0) at_fail(t, ATTIC_USER_ERROR, "lora: the model has no adapters");
    return n;
}
