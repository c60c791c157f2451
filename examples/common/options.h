/* options.h -- how a program begins and ends: its command line, as one table, and its exit status.
 *
 *     static int steps = 100;
 *     static const option table[] = {{"steps", &steps, NULL, NULL, 1, 1e9, "training steps"}, {0}};
 *     int main(int argc, char **argv)
 *     {
 *         int first = parse_options(argc, argv, "usage: ...\n", table, 2);    // 0 to 2 files
 *         ... argv[first] ...
 *         return finish(failed);
 *     }
 *
 * --steps 20 and --steps=20 set steps; --help prints the usage and the table with the values that
 * the variables had, and exits with 0; a mistake prints what is wrong and exits with 2.  After --
 * a file may be called --help.  A whole number is decimal digits, 1000 and not 1e3; a real may have
 * a point and an exponent, 1e-3. */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H
#include <stdbool.h>
#include <stdio.h>

typedef struct {
    const char *name;
    int *integer; /* exactly one of these three is where the value goes; */
    double *real;
    const char **text;
    double low,
        high; /* a number must lie in here; low = high = 0: an integer that --name sets to 1 */
    const char *help;
} option;

/* argv[i], from the i returned on, are the files: at most so many.  A table of NULL has no
 * options. */
int parse_options(int argc, char **argv, const char *usage, const option *table, int files);

/* The numbers of all command lines, variables of the environment and typed answers: decimal digits
 * behind a sign or none, for a real also a point among them and an exponent behind.  Nothing else is
 * a number: no blanks, 0x10, inf, nan, nothing beyond the range of double.
 *
 * The number that *text begins with, and *text is moved behind it; false if it begins with none. */
bool read_number(const char **text, bool real, double *x);
/* The whole text as a number from low to high.  False, and *x as it was, if it is none. */
bool read_real(const char *text, double low, double high, double *x);
bool read_int(const char *text, int low, int high, int *x);

/* What main returns: the status, but at least 1, with a line on stderr, if anything that was
 * printed could not be written (a full disk, a closed stdout). */
int finish(int status);

/* Closes a file that was opened for writing (NULL: it could not be); all_right: it was written
 * without an error.  False, with a line on stderr that names the file, if it is not complete. */
bool written(FILE *f, const char *path, bool all_right);

/* Makes the folder, with those above it; to be made or there, each is fine.  If it cannot be made, a
 * line on stderr says so, and the program ends with 1. */
void make_folders(const char *path);
/* The same for the folder in which a file of this path lies. */
void make_folders_for(const char *file);

#endif
