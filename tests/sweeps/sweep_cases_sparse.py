"""Samples of sparse tensors."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import of

MADE = "q = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])\nr = torch.sparse_coo_tensor(q, v[:4] * 1, (2, 3), check_invariants=True)\n"
DENSE = "torch.arange(6, dtype=v.dtype).reshape(3, 2)"


def of_sparse(names: str, *expressions: str) -> None:
    of(names, *[MADE + text for text in expressions])


of_sparse(
    "sparse_coo_tensor",
    "r.to_dense()",
    "r.shape, r.is_sparse, r._nnz()",
    "r._indices()",
    "torch.NAME(q, v[:4]).to_dense()",
    "torch.NAME([[2, 0]], [[1.0, 2], [3, 4]]).to_dense()",
    "torch.NAME((2, 3)).to_dense()",
    "torch.NAME(q, v[:3], (2, 3))",
    "torch.NAME(q, v[:4], (2,))",
    "torch.NAME(-q, v[:4])",
    "torch.NAME([[1]], [2], dtype=torch.float64).dtype",
    "torch.NAME([[1]], [2.0], requires_grad=True).requires_grad",
    "repr(torch.NAME([[1]], [2.0]))",
    "torch.NAME(q, v[:4].detach(), (2, 3), is_coalesced=True).is_coalesced()",
)
of(
    "sparse_coo",
    "torch.NAME",
    "str(torch.NAME)",
    "torch.eye(2).to_sparse().layout == torch.NAME",
    "torch.strided == torch.NAME",
    "torch.NAME is torch.NAME",
    "isinstance(torch.NAME, torch.layout)",
    "torch.eye(2).layout == torch.NAME",
    "torch.eye(2).to_sparse(layout=torch.NAME).to_dense()",
    "hash(torch.NAME) == hash(torch.NAME)",
    "torch.NAME()",
)
of_sparse(
    "Tensor.coalesce",
    "r.LAST().to_dense()",
    "r.LAST().indices().contiguous()",
    "r.LAST().values()",
    "r.LAST().is_coalesced()",
    "r.LAST()._nnz()",
    "x.LAST()",
    "s.LAST()",
    "r.LAST(1)",
    "r.t().LAST().to_dense()",
    "(r + r).LAST().to_dense()",
    "r.LAST().LAST().values()",
)
of_sparse(
    "Tensor.is_coalesced",
    "r.LAST()",
    "r.coalesce().LAST()",
    "x.LAST()",
    "s.LAST()",
    "e.LAST()",
    "(r + r).LAST()",
    "r.t().LAST()",
    "torch.eye(2).to_sparse().LAST()",
    "r.LAST(1)",
    "(r.coalesce() * 2).LAST()",
)
of_sparse(
    "Tensor.indices Tensor.values",
    "r.LAST()",
    "r.coalesce().LAST().contiguous()",
    "r.t().coalesce().LAST().contiguous()",
    "x.LAST()",
    "s.LAST()",
    "torch.eye(3).to_sparse().LAST().contiguous()",
    "y.to_sparse().LAST().contiguous()",
    "y.to_sparse(1).LAST().tolist()",
    "(r.coalesce() * 2).LAST().contiguous()",
    "r.coalesce().LAST(1)",
    "(r + r).coalesce().LAST().contiguous()",
)
of_sparse(
    "Tensor.to_dense",
    "r.LAST()",
    "r.coalesce().LAST()",
    "r.t().LAST()",
    "x.LAST()",
    "y.to_sparse().LAST()",
    "y.to_sparse(1).LAST()",
    "(r * 3).LAST()",
    "(r + r).LAST()",
    "r.LAST(torch.float64)",
    "x.LAST(torch.float64)",
    "s.LAST()",
    "x.LAST('a')",
)
of_sparse(
    "Tensor.to_sparse",
    "x.LAST().to_dense()",
    "y.LAST().indices().tolist()",
    "y.LAST().values()",
    "y.LAST(1).values()",
    "y.LAST(5)",
    "y.LAST(-1)",
    "r.coalesce().LAST().values()",
    "y.mT.LAST().to_dense()",
    "(y * (y > 0)).LAST().to_dense()",
    "y.LAST(sparse_dim=2).to_dense()",
    "e.LAST()._nnz()",
)
of_sparse(
    "Tensor.sparse_dim Tensor.dense_dim",
    "r.LAST()",
    "x.LAST()",
    "s.LAST()",
    "e.LAST()",
    "y.to_sparse(1).LAST()",
    "x.to_sparse().LAST()",
    "x.to_sparse(2).LAST()",
    "r.t().LAST()",
    "r.LAST(1)",
    "y.LAST(dim=1)",
)
of_sparse(
    "Tensor.sparse_mask",
    f"{DENSE}.t().LAST(r).to_dense()",
    f"{DENSE}.t().LAST(r.coalesce()).values()",
    f"{DENSE}.t().LAST(r)._nnz()",
    f"{DENSE}.LAST(r)",
    "x.LAST(r)",
    "y.LAST(y.to_sparse()).to_dense()",
    "y.LAST(y.to_sparse(1)).to_dense()",
    "y.LAST()",
    "y.LAST(3)",
    "s.LAST(r)",
    "y.LAST(mask=y.to_sparse()).values()",
    "y.mT.LAST(y.mT.to_sparse()).values()",
)
of_sparse(
    "sparse.mm spmm dsmm",
    f"torch.NAME(r, {DENSE})",
    f"torch.NAME(r.coalesce(), {DENSE})",
    f"torch.NAME({DENSE}, r)",
    f"torch.NAME(r.t(), {DENSE}[:2])",
    f"torch.NAME(r, {DENSE}[:2])",
    f"torch.NAME(r * 2, {DENSE})",
    f"torch.NAME(r, {DENSE}[:, :1])",
    f"torch.NAME(r, {DENSE}.t().contiguous().t())",
    "torch.NAME(torch.eye(2).to_sparse(), torch.ones(2, 3))",
    f"torch.NAME(r, {DENSE}.double())",
    "torch.NAME(r)",
)
of_sparse(
    "sparse.addmm",
    f"torch.NAME({DENSE}[:2], r, {DENSE})",
    f"torch.NAME({DENSE}[:2], r, {DENSE}, beta=2)",
    f"torch.NAME({DENSE}[:2], r, {DENSE}, alpha=3)",
    f"torch.NAME({DENSE}[:2], r.coalesce(), {DENSE}, beta=2, alpha=3)",
    f"torch.NAME({DENSE}[0], r, {DENSE})",
    f"torch.NAME({DENSE}[:2], r, {DENSE}[:2])",
    f"torch.NAME({DENSE}[:2], r)",
    f"torch.NAME({DENSE}[1:], r * 2, {DENSE})",
    f"torch.NAME({DENSE}[:2], r, {DENSE}, beta=0)",
    f"torch.NAME({DENSE}[:2], r, {DENSE}, beta=3, alpha=-1)",
)
of_sparse(
    "sparse.sum",
    "torch.NAME(r)",
    "torch.NAME(r, 0).to_dense()",
    "torch.NAME(r, 1).to_dense()",
    "torch.NAME(r, -1).to_dense()",
    "torch.NAME(r, (0, 1))",
    "torch.NAME(r, [1]).to_dense()",
    "torch.NAME(r, 5)",
    "torch.NAME(x)",
    "torch.NAME(y.to_sparse(1), 0)",
    "torch.NAME(y.float().to_sparse(1), 1).to_dense()",
    "torch.NAME(r.coalesce(), dim=0).indices().tolist()",
    "torch.NAME(r.float(), dtype=torch.float64)",
)
TABLE = "torch.manual_seed(0)\nq = torch.nn.Embedding(5, 2, sparse=True)\nr = torch.NAME(q.parameters(){})\nfor k in range(3):\n    r.zero_grad()\n    q(torch.tensor([[1, 3], [k, 1]])).square().sum().backward()\n    r.step()\nq.weight.detach()"
of(
    "optim.SparseAdam",
    *[
        TABLE.format(options)
        for options in (
            "",
            ", 0.1",
            ", lr=0.1, betas=(0.5, 0.9)",
            ", eps=1e-3",
            ", lr=0.1, maximize=True",
            ", lr=torch.tensor(0.1)",
            ", lr=0.0",
            ", lr=-1.0",
            ", eps=0.0",
            ", betas=(1.0, 0.9)",
            ", betas=(0.9, 1.5)",
        )
    ],
)
of_sparse("spmm dsmm", f"torch.NAME({DENSE}, {DENSE}[:2])")
