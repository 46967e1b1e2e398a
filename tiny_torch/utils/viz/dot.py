"""A drawing as a picture, laid out by Graphviz' program `dot`."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator

from tiny_torch.utils.sizes import size_text
from tiny_torch.utils.viz.facts import Facts, Operation, Source, count_text

MOST = 400  # boxes, which `dot` takes some seconds for
SECONDS = 120
HEAD = """\
digraph {
  rankdir=TB; bgcolor="transparent"; fontname="sans-serif"; fontsize=11; color="#8a94a0";
  fontcolor="#66707d";
  node [shape=box style="filled,rounded" fillcolor="#e8edf3" color="#8a94a0" fontname="sans-serif"
    fontsize=11 margin="0.12,0.05"];
  edge [color="#66707d" arrowsize=0.7 fontname="sans-serif" fontsize=9 fontcolor="#66707d"];"""


def svg(facts: Facts) -> str:
    """The picture's text. Raises RuntimeError where `dot` is not installed, or fails."""
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(
            "to_svg needs Graphviz' program `dot`, which is not installed (apt install graphviz, "
            "brew install graphviz); to_text() and to_html() work without it"
        )
    source = "\n".join([HEAD, *Boxes(facts).lines(), "}"])
    try:
        done = subprocess.run(
            [program, "-Tsvg"], input=source.encode(), capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"to_svg: `dot` was not done after {SECONDS} s; to_html() is") from None
    if done.returncode:
        raise RuntimeError(f"to_svg: `dot` failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


class Boxes:
    """The graph in dot's language: a box for each op, or for each module where ops are many."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.depth = self.depth_of_boxes()
        self.boxes = {op.number: self.box(op, self.depth) for op in facts.ops}

    def depth_of_boxes(self) -> int | None:
        """So deep are the modules that are boxes, as there is room; None: ops are."""
        ops = self.facts.ops
        if len(ops) <= MOST:
            return None
        for depth in range(max(len(op.modules) for op in ops), 0, -1):
            if len({op.modules[:depth] for op in ops}) <= MOST:
                return depth
        raise ValueError(f"to_svg: {len(ops):,} ops are too many for `dot`; to_html() folds them")

    @staticmethod
    def box(op: Operation, depth: int | None) -> str:
        return f"op{op.number}" if depth is None else "module " + "/".join(op.modules[:depth])

    def lines(self) -> Iterator[str]:
        by_box: dict[str, list[Operation]] = {}
        for op in self.facts.ops:
            by_box.setdefault(self.boxes[op.number], []).append(op)
        yield from self.clusters(by_box)
        used = {s.number for op in self.facts.ops for s in op.sources if s.kind == "leaf"}
        with_leaves = len(used) <= MOST
        for number in sorted(used) if with_leaves else ():
            leaf = self.facts.leaves[number - 1]
            label = quote(f"{leaf.name}\n{leaf.kind}")
            yield f'  leaf{number} [label={label} fillcolor="#cfe2f7" shape=ellipse];'
        yield from self.edges(with_leaves)
        for i, root in enumerate(self.facts.roots):
            if root.source.kind == "op":
                label = quote(f"{root.name}\n{root.kind}")
                yield f'  root{i} [label={label} fillcolor="#d5efd9"];'
                yield f"  {quote(self.boxes[root.source.number])} -> root{i};"

    def clusters(self, by_box: dict[str, list[Operation]]) -> Iterator[str]:
        """The boxes, within frames for the modules in which they ran."""
        frames: dict[tuple[str, ...], list[str]] = {}
        for box, ops in by_box.items():
            modules = ops[0].modules if self.depth is None else ops[0].modules[: self.depth][:-1]
            frames.setdefault(modules, []).append(f"  {quote(box)} [label={self.label(ops)}];")
        parts = {modules[:n] for modules in frames for n in range(len(modules) + 1)}
        opened = 0
        for number, modules in enumerate(sorted(parts)):  # each after what it lies in
            if modules:
                yield from "}" * (opened - len(modules) + 1)
                opened = len(modules)
                title = modules[-1] or self.facts.title
                yield f"  subgraph cluster{number} {{ label={quote(title)};"
            yield from frames.get(modules, [])
        yield from "}" * opened

    def label(self, ops: list[Operation]) -> str:
        size = sum(op.bytes for op in ops)
        saved = f"\nsaved {size_text(size)}" if size else ""
        first = ops[0]
        if self.depth is not None:
            modules = first.modules[: self.depth]
            title = (modules and modules[-1]) or self.facts.title
            return quote(f"{title}\n{count_text(len(ops), 'op')}{saved}")
        view = "\na view" if first.view_of is not None else ""
        return quote(f"#{first.number} {first.name}\n{first.result}{view}{saved}")

    def edges(self, with_leaves: bool) -> Iterator[str]:
        count: Counter[tuple[str, str]] = Counter()
        for op in self.facts.ops:
            for source in op.sources:
                start = self.start(source, with_leaves)
                if start and start != self.boxes[op.number]:
                    count[start, self.boxes[op.number]] += 1
        for (start, end), number in count.items():
            label = f' [label="{number}×"]' if number > 1 else ""
            yield f"  {quote(start)} -> {quote(end)}{label};"

    def start(self, source: Source, with_leaves: bool) -> str:
        if source.kind == "op":
            return self.boxes[source.number]
        return f"leaf{source.number}" if source.kind == "leaf" and with_leaves else ""


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
