/* linkage.h -- who may call what a header declares: with AT_BEGIN_C and AT_END_C around it C++ as
 * well, with AT_API in front also users of libattic.so, which shows nothing else.  And with what:
 * after AT_PRINTF(f, a) the compiler compares argument f, a format, with those from a on. */
#ifndef AT_SYSTEM_LINKAGE_H
#define AT_SYSTEM_LINKAGE_H

#ifdef __cplusplus
#define AT_BEGIN_C extern "C" {
#define AT_END_C }
#else
#define AT_BEGIN_C
#define AT_END_C
#endif

/* -fvisibility=hidden hides all else; Windows hides what is not exported if anything is. */
#ifdef _WIN32
#define AT_API __attribute__((dllexport))
#else
#define AT_API __attribute__((visibility("default")))
#endif

/* On Windows gcc's "printf" is Microsoft's, which knows neither %zu nor %td; ours is mingw's. */
#if defined(__MINGW32__) && !defined(__clang__)
#define AT_PRINTF(f, a) __attribute__((format(gnu_printf, f, a)))
#else
#define AT_PRINTF(f, a) __attribute__((format(printf, f, a)))
#endif

#endif
