/* attic_mpi.c -- what a run asks of other processes, as three functions of MPI; see attic_mpi.h.
 *
 * The sum of the gradients is made of swaps by the run itself (train/peers.c), not by MPI_Allreduce,
 * whose order of addition is its own affair: it may change with the size, the network, the number of
 * processes and the version. */
#include "attic_mpi.h"

#include <limits.h>
#include <mpi.h>

/* A message has at most so many bytes: MPI counts them as int. */
enum { MPI_PART = 1 << 30 };

static MPI_Comm world;
static bool has_begun, is_initialised_here;

static int part_of(size_t bytes)
{
    return bytes < MPI_PART ? (int)bytes : MPI_PART;
}

static bool mpi_gather(void *self, const void *mine, size_t bytes, void *all)
{
    (void)self;
    return bytes <= INT_MAX && MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                                             world) == MPI_SUCCESS;
}

static bool mpi_share(void *self, int from, void *data, size_t bytes)
{
    (void)self;
    char *p = data;
    for (size_t at = 0; at < bytes; at += MPI_PART)
        if (MPI_Bcast(p + at, part_of(bytes - at), MPI_BYTE, from, world) != MPI_SUCCESS)
            return false;
    return true;
}

/* Both send as many parts as the longer message has; what is left of the shorter one is empty. */
static bool mpi_swap(void *self, int other, const void *send, size_t send_bytes, void *receive,
                     size_t receive_bytes)
{
    (void)self;
    const char *from = send;
    char *to = receive;
    do {
        const int sent = part_of(send_bytes), received = part_of(receive_bytes);
        if (MPI_Sendrecv(from, sent, MPI_BYTE, other, 0, to, received, MPI_BYTE, other, 0, world,
                         MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        from += sent, to += received;
        send_bytes -= (size_t)sent, receive_bytes -= (size_t)received;
    } while (send_bytes > 0 || receive_bytes > 0);
    return true;
}

const at_run_peers *at_mpi_begin(int *argc, char ***argv)
{
    static at_run_peers peers;
    if (has_begun) return &peers;
    int initialised, level;
    MPI_Initialized(&initialised);
    is_initialised_here = !initialised;
    if (!initialised) MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_dup(MPI_COMM_WORLD, &world); /* no message of the program is taken for one of these */
    has_begun = true;
    peers = (at_run_peers){.gather = mpi_gather, .share = mpi_share, .swap = mpi_swap};
    MPI_Comm_rank(world, &peers.rank);
    MPI_Comm_size(world, &peers.count);
    return &peers;
}

int at_mpi_end(int status)
{
    if (!has_begun) return status;
    MPI_Comm_free(&world);
    if (is_initialised_here) MPI_Finalize();
    has_begun = false;
    return status;
}
