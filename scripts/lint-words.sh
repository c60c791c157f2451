#!/bin/sh
# lint-words.sh FILE... -- words and functions that are forbidden anywhere, or in the library.
set -eu
cd "$(dirname "$0")/.."
bad=0

# forbid WHY PATTERN: the lines on standard input that match are errors
forbid() {
    if found=$(grep -E "$2"); then
        printf '%s\n' "$found" | cut -c 1-110 | sed "s|\$|    <- $1|"
        bad=1
    fi
}

forbid 'finish it, or file it as an issue' '\b(TODO|FIXME|XXX)\b' <<END
$(grep -nE 'TODO|FIXME|XXX' "$@" || true)
END

forbid 'masks are -inf and a NaN must surface' '(-ffast-math|-Ofast|-ffinite-math-only)' <<END
$(grep -n '' Makefile make/*.mk .ci/* scripts/*.sh 2>/dev/null |
    grep -vE '^[^:]*:[0-9]*:[[:space:]]*#' | grep -v '^scripts/lint-words.sh' || true)
END

forbid 'no line is longer than 100 columns' '.' <<END
$(printf '%s\n' "$@" | grep '^src/' | LC_ALL=C.UTF-8 xargs grep -nE '^.{101,}' | grep -v -e '-----' || true)
END

library=$(awk -f scripts/code.awk "$@" | grep '^src/' || true)

forbid 'the field says otherwise: transpose, slot, chunk, mask out, schedule, free list, real.h' \
    '\b(vec_turn|sdpa_(turn|silence|recall|reach|take_rows|take_keys)|at_piece|AT_PIECE|give_spare|take_spare|tournament|each_real|AT_FOR_REAL)|\bKERNEL\(' <<END
$(grep -nE 'turn|silence|recall|reach|take_|piece|spare|tournament|each_real|KERNEL|FOR_REAL' "$@" || true)
END

# Words of ours for which the field has others.  What is only ever a word of ours is refused; what has an
# ordinary use as well (look, near, must, number ...) is not.
prose=$(printf '%s\n' README.md CONTRIBUTING.md Makefile make/*.mk .ci/run docs/*.md docs/*/*.md scripts/* "$@" |
    grep -vE '^tests/|^scripts/lint-words\.sh$')
forbid 'the field says otherwise: variant, implementation, prefetch, sibling thread, reuse, low-entropy' \
    '\b([Kk]in|[Ll]esser|[Rr]oads?|[Nn]eighbou?rs?|sent for|dear(er)?|whereabouts|gravity|lent|[Rr]ecycl(e|es|ed|ing)|tournament|born|alive|silence|sharp(ly|er|est)|of ours)\b|--alone\b' <<END
$(grep -n '' $prose)
END

forbid 'upstream gradient (cotangent)' '(^|[^(])\b[Cc]otangent' <<END
$(grep -n '' $prose)
END

# One notation: T queries, N keys; R, X, U, S, P, A, O and dR, dX ... are matrices.
notation='src/attention/*.[ch] docs/attention*.md docs/ops.md course/trace.c course/trace*.c course/steps*.c examples/00*.c examples/03*.c examples/14*.c examples/15*.c'
forbid 'T queries, N keys: S is the scores, not a size' \
    '\[([A-Za-z0-9*]+, ?)*S(, ?[A-Za-z0-9*]+)*\]|\bT( [x*]| ×)? S\b|= %d keys, S\b' <<END
$(grep -n '' $notation)
END
forbid 'N is the number of keys: a numerator has another name' "\\bN_[a-z]\\b|\\bN('|) = a \\(|\\bN / l\\b|\\bN\\[" <<END
$(grep -n '' $notation docs/derivatives.md)
END
forbid 'scores are R, X, U, S: see attention.h' '\bd?[sxu]_i[jk]\b' <<END
$(grep -n '' $notation)
END

# The only files that speak to malloc: memory and the tape itself.
forbid 'memory comes from the arena of the tape' '\b(malloc|calloc|realloc|free|strdup|aligned_alloc|posix_memalign|alloca)\(' <<END
$(printf '%s\n' "$library" |
    grep -vE '^src/(tensor/arena|autograd/tape)\.c:' || true)
END

forbid 'the library never ends the program' '\b(abort|_?exit|quick_exit|raise)\(' <<END
$library
END

# A run speaks for the program: its messages go to stderr unless it is given a FILE *.  So does what ATTIC_PROFILE asks for.
forbid 'the library prints only to a FILE * that it is given' '(\b(printf|puts|putchar|perror)\(|\b(stdout|stderr)\b)' <<END
$(printf '%s\n' "$library" | grep -vE '^src/(train/run|autograd/profile)\.c:' || true)
END

forbid 'no bounds, no errors, or hidden state: use snprintf, strtol, at_random' '\b(sprintf|vsprintf|gets|atoi|atof|strtok|s?rand)\(' <<END
$(awk -f scripts/code.awk "$@")
END

# Else files with known names stay in the temporary folder of everybody.
forbid 'tests write where tests/scratch.h says' '"/(tmp|dev/shm)\b|\b(mkdtemp|mkstemp|tmpnam)\(' <<END
$(awk -v strings=1 -f scripts/code.awk "$@" | grep '^tests/' | grep -vE '^tests/(scratch\.h|fuzz/)' || true)
END

exit $bad
