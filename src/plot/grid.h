/* grid.h -- a mask as a grid of characters: queries down, keys across.
 *
 *     █····      #....
 *     ██···      ##...      █ # attend      · . masked
 *     ███··      ###..
 *     ████·      ####.
 *     █████      #####
 *
 * A mask wider or higher than the terminal is shown in blocks of cells: all of one attend, █ or #;
 * some do, ▒ or +; none.  A line below says how large the blocks are.  Of a mask with more than two
 * dimensions every [T,N] is drawn, each below its index:
 *
 *     [0,0]
 *     ██·
 *     [1,0]
 *     ███ */
#ifndef AT_PLOT_GRID_H
#define AT_PLOT_GRID_H
#include "plot/term.h"
AT_BEGIN_C

/* keep is a bool tensor, 1 = attend.  True if all was written; false for a NULL, another dtype, or
 * a file that takes no more. */
AT_API bool at_keep_print(const at_tensor *keep, FILE *out); /* as out can show it */
AT_API bool at_keep_print_as(const at_tensor *keep, FILE *out, at_terminal as);

AT_END_C
#endif
