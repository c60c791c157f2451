/* cache.c -- a cache of keys and values for decoding; see cache.h. */
#include "nn/cache.h"

#include <string.h>

#include "autograd/op.h"

static unsigned writes(at_tape *t, const at_tensor *x)
{
    if (!x || !at_check_any(t, "cache", "a weight of the layer", x)) return 0;
    return (x->base ? x->base : x)->version; /* of the tensor whose data it has */
}

static unsigned layer_writes(at_tape *t, at_linear l)
{
    return writes(t, l.W) + writes(t, l.b) + writes(t, l.lora_A) + writes(t, l.lora_B) +
           writes(t, l.lora_alpha);
}

/* How often the weights that make keys and values have been written. */
static unsigned times_written(at_tape *t, const at_attention *a)
{
    return layer_writes(t, a->k) + layer_writes(t, a->v) + writes(t, a->k_norm.g);
}

static bool can_be_cached(at_tape *t, const at_attention *layer, int B, int context)
{
    AT_REQUIRE(t, layer, "cache: the layer is NULL");
    AT_REQUIRE(t, B >= 0 && context >= 0,
               "cache: a batch of %d and a capacity of %d rows: neither can be negative", B,
               context);
    return at_check_stored(t, "cache", "the layer's k.W", layer->k.W) &&
           at_check_stored(t, "cache", "the layer's v.W", layer->v.W) &&
           at_attention_check(t, layer->config);
}

at_cache at_cache_make(at_tape *t, const at_attention *layer, int B, int context)
{
    return at_cache_make_as(t, layer, B, context, ATTIC_REAL);
}

/* Zeros: they are not read, but for a program that looks for NaNs. */
static at_tensor *empty_rows(at_tape *t, at_dtype dtype, at_shape shape)
{
    at_tensor *x = at_blank(t, dtype, shape);
    if (x && at_bytes(x)) memset(x->data, 0, at_bytes(x));
    return x;
}

at_cache at_cache_make_as(at_tape *t, const at_attention *layer, int B, int context, at_dtype dtype)
{
    if (!can_be_cached(t, layer, B, context)) return (at_cache){0};
    if (dtype != ATTIC_REAL && !at_is_half(dtype) && dtype != at_real(t)) {
        at_fail(t, ATTIC_USER_ERROR, "cache: dtype is %s, but must be f16, bf16 or %s",
                at_dtype_text(dtype), at_dtype_text(at_real(t)));
        return (at_cache){0};
    }
    const at_attention_config *c = &layer->config;
    at_shape rows =
        at_shape_of(B, context, (c->kv_heads ? c->kv_heads : c->heads) * (c->dim / c->heads));
    return (at_cache){
        .layer = *layer, .K = empty_rows(t, dtype, rows), .V = empty_rows(t, dtype, rows)};
}

at_cache at_cache_of(at_tape *t, const at_attention *layer, at_tensor *m)
{
    if (!can_be_cached(t, layer, 0, 0)) return (at_cache){0};
    return (at_cache){.layer = *layer,
                      .K = at_attention_keys(t, layer, m, 0, NULL),
                      .V = at_attention_values(t, layer, m),
                      .cross = true,
                      .written = times_written(t, layer)};
}

static bool can_grow(at_tape *t, const at_cache *c, const at_tensor *x, const at_sdpa_args *with)
{
    const int B = c->K->shape.dim[0], context = c->K->shape.dim[1];
    AT_REQUIRE(t, !at_is_training(t),
               "attention: a cache is for inference, but the tape is in train mode (see at_train)");
    AT_REQUIRE(t, c->K->shape.ndim == 3 && at_same_shape(c->K->shape, c->V->shape),
               "attention: K %s and V %s of the cache must be [B,context,kv_heads*D]",
               at_text(c->K), at_text(c->V));
    AT_REQUIRE(t, !with->key_len, "attention: key_len is that of the cache; keep can mask more");
    AT_REQUIRE(t, !with->segments, "attention: a cache holds one document a row, without segments");
    AT_REQUIRE(t, x->shape.ndim == 3 && x->shape.dim[0] == B,
               "attention: x is %s, but the cache is for a batch of %d: [%d,T,%d]", at_text(x), B,
               B, c->layer.config.dim);
    AT_REQUIRE(
        t, c->position >= 0 && x->shape.dim[1] <= context - c->position,
        "attention: the cache has a capacity of %d rows, and %d are taken: %d more don't fit",
        context, c->position, x->shape.dim[1]);
    return true;
}

static bool can_decode(at_tape *t, const at_cache *c, const at_tensor *x, const at_sdpa_args *with)
{
    AT_REQUIRE(t, c, "attention: the cache is NULL");
    if (!at_check_stored(t, "attention", "the cache", c->K) ||
        !at_check_stored(t, "attention", "the cache", c->V) ||
        !at_check_input(t, "attention", "x", x, ATTIC_REAL))
        return false;
    AT_REQUIRE(t, with->align == ATTIC_ALIGN_EQUAL && !with->offset,
               "attention: where the diagonal lies follows from the cache: align and offset must "
               "not be given");
    AT_REQUIRE(t, !with->key_positions,
               "attention: the keys of the cache are rotated: key_positions can't be given");
    if (!c->cross && !can_grow(t, c, x, with)) return false;
    bool filled = c->cross || c->position > 0;
    AT_REQUIRE(t, !filled || c->written == times_written(t, &c->layer),
               "attention: %s or its like was written after the cache was filled: start again",
               at_text(c->layer.k.W));
    return true;
}

/* Writes new [B,T,N] behind what kept [B,context,N] holds of each batch. */
static bool append_rows(at_tape *t, at_tensor *kept, int position, at_tensor *new)
{
    if (!new) return false;
    AT_REQUIRE(t, !new->wants_grad,
               "attention: a cache is for inference, but gradients are wanted (see at_no_grad)");
    AT_REQUIRE(t, at_last(new->shape) == at_last(kept->shape),
               "attention: new rows are %s, but the cache keeps %s", at_text(new), at_text(kept));
    if (new->dtype != kept->dtype) new = at_cast(t, new, kept->dtype);
    if (!new) return false;
    int B = kept->shape.dim[0], context = kept->shape.dim[1], T = new->shape.dim[1];
    size_t row = (size_t)at_last(kept->shape) * at_dtype_size(kept->dtype), rows = (size_t)T * row;
    if (!rows) return true;
    char *to = (char *)kept->data + (size_t)position * row;
    const char *from = new->data;
    for (int b = 0; b < B; b++)
        memcpy(to + (size_t)b * (size_t)context * row, from + (size_t)b * rows, rows);
    at_written(kept);
    return at_ok(t);
}

/* [B], n for every batch */
static at_tensor *lengths(at_tape *t, int B, int n)
{
    at_tensor *y = at_ints(t, at_shape_of(B), NULL);
    for (int b = 0; y && b < B; b++) ((int32_t *)y->data)[b] = n;
    return y;
}

at_tensor *at_attention_decode(at_tape *t, at_cache *c, at_tensor *x, at_sdpa_args with)
{
    if (!can_decode(t, c, x, &with)) return NULL;
    int p = c->position;
    at_tensor *P = with.positions;
    at_tensor *Q = at_attention_queries(t, &c->layer, x, P ? 0 : p, P);
    if (!c->cross) {
        at_tensor *K = at_attention_keys(t, &c->layer, x, P ? 0 : p, P);
        at_tensor *V = at_attention_values(t, &c->layer, x);
        if (!append_rows(t, c->K, p, K) || !append_rows(t, c->V, p, V)) return NULL;
        with.key_len = lengths(t, x->shape.dim[0], p + x->shape.dim[1]);
    }
    with.align = ATTIC_ALIGN_OFFSET;
    with.offset = p;
    at_tensor *y = at_attention_combine(t, &c->layer, x, Q, c->K, c->V, with);
    if (!y) return NULL;
    if (!c->cross && p == 0) c->written = times_written(t, &c->layer);
    c->position = p + x->shape.dim[x->shape.ndim - 2];
    return y;
}
