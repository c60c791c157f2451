#!/usr/bin/python3
"""Golden numbers for products, reductions and changes of shape, written to products.inc:
python3 tests/golden/products.py

Forward values are NumPy's.  Gradients come from no formula: dx = J^T dy is taken by complex steps,
d f(x)/dx_i = Im f(x + ih e_i) / h with h = 1e-200, exact to the last digit (Squire, Trapp 1998).
"""
import io
import numpy as np
import whole

out = io.StringIO()
out.write("/* Written by tests/golden/products.py. */\n")


def emit(name, values):
    text = [repr(float(v)) for v in np.asarray(values).reshape(-1)]
    lines = [", ".join(text[i : i + 5]) for i in range(0, len(text), 5)]
    out.write("static const double %s[] = {\n    %s};\n" % (name, ",\n    ".join(lines)))


def series(shape, shift):
    """Numbers without pattern that anybody can make again."""
    n = int(np.prod(shape))
    return np.sin(shift + 1.7 * np.arange(n) ** 1.3).reshape(shape)


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


def golden(name, f, letters, shapes):
    inputs = [series(s, 0.3 + i) for i, s in enumerate(shapes)]
    y = f(*inputs)
    dy = series(y.shape, 2.1)
    for of, x in zip(letters, inputs):
        emit("%s_%s" % (name, of), x)
    emit(name + "_y", y)
    emit(name + "_dy", dy)
    for k, of in enumerate(letters):
        emit("%s_d%s" % (name, of), vjp(f, inputs, k, dy))


def t(x):
    return np.swapaxes(x, -1, -2)


golden("batch", lambda A, B: A @ B, "AB", [(2, 3, 4), (2, 4, 2)])
golden("weights", lambda A, B: A @ B, "AB", [(2, 3, 4), (4, 2)])
golden("both", lambda A, B: A @ B, "AB", [(2, 1, 3, 2), (3, 2, 2)])
golden("flipped", lambda A, B: t(A) @ t(B), "AB", [(2, 1, 4, 3), (2, 2, 4)])

golden("sum02", lambda x: x.sum(axis=(0, 2)), "x", [(2, 3, 4)])
golden("mean1", lambda x: x.mean(axis=1), "x", [(2, 3, 4)])


def chosen_max(x, axes):
    """The maximum by the real parts, so that a complex step follows the number that is largest."""
    at = x.real == x.real.max(axis=axes, keepdims=True)
    return np.where(at, x, 0).sum(axis=axes)


golden("max02", lambda x: chosen_max(x, (0, 2)), "x", [(2, 3, 4)])

golden("permute", lambda x: np.transpose(x, (2, 0, 3, 1)), "x", [(2, 3, 2, 2)])
golden("concat", lambda a, b: np.concatenate([a, b, a], axis=1), "ab", [(2, 2, 2), (2, 1, 2)])
golden("stack", lambda a, b: np.stack([a, b, a], axis=1), "ab", [(2, 3), (2, 3)])
golden("slice", lambda x: x[:, 1:-1], "x", [(2, 5, 2)])
golden("embedding", lambda x: x[np.array([[2, 0, 2], [4, 2, 1]])], "x", [(5, 3)])
whole.write({"products.inc": out.getvalue()})
