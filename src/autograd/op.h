/* op.h -- how an op is written: its description, how it is recorded, how it adds gradients.
 *
 * An op is one place that holds its equation, its forward and its backward:
 *
 *     static const at_op scale_op = {"scale", {scale_forward_f32, scale_forward_f64},
 *                                             {scale_backward_f32, scale_backward_f64}};
 *
 * (The third kernel of each, for dual numbers, may be missing: then the op is refused on a tape of
 * these, and at_gradcheck has only differences for it.)
 *
 *     at_tensor *at_scale(at_tape *t, at_tensor *x, double c)
 *     {
 *         AT_INPUT(t, "scale", x, ATTIC_REAL);
 *         return at_record(t, &scale_op, AT_IN(x), x->shape, &c, sizeof c);
 *     }
 *
 * The rules that its kernels keep:
 *   forward   writes every element of its outputs and of n->saved, and may run again (replay);
 *   backward  reads only in->data, out->data, out->grad, args, saved; adds into at_grad(n, i), and
 *             only where that is not NULL; inputs may be one and the same tensor;
 *   both      allocate nothing and record nothing: they cannot fail. */
#ifndef AT_AUTOGRAD_OP_H
#define AT_AUTOGRAD_OP_H
#include "autograd/tape.h"
#include "tensor/layout.h"
AT_BEGIN_C

#define AT_MAX_OUT 6

typedef void at_kernel(at_node *);
typedef struct at_op {
    const char *name;
    at_kernel *forward[ATTIC_NREALS];  /* f32, f64, dual: out = f(in...) */
    at_kernel *backward[ATTIC_NREALS]; /* in[i].grad += (df/din[i])^T out.grad; NULL, all: none */
    bool makes_infinity;               /* an infinite output is no anomaly, e.g. a fill with -inf */
} at_op;
/* One kernel that does for all real types; of a list of three, what this build has a type for. */
#define AT_EVERY_REAL(kernel)                                                                      \
    {                                                                                              \
        AT_BUILT(kernel, kernel, kernel)                                                           \
    }
#if defined ATTIC_ONLY_F32
#define AT_BUILT(f32, f64, dual) f32
#elif defined ATTIC_WITHOUT_DUAL
#define AT_BUILT(f32, f64, dual) f32, f64
#else
#define AT_BUILT(f32, f64, dual) f32, f64, dual
#endif

typedef struct at_profile_line at_profile_line; /* profile.c */
typedef struct at_name_scope {
    const char *name, *prefix; /* "inner"; "outer.inner." */
    const struct at_name_scope *outer;
} at_name_scope;

struct at_node { /* one line on the tape: out... = op(in...; args) */
    const at_op *op;
    at_tensor **in;
    int n_in;
    at_tensor *out[AT_MAX_OUT];
    int n_out;
    void *args, *saved; /* constants of the op; what forward keeps for backward */

    /* The rest is bookkeeping. */
    at_tape *tape;
    at_node *prev, *next;
    size_t args_size, saved_size;
    int index;            /* position on the tape */
    bool wants_grad;      /* any input does */
    size_t scratch;       /* bytes of a slot */
    int slots;            /* how many of them at_scratch can hand out */
    unsigned *in_version; /* of each input when it was read */
    uint64_t *in_sum;     /* checksums of the inputs, with ATTIC_DEBUG */
    const at_name_scope *scope;
    uint64_t made, reached;   /* after how many marks; and the last gradient that it was given */
    at_node *older, **link;   /* in the tape's list of nodes reached; what points to it there */
    at_profile_line *line[2]; /* of a profile: its op's, its scope's */
    size_t held[2];           /* step memory that its forward took, and its backward */
};

typedef struct {
    int n;
    at_tensor **in;
} at_inputs;
#ifdef __cplusplus
extern "C++" template <int n> inline at_inputs at_inputs_of(at_tensor *(&&in)[n])
{
    return at_inputs{n, in};
}
#define AT_IN(...) at_inputs_of({__VA_ARGS__})
#else
#define AT_IN(...)                                                                                 \
    ((at_inputs){(int)(sizeof((at_tensor *[]){__VA_ARGS__}) / sizeof(at_tensor *)),                \
                 (at_tensor *[]){__VA_ARGS__}})
#endif

/* What a node is to be made of.  Zero means: real, one output, nothing.
 *
 * at_jvp, at_hvp and at_gradcheck run the node again in dual numbers, with four times saved and
 * scratch of f32, twice those of f64: what its kernel for dual numbers needs must be in them. */
typedef struct {
    at_shape shape[AT_MAX_OUT];
    at_dtype dtype[AT_MAX_OUT];
    int n_out;
    const void *args; /* copied */
    size_t args_size;
    size_t saved;   /* bytes of n->saved */
    size_t scratch; /* bytes that at_scratch(n, slot) points to, for every slot < n->slots */
    int slots;      /* how many; 0: as many as there are threads now */
    bool shares;    /* out[0] is in[0]'s data under another shape; forward has nothing to do */
} at_recipe;

/* Makes the node and its outputs and runs the forward.  An input may be NULL (an option not used).
 * Returns NULL after a sticky error, e.g. where the op lacks a kernel for this tape's type. */
AT_API at_node *at_record_node(at_tape *t, const at_op *op, at_inputs in, at_recipe r);
/* The usual case: one real output, nothing saved. */
AT_API at_tensor *at_record(at_tape *t, const at_op *op, at_inputs in, at_shape shape,
                            const void *args, size_t args_size);

/* at_name for what an op made: `name` is kept as it is, so it must live as long as y.  Returns y,
 * which may be NULL. */
static inline at_tensor *at_label(at_tensor *y, const char *name)
{
    if (y && y->node) y->name = name;
    return y;
}

/* Its only output; NULL of NULL. */
static inline at_tensor *at_output(at_node *n)
{
    return n ? n->out[0] : NULL;
}

/* The buffer of d(loss)/d(in[i]) to add into, zeroed at first touch; NULL if nobody wants it, and,
 * here and below, if there is no such input. */
AT_API void *at_grad(at_node *n, int i);

/* For an op that would rather overwrite.  beta = 0: p holds garbage and every element must be
 * written; beta = 1: add.  p = NULL: nobody wants it. */
typedef struct {
    void *p;
    int beta;
} at_grad_buffer;
AT_API at_grad_buffer at_grad_overwrite(at_node *n, int i);

/* For an op whose output has the same elements as in[i], in the same order: d(in[i]) += d(out[0]).
 * Where nothing is there yet nothing is copied: one gradient is an alias of the other, until
 * somebody else adds to d(in[i]). */
AT_API void at_grad_pass(at_node *n, int i);

/* at_grad_overwrite for an op with one input and as many elements in its output that reads each
 * element of dy = out[0]->grad no later than it writes the one of dx in its place.  dx may then be
 * where dy is: so it is if dy's memory is to be reused anyway. */
AT_API at_grad_buffer at_grad_in_place(at_node *n, int i);

/* What all of these do, for a tensor x that wants a gradient: adds dy, as large as x, to it.  The
 * first may become an alias of dy.  False: no memory. */
bool at_receive_grad(at_tape *t, at_tensor *x, const void *dy, bool may_alias);

/* Memory for the duration of one kernel, of the size the recipe asked for, 64-byte aligned; slot as
 * in at_for(..., n->slots, ...), 0 outside of it.  NULL if there is no such slot, or no size was
 * asked for. */
AT_API void *at_scratch(const at_node *n, int slot);

/* For a profile (profile.h): the kernel that runs does `flops` more multiplications, additions.
 * at_is_profiled: is the tape profiled, so that counting them is of use? */
AT_API void at_count_flops(const at_node *n, double flops);
AT_API bool at_is_profiled(const at_tape *t);
/* A region: what a tape does from enter to leave, but for its ops, has a line of this name in the
 * profile.  Regions may nest, and a moment belongs to the innermost one.  Leave gets what enter
 * returned.
 *
 *     at_profile_line *outer = at_profile_enter(t, "adamw");
 *     ...
 *     at_profile_leave(t, outer);                                                            */
at_profile_line *at_profile_enter(at_tape *t, const char *name);
void at_profile_leave(at_tape *t, at_profile_line *outer);

/* A new tensor in step memory with uninitialised data; step memory for anything else; and the same
 * in the memory of parameters, until at_close.  NULL after a sticky error. */
AT_API at_tensor *at_tensor_new(at_tape *t, at_dtype dtype, at_shape shape);
AT_API void *at_step_alloc(at_tape *t, size_t bytes);
AT_API void *at_permanent_alloc(at_tape *t, size_t bytes);

/* ------------------------------------------------------------------ errors --------------------- */

/* Records the first error and returns NULL. */
AT_API AT_PRINTF(3, 4) void *at_fail(at_tape *t, at_error_kind kind, const char *format, ...);

/* Every function on a tape begins with these: one fact each, what is and what should be, in
 * figures.  On a tape that has failed already they return NULL without evaluating cond. */
#define AT_REQUIRE(t, cond, ...)                                                                   \
    do {                                                                                           \
        if (!at_ok(t)) return NULL;                                                                \
        if (!(cond)) {                                                                             \
            at_fail(t, ATTIC_USER_ERROR, __VA_ARGS__);                                             \
            return NULL;                                                                           \
        }                                                                                          \
    } while (0)

/* x must be a live tensor of this tape with dtype d (ATTIC_REAL: the tape's real type).  The
 * message calls it by the name of the variable. */
#define AT_INPUT(t, op, x, d)                                                                      \
    do {                                                                                           \
        if (!at_check_input(t, op, #x, x, d) || !(x)) return NULL;                                 \
    } while (0)
AT_API bool at_check_input(at_tape *t, const char *op, const char *arg, const at_tensor *x,
                           at_dtype d);
/* The same for any dtype; and where a backward may have reused its memory. */
AT_API bool at_check_any(at_tape *t, const char *op, const char *arg, const at_tensor *x);
AT_API bool at_check_alive(at_tape *t, const char *op, const char *arg, const at_tensor *x);
/* The same for a tensor that may be stored as f16 or bf16, too. */
AT_API bool at_check_stored(at_tape *t, const char *op, const char *arg, const at_tensor *x);
/* value must be finite, and stay so in the real type of the tape: 1e300 is infinite in f32. */
AT_API bool at_check_number(at_tape *t, const char *op, const char *arg, double value);
/* Is eps 0, or positive, and 1 / eps finite in the real type?  A sticky error if not. */
bool at_check_eps(at_tape *t, const char *op, double eps);

/* ------------------------------------------------------------------ inspection ----------------- */

/* Do ops of this tape check themselves, those that can?  Off until it is set; at_self_check returns
 * the setting before. */
bool at_is_self_checking(const at_tape *t);
bool at_self_check(at_tape *t, bool on);
/* The path that at_sdpa takes on this tape, an at_sdpa_path (attention.h); 0 until it is set. */
int at_preferred_path(const at_tape *t);
void at_prefer_path(at_tape *t, int path);

/* How many streams at_draw has handed out. */
uint64_t *at_draw_count(at_tape *t);

/* Does the pattern that ends at `end` match the whole name?  * stands for anything.  If there is
 * one, what it stands for is the part *from .. *to-1 of the name. */
bool at_pattern_matches(const char *p, const char *end, const char *name, int *from, int *to);

/* Is a tensor of this name meant?  And does every single pattern match a parameter?  If not, the
 * sticky error names the first that does not. */
bool at_names_mean(at_names which, const char *name);
bool at_names_are_known(at_tape *t, const char *op, at_names which);
/* Freezes n parameters, or lets them learn again; NULL is left out.  False after a sticky error, as
 * for at_freeze, and then none has changed. */
bool at_set_frozen(at_tape *t, const char *op, at_tensor *const *x, int n, bool frozen);
/* From now on `filler` fills new parameters in place of their initialisers, with elements from a
 * file for instance; it returns false after a sticky error.  x comes without data, and gets it from
 * one of the two functions below.  Draws are counted as if the initialisers had drawn.  NULL: the
 * initialisers do it again. */
typedef bool at_param_filler(void *from, at_tensor *x);
void at_fill_params(at_tape *t, at_param_filler *filler, void *from);
/* x gets memory of its own, until at_close.  False after a sticky error. */
bool at_own_data(at_tensor *x);
/* x has its elements at p, among the data of `owner`: a leaf of another tape, or a tensor without
 * a tape, such as a mapped file.  So x is read-only: it wants no gradient, and to write it is an
 * error.  Writes to the owner count as writes to x. */
void at_share_data(at_tensor *x, const at_tensor *owner, void *p);

/* A new parameter named like W, with `name` in place of what follows the last dot. */
at_tensor *at_param_beside(at_tape *t, const at_tensor *W, const char *name, at_shape shape,
                           at_init init);

/* Has any parameter a gradient?  Then an optimizer may move them, or if gradients were used or
 * dropped since the last rewind (at_note_spent, called before they are cleared), or if a run skips
 * this step: that drops them. */
bool at_has_gradient(const at_tape *t);
bool at_may_step(const at_tape *t);
void at_note_spent(at_tape *t);
void at_skip_step(at_tape *t, bool on);

/* Walks the tape: the first node, then n->next. */
AT_API at_node *at_first_node(const at_tape *t);

AT_END_C
#endif
