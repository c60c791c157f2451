/* runner.c -- the process that holds somebody's exercise.
 *
 * It calls the functions of one file, with the arguments that it is sent, and sends back what they
 * wrote: see protocol.h.  It knows nothing of what is right.  Nothing of attic is linked to it, but for
 * E8, whose backwards are those of course/mistakes.c, and for E9, which calls attic's gradient check.
 *
 * Compiled once for each exercise, with -DEXERCISE=3 for E3; without, all of it is compiled.  Every
 * array lies between red zones of
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
#include <stdbool.h>
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

/* Is this compiled for exercise n? */
#ifdef EXERCISE
#define IS_FOR(n) (EXERCISE == (n))
#else
#define IS_FOR(n) 1
#endif

#if IS_FOR(8)
#include "bugs.h"
#include "mistakes.h"
#endif
#if IS_FOR(9)
#include "attic.h"
#include "kernels.h"
#endif

typedef struct {
    void *data;
    ptrdiff_t n;
    size_t width;        /* of an element: double or float */
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
    double x[REPLY_HEADER] = {nonce, tag, a, b, c, 0, 0};
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

static const char *end_of(const buffer *b)
{
    return (const char *)b->data + (size_t)b->n * b->width;
}

/* The array that ends nearest before this address, or begins nearest after it; -1: none within a page */
static int nearest_array(const char *address, bool before, ptrdiff_t *distance)
{
    int which = -1;
    *distance = 4096;
    for (int k = 0; k < buffer_count; k++) {
        const char *first = buffers[k].data, *end = end_of(&buffers[k]);
        const ptrdiff_t off = before ? address - end + 1 : first - address;
        if (off <= 0 || off >= *distance) continue;
        *distance = off;
        which = k;
    }
    return which;
}

static double element_at(const char *address, int which)
{
    const char *first = which < 0 ? address : buffers[which].data;
    return floor((double)(address - first) / (which < 0 ? 1 : (double)buffers[which].width));
}

/* An access to this address that was not allowed: beside which array is it?  Who gets outside does so past the end, most
 * often; so if the next array is nearer, but one ends no farther away than red zones are long, it may be either. */
static void answer_outside(const char *address, int written)
{
    ptrdiff_t past, ahead;
    int which = nearest_array(address, true, &past), other = nearest_array(address, false, &ahead);
    if (past > 512 && ahead < past) which = other;
    if (past > 512 || past <= ahead || which == other) other = -1;
    const double x[REPLY_HEADER] = {nonce,
                                    TAG_OUTSIDE,
                                    which,
                                    element_at(address, which),
                                    written,
                                    other,
                                    element_at(address, other)};
    answer(x, REPLY_HEADER);
}

#ifdef WITH_ASAN
void __sanitizer_print_stack_trace(void);

static void print_trace(void)
{
    printf("%s\n", crash_trace);
    fflush(stdout);
    __sanitizer_print_stack_trace();
}
#else
static void print_trace(void)
{
}
#endif

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
        const char *data = buffers[k].data;
        guarded |= buffers[k].page && address > data - 65536 && address < data + 65536;
    }
    const ptrdiff_t below = stack_begin - address;
    signal(number, SIG_DFL); /* it happens again, now to the end */
    print_trace();
    if (number == SIGABRT) return;
    if (guarded)
        answer_outside(address, written);
    else
        answer_event(below > 0 && below < (ptrdiff_t)1 << 30 ? TAG_STACK : TAG_CRASH, 0, 0, 0);
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

static void add_buffer(ptrdiff_t n, size_t width, const double *x)
{
    buffer *b = &buffers[buffer_count++];
    const size_t bytes = (size_t)n * width;
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
    b->data = b->page + (begin_at_page ? 0 : room - bytes);
#endif
    b->n = n;
    b->width = width;
    if (width == sizeof *x)
        memcpy(b->data, x, bytes);
    else
        for (ptrdiff_t e = 0; e < n; e++) ((float *)b->data)[e] = (float)x[e];
}

/* Its elements as doubles; returns where they end. */
static double *copy_buffer(const buffer *b, double *to)
{
    if (b->width == sizeof *to)
        memcpy(to, b->data, (size_t)b->n * sizeof *to);
    else
        for (ptrdiff_t e = 0; e < b->n; e++) to[e] = (double)((const float *)b->data)[e];
    return to + b->n;
}

/* Was something written beside an array? */
static void check_pattern(void)
{
    for (int k = 0; k < buffer_count; k++) {
        const buffer *b = &buffers[k];
        const unsigned char *first = b->data, *end = (const unsigned char *)end_of(b);
        for (size_t i = 0; b->page && i < b->room; i++) {
            const unsigned char *p = b->page + i;
            if ((p >= first && p < end) || *p == pattern) continue;
            answer_outside((const char *)p, 1);
            exit(EXIT_BAD_INPUT);
        }
    }
}

/* ------------------------------------------------------------------ calling ------------------- */

#define I(k) ((int)a[k])
#define B(k) ((double *)buffers[(int)a[k]].data)
#define F(k) ((float *)buffers[(int)a[k]].data)

#if IS_FOR(0)
static int f_kind, f_calls;
static double f_scale, f_points[MAX_POINTS];

static double f_noted(double x)
{
    if (f_calls < MAX_POINTS) f_points[f_calls] = x;
    f_calls++;
    return f_kind == F_SIN ? sin(x / f_scale) : f_kind == F_EXP ? exp(x / f_scale) : f_scale / x;
}

/* kind, scale, x; buffer 3 holds how often f was called, and where */
static double call_derivative(const double *a)
{
    f_kind = I(0), f_scale = a[1], f_calls = 0;
    double value = derivative(f_noted, a[2]);
    B(3)[0] = f_calls;
    memcpy(B(3) + 1, f_points, sizeof f_points);
    return value;
}
#endif

#if IS_FOR(8)
static steps *problem, *work[3];
static mistake_set under_test;

void run_again(attention *x)
{
    (void)x; /* its arrays are those of the problem */
    steps_forward(problem, STEPS_R);
    mistakes_run(problem, under_test, NULL, work);
}

double loss_of(const attention *x)
{
    (void)x;
    return steps_loss(problem);
}

/* What is given of the problem, to or from other memory */
static void keep_given(bool back)
{
    static double *given = NULL;
    size_t size = 0;
    for (int k = 0; k < BUG_GIVEN; k++) size += (size_t)steps_size(problem, bug_arrays[k]);
    if (!given) given = malloc(size * sizeof *given);
    if (!given) exit(EXIT_BAD_INPUT);
    double *at = given;
    for (int k = 0; k < BUG_GIVEN; k++) {
        size_t n = (size_t)steps_size(problem, bug_arrays[k]);
        memcpy(back ? problem->at[bug_arrays[k]] : at, back ? at : problem->at[bug_arrays[k]],
               n * sizeof *at);
        at += n;
    }
}

/* T N D Dv scale dropout, then a buffer for each array of `bug_arrays`: the problem lies in them. */
static void open_problem(const double *a)
{
    problem = steps_open(&(steps_problem){.H = 1,
                                          .G = 1,
                                          .T = I(0),
                                          .N = I(1),
                                          .D = I(2),
                                          .Dv = I(3),
                                          .scale = a[4],
                                          .dropout = a[5]});
    if (!problem || !mistakes_open_work(problem, work)) exit(EXIT_BAD_INPUT);
    for (int k = 0; k < BUG_ARRAYS; k++) problem->at[bug_arrays[k]] = B(6 + k);
    keep_given(false);
}

static int checks_written(void)
{
    int n = 0;
    while (n < MAX_CHECKS && checks[n].name) n++;
    return n;
}

/* How many checks there are and their names, each in CHECK_NAME numbers; then, for each backward, the
 * mistake found and the number of the check, -1 if there is none of this name. */
static void tell_findings(double *to)
{
    const int n = checks_written();
    *to++ = n;
    for (int k = 0; k < MAX_CHECKS; k++)
        for (int c = 0, end = k >= n; c < CHECK_NAME; c++) {
            end = end || c == CHECK_NAME - 1 || !checks[k].name[c];
            *to++ = end ? 0 : checks[k].name[c];
        }
    for (int b = 0; b < PLANTED; b++) {
        int by = -1;
        for (int k = 0; k < n; k++)
            if (found[b].by && strcmp(found[b].by, checks[k].name) == 0) by = k;
        *to++ = found[b].is;
        *to++ = by;
    }
}

static void set_to_1(steps_name what)
{
    for (ptrdiff_t e = 0; e < steps_size(problem, what); e++) problem->at[what][e] = 1;
}

/* Check number a[0] on the backwards with the mistakes in buffer a[1], the results to buffer a[2]; or
 * look, if a[0] is -1.  Each time the problem is what it was at first: a check may change it.  WITHOUT_MASK
 * and WITHOUT_DROPOUT are the right backward of a problem without. */
static void run_check(const double *a)
{
    const bool only_look = I(0) < 0;
    for (ptrdiff_t b = 0; I(0) < checks_written() && b < buffers[I(1)].n; b++) {
        const int m = (int)B(1)[b];
        const steps *p = problem;
        attention x = {p->p.T,
                       p->p.N,
                       p->p.D,
                       p->p.Dv,
                       p->c,
                       p->at[STEPS_Q],
                       p->at[STEPS_K],
                       p->at[STEPS_V],
                       p->at[STEPS_DO],
                       p->at[STEPS_KEEP],
                       p->at[STEPS_Z],
                       p->at[STEPS_S],
                       p->at[STEPS_P],
                       p->at[STEPS_A],
                       p->at[STEPS_O],
                       p->at[STEPS_DV],
                       p->at[STEPS_DP],
                       p->at[STEPS_DELTA],
                       p->at[STEPS_DS],
                       p->at[STEPS_DR],
                       p->at[STEPS_DQ],
                       p->at[STEPS_DK]};
        keep_given(true);
        if (m == WITHOUT_MASK) set_to_1(STEPS_KEEP);
        if (m == WITHOUT_DROPOUT) set_to_1(STEPS_Z);
        under_test = mistakes_only(m > 0 ? (mistake)m : MISTAKE_NONE);
        run_again(&x);
        if (only_look)
            look((int)b - 1, &x);
        else
            B(2)[b] = checks[I(0)].run(&x);
    }
}
#endif

#if IS_FOR(9)
/* What a submission may call of attic: it is linked with the runner. */
typedef void any_function(void);
extern any_function *const exercise_library[];
any_function *const exercise_library[] = {
    (any_function *)at_gradcheck_fn_f32, (any_function *)at_gradcheck_fn,
    (any_function *)at_gradcheck_print, (any_function *)at_verdict_text};

/* Kernel number a[0] at the sizes in the submission; buffer a[1]: how many, and each with what the check
 * says. */
static void check_planted(const double *a)
{
    double *to = B(1);
    int n = MOST_SIZES;
    plant_kernel(I(0));
    while (n > 0 && sizes[n - 1] == 0) n--; /* those that are not written are 0 */
    for (int k = 0; k < n; k++) {
        const bool can_be = sizes[k] >= 1 && sizes[k] <= LARGEST_SIZE;
        to[1 + 2 * k] = sizes[k];
        to[2 + 2 * k] = can_be ? check_kernel(planted_kernel, sizes[k]) : -1;
    }
    to[0] = n;
}
#endif

#if IS_FOR(10)
static void call_block(int function, const double *a)
{
    switch (function) {
    case CALL_SPLIT: split_heads(I(0), I(1), I(2), B(3), B(4)); break;
    case CALL_MERGE: merge_heads(I(0), I(1), I(2), B(3), B(4)); break;
    case CALL_TOKENS:
        tokens_forward(I(0), I(1), I(2), I(3), I(4), B(5), B(6), B(7), B(8), B(9), B(10), B(11));
        break;
    case CALL_HEADS:
        heads_forward(I(0), I(1), I(2), I(3), a[4], B(5), B(6), B(7), B(8), B(9));
        break;
    case CALL_OUTPUT: output_forward(I(0), I(1), I(2), B(3), B(4), B(5), B(6)); break;
    case CALL_OUTPUT_BACKWARD:
        output_backward(I(0), I(1), I(2), B(3), B(4), B(5), B(6), B(7));
        break;
    case CALL_HEADS_BACKWARD:
        heads_backward(I(0), I(1), I(2), I(3), a[4], B(5), B(6), B(7), B(8), B(9), B(10), B(11),
                       B(12));
        break;
    case CALL_TOKENS_BACKWARD:
        tokens_backward(I(0), I(1), I(2), I(3), I(4), B(5), B(6), B(7), B(8), B(9), B(10), B(11),
                        B(12), B(13), B(14), B(15), B(16));
        break;
    default: exit(EXIT_BAD_INPUT);
    }
}
#endif

static double call(int function, const double *a)
{
    switch (function) {
#if IS_FOR(0)
    case CALL_DERIVATIVE: return call_derivative(a);
#endif
#if IS_FOR(1)
    case CALL_SCALE: scale_backward(I(0), a[1], B(2), B(3)); break;
    case CALL_ADD: add_backward(I(0), B(1), B(2), B(3)); break;
#endif
#if IS_FOR(2)
    case CALL_MATMUL: matmul_backward(I(0), I(1), I(2), B(3), B(4), B(5), B(6), B(7)); break;
#endif
#if IS_FOR(3)
    case CALL_UPSTREAM: upstream(I(0), B(1)); break;
    case CALL_JACOBIAN: softmax_jacobian(I(0), B(1), B(2)); break;
    case CALL_SOFTMAX_SLOW: softmax_backward_slow(I(0), B(1), B(2), B(3)); break;
    case CALL_SOFTMAX: softmax_backward(I(0), B(1), B(2), B(3)); break;
#endif
#if IS_FOR(4)
    case CALL_DROPOUT: masked_dropout_backward(I(0), I(1), B(2), B(3), B(4), B(5), B(6)); break;
#endif
#if IS_FOR(5)
    case CALL_ROW:
        attention_row_backward(I(0), I(1), I(2), a[3], B(4), B(5), B(6), B(7), B(8), B(9), B(10),
                               B(11), B(12), B(13));
        break;
#endif
#if IS_FOR(6)
    case CALL_DELTAS: attention_deltas(I(0), I(1), B(2), B(3), B(4)); break;
    case CALL_BACKWARD:
        attention_backward(I(0), I(1), I(2), I(3), a[4], B(5), B(6), B(7), B(8), B(9), B(10), B(11),
                           B(12), B(13));
        break;
#endif
#if IS_FOR(7)
    case CALL_ONLINE: online_softmax(I(0), I(1), I(2), B(3), B(4), B(5), B(6)); break;
    case CALL_RECOMPUTED:
        attention_backward_recomputed(I(0), I(1), I(2), I(3), a[4], B(5), B(6), B(7), B(8), B(9),
                                      B(10), B(11), B(12), B(13));
        break;
#endif
#if IS_FOR(8)
    case CALL_FINDINGS: open_problem(a), tell_findings(B(6 + BUG_ARRAYS)); break;
    case CALL_CHECK: run_check(a); break;
#endif
#if IS_FOR(9)
    case CALL_CHECK_KERNEL: check_planted(a); break;
    case CALL_KERNEL: softmax_backward_f32(I(0), F(1), F(2), F(3)); break;
#endif
#if IS_FOR(10)
    default: call_block(function, a);
#else
    default: exit(EXIT_BAD_INPUT);
#endif
    }
    return 0;
}
#undef I
#undef B
#undef F

/* One item of the script; returns the next. */
static const double *run_item(const double *x)
{
    static int calls = 0;
    if (*x == TAG_BUFFER || *x == TAG_FLOATS) {
        ptrdiff_t n = (ptrdiff_t)x[1];
        if (buffer_count == MAX_BUFFERS) exit(EXIT_BAD_INPUT);
        add_buffer(n, *x == TAG_FLOATS ? sizeof(float) : sizeof(double), x + 2);
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
    double *all = malloc(((size_t)size + REPLY_HEADER) * sizeof *all);
    if (!all) exit(EXIT_BAD_INPUT);
    double *to = all + REPLY_HEADER;
    const double head[REPLY_HEADER] = {nonce, TAG_REPLY, calls++, blanks, value, (double)size};
    memcpy(all, head, sizeof head);
    for (int k = 0; k < n; k++) to = copy_buffer(&buffers[(int)outputs[k]], to);
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
    sigaction(SIGABRT, &action, NULL);
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
