"""Recurrent layers: RNN, LSTM and GRU over whole sequences. One step: rnn_cell.py."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.amp.state import is_cast_on
from tiny_torch.base.dtypes import check_same_type
from tiny_torch.functions.common import standalone
from tiny_torch.functions.nn.recurrent import recurrent_layer
from tiny_torch.nn import functional as F
from tiny_torch.nn import init
from tiny_torch.nn.modules._parts.dims import check_dims_of
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.nn.utils.rnn import PackedSequence
from tiny_torch.tensor import Tensor

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]

_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


class RNNBase(Module):
    """What RNN, LSTM and GRU share: layers, directions, dropout between layers, packed input.

    Parameters are `weight_ih_l{k}` (gates hidden, inputs), `weight_hh_l{k}` (gates hidden, hidden)
    and, with `bias`, `bias_ih_l{k}` and `bias_hh_l{k}`, all drawn from U(-1/√hidden, 1/√hidden); a
    second direction's end in `_reverse`. Raises TypeError and ValueError for settings that make no
    sense.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        number = isinstance(dropout, numbers.Real) and not isinstance(dropout, bool)
        if not (number and 0 <= dropout <= 1):
            raise ValueError(_DROPOUT)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_settings()
        gates = _GATES[mode] * hidden_size
        output_size = proj_size or hidden_size
        numbers_each = (gates + proj_size) * output_size * (2 if bidirectional else 1)
        _core.expect_memory(4.0 * num_layers * max(numbers_each, 256))
        self._all_weights: list[list[str]] = []  # of the parameters, by layer and direction
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                width = input_size if layer == 0 else output_size * (2 if bidirectional else 1)
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (gates, width),
                    "weight_hh": (gates, output_size),
                }
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
                for name, shape in zip(self._all_weights[-1], shapes.values(), strict=True):
                    setattr(self, name, Parameter(torch.empty(shape, device=device, dtype=dtype)))
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self._init_flat_weights()
        self.reset_parameters()

    def _check_settings(self) -> None:
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={self.dropout} and "
                f"num_layers={self.num_layers}",
                stacklevel=4,
            )
        kinds = {"bias": bool, "batch_first": bool, "input_size": int, "hidden_size": int}
        for name, kind in kinds.items():
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(
                    f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
                )
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    def reset_parameters(self) -> None:
        """Draws all parameters from U(-1/√hidden, 1/√hidden)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: it is for PyTorch's GPU kernels, and scripts call it."""

    # As in PyTorch, `_flat_weights` is what forward reads: scripts put other tensors there. It is
    # made anew from the attributes once one of them is another than it was.

    def _init_flat_weights(self) -> None:
        self._take_weights([getattr(self, name, None) for name in self._flat_weights_names])

    def _take_weights(self, weights: list[Any]) -> None:
        self.__dict__.update(_flat_weights=weights, _weights_taken=tuple(weights))

    def _update_flat_weights(self) -> None:
        now = [getattr(self, name, None) for name in self._flat_weights_names]
        if any(a is not b for a, b in zip(now, self._weights_taken, strict=True)):
            self._take_weights(now)
        if len(self._flat_weights) != len(now):
            given = len(self._flat_weights)
            raise RuntimeError(f"{self.mode}: expected {len(now)} weights, got {given}")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if name in state.get("_flat_weights_names", ()):
            state["_flat_weights"][state["_flat_weights_names"].index(name)] = value
        super().__setattr__(name, value)

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        result = super()._apply(*args, **kwargs)
        self._init_flat_weights()
        return result

    def __getstate__(self) -> dict[str, Any]:
        self._update_flat_weights()
        return {key: value for key, value in self.__dict__.items() if key != "_weights_taken"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_flat_weights" not in self.__dict__:  # saved by a version that did not have it
            self._flat_weights_names = [name for names in self._all_weights for name in names]
            self._init_flat_weights()
        self._weights_taken = tuple(self._flat_weights)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def extra_repr(self) -> str:
        """The sizes, and the settings that are not the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0,
            "bidirectional": False,
        }  # fmt: skip
        for name, default in defaults.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text

    def _forward(self, input: Tensor | PackedSequence, hx: Any = None) -> tuple[Any, Any]:
        """(output, last state) of (steps, batch, inputs), or of (steps, inputs) without a batch.

        With `batch_first` (batch, steps, inputs); or of a PackedSequence, whose output is packed.
        The output is (steps, batch, directions hidden); the state (layers directions, batch,
        hidden), for an LSTM a pair of such. Without `hx` it starts at zeros. Raises ValueError and
        RuntimeError for other shapes and dtypes.
        """
        self._update_flat_weights()
        if isinstance(input, PackedSequence):
            data, sizes, order, inverse = input
            check_same_type(torch.int64, sizes.dtype)
            state = self._start(hx, int(sizes[0]), data, 3, order)
            self._check_input(data, 2)
            data, state = self._run(data, sizes.tolist(), state)
            return PackedSequence(data, sizes, order, inverse), self._end(state, inverse)
        kind = self.mode.split("_")[0]
        check_dims_of(kind, "input", input, (2, 3))
        dims = input.dim()
        if dims == 2:
            input = input.unsqueeze(1)
        elif self.batch_first:
            input = input.transpose(0, 1)
        self._check_input(input, 3)
        steps, batch, size = input.shape
        if steps == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        state = self._start(hx, batch, input, dims, None)
        data, state = self._run(input.reshape(steps * batch, size), [batch] * steps, state)
        output = standalone(data.view(steps, batch, data.shape[1]))
        if dims == 2:
            return output.squeeze(1), self._end(tuple([s.squeeze(1) for s in state]))
        if self.batch_first:
            output = standalone(output.transpose(0, 1))
        return output, self._end(state)

    def _check_input(self, input: Tensor, dims: int) -> None:
        dtype = self._flat_weights[0].dtype
        if input.dtype is not dtype and not is_cast_on(input):
            _core.refuse_pytorchs(input)
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert "
                f"input: input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def _state_sizes(self) -> list[int]:
        return [self.proj_size or self.hidden_size]

    def _start(
        self, hx: Any, batch: int, input: Tensor, dims: int, order: Tensor | None
    ) -> tuple[Tensor, ...]:
        """The state to start from, as one or two (layers directions, batch, size)."""
        sizes = self._state_sizes()
        rows = len(self._all_weights)
        if hx is None:
            return tuple([input.new_zeros(rows, batch, size) for size in sizes])
        state = (hx,) if len(sizes) == 1 else hx if isinstance(hx, tuple | list) else (hx[0], hx[1])
        if len(state) != len(sizes):
            error = IndexError if len(state) < len(sizes) else RuntimeError
            raise error(f"{self.mode}: expected {len(sizes)} states, got {len(state)}")
        if len(sizes) == 2 and dims == 3 and isinstance(hx, Tensor) and hx.ndim == 4:
            raise TypeError(f"{self.mode}: expected a tuple of two states, got a Tensor")
        given = [s.dim() for s in state]
        if any(d != dims for d in given):
            batched = "batched" if dims == 3 else "unbatched"
            who = "hx and cx" if len(given) == 2 else "hx"
            raise RuntimeError(
                f"For {batched} {dims}-D input, {who} should also be {dims}-D but got "
                f"{' and '.join(f'{d}-D' for d in given)}"
            )
        if dims == 2:
            state = tuple([s.unsqueeze(1) for s in state])
        names = ("hidden[0]", "hidden[1]") if len(sizes) > 1 else ("hidden",)
        for name, s, size in zip(names, state, sizes, strict=True):
            if tuple(s.shape) != (rows, batch, size):
                raise RuntimeError(
                    f"Expected {name} size {(rows, batch, size)}, got {list(s.shape)}"
                )
            if s.dtype is not input.dtype and not is_cast_on(input):
                raise RuntimeError(f"Expected {name} of dtype {input.dtype}, got {s.dtype}")
        return tuple([s if order is None else s.index_select(1, order) for s in state])

    def _end(self, state: tuple[Tensor, ...], order: Tensor | None = None) -> Any:
        state = tuple([s if order is None else s.index_select(1, order) for s in state])
        return state if len(state) > 1 else state[0]

    def _run(
        self, data: Tensor, sizes: list[int], state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """All layers on (rows, inputs); sizes as in ops/nn/recurrent.py."""
        directions = 2 if self.bidirectional else 1
        ends: list[list[Tensor]] = [[] for _ in state]
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(directions):
                row = layer * directions + direction
                h0, c0 = [*[s[row] for s in state], None][:2]
                each = len(self._all_weights[row])
                weights = self._flat_weights[row * each : (row + 1) * each]
                y, *last = recurrent_layer(
                    self.mode, data, sizes, (h0, c0), weights, self.bias, direction == 1
                )
                outputs.append(y)
                for end, s in zip(ends, last, strict=True):
                    end.append(s)
            data = outputs[0] if directions == 1 else torch.cat(outputs, 1)
            if self.dropout and layer < self.num_layers - 1:
                data = F.dropout(data, self.dropout, self.training)
        return data, tuple([torch.stack(end) for end in ends])


_DROPOUT = (
    "dropout should be a number in range [0, 1] representing the probability of an element being "
    "zeroed"
)


def _refuse_projection(proj_size: int | None) -> None:
    if proj_size is not None:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of it, over sequences (Elman 1990).

    Arguments and shapes as RNNBase, and `nonlinearity`, "tanh" or "relu", after num_layers.
    Source: PyTorch, nn.RNN.

    >>> import tiny_torch as torch
    >>> rnn = torch.nn.RNN(10, 20, num_layers=2)
    >>> output, h = rnn(torch.randn(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    forward = RNNBase._forward

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        proj_size: int | None = None,
    ) -> None:
        _refuse_projection(proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first,
            dropout, bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory over sequences (Hochreiter & Schmidhuber 1997).

    i, f, g, o are parts of W_ih x + b_ih + W_hh h + b_hh; c' = σ(f) c + σ(i) tanh(g), h' = σ(o)
    tanh(c'). With `proj_size` h' is W_hr times that. Arguments and shapes as RNNBase.
    Source: PyTorch, nn.LSTM.

    >>> import tiny_torch as torch
    >>> lstm = torch.nn.LSTM(10, 20, batch_first=True, bidirectional=True)
    >>> output, (h, c) = lstm(torch.randn(3, 5, 10))
    >>> output.shape, h.shape
    (torch.Size([3, 5, 40]), torch.Size([2, 3, 20]))
    """

    forward = RNNBase._forward

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip

    def _state_sizes(self) -> list[int]:
        return [self.proj_size or self.hidden_size, self.hidden_size]


class GRU(RNNBase):
    """Gated recurrent units over sequences (Cho et al. 2014).

    r, z = σ of parts of W_ih x + b_ih + W_hh h + b_hh; n = tanh(W_in x + b_in + r (W_hn h +
    b_hn)); h' = (1 - z) n + z h. Arguments and shapes as RNNBase.
    Source: PyTorch, nn.GRU.

    >>> import tiny_torch as torch
    >>> gru = torch.nn.GRU(10, 20)
    >>> output, h = gru(torch.randn(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([1, 3, 20]))
    """

    forward = RNNBase._forward

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        proj_size: int | None = None,
    ) -> None:
        _refuse_projection(proj_size)
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            0, device, dtype,
        )  # fmt: skip
