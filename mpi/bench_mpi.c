/* bench_mpi.c -- how long a step of a language model takes on so many processes, and how much of it
 * is the exchange of gradients: a line for mpi/bench.sh, by rank 0.
 *
 *     mpirun -n 2 bench_mpi --layers 4 --dim 128 --rows 2 --micros 8
 *
 *     processes  threads  parameters  tokens  ms  ms of exchange      medians over the steps
 *
 * The exchange is timed around each swap, when all processes have come to it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attic_mpi.h"
#include "common/options.h"

static int layers = 4, heads = 4, dim = 128, context = 128, rows = 2, micros = 8, steps = 15;

static const option table[] = {
    {"layers", &layers, NULL, NULL, 1, 64, "transformer blocks"},
    {"heads", &heads, NULL, NULL, 1, 64, "attention heads"},
    {"dim", &dim, NULL, NULL, 1, 4096, "width of the model"},
    {"context", &context, NULL, NULL, 2, 4096, "tokens of a row"},
    {"rows", &rows, NULL, NULL, 1, 4096, "of a micro-batch"},
    {"micros", &micros, NULL, NULL, 1, 4096, "micro-batches in a step"},
    {"steps", &steps, NULL, NULL, 3, 1000, "that are timed, but for two"},
    {0}};

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The peers of attic_mpi, with a clock around their swaps. */
static const at_run_peers *timed;
static double exchanged; /* seconds, of this step */

static bool timed_swap(void *self, int other, const void *send, size_t send_bytes, void *receive,
                       size_t receive_bytes)
{
    const double begun = now();
    const bool good = timed->swap(self, other, send, send_bytes, receive, receive_bytes);
    exchanged += now() - begun;
    return good;
}

static void train_step(at_tape *t, at_run *r, const at_model *m, const at_data *d)
{
    at_mark mark = at_mark_here(t);
    while (at_run_next_micro(r)) {
        at_batch_args which = {.rows = rows, .length = context, .step = at_run_step(r)};
        which.micro = at_run_micro(r), which.micros = micros;
        at_batch b = at_data_batch(t, d, which);
        at_tensor *logits = at_model_logits(t, m, b.ids, (at_model_args){0});
        at_tensor *loss = at_cross_entropy(t, logits, b.target, (at_cross_entropy_args){0});
        at_tensor *share = at_scale(t, loss, b.share);
        at_backward(t, share);
        at_run_log(r, "loss", micros * at_item(share));
        at_rewind(t, mark);
    }
    at_run_log(r, "norm", at_clip_grad_norm(t, 1));
    at_adamw(t, 1e-3, (at_adamw_args){0});
    at_rewind(t, mark);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

int main(int argc, char **argv)
{
    parse_options(argc, argv, "usage: bench_mpi [options]\n", table, 0);
    timed = at_mpi_begin(&argc, &argv);
    at_run_peers peers = *timed;
    peers.swap = timed_swap;
    at_tape *t = at_open(ATTIC_F32, 1);
    static int32_t ids[1 << 16];
    for (int i = 0; i < 1 << 16; i++) ids[i] = (int32_t)((unsigned)i * 2654435761u >> 24);
    at_data *d = at_data_ids(t, ids, 1 << 16, (at_data_args){.vocab = 256});
    at_model_config config = {.vocab = 256, .context = context, .layers = layers};
    config.heads = heads, config.dim = dim, config.norm = ATTIC_RMS, config.act = ATTIC_SWIGLU;
    at_model *m = at_model_make(t, config);
    at_run *r = at_run_open(
        t, NULL, (at_run_args){.steps = steps, .micros = micros, .quiet = true, .peers = &peers});
    at_reuse_memory(t, true);
    double all[1000], of_swaps[1000];
    for (int n = 0; at_run_next(r); n++) {
        const double begun = now();
        exchanged = 0;
        train_step(t, r, m, d);
        all[n] = 1e3 * (now() - begun);
        of_swaps[n] = 1e3 * exchanged;
    }
    if (at_run_finished(r) && peers.rank == 0) /* the first two take memory */
        printf("%d\t%d\t%td\t%d\t%.1f\t%.2f\n", peers.count, at_thread_count(), at_model_params(m),
               rows * micros * context, median(all + 2, steps - 2),
               median(of_swaps + 2, steps - 2));
    const int status = at_run_close(r);
    at_close(t);
    return at_mpi_end(finish(status));
}
