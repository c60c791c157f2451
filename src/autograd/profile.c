/* profile.c -- where time and memory go; see profile.h.
 *
 * Time.  A forward and a region (at_profile_enter) read the clock at both ends, a backward at its
 * end, as it begins where the one before it ended.  So each moment between the first reading and
 * the last belongs to one op, or to the innermost region that is open, or to none of them:
 *
 *     | forward | all else | rewind | all else | forward | backward | backward | adamw |
 *
 * What another profiled tape does meanwhile, in the same thread, is in the other tape's table, so
 * it is taken off here.  All tapes of a thread add what they charge to ops and regions to one sum,
 * and each knows what that sum was when it last read the clock:
 *
 *     tape 1   | op |          all else          | op |     the sum has grown by the op of tape 2:
 *     tape 2             | op |                             all else of tape 1 is less by it
 *
 * Memory.  Step memory grows until a rewind takes it back, so that it can be at its peak at a
 * rewind only (or now).  Only where a rewind finds more than any before it is the tape walked, node
 * by node, to see who holds how much: in a loop of equal steps once.
 *
 * Wake-ups.  The pool of threads counts how often it wakes a sleeping one.  What it counts between
 * two readings of the clock is the tape's, whoever computed meanwhile. */
#include "autograd/profile.h"

#include <stdlib.h>

#include "autograd/state.h"
#include "kernels/parallel.h"
#include "system/system.h"

typedef struct {
    int64_t calls, ticks;
    double flops, taken; /* bytes of step memory */
    size_t held;         /* of those at the peak */
    bool printed;
} profile_sum;

enum { PROFILE_REGION = 2, PROFILE_SUMS }; /* beside AT_FORWARD and AT_BACKWARD */

struct at_profile_line { /* an op, a region or a scope */
    at_profile_line *next;
    const char *name;
    profile_sum of[PROFILE_SUMS];
};

struct at_profile_state {
    at_profile_line *ops, *scopes;
    const at_name_scope *scope; /* of the last op, */
    at_profile_line *in;        /* and its line */
    at_profile_line *known[64]; /* lines of ops, at a place that follows from the op's name */
    int64_t (*clock)(void);     /* ticks, from any origin */
    int64_t first_tick, first_ns;
    double ns;            /* of a tick, since then */
    int number;           /* of the tape among those profiled, from 1 on; 0: nothing is measured */
    bool began;           /* the clock has been read since the last at_profile(t, true) */
    int64_t since, spent; /* the last reading, and spent_here then */
    int64_t all_else;     /* ticks in no op and no region */
    int woken, wakes;     /* at_wake_ups() at the last reading; since the first one, in all */
    int rewinds;
    at_profile_line *region; /* the innermost that is open, or NULL */
    size_t before, peak;     /* step memory at the last reading, and at most at a rewind */
    double flops;            /* of the op that runs */
};

static _Thread_local int64_t spent_here; /* ticks that the tapes of this thread charged to a line */
static int profiled_tapes;

bool at_profile(at_tape *t, bool on)
{
    if (!t) return false;
    bool before = t->profiled;
    if (on && !t->profile) {
        t->profile = at_alloc_in(t, &t->permanent, sizeof *t->profile);
        if (!t->profile) return before;
        *t->profile = (at_profile_state){.clock = at_cycles_are_even() ? at_cycles : at_now_ns,
                                         .first_tick = at_cycles(),
                                         .first_ns = at_now_ns()};
    }
    if (t->profile && before != on) t->profile->began = false;
    t->profiled = on;
    return before;
}

static void profile_clear(at_profile_line *l)
{
    for (; l; l = l->next) memset(l->of, 0, sizeof l->of);
}

void at_profile_reset(at_tape *t)
{
    at_profile_state *p = t ? t->profile : NULL;
    if (!p) return;
    profile_clear(p->ops);
    profile_clear(p->scopes);
    p->began = false;
    p->wakes = p->rewinds = 0;
    p->all_else = 0;
    p->peak = 0;
}

void at_profile_clock(at_tape *t, int64_t (*clock)(void))
{
    t->profile->clock = clock;
}

/* ------------------------------------------------------------------ measuring ------------------ */

/* The line of this name, made if there is none; NULL after a sticky error. */
static at_profile_line *profile_line(at_tape *t, at_profile_line **list, const char *name)
{
    at_profile_line *l = at_find_named(t, list, name);
    if (l) return l;
    const char *copy = at_intern(t, name);
    l = copy ? at_alloc_in(t, &t->permanent, sizeof *l) : NULL;
    if (!l || !at_set_named(t, list, copy, l)) return NULL;
    *l = (at_profile_line){.next = *list, .name = copy};
    return *list = l;
}

/* The same, without a search if the last op whose name has its place was this one. */
static at_profile_line *profile_line_of_op(at_tape *t, const char *name)
{
    at_profile_state *p = t->profile;
    at_profile_line **known = &p->known[(uintptr_t)name / 8 % 64];
    if (!*known || strcmp((*known)->name, name) != 0) *known = profile_line(t, &p->ops, name);
    return *known;
}

static bool profile_lines_of(at_node *n)
{
    at_profile_state *p = n->tape->profile;
    if (!p->in || n->scope != p->scope) {
        p->scope = n->scope;
        p->in = profile_line(n->tape, &p->scopes, n->scope ? n->scope->prefix : "");
    }
    n->line[0] = p->in ? profile_line_of_op(n->tape, n->op->name) : NULL;
    n->line[1] = p->in;
    return n->line[0];
}

/* The ticks since the last reading, but for those that other tapes spent.  (If the tape has changed
 * its thread, the sums have nothing to do with each other.) */
static int64_t profile_read(at_profile_state *p)
{
    const int64_t now = p->clock(), passed = p->began ? now - p->since : 0;
    int64_t others = spent_here - p->spent;
    if (others < 0 || others > passed) others = 0;
    if (!p->number) p->number = __atomic_add_fetch(&profiled_tapes, 1, __ATOMIC_RELAXED);
    const int woken = at_wake_ups();
    if (p->began) p->wakes += woken - p->woken;
    p->began = true;
    p->woken = woken;
    p->since = now;
    p->spent = spent_here;
    return passed - others;
}

static void profile_charge(at_profile_state *p, profile_sum *s, int64_t ticks)
{
    s->ticks += ticks;
    spent_here += ticks;
    p->spent = spent_here;
}

/* What ends here was no op. */
static void profile_no_op(at_profile_state *p)
{
    const int64_t ticks = profile_read(p);
    if (p->region)
        profile_charge(p, &p->region->of[PROFILE_REGION], ticks);
    else
        p->all_else += ticks;
}

void at_profile_begin(at_tape *t)
{
    at_profile_state *p = t->profile;
    profile_no_op(p);
    p->before = t->step.in_use;
    p->flops = 0;
}

bool at_profile_end(at_node *n, at_direction d)
{
    at_profile_state *p = n->tape->profile;
    if (!n->line[0] && !profile_lines_of(n)) return false;
    const int64_t ticks = profile_read(p);
    size_t taken = n->tape->step.in_use - p->before;
    n->held[d] += taken;
    for (int i = 0; i < 2; i++) {
        profile_sum *s = &n->line[i]->of[d];
        s->calls++;
        if (i) s->ticks += ticks;
        s->flops += p->flops;
        s->taken += (double)taken;
    }
    profile_charge(p, &n->line[0]->of[d], ticks);
    p->before += taken;
    p->flops = 0;
    return true;
}

at_profile_line *at_profile_enter(at_tape *t, const char *name)
{
    if (!t || !t->profiled) return NULL;
    at_profile_state *p = t->profile;
    at_profile_line *outer = p->region;
    profile_no_op(p);
    p->region = profile_line_of_op(t, name);
    if (p->region) p->region->of[PROFILE_REGION].calls++;
    return outer;
}

void at_profile_leave(at_tape *t, at_profile_line *outer)
{
    if (!t || !t->profile) return;
    if (t->profiled) profile_no_op(t->profile);
    t->profile->region = outer;
}

void at_count_flops(const at_node *n, double flops)
{
    if (n && n->tape->profiled) n->tape->profile->flops += flops;
}

bool at_is_profiled(const at_tape *t)
{
    return t && t->profiled;
}

static void profile_forget_held(at_profile_line *l)
{
    for (; l; l = l->next) l->of[AT_FORWARD].held = l->of[AT_BACKWARD].held = 0;
}

static void profile_note_peak(at_tape *t)
{
    at_profile_state *p = t->profile;
    if (t->step.in_use <= p->peak) return;
    p->peak = t->step.in_use;
    profile_forget_held(p->ops);
    profile_forget_held(p->scopes);
    for (const at_node *n = t->first; n; n = n->next)
        for (int i = 0; n->line[0] && i < 2; i++)
            for (int d = 0; d < 2; d++) n->line[i]->of[d].held += n->held[d];
}

void at_profile_rewind(at_tape *t)
{
    t->profile->rewinds++;
    profile_note_peak(t);
}

/* ------------------------------------------------------------------ printing ------------------- */

static const char *profile_text(bool known, const char *format, double x)
{
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE, known ? format : "-", x);
    return text;
}

/* d: which sum of a line it is, -1: of several lines; a mean over those would mean nothing.  tick:
 * nanoseconds */
static void profile_print_sum(FILE *out, int width, const char *name, int d, const profile_sum *s,
                              double tick, int64_t all)
{
    const char *direction = d == AT_FORWARD ? "forward" : d == AT_BACKWARD ? "backward" : "";
    double ns = (double)s->ticks * tick, calls = (double)s->calls;
    fprintf(out, "%-*s %-9s %8s %11.3f %7s %10s %8s %9s %9.3f\n", width, name, direction,
            profile_text(calls > 0, "%.0f", calls), ns * 1e-6,
            profile_text(all > 0, "%.1f %%", 100 * (double)s->ticks / (double)all),
            profile_text(d >= 0, "%.2f", ns * 1e-3 / calls),
            profile_text(s->flops > 0 && ns > 0, "%.1f", s->flops / ns),
            profile_text(*direction, "%.1f", s->taken / 1024 / calls), (double)s->held / (1 << 20));
}

/* The one of the longest time that has not been printed; NULL: all have. */
static at_profile_line *profile_longest(at_profile_line *list, int *direction)
{
    at_profile_line *longest = NULL;
    for (at_profile_line *l = list; l; l = l->next)
        for (int d = 0; d < PROFILE_SUMS; d++) {
            if (l->of[d].printed || l->of[d].calls == 0) continue;
            if (longest && l->of[d].ticks <= longest->of[*direction].ticks) continue;
            longest = l;
            *direction = d;
        }
    return longest;
}

/* "block0.", the prefix of a scope, as "block0" */
static const char *profile_name(const at_profile_line *l)
{
    const ptrdiff_t n = (ptrdiff_t)strlen(l->name);
    return n ? at_shown(l->name, n - (l->name[n - 1] == '.')) : "(no scope)";
}

/* All lines, all else, and the total.  The table of scopes knows no regions. */
static void profile_table(const at_profile_state *p, at_profile_line *list, const char *what,
                          FILE *out)
{
    profile_sum rest = {.ticks = p->all_else, .held = p->peak}, total = {.held = p->peak};
    int d, width = 14;
    for (const at_profile_line *l = p->ops; list != p->ops && l; l = l->next)
        rest.ticks += l->of[PROFILE_REGION].ticks;
    for (at_profile_line *l = list; l; l = l->next) {
        int n = (int)strlen(profile_name(l));
        if (n > width) width = n;
        for (d = 0; d < PROFILE_SUMS; d++) {
            profile_sum *s = &l->of[d];
            if (d != PROFILE_REGION) total.calls += s->calls;
            total.ticks += s->ticks, total.flops += s->flops;
            rest.held -= s->held;
            s->printed = false;
        }
    }
    total.ticks += rest.ticks;
    fprintf(out, "\n%-*s %-9s %8s %11s %7s %10s %8s %9s %9s\n", width, what, "direction", "calls",
            "time ms", "share", "us/call", "GFLOP/s", "KiB/call", "MiB held");
    for (at_profile_line *l; (l = profile_longest(list, &d));) {
        profile_print_sum(out, width, profile_name(l), d, &l->of[d], p->ns, total.ticks);
        l->of[d].printed = true;
    }
    profile_print_sum(out, width, "all else", -1, &rest, p->ns, total.ticks);
    profile_print_sum(out, width, "total", -1, &total, p->ns, total.ticks);
}

static void profile_print_memory(const at_tape *t, FILE *out)
{
    double data = 0, grads = 0, states = 0, permanent = (double)t->permanent.in_use;
    for (int i = 0; i < t->n_params; i++) {
        if (!at_is_read_only(t->params[i])) data += (double)at_bytes(t->params[i]);
        if (t->params[i]->grad_memory) grads += (double)at_bytes(t->params[i]);
    }
    for (int i = 0; i < t->n_states; i++) states += (double)at_bytes(t->states[i].x);
    double scratch = (double)t->scratch.in_use, peak = (double)t->profile->peak;
    const struct {
        const char *what;
        double bytes;
    } of[] = {{"parameters", data},
              {"gradients of parameters", grads},
              {"states of parameters (optimizer)", states},
              {"all else until at_close", permanent - data - grads - states},
              {"scratch memory of ops", scratch},
              {"steps at their peak", peak},
              {"total", permanent + scratch + peak}};
    fprintf(out, "\n%-32s %9s\n", "memory", "MiB");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        fprintf(out, "%-32s %9.3f\n", of[i].what, of[i].bytes / (1 << 20));
}

void at_profile_print(at_tape *t, FILE *out)
{
    if (!out) at_fail(t, ATTIC_USER_ERROR, "profile_print: there is no file to print to");
    if (!out || !t) return;
    at_profile_state *p = t->profile;
    if (!p || !p->scopes) {
        fputs("profile: no op has run while it was on (at_profile, or ATTIC_PROFILE=1)\n", out);
        return;
    }
    void *locale = at_point_begin();
    profile_note_peak(t);
    int64_t ticks = at_cycles() - p->first_tick, ns = at_now_ns() - p->first_ns;
    p->ns = p->clock == at_cycles && ticks > 0 ? (double)ns / (double)ticks : 1;
    const char *name = at_described(t, "tape");
    fprintf(out, "profile of tape %d%s%s (%s, seed %llu)\n", p->number, name ? ", " : "",
            name ? at_shown(name, -1) : "", at_dtype_text(t->real), (unsigned long long)t->seed);
    profile_table(p, p->ops, "op", out);
    if (p->scopes->next || *p->scopes->name) profile_table(p, p->scopes, "scope", out);
    profile_print_memory(t, out);
    fprintf(out, "\nwake-ups of threads: %d, %s per rewind\n", p->wakes,
            profile_text(p->rewinds > 0, "%.2f", (double)p->wakes / p->rewinds));
    at_point_end(locale);
}

void at_profile_open(at_tape *t)
{
    const char *asked = getenv("ATTIC_PROFILE");
    if (!asked || !*asked || strcmp(asked, "0") == 0) return;
    t->profile_at_close = true;
    at_profile(t, true);
}

void at_profile_close(at_tape *t)
{
    if (t->profile_at_close && t->profile && t->profile->scopes) at_profile_print(t, stderr);
}
