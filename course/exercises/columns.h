/* columns.h -- text in columns: names of one width, texts that go on below themselves, lists that are not too long.
 *
 * All texts are valid UTF-8 that can be shown, as of roster_shown; a column is a character. */
#ifndef EXERCISES_COLUMNS_H
#define EXERCISES_COLUMNS_H
#include "roster.h"

#include <stdio.h>

int columns_of(const char *text);
/* With blanks behind it up to this width >= 5; what is longer has dots in place of its middle. */
void print_name(FILE *f, const char *text, int width);
/* Lines of at most 100 columns, the first from `column` on, the later ones indented; the end of a line. */
void print_wrapped(FILE *f, const char *text, int column, int indent);
/* "a, b, c, d, e and 2 more", shown */
void print_names(FILE *f, const roster *names);
#endif
