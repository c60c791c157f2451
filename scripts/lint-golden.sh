#!/bin/sh
# lint-golden.sh -- a script of tests/golden that fails leaves the golden files that are there.
#
# In a copy, each runs by the command in its own header, first where there is no NumPy, no PyTorch and no package of
# node, then where no file may grow beyond a block.
set -eu
cd "$(dirname "$0")/.."
command -v python3 >/dev/null || { echo "lint-golden: NOT RUN, there is no python3"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tests" "$work/without"
cp -R tests/golden "$work/tests"
for name in numpy torch; do echo "raise ImportError('no $name')" >"$work/without/$name.py"; done

# command SCRIPT: the line of its header that runs it, or the plain one
command_of() {
    case $1 in
    *.mjs) echo "node $1 /nowhere" ;;
    *) sed -n "s|^ *\(python3 $1.*\)|\1|p" "$1" | grep . || echo "python3 $1" ;;
    esac
}
# unchanged HOW: no golden file has been touched
unchanged() {
    diff -rq -x __pycache__ -x '*.new' tests/golden "$work/tests/golden" >"$work/changed" ||
        { sed "s|^|$1: |" "$work/changed" >&2; exit 1; }
}

for script in tests/golden/*.py tests/golden/*.mjs; do
    run=$(command_of "$script")
    (cd "$work" && PYTHONPATH=$work/without sh -c "$run") >"$work/said" 2>&1 || :
    unchanged "'$run' without its packages"
    (cd "$work" && ulimit -f 1 && sh -c "$run") >"$work/said" 2>&1 || :
    unchanged "'$run' where files cannot grow"
done
