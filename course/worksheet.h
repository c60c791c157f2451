/* worksheet.h -- attention on paper, with numbers of one's own: drawn, asked, graded.
 *
 * Two queries, three keys, values of two elements, scale 1.  The scores are logarithms of integers whose sum in each row
 * is 5, 10 or 20, and V and dO are integers: so all but the scores are decimals with a few digits.  A sheet is drawn
 * from a number until, in each cell that is asked, the right answer and those of the named mistakes
 * (worksheet_mistakes) differ by at least 0.015: an answer that is rounded to two digits behind the point belongs to
 * one of them. */
#ifndef COURSE_WORKSHEET_H
#define COURSE_WORKSHEET_H
#include "mistakes.h"

enum { SHEET_T = 2, SHEET_N = 3, SHEET_DV = 2, SHEET_ASKED = 6, SHEET_MISTAKES = 12 };

extern const steps_name worksheet_asked[SHEET_ASKED]; /* P, O, dV, dP, delta, dS */
/* The mistakes that a wrong answer in this matrix may have, up to MISTAKE_NONE */
extern const mistake worksheet_mistakes[SHEET_ASKED][SHEET_MISTAKES];

typedef struct {
    int integer[SHEET_T * SHEET_N]; /* exp(S) */
    steps *right;                   /* forward and backward */
} worksheet;

/* The same for the same number; NULL: no memory.  Found for every number, most within a hundred drawings. */
worksheet *worksheet_draw(uint64_t number);
void worksheet_close(worksheet *w);

int worksheet_cells(void); /* how many are asked */
/* Cell k, in the order of the sheet: the matrix, as an index of worksheet_asked, and the element */
void worksheet_cell(int k, int *asked, int *element);
/* "dS q0 k1": a cell in one word of a list; the next call overwrites it. */
const char *worksheet_name(int k);
int worksheet_find(
    const char *name); /* -1: none is called so, whatever the case and the white space */

/* How a cell was answered.  Half a unit of the second digit, and a little more, is allowed. */
typedef enum {
    SHEET_MISSING,
    SHEET_RIGHT,
    SHEET_FOLLOWS,      /* wrong, but right for what was answered before it: counted as right */
    SHEET_FROM_NOTHING, /* the same, of a row of P or dP with no right number other than 0 */
    SHEET_NAMED,        /* what a mistake gives */
    SHEET_WRONG
} sheet_state;

typedef struct {
    sheet_state state;
    double right; /* what it should have been */
    mistake is;   /* of what is named */
} sheet_verdict;

/* answers[k] is that of cell k, NaN where there is none.  False: no memory. */
bool worksheet_grade(const worksheet *w, const double *answers, sheet_verdict *verdicts);
/* "0.22", "0,22", "-3 / 20", also with U+2212 as the minus.  False: it is no number */
bool worksheet_number(const char *text, double *x);
#endif
