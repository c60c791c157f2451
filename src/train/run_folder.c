/* run_folder.c -- the folder of a run: its files, checkpoints, the log; see run.h.
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
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/file.h"
#include "system/system.h"
#include "train/checkpoint.h"
#include "train/run_state.h"

static const char *const run_file_name[RUN_FILES] = {"checkpoint.safetensors",
                                                     "checkpoint.previous.safetensors",
                                                     "checkpoint.new.safetensors",
                                                     "best.safetensors",
                                                     "log.csv",
                                                     "log.new.csv",
                                                     "log.jsonl",
                                                     "run.lock"};

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

bool at_folder_in_place(const at_run *r)
{
    return at_is_open_at(r->lock, r->path[RUN_LOCK]) ||
           (r->log.csv.file && at_is_open_at(r->log.csv.file, r->path[RUN_LOG]));
}

static bool require_place(at_run *r)
{
    return at_folder_in_place(r) ||
           at_fail(r->t, ATTIC_FILE_ERROR,
                   "the folder %s was renamed, removed or replaced while the training ran",
                   r->folder);
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

bool at_folder_save(at_run *r)
{
    if (!r->lock || r->saved == r->at.step) return true;
    if (r->log.csv.path) { /* else it is the first save, before the log is opened */
        if (!require_place(r)) return false;
        r->at.log_lines = r->log.csv.lines;
    }
    r->at.seconds = at_run_seconds(r);
    const at_log_file *log[] = {&r->log.csv, &r->log.json};
    for (int i = 0; i < 2; i++)
        if (log[i]->file && at_sync_file(log[i]->file) != 0)
            return fail_file(r, "sync", log[i]->path);
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
        AT_REQUIRE(r->t,
                   !is_there(r->path[RUN_LOG]) && !is_there(r->path[RUN_JSON_LOG]) &&
                       !is_there(r->path[RUN_BEST]),
                   "run: %s has a log or a best, but no checkpoint (fresh begins anew and removes "
                   "what is there)",
                   r->folder);
        return at_ok(r->t);
    }
    r->has_checkpoint = false; /* not one to be kept */
    at_run_warn(r, "the previous checkpoint is taken");
    return at_checkpoint_load(r->t, r->path[RUN_PREVIOUS], &r->at);
}

bool at_folder_best(at_run *r)
{
    return require_place(r) && at_save(r->t, r->path[RUN_BEST], (at_part_args){0});
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

bool at_folder_name(at_run *r, const char *folder)
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

/* Cuts the log to what the checkpoint knew, or makes an empty one. */
static bool open_log(at_run *r)
{
    at_csv *log = &r->log;
    log->csv = (at_log_file){.t = r->t, .path = r->path[RUN_LOG]};
    log->new_path = r->path[RUN_NEW_LOG];
    log->folder = r->folder;
    log->last_step = r->at.step;
    log->last_seconds = r->at.seconds;
    if (!is_plain(r, log->csv.path) || !at_csv_open(log, r->at.log_lines)) return false;
    if (log->csv.lines < r->at.log_lines)
        at_run_say(r, "warning: %s has %td lines, but had %td: its end was lost", log->csv.path,
                   log->csv.lines, r->at.log_lines);
    if (!r->args.json_log) return true;
    log->json = (at_log_file){.t = r->t, .path = r->path[RUN_JSON_LOG]};
    return is_plain(r, log->json.path) && at_json_log_open(log, r->at.step);
}

bool at_folder_open(at_run *r)
{
    if (!take_folder(r) || !load_checkpoints(r)) return false;
    r->saved = r->has_checkpoint ? r->at.step : -1;
    r->seconds_before = r->at.seconds;
    /* A first checkpoint, before the log: a full disk is found now, and who has a log has both. */
    return at_folder_save(r) && open_log(r);
}
