/* rope.c -- rotary position embedding: rotate pairs of features by angles that grow with the
 * position.
 *
 *   x, y [..., T, D]    row p is at position P_p = p + offset, or positions_p, or positions_bp
 *   R = rotate          the first R of the D features are rotated, the rest is copied
 *
 *   forward    theta_i = base^(-2i/R), or frequencies_i     i = 0 .. R/2-1; scaled: rope_scaling.c
 *              a       = P_p theta_i                        the angle of pair i in row p
 *
 *              (u', v') = m (u cos a - v sin a,  u sin a + v cos a)       m = 1 unless scaled
 *
 *              pair i is (u, v) = (x_2i, x_2i+1)            interleaved, as in the paper
 *                              or (x_i,  x_i+R/2)           half_split
 *
 * Su, Lu, Pan, Murtadha, Wen, Liu 2021 (RoFormer), section 3.2.2.  Why: with q rotated by a
 * position i and k by a position j, R(i)q . R(j)k = q . R(i)^T R(j) k = q . R(j-i) k.  The score of
 * a query and a key depends on how far apart they are, not on where.
 *
 *   backward   y = m R(a) x is linear and R(a) is orthogonal, so the transpose that the chain rule
 *              asks for is m times the inverse, the rotation by -a:
 *
 *              dx = m R(a)^T dy = m R(-a) dy
 *
 * Saved is a table of m cos a and m sin a, T x R/2 each, in the type of x but computed in double.
 * A sine takes long, so only positions P = 16 A + B with B = 0 or A = 0 get their own; the others
 * follow from
 *
 *              cos(a + b) = cos a cos b - sin a sin b       sin(a + b) = sin a cos b + cos a sin b
 *
 * A and B depend on the position alone: it gets the same bits whatever the offset, and whether a
 * tensor holds it, so that decoding one position at a time agrees with all at once.
 *
 * The table is the second input, without a gradient: a constant, or, where it depends on tensors,
 * the output of a node of its own, rope_angles, which a replay computes anew.  Queries, keys and
 * layers all want the same one, so an op first looks for one on the tape: what was recorded earlier
 * lives at least as long.
 *
 * Packed by heads, x [..., T, heads * D]: every head of a row is rotated alike.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_rows.h"
#include "ops/rope.h"

typedef struct {
    int T, D, R, heads; /* a row has `heads` times D features */
    double base;
    int offset;
    bool half_split, given; /* given: the table depends on tensors */
    at_rope_scaling scaling;
    ptrdiff_t rows;  /* of the table */
    ptrdiff_t batch; /* positions are [B,T]: rows of x for each of the B; 0: all share T rows */
} rope_args;

enum { ROPE_STRIDE = 16 };

static const at_row_op rope_rows = {0};

AT_BOTH(rope);
AT_KERNEL(rope_angles_forward);
AT_EACH_REAL(void, rope_table,
             (const rope_args *a, const int32_t *positions, const void *frequencies, void *to));

/* Row p of the table: R/2 cosines, then R/2 sines. */
void AT_REAL(rope_table)(const rope_args *a, const int32_t *positions, const void *frequencies,
                         void *to)
{
    REAL *table = to;
    const REAL *given = frequencies;
    const int half = a->rows > 0 ? a->R / 2 : 0; /* no rows, nothing to do */
    const double m = at_rope_factor(&a->scaling);
    for (int i = 0; i < half; i++) {
        const double theta =
            given ? (double)VALUE(given[i]) : at_rope_frequency(&a->scaling, a->base, a->R, i);
        double cos_A = 1, sin_A = 0, cos_B[ROPE_STRIDE], sin_B[ROPE_STRIDE];
        int64_t last = 1; /* the A of cos_A and sin_A; none yet */
        bool known[ROPE_STRIDE] = {0};
        for (ptrdiff_t p = 0; p < a->rows; p++) {
            const int64_t P = positions ? positions[p] : (int64_t)p + a->offset;
            const int B = (int)(P & (ROPE_STRIDE - 1));
            const double A = (double)(P - B); /* 16 times the A above */
            if (P - B != last) {
                cos_A = cos(A * theta);
                sin_A = sin(A * theta);
                last = P - B;
            }
            if (!known[B]) {
                cos_B[B] = cos(B * theta);
                sin_B[B] = sin(B * theta);
                known[B] = true;
            }
            REAL *row = table + p * a->R;
            row[i] = (REAL)(m * (cos_A * cos_B[B] - sin_A * sin_B[B]));
            row[half + i] = (REAL)(m * (sin_A * cos_B[B] + cos_A * sin_B[B]));
        }
    }
}

void AT_REAL(rope_angles_forward)(at_node *n)
{
    const at_tensor *positions = n->in[0], *frequencies = n->in[1];
    AT_REAL(rope_table)
    (n->args, positions ? positions->data : NULL, frequencies ? frequencies->data : NULL,
     n->out[0]->data);
}

/* y = m R(a) x, or m R(-a) x with sign = -1; c and s hold m cos a and m sin a of the R/2 pairs. */
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

/* y = m R(sign a) x, for every head of a row */
static void rope_row(const at_chunk *row, REAL sign, const REAL *x, REAL *y)
{
    const rope_args *a = row->args;
    const REAL *angles = row->in[1];
    if (!angles) return; /* never: clang-tidy does not know that there are two inputs */
    const ptrdiff_t of_batch = a->batch ? row->row / a->batch * a->T : 0;
    angles += (of_batch + row->row % a->T) * a->R;
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

static const at_op rope_angles_op = {.name = "rope_angles",
                                     .forward = AT_KERNELS(rope_angles_forward)};

static bool rope_same_angles(const rope_args *a, const rope_args *b)
{
    return a->base == b->base && a->offset == b->offset && a->R == b->R && a->rows <= b->rows &&
           at_same_rope_scaling(&a->scaling, &b->scaling);
}

/* Is x what the node read as its i-th input, unwritten since?  Both may be NULL. */
static bool rope_read(const at_node *n, int i, const at_tensor *x)
{
    const at_tensor *owner = x && x->base ? x->base : x; /* whose data x shares */
    return n->in[i] == x && (!x || n->in_version[i] == owner->version);
}

/* The table of an earlier rope with the same angles, and at least as many positions; or a new
 * one. */
static at_tensor *rope_table_for(at_tape *t, const rope_args *a, at_tensor *positions,
                                 at_tensor *frequencies)
{
    for (const at_node *n = at_first_node(t); n; n = n->next) {
        if (n->op != (a->given ? &rope_angles_op : &rope_op) || !rope_same_angles(a, n->args))
            continue;
        if (a->given && rope_read(n, 0, positions) && rope_read(n, 1, frequencies))
            return n->out[0];
        if (!a->given && !((const rope_args *)n->args)->given) return n->in[1];
    }
    at_shape shape = positions ? positions->shape : at_shape_of((int)a->rows);
    shape.dim[shape.ndim++] = a->R;
    if (a->given)
        return at_record(t, &rope_angles_op, AT_IN(positions, frequencies), shape, a, sizeof *a);
    at_tensor *table = at_tensor_new(t, ATTIC_REAL, shape);
    if (table) AT_OF_REAL(at_real(t), rope_table)(a, NULL, NULL, table->data);
    return table;
}

static bool rope_check_positions(at_tape *t, const at_tensor *x, const at_rope_args *args)
{
    const at_tensor *P = args->positions;
    if (!P) return true;
    if (!at_check_input(t, "rope", "positions", P, ATTIC_I32)) return false;
    const int d = x->shape.ndim, B = x->shape.dim[0], T = x->shape.dim[d - 2];
    AT_REQUIRE(t,
               at_same_shape(P->shape, at_shape_of(T)) ||
                   (d > 2 && at_same_shape(P->shape, at_shape_of(B, T))),
               d > 2 ? "rope: x is %s but positions is %s: it must be [%d] or [%d,%d]"
                     : "rope: x is %s but positions is %s: it must be [%d]",
               at_text(x), at_text(P), T, B, T);
    AT_REQUIRE(t, args->offset == 0,
               "rope: offset is %d, but positions are given, which take its place", args->offset);
    return true;
}

static bool rope_check_frequencies(at_tape *t, const at_rope_args *args, int R)
{
    const at_tensor *f = args->frequencies;
    if (!at_check_rope_scaling(t, "rope", args->base, &args->scaling)) return false;
    if (!f) return true;
    if (!at_check_input(t, "rope", "frequencies", f, ATTIC_REAL)) return false;
    AT_REQUIRE(t, at_same_shape(f->shape, at_shape_of(R / 2)),
               "rope: frequencies is %s, but %d rotated features are [%d] pairs", at_text(f), R,
               R / 2);
    AT_REQUIRE(t, !f->wants_grad,
               "rope: frequencies %s wants a gradient, but is a constant here (see at_detach)",
               at_text(f));
    AT_REQUIRE(t, args->base == 0 && args->scaling.type == ATTIC_ROPE_DEFAULT,
               "rope: frequencies are given, which take the place of base and scaling");
    return true;
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
    if (!rope_check_positions(t, x, &args) || !rope_check_frequencies(t, &args, R)) return NULL;

    const bool batched = args.positions && args.positions->shape.ndim == 2;
    rope_args a = {.T = at_count(x->shape) ? x->shape.dim[x->shape.ndim - 2]
                                           : 0, /* no rows, no table */
                   .D = D,
                   .R = R,
                   .heads = heads,
                   .base = args.base > 0 ? args.base : 10000,
                   .offset = args.offset,
                   .half_split = args.half_split,
                   .given = args.positions || args.frequencies,
                   .scaling = args.scaling};
    a.rows = batched ? (ptrdiff_t)x->shape.dim[0] * a.T : a.T;
    a.batch = batched && a.T ? at_rows(x->shape) / x->shape.dim[0] : 0;
    at_tensor *table = rope_table_for(t, &a, args.positions, args.frequencies);
    if (!table) return NULL;
    return at_record_rows(t, &rope_op, &rope_rows, AT_IN(x, table), x->shape, &a, sizeof a);
}

#endif
