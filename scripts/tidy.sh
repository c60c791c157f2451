#!/bin/sh
# tidy.sh STAMP FILE FLAGS... -- clang-tidy on one file, unless it has passed before: in any build, any checkout.
#
# What has passed is known by a checksum of all that clang-tidy reads: the file, the headers of this project that it
# includes, .clang-tidy, the flags, the version.  Nine tenths of the time of `make lint` are the paths that clang's
# analyzer follows, in files that have not changed.  TIDY_AGAIN=1 looks again.
set -eu
stamp=$1 file=$2
shift 2
tidy=${CLANG_TIDY:-clang-tidy}
passed=${XDG_CACHE_HOME:-$HOME/.cache}/attic/tidy
mkdir -p "$(dirname "$stamp")" "$passed"

# The headers, for make as well.
${CC:-cc} -MM -MP -MT "$stamp" -MF "$stamp.d" "$@" "$file"
headers=$(sed -n 's/^\([^ ]*\.h\):$/\1/p' "$stamp.d")
# shellcheck disable=SC2086
key=$({ $tidy --version && echo "$@" && sha256sum .clang-tidy "$file" $headers; } | sha256sum | cut -d ' ' -f 1)
if [ "${TIDY_AGAIN:-}" ] || [ ! -f "$passed/$key" ]; then
    echo "  TIDY  $file"
    $tidy --quiet "$file" -- "$@" 2>"$stamp.log" || { cat "$stamp.log"; exit 1; }
fi
touch "$passed/$key" "$stamp"
