/* cases_sdpa_drawn.c -- gradient cases of attention drawn at random, each on all three paths.
 *
 * cases_sdpa.c holds what one would think of; here is the rest: problems of sdpa_problem.h, chosen so that
 * every pair of options and sizes is among them: of a few candidates the one is taken that brings the most
 * pairs that have not been yet.  A few more reach over several tiles, on the fused path alone.
 *
 * The inputs are those that want a gradient; the others are constants.  Not only the
 * gradient is checked but the values too: a backward may well be the derivative of something else. */
#include "gradients/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATHS = 3, CANDIDATES = 24, PROBLEMS = AT_DRAWN_PROBLEMS + AT_DRAWN_TILES };

typedef struct {
    sdpa_problem p;
    char in[160];
} drawn_problem;

typedef struct {
    const sdpa_problem *p;
    at_stream drops;
    at_sdpa_path path;
    char note[40];
} drawn_row;

static drawn_problem drawn[PROBLEMS];

/* The drops of problem i, on the tape that at_case_check opens. */
static at_stream drops_of(int i)
{
    return (at_stream){(uint64_t)i + 1, 0};
}

/* ------------------------------------------------------------------ the function --------------- */

/* The next input, or the constant that stands in its place. */
static at_tensor *next_input(at_tape *t, const sdpa_problem *p, int which, at_tensor ***in)
{
    if (!p->constant[which]) return *(*in)++;
    at_tensor *x = at_const(t, sdpa_input_shape(p, which), NULL);
    if (x) at_init_fill(x, at_uniform(1), (at_stream){(uint64_t)p->seed, (uint64_t)which});
    return x;
}

/* The bias as given, with some cells replaced by -inf: those are constants. */
static at_tensor *with_infinities(at_tape *t, const sdpa_problem *p, at_tensor *bias)
{
    at_tensor *where = at_bools(t, p->bias, NULL);
    for (ptrdiff_t i = 0; where && i < at_count(p->bias); i++)
        at_store(ATTIC_BOOL, where->data, i, sdpa_infinite_at(p, i));
    return at_masked_fill(t, bias, where, -(double)INFINITY);
}

static sdpa_call inputs_of(at_tape *t, const sdpa_problem *p, at_tensor **in)
{
    sdpa_call x = {0};
    for (int i = 0; i < SDPA_REALS; i++)
        if (sdpa_has_input(p, i)) x.in[i] = next_input(t, p, i, &in);
    sdpa_share_inputs(p, x.in);
    if (p->infinities) x.bias = with_infinities(t, p, x.bias);
    return x;
}

static at_tensor *drawn_keep(at_tape *t, const sdpa_problem *p)
{
    at_tensor *keep = at_bools(t, p->keep, NULL);
    for (ptrdiff_t i = 0; keep && i < at_count(p->keep); i++)
        at_store(ATTIC_BOOL, keep->data, i, sdpa_keep_at(p, i));
    return keep;
}

static at_tensor *drawn_key_len(at_tape *t, const sdpa_problem *p)
{
    at_tensor *key_len = at_ints(t, at_shape_of(p->B), NULL);
    for (int b = 0; key_len && b < p->B; b++)
        at_store(ATTIC_I32, key_len->data, b, sdpa_key_len_at(p, b));
    return key_len;
}

/* lse, but where it is -inf, which differences can't be taken of, this */
static const double lowest = -50;

/* What is looked at of O, the weights, probs and lse, side by side, so that a random cotangent reaches all. */
static at_tensor *drawn_output(at_tape *t, const sdpa_problem *p, at_tensor *O, at_tensor *weights,
                               at_tensor *probs, at_tensor *lse)
{
    at_tensor *y[4] = {O};
    int n = 0;
    if (!O) return NULL;
    if (sdpa_sees_O(p)) y[n++] = O;
    if (p->weights >= SDPA_BESIDE_O) y[n++] = weights;
    if (p->probs >= SDPA_BESIDE_O) y[n++] = probs;
    if (p->lse >= SDPA_BESIDE_O) y[n++] = at_clamp(t, lse, lowest, (double)INFINITY);
    for (int i = 0; n > 1 && i < n; i++) y[i] = at_reshape(t, y[i], at_shape_of(-1));
    return n > 1 ? at_concat(t, y, n, 0) : y[0];
}

static at_tensor *case_drawn(at_tape *t, at_tensor **in, void *ctx)
{
    const drawn_row *row = ctx;
    const sdpa_problem *p = row->p;
    sdpa_call x = inputs_of(t, p, in);
    at_tensor *weights = NULL, *scores, *probs = NULL, *lse = NULL;
    at_sdpa_args a = p->args;
    sdpa_give_inputs(&a, x.in);
    if (p->has_keep) a.keep = drawn_keep(t, p);
    if (p->has_key_len) a.key_len = drawn_key_len(t, p);
    a.segments = sdpa_ids(t, p, false), a.key_segments = sdpa_ids(t, p, true);
    if (p->weights != SDPA_NO_WEIGHTS) a.weights = &weights;
    if (p->scores) a.scores = &scores;
    if (p->probs != SDPA_NO_WEIGHTS) a.probs = &probs;
    if (p->lse != SDPA_NO_WEIGHTS) a.lse = &lse;
    a.path = row->path;
    at_tensor *O = at_sdpa(t, x.Q, x.K, x.V, a);
    return drawn_output(t, p, O, weights, probs, lse);
}

static void drawn_reference(at_tape *t, at_tensor **in, void *ctx, double *y)
{
    const drawn_row *row = ctx;
    const sdpa_problem *p = row->p;
    sdpa_call x = inputs_of(t, p, in);
    x.drops = row->drops;
    const size_t rows = (size_t)p->B * (size_t)p->H * (size_t)p->T, cells = rows * (size_t)p->S;
    const size_t n = sdpa_sees_O(p) ? rows * (size_t)p->Dv : 0; /* of O, which then comes first */
    const size_t n_A = p->weights >= SDPA_BESIDE_O ? cells : 0;
    const size_t n_P = p->probs >= SDPA_BESIDE_O ? cells : 0;
    double *O = calloc(rows * (size_t)p->Dv + 1, sizeof *O), *A = calloc(cells + 1, sizeof *A);
    double *P = calloc(cells + 1, sizeof *P), *lse = calloc(rows + 1, sizeof *lse);
    if (O && A && P && lse) {
        sdpa_reference(p, &x, O, A, P, lse);
        memcpy(y, O, n * sizeof *y);
        memcpy(y + n, A, n_A * sizeof *y);
        memcpy(y + n + n_A, P, n_P * sizeof *y);
        for (size_t i = 0; p->lse >= SDPA_BESIDE_O && i < rows; i++)
            y[n + n_A + n_P + i] = fmax(lse[i], lowest);
    }
    free(O);
    free(A);
    free(P);
    free(lse);
}

/* ------------------------------------------------------------------ the problems --------------- */

/* The shapes of the inputs, as a row of the table has them. */
static void write_inputs(drawn_problem *d)
{
    const sdpa_problem *p = &d->p;
    size_t n = 0;
    for (int i = 0; i < SDPA_REALS; i++)
        if (sdpa_has_input(p, i) && !p->constant[i])
            n += (size_t)snprintf(d->in + n, sizeof d->in - n, "%s%s", n ? " " : "",
                                  at_shape_text(sdpa_input_shape(p, i)));
}

/* How welcome a candidate is.  Rounding errors alone are nothing that differences could agree with. */
static int worth(const sdpa_pairs *pairs, const sdpa_problem *p, at_stream drops)
{
    sdpa_effect effect = sdpa_effect_of(p, drops);
    if (effect == SDPA_ROUNDING) return -1;
    return 4 * sdpa_pairs_new(pairs, p) + (effect == SDPA_MOVES);
}

static void draw_problems(int first, int last, sdpa_size size, int candidates)
{
    static sdpa_pairs pairs;
    int seed = 0;
    for (int i = first; i < last; i++) {
        int most = -1;
        for (int c = 0; c < candidates || most < 0; c++) {
            sdpa_problem p = sdpa_draw(seed++, size);
            int is_worth = worth(&pairs, &p, drops_of(i));
            if (is_worth > most) most = is_worth, drawn[i].p = p;
        }
        sdpa_pairs_count(&pairs, &drawn[i].p);
        write_inputs(&drawn[i]);
    }
}

const sdpa_problem *at_drawn_problem(int i)
{
    if (!*drawn[0].in) {
        draw_problems(0, AT_DRAWN_PROBLEMS, SDPA_TINY, CANDIDATES);
        draw_problems(AT_DRAWN_PROBLEMS, PROBLEMS, SDPA_TILES, 4);
    }
    return &drawn[i].p;
}

/* ------------------------------------------------------------------ the rows ------------------- */

const at_case *at_case_drawn(int i)
{
    enum { SMALL = PATHS * AT_DRAWN_PROBLEMS, ROWS = SMALL + AT_DRAWN_TILES };
    static const char *const path_name[] = {"", "fused", "plain", "composed"};
    static drawn_row row[ROWS];
    static at_case cases[ROWS];
    if (i >= ROWS) return NULL;
    int problem = i < SMALL ? i / PATHS : i - SMALL + AT_DRAWN_PROBLEMS;
    at_sdpa_path path = i < SMALL ? (at_sdpa_path)(ATTIC_FUSED + i % PATHS) : ATTIC_FUSED;
    const sdpa_problem *p = at_drawn_problem(problem);
    row[i] = (drawn_row){.p = p, .drops = drops_of(problem), .path = path};
    snprintf(row[i].note, sizeof row[i].note, "drawn %d, %s", problem, path_name[path]);
    cases[i] =
        (at_case)ROW("sdpa", drawn[problem].in, case_drawn, .ctx = &row[i], .note = row[i].note,
                     .seed = problem, .drawn = p, .reference = drawn_reference);
    if (sdpa_effect_of(p, row[i].drops) == SDPA_ZERO) cases[i].expect = ATTIC_VACUOUS;
    if (p->size == SDPA_TILES) cases[i].directions = 4;
    return &cases[i];
}
