"""microgpt.py -- examples/microgpt.c once more, in plain Python: numbers one at a time, no library.

    python3 course/microgpt.py                                    1000 names, some minutes
    python3 course/microgpt.py --steps 20 --start w.safetensors   the first weights of the C program

A Value is a number that remembers what it was made of, and by which derivatives: `backward` walks
from the loss to the weights, and adds up along all ways that lead there.  The model, the names and
the optimizer are those of examples/microgpt.c, where `--save w.safetensors` writes the first
weights; begun with these, the losses agree in all digits that are printed.
"""
import argparse
import json
import math
import random
import struct

LETTERS, WIDTH, HEADS, CONTEXT = 27, 16, 4, 16
SHAPES = {"wte": (LETTERS, WIDTH), "wpe": (CONTEXT, WIDTH), "Wq": (WIDTH, WIDTH), "Wk": (WIDTH, WIDTH),
          "Wv": (WIDTH, WIDTH), "Wo": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH),
          "head": (WIDTH, LETTERS)}


# ---- numbers that can be differentiated

class Value:
    __slots__ = ("x", "grad", "inputs", "slopes")

    def __init__(self, x, inputs=(), slopes=()):
        self.x, self.grad, self.inputs, self.slopes = x, 0.0, inputs, slopes

    def __add__(self, other):
        return Value(self.x + other.x, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.x * other.x, (self, other), (other.x, self.x))

    def times(self, c):
        return Value(self.x * c, (self,), (c,))

    def power(self, p):
        return Value(self.x**p, (self,), (p * self.x ** (p - 1),))

    def exp(self):
        y = math.exp(self.x)
        return Value(y, (self,), (y,))

    def log(self):
        return Value(math.log(self.x), (self,), (1 / self.x,))

    def relu(self):
        return Value(max(self.x, 0.0), (self,), (float(self.x > 0),))

    def backward(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:  # an order in which inputs come before what is made of them
            v, ready = stack.pop()
            if ready:
                order.append(v)
            elif v not in seen:
                seen.add(v)
                stack.append((v, True))
                stack.extend((u, False) for u in v.inputs)
        self.grad = 1.0
        for v in reversed(order):
            for u, slope in zip(v.inputs, v.slopes):
                u.grad += slope * v.grad


def total(values):
    values = list(values)
    return Value(math.fsum(v.x for v in values), tuple(values), (1.0,) * len(values))


# ---- the model

def norm(x):
    scale = (total(v * v for v in x).times(1 / len(x)) + Value(1e-5)).power(-0.5)
    return [v * scale for v in x]


def times(x, W):
    return [total(v * row[j] for v, row in zip(x, W)) for j in range(len(W[0]))]


def add(x, y):
    return [a + b for a, b in zip(x, y)]


def softmax(scores):
    largest = max(s.x for s in scores)
    e = [(s + Value(-largest)).exp() for s in scores]
    whole = total(e).power(-1.0)
    return [v * whole for v in e]


def logits(W, letter, position, keys, values):
    """What comes behind this letter; keys and values are those of the letters before, and get its own."""
    x = norm(add(W["wte"][letter], W["wpe"][position]))
    n = norm(x)
    q = times(n, W["Wq"])
    keys.append(times(n, W["Wk"]))
    values.append(times(n, W["Wv"]))
    size, o = WIDTH // HEADS, []
    for h in range(0, WIDTH, size):
        scores = [total(q[i] * k[i] for i in range(h, h + size)).times(size**-0.5) for k in keys]
        p = softmax(scores)
        o += [total(w * v[i] for w, v in zip(p, values)) for i in range(h, h + size)]
    x = add(x, times(o, W["Wo"]))
    hidden = [v.relu() for v in times(norm(x), W["up"])]
    return times(add(x, times(hidden, W["down"])), W["head"])


def loss(W, name):
    ids = [0] + [ord(c) - ord("a") + 1 for c in name] + [0]
    keys, values, parts = [], [], []
    for i, (letter, following) in enumerate(zip(ids, ids[1:])):
        parts.append(softmax(logits(W, letter, i, keys, values))[following].log())
    return total(parts).times(-1 / len(parts))


# ---- names, weights, Adam

def made_up_name(i):
    """The rule of examples/common/names.c."""
    state = (i + 1) * 2654435761 % 2**32

    def draw(n):
        nonlocal state
        state = (state * 1664525 + 1013904223) % 2**32
        u = state >> 16
        return (u * u >> 16) * n >> 16

    onset = "m l  k d b r s t j n h g v f c p br ch th z w".split(" ")
    vowel = "a e i o u ai ea y".split()
    ending = "na n lia rin s ra la ron ne den ta lyn ric sha lle vin zo mir x beth".split()
    name = ""
    for _ in range(1 + (draw(100) > 30)):
        name += onset[draw(len(onset))] + vowel[draw(len(vowel))]
    return name + ending[draw(len(ending))]


def first_weights(path):
    """Those of a file that `microgpt --save` has written; without one, random ones."""
    if not path:
        return {name: [[Value(random.gauss(0, 0.08)) for _ in range(cols)] for _ in range(rows)]
                for name, (rows, cols) in SHAPES.items()}
    with open(path, "rb") as f:
        data = f.read()
    begin = 8 + struct.unpack("<Q", data[:8])[0]  # a length, a header in JSON, then nothing but numbers
    header, W = json.loads(data[8:begin]), {}
    for name, (rows, cols) in SHAPES.items():
        entry = header[name]
        assert entry["dtype"] == "F64" and entry["shape"] == [rows, cols], (name, entry)
        x = struct.unpack_from("<%dd" % (rows * cols), data, begin + entry["data_offsets"][0])
        W[name] = [[Value(v) for v in x[i * cols:(i + 1) * cols]] for i in range(rows)]
    return W


def train(W, steps, of, every):
    weights = [v for matrix in W.values() for row in matrix for v in row]
    m, v = [0.0] * len(weights), [0.0] * len(weights)
    for step in range(steps):
        nats = loss(W, made_up_name(step))
        nats.backward()
        lr = 0.01 * (1 - step / of)
        for i, w in enumerate(weights):
            m[i] = 0.85 * m[i] + 0.15 * w.grad
            v[i] = 0.99 * v[i] + 0.01 * w.grad**2
            w.x -= lr * (m[i] / (1 - 0.85 ** (step + 1))) / (math.sqrt(v[i] / (1 - 0.99 ** (step + 1))) + 1e-8)
            w.grad = 0.0
        if step == 0 or (step + 1) % every == 0:
            print("step %4d   loss %.8f" % (step + 1, nats.x), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The smallest GPT, in plain Python.")
    parser.add_argument("--steps", type=int, default=1000, help="names to learn from, one a step")
    parser.add_argument("--of", type=int, default=1000, help="the step at which the learning rate is 0")
    parser.add_argument("--every", type=int, default=100, help="steps from one loss to the next")
    parser.add_argument("--start", default="", help="first weights, written by microgpt --save")
    args = parser.parse_args()
    train(first_weights(args.start), args.steps, args.of, args.every)
