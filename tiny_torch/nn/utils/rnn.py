"""Batches of sequences of different lengths: padded, or packed without the padding.

Source: PyTorch, torch.nn.utils.rnn.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.base.arguments import check_bool
from tiny_torch.functions.common import as_tensors, check_tensor, standalone
from tiny_torch.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another, int64 (n,)."""
    if permutation is None:
        return None
    result = torch.zeros_like(permutation)
    result[permutation] = torch.arange(permutation.numel(), device=permutation.device)
    return result


# Its repr is that of the class below.
_Fields = namedtuple(  # type: ignore[name-match]
    "PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"]
)


def _conversion(dtype: torch.dtype) -> Any:
    def convert(self) -> PackedSequence:
        """The same with the data of this dtype."""
        return self.to(dtype)

    return convert


class PackedSequence(_Fields):
    """Sequences as (rows, *): all first steps, the longest sequence first, then all second, …

    `batch_sizes` (steps,) int64 says how many sequences each step has; `sorted_indices` the order
    in which the sequences stand, None if they were sorted, `unsorted_indices` its inverse. Made by
    pack_padded_sequence and pack_sequence. Raises ValueError where batch_sizes is not on the CPU.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, list | tuple) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU.")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()

    def pin_memory(self) -> PackedSequence:
        """The same with the data in pinned memory."""
        return self._replace(data=self.data.pin_memory())

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with the data of another dtype or device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        orders = [
            None if order is None else order.to(data.device)
            for order in (self.sorted_indices, self.unsorted_indices)
        ]
        return self._replace(data=data, sorted_indices=orders[0], unsorted_indices=orders[1])

    def cpu(self) -> PackedSequence:
        """On the CPU."""
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """On a GPU."""
        if args or kwargs.get("device") is not None:
            return self.to(*args, **kwargs)
        return self.to("cuda", **kwargs)

    double = _conversion(_core.float64)
    float = _conversion(_core.float32)
    half = _conversion(_core.float16)
    long = _conversion(_core.int64)
    int = _conversion(_core.int32)
    short = _conversion(_core.int16)
    char = _conversion(_core.int8)
    byte = _conversion(_core.uint8)


def _places(lengths: list[int], batch: int) -> tuple[Tensor, Tensor]:
    """Rows in a padded (steps, batch), and each step's count, for sequences by falling length."""
    longest = torch.tensor(lengths, device="cpu")
    steps = torch.arange(lengths[0], device="cpu")
    alive = steps.unsqueeze(1) < longest.unsqueeze(0)  # (steps, sequences)
    step, sequence = alive.nonzero(as_tuple=True)
    return step * batch + sequence, alive.sum(1)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs padded sequences (steps, batch, *), with batch_first (batch, steps, *).

    `lengths` (batch,) is a tensor on the CPU or a list. Without `enforce_sorted` they may come in
    any order. Raises RuntimeError for lengths that are not sorted, that do not fit the batch, and
    that are not positive.
    Source: PyTorch, nn.utils.rnn.pack_padded_sequence.

    >>> import tiny_torch as torch
    >>> padded = torch.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    >>> packed = torch.nn.utils.rnn.pack_padded_sequence(
    ...     padded, [2, 1, 3], batch_first=True, enforce_sorted=False)
    >>> packed.data, packed.batch_sizes
    (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]))
    """
    check_tensor("_pack_padded_sequence", "input", 1, input)
    check_bool("_pack_padded_sequence", "batch_first", 3, batch_first)
    lengths = torch.as_tensor(lengths, dtype=torch.int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = torch.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    steps, batch, *rest = input.shape
    if list(lengths.shape) != [batch]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.numel()} "
            f"(batch_size={batch})"
        )
    sizes = lengths.tolist()
    if sizes != sorted(sizes, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if sizes[0] > steps:
        raise RuntimeError(f"Expected `lengths` of at most {steps}, the input's, got {sizes[0]}")
    places, batch_sizes = _places(sizes, batch)
    data = input.reshape(steps * batch, *rest).index_select(0, places.to(input.device))
    return PackedSequence(data, batch_sizes, sorted_indices)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The reverse of pack_padded_sequence: (padded, lengths), in the original order.

    With `total_length` there are so many steps. Raises ValueError where the sequences are longer.
    Source: PyTorch, nn.utils.rnn.pad_packed_sequence.
    """
    batch_sizes = sequence.batch_sizes
    data, unsorted_indices = sequence.data, sequence.unsorted_indices
    batch, steps = int(batch_sizes[0]), batch_sizes.numel()
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but "
            f"got total_length={total_length} and max sequence length being {steps}"
        )
    lengths = (batch_sizes.unsqueeze(1) > torch.arange(batch, device="cpu")).sum(0)
    places, _ = _places(lengths.tolist(), batch)
    steps = steps if total_length is None else total_length
    padded = data.new_full((steps * batch, *data.shape[1:]), padding_value)
    padded = padded.index_copy(0, places.to(data.device), data).view(steps, batch, *data.shape[1:])
    padded = standalone(padded)
    check_bool("_pad_packed_sequence", "batch_first", 3, batch_first)
    if batch_first:
        padded = padded.transpose(0, 1)
    if unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
        lengths = lengths[unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (length, *) as one (longest, batch, *), with batch_first (batch, longest, *).

    Raises RuntimeError for no sequences, and a side other than "right" and "left".
    Source: PyTorch, nn.utils.rnn.pad_sequence.

    >>> import tiny_torch as torch
    >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], True)
    tensor([[1, 2],
            [3, 0]])
    """
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    check_bool("pad_sequence", "batch_first", 2, batch_first)
    sequences = as_tensors("pad_sequence", "tensors", tuple(sequences))
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    if sequences[0].ndim == 0:
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
    longest = max(s.size(0) for s in sequences)
    rest = sequences[0].shape[1:]
    shape = (len(sequences), longest) if batch_first else (longest, len(sequences))
    padded = sequences[0].new_full((*shape, *rest), float(padding_value))
    for i, sequence in enumerate(sequences):
        start = 0 if padding_side == "right" else longest - sequence.size(0)
        row = padded.select(0 if batch_first else 1, i)
        row[start : start + sequence.size(0)] = sequence
    return padded


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch, each cut to its length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    steps = torch.arange(padded_sequences.shape[1], device=lengths.device)
    return [s[steps < n] for s, n in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences (length, *) of any lengths.

    >>> import tiny_torch as torch
    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = torch.as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
