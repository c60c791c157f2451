"""A peer (bench/common/peer.h) that runs PyTorch, eager, on the CPU.

case sdpa B H T D CAUSAL BACKWARD       scaled_dot_product_attention by its flash kernel
"""
import os, sys, time
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

threads = int(os.environ.get("PEER_THREADS", "1"))
torch.set_num_threads(threads)
clock = time.thread_time_ns if threads == 1 else time.perf_counter_ns


def sdpa(B, H, T, D, causal, backward):
    Q, K, V = (torch.randn(B, H, T, D, requires_grad=bool(backward)) for _ in range(3))
    dO = torch.randn(B, H, T, D)

    def run():
        O = F.scaled_dot_product_attention(Q, K, V, is_causal=bool(causal))
        if backward:
            torch.autograd.grad(O, (Q, K, V), dO)

    return run


cases = {"sdpa": sdpa}
work = None
print("ready torch PyTorch", torch.__version__, flush=True)
with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
    for line in sys.stdin:
        word = line.split()
        if word[0] == "case":
            make = cases.get(word[1])
            work = make and make(*map(int, word[2:]))
            print("ok" if work else "no such case", flush=True)
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
