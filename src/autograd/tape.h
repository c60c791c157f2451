/* tape.h -- a tape remembers what was computed, owns what was made, and reports the first error.
 *
 * Ownership.  Everything a tape hands out (tensors, nodes, texts) belongs to it.  Parameters live
 * until at_close; all else until a rewind to a mark from before it was made.  at_close is the only
 * free in a program.
 *
 * Errors are sticky, and the first one wins.  A function that fails returns NULL (false, NAN), the
 * tape keeps the message, and from then on every call on that tape returns NULL at once.  So a
 * chain of calls needs one check at its end.  A NULL tape counts as "out of memory".  Nothing
 * exits or aborts.  Nothing is printed but to a FILE * that the caller gives, with two exceptions,
 * on stderr: the messages of a run (train/run.h) and the tables that ATTIC_PROFILE asks for
 * (profile.h).
 *
 * A tape is used by one thread at a time; different tapes are independent. */
#ifndef AT_AUTOGRAD_TAPE_H
#define AT_AUTOGRAD_TAPE_H
#include <stdio.h>

#include "tensor/init.h"
AT_BEGIN_C

/* ------------------------------------------------------------------ open, close, errors -------- */

/* A new tape whose real tensors all have type `real`: ATTIC_F32 to train, ATTIC_F64 to check, or
 * ATTIC_DUAL for derivatives along a direction (tangent.h).  Everything random on it follows from
 * seed.  NULL when out of memory or `real` is none of these.
 *
 * On a processor that lacks what this library was built for (see ARCH in the Makefile), the tape
 * has an error from the beginning that says so.  Programs for other machines check at_ok here.  So
 * has one of a type whose kernels a macro left out when the library was compiled:
 * ATTIC_WITHOUT_DUAL those for dual numbers, ATTIC_ONLY_F32 those for f64, too. */
AT_API at_tape *at_open(at_dtype real, uint64_t seed);
AT_API void at_close(at_tape *t); /* frees all it owns; t may be NULL */
/* at_close calls free_it(p) before it frees the tape's own memory, on a failed tape, too; the last
 * one asked for comes first.  For what is not memory of the tape: a mapped file, a handle of
 * another library.  Works on a failed tape.  When out of memory (or t is NULL), free_it(p) is
 * called at once, and the result is false, after a sticky error; and an error is free_it = NULL. */
AT_API bool at_on_close(at_tape *t, void (*free_it)(void *p), void *p);

typedef enum { ATTIC_OK, ATTIC_USER_ERROR, ATTIC_MEMORY_ERROR, ATTIC_FILE_ERROR } at_error_kind;

AT_API bool at_ok(const at_tape *t);
/* The first error, or "": at most 511 bytes, UTF-8 that can be seen.  Of what came from outside,
 * such as a name in a file or a path, control characters appear as escapes (\n, \x1B, \u202E). */
AT_API const char *at_error(const at_tape *t);
AT_API at_error_kind at_error_kind_of(const at_tape *t);
AT_API void at_clear_error(at_tape *t); /* go on after an error, e.g. at an interactive prompt */

AT_API at_dtype at_real(const at_tape *t); /* ATTIC_F32, ATTIC_F64 or ATTIC_DUAL */
AT_API uint64_t at_seed(const at_tape *t);
/* The next random stream of this tape, for at_random_unit or at_sample.  An op keeps it in its
 * args.  The count of draws never rewinds. */
AT_API at_stream at_draw(at_tape *t);
AT_API const char *at_version(void); /* "0.2.0" */

/* ------------------------------------------------------------------ leaves --------------------- */

/* A parameter: lives until at_close, wants a gradient until it is frozen (at_freeze), is found by
 * name and moved by optimizers.
 * The name is prefixed with the open scopes ("block0.wq") and must be new. */
AT_API at_tensor *at_param(at_tape *t, const char *name, at_shape shape, at_init init);
/* A leaf that wants a gradient but is no parameter: an input to differentiate by. */
AT_API at_tensor *at_variable(at_tape *t, at_shape shape, const double *values);
/* Constants.  values are copied, in memory order; NULL gives zeros. */
AT_API at_tensor *at_const(at_tape *t, at_shape shape, const double *values);
AT_API at_tensor *at_floats(at_tape *t, at_shape shape, const float *values);
AT_API at_tensor *at_ints(at_tape *t, at_shape shape, const int32_t *values);
AT_API at_tensor *at_bools(at_tape *t, at_shape shape, const bool *values);
/* from, from + step, from + 2 step, ...: all that come before `to`, as NumPy's arange has them
 *
 *     x_i = from + i step     real [n]     n = ceil((to - from) / step), or 0 if that is negative
 *
 * computed in double, then rounded.  A step of 0 is an error, and so is a number that is not finite
 * in the real type of the tape, or an n that no dim can be.  A step may be negative.  With one that
 * is rounded, such as 0.1, rounding decides whether an element next to `to` is there.
 *
 * Positions to compare: at_less_equal(t, j, i) of i [T,1] and j [N] is the causal mask [T,N].  Ids
 * are i32, so they are at_ints, filled by a loop. */
AT_API at_tensor *at_arange(at_tape *t, double from, double to, double step);
/* Drawn from the tape's seed, once: a replay finds the same numbers. */
AT_API at_tensor *at_random(at_tape *t, at_shape shape, at_init init);
/* A mask, drawn likewise: each element is 1 with probability p, 0 <= p <= 1.  It takes one stream
 * (at_draw) even if p is 0 or 1.  at_dropout with this p and stream would drop where it is 1. */
AT_API at_tensor *at_bernoulli(at_tape *t, at_shape shape, double p);
/* An uninitialised constant of any dtype (ATTIC_REAL: the tape's), for the caller to fill. */
AT_API at_tensor *at_blank(at_tape *t, at_dtype dtype, at_shape shape);
/* The values of x in another real dtype, ATTIC_F16, ATTIC_BF16 or the one of the tape, as a new
 * constant with the name of x: no gradient flows through.
 *
 * f16 and bf16 are for what is stored and not computed with.  They take half of the memory of f32;
 * matmul, affine, embedding and attention read them where their headers say so, and ops of shapes
 * move them; every other op refuses them.  To f16 and bf16 each value is rounded to the nearest
 * one, halves to even, and becomes infinite where that is above the largest (f16: from 65520 on);
 * back from them all are exact. */
AT_API at_tensor *at_cast(at_tape *t, at_tensor *x, at_dtype dtype);
/* The same data as a leaf: no gradient flows through.  Shares memory with x. */
AT_API at_tensor *at_detach(at_tape *t, at_tensor *x);
/* The gradient of x so far, copied into a new constant; zeros if none arrived.  Nothing is
 * differentiated through this copy: a loss on a gradient takes at_hvp (tangent.h). */
AT_API at_tensor *at_grad_copy(at_tape *t, at_tensor *x);

/* For messages, prints and graphs; returns x.  A parameter is found by its new name from then on.
 * A name that is NULL, or the name of another parameter, is an error. */
AT_API at_tensor *at_name(at_tensor *x, const char *name);
/* The tensor of this full name: the scopes that were open when its op was recorded, and then what
 * at_name called it.  Of several that have the name the last one; a parameter if no op's output has
 * it; NULL if nothing has, or a rewind has forgotten it.
 *
 *     at_scope(t, "block0");
 *     at_name(at_relu(t, x), "hidden");
 *     at_scope_end(t);
 *     at_print(at_find(t, "block0.hidden"), stdout);
 *
 * The blocks of nn/ name what they compute: see block.h and model.h. */
AT_API at_tensor *at_find(const at_tape *t, const char *name);

/* One element as a double.  at_get(x, i, j), at_set(x, value, i, j); a scalar takes no index.  A
 * wrong index is a sticky error (and NAN), and so is a value that x cannot hold (at_can_hold). */
#define at_get(x, ...) at_get_at(x, at_shape_of(__VA_ARGS__))
#define at_set(x, value, ...) at_set_at(x, value, at_shape_of(__VA_ARGS__))
AT_API double at_get_at(const at_tensor *x, at_shape index);
AT_API void at_set_at(at_tensor *x, double value, at_shape index);
AT_API double at_item(const at_tensor *x); /* of a tensor with exactly one element */
/* All n elements at once, in memory order: copied to out, or from in.  A real tensor gives and
 * takes f32 and f64, rounded where need be (f64 to f32: what is too large to hold becomes infinite
 * when it is read, and is an error when it is written); an i32 tensor i32 and i64.  An n that is
 * not the number of elements is an error, and so is an i64 that i32 cannot hold.  False after a
 * sticky error, in which case nothing was copied. */
AT_API bool at_read_f32(const at_tensor *x, float *out, ptrdiff_t n);
AT_API bool at_read_f64(const at_tensor *x, double *out, ptrdiff_t n);
AT_API bool at_read_i32(const at_tensor *x, int32_t *out, ptrdiff_t n);
AT_API bool at_read_i64(const at_tensor *x, int64_t *out, ptrdiff_t n);
AT_API bool at_write_f32(at_tensor *x, const float *in, ptrdiff_t n);
AT_API bool at_write_f64(at_tensor *x, const double *in, ptrdiff_t n);
AT_API bool at_write_i32(at_tensor *x, const int32_t *in, ptrdiff_t n);
AT_API bool at_write_i64(at_tensor *x, const int64_t *in, ptrdiff_t n);
/* Say so after writing x->data directly: recorded uses of the old values can't be run backward. */
AT_API void at_written(at_tensor *x);

AT_API int at_param_count(const at_tape *t);
AT_API at_tensor *at_param_at(const at_tape *t, int i);              /* in the order of creation */
AT_API at_tensor *at_find_param(const at_tape *t, const char *name); /* NULL if there is none */
/* Every parameter of dst from the one of the same name in src, converting f32 <-> f64.  An error
 * on dst if one is missing or has another shape. */
AT_API bool at_copy_params(at_tape *dst, const at_tape *src);
/* Parameters chosen by name: those that match `only` and not `except`, which are patterns,
 * separated by commas, in which * stands for anything.  NULL: all match `only`, none `except`. */
typedef struct {
    const char *only, *except;
} at_names;

/* A frozen parameter wants no gradient: no op computes it, none is stored, optimizers leave it out.
 * Ops with no other input that wants one have no backward at all, so what is below the lowest
 * parameter that still learns costs nothing.
 *
 *     at_freeze(t, (at_names){.except = "head.*"});    only the head learns
 *
 * Both return how many parameters are meant, whether they were frozen before or not.  0 after a
 * sticky error, and then none has changed: a pattern that matches no parameter is one, and so is a
 * parameter that an op on the tape has read, for some of the ops would add to its gradient and some
 * not.  So freeze before the first step, or after a rewind.  Freezing drops the gradient so far.
 *
 * No file says what is frozen: a program that goes on from a checkpoint freezes again.  Parameters
 * that are made later are not frozen. */
AT_API int at_freeze(at_tape *t, at_names which);
AT_API int at_unfreeze(at_tape *t, at_names which);

/* ------------------------------------------------------------------ steps ---------------------- */

typedef struct {
    const at_tape *tape;
    uint64_t serial;
} at_mark;

/* at_rewind forgets every op and tensor recorded since the mark, except parameters; and, of tensors
 * that stay, each gradient whose memory was allocated since.  It costs what was done since the
 * mark, however much is older.  In the steady state of a loop neither of them calls malloc or free.
 *
 * A mark may be rewound to again and again, until a rewind to a mark taken before it forgets it
 * too.  Rewinding to a forgotten mark, to another tape's or to none is an error, and forgets
 * nothing.  Both functions work on a failed tape.  A tensor that is used after it was forgotten is
 * an error until its memory is handed out again (in a library that was built with ATTIC_DEBUG, a
 * crash of those that take no tape, such as at_item). */
AT_API at_mark at_mark_here(at_tape *t);
AT_API void at_rewind(at_tape *t, at_mark m);

/* Names for what follows: parameters get the prefix "name.", graphs a box.  Scopes nest.  They are
 * opened and closed on a failed tape, too: at_clear_error finds them as they should be. */
AT_API void at_scope(at_tape *t, const char *name);
/* The same with a name as printf writes it: at_scopef(t, "block%d", i).  A format that is NULL, and
 * a name of more than 159 bytes, are errors, and the scope is then counted like one that is opened
 * on a failed tape. */
AT_API AT_PRINTF(2, 3) void at_scopef(at_tape *t, const char *format, ...);
AT_API void at_scope_end(at_tape *t);

/* Train mode (the default) switches dropout on.  Frozen into each op when it is recorded. */
AT_API bool at_train(at_tape *t, bool on); /* returns the mode before */
AT_API bool at_is_training(const at_tape *t);
/* In a no-grad stretch nothing that is recorded wants a gradient.  Returns the setting before. */
AT_API bool at_no_grad(at_tape *t, bool on);

/* An evaluation that leaves no trace: train mode is off, nothing wants a gradient, and at the end
 * both settings and the count of draws (at_draw) are what they were at the beginning, and all that
 * was recorded since is forgotten, as by at_rewind.
 *
 *     at_eval e = at_eval_begin(t);
 *     double held_out = ...                     a loss on what is held out
 *     at_eval_end(t, e);
 *
 * So a training that is evaluated in between goes on with the same bits.  What an evaluation draws,
 * the training draws again: test data that must not be trained on are drawn before at_eval_begin,
 * or from a stream of the program's own.
 *
 * Evaluations nest, and the last one that was begun ends first.  Both functions work on a failed
 * tape, too.  It is an error and changes nothing to end an evaluation that has ended, by itself or
 * with one that was begun before, that a rewind has forgotten or that is another tape's; so is a
 * beginning without memory for its mark. */
typedef struct {
    at_mark here;
    bool training, no_grad;
    uint64_t draws;
} at_eval;
AT_API at_eval at_eval_begin(at_tape *t);
AT_API void at_eval_end(at_tape *t, at_eval e);

/* ------------------------------------------------------------------ a function on a tape ------- */

/* y = f(in...), built from ops of this tape; masks and other constants may be made within f.  f is
 * called once; then its ops are replayed (at_jvp, at_hvp, at_gradcheck). */
typedef at_tensor *at_function(at_tape *t, at_tensor **in, void *ctx);

/* ------------------------------------------------------------------ backward ------------------- */

/* Sets d(loss)/d(loss) = 1 and sweeps the tape back once.  loss must have exactly one element.
 * Gradients of leaves add up over several backwards until at_zero_grads (or an optimizer) clears
 * them; gradients of intermediates start afresh. */
AT_API bool at_backward(at_tape *t, at_tensor *loss);
/* The same from any y with the upstream gradient (cotangent) dy = d(loss)/dy of y's shape: a
 * vector-Jacobian product.  What is written to dy afterwards may show in y's gradient. */
AT_API bool at_backward_from(at_tape *t, at_tensor *y, const at_tensor *dy);
AT_API void at_zero_grads(at_tape *t);

/* Runs every forward on the tape again, in order, with the leaves as they are now. */
AT_API bool at_replay(at_tape *t);

/* By default values and gradients of intermediates can be read until the rewind.  On: backward
 * reuses the memory of both as soon as it has read them; a second backward through the same ops, a
 * replay, or reading such a tensor is then an error.  The loss itself stays readable.  Returns the
 * setting before. */
AT_API bool at_reuse_memory(at_tape *t, bool on);

/* ------------------------------------------------------------------ inspection ----------------- */

/* Prints x as print() of NumPy would (tensor/print.h), on a failed tape, too.  NULL prints as NULL,
 * and where there are no values it says why.  No file to print to is an error of x's tape. */
AT_API void at_print(const at_tensor *x, FILE *out);
/* The same for its gradient; "(no gradient)" until a backward reached it. */
AT_API void at_print_grad(const at_tensor *x, FILE *out);

/* Anomaly mode: the first op whose output (forward) or input gradient (backward) holds a NaN or
 * infinity that was not there before becomes a sticky error with the op, the shape and the index.
 * Returns the setting before. */
AT_API bool at_anomaly(at_tape *t, bool on);

/* Writes one line for every parameter whose gradient is missing, all zero, or not finite to `out`
 * (which may be NULL), and returns how many there are.  Frozen ones need none. */
AT_API int at_grad_report(const at_tape *t, FILE *out);

/* The memory of a tape. */
typedef struct {
    /* bytes handed out: parameters, scratch; this step; its largest */
    size_t permanent, step, step_peak;
    size_t reserved; /* bytes obtained from malloc */
    int nodes;       /* ops on the tape */
} at_memory;
AT_API at_memory at_memory_of(const at_tape *t);

AT_END_C
#endif
