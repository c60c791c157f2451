#!/bin/sh
# check-install.sh -- what `make install` installs can be moved elsewhere and used there, from C and C++,
# and `make uninstall` leaves nothing.
set -eu
cd "$(dirname "$0")/.."
CC=${CC:-cc} MAKE=${MAKE:-make} PKG_CONFIG=${PKG_CONFIG:-pkg-config}
case $CC in
*clang*) CXX=${CXX:-clang++} ;;
*) CXX=${CXX:-g++} ;;
esac
command -v "$CXX" >/dev/null || { echo "There is no $CXX; on Debian: apt-get install g++ clang" >&2; exit 1; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

$MAKE -s install "DESTDIR=$root/staged" prefix=/usr >"$root/said"
grep -q "^This is a build for " "$root/said" ||
    { echo "make install does not say for which processor" >&2; exit 1; }
mkdir "$root/moved"
mv "$root/staged/usr" "$root/moved/usr"
lib=$root/moved/usr/lib include=$root/moved/usr/include

cat >"$root/user.c" <<'END'
#include <attic.h>
#include <stdio.h>

int main(void)
{
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_const(t, at_shape_of(2), (const double[]){3, 4});
    at_tensor *y = at_reshape(t, at_sum(t, at_mul(t, x, x)), at_shape_of());
    double squares = at_item(y);
    if (!at_ok(t)) fprintf(stderr, "%s\n", at_error(t));
    at_close(t);
    return squares == 25 ? 0 : 1;
}
END

# An op of the user's own: y = c x.
cat >"$root/user.cpp" <<'END'
#include <attic.h>

template <typename Real> static void forward(at_node *n)
{
    const Real *x = static_cast<const Real *>(n->in[0]->data);
    Real c = Real(*static_cast<const double *>(n->args)), *y = static_cast<Real *>(n->out[0]->data);
    for (ptrdiff_t i = 0; i < at_count(n->in[0]->shape); i++) y[i] = c * x[i];
}

template <typename Real> static void backward(at_node *n)
{
    const Real *dy = static_cast<const Real *>(n->out[0]->grad);
    Real c = Real(*static_cast<const double *>(n->args)), *dx = static_cast<Real *>(at_grad(n, 0));
    for (ptrdiff_t i = 0; dx && i < at_count(n->in[0]->shape); i++) dx[i] += c * dy[i];
}

static const at_op times_op = {
    "times", {forward<float>, forward<double>}, {backward<float>, backward<double>}, false};

static at_tensor *times(at_tape *t, at_tensor *x, double c)
{
    AT_INPUT(t, "times", x, ATTIC_REAL);
    AT_REQUIRE(t, c != 0, "times: c is %g", c);
    at_recipe r = {};
    r.shape[0] = x->shape;
    r.args = &c;
    r.args_size = sizeof c;
    at_node *n = at_record_node(t, &times_op, AT_IN(x), r);
    return n ? n->out[0] : NULL;
}

int main()
{
    const double values[] = {3, 4};
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_variable(t, at_shape_of(1, 2), values);
    at_sdpa_args args = {};
    args.causal = true;
    at_tensor *y = at_mean(t, times(t, at_sdpa(t, x, x, x, args), 6));
    bool good = at_backward(t, y) && at_item(y) == 21 && at_grad_element(x, 1) == 3;
    good = good && at_get(x, 0, 1) == 4 && !times(t, x, 0) && !at_ok(t);
    at_close(t);
    return good ? 0 : 1;
}
END

export PKG_CONFIG_LIBDIR="$lib/pkgconfig"
strict='-Wall -Wextra -Wshadow -Werror -pedantic-errors'

# built NAME COMPILER...: compiles and links, with the shared library and with the static one, and runs
built() {
    name=$1
    shift
    "$@" $strict "$root/$name" $($PKG_CONFIG --cflags --libs attic) -o "$root/with-shared"
    LD_LIBRARY_PATH=$lib DYLD_LIBRARY_PATH=$lib "$root/with-shared"
    "$@" $strict "$root/$name" $($PKG_CONFIG --cflags attic) "$lib/libattic.a" -lm -pthread \
        -o "$root/with-static"
    "$root/with-static"
}
built user.c $CC -std=gnu11
built user.c $CC -std=c11
built user.cpp $CXX -std=c++17

# every public header compiles on its own
for header in $(cd "$include" && find attic -name '*.h'); do
    printf '#include <%s>\nint main(void);\n' "$header" >"$root/alone.c"
    $CC -std=gnu11 $strict -I"$include" -fsyntax-only "$root/alone.c"
    $CC -std=c11 $strict -I"$include" -fsyntax-only "$root/alone.c"
    printf '#include <%s>\nint main();\n' "$header" >"$root/alone.cpp"
    $CXX -std=c++17 $strict -I"$include" -fsyntax-only "$root/alone.cpp"
    grep -q ');' "$include/$header" || continue
    grep -q '^AT_BEGIN_C$' "$include/$header" && grep -q '^AT_END_C$' "$include/$header" ||
        { echo "$header declares functions without AT_BEGIN_C and AT_END_C" >&2; exit 1; }
done

if nm -D --defined-only "$lib"/libattic.so 2>/dev/null | grep -v ' at_'; then
    echo "libattic.so shows more than at_ symbols" >&2
    exit 1
fi

$MAKE -s uninstall "DESTDIR=$root/moved" prefix=/usr
left=$(find "$root/moved" ! -type d)
[ -z "$left" ] || { echo "uninstall left $left" >&2; exit 1; }
echo "installs, moves, compiles in C and C++, runs, uninstalls"
