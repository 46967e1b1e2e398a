"""What training steps leave behind, one after another, and who holds it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tiny_torch.tensor import Tensor
from tiny_torch.utils.memory.blocks import Block, Site, describe
from tiny_torch.utils.memory.chains import Chain
from tiny_torch.utils.memory.holders import Holders
from tiny_torch.utils.sizes import size_text

STEPS = 3  # so many steps in turn must each leave something: buffers and caches are made once

OPTIMIZER, HOOK = "optimiser state that grows", "a hook that keeps tensors"
GROWING, CACHE = "a graph that grows from step to step", "a module that keeps tensors"
GRAPH, TENSOR, UNKNOWN = "a graph that is kept", "tensors that are kept", "nobody that was found"
ADVICE = {
    OPTIMIZER: "state is to be replaced in each step, not added to; parameters that are made anew "
    "each step bring new state",
    HOOK: "let the hook keep x.detach() of what is needed, or numbers; remove() it when it is done",
    GROWING: "detach() what goes from one step into the next; total += loss.item(), not loss",
    CACHE: "forward is to keep nothing, or to overwrite what it kept",
    GRAPH: "keep loss.item() or loss.detach(); backward(retain_graph=True) keeps what was saved",
    TENSOR: "something appends to it in every step",
    UNKNOWN: "an object that the garbage collector does not see, or one behind too many others",
}


@dataclass
class Leak:
    """Blocks of several steps that one thing holds."""

    reason: str
    path: str  # "losses[0]": how the script's names lead to one of the tensors; "" if none does
    where: str  # "a variable of train()"
    blocks: int = 0
    bytes: int = 0
    steps: int = 0  # how many steps left something
    sites: dict[Site, int] = field(default_factory=dict)  # what made the blocks: bytes

    @property
    def advice(self) -> str:
        return ADVICE[self.reason]

    def __str__(self) -> str:
        of = f" {self.path}" + (f", {self.where}" if self.where else "") if self.path else ""
        lines = [
            f"Leak: {self.reason}:{of}",
            f"  {self.blocks} blocks, {size_text(self.bytes)}, from {self.steps} steps; made by",
        ]
        largest = sorted(self.sites.items(), key=lambda pair: -pair[1])
        lines += [f"  {size_text(size):>12}  {describe(site)}" for site, size in largest[:5]]
        return "\n".join([*lines, f"  {self.advice}"])


def find_leaks(live: dict[int, Block], steps: int, holders: Holders) -> list[Leak]:
    """The leaks among the live blocks, by storage_id, of a recording of some steps."""
    by_site: dict[Site, dict[int, Block]] = defaultdict(dict)
    for number, block in live.items():
        if block.site.phase != "before" and block.step < steps:
            by_site[block.site][number] = block
    step_of = {number: block.step for number, block in live.items()}
    leaks: dict[tuple, Leak] = {}
    for site, blocks in sorted(by_site.items(), key=lambda pair: -total(pair[1].values())):
        left = {block.step for block in blocks.values()}
        if not left.issuperset(range(steps - STEPS, steps)) or steps < STEPS:
            continue
        sample = min(blocks, key=lambda number: blocks[number].made)
        reason, chain = why(sample, holders, step_of)
        name = chain.name if chain else ""
        leak = leaks.get((reason, name))
        if leak is None:
            path, where = (chain.path, chain.where) if chain else ("", "")
            leak = leaks[reason, name] = Leak(reason, path, where)
        leak.blocks += len(blocks)
        leak.bytes += total(blocks.values())
        leak.steps = max(leak.steps, len(left))
        leak.sites[site] = total(blocks.values())
    return sorted(leaks.values(), key=lambda leak: -leak.bytes)


def total(blocks: Iterable[Block]) -> int:
    return sum(block.bytes for block in blocks)


def why(number: int, holders: Holders, step_of: dict[int, int]) -> tuple[str, Chain | None]:
    """The reason why a storage is alive, and how the script's names lead to it."""
    if any(role.startswith("state of") for role in holders.roles.get(number, ())):
        chains = [holders.chain(tensor) for tensor in holders.tensors.get(number, ())]
        return OPTIMIZER, next((c for c in chains if c and c.through == "optimizer"), None)
    best: tuple[str, Chain | None] = UNKNOWN, None
    for tensor in holders.holding(number):
        chain = holders.chain(tensor)
        if chain is not None:
            reason = reason_of(tensor, chain, holders, step_of)
            if best[1] is None or ORDER.index(reason) < ORDER.index(best[0]):
                best = reason, chain
    return best


ORDER = list(ADVICE)  # the most telling first


def reason_of(tensor: Tensor, chain: Chain, holders: Holders, step_of: dict[int, int]) -> Any:
    if chain.through == "optimizer":
        return OPTIMIZER
    if holders.is_of_hook(chain):
        return HOOK
    saved = {step_of[number] for number in holders.saved_in_graph(tensor) if number in step_of}
    if len(saved) > 1:
        return GROWING
    if chain.through == "module":
        return CACHE
    return GRAPH if tensor.grad_fn is not None else TENSOR
