#!/bin/sh
# in-root-folder.sh FOLDER COMMAND... -- runs the command in a folder of scripts/root-folder.sh, as root, in /, with an
# environment of its own: PATH and HOME.  The command's status is ours.
#
# /proc and /dev are mounted in a namespace that ends with the command.  Where that is not permitted, the
# command has no /proc and the few devices that debootstrap made.
set -eu
folder=$1
shift
cp -L /etc/resolv.conf "$folder/etc/resolv.conf" 2>/dev/null || true
enter="env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root"
# shellcheck disable=SC2016,SC2086
if unshare --mount sh -c 'mount --bind /dev "$1/dev"' sh "$folder" 2>/dev/null; then
    exec unshare --mount sh -c 'folder=$1
        shift
        mount --rbind /dev "$folder/dev"
        mount --bind /proc "$folder/proc"
        exec chroot "$folder" "$@"' sh "$folder" $enter "$@"
else
    exec chroot "$folder" $enter "$@"
fi
