"""Training steps in float32 and under bfloat16 autocast, next to PyTorch's.

python -m benchmarks --suite amp                  # each next to PyTorch's
python -m benchmarks.amp                          # autocast next to float32, ours and PyTorch's
python -m benchmarks.amp --rounds 9 --out mine    # a table in benchmarks/results, too
"""

import argparse
import importlib
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.line import Line
from benchmarks.steps import STEPS, classifier_step, gpt, resnet9
from benchmarks.turns import OURS


def mlp(torch: Any, width: int = 1024, batch: int = 256) -> Callable[[], None]:
    """Three hidden layers of this width, SGD."""
    nn: Any = torch.nn
    hidden = [layer for _ in range(3) for layer in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*hidden, nn.Linear(width, 10))
    x, y = torch.randn(batch, width), torch.randint(0, 10, (batch,))
    return classifier_step(torch, model, x, y, torch.optim.SGD, lr=0.01)


# The maker of a step, 10^9 multiplications and additions of its products, and the target for the
# ratio of its times, autocast to float32, where the processor has dot products of bfloat16.
MODELS: dict[str, tuple[Callable[..., Callable[[], None]], float, float]] = {
    "MLP, width 1024": (mlp, 4.30, 0.75),
    "ResNet-9": (resnet9, STEPS["ResNet-9"][1], 0.75),
    "GPT, SDPA": (lambda torch: gpt(torch, True), STEPS["GPT, SDPA"][1], 0.75),
}
ELSEWHERE = 1.15


def step_of(torch: Any, name: str, half: bool) -> Callable[[], None]:
    torch.manual_seed(0)
    plain = MODELS[name][0](torch)

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16) if half else nullcontext():
            plain()

    return step


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
        for name, (_, gflop, _) in MODELS.items()
        for half in (False, True)
    ]


def measure(framework: str, name: str, rounds: int, threads: int) -> tuple[float, float]:
    """The least seconds of a step, in float32 and under autocast, in turns."""
    torch = importlib.import_module(framework)
    torch.set_num_threads(threads)
    steps = [step_of(torch, name, half) for half in (False, True)]
    least = [float("inf")] * 2
    for _ in range(rounds + 1):  # the first warms up
        for i, step in enumerate(steps):
            start = time.perf_counter()
            step()
            least[i] = min(least[i], time.perf_counter() - start)
    return least[0], least[1]


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
    has_pairs = isa in ("v4bf16", "v4amx")
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
        target = MODELS[name][2] if has_pairs else ELSEWHERE
        cells = [name]
        for framework in (OURS, args.against):
            plain, half = measure(framework, name, args.rounds, args.threads)
            cells += [report.show_time(plain), report.show_time(half), f"{half / plain:.2f}"]
            if framework == OURS:
                met = half / plain <= target
                cells.append(f"≤ {target}" if met else f"**≤ {target} missed**")
        lines.append(f"| {' | '.join(cells)} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if args.out:
        path = Path(__file__).parent / "results" / f"{args.out}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
