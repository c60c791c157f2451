#!/usr/bin/env python3
"""print.py -- what NumPy's print() writes: run with NumPy 1.24, writes print.inc beside it."""
import io
import numpy as np
import whole

rng = np.random.default_rng(7)
inf, nan = np.inf, np.nan
cases = []


def case(values, *dtypes):
    for dtype in dtypes or (np.float32, np.float64):
        cases.append((np.array(values, dtype), None))


def ramp(shape, first, step, *dtypes):
    """first + i * step: for tensors too large to be written out"""
    for dtype in dtypes or (np.float32, np.float64):
        n = int(np.prod(shape))
        cases.append(((first + step * np.arange(n)).astype(dtype).reshape(shape), (first, step)))


# scalars
for x in (0., -0., 1., -2.5, 1 / 3, 0.1, 1e-4, 9.9999e-5, 1e-5, 1.5e-7, 123456789., 1e15, 1e16, 1.25e20, 2.**-44,
          2.**-24, 2.**26, 2.**53, inf, -inf, nan, 3e38, 1e-40, 65504.):
    case(x)
case(1e300, np.float64), case(5e-324, np.float64), case(1.7976931348623157e308, np.float64), case(2.**-1022, np.float64)
case(7, np.int32), case(-(2**31), np.int32), case(True, bool), case(False, bool)

# one format for all
case([1., 2., 3.]), case([0.5]), case([1.5, -2.25, 10.]), case([0.1, 0.2, 0.3]), case([1 / 3, 2 / 3, 1.])
case([[1, 2], [3, 4]]), case([[1., -0.5, nan], [10., 0.125, inf]]), case([-0., 0.]), case([0.]), case([0., 0., 0.])
case([[0.09003057, 0.24472847, 0.66524096]]), case([1e-3, 1.]), case([0.00099, 1.]), case([1000., 1.]), case([1001., 1.])
case([1e-4, 1e-3]), case([1.0001e-4, 1e-3]), case([99999999., 1e7]), case([1e8]), case([1e8, 1e6]), case([1e8, 1.])
case([0.99999999999, 0.5]), case([9.9999999999, 0.5]), case([0.123456789012, 12.]), case([0.00012345678901, 0.0002])
case([67108872., 123456.1]), case([99999992., 67108872.]), case([16777216., 16777218., 33554436.])
case([2.**-44, 1.]), case([2.**-k for k in range(1, 9)]), case([2.**k for k in range(0, 60, 7)]), case([9007199254740993.])
case([0.1, 1.19097386e-07, 0.3]), case([1e100, 1.], np.float64), case([1e-100, -1e-200], np.float64), case([5e-324, 1.], np.float64)
case([1.5e300, 1e-300], np.float64), case([1e-40, 1.]), case([3.4e38, -1.])
case([-1e-5, 2e5]), case([-1., 1e9, nan]), case([1e-9, inf]), case([1e-9, -inf]), case([-1e-9, nan])

# a ratio that is 1000 in float32 and more in float64: float32 decides
small = next(x for x in np.arange(1, 2, 0.001, np.float32)
             if float(np.float32(1000) * x) / float(x) > 1000 and np.float32(1000) * x / x == 1000)
case([np.float32(1000) * small, small])

# not finite
case([nan]), case([inf]), case([-inf]), case([nan, inf]), case([inf, -inf]), case([nan, 1.25, -inf]), case([nan, 1., 2.])
case([[nan, nan], [nan, nan]]), case([100., nan]), case([-100.5, inf]), case([1., -inf])

# integers and masks
case([1, -20, 300], np.int32), case([0], np.int32), case([[2**31 - 1, -2**31], [0, 1]], np.int32), case([-1, 5], np.int32)
case([True, False], bool), case([[True, True], [True, True]], bool), case([[False]], bool)
case(np.tril(np.ones((4, 4))), bool)

# sizes 0 and 1
for shape in ((0,), (2, 0), (0, 3), (1, 0, 4), (3, 0, 0)):
    case(np.zeros(shape), np.float32, np.int32, bool)
for shape in ((1,), (1, 1), (1, 1, 1), (1, 3), (3, 1), (1, 2, 1, 2), (1,) * 8):
    case(np.arange(np.prod(shape)).reshape(shape) / 4)

# dimensions, and lines that are full
ramp((2, 3, 4), 0, 1), ramp((2, 2, 2, 2), -8, 0.5), ramp((2, 1, 2, 1, 2), 0, 0.25), ramp((2,) * 6, 0, 1)
for n in range(12, 31, 3):
    ramp((n,), 0, 0.125, np.float32)
for n in range(5, 12):
    ramp((2, n), 0, -1 / 7, np.float64)
for n in range(15, 22):
    ramp((1, 2, n), 1, 1, np.float64)
    ramp((n,), 0, 1e7, np.int32)
    case(rng.random(n) < 0.5, bool)
    case(rng.random((2, n)) < 0.5, bool)
ramp((30,), 1e-9, 1e-7, np.float64), ramp((3, 40), 0, 1, np.int32), ramp((20, 4), 0, 0.5), ramp((1000,), 0, 1)
ramp((50,), -12.5, 0.5), ramp((25, 40), 0, 1, np.int32)

# more than 1000 elements
ramp((1001,), 0, 1), ramp((1001,), 0, 0.1), ramp((7, 200), 0, 1), ramp((6, 200), 0, 1), ramp((200, 6), -600, 1)
ramp((200, 7), 0, 0.001), ramp((11, 10, 10), 0, 1), ramp((2, 3, 1000), 0, 1), ramp((1000, 2, 2), 0, 1), ramp((2000, 1), 0, 1)
ramp((7, 7, 7, 7), 0, 1), ramp((2, 600, 1), 0, 0.5), ramp((1, 1, 1200), 1e6, 1e5), ramp((5000,), 0, 1, np.int32)
ramp((100, 100), 0, 1, np.int32), ramp((1100,), 1e-7, 1e-7), ramp((8, 8, 20), -3, 1 / 3)
cases.append((np.ones((40, 40), bool), (1, 0))), cases.append((np.zeros(1500), (0, 0)))

# many magnitudes and precisions
for scale in (1e-6, 1e-4, 1e-2, 1., 100., 1e4, 1e6, 1e7, 1e10, 1e20):
    for shape in ((6,), (3, 3), (2, 2, 3)):
        case(rng.standard_normal(shape) * scale)
    case(rng.integers(-999, 999, (4, 4)) * scale / 100)
for _ in range(12):
    case(10. ** rng.uniform(-9, 9, 5) * rng.choice([-1, 1], 5))
    case(10. ** rng.uniform(-2, 1, 4))
    case(rng.integers(1, 2**24, 3) * 2. ** rng.integers(-40, 20))

TYPE = {np.dtype(np.float32): "ATTIC_F32", np.dtype(np.float64): "ATTIC_F64", np.dtype(np.int32): "ATTIC_I32",
        np.dtype(bool): "ATTIC_BOOL"}


def number(x):
    x = float(x)
    return "(double)NAN" if np.isnan(x) else ("-" if x < 0 else "") + "(double)INFINITY" if np.isinf(x) else x.hex()


out = io.StringIO()
out.write("/* Written by print.py with NumPy " + np.__version__ + ". */\n/* clang-format off */\n")
for array, affine in cases:
    text = str(array).replace("\\", "\\\\").replace('"', '\\"')
    shape = "{%d, {%s}}" % (array.ndim, ", ".join(map(str, array.shape)) or "0")
    values = affine if affine else [] if array.size == 0 else array.ravel()
    lines = '\n    '.join('"%s\\n"' % line for line in text.split("\n"))
    out.write("{%s, %s, %s, (const double[]){%s},\n    %s},\n" % (
        TYPE[array.dtype], shape, "true" if affine else "false", ", ".join(map(number, values)) or "0", lines))
whole.write({"print.inc": out.getvalue()})
print(len(cases), "cases")
