/* test_peers.c -- a run that several processes share has the bits of one process, and what happens
 * to one of them happens to all. */
#include <math.h>
#include <signal.h>
#include <sys/stat.h>

#include "tensor/arena.h"
#include "train/forked.h"
#include "attic_op.h"
#include "train/running.h"

/* What the processes of a test do: each reads it, and none writes. */
static struct {
    at_dtype real;
    int micros, steps, leave_after, save_every, patience;
    bool alone;     /* without peers, for comparison */
    int rank, step; /* who does what is special, and in which step; -1: in each */
    int bad_micro;  /* of that step: its loss is not finite, in whichever process; -1: none */
    int failing_allocation;
    void (*special)(at_tape *t, at_run *r); /* instead of the loss of a micro-batch */
    void (*at_end)(at_tape *t, at_run *r);  /* of that step */
    void (*before)(at_tape *t);             /* the run is opened */
} plan;

static void begin_plan(void)
{
    begin_test();
    forked_open();
    memset(&plan, 0, sizeof plan);
    plan.real = ATTIC_F32;
    plan.micros = 8;
    plan.steps = STEPS;
    plan.leave_after = STEPS + 1;
    plan.bad_micro = -1;
    plan.step = 5;
}

static void end_plan(void)
{
    forked_close();
    end_test();
}

static bool is_special(const at_run *r)
{
    return forked_rank == plan.rank && (plan.step < 0 || at_run_step(r) == plan.step);
}

/* A parameter of which only every third micro-batch has a gradient, one that is used twice, and one
 * whose gradient is -0 in the first micro-batch alone. */
static void odd_losses(at_tape *t, int micro)
{
    at_tensor *a = at_find_param(t, "odd"), *b = at_find_param(t, "twice");
    if (micro % 3 == 0) at_backward(t, at_mul(t, at_sum(t, a), at_sum(t, b)));
    at_backward(t, at_scale(t, at_sum(t, at_mul(t, b, b)), 0.1 * micro));
    if (micro == 0) at_backward(t, at_scale(t, at_sum(t, at_find_param(t, "minus")), -0.0));
}

static void train_step(at_tape *t, at_run *r)
{
    at_mark mark = at_mark_here(t);
    while (at_run_next_micro(r)) {
        const int m = at_run_micro(r);
        if (plan.special && is_special(r) && m % 2 == 0) plan.special(t, r);
        double loss = at_item(little_loss(t, 1.0 / plan.micros));
        odd_losses(t, m);
        const bool bad = at_run_step(r) == plan.step && m == plan.bad_micro;
        at_run_log(r, "loss", bad ? (double)INFINITY : loss);
        at_run_log(r, "half", loss / 2);
        at_rewind(t, mark);
    }
    at_tensor *drawn = at_random(t, at_shape_of(), at_normal(1)); /* behind the micro-batches */
    at_run_log(r, "norm", at_clip_grad_norm(t, 1));
    at_run_log(r, "minus", signbit(at_grad_element(at_find_param(t, "minus"), 0)) != 0);
    at_run_log(r, "drawn", drawn ? at_item(drawn) : 0);
    at_adamw(t, at_warmup_cosine(at_run_step(r), 2, 20, 0.1, 0.01), (at_adamw_args){0});
    at_ema(t, 0.9, (at_names){0});
    at_rewind(t, mark);
}

static int work(void)
{
    at_tape *t = little_tape(plan.real, 7);
    at_param(t, "odd", at_shape_of(3), at_normal(1));
    at_param(t, "twice", at_shape_of(3), at_normal(1));
    at_param(t, "minus", at_shape_of(1), at_normal(1));
    at_param(t, "never", at_shape_of(3), at_normal(1));
    at_run_args args = quick(plan.save_every);
    at_run_peers peers = forked_peers();
    args.micros = plan.micros;
    args.steps = plan.steps;
    args.patience = plan.patience;
    args.peers = plan.alone ? NULL : &peers;
    if (plan.before && forked_rank == plan.rank) plan.before(t);
    if (plan.failing_allocation && forked_rank == plan.rank) {
        /* where there is no memory for a run, it says so there: test_run.c */
        ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
        at_fail_allocation(plan.failing_allocation);
    }
    at_run *r = at_run_open(t, little_path(""), args);
    for (int n = 0; n < plan.leave_after && at_run_next(r); n++) {
        train_step(t, r);
        if (plan.at_end && is_special(r)) plan.at_end(t, r);
        if (at_run_every(r, 4)) at_run_best(r, at_run_step(r) < 8 ? 2 : 3);
    }
    at_fail_allocation(0);
    forked->hash[forked_rank] = little_hash(t);
    forked->value[forked_rank] = at_run_best_value(r);
    int status = at_run_close(r);
    at_close(t);
    return status;
}

/* The training by so many processes, 0: one without peers.  All end alike. */
static int train(int count)
{
    plan.alone = count == 0;
    const int n = count ? count : 1, status = forked_status(n, work);
    for (int i = 0; i < n; i++)
        if (status == 0) {
            ck_assert_msg(forked->hash[i] == forked->hash[0], "rank %d has other bits", i);
            ck_assert_double_eq(forked->value[i], forked->value[0]);
        }
    return status;
}

static void new_folder(void)
{
    little_remove();
    ck_assert_ptr_nonnull(little_folder());
    rewind(said);
    ck_assert_int_eq(ftruncate(fileno(said), 0), 0);
}

/* In a new folder: any number of processes has these bits and this log. */
static void same_with_any_number(void)
{
    static char log[1 << 16];
    new_folder();
    ck_assert_int_eq(train(0), 0);
    const uint64_t alone = forked->hash[0];
    strcpy(log, little_log("log.csv"));
    for (int count = 1; count <= plan.micros; count *= 2) {
        new_folder();
        ck_assert_int_eq(train(count), 0);
        ck_assert_msg(forked->hash[0] == alone, "%d processes have other bits", count);
        ck_assert_str_eq(little_log("log.csv"), log);
    }
}

START_TEST(any_number_of_processes_has_the_bits_of_one)
{
    for (int micros = 2; micros <= 8; micros *= 2)
        for (int real = 0; real < 2; real++) {
            begin_plan();
            plan.real = real ? ATTIC_F64 : ATTIC_F32;
            plan.micros = micros;
            same_with_any_number();
            end_plan();
        }
}
END_TEST

START_TEST(a_loss_that_is_not_finite_in_one_process_is_skipped_by_all)
{
    begin_plan();
    for (plan.bad_micro = 0; plan.bad_micro < 8; plan.bad_micro += 3) same_with_any_number();
    assert_said("1 of 20 steps were skipped");
    end_plan();
}
END_TEST

START_TEST(a_run_goes_on_with_another_number_of_processes)
{
    begin_plan();
    ck_assert_int_eq(train(0), 0);
    const uint64_t whole = forked->hash[0];
    const int counts[] = {4, 1, 8, 0, 2};
    new_folder();
    plan.save_every = 2;
    for (int i = 0; i < 5; i++) {
        plan.leave_after = i < 4 ? 5 : STEPS + 1;
        ck_assert_int_eq(train(counts[i]), 0);
    }
    ck_assert(forked->hash[0] == whole);
    end_plan();
}
END_TEST

static void send_signal(at_tape *t, at_run *r)
{
    (void)t;
    if (at_run_micro(r) % 4 == 0) raise(plan.save_every == 3 ? SIGTERM : SIGINT);
}

START_TEST(a_signal_to_one_process_ends_all_after_the_step)
{
    begin_plan();
    ck_assert_int_eq(train(0), 0);
    const uint64_t whole = forked->hash[0];
    for (int i = 0; i < 2; i++) {
        new_folder();
        plan.special = send_signal;
        plan.rank = 1;
        plan.save_every = i ? 3 : 0;
        ck_assert_int_eq(train(2), i ? 143 : 130);
        assert_said("after step 6 of 20; the last checkpoint is that of step 6, in ");
        ck_assert_ptr_null(strstr(strstr(said_text(), "stopped") + 1, "stopped")); /* said once */
        plan.special = NULL;
        ck_assert_int_eq(train(4), 0);
        ck_assert(forked->hash[0] == whole);
    }
    end_plan();
}
END_TEST

static void stop_run(at_tape *t, at_run *r)
{
    (void)t;
    at_run_stop(r);
}

START_TEST(a_run_that_one_process_stops_or_patience_ends_is_finished_for_all)
{
    begin_plan();
    plan.at_end = stop_run;
    plan.rank = 3;
    ck_assert_int_eq(train(4), 0);
    assert_said("ended early, after step 6 of 20: the program stopped it");
    new_folder();
    plan.at_end = NULL;
    plan.patience = 2;
    ck_assert_int_eq(train(4), 0);
    assert_said("ended early, after step 12 of 20: 2 held-out losses in a row were not below 2");
    end_plan();
}
END_TEST

static void make_error(at_tape *t, at_run *r)
{
    (void)r;
    at_matmul(t, at_find_param(t, "W"), at_find_param(t, "W"));
}

START_TEST(an_error_in_one_process_is_that_of_all)
{
    for (int i = 0; i < 3; i++) {
        begin_plan();
        plan.special = i == 0 ? make_error : NULL;
        plan.at_end = i == 1 ? make_error : NULL; /* all have moved their parameters */
        plan.rank = i == 2 ? 0 : 2;
        if (i == 2) plan.special = make_error;
        ck_assert_int_eq(train(4), 2);
        assert_said(i == 2 ? "attic: matmul: " : "attic: rank 2: matmul: ");
        ck_assert_ptr_null(strstr(strstr(said_text(), "matmul") + 1, "matmul")); /* said once */
        end_plan();
    }
}
END_TEST

static void leave_micro_batches(at_tape *t, at_run *r)
{
    (void)t;
    at_run_best(r, 1);
}

START_TEST(a_process_that_calls_something_else_is_named)
{
    begin_plan();
    plan.special = leave_micro_batches;
    plan.rank = 1;
    ck_assert_int_eq(train(2), 2);
    assert_said("run: rank 1 has come to at_run_best, but rank 0 to the end of its micro-batches; "
                "every process must call the same functions of a run");
    end_plan();
}
END_TEST

static void describe_otherwise(at_tape *t)
{
    at_describe(t, "model", "wider 9");
}
static void describe_more(at_tape *t)
{
    at_describe(t, "more", "of it");
}
static void make_another(at_tape *t)
{
    at_param(t, "another", at_shape_of(2), at_zeros());
}
static void freeze_one(at_tape *t)
{
    at_freeze(t, (at_names){.only = "odd"});
}
/* It still wants a gradient, as in the other process, but its elements are nobody's. */
static void protect_one(at_tape *t)
{
    static at_tensor of_nobody;
    at_tensor *x = at_find_param(t, "never");
    of_nobody.data = x->data;
    at_share_data(x, &of_nobody, x->data);
    x->wants_grad = true;
}
static void fail_before(at_tape *t)
{
    at_npy_load(t, little_path("nothing"));
}

START_TEST(processes_that_do_not_begin_alike_are_refused_and_the_difference_is_named)
{
    static const struct {
        void (*before)(at_tape *t);
        const char *says;
        int status;
    } of[] = {
        {describe_otherwise, "rank 1: run: model is wider 9 here, but absent in rank 0", 2},
        {describe_more, "rank 1: run: \"more\" is described here, but \"a parameter\" in rank 0",
         2},
        {make_another, "rank 1: run: \"a parameter\" is there in this rank alone", 2},
        {freeze_one, "run: parameter \"odd\" is frozen in 1 of 2 processes", 2},
        {protect_one,
         "rank 1: set: \"never\" [3] is read-only: its elements are those of a mapped file", 2},
        {fail_before, "rank 1: cannot open ", 1},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        begin_plan();
        plan.rank = 1;
        plan.before = of[i].before;
        ck_assert_int_eq(train(2), of[i].status);
        assert_said(of[i].says);
        end_plan();
    }
}
END_TEST

/* The first of two equal values is not kept: a folder is in its place. */
static void be_in_the_way(at_tape *t, at_run *r)
{
    (void)t;
    if (at_run_step(r) == 3) mkdir(little_path("best.safetensors"), 0700);
    if (at_run_step(r) == 4) rmdir(little_path("best.safetensors"));
}

START_TEST(a_best_that_cannot_be_written_is_none_for_all)
{
    begin_plan();
    plan.at_end = be_in_the_way;
    plan.step = -1;
    plan.patience = 3; /* another best would end it sooner */
    ck_assert_int_eq(train(2), 0);
    assert_said("the best before it stays, the training goes on");
    ck_assert_double_eq(forked->value[1], 2);
    ck_assert_ptr_null(strstr(said_text(), "ended early"));
    end_plan();
}
END_TEST

START_TEST(an_exchange_that_fails_ends_the_run)
{
    begin_plan();
    for (forked->fails_at = 1; forked->fails_at < 60; forked->fails_at++) {
        new_folder();
        ck_assert_int_eq(train(2), 1);
        assert_said("run: the exchange with the other processes has failed");
    }
    end_plan();
}
END_TEST

START_TEST(every_allocation_of_one_process_may_fail)
{
    begin_plan();
    plan.micros = plan.steps = 2;
    ck_assert_int_eq(train(0), 0);
    const uint64_t whole = forked->hash[0];
    int status = 1;
    for (int i = 0; i < 4; i++) {
        const bool resumed = i / 2;
        plan.rank = i % 2;
        int n = 0;
        do {
            new_folder();
            plan.failing_allocation = 0;
            plan.save_every = 1;
            plan.leave_after = 2;
            if (resumed) ck_assert_int_eq(train(2), 0); /* its second step is lost */
            plan.failing_allocation = ++n;
            plan.leave_after = STEPS;
            status = train(2);
            ck_assert(status == 0 || status == 1);
        } while (status == 1 && n < (resumed ? 150 : 10000)); /* it is open by then */
        ck_assert(resumed || (n > 10 && forked->hash[0] == whole));
    }
    end_plan();
}
END_TEST

START_TEST(an_exchange_that_takes_most_of_the_time_is_said_once)
{
    begin_plan();
    ck_assert_int_eq(train(2), 0);
    new_folder();
    forked->slow = true;
    ck_assert_int_eq(train(2), 0);
    assert_said("of the time is the exchange of gradients between 2 processes; docs/machines.md");
    ck_assert_ptr_null(strstr(strstr(said_text(), "exchange") + 1, "exchange"));
    end_plan();
}
END_TEST

static void refused_peers(at_run_peers peers, int micros, const char *says)
{
    at_run_args args = quick(0);
    args.micros = micros;
    args.peers = &peers;
    assert_refused(little_tape(ATTIC_F32, 7), args, says);
}

START_TEST(wrong_peers_are_refused)
{
    begin_plan();
    forked->count = 1;
    forked_rank = 0;
    at_run_peers good = forked_peers(), bad = good;
    bad.count = 3;
    refused_peers(bad, 8,
                  "run: rank 0 of 3 processes; their number must be a power of two up to 256");
    bad.count = 512;
    refused_peers(bad, 512, "run: rank 0 of 512 processes");
    bad = good;
    bad.rank = 1;
    refused_peers(bad, 8, "run: rank 1 of 1 processes");
    bad = good;
    bad.swap = NULL;
    refused_peers(bad, 8, "run: a function of the peers is NULL");
    end_plan();
    for (int i = 0; i < 3; i++) {
        begin_plan();
        plan.micros = i == 0 ? 6 : i == 1 ? 2 : 4;
        if (i == 2) plan.real = ATTIC_DUAL;
        ck_assert_int_eq(train(4), 2);
        assert_said(i == 0   ? "run: micros is 6, but must be a power of two of at least 4"
                    : i == 1 ? "run: micros is 2, but must be a power of two of at least 4"
                             : "several processes train in f32 or f64, but the tape has dual");
        end_plan();
    }
}
END_TEST

SUITE(train_peers, any_number_of_processes_has_the_bits_of_one,
      a_loss_that_is_not_finite_in_one_process_is_skipped_by_all,
      a_run_goes_on_with_another_number_of_processes,
      a_signal_to_one_process_ends_all_after_the_step,
      a_run_that_one_process_stops_or_patience_ends_is_finished_for_all,
      an_error_in_one_process_is_that_of_all, a_process_that_calls_something_else_is_named,
      processes_that_do_not_begin_alike_are_refused_and_the_difference_is_named,
      a_best_that_cannot_be_written_is_none_for_all, an_exchange_that_fails_ends_the_run,
      every_allocation_of_one_process_may_fail,
      an_exchange_that_takes_most_of_the_time_is_said_once, wrong_peers_are_refused)
