/* progress.h -- how far a long loop has come: a bar on a terminal, a few lines elsewhere.
 *
 *     at_progress p = at_progress_start(stderr, "training", steps);
 *     for (int i = 0; i < steps; i++) {
 *         ...
 *         at_progress_step(&p, i + 1, "loss %.3f", at_item(loss));
 *     }
 *     at_progress_end(&p);
 *
 *     training  ██████████░░░░░░░░░░  512/1200  43%  21.3/s  0:32 left  loss 2.134
 *
 * On a terminal the line is redrawn at most 10 times a second.  Where it does not fit, the bar goes
 * first, then the rate, the count and the time; what the caller says is cut last.  Colour is left
 * out if NO_COLOR is set (no-color.org), blocks become # and . unless the locale is UTF-8.
 * Elsewhere a line is written after every tenth of the work, and at the end.  Without work nothing
 * is written.  All functions take NULL for p, and do nothing. */
#ifndef AT_TERMINAL_PROGRESS_H
#define AT_TERMINAL_PROGRESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "terminal/terminal.h"
AT_BEGIN_C

typedef struct {
    FILE *out;
    const char *what;
    ptrdiff_t total, done, before; /* before: done at the start, e.g. by an earlier process */
    double (*clock)(void);         /* seconds, from any origin */
    double started, drawn;
    ptrdiff_t written; /* what the last line said, where lines are written */
    at_terminal as;    /* what `out` can show */
    char text[120];    /* the last text of the caller */
} at_progress;

/* out and what must outlive the progress.  total <= 0: nothing is ever written. */
AT_API at_progress at_progress_start(FILE *out, const char *what, ptrdiff_t total);
/* `done` of `total` are done; the text (printf; NULL: none) goes to the end of the line. */
AT_API AT_PRINTF(3, 4) void at_progress_step(at_progress *p, ptrdiff_t done, const char *format,
                                             ...);
/* Before anything else is written to that terminal: takes the bar away, until the next step. */
AT_API void at_progress_clear(at_progress *p);
/* Draws the final state and ends the line. */
AT_API void at_progress_end(at_progress *p);

AT_END_C
#endif
