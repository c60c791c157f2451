#!/bin/sh
# check-install.sh -- what `make install` installs can be used, and `make uninstall` leaves nothing.
set -eu
cd "$(dirname "$0")/.."
CC=${CC:-cc} MAKE=${MAKE:-make} PKG_CONFIG=${PKG_CONFIG:-pkg-config}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

$MAKE -s install "DESTDIR=$root" prefix=/usr

cat >"$root/user.c" <<'END'
#include <attic.h>
#include <stdio.h>

int main(void)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_const(t, at_shape_of(2), (const double[]){3, 4});
    at_tensor *y = at_sum(t, at_mul(t, x, x));
    double squares = at_item(y);
    if (!at_ok(t)) fprintf(stderr, "%s\n", at_error(t));
    at_close(t);
    return squares == 25 ? 0 : 1;
}
END

export PKG_CONFIG_LIBDIR="$root/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
strict='-std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror'

$CC $strict "$root/user.c" $($PKG_CONFIG --cflags --libs attic) -o "$root/with-shared"
LD_LIBRARY_PATH=$root/usr/lib DYLD_LIBRARY_PATH=$root/usr/lib "$root/with-shared"

$CC $strict "$root/user.c" $($PKG_CONFIG --cflags attic) "$root/usr/lib/libattic.a" -lm -pthread \
    -o "$root/with-static"
"$root/with-static"

# every public header compiles on its own
for header in $(cd "$root/usr/include" && find attic -name '*.h'); do
    echo "#include <$header>" >"$root/alone.c"
    $CC $strict -I"$root/usr/include" -fsyntax-only "$root/alone.c"
done

if nm -D --defined-only "$root"/usr/lib/libattic.so 2>/dev/null | grep -v ' at_'; then
    echo "libattic.so shows more than at_ symbols" >&2
    exit 1
fi

$MAKE -s uninstall "DESTDIR=$root" prefix=/usr
left=$(find "$root/usr" ! -type d)
[ -z "$left" ] || { echo "uninstall left $left" >&2; exit 1; }
echo "installs, compiles, runs, uninstalls"
