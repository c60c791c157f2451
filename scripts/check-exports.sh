#!/bin/sh
# check-exports.sh LIBRARY [write] -- the shared library exports what the public headers declare, and both
# are what scripts/exports.txt lists: so no function becomes public, or ceases to be, unnoticed.
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
faces='attic attic_train attic_plot attic_op'
: >"$work/before"
{
    echo "# What libattic.so exports, by the first header that declares it.  Written by make check-exports WRITE=1."
    for face in $faces; do
        declared $face.h >"$work/$face"
        printf '\n# %s.h\n' $face
        comm -13 "$work/before" "$work/$face"
        sort -u "$work/$face" "$work/before" -o "$work/before"
    done
} >"$work/list"

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
echo "libattic.so exports the $(wc -l <"$work/shown" | tr -d ' ') functions of attic.h ($(wc -l <"$work/attic" | tr -d ' ')), attic_train.h, attic_plot.h and attic_op.h"
