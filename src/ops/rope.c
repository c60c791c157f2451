/* rope.c -- rotary position embedding: rotate pairs of features by angles that grow with the
 * position.
 *
 *   x, y [..., T, D]    row p is at position p + offset
 *   R = rotate          the first R of the D features are rotated, the rest is copied
 *
 *   forward    theta_i = base^(-2i/R)                       i = 0 .. R/2-1
 *              a       = (p + offset) theta_i               the angle of pair i in row p
 *
 *              (u', v') = (u cos a - v sin a,  u sin a + v cos a)
 *
 *              pair i is (u, v) = (x_2i, x_2i+1)            interleaved, as in the paper
 *                              or (x_i,  x_i+R/2)           half_split
 *
 * Su, Lu, Pan, Murtadha, Wen, Liu 2021 (RoFormer), section 3.2.2.  Why: with q rotated by a
 * position i and k by a position j, R(i)q . R(j)k = q . R(i)^T R(j) k = q . R(j-i) k.  The score of
 * a query and a key depends on how far apart they are, not on where.
 *
 *   backward   y = R(a) x is linear and R(a) is orthogonal, so the transpose that the chain rule
 *              asks for is the inverse, the rotation by -a:
 *
 *              dx = R(a)^T dy = R(-a) dy
 *
 * Saved is a table of cosines and sines, T x R/2 each, in the type of x but computed in double.  A
 * sine takes long, so only positions P = 16 A + B with B = 0 or A = 0 get their own; the others
 * follow from
 *
 *              cos(a + b) = cos a cos b - sin a sin b       sin(a + b) = sin a cos b + cos a sin b
 *
 * A and B depend on the position alone: it gets the same bits whatever the offset, so that decoding
 * one position at a time agrees with all at once.
 *
 * The table is a constant, the second input.  Queries, keys and layers all want the same one, so
 * an op first looks for one on the tape: what was recorded earlier lives at least as long.
 *
 * Packed by heads, x [..., T, heads * D]: every head of a row is rotated alike.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_rows.h"

typedef struct {
    int T, D, R, heads; /* a row has `heads` times D features */
    double base;
    int offset;
    bool half_split;
} rope_args;

enum { ROPE_STRIDE = 16 };

static const at_row_op rope_rows = {0};

AT_BOTH(rope);
AT_EACH_REAL(void, rope_table, (const rope_args *a, void *to));

/* Row p of the table: R/2 cosines, then R/2 sines. */
void AT_REAL(rope_table)(const rope_args *a, void *to)
{
    REAL *table = to;
    int half = a->T > 0 ? a->R / 2 : 0; /* no rows, nothing to do */
    for (int i = 0; i < half; i++) {
        double theta = pow(a->base, -2.0 * i / a->R);
        double cos_A = 1, sin_A = 0, cos_B[ROPE_STRIDE], sin_B[ROPE_STRIDE];
        for (int p = 0; p < a->T; p++) {
            int64_t P = (int64_t)p + a->offset;
            int B = (int)(P & (ROPE_STRIDE - 1));
            const double A = (double)(P - B); /* 16 times the A above */
            if (p == 0 || B == 0) {
                cos_A = cos(A * theta);
                sin_A = sin(A * theta);
            }
            if (p < ROPE_STRIDE) {
                cos_B[B] = cos(B * theta);
                sin_B[B] = sin(B * theta);
            }
            table[(ptrdiff_t)p * a->R + i] = (REAL)(cos_A * cos_B[B] - sin_A * sin_B[B]);
            table[(ptrdiff_t)p * a->R + half + i] = (REAL)(sin_A * cos_B[B] + cos_A * sin_B[B]);
        }
    }
}

/* y = R(a) x, or R(-a) x with sign = -1; c and s hold cos a and sin a of the R/2 pairs. */
static void rope_head(const rope_args *a, const REAL *angles, REAL sign, const REAL *x, REAL *y)
{
    int half = a->R / 2;
    const REAL *c = angles, *s = angles + half;
    if (a->half_split) {
        const REAL *u = x, *v = x + half;
        for (int i = 0; i < half; i++) y[i] = mul_add(-v[i], sign * s[i], u[i] * c[i]);
        for (int i = 0; i < half; i++) y[half + i] = mul_add(u[i], sign * s[i], v[i] * c[i]);
    } else {
        for (int i = 0; i < half; i++) {
            REAL u = x[2 * i], v = x[2 * i + 1];
            y[2 * i] = mul_add(-v, sign * s[i], u * c[i]);
            y[2 * i + 1] = mul_add(u, sign * s[i], v * c[i]);
        }
    }
    for (int j = a->R; j < a->D; j++) y[j] = x[j];
}

/* y = R(sign a) x, for every head of a row */
static void rope_row(const at_chunk *row, REAL sign, const REAL *x, REAL *y)
{
    const rope_args *a = row->args;
    const REAL *angles = row->in[1];
    if (!angles) return; /* never: clang-tidy does not know that there are two inputs */
    angles += row->row % a->T * a->R;
    for (int h = 0; h < a->heads; h++, x += a->D, y += a->D) rope_head(a, angles, sign, x, y);
}

static void rope_y(const at_chunk *row, void *restrict values)
{
    rope_row(row, 1, row->in[0], values);
}

static void rope_dx(const at_chunk *row, void *restrict values)
{
    rope_row(row, -1, row->dy, values);
}

AT_MAP_ROWS(rope_forward, rope_rows, rope_y)
AT_MAP_ROWS_BACK(rope_backward, rope_rows, rope_dx)

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_op rope_op = {.name = "rope", AT_BOTH_KERNELS(rope)};

/* The table of an earlier rope with the same angles, and at least as many positions; or a new
 * one. */
static at_tensor *rope_table_for(at_tape *t, const rope_args *a)
{
    for (const at_node *n = at_first_node(t); n; n = n->next) {
        if (n->op != &rope_op) continue;
        const rope_args *b = n->args;
        if (a->base == b->base && a->offset == b->offset && a->R == b->R && a->T <= b->T)
            return n->in[1];
    }
    at_tensor *table = at_tensor_new(t, ATTIC_REAL, at_shape_of(a->T, a->R));
    if (table) AT_OF_REAL(at_real(t), rope_table)(a, table->data);
    return table;
}

at_tensor *at_rope(at_tape *t, at_tensor *x, at_rope_args args)
{
    AT_INPUT(t, "rope", x, ATTIC_REAL);
    AT_REQUIRE(t, x->shape.ndim >= 2, "rope: x is %s but must be [...,T,D]", at_text(x));
    int heads = args.heads ? args.heads : 1, width = at_last(x->shape);
    AT_REQUIRE(t, heads > 0 && width % heads == 0,
               "rope: x is %s: its last axis can't be cut into %d heads", at_text(x), heads);
    int D = width / heads, R = args.rotate ? args.rotate : D;
    AT_REQUIRE(t, R >= 0 && R <= D && R % 2 == 0,
               "rope: x is %s: of its %d features per row %d can't be rotated, which must be an "
               "even number up to %d",
               at_text(x), D, R, D);
    AT_REQUIRE(t, args.base >= 0 && isfinite(args.base), "rope: base is %g but must be > 0",
               args.base);
    AT_REQUIRE(t, args.base == 0 || isfinite(0x1p33 / args.base),
               "rope: base is %g, so small that angles would be infinite", args.base);

    rope_args a = {.T = at_count(x->shape) ? x->shape.dim[x->shape.ndim - 2]
                                           : 0, /* no rows, no table */
                   .D = D,
                   .R = R,
                   .heads = heads,
                   .base = args.base > 0 ? args.base : 10000,
                   .offset = args.offset,
                   .half_split = args.half_split};
    at_tensor *table = rope_table_for(t, &a);
    if (!table) return NULL;
    return at_record_rows(t, &rope_op, &rope_rows, AT_IN(x, table), x->shape, &a, sizeof a);
}

#endif
