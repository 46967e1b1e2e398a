"""Sums of matrix products: addmm and its family. The plain products stand in matmul.py."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.graph import Op
from tiny_torch.base.dtypes import HALVES
from tiny_torch.ops.common import scale_by, write_into
from tiny_torch.ops.elementwise.cast import widen
from tiny_torch.ops.linalg.matmul import Linear, Matmul, unbroadcast


def check_batches(name: str, x: Any, y: Any) -> None:
    """RuntimeError where two stacks differ in their number of matrices."""
    if x.shape[0] != y.shape[0]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"{[x.shape[0], x.shape[2]]} but got: {list(y.shape[:2])}."
        )


class Addmm(Op):
    """beta x + alpha a @ b, where x is broadcast. Halves are rounded once: computed in float32."""

    arity = 3
    saves = (1, 2)
    used_by = ((2,), (1,))

    dims = 2, 2  # of a and b
    words = "a:mat1 b:mat2"
    cost = "sum of a product"
    autocast = "lower"

    @classmethod
    def forward(cls, x, a, b, beta, alpha, out=None):
        check_product(cls, x, a, b)
        if x.dtype in HALVES and not cls.adds_bias(x, b, beta, alpha):
            total = cls.total(widen(x), widen(a), widen(b), beta, alpha).astype(x.dtype)
        else:
            free = out is not None and not out.overlaps(x)  # which is read after the product
            total = cls.total(x, a, b, beta, alpha, out if free else None)
        return write_into(total, out), (a, b, a.shape, b.shape, x.shape, beta, alpha)

    @classmethod
    def adds_bias(cls, x, b, beta, alpha):
        """Whether the kernel of products does all."""
        return cls is Addmm and beta == alpha == 1 and x.shape == (b.shape[1],)

    @classmethod
    def total(cls, x, a, b, beta, alpha, out=None):
        if cls.adds_bias(x, b, beta, alpha):
            return a.matmul(b, x, out)
        product = cls.product(a, b, out)
        if not x.same_shape(product):
            x = x.expand(product.shape)
        if alpha != 1:
            product.mul(alpha, product)
        if beta != 0:  # else NaN in x does not count
            product.add(x if beta == 1 else x * beta, product)
        return product

    @staticmethod
    def product(a, b, out):
        return a.matmul(b, None, out)

    @staticmethod
    def backward(saved, grad, needs):
        *operands, shape, beta, alpha = saved
        to_x = unbroadcast(scale_by(grad, beta), shape) if needs[0] else None
        return to_x, *Matmul.backward(operands, scale_by(grad, alpha), needs[1:3])


class Addmv(Addmm):
    """x (n), a (n, m), b (m)"""

    dims = 2, 1
    words = "a:mat b:vec"
    cost = ""
    autocast = "lower on cuda"


class Baddbmm(Addmm):
    """x (B, n, p), a (B, n, m), b (B, m, p)"""

    dims = 3, 3
    words = "a:batch1 b:batch2"


class Addbmm(Addmm):
    """x (n, p), a (B, n, m), b (B, m, p): the sum over B is one long product."""

    dims = 3, 3
    words = "a:batch1 b:batch2"
    cost = ""

    @staticmethod
    def product(a, b, out):
        batch, n, m = a.shape
        rows = a.permute((1, 0, 2)).reshape((n, batch * m))
        columns = b.reshape((batch * m, b.shape[-1]))
        return rows.matmul(columns, None, out)


def check_product(op: type[Addmm], x: Any, a: Any, b: Any) -> None:
    """Dtypes and dims of arrays: asked in forward, where autocast has cast them."""
    dtype, ndims = x.dtype, (a.ndim, b.ndim)
    if ndims == op.dims and dtype is a.dtype and dtype is b.dtype:
        if ndims == (3, 3):
            check_batches(op.__name__.lower(), a, b)
        return
    name = op.__name__.lower()
    if op.dims == (3, 3) and (a.ndim < 2 or b.ndim < 3):
        raise IndexError(f"{name}: Dimension out of range: batches of matrices have 3 dimensions")
    if not dtype is a.dtype is b.dtype:
        raise RuntimeError(
            f"{name}: expected tensors of the same dtype, got {x.dtype}, {a.dtype} and {b.dtype}"
        )
    raise RuntimeError(
        f"{name}: expected tensors of {op.dims[0]} and {op.dims[1]} dimensions, got shapes "
        f"{list(a.shape)} and {list(b.shape)}"
    )


# ---- PyTorch's nodes of products, of which those of ops.linalg.matmul are one here --------------


def product_name(saved, node):
    ndims = tuple(map(len, saved[2:4])) if len(saved) > 3 else (2, 2)
    if ndims == (1, 2):
        return "SqueezeBackward4"
    names = {(1, 1): "Dot", (2, 1): "Mv", (2, 2): "Mm"}
    return f"{names.get(ndims, 'UnsafeView')}Backward0"


def linear_names(saved: Any, node: Any) -> tuple[str, ...]:
    """PyTorch's last node of a linear layer, and unless that is the product, the first."""
    x = saved[0] if saved else None
    ndim = 2 if x is None else x.ndim
    if node.edges[2] is not None:  # with a bias
        return ("AddmmBackward0",) if ndim == 2 else ("ViewBackward0", "ViewBackward0")
    if ndim == 1:
        return "SqueezeBackward4", "UnsqueezeBackward0"
    return ("MmBackward0",) if ndim == 2 else ("UnsafeViewBackward0", "ViewBackward0")


def linear_parts(node: Any) -> tuple:
    """addmm(bias, x, weight.t()) or mm(x, weight.t()); between views unless x has 2 dims."""
    known = type(node.saved) is tuple and not node.is_freed()
    _, *first = linear_names(node.saved if known else (), node)
    bias = () if node.edges[2] is None else (2,)
    product = *bias, (first[0], (0,)) if first else 0, ("TBackward0", (1,))
    return (("AddmmBackward0" if bias else "MmBackward0", product),) if first else product


Matmul.node_name = product_name
Linear.node_name = lambda saved, node: linear_names(saved, node)[0]
Linear.parts = linear_parts
