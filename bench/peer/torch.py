"""A peer (bench/common/peer.h) that runs PyTorch on the CPU: eager, or by torch.compile where the
argument is `compile`.

case sdpa B H T D CAUSAL BACKWARD           scaled_dot_product_attention by its flash kernel
case second B H T D CAUSAL                  its backward, differentiated once more; by the math path
case train LAYERS DIM HEADS VOCAB T BATCH   one step of the transformer of bench_train.c
case overhead OP CHAIN SIZE                 see bench_overhead.c
case elementwise OP ROWS COLS BACKWARD      see bench_elementwise.c

Where PyTorch has several ways, the fastest here: gelu with erf, fused AdamW, one matrix for q, k
and v.  Compiled are `train` (forward and backward) and `elementwise`; attention would call the same
kernel, and a single small op has nothing to compile.
"""
import os, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

compiled = "compile" in sys.argv[1:]
threads = int(os.environ.get("PEER_THREADS", "1"))
torch.set_num_threads(threads)
clock = time.thread_time_ns if threads == 1 else time.perf_counter_ns


def compile_it(f):
    return torch.compile(f, dynamic=False) if compiled else f


# Without headers, a compiler or Sleef, its code is not vectorised, in silence, and 2 to 5 times as slow.
def vector_isa():
    from torch._inductor.cpu_vec_isa import pick_vec_isa

    isa = pick_vec_isa()
    if not isa:
        sys.exit(
            "torch.compile finds no vector instructions (pick_vec_isa() says %s): it needs a C++ compiler that works, "
            "and Sleef to link (Debian: g++ python3-dev libtorch-dev libsleef-dev)" % isa
        )
    return isa


def without_grad(f):
    def run():
        with torch.no_grad():
            f()

    return run


def sdpa(B, H, T, D, causal, backward):
    B, H, T, D = int(B), int(H), int(T), int(D)
    Q, K, V = (torch.randn(B, H, T, D, requires_grad=backward == "1") for _ in range(3))
    dO = torch.randn(B, H, T, D)

    def forward():
        return F.scaled_dot_product_attention(Q, K, V, is_causal=causal == "1")

    if backward == "0":
        return without_grad(forward)
    return lambda: torch.autograd.grad(forward(), (Q, K, V), dO)


# The flash kernel has neither a tangent nor a second backward; the math path has no backward of its
# tangent, but a backward of its backward, and by dO that is the tangent.
def second(B, H, T, D, causal):
    shape = (int(B), int(H), int(T), int(D))
    x, v = [[torch.randn(shape, requires_grad=i == 0) for _ in range(3)] for i in range(2)]
    dO = torch.randn(shape, requires_grad=True)

    def run():
        with sdpa_kernel(SDPBackend.MATH):
            O = F.scaled_dot_product_attention(*x, is_causal=causal == "1")
            dx = torch.autograd.grad(O, x, dO, create_graph=True)
            torch.autograd.grad(dx, x + [dO], v)

    return run


# ---------------------------------------------------------------- training


class Block(nn.Module):
    def __init__(self, C, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.qkv, self.o = nn.Linear(C, 3 * C, bias=False), nn.Linear(C, C, bias=False)
        self.up, self.down = nn.Linear(C, 4 * C), nn.Linear(4 * C, C)

    def forward(self, x):
        B, T, C = x.shape
        split = self.qkv(self.norm1(x)).split(C, dim=2)
        q, k, v = (y.view(B, T, self.heads, C // self.heads).transpose(1, 2) for y in split)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).contiguous().view(B, T, C))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, layers, C, heads, vocab, T):
        super().__init__()
        self.E, self.P = nn.Embedding(vocab, C), nn.Embedding(T, C)
        self.blocks = nn.ModuleList(Block(C, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(C)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids, target):
        x = self.E(ids) + self.P.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.E.weight.t()
        return F.cross_entropy(logits.view(-1, logits.size(-1)), target.view(-1))


def train(layers, C, heads, vocab, T, B):
    layers, C, heads, vocab, T, B = map(int, (layers, C, heads, vocab, T, B))
    model = Transformer(layers, C, heads, vocab, T)
    loss_of = compile_it(model)
    adamw = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    batches = [[torch.randint(0, vocab, (B, T)) for _ in range(2)] for _ in range(8)]

    def step():
        ids, target = batches[0]
        batches.append(batches.pop(0))
        loss = loss_of(ids, target)
        adamw.zero_grad(set_to_none=True)
        loss.backward()
        adamw.step()
        return loss.item()

    return step


# ---------------------------------------------------------------- single ops


def overhead(op, chain, size):
    chain, size = int(chain), int(size)
    shape = (size, size) if size else ()
    x, y = (torch.randn(shape, requires_grad=True) for _ in range(2))
    dz = torch.randn(shape)
    f = {
        "add": lambda x: x + y,
        "mul": lambda x: x * y,
        "matmul": lambda x: x @ y,
        "softmax": lambda x: torch.softmax(x, -1),
        "layer_norm": lambda x: F.layer_norm(x, (size,)),
        "gelu": F.gelu,
    }[op]

    def run():
        z = x
        for _ in range(chain):
            z = f(z)
        z.backward(dz)
        x.grad = y.grad = None

    return run if chain else without_grad(lambda: f(x))


def elementwise(op, rows, cols, backward):
    rows, cols = int(rows), int(cols)
    x, y = (torch.randn(rows, cols, requires_grad=True) for _ in range(2))
    gamma, beta = (torch.ones(cols, requires_grad=True) for _ in range(2))
    target, dz = torch.arange(rows) % cols, torch.randn(rows, cols)
    if op == "log":
        x = torch.rand(rows, cols).add_(0.01).requires_grad_()
    if op == "adamw":
        x.grad = dz
        return torch.optim.AdamW([x], lr=1e-6, weight_decay=0.01, fused=True).step
    f = {
        "add": lambda: x + y,
        "exp": lambda: torch.exp(x),
        "log": lambda: torch.log(x),
        "tanh": lambda: torch.tanh(x),
        "sigmoid": lambda: torch.sigmoid(x),
        "silu": lambda: F.silu(x),
        "gelu": lambda: F.gelu(x),
        "gelu_tanh": lambda: F.gelu(x, approximate="tanh"),
        "dropout": lambda: F.dropout(x, 0.1),
        "softmax": lambda: torch.softmax(x, -1),
        "log_softmax": lambda: torch.log_softmax(x, -1),
        "layer_norm": lambda: F.layer_norm(x, (cols,), gamma, beta),
        "rms_norm": lambda: F.rms_norm(x, (cols,), gamma),
        "cross_entropy": lambda: F.cross_entropy(x, target),
    }[op]
    f = compile_it(f)

    def run():
        z = f()
        z.backward(dz if z.dim() else None)
        x.grad = y.grad = gamma.grad = beta.grad = None

    return run if backward == "1" else without_grad(f)


# ---------------------------------------------------------------- the protocol

cases = {"train": train, "elementwise": elementwise}
if not compiled:
    cases.update(sdpa=sdpa, second=second, overhead=overhead)
work = None
name, how = ("torch-compile", ", compiled for %s" % vector_isa()) if compiled else ("torch", "")
print("ready", name, "PyTorch", torch.__version__ + how, flush=True)
with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
    for line in sys.stdin:
        word = line.split()
        if word[0] == "case":
            make = cases.get(word[1])
            work = make and make(*word[2:])
            print("ok" if work else "no", flush=True)
        else:
            times, warm, cpu = map(int, word[1:])
            if cpu >= 0:
                os.sched_setaffinity(0, {cpu})
            for _ in range(warm):
                work()
            t0 = clock()
            for _ in range(times):
                work()
            print(clock() - t0, flush=True)
