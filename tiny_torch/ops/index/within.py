"""Writing a part of a tensor that a view shows."""

from __future__ import annotations

from tiny_torch.autograd.graph import Op, run
from tiny_torch.autograd.writes import laid_out, origin_of, overlaps_itself
from tiny_torch.ops.index.brackets import as_operand, fit_gradient
from tiny_torch.ops.shape.views import Part, show, zeros_of


class ScatterIntoPart(Op):
    """A copy of x, laid out as x is, with source where `steps` lead; subclasses are only names."""

    arity = 2

    @staticmethod
    def forward(x, source, steps):
        result = x.clone() if overlaps_itself(x.shape, x.strides) else laid_out(x, origin_of(x))
        show(result, steps).copy_(source)
        return result, (source.shape, source.dtype, steps)

    @staticmethod
    def backward(saved, grad, needs):
        shape, dtype, steps = saved
        to_x = to_source = None
        if needs[0]:
            to_x = run(ScatterIntoPart, grad, as_operand(zeros_of(grad, shape), grad), steps)
        if needs[1]:
            to_source = fit_gradient(run(Part, grad, steps), shape, dtype)
        return to_x, to_source


class DiagonalScatter(ScatterIntoPart):
    pass


class SelectScatter(ScatterIntoPart):
    pass


class SliceScatter(ScatterIntoPart):
    pass
