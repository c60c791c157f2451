/* progress.c -- how far a long loop has come; see progress.h. */
#include "terminal/progress.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "system/system.h"
#include "terminal/label.h"
#include "tensor/decimal.h"

static double monotonic_seconds(void)
{
    return 1e-9 * (double)at_now_ns();
}

at_progress at_progress_start(FILE *out, const char *what, ptrdiff_t total)
{
    at_progress p = {.out = out,
                     .what = what ? what : "",
                     .total = out ? total : 0,
                     .written = -1,
                     .clock = monotonic_seconds,
                     .as = at_terminal_of(out)};
    p.started = p.clock();
    p.drawn = p.started - 1;
    return p;
}

/* "0:07", "12:34", "3:25:01" */
static void write_duration(char *to, size_t size, double seconds)
{
    long s = seconds < 0 ? 0 : seconds > 1e8 ? 100000000 : (long)(seconds + 0.5);
    if (s < 3600)
        snprintf(to, size, "%ld:%02ld", s / 60, s % 60);
    else
        snprintf(to, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

/* How many of so many equal parts of the work are done, whatever a caller has written into p. */
static int parts_done(const at_progress *p, ptrdiff_t done, int parts)
{
    return (int)fmin(fmax((double)parts * (double)done / (double)p->total, 0), parts);
}

/* The parts of a line, each with the two spaces before it. */
typedef struct {
    char count[48], percent[16], rate[32], time[40], text[AT_LABEL_SIZE + 2];
} progress_parts;

/* "  512/1200", "  43%", "  21.3/s", "  0:32 left", "  loss 2.134" */
static progress_parts describe_progress(const at_progress *p)
{
    progress_parts s = {"", "", "", "", ""};
    double spent = p->clock() - p->started,
           rate = spent > 0 ? ((double)p->done - (double)p->before) / spent : 0;
    char duration[24], label[AT_LABEL_SIZE];
    snprintf(s.count, sizeof s.count, "  %td/%td", p->done, p->total);
    snprintf(s.percent, sizeof s.percent, " %3d%%", parts_done(p, p->done, 100));
    if (rate >= 1)
        snprintf(s.rate, sizeof s.rate, "  %s/s", at_fixed_text(rate, rate < 100));
    else if (rate > 0)
        snprintf(s.rate, sizeof s.rate, "  %s s each", at_fixed_text(1 / rate, 1));
    if (p->done >= p->total) {
        write_duration(duration, sizeof duration, spent);
        snprintf(s.time, sizeof s.time, "  in %s", duration);
    } else if (rate > 0) {
        write_duration(duration, sizeof duration, (double)(p->total - p->done) / rate);
        snprintf(s.time, sizeof s.time, "  %s left", duration);
    }
    at_label_make(label, p->text, AT_LABEL_SIZE, p->as.unicode);
    if (*label) snprintf(s.text, sizeof s.text, "  %s", label);
    return s;
}

static int progress_columns(const progress_parts *s)
{
    return at_label_columns(s->count) + at_label_columns(s->percent) + at_label_columns(s->rate) +
           at_label_columns(s->time) + at_label_columns(s->text);
}

static void draw_bar(const at_progress *p, int width)
{
    int full = (int)((double)width * (double)p->done / (double)p->total + 0.5);
    fputs(p->as.colours ? "  \033[32m" : "  ", p->out);
    for (int i = 0; i < width; i++)
        fputs(i < full ? (p->as.unicode ? "█" : "#") : (p->as.unicode ? "░" : "."), p->out);
    if (p->as.colours) fputs("\033[0m", p->out);
}

/* On a terminal: back to the start of the line, and clear what is left of it at the end. */
static void draw_line(at_progress *p)
{
    char what[AT_LABEL_SIZE], cut[AT_LABEL_SIZE];
    at_terminal now = at_terminal_of(p->out);
    if (now.is_terminal) p->as.columns = now.columns; /* its size may have changed */
    int space = (p->as.columns > 0 ? p->as.columns : 1) - 1;
    at_label_make(what, p->what, space / 2, p->as.unicode);
    space -= at_label_columns(what);

    progress_parts s = describe_progress(p);
    char *expendable[] = {s.rate, s.count, s.time, s.percent};
    for (int i = 0; i < 4 && progress_columns(&s) > space; i++) expendable[i][0] = 0;
    int width = space - progress_columns(&s) - 2;
    fprintf(p->out, "\r%s", what);
    if (width >= 5) draw_bar(p, width < 30 ? width : 30);
    at_label_make(cut, s.text[0] ? s.text + 2 : "", space - 2, p->as.unicode);
    fprintf(p->out, "%s%s%s%s%s%s\033[K", s.count, s.percent, s.rate, s.time, *cut ? "  " : "",
            cut);
    fflush(p->out);
}

static void print_line(at_progress *p)
{
    char what[AT_LABEL_SIZE];
    progress_parts s = describe_progress(p);
    at_label_make(what, p->what, AT_LABEL_SIZE, p->as.unicode);
    fprintf(p->out, "%s%s%s%s%s%s\n", what, s.count, s.percent, s.rate, s.time, s.text);
    fflush(p->out);
    p->written = p->done;
}

/* Is anything to be written?  Not where there is no work, no file or no clock. */
static bool is_written(const at_progress *p)
{
    return p && p->out && p->clock && p->total > 0;
}

void at_progress_step(at_progress *p, ptrdiff_t done, const char *format, ...)
{
    if (!is_written(p)) return;
    ptrdiff_t before = p->done;
    p->done = done < 0 ? 0 : done > p->total ? p->total : done;
    p->text[0] = 0;
    va_list args;
    va_start(args, format);
    void *locale = at_point_begin();
    if (format) vsnprintf(p->text, sizeof p->text, format, args);
    at_point_end(locale);
    va_end(args);

    if (p->as.is_terminal) {
        double now = p->clock();
        if (now - p->drawn < 0.1) return;
        p->drawn = now;
        draw_line(p);
    } else if (parts_done(p, p->done, 10) > parts_done(p, before, 10)) {
        print_line(p);
    }
}

void at_progress_clear(at_progress *p)
{
    if (!is_written(p) || !p->as.is_terminal) return;
    fputs("\r\033[K", p->out);
    fflush(p->out);
    p->drawn = p->started - 1;
}

void at_progress_end(at_progress *p)
{
    if (!is_written(p)) return;
    if (!p->as.is_terminal) {
        if (p->written != p->done) print_line(p);
        return;
    }
    draw_line(p);
    fputc('\n', p->out);
    fflush(p->out);
}
