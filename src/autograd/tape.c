/* tape.c -- opening and closing a tape, its errors, its modes, its memory; see tape.h.
 *
 * The tape lies in its own permanent arena, so that closing it is giving back its arenas. */
#include "autograd/state.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/parallel.h"
#include "kernels/system.h"
#include "kernels/target.h"
#include "version.h"

at_tape *at_open(at_dtype real, uint64_t seed)
{
    if (real != ATTIC_F32 && real != ATTIC_F64) return NULL;
    at_arena home = {0};
    at_tape *t = at_arena_alloc(&home, sizeof *t);
    if (!t) {
        at_arena_free(&home);
        return NULL;
    }
    *t = (at_tape){.real = real, .seed = seed, .permanent = home, .training = true};
    if (at_target_is_unsupported(t->message, sizeof t->message)) t->kind = ATTIC_USER_ERROR;
    return t;
}

void at_close(at_tape *t)
{
    if (!t) return;
    at_arena permanent = t->permanent; /* t itself lies in there */
    at_arena_free(&t->step);
    at_arena_free(&t->scratch);
    at_arena_free(&permanent);
}

const char *at_version(void)
{
    return ATTIC_VERSION;
}

at_dtype at_real(const at_tape *t)
{
    return t ? t->real : ATTIC_REAL;
}

uint64_t at_seed(const at_tape *t)
{
    return t ? t->seed : 0;
}

/* ------------------------------------------------------------------ errors --------------------- */

bool at_ok(const at_tape *t)
{
    return t && t->kind == ATTIC_OK;
}

const char *at_error(const at_tape *t)
{
    return t ? t->message : "out of memory: there is no tape";
}

at_error_kind_t at_error_kind(const at_tape *t)
{
    return t ? t->kind : ATTIC_MEMORY_ERROR;
}

void at_clear_error(at_tape *t)
{
    if (!t) return;
    t->kind = ATTIC_OK;
    t->message[0] = 0;
}

void *at_fail(at_tape *t, at_error_kind_t kind, const char *format, ...)
{
    if (!at_ok(t)) return NULL;
    va_list args;
    va_start(args, format);
    void *locale = at_point_begin();
    vsnprintf(t->message, sizeof t->message, format, args);
    at_point_end(locale);
    va_end(args);
    t->kind = kind;
    return NULL;
}

at_whereabouts at_tensor_find(const at_tape *t, const at_tensor *x)
{
    if (at_arena_is_recent(&t->step, x) || at_arena_is_recent(&t->permanent, x)) return ATTIC_LIVE;
    at_whereabouts here = at_arena_find(&t->step, x);
    return here == ATTIC_OUTSIDE ? at_arena_find(&t->permanent, x) : here;
}

/* x is not looked into before it is known where it lies. */
bool at_check_alive(at_tape *t, const char *op, const char *arg, const at_tensor *x)
{
    if (!at_ok(t)) return false;
    if (!x) return at_fail(t, ATTIC_USER_ERROR, "%s: %s is NULL", op, arg);
    at_whereabouts place = at_tensor_find(t, x);
    if (place == ATTIC_LIVE && x->tape == t) return true;
    return at_fail(t, ATTIC_USER_ERROR,
                   place == ATTIC_DEAD ? "%s: %s was made in a step that has been rewound"
                                       : "%s: %s belongs to another tape",
                   op, arg);
}

bool at_check_any(at_tape *t, const char *op, const char *arg, const at_tensor *x)
{
    if (!at_check_alive(t, op, arg, x)) return false;
    if (!at_has_data(x))
        return at_fail(t, ATTIC_USER_ERROR,
                       "%s: the memory of %s %s was reused by a backward (see at_keep_grads)", op,
                       arg, at_text(x));
    return true;
}

bool at_check_input(at_tape *t, const char *op, const char *arg, const at_tensor *x, at_dtype d)
{
    if (!at_check_any(t, op, arg, x)) return false;
    if (d == ATTIC_REAL) d = t->real;
    if (x->dtype != d)
        at_fail(t, ATTIC_USER_ERROR, "%s: %s %s has dtype %s but must be %s", op, arg, at_text(x),
                at_dtype_text(x->dtype), at_dtype_text(d));
    return at_ok(t);
}

bool at_check_number(at_tape *t, const char *op, const char *arg, double value)
{
    AT_REQUIRE(t, isfinite(value) && at_can_hold(t->real, value),
               "%s: %s is %g, but must be a finite %s", op, arg, value, at_dtype_text(t->real));
    return true;
}

/* ------------------------------------------------------------------ memory --------------------- */

void *at_alloc_in(at_tape *t, at_arena *a, size_t bytes)
{
    if (!at_ok(t)) return NULL;
    void *p = at_arena_alloc(a, bytes);
    if (!p) at_fail(t, ATTIC_MEMORY_ERROR, "out of memory: %zu more bytes were needed", bytes);
    return p;
}

void *at_step_alloc(at_tape *t, size_t bytes)
{
    return t ? at_alloc_in(t, &t->step, bytes) : NULL;
}

void *at_permanent_alloc(at_tape *t, size_t bytes)
{
    return t ? at_alloc_in(t, &t->permanent, bytes) : NULL;
}

bool at_scratch_ready(at_tape *t, size_t bytes)
{
    if (!at_ok(t) || bytes <= t->scratch_size) return at_ok(t);
    if (t->scratch_size && bytes <= SIZE_MAX / 2) bytes += bytes / 2; /* grow rarely */
    at_arena larger = {0};
    char *p = at_alloc_in(t, &larger, bytes);
    if (!p) {
        at_arena_free(&larger);
        return false;
    }
    at_arena_free(&t->scratch);
    t->scratch = larger;
    t->scratch_memory = p;
    t->scratch_size = bytes;
    return true;
}

void *at_scratch(const at_node *n, int slot)
{
    return n->tape->scratch_memory + (size_t)slot * n->scratch;
}

at_memory at_memory_of(const at_tape *t)
{
    if (!t) return (at_memory){0};
    return (at_memory){.permanent = t->permanent.in_use + t->scratch.in_use,
                       .step = t->step.in_use,
                       .step_peak = t->step.peak,
                       .reserved = t->permanent.reserved + t->step.reserved + t->scratch.reserved,
                       .nodes = t->last ? t->last->index + 1 : 0};
}

/* ------------------------------------------------------------------ steps ---------------------- */

/* What a mark stands for.  Those that can be rewound to form a list, the newest first:
 *
 *     marks -> 7 -> 4 -> 3        a rewind to 4 drops 7, whose number is never given again
 *
 * What is dropped serves the next mark: a loop needs no more memory for them. */
struct mark_entry {
    struct mark_entry *below;
    uint64_t serial;
    at_arena_mark memory;
    at_node *last;
    at_tensor *variables;
};

/* Was nothing made since?  Then a mark taken here is the same. */
static bool marks_here(const at_tape *t, const struct mark_entry *e)
{
    at_arena_mark here = at_arena_here(&t->step);
    return e->memory.chunk == here.chunk && e->memory.used == here.used && e->last == t->last &&
           e->variables == t->variables;
}

at_mark at_mark_here(at_tape *t)
{
    if (!t) return (at_mark){0};
    if (t->marks && marks_here(t, t->marks)) return (at_mark){t, t->marks->serial};
    struct mark_entry *e = t->unused_marks;
    if (e) {
        t->unused_marks = e->below;
    } else if (!(e = at_arena_alloc(&t->permanent, sizeof *e))) {
        at_fail(t, ATTIC_MEMORY_ERROR, "out of memory: %zu more bytes were needed", sizeof *e);
        return (at_mark){0};
    }
    *e = (struct mark_entry){t->marks, ++t->marks_made, at_arena_here(&t->step), t->last,
                             t->variables};
    t->marks = e;
    return (at_mark){t, e->serial};
}

/* NULL after a sticky error. */
static struct mark_entry *find_mark(at_tape *t, at_mark m)
{
    if (!m.tape)
        return at_fail(t, ATTIC_USER_ERROR, "rewind: the mark is empty (see at_mark_here)");
    if (m.tape != t) return at_fail(t, ATTIC_USER_ERROR, "rewind: the mark is another tape's");
    struct mark_entry *e = t->marks;
    while (e && e->serial > m.serial) e = e->below;
    if (e && e->serial == m.serial) return e;
    return at_fail(t, ATTIC_USER_ERROR,
                   "rewind: the mark was taken in a step that has been rewound");
}

/* A gradient of what stays may lie in memory that goes.  To find those without a look at all that stays,
 * the nodes that a backward reached after a mark was taken above them stand in a list, each once, where
 * the latest come first:
 *
 *     t->reached -> [after 3 marks] -> [after 3] -> [after 2] -> [after 1]
 *
 * A rewind to mark 3 takes the first two. */
static void unlist_reached(at_node *n)
{
    if (!n->link) return;
    *n->link = n->older;
    if (n->older) n->older->link = n->link;
    n->link = NULL;
}

void at_list_reached(at_node *n, uint64_t marks)
{
    unlist_reached(n);
    n->reached = marks;
    n->older = n->tape->reached;
    n->link = &n->tape->reached;
    if (n->older) n->older->link = &n->older;
    n->tape->reached = n;
}

/* Takes those that were reached since the mark off the list, and returns those of them that stay. */
static at_node *take_reached(at_tape *t, uint64_t mark)
{
    at_node *stay = NULL;
    for (at_node *n; (n = t->reached) && n->reached >= mark;) {
        unlist_reached(n);
        if (n->made >= mark) continue;
        n->older = stay;
        stay = n;
    }
    return stay;
}

/* A gradient that stays may lie in memory that goes with an older mark, so the nodes are listed again: as
 * reached just before the mark. */
static void forget_rewound_grads(at_tape *t, at_node *stay, uint64_t mark)
{
    for (at_node *n = stay, *next; n; n = next) {
        next = n->older;
        for (int i = 0; i < n->n_out; i++) {
            at_tensor *y = n->out[i];
            if (!y) continue;
            if (at_arena_find(&t->step, y->grad) != ATTIC_LIVE) y->grad = NULL;
            if (at_arena_find(&t->step, y->grad_memory) != ATTIC_LIVE) y->grad_memory = NULL;
        }
        at_list_reached(n, mark - 1);
    }
}

void at_rewind(at_tape *t, at_mark m)
{
    struct mark_entry *e = t ? find_mark(t, m) : NULL;
    if (!e) return;
    while (t->marks != e) {
        struct mark_entry *dropped = t->marks;
        t->marks = dropped->below;
        dropped->below = t->unused_marks;
        t->unused_marks = dropped;
    }
    t->last = e->last;
    if (t->last)
        t->last->next = NULL;
    else
        t->first = NULL;
    t->swept = t->swept && t->first;
    t->variables = e->variables;
    t->n_free = 0;
    at_node *stay = take_reached(t, e->serial);
    at_arena_rewind(&t->step, e->memory);
    e->memory = at_arena_here(&t->step); /* of an arena that was empty, and now has a chunk */
    forget_rewound_grads(t, stay, e->serial);
}

/* Scopes outlive the steps that open them: they lie in permanent memory and are found again. */
static const at_name_scope *scope_named(at_tape *t, const char *name)
{
    AT_REQUIRE(t, name, "scope: the name is NULL");
    at_name_scope *s = at_find_named(t, t->scope, name);
    if (s) return s;
    s = at_alloc_in(t, &t->permanent, sizeof *s);
    const char *copy = at_intern(t, name);
    if (!s || !copy || !at_set_named(t, t->scope, copy, s)) return NULL;
    *s = (at_name_scope){copy, t->scope};
    return s;
}

/* Every call has its at_scope_end, so those that open nothing are counted: what is open after an
 * error is what would be without it. */
void at_scope(at_tape *t, const char *name)
{
    if (!t) return;
    const at_name_scope *s = scope_named(t, name);
    if (s && !t->unopened)
        t->scope = s;
    else
        t->unopened++;
}

void at_scope_end(at_tape *t)
{
    if (!t) return;
    if (t->unopened)
        t->unopened--;
    else if (t->scope)
        t->scope = t->scope->outer;
    else
        at_fail(t, ATTIC_USER_ERROR, "scope_end: no scope is open");
}

/* ------------------------------------------------------------------ modes ---------------------- */

static bool exchange(bool *setting, bool on)
{
    bool before = *setting;
    *setting = on;
    return before;
}

bool at_train(at_tape *t, bool on)
{
    return t && exchange(&t->training, on);
}

bool at_is_training(const at_tape *t)
{
    return t && t->training;
}

bool at_no_grad(at_tape *t, bool on)
{
    return t && exchange(&t->no_grad, on);
}

bool at_keep_grads(at_tape *t, bool on)
{
    return t && !exchange(&t->drop_grads, !on);
}

bool at_anomaly(at_tape *t, bool on)
{
    return t && exchange(&t->anomaly, on);
}

bool *at_check_setting(at_tape *t)
{
    return &t->check_attention;
}

at_stream at_draw(at_tape *t)
{
    return t ? (at_stream){t->seed, t->draws++} : (at_stream){0, 0};
}

at_node *at_first_node(const at_tape *t)
{
    return t ? t->first : NULL;
}
