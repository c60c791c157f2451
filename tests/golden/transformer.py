#!/usr/bin/env python3
"""A tiny transformer in PyTorch, in float64: what attic's must give.

    python3 tests/golden/transformer.py

The model of src/train/model.h, written with PyTorch's own functions: its attention, its layer norm,
its autograd, its clipping and AdamW.  Rotary positions rotate complex numbers.  The parameters follow
from a whole-number formula, so that both sides start with the same bits, in f32 too.

One difference is known and taken out below: clip_grad_norm_ multiplies by max / (norm + 1e-6), attic by
max / norm.
"""
import io
import sys

import torch
from torch.nn import functional as F
import whole

torch.set_default_dtype(torch.float64)
out = io.StringIO()

VOCAB, CONTEXT, LAYERS, HEADS, DIM, HIDDEN = 7, 5, 2, 2, 8, 12
IDS = [[3, 1, 4, 1, 5], [2, 6, 5, 3, 0]]
TARGETS = [[1, 4, 1, 5, 6], [6, 5, 3, 0, 2]]
STEPS, MAX_NORM = 3, 0.5
ADAMW = dict(lr=0.01, betas=(0.9, 0.95), eps=1e-6, weight_decay=0.1)


def shapes(learned):
    """name -> shape, in the order in which they are made"""
    s = {"E": [VOCAB, DIM]}
    if learned:
        s["P"] = [CONTEXT, DIM]
    for i in range(LAYERS):
        s[f"block{i}.norm1.g"] = s[f"block{i}.norm1.b"] = [DIM]
        for w in "qkvo":
            s[f"block{i}.attention.{w}.W"] = [DIM, DIM]
        s[f"block{i}.norm2.g"] = s[f"block{i}.norm2.b"] = [DIM]
        s[f"block{i}.up.W"], s[f"block{i}.up.b"] = [DIM, HIDDEN], [HIDDEN]
        s[f"block{i}.down.W"], s[f"block{i}.down.b"] = [HIDDEN, DIM], [DIM]
    s["norm.g"] = s["norm.b"] = [DIM]
    return s


def number(n):
    """The n-th number of all parameters together: a multiple of 1/256, within 1/2."""
    return ((n * n + 3 * n) * 37 % 251 - 125) / 256


def make_parameters(learned):
    p, n = {}, 0
    for name, shape in shapes(learned).items():
        w = torch.tensor([number(n + i) for i in range(torch.Size(shape).numel())]).reshape(shape)
        n += w.numel()
        p[name] = (w + 1 if name.endswith(".g") else w).requires_grad_()
    return p


def rope(x):
    """x [B,H,T,D]: the pair (2i, 2i+1) of row t is a complex number, times exp(i t 10000^(-2i/D))"""
    T, D = x.shape[-2:]
    angle = torch.outer(torch.arange(T).double(), 10000.0 ** (-torch.arange(0, D, 2) / D))
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], D // 2, 2).contiguous())
    return torch.view_as_real(z * torch.polar(torch.ones_like(angle), angle)).reshape(x.shape)


def logits(p, ids, learned):
    def norm(x, name):
        return F.layer_norm(x, [DIM], p[name + ".g"], p[name + ".b"], eps=1e-5)

    def heads(x):
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    x = F.embedding(ids, p["E"])
    if learned:
        x = x + p["P"][: ids.shape[1]]
    for i in range(LAYERS):
        block = f"block{i}."
        n = norm(x, block + "norm1")
        q, k, v = (heads(n @ p[f"{block}attention.{w}.W"]) for w in "qkv")
        if not learned:
            q, k = rope(q), rope(k)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + o.transpose(1, 2).flatten(-2) @ p[block + "attention.o.W"]
        n = norm(x, block + "norm2")
        n = F.gelu(n @ p[block + "up.W"] + p[block + "up.b"])
        x = x + n @ p[block + "down.W"] + p[block + "down.b"]
    return norm(x, "norm") @ p["E"].T


def clip(parameters):
    norm = torch.nn.utils.clip_grad_norm_(parameters, MAX_NORM)
    assert norm > MAX_NORM, "nothing to clip"
    for w in parameters:
        w.grad *= (norm + 1e-6) / norm
    return norm


def flat(tensors):
    return torch.cat([x.detach().reshape(-1) for x in tensors]).tolist()


def array(name, values):
    print(f"static const double {name}[] = {{", file=out)
    for i in range(0, len(values), 5):
        print("    " + ", ".join(repr(v) for v in values[i : i + 5]) + ",", file=out)
    print("};", file=out)


def write_case(case, T, learned):
    p = make_parameters(learned)
    ids, targets = torch.tensor(IDS)[:, :T], torch.tensor(TARGETS)[:, :T]
    optimizer = torch.optim.AdamW(p.values(), **ADAMW)
    losses, norms = [], []
    for step in range(STEPS + 1):
        y = logits(p, ids, learned)
        loss = F.cross_entropy(y.flatten(0, 1), targets.flatten())
        losses.append(loss.item())
        if step == STEPS:
            break
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            first = y, [w.grad.clone() for w in p.values()]
        norms.append(clip(list(p.values())).item())
        optimizer.step()

    names = ", ".join(f'{{"{k}", "[{",".join(map(str, s))}]"}}' for k, s in shapes(learned).items())
    print(f"static const golden_name {case}_names[] = {{{names}}};", file=out)
    array(f"{case}_logits", flat([first[0]]))
    array(f"{case}_grads", flat(first[1]))
    array(f"{case}_losses", losses)
    array(f"{case}_norms", norms)
    array(f"{case}_after", flat(p.values()))


print("/* transformer.inc -- written by transformer.py with PyTorch; do not edit. */", file=out)
print("/* clang-format off */", file=out)
print("typedef struct {\n    const char *name, *shape;\n} golden_name;", file=out)
for name, rows in ("golden_ids", IDS), ("golden_targets", TARGETS):
    print(f"static const int32_t {name}[] = {{{', '.join(str(i) for row in rows for i in row)}}};", file=out)
write_case("rope", CONTEXT, learned=False)
write_case("learned", CONTEXT - 1, learned=True)
whole.write({"transformer.inc": out.getvalue()})
print("asked: PyTorch", torch.__version__, file=sys.stderr)
