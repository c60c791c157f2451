#!/bin/sh
# root-folder.sh SUITE FOLDER PACKAGE... -- makes FOLDER a bare Debian of this suite (bookworm, trixie) with these
# packages, from the mirror that apt uses here, for scripts/in-root-folder.sh.  What was made once for the same
# packages is used again.
#
# Status 3, and NOT RUN with the reason: there is no debootstrap, we are not root, or it failed.
set -eu
suite=$1 folder=$2
shift 2
packages="$suite $*"

[ "$(cat "$folder/packages" 2>/dev/null)" != "$packages" ] || exit 0

not_run() {
    printf '\n**** NOT RUN: no root folder of Debian %s: %s\n\n' "$suite" "$1" >&2
    exit 3
}
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -eq 0 ] || not_run "making one takes root"
command -v debootstrap >/dev/null || not_run "there is no debootstrap; on Debian: apt-get install debootstrap"

# What debootstrap mounts ends with its namespace, even if it is killed.
own_mounts=
! unshare --mount true 2>/dev/null || own_mounts='unshare --mount'

# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep '/debian/*$' | head -1)
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy 2>/dev/null)"
[ -z "${http_proxy:-}" ] || export http_proxy
[ -z "${https_proxy:-}" ] || export https_proxy

echo "  a root folder of Debian $suite, once: $folder"
mkdir -p "$folder.new"
rm -rf --one-file-system "$folder.new"
mkdir -p "$folder.new"
log=$folder.log
# shellcheck disable=SC2086
$own_mounts debootstrap --variant=minbase --include="$(echo "$*" | tr ' ' ,)" "$suite" "$folder.new" \
    "${mirror:-http://deb.debian.org/debian/}" >"$log" 2>&1 ||
    { tail -5 "$log" >&2; not_run "debootstrap failed; all it said is in $log"; }

# So that apt-get works in it: the proxy, and how strict apt is about dates and certificates.
apt-config dump | grep -E '^Acquire::(http|https|Check)' >"$folder.new/etc/apt/apt.conf.d/00machine" || true
rm -rf --one-file-system "$folder"
echo "$packages" >"$folder.new/packages"
mv "$folder.new" "$folder"
