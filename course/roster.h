/* roster.h -- who takes part in a course, and the key from which is drawn what each of them is given.
 *
 * What goes wrong is said on stderr, and ends the program with status 2. */
#ifndef COURSE_ROSTER_H
#define COURSE_ROSTER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An id can be a name of a file, a cell of a table and a line of a list: it begins with a letter, a digit or what is
 * no ASCII, has nothing that cannot be seen, no / and at most 120 bytes. */
bool roster_readable(const char *id);
/* A text without what moves a cursor or is no UTF-8, as at_show shows it; the fifth call overwrites it. */
const char *roster_shown(const char *text);
/* The same in quotes, as a cell of CSV. */
const char *roster_cell(const char *text);

/* The cells of a line of CSV, without their quotes, from least to most: of more separators, the first ones belong to the
 * first cell, as an id may hold some.  Returns how many; 0, and the line is as it was: there are less. */
int roster_cells(char *line, char separator, int least, int most, char **cell);

/* The lines of a file, without white space at their ends, empty ones and those that begin with #. */
typedef struct {
    int n;
    char **line;
} roster;
roster roster_read(const char *path);
/* The ids of a file, one in a line; a first line "id", in any case, is the name of the column. */
roster roster_read_ids(const char *path);
void roster_add(roster *r, const char *line);
int roster_find(const roster *r, const char *line); /* -1: it is not there */
void roster_sort(roster *r);                        /* by bytes, each line once */
void roster_close(roster *r);

/* A key is a file of at least 16 bytes; white space at its end does not count. */
typedef struct {
    size_t n;
    char bytes[1024];
} course_key;
course_key course_key_read(const char *path);
uint64_t course_key_number(const course_key *key, const char *what, const char *id);
#endif
