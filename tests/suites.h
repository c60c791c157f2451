/* suites.h -- every suite there is.  The Makefile writes suites.inc, with one TEST_SUITE(folder_file)
 * for each tests/folder/test_file.c, in the order of their names. */
#ifndef ATTIC_SUITES_H
#define ATTIC_SUITES_H
#include <check.h>

#define TEST_SUITE(name) Suite *name##_suite(void);
#include "suites.inc"
#undef TEST_SUITE

static const struct {
    const char *name;
    Suite *(*make)(void);
} every_suite[] = {
#define TEST_SUITE(name) {#name, name##_suite},
#include "suites.inc"
#undef TEST_SUITE
};

#endif
