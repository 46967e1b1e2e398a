"""Devices: what names them, which module makes their arrays, and copies from one to another.

A device's arrays come from a module of functions (empty, full, arange, cat, ...): ``cpu`` from the
C++ extension ``_core``, ``ref`` from ``reference.py``, which is the same in plain Python, ``meta``,
``cuda``, ``cuda-emulated`` and what `register` adds from ``_core`` with the name of the device.

``cuda`` is a library of its own, which is loaded when somebody asks for the device. With
TINY_TORCH_CUDA=emulated in the environment it is that of ``cuda-emulated`` under this name.
"""

from __future__ import annotations

import importlib
import os
import re
import threading
from operator import index as as_index
from pathlib import Path
from typing import Any

from tiny_torch import _core
from tiny_torch.base.arguments import is_int, wrong_kind
from tiny_torch.base.modes import Scope

TYPES = ["cpu", "cuda", "cuda-emulated", "meta", "ref"]
OF_PYTORCH = (
    *("fpga", "hip", "hpu", "ideep", "ipu", "lazy", "maia", "mkldnn", "mps", "mtia"),
    *("opencl", "opengl", "privateuseone", "ve", "vulkan", "xla", "xpu"),
)


class device(Scope):
    """Where a tensor's memory is: ``device("cpu")``, ``device("ref")``, ``device("cpu", 0)``.

    A name of a device, with an index after a colon or as second argument; or another device; or the
    index of a GPU. Raises RuntimeError for a string that names none. "cuda" is a name in every
    build: in one without CUDA, what uses it raises AssertionError. So are PyTorch's other devices:
    what uses "mps" raises NotImplementedError. https://pytorch.org/docs/stable/tensor_attributes.html#torch.device

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
            if not cuda_count():
                raise RuntimeError("Cannot access accelerator device when none is available.")
            type, index = "cuda", type
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

    # `with torch.device("ref"):` makes new tensors there, where no other device is named.
    def current(self) -> device | None:
        return default.device

    def begin(self) -> device:
        default.device = self
        return self

    def restore(self, before: device | None) -> None:
        default.device = before


_device = device


class _Default(threading.local):
    """Where a thread's new tensors go if nothing else is said; None is the CPU."""

    device: device | None = None


default = _Default()


def get_default_device() -> device:
    """Where tensors are made that are not told where: "cpu", or what `set_default_device` said.

    https://pytorch.org/docs/stable/generated/torch.get_default_device.html
    """
    array_module()  # raises where there is no such device
    where = default.device or DEVICES["cpu"]
    return DEVICES["cuda"] if where.type == "cuda" else where


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
    if name not in TYPES and name not in OF_PYTORCH:
        raise RuntimeError(
            f"Expected one of {', '.join(TYPES)} device type at start of device string: {name}"
        )
    return name, None if index is None else int(index)


def not_here(name: str) -> NotImplementedError:
    """What to raise where a device that is PyTorch's only would have to compute."""
    return NotImplementedError(
        f"device '{name}' is not in tiny_torch, which has {', '.join(TYPES)}"
    )


def type_of(where: Any) -> str:
    """The type of a device; None is the default one."""
    where = default.device if where is None else where
    return "cpu" if where is None else device(where).type


def array_module(where: Any = None) -> Any:
    """The module whose functions make a device's arrays; None is the default device.

    Raises AssertionError for CUDA in a build without it, NotImplementedError for a device that is
    PyTorch's only, and RuntimeError where there is no such device.
    """
    if where == "cpu":
        return _core
    if where is None:
        where = default.device
        if where is None:
            return _core
    name = where
    if where not in TYPES:
        place = device(where)
        name = place.type
        if name == "cuda" and place.index:
            _load_cuda()
            raise RuntimeError("CUDA error: invalid device ordinal")
    if name in modules:
        return modules[name]
    if name in OF_PYTORCH:
        raise not_here(name)
    if name == "ref":
        # slow to load, and for readers and tests only
        return modules.setdefault(name, importlib.import_module("tiny_torch.reference"))
    if name == "cuda-emulated":
        return _load_emulated()
    return _load_cuda()


def _load_emulated() -> Any:
    """Loads the kernels of CUDA that run on the host: a library of its own, which few need."""
    with _loading:
        if "cuda-emulated" not in modules:
            if _cuda_is_emulated():
                raise RuntimeError("with TINY_TORCH_CUDA=emulated the device is called 'cuda'")
            library = LIBRARIES / "cuda_emulated.so"
            if not library.exists():
                raise RuntimeError(
                    "this build has no device 'cuda-emulated': it was made with "
                    "TINY_TORCH_CUDA_EMULATED=OFF"
                )
            _core.load_device("cuda-emulated", str(library))
            modules["cuda-emulated"] = CoreArrays("cuda-emulated")
    return modules["cuda-emulated"]


def _cuda_is_emulated() -> bool:
    return os.environ.get("TINY_TORCH_CUDA") == "emulated"


def cuda_library() -> Path | None:
    """The library of ``cuda``; None in a build without it, and where TINY_TORCH_CUDA is off."""
    library = LIBRARIES / ("cuda_emulated.so" if _cuda_is_emulated() else "cuda.so")
    off = os.environ.get("TINY_TORCH_CUDA") == "off"
    return library if not off and library.exists() else None


def has_cuda() -> bool:
    """Whether this build has CUDA."""
    return "cuda" in _accelerators or cuda_library() is not None


def cuda_accelerator() -> Any:
    """The table of accelerator.h of ``cuda``, which it loads; None in a build without CUDA."""
    if "cuda" in _accelerators:
        return _accelerators["cuda"]
    library = cuda_library()
    if library is None:
        return None
    path = str(library)
    with _loading:  # a handler that asks meanwhile may have loaded it before the next line
        if "cuda" not in _accelerators:
            _core.load_device("cuda", path)
        _accelerators["cuda"] = _core.accelerator("cuda")
    return _accelerators["cuda"]


def cuda_count() -> int:
    """How many devices ``cuda`` there are: 0 in a build without CUDA, and without a driver."""
    accelerator = cuda_accelerator()
    return 0 if accelerator is None else accelerator.device_count()


def _load_cuda() -> Any:
    """The module of ``cuda``. AssertionError in a build without CUDA; RuntimeError, with the
    reason, where there is no GPU or no driver.
    """
    accelerator = cuda_accelerator()
    if accelerator is None:
        raise AssertionError("Torch not compiled with CUDA enabled")
    if "cuda" not in modules:
        accelerator.properties()
        modules["cuda"] = CoreArrays("cuda")
    return modules["cuda"]


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
LIBRARIES = Path(_core.__file__).parent / "lib"
_accelerators: dict[str, Any] = {}
_loading = threading.RLock()


def renew_lock() -> None:
    """In a forked child: another thread of the parent may have held it."""
    global _loading
    _loading = threading.RLock()


os.register_at_fork(after_in_child=renew_lock)


def register(name: str, arrays: Any) -> None:
    """Adds a device, whose arrays come from `arrays`: a module, or whatever has its functions, as
    ``tiny_torch.reference``; or the path of a shared library that ends with ``TT_DEVICE``
    (core/devices/device.h), whose device has that name. Raises RuntimeError where the name is taken
    or not a word, the library has no such device, or arrays have another `device`.
    """
    if re.fullmatch("[a-z_]+", name) is None or name in TYPES or name in OF_PYTORCH:
        raise RuntimeError(f"a device cannot be called '{name}': it is taken or not a word")
    if isinstance(arrays, str | os.PathLike):
        _core.load_device(name, os.fspath(arrays))
        arrays = CoreArrays(name)
    if arrays.empty((0,), _core.float32).device != name:
        raise RuntimeError(f"the arrays of '{name}' say that they are on another device")
    TYPES.append(name)
    modules[name] = arrays
    DEVICES[name] = device(name)


def to_device(array: Any, where: Any, non_blocking: bool = False) -> Any:
    """The array itself if it is there already, else a copy of it, with its strides if dense.

    `non_blocking` does not wait for a copy between a GPU and pinned memory.
    """
    module, own = array_module(where), array_module(array.device)
    if module is own:
        return array
    if isinstance(array, _core.NDArray):
        if module is _core or isinstance(module, CoreArrays):
            name = "cpu" if module is _core else module.device
            copy = _core.to_device_later if non_blocking else _core.to_device
            return copy(array, name)
        array = _core.to_device(array, "cpu")
    # The copy is made on this side; NumPy then hands its memory over to the other.
    return module.from_numpy(array.clone().numpy())


# The streams that were ever made, beside the default one: core/devices/accelerator.h's handles.
side_streams: set[int] = set()


def wait_for_streams() -> None:
    """What the current stream of ``cuda`` is given from now on waits for all other streams."""
    cuda_accelerator().wait_for_streams()


def is_pinned(array: Any) -> bool:
    """Whether it is in pinned memory of the host, from which a GPU copies beside other work."""
    accelerator = _accelerators.get("cuda")
    return accelerator is not None and array.device == "cpu" and accelerator.is_pinned(array)


def pin(array: Any) -> Any:
    """A copy in pinned memory, itself if it is pinned; RuntimeError without a GPU."""
    if not cuda_count():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if array.device != "cpu":
        raise RuntimeError(f"cannot pin memory on {array.device}: only that of the CPU")
    array_module("cuda")
    return array if is_pinned(array) else cuda_accelerator().pinned(array)


DEVICES: dict[str, device] = {name: device(name) for name in TYPES}
DEVICES["cuda"] = device("cuda", 0)  # where tensors are; there is one
FUNCTIONS = {f.__name__: f for f in (get_default_device, set_default_device)}
