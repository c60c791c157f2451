/* run.c -- a training that can be stopped at any time; see run.h.  Its files: run_folder.c. */
#include "train/run.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/persist.h"
#include "system/system.h"
#include "system/utf8.h"
#include "tensor/decimal.h"
#include "train/run_state.h"

static const at_run *open_run; /* the one of this process */

/* ------------------------------------------------------------------ messages ------------------- */

/* (A folder's name may hold anything.) */
void at_run_say(at_run *r, const char *format, ...)
{
    if (r->peers.with.rank > 0) return;
    char text[4096], shown[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    at_show(shown, sizeof shown, text, (ptrdiff_t)strlen(text));
    at_progress_clear(&r->progress);
    fprintf(r->args.out, "attic: %s\n", shown);
}

bool at_run_warn(at_run *r, const char *and)
{
    if (at_error_kind_of(r->t) != ATTIC_FILE_ERROR) return at_ok(r->t);
    at_run_say(r, "warning: %s; %s", at_error(r->t), and);
    at_clear_error(r->t);
    return true;
}

/* The same where it may fail again and again: says it the first time.  *fails: it did last time. */
static bool warn_once(at_run *r, bool *fails, bool good, const char *and)
{
    bool again = *fails && !good && at_error_kind_of(r->t) == ATTIC_FILE_ERROR;
    *fails = !good;
    if (again) at_clear_error(r->t);
    return good || again || at_run_warn(r, and);
}

double at_run_seconds(const at_run *r)
{
    return r->seconds_before + 1e-9 * (double)(at_now_ns() - r->opened_ns);
}

/* ------------------------------------------------------------------ processes ----------------- */

/* Comes together with the others.  False after a sticky error, of any of them. */
static bool meet(at_run *r, at_word word)
{
    word.signal = open_run == r ? at_signal_noted() : 0;
    word.stopped = r->at.stopped;
    word.bad = r->in_step && r->is_bad;
    word.error = ATTIC_USER_ERROR; /* of a tape that was closed; else at_peers_meet knows it */
    return at_peers_meet(&r->peers, r->t, word);
}

/* The signal that ends the run; 0: none.  Of several processes, what all know of. */
static int signal_of(const at_run *r)
{
    if (r->peers.with.count > 1) return r->peers.heard.signal;
    return open_run == r ? at_signal_noted() : 0;
}

/* Says once if the exchange takes more than half of the time. */
static void warn_of_exchange(at_run *r)
{
    const double spent = (double)r->peers.spent_ns, all = (double)(at_now_ns() - r->begun_ns);
    const bool enough = r->at.step >= r->opened_at + 10 && spent > 0.5 * all;
    if (!r->peers.together || r->exchange_said || !enough) return;
    at_run_say(r,
               "warning: %.0f %% of the time is the exchange of gradients between %d processes; "
               "docs/machines.md says when they are worth it",
               100 * spent / all, r->peers.with.count);
    r->exchange_said = true;
}

/* ------------------------------------------------------------------ log ------------------------ */

static void log_step(at_run *r, bool is_last)
{
    bool due = is_last || r->at.step % r->args.log_every == 0;
    bool good = at_csv_end(&r->log, r->at.step, due, r->has_held ? &r->held : NULL,
                           at_run_seconds(r), r->args.per_step);
    warn_once(r, &r->log_fails, good, "the log lacks lines or a column, the training goes on");
}

/* "loss 2.134  norm 0.52", for the progress line */
static void show_step(at_run *r)
{
    char text[120] = "", name[AT_CSV_NAME + 4];
    int n = 0;
    for (int i = 0; i < r->log.columns && n < (int)sizeof text; i++) {
        const at_csv_column *c = &r->log.column[i];
        if (!c->count || at_csv_is_fixed(&r->log, i)) continue;
        snprintf(name, sizeof name, "%s%s ", n ? "  " : "", c->name);
        n += at_csv_put(text + n, (int)sizeof text - n, name, at_csv_mean(&r->log, i), 4);
    }
    at_progress_step(&r->progress, r->at.step, "%s", text);
}

/* ------------------------------------------------------------------ early ends ----------------- */

static bool ended_early(const at_run *r)
{
    bool no_patience = r->args.patience > 0 && r->at.worse >= r->args.patience;
    return r->at.step < r->args.steps && (r->at.stopped >= r->args.steps || no_patience);
}

static void say_early(at_run *r)
{
    const at_position *p = &r->at;
    char losses[60] = "the held-out loss was", why[120] = "the program stopped it";
    if (p->worse > 1) snprintf(losses, sizeof losses, "%d held-out losses in a row were", p->worse);
    if (p->stopped < r->args.steps && p->best_step > 0)
        snprintf(why, sizeof why, "%s not below %s, that of step %d", losses,
                 at_short_text(p->best, 4), p->best_step);
    else if (p->stopped < r->args.steps)
        snprintf(why, sizeof why, "%s not finite", losses);
    at_run_say(r, "%s: ended early, after step %d of %d: %s", r->folder, p->step, r->args.steps,
               why);
}

/* ------------------------------------------------------------------ open ----------------------- */

static bool is_power_of_two(int n)
{
    return n > 0 && !(n & (n - 1));
}

/* Is that a group of processes at all?  Else nobody can be told of an error. */
static bool is_group(const at_run_peers *p)
{
    return p && is_power_of_two(p->count) && p->count <= AT_MAX_PEERS && p->rank >= 0 &&
           p->rank < p->count && p->gather && p->share && p->swap;
}

static bool check_peers(at_tape *t, const at_run_args *a)
{
    const at_run_peers *p = a->peers;
    AT_REQUIRE(t, p->gather && p->share && p->swap, "run: a function of the peers is NULL");
    AT_REQUIRE(t, is_group(p),
               "run: rank %d of %d processes; their number must be a power of two up to %d",
               p->rank, p->count, AT_MAX_PEERS);
    AT_REQUIRE(
        t, p->count == 1 || (is_power_of_two(a->micros) && a->micros >= p->count),
        "run: micros is %d, but must be a power of two of at least %d, the number of processes",
        a->micros, p->count);
    AT_REQUIRE(t, p->count == 1 || at_real(t) != ATTIC_DUAL,
               "run: several processes train in f32 or f64, but the tape has dual numbers");
    return true;
}

static bool check_run(at_run *r, const char *folder)
{
    at_tape *t = r->t;
    const at_run_args *a = &r->args;
    AT_REQUIRE(t, !folder || *folder,
               "run: the name of the folder is empty; NULL is a run without");
    AT_REQUIRE(
        t, folder || (!a->save_every && !a->fresh && a->log_every == 1 && !a->json_log),
        "run: save_every is %d, log_every %d, json_log %d, fresh %d, but without a folder there is "
        "nothing to save, to log to or to remove",
        a->save_every, a->log_every, a->json_log, a->fresh);
    AT_REQUIRE(t, !open_run, "run: %s is still open, and a process can have one run at a time",
               open_run->folder);
    AT_REQUIRE(t, a->steps > 0, "run: steps is %d, but must be > 0", a->steps);
    AT_REQUIRE(t, a->save_every >= 0, "run: save_every is %d, but must be >= 0", a->save_every);
    AT_REQUIRE(t, a->log_every > 0, "run: log_every is %d, but must be >= 0", a->log_every);
    AT_REQUIRE(t, a->max_bad > 0, "run: max_bad is %d, but must be >= 0", a->max_bad);
    AT_REQUIRE(t, a->patience >= 0, "run: patience is %d, but must be >= 0", a->patience);
    AT_REQUIRE(t, a->per_step > 0 && isfinite(a->per_step),
               "run: per_step is %g, but must be >= 0 and finite", a->per_step);
    AT_REQUIRE(t, a->micros > 0 && a->micros <= 1 << 12,
               "run: micros is %d, but must be 0 (for 1) .. %d", a->micros, 1 << 12);
    AT_REQUIRE(t, r->n_params > 0, "run: the tape has no parameters; make the model first");
    return at_ok(t) && (!a->peers || check_peers(t, a));
}

/* Of the data: see at_data_description. */
static void say_warnings(at_run *r)
{
    const char *line = at_described(r->t, "data");
    while (line && (line = strstr(line, "\nwarning: "))) {
        line++;
        at_run_say(r, "%.*s", (int)strcspn(line, "\n"), line);
    }
}

/* What needs nothing but memory. */
static bool prepare_run(at_run *r, const char *folder)
{
    if (!check_run(r, folder) || (folder && !at_folder_name(r, folder))) return false;
    const int count = r->peers.with.count;
    r->own = r->args.micros / count;
    r->first = r->own * r->peers.with.rank;
    return (r->own == 1 || at_gradients_open(&r->gradients, r->t, &r->home, r->own)) &&
           (count == 1 || at_peers_reserve(&r->peers, r->t, &r->home, r->args.micros));
}

static bool begin_run(at_run *r, const char *folder)
{
    const bool several = r->peers.together, here = r->peers.with.rank == 0;
    if (!prepare_run(r, folder) && !several) return false;
    if (several && !at_peers_compare(&r->peers, r->t, &r->args, folder)) return false;
    open_run = r;
    at_note_signals(true);
    r->opened_ns = at_now_ns();
    r->has_folder = folder;
    if (folder && here && !at_folder_open(r) && !several) return false;
    if (several && !at_peers_share_state(&r->peers, r->t, &r->at)) return false;
    r->opened_at = r->at.step;
    say_warnings(r);
    if (r->at.step > 0 && !r->args.quiet && ended_early(r))
        say_early(r);
    else if (r->at.step > 0 && !r->args.quiet)
        at_run_say(r, "%s: %s step %d of %d", r->folder,
                   r->at.step < r->args.steps ? "goes on after" : "the training is at its end,",
                   r->at.step, r->args.steps);
    r->progress =
        at_progress_start(r->args.quiet || !here ? NULL : r->args.out, "training", r->args.steps);
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

/* This process with the others, if there are any. */
static at_peers peers_of(const at_run_args *args)
{
    at_peers p = {.with = {.count = 1}};
    if (is_group(args->peers)) p.with = *args->peers;
    p.together = p.with.count > 1;
    return p;
}

at_run *at_run_open(at_tape *t, const char *folder, at_run_args args)
{
    at_arena home = {0};
    at_run *r = t ? at_arena_alloc(&home, sizeof *r) : NULL;
    at_peers peers = peers_of(&args);
    if (!r) {
        at_arena_free(&home);
        const at_word no_run = {.place = AT_AT_OPEN, .error = ATTIC_MEMORY_ERROR};
        if (peers.together) at_peers_meet(&peers, NULL, no_run);
        return at_fail(t, ATTIC_MEMORY_ERROR, "out of memory: %zu more bytes were needed",
                       sizeof *r);
    }
    args.out = args.out ? args.out : stderr;
    args.log_every = args.log_every ? args.log_every : 1;
    args.micros = args.micros ? args.micros : 1;
    args.max_bad = args.max_bad ? args.max_bad : 10;
    args.per_step = args.per_step != 0 ? args.per_step : 1;
    *r = (at_run){.home = home, .t = t, .args = args, .peers = peers, .saved = -1};
    r->log = (at_csv){.t = t, .fixed = -1};
    r->folder = folder ? "" : "the run"; /* as messages name it */
    r->n_params = at_param_count(t);
    r->at = (at_position){
        .micros = args.micros, .any_arithmetic = args.other_arithmetic, .best = (double)INFINITY};
    const bool bound = bind_to_tape(r, t); /* else there is an error, of which others must know */
    r->over = (!bound && !peers.together) || !begin_run(r, folder);
    return r;
}

/* ------------------------------------------------------------------ steps ---------------------- */

static bool is_done(const at_run *r)
{
    return r->at.step >= r->args.steps || ended_early(r);
}

static bool end_step(at_run *r)
{
    at_position *p = &r->at;
    r->in_step = false;
    if (!at_ok(r->t)) return false;
    AT_REQUIRE(r->t, at_param_count(r->t) == r->n_params,
               "run: parameter \"%s\" was made after at_run_open",
               at_shown(at_param_at(r->t, r->n_params)->name, -1));
    const bool needed = r->peers.together || (r->micro >= 0 && r->own > 1);
    AT_REQUIRE(r->t, r->summed || r->is_bad || !needed,
               "run: step %d was left at micro-batch %d of %d; their gradients are a sum when "
               "at_run_next_micro has returned false",
               p->step, at_run_micro(r), r->args.micros);
    p->step++;
    p->skipped += r->is_bad;
    p->bad = r->is_bad ? p->bad + 1 : 0;
    log_step(r, is_done(r));
    show_step(r);
    r->diverged = p->bad >= r->args.max_bad;
    return !r->diverged && at_ok(r->t);
}

/* The checkpoint of the end must be written; one on the way may fail. */
static bool save_if_due(at_run *r, bool is_end)
{
    const int every = r->args.save_every;
    if (!r->has_folder || (!is_end && !(every && r->at.step % every == 0))) return true;
    bool good = at_folder_save(r);
    r->unsaved = is_end && !good;
    if (!is_end)
        good = warn_once(r, &r->save_fails, good,
                         "the checkpoint before it stays, the training goes on");
    return r->peers.together ? meet(r, (at_word){.place = AT_AT_SAVED}) : good;
}

/* Before a step ends: does everybody think the same of it? */
static bool agree_on_step(at_run *r)
{
    if (!meet(r, (at_word){.place = AT_AT_NEXT})) return false;
    const int bad = r->peers.heard.bad, count = r->peers.with.count;
    AT_REQUIRE(r->t, bad == 0 || bad == count,
               "run: step %d is skipped in %d of %d processes; what is not finite is to be logged "
               "with the micro-batches or in all of them",
               r->at.step, bad, count);
    r->at.stopped = r->peers.heard.stopped;
    return true;
}

/* Ends the step, if one is open, and begins the next one. */
static bool next_step(at_run *r)
{
    r->over = true;
    if (r->peers.together && !agree_on_step(r)) return false;
    if (!at_ok(r->t) || (r->in_step && !end_step(r))) return false;
    const bool done = is_done(r), ends = done || signal_of(r);
    if (!save_if_due(r, ends)) return false;
    r->finished = done;
    if (ends) return false;
    warn_of_exchange(r);
    if (!r->begun_ns) r->begun_ns = at_now_ns();

    r->over = r->is_bad = false;
    at_skip_step(r->t, false);
    r->in_step = true;
    r->micro = -1;
    r->peers.logged = 0;
    r->summed = r->has_held = false;
    at_gradients_begin(&r->gradients);
    at_csv_begin(&r->log);
    return at_draws_set(r->t, r->at.step, 0);
}

bool at_run_next(at_run *r)
{
    if (!r || r->over) return false;
    at_profile_line *outer = at_profile_enter(r->t, "run_next");
    const bool good = next_step(r);
    at_profile_leave(r->t, outer);
    return good;
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

static void skip_step(at_run *r)
{
    r->is_bad = true;
    at_skip_step(r->t, true);
}

/* What the micro-batches of all processes come to: values, draws, gradients.  False after a sticky
 * error and if the step is skipped. */
static bool sum_with_peers(at_run *r)
{
    at_peers *p = &r->peers;
    const uint64_t draws = r->t ? *at_draw_count(r->t) : 0;
    if (!meet(r, (at_word){.place = AT_AT_MICROS, .values = p->logged, .draws = draws}) ||
        !at_peers_give(p, &r->log))
        return false;
    *at_draw_count(r->t) = p->heard.draws;
    if (p->heard.bad > 0) skip_step(r);
    return !r->is_bad && at_peers_sum(p);
}

/* In each micro-batch that has ended its gradients are taken; behind the last one all are given. */
static bool has_next_micro(at_run *r)
{
    if (!at_ok(r->t) || r->is_bad) return false;
    if (r->own > 1 && r->micro >= 0 && !at_gradients_take(&r->gradients)) return false;
    if (r->micro + 1 < r->own) return true;
    if (r->own > 1) at_gradients_give(&r->gradients);
    return false;
}

bool at_run_next_micro(at_run *r)
{
    if (!r || !r->in_step || r->summed) return false;
    if (has_next_micro(r) && at_draws_set(r->t, r->at.step, r->first + ++r->micro)) return true;
    r->summed = true;
    if (r->peers.together) sum_with_peers(r);
    return false;
}

int at_run_micro(const at_run *r)
{
    return r ? r->first + (r->micro > 0 ? r->micro : 0) : 0;
}

/* ------------------------------------------------------------------ values --------------------- */

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
    bool is_loss = name && strcmp(name, "loss") == 0, is_norm = name && strcmp(name, "norm") == 0;
    AT_REQUIRE(
        r->t, !is_loss || r->is_bad || at_has_gradient(r->t),
        "run: \"loss\" is logged where no parameter has a gradient; log it between "
        "at_backward and the optimizer, so that the step can be skipped if it is not finite");
    /* What a micro-batch logs goes into the log with what those of other processes do. */
    const bool of_micro = r->peers.together && r->micro >= 0 && !r->summed;
    const bool kept = of_micro && name && strlen(name) < AT_CSV_NAME;
    if (kept ? !at_peers_log(&r->peers, name, value) : !at_csv_give(&r->log, name, value))
        return false;
    if (!isfinite(value) && (is_loss || is_norm)) skip_step(r);
    return !r->is_bad;
}

/* False if value is not the lowest so far, or cannot be kept as the best. */
static bool keep_best(at_run *r, double value)
{
    at_position *p = &r->at;
    bool lowest = isfinite(value) && value < p->best;
    p->worse = lowest ? 0 : p->worse + 1;
    if (!lowest) return false;
    if (r->lock && !at_folder_best(r)) {
        at_run_warn(r, "the best before it stays, the training goes on");
        return false;
    }
    p->best = value;
    p->best_step = p->step + 1;
    return true;
}

bool at_run_best(at_run *r, double value)
{
    bool given = is_in_step(r, "a best");
    if (r && r->t && r->peers.together) given = meet(r, (at_word){.place = AT_AT_BEST});
    if (!given) return false;
    r->held = value;
    r->has_held = true;
    struct {
        at_position at;
        bool lowest;
    } of = {.lowest = r->peers.with.rank == 0 && keep_best(r, value)};
    of.at = r->at;
    if (r->peers.together && at_peers_share(&r->peers, &of, sizeof of)) r->at = of.at;
    return of.lowest;
}

double at_run_best_value(const at_run *r)
{
    return r ? r->at.best : (double)INFINITY;
}

int at_run_best_step(const at_run *r)
{
    return r ? r->at.best_step : 0;
}

void at_run_stop(at_run *r)
{
    if (is_in_step(r, "a stop")) r->at.stopped = r->args.steps;
}

/* ------------------------------------------------------------------ close ---------------------- */

bool at_run_finished(const at_run *r)
{
    return r && r->finished;
}

/* "; the last checkpoint is that of step 40, in out/gpt" */
static const char *checkpoint_text(at_run *r)
{
    if (!r->lock || r->saved < 0) return r->lock ? "" : "; a run without a folder saves nothing";
    size_t size = strlen(r->folder) + 100;
    char *text = at_arena_alloc(&r->home, size);
    if (!text) return "";
    snprintf(text, size, "; the last checkpoint is that of step %d, in %s%s", r->saved,
             at_folder_in_place(r) ? "" : "the folder that was ", r->folder);
    return text;
}

static void say_error(at_run *r)
{
    const int first = r->saved + 1;
    if (!r->unsaved)
        at_run_say(r, "%s", at_error(r->t));
    else if (first == r->at.step)
        at_run_say(r, "%s%s; step %d is not saved", at_error(r->t), checkpoint_text(r), first);
    else
        at_run_say(r, "%s%s; steps %d to %d are not saved", at_error(r->t), checkpoint_text(r),
                   first, r->at.step);
}

/* Says why the run ended; returns the status. */
static int explain_end(at_run *r)
{
    const int signal = signal_of(r);
    const at_position *p = &r->at;
    if (!r->t) {
        at_run_say(r, "%s: the tape was closed before the run", r->folder);
        return 2;
    }
    if (!at_ok(r->t)) {
        say_error(r);
        return at_error_kind_of(r->t) == ATTIC_USER_ERROR ? 2 : 1;
    }
    if (r->diverged) {
        at_run_say(r, "the loss was not finite in %d steps in a row, up to step %d: stopped%s",
                   p->bad, p->step, checkpoint_text(r));
        return 1;
    }
    if (p->skipped > 0)
        at_run_say(r, "%d of %d steps were skipped, as their loss was not finite", p->skipped,
                   p->step);
    if (p->skipped > 0 && p->skipped == p->step) return 1;
    if (r->finished && ended_early(r) && p->step > r->opened_at) say_early(r);
    if (!signal || r->finished) return 0;
    at_run_say(r, "stopped by %s after step %d of %d%s%s",
               signal == AT_SIGINT ? "^C (SIGINT)" : "SIGTERM", p->step, r->args.steps,
               checkpoint_text(r),
               r->lock && at_folder_in_place(r) ? ", from which the same command goes on" : "");
    return 128 + signal;
}

int at_run_close(at_run *r)
{
    if (!r) {
        fputs("attic: out of memory: there is no run\n", stderr);
        return 1;
    }
    if (r->peers.together) meet(r, (at_word){.place = AT_AT_CLOSE});
    if (r->progress.done > r->progress.before) at_progress_end(&r->progress);
    int status = explain_end(r);
    if (r->t) at_skip_step(r->t, false);
    at_csv_close(&r->log);
    if (open_run == r) {
        at_note_signals(false);
        open_run = NULL;
    }
    if (r->lock) fclose(r->lock);
    if (r->of_tape) *r->of_tape = NULL;
    at_arena home = r->home; /* r is in there */
    at_arena_free(&home);
    return status;
}
