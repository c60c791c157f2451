/* grade.c -- grades exercises: what is exact, what is wrong, and which mistake it is.
 *
 *     make exercise-3                   the verdict on course/exercises/e3_softmax.c
 *     make exercise-3 FILE=my.c SEED=17 HINT=1
 *     make grade-all DIR=folder         a table, and results.json
 *
 * A file is compiled together with runner.c into a program of its own, see child.h; nothing of
 * this program is in there, and of attic what E8 and E9 need.  Every run draws new sizes and numbers, unless
 * SEED says which.  The status is 0 if everything is right, 1 if not, 2 if the command line is wrong. */
#include "common/options.h"
#include "class.h"
#include "columns.h"
#include "results.h"
#include "sandbox.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int chosen = -1, seed = -1, seeds = 1, hint = 0, table = 0, expect = 0, answers = 0,
           list = 0;
static uint64_t ticket;
static double seconds = 5;
static const char *compiler = "cc -std=gnu11 -O0 -g", *runners = ".", *json, *confined = "on",
                  *only, *ticket_text, *key, *id, *class_folder, *out = "out/class", *ids, *due,
                  *times, *hint_of;
static const option options[] = {
    {"exercise", &chosen, NULL, NULL, -1, EXERCISES - 1,
     "which one; -1: as the name of the file says"},
    {"seed", &seed, NULL, NULL, -1, 1e9, "what is drawn; -1: something new each time"},
    {"seeds", &seeds, NULL, NULL, 1, 1e6, "how many, one after the other"},
    {"hint", &hint, NULL, NULL, 0, HINTS + 1,
     "1: which step, 2: which term, 3: the line with a blank, 4: all loops; of the first that is "
     "not "
     "right ..."},
    {"of", NULL, NULL, &hint_of, 0, 0, "... or of this quantity"},
    {"seconds", NULL, &seconds, NULL, 0.1, 1e4, "the time limit of a submission"},
    {"compile", NULL, NULL, &compiler, 0, 0, "the compiler and its flags"},
    {"runners", NULL, NULL, &runners, 0, 0, "the folder of the runners, and of include/exercise.h"},
    {"sandbox", NULL, NULL, &confined, 0, 0, "on, off, or require: see sandbox.h"},
    {"only", NULL, NULL, &only, 0, 0,
     "the exercises assigned, and their points: 0,1,3:20; else all"},
    {"list", &list, NULL, NULL, 0, 0, "print what is assigned, and nothing else"},
    {"ticket", NULL, NULL, &ticket_text, 0, 0,
     "E8: sixteen digits that say which mistakes are planted"},
    {"key", NULL, NULL, &key, 0, 0,
     "E8: the file with the key of the course; the ticket follows from it ..."},
    {"id", NULL, NULL, &id, 0, 0, "... and from whose file it is"},
    {"answers", &answers, NULL, NULL, 0, 0, "print the ticket and the answers of E8"},
    {"table", &table, NULL, NULL, 0, 0, "a table of all files"},
    {"class", NULL, NULL, &class_folder, 0, 0, "grade this folder, which has one for each student"},
    {"out", NULL, NULL, &out, 0, 0, "a class: where grades.csv is written, and results/"},
    {"ids", NULL, NULL, &ids, 0, 0, "a class: a file with the ids of all students, one in a line"},
    {"due", NULL, NULL, &due, 0, 0, "a class: until when it is in time, 2026-12-01 23:59"},
    {"times", NULL, NULL, &times, 0, 0,
     "a class: a file of lines ada,TIME; else the times of the files"},
    {"results", NULL, NULL, &json, 0, 0, "write results.json here, in Gradescope's format"},
    {"expect", &expect, NULL, NULL, 0, 0, "compare with what the first lines of the files expect"},
    {0}};

/* ------------------------------------------------------------------ the verdict in words ------ */

/* The lines that a compiler or a program printed, `left_out` of which are not in the text */
static void print_lines(const char *title, const char *text, int most, int left_out)
{
    if (*text) printf("  %s\n", title);
    for (int n = 0; *text; n++) {
        const size_t length = strcspn(text, "\n");
        if (n < most)
            printf("    | %.*s\n", (int)length, text);
        else
            left_out++;
        text += length + (text[length] == '\n');
    }
    if (left_out) printf("    | ... %d more line%s\n", left_out, left_out > 1 ? "s" : "");
}

/* The functions that compute a quantity, with their loops alone */
static void print_skeletons(int which, const exercise_part *of)
{
    bool found = false;
    for (const skeleton *s = skeletons; s->text; s++) {
        if (s->which != which || !(s->blanks & of->blanks)) continue;
        char title[60];
        snprintf(title, sizeof title, "Hint %d for %s:", HINTS + 1, of->name);
        print_lines(title, s->text, INT_MAX, 0);
        found = true;
    }
    if (!found) printf("  Hint %d for %s: it has no loops to show\n", HINTS + 1, of->name);
}

/* dWo, as the code says, is dW_o, as the verdict says. */
static bool same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '_') a++;
        while (*b == '_') b++;
        if (*a != *b || !*a) return *a == *b;
    }
}

/* The quantity that was asked for, else the first that is not right */
static int hinted(const submission *x)
{
    const int n = quantities(x->which);
    int k = 0;
    while (k < n && hint_of && !same_name(exercises[x->which].of[k].name, hint_of)) k++;
    while (k < n && !hint_of && x->compiled && k < x->g.grades && is_right(&x->g.of[k])) k++;
    if (k < n) return k;
    fprintf(stderr, "grade: E%d has no quantity \"%s\"; it has", x->which, hint_of ? hint_of : "");
    for (k = 0; k < n; k++) fprintf(stderr, "%s %s", k ? "," : "", exercises[x->which].of[k].name);
    fprintf(stderr, "\n");
    exit(2);
}

static void print_hints(const submission *x)
{
    const int k = hinted(x);
    const exercise_part *of = &exercises[x->which].of[k];
    const grade *q = x->compiled && k < x->g.grades ? &x->g.of[k] : NULL;
    if (!q || q->kind == VERDICT_NOT_ASKED) {
        printf("  No hint for %s: first, the program must %s\n", of->name,
               x->compiled ? "come to its end" : "compile");
        return;
    }
    const char *const *hints = q->hint ? q->hint : of->hint;
    for (int level = 0; level < hint && level < HINTS; level++) {
        int column = printf("  Hint %d for %s: ", level + 1, of->name);
        print_wrapped(stdout, hints[level], column, 4);
        if (level == 1 && q->mistake[0]) printf("    %s\n", q->mistake);
    }
    if (hint > HINTS) print_skeletons(x->which, of);
}

/* Which mistakes of E8 are meant: at home one forgets the ticket, and in class others are planted. */
static void print_planted_by(uint64_t by)
{
    if (by)
        printf("  The mistakes of ticket %016llx\n", (unsigned long long)by);
    else
        printf(
            "  The published mistakes; with TICKET=, from your ticket.txt, those of the ticket\n");
}

static void print_submission(const submission *x)
{
    const grading *g = &x->g;
    const int column = printf("E%d %s, seed %d%s", x->which, exercises[x->which].title,
                              (int)g->seed, g->sizes[0] ? ": " : "");
    print_wrapped(stdout, g->sizes, column, 2);
    if (x->which == 8) print_planted_by(g->ticket);
    if (x->said[0]) print_lines("The compiler says:", x->said, x->compiled ? 12 : 20, 0);
    print_lines("Your program printed:", g->printed, 100, g->lines_left_out);
    if (g->failure[0]) {
        printf("  program      ");
        print_wrapped(stdout, g->failure, 15, 15);
    }
    for (int k = 0; k < g->grades; k++) {
        const grade *q = &g->of[k];
        char line[1000];
        printf("  %-12s ", q->of->name);
        snprintf(line, sizeof line, "%s%s%s", kind_names[q->kind], q->text[0] ? ": " : "", q->text);
        print_wrapped(stdout, line, 15, 15);
        if (!q->arithmetic[0]) continue;
        printf("%15s", "");
        print_wrapped(stdout, q->arithmetic, 15, 17);
    }
    if (all_right(x))
        printf("  All right.\n");
    else if (hint > 0)
        print_hints(x);
    if (!all_right(x))
        printf("  Again with SEED=%d%s\n", (int)g->seed, hint > 0 ? "" : "; a hint: HINT=1");
}

/* ------------------------------------------------------------------ a table, results.json ----- */

/* Up to the first full stop or semicolon; the point of a number is none. */
static int clause_length(const char *text)
{
    int n = 0;
    while (text[n] && text[n] != ';' && !(text[n] == '.' && (text[n + 1] == ' ' || !text[n + 1])))
        n++;
    return n;
}

enum { NAME = 32, ROW = 44 }; /* columns of a name; before the text of a row */

static void print_begin(const char *name, int right, int of)
{
    print_name(stdout, roster_shown(name), NAME);
    printf(" %2d of %-2d   ", right, of);
}

static void print_row(const submission *x)
{
    char line[4000];
    int n = snprintf(line, sizeof line, "%s", x->g.failure[0] ? "program: " : "");
    n += snprintf(line + n, sizeof line - (size_t)n, "%.160s", x->g.failure);
    for (int k = 0; k < x->g.grades && x->compiled; k++) {
        const grade *q = &x->g.of[k];
        const char *name = q->kind == VERDICT_WRONG && q->text[0] == '"' ? q->text : NULL;
        const int length = name ? clause_length(name) : 0;
        n += snprintf(line + n, sizeof line - (size_t)n, "%s%s %s%s%.*s", n ? ", " : "",
                      q->of->name, kind_names[q->kind], name ? ": " : "", length, name ? name : "");
    }
    print_begin(x->name, right_ones(x), quantities(x->which));
    print_wrapped(stdout, line, ROW, ROW);
}

/* ------------------------------------------------------------------ what was expected --------- */

typedef struct {
    char quantity[40], kind[20], text[200];
    bool met;
} expectation;

enum { MAX_EXPECTED = 18 };

/* "// expect dS: wrong, no delta".  Returns how many; a file with blanks expects what its exercise says
 * of the file as it comes, most often that nothing is written. */
static int read_expectations(const char *path, expectation *e, bool *blanks)
{
    char line[300];
    int n = 0;
    FILE *f = fopen(path, "r");
    *blanks = false;
    while (f && fgets(line, sizeof line, f)) {
        *blanks |= strstr(line, "BLANK(") != NULL;
        if (strncmp(line, "// expect ", 10) != 0 || n == MAX_EXPECTED) continue;
        expectation x = {.met = false};
        if (sscanf(line, "// expect %39[^:]: %19[^,\n], %199[^\n]", x.quantity, x.kind, x.text) < 2)
            fprintf(stderr, "grade: %s: what does this line expect? %s", path, line);
        else
            e[n++] = x;
    }
    if (f) fclose(f);
    return n;
}

static int complain(const submission *x, const char *quantity, const char *got, const char *text,
                    const char *expected)
{
    printf("%s, seed %d: %s is %s: %s\n    expected: %s\n", x->path, (int)x->g.seed, quantity, got,
           text, expected);
    return 1;
}

/* Does a verdict, "one" or "other".  Sentence, give a name that is not among the expected ones?  What
 * begins with the name of a check or a kernel goes on otherwise. */
static bool gives_another_name(const char *said, const char *expected)
{
    bool another = false;
    while (*said == '"') {
        char name[200];
        const size_t length = strcspn(said + 1, "\"");
        snprintf(name, sizeof name, "%.*s", (int)length, said + 1);
        another |= !strstr(expected, name);
        said += length + 1;
        said += strcspn(said, " .,");
        if (strncmp(said, " or ", 4) == 0) said += 4;
        if (strncmp(said, " and ", 5) == 0) said += 5;
    }
    return another && (*said == '.' || strncmp(said, ", with your", 11) == 0);
}

/* Is one of the expected parts, with " | " between them, in the text of the verdict? */
static bool says(const char *said, const char *expected)
{
    for (const char *end; (end = strstr(expected, " | ")); expected = end + 3) {
        char part[200];
        snprintf(part, sizeof part, "%.*s", (int)(end - expected), expected);
        if (strstr(said, part)) return true;
    }
    return strstr(said, expected);
}

/* How many quantities are not what the file says. */
static int compare(const submission *x)
{
    expectation e[MAX_EXPECTED];
    bool blanks;
    int n = read_expectations(x->path, e, &blanks), bad = 0, program = -1;
    for (int k = 0; k < n; k++)
        if (strcmp(e[k].quantity, "program") == 0) program = k;
    if (x->compiled && x->said[0]) bad += complain(x, "program", "compiled", x->said, "no warning");
    if (program >= 0) {
        e[program].met = true;
        if (!x->g.failure[0] || !strstr(x->g.failure, e[program].kind))
            bad += complain(x, "program", "ended", x->g.failure, e[program].kind);
    } else if (x->g.failure[0])
        bad += complain(x, "program", "failed", x->g.failure, "that it runs to its end");
    if (program < 0 && x->g.grades != quantities(x->which))
        bad += complain(x, "program", "graded", "not all quantities", "all");
    for (int k = 0; k < x->g.grades; k++) {
        const grade *q = &x->g.of[k];
        const char *kind = "exact", *text = "";
        if (q->kind == VERDICT_NOT_ASKED && program >= 0) continue;
        if (blanks) kind = "not written", text = "BLANK(";
        if (blanks && q->of->hint[HINTS]) {
            text = q->of->hint[HINTS];
            if (strncmp(text, "found", 5) != 0) kind = "wrong";
        }
        for (int i = 0; i < n; i++)
            if (strcmp(e[i].quantity, q->of->name) == 0)
                kind = e[i].kind, text = e[i].text, e[i].met = true;
        if (strcmp(kind, kind_names[q->kind]) == 0 && says(q->text, text) &&
            !gives_another_name(q->text, text))
            continue;
        char expected[300];
        snprintf(expected, sizeof expected, "%s %s", kind, text);
        bad += complain(x, q->of->name, kind_names[q->kind], q->text, expected);
    }
    for (int k = 0; k < n; k++)
        if (!e[k].met) bad += complain(x, e[k].quantity, "no quantity", "", "one of this name");
    return bad;
}

/* ------------------------------------------------------------------ main ---------------------- */

/* Another one for each run, in the same second too */
static int new_seed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int)(((uint64_t)now.tv_sec * 7919 + (uint64_t)now.tv_nsec / 1000 +
                  (uint64_t)getpid() * 104729) %
                 100000);
}

typedef struct {
    assignment of;
    int files, right, bad;
    double points;
    bool seen[EXERCISES];
} totals;

/* Exercises of which there is no file */
static void print_missing(totals *all, results *r)
{
    for (int k = 0; table && k < EXERCISES; k++) {
        if (all->seen[k] || !all->of.has[k]) continue;
        all->files++;
        print_begin(exercises[k].file, 0, quantities(k));
        printf("there is no file\n");
        write_missing(r, k, "there is no file");
    }
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Which exercise it is.  -1: in a table, it is not graded, and a line says why; elsewhere what is no exercise or cannot
 * be read ends the program. */
static int which_exercise(const char *path, const totals *all)
{
    const char *name = name_of(path);
    const int which = chosen >= 0 ? chosen : exercise_of(name);
    const bool left_out = table && (which < 0 || all->seen[which]);
    if (left_out) print_name(stdout, roster_shown(name), NAME);
    if (left_out && which < 0)
        printf(" is no exercise: its name must begin with e0 to e%d and end in .c\n",
               EXERCISES - 1);
    else if (left_out)
        printf(" is another file of E%d: not graded\n", which);
    else if (which < 0)
        fprintf(stderr,
                "grade: which exercise is %s? Its name must begin with e0 to e%d and end in .c\n",
                path, EXERCISES - 1);
    else if (!table && access(path, R_OK) != 0)
        fprintf(stderr, "grade: cannot read %s: %s\n", path, strerror(errno));
    else
        return all->of.has[which] ? which : -1;
    if (!table) exit(2);
    return -1;
}

static void grade_file(submission *x, const char *path, totals *all, results *r)
{
    const int which = which_exercise(path, all);
    bool well = true;
    if (which < 0) return;
    open_submission(x, path, which);
    for (int k = 0; k < seeds; k++) {
        grade_submission(x, (uint64_t)seed + (uint64_t)k, ticket);
        if (expect)
            all->bad += compare(x);
        else if (!table)
            print_submission(x);
        well = well && all_right(x);
    }
    if (table) print_row(x);
    write_submission(r, x);
    all->files++;
    all->right += well;
    all->points += points_right(x, &all->of);
    all->seen[which] = true;
    close_submission(x);
}

/* A file, or all files of exercises that are in a folder, at whatever depth.  A folder
 * e3.c is no file of E3. */
static void grade_path(submission *x, const char *path, totals *all, results *r)
{
    struct stat is;
    const bool file = exercise_of(name_of(path)) >= 0;
    if (!table || file || stat(path, &is) != 0 || !S_ISDIR(is.st_mode)) {
        grade_file(x, path, all, r);
        return;
    }
    roster files = files_within(path);
    for (int k = 0; k < files.n; k++) {
        char within[PATH_MAX];
        snprintf(within, sizeof within, "%s/%s", path, files.line[k]);
        if (exercise_of(name_of(within)) >= 0) grade_file(x, within, all, r);
    }
    roster_close(&files);
}

/* The command line of a process can be read by everybody: the seed that was asked for is taken out of it. */
static void hide_seed(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--seed=", 7) == 0) memset(argv[i] + 7, '-', strlen(argv[i] + 7));
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            memset(argv[i + 1], '-', strlen(argv[i + 1]));
    }
}

/* By which the mistakes of E8 are chosen; 0: those that are published */
static uint64_t read_ticket(void)
{
    char *end = NULL;
    if ((!key != !id && !class_folder) || (key && ticket_text)) {
        fprintf(stderr, "grade: --key and --id belong together, and take the place of --ticket\n");
        exit(2);
    }
    if (answers && ticket_text) {
        fprintf(stderr, "grade: the answers of a ticket are computed from --key and --id\n");
        exit(2);
    }
    if (key && id) {
        const course_key k = course_key_read(key);
        return course_key_number(&k, "E8", id);
    }
    if (!ticket_text) return 0;
    if (class_folder) {
        fprintf(stderr,
                "grade: --ticket is for one student: of a class, tickets come from --key\n");
        exit(2);
    }
    const uint64_t number = strtoull(ticket_text, &end, 16);
    if (strlen(ticket_text) == 16 && strspn(ticket_text, "0123456789abcdef") == 16) return number;
    fprintf(stderr, "grade: --ticket %s: a ticket has sixteen digits, 0 to 9 and a to f\n",
            ticket_text);
    exit(2);
}

static int grade_one_class(const assignment *of, const char *about)
{
    course_key k = {.n = 0};
    if (key) k = course_key_read(key);
    const course_class c = {.folder = class_folder,
                            .out = out,
                            .ids = ids,
                            .due = due,
                            .times = times,
                            .key = key ? &k : NULL,
                            .seed = (uint64_t)seed,
                            .about = about,
                            .of = *of};
    int idle_times;
    const int n = grade_class(&c, &idle_times);
    printf("%d student%s: %s/grades.csv; %s\n", n, n == 1 ? "" : "s", out, about);
    if (!key && of->has[8])
        printf("E8 is graded by the published mistakes: KEY=... grades those of the tickets\n");
    return finish(idle_times > 0);
}

static int list_assigned(const assignment *of)
{
    double last;
    if (due && !read_time(due, &last)) {
        fprintf(stderr, "grade: --due %s is no time like 2026-12-01 23:59\n", due);
        return 2;
    }
    list_assignment(of);
    return finish(0);
}

int main(int argc, char **argv)
{
    int first =
        parse_options(argc, argv,
                      "usage: grade [options] file.c ...\n"
                      "Grades solutions of the exercises; docs/exercises.md explains them.\n",
                      options, 100000);
    totals all = {.of = read_assignment(only)};
    if (list) return list_assigned(&all.of);
    ticket = read_ticket();
    if (answers) {
        printf("ticket %016llx\n", (unsigned long long)ticket);
        print_planted(ticket);
        return finish(0);
    }
    if (first == argc && !table && !class_folder) {
        fprintf(stderr, "grade: no file is named; try --help\n");
        return 2;
    }
    results r;
    char output[200];
    hide_seed(argc, argv);
    sandbox_open(confined);
    begin_submissions(compiler, runners, seconds);
    if (seed < 0) seed = new_seed();
    int n = snprintf(output, sizeof output, "seed %d; sandbox: %s", seed, sandbox_text());
    if (ticket && all.of.has[8])
        snprintf(output + n, sizeof output - (size_t)n, "; ticket of E8: %016llx",
                 (unsigned long long)ticket);
    if (class_folder) return grade_one_class(&all.of, output);
    open_results(&r, json, &all.of, output);
    submission *x = need(malloc(sizeof *x));
    for (int i = first; i < argc; i++) grade_path(x, argv[i], &all, &r);
    print_missing(&all, &r);
    all.bad += !close_results(&r, all.points);
    free(x);
    if (expect)
        printf("%d files, %d seeds each: %d verdicts are not what was expected\n", all.files, seeds,
               all.bad);
    if (table)
        printf("%d of %d files are all right, %.10g of %.10g points; each had %s\n", all.right,
               all.files, all.points, all_points(&all.of), sandbox_text());
    return finish(all.bad > 0 || (!expect && all.right < all.files));
}
