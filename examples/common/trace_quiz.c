/* trace_quiz.c -- examples/trace --quiz: of the output and of each gradient one element is asked
 * for before it is shown, first its sign, then its value; see trace.h.  Questions and answers are
 * those of steps_text.c. */
#include "common/trace.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int asked, right;
static bool ended; /* no more answers */

/* The next line of stdin, without blanks at its ends; NULL, and no more questions, where it ends. */
static const char *next_answer(void)
{
    static char line[200];
    printf("    > ");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) {
        ended = true;
        printf("\n    The answers end here; the rest is shown without questions.\n");
        return NULL;
    }
    char *p = line, *end = line + strlen(line);
    while (end > p && isspace((unsigned char)end[-1])) *--end = 0;
    while (isspace((unsigned char)*p)) p++;
    if (!isatty(0)) printf("%s\n", p); /* a terminal shows what is typed */
    return p;
}

/* -1, 0, 1; 2 for anything else */
static int sign_in(const char *answer)
{
    if (strcmp(answer, "+") == 0) return 1;
    if (strcmp(answer, "-") == 0) return -1;
    return strcmp(answer, "0") == 0 ? 0 : 2;
}

static void judge(bool is_right, const char *answer, const char *why)
{
    asked++;
    right += is_right;
    trace_say(4, "%s %s.  %s", is_right ? "Right:" : "Wrong: it is", answer, why);
}

static void ask_sign(const char *name, double x, const char *question, const char *why)
{
    printf("\n");
    trace_say(4, "%s: %s", name, question);
    const char *answer = next_answer();
    if (!answer) return;
    int sign = (x > 0) - (x < 0);
    judge(sign_in(answer) == sign, sign > 0 ? "+" : sign < 0 ? "-" : "0", why);
}

/* 1 part in 100, or 0.005: two digits after the point are enough. */
static void ask_value(const char *name, double x, const char *worked)
{
    char value[32], *end;
    trace_say(4, "%s = ?  (0.005 or 1 in 100 off is near enough)", name);
    const char *answer = next_answer();
    if (!answer) return;
    double given = strtod(answer, &end);
    bool number = end != answer && !*end;
    snprintf(value, sizeof value, "%.4f", trace_shown(x));
    judge(number && fabs(given - x) <= fmax(fabs(x) / 100, 0.005), value, worked);
}

void trace_ask(const trace *t, steps_name what)
{
    const steps_text *s = &steps_texts[what];
    if (ended || what < STEPS_O || !s->question) return;
    double x = *steps_cell(t->a, what, 0, trace_row_of(t, what), trace_column_of(t, what));
    if (fabs(x) <= 1e-12 * trace_largest(t, what)) x = 0; /* rounding */
    char name[40];
    snprintf(name, sizeof name, "%s", trace_name_of(t, what));
    ask_sign(name, x, s->question, s->answer);
    if (!ended && x != 0) ask_value(name, x, trace_worked(t, what));
}

void trace_score(void)
{
    printf("\n");
    if (asked)
        trace_say(0, "%d of %d answers were right.", right, asked);
    else
        trace_say(0, "No question was answered.");
}
