/* comma.c -- a locale with a decimal comma, for tests that it must not show; see test.h. */
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scratch.h"
#include "test.h"

static bool writes_comma(const char *locale)
{
    return setlocale(LC_NUMERIC, locale) && strcmp(localeconv()->decimal_point, ",") == 0;
}

/* The two files that localedef reads: a locale with nothing but its LC_NUMERIC, and the 128 characters
 * of ASCII, as Debian has the character maps of localedef in another package (locales). */
static bool write_sources(const char *folder)
{
    char path[SCRATCH_PATH + 8];
    snprintf(path, sizeof path, "%s/source", folder);
    FILE *f = fopen(path, "w");
    if (!f) return false;
    fputs("LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n", f);
    fclose(f);
    snprintf(path, sizeof path, "%s/map", folder);
    if (!(f = fopen(path, "w"))) return false;
    fputs("<code_set_name> ANSI_X3.4-1968\n<comment_char> %\n<escape_char> /\nCHARMAP\n", f);
    for (int i = 0; i < 128; i++) fprintf(f, "<U%04X> /x%02x\n", i, i);
    fputs("END CHARMAP\n", f);
    return fclose(f) == 0;
}

/* "comma": localedef warns that the rest of it is undefined, and makes it all the same (-c). */
static bool make_and_use_comma(void)
{
    char folder[SCRATCH_PATH], command[SCRATCH_PATH + 120];
    if (!scratch_folder(folder)) return false;
    snprintf(command, sizeof command,
             "cd '%s' && PATH=$PATH:/usr/sbin:/usr/bin localedef -c -f ./map -i ./source ./comma "
             ">said 2>&1",
             folder);
    bool warned = write_sources(folder) && system(command) != 0;
    (void)warned;
    setenv("LOCPATH", folder, 1);
    bool made = writes_comma("comma");
    unsetenv("LOCPATH");
    if (!made) { /* so that a reader of the failure sees why */
        snprintf(command, sizeof command, "cat '%s/said' >&2", folder);
        warned = system(command) != 0;
    }
    scratch_remove(folder);
    return made;
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
        ck_abort_msg(
            "no locale has a decimal comma, and localedef made none: what it said stands above");
}
