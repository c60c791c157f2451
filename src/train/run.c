/* run.c -- a training that can be stopped at any time; see run.h.
 *
 * A checkpoint takes its place in three moves, none of which leaves the folder without one:
 *
 *                            checkpoint.new     checkpoint     checkpoint.previous
 *                                  -                 A                  Z
 *     write, sync            ->    B                 A                  Z
 *     rename the old one     ->    B                 -                  A
 *     rename the new one     ->    -                 B                  A
 *     sync the folder
 *
 * If A was found to be damaged when the run was opened, the second move is left out: it would put A
 * in the place of Z, the only good one. */
#include "train/run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "autograd/op.h"
#include "io/file.h"
#include "kernels/system.h"
#include "kernels/utf8.h"
#include "plot/progress.h"
#include "tensor/arena.h"
#include "train/checkpoint.h"
#include "train/position.h"

typedef enum {
    RUN_CHECKPOINT,
    RUN_PREVIOUS,
    RUN_NEW,
    RUN_BEST,
    RUN_LOG,
    RUN_LOCK,
    RUN_FILES
} run_file;
static const char *const run_file_name[RUN_FILES] = {"checkpoint.safetensors",
                                                     "checkpoint.previous.safetensors",
                                                     "checkpoint.new.safetensors",
                                                     "best.safetensors",
                                                     "log.csv",
                                                     "run.lock"};

struct at_run {
    at_arena home;    /* r lies in there, and its paths */
    at_tape *t;       /* NULL once it is closed */
    at_run **of_tape; /* r, for the tape to find it when it is closed; NULL once r is closed */
    at_run_args args;
    const char *folder, *path[RUN_FILES];
    FILE *lock, *log;
    at_position at;
    bool has_checkpoint; /* the file of that name is whole */
    int saved;           /* the step of the last checkpoint; -1: none */
    int n_params;

    bool in_step, is_bad, has_held, over, finished, diverged, unsaved, log_fails;
    int micro; /* -1 before at_run_next_micro */
    double sum[AT_MAX_COLUMNS], held;
    int count[AT_MAX_COLUMNS]; /* values in sum */
    at_progress progress;
};

static const at_run *open_run; /* the one of this process */

/* ------------------------------------------------------------------ messages ------------------- */

__attribute__((format(printf, 2, 3))) static void say(at_run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    at_progress_clear(&r->progress);
    fputs("attic: ", r->args.out);
    vfprintf(r->args.out, format, args);
    fputc('\n', r->args.out);
    va_end(args);
}

/* After a file error: says it, and goes on as if nothing had happened.  False on other errors. */
static bool warn_of_file(at_run *r, const char *and)
{
    if (at_error_kind_of(r->t) != ATTIC_FILE_ERROR) return at_ok(r->t);
    say(r, "warning: %s; %s", at_error(r->t), and);
    at_clear_error(r->t);
    return true;
}

static bool fail_file(at_run *r, const char *what, const char *path)
{
    return at_fail(r->t, ATTIC_FILE_ERROR, "cannot %s %s: %s", what, path, strerror(errno));
}

/* A pipe would wait, and what a link leads to is not this run's. */
static bool is_plain(at_run *r, const char *path)
{
    int mode;
    return at_may_replace(path, &mode) ||
           at_fail(r->t, ATTIC_FILE_ERROR, "cannot write %s: it is no file of this user's alone",
                   path);
}

/* ------------------------------------------------------------------ log ------------------------ */

/* Cuts the log to what the checkpoint knew, or makes an empty one. */
static bool open_log(at_run *r)
{
    const char *path = r->path[RUN_LOG];
    if (!is_plain(r, path)) return false;
    r->log = at_open_file(path, O_WRONLY | O_CREAT, -1);
    if (!r->log) return fail_file(r, "open", path);
    setvbuf(r->log, NULL, _IONBF, 0); /* nothing waits in a buffer when the disk is full */
    ptrdiff_t size = fseeko(r->log, 0, SEEK_END) == 0 ? (ptrdiff_t)ftello(r->log) : 0;
    if (size < r->at.log_length) {
        say(r, "warning: %s has %td bytes, but had %td: its end was lost", path, size,
            r->at.log_length);
        r->at.log_length = size;
    }
    if (at_truncate_file(r->log, r->at.log_length) != 0) return fail_file(r, "cut", path);
    return true;
}

/* All or nothing: the log has only whole lines.  A full disk is a warning, one for each time that
 * it becomes full. */
static void write_log(at_run *r, const char *text)
{
    ptrdiff_t n = (ptrdiff_t)strlen(text);
    errno = 0;
    bool good = fwrite(text, 1, (size_t)n, r->log) == (size_t)n;
    if (good) {
        r->at.log_length += n;
    } else {
        if (!r->log_fails)
            say(r, "warning: cannot write %s: %s; its lines are lost, the training goes on",
                r->path[RUN_LOG], strerror(errno));
        (void)at_truncate_file(r->log, r->at.log_length);
    }
    r->log_fails = !good;
}

enum { LOG_LINE = 64 * (AT_MAX_COLUMNS + 2) };

static void log_header(at_run *r)
{
    char line[LOG_LINE];
    int n = snprintf(line, sizeof line, "step");
    for (int i = 0; i < r->at.columns; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, ",%s", r->at.column[i]);
    snprintf(line + n, sizeof line - (size_t)n, ",held\n");
    write_log(r, line);
}

static double column_mean(const at_run *r, int i)
{
    return r->sum[i] / r->count[i];
}

static int put_number(char *to, int size, const char *before, double x, int digits)
{
    void *locale = at_point_begin();
    int n = isnan(x) ? snprintf(to, (size_t)size, "%snan", before) /* never -nan */
                     : snprintf(to, (size_t)size, "%s%.*g", before, digits, x);
    at_point_end(locale);
    return n;
}

/* The step that ended, to the log. */
static void log_step(at_run *r)
{
    char line[LOG_LINE];
    const int digits = at_real(r->t) == ATTIC_F32 ? 9 : 17;
    int n = snprintf(line, sizeof line, "%d", r->at.step);
    if (r->at.log_length == 0) log_header(r);
    if (r->at.log_length == 0) return; /* no line without a header */
    for (int i = 0; i < r->at.columns; i++)
        n += r->count[i] ? put_number(line + n, LOG_LINE - n, ",", column_mean(r, i), digits)
                         : snprintf(line + n, sizeof line - (size_t)n, ",");
    n += r->has_held ? put_number(line + n, LOG_LINE - n, ",", r->held, digits)
                     : snprintf(line + n, sizeof line - (size_t)n, ",");
    snprintf(line + n, sizeof line - (size_t)n, "\n");
    write_log(r, line);
}

/* "loss 2.134  norm 0.52", for the progress line */
static void show_step(at_run *r)
{
    char text[120] = "", name[AT_COLUMN_NAME + 4];
    int n = 0;
    for (int i = 0; i < r->at.columns && n < (int)sizeof text; i++) {
        snprintf(name, sizeof name, "%s%s ", n ? "  " : "", r->at.column[i]);
        if (r->count[i])
            n += put_number(text + n, (int)sizeof text - n, name, column_mean(r, i), 4);
    }
    at_progress_step(&r->progress, r->at.step, "%s", text);
}

/* ------------------------------------------------------------------ checkpoints ---------------- */

/* The second half of a save: what was written takes its place. */
static bool place_checkpoint(at_run *r)
{
    const char *path = r->path[RUN_CHECKPOINT];
    if (r->has_checkpoint && at_rename_file(path, r->path[RUN_PREVIOUS]) != 0)
        return fail_file(r, "replace", r->path[RUN_PREVIOUS]);
    r->has_checkpoint = false;
    if (at_rename_file(r->path[RUN_NEW], path) != 0) return fail_file(r, "replace", path);
    r->has_checkpoint = true;
    return at_sync_folder(r->folder) == 0 || fail_file(r, "sync", r->folder);
}

/* False after a sticky error. */
static bool save_checkpoint(at_run *r)
{
    if (r->saved == r->at.step) return true;
    if (r->log && at_sync_file(r->log) != 0) return fail_file(r, "sync", r->path[RUN_LOG]);
    if (!at_checkpoint_save(r->t, r->path[RUN_NEW], &r->at) || !place_checkpoint(r)) return false;
    r->saved = r->at.step;
    return true;
}

static bool is_there(const char *path)
{
    FILE *f = at_open_file(path, O_RDONLY, -1);
    if (!f) return errno != ENOENT;
    fclose(f);
    return true;
}

/* Loads the checkpoint or, if it is absent or damaged, the previous one. */
static bool load_checkpoints(at_run *r)
{
    r->has_checkpoint = is_there(r->path[RUN_CHECKPOINT]);
    if (r->has_checkpoint && at_checkpoint_load(r->t, r->path[RUN_CHECKPOINT], &r->at)) return true;
    if (!at_ok(r->t) && at_error_kind_of(r->t) != ATTIC_FILE_ERROR) return false;
    if (!is_there(r->path[RUN_PREVIOUS])) {
        AT_REQUIRE(r->t, !is_there(r->path[RUN_LOG]) && !is_there(r->path[RUN_BEST]),
                   "run: %s has a log or a best, but no checkpoint (fresh begins anew and removes "
                   "what is there)",
                   r->folder);
        return at_ok(r->t);
    }
    r->has_checkpoint = false; /* not one to be kept */
    warn_of_file(r, "the previous checkpoint is taken");
    return at_checkpoint_load(r->t, r->path[RUN_PREVIOUS], &r->at);
}

/* ------------------------------------------------------------------ open ----------------------- */

static bool make_folders(at_run *r)
{
    char *path = at_arena_alloc(&r->home, strlen(r->folder) + 1);
    if (!path) return at_fail(r->t, ATTIC_MEMORY_ERROR, "out of memory for a path");
    strcpy(path, r->folder);
    for (char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char next = *end;
        *end = 0;
        if (at_make_folder(path) != 0 && errno != EEXIST && !next)
            return fail_file(r, "make the folder", path);
        *end = next;
    }
    return true;
}

static bool name_files(at_run *r, const char *folder)
{
    for (int i = -1; i < RUN_FILES; i++) {
        const char *name = i < 0 ? "" : run_file_name[i];
        size_t size = strlen(folder) + strlen(name) + 2;
        char *path = at_arena_alloc(&r->home, size);
        if (!path) return at_fail(r->t, ATTIC_MEMORY_ERROR, "out of memory for a path");
        snprintf(path, size, "%s%s%s", folder, *name ? "/" : "", name);
        *(i < 0 ? &r->folder : &r->path[i]) = path;
    }
    return true;
}

static bool take_folder(at_run *r)
{
    if (!make_folders(r)) return false;
    if (!is_plain(r, r->path[RUN_LOCK])) return false;
    r->lock = at_lock_file(r->path[RUN_LOCK]);
    if (!r->lock && errno == EWOULDBLOCK)
        return at_fail(r->t, ATTIC_FILE_ERROR, "%s is in use: another process holds %s", r->folder,
                       r->path[RUN_LOCK]);
    if (!r->lock) return fail_file(r, "lock", r->path[RUN_LOCK]);
    at_file_remove_leftovers(r->folder, "checkpoint.new.");
    at_file_remove_leftovers(r->folder, "best.");
    for (int i = 0; r->args.fresh && i < RUN_LOCK; i++)
        if (remove(r->path[i]) != 0 && errno != ENOENT) return fail_file(r, "remove", r->path[i]);
    return true;
}

static bool check_run(at_run *r, const char *folder)
{
    at_tape *t = r->t;
    const at_run_args *a = &r->args;
    AT_REQUIRE(t, folder && *folder, "run: a folder is needed");
    AT_REQUIRE(t, !open_run, "run: %s is still open, and a process can have one run at a time",
               open_run->folder);
    AT_REQUIRE(t, a->steps > 0, "run: steps is %d, but must be > 0", a->steps);
    AT_REQUIRE(t, a->save_every >= 0, "run: save_every is %d, but must be >= 0", a->save_every);
    AT_REQUIRE(t, a->log_every > 0, "run: log_every is %d, but must be >= 0", a->log_every);
    AT_REQUIRE(t, a->max_bad > 0, "run: max_bad is %d, but must be >= 0", a->max_bad);
    AT_REQUIRE(t, a->micros > 0 && a->micros <= 1 << 12,
               "run: micros is %d, but must be 0 (for 1) .. %d", a->micros, 1 << 12);
    AT_REQUIRE(t, r->n_params > 0, "run: the tape has no parameters; make the model first");
    return at_ok(t);
}

/* Of the data: see at_data_description. */
static void say_warnings(at_run *r)
{
    const char *line = at_described(r->t, "data");
    while (line && (line = strstr(line, "\nwarning: "))) {
        line++;
        say(r, "%.*s", (int)strcspn(line, "\n"), line);
    }
}

static bool begin_run(at_run *r, const char *folder)
{
    if (!check_run(r, folder) || !name_files(r, folder)) return false;
    open_run = r;
    at_signals_begin();
    if (!take_folder(r) || !load_checkpoints(r)) return false;
    r->saved = r->has_checkpoint ? r->at.step : -1;
    /* A first checkpoint, before the log: a full disk is found now, and who has a log has both. */
    if (!save_checkpoint(r) || !open_log(r)) return false;
    say_warnings(r);
    if (r->at.step > 0 && !r->args.quiet)
        say(r, "%s: %s step %d of %d", r->folder,
            r->at.step < r->args.steps ? "goes on after" : "the training is at its end,",
            r->at.step, r->args.steps);
    r->progress = at_progress_start(r->args.quiet ? NULL : r->args.out, "training", r->args.steps);
    r->progress.before = r->progress.done = r->at.step;
    return true;
}

static void forget_tape(void *of_tape)
{
    at_run *r = *(at_run **)of_tape;
    if (!r) return;
    r->t = NULL;
    r->of_tape = NULL;
    r->over = true;
    r->in_step = false;
}

/* Closing the tape before the run is an error that the run can speak of. */
static bool bind_to_tape(at_run *r, at_tape *t)
{
    r->of_tape = at_permanent_alloc(t, sizeof *r->of_tape);
    if (!r->of_tape) return false;
    *r->of_tape = r;
    bool bound = at_on_close(t, forget_tape, r->of_tape);
    r->t = t; /* forgotten where it could not be bound */
    return bound;
}

at_run *at_run_open(at_tape *t, const char *folder, at_run_args args)
{
    at_arena home = {0};
    at_run *r = t ? at_arena_alloc(&home, sizeof *r) : NULL;
    if (!r) {
        at_arena_free(&home);
        return at_fail(t, ATTIC_MEMORY_ERROR, "out of memory: %zu more bytes were needed",
                       sizeof *r);
    }
    args.out = args.out ? args.out : stderr;
    args.log_every = args.log_every ? args.log_every : 1;
    args.micros = args.micros ? args.micros : 1;
    args.max_bad = args.max_bad ? args.max_bad : 10;
    *r = (at_run){.home = home, .t = t, .args = args, .saved = -1, .folder = ""};
    r->n_params = at_param_count(t);
    r->at = (at_position){.micros = args.micros, .best = (double)INFINITY};
    r->over = !bind_to_tape(r, t) || !begin_run(r, folder);
    return r;
}

/* ------------------------------------------------------------------ steps ---------------------- */

static bool end_step(at_run *r)
{
    at_position *p = &r->at;
    r->in_step = false;
    if (!at_ok(r->t)) return false;
    AT_REQUIRE(r->t, at_param_count(r->t) == r->n_params,
               "run: parameter \"%s\" was made after at_run_open",
               at_param_at(r->t, r->n_params)->name);
    p->step++;
    p->skipped += r->is_bad;
    p->bad = r->is_bad ? p->bad + 1 : 0;
    if (p->step % r->args.log_every == 0 || p->step == r->args.steps) log_step(r);
    show_step(r);
    r->diverged = p->bad >= r->args.max_bad;
    return !r->diverged;
}

/* The checkpoint of the end must be written; one on the way may fail. */
static bool save_if_due(at_run *r, bool is_end)
{
    const int every = r->args.save_every;
    if (!is_end && !(every && r->at.step % every == 0)) return true;
    if (save_checkpoint(r)) return true;
    r->unsaved = is_end;
    return !is_end && warn_of_file(r, "the checkpoint before it stays, the training goes on");
}

bool at_run_next(at_run *r)
{
    if (!r || r->over) return false;
    r->over = true;
    if (!at_ok(r->t) || (r->in_step && !end_step(r))) return false;
    bool done = r->at.step >= r->args.steps;
    if (!save_if_due(r, done || at_signal_noted())) return false;
    r->finished = done;
    if (done || at_signal_noted()) return false;

    r->over = r->is_bad = false;
    r->in_step = true;
    r->micro = -1;
    r->has_held = false;
    memset(r->sum, 0, sizeof r->sum);
    memset(r->count, 0, sizeof r->count);
    return at_draws_set(r->t, r->at.step, 0);
}

int at_run_step(const at_run *r)
{
    return r ? r->at.step : 0;
}

bool at_run_every(const at_run *r, int n)
{
    return r && r->in_step && n > 0 &&
           ((r->at.step + 1) % n == 0 || r->at.step + 1 == r->args.steps);
}

bool at_run_next_micro(at_run *r)
{
    if (!r || !r->in_step || r->is_bad || r->micro + 1 >= r->args.micros) return false;
    return at_draws_set(r->t, r->at.step, ++r->micro);
}

int at_run_micro(const at_run *r)
{
    return r && r->micro > 0 ? r->micro : 0;
}

/* ------------------------------------------------------------------ values --------------------- */

static bool is_column_name(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    bool plain = n > 0 && n < AT_COLUMN_NAME && at_is_utf8(name) && !strpbrk(name, ",;\"");
    for (size_t i = 0; i < n; i++) plain = plain && (unsigned char)name[i] >= ' ';
    return plain && strcmp(name, "step") != 0 && strcmp(name, "held") != 0;
}

/* The column of this name, which the first line of the log may add; -1 after a sticky error. */
static int column_named(at_run *r, const char *name)
{
    at_position *p = &r->at;
    for (int i = 0; i < p->columns; i++)
        if (name && strcmp(p->column[i], name) == 0) return i;
    bool fixed = p->step > 0;
    if (!is_column_name(name))
        at_fail(r->t, ATTIC_USER_ERROR,
                "run: \"%s\" cannot be a column of the log: a name has 1 .. %d bytes of UTF-8, "
                "no comma, semicolon, quote or line end, and is neither step nor held",
                !name              ? "NULL"
                : at_is_utf8(name) ? name
                                   : "?",
                AT_COLUMN_NAME - 1);
    else if (fixed || p->columns == AT_MAX_COLUMNS)
        at_fail(r->t, ATTIC_USER_ERROR,
                fixed ? "run: \"%s\" was not logged in the first step, which decides on the "
                        "columns of the log; log NAN there"
                      : "run: \"%s\" is a column too many for the log",
                name);
    if (!at_ok(r->t)) return -1;
    snprintf(p->column[p->columns], AT_COLUMN_NAME, "%s", name);
    return p->columns++;
}

static bool has_gradient(const at_tape *t)
{
    for (int i = 0; i < at_param_count(t); i++)
        if (at_param_at(t, i)->grad) return true;
    return false;
}

static bool is_in_step(at_run *r, const char *what)
{
    if (!r || !at_ok(r->t)) return false;
    AT_REQUIRE(r->t, r->in_step, "run: %s is given outside of a step, where nothing keeps it",
               what ? what : "NULL");
    return true;
}

bool at_run_log(at_run *r, const char *name, double value)
{
    if (!is_in_step(r, name)) return false;
    int i = column_named(r, name);
    if (i < 0) return false;
    bool is_loss = strcmp(name, "loss") == 0;
    AT_REQUIRE(
        r->t, !is_loss || r->is_bad || has_gradient(r->t),
        "run: \"loss\" is logged where no parameter has a gradient; log it between "
        "at_backward and the optimizer, so that the step can be skipped if it is not finite");
    r->sum[i] += value;
    r->count[i]++;
    if (!isfinite(value) && (is_loss || strcmp(name, "norm") == 0)) {
        r->is_bad = true;
        at_zero_grads(r->t);
    }
    return !r->is_bad;
}

bool at_run_best(at_run *r, double value)
{
    if (!is_in_step(r, "a best")) return false;
    r->held = value;
    r->has_held = true;
    if (!isfinite(value) || value >= r->at.best) return false;
    if (!at_save(r->t, r->path[RUN_BEST], (at_part_args){0})) {
        warn_of_file(r, "the best before it stays, the training goes on");
        return false;
    }
    r->at.best = value;
    return true;
}

/* ------------------------------------------------------------------ close ---------------------- */

bool at_run_finished(const at_run *r)
{
    return r && r->finished;
}

/* Says why the run ended; returns the status. */
static int explain_end(at_run *r)
{
    const int signal = open_run == r ? at_signal_noted() : 0;
    const at_position *p = &r->at;
    if (!r->t) {
        say(r, "%s: the tape was closed before the run", r->folder);
        return 2;
    }
    if (!at_ok(r->t)) {
        say(r, "%s%s", at_error(r->t), r->unsaved ? "; the last steps are not saved" : "");
        return at_error_kind_of(r->t) == ATTIC_USER_ERROR ? 2 : 1;
    }
    if (r->diverged) {
        say(r,
            "the loss was not finite in %d steps in a row, up to step %d: stopped; the last "
            "checkpoint is that of step %d",
            p->bad, p->step, r->saved);
        return 1;
    }
    if (p->skipped > 0)
        say(r, "%d of %d steps were skipped, as their loss was not finite", p->skipped, p->step);
    if (p->skipped > 0 && p->skipped == p->step) return 1;
    if (!signal || r->finished) return 0;
    say(r,
        "stopped by %s after step %d of %d; %s has the checkpoint of step %d, from which "
        "the same command goes on",
        signal == AT_SIGINT ? "^C (SIGINT)" : "SIGTERM", p->step, r->args.steps, r->folder,
        r->saved);
    return 128 + signal;
}

int at_run_close(at_run *r)
{
    if (!r) {
        fputs("attic: out of memory: there is no run\n", stderr);
        return 1;
    }
    if (r->progress.done > r->progress.before) at_progress_end(&r->progress);
    int status = explain_end(r);
    if (r->log) fclose(r->log);
    if (open_run == r) {
        at_signals_end();
        open_run = NULL;
    }
    if (r->lock) fclose(r->lock);
    if (r->of_tape) *r->of_tape = NULL;
    at_arena home = r->home; /* r lies in there */
    at_arena_free(&home);
    return status;
}
