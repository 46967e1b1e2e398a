"""What depends on the sample of a vmap, and what may not be done to it.

PyTorch's tensors under vmap hold all samples at once: they are no number, have no storage of their
own, and cannot be written into a tensor that holds one value for all. Here vmap is a loop, where
all of this would work, or would seem to. So its first sample runs in a mode that follows what
depends on the sample and refuses what PyTorch refuses; the others do the same, unwatched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.op_mode import IN_PLACE, OUT
from tiny_torch.autograd.reading import READERS, ReadingMode
from tiny_torch.autograd.record import aten_name
from tiny_torch.autograd.writes import AsStrided, beyond, reach_of
from tiny_torch.base.modes import modes
from tiny_torch.functions.offsets import offset_of
from tiny_torch.ops.index.brackets import IndexPut
from tiny_torch.ops.index.masks import MaskedSelect
from tiny_torch.tensor import Tensor

ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error "
    "is occurring somewhere inside PyTorch internals, please file a bug report."
)
BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
    "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)
MEMORY = "Cannot access data pointer of Tensor that doesn't have storage"
STORAGE = "Cannot access storage of BatchedTensorImpl"  # a NotImplementedError
MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
    "batch over indexing with a boolean mask."
)
RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
SAME_RANDOM = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an "
    "issue with functorch"
)
UNBATCHED_RANDOM = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
    "like same randomness. If this is necessary for your usage, please file an issue with "
    "functorch."
)
BACKWARD = (
    "backward() called inside a functorch transform. This is not supported, please use "
    "functorch.grad or functorch.vjp instead or call backward() outside of functorch transforms."
)
REQUIRES_GRAD = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using "
    "torch.autograd.functional.* APIs) inside of a function being transformed by a functorch "
    "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, "
    "vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
    "transformed instead."
)
RUNNING = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be "
    "updated in place, were not batched.\nIf you are using a module and do not need eval mode, "
    "please set `track_running_stats` to be False.If you are using a prebuilt module and do not "
    "need eval mode, please see the functorch website for resources on how to patch your module to "
    "work with vmap"
)
NUM_CLASSES = (
    "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes "
    "argument."
)

# Methods of a tensor that depends on the sample, and what calling one says.
REFUSED = {
    **dict.fromkeys(READERS, ITEM),
    "__bool__": BRANCH, "tolist": MEMORY, "numpy": MEMORY, "data_ptr": MEMORY, "__dlpack__": MEMORY,
    **dict.fromkeys(
        ("storage", "untyped_storage", "share_memory_", "is_shared", "__deepcopy__"), STORAGE
    ),
    "__reduce_ex__": STORAGE,
}  # fmt: skip
NUMBERS = ("__bool__", "__complex__", "__float__", "__index__", "__int__")
# The same of any tensor.
REFUSED_OF_ALL = {"backward": BACKWARD, "requires_grad_": REQUIRES_GRAD}
DRAWS = (
    "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_",
    "uniform_",
)  # fmt: skip
NEW = ("new_empty", "new_full", "new_ones", "new_zeros")


class Samples(ReadingMode):
    """Follows what depends on the sample while `func` runs on one."""

    methods = (*REFUSED, *REFUSED_OF_ALL, *DRAWS, *NEW, "__getitem__", "__setitem__", "__format__")

    def __init__(self, batches: Iterable[Tensor], randomness: str) -> None:
        self.randomness = randomness
        self.arrays: dict[int, Any] = {}  # those that depend on the sample, by id
        self.storages: set[int] = set()  # and memory that they alone have
        self.shared = {x.array.storage_id for x in batches}  # which holds all samples
        self.in_gradient = False  # whether a gradient within this vmap is being computed
        self.level = 1 + sum(isinstance(mode, Samples) for mode in modes.op_modes)

    # ---- what depends on the sample -------------------------------------------------------------

    def mark(self, results: Any) -> Any:
        for array in arrays_in(results):
            self.arrays[id(array)] = array
            if array.storage_id not in self.shared:
                self.storages.add(array.storage_id)
        return results

    def depends(self, values: Any) -> bool:
        return any(
            id(array) in self.arrays or array.storage_id in self.storages
            for array in arrays_in(values)
        )

    # ---- what it sees ---------------------------------------------------------------------------

    def takes_whole(self, name: str, arguments: tuple) -> bool:
        return self.depends(arguments) or name == "randperm"

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        dependent = self.depends(arguments)
        if getattr(op, "draws", op.__module__.startswith("tiny_torch.functions.random")):
            self.check_draw(dependent and kind != IN_PLACE)
            dependent = dependent or self.randomness == "different"
        elif dependent:
            self.check(op, arguments, kind)
        results = call(op, arguments)
        return self.mark(results) if dependent else results

    def backward(self, call: Callable, node: Any, grad: Any, needs: Any) -> Any:
        dependent = self.depends((grad, node.saved))
        results = call(node, grad, needs)
        return self.mark(results) if dependent else results

    def read(self, tensor: Tensor, method: str, arguments: tuple) -> None:
        if method in REFUSED_OF_ALL:
            raise RuntimeError(REFUSED_OF_ALL[method])
        if method in DRAWS:
            self.check_draw(False)
            if self.randomness == "different" and not self.depends(tensor):
                raise RuntimeError(UNBATCHED_RANDOM)
        elif method in ("__getitem__", "__setitem__"):
            self.check_index(tensor, *arguments)
        elif method in NEW or not self.depends(tensor):
            return
        elif method == "__format__":
            if tensor.ndim == 0:
                raise RuntimeError(ITEM)
        elif REFUSED[method] is STORAGE:
            raise NotImplementedError(STORAGE)
        elif tensor.numel() == 1 or method not in NUMBERS:  # of others, the method says so itself
            raise RuntimeError(REFUSED[method])

    def after(self, tensor: Tensor, method: str, result: Any) -> None:
        if method in NEW and self.depends(tensor):
            self.mark(result)

    # ---- refusals -------------------------------------------------------------------------------

    def check_draw(self, from_samples: bool) -> None:
        """Before a draw, of which the sample may be an argument."""
        if self.randomness == "error":
            raise RuntimeError(RANDOM)
        if self.randomness == "same" and from_samples:
            raise RuntimeError(SAME_RANDOM)

    def check(self, op: Any, arguments: tuple, kind: str) -> None:
        """Before an op, or a function as one, of which an argument depends on the sample."""
        name, aten = op.__name__, aten_name(op)
        if getattr(op, "dynamic_shape", False):
            raise RuntimeError(
                "vmap: We do not support batching operators that can output dynamic shape. "
                f"Attempted to vmap over {aten}. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues if you need this feature."
            )
        if op is MaskedSelect and self.depends(arguments[1]):
            raise RuntimeError(
                "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot "
                "support this because for each batch this would return a differently shaped "
                "Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
                "need this feature."
            )
        if op is AsStrided:
            check_reach(*arrays_in(arguments[0]), *arguments[1:])
        writes = getattr(op, "writes", None)
        if writes:
            self.check_running(arguments[0], writes(*arguments))
        ruleless = op_without_rule(name, arguments)
        # Gradients take recurrent layers apart in PyTorch, and the parts have rules.
        if ruleless and not (self.in_gradient and name.startswith("recurrent")):
            raise RuntimeError(
                f"Batching rule not implemented for aten::{ruleless}. We could not generate a "
                "fallback."
            )
        if name == "allclose":
            raise RuntimeError(
                "vmap over torch.allclose isn't supported yet. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues if you need this feature."
            )
        if name == "one_hot" and (len(arguments) < 2 or arguments[1] < 1):
            raise RuntimeError(NUM_CLASSES)
        if kind == OUT:
            raise RuntimeError(
                f"Batching rule not implemented for {aten}.out; the fallback path "
                "doesn't work on out= or view ops."
            )
        if kind == IN_PLACE and not self.depends(arguments[0]):
            raise refuse_batch(op, self.level)

    def check_running(self, x: Tensor, statistics: tuple) -> None:
        """Before a layer writes the running statistics of x, or None, in place."""
        written = any(array is not None for array in statistics)
        if written and self.depends(x) and not self.depends(statistics):
            raise RuntimeError(RUNNING)

    def check_index(self, tensor: Tensor, index: Any, *value: Any) -> None:
        """Before tensor[index], or tensor[index] = value."""
        parts = index if isinstance(index, tuple) else (index,)
        chosen = [x for x in parts if isinstance(x, Tensor) and self.depends(x)]
        if value and chosen and not self.depends(tensor):
            raise refuse_batch(IndexPut, self.level)
        if any(x.dtype in (_core.bool, _core.uint8) for x in chosen):
            raise RuntimeError(MASK)


def check_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )


def check_reach(array: Any, origin: tuple, shape: tuple, strides: tuple, offset: int) -> None:
    """Before as_strided of a sample, which must stay within it."""
    if beyond(origin, shape, strides, offset) != (0, 0):
        start = offset_of(array)
        first, end = start + offset, start + offset + reach_of(shape, strides)
        raise RuntimeError(
            f"result = tensor.as_strided({list(shape)}, {list(strides)}, {first}) can access "
            f"memory outside of `tensor`. `result` can access some memory in range [{first}, "
            f"{end}], but `tensor` can only access some memory in range [{start}, "
            f"{start + origin[2]}]. This is not supported inside of vmap, please try to rewrite "
            "the `as_strided` call as a sequence of PyTorch view operations"
        )


def op_without_rule(name: str, arguments: tuple) -> str:
    """PyTorch's name of the op that it cannot batch; "" of others."""
    if name == "recurrent_layer":
        return f"{arguments[0].lower()}.input"
    if name == "recurrent_cell" and arguments[0] == "LSTM":
        return "lstm_cell"
    return "equal" if name == "equal" else ""


def refuse_batch(op: Any, level: int) -> RuntimeError:
    """Of an op that writes samples into a tensor that holds one value for all."""
    what = op.batching or aten_name(op, True)
    where = f"at level {level}" if what.startswith("aten") else "in a vmap"
    return RuntimeError(
        f"vmap: {what}(self, *extra_args) is not possible because there exists a Tensor `other` in "
        "extra_args that has more elements than `self`. This happened due to `other` being vmapped "
        f"over but `self` not being vmapped over {where}. Please try to use out-of-place operators "
        f"instead of {what}. If said operator is being called inside the PyTorch framework, please "
        "file a bug report instead."
    )


def arrays_in(values: Any) -> Iterator[Any]:
    """The arrays of tensors, in sequences, too."""
    if isinstance(values, Tensor):
        yield values.array
    elif isinstance(values, tuple | list):
        for value in values:
            yield from arrays_in(value)
    elif hasattr(values, "storage_id"):
        yield values
