/* trace.h -- the parts of course/trace.c: what it reads, computes, prints.
 *
 *     trace_run.c      the command line, and what it asks for, done: all of the program but its main
 *     trace_input.c    Q, K, V, dO, the bias and the masks: given, drawn, or those of --paper
 *     trace_numbers.c  every gradient beside its numerical value, and at_sdpa beside all
 *     trace_identities.c  what must be equal in every right backward
 *     trace_text.c     lines of at most 100 columns, matrices side by side
 *     trace_cell.c     one cell of each matrix worked out: "R[q0,k1] = 1*2 + 0*3 = 2.0000"
 *     trace_print.c    the steps, printed
 *     trace_quiz.c     asks for the sign, then for the number
 *     trace_json.c     the same as JSON, see course/trace.schema.json
 *     trace_block.c    --block: a whole block in place of one attention; see trace_block.h
 *
 * There is one head: T queries, N keys, none of them more than TRACE_MAX. */
#ifndef EXAMPLES_TRACE_H
#define EXAMPLES_TRACE_H
#include <stdio.h>

#include "arithmetic.h"
#include "mistakes.h"
#include "steps.h"

enum { TRACE_MAX = 8, TRACE_CELLS = TRACE_MAX * TRACE_MAX, TRACE_STEPS = 8 };

/* The command line; a size of 0 follows from the matrices that are given. */
typedef struct {
    int T, N, D, Dv, seed, self, paper, causal, quiz, json, quick;
    int block, C, H, G; /* a whole block */
    double scale, temperature, softcap, dropout;
    const char *Q, *K, *V, *dO, *bias, *mask, *window, *cell, *mistake;
} trace_options;

/* The cells of one gradient: the true value lies within n +- unsure, and that by the formula is off
 * by less than the rounding. */
typedef struct {
    double n[TRACE_CELLS], unsure[TRACE_CELLS], rounding[TRACE_CELLS];
} trace_values;

/* How many elements have a numerical value; how many of them, and other checks, differ; the largest
 * difference, relative to the largest of its matrix. */
typedef struct {
    int compared, differ;
    double worst;
} trace_count;

/* How a matrix is shown. */
typedef struct {
    int rows, columns;
    char row[TRACE_MAX][28], column[TRACE_MAX][28]; /* their names: "q0" */
    const double *log_of;                           /* 7 where "ln 7" was given; NULL: nowhere */
    const char *by;                                 /* whose values they are: "by the formula" */
} trace_layout;

/* One tensor of at_sdpa: its largest difference from the value here, relative to the terms that it
 * is a sum of. */
typedef struct {
    const char *name;
    double off;
    bool agrees;
} trace_op;

/* Two numbers that are the same if the backward is right: no numerical value is needed to check it. */
typedef struct {
    const char *name, *formula; /* "rows of dS", "sum_j dS_ij = 0" */
    char letter;                /* 'q', 'k', 'd': holds for each; ' ': for all together */
    int at;                     /* the first that does not hold; or that of the cell */
    double left, right;
    bool holds;
} trace_identity;

typedef struct {
    trace_options o;
    const char *command;    /* how it was called */
    steps *a, *terms;       /* terms: what each element is a sum of, see steps_terms */
    bool mask[TRACE_CELLS]; /* --mask alone, [T,N] */
    bool masked;            /* step 5 is on */
    int left, right;        /* the window; 0: no limit */
    int i, j;               /* the cell that is worked out */
    mistake mistake;        /* that the backward makes; MISTAKE_NONE */
    double log_of[STEPS_COUNT][TRACE_CELLS]; /* given as "ln 7": 7; else 0 */

    trace_values numerical[STEPS_COUNT]; /* of what is a gradient */
    trace_values delta;                  /* row i of P, times 1 + h */
    double J[TRACE_CELLS];               /* of row i: J_jk = d/dS_ik P_ij, [N,N] */
    trace_values jacobian;
    double product[TRACE_MAX]; /* J dP_i */
    double sum[TRACE_CELLS];   /* --self: dQ + dK + dV */
    trace_values all;
    trace_count count;
    trace_op op[8];
    int n_op;
    trace_identity identity[10];
    int identities;
} trace;

/* trace_run.c: what the program does with this command line; returns its exit status.  Whatever *t
 * held before must be closed.  A mistake is named on stderr, and ends the program with status 2. */
int trace_run(trace *t, int argc, char **argv);
void trace_close(trace *t); /* it may be all zeros */

/* trace_input.c: from t->o.  A mistake is named on stderr, and ends the program with status 2. */
void trace_set_up(trace *t);
/* Why row i does not attend to key j: "causal: key 2 is later than query 0".  NULL: it does. */
const char *trace_hidden(const trace *t, int i, int j);
bool trace_step_is_on(const trace *t, int step);
/* One line on stderr, and status 2 */
void trace_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Which of the mistakes 1 to n - 1 is called so; "no-delta" is "no delta", and "" is 0.  Another name
 * is refused with the nearest one. */
int trace_find_mistake(const char *text, int n, const char *(*name_of)(int m), const char *file);

/* trace_numbers.c */
void trace_compute(trace *t);
/* L with S_ij + h, for the cell (i, j) that moves in the demonstration; false: nothing is kept. */
bool trace_example(const trace *t, int *i, int *j);
double trace_loss_at(const trace *t, int i, int j, double h);
double trace_two_points(const trace *t, int i, int j, double h);
double trace_five_points(const trace *t, int i, int j, double h);
double trace_step_of(double x); /* h for an element x, as in gradcheck/gradcheck.c */
/* Does x, by the formula, agree with element e of v, among elements up to `most`? */
bool trace_agrees(double x, const trace_values *v, int e, double most);
double trace_rounding(double terms); /* by how much a sum of these terms may be rounded */
/* Is cell (i, j) of `what` the same by another formula, but for rounding? */
bool trace_same(const trace *t, steps_name what, int i, int j, double other);
double trace_largest(const trace *t, steps_name what);
/* Sets the rounding of v, and counts; `terms`: what the values by the formula are sums of. */
void trace_compare(int count, const double *by_formula, const double *terms, trace_values *v,
                   trace_count *n);
/* x, or its gradient, beside these values, which are sums of these terms */
struct at_tensor;
trace_op trace_compare_tensor(const char *name, const struct at_tensor *x, bool gradient,
                              const double *values, const double *terms);
bool trace_compare_op(trace *t); /* false: at_sdpa failed, with a line on stderr */

/* trace_identities.c */
void trace_identities(trace *t);

/* trace_text.c */
void trace_title(const char *format, ...) __attribute__((format(printf, 1, 2)));
void trace_say(int indent, const char *format, ...) __attribute__((format(printf, 2, 3)));
double trace_shown(double x);                                       /* not -0.0000 */
void trace_product(const trace *t, int j, char *text, size_t size); /* (J dP)[j] as a sum */
/* "q0"; "all" where one row or column of a bias stands for all of them */
void trace_label(const trace *t, steps_name what, bool columns, int i, char text[28]);
/* The matrix; values = NULL: that of t->a.  With n, the numerical values beside it, or below if
 * both do not fit, and whether they agree. */
void trace_matrix(const trace *t, steps_name what, const double *values, const trace_values *n);
void trace_laid_out(const trace_layout *l, const double *values, const trace_values *n);
void trace_differing(const trace *t, steps_name what); /* the last part of it alone: what DIFFERS */
void trace_square(const trace *t, const double *values, const trace_values *n); /* [N,N] */

/* trace_cell.c: how a cell is worked out; the cell (t->i, t->j) of `what` worked out, "" where there is nothing to say; in a
 * buffer that the next call overwrites. */
arithmetic_style trace_style(const trace *t);
const char *trace_worked(const trace *t, steps_name what);
int trace_row_of(const trace *t, steps_name what); /* the row and the column of that cell */
int trace_column_of(const trace *t, steps_name what);
const char *trace_name_of(const trace *t, steps_name what); /* "dS[q0,k1]" */

/* trace_print.c, trace_quiz.c, trace_json.c */
void trace_print(const trace *t);
void trace_ask(const trace *t, steps_name what); /* if the quiz asks about it */
/* What is asked about one element.  A wrong number may have a name: what it is instead, or "". */
typedef struct {
    const char *name, *question, *answer, *worked;
    double x;
    const char *(*named)(const void *context, double wrong); /* may be NULL */
    const void *context;
} trace_question;
void trace_ask_element(const trace_question *q);
void trace_score(void);
void trace_say_how_to_answer(void);
void trace_json(const trace *t);
void trace_json_string(const char *s);
void trace_json_mistake(const mistake_text *s);
void trace_json_comparison(int n, const trace_op *op, const trace_count *count);
void trace_json_number(double x);
void trace_json_text(const char *key, const char *value); /* , "key": "value" */

/* trace_block.c: what the program does with --block; returns its exit status. */
int trace_block(const trace_options *o, const char *command);

#endif
