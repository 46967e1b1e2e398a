"""Random functions of tensors, run as programs next to eager: the same bits, results and gradients.

    python tests/program/random_functions.py --functions 20000 --seed 1    # prints what differs

A function is a list of ops over a pool of tensors of one width, of which some are rows, columns,
views, halves, masks or integers, so that launches share buffers in every way, and two numbers. It
is called five times: recorded twice, as the numbers differ, run twice with other elements and
numbers, and once more without grad. With `--step` forward
and backward are one program, `--pass` turns passes on that are off, and `--device` says where the
tensors are, and `--graphs` makes CUDA graphs of programs.
"""

import argparse
import gc
import random
import sys
from collections.abc import Callable
from typing import Any

import tiny_torch as torch
from tiny_torch import Tensor
from tiny_torch.program import Compiled, record

F = torch.nn.functional
SHAPES = [(3, 5), (64, 100), (70, 128), (9, 2048), (5, 3001)]  # 4096 elements are a chain's block
SMALL = [(3, 5), (7, 9), (33, 40)]  # of devices that are emulated
UNARY = [
    torch.tanh, torch.sigmoid, torch.relu, torch.exp, torch.square, torch.neg, F.gelu, F.silu,
    torch.abs, torch.sin, lambda x: x + 1, lambda x: 0.5 * x, lambda x: 1 / (x.abs() + 1),
    lambda x: x.clamp(-1, 1), lambda x: (x > 0).to(x.dtype), lambda x: x.half().float(),
    lambda x: x.double().float(), lambda x: x.bfloat16().float(),
    lambda x: x.round().long().float(), torch.clone, lambda x: F.leaky_relu(x, 0.1),
    torch.zeros_like, lambda x: x.masked_fill(x > 1, 0.25), lambda x: x.detach(),
    lambda x: F.dropout(x, 0.3), lambda x: x.nan_to_num(), lambda x: x ** 3,
]  # fmt: skip
BINARY = [
    torch.add, torch.sub, torch.mul, torch.maximum, lambda x, y: x / (y.abs() + 1),
    lambda x, y: torch.where(x > y, x, y * 2), lambda x, y: torch.lerp(x, y, 0.25),
    lambda x, y: torch.addcmul(x, x, y, value=0.5), lambda x, y: (x < y) * x, torch.atan2,
    lambda x, y: x.add(y, alpha=2), torch.hypot, lambda x, y: x + y.mean(),
]  # fmt: skip
# Of one tensor, whose result has its shape again.
OTHERS = [
    lambda x: x.softmax(-1), lambda x: x + x.sum(-1, keepdim=True), lambda x: x - x.mean(0),
    lambda x: x.cumsum(-1), lambda x: torch.cat(x.chunk(3, -1)[::-1], -1), lambda x: x.flip(0),
    lambda x: x.t().contiguous().t() * 2, lambda x: torch.stack([x, x + 1]).sum(0),
    lambda x: F.layer_norm(x, x.shape[-1:]),
    lambda x: x[:, torch.arange(x.shape[1] - 1, -1, -1, device=x.device)],
    lambda x: x.roll(1, 1), lambda x: x * x[:1] + x[:, :1], lambda x: x.t().exp().t(),
    lambda x: torch.cat([x[1:].tanh(), x[:1] * 2]),
]  # fmt: skip
# Writes to the first, which is a fresh tensor.
IN_PLACE = [
    lambda x, y: x.add_(y), lambda x, y: x.mul_(y).tanh_(), lambda x, y: x.copy_(y),
    lambda x, y: x[1:].add_(y[:-1]), lambda x, y: x[:, 1:].mul_(y[:, :-1]), lambda x, y: x.zero_(),
    lambda x, y: x.masked_fill_(y > 0, 0.5), lambda x, y: x.t().sub_(y.t()),
    lambda x, y: x.sigmoid_(), lambda x, y: x[0].copy_(x[1]), lambda x, y: x.add_(x),
    lambda x, y: x[1:].mul_(x[:-1].clone()),
]  # fmt: skip
# Of a tensor and two numbers.
NUMBERS = [
    lambda x, a, b: x * a, lambda x, a, b: x + (1 - a), lambda x, a, b: (b - x) / a,
    lambda x, a, b: x.clamp(-abs(a), b * b), lambda x, a, b: x.lerp(x.exp(), a),
    lambda x, a, b: torch.addcmul(x, x, x, value=a / 3), lambda x, a, b: x.abs() ** a,
    lambda x, a, b: x.masked_fill(x > a, b), lambda x, a, b: torch.where(x > 0, x * a, b),
    lambda x, a, b: x * a if a > b else x - b, lambda x, a, b: x.half() * a + b,
    lambda x, a, b: F.leaky_relu(x, a),
    lambda x, a, b: F.huber_loss(x, x * b, delta=abs(a) + 1) + x,
    lambda x, a, b: x.add(x, alpha=b) + torch.full((1,), a, device=x.device),
    lambda x, a, b: (x * a).tanh() + (x * b).tanh(), lambda x, a, b: (x * 1).mul_(a).fill_(b) + x,
]  # fmt: skip
DRAWN = [0.0, 1.0, -1.0, 2.0, 0.5, 1e-3, 1e39, float("inf")]


def function_of(
    seed: int, device: str = "cpu"
) -> tuple[Callable[..., list[Tensor]], Callable[[int], list]]:
    """A function of three tensors and two numbers; and its arguments, which `draw` answers."""
    dice = random.Random(seed)
    shape = dice.choice(SHAPES if device == "cpu" else SMALL)
    shapes = [shape, dice.choice([shape, (1, shape[1]), shape[1:], (shape[0], 1)]), shape]
    turned = dice.random() < 0.2
    plan: list[tuple] = []
    for _ in range(dice.randint(2, 14)):
        kind = dice.choices([UNARY, BINARY, OTHERS, IN_PLACE, NUMBERS], [6, 6, 2, 2, 2])[0]
        plan.append((kind, dice.choice(kind), dice.random(), dice.random()))
    keeps = [dice.random() for _ in range(dice.randint(1, 3))]

    numbers = [[dice.choice([dice.uniform(-2, 2), *DRAWN]) for _ in range(5)] for _ in "ab"]

    def function(*arguments: Any) -> list[Tensor]:
        inputs, (first, second) = arguments[:3], arguments[3:]
        pool = list(inputs)
        for kind, op, a, b in plan:
            x, y = pool[int(a * len(pool))], pool[int(b * len(pool))]
            if kind is BINARY:
                pool.append(op(x, y))
            elif kind is UNARY:
                pool.append(op(x))
            elif kind is NUMBERS:
                pool.append(op(x, first, second))
            elif kind is OTHERS:
                pool.append(op(x.expand(shape)) if x.ndim == 2 else op(x + inputs[0]))
            else:
                fresh = (x + inputs[0]) * 1
                op(fresh, (y + inputs[0]) if y.shape != fresh.shape else y)
                pool.append(fresh)
        made = pool[3:]
        return [made[int(k * len(made))] * 1 for k in keeps]

    def draw(k: int) -> list:
        torch.manual_seed(1000 * seed + k)
        drawn = [torch.randn(s, device=device) for s in shapes]
        if turned:
            drawn[0] = drawn[0].t().contiguous().t()
        for x, wants in zip(drawn, (True, seed % 2 == 0, False), strict=True):
            x.requires_grad_(wants and k < 4)
        return [*drawn, *[values[k] for values in numbers]]

    return function, draw


def step_of(function: Callable) -> Callable:
    """The function, and the gradients of all its results."""

    def step(*arguments: Any) -> list[Tensor]:
        results = function(*arguments)
        wanted = [r.sum() * (i + 1) for i, r in enumerate(results) if r.requires_grad]
        if wanted:
            sum(wanted).backward()
        return [r.detach() for r in results]

    return step


def calls_of(step: Callable, draw: Callable[[int], list]) -> list[Tensor]:
    """Results and gradients of five calls."""
    found: list[Tensor] = []
    for k in range(5):
        arguments = draw(k)
        found += step(*arguments)
        found += [torch.zeros(0) if x.grad is None else x.grad for x in arguments[:3]]
    return found


def same(a: Tensor, b: Tensor) -> bool:
    kinds = [(x.dtype, x.shape, x.stride()) for x in (a, b)]
    if a.device.type != "cpu":  # a GPU has one NaN; emulated, the compiler's operands say which
        a, b = (torch.where(x.isnan(), float("nan"), x) for x in (a, b))
    return kinds[0] == kinds[1] and a.cpu().numpy().tobytes() == b.cpu().numpy().tobytes()


def difference(
    seed: int,
    passes: dict[str, bool] | None = None,
    whole: bool = False,
    device: str = "cpu",
    graphs: bool = False,
) -> str:
    """What the function of this seed, or its `whole` step, has other than eager; or ""."""
    function, draw = function_of(seed, device)
    try:
        expected = calls_of(step_of(function), draw)
    except RuntimeError as error:  # eager refuses what it saved and was written
        expected = error
    made = record(step_of(function), passes=passes)
    compiled = made if whole else step_of(Compiled(function, passes=passes, graphs=graphs))
    try:
        found = calls_of(compiled, draw)
    except RuntimeError as error:
        found = error
    if isinstance(expected, RuntimeError) or isinstance(found, RuntimeError):
        return "" if str(found) == str(expected) else f"{found!r}, where eager has {expected!r}"
    places = [i for i, (a, b) in enumerate(zip(found, expected, strict=True)) if not same(a, b)]
    return f"results {places} of {len(found)} differ" if places else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--step", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--graphs", action="store_true")
    parser.add_argument("--pass", nargs="*", default=[], dest="passes")
    args = parser.parse_args()
    wrong, passes = 0, dict.fromkeys(args.passes, True)
    for seed in range(args.seed, args.seed + args.functions):
        gc.collect()  # graphs hold memory, and an emulated device is slow with much of it
        if why := difference(seed, passes, args.step, args.device, args.graphs):
            wrong += 1
            print(f"seed {seed}: {why}", flush=True)
    print(f"{args.functions} functions, {wrong} differ")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
