"""The kinds of dropout."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

from tiny_torch import _core
from tiny_torch.base.arguments import as_float, check_bool
from tiny_torch.base.dtypes import check_cast
from tiny_torch.functions.common import check_tensor
from tiny_torch.functions.public import function
from tiny_torch.functions.random.draws import draw
from tiny_torch.ops.nn.activation import SELU_ALPHA, SELU_SCALE
from tiny_torch.tensor import Tensor, wrap

DROPPED = SELU_SCALE * SELU_ALPHA  # alpha dropout puts -DROPPED, where SELU tends to


def as_probability(p: float, training: bool = True) -> float:
    if training is not True and training is not False:
        check_bool("dropout", "training", 3, training)
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p if type(p) is float else as_float("dropout", "p", 2, p)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training sets each element to 0 with probability p and divides the others by 1 - p.

    Any shape, floating dtypes. Raises ValueError unless 0 <= p <= 1.
    Source: PyTorch, nn.functional.dropout; Hinton et al. 2012.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    p = as_probability(p, training)
    return (torch_dropout_ if inplace else torch_dropout)(input, p, training)


def _by_channel(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    function: Callable = torch_feature_dropout_ if inplace else torch_feature_dropout
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
    p = as_probability(p, training)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _by_channel(input, p, training, inplace, input.ndim == 3)


def _warn_of_dims(dims: int, ndim: int) -> None:
    if ndim not in (dims + 1, dims + 2):
        warnings.warn(
            f"dropout{dims}d: Received a {ndim}-D input to dropout{dims}d, which is deprecated and "
            "will result in an error in a future release. To retain the behavior and silence this "
            f"warning, please use dropout instead. Note that dropout{dims}d exists to provide "
            f"channel-wise dropout on inputs with {dims} spatial dimensions, a channel dimension, "
            f"and an optional batch dimension (i.e. {dims + 1}D or {dims + 2}D inputs).",
            stacklevel=3,
        )


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
    p = as_probability(p, training)
    _warn_of_dims(2, input.ndim)
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
    p = as_probability(p, training)
    _warn_of_dims(3, input.ndim)
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
    p = as_probability(p, training)
    function = torch_alpha_dropout_ if inplace else torch_alpha_dropout
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
    p = as_probability(p, training)
    function = torch_feature_alpha_dropout_ if inplace else torch_feature_alpha_dropout
    return function(input, p, training)


# ---------------------------------------------------------------------------------------- of torch


def check_probability(p: float) -> None:
    if p < 0 or p > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def is_dropping(name: str, input: Tensor, p: float, train: bool) -> bool:
    check_tensor(name, "input", 1, input)
    check_probability(p)
    return bool(train) and p != 0 and input.numel() != 0


def noise_of(input: Tensor, p: float, by_channel: bool, scaled: bool = True) -> Tensor:
    """0 with probability p, else 1, or 1 / (1 - p) if `scaled`: per element or per channel."""
    if by_channel and input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if p == 1:  # draws nothing
        return input.new_zeros(())
    if not input.is_floating_point():
        check_cast(_core.float32, input.dtype)
    kept = quotient(p, input.dtype) if scaled else 1.0
    array = input.array
    if by_channel:
        array = input.new_empty((*input.shape[:2], *(1,) * (input.ndim - 2))).array
    else:
        array = array.empty_like()
    return draw(wrap(array), _core.bernoulli_, None, 1 - p, kept)


def quotient(p: float, dtype: _core.dtype) -> float:
    """1 / (1 - p), as an element of the dtype holds it."""
    return _core.unrecorded(lambda: _core.full((), 1, dtype).div(1 - p).item())


def dropout_of(name: str, by_channel: bool) -> tuple[Callable, Callable]:
    """dropout of elements or of whole channels; and in place."""

    def function(input: Tensor, p: float, train: bool) -> Tensor:
        """In training sets elements to 0 with probability p and divides the others by 1 - p.

        Raises RuntimeError unless 0 <= p <= 1, and for integers.
        """
        return (
            input * noise_of(input, p, by_channel) if is_dropping(name, input, p, train) else input
        )

    def in_place(input: Tensor, p: float, train: bool) -> Tensor:
        """The same in place."""
        return (
            input.mul_(noise_of(input, p, by_channel))
            if is_dropping(name, input, p, train)
            else input
        )

    return name_both(name, function, in_place)


def alpha_dropout_of(name: str, by_channel: bool) -> tuple[Callable, Callable]:
    """alpha_dropout of elements or of whole channels; and in place."""

    def noises(input: Tensor, p: float) -> tuple[Tensor, Tensor]:
        """What the input is multiplied by, and what is then added."""
        noise = noise_of(input, p, by_channel, scaled=False)
        scale = 1 / math.sqrt((DROPPED * DROPPED * p + 1) * (1 - p))
        return noise * scale, (noise - 1).mul_(DROPPED * scale).add_(DROPPED * scale * p)

    def function(input: Tensor, p: float, train: bool) -> Tensor:
        """In training sets elements to what selu of -inf is, with probability p.

        All are scaled and shifted so that mean and variance stay. Raises RuntimeError unless
        0 <= p <= 1, and for integers. Source: PyTorch, nn.functional.alpha_dropout.
        """
        if not is_dropping(name, input, p, train):
            return input
        if p == 1:
            return input * input.new_zeros(())
        noise, shift = noises(input, p)
        return input * noise + shift

    def in_place(input: Tensor, p: float, train: bool) -> Tensor:
        """The same in place."""
        if not is_dropping(name, input, p, train):
            return input
        if p == 1:
            return input.mul_(input.new_zeros(()))
        noise, shift = noises(input, p)
        return input.mul_(noise).add_(shift)

    return name_both(name, function, in_place)


def name_both(name: str, function: Callable, in_place: Callable) -> tuple[Callable, Callable]:
    function.__name__ = function.__qualname__ = name
    in_place.__name__ = in_place.__qualname__ = name + "_"
    return function, in_place


torch_dropout, torch_dropout_ = dropout_of("dropout", False)
torch_feature_dropout, torch_feature_dropout_ = dropout_of("feature_dropout", True)
torch_alpha_dropout, torch_alpha_dropout_ = alpha_dropout_of("alpha_dropout", False)
torch_feature_alpha_dropout, torch_feature_alpha_dropout_ = alpha_dropout_of(
    "feature_alpha_dropout", True
)

for _dropout in (
    torch_dropout, torch_dropout_, torch_feature_dropout, torch_feature_dropout_,
    torch_alpha_dropout, torch_alpha_dropout_, torch_feature_alpha_dropout,
    torch_feature_alpha_dropout_,
):  # fmt: skip
    function(_dropout)
