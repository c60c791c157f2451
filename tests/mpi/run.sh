#!/bin/sh
# run.sh TRAINING GPT_MPI GPT [CASE] -- a training on several processes: the bits of one, whatever happens to one of
# them.  TRAINING is tests/mpi/training.c.  CASE: bits, end, signals, kill, differs, gpt, install; all of them without.
#
# MPIRUN is the launcher, of Open MPI or of MPICH (whose processes poll, so that more than there are cores take long:
# there are at most four of them, and four for few steps).  Each step of a training is far smaller than what is said
# between its processes: nothing here measures speed.
set -u
[ $# -ge 3 ] || { echo "usage: run.sh TRAINING GPT_MPI GPT [CASE]" >&2; exit 2; }
training=$1 gpt_mpi=$2 gpt=$3 cases=${4:-bits end signals kill differs gpt install}
MPIRUN=${MPIRUN:-mpirun}
command -v "${MPIRUN%% *}" >/dev/null || { echo "There is no ${MPIRUN%% *}: on Debian, apt-get install openmpi-bin (or MPIRUN=...)" >&2; exit 1; }
# Open MPI kills what still runs a second after it was told to end; $patience is how long it waits for a checkpoint, and,
# after every status but 0, before it ends itself.  As root, more processes than cores, none bound to a core; and one thread in each.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ATTIC_THREADS=1
case $($MPIRUN --version 2>&1) in
*"Open MPI"* | *OpenRTE* | *open-mpi*) numbers="1 2 4 8" few="4 2" options="--oversubscribe --bind-to none" patience="--mca odls_base_sigkill_timeout 5" ;;
*) numbers="1 2 4" few="2 2" options='' patience='' ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0 began=$(date +%s)

# a few of the processes, and another few of them
some=${few% *} others=${few#* }

fail() {
    echo "    $*"
    [ -s "$work/errors" ] && sed 's/^/        /' "$work/errors" | head -8
    failures=$((failures + 1))
}

# on N ARGUMENT...: the training by N processes, its status in $status; 0: one without MPI
on() {
    n=$1 status=0
    shift
    if [ "$n" -eq 0 ]; then
        timeout 60 "$training" --alone "$@" >"$work/output" 2>"$work/errors" </dev/null || status=$?
    else
        # shellcheck disable=SC2086
        timeout 60 $MPIRUN $options -n "$n" "$training" "$@" >"$work/output" 2>"$work/errors" </dev/null || status=$?
    fi
}

# The one hash that all processes have printed, "" if there are several
hash() { sort -u "$work/output" | awk 'NR == 1 { h = $0 } END { print NR == 1 ? h : "" }'; }

# ends N STATUS TEXT ARGUMENT...: the training of N processes ends with this status and says this once
ends() {
    count=$1 wanted=$2 text=$3
    shift 3
    rm -rf "$work/run"
    on "$count" --out "$work/run" "$@"
    [ "$status" -eq "$wanted" ] || fail "$count processes, $*: status $status, not $wanted"
    [ "$(grep -cF "$text" "$work/errors")" -eq 1 ] || fail "$count processes, $*: \"$text\" is not said once"
}

# The log without its two columns of time
log_of() { cut -d, -f1-4 "$1/log.csv"; }

# The hash and the log of one process without MPI, after so many steps: the files $work/alone-NAME
alone() {
    kind=$1
    shift
    on 0 --out "$work/alone-$kind" "$@"
    [ "$status" -eq 0 ] || fail "alone, $*: status $status"
    hash >"$work/alone-$kind.hash"
}

# same NAME FOLDER: the last run, in FOLDER, has the bits and the log of the one that is called NAME
same() {
    [ "$status" -eq 0 ] && [ -n "$(hash)" ] && [ "$(hash)" = "$(cat "$work/alone-$1.hash")" ] || {
        fail "$n processes, $1: status $status, and other bits: $(sort -u "$work/output" | tr '\n' ' ')"
        return
    }
    log_of "$work/alone-$1" >"$work/log"
    log_of "$2" | cmp -s - "$work/log" || fail "$n processes, $1: another log"
}

case_bits() {
    alone whole
    alone short --steps 30
    alone f64 --steps 30 --f64
    alone bad --steps 30 --does bad
    for count in $numbers; do
        length=whole steps=200
        [ "$count" -eq 4 ] && [ "$some" -lt 4 ] && length=short steps=30
        on "$count" --out "$work/bits-$count" --steps $steps
        same $length "$work/bits-$count"
    done
    on "$others" --out "$work/bits-f64" --steps 30 --f64
    same f64 "$work/bits-f64"
    on "$others" --out "$work/bits-bad" --steps 30 --does bad
    same bad "$work/bits-bad"
}

# In one process: an error, a step that is not finite in all of them, a stop, a loop that it leaves.
case_end() {
    ends "$some" 2 "attic: rank 1: matmul:" --does error --rank 1
    ends "$some" 2 "attic: matmul:" --does error --rank 0
    ends 2 0 "ended early, after step 21 of 200: the program stopped it" --does stop --rank 1
    ends 2 2 "rank 1 has come to at_run_close, but rank 0 to at_run_next" --does leave --rank 1
    ends 2 2 "run: micros is 1, but must be a power of two of at least 2" --micros 1
}

# The launcher, told to end, tells its processes, and waits for the checkpoint of a step that takes three seconds.
case_signals() {
    alone slow --steps 40
    for signal in INT TERM; do
        folder=$work/signal-$signal
        rm -rf "$folder"
        # shellcheck disable=SC2086
        env --default-signal=INT $MPIRUN $options $patience -n "$others" "$training" --out "$folder" --steps 40 --save-every 1 --step 2 --pace 3000 \
            >"$work/output" 2>"$work/errors" </dev/null &
        pid=$!
        waited=0
        while [ ! -f "$folder/checkpoint.previous.safetensors" ] && [ $waited -lt 300 ]; do sleep 0.1; waited=$((waited + 1)); done
        kill -$signal $pid
        wait $pid && fail "SIG$signal: the launcher ends with 0"
        grep -q "attic: stopped by .*from which the same command goes on" "$work/errors" || fail "SIG$signal: no checkpoint was written"
        on 2 --out "$folder" --steps 40
        same slow "$folder"
    done
}

# A process that is killed ends the others, and the last checkpoint goes on with another number of processes.
case_kill() {
    alone killed --steps 60
    on "$others" --out "$work/run" --steps 60 --save-every 10 --does kill --rank 1 --step 35
    [ $status -ne 0 ] && [ $status -ne 124 ] || fail "a process is killed: status $status"
    for count in 0 1 $some; do
        rm -rf "$work/again"
        cp -R "$work/run" "$work/again"
        on "$count" --out "$work/again" --steps 60
        same killed "$work/again"
    done
}

case_differs() {
    ends "$others" 2 "attic: rank 1: run: " --does describe --rank 1
    grep -q 'training.* in rank 0; all processes of a run must begin alike' "$work/errors" || fail "a difference that is not named"
    on 2 --out /dev/null/no --steps 5
    [ "$status" -eq 1 ] && grep -q 'cannot make the folder' "$work/errors" || fail "a folder that cannot be made: status $status"
}

case_gpt() {
    set -- --steps 20 --rows 2 --micros 4 --context 16 --layers 1 --dim 16 --heads 2 --dropout 0.1 --eval-every 10 README.md
    "$gpt" train --out "$work/gpt" "$@" >"$work/expected" 2>"$work/errors" || fail "gpt"
    # shellcheck disable=SC2086
    $MPIRUN $options -n 2 "$gpt_mpi" train --out "$work/gpt_mpi" "$@" >"$work/output" 2>"$work/errors" </dev/null || fail "gpt_mpi"
    cmp -s "$work/expected" "$work/output" || fail "gpt_mpi says otherwise than gpt"
    cmp -s "$work/gpt/best.safetensors" "$work/gpt_mpi/best.safetensors" || fail "gpt_mpi has other parameters than gpt"
    "$gpt_mpi" sample --out "$work/gpt_mpi" --n 20 >"$work/output" 2>"$work/errors" || fail "gpt_mpi sample, without a launcher"
}

# What `make install-mpi` installs is found by pkg-config, and used from elsewhere.
case_install() {
    cat >"$work/user.c" <<'END'
#include <attic_mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const at_run_peers *peers = at_mpi_begin(&argc, &argv);
    at_tape *t = at_open(ATTIC_F32, 1);
    at_param(t, "p", at_shape_of(), at_ones());
    at_run *r = at_run_open(t, NULL, (at_run_args){.steps = 1, .micros = 2, .quiet = true, .peers = peers});
    while (at_run_next(r)) {
        while (at_run_next_micro(r)) at_backward(t, at_scale(t, at_find_param(t, "p"), 1 + at_run_micro(r)));
        if (peers->rank == 0) printf("%g\n", at_grad_element(at_find_param(t, "p"), 0));
        at_sgd(t, 1);
    }
    int status = at_run_close(r);
    at_close(t);
    return at_mpi_end(status);
}
END
    ${MAKE:-make} -s install-mpi MPICC="${MPICC:-mpicc}" DESTDIR="$work/root" prefix=/usr >"$work/output" 2>"$work/errors" || fail "make install-mpi"
    flags=$(PKG_CONFIG_PATH=$work/root/usr/lib/pkgconfig pkg-config --cflags --libs attic_mpi) || fail "pkg-config"
    # shellcheck disable=SC2086
    ${MPICC:-mpicc} -o "$work/user" "$work/user.c" $flags 2>"$work/errors" || fail "a program with the installed library"
    # shellcheck disable=SC2086
    said=$(LD_LIBRARY_PATH=$work/root/usr/lib $MPIRUN $options -n 2 "$work/user" 2>"$work/errors")
    [ "$said" = 3 ] || fail "a program with the installed library says \"$said\", not 3"
    ${MAKE:-make} -s uninstall DESTDIR="$work/root" prefix=/usr >"$work/output" 2>"$work/errors"
    left=$(find "$work/root" -name '*attic*')
    [ -z "$left" ] || fail "make uninstall leaves $left"
}

for case in $cases; do
    : >"$work/errors"
    before=$failures since=$(date +%s)
    "case_$case"
    [ $failures -eq "$before" ] && said=right || said=WRONG
    printf '%-8s %s  %3d s\n' "$case" $said $(($(date +%s) - since))
done
echo "$MPIRUN: $failures wrong, $(($(date +%s) - began)) s"
[ $failures -eq 0 ]
