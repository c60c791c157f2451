/* progress.c -- how far a long loop has come; see progress.h. */
#include "io/progress.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

static double monotonic_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

at_progress at_progress_start(FILE *out, const char *what, ptrdiff_t total)
{
    at_progress p = {.out = out,
                     .what = what,
                     .total = total,
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

/* "512/1200  43%  21.3/s  0:32 left  loss 2.134" */
static void describe(const at_progress *p, char *to, size_t size)
{
    double spent = p->clock() - p->started, rate = spent > 0 ? (double)p->done / spent : 0;
    char pace[24] = "", time[40] = "", left[24];
    if (rate >= 100)
        snprintf(pace, sizeof pace, "  %.0f/s", rate);
    else if (rate >= 1)
        snprintf(pace, sizeof pace, "  %.1f/s", rate);
    else if (rate > 0)
        snprintf(pace, sizeof pace, "  %.1f s each", 1 / rate);
    bool over = p->done >= p->total;
    write_duration(left, sizeof left,
                   over       ? spent
                   : rate > 0 ? (double)(p->total - p->done) / rate
                              : 0);
    if (over)
        snprintf(time, sizeof time, "  in %s", left);
    else if (rate > 0)
        snprintf(time, sizeof time, "  %s left", left);
    snprintf(to, size, "%td/%td %3d%%%s%s%s%s", p->done, p->total,
             (int)(100.0 * (double)p->done / (double)p->total), pace, time, *p->text ? "  " : "",
             p->text);
}

static void draw_bar(const at_progress *p, int width)
{
    int full = (int)((double)width * (double)p->done / (double)p->total + 0.5);
    if (p->as.colours) fputs("\033[32m", p->out);
    for (int i = 0; i < width; i++)
        fputs(i < full ? (p->as.unicode ? "█" : "#") : (p->as.unicode ? "░" : "."), p->out);
    if (p->as.colours) fputs("\033[0m", p->out);
}

/* On a terminal: back to the start of the line, and clear what is left of it at the end. */
static void draw_line(const at_progress *p)
{
    char rest[240];
    describe(p, rest, sizeof rest);
    int room = p->as.columns - 1 - (int)strlen(p->what) - 2 - (int)strlen(rest) - 2;
    int width = room > 30 ? 30 : room;
    fprintf(p->out, "\r%s  ", p->what);
    if (width >= 5) {
        draw_bar(p, width);
        fputs("  ", p->out);
    }
    int fits = p->as.columns - 1 - (int)strlen(p->what) - 2;
    fprintf(p->out, "%.*s\033[K", fits > 0 ? fits : 0, rest);
    fflush(p->out);
}

static void print_line(const at_progress *p)
{
    char rest[240];
    describe(p, rest, sizeof rest);
    fprintf(p->out, "%s  %s\n", p->what, rest);
    fflush(p->out);
}

void at_progress_step(at_progress *p, ptrdiff_t done, const char *format, ...)
{
    if (p->total <= 0) return;
    ptrdiff_t before = p->done;
    p->done = done < 0 ? 0 : done > p->total ? p->total : done;
    va_list args;
    va_start(args, format);
    vsnprintf(p->text, sizeof p->text, format, args);
    va_end(args);

    if (p->as.is_terminal) {
        double now = p->clock();
        if (now - p->drawn < 0.1) return;
        p->drawn = now;
        draw_line(p);
    } else if (p->done * 10 / p->total > before * 10 / p->total) {
        print_line(p);
    }
}

void at_progress_end(at_progress *p)
{
    if (p->total <= 0 || !p->as.is_terminal) return;
    draw_line(p);
    fputc('\n', p->out);
    fflush(p->out);
}
