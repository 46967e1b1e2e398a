"""The ops as an outline: grouped by module, in the order of forward, with repetitions folded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tiny_torch.utils.viz.facts import Facts, Operation, Source

UNFOLDED = 60  # ops of a graph that is shown whole
PERIOD = 64  # items of a repetition, at most
TIMES = 3  # that something stands there, at least, before it is folded
# Items that a repetition must save, at least: three lines alike are read faster than a note.
WORTH = 4


class Group:
    """A module, and what ran in it without a break: ops, groups and repetitions."""

    def __init__(self, path: str, title: str) -> None:
        self.path = path
        self.title = title  # "blocks.0 (Block)"
        self.items: list[Any] = []

    def ops(self) -> Iterator[Operation]:
        """All within, those of repetitions, too."""
        return ops_in(self)

    def hidden_in_repeats(self) -> Iterator[Operation]:
        """Those of repetitions."""
        waiting: list[Any] = [self]
        while waiting:
            for item in waiting.pop().items:
                if isinstance(item, Repeat):
                    for inner in item.items:
                        yield from ops_in(inner)
                elif isinstance(item, Group):
                    waiting.append(item)


class Repeat(NamedTuple):
    """What looks as the `period` items before it do, `times` times."""

    period: int
    times: int
    items: list[Any]

    def note(self) -> str:
        first, last = self.items[0], self.items[-1]
        what = "the op before" if self.period == 1 else f"the {self.period} ops before"
        if isinstance(first, Group):
            what = "the module before" if self.period == 1 else f"the {self.period} modules before"
            names = first.title if len(self.items) == 1 else f"{first.title} to {last.title}"
            return f"{names}: as {what}{times(self)} ({numbers(self.items)})"
        if any(isinstance(item, Group) for item in self.items):
            what = f"the {self.period} items before"
        return f"{numbers(self.items)}: as {what}{times(self)}"


def ops_in(item: Any) -> Iterator[Operation]:
    """The op itself, or those of a group or a repetition."""
    waiting = [item]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Operation):
            yield item
        else:
            waiting += reversed(item.items)


def times(repeat: Repeat) -> str:
    return f", {repeat.times:,} times more"


def numbers(items: list[Any]) -> str:
    """ "#12 to #44": what the items hold."""
    found = [op.number for item in items for op in ops_in(item)]
    low, high = min(found), max(found)
    return f"#{low}" if low == high else f"#{low} to #{high}"


def outline(facts: Facts) -> Group:
    """The whole, as a group without a path; within it the model's, where there is one."""
    root = Group("", facts.title)
    stack: list[tuple[str, Group]] = []
    for op in facts.ops:
        same = 0
        while same < min(len(stack), len(op.modules)) and stack[same][0] == op.modules[same]:
            same += 1
        del stack[same:]
        for path in op.modules[same:]:
            above = stack[-1][1] if stack else root
            group = Group(path, title_of(path, above.path, facts.classes))
            above.items.append(group)
            stack.append((path, group))
        (stack[-1][1] if stack else root).items.append(op)
    if len(root.items) == 1 and isinstance(root.items[0], Group):
        root = root.items[0]
    if len(facts.ops) > UNFOLDED:
        Folding(facts).fold(root)
    return root


def title_of(path: str, above: str, classes: dict[str, str]) -> str:
    short = path.removeprefix(f"{above}.") if above else path
    name = classes.get(path, "")
    return f"{short} ({name})" if short and name else short or name


class Folding:
    """Finds what repeats: the same ops, shapes and bytes, from sources as far back."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.known: dict[Any, int] = {}  # the number of each form

    def fold(self, root: Group) -> None:
        """Folds the items of all groups, the innermost first."""
        groups, waiting = [], [root]
        while waiting:
            group = waiting.pop()
            groups.append(group)
            waiting += [item for item in group.items if isinstance(item, Group)]
        forms: dict[int, int] = {}  # of groups, by id
        for group in reversed(groups):
            items = [
                forms[id(item)] if isinstance(item, Group) else self.number(self.form(item))
                for item in group.items
            ]
            name = self.facts.classes.get(group.path, "")
            forms[id(group)] = self.number((name, tuple(items)))
            group.items = fold_repeats(group.items, items)

    def number(self, form: Any) -> int:
        return self.known.setdefault(form, len(self.known))

    def form(self, op: Operation) -> tuple:
        sources = tuple([self.form_of(op, source) for source in op.sources])
        view = op.view_of and self.form_of(op, op.view_of)
        return op.name, op.result, sources, op.bytes, view, tuple(op.notes)

    def form_of(self, op: Operation, source: Source) -> Any:
        if source.kind == "op":
            return op.number - source.number, source.output
        if source.kind == "leaf":  # in a repeated module it is another leaf of the same kind
            leaf = self.facts.leaves[source.number - 1]
            return leaf.name.rpartition(".")[2] if leaf.names else "", leaf.kind
        return source.text


def fold_repeats(items: list[Any], forms: list[int]) -> list[Any]:
    """The items, of which those that only repeat what stands before them are a Repeat."""
    result: list[Any] = []
    i, count = 0, len(items)
    while i < count:
        best_period, best_times = 0, 0
        for period in range(1, min(PERIOD, (count - i) // TIMES) + 1):
            if forms[i] != forms[i + period]:
                continue
            found = repetitions(forms, i, period)
            if found >= TIMES and found * period > best_times * best_period:
                best_period, best_times = period, found
        more = (best_times - 1) * best_period
        if more < WORTH and not (more and isinstance(items[i], Group)):
            result.append(items[i])
            i += 1
            continue
        result += items[i : i + best_period]
        rest = items[i + best_period : i + best_period + more]
        result.append(Repeat(best_period, best_times - 1, rest))
        i += best_period + more
    return result


def repetitions(forms: list[int], start: int, period: int) -> int:
    """How often the `period` items from `start` on stand there one after another."""
    pattern = forms[start : start + period]
    end, times = start + period, 1
    while forms[end : end + period] == pattern:
        times += 1
        end += period
    return times
