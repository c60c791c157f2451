/* generate.h -- what a model is worth, and what it says.
 *
 * Both functions leave no trace: train mode, gradients wanted or not, the count of draws and the
 * tape's step memory are afterwards what they were.  A training that is evaluated and sampled in
 * between goes on with the same bits. */
#ifndef AT_TRAIN_GENERATE_H
#define AT_TRAIN_GENERATE_H
#include "train/data.h"
#include "train/writer.h"
AT_BEGIN_C

typedef struct {
    at_split split;
    int batches;      /* 0: as many as it takes to score the whole split once */
    int rows, length; /* of a batch, as in at_batch_args; length 0: the model's context */
} at_eval_args;

/* Mean loss in nats per id that is predicted, in evaluation mode.  The windows are spread evenly
 * over the split: always the same ones, whatever the seed.  NAN after a sticky error. */
AT_API double at_model_loss(at_tape *t, const at_model *m, const at_data *d, at_eval_args args);

typedef struct {
    const char *prompt; /* text to continue, which the data's tokenizer encodes */
    const int32_t *ids; /* or n_ids ids to continue */
    int n_ids;
    int n;              /* how many ids to generate */
    double temperature; /* these three as in at_sample */
    int top_k;
    double top_p;
    const int32_t *stop; /* n_stop ids that end the text: not printed, not handed to `token` */
    int n_stop;
    uint64_t stream;               /* the text follows from the tape's seed and this */
    const at_tokenizer *tokenizer; /* in place of the data's */
    at_dtype cache; /* ATTIC_F16 or ATTIC_BF16: keys and values in half of the memory; 0: real */
    /* Called for each new id; `bytes` are the n of its text, NULL without a tokenizer.  False ends
     * the text after it. */
    bool (*token)(void *ctx, int id, const char *bytes, int n);
    void *ctx;
} at_generate_args;

/* Writes the prompt and what the model continues it with to `out` (which may be NULL), an id at a
 * time, by a writer (writer.h); when the context is full, its last half is read again.  d gives
 * the tokenizer; with args.tokenizer or args.ids it may be NULL.  On a terminal, bytes that are no
 * UTF-8, overrides of direction and control characters other than newline and tab appear as ?.
 * Ids that the tokenizer lacks, as where a vocabulary was filled up, are never drawn.  Returns how
 * many ids were generated; -1 after a sticky error, e.g. a prompt that is empty or has no token for
 * some character. */
AT_API int at_generate(at_tape *t, const at_model *m, const at_data *d, at_generate_args args,
                       FILE *out);

AT_END_C
#endif
