/* tiles.h -- the picture of example 14: attention in two tiles, forward and backward.
 *
 * Two queries, four keys of size 2; tile s holds the keys 2s and 2s + 1. */
#ifndef EXAMPLES_TILES_H
#define EXAMPLES_TILES_H
#include <stdbool.h>

enum { TILES = 2, TILES_T = 2, TILES_KEYS = 2, TILES_D = 2 };

/* What there was at each tile. */
typedef struct {
    double S[TILES][TILES_T][TILES_KEYS], factor[TILES][TILES_T];
    double state[TILES][TILES_T][2 + TILES_D]; /* m, l, O' after it */
    double kept[TILES_T][2], O[TILES_T][TILES_D], dO[TILES_T][TILES_D], delta[TILES_T];
    double P[TILES][TILES_T][TILES_KEYS], dS[TILES][TILES_T][TILES_KEYS];
    double dK[TILES][TILES_KEYS][TILES_D], dV[TILES][TILES_KEYS][TILES_D];
    double dQ[TILES][TILES_T][TILES_D]; /* after it */
} tiles;

/* Which tiles are read and written in each pass, and what is kept between them.  False, with a line
 * on stderr, if the file could not be written. */
bool tiles_draw(const char *path, const tiles *a);

#endif
