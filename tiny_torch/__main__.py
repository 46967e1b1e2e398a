"""`python -m tiny_torch` prints what was built and what of it this machine uses.

With a command it does what the table below says.
"""

import importlib
import os
import platform
import sys

import numpy as np

import tiny_torch
from tiny_torch import _core

EXTENSIONS = {
    "v2": "SSE4.2",
    "v3": "AVX2 and FMA",
    "v4": "AVX-512",
    "v4bf16": "AVX-512 with products of bfloat16",
    "v4amx": "AVX-512 with tiles of bfloat16",
    "v4amx-emulated": "tiles of bfloat16, spelt in C++",
    "base": "no extension",
}
API = tiny_torch.__version__.partition("+")[0]
# {command: (the module whose `main` it is, its arguments, what it does)}. A module is loaded when
# it is asked for.
COMMANDS = {
    "run": (
        "compat.run",
        "script.py [args…]",
        "runs a PyTorch script, or -m module, on tiny_torch",
    ),
    "check": ("compat.check", "PATH…", "what scripts use of PyTorch that is not here"),
    "profile": (
        "tools.profiler.command",
        "script.py",
        "an HTML page of its time and memory",
    ),
    "explain": ("tools.explaining.command", "FILE:LINE", "the way of its ops, down to the kernels"),
    "apps": ("tools.apps", "[NAME args…]", "lists the example trainings, or runs one"),
    "homework": ("tools.homework.command", "list | …", "tasks, and the check of what you wrote"),
    "to-c": ("tools.export.command", "FILE …", "a saved model as one file of C"),
    "where": ("tools.where", "NAME", "the files and lines behind a name such as exp"),
}


def usage() -> str:
    lines = {"": "what was built, and what this machine uses of it"}
    lines |= {f"{name} {given}": text for name, (_, given, text) in COMMANDS.items()}
    told = [f"python -m tiny_torch {call:22} {text}" for call, text in lines.items()]
    return "usage: " + "\n       ".join([*told, "python -m tiny_torch --version | --help"])


def diagnosis() -> str:
    """The lines that `python -m tiny_torch` prints."""
    isa = _core.instruction_set
    refused = "the system refuses tiles; " if _core.refuses_tiles else ""
    lines = {
        "tiny_torch": f"{tiny_torch.version.OWN}, with the API of PyTorch {API}",
        "Python": f"{platform.python_version()}, NumPy {np.__version__}, {platform.machine()}",
        "devices": "cpu, ref (plain Python, for reading and testing), cuda-emulated, meta",
        "instruction set": f"{isa} ({EXTENSIONS[isa]}); "
        f"{refused}TINY_TORCH_ISA=v2|v3|v4|v4bf16|v4amx asks for another",
        "threads": str(tiny_torch.get_num_threads()),
        "CUDA": cuda_found(),
    }
    return "\n".join(f"{name:16} {value}" for name, value in lines.items())


def cuda_found() -> str:
    """The GPU's name, or why there is none."""
    if not tiny_torch.backends.cuda.is_built():
        reason = _core.without_cuda
        why = f"built without, {reason}" if reason else "switched off by TINY_TORCH_CUDA=off"
        return f"no: {why}. TINY_TORCH_CUDA=emulated runs its kernels on this processor"
    if not tiny_torch.cuda.is_available():
        return "built, but there is no GPU or no driver"
    return tiny_torch.cuda.get_device_name()


def main(arguments: list[str]) -> int:
    """The exit code of `python -m tiny_torch` with these arguments."""
    if arguments and arguments[0] in COMMANDS:
        module = importlib.import_module(f"tiny_torch.{COMMANDS[arguments[0]][0]}")
        return module.main(arguments[1:])
    if not arguments:
        print(diagnosis())
    elif arguments in (["-h"], ["--help"]):
        print(usage())
    elif arguments == ["--version"]:
        print("tiny_torch", tiny_torch.version.OWN)
    else:
        print(usage(), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)
