/* attic.h -- ATTention In C, the engine: tensors, a tape, gradients, attention, layers, optimizers.
 *
 * In reading order: tensor.h and shape.h (what a tensor is), tape.h (what remembers, owns and
 * reports), ops.h (what can be computed), attention.h (attention), gradcheck.h (is a gradient
 * right?), then layers and optimizers.
 *
 * Three more faces stand beside this one, and each includes it: attic_train.h (models, data,
 * tokenizers, runs, files of tensors), attic_plot.h (pictures) and attic_op.h (to write ops and to
 * look inside).  What none of them includes is private to the library. */
#ifndef ATTIC_H
#define ATTIC_H
#ifdef __FAST_MATH__
#error "attic needs infinities and NaNs: do not compile with -ffast-math or -Ofast"
#endif

#include "version.h"

#include "kernels/arithmetic.h"
#include "kernels/random.h"
#include "system/thread_count.h"

#include "tensor/compare.h"
#include "tensor/init.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

#include "autograd/file.h"
#include "autograd/profile.h"
#include "autograd/tangent.h"
#include "autograd/tape.h"

#include "gradcheck/gradcheck.h"

#include "ops/ops.h"

#include "attention/attention.h"
#include "attention/masks.h"
#include "attention/position.h"
#include "attention/tangent.h"
#include "attention/variants.h"

#include "nn/attention_layer.h"
#include "nn/block.h"
#include "nn/blocks.h"
#include "nn/cache.h"
#include "nn/ffn.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/norm.h"
#include "nn/optim.h"
#include "nn/schedule.h"
#include "nn/statistics.h"

/* A function of the library that is not declared by now has another door:
 *
 *     attic_train.h   at_model_*  at_linear_lora  at_linear_merge
 *                     at_data_*  at_encode  at_decode  at_vocab  at_token_bytes  at_tokenizer_*
 *                     at_run_*  at_progress_*  at_terminal_of  at_draws_set
 *                     at_save  at_load  at_tensors_*  at_npy_*
 *                     at_param_state*  at_state_*  at_find_state  at_describe*  at_store_params
 *                     at_generate  at_sample  at_sample_row  at_writer_*
 *     attic_plot.h    at_svg_*  at_term_heatmap  at_term_chart  at_subplot_of*  at_keep_print*
 *                     at_graph_dot  at_terminal_of
 *     attic_op.h      at_record*  at_fail  at_first_node  at_label  at_count_flops
 *                     at_is_profiled
 *                     at_check_alive  at_check_any  at_check_input  at_check_number
 *                     at_check_stored
 *                     at_grad  at_grad_in_place  at_grad_overwrite  at_grad_pass
 *                     at_map  at_map_back  at_for  at_parallel  at_parts  at_wake_ups
 *                     at_scratch  at_step_alloc  at_permanent_alloc  at_tensor_new
 *                     at_broadcast*  at_along_axis  at_axis_of  at_index_of  at_shape_valid
 *                     at_bytes  at_dtype_size  at_fetch  at_store  at_can_hold
 *                     at_random_u32*  at_philox*  at_print_values  at_shown  at_clash_text
 *                     at_text_buffer
 *                     at_param_state*  at_state_*  at_find_state  at_describe*  at_store_params
 *                     at_draws_set    (autograd/persist.h, as attic_train.h)
 *     attic_mpi.h     at_mpi_begin  at_mpi_end    (make mpi)
 *
 * Many a C compiler only warns of a function that is not declared, and takes it to return an int:
 * -Werror=implicit-function-declaration makes it an error. */

#endif
