"""Parametrizations that are ready: orthogonal matrices, weight norm, spectral norm."""

from __future__ import annotations

from typing import Any

import numpy as np

import tiny_torch as torch
from tiny_torch.autograd import no_grad
from tiny_torch.functions.linalg.lapack import check_precision
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules import Module
from tiny_torch.nn.utils.parametrize import register_parametrization
from tiny_torch.nn.utils.spectral_norm import as_matrix, check_iterations, default_dim
from tiny_torch.nn.utils.weight_norm import norm_except_dim, weight_of
from tiny_torch.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """A matrix of any values made orthogonal: its columns, or rows if these are fewer.

    With `base` (trivialization) the result is base @ Q, where Q is the identity at the beginning.
    """

    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool) -> None:
        super().__init__()
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Any) -> Any:
        transposed = x.shape[-2] < x.shape[-1]
        if transposed:
            x = x.mT
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            q = _reflections(x.tril(-1))
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            x = x.tril()
            if n != k:
                x = torch.cat([x, x.new_zeros(*x.shape[:-2], n, n - k)], dim=-1)
            skew = x - x.mT
            if self.orthogonal_map == "matrix_exp":
                q = torch.linalg.matrix_exp(skew)
            else:
                eye = torch.eye(n, dtype=skew.dtype, device=skew.device)
                q = torch.linalg.solve(
                    torch.add(eye, skew, alpha=-0.5), torch.add(eye, skew, alpha=0.5)
                )
            q = q[..., :k]
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if transposed else q

    @no_grad()
    def right_inverse(self, q: Any) -> Any:
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {q.shape}."
            )
        given = q
        transposed = q.shape[-2] < q.shape[-1]
        if transposed:
            q = q.mT
        n, k = q.shape[-2:]
        if hasattr(self, "base"):
            if n != k:  # completed by columns at right angles to what is there
                more = torch.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
                q = torch.cat([q, more], dim=-1)
            self.base = q.clone() if n == k and _is_orthogonal(q) else _made_orthogonal(q)
            minus_eye = torch.zeros_like(given)
            minus_eye.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return minus_eye
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        check_precision("orthogonal", q)
        packed, factors = np.linalg.qr(q.numpy(), mode="raw")  # LAPACK's reflections
        a, tau = torch.from_numpy(packed).mT.clone(), torch.from_numpy(factors)
        diagonal = a.diagonal(dim1=-2, dim2=-1)
        diagonal.copy_(diagonal.sign() * torch.where(tau == 0, -1, 1))
        return a.mT if transposed else a


def _reflections(a: Any) -> Any:
    """The product of the reflections whose vectors are a's columns below a diagonal of ones.

    H_1 ... H_k = I - V T V^T, where the inverse of T is the upper triangle of V^T V with 1 / tau on
    its diagonal: the compact WY form of Schreiber and Van Loan.
    """
    n, k = a.shape[-2:]
    v = a + torch.eye(n, k, dtype=a.dtype, device=a.device)
    tau = 2.0 / (1.0 + (a * a).sum(dim=-2))
    inverse = (v.mT @ v).triu(1) + torch.diag_embed(1 / tau)
    eye = torch.eye(n, k, dtype=a.dtype, device=a.device)
    return eye - v @ torch.linalg.solve(inverse, v[..., :k, :].mT)


def _is_orthogonal(q: Any) -> bool:
    n, k = q.shape[-2:]
    eye = torch.eye(k, dtype=q.dtype, device=q.device)
    return torch.allclose(q.mT @ q, eye, atol=10.0 * n * torch.finfo(q.dtype).eps)


def _made_orthogonal(a: Any) -> Any:
    q, r = torch.linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a weight (or batch of them) orthogonal while it is trained; returns `module`.

    `orthogonal_map` is how it is computed from a free matrix: "matrix_exp" (by default for square
    ones), "cayley" or "householder". Without `use_trivialization` only the last can be assigned.

    Raises ValueError where there is no such tensor, for one with fewer than two dims and for an
    unknown map. Source: PyTorch, torch.nn.utils.parametrizations.orthogonal; Lezcano-Casado 2019,
    "Trivializations for Gradient-Based Optimization on Manifolds", arXiv 1909.09501.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 2))
    >>> w = layer.weight
    >>> torch.allclose(w @ w.t(), torch.eye(2), atol=1e-6)
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, dim=self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train a weight's lengths along `dim` (None: one length) and its directions apart.

    They are `parametrizations.weight.original0` and `original1`; state dicts with the names of
    `torch.nn.utils.weight_norm` can be loaded. Returns `module`.
    Source: PyTorch, torch.nn.utils.parametrizations.weight_norm; Salimans and Kingma 2016, arXiv
    1602.07868.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 2))
    >>> [tuple(p.shape) for p in layer.parametrizations.weight.parameters()]
    [(2, 1), (2, 4)]
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(_module: Module, state_dict: Any, prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{name}{suffix}" for suffix in ("_g", "_v")]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{i}"
                state_dict[new] = state_dict.pop(key)

    module.register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    _u: Any
    _v: Any

    def __init__(
        self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{ndim}, {ndim - 1}] but got {dim})"
            )
        check_iterations(n_power_iterations)
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            u = matrix.new_empty(matrix.shape[0]).normal_(0, 1)
            v = matrix.new_empty(matrix.shape[1]).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    @no_grad()
    def _power_method(self, matrix: Any, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(torch.mv(matrix.t(), self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # backward of an earlier forward needs the old ones
        return weight / torch.dot(u, torch.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value, seen as a matrix with rows along `dim`.

    `dim` is 0 by default, 1 for transposed convolutions. Each forward in training makes
    `n_power_iterations` steps of the power iteration that finds the value. Returns `module`.

    Raises ValueError where there is no such tensor and for a number of iterations below 1,
    IndexError for a dim that it does not have.
    Source: PyTorch, torch.nn.utils.parametrizations.spectral_norm; Miyato et al. 2018, arXiv
    1802.05957.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(4, 3), eps=1e-12)
    >>> bool(torch.linalg.matrix_norm(layer.weight, 2) < 1.1)
    True
    """
    weight = _tensor_of(module, name)
    dim = default_dim(module) if dim is None else dim
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, made)


def _tensor_of(module: Module, name: str) -> Any:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight
