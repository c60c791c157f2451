/* trace_run.c -- the command line of course/trace.c, and what it asks for, done.  See trace.h. */
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "trace.h"

static const trace_options defaults = {.temperature = 1,
                                       .seed = 1,
                                       .Q = "",
                                       .K = "",
                                       .V = "",
                                       .dO = "",
                                       .bias = "",
                                       .mask = "",
                                       .window = "",
                                       .cell = "",
                                       .mistake = ""};
static trace_options o;

static const option table[] = {
    {"paper", &o.paper, NULL, NULL, 0, 0,
     "numbers for pencil and paper: P, O, dP, dS have two digits"},
    {"block", &o.block, NULL, NULL, 0, 0,
     "a whole block, from tokens to tokens, with its matrices and heads"},
    {"heads", &o.H, NULL, NULL, 0, TRACE_MAX, "of --block: number of heads, H; 0: 2"},
    {"kv-heads", &o.G, NULL, NULL, 0, TRACE_MAX,
     "of --block: keys and values that they share, G; 0: as many"},
    {"width", &o.C, NULL, NULL, 0, TRACE_MAX, "of --block: size of a token, C; 0: H D"},
    {"queries", &o.T, NULL, NULL, 0, TRACE_MAX,
     "number of queries or tokens, T; 0: as many as --Q has, else 3"},
    {"keys", &o.N, NULL, NULL, 0, TRACE_MAX, "number of keys, N; 0: as many as --K has, else 4"},
    {"dim", &o.D, NULL, NULL, 0, TRACE_MAX, "size of a query and a key, D; 0: as given, or 2"},
    {"value-dim", &o.Dv, NULL, NULL, 0, TRACE_MAX, "size of a value, Dv; 0: as given, or D"},
    {"Q", NULL, NULL, &o.Q, 0, 0, "the queries: 1,0/0,ln 7 or a file.npy; else random"},
    {"K", NULL, NULL, &o.K, 0, 0, "the keys"},
    {"V", NULL, NULL, &o.V, 0, 0, "the values"},
    {"dO", NULL, NULL, &o.dO, 0, 0, "the gradient of the output"},
    {"self", &o.self, NULL, NULL, 0, 0, "Q = K = V, one matrix"},
    {"scale", NULL, &o.scale, NULL, -100, 100, "factor on the scores; 0: 1/sqrt(D)"},
    {"temperature", NULL, &o.temperature, NULL, 0.01, 100, "divides the scores"},
    {"softcap", NULL, &o.softcap, NULL, 0, 1e6, "bounds the scores to (-X, X); 0: off"},
    {"bias", NULL, NULL, &o.bias, 0, 0,
     "added to scores: 0,1,-inf,2 for every query, rows, a file.npy, or random"},
    {"mask", NULL, NULL, &o.mask, 0, 0,
     "keys to attend to, 1 = attend: 1101 for every query, or 1101/0111/1111"},
    {"causal", &o.causal, NULL, NULL, 0, 0, "hide the future; the last query sees all keys"},
    {"window", NULL, NULL, &o.window, 0, 0,
     "keys to the left and to the right, its own counted in both: 2 or 2,1"},
    {"dropout", NULL, &o.dropout, NULL, 0, 0.99, "probability that a weight is dropped"},
    {"seed", &o.seed, NULL, NULL, 0, 2147483647, "of the random inputs and of the dropout"},
    {"cell", NULL, NULL, &o.cell, 0, 0, "the cell to work out: q0,k2; of --block dX:1,1"},
    {"quiz", &o.quiz, NULL, NULL, 0, 0, "asks for signs and values before they are shown"},
    {"mistake", NULL, NULL, &o.mistake, 0, 0,
     "a mistake in the backward: no-delta, - for a space; what notices it?"},
    {"json", &o.json, NULL, NULL, 0, 0, "prints JSON, see course/trace.schema.json"},
    {"quick", &o.quick, NULL, NULL, 0, 0, "JSON without numerical values and at_sdpa"},
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

static trace_options options_of(int argc, char **argv)
{
    o = defaults;
    parse_options(
        argc, argv,
        "usage: trace [options]\nOne small attention, step by step, forward and backward.\n", table,
        0);
    refuse(o.quiz && o.json, "--quiz asks a person, --json speaks to a program: choose one");
    refuse(o.quiz && *o.mistake, "--quiz asks for what is right: leave out --mistake");
    refuse(!o.block && (o.H || o.G || o.C), "--heads, --kv-heads and --width are for --block");
    refuse(o.quick && !o.json, "--quick is for --json: the text shows numerical values");
    return o;
}

int trace_run(trace *t, int argc, char **argv)
{
    memset(t, 0, sizeof *t);
    t->o = options_of(argc, argv);
    t->command = command_of(argc, argv);
    if (t->o.block) return trace_block(&t->o, t->command);
    trace_set_up(t);
    trace_compute(t);
    bool ok = t->o.quick || trace_compare_op(t);
    if (t->o.json)
        trace_json(t);
    else
        trace_print(t);
    if (t->count.differ && !t->mistake)
        fprintf(stderr, "trace: %d times DIFFERS, where nothing should\n", t->count.differ);
    return !ok || (t->mistake ? !t->count.differ : t->count.differ);
}

void trace_close(trace *t)
{
    steps_close(t->terms);
    steps_close(t->a);
    t->terms = t->a = NULL;
}
