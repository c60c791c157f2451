/* assignment.h -- which exercises were assigned, and what each is worth.
 *
 *     0,1,3:20      E0, E1 and E3; E3 is worth 20 points; so is E0,e1,E3:20
 *
 * The points of an exercise belong to its quantities in equal parts, which are rounded to hundredths so that their sum is
 * exact: of 20 points for 17 quantities each is worth 1.17 or 1.18, and all of them 20.  So whatever is printed adds up.
 * Without a number each quantity is worth one point.  What was not assigned is neither graded nor counted. */
#ifndef EXERCISES_ASSIGNMENT_H
#define EXERCISES_ASSIGNMENT_H
#include "grading.h"

typedef struct {
    bool has[EXERCISES];
    double points[EXERCISES]; /* of the whole exercise */
} assignment;

/* NULL: all of them.  A text that is no such list ends the program with status 2. */
assignment read_assignment(const char *text);
void list_assignment(const assignment *a); /* rows of a table: exercise, file, title, points */
int quantities(int which);                 /* how many are graded in this exercise */
double points_of(const assignment *a, int which, int quantity);
double all_points(const assignment *a);
#endif
