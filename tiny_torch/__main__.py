"""`python -m tiny_torch` prints what was built and what of it this machine uses.

`python -m tiny_torch run script.py [args…]` runs a PyTorch script: compat/run.py.
`python -m tiny_torch profile script.py [args…]` tells where its time goes: profiler/command.py.
`python -m tiny_torch explain script.py:LINE` tells the way of a line's ops: utils/explaining.
`python -m tiny_torch where exp` prints a name's way to its kernels: _where.py.
`python -m tiny_torch apps` lists the example trainings, and runs one: _apps.py.
"""

import platform
import sys

import numpy as np

import tiny_torch
from tiny_torch import _apps, _core

EXTENSIONS = {
    "v2": "SSE4.2",
    "v3": "AVX2 and FMA",
    "v4": "AVX-512",
    "v4bf16": "AVX-512 with products of bfloat16",
    "base": "no extension",
}
USAGE = """\
usage: python -m tiny_torch                        what was built, and what this machine uses of it
       python -m tiny_torch run script.py [args…]  runs a PyTorch script on tiny_torch
       python -m tiny_torch run -m module [args…]  the same of a module
       python -m tiny_torch profile script.py      where its time and memory go, as an HTML page
       python -m tiny_torch explain FILE:LINE      the way of a line's ops, down to the kernels
       python -m tiny_torch where NAME             the files and lines behind a name such as exp
       python -m tiny_torch apps [NAME args…]      lists the example trainings, or runs one
       python -m tiny_torch --version | --help"""


def diagnosis() -> str:
    """The lines that `python -m tiny_torch` prints."""
    isa = _core.instruction_set
    lines = {
        "tiny_torch": tiny_torch.__version__,
        "Python": f"{platform.python_version()}, NumPy {np.__version__}, {platform.machine()}",
        "devices": "cpu, ref (plain Python, for reading and testing), cuda-emulated, meta",
        "instruction set": f"{isa} ({EXTENSIONS[isa]}); "
        "TINY_TORCH_ISA=v2|v3|v4|v4bf16 asks for another",
        "threads": str(tiny_torch.get_num_threads()),
        "CUDA": cuda_found(),
    }
    return "\n".join(f"{name:16} {value}" for name, value in lines.items())


def cuda_found() -> str:
    """The GPU's name, or why there is none."""
    if not tiny_torch.backends.cuda.is_built():
        return "no: built without; TINY_TORCH_CUDA=emulated runs its kernels on this processor"
    if not tiny_torch.cuda.is_available():
        return "built, but there is no GPU or no driver"
    return tiny_torch.cuda.get_device_name()


def main(arguments: list[str]) -> int:
    """The exit code of `python -m tiny_torch` with these arguments."""
    if arguments[:1] == ["run"]:
        from tiny_torch.compat import run as _run  # which loads multiprocessing

        _run.run(arguments[1:])
    elif arguments[:1] == ["profile"]:
        from tiny_torch.profiler import command  # which loads multiprocessing, too

        return command.main(arguments[1:])
    elif arguments[:1] == ["explain"]:
        from tiny_torch.utils.explaining import command as explain  # which loads the ref device

        return explain.main(arguments[1:])
    elif arguments[:1] == ["apps"]:
        return _apps.main(arguments[1:])
    elif arguments[:1] == ["where"]:
        from tiny_torch import _where  # which loads the ref device

        return _where.main(arguments[1:])
    elif not arguments:
        print(diagnosis())
    elif arguments in (["-h"], ["--help"]):
        print(USAGE)
    elif arguments == ["--version"]:
        print("tiny_torch", tiny_torch.__version__)
    else:
        print(USAGE, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
