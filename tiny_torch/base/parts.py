"""What is asked of a tensor that may be this rank's part of a larger one.

`fully_shard` and `parallelize_module` leave such parts as parameters: distributed/pieces.py.
"""

from __future__ import annotations

from typing import Any


def whole_shape(tensor: Any) -> tuple[int, ...]:
    """The shape of what the tensor is a part of: its own, if it is whole."""
    piece = tensor.__dict__.get("_piece")
    return tuple(tensor.shape if piece is None else piece.shape)


def check_whole(name: str, tensor: Any) -> None:
    """NotImplementedError for a part, of which `name` would make something else."""
    whole = whole_shape(tensor)
    if whole != tuple(tensor.shape):
        raise NotImplementedError(
            f"{name} looks at a tensor as a whole: this one of shape {tuple(tensor.shape)} is a "
            f"rank's part of one of shape {whole}, as fully_shard and parallelize_module cut them"
        )
