from __future__ import annotations

from collections.abc import Iterable

Launch = tuple[str, tuple[str, ...], tuple[str, ...], str]  # kernel, reads, writes, effect


def simplify(launches: list[Launch], held: list[str]) -> list[Launch]:
    return without_doubles(without_dead(launches, held), held)


def without_dead(launches: list[Launch], held: Iterable[str]) -> list[Launch]:
    wanted, left = set(held), []
    for launch in reversed(launches):
        _, reads, writes, effect = launch
        if not effect and not wanted & set(writes):
            continue
        wanted -= set(writes)
        wanted |= set(reads)
        left.append(launch)
    return left[::-1]


def without_doubles(launches: list[Launch], held: list[str]) -> list[Launch]:
    total: dict[str, int] = {}  # launches that write a buffer
    for _, _, writes, _ in launches:
        for name in writes:
            total[name] = total.get(name, 0) + 1
    instead: dict[str, str] = {}  # what is read in place of a double's result
    written: dict[str, int] = {}  # how often, so far
    known: dict[tuple, str] = {}  # the first result of a kernel and the values that it reads
    left = []
    for kernel, reads, writes, effect in launches:
        reads = tuple(instead.get(name, name) for name in reads)
        value = (kernel, tuple((name, written.get(name, 0)) for name in reads))
        single = len(writes) == 1 and total[writes[0]] == 1 and writes[0] not in reads
        if single and not effect:
            if value in known and writes[0] not in held:
                instead[writes[0]] = known[value]
                continue
            known.setdefault(value, writes[0])
        for name in writes:
            written[name] = written.get(name, 0) + 1
        left.append((kernel, reads, writes, effect))
    return left
