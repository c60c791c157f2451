/* writer.h -- text from a model, an id whenever the caller asks for one: for games and servers,
 * which have a loop of their own.  at_generate (generate.h) is a loop over a writer.
 *
 *     at_writer *w = at_writer_open(t, m, (at_writer_args){.tokenizer = k, .temperature = 0.8});
 *     at_writer_feed_text(w, "The innkeeper says: ");
 *     for (int id; (id = at_writer_next(w)) >= 0;) {
 *         int n;
 *         const char *bytes = at_token_bytes(k, id, &n);
 *         ...                                                 n bytes of text; show a frame
 *     }
 *     at_writer_feed_text(w, "\nThe traveller says: ");       the text goes on
 *
 * The text is what was fed and what was written.  The model sees as much of its end as fits into
 * the context:
 *
 *                         |<---------------- context ---------------->|
 *     ... forgotten ..... | in the cache of keys and values | unread  |
 *
 * at_writer_next reads what is unread, a prompt at once and then one id a call.  When the context
 * is full, the cache begins anew with the last half of a context, or with all that is unread if
 * that is more: a call that takes longer than others.
 *
 * Between two calls the tape is as if there were no writer: train mode, gradients wanted or not,
 * the count of draws, the step memory.  So a tape may have several writers, and train meanwhile;
 * but where the weights that make keys and values were written since, at_writer_next is an error,
 * and the text needs another writer.  In the steady state no call asks for memory.
 *
 * Ownership.  A writer is in step memory: it is gone after a rewind to a mark from before, and
 * nothing has to be closed.  Errors are sticky errors of its tape, and leave the writer as it was.
 * With w = NULL, as after an error, every function here does nothing and returns false or -1. */
#ifndef AT_TRAIN_WRITER_H
#define AT_TRAIN_WRITER_H
#include "train/model.h"
#include "train/tokenizer.h"
AT_BEGIN_C

typedef struct {
    double temperature; /* these three as in at_sample */
    int top_k;
    double top_p;
    const int32_t *stop; /* n_stop ids, copied, at which the text stops */
    int n_stop;
    uint64_t stream;               /* what is drawn follows from the tape's seed and this */
    const at_tokenizer *tokenizer; /* for at_writer_feed_text.  Ids that it lacks, as where a
                                      vocabulary was filled up, are never drawn.  NULL: none */
    at_dtype cache; /* ATTIC_F16 or ATTIC_BF16: keys and values in half of the memory; 0: real */
} at_writer_args;

typedef struct at_writer at_writer;

/* With memory for keys and values of a whole context.  m is on t (at_model_share brings it there),
 * and lives as long as the writer.  NULL after a sticky error. */
AT_API at_writer *at_writer_open(at_tape *t, const at_model *m, at_writer_args args);

/* Puts n ids, or those of a text that ends with a 0, behind what there is; they are read by the
 * next at_writer_next.  False after a sticky error: an id that the model lacks is one, and so is a
 * text without a tokenizer. */
AT_API bool at_writer_feed(at_writer *w, const int32_t *ids, ptrdiff_t n);
AT_API bool at_writer_feed_text(at_writer *w, const char *text);

/* The id that follows, which belongs to the text from now on.  -1: a stop id came, which does not
 * belong to the text, and nothing was fed since; or, if at_ok says so, there is a sticky error, as
 * before anything was fed. */
AT_API int at_writer_next(at_writer *w);

AT_END_C
#endif
