#!/bin/sh
# lint-layers.sh FILE... -- a folder of src/ includes itself and the folders below it, nothing else.
#
#     system <- kernels <- tensor <- autograd <- ops <- attention <- nn <- train <- examples, course, tests, bench
#     gradcheck, io and plot on autograd; train on io, too
set -eu
cd "$(dirname "$0")/.."

awk -v strings=1 -f scripts/code.awk "$@" | awk '
BEGIN {
    below["system"]    = " system "
    below["kernels"]   = below["system"] "kernels "
    below["tensor"]    = below["kernels"] "tensor "
    below["autograd"]  = below["tensor"] "autograd "
    below["gradcheck"] = below["autograd"] "gradcheck "
    below["io"]        = below["autograd"] "io "
    below["plot"]      = below["autograd"] "plot "
    below["ops"]       = below["autograd"] "ops "
    below["attention"] = below["ops"] "attention "
    below["nn"]        = below["attention"] "nn "
    below["train"]     = below["nn"] "io train "
}
{
    split($0, at, ":")
    where = at[1] ":" at[2] ": "
    n = split(at[1], path, "/")
    code = substr($0, length(at[1] at[2]) + 3)
}
path[1] != "src" || code !~ /^[ \t]*#[ \t]*include[ \t]*"/ { next }
{
    split(code, quoted, "\"")
    folder = path[2]
    if (n == 2) next # src/attic.h sees everything
    if (quoted[2] == "version.h") next
    if (!(folder in below)) {
        print where "src/" folder " is no layer that scripts/lint-layers.sh knows"
        bad = 1
    } else if (quoted[2] !~ /^[a-z]+\/[a-z0-9_]+\.h$/) {
        print where "write #include \"folder/file.h\", not \"" quoted[2] "\""
        bad = 1
    } else {
        split(quoted[2], part, "/")
        if (!index(below[folder], " " part[1] " ")) {
            print where folder " must not include " part[1] " (" quoted[2] ")"
            bad = 1
        }
    }
}
END { exit bad }'
