/* terminal.c -- what a terminal can show, by its width and the environment; see terminal.h. */
#include "terminal/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "system/system.h"

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

static int colours_of_terminal(void)
{
    const char *term = environment("TERM"), *colour = environment("COLORTERM");
    if (*environment("NO_COLOR") || !*term || strcmp(term, "dumb") == 0) return 0;
    if (strcmp(colour, "truecolor") == 0 || strcmp(colour, "24bit") == 0 || strstr(term, "direct"))
        return 1 << 24;
    return strstr(term, "256") ? 256 : 8;
}

static bool locale_says_utf8(void)
{
    const char *locale = environment("LC_ALL");
    if (!*locale) locale = environment("LC_CTYPE");
    if (!*locale) locale = environment("LANG");
    const char *dot = strrchr(locale, '.');
    return dot && (strncasecmp(dot, ".utf-8", 6) == 0 || strncasecmp(dot, ".utf8", 5) == 0);
}

at_terminal at_terminal_of(FILE *out)
{
    int columns = out ? at_terminal_width(out) : 0;
    return (at_terminal){.columns = columns ? columns : 80,
                         .is_terminal = columns != 0,
                         .unicode = locale_says_utf8(),
                         .colours = columns ? colours_of_terminal() : 0};
}
