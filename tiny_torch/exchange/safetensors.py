"""Tensors in safetensors files, by the package `safetensors`: pip install tiny_torch[safetensors].

The functions are those of `safetensors.torch`, which itself needs PyTorch; under
`python -m tiny_torch run` a script's `import safetensors.torch` is answered with this module.
https://huggingface.co/docs/safetensors/api/torch

Not here: save_model and load_model, for models whose tensors share memory.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
from typing import Any

import tiny_torch as torch
from tiny_torch.tensor import Tensor

try:
    from safetensors import SafetensorError, TensorSpec, deserialize, serialize, serialize_file
except ImportError as error:
    raise ImportError(
        "tiny_torch.safetensors needs the package safetensors, 0.8 or newer: "
        "pip install tiny_torch[safetensors]"
    ) from error

__all__ = ["SafetensorError", "load", "load_file", "save", "save_file"]

DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
}  # fmt: skip

Path = str | os.PathLike[str]


def save_file(
    tensors: dict[str, Tensor], filename: Path, metadata: dict[str, str] | None = None
) -> None:
    """Writes tensors under their names; the file is replaced only once the new one is complete.

    Raises ValueError for what is no tensor or not contiguous, RuntimeError for tensors that share
    memory, which the format cannot say.
    """
    temporary = f"{os.fspath(filename)}.{secrets.token_hex(8)}.tmp"
    kept = tensors_to_write(tensors)
    try:
        serialize_file(specs(kept), temporary, metadata=metadata)
        os.replace(temporary, filename)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes that `save_file` writes.

    >>> import tiny_torch as torch
    >>> from tiny_torch import safetensors
    >>> safetensors.load(safetensors.save({"weight": torch.ones(2)}))
    {'weight': tensor([1., 1.])}
    """
    kept = tensors_to_write(tensors)
    return bytes(serialize(specs(kept), metadata=metadata))


def load_file(filename: Path, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file by their names, on a device.

    Raises SafetensorError for a damaged file, NotImplementedError for a dtype that we lack.
    """
    with open(filename, "rb") as file:
        return load(file.read(), device)


def load(data: bytes, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file's bytes by their names."""
    tensors = {}
    for name, part in deserialize(data):
        if part["dtype"] not in DTYPES:
            raise NotImplementedError(
                f"[load] tiny_torch has no tensors of dtype {part['dtype']}, as {name!r} is"
            )
        dtype = getattr(torch, DTYPES[part["dtype"]])
        if part["data"]:
            tensor = torch.frombuffer(part["data"], dtype=dtype).view(part["shape"])
        else:
            tensor = torch.empty(part["shape"], dtype=dtype, device="cpu")
        tensors[name] = tensor.to(device)
    return tensors


def tensors_to_write(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors in main memory, once it is sure that the format can say them."""
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, Tensor] but received {type(tensors)}")
    tensors = {n: t.cpu() if isinstance(t, Tensor) else t for n, t in tensors.items()}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"Key `{name}` is invalid, expected Tensor but received {type(tensor)}"
            )
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. "
                "Call `.contiguous()` on it before saving."
            )
    areas = sorted(
        (t.data_ptr(), t.data_ptr() + t.nbytes, n) for n, t in tensors.items() if t.numel()
    )
    for (_, stop, first), (start, _, second) in itertools.pairwise(areas):
        if start < stop:
            raise RuntimeError(
                "Some tensors share memory, this will lead to duplicate memory on disk and "
                f"potential differences when loading them again: {first!r} and {second!r}. Save "
                "one of them, or a clone()."
            )
    return tensors


def specs(tensors: dict[str, Tensor]) -> dict[str, TensorSpec]:
    """Where the bytes of each tensor are; the tensors must live until they are written."""
    return {
        name: TensorSpec(
            dtype=tensor.dtype.name,
            shape=tuple(tensor.shape),
            data_ptr=tensor.data_ptr(),
            data_len=tensor.nbytes,
        )
        for name, tensor in tensors.items()
    }
