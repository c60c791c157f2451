// expect program: exit
#include "exercise.h"

#include <stdlib.h>

void attention_row_backward(int N, int D, int Dv, double c, const double *Q, const double *K,
                            const double *V, const double *P, const double *dO, double *dP,
                            double *dS, double *dQ, double *dK, double *dV)
{
    (void)D, (void)Dv, (void)c, (void)Q, (void)K, (void)V, (void)P, (void)dO, (void)dP, (void)dS,
        (void)dQ, (void)dK, (void)dV;
    printf("N = %d: all right!\n", N);
    fflush(stdout);
    exit(0);
}
