/* errors.c -- the first error of a tape, the inputs that are refused with one, and memory, which
 * can run out: what every other file here stands on. */
#include "autograd/state.h"

#include <stdarg.h>

#include "system/system.h"
#include "system/utf8.h"

bool at_ok(const at_tape *t)
{
    return t && t->kind == ATTIC_OK;
}

const char *at_error(const at_tape *t)
{
    return t ? t->message : "out of memory: there is no tape";
}

at_error_kind at_error_kind_of(const at_tape *t)
{
    return t ? t->kind : ATTIC_MEMORY_ERROR;
}

void at_clear_error(at_tape *t)
{
    if (!t) return;
    t->kind = ATTIC_OK;
    t->message[0] = 0;
}

void *at_fail(at_tape *t, at_error_kind kind, const char *format, ...)
{
    if (!at_ok(t)) return NULL;
    char text[8192];
    va_list args;
    va_start(args, format);
    void *locale = at_point_begin();
    vsnprintf(text, sizeof text, format, args);
    at_point_end(locale);
    va_end(args);
    at_show(t->message, sizeof t->message, text, (ptrdiff_t)strlen(text));
    t->kind = kind;
    return NULL;
}

at_ownership at_tensor_find(const at_tape *t, const at_tensor *x)
{
    if (at_arena_is_recent(&t->step, x) || at_arena_is_recent(&t->permanent, x)) return ATTIC_LIVE;
    at_ownership here = at_arena_find(&t->step, x);
    return here == ATTIC_OUTSIDE ? at_arena_find(&t->permanent, x) : here;
}

/* x is not read before it is known where it is. */
bool at_check_alive(at_tape *t, const char *op, const char *arg, const at_tensor *x)
{
    if (!at_ok(t)) return false;
    if (!x) return at_fail(t, ATTIC_USER_ERROR, "%s: %s is NULL", op, arg);
    at_ownership place = at_tensor_find(t, x);
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
                       "%s: the memory of %s %s was reused by a backward (at_reuse_memory is on)",
                       op, arg, at_text(x));
    return true;
}

bool at_check_input(at_tape *t, const char *op, const char *arg, const at_tensor *x, at_dtype d)
{
    if (!at_check_any(t, op, arg, x)) return false;
    if (d == ATTIC_REAL) d = t->real;
    if (x->dtype != d)
        at_fail(t, ATTIC_USER_ERROR, "%s: %s %s has dtype %s but must be %s%s", op, arg, at_text(x),
                at_dtype_text(x->dtype), at_dtype_text(d),
                at_is_half(x->dtype) && d == t->real ? " (at_cast converts it)" : "");
    return at_ok(t);
}

bool at_check_stored(at_tape *t, const char *op, const char *arg, const at_tensor *x)
{
    return at_check_any(t, op, arg, x) &&
           (at_is_half(x->dtype) || at_check_input(t, op, arg, x, ATTIC_REAL));
}

bool at_check_number(at_tape *t, const char *op, const char *arg, double value)
{
    AT_REQUIRE(t, isfinite(value) && at_can_hold(t->real, value),
               "%s: %s is %g, but must be a finite %s", op, arg, value, at_dtype_text(t->real));
    return true;
}

bool at_check_eps(at_tape *t, const char *op, double eps)
{
    AT_REQUIRE(t, eps >= 0 && isfinite(eps), "%s: eps is %g but must be finite and >= 0", op, eps);
    return eps == 0 ||
           (at_check_number(t, op, "eps", eps) && at_check_number(t, op, "1 / eps", 1 / eps));
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

void *at_scratch(const at_node *n, int slot)
{
    if (!n || slot < 0 || slot >= n->slots || !n->scratch) return NULL;
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
