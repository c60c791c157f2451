#!/usr/bin/python3
"""Golden numbers for the ops on rows, written to rows.inc:  python3 tests/golden/rows.py

Forward values follow the textbook formulas in plain NumPy.  Gradients come from none: dx = J^T dy is
taken by complex steps, d f(x)/dx_i = Im f(x + ih e_i) / h with h = 1e-200, which is exact to the last
digit and knows nothing about softmax Jacobians (Squire, Trapp 1998).
"""
import io
import numpy as np
import whole

out = io.StringIO()
out.write("/* Written by tests/golden/rows.py. */\n")


def emit(name, values):
    text = [repr(float(v)) for v in np.asarray(values).reshape(-1)]
    lines = [", ".join(text[i : i + 5]) for i in range(0, len(text), 5)]
    out.write("static const double %s[] = {\n    %s};\n" % (name, ",\n    ".join(lines)))


def series(shape, scale, shift):
    """Numbers without pattern that anybody can make again."""
    n = int(np.prod(shape))
    return (scale * np.sin(shift + 1.7 * np.arange(n) ** 1.3)).reshape(shape)


def vjp(f, inputs, k, dy):
    """sum_j dy_j df_j/dx_i for every element i of inputs[k]"""
    x = inputs[k]
    dx = np.zeros(x.size)
    for i in range(x.size):
        z = x.astype(complex).reshape(-1)
        z[i] += 1e-200j
        moved = list(inputs)
        moved[k] = z.reshape(x.shape)
        dx[i] = np.sum(dy * f(*moved).imag) / 1e-200
    return dx


def golden(name, f, names, inputs, dy):
    emit(name + "_y", f(*inputs).real)
    for k, of in enumerate(names):
        emit("%s_d%s" % (name, of), vjp(f, inputs, k, dy))


def softmax(x, axis):
    e = np.exp(x - np.max(x.real, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x, axis):
    return np.log(softmax(x, axis))


x = series((2, 3, 5), 2.0, 0.3)
dy = series((2, 3, 5), 1.0, 2.1)
emit("golden_x", x)
emit("golden_dy", dy)
for axis in range(3):
    golden("softmax%d" % axis, lambda x: softmax(x, axis), ["x"], [x], dy)
    golden("log_softmax%d" % axis, lambda x: log_softmax(x, axis), ["x"], [x], dy)

# one target per row; class 2 is ignored in ce_ignore2
target = [4, 0, 2, 2, 3, 1]


def cross_entropy(x, kept, mean):
    rows = log_softmax(x, -1).reshape(6, 5)
    loss = -sum(rows[i, target[i]] for i in kept)
    return loss / len(kept) if mean else loss


golden("ce_mean", lambda x: cross_entropy(x, range(6), True), ["x"], [x], 1.5)
golden("ce_sum", lambda x: cross_entropy(x, range(6), False), ["x"], [x], 1.5)
golden("ce_ignore2", lambda x: cross_entropy(x, [0, 1, 4, 5], True), ["x"], [x], 1.5)

# Weights of classes (PyTorch's formulas): loss_i = -sum_j w_j q_ij log p_ij, q smoothed; a mean divides by the sum of
# w_(target_i) over the rows that are kept, for probabilities by the number of rows.  All reductions (mean, sum, none) of
# each kind, one behind the other.
weights = np.array([0.5, 2.0, 0.75, 1.25, 3.0])
probabilities = softmax(series((2, 3, 5), 1.5, 1.1), -1)
dloss = np.array([1.5, -0.5, 1.0, 0.25, 2.0, -1.25])


def weighted(x, q, e, kept, reduction, divisor):
    rows = -np.sum(weights * ((1 - e) * q + e / 5) * log_softmax(x, -1), axis=-1).reshape(6)
    rows = rows * np.array([i in kept for i in range(6)])
    return {"mean": np.sum(rows) / divisor, "sum": np.sum(rows), "none": rows}[reduction]


def all_weighted(q, kept, divisor, name, inputs):
    y, dx = [], [[] for i in inputs]
    for e in 0.0, 0.2:
        for reduction in "mean", "sum", "none":
            f = lambda x, q: weighted(x, q, e, kept, reduction, divisor)
            y.append(np.reshape(f(x, q), -1))
            for k, of in enumerate(inputs):
                dx[k].append(vjp(f, [x, q], k, dloss if reduction == "none" else 1.5))
    emit(name + "_y", np.concatenate(y))
    for k, of in enumerate(inputs):
        emit("%s_d%s" % (name, of), np.concatenate(dx[k]))


one_hot = np.eye(5)[target].reshape(2, 3, 5)
emit("golden_weights", weights)
emit("golden_probabilities", probabilities)
emit("golden_dloss", dloss)
all_weighted(one_hot, range(6), sum(weights[c] for c in target), "ce_weights", ["x"])
all_weighted(one_hot, [0, 1, 4, 5], sum(weights[c] for c in target if c != 2), "ce_weights_ignore2", ["x"])
all_weighted(probabilities, range(6), 6, "ce_weights_soft", ["x", "q"])

# binary cross-entropy of x, with probabilities for targets: weights * -(positive z log s + (1 - z) log(1 - s)); the
# weights are absent or there, [5] for positive answers, [2,3,1] for elements
element_weights = np.array([1.0, 0.0, 2.5, 0.5, 1.5, 3.0]).reshape(2, 3, 1)
emit("golden_element_weights", element_weights)
bce_y, bce_dx, bce_dq = [], [], []
for positive in np.ones(5), weights:
    for each in np.ones((2, 3, 1)), element_weights:
        for reduction in np.mean, np.sum, lambda l: l:

            def bce(x, z):
                s = 1 / (1 + np.exp(-x))
                return reduction(-each * (positive * z * np.log(s) + (1 - z) * np.log(1 - s)))

            d = dy if np.size(bce(x, probabilities)) > 1 else 1.5
            bce_y.append(np.reshape(bce(x, probabilities), -1))
            bce_dx.append(vjp(bce, [x, probabilities], 0, d))
            bce_dq.append(vjp(bce, [x, probabilities], 1, d))
emit("bce_y", np.concatenate(bce_y))
emit("bce_dx", np.concatenate(bce_dx))
emit("bce_dq", np.concatenate(bce_dq))

gamma, beta = series((5,), 1.0, 0.9) + 1.2, series((5,), 0.5, 3.3)
emit("golden_gamma", gamma)
emit("golden_beta", beta)


def layer_norm(x, gamma, beta):
    d = x - np.mean(x, axis=-1, keepdims=True)
    return d / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + 0.01) * gamma + beta


def rms_norm(x, gamma):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 0.01) * gamma


golden("layer_norm", layer_norm, ["x", "gamma", "beta"], [x, gamma, beta], dy)
golden("layer_norm_plain", lambda x: layer_norm(x, 1, 0), ["x"], [x], dy)
golden("rms_norm", rms_norm, ["x", "gamma"], [x, gamma], dy)
golden("rms_norm_plain", lambda x: rms_norm(x, 1), ["x"], [x], dy)


def rope(x, base, offset, R, half_split):
    """As complex multiplication of u + jv, written with real parts so that complex steps pass."""
    y = x.copy()
    for p in range(x.shape[-2]):
        for i in range(R // 2):
            a = (p + offset) * base ** (-2.0 * i / R)
            u, v = (i, i + R // 2) if half_split else (2 * i, 2 * i + 1)
            y[..., p, u] = x[..., p, u] * np.cos(a) - x[..., p, v] * np.sin(a)
            y[..., p, v] = x[..., p, u] * np.sin(a) + x[..., p, v] * np.cos(a)
    return y


q, dq = series((2, 3, 6), 1.0, 0.1), series((2, 3, 6), 1.0, 0.7)
emit("golden_q", q)
emit("golden_dq", dq)
golden("rope_pairs", lambda q: rope(q, 10000, 0, 6, False), ["q"], [q], dq)
golden("rope_halves", lambda q: rope(q, 10000, 0, 6, True), ["q"], [q], dq)
golden("rope_partial", lambda q: rope(q, 100, 37, 4, False), ["q"], [q], dq)
golden("rope_partial_halves", lambda q: rope(q, 100, 37, 4, True), ["q"], [q], dq)
whole.write({"rows.inc": out.getvalue()})
