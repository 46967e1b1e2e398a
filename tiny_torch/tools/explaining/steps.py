"""What a watch has noted, as steps in the order in which they ran, each with its facts in words.

A fact is a label and some lines. What is not known is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd._profiler.costs import flops_of
from tiny_torch.autograd._profiler.events import Row
from tiny_torch.autograd.graph import Op
from tiny_torch.autograd.record import BACKWARD, IN_PLACE, OUT, RANGE, aten_name
from tiny_torch.tools.explaining import places
from tiny_torch.tools.explaining.rules import broadcasting, promotion, text_of_dtype
from tiny_torch.tools.explaining.watching import Launch, Memory, Note, Place, Value, Watch
from tiny_torch.utils.sizes import size_text

# Families whose kernels read each element of their inputs, and write each of their result.
WHOLE = {
    "attention", "batch_norm", "cast", "conv", "cross_entropy", "fold", "join", "layer_norm",
    "losses", "matmul", "pool", "reduce", "scan", "softmax",
}  # fmt: skip
# From how much work on a second thread pays: kGrain of src/cpu/infra/parallel.h, kParallelWork of
# src/cpu/infra/tasks.h.
GRAIN, PARALLEL_WORK = 32768, 256 * 1024


class Step:
    """One op, one node of backward, a block with a name, or kernels that no op has run."""

    def __init__(self, title: str, path: list[Place]) -> None:
        self.title = title  # "aten::mm", "MmBackward0"
        self.path = path
        self.facts: dict[str, list[str]] = {}
        self.steps: list[Step] = []
        self.note: Note | None = None
        self.number = 0
        self.time = self.call = 0  # ns: in its kernels; of the whole call

    @property
    def source_text(self) -> str:
        """The piece of source that made it: "a.T @ b"."""
        return self.path[-1].text if self.path else ""

    @property
    def where(self) -> str:
        return self.path[-1].where if self.path else ""

    def all(self) -> Iterator[Step]:
        """This one and those within, as they began."""
        yield self
        for step in self.steps:
            yield from step.all()

    def __repr__(self) -> str:
        return f"<Step {self.number}: {self.source_text} {self.title}>"


class Timed:
    """A row of the record, and what ran within it but in no row within."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.launches: list[Launch] = []
        self.repeats: list[list[Launch]] = []
        self.memory: list[Memory] = []
        self.within: list[Timed] = []


def nest(watch: Watch) -> list[Timed | Launch]:
    """Rows as they lie within one another, and between them kernels of no row."""
    top: list[Any] = []
    every = [Timed(Row(*row)) for row in watch.rows]
    last = max([each.row.end for each in every], default=0)
    open_rows: list[Timed] = []
    for each in every:
        while open_rows and (open_rows[-1].row.end or last) <= each.row.start:
            open_rows.pop()
        (open_rows[-1].within if open_rows else top).append(each)
        open_rows.append(each)

    def innermost(time: int) -> Timed | None:
        found = None
        for each in every:
            if each.row.start <= time <= (each.row.end or last):
                found = each  # later ones lie within
        return found

    windows = [
        (start, stop, each)
        for each in every
        if isinstance(each.row.arguments, Note)
        for start, stop in each.row.arguments.windows
    ]
    for each in every:
        if isinstance(each.row.arguments, Note):
            each.repeats = [[] for _ in each.row.arguments.windows]
    for launch in watch.launches:
        window = next((w for w in windows if w[0] <= launch.start <= w[1]), None)
        if window is not None:
            note = window[2].row.arguments
            window[2].repeats[note.windows.index(window[:2])].append(launch)
        elif not any(start <= launch.start <= stop for start, stop in watch.own):
            owner = innermost(launch.start)
            (owner.launches if owner else top).append(launch)
    for memory in watch.memory:
        owner = innermost(memory.time)
        if owner is not None:
            owner.memory.append(memory)
    return sorted(top, key=lambda x: x.row.start if isinstance(x, Timed) else x.start)


class Steps:
    """The steps of a watch that is over."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.count = 0
        self.of_notes: dict[int, Step] = {}
        self.loose: Step | None = None
        self.found: list[Step] = []
        for each in nest(watch):
            if isinstance(each, Timed):
                self.loose = None
                self.found.append(self.step(each))
            else:
                self.add_loose(each)

    # ---- one step ----------------------------------------------------------------------------

    def step(self, timed: Timed) -> Step:
        row, note = timed.row, timed.row.arguments
        noted = note if isinstance(note, Note) else None
        title = row.what
        if not isinstance(title, str):
            title = aten_name(title, row.form == IN_PLACE, row.hint)
        step = Step(title, noted.path if noted else [])
        self.count += 1
        step.number, step.note = self.count, noted
        step.call = max(row.end - row.start, 0) - (noted.spent if noted else 0)
        if noted:
            self.of_notes[id(noted)] = step
            self.tell(step, noted, timed)
        step.steps = [self.step(each) for each in timed.within]
        return step

    def tell(self, step: Step, note: Note, timed: Timed) -> None:
        facts = step.facts
        if note.form != RANGE:
            facts["op"] = places.of_op(note.op, note.form == BACKWARD)
        facts["in"] = self.told_inputs(note)
        walk = next((x.walk for x in timed.launches if x.walk and x.family == "elementwise"), None)
        if walk or (isinstance(note.op, type) and issubclass(note.op, Op) and note.op.broadcasts):
            names = [self.name(x, i) for i, x in enumerate(note.inputs)]
            operands = [x for x in note.inputs if x.dtype is not None or is_number(x)]
            names = [n for n, x in zip(names, note.inputs, strict=True) if x in operands]
            facts["dtype"] = promotion(names, operands, walk, timed.launches)
            if note.results:
                facts["broadcast"] = broadcasting(names, operands, note.results[0].shape)
        facts["out"] = self.told_results(note, timed)
        facts["kept"] = self.told_kept(note)
        facts["kernel"] = told_kernels(timed)
        facts["memory"] = self.told_memory(note, timed)
        self.tell_time(step, note, timed)
        step.facts = {label: lines for label, lines in facts.items() if lines}

    def name(self, x: Value, i: int) -> str:
        if x.name or x.dtype is None:
            return x.name or x.text
        made_by = self.of_notes.get(id(x.source))
        if made_by is None:
            return f"input {i + 1}"
        text = made_by.source_text
        same = [s for s in self.of_notes.values() if s.path == made_by.path]
        if text and len(text) <= 30 and same[-1] is made_by:
            return text
        return f"({made_by.number})"

    def told_inputs(self, note: Note) -> list[str]:
        lines, settings = [], []
        for i, x in enumerate(note.inputs):
            name = self.name(x, i)
            if x.dtype is None:
                if x.text != "None" and not x.text.startswith("<"):
                    settings.append(x.text)
            else:
                lines.append(f"{name}: {layout_text(x)}" + (f", a view of {x.base}" * bool(x.base)))
        return lines + ([", ".join(settings)] if settings else [])

    def told_results(self, note: Note, timed: Timed) -> list[str]:
        lines = []
        for y in note.results:
            if y.dtype is None:
                continue
            same = [
                (self.name(x, i), x) for i, x in enumerate(note.inputs)
                if x.storage and x.storage == y.storage
            ]  # fmt: skip
            line = layout_text(y)
            if note.form == IN_PLACE:
                line += f", written over {self.name(note.inputs[0], 0)}"
            elif note.form == OUT:
                line += ", written where the caller said"
            elif same and not timed.launches:
                line += f": a view of {same[0][0]}, no kernel ran"
            elif same:
                line += f", in the memory of {same[0][0]}"
            lines.append(line)
        return lines

    def told_memory(self, note: Note, timed: Timed) -> list[str]:
        """What was copied and why, and what was not although it is not contiguous."""
        lines = []
        copied = set()
        for launch in timed.launches:
            if launch.family != "cast" or not launch.walk:
                continue
            _, _, _, operands = launch.walk
            if len(operands) != 2:
                continue
            (to, to_dtype, _), (source, dtype, _) = operands
            found = [
                (self.name(x, i), x) for i, x in enumerate(note.inputs)
                if x.address and x.address == source
            ]  # fmt: skip
            if not found:
                continue
            name, x = found[0]
            copied.add(x.storage)
            own = any(y.address == to for y in note.results)
            where = "the result" if own else "new memory"
            how = "copied"
            if dtype is not to_dtype:
                how = f"converted from {text_of_dtype(dtype)} to {text_of_dtype(to_dtype)}"
            why = "" if own or x.contiguous else ", because it is not contiguous"
            size = size_text(x.elements * to_dtype.itemsize)
            lines.append(f"{name} was {how} into {where} ({size}){why}")
        results = {y.storage for y in note.results}
        extra = [m.size for m in timed.memory if m.size > 0 and m.storage not in results]
        families = {launch.family for launch in timed.launches} - {None}
        for i, x in enumerate(note.inputs):
            if x.dtype is None or x.contiguous or x.storage in copied or not families or extra:
                continue
            how = "the kernel got its strides"
            if families == {"matmul"}:
                how = "the kernel got its strides, and packs what it needs while it multiplies"
            lines.append(f"{self.name(x, i)} is not contiguous: {how}, no copy")
        if extra and not copied:
            lines.append(f"{size_text(sum(extra))} of memory beside the result, while it ran")
        return lines

    def told_kept(self, note: Note) -> list[str]:
        """What backward will need, and whose memory that is."""
        if note.form == BACKWARD or not note.results:
            return []
        if note.kept is None:
            return [f"nothing, as {note.unrecorded}"] if note.unrecorded else []
        if not note.kept:
            return ["no tensor, only the node"]
        names = [self.name(x, i) for i, x in enumerate(note.inputs)]
        names += ["the result"] * len(note.results) + ["a value of its own"]
        parts = [f"{names[at]} ({size_text(count)})" for at, count in note.kept]
        new = sum(count for at, count in note.kept if at < 0)
        tail = f"{size_text(new)} of new memory" if new else "no new memory"
        return [f"{', '.join(parts)}: {tail}"]

    # ---- times -------------------------------------------------------------------------------

    def tell_time(self, step: Step, note: Note, timed: Timed) -> None:
        lines = []
        launches = timed.launches
        whole = [r for r in timed.repeats if [x.name for x in r] == [x.name for x in launches]]
        runs = [launches, *whole]
        if launches:
            step.time = min(sum(x.end - x.start for x in run) for run in runs)
            line = f"{text_of_time(step.time)} in kernels"
            line += f", the best of {len(runs)} runs" if len(runs) > 1 else ", measured once"
            lines.append(line + (f": {note.once}" if note.once and len(runs) == 1 else ""))
        if note.windows:
            best = min(stop - start for start, stop in note.windows)
            lines.append(
                f"{text_of_time(best)} for forward in all, the best of {len(note.windows)}"
            )
            step.time = step.time or best  # a view runs no kernel; its first call is a slow one
        lines.append(f"{text_of_time(step.call)} for the call as it ran")
        step.facts["time"] = lines
        moved = [x.walk for x in launches if x.walk]
        sizes = None
        if launches and len(moved) == len(launches):
            sizes = [sum(part) for part in zip(*map(bytes_of_walk, moved), strict=True)]
            least = ""
        elif {x.family for x in launches} - {"cast"} <= WHOLE and launches and note.results:
            inputs = {(x.storage, x.address, x.shape): x.nbytes for x in note.inputs}
            sizes = [sum(inputs.values()), sum(y.nbytes for y in note.results)]
            least = "at least "
        if sizes:
            rate = f"{sum(sizes) / max(step.time, 1):.3g} GB/s"
            read, wrote = map(size_text, sizes)
            step.facts["moved"] = [f"{least}{read} read, {wrote} written: {least}{rate}"]
        if note.form != BACKWARD and not isinstance(note.what, str) and launches:
            described = [
                (x.shape, x.dtype) if x.dtype is not None else argument
                for x, argument in zip(note.inputs, note.settings, strict=True)
            ]
            operations = flops_of(note.what, described)
            if operations and note.results[0].dtype.is_floating_point:
                rate = f"{operations / max(step.time, 1):.3g} GFLOP/s"
                step.facts["work"] = [f"{operations:,} floating point operations: {rate}"]

    def add_loose(self, launch: Launch) -> None:
        """A kernel outside of ops: where a tensor is made, as in `torch.ones(3)`."""
        before = [m for m in self.watch.memory if m.path and m.time <= launch.start]
        path = before[-1].path if before else []
        if self.loose is None or self.loose.path != path:
            self.count += 1
            self.loose = Step("kernels of no op", path)
            self.loose.number = self.count
            self.found.append(self.loose)
        step = self.loose
        step.time += launch.end - launch.start
        step.facts.setdefault("kernel", []).extend(told_kernel(launch))
        step.facts["time"] = [f"{text_of_time(step.time)} in kernels, measured once"]


def is_number(x: Value) -> bool:
    return x.dtype is None and x.text.replace(".", "").replace("-", "")[:1].isdigit()


def layout_text(x: Value) -> str:
    """What a tensor is: "(2, 3) float32, strides (3, 1)"."""
    text = f"{tuple(x.shape)} {text_of_dtype(x.dtype)}, strides {tuple(x.strides)}"
    if not x.contiguous:
        text += ", not contiguous"
    return text + (f", on {x.device}" if x.device != "cpu" else "")


def told_kernels(timed: Timed) -> list[str]:
    lines = []
    best = {
        i: min(x.end - x.start for x in runs)
        for i, runs in enumerate(zip(*timed.repeats, strict=False))
        if len(timed.repeats[0]) == len(timed.launches)
    } if timed.repeats else {}  # fmt: skip
    for i, launch in enumerate(timed.launches[:20]):
        lines += told_kernel(launch, best.get(i))
    if len(timed.launches) > 20:
        lines.append(f"and {len(timed.launches) - 20} more")
    return lines


def told_kernel(launch: Launch, best: int | None = None) -> list[str]:
    """Which it was, where its source stands, the instruction set, threads, and its time."""
    if launch.family is None:
        name = "a kernel"
    else:
        dtype = f"[{text_of_dtype(launch.dtype)}]" if launch.dtype is not None else ""
        name = f"{launch.family}.{str(launch.name).replace('->', '.')}{dtype}"
    parts = [name]
    if launch.device != "cpu":
        parts.append(f"on {launch.device}")
    elif launch.family not in (None, "cast", "random"):  # whose inner loops are of another file
        parts.append(f"for {instruction_set(launch.built_once)}")
    if launch.device == "cpu":
        parts.append(threads(launch))
    took = launch.end - launch.start
    parts.append(text_of_time(took if best is None else min(best, took)))
    return [", ".join(parts), *places.of_kernel(launch.family, launch.name)]


def instruction_set(built_once: bool) -> str:
    ours = _core.instruction_set
    return "v2, as all machines have it" if built_once and ours.startswith("v") else ours


def threads(launch: Launch) -> str:
    """How many, and why not more."""
    most = torch.get_num_threads()
    if most == 1:
        return "1 thread, as there is no other"
    if launch.asked:
        return f"up to {most} threads"
    if launch.walk:
        count = 1
        for size in launch.walk[0]:
            count *= size
        if count <= GRAIN:
            return f"1 thread, as {count:,} elements do not pass the grain of {GRAIN:,}"
    if launch.family == "matmul":
        return f"1 thread, as a second one pays from {PARALLEL_WORK:,} multiply-adds on"
    return "1 thread, as the work is not worth a second one"


def bytes_of_walk(walk: Any) -> tuple[int, int]:
    """(read, written) by an elementwise kernel: an element that all share counts once."""
    shape, _, _, operands = walk
    sizes = []
    for _, dtype, strides in operands:
        count = dtype.itemsize
        for size, stride in zip(shape, strides, strict=True):
            count *= size if stride else 1
        sizes.append(count)
    return sum(sizes[1:]), sizes[0]


def text_of_time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"
