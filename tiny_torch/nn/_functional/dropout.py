"""The kinds of dropout: what they check; ops/neural.py draws."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import tiny_torch as torch

from ...tensor import Tensor


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training sets each element to 0 with probability p and divides the others by 1 - p.

    Any shape, floating dtypes. Raises ValueError unless 0 <= p <= 1.
    Source: PyTorch, nn.functional.dropout; Hinton et al. 2012.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    _check_probability(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


def _by_channel(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    function: Callable = torch.feature_dropout_ if inplace else torch.feature_dropout
    if batched:
        return function(input, p, training)
    if inplace:
        return function(input.unsqueeze_(0), p, training).squeeze_(0)
    return function(input.unsqueeze(0), p, training).squeeze(0)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """dropout of whole channels of (N, C, L) or (C, L): each is 0 with probability p in training.

    Raises ValueError unless 0 <= p <= 1, RuntimeError for another number of dims.
    Source: PyTorch, nn.functional.dropout1d; Tompson et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.dropout1d(torch.ones(1, 2), training=False)
    tensor([[1., 1.]])
    """
    _check_probability(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _by_channel(input, p, training, inplace, input.ndim == 3)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """dropout of whole channels of (N, C, H, W): each is 0 with probability p in training.

    (N, C, L) is taken as dropout1d takes it, with a warning; so are other numbers of dims. Raises
    ValueError unless 0 <= p <= 1, RuntimeError for less than 2 dims.
    Source: PyTorch, nn.functional.dropout2d; Tompson et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.dropout2d(torch.ones(1, 2, 1, 1), training=False).shape
    torch.Size([1, 2, 1, 1])
    """
    _check_probability(p)
    if input.ndim not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and "
            "will result in an error in a future release. To retain the behavior and silence this "
            "warning, please use dropout instead. Note that dropout2d exists to provide "
            "channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an "
            "optional batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    if input.ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _by_channel(input, p, training, inplace, True)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """dropout of whole channels of (N, C, D, H, W) or (C, D, H, W).

    Each is 0 with probability p in training. Other numbers of dims warn. Raises ValueError unless
    0 <= p <= 1.
    Source: PyTorch, nn.functional.dropout3d; Tompson et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.dropout3d(torch.ones(2, 1, 1, 1), training=False).shape
    torch.Size([2, 1, 1, 1])
    """
    _check_probability(p)
    if input.ndim not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and "
            "will result in an error in a future release. To retain the behavior and silence this "
            "warning, please use dropout instead. Note that dropout3d exists to provide "
            "channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and an "
            "optional batch dimension (i.e. 4D or 5D inputs).",
            stacklevel=2,
        )
    return _by_channel(input, p, training, inplace, input.ndim == 5)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """In training sets elements to what selu of -inf is, with probability p.

    All are scaled and shifted so that mean and variance stay. Any shape, floating dtypes. Raises
    ValueError unless 0 <= p <= 1.
    Source: PyTorch, nn.functional.alpha_dropout; Klambauer et al. 2017.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.alpha_dropout(torch.ones(2))
    tensor([1., 1.])
    """
    _check_probability(p)
    function = torch.alpha_dropout_ if inplace else torch.alpha_dropout
    return function(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """alpha_dropout of whole channels of (N, C, *).

    Raises ValueError unless 0 <= p <= 1, RuntimeError for less than 2 dims.
    Source: PyTorch, nn.functional.feature_alpha_dropout.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.feature_alpha_dropout(torch.ones(1, 2))
    tensor([[1., 1.]])
    """
    _check_probability(p)
    function = torch.feature_alpha_dropout_ if inplace else torch.feature_alpha_dropout
    return function(input, p, training)
