/* trace_print.c -- the steps of course/trace.c, printed; see trace.h. */
#include "trace.h"

#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ sections ------------------- */

/* The formula without what is off here: dA_ij = dO_i . V_j (+ dW_ij) */
static int formula_length(const char *formula)
{
    int n = 0;
    while (formula[n] && !(formula[n] == ' ' && formula[n + 1] == '(' && formula[n + 2] == '+'))
        n++;
    return n;
}

static void section_title(steps_name what)
{
    const steps_text *s = &steps_texts[what];
    trace_title("%d %s: %.*s", s->step, steps_names[s->step], formula_length(s->formula),
                s->formula);
}

/* "off", and what that means */
static bool section_off(const trace *t, int step, const char *means)
{
    if (trace_step_is_on(t, step)) return false;
    trace_title("%d %s: off", step, steps_names[step]);
    trace_say(0, "%s", means);
    return true;
}

/* What is a product of two matrices; a transposed one has its rows and columns exchanged. */
static const struct {
    steps_name what, left, right;
    bool transpose_left, transpose_right;
} products[] = {
    {STEPS_R, STEPS_Q, STEPS_K, false, true},    {STEPS_O, STEPS_A, STEPS_V, false, false},
    {STEPS_DV, STEPS_A, STEPS_DO, true, false},  {STEPS_DA, STEPS_DO, STEPS_V, false, true},
    {STEPS_DQ, STEPS_DR, STEPS_K, false, false}, {STEPS_DK, STEPS_DR, STEPS_Q, true, false}};

static void print_factor(const trace *t, steps_name what, bool transpose, const char *after)
{
    int dim[3];
    steps_dims(t->a, what, dim);
    printf("%s%s [%d,%d]%s", steps_texts[what].name, transpose ? "^T" : "", dim[1 + transpose],
           dim[2 - transpose], after);
}

static void print_shape(const trace *t, steps_name what)
{
    for (size_t k = 0; k < sizeof products / sizeof products[0]; k++) {
        if (products[k].what != what) continue;
        print_factor(t, products[k].left, products[k].transpose_left, "  ");
        print_factor(t, products[k].right, products[k].transpose_right, "  ->  ");
    }
    if (what == STEPS_DELTA)
        printf("delta [%d]\n", t->a->p.T);
    else
        print_factor(t, what, false, "\n");
}

static void begin(const trace *t, steps_name what)
{
    section_title(what);
    trace_say(0, "%s", steps_texts[what].sentence);
    print_shape(t, what);
    if (t->o.quiz) trace_ask(t, what);
}

static void work(const trace *t, steps_name what)
{
    const char *text = trace_worked(t, what);
    if (*text) trace_say(4, "%s", text);
}

static void forward_section(const trace *t, steps_name what)
{
    begin(t, what);
    trace_matrix(t, what, NULL, NULL);
    work(t, what);
}

static void backward_section(const trace *t, steps_name what)
{
    begin(t, what);
    trace_matrix(t, what, NULL, &t->numerical[what]);
    work(t, what);
}

/* ------------------------------------------------------------------ given ---------------------- */

static void print_options(const trace *t)
{
    const steps_problem *p = &t->a->p;
    printf("T = %d queries and N = %d keys of size D = %d, values of size Dv = %d, seed %d.\n",
           p->T, p->N, p->D, p->Dv, t->o.seed);
    const char *before = "";
    for (int step = 3; step <= 7; step++) {
        if (trace_step_is_on(t, step)) continue;
        printf("%s%s", *before ? before : "Off: ", steps_names[step]);
        before = ", ";
    }
    if (*before) printf(".\n");
}

static void print_mistake(const trace *t)
{
    const mistake_text *m = &mistakes_texts[t->mistake];
    if (t->mistake == MISTAKE_NONE) return;
    printf("\n");
    trace_say(0, "There is a mistake in the backward below, \"%s\": %s", m->name, m->sentence);
    trace_say(0, "The numerical values know nothing of it.  Where does it show?");
    printf("\n");
}

static void print_opening(const trace *t)
{
    printf(
        "How does attention compute its output, and how does each number in it change the loss?\n"
        "Look at the backward: each gradient stands beside its numerical value; they must agree.\n"
        "\nO = dropout(softmax(mask(softcap(c Q K^T) + bias))) V        loss = sum_id dO_id "
        "O_id\n");
    print_options(t);
    print_mistake(t);
    const char *hidden = trace_hidden(t, t->i, t->j);
    bool dropped = !hidden && *steps_cell(t->a, STEPS_Z, 0, t->i, t->j) == 0;
    trace_say(0, "One cell is worked out in every step: query q%d, key k%d%s%s%s.", t->i, t->j,
              hidden ? ", which is masked (" : "", hidden ? hidden : "",
              hidden    ? ")"
              : dropped ? ", which is dropped"
                        : "");
    if (t->o.quiz) trace_say_how_to_answer();
}

static void given(const trace *t, steps_name what, const char *text)
{
    printf("\n");
    print_factor(t, what, false, "");
    printf(": %s", text);
    trace_matrix(t, what, NULL, NULL);
}

static void print_given(const trace *t)
{
    trace_title("Given");
    trace_say(0, "Rows and columns have names: q0 is query 0, k0 key 0, d0 element 0 of a vector.");
    if (t->o.self) {
        printf("\nQ = K = V [%d,%d]: each token, t0 ..., is query, key and value", t->a->p.T,
               t->a->p.D);
        trace_matrix(t, STEPS_Q, NULL, NULL);
    } else {
        given(t, STEPS_Q, "a query in each row");
        given(t, STEPS_K, "a key in each row");
        given(t, STEPS_V, "the value of each key");
    }
    if (trace_step_is_on(t, 4)) given(t, STEPS_BIAS, "what is added to the scores, in step 4");
}

/* ------------------------------------------------------------------ the forward ---------------- */

static void print_scale(const trace *t)
{
    begin(t, STEPS_X);
    const char *scale = t->o.scale == 0 ? "1/sqrt(D)"
                        : t->o.paper    ? "--scale, which --paper sets to 1 (else 1/sqrt(D))"
                                        : "--scale";
    if (t->o.temperature == 1)
        trace_say(0, "c = %s = %.4g", scale, t->a->c);
    else
        trace_say(0, "c = %s / temperature = %.4g / %.4g = %.4g", scale, t->a->c * t->o.temperature,
                  t->o.temperature, t->a->c);
    trace_matrix(t, STEPS_X, NULL, NULL);
    work(t, STEPS_X);
}

static void print_bias(const trace *t)
{
    const steps *a = t->a;
    double sum[TRACE_CELLS];
    for (int i = 0; i < a->p.T; i++)
        for (int j = 0; j < a->p.N; j++)
            sum[i * a->p.N + j] =
                *steps_cell(a, STEPS_U, 0, i, j) + *steps_cell(a, STEPS_BIAS, 0, i, j);
    begin(t, STEPS_S);
    trace_matrix(t, STEPS_S, sum, NULL);
    work(t, STEPS_S);
}

static bool some_bias_masks(const trace *t)
{
    for (ptrdiff_t e = 0; e < steps_size(t->a, STEPS_BIAS); e++)
        if (t->a->at[STEPS_BIAS][e] == -(double)INFINITY) return true;
    return false;
}

static void print_mask(const trace *t)
{
    const steps_problem *p = &t->a->p;
    if (section_off(t, 5, "Every query attends to every key.")) return;
    trace_title("5 mask: row i attends to key j where all of these allow it");
    if (*t->o.mask) trace_say(0, "--mask %s, 1 = attend", t->o.mask);
    if (t->o.causal)
        trace_say(
            0,
            "causal: j <= i + N - T = i + %d - %d.  The last query stands at the last key, so "
            "query i stands at key i + N - T, and reads the keys up to that one.",
            p->N, p->T);
    if (t->left)
        trace_say(0, "window, %d to the left with its own: j > p - %d, p = i + N - T", t->left,
                  t->left);
    if (t->right)
        trace_say(0, "window, %d to the right with its own: j < p + %d, p = i + N - T", t->right,
                  t->right);
    if (some_bias_masks(t)) trace_say(0, "bias: is not -inf");
    trace_say(0, "From here on, what is masked is not read; S is shown as -inf there.");
    print_shape(t, STEPS_S);
    trace_matrix(t, STEPS_S, NULL, NULL);
    if (trace_hidden(t, t->i, t->j))
        work(t, STEPS_S);
    else
        trace_say(4, "query q%d attends to key k%d", t->i, t->j);
}

static bool row_is_empty(const trace *t, int i)
{
    for (int j = 0; j < t->a->p.N; j++)
        if (!trace_hidden(t, i, j)) return false;
    return true;
}

static void print_softmax(const trace *t)
{
    begin(t, STEPS_P);
    trace_say(0, "The sum runs over the keys that row i attends to.  Computed is exp(S_ij - m_i) / "
                 "sum_k exp(S_ik - m_i) with m_i = max_k S_ik: m_i cancels, and exp cannot "
                 "overflow.");
    for (int i = 0; i < t->a->p.T; i++)
        if (row_is_empty(t, i))
            trace_say(0, "Row q%d attends to no key and has no distribution: its P, O, dS are 0.",
                      i);
    trace_matrix(t, STEPS_P, NULL, NULL);
    work(t, STEPS_P);
}

static void print_dropout(const trace *t)
{
    const double p = t->a->p.dropout;
    if (section_off(t, 7, "No weight is dropped: A, the weights that are multiplied with V, is P."))
        return;
    begin(t, STEPS_A);
    trace_say(0, "z_ij is 0 with probability %g, else 1/(1 - %g) = %.4f.  z, as it was drawn:", p,
              p, 1 / (1 - p));
    trace_matrix(t, STEPS_Z, NULL, NULL);
    printf("\nA = z P:");
    trace_matrix(t, STEPS_A, NULL, NULL);
    work(t, STEPS_A);
}

static void print_forward(const trace *t)
{
    forward_section(t, STEPS_R);
    if (t->o.self)
        trace_say(4, "symmetric, as Q = K; the weights need not be: each row has a sum of its own");
    print_scale(t);
    if (!section_off(t, 3, "U = X")) forward_section(t, STEPS_U);
    if (!section_off(t, 4, "S = U")) print_bias(t);
    print_mask(t);
    print_softmax(t);
    print_dropout(t);
    forward_section(t, STEPS_O);
    if (trace_step_is_on(t, 7))
        trace_say(4, "the weights of a row sum to 1 only on average: an output may lie outside of "
                     "its values");
}

/* ------------------------------------------------------------------ what a derivative is ------- */

static void print_example(const trace *t)
{
    int i, j;
    if (!trace_example(t, &i, &j)) {
        trace_title("How a numerical value comes about");
        trace_say(0, "No query attends to any key: the output is 0, and nothing moves the loss.");
        return;
    }
    double S = *steps_cell(t->a, STEPS_S, 0, i, j), h = trace_step_of(S);
    double up = trace_loss_at(t, i, j, h), down = trace_loss_at(t, i, j, -h);
    trace_title("How a numerical value comes about: dS[q%d,k%d]", i, j);
    trace_say(0,
              "No formula of the backward is needed: move S[q%d,k%d] = %.4f by h, up and down, "
              "compute all that follows again, and see how the loss, now called L(h), moves.",
              i, j, trace_shown(S));
    printf("\n    h = %.10g\n    L(h)  = %.15f\n    L(-h) = %.15f\n"
           "    two points: (L(h) - L(-h)) / 2h = %.12f / %.10g = %.10f\n\n",
           h, up, down, up - down, 2 * h, (up - down) / (2 * h));
    trace_say(0,
              "This is off by about h^2, as the loss is no straight line.  A smaller h is not the "
              "way out: L is a double and has 16 digits, and the rounding of the last one is "
              "divided by 2h.  "
              "Better are five points, of which the middle one drops out: "
              "(8 (L(h) - L(-h)) - (L(2h) - L(-2h))) / 12h.  They are off by about h^4, so that a "
              "larger h will do.  Compare how many digits are right:");
    printf("\n              h           two points          five points\n");
    static const int halvings[] = {2, 6, 10, 14, 18, 26, 34};
    for (size_t k = 0; k < sizeof halvings / sizeof halvings[0]; k++) {
        double step = ldexp(1024 * h, -halvings[k]);
        printf("    %11.3e %20.12f %20.12f%s\n", step, trace_two_points(t, i, j, step),
               trace_five_points(t, i, j, step), halvings[k] == 10 ? "   <- the h above" : "");
    }
    printf("    %11s %20.12f\n\n", "by formula", *steps_cell(t->a, STEPS_DS, 0, i, j));
    trace_say(0,
              "The best h for five points is 2^-10 times max(1, |S|), rounded up to a power of 2 "
              "(src/gradcheck/gradcheck.c says why).  Where a function is bent more than that, a "
              "smaller one is better: for each element below, up to 32 steps are tried, and the "
              "result is taken that agrees best with those of the steps beside it.");
}

/* ------------------------------------------------------------------ the backward --------------- */

static void print_loss(const trace *t)
{
    trace_title("Backward. Given: dO = d(loss)/dO");
    trace_say(0, "%s  Of loss = sum_id dO_id O_id it is exactly the matrix dO.",
              steps_texts[STEPS_DO].sentence);
    print_shape(t, STEPS_DO);
    trace_matrix(t, STEPS_DO, NULL, NULL);
    printf("\n    loss = %.4f\n\n", trace_shown(steps_loss(t->a)));
    trace_say(0,
              "A d before the name of a matrix stands for the gradient of the loss by it: dQ is "
              "d(loss)/dQ, dS is d(loss)/dS.  The steps follow in reverse order, each gradient "
              "twice: \"by the formula\", and \"numerically\" beside it or, where it is too wide, "
              "below.");
}

static void print_jacobian(const trace *t)
{
    trace_title("6 softmax: the Jacobian of a row, d/dS_k P_j = P_j ([j=k] - P_k)");
    trace_say(0,
              "Row j, column k: how P_j of row q%d moves with S_k; [j=k] is 1 if j = k, else 0.  A "
              "score moves all "
              "probabilities of its row; as these sum to 1, every row and column of J sums to 0.",
              t->i);
    printf("J [%d,%d]\n", t->a->p.N, t->a->p.N);
    trace_square(t, t->J, &t->jacobian);
    double P = *steps_cell(t->a, STEPS_P, 0, t->i, t->j);
    trace_say(4, "J[k%d,k%d] = %.4f * (1 - %.4f) = %.4f", t->j, t->j, P, P,
              t->J[t->j * t->a->p.N + t->j]);
}

static void print_delta(const trace *t)
{
    const steps *a = t->a;
    begin(t, STEPS_DELTA);
    if (t->o.quiz) printf("\n");
    trace_say(0,
              "The output contains it already: as dP_ij = z_ij dO_i . V_j and A = z P, "
              "sum_j P_ij dP_ij = sum_j A_ij dO_i . V_j = dO_i . O_i.  Numerically: how the loss "
              "moves when row i of P is multiplied by 1 + h.");
    printf("\n          delta   dO . O   numerically\n");
    for (int i = 0; i < a->p.T; i++) {
        double other = 0;
        for (int d = 0; d < a->p.Dv; d++)
            other += *steps_cell(a, STEPS_DO, 0, i, d) * *steps_cell(a, STEPS_O, 0, i, d);
        double delta = a->at[STEPS_DELTA][i], n = t->delta.n[i];
        bool agree = trace_same(t, STEPS_DELTA, i, 0, other) &&
                     trace_agrees(delta, &t->delta, i, trace_largest(t, STEPS_DELTA));
        printf("    q%d%9.4f%9.4f%14.4f%s\n", i, trace_shown(delta), trace_shown(other),
               trace_shown(n), agree ? "" : "   DIFFERS");
    }
    work(t, STEPS_DELTA);
}

/* "(J dP)[k1] = -0.14*5 + 0.16*6 + -0.02*2" */
void trace_product(const trace *t, int j, char *text, size_t size)
{
    const steps *a = t->a;
    const int N = a->p.N;
    const double *dP = steps_cell(a, STEPS_DP, 0, t->i, 0);
    size_t n = (size_t)snprintf(text, size, "(J dP)[k%d] = ", j);
    for (int k = 0; k < N && n < size; k++)
        n += (size_t)snprintf(text + n, size - n, "%s%.4g*%.4g", k ? " + " : "",
                              t->J[j * N + k] + 0.0, dP[k] + 0.0); /* -0 + 0 is 0 */
}

/* J dP beside P (dP - delta), for the row that is worked out */
static void print_product(const trace *t)
{
    const steps *a = t->a;
    const int N = a->p.N, i = t->i, j = t->j;
    const double *dP = steps_cell(a, STEPS_DP, 0, i, 0), *dS = steps_cell(a, STEPS_DS, 0, i, 0);
    char sum[1000];
    trace_title("6 softmax: J dP is P (dP - delta)");
    trace_say(0,
              "Row q%d of dS three times: with the whole Jacobian, J dP; with delta alone, P (dP - "
              "delta); and numerically.  One number for each row replaces %d x %d of them.",
              i, N, N);
    printf("\n             dP     J dP   P (dP - delta)   numerically\n");
    for (int k = 0; k < N; k++)
        printf("    k%d%9.4f%9.4f%17.4f%14.4f%s\n", k, trace_shown(dP[k]),
               trace_shown(t->product[k]), trace_shown(dS[k]),
               trace_shown(t->numerical[STEPS_DS].n[i * N + k]),
               trace_same(t, STEPS_DS, i, k, t->product[k]) ? "" : "   DIFFERS");
    trace_product(t, j, sum, sizeof sum);
    trace_say(4, "%s = %.4f", sum, trace_shown(t->product[j]));
}

static void print_backward(const trace *t)
{
    if (!t->o.quiz) print_example(t);
    backward_section(t, STEPS_DV);
    backward_section(t, STEPS_DA);
    if (t->masked)
        trace_say(4, "a masked cell is not read: dA is 0 there, whatever dO_i . V_j may be");
    if (section_off(t, 7, "No weight was dropped: A = P, so dP = dA."))
        trace_differing(t, STEPS_DP);
    else
        backward_section(t, STEPS_DP);
    print_jacobian(t);
    print_delta(t);
    backward_section(t, STEPS_DS);
    print_product(t);
    if (t->o.quiz) print_example(t);
    if (!section_off(t, 5, "Nothing is masked.")) {
        trace_title("5 mask: dS_ij = 0 where masked");
        trace_say(0, "P_ij is the constant 0 there, and nothing of the cell is read.");
    }
    if (!section_off(t, 4, "dU = dS")) {
        backward_section(t, STEPS_DBIAS);
        trace_say(4, "dU = dS: S moves by as much as U");
    }
    trace_differing(t, STEPS_DU);
    if (section_off(t, 3, "dX = dU"))
        trace_differing(t, STEPS_DX);
    else
        backward_section(t, STEPS_DX);
    backward_section(t, STEPS_DR);
    backward_section(t, STEPS_DQ);
    backward_section(t, STEPS_DK);
}

static void print_sum(const trace *t)
{
    trace_title("Q = K = V: dQ + dK + dV");
    trace_say(0,
              "The matrix is used three times, as Q, as K and as V, so its gradient is a sum of "
              "three.  The numerical value here moves an element in all three; those above moved "
              "it in one alone.");
    printf("[%d,%d]\n", t->a->p.T, t->a->p.D);
    trace_matrix(t, STEPS_Q, t->sum, &t->all);
    int e = t->i * t->a->p.D;
    trace_say(4, "sum[t%d,d0] = %.4f + %.4f + %.4f = %.4f", t->i,
              trace_shown(t->a->at[STEPS_DQ][e]), trace_shown(t->a->at[STEPS_DK][e]),
              trace_shown(t->a->at[STEPS_DV][e]), trace_shown(t->sum[e]));
}

/* ------------------------------------------------------------------ the end -------------------- */

static void print_op(const trace *t)
{
    trace_title("The same in one op: at_sdpa, and at_backward_from(O, dO)");
    trace_say(0, "Largest differences from the numbers above, relative to the terms that are "
                 "summed; 1e-16 is rounding:");
    printf("\n   ");
    for (int k = 0; k < t->n_op; k++)
        printf("%s %s %.1e%s", k ? "," : "", t->op[k].name, t->op[k].off,
               t->op[k].agrees ? "" : " DIFFERS");
    printf("\n");
}

static void print_identities(const trace *t)
{
    trace_title("What must be equal in every right backward");
    trace_say(0, "These need no second forward; but a wrong backward may satisfy some of them.");
    printf("\n");
    for (int k = 0; k < t->identities; k++) {
        const trace_identity *x = &t->identity[k];
        char at[16] = "";
        if (x->letter != ' ') snprintf(at, sizeof at, "%c%d", x->letter, x->at);
        double left = x->holds ? trace_shown(x->left) : x->left;
        double right = x->holds ? trace_shown(x->right) : x->right;
        printf("    %-45s%4s%14.6g%14.6g%s\n", x->formula, at, left, right,
               x->holds ? "" : "   DIFFERS");
    }
}

static void print_mistake_seen(const trace *t)
{
    const mistake_text *m = &mistakes_texts[t->mistake];
    int broken = 0;
    for (int k = 0; k < t->identities; k++) broken += !t->identity[k].holds;
    if (!t->count.differ) {
        trace_say(0,
                  "The mistake \"%s\" changes nothing here: all %d elements agree with their "
                  "numerical values.  Other sizes or options may show it.",
                  m->name, t->count.compared);
        return;
    }
    trace_say(0, "The mistake \"%s\" was noticed: %d comparisons DIFFER.", m->name,
              t->count.differ);
    if (broken)
        trace_say(0, "%d of the %d identities above %s not hold.", broken, t->identities,
                  broken == 1 ? "does" : "do");
    else
        trace_say(0, "All %d identities above hold: they do not notice it.", t->identities);
    trace_say(0, "A hint for who finds such numbers in a backward: %s", m->hint);
}

static void print_closing(const trace *t)
{
    trace_title("What was seen");
    if (t->mistake)
        print_mistake_seen(t);
    else if (t->count.differ)
        trace_say(0, "%d of the numbers above DIFFER where they should be the same.",
                  t->count.differ);
    else
        trace_say(
            0,
            "%d elements agree with their numerical values: the largest difference is %.0e of "
            "the largest element of its matrix.  delta is dO . O, J dP is P (dP - "
            "delta), and at_sdpa computes the same in one op.",
            t->count.compared, t->count.worst);
}

void trace_print(const trace *t)
{
    print_opening(t);
    print_given(t);
    print_forward(t);
    print_loss(t);
    print_backward(t);
    if (t->o.self) print_sum(t);
    print_identities(t);
    print_op(t);
    print_closing(t);
    if (t->o.quiz) trace_score();
}
