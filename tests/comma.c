/* comma.c -- a locale with a decimal comma, for tests that it must not show; see test.h. */
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static bool writes_comma(const char *locale)
{
    return setlocale(LC_NUMERIC, locale) && strcmp(localeconv()->decimal_point, ",") == 0;
}

/* "comma", with nothing but its LC_NUMERIC defined (of which localedef warns) */
static bool make_and_use_comma(void)
{
    char folder[] = "/tmp/attic_locale_XXXXXX", command[512];
    if (!mkdtemp(folder)) return false;
    snprintf(command, sizeof command,
             "cd %s && printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \"\"\\n"
             "grouping -1\\nEND LC_NUMERIC\\n' >source && "
             "PATH=$PATH:/usr/sbin:/usr/bin localedef -c -i source ./comma >/dev/null 2>&1",
             folder);
    bool warned = system(command) != 0;
    (void)warned;
    setenv("LOCPATH", folder, 1);
    bool made = writes_comma("comma");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && made;
}

void use_decimal_comma(void)
{
    const char *const name[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR", "pt_BR.UTF-8"};
    for (int i = 0; i < 5; i++)
        if (writes_comma(name[i])) return;
    if (make_and_use_comma()) return;
    if (setlocale(LC_NUMERIC, name[0])) /* any name will do: musl, which has no commas */
        fprintf(stderr, "NOT TESTED: this C library always writes a decimal point\n");
    else
        ck_abort_msg("there is no locale with a decimal comma, and no localedef to make one");
}
