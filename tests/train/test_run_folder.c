/* test_run_folder.c -- the folder of a run: one that moves, comes back or has a hostile name, damaged
 * files, a full disk, two processes; and a run that has none. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "printable.h"
#include "train/running.h"

START_TEST(a_run_without_a_folder_has_the_bits_of_one_with_it_and_writes_nothing)
{
    begin_test();
    uint64_t whole = finish(ATTIC_F32, quick(0));
    little_remove();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, NULL, (at_run_args){.steps = STEPS, .patience = 1, .out = said});
    for (int i = 0; little_steps(t, r, 1); i++) {
        if (i == 12) ck_assert(at_run_best(r, 2) && at_run_best_step(r) == 13);
        at_run_log(r, i % 2 ? "odd" : "even", i);
    }
    ck_assert(at_run_finished(r) && little_hash(t) == whole);
    ck_assert_int_eq(at_run_close(r), 0);
    assert_said("training  20/20 100%");
    ck_assert_ptr_null(strstr(said_text(), "attic:"));
    ck_assert_ptr_null(little_text("log.csv"));
    at_close(t);
    ck_assert_ptr_nonnull(little_folder());
    end_test();
}
END_TEST

START_TEST(without_a_folder_nothing_can_be_saved_logged_or_removed)
{
    begin_test();
    const at_run_args wrong[] = {
        {.save_every = 1}, {.log_every = 2}, {.json_log = true}, {.fresh = true}, {0}};
    for (int i = 0; i < 5; i++) {
        at_tape *t = little_tape(ATTIC_F32, 7);
        at_run_args args = wrong[i];
        args.steps = STEPS, args.out = said;
        at_run *r = at_run_open(t, i < 4 ? NULL : "", args);
        ck_assert(!at_run_next(r));
        ck_assert_int_eq(at_run_close(r), 2);
        at_close(t);
    }
    assert_said(
        "run: save_every is 1, log_every 1, json_log 0, fresh 0, but without a folder there "
        "is nothing");
    assert_said("run: save_every is 0, log_every 2, json_log 0, fresh 0");
    assert_said("run: save_every is 0, log_every 1, json_log 1, fresh 0");
    assert_said("run: save_every is 0, log_every 1, json_log 0, fresh 1");
    assert_said("run: the name of the folder is empty");
    end_test();
}
END_TEST

/* Changes one byte in the middle of a file. */
static void damage(const char *name)
{
    FILE *f = fopen(little_path(name), "r+b");
    fseek(f, 0, SEEK_END);
    fseek(f, ftell(f) - 9, SEEK_SET);
    int c = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(c ^ 4, f);
    fclose(f);
}

START_TEST(a_damaged_checkpoint_gives_way_to_the_one_before)
{
    begin_test();
    static char log[1 << 16];
    uint64_t whole = finish(ATTIC_F32, quick(0));
    strcpy(log, little_log("log.csv"));
    little_remove();
    ck_assert_ptr_nonnull(little_folder());
    train_and_leave(ATTIC_F32, quick(2), 7); /* checkpoints of 4 and 6 */
    damage("checkpoint.safetensors");
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(2));
    ck_assert_int_eq(at_run_step(r), 4);
    assert_said("the previous checkpoint is taken\n");
    ck_assert_int_eq(little_steps(t, r, 3), 3); /* the third begins with a checkpoint */
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    remove(little_path(
        "checkpoint.safetensors")); /* previous is that of step 4, not the damaged one */
    ck_assert(finish(ATTIC_F32, quick(2)) == whole);
    ck_assert_str_eq(little_log("log.csv"), log);
    end_test();
}
END_TEST

START_TEST(two_damaged_checkpoints_are_an_error)
{
    begin_test();
    train_and_leave(ATTIC_F32, quick(2), 7);
    damage("checkpoint.safetensors");
    damage("checkpoint.previous.safetensors");
    assert_refused(little_tape(ATTIC_F32, 7), quick(1), "its checksum is");
    end_test();
}
END_TEST

static int open_and_close(void)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(1));
    at_run_next(r);
    int status = at_run_close(r);
    at_close(t);
    return status;
}

START_TEST(two_processes_cannot_use_one_folder)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(1));
    at_tape *u = little_tape(ATTIC_F32, 7);
    ck_assert_int_eq(at_run_close(at_run_open(u, little_path("b"), quick(1))), 2);
    at_close(u);
    assert_said("is still open, and a process can have one run at a time");
    at_run_close(r);

    int opened[2];
    char byte;
    ck_assert_int_eq(pipe(opened), 0);
    pid_t holder = fork();
    if (holder == 0) {
        at_run_open(t, little_path(""), quick(1));
        if (write(opened[1], "", 1) == 1) pause();
    }
    ck_assert_int_eq(read(opened[0], &byte, 1), 1);
    close(opened[0]), close(opened[1]);
    ck_assert_int_eq(status_of(open_and_close), 1);
    assert_said("is in use: another process holds");
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    ck_assert_int_eq(status_of(open_and_close), 0); /* the lock ended with its process */
    at_close(t);
    end_test();
}
END_TEST

START_TEST(a_full_disk_is_a_warning)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(2));
    little_steps(t, r, 3);
    mkdir(little_path("checkpoint.new.safetensors"), 0700); /* nothing can be renamed to it */
    ck_assert_int_eq(little_steps(t, r, 4), 4);
    assert_said("attic: warning: cannot ");
    assert_said("; the checkpoint before it stays, the training goes on\n");
    rmdir(little_path("checkpoint.new.safetensors"));
    little_steps(t, r, STEPS + 1);
    ck_assert(at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 0);
    at_close(t);
    end_test();
}
END_TEST

/* A disk on which the log can grow by 5 bytes: for no whole line. */
static int train_without_room_for_the_log(void)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    little_steps(t, r, 3);
    struct rlimit room, whole;
    getrlimit(RLIMIT_FSIZE, &whole);
    room = whole;
    room.rlim_cur = strlen(little_text("log.csv")) + 5;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &room);
    little_steps(t, r, 3);
    setrlimit(RLIMIT_FSIZE, &whole);
    little_steps(t, r, 1); /* its line can be written again */
    int status = at_run_close(r);
    at_close(t);
    return status;
}

START_TEST(a_log_that_cannot_grow_is_a_warning_and_lacks_whole_lines)
{
    begin_test();
    static char whole[1 << 16], log[1 << 16];
    ck_assert_int_eq(status_of(train_without_room_for_the_log), 0);
    assert_said("attic: warning: cannot write /");
    assert_said("log.csv: File too large; the log lacks lines or a column, the training goes on\n");
    strcpy(log, little_log("log.csv"));
    little_remove();
    ck_assert_ptr_nonnull(little_folder());
    train_and_leave(ATTIC_F32, quick(0), 7);
    strcpy(whole, little_log("log.csv"));
    char *third = strstr(whole, "\n3,"), *sixth = strstr(whole, "\n6,");
    ck_assert(third && sixth);
    memmove(third, sixth, strlen(sixth) + 1);
    ck_assert_str_eq(log, whole);
    end_test();
}
END_TEST

START_TEST(a_last_checkpoint_that_fails_is_an_error)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(0));
    little_steps(t, r, 3);
    mkdir(little_path("checkpoint.new.safetensors"), 0700);
    little_steps(t, r, STEPS + 1);
    ck_assert(!at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 1);
    assert_said("; the last checkpoint is that of step 0, in /");
    assert_said("; steps 1 to 20 are not saved\n");
    at_close(t);
    end_test();
}
END_TEST

/* A run of 7 steps, saved after 2, 4 and 6, whose folder is renamed in the one after `step`; another
 * folder takes its place, or none.  It is ended by a signal. */
static int rename_step, rename_replaced;
static int train_and_rename(void)
{
    char to[128];
    snprintf(to, sizeof to, "%s", little_path("moved"));
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path("run"), quick(2));
    little_steps(t, r, rename_step + 1);
    rename(little_path("run"), to);
    if (rename_replaced) mkdir(little_path("run"), 0700);
    little_steps(t, r, 6 - rename_step);
    at_run_best(r, 1);
    raise(SIGINT);
    ck_assert(!at_run_next(r));
    int status = at_run_close(r);
    at_close(t);
    return status;
}

START_TEST(a_folder_that_is_renamed_while_training_is_said_to_be_so_with_what_is_saved)
{
    for (rename_replaced = 0; rename_replaced < 2; rename_replaced++) {
        begin_test();
        rename_step = 3;
        ck_assert_int_eq(status_of(train_and_rename), 1);
        assert_said("/run was renamed, removed or replaced while the training ran; the checkpoint "
                    "before it stays, the training goes on\n");
        assert_said("; the best before it stays, the training goes on\n");
        assert_said("; the last checkpoint is that of step 2, in the folder that was /");
        assert_said("/run; steps 3 to 7 are not saved\n");
        const char *warning = strstr(said_text(), "the checkpoint before it stays");
        ck_assert_ptr_null(strstr(warning + 1, "the checkpoint before it stays")); /* once */
        ck_assert(little_text("moved/checkpoint.safetensors") &&
                  !little_text("run/checkpoint.safetensors"));
        ck_assert(!little_text("run/best.safetensors"));
        rename(little_path("moved"), little_path("run"));
        end_test();
    }
}
END_TEST

START_TEST(a_folder_that_comes_back_is_saved_to_again)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path("run"), quick(1));
    little_steps(t, r, 3);
    rename(little_path("run"), little_path("moved"));
    little_steps(t, r, 3);
    rename(little_path("moved"), little_path("run"));
    little_steps(t, r, STEPS + 1);
    ck_assert(at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 0);
    ck_assert(strstr(little_text("run/log.csv"), "\n5,") &&
              strstr(little_text("run/log.csv"), "\n20,"));
    at_close(t);
    end_test();
}
END_TEST

static int rename_when_saved(void)
{
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path("run"), quick(1));
    little_steps(t, r, 3);
    raise(SIGINT);
    ck_assert(!at_run_next(r));
    rename(little_path("run"), little_path("moved"));
    int status = at_run_close(r);
    at_close(t);
    return status;
}

START_TEST(no_message_names_a_folder_that_is_gone_as_the_place_of_a_checkpoint)
{
    begin_test();
    ck_assert_int_eq(status_of(rename_when_saved), 130);
    assert_said(
        "after step 3 of 20; the last checkpoint is that of step 3, in the folder that was /");
    ck_assert_ptr_null(strstr(said_text(), "from which the same command goes on"));
    end_test();
}
END_TEST

START_TEST(a_lock_file_that_is_removed_alone_does_not_end_the_saving)
{
    begin_test();
    at_tape *t = little_tape(ATTIC_F32, 7);
    at_run *r = at_run_open(t, little_path(""), quick(2));
    little_steps(t, r, 3);
    remove(little_path("run.lock"));
    little_steps(t, r, STEPS + 1);
    ck_assert(at_run_finished(r));
    ck_assert_int_eq(at_run_close(r), 0);
    ck_assert_str_eq(said_text(), "");
    at_close(t);
    end_test();
}
END_TEST

START_TEST(what_killed_processes_left_behind_is_removed)
{
    begin_test();
    const char *left[] = {"checkpoint.new.safetensors.attic-0123456789abcdef.tmp",
                          "best.safetensors.attic-0123456789abcdef.tmp",
                          "loss.svg.attic-0123456789abcdef.tmp", "checkpoint.new.txt"};
    for (int i = 0; i < 4; i++) fclose(fopen(little_path(left[i]), "w"));
    finish(ATTIC_F32, quick(0));
    ck_assert(!little_text(left[0]) && !little_text(left[1]));
    ck_assert(little_text(left[2]) && little_text(left[3]));
    end_test();
}
END_TEST

START_TEST(pipes_and_links_in_the_folder_are_refused_at_once)
{
    for (int k = 0; k < 2; k++) {
        begin_test();
        ck_assert_int_eq(mkfifo(little_path(k ? "log.csv" : "run.lock"), 0600), 0);
        at_tape *t = little_tape(ATTIC_F32, 7);
        at_run_args args = quick(0);
        args.fresh = false;
        at_run *r = at_run_open(t, little_path(""), args);
        ck_assert(!at_run_next(r));
        ck_assert_int_ne(at_run_close(r), 0);
        at_close(t);
        end_test();
    }
}
END_TEST

START_TEST(a_folder_of_any_name_is_said_in_printable_characters)
{
    for (int i = 0; i < N_HOSTILE; i++) {
        begin_test();
        for (int steps = 1; steps < 3; steps++) { /* the second one goes on */
            at_tape *t = little_tape(ATTIC_F32, 7);
            at_run_args args = {.steps = steps, .out = said};
            at_run *r = at_run_open(t, little_path(hostile_names[i].name), args);
            little_steps(t, r, 5);
            ck_assert_int_eq(at_run_close(r), 0);
            at_close(t);
        }
        assert_said(hostile_names[i].shown);
        char *text = (char *)said_text();
        for (char *c = text; (c = strchr(c, '\n')); c++) *c = ' ';
        ck_assert_msg(is_printable(text), "%s", text);
        end_test();
    }
}
END_TEST

SUITE(train_run_folder, a_run_without_a_folder_has_the_bits_of_one_with_it_and_writes_nothing,
      without_a_folder_nothing_can_be_saved_logged_or_removed,
      a_damaged_checkpoint_gives_way_to_the_one_before, two_damaged_checkpoints_are_an_error,
      two_processes_cannot_use_one_folder, a_full_disk_is_a_warning,
      a_log_that_cannot_grow_is_a_warning_and_lacks_whole_lines,
      a_last_checkpoint_that_fails_is_an_error,
      a_folder_that_is_renamed_while_training_is_said_to_be_so_with_what_is_saved,
      a_folder_that_comes_back_is_saved_to_again,
      no_message_names_a_folder_that_is_gone_as_the_place_of_a_checkpoint,
      a_lock_file_that_is_removed_alone_does_not_end_the_saving,
      what_killed_processes_left_behind_is_removed,
      pipes_and_links_in_the_folder_are_refused_at_once,
      a_folder_of_any_name_is_said_in_printable_characters)
