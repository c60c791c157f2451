#!/usr/bin/env python3
"""A small GPT-2 and a small Llama in PyTorch, in float64: what attic's at_model must give.

    python3 tests/golden/models.py

Both are written from the published descriptions, with tensors in the layout and under the names of the
checkpoints that Hugging Face serves.  Written are, for each of them,

    gpt2.safetensors         the weights (f32), drawn with a standard deviation of 2/sqrt(n), so large that
                             positions, activations and eps show
    gpt2_grads.safetensors   the gradient of the mean loss on IDS, under the same names (f64)
    models.inc               IDS, the logits of both, and 64 ids that each model goes on with, always the
                             most probable one, from PROMPT; the runner-up is at least 1e-3 behind

The safetensors are written here by hand (json, struct, NumPy), not by attic's writer.
"""
import io
import json
import struct
import sys

import numpy as np
import torch
from torch.nn import functional as F
import whole

torch.set_default_dtype(torch.float64)

VOCAB, LAYERS, STEPS, MARGIN = 19, 2, 64, 1e-3
PROMPT = [3, 1, 4, 1]
IDS = [[3, 1, 4, 1, 5, 9, 2, 6, 5], [2, 7, 18, 2, 8, 1, 8, 2, 8]]
TARGETS = [[1, 4, 1, 5, 9, 2, 6, 5, 3], [7, 18, 2, 8, 1, 8, 2, 8, 4]]


def draw(shapes, seed):
    """Matrices N(0, 4/n), n what a row of the product sums over; gains around 1, biases around 0."""
    generator = torch.Generator().manual_seed(seed)
    w = {}
    for name, (shape, n) in shapes.items():
        x = torch.randn(shape, generator=generator) * (2 / n**0.5 if n else 0.3)
        gain = not n and name.endswith("weight")
        w[name] = (x + gain).float().double().requires_grad_()
    return w


# ---- GPT-2: layer norm with biases, learned positions, Conv1D weights [in,out], tanh-gelu, tied ----

G = dict(dim=8, heads=2, hidden=20, context=len(PROMPT) + STEPS)


def gpt2_shapes():
    C, M = G["dim"], G["hidden"]
    s = {"wte.weight": ([VOCAB, C], C), "wpe.weight": ([G["context"], C], C)}
    for i in range(LAYERS):
        h = f"h.{i}."
        s[h + "ln_1.weight"], s[h + "ln_1.bias"] = ([C], 0), ([C], 0)
        s[h + "attn.c_attn.weight"], s[h + "attn.c_attn.bias"] = ([C, 3 * C], C), ([3 * C], 0)
        s[h + "attn.c_proj.weight"], s[h + "attn.c_proj.bias"] = ([C, C], C), ([C], 0)
        s[h + "ln_2.weight"], s[h + "ln_2.bias"] = ([C], 0), ([C], 0)
        s[h + "mlp.c_fc.weight"], s[h + "mlp.c_fc.bias"] = ([C, M], C), ([M], 0)
        s[h + "mlp.c_proj.weight"], s[h + "mlp.c_proj.bias"] = ([M, C], M), ([C], 0)
    s["ln_f.weight"], s["ln_f.bias"] = ([C], 0), ([C], 0)
    return s


def causal_attention(q, k, v):
    """[B,H,T,D]: softmax(q k^T / sqrt(D)), keys j <= i alone, times v"""
    T, D = q.shape[-2:]
    scores = q @ k.transpose(-1, -2) / D**0.5
    future = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), -1) @ v


def gpt2(w, ids):
    B, T = ids.shape
    H, C = G["heads"], G["dim"]

    def norm(x, name):
        x = x - x.mean(-1, keepdim=True)
        x = x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        return x * w[name + ".weight"] + w[name + ".bias"]

    def conv1d(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    def gelu(x):
        return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))

    x = w["wte.weight"][ids] + w["wpe.weight"][:T]
    for i in range(LAYERS):
        h = f"h.{i}."
        qkv = conv1d(norm(x, h + "ln_1"), h + "attn.c_attn")
        q, k, v = (y.reshape(B, T, H, C // H).transpose(1, 2) for y in qkv.split(C, -1))
        a = causal_attention(q, k, v).transpose(1, 2).reshape(B, T, C)
        x = x + conv1d(a, h + "attn.c_proj")
        x = x + conv1d(gelu(conv1d(norm(x, h + "ln_2"), h + "mlp.c_fc")), h + "mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


# ---- Llama: rms norm, rope on halves, grouped heads, Linear weights [out,in], SwiGLU, untied ---------

L = dict(dim=16, heads=4, kv_heads=2, hidden=12, base=500, eps=1e-6)


def llama_shapes():
    C, M, K = L["dim"], L["hidden"], L["dim"] * L["kv_heads"] // L["heads"]
    s = {"model.embed_tokens.weight": ([VOCAB, C], C)}
    for i in range(LAYERS):
        h = f"model.layers.{i}."
        s[h + "input_layernorm.weight"] = ([C], 0)
        for name, n in ("q", C), ("k", K), ("v", K), ("o", C):
            s[f"{h}self_attn.{name}_proj.weight"] = ([n, C], C)
        s[h + "post_attention_layernorm.weight"] = ([C], 0)
        s[h + "mlp.gate_proj.weight"] = s[h + "mlp.up_proj.weight"] = ([M, C], C)
        s[h + "mlp.down_proj.weight"] = ([C, M], M)
    s["model.norm.weight"] = ([C], 0)
    s["lm_head.weight"] = ([VOCAB, C], C)
    return s


def rotate(x):
    """[B,H,T,D]: feature i and feature i + D/2 of row t are rotated by t base^(-2i/D)"""
    T, D = x.shape[-2:]
    angle = torch.outer(torch.arange(T).double(), L["base"] ** (-torch.arange(0, D, 2) / D))
    cos, sin = torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()
    return x * cos + torch.cat([-x[..., D // 2 :], x[..., : D // 2]], -1) * sin


def llama(w, ids):
    B, T = ids.shape
    H, KV = L["heads"], L["kv_heads"]

    def norm(x, name):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + L["eps"]) * w[name + ".weight"]

    def linear(x, name):
        return x @ w[name + ".weight"].T

    x = w["model.embed_tokens.weight"][ids]
    for i in range(LAYERS):
        h = f"model.layers.{i}."
        n = norm(x, h + "input_layernorm")
        q, k, v = (
            linear(n, f"{h}self_attn.{name}_proj").reshape(B, T, heads, -1).transpose(1, 2)
            for name, heads in (("q", H), ("k", KV), ("v", KV))
        )
        q, k = rotate(q), rotate(k)
        k, v = (y.repeat_interleave(H // KV, 1) for y in (k, v))
        a = causal_attention(q, k, v).transpose(1, 2).reshape(B, T, -1)
        x = x + linear(a, h + "self_attn.o_proj")
        n = norm(x, h + "post_attention_layernorm")
        gate = linear(n, h + "mlp.gate_proj")
        x = x + linear(gate * torch.sigmoid(gate) * linear(n, h + "mlp.up_proj"), h + "mlp.down_proj")
    return linear(norm(x, "model.norm"), "lm_head")


# ---- what is written ---------------------------------------------------------------------------------


def safetensors(tensors, dtype):
    header, data = {}, b""
    for name, x in tensors.items():
        bytes_of_x = x.detach().numpy().astype(dtype).tobytes()
        header[name] = {
            "dtype": {"<f4": "F32", "<f8": "F64"}[dtype],
            "shape": list(x.shape),
            "data_offsets": [len(data), len(data) + len(bytes_of_x)],
        }
        data += bytes_of_x
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def continue_greedily(model, w):
    ids, closest = list(PROMPT), torch.inf
    with torch.no_grad():
        for _ in range(STEPS):
            top = torch.topk(model(w, torch.tensor([ids]))[0, -1], 2)
            closest = min(closest, (top.values[0] - top.values[1]).item())
            ids.append(top.indices[0].item())
    return ids[len(PROMPT) :], closest


def array(kind, name, values):
    print(f"static const {kind} {name}[] = {{", file=out)
    for i in range(0, len(values), 5):
        print("    " + ", ".join(repr(v) for v in values[i : i + 5]) + ",", file=out)
    print("};", file=out)


def write_model(name, model, shapes):
    for seed in range(1, 1000):  # the first whose choices are clear, and that does not go in circles
        w = draw(shapes, seed)
        ids, closest = continue_greedily(model, w)
        if closest >= MARGIN and len({tuple(ids[i : i + 3]) for i in range(STEPS - 2)}) > STEPS // 2:
            break
    else:
        sys.exit(f"{name}: no seed will do")
    y = model(w, torch.tensor(IDS))
    F.cross_entropy(y.flatten(0, 1), torch.tensor(TARGETS).flatten()).backward()
    files[f"{name}.safetensors"] = safetensors(w, "<f4")
    files[f"{name}_grads.safetensors"] = safetensors({k: x.grad for k, x in w.items()}, "<f8")
    array("double", f"{name}_logits", y.flatten().tolist())
    array("int32_t", f"{name}_greedy", ids)
    print(f"{name}: seed {seed}, runner-up {closest:.4f} behind, {sum(x.numel() for x in w.values())}",
          "parameters, PyTorch", torch.__version__, file=sys.stderr)


out = io.StringIO()
files = {}
print("/* models.inc -- written by models.py with PyTorch; do not edit. */", file=out)
print("/* clang-format off */", file=out)
array("int32_t", "model_ids", [i for row in IDS for i in row])
array("int32_t", "model_targets", [i for row in TARGETS for i in row])
array("int32_t", "model_prompt", PROMPT)
write_model("gpt2", gpt2, gpt2_shapes())
write_model("llama", llama, llama_shapes())
whole.write(files | {"models.inc": out.getvalue()})
