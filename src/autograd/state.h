/* state.h -- what a tape is made of.  Private to src/autograd. */
#ifndef AT_AUTOGRAD_STATE_H
#define AT_AUTOGRAD_STATE_H
#include "autograd/op.h"

typedef struct at_state_entry at_state_entry; /* at_param_state: one piece of a parameter's state */
struct at_state_entry {
    at_tensor *param, *state;
    const char *what;
    at_state_entry *next;
};

typedef struct { /* step memory that a backward is done with, to be handed out again */
    char *p;
    size_t size;
} at_spare;
enum { AT_MAX_SPARES = 128 };

struct mark_entry; /* tape.c */
struct scope_entry;
struct text_entry;

struct at_tape {
    at_dtype real;
    uint64_t seed, draws;
    at_arena permanent, step;

    at_node *first, *last;                   /* creation order is topological order */
    bool swept;                              /* a backward has left gradients in them */
    at_tensor *variables;                    /* leaves in step memory, newest first */
    struct mark_entry *marks, *unused_marks; /* those that can be rewound to, newest first */
    uint64_t marks_made;
    at_tensor *params, *last_param;
    at_state_entry *states;
    const at_name_scope *scope; /* the innermost open one */
    int unopened;               /* at_scope calls inside of it that failed, or met a failed tape */
    struct scope_entry *scopes; /* all that were ever opened */
    struct text_entry *texts;   /* names, each once */

    bool training, no_grad, drop_grads, anomaly;
    unsigned checks; /* at_check_flag */
    at_spare spare[AT_MAX_SPARES];
    int n_spares;
    char *scratch; /* of every worker */
    size_t scratch_size;
    int scratch_workers;

    at_error_kind_t kind;
    char message[512];
};

/* kernels are stored as {f32, f64} */
static inline int at_real_index(const at_tape *t)
{
    return t->real == ATTIC_F64;
}

void *at_alloc_in(at_tape *t, at_arena *a, size_t bytes); /* sticky error when out of memory */
at_tensor *at_tensor_in(at_tape *t, at_arena *a, at_dtype dtype, at_shape shape);
/* Data for x, of the dtype and shape it has; false after a sticky error. */
bool at_give_data(at_tensor *x, at_arena *a);
/* The one permanent copy of this text. */
const char *at_intern(at_tape *t, const char *text);
/* Where does x lie?  ATTIC_DEAD: in memory that a rewind took back. */
at_whereabouts at_tensor_find(const at_tape *t, const at_tensor *x);
/* Whose data x holds: its own, or that of what it was reshaped or detached from. */
static inline at_tensor *at_data_owner(const at_tensor *x)
{
    return x->base ? x->base : (at_tensor *)x;
}

/* A buffer for x->grad: x's own, or a spare one, or new. */
void *at_grad_buffer(at_tape *t, at_tensor *x);
bool at_scratch_ready(at_tape *t, size_t bytes);

#ifdef ATTIC_DEBUG
uint64_t at_checksum(const at_tensor *x);
#else
static inline uint64_t at_checksum(const at_tensor *x)
{
    (void)x;
    return 0;
}
#endif

/* anomaly mode: true if nothing new is wrong */
bool at_forward_is_sane(at_node *n);
bool at_backward_is_sane(at_node *n);

#endif
