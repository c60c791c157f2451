/* class.c -- a whole class: which file of each student counts, its grade, one line; see class.h. */
#include "common/options.h"
#include "class.h"
#include "columns.h"
#include "results.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A file of some exercise, and when it was handed in */
typedef struct {
    char *name; /* from the student's folder on */
    int which;
    double time, of_file; /* when it was handed in; what its file says, which orders equal times */
} attempt;

typedef struct {
    const course_class *of;
    const char *id;
    attempt *at;
    int attempts;
    roster others; /* files of no exercise */
} student;

/* What a line of the file of times says */
typedef struct {
    char *line, *of; /* a copy; in it the student or the file, NULL: it is the header */
    double time;
    bool is_of_one; /* of one that is there */
} time_line;

static double due;        /* infinite: nothing is late */
static roster time_lines; /* of the file of times */
static time_line *time_said;
static int name_width; /* columns of the longest id, as far as they are printed */

static void class_fail(const char *path, const char *why)
{
    fprintf(stderr, "grade: %s: %s\n", path, why);
    exit(2);
}

/* ------------------------------------------------------------------ times --------------------- */

bool read_time(const char *text, double *seconds)
{
    struct tm t = {.tm_isdst = -1};
    char between = 0, sign = 0;
    int n = 0, hours = 0, minutes = 0, end = 0;
    double fraction;
    if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &between,
               &t.tm_hour, &t.tm_min, &n) < 6)
        return false;
    const bool sane = t.tm_year >= 1970 && t.tm_mon >= 1 && t.tm_mon <= 12 && t.tm_mday >= 1 &&
                      t.tm_mday <= 31 && t.tm_hour <= 23 && t.tm_min <= 59;
    if (!sane || (between != ' ' && between != 'T')) return false;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    text += n;
    if (*text == ':' && isdigit((unsigned char)text[1])) {
        text++;
        if (!read_number(&text, true, &fraction) || fraction < 0 || fraction > 60) return false;
        t.tm_sec = (int)fraction;
    }
    if (!*text) {
        *seconds = (double)mktime(&t);
        return true;
    }
    *seconds = (double)timegm(&t);
    if (strcmp(text, "Z") == 0) return true;
    if (sscanf(text, "%c%2d:%2d%n", &sign, &hours, &minutes, &end) < 3 || text[end]) return false;
    if (sign != '+' && sign != '-') return false;
    *seconds -= (sign == '+' ? 60 : -60) * (60.0 * hours + minutes);
    return true;
}

/* Of the last of all lines about this file, "ada/e3_softmax.c", or this student.  False: there is none. */
static bool find_time(const char *what, double *seconds)
{
    bool found = false;
    for (int k = 0; k < time_lines.n; k++) {
        if (!time_said[k].of || strcmp(time_said[k].of, what) != 0) continue;
        found = time_said[k].is_of_one = true;
        *seconds = time_said[k].time;
    }
    return found;
}

static double time_of(const student *x, const char *name, double of_file)
{
    char path[2 * PATH_MAX];
    double seconds = of_file;
    snprintf(path, sizeof path, "%s/%s", x->id, name);
    if (!find_time(path, &seconds)) find_time(x->id, &seconds);
    return seconds;
}

/* Line k has two cells, with a semicolon or a comma between them: the second one is a time; of a header, which is the
 * first line, it has no digit. */
static bool read_time_line(int k)
{
    bool header = false;
    char *cell[2];
    for (const char *separator = ";,"; *separator; separator++) {
        free(time_said[k].line);
        time_said[k].line = need(strdup(time_lines.line[k]));
        if (!roster_cells(time_said[k].line, *separator, 2, 2, cell)) continue;
        time_said[k].of = cell[0];
        if (read_time(cell[1], &time_said[k].time)) return true;
        header |= k == 0 && !cell[1][strcspn(cell[1], "0123456789")];
    }
    time_said[k].of = NULL;
    return header;
}

static void read_times(const course_class *c)
{
    due = (double)INFINITY;
    if (c->due && !read_time(c->due, &due)) class_fail(c->due, "is no time like 2026-12-01 23:59");
    if (!c->times) return;
    time_lines = roster_read(c->times);
    time_said = need(calloc((size_t)time_lines.n + 1, sizeof *time_said));
    for (int k = 0; k < time_lines.n; k++)
        if (!read_time_line(k))
            class_fail(roster_shown(time_lines.line[k]), "is no line like ada,2026-12-01 23:59");
    if (time_lines.n && !time_said[0].of)
        printf("%s: its first line is a header: %s\n", c->times, roster_shown(time_lines.line[0]));
}

/* Says which lines are of nobody and nothing, and frees all of them.  Returns how many these are. */
static int close_times(const course_class *c)
{
    int idle = 0;
    for (int k = 0; k < time_lines.n; k++) {
        free(time_said[k].line);
        if (!time_said[k].of || time_said[k].is_of_one) continue;
        idle++;
        fprintf(stderr, "grade: %s: no student and no file of an exercise is called so: %s\n",
                c->times, roster_shown(time_lines.line[k]));
    }
    free(time_said);
    roster_close(&time_lines);
    return idle;
}

/* ------------------------------------------------------------------ what was handed in -------- */

static void add_attempt(student *x, const char *name, const struct stat *is)
{
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    const int which = exercise_of(last);
    if (which < 0) {
        if (strcmp(last, "answers.csv") != 0) roster_add(&x->others, name); /* of the worksheet */
        return;
    }
    const double of_file = (double)is->st_mtime, time = time_of(x, name, of_file);
    if (!x->of->of.has[which]) return;
    x->at = need(realloc(x->at, (size_t)(x->attempts + 1) * sizeof *x->at));
    x->at[x->attempts++] =
        (attempt){.name = need(strdup(name)), .which = which, .time = time, .of_file = of_file};
}

static void read_folder(student *x)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    struct stat is;
    snprintf(folder, sizeof folder, "%s/%s", x->of->folder, x->id);
    roster files = files_within(folder);
    for (int k = 0; k < files.n; k++) {
        snprintf(path, sizeof path, "%s/%s", folder, files.line[k]);
        if (lstat(path, &is) == 0) add_attempt(x, files.line[k], &is);
    }
    roster_close(&files);
}

static bool is_newer(const attempt *a, const attempt *b)
{
    if (a->time != b->time) return a->time > b->time;
    if (a->of_file != b->of_file) return a->of_file > b->of_file;
    return strcmp(a->name, b->name) > 0;
}

/* The newest in time; if none is, the newest.  NULL: there is none. */
static const attempt *which_counts(const student *x, int which, int *attempts)
{
    const attempt *best = NULL;
    *attempts = 0;
    for (const attempt *a = x->at; a < x->at + x->attempts; a++) {
        if (a->which != which) continue;
        ++*attempts;
        const bool late = a->time > due, best_late = best && best->time > due;
        if (!best || (late == best_late ? is_newer(a, best) : best_late)) best = a;
    }
    return best;
}

static void close_student(student *x)
{
    for (int k = 0; k < x->attempts; k++) free(x->at[k].name);
    free(x->at);
    roster_close(&x->others);
}

/* ------------------------------------------------------------------ a line of the table ------- */

enum { MISSING = 1, LATE = 2, FAILED = 4, STATE = 900 };

/* What became of an exercise */
typedef struct {
    double points;
    char state[STATE]; /* its cell */
    unsigned marks;    /* what somebody should look at */
} outcome;

static outcome grade_attempt(const student *x, int which, uint64_t ticket, results *r,
                             submission *s)
{
    int attempts, n;
    char path[PATH_MAX];
    outcome o = {.state = "missing", .marks = MISSING};
    const attempt *a = which_counts(x, which, &attempts);
    if (!a) {
        write_title(r, which, 0, o.state);
        write_missing(r, which, "there is no file");
        return o;
    }
    snprintf(path, sizeof path, "%s/%s/%s", x->of->folder, x->id, a->name);
    open_submission(s, path, which);
    grade_submission(s, x->of->seed, ticket);
    o.points = points_right(s, &x->of->of);
    o.marks = (a->time > due ? LATE : 0) | (s->g.failure[0] ? FAILED : 0);
    n = snprintf(o.state, STATE, "%d of %d", right_ones(s), quantities(which));
    if (o.marks & FAILED) n += snprintf(o.state + n, STATE - (size_t)n, "; %.600s", s->g.failure);
    if (o.marks & LATE) n += snprintf(o.state + n, STATE - (size_t)n, "; late");
    if (attempts > 1)
        snprintf(o.state + n, STATE - (size_t)n, "; resubmitted: %.150s counts",
                 roster_shown(a->name));
    write_title(r, which, o.points, o.state);
    write_submission(r, s);
    close_submission(s);
    return o;
}

static const char *student_state(const student *x, bool unknown)
{
    if (unknown) return x->attempts ? "unknown id" : "unknown id; nothing submitted";
    return x->attempts ? "submitted" : "nothing submitted";
}

/* ----- the same for the eye: who needs a look, and why */

static void print_points(const course_class *c, const char *id, double points)
{
    char all[40];
    const int n = snprintf(all, sizeof all, "%.10g", all_points(&c->of));
    print_name(stdout, roster_shown(id), name_width);
    printf("   %*.10g of %s points   ", n, points, all);
}

/* "late: E1, E3", behind a semicolon if there is anything before it */
static void print_marked(const outcome o[EXERCISES], unsigned mark, const char *title, bool *any)
{
    bool more = false;
    for (int k = 0; k < EXERCISES; k++) {
        if (!(o[k].marks & mark)) continue;
        printf("%s%sE%d", *any && !more ? "; " : "", more ? ", " : title, k);
        *any = more = true;
    }
}

static void print_state(const student *x, bool unknown, const outcome o[EXERCISES])
{
    bool any = unknown || !x->attempts;
    if (any) printf("%s", student_state(x, unknown));
    if (x->attempts) print_marked(o, MISSING, "missing: ", &any);
    print_marked(o, LATE, "late: ", &any);
    print_marked(o, FAILED, "failed: ", &any);
    if (!any) printf("ok");
    if (x->others.n) printf("; other files: %d", x->others.n);
    printf("\n");
}

/* What a student reads first */
static void tell_about(const student *x, uint64_t ticket, char *about, size_t size)
{
    FILE *f = need(fmemopen(about, size, "w"));
    fprintf(f, "%s", x->of->about);
    if (ticket && x->of->of.has[8])
        fprintf(f, "; ticket of E8: %016llx", (unsigned long long)ticket);
    if (x->others.n) fprintf(f, "; other files: ");
    print_names(f, &x->others);
    fclose(f);
}

static void grade_student(student *x, bool unknown, FILE *table)
{
    const course_class *c = x->of;
    const uint64_t ticket = c->key ? course_key_number(c->key, "E8", x->id) : 0;
    char path[PATH_MAX], text_path[PATH_MAX], about[4000];
    outcome o[EXERCISES] = {{.marks = 0}};
    double sum = 0;
    results r;
    submission *s = need(malloc(sizeof *s));
    snprintf(path, sizeof path, "%s/results/%s.json", c->out, x->id);
    snprintf(text_path, sizeof text_path, "%s/results/%s.txt", c->out, x->id);
    tell_about(x, ticket, about, sizeof about);
    open_results(&r, path, &c->of, about);
    open_text(&r, text_path, x->id, about);
    for (int k = 0; k < EXERCISES; k++) {
        if (c->of.has[k]) o[k] = grade_attempt(x, k, ticket, &r, s);
        sum += o[k].points;
    }
    fprintf(table, "%s,\"%s", roster_cell(x->id), student_state(x, unknown));
    if (x->others.n) fprintf(table, "; other files: %d", x->others.n);
    fprintf(table, "\",%.10g,%.10g", sum, all_points(&c->of));
    for (int k = 0; k < EXERCISES; k++)
        if (c->of.has[k]) fprintf(table, ",%.10g,%s", o[k].points, roster_cell(o[k].state));
    fprintf(table, "\n");
    print_points(c, x->id, sum);
    print_state(x, unknown, o);
    if (!close_results(&r, sum)) exit(1);
    free(s);
}

static void leave_out(const course_class *c, const char *id, FILE *table)
{
    char marked[PATH_MAX]; /* so that no program for tables takes it for a formula */
    snprintf(marked, sizeof marked, "? %s", id);
    fprintf(table, "%s,\"unreadable id\",0,%.10g", roster_cell(marked), all_points(&c->of));
    for (int k = 0; k < EXERCISES; k++)
        if (c->of.has[k]) fprintf(table, ",0,\"\"");
    fprintf(table, "\n");
    print_points(c, id, 0);
    printf("unreadable id\n");
}

/* ------------------------------------------------------------------ all of them --------------- */

/* The folders of the class, which are ids; what else there is in *loose */
static roster read_class(const course_class *c, roster *loose)
{
    roster r = {.n = 0};
    char path[PATH_MAX];
    struct stat is;
    DIR *folder = opendir(c->folder);
    if (!folder) class_fail(c->folder, strerror(errno));
    for (struct dirent *e; (e = readdir(folder));) {
        if (e->d_name[0] == '.' || strcmp(e->d_name, "__MACOSX") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", c->folder, e->d_name);
        roster_add(lstat(path, &is) == 0 && S_ISDIR(is.st_mode) ? &r : loose, e->d_name);
    }
    closedir(folder);
    return r;
}

static void print_loose(roster *loose)
{
    roster_sort(loose);
    if (loose->n)
        printf(loose->n > 1 ? "%d files are in no folder of a student, and are not graded: "
                            : "%d file is in no folder of a student, and is not graded: ",
               loose->n);
    print_names(stdout, loose);
    if (loose->n) printf("\n");
    roster_close(loose);
}

/* Results of an earlier run into the same folder, which nobody should take for those of this one */
static void say_stale(const course_class *c, const roster *ids)
{
    char path[PATH_MAX];
    roster stale = {.n = 0};
    snprintf(path, sizeof path, "%s/results", c->out);
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        char *dot = strrchr(e->d_name, '.');
        if (!dot || (strcmp(dot, ".json") != 0 && strcmp(dot, ".txt") != 0)) continue;
        *dot = 0;
        if (roster_find(ids, e->d_name) < 0) roster_add(&stale, e->d_name);
    }
    if (folder) closedir(folder);
    roster_sort(&stale);
    if (stale.n) {
        fflush(stdout);
        fprintf(stderr, "grade: %s has older results, of no student of this run: ", path);
        print_names(stderr, &stale);
        fprintf(stderr, "\n");
    }
    roster_close(&stale);
}

/* The longest id decides, up to a width that leaves a place for the rest of a line. */
static void set_name_width(const roster *ids)
{
    enum { WIDEST = 40 };
    for (int k = 0; k < ids->n; k++) {
        const int n = columns_of(roster_shown(ids->line[k]));
        if (n > name_width) name_width = n < WIDEST ? n : WIDEST;
    }
}

static FILE *open_table(const course_class *c, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/results/x", c->out);
    make_folders_for(path);
    snprintf(path, PATH_MAX, "%s/grades.csv", c->out);
    FILE *table = fopen(path, "w");
    if (!table) class_fail(path, strerror(errno));
    fprintf(table, "id,state,points,of");
    for (int k = 0; k < EXERCISES; k++)
        if (c->of.has[k]) fprintf(table, ",E%d,E%d state", k, k);
    fprintf(table, "\n");
    return table;
}

int grade_class(const course_class *c, int *idle_times)
{
    char path[PATH_MAX];
    double unused;
    int students = 0;
    read_times(c);
    roster loose = {.n = 0}, list = {.n = 0}, all = read_class(c, &loose);
    if (c->ids) list = roster_read_ids(c->ids);
    for (int k = 0; k < list.n; k++) roster_add(&all, list.line[k]);
    roster_sort(&all);
    set_name_width(&all);
    FILE *table = open_table(c, path);
    for (int k = 0; k < all.n; k++) {
        student x = {.of = c, .id = all.line[k]};
        students++;
        find_time(x.id, &unused); /* of somebody who has handed in nothing, too */
        if (!roster_readable(x.id)) {
            leave_out(c, x.id, table);
            continue;
        }
        read_folder(&x);
        const bool unknown = c->ids && roster_find(&list, x.id) < 0;
        grade_student(&x, unknown, table);
        close_student(&x);
        fflush(table);
    }
    if (!written(table, path, !ferror(table))) exit(1);
    print_loose(&loose);
    say_stale(c, &all);
    roster_close(&all);
    roster_close(&list);
    *idle_times = close_times(c);
    return students;
}
