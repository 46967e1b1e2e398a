"""The cases of activation functions: those of nn.functional, and their gradients' kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases.op_cases import FLOATS, HALVES, INTEGERS, SHAPE, Case

from tiny_torch.base.reference import activation as formulas
from tiny_torch.base.reference import losses

FLOATING = HALVES + FLOATS
IN_PLACE = {  # functions with an argument `inplace`
    "celu", "elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu6", "rrelu",
    "selu", "silu",
}  # fmt: skip


def function(name: str, numpy: Callable, *args: Any, kernel: str = "", **options: Any) -> Case:
    """nn.functional's of one tensor; `kernel` is the record where that has another name."""
    keywords = options.pop("keywords", {})

    def call(m: Any, x: Any, **more: Any) -> Any:
        return getattr(m.nn.functional, name)(x, *args, **keywords, **more)

    return Case(
        kernel or name, call=lambda m, x: call(m, x), numpy=numpy, ulps=64, dtypes=HALVES + FLOATS,
        in_place=(lambda m, x: call(m, x, inplace=True)) if name in IN_PLACE else None, **options,
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


def pair(name: str, function: str, domain: str, numpy: Any, **settings: Any) -> Case:
    """A loss of x and a target, element by element."""
    of_case = "dtypes", "second", "in_torch"
    options = {key: settings.pop(key) for key in of_case if key in settings}

    def call(m: Any, x: Any, target: Any) -> Any:
        return getattr(m.nn.functional, function)(x, target, reduction="none", **settings)

    return Case(
        name, (domain, domain), call=call, numpy=numpy, ulps=128, strides=False, specials=False,
        shapes=[(SHAPE, SHAPE), ((), ())], gradient_ulps=1024, **{"dtypes": FLOATING, **options},
    )  # fmt: skip


def pair_gradient(name: str, function: str, domain: str, numpy: Callable, **settings: Any) -> Case:
    def call(m: Any, grad: Any, x: Any, target: Any) -> Any:
        x = x.detach().requires_grad_()
        y = getattr(m.nn.functional, function)(x, target, reduction="none", **settings)
        return m.autograd.grad(y, x, grad)[0]

    return Case(
        name, ("real", domain, domain), call=call, numpy=numpy, ulps=512, dtypes=("float32",),
        gradient=False, shapes=[(SHAPE, SHAPE, SHAPE), ((), (), ())], strides=False,
        specials=False,
    )  # fmt: skip


def glu(m: Any, x: Any, gate: Any) -> Any:
    return m.nn.functional.glu(m.stack([x, gate]), 0).squeeze(0)


def glu_gate_gradient(m: Any, grad: Any, x: Any, gate: Any) -> Any:
    gate = gate.detach().requires_grad_()
    return m.autograd.grad(glu(m, x, gate), gate, grad)[0]


def prelu_weight_gradient(m: Any, grad: Any, x: Any) -> Any:
    if x.ndim == 0:
        weight = m.ones(1, dtype=x.dtype, device=x.device).requires_grad_()
        return m.autograd.grad(m.prelu(x, weight), weight, grad)[0].squeeze()
    weight = m.ones(x.numel(), dtype=x.dtype, device=x.device).requires_grad_()
    y = m.prelu(x.reshape(1, -1), weight)
    return m.autograd.grad(y, weight, grad.reshape(1, -1))[0].reshape(x.shape)


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
    function("selu", formulas.selu),
    function("celu", lambda x: np.where(x > 0, x, 1.5 * np.expm1(x / 1.5)), 1.5),
    function("hardshrink", lambda x: np.where(abs(x) <= 0.5, 0, x), 0.5),
    function("softshrink", lambda x: formulas.softshrink(x, 0.5), 0.5),
    Case(
        "threshold", args=(1, 2), dtypes=INTEGERS + FLOATING,
        in_place=lambda m, x: m.nn.functional.threshold(x, 1, 2, True),
        numpy=lambda x: np.where(x <= 1, 2, x), shapes=[(SHAPE,), ((2113,),), ((),), ((3, 0),)],
    ),
    Case(
        "glu", ("real", "real"), call=glu, numpy=lambda x, y: x * formulas.sigmoid(y), ulps=64,
        dtypes=FLOATING, shapes=[(SHAPE, SHAPE), ((), ())], strides=False, gradient_ulps=1024,
    ),
    gradient("selu_backward", formulas.selu_backward),
    gradient("celu_backward", lambda g, x: np.where(x > 0, g, g * np.exp(x / 1.5)), 1.5),
    gradient("shrink_backward", lambda g, x: np.where(abs(x) <= 0.5, 0, g), 0.5,
             function="hardshrink"),
    gradient("threshold_backward", lambda g, x: np.where(x <= 0.5, 0, g), 0.5, 2.0),
    gradient("hardtanh_backward", lambda g, x: np.where(abs(x) < 0.5, g, 0), -0.5, 0.5),
    gradient("softplus_backward", lambda g, x: formulas.softplus_backward(g, x, 2, 3), 2, 3),
    Case(
        "prelu_weight_backward", ("real", "real"), call=prelu_weight_gradient, gradient=False,
        numpy=lambda g, x: np.where(x > 0, 0, g * x), dtypes=("float32",), strides=False,
        shapes=[(SHAPE, SHAPE), ((), ())],
    ),
    Case(
        "glu_gate_backward", ("real", "real", "real"), call=glu_gate_gradient, gradient=False,
        numpy=formulas.glu_gate_backward, ulps=512, dtypes=("float32",), strides=False,
        shapes=[(SHAPE, SHAPE, SHAPE), ((), (), ())], specials=False,
    ),
    pair("mse_loss", "mse_loss", "real", lambda x, t: (x - t) ** 2),
    pair("l1_loss", "l1_loss", "real", lambda x, t: abs(x - t)),
    pair(
        "binary_cross_entropy", "binary_cross_entropy", "probability",
        losses.binary_cross_entropy, second=False,  # PyTorch's is that of x + 1e-12
    ),
    pair(
        "smooth_l1_loss", "smooth_l1_loss", "real", lambda x, t: losses.smooth_l1(x, t, 0.5),
        beta=0.5,
    ),
    pair("huber_loss", "huber_loss", "real", lambda x, t: losses.huber(x, t, 0.5), delta=0.5),
    pair(
        "bce_with_logits", "binary_cross_entropy_with_logits", "real",
        lambda x, t: losses.bce_with_logits(x, t, 1), dtypes=("float32",),
    ),
    pair_gradient("mse_loss_backward", "mse_loss", "real", lambda g, x, t: g * 2 * (x - t)),
    pair_gradient("l1_loss_backward", "l1_loss", "real", lambda g, x, t: g * np.sign(x - t)),
    pair_gradient(
        "binary_cross_entropy_backward", "binary_cross_entropy", "probability",
        losses.bce_backward,
    ),
    pair_gradient(
        "smooth_l1_loss_backward", "smooth_l1_loss", "real",
        lambda g, x, t: losses.smooth_l1_backward(g, x, t, 0.5), beta=0.5,
    ),
    pair_gradient(
        "huber_loss_backward", "huber_loss", "real",
        lambda g, x, t: g * np.clip(x - t, -0.5, 0.5), delta=0.5,
    ),
    pair_gradient(
        "bce_with_logits_backward", "binary_cross_entropy_with_logits", "real",
        lambda g, x, t: losses.bce_with_logits_backward(g, x, t, 1),
    ),
]  # fmt: skip
CASES = [
    function("hardtanh", lambda x: np.clip(x, -0.5, 0.5), -0.5, 0.5),
    function("relu6", lambda x: np.clip(x, 0, 6)),
    *[  # not of two dtypes: PyTorch rounds in between to one of them
        pair(
            f"bce_with_logits {dtype}",
            "binary_cross_entropy_with_logits",
            "real",
            None,
            dtypes=(dtype,),
        )
        for dtype in ("float16", "bfloat16", "float64")
    ],
    function("softsign", lambda x: x / (1 + abs(x))),
    function("tanhshrink", lambda x: x - np.tanh(x)),
    function("rrelu", lambda x: np.where(x > 0, x, 0.3 * x), 0.2, 0.4),
]
