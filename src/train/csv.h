/* csv.h -- log.csv of a run: a line for each step that has one, columns that may come at any time;
 * and log.jsonl, the same lines as JSON.  Private to src/train.
 *
 *     step,loss,norm,held,seconds,per_second,late
 *     1,4.61,0.92,,0.018,55.56,
 *     2,4.47,0.88,4.52,0.031,76.92,0.5
 *
 * The file itself says what its columns are; a checkpoint knows how many lines there were, and when
 * the run is resumed, whatever is behind them is cut off.  For a column that is not in the header
 * log.new.csv is written, the log with one more name in its first line and one more comma in each
 * other one, and takes its place.  Both have the lines that the checkpoint knows, so it does not
 * matter when a process ends.
 *
 * log.jsonl has an object for each of these lines, {"step":1,"loss":4.61,"norm":0.92, ...}, with
 * the columns that have a value in it; null is a value that is not finite.  As each line says its
 * step, those behind the step of the checkpoint are found without a count.
 *
 * Functions that return bool return false after a sticky error, one of kind ATTIC_FILE_ERROR unless
 * they say otherwise. */
#ifndef AT_TRAIN_CSV_H
#define AT_TRAIN_CSV_H
#include "train/log_file.h"

/* Columns: the caller's, and three behind the columns of the first step. */
enum { AT_CSV_COLUMNS = 32, AT_CSV_NAME = 24, AT_CSV_FIXED = 3 };

typedef struct {
    char name[AT_CSV_NAME];
    double sum; /* of `count` values, those of this step */
    int count;
    bool in_last_line; /* the last line has a value of it */
} at_csv_column;

typedef struct {
    at_tape *t;
    at_log_file csv;               /* log.csv; path NULL: a log that is nowhere but here */
    at_log_file json;              /* log.jsonl; path NULL: nobody asked for one */
    const char *new_path, *folder; /* of log.new.csv, and where all are */
    at_csv_column column[AT_CSV_COLUMNS];
    int columns, header; /* how many there are, and how many are in the header of the file */
    int fixed;           /* held, the first of the three; -1 before the first line */
    int last_step;       /* of the last line, or that at which the file was opened, */
    double last_seconds;
} at_csv;

/* Opens the file, with the `lines` that it had, or as many of them as there are, and cuts off the
 * rest.  That it begins with another header is an error. */
bool at_csv_open(at_csv *c, ptrdiff_t lines);
/* Opens log.jsonl and cuts off what is behind this step.  That it begins otherwise is an error. */
bool at_json_log_open(at_csv *c, int step);
/* Closes both. */
void at_csv_close(at_csv *c);

/* A step begins: no column has a value. */
void at_csv_begin(at_csv *c);
/* One more value for the column of this name, which may be a new one.  A user error if it cannot be
 * the name of one, or if there are too many. */
bool at_csv_give(at_csv *c, const char *name, double value);
/* The mean of what was given to column i in this step; is it one of the three? */
double at_csv_mean(const at_csv *c, int i);
bool at_csv_is_fixed(const at_csv *c, int i);
/* "loss 2.134", with a text before it, in a decimal point and this many digits; its length. */
int at_csv_put(char *to, int size, const char *before, double x, int digits);
/* The mean of column i as a log has it, with a text before it; its length. */
int at_csv_put_mean(const at_csv *c, int i, const char *before, char *to, int size);
/* The line of this step in log.jsonl, if there is one. */
bool at_json_log_write(at_csv *c, int step);
/* Step `step`, counted from 1, ends.  It gets a line if one is due, if the file has none, or if it
 * has a value for a column that is empty in the last line.  held: NULL if it has no value; seconds:
 * since the run began.  per_second is per_step, for each step since the last line, by the seconds
 * since then. */
bool at_csv_end(at_csv *c, int step, bool due, const double *held, double seconds, double per_step);

#endif
