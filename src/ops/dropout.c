/* dropout.c -- drop cells at random while training (Srivastava et al. 2014).
 *
 *   x, y  any shape;   0 <= p < 1
 *
 *   forward    y_i = z_i x_i         z_i = 0 with probability p, else 1 / (1 - p)
 *   backward   dx_i = z_i dy_i
 *
 * E[z_i] = p 0 + (1 - p) / (1 - p) = 1, so E[y] = x: what comes after need not know whether we
 * train or not (inverted dropout).  A dropped cell is 0 whatever it held, and sends back a gradient
 * of 0.
 *
 * z is not stored but a pure function of (seed, draw, i):
 *
 *     cell i is kept  iff  u_i >= p 2^32,       u_i = at_random_u32(stream, i), a whole number
 *
 *     0 ----- dropped ----- p 2^32 ------------------- kept ------------------- 2^32
 *
 * where i is the cell's position in memory order and stream = (seed, draw) is drawn from the tape
 * when the op is recorded.  So backward and replay drop what forward dropped, f32 drops what f64
 * drops, and threads, tiles and order of work can't matter.
 *
 * Outside of train mode, and for p = 0, y is x under another name: the op is on the tape, with a
 * gradient of its own that is passed on as it is, but it shares the data of x and draws nothing.
 * Hence evaluating now and then does not change which cells a training run drops.
 */
#include "ops/op.h"

#include "kernels/real.h"
#include "ops/map_op.h"

typedef struct {
    at_stream stream;
    uint32_t last_dropped; /* the largest u that is dropped: ceil(p 2^32) - 1 */
    double kept;           /* 1 / (1 - p) */
} dropout_args;

AT_FORMULA(dropout_y);
AT_FORMULA(dropout_dx);

/* y = z x, or with dy in the place of x, dx = z dy */
static void dropout_times(const at_chunk *k, const REAL *x, REAL *y)
{
    const dropout_args *args = k->args;
    const uint32_t last_dropped = args->last_dropped;
    const REAL kept = (REAL)args->kept;
    uint32_t u[AT_CHUNK] __attribute__((aligned(64)));

    at_random_u32s(args->stream, (uint64_t)k->at, k->n, u);
    for (int i = 0; i < k->n; i++) y[i] = u[i] <= last_dropped ? 0 : kept * x[i];
}

void AT_REAL(dropout_y)(const at_chunk *k, void *y)
{
    dropout_times(k, k->in[0], y);
}

void AT_REAL(dropout_dx)(const at_chunk *k, void *dx)
{
    dropout_times(k, k->dy, dx);
}

#ifdef AT_ONCE /* ---------------------------- the op ---------------------------- */

static const at_map_op dropout_op = {
    AT_MAP_OP("dropout"), AT_KERNELS(dropout_y), {AT_KERNELS(dropout_dx)}};

static const at_op dropout_off_op = {.name = "dropout", .backward = AT_EVERY_REAL(at_pass_back)};

at_tensor *at_dropout(at_tape *t, at_tensor *x, double p)
{
    AT_INPUT(t, "dropout", x, ATTIC_REAL);
    AT_REQUIRE(t, p >= 0 && p < 1, "dropout: p is %g but must be at least 0 and less than 1", p);

    if (p == 0 || !at_is_training(t)) {
        at_recipe same = {.shape = {x->shape}, .shares = true};
        return at_output(at_record_node(t, &dropout_off_op, AT_IN(x), same));
    }
    dropout_args args = {at_draw(t), (uint32_t)(ceil(p * 0x1p32) - 1), 1 / (1 - p)};
    return at_record(t, &dropout_op.op, AT_IN(x), x->shape, &args, sizeof args);
}

#endif
