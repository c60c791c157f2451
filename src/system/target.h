/* target.h -- was this library built for the processor that it runs on?
 *
 * `make` builds for this machine, ARCH=... for others.  At the first instruction that is not there
 * the process would end, so at_open asks before: the answer is an error on the tape. */
#ifndef AT_SYSTEM_TARGET_H
#define AT_SYSTEM_TARGET_H
#include <stdbool.h>
#include <stddef.h>

/* What the compiler may use beyond what every processor of its kind has, by the names of its -m
 * options, NULL at the end, "" for what it may not.  Data and not code, so that it can be read
 * anywhere. */
extern const char *const at_target_needs[];

/* Does this processor have what has this name, and does the system let programs use it? */
typedef enum { AT_ABSENT, AT_PRESENT, AT_NOT_KNOWN } at_presence;
at_presence at_target_has(const char *name);
/* Writes the names in needs, up to NULL, that has() says are absent, "avx2, fma", as far as they
 * fit into size bytes.  False if there are none. */
bool at_target_missing(const char *const *needs, at_presence (*has)(const char *name), char *names,
                       size_t size);
/* How often this process has asked its processor so far, for tests. */
int at_target_asked(void);

/* True, and message says what is missing and what to do, if this processor lacks a need. */
bool at_target_is_unsupported(char *message, size_t size);

#endif
