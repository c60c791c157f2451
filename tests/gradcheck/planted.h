/* planted.h -- functions in float whose backward makes the mistake that it is told to, with a label of what it is. */
#ifndef ATTIC_PLANTED_H
#define ATTIC_PLANTED_H
#include "gradcheck/gradcheck.h"

typedef struct {
    bool rich;   /* softcap, bias, a scale for each head, dropout */
    bool causal; /* or, of a loss, a mean */
    int H, G, T, N, D, Dv;
} attention_sizes;

typedef struct {
    int mistake; /* 0: none */
    attention_sizes sizes;
} planted;

typedef struct {
    const char *name;
    at_forward_fn_f32 *forward;
    at_vjp_fn_f32 *back;
    at_forward_fn *forward_f64; /* the same in double */
    at_vjp_fn *back_f64;
    attention_sizes sizes;
    at_gradcheck_part part[6];
    at_gradcheck_size size[10];
    ptrdiff_t m;
} planted_op;

typedef struct {
    const char *op;
    int mistake;
    const char *what;
    const char *wrong; /* names of the inputs that are */
    const char *words; /* that name it; "": its inputs are all that is to be said */
} planted_label;

extern const planted_op planted_ops[];
extern const int planted_op_count;
extern const planted_label planted_labels[];
extern const int planted_count;

ptrdiff_t at_planted_elements(const planted_op *op);
const planted_op *at_planted_op(const char *name);
/* An x where it is smooth. */
void at_draw_planted(const planted_op *op, uint64_t seed, float *x);

#endif
