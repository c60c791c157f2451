/* arena.c -- memory that is handed out forwards and given back all at once; see arena.h. */
#include "tensor/arena.h"

#include "system/system.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define AT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AT_ASAN 1
#endif
#endif

#if defined(ATTIC_DEBUG) && defined(AT_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum { FIRST_CHUNK = 1 << 16 };

static _Thread_local ptrdiff_t fail_countdown, n_mallocs;

void at_fail_allocation(ptrdiff_t n)
{
    fail_countdown = n;
}

ptrdiff_t at_mallocs(void)
{
    return n_mallocs;
}

static char *chunk_bytes(at_arena_chunk *c)
{
    return (char *)c + AT_CHUNK_HEADER;
}

static void forget_bytes(char *p, size_t n)
{
#ifdef ATTIC_DEBUG
    ASAN_UNPOISON_MEMORY_REGION(p, n);
    memset(p, 0xFF, n);
    ASAN_POISON_MEMORY_REGION(p, n);
#else
    (void)p, (void)n;
#endif
}

/* The offset in c where `bytes` fit, or SIZE_MAX. */
static size_t chunk_place(const at_arena_chunk *c, size_t bytes)
{
    size_t align = bytes < 64 ? 16 : 64;
    size_t at = (c->used + align - 1) & ~(align - 1);
    return at <= c->size && bytes <= c->size - at ? at : SIZE_MAX;
}

/* A new chunk behind the current one, twice as large as that, or larger if need be.  Where there is
 * no memory for it, a half of that size is tried, a quarter ..., down to what is needed now. */
static at_arena_chunk *add_chunk(at_arena *a, size_t bytes)
{
    const size_t least = bytes < FIRST_CHUNK ? FIRST_CHUNK : bytes;
    size_t size = a->current ? 2 * a->current->size : least; /* of at most PTRDIFF_MAX */
    if (size < least) size = least;
    char *memory = NULL;
    while (size > PTRDIFF_MAX - 128 || !(memory = malloc(63 + AT_CHUNK_HEADER + size))) {
        if (size == least) return NULL;
        size = size / 2 < least ? least : size / 2;
    }
    n_mallocs++;
    at_prefer_large_pages(memory, size);
    at_arena_chunk *c = (void *)(memory + (-(uintptr_t)memory & 63)); /* a multiple of 64 */
    *c = (at_arena_chunk){a->current ? a->current->next : NULL, .size = size, .memory = memory};
    forget_bytes(chunk_bytes(c), size);
    a->reserved += size;
    if (a->current)
        a->current->next = c;
    else
        a->first = c;
    return c;
}

void *at_arena_alloc(at_arena *a, size_t bytes)
{
    if (fail_countdown > 0 && --fail_countdown == 0) return NULL;
    if (bytes == 0) bytes = 1;
    if (bytes > PTRDIFF_MAX - 128) return NULL;

    if (!a->current) a->current = a->first;
    size_t at;
    while (!a->current || (at = chunk_place(a->current, bytes)) == SIZE_MAX) {
        at_arena_chunk *next = a->current ? a->current->next : NULL;
        if (!next && !(next = add_chunk(a, bytes))) return NULL;
        a->current = next;
    }
    at_arena_chunk *c = a->current;
    a->in_use += at + bytes - c->used;
    if (a->in_use > a->peak) a->peak = a->in_use;
    c->used = at + bytes;
    ASAN_UNPOISON_MEMORY_REGION(chunk_bytes(c) + at, bytes);
    return chunk_bytes(c) + at;
}

at_arena_mark at_arena_here(const at_arena *a)
{
    return (at_arena_mark){a->current, a->current ? a->current->used : 0, a->in_use};
}

void at_arena_rewind(at_arena *a, at_arena_mark m)
{
    at_arena_chunk *c = m.chunk ? m.chunk : a->first;
    a->in_use = m.in_use;
    if (!c) return;
    forget_bytes(chunk_bytes(c) + m.used, c->used - m.used);
    c->used = m.used;
    for (at_arena_chunk *later = c; later != a->current;) {
        later = later->next;
        forget_bytes(chunk_bytes(later), later->used);
        later->used = 0;
    }
    a->current = c;
}

void at_arena_free(at_arena *a)
{
    for (at_arena_chunk *c = a->first, *next; c; c = next) {
        next = c->next;
        ASAN_UNPOISON_MEMORY_REGION(chunk_bytes(c), c->size);
        free(c->memory);
    }
    *a = (at_arena){0};
}

/* Where p is in c; not below c->size if it is elsewhere. */
static uintptr_t offset_in(const at_arena_chunk *c, const void *p)
{
    return (uintptr_t)p - (uintptr_t)c - AT_CHUNK_HEADER;
}

at_ownership at_arena_find(const at_arena *a, const void *p)
{
    const at_arena_chunk *c = a->first;
    while (c && offset_in(c, p) >= c->size) c = c->next;
    return !c ? ATTIC_OUTSIDE : offset_in(c, p) < c->used ? ATTIC_LIVE : ATTIC_DEAD;
}

bool at_arena_since(const at_arena *a, at_arena_mark m, const void *p)
{
    const at_arena_chunk *c = m.chunk ? m.chunk : a->first;
    while (c && offset_in(c, p) >= c->size) c = c->next;
    return c && (c != m.chunk || offset_in(c, p) >= m.used);
}
