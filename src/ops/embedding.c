/* embedding.c -- a row of a table for every id.
 *
 *   table [V,D]   id [...], whole numbers in 0..V-1   y [...,D]
 *
 *   forward    y_ij = table_(id_i) j
 *
 * It is the product of a matrix of one-hot rows, 1[v = id_i], with the table, without the
 * multiplications by 0.  So is its gradient:
 *
 *   backward   dtable_vj = sum_i 1[v = id_i] dy_ij
 *
 *              for i = 0, 1, ...:   dtable_(id_i) j += dy_ij
 *
 * An id that occurs twice gets both; ids that do not occur get 0.  The sums are in the order of i,
 * and threads share the work by columns j, so each of them keeps that order.
 *
 * Ids are checked when the op is recorded.  They may be written afterwards and the forward run
 * again (at_set, at_replay), where no error can be raised: a wrong id then gives a row of NaN, and
 * no gradient. */
#include "ops/op.h"

#include "kernels/real.h"

enum {
    EMBEDDING_COLUMNS = 64,
    EMBEDDING_TASK = 1 << 15 /* numbers that are worth waking a thread for */
};

typedef struct {
    int V, D;
    ptrdiff_t count, per_task; /* ids; of one task */
} embedding_args;

static bool embedding_has(const embedding_args *a, int32_t id)
{
    return id >= 0 && id < a->V;
}

AT_KERNEL(embedding_forward);
AT_KERNEL(embedding_backward);

static void embedding_read(void *node, int task, int worker)
{
    (void)worker;
    const at_node *n = node;
    const embedding_args *a = n->args;
    const int32_t *id = n->in[1]->data;
    const REAL *table = n->in[0]->data;
    ptrdiff_t i = task * a->per_task, end = i + a->per_task, D = a->D;
    for (; i < end && i < a->count; i++) {
        REAL *y = (REAL *)n->out[0]->data + i * D;
        if (embedding_has(a, id[i]))
            memcpy(y, table + id[i] * D, (size_t)D * sizeof *y);
        else
            for (ptrdiff_t j = 0; j < D; j++) y[j] = (REAL)NAN;
    }
}

void AT_REAL(embedding_forward)(at_node *n)
{
    const embedding_args *a = n->args;
    at_parallel((int)((a->count + a->per_task - 1) / a->per_task), embedding_read, n);
}

typedef struct {
    const embedding_args *args;
    const int32_t *id;
    const REAL *dy;
    REAL *dtable;
    int columns; /* of one task */
} embedding_job;

static void embedding_add(void *job, int task, int worker)
{
    (void)worker;
    const embedding_job *g = job;
    ptrdiff_t D = g->args->D, j = task * (ptrdiff_t)g->columns;
    ptrdiff_t w = D - j < g->columns ? D - j : g->columns;
    for (ptrdiff_t i = 0; i < g->args->count; i++)
        if (embedding_has(g->args, g->id[i]))
            row_axpy(w, 1, g->dy + i * D + j, g->dtable + g->id[i] * D + j);
}

void AT_REAL(embedding_backward)(at_node *n)
{
    const embedding_args *a = n->args;
    embedding_job g = {a, n->in[1]->data, n->out[0]->grad, at_grad(n, 0), a->D};
    if (!g.dtable || a->D == 0) return;
    if (a->count > EMBEDDING_TASK / EMBEDDING_COLUMNS) g.columns = EMBEDDING_COLUMNS;
    at_parallel((a->D - 1) / g.columns + 1, embedding_add, &g);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op embedding_op = {.name = "embedding",
                                   .forward = AT_KERNELS(embedding_forward),
                                   .backward = AT_KERNELS(embedding_backward)};

/* Where the i-th element of shape s is: "[1,2]". */
static const char *embedding_index_text(at_shape s, ptrdiff_t i)
{
    for (int d = s.ndim - 1; d >= 0; d--) {
        int size = s.dim[d];
        s.dim[d] = (int)(i % size);
        i /= size;
    }
    return at_shape_text(s);
}

at_tensor *at_embedding(at_tape *t, at_tensor *table, at_tensor *id)
{
    AT_INPUT(t, "embedding", table, ATTIC_REAL);
    AT_INPUT(t, "embedding", id, ATTIC_I32);
    AT_REQUIRE(t, table->shape.ndim == 2, "embedding: table is %s but must be [V,D]",
               at_text(table));
    at_shape y = id->shape;
    AT_REQUIRE(t, y.ndim < AT_MAX_DIMS, "embedding: id is %s and there is no room for a dim more",
               at_text(id));
    embedding_args a = {
        .V = table->shape.dim[0], .D = table->shape.dim[1], .count = at_count(id->shape)};
    const int32_t *ids = id->data;
    AT_REQUIRE(t, a.V > 0 || a.count == 0, "embedding: id is %s but table is %s and has no rows",
               at_text(id), at_text(table));
    for (ptrdiff_t i = 0; i < a.count; i++)
        AT_REQUIRE(t, embedding_has(&a, ids[i]),
                   "embedding: id is %d at %s but table is %s: ids must be in 0..%d", ids[i],
                   embedding_index_text(id->shape, i), at_text(table), a.V - 1);
    a.per_task = EMBEDDING_TASK / (a.D + 1) + a.count / (1 << 20) + 1;
    y.dim[y.ndim++] = a.D;
    return at_record(t, &embedding_op, AT_IN(table, id), y, &a, sizeof a);
}

#endif
