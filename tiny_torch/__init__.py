"""tiny_torch: a deep-learning framework with PyTorch's API, small enough to be read.

The way in, for readers: README.md. What a name does: https://pytorch.org/docs/stable/.
"""

# ruff: noqa: E402
import os
import sys

# `python -m tiny_torch homework` looks for no module in the folder that it is started in, where
# students' files may lie: not even for those that NumPy imports below.
if sys.argv[:2] == ["-m", "homework"] and sys.path[0] == os.getcwd():
    del sys.path[0]

# A thread that spins while it waits takes the processor from the one it waits for, where another
# process is busy: measured, 8 ms a parallel region. To be set before libgomp is loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any, TypeGuard

try:
    from tiny_torch import _core
except ImportError:
    from importlib.util import find_spec

    if find_spec("tiny_torch._core") is not None:  # it is there, and does not load
        raise
    raise ImportError(
        "tiny_torch's C++ extension is not built: in the clone, `pip install -e .` builds it"
    ) from None

from tiny_torch import autograd
from tiny_torch._core import (
    OutOfMemoryError,
    dtype,
    get_default_dtype,
    get_num_threads,
    set_default_dtype,
)
from tiny_torch.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from tiny_torch.base import devices, dtypes, layouts, return_types, switches, version
from tiny_torch.base.devices import device
from tiny_torch.base.size import Size
from tiny_torch.base.version import __version__
from tiny_torch.functions import methods
from tiny_torch.functions.creation import tensor_types
from tiny_torch.functions.random import generator as random
from tiny_torch.functions.random.generator import Generator
from tiny_torch.tensor import Tensor

newaxis = None

if TYPE_CHECKING:  # the names that the loop below adds, and what is loaded when it is asked for
    from tiny_torch import cuda, distributed, distributions, func
    from tiny_torch.amp import GradScaler
    from tiny_torch.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
    from tiny_torch.compat import backends, cpu
    from tiny_torch.compat.standins import (
        _dynamo,
        _inductor,
        compiler,
        fx,
        hub,
        jit,
        types,
    )
    from tiny_torch.compat.standins.compiler import compile
    from tiny_torch.cuda import accelerator
    from tiny_torch.distributed import work as futures
    from tiny_torch.exchange import safetensors, serialization
    from tiny_torch.exchange.serialization import load, save
    from tiny_torch.func import vmap
    from tiny_torch.functions import torch_linalg as linalg
    from tiny_torch.functions import torch_signal as signal
    from tiny_torch.functions import torch_special as special
    from tiny_torch.functions._published import *
    from tiny_torch.tools import profiler
    from tiny_torch.tools.export import onnx
    from tiny_torch.utils import metrics, testing
    from tiny_torch.vision import datasets, models, transforms


for _module in (dtypes, methods, devices, layouts, random, switches, tensor_types):
    globals().update(methods.publish(__name__, _module.FUNCTIONS))


def is_tensor(obj: object, /) -> TypeGuard[Tensor]:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def typename(obj: object) -> str:
    """The name of an object's type; of a tensor as in "torch.FloatTensor"."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    module = "" if kind.__module__ == "builtins" else kind.__module__ + "."
    return module + kind.__qualname__


def as_torch() -> Any:
    """From here on, or in a `with` block, `import torch` answers with tiny_torch: compat/run.py."""
    from tiny_torch.compat import run  # which loads importlib.metadata

    return run.as_torch()


# These build on the names above.
from tiny_torch import amp, nn, optim, utils
from tiny_torch.amp import autocast
from tiny_torch.amp import state as _autocast_state
from tiny_torch.compat import absent, paths, twins
from tiny_torch.exchange import plain
from tiny_torch.utils import multiprocessing

globals().update(methods.publish(__name__, twins.FUNCTIONS))
globals().update(methods.publish(__name__, _autocast_state.FUNCTIONS))
methods.attach(plain.METHODS)
__path__.append(str(paths.STANDINS))
paths.install()
absent.install()
del os, sys, TYPE_CHECKING, Any, TypeGuard  # no names of ours
# As of PyTorch's, without modules.
__all__ = [n for n, v in globals().items() if not n.startswith("_") and type(v) is not type(nn)]
__all__ += [
    name for (module, name), (_, its_name) in paths.WHERE.items() if module == __name__ and its_name
]
