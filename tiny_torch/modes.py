"""What this thread's ops must mind: one integer, which each op reads before anything else."""

from __future__ import annotations

import threading
from typing import Any

from tiny_torch import _core

NO_GRAD: int = 1
INFERENCE: int = 2
OFF: int = NO_GRAD | INFERENCE
ANOMALY: int = 4
SAVED_HOOKS: int = 8
WATCHED: int = 16  # a mode of autograd/op_mode.py wants to see all ops, or those of some names
RECORDED: int = 32  # a profiler notes how long each takes: autograd/record.py
modes: Any = _core.modes  # `bits`: 0 is plain recording


class Thread(threading.local):
    """What this thread's modes need beside their bits."""

    check_nan = True  # of ANOMALY
    running: Any = None  # the node whose backward runs, under ANOMALY
    origins: Any = None  # of ANOMALY: which ops first made NaN and inf
    saved_hooks: Any = None  # (pack, unpack), under SAVED_HOOKS
    backward: Any = None  # weak: the last engine's Run that met a packed value, or a Function
    checkpoint_contexts: Any = None  # of utils.checkpoint: a context_fn for calls that have none
    op_modes: tuple = ()  # the innermost last, under WATCHED
    see_node: Any = None  # (node, gradient) of a row of the record that begins, under RECORDED


thread = Thread()
