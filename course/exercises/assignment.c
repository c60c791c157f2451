/* assignment.c -- which exercises were assigned, and what each is worth; see assignment.h. */
#include "common/options.h"
#include "assignment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int quantities(int which)
{
    int n = 0;
    while (n < MAX_GRADES && exercises[which].of[n].name) n++;
    return n;
}

static void refuse(const char *text, const char *at, const char *why)
{
    fprintf(stderr,
            "grade: --only %s: %s at \"%s\"; it is a list like 0,1,3:20 or E1,E3, of "
            "E0 to E%d\n",
            text, why, at, EXERCISES - 1);
    exit(2);
}

assignment read_assignment(const char *text)
{
    assignment a = {.has = {false}};
    for (int k = 0; k < EXERCISES; k++) a.points[k] = quantities(k), a.has[k] = !text;
    for (const char *at = text; at; at = *at ? at + 1 : NULL) {
        double which = -1, points = 0;
        const char *begin = at;
        if (*at == 'E' || *at == 'e') at++;
        if (!read_number(&at, false, &which) || which < 0 || which >= EXERCISES)
            refuse(text, begin, "there is no exercise");
        if (a.has[(int)which]) refuse(text, begin, "an exercise stands there twice");
        a.has[(int)which] = true;
        if (*at == ':') {
            begin = ++at;
            if (!read_number(&at, true, &points) || points < 0 || points > 1e6)
                refuse(text, begin, "the points are no number from 0 to 1e6");
            if (fabs(100 * points - round(100 * points)) > 1e-4)
                refuse(text, begin, "points have at most two decimals");
            a.points[(int)which] = points;
        }
        if (*at && (*at != ',' || !at[1])) refuse(text, at, "something else stands");
    }
    return a;
}

/* The first k of n quantities are together worth k/n of the points, to the nearest hundredth. */
double points_of(const assignment *a, int which, int quantity)
{
    const double each = 100 * a->points[which] / quantities(which);
    return (round(each * (quantity + 1)) - round(each * quantity)) / 100;
}

void list_assignment(const assignment *a)
{
    for (int k = 0; k < EXERCISES; k++)
        if (a->has[k])
            printf("| E%d | `%s.c` | %s%s | %.10g |\n", k, exercises[k].file, exercises[k].title,
                   k == 8 ? ", with `TICKET=`, from `ticket.txt`" : "", a->points[k]);
}

double all_points(const assignment *a)
{
    double sum = 0;
    for (int k = 0; k < EXERCISES; k++) sum += a->has[k] ? a->points[k] : 0;
    return sum;
}
