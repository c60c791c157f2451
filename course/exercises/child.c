/* child.c -- runs somebody's exercise in a process of its own, and says how that ended; child.h.
 *
 * Two pipes, one for the script and one for the answers.  What the program prints goes to a file
 * without a name.  It runs as a group of processes, which is ended as a whole. */
#include "child.h"
#include "protocol.h"
#include "sandbox.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void *need(void *memory)
{
    if (memory) return memory;
    fprintf(stderr, "grade: no memory\n");
    exit(1);
}

/* ------------------------------------------------------------------ the script ---------------- */

static void append(script *s, size_t n, const double *x)
{
    if (s->used + n > s->room) {
        s->room = 2 * (s->used + n);
        s->items = need(realloc(s->items, s->room * sizeof *s->items));
    }
    if (n) memcpy(s->items + s->used, x, n * sizeof *x);
    s->used += n;
}

int script_buffer(script *s, const char *name, ptrdiff_t n, const double *x)
{
    int k = s->buffers++;
    s->buffer[k].name = name;
    s->buffer[k].n = n;
    s->buffer[k].data = need(malloc((size_t)n * sizeof *x));
    memcpy(s->buffer[k].data, x, (size_t)n * sizeof *x);
    append(s, 2, (const double[]){TAG_BUFFER, (double)n});
    append(s, (size_t)n, x);
    return k;
}

int script_floats(script *s, const char *name, ptrdiff_t n, const float *x)
{
    double *values = need(malloc((size_t)n * sizeof *values));
    for (ptrdiff_t e = 0; e < n; e++) values[e] = (double)x[e];
    int k = script_buffer(s, name, n, values);
    s->items[s->used - (size_t)n - 2] = TAG_FLOATS;
    free(values);
    return k;
}

int script_unwritten(script *s, const char *name, ptrdiff_t n)
{
    double *x = need(malloc((size_t)n * sizeof *x));
    for (ptrdiff_t e = 0; e < n; e++) set_bits(&x[e], nan_unwritten);
    int k = script_buffer(s, name, n, x);
    free(x);
    return k;
}

int script_call(script *s, int function, int n, const double *arguments, int outputs,
                const int *output)
{
    int k = s->calls++;
    append(s, 3, (const double[]){TAG_CALL, function, n});
    append(s, (size_t)n, arguments);
    append(s, 1, (const double[]){outputs});
    s->call[k].outputs = outputs;
    for (int i = 0; i < outputs; i++) {
        s->call[k].output[i] = output[i];
        append(s, 1, (const double[]){output[i]});
    }
    return k;
}

void close_script(script *s)
{
    for (int k = 0; k < s->buffers; k++) free(s->buffer[k].data);
    free(s->items);
}

/* ------------------------------------------------------------------ processes ----------------- */

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void read_text(int from, size_t size, char *text)
{
    size_t used = 0;
    lseek(from, 0, SEEK_SET);
    for (ssize_t n; used + 1 < size && (n = read(from, text + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    text[used] = 0;
    close(from);
}

static int open_unnamed(void)
{
    char path[] = "/tmp/attic-exercise-XXXXXX";
    int file = mkstemp(path);
    if (file < 0) {
        fprintf(stderr, "grade: cannot write to /tmp: %s\n", strerror(errno));
        exit(1);
    }
    unlink(path);
    return file;
}

static void wait_for(pid_t process, int *status)
{
    while (waitpid(process, status, 0) < 0 && errno == EINTR) continue;
}

enum { COMPILER_SECONDS = 60 };

/* Waits for the process until the time is over, then ends all of its group.  True: it ended by itself. */
static bool wait_until(pid_t process, double end, int *status)
{
    pid_t ended = 0;
    while (process > 0 && (ended = waitpid(process, status, WNOHANG)) == 0 && seconds_now() < end)
        poll(NULL, 0, 1);
    if (process > 0) kill(-process, SIGKILL);
    if (process > 0 && ended == 0) wait_for(process, status);
    return ended > 0;
}

bool compile(const compilation *c, size_t size, char *said)
{
    char line[4096];
    int output = open_unnamed(), status = 0;
    snprintf(line, sizeof line, "exec %s -I\"$1\" \"$2\" \"$3\" -o \"$4\" -lm", c->command);
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        dup2(output, 1);
        dup2(output, 2);
        sandbox_compile((const char *const[]){c->include, c->runner, NULL}, c->folder,
                        (const char *const[]){"/bin/sh", "-c", line, "sh", c->include, c->file,
                                              c->runner, c->program, NULL});
    }
    const bool ended = wait_until(process, seconds_now() + COMPILER_SECONDS, &status);
    read_text(output, size, said);
    return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void be_the_child(const char *program, const char *folder, int from, int to, int output)
{
    char in[16], out[16];
    int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(output, 1);
    dup2(output, 2);
    snprintf(in, sizeof in, "%d", fcntl(from, F_DUPFD, 60));
    snprintf(out, sizeof out, "%d", fcntl(to, F_DUPFD, 61));
    for (int k = 3; k < 60; k++) close(k);
    signal(SIGPIPE, SIG_DFL);
    sandbox_run(program, folder, (const char *const[]){program, in, out, NULL});
}

typedef struct {
    char *bytes;
    size_t used, room;
    bool late; /* the time was over */
} answers;

/* Until the last process that could write to the pipe has ended, or the time is over. */
static void read_answers(int from, double end, answers *a)
{
    const size_t most = 1 << 22;
    while (a->used < most) {
        struct pollfd p = {.fd = from, .events = POLLIN};
        double left = end - seconds_now();
        if (left <= 0) {
            a->late = true;
            return;
        }
        if (poll(&p, 1, (int)(1000 * left) + 1) <= 0) continue;
        if (a->used == a->room) {
            a->room = 2 * a->room + 65536;
            a->bytes = need(realloc(a->bytes, a->room));
        }
        ssize_t n = read(from, a->bytes + a->used, a->room - a->used);
        if (n <= 0) return;
        a->used += (size_t)n;
    }
}

static void send_script(int to, const script *s, double nonce, bool begin_at_page)
{
    const double head[] = {nonce, (double)s->used, begin_at_page};
    const struct {
        const double *from;
        size_t n;
    } part[] = {{head, 3}, {s->items, s->used}};
    for (int k = 0; k < 2; k++) {
        const char *from = (const char *)part[k].from;
        for (size_t left = part[k].n * sizeof(double); left > 0;) {
            ssize_t n = write(to, from, left);
            if (n <= 0) return; /* the program has ended */
            from += n;
            left -= (size_t)n;
        }
    }
}

/* ------------------------------------------------------------------ the answers --------------- */

/* Does the call that was not answered write to this buffer? */
static bool is_output(const script *s, int buffer)
{
    for (int k = 0; s->answered < s->calls && k < s->call[s->answered].outputs; k++)
        if (s->call[s->answered].output[k] == buffer) return true;
    return false;
}

/* An answer that an access was outside of a buffer, x[2], or else x[5], of its element x[3] or x[6] */
static void say_outside(script *s, const double *x)
{
    static const char *const how[] = {"read or wrote", "read", "wrote"};
    const bool written = x[4] > 0, either = x[5] >= 0 && x[5] < s->buffers;
    const bool other = either && written && !is_output(s, (int)x[2]) && is_output(s, (int)x[5]);
    const int k = (int)x[other ? 5 : 2];
    const bool only_read = x[4] == 0 && !is_output(s, k); /* += reads before it writes */
    const char *what = how[written ? 2 : only_read ? 1 : 0];
    char or_else[80] = "";
    if (either && !other)
        snprintf(or_else, sizeof or_else, "; or was it %s[%.0f]?", s->buffer[(int)x[5]].name, x[6]);
    if (k >= 0 && k < s->buffers)
        snprintf(s->failure, sizeof s->failure,
                 "%s outside of an array: %s[%.0f], but %s has %td elements, 0 to %td%s", what,
                 s->buffer[k].name, x[other ? 6 : 3], s->buffer[k].name, s->buffer[k].n,
                 s->buffer[k].n - 1, or_else);
    else
        snprintf(s->failure, sizeof s->failure, "%s outside of an array of your own", what);
}

/* One answer of n numbers; false: it is none that was asked for. */
static bool take_answer(script *s, double nonce, const double *x, size_t n, size_t *used)
{
    if (n < REPLY_HEADER || x[0] != nonce) return false;
    *used = REPLY_HEADER;
    if (x[1] == TAG_OUTSIDE) {
        say_outside(s, x);
        return true;
    }
    if (x[1] == TAG_STACK || x[1] == TAG_CRASH || x[1] == TAG_FORK) {
        snprintf(s->failure, sizeof s->failure, "%s",
                 x[1] == TAG_STACK
                     ? "crashed: the stack is full; a function that calls itself without end, or a "
                       "local array that is too large"
                 : x[1] == TAG_CRASH
                     ? "crashed: it followed a pointer that points nowhere (segmentation fault)"
                     : "started a second process (fork), which came back as well");
        return true;
    }
    if (x[1] != TAG_REPLY || s->answered == s->calls || x[2] != s->answered) return false;
    size_t size = 0;
    for (int k = 0; k < s->call[s->answered].outputs; k++)
        size += (size_t)s->buffer[s->call[s->answered].output[k]].n;
    if (x[5] != (double)size || n - REPLY_HEADER < size) return false;
    const double *from = x + REPLY_HEADER;
    for (int k = 0; k < s->call[s->answered].outputs; k++) {
        int b = s->call[s->answered].output[k];
        memcpy(s->buffer[b].data, from, (size_t)s->buffer[b].n * sizeof *from);
        from += s->buffer[b].n;
    }
    s->call[s->answered].blanks = (unsigned)x[3];
    s->call[s->answered].value = x[4];
    s->answered++;
    *used += size;
    return true;
}

static void take_answers(script *s, double nonce, const answers *a)
{
    const size_t n = a->used / sizeof(double);
    double *x = need(malloc(n * sizeof *x + 1));
    if (n) memcpy(x, a->bytes, n * sizeof *x);
    for (size_t at = 0, used = 0; at < n && !s->failure[0]; at += used)
        if (!take_answer(s, nonce, x + at, n - at, &used)) {
            snprintf(s->failure, sizeof s->failure,
                     "wrote to a descriptor that it did not open: the answers are garbled");
            break;
        }
    if (!s->failure[0] && a->used % sizeof(double) != 0)
        snprintf(s->failure, sizeof s->failure,
                 "wrote to a descriptor that it did not open: the answers are garbled");
    free(x);
}

/* ------------------------------------------------------------------ what it printed ---------- */

enum { MOST_PRINTED = 1 << 20 };

/* Where the report of a sanitizer begins: "file.c:3:5: runtime error: ...", or a line of = and
 * "==123==ERROR: ...", or the line that the runner prints before the trace of a crash; else the end. */
static char *report_in(char *text)
{
    for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *end = line + strcspn(line, "\n"), *sign = strstr(line, ": runtime error: ");
        if (sign && sign < end) return line;
        if (strncmp(line, crash_trace, strlen(crash_trace)) == 0) return line;
        if (strncmp(line, "=====", 5) == 0 && strncmp(end, "\n==", 3) == 0 &&
            isdigit((unsigned char)end[3]))
            return line;
    }
    return text + strlen(text);
}

/* "my.c:12", the first place in the file that a report names; NULL: none */
static const char *place_in(const char *report, const char *file, int *length)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    for (const char *at = report; (at = strstr(at, name)); at++) {
        const char *end = at + strlen(name);
        if (*end != ':' || !isdigit((unsigned char)end[1])) continue;
        *length = (int)(end - at + 1 + (ptrdiff_t)strspn(end + 1, "0123456789"));
        return at;
    }
    return NULL;
}

/* The line of the file that called this place: that of the next frame of the same trace; 0: it was not called there */
static int caller_in(const char *place, const char *file)
{
    int length;
    const char *frame = place + strcspn(place, "\n");
    frame += strspn(frame, "\n ");
    const char *caller = *frame == '#' ? place_in(frame, file, &length) : NULL;
    if (!caller || memchr(frame, '\n', (size_t)(caller - frame))) return 0;
    const char *line = caller + length;
    while (isdigit((unsigned char)line[-1])) line--;
    return (int)strtol(line, NULL, 10);
}

/* What UndefinedBehaviorSanitizer says: what happened there. */
static bool say_undefined(script *s, const char *report)
{
    static const char sign[] = ": runtime error: ";
    const char *text = strstr(report, sign);
    if (!text) return false;
    char what[300];
    text += strlen(sign);
    snprintf(what, sizeof what, "%.*s", (int)strcspn(text, "\n"), text);
    snprintf(s->failure, sizeof s->failure, "%s: %s",
             strstr(what, "out of bounds") ? "read or wrote outside of an array of your own"
             : strstr(what, "null pointer")
                 ? "crashed, for it followed a pointer that points nowhere"
                 : "undefined behaviour",
             what);
    return true;
}

/* What is not printed for want of room is counted in lines; text ends at the report. */
static void keep_printed(script *s, char *text)
{
    size_t kept = strlen(text);
    while (kept >= sizeof s->printed || (kept && text[kept - 1] != '\n' && text[kept])) kept--;
    s->lines_left_out = 0;
    for (const char *c = text + kept; *c; c++) s->lines_left_out += *c == '\n' || !c[1];
    memcpy(s->printed, text, kept);
    s->printed[kept] = 0;
}

static void say_end(script *s, int status, bool late, double seconds)
{
    if (late)
        snprintf(s->failure, sizeof s->failure,
                 "over the time limit: it ran for more than %g seconds", seconds);
    else if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
        snprintf(s->failure, sizeof s->failure,
                 "over the time limit: it computed for more than a second; is there a loop that "
                 "never ends?");
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
        snprintf(s->failure, sizeof s->failure, "printed more than a megabyte");
    else if (WIFSIGNALED(status))
        snprintf(s->failure, sizeof s->failure, "crashed: %s", strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == EXIT_NO_ANSWER)
        snprintf(s->failure, sizeof s->failure,
                 "closed a descriptor that it did not open: there is no answer");
    else if (WEXITSTATUS(status) == EXIT_BAD_INPUT || WEXITSTATUS(status) == 127)
        snprintf(s->failure, sizeof s->failure, "could not be started");
    else if (s->answered < s->calls)
        snprintf(s->failure, sizeof s->failure,
                 "ended itself with exit(%d); a function must return to where it was called",
                 WEXITSTATUS(status));
    else if (WEXITSTATUS(status) != 0)
        snprintf(s->failure, sizeof s->failure, "ended with status %d", WEXITSTATUS(status));
}

/* One run; true: there must be another one, with arrays that begin at a page. */
static bool run_once(const char *program, const char *file, const char *folder, double seconds,
                     script *s, bool begin_at_page)
{
    static double nonce = 0;
    static char text[MOST_PRINTED + 1];
    int to[2], from[2], status = 0, output = open_unnamed();
    answers a = {.used = 0};
    if (nonce == 0) nonce = 1 + floor(1e9 * fmod(seconds_now(), 1e3)) + 1e12 * (double)getpid();
    nonce += 1;
    s->answered = 0;
    s->failure[0] = 0;
    if (pipe(to) != 0 || pipe(from) != 0) {
        fprintf(stderr, "grade: no pipe: %s\n", strerror(errno));
        exit(1);
    }
    fflush(stdout);
    signal(SIGPIPE, SIG_IGN);
    pid_t process = fork();
    if (process == 0) be_the_child(program, folder, to[0], from[1], output);
    close(to[0]);
    close(from[1]);
    if (process > 0) setpgid(process, process);
    send_script(to[1], s, nonce, begin_at_page);
    close(to[1]);
    read_answers(from[0], seconds_now() + seconds, &a);
    close(from[0]);
    /* A program that has closed its descriptor may still run: it gets some time, then it is
     * ended. */
    if (!wait_until(process, seconds_now() + (a.late ? 0 : seconds), &status)) a.late = true;
    read_text(output, sizeof text, text);
    char *report = report_in(text);
    take_answers(s, nonce, &a);
    const int ended = !a.late && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const bool again = ended == EXIT_OTHER_END && s->answered == s->calls;
    if (!s->failure[0] && !again && (ended == 0 || !say_undefined(s, report)))
        say_end(s, status, a.late, seconds);
    int length = 0;
    const char *place = s->failure[0] ? place_in(report, file, &length) : NULL;
    const size_t used = strlen(s->failure);
    const int caller = place ? caller_in(place, file) : 0;
    if (caller)
        snprintf(s->failure + used, sizeof s->failure - used, " (%.*s, called in line %d)", length,
                 place, caller);
    else if (place)
        snprintf(s->failure + used, sizeof s->failure - used, " (%.*s)", length, place);
    *report = 0;
    keep_printed(s, text);
    free(a.bytes);
    return again && !s->failure[0];
}

void run_script(const char *program, const char *file, const char *folder, double seconds,
                script *s)
{
    if (run_once(program, file, folder, seconds, s, false))
        run_once(program, file, folder, seconds, s, true);
}
