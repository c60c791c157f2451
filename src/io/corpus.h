/* corpus.h -- text files as bytes to learn from and bytes to be judged by. */
#ifndef AT_IO_CORPUS_H
#define AT_IO_CORPUS_H
#include "autograd/tape.h"
AT_BEGIN_C

/* The files, joined, are cut into blocks of 1 KiB.  Every tenth block (the 10th, 20th, ...) is held
 * out; the others, joined, are the training text.  A byte is known by its rank among the bytes that
 * occur, its id: 0 .. vocab-1. */
typedef struct {
    unsigned char *train, *held; /* ids */
    ptrdiff_t n_train, n_held;
    int vocab;
    unsigned char byte_of[256]; /* id -> byte */
    int id_of[256];             /* byte -> id, -1 if it does not occur */
} at_corpus;

#define AT_CORPUS_BLOCK 1024
#define AT_CORPUS_LIMIT (1 << 30) /* bytes: 1 GiB, so that n-grams can be counted in 32 bits */

/* In step memory, about twice the size of the text.  Each file is read once and may be a pipe,
 * whose writer is waited for.  NULL after a sticky error: a file that can't be read, fewer than ten
 * blocks in all, so that nothing could be held out, or more than AT_CORPUS_LIMIT bytes (an endless
 * device). */
at_corpus *at_corpus_read(at_tape *t, const char *const *path, int n_paths);

/* B random windows of the training text: ids [B,T], and target [B,T], each the byte that follows.
 * A pure function of the stream.  An error if the text is shorter than T + 1. */
bool at_corpus_batch(at_tape *t, const at_corpus *c, int B, int T, at_stream stream,
                     at_tensor **ids, at_tensor **target);

AT_END_C
#endif
