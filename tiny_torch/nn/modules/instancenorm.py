"""Instance normalisation of inputs of one to three spatial dims."""

from __future__ import annotations

import warnings
from typing import Any

from tiny_torch.base.docstrings import told_as
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules.batchnorm import NormBase
from tiny_torch.tensor import Tensor

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """Each sample by its own statistics; in evaluation by the running ones, if there are."""
        self._check_input_dim(input)
        dim = input.ndim - self._input_dims[0]
        if input.shape[dim] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features "
                    f"({self.num_features}), but got: {input.shape[dim]}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        result = F.instance_norm(
            input if dim else input.unsqueeze(0),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )
        return result if dim else result.squeeze(0)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing, unexpected, errors
    ) -> None:
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            names = ("running_mean", "running_var")
            keys = [prefix + name for name in names if prefix + name in state_dict]
            if keys:
                errors.append(
                    f"Unexpected running stats buffer(s) {' and '.join(map(repr, keys))} for "
                    f"{type(self).__name__} with track_running_stats=False. If the running stats "
                    "are needed, set track_running_stats=True; else remove these keys."
                )
                for key in keys:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing, unexpected, errors
        )


class InstanceNorm2d(_InstanceNorm):
    """Instance norm of (N, C, H, W) or (C, H, W): see `functional.instance_norm`.

    Raises ValueError for another number of dims, or of channels where there are weights.
    Source: PyTorch, torch.nn.InstanceNorm2d.

    >>> import tiny_torch as torch
    >>> torch.nn.InstanceNorm2d(3)(torch.rand(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _input_dims = (3, 4)


@told_as(InstanceNorm2d, 1)
class InstanceNorm1d(_InstanceNorm):
    _input_dims = (2, 3)


@told_as(InstanceNorm2d, 3)
class InstanceNorm3d(_InstanceNorm):
    _input_dims = (4, 5)
