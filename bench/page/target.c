/* target.c -- what was to be reached, and what was.
 *
 * A line of the file of targets, its fields apart by " | ":
 *
 *     what      in words, for the page
 *     arch      ARCH of the build that it is about
 *     bench     and
 *     groups    "square,linear"
 *     names     the rows: "B = 8", "(1, *", "*"
 *     from, to  bounds of x (flop, T ...); - for none
 *     threads   1
 *     who       peers, for ratios; - else
 *     measure   percent        of the peak, upper quartile: geometric mean over the rows
 *               least percent  the worst of the rows
 *               ratio          peer's time / attic's: geometric mean over rows, the least of the peers
 *               least ratio    of the worst row and peer
 *               speedup        time with one thread / time with these: geometric mean
 *               least speedup
 *               us             microseconds, the geometric mean
 *               bytes          the largest
 *     must      and
 *     aim       numbers; - for none
 *     limit     what stands in the way, in a few sentences: for the page, where the table says
 *               "not yet"; - for nothing */
#include "page/page.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WHAT,
    ARCH,
    BENCH,
    GROUPS,
    NAMES,
    FROM,
    TO,
    THREADS,
    WHO,
    MEASURE,
    MUST,
    AIM,
    LIMIT,
    FIELDS
};

typedef struct {
    double sum, least, most; /* of logarithms; of values */
    int n;
} tally;

static void count(tally *t, double v)
{
    t->least = t->n == 0 || v < t->least ? v : t->least;
    t->most = t->n == 0 || v > t->most ? v : t->most;
    t->sum += log(v);
    t->n++;
}

static bool wanted(const result *w, char **field)
{
    if (strcmp(w->bench, field[BENCH]) != 0 || !is_listed(w->group, field[GROUPS])) return false;
    if (fnmatch(field[NAMES], w->name, 0) != 0) return false;
    if (*field[FROM] != '-' && w->x < strtod(field[FROM], NULL)) return false;
    if (*field[TO] != '-' && w->x > strtod(field[TO], NULL)) return false;
    return w->threads == (int)strtol(field[THREADS], NULL, 10);
}

static double alone(const results *r, const result *like)
{
    for (int i = 0; i < r->n; i++) {
        const result *w = &r->row[i];
        if (w->threads == 1 && strcmp(w->bench, like->bench) == 0 &&
            strcmp(w->group, like->group) == 0 && strcmp(w->name, like->name) == 0 &&
            strcmp(w->who, "attic") == 0)
            return w->value.median;
    }
    return (double)NAN;
}

/* The rows that a target is about, each by what is measured of it.  who: attic, or one peer. */
static tally tally_of(const results *r, char **field, const char *who)
{
    tally t = {0};
    for (int i = 0; i < r->n; i++) {
        const result *w = &r->row[i];
        if (!wanted(w, field) || strcmp(w->who, who) != 0) continue;
        if (strstr(field[MEASURE], "percent")) count(&t, w->percent.q3);
        if (strstr(field[MEASURE], "ratio")) count(&t, w->ratio.median);
        if (strstr(field[MEASURE], "speedup")) count(&t, alone(r, w) / w->value.median);
        if (strcmp(field[MEASURE], "us") == 0) count(&t, w->value.median / 1000);
        if (strcmp(field[MEASURE], "bytes") == 0) count(&t, w->value.median);
    }
    return t;
}

/* The number to be judged; NAN if it was not measured. */
static double measured(const results *r, char **field)
{
    static const char *const whos[] = {"attic", "torch", "openblas", "blis", "onednn"};
    bool ratio = strstr(field[MEASURE], "ratio") != NULL;
    double value = (double)NAN;
    for (int i = 0; i < 5; i++) {
        bool asked = ratio ? is_listed(whos[i], field[WHO]) : i == 0;
        tally t = asked ? tally_of(r, field, whos[i]) : (tally){0};
        if (!t.n) continue;
        double v = strncmp(field[MEASURE], "least", 5) == 0 ? t.least
                   : strcmp(field[MEASURE], "bytes") == 0   ? t.most
                                                            : exp(t.sum / t.n);
        if (isnan(value) || v < value) value = v;
    }
    return value;
}

static const char *unit_of(char **field)
{
    if (strstr(field[MEASURE], "percent")) return "%";
    if (strcmp(field[MEASURE], "us") == 0) return " us";
    return strcmp(field[MEASURE], "bytes") == 0 ? " B" : "x";
}

static bool reached(char **field, double v, const char *goal)
{
    bool less = strcmp(field[MEASURE], "us") == 0 || strcmp(field[MEASURE], "bytes") == 0;
    double g = strtod(goal, NULL);
    return less ? v <= g : v >= g;
}

static const char *verdict(char **field, double v)
{
    if (isnan(v)) return "";
    if (*field[AIM] != '-' && reached(field, v, field[AIM])) return " **aim**";
    if (*field[MUST] != '-' && reached(field, v, field[MUST])) return " **must**";
    return " not yet";
}

static const build *build_of(const builds *all, const char *compiler, const char *arch)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->build[i].compiler, compiler) == 0 && strcmp(all->build[i].arch, arch) == 0)
            return &all->build[i];
    return NULL;
}

/* What this machine reached of each target. */
static void measure_all(const builds *all, int n, char *field[][FIELDS], processor *here)
{
    static const char *const compilers[COMPILERS] = {"gcc", "clang"};
    const build *first = &all->build[0];
    name_processor(here, fact_of(first, "processor"), fact_of(first, "caches"));
    snprintf(here->date, sizeof here->date, "%.10s", fact_of(first, "date"));
    for (here->n = 0; here->n < n; here->n++) {
        reach *r = &here->row[here->n];
        snprintf(r->what, sizeof r->what, "%s", field[here->n][WHAT]);
        for (int c = 0; c < COMPILERS; c++) {
            const build *b = build_of(all, compilers[c], field[here->n][ARCH]);
            r->value[c] = b ? measured(&b->all, field[here->n]) : (double)NAN;
        }
    }
}

/* A row of the table.  Returns whether something in it is not yet reached. */
static bool write_target(FILE *out, char **field, const processor *p, int n)
{
    const char *unit = unit_of(field);
    bool missed = false;
    fprintf(out, "| %s ", field[WHAT]);
    for (int i = MUST; i <= AIM; i++)
        fprintf(out, "| %s%s ", *field[i] == '-' ? "" : field[i], *field[i] == '-' ? "" : unit);
    for (int i = 0; i < n * COMPILERS; i++) {
        const reach *r = reached_of(&p[i / COMPILERS], field[WHAT]);
        double v = r ? r->value[i % COMPILERS] : (double)NAN;
        if (isnan(v))
            fprintf(out, "| ");
        else
            fprintf(out, v < 9.995 ? "| %.2f%s%s " : "| %.0f%s%s ", v, unit, verdict(field, v));
        missed = missed || strcmp(verdict(field, v), " not yet") == 0;
    }
    fprintf(out, "|\n");
    return missed;
}

static int read_targets(const char *path, char line[][4096], char *field[][FIELDS])
{
    int n = 0;
    FILE *f = fopen(path, "r");
    while (f && n < TARGETS && fgets(line[n], 4096, f)) {
        line[n][strcspn(line[n], "\n")] = 0;
        if (*line[n] == '#' || !*line[n]) continue;
        if (cut_fields(line[n], field[n], FIELDS) != FIELDS) return fclose(f), 0;
        n++;
    }
    if (f) fclose(f);
    return n;
}

bool write_targets(FILE *out, const builds *all, const char *path, const char *folder)
{
    enum { PROCESSORS = 8 };
    static char line[TARGETS][4096];
    static processor p[PROCESSORS];
    char *field[TARGETS][FIELDS];
    bool missed[TARGETS];
    const int n = read_targets(path, line, field);
    measure_all(all, n, field, &p[0]);
    if (!n || !write_processor(&p[0], folder)) return false;
    const int others = read_other_processors(folder, p[0].name, p + 1, PROCESSORS - 1);
    fprintf(out, "| | must | aim ");
    for (int i = 0; i <= others; i++) fprintf(out, "| %s: gcc | clang ", p[i].name);
    fprintf(out, "|\n|---|--:|--:");
    for (int i = 0; i <= others; i++) fprintf(out, "|--:|--:");
    fprintf(out, "|\n");
    for (int i = 0; i < n; i++) missed[i] = write_target(out, field[i], p, 1 + others);
    fprintf(out, "\nMeasured");
    for (int i = 0; i <= others; i++)
        fprintf(out, "%s on %s: %s", i ? ";" : "", p[i].name, p[i].date);
    fprintf(out, ".\n");
    for (int i = 0; i < n; i++)
        if (missed[i] && strcmp(field[i][LIMIT], "-") != 0)
            fprintf(out, "\n**%s:** %s\n", field[i][WHAT], field[i][LIMIT]);
    return true;
}
