#!/usr/bin/env python3
"""safetensors.py FILE... -- an independent reader and writer of safetensors, made from the format's description
alone: 8 bytes with the length of the header, least first; the header, JSON, padded with spaces; the elements,
little-endian, each tensor from and to its data_offsets.  Prints what the files hold."""
import json
import struct
import sys
import numpy as np

NUMPY = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
         "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?", "BF16": "<u2"}
# What the reference implementation sorts by: the later, the earlier in the file.
ORDER = "BOOL U8 I8 I16 U16 F16 BF16 I32 U32 F32 F64 I64 U64".split()


def write(tensors, metadata=None, order=None):
    """tensors: {name: (dtype, array)}; an array of BF16 holds the 16 bits of each element as u2.  The bytes."""
    names = order or sorted(tensors, key=lambda name: (-ORDER.index(tensors[name][0]), name.encode()))
    header, body = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name in names:
        dtype, array = tensors[name]
        elements = np.asarray(array).astype(NUMPY[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": list(np.shape(array)), "data_offsets": [len(body), len(body) + len(elements)]}
        body += elements
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def read(content):
    """{name: (dtype, array)}, metadata"""
    (n,) = struct.unpack("<Q", content[:8])
    header, body = json.loads(content[8:8 + n]), content[8 + n:]
    metadata = header.pop("__metadata__", {})
    spans = sorted(entry["data_offsets"] for entry in header.values())
    assert [0] + [end for _, end in spans] == [begin for begin, _ in spans] + [len(body)], "gaps or overlap"
    return {name: (e["dtype"], np.frombuffer(body[slice(*e["data_offsets"])], NUMPY[e["dtype"]]).reshape(e["shape"]))
            for name, e in header.items()}, metadata


if __name__ == "__main__":
    for path in sys.argv[1:]:
        tensors, metadata = read(open(path, "rb").read())
        print(path, metadata)
        for name, (dtype, array) in tensors.items():
            print(" ", json.dumps(name), dtype, array.shape, array.ravel()[:8])
