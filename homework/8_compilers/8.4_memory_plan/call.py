UNIT = 64


def call(student, launches, sizes, kept, most):
    """What is wrong with a plan; nothing is left of one that is right."""
    offsets = [int(x) for x in student(list(launches), list(sizes), list(kept))]
    if len(offsets) != len(sizes):
        raise ValueError(f"{len(offsets)} offsets of {len(sizes)} buffers")
    first, last = {}, dict.fromkeys(kept, len(launches))
    for t, (_, reads, writes) in enumerate(launches):
        for buffer in (*reads, *writes):
            first.setdefault(buffer, t)
            last[buffer] = max(last.get(buffer, t), t)
    order = sorted(range(len(sizes)), key=lambda buffer: first[buffer])
    damaged = []
    for k, old in enumerate(order):
        for new in order[k + 1 :]:
            elementwise, reads, writes = launches[first[new]]
            alike = (offsets[old], sizes[old]) == (offsets[new], sizes[new])
            over = elementwise and alike and old in reads and new in writes
            over = over and last[old] == first[new] > first[old]
            apart = (
                offsets[old] + sizes[old] <= offsets[new]
                or offsets[new] + sizes[new] <= offsets[old]
            )
            if last[old] >= first[new] and not apart and not over:
                damaged.append((old, new))
    peak = max((offset + size for offset, size in zip(offsets, sizes, strict=True)), default=0)
    return {
        "misplaced": [k for k, offset in enumerate(offsets) if offset < 0 or offset % UNIT],
        "damaged": damaged[:4],
        "bytes above the bound": max(0, peak - most),
    }
