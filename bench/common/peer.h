/* peer.h -- another library, in a process of its own, that measures the time of the same work.
 *
 * A peer is a program that reads lines and answers each with one:
 *
 *     it begins with                   ready NAME VERSION...
 *     case gemm 64 64 64 N T 32        ok, ready to run that     or   no, with the reason
 *     run 120 3 -1                     the nanoseconds of 120 runs together, after 3 that don't
 *                                      count; on CPU number -1 (any)
 *
 * A benchmark can itself be one (--serve), for another build of it: so two versions of attic are
 * compared.
 *
 * A process of its own separates its threads, its memory and its C library from attic's, so that it
 * may even run in another root folder, with another system's libraries.
 *
 * Set in the environment: PEER_ROOT, a folder with the root of a system in which the peer is
 * installed (unset: this system); PEER_LIB, the library, if it isn't found by its usual name;
 * PEER_PYTHON. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H
#include <stdbool.h>
#include <stdio.h>

enum { PEERS = 5 };
const char *peer_name(int i); /* "torch", "torch-compile", "openblas", "blis", "onednn" */

typedef struct {
    const char *name; /* one of these, or "before" */
    char version[128];
    int threads;
    FILE *to, *from;
} peer;

/* Starts a peer that may use so many threads, and waits until it is ready.  False, and a message on
 * stderr that says what is missing, if it is not. */
bool peer_start(peer *p, const char *name, int threads);
/* The same for the program of another build, started with --serve --only: a case is a row, group
 * and name. */
bool peer_start_before(peer *p, const char *program, int threads, const char *only);
void peer_stop(peer *p);

bool peer_case(peer *p, const char *text);                /* can it run that? */
double peer_run(peer *p, long times, long warm, int cpu); /* seconds of one run */

#endif
