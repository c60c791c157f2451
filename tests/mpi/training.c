/* training.c -- what tests/mpi/run.sh starts: a little training on several processes, in which one of
 * them does what it is told.  Each process prints the hash of all that it has learned. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "attic_mpi.h"
#include "common/options.h"
#include "system/hash.h"
#include "tensor/layout.h"

static int steps = 200, leave = 1 << 30, micros = 8, save_every = 50, alone, rank, step = 20, pace,
           double_precision;
static const char *out = "out/mpi", *does = "";

static const option table[] = {
    {"out", NULL, NULL, &out, 0, 0, "folder of the run"},
    {"steps", &steps, NULL, NULL, 1, 1e6, "in all"},
    {"leave", &leave, NULL, NULL, 1, 1e9, "steps that this time does"},
    {"micros", &micros, NULL, NULL, 1, 4096, "micro-batches in a step"},
    {"save-every", &save_every, NULL, NULL, 1, 1e9, "steps between checkpoints"},
    {"alone", &alone, NULL, NULL, 0, 0, "without MPI"},
    {"f64", &double_precision, NULL, NULL, 0, 0, "in f64"},
    {"rank", &rank, NULL, NULL, 0, 255, "who does what --does says,"},
    {"step", &step, NULL, NULL, 0, 1e6, "and in which step"},
    {"does", NULL, NULL, &does, 0, 0, "error, bad, kill, leave, stop, describe or late"},
    {"pace", &pace, NULL, NULL, 0, 60000,
     "milliseconds that a step takes at least, from that one on"},
    {0}};

static bool is_told(const char *what, const at_run_peers *peers)
{
    return strcmp(does, what) == 0 && (peers ? peers->rank : 0) == rank;
}

/* Sequences of 3 to 14 ids, so that micro-batches have different counts of targets. */
static at_data *make_data(at_tape *t)
{
    int32_t ids[700];
    int length[64], n = 0;
    for (int i = 0; i < 64; i++) {
        length[i] = 3 + i * 7 % 12;
        for (int k = 0; k < length[i]; k++) ids[n++] = (i * 5 + k * k) % 11;
    }
    return at_data_sequences(t, ids, length, 64, (at_data_args){.vocab = 11, .held = 0.2});
}

static void do_step(at_tape *t, at_run *r, const at_model *m, const at_data *d,
                    const at_run_peers *peers)
{
    at_mark mark = at_mark_here(t);
    const bool now = at_run_step(r) == step;
    while (at_run_next_micro(r)) {
        const int micro = at_run_micro(r);
        if (now && is_told("kill", peers)) raise(SIGKILL);
        if (now && is_told("error", peers)) at_matmul(t, m->E, m->E);
        at_batch b = at_data_batch(
            t, d,
            (at_batch_args){
                .rows = 2, .length = 14, .step = at_run_step(r), .micro = micro, .micros = micros});
        at_tensor *logits = at_model_logits(t, m, b.ids, (at_model_args){0});
        at_tensor *loss = at_cross_entropy(
            t, logits, b.target, (at_cross_entropy_args){.ignore = true, .ignore_index = -1});
        at_tensor *share = at_scale(t, loss, b.share);
        at_backward(t, share);
        /* whichever process has this one */
        const bool bad = now && strcmp(does, "bad") == 0 && micro == micros - 1;
        at_run_log(r, "loss", bad ? (double)NAN : micros * at_item(share));
        at_rewind(t, mark);
    }
    at_run_log(r, "norm", at_clip_grad_norm(t, 1));
    at_adamw(t, at_warmup_cosine(at_run_step(r), 10, 200, 1e-2, 1e-3), (at_adamw_args){0});
    at_ema(t, 0.95, (at_names){0});
    at_rewind(t, mark);
}

static uint64_t hash_of(const at_tape *t)
{
    uint64_t h = AT_HASH_BEGIN, sum = 0;
    for (int i = 0; i < at_param_count(t); i++) {
        const at_tensor *x = at_param_at(t, i);
        h = at_hash(h, x->data, at_bytes(x));
    }
    for (int i = 0; i < at_state_count(t); i++) { /* in any order */
        const at_tensor *x = at_state_at(t, i);
        sum += at_hash(at_hash(AT_HASH_BEGIN, x->name, strlen(x->name)), x->data, at_bytes(x));
    }
    return h ^ sum;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv, "usage: training [options]\n", table, 0);
    const at_run_peers *peers = alone ? NULL : at_mpi_begin(&argc, &argv);
    at_tape *t = at_open(double_precision ? ATTIC_F64 : ATTIC_F32, 7);
    at_data *d = make_data(t);
    at_model *m = at_model_make(
        t, (at_model_config){
               .vocab = 11, .context = 14, .layers = 1, .heads = 2, .dim = 16, .dropout = 0.1});
    if (is_told("describe", peers)) at_describe(t, "training", "another one");
    at_run *r = at_run_open(t, out,
                            (at_run_args){.steps = steps,
                                          .micros = micros,
                                          .save_every = save_every,
                                          .quiet = true,
                                          .peers = peers});
    for (int n = 0; n < leave && at_run_next(r); n++) {
        if (pace > 0 && at_run_step(r) >= step) usleep((useconds_t)pace * 1000);
        do_step(t, r, m, d, peers);
        if (at_run_step(r) == step && is_told("leave", peers)) break;
        if (at_run_step(r) == step && is_told("stop", peers)) at_run_stop(r);
        if (at_run_every(r, 40)) {
            at_ema_swap(t);
            at_run_best(r, at_model_loss(t, m, d, (at_eval_args){ATTIC_HELD, 0, 4, 14}));
            at_ema_swap(t);
        }
    }
    const uint64_t hash = hash_of(t);
    const int status = at_run_close(r);
    if (status == 0) printf("%016" PRIx64 "\n", hash);
    at_close(t);
    return at_mpi_end(finish(status));
}
