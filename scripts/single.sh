#!/bin/sh
# single.sh FOLDER FILE.c... -- the library in pairs of files: FOLDER/attic.h and attic.c, the engine; attic_train.h and
# attic_train.c, src/io and src/train; attic_plot.h and attic_plot.c, src/plot; and attic_op.h, which belongs to attic.c.
#
# A .h file is all public headers that attic.h has not got yet.  A .c file is its sources one after the other, each
# header before the first that includes it.  Private headers come again in each .c file that needs them, within
# their guards: so cat attic.c attic_train.c attic_plot.c compiles, too.
#
# What includes kernels/real.h is compiled for each real type.  Here it comes last, as it stands, for float; then,
# without comments, those of its declarations that depend on REAL come again for double, and for dual numbers:
#
#     #define softmax_dx softmax_dx_f64          what is static, a type or an enumerator gets another name
#     static void softmax_dx(const at_chunk *row, void *values)
#
# A declaration depends on REAL if a word of it does: REAL, AT_REAL, a macro made of such a word, a type or a
# function that was declared with one.  The macros of a .c file end with it, those of headers that see REAL
# with the pass.  It relies on the format: a declaration begins in column one; and on names: one for one thing
# in all files, and what ## makes of a name must not go through a second macro that takes the name itself.
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift
mkdir -p "$folder"

# opening NAME WHAT: the first comment, with what is read from stdin
opening() {
    echo "/* $1 -- attic $(sed -n 's/^.define ATTIC_VERSION *"\(.*\)"/\1/p' src/version.h): ATTention In C, $2."
    {
        cat
        printf '\nWritten by `make single` from the sources of attic, where its documentation, examples and tests are:\n'
        printf 'change them, not this.\n\n'
        cat LICENSE
    } | sed 's/^/ * /; s/ *$//'
    echo " */"
}
# beginning HEADER: what a .c file begins with, after its comment
beginning() {
    cat <<'END'
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* affinity; -std=c11 would hide POSIX as well */
#endif
#ifdef _WIN32
#define __USE_MINGW_ANSI_STDIO 1
#define _FILE_OFFSET_BITS 64
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN /* windows.h, without what we do not call */
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#endif
#if !defined(NDEBUG) && !defined(ATTIC_DEBUG)
#define NDEBUG /* a library does not abort */
#endif
/* A multiply-add is where the source says so (docs/bits.md). */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#pragma clang diagnostic ignored "-Wunused-function" /* inline ones, which in a header it would not mention */
#else
#pragma GCC optimize("fp-contract=off")
#endif
END
    echo "#include \"$1\""
}

opening attic.h "the engine" >"$folder/attic.h" <<'END'

All public headers of the engine in one; attic.c says how to compile.
END
opening attic_train.h "training" >"$folder/attic_train.h" <<'END'

Models, data, tokenizers, runs, files of tensors; attic_train.c, which is compiled beside attic.c.
END
opening attic_plot.h "pictures" >"$folder/attic_plot.h" <<'END'

Pictures; attic_plot.c, which is compiled beside attic.c.
END
opening attic_op.h "ops of your own" >"$folder/attic_op.h" <<'END'

To write ops and to look inside a tape; these functions are in attic.c.
END
for face in train plot op; do echo '#include "attic.h"' >>"$folder/attic_$face.h"; done

{ opening attic.c "the engine" <<'END'; beginning attic.h; } >"$folder/attic.c"

    cc -O3 -I. main.c attic.c -lm -pthread

and attic_train.c where a program includes attic_train.h, attic_plot.c where it includes attic_plot.h.  Compile it
once, to an object that every build links (cc -O3 -c attic.c): gcc 12 takes 17 s at -O2 and 30 s at -O3
-march=native, for attic_train.c 2 and 3 s, for attic_plot.c 1 s.  It is C11, for gcc and clang; a C++ program links
with it.  What a plain `cc` lacks:

    -O3                           else everything is several times slower
    -march=native                 the vectors of this processor (-mcpu=native where it is no x86; not on
                                  Windows, where gcc does not align the stack for AVX), and
    -mprefer-vector-width=512     clang: all of AVX-512
    --param=avoid-fma-max-bits=0  gcc, tuned for Zen 1 to 3, does without some of them: then the bits of a
                                  product depend on its shape
    -fno-math-errno -fno-trapping-math    more loops become vectors
    -msse2 -mfpmath=sse           32-bit x86: required
    -static                       mingw-w64: else libwinpthread-1.dll must lie beside the program
    -Wl,-z,stack-size=1048576 -Wl,--stack-first    WebAssembly: the stack would be 64 KiB

And what can be left out; a call that needs it is then an error:

    -DATTIC_ONLY_F32              all but f32: no f64, no gradient checks, no dual numbers, no JVP and HVP;
                                  at -O2 8 s in place of 17, 440 KB of code in place of 890
    -DATTIC_WITHOUT_DUAL          dual numbers, JVP and HVP alone: 13 s, 650 KB

Fast math is refused: masks are -inf, and a NaN must surface.

One thing is lost.  A library of several files detects that the processor is not the one it was built for:
the code that detects it is compiled without -march, and at_open reports it.  Compiled with -march, this file may
end with an illegal instruction before that.
END
{ opening attic_train.c "training" <<'END'; beginning attic_train.h; } >"$folder/attic_train.c"

    cc -O3 -I. main.c attic.c attic_train.c -lm -pthread

attic.c says which flags make it faster.
END
{ opening attic_plot.c "pictures" <<'END'; beginning attic_plot.h; } >"$folder/attic_plot.c"

    cc -O3 -I. main.c attic.c attic_plot.c -lm -pthread
END

awk -v strings=1 -f scripts/code.awk "$@" src/*.h src/*/*.h | awk -v folder="$folder" -v sources="$*" '
{
    split($0, at, ":")
    line = line substr($0, length(at[1] at[2]) + 3)
    if (sub(/ *\\$/, "", line)) next
    code[at[1], at[2]] = line # with all lines of a macro in its last
    if (line == "#ifdef REAL") includes[at[1]] = includes[at[1]] " src/kernels/real.h" # to be defined
    if (split(line, quoted, "\"") == 3 && line ~ /^#include/) includes[at[1]] = includes[at[1]] " src/" quoted[2]
    line = ""
}
function sees_real(file,    i, k, part) {
    k = split(includes[file], part, " ")
    for (i = 1; i <= k; i++) if (sees_real(part[i])) return 1
    return (file == "src/kernels/real.h") + 0
}
function without_strings(s) {
    gsub(/"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/, "0", s)
    return s
}
function depends(s,    word, found) {
    for (s = without_strings(s); !found && match(s, /[A-Za-z_][A-Za-z0-9_]*/);) {
        word = substr(s, RSTART, RLENGTH)
        s = substr(s, RSTART + RLENGTH)
        found = word in of_real
        if (found || word in within || !(word in body) || (word in with_args && s !~ /^\(/)) continue
        within[word]
        found = depends(body[word])
        delete within[word]
    }
    return found
}
# The names in a list of declarators, or of enumerators: each pass has its own.
function own(list,    i, k, part) {
    k = split(list, part, ",")
    for (i = 1; i <= k; i++) {
        sub(/ *[[=};].*/, "", part[i])
        sub(/.*[^A-Za-z0-9_]/, "", part[i])
        of_real[part[i]]
        owned[++owned_n] = part[i]
    }
}
function declared(s) { # at file scope, all in one line
    s = without_strings(s)
    gsub(/__attribute__ *\(\([^)]*\)*\) */, "", s)
    if (match(s, /^(typedef )?(struct|union|enum) [A-Za-z0-9_]+ \{/)) own(substr(s, 1, RLENGTH - 2))
    if (match(s, /^(typedef )?enum[^{]*\{/)) own(substr(s, RLENGTH + 1))
    if (s ~ /^typedef /) {
        sub(/\{.*\}/, "", s)
        if (match(s, /\(\*[^)]*/)) s = substr(s, RSTART, RLENGTH) # a pointer to a function
        else sub(/\(.*\);$/, "", s)
        sub(/[ ;]*$/, "", s)
        own(substr(s, match(s, /[^ *]+$/)))
    } else if (match(s, /^[A-Za-z0-9_]+/) && substr(s, 1, RLENGTH) in statics) {
        sub(/ *[={;(].*/, "", s)
        own(s)
    }
}
function put(s) {
    if (s != "" || text[n] != "") text[++n] = s
}
# A line of code for the second pass: collected until its declaration ends.
function again(line,    i, bare) {
    if (line ~ /^#/ && open == 0) {
        ended()
        if (line ~ /^# *endif/ && second[seconds] ~ /^# *if/) seconds-- # nothing between them
        else second[++seconds] = line
        return
    }
    if (line == "") return
    chunk[++chunk_n] = line
    if (line ~ /^#/) return
    bare = without_strings(line)
    open += gsub(/\{/, "", bare) - gsub(/\}/, "", bare)
    declaration = declaration (chunk_n > 1 ? " " : "") line
    if (line ~ /^\}/ || (open == 0 && line ~ /([;}]|^[A-Z_]+\(.*\))$/)) ended()
}
function ended(    i) {
    if (depends(declaration)) {
        declared(declaration)
        for (i = 1; i <= chunk_n; i++) second[++seconds] = chunk[i]
        if (chunk[chunk_n] == "}") second[++seconds] = ""
    }
    declaration = ""
    chunk_n = open = 0
}
function emit(file,    i, k, part, raw, line, nest, twice, ends) {
    if (file in done || (file == dual && !last)) return
    done[file]
    holds[name, file]
    k = split(includes[file], part, " ")
    for (i = 1; i <= k; i++) emit(part[i])
    twice = sees_real(file)
    nest = file ~ /h$/ ? -1 : 0 # the guard of a header is no condition
    put("")
    put("/* ======== " substr(file, 5) " ======== */")
    for (i = 1; (getline raw < file) > 0; i++) {
        line = code[file, i]
        if (line ~ /^# *if/) nest++
        if (line ~ /^#(include "|define _GNU_SOURCE$)/) continue
        if (line ~ /^#include </ && nest == 0 && line !~ /tgmath/) {
            if (!(line in system_h)) print system_h[line] line >> output
            continue
        }
        put(raw)
        if (twice) again(line)
        if (line ~ /^# *endif/) nest--
        if (!sub(/^# *define /, "", line)) continue
        match(line, /^[A-Za-z0-9_]+/)
        macro = substr(line, 1, RLENGTH)
        line = substr(line, RLENGTH + 1)
        if (line ~ /^ *static /) statics[macro]
        if (sub(/^\([^)]*\)/, "", line)) with_args[macro]
        body[macro] = body[macro] " " line
        line = "#undef " macro "\n"
        if (file ~ /c$/ && !index(ends, line)) ends = ends line
        if (file !~ /c$/ && twice && !index(pass_ends, line)) pass_ends = pass_ends line
    }
    close(file)
    put(ends)
    if (twice) second[++seconds] = ends
}
function pass(macro, suffix, type,    i) {
    put(pass_ends "\n/* ======== what depends on REAL, for " type " ======== */\n#define " macro)
    if (last) emit(dual)
    for (i = 1; i <= owned_n; i++) put("#define " owned[i] " " owned[i] suffix)
    for (i = 1; i <= seconds; i++) put(second[i])
    for (i = 1; i <= owned_n; i++) put("#undef " owned[i])
    put("#undef " macro)
}
# A file of this name begins: it includes these headers.
function begin(file, headers,    pair, part) {
    name = file
    output = folder "/" name
    split("", done)
    split("", system_h)
    for (pair in holds) {
        split(pair, part, SUBSEP)
        if (index(headers, part[1])) done[part[2]]
    }
}
function finish(    i) {
    for (i = 1; i <= n; i++) print text[i] >> output
    close(output)
    n = 0
}
function header(face) {
    begin(face ".h", face == "attic" ? "" : "attic.h")
    emit("src/" face ".h")
    finish()
}
function emit_sources(folders,    i, k, part, typed) {
    k = split(sources, part, " ")
    for (typed = 0; typed <= 1; typed++) # these after <tgmath.h>
        for (i = 1; i <= k; i++)
            if (part[i] ~ "^src/(" folders ")/" && sees_real(part[i]) == typed) emit(part[i])
}
END {
    dual = "src/kernels/dual.h"
    statics["static"]
    of_real["REAL"] of_real["REAL_EPS"] of_real["AT_REAL"]
    header("attic")
    header("attic_train")
    header("attic_plot")
    header("attic_op")
    begin("attic.c", "attic.h")
    emit_sources("system|kernels|tensor|terminal|autograd|ops|attention|gradcheck|nn")
    put("#ifndef ATTIC_ONLY_F32")
    pass("AT_F64", "_f64", "double")
    last = 1
    put("#ifndef ATTIC_WITHOUT_DUAL")
    pass("AT_DUAL", "_dual", "dual numbers")
    put("#endif\n#endif")
    gsub(/#undef AT_[A-Z0-9_]*_H\n/, "", pass_ends) # what follows, as one file, needs no header again
    put(pass_ends)
    finish()
    last = 0
    begin("attic_train.c", "attic.h attic_train.h")
    emit_sources("io|train")
    finish()
    begin("attic_plot.c", "attic.h attic_plot.h")
    emit_sources("plot")
    finish()
}'
