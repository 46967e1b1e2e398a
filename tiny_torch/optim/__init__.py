"""Optimisers: rules that change parameters by their gradients.

`optimizer.py` is what they share: groups of parameters, saved states, hooks. `sgd.py`, `rmsprop.py`
and `adam.py`, read in this order, are the algorithms.
"""

from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = ["Adam", "AdamW", "Optimizer", "RMSprop", "SGD"]
