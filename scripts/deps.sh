#!/bin/sh
# deps.sh [say [FOLDER]] -- makes sure that Check and pkg-config are there: with apt if we can; else, or with `say`, says
# what to do.
#
# FOLDER (make test CHECK=FOLDER) is where a Check of the user's own is; then pkg-config is not needed.
set -eu
say=${1:-} own=${2:-} version=0.15.2

if [ -n "$own" ]; then
    [ ! -f "$own/lib/libcheck.a" ] || exit 0
    echo "CHECK=$own: there is no $own/lib/libcheck.a" >&2
    say=say
elif command -v pkg-config >/dev/null && pkg-config --exists 'check >= 0.13'; then
    exit 0
fi

in_own_folder() {
    cat >&2 <<END_OF_TEXT
Without root, Check is built in a folder of your own:

    wget https://github.com/libcheck/check/releases/download/$version/check-$version.tar.gz
    tar xf check-$version.tar.gz
    (cd check-$version && ./configure --disable-subunit --prefix="\$HOME/check" && make install)
    make test CHECK="\$HOME/check"

These need no Check: make demo, make gradcheck, make run-trace.
END_OF_TEXT
    exit 1
}

sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
if command -v apt-get >/dev/null; then
    if [ -n "$say" ]; then
        echo "The tests need the unit test framework Check, which \`make deps\` installs: it runs" \
            "apt-get install check pkg-config${sudo:+ as root}." >&2
        [ -z "$sudo" ] || in_own_folder
        exit 1
    fi
    if [ -z "$sudo" ] || command -v sudo >/dev/null; then
        export DEBIAN_FRONTEND=noninteractive
        install="apt-get install -y --no-install-recommends check pkg-config"
        if $sudo $install || { $sudo apt-get update && $sudo $install; }; then exit 0; fi
    fi
    echo "This needs root: apt-get install check pkg-config" >&2
    in_own_folder
fi

cat >&2 <<END_OF_TEXT
The tests need Check and pkg-config.  Install them with one of
    brew install check pkg-config          macOS
    dnf install check-devel pkgconf        Fedora
    pacman -S check pkgconf                Arch
    apk add check-dev pkgconf              Alpine
    zypper install check-devel pkgconf     openSUSE
    pkg install check pkgconf              FreeBSD
END_OF_TEXT
in_own_folder
