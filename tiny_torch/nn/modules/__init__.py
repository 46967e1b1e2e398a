"""The layers of `torch.nn`, one file per family."""

from typing import TYPE_CHECKING

from tiny_torch.autograd.record import recordable
from tiny_torch.base.docstrings import extend, own_methods
from tiny_torch.functions.refusals import refused_by_layer
from tiny_torch.nn.modules._parts.calling import Calling
from tiny_torch.nn.modules._parts.conversion import Conversion
from tiny_torch.nn.modules._parts.state_dict import StateDict
from tiny_torch.nn.modules.activation import *
from tiny_torch.nn.modules.adaptive import *
from tiny_torch.nn.modules.batchnorm import *
from tiny_torch.nn.modules.container import *
from tiny_torch.nn.modules.conv import *
from tiny_torch.nn.modules.distance import *
from tiny_torch.nn.modules.dropout import *
from tiny_torch.nn.modules.embedding import *
from tiny_torch.nn.modules.flatten import *
from tiny_torch.nn.modules.instancenorm import *
from tiny_torch.nn.modules.lazy import LazyLinear
from tiny_torch.nn.modules.linear import *
from tiny_torch.nn.modules.loss import *
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.modules.normalization import *
from tiny_torch.nn.modules.padding import *
from tiny_torch.nn.modules.pooling import *
from tiny_torch.nn.modules.rnn import *
from tiny_torch.nn.modules.rnn_cell import *
from tiny_torch.nn.modules.spatial import *
from tiny_torch.nn.modules.transformer import *

_layers = {n: x for n, x in globals().items() if isinstance(x, type) and issubclass(x, Module)}
if not TYPE_CHECKING:  # which reads the lines above
    __all__ = [*_layers]


# The parts of Module that it can do without.
for _part in (Calling, StateDict, Conversion):
    extend(Module, _part)
Module._better_error = refused_by_layer  # type: ignore[assignment, method-assign]
recordable(Module)

for _layer in _layers.values():
    own_methods(_layer, "__init__")
    if _layer.forward is not Module.forward:
        own_methods(_layer, "forward")
