#!/bin/sh
# deps.sh -- make sure that check and pkg-config are there: with apt if we can, else say what to do.
set -eu

if command -v pkg-config >/dev/null 2>&1 && pkg-config --exists 'check >= 0.13'; then
    exit 0
fi

if command -v apt-get >/dev/null 2>&1; then
    sudo=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || {
            echo "As root: apt-get install check pkg-config" >&2
            exit 1
        }
        sudo=sudo
    fi
    export DEBIAN_FRONTEND=noninteractive
    $sudo apt-get install -y --no-install-recommends check pkg-config ||
        { $sudo apt-get update && $sudo apt-get install -y --no-install-recommends check pkg-config; }
    exit 0
fi

echo "attic's tests need Check and pkg-config.  Install them with one of" >&2
echo "    brew install check pkg-config          macOS" >&2
echo "    dnf install check-devel pkgconf        Fedora" >&2
echo "    pacman -S check pkgconf                Arch" >&2
echo "    apk add check-dev pkgconf              Alpine" >&2
echo "    zypper install check-devel pkgconf     openSUSE" >&2
echo "    pkg install check pkgconf              FreeBSD" >&2
exit 1
