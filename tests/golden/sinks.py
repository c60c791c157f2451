#!/usr/bin/env python3
"""The attention of gpt-oss in a small model, in NumPy, in float64: what at_model with sinks and windows must give.

    python3 tests/golden/sinks.py

Written from the published description: rms norm, rope on halves, grouped heads, biases in the projections, a
learned sink for each head, a window in every other layer from the first on; blocks of attention alone, as its
mixture of experts is no part of attic.  Written is sinks.inc: the weights, under attic's names and in its layout,
[in,out]; ids; the logits; and the gradient of their product with DLOGITS.

The gradient takes no backward: f is a function of complex numbers here, and the imaginary part of f(x + ih) / h
for h = 1e-30 is its derivative, exact to the last digits (the complex-step derivative).
"""
import io

import numpy as np
import whole

VOCAB, LAYERS, DIM, HEADS, KV, WINDOW, BASE, EPS = 7, 3, 8, 4, 2, 3, 150, 1e-5
IDS = np.array([[3, 1, 4, 1, 5, 6, 2, 0], [2, 6, 0, 5, 1, 3, 3, 4]])
B, T = IDS.shape
D = DIM // HEADS


def shapes():
    s = {"E": (VOCAB, DIM)}
    for i in range(LAYERS):
        b = f"block{i}."
        s[b + "norm1.g"] = (DIM,)
        for name, n in ("q", DIM), ("k", KV * D), ("v", KV * D), ("o", DIM):
            s[f"{b}attention.{name}.W"] = (DIM, n)
            s[f"{b}attention.{name}.b"] = (n,)
        s[b + "attention.sink"] = (HEADS,)
    s["norm.g"] = (DIM,)
    s["head.W"] = (DIM, VOCAB)
    return s


def norm(x, g):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * g


def rotate(x):
    """[B,H,T,D]: features i and i + D/2 of row t are rotated by t BASE^(-2i/D)"""
    angle = np.outer(np.arange(T), BASE ** (-np.arange(0, D, 2) / D))
    cos, sin = np.cos(angle), np.sin(angle)
    u, v = x[..., : D // 2], x[..., D // 2 :]
    return np.concatenate([u * cos - v * sin, v * cos + u * sin], -1)


def attention(w, b, x, window):
    def heads(name, n):
        return (x @ w[f"{b}{name}.W"] + w[f"{b}{name}.b"]).reshape(B, T, n, D).transpose(0, 2, 1, 3)

    q, k, v = rotate(heads("q", HEADS)), rotate(heads("k", KV)), heads("v", KV)
    k, v = (np.repeat(y, HEADS // KV, 1) for y in (k, v))
    s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(D)
    i, j = np.indices((T, T))
    keep = (j <= i) & ((j > i - window) if window else True)
    s = np.where(keep, s, -np.inf)
    sink = np.broadcast_to(w[b + "sink"].reshape(1, HEADS, 1, 1), (B, HEADS, T, 1))
    s = np.concatenate([s, sink], -1)
    e = np.where(np.isinf(s.real), 0, np.exp(np.where(np.isinf(s.real), 0, s)))
    p = (e / e.sum(-1, keepdims=True))[..., :-1]
    o = (p @ v).transpose(0, 2, 1, 3).reshape(B, T, DIM)
    return o @ w[b + "o.W"] + w[b + "o.b"]


def logits(w):
    x = w["E"][IDS]
    for i in range(LAYERS):
        b = f"block{i}."
        x = x + attention(w, b + "attention.", norm(x, w[b + "norm1.g"]), 0 if i % 2 else WINDOW)
    return norm(x, w["norm.g"]) @ w["head.W"]


random = np.random.default_rng(5)
w = {name: random.normal(0, 2 / np.sqrt(s[0]) if len(s) > 1 else 0.5, s) for name, s in shapes().items()}
for name in w:
    if name.endswith(".g"):
        w[name] = w[name] + 1
    w[name] = w[name].astype(np.float32).astype(np.float64)
y = logits(w)
dy = random.normal(0, 1, y.shape)


def gradient(name):
    g, h = np.empty(w[name].size), 1e-30
    for i in range(g.size):
        z = dict(w)
        z[name] = w[name].astype(complex)
        z[name].reshape(-1)[i] += 1j * h
        g[i] = (logits(z) * dy).sum().imag / h
    return g


def array(name, values):
    print(f"static const double {name}[] = {{", file=out)
    for i in range(0, len(values), 5):
        print("    " + ", ".join(repr(float(v)) for v in values[i : i + 5]) + ",", file=out)
    print("};", file=out)


out = io.StringIO()
print("/* sinks.inc -- written by sinks.py with NumPy; do not edit. */", file=out)
print("/* clang-format off */", file=out)
print("static const int32_t sinks_ids[] = {" + ", ".join(map(str, IDS.flatten())) + "};", file=out)
array("sinks_logits", y.flatten())
array("sinks_dlogits", dy.flatten())
grads = {name: gradient(name) for name in w}
for k, name in enumerate(w):
    array(f"sinks_w{k}", w[name].flatten())
    array(f"sinks_d{k}", grads[name])
print("static const struct {\n    const char *name;\n    const double *w, *d;\n} sinks_params[] = {", file=out)
for k, name in enumerate(w):
    print(f'    {{"{name}", sinks_w{k}, sinks_d{k}}},', file=out)
print("};", file=out)
whole.write({"sinks.inc": out.getvalue()})
