"""Recurrent layers: all time steps of one direction of one layer are one op.

A sequence batch is `x` (rows, inputs), its time steps one after another, and `sizes`: how many rows
each step has, which are the sequences not yet over, the longest first. `composite` spells the steps
out; second derivatives are made of it, and an LSTM with projections is.
"""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply, apply_many
from tiny_torch.autograd.graph import Op
from tiny_torch.base.devices import array_module
from tiny_torch.ops.linalg.matmul import Linear
from tiny_torch.ops.shape.join import Cat

# Arguments of these ops: the inputs x, h0, c0, w_ih, w_hh, b_ih, b_hh, then `sizes`, `reverse`.


class Recurrent(Op):
    """What the four kinds share; the kinds' numbers are those of core/tables/recurrent.h."""

    arity = 7
    outputs = 2  # y (rows, hidden), and the last h (batch, hidden)
    saves = (None, 0, 1, 2, 3, 4, 5, 6, ~0)  # the gates first: over these go their gradients
    kind = 0

    @classmethod
    def forward(cls, x, h0, c0, w_ih, w_hh, b_ih, b_hh, sizes, reverse):
        results = array_module(x.device).recurrent_forward(
            cls.kind, x, sizes, h0, c0, w_ih, w_hh, b_ih, b_hh, reverse
        )
        y, (gates, *rest) = results[0], results[cls.outputs :] or (None,)
        saved = (gates, x, h0, c0, w_ih, w_hh, b_ih, b_hh, y, *rest, sizes, reverse)
        return results[: cls.outputs], saved

    @classmethod
    def backward(cls, saved, grad, needs, overwrite=False):
        gates, x, h0, c0, w_ih, w_hh, _, _, *kept, sizes, reverse = saved
        wanted = (needs[0], needs[3], needs[4], needs[5] or needs[6])
        grads = iter(
            array_module(x.device).recurrent_backward(
                *(cls.kind, x, sizes, h0, c0, w_ih, w_hh, wanted, reverse),
                *(gates, overwrite, kept, grad),
            )
        )
        to_h0, to_c0 = next(grads), next(grads) if c0 is not None else None
        to_x, to_w_ih, to_w_hh, to_b_ih, to_b_hh = (
            next(grads) if want else None for want in (*wanted, wanted[3])
        )
        return to_x, to_h0, to_c0, to_w_ih, to_w_hh, to_b_ih, to_b_hh

    @classmethod
    def composite(cls, x, h0, c0, w_ih, w_hh, b_ih, b_hh, sizes, reverse, w_hr=None):
        """(y, last h), and for an LSTM the last c; w_hr (projected, hidden) is the LSTM's."""
        steps = x.split(sizes)
        h, c = h0, c0
        outputs: list[Any] = [None] * len(steps)
        for t in reversed(range(len(steps))) if reverse else range(len(steps)):
            n = steps[t].shape[0]
            a = apply(Linear, steps[t], w_ih, b_ih)
            b = apply(Linear, h[:n], w_hh, b_hh)
            new_h, new_c = cls.step(a, b, h[:n], None if c is None else c[:n])
            if w_hr is not None:
                new_h = new_h @ w_hr.t()
            outputs[t] = new_h
            h = apply_many(Cat, (new_h, h[n:]), 0)
            c = None if c is None else apply_many(Cat, (new_c, c[n:]), 0)
        y = apply_many(Cat, outputs, 0)
        return (y, h) if c is None else (y, h, c)

    # (a, b, h, c) -> (h, c): one time step, from the inputs' and the state's share
    step: Any = None


class RnnTanh(Recurrent):
    @staticmethod
    def step(a, b, h, c):
        return (a + b).tanh(), None


class RnnRelu(Recurrent):
    kind = 1

    @staticmethod
    def step(a, b, h, c):
        return (a + b).relu(), None


class Lstm(Recurrent):
    """Hochreiter & Schmidhuber 1997, with forget gates."""

    kind = 2
    outputs = 3  # the last c, too
    overwrites = True

    @staticmethod
    def step(a, b, h, c):
        i, f, g, o = (a + b).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


class Gru(Recurrent):
    """Cho et al. 2014; the reset gate comes after the product with the state, as in PyTorch."""

    kind = 3
    overwrites = True

    @staticmethod
    def step(a, b, h, c):
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (a_r + b_r).sigmoid(), (a_z + b_z).sigmoid()
        n = (a_n + r * b_n).tanh()
        return n + z * (h - n), None
