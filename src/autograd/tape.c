/* tape.c -- opening and closing a tape, its scopes, its modes; see tape.h.
 *
 * The tape is in its own permanent arena, so that closing it is giving back its arenas. */
#include "autograd/state.h"

#include <stdarg.h>

#include "system/system.h"
#include "system/target.h"
#include "version.h"

at_tape *at_open(at_dtype real, uint64_t seed)
{
    if (real != ATTIC_F32 && real != ATTIC_F64 && real != ATTIC_DUAL) return NULL;
    at_arena home = {0};
    at_tape *t = at_arena_alloc(&home, sizeof *t);
    if (!t) {
        at_arena_free(&home);
        return NULL;
    }
    *t = (at_tape){.real = real, .seed = seed, .permanent = home, .training = true};
    at_profile_open(t);
    if (at_target_is_unsupported(t->message, sizeof t->message)) t->kind = ATTIC_USER_ERROR;
    if (at_left_out_by(real))
        at_fail(t, ATTIC_USER_ERROR, "open: this library was compiled with %s, without %s",
                at_left_out_by(real), at_dtype_text(real));
    return t;
}

void at_close(at_tape *t)
{
    if (!t) return;
    at_profile_close(t);
    for (const at_closing *c = t->closing; c; c = c->older) c->free_it(c->p);
    at_arena permanent = t->permanent; /* t itself is in there */
    at_arena_free(&t->step);
    at_arena_free(&t->scratch);
    at_arena_free(&permanent);
}

bool at_on_close(at_tape *t, void (*free_it)(void *p), void *p)
{
    if (!free_it) return at_fail(t, ATTIC_USER_ERROR, "on_close: the function to call is NULL");
    at_closing *c = t ? at_arena_alloc(&t->permanent, sizeof *c) : NULL;
    if (!c) {
        free_it(p);
        return at_fail(t, ATTIC_MEMORY_ERROR, "out of memory: %zu more bytes were needed",
                       sizeof *c);
    }
    *c = (at_closing){t->closing, free_it, p};
    t->closing = c;
    return true;
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

/* ------------------------------------------------------------------ scopes --------------------- */

/* Scopes outlive the steps that open them: they are in permanent memory and are found again. */
static const at_name_scope *scope_named(at_tape *t, const char *name)
{
    AT_REQUIRE(t, name, "scope: the name is NULL");
    at_name_scope *s = at_find_named(t, t->scope, name);
    if (s) return s;
    s = at_alloc_in(t, &t->permanent, sizeof *s);
    const char *copy = at_intern(t, name), *prefix = at_join(t, at_prefix(t), name, ".");
    if (!s || !copy || !prefix || !at_set_named(t, t->scope, copy, s)) return NULL;
    *s = (at_name_scope){copy, prefix, t->scope};
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

void at_scopef(at_tape *t, const char *format, ...)
{
    char name[AT_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    void *locale = at_point_begin();
    const int n = format ? vsnprintf(name, sizeof name, format, args) : 0;
    at_point_end(locale);
    va_end(args);
    if (n < 0)
        at_fail(t, ATTIC_USER_ERROR, "scope: vsnprintf makes no name by \"%s\"",
                at_shown(format, -1));
    if (n >= AT_TEXT_SIZE)
        at_fail(t, ATTIC_USER_ERROR, "scope: the name by \"%s\" has more than %d bytes",
                at_shown(format, -1), AT_TEXT_SIZE - 1);
    at_scope(t, format ? name : NULL);
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

bool at_reuse_memory(at_tape *t, bool on)
{
    return t && exchange(&t->reuse, on);
}

bool at_anomaly(at_tape *t, bool on)
{
    return t && exchange(&t->anomaly, on);
}

bool at_is_self_checking(const at_tape *t)
{
    return t && t->self_check;
}

bool at_self_check(at_tape *t, bool on)
{
    return t && exchange(&t->self_check, on);
}

int at_preferred_path(const at_tape *t)
{
    return t ? t->attention_path : 0;
}

void at_prefer_path(at_tape *t, int path)
{
    t->attention_path = path;
}

at_stream at_draw(at_tape *t)
{
    return t ? (at_stream){t->seed, t->draws++} : (at_stream){0, 0};
}

/*      63     62 .. 32     31 .. 20     19 .. 0
 *      1      step         micro        draws      */
bool at_draws_set(at_tape *t, int64_t step, int micro)
{
    AT_REQUIRE(t, step >= 0 && step <= INT32_MAX, "draws_set: step is %lld, but must be 0 .. %d",
               (long long)step, INT32_MAX);
    AT_REQUIRE(t, micro >= 0 && micro < 1 << 12, "draws_set: micro is %d, but must be 0 .. %d",
               micro, (1 << 12) - 1);
    t->draws = (uint64_t)1 << 63 | (uint64_t)step << 32 | (uint64_t)micro << 20;
    return true;
}

uint64_t *at_draw_count(at_tape *t)
{
    return &t->draws;
}

at_node *at_first_node(const at_tape *t)
{
    return t ? t->first : NULL;
}
