/* 16_twenty_layers.c -- how large should the first weights be?  The variance of activations and of
 * gradients through twenty layers.
 *
 *     y = x W        x [B,d_in]    W [d_in,d_out], elements of mean 0 and variance v    y [B,d_out]
 *
 * y_j is a sum of d_in terms x_i W_ij, independent of each other, so
 *
 *     Var[y]  = d_in v Var[x]          forward
 *     Var[dx] = d_out v Var[dy]        backward: dx = dy W^T is a sum of d_out terms
 *
 * Forward the variance stays if v = 1/d_in, backward if v = 1/d_out.  Both hold where d_in = d_out.
 * Where not, Xavier (Glorot and Bengio 2010) takes v = 2 / (d_in + d_out): the factors are then
 * 2 d_in / (d_in + d_out) and 2 d_out / (d_in + d_out), one above 1 and one below, and their mean is
 * 1.  A factor of 1/2 does little harm once; after twenty layers it is 1e-6.
 *
 * A relu sets half of the activations to 0, and with them half of the sum: after it the mean square
 * is half of what it was.  He (He, Zhang, Ren, Sun 2015) makes up for that with v = 2 / d_in.
 *
 * The first table sends random rows through twenty layers of width 256, and random gradients back.
 * What is measured is the mean square, which is the variance where the mean is 0.  The second
 * measures one layer of each shape against the formulas; 512 -> 64 is the projection to one of eight
 * heads.  A layer norm between the layers makes the forward independent of all this, which is why
 * a transformer starts well with many an initialiser. */
#include "attic.h"

#include <math.h>

#include "common/options.h"

enum { LAYERS = 20, WIDTH = 256, B = 256, SHAPES = 3 };

static double mean_square(const at_tensor *x, bool of_gradient)
{
    double sum = 0;
    ptrdiff_t n = x ? at_count(x->shape) : 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double v = of_gradient ? at_grad_element(x, i) : at_element(x, i);
        sum += v * v / (double)n;
    }
    return sum;
}

/* ---- twenty layers -------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    at_init init;
    bool relu;
    double factor; /* by which a layer should multiply the mean square */
} network;

typedef struct {
    double after_1, after_10, after_20, back; /* mean squares; of the gradient of the input */
} flow;

static flow send(const network *n)
{
    flow f = {0};
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(B, WIDTH), NULL), *y = x;
    if (x) at_init_fill(x, at_normal(1), at_draw(t));
    for (int l = 1; l <= LAYERS; l++) {
        y = at_matmul(t, y, at_random(t, at_shape_of(WIDTH, WIDTH), n->init));
        if (n->relu) y = at_relu(t, y);
        if (l == 1) f.after_1 = mean_square(y, false);
        if (l == 10) f.after_10 = mean_square(y, false);
    }
    f.after_20 = mean_square(y, false);
    at_backward_from(t, y, at_random(t, at_shape_of(B, WIDTH), at_normal(1)));
    if (at_ok(t))
        f.back = mean_square(x, true);
    else
        fprintf(stderr, "attic: %s\n", at_error(t));
    at_close(t);
    return f;
}

/* Within a factor of three of 1, forward and backward. */
static bool stays(const flow *f)
{
    return fabs(log(f->after_20)) < log(3) && fabs(log(f->back)) < log(3);
}

/* True if what should stay does, and nothing else. */
static bool show_twenty(void)
{
    const network table[] = {
        {"N(0, 0.02^2)", at_normal(0.02), false, WIDTH * 0.02 * 0.02},
        {"N(0, 0.1^2)", at_normal(0.1), false, WIDTH * 0.1 * 0.1},
        {"Xavier, normal", at_xavier_normal(1), false, 1},
        {"Xavier, uniform", at_xavier_uniform(1), false, 1},
        {"Xavier, normal, relu", at_xavier_normal(1), true, 0.5},
        {"He, normal, relu", at_he_normal(sqrt(2)), true, 1},
    };
    enum { ROWS = sizeof table / sizeof *table };
    bool as_expected = true;
    int kept = 0;
    printf("%d layers of width %d; x and the gradient that comes in have mean square 1\n\n"
           "    factor        of one layer, by the formula: %d v, halved by a relu\n"
           "    after 1 ..    the mean square after so many layers\n"
           "    gradient      the mean square of dx, after all layers backward\n\n"
           "weights                  factor    after 1   after 10   after 20   gradient   stays\n",
           LAYERS, WIDTH, WIDTH);
    for (int i = 0; i < ROWS; i++) {
        flow f = send(&table[i]);
        kept += stays(&f);
        as_expected = as_expected && stays(&f) == (table[i].factor == 1);
        printf("%-22s %8.3f  %#9.2g  %#9.2g  %#9.2g  %#9.2g   %s\n", table[i].name, table[i].factor,
               f.after_1, f.after_10, f.after_20, f.back, stays(&f) ? "yes" : "no");
    }
    printf("\n%d of %d stay within a factor of three after %d layers, those with factor 1 alone: "
           "%s\n\n",
           kept, ROWS, LAYERS, as_expected ? "yes" : "NO");
    return as_expected;
}

/* ---- one layer ------------------------------------------------------------------------------ */

typedef struct {
    double forward, back; /* measured factors of the mean square */
    double off;           /* their largest relative distance from the formulas */
} factors;

static factors show_shape(int d_in, int d_out)
{
    enum { ROWS = 4096 };
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(ROWS, d_in), NULL);
    if (x) at_init_fill(x, at_normal(1), at_draw(t));
    at_tensor *W = at_random(t, at_shape_of(d_in, d_out), at_xavier_normal(1));
    at_tensor *y = at_matmul(t, x, W);
    at_backward_from(t, y, at_random(t, at_shape_of(ROWS, d_out), at_normal(1)));
    double v = 2.0 / (d_in + d_out);
    factors f = {.off = (double)INFINITY};
    if (at_ok(t)) {
        f.forward = mean_square(y, false), f.back = mean_square(x, true);
        f.off = fmax(fabs(f.forward / (d_in * v) - 1), fabs(f.back / (d_out * v) - 1));
        printf("%5d -> %-5d  %8.5f  %8.5f   %8.3f  %8.3f   %8.3f  %8.3f\n", d_in, d_out, v,
               mean_square(W, false), d_in * v, f.forward, d_out * v, f.back);
    } else
        fprintf(stderr, "attic: %s\n", at_error(t));
    at_close(t);
    return f;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv,
                  "usage: 16_twenty_layers\n"
                  "How large should the first weights be?\n",
                  NULL, 0);
    const int shape[SHAPES][2] = {{256, 256}, {512, 64}, {64, 512}};
    double worst = 0;
    factors f[SHAPES];
    printf("How large should the first weights be?  So large that a signal neither grows nor\n"
           "vanishes on its way through the layers.  Look at the column \"after 20\".\n\n");
    bool as_expected = show_twenty();
    printf("One layer with Xavier's v = 2 / (d_in + d_out), by the formula and measured\n\n"
           "                 variance v           forward factor        backward factor\n"
           "d_in -> d_out   formula  measured    d_in v  measured    d_out v  measured\n");
    for (int i = 0; i < SHAPES; i++) {
        f[i] = show_shape(shape[i][0], shape[i][1]);
        worst = fmax(worst, f[i].off);
    }
    bool close = worst < 0.05;
    printf(
        "\nSeen: the formulas hold within 5%%: %s.  From 256 to 256 the forward is multiplied by\n"
        "%.2f, the backward by %.2f; from 512 to 64 by %.2f and %.2f.\n",
        close ? "yes" : "NO", f[0].forward, f[0].back, f[1].forward, f[1].back);
    return finish(!(close && as_expected));
}
