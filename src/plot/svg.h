/* svg.h -- pictures as SVG: one self-contained element each, to be opened, printed or put into a
 * page.  Texts are set in the reader's own sans-serif font. */
#ifndef AT_PLOT_SVG_H
#define AT_PLOT_SVG_H
#include <stdio.h>

#include "plot/picture.h"
AT_BEGIN_C

/* Cells of up to 44 pixels, with their values where these fit; in a browser, resting on a cell of a
 * picture of up to 4096 cells shows its row, column and value. */
AT_API bool at_svg_heatmap(FILE *out, const at_heatmap *h);
/* 760 pixels wide. */
AT_API bool at_svg_chart(FILE *out, const at_chart *c);
/* True if all was written.  A NULL file is written nothing to, and false. */

AT_END_C
#endif
