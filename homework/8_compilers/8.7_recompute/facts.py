"""What task 8.7 asks of a list of launches: the bytes that live at once, and the same values."""

from __future__ import annotations

CHEAP = ("add", "mul", "gelu", "softmax", "norm")


def peak_of(launches, sizes, held):
    lives = {}
    for t, (_, reads, writes, _) in enumerate(launches):
        for name in (*reads, *writes):
            if name.rstrip("'") in sizes:
                first = lives.get(name, (t,))[0]
                lives[name] = first, len(launches) if name in held else t
    return max(
        (
            sum(
                sizes[name.rstrip("'")]
                for name, (first, last) in lives.items()
                if first <= t <= last
            )
            for t in range(len(launches))
        ),
        default=0,
    )


def values_of(launches):
    """Of each launch: the kernel, and what it reads, known by hashes; and the memory at the end."""
    memory, draws, found = {}, 0, []
    for kernel, reads, writes, effect in launches:
        values = tuple(memory.get(name, name) for name in reads)
        draws += effect == "draws"
        found.append((kernel, values))
        for k, name in enumerate(writes):
            memory[name] = hash((kernel, values, k, draws if effect else 0))
    return found, memory


def broken_rule(launches, answer, held):
    """What is wrong with an answer, but for its peak; empty if nothing is."""
    ours, memory = values_of(launches)
    theirs, memory_now = values_of(answer)
    plain = [without_marks(launch) for launch in launches]
    k = 0  # the launch of ours that comes next
    for t, (kernel, reads, writes, effect) in enumerate(answer):
        names = without_marks(answer[t])
        if k < len(ours) and ours[k] == theirs[t] and plain[k] == names:
            k += 1
            continue
        text = f"launch {t}, {', '.join(writes)} = {kernel}({', '.join(reads)}), "
        if not any(ours[j] == theirs[t] and plain[j] == names for j in range(k)):
            return text + "is none of the list's, or reads other values than there"
        if effect:
            return text + "is a copy of one that draws: all later draws have other numbers"
        if kernel not in CHEAP:
            return text + f"is a copy, and {kernel} is not cheap"
    if k < len(ours):
        kernel, reads, writes, _ = launches[k]
        return f"{', '.join(writes)} = {kernel}({', '.join(reads)}) has not run"
    if len(answer) > 2 * len(launches):
        return f"{len(answer) - len(launches)} copies, for {len(launches)} launches"
    for name in held:
        if memory.get(name) != memory_now.get(name):
            return f"the caller finds another value in {name}"
    return ""


def without_marks(launch):
    """With the names of the first buffers in place of those of copies."""
    kernel, reads, writes, effect = launch
    return kernel, [x.rstrip("'") for x in reads], [x.rstrip("'") for x in writes], effect
