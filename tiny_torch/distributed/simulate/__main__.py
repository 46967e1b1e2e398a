"""`python -m tiny_torch.distributed.simulate`: a table, and a page, of a recorded step.

    from tiny_torch.distributed.simulate import record_step
    record_step(net, adam, loss_of).save(Path("step.json"))

    python -m tiny_torch.distributed.simulate step.json --latency 20e-6 --bandwidth 1.25e9 \\
        --straggling 0.001 --slowdown 2 --between-failures 1e7 --page simulation.html

Without a file, it records a step of a small perceptron. Latency in seconds, bandwidth in bytes a
second.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import tiny_torch as torch
from tiny_torch.distributed.simulate.page import format_rows, page, simulate
from tiny_torch.distributed.simulate.step import Step, record_step
from tiny_torch.distributed.simulate.strategies import Link
from tiny_torch.distributed.simulate.weather import Weather

WORKERS = (2, 4, 8, 16, 64, 256, 1_000, 10_000)


def positive(text: str) -> float:
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text} is no positive number")
    return number


def probability(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 1")
    return number


def worker_count(text: str) -> int:
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError(f"{text} is less than 2 workers")
    return number


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tiny_torch.distributed.simulate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("step", nargs="?", type=Path, help="what record_step has saved")
    add("--latency", type=positive, default=20e-6, help="of a message; default: 20e-6")
    add("--bandwidth", type=positive, default=1.25e9, help="of a link; default: 1.25e9")
    add("--workers", type=worker_count, nargs="+", default=WORKERS, help="default: 2 to 10,000")
    add("--straggling", type=probability, default=0.0, help="how likely a worker is slow in a step")
    add("--slowdown", type=positive, default=2.0, help="how many times as long it computes then")
    add("--between-failures", type=positive, default=float("inf"), help="seconds, of one worker")
    add("--checkpoint", type=positive, default=30.0, help="seconds to write one; default: 30")
    add("--restart", type=positive, default=60.0, help="seconds after a failure; default: 60")
    add("--page", type=Path, help="writes a page with curves, too")
    return made


def step_of_perceptron() -> Step:
    torch.manual_seed(0)
    nn = torch.nn
    layers = [nn.Sequential(nn.Linear(512, 512), nn.ReLU()) for _ in range(8)]
    net = nn.Sequential(*layers, nn.Linear(512, 10))
    x, y = torch.randn(128, 512), torch.arange(128) % 10
    adam = torch.optim.Adam(net.parameters())
    return record_step(net, adam, lambda net: nn.functional.cross_entropy(net(x), y))


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table of the command line's arguments."""
    options = parser().parse_args(arguments)
    try:
        step = Step.load(options.step) if options.step else step_of_perceptron()
    except (OSError, ValueError) as error:
        sys.exit(f"{options.step}: {error}")
    weather = Weather(
        options.straggling, options.slowdown, options.between_failures, options.checkpoint,
        options.restart,
    )  # fmt: skip
    link = Link(options.latency, options.bandwidth)
    rows = simulate(step, link, weather, options.workers)
    about = (
        f"One worker: {step.seconds * 1e3:.2f} ms a step, {step.parameters / 2**20:.1f} MiB of "
        f"parameters in {len(step.layers)} layers. Links: {link.latency * 1e6:g} us, "
        f"{link.bandwidth / 1e9:g} GB/s."
    )
    print(f"{about}\n\n{format_rows(rows)}")
    if options.page:
        options.page.write_text(page(rows, about))
        print(f"\nwrote {options.page}")


if __name__ == "__main__":
    main()
