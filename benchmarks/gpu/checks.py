"""What a GPU computes next to the CPU: chosen calls, and trainings. A line of each at once.

    python -m benchmarks.gpu.checks first cuda          # one op, one step of training
    python -m benchmarks.gpu.checks cases cuda          # the calls below; `shared`: see session.py
    python -m benchmarks.gpu.checks trainings cuda FULL

It ends with 1 if a number differs. A cut leaves the lines before.
"""

import sys
import time
from typing import Any

import tiny_torch as torch
from benchmarks.steps import Mode, step_of

# Calls of kernels that differ in how their threads work together, at sizes that are no multiples of
# blocks. r(*shape): random numbers; h: of halves; n(k, *shape): integers below k. With * begins
# what has kernels with shared memory.
CASES = """
r(37, 259) + r(259)
r(259, 37).t() * r(37, 259)
r(5000).exp().sin()
F.gelu(h(37, 259))
r(3, 1000).to(torch.bfloat16).float()
torch.where(r(37, 259) > 0, r(37, 259), r(37, 1))
r(513).masked_fill(n(2, 513) > 0, 2.0)
r(100, 33).t().contiguous()
torch.cat([r(7, 33), r(5, 33)])
r(9, 40)[:, 3:37:2]
r(50, 33)[n(50, 70)]
r(50, 33).gather(0, n(50, 20, 33))
r(50, 33).index_add(0, n(50, 20), r(20, 33))
r(50, 33).scatter_add(0, n(50, 20, 33), r(20, 33))
F.embedding(n(50, 4, 9), r(50, 33))
F.embedding_bag(n(50, 4, 9), r(50, 33))
*r(100_000).sum()
*r(1000, 33).sum(0)
*r(33, 1000).sum(1)
*h(33, 1000).sum(0)
*r(33, 1000).var(1)
*r(33, 1000).amax(1)
*r(33, 1000).argmax(1)
*r(33, 1000).logsumexp(1)
*r(33, 1000).cumsum(1)
*r(5000).cumsum(0)
*r(33, 700).sort(1)[0]
*r(5000).sort()[0]
*r(33, 700).topk(5)[0]
*torch.unique(n(40, 3000))
*(r(3000) > 0).nonzero()
*r(3000)[r(3000) > 0].sum()
*r(3000).histc(20, -3, 3)
*torch.bincount(n(40, 3000))
*r(33, 1000).softmax(1)
*r(330, 10).softmax(1)
*h(33, 1000).log_softmax(1)
*F.cross_entropy(r(65, 100), n(100, 65))
*F.layer_norm(r(33, 700), (700,), r(700), r(700))
*F.group_norm(r(3, 12, 9, 9), 4, r(12), r(12))
*F.batch_norm(r(9, 12, 9, 9), None, None, r(12), r(12), training=True)
*r(7, 9) @ r(9, 5)
*r(130, 67) @ r(67, 140)
*h(130, 72) @ h(72, 144)
*r(130, 72).bfloat16() @ r(72, 144).bfloat16()
*h(6, 33, 40) @ h(6, 40, 48)
*F.linear(r(65, 700), r(30, 700), r(30))
*F.conv2d(r(3, 8, 17, 17), r(12, 8, 3, 3), r(12), padding=1)
*F.conv2d(h(3, 16, 17, 17), h(16, 16, 3, 3), padding=1)
*F.conv2d(r(3, 8, 17, 17), r(8, 1, 3, 3), groups=8)
*F.conv_transpose2d(r(3, 8, 7, 7), r(8, 4, 3, 3), stride=2)
*F.scaled_dot_product_attention(h(2, 3, 70, 64), h(2, 3, 70, 64), h(2, 3, 70, 64), is_causal=True)
*F.scaled_dot_product_attention(h(2, 3, 70, 128), h(2, 3, 70, 128), h(2, 3, 70, 128))
*F.scaled_dot_product_attention(r(2, 3, 70, 32), r(2, 3, 70, 32), r(2, 3, 70, 32))
F.max_pool2d(r(3, 8, 17, 17), 3, 2)
F.avg_pool2d(r(3, 8, 17, 17), 3, 2)
F.interpolate(r(3, 8, 9, 9), scale_factor=2, mode="bilinear")
F.unfold(r(3, 4, 9, 9), 3)
*F.ctc_loss(r(20, 3, 9).log_softmax(2), n(8, 3, 5) + 1, (20, 20, 20), (5, 4, 3))
nn.LSTM(12, 16).to(device)(r(5, 9, 12))[0]
""".strip().splitlines()

# (which step, its batch, in what precision)
TRAININGS = {
    "FULL": [
        ("MLP, Adam", 128, None),
        ("LeNet", 64, None),
        ("ResNet-9", 32, None),
        ("LSTM", 16, None),
        ("GPT, SDPA", 8, None),
        ("MLP, Adam", 128, "bfloat16"),
        ("GPT, SDPA", 8, "bfloat16"),
    ],
    "TINY": [("MLP, Adam", 2, None), ("LeNet", 1, None), ("MLP, Adam", 2, "bfloat16")],
}
STEPS = {"FULL": 5, "TINY": 2}
LOSS, HALF_LOSS = 2e-3, 3e-2  # how far losses may differ, relatively


def difference(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest number; inf where shapes or kinds differ."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf")
    found, expected = found.detach().cpu().double(), expected.detach().double()
    if found.numel() == 0:
        return 0.0
    scale = expected.abs().max().item()
    return (found - expected).abs().max().item() / max(scale, 1e-3)


def outcome(call: str, device: str) -> list[Any]:
    """The result of a case, and the gradients of its inputs."""
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)  # for the parameters of modules
    leaves = []

    def r(*shape: int, dtype: Any = torch.float32) -> Any:
        x = torch.randn(*shape, generator=generator).to(dtype).to(device).requires_grad_()
        leaves.append(x)
        return x

    names = {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "device": device,
        "r": r,
        "h": lambda *shape: r(*shape, dtype=torch.float16),
        "n": lambda below, *shape: torch.randint(below, shape, generator=generator).to(device),
    }
    y = eval(call, names)
    if not y.is_floating_point() or not y.requires_grad:
        return [y]
    y.backward(torch.randn(y.shape, generator=generator).to(y.dtype).to(device))
    return [y, *(x.grad for x in leaves if x.grad is not None)]


def compare(call: str, device: str) -> bool:
    start = time.perf_counter()
    try:
        found, expected = outcome(call, device), outcome(call, "cpu")
        off = [difference(a, b) for a, b in zip(found, expected, strict=True)]
        halves = any(x.dtype.itemsize == 2 for x in expected)
        good = all(x <= (2e-2 if halves else 2e-4) for x in off)  # NaN is not
        said = f"off by {max(off):.1e}"
    except Exception as error:
        good, said = False, f"{type(error).__name__}: {error}"
    took = time.perf_counter() - start
    print(f"{'ok' if good else 'FAILED':7}{took:6.1f} s  {call}  {said}", flush=True)
    return good


def train(name: str, batch: int, dtype: str | None, device: str, steps: int) -> bool:
    losses = []
    for where in (device, "cpu"):
        mode = Mode(where, getattr(torch, dtype) if dtype else None)
        step = step_of(torch, name, batch=batch, mode=mode)
        losses.append([step().item() for _ in range(steps)])
    apart = [abs(a - b) / abs(b) for a, b in zip(*losses, strict=True)]
    off = max(apart)
    good = all(x <= (HALF_LOSS if dtype else LOSS) for x in apart)  # NaN is not
    said = " ".join(f"{loss:.4f}" for loss in losses[0])
    print(
        f"{'ok' if good else 'FAILED':7} {name}, {dtype or 'float32'}: off by {off:.1e}  {said}",
        flush=True,
    )
    return good


def first(device: str) -> bool:
    print(torch.cuda.get_device_name(), torch.cuda.get_device_capability(), flush=True)
    return compare("r(37, 259) + r(259)", device) and train("MLP, Adam", 2, None, device, 1)


def main(what: str, device: str, which: str = "FULL") -> None:
    if what == "first":
        good = [first(device)]
    elif what == "cases":
        good = [
            compare(case.removeprefix("*"), device)
            for case in CASES
            if which != "shared" or case.startswith("*")
        ]
    else:
        good = [
            train(name, batch, dtype, device, STEPS[which])
            for name, batch, dtype in TRAININGS[which]
        ]
    print(f"{sum(good)} of {len(good)} right")
    raise SystemExit(not all(good))


if __name__ == "__main__":
    main(*sys.argv[1:])
