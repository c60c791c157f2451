/* bench_complexity.c -- how time and memory of attention grow, operation by operation.
 *
 * T queries, N keys, of size D.  One of the three changes, the others stay at 256, 256, 64 (so that
 * all data fits the second-level cache), and every operation is measured by itself: the products,
 * the steps between them, then all of attention, composed and fused.  Forward, one head, one
 * thread.  Expected:
 *
 *     time     Q K^T and A V  T N D       scale, mask, softmax, dropout  T N       attention  T N D
 *     memory   Q K^T .. dropout  T N      A V  T D      attention, composed  T N,  fused  T D
 *
 * docs/notes/tuning.md has the exponents that were fitted to measured times and bytes.  Bytes are
 * those that the tape allocates for results and for what backward would need. */
#include "attic.h"
#include "attic_op.h"
#include "common/bench.h"

#include <math.h>
#include <stdio.h>

typedef enum {
    SCORES,
    SCALE,
    MASK,
    SOFTMAX,
    DROPOUT,
    VALUES,
    COMPOSED,
    FUSED,
    OPERATIONS
} operation;

static const char *const names[OPERATIONS] = {"Q K^T",   "scale", "mask",     "softmax",
                                              "dropout", "A V",   "composed", "fused"};

typedef struct {
    int T, N, D;
} size;

typedef struct {
    operation op;
    at_tape *t;
    at_mark start;
    at_tensor *Q, *K, *V, *S, *P, *keep, *drop;
} attention;

static at_tensor *apply(const attention *a)
{
    at_sdpa_args args = {.keep = a->keep, .dropout = 0.1};
    switch (a->op) {
    case SCORES: return at_matmul_t(a->t, a->Q, false, a->K, true);
    case SCALE: return at_scale(a->t, a->S, 0.125);
    case MASK: return at_masked_fill(a->t, a->S, a->drop, (double)-INFINITY);
    case SOFTMAX: return at_softmax(a->t, a->S);
    case DROPOUT: return at_dropout(a->t, a->P, 0.1);
    case VALUES: return at_matmul(a->t, a->P, a->V);
    case COMPOSED: args.path = ATTIC_COMPOSED; break;
    default: break;
    }
    return at_sdpa(a->t, a->Q, a->K, a->V, args);
}

static void run(void *ctx)
{
    const attention *a = ctx;
    apply(a);
    at_rewind(a->t, a->start);
}

/* Each row keeps half of the keys. */
static void make_masks(attention *a, size s)
{
    a->keep = at_blank(a->t, ATTIC_BOOL, at_shape_of(s.T, s.N));
    a->drop = at_blank(a->t, ATTIC_BOOL, at_shape_of(s.T, s.N));
    for (int i = 0; at_ok(a->t) && i < s.T; i++)
        for (int j = 0; j < s.N; j++) {
            ptrdiff_t ij = (ptrdiff_t)i * s.N + j;
            bool kept = (i + j) % 2 == 0;
            ((unsigned char *)a->keep->data)[ij] = kept;
            ((unsigned char *)a->drop->data)[ij] = !kept;
        }
}

static void prepare(attention *a, size s)
{
    a->t = at_open(ATTIC_F32, 1);
    a->Q = at_param(a->t, "Q", at_shape_of(s.T, s.D), at_normal(1));
    a->K = at_param(a->t, "K", at_shape_of(s.N, s.D), at_normal(1));
    a->V = at_param(a->t, "V", at_shape_of(s.N, s.D), at_normal(1));
    a->S = at_param(a->t, "S", at_shape_of(s.T, s.N), at_normal(1));
    a->P = at_param(a->t, "P", at_shape_of(s.T, s.N), at_uniform(1));
    make_masks(a, s);
    a->start = at_mark_here(a->t);
}

static bool measure(bench *b, operation op, bool memory, char what, size s)
{
    double cells = (double)s.T * s.N, D = s.D;
    bool product = op == SCORES || op == VALUES, whole = op >= COMPOSED;
    char name[48], group[32];
    int x = what == 'T' ? s.T : what == 'N' ? s.N : s.D;
    snprintf(name, sizeof name, "%c = %d", what, x);
    snprintf(group, sizeof group, "%s%s", names[op], memory ? ", memory" : "");
    attention a = {.op = op};
    bench_case c = {.group = group,
                    .name = name,
                    .x = x,
                    .run = run,
                    .ctx = &a,
                    .flop = whole     ? 4 * cells * D
                            : product ? 2 * cells * D
                                      : 0,
                    .bytes = whole ? 0 : 4 * (product ? cells + (s.T + s.N) * D : 2 * cells)};
    if (!bench_wants(b, &c)) return true;
    prepare(&a, s);
    if (memory) {
        size_t before = at_memory_of(a.t).step;
        apply(&a);
        bench_value(b, &c, "B", (double)(at_memory_of(a.t).step - before), 0);
    } else {
        bench_row(b, &c);
    }
    bool ok = at_ok(a.t);
    if (!ok) fprintf(stderr, "attic: %s\n", at_error(a.t));
    at_close(a.t);
    return ok;
}

static bool measure_all(bench *b, operation op, bool memory)
{
    static const int lengths[] = {128, 256, 512, 1024}, dims[] = {32, 64, 128, 256};
    bool ok = true;
    for (int i = 0; i < 4; i++) ok = measure(b, op, memory, 'T', (size){lengths[i], 256, 64}) && ok;
    for (int i = 0; i < 4; i++) ok = measure(b, op, memory, 'N', (size){256, lengths[i], 64}) && ok;
    for (int i = 0; i < 4; i++) ok = measure(b, op, memory, 'D', (size){256, 256, dims[i]}) && ok;
    return ok;
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "complexity",
                          "attention, operation by operation, as T, N, D grow\n", NULL);
    bool ok = true;
    while (bench_next_threads(b))
        for (operation op = 0; op < OPERATIONS && bench_threads(b) == 1; op++)
            for (int memory = 0; memory < 2; memory++) ok = measure_all(b, op, memory) && ok;
    return bench_close(b) || !ok;
}
