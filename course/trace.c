/* trace.c -- one small attention, printed step by step, forward and then backward.
 *
 *     trace                                   3 queries, 4 keys, of size 2
 *     trace --paper                           numbers that can be checked with a pencil
 *     trace --causal --dropout 0.25           see --help
 *     trace --Q 1,0/0,1 --K k.npy             matrices row by row, or files
 *     trace --self --Q 1/2/3                  Q = K = V: three tokens of size 1
 *     trace --cell q0,k2                      works out that cell in every step
 *     trace --paper --quiz                    asks first, then shows
 *     trace --mistake no-delta                a backward with this mistake in it: what notices?
 *     trace --json                            the same for programs
 *
 * The steps have the numbers of attention/attention.h, forward 1 to 8, then backward 8 to 1; one
 * that is off says so.  Every step shows its formula, its shapes, the whole matrix, and one cell
 * worked out with the numbers put in.  In the backward, each gradient stands beside its numerical
 * value: how much the loss changes when that one element is moved a little (five-point differences,
 * everything after it computed again; the step width is chosen for each element).  What disagrees
 * is marked DIFFERS, and the exit status is 1.  With --mistake it is the other way round: the exit status
 * is 1 if nothing differs, so that nobody could notice it here.  The arithmetic is that of course/steps.c, in loops
 * that read like the formulas; at_sdpa, which does all of it in one op, is compared at the end. */
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "trace.h"

static trace t = {.o = {.temperature = 1,
                        .seed = 1,
                        .Q = "",
                        .K = "",
                        .V = "",
                        .dO = "",
                        .bias = "",
                        .mask = "",
                        .window = "",
                        .cell = "",
                        .mistake = ""}};

static const option table[] = {
    {"paper", &t.o.paper, NULL, NULL, 0, 0,
     "numbers for pencil and paper: P, O, dP, dS have two digits"},
    {"queries", &t.o.T, NULL, NULL, 0, TRACE_MAX,
     "number of queries, T; 0: as many as --Q has, else 3"},
    {"keys", &t.o.N, NULL, NULL, 0, TRACE_MAX, "number of keys, N; 0: as many as --K has, else 4"},
    {"dim", &t.o.D, NULL, NULL, 0, TRACE_MAX, "size of a query and a key, D; 0: as given, or 2"},
    {"value-dim", &t.o.Dv, NULL, NULL, 0, TRACE_MAX, "size of a value, Dv; 0: as given, or D"},
    {"Q", NULL, NULL, &t.o.Q, 0, 0, "the queries: 1,0/0,ln 7 or a file.npy; else random"},
    {"K", NULL, NULL, &t.o.K, 0, 0, "the keys"},
    {"V", NULL, NULL, &t.o.V, 0, 0, "the values"},
    {"dO", NULL, NULL, &t.o.dO, 0, 0, "the gradient of the output"},
    {"self", &t.o.self, NULL, NULL, 0, 0, "Q = K = V, one matrix"},
    {"scale", NULL, &t.o.scale, NULL, -100, 100, "factor on the scores; 0: 1/sqrt(D)"},
    {"temperature", NULL, &t.o.temperature, NULL, 0.01, 100, "divides the scores"},
    {"softcap", NULL, &t.o.softcap, NULL, 0, 1e6, "bounds the scores to (-X, X); 0: off"},
    {"bias", NULL, NULL, &t.o.bias, 0, 0,
     "added to scores: 0,1,-inf,2 for every query, rows, a file.npy, or random"},
    {"mask", NULL, NULL, &t.o.mask, 0, 0,
     "keys to attend to, 1 = attend: 1101 for every query, or 1101/0111/1111"},
    {"causal", &t.o.causal, NULL, NULL, 0, 0, "hide the future; the last query sees all keys"},
    {"window", NULL, NULL, &t.o.window, 0, 0,
     "keys to the left and to the right, its own counted in both: 2 or 2,1"},
    {"dropout", NULL, &t.o.dropout, NULL, 0, 0.99, "probability that a weight is dropped"},
    {"seed", &t.o.seed, NULL, NULL, 0, 2147483647, "of the random inputs and of the dropout"},
    {"cell", NULL, NULL, &t.o.cell, 0, 0,
     "the cell to work out: q0,k2; else the last that is kept"},
    {"quiz", &t.o.quiz, NULL, NULL, 0, 0, "asks for signs and values before they are shown"},
    {"mistake", NULL, NULL, &t.o.mistake, 0, 0,
     "a mistake in the backward: no-delta; see what notices it"},
    {"json", &t.o.json, NULL, NULL, 0, 0, "prints JSON, see course/trace.schema.json"},
    {"quick", &t.o.quick, NULL, NULL, 0, 0, "JSON without numerical values and at_sdpa"},
    {0}};

/* "trace --paper --json" */
static const char *command_of(int argc, char **argv)
{
    static char text[1000];
    size_t n = (size_t)snprintf(text, sizeof text, "trace");
    for (int i = 1; i < argc && n < sizeof text; i++) {
        const char *quote = strchr(argv[i], ' ') ? "\"" : "";
        n += (size_t)snprintf(text + n, sizeof text - n, " %s%s%s", quote, argv[i], quote);
    }
    return text;
}

static void refuse(bool both, const char *why)
{
    if (!both) return;
    fprintf(stderr, "trace: %s\n", why);
    exit(2);
}

/* All but the end.  course/page/page.c runs it again and again, and reads the trace afterwards. */
static int run(int argc, char **argv)
{
    parse_options(
        argc, argv,
        "usage: trace [options]\nOne small attention, step by step, forward and backward.\n", table,
        0);
    refuse(t.o.quiz && t.o.json, "--quiz asks a person, --json speaks to a program: choose one");
    refuse(t.o.quiz && *t.o.mistake, "--quiz asks for what is right: leave out --mistake");
    refuse(t.o.quick && !t.o.json, "--quick is for --json: the text shows numerical values");
    t.command = command_of(argc, argv);
    trace_set_up(&t);
    trace_compute(&t);
    bool ok = t.o.quick || trace_compare_op(&t);
    if (t.o.json)
        trace_json(&t);
    else
        trace_print(&t);
    if (t.differ && !t.mistake)
        fprintf(stderr, "trace: %d times DIFFERS, where nothing should\n", t.differ);
    return !ok || (t.mistake ? !t.differ : t.differ);
}

int main(int argc, char **argv)
{
    int status = run(argc, argv);
    steps_close(t.terms);
    steps_close(t.a);
    return finish(status);
}
