/* grading.h -- what a grade consists of, and how one exercise comes to its grades.
 *
 * An exercise draws its arguments from a seed, has the submission called with them (child.h), computes
 * what is right, and adds one grade for each quantity: see small.c (E0 to E3) and attention.c (E4 to
 * E7). */
#ifndef EXERCISES_GRADING_H
#define EXERCISES_GRADING_H
#include "common/mistakes.h"
#include "child.h"

enum { MAX_GRADES = 8, HINTS = 3, EXERCISES = 8 };

typedef struct {
    const char *name;     /* "dS" */
    verdict_kind kind;    /* not asked: the program did not come so far */
    char text[900];       /* what follows the kind: "no delta", and what that is */
    char arithmetic[600]; /* the worst cell, empty if there is none to show */
    const char *mistake;  /* named: where to look; else NULL */
} grade;

typedef struct {
    const char *program; /* the submission, compiled */
    double seconds;      /* its time limit */
    uint64_t seed, state;
    char sizes[200]; /* "N = 5" */
    grade of[MAX_GRADES];
    int grades;
    char failure[600], printed[4000]; /* as in script */
} grading;

typedef struct {
    const char *file, *title; /* "e3_softmax", "softmax" */
    void (*grade)(grading *g);
    struct {
        const char *name, *hint[HINTS]; /* the step; the term; the line with a blank */
    } of[MAX_GRADES];
} exercise;
extern const exercise exercises[EXERCISES];

void grade_derivative(grading *g);
void grade_used_twice(grading *g);
void grade_matmul(grading *g);
void grade_softmax(grading *g);
void grade_dropout(grading *g);
void grade_row(grading *g);
void grade_delta(grading *g);
void grade_online(grading *g);

/* Random numbers of g->state */
uint64_t next_number(grading *g);
int draw_size(grading *g, int low, int high);
double draw_hundredths(grading *g); /* not 0, from -2.5 to 2.5; float does not hold it */
double *draw_array(grading *g, ptrdiff_t n);

/* Runs the script and keeps how it ended. */
void run_calls(grading *g, script *s);

/* A new grade; `calls` calls up to `last` led to it.  NULL: the program did not come so far. */
grade *add_grade(grading *g, const char *name, const script *s, int last);
/* true: got holds NaN that is not just what was there before, or a blank was reached; the grade says
 * so.  Elements are counted as rows of `columns`. */
bool grade_nan(grade *q, const double *got, int rows, int columns, unsigned blanks);
void say_verdict(grade *q, const verdict *v, const char *name, const char *sentence);

/* A matrix in buffer b, which `last` wrote last: `m` but for got. */
grade *grade_matrix(grading *g, const char *name, const script *s, int last, int b,
                    mistakes_matrix m, verdict *v);
/* One of the quantities of attention in buffer b: its verdict is r->of[what]. */
grade *grade_step(grading *g, const char *name, const script *s, int last, int b, const steps *a,
                  steps_name what, const double *before);
#endif
