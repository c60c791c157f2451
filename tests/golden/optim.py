#!/usr/bin/python3
"""Golden numbers for the optimizers, written to optim.inc:  python3 tests/golden/optim.py

Two parameters, "W" [2,3] and "b" [3], make seven steps with gradients that anybody can make again;
at the third step b gets none.  The update rules follow PyTorch's documentation in plain NumPy.  Where
PyTorch is installed it is asked as well, and must agree to 1e-13.
"""
import io
import numpy as np
import whole

try:
    import torch
except ImportError:
    torch = None

STEPS = 7
start = {"W": np.sin(1.0 + np.arange(6.0)).reshape(2, 3), "b": np.cos(np.arange(3.0))}


def gradient(name, step):
    w = start[name]
    if name == "b" and step == 2:
        return None
    shift = 5.0 if name == "W" else 9.0
    return (2.0 ** (step % 3) * np.sin(shift + 1.3 * step + 0.7 * np.arange(w.size))).reshape(w.shape)


def sgd(w, lr, mu=0.0, nesterov=False, decay=0.0):
    """w after each of the steps"""
    m = np.zeros_like(w)
    while True:
        g = yield w
        if g is None:
            continue
        g = g + decay * w
        m = mu * m + g
        w = w - lr * (g + mu * m if nesterov else m)


def adam(w, lr, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.0, decoupled=True):
    m, v, k = np.zeros_like(w), np.zeros_like(w), 0
    while True:
        g = yield w
        if g is None:
            continue
        k += 1
        if decoupled:
            w = w * (1 - lr * decay)
        else:
            g = g + decay * w
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        w = w - lr * (m / (1 - beta1**k)) / (np.sqrt(v / (1 - beta2**k)) + eps)


def rmsprop(w, lr, alpha=0.99, eps=1e-8, mu=0.0, decay=0.0):
    v, m = np.zeros_like(w), np.zeros_like(w)
    while True:
        g = yield w
        if g is None:
            continue
        g = g + decay * w
        v = alpha * v + (1 - alpha) * g * g
        m = mu * m + g / (np.sqrt(v) + eps)
        w = w - lr * m


def lion(w, lr, beta1=0.9, beta2=0.99, decay=0.0):
    """Chen et al. 2023, algorithm 2"""
    m = np.zeros_like(w)
    while True:
        g = yield w
        if g is None:
            continue
        c = beta1 * m + (1 - beta1) * g
        assert np.all(np.abs(c) > 1e-4)  # the sign is the same in f32
        w = w - lr * (np.sign(c) + decay * w)
        m = beta2 * m + (1 - beta2) * g


def muon(w, lr, mu=0.95, decay=0.0, steps=5):
    """Jordan et al. 2024; w [in, out]"""
    m = np.zeros_like(w)
    while True:
        g = yield w
        if g is None:
            continue
        m = mu * m + g
        x = g + mu * m
        x = x / (np.linalg.norm(x) + 1e-7)
        for _ in range(steps):
            gram = x @ x.T
            x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
        w = w * (1 - lr * decay) - lr * max(1, w.shape[1] / w.shape[0]) ** 0.5 * x


def run(rule, **options):
    end = []
    for name, w in start.items():
        steps = rule(w, **options)
        next(steps)
        for step in range(STEPS):
            w = steps.send(gradient(name, step))
        end.append(w.reshape(-1))
    return np.concatenate(end)


def run_torch(make):
    parameters = {k: torch.tensor(w, requires_grad=True) for k, w in start.items()}
    optimizer = make(list(parameters.values()))
    for step in range(STEPS):
        for name, p in parameters.items():
            g = gradient(name, step)
            p.grad = None if g is None else torch.tensor(g)
        optimizer.step()
    return np.concatenate([p.detach().numpy().reshape(-1) for p in parameters.values()])


cases = [
    ("sgd", sgd, dict(lr=0.1), lambda p: torch.optim.SGD(p, 0.1)),
    ("sgd_decay", sgd, dict(lr=0.1, decay=0.3), lambda p: torch.optim.SGD(p, 0.1, weight_decay=0.3)),
    ("momentum", sgd, dict(lr=0.1, mu=0.9), lambda p: torch.optim.SGD(p, 0.1, 0.9)),
    ("nesterov", sgd, dict(lr=0.1, mu=0.9, nesterov=True, decay=0.3),
     lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.3, nesterov=True)),
    ("adam", adam, dict(lr=0.1, decoupled=False), lambda p: torch.optim.Adam(p, 0.1)),
    ("adam_decay", adam, dict(lr=0.1, decay=0.3, decoupled=False),
     lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.3)),
    ("adamw", adam, dict(lr=0.1, decay=0.3), lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.3)),
    ("adamw_betas", adam, dict(lr=0.1, beta1=0.8, beta2=0.95, eps=0.01, decay=0.3),
     lambda p: torch.optim.AdamW(p, 0.1, (0.8, 0.95), 0.01, 0.3)),
    ("rmsprop", rmsprop, dict(lr=0.1), lambda p: torch.optim.RMSprop(p, 0.1)),
    ("rmsprop_momentum", rmsprop, dict(lr=0.1, alpha=0.9, eps=0.01, mu=0.8, decay=0.3),
     lambda p: torch.optim.RMSprop(p, 0.1, 0.9, 0.01, 0.3, 0.8)),
    ("lion", lion, dict(lr=0.1), None),
    ("lion_decay", lion, dict(lr=0.1, beta1=0.8, beta2=0.95, decay=0.3), None),
]

out = io.StringIO()
out.write("/* Written by tests/golden/optim.py. */\n")

def emit(name, values):
    text = [repr(float(v)) for v in values]
    lines = [", ".join(text[i : i + 5]) for i in range(0, len(text), 5)]
    out.write("static const double %s[] = {\n    %s};\n" % (name, ",\n    ".join(lines)))

emit("start_W", start["W"].reshape(-1))
emit("start_b", start["b"])
for name, rule, options, make in cases:
    w = run(rule, **options)
    if torch and make:
        worst = np.max(np.abs(w - run_torch(make)))
        print("%-12s agrees with PyTorch to %.0e" % (name, worst))
        assert worst < 1e-13, name
    emit("golden_" + name, w)

def run_muon(shape, **options):
    """W's numbers in another shape"""
    steps = muon(start["W"].reshape(shape), **options)
    w = next(steps)
    for step in range(STEPS):
        w = steps.send(gradient("W", step).reshape(shape))
    return w.reshape(-1)


emit("golden_muon", run_muon((2, 3), lr=0.1, decay=0.2))
emit("golden_muon_tall", run_muon((3, 2), lr=0.1, mu=0.8, decay=0.3))
emit("golden_muon_steps", run_muon((3, 2), lr=0.1, steps=2))
norm = np.sqrt(sum(np.sum(gradient(k, 1) ** 2) for k in start))
emit("golden_norm", [norm])
whole.write({"optim.inc": out.getvalue()})
