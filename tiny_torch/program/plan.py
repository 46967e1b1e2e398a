"""What a step needs before it runs: its launches, the lives of its buffers, its peak of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tiny_torch.base.arguments import is_tensor
from tiny_torch.base.pytree import tree_flatten
from tiny_torch.program.compiled import Case, Compiled
from tiny_torch.program.numbers import Tape
from tiny_torch.program.recorder import Recorder
from tiny_torch.program.show import name_of_kernel, text_of
from tiny_torch.utils.sizes import size_text


class Launch(NamedTuple):
    """A call of a kernel."""

    kernel: str
    buffers: list[int]  # numbers of those that it uses
    bytes: int  # of these buffers
    flops: float  # of products, convolutions and attention
    place: str  # the module, or "backward"
    line: str


class Buffer(NamedTuple):
    """Memory: "given", in the "block", a "result", a kernel's "scratch"; "none" within a chain.

    It lies `offset` bytes behind the begin of the piece of memory number `region`.
    """

    bytes: int
    memory: str
    first: int  # launches
    last: int
    region: int
    offset: int


class Plan:
    """The launches of a step, and the bytes that it needs.

    `peak_bytes` is the sum of `given_bytes` (parameters and arguments that launches use),
    `block_bytes` (what dies within the step, and blocks of the chains' threads), `result_bytes`
    (gradients and results) and `outside_bytes` (the most that optimizers make at once: their
    state). `flops` counts matrix products, convolutions, attention and recurrent layers.
    """

    def __init__(self, program: Any, places: list[tuple[str, str]]) -> None:
        self.program, self.places = program, places
        self.buffers = [Buffer(*each) for each in program.buffers]
        self.launches = []  # but not what runs only where a check fails, nor calls between them
        for kernel, uses, alternative, flops, recorded in program.launches:
            touched = sum(self.buffers[i].bytes for i in uses)
            if not alternative and kernel[0] != "calls":
                flops *= kernel[1] != "is_finite"  # which takes a convolution's arguments
                launch = Launch(name_of_kernel(*kernel), uses, touched, flops, *places[recorded])
                self.launches.append(launch)
        self.flops = sum(launch.flops for launch in self.launches)
        self.given_bytes: int = program.given_bytes
        self.block_bytes: int = program.temporary_bytes + program.chain_bytes
        self.result_bytes: int = program.result_bytes
        self.outside_bytes: int = program.outside_bytes

    @property
    def peak_bytes(self) -> int:
        return self.given_bytes + self.block_bytes + self.result_bytes + self.outside_bytes

    def __repr__(self) -> str:
        parts = {
            "given": self.given_bytes,
            "block": self.block_bytes,
            "results": self.result_bytes,
            "optimizers": self.outside_bytes,
        }
        sizes = ", ".join([f"{name} {size_text(size)}" for name, size in parts.items()])
        return (
            f"{len(self.launches)} launches, {self.flops:.3g} flops; "
            f"peak {size_text(self.peak_bytes)}: {sizes}"
        )

    def show(self) -> None:
        """Prints the launches, and the sums."""
        print(text_of("step", self.program, self.places))
        print(self)


def plan(step: Callable[..., Any], *args: Any, **kwargs: Any) -> Plan:
    """The plan of ``step(*args, **kwargs)``, which `record` could record.

    On ``meta`` nothing is computed, and nothing needs memory: the model may be larger than the
    machine. On the CPU the step runs once. Of what `record` has made, the passes are its own.
    RuntimeError says why there is no program.

    >>> import tiny_torch as torch
    >>> from tiny_torch.program import plan
    >>> with torch.device("meta"):
    ...     model = torch.nn.Linear(100_000, 100_000)
    ...     x = torch.empty(32, 100_000)
    >>> def step():
    ...     model(x).sum().backward()
    >>> print(f"{plan(step).peak_bytes / 2**30:.1f} GiB")
    74.5 GiB
    """
    inputs = [x for x in tree_flatten((args, kwargs))[0] if is_tensor(x)]
    made = step if isinstance(step, Compiled) else Compiled(step, steps=True)
    recorder = Recorder(steps=True, is_plan=True, function=made.function)
    if not recorder.start():
        raise RuntimeError("plan: this thread records already, or another notes its memory")
    case = Case(inputs, True, made.passes, Tape([], set()))
    case.record(recorder, lambda: made.function(*args, **kwargs))
    if case.refusal:
        raise RuntimeError(f"plan: the step {case.refusal}")
    return Plan(case.program, recorder.places)
