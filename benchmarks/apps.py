"""The apps under tiny_torch and under PyTorch, from the same files: seconds and what they reach.

    python -m benchmarks.apps                             # whole default runs, in turns
    python -m benchmarks.apps --epochs 2 --rounds 3       # short runs, for time alone
    python -m benchmarks.apps --only mlp rl --out mine    # a table in benchmarks/results, too

A run is a process of its own; its seconds are those from its start to its end, pictures included.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean, median

from benchmarks import report
from benchmarks.turns import OURS

APPS = Path(__file__).parents[1] / "apps"
# The last figure of a run's table that says what it reached.
REACHED = {
    "mlp": "test_accuracy",
    "cnn": "test_accuracy",
    "rnn": "test_perplexity",
    "gpt": "test_perplexity",
    "gan": "diversity",
    "vae": "test_loss",
    "diffusion": "test_loss",
    "rl": "greedy_return",
}


@dataclass
class Runs:
    """What the runs of an app under one framework took and reached."""

    seconds: list[float] = field(default_factory=list)  # from start to end
    training: list[float] = field(default_factory=list)
    epochs: int = 0
    figure: float = 0.0


def run(app: str, framework: str, args: argparse.Namespace, runs: Runs) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(APPS / f"{app}.py"), "--framework", framework]
        command += ["--threads", str(args.threads), "--out", folder]
        command += [] if args.epochs is None else ["--epochs", str(args.epochs)]
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        runs.seconds.append(time.perf_counter() - start)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        summary = json.loads(Path(folder, "summary.json").read_text())
    runs.training.append(summary["seconds"])
    runs.epochs = summary["options"]["epochs"]
    runs.figure = summary["last"][REACHED[app]]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.apps",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("--against", default="torch", help="framework to compare with")
    option("--only", nargs="+", default=list(REACHED), choices=list(REACHED))
    option("--epochs", type=int, help="epochs of each; by default as many as the app's own")
    option("--rounds", type=int, default=1, help="runs of each; medians are shown")
    option("--threads", type=int, default=2)
    option("--machine", default=report.machine_in_words(), help="the machine, in words")
    option("--out", help="name of the file in benchmarks/results/")
    args = parser.parse_args()

    lines = [
        f"# The apps, next to {args.against}",
        "",
        f"{args.machine}; {args.threads} threads; medians of {args.rounds}, in turns. Seconds of "
        "whole processes, and of training alone.",
        "",
        f"| app | epochs | {OURS} | {args.against} | ratio | training | {args.against} | ratio "
        f"| figure | {OURS} | {args.against} |",
        "|---|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|",
    ]
    ratios: list[tuple[float, float]] = []
    for app in args.only:
        both = {OURS: Runs(), args.against: Runs()}
        for _ in range(args.rounds):
            for framework, runs in both.items():
                run(app, framework, args, runs)
        ours, other = both.values()
        whole = median(ours.seconds), median(other.seconds)
        training = median(ours.training), median(other.training)
        ratios.append((whole[0] / whole[1], training[0] / training[1]))
        lines.append(
            f"| {app} | {ours.epochs} | {whole[0]:.1f} | {whole[1]:.1f} | {ratios[-1][0]:.2f} "
            f"| {training[0]:.1f} | {training[1]:.1f} | {ratios[-1][1]:.2f} "
            f"| {REACHED[app]} | {ours.figure:.4g} | {other.figure:.4g} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    whole_mean, training_mean = map(geometric_mean, zip(*ratios, strict=True))
    lines.append(f"| geometric mean | | | | {whole_mean:.2f} | | | {training_mean:.2f} | | | |")
    text = "\n".join(lines) + "\n"
    print(text)
    if args.out:
        Path(__file__).parent.joinpath("results", f"{args.out}.md").write_text(text)


if __name__ == "__main__":
    main()
