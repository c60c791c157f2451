/* statistics.c -- is a head of attention still choosing?  See statistics.h. */
#include "nn/statistics.h"

#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "tensor/decimal.h"

/* ------------------------------------------------------------------ one look ------------------- */

/* P as [B,H,T,S], and how the mask is read beside it. */
typedef struct {
    const at_tensor *P, *keep;
    int B, H, T, S;
    ptrdiff_t b, h, i, j; /* strides of keep */
} watch_view;

static bool watch_view_keep(at_tape *t, watch_view *v)
{
    at_shape s = v->keep->shape, P = v->P->shape, four = at_shape_of(v->B, v->H, v->T, v->S);
    AT_REQUIRE(t, s.ndim != 3 || P.ndim != 4,
               "watch: keep is %s beside P %s: is that [B,T,S] or [H,T,S]?  Write [B,1,T,S] or "
               "[1,H,T,S]",
               at_text(v->keep), at_text(v->P));
    at_shape full = s.ndim == 3 ? P : four;
    AT_REQUIRE(t, at_broadcasts_to(s, full), "watch: keep is %s, which is no mask for P %s",
               at_text(v->keep), at_text(v->P));
    ptrdiff_t stride[AT_MAX_DIMS], *last = stride + full.ndim;
    at_broadcast_strides(s, full, stride);
    v->j = last[-1], v->i = last[-2];
    if (full.ndim == 4) v->h = last[-3], v->b = last[-4];
    if (full.ndim == 3) *(v->H > 1 ? &v->h : &v->b) = last[-3];
    return true;
}

static bool watch_view_of(at_tape *t, const at_tensor *P, const at_tensor *keep, int heads,
                          watch_view *v)
{
    if (!at_check_input(t, "watch", "P", P, ATTIC_REAL)) return false;
    if (keep && !at_check_input(t, "watch", "keep", keep, ATTIC_BOOL)) return false;
    at_shape s = P->shape;
    bool fits = heads > 0 && s.ndim >= 2 && s.ndim <= 4;
    if (s.ndim == 4) fits = fits && s.dim[1] == heads;
    if (s.ndim == 3) fits = fits && (heads == 1 || s.dim[0] == heads);
    if (s.ndim == 2) fits = fits && heads == 1;
    AT_REQUIRE(t, fits, "watch: P is %s, which are no weights of %d heads", at_text(P), heads);
    *v = (watch_view){.P = P, .keep = keep, .H = heads};
    v->T = s.dim[s.ndim - 2], v->S = at_last(s);
    v->B = s.ndim == 4 || (s.ndim == 3 && heads == 1) ? s.dim[0] : 1;
    return !keep || watch_view_keep(t, v);
}

static bool watch_keeps(const watch_view *v, int b, int h, int i, int j)
{
    const unsigned char *keep = v->keep ? v->keep->data : NULL;
    return !keep || keep[b * v->b + h * v->h + i * v->i + j * v->j];
}

static double watch_weight(const watch_view *v, int b, int h, int i, int j)
{
    return at_element(v->P, (((ptrdiff_t)b * v->H + h) * v->T + i) * v->S + j);
}

static int watch_count(const watch_view *v, int b, int h, int i)
{
    int n = 0;
    for (int j = 0; j < v->S; j++) n += watch_keeps(v, b, h, i, j);
    return n;
}

/* Adds row i, which keeps n keys, to the sums of the look, and to the average row. */
static void watch_add_row(const watch_view *v, int b, int h, int i, int n, at_look *sum,
                          double *average)
{
    double largest = 0;
    for (int j = 0; j < v->S; j++) {
        if (!watch_keeps(v, b, h, i, j)) continue;
        double p = watch_weight(v, b, h, i, j);
        sum->entropy -= p == 0 ? 0 : p * log(p);
        largest = fmax(largest, p);
        average[j] += p;
    }
    sum->most += log(n);
    sum->largest += largest;
    sum->rows++;
}

/* sum_i sum_j min(P_ij, P'_j) over the rows with a choice */
static double watch_overlap(const watch_view *v, int b, int h, const double *average)
{
    double sum = 0;
    for (int i = 0; i < v->T; i++) {
        if (watch_count(v, b, h, i) < 2) continue;
        for (int j = 0; j < v->S; j++)
            if (watch_keeps(v, b, h, i, j)) sum += fmin(watch_weight(v, b, h, i, j), average[j]);
    }
    return sum;
}

/* average: room for S numbers */
static at_look watch_head(const watch_view *v, int h, double *average)
{
    at_look look = {0};
    ptrdiff_t compared = 0;
    double cells = (double)v->B * v->T * v->S;
    for (int b = 0; b < v->B; b++) {
        ptrdiff_t before = look.rows;
        memset(average, 0, (size_t)v->S * sizeof *average);
        for (int i = 0; i < v->T; i++) {
            int n = watch_count(v, b, h, i);
            look.kept += n;
            if (n >= 2) watch_add_row(v, b, h, i, n, &look, average);
        }
        ptrdiff_t rows = look.rows - before;
        if (rows < 2) continue;
        for (int j = 0; j < v->S; j++) average[j] /= (double)rows;
        look.alike += watch_overlap(v, b, h, average);
        compared += rows;
    }
    double rows = look.rows ? (double)look.rows : 1;
    look.entropy /= rows, look.most /= rows, look.largest /= rows;
    if (compared) look.alike /= (double)compared;
    if (cells > 0) look.kept /= cells;
    return look;
}

at_look at_look_at(at_tape *t, const at_tensor *P, const at_tensor *keep, int heads, int h)
{
    watch_view v;
    at_look look = {0};
    if (!watch_view_of(t, P, keep, heads, &v)) return look;
    if (h < 0 || h >= heads)
        return at_fail(t, ATTIC_USER_ERROR, "watch: there is no head %d of %d", h, heads), look;
    at_mark here = at_mark_here(t);
    double *average = at_step_alloc(t, ((size_t)v.S + 1) * sizeof *average);
    if (average) look = watch_head(&v, h, average);
    at_rewind(t, here);
    return look;
}

/* ------------------------------------------------------------------ its verdict ---------------- */

const char *at_head_text(at_head_state s)
{
    static const char *const text[] = {"fine",    "sharp",         "on one key for all",
                                       "uniform", "alike for all", "not a number"};
    return (size_t)s < sizeof text / sizeof *text ? text[s] : "?";
}

at_head_state at_judge(at_look look, at_watch_args limits)
{
    double sharp = limits.sharp ? limits.sharp : 0.02, alike = limits.alike ? limits.alike : 0.95;
    double uniform = limits.uniform ? limits.uniform : 0.99;
    if (isnan(look.entropy)) return ATTIC_HEAD_NAN;
    if (look.rows == 0) return ATTIC_HEAD_FINE;
    if (look.entropy < sharp * look.most)
        return look.alike > alike ? ATTIC_HEAD_ONE_KEY : ATTIC_HEAD_SHARP;
    if (look.entropy > uniform * look.most) return ATTIC_HEAD_UNIFORM;
    return look.alike > alike ? ATTIC_HEAD_ALIKE : ATTIC_HEAD_FINE;
}

/* ------------------------------------------------------------------ over time ------------------ */

at_watch *at_watch_make(at_tape *t, int layers, int heads, at_watch_args args)
{
    AT_REQUIRE(t, layers > 0 && heads > 0 && layers <= 1 << 15 && heads <= 1 << 15,
               "watch: %d layers of %d heads: both must be in 1..32768", layers, heads);
    AT_REQUIRE(t, args.patience >= 0, "watch: patience is %d but can't be negative", args.patience);
    size_t n = (size_t)layers * (size_t)heads;
    at_watch *w = at_permanent_alloc(t, sizeof *w);
    at_watched *head = at_permanent_alloc(t, n * sizeof *head);
    if (!w || !head) return NULL;
    memset(head, 0, n * sizeof *head);
    if (!args.patience) args.patience = 3;
    *w = (at_watch){.args = args, .layers = layers, .heads = heads, .head = head};
    return w;
}

/* True if that changed the state. */
static bool watch_enter(at_watched *h, at_look look, const at_watch_args *args)
{
    at_head_state verdict = at_judge(look, *args);
    h->in_a_row = verdict == h->verdict ? h->in_a_row + 1 : 1;
    h->verdict = verdict;
    h->look = look;
    int needed = verdict == ATTIC_HEAD_NAN ? 1 : args->patience;
    if (verdict == h->state || h->in_a_row < needed) return false;
    h->state = verdict;
    return true;
}

bool at_watch_look(at_tape *t, at_watch *w, int layer, const at_tensor *P, const at_tensor *keep)
{
    AT_REQUIRE(t, w, "watch: w is NULL");
    AT_REQUIRE(t, layer >= 0 && layer < w->layers, "watch: there is no layer %d of %d", layer,
               w->layers);
    for (int h = 0; h < w->heads; h++) {
        at_look look = at_look_at(t, P, keep, w->heads, h);
        if (!at_ok(t)) return false;
        at_watched *head = &w->head[layer * w->heads + h];
        if (watch_enter(head, look, &w->args) && w->args.hook)
            w->args.hook(w->args.ctx, layer, h, head);
    }
    return true;
}

/* ------------------------------------------------------------------ as text -------------------- */

void at_watch_print(const at_watch *w, int layer, FILE *out)
{
    if (!w || !out || layer < 0 || layer >= w->layers) return;
    const at_watched *head = w->head + (ptrdiff_t)layer * w->heads;
    double most = 0, kept = 0;
    fprintf(out, "entropy");
    for (int h = 0; h < w->heads; h++) {
        fprintf(out, " %s", at_fixed_text(head[h].look.entropy, 2));
        most = fmax(most, head[h].look.most);
        kept += head[h].look.kept / w->heads;
    }
    fprintf(out, " of %s   largest", at_fixed_text(most, 2));
    for (int h = 0; h < w->heads; h++) fprintf(out, " %s", at_fixed_text(head[h].look.largest, 2));
    fprintf(out, "   kept %s", at_fixed_text(kept, 2));
}

const char *at_watch_text(int layer, int head, const at_watched *h)
{
    if (!h) return "NULL";
    char *text = at_text_buffer();
    snprintf(text, AT_TEXT_SIZE,
             "block %d head %d is %s, for %d look%s: entropy %s of %s, largest %s, alike %s", layer,
             head, at_head_text(h->state), h->in_a_row, h->in_a_row == 1 ? "" : "s",
             at_fixed_text(h->look.entropy, 2), at_fixed_text(h->look.most, 2),
             at_fixed_text(h->look.largest, 2), at_fixed_text(h->look.alike, 2));
    return text;
}
