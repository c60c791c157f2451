"""Functions with right and wrong gradients, in float32 and float64."""
import numpy as np


def weights(q, k):
    s = q @ k.T / np.sqrt(q.shape[1], dtype=q.dtype)
    p = np.exp(s - s.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def attention(q, k, v):
    return weights(q, k) @ v


def attention_vjp(do, q, k, v, dk_is=1):
    c, p = np.sqrt(q.shape[1], dtype=q.dtype), weights(q, k)
    dp = do @ v.T
    ds = p * (dp - (do * (p @ v)).sum(1, keepdims=True)) / c
    return ds @ k, ds.T @ q * q.dtype.type(dk_is), p.T @ do


def attention_vjp_with_dk_off(do, q, k, v):
    return attention_vjp(do, q, k, v, dk_is=1.01)


def attention_inputs(dtype):
    rng = np.random.default_rng(1)
    shapes = dict(q=(3, 5), k=(4, 5), v=(4, 7))
    return {name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}
