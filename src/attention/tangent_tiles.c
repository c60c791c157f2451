/* tangent_tiles.c -- attention and its tangent in tiles: the equations of tangent.c, the tiles of
 * fused.c.
 *
 * Beside what a tile of at_sdpa has (fused_tile.h), a tile has in x->dot
 *
 *     s        cells: Sdot, in forward e (Sdot - ref), in backward w, then Adot
 *     d        cells: dAdot, dSdot, dXdot
 *     bend     cells: the tangent of slope, with softcap
 *     Qt, dOt  Qdot^T, dOdot^T
 *     r        of each row sum_j e (Sdot - ref), in backward mu; and ref, deltadot
 *
 * FORWARD.  As O and l, E and r are corrected when a larger maximum turns up.  Then ref moves too,
 * to Sdot of the new one: all that has been summed of e (Sdot - ref) was short of
 * d = ref_old - ref_new, and with a = exp(m_old - m_new)
 *
 *     r' = a (r + d l) + sum_j e (Sdot - ref)
 *     E' = a (E + d O) + sum_j e z ((Sdot - ref) V_j + Vdot_j)        O, l: those before this tile
 *
 * BACKWARD goes through the tiles in the order of at_sdpa's. */
#include "attention/fused_tile.h"

#include "kernels/real.h"

/* ------------------------------------------------------------------ operands ------------------- */

/* call has the tangents beside the values, and the gradients crosswise. */
static void tiles_operands(at_node *n, sdpa_operands *call, sdpa_operands *dot)
{
    const at_sdpa_plan *p = n->args;
    at_tensor **in = n->in, **out = n->out;
    *call = sdpa_operands_of(n);
    *dot = (sdpa_operands){.node = n, .p = p, .O = out[1]->data, .dO = call->dO, .dW = call->dW};
    if (in[AT_SDPA_Q_DOT]) dot->Q = in[AT_SDPA_Q_DOT]->data;
    if (in[AT_SDPA_K_DOT]) dot->K = in[AT_SDPA_K_DOT]->data;
    if (in[AT_SDPA_V_DOT]) dot->V = in[AT_SDPA_V_DOT]->data;
    if (in[AT_SDPA_BIAS_DOT]) dot->bias = in[AT_SDPA_BIAS_DOT]->data;
    if (in[AT_SDPA_SINK_DOT]) dot->sink = in[AT_SDPA_SINK_DOT]->data;
    if (p->weights) dot->weights = out[p->weights + 1]->data;
    if (p->lse) dot->lse = out[p->lse + 1]->data, dot->dlse = call->dlse;
    dot->saved =
        at_sdpa_after(call->saved, AT_SDPA_SAVED * (size_t)at_count(p->rows) * sizeof(REAL));
    call->dO = out[1]->grad;
    call->dW = p->weights ? out[p->weights + 1]->grad : NULL;
    call->dlse = p->lse ? out[p->lse + 1]->grad : NULL;
    call->dot = dot;
}

static void tiles_gradients(at_node *n, sdpa_operands *call, sdpa_operands *dot)
{
    dot->dQ = at_sdpa_grad(n, AT_SDPA_Q), call->dQ = at_sdpa_grad(n, AT_SDPA_Q_DOT);
    dot->dK = at_sdpa_grad(n, AT_SDPA_K), call->dK = at_sdpa_grad(n, AT_SDPA_K_DOT);
    dot->dV = at_sdpa_grad(n, AT_SDPA_V), call->dV = at_sdpa_grad(n, AT_SDPA_V_DOT);
    dot->dbias = at_grad(n, AT_SDPA_BIAS), call->dbias = at_grad(n, AT_SDPA_BIAS_DOT);
}

/* ------------------------------------------------------------------ scores --------------------- */

/* s = S, dot.s = Sdot; slope and bend.  Masked cells are computed like any other. */
static void tiles_scores(sdpa_tile *x)
{
    const sdpa_operands *call = x->call, *dot = call->dot;
    const REAL cap = (REAL)x->call->p->cap, *slope = x->slope;
    const ptrdiff_t n = x->keys * x->ld;
    REAL *restrict Sdot = x->dot.s, *restrict bend = x->dot.bend;
    sdpa_capped(x);
    sdpa_cell_products(x, false, x->c, call->K, dot->Q ? x->dot.Qt : NULL, 0, Sdot);
    sdpa_cell_products(x, false, x->c, dot->K, x->Qt, 1, Sdot);
    for (ptrdiff_t i = 0; bend && i < n; i++) {
        Sdot[i] *= slope[i];
        bend[i] = OVER(-2 * OVER(x->s[i], cap) * Sdot[i], cap);
    }
    sdpa_add_bias(x, call->bias, x->s);
    sdpa_add_bias(x, dot->bias, Sdot);
}

static REAL *tiles_saved(const sdpa_tile *x)
{
    return x->call->dot->saved + AT_SDPA_SAVED * at_sdpa_row_number(x->call->p, x->b, x->h, x->i0);
}

/* Q^T, Qdot^T, and what is saved of the rows. */
static void tiles_transpose(sdpa_tile *x)
{
    sdpa_transpose(x, false, x->call->Q, x->Qt);
    sdpa_transpose(x, false, x->call->dot->Q, x->dot.Qt);
}

static void tiles_load(sdpa_tile *x)
{
    const REAL *saved = tiles_saved(x);
    sdpa_load_statistics(x);
    for (int r = 0; r < x->ld; r++, saved += AT_SDPA_SAVED) {
        x->dot.r[r] = r < x->rows ? saved[0] : 0;
        x->dot.ref[r] = r < x->rows ? saved[1] : 0;
        x->dot.delta[r] = r < x->rows ? saved[2] : 0;
    }
}

/* s = P, dot.s = w, exactly 0 where masked; slope and bend */
static void tiles_weights(sdpa_tile *x)
{
    const REAL *mu = x->dot.r, *ref = x->dot.ref;
    tiles_scores(x);
    sdpa_probs(x);
    for (int k = 0; k < x->keys; k++) {
        REAL *restrict w = x->dot.s + k * x->ld;
        for (int r = 0; r < x->ld; r++) w[r] = w[r] - ref[r] - mu[r];
    }
    sdpa_mask_out(x, 0, x->dot.s);
}

/* ------------------------------------------------------------------ forward -------------------- */

/* m and ref move to the largest cell of each row, if that is larger: shrink = m_old - m, shift =
 * ref_old - ref.  base = m; while all that a row has kept is infinitely unlikely, 0 stands in. */
static void tiles_top(const sdpa_tile *x, REAL *restrict base, REAL *restrict shrink,
                      REAL *restrict shift)
{
    REAL *restrict m = x->m, *restrict ref = x->dot.ref;
    memcpy(shrink, m, (size_t)x->ld * sizeof *m);
    memcpy(shift, ref, (size_t)x->ld * sizeof *ref);
    for (int k = 0; k < x->keys; k++) {
        const REAL *restrict S = x->s + k * x->ld, *restrict Sdot = x->dot.s + k * x->ld;
        for (int r = 0; r < x->ld; r++) {
            const bool larger = VALUE(S[r]) > VALUE(m[r]);
            m[r] = larger ? S[r] : m[r];
            ref[r] = larger ? Sdot[r] : ref[r];
        }
    }
    for (int r = 0; r < x->ld; r++) {
        base[r] = VALUE(m[r]) == MINUS_INFINITY ? 0 : m[r];
        shrink[r] -= base[r];
        shift[r] -= ref[r];
    }
}

/* s = e, dot.s = e (Sdot - ref); l and r of the rows; shrink = exp(m_old - m) */
static void tiles_online(const sdpa_tile *x, REAL *shrink, REAL *shift)
{
    REAL base[AT_SDPA_ROWS];
    const ptrdiff_t ld = x->ld;
    tiles_top(x, base, shrink, shift);
    for (ptrdiff_t r = 0; r < ld; r += VEC_LANES) {
        const at_sdpa_range range = sdpa_key_range(x, r);
        const vec m = vec_load(base + r), ref = vec_load(x->dot.ref + r);
        const vec a = vec_exp_weight(vec_load(shrink + r));
        const vec d = vec_load(shift + r), l_old = vec_load(x->l + r);
        vec l = {0}, sum = {0};
        REAL *s = x->s + range.lo * ld + r, *Sdot = x->dot.s + range.lo * ld + r;
        for (int k = range.lo; k < range.hi; k++, s += ld, Sdot += ld) {
            const vec e = vec_exp_weight(vec_load(s) - m), part = e * (vec_load(Sdot) - ref);
            vec_store(s, e);
            vec_store(Sdot, part);
            l += e;
            sum += part;
        }
        sdpa_fill(x, r, 0, x->s);
        vec_store(shrink + r, a);
        vec_store(x->l + r, vec_mul_add(l_old, a, l));
        const vec moved = vec_mul_add(d, l_old, vec_load(x->dot.r + r));
        vec_store(x->dot.r + r, vec_mul_add(moved, a, sum));
    }
}

/* O_i *= a, E_i = a (E_i + d O_i), where the maximum of row i has moved */
static void tiles_correct(const sdpa_tile *x, const REAL *shrink, const REAL *shift)
{
    for (int r = 0; r < x->rows; r++) {
        const REAL a = shrink[r], d = shift[r];
        REAL *restrict O = sdpa_o(x, r, x->call->O), *restrict E = sdpa_o(x, r, x->call->dot->O);
        if (VALUE(a) == 1 && VALUE(d) == 0) continue;
        for (int n = 0; n < x->call->p->Dv; n++) {
            E[n] = a * mul_add(d, O[n], E[n]);
            O[n] *= a;
        }
    }
}

/* The first tile of its rows writes O and E, the others add to them. */
static void tiles_forward(sdpa_tile *x, bool first)
{
    const sdpa_operands *call = x->call, *dot = call->dot;
    REAL shrink[AT_SDPA_ROWS], shift[AT_SDPA_ROWS];
    tiles_scores(x);
    sdpa_mask_out(x, -(REAL)INFINITY, x->s);
    sdpa_mask_out(x, 0, x->dot.s);
    tiles_online(x, shrink, shift);
    if (!first) tiles_correct(x, shrink, shift);
    sdpa_drops(x);
    sdpa_drop(x, x->s);
    sdpa_drop(x, x->dot.s);
    const sdpa_product products[] = {
        {true, false, x->s, call->V, call->O, first ? 0 : 1},    /* O += e z V */
        {true, false, x->dot.s, call->V, dot->O, first ? 0 : 1}, /* E += e z (Sdot - ref) V */
        {true, false, x->s, dot->V, dot->O, 1},                  /*      + e z Vdot */
    };
    for (int i = 0; i < 3; i++) sdpa_multiply(x, products[i]);
}

/* Odot_i = E_i / l_i - mu_i O_i, O being final; saves mu and ref; lsedot_i = ref_i + mu_i. */
static void tiles_end_rows(sdpa_tile *x)
{
    const at_sdpa_plan *p = x->call->p;
    const int Dv = p->Dv;
    REAL *saved = tiles_saved(x), *lsedot = x->call->dot->lse;
    if (lsedot) lsedot += at_sdpa_row_number(p, x->b, x->h, x->i0);
    for (int r = 0; r < x->rows; r++, saved += AT_SDPA_SAVED) {
        const REAL inverse = sdpa_saved(x, r)[1], mu = x->kept[r] ? x->dot.r[r] * inverse : 0;
        const REAL *O = sdpa_o(x, r, x->call->O);
        REAL *restrict Odot = sdpa_o(x, r, x->call->dot->O);
        for (int n = 0; n < Dv; n++)
            Odot[n] = x->kept[r] ? mul_add(-mu, O[n], Odot[n] * inverse) : 0;
        saved[0] = mu, saved[1] = x->dot.ref[r], saved[2] = 0;
        if (lsedot) lsedot[r] = mu + x->dot.ref[r];
    }
}

/* Writes A and Adot of the rows, m, l, mu and ref being final. */
static void tiles_show(sdpa_tile *x)
{
    REAL *weights = x->call->weights, *tangent = x->call->dot->weights;
    sdpa_clear_cells(x, weights);
    sdpa_clear_cells(x, tangent);
    tiles_transpose(x);
    tiles_load(x);
    for (int j0 = 0; j0 < x->call->p->N; j0 += AT_SDPA_KEYS) {
        if (!sdpa_select_keys(x, j0, j0 + AT_SDPA_KEYS)) continue;
        tiles_weights(x);
        sdpa_drops(x);
        sdpa_drop(x, x->s);
        for (int r = 0; r < x->rows; r++) {
            REAL *A = sdpa_cells(x, r, weights), *Adot = sdpa_cells(x, r, tangent);
            for (ptrdiff_t k = 0, cell = r; k < x->keys; k++, cell += x->ld)
                A[k] = x->s[cell], Adot[k] = x->s[cell] * x->dot.s[cell];
        }
    }
}

static void tiles_end(sdpa_tile *x)
{
    tiles_end_rows(x);
    if (x->call->weights) tiles_show(x);
}

void AT_REAL(tangent_tiles_forward)(at_node *n)
{
    sdpa_operands call, dot;
    tiles_operands(n, &call, &dot);
    const double products = 3.0 * call.p->D + 3.0 * call.p->Dv;
    at_sdpa_count(n, products);
    sdpa_forward_blocks(&call, &(sdpa_forward_steps){.rows = tiles_transpose,
                                                     .tile = tiles_forward,
                                                     .end = tiles_end,
                                                     .products = products});
}

/* ------------------------------------------------------------------ backward ------------------- */

/* dO^T and dOdot^T; delta and deltadot, which are saved. */
static void tiles_delta(sdpa_tile *x)
{
    const sdpa_operands *call = x->call, *dot = call->dot;
    REAL *delta = x->delta, *deltadot = x->dot.delta;
    memset(delta, 0, (size_t)x->ld * sizeof *delta);
    memset(deltadot, 0, (size_t)x->ld * sizeof *deltadot);
    if (dot->dO) {
        sdpa_transpose(x, true, dot->dO, x->dot.dOt);
        sdpa_delta_of_values(x, sdpa_o(x, 0, call->O), x->dot.dOt, deltadot);
    }
    if (call->dO) {
        sdpa_transpose(x, true, call->dO, x->dOt);
        sdpa_delta_of_values(x, sdpa_o(x, 0, call->O), x->dOt, delta);
        sdpa_delta_of_values(x, sdpa_o(x, 0, dot->O), x->dOt, deltadot);
    }
    sdpa_delta_of_weights(x, call->weights, call->dW, delta);
    sdpa_delta_of_weights(x, dot->weights, call->dW, deltadot);
    sdpa_delta_of_weights(x, call->weights, dot->dW, deltadot);
    sdpa_delta_of_lse(x, call->dlse, delta);
    sdpa_delta_of_lse(x, dot->dlse, deltadot);
    for (int r = 0; r < x->rows; r++) {
        sdpa_saved(x, r)[2] = delta[r];
        tiles_saved(x)[r * AT_SDPA_SAVED + 2] = deltadot[r];
    }
}

static void tiles_prepare(sdpa_tile *x, bool after_delta)
{
    tiles_transpose(x);
    if (!after_delta) sdpa_transpose(x, true, x->call->dO, x->dOt);
    if (!after_delta) sdpa_transpose(x, true, x->call->dot->dO, x->dot.dOt);
    tiles_load(x);
}

/* d = dA, dot.d = dAdot */
static void tiles_values(const sdpa_tile *x)
{
    const sdpa_operands *call = x->call, *dot = call->dot;
    const REAL *dOt = call->dO ? x->dOt : NULL, *dOdott = dot->dO ? x->dot.dOt : NULL;
    sdpa_cell_products(x, true, 1, call->V, dOt, 0, x->d);
    sdpa_cell_products(x, true, 1, call->V, dOdott, 0, x->dot.d);
    sdpa_cell_products(x, true, 1, dot->V, dOt, 1, x->dot.d);
    sdpa_add_upstream(x, call->dW, x->d);
    sdpa_add_upstream(x, dot->dW, x->dot.d);
}

/* From s = P, dot.s = w, d = dA, dot.d = dAdot:  s = A, dot.s = Adot, d = dS, dot.d = dSdot */
static void tiles_softmax(const sdpa_tile *x)
{
    const REAL *restrict delta = x->delta, *restrict deltadot = x->dot.delta;
    sdpa_drops(x);
    sdpa_drop(x, x->d);
    sdpa_drop(x, x->dot.d);
    for (int k = 0; k < x->keys; k++) {
        const ptrdiff_t at = k * x->ld;
        REAL *restrict P = x->s + at, *restrict w = x->dot.s + at;
        REAL *restrict d = x->d + at, *restrict ddot = x->dot.d + at;
        for (int r = 0; r < x->ld; r++) {
            const REAL t = d[r] - delta[r], tdot = ddot[r] - deltadot[r];
            d[r] = P[r] * t;
            ddot[r] = P[r] * mul_add(w[r], t, tdot);
            w[r] *= P[r];
        }
    }
    sdpa_drop(x, x->s);
    sdpa_drop(x, x->dot.s);
    sdpa_mask_out(x, 0, x->d);
    sdpa_mask_out(x, 0, x->dot.d);
}

/* d = dX, dot.d = dXdot */
static void tiles_softcap(const sdpa_tile *x)
{
    const ptrdiff_t n = x->keys * x->ld;
    REAL *restrict d = x->d, *restrict ddot = x->dot.d;
    sdpa_mask_out(x, 0, x->slope);
    sdpa_mask_out(x, 0, x->dot.bend);
    for (ptrdiff_t i = 0; i < n; i++) {
        ddot[i] = mul_add(ddot[i], x->slope[i], d[i] * x->dot.bend[i]);
        d[i] *= x->slope[i];
    }
}

static void tiles_backward(sdpa_tile *x)
{
    const sdpa_operands *call = x->call, *dot = call->dot;
    const REAL *A = x->s, *Adot = x->dot.s, *dX = x->d, *dXdot = x->dot.d;
    tiles_weights(x);
    tiles_values(x);
    tiles_softmax(x);
    sdpa_add_to_bias(x, call->dbias, x->d);
    sdpa_add_to_bias(x, dot->dbias, x->dot.d);
    if (x->slope) tiles_softcap(x);
    const sdpa_product products[] = {
        {true, true, A, call->dO, call->dV, 1},     /* dV += A^T dO */
        {true, true, Adot, call->dO, dot->dV, 1},   /* dVdot += Adot^T dO */
        {true, true, A, dot->dO, dot->dV, 1},       /*          + A^T dOdot */
        {false, true, dX, call->Q, call->dK, 1},    /* dK += c dX^T Q */
        {false, true, dXdot, call->Q, dot->dK, 1},  /* dKdot += c dXdot^T Q */
        {false, true, dX, dot->Q, dot->dK, 1},      /*          + c dX^T Qdot */
        {false, false, dX, call->K, call->dQ, 1},   /* dQ += c dX K */
        {false, false, dXdot, call->K, dot->dQ, 1}, /* dQdot += c dXdot K */
        {false, false, dX, dot->K, dot->dQ, 1},     /*          + c dX Kdot */
    };
    for (int i = 0; i < 9; i++) sdpa_multiply(x, products[i]);
}

void AT_REAL(tangent_tiles_backward)(at_node *n)
{
    sdpa_operands call, dot;
    tiles_operands(n, &call, &dot);
    const double products = 9.0 * call.p->D + 6.0 * call.p->Dv;
    at_sdpa_count(n, products);
    tiles_gradients(n, &call, &dot);
    sdpa_sweep_tiles(&call, &(sdpa_sweep){.delta = tiles_delta,
                                          .rows = tiles_prepare,
                                          .tile = tiles_backward,
                                          .products = products});
    AT_REAL(sdpa_add_up)(n);
}
