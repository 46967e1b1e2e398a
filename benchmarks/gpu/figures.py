"""Every line of lines.py, ours and PyTorch's in turns on one card: a row of a table at once.

python -m benchmarks.gpu.figures TABLE --device cuda --against torch --sizes FULL
"""

import argparse
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.gpu import lines
from benchmarks.gpu.lines import GpuLine
from benchmarks.report import show_time

ROUNDS = 2
SLOWEST = 10  # named at the end


class Worker:
    """A framework's process; after what breaks it or takes too long, another one."""

    def __init__(self, framework: str, device: str, sizes: str, patience: float) -> None:
        self.command = [sys.executable, "-m", "benchmarks.gpu.worker", framework, device, sizes]
        self.patience = patience
        self.process: subprocess.Popen | None = None

    def ask(self, name: str) -> dict[str, Any]:
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe)
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{name}\n".encode())
        self.process.stdin.flush()
        answer, ready = b"words", True
        while ready and answer and not answer.startswith(b"{"):  # a library may print, too
            ready = bool(select.select([self.process.stdout], [], [], self.patience)[0])
            answer = self.process.stdout.readline() if ready else b""
        if not answer:
            self.close()
            return {"error": "the process ended" if ready else f"longer than {self.patience:g} s"}
        said = json.loads(answer)
        if "lost" in said.get("error", ""):  # the context: no call works any more
            self.close()
        return said

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def measured(line: GpuLine, workers: list[Worker]) -> list[dict[str, Any]]:
    """An answer of each worker: its least time, or its first error."""
    answers: list[list[dict[str, Any]]] = [[] for _ in workers]
    for _ in range(ROUNDS):
        for worker, own in zip(workers, answers, strict=True):
            if not own or "error" not in own[0]:
                own.append(worker.ask(line.name))
    return [
        min(own, key=lambda a: a.get("seconds", 0.0))  # an error comes first
        for own in answers
    ]


def rate(line: GpuLine, seconds: float, sizes: dict[str, int]) -> str:
    work, moved = eval(line.work, dict(sizes)), eval(line.moved, dict(sizes))
    if work:
        return f"{work / seconds / 1e12:.1f} TFLOP/s"
    return f"{moved / seconds / 1e12:.2f} TB/s" if moved else ""


def row(line: GpuLine, answers: list[dict[str, Any]], sizes: dict[str, int]) -> str:
    times = [a.get("seconds") for a in answers]
    cells = [show_time(a["seconds"]) if "seconds" in a else a["error"] for a in answers]
    cells += [""] * (2 - len(cells))
    both = len(times) == 2 and all(times)
    return "| {} | {} | {} | {} | {} |".format(
        line.name,
        *(cell.replace("|", "\\|") for cell in cells),
        f"{times[0] / times[1]:.2f}" if both else "",  # type: ignore[operator]
        rate(line, times[0], sizes) if times[0] else "",
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.figures")
    option = parser.add_argument
    option("file", type=Path, help="the table, to which each line is added at once")
    option("--device", default="cuda")
    option("--against", default="", help="the other framework; none: ours alone")
    option("--their-device", default="cuda")
    option("--sizes", default="FULL", choices=["FULL", "TINY"])
    option("--quick", action="store_true", help="a line of each kind")
    option("--seconds", type=float, default=1e9, help="when to begin no more")
    option("--patience", type=float, default=60, help="seconds that a line may take")
    option("--state", type=Path, help="where ratios go, for step 5")
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    sizes = getattr(lines, args.sizes)
    workers = [Worker("tiny_torch", args.device, args.sizes, args.patience)]
    if args.against:
        workers.append(Worker(args.against, args.their_device, args.sizes, args.patience))
    chosen = [x for x in lines.make_lines() if not args.quick or x.name in lines.QUICK]
    if args.sizes == "TINY":
        chosen = [x for x in chosen if not x.name.startswith(lines.NOT_TINY)]
    ratios: dict[str, float] = {}
    failed: list[str] = []
    with args.file.open("w") as file:

        def say(text: str) -> None:
            print(text, file=file, flush=True)

        say(f"tiny_torch next to {args.against or 'nothing'}; {os.environ.get('TT_CARD', '')}\n")
        say("| line | ours | theirs | ratio | ours reaches |\n|---|--:|--:|--:|--:|")
        for line in chosen:
            if time.monotonic() > end:
                break
            answers = measured(line, workers)
            say(row(line, answers, sizes))
            if "error" in answers[0]:
                failed.append(line.name)
            elif len(answers) == 2 and "seconds" in answers[1]:
                ratios[line.name] = answers[0]["seconds"] / answers[1]["seconds"]
                if args.state:
                    args.state.write_text(json.dumps(ratios))
        for worker in workers:
            worker.close()
        slower = sorted((n for n in ratios if ratios[n] > 1), key=ratios.__getitem__, reverse=True)
        worst = ", ".join(f"{name} {ratios[name]:.1f}" for name in slower[:SLOWEST])
        said = (
            f"{len(ratios) + len(failed)} of {len(chosen)} lines, {len(failed)} failed"
            f"{': ' + ', '.join(failed[:3]) if failed else ''}; slower than theirs: {len(slower)}"
            f"{', the most ' + worst if slower else ''}"
        )
        say(f"\n{said}.")
    print(said)
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
