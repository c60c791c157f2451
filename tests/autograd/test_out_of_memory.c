/* test_out_of_memory.c -- every allocation of every op fails once, and nothing bad comes of it.
 *
 * The n-th request for memory fails, for n = 1, 2, 3 ... until a run gets through.  Each failed run
 * must leave a clear error of the right kind and give all its memory back (AddressSanitizer and
 * valgrind watch this test); the run that gets through must be sound. */
#include <string.h>

#include "attic.h"
#include "gradcheck/cases.h"
#include "test.h"

/* Forward and backward of one case, from opening the tape to closing it.  True if it got through. */
static bool run_case(const at_case *c)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *in[AT_MAX_CASE_INPUTS] = {NULL};
    at_case_inputs(t, c, in);
    at_tensor *y = at_ok(t) ? c->f(t, in, c->ctx) : NULL;
    if (y && y->wants_grad) {
        at_tensor *dy = at_random(t, y->shape, at_normal(1));
        at_backward_from(t, y, dy);
    }
    bool through = at_ok(t);
    if (!through) {
        ck_assert_msg(at_error_kind(t) == ATTIC_MEMORY_ERROR, "%s, %s: %s", c->op, at_case_text(c),
                      at_error(t));
        ck_assert_msg(strstr(at_error(t), "out of memory") == at_error(t), "%s", at_error(t));
    }
    at_close(t);
    return through;
}

START_TEST(every_allocation_of_every_op_may_fail)
{
    const at_case *c;
    ptrdiff_t failures = 0;
    for (int i = 0; (c = at_case_at(i)); i++) {
        ptrdiff_t n = 0;
        bool through;
        do {
            at_fail_allocation(++n);
            through = run_case(c);
            ck_assert_msg(n < 10000, "%s, %s does not get through", c->op, at_case_text(c));
        } while (!through);
        at_fail_allocation(0);
        failures += n - 1;
    }
    ck_assert_int_gt(failures, 0);
}
END_TEST

/* Two steps of a transformer on made-up text, AdamW and all. */
static bool run_training(double *loss)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_transformer *m = at_transformer_make(
        t, (at_transformer_config){
               .vocab = 5, .context = 4, .layers = 1, .heads = 2, .dim = 4, .dropout = 0.1});
    at_mark step = at_mark_here(t);
    for (int i = 0; i < 2; i++) {
        at_tensor *ids = at_ints(t, at_shape_of(2, 4), (int32_t[]){0, 1, 2, 3, 4, 3, 2, 1});
        at_tensor *target = at_ints(t, at_shape_of(2, 4), (int32_t[]){1, 2, 3, 4, 3, 2, 1, 0});
        at_tensor *logits = m ? at_transformer_logits(t, m, ids, NULL) : NULL;
        at_tensor *mean = at_cross_entropy(t, logits, target, (at_cross_entropy_args){0});
        at_backward(t, mean);
        at_clip_grad_norm(t, 1);
        at_adamw(t, (at_adamw_args){.lr = 0.01});
        if (at_ok(t)) *loss = at_item(mean);
        at_rewind(t, step);
    }
    bool through = at_ok(t);
    if (!through)
        ck_assert_msg(at_error_kind(t) == ATTIC_MEMORY_ERROR, "not for lack of memory: %s",
                      at_error(t));
    at_close(t);
    return through;
}

START_TEST(every_allocation_of_a_training_step_may_fail)
{
    double undisturbed, loss = 0;
    ck_assert(run_training(&undisturbed));
    ptrdiff_t n = 0;
    do {
        at_fail_allocation(++n);
    } while (!run_training(&loss) && n < 100000);
    at_fail_allocation(0);
    ck_assert_int_gt(n, 100);
    ck_assert(loss == undisturbed);
}
END_TEST

SUITE(autograd_out_of_memory, every_allocation_of_every_op_may_fail,
      every_allocation_of_a_training_step_may_fail)
