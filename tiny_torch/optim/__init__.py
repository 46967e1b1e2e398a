"""Optimisers: rules that change parameters by their gradients.

`optimizer.py` is what they share: groups of parameters, saved states, hooks. `sgd.py`, `rmsprop.py`
and `adam.py`, read in this order, are the algorithms that most others vary.
"""

from typing import TYPE_CHECKING

from tiny_torch.base.docstrings import own_methods
from tiny_torch.optim import saving
from tiny_torch.optim._foreach import ForeachOptimizer
from tiny_torch.optim.adam import Adam
from tiny_torch.optim.adamw import AdamW
from tiny_torch.optim.optimizer import Optimizer
from tiny_torch.optim.rmsprop import RMSprop
from tiny_torch.optim.sgd import SGD

if TYPE_CHECKING:  # loaded when they are asked for: compat/paths.py
    from tiny_torch.optim import lr_scheduler, swa_utils
    from tiny_torch.optim.adadelta import Adadelta
    from tiny_torch.optim.adafactor import Adafactor
    from tiny_torch.optim.adagrad import Adagrad
    from tiny_torch.optim.adamax import Adamax
    from tiny_torch.optim.asgd import ASGD
    from tiny_torch.optim.lbfgs import LBFGS
    from tiny_torch.optim.muon import Muon
    from tiny_torch.optim.nadam import NAdam
    from tiny_torch.optim.radam import RAdam
    from tiny_torch.optim.rprop import Rprop

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "swa_utils",
]


def _name_step(cls: type) -> None:
    """Errors of `step` name the class that was called."""
    own_methods(cls, "step")


for _class in ForeachOptimizer.__subclasses__():
    _name_step(_class)
ForeachOptimizer.__init_subclass__ = classmethod(_name_step)  # type: ignore[assignment]
