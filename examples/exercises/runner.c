/* runner.c -- the process that holds somebody's exercise.
 *
 * It calls the functions of one file, with the arguments that it is sent, and sends back what they
 * wrote: see protocol.h.  It knows nothing of what is right, and nothing of attic is linked to it.
 *
 * Compiled once for each exercise, with -DEXERCISE=3 for E3.  Every array lies between red zones of
 * AddressSanitizer, or else between two pages that can be neither read nor written: it ends where
 * the second one begins, and in another run it begins where the first one ends.  What is left of
 * its own pages holds a pattern that is compared after each call. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "exercise.h"
#include "protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined __SANITIZE_ADDRESS__
#define WITH_ASAN 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

typedef struct {
    double *data;
    ptrdiff_t n;
    unsigned char *page; /* its own pages, `room` bytes; NULL: red zones */
    size_t room;
} buffer;

enum { pattern = 0xa5 };
static buffer buffers[MAX_BUFFERS];
static int buffer_count, answers, begin_at_page;
static double nonce, blanks;
static pid_t own_process;
static const char *stack_begin;

double exercise_blank(int n)
{
    double x;
    unsigned long long reached = (unsigned long long)blanks;
    blanks = (double)(reached | 1ull << n);
    set_bits(&x, nan_blank | (uint64_t)n);
    return x;
}

/* ------------------------------------------------------------------ the pipes ----------------- */

/* Only what may be called in a signal handler. */
static void answer(const double *x, size_t n)
{
    const char *from = (const char *)x;
    size_t left = n * sizeof *x;
    while (left > 0) {
        ssize_t done = write(answers, from, left);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) _exit(EXIT_NO_ANSWER);
        from += done;
        left -= (size_t)done;
    }
}

static void answer_event(int tag, double a, double b, double c)
{
    double x[REPLY_HEADER] = {nonce, tag, a, b, c, 0};
    answer(x, REPLY_HEADER);
}

static void read_all(int from, double *x, size_t n)
{
    char *to = (char *)x;
    size_t left = n * sizeof *x;
    while (left > 0) {
        ssize_t done = read(from, to, left);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) exit(EXIT_BAD_INPUT);
        to += done;
        left -= (size_t)done;
    }
}

/* ------------------------------------------------------------------ what is outside ----------- */

/* An access to this address that was not allowed: which array lies nearest, within a page? */
static void answer_outside(const char *address, int written)
{
    ptrdiff_t nearest = 4096;
    int which = -1;
    double element = 0;
    for (int k = 0; k < buffer_count; k++) {
        const char *first = (const char *)buffers[k].data;
        const char *end = (const char *)(buffers[k].data + buffers[k].n);
        ptrdiff_t off = address < first ? first - address : address - end + 1;
        if (off >= nearest) continue;
        nearest = off;
        which = k;
        element = floor((double)(address - first) / sizeof(double));
    }
    answer_event(TAG_OUTSIDE, which, element, written);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const char *address = info->si_addr;
    int written = -1;
#if defined __x86_64__ && defined REG_ERR
    written = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] >> 1 & 1;
#endif
    (void)context;
    int guarded = 0;
    for (int k = 0; k < buffer_count; k++) {
        const char *data = (const char *)buffers[k].data;
        guarded |= buffers[k].page && address > data - 65536 && address < data + 65536;
    }
    const ptrdiff_t below = stack_begin - address;
    if (guarded)
        answer_outside(address, written);
    else
        answer_event(below > 0 && below < (ptrdiff_t)1 << 30 ? TAG_STACK : TAG_CRASH, 0, 0, 0);
    signal(number, SIG_DFL); /* and again, now to its end */
}

#ifdef WITH_ASAN
void *__asan_get_report_address(void);
int __asan_get_report_access_type(void);
void __asan_on_error(void);
const char *__asan_default_options(void);

void __asan_on_error(void)
{
    answer_outside(__asan_get_report_address(), __asan_get_report_access_type());
}

const char *__asan_default_options(void)
{
    return "handle_segv=0:use_sigaltstack=0:detect_leaks=0:handle_sigbus=0";
}
#endif

static void add_buffer(ptrdiff_t n, const double *x)
{
    buffer *b = &buffers[buffer_count++];
    const size_t bytes = (size_t)n * sizeof *x;
#ifdef WITH_ASAN
    b->data = malloc(bytes);
    if (!b->data) exit(EXIT_BAD_INPUT);
#else
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
    unsigned char *all = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page, room, PROT_READ | PROT_WRITE) != 0)
        exit(EXIT_BAD_INPUT);
    b->page = all + page;
    b->room = room;
    memset(b->page, pattern, room);
    b->data = (double *)(void *)(b->page + (begin_at_page ? 0 : room - bytes));
#endif
    b->n = n;
    memcpy(b->data, x, bytes);
}

/* Was something written beside an array? */
static void check_pattern(void)
{
    for (int k = 0; k < buffer_count; k++) {
        const buffer *b = &buffers[k];
        const unsigned char *first = (unsigned char *)b->data,
                            *end = (unsigned char *)(b->data + b->n);
        for (size_t i = 0; b->page && i < b->room; i++) {
            const unsigned char *p = b->page + i;
            if ((p >= first && p < end) || *p == pattern) continue;
            answer_outside((const char *)p, 1);
            exit(EXIT_BAD_INPUT);
        }
    }
}

/* ------------------------------------------------------------------ calling ------------------- */

#if EXERCISE == 0
static int f_kind, f_calls;
static double f_scale, f_points[MAX_POINTS];

static double f_noted(double x)
{
    if (f_calls < MAX_POINTS) f_points[f_calls] = x;
    f_calls++;
    return f_kind == F_SIN ? sin(x / f_scale) : f_kind == F_EXP ? exp(x / f_scale) : f_scale / x;
}
#endif

static double call(int function, const double *a)
{
    double value = 0;
#define I(k) ((int)a[k])
#define B(k) (buffers[(int)a[k]].data)
    switch (function) {
#if EXERCISE == 0
    case CALL_DERIVATIVE: /* kind, scale, x; buffer 3 holds how often f was called, and where */
        f_kind = I(0), f_scale = a[1], f_calls = 0;
        value = derivative(f_noted, a[2]);
        B(3)[0] = f_calls;
        memcpy(B(3) + 1, f_points, sizeof f_points);
        break;
#elif EXERCISE == 1
    case CALL_SCALE: scale_backward(I(0), a[1], B(2), B(3)); break;
    case CALL_ADD: add_backward(I(0), B(1), B(2), B(3)); break;
#elif EXERCISE == 2
    case CALL_MATMUL: matmul_backward(I(0), I(1), I(2), B(3), B(4), B(5), B(6), B(7)); break;
#elif EXERCISE == 3
    case CALL_UPSTREAM: upstream(I(0), B(1)); break;
    case CALL_JACOBIAN: softmax_jacobian(I(0), B(1), B(2)); break;
    case CALL_SOFTMAX_SLOW: softmax_backward_slow(I(0), B(1), B(2), B(3)); break;
    case CALL_SOFTMAX: softmax_backward(I(0), B(1), B(2), B(3)); break;
#elif EXERCISE == 4
    case CALL_DROPOUT: masked_dropout_backward(I(0), I(1), B(2), B(3), B(4), B(5), B(6)); break;
#elif EXERCISE == 5
    case CALL_ROW:
        attention_row_backward(I(0), I(1), I(2), a[3], B(4), B(5), B(6), B(7), B(8), B(9), B(10),
                               B(11), B(12), B(13));
        break;
#elif EXERCISE == 6
    case CALL_DELTAS: attention_deltas(I(0), I(1), B(2), B(3), B(4)); break;
    case CALL_BACKWARD:
        attention_backward(I(0), I(1), I(2), I(3), a[4], B(5), B(6), B(7), B(8), B(9), B(10), B(11),
                           B(12), B(13));
        break;
#elif EXERCISE == 7
    case CALL_ONLINE: online_softmax(I(0), I(1), I(2), B(3), B(4), B(5), B(6)); break;
    case CALL_RECOMPUTED:
        attention_backward_recomputed(I(0), I(1), I(2), I(3), a[4], B(5), B(6), B(7), B(8), B(9),
                                      B(10), B(11), B(12), B(13));
        break;
#else
#error "compile with -DEXERCISE=0 to 7"
#endif
    default: exit(EXIT_BAD_INPUT);
    }
#undef I
#undef B
    return value;
}

/* One item of the script; returns the next. */
static const double *run_item(const double *x)
{
    static int calls = 0;
    if (*x == TAG_BUFFER) {
        ptrdiff_t n = (ptrdiff_t)x[1];
        if (buffer_count == MAX_BUFFERS) exit(EXIT_BAD_INPUT);
        add_buffer(n, x + 2);
        return x + 2 + n;
    }
    const double *arguments = x + 3, *outputs = arguments + (int)x[2];
    const int n = (int)*outputs++;
    blanks = 0;
    double value = call((int)x[1], arguments);
    if (getpid() != own_process) { /* a copy of this process came back as well */
        answer_event(TAG_FORK, 0, 0, 0);
        _exit(0);
    }
    check_pattern();
    ptrdiff_t size = 0;
    for (int k = 0; k < n; k++) size += buffers[(int)outputs[k]].n;
    double *all = malloc(((size_t)size + REPLY_HEADER) * sizeof *all), *to = all + REPLY_HEADER;
    if (!all) exit(EXIT_BAD_INPUT);
    const double head[REPLY_HEADER] = {nonce, TAG_REPLY, calls++, blanks, value, (double)size};
    memcpy(all, head, sizeof head);
    for (int k = 0; k < n; k++) {
        const buffer *b = &buffers[(int)outputs[k]];
        memcpy(to, b->data, (size_t)b->n * sizeof *to);
        to += b->n;
    }
    answer(all, (size_t)(to - all)); /* at once: two processes may write */
    free(all);
    return outputs + n;
}

static void catch_signals(void)
{
    static char other_stack[65536];
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

int main(int argc, char **argv)
{
    double head[3];
    stack_begin = __builtin_frame_address(0);
    if (argc != 3) return EXIT_BAD_INPUT;
    int script = (int)strtol(argv[1], NULL, 10);
    answers = (int)strtol(argv[2], NULL, 10);
    own_process = getpid();
    read_all(script, head, 3);
    nonce = head[0];
    const size_t n = (size_t)head[1];
    begin_at_page = head[2] == 1;
    double *items = malloc(n * sizeof *items);
    if (!items) return EXIT_BAD_INPUT;
    read_all(script, items, n);
    close(script);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* nothing is lost in a crash */
    catch_signals();
    for (const double *x = items; x < items + n;) x = run_item(x);
    fflush(stdout);
    free(items);
    return buffers[0].page && !begin_at_page ? EXIT_OTHER_END : 0;
}
