/* embedding.c -- a row of a table for every id; one_hot: the row of a table of 0 and 1.
 *
 *   table [V,D]   id [...], i32 in 0..V-1   y [...,D]
 *
 *   forward    y_ij = table_(id_i) j              one_hot    y_iv = 1[v = id_i]
 *
 * An embedding is the product of the matrix of one-hot rows with the table, without the
 * multiplications by 0.  So is its gradient (one_hot has none: ids are no reals):
 *
 *   backward   dtable_vj = sum_i 1[v = id_i] dy_ij
 *
 *              for i = 0, 1, ...:   dtable_(id_i) j += dy_ij
 *
 * An id that occurs twice gets both; ids that do not occur get 0.  The sums are in the order of i,
 * and threads share the work by columns j, so each of them keeps that order.
 *
 * A table stored as f16 or bf16 wants no gradient; its rows are widened as they are read.
 *
 * Ids are checked when the op is recorded.  They may be written afterwards and the forward run
 * again (at_set, at_replay), where no error can be raised: a wrong id then gives a row of NaN, and
 * no gradient. */
#include "ops/op.h"

#include "kernels/half.h"
#include "kernels/real.h"

enum { EMBEDDING_COLUMNS = 64 }; /* of the table, that a thread adds to */

typedef struct {
    int V, D;
    ptrdiff_t count; /* ids */
} embedding_args;

static bool embedding_has(const embedding_args *a, int32_t id)
{
    return id >= 0 && id < a->V;
}

AT_BOTH(embedding);
AT_KERNEL(one_hot_forward);

static void embedding_read(void *node, ptrdiff_t i, ptrdiff_t to, int slot)
{
    (void)slot;
    const at_node *n = node;
    const embedding_args *a = n->args;
    const int32_t *id = n->in[1]->data;
    const at_tensor *table = n->in[0];
    const ptrdiff_t D = a->D;
    for (; i < to; i++) {
        REAL *y = (REAL *)n->out[0]->data + i * D;
        if (embedding_has(a, id[i]) && at_is_half(table->dtype))
            widen(D, table->dtype == ATTIC_BF16, (const uint16_t *)table->data + id[i] * D, y);
        else if (embedding_has(a, id[i]))
            memcpy(y, (const REAL *)table->data + id[i] * D, (size_t)D * sizeof *y);
        else
            for (ptrdiff_t j = 0; j < D; j++) y[j] = (REAL)NAN;
    }
}

void AT_REAL(embedding_forward)(at_node *n)
{
    const embedding_args *a = n->args;
    at_for(a->count, a->D / 4, 0, embedding_read, n);
}

static void one_hot_rows(void *node, ptrdiff_t i, ptrdiff_t to, int slot)
{
    (void)slot;
    const at_node *n = node;
    const embedding_args *a = n->args;
    const int32_t *id = n->in[0]->data;
    for (; i < to; i++) {
        REAL *y = (REAL *)n->out[0]->data + i * a->V;
        const REAL other = embedding_has(a, id[i]) ? 0 : (REAL)NAN;
        for (int v = 0; v < a->V; v++) y[v] = v == id[i] ? 1 : other;
    }
}

void AT_REAL(one_hot_forward)(at_node *n)
{
    const embedding_args *a = n->args;
    at_for(a->count, a->V, 0, one_hot_rows, n);
}

/* Spans of columns: every thread reads all ids, and none adds to what another does. */
static void embedding_add(void *node, ptrdiff_t from, ptrdiff_t to, int slot)
{
    (void)slot;
    const at_node *n = node;
    const embedding_args *a = n->args;
    const int32_t *id = n->in[1]->data;
    const REAL *dy = n->out[0]->grad;
    REAL *dtable = n->in[0]->grad;
    ptrdiff_t D = a->D, j = from * EMBEDDING_COLUMNS, end = to * EMBEDDING_COLUMNS;
    ptrdiff_t w = (end < D ? end : D) - j;
    for (ptrdiff_t i = 0; i < a->count; i++)
        if (embedding_has(a, id[i])) row_axpy(w, 1, dy + i * D + j, dtable + id[i] * D + j);
}

void AT_REAL(embedding_backward)(at_node *n)
{
    const embedding_args *a = n->args;
    if (!at_grad(n, 0) || a->D == 0) return; /* dtable is in[0]->grad from here on */
    at_for((a->D - 1) / EMBEDDING_COLUMNS + 1, a->count * EMBEDDING_COLUMNS / 4, 0, embedding_add,
           n);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op embedding_op = {.name = "embedding", AT_BOTH_KERNELS(embedding)};

at_tensor *at_embedding(at_tape *t, at_tensor *table, at_tensor *id)
{
    if (!at_check_stored(t, "embedding", "table", table)) return NULL;
    AT_INPUT(t, "embedding", id, ATTIC_I32);
    AT_REQUIRE(t, table->shape.ndim == 2, "embedding: table is %s but must be [V,D]",
               at_text(table));
    at_shape y = id->shape;
    AT_REQUIRE(t, y.ndim < AT_MAX_DIMS, "embedding: id is %s and there can be no dim more",
               at_text(id));
    embedding_args a = {
        .V = table->shape.dim[0], .D = table->shape.dim[1], .count = at_count(id->shape)};
    const int32_t *ids = id->data;
    AT_REQUIRE(t, a.V > 0 || a.count == 0, "embedding: id is %s but table is %s and has no rows",
               at_text(id), at_text(table));
    for (ptrdiff_t i = 0; i < a.count; i++)
        AT_REQUIRE(t, embedding_has(&a, ids[i]),
                   "embedding: id is %d at %s but table is %s: ids must be in 0..%d", ids[i],
                   at_shape_text(at_index_of(id->shape, i)), at_text(table), a.V - 1);
    y.dim[y.ndim++] = a.D;
    return at_record(t, &embedding_op, AT_IN(table, id), y, &a, sizeof a);
}

at_tensor *at_one_hot(at_tape *t, at_tensor *id, int N)
{
    static const at_op op = {.name = "one_hot", .forward = AT_KERNELS(one_hot_forward)};
    AT_INPUT(t, "one_hot", id, ATTIC_I32);
    at_shape y = id->shape;
    AT_REQUIRE(t, y.ndim < AT_MAX_DIMS, "one_hot: id is %s and there can be no dim more",
               at_text(id));
    AT_REQUIRE(t, N >= 0, "one_hot: N is %d, but must be >= 0", N);
    embedding_args a = {.V = N, .count = at_count(id->shape)};
    const int32_t *ids = id->data;
    for (ptrdiff_t i = 0; i < a.count; i++)
        AT_REQUIRE(t, embedding_has(&a, ids[i]),
                   "one_hot: id is %d at %s but N is %d: ids must be in 0..N-1", ids[i],
                   at_shape_text(at_index_of(id->shape, i)), N);
    y.dim[y.ndim++] = N;
    return at_record(t, &op, AT_IN(id), y, &a, sizeof a);
}

#endif
