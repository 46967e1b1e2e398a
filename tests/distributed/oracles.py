"""What PyTorch's gloo answers at two ranks to the functions below, all asked in one start of it.

Each is called as f(lib, rank, n, folder), with a folder that only its ranks share.
"""

import functools
import importlib
import tempfile
from pathlib import Path

import gloo

FUNCTIONS = [
    "test_checkpoints_of_ranks:saved_and_loaded",
    "test_parallel:theirs",
    "test_parallel:flowing",
    "test_dynamic_graphs:reduced",
    "test_zero:stepped",
    "test_fsdp:trained",
    "test_pipelining:trained",
    "test_pipelining:orders",
    "test_pipelining:spread",
    "test_tensor_parallel:trained",
    "test_tensor_parallel:mesh_facts",
    "test_joining:joined",
    "test_joining:refused",
    "test_power_sgd:compressed",
]


def run(lib, rank, n, folder):
    found = {}
    for name in FUNCTIONS:
        module, _, function = name.partition(":")
        own = Path(folder) / name.replace(":", "_")
        found[name] = getattr(importlib.import_module(module), function)(lib, rank, n, own)
    return found


@functools.cache
def everything():
    with tempfile.TemporaryDirectory() as folder:
        return gloo.answers(("oracles:run", 2, folder))[0]


def theirs(name):
    """The answers of both ranks to "module:function"."""
    return [found[name] for found in everything()]
