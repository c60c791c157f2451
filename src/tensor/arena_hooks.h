/* arena_hooks.h -- for tests: requests for memory are made to fail, and malloc is counted. */
#ifndef AT_TENSOR_ARENA_HOOKS_H
#define AT_TENSOR_ARENA_HOOKS_H
#include <stddef.h>

/* The n-th request from now on, by this thread and from any arena, fails as if memory had run out
 * (n = 1 is the next one; 0 switches it off). */
void at_fail_allocation(ptrdiff_t n);
/* How often this thread's arenas have turned to malloc so far. */
ptrdiff_t at_mallocs(void);

#endif
