/* forked.h -- processes that share a run, for tests: forked, with shared memory and a barrier in
 * place of a network.  Each does `work`, and its exit status is what that returns. */
#ifndef ATTIC_TESTS_TRAIN_FORKED_H
#define ATTIC_TESTS_TRAIN_FORKED_H
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "attic_train.h"
#include "system/system.h"

enum { MOST_FORKED = 8, FORKED_ROOM = 1 << 20 };

typedef struct {
    pthread_barrier_t barrier;
    int count, fails_at, calls; /* the call of an exchange that returns false; 0: none */
    bool slow;                  /* a swap takes three times as long as what is between two */
    uint64_t hash[MOST_FORKED]; /* what each process found */
    double value[MOST_FORKED];
    char from[MOST_FORKED][FORKED_ROOM];
} forked_world;

static forked_world *forked;
static int forked_rank;

static inline bool forked_meet(const void *mine, size_t bytes)
{
    ck_assert_uint_le(bytes, FORKED_ROOM);
    if (bytes) memcpy(forked->from[forked_rank], mine, bytes);
    pthread_barrier_wait(&forked->barrier);
    return true;
}

/* Nobody writes before all have read. */
static inline bool forked_part(void)
{
    pthread_barrier_wait(&forked->barrier);
    static int call;
    return ++call != forked->fails_at;
}

static inline bool forked_gather(void *self, const void *mine, size_t bytes, void *all)
{
    (void)self;
    forked_meet(mine, bytes);
    for (int i = 0; i < forked->count && bytes; i++)
        memcpy((char *)all + (size_t)i * bytes, forked->from[i], bytes);
    return forked_part();
}

/* In parts, as a tensor may be larger than the room. */
static inline bool forked_share(void *self, int from, void *data, size_t bytes)
{
    (void)self;
    bool good = true;
    for (size_t at = 0; at < bytes; at += FORKED_ROOM) {
        const size_t n = bytes - at < FORKED_ROOM ? bytes - at : FORKED_ROOM;
        forked_meet((char *)data + at, forked_rank == from ? n : 0);
        if (forked_rank != from) memcpy((char *)data + at, forked->from[from], n);
        good &= forked_part();
    }
    return good;
}

/* (All processes swap at the same time.) */
static inline bool forked_swap(void *self, int other, const void *send, size_t send_bytes,
                               void *receive, size_t receive_bytes)
{
    (void)self;
    static int64_t ended;
    if (forked->slow && ended) usleep((useconds_t)(3 * (at_now_ns() - ended) / 1000));
    forked_meet(send, send_bytes);
    if (receive_bytes) memcpy(receive, forked->from[other], receive_bytes);
    ended = at_now_ns();
    return forked_part();
}

static inline at_run_peers forked_peers(void)
{
    return (at_run_peers){.rank = forked_rank,
                          .count = forked->count,
                          .gather = forked_gather,
                          .share = forked_share,
                          .swap = forked_swap};
}

static inline void forked_open(void)
{
    forked = mmap(NULL, sizeof *forked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(forked, MAP_FAILED);
    memset(forked, 0, sizeof *forked);
}

static inline void forked_close(void)
{
    munmap(forked, sizeof *forked);
}

/* `count` processes; the exit status that all of them have.  (They are forked while this one has no
 * other threads: running.h.) */
__attribute__((noinline)) static int forked_status(int count, int (*work)(void))
{
    const int threads = at_thread_count();
    pid_t child[MOST_FORKED];
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&forked->barrier, &shared, (unsigned)count);
    forked->count = count;
    fflush(NULL);
    at_threads(1);
    for (forked_rank = 0; forked_rank < count; forked_rank++) {
        child[forked_rank] = fork();
        if (child[forked_rank]) continue;
        alarm(60); /* who waits for ever is ended */
        int status = work();
        fflush(NULL);
        end_fork(status);
    }
    int status = 0, first = 0;
    for (int i = 0; i < count; i++) {
        ck_assert(child[i] > 0 && waitpid(child[i], &status, 0) == child[i]);
        status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        if (i == 0) first = status;
        ck_assert_msg(status == first, "rank %d ends with %d, rank 0 with %d", i, status, first);
    }
    at_threads(threads);
    pthread_barrier_destroy(&forked->barrier);
    return first;
}

#endif
