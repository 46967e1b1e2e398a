"""The cases of activation functions: those of nn.functional, and their gradients' kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from op_cases import FLOATS, HALVES, SHAPE, Case

from tiny_torch._reference import activation as formulas

FLOATING = HALVES + FLOATS


def function(name: str, numpy: Callable, *args: Any, kernel: str = "", **options: Any) -> Case:
    """nn.functional's of one tensor; `kernel` is the record where that has another name."""
    keywords = options.pop("keywords", {})
    return Case(
        kernel or name,
        call=lambda m, x: getattr(m.nn.functional, name)(x, *args, **keywords),
        numpy=numpy, ulps=64, dtypes=HALVES + FLOATS, **options,
    )  # fmt: skip


def gradient(name: str, numpy: Callable, *args: Any, function: str = "", **keywords: Any) -> Case:
    """The kernel of a function's gradient, of the incoming one and x."""

    def call(m: Any, grad: Any, x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = getattr(m.nn.functional, function or name.removesuffix("_backward"))
        return m.autograd.grad(y(x, *args, **keywords), x, grad)[0]

    return Case(
        name, ("real", "real"), call=call, numpy=numpy, ulps=128, dtypes=("float32",),
        gradient=False, shapes=[(SHAPE, SHAPE), ((), ())], strides=False,
    )  # fmt: skip


RECORDS = [
    function("gelu", formulas.gelu, specials=False),  # PyTorch has NaN at infinity
    function("gelu", formulas.gelu_tanh, kernel="gelu_tanh", keywords={"approximate": "tanh"}),
    function("silu", lambda x: x * formulas.sigmoid(x)),
    function("mish", lambda x: x * np.tanh(np.logaddexp(0, x))),
    function("logsigmoid", lambda x: -np.logaddexp(0, -x), kernel="log_sigmoid", strides=False),
    function("hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6, gradient=False),
    function("hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6),
    function("leaky_relu", lambda x: np.where(x > 0, x, 0.1 * x), 0.1),
    function("elu", lambda x: np.where(x > 0, x, 1.5 * np.expm1(x)), 1.5),
    function("softplus", lambda x: np.where(2 * x > 3, x, np.logaddexp(0, 2 * x) / 2), 2, 3),
    gradient("gelu_backward", formulas.gelu_backward),
    gradient("silu_backward", formulas.silu_backward),
    gradient("mish_backward", formulas.mish_backward),
    gradient("hardsigmoid_backward", lambda g, x: np.where(abs(x) < 3, g / 6, 0)),
    gradient("hardswish_backward", formulas.hardswish_backward),
    gradient("leaky_relu_backward", lambda g, x: np.where(x > 0, g, 0.1 * g), 0.1),
    gradient("elu_backward", lambda g, x: np.where(x > 0, g, g * 1.5 * np.exp(x)), 1.5),
    gradient(
        "gelu_tanh_backward", formulas.gelu_tanh_backward, function="gelu", approximate="tanh"
    ),
    gradient("log_sigmoid_backward", lambda g, x: g * formulas.sigmoid(-x), function="logsigmoid"),
]
CASES = [
    function("hardtanh", lambda x: np.clip(x, -0.5, 0.5), -0.5, 0.5),
    function("relu6", lambda x: np.clip(x, 0, 6)),
]
