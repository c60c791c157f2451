#!/bin/sh
# lint-layers.sh FILE... -- who may include whom.  The FILEs are all sources and headers.
#
#     system <- kernels <- tensor <- autograd <- ops <- attention <- nn <- train
#                          ^             ^                                  |
#                          |             gradcheck, io, plot      io <------+
#                          terminal <-- plot, train
#
# A folder of src/ includes itself and those below it.  No file of src/ includes a face, src/attic*.h, but for
# attic.h, which the other faces include, and none of them another one:
#
#     attic.h          the engine: system to nn, and gradcheck
#     attic_op.h       the engine
#     attic_plot.h     plot, terminal
#     attic_train.h    train, io, terminal, and of the engine what attic.h does not show
#
# Outside of src/:
#
#     mpi              faces, mpi, examples/common
#     examples         faces, examples/common; gpt_mpi.c also mpi
#     course           faces, examples/common, course
#     bench            faces, all of src, examples/common, bench
#     tests            everything
set -eu
cd "$(dirname "$0")/.."

awk -v strings=1 -f scripts/code.awk "$@" | awk -v files="$*" '
BEGIN {
    below["system"]    = " system "
    below["kernels"]   = below["system"] "kernels "
    below["tensor"]    = below["kernels"] "tensor "
    below["autograd"]  = below["tensor"] "autograd "
    below["gradcheck"] = below["autograd"] "gradcheck "
    below["io"]        = below["autograd"] "io "
    below["terminal"]  = below["tensor"] "terminal "
    below["plot"]      = below["autograd"] "terminal plot "
    below["ops"]       = below["autograd"] "ops "
    below["attention"] = below["ops"] "attention "
    below["nn"]        = below["attention"] "nn "
    below["train"]     = below["nn"] "terminal io train "

    engine = below["nn"] "gradcheck "
    shows["attic.h"]       = engine
    shows["attic_op.h"]    = engine "attic.h "
    shows["attic_plot.h"]  = engine "attic.h terminal plot "
    shows["attic_train.h"] = engine "attic.h terminal io train "

    # Where the compiler looks, and what may be found there.
    looks["mpi"]      = "src mpi examples"
    looks["examples"] = "src examples mpi"
    looks["course"]   = "src course examples"
    looks["bench"]    = "src examples bench"
    may["mpi"]      = " face mpi examples/common "
    may["examples"] = " face examples/common "
    may["course"]   = " face examples/common course "
    may["bench"]    = " face src examples/common bench "

    # It asks which processor the library was compiled for, before anything of attic is called.
    except["examples/common/processor.c", "src/system/target.h"]
    # The same program for several processes, which needs MPI: `make` does not build it.
    except["examples/gpt_mpi.c", "examples/gpt.c"]
    except["examples/gpt_mpi.c", "mpi/attic_mpi.h"]
    # Ids, names of files, and what a submission prints may hold anything.
    except["course/roster.c", "src/system/utf8.h"]
    except["course/exercises/results.c", "src/system/utf8.h"]
    # The page trains this program, and no copy of it.
    except["course/page/train.c", "examples/05_toy_transformer.c"]
    # It saves and loads what a run does, without the folder of one.
    except["course/page/train.c", "src/train/position.h"]
    # It reads JSON as the library does, and a file from where the library would open it again.
    except["course/arrays.c", "src/io/json.h"]
    except["course/arrays.c", "src/autograd/file.h"]

    n_files = split(files, list, " ")
    for (i = 1; i <= n_files; i++) is_file[list[i]]
}
function wrong(text) {
    print where text
    bad = 1
}
# a folder of src/, or src/version.h
function in_src(quoted,    part) {
    if (quoted == "version.h") return
    if (quoted !~ /^[a-z]+\/[a-z0-9_]+\.h$/) return wrong("write #include \"folder/file.h\", not \"" quoted "\"")
    split(quoted, part, "/")
    if (!(path[2] in below)) wrong("src/" path[2] " is no layer that scripts/lint-layers.sh knows")
    else if (!index(below[path[2]], " " part[1] " ")) wrong(path[2] " must not include " part[1] " (" quoted ")")
}
function in_a_face(quoted,    part) {
    if (quoted == "version.h") return
    split(quoted, part, "/")
    if (!(path[2] in shows)) wrong("src/" path[2] " is no face that scripts/lint-layers.sh knows")
    else if (!index(shows[path[2]], " " part[1] " ")) wrong(path[2] " must not include " quoted)
}
# The file that is meant, or "".
function found(file, quoted,    folder, i, k, name) {
    folder = file
    sub(/[^\/]*$/, "", folder)
    name = folder quoted
    while (sub(/[^\/]+\/\.\.\//, "", name)) continue
    if (name in is_file) return name
    k = split(looks[path[1]], dir, " ")
    for (i = 1; i <= k; i++) if ((dir[i] "/" quoted) in is_file) return dir[i] "/" quoted
    return ""
}
function kind_of(file,    part, k) {
    k = split(file, part, "/")
    if (part[1] == "src") return k == 2 ? "face" : "src"
    if (part[1] == "examples") return k == 2 ? "an example" : "examples/" part[2]
    return part[1]
}
function outside(file, quoted,    target, kind) {
    target = found(file, quoted)
    if (target == "") return wrong("there is no \"" quoted "\" for it")
    kind = kind_of(target)
    if ((file, target) in except) used[file, target]
    else if (!index(may[path[1]], " " kind " ")) wrong(path[1] " must not include " target)
    else if (kind != "face" && target !~ /\.h$/) wrong("a source must not be included: " target)
}
{
    split($0, at, ":")
    where = at[1] ":" at[2] ": "
    n = split(at[1], path, "/")
    code = substr($0, length(at[1] at[2]) + 3)
    if (code !~ /^[ \t]*#[ \t]*include[ \t]*"/) next
    split(code, quoted, "\"")
    if (path[1] == "src" && n == 2) in_a_face(quoted[2])
    else if (path[1] == "src") in_src(quoted[2])
    else if (path[1] in may) outside(at[1], quoted[2])
}
END {
    for (e in except) {
        split(e, pair, SUBSEP)
        where = "scripts/lint-layers.sh: "
        if (pair[1] in is_file && !(e in used)) wrong(pair[1] " no longer needs " pair[2])
    }
    exit bad
}'
