"""`torch.nn`: modules, parameters, functions and initialisers."""

from typing import TYPE_CHECKING

from tiny_torch.nn import functional, init, modules, parameter, utils
from tiny_torch.nn.modules import *
from tiny_torch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

if TYPE_CHECKING:  # loaded when they are asked for: compat/paths.py
    from tiny_torch.nn import attention, common_types, parallel
    from tiny_torch.nn.parallel import DataParallel

__all__ = [
    *vars(modules)["__all__"],
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
