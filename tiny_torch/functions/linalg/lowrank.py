"""The first singular vectors of a matrix, from its products with a few random vectors.

Halko, Martinsson and Tropp 2009, "Finding structure with randomness": algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from tiny_torch.functions.random.draws import randn
from tiny_torch.functions.torch_linalg import qr, svd
from tiny_torch.tensor import Tensor


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A - M nearly U diag(S) V^T: (..., m, q), (..., q) and (..., n, q).

    `q` is a little above the rank that is wanted, `niter` the times that the vectors go through A
    again. The random vectors are the default generator's, so that the result, up to its rounding,
    is PyTorch's. Where singular values are wanted whole, `linalg.svd` is more exact.
    Source: https://pytorch.org/docs/stable/generated/torch.svd_lowrank.html
    """
    if M is not None:
        A = A - M
    wide = A.shape[-2] < A.shape[-1]
    A = A.mT if wide else A
    basis = qr(A @ randn(A.shape[-1], 6 if q is None else q, dtype=A.dtype, device=A.device))[0]
    for _ in range(2 if niter is None else niter):
        basis = qr(A.mT @ basis)[0]
        basis = qr(A @ basis)[0]
    left, values, right = svd(basis.mT @ A, full_matrices=False)
    left, right = basis @ left, right.mT
    return (right, values, left) if wide else (left, values, right)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """`svd_lowrank` of A (..., m, n), whose columns have mean 0 first if `center` is True.

    The columns of V are the principal directions of the rows of A. `q` is 6 at most unless given.
    Raises ValueError for a q above m or n, and for a negative niter.
    Source: https://pytorch.org/docs/stable/generated/torch.pca_lowrank.html
    """
    smaller = min(A.shape[-2:])
    if q is None:
        q = min(6, smaller)
    elif not 0 <= q <= smaller:
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={smaller}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
