#!/bin/sh
# check-export.sh MODELS FOLDER -- the program tests/export/models.c exports models and adapters to FOLDER; NumPy and
# PyTorch read them, strictly, and must compute what attic does.  From the environment: PYTHON, which may have
# either; PEER_ROOT, the root folder of a system whose python3 has PyTorch.  What there is not, is said.
set -eu
cd "$(dirname "$0")/.."
models=$1 folder=$2 python=${PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1
rm -rf "$folder"
mkdir -p "$folder"
"$models" "$folder"
echo "  exported: $(cd "$folder" && echo *)"

# In PEER_ROOT this folder is seen as /mnt, by what is run here alone.
in_peer_root() {
    as_root=
    [ "$(id -u)" -eq 0 ] || as_root=--map-root-user
    # shellcheck disable=SC2016
    unshare $as_root --mount sh -c 'mount --bind "$PWD" "$PEER_ROOT/mnt" &&
        exec chroot "$PEER_ROOT" sh -c "cd /mnt && exec python3 \"\$@\"" sh "$@"' sh "$@"
}
# read_with PACKAGE COMMAND: by a Python that has it
read_with() {
    if "$2" -c "import $1" 2>/dev/null; then
        echo "  read with $1"
        "$2" tests/export/read.py "$1" "$folder"/*
    else
        echo "  NOT RUN: there is no $1${PEER_ROOT:+, here or in $PEER_ROOT}"
    fi
}
read_with numpy "$python"
read_with torch "$([ -n "${PEER_ROOT:-}" ] && echo in_peer_root || echo "$python")"
