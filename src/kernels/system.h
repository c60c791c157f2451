/* system.h -- what of POSIX the library uses and Windows (mingw-w64 with its pthreads) has not, or has
 * under another name.  Included after the system's headers; private to the library. */
#ifndef AT_KERNELS_SYSTEM_H
#define AT_KERNELS_SYSTEM_H
#ifdef _WIN32
#include <malloc.h>
#include <pthread.h>

#define at_aligned_alloc(align, size) _aligned_malloc(size, align)
#define at_aligned_free _aligned_free
#define sysconf(name) pthread_num_processors_np()
#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif

/* There is no fork, and there are no signals to block. */
#undef pthread_atfork
#define pthread_atfork(before, parent, child) ((void)(before), (void)(parent), (void)(child), 0)
#undef pthread_sigmask
#define pthread_sigmask(how, set, before) ((void)(set), (void)(before))
#define sigset_t _sigset_t
#define sigfillset(set) (*(set) = 0)
#else
#define at_aligned_alloc aligned_alloc
#define at_aligned_free free
#endif
#endif
