"""Training steps in float32 and under bfloat16 autocast, next to PyTorch's.

python -m benchmarks --suite amp                  # each next to PyTorch's
python -m benchmarks.amp                          # autocast next to float32, ours and PyTorch's
python -m benchmarks.amp --rounds 9 --out mine    # a table in benchmarks/results, too
"""

import argparse
import importlib
import time
from collections.abc import Callable
from typing import Any

from benchmarks import report
from benchmarks.line import Line
from benchmarks.steps import PLAIN, STEPS, Mode, Step, classifier_step
from benchmarks.turns import OURS


def mlp(torch: Any, width: int = 1024, batch: int = 256, mode: Mode = PLAIN) -> Step:
    """Three hidden layers of this width, SGD."""
    nn: Any = torch.nn
    hidden = [layer for _ in range(3) for layer in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*hidden, nn.Linear(width, 10))
    x, y = torch.randn(batch, width), torch.randint(0, 10, (batch,))
    return classifier_step(torch, model, x, y, torch.optim.SGD, mode, lr=0.01)


def encoder(torch: Any, tokens: int = 128, batch: int = 8, mode: Mode = PLAIN) -> Step:
    """Four encoder layers of width 256, a class per sequence, SGD."""
    nn: Any = torch.nn
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    flatten, head = nn.Flatten(1), nn.Linear(tokens * 256, 10)
    model = nn.Sequential(nn.TransformerEncoder(layer, 4), flatten, head)
    x, y = torch.randn(batch, tokens, 256), torch.randint(0, 10, (batch,))
    return classifier_step(torch, model, x, y, torch.optim.SGD, mode, lr=0.01)


# The maker of a step, and 10^9 multiplications and additions of its products.
MODELS: dict[str, tuple[Callable[..., Step], float]] = {
    "MLP, width 1024": (mlp, 4.30),
    "ResNet-9": STEPS["ResNet-9"],
    "GPT, SDPA": STEPS["GPT, SDPA"],
    "Encoder": (encoder, 20.9),
    "LSTM": STEPS["LSTM"],
}
# The targets for the ratio of their times, autocast to float32, by instruction set.
TARGETS = {"v4amx": (0.45, 0.55, 0.7, 0.75, 0.7), "v4bf16": (0.65, 0.6, 0.7, 1.0, 1.0)}
ELSEWHERE = (1.1,) * len(MODELS)


def step_of(torch: Any, name: str, half: bool) -> Step:
    torch.manual_seed(0)
    return MODELS[name][0](torch, mode=Mode(dtype=torch.bfloat16) if half else PLAIN)


def make_lines() -> list[Line]:
    prepare = "from benchmarks.amp import step_of\nstep = step_of(torch, {!r}, {})"
    return [
        Line(
            f"{name}, {'bfloat16 autocast' if half else 'float32'}",
            1.0,
            prepare.format(name, half),
            "step()",
            flops=f"{gflop}e9",
        )
        for name, (_, gflop) in MODELS.items()
        for half in (False, True)
    ]


def measure(framework: str, name: str, rounds: int, threads: int) -> tuple[float, float]:
    """The least seconds of a step, in float32 and under autocast, in turns."""
    torch = importlib.import_module(framework)
    torch.set_num_threads(threads)
    plain, half = least_of([step_of(torch, name, half) for half in (False, True)], rounds)
    return plain, half


def least_of(steps: list[Callable[[], Any]], rounds: int) -> list[float]:
    """The least seconds of each, in turns."""
    least = [float("inf")] * len(steps)
    for _ in range(rounds + 1):  # the first warms up
        for i, step in enumerate(steps):
            start = time.perf_counter()
            step()
            least[i] = min(least[i], time.perf_counter() - start)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.amp")
    option = parser.add_argument
    option("--against", default="torch", help="module to compare with")
    option("--model", nargs="+", default=list(MODELS), choices=list(MODELS))
    option("--rounds", type=int, default=9)
    option("--threads", type=int, default=2)
    option("--machine", default=report.machine_in_words(), help="the machine, in words")
    option("--out", help="name of the file in benchmarks/results/")
    args = parser.parse_args()
    isa = importlib.import_module(OURS)._core.instruction_set
    targets = dict(zip(MODELS, TARGETS.get(isa, ELSEWHERE), strict=True))
    lines = [
        "# Training steps under bfloat16 autocast next to float32",
        "",
        f"{args.machine}; {args.threads} threads; instruction set {isa}. Least of {args.rounds} "
        "rounds, in turns; ratio: autocast to float32.",
        "",
        f"| step | {OURS}, float32 | autocast | ratio | target | {args.against}, float32 "
        "| autocast | ratio |",
        "|---|--:|--:|--:|---|--:|--:|--:|",
    ]
    for name in args.model:
        target = targets[name]
        cells = [name]
        for framework in (OURS, args.against):
            try:
                plain, half = measure(framework, name, args.rounds, args.threads)
            except RuntimeError:  # oneDNN's LSTM of bfloat16 needs AVX-512
                if framework == OURS:
                    raise
                cells += ["", "", "fails"]
                continue
            cells += [report.show_time(plain), report.show_time(half), f"{half / plain:.2f}"]
            if framework == OURS:
                met = half / plain <= target
                cells.append(f"≤ {target}" if met else f"**≤ {target} missed**")
        lines.append(f"| {' | '.join(cells)} |")
    report.publish("\n".join(lines) + "\n", args.out)


if __name__ == "__main__":
    main()
