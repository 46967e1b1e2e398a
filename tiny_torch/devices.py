"""Devices: what names them, which module makes their arrays, and copies from one to another.

A device's arrays come from a module of functions (empty, full, arange, cat, ...): ``cpu`` from the
C++ extension ``_core``, ``ref`` from ``reference.py``, which is the same in plain Python, ``meta``,
``cuda-emulated`` and what `register` adds from ``_core`` with the name of the device.
"""

from __future__ import annotations

import os
import re
import threading
from operator import index as as_index
from pathlib import Path
from typing import Any

from tiny_torch import _core
from tiny_torch.arguments import is_int, wrong_kind

TYPES = ["cpu", "cuda", "cuda-emulated", "meta", "ref"]
OF_PYTORCH = (
    *("fpga", "hip", "hpu", "ideep", "ipu", "lazy", "maia", "mkldnn", "mps", "mtia"),
    *("opencl", "opengl", "privateuseone", "ve", "vulkan", "xla", "xpu"),
)


class device:
    """Where a tensor's memory is: ``device("cpu")``, ``device("ref")``, ``device("cpu", 0)``.

    A name of a device, with an index after a colon or as second argument; or another device.
    Raises RuntimeError for a string that names none. "cuda" is a name, but not built: what uses it
    raises AssertionError. https://pytorch.org/docs/stable/tensor_attributes.html#torch.device

    >>> import tiny_torch as torch
    >>> torch.device("cpu:0")
    device(type='cpu', index=0)
    """

    __module__ = "tiny_torch"  # where it is public, as its repr says

    __slots__ = ("_index", "_type")
    _index: int | None
    _type: str

    def __new__(cls, type: Any, index: int | None = None) -> device:
        if isinstance(type, device) and index is None:
            return type
        if isinstance(type, int) and not isinstance(type, bool) and index is None:
            if type < 0:
                raise RuntimeError("Device index must not be negative")
            raise RuntimeError("Cannot access accelerator device when none is available.")
        if not isinstance(type, str):
            raise TypeError(
                "device() received an invalid combination of arguments - got "
                f"({type.__class__.__name__}), but expected one of:\n * (torch.device device)\n"
                " * (str type, int index = -1)\n"
            )
        name, in_string = parse(type)
        if index is not None:
            if in_string is not None:
                raise RuntimeError(
                    "type (string) must not include an index because index was passed "
                    f"explicitly: {type}"
                )
            if not is_int(index):
                raise wrong_kind("device", "index", "int", index, 2)
            if index < 0:
                raise RuntimeError("Device index must not be negative")
        self = object.__new__(cls)
        self._type = name
        self._index = in_string if index is None else as_index(index)
        return self

    @property
    def type(self) -> str:
        return self._type

    @property
    def index(self) -> int | None:
        return self._index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self._type == other._type and self._index == other._index

    def __hash__(self) -> int:
        return hash((self._type, self._index))

    def __repr__(self) -> str:
        index = "" if self._index is None else f", index={self._index}"
        return f"device(type='{self._type}'{index})"

    def __str__(self) -> str:
        return self._type if self._index is None else f"{self._type}:{self._index}"

    def __reduce__(self) -> tuple:
        arguments = (self._type,) if self._index is None else (self._type, self._index)
        return device, arguments

    def __enter__(self) -> device:
        """`with torch.device("ref"):` makes new tensors there, where no other device is named."""
        default.outer.append(default.device)
        default.device = self
        return self

    def __exit__(self, *exception: object) -> None:
        default.device = default.outer.pop()


_device = device


class _Default(threading.local):
    """Where a thread's new tensors go if nothing else is said; None is the CPU."""

    device: device | None = None

    def __init__(self) -> None:
        self.outer: list[device | None] = []  # of the `with` blocks that are open


default = _Default()


def get_default_device() -> device:
    """Where tensors are made that are not told where: "cpu", or what `set_default_device` said.

    https://pytorch.org/docs/stable/generated/torch.get_default_device.html
    """
    array_module()  # raises for CUDA
    return default.device or device("cpu")


def set_default_device(device: Any) -> None:
    """Tensors that are not told where to be are made on `device`; None: on the CPU.

    It holds for the calling thread, and not for tensors made from NumPy's or from other tensors.
    https://pytorch.org/docs/stable/generated/torch.set_default_device.html

    >>> import tiny_torch as torch
    >>> torch.set_default_device("ref")
    >>> torch.zeros(2)
    tensor([0., 0.], device='ref')
    >>> torch.set_default_device(None)
    """
    default.device = None if device is None else _device(device)


def parse(text: str) -> tuple[str, int | None]:
    """The type and index that a string like "cpu" or "cpu:0" names."""
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = re.fullmatch(r"([a-zA-Z_]+|cuda-emulated)(?::(0|[1-9][0-9]*))?", text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    name, index = match.groups()
    if name in OF_PYTORCH:
        raise NotImplementedError(
            f"device '{name}' is not in tiny_torch, which has cpu, cuda-emulated, meta and ref"
        )
    if name not in TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(TYPES)} device type at start of device string: {name}"
        )
    return name, None if index is None else int(index)


def array_module(where: Any = None) -> Any:
    """The module whose functions make a device's arrays; None is the default device.

    Raises AssertionError for CUDA, and RuntimeError where there is no such device.
    """
    if where == "cpu":
        return _core
    if where is None:
        where = default.device
        if where is None:
            return _core
    name = where if where in TYPES else device(where).type
    if name in modules:
        return modules[name]
    if name == "ref":
        from tiny_torch import reference  # slow to load, and for readers and tests only

        return modules.setdefault(name, reference)
    if name == "cuda-emulated":
        return _load_emulated()
    raise AssertionError("Torch not compiled with CUDA enabled")


def _load_emulated() -> Any:
    """Loads the kernels of CUDA that run on the host: a library of its own, which few need."""
    with _loading:
        if "cuda-emulated" not in modules:
            library = Path(_core.__file__).parent / "lib" / "cuda_emulated.so"
            if not library.exists():
                raise RuntimeError(
                    "this build has no device 'cuda-emulated': it was made with "
                    "TINY_TORCH_CUDA_EMULATED=OFF"
                )
            _core.load_device("cuda-emulated", str(library))
            modules["cuda-emulated"] = CoreArrays("cuda-emulated")
    return modules["cuda-emulated"]


class CoreArrays:
    """``_core`` for another device than the CPU: what makes arrays makes them there."""

    def __init__(self, name: str) -> None:
        self.device = name

    def __getattr__(self, name: str) -> Any:
        return getattr(_core, name)  # functions of arrays, which know their device

    def empty(self, shape: Any, dtype: Any) -> Any:
        return _core.empty(shape, dtype, self.device)

    def empty_strided(self, shape: Any, strides: Any, dtype: Any) -> Any:
        return _core.empty_strided(shape, strides, dtype, self.device)

    def full(self, shape: Any, value: Any, dtype: Any) -> Any:
        return _core.full(shape, value, dtype, self.device)

    def arange(self, start: Any, step: Any, count: int, dtype: Any, out: Any = None) -> Any:
        return _core.arange(start, step, count, dtype, out, self.device)

    def linspace(self, first: Any, last: Any, count: int, dtype: Any, out: Any = None) -> Any:
        return _core.linspace(first, last, count, dtype, out, self.device)

    def logspace(self, first: Any, last: Any, count: int, base: float, dtype: Any) -> Any:
        return _core.logspace(first, last, count, base, dtype, self.device)

    def from_numpy(self, data: Any) -> Any:
        return _core.to_device(_core.from_numpy(data), self.device)


modules: dict[str, Any] = {"cpu": _core, "meta": CoreArrays("meta")}
_loading = threading.Lock()


def register(name: str, arrays: Any) -> None:
    """Adds a device, whose arrays come from `arrays`: a module, or whatever has its functions, as
    ``tiny_torch.reference``; or the path of a shared library that ends with ``TT_DEVICE``
    (core/device.h), whose device has that name. Raises RuntimeError where the name is taken or not
    a word, or the library has no such device.
    """
    if re.fullmatch("[a-z_]+", name) is None or name in TYPES or name in OF_PYTORCH:
        raise RuntimeError(f"a device cannot be called '{name}': it is taken or not a word")
    if isinstance(arrays, str | os.PathLike):
        _core.load_device(name, os.fspath(arrays))
        arrays = CoreArrays(name)
    TYPES.append(name)
    modules[name] = arrays
    DEVICES[name] = device(name)


def to_device(array: Any, where: Any) -> Any:
    """The array itself if it is there already, else a copy of it, with its strides if dense."""
    module, own = array_module(where), array_module(array.device)
    if module is own:
        return array
    if isinstance(array, _core.NDArray):
        if module is _core or isinstance(module, CoreArrays):
            return _core.to_device(array, "cpu" if module is _core else module.device)
        array = _core.to_device(array, "cpu")
    # The copy is made on this side; NumPy then hands its memory over to the other.
    return module.from_numpy(array.clone().numpy())


DEVICES: dict[str, device] = {name: device(name) for name in TYPES if name != "cuda"}
FUNCTIONS = {f.__name__: f for f in (get_default_device, set_default_device)}
