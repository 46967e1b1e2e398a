"""Draws a random program from a seed: lines of Python over a pool of tensors, one after another.

A line is a call of any public name by its signature, one of the fitting calls of
random_calls_cases.py, or an expression of the sweep (sweep_cases*.py); some are then changed, an
argument here, a name there. Names of tensors go from line to line, so that results of odd layouts
and values are arguments of later ones. Which line comes next follows from the seed and the shapes
so far. random_programs.py runs them.
"""

from __future__ import annotations

import ast
import inspect
import math
import random
from collections.abc import Callable
from typing import Any

from cases.api_names import NAMESPACES
from programs.random_calls_cases import RECIPES
from programs.random_values import (
    CHOICES,
    DTYPES,
    FLOATS,
    SMALL,
    WORDS,
    WRONG,
    LargeArguments,
    Values,
)
from sweeps.sweep_cases import EXPRESSIONS, PREPARE, TENSORS

import tiny_torch

# In front of every program.
HEADER = """\
import copy, inspect, io, math, operator, pickle
from math import inf, nan
import numpy as np
import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.utils import data
F = nn.functional
torch.manual_seed(0)"""
SPACES = (
    "torch", "torch.Tensor", "torch.Tensor", "torch.linalg", "torch.nn", "torch.nn.functional",
    "torch.nn.init", "torch.nn.utils", "torch.nn.utils.rnn", "torch.distributions",
)  # fmt: skip
# No program may call these: what they do outlives it, differs from run to run, or may take for
# ever in PyTorch, too (gradcheck calls its function for every element).
EXCLUDED = {
    "torch.seed", "torch.save", "torch.load", "torch.set_num_threads", "torch.set_rng_state",
    "torch.set_num_interop_threads", "torch.set_default_device", "torch.Tensor.data_ptr",
    "torch.set_default_dtype", "torch.set_default_tensor_type", "torch.Tensor.__hash__",
    "torch.nn.init.trunc_normal_",
}  # fmt: skip
OUTSIDE = (
    "num_workers", "data_ptr", ".seed()", "set_num", "torch.seed", "id(", "gradcheck",
    "set_default_device",
)  # fmt: skip
LARGEST = 40_000  # elements of a tensor that later lines may name
SQUARED = ("hessian", "jac")  # whose time grows by the square of the elements, or faster
FEW = 40  # elements of their tensors
POOL = 10  # tensors that later lines may name
LOOPING = (
    "LSTM", "GRU", "RNN", "Transformer", "TransformerEncoder", "TransformerDecoder", "LBFGS",
    "spectral_norm", "trunc_normal_",
)  # fmt: skip
REPEATS = ("num_layers", "num_encoder_layers", "num_decoder_layers", "n_power_iterations")
INDICES = ("index", "indices", "target", "sorter", "labels", "batch_sizes", "lengths", "offsets")
COUNTS = (
    "k", "n", "kernel_size", "stride", "padding", "dilation", "output_padding", "groups", "bins",
    "size", "sizes", "output_size", "chunks", "sections", "num_samples", "repeats",
    "in_channels", "out_channels", "in_features", "out_features", "num_features", "num_heads",
    "hidden_size", "input_size", "num_embeddings", "embedding_dim", "num_groups", "num_channels",
    "upscale_factor", "normalized_shape", "shape", "dims", "shifts", "split_size_or_sections",
)  # fmt: skip


def resolve(name: str) -> Any:
    value: Any = tiny_torch
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def signatures() -> dict[str, list[inspect.Parameter]]:
    """The parameters of every name that is called by its signature."""
    found = {}
    for name in sorted(f"{space}.{name}" for space in set(SPACES) for name in NAMESPACES[space]):
        value = resolve(name)
        if name in EXCLUDED or not callable(value) or inspect.isabstract(value):
            continue
        try:
            found[name] = list(inspect.signature(value).parameters.values())
        except ValueError:
            continue
    return found


SIGNATURES = signatures()
BY_SPACE = [[name for name in SIGNATURES if name.rpartition(".")[0] == space] for space in SPACES]
METHODS = [name.rpartition(".")[2] for name in SIGNATURES if name.startswith("torch.Tensor.")]
TEXTS = [
    (PREPARE.get(name, ""), text)
    for name, texts in EXPRESSIONS.items()
    for text in texts
    if not any(word in PREPARE.get(name, "") + text for word in OUTSIDE)
    and not name.startswith(("set_", "random.", "backends", "cuda", "hub", "multiprocessing"))
    and not name.startswith(("distributed", "futures"))  # which wait for others
]


class Program(Values):
    """Draws lines and has them run; `names` is what they see, `run` answers whether a line did."""

    def __init__(self, seed: int, names: dict[str, Any], run: Callable[[str], bool]):
        super().__init__(random.Random(seed))
        self.names, self.run = names, run
        self.pool: list[str] = []  # texts of tensors
        self.focus: Any = None  # the first tensor of the call that is being drawn
        self.numbers = 0
        self.dtype = "float32"
        self.most = LARGEST  # elements of a tensor of the call
        run(HEADER)

    def call(self) -> None:
        """Draws a call and runs it, with the lines that make its tensors."""
        self.focus, self.most = None, LARGEST
        self.dtype = "float32" if self.chance(0.6) else self.draw.choice(DTYPES)
        drawn = self.draw.random()
        if drawn < 0.4:
            text = self.by_signature()
        elif drawn < 0.75:
            text = self.limited(self.draw.choice(RECIPES))
        else:
            text = self.expression()
        tree = ast.parse(text)
        Filling(self).visit(tree)
        if self.chance(0.4):
            Change(self, tree)
        result = self.new_name("r")
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            tree.body[-1] = ast.Assign([ast.Name(result, ast.Store())], last.value)
        ast.fix_missing_locations(tree)
        large = LargeArguments(self, tree)
        done = [self.run(ast.unparse(statement)) for statement in tree.body]
        if done[-1] and result in self.names:
            self.keep(result)
        for name in large.names:
            self.run(f"del {name}")

    # ------------------------------------------------------------------------------ the pool

    def new_name(self, letter: str) -> str:
        self.numbers += 1
        return f"{letter}{self.numbers}"

    def keep(self, name: str) -> None:
        """Makes a result's tensors arguments of later lines, and maybe goes backward from it."""
        value = self.names[name]
        if isinstance(value, tiny_torch.nn.Module) and self.chance(0.9):
            called = self.new_name("r")
            if self.run(f"{called} = {name}({self.tensor()})"):
                self.keep(called)
            return
        if isinstance(value, tiny_torch.distributions.Distribution):
            self.run(f"{name}.log_prob({name}.sample())")
            return
        found = {name: value}
        if isinstance(value, tuple | list):
            found = {f"{name}[{i}]": part for i, part in enumerate(value[:3])}
        for text, tensor in found.items():
            if isinstance(tensor, tiny_torch.Tensor) and usable(tensor):
                self.pool.append(text)
                if tensor.requires_grad and self.chance(0.5):
                    self.backward(text)
        del self.pool[:-POOL]

    def backward(self, text: str) -> None:
        tensor = self.value(text)
        leaves = [t for t in self.pool if self.value(t).requires_grad]
        if self.chance(0.4) or not leaves:
            given = self.like(tensor) if tensor.ndim or self.chance(0.2) else ""
            self.run(f"{text}.backward({given})")
            return
        some = ", ".join(self.draw.sample(leaves, min(len(leaves), 3)))
        grads, again = self.new_name("g"), self.chance(0.4)
        how = "create_graph=True" if again else "retain_graph=True"
        line = f"{grads} = torch.autograd.grad({text}.sum(), [{some}], {how}, allow_unused=True)"
        if self.run(line) and again:
            line = f"sum(g.sum() for g in {grads} if g is not None).backward()"
            self.run(line)

    def limited(self, text: str) -> str:
        """A call's text, whose tensors will be as small as it needs."""
        if any(word in text for word in SQUARED):
            self.most = FEW
        return text

    def value(self, text: str) -> Any:
        return eval(text, self.names)

    # ----------------------------------------------------------------------------- tensors

    def tensor(self) -> str:
        """Any tensor; some are new."""
        known = self.pool
        if self.most < LARGEST:
            known = [t for t in known if self.value(t).numel() <= self.most]
        if not known or self.chance(0.3):
            shape = self.shape()
            while math.prod(shape) > self.most:
                shape = shape[1:]
            return self.made(shape, self.draw.choice((self.dtype, *DTYPES)))
        return self.draw.choice(known)

    def like(self, tensor: Any) -> str:
        """A tensor that goes together with this one, mostly."""
        if tensor is None or self.chance(0.15):
            return self.tensor()
        shape, dtype = tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")
        fits = [t for t in self.pool if tuple(self.value(t).shape) == shape]
        if fits and self.chance(0.5):
            return self.draw.choice(fits)
        if self.chance(0.3):  # it broadcasts
            shape = tuple(1 if self.chance(0.3) else n for n in shape)[self.draw.randint(0, 1) :]
        if math.prod(shape) > LARGEST:
            return self.tensor()
        return self.made(shape, dtype if self.chance(0.8) else self.draw.choice(DTYPES))

    def made(self, shape: tuple[int, ...], dtype: str) -> str:
        """Runs a line that makes a tensor of some layout; answers its name."""
        name = self.new_name("t")
        text = self.laid_out(shape, dtype)
        if dtype in FLOATS and self.chance(0.3):
            text += ".requires_grad_()"
        self.run(f"{name} = {text}")
        self.pool.append(name)
        return name

    # ---------------------------------------------------------------------------- arguments

    def by_signature(self) -> str:
        name = self.draw.choice(self.draw.choice(BY_SPACE))
        parameters = SIGNATURES[name]
        path = name
        if name.startswith("torch.Tensor."):
            path = f"{self.first()}.{name.rpartition('.')[2]}"
            parameters = parameters[1:]
        texts = []
        named = False  # a parameter was left out: those after it go by name
        for p in parameters:
            if p.kind is p.VAR_POSITIONAL:
                texts += [self.argument(p) for _ in range(self.draw.randint(0, 3))]
                continue
            if p.kind is p.VAR_KEYWORD or p.name.startswith("_"):
                continue
            if p.default is not p.empty and not self.chance(0.3):
                named = True
                continue
            text = self.argument(p)
            texts.append(f"{p.name}={text}" if named or p.kind is p.KEYWORD_ONLY else text)
        return f"{path}({', '.join(texts)})"

    def first(self) -> str:
        text = self.tensor()
        self.focus = self.value(text)
        return text

    def argument(self, parameter: inspect.Parameter) -> str:
        """The text of an argument: a fitting one, mostly."""
        name, default = parameter.name, parameter.default
        kind = str(parameter.annotation)
        if self.chance(0.04):
            return self.draw.choice(WRONG)
        if name in CHOICES:
            return repr(self.draw.choice((*CHOICES[name], None, "a")))
        if name.rstrip("012s") in ("dim", "axi", "axe", "start_dim", "end_dim"):
            one = kind == "int" or self.chance(0.7)
            return self.dim() if one else f"({self.dim()}, {self.dim()})"
        if name == "dtype":
            return f"torch.{self.draw.choice(DTYPES)}"
        if name in INDICES:
            return self.indices()
        if name in ("device", "layout", "memory_format", "generator", "pin_memory", "out"):
            return self.rare(name)
        if "Tensor" in kind or name in ("input", "other"):
            if self.focus is None:
                return self.first()
            tensor = self.like(self.focus)
            if kind == "Tensors" or "Iterable" in kind or "Sequence" in kind:
                return f"[{tensor}, {self.like(self.focus)}]"
            return tensor
        if name == "tensors":
            return f"[{self.first()}, {self.like(self.focus)}]"
        if name in COUNTS:
            return self.count(kind)
        if kind.startswith("bool") or isinstance(default, bool):
            return str(self.chance(0.5))
        if name in REPEATS:
            return str(self.draw.choice(SMALL))
        if kind.startswith("int") or type(default) is int:
            return self.integer()
        if kind.startswith(("float", "Number")) or isinstance(default, float):
            return self.real() if self.chance(0.8) else self.integer()
        if kind.startswith("str") or isinstance(default, str):
            return repr(self.draw.choice(WORDS))
        options = (self.real, self.integer, self.first, self.indices, lambda: self.count(kind))
        return self.draw.choice(options)()

    def rare(self, name: str) -> str:
        if name == "out":
            return self.tensor() if self.focus is None else self.like(self.focus)
        return {
            "device": "'cpu'",
            "layout": "torch.strided",
            "memory_format": f"torch.{self.draw.choice(('contiguous', 'preserve'))}_format",
            "generator": "torch.Generator().manual_seed(3)",
            "pin_memory": "False",
        }[name]

    def dim(self) -> str:
        if self.focus is not None and self.focus.ndim and self.chance(0.85):
            return str(self.draw.randrange(-self.focus.ndim, self.focus.ndim))
        return self.integer()

    def count(self, kind: str) -> str:
        """A size, or some."""
        sizes = list(self.focus.shape) if self.focus is not None else []
        if kind == "int" or self.chance(0.5):
            return str(self.draw.choice(sizes)) if sizes and self.chance(0.4) else self.integer()
        if sizes and self.chance(0.5):
            if self.chance(0.5):
                self.draw.shuffle(sizes)
            return str(tuple(sizes))
        return f"({', '.join(self.integer() for _ in range(self.draw.randint(0, 4)))},)".replace(
            "(,", "("
        )

    def indices(self, below: int = 0, shape: tuple[int, ...] | None = None) -> str:
        if shape is None:
            shape = (
                tuple(self.focus.shape)
                if self.focus is not None and self.focus.numel() < 2000
                else (3,)
            )
            below = max(shape, default=1)
        values = [self.draw.randrange(max(below, 1)) for _ in range(min(math.prod(shape), 5))]
        if values and self.chance(0.1):
            values[-1] = self.draw.choice((-1, below, -below - 1, 2**31, 2**62, -(2**63)))
        dtype = "int64" if self.chance(0.9) else self.draw.choice(("int32", "uint8", "float32"))
        if dtype != "int64":
            values = [v % 100 for v in values]
        name = self.new_name("t")
        text = f"torch.tensor({values}, dtype=torch.{dtype})"
        if math.prod(shape) != len(values) or len(shape) != 1:
            text += f"[torch.arange({math.prod(shape)}) % {max(len(values), 1)}].view({shape})"
        self.run(f"{name} = {text}")
        self.pool.append(name)
        return name

    def expression(self) -> str:
        """An expression of the sweep, with a line in front that says what its names are."""
        prepare, text = self.draw.choice(TEXTS)
        self.limited(text)
        given = {
            node.id
            for node in ast.walk(ast.parse(f"{prepare}\n{text}"))
            if isinstance(node, ast.Name)
        }
        tensors = {name: (shape, self.dtype) for name, (shape, _) in TENSORS.items()}
        tensors |= {"f": ((3, 4, 5), "float32"), "b": ((3, 4, 5), "bool")}
        for name, (shape, dtype) in tensors.items():
            if name in given:
                any_tensor = name in TENSORS and self.chance(0.3)
                self.run(f"{name} = {self.tensor() if any_tensor else self.made(shape, dtype)}")
        if "i" in given:
            self.run(f"i = {self.indices(3, (3,))}")
        if "k" in given:
            self.run(f"k = {self.indices(4, (4, 4))}")
        if "d" in given:
            self.run(f"d = torch.{self.dtype}")
        if prepare:
            self.run(prepare)
        return text


def usable(tensor: Any) -> bool:
    return tensor.numel() <= LARGEST and tensor.ndim < 8


def loops_as_told(node: ast.AST) -> bool:
    """A call that a large number keeps busy in PyTorch, too."""
    return isinstance(node, ast.Call) and (
        isinstance(node.func, ast.Name)
        or (isinstance(node.func, ast.Attribute) and node.func.attr in LOOPING)
    )


class Filling(ast.NodeTransformer):
    """Puts tensors in the place of T(2, 3), I(9, 2, 3) and B(2, 3)."""

    def __init__(self, program: Program):
        self.program = program

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in ("T", "I", "B"):
            return node
        program, kind = self.program, node.func.id
        if not all(isinstance(a, ast.Constant) for a in node.args):
            return node
        shape = tuple(ast.literal_eval(a) for a in node.args)
        if kind == "I":
            name = program.indices(shape[0], shape[1:])
        elif program.chance(0.1):
            name = program.tensor()
        else:
            other = kind == "T" and program.chance(0.04)
            dtype = program.draw.choice(DTYPES) if other else program.dtype
            name = program.made(shape, "bool" if kind == "B" else dtype)
        return ast.parse(name, mode="eval").body


class Change(ast.NodeTransformer):
    """Changes one or two places of a call."""

    def __init__(self, program: Program, tree: ast.Module):
        self.program = program
        # Not 2**40, x * 2, nor how often a helper of the line loops: range(3), train(4).
        loops = [n for n in ast.walk(tree) if isinstance(n, ast.BinOp) or loops_as_told(n)]
        kept = [part for node in loops for part in ast.iter_child_nodes(node)]
        kept += [part.value for part in kept if isinstance(part, ast.keyword)]
        texts = [n for n in ast.walk(tree) if isinstance(n, ast.JoinedStr)]  # f-strings
        kept += [part for node in texts for part in ast.walk(node)]
        places = [node for node in ast.walk(tree) if self.may_change(node) and node not in kept]
        self.chosen = program.draw.sample(places, min(len(places), program.draw.choice((1, 1, 2))))
        self.visit(tree)

    @staticmethod
    def may_change(node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return isinstance(node.ctx, ast.Load) and node.id not in ("torch", "nn", "F", "np")
        return isinstance(
            node, ast.Constant | ast.Tuple | ast.List | ast.Attribute | ast.Call
        ) and (isinstance(getattr(node, "ctx", ast.Load()), ast.Load))

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        return self.changed(node) if any(node is n for n in self.chosen) else node

    def changed(self, node: Any) -> ast.AST:
        program, draw = self.program, self.program.draw
        if isinstance(node, ast.Call):
            return self.changed_call(node)
        if isinstance(node, ast.Attribute):
            if ast.unparse(node.value).startswith(("torch", "nn", "F", "np")):
                return node
            return ast.Attribute(node.value, draw.choice(METHODS), node.ctx)
        if isinstance(node, ast.Tuple | ast.List) and node.elts:
            place = draw.randrange(len(node.elts))
            more = [node.elts[place]] * draw.choice((0, 2, 2, 9))
            return type(node)([*node.elts[:place], *more, *node.elts[place + 1 :]], node.ctx)
        if program.chance(0.2):
            text = draw.choice(WRONG)
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            text = str(not node.value)
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            text = program.integer()
        elif isinstance(node, ast.Constant) and type(node.value) is float:
            text = program.real()
        elif isinstance(node, ast.Constant) and type(node.value) is str:
            text = repr(draw.choice(WORDS))
        else:
            text = program.tensor()
        return ast.parse(text, mode="eval").body

    def changed_call(self, node: ast.Call) -> ast.Call:
        program, draw = self.program, self.program.draw
        args, keywords = list(node.args), list(node.keywords)
        how = draw.choice(("drop", "swap", "add", "keyword", "out"))
        if how == "drop" and args:
            del args[draw.randrange(len(args))]
        elif how == "swap" and args:
            draw.shuffle(args)
        elif how == "add" and not loops_as_told(node):
            text = draw.choice((program.tensor, program.integer, program.real))()
            args.append(ast.parse(text, mode="eval").body)
        elif how == "keyword" and keywords:
            del keywords[draw.randrange(len(keywords))]
        elif how == "out" and not any(k.arg == "out" for k in keywords):
            keywords.append(ast.keyword("out", ast.parse(program.tensor(), mode="eval").body))
        return ast.Call(node.func, args, keywords)
