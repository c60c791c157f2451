/* trace_quiz.c -- course/trace --quiz: of the output and of each gradient one element is asked
 * for before it is shown, first its sign, then its value; see trace.h.  Questions and answers are
 * those of steps_text.c. */
#include "common/options.h"
#include "trace.h"

#include <ctype.h>
#include <float.h>
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

/* The sign that is meant: -1, 0 or 1. */
static bool read_sign(const char *answer, double *sign)
{
    static const char *const words[3][2] = {{"-", "fall"}, {"0", "stay"}, {"+", "rise"}};
    for (int k = 0; k < 3; k++)
        for (int w = 0; w < 2; w++)
            if (strcmp(answer, words[k][w]) == 0) {
                *sign = k - 1;
                return true;
            }
    return false;
}

/* "6.39", or a sum such as "4.3 + 1.9 ln 3" */
static bool read_value(const char *answer, double *value)
{
    if (read_real(answer, -DBL_MAX, DBL_MAX, value)) return true;
    double sum = 0, sign = 1;
    for (const char *p = answer;; p++) {
        double x = 1, n = 0;
        while (*p == ' ') p++;
        if (*p == '-') sign = -sign, p++;
        while (*p == ' ') p++;
        const bool factor = strncmp(p, "ln", 2) != 0;
        if (factor && !read_number(&p, true, &x)) return false;
        while (*p == ' ' || *p == '*') p++;
        const bool logarithm = strncmp(p, "ln", 2) == 0;
        if (logarithm) {
            for (p += 2; *p == ' ';) p++;
            if (!read_number(&p, true, &n) || !(n > 0)) return false;
        }
        sum += sign * x * (logarithm ? log(n) : 1);
        while (*p == ' ') p++;
        if (!*p) break;
        if (*p != '+' && *p != '-') return false;
        sign = *p == '-' ? -1 : 1;
    }
    *value = sum;
    return isfinite(sum);
}

/* Asks until there is an answer that can be read, an empty one, or none any more. */
typedef enum { ANSWERED, EMPTY, NO_MORE } reply;
static reply read_reply(bool (*read)(const char *, double *), const char *wanted, double *x)
{
    for (;;) {
        const char *answer = next_answer();
        if (!answer) return NO_MORE;
        if (!*answer) return EMPTY;
        if (read(answer, x)) return ANSWERED;
        trace_say(4, "Please answer %s.", wanted);
    }
}

static void judge(reply r, bool is_right, const char *answer, const char *why)
{
    if (r == NO_MORE) return;
    asked++;
    right += r == ANSWERED && is_right;
    const char *judged = r == EMPTY ? "No answer: it is" : is_right ? "Right:" : "Wrong: it is";
    trace_say(4, "%s %s.  %s", judged, answer, why);
}

static void ask_sign(const char *name, double x, const char *question, const char *why)
{
    double answer = 0, sign = (x > 0) - (x < 0);
    printf("\n");
    trace_say(4, "%s: %s", name, question);
    reply r = read_reply(read_sign, "+, - or 0", &answer);
    judge(r, answer == sign, sign > 0 ? "+" : sign < 0 ? "-" : "0", why);
}

/* 1 part in 100, or 0.005: two digits after the point are enough. */
static void ask_value(const trace_question *q)
{
    double answer = 0;
    char value[32], why[5000];
    const char *named = "";
    trace_say(4, "%s = ?  (right within 0.005, or within 1 %%)", q->name);
    reply r = read_reply(read_value, "with a number", &answer);
    const bool is_right = fabs(answer - q->x) <= fmax(fabs(q->x) / 100, 0.005);
    if (r == ANSWERED && !is_right && q->named) named = q->named(q->context, answer);
    snprintf(value, sizeof value, "%.4f", trace_shown(q->x));
    snprintf(why, sizeof why, "%s%s%s", named, *named ? "  " : "", q->worked);
    judge(r, is_right, value, why);
}

void trace_ask_element(const trace_question *q)
{
    if (ended) return;
    ask_sign(q->name, q->x, q->question, q->answer);
    if (!ended && q->x != 0) ask_value(q);
}

void trace_ask(const trace *t, steps_name what)
{
    const steps_text *s = &steps_texts[what];
    if (what < STEPS_O || !s->question) return;
    double x = *steps_cell(t->a, what, 0, trace_row_of(t, what), trace_column_of(t, what));
    if (fabs(x) <= 1e-12 * trace_largest(t, what)) x = 0; /* rounding */
    char name[40];
    snprintf(name, sizeof name, "%s", trace_name_of(t, what));
    trace_ask_element(&(trace_question){.name = name,
                                        .question = s->question,
                                        .answer = s->answer,
                                        .worked = trace_worked(t, what),
                                        .x = x});
}

void trace_say_how_to_answer(void)
{
    trace_say(0, "At each > answer +, - or 0, or with a number; an empty line shows the answer.");
}

void trace_score(void)
{
    printf("\n");
    if (asked)
        printf("Right answers: %d of %d.\n", right, asked);
    else
        printf("No question was answered.\n");
}
