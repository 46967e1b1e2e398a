"""torch.linalg: norms, factorisations, systems of equations, functions of matrices.

The ops stand in ops/: vectors, norms, factor, triangular, lu, solve, matrices.
https://pytorch.org/docs/stable/linalg.html
"""

# ruff: noqa: F401

from __future__ import annotations

from typing import Any

from tiny_torch.functions.linalg.factor import (
    cholesky,
    cholesky_ex,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    qr,
    svd,
    svdvals,
)
from tiny_torch.functions.linalg.lu import lu, lu_factor, lu_factor_ex, lu_solve
from tiny_torch.functions.linalg.matmul import matmul
from tiny_torch.functions.linalg.matrices import (
    cond,
    lstsq,
    matrix_exp,
    matrix_power,
    matrix_rank,
    pinv,
)
from tiny_torch.functions.linalg.solve import (
    det,
    inv,
    inv_ex,
    slogdet,
    solve,
    solve_ex,
    tensorinv,
    tensorsolve,
)
from tiny_torch.functions.linalg.triangular import solve_triangular
from tiny_torch.functions.linalg.vectors import linalg_cross as cross
from tiny_torch.functions.linalg.vectors import linalg_vander as vander
from tiny_torch.functions.linalg.vectors import multi_dot, vecdot
from tiny_torch.functions.methods import publish
from tiny_torch.functions.reduce.norms import matrix_norm, norm, vector_norm
from tiny_torch.functions.shape.parts import diagonal as torch_diagonal
from tiny_torch.ops.linalg.lapack import LinAlgError
from tiny_torch.tensor import Tensor


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """torch.diagonal of the last two dims.

    https://pytorch.org/docs/stable/generated/torch.linalg.diagonal.html
    """
    return torch_diagonal(A, offset, dim1, dim2)


_NOT = {"publish", "torch_diagonal"}
__all__ = ["LinAlgError"]
__all__ += [n for n, it in globals().items() if n.islower() and callable(it) and n not in _NOT]

globals().update(publish(__name__, {name: globals()[name] for name in __all__}))
