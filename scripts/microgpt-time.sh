#!/bin/sh
# microgpt-time.sh PROGRAM -- milliseconds of 1000 steps of examples/microgpt.c on one core, in float and in double: the
# median and the quartiles of 31 runs, in turn, each from the start of the process to its end.
#
# A machine that does something else at the same time measures that as well.
set -eu
program=$1
command -v python3 >/dev/null || { echo "microgpt-time: there is no python3" >&2; exit 1; }
exec python3 - "$program" <<'END'
import os, subprocess, sys, time

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
times = {"f32": [], "f64": []}
for _ in range(31):
    for real, taken in times.items():
        command = [sys.argv[1], "--every", "1000"] + (["--f32"] if real == "f32" else [])
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken.append(1000 * (time.perf_counter() - began))
for real, taken in times.items():
    taken.sort()
    print("%s   %.1f ms   (quartiles %.1f to %.1f)" % (real, taken[15], taken[7], taken[23]))
END
