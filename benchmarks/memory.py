"""Time and peak activation memory of checkpointed steps, next to the plain step and to PyTorch.

    python -m benchmarks.memory                       # each way in turns, in processes of their own
    python -m benchmarks.memory --model mlp --width 1024 --rounds 9 --out mine

A step is forward and backward; parameters and their gradients are there before, so that what is
counted is activations alone (worker.py: pages resident at the peak). Times are the least of all
rounds. `--out NAME` writes the table to benchmarks/results, and draws memory against time where
matplotlib is installed.

The forward pass of this MLP takes 38 % of its step at width 512, because GELU and dropout cost more
forward than backward: 7/8 of it once more are 1.33 times the plain step, before caches.
"""

import argparse
import functools
import importlib
import json
from collections.abc import Callable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.line import Line
from benchmarks.steps import gpt
from benchmarks.turns import OURS, Worker

LAYERS, BATCH = 64, 512
# Ways through the layers; a number is that of segments.
WAYS = {"mlp": ["plain", "2", "4", "sqrt", "16", "selective"], "gpt": ["plain", "blocks"]}
# Ours, to our plain step: time, and memory.
TARGETS = {"sqrt": (1.35, 0.25 + 1 / LAYERS), "selective": (1.1, 0.6), "blocks": (1.35, 0.35)}


def mlp(torch: Any, way: str, width: int) -> Callable[[], None]:
    """64 layers, each Linear, GELU and Dropout."""
    nn: Any = torch.nn
    checkpoints = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    layers = [
        nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Dropout(0.1)) for _ in range(LAYERS)
    ]
    model = nn.Sequential(*layers)
    x = torch.randn(BATCH, width)
    if torch.__name__ == OURS:
        keep = checkpoints.selective
    else:
        contexts = checkpoints.create_selective_checkpoint_contexts
        keep = functools.partial(contexts, [torch.ops.aten.addmm.default])

    def step() -> None:
        y = x
        if way == "plain":
            y = model(y)
        elif way == "selective":
            for k in range(0, LAYERS, 8):
                y = checkpoints.checkpoint(
                    model[k : k + 8], y, use_reentrant=False, context_fn=keep
                )
        else:
            segments = 8 if way == "sqrt" else int(way)
            y = checkpoints.checkpoint_sequential(model, segments, y, use_reentrant=False)
        y.sum().backward()

    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    return step


def transformer(torch: Any, way: str, width: int) -> Callable[[], None]:
    """GPT of 12 layers, each of which is checkpointed by "blocks"."""
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint

    def through(blocks: Any, h: Any) -> Any:
        for block in blocks:
            h = block(h) if way == "plain" else checkpoint(block, h, use_reentrant=False)
        return h

    return gpt(torch, fused_attention=True, layers=12, through=through, optimizer=False)


def step_of(torch: Any, model: str, way: str, width: int) -> Callable[[], None]:
    torch.manual_seed(0)
    return {"mlp": mlp, "gpt": transformer}[model](torch, way, width)


def line_of(model: str, way: str, width: int = 512) -> Line:
    prepare = f"from benchmarks.memory import step_of\nstep = step_of(torch, {(model, way, width)})"
    return Line(f"{model}, {way}", 1.0, prepare.replace("(torch, (", "(torch, *("), "step()")


def make_lines() -> list[Line]:
    return [line_of(model, way) for model, ways in WAYS.items() for way in ways]


def measured(model: str, args: argparse.Namespace) -> dict[tuple[str, str], tuple[float, int]]:
    """Seconds and bytes by way and framework."""
    keys = [(way, framework) for way in WAYS[model] for framework in (OURS, args.against)]
    workers = {key: Worker(key[1], args.threads) for key in keys}
    memory, seconds = {}, {key: float("inf") for key in keys}
    for key, worker in workers.items():
        line = asdict(line_of(model, key[0], args.width))
        worker.ask(json.dumps({**line, "statement": "pass"}))  # what is there before: parameters
        memory[key] = worker.ask(json.dumps(line))["memory"]
    for _ in range(args.rounds):
        for key, worker in workers.items():
            seconds[key] = min(seconds[key], worker.ask(""))
    for worker in workers.values():
        worker.close()
    return {key: (seconds[key], memory[key]) for key in keys}


def table(model: str, found: dict, args: argparse.Namespace) -> list[str]:
    them = args.against
    lines = [
        f"\n## {model}\n",
        f"| way | {OURS} | to plain | memory | to plain | target | {them} | to plain | memory "
        "| to plain |",
        "|---|--:|--:|--:|--:|---|--:|--:|--:|--:|",
    ]
    for way in WAYS[model]:
        cells = []
        for framework in (OURS, them):
            seconds, size = found[way, framework]
            plain_seconds, plain_size = found["plain", framework]
            times, share = seconds / plain_seconds, size / plain_size
            cells += [report.show_time(seconds), f"{times:.2f}"]
            cells += [f"{size / report.MIB:.1f} MiB", f"{share:.2f}"]
            if framework == OURS:
                limits = zip((times, share), TARGETS.get(way, ()), strict=False)
                words = [f"≤ {limit:.2f}" + " missed" * (x > limit) for x, limit in limits]
                cells.append(" · ".join(words))
        lines.append("| " + " | ".join([way, *cells]) + " |")
    return lines


def draw(found: dict, path: Path, them: str) -> None:
    """Memory against time of the MLP's ways; needs matplotlib."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for framework in (OURS, them):
        points = [(way, *found[way, framework]) for way in WAYS["mlp"]]
        axes.scatter([s for _, s, _ in points], [m / report.MIB for *_, m in points])
        for way, seconds, memory in points:
            axes.annotate(f" {way}", (seconds, memory / report.MIB))
    axes.legend([OURS, them])
    axes.set_xlabel("seconds of a step")
    axes.set_ylabel("peak of activations, MiB")
    axes.set_ylim(bottom=0)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("--against", default="torch", help="module to compare with")
    option("--model", nargs="+", default=list(WAYS), choices=list(WAYS))
    option("--width", type=int, default=512, help="of the MLP's layers")
    option("--rounds", type=int, default=5)
    option("--threads", type=int, default=2)
    option("--machine", default=report.machine_in_words(), help="the machine, in words")
    option("--out", help="name of the files in benchmarks/results/")
    args = parser.parse_args()

    lines = [f"# Checkpoints: {OURS} next to {args.against}\n"]
    lines.append(f"{args.machine}; {args.threads} threads; MLP of width {args.width}, batch "
                 f"{BATCH}; least times of {args.rounds} rounds in turns.")  # fmt: skip
    folder = Path(__file__).parent / "results"
    for model in args.model:
        found = measured(model, args)
        lines += table(model, found, args)
        print("\n".join(lines[-len(WAYS[model]) - 3 :]), flush=True)
        if args.out and model == "mlp" and find_spec("matplotlib"):
            draw(found, folder / f"{args.out}.svg", args.against)
    if args.out:
        (folder / f"{args.out}.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
