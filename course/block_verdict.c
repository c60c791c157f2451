/* block_verdict.c -- are the gradients of a block right, and if not, which mistake is it?  See
 * block_mistakes.h; the verdict on one matrix is that of mistakes_judge_matrix. */
#include "block_cell.h"
#include "block_mistakes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double close_to = 1e-6, how_much_farther = 100;

/* The right backward, its absolute terms, and one that is wrong. */
typedef struct {
    block *right, *terms, *wrong;
} block_judge_work;

static void close_work(const block_judge_work *g)
{
    block_close(g->right);
    block_close(g->terms);
    block_close(g->wrong);
}

/* What an answer may be wrong by */
static int ratios_of(const block *b, mistakes_ratio r[6])
{
    const block_problem *p = &b->p;
    const mistakes_ratio all[] = {
        {2, "2"}, {b->heads->c, "c"}, {p->T, "T"}, {p->H, "H"}, {(double)p->H / p->G, "(H/G)"}};
    int n = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if ((k < 4 || p->G > 1) && fabs(fabs(all[k].value) - 1) > 1e-3) r[n++] = all[k];
    return n;
}

void block_say_cell(const block *b, block_name what, const double *before, const verdict *v,
                    char *to, size_t size)
{
    const block_style style = {.b = b};
    char text[BLOCK_CELL_TEXT], held[80] = "", terms[40] = "", got[32];
    const int *cell = v->cell;
    const ptrdiff_t e = (ptrdiff_t)cell[1] * b->dim[what][2] + cell[2];
    block_cell_text(&style, what, cell[0], cell[1], cell[2], text);
    if (before)
        snprintf(held, sizeof held, "; with the %.4g that it held before it is %.4g", before[e],
                 v->right);
    if (what == BLOCK_DX) snprintf(terms, sizeof terms, " (the terms of dY, Q, K and V)");
    const int digits = v->kind == VERDICT_CLOSE ? 10 : 4;
    snprintf(got, sizeof got, "%.*g", digits, v->got);
    snprintf(to, size, "%.380s%s%s, you have %s", text, terms, held,
             isnan(v->got) ? "nothing" : got);
}

static void judge_one(const block_judge_work *g, const block_answer *answer, block_name what,
                      block_verdict *v)
{
    const block *b = g->right;
    mistakes_ratio ratio[6];
    char row[BLOCK_CELL_LABEL], column[BLOCK_CELL_LABEL];
    block_cell_label(b, what, false, 0, row);
    block_cell_label(b, what, true, 0, column);
    const bool by_index = !row[2] && !column[2]; /* "h0d1" is no letter with a number */
    const mistakes_matrix m = {.rows = b->dim[what][1],
                               .columns = b->dim[what][2],
                               .word = {"row", "column"},
                               .letter = {by_index ? row[0] : 0, by_index ? column[0] : 0},
                               .got = answer->got[what],
                               .before = answer->before[what],
                               .right = b->at[what],
                               .terms = g->terms->at[what],
                               .ratio = ratio,
                               .ratios = ratios_of(b, ratio)};
    mistakes_judge_matrix(&m, &v->v);
    if (v->v.kind == VERDICT_WRONG || v->v.kind == VERDICT_CLOSE)
        block_say_cell(b, what, m.before, &v->v, v->v.arithmetic, sizeof v->v.arithmetic);
}

/* How far the answer is from these values, relative to the terms of each element: the worst */
static double distance(const block_judge_work *g, const block_answer *answer, block_name what,
                       const block *to, bool replaced)
{
    double worst = 0;
    for (ptrdiff_t e = 0; e < block_size(to, what); e++) {
        const double before = answer->before[what] ? answer->before[what][e] : 0;
        const double off = answer->got[what][e] - to->at[what][e] - (replaced ? 0 : before);
        const double relative = fabs(off) / (g->terms->at[what][e] + fabs(before) + 1e-30);
        if (!(relative <= worst)) worst = isnan(relative) ? (double)INFINITY : relative;
    }
    return worst;
}

static void try_mistake(const block_judge_work *g, const block_answer *answer, block_mistake m,
                        block_report *report)
{
    bool all = true;
    for (block_name k = 0; k < BLOCK_COUNT; k++) {
        block_verdict *v = &report->of[k];
        if (!answer->got[k]) continue;
        const double off = distance(g, answer, k, g->wrong, false);
        if (v->v.kind == VERDICT_WRONG && off <= close_to && how_much_farther * off <= v->v.error)
            v->named |= (uint64_t)1 << m;
        all = all && off <= close_to;
    }
    if (all) report->all |= (uint64_t)1 << m;
}

bool block_judge(const block *b, const block_answer *answer, block_report *report)
{
    block_judge_work g = {block_copy(b), block_terms(b), block_copy(b)};
    bool ok = g.right && g.terms && g.wrong;
    uint64_t named = 0;
    *report = (block_report){.all = 0};
    if (ok) block_backward(g.right);
    for (block_name k = 0; ok && k < BLOCK_COUNT; k++)
        if (answer->got[k]) judge_one(&g, answer, k, &report->of[k]);
    for (block_mistake m = 1; ok && m < BLOCK_MISTAKES; m++) {
        if (!block_can_be_made(&b->p, m)) continue;
        ok = block_backward_with(g.wrong, m);
        if (ok) try_mistake(&g, answer, m, report);
    }
    for (block_name k = 0; ok && k < BLOCK_COUNT; k++) {
        block_verdict *v = &report->of[k];
        named |= v->named;
        v->replaced = answer->got[k] && v->v.kind == VERDICT_WRONG && !v->named &&
                      answer->before[k] && distance(&g, answer, k, g.right, true) <= close_to;
    }
    report->all &= named;
    close_work(&g);
    return ok;
}
