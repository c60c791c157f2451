#!/usr/bin/env python3
"""A small Llama whose rotary frequencies are scaled, in NumPy, in float64: what at_model must give.

    python3 tests/golden/scaled.py

Frequencies are computed by the formulas of the papers and of published code, in float64.  Gradients are those of
complex steps: f(w + ih) = f(w) + ih f'(w) up to h^2, and with h = 1e-30 the imaginary part over h is f' to all
digits, since nothing is subtracted.  Written are

    scaled.safetensors              the weights (f64), under the names of published checkpoints
    scaled_<kind>_grads.safetensors the gradient of the mean loss on IDS, under the same names
    scaled.json                     the config.json of llama3
    scaled.inc                      IDS, TARGETS, POSITIONS; for each kind its config.json and the logits
    frequencies.inc                 m and the frequencies of published models

and printed, how far code is from this that rounds frequencies and angles to float32.
"""
import io
import json
import struct
import sys

import numpy as np
import whole

VOCAB, DIM, HEADS, KV, HIDDEN, LAYERS, BASE, EPS = 11, 16, 2, 1, 12, 2, 500.0, 1e-6
IDS = [[3, 1, 4, 1, 5, 9, 2], [2, 7, 10, 2, 8, 1, 8]]
TARGETS = [[1, 4, 1, 5, 9, 2, 6], [7, 10, 2, 8, 1, 8, 2]]
POSITIONS = [[0, 1, 2, 0, 1, 2, 3], [5, 6, 7, 8, 21, 22, 40]]  # as of packed rows
STEP = 1e-30

KINDS = {
    "plain": None,
    "linear": {"type": "linear", "factor": 4.0},
    "llama3": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 0.3,
        "high_freq_factor": 1.0,
        "original_max_position_embeddings": 16,
    },
    "yarn": {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 16,
        "beta_fast": 2,
        "beta_slow": 0.1,
    },
    "mscale": {
        "rope_type": "yarn",
        "type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 16,
        "beta_fast": 2,
        "beta_slow": 0.1,
        "mscale": 1.0,
        "mscale_all_dim": 0.5,
        "truncate": False,
    },
}

# name, R, base, scaling: as published for these models
PUBLISHED = [
    (
        "Llama 3.1 8B",
        128,
        500000.0,
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    ),
    (
        "Qwen3 8B at 131072",
        128,
        1000000.0,
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    ),
    (
        "gpt-oss 20B",
        64,
        150000.0,
        {
            "rope_type": "yarn",
            "factor": 32.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "truncate": False,
            "original_max_position_embeddings": 4096,
        },
    ),
    (
        "DeepSeek V2 Lite",
        64,
        10000.0,
        {
            "rope_type": "yarn",
            "factor": 40.0,
            "mscale": 0.707,
            "mscale_all_dim": 0.707,
            "original_max_position_embeddings": 4096,
        },
    ),
]


def frequencies(R, base, scaling, real=np.float64):
    """theta' [R/2] in the type `real`, and m"""
    s = scaling or {}
    kind = s.get("rope_type", s.get("type", "default"))
    i = np.arange(0, R, 2).astype(real)
    theta = real(1) / (real(base) ** (i / real(R)))
    factor = real(s.get("factor", 1))
    if kind == "default":
        return theta, 1.0
    if kind == "linear":
        return theta / factor, 1.0
    length = s["original_max_position_embeddings"]
    if kind == "llama3":
        low, high = s["low_freq_factor"], s["high_freq_factor"]
        wavelength = real(2 * np.pi) / theta
        smooth = (real(length) / wavelength - real(low)) / real(high - low)
        between = (1 - smooth) * theta / factor + smooth * theta
        kept = np.where(wavelength > length / low, theta / factor, theta)
        medium = (wavelength >= length / high) & (wavelength <= length / low)
        return np.where(medium, between, kept).astype(real), 1.0

    def pair_that_turns(n):
        return R * np.log(length / (n * 2 * np.pi)) / (2 * np.log(base))

    def g(c):
        return 0.1 * c * np.log(s["factor"]) + 1

    first, last = pair_that_turns(s.get("beta_fast", 32)), pair_that_turns(s.get("beta_slow", 1))
    if s.get("truncate", True):
        first, last = np.floor(first), np.ceil(last)
    first, last = max(first, 0), min(last, R - 1)
    if first == last:
        last += 0.001
    ramp = np.clip((np.arange(R // 2).astype(real) - real(first)) / real(last - first), 0, 1)
    m = g(s["mscale"]) / g(s["mscale_all_dim"]) if "mscale" in s else g(1)
    return (theta / factor * ramp + theta * (1 - ramp)).astype(real), m


def shapes():
    C, K = DIM, DIM * KV // HEADS
    s = {"model.embed_tokens.weight": (VOCAB, C)}
    for i in range(LAYERS):
        h = f"model.layers.{i}."
        s[h + "input_layernorm.weight"] = (C,)
        for name, n in ("q", C), ("k", K), ("v", K), ("o", C):
            s[f"{h}self_attn.{name}_proj.weight"] = (n, C)
        s[h + "post_attention_layernorm.weight"] = (C,)
        s[h + "mlp.gate_proj.weight"] = s[h + "mlp.up_proj.weight"] = (HIDDEN, C)
        s[h + "mlp.down_proj.weight"] = (C, HIDDEN)
    s["model.norm.weight"] = (C,)
    s["lm_head.weight"] = (VOCAB, C)
    return s


def draw():
    random, w = np.random.default_rng(7), {}
    for name, shape in shapes().items():
        x = random.standard_normal(shape)
        w[name] = (1 + 0.3 * x if len(shape) == 1 else x * 1.5 / shape[1] ** 0.5).astype(np.float32).astype(float)
    return w


def angles_of(positions, scaling):
    theta, m = frequencies(DIM // HEADS, BASE, scaling)
    return positions[..., None] * theta, m


def logits(w, ids, angle, m):
    """angle [T,D/2] or [B,T,D/2]"""
    B, T = ids.shape
    D = DIM // HEADS
    cos, sin = (np.broadcast_to(m * f(angle), (B, T, D // 2))[:, None] for f in (np.cos, np.sin))

    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * w[name + ".weight"]

    def linear(x, name):
        return x @ w[name + ".weight"].T

    def rotate(x):  # [B,H,T,D]
        u, v = x[..., : D // 2], x[..., D // 2 :]
        return np.concatenate([u * cos - v * sin, v * cos + u * sin], -1)

    x = w["model.embed_tokens.weight"][ids]
    for i in range(LAYERS):
        h = f"model.layers.{i}."
        n = norm(x, h + "input_layernorm")
        q, k, v = (
            linear(n, f"{h}self_attn.{name}_proj").reshape(B, T, heads, D).transpose(0, 2, 1, 3)
            for name, heads in (("q", HEADS), ("k", KV), ("v", KV))
        )
        q, k = rotate(q), rotate(k)
        scores = q @ np.swapaxes(k, -1, -2) / D**0.5  # one key head, broadcast
        scores = np.where(np.tril(np.ones((T, T), bool)), scores, -np.inf)
        p = np.exp(scores - scores.real.max(-1, keepdims=True))
        a = (p / p.sum(-1, keepdims=True)) @ v
        x = x + linear(a.transpose(0, 2, 1, 3).reshape(B, T, DIM), h + "self_attn.o_proj")
        n = norm(x, h + "post_attention_layernorm")
        gate = linear(n, h + "mlp.gate_proj")
        x = x + linear(gate / (1 + np.exp(-gate)) * linear(n, h + "mlp.up_proj"), h + "mlp.down_proj")
    return linear(norm(x, "model.norm"), "lm_head")


def loss(y):
    picked = np.take_along_axis(y, np.array(TARGETS)[..., None], -1)[..., 0]
    most = y.real.max(-1)
    return (most + np.log(np.exp(y - most[..., None]).sum(-1)) - picked).mean()


def gradients(w, ids, angle, m):
    g = {}
    w = {name: x.astype(complex) for name, x in w.items()}
    for name, x in w.items():
        g[name] = np.zeros(x.shape)
        for at in np.ndindex(x.shape):
            x[at] += 1j * STEP
            g[name][at] = loss(logits(w, ids, angle, m)).imag / STEP
            x[at] = x[at].real
    return g


def safetensors(tensors):
    header, data = {}, b""
    for name, x in tensors.items():
        b = x.astype("<f8").tobytes()
        header[name] = {"dtype": "F64", "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(b)]}
        data += b
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def config(scaling):
    c = {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "bos_token_id": 1,
        "hidden_act": "silu",
        "hidden_size": DIM,
        "intermediate_size": HIDDEN,
        "max_position_embeddings": 64,
        "model_type": "llama",
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": KV,
        "rms_norm_eps": EPS,
        "tie_word_embeddings": False,
        "vocab_size": VOCAB,
    }
    if scaling and "type" not in scaling:  # the newer form
        c["rope_parameters"] = dict(scaling, rope_theta=BASE)
    else:
        c["rope_theta"], c["rope_scaling"] = BASE, scaling
    return json.dumps(c)


out, frequencies_inc = io.StringIO(), io.StringIO()


def array(name, values, kind="double", out=out):
    print(f"static const {kind} {name}[] = {{", file=out)
    values = [repr(v) for v in np.asarray(values).reshape(-1).tolist()]
    for i in range(0, len(values), 5):
        print("    " + ", ".join(values[i : i + 5]) + ",", file=out)
    print("};", file=out)


for to, name in (out, "scaled"), (frequencies_inc, "frequencies"):
    print(f"/* {name}.inc -- written by scaled.py with NumPy; do not edit. */\n/* clang-format off */", file=to)
for name, rows in ("ids", IDS), ("targets", TARGETS), ("positions", POSITIONS):
    array(f"scaled_{name}", rows, "int32_t")

w, ids, T = draw(), np.array(IDS), len(IDS[0])
files = {"scaled.safetensors": safetensors(w)}
for kind, scaling in KINDS.items():
    angle, m = angles_of(np.arange(T), scaling)
    print(f"static const char scaled_{kind}_config[] = {json.dumps(config(scaling))};", file=out)
    array(f"scaled_{kind}_logits", logits(w, ids, angle, m))
    files[f"scaled_{kind}_grads.safetensors"] = safetensors(gradients(w, ids, angle, m))
    angle, m = angles_of(np.array(POSITIONS), scaling)
    array(f"scaled_{kind}_placed", logits(w, ids, angle, m))
for k, (name, R, base, scaling) in enumerate(PUBLISHED):
    theta, m = frequencies(R, base, scaling)
    print(f"\n/* {name}: m, then theta */", file=frequencies_inc)
    array(f"published_{k}", [m, *theta], out=frequencies_inc)
files["scaled.inc"] = out.getvalue()
files["frequencies.inc"] = frequencies_inc.getvalue()
files["scaled.json"] = config(KINDS["llama3"]) + "\n"
whole.write(files)

# How far is code that computes frequencies, angles, cosines and sines in float32?
for name, R, base, scaling in [("Llama 2", 128, 10000.0, None)] + PUBLISHED:
    exact, rounded = (frequencies(R, base, scaling, real)[0] for real in (np.float64, np.float32))
    print(f"{name}: frequencies are {np.max(np.abs(rounded / exact - 1)):.1e} off, angles", end="", file=sys.stderr)
    for end in 1024, 8192, 131072:
        p = np.arange(end)
        off = np.abs((p[:, None].astype(np.float32) * rounded[None]).astype(float) - p[:, None] * exact[None])
        print(f" {off.max():.1e} below {end},", end="", file=sys.stderr)
    print(file=sys.stderr)
for first in 0, 1000, 8000, 131000:
    p, most = first + np.arange(T), 0
    for scaling in KINDS.values():
        angle, m = angles_of(p, scaling)
        theta = frequencies(DIM // HEADS, BASE, scaling, np.float32)[0]
        rounded = (p[:, None].astype(np.float32) * theta[None]).astype(float)
        y = logits(w, ids, angle, m)
        most = max(most, np.abs(logits(w, ids, rounded, m) - y).max() / np.abs(y).max())
    print(f"the small models' logits at {first} .. {first + T - 1}: {most:.1e} of the largest", file=sys.stderr)
