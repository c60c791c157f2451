/* processor.c -- a program built for another processor says so, and ends, before main begins.
 *
 * Linked into every example, benchmark and test.  Compiled without ARCH, for it runs on the wrong
 * machine. */
#include "system/target.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void check_the_processor(void)
{
    char message[512];
    if (!at_target_is_unsupported(message, sizeof message)) return;
    fprintf(stderr, "attic: %s\n", message);
    exit(3);
}
