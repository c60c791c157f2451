#!/bin/sh
# check-pip.sh MAKE -- pip installs the source archive into a virtual environment, without a network; the program of
# docs/install.md trains and exports there, from a folder that holds nothing else of attic.
#
# Needs python3 with venv, setuptools, wheel and NumPy (on Debian: python3-venv python3-setuptools python3-wheel
# python3-numpy).
set -eu
cd "$(dirname "$0")/.."
make=$1
work=$(mktemp -d)/'a folder' # with a space, as a home may have
mkdir "$work"
trap 'rm -rf "${work%/*}"' EXIT

archive=$PWD/$($make -s dist)
awk '/^## From Python/ { here = 1 } here && /^```python/ { code = 1; next } /^```/ { if (code) exit } code' \
    docs/install.md >"$work/program.py"
[ -s "$work/program.py" ] || { echo "docs/install.md has no program under \"From Python\"" >&2; exit 1; }

cd "$work"
unset MAKEFLAGS MAKELEVEL ATTIC_LIBRARY PYTHONPATH || true
export TMPDIR="$work"
"${PYTHON:-python3}" -m venv --system-site-packages venv
venv/bin/python -m pip --disable-pip-version-check install -q --no-index --no-build-isolation "$archive"
mkdir alone
cd alone
../venv/bin/python ../program.py >../said
cat ../said
place=$(../venv/bin/python -c 'import attic; print(attic.__file__, attic.LIBRARY._name, sep="\n")')
echo "$place" | while read -r file; do
    case $file in
    "$work"/venv/*) ;;
    *) echo "pip installed another one: $file" >&2; exit 1 ;;
    esac
done
[ -s exported/model.safetensors ] || { echo "the program exported no model" >&2; exit 1; }
../venv/bin/python -m pip --disable-pip-version-check uninstall -q -y attic
if ../venv/bin/python -c 'import attic' 2>/dev/null; then echo "attic is there after pip uninstall" >&2; exit 1; fi
echo "pip builds the source archive, installs it and takes it away again; the program trained and exported"
