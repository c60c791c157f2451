/* version.h -- the version of the library, at compile time here and at run time as at_version(). */
#ifndef ATTIC_VERSION_H
#define ATTIC_VERSION_H

#define ATTIC_VERSION_MAJOR 0
#define ATTIC_VERSION_MINOR 2
#define ATTIC_VERSION_PATCH 0
#define ATTIC_VERSION "0.2.0"

#endif
