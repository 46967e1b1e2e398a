"""Which ops autocast computes in which dtype: PyTorch's lists.

An op's class says it (`autocast`): a policy, or "widest on cpu" where only that device has it. A
function that is several ops here and one in PyTorch (`kl_div`; autograd/op_mode.py's `as_one`) is
named below. What says nothing takes its inputs as they are.
https://pytorch.org/docs/stable/amp.html#autocast-op-reference
"""

from __future__ import annotations

import functools
from typing import Any

from tiny_torch.autograd.graph import Op

LOWER = "lower"  # the dtype of the autocast block
FLOAT32 = "float32"
WIDEST = "widest"  # float32 if one of the inputs is, else the dtype of the block
ROUNDED = "rounded"  # computed in float32, the result in the dtype of the block
BANNED = "banned"  # an error
AS_GIVEN = "as given"  # in the inputs' own dtypes, and so are the ops that a function is made of

FUNCTIONS = {
    "lower": """
        prelu vecdot scaled_dot_product_attention LSTM RNN_TANH RNN_RELU RNN_TANH_cell RNN_RELU_cell
    """,
    "lower on cuda": "addr einsum chain_matmul multi_dot GRU LSTM_cell GRU_cell",
    "float32": """
        huber_loss binary_cross_entropy_with_logits kl_div poisson_nll_loss cosine_embedding_loss
        hinge_embedding_loss margin_ranking_loss soft_margin_loss triplet_margin_loss
        multi_margin_loss cdist
    """,
    "float32 on cpu": """
        binary_cross_entropy quantile nanquantile trace grid_sample
        max_unpool1d max_unpool2d max_unpool3d
        inv inv_ex solve cholesky cholesky_ex cholesky_solve cholesky_inverse old_lu old_lu_solve
        qr geqrf householder_product eigh eigvalsh svd svdvals lstsq cond matrix_rank old_pinv
        tensorinv tensorsolve
    """,
    "float32 on cuda": "cosine_similarity pdist dist renorm matrix_norm",
    "widest on cpu": "",
    "widest on cuda": "bilinear grid_sample tensordot",
    "rounded": "pinv",
    "as given on cpu": "bilinear",
    "banned on cuda": "binary_cross_entropy",
}  # fmt: skip


def policies_of(device: str) -> dict[str, str]:
    """{what a class says, or the name of a function: its policy}."""
    found: dict[str, str] = {}
    for said, names in FUNCTIONS.items():
        policy, _, place = said.partition(" on ")
        if place in ("", device):
            found |= dict.fromkeys((said, *names.split()), policy)
    return found


POLICIES = {device: policies_of(device) for device in ("cpu", "cuda")}
POLICIES["cuda-emulated"] = POLICIES["cuda"]


@functools.cache
def seen_on(device: str) -> frozenset[str]:
    """The names of all ops and functions that may have a policy on a type of device."""
    ops: list[Any] = [Op]
    for op in ops:
        ops += op.__subclasses__()
    policies = POLICIES[device]
    listed = {op.__name__ for op in ops if callable(op.autocast) or op.autocast in policies}
    return frozenset({*listed, *policies, "recurrent_layer", "recurrent_cell"})


def policy_key(op: Any, arguments: tuple) -> str:
    """By which POLICIES have an op."""
    if not isinstance(op, type):
        return function_key(op.__name__, arguments)
    said = op.autocast  # type: ignore[attr-defined]
    return said(*arguments) if callable(said) else said


def function_key(name: str, arguments: tuple) -> str:
    """A function's name, with what tells PyTorch's functions apart that are one here."""
    if name == "recurrent_layer":
        return arguments[0]
    return f"{arguments[0]}_cell" if name == "recurrent_cell" else name
