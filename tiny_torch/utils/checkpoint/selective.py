"""Selective checkpointing: the results of some ops are kept, the others are computed again.

An op is here a class of `torch.ops`, such as ``torch.ops.linalg.matmul.Linear``: what a mode of
autograd/op_mode.py sees. PyTorch's ``torch.ops.aten.mm.default`` does not exist. Subclasses count
as their base: ``Matmul`` stands for ``Mm`` and ``Bmm``, too.

The first run keeps what the chosen ops answered and saved, beside their inputs; in the second run
they answer that. Views, writes in place and draws of random numbers always run again: the first
cost nothing, and what comes later relies on the others.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from tiny_torch.autograd.graph import STALE, Node, Op, check_saved, edge_of, node_stamp
from tiny_torch.autograd.op_mode import ORDINARY, OpMode
from tiny_torch.base.modes import Scope, thread
from tiny_torch.ops.linalg.matmul import Linear, Matmul
from tiny_torch.ops.linalg.products import Addmm
from tiny_torch.ops.nn.attention import ScaledDotProductFlashAttentionForCpu
from tiny_torch.ops.nn.conv import Convolution, ConvolutionInput
from tiny_torch.ops.nn.recurrent import Recurrent
from tiny_torch.tensor import Tensor, wrap
from tiny_torch.utils.checkpoint.region import Contexts, noop_context_fn

# Ops whose time grows faster than what they read and write.
COSTLY: list[Any] = [
    Matmul, Linear, Addmm, Convolution, ConvolutionInput, ScaledDotProductFlashAttentionForCpu,
    Recurrent,
]  # fmt: skip


class CheckpointPolicy(enum.Enum):
    """What becomes of an op's result: kept, kept in the CPU's memory, or computed again.

    MUST and PREFER are the same here; in PyTorch they tell its compiler how much it may change.
    https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.CheckpointPolicy

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.checkpoint import CheckpointPolicy, checkpoint
    >>> from tiny_torch.utils.checkpoint import create_selective_checkpoint_contexts
    >>> def keep_large(context, op, *args, **kwargs):
    ...     large = context.op_output.numel() > 2
    ...     return CheckpointPolicy.MUST_SAVE if large else CheckpointPolicy.PREFER_RECOMPUTE
    >>> def contexts():
    ...     return create_selective_checkpoint_contexts(keep_large)
    >>> x = torch.ones(3, requires_grad=True)
    >>> checkpoint(lambda x: x.exp().sum(), x, use_reentrant=False, context_fn=contexts).backward()
    >>> x.grad
    tensor([2.7183, 2.7183, 2.7183])
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


SAVE = CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE
OFFLOAD = CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD


class SelectiveCheckpointContext:
    """What a policy is told beside the op: whether this is the second run, and the result."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None):
        self.is_recompute = is_recompute
        self.op_output = op_output


class Standing:
    """An op, but for its forward."""

    def __init__(self, op: Any, forward: Callable):
        self.op = op
        self.forward = forward

    def __getattr__(self, name: str) -> Any:
        return getattr(self.op, name)


def is_array(value: Any) -> bool:
    return hasattr(value, "stamp")


class Kept:
    """An op's answer (result, saved) without its inputs, which the second run has anyway."""

    def __init__(self, arrays: tuple, result: Any, saved: tuple, offload: bool):
        self.inputs = [
            next((i for i, x in enumerate(arrays) if x is value), None) if is_array(value) else None
            for value in saved
        ]
        self.several = isinstance(result, tuple)
        results = result if self.several else (result,)
        self.count = len(results)
        self.values = (
            *results,
            *(v if i is None else None for v, i in zip(saved, self.inputs, strict=True)),
        )
        self.written = node_stamp(self.values)
        self.devices = [value.device if is_array(value) else None for value in self.values]
        if offload:
            self.values = tuple(move(v, "cpu") if is_array(v) else v for v in self.values)

    def check(self) -> None:
        if check_saved(self.values, self.written) == STALE:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated"
            )

    def answer(self, arrays: tuple) -> tuple:
        values = [
            move(value, device) if device is not None else value
            for value, device in zip(self.values, self.devices, strict=True)
        ]
        results, rest = values[: self.count], values[self.count :]
        saved = tuple(
            value if i is None else arrays[i] for value, i in zip(rest, self.inputs, strict=True)
        )
        return tuple(results) if self.several else results[0], saved


def move(array: Any, device: Any) -> Any:
    return array if array.device == device else wrap(array).to(str(device)).array


AGAIN, USED = object(), object()
MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend "
    "on global state that changed between forward and backward."
)


class Numbered(OpMode):
    """A mode of one of the runs: the ops' calls are numbered, each op by itself."""

    def __init__(self, kept: dict[Any, list[Any]]):
        self.kept = kept  # by op, in the order of its calls: a Kept, AGAIN or USED
        self.counts: dict[Any, int] = defaultdict(int)

    def begin(self) -> Any:
        self.counts.clear()
        return super().begin()


class FirstRun(Numbered):
    """Keeps what the policy says."""

    def __init__(self, kept: dict[Any, list[Any]], policy: Callable):
        super().__init__(kept)
        self.policy = policy

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        seen: list[tuple] = []

        def compute(*arrays: Any, **options: Any) -> Any:
            answer = op.forward(*arrays, **options)
            seen[:] = [(arrays, *answer)]
            return answer

        may_keep = kind == ORDINARY and not op.__module__.startswith("tiny_torch.ops.random")
        output = call(Standing(op, compute) if may_keep else op, arguments)
        if may_keep:
            restore(op, output)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=output)
        policy = self.policy(context, op, *arguments)
        keeps = policy is True or policy in SAVE or policy in OFFLOAD
        entry: Any = AGAIN
        if keeps and seen:
            arrays, result, saved = seen[0]
            entry = Kept(arrays, result, saved, policy in OFFLOAD)
        self.kept[op].append(entry)
        return output


def restore(op: Any, output: Any) -> None:
    """The node of an op's results has the op itself."""
    for result in output if isinstance(output, tuple) else (output,):
        edge = edge_of(result) if isinstance(result, Tensor) else None
        if edge is not None and isinstance(edge[0], Node) and type(edge[0].op) is Standing:
            edge[0].op = op


class SecondRun(Numbered):
    """Answers what is kept."""

    def __init__(self, kept: dict[Any, list[Any]], allow_cache_entry_mutation: bool):
        super().__init__(kept)
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        if op not in self.kept:
            raise RuntimeError(
                f"{op.__name__} encountered during backward but not found in storage. {MISMATCH}"
            )
        entries, number = self.kept[op], self.counts[op]
        self.counts[op] += 1
        if number >= len(entries):
            raise RuntimeError(
                f"{op.__name__} invocation index {number} encountered during backward but not "
                f"found in storage. {MISMATCH}"
            )
        kept = entries[number]
        if kept is USED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any "
                "region computed under selective activation checkpoint."
            )
        if kept is AGAIN:
            return call(op, arguments)
        if not self.allow_cache_entry_mutation:
            kept.check()
        entries[number] = USED
        return call(Standing(op, lambda *arrays, **options: kept.answer(arrays)), arguments)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | list, allow_cache_entry_mutation: bool = False
) -> Contexts:
    """Two contexts for `checkpoint`: in the first some ops' results are kept, in the second used.

    A list names the ops to keep; a policy, called as `policy(ctx, op, *args, **kwargs)`, answers a
    CheckpointPolicy, or whether to keep. Ops are classes of `torch.ops` (PyTorch's: OpOverloads).
    Raises ValueError for another op, TypeError for neither list nor function; in backward
    RuntimeError where a kept result was written since, unless `allow_cache_entry_mutation`, where
    the second run has other ops, and in a second backward.
    https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.create_selective_checkpoint_contexts

    >>> import functools
    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> keep = functools.partial(
    ...     create_selective_checkpoint_contexts, [torch.ops.linalg.matmul.Matmul]
    ... )
    >>> x, w = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    >>> y = checkpoint(lambda x: (x @ w).tanh() @ w, x, use_reentrant=False, context_fn=keep)
    >>> y.sum().backward()
    >>> x.grad
    tensor([[0.2826, 0.2826],
            [0.2826, 0.2826]])
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not (isinstance(op, type) and issubclass(op, Op)):
                raise ValueError(
                    f"Expected op in `op_list` to be an op, such as "
                    f"torch.ops.linalg.matmul.Linear, but got: {op} of type {type(op)}."
                )
        ops = tuple(policy_fn_or_list)

        def policy(context: Any, op: Any, *args: Any) -> bool:
            return isinstance(op, type) and issubclass(op, ops)

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[Any, list[Any]] = defaultdict(list)
    return FirstRun(kept, policy), SecondRun(kept, allow_cache_entry_mutation)


class selective(Scope):
    """Keeps what matrix products, convolutions, attention and recurrent layers answer, and computes
    the rest again: activations, norms, dropout. Not in PyTorch.

    The `context_fn` of a checkpoint; or, by ``with``, of all non-reentrant ones inside that have
    none. A chain of layers wants several checkpoints: backward of one computes all its cheap ops.

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.checkpoint import checkpoint, selective
    >>> layer = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Dropout())
    >>> x = torch.ones(4, 8)
    >>> checkpoint(layer, x, use_reentrant=False, context_fn=selective).sum().backward()
    >>> with selective():
    ...     checkpoint(layer, x, use_reentrant=False).sum().backward()
    """

    def __init__(self) -> None:
        self.contexts = create_selective_checkpoint_contexts(COSTLY)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.contexts)

    def __getitem__(self, run: int) -> Any:
        return self.contexts[run]

    def current(self) -> Any:
        return thread.checkpoint_contexts

    def begin(self) -> selective:
        thread.checkpoint_contexts = type(self)
        return self

    def restore(self, before: Any) -> None:
        thread.checkpoint_contexts = before


def chosen(context_fn: Callable[[], Contexts]) -> Callable[[], Contexts]:
    """That of the innermost ``with selective()``, where the call has none of its own."""
    if context_fn is noop_context_fn:
        return thread.checkpoint_contexts or context_fn
    return context_fn
