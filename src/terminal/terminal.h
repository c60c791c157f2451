/* terminal.h -- what the file that text goes to can show. */
#ifndef AT_TERMINAL_TERMINAL_H
#define AT_TERMINAL_TERMINAL_H
#include <stdbool.h>
#include <stdio.h>

#include "system/linkage.h"
AT_BEGIN_C

/* What `out` can show.  To force something, make or change one: (at_terminal){.columns = 80} is
 * plain ASCII. */
typedef struct {
    int columns; /* its width; 80 if not known */
    bool is_terminal;
    bool unicode; /* the locale (LC_ALL, LC_CTYPE or LANG) says UTF-8 */
    int colours;  /* 8, 256, 1 << 24; 0: no terminal, a dumb one, or NO_COLOR (no-color.org) */
} at_terminal;
AT_API at_terminal at_terminal_of(FILE *out);

AT_END_C
#endif
