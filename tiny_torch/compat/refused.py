"""Modules of PyTorch's that can be imported and do nothing: what is in them raises when called.

Packages import them at their top, annotate by their classes and derive from them, for a part that
most scripts never come to. `import torch.fft` works, `torch.fft.fft(x)` raises NotImplementedError,
which names the function and the reason. Names are those of `torch_names.txt`; of torchvision's any.
Stand-ins refuse by the same functions, and say once what changes nothing but speed.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

said: set[str] = set()


def say_once(name: str, text: str, stacklevel: int = 3) -> None:
    """Warns the caller's caller, the first time in this process that `name` is the subject."""
    if name not in said:
        said.add(name)
        warnings.warn(f"{name} {text}", stacklevel=stacklevel)


def refusing(name: str, why: str) -> Callable[..., Any]:
    """A function of that full name that raises NotImplementedError, whatever its arguments."""

    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise NotImplementedError(f"{name} is not in tiny_torch: {why}")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = f"Raises NotImplementedError: {why}."
    refuse.refusal = why  # type: ignore[attr-defined]  # which compat/check.py reads
    return refuse


def refusing_class(name: str, why: str) -> type:
    """A class that may be named and derived from; making one raises NotImplementedError."""
    short = name.rpartition(".")[2]
    doc = f"Making one raises NotImplementedError: {why}."
    members = {"__init__": refusing(name, why), "__doc__": doc, "refusal": why}
    members["__class_getitem__"] = classmethod(lambda cls, _: cls)  # annotations: Future[int]
    return type(short, (), members)


NAMES = Path(__file__).with_name("torch_names.txt")


@functools.cache
def names_of_pytorch() -> dict[str, frozenset[str]]:
    """PyTorch's public names by namespace, as torch_names.txt lists them."""
    names: dict[str, list[str]] = {}
    found: list[str] = []
    for line in NAMES.read_text().splitlines():
        if line.startswith("  "):
            found += line.split()
        elif not line.startswith("#"):
            found = names.setdefault(line, [])
    return {namespace: frozenset(found) for namespace, found in names.items()}


# Below `tiny_torch`, by why nothing here does what they do.
REASONS = {
    "ao ao.nn ao.nn.quantized ao.nn.quantized.dynamic ao.ns ao.pruning ao.quantization "
    "ao.quantization.quantize_fx ao.quantization.observer ao.quantization.qconfig "
    "ao.quantization.quantize quantization": "it has no quantised tensors",
    "distributed._composable distributed._shard distributed._shard.sharded_tensor "
    "distributed.algorithms._checkpoint "
    "distributed.algorithms._checkpoint.checkpoint_wrapper "
    "distributed.algorithms.model_averaging distributed.algorithms.model_averaging.averagers "
    "distributed.autograd "
    "distributed.elastic distributed.elastic.multiprocessing "
    "distributed.fsdp.fully_sharded_data_parallel distributed.fsdp.sharded_grad_scaler "
    "distributed.checkpoint.hf_storage distributed.fsdp.wrap distributed.rpc distributed.rpc.api "
    "distributed.tensor._utils distributed._tensor.experimental "
    "distributed.utils": "its processes meet by collectives and DistributedDataParallel",
    "fft": "it has no complex tensors",
    "nn.parallel.scatter_gather": "it trains on one device",
    "fx.experimental fx.graph fx.node": "it traces no program into a graph",
    "_dynamo._trace_wrapped_higher_order_op _dynamo.testing": "it reads no bytecode",
    "library": "its operators have kernels by device, and a backward",
    "_ops": "its functions are Python's",
    "autograd.forward_ad": "torch.func.jvp differentiates forwards",
    "nn.attention.flex_attention": "attention is nn.functional.scaled_dot_product_attention",
    "distributed._functional_collectives": "its collectives are those of torch.distributed",
    "_functorch _functorch.vmap": "its torch.func transforms functions in other ways",
    "_subclasses _subclasses.fake_tensor": "shapes without numbers are tensors on the device meta",
    "masked nested": "it has no masked and nested tensors",
    "models.densenet models.inception models.googlenet models.efficientnet models.detection": (
        "of torchvision's models it has AlexNet, MobileNetV2, ResNet, VGG and ViT"
    ),
    "mtia xpu": "it computes on the CPU and on CUDA",
    "compat.torchvision.io compat.torchvision.ops compat.torchvision.ops.misc": (
        "of torchvision it has data sets, models without weights and transforms"
    ),
}


def why_of(module: str) -> str | None:
    """Why a module of that name does nothing; None if it is none of these.

    Below such a module stand those that PyTorch has there, too.
    """
    if module in WHY:
        return WHY[module]
    parent, _, name = module.rpartition(".")
    why = why_of(parent) if parent else None
    known = names_of_pytorch().get(parent.replace("tiny_torch", "torch", 1))
    return None if known is not None and name not in known else why


WHY = {f"tiny_torch.{path}": why for paths, why in REASONS.items() for path in paths.split()}
# What is asked of other accelerators before they are used.
PROBES = {"is_available": False, "is_initialized": False, "device_count": 0}


class Refused(Loader):
    """Loads a module whose names are made when they are asked for. PyTorch calls it `space`.

    `find(module, name)` answers what is here nevertheless, as compat/paths.py knows; else None.
    """

    def __init__(self, space: str, find: Callable[[str, str], Any]) -> None:
        self.space, self.find = space, find

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name, f"Names only: {why_of(spec.name)}.")
        module.__path__ = []
        vars(module)["refusal"] = why_of(spec.name)  # which check.py reads
        return module

    def exec_module(self, module: ModuleType) -> None:
        why, space = str(why_of(module.__name__)), self.space
        known = names_of_pytorch().get(space)

        def __getattr__(name: str) -> Any:
            here = self.find(module.__name__, name)
            if here is not None:
                return here
            if f"{module.__name__}.{name}" in WHY:
                return importlib.import_module(f"{module.__name__}.{name}")
            if name in PROBES:
                return lambda *arguments: PROBES[name]
            if name.startswith("__") or (known and name[0] != "_" and name not in known):
                raise AttributeError(f"module {space!r} has no attribute {name!r}")
            make = refusing_class if name.lstrip("_")[:1].isupper() else refusing
            found = make(f"{space}.{name}", why)
            setattr(module, name, found)
            return found

        vars(module)["__getattr__"] = __getattr__
