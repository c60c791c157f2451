/* options.h -- the command line of a program, as one table.
 *
 *     static int steps = 100;
 *     static const option table[] = {{"steps", &steps, NULL, NULL, 1, 1e9, "training steps"}, {0}};
 *     int first = parse_options(argc, argv, "usage: ...\n", table);    // argv[first..] are the files
 *
 * --steps 20 and --steps=20 set steps; --help prints the usage and the table with the values that
 * the variables had, and exits with 0; a mistake prints what is wrong and exits with 2. */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H

typedef struct {
    const char *name;
    int *integer; /* exactly one of these three is where the value goes; */
    double *real;
    const char **text;
    double low,
        high; /* a number must lie in here; low = high = 0: an integer that --name sets to 1 */
    const char *help;
} option;

int parse_options(int argc, char **argv, const char *usage, const option *table);

#endif
