"""Every op of op_cases.py by itself, so also without PyTorch: on `ref` as on the CPU, gradients as
differences have them, and the forms in place and with `out=` as the plain one.
"""

from __future__ import annotations

import inspect
import itertools
from types import NoneType, SimpleNamespace

import numpy as np
import pytest
from cases import gradient_cases
from cases.all_cases import CASES, RECORDS
from cases.op_cases import Case
from conftest import is_unknown_to_pytorch
from helpers import (
    CONTIGUOUS,
    all_failures,
    by_name,
    compare,
    dtype_name,
    flatten,
    gradients,
    make,
    on_devices,
    operands,
    outcome,
    skip_if_not_on_ref,
    zero_if_none,
)

import tiny_torch
from tiny_torch import Tensor
from tiny_torch.autograd import gradcheck, gradgradcheck
from tiny_torch.autograd.graph import Op

SMALL = {1: [((2, 3),)], 2: [((2, 3), (2, 3)), ((2, 3), (3,))], 3: [((2, 3), (3,), (2, 1))]}
STRIDED = ("permuted", "stepped slice", "contiguous")
# Backward raises.
WITHOUT_GRADIENT = ("floor_divide", "heaviside")
# Differences are NaN of infinite values; of a negative divisor they have another sign.
WITHOUT_DIFFERENCES = ("logit 1", "ldexp by whole powers to 2000", "var of few", "std of few")
WITHOUT_SECOND = ("pow of 0", "pow of 0.0")  # 0 ** x is constant, but log(0) of its gradient is not


def plans(case: Case) -> list:
    """(shapes, layouts) to try a case on: shapes of at most 60 elements."""
    if case.shapes is None:
        shapes = SMALL[case.arity]
    else:
        fitting = (s for s in case.shapes if fits(case, s))
        first = next(fitting, case.shapes[0])
        shapes = [[(2, 3, 2) if np.prod(s, initial=1) > 60 else s for s in first]]
    return [(shapes[0], CONTIGUOUS[: case.arity]), (shapes[-1], STRIDED[: case.arity])]


def fits(case: Case, shapes) -> bool:
    """Whether a case takes these shapes; some of its list are there to raise."""
    inputs = inputs_of(case, (shapes, CONTIGUOUS[: case.arity]), case.dtypes[-1])
    return attempt(case, tiny_torch, *inputs)[0] is None


def inputs_of(case: Case, plan, dtype: str = "float64", device: str = "cpu") -> list:
    return operands(tiny_torch, case.domains, *plan, [dtype] * case.arity, device)


def attempt(function, *arguments) -> tuple[Exception | None, list]:
    return outcome(lambda: function(*arguments))


def test_a_case_that_pytorch_lacks_is_compared_here_alone():
    for in_torch, marked in ((False, "torch"), (True, "torch"), (False, None)):
        item = SimpleNamespace(
            callspec=SimpleNamespace(params={"case": Case("swish", in_torch=in_torch)}),
            get_closest_marker=lambda name, marked=marked: name if name == marked else None,
        )
        assert is_unknown_to_pytorch(item) == (not in_torch and marked == "torch")


def is_float(y) -> bool:
    return hasattr(y, "is_floating_point") and y.is_floating_point()


@by_name([case for case in CASES if case not in RECORDS])  # those: test_record_equals_numpy
def test_cpu_equals_ref(case):
    for dtype in ("float64", "int64"):
        if dtype not in case.dtypes:
            continue
        for plan in plans(case):
            error, expected = attempt(case, tiny_torch, *inputs_of(case, plan, dtype, "ref"))
            skip_if_not_on_ref(error)
            our_error, found = attempt(case, tiny_torch, *inputs_of(case, plan, dtype))
            where = f"{case.name} {plan} {dtype}"
            assert type(error) is type(our_error), f"{where}: {our_error!r}, on ref {error!r}"
            for a, b in zip(found, expected, strict=True):
                compare(a, b, where, ulps=max(case.ulps, 64), strides=False)


@on_devices
@by_name(CASES)
def test_gradients_by_differences(case, device):
    """First and second ones. What backward of a few ops raises is PyTorch's."""
    if "float64" not in case.dtypes:
        return
    for plan in plans(case):
        inputs = [x.requires_grad_() for x in inputs_of(case, plan, device=device)]

        def function(*tensors):
            return tuple(flatten(case(tiny_torch, *tensors)))

        error, outputs = attempt(function, *inputs)
        skip_if_not_on_ref(error)
        if error is not None or not any(is_float(y) for y in outputs):
            assert isinstance(error, RuntimeError | TypeError | IndexError | NoneType), error
            return  # a case of wrong arguments; a comparison
        if case.function in WITHOUT_GRADIENT:
            with pytest.raises(RuntimeError, match=r"derivative for aten::.* is not implemented"):
                outputs[0].sum().backward()
            return
        if case.name in WITHOUT_DIFFERENCES:
            return
        assert gradcheck(function, inputs, fast_mode=True)
        if case.name not in WITHOUT_SECOND and any(y.requires_grad for y in outputs):
            assert gradgradcheck(function, inputs, fast_mode=True, atol=1e-4)


# ------------------------------------------------------------------------------ in place and out=


def in_place_of(case: Case):
    """call(module, *tensors) that writes the first of them; None where there is no such form."""
    method = f"{case.function}_"
    if case.in_place is not None or case.call is not None or not hasattr(Tensor, method):
        return case.in_place
    return lambda _, x, *rest: getattr(x, method)(*rest, *case.args, **case.kwargs)


def is_writable(case: Case, result: Tensor, x: Tensor) -> bool:
    """Whether x can hold the result."""
    if case.function == "float_power" and x.dtype != tiny_torch.float64:
        return False
    return result.shape == x.shape and tiny_torch.can_cast(result.dtype, x.dtype)


@by_name([case for case in CASES if in_place_of(case) is not None])
def test_in_place_equals_the_plain_form(case):
    with all_failures() as collect:
        for plan, dtype in itertools.product(plans(case), case.dtypes):
            x, *rest = inputs_of(case, plan, dtype)
            before = x._version
            error, results = attempt(case, tiny_torch, x, *rest)
            our_error, written = attempt(in_place_of(case), tiny_torch, x, *rest)
            where = f"{case.name}_ {plan} {dtype}"
            with collect:
                if error is None and is_writable(case, results[0], x):
                    assert our_error is None, f"{where}: {our_error!r}"
                    assert written[0] is x and x._version > before, where
                    compare(x, results[0].to(x.dtype), where, strides=False)
                else:
                    assert our_error is not None, f"{where}: nothing raised"


@by_name([c for c in CASES if in_place_of(c) is not None and "logical" not in c.name])
def test_gradients_in_place_equal_those_of_the_plain_form(case):
    """What an op without a gradient overwrites has gradient zero (but of logical ops, as in
    PyTorch)."""
    if "float64" not in case.dtypes:
        return

    def plain(module, x, *rest):
        return case(module, x, *rest).to(x.dtype) + 0 * x

    def in_place(module, x, *rest):
        return in_place_of(case)(module, x * 1, *rest)

    for plan in plans(case):
        given = case.domains, *plan, ["float64"] * case.arity
        error, expected = attempt(gradients, tiny_torch, plain, given, "cpu")
        our_error, found = attempt(gradients, tiny_torch, in_place, given, "cpu")
        where = f"{case.name}_ {plan}"
        assert type(error) is type(our_error), f"{where}: {our_error!r}, not {error!r}"
        for a, b in itertools.zip_longest(found, expected):  # None is as good as zeros
            if a is not None or b is not None:
                a, b = zero_if_none(a, b), zero_if_none(b, a)
                compare(a, b, where, ulps=max(case.ulps, 64), strides=False)


def takes_out(case: Case) -> bool:
    if case.name in ("median", "nanmedian"):  # only with a dim
        return False
    function = case.call or getattr(tiny_torch, case.function)
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == "out" or (case.call and p.kind is p.VAR_KEYWORD) for p in parameters)


@by_name([case for case in CASES if takes_out(case)])
def test_out_equals_the_plain_form(case):
    """In memory of each layout, and in memory that has to be resized."""
    with all_failures() as collect:
        for plan, dtype in itertools.product(plans(case), case.dtypes):
            error, expected = attempt(case, tiny_torch, *inputs_of(case, plan, dtype))
            if error is not None:
                continue
            for layout in ("contiguous", "permuted", "stepped slice"):
                where = f"{case.name} {plan} {dtype} out {layout}"
                outs = [
                    make(tiny_torch, np.full(999, 7), y.shape, layout, dtype=dtype_name(y))
                    for y in expected
                ]
                out = outs[0] if len(outs) == 1 else tuple(outs)
                found = case(tiny_torch, *inputs_of(case, plan, dtype), out=out)
                with collect:
                    assert all(a is b for a, b in zip(flatten(found), outs, strict=True)), where
                    for a, b in zip(outs, expected, strict=True):
                        compare(a, b, where, ulps=0, strides=False)


# ------------------------------------------------------------------------------- beyond op_cases.py


FIRST_ALONE = ("F.multilabel_margin_loss", "F.ctc_loss")


@pytest.mark.parametrize("call", gradient_cases.CASES)
def test_gradients_of_a_call(call):
    function, inputs = gradient_cases.function_of(call, tiny_torch)
    eps = 2**-10 if "float()" in call else 1e-6
    assert gradcheck(function, inputs, eps=eps)
    if call.startswith(FIRST_ALONE):
        with pytest.raises(RuntimeError, match=r"derivative for aten::.* is not implemented"):
            gradgradcheck(function, inputs, fast_mode=True)
    else:
        assert gradgradcheck(function, inputs, fast_mode=True, atol=1e-4, eps=eps)


def ops_of(kind: type) -> set[type]:
    """The ops of the package that have a gradient of their own."""
    below = set().union(*[ops_of(op) for op in kind.__subclasses__()])
    backward = vars(kind).get("backward")
    own = kind.__module__.startswith("tiny_torch.") and callable(backward)
    return below | {kind} if own and "forgetful" not in backward.__qualname__ else below


# Draws, whose gradients are those of test_distributions.py; eigenvalues, complex in PyTorch; what a
# user's Function does; what has no gradient, and says so; what only a third derivative asks for;
# how the graph keeps its books.
ELSEWHERE = {
    *("Dirichlet", "DirichletGrad", "Drawn", "StandardGamma", "StandardGammaGrad"),
    *("UserOp", "NotDifferentiable", "Set", "ScatterCombine"),
    *("EmbeddingBagBackward", "Geqrf", "LinalgEig", "MaxPoolGather", "InLayout", "Unrelated"),
}


CORE = ("tiny_torch.ops", "tiny_torch.autograd", "tiny_torch.functions")


def test_every_gradient_is_asked_for_by_a_case(monkeypatch):
    seen = set()

    def recorded(op):
        backward = op.backward

        def call(*arguments):
            seen.add(op)
            return backward(*arguments)

        return staticmethod(call)

    ops = {op for op in ops_of(Op) if op.__module__.startswith(CORE)}  # others may not be loaded
    for op in ops:
        monkeypatch.setattr(op, "backward", recorded(op))
    for case in CASES:
        for call in (case, in_place_of(case)):
            for plan in plans(case) if call and "float64" in case.dtypes else ():
                inputs = [x.requires_grad_() for x in inputs_of(case, plan)]
                attempt(differentiate, lambda x, *rest, f=call: f(tiny_torch, x * 1, *rest), inputs)
    for call in gradient_cases.CASES:
        attempt(differentiate, *gradient_cases.function_of(call, tiny_torch))
    assert {op.__name__ for op in ops - seen} == ELSEWHERE


def differentiate(function, inputs):
    """Once, and once more with a gradient that has one itself."""
    for twice in (False, True):
        outputs = [y for y in flatten(function(*inputs)) if is_float(y) and y.requires_grad]
        weights = [tiny_torch.ones_like(y, requires_grad=twice) for y in outputs]
        grads = tiny_torch.autograd.grad(
            outputs, inputs, weights, create_graph=twice, allow_unused=True
        )
    sum([g.sum() for g in grads if g is not None]).backward()


# --------------------------------------------------------------------- subsets of the operands


def derivatives(function, inputs, wanted: list) -> tuple[list, Exception | None]:
    """Of the sum of all outputs, to the third, for `wanted`; and what the next one raised."""
    total = sum([(y * scale(y)).sum() for y in flatten(function(*inputs)) if is_float(y)])
    found: list = []
    while len(found) < 3 and getattr(total, "requires_grad", False):
        try:
            grads = tiny_torch.autograd.grad(
                total, wanted, create_graph=True, allow_unused=True, materialize_grads=True
            )
        except Exception as error:
            return found, error
        found.append(grads)
        total = sum([(g * scale(g)).sum() for g in grads])
    return found, None


def scale(y: Tensor) -> Tensor:
    """Another number for each element."""
    return tiny_torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape).to(y.device)


def check_subsets(function, inputs: list, where: str) -> None:
    """Whichever operands need a gradient, each has the same; so has the incoming gradient."""
    factor = tiny_torch.tensor(1.25, dtype=tiny_torch.float64)

    def scaled(factor, *tensors):
        return [y * factor for y in flatten(function(*tensors)) if is_float(y)]

    leaves = [x.detach() for x in (factor, *inputs)]
    for size in range(1, len(leaves)):
        for places in itertools.combinations(range(len(leaves)), size):
            everything = [x.clone().requires_grad_() for x in leaves]
            wanted = [everything[i] for i in places]
            expected, error = derivatives(scaled, everything, wanted)
            alone = [x.clone().requires_grad_(i in places) for i, x in enumerate(leaves)]
            found, our_error = derivatives(scaled, alone, [alone[i] for i in places])
            title = f"{where}, for {places}"
            for e in (error, our_error):
                assert e is None or "derivative for" in str(e), f"{title}: {e!r}"
            for order, grads in enumerate(expected):
                nothing = [tiny_torch.zeros_like(g) for g in grads]
                ours = found[order] if order < len(found) else nothing
                if order == len(found) and our_error is not None:
                    raise AssertionError(f"{title}, derivative {order + 1}: {our_error!r}")
                for a, b in zip(ours, grads, strict=True):
                    compare(a.detach(), b.detach(), f"{title}, derivative {order + 1}", ulps=2**16)


@by_name([case for case in CASES if case.gradient and "float64" in case.dtypes])
def test_derivatives_for_every_subset_of_the_operands(case):
    inputs = inputs_of(case, plans(case)[0])
    error, outputs = attempt(case, tiny_torch, *inputs)
    if (
        error is None
        and any(is_float(y) for y in outputs)
        and case.function not in WITHOUT_GRADIENT
    ):
        check_subsets(lambda *tensors: case(tiny_torch, *tensors), inputs, case.name)


@pytest.mark.parametrize("call", gradient_cases.CASES)
def test_derivatives_of_a_call_for_every_subset(call):
    check_subsets(*gradient_cases.function_of(call, tiny_torch), call)
