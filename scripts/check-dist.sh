#!/bin/sh
# check-dist.sh MAKE -- the archive of `make dist`, unpacked, builds and trains.
set -eu
cd "$(dirname "$0")/.."
make=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

tar xzf "$($make -s dist)" -C "$root"
cd "$root"/attic-*
$make -s lib demo CFLAGS=-O1 ARGS="--steps 3 --context 16" >"$root/log" 2>&1 || { cat "$root/log"; exit 1; }
[ -s docs/attic.html ] || { echo "the page is not in the archive" >&2; exit 1; }
[ -s out/loss.svg ] || { echo "the demo wrote no out/loss.svg" >&2; exit 1; }
echo "the source archive unpacks, builds and trains"
