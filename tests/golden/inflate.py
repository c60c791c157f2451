#!/usr/bin/env python3
"""inflate.py -- deflated data by zlib, and such as zlib refuses, bit by bit: writes inflate.inc beside it."""
import io
import random
import zlib
import whole

rows = []
random.seed(1)


def deflate(data, level=9, strategy=zlib.Z_DEFAULT_STRATEGY, flush=None):
    z = zlib.compressobj(level, zlib.DEFLATED, -15, 8, strategy)
    parts = [data] if flush is None else [data[i:i + 100] for i in range(0, len(data), 100)]
    return b"".join(z.compress(p) + (b"" if flush is None else z.flush(flush)) for p in parts) + z.flush()


def good(name, packed, data=None):
    assert data is None or zlib.decompress(packed, -15) == data
    data = zlib.decompress(packed, -15)
    rows.append((name, packed, len(data), zlib.crc32(data), None))


def bits(*fields):
    """(value, n): n bits, the lowest first; "0110": a code, as it is drawn"""
    text = "".join(f if isinstance(f, str) else format(f[0], "0%db" % f[1])[::-1] if f[1] else "" for f in fields)
    text += "0" * (-len(text) % 8)
    return bytes(int(text[i:i + 8][::-1], 2) for i in range(0, len(text), 8))


def bad(name, packed, why, size=1000):
    try:
        z = zlib.decompressobj(-15)
        refused = len(z.decompress(packed)) < size and not z.eof
    except zlib.error:
        refused = True
    assert refused, name  # as zlib says, too
    rows.append((name, packed, size, 0, "its compressed data " + why))


words = " ".join(random.choice("query key value head mask score".split()) for _ in range(400)).encode()
# Numbers of Fibonacci: codes of every length up to 15 bits, all of them longer than the table of 10.
fibonacci, a, b = b"", 1, 1
for symbol in range(18):
    fibonacci += bytes([symbol * 13 % 256]) * a
    a, b = b, a + b
fibonacci = bytes(random.sample(fibonacci, len(fibonacci)))
noise = random.randbytes(300)
good("nothing, stored", deflate(b"", 0), b"")
good("nothing, fixed codes", bits((1, 1), (1, 2), "0000000"), b"")
good("hello", deflate(b"hello"), b"hello")
good("words", deflate(words), words)
good("words, fixed codes", deflate(words, 9, zlib.Z_FIXED), words)
good("words, single bytes", deflate(words, 9, zlib.Z_HUFFMAN_ONLY), words)
good("words, runs", deflate(words, 9, zlib.Z_RLE), words)
good("words, fast", deflate(words, 1), words)
good("words in blocks", deflate(words, 9, flush=zlib.Z_SYNC_FLUSH), words)
good("words in blocks without a window", deflate(words, 9, flush=zlib.Z_FULL_FLUSH), words)
good("long codes", deflate(fibonacci, 9, zlib.Z_HUFFMAN_ONLY), fibonacci)
good("stored", deflate(noise, 0), noise)
good("one byte a hundred thousand times", deflate(b"a" * 100000), b"a" * 100000)
far = noise + bytes(32768 - 300) + noise
good("from 32768 bytes back", deflate(far), far)
good("every length and distance", deflate(b"".join(noise[:n] + bytes([n % 251]) for n in range(3, 260))))
dynamic = (1, 1), (2, 2)
# Codes of lengths in their odd order: 18 has 1 bit, 1 and 2 (or 0 and 1) have 2.
one_two = [(n, 3) for n in [0, 0, 1] + [0] * 12 + [2, 0, 2]]
zero_one = [(n, 3) for n in [0, 0, 1, 2] + [0] * 13 + [2]]
# Byte 0 has 2 bits, length 3 has 1, the end has 2; distance 1 has 1 and is the only one.
single = *dynamic, (1, 5), (0, 5), (14, 4), *one_two, "11", "0", (127, 7), "0", (106, 7), "11", "10", "10"
good("a single distance", bits(*single, "10", "0", "0", "11"), bytes(4))
bad("the other of a single distance", bits(*single, "10", "0", "1", "11"), "has a code without a meaning")
bad("no byte", b"", "ends early")
bad("a block cut", deflate(words)[:-20], "ends early", len(words))
bad("a stored block cut", deflate(noise, 0)[:-1], "ends early", 300)
bad("a fourth kind of block", bits((1, 1), (3, 2)), "has a block of an unknown kind")
bad("a stored length that is not repeated", bits((1, 1), (0, 2), (0, 5), (5, 16), (5, 16)) + b"hello", "has a stored block whose length is damaged")
bad("a copy of nothing", bits((1, 1), (1, 2), "0000001", "00000", "0000000"), "copies from before its begin")
bad("a copy from too far", bits((1, 1), (1, 2), "00110000", "0000001", "00001", "0000000"), "copies from before its begin")
bad("length symbol 286", bits((1, 1), (1, 2), "00110000", "11000110", "00000"), "has a symbol without a meaning")
bad("distance symbol 30", bits((1, 1), (1, 2), "00110000", "0000001", "11110"), "has a symbol without a meaning")
impossible = "has a code that is impossible"
bad("287 symbols", bits(*dynamic, (30, 5), (0, 5), (0, 4), *[(0, 3)] * 40), impossible)
bad("31 distances", bits(*dynamic, (0, 5), (30, 5), (0, 4), *[(0, 3)] * 40), impossible)
bad("too many codes of a length", bits(*dynamic, (0, 5), (0, 5), (0, 4), *[(1, 3)] * 4, *[(0, 3)] * 40), impossible)
bad("too few codes of a length", bits(*dynamic, (1, 5), (0, 5), (14, 4), *[(n, 3) for n in [0, 0, 2] + [0] * 12 + [2, 0, 2]],
                                      "01", "10", (127, 7), "10", (106, 7), "01", "00", "00", "10", "0", "0", "11"), impossible, 4)
bad("a repeat of nothing", bits(*dynamic, (0, 5), (0, 5), (0, 4), (1, 3), (1, 3), (0, 3), (0, 3), "0", *[(0, 3)] * 40), impossible)
bad("a repeat beyond the end", bits(*dynamic, (0, 5), (0, 5), (0, 4), (0, 3), (1, 3), (1, 3), (0, 3), "1", (127, 7), "1", (127, 7), *[(0, 3)] * 40), impossible)
bad("no code for the end", bits(*dynamic, (0, 5), (0, 5), (14, 4), *zero_one, "11", "0", (127, 7), "0", (106, 7), "10", "11", *[(0, 3)] * 40), impossible)


def literal(content):
    return "\n    ".join('"' + "".join("\\%03o" % c if c < 32 or c > 126 or c in b'"\\?' else chr(c) for c in content[i:i + 40]) + '"'
                         for i in range(0, max(1, len(content)), 40))


out = io.StringIO()
out.write("/* Written by inflate.py with zlib " + zlib.ZLIB_VERSION + ". */\n/* clang-format off */\n")
for name, packed, size, crc, why in rows:
    out.write('{"%s", %d,\n    %s,\n    %d, 0x%08x, %s},\n' % (name, len(packed), literal(packed), size, crc, '"%s"' % why if why else "NULL"))
whole.write({"inflate.inc": out.getvalue()})
print(len(rows), "streams")
