from __future__ import annotations


def plan(buffers: list[tuple[int, int, int]]) -> list[int]:
    offsets: dict[int, int] = {}
    for k in sorted(range(len(buffers)), key=lambda k: -buffers[k][0]):
        size, first, last = buffers[k]
        offset = 0
        for start, stop in sorted(
            (offsets[j], offsets[j] + buffers[j][0])
            for j in offsets
            if buffers[j][1] <= last and first <= buffers[j][2]
        ):
            if offset + size <= start:
                break
            offset = max(offset, stop)
        offsets[k] = offset
    return [offsets[k] for k in range(len(buffers))]
