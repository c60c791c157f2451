/* documents.c -- documents as problems of their own; see documents.h. */
#include "attention/documents.h"

#include "attention/fused_tile.h"
#include "kernels/real.h"

/* Row (i0,j0) of batch b becomes row (0,0) of batch 0 of a tensor of rows, keys, cells. */
static REAL *document_rows(REAL *x, at_sdpa_layout at, const at_sdpa_document *d, int row)
{
    return x ? x + at_sdpa_row(at, d->b, 0, row) : NULL;
}

static REAL *document_cells(REAL *x, at_sdpa_cells at, const at_sdpa_document *d)
{
    return x ? x + at_sdpa_cell(at, d->b, 0, d->i0, d->j0) : NULL;
}

static REAL *document_from(REAL *x, ptrdiff_t first)
{
    return x ? x + first : NULL;
}

/* K or V, which may be stored in 16 bits. */
static REAL *document_keys(REAL *x, at_sdpa_layout at, const at_sdpa_document *d, at_dtype stored)
{
    const size_t size = at_is_half(stored) ? at_dtype_size(stored) : sizeof(REAL);
    return at_sdpa_after(x, (size_t)at_sdpa_row(at, d->b, 0, d->j0) * size);
}

static void document_move(sdpa_operands *x, const at_sdpa_plan *p, const at_sdpa_document *d)
{
    const ptrdiff_t row = at_sdpa_row_number(p, d->b, 0, d->i0), cell = row * p->all_N + d->j0;
    x->Q = document_rows(x->Q, p->q, d, d->i0), x->dQ = document_rows(x->dQ, p->q, d, d->i0);
    x->O = document_rows(x->O, p->o, d, d->i0), x->dO = document_rows(x->dO, p->o, d, d->i0);
    x->K = document_keys(x->K, p->k, d, p->stored), x->dK = document_rows(x->dK, p->k, d, d->j0);
    x->V = document_keys(x->V, p->v, d, p->stored), x->dV = document_rows(x->dV, p->v, d, d->j0);
    x->bias = document_cells(x->bias, p->bias, d), x->dbias = document_cells(x->dbias, p->bias, d);
    x->weights = document_from(x->weights, cell), x->dW = document_from(x->dW, cell);
    x->probs = document_from(x->probs, cell), x->dY = document_from(x->dY, cell);
    x->lse = document_from(x->lse, row), x->dlse = document_from(x->dlse, row);
    x->ds = document_from(x->ds, row), x->saved = x->saved + AT_SDPA_SAVED * row;
    if (x->keep) x->keep += at_sdpa_cell(p->keep, d->b, 0, d->i0, d->j0);
    x->raw = NULL;
}

const sdpa_operands *sdpa_document_of(const sdpa_operands *all, const at_sdpa_document *d,
                                      sdpa_document_call *to)
{
    to->p = *all->p, to->call = *all;
    at_sdpa_plan *p = &to->p;
    sdpa_operands *call = &to->call;
    p->B = 1, p->T = d->T, p->N = d->N, p->raw = 0;
    p->offset += (int64_t)d->i0 - d->j0;
    p->first_cell = at_sdpa_cell_number(all->p, d->b, 0, d->i0) + d->j0;
    at_sdpa_choose_tile(p, sizeof(REAL));
    document_move(call, all->p, d);
    call->p = p;
    call->segments = d->by_id ? call->segments + (ptrdiff_t)d->b * p->all_T : NULL;
    call->key_segments = d->by_id ? call->key_segments + (ptrdiff_t)d->b * p->all_N : NULL;
    if (all->key_len) {
        const int32_t n = all->key_len[d->b] - d->j0;
        to->key_len = n < 0 ? 0 : n < d->N ? n : d->N;
        call->key_len = &to->key_len;
    }
    if (all->dot) {
        to->dot = *all->dot;
        document_move(&to->dot, all->p, d);
        to->dot.p = p;
        call->dot = &to->dot;
    }
    return call;
}

#ifdef AT_ONCE

size_t at_sdpa_documents_bytes(const at_sdpa_plan *p)
{
    const size_t most = (size_t)p->B * (size_t)p->T;
    return sizeof(at_sdpa_documents) + most * sizeof(at_sdpa_document);
}

static int document_run(const int32_t *id, int from, int n)
{
    int to = from + 1;
    while (to < n && id[to] == id[from]) to++;
    return to;
}

/* Which of these n documents has that id?  Documents mostly come in one order, so the search begins
 * behind the one that was found last.  -1: none */
static int document_find(const at_sdpa_document *d, int n, int id, int last)
{
    for (int k = 1; k <= n; k++)
        if (d[(last + k) % n].id == id) return (last + k) % n;
    return -1;
}

/* The documents of batch b, from d[0] on; how many, or -1 if an id returns.  A negative id is of no
 * document: what has one keeps no key, and is kept by none. */
static int documents_of(const at_sdpa_plan *p, int b, const int32_t *rows, const int32_t *keys,
                        at_sdpa_document *d)
{
    int n = 0, most = -1, last = -1;
    for (int i = 0, to; i < p->T; i = to, n++) {
        to = document_run(rows, i, p->T);
        if (rows[i] >= 0 && rows[i] <= most && document_find(d, n, rows[i], last) >= 0) return -1;
        if (rows[i] > most) most = rows[i];
        d[n] = (at_sdpa_document){.b = b, .id = rows[i], .i0 = i, .T = to - i};
    }
    for (int j = 0, to; n && j < p->N; j = to) {
        to = document_run(keys, j, p->N);
        const int k = keys[j] < 0 ? -1 : document_find(d, n, keys[j], last);
        if (k < 0) continue;
        if (d[k].N > 0) return -1;
        d[k].j0 = j, d[k].N = to - j, last = k;
    }
    return n;
}

void at_sdpa_find_documents(const at_sdpa_plan *p, const int32_t *segments,
                            const int32_t *key_segments, at_sdpa_documents *d)
{
    d->n = d->blocks = 0;
    for (int b = 0; b < p->B && p->T > 0; b++) {
        at_sdpa_document *here = d->document + d->n;
        int n = documents_of(p, b, segments + (ptrdiff_t)b * p->T,
                             key_segments + (ptrdiff_t)b * p->N, here);
        if (n < 0) {
            n = 1;
            *here = (at_sdpa_document){.b = b, .T = p->T, .N = p->N, .by_id = true};
        }
        for (int k = 0; k < n; k++) {
            at_sdpa_plan of = *p;
            of.T = here[k].T, of.N = here[k].N;
            at_sdpa_choose_tile(&of, sizeof(float)); /* the rows of a tile are those of any type */
            here[k].first = d->blocks;
            d->blocks += p->H * at_sdpa_blocks(of.T, of.tile);
        }
        d->n += n;
    }
}

#endif
