#!/bin/sh
# setup.sh -- Gradescope runs it once, as root, when the autograder is made: a compiler, and the grader built with it.
# For any processor (ARCH=): the machine that grades may be another one.
set -eu
here=${1:-/autograder/source}
if ! command -v make >/dev/null || ! echo 'int main(void) { return 0; }' | gcc -fsanitize=address -x c -o /dev/null - 2>/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    apt-get install -qy --no-install-recommends gcc libc6-dev make
fi
only= # the exercises assigned
. "$here/settings.sh"
cd "$here"
tar xzf attic-exercises.tar.gz
make -C attic-exercises CC=gcc ARCH= ONLY="$only" exercises
# Submissions run as another user, who has no business here.
chmod -R go-rwx "$here"
