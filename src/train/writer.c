/* writer.c -- text from a model, an id at a time; see writer.h. */
#include "train/writer.h"

#include <string.h>

#include "autograd/op.h"
#include "train/sample.h"

struct at_writer {
    at_tape *t;
    at_writer_args args;
    at_model_cache cache;
    int32_t *text; /* the last n ids, at most a context */
    int n, unread; /* the cache has not seen the last `unread` of them */
    uint64_t drawn;
};

at_writer *at_writer_open(at_tape *t, const at_model *m, at_writer_args a)
{
    AT_REQUIRE(t, m, "writer: the model is NULL");
    AT_REQUIRE(t, a.stop || a.n_stop <= 0, "writer: stop is NULL, but n_stop is %d", a.n_stop);
    const size_t stops = a.n_stop > 0 ? (size_t)a.n_stop : 0, context = (size_t)m->config.context;
    at_writer *w = at_step_alloc(t, sizeof *w);
    int32_t *ids = at_step_alloc(t, (stops + context) * sizeof *ids);
    const at_model_cache cache = at_model_cache_make_as(t, m, 1, a.cache);
    if (!at_ok(t)) return NULL;
    if (stops) a.stop = memcpy(ids, a.stop, stops * sizeof *ids);
    *w = (at_writer){.t = t, .args = a, .cache = cache, .text = ids + stops};
    return w;
}

/* Of what becomes longer than a context the beginning is dropped. */
static void append_ids(at_writer *w, const int32_t *ids, ptrdiff_t n)
{
    const int context = w->cache.model->config.context, added = n < context ? (int)n : context;
    const int kept = w->n < context - added ? w->n : context - added;
    memmove(w->text, w->text + w->n - kept, (size_t)kept * sizeof *ids);
    if (added) memcpy(w->text + kept, ids + n - added, (size_t)added * sizeof *ids);
    w->n = kept + added;
    w->unread = w->unread < context - added ? w->unread + added : context;
}

bool at_writer_feed(at_writer *w, const int32_t *ids, ptrdiff_t n)
{
    if (!w) return false;
    const int vocab = w->cache.model->config.vocab;
    AT_REQUIRE(w->t, n >= 0 && (ids || n == 0), "writer: %td ids at %s", n,
               ids ? "their place" : "NULL");
    for (ptrdiff_t i = 0; i < n; i++)
        AT_REQUIRE(w->t, ids[i] >= 0 && ids[i] < vocab,
                   "writer: id %td is %d, but must be in 0..%d", i, ids[i], vocab - 1);
    append_ids(w, ids, n);
    return true;
}

bool at_writer_feed_text(at_writer *w, const char *text)
{
    if (!w) return false;
    ptrdiff_t n = 0;
    const at_mark here = at_mark_here(w->t);
    const int32_t *ids = at_encode(w->t, w->args.tokenizer, text, -1, &n);
    const bool good = ids && at_writer_feed(w, ids, n);
    at_rewind(w->t, here);
    return good;
}

static bool stops_text(const at_writer_args *a, int id)
{
    for (int i = 0; i < a->n_stop; i++)
        if (a->stop[i] == id) return true;
    return false;
}

/* Reads what is unread and draws the id behind it; -1 after a sticky error. */
static int draw_next(at_writer *w)
{
    const at_writer_args *a = &w->args;
    const int context = w->cache.model->config.context, vocab = w->cache.model->config.vocab;
    if (w->unread > context - w->cache.position) {
        const int half = context / 2 ? context / 2 : 1;
        w->cache.position = 0;
        if (w->unread < half) w->unread = half;
    }
    const int T = w->unread, position = w->cache.position;
    at_tensor *ids = at_ints(w->t, at_shape_of(1, T), w->text + w->n - T);
    const at_tensor *logits = at_model_decode(w->t, &w->cache, ids); /* [1,T] -> [1,T,vocab] */
    const at_stream stream = {at_seed(w->t), (uint64_t)3 << 62 | a->stream}; /* none of at_draw */
    const at_sample_args how = {a->temperature, a->top_k, a->top_p};
    const int known = a->tokenizer ? at_tokenizer_vocab(a->tokenizer) : vocab;
    const int id = at_sample(logits, (ptrdiff_t)(T - 1) * vocab, known < vocab ? known : vocab, how,
                             stream, w->drawn);
    if (id < 0)
        w->cache.position = position;
    else
        w->drawn++, w->unread = 0;
    return id;
}

int at_writer_next(at_writer *w)
{
    if (!w || !at_ok(w->t)) return -1;
    if (!w->n) at_fail(w->t, ATTIC_USER_ERROR, "writer: nothing was fed: there is no text yet");
    if (!w->unread) return -1;
    const at_eval e = at_eval_begin(w->t);
    int32_t id = draw_next(w);
    at_eval_end(w->t, e);
    if (id < 0 || stops_text(&w->args, id)) return -1;
    append_ids(w, &id, 1);
    return id;
}
