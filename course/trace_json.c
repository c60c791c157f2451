/* trace_json.c -- what course/trace prints, as JSON; course/trace.schema.json describes it.
 *
 * Numbers have 17 significant digits, which give back the same double; -infinity is the string
 * "-inf".  A mistake in the backward may give "inf" and "nan", too.  The order of keys is fixed. */
#include "trace.h"

#include <math.h>

/* ------------------------------------------------------------------ values --------------------- */

void trace_json_number(double x)
{
    if (isfinite(x))
        printf("%.17g", x + 0.0); /* -0 + 0 is 0 */
    else
        printf("\"%s\"", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

void trace_json_string(const char *s)
{
    printf("\"");
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if ((unsigned char)*s < ' ')
            printf("\\u%04x", *s);
        else
            printf("%c", *s);
    printf("\"");
}

void trace_json_text(const char *key, const char *value)
{
    printf(", \"%s\": ", key);
    trace_json_string(value ? value : "");
}

/* [[1, 2], [3, 4]], a row in each line */
static void put_matrix(const char *key, const double *x, int rows, int columns)
{
    printf(",\n     \"%s\": [", key);
    for (int i = 0; i < rows; i++) {
        printf("%s[", i ? ",\n       " : "");
        for (int j = 0; j < columns; j++) {
            if (j) printf(", ");
            trace_json_number(x[i * columns + j]);
        }
        printf("]");
    }
    printf("]");
}

static void put_vector(const char *key, const double *x, int n)
{
    printf(",\n     \"%s\": [", key);
    for (int i = 0; i < n; i++) {
        if (i) printf(", ");
        trace_json_number(x[i]);
    }
    printf("]");
}

/* ------------------------------------------------------------------ parts ---------------------- */

static void put_options(const trace *t)
{
    const steps_problem *p = &t->a->p;
    printf("  \"sizes\": {\"T\": %d, \"N\": %d, \"D\": %d, \"Dv\": %d},\n", p->T, p->N, p->D,
           p->Dv);
    printf("  \"options\": {\"self\": %s, \"c\": ", t->o.self ? "true" : "false");
    trace_json_number(t->a->c);
    printf(", \"softcap\": ");
    trace_json_number(p->softcap);
    printf(", \"bias\": %s, \"dropout\": ", p->bias_N ? "true" : "false");
    trace_json_number(p->dropout);
    printf(",\n    \"causal\": %s, \"window_left\": %d, \"window_right\": %d, \"seed\": %d},\n",
           t->o.causal ? "true" : "false", t->left, t->right, t->o.seed);
    printf("  \"steps\": [");
    for (int step = 1; step <= TRACE_STEPS; step++)
        printf("%s{\"step\": %d, \"name\": \"%s\", \"on\": %s}", step > 1 ? ",\n    " : "", step,
               steps_names[step], trace_step_is_on(t, step) ? "true" : "false");
    printf("],\n");
}

static void put_cell(const trace *t)
{
    const char *hidden = trace_hidden(t, t->i, t->j);
    bool dropped = *steps_cell(t->a, STEPS_Z, 0, t->i, t->j) == 0;
    printf("  \"cell\": {\"query\": %d, \"key\": %d, \"state\": \"%s\"", t->i, t->j,
           hidden    ? "masked"
           : dropped ? "dropped"
                     : "kept");
    trace_json_text("because", hidden);
    printf("},\n");
}

static bool is_there(const trace *t, steps_name what)
{
    return what != STEPS_DW && steps_size(t->a, what) > 0;
}

static void put_tensor(const trace *t, steps_name what)
{
    const steps_text *s = &steps_texts[what];
    int dim[3];
    steps_dims(t->a, what, dim);
    printf("    {\"name\": \"%s\", \"step\": %d", s->name, s->step);
    trace_json_text("gradient_of",
                    s->gradient_of < STEPS_COUNT ? steps_texts[s->gradient_of].name : "");
    if (what == STEPS_DELTA)
        printf(", \"shape\": [%d]", dim[1]);
    else
        printf(", \"shape\": [%d, %d]", dim[1], dim[2]);
    printf(",\n     \"formula\": ");
    trace_json_string(s->formula);
    printf(",\n     \"sentence\": ");
    trace_json_string(s->sentence);
    printf(",\n     \"question\": ");
    trace_json_string(s->question ? s->question : "");
    printf(",\n     \"answer\": ");
    trace_json_string(s->answer ? s->answer : "");
    printf(",\n     \"worked\": ");
    trace_json_string(trace_worked(t, what));
    const bool gradient = s->step > 0 && s->gradient_of < STEPS_COUNT;
    const trace_values *v = what == STEPS_DELTA ? &t->delta : gradient ? &t->numerical[what] : NULL;
    const double *values = t->a->at[what];
    if (t->o.quick) v = NULL;
    if (what == STEPS_DELTA) {
        put_vector("values", values, dim[1]);
        if (v) put_vector("numerical", v->n, dim[1]);
        if (v) put_vector("unsure", v->unsure, dim[1]);
    } else {
        put_matrix("values", values, dim[1], dim[2]);
        if (v) put_matrix("numerical", v->n, dim[1], dim[2]);
        if (v) put_matrix("unsure", v->unsure, dim[1], dim[2]);
    }
    printf("}");
}

static void put_jacobian(const trace *t)
{
    const int N = t->a->p.N;
    printf("  \"jacobian\":\n    {\"row\": %d, \"shape\": [%d, %d]", t->i, N, N);
    trace_json_text("formula", "J_jk = d/dS_ik P_ij = P_ij (1[j=k] - P_ik)");
    put_matrix("values", t->J, N, N);
    if (!t->o.quick) put_matrix("numerical", t->jacobian.n, N, N);
    if (!t->o.quick) put_matrix("unsure", t->jacobian.unsure, N, N);
    put_vector("times_dP", t->product, N);
    printf("},\n");
}

/* How the numerical value of one dS comes about; null if nothing is kept. */
static void put_difference(const trace *t)
{
    int i, j;
    printf("  \"difference\": ");
    if (!trace_example(t, &i, &j)) {
        printf("null,\n");
        return;
    }
    double S = *steps_cell(t->a, STEPS_S, 0, i, j), h = trace_step_of(S);
    printf("{\"of\": \"S\", \"query\": %d, \"key\": %d, \"h\": ", i, j);
    trace_json_number(h);
    printf(",\n    \"loss_up\": ");
    trace_json_number(trace_loss_at(t, i, j, h));
    printf(", \"loss_down\": ");
    trace_json_number(trace_loss_at(t, i, j, -h));
    printf(",\n    \"two_points\": ");
    trace_json_number(trace_two_points(t, i, j, h));
    printf(", \"five_points\": ");
    trace_json_number(trace_five_points(t, i, j, h));
    printf(", \"by_formula\": ");
    trace_json_number(*steps_cell(t->a, STEPS_DS, 0, i, j));
    printf("},\n");
}

static void put_sum_of_uses(const trace *t)
{
    printf("  \"sum_of_uses\":\n    {\"shape\": [%d, %d]", t->a->p.T, t->a->p.D);
    put_matrix("values", t->sum, t->a->p.T, t->a->p.D);
    if (!t->o.quick) put_matrix("numerical", t->all.n, t->a->p.T, t->a->p.D);
    if (!t->o.quick) put_matrix("unsure", t->all.unsure, t->a->p.T, t->a->p.D);
    printf("},\n");
}

static void put_identities(const trace *t)
{
    printf("  \"identities\": [");
    for (int k = 0; k < t->identities; k++) {
        const trace_identity *x = &t->identity[k];
        char at[16] = "";
        if (x->letter != ' ') snprintf(at, sizeof at, "%c%d", x->letter, x->at);
        printf("%s{\"name\": \"%s\", \"formula\": \"%s\", \"at\": \"%s\", \"left\": ",
               k ? ",\n    " : "", x->name, x->formula, at);
        trace_json_number(x->left);
        printf(", \"right\": ");
        trace_json_number(x->right);
        printf(", \"holds\": %s}", x->holds ? "true" : "false");
    }
    printf("]");
}

/* What at_sdpa and the numerical values say. */
void trace_json_comparison(int n, const trace_op *op, const trace_count *count)
{
    printf(",\n  \"op\": [");
    for (int k = 0; k < n; k++) {
        printf("%s{\"name\": \"%s\", \"off\": ", k ? ",\n    " : "", op[k].name);
        trace_json_number(op[k].off);
        printf(", \"agrees\": %s}", op[k].agrees ? "true" : "false");
    }
    printf("],\n  \"compared\": %d,\n  \"differ\": %d", count->compared, count->differ);
}

void trace_json_mistake(const mistake_text *s)
{
    printf("{\"name\": ");
    trace_json_string(s->name);
    trace_json_text("sentence", s->sentence);
    trace_json_text("hint", s->hint);
    printf("}");
}

void trace_json(const trace *t)
{
    const char *comma = "";
    printf("{\n  \"command\": ");
    trace_json_string(t->command);
    printf(",\n");
    put_options(t);
    printf("  \"mistake\": ");
    if (t->mistake)
        trace_json_mistake(&mistakes_texts[t->mistake]);
    else
        printf("null");
    printf(",\n");
    put_cell(t);
    printf("  \"loss\": ");
    trace_json_number(steps_loss(t->a));
    printf(",\n  \"tensors\": [\n");
    for (steps_name what = 0; what < STEPS_COUNT; what++) {
        if (!is_there(t, what)) continue;
        printf("%s", comma);
        put_tensor(t, what);
        comma = ",\n";
    }
    printf("],\n");
    put_jacobian(t);
    if (!t->o.quick) put_difference(t);
    if (t->o.self) put_sum_of_uses(t);
    put_identities(t);
    if (!t->o.quick) trace_json_comparison(t->n_op, t->op, &t->count);
    printf("\n}\n");
}
