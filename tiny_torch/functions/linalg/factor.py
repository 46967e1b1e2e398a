"""Factorisations of matrices: Cholesky, QR, eigenvalues, singular values."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.dtypes import FLOATING, SINGLE_AND_DOUBLE, check_implemented, scalar_type
from tiny_torch.functions.common import check_dim_exists, into, into_same, name_results, standalone
from tiny_torch.functions.linalg.lapack import (
    WITHOUT_INVERSE,
    check_floating,
    check_input,
    check_matrix,
    check_precision,
    check_same_types,
    check_square,
    warn_of_old_name,
)
from tiny_torch.functions.public import function_and_method
from tiny_torch.ops.linalg.factor import (
    Geqrf,
    LinalgCholeskyEx,
    LinalgEigh,
    LinalgQr,
    LinalgSvd,
)
from tiny_torch.ops.linalg.lapack import check_broadcast, check_info
from tiny_torch.ops.linalg.matrices import LinalgEig
from tiny_torch.ops.linalg.triangular import CholeskySolve
from tiny_torch.tensor import Tensor

NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the "
    "leading minor of order {} is not positive-definite)."
)


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
    check_input("linalg.cholesky", input)
    L, info = apply(LinalgCholeskyEx, input, bool(upper))
    check_info("linalg.cholesky", info, NOT_POSITIVE)
    return into_same(out, L)


@as_one
def cholesky_ex(
    input: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None
) -> Any:
    """(L, info) of linalg.cholesky: info is int32, above 0 where a matrix is not positive definite.

    It is the order of the first leading minor that is not. Raises LinAlgError there if
    `check_errors`; else only the columns of L before it are of use.
    https://pytorch.org/docs/stable/generated/torch.linalg.cholesky_ex.html

    >>> import tiny_torch as torch
    >>> torch.linalg.cholesky_ex(torch.tensor([[[4.0]], [[-1.0]]])).info
    tensor([0, 1], dtype=torch.int32)
    """
    check_input("linalg.cholesky", input)
    results = apply(LinalgCholeskyEx, input, bool(upper))
    if check_errors:
        check_info("linalg.cholesky_ex", results[1], NOT_POSITIVE)
    return name_results("linalg_cholesky_ex", results, out)


@function_and_method("cholesky")
def old_cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """linalg.cholesky under its old name."""
    warn_of_old_name(
        "cholesky",
        "linalg.cholesky",
        "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
        "U = torch.cholesky(A, upper=True)\nshould be replaced with\n"
        "U = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all "
        "valid (symmetric positive definite) inputs.",
    )
    return cholesky(input, upper=upper, out=out)


@function_and_method
@as_one
def cholesky_solve(
    input: Tensor, input2: Tensor, upper: bool = False, *, out: Any = None
) -> Tensor:
    """X with L L^T X = input: X and input (*, n, k), L = input2 (*, n, n), or L^T if `upper`.

    Batches broadcast. Raises RuntimeError where shapes or dtypes do not fit.
    https://pytorch.org/docs/stable/generated/torch.cholesky_solve.html

    >>> import tiny_torch as torch
    >>> L = torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    >>> torch.cholesky_solve(torch.tensor([[6.0], [7.0]]), L)
    tensor([[1.],
            [1.]])
    """
    for name, x in (("b", input), ("u", input2)):
        if x.ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {x.ndim} dimensions instead"
            )
    check_same_types("", "b", input, "A", input2, ".")
    check_square("cholesky_solve", input2)
    if input.shape[-2] != input2.shape[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.shape[-1]} by "
            f"{input2.shape[-1]} but each b matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    check_broadcast(input.shape[:-2], input2.shape[:-2])
    check_implemented("cholesky_solve_cpu", input.dtype, SINGLE_AND_DOUBLE)
    return into(out, apply(CholeskySolve, input, input2, bool(upper)))


@function_and_method
@as_one
def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The inverse of L L^T, L = input (*, n, n), or L^T if `upper`.

    Raises LinAlgError where a number on the diagonal is 0.
    https://pytorch.org/docs/stable/generated/torch.cholesky_inverse.html

    >>> import tiny_torch as torch
    >>> torch.cholesky_inverse(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([[0.2500, 0.0000],
            [0.0000, 1.0000]])
    """
    check_matrix("cholesky_inverse", input)
    check_square("cholesky_inverse", input)
    check_implemented("cholesky_inverse_out_cpu", input.dtype, SINGLE_AND_DOUBLE)
    zeros = input.detach().diagonal(0, -2, -1) == 0
    order = zeros.int().argmax(-1) + 1 if zeros.shape[-1] else zeros.sum(-1)
    check_info("cholesky_inverse", order * zeros.any(-1), WITHOUT_INVERSE)
    eye = input.new_ones(input.shape[-1]).diag_embed()
    return into(out, apply(CholeskySolve, eye.expand(input.shape), input, bool(upper)))


@as_one
def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """A = Q R: Q with orthonormal columns, R upper triangular.

    (m, n) -> Q (m, k), R (k, n), where k is min(m, n) in mode "reduced", m in mode "complete"; in
    mode "r" Q is empty. https://pytorch.org/docs/stable/generated/torch.linalg.qr.html
    """
    check_matrix("linalg.qr", A)
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
    warn_of_old_name(
        "qr",
        "linalg.qr",
        "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
        "Q, R = torch.qr(A, some)\nshould be replaced with\n"
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')",
    )
    return name_results("qr", qr(input, "reduced" if some else "complete"), out)


@function_and_method
@as_one
def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """(a, tau) of a QR decomposition: R in the upper triangle of a, (*, m, n), Q as reflections.

    linalg.householder_product makes Q of them. It has no gradient.
    https://pytorch.org/docs/stable/generated/torch.geqrf.html

    >>> import tiny_torch as torch
    >>> A = torch.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> a, tau = torch.geqrf(A)
    >>> torch.allclose(torch.linalg.householder_product(a, tau) @ a.triu(), A)
    True
    """
    check_matrix("torch.geqrf", input, "input")
    check_implemented("geqrf_cpu", input.dtype, SINGLE_AND_DOUBLE)
    return name_results("geqrf", apply(Geqrf, input), out)


@as_one
def householder_product(input: Tensor, tau: Tensor, *, out: Any = None) -> Tensor:
    """The first n columns of H_1 H_2 ... H_k, H_i = I - tau_i v_i v_i^T: (*, m, n), (*, k).

    v_i is column i of input below the diagonal, after a 1 on it. Raises RuntimeError unless
    m >= n >= k, batches and dtypes are the same.
    https://pytorch.org/docs/stable/generated/torch.linalg.householder_product.html

    >>> import tiny_torch as torch
    >>> torch.linalg.householder_product(torch.zeros(2, 1), torch.tensor([2.0]))
    tensor([[-1.],
            [ 0.]])
    """
    name = "torch.linalg.householder_product"
    check_matrix(name, input, "input")
    m, n = input.shape[-2:]
    if m < n:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if tau.ndim and n < tau.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    check_dim_exists(tau, -1)
    if tau.ndim != input.ndim - 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {tau.ndim} and input.ndim is equal to {input.ndim}"
        )
    if tau.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.shape[:-1])}"
        )
    if tau.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {scalar_type(tau.dtype)} does not match input dtype "
            f"{scalar_type(input.dtype)}"
        )
    check_implemented("orgqr_cpu", input.dtype, SINGLE_AND_DOUBLE)
    eye = input.new_ones(m).diag_embed()[:n].expand((*input.shape[:-2], n, m))
    vectors = input.tril(-1) + eye.mT
    product = eye.contiguous()  # transposed, so that the result lies column after column
    for i in reversed(range(tau.shape[-1])):
        v = vectors[..., i : i + 1]
        product = product - (product @ v) @ (tau[..., i, None, None] * v).mT
    return into_same(out, standalone(product.mT))


@function_and_method
def orgqr(input: Tensor, input2: Tensor, *, out: Any = None) -> Tensor:
    """linalg.householder_product. https://pytorch.org/docs/stable/generated/torch.orgqr.html"""
    return householder_product(input, input2, out=out)


@as_one
def eigh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """(eigenvalues, eigenvectors as columns) of symmetric matrices; values ascend.

    Only the lower (UPLO "L") or upper triangle is read. Raises LinAlgError where LAPACK finds none.
    https://pytorch.org/docs/stable/generated/torch.linalg.eigh.html
    """
    check_matrix("linalg.eigh", input)
    check_square("linalg.eigh", input)
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_implemented("linalg_eigh_cpu", input.dtype, FLOATING)
    check_precision("linalg.eigh", input)
    return name_results("linalg_eigh", apply(LinalgEigh, input, UPLO.upper()), out)


@as_one
def eigvalsh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """The eigenvalues of symmetric matrices, ascending.

    https://pytorch.org/docs/stable/generated/torch.linalg.eigvalsh.html
    """
    check_matrix("linalg.eigh", input)
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
    check_matrix("linalg.eig", input)
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
    check_matrix("linalg.eig", input)
    return into_same(out, eig(input)[0])


def check_svd(A: Any, function: str, driver: str | None) -> None:
    check_matrix("linalg.svd", A)
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
