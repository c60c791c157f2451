/* verdict.h -- what verdict.c, verdict_where.c and verdict_cell.c say to each other; the public side is
 * mistakes.h.
 *
 *     verdict.c         is it right, and which mistakes give it?
 *     verdict_where.c   what the wrong elements have in common
 *     verdict_cell.c    the name of a cell, and its formula with the numbers put in */
#ifndef EXAMPLES_VERDICT_H
#define EXAMPLES_VERDICT_H
#include "mistakes.h"

/* ------------------------------------------------------------------ text ----------------------- */

typedef struct {
    char *to;
    size_t left;
} writer;

__attribute__((format(printf, 2, 3))) void say(writer *w, const char *format, ...);

/* "dS[q0,k1]", with several heads "dS[h1,q0,k1]"; an axis of a bias that is broadcast is "*".  A
 * single query has no index: "dS[1]", "delta". */
void cell_name(writer *w, const steps *a, steps_name what, const int cell[3]);

/* "P[q0,k1] * (dP[q0,k1] - delta[q0]) = 0.2 * (6 - 4.9)": what the cell is computed from */
void cell_formula(writer *w, const steps *a, steps_name what, const int cell[3]);

/* The letters of rows and columns in these names: q0, k1, d0 */
char cell_row_letter(steps_name what);
char cell_column_letter(steps_name what);
bool is_cell_of_scores(steps_name what); /* one for each query and key */
bool is_one_query(const steps *a);

/* ------------------------------------------------------------------ one answer ----------------- */

/* One answer, and what it should be. */
typedef struct {
    const steps *a;
    steps_name what;
    int dim[3];
    const double *got, *before, *right, *terms; /* right and terms: of what is added to before */
    const mistakes_matrix *matrix; /* it is no part of attention: a is NULL, what is STEPS_COUNT */
    double close; /* an error up to here is one of rounding: 1e-6, or 8 units of a half */
    double least; /* below it, terms are rounded absolutely */
} question;

ptrdiff_t offset_of(const question *q, int h, int i, int j);
bool looked_at(const question *q, int h, int i, int j);
double before_of(const question *q, ptrdiff_t e);
double terms_of(const question *q, ptrdiff_t e);
double error_of(const question *q, ptrdiff_t e);
/* The next element that is looked at; false: there is none.  Begin with cell {0, 0, -1}. */
bool next_cell(const question *q, int cell[3]);
ptrdiff_t offset_of_cell(const question *q, const int cell[3]);

/* v->where of an answer that is wrong or not written */
void describe(const question *q, verdict *v);
#endif
