/* worksheets.c -- a sheet for each student of a course, and the grades of what comes back.
 *
 *     worksheets --key course.key --ids ids.txt --out folder
 *
 * writes, for each id, students/ID/worksheet.html, students/ID/answers.csv (to fill in) and private/ID.html (the key).
 *
 *     worksheets --key course.key --ids ids.txt --out folder answers.csv ...
 *
 * reads lines of answers, "ada,dS q0 k1,0.22", and writes private/worksheets.csv, a line for each student, and
 * private/worksheets_cells.csv, a line for each cell, with what is right.  The sheets are drawn again from the key: nothing else is needed.  Of two
 * lines for one cell the later one counts.
 *
 *     worksheets --key course.key --ids ids.txt --out folder --grades graded/grades.csv answers.csv ...
 *
 * writes private/points.csv as well: the points of the exercises and of the worksheet, a line for each student. */
#include "common/options.h"
#include "roster.h"
#include "worksheet_page.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *key_file, *ids_file, *grades_file, *out = "out/course";
static const option options[] = {
    {"key", NULL, NULL, &key_file, 0, 0, "the file with the key of the course"},
    {"ids", NULL, NULL, &ids_file, 0, 0, "the ids of all students, one in a line"},
    {"out", NULL, NULL, &out, 0, 0, "the folder that is written to"},
    {"grades", NULL, NULL, &grades_file, 0, 0,
     "grades.csv of the class: points.csv has its points and those of the worksheets"},
    {0}};

enum { CELLS = 40 };

static worksheet *sheet_of(const course_key *key, const char *id)
{
    worksheet *w = worksheet_draw(course_key_number(key, "worksheet", id));
    if (w) return w;
    fprintf(stderr, "worksheets: no memory\n");
    exit(1);
}

static FILE *create(char path[PATH_MAX], const char *folder, const char *id, const char *file)
{
    snprintf(path, PATH_MAX, "%s/%s%s%s", out, folder, id, file);
    make_folders_for(path);
    FILE *f = fopen(path, "w");
    if (f) return f;
    written(f, path, false);
    exit(1);
}

static void finish_file(FILE *f, const char *path, bool good)
{
    if (!written(f, path, good && !ferror(f))) exit(1);
}

/* ------------------------------------------------------------------ sheets -------------------- */

static void write_sheets(const course_key *key, const char *id)
{
    char path[PATH_MAX];
    worksheet *w = sheet_of(key, id);
    FILE *f = create(path, "students/", id, "/worksheet.html");
    finish_file(f, path, worksheet_page(f, w, id, false));
    f = create(path, "private/", id, ".html");
    finish_file(f, path, worksheet_page(f, w, id, true));
    worksheet_close(w);
}

/* Somebody may have filled it in: one that is there is kept. */
static void write_list(const char *id)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/students/%s/answers.csv", out, id);
    if (access(path, F_OK) == 0) return;
    FILE *f = create(path, "students/", id, "/answers.csv");
    fprintf(f, "id,cell,value\n");
    for (int k = 0; k < worksheet_cells(); k++)
        fprintf(f, "%s,%s,\n", roster_cell(id), worksheet_name(k));
    finish_file(f, path, true);
}

/* ------------------------------------------------------------------ answers ------------------- */

/* What was read about one student */
typedef struct {
    const char *id;
    double answer[CELLS];
    char unread[CELLS][40]; /* an answer that is no number */
    int again, unknown;     /* answered twice; lines that name no cell */
    int points, answered;   /* once it is graded; cells that were filled in */
} reply;

/* With `;` between the cells, or with commas */
static bool split_line(char *line, char *cell[3])
{
    return (roster_cells(line, ';', 3, 3, cell) || roster_cells(line, ',', 3, 3, cell)) && *cell[0];
}

static void take_answer(reply *r, const char *cell, const char *value)
{
    const int k = worksheet_find(cell);
    double x;
    if (k < 0)
        r->unknown++;
    else if (value[strspn(value, " \t")]) {
        if (!isnan(r->answer[k]) || r->unread[k][0]) r->again++;
        r->unread[k][0] = 0;
        r->answer[k] = worksheet_number(value, &x) ? x : (double)NAN;
        if (isnan(r->answer[k])) snprintf(r->unread[k], sizeof r->unread[k], "%s", value);
    }
}

/* Whose folder a file is in, at whatever depth: he or she answers for nobody else.  Of the folders on the path the first
 * one that is an id counts, as a student may name folders within it. */
static const reply *owner_of(const char *path, const reply *r, int n)
{
    for (const char *begin = path, *slash; (slash = strchr(begin, '/')); begin = slash + 1)
        for (int i = 0; i < n; i++)
            if (strlen(r[i].id) == (size_t)(slash - begin) &&
                memcmp(r[i].id, begin, strlen(r[i].id)) == 0)
                return &r[i];
    return NULL;
}

static bool can_be_read(const char *path)
{
    struct stat is;
    return lstat(path, &is) == 0 && S_ISREG(is.st_mode) && access(path, R_OK) == 0;
}

/* A pattern that finds nothing comes as it is, and is no file: it ends the program, before anything is written.  So do
 * files none of which can be read. */
static void need_files(char **paths, int n)
{
    int readable = 0;
    for (int k = 0; k < n; k++) {
        struct stat is;
        readable += can_be_read(paths[k]);
        if (lstat(paths[k], &is) == 0) continue;
        fprintf(stderr, "%s: %s; nothing was written\n", paths[k], strerror(errno));
        exit(2);
    }
    if (readable) return;
    fprintf(stderr, "worksheets: no file of answers can be read; nothing was written\n");
    exit(2);
}

/* Returns how much is lost: lines of students that are not known, or not meant, and a file that cannot be read. */
static int take_answers(const char *path, reply *r, int n)
{
    const reply *owner = owner_of(path, r, n);
    if (!can_be_read(path)) {
        fprintf(stderr, "%s: no file that can be read\n", path);
        return 1;
    }
    roster lines = roster_read(path);
    int strangers = 0;
    for (int k = 0; k < lines.n; k++) {
        char *cells[3];
        if (!split_line(lines.line[k], cells)) {
            fprintf(stderr, "%s: no line like ada,dS q0 k1,0.22: %s\n", path,
                    roster_shown(lines.line[k]));
            strangers++;
            continue;
        }
        const char *id = cells[0], *cell = cells[1], *value = cells[2];
        if (k == 0 && strcmp(id, "id") == 0 && strcmp(cell, "cell") == 0) continue;
        reply *of = NULL;
        for (int i = 0; i < n && !of; i++)
            if (strcmp(r[i].id, id) == 0) of = &r[i];
        if (of && (!owner || of == owner))
            take_answer(of, cell, value);
        else if (strangers++ == 0)
            fprintf(stderr, "%s: %s: %s\n", path, of ? "the id of another folder" : "unknown id",
                    roster_shown(id));
    }
    roster_close(&lines);
    return strangers;
}

static const char *words_of(const sheet_verdict *v, const char *unread)
{
    static char text[200];
    switch (v->state) {
    case SHEET_RIGHT: return "right";
    case SHEET_FOLLOWS: return "follows from what is wrong before it: counts";
    case SHEET_FROM_NOTHING: return "follows from a row with no right number: does not count";
    case SHEET_NAMED:
        snprintf(text, sizeof text, "%s: %s", mistakes_texts[v->is].name,
                 mistakes_texts[v->is].sentence);
        return text;
    case SHEET_WRONG: return "wrong";
    case SHEET_MISSING: return unread[0] ? "not a number" : "missing";
    }
    return "";
}

static const char *state_of(const reply *r)
{
    return r->answered ? "submitted" : "nothing submitted";
}

static void grade_reply(const course_key *key, reply *r, FILE *table, FILE *cells)
{
    worksheet *w = sheet_of(key, r->id);
    sheet_verdict v[CELLS];
    if (!worksheet_grade(w, r->answer, v)) exit(1);
    for (int k = 0; k < worksheet_cells(); k++) {
        const bool counts = v[k].state == SHEET_RIGHT || v[k].state == SHEET_FOLLOWS;
        fprintf(cells, "%s,%s,", roster_cell(r->id), worksheet_name(k));
        if (!isnan(r->answer[k]))
            fprintf(cells, "%.10g", r->answer[k]);
        else if (r->unread[k][0])
            fprintf(cells, "%s", roster_cell(r->unread[k]));
        fprintf(cells, ",%.4g,%d,%s\n", round(1e4 * v[k].right) / 1e4, counts,
                roster_cell(words_of(&v[k], r->unread[k])));
        r->points += counts;
        r->answered += !isnan(r->answer[k]) || r->unread[k][0];
    }
    fprintf(table, "%s,\"%s", roster_cell(r->id), state_of(r));
    if (r->again) fprintf(table, "; answered again: %d", r->again);
    if (r->unknown) fprintf(table, "; lines of no cell: %d", r->unknown);
    fprintf(table, "\",%d,%d\n", r->points, worksheet_cells());
    printf("%-32s %d of %d\n", r->id, r->points, worksheet_cells());
    worksheet_close(w);
}

/* ------------------------------------------------------------------ with the exercises -------- */

enum { ID, STATE, POINTS, OF, FIRST_CELLS, MOST_CELLS = 64 };

typedef struct {
    char *cell[FIRST_CELLS]; /* of a line of grades.csv */
    bool joined;
} grades;

static void read_grades(char *line, bool header, grades *g)
{
    char *cell[MOST_CELLS];
    const char *shown = roster_shown(line);
    double x;
    bool good = roster_cells(line, ',', FIRST_CELLS, MOST_CELLS, cell);
    if (header)
        good = good && strcmp(cell[ID], "id") == 0 && strcmp(cell[POINTS], "points") == 0;
    else
        good = good && read_real(cell[POINTS], 0, 1e9, &x) && read_real(cell[OF], 0, 1e9, &x);
    if (!good) {
        fprintf(stderr, "%s: no line as make grade-class writes it: %s\n", grades_file, shown);
        exit(2);
    }
    memcpy(g->cell, cell, sizeof g->cell);
}

/* NULL: this student is not in that table. */
static void write_points(FILE *f, const char *id, const grades *g, const reply *r)
{
    fprintf(f, "%s,", roster_cell(id));
    if (g)
        fprintf(f, "%s,%s,%s,", g->cell[POINTS], g->cell[OF], roster_cell(g->cell[STATE]));
    else
        fprintf(f, ",,\"not in grades.csv\",");
    if (r)
        fprintf(f, "%d,%d,\"%s\"\n", r->points, worksheet_cells(), state_of(r));
    else
        fprintf(f, ",,\"unknown id\"\n");
}

static void join_grades(const reply *r, int n)
{
    char path[PATH_MAX];
    roster lines = roster_read(grades_file);
    grades *all = calloc((size_t)lines.n + 1, sizeof *all);
    int alone = 0;
    if (!all) exit(1);
    for (int k = 0; k < lines.n; k++) read_grades(lines.line[k], k == 0, &all[k]);
    FILE *table = create(path, "private/", "", "points.csv");
    fprintf(table, "id,exercises,of exercises,exercises state,worksheet,of worksheet,"
                   "worksheet state\n");
    for (int i = 0; i < n; i++) {
        grades *g = NULL;
        for (int k = 1; k < lines.n && !g; k++)
            if (strcmp(all[k].cell[ID], r[i].id) == 0) g = &all[k];
        write_points(table, r[i].id, g, &r[i]);
        if (g) g->joined = true;
        alone += !g;
    }
    for (int k = 1; k < lines.n; k++) {
        if (all[k].joined) continue;
        write_points(table, all[k].cell[ID], &all[k], NULL);
        alone++;
    }
    finish_file(table, path, true);
    printf("%s: exercises and worksheets; in one of the two tables alone: %d\n", path, alone);
    free(all);
    roster_close(&lines);
}

/* Is anything lost of what came back?  The tables are written all the same. */
static bool grade_replies(const course_key *key, const roster *ids, char **files, int n)
{
    char path[PATH_MAX], path_cells[PATH_MAX];
    int lost = 0;
    reply *r = calloc((size_t)ids->n + 1, sizeof *r);
    if (!r) exit(1);
    for (int i = 0; i < ids->n; i++) {
        r[i].id = ids->line[i];
        for (int k = 0; k < CELLS; k++) r[i].answer[k] = (double)NAN;
    }
    for (int k = 0; k < n; k++) lost += take_answers(files[k], r, ids->n);
    FILE *table = create(path, "private/", "", "worksheets.csv"),
         *cells = create(path_cells, "private/", "", "worksheets_cells.csv");
    fprintf(table, "id,state,points,of\n");
    fprintf(cells, "id,cell,value,right,points,state\n");
    for (int i = 0; i < ids->n; i++) grade_reply(key, &r[i], table, cells);
    finish_file(table, path, true);
    finish_file(cells, path_cells, true);
    if (grades_file) join_grades(r, ids->n);
    free(r);
    fflush(stdout);
    if (lost)
        fprintf(stderr, "worksheets: lines or files that belong to no student of %s: %d\n",
                ids_file, lost);
    return lost > 0;
}

/* ------------------------------------------------------------------ ids ----------------------- */

/* A row of a table has cells: a single comma may belong to an id, as in "Lovelace, Ada". */
static bool is_row(const char *line)
{
    const char *comma = strchr(line, ',');
    return strchr(line, ';') || (comma && strchr(comma + 1, ','));
}

/* A line that is no id ends the program: else a student would be left out, or a row taken for one. */
static roster read_ids(void)
{
    roster ids = roster_read_ids(ids_file);
    int bad = 0;
    for (int k = 0; k < ids.n; k++) {
        const bool row = is_row(ids.line[k]);
        if (!row && roster_readable(ids.line[k])) continue;
        fprintf(stderr, "%s: %s: %s\n", ids_file, row ? "a row of a table" : "unreadable id",
                roster_shown(ids.line[k]));
        bad++;
    }
    if (bad) {
        fprintf(stderr,
                "%s: %d of %d lines are no ids: a line is one id alone, such as ada or "
                "ada@example.org, without quotes or other cells; it begins with a letter or a "
                "digit and has no / and at most 120 bytes.  Nothing was written.\n",
                ids_file, bad, ids.n);
        exit(2);
    }
    roster_sort(&ids);
    return ids;
}

/* ------------------------------------------------------------------ main ---------------------- */

int main(int argc, char **argv)
{
    const int first = parse_options(argc, argv,
                                    "usage: worksheets --key FILE --ids FILE [answers.csv ...]\n"
                                    "Attention on paper, another sheet for each student; "
                                    "docs/lecturer.md explains it.\n",
                                    options, 100000);
    if (!key_file || !*key_file || !ids_file || !*ids_file) {
        fprintf(stderr, "worksheets: %s is missing; try --help\n",
                key_file && *key_file ? "IDS= (--ids)" : "KEY= (--key)");
        return 2;
    }
    if (grades_file && first == argc) {
        fprintf(stderr, "worksheets: --grades are joined with answers, and there are none\n");
        return 2;
    }
    if (first < argc) need_files(argv + first, argc - first);
    const course_key key = course_key_read(key_file);
    roster ids = read_ids();
    bool lost = false;
    if (first < argc)
        lost = grade_replies(&key, &ids, argv + first, argc - first);
    else
        for (int k = 0; k < ids.n; k++) write_sheets(&key, ids.line[k]), write_list(ids.line[k]);
    if (first == argc) printf("%d sheets: %s/students, keys: %s/private\n", ids.n, out, out);
    roster_close(&ids);
    return finish(lost);
}
