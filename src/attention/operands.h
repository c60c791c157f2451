/* operands.h -- the tensors of one call of at_sdpa, as the plain and the fused path read them. */
#ifndef AT_ATTENTION_OPERANDS_H
#define AT_ATTENTION_OPERANDS_H
#include "attention/plan.h"
#include "kernels/real.h"
#include "kernels/rows.h"

/* What the node n holds, with its types; a pointer to one is named `call`.  NULL: not given, not
 * asked for, or no upstream gradient has arrived. */
typedef struct sdpa_operands {
    at_node *node;
    const at_sdpa_plan *p;                 /* the node's args */
    REAL *Q, *K, *V, *bias, *scale, *sink; /* inputs; scale: head_scale */
    REAL *O, *weights, *raw, *probs, *lse; /* outputs; raw: the scores */
    REAL *dQ, *dK, *dV, *dbias;            /* gradients of inputs, to be added to */
    REAL *ds;                              /* each row's share of the gradient of scale */
    REAL *dO, *dW, *dY, *dlse;             /* upstream gradients of O, weights, probs and lse */
    const unsigned char *keep;             /* an input */
    const int32_t *key_len, *segments, *key_segments; /* inputs */
    REAL *saved;                                      /* m, 1/l and delta of each row; then ds */
    const struct sdpa_operands *dot;                  /* the tangents of all this: see tangent.c */
} sdpa_operands;

#define sdpa_operands_of(...) AT_REAL(sdpa_operands_of)(__VA_ARGS__)
#define sdpa_operands_back(...) AT_REAL(sdpa_operands_back)(__VA_ARGS__)
/* All but the gradients of the inputs. */
sdpa_operands sdpa_operands_of(at_node *n);
/* Adds the gradients of the inputs, and ds, set to 0. */
void sdpa_operands_back(at_node *n, sdpa_operands *call);

/* c s_h: what the scores of head h are multiplied with. */
static inline REAL sdpa_factor(const sdpa_operands *call, int h)
{
    const REAL c = (REAL)call->p->c;
    return call->scale ? c * call->scale[h * call->p->next_head] : c;
}

/* The sink of head h; -inf: none. */
static inline REAL sdpa_sink(const sdpa_operands *call, int h)
{
    return call->sink ? call->sink[h * call->p->next_sink] : -(REAL)INFINITY;
}

/* p_i = exp(sink - lse_i), the weight that a sink takes of each of n rows: all of one that keeps
 * nothing. */
static inline void sdpa_sink_weights(REAL sink, int n, const REAL *saved, REAL *p)
{
    for (int i = 0; i < n; i++) p[i] = sink - saved[AT_SDPA_SAVED * i];
    vexp(n, p, p);
    for (int i = 0; i < n; i++) {
        const REAL over = saved[AT_SDPA_SAVED * i + 1];
        p[i] = VALUE(over) == 0 ? 1 : p[i] * over;
    }
}

/* ------------------------------------------------------------------ the check of a backward ---- */

/* The two sides of an identity, and how much they may differ by. */
typedef struct {
    double left, right, tolerance;
} at_sdpa_sides;

/* Of one key/value head: <Q,dQ> and <K,dK>, <V,dV> and <O,dO>, sum_j dK_j and what it should be. */
typedef struct {
    at_sdpa_sides Q, V, K;
} at_sdpa_verdict;

/* Runs `backward` and makes sure that the identities hold for what it added to the gradients; the
 * first head in which one does not is a sticky error. */
AT_EACH_REAL(void, sdpa_checked, (at_node * n, void (*backward)(at_node *)));
void at_sdpa_judge(const at_node *n, int b, int g, at_sdpa_verdict head);

/* ------------------------------------------------------------------ memory and paths ----------- */

/* In n->saved: where each array begins, in bytes.  First are m, 1/l, delta and, with a learned
 * scale, ds of each row. */
typedef struct {
    size_t copy[AT_SDPA_INPUTS]; /* of the gradient of each input that needs one: at_sdpa_copy */
    size_t heads;                /* a verdict for each key/value head, if there is a check */
    size_t documents;            /* if there are segments, in the fused path: documents.h */
    size_t total;
} at_sdpa_space;
at_sdpa_space at_sdpa_space_of(const at_sdpa_plan *p, at_tensor *const *in);
/* Where the gradient of in[i] is collected apart, if in[i] has another role as well; else, where a
 * check keeps what the gradient held before. */
void *at_sdpa_copy(const at_node *n, int i);
/* Where a path adds up the gradient of in[i]: at_grad(n, i), or at_sdpa_copy(n, i), set to 0.
 * NULL: not wanted. */
void *at_sdpa_grad(at_node *n, int i);
AT_BOTH(sdpa_plain);
AT_BOTH(sdpa_fused);
AT_BOTH(tangent_tiles);
/* Records an op with these inputs and what else the plan says, and hands out the outputs asked for.
 * Odot: NULL without tangents. */
at_tensor *at_sdpa_record(at_tape *t, const at_op *op, at_inputs in, const at_sdpa_args *a,
                          at_sdpa_plan *p, at_tensor **Odot);
/* For a profile: a row takes `products` multiply-adds for each key that it may attend to. */
void at_sdpa_count(const at_node *n, double products);
/* At the end of backward: gradients collected apart are added to the gradients of their tensors;
 * those of a learned scale and of a sink are added up from what is saved of each row. */
AT_KERNEL(sdpa_add_up);

#endif
