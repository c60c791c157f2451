/* test_out_of_memory.c -- every allocation of a whole training step fails once, and nothing bad comes
 * of it (of every op by itself: ops_ops).
 *
 * The n-th request for memory fails, for n = 1, 2, 3 ... until a run gets through.  Each failed run
 * must leave an error of the right kind and give all its memory back (AddressSanitizer and valgrind
 * watch this test); the run that gets through must end where an undisturbed one does. */
#include "attic_op.h"
#include "attic_train.h"
#include "tensor/arena.h"
#include "test.h"

/* Two steps of a model on made-up text, AdamW and averages and all; an untied one learns by
 * adapters. */
static bool run_training(at_model_config config, double *loss)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    config.vocab = 5, config.context = 4, config.layers = 1, config.heads = 2, config.dim = 4;
    at_model *m = at_model_make(t, config);
    if (config.untied) at_model_lora(t, m, (at_lora_args){.rank = 2, .only = "*.v.W,*.o.W"});
    if (config.untied) at_unfreeze(t, (at_names){.only = "*.g"});
    at_mark step = at_mark_here(t);
    for (int i = 0; i < 2; i++) {
        at_tensor *ids = at_ints(t, at_shape_of(2, 4), (int32_t[]){0, 1, 2, 3, 4, 3, 2, 1});
        at_tensor *target = at_ints(t, at_shape_of(2, 4), (int32_t[]){1, 2, 3, 4, 3, 2, 1, 0});
        at_tensor *logits = m ? at_model_logits(t, m, ids, (at_model_args){0}) : NULL;
        at_tensor *mean = at_cross_entropy(t, logits, target, (at_cross_entropy_args){0});
        at_backward(t, mean);
        at_clip_grad_norm(t, 1);
        at_adamw(t, 0.01, (at_adamw_args){0});
        at_ema(t, 0.9, (at_names){0});
        if (at_ok(t)) *loss = at_item(mean);
        at_rewind(t, step);
    }
    at_ema_swap(t);
    if (m && config.untied) at_model_lora_merge(t, m);
    bool through = at_ok(t);
    if (!through)
        ck_assert_msg(at_error_kind_of(t) == ATTIC_MEMORY_ERROR, "not for lack of memory: %s",
                      at_error(t));
    at_close(t);
    return through;
}

START_TEST(every_allocation_of_a_training_step_may_fail)
{
    const at_model_config config[] = {{.dropout = 0.1},
                                      {.norm = ATTIC_RMS,
                                       .act = ATTIC_SWIGLU,
                                       .bias = ATTIC_BIAS_ALL,
                                       .qk_norm = true,
                                       .gate = true,
                                       .untied = true}};
    for (int i = 0; i < 2; i++) {
        double undisturbed, loss = 0;
        ck_assert(run_training(config[i], &undisturbed));
        ptrdiff_t n = 0;
        do {
            at_fail_allocation(++n);
        } while (!run_training(config[i], &loss) && n < 100000);
        at_fail_allocation(0);
        ck_assert_int_gt(n, 100);
        ck_assert(loss == undisturbed);
    }
}
END_TEST

SUITE(nn_out_of_memory, every_allocation_of_a_training_step_may_fail)
