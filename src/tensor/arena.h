/* arena.h -- memory that is handed out forwards and given back all at once.
 *
 *     chunk 1                chunk 2                        chunk 3
 *     [aaaa|bbb|cc....]  ->  [dddddddd|eeee|..........]  ->  [....................]
 *                                          ^ used            kept from an earlier, larger step
 *
 * Chunks are linked and never move, so a pointer stays good until the rewind below it.  A rewind
 * keeps the chunks: a loop that asks for the same memory each time turns to malloc only the first
 * time.  Each chunk is twice as large as the one before, or smaller where that much is refused: out
 * of memory means that malloc has none for the request itself.  Large chunks are given large pages,
 * where the system has them.  Built with ATTIC_DEBUG, memory not
 * handed out is filled with 0xFF (a NaN in every real type) and poisoned for AddressSanitizer. */
#ifndef AT_TENSOR_ARENA_H
#define AT_TENSOR_ARENA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct at_arena_chunk {
    struct at_arena_chunk *next;
    size_t size, used; /* of the bytes that begin AT_CHUNK_HEADER behind its own address */
    void *memory;      /* from malloc, less than 64 bytes before its own address */
} at_arena_chunk;
enum { AT_CHUNK_HEADER = 64 }; /* keeps those bytes aligned */

typedef struct {
    at_arena_chunk *first, *current;
    size_t in_use, peak; /* bytes handed out now, and at most so far */
    size_t reserved;     /* bytes obtained from malloc */
} at_arena;              /* all zero = empty and ready */

typedef struct {
    at_arena_chunk *chunk;
    size_t used, in_use;
} at_arena_mark;

/* Uninitialised bytes, aligned to 64 (to 16 when fewer than 64 are asked for).  Never NULL for
 * bytes = 0; NULL when out of memory. */
void *at_arena_alloc(at_arena *a, size_t bytes);

at_arena_mark at_arena_here(const at_arena *a);
void at_arena_rewind(at_arena *a, at_arena_mark m); /* forget everything handed out since m */
void at_arena_free(at_arena *a);                    /* back to malloc, back to all zero */

/* Does the memory at p belong to nobody here, is it handed out now, or did a rewind take it back
 * (and nobody was given it since)? */
typedef enum { ATTIC_OUTSIDE, ATTIC_LIVE, ATTIC_DEAD } at_ownership;
at_ownership at_arena_find(const at_arena *a, const void *p);
/* Is it live and in the current chunk, as most are?  Asked first, for every input of every op. */
static inline bool at_arena_is_recent(const at_arena *a, const void *p)
{
    const at_arena_chunk *c = a->current;
    return c && (uintptr_t)p - (uintptr_t)c - AT_CHUNK_HEADER < c->used;
}
/* Was it handed out after the mark?  Then a rewind to m takes it back. */
bool at_arena_since(const at_arena *a, at_arena_mark m, const void *p);

/* For tests.  The n-th request from now on, by this thread and from any arena, fails as if memory
 * had run out (n = 1 is the next one; 0 switches it off).  How often they have called malloc. */
void at_fail_allocation(ptrdiff_t n);
ptrdiff_t at_mallocs(void);

#endif
