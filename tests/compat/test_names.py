"""The covered names exist, at PyTorch's module paths, and take PyTorch's arguments."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
import subprocess
import sys
import types
import warnings
from pathlib import Path

import pytest
from cases.api_names import FIRST, NAMES, NAMESPACES, OF_INSTANCES

import tiny_torch
from tiny_torch.compat import refused as known

CLASSES = {  # not modules
    "torch.Tensor", "torch.Size", "torch.Generator", "torch.autograd.Function",
    "torch.autograd.function.FunctionCtx", "torch.backends.cuda.matmul", "torch.nn.Module",
    "torch.nn.Sequential", "torch.nn.ModuleList", "torch.optim.Optimizer",
    "torch.optim.lr_scheduler.LRScheduler", "torch.amp.GradScaler",
    "torch.profiler.profile", "torch.autograd.profiler.profile",
    "torch.autograd.profiler.EventList",
}  # fmt: skip


def find(package, name):
    """The object of a name such as "torch.Tensor.add_" in a package."""
    space, *path = name.split(".")
    with contextlib.suppress(ImportError):  # a class, or a module that PyTorch loads by itself
        importlib.import_module(name.rpartition(".")[0].replace(space, package.__name__, 1))
    found = package
    for part in path:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("space", [s for s in NAMESPACES if s not in CLASSES])
def test_namespaces_are_modules(space):
    assert inspect.ismodule(importlib.import_module(space.replace("torch", "tiny_torch", 1)))


MODULES = "nn.utils.fusion nn.utils.init nn.utils.convert_parameters optim.adagrad utils.dlpack"


def test_modules_are_attributes_without_an_import():
    """As `import torch` loads them, in a process that imports nothing else."""
    program = "; ".join(["import tiny_torch as torch", *(f"torch.{m}" for m in MODULES.split())])
    subprocess.run([sys.executable, "-c", program], check=True)


def is_there(name):
    """Whether we have a name; what a ctx has is set by its instance (test_function.py)."""
    if name.startswith("torch.autograd.function.FunctionCtx.") or name in OF_INSTANCES:
        return True
    try:
        find(tiny_torch, name)
    except AttributeError:
        return False
    return True


def absences(packages):
    """Absent names, of nn, optim and data or of the rest; the share of them; those of FIRST."""
    spaces = [s for s in NAMESPACES if (s.split(".")[1:] or [""])[0] in packages]
    names = [f"{space}.{name}" for space in spaces for name in NAMESPACES[space]]
    absent = [name for name in names if not is_there(name)]
    firsts = {f"{space}.{name}" for space in spaces for name in FIRST.get(space, "").split()}
    return absent, len(absent) / len(names), sorted(firsts & set(absent))


TRAINING = {"nn", "optim", "utils"}


def listed():
    """(where, what) of our modules and their classes, and of instances."""
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] == "tiny_torch" and name != "tiny_torch._core":
            yield name, module
            for value in vars(module).values():
                if isinstance(value, type) and value.__module__ == name:
                    yield f"{name}.{value.__name__}", value
    yield "a Parameter", tiny_torch.nn.Parameter(tiny_torch.ones(2, 2))
    yield "a module", tiny_torch.nn.Linear(2, 2)


# What is empty as long as it is not set, and what of a tensor a device has, or a complex one.
EMPTY = {
    *("_hooks", "_latest", "_post_hooks", "__abstractmethods__", "__cuda_array_interface__"),
    "imag",
}


def test_dir_lists_what_is_there():
    untrue = {
        f"{where}.{name}"
        for where, owner in listed()
        for name in dir(owner)
        if name not in EMPTY and not hasattr(owner, name)
    }
    assert not untrue
    x = tiny_torch.ones(2)
    for owner in (x, tiny_torch.Tensor, tiny_torch.nn.Parameter(x)):
        with pytest.raises(AttributeError, match=r"torch\.Tensor\.stft is not in tiny_torch"):
            owner.stft  # noqa: B018


def test_few_names_are_absent():
    others = {(space.split(".")[1:] or [""])[0] for space in NAMESPACES} - TRAINING
    absent, share, first = absences(others)
    assert share <= 0.03 and not first, absent


def test_few_names_of_training_are_absent():
    absent, share, first = absences(TRAINING)
    assert share <= 0.03 and not first, absent


def test_functions_of_torch_have_their_twins(oracle):
    """What is a method of Tensor or in nn.functional here is in torch, too, if PyTorch has it."""
    ours = {*dir(tiny_torch.ones(1)), *dir(tiny_torch.nn.functional)}
    theirs = {name for name in dir(oracle) if inspect.isbuiltin(getattr(oracle, name))}
    assert {n for n in ours & theirs if not hasattr(tiny_torch, n)} == {"embedding_bag"}


def test_the_list_of_pytorchs_names_is_true(oracle):
    """What tiny_torch says of absent names; docs/make_torch_names.py writes it anew."""
    docs = Path(__file__).parents[2] / "docs"
    command = [sys.executable, "-c", "import make_torch_names as m; print(m.page(), end='')"]
    done = subprocess.run(command, cwd=docs, capture_output=True, text=True, check=True)
    assert done.stdout == known.NAMES.read_text()


FALSE = "ipu maia meta mkldnn mps mtia nested quantized sparse sparse_csr vulkan xla xpu cuda"


@pytest.mark.parametrize("kind", FALSE.split())
def test_a_tensor_is_of_no_kind_but_the_cpus(torch, kind):
    assert getattr(torch.ones(2), f"is_{kind}") is False
    with pytest.raises(AttributeError):
        setattr(torch.ones(2), f"is_{kind}", True)


def test_errors_tell_whose_method_was_called():
    with pytest.raises(TypeError, match=r"^Tensor\.retain_grad\(\) takes 1 positional argument"):
        tiny_torch.ones(1).retain_grad(1)


def name_in_error(call):
    """The last part of what an error says was called: "forward" of "ReLU.forward()"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as error:
            return next(iter(re.findall(r"([\w.]+)\(\)", str(error))), "")
    return ""


WRONG = ((), {}), ((), {"nothing": 1}), ((1,) * 40, {})
LAYERS = [
    n for n in tiny_torch.nn.modules.__all__ if isinstance(getattr(tiny_torch.nn, n, 0), type)
]
MADE_BY = {
    "nn": LAYERS,
    "optim": [n for n in tiny_torch.optim.__all__ if n[0].isupper()],
    "optim.lr_scheduler": [n for n in tiny_torch.optim.lr_scheduler.__all__ if n[1].islower()],
}


@pytest.mark.parametrize("space", MADE_BY)
def test_errors_name_the_class_that_was_made(space):
    for name in MADE_BY[space]:
        cls = find(tiny_torch, f"torch.{space}.{name}")
        for args, options in WRONG:
            said = name_in_error(lambda cls=cls, a=args, o=options: cls(*a, **o))
            assert not said or name in said.split("."), f"{said}() instead of {name}()"


def test_errors_name_the_class_that_was_called():
    for name in LAYERS:
        layer = getattr(tiny_torch.nn, name).__new__(getattr(tiny_torch.nn, name))
        tiny_torch.nn.Module.__init__(layer)
        for args, options in WRONG:
            said = name_in_error(lambda m=layer, a=args, o=options: m.forward(*a, **o))
            assert not said or name in said.split("."), f"{said}() instead of {name}.forward()"


# As PyTorch: deprecated names of nn.init say those that are in their place. And names of special.
NAMED_OTHERWISE = {
    "expit",
    "gammaln",
    "multigammaln",
    "ndimension",
    "nelement",
    "psi",
    "torch_diagonal",
}


@pytest.mark.parametrize("space", ["torch", "torch.linalg", "torch.special", "torch.Tensor"])
def test_errors_name_the_function_that_was_called(space):
    home = tiny_torch if space == "torch" else find(tiny_torch, space)
    given = [tiny_torch.ones(2, 2)] if space == "torch.Tensor" else []
    for name in dir(home):
        function = (
            getattr(home, name, None) if name[0] != "_" and name not in NAMED_OTHERWISE else None
        )
        if callable(function) and not isinstance(function, type):
            said = name_in_error(lambda f=function: f(*given, nothing=1))
            assert not said or name in said.split("."), f"{said}() instead of {name}()"


def test_functions_in_place_are_those_of_the_methods(torch):
    x = torch.tensor([-1.0, 4.0])
    assert torch.relu_(x) is x and torch.sqrt_(input=x) is x and x.tolist() == [0, 2]
    assert torch.fill(x, 3).tolist() == [3, 3] and torch.zero_(x).tolist() == [0, 0]
    with pytest.raises(
        TypeError, match=r"exp_\(\): argument 'input' \(position 1\) must be Tensor"
    ):
        torch.exp_([1.0])


def test_functions_of_torch_have_their_own_arguments(torch):
    weight, rows = torch.eye(3), torch.tensor([2, 0])
    assert torch.embedding(weight, rows, -1).tolist() == [[0, 0, 1], [1, 0, 0]]
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    y = torch.batch_norm(x, None, torch.ones(2), None, None, True, 0.1, 0.0, False)
    assert y.tolist() == [[0, 0], [2, 2]]
    loss = torch.hinge_embedding_loss
    assert loss(x, torch.ones(2)).shape == (2, 2) and loss(x, torch.ones(2), 1.0, 2) == 12


# -------------------------------------------------------------------------------------- signatures

# Overloads that ours do not take, as patterns of "name overload", with the reason.
OTHER = {
    r"torch\.(Tensor\.)?(add|sub)_? Scalar(_out)?": "an old order, which outdated.py takes",
    r"torch\.is_(tensor|storage) python": "takes it by position only, in PyTorch, too",
    r"torch\.(Tensor\.)?subtract_? Scalar": "alpha by position is not in its documentation",
    r"torch\.(mul|select) (left_t|right_|t)": "of TorchScript's lists",
    r"torch\.(Tensor\.)?sort (int|float|Tensor|bool|str|any)": "of TorchScript's lists",
    r"torch\.ldexp ": "TorchScript's math.ldexp(x, i)",
    r"torch\.((empty|ones|zeros)_like|empty_strided|\w+_window) (\w+_)?out": "of C++ alone",
    r"torch\.Tensor\.is_contiguous memory_format": "of C++; Python's takes it by keyword only",
    r"torch\.Tensor\.copy_ (Tensor|int|float)": "of TorchScript; the Tensor's is copy_(src)",
    r"torch\.normal out": "of C++; torch.normal(mean, std, out=) is another overload",
    r"torch\.(Tensor\.)?(tensor|h|v|d)_?split .*": "the documented indices_or_sections",
}
OUTSIDE = {"names", "dimname", "Dimname", "names_out", "dimname_out"}  # named tensors


def overloads(oracle, name):
    """PyTorch's argument lists for a name: (overload, positional names, names only by keyword)."""
    space, _, last = name.rpartition(".")
    function = find(oracle, name)
    method = space == "torch.Tensor"
    dispatched = oracle._jit_internal.boolean_dispatched
    while function in dispatched:  # on return_inverse=, ...: to functions of the same arguments
        function = dispatched[function]["if_true"]
    if inspect.isfunction(function):  # PyTorch defines it in Python, and the signature is there
        found = [
            (p.name, p.kind is p.KEYWORD_ONLY)
            for p in inspect.signature(function).parameters.values()
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and not p.name.startswith("_")
        ]
        yield "python", [n for n, k in found if not k][method:], [n for n, k in found if k]
        return
    operator = f"aten::{'linalg_' if space == 'torch.linalg' else ''}{last}"
    for schema in oracle._C._jit_get_schemas_for_operator(operator):
        arguments = schema.arguments
        first = [i for i, a in enumerate(arguments) if a.name == "self"]
        if OUTSIDE & {schema.overload_name} or "ename" in schema.overload_name:
            continue
        if method and (not first or any(a.is_out for a in arguments)):
            continue
        if (
            not method
            and any(a.is_out for a in arguments)
            and "out=None" not in (function.__doc__ or "")
        ):
            continue  # in C++ only
        if sum(a.is_out for a in arguments) > 1:
            continue  # out=(values, indices) in Python
        if {"a", "b", "t", "out_dtype"} & {a.name for a in arguments}:
            continue  # TorchScript's own, and what only CUDA has
        found = [("input" if a.name == "self" else a.name, a.kwarg_only) for a in arguments]
        if method:
            found.pop(first[0])
        yield schema.overload_name, [n for n, k in found if not k], [n for n, k in found if k]


FUNCTIONS = [
    name
    for name in NAMES
    if re.fullmatch(
        r"torch\.((Tensor|linalg|func|autograd|autograd\.functional|nn\.functional)\.)?[a-z]\w*",
        name,
    )
]


def test_only_functions_have_out(torch):
    x = torch.ones(3)
    for call in (x.exp, x.sum, x.sort, x.nonzero, x.t, x.isnan, lambda out: x.add(1, out=out)):
        with pytest.raises(TypeError):
            call(out=torch.empty(3))
    if torch is tiny_torch:
        for name in dir(torch.Tensor):
            method = getattr(torch.Tensor, name, None)
            if "out" in getattr(getattr(method, "__code__", None), "co_varnames", ()):
                with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
                    method(x, out=x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments(oracle, name):
    """Every overload of PyTorch's can be called, by position and by keyword."""
    theirs = find(oracle, name)
    if not callable(theirs) or inspect.isclass(theirs):
        return
    ours = find(tiny_torch, name)
    try:
        signature = inspect.signature(ours)
    except (TypeError, ValueError):
        return  # a builtin without a signature: tests/sweep.py calls it
    me = [None] if name.startswith("torch.Tensor.") else []
    wrong = []
    for overload, positional, keyword in overloads(oracle, name):
        if any(re.fullmatch(pattern, f"{name} {overload}") for pattern in OTHER):
            continue
        many = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
        for places in (positional,) if many else (positional, []):
            rest = [n for n in positional if n not in places] + keyword
            try:
                signature.bind(*me, *places, **dict.fromkeys(rest))
            except TypeError as error:
                wrong.append(
                    f"{overload}({', '.join(positional)}, *, {', '.join(keyword)}): {error}"
                )
                break
    assert not wrong, f"{signature} does not take\n" + "\n".join(wrong)


PYTHONS = [  # what PyTorch has in Python: modules, optimisers, schedulers, datasets, init, utils
    name
    for name in NAMES
    if re.match(r"torch\.(nn|optim|utils)\.", name) and name not in OF_INSTANCES
]  # fmt: skip


@pytest.mark.parametrize("name", PYTHONS)
def test_parameters_of_training(oracle, name):
    """The same names, kinds and defaults, where PyTorch's are in Python and say them."""
    theirs = find(oracle, name)
    if not is_there(name):
        pytest.xfail(f"{name} is absent")
    try:
        wanted = inspect.signature(theirs)
    except (TypeError, ValueError):
        return
    if any(p.kind is p.VAR_POSITIONAL for p in wanted.parameters.values()):
        return  # as RNN(*args): it says nothing
    assert parameters(inspect.signature(find(tiny_torch, name))) == parameters(wanted)


def parameters(signature):
    plain = (bool, int, float, str, tuple, type(None))
    return [
        (p.name, p.kind.name, p.default if isinstance(p.default, plain) else "of another type")
        for p in signature.parameters.values()
    ]


def test_star_brings_names_and_no_module():
    brought: dict[str, object] = {}
    exec("from tiny_torch import *", brought)
    assert not [n for n, v in brought.items() if isinstance(v, types.ModuleType)]
    assert not {"Any", "TYPE_CHECKING", "TypeGuard", "os"} & {*brought, *dir(tiny_torch)}
    assert brought["Tensor"] is tiny_torch.Tensor and brought["load"] is tiny_torch.load


def test_flags_of_backends_hold_within_a_block(torch):
    cudnn = torch.backends.cudnn
    cudnn.allow_tf32 = True  # whatever a test before has left
    with cudnn.flags(enabled=True, benchmark=True, deterministic=True, allow_tf32=False):
        assert cudnn.set_flags() == (True, True, None, True, False, "none", "auto")
    assert cudnn.set_flags(_deterministic=True) == (True, False, None, False, True, "none", "auto")
    assert cudnn.deterministic is True and cudnn.set_flags(_deterministic=False)[3] is True
    assert cudnn.benchmark_limit is None and not cudnn.is_acceptable(torch.ones(2))
    mkldnn = torch.backends.mkldnn
    before = mkldnn.enabled
    with mkldnn.flags(enabled=not before):
        assert mkldnn.set_flags()[0] is mkldnn.enabled is (not before)
    assert mkldnn.enabled is before
    with pytest.warns(FutureWarning, match=r"sdp_kernel\(\)` is deprecated. In the future"):
        kernels = torch.backends.cuda.sdp_kernel(enable_flash=False)
    with kernels:
        x = torch.nn.functional.scaled_dot_product_attention(*torch.ones(3, 2, 2))
    assert x.tolist() == [[1, 1], [1, 1]]


def test_ways_of_attention_are_switched(torch):
    cuda, x = torch.backends.cuda, torch.ones(3, 1, 1, 2, 2)
    attention = torch.nn.functional.scaled_dot_product_attention
    ways = "flash", "mem_efficient", "math", "cudnn"
    try:
        for way in ways:
            assert getattr(cuda, f"{way}_sdp_enabled")() is True
            getattr(cuda, f"enable_{way}_sdp")(False)
            assert getattr(cuda, f"{way}_sdp_enabled")() is False
            if way == "flash":
                assert attention(*x).equal(x[0])
        with pytest.raises(RuntimeError, match="No viable backend"):
            attention(*x)
        with pytest.raises(RuntimeError, match="expects a bool, but got int"):
            cuda.enable_flash_sdp(1)
    finally:
        for way in ways:
            getattr(cuda, f"enable_{way}_sdp")(True)


def test_absent_flags_of_backends_are_pytorchs():
    with pytest.raises(AttributeError, match=r"cudnn.conv is not in tiny_torch .*; PyTorch has it"):
        tiny_torch.backends.cudnn.conv  # noqa: B018
