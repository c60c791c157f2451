/* json_log.c -- log.jsonl of a run: the lines of log.csv, each an object of JSON; see csv.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/op.h"
#include "train/csv.h"

/* The log that is opened; lines of up to this step stay, and the last of them was that. */
typedef struct {
    const at_csv *log;
    long most, last;
} json_reader;

static bool keep_json_line(void *reader, const char *line)
{
    static const char begin[] = "{\"step\":";
    json_reader *r = reader;
    const size_t n = sizeof begin - 1;
    const long step = strncmp(line, begin, n) == 0 ? strtol(line + n, NULL, 10) : 0;
    if (step < 1 && r->log->json.lines == 0)
        return at_fail(r->log->t, ATTIC_FILE_ERROR,
                       "%s does not begin with a line of a log; the run goes on without it if it "
                       "is moved away",
                       r->log->json.path);
    if (step <= r->last || step > r->most) return false;
    r->last = step;
    return true;
}

bool at_json_log_open(at_csv *c, int step)
{
    return at_log_file_open(&c->json, keep_json_line, &(json_reader){c, step, 0});
}

/* ,"loss":4.61 */
static int put_json_member(const at_csv *c, int i, char *to, int size)
{
    char before[2 * AT_CSV_NAME + 8] = ",\"", *at = before + 2;
    for (const char *p = c->column[i].name; *p; *at++ = *p++)
        if (*p == '\\') *at++ = '\\'; /* a name has no quotes, nor what cannot be seen */
    strcpy(at, "\":");
    if (!isfinite(at_csv_mean(c, i))) return snprintf(to, (size_t)size, "%snull", before);
    return at_csv_put_mean(c, i, before, to, size);
}

bool at_json_log_write(at_csv *c, int step)
{
    char line[AT_LOG_LINE];
    if (!c->json.path) return true;
    int n = snprintf(line, sizeof line, "{\"step\":%d", step);
    for (int i = 0; i < c->columns; i++)
        if (c->column[i].count) n += put_json_member(c, i, line + n, AT_LOG_LINE - n);
    snprintf(line + n, sizeof line - (size_t)n, "}\n");
    return at_log_file_write(&c->json, line);
}
