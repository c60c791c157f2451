/* page.c -- reads results and a template, writes docs/performance.md; see page.h.
 *
 *     page TEMPLATE FOLDER... > docs/performance.md */
#include "page/page.h"

#include <glob.h>
#include <string.h>

/* ------------------------------------------------------------------ reading -------------------- */

const char *fact_of(const build *b, const char *key)
{
    for (int i = 0; i < b->n_facts; i++)
        if (strcmp(b->fact[i].key, key) == 0) return b->fact[i].value;
    return "";
}

static void read_facts(build *b, const char *path)
{
    char line[512];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f) && *line == '#' && b->n_facts < 128) {
        fact *a = &b->fact[b->n_facts];
        if (sscanf(line, "# %15[^:]: %255[^\n]", a->key, a->value) == 2) b->n_facts++;
    }
    if (f) fclose(f);
}

static bool read_build(build *b, const char *folder)
{
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.tsv", folder);
    if (glob(pattern, 0, NULL, &found) != 0) return false;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        read_facts(b, found.gl_pathv[i]);
        if (!results_read(&b->all, found.gl_pathv[i]))
            fprintf(stderr, "page: %s is not what a benchmark writes\n", found.gl_pathv[i]);
    }
    globfree(&found);
    sscanf(fact_of(b, "compiler"), "%15s", b->compiler);
    sscanf(fact_of(b, "arch"), "%31s", b->arch);
    return true;
}

/* ------------------------------------------------------------------ texts ---------------------- */

const char *time_text(double ns)
{
    static char text[24];
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    int u = 0;
    for (; ns >= 999.5 && u < 3; u++) ns /= 1000;
    snprintf(text, sizeof text,
             ns < 9.995   ? "%.2f %s"
             : ns < 99.95 ? "%.1f %s"
                          : "%.0f %s",
             ns, unit[u]);
    return text;
}

int cut_fields(char *line, char **field, int n)
{
    int i = 0;
    while (i < n) {
        field[i++] = line;
        line = strstr(line, " | ");
        if (!line || i == n) break;
        *line = 0;
        line += 3;
    }
    return i;
}

/* Each peer once, though several files name it. */
static void write_peers(FILE *out, const build *b)
{
    for (int i = 0; i < b->n_facts; i++) {
        bool known = strcmp(b->fact[i].key, "peer") != 0;
        for (int k = 0; k < i && !known; k++)
            known = strcmp(b->fact[k].value, b->fact[i].value) == 0;
        if (!known) fprintf(out, "- peer: %s\n", b->fact[i].value);
    }
}

static void write_commands(FILE *out, const build *b)
{
    const char *command = "", *date = "";
    for (int i = 0; i < b->n_facts; i++) {
        const fact *f = &b->fact[i];
        if (strcmp(f->key, "command") == 0) command = f->value;
        if (strcmp(f->key, "date") == 0) date = f->value;
        if (strcmp(f->key, "load") ==
            0) /* the last of a file; the first number is of this minute */
            fprintf(out, "| %s, %s | `%s` | %s | %.4s |\n", b->compiler, b->arch, command, date,
                    f->value);
    }
}

void write_machine(FILE *out, const builds *all)
{
    static const char *const keys[] = {"processor", "caches", "compiler", "flags"};
    for (int i = 0; i < 4; i++)
        fprintf(out, "- %s: %s\n", keys[i], fact_of(&all->build[0], keys[i]));
    write_peers(out, &all->build[0]);
    fprintf(out, "\n| build | command | when | load at its end |\n|---|---|---|---|\n");
    for (int i = 0; i < all->n; i++) write_commands(out, &all->build[i]);
}

/* ------------------------------------------------------------------ the page ------------------- */

static bool fill_in(FILE *out, const builds *all, char *line)
{
    char *rest = strchr(line, ' ');
    const results *r = &all->build[0].all;
    bool good = true;
    char *field[2];
    line[strcspn(line, " ")] = 0;
    rest = rest ? rest + 1 : line + strlen(line);
    if (strcmp(line, "%machine") == 0)
        write_machine(out, all);
    else if (strcmp(line, "%targets") == 0)
        good = cut_fields(rest, field, 2) == 2 && write_targets(out, all, field[0], field[1]);
    else if (strcmp(line, "%tables") == 0)
        write_tables(out, r, rest);
    else if (strcmp(line, "%complexity") == 0)
        write_complexity(out, r, rest);
    else if (strcmp(line, "%lines") == 0 || strcmp(line, "%dots") == 0)
        good = write_plot(out, r, rest, line[1] == 'd');
    else
        good = false;
    if (!good) fprintf(stderr, "page: can't do: %s %s\n", line, rest);
    return good;
}

int main(int argc, char **argv)
{
    static builds all;
    char line[1024];
    FILE *template = argc > 2 ? fopen(argv[1], "r") : NULL;
    if (!template) return fprintf(stderr, "usage: page TEMPLATE FOLDER... > PAGE\n"), 2;
    for (int i = 2; i < argc && all.n < 8; i++)
        if (read_build(&all.build[all.n], argv[i])) all.n++;
    if (!all.n) return fprintf(stderr, "page: no results in %s; make bench first\n", argv[2]), 1;
    bool good = true;
    while (fgets(line, sizeof line, template)) {
        if (*line != '%') {
            fputs(line, stdout);
            continue;
        }
        line[strcspn(line, "\n")] = 0;
        good = fill_in(stdout, &all, line) && good;
    }
    fclose(template);
    for (int i = 0; i < all.n; i++) results_free(&all.build[i].all);
    return !good || fflush(stdout) != 0 || ferror(stdout);
}
