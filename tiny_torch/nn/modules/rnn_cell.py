"""Cells: one step of RNN, LSTM and GRU."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.functions.nn.recurrent import recurrent_cell
from tiny_torch.nn import init
from tiny_torch.nn.modules._parts.dims import check_dims_of
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]

State = tuple[Tensor, Tensor]


class RNNCellBase(Module):
    """What the cells share: one step of a layer with one direction.

    Parameters are weight_ih, weight_hh and, with `bias`, bias_ih and bias_hh, as a layer's.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size

        def parameter(*shape: int) -> Parameter:
            return Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.weight_ih = parameter(gates, input_size)
        self.weight_hh = parameter(gates, hidden_size)
        self.register_parameter("bias_ih", parameter(gates) if bias else None)
        self.register_parameter("bias_hh", parameter(gates) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all parameters from U(-1/√hidden, 1/√hidden)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        """The sizes, and the settings that are not the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _step(self, mode: str, input: Tensor, hx: tuple[Tensor, ...] | None, states: int) -> Any:
        kind = f"{mode.split('_')[0]}Cell"
        if states == 2 and isinstance(hx, Tensor):
            raise TypeError("lstm_cell(): argument 'hx' must be tuple of Tensors, not Tensor")
        if hx is not None and len(hx) != states:
            raise RuntimeError(f"lstm_cell expects two hidden states, got {len(hx)}")
        check_dims_of(kind, "input", input, (1, 2))
        for i, s in enumerate(hx or ()):
            check_dims_of(kind, f"hx[{i}]" if states == 2 else "hidden", s, (1, 2))
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if x.shape[1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}"
            )
        if hx is None:
            hx = (x.new_zeros(x.shape[0], self.hidden_size),) * states
        elif not batched:
            hx = tuple([s.unsqueeze(0) if s.dim() == 1 else s for s in hx])
        for s in hx:
            if tuple(s.shape) != (x.shape[0], self.hidden_size):
                raise RuntimeError(
                    f"{kind}: expected hidden state of shape {[x.shape[0], self.hidden_size]}, got "
                    f"{list(s.shape)}"
                )
        weights = [self.weight_ih, self.weight_hh]
        if self.bias:
            weights += [self.bias_ih, self.bias_hh]
        h, c = [*hx, None][:2]
        _, *last = recurrent_cell(mode, x, [x.shape[0]], (h, c), weights, bool(self.bias))
        last = last if batched else [s.squeeze(0) for s in last]
        return tuple(last) if states == 2 else last[0]


class RNNCell(RNNCellBase):
    """One step of an RNN: (batch, inputs) and h (batch, hidden) to h', both without a batch, too.

    Raises ValueError for other numbers of dims, RuntimeError for sizes that do not fit.
    Source: PyTorch, nn.RNNCell.

    >>> import tiny_torch as torch
    >>> torch.nn.RNNCell(10, 20)(torch.randn(3, 10)).shape
    torch.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """h' of the input and h, which is zeros where it is None."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        mode = f"RNN_{self.nonlinearity.upper()}"
        return self._step(mode, input, None if hx is None else (hx,), 1)


class GatedCell(RNNCellBase):
    """A cell whose class says how many gates it has."""

    _gates: int

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, self._gates, device, dtype)


class LSTMCell(GatedCell):
    """One step of an LSTM: (batch, inputs) and (h, c), each (batch, hidden), to (h', c').

    Without a batch, too. Raises ValueError for other numbers of dims, RuntimeError for sizes that
    do not fit. Source: PyTorch, nn.LSTMCell.

    >>> import tiny_torch as torch
    >>> h, c = torch.nn.LSTMCell(10, 20)(torch.randn(3, 10))
    >>> h.shape
    torch.Size([3, 20])
    """

    _gates = 4

    def forward(self, input: Tensor, hx: State | None = None) -> State:
        """(h', c') of the input and (h, c), which are zeros where hx is None."""
        return self._step("LSTM", input, hx, 2)


class GRUCell(GatedCell):
    """One step of a GRU: (batch, inputs) and h (batch, hidden) to h', both without a batch, too.

    Raises ValueError for other numbers of dims, RuntimeError for sizes that do not fit.
    Source: PyTorch, nn.GRUCell.

    >>> import tiny_torch as torch
    >>> torch.nn.GRUCell(10, 20)(torch.randn(3, 10)).shape
    torch.Size([3, 20])
    """

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """h' of the input and h, which is zeros where it is None."""
        return self._step("GRU", input, None if hx is None else (hx,), 1)
