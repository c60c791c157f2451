/* trace_block_print.c -- trace --block, printed; see trace_block.h. */
#include "trace_block.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ one matrix ----------------- */

static void print_shape(const block *b, block_name what)
{
    const int *dim = b->dim[what];
    if (what == BLOCK_DELTA)
        printf("%s [%d,%d]\n", block_texts[what].name, dim[0], dim[1]);
    else if (dim[0] > 1)
        printf("%s [%d,%d,%d]\n", block_texts[what].name, dim[0], dim[1], dim[2]);
    else
        printf("%s [%d,%d]\n", block_texts[what].name, dim[1], dim[2]);
}

static trace_layout layout_of(const block_trace *t, block_name what)
{
    const int *dim = t->b->dim[what];
    trace_layout l = {.rows = dim[1],
                      .columns = dim[2],
                      .by = t->mistake ? "with the mistake" : "by the formula"};
    for (int i = 0; i < dim[1]; i++) block_cell_label(t->b, what, false, i, l.row[i]);
    for (int j = 0; j < dim[2]; j++) block_cell_label(t->b, what, true, j, l.column[j]);
    if (what == BLOCK_DELTA) snprintf(l.column[0], sizeof l.column[0], "delta");
    return l;
}

static void print_matrix(const block_trace *t, block_name what)
{
    const trace_layout l = layout_of(t, what);
    const int heads = t->b->dim[what][0];
    const ptrdiff_t size = block_size(t->b, what) / heads;
    for (int h = 0; h < heads; h++) {
        const trace_values *v = t->numerical[what] ? &t->numerical[what][h] : NULL;
        if (heads > 1) printf("\nhead h%d", h);
        trace_laid_out(&l, t->b->at[what] + h * size, v);
    }
}

/* "4.3 + 1.9 ln 3" for each element, if there is a logarithm in any */
static void print_logarithms(const block_trace *t, block_name what)
{
    const int *dim = t->b->dim[what];
    bool any = false;
    char number[BLOCK_CELL_NUMBER], label[BLOCK_CELL_LABEL];
    for (int i = 0; i < dim[1]; i++)
        for (int j = 0; j < dim[2]; j++) {
            block_cell_number(&t->style, what, 0, i, j, number);
            any = any || strstr(number, "ln");
        }
    if (!any || !t->style.one || dim[0] > 1) return;
    printf("    exactly\n");
    for (int i = 0; i < dim[1]; i++) {
        block_cell_label(t->b, what, false, i, label);
        printf("%6s", label);
        for (int j = 0; j < dim[2]; j++) {
            block_cell_number(&t->style, what, 0, i, j, number);
            printf("%18s", number);
        }
        printf("\n");
    }
}

typedef struct {
    const block_trace *t;
    block_name what;
} asked_element;

static const char *named(const void *context, double wrong)
{
    const asked_element *x = context;
    return block_trace_named(x->t, x->what, wrong);
}

static bool is_asked(block_name what)
{
    return block_texts[what].question && what >= BLOCK_O;
}

/* Of the element that is asked for */
static double asked_value(const block_trace *t, block_name what)
{
    int cell[3];
    block_trace_cell(t, what, cell);
    const double x = *block_cell(t->b, what, cell[0], cell[1], cell[2]);
    return fabs(x) < 1e-12 ? 0 : x; /* rounding */
}

/* Of each element that is asked for its sign and, if that is not 0, its value */
static void print_quiz(const block_trace *t)
{
    int answers = 0;
    for (block_name what = 0; what < BLOCK_COUNT; what++)
        if (is_asked(what)) answers += asked_value(t, what) == 0 ? 1 : 2;
    trace_say(0,
              "%d answers are asked for, signs and values in turn; a value may be a sum such as "
              "4.3 + 1.9 ln 3.",
              answers);
    trace_say_how_to_answer();
}

static void ask(const block_trace *t, block_name what)
{
    const block_text *s = &block_texts[what];
    const asked_element context = {t, what};
    int cell[3];
    char name[BLOCK_CELL_NAME];
    block_trace_cell(t, what, cell);
    block_cell_name(t->b, what, cell[0], cell[1], cell[2], name);
    trace_ask_element(&(trace_question){.name = name,
                                        .question = s->question,
                                        .answer = s->answer,
                                        .worked = block_trace_worked(t, what),
                                        .x = asked_value(t, what),
                                        .named = what >= BLOCK_DO ? named : NULL,
                                        .context = &context});
}

static void section(const block_trace *t, block_name what)
{
    const block_text *s = &block_texts[what];
    trace_title("%s", s->formula);
    trace_say(0, "%s", s->sentence);
    print_shape(t->b, what);
    if (t->o->quiz && is_asked(what)) ask(t, what);
    print_matrix(t, what);
    print_logarithms(t, what);
    trace_say(4, "%s", block_trace_worked(t, what));
}

/* ------------------------------------------------------------------ all of it ------------------ */

static void print_opening(const block_trace *t)
{
    const block_problem *p = &t->b->p;
    printf(
        "From tokens to tokens: how does a block compute its output, and how does each token and\n"
        "each weight change the loss?  Each gradient stands beside its numerical value.\n"
        "\nY = X + concat_h(P_h V_h) W_o        loss = sum_tc dY_tc Y_tc\n");
    char shared[60] = "";
    if (p->G < p->H) snprintf(shared, sizeof shared, ", which share G = %d keys and values", p->G);
    trace_say(0,
              "T = %d tokens of C = %d elements; H = %d heads of size D = %d, values of size Dv = "
              "%d%s; %s.",
              p->T, p->C, p->H, p->D, p->Dv, shared,
              p->causal ? "causal" : "every token reads all");
    if (p->scale_log > 0)
        printf(
            "The scale c is ln %g = %.4f: exp(c R) is %g^R, and every gradient is a + b ln %g.\n",
            p->scale_log, t->b->heads->c, p->scale_log, p->scale_log);
    else
        printf("The scale c is %.4g.\n", t->b->heads->c);
    if (t->o->quiz) print_quiz(t);
    if (t->mistake == BLOCK_RIGHT) return;
    const mistake_text *m = &block_mistakes_texts[t->mistake];
    printf("\n");
    trace_say(0, "There is a mistake in the backward below, \"%s\": %s", m->name, m->sentence);
    trace_say(0, "The numerical values know nothing of it.  Where does it show?");
}

static void print_given(const block_trace *t)
{
    trace_title("Given");
    trace_say(0, "Rows and columns have names: t0 is token 0, c0 element 0 of a token, h0 %s.",
              t->b->p.D > 1 || t->b->p.Dv > 1 ? "d0 element 0 of head 0"
                                              : "head 0, whose size is 1");
    for (block_name what = BLOCK_X; what <= BLOCK_WO; what++) {
        printf("\n");
        trace_say(0, "%s [%d,%d]: %s", block_texts[what].name, t->b->dim[what][1],
                  t->b->dim[what][2], block_texts[what].sentence);
        print_matrix(t, what);
    }
}

static void print_loss(const block_trace *t)
{
    trace_title("Backward. Given: dY = d(loss)/dY");
    trace_say(0, "%s", block_texts[BLOCK_DY].sentence);
    print_shape(t->b, BLOCK_DY);
    print_matrix(t, BLOCK_DY);
    printf("\n    loss = %.4f\n", trace_shown(block_loss(t->b)));
}

static void print_library(const block_trace *t)
{
    trace_title("The same by the library: at_sdpa between at_linear");
    trace_say(0, "Largest differences from the numbers above, relative to the terms that are "
                 "summed; 1e-16 is rounding:");
    char text[400];
    size_t n = 0;
    for (int k = 0; k < t->n_op; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %.1e%s", k ? ", " : "",
                              t->op[k].name, t->op[k].off, t->op[k].agrees ? "" : " DIFFERS");
    printf("\n");
    trace_say(4, "%s", text);
}

static void print_closing(const block_trace *t)
{
    const mistake_text *m = &block_mistakes_texts[t->mistake];
    trace_title("What was seen");
    if (t->mistake && t->count.differ)
        trace_say(0,
                  "The mistake \"%s\" was noticed: %d comparisons DIFFER.  A hint for who finds "
                  "such numbers in a backward: %s",
                  m->name, t->count.differ, m->hint);
    else if (t->mistake)
        trace_say(0,
                  "The mistake \"%s\" changes nothing here: all %d elements agree with their "
                  "numerical values.  Other sizes may show it.",
                  m->name, t->count.compared);
    else if (t->count.differ)
        trace_say(0, "%d of the numbers above DIFFER where they should be the same.",
                  t->count.differ);
    else
        trace_say(
            0,
            "%d elements agree with their numerical values: the largest difference is %.0e of "
            "the largest element of its matrix.  at_sdpa between at_linear computes the same.",
            t->count.compared, t->count.worst);
}

void block_trace_print(const block_trace *t)
{
    print_opening(t);
    print_given(t);
    for (block_name what = BLOCK_Q; what <= BLOCK_Y; what++) section(t, what);
    print_loss(t);
    for (block_name what = BLOCK_DO; what < BLOCK_COUNT; what++) section(t, what);
    print_library(t);
    print_closing(t);
    if (t->o->quiz) trace_score();
}
