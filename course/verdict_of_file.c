/* verdict_of_file.c -- are the gradients in a file those of its attention, and if not, which mistake
 * is it?
 *
 *     verdict_of_file x.npz                     from any framework; see --help
 *     verdict_of_file --layout=bthd x.npz       where two layouts fit
 *     verdict_of_file --json x.json             the same for programs
 *     verdict_of_file Q.npy K.npy V.npy dO.npy dQ.npy
 *
 * The exit status is 0 if all are right, 1 if one is wrong, and 2 if the file is refused or does not
 * tell what is asked for. */
#include "common/options.h"
#include "gradients.h"

#include <stdlib.h>
#include <string.h>

static int json;
static const char *layout = "", *corner = "";
static const option table[] = {
    {"layout", NULL, NULL, &layout, 0, 0, "of four axes: bhtd or bthd, where both fit"},
    {"corner", NULL, NULL, &corner, 0, 0,
     "of a causal mask where T and N differ: top-left or bottom-right"},
    {"json", &json, NULL, NULL, 0, 0, "prints JSON"},
    {0}};

static const char usage[] =
    "usage: verdict_of_file [options] FILE ...\n"
    "Are dQ, dK and dV the gradients of attention(Q, K, V), given dO?  If not, which mistake is "
    "it?\n"
    "FILE is .npz, .safetensors, .json, or .npy files that have the names of their arrays.\n"
    "From PyTorch, after out.backward(dout):\n\n"
    "    f = lambda x: x.detach().float().cpu().numpy()\n"
    "    numpy.savez('x.npz', Q=f(q), K=f(k), V=f(v), O=f(out), dO=f(dout), causal=True,\n"
    "                dQ=f(q.grad), dK=f(k.grad), dV=f(v.grad))\n\n"
    "O, mask (1 = attend; reals are added to the scores), causal, scale, softcap and kv_heads may "
    "be\n"
    "absent.  bf16 and f16 are recognised by their digits, or exported as x.view(torch.uint16).\n"
    "Shapes: [T,D], [H,T,D], [B,H,T,D] or [B,T,H,D]; K and V may have fewer heads.\n"
    "Status: 0 all right, 1 one is wrong, 2 refused or asked.\n";

/* Which of two words is it?  0: none was given. */
static int choose(const char *name, const char *word, const char *first, const char *second)
{
    if (!*word) return 0;
    if (strcmp(word, first) == 0) return 1;
    if (strcmp(word, second) == 0) return 2;
    fprintf(stderr, "verdict_of_file: --%s must be %s or %s, not \"%s\"\n", name, first, second,
            word);
    exit(2);
}

int main(int argc, char **argv)
{
    arrays all = {.n = 0};
    gradients_report report;
    int first = parse_options(argc, argv, usage, table, ARRAYS_MAX);
    const gradients_choice choice = {
        .layout = (gradients_layout)choose("layout", layout, "bhtd", "bthd"),
        .corner = (gradients_corner)choose("corner", corner, "top-left", "bottom-right")};
    at_tape *t = at_open(ATTIC_F64, 1);
    if (first == argc) fprintf(stderr, "verdict_of_file: no file is given; see --help\n");
    for (int k = first; k < argc; k++) arrays_read(t, argv[k], &all);
    if (first == argc || !at_ok(t)) {
        fprintf(stderr, "%s%s", at_error(t), at_ok(t) ? "" : "\n");
        at_close(t);
        return finish(2);
    }
    const bool done = gradients_judge(&all, &choice, &report);
    at_close(t);
    if (!done) {
        fprintf(stderr, "verdict_of_file: no memory\n");
        return finish(2);
    }
    if (json)
        gradients_json(&report);
    else
        gradients_print(&report);
    return finish(report.kind == GRADIENTS_RIGHT ? 0 : report.kind == GRADIENTS_WRONG ? 1 : 2);
}
