/* attic_plot.h -- to draw: heat maps and line charts, as SVG or on a terminal; masks; the tape as a
 * graph.
 *
 * In reading order: picture.h (what is to be drawn), svg.h and term.h (how), grid.h (masks as
 * characters), graph.h (the tape, for Graphviz). */
#ifndef ATTIC_PLOT_H
#define ATTIC_PLOT_H
#include "attic.h"

#include "plot/graph.h"
#include "plot/grid.h"
#include "plot/picture.h"
#include "plot/svg.h"
#include "plot/term.h"

#endif
