/* gradients_print.c -- what gradients.c found, as text and as JSON. */
#include "gradients.h"

#include <math.h>
#include <stdio.h>

#include "trace.h"

static const char *kind_of(const gradients_one *one)
{
    return one->v.kind == VERDICT_NOT_WRITTEN ? "NaN" : one->wrong ? "WRONG" : "right";
}

/* "b1, heads 4 to 7 (here h0 to h3)": the part that was looked at, where there are several */
static void print_part(const gradients_report *r, const gradients_one *one)
{
    if (r->B > 1) printf("batch %d", one->batch);
    if (r->heads == r->H) {
        printf("%s", r->B > 1 ? ": " : "");
        return;
    }
    printf("%shead%s %d", r->B > 1 ? ", " : "", r->heads > 1 ? "s" : "", one->head);
    if (r->heads > 1) printf(" to %d (here h0 to h%d)", one->head + r->heads - 1, r->heads - 1);
    printf(": ");
}

static void print_error(const gradients_report *r, const gradients_one *one)
{
    if (one->v.error < 1e300)
        printf("worst cell off by %.3g u", one->v.error / r->unit);
    else
        printf("worst cell %g", one->v.got);
}

static void print_names(mistake_set set)
{
    for (int m = 1; m < MISTAKES; m++)
        if (set.has[m])
            printf("      \"%s\": %s\n      %s\n", mistakes_texts[m].name,
                   mistakes_texts[m].sentence, mistakes_texts[m].hint);
}

static void print_one(const gradients_report *r, int k)
{
    const gradients_one *one = &r->of[k];
    printf("  %-3s %-6s", steps_texts[gradients_names[k]].name, kind_of(one));
    if (r->parts > 1 && one->wrong)
        printf("in %d of %d %s; ", one->wrong, r->parts,
               r->heads == r->H ? "elements of the batch" : "groups of heads");
    print_error(r, one);
    printf("\n");
    if (!one->wrong) return;
    if (!mistakes_any(one->v.named)) {
        printf("      ");
        print_part(r, one);
        printf("%s\n", one->v.where);
    }
    if (!*r->instead) print_names(one->v.named);
    printf("      ");
    print_part(r, one);
    printf("%s\n", one->v.arithmetic);
}

static const char *layout_of(const gradients_report *r)
{
    return r->axes < 4                ? ""
           : r->layout == LAYOUT_BTHD ? ", layout [B,T,H,D]"
                                      : ", layout [B,H,T,D]";
}

static void print_problem(const gradients_report *r)
{
    printf("attention with B %d, H %d, G %d, T %d, N %d, D %d, Dv %d%s\n", r->B, r->H, r->G, r->T,
           r->N, r->D, r->Dv, layout_of(r));
    printf("scale %.6g%s", r->scale, r->own_scale ? "" : " = 1/sqrt(D)");
    if (r->softcap > 0) printf(", softcap %.6g", r->softcap);
    printf("%s%s\n", r->causal ? ", causal" : "", r->masked ? ", mask" : "");
    printf("judged as %s, u = %.2g of the sum of the absolute terms of a cell\n\n", r->dtype,
           r->unit);
}

static void print_verdict(const gradients_report *r)
{
    if (r->kind == GRADIENTS_RIGHT) {
        printf("\nRight.\n");
        return;
    }
    printf("\nWrong.\n");
    if (*r->instead) {
        const gradients_one *O = &r->of[GRADIENTS_O];
        printf("But the gradients are just right %s: %s\n", r->instead,
               O->given && !O->wrong ? "O is not computed so, but the backward is."
                                     : "is that what was computed?");
        return;
    }
    if (*r->look) printf("%s\n", r->look);
    for (int m = 1; m < MISTAKES; m++)
        if (r->all.has[m]) printf("\"%s\" explains all of it.\n", mistakes_texts[m].name);
    if (!r->named)
        printf("No mistake was tried, for there are more than %td scores: fewer queries or keys "
               "show the same.\n",
               r->most);
}

void gradients_print(const gradients_report *r)
{
    if (*r->message) {
        printf("%s\n", r->message);
        return;
    }
    print_problem(r);
    for (int k = 0; k < GRADIENTS_COUNT; k++)
        if (r->of[k].given) print_one(r, k);
    print_verdict(r);
}

/* ------------------------------------------------------------------ JSON ----------------------- */

static void put_names(const char *key, mistake_set set)
{
    const char *between = "";
    printf(", \"%s\": [", key);
    for (int m = 1; m < MISTAKES; m++) {
        if (!set.has[m]) continue;
        printf("%s", between);
        trace_json_mistake(&mistakes_texts[m]);
        between = ",\n";
    }
    printf("]");
}

static void put_number(const char *key, double x)
{
    printf(", \"%s\": ", key);
    trace_json_number(x);
}

static void put_one(const gradients_report *r, int k)
{
    const gradients_one *one = &r->of[k];
    const verdict *v = &one->v;
    printf("{\"name\": \"%s\", \"verdict\": \"%s\"", steps_texts[gradients_names[k]].name,
           kind_of(one));
    put_number("error", v->error);
    put_number("units", v->error / r->unit);
    printf(", \"wrong_parts\": %d, \"batch\": %d, \"head\": %d, \"cell\": [%d, %d, %d]", one->wrong,
           one->batch, one->head, v->cell[0], v->cell[1], v->cell[2]);
    put_number("got", v->got);
    put_number("right", v->right);
    trace_json_text("where", v->where);
    trace_json_text("arithmetic", v->arithmetic);
    put_names("mistakes", v->named);
    printf("}");
}

void gradients_json(const gradients_report *r)
{
    static const char *const kinds[] = {"right", "wrong", "asked", "refused"};
    const char *between = "";
    printf("{\"verdict\": \"%s\"", kinds[r->kind]);
    trace_json_text("message", r->message);
    trace_json_text("ask", r->ask);
    printf(
        ", \"sizes\": {\"B\": %d, \"H\": %d, \"G\": %d, \"T\": %d, \"N\": %d, \"D\": %d, \"Dv\": "
        "%d},\n\"layout\": \"%s\", \"causal\": %s, \"mask\": %s",
        r->B, r->H, r->G, r->T, r->N, r->D, r->Dv, r->layout == LAYOUT_BTHD ? "bthd" : "bhtd",
        r->causal ? "true" : "false", r->masked ? "true" : "false");
    put_number("scale", r->scale);
    put_number("softcap", r->softcap);
    trace_json_text("dtype", r->dtype);
    put_number("unit", r->unit);
    printf(", \"parts\": %d, \"heads\": %d, \"named\": %s,\n\"gradients\": [", r->parts, r->heads,
           r->named ? "true" : "false");
    for (int k = 0; k < GRADIENTS_COUNT; k++) {
        if (!r->of[k].given) continue;
        printf("%s", between);
        put_one(r, k);
        between = ",\n";
    }
    printf("]");
    put_names("all", r->all);
    trace_json_text("look", r->look);
    trace_json_text("instead", r->instead);
    printf("}\n");
}
