"""`torch.nn`: modules, parameters, functions and initialisers."""

from tiny_torch.nn import (
    _uninitialized,
    attention,
    common_types,
    functional,
    init,
    modules,
    parallel,
    parameter,
    utils,
)
from tiny_torch.nn.modules import *
from tiny_torch.nn.modules import __all__ as _layers
from tiny_torch.nn.parallel import DataParallel
from tiny_torch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    *_layers,
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "functional",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
]
