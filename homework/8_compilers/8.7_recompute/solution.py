"""At the peak, one buffer after another that lies idle there, the latest first."""

from __future__ import annotations

Launch = tuple[str, tuple[str, ...], tuple[str, ...], str]  # kernel, reads, writes, effect

CHEAP = ("add", "mul", "gelu", "softmax", "norm")


def recompute(
    launches: list[Launch], sizes: dict[str, int], held: list[str], budget: int
) -> list[Launch]:
    most = 2 * len(launches)
    while True:
        live = live_bytes(launches, sizes, held)
        peak = live.index(max(live, default=0)) if live else 0
        if not live or live[peak] <= budget:
            return launches
        first, last = lives(launches, sizes, held)
        idle = [name for name in first if first[name] < peak < last[name] and name not in held]
        for name in sorted(idle, key=lambda name: -first[name]):
            found = repeated(launches, sizes, held, name, peak)
            if found is None or len(found) > most:
                continue
            now = live_bytes(found, sizes, held)
            if max(now) <= live[peak] and now[peak] < live[peak]:
                launches = found
                break
        else:
            return launches


def lives(
    launches: list[Launch], sizes: dict[str, int], held: list[str]
) -> tuple[dict[str, int], dict[str, int]]:
    """The first and the last launch of each buffer that is made here."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for t, (_, reads, writes, _) in enumerate(launches):
        for name in (*reads, *writes):
            if name.rstrip("'") in sizes:
                first.setdefault(name, t)
                last[name] = len(launches) - 1 if name in held else t
    return first, last


def live_bytes(launches: list[Launch], sizes: dict[str, int], held: list[str]) -> list[int]:
    first, last = lives(launches, sizes, held)
    live = [0] * len(launches)
    for name in first:
        for t in range(first[name], last[name] + 1):
            live[t] += sizes[name.rstrip("'")]
    return live


def repeated(
    launches: list[Launch], sizes: dict[str, int], held: list[str], name: str, peak: int
) -> list[Launch] | None:
    """With copies of the launches that make the buffer, right before its first use after the peak.

    None where that cannot be done.
    """
    uses = [t for t, (_, reads, writes, _) in enumerate(launches) if name in reads + writes]
    at = next(t for t in uses if t >= peak)
    if at == peak:
        return None
    _, last = lives(launches, sizes, held)
    fresh: set[str] = set()
    copies: set[int] = set()
    there: set[str] = set()  # inputs of the copies that are read where they are
    queue = [writer(launches, name, at)]
    while queue:
        t = queue.pop()
        kernel, reads, writes, effect = launches[t]
        if kernel not in CHEAP or effect:
            return None
        copies.add(t)
        changed = {each for launch in launches[t + 1 : at] for each in launch[2]}
        for each in reads:
            is_there = last.get(each, at) >= at and each not in changed
            if is_there and each not in writes:
                there.add(each)
                continue
            if each not in last:
                return None
            queue.append(writer(launches, each, t))
        fresh.update(writes)
    if fresh & there:
        return None  # two values of one buffer
    other = new_names(fresh, launches)
    made = [renamed(launches[t], other) for t in sorted(copies)]
    late = [renamed(launch, {name: other[name]}) for launch in launches[at:]]
    return [*launches[:at], *made, *late]


def writer(launches: list[Launch], name: str, before: int) -> int:
    """The last launch that has written the buffer by then."""
    return max(t for t in range(before) if name in launches[t][2])


def new_names(names: set[str], launches: list[Launch]) -> dict[str, str]:
    taken = {each for _, reads, writes, _ in launches for each in reads + writes}
    other = {}
    for name in sorted(names):
        new = name
        while new in taken:
            new += "'"
        taken.add(new)
        other[name] = new
    return other


def renamed(launch: Launch, other: dict[str, str]) -> Launch:
    kernel, reads, writes, effect = launch
    return (
        kernel,
        tuple(other.get(name, name) for name in reads),
        tuple(other.get(name, name) for name in writes),
        effect,
    )
