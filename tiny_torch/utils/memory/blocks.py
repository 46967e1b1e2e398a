"""What is noted of a block of memory, and of what made it."""

from __future__ import annotations

from typing import Any, NamedTuple

from tiny_torch.utils.sizes import size_text


class Site(NamedTuple):
    """What made a block."""

    phase: str  # "forward", "backward", "optimizer", "other", or "before" the recording
    op: str  # "Linear", "LinearBackward"; "" outside of ops
    module: str  # "GPT.blocks.0.mlp"; of a gradient, the module of its forward; "" outside
    line: str  # "train.py:12"; of a gradient, the line of its forward


PHASES = {
    "before": "there before",
    "forward": "forward",
    "backward": "backward",
    "optimizer": "optimiser",
    "other": "outside of ops",
}
BEFORE = Site("before", "", "", "")
KEY = "memory recording"  # of a node's metadata: the Site of its forward


class Block:
    """The memory of one storage, from when it was made until it was freed."""

    __slots__ = (
        "bytes", "device", "ended", "freed", "freed_by", "holders", "made", "saved_by", "seconds",
        "site", "step",
    )  # fmt: skip

    def __init__(self, size: int, device: str, site: Site, made: int, step: int, seconds: float):
        self.bytes = size
        self.device = device
        self.site = site
        self.made = made  # number of the event
        self.step = step
        self.seconds = seconds  # since the recording began
        self.freed: int | None = None  # number of the event
        self.ended = 0.0  # seconds, when freed
        self.freed_by = ""
        self.saved_by: list[str] = []  # nodes that saved it for backward
        self.holders: list[str] = []  # who holds it at the end of the recording

    def __repr__(self) -> str:
        state = "alive" if self.freed is None else "freed"
        return f"<Block of {size_text(self.bytes)}, {state}, {describe(self.site)}>"


def describe(site: Site) -> str:
    """The site in one line."""
    parts = [site.op or PHASES[site.phase], site.module and f"in {site.module}", site.line]
    return " ".join(part for part in parts if part)


def name_of_op(node: Any) -> str:
    """Our name of a node's op: PyTorch's grad_fn of a linear layer may be a ViewBackward0."""
    return getattr(node.op, "__name__", None) or node.name()
