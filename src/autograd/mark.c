/* mark.c -- how a step is forgotten: marks, rewinds, and the gradients that go with them.
 *
 * Marks that can be rewound to form a list, the newest first:
 *
 *     marks -> 7 -> 4 -> 3        a rewind to 4 drops 7, whose number is never given again
 *
 * What is dropped serves the next mark: a loop needs no more memory for them.
 *
 * A gradient of what stays may be in memory that goes.  To find those without a walk over all that
 * stays, the nodes that a backward reached after a mark was taken above them stand in a list, each
 * once, where the latest come first:
 *
 *     t->reached -> [after 3 marks] -> [after 3] -> [after 2] -> [after 1]
 *
 * A rewind to mark 3 looks through the first two. */
#include "autograd/state.h"

struct mark_entry {
    struct mark_entry *below;
    uint64_t serial;
    at_arena_mark memory;
    at_node *last;
    at_tensor *variables;
    bool spent;
};

/* Was nothing made since?  Then a mark taken here is the same. */
static bool marks_here(const at_tape *t, const struct mark_entry *e)
{
    at_arena_mark here = at_arena_here(&t->step);
    return e->memory.chunk == here.chunk && e->memory.used == here.used && e->last == t->last &&
           e->variables == t->variables && e->spent == t->spent;
}

static at_mark new_mark(at_tape *t)
{
    struct mark_entry *e = t->unused_marks;
    if (e) {
        t->unused_marks = e->below;
    } else if (!(e = at_arena_alloc(&t->permanent, sizeof *e))) {
        at_fail(t, ATTIC_MEMORY_ERROR, "out of memory: %zu more bytes were needed", sizeof *e);
        return (at_mark){0};
    }
    *e = (struct mark_entry){t->marks, ++t->marks_made, at_arena_here(&t->step),
                             t->last,  t->variables,    t->spent};
    t->marks = e;
    return (at_mark){t, e->serial};
}

at_mark at_mark_here(at_tape *t)
{
    if (!t) return (at_mark){0};
    return t->marks && marks_here(t, t->marks) ? (at_mark){t, t->marks->serial} : new_mark(t);
}

/* NULL after a sticky error. */
static struct mark_entry *find_mark(at_tape *t, const char *op, at_mark m)
{
    if (!m.tape)
        return at_fail(t, ATTIC_USER_ERROR, "%s: the mark is empty (see at_mark_here)", op);
    if (m.tape != t) return at_fail(t, ATTIC_USER_ERROR, "%s: the mark is another tape's", op);
    struct mark_entry *e = t->marks;
    while (e && e->serial > m.serial) e = e->below;
    if (e && e->serial == m.serial) return e;
    return at_fail(t, ATTIC_USER_ERROR, "%s: the mark was taken in a step that has been rewound",
                   op);
}

static void unlist_reached(at_node *n)
{
    if (!n->link) return;
    *n->link = n->older;
    if (n->older) n->older->link = n->link;
    n->link = NULL;
}

void at_list_reached(at_node *n)
{
    unlist_reached(n);
    n->reached = n->tape->marks_made;
    n->older = n->tape->reached;
    n->link = &n->tape->reached;
    if (n->older) n->older->link = &n->older;
    n->tape->reached = n;
}

/* Those reached since the mark leave the list or, if they stay on the tape, count as reached just
 * before it: a gradient that stays may be in memory that goes with an older mark. */
static void forget_gradients(at_tape *t, const struct mark_entry *e)
{
    for (at_node *n = t->reached, *older; n && n->reached >= e->serial; n = older) {
        bool stays = n->made < e->serial;
        older = n->older;
        n->reached = e->serial - 1;
        if (!stays) unlist_reached(n);
        if (stays) n->held[AT_BACKWARD] = 0; /* (of a profile) */
        for (int i = 0; stays && i < n->n_out; i++) {
            at_tensor *y = n->out[i];
            if (at_arena_since(&t->step, e->memory, y->grad)) y->grad = NULL;
            if (at_arena_since(&t->step, e->memory, y->grad_memory)) y->grad_memory = NULL;
        }
    }
}

static void drop_mark(at_tape *t)
{
    struct mark_entry *dropped = t->marks;
    t->marks = dropped->below;
    dropped->below = t->unused_marks;
    t->unused_marks = dropped;
}

static void rewind_to(at_tape *t, struct mark_entry *e)
{
    at_profile_line *outer = at_profile_enter(t, "rewind");
    if (t->profiled) at_profile_rewind(t);
    while (t->marks != e) drop_mark(t);
    t->last = e->last;
    *(t->last ? &t->last->next : &t->first) = NULL;
    t->swept = t->swept && t->first;
    t->variables = e->variables;
    t->spent = e->spent;
    t->n_free = 0;
    forget_gradients(t, e);
    at_arena_rewind(&t->step, e->memory);
    e->memory = at_arena_here(&t->step); /* of an arena that was empty, and now has a chunk */
    at_profile_leave(t, outer);
}

void at_rewind(at_tape *t, at_mark m)
{
    struct mark_entry *e = t ? find_mark(t, "rewind", m) : NULL;
    if (e) rewind_to(t, e);
}

/* The mark is the evaluation's own, so that none of two that begin at one place ends twice. */
at_eval at_eval_begin(at_tape *t)
{
    const at_mark here = t ? new_mark(t) : (at_mark){0};
    if (!here.tape) return (at_eval){0};
    return (at_eval){here, at_train(t, false), at_no_grad(t, true), t->draws};
}

void at_eval_end(at_tape *t, at_eval e)
{
    struct mark_entry *here = t ? find_mark(t, "eval_end", e.here) : NULL;
    if (!here) return;
    rewind_to(t, here);
    drop_mark(t);
    at_train(t, e.training);
    at_no_grad(t, e.no_grad);
    t->draws = e.draws;
}
