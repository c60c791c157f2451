/* correct_rows.c -- correct functions that sum: reductions, losses, rows.  See correct_kernels.h.
 * x holds B rows of D elements, and then what has a line of its own. */
#include "kernels/real.h"
#include "gradcheck/correct_kernels.h"

#define EACH_ELEMENT for (ptrdiff_t i = 0; i < p->n; i++)

/* ------------------------------------------------------------------ of all to one --------------- */

FORWARD(sum)
{
    *y = 0;
    EACH_ELEMENT *y += x[i];
}
BACKWARD(sum_back)
{
    (void)x;
    EACH_ELEMENT dx[i] = *dy;
}
FORWARD(mean)
{
    sum(p, x, y);
    *y /= (REAL)p->n;
}
BACKWARD(mean_back)
{
    (void)x;
    EACH_ELEMENT dx[i] = *dy / (REAL)p->n;
}
FORWARD(mean_square)
{
    *y = 0;
    EACH_ELEMENT *y += x[i] * x[i];
    *y /= (REAL)p->n;
}
BACKWARD(mean_square_back)
{
    EACH_ELEMENT dx[i] = 2 * x[i] * (*dy / (REAL)p->n);
}
FORWARD(sum_of_tanh)
{
    *y = 0;
    EACH_ELEMENT *y += tanh(x[i]);
}
BACKWARD(sum_of_tanh_back)
{
    EACH_ELEMENT dx[i] = *dy * (1 - tanh(x[i]) * tanh(x[i]));
}
FORWARD(norm)
{
    *y = 0;
    EACH_ELEMENT *y += x[i] * x[i];
    *y = sqrt(*y);
}
BACKWARD(norm_back)
{
    REAL y;
    norm(p, x, &y);
    EACH_ELEMENT dx[i] = *dy * x[i] / y;
}
FORWARD(absolute_sum)
{
    *y = 0;
    EACH_ELEMENT *y += fabs(x[i]);
}
BACKWARD(absolute_sum_back)
{
    EACH_ELEMENT dx[i] = x[i] > 0 ? *dy : x[i] < 0 ? -*dy : 0;
}
static ptrdiff_t place_of_largest(const correct_function *p, const REAL *x)
{
    ptrdiff_t most = 0;
    EACH_ELEMENT if (x[i] > x[most]) most = i;
    return most;
}
FORWARD(largest)
{
    *y = x[place_of_largest(p, x)];
}
BACKWARD(largest_back)
{
    EACH_ELEMENT dx[i] = 0;
    dx[place_of_largest(p, x)] = *dy;
}
/* sum_i (x_i - mean)^2 / n */
FORWARD(variance)
{
    REAL mu;
    mean(p, x, &mu);
    *y = 0;
    EACH_ELEMENT *y += (x[i] - mu) * (x[i] - mu);
    *y /= (REAL)p->n;
}
BACKWARD(variance_back)
{
    REAL mu;
    mean(p, x, &mu);
    EACH_ELEMENT dx[i] = 2 * *dy / (REAL)p->n * (x[i] - mu);
}
FORWARD(product_of_all)
{
    *y = 1;
    EACH_ELEMENT *y *= x[i];
}
BACKWARD(product_of_all_back)
{
    EACH_ELEMENT
    {
        dx[i] = *dy;
        for (ptrdiff_t j = 0; j < p->n; j++) dx[i] *= j == i ? 1 : x[j];
    }
}
/* The cosine of the angle between the first D elements and the others */
static REAL dot(int D, const REAL *a, const REAL *b)
{
    REAL s = 0;
    for (int i = 0; i < D; i++) s += a[i] * b[i];
    return s;
}
FORWARD(cosine)
{
    const REAL *b = x + p->D;
    *y = dot(p->D, x, b) / (sqrt(dot(p->D, x, x)) * sqrt(dot(p->D, b, b)));
}
BACKWARD(cosine_back)
{
    const REAL *b = x + p->D;
    REAL y, aa = dot(p->D, x, x), bb = dot(p->D, b, b), r = 1 / (sqrt(aa) * sqrt(bb));
    cosine(p, x, &y);
    for (int i = 0; i < p->D; i++) {
        dx[i] = *dy * (b[i] * r - y * x[i] / aa);
        dx[p->D + i] = *dy * (x[i] * r - y * b[i] / bb);
    }
}

/* ------------------------------------------------------------------ rows ------------------------ */

static REAL log_sum_exp(int D, REAL c, const REAL *x)
{
    REAL most = c * x[0], total = 0;
    for (int i = 1; i < D; i++) most = c * x[i] > most ? c * x[i] : most;
    for (int i = 0; i < D; i++) total += exp(c * x[i] - most);
    return most + log(total);
}
FORWARD(log_sum_exp_rows)
{
    REAL c = (REAL)p->constant[0];
    for (int r = 0; r < p->B; r++) y[r] = log_sum_exp(p->D, c, x + r * p->D) / c;
}
BACKWARD(log_sum_exp_rows_back)
{
    REAL c = (REAL)p->constant[0];
    for (int r = 0; r < p->B; r++, x += p->D, dx += p->D) {
        REAL lse = log_sum_exp(p->D, c, x);
        for (int i = 0; i < p->D; i++) dx[i] = dy[r] * exp(c * x[i] - lse);
    }
}
static void softmax_of_row(int D, REAL c, const REAL *x, REAL *y)
{
    REAL most = c * x[0], total = 0;
    for (int i = 1; i < D; i++) most = c * x[i] > most ? c * x[i] : most;
    for (int i = 0; i < D; i++) total += y[i] = exp(c * x[i] - most);
    for (int i = 0; i < D; i++) y[i] /= total;
}
FORWARD(softmax_rows)
{
    for (int r = 0; r < p->B * p->D; r += p->D)
        softmax_of_row(p->D, (REAL)p->constant[0], x + r, y + r);
}
BACKWARD(softmax_rows_back)
{
    softmax_rows(p, x, dx);
    for (int r = 0; r < p->B; r++, dx += p->D, dy += p->D) {
        REAL s = dot(p->D, dx, dy);
        for (int i = 0; i < p->D; i++) dx[i] *= (REAL)p->constant[0] * (dy[i] - s);
    }
}
FORWARD(log_softmax_rows)
{
    for (int r = 0; r < p->B; r++, x += p->D, y += p->D) {
        REAL lse = log_sum_exp(p->D, 1, x);
        for (int i = 0; i < p->D; i++) y[i] = x[i] - lse;
    }
}
BACKWARD(log_softmax_rows_back)
{
    for (int r = 0; r < p->B; r++, x += p->D, dx += p->D, dy += p->D) {
        REAL lse = log_sum_exp(p->D, 1, x), s = 0;
        for (int i = 0; i < p->D; i++) s += dy[i];
        for (int i = 0; i < p->D; i++) dx[i] = dy[i] - s * exp(x[i] - lse);
    }
}
/* x / (sum x^2)^(1/2) */
FORWARD(unit_rows)
{
    for (int r = 0; r < p->B; r++, x += p->D, y += p->D) {
        REAL s = 1 / sqrt(dot(p->D, x, x));
        for (int i = 0; i < p->D; i++) y[i] = x[i] * s;
    }
}
BACKWARD(unit_rows_back)
{
    for (int r = 0; r < p->B; r++, x += p->D, dy += p->D, dx += p->D) {
        REAL s = 1 / sqrt(dot(p->D, x, x)), along = dot(p->D, x, dy) * s;
        for (int i = 0; i < p->D; i++) dx[i] = s * (dy[i] - x[i] * s * along);
    }
}
/* Then w [D], b [D] */
static REAL row_mean(int D, const REAL *x, REAL *inverse_deviation)
{
    REAL mu = 0, v = 0;
    for (int i = 0; i < D; i++) mu += x[i];
    mu /= (REAL)D;
    for (int i = 0; i < D; i++) v += (x[i] - mu) * (x[i] - mu);
    *inverse_deviation = 1 / sqrt(v / (REAL)D + (REAL)1e-5);
    return mu;
}
FORWARD(layer_norm)
{
    const REAL *w = x + p->B * p->D, *b = w + p->D;
    for (int r = 0; r < p->B; r++, x += p->D, y += p->D) {
        REAL s, mu = row_mean(p->D, x, &s);
        for (int i = 0; i < p->D; i++) y[i] = (x[i] - mu) * s * w[i] + b[i];
    }
}
BACKWARD(layer_norm_back)
{
    const REAL *w = x + p->B * p->D;
    REAL *dw = dx + p->B * p->D, *db = dw + p->D;
    for (int i = 0; i < 2 * p->D; i++) dw[i] = 0;
    for (int r = 0; r < p->B; r++, x += p->D, dy += p->D, dx += p->D) {
        REAL s, mu = row_mean(p->D, x, &s), mean_dz = 0, mean_dz_z = 0;
        for (int i = 0; i < p->D; i++) {
            REAL z = (x[i] - mu) * s, dz = w[i] * dy[i];
            mean_dz += dz / (REAL)p->D;
            mean_dz_z += dz * z / (REAL)p->D;
            dw[i] += z * dy[i];
            db[i] += dy[i];
        }
        for (int i = 0; i < p->D; i++)
            dx[i] = s * (w[i] * dy[i] - mean_dz - (x[i] - mu) * s * mean_dz_z);
    }
}
/* Then w [D] */
FORWARD(rms_norm)
{
    const REAL *w = x + p->B * p->D;
    for (int r = 0; r < p->B; r++, x += p->D, y += p->D) {
        REAL s = 1 / sqrt(dot(p->D, x, x) / (REAL)p->D + (REAL)1e-6);
        for (int i = 0; i < p->D; i++) y[i] = x[i] * s * w[i];
    }
}
BACKWARD(rms_norm_back)
{
    const REAL *w = x + p->B * p->D;
    REAL *dw = dx + p->B * p->D;
    for (int i = 0; i < p->D; i++) dw[i] = 0;
    for (int r = 0; r < p->B; r++, x += p->D, dy += p->D, dx += p->D) {
        REAL s = 1 / sqrt(dot(p->D, x, x) / (REAL)p->D + (REAL)1e-6), along = 0;
        for (int i = 0; i < p->D; i++) {
            along += w[i] * dy[i] * x[i] * s / (REAL)p->D;
            dw[i] += x[i] * s * dy[i];
        }
        for (int i = 0; i < p->D; i++) dx[i] = s * (w[i] * dy[i] - x[i] * s * along);
    }
}
FORWARD(running_sum)
{
    for (int i = 0; i < p->D; i++) y[i] = x[i] + (i ? y[i - 1] : 0);
}
BACKWARD(running_sum_back)
{
    (void)x;
    for (int i = p->D - 1; i >= 0; i--) dx[i] = dy[i] + (i + 1 < p->D ? dx[i + 1] : 0);
}

/* ------------------------------------------------------------------ losses ---------------------- */

/* - mean_r log softmax(x_r)[class of r] */
FORWARD(cross_entropy)
{
    *y = 0;
    for (int r = 0; r < p->B; r++, x += p->D)
        *y += (log_sum_exp(p->D, 1, x) - x[at_correct_id(p, r, p->D)]) / (REAL)p->B;
}
BACKWARD(cross_entropy_back)
{
    for (int r = 0; r < p->B; r++, x += p->D, dx += p->D) {
        softmax_of_row(p->D, 1, x, dx);
        dx[at_correct_id(p, r, p->D)] -= 1;
        for (int i = 0; i < p->D; i++) dx[i] *= *dy / (REAL)p->B;
    }
}
/* Logits, of which every second should be 1 */
FORWARD(binary_cross_entropy)
{
    *y = 0;
    EACH_ELEMENT
    {
        REAL most = x[i] > 0 ? x[i] : 0;
        *y += most - (i % 2 ? x[i] : 0) + log1p(exp(-fabs(x[i])));
    }
    *y /= (REAL)p->n;
}
BACKWARD(binary_cross_entropy_back)
{
    EACH_ELEMENT dx[i] = (1 / (1 + exp(-x[i])) - (REAL)(i % 2)) * *dy / (REAL)p->n;
}

/* ------------------------------------------------------------------ drawing --------------------- */

/* An eighth are long: these are checked along directions, as one would. */
static void draw_all(correct_function *p, const correct_kernels *k, bool own)
{
    bool is_long = k->high > 1 && at_correct_chance(p, 0.125);
    p->D = is_long ? at_correct_size(p, 400, 100000) : at_correct_size(p, 1, 300);
    at_correct_sizes(p, p->D, 1);
    if (is_long) p->options.directions = 4;
    double size = at_correct_log(p, k->low, k->high);
    if (at_correct_chance(p, 0.1)) size = at_correct_log(p, k->least, k->most);
    at_correct_normals(p, 0, p->D, size);
    if (!own || !at_correct_chance(p, 0.5)) return;
    for (int i = 0; i < p->D; i++)
        p->x[i] = at_correct_log(p, k->low, k->high) * (at_correct_chance(p, 0.5) ? 1 : -1);
}
DRAW(draw_reduction)
{
    draw_all(p, k, false);
}
DRAW(draw_reduction_with_kinks)
{
    draw_all(p, k, true);
}
DRAW(draw_product)
{
    p->D = at_correct_size(p, 1, 10);
    at_correct_sizes(p, p->D, 1);
    at_correct_normals(p, 0, p->D, at_correct_log(p, k->low, k->high));
}
DRAW(draw_two_vectors)
{
    p->D = at_correct_size(p, 2, 100);
    at_correct_sizes(p, 2 * p->D, 1);
    at_correct_normals(p, 0, p->D, at_correct_log(p, k->low, k->high));
    at_correct_normals(p, p->D, p->D, at_correct_log(p, k->low, k->high));
}

/* Rows of at least 2, some at an offset, then as many weights as there are in `weights` rows */
static void draw_rows(correct_function *p, const correct_kernels *k, int weights, double offset)
{
    p->B = at_correct_size(p, 1, 8), p->D = at_correct_size(p, 2, 30);
    ptrdiff_t rows = (ptrdiff_t)p->B * p->D;
    at_correct_sizes(p, rows + (ptrdiff_t)weights * p->D, rows);
    at_correct_normals(p, 0, rows, at_correct_log(p, k->low, k->high));
    for (ptrdiff_t i = 0; i < rows; i++) p->x[i] += offset;
    at_correct_normals(p, rows, (ptrdiff_t)weights * p->D, 1);
    p->constant[0] = 1;
}
DRAW(draw_plain_rows)
{
    draw_rows(p, k, 0, at_correct_chance(p, 0.2) ? 100 : 0);
}
/* Most softmaxes have scores below 30, whatever x is; some saturate. */
DRAW(draw_scores)
{
    draw_rows(p, k, 0, 0);
    double size = fabs(p->x[0]) + fabs(p->x[1]), score = at_correct_log(p, 1e-2, 30);
    if (at_correct_chance(p, 0.8)) p->constant[0] = (double)(float)(score / size);
}
DRAW(draw_one_of_each_row)
{
    draw_rows(p, k, 0, 0);
    p->m = p->B;
}
DRAW(draw_rows_to_one)
{
    draw_rows(p, k, 0, 0);
    p->m = 1;
}
DRAW(draw_layer_norm)
{
    static const double offset[] = {0, 0, 1, 10, 100, 1000};
    draw_rows(p, k, 2, offset[at_correct_int(p, 0, 5)]);
}
DRAW(draw_rms_norm)
{
    draw_rows(p, k, 1, 0);
}
DRAW(draw_running)
{
    p->D = at_correct_size(p, 1, 150);
    at_correct_sizes(p, p->D, p->D);
    at_correct_normals(p, 0, p->D, at_correct_log(p, k->low, k->high));
}

#define REDUCES .draw = draw_reduction, .low = 1e-3, .high = 1e3
#define ROWS(from, to) .low = from, .high = to

const correct_kernels AT_REAL(correct_rows)[] = {
    {"sum", REDUCES, .forward = sum, .vjp = sum_back, .least = 1e-20, .most = 1e15},
    {"mean", REDUCES, .forward = mean, .vjp = mean_back, .least = 1e-20, .most = 1e15},
    {"mean of squares", REDUCES, .forward = mean_square, .vjp = mean_square_back, .least = 1e-12,
     .most = 1e12},
    {"sum of tanh", REDUCES, .forward = sum_of_tanh, .vjp = sum_of_tanh_back, .least = 1e-20,
     .most = 3},
    {"norm", REDUCES, .forward = norm, .vjp = norm_back, .least = 1e-12, .most = 1e12},
    {"sum of |x|", draw_reduction_with_kinks, absolute_sum, absolute_sum_back, .low = 1e-7,
     .high = 1e3, .least = 1e-20, .most = 1e15},
    {"max", draw_reduction_with_kinks, largest, largest_back, .low = 1e-7, .high = 1e3,
     .least = 1e-20, .most = 1e15},
    {"variance", REDUCES, .forward = variance, .vjp = variance_back, .least = 1e-12, .most = 1e12},
    {"product of all", draw_product, product_of_all, product_of_all_back, ROWS(1e-2, 1e2)},
    {"cosine", draw_two_vectors, cosine, cosine_back, ROWS(1e-3, 1e3)},
    {"log-sum-exp", draw_one_of_each_row, log_sum_exp_rows, log_sum_exp_rows_back, ROWS(1e-3, 30)},
    {"softmax", draw_scores, softmax_rows, softmax_rows_back, ROWS(1e-3, 1e3)},
    {"log softmax", draw_plain_rows, log_softmax_rows, log_softmax_rows_back, ROWS(1e-3, 1e2)},
    {"x / |x|", draw_plain_rows, unit_rows, unit_rows_back, ROWS(1e-3, 1e3)},
    {"layer norm", draw_layer_norm, layer_norm, layer_norm_back, ROWS(1e-2, 1e2)},
    {"RMS norm", draw_rms_norm, rms_norm, rms_norm_back, ROWS(1e-3, 1e3)},
    {"running sum", draw_running, running_sum, running_sum_back, ROWS(1e-3, 1e3)},
    {"cross entropy", draw_rows_to_one, cross_entropy, cross_entropy_back, ROWS(1e-3, 30)},
    {"binary cross entropy", draw_reduction, binary_cross_entropy, binary_cross_entropy_back,
     .low = 1e-3, .high = 30, .least = 1e-20, .most = 100},
    {.name = NULL}};
