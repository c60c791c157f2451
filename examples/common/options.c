/* options.c -- the command line of a program, as one table; see options.h. */
#include "common/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_flag(const option *o)
{
    return o->integer && o->low == 0 && o->high == 0;
}

static void print_help(const char *usage, const option *table)
{
    printf("%s\n", usage);
    for (const option *o = table; o->name; o++) {
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
            printf(" (%s)\n", *o->text ? *o->text : "none");
        else
            printf(" (%g)\n", o->real ? *o->real : *o->integer);
    }
    printf("  %-18s %s\n", "--help", "this text");
}

static void set_number(const char *program, const option *o, const char *text)
{
    char *end;
    double v = strtod(text, &end);
    int good = *text && !*end && v >= o->low && v <= o->high && (o->real || v == floor(v));
    if (!good) {
        fprintf(stderr, "%s: --%s must be %s from %g to %g, not \"%s\"\n", program, o->name,
                o->real ? "a number" : "a whole number", o->low, o->high, text);
        exit(2);
    }
    if (o->real)
        *o->real = v;
    else
        *o->integer = (int)v;
}

static const option *find_option(const option *table, const char *name, size_t length)
{
    for (const option *o = table; o->name; o++)
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0) return o;
    return NULL;
}

int parse_options(int argc, char **argv, const char *usage, const option *table)
{
    const char *slash = strrchr(argv[0], '/'), *program = slash ? slash + 1 : argv[0];
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0 && argv[i][2]; i++) {
        const char *name = argv[i] + 2, *value = strchr(name, '=');
        if (strcmp(name, "help") == 0) {
            print_help(usage, table);
            exit(0);
        }
        const option *o = find_option(table, name, value ? (size_t)(value - name) : strlen(name));
        if (!o || (is_flag(o) && value)) {
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
            set_number(program, o, value);
    }
    if (i < argc && strcmp(argv[i], "--") == 0) i++;
    return i;
}
