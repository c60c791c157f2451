/* trace_block.c -- trace --block: what it is given, and its numerical values; see trace_block.h. */
#include "trace_block.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attic.h"
#include "common/options.h"

static void need(const void *memory)
{
    if (memory) return;
    fprintf(stderr, "trace: no memory\n");
    exit(1);
}

/* ------------------------------------------------------------------ what it is given ----------- */

static void refuse_what_is_no_block(const trace_options *o)
{
    const struct {
        const char *name;
        bool given;
    } of_attention[] = {{"Q", *o->Q},
                        {"K", *o->K},
                        {"V", *o->V},
                        {"dO", *o->dO},
                        {"bias", *o->bias},
                        {"mask", *o->mask},
                        {"window", *o->window},
                        {"self", o->self},
                        {"temperature", o->temperature != 1},
                        {"keys", o->N},
                        {"softcap", o->softcap != 0},
                        {"dropout", o->dropout != 0}};
    for (size_t k = 0; k < sizeof of_attention / sizeof *of_attention; k++)
        if (of_attention[k].given)
            trace_fail("--%s is for one attention: leave it out with --block",
                       of_attention[k].name);
    if (o->paper &&
        (o->T || o->D || o->Dv || o->C || o->scale != 0 || (o->H && o->H != 2) || o->G > 2))
        trace_fail(
            "--block --paper has sizes and a scale of its own; --kv-heads 1 is its other half");
}

static int or_else(int n, int otherwise)
{
    return n ? n : otherwise;
}

static block *open_block(const trace_options *o)
{
    refuse_what_is_no_block(o);
    if (o->paper) return block_paper(or_else(o->G, 2));
    block_problem p = {.T = or_else(o->T, 3),
                       .H = or_else(o->H, 2),
                       .D = or_else(o->D, 2),
                       .scale = o->scale,
                       .causal = o->causal};
    p.G = or_else(o->G, p.H), p.Dv = or_else(o->Dv, p.D), p.C = or_else(o->C, p.H * p.D);
    if (p.H % p.G)
        trace_fail("--kv-heads must divide --heads: %d heads can't share %d keys", p.H, p.G);
    if (p.H * p.D > TRACE_MAX || p.H * p.Dv > TRACE_MAX || p.C > TRACE_MAX)
        trace_fail("%d heads of size %d, with values of size %d, are more than %d columns", p.H,
                   p.D, p.Dv, TRACE_MAX);
    return block_draw((uint64_t)o->seed, &p);
}

/* "dX" or, of a head, "P_h1"; BLOCK_COUNT: there is none */
static block_name read_name(const block *b, const char **text, int *head)
{
    const size_t n = strcspn(*text, ":[");
    for (block_name k = 0; k < BLOCK_COUNT; k++) {
        const char *name = block_texts[k].name;
        const size_t length = strlen(name);
        if (n < length || strncmp(*text, name, length) != 0) continue;
        const char *rest = *text + length;
        double h = 0;
        const bool of_head = b->dim[k][0] > 1 && strncmp(rest, "_h", 2) == 0;
        if (of_head) rest += 2;
        if (of_head && !read_number(&rest, false, &h)) continue;
        if ((*rest != ':' && *rest != '[') || h >= b->dim[k][0]) continue;
        *head = (int)h, *text = rest + 1;
        return k;
    }
    return BLOCK_COUNT;
}

/* A row or a column: its number, or what tables call it, t1, c2 or h1d0 */
static bool read_place(const block *b, block_name what, bool columns, const char **text, int *i)
{
    const int n = b->dim[what][1 + columns];
    char label[BLOCK_CELL_LABEL];
    double x;
    for (*i = 0; *i < n; ++*i) {
        block_cell_label(b, what, columns, *i, label);
        const size_t length = strlen(label);
        if (strncmp(*text, label, length) != 0 || isalnum((unsigned char)(*text)[length])) continue;
        *text += length;
        return true;
    }
    if (!read_number(text, false, &x) || x < 0 || x >= n) return false;
    *i = (int)x;
    return true;
}

/* Where a row, or a column, of the matrix of --cell is what the others show, too */
static void set_axis(block_trace *t, block_name what, bool columns, int i)
{
    char label[BLOCK_CELL_LABEL];
    block_cell_label(t->b, what, columns, i, label);
    if (*label == 't')
        *(columns ? &t->key : &t->token) = i;
    else if (*label == 'c')
        t->c = i;
    else
        t->column = i;
}

static void refuse_cell(const block *b, block_name what, const char *cell)
{
    char sizes[80] = "";
    const int *dim = b->dim[what < BLOCK_COUNT ? what : 0];
    if (what == BLOCK_DELTA)
        snprintf(sizes, sizeof sizes, "; delta has %d heads of %d tokens", dim[0], dim[1]);
    else if (what < BLOCK_COUNT)
        snprintf(sizes, sizeof sizes, "; %s has %d rows and %d columns", block_texts[what].name,
                 dim[1], dim[2]);
    trace_fail(
        "--cell must be a matrix, a row and a column of it, such as dX:1,1 or P_h1[t1,t0], not "
        "\"%s\"%s",
        cell, sizes);
}

static void choose_cell(block_trace *t)
{
    const block *b = t->b;
    const char *text = *t->o->cell ? t->o->cell : t->o->paper ? "dX:1,1" : "dX:0,0";
    int head = 0, i = 0, j = 0;
    const block_name what = read_name(b, &text, &head);
    t->token = b->p.T > 1, t->column = b->p.H * b->p.D - 1, t->c = b->p.C - 1;
    const bool bracket = what < BLOCK_COUNT && text[-1] == '[';
    bool ok = what < BLOCK_COUNT && read_place(b, what, false, &text, &i);
    if (ok && what != BLOCK_DELTA) ok = *text++ == ',' && read_place(b, what, true, &text, &j);
    if (ok && bracket) ok = *text++ == ']';
    if (!ok || *text) refuse_cell(b, what, t->o->cell);
    if (b->dim[what][0] > 1) t->column = head * b->p.D;
    set_axis(t, what, false, i);
    if (what != BLOCK_DELTA) set_axis(t, what, true, j);
}

void block_trace_cell(const block_trace *t, block_name what, int cell[3])
{
    const int *dim = t->b->dim[what];
    char label[BLOCK_CELL_LABEL];
    cell[0] = dim[0] > 1 ? t->column / t->b->p.D : 0;
    for (int axis = 0; axis < 2; axis++) {
        block_cell_label(t->b, what, axis, 0, label);
        const int i = *label == 'c'           ? t->c
                      : *label == 't' && axis ? t->key
                      : *label == 't'         ? t->token
                                              : t->column;
        cell[1 + axis] = i < dim[1 + axis] ? i : dim[1 + axis] - 1;
    }
}

const char *block_trace_worked(const block_trace *t, block_name what)
{
    static char text[BLOCK_CELL_TEXT];
    int cell[3];
    block_trace_cell(t, what, cell);
    text[0] = 0;
    if (strcmp(block_texts[what].formula, "given") != 0)
        block_cell_text(&t->style, what, cell[0], cell[1], cell[2], text);
    return text;
}

const char *block_trace_named(const block_trace *t, block_name what, double x)
{
    static char text[400];
    int cell[3], n = 0;
    uint64_t mistakes;
    block_trace_cell(t, what, cell);
    if (!block_mistakes_giving(t->b, what, cell, x, 0.005, &mistakes)) need(NULL);
    text[0] = 0;
    for (block_mistake m = 1; m < BLOCK_MISTAKES; m++)
        if (mistakes >> m & 1 && n < 300)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s\"%s\"",
                          n ? " or " : "Your number is that of the mistake ",
                          block_mistakes_texts[m].name);
    if (n) snprintf(text + n, sizeof text - (size_t)n, ".");
    return text;
}

/* ------------------------------------------------------------------ numerical values ----------- */

static void compare_gradient(block_trace *t, block_name what)
{
    const int heads = t->b->dim[what][0];
    const ptrdiff_t size = block_size(t->b, what) / heads;
    t->numerical[what] = calloc((size_t)heads, sizeof *t->numerical[what]);
    need(t->numerical[what]);
    for (int h = 0; h < heads; h++) {
        trace_values *v = &t->numerical[what][h];
        for (ptrdiff_t e = 0; e < size; e++)
            v->n[e] = block_difference(t->b, what, h * size + e, &v->unsure[e]);
        trace_compare((int)size, t->b->at[what] + h * size, t->terms->at[what] + h * size, v,
                      &t->count);
    }
}

static at_tensor *variable_of(at_tape *tape, const block *b, block_name what)
{
    return at_variable(tape, at_shape_of(b->dim[what][1], b->dim[what][2]), b->at[what]);
}

static void compare_with(block_trace *t, block_name what, const at_tensor *x, bool gradient)
{
    const trace_op op = trace_compare_tensor(block_texts[what].name, x, gradient, t->b->at[what],
                                             t->terms->at[what]);
    t->count.differ += !op.agrees;
    t->op[t->n_op++] = op;
}

/* The same by the library: at_sdpa between at_linear */
static bool compare_library(block_trace *t)
{
    const block *b = t->b;
    at_tape *tape = at_open(ATTIC_F64, 1);
    at_tensor *X = at_variable(tape, at_shape_of(1, b->p.T, b->p.C), b->at[BLOCK_X]);
    at_linear W[4];
    for (int k = 0; k < 4; k++)
        W[k] = (at_linear){.W = variable_of(tape, b, BLOCK_WQ + (block_name)k)};
    at_tensor *Q = at_linear_apply(tape, W[0], X), *K = at_linear_apply(tape, W[1], X);
    at_tensor *V = at_linear_apply(tape, W[2], X);
    at_tensor *O = at_sdpa(
        tape, Q, K, V,
        (at_sdpa_args){
            .heads = b->p.H, .kv_heads = b->p.G, .causal = b->p.causal, .scale = b->heads->c});
    at_tensor *Y = at_add(tape, X, at_linear_apply(tape, W[3], O));
    bool ok =
        at_backward_from(tape, Y, at_const(tape, at_shape_of(1, b->p.T, b->p.C), b->at[BLOCK_DY]));
    if (ok) {
        compare_with(t, BLOCK_Y, Y, false);
        compare_with(t, BLOCK_DX, X, true);
        for (int k = 0; k < 4; k++) compare_with(t, BLOCK_DWQ + (block_name)k, W[k].W, true);
    } else {
        fprintf(stderr, "trace: %s\n", at_error(tape));
    }
    at_close(tape);
    return ok;
}

static const char *name_of_mistake(int m)
{
    return block_mistakes_texts[m].name;
}

static void close_trace(block_trace *t)
{
    for (int k = 0; k < BLOCK_COUNT; k++) free(t->numerical[k]);
    block_close_style(&t->style);
    block_close(t->terms);
    block_close(t->b);
}

int trace_block(const trace_options *o, const char *command)
{
    block_trace t = {.o = o, .command = command, .b = open_block(o)};
    need(t.b);
    t.mistake = (block_mistake)trace_find_mistake(o->mistake, BLOCK_MISTAKES, name_of_mistake,
                                                  "course/block_mistakes.h");
    if (!block_can_be_made(&t.b->p, t.mistake))
        trace_fail("\"%s\" can't be made in a block of these sizes",
                   block_mistakes_texts[t.mistake].name);
    choose_cell(&t);
    if (!block_backward_with(t.b, t.mistake)) need(NULL);
    if (!block_open_style(t.b, t.mistake, &t.style)) need(NULL);
    t.terms = block_terms(t.b);
    need(t.terms);
    for (block_name what = BLOCK_DO; !o->quick && what < BLOCK_COUNT; what++)
        compare_gradient(&t, what);
    const bool ok = o->quick || compare_library(&t);
    if (o->json)
        block_trace_json(&t);
    else
        block_trace_print(&t);
    const int differ = t.count.differ, mistaken = t.mistake != BLOCK_RIGHT;
    if (differ && !mistaken)
        fprintf(stderr, "trace: %d times DIFFERS, where nothing should\n", differ);
    close_trace(&t);
    return !ok || (mistaken ? !differ && !o->quick : differ > 0);
}
