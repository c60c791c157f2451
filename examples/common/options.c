/* options.c -- how a program begins and ends; see options.h. */
#include "common/options.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef _WIN32 /* whose folders have no permissions */
#define mkdir(path, mode) mkdir(path)
#endif

static const char *program = "attic";

/* The next file that is opened must not become a stdin, stdout or stderr that was closed: /dev/null
 * takes its place, opened so that stdin cannot be read and stdout and stderr cannot be written. */
static void fill_closed_streams(void)
{
#ifndef _WIN32
    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0) open("/dev/null", i == 0 ? O_WRONLY : O_RDONLY);
#endif
}

int finish(int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "%s: cannot write to standard output: %s\n", program,
            errno ? strerror(errno) : "a write failed");
    return status ? status : 1;
}

bool written(FILE *f, const char *path, bool all_right)
{
    int error = f ? 0 : errno;
    errno = 0;
    if (f && fclose(f) == 0 && all_right) return true;
    if (!error) error = errno;
    fprintf(stderr, "%s: cannot write %s: %s\n", program, path,
            error ? strerror(error) : "a write failed");
    return false;
}

bool read_number(const char **text, bool real, double *x)
{
    static const char digits[] = "0123456789";
    const char *p = *text + (**text == '-' || **text == '+');
    const char *end = p + strspn(p, digits);
    size_t n = (size_t)(end - p);
    if (real && *end == '.') {
        size_t behind = strspn(end + 1, digits);
        n += behind, end += 1 + behind;
    }
    if (n == 0 || *end == 'x' || *end == 'X') return false;
    double value = 0;
    for (const char *d = p; !real && d < end; d++) value = 10 * value + (*d - '0');
    if (!real && **text == '-') value = -value;
    char *read = (char *)end;
    if (real) value = strtod(*text, &read); /* with the exponent, if there is one */
    if (!isfinite(value)) return false;
    *x = value;
    *text = read;
    return true;
}

bool read_real(const char *text, double low, double high, double *x)
{
    double value;
    if (!read_number(&text, true, &value) || *text || value < low || value > high) return false;
    *x = value;
    return true;
}

bool read_int(const char *text, int low, int high, int *x)
{
    double value;
    if (!read_number(&text, false, &value) || *text || value < low || value > high) return false;
    *x = (int)value;
    return true;
}

/* Of the first n characters of the path. */
static void make_folders_of(const char *path, size_t n)
{
    char folder[4096];
    for (size_t i = 1; i <= n && n < sizeof folder; i++) {
        if (i < n && path[i] != '/') continue;
        snprintf(folder, sizeof folder, "%.*s", (int)i, path);
        if (mkdir(folder, 0777) == 0 || errno == EEXIST || i < n) continue;
        fprintf(stderr, "%s: cannot create %s: %s\n", program, folder, strerror(errno));
        exit(1);
    }
}

void make_folders(const char *path)
{
    make_folders_of(path, strlen(path));
}

void make_folders_for(const char *file)
{
    const char *slash = strrchr(file, '/');
    if (slash && slash > file) make_folders_of(file, (size_t)(slash - file));
}

static int is_flag(const option *o)
{
    return o->integer && o->low == 0 && o->high == 0;
}

static void print_help(const char *usage, const option *table)
{
    printf("%s%s\n", usage,
           table ? "In parentheses: the default.  N: decimal digits, 1000 and not 1e3; X: 0.001 or "
                   "1e-3.\n"
                 : "");
    for (const option *o = table; o && o->name; o++) {
        char left[40];
        snprintf(left, sizeof left, "--%s%s", o->name,
                 is_flag(o) ? ""
                 : o->text  ? " TEXT"
                 : o->real  ? " X"
                            : " N");
        printf("  %-18s %s", left, o->help);
        if (is_flag(o))
            printf("\n");
        else if (o->text)
            printf(" (%s)\n", *o->text && **o->text ? *o->text : "none");
        else if (o->real)
            printf(" (%g)\n", *o->real);
        else
            printf(" (%d)\n", *o->integer);
    }
    printf("  %-18s %s\n", "--help", "this text");
}

static void set_number(const option *o, const char *text)
{
    if (o->real ? read_real(text, o->low, o->high, o->real)
                : read_int(text, (int)o->low, (int)o->high, o->integer))
        return;
    if (o->real)
        fprintf(stderr,
                "%s: --%s must be a number from %g to %g, such as 0.5 or 1e-3, not \"%s\"\n",
                program, o->name, o->low, o->high, text);
    else
        fprintf(stderr,
                "%s: --%s must be a whole number from %.0f to %.0f, in digits, not \"%s\"\n",
                program, o->name, o->low, o->high, text);
    exit(2);
}

static const option *find_option(const option *table, const char *name, size_t length)
{
    for (const option *o = table; o && o->name; o++)
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0) return o;
    return NULL;
}

int parse_options(int argc, char **argv, const char *usage, const option *table, int files)
{
    const char *slash = strrchr(argv[0], '/');
    program = slash ? slash + 1 : argv[0];
    fill_closed_streams();
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1] && strcmp(argv[i], "--") != 0; i++) {
        const char *name = argv[i] + 2, *value = strchr(name, '=');
        if (strcmp(argv[i], "--help") == 0) {
            print_help(usage, table);
            exit(finish(0));
        }
        const option *o = find_option(table, name, value ? (size_t)(value - name) : strlen(name));
        if (argv[i][1] != '-' || !o || (is_flag(o) && value)) {
            fprintf(stderr, "%s: there is no option %s; try --help\n", program, argv[i]);
            exit(2);
        }
        if (is_flag(o)) {
            *o->integer = 1;
            continue;
        }
        if (value)
            value++;
        else if (i + 1 < argc)
            value = argv[++i];
        else {
            fprintf(stderr, "%s: --%s needs a value\n", program, o->name);
            exit(2);
        }
        if (o->text)
            *o->text = value;
        else
            set_number(o, value);
    }
    if (i < argc && strcmp(argv[i], "--") == 0) i++;
    if (argc - i > files) {
        fprintf(stderr, "%s: %s is one argument too many; try --help\n", program, argv[i + files]);
        exit(2);
    }
    return i;
}
