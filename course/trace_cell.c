/* trace_cell.c -- one cell of each matrix worked out with its numbers; see trace.h. */
#include "trace.h"

#include <stdio.h>

static bool has_rows_of_keys(steps_name what)
{
    return what == STEPS_K || what == STEPS_V || what == STEPS_DK || what == STEPS_DV;
}

static bool has_columns_of_keys(steps_name what)
{
    return (what >= STEPS_BIAS && what <= STEPS_A) || what == STEPS_DW ||
           (what >= STEPS_DA && what <= STEPS_DP) || (what >= STEPS_DS && what <= STEPS_DR);
}

static int at_most(int i, int n)
{
    return i < n ? i : n - 1;
}

int trace_row_of(const trace *t, steps_name what)
{
    return at_most(has_rows_of_keys(what) ? t->j : t->i, t->a->dim[what][1]);
}

int trace_column_of(const trace *t, steps_name what)
{
    return has_columns_of_keys(what) ? at_most(t->j, t->a->dim[what][2]) : 0;
}

static double log_of_element(const void *t, steps_name what, int i, int j)
{
    return ((const trace *)t)->log_of[what][i * ((const trace *)t)->a->dim[what][2] + j];
}

static const char *hidden_in(const void *t, int i, int j)
{
    return trace_hidden(t, i, j);
}

arithmetic_style trace_style(const trace *t)
{
    return (arithmetic_style){.a = t->a,
                              .decimals = true,
                              .tokens = t->o.self,
                              .log_of = log_of_element,
                              .hidden = hidden_in,
                              .context = t};
}

const char *trace_name_of(const trace *t, steps_name what)
{
    static char name[60];
    const arithmetic_style style = trace_style(t);
    arithmetic_name(&style, what, 0, trace_row_of(t, what), trace_column_of(t, what), name);
    return name;
}

const char *trace_worked(const trace *t, steps_name what)
{
    static arithmetic w;
    static char text[sizeof w.text + sizeof w.note + 4];
    const arithmetic_style style = trace_style(t);
    text[0] = 0;
    if (steps_texts[what].step == 0 || what == STEPS_DU) return text;
    if ((what == STEPS_U || what == STEPS_DX) && !trace_step_is_on(t, 3)) return text;
    if (what == STEPS_DBIAS && !trace_step_is_on(t, 4)) return text;
    arithmetic_of(&style, what, 0, trace_row_of(t, what), trace_column_of(t, what), &w);
    snprintf(text, sizeof text, "%s%s%s", w.text, *w.note ? ".  " : "", w.note);
    return text;
}
