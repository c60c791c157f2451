/* csv.c -- log.csv of a run, whose columns may come at any time; see csv.h. */
#include "train/csv.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/file.h"
#include "system/system.h"
#include "system/utf8.h"
#include "tensor/decimal.h"

enum { CSV_HELD, CSV_SECONDS, CSV_PER_SECOND };
static const char *const fixed_name[AT_CSV_FIXED] = {"held", "seconds", "per_second"};

/* ------------------------------------------------------------------ columns -------------------- */

static int find_column(const at_csv *c, const char *name)
{
    for (int i = 0; i < c->columns; i++)
        if (strcmp(c->column[i].name, name) == 0) return i;
    return -1;
}

static void add_column(at_csv *c, const char *name, size_t length)
{
    at_csv_column *added = &c->column[c->columns++];
    *added = (at_csv_column){0};
    memcpy(added->name, name, length);
}

static bool is_column_name(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    bool plain =
        n > 0 && n < AT_CSV_NAME && !strpbrk(name, ",;\"") && strcmp(name, at_shown(name, -1)) == 0;
    for (int k = 0; plain && k < AT_CSV_FIXED; k++) plain = strcmp(name, fixed_name[k]) != 0;
    return plain && strcmp(name, "step") != 0;
}

static void give_value(at_csv *c, int i, double value)
{
    c->column[i].sum += value;
    c->column[i].count++;
}

bool at_csv_give(at_csv *c, const char *name, double value)
{
    const int most = AT_CSV_COLUMNS - (c->fixed < 0 ? AT_CSV_FIXED : 0);
    AT_REQUIRE(c->t, is_column_name(name),
               "run: \"%s\" cannot be a column of the log: a name has 1 .. %d bytes of UTF-8 that "
               "can be seen, no comma, semicolon or quote, and is none of step, held, seconds, "
               "per_second",
               at_shown(name, -1), AT_CSV_NAME - 1);
    int i = find_column(c, name);
    AT_REQUIRE(c->t, i >= 0 || c->columns < most,
               "run: \"%s\" is a column too many: the log has at most %d", name,
               AT_CSV_COLUMNS - AT_CSV_FIXED);
    if (i < 0) i = c->columns, add_column(c, name, strlen(name));
    give_value(c, i, value);
    return true;
}

double at_csv_mean(const at_csv *c, int i)
{
    return c->column[i].sum / c->column[i].count;
}

bool at_csv_is_fixed(const at_csv *c, int i)
{
    return c->fixed >= 0 && i >= c->fixed && i < c->fixed + AT_CSV_FIXED;
}

void at_csv_begin(at_csv *c)
{
    for (int i = 0; i < c->columns; i++) c->column[i].sum = 0, c->column[i].count = 0;
}

/* ------------------------------------------------------------------ open ----------------------- */

/* The columns, from "step,loss,held,seconds,per_second\n"; false if that is no such header. */
static bool read_header(at_csv *c, const char *line)
{
    if (strncmp(line, "step,", 5) != 0) return false;
    for (line += 4; *line == ',';) {
        size_t n = strcspn(++line, ",\n");
        if (n == 0 || n >= AT_CSV_NAME || c->columns == AT_CSV_COLUMNS) return false;
        add_column(c, line, n);
        line += n;
    }
    c->header = c->columns;
    c->fixed = find_column(c, fixed_name[CSV_HELD]);
    for (int i = 0; i < c->columns; i++)
        if (!at_csv_is_fixed(c, i) && !is_column_name(c->column[i].name)) return false;
    return c->fixed >= 0 && find_column(c, fixed_name[CSV_SECONDS]) == c->fixed + CSV_SECONDS &&
           find_column(c, fixed_name[CSV_PER_SECOND]) == c->fixed + CSV_PER_SECOND;
}

static void read_cells(at_csv *c, const char *line)
{
    for (int i = 0; i < c->columns; i++) {
        line += strcspn(line, ",");
        line += *line == ',';
        c->column[i].in_last_line = *line && *line != ',' && *line != '\n';
    }
}

/* A log that is opened, and how many of its lines stay. */
typedef struct {
    at_csv *log;
    ptrdiff_t most;
} csv_reader;

static bool keep_csv_line(void *reader, const char *line)
{
    at_csv *c = ((csv_reader *)reader)->log;
    if (c->csv.lines == ((csv_reader *)reader)->most) return false;
    if (c->csv.lines == 0 && !read_header(c, line))
        return at_fail(c->t, ATTIC_FILE_ERROR,
                       "%s does not begin with the header of a log; the run goes on without it if "
                       "it is moved away",
                       c->csv.path);
    read_cells(c, line);
    return true;
}

bool at_csv_open(at_csv *c, ptrdiff_t lines)
{
    return at_log_file_open(&c->csv, keep_csv_line, &(csv_reader){c, lines});
}

void at_csv_close(at_csv *c)
{
    at_log_file_close(&c->csv);
    at_log_file_close(&c->json);
}

/* ------------------------------------------------------------------ write ---------------------- */

/* ",norm,held": the names of the columns from the first-th on. */
static const char *column_names(const at_csv *c, int first, char text[AT_LOG_LINE])
{
    int n = 0;
    text[0] = 0;
    for (int i = first; i < c->columns; i++)
        n += snprintf(text + n, (size_t)(AT_LOG_LINE - n), ",%s", c->column[i].name);
    return text;
}

/* log.new.csv: the log, with the columns that its header lacks. */
static bool write_wider(at_csv *c, ptrdiff_t *bytes)
{
    char line[AT_LOG_LINE], names[AT_LOG_LINE], commas[AT_CSV_COLUMNS + 1] = "";
    FILE *from = at_open_file(c->csv.path, O_RDONLY, -1);
    if (!from) return at_log_file_fails(&c->csv, "open");
    FILE *to = at_file_create(c->t, c->new_path);
    ptrdiff_t n = 0;
    memset(commas, ',', (size_t)(c->columns - c->header));
    for (; to && n < c->csv.lines && fgets(line, sizeof line, from); n++)
        *bytes += fprintf(to, "%.*s%s\n", (int)strcspn(line, "\n"), line,
                          n ? commas : column_names(c, c->header, names));
    if (to && n < c->csv.lines) at_log_file_fails(&c->csv, "read");
    fclose(from);
    return at_file_close(c->t, to, c->new_path);
}

/* The header gets what it lacks.  If that fails, the file is as it was. */
static bool widen_csv(at_csv *c)
{
    ptrdiff_t bytes = 0;
    if (!at_is_open_at(c->csv.file, c->csv.path))
        return at_fail(c->t, ATTIC_FILE_ERROR, "%s was renamed or removed", c->csv.path);
    if (!write_wider(c, &bytes)) return false;
    at_log_file_close(&c->csv); /* on Windows no open file is replaced */
    bool moved =
        at_rename_file(c->new_path, c->csv.path) == 0 || at_log_file_fails(&c->csv, "replace");
    if (moved) c->header = c->columns, c->csv.bytes = bytes;
    return at_log_file_open_end(&c->csv) && moved &&
           (at_sync_folder(c->folder) == 0 || at_log_file_fails(&c->csv, "sync"));
}

/* Is there a file whose header has all columns?  If it lacks some, the others can be written. */
static bool prepare(at_csv *c)
{
    char line[AT_LOG_LINE + 8], names[AT_LOG_LINE];
    if (!c->csv.file && !at_log_file_open_end(&c->csv)) return false;
    if (c->header > 0) return c->header == c->columns || widen_csv(c);
    snprintf(line, sizeof line, "step%s\n", column_names(c, 0, names));
    if (!at_log_file_write(&c->csv, line)) return false;
    c->header = c->columns;
    return true;
}

int at_csv_put(char *to, int size, const char *before, double x, int digits)
{
    void *locale = at_point_begin();
    int n = isnan(x) ? snprintf(to, (size_t)size, "%snan", before) /* never -nan */
                     : snprintf(to, (size_t)size, "%s%.*g", before, digits, x);
    at_point_end(locale);
    return n;
}

int at_csv_put_mean(const at_csv *c, int i, const char *before, char *to, int size)
{
    double x = at_csv_mean(c, i);
    if (i == c->fixed + CSV_SECONDS)
        return snprintf(to, (size_t)size, "%s%s", before, at_fixed_text(x, 3));
    if (i == c->fixed + CSV_PER_SECOND) return at_csv_put(to, size, before, x, 4);
    return at_csv_put(to, size, before, x, at_real(c->t) == ATTIC_F32 ? 9 : 17);
}

static bool write_step(at_csv *c, int step)
{
    char line[AT_LOG_LINE];
    bool complete = prepare(c);
    if (!c->csv.file || c->header == 0) return false;
    int n = snprintf(line, sizeof line, "%d", step);
    for (int i = 0; i < c->header; i++)
        n += c->column[i].count ? at_csv_put_mean(c, i, ",", line + n, AT_LOG_LINE - n)
                                : snprintf(line + n, sizeof line - (size_t)n, ",");
    snprintf(line + n, sizeof line - (size_t)n, "\n");
    if (!at_log_file_write(&c->csv, line)) return false;
    for (int i = 0; i < c->header; i++) c->column[i].in_last_line = c->column[i].count > 0;
    return complete;
}

bool at_csv_end(at_csv *c, int step, bool due, const double *held, double seconds, double per_step)
{
    if (!c->csv.path) return true;
    if (c->fixed < 0) {
        c->fixed = c->columns;
        for (int k = 0; k < AT_CSV_FIXED; k++) add_column(c, fixed_name[k], strlen(fixed_name[k]));
    }
    if (held) give_value(c, c->fixed + CSV_HELD, *held);
    due = due || c->header == 0;
    for (int i = 0; i < c->columns; i++)
        due = due || (c->column[i].count > 0 && !c->column[i].in_last_line);
    if (!due) return true;
    double spent = seconds - c->last_seconds;
    give_value(c, c->fixed + CSV_SECONDS, seconds);
    if (spent > 0)
        give_value(c, c->fixed + CSV_PER_SECOND, (step - c->last_step) * per_step / spent);
    c->last_step = step;
    c->last_seconds = seconds;
    const bool written = write_step(c, step);
    return at_json_log_write(c, step) && written;
}
