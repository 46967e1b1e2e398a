from __future__ import annotations

ELEMENTWISE = {"add", "sub", "mul", "neg", "exp", "relu"}


def fuse(nodes: list[tuple[str, str, tuple[str, ...]]], outputs: list[str]) -> list[list[str]]:
    readers: dict[str, set[str]] = {name: set() for name, _, _ in nodes}
    for name, _, inputs in nodes:
        for given in inputs:
            if given in readers:
                readers[given].add(name)
    order = {name: k for k, (name, _, _) in enumerate(nodes)}
    ops = {name: op for name, op, _ in nodes}
    groups: dict[str, list[str]] = {}  # by their last node
    for name, op, inputs in nodes:
        groups[name] = [name]
        for given in set(inputs) & set(groups):
            inside = len(readers[given]) == 1 and given not in outputs
            if inside and op in ELEMENTWISE and ops[given] in ELEMENTWISE:
                groups[name] += groups.pop(given)
        groups[name].sort(key=lambda name: order[name])
    return list(groups.values())
