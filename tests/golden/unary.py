"""Values and derivatives of the functions of src/ops/unary.c, by PyTorch in double precision.

    python3 tests/golden/unary.py
"""
import io
import torch
from torch.nn import functional as F
import whole

torch.set_default_dtype(torch.float64)
out = io.StringIO()

ANY = [-6, -2.5, -1, -0.3, 0.2, 0.9, 1.7, 4, 8, 0.03125]
POSITIVE = [1e-3, 0.03125, 0.2, 0.5, 0.9, 1, 1.7, 4, 8, 1000]

TABLE = [
    ("neg", ANY, lambda x: -x),
    ("exp", ANY, torch.exp),
    ("log", POSITIVE, torch.log),
    ("sqrt", POSITIVE, torch.sqrt),
    ("square", ANY, torch.square),
    ("tanh", ANY, torch.tanh),
    ("sigmoid", ANY, torch.sigmoid),
    ("relu", ANY, torch.relu),
    ("silu", ANY, F.silu),
    ("gelu", ANY, F.gelu),
    ("gelu_tanh", ANY, lambda x: F.gelu(x, approximate="tanh")),
    ("pow 0", ANY, lambda x: x**0),
    ("pow 3", ANY, lambda x: x**3),
    ("pow 11", ANY, lambda x: x**11),
    ("pow -2", ANY, lambda x: x**-2),
    ("pow 0.5", POSITIVE, lambda x: x**0.5),
    ("pow -1.7", POSITIVE, lambda x: x**-1.7),
    ("clamp -1 1.7", ANY, lambda x: torch.clamp(x, -1, 1.7)),
]


def numbers(x):
    return ", ".join(repr(v) for v in x.detach().flatten().tolist())


print("/* made by unary.py with PyTorch", torch.__version__.split("+")[0], "*/", file=out)
print("enum { GOLDEN_POINTS = 10 };", file=out)
print("static const struct {", file=out)
print("    const char *name;", file=out)
print("    double x[GOLDEN_POINTS], y[GOLDEN_POINTS], slope[GOLDEN_POINTS];", file=out)
print("} golden_unary[] = {", file=out)
for name, points, f in TABLE:
    x = torch.tensor([float(v) for v in points], requires_grad=True)
    y = f(x)
    y.backward(torch.ones_like(y))
    print(f'    {{"{name}",', file=out)
    print(f"     {{{numbers(x)}}},", file=out)
    print(f"     {{{numbers(y)}}},", file=out)
    print(f"     {{{numbers(x.grad)}}}}},", file=out)
print("};", file=out)
whole.write({"unary.inc": out.getvalue()})
