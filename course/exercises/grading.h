/* grading.h -- what a grade consists of, and how one exercise comes to its grades.
 *
 * An exercise draws its arguments from a seed, has the submission called with them (child.h),
 * computes what is right, and adds one grade for each quantity: see small.c (E0 to E3) and
 * attention.c (E4 to E7), bugs.c (E8), kernel_check.c (E9) and tokens.c (E10); ways.c has names for mistakes. */
#ifndef EXERCISES_GRADING_H
#define EXERCISES_GRADING_H
#include "mistakes.h"
#include "child.h"

enum { MAX_GRADES = 17, HINTS = 3, EXERCISES = 11 };

/* What is graded by itself */
typedef struct {
    const char *name;    /* "dS" */
    const char *element; /* how an element is written: "dS[k]" */
    unsigned blanks;     /* bit n: BLANK(n) stands in what computes it */
    /* The step; the term; the line with a blank.  Then a part of the verdict while the file is as it
     * came; NULL: BLANK( */
    const char *hint[HINTS + 1];
} exercise_part;

typedef struct {
    const exercise_part *of; /* what is graded */
    verdict_kind kind;       /* not asked: the program did not come so far */
    char text[900];          /* what follows the kind: "no delta", and what that is */
    char arithmetic[600];    /* the worst cell, empty if there is none to show */
    bool read_early;         /* what was not written yet was read */
    char mistake[200];       /* named: where to look */
    const char *const *hint; /* in place of those of the quantity; else NULL */
} grade;

typedef struct {
    int which;           /* the exercise */
    const char *program; /* the submission, compiled */
    const char *folder;  /* an empty one, where it runs */
    const char *file;    /* its source */
    double seconds;      /* its time limit */
    uint64_t seed, state;
    uint64_t ticket; /* E8: from which it is drawn what is planted; 0: what is published */
    char sizes[200]; /* "N = 5" */
    grade of[MAX_GRADES];
    int grades;
    char failure[600], printed[20000]; /* as in script */
    int lines_left_out;
} grading;

typedef struct {
    const char *file, *title; /* "e3_softmax", "softmax" */
    void (*grade)(grading *g);
    exercise_part of[MAX_GRADES];
} exercise;
extern const exercise exercises[EXERCISES];

/* One function of the solution of exercise `which`, with its loops alone: what follows the hints. */
typedef struct {
    int which;
    unsigned blanks; /* of this function, as in exercise_part */
    const char *text;
} skeleton;
extern const skeleton skeletons[]; /* up to one without a text */

void grade_derivative(grading *g);
void grade_used_twice(grading *g);
void grade_matmul(grading *g);
void grade_softmax(grading *g);
void grade_dropout(grading *g);
void grade_row(grading *g);
void grade_delta(grading *g);
void grade_online(grading *g);
void grade_bugs(grading *g);
void print_planted(uint64_t ticket); /* the answers of E8 */
void grade_kernel(grading *g);
void grade_tokens(grading *g);

/* Random numbers of g->state */
uint64_t next_number(grading *g);
int draw_size(grading *g, int low, int high);
double draw_hundredths(grading *g); /* not 0, from -2.5 to 2.5; float does not hold it */
double *draw_array(grading *g, ptrdiff_t n);

/* Runs the script and keeps how it ended. */
void run_calls(grading *g, script *s);

/* A new grade, of the next quantity; `calls` calls up to `last` led to it.  NULL: the program did not
 * come so far. */
grade *add_grade(grading *g, const script *s, int last);
/* true: got holds a NaN that somebody computed, or a blank was reached; the grade says so.  first:
 * the name of the first element that is NaN. */
bool grade_nan(grading *g, grade *q, ptrdiff_t n, const double *got, unsigned reached,
               const char *first);
ptrdiff_t first_nan(ptrdiff_t n, const double *got); /* n: none was computed */
/* Is got, but for rounding, what was held before (NULL: 0) and these values? */
bool same_numbers(ptrdiff_t n, const double *got, const double *before, const double *values);
/* Is it known why: by a name, or as what follows from something else, or NaN, or nothing was added? */
bool has_reason(const grade *q);
/* If it is wrong, and without a name: it follows from what is wrong before it. */
void grade_follows(grade *q, bool follows, const char *from);
void say_verdict(grade *q, const verdict *v, const char *name, const char *sentence);

enum { MAX_CANDIDATES = 60 };

/* A matrix in the making: its right answer, and the wrong ones that have a name.  All arrays but
 * `before` are its own.  words: the letters of a row and a column, or none. */
typedef struct {
    mistakes_matrix m;
    double *right, *terms;
    mistakes_candidate candidate[MAX_CANDIDATES];
} matrix;

size_t matrix_size(const mistakes_matrix *m); /* elements */
void open_matrix(matrix *x, int rows, int columns, const double *before, const char *words);
double *add_candidate(matrix *x, const char *name, const char *sentence, bool overwrites); /* 0 */
double *add_overwritten(matrix *x); /* the right answer in place of += */
extern const char overwritten[];    /* what that is */
void close_matrix(matrix *x);

/* The grade of such a matrix in buffer b, which `last` wrote last; its verdict in *v. */
grade *judge_matrix(grading *g, const script *s, int last, int b, matrix *x, verdict *v);
grade *grade_matrix(grading *g, const script *s, int last, int b, mistakes_matrix m, verdict *v);
bool is_shown(const grade *q, const verdict *v); /* is there an arithmetic to show? */

/* Quantities of attention, n of them in buffers b. */
typedef struct {
    steps_name what;
    int b;
    const double *before;
} step_answer;
void grade_steps(grading *g, const script *s, int last, const steps *a, int n,
                 const step_answer *x);
/* The names that ways.c has for this quantity, if it is wrong and has none yet.  a: the problem, or one that
 * goes on from what the submission has in it.  grade_steps does so with the problem. */
void name_way(const grading *g, const script *s, const steps *a, const step_answer *x, grade *q);
/* A text in the notation of this problem: without steps 3 to 5 X is S, without dropout A is P, and one
 * query has no index i. */
void own_notation(const steps *a, const char *text, size_t size, char *to);
#endif
