#!/usr/bin/env python3
"""tensors.py -- files of named tensors, good ones and such as nobody should write: tensors.inc beside it.  The
.safetensors files are made by safetensors.py, the .npz files by NumPy, the bad ones by hand."""
import io
import struct
import types
import zipfile
import zlib
import numpy as np
import safetensors
import whole

files = []
zipfile.time = types.SimpleNamespace(time=lambda: 0, localtime=lambda _: (1980, 1, 1, 0, 0, 0))  # the same bytes every time


def good(name, content, tensors, metadata=None):
    files.append((name, content, [(key, *value) for key, value in tensors.items()], metadata or {}))


def bad(name, content):
    files.append((name, content, None, {}))


# ---- safetensors -----------------------------------------------------------------------------------------------

bf16 = np.array([0x3f80, 0xc000, 0x7f80, 0x0001], "u2")  # 1, -2, infinity, the smallest above 0
every = {
    "f64": ("F64", np.array([1.5, -2, 1e300])), "f32": ("F32", np.array([[0.25, -0.5], [3, 1e30]], "f4")),
    "f16": ("F16", np.array([65504, 6e-8, -np.inf, np.nan], "f2")), "bf16": ("BF16", bf16),
    "i64": ("I64", np.array([2**31 - 1, -2**31])), "i32": ("I32", np.array([7, -8], "i4")),
    "i16": ("I16", np.array([-32768, 32767], "i2")), "i8": ("I8", np.array([-128, 127], "i1")),
    "u64": ("U64", np.array([2**31 - 1], "u8")), "u32": ("U32", np.array([5, 6], "u4")),
    "u16": ("U16", np.array([65535], "u2")), "u8": ("U8", np.array([[0, 255, 1]], "u1")),
    "bool": ("BOOL", np.array([True, False, True]))}
good("every dtype", safetensors.write(every), every)
odd = {"b": ("BOOL", np.array([True, False, True])), "x": ("F64", np.array([1.0, 2.0])), "y": ("F32", np.array([3.0], "f4"))}
good("unaligned", safetensors.write(odd, order="bxy"), odd)
good("no tensors", safetensors.write({}), {})
small = {"scalar": ("F64", np.float64(2.5)), "empty": ("F32", np.zeros((0,), "f4")), "none": ("I32", np.zeros((3, 0, 2), "i4")),
         "eight": ("F64", np.arange(4.).reshape(1, 2, 1, 1, 2, 1, 1, 1))}
good("rank 0 and size 0", safetensors.write(small), small)
texts = {"step": "100", "quote \" and \\": "line\nfeed\ttab\x01", "größe": "≤ 1 😀", "": ""}
names = {"a \"b\" \\ c/d\n": ("F32", np.array([1.0], "f4")), "größe 😀": ("F32", np.array([2.0], "f4")), "": ("F32", np.array([3.0], "f4"))}
good("names and metadata", safetensors.write(names, texts), names, texts)
ours = {"w": ("F32", np.arange(6, dtype="f4").reshape(2, 3) / 4), "b": ("F32", np.array([-1.5], "f4")),
        "ids": ("I32", np.array([3, -4], "i4")), "keep": ("BOOL", np.array([True, False, True])), "s": ("F32", np.float32(7))}
good("as attic writes it", safetensors.write(ours, {"step": "100", "note": "a \"b\"\n\x1f é"}), ours, {"step": "100", "note": "a \"b\"\n\x1f é"})
ours64 = {"w": ("F64", np.array([[1 / 3]])), "i": ("I32", np.array([1], "i4"))}
good("as attic writes it in f64", safetensors.write(ours64), ours64)


def st(header, body=b"", length=None):
    header = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + body


escaped = '{ "__metadata__" : { "k\\u00e9\\ud83d\\ude00" : "\\"\\\\\\/\\b\\f\\n\\r\\t" } ,\n\t"\\u0078" : { "data_offsets" : [ 4 , 8 ] ,' \
    ' "shape" : [ ] , "dtype" : "F32" } , "y":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]} }  \n'
good("escapes, spaces, another order", st(escaped, b"\1\2\3\4" + struct.pack("<f", 1.5)),
     {"x": ("F32", np.float32(1.5)), "y": ("U8", np.array([[1, 2], [3, 4]], "u1"))}, {"ké😀": "\"\\/\b\f\n\r\t"})


def entry(name="w", dtype='"F32"', shape="[1]", offsets="[0,4]"):
    return '"%s":{"dtype":%s,"shape":%s,"data_offsets":%s}' % (name, dtype, shape, offsets)


one = "{" + entry() + "}"
bad("nothing", b"")
bad("7 bytes", bytes(7))
bad("header of 0 bytes", bytes(8))
bad("header of 2^63 bytes", st(one, bytes(4), 2**63))
bad("header of 2^64 - 1 bytes", st(one, bytes(4), 2**64 - 1))
bad("header of 100 MB and a byte", st(one, bytes(4), 100000001))
bad("header longer than the file", st(one, bytes(4), 100000000))
bad("header and the elements", st(one, bytes(4), len(one) + 5))
bad("space first", st(" " + one, bytes(4)))
bad("a list", st("[]"))
bad("not closed", st(one[:-1], bytes(4)))
bad("a tensor not closed", st(one[:-2], bytes(4)))
bad("text behind", st(one + "x", bytes(4)))
bad("zeros behind", st(one + "\0\0", bytes(4)))
bad("two objects", st(one + "{}", bytes(4)))
bad("a comma too much", st(one[:-1] + ",}", bytes(4)))
bad("no colon", st('{"w" {}}'))
bad("no quotes", st("{w:{}}"))
bad("not UTF-8", st(b'{"\xff":' + one[5:].encode(), bytes(4)))
bad("UTF-8 longer than needed", st(b'{"\xc0\xaf":' + one[5:].encode(), bytes(4)))
bad("UTF-8 of half a pair", st(b'{"\xed\xa0\x80":' + one[5:].encode(), bytes(4)))
bad("UTF-8 cut", st(b'{"w\xe2\x82":' + one[5:].encode(), bytes(4)))
bad("UTF-8 beyond", st(b'{"\xf4\x90\x80\x80":' + one[5:].encode(), bytes(4)))
bad("control character", st('{"a\nb":' + one[5:], bytes(4)))
bad("unknown escape", st('{"\\x41":' + one[5:], bytes(4)))
bad("escape cut", st('{"\\u00'))
bad("escape of no digits", st('{"\\u00g0":' + one[5:], bytes(4)))
bad("half a pair", st('{"\\ud83d":' + one[5:], bytes(4)))
bad("second half of a pair", st('{"\\ude00":' + one[5:], bytes(4)))
bad("half a pair and no other half", st('{"\\ud83d\\u0041":' + one[5:], bytes(4)))
bad("zero byte in a name", st('{"w\\u0000x":' + one[5:], bytes(4)))
bad("string not closed", st('{"w'))
bad("string ends in a backslash", st('{"w\\'))
bad("deep lists", st('{"w":' + "[" * 5000))
bad("deep objects", st('{"w":' * 1000))
bad("deep metadata", st('{"__metadata__":{"a":{"b":"c"}}}'))
bad("metadata of numbers", st('{"__metadata__":{"step":100}}'))
bad("metadata of null", st('{"__metadata__":{"step":null}}'))
bad("metadata is null", st('{"__metadata__":null}'))
bad("metadata is a text", st('{"__metadata__":"x"}'))
bad("a tensor named __metadata__", st("{" + entry("__metadata__") + "}", bytes(4)))
bad("two __metadata__", st('{"__metadata__":{},"__metadata__":{}}'))
bad("a key of the metadata twice", st('{"__metadata__":{"a":"1","b":"2","a":"3"}}'))
bad("a tensor twice", st("{%s,%s,%s}" % (entry(), entry("v", offsets="[4,8]"), entry(offsets="[8,12]")), bytes(12)))
bad("a tensor is null", st('{"w":null}'))
bad("a tensor as a list", st('{"w":["F32",[1],[0,4]]}', bytes(4)))
bad("no dtype", st('{"w":{"shape":[1],"data_offsets":[0,4]}}', bytes(4)))
bad("no shape", st('{"w":{"dtype":"F32","data_offsets":[0,4]}}', bytes(4)))
bad("no data_offsets", st('{"w":{"dtype":"F32","shape":[1]}}', bytes(4)))
bad("nothing about a tensor", st('{"w":{}}'))
bad("dtype twice", st('{"w":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}', bytes(4)))
bad("unknown key", st('{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}}', bytes(4)))
for code, size in (("F8_E4M3", 1), ("F8_E5M2", 1), ("F8_E8M0", 1), ("C64", 8), ("f32", 4)):
    bad("dtype " + code, st("{" + entry(dtype='"%s"' % code, offsets="[0,%d]" % size) + "}", bytes(size)))
bad("dtype is a number", st("{" + entry(dtype="4") + "}", bytes(4)))
bad("nine dims", st("{" + entry(shape="[1,1,1,1,1,1,1,1,1]") + "}", bytes(4)))
bad("shape is a number", st("{" + entry(shape="1") + "}", bytes(4)))
bad("negative dim", st("{" + entry(shape="[-1]") + "}", bytes(4)))
bad("float dim", st("{" + entry(shape="[1.0]") + "}", bytes(4)))
bad("dim with an exponent", st("{" + entry(shape="[1e0]") + "}", bytes(4)))
bad("dim with a leading zero", st("{" + entry(shape="[01]") + "}", bytes(4)))
bad("dim as a text", st("{" + entry(shape='["1"]') + "}", bytes(4)))
bad("dim of 2^31", st("{" + entry(shape="[2147483648]") + "}", bytes(4)))
bad("dim of 400 digits", st("{" + entry(shape="[%s]" % ("9" * 400)) + "}", bytes(4)))
bad("shape of 2^64", st("{" + entry(shape="[65536,65536,65536,65536]", offsets="[0,0]") + "}"))
bad("shape of 2^62 and 4 bytes", st("{" + entry(shape="[2147483647,1073741825]") + "}", bytes(4)))
bad("comma in a shape", st("{" + entry(shape="[1,]") + "}", bytes(4)))
bad("one offset", st("{" + entry(offsets="[0]") + "}", bytes(4)))
bad("three offsets", st("{" + entry(offsets="[0,4,8]") + "}", bytes(4)))
bad("negative offset", st("{" + entry(offsets="[-4,0]") + "}", bytes(4)))
bad("offset of 2^64 + 4", st("{" + entry(offsets="[0,18446744073709551620]") + "}", bytes(4)))
bad("end before begin", st("{" + entry(offsets="[4,0]") + "}", bytes(4)))
bad("more than the shape", st("{" + entry(offsets="[0,8]") + "}", bytes(8)))
bad("less than the shape", st("{" + entry(shape="[2]") + "}", bytes(4)))
bad("beyond the file", st("{" + entry(shape="[1000]", offsets="[0,4000]") + "}", bytes(4)))
bad("bytes behind", st(one, bytes(5)))
bad("no elements", st(one))
bad("begins late", st("{" + entry(offsets="[4,8]") + "}", bytes(8)))
bad("a gap", st("{%s,%s}" % (entry(), entry("v", offsets="[8,12]")), bytes(12)))
bad("overlap", st("{%s,%s}" % (entry(shape="[2]", offsets="[0,8]"), entry("v", offsets="[4,8]")), bytes(8)))
bad("the same bytes twice", st("{%s,%s}" % (entry(), entry("v")), bytes(4)))
bad("a gap, in another order", st("{%s,%s}" % (entry("v", offsets="[8,12]"), entry()), bytes(12)))

# ---- npz -------------------------------------------------------------------------------------------------------

CODE = {"f8": "F64", "f4": "F32", "f2": "F16", "i8": "I64", "i4": "I32", "i2": "I16", "i1": "I8", "u8": "U64",
        "u4": "U32", "u2": "U16", "u1": "U8", "b1": "BOOL"}
arrays = {"w": np.arange(6.).reshape(2, 3), "fortran": np.asfortranarray(np.arange(6, dtype="i4").reshape(2, 3)),
          "big": np.array([1, 2], ">f4"), "scalar": np.float32(2.5), "empty": np.zeros((0, 2), "u1"), "mask": np.array([True, False])}


def tensors_of(arrays):
    return {name: (CODE[np.asarray(a).dtype.str[1:]], np.asarray(a)) for name, a in arrays.items()}


def savez(save, arrays):
    f = io.BytesIO()
    save(f, **arrays)
    return f.getvalue()


few = {name: arrays[name] for name in ("w", "mask")}
long = {"x": np.round(np.random.default_rng(1).normal(size=3000) * 9).astype("i1"), "zeros": np.zeros((100, 70), "f4"),
        "period": np.tile(np.arange(700, dtype="i2"), 60)}
good("npz stored", savez(np.savez, arrays), tensors_of(arrays))
good("npz deflated", savez(np.savez_compressed, arrays), tensors_of(arrays))
good("npz small, stored", savez(np.savez, few), tensors_of(few))
good("npz small, deflated", savez(np.savez_compressed, few), tensors_of(few))
good("npz long", savez(np.savez_compressed, long), tensors_of(long))
good("npz of nothing", savez(np.savez, {}), {})
limits = zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT
zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = 10, 1
good("npz with zip64", savez(np.savez_compressed, few), tensors_of(few))
zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = limits


def npy(array):
    f = io.BytesIO()
    np.save(f, array)
    return f.getvalue()


def deflate(data, level=9, strategy=zlib.Z_DEFAULT_STRATEGY):
    z = zlib.compressobj(level, zlib.DEFLATED, -15, 8, strategy)
    return z.compress(data) + z.flush()


def member(name=b"w.npy", data=npy(np.float32(1.5)), method=0, packed=None, local_name=None, at=None, extra=b"", **changes):
    name = name if isinstance(name, bytes) else name.encode()
    packed = packed if packed is not None else deflate(data) if method == 8 else data
    return dict(dict(name=name, local_name=local_name or name, packed=packed, crc=zlib.crc32(data), size=len(data), stated=len(packed),
                     method=method, local_method=method, flags=0, at=at, extra=extra), **changes)


def zipped(*members, disk=0, count=None, comment=b"", gap=b"", behind=b"", shift=0):
    body, directory = b"", b""
    for m in members:
        at = len(body) if m["at"] is None else m["at"]
        if m["at"] is None:
            body += struct.pack("<IHHHHHIIIHH", 0x04034b50, 20, m["flags"], m["local_method"], 0, 0, m["crc"],
                                m["stated"], m["size"], len(m["local_name"]), 0) + m["local_name"] + m["packed"]
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 20, 20, m["flags"], m["method"], 0, 0, m["crc"], m["stated"],
                                 m["size"], len(m["name"]), len(m["extra"]), 0, 0, 0, 0, at) + m["name"] + m["extra"]
    n = len(members) if count is None else count
    return body + gap + directory + behind + struct.pack("<IHHHHIIH", 0x06054b50, disk, disk, n, n, len(directory),
                                                         len(body) + len(gap) + shift, len(comment)) + comment


plain = npy(np.arange(40, dtype="i4"))
good("npz by hand", zipped(member("a.npy"), member("b.npy", method=8), gap=b"a gap"),
     {"a": ("F32", np.float32(1.5)), "b": ("F32", np.float32(1.5))})
good("npz of stored blocks", zipped(member(data=plain, method=8, packed=deflate(plain, 0))), {"w": ("I32", np.arange(40))})
good("npz of fixed codes", zipped(member(data=plain, method=8, packed=deflate(plain, 9, zlib.Z_FIXED))), {"w": ("I32", np.arange(40))})
good("npz of single bytes", zipped(member(data=plain, method=8, packed=deflate(plain, 9, zlib.Z_HUFFMAN_ONLY))), {"w": ("I32", np.arange(40))})
bad("npz encrypted", zipped(member(flags=1)))
bad("npz encrypted strongly", zipped(member(flags=64)))
bad("npz of method 12", zipped(member(method=12)))
bad("npz of method 9", zipped(member(method=9)))
bad("npz of several disks", zipped(member(), disk=1))
bad("npz with a comment", zipped(member(), comment=b"hello"))
bad("npz with bytes behind", zipped(member()) + b"x")
bad("npz with bytes behind its directory", zipped(member(), behind=b"x"))
bad("npz with bytes in front", b"PK\3\4\1" + zipped(member()))
bad("npz whose directory begins later", zipped(member(), shift=1))
bad("npz with too many members", zipped(member(), count=3))
bad("npz with too few members", zipped(member("a.npy"), member("b.npy"), count=1))
bad("npz with a readme", zipped(member("readme.txt")))
bad("npz with a folder", zipped(member("x/", b"")))
bad("npz with a name not UTF-8", zipped(member(b"\xff.npy")))
bad("npz with a zero in a name", zipped(member("w\0.npy")))
bad("npz with a name twice", zipped(member(), member("v.npy"), member()))
bad("npz with one member twice", zipped(member("a.npy"), member("a2.npy", at=0)))
bad("npz with a member in another", zipped(member(data=npy(np.zeros(400, "u1"))), member("v.npy", at=100)))
bad("npz with another local name", zipped(member(local_name=b"v.npy")))
bad("npz with another local method", zipped(member(local_method=8)))
bad("npz with no local header", zipped(member(at=0), member("v.npy")))
bad("npz with a member behind the end", zipped(member(), member("v.npy", at=99999)))
bad("npz with a member too long", zipped(member(stated=5000, size=5000)))
bad("npz with a stored member of two sizes", zipped(member(size=5)))
bad("npz that unpacks too far", zipped(member(method=8, size=1 << 30)))
bad("npz with no zip64 field", zipped(member(size=0xffffffff)))
bad("npz with a short zip64 field", zipped(member(size=0xffffffff, extra=struct.pack("<HHI", 1, 4, 0))))
bad("npz with a huge zip64 field", zipped(member(method=8, size=0xffffffff, stated=0xffffffff, extra=struct.pack("<HHQQ", 1, 16, 2**63, 2**63))))
bad("npz with a wrong checksum", zipped(member(crc=1)))
bad("npz with a wrong checksum, deflated", zipped(member(method=8, crc=1)))
bad("npz that unpacks to less", zipped(member(data=plain, method=8, packed=deflate(plain[:-4]))))
bad("npz that unpacks to more", zipped(member(data=plain, method=8, packed=deflate(plain + b"x"))))
bad("npz with bytes behind its deflate", zipped(member(data=plain, method=8, packed=deflate(plain) + b"x")))
bad("npz with bad deflate", zipped(member(data=plain, method=8, packed=b"\7" * 80)))
bad("npz of objects", savez(lambda f, **a: np.savez(f, **a), {"o": np.array([{}], object)}))
bad("npz of complex numbers", savez(np.savez, {"z": np.zeros(2, complex)}))
bad("npz with a text in it", zipped(member(data=b"hello")))
bad("npz with a number too large", savez(np.savez, {"i": np.array([3000000000])}))
bad("npz with its shape too long", zipped(member(data=npy(np.zeros(3))[:-8])))
bad("an .npy file", npy(np.zeros(3)))


# ---- writing ---------------------------------------------------------------------------------------------------

def number(x):
    x = float(x)
    return "(double)NAN" if np.isnan(x) else ("-" if x < 0 else "") + "(double)INFINITY" if np.isinf(x) else x.hex()


def literal(content):
    lines = [content[i:i + 40] for i in range(0, len(content), 40)] or [b""]
    return "\n    ".join('"' + "".join("\\%03o" % c if c < 32 or c > 126 or c in b'"\\?' else chr(c) for c in line) + '"'
                         for line in lines)


def values_of(dtype, array):
    return (array.astype("u4") << 16).view("f4") if dtype == "BF16" else array


def tensor(name, dtype, array):
    array = np.asarray(array)
    kind = "ATTIC_BOOL" if dtype == "BOOL" else "ATTIC_I32" if dtype[0] in "IU" else "ATTIC_F64"
    values = values_of(dtype, array)
    step = max(1, values.size // 50)  # of many values a few
    return '{%s, "%s", %s, {%d, {%s}}, %d, (const double[]){%s}}' % (
        literal(name.encode()), dtype.lower(), kind, array.ndim, ", ".join(map(str, array.shape)) or "0", step,
        ", ".join(map(number, values.ravel()[::step])) or "0")


out = io.StringIO()
out.write("/* Written by tensors.py with NumPy " + np.__version__ + ". */\n/* clang-format off */\n")
for name, content, tensors, metadata in files:
    out.write('{"%s", %d,\n    %s,\n    ' % (name, len(content), literal(content)))
    if tensors is None:
        out.write("-1, NULL, 0, NULL},\n")
        continue
    out.write("%d, (const golden_tensor[]){%s},\n    " % (len(tensors), ",\n        ".join(tensor(*t) for t in tensors) or "{0}"))
    out.write("%d, (const at_metadata[]){%s}},\n" % (len(metadata), ", ".join(
        "{%s, %s}" % (literal(k.encode()), literal(v.encode())) for k, v in metadata.items()) or "{0}"))
whole.write({"tensors.inc": out.getvalue()})
print(len(files), "files")
