/* paper.h -- pictures of the attention of example 15: two queries, three keys, size 2, scale 1.
 *
 * Each draws the numbers that it is given to a file, and returns false, with a line on stderr, if
 * that could not be written. */
#ifndef EXAMPLES_PAPER_H
#define EXAMPLES_PAPER_H
#include <stdbool.h>

enum { PAPER_T = 2, PAPER_N = 3, PAPER_D = 2 };

typedef struct { /* row-major */
    const double *Q, *K, *V, *dO;
    const double *S, *P, *O, *dP, *delta, *dS, *dQ, *dK, *dV;
} paper;

/* The values of query 0 as a triangle, O inside it and dO as an arrow; how far V_j lies beyond O
 * along dO is dP_j - delta. */
bool paper_triangle(const char *path, const paper *a);
/* The Jacobian of query 0, times dP, is dS. */
bool paper_jacobian(const char *path, const paper *a);
/* P | dP | dP - delta | dS of both queries. */
bool paper_matrices(const char *path, const paper *a);
/* The eight steps, forward and, below, backward. */
bool paper_steps(const char *path, const paper *a);

#endif
