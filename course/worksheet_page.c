/* worksheet_page.c -- a sheet as a page that prints; see worksheet_page.h. */
#include "worksheet_page.h"

#include "roster.h"

#include <math.h>
#include <string.h>

/* No size of paper: A4 and US Letter both have 186 x 252 mm between these margins.  In print the room for working
 * takes what the rest leaves. */
static const char style[] =
    "<style>\n"
    "@page { margin: 12mm }\n"
    "body { font: 10.5pt/1.35 Georgia, serif; max-width: 186mm; margin: 1em auto; padding: 0 1em; "
    "color: #000; background: #fff }\n"
    "h1 { font-size: 14pt; margin: 0 }\n"
    "h2 { font-size: 11.5pt; margin: .7em 0 .1em }\n"
    "p { margin: .4em 0; overflow-wrap: anywhere }\n"
    ".row { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 0 6mm }\n"
    ".who { display: flex; gap: 3mm; margin: 1em 0 } .who span { flex: 2; border-bottom: 1px "
    "solid #444 } .who .short { flex: 1 }\n"
    ".room { min-height: 40mm; border: 1px solid #444 }\n"
    "table { border-collapse: collapse; margin: .3em 0; break-inside: avoid }\n"
    "caption { text-align: left; font-style: italic }\n"
    "th { font-weight: normal; padding: 0 .5em; color: #444 }\n"
    "td { border: 1px solid #444; min-width: 13.5mm; height: 8mm; text-align: center }\n"
    ".given td { height: 6mm; background: #eee }\n"
    "td.none { border: 0; background: none; min-width: 0; height: 0 }\n"
    ".key { font-size: 8.5pt; line-height: 1.2 } .key td { height: auto }\n"
    ".key table { break-inside: auto } .key tr > th:first-child { text-align: left }\n"
    "@media print { body { margin: 0; padding: 0 } .sheet { display: flex; flex-direction: column; "
    "height: 251mm } .room { flex: 1; min-height: 0 } }\n"
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
    fprintf(f, "<table><caption>%s</caption>\n<tr><td class=\"none\"></td>", caption);
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

/* The names of a matrix and of its elements, which a browser repeats where a table goes on on another page */
static void put_names(FILE *f, int matrix)
{
    const char *name = steps_texts[worksheet_asked[matrix]].name;
    fprintf(f, "<table><thead><tr><th scope=\"col\">%s</th>", name);
    for (int k = 0; k < worksheet_cells(); k++) {
        int asked, element;
        worksheet_cell(k, &asked, &element);
        if (asked == matrix)
            fprintf(f, "<th scope=\"col\">%s</th>", worksheet_name(k) + strlen(name) + 1);
    }
    fprintf(f, "</tr></thead>\n<tbody>\n");
}

static bool put_mistake(FILE *f, const steps *wrong, steps_name what, mistake m)
{
    fprintf(f, "<tr><th scope=\"row\">");
    put_text(f, mistakes_texts[m].name);
    fprintf(f, "</th>");
    for (ptrdiff_t e = 0; e < steps_size(wrong, what); e++) {
        fprintf(f, "<td>");
        put_number(f, wrong->at[what][e]);
        fprintf(f, "</td>");
    }
    fprintf(f, "</tr>\n");
    return !ferror(f);
}

/* What each mistake gives in each cell that is asked: a table for each matrix */
static bool put_mistakes(FILE *f, const worksheet *w)
{
    steps *b = steps_copy(w->right);
    bool memory = b;
    fprintf(f, "<h2>What a wrong number says</h2>\n");
    for (int asked = 0; memory && asked < SHEET_ASKED; asked++) {
        const mistake *m = worksheet_mistakes[asked];
        if (*m == MISTAKE_NONE) continue;
        put_names(f, asked);
        for (; *m != MISTAKE_NONE && memory; m++)
            memory = mistakes_backward(b, *m) && put_mistake(f, b, worksheet_asked[asked], *m);
        fprintf(f, "</tbody></table>\n");
    }
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

static void put_asked(FILE *f, const worksheet *w, put_cell *put)
{
    fprintf(f, "<h2>Forward</h2>\n<p>P = exp(S), each row divided by its sum; O<sub>i</sub> = "
               "sum<sub>j</sub> P<sub>ij</sub> V<sub>j</sub>.</p>\n<div class=\"row\">\n");
    put_matrix(f, w, STEPS_P, "P", put);
    put_matrix(f, w, STEPS_O, "O", put);
    fprintf(
        f, "</div>\n<h2>Backward, of L = sum dO O</h2>\n"
           "<p>How much L rises: dV with each element of V, dP with each element of P, the "
           "others held, dS with each score. delta is the mean of a row of dP, weighted by P.</p>\n"
           "<div class=\"row\">\n");
    put_matrix(f, w, STEPS_DV, "dV", put);
    put_matrix(f, w, STEPS_DP, "dP", put);
    put_matrix(f, w, STEPS_DELTA, "delta", put);
    put_matrix(f, w, STEPS_DS, "dS", put);
    fprintf(f, "</div>\n");
}

bool worksheet_page(FILE *f, const worksheet *w, const char *id, bool with_answers)
{
    fprintf(f,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Attention on paper, ");
    put_text(f, id);
    fprintf(f, "</title>\n%s</head><body class=\"%s\">\n<h1>Attention on paper%s</h1>\n<p>For ",
            style, with_answers ? "key" : "sheet", with_answers ? ": the key" : "");
    put_text(f, id);
    fprintf(f, "</p>\n");
    if (!with_answers)
        fprintf(f, "<p class=\"who\">Name<span></span>Date<span class=\"short\"></span>"
                   "Signature<span></span></p>\n");
    put_given(f, w);
    if (with_answers) {
        put_asked(f, w, put_value);
        return put_mistakes(f, w) && fprintf(f, "</body></html>\n") > 0;
    }
    fprintf(f,
            "<p>Two digits behind the point are enough; fractions such as 3/20 are welcome. "
            "What follows from a wrong number and is right for it counts, if the rows of P and dP "
            "behind it have a right number other than 0. If numbers go into "
            "answers.csv: a line for each cell, the value last, as in <code>");
    put_text(f, roster_cell(id));
    fprintf(f, ",dS q0 k1,3/20</code>.</p>\n");
    put_asked(f, w, put_blank);
    fprintf(f,
            "<h2>Working, here and on the back</h2>\n<div class=\"room\"></div>\n</body></html>\n");
    return true;
}
