#!/bin/sh
# check-gcc14.sh JOBS -- gcc 14 compiles all there is and the two files of `make single` without a warning, in a root
# folder of Debian 13; the tests and the gradient checks pass there, and builds of both arithmetics have their bits.  What
# is built stays for the next time.
#
# Where there can be no such folder it says NOT RUN and is no failure; see scripts/root-folder.sh.
set -eu
cd "$(dirname "$0")/.."
jobs=$1
root=${XDG_CACHE_HOME:-$HOME/.cache}/attic/trixie-gcc14
status=0
sh scripts/root-folder.sh trixie "$root" gcc libc6-dev make check pkg-config || status=$?
[ $status -ne 3 ] || exit 0
[ $status -eq 0 ] || exit $status

# The tree as it is here, and the build of last time.
mkdir -p "$root/attic"
find "$root/attic" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
tar cf - --exclude=./build --exclude=./out --exclude=./.git . | tar xf - -C "$root/attic"

run() { sh scripts/in-root-folder.sh "$root" "$@"; }
run gcc --version | head -1
run make -C /attic -j "$jobs" --no-print-directory WERROR=1 single all benches test gradcheck
run make -C /attic -j "$jobs" --no-print-directory check-bits 'ONLY=gcc gcc-avx2 gcc-avx2-O0 sse2 portable'
run gcc -std=c99 -pedantic -Wall -Wextra -Wconversion -Werror -fsyntax-only /attic/build/single/attic.h
run xargs -P "$jobs" -L 1 \
    gcc -Wall -Wextra -Wconversion -Werror -S -o /dev/null /attic/build/single/attic.c <<'END'
-O1
-O2
-O3
-O3 -march=native
END
