"""How the sweep runs one sample under a package, and compares what two packages gave.

A sample is a call of the module and some tensors. Its outcome is what it returns, what it leaves in
its tensors, and the first and second gradients; or the exception.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import tiny_torch

DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
)  # fmt: skip
MAX_DIMS = 24  # of our arrays; PyTorch's have any number, its kernels up to 64
# The error that may separate two right answers, next to the largest number of the result. A result
# is a sum of rounded terms, in float32 and float64 a longer one (halves are computed in float32 and
# rounded once or twice: 2 ulp).
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "float64": 1e-12}
# PyTorch's words for "there is no kernel for this dtype": then we may have one.
UNSUPPORTED = re.compile(
    r"not implemented for|not supported|unsupported (dtype|type|input)|does ?n[o']t support"
    r"|expected scalar type|must be (a )?float|only (floating|float)"
    r"|Expected .* (float|integral|dtype)|expects? .* dtype"
    r"|[Ii]nteger .*not allowed|operator, on a bool tensor"
)


@dataclasses.dataclass
class Sample:
    where: str
    call: Callable  # of the module and its tensors
    tensors: list[
        torch.Tensor
    ]  # what to make in either package; those that require grad are leaves
    layout: str = "contiguous"
    dtype: str = ""
    mutates: bool = False  # writes into its first tensor
    tolerance: float = 1.0  # times TOLERANCE
    gradient: bool = True
    strides: bool = True
    second: bool = True  # gradients too


@dataclasses.dataclass
class Outcome:
    error: BaseException | None = None
    parts: list = dataclasses.field(default_factory=list)  # of the result
    inputs: list = dataclasses.field(default_factory=list)  # after the call


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def twin(module: Any, tensor: torch.Tensor) -> Any:
    """The same numbers in the same layout in memory of their own."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    flat = tensor.detach().as_strided((size,), (1,), 0)
    if module is torch:
        return flat.clone().as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).data
    name = dtype_name(tensor)
    half = name in ("float16", "bfloat16")
    array = tiny_torch.tensor((flat.float() if half else flat).numpy())
    if half:
        array = array.to(getattr(tiny_torch, name))
    return array.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).data


def values(tensor: Any) -> np.ndarray:
    tensor = tensor.detach()
    if dtype_name(tensor) in ("float16", "bfloat16"):
        tensor = tensor.to(
            torch.float32 if isinstance(tensor, torch.Tensor) else tiny_torch.float32
        )
    return np.array(tensor.numpy(force=True))  # PyTorch has zeros that are not stored


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor | tiny_torch.Tensor)


def flatten(result: Any) -> list:
    """The parts of a result, its containers as words among them."""
    if is_tensor(result) and result.is_sparse:
        return [f"sparse, {result._nnz()} places", result.to_dense()]
    if is_tensor(result):
        return [result]
    if isinstance(result, dict):
        return [f"{type(result).__name__} of {list(result)}", *flatten(list(result.values()))]
    if isinstance(result, tuple | list | set | frozenset):
        kind = type(result).__name__
        return [f"{kind} of {len(result)}", *[p for part in result for p in flatten(part)]]
    if isinstance(result, np.ndarray | np.generic):
        return [f"NumPy {result.dtype} {result.shape} {result.tolist()}"]
    if isinstance(result, bool | int | float | complex | str | bytes | None | type(Ellipsis)):
        return [result]
    if isinstance(result, type | BaseException) or callable(result):
        return [getattr(result, "__name__", type(result).__name__)]
    text = re.sub(r" at 0x\w+", "", str(result))
    return [f"{type(result).__name__} {text}".replace("tiny_torch", "torch")]


def extent(tensor: Any) -> tuple[int, int]:
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.data_ptr()
    return start, start + (1 + reach) * tensor.element_size()


def shared(part: Any, inputs: list) -> list | None:
    """Where in an input a result lies: its number and the offset in bytes."""
    if part.numel() == 0:
        return None
    low, high = extent(part)
    for i, tensor in enumerate(inputs):
        if tensor.numel():
            start, end = extent(tensor)
            if low < end and start < high:
                return [i, low - start]
    return None


def run(sample: Sample, module: Any) -> Outcome:
    """Values, memory and exceptions; nothing is recorded."""
    tensors = [twin(module, t) for t in sample.tensors]
    seed(module)
    try:
        result = sample.call(module, *tensors)
        parts = [
            (part, shared(part, tensors)) if is_tensor(part) else part for part in flatten(result)
        ]
    except Exception as error:
        return Outcome(error=error)
    return Outcome(parts=parts, inputs=tensors)


def seed(module: Any) -> None:
    module.manual_seed(7)
    warnings.simplefilter("ignore")


def weight(module: Any, like: Any, number: int) -> Any:
    random = np.random.default_rng([number, *like.shape])
    array = random.integers(1, 9, tuple(like.shape)) / 4 - 1.125
    return module.from_numpy(np.asarray(array)).to(like.dtype)


def gradients(sample: Sample, module: Any, second: bool) -> tuple[list, list]:
    """Of the floating results by the leaves; and, if `second`, of those again by the leaves."""
    tensors = [twin(module, t) for t in sample.tensors]
    leaves = [
        x.requires_grad_() for x, t in zip(tensors, sample.tensors, strict=True) if t.requires_grad
    ]
    arguments = [x * 1 if x.requires_grad else x for x in tensors] if sample.mutates else tensors
    seed(module)
    results = [
        part
        for part in flatten(sample.call(module, *arguments))
        if is_tensor(part) and part.requires_grad
    ]
    if not results:
        return [], []
    weights = [weight(module, r, i) for i, r in enumerate(results)]
    first = module.autograd.grad(results, leaves, weights, create_graph=second, allow_unused=True)
    again = [
        (g, weight(module, g, 7 + i))
        for i, g in enumerate(first)
        if g is not None and g.requires_grad
    ]
    if not second or not again:
        return list(first), []
    grads, seconds = zip(*again, strict=True)
    return list(first), list(module.autograd.grad(grads, leaves, seconds, allow_unused=True))


# ---------------------------------------------------------------------------------------- compare


def differences(sample: Sample) -> tuple[list[str], set[str]]:
    """In words, what differs from PyTorch; and what was compared: value, error, first, second.

    Nothing was compared if PyTorch has no kernel for the dtype.
    """
    if any(t.ndim > MAX_DIMS for t in sample.tensors):
        return [], set()
    theirs, ours = run(sample, torch), run(sample, tiny_torch)
    if theirs.error is not None:
        if "INTERNAL ASSERT" in str(theirs.error):
            return [], set()
        if ours.error is None:
            if UNSUPPORTED.search(str(theirs.error)):
                return [], set()
            return [f"nothing raised, PyTorch: {brief(theirs.error)}"], {"error"}
        kinds = type(ours.error).__name__, type(theirs.error).__name__
        if kinds[0] != kinds[1]:
            if UNSUPPORTED.search(str(theirs.error)) and kinds[0] in (
                "NotImplementedError",
                "RuntimeError",
            ):
                return [], set()
            return [f"raised {brief(ours.error)}, PyTorch {brief(theirs.error)}"], {"error"}
        return [], {"error"}
    if ours.error is not None:
        return [f"raised {brief(ours.error)}"], {"value"}
    found = compare_parts(sample, ours.parts, theirs.parts, "")
    for i, pair in enumerate(zip(ours.inputs, theirs.inputs, strict=True)):
        found += compare(sample, *pair, f"input {i} afterwards: ", strides=False)
    done = {"value"}
    if sample.gradient and not found and any(t.requires_grad for t in sample.tensors):
        more, stages = compare_gradients(sample)
        found += more
        done |= stages
    return found[:3], done


def compare_gradients(sample: Sample) -> tuple[list[str], set[str]]:
    try:  # at NaN and infinity a second gradient says nothing
        wanted = sample.second and sample.layout != "special values"
        first, again = gradients(sample, torch, wanted)
    except Exception:
        again = []
        try:  # the second may be absent
            first, _ = gradients(sample, torch, False)
        except Exception as error:
            if "INTERNAL ASSERT" in str(error):
                return [], set()
            try:
                gradients(sample, tiny_torch, False)
            except Exception as own:
                if type(own).__name__ == type(error).__name__:
                    return [], set()
                return [f"with grad: raised {brief(own)}, PyTorch {brief(error)}"], set()
            if "differentia" in str(error) or "derivative" in str(error):
                return [], set()
            return [f"with grad: nothing raised, PyTorch: {brief(error)}"], set()
    if all(g is None for g in first):
        return [], set()
    done = {"first"}
    try:
        our_first, our_again = gradients(sample, tiny_torch, bool(again))
    except Exception as error:
        try:
            our_first, our_again = gradients(sample, tiny_torch, False)
        except Exception as error:
            return [f"gradient: raised {brief(error)}"], done
        return [f"second gradient: raised {brief(error)}"], done
    found = compare_grads(sample, our_first, first, "gradient: ")
    if again and not found and not all(g is None for g in again):
        done.add("second")
        found = compare_grads(sample, our_again, again, "second gradient: ")
    return found, done


def compare_grads(sample: Sample, ours: list, theirs: list, where: str) -> list[str]:
    """A gradient that is None is as good as zeros."""
    if not ours and theirs:
        zero = all(their is None or not np.any(values(their)) for their in theirs)
        return [f"{where}none of the results require grad{', it is 0' if zero else ''}"]
    found = []
    for i, (our, their) in enumerate(zip(ours, theirs, strict=False)):
        if our is None or their is None:
            some = our if their is None else their
            if some is not None and np.any(values(some) != 0):
                found.append(f"{where}of leaf {i}: {'none' if our is None else 'not none'}")
            continue
        wrong = compare(sample, our, their, f"{where}of leaf {i}: ", strides=False, slack=10)
        found += wrong if i or not equal_up_to_ties(sample, our, their, of_values) else []
    return found


def compare_parts(sample: Sample, ours: list, theirs: list, where: str) -> list[str]:
    if len(ours) != len(theirs):
        return [f"{where}{words(ours)}, not {words(theirs)}"]
    found = []
    for our, their in zip(ours, theirs, strict=True):
        if isinstance(our, tuple) and isinstance(their, tuple):
            wrong = compare(sample, our[0], their[0], where, strides=sample.strides)
            found += wrong if not equal_up_to_ties(sample, our[0], their[0], picks_equal) else []
            if our[1] != their[1]:
                found.append(f"{where}lies in input {our[1]}, not {their[1]} (number, byte)")
        elif isinstance(our, tuple) or isinstance(their, tuple) or not same(our, their, sample):
            found.append(f"{where}{words([our])}, not {words([their])}")
    return found


# ------------------------------------------------------------------------------------------- ties

# Of equal elements, PyTorch's may come in any order or be any one, from call to call.
UNORDERED = re.compile(r"(Tensor\.)?(sort|argsort|msort|topk|kthvalue|mode)\b(?!.*stable=True)")


def equal_up_to_ties(sample: Sample, ours: Any, theirs: Any, equal: Callable) -> bool:
    """Whether results differ at most in which of equal elements of the first tensor they are of."""
    return (
        UNORDERED.match(sample.where) is not None
        and dtype_name(ours) == dtype_name(theirs)
        and tuple(ours.shape) == tuple(theirs.shape)
        and tuple(ours.stride()) == tuple(theirs.stride())
        and equal(values(sample.tensors[0]), values(ours), values(theirs))
    )


def picks_equal(x: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether two arrays of indices pick equal elements of x along a dim, none of them twice."""
    if ours.dtype != np.int64:
        return False
    for dim, size in enumerate(x.shape):
        a, b = [i if i.ndim == x.ndim else np.expand_dims(i, dim) for i in (ours, theirs)]
        others = [n for n, d in zip(a.shape, range(x.ndim), strict=True) if d != dim]
        if others != [n for d, n in enumerate(x.shape) if d != dim]:
            continue
        if a.min(initial=0) < 0 or a.max(initial=0) >= size or b.max(initial=0) >= size:
            continue
        ordered = np.sort(a, dim)
        twice = np.take(ordered, range(1, a.shape[dim]), dim) == np.take(
            ordered, range(a.shape[dim] - 1), dim
        )
        picked = [np.take_along_axis(x, i, dim) for i in (a, b)]
        if not twice.any() and np.array_equal(*picked, equal_nan=x.dtype.kind == "f"):
            return True
    return False


def of_values(x: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether equal elements have the same gradients, in whatever order."""
    number = np.unique(x, return_inverse=True)[1].ravel()
    parts = [g.ravel()[np.lexsort((g.ravel(), number))] for g in (ours, theirs)]
    return np.array_equal(*parts)


def same(ours: Any, theirs: Any, sample: Sample) -> bool:
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, float):
        tolerance = sample.tolerance * TOLERANCE.get(sample.dtype, 1e-12)
        return bool(np.isclose(ours, theirs, tolerance, 0, equal_nan=True))
    if isinstance(ours, str):
        return ours.replace("tiny_torch", "torch") == theirs
    return bool(ours == theirs)


def words(parts: list) -> str:
    return str([tuple(p[0].shape) if isinstance(p, tuple) else p for p in parts])[:160]


def compare(
    sample: Sample, ours: Any, theirs: Any, where: str, strides: bool, slack: float = 1
) -> list[str]:
    name = dtype_name(theirs)
    if dtype_name(ours) != name:
        return [f"{where}dtype {dtype_name(ours)}, not {name}"]
    if tuple(ours.shape) != tuple(theirs.shape):
        return [f"{where}shape {tuple(ours.shape)}, not {tuple(theirs.shape)}"]
    if strides and tuple(ours.stride()) != tuple(theirs.stride()):
        pair = f"{tuple(ours.stride())}, not {tuple(theirs.stride())}"
        return [f"{where}strides {pair} of {tuple(theirs.shape)}"]
    if "empty" in sample.where.split()[0]:
        return []
    mine, right = values(ours), values(theirs)
    with np.errstate(all="ignore"):
        equal = (mine == right) | ((mine != mine) & (right != right))
        if mine.dtype.kind == "f" and not equal.all():
            finite = np.abs(right[np.isfinite(right)])
            scale = np.abs(right) + (finite.max() if finite.size else 0) + (slack > 1)
            error = np.abs(mine.astype("float64") - right)
            tolerance = slack * sample.tolerance * TOLERANCE[name]
            equal |= error <= tolerance * scale
    if equal.all():
        return []
    wrong = ~equal
    return [
        f"{where}{int(wrong.sum())} of {wrong.size} values, such as "
        f"{mine[wrong][:3].tolist()}, not {right[wrong][:3].tolist()}"
    ]


def brief(error: BaseException) -> str:
    text = str(error).split("\n")[0]
    return f"{type(error).__name__}({text[:110]})"
