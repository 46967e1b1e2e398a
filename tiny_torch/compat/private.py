"""What `torch` has and hardly explains, which packages call: assertions, shapes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from importlib import import_module
from typing import Any, NamedTuple

from tiny_torch.autograd.function import Function
from tiny_torch.base.devices import cuda_count
from tiny_torch.compat.refused import refusing, refusing_class, why_of
from tiny_torch.functions.creation.from_data import tensor
from tiny_torch.functions.nn.losses import check_reduction, legacy_reduction
from tiny_torch.functions.printing import elements_text, options
from tiny_torch.functions.shape.join import cat
from tiny_torch.nn import Module, NLLLoss
from tiny_torch.tensor import Tensor

CrossMapLRN2d = refusing_class("torch.nn.CrossMapLRN2d", "nn.LocalResponseNorm took its place")
TensorType = refusing_class("torch.TensorType", "it has no graphs of programs")
PyTorchFileReader = refusing_class("torch.PyTorchFileReader", "torch.load reads its files")
PyTorchFileWriter = refusing_class("torch.PyTorchFileWriter", "torch.save writes its files")

NO_SYMBOLS = "its sizes are numbers; nothing is traced"
SymBool = refusing_class("torch.SymBool", NO_SYMBOLS)
SymFloat = refusing_class("torch.SymFloat", NO_SYMBOLS)
SymInt = refusing_class("torch.SymInt", NO_SYMBOLS)

NO_COMPLEX = str(why_of("tiny_torch.fft"))
complex = refusing("torch.complex", NO_COMPLEX)
istft = refusing("torch.istft", NO_COMPLEX)
polar = refusing("torch.polar", NO_COMPLEX)
stft = refusing("torch.stft", NO_COMPLEX)
view_as_complex = refusing("torch.view_as_complex", NO_COMPLEX)
view_as_real = refusing("torch.view_as_real", NO_COMPLEX)

NO_LEVELS = "its vmap has no tensors of a batch's level"
_add_batch_dim = refusing("torch._C._functorch._add_batch_dim", NO_LEVELS)
_remove_batch_dim = refusing("torch._C._functorch._remove_batch_dim", NO_LEVELS)
get_unwrapped = refusing("torch._C._functorch.get_unwrapped", NO_LEVELS)

_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]
np_str_obj_array_pattern = re.compile("[SaUO]")  # NumPy's kinds that make no tensors

NO_DISPATCH = "classes answer functions by __torch_function__"
TorchDispatchMode = refusing_class("torch.utils._python_dispatch.TorchDispatchMode", NO_DISPATCH)
return_and_correct_aliasing = refusing(
    "torch.utils._python_dispatch.return_and_correct_aliasing", NO_DISPATCH
)


def _require_initialized(func: Callable[..., Any]) -> Callable[..., Any]:
    """What stands for a function that calls other processes: it refuses."""
    return refusing("torch.distributed.rpc", str(why_of("tiny_torch.distributed.rpc")))


NO_MARKS = "it marks no ranges for other tools' timelines"
emit_itt = refusing_class("torch.autograd.profiler.emit_itt", NO_MARKS)
emit_nvtx = refusing_class("torch.autograd.profiler.emit_nvtx", NO_MARKS)


def _addindent(text: str, spaces: int) -> str:
    """The text with its lines after the first moved to the right."""
    return text.replace("\n", "\n" + " " * spaces)


PRINT_OPTS = options  # of set_printoptions


def _tensor_str(tensor: Tensor, indent: int) -> str:
    """The numbers of a tensor as it prints them, its later lines moved to the right."""
    return elements_text(tensor.detach().cpu().array, indent)


def get_enum(reduction: str) -> int:
    """The number that PyTorch's operators take for a reduction; ValueError for another word."""
    check_reduction(reduction)
    return ("none", "mean", "sum").index(reduction)


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The reduction that two deprecated arguments mean."""
    with warnings.catch_warnings():
        if not emit_warning:
            warnings.simplefilter("ignore")
        return legacy_reduction(size_average, reduce)


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """Its number."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def is_batchedtensor(x: Tensor) -> bool:
    """False: no tensor stands for those of a batch."""
    return False


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` answers: a tensor, and the tangent that goes with it forwards."""

    primal: Any
    tangent: Tensor | None


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """(tensor, None): no tensor has a tangent, at any level. `func.jvp` differentiates backwards.

    https://pytorch.org/docs/stable/generated/torch.autograd.forward_ad.unpack_dual.html
    """
    return UnpackedDualTensor(tensor, None)


def is_fake(x: Any) -> bool:
    """False: a tensor without numbers is one on the device meta."""
    return False


def is_traceable_wrapper_subclass(x: Any) -> bool:
    """False: no tensor is made of others that a compiler is to see."""
    return False


def _get_available_device_type() -> str | None:
    """The device beside the CPU that this process can use."""
    return "cuda" if cuda_count() else None


def _get_device_module(device_type: str) -> Any:
    """`torch.cuda` for "cuda". RuntimeError for a device that has no module."""
    if device_type not in ("cpu", "cuda"):
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as "
            f"'torch.{device_type}'."
        )
    return import_module(f"tiny_torch.{device_type}")


class _DecoratorContextManager(ContextDecorator):
    """A context manager whose `clone` each call of a decorated function enters."""

    def clone(self) -> Any:
        """One like it: classes that take arguments override it."""
        return type(self)()

    _recreate_cm = property(lambda self: self.clone)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Puts a tensor in the place of a module's, which it answers; None takes it away.

    AttributeError where the module has none of that name, unless `allow_missing`.
    """
    for held in (module._parameters, module._buffers):
        if name in held:
            before = held[name]
            if tensor is None:
                del held[name]
            else:
                held[name] = tensor
            return before
    before = getattr(module, name, None) if allow_missing else getattr(module, name)
    if before is not None and not isinstance(before, Tensor):
        raise TypeError(f"{before} is not an instance of torch.Tensor")
    if tensor is not None:
        setattr(module, name, tensor)
    elif before is not None:
        delattr(module, name)
    return before


def get_proxy_mode() -> None:
    """None: no program is traced."""


def _is_in_bad_fork() -> bool:
    """False: a forked process that uses CUDA is told so by the call itself."""
    return False


def check_with(error: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Callable[[], str] | None = None) -> None:
        if not cond:
            raise error(
                "Expected cond to be True, but got False. (Could this error message be improved? "
                "If so, please report an enhancement request to PyTorch.)"
                if message is None
                else str(message())
            )

    check.__doc__ = f"Raises {error.__name__} with the message's text unless `cond` is true."
    return check


_check = check_with(RuntimeError)
_check_index = check_with(IndexError)
_check_not_implemented = check_with(NotImplementedError)
_check_type = check_with(TypeError)
_check_value = check_with(ValueError)


def _check_is_size(i: int, message: Callable[[], str] | None = None, *, max: Any = None) -> None:
    """Raises RuntimeError for a negative size, or one above `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _assert(condition: Any, message: str) -> None:
    """Raises AssertionError unless the condition is true."""
    if not condition:
        raise AssertionError(message)


def _assert_async(x: Tensor, assert_msg: str | None = None) -> None:
    """Raises RuntimeError where a tensor of one element is 0."""
    if not bool(x):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _shape_as_tensor(x: Tensor) -> Tensor:
    """A tensor's shape, int64 (ndim,)."""
    return tensor(list(x.shape))


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of all, one after another, (n,): for one message in the place of many."""
    return tensors[0].flatten() if len(tensors) == 1 else cat([x.flatten() for x in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of `flat` in the shapes of the tensors that `_flatten_dense_tensors` was given."""
    parts = flat.split([x.numel() for x in tensors])
    return tuple([part.view(x.shape) for part, x in zip(parts, tensors, strict=True)])


class NLLLoss2d(NLLLoss):
    """NLLLoss, which takes images, too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in "
            "replacement and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more "
            "details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class InplaceFunction(Function):
    """The base that functions had which may write into their input: a Function."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
