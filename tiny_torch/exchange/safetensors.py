"""Tensors in safetensors files, by the package `safetensors`: pip install tiny_torch[safetensors].

The functions are those of `safetensors.torch`, which itself needs PyTorch; under
`python -m tiny_torch run` a script's `import safetensors.torch` is answered with this module.
https://huggingface.co/docs/safetensors/api/torch
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
from typing import Any

import tiny_torch as torch
from tiny_torch.nn import Module
from tiny_torch.tensor import Tensor

try:
    from safetensors import SafetensorError, TensorSpec, deserialize, serialize, serialize_file
except ImportError as error:
    raise type(error)(  # of a missing module, or of one too old
        "tiny_torch.safetensors needs the package safetensors, 0.8 or newer: "
        "pip install tiny_torch[safetensors]"
    ) from error

__all__ = [
    "SafetensorError", "load", "load_file", "load_model", "save", "save_file", "save_model",
    "storage_ptr", "storage_size",
]  # fmt: skip

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


def save_model(
    model: Module,
    filename: Path,
    metadata: dict[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Writes a model's tensors; of those that share memory one, and in the metadata the others.

    Raises RuntimeError where none of them covers that memory.
    """
    tensors = model.state_dict()
    names = dict(metadata or {})
    for shared in shared_names(tensors):
        whole = [n for n in shared if covers_storage(tensors[n])]
        if not whole:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no "
                f"suitable name to keep for saving amongst: {shared}. None is covering the entire "
                "storage."
            )
        for name in shared:
            if name != min(whole):
                names[name] = min(whole)
                del tensors[name]
    if force_contiguous:
        tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    save_file(tensors, filename, names or None)


def load_model(
    model: Module, filename: Path, strict: bool = True, device: Any = "cpu"
) -> tuple[list[str], list[str]]:
    """Copies a file's tensors into a model; (missing names, unexpected names).

    Names of memory that another name has brought are not missing. Raises RuntimeError where there
    are any of both, if `strict`.
    """
    tensors = load_file(filename, device)
    own = model.state_dict()
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    for shared in shared_names(own):
        if set(shared) & set(tensors):
            missing = [name for name in missing if name not in shared]
    if strict and (missing or unexpected):
        said = "".join(
            f"\n    {kind} key(s) in state_dict: " + ", ".join(f'"{n}"' for n in sorted(names))
            for kind, names in (("Missing", missing), ("Unexpected", unexpected))
            if names
        )
        raise RuntimeError(f"Error(s) in loading state_dict for {type(model).__name__}:{said}")
    return missing, unexpected


def storage_ptr(tensor: Tensor) -> int:
    """The address of the memory that a tensor looks at."""
    return tensor.untyped_storage().data_ptr()


def storage_size(tensor: Tensor) -> int:
    """The bytes of that memory."""
    return tensor.untyped_storage().nbytes()


def shared_names(tensors: dict[str, Tensor]) -> list[list[str]]:
    """The names of tensors that share memory, by that memory."""
    by_storage: dict[int, list[str]] = {}
    for name, tensor in tensors.items():
        if tensor.numel():
            by_storage.setdefault(tensor.array.storage_id, []).append(name)
    return [sorted(names) for names in by_storage.values() if len(names) > 1]


def covers_storage(tensor: Tensor) -> bool:
    return tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()


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
