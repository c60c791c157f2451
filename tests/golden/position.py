#!/usr/bin/python3
"""Golden numbers for relative position biases, written to position.inc:

    python3 tests/golden/position.py

Biases are filled cell by cell from the definitions in the papers.  T5's buckets come from whole numbers
alone, without a logarithm, and are compared here with the formula of the paper's code in float32.  ALiBi's
slopes come from the recursion of its authors.  Gradients come from complex steps through a whole attention,
which know nothing of how a bias was put together (Squire, Trapp 1998).
"""
import io
import numpy as np
import whole

out = io.StringIO()
out.write("/* Written by tests/golden/position.py. */\n")


def emit(name, values, kind="double"):
    text = [repr(float(v)) if kind == "double" else str(int(v)) for v in np.asarray(values).reshape(-1)]
    width = 5 if kind == "double" else 20
    lines = [", ".join(text[i : i + width]) for i in range(0, len(text), width)]
    out.write("static const %s %s[] = {\n    %s};\n" % (kind, name, ",\n    ".join(lines)))


def series(shape, scale, shift):
    """Numbers without pattern that anybody can make again."""
    n = int(np.prod(shape))
    return (scale * np.sin(shift + 1.7 * np.arange(n) ** 1.3)).reshape(shape)


# ---------------------------------------------------------------------- which row of the table


def clipped(d, n):
    return min(max(d, -n), n) + n


def t5_half(n, N, farthest):
    """The largest b with n >= m (farthest/m)^((b-m)/(N-m)), to the power of N-m and times m^b."""
    m = N // 2
    if n < m:
        return n
    b, L = m, N - m
    while b + 1 < N and n**L * m ** (b + 1 - m) >= farthest ** (b + 1 - m) * m**L:
        b += 1
    return b


def t5_bucket(d, buckets, farthest, causal):
    if causal:
        return t5_half(max(-d, 0), buckets, farthest)
    return (buckets // 2 if d > 0 else 0) + t5_half(abs(d), buckets // 2, farthest)


def t5_bucket_float32(d, buckets, farthest, causal):
    """As in the code of Raffel et al., where the relative position is key - query."""
    shift, n = 0, -d
    if causal:
        n = max(n, 0)
    else:
        buckets //= 2
        shift = buckets if n < 0 else 0
        n = abs(n)
    m = buckets // 2
    if n < m:
        return shift + n
    f = np.float32
    large = m + int(f(np.log(f(n) / f(m))) / f(np.log(farthest / m)) * f(buckets - m))
    return shift + min(large, buckets - 1)


for causal in (False, True):
    for d in range(-1000, 1001):
        assert t5_bucket(d, 32, 128, causal) == t5_bucket_float32(d, 32, 128, causal), (d, causal)

span = range(-300, 301)
# (10, 160) and (20, 160): there log(80/5) / log(160/5) * 5, say, is a whole number that doubles miss
for buckets, farthest in ((32, 128), (16, 20), (8, 128), (6, 1000), (64, 256), (4, 2), (10, 160), (20, 160)):
    for causal in (False, True):
        if farthest > buckets // (2 if causal else 4):
            name = "t5_%d_%d_%s" % (buckets, farthest, "causal" if causal else "both")
            emit(name, [t5_bucket(d, buckets, farthest, causal) for d in span], "int")


# ---------------------------------------------------------------------- slopes


def alibi_slopes(H):
    def power_of_two(n):
        start = 2.0 ** (-8.0 / n)
        return [start * start**h for h in range(n)]

    if H & (H - 1) == 0:
        return power_of_two(H)
    P = 1 << (H.bit_length() - 1)
    return power_of_two(P) + alibi_slopes(2 * P)[0::2][: H - P]


emit("alibi_slopes", [s for H in range(1, 21) for s in alibi_slopes(H)])

# ---------------------------------------------------------------------- biases and attention

H, T, S, D, OFFSET = 3, 4, 6, 2, 2


def spread(f, offset):
    """[1,H,T,N] from f(h, distance)"""
    cells = [[[f(h, j - (i + offset)) for j in range(S)] for i in range(T)] for h in range(H)]
    return np.array(cells)[None]


def softmax(x):
    e = np.exp(x - np.max(x.real, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


Q, K, V = series((2, H, T, D), 1, 0.3), series((2, H, S, D), 1, 0.8), series((2, H, S, D), 1, 1.4)
dO = series((2, H, T, D), 1, 2.2)
for name, x in (("Q", Q), ("K", K), ("V", V), ("dO", dO)):
    emit("position_" + name, x)


def attend(bias):
    return softmax(Q @ np.swapaxes(K, -1, -2) / np.sqrt(D) + bias) @ V


def golden(name, x, bias_of):
    """The bias, and d(sum dO O)/dx"""
    dx = np.zeros(x.size)
    for i in range(x.size):
        z = x.astype(complex).reshape(-1)
        z[i] += 1e-200j
        dx[i] = np.sum(dO * attend(bias_of(z.reshape(x.shape))).imag) / 1e-200
    emit(name + "_x", x)
    emit(name + "_bias", bias_of(x))
    emit(name + "_O", attend(bias_of(x)))
    emit(name + "_dx", dx)


golden("relative", series((5, H), 1, 0.2), lambda x: spread(lambda h, d: x[clipped(d, 2), h], 0))
golden("relative_offset", series((7, H), 1, 0.9), lambda x: spread(lambda h, d: x[clipped(d, 3), h], OFFSET))
for causal in (False, True):
    golden(
        "t5_causal" if causal else "t5_both",
        series((8, H), 1, 0.5),
        lambda x: spread(lambda h, d: x[t5_bucket(d, 8, 5, causal), h], OFFSET),
    )
golden("alibi", np.array(alibi_slopes(H)), lambda x: spread(lambda h, d: -x[h] * abs(d), OFFSET))
whole.write({"position.inc": out.getvalue()})
