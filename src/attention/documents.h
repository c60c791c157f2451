/* documents.h -- attention within documents: finds them in the segments, and makes of each a
 * problem of its own for the fused path.
 *
 * A run of equal ids in a row of segments is a document: rows i0 .. i0+T-1, and the keys
 * j0 .. j0+N-1 of the run with the same id.  The fused path computes it as a call of at_sdpa on
 * these rows and keys alone would: its tiles begin at i0 and j0, and are as large as suits T and N.
 * So it gives the same bits, and never sees a tile of another document.
 *
 * Where an id returns behind another one, its rows and keys are no blocks.  Then all of the batch
 * is one problem, and ids are compared cell by cell. */
#ifndef AT_ATTENTION_DOCUMENTS_H
#define AT_ATTENTION_DOCUMENTS_H
#include "attention/operands.h"

typedef struct {
    int b, id;
    int i0, T;  /* rows i0 .. i0+T-1 */
    int j0, N;  /* keys j0 .. j0+N-1; N = 0: it has none */
    int first;  /* the number of its first block of rows, of all heads: see sdpa_forward_blocks */
    bool by_id; /* of more than one id, which are compared for each cell */
} at_sdpa_document;

/* The documents of a call, in n->saved. */
typedef struct {
    int n, blocks; /* blocks of rows, of all heads and documents */
    at_sdpa_document document[];
} at_sdpa_documents;

/* Bytes for them: as many as there are rows, at most. */
size_t at_sdpa_documents_bytes(const at_sdpa_plan *p);
/* Fills *d from segments [B,T] and key_segments [B,N]. */
void at_sdpa_find_documents(const at_sdpa_plan *p, const int32_t *segments,
                            const int32_t *key_segments, at_sdpa_documents *d);
static inline at_sdpa_documents *at_sdpa_documents_of(const sdpa_operands *call)
{
    return at_sdpa_after(call->node->saved, at_sdpa_space_of(call->p, call->node->in).documents);
}

/* One document as a call of its own. */
typedef struct {
    at_sdpa_plan p;
    sdpa_operands call, dot;
    int32_t key_len;
} sdpa_document_call;

#define sdpa_document_of(...) AT_REAL(sdpa_document_of)(__VA_ARGS__)
/* The call for document d of `all`, built in *to. */
const sdpa_operands *sdpa_document_of(const sdpa_operands *all, const at_sdpa_document *d,
                                      sdpa_document_call *to);

#endif
