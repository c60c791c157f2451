#!/usr/bin/env python3
"""sdpa.py -- numbers that attention must give, from a source that shares nothing with attic.

    python3 tests/golden/sdpa.py

The forward is the textbook formula in NumPy, whole matrices at once.  The gradients come from no
formula at all: with a step h = 1e-30 along the imaginary axis, imag(f(x + ih)) / h is the derivative of
f to the last digit (Squire, Trapp 1998), since nothing is subtracted.  The random numbers of dropout
come from a Philox4x32-10 written here from the paper.
"""
import io
import numpy as np
import whole

H_STEP = 1e-30
out = io.StringIO()


def philox(counter, key):
    """Salmon et al. 2011: ten rounds over four 32-bit words."""
    m0, m1, w0, w1, mask = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85, 0xFFFFFFFF
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = m0 * c[0], m1 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & mask, (p0 >> 32) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + w0) & mask, (k[1] + w1) & mask]
    return c


def drop_factors(seed, draw, p, shape):
    """0 with probability p, else 1/(1-p), for each cell in the order of memory."""
    n = int(np.prod(shape))
    words = [w for block in range((n + 3) // 4)
             for w in philox([block, 0, draw, 0], [seed, 0])]
    return np.where(np.array(words[:n]) >= p * 2.0**32, 1 / (1 - p), 0).reshape(shape)


def keep_mask(case):
    """[B,H,T,N], True where attended."""
    B, H, T, S = case["BHTS"]
    i, j = np.arange(T)[:, None], np.arange(S)[None, :]
    offset = {"equal": 0, "top_left": 0, "bottom_right": S - T}.get(case.get("align", "equal"))
    if offset is None:
        offset = case["offset"]
    keep = np.ones((B, H, T, S), bool)
    if case.get("causal"):
        keep &= j <= i + offset
    if case.get("window_left"):
        keep &= i + offset - case["window_left"] < j
    if case.get("window_right"):
        keep &= j < i + offset + case["window_right"]
    if "key_len" in case:
        keep &= j < np.array(case["key_len"])[:, None, None, None]
    if "keep" in case:
        keep &= case["keep"].reshape(case.get("keep_as", case["keep"].shape)).astype(bool)
    return keep


def heads(x, case, n):
    """Any layout -> [B,heads,rows,D]."""
    if case.get("heads"):
        x = x.reshape((case["BHTS"][0], -1, n, x.shape[-1] // n))
        return x.transpose(0, 2, 1, 3)
    return x.reshape((1,) * (4 - x.ndim) + x.shape) if x.ndim != 3 else x[:, None]


def attention(case, Q, K, V, bias):
    """O in the layout of Q, A and log-sum-exp as [B,H,T,N] and [B,H,T]."""
    B, H, T, S = case["BHTS"]
    G = case.get("G", H)
    q, k, v = heads(Q, case, H), heads(K, case, G), heads(V, case, G)
    k, v = np.repeat(k, H // G, 1), np.repeat(v, H // G, 1)
    c = case.get("scale", 1 / np.sqrt(q.shape[-1])) / case.get("temperature", 1)
    s = c * np.einsum("bhid,bhjd->bhij", q, k)
    if "softcap" in case:
        s = case["softcap"] * np.tanh(s / case["softcap"])
    if bias is not None:
        s = s + bias
    keep = keep_mask(case)
    if bias is not None:
        keep = keep & (np.broadcast_to(bias, keep.shape).real > -np.inf)
    m = np.where(keep, s.real, -np.inf).max(-1, keepdims=True, initial=-np.inf)
    m = np.where(np.isinf(m), 0, m)
    e = np.where(keep, np.exp(np.where(keep, s, 0) - m), 0)
    l = e.sum(-1, keepdims=True)
    P = e / np.where(l == 0, 1, l)
    with np.errstate(divide="ignore"):
        lse = np.where(l == 0, -np.inf, (m + np.log(l)).real)[..., 0]
    A = P
    if "dropout" in case:
        A = P * drop_factors(case["seed"], case["draw"], case["dropout"], P.shape)
    O = np.einsum("bhij,bhjd->bhid", A, v)
    if case.get("heads"):
        O = O.transpose(0, 2, 1, 3)
    return O.reshape(Q.shape[:-1] + (-1,)), A, lse


def gradients(case, inputs, dO, dW):
    """d(sum dO O + sum dW A)/d(every element of every input), one imaginary step each."""
    grads = []
    for which, x in enumerate(inputs):
        if x is None:
            grads.append(None)
            continue
        g = np.zeros(x.shape)
        for index in np.ndindex(x.shape):
            if np.isinf(x[index]):
                continue
            stepped = [None if y is None else y.astype(complex) for y in inputs]
            stepped[which][index] += 1j * H_STEP
            O, A, _ = attention(case, *stepped)
            g[index] = ((dO * O).sum() + (dW * A).sum()).imag / H_STEP
        grads.append(g)
    return grads


def c_numbers(x):
    return ", ".join({"inf": "(double)INFINITY", "-inf": "-(double)INFINITY"}.get(repr(float(v)), repr(float(v)))
                     for v in np.ravel(x)) or "0"


def c_shape(shape):
    return "{%d, {%s}}" % (len(shape), ", ".join(map(str, shape)))


def c_args(case):
    names = {"scale": "%r", "temperature": "%r", "softcap": "%r", "causal": "true", "offset": "%d",
             "window_left": "%d", "window_right": "%d", "heads": "%d", "dropout": "%r"}
    parts = [".%s = %s" % (k, f % case[k] if "%" in f else f) for k, f in names.items() if case.get(k)]
    if case.get("heads") and "G" in case:
        parts.append(".kv_heads = %d" % case["G"])
    if "align" in case:
        parts.append(".align = ATTIC_ALIGN_" + case["align"].upper())
    return "{" + ", ".join(parts) + "}" if parts else "{0}"


def emit(number, case):
    rng = np.random.default_rng(number + 1)
    # three digits are enough, and keep the file readable
    make = lambda shape: np.round(rng.standard_normal(shape), 3)
    Q, K, V = make(case["Q"]), make(case["K"]), make(case["V"])
    bias = make(case["bias"]) if "bias" in case else None
    if bias is not None and case.get("bias_inf"):
        bias.flat[:: case["bias_inf"]] = -np.inf
    O, A, lse = attention(case, Q, K, V, bias)
    dO, dW = make(O.shape), make(A.shape)
    dQ, dK, dV, dbias = gradients(case, [Q, K, V, bias], dO, dW)
    name = "sdpa_golden_%d" % number
    arrays = {"Q": Q, "K": K, "V": V, "bias": bias, "O": O, "A": A, "lse": lse, "dO": dO, "dW": dW,
              "dQ": dQ, "dK": dK, "dV": dV, "dbias": dbias}
    for key, x in arrays.items():
        if x is not None:
            print("static const double %s_%s[] = {%s};" % (name, key, c_numbers(x)), file=out)
    fields = [".%s = %s_%s" % (key, name, key) for key, x in arrays.items() if x is not None]
    for key in ("keep", "key_len"):
        if key in case:
            kind = "bool" if key == "keep" else "int32_t"
            print("static const %s %s_%s[] = {%s};"
                  % (kind, name, key, ", ".join(str(int(v)) for v in np.ravel(case[key]))), file=out)
            fields.append(".%s = %s_%s" % (key, name, key))
            fields.append(".%s_shape = %s" % (key, c_shape(np.shape(case[key]))))
    if bias is not None:
        fields.append(".bias_shape = %s" % c_shape(bias.shape))
    fields += [".Q_shape = %s" % c_shape(Q.shape), ".K_shape = %s" % c_shape(K.shape),
               ".V_shape = %s" % c_shape(V.shape), ".args = %s" % c_args(case),
               '.name = "%s"' % case["name"]]
    if "seed" in case:
        fields.append(".seed = %d" % case["seed"])
    return "{" + ", ".join(fields) + "}"


def bits(text):
    """Rows of 1 and 0, separated by blanks."""
    return np.array([[int(c) for c in row] for row in text.split()])


CASES = [
    dict(name="two dimensions, T != S, Dv != D", BHTS=(1, 1, 3, 4), Q=(3, 2), K=(4, 2), V=(4, 3)),
    dict(name="batches, causal", BHTS=(2, 1, 3, 3), Q=(2, 3, 2), K=(2, 3, 2), V=(2, 3, 2), causal=1),
    dict(name="heads, scale and temperature", BHTS=(1, 2, 2, 3), Q=(1, 2, 2, 3), K=(1, 2, 3, 3),
         V=(1, 2, 3, 2), scale=0.7, temperature=1.3),
    dict(name="causal, bottom right, T < S", BHTS=(1, 1, 2, 4), Q=(2, 3), K=(4, 3), V=(4, 2),
         causal=1, align="bottom_right"),
    dict(name="causal, bottom right, T > S: empty rows", BHTS=(1, 1, 4, 2), Q=(4, 3), K=(2, 3),
         V=(2, 2), causal=1, align="bottom_right"),
    dict(name="causal, top left, T < S", BHTS=(1, 1, 3, 4), Q=(3, 2), K=(4, 2), V=(4, 2), causal=1,
         align="top_left"),
    dict(name="causal, offset 1", BHTS=(1, 1, 3, 4), Q=(3, 2), K=(4, 2), V=(4, 2), causal=1,
         align="offset", offset=1),
    dict(name="keep, one empty row", BHTS=(1, 1, 3, 4), Q=(3, 2), K=(4, 2), V=(4, 2),
         keep=bits("1011 0000 0110")),
    dict(name="keep [B,1,T,N] beside heads, causal", BHTS=(2, 2, 2, 2), Q=(2, 2, 2, 2),
         K=(2, 2, 2, 2), V=(2, 2, 2, 2), causal=1, keep=bits("11 01 10 11").reshape(2, 1, 2, 2)),
    dict(name="keep [B,T,N] without heads", BHTS=(2, 1, 2, 3), Q=(2, 2, 2), K=(2, 3, 2), V=(2, 3, 2),
         keep=bits("110 011 101 100").reshape(2, 2, 3), keep_as=(2, 1, 2, 3)),
    dict(name="bias [T,N] over batches and heads", BHTS=(2, 2, 2, 2), Q=(2, 2, 2, 2), K=(2, 2, 2, 2),
         V=(2, 2, 2, 2), bias=(2, 2)),
    dict(name="bias [H,1,N] by heads, some -inf", BHTS=(1, 2, 3, 4), Q=(1, 2, 3, 2), K=(1, 2, 4, 2),
         V=(1, 2, 4, 2), bias=(1, 2, 1, 4), bias_inf=3),
    dict(name="packed, 2 heads", BHTS=(2, 2, 3, 4), Q=(2, 3, 4), K=(2, 4, 4), V=(2, 4, 6), heads=2),
    dict(name="packed, 4 heads on 2", BHTS=(1, 4, 2, 3), Q=(1, 2, 8), K=(1, 3, 4), V=(1, 3, 6),
         heads=4, G=2),
    dict(name="packed without batches", BHTS=(1, 2, 3, 3), Q=(3, 4), K=(3, 4), V=(3, 4), heads=2,
         causal=1),
    dict(name="4 heads on 2", BHTS=(1, 4, 2, 3), Q=(1, 4, 2, 2), K=(1, 2, 3, 2), V=(1, 2, 3, 2), G=2),
    dict(name="softcap, bias", BHTS=(1, 1, 3, 3), Q=(3, 2), K=(3, 2), V=(3, 2), softcap=0.8, scale=2.0,
         bias=(3, 3)),
    dict(name="window 2 left, 1 right", BHTS=(1, 1, 4, 4), Q=(4, 2), K=(4, 2), V=(4, 2),
         window_left=2, window_right=1),
    dict(name="window, offset 2", BHTS=(1, 1, 3, 6), Q=(3, 2), K=(6, 2), V=(6, 2), window_left=2,
         window_right=3, align="offset", offset=2),
    dict(name="key lengths 0, 3, 2", BHTS=(3, 1, 2, 3), Q=(3, 2, 2), K=(3, 3, 2), V=(3, 3, 2),
         key_len=[0, 3, 2]),
    dict(name="dropout", BHTS=(2, 2, 3, 3), Q=(2, 2, 3, 2), K=(2, 2, 3, 2), V=(2, 2, 3, 2),
         dropout=0.4, seed=7, draw=0),
    dict(name="dropout, packed, causal, bias", BHTS=(2, 2, 3, 3), Q=(2, 3, 4), K=(2, 3, 4),
         V=(2, 3, 4), heads=2, causal=1, dropout=0.25, seed=8, draw=0, bias=(1, 2, 3, 3)),
    dict(name="everything at once", BHTS=(2, 4, 3, 4), Q=(2, 3, 8), K=(2, 4, 4), V=(2, 4, 2), heads=4,
         G=2, causal=1, align="bottom_right", window_left=3, softcap=1.5, scale=0.9, temperature=0.8,
         bias=(1, 4, 1, 4), keep=bits("1110 0111 1111"), key_len=[4, 3], dropout=0.3, seed=9, draw=0),
]

if __name__ == "__main__":
    print("/* sdpa.inc -- written by sdpa.py; do not edit. */", file=out)
    rows = [emit(n, case) for n, case in enumerate(CASES)]
    print("static const sdpa_golden sdpa_goldens[] = {\n    " + ",\n    ".join(rows) + "};", file=out)
    whole.write({"sdpa.inc": out.getvalue()})
