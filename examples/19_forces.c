/* 19_forces.c -- learning an energy from its forces: a loss on a gradient.
 *
 *     E(x)               the energy of N points x in the plane
 *     g = dE/dx          the force on them is -g
 *
 * A model of E is trained on clusters whose energy E0 and forces are known, as they are from quantum
 * mechanics for clusters of atoms.  A cluster has one energy, but 2 N derivatives, and each says how
 * E goes on from there; so the loss should have both:
 *
 *     loss = mean (E - E0)^2 + c mean |g - g0|^2
 *
 * g is what at_backward gives, and its gradient by the weights W is a second derivative of E:
 *
 *     d/dW |g - g0|^2 = 2 d2E/dW dx (g - g0)
 *
 * the Hessian-vector product along v = 2 (g - g0) in x, read at W: at_hvp takes the two apart.  It
 * returns numbers Hv for each weight; the sum of W Hv has them as its gradient, and so the optimizer
 * gets them.
 *
 * The model is attention over points.  It sees distances alone, so E stays as it is when a cluster
 * is moved, rotated or reflected, and when its points change places; g turns with the cluster.
 *
 *     f_ijk = exp(-((r_ij - c_k) / w)^2)             r_ij = sqrt(|x_i - x_j|^2 + 0.01)
 *     P_ij  = exp(S_ij) / (1 + sum_k exp(S_ik))      S_ij = q_i.k_j / sqrt(D) + bias(f_ij)
 *
 * in each of 4 heads of two layers, where bias is a small network.  The 1 is a key with a score and
 * a value of 0: with it a point notices how many others are near, not only which of them is nearest.
 * All points begin as the same vector; at the end each adds its share to E, which is
 * -5.5 + 0.1 times the sum of the shares, so that the shares are near 0.
 *
 * The clusters are drawn here, and the true energy is the sum over pairs of a Morse potential,
 * (1 - exp(-3 (r - 1)))^2 - 1.  The model is not told that it is a sum.  Read on: 20_flow.c. */
#include "attic.h"
#include "attic_plot.h"

#include <math.h>

#include "common/options.h"

enum {
    N = 6,      /* points of a cluster */
    KNOWN = 64, /* clusters to learn from */
    HELD = 128, /* and others */
    B = 16,     /* clusters of a step */
    C = 32,     /* features of a point */
    H = 4,      /* heads */
    F = 12,     /* features of a distance */
    LAYERS = 2,
    ROWS = 8 /* of the table */
};

static int steps = 400, seed = 1;
static const double weight = 0.25; /* c, of the force loss */
static const double usual = -5.5;  /* E of a cluster, about */

/* ------------------------------------------------------------------ clusters ------------------ */

typedef struct {
    double x[N][2], E, g[N][2]; /* g = dE/dx */
} cluster;

static void know_energy(cluster *k)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            const double dx = k->x[i][0] - k->x[j][0], dy = k->x[i][1] - k->x[j][1];
            const double r = hypot(dx, dy), e = exp(-3 * (r - 1)), slope = 6 * (1 - e) * e / r;
            k->E += (1 - e) * (1 - e) - 1;
            k->g[i][0] += slope * dx, k->g[j][0] -= slope * dx;
            k->g[i][1] += slope * dy, k->g[j][1] -= slope * dy;
        }
}

/* Each point is 0.8 to 1.6 away from one before it, and at least 0.8 from all. */
static cluster draw_cluster(at_stream dice, uint64_t at)
{
    cluster k = {.x = {{0}}};
    for (int i = 1; i < N;) {
        const double *from = k.x[(int)(at_random_unit(dice, at) * i)];
        const double r = 0.8 + 0.8 * at_random_unit(dice, at + 1);
        const double angle = 2 * M_PI * at_random_unit(dice, at + 2);
        k.x[i][0] = from[0] + r * cos(angle), k.x[i][1] = from[1] + r * sin(angle);
        double nearest = 2;
        for (int j = 0; j < i; j++)
            nearest = fmin(nearest, hypot(k.x[i][0] - k.x[j][0], k.x[i][1] - k.x[j][1]));
        i += nearest >= 0.8;
        at += 3;
    }
    know_energy(&k);
    return k;
}

/* ------------------------------------------------------------------ the model ----------------- */

typedef struct {
    at_tensor *first, *centres; /* [C] of every point; [F] */
    struct {
        at_linear q, k, v, o, far, bias; /* far, bias: F -> C -> H */
        at_linear up, down;
    } layer[LAYERS];
    at_linear up, E;
} model;

static model make_model(at_tape *t)
{
    const at_init draw = at_xavier_normal(1);
    double centre[F];
    for (int k = 0; k < F; k++) centre[k] = 0.6 + 0.25 * k;
    model m = {.first = at_param(t, "first", at_shape_of(C), at_normal(1)),
               .centres = at_const(t, at_shape_of(F), centre)};
    for (int l = 0; l < LAYERS; l++) {
        at_scopef(t, "layer%d", l);
        m.layer[l].q = at_linear_make(t, "q", C, C, false, draw);
        m.layer[l].k = at_linear_make(t, "k", C, C, false, draw);
        m.layer[l].v = at_linear_make(t, "v", C, C, false, draw);
        m.layer[l].o = at_linear_make(t, "o", C, C, false, draw);
        m.layer[l].far = at_linear_make(t, "far", F, C, true, draw);
        m.layer[l].bias = at_linear_make(t, "bias", C, H, true, draw);
        m.layer[l].up = at_linear_make(t, "up", C, 2 * C, true, draw);
        m.layer[l].down = at_linear_make(t, "down", 2 * C, C, true, draw);
        at_scope_end(t);
    }
    m.up = at_linear_make(t, "up", C, C, true, draw);
    m.E = at_linear_make(t, "E", C, 1, true, draw);
    return m;
}

/* x [n,N,2] -> f [n,N,N,F] */
static at_tensor *distance_features(at_tape *t, const model *m, at_tensor *x, int n)
{
    at_tensor *d = at_sub(t, at_reshape(t, x, at_shape_of(n, N, 1, 2)),
                          at_reshape(t, x, at_shape_of(n, 1, N, 2)));
    at_tensor *r2 = at_sum_over(t, at_square(t, d), at_axes(-1), true);
    at_tensor *r = at_sqrt(t, at_add_scalar(t, r2, 0.01)); /* [n,N,N,1] */
    return at_exp(t, at_scale(t, at_square(t, at_sub(t, r, m->centres)), -1 / (0.25 * 0.25)));
}

/* A last row of zeros: y [...,N,..] -> [...,N+1,..] along the axis */
static at_tensor *with_zeros(at_tape *t, at_tensor *y, int axis)
{
    if (!y) return NULL;
    at_shape one = y->shape;
    one.dim[axis] = 1;
    return at_concat(t, (at_tensor *[]){y, at_const(t, one, NULL)}, 2, axis);
}

/* x [n,N,2] -> E [n] */
static at_tensor *energy(at_tape *t, const model *m, at_tensor *x)
{
    if (!x) return NULL;
    const int n = x->shape.dim[0];
    at_tensor *f = distance_features(t, m, x, n);
    at_tensor *h = at_expand(t, m->first, at_shape_of(n, N, C));
    for (int l = 0; l < LAYERS; l++) {
        at_tensor *y = at_rms_norm(t, h, NULL, 1e-6);
        at_tensor *near = at_silu(t, at_linear_apply(t, m->layer[l].far, f));
        at_tensor *bias = at_permute(t, at_linear_apply(t, m->layer[l].bias, near),
                                     at_shape_of(0, 3, 1, 2)); /* [n,H,N,N] */
        at_tensor *O = at_sdpa(t, at_linear_apply(t, m->layer[l].q, y),
                               with_zeros(t, at_linear_apply(t, m->layer[l].k, y), 1),
                               with_zeros(t, at_linear_apply(t, m->layer[l].v, y), 1),
                               (at_sdpa_args){.heads = H, .bias = with_zeros(t, bias, 3)});
        h = at_add(t, h, at_linear_apply(t, m->layer[l].o, O));
        y = at_silu(t, at_linear_apply(t, m->layer[l].up, at_rms_norm(t, h, NULL, 1e-6)));
        h = at_add(t, h, at_linear_apply(t, m->layer[l].down, y));
    }
    h = at_silu(t, at_linear_apply(t, m->up, at_rms_norm(t, h, NULL, 1e-6)));
    h = at_linear_apply(t, m->E, h); /* [n,N,1] */
    return at_add_scalar(t, at_scale(t, at_sum_over(t, h, at_axes(1, 2), false), 0.1), usual);
}

/* ------------------------------------------------------------------ a step -------------------- */

typedef struct {
    at_tensor *x, *E, *g; /* [n,N,2] [n] [n,N,2] */
} batch;

static batch take(at_tape *t, const cluster *from, int n)
{
    batch b = {at_variable(t, at_shape_of(n, N, 2), NULL), at_const(t, at_shape_of(n), NULL),
               at_const(t, at_shape_of(n, N, 2), NULL)};
    for (int k = 0; at_ok(t) && k < n; k++) {
        at_set(b.E, from[k].E, k);
        for (int i = 0; i < 2 * N; i++) {
            at_set(b.x, from[k].x[i / 2][i % 2], k, i / 2, i % 2);
            at_set(b.g, from[k].g[i / 2][i % 2], k, i / 2, i % 2);
        }
    }
    return b;
}

/* dE/dx of every cluster; no gradient stays. */
static at_tensor *slopes(at_tape *t, at_tensor *E, at_tensor *x)
{
    at_backward(t, at_sum(t, E));
    at_tensor *g = at_grad_copy(t, x);
    at_zero_grads(t);
    return g;
}

/* A number whose gradient by the weights is that of mean |g - g0|^2. */
static at_tensor *force_loss(at_tape *t, at_tensor *E, const batch *b)
{
    at_tensor *W[64], *Hv[64] = {0}, *sum = NULL;
    const int n = at_param_count(t);
    for (int k = 0; k < n; k++) W[k] = at_param_at(t, k);
    at_tensor *off = at_sub(t, slopes(t, E, b->x), b->g);
    at_tensor *x = b->x, *v = off ? at_scale(t, off, 2.0 / (double)at_count(off->shape)) : NULL;
    at_hvp(t, at_sum(t, E), &x, &v, 1, W, n, Hv);
    for (int k = 0; k < n; k++) {
        at_tensor *part = at_sum(t, at_mul(t, W[k], Hv[k]));
        sum = sum ? at_add(t, sum, part) : part;
    }
    return sum;
}

static void move(at_tensor *w, const at_tensor *along, double h)
{
    for (ptrdiff_t i = 0; w && along && i < at_count(w->shape); i++)
        ((double *)w->data)[i] += h * at_element(along, i);
    at_written(w);
}

/* The derivative of mean |g - g0|^2 while all weights W move along random directions D: as the sum of
 * D Hv, and from differences. */
static void check_force_loss(const cluster *known, double *exact, double *numeric)
{
    at_tape *t = at_open(ATTIC_F64, (uint64_t)seed);
    model m = make_model(t);
    at_tensor *D[64];
    const int n = at_param_count(t);
    for (int k = 0; k < n; k++) D[k] = at_random(t, at_param_at(t, k)->shape, at_normal(1));
    batch b = take(t, known, B);
    at_backward(t, force_loss(t, energy(t, &m, b.x), &b));
    *exact = *numeric = 0;
    for (int k = 0; k < n; k++)
        *exact += at_item(at_sum(t, at_mul(t, D[k], at_grad_copy(t, at_param_at(t, k)))));
    static const double at[4] = {-2, -1, 1, 2},
                        factor[4] = {1 / 12.0, -8 / 12.0, 8 / 12.0, -1 / 12.0};
    const double h = 1e-4;
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < n; k++)
            move(at_param_at(t, k), D[k], h * (at[i] - (i ? at[i - 1] : 0)));
        at_tensor *off = at_sub(t, slopes(t, energy(t, &m, b.x), b.x), b.g);
        *numeric += factor[i] / h * at_item(at_mean(t, at_square(t, off)));
    }
    at_close(t);
}

/* ------------------------------------------------------------------ training ------------------ */

typedef struct {
    double step[ROWS + 1], E[ROWS + 1], g[ROWS + 1]; /* errors on held-out clusters */
    double x[HELD * 2 * N];                          /* g, as the model has it in the end */
} history;

static void measure(at_tape *t, const model *m, const cluster *held, int now, int row, history *h)
{
    at_mark here = at_mark_here(t);
    batch b = take(t, held, HELD);
    at_tensor *E = energy(t, m, b.x), *g = slopes(t, E, b.x);
    h->step[row] = now;
    h->E[row] = sqrt(at_item(at_mse(t, E, b.E, ATTIC_MEAN)));
    h->g[row] = sqrt(at_item(at_mse(t, g, b.g, ATTIC_MEAN)));
    if (at_ok(t)) at_read_f64(g, h->x, HELD * 2 * N);
    at_rewind(t, here);
}

static bool train(const cluster *known, const cluster *held, bool with_forces, history *h)
{
    at_tape *t = at_open(ATTIC_F64, (uint64_t)seed);
    model m = make_model(t);
    at_mark mark = at_mark_here(t);
    for (int i = 0, row = 0; i <= steps && at_ok(t); i++) {
        if (i == (int)((double)steps * row / ROWS)) measure(t, &m, held, i, row++, h);
        batch b = take(t, known + i * B % KNOWN, B);
        at_tensor *E = energy(t, &m, b.x);
        at_tensor *loss = at_mse(t, E, b.E, ATTIC_MEAN);
        if (with_forces) loss = at_add(t, loss, at_scale(t, force_loss(t, E, &b), weight));
        at_backward(t, loss);
        at_clip_grad_norm(t, 10);
        at_adamw(t, at_warmup_cosine(i, steps / 20, steps, 2.5e-3, 1e-4), (at_adamw_args){0});
        at_rewind(t, mark);
    }
    if (!at_ok(t)) fprintf(stderr, "attic: %s\n", at_error(t));
    const bool good = at_ok(t);
    at_close(t);
    return good;
}

/* ------------------------------------------------------------------ pictures ------------------ */

static bool draw(const char *path, const at_chart *c)
{
    FILE *f = fopen(path, "w");
    bool drawn = f && at_svg_chart(f, c);
    return written(f, path, drawn);
}

static const char *const name[2] = {"energies alone", "energies and forces"};

static bool draw_both(char **path, int n, const cluster *held, const history *h, double size)
{
    enum { SHOWN = 30 * 2 * N };
    double right[SHOWN], ends[2] = {-8, 8};
    for (int k = 0; k < SHOWN; k++) right[k] = held[k / (2 * N)].g[k / 2 % N][k % 2];
    at_series line[2], dots[3];
    for (int i = 0; i < 2; i++) {
        line[i] = (at_series){.name = name[i], .x = h[i].step, .y = h[i].g, .n = ROWS + 1};
        dots[i] = (at_series){.name = name[i], .x = right, .y = h[i].x, .n = SHOWN, .dots = true};
    }
    dots[2] = (at_series){.name = "exact", .x = ends, .y = ends, .n = 2, .faint = true};
    const at_level none = {"no force", size};
    const at_chart errors = {.title = "The error of a force on clusters that were held out",
                             .x_label = "step",
                             .y_label = "root of the mean squared error",
                             .series = line,
                             .n_series = 2,
                             .levels = &none,
                             .n_levels = 1};
    const at_chart forces = {.title = "dE/dx of clusters that were held out",
                             .x_label = "true",
                             .y_label = "of the model",
                             .series = dots,
                             .n_series = 3};
    bool good = n < 1 || draw(path[0], &errors);
    return (n < 2 || draw(path[1], &forces)) && good;
}

int main(int argc, char **argv)
{
    static cluster known[KNOWN], held[HELD];
    static history h[2];
    const option table[] = {{"steps", &steps, NULL, NULL, ROWS, 1e6, "of training"},
                            {"seed", &seed, NULL, NULL, 0, 2147483647, "of everything random"},
                            {0}};
    int first = parse_options(argc, argv,
                              "usage: 19_forces [options] [picture.svg [second_picture.svg]]\n"
                              "Learning an energy from its forces: a loss on a gradient.\n",
                              table, 2);
    at_threads(1);
    const at_stream dice = {(uint64_t)seed, 1};
    double exact, numeric, size = 0;
    for (int i = 0; i < KNOWN + HELD; i++)
        *(i < KNOWN ? &known[i] : &held[i - KNOWN]) = draw_cluster(dice, (uint64_t)i << 20);
    for (int k = 0; k < HELD * 2 * N; k++) {
        const double g = held[k / (2 * N)].g[k / 2 % N][k % 2];
        size += g * g / (HELD * 2 * N);
    }
    size = sqrt(size);

    printf(
        "Can a model of an energy learn from forces, the derivatives of the energy?  %d clusters "
        "of\n"
        "%d points are known.  The same model is trained on their energies alone, and on energies\n"
        "and forces.  Look at the errors on %d other clusters, root mean squares:\n\n"
        "    E       of the energy\n"
        "    force   of an element of dE/dx; %.2f if one predicts no force\n\n",
        KNOWN, N, HELD, size);
    check_force_loss(known, &exact, &numeric);
    printf("The loss on forces changes along a random direction of the weights by\n"
           "    %.9f  as at_hvp says\n    %.9f  as five-point differences say\n\n",
           exact, numeric);
    bool good = train(known, held, false, &h[0]) && train(known, held, true, &h[1]);
    printf("          %-20s%-20s\n  step         E     force         E     force\n", name[0],
           name[1]);
    for (int r = 0; r <= ROWS; r++)
        printf("%6.0f%10.2f%10.2f%10.2f%10.2f\n", h[0].step[r], h[0].E[r], h[0].g[r], h[1].E[r],
               h[1].g[r]);
    const double E[2] = {h[0].E[ROWS], h[1].E[ROWS]}, g[2] = {h[0].g[ROWS], h[1].g[ROWS]};
    printf(
        "\nSeen: the error of a force is %.2f if the model learned from energies alone, and %.2f\n"
        "if it learned from forces, too.  The error of the energy is %.2f and %.2f: forces help\n"
        "with energies %s.\n",
        g[0], g[1], E[0], E[1], E[1] < E[0] ? "as well" : "NOT at all");
    const bool as_said = g[1] < g[0] / 3 && E[1] < 0.7 * E[0] && fabs(exact / numeric - 1) < 1e-6;
    good = draw_both(argv + first, argc - first, held, h, size) && good;
    return finish(!(good && as_said));
}
