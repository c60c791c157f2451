/* child.h -- runs somebody's exercise in a process of its own, see protocol.h and runner.c.
 *
 *     script s = {.calls = 0};
 *     int x = script_buffer(&s, "x", n, values), y = script_unwritten(&s, "y", n);
 *     int c = script_call(&s, CALL_..., 3, (double[]){n, x, y}, 1, (int[]){y});
 *     run_script(program, "my.c", 2, &s);
 *     if (c < s.answered) ... s.buffer[y].data holds what the function wrote ...
 *     if (s.failure[0]) puts(s.failure);
 *     close_script(&s);
 *
 * Without memory the program ends with status 1. */
#ifndef EXERCISES_CHILD_H
#define EXERCISES_CHILD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_CALLS = 64, MAX_SCRIPT_BUFFERS = 200, MAX_OUTPUTS = 5 };

typedef struct {
    struct {
        const char *name;
        ptrdiff_t n;
        double *data; /* what is sent, later what came back */
    } buffer[MAX_SCRIPT_BUFFERS];
    struct {
        int outputs, output[MAX_OUTPUTS];
        unsigned blanks; /* bit n: BLANK(n) was reached */
        double value;    /* what the function returned */
    } call[MAX_CALLS];
    double *items; /* the script itself */
    size_t used, room;
    int buffers, calls, answered; /* calls that were answered */
    char failure[600];            /* not empty: why the program did not come to its end */
    char printed[20000];          /* what it printed, or the beginning of that */
    int lines_left_out;           /* and so many lines more */
} script;

int script_buffer(script *s, const char *name, ptrdiff_t n, const double *x);
int script_floats(script *s, const char *name, ptrdiff_t n, const float *x);
int script_unwritten(script *s, const char *name, ptrdiff_t n); /* filled with nan_unwritten */
int script_call(script *s, int function, int n, const double *arguments, int outputs,
                const int *output);
void close_script(script *s);

/* Compiles the file in the folder, and links it to the runner.  All paths but `file` are absolute. */
typedef struct {
    const char *command; /* the compiler and its flags */
    const char *include; /* the folder of exercise.h */
    const char *runner;
    const char *folder, *file; /* the compiler runs in this folder, and writes nowhere else */
    const char *program;       /* what it makes */
} compilation;

/* What the compiler said is in `said`. */
bool compile(const compilation *c, size_t size, char *said);

/* The program must end within so many seconds, and use at most one second of a processor.  file: what it was
 * compiled from; a failure names the line of it, if a sanitizer knows it.  folder: an empty one, where it
 * runs. */
void run_script(const char *program, const char *file, const char *folder, double seconds,
                script *s);

void *need(void *memory); /* ends the program if it is NULL */
#endif
