/* trace_block_json.c -- trace --block --json; see course/trace.schema.json. */
#include "trace_block.h"

#include <stdio.h>

/* One dimension for each entry of dim that is used; the numbers are laid out row by row. */
static void put_nested(const double *x, int n, const int *dim, int indent)
{
    ptrdiff_t stride = 1;
    for (int k = 1; k < n; k++) stride *= dim[k];
    printf("[");
    for (int i = 0; i < dim[0]; i++) {
        if (i) printf(n > 1 ? ",\n%*s" : ", ", indent, "");
        if (n > 1)
            put_nested(x + i * stride, n - 1, dim + 1, indent + 1);
        else
            trace_json_number(x[i]);
    }
    printf("]");
}

/* [H,T,T], delta [H,T], else [rows,columns]; returns how many dimensions there are. */
static int shape_of(const block *b, block_name what, int shape[3])
{
    const int *dim = b->dim[what];
    int n = 0;
    if (what == BLOCK_DELTA || dim[0] > 1 || (what >= BLOCK_R && what <= BLOCK_P))
        shape[n++] = dim[0];
    shape[n++] = dim[1];
    if (what != BLOCK_DELTA) shape[n++] = dim[2];
    return n;
}

static void put_values(const char *key, const double *x, int n, const int *shape)
{
    printf(",\n     \"%s\": ", key);
    put_nested(x, n, shape, 8);
}

/* Numerical values lie by head. */
static void put_numerical(const block_trace *t, block_name what, int n, const int *shape)
{
    double x[TRACE_MAX * TRACE_CELLS], unsure[TRACE_MAX * TRACE_CELLS];
    const int heads = t->b->dim[what][0];
    const ptrdiff_t size = block_size(t->b, what) / heads;
    for (int h = 0; h < heads; h++)
        for (ptrdiff_t e = 0; e < size; e++) {
            x[h * size + e] = t->numerical[what][h].n[e];
            unsure[h * size + e] = t->numerical[what][h].unsure[e];
        }
    put_values("numerical", x, n, shape);
    put_values("unsure", unsure, n, shape);
}

static void put_tensor(const block_trace *t, block_name what)
{
    const block_text *s = &block_texts[what];
    int shape[3];
    const int n = shape_of(t->b, what, shape);
    printf("    {\"name\": \"%s\"", s->name);
    trace_json_text("gradient_of",
                    s->gradient_of < BLOCK_COUNT ? block_texts[s->gradient_of].name : "");
    printf(", \"shape\": [");
    for (int k = 0; k < n; k++) printf("%s%d", k ? ", " : "", shape[k]);
    printf("]");
    trace_json_text("formula", s->formula);
    printf(",\n     \"sentence\": "), trace_json_string(s->sentence);
    trace_json_text("question", s->question);
    trace_json_text("answer", s->answer);
    printf(",\n     \"worked\": "), trace_json_string(block_trace_worked(t, what));
    put_values("values", t->b->at[what], n, shape);
    if (t->numerical[what]) put_numerical(t, what, n, shape);
    printf("}");
}

static void put_options(const block_trace *t)
{
    const block_problem *p = &t->b->p;
    printf("  \"sizes\": {\"T\": %d, \"C\": %d, \"H\": %d, \"G\": %d, \"D\": %d, \"Dv\": %d},\n",
           p->T, p->C, p->H, p->G, p->D, p->Dv);
    printf("  \"options\": {\"c\": ");
    trace_json_number(t->b->heads->c);
    printf(", \"log_of_c\": ");
    trace_json_number(p->scale_log);
    printf(", \"causal\": %s, \"seed\": %d},\n  \"mistake\": ", p->causal ? "true" : "false",
           t->o->seed);
    if (t->mistake)
        trace_json_mistake(&block_mistakes_texts[t->mistake]);
    else
        printf("null");
    printf(",\n  \"cell\": {\"token\": %d, \"key\": %d, \"c\": %d, \"column\": %d},\n", t->token,
           t->key, t->c, t->column);
}

void block_trace_json(const block_trace *t)
{
    const char *comma = "";
    printf("{\n  \"command\": ");
    trace_json_string(t->command);
    printf(",\n");
    put_options(t);
    printf("  \"loss\": ");
    trace_json_number(block_loss(t->b));
    printf(",\n  \"tensors\": [\n");
    for (block_name what = 0; what < BLOCK_COUNT; what++) {
        if (what >= BLOCK_X_RES && what <= BLOCK_X_V) continue; /* they are X */
        printf("%s", comma);
        put_tensor(t, what);
        comma = ",\n";
    }
    printf("]");
    if (!t->o->quick) trace_json_comparison(t->n_op, t->op, &t->count);
    printf("\n}\n");
}
