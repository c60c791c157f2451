/* run.c -- the training of the page as a run: what one of them saved, the other goes on with.
 *
 *     make page-run ARGS="--out FOLDER --steps 600"
 *
 * The page saves its training as checkpoint.safetensors.  With that file in FOLDER, this program
 * goes on from there, with the bits that the page would have gone on with: make compiles it for the
 * portable arithmetic (kernels/arithmetic.h), which is that of WebAssembly.  The file that it
 * leaves there opens in the page. */
#include "common/options.h"
#include "attic_train.h"
#include "page/train.h"

int main(int argc, char **argv)
{
    static int steps = TRAIN_STEPS, seed = 1, fresh;
    static const char *out = "out/page-run";
    static const option table[] = {
        {"out", NULL, NULL, &out, 0, 0, "the folder of the run"},
        {"steps", &steps, NULL, NULL, 1, 1e6, "training steps, those before included"},
        {"seed", &seed, NULL, NULL, 0, TRAIN_SEED, "of parameters and words, as on the page"},
        {"fresh", &fresh, NULL, NULL, 0, 0, "begin anew, and remove what is in the folder"},
        {0}};
    parse_options(
        argc, argv,
        "usage: make page-run ARGS=\"[options]\"\n"
        "Trains the model of the page, from the checkpoint in the folder if there is one.\n",
        table, 0);
    train_open(seed);
    at_run *r = at_run_open(train_tape(), out, (at_run_args){.steps = steps, .fresh = fresh});
    while (at_run_next(r)) {
        at_run_log(r, "loss", train_gradients());
        at_run_log(r, "right", train_right());
        train_update();
    }
    if (at_run_finished(r))
        printf("%s/checkpoint.safetensors is that of step %d\n", out, at_run_step(r));
    int status = at_run_close(r);
    at_close(train_tape());
    return finish(status);
}
