/* worksheet_page.c -- a sheet as a page that prints; see worksheet_page.h. */
#include "worksheet_page.h"

#include <math.h>

static const char style[] =
    "<style>\n"
    "@page { size: A4; margin: 15mm }\n"
    "body { font: 11pt/1.4 Georgia, serif; max-width: 180mm; margin: 1em auto; padding: 0 1em; "
    "color: #000; background: #fff }\n"
    "h1 { font-size: 15pt; margin: 0 }\n"
    "h2 { font-size: 12pt; margin: 1.2em 0 .3em }\n"
    ".row { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 0 2.5em }\n"
    "table { border-collapse: collapse; margin: .4em 0; break-inside: avoid }\n"
    "caption { text-align: left; font-style: italic }\n"
    "th { font-weight: normal; padding: 0 .5em; color: #444 }\n"
    "td { border: 1px solid #444; min-width: 4.2em; height: 2em; text-align: center }\n"
    ".given td { min-width: 3em; height: 1.6em; background: #eee }\n"
    ".key { width: 100%; font-size: 9pt } .key td { min-width: 0; height: auto }\n"
    "</style>\n";

static void put_text(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == '&' || *text == '<' || *text == '>' || *text == '"')
            fprintf(f, "&#%d;", *text);
        else
            fputc(*text, f);
}

/* A number with a minus sign, and no more digits than it has: four at most */
static void put_number(FILE *f, double x)
{
    x = round(1e4 * x) / 1e4;
    fprintf(f, "%s%.5g", x < 0 ? "\xe2\x88\x92" : "", fabs(x));
}

typedef void put_cell(FILE *f, const worksheet *w, steps_name what, int element);

static void put_value(FILE *f, const worksheet *w, steps_name what, int element)
{
    put_number(f, w->right->at[what][element]);
}

static void put_logarithm(FILE *f, const worksheet *w, steps_name what, int element)
{
    (void)what;
    fprintf(f, "ln %d", w->integer[element]);
}

static void put_blank(FILE *f, const worksheet *w, steps_name what, int element)
{
    (void)f, (void)w, (void)what, (void)element;
}

/* The matrix with the names of its rows and columns: q for queries, k for keys, d for elements */
static void put_matrix(FILE *f, const worksheet *w, steps_name what, const char *caption,
                       put_cell *put)
{
    const steps *a = w->right;
    const int rows = what == STEPS_DELTA ? SHEET_T : a->dim[what][1],
              columns = what == STEPS_DELTA ? 1 : a->dim[what][2];
    const bool of_keys = what == STEPS_V || what == STEPS_DV;
    fprintf(f, "<table><caption>%s</caption>\n<tr><td style=\"border:0;background:none\"></td>",
            caption);
    for (int j = 0; j < columns; j++)
        if (columns == 1)
            fprintf(f, "<th scope=\"col\">delta</th>");
        else
            fprintf(f, "<th scope=\"col\">%c%d</th>", columns == SHEET_N ? 'k' : 'd', j);
    for (int i = 0; i < rows; i++) {
        fprintf(f, "</tr>\n<tr><th scope=\"row\">%c%d</th>", of_keys ? 'k' : 'q', i);
        for (int j = 0; j < columns; j++) {
            fprintf(f, "<td>");
            put(f, w, what, i * columns + j);
            fprintf(f, "</td>");
        }
    }
    fprintf(f, "</tr></table>\n");
}

/* What each mistake gives in each cell that is asked */
static bool put_mistakes(FILE *f, const worksheet *w)
{
    steps *b = steps_copy(w->right);
    bool memory = b;
    fprintf(f, "<h2>What a wrong number says</h2>\n<table class=\"key\">\n");
    for (int asked = 0; memory && asked < SHEET_ASKED; asked++) {
        const steps_name what = worksheet_asked[asked];
        for (const mistake *m = worksheet_mistakes[asked]; *m != MISTAKE_NONE && memory; m++) {
            memory = mistakes_backward(b, *m);
            fprintf(f, "<tr><th scope=\"row\">%s</th><td style=\"text-align:left\">",
                    steps_texts[what].name);
            put_text(f, mistakes_texts[*m].name);
            for (ptrdiff_t e = 0; memory && e < steps_size(b, what); e++) {
                fprintf(f, "</td><td>");
                put_number(f, b->at[what][e]);
            }
            fprintf(f, "</td></tr>\n");
        }
    }
    fprintf(f, "</table>\n");
    steps_close(b);
    return memory;
}

static void put_given(FILE *f, const worksheet *w)
{
    fprintf(f,
            "<p>Two queries, q0 and q1, have read three values, at the keys k0, k1 and k2. The "
            "scores S, the values V and the upstream gradient dO, which says how much the loss L "
            "rises with each element of the output, are given; the scale is 1.</p>\n"
            "<div class=\"row given\">\n");
    put_matrix(f, w, STEPS_S, "S, the scores", put_logarithm);
    put_matrix(f, w, STEPS_V, "V, the values", put_value);
    put_matrix(f, w, STEPS_DO, "dO", put_value);
    fprintf(f, "</div>\n");
}

bool worksheet_page(FILE *f, const worksheet *w, const char *id, bool with_answers)
{
    put_cell *put = with_answers ? put_value : put_blank;
    fprintf(f,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Attention on paper, ");
    put_text(f, id);
    fprintf(f, "</title>\n%s</head><body>\n<h1>Attention on paper%s</h1>\n<p>For ", style,
            with_answers ? ": the key" : "");
    put_text(f, id);
    fprintf(f, "</p>\n");
    put_given(f, w);
    fprintf(f,
            "<p>Two digits behind the point are enough; fractions such as 3/20 are welcome. What "
            "follows from a wrong number and is right for it counts.</p>\n"
            "<h2>Forward</h2>\n<div class=\"row\">\n");
    put_matrix(f, w, STEPS_P, "P = exp(S), each row divided by its sum", put);
    put_matrix(f, w, STEPS_O, "O<sub>i</sub> = sum<sub>j</sub> P<sub>ij</sub> V<sub>j</sub>", put);
    fprintf(f, "</div>\n<h2>Backward, of L = sum dO O</h2>\n<div class=\"row\">\n");
    put_matrix(f, w, STEPS_DV, "dV: how much L rises with each element of V", put);
    put_matrix(f, w, STEPS_DP, "dP: with each element of P, the others held", put);
    put_matrix(f, w, STEPS_DELTA, "delta: the mean of each row of dP under P", put);
    put_matrix(f, w, STEPS_DS, "dS: with each score", put);
    fprintf(f, "</div>\n");
    const bool memory = !with_answers || put_mistakes(f, w);
    fprintf(f, "</body></html>\n");
    return memory;
}
