/* correct_kernels.h -- what a family of correct functions is made of.  See correct_functions.h.
 *
 * Kernels are compiled for float and for double, and compute in that type alone.  They are what a
 * good author writes: the maximum is subtracted before exp, and the slope of tanh is 1 - y y. */
#ifndef ATTIC_CORRECT_KERNELS_H
#define ATTIC_CORRECT_KERNELS_H
#include "kernels/real.h"
#include "gradcheck/correct_functions.h"

typedef struct correct_kernels correct_kernels;
struct correct_kernels {
    const char *name;
    void (*draw)(correct_function *p, const correct_kernels *k);
    void (*forward)(const correct_function *p, const REAL *x, REAL *y);
    void (*vjp)(const correct_function *p, const REAL *x, const REAL *dy, REAL *dx);

    /* Of functions of one element: y, and *slope = dy/dx; c is p->constant[0] */
    REAL (*of_one)(REAL x, REAL c, REAL *slope);
    /* Of two: y, slope[0] = dy/dx, slope[1] = dy/db */
    REAL (*of_two)(REAL x, REAL b, REAL slope[2]);
    double kink[2];     /* two places, in units of c: each x is near one; 0: there is none */
    double low, high;   /* the distance from there is usually between these */
    double least, most; /* and in a tenth of the draws between these; |x| is at most `most` */
    bool positive;      /* x > 0 */
    bool saturates;     /* in a quarter of the draws some |x| are 5 to 20 */
};

/* The families of a file; the last has no name. */
extern const correct_kernels AT_REAL(correct_elements)[], AT_REAL(correct_rows)[],
    AT_REAL(correct_products)[];

#define FORWARD(name) static void name(const correct_function *p, const REAL *x, REAL *y)
#define BACKWARD(name)                                                                             \
    static void name(const correct_function *p, const REAL *x, const REAL *dy, REAL *dx)
#define DRAW(name) static void name(correct_function *p, const correct_kernels *k)

/* Random numbers of p: the next one each time. */
double at_correct_unit(correct_function *p); /* in (0,1) */
double at_correct_normal(correct_function *p);
double at_correct_log(correct_function *p, double low, double high); /* its logarithm is uniform */
int at_correct_int(correct_function *p, int low, int high);          /* low to high, both too */
int at_correct_size(correct_function *p, int low, int high);         /* more small ones */
bool at_correct_chance(correct_function *p, double share);
/* Whole numbers that p has without drawing them: below `range`, number i of them */
int at_correct_id(const correct_function *p, int i, int range);

at_forward_fn_f32 at_correct_forward_f32;
at_forward_fn at_correct_forward_f64;
at_vjp_fn_f32 at_correct_vjp_f32;
at_vjp_fn at_correct_vjp_f64;

/* Memory for x, once the sizes are known; and x[from] to x[from + count - 1] */
void at_correct_sizes(correct_function *p, ptrdiff_t n, ptrdiff_t m);
void at_correct_normals(correct_function *p, ptrdiff_t from, ptrdiff_t count, double size);

#endif
