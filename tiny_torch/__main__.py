"""`python -m tiny_torch` prints what was built and what of it this machine uses.

`python -m tiny_torch run script.py [args…]` runs a PyTorch script: _run.py.
"""

import platform
import sys

import numpy as np

import tiny_torch
from tiny_torch import _core

EXTENSIONS = {"v2": "SSE4.2", "v3": "AVX2 and FMA", "v4": "AVX-512", "base": "no extension"}


def diagnosis() -> str:
    """The lines that `python -m tiny_torch` prints."""
    isa = _core.instruction_set
    lines = {
        "tiny_torch": tiny_torch.__version__,
        "Python": f"{platform.python_version()}, NumPy {np.__version__}, {platform.machine()}",
        "devices": "cpu, ref (plain Python, for reading and testing)",
        "instruction set": f"{isa} ({EXTENSIONS[isa]}); TINY_TORCH_ISA=v2|v3|v4 asks for another",
        "threads": str(tiny_torch.get_num_threads()),
        "CUDA": "no: this version has no CUDA backend",
    }
    return "\n".join(f"{name:16} {value}" for name, value in lines.items())


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        from tiny_torch import _run

        _run.run(sys.argv[2:])
    elif sys.argv[1:]:
        raise SystemExit("usage: python -m tiny_torch [run script.py [args…]]")
    else:
        print(diagnosis())
