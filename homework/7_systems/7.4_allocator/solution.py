"""The free blocks, sorted by their addresses; those that touch are one."""

from __future__ import annotations

UNIT = 512


class Cache:
    def __init__(self, size: int) -> None:
        self.idle = [(0, size)]  # address, bytes
        self.used: dict[int, int] = {}

    def allocate(self, size: int) -> int:
        size = max(UNIT, (size + UNIT - 1) // UNIT * UNIT)
        fitting = [(held, address) for address, held in self.idle if held >= size]
        if not fitting:
            raise MemoryError(f"no block of {size} bytes is free")
        held, address = min(fitting)
        self.idle.remove((address, held))
        if held > size:
            self.idle.append((address + size, held - size))
        self.used[address] = size
        return address

    def free(self, address: int) -> None:
        if address not in self.used:
            raise ValueError(f"{address} is not allocated")
        size = self.used.pop(address)
        apart = []
        for other, held in self.idle:
            if other + held == address:
                address, size = other, held + size
            elif address + size == other:
                size += held
            else:
                apart.append((other, held))
        self.idle = sorted([*apart, (address, size)])
