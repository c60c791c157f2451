#!/bin/sh
# check-exports.sh LIBRARY [write] -- the shared library exports what the public headers declare, and both
# are what scripts/exports.txt lists: so no function becomes public, or ceases to be, unnoticed.  No header may
# declare more functions than the limit that stands for it here: a commit that raises one says so, and why.
#
# The comment at the end of attic.h says in which other header a function is: it names all of these, and none of its own.
#
# With `write` the list is written: `make check-exports WRITE=1`, and the changelog says what has changed.
set -eu
cd "$(dirname "$0")/.."
library=$1 write=${2:-} list=scripts/exports.txt
CC=${CC:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# declared FACE: the names behind AT_API in a header and in all that it includes
declared() {
    sed 's/^#define AT_API .*/#define AT_API AT_API/' src/system/linkage.h >"$work/system/linkage.h"
    $CC -E -P -I"$work" -Isrc "src/$1" | tr '\n' ' ' | tr ';{}' '\n\n\n' |
        sed -n 's/.*AT_API //p' | grep -oE 'at_[A-Za-z0-9_]+ *\(' | tr -d ' (' | sort -u
}

mkdir "$work/system"
limits='attic 275 attic_train 125 attic_plot 15 attic_op 60' # of functions that no header before declares
: >"$work/before"
{
    echo "# What libattic.so exports, by the first header that declares it.  Written by make check-exports WRITE=1."
    # shellcheck disable=SC2086
    set -- $limits
    while [ $# -gt 0 ]; do
        declared "$1.h" >"$work/all"
        comm -13 "$work/before" "$work/all" >"$work/new"
        count=$(wc -l <"$work/new" | tr -d ' ')
        [ "$count" -le "$2" ] || echo "$1.h declares $count functions, but its limit is $2" >>"$work/wrong"
        printf '\n# %s.h: %d, at most %d\n' "$1" "$count" "$2"
        cat "$work/new"
        sort -u "$work/all" "$work/before" -o "$work/before"
        shift 2
    done
} >"$work/list"
# "HEADER PATTERN" for each pattern of that comment
sed -n '/^\/\* A function of the library that/,$p' src/attic.h | awk '
{ for (i = 2; i <= NF; i++) if ($i ~ /^attic_.*h$/) door = $i; else if ($i ~ /^at_/) print door, $i }' >"$work/doors"
awk '
NR == FNR { gsub(/\*/, ".*", $2); pattern[$1 " ^" $2 "$"]; next }
/^# attic/ { sub(/:/, "", $2); header = $2; next }
/^at_/ {
    found = 0
    for (p in pattern) {
        split(p, door, " ")
        if ($1 !~ door[2]) continue
        if (header == "attic.h") print "attic.h declares " $1 ", and says that another header does"
        else if (header == door[1]) found = 1
    }
    if (!found && header != "attic.h") print "attic.h does not say that " $1 " is in " header
}' "$work/doors" "$work/list" >>"$work/wrong"

[ ! -s "$work/wrong" ] || { cat "$work/wrong" >&2; exit 1; }

[ "$write" != write ] || cp "$work/list" $list
diff $list "$work/list" >"$work/changed" || {
    echo "the public headers are not what $list says (make check-exports WRITE=1):" >&2
    cat "$work/changed" >&2
    exit 1
}

case $library in
*.dylib) nm -gU "$library" | sed 's/.* _//' ;;
*) nm -D --defined-only "$library" | sed 's/.* //' ;;
esac | sort >"$work/shown"
grep '^at_' $list | sort >"$work/listed"
diff "$work/listed" "$work/shown" >"$work/changed" || {
    echo "$library does not export what its headers declare: < only declared, > only exported" >&2
    cat "$work/changed" >&2
    exit 1
}
echo "libattic.so exports $(wc -l <"$work/shown" | tr -d ' ') functions: $(sed -n 's/^# \(attic.*\)/\1/p' $list | paste -sd ';' - | sed 's/;/; /g')"

# Of mathematics it takes from elsewhere only functions with one right result: all others are in kernels/elementary.h,
# with the same bits on every machine.  C's quotient of complex numbers is a function of the compiler's: OVER is none.
exact='ceil copysign fabs floor fma fmax fmin frexp ilogb ldexp rint round scalbn sqrt trunc'
m=$($CC -print-file-name=libm.so.6)
if [ -f "$m" ]; then # as on Linux with glibc
    for f in $exact; do printf '%s\n%sf\n' "$f" "$f"; done | sort >"$work/exact"
    nm -D --defined-only "$m" | sed 's/@.*//; s/.* //' | sort -u >"$work/mathematics"
    nm "$library" | sed 's/@.*//; s/.* //' | sort -u >"$work/names"
    { comm -12 "$work/mathematics" "$work/names" | comm -23 - "$work/exact"; grep -x __divdc3 "$work/names"; } >"$work/inexact" || :
    [ ! -s "$work/inexact" ] || {
        echo "$library takes functions whose bits are those of one C library or compiler:" >&2
        cat "$work/inexact" >&2
        exit 1
    }
fi
