"""Attaches to Module the parts of it that it can do without, and hooks on all modules."""

from __future__ import annotations

from tiny_torch.autograd.record import recordable
from tiny_torch.base.docstrings import extend
from tiny_torch.functions.refusals import refused_by_layer
from tiny_torch.nn.modules import _global_hooks, module
from tiny_torch.nn.modules._calling import Calling
from tiny_torch.nn.modules._conversion import Conversion
from tiny_torch.nn.modules._state_dict import StateDict

for _part in (Calling, StateDict, Conversion):
    extend(module.Module, _part)
module.Module._better_error = refused_by_layer  # type: ignore[assignment, method-assign]
recordable(module.Module)
for _name, _value in vars(_global_hooks).items():  # PyTorch has them in that module
    if _name.startswith(("_global_", "register_module_")):
        setattr(module, _name, _value)
