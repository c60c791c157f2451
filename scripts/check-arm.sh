#!/bin/sh
# check-arm.sh MAKE [PLAIN=1...] -- the test suite and the gradient checks on 64-bit Arm, emulated.
#
# It needs a cross compiler and QEMU's user mode emulation; on Debian:
#
#     apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
#
# and Check for Arm, which is downloaded into build/arm and not installed: apt uses package lists of its own
# for this architecture, and the lists of the machine stay as they are.
#
# QEMU cannot fork a process that has threads: it fails on an assertion of its own.  And it takes address
# space itself.  EMULATED=1 is for the three tests that depend on these.
set -eu
cd "$(dirname "$0")/.."
make=$1
shift
arm=$PWD/build/arm
triplet=aarch64-linux-gnu

for command in $triplet-gcc qemu-aarch64 apt-get dpkg-deb; do
    command -v $command >/dev/null || {
        echo "There is no $command; on Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" >&2
        exit 1
    }
done

if [ ! -f "$arm/root/usr/lib/$triplet/libcheck.a" ]; then
    mkdir -p "$arm/lists/partial" "$arm/cache/archives/partial" "$arm/root"
    apt="apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o Dir::State::Lists=$arm/lists -o Dir::Cache=$arm/cache -o APT::Sandbox::User=root"
    (cd "$arm" && $apt update && $apt download check libsubunit-dev) >"$arm/log" 2>&1 ||
        { cat "$arm/log"; exit 1; }
    for package in "$arm"/*.deb; do dpkg-deb -x "$package" "$arm/root"; done
fi

export PKG_CONFIG_LIBDIR="$arm/root/usr/lib/$triplet/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$arm/root"
export EMULATED=1 CK_TIMEOUT_MULTIPLIER=10
$make CC=$triplet-gcc AR=$triplet-ar ARCH=armv8-a WERROR=1 \
    wrapper="qemu-aarch64 -L /usr/$triplet" "$@" test gradcheck
