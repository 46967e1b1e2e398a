"""Training steps as programs next to eager ones, and next to PyTorch's eager ones.

python -m benchmarks.programs                      # all steps
python -m benchmarks.programs --only hand          # those whose names contain this
python -m benchmarks.programs --rounds 30 --out mine    # a table in benchmarks/results, too
python -m benchmarks.programs --memory             # peaks, planned and measured
python -m benchmarks.programs --compile            # next to torch.compile, too: a minute per step
python -m benchmarks.programs --jax                # five steps next to jax.jit (pip install jax)
"""

import argparse
import gc
import importlib
import statistics
from collections.abc import Callable
from typing import Any

from benchmarks import report
from benchmarks.amp import least_of
from benchmarks.steps import STEPS, classifier_step
from benchmarks.turns import OURS


def tiny(torch: Any) -> Callable[[], Any]:
    """20-32-32-5, batch 8, Adam."""
    nn: Any = torch.nn
    model = nn.Sequential(
        nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 5)
    )
    return classifier_step(torch, model, torch.randn(8, 20), torch.randint(0, 5, (8,)))


def by_hand(torch: Any, kind: str, batch: int = 16, steps: int = 24) -> Callable[[], Any]:
    """A recurrent cell of simple ops in a Python loop, 32 to 64, Adam."""
    nn: Any = torch.nn
    gates = {"LSTM": 4, "GRU": 3}[kind]

    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.x, self.h = nn.Linear(32, gates * 64), nn.Linear(64, gates * 64)
            self.out = nn.Linear(64, 5)

        def forward(self, x: Any) -> Any:
            h = c = torch.zeros(batch, 64)
            for t in range(steps):
                a, b = self.x(x[t]), self.h(h)
                if kind == "LSTM":
                    i, f, g, o = (a + b).chunk(4, 1)
                    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                    h = torch.sigmoid(o) * torch.tanh(c)
                else:
                    (r, z, n), (s, y, m) = a.chunk(3, 1), b.chunk(3, 1)
                    update = torch.sigmoid(z + y)
                    h = (1 - update) * torch.tanh(n + torch.sigmoid(r + s) * m) + update * h
            return self.out(h)

    x, y = torch.randn(steps, batch, 32), torch.randint(0, 5, (batch,))
    return classifier_step(torch, Cell(), x, y)


def gelu(torch: Any, n: int = 1_000_000) -> Callable[[], Any]:
    """GELU's approximation by tanh in eight simple ops."""
    x = torch.randn(n)
    return lambda: 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x)))


WARM_UP = 4  # calls in which a compiled step is compiled, some of its parts more than once

MODELS: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "MLP, tiny": tiny,
    "LSTM by hand": lambda torch: by_hand(torch, "LSTM"),
    "GRU by hand": lambda torch: by_hand(torch, "GRU"),
    "GELU by hand": gelu,
    **{name: make for name, (make, _) in STEPS.items()},
}


def peaks(make: Callable[[Any], Callable[[], Any]], passes: dict[str, bool]) -> list[int]:
    """Bytes: the model's own, the peaks of eager and of the program, and the planned one."""
    torch, core = importlib.import_module(OURS), importlib.import_module(f"{OURS}._core")
    programs = importlib.import_module(f"{OURS}.program")
    gc.collect()
    before = core.memory_statistics()["allocated"]
    step = make(torch)
    first, planned = [
        programs.plan(programs.record(step, passes=passes))
        for _ in range(2)  # a later one finds gradients
    ]

    def peak(step: Callable[[], Any]) -> int:
        for _ in range(2):
            step()
        gc.collect()
        core.reset_peak_memory()
        step()
        return core.memory_statistics()["peak_allocated"] - before

    state = first.outside_bytes
    program = peak(programs.record(step, fullgraph=True, passes=passes))
    return [first.given_bytes + state, peak(step), program, planned.peak_bytes + state]


def memory_table(names: list[str], machine: str, passes: dict[str, bool]) -> list[str]:
    """Peaks over the model's own memory: parameters, optimizer's state, arguments."""
    said = ", ".join([f"{name} {'on' if on else 'off'}" for name, on in passes.items()])
    lines = [
        "# Memory of training steps as programs",
        "",
        f"{machine}; MiB. Over the model's own: gradients, activations, scratch memory of kernels. "
        f"Passes: {said or 'as they are by default'}.",
        "",
        "| step | the model's own | eager, over it | program, over it | to eager | peak | planned "
        "| to the peak |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    ratios = []
    for name in names:
        try:
            own, eager, program, planned = peaks(MODELS[name], passes)
        except RuntimeError as why:
            print(f"{name}: {why}")
            continue
        ratios.append((program - own) / (eager - own))
        sizes = [f"{size / report.MIB:.2f}" for size in (own, eager - own, program - own)]
        cells = [name, *sizes, f"{ratios[-1]:.2f}", f"{program / report.MIB:.2f}"]
        cells += [f"{planned / report.MIB:.2f}", f"{planned / program:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return [*lines, "", f"To eager: {statistics.geometric_mean(ratios):.2f}, geometric mean."]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs")
    option = parser.add_argument
    option("--against", default="torch", help="module to compare with")
    option("--only", nargs="+", default=[""], help="parts of the names of steps")
    option("--rounds", type=int, default=15)
    option("--threads", type=int, default=2)
    option("--machine", default=report.machine_in_words(), help="the machine, in words")
    option("--passes", nargs="+", default=[], help="turned on; with no- before the name, off")
    option("--compile", action="store_true", help="next to the other's compile, too")
    option("--jax", action="store_true", help="the steps of jax_steps.py, next to those")
    option("--memory", action="store_true", help="peaks of memory, not times")
    option("--out", help="name of the file in benchmarks/results/")
    args = parser.parse_args()
    passes = {name.removeprefix("no-"): not name.startswith("no-") for name in args.passes}
    names = [name for name in MODELS if any(part in name for part in args.only)]
    in_jax = importlib.import_module("benchmarks.jax_steps").STEPS if args.jax else {}
    if args.jax:
        names = [name for name in names if name in in_jax]
    if args.memory:
        importlib.import_module(OURS).set_num_threads(args.threads)
        text = "\n".join(memory_table(names, f"{args.machine}; {args.threads} threads", passes))
        return report.publish(text + "\n", args.out)
    ours, theirs = importlib.import_module(OURS), importlib.import_module(args.against)
    record = importlib.import_module(f"{OURS}.program").record
    lines = [
        "# Training steps as programs",
        "",
        f"{args.machine}; {args.threads} threads; least of {args.rounds} rounds, in turns. A step "
        "is forward, backward and optimizer; the first is recorded.",
        "",
        f"| step | eager | program | to eager | {args.against}, eager | to that | first two |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in [f"{args.against}.compile"] * args.compile + ["jax.jit"] * args.jax:
        lines[-2] += f" {name} | to that |"
        lines[-1] += "--:|--:|"
    for torch in (ours, theirs):
        torch.set_num_threads(args.threads)
    for name in names:
        steps = []
        for torch in (ours, ours, theirs):
            torch.manual_seed(0)
            steps.append(MODELS[name](torch))
        program = steps[1] = record(steps[1], passes=passes)
        first = sum(least_of([program], 0) + least_of([program], 0))
        if args.compile:
            torch.manual_seed(0)
            steps.append(theirs.compile(MODELS[name](theirs)))
            least_of(steps[-1:], WARM_UP)
        if args.jax:
            steps.append(in_jax[name]())
        eager, recorded, other, *compiled = least_of(steps, args.rounds)
        cells = [
            name, report.show_time(eager), report.show_time(recorded), f"{recorded / eager:.2f}",
            report.show_time(other), f"{recorded / other:.2f}",
            "not recorded" if program.refusals else report.show_time(first),
            *[text for t in compiled for text in (report.show_time(t), f"{recorded / t:.2f}")],
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], *program.refusals, sep="\n", flush=True)
    report.publish("\n".join(lines) + "\n", args.out)


if __name__ == "__main__":
    main()
