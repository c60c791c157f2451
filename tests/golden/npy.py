#!/usr/bin/env python3
"""npy.py -- files as NumPy writes them, and files as nobody should: writes npy.inc beside it."""
import io
import numpy as np
from numpy.lib import format as npy
import whole

files = []


def saved(array, version=None):
    f = io.BytesIO()
    npy.write_array(f, np.asanyarray(array), version=version)
    return f.getvalue()


def good(name, array, version=None):
    array = np.asanyarray(array)
    files.append((name, saved(array, version), array))


def bad(name, content):
    files.append((name, content, None))


def by_hand(header, body=b"", version=1):
    header = header if isinstance(header, bytes) else header.encode()
    n = len(header).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + n + header + body


values = np.array([[1.5, -2, 0.25], [0, 1000, -0.0009765625]])
for order in "<>":
    for code in ("f2", "f4", "f8"):
        good(order + code, values.astype(order + code))
    for code in ("i1", "i2", "i4", "i8"):
        good(order + code, np.array([[1, -2, 100], [0, -128, 127]], order + code))
    for code in ("u1", "u2", "u4", "u8"):
        good(order + code, np.array([1, 200, 255], order + code))
good("b1", np.array([True, False, True]))
good("not finite", np.array([np.nan, np.inf, -np.inf]))
good("f2 extremes", np.array([65504, 6e-8, -6.1e-5, np.inf, np.nan], np.float16))
good("extremes of i32", np.array([2**31 - 1, -2**31], np.int64))
good("fortran 2", np.asfortranarray(np.arange(6.).reshape(2, 3)))
good("fortran 3", np.asfortranarray(np.arange(24, dtype=np.int32).reshape(2, 3, 4)))
good("fortran, big-endian", np.asfortranarray(np.arange(6, dtype=">f4").reshape(3, 2)))
good("scalar", np.float64(2.5))
good("empty", np.zeros((0,), np.float32))
good("empty with dims", np.zeros((2, 0, 3)))
good("eight dims", np.arange(16.).reshape(2, 1, 2, 1, 2, 1, 2, 1))
good("version 2", values, (2, 0))
good("version 3", values, (3, 0))
three = np.array([1., 2, 3])
files.append(("other spellings", by_hand('{"shape":(3L,),\t"fortran_order" :False,"descr":"<f8"}', three.tobytes()), three))

objects = io.BytesIO()
np.save(objects, np.array([{}, []], object), allow_pickle=True)
bad("objects", objects.getvalue())
bad("records", saved(np.zeros(2, [("a", "f4"), ("b", "i4")])))
bad("complex", saved(np.zeros(2, complex)))
bad("text", saved(np.array(["abc"])))
bad("dates", saved(np.array(["2020-01-01"], "M8[D]")))
bad("nine dims", saved(np.zeros((1,) * 9)))
bad("too large for i32", saved(np.array([1, 3000000000])))
bad("too large for i32, unsigned", saved(np.array([2**63], np.uint64)))
bad("too large for f32", saved(np.array([0, 1e300])))
bad("nothing", b"")
bad("text file", b"1 2 3\n" * 10)
bad("magic only", b"\x93NUMPY\x01\x00")
bad("version 4", by_hand("{}", version=4))
D = "{'descr': '<f8', 'fortran_order': False, 'shape': %s}"
bad("no keys", by_hand("{}"))
bad("two keys", by_hand("{'descr': '<f8', 'shape': (1,)}", bytes(8)))
bad("a key twice", by_hand("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", bytes(8)))
bad("an unknown key", by_hand("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}", bytes(8)))
bad("a number as shape", by_hand(D % "(1)", bytes(8)))
bad("a negative dim", by_hand(D % "(-1,)", bytes(8)))
bad("a dim beyond int", by_hand(D % "(2147483648,)", bytes(8)))
bad("a dim of 400 digits", by_hand(D % ("(%s,)" % ("9" * 400)), bytes(8)))
bad("a product of 2^64", by_hand(D % "(65536, 65536, 65536, 65536)", bytes(8)))
bad("a product of 2^61", by_hand(D % "(2147483647, 1073741824)", bytes(8)))
bad("more than there is", by_hand(D % "(1000000,)", bytes(8)))
bad("less than there is", by_hand(D % "(1,)", bytes(16)))
bad("no end", by_hand("{'descr': '<f8"))
bad("no comma", by_hand("{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}", bytes(8)))
bad("no commas in shape", by_hand(D % "(1 1)", bytes(8)))
bad("text after the end", by_hand(D % "(1,)" + " x", bytes(8)))
bad("zeros", by_hand(bytes(100)))
bad("deep brackets", by_hand("{" * 5000))
bad("a long header", by_hand(D % "(1,)" + " " * 10001, bytes(8)))
bad("a header of 4 GiB", b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(50))
good_header = (D % "(1,)").encode()
bad("a header of 64 KiB more", b"\x93NUMPY\x02\x00" + (65536 + len(good_header)).to_bytes(4, "little") + good_header + bytes(8))
bad("not a bool", by_hand("{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}", bytes(8)))
bad("an escape", by_hand("{'d\\x65scr': '<f8', 'fortran_order': False, 'shape': (1,)}", bytes(8)))


def number(x):
    x = float(x)
    return "(double)NAN" if np.isnan(x) else ("-" if x < 0 else "") + "(double)INFINITY" if np.isinf(x) else x.hex()


def literal(content):
    """a C string; a run of spaces or zeros of a header is long, but a string literal need not be"""
    lines = [content[i:i + 40] for i in range(0, len(content), 40)] or [b""]
    return "\n    ".join('"' + "".join("\\%03o" % c if c < 32 or c > 126 or c in b'"\\?' else chr(c) for c in line) + '"'
                         for line in lines)


out = io.StringIO()
out.write("/* Written by npy.py with NumPy " + np.__version__ + ". */\n/* clang-format off */\n")
for name, content, array in files:
    out.write('{"%s", %d,\n    %s,\n    ' % (name, len(content), literal(content)))
    if array is None:
        out.write("ATTIC_REAL, {0, {0}}, NULL},\n")
    else:
        kind = {"f": "ATTIC_F64", "b": "ATTIC_BOOL"}.get(array.dtype.kind, "ATTIC_I32")
        out.write("%s, {%d, {%s}}, (const double[]){%s}},\n" % (
            kind, array.ndim, ", ".join(map(str, array.shape)) or "0",
            ", ".join(map(number, array.ravel())) or "0"))
whole.write({"npy.inc": out.getvalue()})
print(len(files), "files")
