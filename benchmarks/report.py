"""The tables and the plot of what was measured."""

import argparse
import datetime
import os
import platform
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.turns import OURS, Result

MIB = 1 << 20


def machine_in_words() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [x.partition(":")[2].strip() for x in lines if "model name" in x]
    return f"{os.cpu_count()} cores, {models[0] if models else platform.machine()}"


def show_time(seconds: float) -> str:
    unit, scale = next((u, s) for u, s in [("ms", 1e3), ("µs", 1e6)] if seconds * s >= 1 or s > 1e3)
    return f"{seconds * scale:.3g} {unit}"


def shares(result: Result, limits: tuple[float, float]) -> tuple[float, ...]:
    """What the machine needs at least, as a share of the time that each took; () if not known."""
    least = max(x / limit for x, limit in zip(result.work, limits, strict=True))
    return tuple(least / seconds for seconds in result.medians) if least else ()


def memory_ratio(result: Result) -> float | None:
    """Of the peaks, ours to theirs; None where they were not measured or are below a MiB."""
    if not result.memory or max(result.memory) < MIB:
        return None
    return result.memory[0] / max(result.memory[1], 1)


def row(result: Result, limits: tuple[float, float]) -> str:
    low, high = result.spread
    met = result.ratio <= result.line.target
    memory = ""
    if result.memory and (of_memory := memory_ratio(result)) is not None:
        ours, theirs = (x / MIB for x in result.memory)
        memory = f"{ours:.1f} · {theirs:.1f} MiB ({of_memory:.2f})"
    columns = [
        result.line.name.replace("|", "\\|"),
        *map(show_time, result.medians),
        f"{result.ratio:.2f}",
        f"{low:.2f}-{high:.2f}",
        f"≤ {result.line.target}" if met else f"**≤ {result.line.target} missed**",
        " · ".join(f"{share:.0%}" for share in shares(result, limits)),
        memory,
    ]
    return "| " + " | ".join(columns) + " |"


def table(
    suite: str, results: list[Result], limits: tuple[float, float], them: str
) -> Iterator[str]:
    yield f"\n## {suite}\n"
    yield f"| line | {OURS} | {them} | ratio | over rounds | target | of the limit | peak memory |"
    yield "|---|--:|--:|--:|--:|---|--:|--:|"
    yield from (row(r, limits) for r in results)
    reached = sum(r.ratio <= r.line.target for r in results)
    times = statistics.geometric_mean(r.ratio for r in results)
    yield f"\n{reached} of {len(results)} reach their target; geometric mean of ratios {times:.2f}."
    memory = [ratio for r in results if (ratio := memory_ratio(r))]
    if memory:
        within = sum(x <= 1 for x in memory)
        mean = statistics.geometric_mean(memory)
        yield f"{within} of {len(memory)} take no more memory; geometric mean {mean:.2f}."


def report(
    suites: dict[str, list[Result]],
    limits: tuple[float, float],
    about: list[dict[str, Any]],
    args: argparse.Namespace,
) -> str:
    rejected = sum(r.rejected for results in suites.values() for r in results)
    ours, theirs = about
    lines = [
        f"# {OURS} {ours['version']} next to {args.against} {theirs['version']}",
        "",
        f"{args.machine}; {args.threads} threads; {datetime.date.today()}. The machine's limit, "
        f"measured in this run: {limits[0] / 1e9:.0f} GFLOP/s, {limits[1] / 1e9:.1f} GB/s.",
        f"Medians of {args.rounds} rounds; {rejected} more were not quiet enough to count. Ratio: "
        "time, ours to theirs.",
        "Of the limit: the time that multiply-adds or memory traffic need at least there, of the "
        "time taken; above 100 % is the cache's work.",
        f"Installed: {ours['size'] / MIB:.1f} MiB and {theirs['size'] / MIB:.0f} MiB.",
    ]
    for suite, results in suites.items():
        lines += table(suite, results, limits, args.against)
    return "\n".join(lines) + "\n"


def plot(suites: dict[str, list[Result]], path: Path, them: str) -> None:
    """Ratios of time and of peak memory, a bar each; needs matplotlib."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot as plt

    results = [r for suite in suites.values() for r in suite][::-1]
    places = range(len(results))
    figure, axes = plt.subplots(figsize=(8, 1 + 0.3 * len(results)), layout="constrained")
    axes.barh([y + 0.2 for y in places], [r.ratio for r in results], 0.38, label="time")
    memory = [(y - 0.2, ratio) for y, r in enumerate(results) if (ratio := memory_ratio(r))]
    if memory:
        axes.barh([y for y, _ in memory], [x for _, x in memory], 0.38, label="peak memory")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(places, [r.line.name for r in results])
    axes.margins(y=0.01)
    axes.set_xlabel(f"{OURS} / {them}")
    figure.legend(loc="outside upper right", ncols=2)
    plt.savefig(path, metadata={"Date": None})


def publish(text: str, name: str | None) -> None:
    """Prints a page of figures, and writes it to results/, if it is to have a name there."""
    print(text)
    if name:
        path = Path(__file__).parent / "results" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
