/* label.h -- text from outside (tokens, names, titles) made fit to be drawn.  Private.
 *
 * A token may be a space, half of a UTF-8 character, or a byte that rings a bell.  What is drawn is
 * valid UTF-8 without control characters, in which everything can be seen. */
#ifndef AT_TERMINAL_LABEL_H
#define AT_TERMINAL_LABEL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { AT_LABEL_SIZE = 128 }; /* bytes, 0 included */

/* Makes from visible: newline and tab become arrows, other control characters \x07, bytes that are
 * no UTF-8 \xC3, invisible characters \u200B, spaces at either end an open box.  NULL becomes "".
 * What does not fit into the columns of a terminal ends in an ellipsis.  Without unicode only
 * ASCII is left: \n, \t, _ for a space, ~ for the ellipsis, ? for all other characters. */
void at_label_make(char to[AT_LABEL_SIZE], const char *from, int columns, bool unicode);

/* How wide a label is: in columns of a terminal, and in em of a sans-serif font (an estimate). */
int at_label_columns(const char *label);
double at_label_em(const char *label);

int at_label_letters(const char *label); /* characters */

/* Writes its k-th character, if there is one and it fits into the columns, and then spaces. */
void at_label_put_letter(FILE *out, const char *label, int k, int columns);
/* Writes it as text or attribute of an XML document. */
void at_label_put_xml(FILE *out, const char *label);

#endif
