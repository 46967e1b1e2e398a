"""On a GPU: bandwidth, matrix products, attention, optimisers, steps, graphs, what a call costs.

    python -m benchmarks --suite gpu            # next to PyTorch on the same GPU
    python -m benchmarks.gpu                    # ours alone: bytes and operations per second

Every sample ends with `torch.cuda.synchronize()`. benchmarks/gpu.sh builds, tests and measures.
"""

import timeit
from typing import Any

from benchmarks.line import Line

N = 10**8  # elements

PREPARE = """
torch.set_default_device("cuda")
F, nn, sync = torch.nn.functional, torch.nn, torch.cuda.synchronize
torch.manual_seed(0)
"""
# What is measured: (name, what is made before, the call, arrays of 10^8 floats that it moves)
MOVED = [
    ("copy", "a = torch.randn({n})", "a.clone()", 2),
    ("add", "a, b = torch.randn({n}), torch.randn({n})", "a + b", 3),
    ("gelu", "a = torch.randn({n})", "F.gelu(a)", 2),
    ("add, a view", "a = torch.randn(10**4, {n} // 10**4).t()", "a + 1", 2),
    ("sum", "a = torch.randn({n})", "a.sum()", 1),
    ("sum of rows", "a = torch.randn({n} // 4096, 4096)", "a.sum(1)", 1),
    ("sum of columns", "a = torch.randn({n} // 4096, 4096)", "a.sum(0)", 1),
    ("softmax", "a = torch.randn({n} // 4096, 4096)", "a.softmax(1)", 2),
    ("layer norm", "a = torch.randn({n} // 4096, 4096)", "F.layer_norm(a, (4096,))", 2),
    ("batch norm", "a = torch.randn(64, 128, 110, 110)",
     "F.batch_norm(a, None, None, training=True)", 2),
]  # fmt: skip
# (name, what is made before, the call, multiplications and additions, the target)
PRODUCTS = [
    ("float32 4096³", "a = torch.randn(4096, 4096)", "a @ a", 2 * 4096**3, 1 / 0.9),
    ("bfloat16 4096³", "a = torch.randn(4096, 4096).bfloat16()", "a @ a", 2 * 4096**3, 1 / 0.8),
    ("bfloat16 8192³", "a = torch.randn(8192, 8192).bfloat16()", "a @ a", 2 * 8192**3, 1 / 0.8),
    ("attention, T 2048, d 64", "q = torch.randn(8, 16, 2048, 64).half()",
     "F.scaled_dot_product_attention(q, q, q)", 4 * 8 * 16 * 2048**2 * 64, 1 / 0.7),
    ("convolution 3x3 of 256 channels",
     "x, w = torch.randn(64, 256, 28, 28), torch.randn(256, 256, 3, 3)",
     "F.conv2d(x, w, padding=1)",
     2 * 64 * 28**2 * 256**2 * 9, 1.0),
]  # fmt: skip
RESNET18 = """
sizes = [(64, 3, 7, 7), *[(64, 64, 3, 3)] * 4, *[(128, 128, 3, 3)] * 4, *[(256, 256, 3, 3)] * 4,
         *[(512, 512, 3, 3)] * 4, *[(512,)] * 40, (1000, 512)]
parameters = [torch.randn(s, requires_grad=True) for s in sizes]
for p in parameters: p.grad = torch.randn_like(p)
"""
CAPTURED = """
from benchmarks.steps import mlp_sgd
step = mlp_sgd(torch)
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3): step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph): step()
"""


def make_lines() -> list[Line]:
    def line(name: str, target: float, made: str, call: str, **options: Any) -> Line:
        return Line(name, target, f"{PREPARE}\n{made}", f"{call}; sync()", **options)

    steps = [
        line(
            f"step: {name}, batch {batch}",
            1.0,
            f"from benchmarks.steps import step_of\nstep = step_of(torch, {name!r}, batch={batch})",
            "step()",
        )
        for name, batch in [
            *[(name, 256) for name in ("MLP, Adam", "LeNet", "ResNet-9", "DCGAN")],
            *[(name, 128) for name in ("LSTM", "GRU", "RNN", "GPT, SDPA")],
        ]
    ]
    optimizers = [
        line(
            f"{name} over ResNet-18",
            1.0,
            f"{RESNET18}\nopt = torch.optim.{name}(parameters, lr=1e-3, foreach=True{options})",
            "opt.step()",
        )
        for name, options in [("SGD", ", momentum=0.9"), ("Adam", ""), ("RMSprop", "")]
    ]
    return [
        *[line(name, 1.0, made.format(n=N), call) for name, made, call, _ in MOVED],
        *[line(name, target, made, call) for name, made, call, _, target in PRODUCTS],
        *optimizers,
        *steps,
        line("captured step: MLP, SGD", 1.0, CAPTURED, "graph.replay()"),
        Line(
            "one-element add, on the host",
            0.7,
            f"{PREPARE}\na, b = torch.ones(1), torch.ones(1)",
            "for _ in range(1000): a + b\nsync()",
            ops=1000,
        ),
    ]


def main() -> None:
    """Bytes per second and their share of a copy's, and operations per second; medians of 20."""
    import tiny_torch as torch

    def seconds(made: str, call: str) -> float:
        names: dict[str, Any] = {"torch": torch}
        exec(f"{PREPARE}\n{made}", names)
        times = timeit.Timer(f"{call}; sync()", globals=names).repeat(23, 1)[3:]
        return sorted(times)[len(times) // 2]

    print(torch.cuda.get_device_name())
    rates = {name: 4 * N * k / seconds(made.format(n=N), call) for name, made, call, k in MOVED}
    for name, rate in rates.items():
        print(f"{name:34}{rate / 1e12:8.2f} TB/s {rate / rates['copy']:6.0%} of a copy's")
    for name, made, call, work, _ in PRODUCTS:
        print(f"{name:34}{work / seconds(made, call) / 1e12:8.2f} TFLOP/s")
    eager = seconds("from benchmarks.steps import mlp_sgd\nstep = mlp_sgd(torch)", "step()")
    print(f"{'captured step, times faster':34}{eager / seconds(CAPTURED, 'graph.replay()'):8.2f}")


if __name__ == "__main__":
    main()
