"""A drawing as text: a line for each op, a branch for each module."""

from __future__ import annotations

from collections.abc import Iterator

from tiny_torch.utils.sizes import size_text
from tiny_torch.utils.viz.facts import Facts, Operation, count_text
from tiny_torch.utils.viz.outline import Group, Repeat


def text(facts: Facts, group: Group, note: str) -> str:
    """The whole; `note` stands at the end."""
    lines = facts.summary()
    if facts.ops:
        lines += branches(facts, group)
    lines += [f"{root.name} {root.kind} = {facts.text_of(root.source)}" for root in facts.roots]
    lines += [*facts.remarks(), *shared_lines(facts, group)]
    if note:
        lines.append(note)
    return "\n".join(lines)


def branches(facts: Facts, group: Group) -> Iterator[str]:
    """The lines below a group, with the branches that lead to them."""
    waiting = [("", group.items, 0)]  # (what stands before each line, items, the next one)
    while waiting:
        before, items, i = waiting.pop()
        if i == len(items):
            continue
        waiting.append((before, items, i + 1))
        item, last = items[i], i + 1 == len(items)
        start = before + ("└ " if last else "├ ")
        if isinstance(item, Operation):
            yield start + line(facts, item)
        elif isinstance(item, Repeat):
            yield start + item.note()
        else:
            yield start + heading(item)
            waiting.append((before + ("  " if last else "│ "), item.items, 0))


def heading(group: Group) -> str:
    ops = list(group.ops())
    size = sum(op.bytes for op in ops)
    return f"{group.title}: {count_text(len(ops), 'op')}" + (f", {size_text(size)}" if size else "")


def line(facts: Facts, op: Operation) -> str:
    """ "#2 AddmmBackward0 (4, 8) float32 <- fc.bias, x, fc.weight; saved 128 B"."""
    return f"#{op.number} {op.name} {op.result}{arrow(facts, op)}{remarks(facts, op)}"


def arrow(facts: Facts, op: Operation) -> str:
    texts = [facts.text_of(source) for source in op.sources]
    return " <- " + ", ".join(filter(None, texts)) if any(texts) else ""


def remarks(facts: Facts, op: Operation) -> str:
    found = []
    if op.bytes:
        found.append(f"saved {size_text(op.bytes)}")
    if op.view_of is not None:
        base = facts.text_of(op.view_of) or "what has no gradient"
        found.append(f"a view of {base}, in the same memory")
    return "".join(f"; {remark}" for remark in found + op.notes)


def shared_lines(facts: Facts, group: Group, most: int = 20) -> list[str]:
    """What was saved more than once; not within repetitions, which the first of them tells."""
    hidden = {op.number for op in group.hidden_in_repeats()}
    shared = [s for s in facts.memory_saved_twice() if any(op.number not in hidden for op in s.ops)]
    lines = [str(one) for one in shared[:most]]
    if len(shared) > most:
        lines.append(f"and {len(shared) - most:,} more that were saved several times")
    return lines
