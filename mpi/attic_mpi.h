/* attic_mpi.h -- one training on several processes and machines, by MPI.
 *
 *     int main(int argc, char **argv)
 *     {
 *         const at_run_peers *peers = at_mpi_begin(&argc, &argv);
 *         ...
 *         at_run *r = at_run_open(t, "out/gpt", (at_run_args){.micros = 8, .peers = peers, ...});
 *         while (at_run_next(r)) {
 *             while (at_run_next_micro(r)) {
 *                 ...                     micro-batch at_run_micro(r) of 8: those of this process
 *             }
 *             ...                         here the gradients are those of all 8, in each process
 *         }
 *         int status = at_run_close(r);
 *         at_close(t);
 *         return at_mpi_end(status);
 *     }
 *
 *     mpicc -O3 gpt.c -lattic_mpi -lattic -lm -pthread -o gpt
 *     mpirun --mca odls_base_sigkill_timeout 10 -n 4 ./gpt
 *
 * The program chooses how many micro-batches a step has, not the number of processes: 1, 2, 4 or 8
 * processes come to the same bits, and so does one without MPI.  train/run.h says what processes
 * share, what they compare and how they end; docs/machines.md says when more of them are worth it.
 *
 * Each process has all parameters, and computes with as many threads as it would alone: several on
 * one machine need ATTIC_THREADS.  The optimizer and evaluations run in each, with the same bits.
 * Rank 0 alone writes files, progress and messages; what the program itself prints, it prints in
 * each process, unless it asks peers->rank.
 *
 * What fails in MPI itself ends the job, as MPI's own handler of errors does it: a process that was
 * killed, a machine that is lost.  The launcher ends the others, and the last checkpoint goes on
 * with the same bits, with as many processes as are left (a power of two). */
#ifndef ATTIC_MPI_H
#define ATTIC_MPI_H
#include "attic_train.h"
AT_BEGIN_C

/* All processes of MPI_COMM_WORLD, for at_run_args.peers.  Each call until at_mpi_end returns the
 * same pointer.  Calls MPI_Init_thread (MPI_THREAD_FUNNELED) unless the program has done so; argc
 * and argv may be NULL.  That their number is no power of two, or above 256, is an error of
 * at_run_open. */
AT_API const at_run_peers *at_mpi_begin(int *argc, char ***argv);
/* Calls MPI_Finalize if at_mpi_begin has called MPI_Init_thread.  Called after at_run_close and
 * at_close; returns status. */
AT_API int at_mpi_end(int status);

AT_END_C
#endif
