#!/bin/sh
# check-install.sh -- what `make install` installs can be moved elsewhere and used there, from C and C++, by
# pkg-config and by CMake, and `make uninstall` leaves nothing.
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

# Ops of the user's own: y = c x of any real type, y = x^3 as formulas of the map, and the hypotenuse of doubles.
cat >"$root/user.cpp" <<'END'
#include <attic_op.h>
#include <cmath>

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

// y = sqrt(a^2 + b^2),  dy/da = a / y
static const double *numbers(const at_tensor *x) { return static_cast<const double *>(x->data); }

static void hypot_forward(at_node *n)
{
    double *y = static_cast<double *>(n->out[0]->data);
    for (ptrdiff_t i = 0; i < at_count(n->out[0]->shape); i++)
        y[i] = std::hypot(numbers(n->in[0])[i], numbers(n->in[1])[i]);
}

template <bool right> static void hypot_backward(at_node *n)
{
    const double *y = numbers(n->out[0]), *dy = static_cast<const double *>(n->out[0]->grad);
    for (int k = 0; k < 2; k++) {
        double *dx = static_cast<double *>(at_grad(n, k));
        for (ptrdiff_t i = 0; dx && i < at_count(n->out[0]->shape); i++)
            dx[i] += dy[i] * numbers(n->in[k])[i] / (right ? y[i] : 1);
    }
}

template <bool right> static at_tensor *hypot_of(at_tape *t, at_tensor **in, void *)
{
    static const at_op op = {
        "hypot", {nullptr, hypot_forward}, {nullptr, hypot_backward<right>}, false};
    return at_record(t, &op, AT_IN(in[0], in[1]), in[0]->shape, nullptr, 0);
}

static bool gradients_are_checked()
{
    const double values[] = {3, -1, 0.5, 4, 2, -7};
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *a = at_variable(t, at_shape_of(3), values);
    at_tensor *b = at_variable(t, at_shape_of(3), values + 3);
    at_tensor *two[] = {a, b}, *same[] = {a, a};
    bool good = at_gradcheck(t, hypot_of<true>, two, 2, nullptr, {}).verdict == ATTIC_PASS &&
                at_gradcheck(t, hypot_of<true>, same, 2, nullptr, {}).verdict == ATTIC_PASS &&
                at_gradcheck(t, hypot_of<false>, two, 2, nullptr, {}).verdict == ATTIC_WRONG;
    good = good && at_ok(t);
    at_close(t);
    return good;
}

template <typename Real> static void cube_y(const at_chunk *k, void *values)
{
    const Real *x = static_cast<const Real *>(k->in[0]);
    Real *y = static_cast<Real *>(values);
    for (int i = 0; i < k->n; i++) y[i] = x[i] * x[i] * x[i];
}

template <typename Real> static void cube_dx(const at_chunk *k, void *values)
{
    const Real *x = static_cast<const Real *>(k->in[0]), *dy = static_cast<const Real *>(k->dy);
    Real *dx = static_cast<Real *>(values);
    for (int i = 0; i < k->n; i++) dx[i] = 3 * x[i] * x[i] * dy[i];
}

template <typename Real> static void cube_forward(at_node *n)
{
    at_map(n, cube_y<Real>);
}

template <typename Real> static void cube_backward(at_node *n)
{
    at_map_back(n, 0, cube_dx<Real>);
}

static const at_op cube_op = {"cube",
                              {cube_forward<float>, cube_forward<double>},
                              {cube_backward<float>, cube_backward<double>},
                              false};

static at_tensor *cube(at_tape *t, at_tensor *x)
{
    AT_INPUT(t, "cube", x, ATTIC_REAL);
    return at_record_map(t, &cube_op, AT_IN(x), x->shape, NULL, 0);
}

static at_tensor *cube_of(at_tape *t, at_tensor **in, void *)
{
    return cube(t, in[0]);
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
    good = good && at_gradcheck(t, cube_of, &x, 1, NULL, at_gradcheck_options{}).verdict == ATTIC_PASS;
    good = good && at_first_node(t) && at_memory_of(t).nodes > 0;
    good = good && at_get(x, 0, 1) == 4 && !times(t, x, 0) && !at_ok(t);
    at_close(t);
    return good && gradients_are_checked() ? 0 : 1;
}
END

# a picture
cat >"$root/picture.cpp" <<'END'
#include <attic_plot.h>

int main()
{
    const double loss[] = {3, 2, 1};
    at_series line = {};
    line.y = loss;
    line.n = 3;
    at_chart chart = {};
    chart.series = &line;
    chart.n_series = 1;
    FILE *f = tmpfile();
    bool good = f && at_svg_chart(f, &chart) && ftell(f) > 0;
    at_tape *t = at_open(ATTIC_F32, 1);
    good = good && at_graph_dot(t, NULL, f, at_graph_options{});
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
for compiler in g++ clang++; do
    [ "$compiler" = "$CXX" ] || command -v "$compiler" >/dev/null || continue
    built user.cpp "$compiler" -std=c++17
    built picture.cpp "$compiler" -std=c++17
done

# A program that includes one face alone, in C and in C++, for each of them.
user_of() {
    name=$1 test=$2
    cat >"$root/alone.c" <<END
#include <$name.h>

int main(void)
{
    at_tape *t = at_open(ATTIC_F32, 1);
    at_tensor *x = at_const(t, at_shape_of(2), NULL);
    int good = $test;
    at_close(t);
    return good ? 0 : 1;
}
END
    cp "$root/alone.c" "$root/alone.cpp"
    built alone.c $CC -std=c11
    built alone.cpp "$CXX" -std=c++17
}
user_of attic 'x && at_item(at_sum(t, x)) == 0'
user_of attic_train 'x && !at_model_open(t, "absent") && at_error_kind_of(t) == ATTIC_FILE_ERROR'
user_of attic_plot 'at_subplot_of(x, NULL, at_shape_of()).cols == 2'
user_of attic_op 'at_bytes(x) == 2 * sizeof(float)'

# attic_prove.hpp, without the library: the program of its first comment, and kernels in C, right and wrong
awk '/^\/\/     / { print substr($0, 8); inside = 1; next } inside && !/^\/\/$/ { exit } inside { print "" }' \
    "$include/attic_prove.hpp" >"$root/example.cpp"
alone() { # alone COMPILER FILE...: compiles with what is installed, and nothing else
    "$@" -Wall -Wextra -Wshadow -Werror -pedantic-errors -isystem "$include" -o "$root/alone"
}
printf '#include "%s"\n' "$include/attic_prove.hpp" >"$root/warned.cpp" # as a file of the user's own
for compiler in g++ clang++; do
    [ "$compiler" = "$CXX" ] || command -v "$compiler" >/dev/null || continue
    for standard in c++17 c++20; do
        "$compiler" -std=$standard $strict -Wconversion -Wsign-conversion -DATTIC_PROVE_IN_STD -c "$root/warned.cpp" \
            -o "$root/warned.o"
        alone "$compiler" -std=$standard "$root/example.cpp"
        "$root/alone" | grep -q '^scale: no difference found at these sizes and branches (3 points, degree 3, ' ||
            { echo "the program of attic_prove.hpp, by $compiler -std=$standard:"; "$root/alone"; exit 1; } >&2
        alone "$compiler" -std=$standard -DATTIC_PROVE_IN_STD tests/prove/outside/outside.cpp
        "$root/alone" >"$root/said" || { grep -e '<--' "$root/said" >&2; exit 1; }
    done
done

# CMake: four programs, from C and C++, with the shared library and with the static one
command -v cmake >/dev/null || { echo "There is no cmake; on Debian: apt-get install cmake" >&2; exit 1; }
mkdir "$root/project"
cat >"$root/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(user C CXX)
set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 17)
find_package(attic ${VERSION_WANTED} REQUIRED ${PARTS_WANTED})
enable_testing()
foreach(language IN ITEMS c cpp)
  foreach(library IN ITEMS attic static)
    add_executable(${language}-${library} ../user.${language})
    target_link_libraries(${language}-${library} PRIVATE attic::${library})
    add_test(NAME ${language}-${library} COMMAND ${language}-${library})
  endforeach()
endforeach()
END
version=$($PKG_CONFIG --modversion attic)
configure() { # configure VERSION PARTS CODE...: what cmake says goes to $root/said
    rm -rf "$root/made"
    CMAKE_PREFIX_PATH=$root/moved/usr cmake -S "$root/project" -B "$root/made" -DCMAKE_C_COMPILER="${CC%% *}" \
        -DCMAKE_CXX_COMPILER="$CXX" -DVERSION_WANTED="$1" -DPARTS_WANTED="$2" >"$root/said" 2>&1
}
for wanted in '' "$version" "${version%.*}" "0.1...<9" "${version};EXACT"; do
    configure "$wanted" '' || { cat "$root/said"; echo "find_package(attic $wanted) fails" >&2; exit 1; }
done
grep -q '/usr/lib/libattic.so' "$root/made/CMakeFiles/c-attic.dir/build.make" ||
    grep -q 'libattic.*dylib' "$root/made/CMakeFiles/c-attic.dir/build.make" ||
    { echo "attic::attic is not the shared library" >&2; exit 1; }
cmake --build "$root/made" >"$root/said" 2>&1 && (cd "$root/made" && ctest) >>"$root/said" 2>&1 ||
    { cat "$root/said"; echo "a program that CMake builds fails" >&2; exit 1; }
for wanted in "${version%%.*}" "${version%.*}.99" 99 "99;EXACT" "0.1...<$version" "99...100"; do
    ! configure "$wanted" '' || { echo "find_package(attic $wanted) finds $version" >&2; exit 1; }
    grep -q "attic-config.cmake, version: $version" "$root/said" || # considered, not accepted
        { cat "$root/said"; echo "find_package(attic $wanted) fails for another reason" >&2; exit 1; }
done
! configure '' 'COMPONENTS;gpu' || { echo "there is no component gpu, and CMake finds it" >&2; exit 1; }
grep -q 'attic has no components' "$root/said" || { cat "$root/said"; exit 1; }

# the program of docs/training.md
INCLUDE='' sh scripts/check-readme.sh docs/training.md "$CC -std=gnu11 $strict $($PKG_CONFIG --cflags attic)" \
    "$lib/libattic.a"

# every public header compiles on its own
for header in attic.h attic_train.h attic_plot.h attic_op.h $(cd "$include" && find attic -name '*.h'); do
    printf '#include <%s>\nint main(void);\n' "$header" >"$root/alone.c"
    $CC -std=gnu11 $strict -I"$include" -fsyntax-only "$root/alone.c"
    $CC -std=c11 $strict -I"$include" -fsyntax-only "$root/alone.c"
    printf '#include <%s>\nint main();\n' "$header" >"$root/alone.cpp"
    for compiler in g++ clang++; do
        [ "$compiler" = "$CXX" ] || command -v "$compiler" >/dev/null || continue
        "$compiler" -std=c++17 $strict -I"$include" -fsyntax-only "$root/alone.cpp"
    done
    grep -q ');' "$include/$header" || continue
    grep -q '^AT_BEGIN_C$' "$include/$header" && grep -q '^AT_END_C$' "$include/$header" ||
        { echo "$header declares functions without AT_BEGIN_C and AT_END_C" >&2; exit 1; }
done

# shellcheck disable=SC2046
sh scripts/check-headers.sh "$CC" "$include" $(cd "$include/attic" && find . -name '*.h' | sed 's|^\.|src|')

# none brings in what is private, or <tgmath.h>
for face in attic attic_train attic_plot attic_op; do
    printf '#include <%s.h>\n' "$face" >"$root/alone.c"
    $CC -std=gnu11 -I"$include" -M "$root/alone.c" >"$root/includes"
    if grep -E 'kernels/real\.h|tgmath\.h|/(vocabulary|arena|arena_hooks|state)\.h' "$root/includes"; then
        echo "$face.h includes what is private" >&2
        exit 1
    fi
done

$MAKE -s uninstall "DESTDIR=$root/moved" prefix=/usr
left=$(find "$root/moved" ! -type d)
[ -z "$left" ] || { echo "uninstall left $left" >&2; exit 1; }
echo "installs, moves, compiles in C and C++, runs, uninstalls"
