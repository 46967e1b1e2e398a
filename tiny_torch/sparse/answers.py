"""Which of PyTorch's functions take a sparse tensor: what `__torch_function__` of one answers.

What is in neither table raises NotImplementedError, which names the function.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.graph import edge_of
from tiny_torch.autograd.overrides import DisableTorchFunctionSubclass
from tiny_torch.autograd.view import LEAF
from tiny_torch.base import layouts
from tiny_torch.base.dtypes import type_name
from tiny_torch.functions import printing
from tiny_torch.functions.elementwise.cast import CONVERSIONS
from tiny_torch.sparse import building, functions, products, shapes
from tiny_torch.sparse.building import from_dense, sparse_mask
from tiny_torch.sparse.embedding import SparseEmbedding, SparseEmbeddingBag
from tiny_torch.sparse.tensor import SparseTensor, indices_of, values_of
from tiny_torch.tensor import Tensor, wrap

# What a sparse tensor answers as any other: it asks the array's shape, dtype and device alone, or
# the tensor's place in the graph.
AS_DENSE = set(
    """
    _backward_hooks _base _is_view _version backward data detach detach_ device dim dtype
    element_size get_device grad grad_fn has_names is_complex is_cpu is_cuda is_floating_point
    is_inference is_leaf is_meta is_mkldnn is_quantized is_same_size is_signed is_sparse_csr
    is_tensor itemsize names ndim ndimension nelement numel output_nr register_hook
    register_post_accumulate_grad_hook requires_grad requires_grad_ retain_grad retains_grad
    result_type shape size
    """.split()
)


def check_coalesced(x: Tensor, name: str) -> None:
    if not x.array.is_coalesced:
        raise RuntimeError(
            f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
        )


def indices(x: Tensor) -> Tensor:
    check_coalesced(x, "indices")
    return indices_of(x)


def values(x: Tensor) -> Tensor:
    check_coalesced(x, "values")
    return values_of(x)


def clone(x: Tensor, *, memory_format: Any = None) -> Tensor:
    if memory_format not in (None, layouts.preserve_format):
        raise RuntimeError(f"unsupported memory format option {memory_format}")
    return functions.with_values(x, values_of(x).clone())


def deepcopy(x: Tensor, memo: dict) -> Tensor:
    if id(x) not in memo:
        edge = edge_of(x)
        if edge is not None and x.edge is not LEAF:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment."
            )
        memo[id(x)] = wrap(x.array.clone(), x.edge)
    return memo[id(x)]


def reduce_ex(x: Tensor, protocol: Any = None) -> tuple:
    """What pickle is told, by a room that is written against the whole package."""
    return importlib.import_module("tiny_torch.exchange.plain").reduce_sparse(x, protocol)


def convert_values(x: Tensor, name: str, *arguments: Any, **keywords: Any) -> Tensor:
    """`to` and its kin: the values' of that name."""
    before = values_of(x)
    after = getattr(before, name)(*arguments, **keywords)
    if after is before or (after.array is before.array):
        return x
    where = after.array.device
    places = indices_of(x).to(where)
    return functions.from_values(after, places, x.array.shape, x.array.is_coalesced)


def conversion(name: str) -> Callable:
    return lambda x, *arguments, **keywords: convert_values(x, name, *arguments, **keywords)


def type_text(x: Tensor, dtype: Any = None, non_blocking: bool = False) -> str:
    if dtype is not None:
        raise NotImplementedError("type(dtype) of a sparse tensor")
    return type_name(x.array.dtype).replace("torch.", "torch.sparse.")


def no_numpy(x: Tensor, *arguments: Any, **keywords: Any) -> Any:
    raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")


def text(x: Tensor, *, tensor_contents: str | None = None) -> str:
    """What repr(x) says, as PyTorch's."""
    array, start = x.array, "tensor("
    parts = []
    for name, held in (("indices", array.indices), ("values", array.values)):
        prefix = f"{name}=tensor("
        size = "" if held.size else f", size={tuple(held.shape)}"
        body = printing.elements_text(held, len(start + prefix)) if held.size else "[]"
        parts.append(f"{prefix}{body}{size})")
    suffixes = [f"size={tuple(array.shape)}", f"nnz={array.values.shape[0]}"]
    if array.device != "cpu":
        suffixes.insert(0, f"device='{x.device}'")
    if array.dtype not in (_core.get_default_dtype(), _core.int64, _core.bool):
        suffixes.append(f"dtype={array.dtype}")
    suffixes += ["layout=torch.sparse_coo", *printing.history_text(x)]
    body = tensor_contents or (",\n" + " " * len(start)).join(parts)
    return printing.with_suffixes(start + body, suffixes, len(start), own_line=True) + ")"


def format_text(x: Tensor, spec: str) -> str:
    if spec:
        raise TypeError("unsupported format string passed to Tensor.__format__")
    return text(x)


ANSWERS: dict[str, Callable] = {
    # how it is stored
    "layout": lambda x: layouts.sparse_coo,
    "is_sparse": lambda x: True,
    "sparse_dim": lambda x: x.array.indices.shape[0],
    "dense_dim": lambda x: x.array.values.ndim - 1,
    "_nnz": lambda x: x.array.values.shape[0],
    "_indices": indices_of,
    "_values": lambda x: wrap(x.array.values),
    "indices": indices,
    "values": values,
    "coalesce": functions.coalesce,
    "is_coalesced": lambda x: x.array.is_coalesced,
    "to_sparse": lambda x, *arguments, **keywords: x,
    "to_dense": functions.dense_of,
    "sparse_mask": sparse_mask,
    "is_contiguous": lambda x, *arguments, **keywords: False,
    "__len__": lambda x: x.array.shape[0],
    "__repr__": text,
    "__format__": format_text,
    "__deepcopy__": deepcopy,
    "__reduce_ex__": reduce_ex,
    "numpy": no_numpy,
    "__array__": no_numpy,
    "type": type_text,
    "clone": clone,
    "new": building.new,
    **dict.fromkeys(("zeros_like", "empty_like"), building.zeros_like),
    **{name: conversion(name) for name in ("to", "cpu", "cuda", *CONVERSIONS)},
    # picked apart and put together
    "__bool__": shapes.as_bool,
    "__getitem__": shapes.getitem,
    "select": shapes.select,
    "index_select": shapes.index_select,
    "unsqueeze": shapes.unsqueeze,
    "permute": shapes.permute,
    **dict.fromkeys(("cat", "concat", "concatenate"), shapes.cat),
    "stack": shapes.stack,
    # what is computed
    "add": functions.add,
    "add_": functions.add_,
    "sub": functions.sub,
    "sub_": functions.sub_,
    "mul": functions.mul,
    "mul_": functions.in_place(functions.mul),
    "div": functions.div,
    "div_": functions.in_place(functions.div),
    "neg": functions.neg,
    "neg_": functions.in_place(functions.neg),
    "pow": functions.power,
    "__pow__": functions.power,
    "zero_": functions.zero_,
    "resize_as_": functions.resize_as_,
    "copy_": functions.in_place(lambda x, other: clone(other)),
    "sum": functions.sum,
    "norm": functions.norm,
    "t": functions.t,
    "T": functions.t,
    "mT": lambda x: functions.transpose(x, -2, -1),
    "transpose": functions.transpose,
    **dict.fromkeys(("mm", "spmm", "dsmm"), products.torch_mm),
    "matmul": products.matmul,
    "mv": products.matmul,
    "__rmatmul__": lambda x, other: products.matmul(other, x),
    "addmm": products.addmm,
}
ANSWERS |= {
    name: functions.of_values(name)
    for name in (
        "abs asin asinh atan ceil deg2rad erf expm1 floor log1p rad2deg relu round sgn sign sin "
        "sinh sqrt square tan tanh trunc"
    ).split()
}


def torch_function(
    cls: type, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
) -> Any:
    """What a function answers of sparse tensors; NotImplementedError for those that do not."""
    name = func.__name__
    if name in ("__get__", "__set__", "__delete__"):  # of a property
        name = func.__self__.__name__
    with DisableTorchFunctionSubclass():
        if name in AS_DENSE:
            return func(*args, **(kwargs or {}))
        answer = ANSWERS.get(name)
        if answer is None:
            raise NotImplementedError(f"{name} of a sparse tensor is not in tiny_torch")
        return answer(*args, **(kwargs or {}))


SparseTensor.__torch_function__ = classmethod(torch_function)  # type: ignore[attr-defined]

__all__ = ["SparseEmbedding", "SparseEmbeddingBag", "building", "from_dense", "sparse_mask"]
