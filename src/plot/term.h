/* term.h -- pictures as text, for a terminal or a log. */
#ifndef AT_PLOT_TERM_H
#define AT_PLOT_TERM_H
#include <stdio.h>

#include "plot/picture.h"
#include "terminal/terminal.h"
AT_BEGIN_C

/* One subplot below the other.  Values where they fit, on coloured ground; else squares of two
 * columns, or one; else blocks of cells, as in an SVG.  Without colours shades from white to black,
 * or ASCII:
 *
 *     Query (down), Key (across)
 *                 t  c  a
 *                 h  a  t
 *                 e  t  e
 *             the @@//////      0  .:-=+*#%@ 0.85    // masked
 *             cat **==//// */
AT_API bool at_term_heatmap(FILE *out, at_terminal as, const at_heatmap *h);

/* 16 lines high, of dots (8 to a character), or of * + o x in ASCII. */
AT_API bool at_term_chart(FILE *out, at_terminal as, const at_chart *c);

/* True if all was written.  A NULL file is written nothing to, and false. */

AT_END_C
#endif
