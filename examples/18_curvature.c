/* 18_curvature.c -- how curved is the loss where gradient descent trains?
 *
 *     w <- w - lr g       g = d(loss)/dw, of all P weights of a model
 *                         H = d2(loss)/dw dw, P x P, the Hessian: how g changes with w
 *
 * Along an eigenvector of H with the eigenvalue h > 0 the loss is a parabola, h x^2 / 2, as far as
 * first and second derivatives describe it.  A step takes x to (1 - lr h) x.  If h > 2/lr, that is
 * on the other side and farther away: x grows with every step, and training diverges.
 *
 * H has 13 million elements here and is never formed.  at_hvp gives H v for any direction v, and
 *
 *     v <- H v / |H v|      h = v.Hv for |v| = 1        (power iteration)
 *
 * turns v towards the eigenvector whose eigenvalue is the largest BY ABSOLUTE VALUE: h may be
 * negative.  As H is symmetric, it has an eigenvalue within |H v - h v| of h, which says how well h
 * is known.  Each power iteration starts from the v of the one before it.  Where two eigenvalues
 * of opposite signs have nearly the same size, as at the beginning, v does not settle.
 *
 * The model is that of `make demo`, smaller: one block of attention and a feed-forward net, which
 * predicts the next letter.  It is trained by plain gradient descent, each step on all of a short
 * text, in f64, with three learning rates from the same weights.  h is measured at the weights
 * before a step, at those after it, and half way along the step.
 *
 * (The learning rate 0.025 is not among them: when h passes 2/lr there, x has shrunk to the size of
 * rounding errors, and these decide when it has grown again and to which side.  So its rows differ
 * from processor to processor.)
 *
 * This is one model and one seed, and no theorem.  With --seed 3 it is as here; with --seed 2, h is
 * above 2/lr for 100 steps with the smallest rate, up to 306, and no jump is seen; with the others
 * h comes back, but single rows are far above.
 *
 * Gradient descent at this limit: Cohen et al. 2021, who call it the edge of stability.  Why h stays
 * there: Damian, Nichani, Lee 2023.  Read on: 19_forces.c. */
#include "attic_train.h"
#include "attic_plot.h"

#include <math.h>
#include <string.h>

#include "common/options.h"

enum { T = 16, DIM = 16, HEADS = 2, RATES = 3, MOST = 64, MAX_WEIGHTS = 64 };

static const double rate[RATES] = {0.0125, 0.03, 0.05};
static int steps = 300, seed = 1;

static const char text[] =
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the "
    "age of foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the "
    "season of Light, it was the season of Darkness, it was the spring of hope, it was the winter "
    "of despair.\n";

/* ------------------------------------------------------------------ the model ----------------- */

typedef struct {
    at_tape *t;
    at_model *model;
    at_tensor *ids, *next; /* [B,T]: the text, and what follows each character */
    int n;                 /* of its weights: */
    at_tensor *w[MAX_WEIGHTS], *v[MAX_WEIGHTS];
} net;

static net open_net(void)
{
    net m = {.t = at_open(ATTIC_F64, (uint64_t)seed)};
    at_tape *t = m.t;
    at_tokenizer *k = at_tokenizer_bytes(t, text, -1);
    ptrdiff_t length = 0;
    int32_t *id = at_encode(t, k, text, -1, &length);
    const int B = length > T ? (int)((length - 1) / T) : 1;
    m.model = at_model_make(
        t,
        (at_model_config){
            .vocab = at_tokenizer_vocab(k), .context = T, .layers = 1, .heads = HEADS, .dim = DIM});
    m.ids = at_ints(t, at_shape_of(B, T), id);
    m.next = at_ints(t, at_shape_of(B, T), id ? id + 1 : NULL);
    m.n = at_param_count(t);
    for (int i = 0; at_ok(t) && i < m.n; i++) {
        m.w[i] = at_param_at(t, i);
        m.v[i] = at_random(t, m.w[i]->shape, at_normal(1));
    }
    return m;
}

static at_tensor *loss_of(const net *m)
{
    at_tensor *logits = at_model_logits(m->t, m->model, m->ids, (at_model_args){0});
    return at_cross_entropy(m->t, logits, m->next, (at_cross_entropy_args){0});
}

/* ------------------------------------------------------------------ the largest eigenvalue ----- */

static double dot(const net *m, at_tensor *const *a, at_tensor *const *b)
{
    double sum = 0;
    for (int i = 0; at_ok(m->t) && i < m->n; i++)
        for (ptrdiff_t k = 0; k < at_count(m->w[i]->shape); k++)
            sum += at_element(a[i], k) * at_element(b[i], k);
    return sum;
}

/* Here; NAN if it is not known to 5 percent after 20 iterations. */
static double largest_eigenvalue(net *m, double *loss)
{
    at_mark here = at_mark_here(m->t);
    at_tensor *y = loss_of(m), *Hv[MAX_WEIGHTS] = {0};
    double h = 0, off = (double)INFINITY;
    *loss = at_item(y);
    for (int i = 0; i < 20 && at_ok(m->t) && off > 0.05 * fabs(h); i++) {
        at_hvp(m->t, y, m->w, m->v, m->n, m->w, m->n, Hv);
        const double vv = dot(m, m->v, m->v), HvHv = dot(m, Hv, Hv);
        h = dot(m, m->v, Hv) / vv;
        off = sqrt(fmax(HvHv / vv - h * h, 0));
        for (int k = 0; at_ok(m->t) && k < m->n; k++) {
            double *v = m->v[k]->data;
            for (ptrdiff_t j = 0; j < at_count(m->v[k]->shape); j++)
                v[j] = at_element(Hv[k], j) / sqrt(HvHv);
            at_written(m->v[k]);
        }
    }
    at_rewind(m->t, here);
    return off <= 0.05 * fabs(h) ? h : (double)NAN;
}

/* ------------------------------------------------------------------ training ------------------ */

typedef struct {
    int n;
    double step[MOST], loss[MOST], before[MOST], after[MOST], between[MOST];
    bool valley[MOST]; /* is the loss half way lower than before and after? */
} history;

static void step_down(const net *m, double lr)
{
    at_mark here = at_mark_here(m->t);
    at_backward(m->t, loss_of(m));
    at_sgd(m->t, lr);
    at_rewind(m->t, here);
}

/* w <- (1 - c) w + c other; other <- what w was */
static void mix(const net *m, at_tensor **other, double c)
{
    for (int i = 0; at_ok(m->t) && i < m->n && other[i]; i++) {
        double *w = m->w[i]->data, *o = other[i]->data;
        for (ptrdiff_t k = 0; k < at_count(m->w[i]->shape); k++) {
            const double was = w[k];
            w[k] = (1 - c) * was + c * o[k];
            o[k] = was;
        }
        at_written(m->w[i]);
    }
}

/* One step, with h before it, after it and half way. */
static void step_and_measure(net *m, double lr, int now, history *r)
{
    at_mark here = at_mark_here(m->t);
    at_tensor *other[MAX_WEIGHTS] = {0};
    const int k = r->n++;
    double after = 0, between = 0;
    for (int i = 0; i < m->n; i++) other[i] = at_cast(m->t, m->w[i], at_real(m->t));
    r->step[k] = now;
    r->before[k] = largest_eigenvalue(m, &r->loss[k]);
    step_down(m, lr);
    r->after[k] = largest_eigenvalue(m, &after);
    mix(m, other, 0.5);
    r->between[k] = largest_eigenvalue(m, &between);
    r->valley[k] = between < r->loss[k] && between < after;
    mix(m, other, 1);
    at_rewind(m->t, here);
}

/* ------------------------------------------------------------------ what was seen ------------- */

static void print_h(double h)
{
    if (isnan(h))
        printf("%7s", "-");
    else
        printf("%7.0f", h);
}

static void print_row(const history *r)
{
    const int k = r[0].n - 1;
    printf("%6.0f", r[0].step[k]);
    for (int i = 0; i < RATES; i++) {
        printf("%8.3f", r[i].loss[k]);
        print_h(r[i].before[k]);
        print_h(r[i].after[k]);
        print_h(r[i].between[k]);
    }
    printf("\n");
}

/* Of what is known in the last half of the rows. */
static double late_median(const history *r, const double *h)
{
    double sorted[MOST];
    int n = 0;
    for (int i = r->n / 2; i < r->n; i++) {
        if (isnan(h[i])) continue;
        int k = n++;
        for (; k > 0 && sorted[k - 1] > h[i]; k--) sorted[k] = sorted[k - 1];
        sorted[k] = h[i];
    }
    return n ? (sorted[(n - 1) / 2] + sorted[n / 2]) / 2 : (double)NAN;
}

static double most(const history *r, const double *h)
{
    double x = 0;
    for (int i = 0; i < r->n; i++) x = fmax(x, h[i]);
    return x;
}

/* Does h come back to 2/lr once it has passed it, do the weights lie on two sides of a valley then,
 * and does the loss go on falling? */
static bool print_seen(const history *r)
{
    bool falls = true, near = true, two_sides = true; /* of rates where h has passed 2/lr */
    printf(
        "\nSeen, in the last half of the rows: medians of h, and in how many of them the loss "
        "half\n"
        "way along the step is lower than before and after it; largest: h half way, of all rows\n\n"
        "      lr    2/lr   before  after between  largest    lower half way   last loss\n");
    for (int i = 0; i < RATES; i++) {
        const history *a = &r[i];
        const int from = a->n / 2, last = a->n - 1;
        const double limit = 2 / rate[i], h = late_median(a, a->between);
        const double largest = most(a, a->between);
        int lower = 0;
        for (int k = from; k < a->n; k++) lower += a->valley[k];
        printf("%8g%8.1f%9.0f%7.0f%8.0f%9.0f%11d of %d%12.2f\n", rate[i], limit,
               late_median(a, a->before), late_median(a, a->after), h, largest, lower, a->n - from,
               a->loss[last]);
        falls = falls && a->loss[last] < a->loss[from];
        near = near && h > 0 && (largest < limit || fabs(h / limit - 1) < 0.2);
        two_sides = two_sides && (largest < limit || 2 * lower > a->n - from);
    }
    printf("\nWhere h has passed 2/lr, the weights %s from one side of a valley to the other,\n"
           "and half way along a step h %s 2/lr.  Training %s.\n",
           two_sides ? "jump" : "do NOT always jump", near ? "comes back to" : "is NOT near",
           falls ? "does not diverge" : "DIVERGES");
    return falls && near && two_sides;
}

static bool draw(const char *path, const char *title, const at_series *line, const at_level *level,
                 int levels)
{
    const at_chart chart = {.title = title,
                            .x_label = "step",
                            .y_label = "largest eigenvalue h",
                            .series = line,
                            .n_series = RATES,
                            .levels = level,
                            .n_levels = levels};
    FILE *f = fopen(path, "w");
    bool drawn = f && at_svg_chart(f, &chart);
    return written(f, path, drawn);
}

/* Half way between two steps, for each rate; and for one of them, at both ends of a step, too. */
static bool draw_both(char **path, int n, const history *r)
{
    at_series line[RATES];
    at_level level[RATES];
    char name[RATES][32], limit[RATES][32];
    for (int i = 0; i < RATES; i++) {
        snprintf(name[i], sizeof name[i], "lr %g", rate[i]);
        snprintf(limit[i], sizeof limit[i], "2/lr = %.4g", 2 / rate[i]);
        line[i] = (at_series){.name = name[i], .x = r[i].step, .y = r[i].between, .n = r[i].n};
        level[i] = (at_level){limit[i], 2 / rate[i]};
    }
    bool good =
        n < 1 || draw(path[0], "The largest eigenvalue of the Hessian, half way along a step", line,
                      level, RATES);
    const history *a = &r[1];
    const at_series place[] = {{.name = "half way", .x = a->step, .y = a->between, .n = a->n},
                               {.name = "before the step", .x = a->step, .y = a->before, .n = a->n},
                               {.name = "after it", .x = a->step, .y = a->after, .n = a->n}};
    char title[64];
    snprintf(title, sizeof title, "lr %g: half way, and at both ends of a step", rate[1]);
    if (n > 1) good = draw(path[1], title, place, &level[1], 1) && good;
    return good;
}

int main(int argc, char **argv)
{
    static history r[RATES];
    const option table[] = {{"steps", &steps, NULL, NULL, 2, 1e6, "of gradient descent"},
                            {"seed", &seed, NULL, NULL, 0, 2147483647, "of the first weights"},
                            {0}};
    int first = parse_options(argc, argv,
                              "usage: 18_curvature [options] [picture.svg [second_picture.svg]]\n"
                              "How curved is the loss where gradient descent trains?\n",
                              table, 2);
    net m[RATES];
    const int apart = 2 * ((steps / 15 + 1) / 2) + 2 * (steps < 15); /* even, for about 15 rows */
    at_threads(1);
    printf(
        "How curved is the loss where gradient descent trains?  h is the largest eigenvalue, by\n"
        "absolute value, of the Hessian, the matrix of second derivatives of the loss.  On a\n"
        "parabola, training diverges if h is above 2/lr.  Look at h before a step, after it, and\n"
        "half way along it.\n\n"
        "    loss            before the step\n"
        "    before, after   h at the weights before the step, and after it\n"
        "    between         h half way along the step\n"
        "    -               unknown; all others are known to 5 percent or better\n\n      ");
    for (int i = 0; i < RATES; i++) {
        char title[64];
        snprintf(title, sizeof title, "lr %g, 2/lr = %.4g", rate[i], 2 / rate[i]);
        printf("    %-25s", title);
    }
    printf("\n  step");
    for (int i = 0; i < RATES; i++) printf("    loss before  after between");
    printf("\n");
    for (int i = 0; i < RATES; i++) m[i] = open_net();
    bool good = true;
    for (int k = 0; k <= steps; k++) {
        for (int i = 0; i < RATES; i++)
            if (k % apart == 0)
                step_and_measure(&m[i], rate[i], k, &r[i]);
            else
                step_down(&m[i], rate[i]);
        if (k % apart == 0) print_row(r);
    }
    for (int i = 0; i < RATES; i++) {
        if (!at_ok(m[i].t)) fprintf(stderr, "attic: %s\n", at_error(m[i].t));
        good = at_ok(m[i].t) && good;
        at_close(m[i].t);
    }
    good = print_seen(r) && good;
    return finish(!(draw_both(argv + first, argc - first, r) && good));
}
