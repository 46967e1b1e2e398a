"""Cases of linear algebra: calls that give tensors (CALLS), and calls that are or may be wrong."""

from __future__ import annotations

import itertools
import math
from typing import Any

INF = math.inf


def spd(A):
    """Symmetric and positive definite, of any A."""
    return A @ A.mT + A.new_ones(A.shape[-1]).diag_embed()


def triangle(A, upper):
    """Triangular, with a diagonal that is not small."""
    A = A + A.new_ones(A.shape[-1]).diag_embed() * 2
    return A.triu() if upper else A.tril()


def symmetric(A):
    return A + A.mT


def gauged(U, *others):
    """Columns of U scaled by the sign of their first element; rows of `others` with them."""
    sign = U[..., :1, :].detach().sign()
    return [U * sign, *[x * sign.mT for x in others]]


def svd_of(m, A, full=False):
    U, S, Vh = m.linalg.svd(A, full_matrices=full)
    k = S.shape[-1]
    U, Vh = gauged(U[..., :k], Vh[..., :k, :])
    return U, S, Vh


def eigh_of(m, A, **options):
    values, vectors = m.linalg.eigh(A, **options)
    return values, *gauged(vectors)


def eig_of(m, A):
    """Of matrices that are similar to symmetric ones: the values ascend."""
    values, vectors = m.linalg.eig(spd(A) * (m.arange(A.shape[-1]) + 1).to(A.dtype))
    if m.__name__ == "torch":
        values, vectors = values.real.add(0), vectors.real
    values, order = values.sort(-1)
    return values, *gauged(m.take_along_dim(vectors, order.unsqueeze(-2), -1))


SQUARE = [[(3, 3)], [(1, 1)], [(2, 3, 3)], [(2, 1, 4, 4)], [(0, 0)], [(2, 0, 0)], [(0, 3, 3)]]
ANY = [*SQUARE, [(5, 3)], [(3, 5)], [(2, 4, 3)], [(2, 3, 4)], [(3, 0)], [(0, 3)]]
MATRIX = [[(3, 4)], [(2, 3, 4)], [(4, 3)], [(0, 3, 4)]]
SYSTEMS = [
    [(3, 3), (3, 2)], [(3, 3), (3,)], [(2, 3, 3), (2, 3, 2)], [(2, 3, 3), (2, 3)],
    [(2, 3, 3), (3, 2)], [(3, 3), (2, 3, 2)], [(2, 1, 3, 3), (4, 3, 2)], [(0, 0), (0, 2)],
    [(3, 3), (3, 0)],
]  # fmt: skip
TALL = [[(4, 3), (4, 2)], [(2, 4, 3), (2, 4, 2)], [(4, 3), (4,)], [(3, 3), (3, 2)],
        [(3, 4), (3, 2)], [(2, 3, 4), (2, 3)], [(2, 4, 3), (4, 2)],
        [(1, 4, 3), (2, 4, 2)], [(2, 4, 3), (1, 4, 2)]]  # fmt: skip

# name: (function of module and tensors, shapes of the tensors)
CALLS: dict[str, Any] = {
    "cholesky": (lambda m, A: m.linalg.cholesky(spd(A)), SQUARE),
    "cholesky upper": (lambda m, A: m.linalg.cholesky(spd(A), upper=True), SQUARE),
    "cholesky of one triangle": (lambda m, A: m.linalg.cholesky(spd(A).tril()), SQUARE[:3]),
    "torch.cholesky": (lambda m, A: m.cholesky(spd(A), True), SQUARE[:3]),
    "inv": (lambda m, A: m.linalg.inv(spd(A)), SQUARE),
    "inverse": (lambda m, A: spd(A).inverse(), SQUARE),
    "det": (lambda m, A: m.linalg.det(A), SQUARE),
    "slogdet": (lambda m, A: m.linalg.slogdet(A), SQUARE),
    "slogdet of NaN": (lambda m, A: m.linalg.slogdet(A.detach() * math.nan), SQUARE[:3]),
    "torch.det": (lambda m, A: (m.det(A), A.det()), SQUARE[:3]),
    "torch.slogdet": (lambda m, A: (*m.slogdet(A), *A.slogdet()), SQUARE[:3]),
    "logdet": (lambda m, A: (m.logdet(A), spd(A).logdet()), SQUARE),
    "solve": (lambda m, A, B: m.linalg.solve(spd(A), B), SYSTEMS),
    "solve right": (
        lambda m, A, B: m.linalg.solve(spd(A), B.mT, left=False),
        [s for s in SYSTEMS if len(s[1]) > 1 and s != SYSTEMS[3]],
    ),
    **{
        f"solve_triangular {upper} {left} {unit}": (
            lambda m, A, B, u=upper, left=left, unit=unit: m.linalg.solve_triangular(
                spd(A), B if left else B.mT, upper=u, left=left, unitriangular=unit
            ),
            [s for s in SYSTEMS if len(s[1]) > 1 and s != SYSTEMS[3]],
        )
        for upper, left, unit in itertools.product((True, False), repeat=3)
    },
    "cholesky_ex": (lambda m, A: m.linalg.cholesky_ex(spd(A)), SQUARE),
    "cholesky_ex upper": (lambda m, A: m.linalg.cholesky_ex(spd(A), upper=True), SQUARE[:3]),
    "cholesky_ex fails": (
        lambda m, A: m.linalg.cholesky_ex(m.stack([A * 0, spd(A), symmetric(A)])).info, SQUARE
    ),
    "inv_ex": (lambda m, A: m.linalg.inv_ex(spd(A)), SQUARE),
    "inv_ex fails": (lambda m, A: m.linalg.inv_ex(m.stack([spd(A), A * 0, spd(A)])).info, SQUARE),
    "solve_ex": (lambda m, A, B: m.linalg.solve_ex(spd(A), B), SYSTEMS),
    "solve_ex right": (
        lambda m, A, B: m.linalg.solve_ex(spd(A), B.mT, left=False, check_errors=True),
        [SYSTEMS[0], *SYSTEMS[4:]],
    ),
    "solve_ex fails": (
        lambda m, A, B: [
            m.linalg.solve_ex(x, B, left=left).info
            for x in (A * 0, spd(A))
            for left in (True, False)
        ],
        [[(3, 3), (3, 3)], [(2, 3, 3), (3, 3)], [(3, 3), (2, 3, 3)], [(2, 1, 3, 3), (4, 3, 3)]],
    ),
    **{
        f"{name} {upper}": (call, shapes)
        for upper in (False, True)
        for name, call, shapes in (
            (
                "cholesky_solve",
                lambda m, A, B, u=upper: m.cholesky_solve(B, triangle(A, u), upper=u),
                [s for s in SYSTEMS if len(s[1]) > 1 and s != SYSTEMS[3]],
            ),
            (
                "cholesky_inverse",
                lambda m, A, u=upper: triangle(A, u).cholesky_inverse(u),
                SQUARE,
            ),
            (
                "cholesky_solve of a whole matrix",
                lambda m, A, B, u=upper: m.cholesky_solve(B, spd(A), upper=u),
                [[(3, 3), (3, 2)], [(2, 3, 3), (3, 1)], [(2, 1, 3, 3), (4, 3, 2)]],
            ),
        )
    },
    "lu": (lambda m, A: m.linalg.lu(A), ANY),
    "lu_factor": (lambda m, A: m.linalg.lu_factor(A), ANY),
    "lu_factor_ex": (lambda m, A: m.linalg.lu_factor_ex(A), [*ANY, [(2, 70, 70)], [(40, 70)]]),
    "lu_factor_ex of singular": (
        lambda m, A: m.linalg.lu_factor_ex(m.stack([A * 0, A, A * 0 + 2])), ANY
    ),
    "torch.lu": (lambda m, A: (*m.lu(A), *A.lu(get_infos=True), *m.lu(A, get_infos=True)), ANY[:3]),
    "lu_unpack": (lambda m, A: m.lu_unpack(*m.linalg.lu_factor(A)), ANY),
    "lu_unpack data": (
        lambda m, A: m.lu_unpack(*m.linalg.lu_factor(A), unpack_pivots=False), ANY[:3]
    ),
    "lu_unpack pivots": (
        lambda m, A: m.lu_unpack(*m.linalg.lu_factor(A.detach()), False), ANY[:3]
    ),
    **{
        f"lu_solve {left} {adjoint}": (
            lambda m, A, B, left=left, adjoint=adjoint: m.linalg.lu_solve(
                *m.linalg.lu_factor(A), B if left else B.mT, left=left, adjoint=adjoint
            ),
            [s for s in SYSTEMS if len(s[1]) > 1 and s != SYSTEMS[3]],
        )
        for left, adjoint in itertools.product((True, False), repeat=2)
    },
    "torch.lu_solve": (
        lambda m, A, B: (m.lu_solve(B, *m.lu(A)), B.lu_solve(*A.lu())), SYSTEMS[:1]
    ),
    "geqrf": (lambda m, A: (*m.geqrf(A.detach()), A.detach().geqrf().tau), ANY),
    "householder_product": (
        lambda m, A, tau: (m.linalg.householder_product(A, tau), A.orgqr(tau)),
        [[(4, 3), (3,)], [(4, 3), (2,)], [(3, 3), (3,)], [(2, 4, 3), (2, 2)], [(4, 3), (0,)],
         [(0, 0), (0,)], [(4, 0), (0,)], [(0, 4, 3), (0, 3)]],
    ),
    "tensorinv": (
        lambda m, A: m.linalg.tensorinv(A, ind=len(A.shape) // 3 + 1),
        [[(6, 2, 3)], [(4, 6, 8, 3, 1)], [(3, 3)], [(0, 2, 0)]],
    ),
    "tensorsolve": (
        lambda m, A, B: m.linalg.tensorsolve(A, B),
        [[(6, 2, 3), (6,)], [(2, 3, 6), (2, 3)], [(0, 2, 0), (0, 2)]],
    ),
    "tensorsolve dims": (
        lambda m, A, B: m.linalg.tensorsolve(A, B, dims=(0, 2)), [[(2, 6, 3), (6,)]]
    ),
    "linalg.vander": (
        lambda m, x: (m.linalg.vander(x), m.linalg.vander(x, N=5)), [[(3,)], [(2, 4)], [(0, 2)]]
    ),
    "linalg.vander of a number": (lambda m, x: m.linalg.vander(x, N=3), [[()], [(2, 0)]]),
    "qr": (lambda m, A: m.linalg.qr(A), ANY),
    "qr complete": (lambda m, A: m.linalg.qr(A, mode="complete"), ANY),
    "qr r": (lambda m, A: m.linalg.qr(A, mode="r"), ANY),
    "torch.qr": (lambda m, A: (*m.qr(A), *A.qr(some=True)), ANY[:9]),
    "svd reduced": (svd_of, ANY[:11]),
    "svd full": (lambda m, A: svd_of(m, A, True), ANY[:11]),
    "svdvals": (lambda m, A: m.linalg.svdvals(A), ANY),
    "torch.svd": (lambda m, A: [A.svd()[1], m.svd(A)[1]], ANY),
    "torch.svd values": (lambda m, A: m.svd(A, compute_uv=False), ANY),
    "eig": (eig_of, SQUARE),
    "eigh": (lambda m, A: eigh_of(m, symmetric(A)), SQUARE),
    "eigh upper": (lambda m, A: eigh_of(m, symmetric(A), UPLO="U"), SQUARE),
    "eigh of one triangle": (eigh_of, SQUARE[:4]),
    "eigvalsh of one triangle": (lambda m, A: m.linalg.eigvalsh(A, "U"), SQUARE[:4]),
    "eigvalsh": (lambda m, A: m.linalg.eigvalsh(symmetric(A)), SQUARE),
    "pinv": (lambda m, A: m.linalg.pinv(A), ANY),
    "pinv hermitian": (lambda m, A: m.linalg.pinv(symmetric(A), hermitian=True), SQUARE),
    "pinv rtol": (lambda m, A: m.linalg.pinv(A, rtol=0.3), ANY[:11]),
    "pinv atol": (lambda m, A: m.linalg.pinv(A, atol=0.5, rtol=0.1), ANY[:11]),
    "pinv rcond": (lambda m, A: m.linalg.pinv(A, 0.3), ANY[:11]),
    "pinverse": (lambda m, A: A.pinverse(), ANY[:3]),
    "lstsq": (lambda m, A, B: m.linalg.lstsq(A, B), TALL),
    "matrix_exp": (lambda m, A: m.linalg.matrix_exp(A), SQUARE),
    # PyTorch's second gradient loses digits where the gradient is larger than the matrix.
    "matrix_exp large": (lambda m, A: (A * 2).matrix_exp() / 1000, SQUARE),
    "matrix_exp beside NaN": (
        lambda m, A: m.stack([A.detach() * x for x in (math.nan, 0.1, 9)]).matrix_exp(), SQUARE[:4],
    ),
    **{
        f"matrix_power {n}": (lambda m, A, n=n: m.linalg.matrix_power(spd(A), n), SQUARE)
        for n in (0, 1, 2, 3, 5, -1, -2)
    },
    "Tensor.matrix_power": (lambda m, A: A.matrix_power(3), SQUARE[:3]),
    **{
        f"cond {p}": (lambda m, A, p=p: m.linalg.cond(A, p), SQUARE)
        for p in (None, 1, -1, 2, -2, INF, -INF, "fro", "nuc")
    },
    "cond of any": (lambda m, A: m.linalg.cond(A), ANY),
    "matrix_rank": (lambda m, A: m.linalg.matrix_rank(A), ANY),
    "matrix_rank tol": (lambda m, A: m.linalg.matrix_rank(A, 0.9), ANY),
    "matrix_rank rtol": (lambda m, A: m.linalg.matrix_rank(A, atol=0.2, rtol=0.5), ANY),
    "matrix_rank hermitian": (lambda m, A: m.linalg.matrix_rank(spd(A), hermitian=True), SQUARE),
    "multi_dot": (
        lambda m, *x: m.linalg.multi_dot(x),
        [[(2, 3), (3, 4)], [(2, 3), (3, 4), (4, 5)], [(3,), (3, 4), (4, 2), (2,)], [(3,), (3,)],
         [(10, 2), (2, 10), (10, 3), (3, 4)], [(2, 0), (0, 3)]],
    ),
    "vecdot": (
        lambda m, x, y: m.linalg.vecdot(x, y),
        [[(3,), (3,)], [(2, 3), (3,)], [(2, 1, 3), (4, 3)], [(0,), (0,)]],
    ),
    "vecdot dim": (lambda m, x, y: m.linalg.vecdot(x, y, dim=0), [[(3, 2), (3, 2)]]),
    "cross": (
        lambda m, x, y: m.linalg.cross(x, y),
        [[(3,), (3,)], [(2, 3), (2, 3)], [(2, 1, 3), (1, 4, 3)]],
    ),
    "linalg.diagonal": (lambda m, A: m.linalg.diagonal(A, offset=1), MATRIX),
    "matmul": (lambda m, A, B: m.linalg.matmul(A, B), [[(2, 3), (3, 4)]]),
    "kron": (
        lambda m, A, B: m.kron(A, B),
        [[(2, 3), (4, 5)], [(2,), (3,)], [(2, 3), (4,)], [(2,), (3, 4, 2)], [(), (2, 3)], [(), ()]],
    ),
    "trace": (lambda m, A: (m.trace(A), A.trace()), [[(3, 3)], [(2, 4)], [(0, 3)]]),
    "mT": (lambda m, A: (A.mT, A.mH), MATRIX),
    "H": (lambda m, A: A.H, [[(2, 3)], [()]]),
    **{
        f"vector_norm {p} {dim}": (
            lambda m, x, p=p, dim=dim: m.linalg.vector_norm(x, p, dim=dim),
            [[(3, 4)], [(2, 3, 4)]],
        )
        for p in (2, 1, 0, INF, -INF, 3, -1, 0.5, 1.5, 2.5)
        for dim in (None, 1, (0, -1), ())
    },
    "vector_norm kept": (lambda m, x: m.linalg.vector_norm(x, 3, (0,), True), [[(3, 4)], [()]]),
    "vector_norm of empty": (lambda m, x: m.linalg.vector_norm(x, 1, 0), [[(0, 4)], [(3, 0)]]),
    **{
        f"matrix_norm {p} {dim}": (
            lambda m, x, p=p, dim=dim: m.linalg.matrix_norm(x, p, dim, keepdim=dim[0] == 0),
            [[(2, 3, 4)], [(0, 3, 4)], [(2, 5, 3, 4)]],
        )
        for p in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)
        for dim in ((-2, -1), (0, 2), (1, 0))
    },
    **{
        f"linalg.norm {p} {dim}": (
            lambda m, x, p=p, dim=dim: m.linalg.norm(x, p, dim),
            [[(4,)], [(3, 4)], [(2, 3, 4)], [()]],
        )
        for p in (None, "fro", "nuc", 1, 2, 0, INF, 3, "x")
        for dim in (None, 0, (0, 1), (0, 1, 2))
    },
    **{
        f"torch.norm {p} {dim}": (
            lambda m, x, p=p, dim=dim: [m.norm(x, p, dim), x.norm(p, dim, True)],
            [[(4,)], [(3, 4)], [(2, 3, 4)], [()]],
        )
        for p in (None, "fro", "nuc", 1, 2, 0, INF, 3, "x", True)
        for dim in (None, 0, (0, 1), (0, 1, 2))
    },
    **{
        f"dist {p}": (
            lambda m, x, y, p=p: m.dist(x, y, p),
            [[(4,), (4,)], [(3, 4), (4,)], [(), ()]],
        )
        for p in (2, 1, 0, INF, 1.5)
    },
    **{
        f"renorm {p} {dim}": (
            lambda m, x, p=p, dim=dim: (m.renorm(x, p, dim, 1.5), x.clone().renorm_(p, dim, 1.5)),
            [[(3, 4)], [(2, 3, 4)]],
        )
        for p in (1, 2, INF)
        for dim in (0, -1)
    },
    **{
        f"cdist {p}": (
            lambda m, x, y, p=p: m.cdist(x, y, p),
            [[(3, 4), (5, 4)], [(2, 3, 4), (2, 5, 4)], [(3, 1, 2, 4), (5, 2, 4)], [(3, 0), (2, 0)],
             [(0, 3), (2, 3)], [(1, 1), (1, 1)]],
        )
        for p in (2.0, 1.0, 0.0, INF, 3.0, 0.5, 1.5)
    },
    "cdist by mm": (lambda m, x, y: m.cdist(x, y), [[(30, 4), (5, 4)], [(2, 3, 4), (30, 4)]]),
    "cdist modes": (
        lambda m, x, y: [
            m.cdist(x, y, compute_mode="use_mm_for_euclid_dist"),
            m.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist"),
        ],
        [[(3, 4), (5, 4)]],
    ),
    "cov": (lambda m, x: (m.cov(x), x.cov(correction=0)), [[(3, 5)], [(5,)], [(1, 4)], [(2, 1)]]),
    "cov weights": (
        lambda m, x: m.cov(x, fweights=m.tensor([1, 2, 3]), aweights=m.tensor([0.5, 1, 2]).to(x)),
        [[(2, 3)], [(3,)]],
    ),
    "corrcoef": (lambda m, x: (m.corrcoef(x), x.corrcoef()), [[(3, 5)], [(5,)]]),
    "vander": (
        lambda m, x: (m.vander(x), m.vander(x, 4, True), m.vander(x, 1), m.vander(x, 0)),
        [[(3,)], [(1,)], [(0,)]],
    ),
    "block_diag": (
        lambda m, *x: m.block_diag(*x),
        [[(2, 3), (), (2,)], [(0,), (2, 2)], [], [(3, 3)], [(2, 0), (1, 2)]],
    ),
    "cartesian_prod": (
        lambda m, *x: m.cartesian_prod(*x),
        [[(2,)], [(2,), (3,)], [(2,), (3,), (4,)], [(0,), (3,)]],
    ),
    **{
        f"combinations {r} {again}": (
            lambda m, x, r=r, again=again: m.combinations(x, r, again),
            [[(4,)], [(0,)], [(1,)]],
        )
        for r in (0, 1, 2, 3, 5)
        for again in (False, True)
    },
}  # fmt: skip


def f(m, *shape):
    return (
        m.ones(*shape) * 0.5 + m.ones(shape[-1]).diag_embed() if len(shape) > 1 else m.ones(*shape)
    )


WRONG = [
    lambda m: m.linalg.inv_ex(m.zeros(2, 2), check_errors=True),
    lambda m: m.linalg.inv_ex(f(m, 3, 3), out=(m.zeros(3, 3), m.zeros(()))),
    lambda m: m.linalg.inv_ex(f(m, 3, 3), out=(m.zeros(3, 3), m.zeros((), dtype=m.int32))),
    lambda m: m.linalg.solve_ex(m.zeros(2, 2, 2), m.ones(2), check_errors=True),
    lambda m: m.linalg.solve_ex(f(m, 3, 3), m.ones(3), left=False),
    lambda m: m.linalg.solve_ex(f(m, 3, 3).half(), m.ones(3).half()),
    lambda m: m.linalg.cholesky_ex(-f(m, 3, 3), check_errors=True),
    lambda m: m.linalg.cholesky_ex(m.tensor([[4.0, 2, 1], [2, -5, 3], [1, 3, 7]])),
    lambda m: m.linalg.cholesky_ex(m.tensor([[4.0, 2, 1], [2, -5, 3], [1, 3, 7]]), upper=True),
    lambda m: m.cholesky_solve(m.ones(2), f(m, 2, 2)),
    lambda m: m.cholesky_solve(m.ones(2, 1), m.ones(2)),
    lambda m: m.cholesky_solve(m.ones(3, 1), f(m, 2, 2)),
    lambda m: m.cholesky_solve(m.ones(2, 1), m.ones(2, 3)),
    lambda m: m.cholesky_solve(m.ones(2, 1), f(m, 2, 2).double()),
    lambda m: m.cholesky_solve(m.ones(2, 1).long(), m.ones(2, 2).long()),
    lambda m: m.cholesky_solve(m.ones(3, 2, 1), m.ones(2, 2, 2)),
    lambda m: m.cholesky_solve(m.ones(2, 1), 2),
    lambda m: m.cholesky_solve(m.ones(2, 1), 2 * m.eye(2), out=m.zeros(2, 1).double()),
    lambda m: m.cholesky_inverse(m.ones(2)),
    lambda m: m.cholesky_inverse(m.ones(2, 3)),
    lambda m: m.cholesky_inverse(m.ones(2, 2).half()),
    lambda m: m.cholesky_inverse(m.stack([f(m, 2, 2), m.zeros(2, 2)])),
    lambda m: m.linalg.lu_factor(m.ones(2, 2)),
    lambda m: m.linalg.lu_factor(m.zeros(2, 3, 2)),
    lambda m: m.linalg.lu_factor_ex(m.zeros(2, 3), check_errors=True),
    lambda m: m.linalg.lu_factor(f(m, 2, 2), pivot=False),
    lambda m: m.linalg.lu(f(m, 2, 2), pivot=False),
    lambda m: m.linalg.lu(m.ones(2)),
    lambda m: m.linalg.lu(m.ones(2, 2).long()),
    lambda m: m.linalg.lu(m.full((2, 2), math.nan)),
    lambda m: m.lu(m.ones(2, 2)),
    lambda m: m.lu(f(m, 2, 2), get_infos=True, out=(m.ones(2, 2), m.ones(2).int())),
    lambda m: m.lu_unpack(f(m, 2, 2), m.tensor([1, 2])),
    lambda m: m.lu_unpack(f(m, 2, 2), m.tensor([1, 2]).int() + 1),
    lambda m: m.lu_unpack(f(m, 2, 2), m.tensor([1, 2]).int() - 1),
    lambda m: m.lu_unpack(m.ones(2), m.tensor([1, 2]).int()),
    lambda m: m.lu_unpack(m.arange(6).view(2, 3), m.tensor([2, 2]).int()),
    lambda m: m.linalg.lu_solve(f(m, 2, 2), m.tensor([1, 2]).int(), m.ones(2)),
    lambda m: m.linalg.lu_solve(f(m, 2, 2), m.tensor([1, 2]), m.ones(2, 1)),
    lambda m: m.linalg.lu_solve(f(m, 2, 2), m.tensor([1]).int(), m.ones(2, 1)),
    lambda m: m.linalg.lu_solve(f(m, 2, 2), m.tensor([1, 3]).int(), m.ones(2, 1)),
    lambda m: m.linalg.lu_solve(f(m, 2, 2), m.tensor([0, 2]).int(), m.ones(2, 1)),
    lambda m: m.linalg.lu_solve(f(m, 2, 2), m.tensor([1, 2]).int(), m.ones(3, 1), left=False),
    lambda m: m.linalg.lu_solve(f(m, 2, 2), m.tensor([1, 2]).int(), m.ones(2, 1).double()),
    lambda m: m.linalg.lu_solve(f(m, 3, 2, 2), m.tensor([1, 2]).int(), m.ones(2, 1)),
    lambda m: m.linalg.lu_solve(m.ones(2, 3), m.tensor([1, 2]).int(), m.ones(2, 1)),
    lambda m: m.linalg.lu_solve(m.zeros(2, 2), m.tensor([1, 2]).int(), m.ones(2, 1)),
    lambda m: m.linalg.tensorinv(m.ones(2, 2), ind=0),
    lambda m: m.linalg.tensorinv(m.ones(2, 2), ind=3),
    lambda m: m.linalg.tensorinv(m.ones(2, 2), ind=1.5),
    lambda m: m.linalg.tensorinv(m.ones(2, 2), ind=1),
    lambda m: m.linalg.tensorinv(m.ones(2, 3), ind=1),
    lambda m: m.linalg.tensorsolve(m.ones(2, 2), m.ones(3)),
    lambda m: m.linalg.tensorsolve(m.ones(2, 2), m.ones(2)),
    lambda m: m.linalg.tensorsolve(f(m, 2, 2), m.ones(2), dims=(5,)),
    lambda m: m.linalg.tensorsolve(f(m, 2, 2), m.ones(2), dims=1),
    lambda m: m.linalg.vander(m.ones(2), N=1),
    lambda m: m.linalg.vander(m.ones(2), N=2.5),
    lambda m: m.linalg.vander(m.ones(2) > 0),
    lambda m: m.linalg.vander(m.ones(2).half()),
    lambda m: m.linalg.vander(m.tensor([2, 3]).byte(), N=12),
    lambda m: m.geqrf(m.ones(2)),
    lambda m: m.geqrf(m.ones(2, 2).half()),
    lambda m: m.geqrf(f(m, 2, 2).requires_grad_()).a.sum().backward(),
    lambda m: m.linalg.householder_product(m.ones(2), m.ones(1)),
    lambda m: m.linalg.householder_product(m.ones(2, 3), m.ones(1)),
    lambda m: m.linalg.householder_product(m.ones(3, 2), m.ones(3)),
    lambda m: m.linalg.householder_product(m.ones(3, 2), m.ones(())),
    lambda m: m.linalg.householder_product(m.ones(3, 2), m.ones(2).double()),
    lambda m: m.linalg.householder_product(m.ones(2, 3, 2), m.ones(2)),
    lambda m: m.linalg.householder_product(m.ones(2, 3, 2), m.ones(3, 2)),
    lambda m: m.linalg.householder_product(m.ones(3, 2).long(), m.ones(2).long()),
    lambda m: m.linalg.solve(m.zeros(3, 3), m.ones(3)),
    lambda m: m.linalg.solve(m.zeros(2, 3, 3), m.ones(2, 3, 1)),
    lambda m: m.linalg.solve(f(m, 3, 3).double(), m.ones(3)),
    lambda m: m.linalg.solve(f(m, 3, 3), m.ones(4)),
    lambda m: m.linalg.solve(m.ones(3, 4), m.ones(4)),
    lambda m: m.linalg.solve(m.ones(2, 3, 3), m.ones(3, 3, 1)),
    lambda m: m.linalg.solve(f(m, 3, 3), m.ones(())),
    lambda m: m.linalg.solve(f(m, 3, 3), m.ones(3), left=False),
    lambda m: m.linalg.solve(f(m, 3, 3), 2.0),
    lambda m: m.linalg.solve(m.ones(3, 3).long(), m.ones(3).long()),
    lambda m: m.linalg.solve_triangular(m.zeros(3, 3), m.ones(3, 1), upper=True),
    lambda m: m.linalg.solve_triangular(m.ones(3, 3), m.ones(3), upper=True),
    lambda m: m.linalg.solve_triangular(m.ones(3, 3), m.ones(4, 3), upper=True),
    lambda m: m.linalg.solve_triangular(m.ones(3, 3), m.ones(3, 1)),
    lambda m: m.linalg.solve_triangular(m.ones(3, 4), m.ones(3, 1), upper=True),
    lambda m: m.linalg.qr(f(m, 3, 3), mode="x"),
    lambda m: m.linalg.eigh(f(m, 3, 3), UPLO="x"),
    lambda m: m.linalg.eigh(f(m, 3, 3), UPLO="u")[0],
    lambda m: m.linalg.lstsq(m.ones(4, 3), m.ones(5, 2)),
    lambda m: m.linalg.lstsq(m.ones(4, 3), m.ones(4, 2), driver="x"),
    lambda m: m.linalg.lstsq(m.ones(4, 3), m.ones(())),
    lambda m: m.linalg.lstsq(m.ones(4), m.ones(4)),
    lambda m: m.linalg.lstsq(m.ones(2, 4, 3), m.ones(3, 4, 3)),
    lambda m: m.linalg.lstsq(m.ones(2, 4, 3), m.ones(4)),
    lambda m: m.linalg.lstsq(m.ones(4, 3), m.ones(4, 2).double()),
    lambda m: m.linalg.lstsq(m.ones(4, 3), m.ones(4, 2), driver="gels"),
    lambda m: m.cdist(m.full((2, 3), INF), m.full((2, 3), math.nan), p=0),
    lambda m: m.linalg.svd(m.ones(3, 3), driver="gesvd"),
    lambda m: m.linalg.matrix_power(m.ones(3, 4), 2),
    lambda m: m.linalg.matrix_power(m.ones(3), 2),
    lambda m: m.linalg.matrix_power(m.ones(3, 3), 2.5),
    lambda m: m.linalg.matrix_power(m.ones(3, 3, dtype=m.int64), 2),
    lambda m: m.linalg.matrix_power(m.ones(3, 3, dtype=m.int64), -2),
    lambda m: m.linalg.multi_dot([m.ones(3, 3)]),
    lambda m: m.linalg.multi_dot([m.ones(3, 3), m.ones(4, 4)]),
    lambda m: m.linalg.multi_dot([m.ones(2, 3), m.ones(3), m.ones(3, 3)]),
    lambda m: m.linalg.multi_dot(m.ones(3, 3)),
    lambda m: m.linalg.multi_dot([m.ones(3, 3), 2]),
    lambda m: m.linalg.multi_dot([m.ones(3, 3), m.ones(3, 3).double()]),
    lambda m: m.linalg.vecdot(m.ones(3), m.ones(4)),
    lambda m: m.linalg.vecdot(m.ones(3), m.ones(3).double()),
    lambda m: m.linalg.vecdot(m.ones(3).int(), m.ones(3).int()),
    lambda m: m.linalg.cross(m.ones(2, 3), m.ones(3)),
    lambda m: m.linalg.cross(m.ones(2), m.ones(2)),
    lambda m: m.linalg.cross(m.ones(2, 3), m.ones(2, 3), dim=2),
    lambda m: m.linalg.diagonal(m.ones(3)),
    lambda m: m.linalg.cond(m.ones(3, 3), 3),
    lambda m: m.linalg.cond(m.ones(3, 3), "x"),
    lambda m: m.linalg.cond(m.ones(3, 4), 1),
    lambda m: m.linalg.cond(m.zeros(3, 3), 1),
    lambda m: m.linalg.cond(m.zeros(2, 3, 3), "fro"),
    lambda m: m.linalg.matrix_rank(m.ones(2, 3, 3), tol=m.zeros(5)),
    lambda m: m.linalg.matrix_rank(m.ones(3).diag(), atol=m.tensor([0.5, 2.0])),
    lambda m: m.linalg.pinv(m.ones(3).diag(), atol=m.tensor([0.5, 2.0])),
    lambda m: m.linalg.pinv(m.ones(3, 4), hermitian=True),
    lambda m: m.linalg.vector_norm(m.ones(3), "fro"),
    lambda m: m.linalg.vector_norm(m.ones(3), None),
    lambda m: m.linalg.vector_norm(m.ones(3).long()),
    lambda m: m.linalg.vector_norm(m.ones(3).long(), dtype=m.float32),
    lambda m: m.linalg.vector_norm(m.ones(3), dtype=m.float64),
    lambda m: m.linalg.vector_norm(m.ones(3).double(), dtype=m.float32),
    lambda m: m.linalg.vector_norm(m.ones(3), dtype=m.int64),
    lambda m: m.linalg.vector_norm(m.ones(3, 3), dim=(0, 0)),
    lambda m: m.linalg.vector_norm(m.ones(3), dim=3),
    lambda m: m.linalg.vector_norm(m.ones(()), dim=0),
    lambda m: m.linalg.vector_norm(m.ones(()), dim=(0, -1)),
    lambda m: m.linalg.vector_norm(m.ones(3, 0), math.inf),
    lambda m: m.linalg.vector_norm(m.ones(3, 0), math.inf, dim=1),
    lambda m: m.linalg.vector_norm(m.ones(3, 0), -1, dim=1),
    lambda m: m.linalg.vector_norm(m.ones(0, 3), math.inf, dim=1),
    lambda m: m.linalg.vector_norm(m.ones(3), out=m.ones((), dtype=m.float64)),
    lambda m: m.linalg.matrix_norm(m.ones(3, 3), 0),
    lambda m: m.linalg.matrix_norm(m.ones(3, 3), 3),
    lambda m: m.linalg.matrix_norm(m.ones(3, 3), "x"),
    lambda m: m.linalg.matrix_norm(m.ones(3, 3), None),
    lambda m: m.linalg.matrix_norm(m.ones(3, 3), dim=(0,)),
    lambda m: m.linalg.matrix_norm(m.ones(3, 3), dim=0),
    lambda m: m.linalg.matrix_norm(m.ones(3, 3), dim=(0, 0)),
    lambda m: m.linalg.matrix_norm(m.ones(3, 3), dim=(0, 5)),
    lambda m: m.linalg.matrix_norm(m.ones(3)),
    lambda m: m.linalg.matrix_norm(m.ones(3, 3).long()),
    lambda m: m.linalg.matrix_norm(m.ones(3, 3), 1, dtype=m.float64),
    lambda m: m.linalg.matrix_norm(m.ones(0, 3), -2),
    lambda m: m.linalg.matrix_norm(m.ones(0, 3), -math.inf),
    lambda m: m.linalg.matrix_norm(m.ones(0, 3), math.inf),
    lambda m: m.norm(m.ones(3).long()),
    lambda m: m.norm(m.ones(3, 3), 2, 1, out=m.zeros(3)),
    lambda m: m.renorm(m.ones(3, 3), 0, 0, 1),
    lambda m: m.renorm(m.ones(3, 3), 2, 0, -1),
    lambda m: m.renorm(m.ones(3), 2, 0, 1),
    lambda m: m.renorm(m.ones(3, 3), 2, 5, 1),
    lambda m: m.renorm(m.ones(3, 3).long(), 2, 0, 1),
    lambda m: m.dist(m.ones(3).long(), m.ones(3).long()),
    lambda m: m.dist(m.ones(3), m.ones(3).double()),
    lambda m: m.dist(m.ones(3), m.ones(2, 3), None),
    lambda m: m.cdist(m.ones(2, 3), m.ones(4, 3).double()),
    lambda m: m.cdist(m.ones(2, 3).long(), m.ones(4, 3).long()),
    lambda m: m.cdist(m.ones(3), m.ones(4, 3)),
    lambda m: m.cdist(m.ones(2, 3), m.ones(4, 2)),
    lambda m: m.cdist(m.ones(2, 2, 3), m.ones(3, 4, 3)),
    lambda m: m.cdist(m.ones(2, 3), m.ones(4, 3), p=-1),
    lambda m: m.cdist(m.ones(2, 3), m.ones(4, 3), compute_mode="x"),
    lambda m: m.cov(m.ones(2, 3) > 0),
    lambda m: m.cov(m.ones(2, 3).long()),
    lambda m: m.cov(m.ones(2, 3, 4)),
    lambda m: m.cov(m.ones(())),
    lambda m: m.cov(m.ones(0)),
    lambda m: m.cov(m.ones(2, 3), fweights=m.ones(3)),
    lambda m: m.cov(m.ones(2, 3), aweights=m.ones(3).long()),
    lambda m: m.cov(m.ones(2, 3), aweights=-m.ones(3)),
    lambda m: m.cov(m.ones(2, 3), aweights=m.zeros(3)),
    lambda m: m.cov(m.ones(2, 3), aweights=m.ones(4)),
    lambda m: m.cov(m.ones(2, 3), aweights=m.ones(3).double()),
    lambda m: m.cov(m.ones(2, 3), correction=5),
    lambda m: m.cov(m.ones(2, 3), correction=1.5),
    lambda m: m.corrcoef(m.ones(2, 3, 4)),
    lambda m: m.corrcoef(m.arange(6).reshape(2, 3)),
    lambda m: m.vander(m.ones(3, 2)),
    lambda m: m.vander(m.ones(3), -1),
    lambda m: m.vander(m.ones(3), 2.5),
    lambda m: m.vander(m.tensor([1, 2, 3], dtype=m.int32), 2),
    lambda m: m.vander(m.ones(3) > 0),
    lambda m: m.block_diag(m.ones(2, 3, 4)),
    lambda m: m.block_diag(2),
    lambda m: m.block_diag(m.ones(2, 3), m.ones(1).long()),
    lambda m: m.cartesian_prod(),
    lambda m: m.cartesian_prod(m.ones(2), m.ones(3).long()),
    lambda m: m.cartesian_prod(m.ones(2, 2), m.ones(3)),
    lambda m: m.cartesian_prod(m.ones(())),
    lambda m: m.cartesian_prod(2),
    lambda m: m.combinations(m.ones(2, 2)),
    lambda m: m.combinations(m.ones(2), -1),
    lambda m: m.combinations(m.arange(4)),
    lambda m: m.trace(m.ones(3)),
    lambda m: m.trace(m.ones(3, 3) > 0),
    lambda m: m.trace(m.ones(3, 3, dtype=m.int32)),
    lambda m: m.ones(2, 3, 4).H,
    lambda m: m.ones(2).H,
    lambda m: m.ones(2).mH,
    lambda m: m.ones(2).mT,
    lambda m: (m.ones(()).mT, m.ones(()).mH, m.ones(()).H),
    lambda m: m.logdet(m.tensor([[-1.0, 0.0], [0.0, 1.0]])),
    lambda m: m.logdet(m.zeros(2, 2)),
    lambda m: m.slogdet(m.zeros(2, 2)),
    lambda m: m.cross(m.ones(2, 2), m.ones(2, 2)),
    lambda m: m.cross(m.ones(3, 3), m.ones(3, 3).long()),
    lambda m: m.kron(m.ones(2, 2), 2),
    lambda m: m.ones(2, 2).__rmatmul__(m.ones(2, 2)),
    lambda m: m.ones(2, 2) @ 2,
    lambda m: m.linalg.inv(f(m, 3, 3), out=m.zeros(3, 3, dtype=m.float64)),
    lambda m: m.linalg.inv(f(m, 3, 3), out=m.zeros(3, 3)),
    lambda m: m.linalg.inv(f(m, 3, 3).requires_grad_(), out=m.zeros(3, 3)),
    lambda m: m.linalg.qr(f(m, 3, 3), out=(m.zeros(3, 3), m.zeros(3, 3))),
    lambda m: m.linalg.det(f(m, 3, 3), out=m.zeros(())),
]  # fmt: skip
