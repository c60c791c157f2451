#!/bin/sh
# lint-symbols.sh libattic.a -- whatever the linker can see starts with at_.
set -eu

nm -g "$1" | awk '
/:$/ { object = $0 }
NF == 3 && $2 != "U" && $3 !~ /^_?at_/ { print object " " $3 " does not start with at_"; bad = 1 }
END { exit bad }'
