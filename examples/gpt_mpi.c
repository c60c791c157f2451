/* gpt_mpi.c -- examples/gpt.c, trained by several processes.
 *
 *     make mpi
 *     mpirun --mca odls_base_sigkill_timeout 10 -n 4 gpt_mpi train --micros 8 book.txt
 *
 * Commands and options are those of gpt.  Each process does 2 of the 8 micro-batches of a step, and
 * the model that they come to has the bits that `gpt train --micros 8` gives it (docs/machines.md). */
#include "attic_mpi.h"

/* Results go to the stdout of rank 0: each process has the same ones. */
static const at_run_peers *share_training(void)
{
    const at_run_peers *peers = at_mpi_begin(NULL, NULL);
    if (peers->rank > 0 && !freopen("/dev/null", "w", stdout)) perror("gpt_mpi");
    return peers;
}

int gpt_main(int argc, char **argv);
#define GPT_PEERS share_training()
#define main gpt_main
#include "gpt.c"
#undef main

int main(int argc, char **argv)
{
    return at_mpi_end(gpt_main(argc, argv));
}
