/* table.c -- the rows of a benchmark as tables, one for each group; and exponents of growth. */
#include "page/page.h"

#include <math.h>
#include <string.h>

enum { MOST = 4 }; /* peers, counts of threads */

static bool same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static const result *find(const results *r, const result *like, int threads, const char *who)
{
    for (int i = 0; i < r->n; i++) {
        const result *w = &r->row[i];
        if (w->threads == threads && same(w->who, who) && same(w->bench, like->bench) &&
            same(w->group, like->group) && same(w->name, like->name))
            return w;
    }
    return NULL;
}

/* What a table of one group needs to know before it begins: who took part, with how many threads. */
typedef struct {
    int threads[MOST], n_threads, n_peers;
    const char *peer[MOST];
    bool flop, floor;
} columns;

static columns columns_of(const results *r, const result *first)
{
    columns c = {.n_threads = 0};
    for (int i = 0; i < r->n; i++) {
        const result *w = &r->row[i];
        int t = 0, p = 0;
        if (!same(w->bench, first->bench) || !same(w->group, first->group)) continue;
        while (t < c.n_threads && c.threads[t] != w->threads) t++;
        if (t == c.n_threads && t < MOST) c.threads[c.n_threads++] = w->threads;
        while (p < c.n_peers && !same(c.peer[p], w->who)) p++;
        if (p == c.n_peers && p < MOST && !same(w->who, "attic")) c.peer[c.n_peers++] = w->who;
        c.flop = c.flop || w->flop > 0;
        c.floor = c.floor || w->floor > 0;
    }
    return c;
}

static void write_heading(FILE *out, const result *first, const columns *c)
{
    int n = 1;
    fprintf(out, "\n**%s**\n\n| ", first->group);
    for (int t = 0; t < c->n_threads; t++) {
        n += fprintf(out, "| %d thread%s ", c->threads[t], c->threads[t] > 1 ? "s" : "") > 0;
        if (c->flop) n += 2 * (fprintf(out, "| GFLOP/s | %% of peak ") > 0);
        if (c->floor) n += fprintf(out, "| / floor ") > 0;
        for (int p = 0; p < c->n_peers; p++) n += fprintf(out, "| %s ", c->peer[p]) > 0;
    }
    fprintf(out, "|\n|---");
    while (--n > 0) fprintf(out, "|--:");
    fprintf(out, "|\n");
}

static void write_cells(FILE *out, const results *r, const result *row, int threads,
                        const columns *c)
{
    const result *w = find(r, row, threads, "attic");
    fprintf(out, "| %s ", w ? time_text(w->value.median) : "");
    if (c->flop && w && w->flop > 0)
        fprintf(out, "| %.0f | %.0f %.0f **%.0f** ", w->flop / w->value.median, w->percent.q1,
                w->percent.median, w->percent.q3);
    else if (c->flop)
        fprintf(out, "| | ");
    if (c->floor && w && w->floor > 0)
        fprintf(out, "| %.1f ", w->value.median / w->floor);
    else if (c->floor)
        fprintf(out, "| ");
    for (int p = 0; p < c->n_peers; p++) {
        const result *v = find(r, row, threads, c->peer[p]);
        if (v)
            fprintf(out, "| %.2fx ", v->ratio.median);
        else
            fprintf(out, "| ");
    }
}

/* Counts instead of times: one number, and what it may be. */
static void write_counts(FILE *out, const results *r, const result *first)
{
    fprintf(out, "\n**%s**\n\n| | %s | at most |\n|---|--:|--:|\n", first->group, first->unit);
    for (int i = 0; i < r->n; i++) {
        const result *w = &r->row[i];
        if (!same(w->bench, first->bench) || !same(w->group, first->group)) continue;
        if (w->threads != first->threads) continue;
        fprintf(out, "| %s | %.0f | ", w->name, w->value.median);
        if (w->floor > 0) fprintf(out, "%.0f ", w->floor);
        fprintf(out, "|\n");
    }
}

static void write_means(FILE *out, const results *r, const result *first, const columns *c)
{
    fprintf(out, "| *geometric mean* ");
    for (int t = 0; t < c->n_threads; t++) {
        quartiles percent, ratio;
        int n = results_mean(r, first->bench, first->group, "attic", c->threads[t], &percent, NULL);
        fprintf(out, "| ");
        if (c->flop && n)
            fprintf(out, "| | %.0f %.0f **%.0f** ", percent.q1, percent.median, percent.q3);
        if (c->floor) fprintf(out, "| ");
        for (int p = 0; p < c->n_peers; p++) {
            n = results_mean(r, first->bench, first->group, c->peer[p], c->threads[t], NULL,
                             &ratio);
            if (n)
                fprintf(out, "| %.2fx ", ratio.median);
            else
                fprintf(out, "| ");
        }
    }
    fprintf(out, "|\n");
}

static void write_group(FILE *out, const results *r, const result *first)
{
    columns c = columns_of(r, first);
    if (!same(first->unit, "ns")) {
        write_counts(out, r, first);
        return;
    }
    write_heading(out, first, &c);
    for (int i = 0; i < r->n; i++) {
        const result *w = &r->row[i];
        if (!same(w->bench, first->bench) || !same(w->group, first->group)) continue;
        if (!same(w->who, "attic") || w->threads != c.threads[0]) continue;
        fprintf(out, "| %s ", w->name);
        for (int t = 0; t < c.n_threads; t++) write_cells(out, r, w, c.threads[t], &c);
        fprintf(out, "|\n");
    }
    write_means(out, r, first, &c);
}

/* Is row i the first of its bench and group? */
static bool opens_group(const results *r, int i)
{
    for (int k = 0; k < i; k++)
        if (same(r->row[k].bench, r->row[i].bench) && same(r->row[k].group, r->row[i].group))
            return false;
    return true;
}

void write_tables(FILE *out, const results *r, const char *bench)
{
    bool any = false;
    for (int i = 0; i < r->n; i++) {
        if (!same(r->row[i].bench, bench) || !opens_group(r, i)) continue;
        write_group(out, r, &r->row[i]);
        any = true;
    }
    if (!any) fprintf(out, "Not measured: `make bench BENCH=%s`.\n", bench);
}

/* ------------------------------------------------------------------ exponents ------------------ */

/* The slope of log value over log x, of the rows of a group named "n = ...": least squares. */
static double exponent(const results *r, const char *bench, const char *group, char what)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < r->n; i++) {
        const result *w = &r->row[i];
        if (!same(w->bench, bench) || !same(w->group, group) || w->name[0] != what) continue;
        double u = log(w->x), v = log(w->value.median);
        n++;
        x += u;
        y += v;
        xx += u * u;
        xy += u * v;
    }
    double slope = n > 1 ? (n * xy - x * y) / (n * xx - x * x) : 0;
    return fabs(slope) < 0.005 ? 0 : slope; /* no -0.00 */
}

/* At the size that all series have in common. */
static double base(const results *r, const char *bench, const char *group)
{
    for (int i = 0; i < r->n; i++)
        if (same(r->row[i].bench, bench) && same(r->row[i].group, group) &&
            same(r->row[i].name, "d = 64"))
            return r->row[i].value.median;
    return 0;
}

void write_complexity(FILE *out, const results *r, const char *bench)
{
    static const char *const claim[][3] = {
        {"Q K^T", "n m d", "n m"},    {"scale", "n m", "n m"},   {"mask", "n m", "n m"},
        {"softmax", "n m", "n m"},    {"dropout", "n m", "n m"}, {"P V", "n m d", "n d"},
        {"composed", "n m d", "n m"}, {"fused", "n m d", "n d"},
    };
    fprintf(out,
            "| | time O( ) | measured | at n = m = 256, d = 64 | memory O( ) | measured | KiB |\n"
            "|---|---|---|--:|---|---|--:|\n");
    for (int i = 0; i < 8; i++) {
        char memory[48];
        snprintf(memory, sizeof memory, "%s, memory", claim[i][0]);
        const char *group[2] = {claim[i][0], memory};
        if (base(r, bench, group[0]) == 0) continue;
        fprintf(out, "| %s ", claim[i][0]);
        for (int k = 0; k < 2; k++) {
            fprintf(out, "| %s | n^%.2f m^%.2f d^%.2f ", claim[i][1 + k],
                    exponent(r, bench, group[k], 'n'), exponent(r, bench, group[k], 'm'),
                    exponent(r, bench, group[k], 'd'));
            double v = base(r, bench, group[k]);
            if (k == 0)
                fprintf(out, "| %s ", time_text(v));
            else
                fprintf(out, "| %.0f ", v / 1024);
        }
        fprintf(out, "|\n");
    }
}
