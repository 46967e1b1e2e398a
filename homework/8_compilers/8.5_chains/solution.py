from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

BLOCK = 64
KERNELS = {
    "neg": lambda a: -a,
    "relu": lambda a: a.clip(0),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
}

Operand = tuple[str, int, tuple[int, ...]]  # buffer, offset, strides
Launch = tuple[str, tuple[int, ...], tuple[Operand, ...]]  # kernel, shape, the result and inputs


def positions(shape: tuple[int, ...], operand: Operand) -> list[int]:
    _, offset, strides = operand
    places = [offset]
    for size, step in zip(shape, strides, strict=True):
        places = [place + i * step for place in places for i in range(size)]
    return places


def run(
    launches: list[Launch], held: list[str], read: Callable, write: Callable, whole: Callable
) -> None:
    chains: list[list[Launch]] = []
    for launch in launches:
        if chains and all(may_join(other, launch) for other in chains[-1]):
            chains[-1].append(launch)
        else:
            chains.append([launch])
    for k, chain in enumerate(chains):
        if chain[0][0] not in KERNELS:
            whole(chain[0])
            continue
        behind = [launch for other in chains[k + 1 :] for launch in other]
        read_later = {name for _, _, (_, *inputs) in behind for name, _, _ in inputs}
        run_chain(chain, read_later.union(held), read, write)


def may_join(first: Launch, second: Launch) -> bool:
    """Whether each element of the second needs nothing but the same element of the first."""
    (kernel, shape, operands), (other_kernel, other_shape, others) = first, second
    if kernel not in KERNELS or other_kernel not in KERNELS:
        return False
    if prod(shape) != prod(other_shape):
        return False
    for k, a in enumerate(operands):
        for m, b in enumerate(others):
            if a[0] != b[0] or (k > 0 and m > 0):  # two reads
                continue
            one, two = positions(shape, a), positions(other_shape, b)
            if one != two and not set(one).isdisjoint(two):
                return False
    return True


def run_chain(chain: list[Launch], needed: set[str], read: Callable, write: Callable) -> None:
    places = [
        [(operand[0], positions(shape, operand)) for operand in operands]
        for _, shape, operands in chain
    ]
    for start in range(0, len(places[0][0][1]), BLOCK):
        near: dict[tuple, Any] = {}  # values of this block, by their places
        changed = {}
        for (kernel, _, _), operands in zip(chain, places, strict=True):
            here = [(name, place[start : start + BLOCK]) for name, place in operands]
            keys = [(name, tuple(place)) for name, place in here]
            for key, (name, place) in zip(keys[1:], here[1:], strict=True):
                if key not in near:
                    near[key] = read(name, place)
            near[keys[0]] = KERNELS[kernel](*[near[key] for key in keys[1:]])
            if here[0][0] in needed:
                changed[keys[0]] = here[0]
        for key, (name, place) in changed.items():
            write(name, place, near[key])
