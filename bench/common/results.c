/* results.c -- what was measured, as lines of a text file. */
#include "common/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double at)
{
    double place = at * (n - 1);
    int i = (int)place;
    return i + 1 < n ? sorted[i] + (place - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

quartiles quartiles_of(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare);
    return (quartiles){quantile(v, n, 0.25), quantile(v, n, 0.5), quantile(v, n, 0.75)};
}

void results_add(results *r, result row)
{
    if ((r->n & (r->n - 1)) == 0) { /* 0, 1, 2, 4, 8 ...: space for twice as many */
        result *more = realloc(r->row, (size_t)(r->n ? 2 * r->n : 1) * sizeof *more);
        if (!more) {
            fprintf(stderr, "bench: out of memory\n");
            exit(1);
        }
        r->row = more;
    }
    r->row[r->n++] = row;
}

void results_free(results *r)
{
    free(r->row);
    *r = (results){NULL, 0};
}

void results_print(FILE *out, const result *w)
{
    fprintf(out, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%g\t%g\t%g\t%.9g\t%.4g", w->bench, w->group, w->name,
            w->who, w->unit, w->threads, w->rounds, w->x, w->flop, w->bytes, w->floor, w->peak);
    const quartiles *q[] = {&w->value, &w->percent, &w->ratio};
    for (int i = 0; i < 3; i++)
        fprintf(out, "\t%.9g\t%.9g\t%.9g", q[i]->q1, q[i]->median, q[i]->q3);
    fprintf(out, "\n");
}

static bool parse_row(const char *line, result *w)
{
    quartiles *v = &w->value, *p = &w->percent, *r = &w->ratio;
    return sscanf(
               line,
               "%15[^\t]\t%31[^\t]\t%47[^\t]\t%15[^\t]\t%31[^\t]\t%d\t%d\t%lg\t%lg\t%lg\t%lg\t%lg"
               "\t%lg\t%lg\t%lg\t%lg\t%lg\t%lg\t%lg\t%lg\t%lg",
               w->bench, w->group, w->name, w->who, w->unit, &w->threads, &w->rounds, &w->x,
               &w->flop, &w->bytes, &w->floor, &w->peak, &v->q1, &v->median, &v->q3, &p->q1,
               &p->median, &p->q3, &r->q1, &r->median, &r->q3) == 21;
}

bool results_read(results *r, const char *path)
{
    FILE *f = fopen(path, "r");
    char line[1024];
    bool good = f != NULL;
    while (good && fgets(line, sizeof line, f)) {
        result w;
        if (*line == '#') continue;
        good = parse_row(line, &w);
        if (good) results_add(r, w);
    }
    if (f) fclose(f);
    return good;
}

bool is_listed(const char *name, const char *list)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length])) return true;
    }
    return false;
}

static void add_logs(quartiles *sum, const quartiles *q)
{
    sum->q1 += log(q->q1);
    sum->median += log(q->median);
    sum->q3 += log(q->q3);
}

static quartiles exp_of_mean(quartiles sum, int n)
{
    return (quartiles){exp(sum.q1 / n), exp(sum.median / n), exp(sum.q3 / n)};
}

int results_mean(const results *r, const char *group, const char *who, int threads,
                 quartiles *percent, quartiles *ratio)
{
    quartiles p = {0, 0, 0}, q = {0, 0, 0};
    int n = 0;
    for (int i = 0; i < r->n; i++) {
        const result *w = &r->row[i];
        if (w->threads != threads || strcmp(w->who, who) != 0) continue;
        if (strcmp(w->group, group) != 0) continue;
        add_logs(&p, &w->percent);
        add_logs(&q, &w->ratio);
        n++;
    }
    if (n) *percent = exp_of_mean(p, n);
    if (n) *ratio = exp_of_mean(q, n);
    return n;
}
