/* state.h -- what a tape is made of.  Private to src/autograd. */
#ifndef AT_AUTOGRAD_STATE_H
#define AT_AUTOGRAD_STATE_H
#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/persist.h"
#include "system/hash.h"
#include "tensor/arena.h"

typedef struct at_named at_named; /* names.c */

typedef struct { /* step memory that a backward is done with */
    char *p;
    size_t size;
} at_free_block;
enum { AT_MAX_FREE = 128 };

typedef struct at_closing { /* what at_close calls */
    struct at_closing *older;
    void (*free_it)(void *p);
    void *p;
} at_closing;

typedef struct at_profile_state at_profile_state; /* profile.c */

typedef struct {
    at_tensor *x, *param;
    const char *what; /* x is named "param:what" */
} at_state;

struct at_tape {
    at_dtype real, stored; /* stored: of new parameters of two dims or more, see at_store_params */
    uint64_t seed, draws;
    at_arena permanent, step;

    at_node *first, *last;                   /* creation order is topological order */
    bool swept;                              /* a backward has left gradients in them */
    struct mark_entry *marks, *unused_marks; /* those that can be rewound to, newest first */
    uint64_t marks_made;
    at_node *reached;     /* by a backward after a mark that they are below, the last ones first */
    at_tensor *variables; /* leaves in step memory, newest first */
    at_tensor **params;   /* in the order of creation */
    int n_params, max_params;
    at_param_filler *filler; /* of new parameters, and what it reads: see at_fill_params */
    void *filled_from;
    at_state *states; /* of parameters, in the order of creation, and what describes the tape */
    int n_states, max_states;
    const char **described; /* the keys */
    int n_described, max_described;
    at_named *named; /* all that is found by name */
    size_t named_size, n_named;
    const at_name_scope *scope; /* the innermost open one */
    int unopened;               /* at_scope calls inside of it that failed, or met a failed tape */

    bool training, no_grad, reuse, anomaly, self_check;
    int attention_path;
    bool spent;   /* gradients of parameters were used or dropped since the last rewind */
    bool skipped; /* a run skips this step */
    at_free_block free[AT_MAX_FREE]; /* the free list */
    int n_free;
    at_arena scratch; /* one block, for the kernel that runs */
    char *scratch_memory;
    size_t scratch_size;

    bool profiled, profile_at_close; /* measured now; printed by at_close */
    at_profile_state *profile;       /* NULL if it never was */

    at_closing *closing; /* newest first */
    at_error_kind kind;
    char message[512];
};

/* What left the kernels for this real type out of the library; NULL: they are there. */
static inline const char *at_left_out_by(at_dtype real)
{
#if defined(ATTIC_ONLY_F32)
    return real == ATTIC_F32 ? NULL : "ATTIC_ONLY_F32";
#elif defined(ATTIC_WITHOUT_DUAL)
    return real == ATTIC_DUAL ? "ATTIC_WITHOUT_DUAL" : NULL;
#else
    return (void)real, NULL;
#endif
}

/* kernels are stored as {f32, f64, dual} */
static inline int at_real_index(const at_tape *t)
{
    return t->real == ATTIC_F32 ? 0 : t->real == ATTIC_F64 ? 1 : 2;
}

void *at_alloc_in(at_tape *t, at_arena *a, size_t bytes); /* sticky error when out of memory */
/* Data for x, of the dtype and shape it has; false after a sticky error. */
bool at_give_data(at_tensor *x, at_arena *a);
/* The value of this text and owner, NULL if there is none; and how it gets one, false after a
 * sticky error.  The text is not copied. */
void *at_find_named(const at_tape *t, const void *owner, const char *text);
bool at_set_named(at_tape *t, const void *owner, const char *text, void *value);
/* A list in permanent memory with room for one more than its n items of this size: the list itself,
 * or a longer copy.  NULL after a sticky error. */
void *at_grow(at_tape *t, void *list, int n, int *max, size_t size);
/* The one permanent copy of this text; and one of a, b, c in a row.  NULL after a sticky error. */
const char *at_intern(at_tape *t, const char *text);
char *at_join(at_tape *t, const char *a, const char *b, const char *c);
/* "outer.inner.", of the open scopes */
static inline const char *at_prefix(const at_tape *t)
{
    return t->scope ? t->scope->prefix : "";
}
/* Where is x?  ATTIC_DEAD: in memory that a rewind took back. */
at_ownership at_tensor_find(const at_tape *t, const at_tensor *x);
/* Whose data x holds: its own, or the data of what it was reshaped or detached from. */
static inline at_tensor *at_data_owner(const at_tensor *x)
{
    return x->base ? x->base : (at_tensor *)x;
}

/* Has x its elements where another tape or a mapped file has them (at_share_data)? */
static inline bool at_is_read_only(const at_tensor *x)
{
    return at_data_owner(x)->tape != x->tape;
}

/* Puts the memory of n's outputs and their gradients into the free list; of the loss only the
 * latter. */
void at_reuse(at_tape *t, at_node *n, bool is_loss);
/* A backward has given n its first gradient since the last mark. */
void at_list_reached(at_node *n);

/* The hash of the data of x; without ATTIC_DEBUG nothing is read. */
static inline uint64_t at_checksum(const at_tensor *x)
{
    size_t bytes = 0;
#ifdef ATTIC_DEBUG
    bytes = at_bytes(x);
#endif
    return at_hash(AT_HASH_BEGIN, x->data, bytes);
}

/* What ATTIC_PROFILE asks for, when t is opened and closed. */
void at_profile_open(at_tape *t);
void at_profile_close(at_tape *t);
/* Where t->profiled: a forward or a sweep begins; an op of n ends, and the next op of a sweep
 * begins (false after a sticky error); step memory is about to be taken back. */
typedef enum { AT_FORWARD, AT_BACKWARD } at_direction;
void at_profile_begin(at_tape *t);
bool at_profile_end(at_node *n, at_direction d);
void at_profile_rewind(at_tape *t);
/* For tests: the clock of a profile, nanoseconds from any origin. */
void at_profile_clock(at_tape *t, int64_t (*clock)(void));

#define AT_DUAL_UNIT 0x1p-600 /* a tangent of 1, as it is kept: kernels/dual.h */
#define AT_MOST_TANGENT 1e38  /* that is held: tangent.h */

/* The tangent of element i of a dual tensor, or of its gradient: where it is kept. */
static inline double *at_tangent_of(void *data, ptrdiff_t i)
{
    return (double *)data + 2 * i + 1;
}

/* inspect.c: false after a sticky error.  Before a backward: is what n read when it ran still
 * there?  In anomaly mode, when its forward or backward has run: is nothing new wrong?  On a dual
 * tape: are the tangents that it has left in range? */
bool at_inputs_unchanged(at_tape *t, at_node *n);
bool at_is_sane(at_node *n, at_direction d);
bool at_tangents_hold(at_node *n, at_direction d);

#endif
