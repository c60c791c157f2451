/* cases_sdpa_drawn.c -- gradient cases of attention drawn at random, each on all three paths.
 *
 * cases_sdpa.c holds what one would think of; here is the rest: problems of sdpa_problem.h, chosen so that
 * every pair of options and sizes is among them: of a few candidates the one is taken that brings the most
 * pairs that have not been yet.
 *
 * The inputs are those of Q, K, V and bias that want a gradient; the others are constants. */
#include "gradcheck/cases.h"

#include <math.h>

enum { PATHS = 3, CANDIDATES = 24 };

typedef struct {
    sdpa_problem p;
    char in[160];
} drawn_problem;

typedef struct {
    const sdpa_problem *p;
    at_sdpa_path path;
    char note[40];
} drawn_row;

static drawn_problem drawn[AT_DRAWN_PROBLEMS];

/* ------------------------------------------------------------------ the function --------------- */

/* The next input, or the constant that stands in its place. */
static at_tensor *drawn_operand(at_tape *t, const sdpa_problem *p, int which, at_shape shape,
                                at_tensor ***in)
{
    if (!p->constant[which]) return *(*in)++;
    at_tensor *x = at_const(t, shape, NULL);
    if (x) at_init_fill(x, at_uniform(1), (at_stream){(uint64_t)p->seed, (uint64_t)which});
    return x;
}

static at_tensor *drawn_bias(at_tape *t, const sdpa_problem *p, at_tensor *bias)
{
    if (!p->infinities) return bias;
    at_tensor *where = at_bools(t, p->bias, NULL);
    for (ptrdiff_t i = 0; where && i < at_count(p->bias); i++)
        at_store(ATTIC_BOOL, where->data, i, sdpa_infinite_at(p, i));
    return at_masked_fill(t, bias, where, -(double)INFINITY);
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

/* What is looked at: O, the weights, or both side by side, so that a random cotangent reaches both. */
static at_tensor *drawn_output(at_tape *t, const sdpa_problem *p, at_tensor *O, at_tensor *weights)
{
    if (!O || p->weights < SDPA_BESIDE_O) return O;
    if (p->weights == SDPA_ALONE) return weights;
    O = at_reshape(t, O, at_shape_of(-1));
    weights = at_reshape(t, weights, at_shape_of(-1));
    return at_concat(t, (at_tensor *[]){O, weights}, 2, 0);
}

static at_tensor *case_drawn(at_tape *t, at_tensor **in, void *ctx)
{
    const drawn_row *row = ctx;
    const sdpa_problem *p = row->p;
    at_sdpa_args a = p->args;
    at_tensor *weights = NULL, *scores, *probs, *lse;
    at_tensor *Q = drawn_operand(t, p, 0, p->Q, &in), *K = Q, *V = Q;
    if (p->same < SDPA_Q_IS_K) V = K = drawn_operand(t, p, 1, p->K, &in);
    if (p->same == SDPA_ALL_DIFFER || p->same == SDPA_Q_IS_K) V = drawn_operand(t, p, 2, p->V, &in);
    if (p->has_bias) a.bias = drawn_bias(t, p, drawn_operand(t, p, 3, p->bias, &in));
    if (p->has_keep) a.keep = drawn_keep(t, p);
    if (p->has_key_len) a.key_len = drawn_key_len(t, p);
    if (p->weights != SDPA_NO_WEIGHTS) a.weights = &weights;
    if (p->scores) a.scores = &scores;
    if (p->probs) a.probs = &probs;
    if (p->lse) a.lse = &lse;
    a.path = row->path;
    at_tensor *O = at_sdpa(t, Q, K, V, a);
    return drawn_output(t, p, O, weights);
}

/* ------------------------------------------------------------------ the rows ------------------- */

/* The shapes of the inputs, as a row of the table has them. */
static void write_inputs(drawn_problem *d)
{
    const sdpa_problem *p = &d->p;
    const at_shape shape[] = {p->Q, p->K, p->V, p->bias};
    bool is_input[] = {true, p->same < SDPA_Q_IS_K,
                       p->same == SDPA_ALL_DIFFER || p->same == SDPA_Q_IS_K, p->has_bias};
    size_t n = 0;
    for (int i = 0; i < 4; i++)
        if (is_input[i] && !p->constant[i])
            n += (size_t)snprintf(d->in + n, sizeof d->in - n, "%s%s", n ? " " : "",
                                  at_shape_text(shape[i]));
}

/* The drops of problem i, on the tape that at_case_check opens. */
static at_stream drops_of(int i)
{
    return (at_stream){(uint64_t)i + 1, 0};
}

/* How welcome a candidate is.  Rounding errors alone are nothing that differences could agree with. */
static int worth(const sdpa_pairs *pairs, const sdpa_problem *p, at_stream drops)
{
    sdpa_effect effect = sdpa_effect_of(p, drops);
    if (effect == SDPA_ROUNDING) return -1;
    return 4 * sdpa_pairs_new(pairs, p) + (effect == SDPA_MOVES);
}

static void draw_problems(void)
{
    static sdpa_pairs pairs;
    int seed = 0;
    for (int i = 0; i < AT_DRAWN_PROBLEMS; i++) {
        int most = -1;
        for (int c = 0; c < CANDIDATES || most < 0; c++) {
            sdpa_problem p = sdpa_draw(seed++, SDPA_TINY);
            int is_worth = worth(&pairs, &p, drops_of(i));
            if (is_worth > most) most = is_worth, drawn[i].p = p;
        }
        sdpa_pairs_count(&pairs, &drawn[i].p);
        write_inputs(&drawn[i]);
    }
}

const sdpa_problem *at_drawn_problem(int i)
{
    if (!*drawn[0].in) draw_problems();
    return &drawn[i].p;
}

const at_case *at_case_drawn(int i)
{
    static const char *const path_name[PATHS] = {"fused", "plain", "composed"};
    static drawn_row row[PATHS * AT_DRAWN_PROBLEMS];
    static at_case cases[PATHS * AT_DRAWN_PROBLEMS];
    if (i >= PATHS * AT_DRAWN_PROBLEMS) return NULL;
    const sdpa_problem *p = at_drawn_problem(i / PATHS);
    row[i] = (drawn_row){.p = p, .path = (at_sdpa_path)(i % PATHS)};
    snprintf(row[i].note, sizeof row[i].note, "drawn %d, %s", i / PATHS, path_name[i % PATHS]);
    cases[i] = (at_case)ROW("sdpa", drawn[i / PATHS].in, case_drawn, .ctx = &row[i],
                            .note = row[i].note, .seed = i / PATHS, .drawn = p);
    if (sdpa_effect_of(p, drops_of(i / PATHS)) == SDPA_ZERO) cases[i].expect = ATTIC_VACUOUS;
    return &cases[i];
}
