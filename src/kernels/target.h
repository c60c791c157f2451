/* target.h -- was this library built for the processor that it runs on?
 *
 * `make` builds for the machine it runs on, and ARCH=... for others.  On a lesser processor such a build
 * would die of the first instruction that is not there.  So it is asked before: at_open leaves the
 * answer as an error on the tape, the examples print it and end. */
#ifndef AT_KERNELS_TARGET_H
#define AT_KERNELS_TARGET_H
#include <stdbool.h>
#include <stddef.h>

/* What the compiler was allowed to use beyond what every processor of its kind has, by the names of
 * its -m options, NULL at the end, and "" for what it was not.  Data and not code, so that it can
 * be read anywhere. */
extern const char *const at_target_needs[];

/* Writes the names in needs, up to NULL, that has() denies, "avx2, fma", as far as they fit into size
 * bytes.  False if there are none. */
bool at_target_missing(const char *const *needs, bool (*has)(const char *name), char *names,
                       size_t size);

/* Does this processor have it, and does the system let programs use it?  True for unknown names:
 * better to try than to refuse. */
bool at_target_has(const char *name);
/* Can at_target_has tell, for this name? */
bool at_target_knows(const char *name);
/* For tests: how often this process has asked its processor so far. */
int at_target_asked(void);

/* The whole question: writes a sentence that says what is missing and what to do; false if all is well. */
bool at_target_is_lesser(char *message, size_t size);

#endif
