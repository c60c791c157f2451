/* class.h -- a whole class: a folder for each student, named by an id, becomes one line of a table.
 *
 *     class/ada/e3_softmax.c        of all files of E3 in the folder of a student, at any depth, the newest
 *     class/ada/2/e3_softmax.c      one counts that came in time; if none did, the newest one, and it is late
 *
 * grades.csv has a line for each student: id, state, points, of, and for each exercise its points and its state.  Nothing
 * that a student hands in stops the others:
 *
 *     of a student      submitted, nothing submitted, unknown id, unreadable id; other files: how many are of no exercise
 *     of an exercise    3 of 4, missing, is empty, is a link, does not compile, over the time limit ...;
 *                       late; resubmitted: which file counts
 *
 * Beside it results/ID.json, in Gradescope's format, and results/ID.txt, the same for the student to read.  Such
 * files of an earlier run, of nobody in this one, are left there, and named on stderr. */
#ifndef EXERCISES_CLASS_H
#define EXERCISES_CLASS_H
#include "assignment.h"
#include "roster.h"

typedef struct {
    const char *folder, *out;
    const char *ids; /* a file with the ids of all students; NULL: those who have a folder */
    const char *due; /* "2026-12-01 23:59"; NULL: nothing is late */
    const char *
        times; /* a file with lines "ada,TIME" or "ada/e3_softmax.c,TIME"; NULL: times of the files */
    const course_key *key; /* E8 is planted by it; NULL: as published */
    uint64_t seed;
    const char *about; /* goes into every results.json */
    assignment of;
} course_class;

/* How many students are in the table; how many lines of times are about no student and no file.  What cannot be read or
 * written ends the program with status 2 or 1. */
int grade_class(const course_class *c, int *idle_times);

/* "2026-12-01 23:59", with T in place of the blank, seconds, and Z or +01:00 behind it, else in local time, as
 * seconds since 1970.  False: it is no time. */
bool read_time(const char *text, double *seconds);
#endif
