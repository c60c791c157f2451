/* pickers.h -- an argument as it should be, or an absurd one; scripts/misuse.awk writes the calls.
 *
 * The absurd values of all arguments of a call, one after the other, are numbered.  any_int("n", 3) is 3, but for the
 * number, or the two, that are chosen:
 *
 *     at_slice(t, x, axis, from, to)
 *              |  |  |     |     INT_MIN INT_MAX ... 42 43 44
 *              0  1 2 ...                            chosen: 43
 *
 * Of a struct every field is such an argument; besides, it may be all zero, or filled: each field then has its k-th
 * value. */
#ifndef ATTIC_TESTS_PICKERS_H
#define ATTIC_TESTS_PICKERS_H
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "misuse/world.h"

enum { FILLS = 5, NOTHING = -1 };

static struct {
    int chosen[2];                                     /* numbers of values */
    int fill;                                          /* each argument has this value */
    bool nulls;                                        /* each pointer is NULL */
    bool has_tape;                                     /* a tape was an argument before */
    int empty;                                         /* the first tensor is this empty one, */
    enum { FIRST_EMPTY, ARGS_EMPTY, ALL_EMPTY } which; /* all of the call, those in structs, too */
    int seen;                                          /* values that were passed */
    char outer[60];                                    /* "args." within a struct */
    char *text;                                        /* what was chosen, in words */
    size_t text_size;
    bool empty_alone; /* nothing was chosen but tensors without elements */
} choice;

__attribute__((format(printf, 2, 3))) static void say(const char *name, const char *format, ...)
{
    size_t at = strlen(choice.text);
    va_list args;
    va_start(args, format);
    if (at + 100 < choice.text_size) {
        at += (size_t)snprintf(choice.text + at, 100, "%s%s%.30s = ", at ? ", " : "", choice.outer,
                               name);
        vsnprintf(choice.text + at, choice.text_size - at, format, args);
    }
    va_end(args);
    choice.empty_alone = false;
}

static bool is_chosen(void)
{
    int i = choice.seen++;
    return i == choice.chosen[0] || i == choice.chosen[1];
}

/* Which of n values an argument has: NOTHING for its base. */
static int chosen_of(int n)
{
    int at = NOTHING;
    for (int i = 0; i < n; i++)
        if (is_chosen()) at = i;
    return choice.fill != NOTHING ? choice.fill % n : at;
}

static int fill_here(const char *name)
{
    int before = choice.fill;
    for (int k = 0; k < FILLS; k++)
        if (is_chosen()) choice.fill = k, say(name, "filled with extremes, %d", k);
    return before;
}

static char *enter(const char *name)
{
    static char stack[8][sizeof choice.outer];
    static int depth;
    char *before = strcpy(stack[depth++ % 8], choice.outer);
    snprintf(choice.outer + strlen(before), sizeof choice.outer - strlen(before), "%.20s.", name);
    return before;
}

static void leave(const char *before, int fill)
{
    strcpy(choice.outer, before);
    choice.fill = fill;
}

#define ANY_NUMBER(picker, type, format, ...)                                                      \
    __attribute__((unused)) static type picker(const char *name, type base)                        \
    {                                                                                              \
        static const type value[] = {__VA_ARGS__};                                                 \
        int i = chosen_of((int)(sizeof value / sizeof *value));                                    \
        if (i == NOTHING) return base;                                                             \
        say(name, format, value[i]);                                                               \
        return value[i];                                                                           \
    }
ANY_NUMBER(any_int, int, "%d", INT_MIN, INT_MAX, -1, 0, INT_MAX - 1, INT_MIN + 1, 1, 7)
ANY_NUMBER(any_unsigned, unsigned, "%u", 0, UINT_MAX, 1)
ANY_NUMBER(any_double, double, "%g", (double)NAN, (double)INFINITY, -(double)INFINITY, 1e308, 0,
           -1e308, -1, 5e-324)
ANY_NUMBER(any_ptrdiff_t, ptrdiff_t, "%td", PTRDIFF_MIN, PTRDIFF_MAX, -1, 0, PTRDIFF_MAX - 1, 7)
ANY_NUMBER(any_size_t, size_t, "%zu", 0, SIZE_MAX, SIZE_MAX / 2, SIZE_MAX - 63, 1)
ANY_NUMBER(any_int64_t, int64_t, "%" PRId64, INT64_MIN, INT64_MAX, -1, 0, 7)
ANY_NUMBER(any_uint64_t, uint64_t, "%" PRIu64, 0, UINT64_MAX, 1)

static bool any_bool(const char *name, bool base)
{
    if (chosen_of(2) != 1) return base;
    say(name, base ? "false" : "true");
    return !base;
}

/* How long an array is: never longer than it is, or no length at all. */
#define any_negative(name, n)                                                                      \
    do {                                                                                           \
        int i_of_n = chosen_of(2);                                                                 \
        if (i_of_n != NOTHING) n = i_of_n ? -1 : INT_MIN, say(name, "%d", (int)(n));               \
    } while (0)
#define any_count(name, n)                                                                         \
    do {                                                                                           \
        static const int value_of_n[] = {INT_MIN, -1, 0};                                          \
        int i_of_n = chosen_of(3);                                                                 \
        if (i_of_n != NOTHING) n = (__typeof__(n))value_of_n[i_of_n], say(name, "%d", (int)(n));   \
    } while (0)
#define any_at_enum(name, e)                                                                       \
    do {                                                                                           \
        static const int value_of_e[] = {INT_MAX, -1, INT_MIN, 0, 1, 2, 3, 4, 5, 6, 7, 8};         \
        int i_of_e = chosen_of(12);                                                                \
        if (i_of_e != NOTHING) e = (__typeof__(e))value_of_e[i_of_e], say(name, "%d", (int)(e));   \
    } while (0)

/* ------------------------------------------------------------------ pointers ------------------- */

static bool is_null(const char *name)
{
    bool chosen = chosen_of(2) == 0 || choice.nulls;
    if (chosen) say(name, "NULL");
    return chosen;
}

#define any_fn(name, f)                                                                            \
    do {                                                                                           \
        if (is_null(name)) f = NULL;                                                               \
    } while (0)
#define NULL_OR(picker, type)                                                                      \
    __attribute__((unused)) static type *picker(const char *name, const type *base)                \
    {                                                                                              \
        return is_null(name) ? NULL : (type *)(uintptr_t)base;                                     \
    }
NULL_OR(any_void_p, void)
NULL_OR(any_double_p, double)
NULL_OR(any_float_p, float)
NULL_OR(any_int_p, int)
NULL_OR(any_int32_t_p, int32_t)
NULL_OR(any_int64_t_p, int64_t)
NULL_OR(any_uint32_t_p, uint32_t)
NULL_OR(any_uint64_t_p, uint64_t)
NULL_OR(any_ptrdiff_t_p, ptrdiff_t)
NULL_OR(any_uchar_p, unsigned char)
NULL_OR(any_bool_p, bool)
NULL_OR(any_at_data_p, at_data)
NULL_OR(any_at_tokenizer_p, at_tokenizer)
NULL_OR(any_at_tensors_p, at_tensors)
NULL_OR(any_at_run_p, at_run)
NULL_OR(any_at_writer_p, at_writer)
NULL_OR(any_at_node_p, at_node)
NULL_OR(any_at_op_p, at_op)

/* The tape of everything, one that has failed, another one. */
static at_tape *any_at_tape_p(const char *name, const at_tape *base)
{
    int i = choice.nulls ? 0 : chosen_of(4);
    choice.has_tape = true;
    if (i == NOTHING) return (at_tape *)(uintptr_t)base;
    say(name, "%s",
        (const char *const[]){"NULL", "a failed tape", "another tape", "a tape of f64"}[i]);
    if (i == 1) world.failing = base;
    return i == 0 ? NULL : i == 1 ? (at_tape *)(uintptr_t)base : i == 2 ? world.other : world.f64;
}

static at_tape *any_closed(const char *name, at_tape *base)
{
    if (!is_null(name)) return base;
    at_close(base);
    return NULL;
}

static at_run *any_closed_run(const char *name, at_run *base)
{
    if (is_null(name)) return NULL;
    world.run = NULL;
    return base;
}

static FILE *any_closed_file(const char *name, FILE *base)
{
    int i = choice.nulls ? 0 : chosen_of(2);
    if (i == NOTHING) return base;
    if (base) fclose(base);
    say(name, i ? "a full device" : "NULL");
    return i ? fopen("/dev/full", "w") : NULL;
}

static FILE *any_FILE_p(const char *name, FILE *base)
{
    int i = choice.nulls ? 0 : chosen_of(2);
    if (i == NOTHING) return base;
    say(name, i ? "a full device" : "NULL");
    return i ? world.full : NULL;
}

static char *any_char_p(const char *name, const char *base)
{
    static const char *const value[] = {
        NULL,   "",   "\xff\xfe\x80\x1b[2J\x07", "%s%n%s%n", ",", "*", "a=b=c", "*=*,*=*",
        "../.", "\n", "99999999999999999999"};
    const int n = (int)(sizeof value / sizeof *value);
    int i = choice.nulls ? 0 : chosen_of(n + 1);
    if (i == NOTHING) return (char *)(uintptr_t)base;
    say(name, i == n ? "a text of 100,000 letters" : value[i] ? "text %d" : "NULL", i);
    return (char *)(uintptr_t)(i == n ? long_text() : value[i]);
}

static char **any_char_p_p(const char *name, const void *base)
{
    static const char *const holes[4] = {NULL};
    int i = choice.nulls ? 0 : chosen_of(2);
    if (i == NOTHING) return (char **)(uintptr_t)base;
    say(name, i ? "a list of NULL" : "NULL");
    return i ? (char **)(uintptr_t)holes : NULL;
}

/* ------------------------------------------------------------------ tensors and shapes --------- */

static at_shape any_at_shape(const char *name, at_shape base)
{
    static const at_shape value[] = {
        {INT_MIN, {0}},
        {INT_MAX, {INT_MAX, INT_MAX, INT_MAX}},
        {9, {1, 1, 1, 1, 1, 1, 1, 1}},
        {-1, {2, 3}},
        {3, {0, INT_MAX, INT_MAX - 1}},
        {3, {INT_MAX, INT_MAX - 1, 0}},
        {8, {INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX}},
        {8, {INT_MIN, INT_MIN, INT_MIN, INT_MIN, INT_MIN, INT_MIN, INT_MIN, INT_MIN}},
        {2, {-1, -1}},
        {2, {-1, 0}},
        {1, {INT_MIN}},
        {1, {INT_MAX}},
        {2, {0, 0}},
        {0, {0}}};
    int i = chosen_of((int)(sizeof value / sizeof *value));
    if (i == NOTHING) return base;
    say(name, "%s with ndim = %d", at_shape_text(value[i]), value[i].ndim);
    return value[i];
}

enum { EMPTY_TENSORS = 5 }; /* the first values of a tensor, behind NULL */
static at_tensor *any_at_tensor_p(const char *name, const at_tensor *base)
{
    static const char *const text[] = {"NULL",
                                       "[0,2^31-1,2^31-2]",
                                       "[2^31-1,2^31-2,0]",
                                       "[2^31-1,0,2^31-2]",
                                       "i32 [0,2^31-1,2^31-2]",
                                       "bool [0,2^31-1,2^31-2]",
                                       "of another tape",
                                       "forgotten by a rewind",
                                       "reused by a backward",
                                       "i32 [2,3]",
                                       "bool [2,3]",
                                       "f16 [2,3]",
                                       "i32 of extremes",
                                       "NaN and infinities",
                                       "[]",
                                       "[1,1,1,1,1,1,1,1]",
                                       "[0]"};
    int i = choice.nulls ? 0 : chosen_of((int)(sizeof text / sizeof *text));
    if (choice.empty) {
        i = choice.empty > 0 && (!*choice.outer || choice.which == ALL_EMPTY) ? choice.empty : 0;
        if (choice.which == FIRST_EMPTY) choice.empty = -1;
    }
    /* Without a tape it is read before it is known to be of no use. */
    if (i > 0 && strcmp(text[i], "forgotten by a rewind") == 0 && !choice.has_tape) i = NOTHING;
    if (i == NOTHING) return (at_tensor *)(uintptr_t)base;
    bool only_empty = choice.empty_alone && (choice.empty || (i >= 1 && i <= EMPTY_TENSORS));
    say(name, "%s", text[i]);
    choice.empty_alone = only_empty;
    return i ? strange_tensor(text[i]) : NULL;
}

static at_tensor **any_at_tensor_p_p(const char *name, at_tensor *const *base)
{
    static at_tensor *list[4];
    int i = choice.nulls ? 0 : chosen_of(4);
    if (i == NOTHING) return (at_tensor **)(uintptr_t)base;
    say(name, "%s",
        (const char *const[]){"NULL", "a list of NULL", "a list of i32 tensors",
                              "a list of empty tensors"}[i]);
    for (int k = 0; k < 4; k++)
        list[k] = i < 2 ? NULL : strange_tensor(i == 2 ? "i32 [2,3]" : "[0,2^31-1,2^31-2]");
    return i ? list : NULL;
}

#endif
