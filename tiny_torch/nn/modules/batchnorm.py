"""Batch normalisation of inputs of one to three spatial dims."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.base.docstrings import told_as
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._parts.dims import check_dims
from tiny_torch.nn.modules.lazy import LazyModuleMixin
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.modules.normalization import AffineNorm
from tiny_torch.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from tiny_torch.tensor import Tensor

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class NormBase(AffineNorm):
    """What batch and instance norm share: a weight and a bias per channel, running statistics."""

    _version = 2
    _input_dims: tuple[int, ...] = ()  # the numbers of dims that an input may have
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._register(num_features, affine, affine and bias, device, dtype)
        mean = var = count = None
        if track_running_stats:
            mean = torch.zeros(num_features, device=device, dtype=dtype)
            var = torch.ones(num_features, device=device, dtype=dtype)
            count = torch.tensor(0, device=device)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", var)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches."""
        start = ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0))
        for buffer, value in start:
            if buffer is not None and self.track_running_stats:
                buffer.fill_(value)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and the running statistics anew."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if not self._input_dims:
            raise NotImplementedError
        check_dims(input, self._input_dims)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *arguments) -> None:
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            count = self.num_batches_tracked
            state_dict.setdefault(
                prefix + "num_batches_tracked", torch.tensor(0) if count is None else count
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *arguments)


class BatchNorm(NormBase):
    def forward(self, input: Tensor) -> Tensor:
        """In training by the batch's statistics, which are kept track of; else by those."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        buffers = self._buffers  # three names at the cost of one: 1.2 of 6.2 µs
        mean, var, count = (
            buffers["running_mean"],
            buffers["running_var"],
            buffers["num_batches_tracked"],
        )
        tracks = self.training and self.track_running_stats
        if tracks and count is not None:
            count.add_(1)
            if self.momentum is None:  # the average of all batches
                factor = 1.0 / float(count)
        used = tracks or not self.training
        return F.batch_norm(
            input,
            mean if used else None,
            var if used else None,
            self.weight,
            self.bias,
            self.training or (mean is None and var is None),
            factor,
            self.eps,
        )


_NormBase, _BatchNorm = NormBase, BatchNorm  # PyTorch's names


class BatchNorm1d(BatchNorm):
    """Batch norm of (N, C) or (N, C, L): see `functional.batch_norm`.

    Raises ValueError for another number of dims.
    Source: PyTorch, torch.nn.BatchNorm1d.

    >>> import tiny_torch as torch
    >>> torch.nn.BatchNorm1d(1)(torch.tensor([[1.0], [3.0]])).flatten().tolist()
    [-0.9999949932098389, 0.9999949932098389]
    """

    _input_dims = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch norm of (N, C, H, W): see `functional.batch_norm`.

    Raises ValueError for another number of dims.
    Source: PyTorch, torch.nn.BatchNorm2d.

    >>> import tiny_torch as torch
    >>> torch.nn.BatchNorm2d(3)(torch.rand(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _input_dims = (4,)


@told_as(BatchNorm2d, 3)
class BatchNorm3d(BatchNorm):
    _input_dims = (5,)


class SyncBatchNorm(BatchNorm):
    """Batch norm of (N, C, *) with the statistics of all ranks of a group, or of this process.

    Raises ValueError for less than 2 dims.
    Source: PyTorch, torch.nn.SyncBatchNorm.

    >>> import tiny_torch as torch
    >>> torch.nn.SyncBatchNorm(3)(torch.rand(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """In training by the statistics of all ranks' batches, where there is a group."""
        ranks = torch.distributed
        in_group = self.training and ranks.is_initialized()
        if not in_group or ranks.get_world_size(self.process_group) == 1:
            return super().forward(input)
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        return torch.nn.parallel.synced_batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, factor, self.eps,
            self.process_group,
        )  # fmt: skip

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module, with one of this class in the place of each BatchNorm*D in it."""
        result = module
        if isinstance(module, BatchNorm):
            result = cls(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group,
            )  # fmt: skip
            result.train(module.training)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(result, name, getattr(module, name))
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class _LazyNormBase(LazyModuleMixin, NormBase):
    """A norm whose number of channels is that of its first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, device=device)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and the running statistics anew, as soon as they have a shape."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """A channel for each of the input's."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            tensors: tuple[Any, ...] = (self.weight, self.bias, self.running_mean, self.running_var)
            for tensor in tensors:
                if tensor is not None:
                    tensor.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """BatchNorm1d for as many channels as its first input has.

    Source: PyTorch, torch.nn.LazyBatchNorm1d.

    >>> import tiny_torch as torch
    >>> norm = torch.nn.LazyBatchNorm1d()
    >>> _ = norm(torch.rand(4, 3))
    >>> norm.num_features, type(norm).__name__
    (3, 'BatchNorm1d')
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """BatchNorm2d for as many channels as its first input has.

    Source: PyTorch, torch.nn.LazyBatchNorm2d.

    >>> import tiny_torch as torch
    >>> norm = torch.nn.LazyBatchNorm2d()
    >>> norm(torch.rand(4, 3, 2, 2)).shape, norm.num_features
    (torch.Size([4, 3, 2, 2]), 3)
    """

    cls_to_become = BatchNorm2d


@told_as(LazyBatchNorm2d, 3)
class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    cls_to_become = BatchNorm3d
