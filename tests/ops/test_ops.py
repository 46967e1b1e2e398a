"""Every op of op_cases.py: values, dtypes, strides, exceptions and gradients are PyTorch's.

Without PyTorch the records of ops.def are compared with NumPy's float64.
"""

import itertools

import numpy as np
import pytest
from cases.all_cases import CASES, RECORDS
from cases.op_cases import (
    DTYPE_SETS,
    DTYPES,
    FLOATS,
    FUSED,
    HALVES,
    LAYOUTS,
    OPERATORS,
    PAIRS,
    SCALARS,
    SHAPE,
    SHAPES,
    SPECIALS,
    Case,
    numbers,
)
from helpers import (
    CONTIGUOUS,
    EPSILON,
    all_failures,
    array_of,
    by_name,
    check,
    compare,
    dtype_name,
    flatten,
    gradients,
    make,
    on_devices,
    operands,
    outcome,
    zero_if_none,
)

import tiny_torch
from tiny_torch import _core
from tiny_torch.functions import public
from tiny_torch.functions.elementwise import arithmetic, declared, floats, special
from tiny_torch.functions.linalg import matmul
from tiny_torch.functions.reduce import moments, sums


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def skip_if_missing(case: Case, device: str) -> None:
    if device == "ref" and case in RECORDS:
        from tiny_torch import reference

        if case.name not in reference.METHODS:
            pytest.skip(f"[{case.name}] is not implemented on ref")


# ------------------------------------------------------------------------------- without PyTorch


def test_every_record_of_ops_def_has_a_case():
    names = [record[1] for record in _core.op_records()]
    assert sorted(case.name for case in RECORDS) == sorted(names)


def test_every_function_has_a_case():
    cases = {case.function for case in CASES}
    homes = {m.__name__ for m in (declared, arithmetic, floats, special, sums, moments, matmul)}
    for name, function in public.FUNCTIONS.items():
        assert name in cases or function.__module__ not in homes, name


NUMPY_LAYOUTS = ("contiguous", "permuted", "broadcast", "stepped slice")


@on_devices
@by_name(RECORDS)
def test_record_equals_numpy(case, device):
    skip_if_missing(case, device)
    dtypes = {name: DTYPE_SETS[dtypes] for _, name, _, dtypes, _ in _core.op_records()}[case.name]
    shape = SHAPE if device == "cpu" else (2, 3)
    for layout, dtype in itertools.product(NUMPY_LAYOUTS, dtypes):
        if dtype in HALVES and (device == "ref" or case.name == "trunc_divide"):
            continue  # a half's quotient is rounded before it is truncated: see test_values
        tensors = operands(
            tiny_torch, case.domains, [shape] * case.arity, [layout] * case.arity,
            [dtype] * case.arity, device,
        )  # fmt: skip
        arrays = [array_of(t) for t in tensors]
        exact = [a.astype("float64") if a.dtype.kind == "f" else a for a in arrays]
        expected = np.asarray(case.numpy(*exact))
        result = case(tiny_torch, *tensors)
        where = f"{case.name} {layout} {dtype}"
        assert tuple(result.shape) == expected.shape, where
        found = array_of(result)
        tolerance = 16 * EPSILON.get(dtype, 0)
        np.testing.assert_allclose(
            found, expected.astype(found.dtype), err_msg=where, rtol=tolerance, atol=tolerance
        )


# ------------------------------------------------------------------------ values, against PyTorch


def layouts_of(case: Case, device: str) -> list[tuple]:
    """One layout per tensor: each with itself, and against contiguous and its neighbour."""
    names = list(LAYOUTS) if device == "cpu" else ["contiguous", "permuted", "stepped slice"]
    if case.arity == 1:
        return [(name,) for name in names]
    pairs = [(a, b) for a, b in itertools.product(names, names)]
    if case.arity == 3:
        return [
            (a, b, names[(names.index(b) + 1) % len(names)])
            for a, b in pairs[:: 1 + len(names) // 2]
        ]
    return pairs


@pytest.mark.torch
@on_devices
@by_name(CASES)
def test_values(torch, case, device):
    skip_if_missing(case, device)
    shapes = case.shapes or SHAPES[case.arity]
    with all_failures() as collect:
        for i, shape in enumerate(shapes):
            for layouts in layouts_of(case, device):
                for dtype in case.dtypes:
                    if device == "ref" and dtype in HALVES:
                        continue
                    if dtype not in ("float32", "int64") and (
                        i > 0 and layouts != layouts[:1] * len(layouts)
                    ):
                        continue
                    if device == "ref" and any(np.prod(s) > 200 for s in shape):
                        continue
                    inputs = case.domains, shape, layouts, [dtype] * case.arity
                    with collect:
                        check(
                            f"{case.name} {shape} {layouts} {dtype}",
                            lambda i=inputs: case(tiny_torch, *operands(tiny_torch, *i, device)),
                            lambda i=inputs: case(torch, *operands(torch, *i)),
                            ulps=case.ulps,
                            # of fewer than two elements, only for the ops themselves
                            strides=case.strides
                            and (np.prod(shape[0]) > 1 or (case in RECORDS and not case.composed)),
                        )


@pytest.mark.torch
@by_name([case for case in CASES if case.arity > 1])
def test_promotion(torch, case):
    """Every pair of dtypes, with and without dimensions."""
    shapes = (
        [(SHAPE,) * case.arity, (SHAPE, ()), ((), SHAPE)]
        if case.shapes is None
        else case.shapes[:1]
    )
    with all_failures() as collect:
        for shape, pair in itertools.product(shapes, PAIRS):
            if len(shape) != case.arity:
                continue
            dtypes = (*pair, pair[1])[: case.arity]
            if not set(dtypes) <= set(case.dtypes):
                continue
            inputs = case.domains, shape, CONTIGUOUS[: case.arity], dtypes
            with collect:
                check(
                    f"{case.name} {shape} {dtypes}",
                    lambda i=inputs: case(tiny_torch, *operands(tiny_torch, *i)),
                    lambda i=inputs: case(torch, *operands(torch, *i)),
                    ulps=case.ulps,
                )


@pytest.mark.torch
@by_name([case for case in CASES if case.specials and case.shapes is None and case.arity < 3])
def test_nan_and_infinity(torch, case):
    with all_failures() as collect:
        for dtype in FLOATS:
            values = np.array(SPECIALS, dtype)
            grids = np.meshgrid(*[values] * case.arity)
            flat = [np.ascontiguousarray(grid).ravel() for grid in grids]
            with collect:
                check(
                    f"{case.name} {dtype}",
                    lambda f=flat: case(tiny_torch, *map(tiny_torch.from_numpy, f)),
                    lambda f=flat: case(torch, *map(torch.from_numpy, f)),
                    ulps=max(case.ulps, 8),
                )


@pytest.mark.torch
@by_name([case for case in CASES if case.arity > 1 and case.shapes is None and case.call is None])
def test_numbers_as_operands(torch, case):
    """A Python number in the place of each tensor but the first."""
    with all_failures() as collect:
        for dtype, shape, number, place in itertools.product(
            case.dtypes, (SHAPE, ()), SCALARS, range(1, case.arity)
        ):
            if case.name == "pow" and dtype == "bool" and isinstance(number, bool):
                continue  # PyTorch has this one power of bools
            inputs = (
                case.domains,
                [shape] * case.arity,
                CONTIGUOUS[: case.arity],
                [dtype] * case.arity,
            )

            def run(module, inputs=inputs, number=number, place=place):
                tensors = operands(module, *inputs)
                tensors[place] = number
                return case(module, *tensors)

            with collect:
                check(
                    f"{case.name} {dtype} {shape} {number!r} at {place}",
                    lambda run=run: run(tiny_torch),
                    lambda run=run: run(torch),
                    ulps=case.ulps,
                )


@pytest.mark.torch
@on_devices
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(torch, name, device):
    """With a tensor, and with a number on either side."""
    op = OPERATORS[name]
    with all_failures() as collect:
        dtypes = [dtype for dtype in DTYPES if device == "cpu" or dtype not in HALVES]
        for dtype, shape in itertools.product(dtypes, ((2, 3), ())):
            values = numbers("nonzero", dtype, 6), numbers("nonzero", dtype, 6, seed=1)

            def pair(module, values=values, shape=shape, dtype=dtype):
                x, y = [make(module, v, shape, "contiguous", device, dtype) for v in values]
                return op(x, y)

            with collect:
                check(
                    f"{name} {dtype} {shape}", lambda f=pair: f(tiny_torch), lambda f=pair: f(torch)
                )
            for number, left in itertools.product((*SCALARS, "text", None), (False, True)):
                if "pow" in name and dtype == "bool" and isinstance(number, bool):
                    continue  # PyTorch has this one power of bools

                def run(module, values=values, shape=shape, number=number, left=left, dtype=dtype):
                    x = make(module, values[0], shape, "contiguous", device, dtype)
                    return op(number, x) if left else op(x, number)

                with collect:
                    check(
                        f"{name} {dtype} {shape} {number!r} {'left' if left else 'right'}",
                        lambda run=run: run(tiny_torch),
                        lambda run=run: run(torch),
                    )


# ------------------------------------------------------------------------------ in place and out=


@pytest.mark.torch
@by_name([case for case in CASES if case.shapes is None and case.call is None])
def test_in_place(torch, case):
    """Where PyTorch has the method: every dtype pair, layouts of self, shapes that do not fit."""
    method = f"{case.function}_"
    if not hasattr(torch.Tensor, method):
        return

    def run(module, inputs):
        x, *rest = operands(module, *inputs)
        result = getattr(x, method)(*rest, *case.args, **case.kwargs)
        assert result is x
        return result

    plans = [
        ([SHAPE] * case.arity, (layout, *CONTIGUOUS[1 : case.arity]), dtypes)
        for layout in LAYOUTS
        for dtypes in (
            [(dtype, None) for dtype in case.dtypes]
            if case.arity == 1
            else [(dtype, dtype) for dtype in case.dtypes] + PAIRS
        )
        if set(dtypes) <= {None, *case.dtypes}
        and (layout == "contiguous" or dtypes[1] in (None, dtypes[0], "int64"))
    ] + [
        (shapes[: case.arity], CONTIGUOUS[: case.arity], ("float32", "float32"))
        for shapes in ((SHAPE, (5, 1), ()), ((9,), SHAPE, ()), ((), (1,), ()), ((0,), (1,), ()))
    ]
    with all_failures() as collect:
        for shapes, layouts, dtypes in plans:
            inputs = case.domains, shapes, layouts, (*dtypes, dtypes[-1])[: case.arity]
            with collect:
                check(
                    f"{method} {shapes} {layouts} {dtypes}",
                    lambda i=inputs: run(tiny_torch, i),
                    lambda i=inputs: run(torch, i),
                    ulps=case.ulps,
                )


@pytest.mark.torch
@by_name([case for case in CASES if case.arity < 3 and case not in FUSED])
def test_out(torch, case):
    """Where PyTorch has `out=`: of the result's dtype, of one that cannot hold it, an input."""
    shapes = (case.shapes or SHAPES[case.arity])[0]

    def run(module, dtype, out_dtype, layout):
        tensors = operands(
            module, case.domains, shapes, CONTIGUOUS[: case.arity], [dtype] * case.arity
        )
        result = case(module, *tensors)
        if not hasattr(result, "shape"):
            return None
        if layout == "input":
            out = tensors[0]
        else:
            size = tuple(result.shape)
            kind = out_dtype or dtype_name(result)
            out = make(module, np.zeros(4000), size, layout, dtype=kind)
        assert case(module, *tensors, out=out) is out
        return out

    layouts = LAYOUTS if case in RECORDS and case.shapes is None else list(LAYOUTS)[:2]
    plans = [(dtype, None, layout) for dtype in case.dtypes for layout in layouts]
    if case in RECORDS and case.shapes is None and "float32" in case.dtypes:
        plans += [("float32", "int32", "contiguous"), ("float32", None, "input")]
    with all_failures() as collect:
        for plan in plans:
            error, _ = outcome(lambda p=plan: run(torch, *p))
            if isinstance(error, TypeError):
                continue  # PyTorch has no such overload
            with collect:
                check(
                    f"{case.name} {plan}",
                    lambda p=plan: run(tiny_torch, *p),
                    lambda p=plan: run(torch, *p),
                    ulps=case.ulps,
                )


# ---------------------------------------------------------------------------------------- gradients


@pytest.mark.torch
@on_devices
@by_name([case for case in CASES if case.gradient and "float64" in case.dtypes])
def test_gradients(torch, case, device):
    skip_if_missing(case, device)
    plans = [
        (shapes, layouts, "float64")
        for i, shapes in enumerate(case.shapes or SHAPES[case.arity])
        for layouts in layouts_of(case, device)
        if i == 0 or layouts == CONTIGUOUS[: case.arity]
    ]
    plans.append((plans[0][0], CONTIGUOUS[: case.arity], "float32"))
    with all_failures() as collect:
        for shapes, layouts, dtype in plans:
            if device == "ref" and any(np.prod(s) > 200 for s in shapes):
                continue
            inputs = case.domains, shapes, layouts, [dtype] * case.arity
            where = f"{case.name} {shapes} {layouts} {dtype}"
            found = {}

            def run(module, place, inputs=inputs, found=found):
                result = gradients(module, case, inputs, device)
                found[module] = result
                return result[place]

            with collect:
                check(
                    f"gradient of {where}",
                    lambda run=run: run(tiny_torch, 0),
                    lambda run=run: run(torch, 0),
                    ulps=case.gradient_ulps,
                    strides=False,
                )
                if torch not in found or not case.second or 0 in np.prod(shapes[0], keepdims=True):
                    continue
                ours, theirs = found[tiny_torch][1], found[torch][1]
                size = max(len(ours), len(theirs))
                ours, theirs = ((*g, *[None] * (size - len(g))) for g in (ours, theirs))
                for our, their in zip(ours, theirs, strict=True):  # None is as good as zeros
                    if our is not None or their is not None:
                        compare(
                            zero_if_none(our, their),
                            zero_if_none(their, our),
                            f"second gradient of {where}",
                            ulps=16 * case.gradient_ulps,
                            strides=False,
                        )


@pytest.mark.torch
@by_name(
    [case for case in CASES if case.gradient and case.shapes is None and "float64" in case.dtypes]
)
def test_gradients_in_place_and_of_mixed_dtypes(torch, case):
    def mixed(module):
        dtypes = ("float32", "float64", "float32")[: case.arity]
        inputs = case.domains, [SHAPE] * case.arity, ("permuted", *CONTIGUOUS)[: case.arity], dtypes
        xs = [x.detach().requires_grad_() for x in operands(module, *inputs)]
        for result in flatten(case(module, *xs)):
            result.sum().backward()
        return [x.grad for x in xs]

    def in_place(module):
        inputs = (
            case.domains,
            [SHAPE] * case.arity,
            CONTIGUOUS[: case.arity],
            ["float64"] * case.arity,
        )
        xs = [x.detach().requires_grad_() for x in operands(module, *inputs)]
        middle = xs[0] * 1
        getattr(middle, f"{case.function}_")(*xs[1:], *case.args, **case.kwargs)
        (middle * middle).sum().backward()
        return [x.grad for x in xs]

    with all_failures() as collect:
        with collect:
            # PyTorch has float32 steps in some float64 gradients: as float32 then, in 8 ulps.
            ulps = 8 * EPSILON["float32"] / EPSILON["float64"]
            check(f"mixed {case.name}", lambda: mixed(tiny_torch), lambda: mixed(torch), ulps=ulps)
        if "logical" in case.name:
            return  # PyTorch lets the gradient pass as if nothing had been overwritten
        if case.call is None and hasattr(torch.Tensor, f"{case.function}_"):
            if isinstance(outcome(lambda: in_place(torch))[0], NotImplementedError):
                return  # PyTorch has no such gradient (asinh_, acosh_, atanh_): we do
            with collect:
                check(
                    f"in place {case.name}",
                    lambda: in_place(tiny_torch),
                    lambda: in_place(torch),
                    ulps=case.gradient_ulps,
                )
