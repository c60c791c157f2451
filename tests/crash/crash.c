/* crash.c -- a run that is killed, or whose disk is full, goes on from what is there and ends with the
 * same bits.
 *
 *     crash faults     each write, flush, close, sync, rename and cut of a short run fails or is the
 *                      last thing that the process does, in the four ways of faults.h
 *     crash kill N     N times, a run is killed at a random moment
 *
 * After each of them another process opens the folder.  It must find the state of some step, in all
 * its bits, and no older one than the last that at_run_next said was saved; and it trains to the
 * end, where the state and the log must be those of a run that nothing happened to.
 * Exit status: 0; 1 and a line that says what went wrong; 2 for wrong use. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attic_train.h"
#include "common/options.h"
#include "crash/faults.h"
#include "train/little.h"

enum { MOST_STEPS = 20, LOG_SIZE = 1 << 12 };
/* What a process that trains finds wrong, as its exit status. */
enum {
    OTHER_BITS = 10,
    TOO_OLD,
    OTHER_END,
    OTHER_LOG,
    NO_BEST,
    UNSYNCED,
    FIRST_WRONG = OTHER_BITS
};
static const char *const wrong_text[] = {
    "the state that was loaded is that of no step",
    "a checkpoint that was written is lost",
    "the last step has other bits",
    "the log has other lines",
    "the best cannot be loaded",
    "a file was renamed before it was synced, or its folder was not"};

static int steps;
static uint64_t expected[MOST_STEPS + 1]; /* the hash after so many steps */
static char expected_log[LOG_SIZE], expected_json[LOG_SIZE];
static struct {
    int saved; /* the step of the last checkpoint that is known to be written */
    int opened_at, calls;
} * shared; /* with the processes that train */

/* A column that comes in the second step: the log is written anew for it. */
static void log_late(at_run *r)
{
    if (at_run_step(r) == 1) at_run_log(r, "late", 0.5);
}

/* Of "step,loss,norm,held"; a disk that fails may cost the late column. */
static size_t early_length(const char *line)
{
    size_t n = 0;
    for (int cell = 0; cell < 4; cell++) n += strcspn(line + n, ",\n") + 1;
    return n - 1;
}

/* Is each line of this log one of the expected ones, in their order? */
static bool lines_are_expected(const char *log)
{
    const char *line = expected_log;
    for (const char *p = log; *p; p = strchr(p, '\n') + 1) {
        if (!strchr(p, '\n')) return false;
        size_t n = early_length(p);
        while (*line && (early_length(line) != n || strncmp(line, p, n) != 0))
            line = strchr(line, '\n') + 1;
        if (!*line) return false;
    }
    return true;
}

/* The same of log.jsonl, where a late column needs no other header. */
static bool objects_are_expected(const char *log)
{
    const char *line = expected_json;
    for (const char *p = log; *p; p = strchr(p, '\n') + 1) {
        if (!strchr(p, '\n')) return false;
        size_t n = strcspn(p, "\n") + 1;
        while (*line && strncmp(line, p, n) != 0) line = strchr(line, '\n') + 1;
        if (!*line) return false;
    }
    return true;
}

/* Are both logs what they must be?  Where the disk fails, lines may be missing. */
static bool logs_are_right(bool disk_fails)
{
    const char *log = little_log("run/log.csv"), *json = little_json_log("run/log.jsonl");
    if (!log || !json) return false;
    if (disk_fails) return lines_are_expected(log) && objects_are_expected(json);
    return strcmp(log, expected_log) == 0 && strcmp(json, expected_json) == 0;
}

static bool best_loads(void)
{
    at_tape *t = little_tape(ATTIC_F64, 1);
    bool good = !little_text("run/best.safetensors") ||
                at_load(t, little_path("run/best.safetensors"), (at_part_args){0});
    at_close(t);
    return good;
}

/* A process that trains to the end; returns its exit status. */
static int train_to_end(FILE *out, bool disk_fails)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run_args args = {
        .steps = steps, .save_every = 1, .json_log = true, .quiet = true, .out = out};
    at_run *r = at_run_open(t, little_path("run"), args);
    if (!at_ok(t)) return at_run_close(r);
    int step = shared->opened_at = at_run_step(r), wrong = 0;
    if (little_hash(t) != expected[step]) wrong = OTHER_BITS;
    if (step < shared->saved) wrong = TOO_OLD;
    if (!best_loads()) wrong = NO_BEST;
    while (!wrong && little_steps(t, r, 1)) {
        log_late(r);
        if (!disk_fails) shared->saved = at_run_step(r);
        if (!disk_fails && fault_unsynced()) wrong = UNSYNCED;
        at_run_best(r, 1.0 / (1 + at_run_step(r)));
    }
    if (!wrong && !disk_fails && at_run_finished(r)) shared->saved = steps;
    if (!wrong && at_ok(t) && little_hash(t) != expected[steps]) wrong = OTHER_END;
    int status = at_run_close(r);
    shared->calls = fault_calls();
    fault_at(NO_FAULT, 0);
    if (!wrong && status == 0 && !logs_are_right(disk_fails)) wrong = OTHER_LOG;
    at_close(t);
    return wrong ? wrong : status;
}

static pid_t start_training(fault_kind kind, int n, bool disk_fails)
{
    fflush(NULL);
    pid_t child = fork();
    if (child != 0) return child;
    FILE *out = fopen("/dev/null", "w");
    fault_at(kind, n);
    _exit(train_to_end(out, disk_fails));
}

/* Waits; false, after a message, if the process found something wrong or ended in another way than
 * expected: by SIGKILL (may_die), with an error (may_fail), with success. */
static bool ended_well(pid_t child, bool may_die, bool may_fail, const char *when)
{
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && may_die) return true;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0 || (code == 1 && may_fail)) return true;
    if (code >= FIRST_WRONG && code <= UNSYNCED)
        fprintf(stderr, "crash: %s: %s\n", when, wrong_text[code - FIRST_WRONG]);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "crash: %s: ended by signal %d\n", when, WTERMSIG(status));
    else
        fprintf(stderr, "crash: %s: status %d\n", when, code);
    return false;
}

static void remove_run(void)
{
    char command[192];
    snprintf(command, sizeof command, "rm -rf %s", little_path("run"));
    if (system(command) != 0) fprintf(stderr, "crash: %s failed\n", command);
    shared->saved = 0;
}

/* What every step must be, computed without a run; the log, of a run without a fault. */
static bool expect(int n_steps)
{
    steps = n_steps;
    at_tape *t = little_tape(ATTIC_F32, 7);
    expected[0] = little_hash(t);
    for (int i = 0; i < steps; i++) {
        little_plain_step(t, i);
        expected[i + 1] = little_hash(t);
    }
    at_close(t);
    t = little_tape(ATTIC_F32, 7);
    at_run_args args = {.steps = steps, .json_log = true, .quiet = true};
    at_run *r = at_run_open(t, little_path("run"), args);
    while (little_steps(t, r, 1)) {
        log_late(r);
        at_run_best(r, 1.0 / (1 + at_run_step(r)));
    }
    bool good = at_run_close(r) == 0 && strlen(little_log("run/log.csv")) < LOG_SIZE &&
                strlen(little_json_log("run/log.jsonl")) < LOG_SIZE;
    if (good) strcpy(expected_log, little_log("run/log.csv"));
    if (good) strcpy(expected_json, little_json_log("run/log.jsonl"));
    at_close(t);
    remove_run();
    return good;
}

/* ------------------------------------------------------------------ faults --------------------- */

static bool check_faults(fault_kind kind)
{
    static const char *const name[] = {"", "killed before", "killed in the middle of", "failed at",
                                       "failed from"};
    const bool kills = kind == KILLED || kind == KILLED_MID;
    int opened[MOST_STEPS + 1] = {0}, n = 1;
    for (bool reached = true; reached; n++) {
        char when[64];
        snprintf(when, sizeof when, "%s call %d", name[kind], n);
        shared->calls = 0;
        if (!ended_well(start_training(kind, n, !kills), kills, !kills, when)) return false;
        reached = shared->calls == 0 || shared->calls >= n;
        snprintf(when, sizeof when, "%s call %d, then resumed", name[kind], n);
        if (!ended_well(start_training(NO_FAULT, 0, !kills), false, false, when)) return false;
        opened[shared->opened_at]++;
        remove_run();
    }
    printf("  %-24s %3d calls; resumed at steps", name[kind], n - 2);
    for (int i = 0; i <= steps; i++)
        if (opened[i]) printf(" %d (%d times)", i, opened[i]);
    puts("");
    return n > 2;
}

/* ------------------------------------------------------------------ kills ---------------------- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Of a run from its first step to its last. */
static double undisturbed_seconds(void)
{
    double start = seconds();
    bool good = ended_well(start_training(NO_FAULT, 0, false), false, false, "undisturbed");
    remove_run();
    return good ? seconds() - start : 0;
}

static bool check_kills(int kills)
{
    const double longest = undisturbed_seconds();
    int killed = 0, finished = 0, opened[MOST_STEPS + 1] = {0}, different = 0;
    unsigned random = 12345;
    while (longest > 0 && killed < kills) {
        char when[64];
        pid_t child = start_training(NO_FAULT, 0, false);
        random = random * 1664525u + 1013904223u;
        double wait = longest * (double)(random >> 8) / (1 << 24);
        nanosleep(&(struct timespec){.tv_sec = (time_t)wait,
                                     .tv_nsec = (long)(1e9 * (wait - (double)(time_t)wait))},
                  NULL);
        siginfo_t state = {0};
        waitid(P_PID, (id_t)child, &state, WEXITED | WNOHANG | WNOWAIT);
        bool alive = state.si_pid == 0;
        kill(child, SIGKILL);
        snprintf(when, sizeof when, "kill %d", killed + 1);
        if (!ended_well(child, true, false, when)) return false;
        killed += alive;
        finished += !alive;
        opened[shared->opened_at]++;
        if (!alive) remove_run();
    }
    if (!ended_well(start_training(NO_FAULT, 0, false), false, false, "after all kills"))
        return false;
    for (int i = 0; i <= steps; i++) different += opened[i] > 0;
    printf("  %d kills, %d runs came to their end between them; opened at %d different steps, "
           "always with the right bits\n",
           killed, finished, different);
    return longest > 0;
}

int main(int argc, char **argv)
{
    bool faults = argc == 2 && strcmp(argv[1], "faults") == 0;
    int kills = 0;
    bool kill = argc == 3 && strcmp(argv[1], "kill") == 0 && read_int(argv[2], 1, 1000000, &kills);
    if (!faults && !kill) {
        fputs("usage: crash faults | crash kill N\n", stderr);
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool good = shared != MAP_FAILED && little_folder() && expect(faults ? 3 : MOST_STEPS);
    for (fault_kind kind = KILLED; good && faults && kind < FAULTS; kind++)
        good = check_faults(kind);
    if (good && !faults) good = check_kills(kills);
    little_remove();
    return good ? 0 : 1;
}
