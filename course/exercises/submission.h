/* submission.h -- one file of somebody's: compiled, graded, and counted. */
#ifndef EXERCISES_SUBMISSION_H
#define EXERCISES_SUBMISSION_H
#include "assignment.h"
#include "roster.h"

/* One file, and how it was graded the last time. */
typedef struct {
    const char *path, *name;
    int which;          /* the exercise */
    const char *unread; /* why the file cannot be graded: "is empty"; else NULL */
    char said[4000];    /* by the compiler */
    bool compiled;
    grading g;
} submission;

/* Once, at the beginning: the compiler and its flags, the folder of the runners, the time limit of a run. */
void begin_submissions(const char *with, const char *runners_in, double limit);

/* "e3_softmax.c", "E3.c": 3; -1: the name does not begin with the number of an exercise, or does
 * not end in .c */
int exercise_of(const char *name);

/* The files of the folder top, then those of the folders within it, at most 8 deep, by their names from there on.
 * What begins with a dot and __MACOSX are passed over. */
roster files_within(const char *top);

/* Compiles the file, unless it is a link, no file, empty or larger than a megabyte; the next grade_submission runs what was made, with this seed, until it is closed. */
void open_submission(submission *x, const char *path, int which);
void grade_submission(submission *x, uint64_t seed, uint64_t ticket); /* ticket: see grading.h */
void close_submission(submission *x);

extern const char *const kind_names[]; /* "exact", of a verdict_kind */
bool is_right(const grade *q);
int right_ones(const submission *x);
double points_right(const submission *x,
                    const assignment *a); /* of the quantities that are right */
bool all_right(const submission *x);
#endif
