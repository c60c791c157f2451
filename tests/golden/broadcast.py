"""add, sub, mul, div and where of operands that are broadcast, by PyTorch in double precision.

    python3 tests/golden/broadcast.py
"""
import io
import torch
import whole

torch.set_default_dtype(torch.float64)
torch.manual_seed(1)
out = io.StringIO()

a = torch.rand(2, 1, 4) * 2 - 1
b = torch.rand(3, 1) + 0.5
dy = torch.rand(2, 3, 4) * 2 - 1
cond = torch.tensor([True, False, False, True])

TABLE = [
    ("add", torch.add),
    ("sub", torch.sub),
    ("mul", torch.mul),
    ("div", torch.div),
    ("where", lambda u, v: torch.where(cond, u, v)),
]


def numbers(x):
    return ", ".join(repr(v) for v in x.detach().flatten().tolist())


print("/* made by broadcast.py with PyTorch", torch.__version__.split("+")[0], "*/", file=out)
print("/* a [2,1,4]   b [3,1]   cond [4]   y, dy [2,3,4] */", file=out)
print(f"static const double golden_a[8] = {{{numbers(a)}}};", file=out)
print(f"static const double golden_b[3] = {{{numbers(b)}}};", file=out)
print(f"static const double golden_dy[24] = {{{numbers(dy)}}};", file=out)
print("static const struct {", file=out)
print("    const char *name;", file=out)
print("    double y[24], da[8], db[3];", file=out)
print("} golden_broadcast[] = {", file=out)
for name, f in TABLE:
    u, v = a.clone().requires_grad_(), b.clone().requires_grad_()
    y = f(u, v)
    y.backward(dy)
    print(f'    {{"{name}",', file=out)
    print(f"     {{{numbers(y)}}},", file=out)
    print(f"     {{{numbers(u.grad)}}},", file=out)
    print(f"     {{{numbers(v.grad)}}}}},", file=out)
print("};", file=out)
whole.write({"broadcast.inc": out.getvalue()})
