#!/bin/sh
# lines.sh -- lines of code in each part of src/, and the most that it may have: fails above.
#
# Comments and blank lines are free: a derivation is never paid for.  The engine is what stands behind attic.h,
# without nn/.  Limits are in steps of 250 and change in commits of their own, which say what came for it.
set -eu
cd "$(dirname "$0")/.."

# shellcheck disable=SC2046
awk -f scripts/code.awk $(find src -name '*.[ch]') | awk '
BEGIN {
    parts = split("system 1000 kernels 2750 tensor 1250 autograd 2750 gradcheck 3000 ops 4500 attention 3750 " \
                  "nn 2000 terminal 500 io 1750 train 6750 plot 2000", word, " ")
    for (i = 1; i < parts; i += 2) limit[word[i]] = word[i + 1]
    limit["engine"] = 18250
    engine = "system kernels tensor autograd gradcheck ops attention"
}
function show(name, lines) {
    note = lines > limit[name] ? "   over by " lines - limit[name] : ""
    if (note) bad = 1
    printf "  %-10s %6d lines of code, of %5d%s\n", name, lines, limit[name], note
}
{
    sub(/:.*/, "")
    if (split($0, path, "/") > 2) count[path[2]]++ # src/attic.h and its like only include
}
END {
    for (i = 1; i < parts; i += 2) show(word[i], count[word[i]])
    for (i = split(engine, word, " "); i > 0; i--) sum += count[word[i]]
    show("engine", sum)
    for (name in count)
        if (!(name in limit)) {
            print "  src/" name " has no limit in scripts/lines.sh"
            bad = 1
        }
    exit bad
}'
