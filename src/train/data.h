/* data.h -- what is learned from, cut into batches.
 *
 * A batch is a pure function of the data, the seed of the tape that made the data, and (split,
 * rows, length, step, micro-batch).  So the position of a training is its step alone: nothing else
 * needs to be saved, and any step can be had again, in any order, on any tape.
 *
 * An epoch visits every window (or row, or sequence, or row of packed sequences) of the split once,
 * in an order of its own, and the next one follows without a gap: row b of micro-batch m of step s
 * is number
 *
 *     g = (s micros + m) rows + b     of all: in epoch g / W window permuted(g mod W)
 *
 * The permutation is computed, not stored (Luby, Rackoff 1988).  W windows of `length` are side by
 * side in n ids, W = n / length.  Where the first one begins is drawn for every epoch, so that the
 * text is cut elsewhere each time; behind its end it goes on with its beginning.
 *
 * Data lives until at_close of the tape that it was made on.  It is never written again: other
 * tapes, also of other threads, may take batches from it. */
#ifndef AT_TRAIN_DATA_H
#define AT_TRAIN_DATA_H
#include "train/tokenizer.h"
AT_BEGIN_C

typedef struct at_data at_data;
typedef enum { ATTIC_TRAIN, ATTIC_HELD } at_split;

/* What it is made of.  Each function says what it reads of this. */
typedef struct {
    char *const *paths; /* files, joined in this order */
    int n;              /* how many */
    const at_tokenizer *tokenizer;
    bool chars;   /* without a tokenizer: at_tokenizer_chars of the text, not at_tokenizer_bytes */
    int bpe;      /* > 0: instead, at_tokenizer_train of all the text, to this many tokens */
    int vocab;    /* ids are 0 .. vocab-1 */
    int id_bytes; /* 1, 2 or 4 for each id: u8, u16 or i32, little-endian */
    double held;  /* the share that is held out, 0 <= held < 1.  Of text, ids and files: blocks of
                     1024 ids, spread evenly; 0.1: every tenth.  Of rows and sequences: single ones,
                     drawn by split_seed.  An error where more than twice the share 1 - held would
                     be left for training */
    uint64_t split_seed; /* of rows and sequences: which ones are held out follows from their
                            number, held and split_seed alone.  Neither the tape's seed nor the
                            content changes it, so a fine-tuning with another seed does not train on
                            what was held out before */
    bool held_tail; /* the last floor(held n) ids, rows or sequences are held out instead: for a
                       series, whose future must not be known */
    int pack; /* of sequences, > 0: every batch has rows of so many ids, into which they are packed
                 (see at_data_batch) */
} at_data_args;

/* Text files (paths, n, tokenizer, chars or bpe, held, held_tail).  Each is read once, and may be a
 * pipe whose writer is waited for.  All of it, at most 1 GiB, is kept as ids.  NULL after a sticky
 * error, here and below: a file that cannot be read, or too little to hold out what was asked. */
AT_API at_data *at_data_text(at_tape *t, at_data_args args);
/* n ids, copied (vocab, held, held_tail; tokenizer, for what is generated later). */
AT_API at_data *at_data_ids(at_tape *t, const int32_t *ids, ptrdiff_t n, at_data_args args);
/* A file of nothing but ids (vocab, id_bytes, held, held_tail, tokenizer).  It is mapped where the
 * system can, so it may be larger than memory, and must not be changed before at_close.  An id that
 * is not below vocab is found when it is read: then the batch is an error. */
AT_API at_data *at_data_file(at_tape *t, const char *path, at_data_args args);
/* n rows with labels, copied: x [n,...], y [n,...] of any dtype (held, split_seed, held_tail;
 * vocab, if y are classes: at_data_description warns of those that are in one split only).  From
 * arrays of C:
 *
 *     at_tensor *x = at_floats(t, at_shape_of(n, 2), points);
 *     at_tensor *y = at_ints(t, at_shape_of(n), labels);
 *     at_data *d = at_data_arrays(t, x, y, args); */
AT_API at_data *at_data_arrays(at_tape *t, const at_tensor *x, const at_tensor *y,
                               at_data_args args);
/* n sequences, one behind the other in ids, copied; length[i] >= 1 of them are the i-th (vocab,
 * held, split_seed, held_tail, pack).  Two of as many sequences with the same held, split_seed and
 * held_tail, on tapes of the same seed, give those of the same numbers in each batch: so a text
 * meets its translation.  (Not where they are packed: which share a row follows from their
 * lengths.) */
AT_API at_data *at_data_sequences(at_tape *t, const int32_t *ids, const int *length, int n,
                                  at_data_args args);

/* Ids are 0 .. vocab-1; 0 for NULL. */
AT_API int at_vocab(const at_data *d);
/* What made the ids of the text; NULL if nothing is known about that. */
AT_API const at_tokenizer *at_data_tokenizer(const at_data *d);
/* The ids, rows or sequences of a split. */
AT_API ptrdiff_t at_data_count(const at_data *d, at_split split);
/* How many bytes of text an id of the split stands for, on average over all of them (at_token_bytes
 * of the data's tokenizer; none for an id that it lacks).  A loss in nats per id, divided by this,
 * is in nats per byte: so models of different tokenizers can be compared.  NAN after a sticky
 * error: of arrays, of data without a tokenizer, of an empty split. */
AT_API double at_data_bytes_per_id(at_tape *t, const at_data *d, at_split split);
/* A hash of the kind, the sizes and the elements.  Of a file of more than 64 MiB: of 4096 parts of
 * 16 KiB, spread evenly. */
AT_API uint64_t at_data_fingerprint(const at_data *d);
/* "text: 812345 ids below 97, 0.1 held out, fingerprint 0123456789abcdef".  Of rows and sequences
 * "0.1 held out by split_seed 0"; with held_tail "0.1 held out at the end"; with pack it ends in
 * ", packed into rows of 64".  Where classes are in one split only, lines follow that say so, and
 * at_run_open prints them:
 *
 *     warning: classes that are never trained on: 3, 7
 *     warning: classes that are never held out: 0, 1, 2, 4, 5, 6, 8, 9 and 2 more
 *
 * The tape that the data is made on is described by it (at_describe), under "data", and by the text
 * of its tokenizer, under "tokenizer": a checkpoint compares them with the texts of the data at
 * hand, and so refuses another split. */
AT_API const char *at_data_description(const at_data *d);

typedef struct {
    at_split split;
    int rows;          /* of a micro-batch */
    int length;        /* of a window, in ids; sequences: see below */
    int64_t step;      /* 0, 1, 2 ... */
    int micro, micros; /* which of how many micro-batches of this step; micros 0 is 1 */
    int spread;        /* > 0: not in random order; window g of `spread` that are spread evenly
                          over the split, whatever the seed: for evaluation */
    bool pack;         /* of sequences: packed into rows of `length` ids.  The same bits as of data
                          that was made with .pack = length, where rows are chosen once; here they
                          are chosen anew for each batch, in a pass over all sequences */
} at_batch_args;

typedef struct {
    __extension__ union {
        at_tensor *ids; /* [rows,length] */
        at_tensor *x;   /* of arrays: [rows,...] */
    };
    at_tensor *target;  /* [rows,length], each the id that follows; of arrays: y [rows,...] */
    at_tensor *lengths; /* of sequences: i32 [rows], ids that are no padding; else NULL */
    at_tensor *segments, *positions; /* of packed sequences: i32 [rows,length]; else NULL */

    /* How much of its step this micro-batch is: its targets that are not -1, by those of all micros
     * together.  1 / micros where all have as many, as windows do, and where targets are real
     * numbers; or where none counts.  With loss_m, the mean over the targets of micro-batch m,
     *
     *     sum_m share_m loss_m  =  the mean over all targets of the step,
     *
     * and so are the gradients that add up: at_backward(t, at_scale(t, loss, batch.share)). */
    double share;
} at_batch;

/* In step memory of t.  Of sequences: ids [rows,T] are cut to `length`, or padded to it with 0; to
 * the longest of the batch if length is 0.  There target is the id that follows within the
 * sequence, and -1 (for at_cross_entropy to ignore) where none does.  Reals have t's type.
 *
 * Packed sequences.  A row has several of them, one behind the other: of abcde and xy in a row of 8
 *
 *     ids         a   b   c   d   e   x   y   0
 *     target      b   c   d   e  -1   y  -1  -1     the id that follows within the sequence
 *     segments    0   0   0   0   0   1   1  -1     which one of the row; -1: padding
 *     positions   0   1   2   3   4   0   1   0     in the sequence
 *
 * (0 as padding is an id that an embedding can read.)  A sequence of more ids than a row has is cut
 * into fragments of `length` ids and a last one of what is left, each of them in another row.
 * Positions go on from one fragment to the next (learned positions need as many as the longest
 * sequence has ids), and the last target of a fragment is the first id of the next one.  No id is
 * lost: an epoch has each of them once.
 *
 * Which sequences share a row is decided by first fit: each goes into the first row that has room
 * for it, in windows of 1024 sequences, in an order that follows from the split and split_seed.
 * That order is the same in every epoch, so every epoch has the same W rows; the order of the rows
 * is the epoch's own.  If each epoch were packed anew, W would differ from epoch to epoch, and row
 * g could be known only after all epochs before had been packed. */
AT_API at_batch at_data_batch(at_tape *t, const at_data *d, at_batch_args args);
/* The ids first .. first + n - 1 of a split, in their order: out [n].  Of text, ids and files. */
AT_API bool at_data_read(at_tape *t, const at_data *d, at_split split, ptrdiff_t first, ptrdiff_t n,
                         int32_t *out);
/* W: how many windows of this length an epoch has; of arrays and sequences how many rows.  Of data
 * that was made with pack: packed rows, if length is 0 or pack, else 0. */
AT_API ptrdiff_t at_data_windows(const at_data *d, at_split split, int length);

AT_END_C
#endif
