"""Factorisations of matrices: Cholesky, QR, eigenvalues, singular values."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.dtypes import not_implemented, scalar_type
from tiny_torch.functions.common import into_same, name_results
from tiny_torch.functions.linalg.lapack import (
    check_floating,
    check_input,
    check_matrix,
    check_precision,
    check_square,
)
from tiny_torch.functions.public import function_and_method
from tiny_torch.ops.linalg.factor import (
    LinalgCholeskyEx,
    LinalgEigh,
    LinalgQr,
    LinalgSvd,
)
from tiny_torch.ops.linalg.matrices import LinalgEig
from tiny_torch.tensor import Tensor


@as_one
def cholesky(input: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """The lower triangular L with L L^T = input, of symmetric positive definite matrices.

    Raises LinAlgError where one is not positive definite.
    https://pytorch.org/docs/stable/generated/torch.linalg.cholesky.html

    >>> import tiny_torch as torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    check_input("linalg.cholesky", "input", input)
    return into_same(out, apply(LinalgCholeskyEx, input, bool(upper)))


@function_and_method("cholesky")
def old_cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """linalg.cholesky under its old name."""
    return cholesky(input, upper=upper, out=out)


@as_one
def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """A = Q R: Q with orthonormal columns, R upper triangular.

    (m, n) -> Q (m, k), R (k, n), where k is min(m, n) in mode "reduced", m in mode "complete"; in
    mode "r" Q is empty. https://pytorch.org/docs/stable/generated/torch.linalg.qr.html
    """
    check_matrix("linalg.qr", "linalg_qr", "A", A)
    check_floating("linalg.qr", A)
    check_precision("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    return name_results("linalg_qr", apply(LinalgQr, A, mode), out)


@function_and_method("qr")
def old_qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """linalg.qr in mode "reduced", or "complete" unless `some`.

    https://pytorch.org/docs/stable/generated/torch.qr.html
    """
    return name_results("qr", qr(input, "reduced" if some else "complete"), out)


@as_one
def eigh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """(eigenvalues, eigenvectors as columns) of symmetric matrices; values ascend.

    Only the lower (UPLO "L") or upper triangle is read. Raises LinAlgError where LAPACK finds none.
    https://pytorch.org/docs/stable/generated/torch.linalg.eigh.html
    """
    check_matrix("linalg.eigh", "linalg_eigh", "input", input)
    check_square("linalg.eigh", input)
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if not input.is_floating_point():
        raise not_implemented("linalg_eigh_cpu", input.dtype)
    check_precision("linalg.eigh", input)
    return name_results("linalg_eigh", apply(LinalgEigh, input, UPLO.upper()), out)


@as_one
def eigvalsh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """The eigenvalues of symmetric matrices, ascending.

    https://pytorch.org/docs/stable/generated/torch.linalg.eigvalsh.html
    """
    check_matrix("linalg.eigh", "linalg_eigvalsh", "input", input)
    return into_same(out, eigh(input, UPLO)[0])


@as_one
def eig(input: Tensor, *, out: Any = None) -> Any:
    """(eigenvalues, eigenvectors as columns) of square matrices whose eigenvalues are all real.

    The results are real tensors, where PyTorch's are complex ones without imaginary parts:
    there are no complex numbers here. Raises NotImplementedError where an eigenvalue is complex.
    https://pytorch.org/docs/stable/generated/torch.linalg.eig.html

    >>> import tiny_torch as torch
    >>> torch.linalg.eig(torch.tensor([[2.0, 0.0], [1.0, 3.0]])).eigenvalues.sort().values
    tensor([2., 3.])
    """
    check_matrix("linalg.eig", "linalg_eig", "input", input)
    check_square("linalg.eig", input)
    if not input.is_floating_point():
        raise RuntimeError(f"Unknown Complex ScalarType for {scalar_type(input.dtype)}")
    check_precision("linalg.eig", input)
    if not input.isfinite().all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    try:
        found = apply(LinalgEig, input)
    except ValueError:
        raise NotImplementedError(
            "[linalg.eig] is not implemented for matrices with complex eigenvalues"
        ) from None
    return name_results("linalg_eig", found, out)


@as_one
def eigvals(input: Tensor, *, out: Any = None) -> Tensor:
    """The eigenvalues of square matrices, if all are real; else NotImplementedError.

    https://pytorch.org/docs/stable/generated/torch.linalg.eigvals.html
    """
    check_matrix("linalg.eig", "linalg_eigvals", "input", input)
    return into_same(out, eig(input)[0])


def check_svd(A: Any, function: str, driver: str | None) -> None:
    check_matrix("linalg.svd", function, "A", A)
    if driver is not None:
        raise RuntimeError(
            f"torch.linalg.{function.removeprefix('linalg_')}: keyword argument `driver=` is only "
            "supported on CUDA inputs with cuSOLVER backend."
        )
    check_floating("linalg.svd", A)
    check_precision("linalg.svd", A)


@as_one
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None):
    """A = U diag(S) Vh with orthonormal U and Vh and descending S; (m, n) -> (m, m), (k), (n, n).

    Without `full_matrices` U is (m, k) and Vh (k, n), k = min(m, n). Raises LinAlgError where
    LAPACK finds none. https://pytorch.org/docs/stable/generated/torch.linalg.svd.html
    """
    check_svd(A, "linalg_svd", driver)
    return name_results("linalg_svd", apply(LinalgSvd, A, bool(full_matrices)), out)


@as_one
def svdvals(A: Tensor, *, driver: str | None = None, out: Any = None) -> Tensor:
    """The singular values, descending.

    https://pytorch.org/docs/stable/generated/torch.linalg.svdvals.html
    """
    check_svd(A, "linalg_svdvals", driver)
    return into_same(out, apply(LinalgSvd, A, False)[1])


@function_and_method("svd")
def old_svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """U, S, V with input = U diag(S) V^T; U and V are zeros unless `compute_uv`.

    https://pytorch.org/docs/stable/generated/torch.svd.html
    """
    if compute_uv:
        U, S, Vh = svd(input, not some)
        return name_results("svd", (U, S, Vh.mT), out)
    S = svdvals(input)
    *batch, m, n = input.shape
    return name_results(
        "svd", (input.new_zeros((*batch, m, m)), S, input.new_zeros((*batch, n, n)).mT), out
    )
