"""Draws: a sampler's in place of x; and those whose parameters are tensors, one draw per element.

PyTorch's numbers for the same seed.
"""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module
from tiny_torch.ops.common import no_derivative
from tiny_torch.ops.shape.join import broadcast_shapes


def on_cpu(function: str, *arrays: Any) -> None:
    for array in arrays:
        if type(array) is not _core.NDArray:  # it is in plain Python
            where = array.device
            raise NotImplementedError(
                f"[{function}] is not implemented on {where}: draw on the cpu, then .to({where!r})"
            )


class Drawn(Op):
    """Draws that do not move with their parameters: every gradient is 0."""

    draws = True

    @staticmethod
    def backward(saved, grad, needs):
        zeros = tuple([grad.new_full(grad.shape, 0) if need else None for need in needs])
        return zeros if len(zeros) > 1 else zeros[0]


class Draw(Drawn):
    """A sampler's draws in place of x."""

    @staticmethod
    def forward(x, sampler, core, *numbers, out):
        sampler(out, core, *numbers)
        return out, (getattr(sampler, "__name__", "draw"),)

    @staticmethod
    def node_name(saved, node):
        words, number = saved[0].split("_"), 2 if saved[0] in ("bernoulli_", "random_") else 0
        return f"{''.join(map(str.title, words))}Backward{number}"


class Bernoulli(Drawn):
    @staticmethod
    def forward(x, core, p):
        on_cpu("bernoulli", x)
        if p is None:
            result = array_module(x.device).empty(x.shape, x.dtype)
            _core.bernoulli_tensor_(result, core, x)
        else:
            result = x.empty_like()
            _core.bernoulli_(result, core, p, 1.0)
        return result, ()


class Poisson(Drawn):
    @staticmethod
    def forward(x, core):
        on_cpu("poisson", x)
        return _core.poisson(core, x), ()


class StandardGamma(Op):
    """Gamma draws of rate 1. How a draw moves with alpha: src/cpu/random/gamma.cpp."""

    saves = (0, ~0)
    draws = True

    @staticmethod
    def forward(alpha, core):
        on_cpu("_standard_gamma", alpha)
        result = _core.standard_gamma(core, alpha)
        return result, (alpha, result)

    @staticmethod
    def backward(saved, grad, needs):
        return grad * run(StandardGammaGrad, *saved)


class StandardGammaGrad(Op):
    arity = 2

    @staticmethod
    def forward(alpha, result):
        return _core.standard_gamma_grad(alpha, result), ()

    backward = no_derivative("_standard_gamma_grad")


class Dirichlet(Op):
    """Gamma draws over their sum. If one part grows by d, the others shrink in proportion."""

    saves = (0, ~0)
    draws = True

    @staticmethod
    def forward(alpha, core):
        on_cpu("_sample_dirichlet", alpha)
        result = _core.dirichlet(core, alpha)
        return result, (alpha, result)

    @staticmethod
    def backward(saved, grad, needs):
        alpha, result = saved
        slope = run(DirichletGrad, result, alpha)
        return slope * (grad - (result * grad).sum((-1,), True))


class DirichletGrad(Op):
    arity = 2

    @staticmethod
    def forward(result, alpha):
        total = alpha.sum((-1,), True).expand(alpha.shape)
        return _core.dirichlet_grad(result, alpha, total), ()

    backward = no_derivative("_dirichlet_grad")


class Normal1(Drawn):
    """Draws from a tensor of means and one deviation."""

    node_name = "NormalBackward1"

    @staticmethod
    def forward(mean, std, core, out):
        result = array_module(mean.device).empty(mean.shape, mean.dtype) if out is None else out
        _core.normal_(result, core, 0.0, std)
        result.add(mean, result)
        return result, ()


class Normal2(Drawn):
    """Draws from one mean and a tensor of deviations."""

    node_name = "NormalBackward2"

    @staticmethod
    def forward(std, mean, core, out):
        result = array_module(std.device).empty(std.shape, std.dtype) if out is None else out
        _core.normal_(result, core, 0.0, 1.0)
        result.mul(std, result)
        result.add(mean, result)
        return result, ()


class Normal3(Drawn):
    """Draws from tensors of means and deviations, broadcast together."""

    arity = 2
    broadcasts = True
    node_name = "NormalBackward3"

    @staticmethod
    def forward(mean, std, core, out):
        if out is None:
            shape = tuple(broadcast_shapes(mean.shape, std.shape))
            out = array_module(mean.device).empty(shape, mean.dtype)
        _core.normal_(out, core, 0.0, 1.0)
        out.mul(std, out)
        out.add(mean, out)
        return out, ()
