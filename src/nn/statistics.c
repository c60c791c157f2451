/* statistics.c -- statistics of attention, and the collapse monitor; see statistics.h. */
#include "nn/statistics.h"

#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "tensor/decimal.h"
#include "kernels/elementary.h"

/* P as [B,H,T,N], and how the mask is read beside it. */
typedef struct {
    const at_tensor *P, *keep;
    int B, H, T, N;
    ptrdiff_t b, h, i, j; /* strides of keep */
} stats_view;

static bool stats_mask(at_tape *t, stats_view *v)
{
    at_shape s = v->keep->shape, P = v->P->shape, four = at_shape_of(v->B, v->H, v->T, v->N);
    AT_REQUIRE(
        t, s.ndim != 3 || P.ndim != 4,
        "statistics: keep is %s beside P %s: is that [B,T,N] or [H,T,N]?  Write [B,1,T,N] or "
        "[1,H,T,N]",
        at_text(v->keep), at_text(v->P));
    at_shape full = s.ndim == 3 ? P : four;
    AT_REQUIRE(t, at_broadcasts_to(s, full), "statistics: keep is %s, which is no mask for P %s",
               at_text(v->keep), at_text(v->P));
    ptrdiff_t stride[AT_MAX_DIMS], *last = stride + full.ndim;
    at_broadcast_strides(s, full, stride);
    v->j = last[-1], v->i = last[-2];
    if (full.ndim == 4) v->h = last[-3], v->b = last[-4];
    if (full.ndim == 3) *(v->H > 1 ? &v->h : &v->b) = last[-3];
    return true;
}

static bool stats_view_of(at_tape *t, const at_tensor *P, const at_tensor *keep, int heads,
                          stats_view *v)
{
    if (!at_check_input(t, "statistics", "P", P, ATTIC_REAL)) return false;
    if (keep && !at_check_input(t, "statistics", "keep", keep, ATTIC_BOOL)) return false;
    at_shape s = P->shape;
    bool fits = heads > 0 && s.ndim >= 2 && s.ndim <= 4;
    if (s.ndim == 4) fits = fits && s.dim[1] == heads;
    if (s.ndim == 3) fits = fits && (heads == 1 || s.dim[0] == heads);
    if (s.ndim == 2) fits = fits && heads == 1;
    AT_REQUIRE(t, fits, "statistics: P is %s, which are no weights of %d heads", at_text(P), heads);
    *v = (stats_view){.P = P, .keep = keep, .H = heads};
    v->T = s.dim[s.ndim - 2], v->N = at_last(s);
    v->B = s.ndim == 4 || (s.ndim == 3 && heads == 1) ? s.dim[0] : 1;
    return !keep || stats_mask(t, v);
}

static bool stats_keeps(const stats_view *v, int b, int h, int i, int j)
{
    const unsigned char *keep = v->keep ? v->keep->data : NULL;
    return !keep || keep[b * v->b + h * v->h + i * v->i + j * v->j];
}

static double stats_weight(const stats_view *v, int b, int h, int i, int j)
{
    return at_element(v->P, (((ptrdiff_t)b * v->H + h) * v->T + i) * v->N + j);
}

static int stats_kept(const stats_view *v, int b, int h, int i)
{
    int n = 0;
    for (int j = 0; j < v->N; j++) n += stats_keeps(v, b, h, i, j);
    return n;
}

/* Adds row i, which keeps n keys, to the sums and to the average row. */
static void stats_add_row(const stats_view *v, int b, int h, int i, int n, at_head_statistics *sum,
                          double *average)
{
    double largest = 0;
    for (int j = 0; j < v->N; j++) {
        if (!stats_keeps(v, b, h, i, j)) continue;
        double p = stats_weight(v, b, h, i, j);
        sum->entropy -= p == 0 ? 0 : p * at_f64_log(p);
        largest = fmax(largest, p);
        average[j] += p;
    }
    sum->most += at_f64_log(n);
    sum->largest += largest;
    sum->rows++;
}

/* sum_i sum_j min(P_ij, P'_j) over the rows with a choice */
static double stats_overlap(const stats_view *v, int b, int h, const double *average)
{
    double sum = 0;
    for (int i = 0; i < v->T; i++) {
        if (stats_kept(v, b, h, i) < 2) continue;
        for (int j = 0; j < v->N; j++)
            if (stats_keeps(v, b, h, i, j)) sum += fmin(stats_weight(v, b, h, i, j), average[j]);
    }
    return sum;
}

/* average: workspace of N elements */
static at_head_statistics stats_of_head(const stats_view *v, int h, double *average)
{
    at_head_statistics stats = {0};
    ptrdiff_t compared = 0;
    double cells = (double)v->B * v->T * v->N;
    for (int b = 0; b < v->B; b++) {
        ptrdiff_t before = stats.rows;
        memset(average, 0, (size_t)v->N * sizeof *average);
        for (int i = 0; i < v->T; i++) {
            int n = stats_kept(v, b, h, i);
            stats.kept += n;
            if (n >= 2) stats_add_row(v, b, h, i, n, &stats, average);
        }
        ptrdiff_t rows = stats.rows - before;
        if (rows < 2) continue;
        for (int j = 0; j < v->N; j++) average[j] /= (double)rows;
        stats.similarity += stats_overlap(v, b, h, average);
        compared += rows;
    }
    double rows = stats.rows ? (double)stats.rows : 1;
    stats.entropy /= rows, stats.most /= rows, stats.largest /= rows;
    if (compared) stats.similarity /= (double)compared;
    if (cells > 0) stats.kept /= cells;
    return stats;
}

at_head_statistics at_head_statistics_of(at_tape *t, const at_tensor *P, const at_tensor *keep,
                                         int heads, int h)
{
    stats_view v;
    at_head_statistics stats = {0};
    if (!stats_view_of(t, P, keep, heads, &v)) return stats;
    if (h < 0 || h >= heads)
        return at_fail(t, ATTIC_USER_ERROR, "statistics: there is no head %d of %d", h, heads),
               stats;
    at_profile_line *outer = at_profile_enter(t, "head_statistics");
    at_mark here = at_mark_here(t);
    double *average = at_step_alloc(t, ((size_t)v.N + 1) * sizeof *average);
    if (average) stats = stats_of_head(&v, h, average);
    at_rewind(t, here);
    at_profile_leave(t, outer);
    return stats;
}

const char *at_head_text(at_head_state s)
{
    static const char *const text[] = {"fine",    "low-entropy",     "on one key for all",
                                       "uniform", "similar for all", "not a number"};
    return (size_t)s < sizeof text / sizeof *text ? text[s] : "?";
}

at_head_state at_head_verdict(at_head_statistics stats, at_monitor_args limits)
{
    double low_entropy = limits.low_entropy != 0 ? limits.low_entropy : 0.02,
           similarity = limits.similarity != 0 ? limits.similarity : 0.95;
    double uniform = limits.uniform != 0 ? limits.uniform : 0.99;
    if (isnan(stats.entropy)) return ATTIC_HEAD_NAN;
    if (stats.rows == 0) return ATTIC_HEAD_FINE;
    if (stats.entropy < low_entropy * stats.most)
        return stats.similarity > similarity ? ATTIC_HEAD_ONE_KEY : ATTIC_HEAD_LOW_ENTROPY;
    if (stats.entropy > uniform * stats.most) return ATTIC_HEAD_UNIFORM;
    return stats.similarity > similarity ? ATTIC_HEAD_SIMILAR : ATTIC_HEAD_FINE;
}

at_monitor *at_monitor_make(at_tape *t, int layers, int heads, at_monitor_args args)
{
    AT_REQUIRE(t, layers > 0 && heads > 0 && layers <= 1 << 15 && heads <= 1 << 15,
               "monitor: %d layers of %d heads: both must be in 1..32768", layers, heads);
    AT_REQUIRE(t, args.patience >= 0, "monitor: patience is %d but can't be negative",
               args.patience);
    size_t n = (size_t)layers * (size_t)heads;
    at_monitor *w = at_permanent_alloc(t, sizeof *w);
    at_monitored *head = at_permanent_alloc(t, n * sizeof *head);
    if (!w || !head) return NULL;
    memset(head, 0, n * sizeof *head);
    if (!args.patience) args.patience = 3;
    *w = (at_monitor){.args = args, .layers = layers, .heads = heads, .head = head};
    return w;
}

/* True if that changed the state. */
static bool monitor_enter(at_monitored *h, at_head_statistics stats, const at_monitor_args *args)
{
    at_head_state verdict = at_head_verdict(stats, *args);
    h->in_a_row = verdict == h->verdict ? h->in_a_row + 1 : 1;
    h->verdict = verdict;
    h->statistics = stats;
    int needed = verdict == ATTIC_HEAD_NAN ? 1 : args->patience;
    if (verdict == h->state || h->in_a_row < needed) return false;
    h->state = verdict;
    return true;
}

bool at_monitor_update(at_tape *t, at_monitor *w, int layer, const at_tensor *P,
                       const at_tensor *keep)
{
    AT_REQUIRE(t, w, "monitor: w is NULL");
    AT_REQUIRE(t, layer >= 0 && layer < w->layers, "monitor: there is no layer %d of %d", layer,
               w->layers);
    for (int h = 0; h < w->heads; h++) {
        at_head_statistics stats = at_head_statistics_of(t, P, keep, w->heads, h);
        if (!at_ok(t)) return false;
        at_monitored *head = &w->head[layer * w->heads + h];
        if (monitor_enter(head, stats, &w->args) && w->args.hook)
            w->args.hook(w->args.ctx, layer, h, head);
    }
    return true;
}

void at_monitor_print(const at_monitor *w, int layer, FILE *out)
{
    if (!w || !out || layer < 0 || layer >= w->layers) return;
    const at_monitored *head = w->head + (ptrdiff_t)layer * w->heads;
    double most = 0, kept = 0;
    fprintf(out, "entropy");
    for (int h = 0; h < w->heads; h++) {
        fprintf(out, " %s", at_fixed_text(head[h].statistics.entropy, 2));
        most = fmax(most, head[h].statistics.most);
        kept += head[h].statistics.kept / w->heads;
    }
    fprintf(out, " of %s   largest", at_fixed_text(most, 2));
    for (int h = 0; h < w->heads; h++)
        fprintf(out, " %s", at_fixed_text(head[h].statistics.largest, 2));
    fprintf(out, "   kept %s", at_fixed_text(kept, 2));
}

const char *at_monitor_text(int layer, int head, const at_monitored *h)
{
    if (!h) return "NULL";
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE,
             "block %d head %d is %s (%d in a row): entropy %s of %s, largest %s, similarity %s",
             layer, head, at_head_text(h->state), h->in_a_row,
             at_fixed_text(h->statistics.entropy, 2), at_fixed_text(h->statistics.most, 2),
             at_fixed_text(h->statistics.largest, 2), at_fixed_text(h->statistics.similarity, 2));
    return text;
}
