/* thread_count.h -- how many threads compute.  The bits of a result do not depend on it. */
#ifndef AT_SYSTEM_THREAD_COUNT_H
#define AT_SYSTEM_THREAD_COUNT_H
#include "system/linkage.h"
AT_BEGIN_C

#define AT_MAX_THREADS 64

/* How many threads may work at once, the caller included, at most AT_MAX_THREADS.  The default,
 * which n < 1 asks for, is the environment variable ATTIC_THREADS if that is a whole number >= 1,
 * else the number of CPUs that this process may use: affinity mask and CPU quota count.
 *
 * Threads are started when there is first work for them.  With n = 1 those that there are end,
 * before at_threads returns (or, while a task runs, before the next at_parallel). */
AT_API void at_threads(int n);
AT_API int at_thread_count(void);

AT_END_C
#endif
