/* inference.h -- what evaluation and generation change on a tape, and give back.  Private to
 * src/train. */
#ifndef AT_TRAIN_INFERENCE_H
#define AT_TRAIN_INFERENCE_H
#include "autograd/op.h"

typedef struct {
    at_mark here;
    bool training, no_grad;
    uint64_t draws;
} at_inference;

static inline at_inference at_inference_begin(at_tape *t)
{
    return (at_inference){at_mark_here(t), at_train(t, false), at_no_grad(t, true),
                          *at_draw_count(t)};
}

static inline void at_inference_end(at_tape *t, at_inference before)
{
    at_rewind(t, before.here);
    at_train(t, before.training);
    at_no_grad(t, before.no_grad);
    *at_draw_count(t) = before.draws;
}

#endif
