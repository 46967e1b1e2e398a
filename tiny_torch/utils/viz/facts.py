"""What a drawing tells: ops, leaves, what was saved. Plain facts, which keep no graph alive."""

from __future__ import annotations

from typing import Any, NamedTuple

from tiny_torch.utils.sizes import size_text


class Kind(NamedTuple):
    """The shape and the dtype of an array."""

    shape: tuple[int, ...]
    dtype: Any

    def __str__(self) -> str:
        return f"{self.shape} {str(self.dtype).removeprefix('torch.')}"


class Source(NamedTuple):
    """Where an input comes from: output `output` of an op, a leaf, or what has no gradient."""

    kind: str  # "op", "leaf" or "other"
    number: int  # of the op or leaf; -1 of what has no gradient
    output: int
    text: str  # of what has no gradient, as far as it is known: "x", "(4, 8) float32"


class Saved(NamedTuple):
    """An array that a node holds for backward."""

    role: str  # "input 0", "output 0", "value"
    kind: Kind
    bytes: int  # of its elements
    storage: int  # arrays of one storage share memory; 0: not known
    memory: int  # bytes of the storage, which it keeps alive
    layout: tuple  # where in the storage: (offset, strides)


class Operation:
    """A node of the graph."""

    def __init__(self, number: int, name: str, results: int) -> None:
        self.number = number  # from 1 on, the oldest first
        self.name = name  # PyTorch's, as AddmmBackward0
        self.results: list[Kind | None] = [None] * results  # per output; None: not known
        self.sources: list[Source] = []
        self.saved: list[Saved] = []
        self.modules: tuple[str, ...] = ()  # paths of those within which it ran, the outer first
        self.view_of: Source | None = None  # whose memory its result shows
        self.notes: list[str] = []  # "in place"; "2 hooks, which are not called here"

    @property
    def bytes(self) -> int:
        """Bytes that it saved, those included that others hold, too."""
        return sum(saved.bytes for saved in self.saved)

    @property
    def result(self) -> str:
        return ", ".join("?" if kind is None else str(kind) for kind in self.results)

    def __repr__(self) -> str:
        return f"<{self.number} {self.name} {self.result}>"


class Leaf:
    """A tensor that has a gradient and was not computed."""

    def __init__(self, number: int, names: list[str], kind: Kind, size: int, storage: int) -> None:
        self.number = number  # from 1 on, as backward's ops meet them
        self.names = names  # several of a parameter that modules share; none where none is known
        self.kind = kind
        self.bytes = size
        self.storage = storage
        self.uses = 0  # how many inputs of ops it is
        self.notes: list[str] = []

    @property
    def name(self) -> str:
        return self.names[0] if self.names else f"leaf {self.number}"

    def __repr__(self) -> str:
        return f"<{self.name} {self.kind}>"


class Shared(NamedTuple):
    """Memory that was saved more than once: by `ops`, an entry for each time."""

    ops: list[Operation]
    leaves: list[Leaf]  # those whose memory it is
    saved: list[Saved]

    def __str__(self) -> str:
        first = self.saved[0]
        what = self.leaves[0].name if self.leaves else str(first.kind)
        numbers = list(dict.fromkeys(f"#{op.number}" for op in self.ops))
        numbers[8:] = ["…"] * (len(numbers) > 8)
        views = {(saved.kind, saved.layout) for saved in self.saved}
        how = f"as {len(views)} views, " if len(views) > 1 else ""
        return (
            f"{what}: saved {count_text(len(self.ops), 'time')}, {how}by {', '.join(numbers)}; "
            f"that is {size_text(first.memory)} of memory, once"
        )


class Root(NamedTuple):
    """A tensor that was drawn."""

    name: str
    kind: Kind
    source: Source
    base: Kind | None  # of the tensor whose memory it shows, if it is a view


class Facts:
    """A graph: `ops` the oldest first, `leaves`, and the `roots` that were drawn."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.ops: list[Operation] = []
        self.leaves: list[Leaf] = []
        self.roots: list[Root] = []
        self.unreached: list[str] = []  # parameters that want a gradient, and are no leaves here
        self.classes: dict[str, str] = {}  # of modules, by their paths

    def text_of(self, source: Source) -> str:
        """A source as it stands in a line: "#3", "#3.1", "fc.weight"."""
        if source.kind == "leaf":
            return self.leaves[source.number - 1].name
        if source.kind == "other":
            return source.text
        several = len(self.ops[source.number - 1].results) > 1
        return f"#{source.number}.{source.output}" if several else f"#{source.number}"

    # ---- memory ------------------------------------------------------------------------------

    @property
    def saved_bytes(self) -> int:
        """What all nodes have saved, each for itself."""
        return sum(op.bytes for op in self.ops)

    def memory(self) -> tuple[int, int]:
        """(bytes of memory that what is saved keeps alive, bytes of it that are the leaves')."""
        own = {leaf.storage for leaf in self.leaves}
        storages = {s.storage or id(s): s.memory for op in self.ops for s in op.saved}
        return sum(storages.values()), sum(n for key, n in storages.items() if key in own)

    def memory_saved_twice(self) -> list[Shared]:
        """The memory that was saved more than once."""
        owners: dict[int, list[Leaf]] = {}
        for leaf in self.leaves:
            owners.setdefault(leaf.storage, []).append(leaf)
        found: dict[int, Shared] = {}
        for op in self.ops:
            for saved in op.saved:
                if saved.storage:
                    new = Shared([], owners.get(saved.storage, []), [])
                    shared = found.setdefault(saved.storage, new)
                    shared.ops.append(op)
                    shared.saved.append(saved)
        return [shared for shared in found.values() if len(shared.ops) > 1]

    def remarks(self) -> list[str]:
        """What is to be said beside the ops, in lines."""
        lines = [f"{leaf.name}: {'; '.join(leaf.notes)}" for leaf in self.leaves if leaf.notes]
        if self.unreached:
            names = ", ".join(self.unreached[:20])
            more = len(self.unreached) - 20
            lines.append(f"no gradient arrives at: {names}{f' and {more:,} more' * (more > 0)}")
        return lines

    def summary(self) -> list[str]:
        """Counts, and bytes, in two lines."""
        leaves = count_text(len(self.leaves), "leaf", "leaves")
        lines = [f"{self.title}: {count_text(len(self.ops), 'op')}, {leaves}"]
        memory, own = self.memory()
        if memory:
            savers = count_text(sum(bool(op.saved) for op in self.ops), "op")
            text = f"{size_text(self.saved_bytes)} saved for backward by {savers}"
            text += f", in {size_text(memory)} of memory"
            lines.append(text + (f"; {size_text(own)} of it is the leaves' own" if own else ""))
        return lines


def count_text(number: int, one: str, many: str = "") -> str:
    """ "1 op", "3 ops"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
